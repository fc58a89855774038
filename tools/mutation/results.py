"""Results of mutants: one line of JSON each, so that a run can resume.

A kill is reused as long as the module, the fault and the file of the test that detected it are the same; a survivor as
long as no test of it is new or changed. The report counts the reused results.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.mutation.areas import AREAS, digest, equivalent
from tools.mutation.mutate import Mutant
from tools.mutation.selection import Test, Tests

MIN_DETECTION_RATE = 0.95
SURVIVED = "SURVIVED"


@dataclass(frozen=True)
class Result:
    """Outcome of one mutant: killed, clock or SURVIVED.

    ``clock`` means that a test exceeded its time.
    """

    mutant: str
    module: str
    function: str
    line: int
    before: str
    after: str
    outcome: str
    by: str
    """Test that detected it; empty if the module could not even be imported."""
    met: str
    """Digest of the tests to run, or of the file of the test that detected it."""
    tests: int
    seconds: float


def identity(mutant: Mutant) -> str:
    """Return the digest of a mutant's module and text."""
    return digest(mutant.module.encode(), mutant.text.encode())


def tests_digest(tests: list[Test]) -> str:
    """Return the digest of tests and their files."""
    return digest(*(f"{test.name} {test.file}".encode() for test in sorted(tests, key=lambda test: test.name)))


class Results:
    """File of results."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.known: dict[str, Result] = {}
        self._read = 0

    def read(self) -> None:
        """Read the lines that were added to the file."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.known |= {one.mutant: one for one in (Result(**json.loads(line)) for line in lines[self._read :])}
        self._read = len(lines)

    def forget(self) -> None:
        """Ignore everything that the file has so far."""
        self.read()
        self.known.clear()

    def add(self, result: Result) -> None:
        self.known[result.mutant] = result
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")

    def valid(self, mutant: Mutant, tests: Tests, selected: list[Test]) -> Result | None:
        """Return the known result of a mutant if it is still valid."""
        found = self.known.get(identity(mutant))
        if found is None:
            return None
        if found.outcome == SURVIVED:
            return found if found.met == tests_digest(selected) else None
        killer = tests.named.get(found.by) or (selected[0] if selected and not found.by else None)
        return found if killer is not None and tests_digest([killer]) == found.met else None

    def kill_counts(self, mutant: Mutant) -> dict[str, int]:
        """Count how often each test detected faults in the same module.

        Faults in the same function count ten times.
        """
        counts: Counter[str] = Counter()
        for one in self.known.values():
            if one.module == mutant.module and one.outcome == "killed" and one.by:
                counts[one.by] += 10 if one.function == mutant.function else 1
        return counts


def report(results: list[tuple[str, Result]], again: int, seed: int, seconds: float) -> int:
    """Print survivors and detection rates; return the exit status."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    inside: dict[str, set[str]] = defaultdict(set)
    for area, one in results:
        inside[area].add(one.module)
        for name in (area, f"  {one.module}"):
            counts[name][one.outcome] += 1
    for _, one in sorted(results, key=lambda pair: (pair[1].module, pair[1].line)):
        if one.outcome == SURVIVED:
            entered = "" if one.tests else " (no test enters it)"
            print(f"{one.module}:{one.line} in {one.function or 'the module'}{entered}\n- {one.before}\n+ {one.after}")
    print(f"\n{'':44}{'mutants':>9}{'killed':>9}{'clock':>9}{'survived':>9}{'noticed':>9}")
    for area in AREAS:
        for name in (area, *sorted(f"  {module}" for module in inside[area])) if area in inside else ():
            _row(name, counts[name])
    total = sum((counts[area] for area in inside), Counter())
    _row("all", total)
    print(
        f"seed {seed}, {seconds:.0f} s; {again} outcomes of an earlier run; {len(equivalent())} mutants are listed as "
        f"changing nothing and were not drawn."
    )
    return 0 if total[SURVIVED] <= (1 - MIN_DETECTION_RATE) * total.total() else 1


def _row(name: str, counts: Counter[str]) -> None:
    noticed = 1 - counts[SURVIVED] / max(1, counts.total())
    figures = f"{counts.total():9}{counts['killed']:9}{counts['clock']:9}{counts[SURVIVED]:9}{noticed:9.1%}"
    print(f"{name:44}{figures}")
