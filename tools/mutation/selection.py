"""Functions that each test enters, and the cost of each test.

``trace_tests`` runs the test files of the areas in a tree without a fault. The result is cached in ``.mutants``. It is
valid as long as the file stays the same and the modules that its tests enter exist; and if then no test enters a
function, as long as these modules stay the same too.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutation.areas import TEST_FILES, digest
from tools.mutation.host import TestLog
from tools.mutation.mutate import Mutant
from tools.mutation.run import Job, run_all
from tools.mutation.tracing import TraceTests

MAX_TEST_SECONDS = 5.0
"""Seconds of processor time after which a test is too slow without the compiler."""
MAX_FILE_SECONDS = 120.0
"""Seconds of processor time after which the rest of a file's tests is left out."""
MAX_EXAMPLES = 60
"""Maximal number of examples that hypothesis tries of each property."""
SETTINGS_ATTRIBUTE = "_hypothesis_internal_use_settings"
MAX_MUTANT_SECONDS = 30.0
"""Maximal seconds of processor time for the tests of a mutant."""


_STATUS_STREAM = os.dup(2)  # children redirect theirs


def print_status(text: str) -> None:
    """Print a status line, from this process or one of its children."""
    os.write(_STATUS_STREAM, f"{text}\n".encode())


@dataclass(frozen=True)
class Test:
    """A passing test, its cost, and the digest of its file."""

    __test__ = False
    name: str
    seconds: float
    file: str


class Tests:
    """Tests by name and by the functions they enter."""

    def __init__(self) -> None:
        self.named: dict[str, Test] = {}
        self.entering: dict[tuple[str, str], set[str]] = defaultdict(set)

    def add(self, test: Test, functions: Iterable[str]) -> None:
        self.named[test.name] = test
        for line in functions:
            module, _, function = line.partition("\t")
            self.entering[module, function].add(test.name)
            self.entering[module, ""].add(test.name)

    def drop(self, names: Iterable[str]) -> None:
        """Remove tests that do not pass without a fault."""
        for name in names:
            self.named.pop(name, None)

    def select(self, mutant: Mutant, kill_counts: dict[str, int]) -> list[Test]:
        """Select the tests that enter the function of a mutant.

        The fastest are selected until the time is used up; those that detected faults come first.
        """
        found = [self.named[name] for name in self.entering[mutant.module, mutant.function] if name in self.named]
        spent, chosen = 0.0, []
        for test in sorted(found, key=lambda test: (test.seconds, test.name)):
            spent += test.seconds
            if chosen and spent > MAX_MUTANT_SECONDS:
                break
            chosen.append(test)
        return sorted(chosen, key=lambda test: -kill_counts.get(test.name, 0) / (0.2 + test.seconds))


def trace_tests(trees: list[Path], store: Path, chosen: list[tuple[str, Mutant]]) -> Tests:
    """Trace the tests of the mutants' areas."""
    tests = _trace_areas(trees, store, {area for area, _ in chosen}, exactly=False)
    uncovered = {area for area, mutant in chosen if not tests.select(mutant, {})}
    return _trace_areas(trees, store, {area for area, _ in chosen}, exactly=True) if uncovered else tests


def _trace_areas(trees: list[Path], store: Path, areas: set[str], *, exactly: bool) -> Tests:
    """Trace every test of some areas that passes in time."""
    store.mkdir(parents=True, exist_ok=True)
    root = trees[0]  # a copy of the project that is not written to meanwhile
    patterns = {pattern for area in areas for pattern in TEST_FILES[area]}
    files = sorted({path for pattern in patterns for path in (root / "tests").rglob(f"{pattern}.py")})
    jobs = []
    for path in files:
        if _read_cache(store, root, path, exactly) is None:
            part = _part(store, path)
            part.unlink(missing_ok=True)
            jobs.append(Job(str(path), _trace_task(str(path.relative_to(root)), part), 1500))
    for outcome in run_all(jobs, trees):
        path = Path(outcome.job.name)
        part = _part(store, path)
        if not part.exists():
            sys.exit(f"No test of {path.name} could be run:\n{outcome.printed}")
        found = [json.loads(line) for line in part.read_text().splitlines()]
        _write_cache(store, root, path, found)
        part.unlink()
        lost = "".join(f"\n  without {name}" for name, passed, *_ in found if not passed)
        print_status(f"{path.name} followed in {outcome.seconds:.0f} s{lost}")
    tests = Tests()
    for path in files:
        for name, passed, seconds, functions in _read_cache(store, root, path, exactly) or []:
            if passed:
                tests.add(Test(name, seconds, digest(path.read_bytes())), functions)
    return tests


def _part(store: Path, path: Path) -> Path:
    """Return the path of a file's unfinished trace, unique to the process."""
    return store / f"{path.stem}.{os.getpid()}.part"


def _state(root: Path, path: Path, modules: Iterable[str]) -> dict[str, Any]:
    """Return digests of everything that a file's tests depend on.

    These are the file, what all tests share, and the modules that they enter.
    """
    shared = [root / "tests" / "conftest.py", *sorted((root / "tests" / "reference").glob("*.py"))]
    entered = {module: root / "src" / "shoal" / module for module in sorted(modules)}
    return {
        "file": digest(path.read_bytes()),
        "shared": digest(*(one.read_bytes() for one in shared)),
        "modules": {module: digest(one.read_bytes()) if one.exists() else "" for module, one in entered.items()},
    }


def _write_cache(store: Path, root: Path, path: Path, found: list[list[Any]]) -> None:
    modules = {line.partition("\t")[0] for one in found for line in one[3]}
    (store / f"{path.stem}.json").write_text(json.dumps({**_state(root, path, modules), "tests": found}))


def _read_cache(store: Path, root: Path, path: Path, exactly: bool) -> list[list[Any]] | None:
    cached = store / f"{path.stem}.json"
    if not cached.exists():
        return None
    content = json.loads(cached.read_text())
    tests: list[list[Any]] = content.pop("tests")
    now = _state(root, path, content["modules"])
    if not exactly and all(now["modules"].values()):
        now |= {key: content[key] for key in ("modules", "shared")}
    return tests if content == now else None


def run_pytest(arguments: list[str], plugin: object, tree: Path) -> int:
    """Run pytest in a tree.

    Hypothesis does not shrink a failing example: only the failure matters.
    """
    import pytest
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutants", deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate),
    )  # fmt: skip
    quiet = ["-q", "-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "-p", "no:xdist",
             "--no-header", "--tb=line", "--hypothesis-profile=mutants", f"--basetemp={tree / 'tmp'}"]  # fmt: skip
    return int(pytest.main([*quiet, *arguments], plugins=[plugin, _FewerExamples()]))


class _FewerExamples:
    """Pytest plugin that makes hypothesis try fewer examples.

    Without the compiler they are slow.
    """

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        from hypothesis import settings

        for item in items:
            configured = getattr(getattr(item, "obj", None), SETTINGS_ATTRIBUTE, None)
            if configured is not None and configured.max_examples > MAX_EXAMPLES:
                setattr(
                    getattr(item.obj, "__func__", item.obj),
                    SETTINGS_ATTRIBUTE,
                    settings(configured, max_examples=MAX_EXAMPLES),
                )


def _trace_task(test: str, report: Path) -> Callable[[Path], int]:
    return lambda tree: run_pytest(
        [test], TraceTests(report, f"{tree / 'src' / 'shoal'}/", MAX_TEST_SECONDS, MAX_FILE_SECONDS), tree
    )


class _FaultPlugin:
    """Pytest plugin for tests with a fault that was imported."""

    def __init__(self, log: TestLog) -> None:
        self.log = log

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool:
        if not self.log.passes(item, nextitem) and item.config.getoption("maxfail"):
            item.session.shouldfail = "a test failed"
        return True


def make_task(tests: list[Test], *, all_of_them: bool = False) -> Callable[[Path], int]:
    """Return a task that imports everything anew and runs tests.

    It stops at the first failure unless ``all_of_them`` is set.
    """
    names = [*([] if all_of_them else ["-x"]), *(test.name for test in tests)]
    return lambda tree: (
        run_pytest(names, _FaultPlugin(TestLog(tree / "note", test_seconds(tests))), tree) if tests else 0
    )


def test_seconds(tests: Iterable[Test]) -> dict[str, float]:
    """Return the seconds of each test by name."""
    return {test.name: test.seconds for test in tests}


def read_log(note: Path) -> list[tuple[str, str]]:
    """Read the log of a child's tests.

    Entries are `begun`, `killed` or `clock`, each with the name of a test.
    """
    lines = note.read_text().splitlines() if note.exists() else []
    return [(word, name) for word, name in map(json.loads, lines)]
