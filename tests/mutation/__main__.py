"""Mutation testing: do the tests notice when a line is wrong?

    python -m tests.mutation --count 300 --seed 1

A seeded sample of small faults (:mod:`tests.mutation.mutate`), drawn evenly from the rooms that decide what is
published, each met by the tests that enter the function it stands in, the quickest first. A fault that no test notices
survives. Mutants that change nothing are listed in ``equivalent.toml`` with the reason, and not counted. The status is
1 where less than 95 % are noticed.
"""

from __future__ import annotations

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"  # before anything imports Numba

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.mutation.mutate import Mutant, mutants_of
from tests.mutation.run import Job, Outcome, make_tree, preload, run_all
from tests.mutation.tracing import Touched

PROJECT = Path(__file__).resolve().parents[2]
ROOMS: dict[str, tuple[str, ...]] = {
    "models": ("models/*.py",),
    "gate": ("verify.py", "gate.py", "gate/*.py", "gate_*.py"),
    "encoding": ("encoding/*.py",),
    "output": ("output.py", "output/*.py", "engines/scratch.py"),
    "identifiability": ("identifiability/*.py",),
    "kernels": ("kernels/*.py",),
}
# the tests that are asked about a room; of these only those that enter a mutant's function meet it
SERVING: dict[str, tuple[str, ...]] = {
    "models": ("test_models*", "test_papers_tables", "test_gate*", "test_plan", "test_categories", "test_people_models",
               "test_spelling", "test_switching"),
    "gate": ("test_gate*", "test_models*", "test_papers_tables", "test_local_suppression", "test_peers_traps",
             "test_losses", "test_people", "test_spelling"),
    "encoding": ("test_encoding*", "test_models*", "test_papers_tables", "test_pseudonyms", "test_hostile",
                 "test_losses", "test_publish_categories", "test_reuse", "test_local_suppression", "test_spelling",
                 "test_labels", "test_mondrian", "test_people_models"),
    "output": ("test_output*", "test_scratch*", "test_publishing", "test_places", "test_reuse", "test_hostile"),
    "identifiability": ("test_identifiability_*", "test_query_cli", "test_declared_values", "test_grids"),
    "kernels": ("test_*kernel*", "test_switching", "test_full_domain", "test_local_suppression", "test_mondrian",
                "test_top_down", "test_refine"),
}  # fmt: skip
WANTED = 0.95
SLOW = 6
"""Seconds of a processor after which a test is too slow without the compiler to serve here."""
BUDGET = 30.0
"""Seconds of tests, as a processor counts them, that a mutant meets at most."""

type_of_map = dict[str, tuple[float, list[str]]]


def main() -> int:
    """Draw, run, tell."""
    options = _options()
    preload()
    with tempfile.TemporaryDirectory(prefix="shoal-mutants-") as folder:
        trees = [Path(folder) / f"tree{number}" for number in range(options.processes)]
        for tree in trees:
            make_tree(PROJECT, tree)
        chosen = _sample(options.count, options.seed, options.only)
        touched = _touched(trees, PROJECT / ".mutants", {room for room, _ in chosen})
        started = time.monotonic()
        results = []
        for number, (mutant, outcome) in enumerate(_trials(chosen, touched, trees), 1):
            results.append((mutant, outcome))
            _tell(f"{number}/{len(chosen)} {_word(outcome)} {mutant.module}:{mutant.line} ({outcome.seconds:.1f} s)")
    return _report(results, options, time.monotonic() - started)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description="Do the tests notice when a line is wrong?")
    parser.add_argument("--count", type=int, default=300, help="how many mutants (300)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--processes", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--only", default="", help="a room or a module: models, identifiability/ledger.py, ...")
    parser.add_argument("--json", type=Path, help="also write the outcomes to this file")
    return parser.parse_args()


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _modules() -> Iterator[tuple[str, str]]:
    """Every room's modules."""
    root = PROJECT / "src" / "shoal"
    for room, patterns in ROOMS.items():
        for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
            yield room, str(path.relative_to(root))


def _equivalent() -> dict[tuple[str, str, str, str], str]:
    listed = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text()).get("mutant", [])
    return {(one["module"], one["function"], one["before"], one["after"]): one["reason"] for one in listed}


def _sample(count: int, seed: int, only: str) -> list[tuple[str, Mutant]]:
    """So many mutants, drawn evenly from the rooms; small rooms give what they have and the others the rest."""
    known = _equivalent()
    pools: dict[str, list[Mutant]] = defaultdict(list)
    for room, module in _modules():
        if only in ("", room) or module.startswith(only):
            found = mutants_of(PROJECT / "src" / "shoal", module)
            pools[room] += [mutant for mutant in found if mutant.key not in known]
    draw = random.Random(seed)
    chosen: list[tuple[str, Mutant]] = []
    left = count
    for place, room in enumerate(sorted(pools, key=lambda room: len(pools[room]))):
        share = min(len(pools[room]), left // (len(pools) - place))
        chosen += [(room, mutant) for mutant in draw.sample(pools[room], share)]
        left -= share
    draw.shuffle(chosen)
    return chosen


def _run_tests(arguments: list[str], plugins: list[object], tree: Path) -> int:
    import pytest

    quiet = [
        "-q",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--no-header",
        "--tb=line",
        f"--basetemp={tree / 'tmp'}",
    ]
    return int(pytest.main([*quiet, *arguments], plugins=plugins))


def _touched(trees: list[Path], store: Path, rooms: set[str]) -> type_of_map:
    """For every test that passes here in time its seconds and the functions it enters; kept while nothing changes."""
    source = _digest((PROJECT / "src").rglob("*.py"))
    patterns = {pattern for room in rooms for pattern in SERVING[room]}
    tests = sorted({path for pattern in patterns for path in (PROJECT / "tests").rglob(f"{pattern}.py")})
    kept = {path: store / f"{path.stem}-{source}-{_digest([path])}.jsonl" for path in tests}
    store.mkdir(exist_ok=True)
    for old in store.iterdir():
        if f"-{source}-" not in old.name:
            old.unlink()
    jobs = [
        Job(str(path), _follow(path, kept[path].with_suffix(".part")), 900) for path in tests if not kept[path].exists()
    ]
    for outcome in run_all(jobs, trees):
        report = kept[Path(outcome.job.name)]
        if not report.with_suffix(".part").exists():
            sys.exit(f"No test of {outcome.job.name} could be run:\n{outcome.printed}")
        report.with_suffix(".part").replace(report)
        lost = [json.loads(line)[0] for line in report.read_text().splitlines() if not json.loads(line)[1]]
        _tell(f"{report.name} in {outcome.seconds:.0f} s; without {', '.join(lost) or 'none'}")
    lines = [json.loads(line) for report in kept.values() for line in report.read_text().splitlines()]
    return {name: (seconds, functions) for name, passed, seconds, functions in lines if passed}


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(str(path.relative_to(PROJECT)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _follow(test: Path, report: Path):
    def do(tree: Path) -> int:
        plugin = Touched(report, f"{tree / 'src' / 'shoal'}/", SLOW)
        return _run_tests([str(test.relative_to(PROJECT))], [plugin], tree)

    return do


def _trials(
    chosen: list[tuple[str, Mutant]], touched: type_of_map, trees: list[Path]
) -> Iterable[tuple[Mutant, Outcome]]:
    """Every mutant before the tests that enter its function, the quickest first."""
    entering: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name, (_, functions) in touched.items():
        for line in functions:
            module, _, function = line.partition("\t")
            entering[module, function].add(name)
            entering[module, ""].add(name)

    jobs = []
    for number, (_, mutant) in enumerate(chosen):
        names: list[str] = []
        spent = 0.0
        for name in sorted(entering[mutant.module, mutant.function], key=lambda name: (touched[name][0], name)):
            spent += touched[name][0]
            if spent > BUDGET:
                break
            names.append(name)
        jobs.append(
            Job(str(number), _meet(names), 15 + 3 * min(spent, BUDGET), (f"src/shoal/{mutant.module}", mutant.text))
        )
    for outcome in run_all(jobs, trees):
        yield chosen[int(outcome.job.name)][1], outcome


def _meet(names: list[str]):
    def do(tree: Path) -> int:
        return _run_tests(["-x", *names], [], tree) if names else 0

    return do


def _word(outcome: Outcome) -> str:
    return {None: "timeout", 0: "SURVIVED"}.get(outcome.status, "killed")


def _report(results: list[tuple[Mutant, Outcome]], options: argparse.Namespace, seconds: float) -> int:
    room_of = {module: room for room, module in _modules()}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, outcome in results:
        for name in (room_of[mutant.module], f"  {mutant.module}"):
            counts[name][_word(outcome)] += 1
    survivors = sorted((m for m, outcome in results if outcome.status == 0), key=lambda m: (m.module, m.line))
    for mutant in survivors:
        print(
            f"{mutant.module}:{mutant.line} in {mutant.function or 'the module'}\n- {mutant.before}\n+ {mutant.after}"
        )
    print(f"\n{'':40}{'mutants':>9}{'killed':>9}{'timeout':>9}{'survived':>9}{'noticed':>9}")
    order = [
        name
        for room in ROOMS
        if room in counts
        for name in (room, *sorted(f"  {m}" for m, r in room_of.items() if r == room))
        if name in counts
    ]
    for name in order:
        _row(name, counts[name])
    total = sum((counts[room] for room in ROOMS), Counter())
    _row("all", total)
    equivalent = len(_equivalent())
    print(
        f"seed {options.seed}, {seconds:.0f} s; {equivalent} mutants are listed as changing nothing and were not drawn."
    )
    if options.json:
        told = [{**vars(m), "outcome": _word(o), "seconds": o.seconds, "printed": o.printed} for m, o in results]
        for one in told:
            del one["text"]
        options.json.write_text(json.dumps(told, indent=1))
    return 0 if total["SURVIVED"] <= (1 - WANTED) * total.total() else 1


def _row(name: str, counts: Counter[str]) -> None:
    noticed = 1 - counts["SURVIVED"] / counts.total()
    figures = f"{counts.total():9}{counts['killed']:9}{counts['timeout']:9}{counts['SURVIVED']:9}{noticed:9.1%}"
    print(f"{name:40}{figures}")


if __name__ == "__main__":
    sys.exit(main())
