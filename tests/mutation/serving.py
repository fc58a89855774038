"""Which tests enter which functions, with what they cost: found once by running them, kept while neither changes.

``follow`` runs the test files that serve the rooms, in a tree without a fault. What is found stands in ``.mutants``. It
is believed as long as the file stays the same and the modules that its tests enter are there; and where a function is
met by no test then, as long as these modules stay the same too.
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

from tests.mutation.host import Noting
from tests.mutation.mutate import Mutant
from tests.mutation.rooms import SERVING, digest
from tests.mutation.run import Job, run_all
from tests.mutation.tracing import Touched

__all__ = ["Test", "Tests", "follow", "limits", "meet", "noted", "run_pytest", "tell"]

SLOW = 5.0
"""Seconds of a processor after which a test is too slow without the compiler to serve here."""
SLOW_FILE = 120.0
"""Seconds of a processor after which the rest of a file's tests is left out."""
CASES = 60
"""That hypothesis tries of each property at most."""
SETTINGS = "_hypothesis_internal_use_settings"
BUDGET = 30.0
"""Seconds of tests, as a processor counts them, that a mutant meets at most."""


_TOLD = os.dup(2)  # children have their own


def tell(text: str) -> None:
    """Print a line for whoever waits, from this process or one of its children."""
    os.write(_TOLD, f"{text}\n".encode())


@dataclass(frozen=True)
class Test:
    """A test that passes: what it costs, and the digest of the file it stands in."""

    __test__ = False
    name: str
    seconds: float
    file: str


class Tests:
    """The tests at hand, by name and by the functions they enter."""

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
        """Leave out tests that do not pass without a fault."""
        for name in names:
            self.named.pop(name, None)

    def of(self, mutant: Mutant, proven: dict[str, int]) -> list[Test]:
        """The tests that enter its function, as many of the quickest as time allows; what has found faults first."""
        found = [self.named[name] for name in self.entering[mutant.module, mutant.function] if name in self.named]
        spent, chosen = 0.0, []
        for test in sorted(found, key=lambda test: (test.seconds, test.name)):
            spent += test.seconds
            if chosen and spent > BUDGET:
                break
            chosen.append(test)
        return sorted(chosen, key=lambda test: -proven.get(test.name, 0) / (0.2 + test.seconds))


def follow(trees: list[Path], store: Path, chosen: list[tuple[str, Mutant]]) -> Tests:
    """The tests that serve the rooms of some mutants, and the functions that each enters."""
    tests = _follow_all(trees, store, {room for room, _ in chosen}, exactly=False)
    unmet = {room for room, mutant in chosen if not tests.of(mutant, {})}
    return _follow_all(trees, store, {room for room, _ in chosen}, exactly=True) if unmet else tests


def _follow_all(trees: list[Path], store: Path, rooms: set[str], *, exactly: bool) -> Tests:
    """Every test of the files that serve some rooms which passes there in time, and the functions it enters."""
    store.mkdir(parents=True, exist_ok=True)
    root = trees[0]  # a copy of the project, in which nobody writes meanwhile
    patterns = {pattern for room in rooms for pattern in SERVING[room]}
    files = sorted({path for pattern in patterns for path in (root / "tests").rglob(f"{pattern}.py")})
    jobs = []
    for path in files:
        if _kept(store, root, path, exactly) is None:
            part = _part(store, path)
            part.unlink(missing_ok=True)
            jobs.append(Job(str(path), _follow(str(path.relative_to(root)), part), 1500))
    for outcome in run_all(jobs, trees):
        path = Path(outcome.job.name)
        part = _part(store, path)
        if not part.exists():
            sys.exit(f"No test of {path.name} could be run:\n{outcome.printed}")
        found = [json.loads(line) for line in part.read_text().splitlines()]
        _keep(store, root, path, found)
        part.unlink()
        lost = "".join(f"\n  without {name}" for name, passed, *_ in found if not passed)
        tell(f"{path.name} followed in {outcome.seconds:.0f} s{lost}")
    tests = Tests()
    for path in files:
        for name, passed, seconds, functions in _kept(store, root, path, exactly) or []:
            if passed:
                tests.add(Test(name, seconds, digest(path.read_bytes())), functions)
    return tests


def _part(store: Path, path: Path) -> Path:
    """What is found of a file's tests until all have run; two runs at a time do not write to the same."""
    return store / f"{path.stem}.{os.getpid()}.part"


def _state(root: Path, path: Path, modules: Iterable[str]) -> dict[str, Any]:
    """What the outcome of a file's tests hangs on: itself, what all tests share, and the modules that they enter."""
    shared = [root / "tests" / "conftest.py", *sorted((root / "tests" / "reference").glob("*.py"))]
    entered = {module: root / "src" / "shoal" / module for module in sorted(modules)}
    return {
        "file": digest(path.read_bytes()),
        "shared": digest(*(one.read_bytes() for one in shared)),
        "modules": {module: digest(one.read_bytes()) if one.exists() else "" for module, one in entered.items()},
    }


def _keep(store: Path, root: Path, path: Path, found: list[list[Any]]) -> None:
    modules = {line.partition("\t")[0] for one in found for line in one[3]}
    (store / f"{path.stem}.json").write_text(json.dumps({**_state(root, path, modules), "tests": found}))


def _kept(store: Path, root: Path, path: Path, exactly: bool) -> list[list[Any]] | None:
    kept = store / f"{path.stem}.json"
    if not kept.exists():
        return None
    content = json.loads(kept.read_text())
    tests: list[list[Any]] = content.pop("tests")
    now = _state(root, path, content["modules"])
    if not exactly and all(now["modules"].values()):
        now |= {key: content[key] for key in ("modules", "shared")}
    return tests if content == now else None


def run_pytest(arguments: list[str], plugin: object, tree: Path) -> int:
    """Pytest in a tree. A failing case of hypothesis is not made smaller: that it fails is all one wants to know."""
    import pytest
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutants", deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate),
    )  # fmt: skip
    quiet = ["-q", "-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "-p", "no:xdist",
             "--no-header", "--tb=line", "--hypothesis-profile=mutants", f"--basetemp={tree / 'tmp'}"]  # fmt: skip
    return int(pytest.main([*quiet, *arguments], plugins=[plugin, _Fewer()]))


class _Fewer:
    """The pytest plugin that has hypothesis try fewer cases: without the compiler they take their time."""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        from hypothesis import settings

        for item in items:
            asked = getattr(getattr(item, "obj", None), SETTINGS, None)
            if asked is not None and asked.max_examples > CASES:
                setattr(getattr(item.obj, "__func__", item.obj), SETTINGS, settings(asked, max_examples=CASES))


def _follow(test: str, report: Path) -> Callable[[Path], int]:
    return lambda tree: run_pytest([test], Touched(report, f"{tree / 'src' / 'shoal'}/", SLOW, SLOW_FILE), tree)


class _Met:
    """The pytest plugin for tests that meet a fault which was imported."""

    def __init__(self, noting: Noting) -> None:
        self.noting = noting

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool:
        if not self.noting.passes(item, nextitem) and item.config.getoption("maxfail"):
            item.session.shouldfail = "a test failed"
        return True


def meet(tests: list[Test], *, all_of_them: bool = False) -> Callable[[Path], int]:
    """What a child does that imports everything anew: run tests, up to the first that fails."""
    names = [*([] if all_of_them else ["-x"]), *(test.name for test in tests)]
    return lambda tree: run_pytest(names, _Met(Noting(tree / "note", limits(tests))), tree) if tests else 0


def limits(tests: Iterable[Test]) -> dict[str, float]:
    """The seconds of each test."""
    return {test.name: test.seconds for test in tests}


def noted(note: Path) -> list[tuple[str, str]]:
    """What the tests of a child said: `begun`, `killed`, `clock`, each with a name."""
    lines = note.read_text().splitlines() if note.exists() else []
    return [(word, name) for word, name in map(json.loads, lines)]
