"""Local recoding and local suppression on Adult, and growth.

    SHOAL_DATA=... python -m benchmarks.local_recoding

Loss and time are compared with full-domain recoding in the same run. ``decide`` alone is timed, with the frequency set
in memory and kernels compiled; best of three. Granularity is ARX's: with s the mean over columns of the mean share of
the domain that a cell covers, and m the mean over columns of one over the domain's size, it is 1 - (s - m)/(1 - m).
ARX's own figures, on another run of a similar machine: full domain 0.301, local recoding of 7 columns 0.9659 in 0.472 s
(warm), of 9 columns 0.9323 in 4.325 s. sdcMicro's kAnon, also measured elsewhere, takes 9 to 37 s for 5 keys and does
not finish within 235 s for 8. The number of cells that it suppresses is counted here by a compiled kernel that follows
its rule: as long as fewer than k rows match a row, `*` matching everything, the row loses the cell in the column with
the largest number of values among the columns in which it differs from its nearest rows.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from numba import njit

from benchmarks.measure import draw, show
from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE, census_table
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import FullDomain, LocalSuppression, Method, Mondrian, Problem, Refine, TopDown
from shoal.models import KAnonymity, Model, PSensitive, combine
from shoal.schema import Column, Role, Schema, Widths, read_table
from shoal.table import Recoding, read_frequency_set
from shoal.utility.loss import published

ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
NINE = (*ADULT, "occupation", "salary-class")


def problem_of(source: Source, schema: Schema, models: tuple[Model, ...]) -> Problem:
    with DuckDBEngine() as engine:
        frequencies = read_frequency_set(engine, engine.read(source), schema)
    return Problem(frequencies, frequencies.ladders(schema), combine(models), schema=schema)


def adult(folder: Path, names: tuple[str, ...], k: int) -> Problem:
    files = {"salary-class": "salary"}
    columns = {
        name: Column(
            Role.QUASI_IDENTIFIER, read_table(folder / "adult/hierarchies/arx" / f"{files.get(name, name)}.csv")
        )
        for name in names
    }
    source = Source(folder / "adult/adult-arx.csv", csv=CsvFormat(delimiter=";"))
    return problem_of(source, Schema(columns), (KAnonymity(k),))


def granularity(problem: Problem, recoding: Recoding) -> float:
    """Return ARX's granularity of a recoding, as defined above."""
    fate = published(problem.frequencies, problem.ladders, recoding)
    share = float((fate.count @ fate.share / fate.count.sum()).mean())
    least = float(np.mean([ladder.share[0].min() for ladder in problem.ladders]))
    return 1 - (share - least) / (1 - least)


def timed(method: Method, problem: Problem, repeat: int = 3) -> tuple[float, Recoding]:
    method.decide(problem)  # compiles the kernels, or loads them from the cache
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        recoding = method.decide(problem)
        best = min(best, time.perf_counter() - start)
    return best, recoding


def on_adult(folder: Path) -> None:
    for names in (ADULT, NINE):
        problem = adult(folder, names, 5)
        rows = []
        plain = None
        for title, method in (
            ("full-domain", FullDomain()),
            ("mondrian, strict", Mondrian(loss="granularity")),
            ("top-down", TopDown(loss="granularity")),
            ("refine (top-down)", Refine(loss="granularity")),
        ):
            seconds, recoding = timed(method, problem)
            plain = plain or seconds
            rows.append((title, f"{granularity(problem, recoding):.4f}", seconds, seconds / plain))
        show(
            f"Adult, {problem.frequencies.rows:,} rows, {len(names)} quasi-identifiers, k = 5",
            ("method", "granularity", "seconds", "times full-domain"),
            rows,
        )


@njit(cache=True)
def matching(codes, row):
    """Count the rows that match a row; -1 matches everything."""
    found = 0
    for other in range(len(codes)):
        matches = True
        for j in range(codes.shape[1]):
            if codes[other, j] >= 0 and codes[row, j] >= 0 and codes[other, j] != codes[row, j]:
                matches = False
                break
        found += matches
    return found


@njit(cache=True)
def nearest_differing_column(codes, row, columns):
    """Return the first of `columns` that differs in a nearest row.

    The nearest rows are those that differ in the smallest number of columns.
    """
    least = codes.shape[1] + 1
    differs = np.zeros(codes.shape[1], np.bool_)
    for other in range(len(codes)):
        counter = 0
        for j in range(codes.shape[1]):
            counter += codes[other, j] >= 0 and codes[row, j] >= 0 and codes[other, j] != codes[row, j]
        if counter == 0 or counter > least:
            continue
        if counter < least:
            least = counter
            differs[:] = False
        for j in range(codes.shape[1]):
            differs[j] |= codes[other, j] >= 0 and codes[row, j] >= 0 and codes[other, j] != codes[row, j]
    for j in columns:
        if differs[j]:
            return j
    return -1


def by_importance(problem: Problem, k: int) -> int:
    """Count the cells that sdcMicro's rule suppresses.

    As in sdcMicro, at most k rows of a combination take part.
    """
    frequencies = problem.frequencies
    codes = np.repeat(frequencies.codes, np.minimum(frequencies.count, k), axis=0).astype(np.int32)
    columns = np.argsort([-dictionary.size for dictionary in frequencies.quasi], kind="stable")
    while True:
        matches = np.array([matching(codes, row) for row in range(len(codes))])
        failing = np.flatnonzero(matches < k)
        if not len(failing):
            return int((codes < 0).sum())
        for row in failing[np.argsort(matches[failing], kind="stable")]:
            codes[row, nearest_differing_column(codes, row, columns)] = -1


def suppression(folder: Path) -> None:
    rows = []
    for names in (ADULT[:5], (*ADULT, "occupation")):
        for k in (3, 5):
            problem = adult(folder, names, k)
            rule: object = by_importance(problem, k) if len(names) == 5 else ""
            for reading in ("strict", "loose"):
                seconds, recoding = timed(LocalSuppression(missing=reading), problem, 1)
                by_rule = rule if reading == "loose" else ""
                before = 6.9 if (len(names), k, reading) == (8, 5, "loose") else ""
                rows.append((len(names), k, reading, recoding.facts.suppressed_cells, by_rule, seconds, before))
    show(
        "Local suppression on Adult",
        ("keys", "k", "reading of *", "suppressed cells", "by sdcMicro's rule", "seconds", "seconds before"),
        rows,
    )


def growth(*sizes: int) -> None:
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
    columns["age"] = Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20, 40)))
    schema = Schema({**columns, SENSITIVE: Column(Role.SENSITIVE)})
    rows = []
    lines: dict[str, list[tuple[float, float]]] = {}
    for size in sizes:
        problem = problem_of(Source(frame=census_table(size)), schema, (KAnonymity(5), PSensitive(3)))
        items = len(problem.frequencies.count)
        for method in (TopDown(), Mondrian(), Refine()):
            seconds, _ = timed(method, problem, 1)
            line = lines.setdefault(method.name, [])
            power = float(np.log(seconds / line[-1][1]) / np.log(size / line[-1][0])) if line else ""
            line.append((size, seconds))
            rows.append((method.name, f"{size:,}", f"{items:,}", seconds, power))
    show(
        "Growth: census-like rows, 7 quasi-identifiers, k = 5, p = 3",
        ("method", "rows", "distinct combinations", "seconds", "power of the rows"),
        rows,
    )
    draw("Local recoding: time against rows", "rows", "seconds", lines)


def main() -> None:
    data = os.environ.get("SHOAL_DATA")
    if data:
        on_adult(Path(data))
        suppression(Path(data))
    else:
        print("SHOAL_DATA does not name a folder with Adult; only growth is measured.")
    growth(10_000, 100_000, 1_000_000)


if __name__ == "__main__":
    main()
