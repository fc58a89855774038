"""Optimal groups of a table of few rows, over all partitions.

The best partition of a set of rows consists of a group of its first row and the best partition of the others. Dynamic
programming computes one figure for each of the 2ⁿ sets, from the groups that contain its first row. That takes 3ⁿ
steps, so it is for few rows only.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.methods.local.kernels.exchange import fill_groups, make_linked_groups
from shoal.methods.local.problem import LocalProblem, Pieces
from shoal.methods.partition import form_groups

MAX_ROWS_FOR_BRUTE_FORCE = 12

Ints = npt.NDArray[np.int64]


def least_partition(local: LocalProblem) -> Pieces | None:
    """Return the groups of least loss, or None.

    None means that there are more than :data:`MAX_ROWS_FOR_BRUTE_FORCE` rows, that no partition meets
    the models, or that the models are not closed under union: groups that show the same are one group to a reader.
    """
    frequencies = local.problem.frequencies
    rows = frequencies.rows
    if rows > MAX_ROWS_FOR_BRUTE_FORCE or not local.problem.model.closed_under_union:
        return None
    row = np.repeat(np.arange(len(frequencies.count)), frequencies.count)
    sets, member = np.nonzero(np.arange(1 << rows)[:, None] >> np.arange(rows) & 1)
    one = np.ones(len(sets), np.int64)
    groups = form_groups(frequencies, row[member], sets - 1, one)
    totals = [part.total for part in form_groups(frequencies, row, np.zeros(rows, np.int64), one[:rows]).histograms]
    valid = np.r_[False, local.problem.model.assess(groups.within(totals)).holds]
    loss = _losses(local, np.searchsorted(local.first, row, side="right") - 1, sets, member)
    chosen = _best_sets(rows, loss.tolist(), valid.tolist())
    if chosen is None:
        return None
    item = np.searchsorted(local.first, row, side="right") - 1
    return _as_pieces([item[[i for i in range(rows) if group >> i & 1]] for group in chosen])


def _losses(local: LocalProblem, item: Ints, sets: Ints, member: Ints) -> npt.NDArray[np.float64]:
    """Return the loss of each set of rows as a group.

    Every row of every set is an item of its own.
    """
    setting = local.setting._replace(
        values=np.ascontiguousarray(local.setting.values[item[member]]),
        columns=np.ascontiguousarray(local.setting.columns[item[member]]),
    )
    separate = replace(local, setting=setting, count=np.ones(len(member), np.int64), first=np.arange(len(member) + 1))
    own = np.arange(len(member), dtype=np.int64)
    start = np.searchsorted(sets, np.arange(1, int(sets.max()) + 2)).astype(np.int64)
    linked = make_linked_groups(len(member), setting.values.shape[1], own, start)
    fill_groups(setting, linked, own, separate.count, start)
    number = len(start) - 1
    losses: npt.NDArray[np.float64] = np.r_[0.0, linked.size[:number] * linked.cost[:number]]
    return losses


def _best_sets(rows: int, loss: list[float], valid: list[bool]) -> list[int] | None:
    """Return the sets of the best partition of all rows, or None."""
    best: dict[int, tuple[float, int]] = {0: (0.0, 0)}

    def solve(left: int) -> float:
        if left in best:
            return best[left][0]
        first = left & -left
        others = some = left ^ first
        found = (math.inf, 0)
        while True:
            group = first | some
            if valid[group] and loss[group] < found[0]:
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
    """Return groups of items, which may occur several times, as pieces."""
    counted = [np.unique(group, return_counts=True) for group in groups]
    start = np.r_[0, np.cumsum([len(item) for item, _ in counted])]
    return Pieces(
        np.concatenate([item for item, _ in counted]).astype(np.int64),
        np.concatenate([count for _, count in counted]).astype(np.int64),
        start.astype(np.int64),
    )
