"""What must be lost where an intruder knows few columns: by the sets of columns that are known together.

Of every set S of columns that is known together, a row shows a part, and nothing of the rest. The rows that show the
same in that part, all of it, are a group that meets the model, and they lie in one cell of the columns of S: at the
labels' levels where the row shows something, at the highest where it does not. So a row loses, in the columns of S, at
least as much as the cheapest cell of S that holds it and has the model's absorbing part. A loss is a sum over columns,
so that the least losses of sets add up that have no column in common. There are two ways to choose them:

* every row has sets of its own, and the levels at which it loses least;
* all rows have the same sets, and in each of them the levels, one of each column for all rows, at which all together
  lose least: whatever levels are taken, they are some in every set.

Where there is one level of each column to choose, the first is the better one, else often the second. Prices
(:mod:`shoal.bounds.recodings`) have no place here: those who look like a row in what it shows may show more than it
does, and lose less.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import rounded_down
from shoal.bounds.kernels.cells import least_costs, make_room
from shoal.bounds.recodings import Levels, LocalMeasure, make_cells, totals_of
from shoal.models import Limited
from shoal.schema import Ladder
from shoal.table import FrequencySet
from shoal.table.rules import Rule

__all__ = ["least_loss_of_few"]

STEPS, STEPS_PER_ITEM = 200_000_000, 400
"""So many steps are taken at most, over all sets of columns."""
MOST_FIGURES = 40_000_000
"""So many figures are held at most: one of each combination for each set of columns."""
MOST_SETS = 1_000
MOST_COLUMNS = 12
"""Of so many columns all ways to divide them into sets are gone through."""

Columns = tuple[int, ...]


def least_loss_of_few(
    measure: LocalMeasure,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    parts: Sequence[Limited],
    names: Sequence[str],
    levels: Levels,
) -> float:
    """The least that any levels and hidden cells can lose of which every set of columns of the parts holds.

    ``levels`` are those at which labels may be, the highest among them, which shows as little as a hidden cell.
    """
    asked = _Asked(measure, frequencies, ladders, levels)
    totals = totals_of(frequencies)
    room = min(MOST_SETS, max(len(names), MOST_FIGURES // max(len(frequencies.count), 1)))
    found: list[_Least] = []
    for part in parts:
        rules = part.of.absorbing_rules(frequencies.domains, totals, whole=True)
        if rules is None or (part.least < 2 and not rules):
            continue
        for chosen in _sets(part, names):
            columns = [a for a in chosen if measure.weight[a] > 0]
            if columns and len(found) < room:
                least = asked.of(part.least, rules, columns)
                found += [] if least is None else [least]
    if not found:
        return 0.0
    by_rows = math.fsum(_packed(found, len(names)) * frequencies.count)
    return rounded_down(max(by_rows, _apart(found, len(names))) / frequencies.rows)


@dataclass(frozen=True)
class _Least:
    """What rows lose at least in a set of columns: each by itself, all, and all at the same levels."""

    columns: Columns
    rows: npt.NDArray[np.float64]
    total: float
    at_one: float


class _Asked:
    """Counts cells of sets of columns, as long as steps are left."""

    def __init__(
        self, measure: LocalMeasure, frequencies: FrequencySet, ladders: Sequence[Ladder], levels: Levels
    ) -> None:
        self.given = (measure, frequencies, ladders)
        self.levels = levels
        self.left = STEPS + STEPS_PER_ITEM * len(frequencies.count)
        self._floors: dict[tuple[int, int], float] = {}

    def of(self, least: int, rules: Sequence[tuple[int, Rule]], columns: list[int]) -> _Least | None:
        """What rows lose at least in some columns; None where that takes too long, or is nothing."""
        ladders = self.given[2]
        columns.sort(key=lambda a: (len(ladders[a].codes[0]), a))
        found = self._cheapest(least, rules, columns, self.levels)
        if found is None or found[0] <= 0:
            return None
        total, rows = found
        return _Least(tuple(columns), rows, total, self._at_one(least, rules, columns, total))

    def _at_one(self, least: int, rules: Sequence[tuple[int, Rule]], columns: list[int], total: float) -> float:
        """What all rows lose at least at the same levels; what they lose by themselves where that takes too long."""
        own = [self.levels[a][:-1] or self.levels[a] for a in columns]  # the highest shows as little as a hidden cell
        if math.prod(map(len, own)) == 1:
            return total
        # no cell is cheaper than the labels of its level: nodes that cost more by these alone need not be looked at
        nodes = [
            (math.fsum(self._floor(a, level) for a, level in zip(columns, node, strict=True)), node)
            for node in itertools.product(*own)
        ]
        best = math.inf
        for floor, node in sorted(nodes):
            if floor >= best:
                break
            at = {a: sorted({level, self.levels[a][-1]}) for a, level in zip(columns, node, strict=True)}
            fixed = self._cheapest(least, rules, columns, [at.get(a, some) for a, some in enumerate(self.levels)])
            if fixed is None:
                return total
            best = min(best, fixed[0])
        return best

    def _floor(self, a: int, level: int) -> float:
        """What all rows lose in a column at a level where nothing is hidden, and no less where cells are."""
        measure, frequencies, ladders = self.given
        if (a, level) not in self._floors:
            cost = measure.level_cost(ladders[a], level, a)[ladders[a].codes[level]]
            self._floors[a, level] = math.fsum(cost[frequencies.codes[:, a]] * frequencies.count) * (1 - 1e-9)
        return self._floors[a, level]

    def _cheapest(
        self, least: int, rules: Sequence[tuple[int, Rule]], columns: list[int], levels: Levels
    ) -> tuple[float, npt.NDArray[np.float64]] | None:
        measure, frequencies, ladders = self.given
        cells, item = make_cells(measure, frequencies, ladders, levels, least, rules, columns)
        top = math.fsum(measure.weight[columns])
        found, after = least_costs(cells, make_room(cells), top, self.left)
        if after < 0:  # too many cells: smaller sets may still be gone through
            self.left -= len(item)
            return None
        self.left = after
        return math.fsum(found * cells.copies), found[item]


def _sets(part: Limited, names: Sequence[str]) -> list[Columns]:
    """Sets of columns that a part binds: first such as have no column in common, then all, the large ones first.

    Of a set that is bound all parts are bound too.
    """
    widest = part.widest(names)
    apart: list[Columns] = []
    used: set[int] = set()
    for chosen in widest:
        rest = tuple(a for a in chosen if a not in used)
        used.update(rest)
        if rest:
            apart.append(rest)
    some = itertools.islice(part.sets(names), MOST_SETS)
    others = sorted({*widest, *some} - set(apart), key=lambda chosen: (-len(chosen), chosen))
    return [*apart, *others]


def _packed(found: Sequence[_Least], columns: int) -> npt.NDArray[np.float64]:
    """Of each row the sum over sets without a common column, of which those come first that cost most in all."""
    best = np.zeros(len(found[0].rows))
    by_column = sorted(found, key=lambda one: (-one.total / len(one.columns), one.columns))
    for order in (sorted(found, key=lambda one: (-one.total, one.columns)), by_column):
        used = np.zeros((len(best), columns), np.bool_)
        total = np.zeros(len(best))
        for one in order:
            free = (one.rows > 0) & ~used[:, list(one.columns)].any(axis=1)
            total[free] += one.rows[free]
            for column in one.columns:
                used[free, column] = True
        best = np.maximum(best, total)
    return best


def _apart(found: Sequence[_Least], columns: int) -> float:
    """The largest sum over sets without a common column, of what all rows lose in each at the same levels.

    Exactly for few columns, else by taking the set that costs most of each column again and again.
    """
    if columns > MOST_COLUMNS:
        total, used = 0.0, set[int]()
        for one in sorted(found, key=lambda one: (-one.at_one / len(one.columns), one.columns)):
            if used.isdisjoint(one.columns):
                total += one.at_one
                used.update(one.columns)
        return total
    best = [0.0] * (1 << columns)
    masks: list[list[tuple[int, float]]] = [[] for _ in range(columns)]
    for one in found:
        masks[max(one.columns)].append((sum(1 << a for a in one.columns), one.at_one))
    for left in range(1, 1 << columns):
        last = left.bit_length() - 1
        most = best[left ^ (1 << last)]
        for mask, cost in masks[last]:
            if mask & ~left == 0:
                most = max(most, cost + best[left ^ mask])
        best[left] = most
    return best[-1]
