"""The groups of least loss of a table of few rows: all partitions, by way of all sets of rows.

The best that can be done with a set of rows is the best group of its first row and the best of the others: one figure
for each of the sets, 2ⁿ of them, each from the groups that hold its first row. That is 3ⁿ steps, so for few rows only.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.methods.local.kernels.exchange import hold, make_holding
from shoal.methods.local.problem import LocalProblem, Pieces
from shoal.methods.local.publish import count_groups

__all__ = ["MOST_ROWS", "least_partition"]

MOST_ROWS = 12

Ints = npt.NDArray[np.int64]


def least_partition(local: LocalProblem) -> Pieces | None:
    """The groups that lose least; None where there are more than :data:`MOST_ROWS` rows, or nothing meets the models.

    Or where the union of two groups that meet the models may fail them: groups that show the same are one to a reader.
    """
    frequencies = local.problem.frequencies
    rows = frequencies.rows
    if rows > MOST_ROWS or not local.problem.model.unites:
        return None
    row = np.repeat(np.arange(len(frequencies.count)), frequencies.count)
    sets, member = np.nonzero(np.arange(1 << rows)[:, None] >> np.arange(rows) & 1)
    one = np.ones(len(sets), np.int64)
    groups = count_groups(frequencies, row[member], sets - 1, one)
    totals = [part.total for part in count_groups(frequencies, row, np.zeros(rows, np.int64), one[:rows]).histograms]
    fine = np.r_[False, local.problem.model.assess(groups.within(totals)).holds]
    loss = _losses(local, np.searchsorted(local.first, row, side="right") - 1, sets, member)
    chosen = _chosen(rows, loss.tolist(), fine.tolist())
    if chosen is None:
        return None
    item = np.searchsorted(local.first, row, side="right") - 1
    return _as_pieces([item[[i for i in range(rows) if group >> i & 1]] for group in chosen])


def _losses(local: LocalProblem, item: Ints, sets: Ints, member: Ints) -> npt.NDArray[np.float64]:
    """What each set of rows loses as a group; every row of every set stands for itself."""
    setting = local.setting._replace(
        values=np.ascontiguousarray(local.setting.values[item[member]]),
        columns=np.ascontiguousarray(local.setting.columns[item[member]]),
    )
    apart = replace(local, setting=setting, count=np.ones(len(member), np.int64), first=np.arange(len(member) + 1))
    own = np.arange(len(member), dtype=np.int64)
    start = np.searchsorted(sets, np.arange(1, int(sets.max()) + 2)).astype(np.int64)
    holding = make_holding(len(member), setting.values.shape[1], own, start)
    hold(setting, holding, own, apart.count, start)
    number = len(start) - 1
    losses: npt.NDArray[np.float64] = np.r_[0.0, holding.size[:number] * holding.cost[:number]]
    return losses


def _chosen(rows: int, loss: list[float], fine: list[bool]) -> list[int] | None:
    """The sets of the best partition of all rows; None where there is none."""
    best: dict[int, tuple[float, int]] = {0: (0.0, 0)}

    def solve(left: int) -> float:
        if left in best:
            return best[left][0]
        first = left & -left
        others = some = left ^ first
        found = (math.inf, 0)
        while True:
            group = first | some
            if fine[group] and loss[group] < found[0]:
                total = loss[group] + solve(left ^ group)
                if total < found[0]:
                    found = (total, group)
            if some == 0:
                break
            some = (some - 1) & others
        best[left] = found
        return found[0]

    every = (1 << rows) - 1
    if not math.isfinite(solve(every)):
        return None
    groups = []
    while every:
        groups.append(best[every][1])
        every ^= groups[-1]
    return groups


def _as_pieces(groups: list[Ints]) -> Pieces:
    """Groups of items, in which an item may be several times."""
    told = [np.unique(group, return_counts=True) for group in groups]
    start = np.r_[0, np.cumsum([len(item) for item, _ in told])]
    return Pieces(
        np.concatenate([item for item, _ in told]).astype(np.int64),
        np.concatenate([count for _, count in told]).astype(np.int64),
        start.astype(np.int64),
    )
