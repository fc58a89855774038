"""Mutation testing: do the tests notice when a line is wrong?

    python -m tests.mutation --count 300 --seed 1

A seeded sample of small faults (:mod:`tests.mutation.mutate`), drawn evenly from the rooms that decide what is
published, each met by the tests that enter the function it stands in: first those that noticed faults near it, then the
quickest. A fault that no test notices survives. Every test that noticed one is run once more without a fault: where it
fails then too, it has noticed nothing. Outcomes stand in ``.mutants/results.jsonl``, and a run that was broken off is
gone on with. What once survived (``once.toml``) is met each time. Mutants that change nothing are listed in
``equivalent.toml`` with the reason, and not counted. The status is 1 where less than 95 % are noticed.
"""

from __future__ import annotations

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"  # before anything imports Numba

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.mutation.host import Host, Noting
from tests.mutation.mutate import Mutant
from tests.mutation.results import SURVIVED, Result, Results, identity, met_by, report
from tests.mutation.rooms import PROJECT, once, sample
from tests.mutation.run import BROKEN, Job, Outcome, make_tree, preload, run_all
from tests.mutation.serving import Test, Tests, follow, limits, meet, noted, run_pytest, tell

STORE = PROJECT / ".mutants"


def main() -> int:
    """Draw, run, tell."""
    options = _options()
    os.nice(max(0, 10 - os.nice(0)))
    preload()
    chosen = sample(options.count, options.seed, options.only)
    chosen += [pair for pair in once() if pair[1].module.startswith(options.only) or pair[0] == options.only]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="shoal-mutants-") as folder:
        trees = [Path(folder) / f"tree{number}" for number in range(options.processes)]
        for tree in trees:
            make_tree(PROJECT, tree)
        tests = follow(trees, STORE / "followed", chosen)
        results = Results(STORE / "results.jsonl")
        results.forget() if options.afresh else results.read()
        run = _Run([mutant for _, mutant in chosen], tests, results, trees)
        again = run.all()
        while false := run.failing_without_a_fault():
            tell(f"These fail without a fault too, and are left out: {', '.join(sorted(false))}")
            tests.drop(false)
            again = run.all()
    found = [(room, results.known[identity(mutant)]) for room, mutant in chosen]
    return report(found, 0 if options.afresh else again, options.seed, time.monotonic() - started)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description="Do the tests notice when a line is wrong?")
    parser.add_argument("--count", type=int, default=300, help="how many mutants (300)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--processes", type=int, default=1, help="how many at a time (1)")
    parser.add_argument("--only", default="", help="a room or a module: models, identifiability/ledger.py, ...")
    parser.add_argument("--afresh", action="store_true", help="believe no outcome of an earlier run")
    return parser.parse_args()


class _Run:
    """The mutants of a sample, and what is known of them."""

    def __init__(self, mutants: list[Mutant], tests: Tests, results: Results, trees: list[Path]) -> None:
        self.mutants, self.tests, self.results, self.trees = mutants, tests, results, trees

    def all(self) -> int:
        """Have an outcome for each; how many are known from before."""
        waiting = self._waiting()
        known = len(self.mutants) - len(waiting)
        if waiting:
            shares = [waiting[number :: len(self.trees)] for number in range(len(self.trees))]
            for outcome in run_all([self._hosted(share) for share in shares if share], self.trees):
                if outcome.status != 0:
                    tell(f"The tests could not be collected at once:\n{outcome.printed}")
            self.results.read()
        self._meet(self._waiting(), self.trees, None)
        return known

    def _waiting(self) -> list[Mutant]:
        return [
            mutant for mutant in self.mutants if self.results.valid(mutant, self.tests, self._meets(mutant)) is None
        ]

    def _meets(self, mutant: Mutant) -> list[Test]:
        return self.tests.of(mutant, self.results.proven(mutant))

    def _names(self, mutant: Mutant) -> list[str]:
        return [test.name for test in self._meets(mutant)]

    def _hosted(self, mutants: list[Mutant]) -> Job:
        """A process in which mutants of functions meet tests that are collected already."""
        files = sorted({test.name.partition("::")[0] for mutant in mutants for test in self._meets(mutant)})

        def do(tree: Path) -> int:
            def work(host: Host) -> None:
                here = [mutant for mutant in mutants if host.can_plant(mutant, self._names(mutant))]
                self._meet(here, [tree], host)

            return run_pytest(files, Host(tree, work), tree)

        return Job("host", do, 10**6)

    def _meet(self, mutants: list[Mutant], trees: list[Path], host: Host | None) -> None:
        jobs = (self._job(number, mutant, host) for number, mutant in enumerate(mutants))
        for number, outcome in enumerate(run_all(jobs, trees), 1):
            mutant = mutants[int(outcome.job.name)]
            if outcome.status == BROKEN:
                if host is None:
                    sys.exit(f"{mutant.module}:{mutant.line} could not be tried:\n{outcome.printed}")
                continue
            result = self._result(mutant, outcome)
            self.results.add(result)
            tell(f"{number}/{len(mutants)} {result.outcome} {mutant.module}:{mutant.line} ({outcome.seconds:.1f} s)")

    def _job(self, number: int, mutant: Mutant, host: Host | None) -> Job:
        meets = self._meets(mutant)
        seconds = 30 + 3 * sum(test.seconds for test in meets)
        do = meet(meets) if host is None else _hosted_meeting(host, mutant, meets)
        return Job(str(number), do, seconds, (f"src/shoal/{mutant.module}", mutant.text), fresh=host is None)

    def _result(self, mutant: Mutant, outcome: Outcome) -> Result:
        meets = self._meets(mutant)
        word, by = SURVIVED, ""
        if outcome.status != 0:
            said = noted(outcome.tree / "note")
            word, by = "killed" if outcome.status is not None else "clock", said[-1][1] if said else ""
            word = "clock" if ("clock", by) in said else word
        first = self.tests.named[by] if by else meets[0] if meets else None
        met = met_by(meets) if word == SURVIVED or first is None else met_by([first])
        where = (mutant.module, mutant.function, mutant.line, mutant.before, mutant.after)
        return Result(identity(mutant), *where, word, by, met, len(meets), round(outcome.seconds, 1))

    def failing_without_a_fault(self) -> set[str]:
        """The tests that noticed a fault, or were to be imported first, and fail without one."""
        names = set()
        for mutant in self.mutants:
            result = self.results.known[identity(mutant)]
            if result.outcome != SURVIVED:
                names.add(result.by or self._meets(mutant)[0].name)
        killers = [self.tests.named[name] for name in sorted(names)]
        job = Job("control", meet(killers, all_of_them=True), 300 + 3 * sum(test.seconds for test in killers))
        (outcome,) = run_all([job], self.trees[:1])
        said = noted(outcome.tree / "note")
        if names and (outcome.status is None or names - {name for word, name in said if word == "begun"}):
            sys.exit(f"The tests could not be run without a fault:\n{outcome.printed}")
        return {name for word, name in said if word in ("killed", "clock")}


def _hosted_meeting(host: Host, mutant: Mutant, meets: list[Test]) -> Callable[[Path], int]:
    return lambda tree: host.meet(mutant, [test.name for test in meets], Noting(tree / "note", limits(meets)))


if __name__ == "__main__":
    sys.exit(main())
