"""Removal of unnecessary stars, where a star may stand for any value.

See :mod:`shoal.methods.local.suppression`. A star of a unit is removed if k people can still be behind the unit's row,
and k rows can still match every person who loses this row as a match: those who agree with all that the row showed and
differ in what it shows now. Both conditions only become harder as more is shown, so a star that was necessary once
stays necessary.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER


@njit(**INNER)
def _key(codes, row, columns):
    key = np.uint64(0)
    for j in columns:
        key = (key ^ np.uint64(codes[row, j])) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


@njit(**INNER)
def _agree(codes, one, other, columns):
    for j in columns:  # noqa: SIM110 (compiled code has no generators)
        if codes[one, j] != codes[other, j]:
            return False
    return True


@njit(**INNER)
def _find(codes, row, columns, table):
    """Return the slot of a row's values in some columns.

    If they are not in the table, it is the free slot where they would be; -1 marks a free slot.
    """
    mask = len(table) - 1
    slot = np.int64(_key(codes, row, columns) & np.uint64(mask))
    while table[slot] >= 0 and not _agree(codes, table[slot], row, columns):
        slot = (slot + 1) & mask
    return slot


@njit(**FROM_PYTHON)
def find_matches(codes, units, columns):
    """Find the rows that agree with what units, int64 (m,), show.

    All units show the same columns, `columns`, int64.
    codes : int32 (n, all columns), the known values of the people of each unit
    Returns the rows of `codes` that agree, one list after the other, and for each unit the start and end of its list,
    int64 (m, 2); units that show the same share a list. Cost: n times the columns.
    """
    capacity = 16
    while capacity < 2 * len(units):
        capacity *= 2
    table = np.full(capacity, -1, np.int64)
    number = np.zeros(capacity, np.int64)
    group = np.empty(len(units), np.int64)
    groups = 0
    for i in range(len(units)):
        slot = _find(codes, units[i], columns, table)
        if table[slot] < 0:
            table[slot] = units[i]
            number[slot] = groups
            groups += 1
        group[i] = number[slot]
    start = np.zeros(groups + 2, np.int64)
    match = np.full(len(codes), -1, np.int64)
    for row in range(len(codes)):
        slot = _find(codes, row, columns, table)
        if table[slot] >= 0:
            match[row] = number[slot]
            start[number[slot] + 2] += 1
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
def remove_stars(codes, count, rows, units, found, ends, column, k, removed):
    """Remove the stars of units in one column, one by one, where it is safe.

    count : int64 (n,), the number of people of each unit
    rows : int64 (n,), the number of released rows that match them; updated when stars are removed
    found, ends : see :func:`find_matches`;  removed : bool (m,), overwritten
    Cost: for each unit the units that agree with what it shows.
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
        removed[i] = good and people >= k
        if removed[i]:
            for at in range(ends[i, 0], ends[i, 1]):
                if codes[found[at], column] != value:
                    rows[found[at]] -= times
