"""Sets of few columns, many of them, counted one after another: as :class:`shoal.table.column_subsets.Facts` does, compiled.

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

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.runtime.threads import allowed, spread
from shoal.table.cell_suppression import FAILS, HIDE, HOLDS, LOOK, NOBODY_ASKS, UNKNOWN, room_of
from shoal.table.column_subsets import Facts

__all__ = ["count_sets", "hide_rare", "look_at_sets"]

WORTH = 32
"""A set is counted from its rows where a larger part of them left its groups than one in so many."""


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


@njit(**INNER)
def _recount(cells, counts, key, column, size, numbers, shows, least, own):
    """Count a set from its rows; returns how many of its groups are rare."""
    own[:] = 0
    for row in range(cells.shape[1]):
        own[key[row] * size + cells[column, row]] += counts[row]
    rare = 0
    for code in range(numbers):
        for cell in range(code * size, code * size + size):
            if not shows[code] or cell == code * size + size - 1:
                own[cell] = NOBODY_ASKS
            elif 0 < own[cell] < least:
                rare += 1
    return rare


@njit(**INNER)
def _take_out(cells, sizes, counts, chosen, seen, least, own):
    """Take the rows from a set's counts that left its groups since it was last counted; returns by how much rare grows.

    A row that was hidden in several of the columns left its group once: it is taken out at the first of them. One that
    had been hidden in another before was in none.
    """
    change = 0
    for place in range(len(chosen)):
        column = chosen[place]
        for event in range(seen[place], cells.length[column]):
            row = cells.row[column, event]
            number, counted = np.int64(0), True
            for other in range(len(chosen)):
                c = chosen[other]
                moment = cells.when[c, row]
                if moment < seen[other] or (other < place and moment < cells.length[c]):
                    counted = False
                    break
                number = number * (sizes[c] + 1) + cells.first[c, row]
            if not counted:
                continue
            before = own[number]
            after = before - counts[row]
            own[number] = after
            if before < least:
                change -= after == 0
            else:
                change += 0 < after < least
    return change


@njit(**FROM_PYTHON)
def hide_rare(cells, sizes, counts, sets, place, least, often, cost, mode, tables, room, found):
    """Hide a cell of every row whose group in a set has fewer than least[s] rows; or note them; or look for such sets.

    counts : int32 (rows,); place : int64 (sets,), where a set is in `tables`
    often : float32 (rows, columns), in how many such groups a cell was; raised for all cells of the set, unless mode is
    LOOK. With HIDE the cell with most of them for its cost, float64 (columns,), is hidden, the first of equal ones
    found : int8 (sets,), overwritten: HOLDS, FAILS, or UNKNOWN
    A set is counted from all rows once; after that, and where few cells of its columns were hidden since, by them.
    """
    rows, width = cells.now.shape[1], sets.shape[1]
    key = np.empty(rows, np.int32)
    scratch = np.empty(room, np.int32)
    shows = np.empty(room, np.bool_)
    last = -1
    numbers = 0
    for s in range(len(sets)):
        chosen, here, limit = sets[s], place[s], least[s]
        events = np.int64(0)
        for position in range(width):
            events += cells.length[chosen[position]]
        if tables.held[here] == events:
            found[s] = HOLDS
            continue
        span = _span(sizes, chosen, room)
        if span > room:
            found[s] = UNKNOWN
            continue
        column = chosen[width - 1]
        size = sizes[column] + 1
        start = tables.start[here]
        kept = start >= 0 and tables.rare[here] >= 0
        if kept:
            own = tables.counts[start : start + span]
            seen = tables.seen[here]
            left = events
            for position in range(width):
                left -= seen[position]
            kept = left <= rows // WORTH
            if kept and left > 0:
                tables.rare[here] += _take_out(cells, sizes, counts, chosen, seen, limit, own)
        if not kept or (tables.rare[here] > 0 and mode != LOOK):
            if last < 0 or not _same_before_last(sets, s, last):
                _key(cells.now, sizes, chosen, key)
                numbers = _shows(sizes, chosen, shows)
                last = s
            if not kept:
                own = tables.counts[start : start + span] if start >= 0 else scratch[:span]
                tables.rare[here] = _recount(cells.now, counts, key, column, size, numbers, shows, limit, own)
        for position in range(width):
            tables.seen[here, position] = cells.length[chosen[position]]
        if tables.rare[here] == 0:
            tables.held[here] = events
            found[s] = HOLDS
            continue
        found[s] = FAILS
        if mode == LOOK:
            continue
        for row in range(rows):
            if own[key[row] * size + cells.now[column, row]] >= limit:
                continue
            if mode == HIDE:
                best, chosen_place = -1.0, 0
                for position in range(width):
                    gain = (often[row, chosen[position]] + np.float32(1)) / cost[chosen[position]]
                    if gain > best:
                        best, chosen_place = gain, position
                hidden = chosen[chosen_place]
                cells.now[hidden, row] = sizes[hidden]
                cells.row[hidden, cells.length[hidden]] = row
                cells.when[hidden, row] = cells.length[hidden]
                cells.length[hidden] += 1
                if chosen_place < width - 1:
                    number = np.int32(0)
                    for position in range(width - 1):
                        number = number * np.int32(sizes[chosen[position]] + 1) + cells.now[chosen[position], row]
                    key[row] = number
            for position in range(width):
                often[row, chosen[position]] += np.float32(1)
        if mode == HIDE:  # nobody is left in the groups that were rare
            for cell in range(span):
                if own[cell] < limit:
                    own[cell] = 0
            tables.rare[here] = 0
            events = np.int64(0)
            for position in range(width):
                tables.seen[here, position] = cells.length[chosen[position]]
                events += cells.length[chosen[position]]
            tables.held[here] = events


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
