"""Lower bound of the loss of any microaggregation.

The sum of squares within a group of s rows is the sum over its ordered pairs of d² / 2s. So each row contributes the
sum over the other rows of its group. These cost no less than the cheapest s - 1 rows with which the group meets the
models, and the minimum over all s >= k bounds the contribution of the row in any group. Distances are in the metric of
``sse_sst``: each column over its own sum of squares, and a missing number at the mean, where it costs no more than its
price. Proofs are in docs/bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import Bound, rounded_down
from shoal.methods.base import Problem
from shoal.methods.bind_rules import count_sensitive_values
from shoal.methods.microaggregation.kernels.neighbours import nearest_squares
from shoal.methods.microaggregation.kernels.partition import nearest_records
from shoal.methods.microaggregation.points import column_options
from shoal.table.group_means import dictionary_numbers
from shoal.table.recoding import ByGroup
from shoal.table.rules import CATEGORIES, WEIGHT, Rule

if TYPE_CHECKING:
    from shoal.methods.microaggregation.method import _Microaggregation

EXTRA_NEIGHBOURS = 48
"""Neighbours beyond those that a group needs, where models require values that near rows may lack."""
MAX_NEIGHBOURS = 256
"""The largest number of neighbours listed for a group's size, and for its values; others count as far as the last."""
MAX_DISTANCES_IN_MEMORY = 1 << 22
"""Distances in memory at a time."""

Floats = npt.NDArray[np.float64]


def bound_aggregation(method: _Microaggregation, problem: Problem, recoding: ByGroup) -> Bound | None:
    """Return the loss of a microaggregation's numbers and its lower bound.

    None where no means are published.
    """
    in_blocks = method.block is not None and problem.frequencies.rows > method.block
    if "sse_sst" not in recoding.loss or in_blocks:  # blocks on several machines have no bound either
        return None
    frequencies, model = problem.frequencies, problem.model
    row = np.repeat(np.arange(len(frequencies.count)), frequencies.count)
    columns = []
    for j, (dictionary, ladder) in enumerate(zip(frequencies.quasi, problem.ladders, strict=True)):
        numbers = dictionary_numbers(dictionary)
        if numbers is None or column_options(method, dictionary.name, True, ladder.height == 1)[2] not in (
            "mean",
            "median",
        ):
            continue
        column = numbers[frequencies.codes[row, j]]
        column = column - np.nanmean(column)
        total = math.fsum(np.nan_to_num(column) ** 2)
        if total > 0:
            columns.append(np.nan_to_num(column) / math.sqrt(total))
    if not columns:
        return None
    totals = count_sensitive_values(frequencies.domains, frequencies.secrets, frequencies.count)
    rules = model.superset_rules(frequencies.domains, totals, whole=True)
    if rules is None:
        return None
    points = np.ascontiguousarray(np.stack(columns, axis=1)) / math.sqrt(len(columns))
    marks = [
        (_marks(frequencies.secrets[row, position], rule), rule.whole)
        for position, rule in rules
        if rule.kind != WEIGHT
    ]
    least = rounded_down(math.fsum(min_squares_per_row(points, method.group_size(model), marks)) * (1 - 1e-10))
    return Bound("sse_sst", recoding.loss["sse_sst"], least, {"sse_sst": least})


def _marks(codes: npt.NDArray[np.int32], rule: Rule) -> npt.NDArray[np.int64]:
    """Return the value or category that must differ; -1 counts for nothing."""
    if rule.kind != CATEGORIES:
        return codes.astype(np.int64)
    assert rule.labels is not None
    return np.asarray(np.r_[rule.labels, -1][codes], np.int64)


def min_squares_per_row(points: Floats, k: int, demands: Sequence[tuple[npt.NDArray[np.int64], int]]) -> Floats:
    """Return a lower bound of each row's share of the squares, float64 (n,).

    ``demands`` are pairs of the marks that must differ, int64 (n,), and their required number; they are ignored where
    groups are larger than the listed neighbours. Cost: n log n in practice for few columns, and with demands some fifty
    distances per row.
    """
    others = min(k - 1, MAX_NEIGHBOURS)
    demands = [(mark, need) for mark, need in demands if need > 1 and others == k - 1]
    if not demands:
        squares = nearest_squares(points, others)
        return np.asarray(
            (squares.sum(axis=1) + (k - 1 - others) * squares[:, others - 1]) / (2 * k),
            np.float64,
        )
    near = nearest_records(points, others + min(max(need for _, need in demands) + EXTRA_NEIGHBOURS, MAX_NEIGHBOURS))
    found = np.zeros(len(points))
    chunk = max(1, MAX_DISTANCES_IN_MEMORY // max(near.shape[1], 1))
    for low in range(0, len(points), chunk):
        part = slice(low, min(low + chunk, len(points)))
        squares_to = np.zeros((part.stop - low, near.shape[1]))
        for column in points.T:
            squares_to += (column[near[part]] - column[part, None]) ** 2
        # sort the distances computed here: the tree's order may differ in the last digit
        found[part] = np.sort(squares_to, axis=1)[:, :others].sum(axis=1) / (2 * k)
        for mark, need in demands:
            found[part] = np.maximum(
                found[part], _with_values(squares_to, mark[near[part]], mark[part], k, need, len(points))
            )
    return found


def _with_values(
    away: Floats, mark: npt.NDArray[np.int64], own: npt.NDArray[np.int64], k: int, need: int, rows: int
) -> Floats:
    """Return the bound for groups with ``need`` different marks.

    It is the minimum over s >= k of the cheapest s - 1 other rows that bring ``need`` different marks, over 2s.
    ``away`` are
    squared distances to near rows, nearest first, and ``mark`` their marks. Rows that are not listed are at least as
    far as
    the last listed one, which represents the marks that are not found here.
    """
    count, listed = away.shape
    furthest = away[:, -1] if listed else np.zeros(count)
    everything = listed >= rows - 1
    index = np.arange(count)
    fresh = np.zeros((count, listed), np.bool_)  # the nearest row of each other mark
    for j in range(listed):
        seen = (mark[:, :j] == mark[:, [j]]).any(axis=1) | (mark[:, j] == own) | (mark[:, j] < 0)
        fresh[:, j] = ~seen
    wanted = np.where(own >= 0, need - 1, need)
    taken = fresh & (np.cumsum(fresh, axis=1) <= wanted[:, None])
    lacking = wanted - taken.sum(axis=1)
    unseen = np.full(count, np.inf) if everything else furthest
    must = (away * taken).sum(axis=1) + np.where(lacking > 0, np.maximum(lacking, 1) * unseen, 0.0)
    # the other rows, nearest first; the required ones are at the end
    others = np.sort(np.where(taken, np.inf, away), axis=1)
    sums = must.copy()
    size = 1 + wanted
    least = np.full(count, np.inf)
    filled = np.zeros(count, np.int64)
    for _ in range(listed + 1):
        least = np.where(size >= k, np.minimum(least, sums / (2 * np.maximum(size, 1))), least)
        following = (
            np.where(filled < listed, others[index, np.minimum(filled, listed - 1)], np.inf) if listed else np.inf
        )
        sums, size, filled = sums + following, size + 1, filled + 1
    if not everything:  # larger groups add rows no nearer than the last listed one
        least = np.minimum(least, np.maximum(furthest, 0.0) / 2)
    return np.where(np.isfinite(least), least, 0.0)
