"""Lower bounds of the loss of any local recoding.

A group that is published along hierarchies shows one label per column. All of its rows lie in one cell of some node of
the lattice, and each loses the cost of its labels. A cell that fails the part of the models that is closed under
supersets contains no group. From this follow a lower bound of each row alone, and prices of rows such that the prices
of a group never exceed the group's loss (:mod:`shoal.bounds.kernels.cells`); the sum of the prices is a lower bound. In
columns that are published as ranges, a row loses at least the distance to its (k - 1)-th nearest other row. Columns may
be divided into several parts, because a loss is a sum over columns and the bounds of the parts add up. Proofs are in
docs/bounds.md.

All work is limited by a number of steps, not by time, so that the same table always gives the same bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import rounded_down
from shoal.bounds.kernels.cells import LatticeCells, least_costs, make_cell_scratch, price_rises
from shoal.bounds.kernels.nearest import make_boxes, nearest_row_distances
from shoal.models import AllOf
from shoal.schema import Ladder
from shoal.table import ByLevel, FrequencySet, Recoding
from shoal.table.groups import group_keys, sum_by
from shoal.table.rules import CATEGORIES, WEIGHT, Rule
from shoal.utility.loss import published
from shoal.utility.measures import make_measure

STEPS, STEPS_PER_ITEM = 80_000_000, 400
"""Maximum number of steps for the cells of some columns; beyond it the columns are divided into two parts."""
ROUNDS, MORE_ROUNDS = 4, 12
"""Number of rounds in which prices rise, within the budget of steps: at normal and at higher effort."""
MIN_PRICE_RISE = 1e-9

Floats = npt.NDArray[np.float64]
Levels = Sequence[Sequence[int]]


@dataclass(frozen=True)
class LocalMeasure:
    """A loss that is a sum over cells, bound to a table.

    Attributes
    ----------
    name
        ncp, granularity, distortion-ratio or precision.
    weight
        float64 (q,): the cost of `*` in each column.
    leaf
        float64 (q,): the share of the domain that a single value covers.
    heights
        Whether a label along a hierarchy costs its height, instead of the share of the domain that it covers.
    """

    name: str
    weight: Floats
    leaf: Floats
    heights: bool

    def scaled(self, share: Floats, a: int) -> Floats:
        """Return the cost of labels with the given shares in column a."""
        if self.leaf[a] >= 1:
            return np.zeros_like(share)
        return np.asarray(self.weight[a] * np.maximum(share - self.leaf[a], 0.0) / (1 - self.leaf[a]))

    def level_cost(self, ladder: Ladder, level: int, a: int) -> Floats:
        """Return the cost of the labels of a level in column a."""
        if self.heights:
            return np.full(ladder.size(level), self.weight[a] * level / ladder.height)
        return self.scaled(ladder.share[level], a)


def local_measure(
    name: str, frequencies: FrequencySet, ladders: Sequence[Ladder], weights: Mapping[str, float]
) -> LocalMeasure:
    """Bind a loss of local recoding to a table; column weights sum to 1.

    Where the cost is a share of the domain, a column of one value has nothing to lose, not even if a row is suppressed,
    as in :mod:`shoal.utility.loss`; it still counts among the columns over which the loss is averaged.
    """
    measure = make_measure("ncp" if name == "granularity" else name, frequencies, ladders, weights=weights)
    leaf = np.asarray([ladder.share[0].min() for ladder in ladders])
    weight = measure.weight / max(float(measure.weight.sum()), 1e-300)
    heights = name in ("distortion-ratio", "precision")
    if name == "granularity":
        weight = weight * (1 - leaf)
    elif not heights:
        weight = np.where(leaf < 1, weight, 0.0)
    return LocalMeasure(name, weight, leaf, heights)


def recoding_loss(
    measure: LocalMeasure,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    recoding: Recoding,
    kinds: Sequence[str],
) -> float:
    """Return the loss of a recoding, computed from its published labels.

    A suppressed row loses all columns.
    """
    if isinstance(recoding, ByLevel):
        rows_published = published(frequencies, tuple(ladders), recoding)
        height, share, rows, left = (
            rows_published.height,
            rows_published.share,
            np.where(rows_published.group >= 0, rows_published.count, 0),
            rows_published.group < 0,
        )
        out = int(rows_published.count[left].sum())
    else:
        height, share = recoding.height, recoding.share
        rows = sum_by(recoding.group, recoding.count, len(height))
        out = frequencies.rows - int(recoding.count.sum())
    cost = np.zeros(len(height))
    for a, kind in enumerate(kinds):
        heights = measure.heights and kind == "ancestor"
        cost += measure.weight[a] * height[:, a] if heights else measure.scaled(share[:, a], a)
    return (math.fsum(rows * cost) + out * float(measure.weight.sum())) / frequencies.rows


def least_recoding_loss(
    measure: LocalMeasure,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    model: AllOf,
    kinds: Sequence[str],
    ranks: Sequence[npt.NDArray[np.int32] | None],
    *,
    whole: bool,
    effort: int = 1,
    levels: Levels | None = None,
) -> float | None:
    """Return a lower bound of the loss of any local recoding, or None.

    The groups of the recoding meet the model; None means that no bound is known.

    ``whole`` says that no row may be suppressed; otherwise each suppressed row loses all columns. ``kinds`` and
    ``ranks`` are as in :class:`shoal.methods.local.problem.LocalProblem`. ``levels`` lists for each column the levels
    that labels along hierarchies may have, the highest included; all levels by default. ``effort`` multiplies the
    number of steps; with 0 no prices rise.
    """
    rules = model.superset_rules(frequencies.domains, sensitive_totals(frequencies), whole=whole)
    if rules is None:
        return None
    columns = [a for a, kind in enumerate(kinds) if kind == "ancestor" and measure.weight[a] > 0]
    ranges = [a for a, kind in enumerate(kinds) if kind != "ancestor" and measure.weight[a] > 0]
    columns.sort(key=lambda a: (len(ladders[a].codes[0]), a))  # few values first: fewest steps
    limit = math.inf if whole else 1.0
    levels = levels or [range(ladder.height + 1) for ladder in ladders]
    arguments = (measure, frequencies, ladders, levels, model.least, rules)
    total = _along_hierarchies(*arguments, columns, effort, limit) if columns else 0.0
    if ranges and model.least > 1:
        total += _in_ranges(measure, frequencies, ladders, model.least, ranges, ranks)
    return rounded_down(total / frequencies.rows)


def sensitive_totals(frequencies: FrequencySet) -> list[npt.NDArray[np.int64]]:
    """Count the rows of each value of each sensitive column."""
    return [
        np.bincount(code[code >= 0], weights=frequencies.count[code >= 0], minlength=domain.size).astype(np.int64)
        for code, domain in zip(frequencies.secrets.T, frequencies.domains, strict=True)
    ]


# -- along hierarchies -----------------------------------------------------------------------------------------------


def _along_hierarchies(
    measure: LocalMeasure,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    levels: Levels,
    least: int,
    rules: Sequence[tuple[int, Rule]],
    columns: Sequence[int],
    effort: int,
    limit: float,
) -> float:
    """Return a lower bound of the total loss in columns with hierarchies.

    No price exceeds ``limit`` times the loss of all these columns.
    """
    cells, _ = make_lattice_cells(measure, frequencies, ladders, levels, least, rules, columns)
    top = math.fsum(measure.weight[list(columns)])
    scratch = make_cell_scratch(cells)
    budget = max(effort, 1) * (STEPS + STEPS_PER_ITEM * len(cells.copies))
    price, left = least_costs(cells, scratch, top, budget)
    if left < 0 and len(columns) > 1:
        half = len(columns) // 2
        arguments = (measure, frequencies, ladders, levels, least, rules)
        return math.fsum(
            _along_hierarchies(*arguments, part, effort, limit) for part in (columns[:half], columns[half:])
        )
    if left < 0:
        return 0.0
    ceiling = top * min(limit, cells.least)  # the limit that the cell of all rows sets
    furthest = np.where(price > 0, ceiling - price, 0.0)
    for _ in range(0 if effort == 0 else ROUNDS if effort == 1 else MORE_ROUNDS):
        if not furthest.any():
            break
        rise, left = price_rises(cells, scratch, price, furthest, left)
        if left < 0:
            break
        rise[rise <= MIN_PRICE_RISE] = 0.0
        # rounded down, so that no sum of prices exceeds the cost that it is compared with
        price = price + rise * (1 - 1e-9)
        furthest = np.where(rise > 0, np.maximum(ceiling - price, 0.0), 0.0)
    return math.fsum(price * cells.copies)


def make_lattice_cells(
    measure: LocalMeasure,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    levels: Levels,
    least: int,
    rules: Sequence[tuple[int, Rule]],
    columns: Sequence[int],
) -> tuple[LatticeCells, npt.NDArray[np.int64]]:
    """Build the distinct combinations of columns and marks for the kernels.

    Also returns the combination of each entry of the frequency set.
    """
    marks = np.stack([_marks(frequencies, *rule) for rule in rules]) if rules else np.zeros((0, len(frequencies.count)))
    sizes = [len(ladders[a].codes[0]) for a in columns]
    keys = np.concatenate([frequencies.codes[:, list(columns)], marks.T.astype(np.int32) + 1], axis=1)
    item, items = group_keys(keys, [*sizes, *(int(mark.max(initial=0)) + 2 for mark in marks)])
    first = np.zeros(items, np.int64)
    first[item[::-1]] = np.arange(len(item))[::-1]
    at = np.zeros((len(columns), max(len(levels[a]) for a in columns)), np.int64)
    lift, cost, offset = [], [], 0
    for depth, a in enumerate(columns):
        for number, level in enumerate(levels[a]):
            at[depth, number] = offset
            lift.append(ladders[a].codes[level])
            cost.append(np.zeros(sizes[depth]))
            cost[-1][: ladders[a].size(level)] = measure.level_cost(ladders[a], level, a)
            offset += sizes[depth]
    cells = LatticeCells(
        np.ascontiguousarray(frequencies.codes[first][:, list(columns)].T, np.int32),
        np.ascontiguousarray(sum_by(item, frequencies.count, items), np.int64),
        np.concatenate(lift).astype(np.int32),
        at,
        np.concatenate(cost),
        np.asarray([len(levels[a]) - 1 for a in columns], np.int64),
        max(sizes),
        max(least, 1),
        np.ascontiguousarray(marks[:, first], np.int64),
        np.asarray([rule.whole for _, rule in rules], np.int64),
        np.asarray([rule.kind == WEIGHT for _, rule in rules], np.bool_),
    )
    return cells, item


def _marks(frequencies: FrequencySet, index: int, rule: Rule) -> npt.NDArray[np.int64]:
    """Return what a rule counts in each combination; -1 counts for nothing.

    That is the sensitive value, its category or its weight.
    """
    codes = frequencies.secrets[:, index]
    if rule.kind not in (CATEGORIES, WEIGHT):
        return codes.astype(np.int64)
    assert rule.labels is not None
    labels = np.r_[rule.labels, -1][codes]
    return np.asarray(np.maximum(labels, 0) if rule.kind == WEIGHT else labels, np.int64)


# -- in ranges -------------------------------------------------------------------------------------------------------


def _in_ranges(
    measure: LocalMeasure,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    least: int,
    columns: Sequence[int],
    ranks: Sequence[npt.NDArray[np.int32] | None],
) -> float:
    """Return a lower bound of the total loss in columns published as ranges.

    A row loses at least the distance to its (least - 1)-th nearest other row.
    """
    codes = frequencies.codes[:, list(columns)]
    item, items = group_keys(codes, [len(ladders[a].codes[0]) for a in columns])
    first = np.zeros(items, np.int64)
    first[item[::-1]] = np.arange(len(item))[::-1]
    count = np.asarray(sum_by(item, frequencies.count, items), np.int64)
    points = np.zeros((items, len(columns)))
    for j, a in enumerate(columns):
        ladder, rank = ladders[a], ranks[a]
        rank_of_code = np.arange(len(ladder.codes[0])) if rank is None else rank
        share = ladder.share[0][np.argsort(rank_of_code)]
        scale = measure.weight[a] / (1 - measure.leaf[a]) if measure.leaf[a] < 1 else 0.0
        position = scale * np.concatenate([[0.0], np.cumsum(share)[:-1]])
        if frequencies.quasi[a].missing:  # a range of a missing and a known value is the whole domain
            position[-1] = position[-2] + measure.weight[a] if len(position) > 1 else 0.0
        points[:, j] = position[rank_of_code[codes[first, j]]]
    boxes, order = make_boxes(points, count)
    found = np.zeros(items)
    nearest_row_distances(boxes, measure.weight[list(columns)], least - 1, found)
    return math.fsum(np.minimum(found, math.fsum(measure.weight[list(columns)])) * count[order])
