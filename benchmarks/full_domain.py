"""Full-domain search: time against plain NumPy, and growth.

    SHOAL_DATA=... python -m benchmarks.full_domain [--quick]

The search alone is timed, with the frequency set in memory and kernels compiled; best of five. The baseline groups the
combinations of each node that the search evaluated with NumPy's unique, in the same run. ARX 3.9.2, measured elsewhere
on two cores, warm: Adult with 0, 2 and 5 % suppressed 38, 220 and 177 ms; lattices of 20,736 and 45,000 nodes at 2 %
4.7 and 7.9 s; a million rows loaded and searched, cold, about 4 s.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import draw, measure, show
from shoal.datasets.census import QUASI_IDENTIFIERS, write_census
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.methods import FullDomain, Problem
from shoal.methods.full_domain.exhaustive import find_optimum
from shoal.models import KAnonymity, combine
from shoal.schema import Column, Ordered, Prefix, Role, Schema, Widths, read_table
from shoal.schema.bound_hierarchy import build_ladder
from shoal.table import Dictionary, FrequencySet, read_frequency_set, recode_codes

ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")


def census_schema() -> Schema:
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
    columns["age"] = Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20, 40)))
    columns["education"] = Column(Role.QUASI_IDENTIFIER, Ordered((4, 2)))
    columns["native-country"] = Column(Role.QUASI_IDENTIFIER, Prefix((2,)))
    return Schema(columns)


def problem_of(source: Source, schema: Schema, k: int) -> Problem:
    with DuckDBEngine() as engine:
        frequencies = read_frequency_set(engine, engine.read(source), schema)
    return Problem(frequencies, frequencies.ladders(schema), combine([KAnonymity(k)]))


def synthetic(rows: int, leaves: tuple[int, ...], heights: tuple[int, ...], k: int = 5, seed: int = 0) -> Problem:
    """Build a table of skewed columns with hierarchies of given heights.

    The heights determine the size of the lattice.
    """
    random = np.random.default_rng(seed)
    columns = []
    for values in leaves:
        share = 1 / np.arange(1, values + 1)
        columns.append(random.choice(values, rows, p=share / share.sum()))
    return of_columns(columns, leaves, heights, k)


def of_columns(columns: list[np.ndarray], leaves: tuple[int, ...], heights: tuple[int, ...], k: int) -> Problem:
    """Build a problem from codes, numbers of values and hierarchy heights."""
    ladders, dictionaries = [], []
    for index, (values, height) in enumerate(zip(leaves, heights, strict=True)):
        names = [f"{value:04d}" for value in range(values)]
        fan = max(2, int(np.ceil(values ** (1 / height))))
        levels = [names, *([f"{level}-{value // fan**level}" for value in range(values)] for level in range(1, height))]
        levels.append(["*"] * values)
        ladders.append(build_ladder(levels, False, levels))
        dictionaries.append(Dictionary(f"q{index}", index, None, tuple(names), False))
    codes, count = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    none = np.zeros((len(codes), 0), np.int32)
    frequencies = FrequencySet(
        tuple(dictionaries), (), (), np.ascontiguousarray(codes, np.int32), none, count.astype(np.int64)
    )
    return Problem(frequencies, tuple(ladders), combine([KAnonymity(k)]))


def search(problem: Problem, suppression: float, repeat: int = 5) -> tuple[float, object]:
    method = FullDomain(suppression=suppression)
    lowest, highest = method.bounds(problem)
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        found = find_optimum(problem, method.measure(problem), suppression, lowest, highest)
        times.append(time.perf_counter() - start)
    return min(times), found


def baseline(problem: Problem, looks: int, node: tuple[int, ...]) -> float:
    """Return NumPy's time to group the combinations at the optimum's levels.

    They are grouped as often as the search evaluated a node.
    """
    frequencies = problem.frequencies
    start = time.perf_counter()
    tries = min(looks, 5)
    for _ in range(tries):
        codes, _ = recode_codes(frequencies.codes, problem.ladders, node)
        _, inverse = np.unique(codes, axis=0, return_inverse=True)
        np.bincount(inverse.reshape(-1), weights=frequencies.count)
    return (time.perf_counter() - start) / tries * looks


def row(name: str, problem: Problem, suppression: float) -> tuple[object, ...]:
    seconds, found = search(problem, suppression)
    plain = baseline(problem, found.seen, found.best.node)
    counts = (len(problem.frequencies.count), found.nodes, found.seen)
    best = found.best
    return (name, f"{suppression:.0%}", *counts, seconds * 1000, plain / seconds, best.loss, best.suppressed)


def main(growth: bool = True) -> None:
    header = (
        "case",
        "suppression",
        "combinations",
        "nodes",
        "looked at",
        "ms",
        "NumPy baseline, times slower",
        "loss",
        "suppressed",
    )
    rows = []
    folder = os.environ.get("SHOAL_DATA")
    if folder:
        home = Path(folder) / "adult"
        schema = Schema(
            {
                name: Column(Role.QUASI_IDENTIFIER, read_table(home / "hierarchies" / "arx" / f"{name}.csv"))
                for name in ADULT
            }
        )
        adult = problem_of(Source(home / "adult-arx.csv"), schema, 5)
        rows += [row("Adult, 7 QIs, k=5", adult, suppression) for suppression in (0.0, 0.02, 0.05)]
    large = synthetic(100_000, (2, 100, 20, 3, 10, 4, 12, 25), (1, 5, 3, 2, 2, 3, 2, 3))
    rows += [row("100k rows, 8 skewed QIs", large, suppression) for suppression in (0.0, 0.02)]
    larger = synthetic(63_000, (90, 50, 5, 4, 20, 3, 30, 13), (5, 4, 2, 2, 3, 1, 4, 4))
    rows += [row("63k rows, 8 skewed QIs", larger, suppression) for suppression in (0.0, 0.02)]
    show("Full-domain search, best of five", header, rows)
    by_models()
    if growth:
        by_rows()
        by_nodes()
        by_columns()


MODELS = """
import time
from dataclasses import replace
from benchmarks.full_domain import *
from shoal.models import LDiversity, TCloseness
problem = replace({problem}, model=combine({models}))
method = FullDomain(suppression={suppression})
bounds, measure = method.bounds(problem), method.measure(problem)
def run():
    start = time.process_time()
    found = find_optimum(problem, measure, {suppression}, *bounds)
    spent = time.process_time() - start
    best = found.best
    return {{
        "cpu": spent, "nodes": found.nodes, "seen": found.seen, "loss": best.loss, "suppressed": best.suppressed
    }}
run()
"""
# milliseconds of an earlier version and of ARX, measured elsewhere on two cores with other tables
QUOTED = {
    ("Adult", "t", 0.02): (3160, 440),
    ("100k rows", "t", 0.02): (21100, 3780),
    ("Adult", "l", 0.0): (30, 61),
    ("Adult", "l", 0.02): (95, 405),
    ("100k rows", "l", 0.0): (126, 155),
}


def with_secrets(rows: int) -> Problem:
    """Return a census with sensitive occupations."""
    schema = Schema({**census_schema().columns, "occupation": Column(Role.SENSITIVE)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "census.parquet"
        write_census(path, rows)
        return problem_of(Source(path), schema, 5)


def adult_with_secrets() -> Problem:
    """Return Adult with sensitive occupations."""
    home = Path(os.environ["SHOAL_DATA"]) / "adult"
    columns = {
        name: Column(Role.QUASI_IDENTIFIER, read_table(home / "hierarchies" / "arx" / f"{name}.csv")) for name in ADULT
    }
    schema = Schema({**columns, "occupation": Column(Role.SENSITIVE)})
    return problem_of(Source(home / "adult-arx.csv"), schema, 5)


def by_models() -> None:
    """Measure searches that need histograms, each in a separate process."""
    tables = {"100k rows": "with_secrets(100_000)"}
    if os.environ.get("SHOAL_DATA"):
        tables = {"Adult": "adult_with_secrets()", **tables}
    rows = []
    for table, problem in tables.items():
        for model, name in (("LDiversity(3)", "l"), ("TCloseness(0.2)", "t")):
            for suppression in (0.0, 0.02):
                models = f"[KAnonymity(5), {model}]"
                setup = MODELS.format(problem=problem, models=models, suppression=suppression)
                measured = measure(setup, "answer = run()", repeat=5)
                before, arx = QUOTED.get((table, name, suppression), ("", ""))
                answer = measured["answer"]
                rows.append(
                    (
                        f"{table}, 7 QIs, k=5, {model}",
                        f"{suppression:.0%}",
                        answer["nodes"],
                        answer["seen"],
                        measured["seconds"] * 1000,
                        answer["cpu"] * 1000,
                        measured["peak_mb"],
                        answer["loss"],
                        answer["suppressed"],
                        before,
                        arx,
                    )
                )
    show(
        "Full-domain search with models of sensitive values, best of five",
        (
            "case",
            "suppression",
            "nodes",
            "looked at",
            "ms",
            "ms of processor, last run",
            "peak MB",
            "loss",
            "suppressed",
            "ms before",
            "ms ARX",
        ),
        rows,
        "Times before and those of ARX are quoted: two cores, warm, tables of 100,000 rows of their own.",
    )


def by_rows(max_rows: int = 10_000_000) -> None:
    rows = []
    size = 10_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "census.parquet"
        while size <= max_rows:
            write_census(path, size)
            start = time.perf_counter()
            problem = problem_of(Source(path), census_schema(), 5)
            compacted = time.perf_counter() - start
            seconds, found = search(problem, 0.02, 2)
            rows.append((size, len(problem.frequencies.count), compacted, seconds, found.nodes, found.seen))
            size *= 10
    show(
        "Growth with rows, 7 quasi-identifiers, k = 5, 2 % left out",
        ("rows", "combinations", "reading s", "search s", "nodes", "looked at"),
        [(f"{one[0]:,}", *one[1:]) for one in rows],
        "Reading counts the distinct combinations of a Parquet file; the search never sees the rows.",
    )
    draw(
        "Full domain: time against rows",
        "rows",
        "seconds",
        {"reading": [(one[0], one[2]) for one in rows], "search": [(one[0], one[3]) for one in rows]},
    )


def by_nodes() -> None:
    """Measure the same table with increasing heights of its hierarchies."""
    rows = []
    for heights in ((1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 1, 1), (3, 3, 3, 3, 2, 1), (4, 4, 4, 3, 3, 2), (6, 6, 5, 4, 4, 3)):
        problem = synthetic(60_000, (100, 60, 40, 20, 12, 6), heights)
        times = {suppression: search(problem, suppression, 2) for suppression in (0.0, 0.02)}
        rows.append((times[0.0][1].nodes, times[0.0][0], times[0.0][1].seen, times[0.02][0], times[0.02][1].seen))
    show(
        "Growth with the lattice: 60,000 rows, 6 skewed quasi-identifiers, k = 5",
        ("nodes", "s at 0 %", "looked at", "s at 2 %", "looked at"),
        [(f"{one[0]:,}", *one[1:]) for one in rows],
    )
    draw(
        "Full domain: time against lattice size",
        "nodes",
        "seconds",
        {"nothing left out": [(one[0], one[1]) for one in rows], "2 % left out": [(one[0], one[3]) for one in rows]},
    )


def by_columns() -> None:
    """Measure increasing numbers of quasi-identifiers of three levels each."""
    rows = []
    for columns in range(2, 12):
        problem = synthetic(60_000, tuple(12 + 3 * (index % 4) for index in range(columns)), (2,) * columns)
        seconds, found = search(problem, 0.02, 2)
        rows.append((columns, len(problem.frequencies.count), found.nodes, found.seen, seconds))
    show(
        "Growth with the number of quasi-identifiers: 60,000 rows, three levels each, k = 5, 2 % left out",
        ("quasi-identifiers", "combinations", "nodes", "looked at", "seconds"),
        rows,
    )
    draw(
        "Full domain: time against the number of quasi-identifiers",
        "quasi-identifiers",
        "seconds",
        {"search, 2 % left out": [(one[0], one[-1]) for one in rows]},
        log_x=False,
    )


if __name__ == "__main__":
    main("--quick" not in sys.argv)
