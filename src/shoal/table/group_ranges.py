"""What a group shows of a column whose values have an order: a range that covers its values.

By default no range ends at a value that fewer than ``least`` rows of its group have; such an end is somebody's value:

* numbers are covered by an interval whose ends lie on round numbers (multiples of 1, 2 or 5 times a power of ten), of
  which the finest step is taken that is at least a quarter of how far the group's values reach, and at least twice the
  last digit of the column; an end at which a row of the group lies moves one step outwards, however many do, as an
  intruder may know some of them; and an interval that reaches the column's least or largest number is open there;
* values in another order reach up and down to the next released value of the column that none or at least ``least``
  rows of the group have, or to the first and the last.

Exact ranges, from the least to the largest value of the group, tell that somebody has them. One value that all rows
of a group share is shown as it is, missing and known values together as `*`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyError
from shoal.schema import TOP, Ladder
from shoal.schema.interval_hierarchies import as_numbers, interval_label
from shoal.schema.rounding import as_whole, round_steps

__all__ = ["Ends", "show_ranges"]

CELLS = 4
"""A group's values reach over at most so many steps of the grid, so that ends are no closer to them than that."""

Whole = npt.NDArray[np.int64] | npt.NDArray[np.object_]
Shown = tuple[tuple[str | None, ...], npt.NDArray[np.float64], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Ends:
    """Where ranges end: ``exact`` at values of the group, else where none or at least ``least`` of its rows lie."""

    exact: bool = False
    least: int = 2


@dataclass(frozen=True)
class _Column:
    """The rows of a column by group, in places 0, 1, ... of its order; missing is the last place, if there is one."""

    place: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    groups: int
    places: int

    def held(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Sorted keys group * places + place, and how many rows there are of each."""
        key, inverse = np.unique(self.group * self.places + self.place, return_inverse=True)
        return key, np.bincount(inverse, weights=self.count).astype(np.int64)

    def extent(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The first and the last place of each group."""
        low = np.full(self.groups, self.places, np.int64)
        high = np.full(self.groups, -1, np.int64)
        np.minimum.at(low, self.group, self.place)
        np.maximum.at(high, self.group, self.place)
        return low, high


def show_ranges(
    codes: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    groups: int,
    ladder: Ladder,
    ends: Ends,
    rank: npt.NDArray[np.int32] | None = None,
    present: npt.NDArray[np.bool_] | None = None,
) -> Shown:
    """Labels, how high each stands (its part of the domain, 0 for one value), and which part of the domain it covers.

    Parameters
    ----------
    codes, count, group
        Entries: so many rows of a group have a value.
    rank
        The place of each code in a declared order; codes are in order without it.
    present
        Which codes are released, where ``codes`` are not all of those; the form of labels follows from these alone.

    Cost: entries times log entries, and groups.
    """
    leaves = ladder.labels[0]
    place = np.arange(len(leaves)) if rank is None else rank.astype(np.int64)
    code_at = np.argsort(place)
    names = [leaves[code] for code in code_at]
    known = len(leaves) - (None in leaves[-1:])
    column = _Column(place[codes], count, group, groups, len(leaves))
    low, high = column.extent()
    one, mixed = low == high, (high >= known) & (low != high)
    up_to = np.concatenate([[0.0], np.cumsum(ladder.share[0][code_at])])
    there = np.zeros(len(leaves), np.bool_)
    if present is None:
        there[column.place] = True
    else:
        there[place[np.flatnonzero(present)]] = True
    wide = np.flatnonzero(~one & ~mixed)
    labels = np.asarray([TOP if star else names[least] for least, star in zip(low, mixed, strict=True)], object)
    first, last = low.copy(), high.copy()
    numbers = None if ends.exact or rank is not None else _numbers(names[:known])
    if numbers is not None:
        labels[wide], first[wide], last[wide] = _round(column, numbers, there[:known], wide, low, high)
    else:
        if not ends.exact:
            reach = there[:known]
            _widen(column, reach, wide, first, last, ends.least)
        labels[wide] = [f"{names[first[g]]}..{names[last[g]]}" for g in wide]
        if not ends.exact and len(wide):
            everything = (first[wide] <= np.flatnonzero(reach)[0]) & (last[wide] >= np.flatnonzero(reach)[-1])
            labels[wide[everything]] = TOP
    share = np.where(mixed, 1.0, up_to[last + 1] - up_to[first])
    return tuple(labels), np.where(one, 0.0, share), share


def _numbers(names: Sequence[str | None]) -> list[Fraction] | None:
    """The values as numbers, where all are and each is more than the one before."""
    try:
        numbers = as_numbers([str(name) for name in names], "")
    except HierarchyError:
        return None
    return numbers if all(a < b for a, b in itertools.pairwise(numbers)) else None


def _round(
    column: _Column,
    numbers: Sequence[Fraction],
    there: npt.NDArray[np.bool_],
    wide: npt.NDArray[np.int64],
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of the groups ``wide``: the label, and the first and the last place of the column that it covers."""
    labels = np.full(len(wide), TOP, object)
    first, last = np.zeros(len(wide), np.int64), np.full(len(wide), len(numbers) - 1, np.int64)
    if not len(wide):
        return labels, first, last
    shown = [number for number, yes in zip(numbers, there, strict=True) if yes]
    scale = as_whole(shown)[1]  # the step of the grid follows from released numbers alone
    whole = scale == 1
    at = _array([round(number * scale) if yes else 0 for number, yes in zip(numbers, there, strict=True)])
    every = _array([number.numerator * scale // number.denominator for number in numbers])  # rounded down
    bottom, top = int(shown[0] * scale), int(shown[-1] * scale)
    held = column.held()
    begin, end = at[low[wide]], at[high[wide]]
    open_groups = np.arange(len(wide))
    told: dict[tuple[int, int], str] = {}
    for step in round_steps(2):
        trying = open_groups[np.asarray((end[open_groups] - begin[open_groups]) <= CELLS * step, np.bool_)]
        open_groups = np.setdiff1d(open_groups, trying, assume_unique=True)
        lower, upper = begin[trying] // step * step, (end[trying] // step + 1) * step
        lower = np.where(_free(column, held[0], wide[trying], every, at, there, lower), lower, lower - step)
        if whole:
            good = _free(column, held[0], wide[trying], every, at, there, upper - 1)
            upper = np.where(good, upper, upper + step)
        down, up = np.asarray(lower <= bottom, np.bool_), np.asarray(upper > top, np.bool_)
        for g, a, b in zip(trying, lower, upper, strict=True):
            key = (int(a), int(b))
            if key not in told:
                ends = (None if a <= bottom else Fraction(key[0], scale), None if b > top else Fraction(key[1], scale))
                told[key] = interval_label(*ends, whole)
            labels[g] = told[key]
        first[trying] = np.where(down, 0, np.searchsorted(every, lower))
        last[trying] = np.where(up, len(numbers), np.searchsorted(every, upper)) - 1
        if not len(open_groups):
            break
    return labels, first, last


def _array(numbers: Sequence[int]) -> Whole:
    """Whole numbers, of machine size where they fit."""
    small = max(map(abs, numbers), default=0) < 1 << 58
    return np.asarray(numbers, np.int64) if small else np.asarray(numbers, object)


def _free(
    column: _Column,
    held: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    every: Whole,
    at: Whole,
    there: npt.NDArray[np.bool_],
    end: Whole,
) -> npt.NDArray[np.bool_]:
    """Whether no row of each group has exactly the number ``end``."""
    place = np.minimum(np.searchsorted(every, end), len(every) - 1)
    hit = np.asarray(at[place] == end, np.bool_) & there[place]
    return ~hit | ~np.isin(group * column.places + place, held)


def _held_well(
    column: _Column,
    held: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    group: npt.NDArray[np.int64],
    place: npt.NDArray[np.int64],
    least: int,
) -> npt.NDArray[np.bool_]:
    """Whether none, or at least ``least``, of each group's rows are at a place."""
    key = group * column.places + place
    found = np.minimum(np.searchsorted(held[0], key), len(held[0]) - 1)
    return np.asarray((held[0][found] != key) | (held[1][found] >= least), np.bool_)


def _widen(
    column: _Column,
    reach: npt.NDArray[np.bool_],
    wide: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
    least: int,
) -> None:
    """Move the ends of ranges outwards, along the places of ``reach``, until none or enough rows are there."""
    held = column.held()
    stops = np.flatnonzero(reach)
    for ends, outwards in ((first, -1), (last, 1)):
        moving = wide
        while len(moving):
            moving = moving[~_held_well(column, held, moving, ends[moving], least)]
            number = np.searchsorted(stops, ends[moving]) + outwards
            inside = (number >= 0) & (number < len(stops))
            moving, number = moving[inside], number[inside]
            ends[moving] = stops[number]
