"""Counts of many sets of a few columns each.

This is :class:`shoal.table.column_subsets.SubsetCounter`, compiled. A set is counted in a table of all combinations of
its columns. Sets come in lexicographic order, so that those that differ in their last column only share the key of the
other columns: a set then costs one pass over the rows. If such a table would have more than `max_cells` cells, the
caller must count the set.

cells : int32 (columns, rows), from 0 to sizes[j], the code of a suppressed cell
sets : int64 (sets, columns of each), in lexicographic order
counts : int64 (rows,)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.runtime.threads import parallel_map, thread_limit
from shoal.table.cell_suppression import FAILS, HIDE, HOLDS, LOOK, NEVER_RARE, UNKNOWN, max_table_cells
from shoal.table.column_subsets import SubsetCounter

RECOUNT_DIVISOR = 32
"""A set is recounted from its rows if more than one in this many rows have left its groups."""


@njit(**INNER)
def _span(sizes, chosen, max_cells):
    """Return the number of combinations, at most max_cells + 1."""
    span = np.int64(1)
    for position in range(len(chosen)):
        span *= sizes[chosen[position]] + 1
        if span > max_cells:
            return max_cells + 1
    return span


@njit(**INNER)
def _same_before_last(sets, one, other):
    for position in range(sets.shape[1] - 1):  # noqa: SIM110 - compiled code knows no generators
        if sets[one, position] != sets[other, position]:
            return False
    return True


@njit(**INNER)
def _key(cells, sizes, chosen, key):
    """Number the rows by all columns of a set but the last.

    `key`, int32 (rows,), is overwritten.
    """
    rows = cells.shape[1]
    key[:rows] = 0
    for position in range(len(chosen) - 1):
        column = chosen[position]
        size = np.int32(sizes[column] + 1)
        for row in range(rows):
            key[row] = key[row] * size + cells[column, row]


@njit(**INNER)
def _mark_visible(sizes, chosen, visible):
    """Mark the numbers of :func:`_key` without a suppressed cell.

    Returns the number of numbers.
    """
    span = 1
    visible[0] = True
    for position in range(len(chosen) - 1):
        size = sizes[chosen[position]] + 1
        for code in range(span - 1, -1, -1):
            for digit in range(size):
                visible[code * size + digit] = visible[code] and digit < size - 1
        span *= size
    return span


@njit(**INNER)
def _fill(cells, counts, key, column, size, table, span):
    table[:span] = 0
    for row in range(cells.shape[1]):
        table[key[row] * size + cells[column, row]] += counts[row]


@njit(**INNER)
def _cover(sizes, chosen, has_suppressed, table, span):
    """Add to every combination the rows with suppressed cells that match it."""
    stride = np.int64(1)
    for position in range(len(chosen) - 1, -1, -1):
        column = chosen[position]
        size = sizes[column] + 1
        if has_suppressed[column]:
            for start in range(0, span, stride * size):
                nothing = start + (size - 1) * stride
                for digit in range(size - 1):
                    for inner in range(stride):
                        table[start + digit * stride + inner] += table[nothing + inner]
        stride *= size


@njit(**FROM_PYTHON)
def count_sets(cells, sizes, counts, known, has_suppressed, sets, max_cells, smallest, fewest):
    """Find the smallest visible group, and the fewest candidates, of each set.

    known : int32 (columns, people), known values of people
    has_suppressed : bool (columns,), whether a column of `cells` has suppressed cells
    smallest, fewest : int64 (sets,), overwritten: the smallest group without a suppressed cell, and the smallest number
    of candidate rows of a person; 0 if no group is visible; -1 if a set was not counted
    """
    rows, people = cells.shape[1], known.shape[1]
    key, own = np.empty(rows, np.int32), np.empty(people, np.int32)
    table = np.empty(max_cells, np.int64)
    occurs, visible = np.empty(max_cells, np.bool_), np.empty(max_cells, np.bool_)
    last, numbers = -1, 0
    for s in range(len(sets)):
        chosen = sets[s]
        span = _span(sizes, chosen, max_cells)
        if span > max_cells:
            smallest[s] = fewest[s] = -1
            continue
        if last < 0 or not _same_before_last(sets, s, last):
            _key(cells, sizes, chosen, key)
            _key(known, sizes, chosen, own)
            numbers = _mark_visible(sizes, chosen, visible)
            last = s
        column = chosen[-1]
        size = sizes[column] + 1
        _fill(cells, counts, key, column, size, table, span)
        low = np.int64(0)
        for code in range(numbers):
            if visible[code]:
                for cell in range(code * size, code * size + size - 1):
                    if table[cell] > 0 and (low == 0 or table[cell] < low):
                        low = table[cell]
        smallest[s] = low
        _cover(sizes, chosen, has_suppressed, table, span)
        occurs[:span] = False
        for person in range(people):
            occurs[own[person] * size + known[column, person]] = True
        least = np.int64(-1)
        for cell in range(span):
            if occurs[cell] and (least < 0 or table[cell] < least):
                least = table[cell]
        fewest[s] = least


@njit(**INNER)
def _recount(cells, counts, key, column, size, numbers, visible, least, own):
    """Count a set from its rows; returns the number of its rare groups."""
    own[:] = 0
    for row in range(cells.shape[1]):
        own[key[row] * size + cells[column, row]] += counts[row]
    rare = 0
    for code in range(numbers):
        for cell in range(code * size, code * size + size):
            if not visible[code] or cell == code * size + size - 1:
                own[cell] = NEVER_RARE
            elif 0 < own[cell] < least:
                rare += 1
    return rare


@njit(**INNER)
def _remove_rows(cells, sizes, counts, chosen, seen, least, own):
    """Remove the rows that left a set's groups since it was last counted.

    Returns the change of the number of rare groups. A row that was suppressed in several of the columns left its group
    once: it is removed at the first of them. A row that had been suppressed in another column before was in no group.
    """
    change = 0
    for position in range(len(chosen)):
        column = chosen[position]
        for event in range(seen[position], cells.length[column]):
            row = cells.row[column, event]
            number, counted = np.int64(0), True
            for other in range(len(chosen)):
                c = chosen[other]
                moment = cells.when[c, row]
                if moment < seen[other] or (other < position and moment < cells.length[c]):
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
def hide_rare(cells, sizes, counts, sets, index, least, often, cost, mode, tables, max_cells, found):
    """Suppress a cell of every row in a group with fewer than least[s] rows.

    Depending on `mode`, cells are suppressed (HIDE), only recorded (NOTE), or only the failing sets are found (LOOK).

    counts : int32 (rows,); index : int64 (sets,), the index of a set in `tables`
    often : float32 (rows, columns), the number of such groups of a cell; raised for all cells of the set, unless mode
    is LOOK. With HIDE the cell with the largest number relative to its cost, float64 (columns,), is suppressed, the
    first of equal ones
    found : int8 (sets,), overwritten: HOLDS, FAILS, or UNKNOWN
    A set is counted from all rows once; after that it is updated, if few cells of its columns were suppressed since.
    """
    rows, width = cells.now.shape[1], sets.shape[1]
    key = np.empty(rows, np.int32)
    scratch = np.empty(max_cells, np.int32)
    visible = np.empty(max_cells, np.bool_)
    last = -1
    numbers = 0
    for s in range(len(sets)):
        chosen, here, limit = sets[s], index[s], least[s]
        events = np.int64(0)
        for position in range(width):
            events += cells.length[chosen[position]]
        if tables.passed_at[here] == events:
            found[s] = HOLDS
            continue
        span = _span(sizes, chosen, max_cells)
        if span > max_cells:
            found[s] = UNKNOWN
            continue
        column = chosen[width - 1]
        size = sizes[column] + 1
        start = tables.start[here]
        is_current = start >= 0 and tables.rare[here] >= 0
        if is_current:
            own = tables.counts[start : start + span]
            seen = tables.seen[here]
            left = events
            for position in range(width):
                left -= seen[position]
            is_current = left <= rows // RECOUNT_DIVISOR
            if is_current and left > 0:
                tables.rare[here] += _remove_rows(cells, sizes, counts, chosen, seen, limit, own)
        if not is_current or (tables.rare[here] > 0 and mode != LOOK):
            if last < 0 or not _same_before_last(sets, s, last):
                _key(cells.now, sizes, chosen, key)
                numbers = _mark_visible(sizes, chosen, visible)
                last = s
            if not is_current:
                own = tables.counts[start : start + span] if start >= 0 else scratch[:span]
                tables.rare[here] = _recount(cells.now, counts, key, column, size, numbers, visible, limit, own)
        for position in range(width):
            tables.seen[here, position] = cells.length[chosen[position]]
        if tables.rare[here] == 0:
            tables.passed_at[here] = events
            found[s] = HOLDS
            continue
        found[s] = FAILS
        if mode == LOOK:
            continue
        for row in range(rows):
            if own[key[row] * size + cells.now[column, row]] >= limit:
                continue
            if mode == HIDE:
                best, chosen_position = -1.0, 0
                for position in range(width):
                    gain = (often[row, chosen[position]] + np.float32(1)) / cost[chosen[position]]
                    if gain > best:
                        best, chosen_position = gain, position
                hidden = chosen[chosen_position]
                cells.now[hidden, row] = sizes[hidden]
                cells.row[hidden, cells.length[hidden]] = row
                cells.when[hidden, row] = cells.length[hidden]
                cells.length[hidden] += 1
                if chosen_position < width - 1:
                    number = np.int32(0)
                    for position in range(width - 1):
                        number = number * np.int32(sizes[chosen[position]] + 1) + cells.now[chosen[position], row]
                    key[row] = number
            for position in range(width):
                often[row, chosen[position]] += np.float32(1)
        if mode == HIDE:  # the groups that were rare are now empty
            for cell in range(span):
                if own[cell] < limit:
                    own[cell] = 0
            tables.rare[here] = 0
            events = np.int64(0)
            for position in range(width):
                tables.seen[here, position] = cells.length[chosen[position]]
                events += cells.length[chosen[position]]
            tables.passed_at[here] = events


def count_sets_parallel(
    published: SubsetCounter, known: SubsetCounter, sets: Sequence[tuple[int, ...]]
) -> tuple[np.ndarray, np.ndarray]:
    """Apply :func:`count_sets` to sets of one size, with all allowed threads."""
    cells = np.stack(published.columns).astype(np.int32)
    people = np.stack(known.columns).astype(np.int32)
    sizes = np.asarray(published.sizes, np.int64)
    has_suppressed = (cells == sizes[:, None]).any(axis=1)
    max_cells = max_table_cells(len(published.count))
    counts = np.ascontiguousarray(published.count, np.int64)

    def count(part: np.ndarray) -> np.ndarray:
        figures = np.zeros((2, len(part)), np.int64)
        count_sets(cells, sizes, counts, people, has_suppressed, part, max_cells, figures[0], figures[1])
        return figures

    listed = np.asarray(sets, np.int64).reshape(len(sets), -1)
    found = parallel_map(count, [part for part in np.array_split(listed, 4 * thread_limit()) if len(part)])
    smallest, fewest = np.concatenate(found, axis=1)
    return smallest, fewest
