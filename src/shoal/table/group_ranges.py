"""Ranges that a group publishes for a column with an order.

By default no range ends at a value that fewer than ``least`` rows of its group have; such an end would be one person's
value:

* numbers are covered by an interval with ends at round numbers (multiples of 1, 2 or 5 times a power of ten). Its step
  is the finest one that is at least a quarter of the extent of the group's values, and at least twice the last digit of
  the column. An end that is the value of a row of the group moves one step outwards, for any number of such rows, as an
  intruder may know some of them. An interval that reaches the column's smallest or largest number is open there;
* values in another order are covered up and down to the next released value of the column that none or at least
  ``least`` rows of the group have, or to the first and the last.

Exact ranges, from the smallest to the largest value of the group, reveal that a person has these values. A single value
that all rows of a group share is published as it is; missing and known values together are `*`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import TOP, Ladder
from shoal.schema.rounding import as_numbers, as_whole, interval_label, round_steps

MAX_STEPS_PER_RANGE = 4
"""Largest extent of a group's values in steps of the grid, so that ends are no closer to them than that."""

Whole = npt.NDArray[np.int64] | npt.NDArray[np.object_]
GroupLabels = tuple[tuple[str | None, ...], npt.NDArray[np.float64], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class RangeEnds:
    """The ends of ranges: values of the group, or safe values.

    ``exact`` ranges end at values of the group, others where none or at least ``least`` of its rows are.
    """

    exact: bool = False
    least: int = 2


@dataclass(frozen=True)
class _Column:
    """The rows of a column by group, as positions 0, 1, ... in its order.

    Missing is the last position, if there is one.
    """

    position: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    groups: int
    positions: int

    def counts_by_position(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return sorted keys group * positions + position, and their row counts."""
        key, inverse = np.unique(self.group * self.positions + self.position, return_inverse=True)
        return key, np.bincount(inverse, weights=self.count).astype(np.int64)

    def extent(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the first and the last position of each group."""
        low = np.full(self.groups, self.positions, np.int64)
        high = np.full(self.groups, -1, np.int64)
        np.minimum.at(low, self.group, self.position)
        np.maximum.at(high, self.group, self.position)
        return low, high


def publish_ranges(
    codes: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    groups: int,
    ladder: Ladder,
    ends: RangeEnds,
    rank: npt.NDArray[np.int32] | None = None,
    present: npt.NDArray[np.bool_] | None = None,
) -> GroupLabels:
    """Return labels, their heights, and the shares of the domain they cover.

    The height is the share of the domain, 0 for a single value.

    Parameters
    ----------
    codes, count, group
        Entries: the number of rows of a group with a value.
    rank
        The rank of each code in a declared order; without it, codes are in order.
    present
        The released codes, if ``codes`` are not all of them; the form of labels depends on these alone.

    Cost: entries times log entries, and groups.
    """
    leaves = ladder.labels[0]
    position = np.arange(len(leaves)) if rank is None else rank.astype(np.int64)
    code_at = np.argsort(position)
    names = [leaves[code] for code in code_at]
    known = len(leaves) - (None in leaves[-1:])
    column = _Column(position[codes], count, group, groups, len(leaves))
    low, high = column.extent()
    one, mixed = low == high, (high >= known) & (low != high)
    up_to = np.concatenate([[0.0], np.cumsum(ladder.share[0][code_at])])
    is_released = np.zeros(len(leaves), np.bool_)
    if present is None:
        is_released[column.position] = True
    else:
        is_released[position[np.flatnonzero(present)]] = True
    wide = np.flatnonzero(~one & ~mixed)
    labels = np.asarray([TOP if star else names[least] for least, star in zip(low, mixed, strict=True)], object)
    first, last = low.copy(), high.copy()
    numbers = None if ends.exact or rank is not None else _numbers(names[:known])
    if numbers is not None:
        labels[wide], first[wide], last[wide] = _round(column, numbers, is_released[:known], wide, low, high)
    else:
        if not ends.exact:
            reach = is_released[:known]
            _widen(column, reach, wide, first, last, ends.least)
        labels[wide] = [f"{names[first[g]]}..{names[last[g]]}" for g in wide]
        if not ends.exact and len(wide):
            covers_all = (first[wide] <= np.flatnonzero(reach)[0]) & (last[wide] >= np.flatnonzero(reach)[-1])
            labels[wide[covers_all]] = TOP
    share = np.where(mixed, 1.0, up_to[last + 1] - up_to[first])
    return tuple(labels), np.where(one, 0.0, share), share


def _numbers(names: Sequence[str | None]) -> list[Fraction] | None:
    """Return the values as numbers, if all are and they are increasing."""
    try:
        numbers = as_numbers([str(name) for name in names], "")
    except HierarchyError:
        return None
    return numbers if all(a < b for a, b in itertools.pairwise(numbers)) else None


def _round(
    column: _Column,
    numbers: Sequence[Fraction],
    is_released: npt.NDArray[np.bool_],
    wide: npt.NDArray[np.int64],
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the labels of ``wide`` groups, and the positions they cover.

    The positions are the first and the last one of the column that the label covers.
    """
    labels = np.full(len(wide), TOP, object)
    first, last = np.zeros(len(wide), np.int64), np.full(len(wide), len(numbers) - 1, np.int64)
    if not len(wide):
        return labels, first, last
    released = [number for number, yes in zip(numbers, is_released, strict=True) if yes]
    scale = as_whole(released)[1]  # the step of the grid depends on released numbers alone
    whole = scale == 1
    at = _array([round(number * scale) if yes else 0 for number, yes in zip(numbers, is_released, strict=True)])
    floors = _array([number.numerator * scale // number.denominator for number in numbers])  # rounded down
    bottom, top = int(released[0] * scale), int(released[-1] * scale)
    counts = column.counts_by_position()
    begin, end = at[low[wide]], at[high[wide]]
    open_groups = np.arange(len(wide))
    label_of: dict[tuple[int, int], str] = {}
    for step in round_steps(2):
        trying = open_groups[
            np.asarray((end[open_groups] - begin[open_groups]) <= MAX_STEPS_PER_RANGE * step, np.bool_)
        ]
        open_groups = np.setdiff1d(open_groups, trying, assume_unique=True)
        lower, upper = begin[trying] // step * step, (end[trying] // step + 1) * step
        lower = np.where(
            _is_unoccupied(column, counts[0], wide[trying], floors, at, is_released, lower), lower, lower - step
        )
        if whole:
            good = _is_unoccupied(column, counts[0], wide[trying], floors, at, is_released, upper - 1)
            upper = np.where(good, upper, upper + step)
        down, up = np.asarray(lower <= bottom, np.bool_), np.asarray(upper > top, np.bool_)
        for g, a, b in zip(trying, lower, upper, strict=True):
            key = (int(a), int(b))
            if key not in label_of:
                ends = (None if a <= bottom else Fraction(key[0], scale), None if b > top else Fraction(key[1], scale))
                label_of[key] = interval_label(*ends, whole)
            labels[g] = label_of[key]
        first[trying] = np.where(down, 0, np.searchsorted(floors, lower))
        last[trying] = np.where(up, len(numbers), np.searchsorted(floors, upper)) - 1
        if not len(open_groups):
            break
    return labels, first, last


def _array(numbers: Sequence[int]) -> Whole:
    """Return whole numbers as int64 if they fit, otherwise as objects."""
    small = max(map(abs, numbers), default=0) < 1 << 58
    return np.asarray(numbers, np.int64) if small else np.asarray(numbers, object)


def _is_unoccupied(
    column: _Column,
    keys: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    floors: Whole,
    at: Whole,
    is_released: npt.NDArray[np.bool_],
    end: Whole,
) -> npt.NDArray[np.bool_]:
    """Return whether no row of each group has exactly the number ``end``."""
    position = np.minimum(np.searchsorted(floors, end), len(floors) - 1)
    hit = np.asarray(at[position] == end, np.bool_) & is_released[position]
    return ~hit | ~np.isin(group * column.positions + position, keys)


def _is_safe_end(
    column: _Column,
    counts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    group: npt.NDArray[np.int64],
    position: npt.NDArray[np.int64],
    least: int,
) -> npt.NDArray[np.bool_]:
    """Return whether none, or at least ``least``, of a group's rows are there."""
    key = group * column.positions + position
    found = np.minimum(np.searchsorted(counts[0], key), len(counts[0]) - 1)
    return np.asarray((counts[0][found] != key) | (counts[1][found] >= least), np.bool_)


def _widen(
    column: _Column,
    reach: npt.NDArray[np.bool_],
    wide: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
    least: int,
) -> None:
    """Move ends outwards until none or enough rows are at them.

    They move along the positions of ``reach``.
    """
    counts = column.counts_by_position()
    stops = np.flatnonzero(reach)
    for ends, outwards in ((first, -1), (last, 1)):
        moving = wide
        while len(moving):
            moving = moving[~_is_safe_end(column, counts, moving, ends[moving], least)]
            number = np.searchsorted(stops, ends[moving]) + outwards
            inside = (number >= 0) & (number < len(stops))
            moving, number = moving[inside], number[inside]
            ends[moving] = stops[number]
