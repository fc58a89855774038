"""Which groups of a node meet the models, from histograms that are rolled up from a finer node.

Histograms are sparse: in group g the columns `column[start[g]:start[g + 1]]` of the rules
(:mod:`shoal.kernels.rules`) have `rows` rows each. Joint combinations of several sensitive attributes are of no
account: every rule looks at one attribute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import FAILS, HOLDS, UNSURE, clear, compare_with, verdict

__all__ = ["Histograms", "judge_again", "judge_groups", "make_histograms"]


class Histograms(NamedTuple):
    """start : int64 (groups + 1,); column : int32 (entries,); rows : int64 (entries,)"""

    start: np.ndarray
    column: np.ndarray
    rows: np.ndarray


@njit(**INNER)
def _members(group, groups, start, order):
    """The items of each group: those of group g are order[start[g]:start[g + 1]]. Cost: the items."""
    start[: groups + 1] = 0
    for i in range(len(group)):
        start[group[i] + 1] += 1
    for g in range(groups):
        start[g + 1] += start[g]
    for i in range(len(group) - 1, -1, -1):
        g = group[i]
        start[g + 1] -= 1
        order[start[g + 1]] = i
    # every end was moved to the beginning of its group, which is the end of the group before
    for g in range(groups):
        start[g] = start[g + 1]
    start[groups] = len(group)


@njit(**INNER)
def _count(book, column, times):
    if book[2, column] == 0:
        book[2, column] = 1
        book[1, book[1, -1]] = column
        book[1, -1] += 1
    book[0, column] += times


@njit(**INNER)
def _write(book, place, out):
    """Write the tally's columns from `place` on; returns where they end."""
    for i in range(book[1, -1]):
        column = book[1, i]
        out.column[place] = column
        out.rows[place] = book[0, column]
        place += 1
    return place


@njit(**FROM_PYTHON)
def make_histograms(columns, count, group, groups, tally, out):
    """Histograms of groups of entries, int32 (n, attributes), -1 for a missing value; returns how many entries."""
    book = tally.book
    start = np.empty(groups + 1, np.int64)
    order = np.empty(len(group), np.int64)
    _members(group, groups, start, order)
    place = 0
    for g in range(groups):
        out.start[g] = place
        for i in range(start[g], start[g + 1]):
            for a in range(columns.shape[1]):
                if columns[order[i], a] >= 0:
                    _count(book, columns[order[i], a], count[order[i]])
        place = _write(book, place, out)
        clear(book)
    out.start[groups] = place
    return place


@njit(**FROM_PYTHON)
def judge_groups(source, group, sizes, rules, tally, limit, slack, room, out, state):
    """Roll histograms up to the groups of a node, and tell which groups meet the models.

    source : Histograms of a finer node, and group : int64, where each of its groups goes
    sizes : int64 (groups,), rows; slack : see :func:`shoal.kernels.rules.verdict`
    room : int64 (2, at least source's groups + 1), overwritten; out : Histograms with room for the source's entries
    state : int8 (groups,), overwritten with HOLDS, FAILS or UNSURE
    Returns rows of groups that fail; how many rows fail at every finer node at least; rows of unsure groups; and
    whether all groups were looked at. Not all are where it is certain that more than `limit` rows fail at finer nodes,
    or where none may fail and one does. Cost: the source's entries, and what verdicts cost.
    """
    book = tally.book
    least = rules.least[0]
    groups = len(sizes)
    failing, certain, unsure = np.int64(0), np.int64(0), np.int64(0)
    for g in range(groups):
        if sizes[g] < least:
            failing += sizes[g]
    certain = failing
    if certain > limit:
        return failing, certain, unsure, False
    start, order = room[0], room[1]
    _members(group, groups, start, order)
    place = 0
    for g in range(groups):
        out.start[g] = place
        for i in range(start[g], start[g + 1]):
            for entry in range(source.start[order[i]], source.start[order[i] + 1]):
                _count(book, source.column[entry], source.rows[entry])
        place = _write(book, place, out)
        state[g] = FAILS
        if sizes[g] >= least:
            book[0, -1] = sizes[g]
            found, leave = verdict(rules, tally, slack)
            state[g] = found
            if found == FAILS:
                failing += sizes[g]
                certain += leave
            elif found == UNSURE:
                unsure += sizes[g]
        clear(book)
        if certain > limit or (limit == 0 and failing > 0):
            return failing, certain, unsure, False
    out.start[groups] = place
    return failing, certain, unsure, True


@njit(**FROM_PYTHON)
def judge_again(histograms, sizes, rules, tally, totals, state, fresh):
    """Judge the groups that hold against a table without those that fail, and keep that table's counts in `totals`.

    fresh : the groups whose failure is not yet taken out of `totals`; int64 (columns,)
    Returns rows of groups that fail now, and of unsure ones; state, int8 (groups,), tells which.
    """
    book = tally.book
    for i in range(len(fresh)):
        for entry in range(histograms.start[fresh[i]], histograms.start[fresh[i] + 1]):
            totals[histograms.column[entry]] -= histograms.rows[entry]
    compare_with(rules, totals)
    slack = np.ones(len(rules.offsets) - 1)
    failing, unsure = np.int64(0), np.int64(0)
    for g in range(len(sizes)):
        if state[g] != HOLDS:
            continue
        for entry in range(histograms.start[g], histograms.start[g + 1]):
            _count(book, histograms.column[entry], histograms.rows[entry])
        book[0, -1] = sizes[g]
        state[g] = verdict(rules, tally, slack)[0]
        if state[g] == FAILS:
            failing += sizes[g]
        elif state[g] == UNSURE:
            unsure += sizes[g]
        clear(book)
    return failing, unsure
