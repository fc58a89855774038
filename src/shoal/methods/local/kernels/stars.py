"""Stars that nobody needs, where a star may stand for any value: see :mod:`shoal.methods.local.suppression`.

A star of a unit is taken back where k people can still be behind the unit's row, and k rows can still be the row of
everybody who loses this one: of those who agree with all that the row showed and differ in what it shows now. Both only
become harder as more is shown, so that a star that had to stay once must stay for good.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER

__all__ = ["take_back_stars", "who_agrees"]


@njit(**INNER)
def _key(codes, row, shown):
    key = np.uint64(0)
    for j in shown:
        key = (key ^ np.uint64(codes[row, j])) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


@njit(**INNER)
def _agree(codes, one, other, shown):
    for j in shown:  # noqa: SIM110 (compiled code has no generators)
        if codes[one, j] != codes[other, j]:
            return False
    return True


@njit(**INNER)
def _find(codes, row, shown, table):
    """The slot of a row's values in the shown columns, or the free one where they would be; -1 is free."""
    mask = len(table) - 1
    place = np.int64(_key(codes, row, shown) & np.uint64(mask))
    while table[place] >= 0 and not _agree(codes, table[place], row, shown):
        place = (place + 1) & mask
    return place


@njit(**FROM_PYTHON)
def who_agrees(codes, units, shown):
    """Who agrees with what some units show, int64 (m,), which all show the columns `shown`, int64.

    codes : int32 (n, columns), what is known of the people of each unit
    Returns the rows of `codes` that agree, one list after the other, and of each unit where its list begins and ends,
    int64 (m, 2); units that show the same share a list. Cost: n times the columns.
    """
    room = 16
    while room < 2 * len(units):
        room *= 2
    table = np.full(room, -1, np.int64)
    number = np.zeros(room, np.int64)
    group = np.empty(len(units), np.int64)
    groups = 0
    for i in range(len(units)):
        place = _find(codes, units[i], shown, table)
        if table[place] < 0:
            table[place] = units[i]
            number[place] = groups
            groups += 1
        group[i] = number[place]
    start = np.zeros(groups + 2, np.int64)
    match = np.full(len(codes), -1, np.int64)
    for row in range(len(codes)):
        place = _find(codes, row, shown, table)
        if table[place] >= 0:
            match[row] = number[place]
            start[number[place] + 2] += 1
    for g in range(groups):
        start[g + 2] += start[g + 1]
    found = np.empty(start[groups + 1], np.int32)
    for row in range(len(codes)):
        if match[row] >= 0:
            found[start[match[row] + 1]] = row
            start[match[row] + 1] += 1
    ends = np.empty((len(units), 2), np.int64)
    for i in range(len(units)):
        ends[i, 0], ends[i, 1] = start[group[i]], start[group[i] + 1]
    return found, ends


@njit(**FROM_PYTHON)
def take_back_stars(codes, count, rows, units, found, ends, column, k, taken):
    """Take back the stars of units in one column, one unit after the other, where that is safe.

    count : int64 (n,), how many people each unit has
    rows : int64 (n,), how many released rows can be theirs; changed where stars are taken back
    found, ends : see :func:`who_agrees`;  taken : bool (m,), overwritten
    Cost: for each unit those who agree with what it shows.
    """
    for i in range(len(units)):
        unit = units[i]
        value, times = codes[unit, column], count[unit]
        people = np.int64(0)
        good = True
        for at in range(ends[i, 0], ends[i, 1]):
            other = found[at]
            if codes[other, column] == value:
                people += count[other]
            elif rows[other] - times < k:
                good = False
                break
        taken[i] = good and people >= k
        if taken[i]:
            for at in range(ends[i, 0], ends[i, 1]):
                if codes[found[at], column] != value:
                    rows[found[at]] -= times
