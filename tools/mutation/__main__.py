"""Mutation testing: measure whether the tests detect faulty lines.

    python -m tools.mutation --count 300 --seed 1

It draws a seeded sample of small faults (:mod:`tools.mutation.mutate`), evenly from the areas that determine what is
published. Each mutant is run against the tests that enter its function: first those that detected faults near it, then
the fastest. A mutant that no test detects survives. Every test that detected a fault is run once more without one: if
it fails then too, it has detected nothing. Outcomes are stored in ``.mutants/results.jsonl``, and an interrupted run is
resumed. Former survivors (once.toml) are run each time. Mutants that change nothing are listed in ``equivalent.toml``
with the reason, and not counted. The status is 1 if less than 95 % are detected.
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

from tools.mutation.areas import PROJECT, former_survivors, sample
from tools.mutation.host import Host, TestLog
from tools.mutation.mutate import Mutant
from tools.mutation.results import SURVIVED, Result, Results, identity, report, tests_digest
from tools.mutation.run import BROKEN_STATUS, Job, Outcome, make_tree, preload, run_all
from tools.mutation.selection import (
    Test,
    Tests,
    make_task,
    print_status,
    read_log,
    run_pytest,
    test_seconds,
    trace_tests,
)

STORE = PROJECT / ".mutants"


def main() -> int:
    """Draw mutants, run the tests, and print a report."""
    options = _options()
    os.nice(max(0, 10 - os.nice(0)))
    preload()
    chosen = sample(options.count, options.seed, options.only)
    chosen += [
        pair for pair in former_survivors() if pair[1].module.startswith(options.only) or pair[0] == options.only
    ]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="shoal-mutants-") as folder:
        trees = [Path(folder) / f"tree{number}" for number in range(options.processes)]
        for tree in trees:
            make_tree(PROJECT, tree)
        tests = trace_tests(trees, STORE / "followed", chosen)
        results = Results(STORE / "results.jsonl")
        results.forget() if options.afresh else results.read()
        run = _Run([mutant for _, mutant in chosen], tests, results, trees)
        again = run.all()
        while false := run.failing_without_a_fault():
            print_status(f"These fail without a fault too, and are left out: {', '.join(sorted(false))}")
            tests.drop(false)
            again = run.all()
    found = [(area, results.known[identity(mutant)]) for area, mutant in chosen]
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
    """The mutants of a sample and their results."""

    def __init__(self, mutants: list[Mutant], tests: Tests, results: Results, trees: list[Path]) -> None:
        self.mutants, self.tests, self.results, self.trees = mutants, tests, results, trees

    def all(self) -> int:
        """Get a result for every mutant; return how many were known before."""
        waiting = self._waiting()
        known = len(self.mutants) - len(waiting)
        if waiting:
            shares = [waiting[number :: len(self.trees)] for number in range(len(self.trees))]
            for outcome in run_all([self._hosted(share) for share in shares if share], self.trees):
                if outcome.status != 0:
                    print_status(f"The tests could not be collected at once:\n{outcome.printed}")
            self.results.read()
        self._run_mutants(self._waiting(), self.trees, None)
        return known

    def _waiting(self) -> list[Mutant]:
        return [
            mutant for mutant in self.mutants if self.results.valid(mutant, self.tests, self._tests_of(mutant)) is None
        ]

    def _tests_of(self, mutant: Mutant) -> list[Test]:
        return self.tests.select(mutant, self.results.kill_counts(mutant))

    def _names(self, mutant: Mutant) -> list[str]:
        return [test.name for test in self._tests_of(mutant)]

    def _hosted(self, mutants: list[Mutant]) -> Job:
        """Make a job that runs mutants in a process with collected tests."""
        files = sorted({test.name.partition("::")[0] for mutant in mutants for test in self._tests_of(mutant)})

        def do(tree: Path) -> int:
            def work(host: Host) -> None:
                here = [mutant for mutant in mutants if host.can_plant(mutant, self._names(mutant))]
                self._run_mutants(here, [tree], host)

            return run_pytest(files, Host(tree, work), tree)

        return Job("host", do, 10**6)

    def _run_mutants(self, mutants: list[Mutant], trees: list[Path], host: Host | None) -> None:
        jobs = (self._job(number, mutant, host) for number, mutant in enumerate(mutants))
        for number, outcome in enumerate(run_all(jobs, trees), 1):
            mutant = mutants[int(outcome.job.name)]
            if outcome.status == BROKEN_STATUS:
                if host is None:
                    sys.exit(f"{mutant.module}:{mutant.line} could not be tried:\n{outcome.printed}")
                continue
            result = self._result(mutant, outcome)
            self.results.add(result)
            print_status(
                f"{number}/{len(mutants)} {result.outcome} {mutant.module}:{mutant.line} ({outcome.seconds:.1f} s)"
            )

    def _job(self, number: int, mutant: Mutant, host: Host | None) -> Job:
        selected = self._tests_of(mutant)
        seconds = 30 + 3 * sum(test.seconds for test in selected)
        do = make_task(selected) if host is None else _hosted_task(host, mutant, selected)
        return Job(str(number), do, seconds, (f"src/shoal/{mutant.module}", mutant.text), fresh=host is None)

    def _result(self, mutant: Mutant, outcome: Outcome) -> Result:
        selected = self._tests_of(mutant)
        word, by = SURVIVED, ""
        if outcome.status != 0:
            events = read_log(outcome.tree / "note")
            word, by = "killed" if outcome.status is not None else "clock", events[-1][1] if events else ""
            word = "clock" if ("clock", by) in events else word
        first = self.tests.named[by] if by else selected[0] if selected else None
        met = tests_digest(selected) if word == SURVIVED or first is None else tests_digest([first])
        where = (mutant.module, mutant.function, mutant.line, mutant.before, mutant.after)
        return Result(identity(mutant), *where, word, by, met, len(selected), round(outcome.seconds, 1))

    def failing_without_a_fault(self) -> set[str]:
        """Return the tests that failed with a mutant and fail without one."""
        names = set()
        for mutant in self.mutants:
            result = self.results.known[identity(mutant)]
            if result.outcome != SURVIVED:
                names.add(result.by or self._tests_of(mutant)[0].name)
        killers = [self.tests.named[name] for name in sorted(names)]
        job = Job("control", make_task(killers, all_of_them=True), 300 + 3 * sum(test.seconds for test in killers))
        (outcome,) = run_all([job], self.trees[:1])
        events = read_log(outcome.tree / "note")
        if names and (outcome.status is None or names - {name for word, name in events if word == "begun"}):
            sys.exit(f"The tests could not be run without a fault:\n{outcome.printed}")
        return {name for word, name in events if word in ("killed", "clock")}


def _hosted_task(host: Host, mutant: Mutant, selected: list[Test]) -> Callable[[Path], int]:
    return lambda tree: host.run_mutant(
        mutant, [test.name for test in selected], TestLog(tree / "note", test_seconds(selected))
    )


if __name__ == "__main__":
    sys.exit(main())
