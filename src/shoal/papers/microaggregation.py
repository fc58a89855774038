"""Experiments of Domingo-Ferrer, Sebé and Solanas: Tables 1 and 2.

"Microaggregation heuristics for p-sensitive k-anonymity".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.formatting import fixed, number
from shoal.methods import Cbfs, KFirst, Mdav, Method, PFirst
from shoal.models import KAnonymity, PSensitive
from shoal.papers.group_size_scan import READINGS, scan_sizes
from shoal.papers.page import Section
from shoal.papers.sources import census, missing_data
from shoal.pipeline.run import anonymize
from shoal.plan.plan import Plan
from shoal.schema import Column, Role, Schema

if TYPE_CHECKING:
    import pyarrow as pa


TITLE = "p-sensitive k-anonymity by microaggregation (Domingo-Ferrer, Sebé, Solanas)"
TABLE_1 = {(3, 3): 44.96, (5, 3): 44.96, (7, 3): 44.96, (10, 3): 44.96, (5, 5): 58.85, (7, 5): 58.85, (10, 5): 58.85,
           (7, 7): 71.67, (10, 7): 71.67, (10, 10): 100.0}  # fmt: skip
TABLE_2 = {(3, 3): 23.13, (5, 3): 23.28, (7, 3): 22.31, (10, 3): 23.13, (5, 5): 47.15, (7, 5): 47.15, (10, 5): 47.15,
           (7, 7): 57.63, (10, 7): 57.63, (10, 10): 100.0}  # fmt: skip
PS = (3, 5, 7, 10)
ORDERS = 12
TABLE_P_1 = {3: 3.69, 5: 6.20, 7: 7.93, 10: 9.71}


def sections() -> list[Section]:
    """Return both tables, and the loss after refinement."""
    table = census()
    if table is None:
        return [Section("Tables 1 and 2: 100 × SSE/SST on the CASC Census data", missing_data=missing_data("census"))]
    return [_table_p_1(table), _table_1(table), *_table_1_scan(table), _table_2(table)]


def _loss(table: pa.Table, method: Method, k: int, p: int = 1) -> tuple[float, int]:
    names = table.column_names
    schema = Schema(
        {name: Column(Role.QUASI_IDENTIFIER) for name in names[:6]}
        | {name: Column(Role.SENSITIVE) for name in names[6:]}
    )
    models = (KAnonymity(k), PSensitive(p)) if p > 1 else (KAnonymity(k),)
    release = anonymize(table, Plan(schema, models, method))
    return 100 * release.utility["sse_sst"], int(release.figures["groups"])


def _table_p_1(table: pa.Table) -> Section:
    rows = [(k, paper, _loss(table, Cbfs(), k)[0], _loss(table, Mdav(), k)[0]) for k, paper in TABLE_P_1.items()]
    return Section(
        "The column p = 1 of both tables",
        ("k", "paper", "CBFS", "MDAV"),
        rows,
        "The paper names MDAV for Algorithm 1; its figures are those of CBFS, cut to two decimals.",
    )


def _table_1(table: pa.Table) -> Section:
    ours = {p: _loss(table, KFirst(), p, p) for p in PS}
    rows = [(k, p, paper, *ours[p]) for (k, p), paper in TABLE_1.items()]
    return Section(
        "Table 1: Algorithm 1, k-anonymity first",
        ("k", "p", "paper", "ours", "groups"),
        rows,
        f"{_agreeing(rows)} of {len(rows)} cells agree, cut to two decimals; ours lose less in "
        f"{sum(row[3] < row[2] - 0.01 for row in rows)}. "
        "The next two tables say what does not explain it.",
    )


def _table_1_scan(table: pa.Table) -> list[Section]:
    """Return the losses at all group sizes, and in random orders."""
    names = table.column_names
    values = np.stack([table[name].to_numpy().astype(float) for name in names[:6]], axis=1)
    confidential = np.stack([table[name].to_numpy(zero_copy_only=False).astype(int) for name in names[6:]], axis=1)
    printed = (TABLE_1[3, 3], TABLE_1[7, 7])
    rows = []
    below, hits, sizes = 0.0, 0, 0
    rounded = []
    for reading in READINGS:
        scan = scan_sizes(values, confidential, reading, PS)
        below = max(below, *(loss for loss in scan.losses.values() if loss < 99))
        hits += sum(round(printed[0] * 100) == int(loss * 100) for loss in scan.losses.values())
        rounded += [
            f"{fixed(loss, 3)} at size {size} ({reading}; three values are reached at {scan.reached[3][0]})"
            for size, loss in scan.losses.items()
            if round(loss, 2) == printed[0]
        ]
        sizes = max(sizes, *scan.losses)
        near = [f"{fixed(loss, 3)} at {size}" for size, loss in map(scan.nearest, printed)]
        rows.append((str(reading), *(f"{fixed(scan.reached[p][1], 2)} at {scan.reached[p][0]}" for p in PS), *near))
    found: Counter[tuple[tuple[int, float], ...]] = Counter()
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(table.num_rows)
        reached = scan_sizes(values[order], confidential[order], READINGS[0], PS).reached
        found[tuple((reached[p][0], round(reached[p][1], 6)) for p in PS)] += 1
    distinct = len(np.unique(values, axis=0))
    return [
        Section(
            "Table 1: losses at all group sizes, under several readings",
            ("reading", *(f"p = {p}: loss at size" for p in PS), *(f"nearest to {loss}" for loss in printed)),
            rows,
            f"Groups of every size from 3 to {sizes}, formed by an implementation that is independent of the compiled "
            f"one. No size of any reading gives a loss between {fixed(below, 2)} and 100; the paper's 71.67 is not "
            "among "
            f"them. Cut to two decimals, as the other cells are, 44.96 occurs {hits} times; rounded, {len(rounded)} "
            f"times{': ' if rounded else ''}{'; '.join(rounded)}. We have no explanation for the two cells.",
        ),
        Section(
            f"Table 1: {ORDERS} random orders of the records",
            ("result", *(f"p = {p}: loss at size" for p in PS), "orders with this result"),
            [
                (number, *(f"{fixed(loss, 2)} at {size}" for size, loss in result), orders)
                for number, (result, orders) in enumerate(found.items(), 1)
            ],
            f"Do ties explain it? {number(distinct)} of the {number(table.num_rows)} records are distinct in the key "
            "attributes, "
            f"and {ORDERS} orders of the records give {len(found)} result{'s' * (len(found) > 1)}.",
        ),
    ]


def _agreeing(rows: Sequence[Sequence[Any]]) -> int:
    """Count the rows (k, p, paper, ours, ...) that agree, cut to two decimals."""
    return sum(round(100 * row[2]) == int(100 * row[3] + 1e-6) for row in rows)


def _table_2(table: pa.Table) -> Section:
    rows = []
    refined: dict[int, tuple[float, int]] = {}
    for (k, p), paper in TABLE_2.items():
        loss, groups = _loss(table, PFirst(refine=False), k, p)
        if p not in refined:
            refined[p] = _loss(table, PFirst(effort=4000), p, p)
        rows.append((k, p, paper, loss, groups, *refined[p]))
    less = [100 * (1 - row[5] / row[3]) for row in rows if row[0] == row[1]]
    return Section(
        "Table 2: Algorithm 2, p-sensitivity first",
        ("k", "p", "paper", "ours", "groups", "refined (k = p)", "groups"),
        rows,
        f"{_agreeing(rows)} of {len(rows)} cells agree (the paper cuts to two decimals), where a record contributes if "
        "it brings a new value of any confidential attribute. Refinement keeps the model and loses "
        f"{fixed(min(less), 0)} to "
        f"{fixed(max(less), 0)} % less.",
    )
