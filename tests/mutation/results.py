"""What became of mutants: one line of JSON for each, so that a run can be broken off and gone on with.

A kill is told again as long as the module, the fault and the file of the test that noticed it are the same; a survivor
as long as no test that it meets is new or changed. What is told again is said in the report.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation.mutate import Mutant
from tests.mutation.rooms import ROOMS, digest, equivalent
from tests.mutation.serving import Test, Tests

__all__ = ["SURVIVED", "Result", "Results", "identity", "met_by", "report"]

WANTED = 0.95
SURVIVED = "SURVIVED"


@dataclass(frozen=True)
class Result:
    """The outcome of one mutant: killed, clock (a test did not come to its end), or SURVIVED."""

    mutant: str
    module: str
    function: str
    line: int
    before: str
    after: str
    outcome: str
    by: str
    """The test that noticed it; empty where the module could not even be imported."""
    met: str
    """A digest of the tests that it was to meet; of the file of the test that noticed it."""
    tests: int
    seconds: float


def identity(mutant: Mutant) -> str:
    """What names a mutant: its module with the fault."""
    return digest(mutant.module.encode(), mutant.text.encode())


def met_by(tests: list[Test]) -> str:
    """A digest of tests and the files they stand in."""
    return digest(*(f"{test.name} {test.file}".encode() for test in sorted(tests, key=lambda test: test.name)))


class Results:
    """The file of outcomes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.known: dict[str, Result] = {}
        self._read = 0

    def read(self) -> None:
        """Know what was added to the file since."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.known |= {one.mutant: one for one in (Result(**json.loads(line)) for line in lines[self._read :])}
        self._read = len(lines)

    def forget(self) -> None:
        """Believe nothing that the file has so far."""
        self.read()
        self.known.clear()

    def add(self, result: Result) -> None:
        self.known[result.mutant] = result
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")

    def valid(self, mutant: Mutant, tests: Tests, meets: list[Test]) -> Result | None:
        """What is known of a mutant, where it still can be said."""
        found = self.known.get(identity(mutant))
        if found is None:
            return None
        if found.outcome == SURVIVED:
            return found if found.met == met_by(meets) else None
        killer = tests.named.get(found.by) or (meets[0] if meets and not found.by else None)
        return found if killer is not None and met_by([killer]) == found.met else None

    def proven(self, mutant: Mutant) -> dict[str, int]:
        """The tests that noticed faults in the same module, how often; in the same function they count ten times."""
        counts: Counter[str] = Counter()
        for one in self.known.values():
            if one.module == mutant.module and one.outcome == "killed" and one.by:
                counts[one.by] += 10 if one.function == mutant.function else 1
        return counts


def report(results: list[tuple[str, Result]], again: int, seed: int, seconds: float) -> int:
    """Print survivors and the rate by room and module; the status."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    inside: dict[str, set[str]] = defaultdict(set)
    for room, one in results:
        inside[room].add(one.module)
        for name in (room, f"  {one.module}"):
            counts[name][one.outcome] += 1
    for _, one in sorted(results, key=lambda pair: (pair[1].module, pair[1].line)):
        if one.outcome == SURVIVED:
            entered = "" if one.tests else " (no test enters it)"
            print(f"{one.module}:{one.line} in {one.function or 'the module'}{entered}\n- {one.before}\n+ {one.after}")
    print(f"\n{'':44}{'mutants':>9}{'killed':>9}{'clock':>9}{'survived':>9}{'noticed':>9}")
    for room in ROOMS:
        for name in (room, *sorted(f"  {module}" for module in inside[room])) if room in inside else ():
            _row(name, counts[name])
    total = sum((counts[room] for room in inside), Counter())
    _row("all", total)
    print(
        f"seed {seed}, {seconds:.0f} s; {again} outcomes of an earlier run; {len(equivalent())} mutants are listed as "
        f"changing nothing and were not drawn."
    )
    return 0 if total[SURVIVED] <= (1 - WANTED) * total.total() else 1


def _row(name: str, counts: Counter[str]) -> None:
    noticed = 1 - counts[SURVIVED] / max(1, counts.total())
    figures = f"{counts.total():9}{counts['killed']:9}{counts['clock']:9}{counts[SURVIVED]:9}{noticed:9.1%}"
    print(f"{name:44}{figures}")
