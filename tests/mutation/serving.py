"""Which tests enter which functions, with what they cost: found once by running them, kept while neither changes.

``follow`` runs the test files that serve the rooms, in a tree without a fault. What is found stands in ``.mutants`` for
as long as the file and the modules that its tests enter stay the same.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutate import Mutant
from tests.mutation.rooms import PROJECT, SERVING, SOURCE, digest
from tests.mutation.run import Job, run_all
from tests.mutation.tracing import Met, Touched

__all__ = ["Test", "Tests", "follow", "meet", "tell"]

SLOW = 5.0
"""Seconds of a processor after which a test is too slow without the compiler to serve here."""
BUDGET = 30.0
"""Seconds of tests, as a processor counts them, that a mutant meets at most."""


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


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


def follow(trees: list[Path], store: Path, rooms: set[str]) -> Tests:
    """Every test of the files that serve some rooms which passes there in time, and the functions it enters."""
    store.mkdir(parents=True, exist_ok=True)
    patterns = {pattern for room in rooms for pattern in SERVING[room]}
    files = sorted({path for pattern in patterns for path in (PROJECT / "tests").rglob(f"{pattern}.py")})
    jobs = []
    for path in files:
        if _kept(store, path) is None:
            part = store / f"{path.stem}.part"
            part.unlink(missing_ok=True)
            jobs.append(Job(str(path), _follow(path, part), 1500))
    for outcome in run_all(jobs, trees):
        path = Path(outcome.job.name)
        part = store / f"{path.stem}.part"
        if not part.exists():
            sys.exit(f"No test of {path.name} could be run:\n{outcome.printed}")
        _keep(store, path, [json.loads(line) for line in part.read_text().splitlines()])
        part.unlink()
        tell(f"{path.name} followed in {outcome.seconds:.0f} s")
    tests = Tests()
    for path in files:
        for name, passed, seconds, functions in _kept(store, path) or []:
            if passed:
                tests.add(Test(name, seconds, digest(path.read_bytes())), functions)
            elif path in {Path(job.name) for job in jobs}:
                tell(f"without {name}")
    return tests


def _shared() -> str:
    paths = [PROJECT / "tests" / "conftest.py", *sorted((PROJECT / "tests" / "reference").glob("*.py"))]
    return digest(*(path.read_bytes() for path in paths))


def _state(modules: Iterable[str]) -> dict[str, str]:
    paths = {module: SOURCE / module for module in sorted(modules)}
    return {module: digest(path.read_bytes()) if path.exists() else "" for module, path in paths.items()}


def _keep(store: Path, path: Path, found: list[list]) -> None:
    modules = {line.partition("\t")[0] for one in found for line in one[3]}
    content = {"file": digest(path.read_bytes()), "shared": _shared(), "modules": _state(modules), "tests": found}
    (store / f"{path.stem}.json").write_text(json.dumps(content))


def _kept(store: Path, path: Path) -> list[list] | None:
    kept = store / f"{path.stem}.json"
    if not kept.exists():
        return None
    content = json.loads(kept.read_text())
    now = (digest(path.read_bytes()), _shared(), _state(content["modules"]))
    return content["tests"] if now == (content["file"], content["shared"], content["modules"]) else None


def _run(arguments: list[str], plugin: object, tree: Path) -> int:
    """Pytest in a tree. A failing case of hypothesis is not made smaller: that it fails is all one wants to know."""
    import pytest
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutants", deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate),
    )  # fmt: skip
    quiet = ["-q", "-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "-p", "no:xdist",
             "--no-header", "--tb=line", "--hypothesis-profile=mutants", f"--basetemp={tree / 'tmp'}"]  # fmt: skip
    return int(pytest.main([*quiet, *arguments], plugins=[plugin]))


def _follow(test: Path, report: Path) -> Callable[[Path], int]:
    return lambda tree: _run(
        [str(test.relative_to(PROJECT))], Touched(report, f"{tree / 'src' / 'shoal'}/", SLOW), tree
    )


def meet(tests: list[Test], note: Path, *, all_of_them: bool = False) -> Callable[[Path], int]:
    """What a child does: run tests, up to the first that fails."""
    names = [test.name for test in tests]
    limits = {test.name: test.seconds for test in tests}

    def do(tree: Path) -> int:
        return _run([*([] if all_of_them else ["-x"]), *names], Met(note, limits), tree) if names else 0

    return do


def noted(note: Path) -> Iterator[tuple[str, str]]:
    """What the tests of a child said: `begun`, `killed`, `clock`, each with a name."""
    for line in note.read_text().splitlines() if note.exists() else []:
        word, name = json.loads(line)
        yield word, name
