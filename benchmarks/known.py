"""Partial knowledge: growth with columns and rows, and wide tables.

python -m benchmarks.known [growth | whole | check | compas ...]

The intruder knows a limited number of columns; the time also grows with this number. COMPAS is read from
``real/compas.csv`` in the folder that SHOAL_DATA names; without it that part is skipped.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import measure, show

COLUMNS, QUASI = 200, 60

SETUP = """
import shoal
from shoal.schema import Column, Flat, Role, Schema, Widths
names, quasi = {names!r}, {quasi!r}
hierarchy = lambda j: Widths((5, 20)) if j % 3 == 0 else Flat()
columns = {{n: Column(Role.QUASI_IDENTIFIER, hierarchy(j)) if j < quasi else Column(Role.OTHER)
           for j, n in enumerate(names)}}
model = shoal.models.LooselyKnown(shoal.models.KAnonymity(5), {known})
plan = shoal.Plan(Schema(columns), (model,), shoal.methods.HiddenCells())
"""
RELEASE = """
import time
import pyarrow.parquet as pq
release = shoal.anonymize(pq.read_table({path!r}), plan)
answer = [release.utility["ncp"], release.figures["method"]["hidden_part"], release.seconds, time.process_time()]
"""
CHECK = """
import time
begun = time.process_time()
answer = shoal.check({path!r}, [model], quasi_identifiers=names[:quasi]).models[0].facts["sets"]
answer = [answer, time.process_time() - begun]
"""
COMPAS = """
import time
import shoal
from pathlib import Path
from shoal.advice.draft import draft_plan
from shoal.pipeline.run import dry_run
import tomllib
document = tomllib.loads(draft_plan(shoal.profile({path!r}), Path({path!r}), Path(".")))
document["models"] = [{{"name": "k-anonymity", "k": 5, "known": {known}, "reading": "loose"}}]
document["method"] = {{"name": "hidden-cells"}}
document.pop("output", None)
plan = shoal.Plan.from_dict(document)
begun = time.process_time()
release = dry_run(plan, bounded=False)
answer = [len(plan.schema.quasi_identifiers), release.utility["ncp"], release.figures["method"]["hidden_part"],
    time.process_time() - begun]
"""


def write_wide(path: Path, rows: int, columns: int = COLUMNS, seed: int = 1) -> list[str]:
    """Write a wide table of people in similar groups; return its columns.

    A third of the columns are numbers, the others have 2 to 12 unevenly distributed values.
    """
    random = np.random.default_rng(seed)
    kind = random.integers(0, 20, rows)
    table = {}
    for j in range(columns):
        if j % 3 == 0:
            values = np.clip(random.normal(20 + 3 * (kind + j) % 50, 12, rows), 0, 99).astype(np.int64)
        else:
            values = np.minimum(random.geometric(0.35, rows) + (kind + j) % 3, 2 + j % 11)
        table[f"c{j}"] = values
    pq.write_table(pa.table(table), path)
    return list(table)


def one(path: Path, names: list[str], quasi: int, known: int, run: str) -> dict:
    setup = SETUP.format(names=names, quasi=quasi, known=known)
    return measure(setup, run.format(path=str(path)))


def main(*parts: str) -> None:
    known = {"growth": growth, "whole": whole, "check": check, "compas": compas}
    for part in parts or known:
        with tempfile.TemporaryDirectory() as folder:
            known[part](Path(folder))


def growth(folder: Path, rows: int = 100_000) -> None:
    """Vary each factor by itself, from a medium table."""
    cases = [(rows // 10, q, 2) for q in (15, 30, 60)]
    cases += [(rows // 10, 30, m) for m in (1, 3)]
    cases += [(n, 30, 2) for n in (rows // 100, rows // 3)]
    lines = []
    for n, quasi, known in cases:
        path = folder / "growth.parquet"
        names = write_wide(path, n, quasi)
        found = one(path, names, quasi, known, RELEASE)
        loss, hidden, seconds, cpu = found["answer"]
        lines.append((f"{n:,}", quasi, known, cpu, seconds["deciding"], seconds["verifying"], loss, hidden))
    show(
        "Hidden cells: growth with rows, quasi-identifiers and what is known",
        (
            "rows",
            "quasi-identifiers",
            "known",
            "CPU s",
            "deciding, s",
            "verifying twice, s",
            "loss (ncp)",
            "cells hidden",
        ),
        lines,
    )


def whole(folder: Path, rows: int = 100_000) -> None:
    """Measure a release of a wide table."""
    path = folder / "wide.parquet"
    names = write_wide(path, rows)
    lines = []
    for known in (2, 3):
        found = one(path, names, QUASI, known, RELEASE)
        loss, hidden, seconds, cpu = found["answer"]
        lines.append(
            (known, found["seconds"], cpu, seconds["deciding"], seconds["verifying"], found["peak_mb"], loss, hidden)
        )
    show(
        f"A release of {rows:,} rows, {COLUMNS} columns, {QUASI} of them quasi-identifiers, k = 5",
        ("known", "seconds", "CPU s", "deciding, s", "verifying twice, s", "peak MB", "loss (ncp)", "cells hidden"),
        lines,
    )


def check(folder: Path, rows: int = 100_000) -> None:
    """Measure the check of all sets of three of 46 columns."""
    coarse = folder / "coarse.parquet"
    pq.write_table(pa.table({f"c{j}": np.arange(rows) // (j + 1) % 4 for j in range(46)}), coarse)
    found = one(coarse, [f"c{j}" for j in range(46)], 46, 3, CHECK)
    show(
        f"The check of all sets of at most 3 of 46 columns, {rows:,} rows",
        ("sets", "seconds", "CPU s", "peak MB"),
        [(found["answer"][0], found["seconds"], found["answer"][1], found["peak_mb"])],
    )


def compas(_: Path) -> None:
    """Measure a real table, with its quasi-identifiers as drafted."""
    path = Path(os.environ.get("SHOAL_DATA", "")) / "real" / "compas.csv"
    if not path.is_file():
        return
    lines = []
    for known in (1, 2, 3):
        quasi, loss, hidden, cpu = measure("", COMPAS.format(path=str(path), known=known))["answer"]
        lines.append((known, quasi, cpu, loss, hidden))
    show(
        "COMPAS, quasi-identifiers as drafted, k = 5, hidden cells",
        ("known", "quasi-identifiers", "CPU s", "loss (ncp)", "cells hidden"),
        lines,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
