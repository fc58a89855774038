"""Lower bounds for an intruder with partial knowledge of the columns.

Take a set S of columns that the intruder knows. A row shows a part of S and nothing of the rest. All rows that show the
same in that part form a group that meets the model. They lie in one cell of the columns of S: at the levels of the
labels where the row shows something, at the highest level where it does not. So in the columns of S a row loses at
least the cost of the cheapest cell of S that contains it and meets the part of the model that is closed under
supersets. A loss is a sum over columns, so the lower bounds of disjoint sets add up. There are two ways to choose
disjoint sets:

* each row has its own sets, and the levels at which it loses least;
* all rows have the same sets. In each set, all rows share one level per column, chosen so that the total loss is least.
  Whatever levels a release uses, it uses one combination of levels in every set.

Where there is one level per column to choose from, the first bound is better, otherwise often the second. Prices
(:mod:`shoal.bounds.recodings`) cannot be used here: rows that match a row in what it shows may show more than it does,
and lose less.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import rounded_down
from shoal.bounds.kernels.cells import least_costs, make_cell_scratch
from shoal.bounds.recodings import Levels, LocalMeasure, make_lattice_cells, sensitive_totals
from shoal.models import PartialKnowledge
from shoal.schema import Ladder
from shoal.table import FrequencySet
from shoal.table.rules import Rule

STEPS, STEPS_PER_ITEM = 200_000_000, 400
"""Maximum number of steps over all sets of columns: a constant, and a number per combination."""
MAX_FIGURES_IN_MEMORY = 40_000_000
"""Maximum number of figures in memory: one per combination and set of columns."""
MAX_SETS = 1_000
MAX_COLUMNS_FOR_EXACT_PACKING = 12
"""Up to this number of columns, every division into disjoint sets is examined."""

Columns = tuple[int, ...]


def least_loss_partial_knowledge(
    measure: LocalMeasure,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    parts: Sequence[PartialKnowledge],
    names: Sequence[str],
    levels: Levels,
) -> float:
    """Return a lower bound of the loss of levels and hidden cells.

    It holds for every release in which each set of columns of the parts meets its model. ``levels`` are the levels that
    labels may have; they include the highest, which shows as little as a hidden cell.
    """
    bounds = _SubsetBounds(measure, frequencies, ladders, levels)
    totals = sensitive_totals(frequencies)
    max_sets = min(MAX_SETS, max(len(names), MAX_FIGURES_IN_MEMORY // max(len(frequencies.count), 1)))
    found: list[_SubsetBound] = []
    for part in parts:
        rules = part.of.superset_rules(frequencies.domains, totals, whole=True)
        if rules is None or (part.least < 2 and not rules):
            continue
        for chosen in _sets(part, names):
            columns = [a for a in chosen if measure.weight[a] > 0]
            if columns and len(found) < max_sets:
                least = bounds.bound(part.least, rules, columns)
                found += [] if least is None else [least]
    if not found:
        return 0.0
    by_rows = math.fsum(_disjoint_sums(found, len(names)) * frequencies.count)
    return rounded_down(max(by_rows, _best_disjoint_total(found, len(names))) / frequencies.rows)


@dataclass(frozen=True)
class _SubsetBound:
    """Lower bounds of the loss in a set of columns.

    ``rows`` is the bound of each row alone, ``total`` their sum, ``at_same_levels`` the bound if all
    rows have the same levels.
    """

    columns: Columns
    rows: npt.NDArray[np.float64]
    total: float
    at_same_levels: float


class _SubsetBounds:
    """Lower bounds of sets of columns, within a budget of steps."""

    def __init__(
        self, measure: LocalMeasure, frequencies: FrequencySet, ladders: Sequence[Ladder], levels: Levels
    ) -> None:
        self.inputs = (measure, frequencies, ladders)
        self.levels = levels
        self.left = STEPS + STEPS_PER_ITEM * len(frequencies.count)
        self._floors: dict[tuple[int, int], float] = {}

    def bound(self, least: int, rules: Sequence[tuple[int, Rule]], columns: list[int]) -> _SubsetBound | None:
        """Return the bounds of a set of columns, or None.

        None means that they are 0, or that computing them takes too long.
        """
        ladders = self.inputs[2]
        columns.sort(key=lambda a: (len(ladders[a].codes[0]), a))
        found = self._cheapest(least, rules, columns, self.levels)
        if found is None or found[0] <= 0:
            return None
        total, rows = found
        return _SubsetBound(tuple(columns), rows, total, self._at_same_levels(least, rules, columns, total))

    def _at_same_levels(self, least: int, rules: Sequence[tuple[int, Rule]], columns: list[int], total: float) -> float:
        """Return the least loss of all rows at the same levels.

        Where that takes too long, return ``total``, the sum of the bounds of single rows.
        """
        own = [self.levels[a][:-1] or self.levels[a] for a in columns]  # the highest shows as little as a hidden cell
        if math.prod(map(len, own)) == 1:
            return total
        # no cell is cheaper than the labels of its level: nodes that cost more than that already need no look
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
        """Return the least loss of all rows in a column at a level.

        It is reached where no cell is hidden; hiding cells only adds to it.
        """
        measure, frequencies, ladders = self.inputs
        if (a, level) not in self._floors:
            cost = measure.level_cost(ladders[a], level, a)[ladders[a].codes[level]]
            self._floors[a, level] = math.fsum(cost[frequencies.codes[:, a]] * frequencies.count) * (1 - 1e-9)
        return self._floors[a, level]

    def _cheapest(
        self, least: int, rules: Sequence[tuple[int, Rule]], columns: list[int], levels: Levels
    ) -> tuple[float, npt.NDArray[np.float64]] | None:
        measure, frequencies, ladders = self.inputs
        cells, item = make_lattice_cells(measure, frequencies, ladders, levels, least, rules, columns)
        top = math.fsum(measure.weight[columns])
        found, after = least_costs(cells, make_cell_scratch(cells), top, self.left)
        if after < 0:  # too many cells; smaller sets may still fit the budget
            self.left -= len(item)
            return None
        self.left = after
        return math.fsum(found * cells.copies), found[item]


def _sets(part: PartialKnowledge, names: Sequence[str]) -> list[Columns]:
    """List the sets of columns that a part binds.

    Disjoint sets come first, then all others, large ones first. With a set, all of its subsets are bound too.
    """
    widest = part.widest(names)
    disjoint: list[Columns] = []
    used: set[int] = set()
    for chosen in widest:
        rest = tuple(a for a in chosen if a not in used)
        used.update(rest)
        if rest:
            disjoint.append(rest)
    first_sets = itertools.islice(part.sets(names), MAX_SETS)
    others = sorted({*widest, *first_sets} - set(disjoint), key=lambda chosen: (-len(chosen), chosen))
    return [*disjoint, *others]


def _disjoint_sums(found: Sequence[_SubsetBound], columns: int) -> npt.NDArray[np.float64]:
    """Return for each row the sum of bounds over disjoint sets of columns.

    Sets are packed greedily, those of the largest total first.
    """
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


def _best_disjoint_total(found: Sequence[_SubsetBound], columns: int) -> float:
    """Return the largest sum of bounds over disjoint sets of columns.

    The bounds are those of all rows at the same levels.

    The result is exact up to ``MAX_COLUMNS_FOR_EXACT_PACKING`` columns.
    Beyond, the sets are chosen greedily by their bound per column.
    """
    if columns > MAX_COLUMNS_FOR_EXACT_PACKING:
        total, used = 0.0, set[int]()
        for one in sorted(found, key=lambda one: (-one.at_same_levels / len(one.columns), one.columns)):
            if used.isdisjoint(one.columns):
                total += one.at_same_levels
                used.update(one.columns)
        return total
    best = [0.0] * (1 << columns)
    masks: list[list[tuple[int, float]]] = [[] for _ in range(columns)]
    for one in found:
        masks[max(one.columns)].append((sum(1 << a for a in one.columns), one.at_same_levels))
    for left in range(1, 1 << columns):
        last = left.bit_length() - 1
        largest = best[left ^ (1 << last)]
        for mask, cost in masks[last]:
            if mask & ~left == 0:
                largest = max(largest, cost + best[left ^ mask])
        best[left] = largest
    return best[-1]
