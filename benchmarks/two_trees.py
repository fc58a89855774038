"""Two source trees: CPU seconds of the same work, and their ratio.

    SHOAL_DATA=... python -m benchmarks.two_trees OLD/src NEW/src [--rounds 5] [--only mdav,check]

This is for a refactoring that must not cost time. Every round runs each case in a separate process with one tree and
then at once with the other, so that other load of the machine slows both. The modules that a case uses are imported by
the prelude of its tree (benchmarks/prelude.py).
A run before the first round compiles what is not compiled yet. CPU time counts all threads, and is not wall time. The
ratio is that of the medians. Without Adult (SHOAL_DATA) its cases are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import show

LARGEST_RATIO = 1.05

ADULT = """
def problem_of(source, schema, *models):
    with DuckDBEngine() as engine:
        frequencies = read_frequency_set(engine, engine.read(source), schema)
    return Problem(frequencies, frequencies.ladders(schema), combine(models), schema=schema)
def adult(*models):
    home = Path(os.environ["SHOAL_DATA"]) / "adult"
    names = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
    columns = {n: Column(Role.QUASI_IDENTIFIER, read_table(home / "hierarchies" / "arx" / f"{n}.csv")) for n in names}
    schema = Schema({**columns, "occupation": Column(Role.SENSITIVE)})
    return problem_of(Source(home / "adult-arx.csv", csv=CsvFormat(delimiter=";")), schema, *models)
def census(rows, *models):
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
    columns["age"] = Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20, 40)))
    columns["education"] = Column(Role.QUASI_IDENTIFIER, Ordered((4, 2)))
    columns["native-country"] = Column(Role.QUASI_IDENTIFIER, Prefix((2,)))
    columns[SENSITIVE] = Column(Role.SENSITIVE)
    return problem_of(Source(frame=census_table(rows)), Schema(columns), *models)
def points(rows, *models):
    random = np.random.default_rng(1)
    frame = {f"c{j}": random.normal(size=rows) for j in range(4)}
    frame["illness"] = [f"v{v}" for v in np.minimum(random.geometric(0.3, rows) - 1, 14)]
    columns = {f"c{j}": Column(Role.QUASI_IDENTIFIER) for j in range(4)}
    schema = Schema({**columns, "illness": Column(Role.SENSITIVE)})
    return problem_of(Source(frame=pa.table(frame)), schema, *models)
"""

CASES = {
    "full-domain, Adult, k": ("problem = adult(KAnonymity(5)); method = FullDomain(suppression=0.02)", 5),
    "full-domain, Adult, t": (
        "problem = adult(KAnonymity(5), TCloseness(t=0.2)); method = FullDomain(suppression=0.02)", 1),
    "full-domain, a million rows": ("problem = census(1_000_000, KAnonymity(5)); method = FullDomain()", 3),
    "top-down, Adult": ("problem = adult(KAnonymity(5), PSensitive(2)); method = TopDown()", 3),
    "mondrian, Adult": ("problem = adult(KAnonymity(5), PSensitive(2)); method = Mondrian()", 3),
    "mondrian, 100,000 rows": ("problem = census(100_000, KAnonymity(5)); method = Mondrian()", 3),
    "switching, 20,000 rows": ("problem = census(20_000, KAnonymity(5)); method = Switching()", 1),
    "refine, Adult": ("problem = adult(KAnonymity(5)); method = Refine()", 1),
    "local-suppression, 100,000 rows": ("problem = census(100_000, KAnonymity(5)); method = LocalSuppression()", 3),
    "anti-unification, 20,000 rows": ("problem = census(20_000, KAnonymity(3)); method = AntiUnification()", 5),
    "mdav, 100,000 rows": ("problem = points(100_000, KAnonymity(5)); method = Mdav()", 1),
    "k-first, 10,000 rows": ("problem = points(10_000, KAnonymity(5), PSensitive(3)); method = KFirst()", 1),
    "annealing, 2,000 rows": (
        "problem = points(2_000, KAnonymity(5), PSensitive(3)); method = PFirst(refine=True, effort=1000)", 1),
    "annealing, t-closeness": (
        "problem = points(2_000, KAnonymity(5), TCloseness(t=0.4)); method = PFirst(refine=True, effort=500)", 1),
}  # fmt: skip
"""The setup of each case, and the number of decisions per process."""

DECIDE = "answer = method.decide(problem)"
CHECK = """
import shoal
table = census_table(1_000_000)
models = ["k-anonymity k=2", "p-sensitive p=2", "t-closeness t=0.5"]
"""
CHECK_RUN = "shoal.check(table, models, quasi_identifiers=QUASI_IDENTIFIERS, sensitive=[SENSITIVE])"

CHILD = """
import json, sys, time
setup, run, repeat = sys.argv[1], sys.argv[2], int(sys.argv[3])
scope = {}
exec(setup, scope)
exec(run, scope)
times = []
for _ in range(repeat):
    start = time.process_time()
    exec(run, scope)
    times.append(time.process_time() - start)
print(json.dumps(sorted(times)[len(times) // 2]))
"""


def prelude_of(tree: Path, other: Path | None) -> str:
    """Read the imports that fit a tree."""
    own = tree.resolve().parent / "benchmarks" / "prelude.py"
    if other is None and not own.is_file():
        sys.exit(f"{str(tree)!r} has no benchmarks/prelude.py; give its imports with --old-prelude FILE.")
    return (other or own).read_text(encoding="utf-8")


def cpu_seconds(tree: Path, setup: str, run: str, repeat: int) -> float:
    """Return the median CPU time of some work with the sources of a tree.

    Each tree has a separate cache of compiled code.
    """
    store = tree.resolve().parent / ".cache"
    where = {"PYTHONPATH": str(tree.resolve()), "XDG_CACHE_HOME": str(store)}
    command = [sys.executable, "-c", CHILD, setup, run, str(repeat)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **where}, cwd="/")
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return float(json.loads(done.stdout.splitlines()[-1]))


def works(only: str) -> dict[str, tuple[str, str, int]]:
    """Return setup, work and number of repetitions, by name."""
    found = {name: (ADULT + setup, DECIDE, repeat) for name, (setup, repeat) in CASES.items()}
    found["check, a million rows"] = (CHECK, CHECK_RUN, 3)
    adult = "SHOAL_DATA" in os.environ
    chosen = only.split(",") if only else [""]
    return {n: w for n, w in found.items() if (adult or "Adult" not in n) and any(part in n for part in chosen)}


def main(old: Path, new: Path, rounds: int, only: str, old_prelude: Path | None) -> int:
    chosen = works(only)
    preludes = (prelude_of(old, old_prelude), prelude_of(new, None))
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in chosen}
    for number in range(rounds + 1):
        for name, work in chosen.items():
            both = enumerate((old, new)) if number % 2 else reversed(list(enumerate((old, new))))
            for tree_index, tree in both:
                setup, run, repeat = work
                spent = cpu_seconds(tree, preludes[tree_index] + setup, run, repeat)
                if number:
                    times[name][tree_index].append(spent)
    rows = [
        (name, *(medians := [statistics.median(part) for part in parts]), medians[1] / medians[0])
        for name, parts in times.items()
    ]
    show(
        "The same work by two source trees",
        ("what", "before, CPU s", "after, CPU s", "ratio"),
        rows,
        f"Medians of {rounds} rounds in turn. A ratio above {LARGEST_RATIO:g} is slower.",
    )
    return int(any(row[-1] > LARGEST_RATIO for row in rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--old-prelude", type=Path, help="imports that fit the old tree")
    given = parser.parse_args()
    sys.exit(main(given.old, given.new, given.rounds, given.only, given.old_prelude))
