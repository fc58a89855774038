"""Sets of few columns, many of them, counted one after another: as :class:`shoal.encoding.facts.Facts` does, compiled.

A set is counted in a table of all combinations of its columns. Sets come in lexicographic order, so that those that
differ in their last column only share the key of the others: a set then costs one pass over the rows. Where such a
table would be larger than `room`, the set is left to whoever asked.

cells : int32 (columns, rows), from 0 to sizes[j], which stands for a cell that shows nothing
sets : int64 (sets, columns of each), in lexicographic order
counts : int64 (rows,)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from shoal.encoding.facts import DENSE, Facts
from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.threads import allowed, spread

__all__ = ["FAILS", "HOLDS", "UNKNOWN", "count_sets", "hide_rare", "look_at_sets", "room_of"]

HOLDS, FAILS, UNKNOWN = 0, 1, 2


@njit(**INNER)
def _span(sizes, chosen, room):
    """How many combinations there are, or room + 1 where that is less."""
    span = np.int64(1)
    for place in range(len(chosen)):
        span *= sizes[chosen[place]] + 1
        if span > room:
            return room + 1
    return span


@njit(**INNER)
def _same_before_last(sets, one, other):
    for place in range(sets.shape[1] - 1):  # noqa: SIM110 - compiled code knows no generators
        if sets[one, place] != sets[other, place]:
            return False
    return True


@njit(**INNER)
def _key(cells, sizes, chosen, key):
    """Number the rows by all columns of a set but the last; `key`, int32 (rows,), is overwritten."""
    rows = cells.shape[1]
    key[:rows] = 0
    for place in range(len(chosen) - 1):
        column = chosen[place]
        size = np.int32(sizes[column] + 1)
        for row in range(rows):
            key[row] = key[row] * size + cells[column, row]


@njit(**INNER)
def _shows(sizes, chosen, shows):
    """Which numbers of :func:`_key` show something in every column; returns how many numbers there are."""
    span = 1
    shows[0] = True
    for place in range(len(chosen) - 1):
        size = sizes[chosen[place]] + 1
        for code in range(span - 1, -1, -1):
            for digit in range(size):
                shows[code * size + digit] = shows[code] and digit < size - 1
        span *= size
    return span


@njit(**INNER)
def _fill(cells, counts, key, column, size, table, span):
    table[:span] = 0
    for row in range(cells.shape[1]):
        table[key[row] * size + cells[column, row]] += counts[row]


@njit(**INNER)
def _cover(sizes, chosen, hides, table, span):
    """Add to every combination the rows that show nothing where it shows something."""
    stride = np.int64(1)
    for place in range(len(chosen) - 1, -1, -1):
        column = chosen[place]
        size = sizes[column] + 1
        if hides[column]:
            for start in range(0, span, stride * size):
                nothing = start + (size - 1) * stride
                for digit in range(size - 1):
                    for inner in range(stride):
                        table[start + digit * stride + inner] += table[nothing + inner]
        stride *= size


@njit(**FROM_PYTHON)
def count_sets(cells, sizes, counts, known, hides, sets, room, smallest, fewest):
    """Of each set the smallest group of rows that show everything, and the fewest rows that can be somebody's.

    known : int32 (columns, people), what is known of people; hides : bool (columns,), whether cells of it show nothing
    smallest, fewest : int64 (sets,), overwritten: 0 where no group shows everything; -1 where a set was not counted
    """
    rows, people = cells.shape[1], known.shape[1]
    key, own = np.empty(rows, np.int32), np.empty(people, np.int32)
    table = np.empty(room, np.int64)
    met, shows = np.empty(room, np.bool_), np.empty(room, np.bool_)
    last, numbers = -1, 0
    for s in range(len(sets)):
        chosen = sets[s]
        span = _span(sizes, chosen, room)
        if span > room:
            smallest[s] = fewest[s] = -1
            continue
        if last < 0 or not _same_before_last(sets, s, last):
            _key(cells, sizes, chosen, key)
            _key(known, sizes, chosen, own)
            numbers = _shows(sizes, chosen, shows)
            last = s
        column = chosen[-1]
        size = sizes[column] + 1
        _fill(cells, counts, key, column, size, table, span)
        low = np.int64(0)
        for code in range(numbers):
            if shows[code]:
                for cell in range(code * size, code * size + size - 1):
                    if table[cell] > 0 and (low == 0 or table[cell] < low):
                        low = table[cell]
        smallest[s] = low
        _cover(sizes, chosen, hides, table, span)
        met[:span] = False
        for person in range(people):
            met[own[person] * size + known[column, person]] = True
        least = np.int64(-1)
        for cell in range(span):
            if met[cell] and (least < 0 or table[cell] < least):
                least = table[cell]
        fewest[s] = least


@njit(**FROM_PYTHON)
def hide_rare(cells, sizes, counts, sets, least, often, cost, hiding, held, changed, clock, room, found):
    """Hide a cell of every row whose group in a set has fewer than least[s] rows, or only note which cells these are.

    often : float32 (rows, columns), in how many such groups a cell was; raised for all cells of the set. The cell to be
    hidden is the one with most of them for its cost, float64 (columns,), the first of equal ones
    held, changed : int64 (sets,) and (columns,), when a set was last found to hold, and a column was last changed; a
    set is not counted again while that is so. found : int8 (sets,), overwritten: HOLDS, FAILS, or UNKNOWN
    Returns the clock, one later for every column that was changed.
    """
    rows, width = cells.shape[1], sets.shape[1]
    key = np.empty(rows, np.int32)
    table = np.empty(room, np.int64)
    shows = np.empty(room, np.bool_)
    last = -1
    numbers = 0
    hit = np.zeros(width, np.bool_)
    for s in range(len(sets)):
        chosen = sets[s]
        newest = np.int64(0)
        for place in range(width):
            newest = max(newest, changed[chosen[place]])
        if held[s] >= newest:
            found[s] = HOLDS
            continue
        span = _span(sizes, chosen, room)
        if span > room:
            found[s] = UNKNOWN
            continue
        if last < 0 or not _same_before_last(sets, s, last):
            _key(cells, sizes, chosen, key)
            numbers = _shows(sizes, chosen, shows)
            last = s
        column = chosen[width - 1]
        size = sizes[column] + 1
        _fill(cells, counts, key, column, size, table, span)
        rare = 0
        for code in range(numbers):
            if shows[code]:
                for cell in range(code * size, code * size + size - 1):
                    if 0 < table[cell] < least[s]:
                        table[cell] = -1
                        rare += 1
        if rare == 0:
            held[s] = clock
            found[s] = HOLDS
            continue
        found[s] = FAILS
        hit[:] = False
        for row in range(rows):
            if table[key[row] * size + cells[column, row]] >= 0:
                continue
            if hiding:
                best, chosen_place = -1.0, 0
                for place in range(width):
                    gain = (often[row, chosen[place]] + np.float32(1)) / cost[chosen[place]]
                    if gain > best:
                        best, chosen_place = gain, place
                hidden = chosen[chosen_place]
                cells[hidden, row] = sizes[hidden]
                hit[chosen_place] = True
                if chosen_place < width - 1:
                    number = np.int32(0)
                    for place in range(width - 1):
                        number = number * np.int32(sizes[chosen[place]] + 1) + cells[chosen[place], row]
                    key[row] = number
            for place in range(width):
                often[row, chosen[place]] += np.float32(1)
        for place in range(width):
            if hit[place]:
                clock += 1
                changed[chosen[place]] = clock
    return clock


def room_of(rows: int) -> int:
    """How many cells a table of combinations may have; keys are numbers of 32 bits."""
    return min(DENSE * rows + 4096, 1 << 30)


def look_at_sets(shown: Facts, known: Facts, sets: Sequence[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """:func:`count_sets` for sets of one size, on as many threads as are allowed."""
    cells = np.stack(shown.columns).astype(np.int32)
    people = np.stack(known.columns).astype(np.int32)
    sizes = np.asarray(shown.sizes, np.int64)
    hides = (cells == sizes[:, None]).any(axis=1)
    room = room_of(len(shown.count))
    counts = np.ascontiguousarray(shown.count, np.int64)

    def count(part: np.ndarray) -> np.ndarray:
        figures = np.zeros((2, len(part)), np.int64)
        count_sets(cells, sizes, counts, people, hides, part, room, figures[0], figures[1])
        return figures

    listed = np.asarray(sets, np.int64).reshape(len(sets), -1)
    found = spread(count, [part for part in np.array_split(listed, 4 * allowed()) if len(part)])
    smallest, fewest = np.concatenate(found, axis=1)
    return smallest, fewest
