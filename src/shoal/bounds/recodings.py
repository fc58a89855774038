"""What any local recoding must lose: along hierarchies by the cells that may hold a group, in ranges by near rows.

Whatever the groups are, a group along hierarchies shows one label per column, so all of its rows lie in one cell of
some node of the lattice, and lose what its labels cost. A cell without the models' absorbing part holds no group. From
this follow a least loss of each row by itself, and prices of rows, of which those of a group never exceed what the
group loses (:mod:`shoal.bounds.kernels.cells`): their sum is a bound. In ranges a row loses at least the way to its
(k - 1)-th nearest other row. Columns may be dealt with in several parts, whose bounds add up: a loss is a sum over
columns. Proofs are in docs/bounds.md.

Every amount of work is limited by a count of steps, not by the clock: the same table gives the same bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import rounded_down
from shoal.bounds.kernels.cells import Cells, least_costs, make_room, rises
from shoal.bounds.kernels.nearest import distance_of_others, make_boxes
from shoal.models import AllOf
from shoal.schema import Ladder
from shoal.table import ByLevel, FrequencySet, Recoding
from shoal.table.groups import group_keys, sum_by
from shoal.table.rules import CATEGORIES, WEIGHT, Rule
from shoal.utility.loss import published
from shoal.utility.measures import make_measure

__all__ = ["Levels", "LocalMeasure", "least_loss", "local_measure", "make_cells", "recoding_loss", "totals_of"]

STEPS, STEPS_PER_ITEM = 80_000_000, 400
"""So many steps are taken at most for the cells of some columns: beyond, the columns are dealt with in two parts."""
ROUNDS, MORE_ROUNDS = 4, 12
"""How often prices rise, unless that takes more steps; and with more effort than the usual one."""
LEAST_RISE = 1e-9

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
        float64 (q,): what `*` costs in each column.
    leaf
        float64 (q,): the share of the domain that a single value covers.
    heights
        Whether a label along a hierarchy costs its height, or the share of the domain that it covers.
    """

    name: str
    weight: Floats
    leaf: Floats
    heights: bool

    def scaled(self, share: Floats, a: int) -> Floats:
        """What labels of such shares cost in column a."""
        if self.leaf[a] >= 1:
            return np.zeros_like(share)
        return np.asarray(self.weight[a] * np.maximum(share - self.leaf[a], 0.0) / (1 - self.leaf[a]))

    def level_cost(self, ladder: Ladder, level: int, a: int) -> Floats:
        """What the labels of a level cost in column a."""
        if self.heights:
            return np.full(ladder.size(level), self.weight[a] * level / ladder.height)
        return self.scaled(ladder.share[level], a)


def local_measure(
    name: str, frequencies: FrequencySet, ladders: Sequence[Ladder], weights: Mapping[str, float]
) -> LocalMeasure:
    """Bind one of the losses of local recoding to a table; columns add up, and their weights to 1.

    In shares of the domain a column of one value has nothing to lose, not even where a row is left out, as in
    :mod:`shoal.utility.loss`; it still counts among the columns of which the loss is the mean.
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
    shown: Sequence[str],
) -> float:
    """What a recoding loses, told from what it publishes; a row that is left out loses all columns."""
    if isinstance(recoding, ByLevel):
        fate = published(frequencies, tuple(ladders), recoding)
        height, share, rows, left = fate.height, fate.share, np.where(fate.group >= 0, fate.count, 0), fate.group < 0
        out = int(fate.count[left].sum())
    else:
        height, share = recoding.height, recoding.share
        rows = sum_by(recoding.group, recoding.count, len(height))
        out = frequencies.rows - int(recoding.count.sum())
    cost = np.zeros(len(height))
    for a, how in enumerate(shown):
        heights = measure.heights and how == "ancestor"
        cost += measure.weight[a] * height[:, a] if heights else measure.scaled(share[:, a], a)
    return (math.fsum(rows * cost) + out * float(measure.weight.sum())) / frequencies.rows


def least_loss(
    measure: LocalMeasure,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    model: AllOf,
    shown: Sequence[str],
    ranks: Sequence[npt.NDArray[np.int32] | None],
    *,
    whole: bool,
    effort: int = 1,
    levels: Levels | None = None,
) -> float | None:
    """The least that a local recoding can lose whose groups meet the model; None where nothing is known.

    ``whole`` tells that no row may be left out; where rows may be, each of them loses all columns. ``shown`` and
    ``ranks`` are as in :class:`shoal.methods.local.problem.LocalProblem`. ``levels`` are those at which labels may be
    along hierarchies, column by column, the highest among them; all of them without it. ``effort`` is how many times
    the usual number of steps may be taken; with 0 no prices rise.
    """
    rules = model.absorbing_rules(frequencies.domains, totals_of(frequencies), whole=whole)
    if rules is None:
        return None
    columns = [a for a, how in enumerate(shown) if how == "ancestor" and measure.weight[a] > 0]
    ranges = [a for a, how in enumerate(shown) if how != "ancestor" and measure.weight[a] > 0]
    columns.sort(key=lambda a: (len(ladders[a].codes[0]), a))  # few values first: that takes fewest steps
    most = math.inf if whole else 1.0
    levels = levels or [range(ladder.height + 1) for ladder in ladders]
    given = (measure, frequencies, ladders, levels, model.least, rules)
    total = _along_hierarchies(*given, columns, effort, most) if columns else 0.0
    if ranges and model.least > 1:
        total += _in_ranges(measure, frequencies, ladders, model.least, ranges, ranks)
    return rounded_down(total / frequencies.rows)


def totals_of(frequencies: FrequencySet) -> list[npt.NDArray[np.int64]]:
    """How often each value of each sensitive column is in the table."""
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
    most: float,
) -> float:
    """What all rows lose together at least in some columns; no price is above ``most`` times their whole loss."""
    cells, _ = make_cells(measure, frequencies, ladders, levels, least, rules, columns)
    top = math.fsum(measure.weight[list(columns)])
    room = make_room(cells)
    budget = max(effort, 1) * (STEPS + STEPS_PER_ITEM * len(cells.copies))
    price, left = least_costs(cells, room, top, budget)
    if left < 0 and len(columns) > 1:
        half = len(columns) // 2
        given = (measure, frequencies, ladders, levels, least, rules)
        return math.fsum(_along_hierarchies(*given, part, effort, most) for part in (columns[:half], columns[half:]))
    if left < 0:
        return 0.0
    ceiling = top * min(most, cells.least)  # so far a cell of all rows allows
    furthest = np.where(price > 0, ceiling - price, 0.0)
    for _ in range(0 if effort == 0 else ROUNDS if effort == 1 else MORE_ROUNDS):
        if not furthest.any():
            break
        rise, left = rises(cells, room, price, furthest, left)
        if left < 0:
            break
        rise[rise <= LEAST_RISE] = 0.0
        # rounded down, so that no sum of prices is above what it is compared with
        price = price + rise * (1 - 1e-9)
        furthest = np.where(rise > 0, np.maximum(ceiling - price, 0.0), 0.0)
    return math.fsum(price * cells.copies)


def make_cells(
    measure: LocalMeasure,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    levels: Levels,
    least: int,
    rules: Sequence[tuple[int, Rule]],
    columns: Sequence[int],
) -> tuple[Cells, npt.NDArray[np.int64]]:
    """The distinct combinations of some columns, and of what rules look at, for the kernels; and which is whose."""
    marks = np.stack([_marks(frequencies, *rule) for rule in rules]) if rules else np.zeros((0, len(frequencies.count)))
    sizes = [len(ladders[a].codes[0]) for a in columns]
    keys = np.concatenate([frequencies.codes[:, list(columns)], marks.T.astype(np.int32) + 1], axis=1)
    item, items = group_keys(keys, [*sizes, *(int(mark.max(initial=0)) + 2 for mark in marks)])
    first = np.zeros(items, np.int64)
    first[item[::-1]] = np.arange(len(item))[::-1]
    at = np.zeros((len(columns), max(len(levels[a]) for a in columns)), np.int64)
    lift, cost, place = [], [], 0
    for depth, a in enumerate(columns):
        for number, level in enumerate(levels[a]):
            at[depth, number] = place
            lift.append(ladders[a].codes[level])
            cost.append(np.zeros(sizes[depth]))
            cost[-1][: ladders[a].size(level)] = measure.level_cost(ladders[a], level, a)
            place += sizes[depth]
    cells = Cells(
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


def _marks(frequencies: FrequencySet, place: int, rule: Rule) -> npt.NDArray[np.int64]:
    """What a rule looks at in each combination: the value, its category or its weight; -1 counts for nothing."""
    codes = frequencies.secrets[:, place]
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
    """What all rows lose together at least in columns that show ranges: the way to the (least - 1)-th nearest row."""
    codes = frequencies.codes[:, list(columns)]
    item, items = group_keys(codes, [len(ladders[a].codes[0]) for a in columns])
    first = np.zeros(items, np.int64)
    first[item[::-1]] = np.arange(len(item))[::-1]
    count = np.asarray(sum_by(item, frequencies.count, items), np.int64)
    points = np.zeros((items, len(columns)))
    for j, a in enumerate(columns):
        ladder, rank = ladders[a], ranks[a]
        place = np.arange(len(ladder.codes[0])) if rank is None else rank
        share = ladder.share[0][np.argsort(place)]
        scale = measure.weight[a] / (1 - measure.leaf[a]) if measure.leaf[a] < 1 else 0.0
        along = scale * np.concatenate([[0.0], np.cumsum(share)[:-1]])
        if frequencies.quasi[a].missing:  # with any known value a missing one makes the whole domain
            along[-1] = along[-2] + measure.weight[a] if len(along) > 1 else 0.0
        points[:, j] = along[place[codes[first, j]]]
    boxes, order = make_boxes(points, count)
    found = np.zeros(items)
    distance_of_others(boxes, measure.weight[list(columns)], least - 1, found)
    return math.fsum(np.minimum(found, math.fsum(measure.weight[list(columns)])) * count[order])
