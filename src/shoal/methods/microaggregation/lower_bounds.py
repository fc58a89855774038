"""What any microaggregation must lose: each row at least a part of the way to its nearest rows.

The squares within a group of s rows are the sum over its ordered pairs of d² / 2s, so of each row that over the others.
The others cost no less than the cheapest s - 1 rows that leave the group what the models demand, and the
least over all s >= k is what the row costs in any group. Distances are in the metric of ``sse_sst``: each column over
its own sum of squares, and a missing number at the mean, where it costs no more than its price. Proofs are in
docs/bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import Bound, rounded_down
from shoal.methods.base import Problem
from shoal.methods.bind_rules import totals_of
from shoal.methods.microaggregation.kernels.neighbours import nearest_squares
from shoal.methods.microaggregation.kernels.partition import nearest_records
from shoal.methods.microaggregation.points import choices
from shoal.table.group_means import numbers_of
from shoal.table.recoding import ByGroup
from shoal.table.rules import CATEGORIES, WEIGHT, Rule

if TYPE_CHECKING:
    from shoal.methods.microaggregation.method import _Microaggregation

__all__ = ["bound_aggregation", "least_squares"]

FURTHER = 48
"""So many rows are looked at beyond those that a group needs, where models ask for values that near rows may lack."""
MOST_NEAR = 256
"""No more rows are listed for a group's size, and no more for its values: those beyond count as far as the last."""
CHUNK = 1 << 22
"""Distances that are held at once."""

Floats = npt.NDArray[np.float64]


def bound_aggregation(method: _Microaggregation, problem: Problem, recoding: ByGroup) -> Bound | None:
    """What a microaggregation loses of its numbers, and what any must; None where it publishes no means."""
    in_blocks = method.block is not None and problem.frequencies.rows > method.block
    if "sse_sst" not in recoding.loss or in_blocks:  # blocks may be on several machines, where it is not told either
        return None
    frequencies, model = problem.frequencies, problem.model
    row = np.repeat(np.arange(len(frequencies.count)), frequencies.count)
    columns = []
    for j, (dictionary, ladder) in enumerate(zip(frequencies.quasi, problem.ladders, strict=True)):
        numbers = numbers_of(dictionary)
        if numbers is None or choices(method, dictionary.name, True, ladder.height == 1)[2] not in ("mean", "median"):
            continue
        column = numbers[frequencies.codes[row, j]]
        column = column - np.nanmean(column)
        total = math.fsum(np.nan_to_num(column) ** 2)
        if total > 0:
            columns.append(np.nan_to_num(column) / math.sqrt(total))
    if not columns:
        return None
    totals = totals_of(frequencies.domains, frequencies.secrets, frequencies.count)
    rules = model.absorbing_rules(frequencies.domains, totals, whole=True)
    if rules is None:
        return None
    points = np.ascontiguousarray(np.stack(columns, axis=1)) / math.sqrt(len(columns))
    marks = [
        (_marks(frequencies.secrets[row, place], rule), rule.whole) for place, rule in rules if rule.kind != WEIGHT
    ]
    least = rounded_down(math.fsum(least_squares(points, method.group_size(model), marks)) * (1 - 1e-10))
    return Bound("sse_sst", recoding.loss["sse_sst"], least, {"sse_sst": least})


def _marks(codes: npt.NDArray[np.int32], rule: Rule) -> npt.NDArray[np.int64]:
    """What of each row must differ: the value, or its category; -1 counts for nothing."""
    if rule.kind != CATEGORIES:
        return codes.astype(np.int64)
    assert rule.labels is not None
    return np.asarray(np.r_[rule.labels, -1][codes], np.int64)


def least_squares(points: Floats, k: int, demands: Sequence[tuple[npt.NDArray[np.int64], int]]) -> Floats:
    """Of each row the least that it adds to the squares within its group, float64 (n,).

    ``demands`` are pairs of what must differ, int64 (n,), and in how many values; they are left aside where groups are
    larger than what is listed. Cost: n log n in practice for few columns, and with demands some fifty distances a row.
    """
    few = min(k - 1, MOST_NEAR)
    demands = [(mark, need) for mark, need in demands if need > 1 and few == k - 1]
    if not demands:
        squares = nearest_squares(points, few)
        return np.asarray((squares.sum(axis=1) + (k - 1 - few) * squares[:, few - 1]) / (2 * k), np.float64)
    near = nearest_records(points, few + min(max(need for _, need in demands) + FURTHER, MOST_NEAR))
    found = np.zeros(len(points))
    chunk = max(1, CHUNK // max(near.shape[1], 1))
    for low in range(0, len(points), chunk):
        part = slice(low, min(low + chunk, len(points)))
        away = np.zeros((part.stop - low, near.shape[1]))
        for column in points.T:
            away += (column[near[part]] - column[part, None]) ** 2
        # sorted as computed here: the tree's own order may differ in the last digit
        found[part] = np.sort(away, axis=1)[:, :few].sum(axis=1) / (2 * k)
        for mark, need in demands:
            found[part] = np.maximum(
                found[part], _with_values(away, mark[near[part]], mark[part], k, need, len(points))
            )
    return found


def _with_values(
    away: Floats, mark: npt.NDArray[np.int64], own: npt.NDArray[np.int64], k: int, need: int, rows: int
) -> Floats:
    """The least over s >= k of the cheapest s - 1 others that bring ``need`` different marks, over 2s, of some rows.

    ``away`` are squared distances to near rows, nearest first, and ``mark`` their marks. Beyond the rows that are
    listed all are at least as far as the last, which stands for marks that are not found here.
    """
    count, listed = away.shape
    furthest = away[:, -1] if listed else np.zeros(count)
    everything = listed >= rows - 1
    place = np.arange(count)
    fresh = np.zeros((count, listed), np.bool_)  # the nearest row of each other mark
    for j in range(listed):
        seen = (mark[:, :j] == mark[:, [j]]).any(axis=1) | (mark[:, j] == own) | (mark[:, j] < 0)
        fresh[:, j] = ~seen
    wanted = np.where(own >= 0, need - 1, need)
    taken = fresh & (np.cumsum(fresh, axis=1) <= wanted[:, None])
    lacking = wanted - taken.sum(axis=1)
    unseen = np.full(count, np.inf) if everything else furthest
    must = (away * taken).sum(axis=1) + np.where(lacking > 0, np.maximum(lacking, 1) * unseen, 0.0)
    # the others, nearest first; those that must come are at the end
    others = np.sort(np.where(taken, np.inf, away), axis=1)
    sums = must.copy()
    size = 1 + wanted
    least = np.full(count, np.inf)
    filled = np.zeros(count, np.int64)
    for _ in range(listed + 1):
        least = np.where(size >= k, np.minimum(least, sums / (2 * np.maximum(size, 1))), least)
        following = (
            np.where(filled < listed, others[place, np.minimum(filled, listed - 1)], np.inf) if listed else np.inf
        )
        sums, size, filled = sums + following, size + 1, filled + 1
    if not everything:  # larger groups take rows that are no nearer than the last that is listed
        least = np.minimum(least, np.maximum(furthest, 0.0) / 2)
    return np.where(np.isfinite(least), least, 0.0)
