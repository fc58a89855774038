"""What must be lost where an intruder knows few columns: by the sets of columns that are known together.

Of every set S of columns that is known together, a row shows a part, and nothing of the rest. The rows that show the
same in that part, all of it, are a group that meets the model, and they lie in one cell of the columns of S: at the
labels' levels where the row shows something, at the highest where it does not. So a row loses, in the columns of S, at
least as much as the cheapest cell of S that holds it and has the model's absorbing part. A loss is a sum over columns:
the least losses of sets that have no column in common add up, and every row may have sets of its own.

Prices (:mod:`shoal.bounds.recodings`) have no place here: those who look like a row in what it shows may show more than
it does, and lose less.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import rounded_down
from shoal.bounds.kernels.cells import least_costs, make_room
from shoal.bounds.recodings import Levels, LocalMeasure, make_cells, totals_of
from shoal.encoding import FrequencySet
from shoal.models import Limited
from shoal.schema import Ladder

__all__ = ["least_loss_of_few"]

STEPS, STEPS_PER_ITEM = 200_000_000, 400
"""So many steps are taken at most, over all sets of columns."""
MOST_FIGURES = 40_000_000
"""So many figures are held at most: one of each combination for each set of columns."""
MOST_SETS = 1_000

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
    totals = totals_of(frequencies)
    left = STEPS + STEPS_PER_ITEM * len(frequencies.count)
    room = min(MOST_SETS, max(len(names), MOST_FIGURES // max(len(frequencies.count), 1)))
    found: list[tuple[float, Columns, npt.NDArray[np.float64]]] = []
    for part in parts:
        rules = part.of.absorbing_rules(frequencies.domains, totals, whole=True)
        if rules is None or (part.least < 2 and not rules):
            continue
        for chosen in _sets(part, names):
            columns = [a for a in chosen if measure.weight[a] > 0]
            if not columns or len(found) >= room:
                continue
            columns.sort(key=lambda a: (len(ladders[a].codes[0]), a))
            cells, item = make_cells(measure, frequencies, ladders, levels, part.least, rules, columns)
            top = math.fsum(measure.weight[columns])
            least, after = least_costs(cells, make_room(cells), top, left)
            if after < 0:  # too many cells: smaller sets may still be gone through
                left -= len(item)
                continue
            left = after
            total = math.fsum(least * cells.copies)
            if total > 0:
                found.append((total, tuple(columns), least[item]))
    return rounded_down(math.fsum(_packed(found, len(names)) * frequencies.count) / frequencies.rows) if found else 0.0


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


def _packed(found: list[tuple[float, Columns, npt.NDArray[np.float64]]], columns: int) -> npt.NDArray[np.float64]:
    """Of each row the sum over sets without a common column, of which those come first that cost most in all."""
    best = np.zeros(len(found[0][2]))
    by_column = sorted(found, key=lambda one: (-one[0] / len(one[1]), one[1]))
    for order in (sorted(found, key=lambda one: (-one[0], one[1])), by_column):
        used = np.zeros((len(best), columns), np.bool_)
        total = np.zeros(len(best))
        for _, chosen, least in order:
            free = (least > 0) & ~used[:, list(chosen)].any(axis=1)
            total[free] += least[free]
            used[np.ix_(free, list(chosen))] = True
        best = np.maximum(best, total)
    return best
