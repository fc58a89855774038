"""Evaluation of groups from histograms that are rolled up.

Histograms are sparse: in group g the columns `column[start[g]:start[g + 1]]` of the rules
(:mod:`shoal.kernels.rules`) have `rows` rows each. Joint combinations of several sensitive attributes do not matter:
every rule looks at one attribute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import FAILS, HOLDS, UNSURE, clear, compare_with, verdict


class Histograms(NamedTuple):
    """Sparse histograms of groups.

    start : int64 (groups + 1,); column : int32 (entries,); rows : int64 (entries,)
    """

    start: np.ndarray
    column: np.ndarray
    rows: np.ndarray


@njit(**INNER)
def _members(group, groups, start, order):
    """List the items of each group: order[start[g]:start[g + 1]].

    Cost: the items.
    """
    start[: groups + 1] = 0
    for i in range(len(group)):
        start[group[i] + 1] += 1
    for g in range(groups):
        start[g + 1] += start[g]
    for i in range(len(group) - 1, -1, -1):
        g = group[i]
        start[g + 1] -= 1
        order[start[g + 1]] = i
    # each end was moved to the start of its group, which is the end of the previous group
    for g in range(groups):
        start[g] = start[g + 1]
    start[groups] = len(group)


@njit(**INNER)
def _count(counters, column, times):
    if counters[2, column] == 0:
        counters[2, column] = 1
        counters[1, counters[1, -1]] = column
        counters[1, -1] += 1
    counters[0, column] += times


@njit(**INNER)
def _write(counters, position, out):
    """Write the columns of the tally from `position` on; return their end."""
    for i in range(counters[1, -1]):
        column = counters[1, i]
        out.column[position] = column
        out.rows[position] = counters[0, column]
        position += 1
    return position


@njit(**FROM_PYTHON)
def make_histograms(columns, count, group, groups, tally, out):
    """Build histograms of groups; return the number of entries.

    columns : int32 (n, attributes), -1 for a missing value
    """
    counters = tally.counter
    start = np.empty(groups + 1, np.int64)
    order = np.empty(len(group), np.int64)
    _members(group, groups, start, order)
    position = 0
    for g in range(groups):
        out.start[g] = position
        for i in range(start[g], start[g + 1]):
            for a in range(columns.shape[1]):
                if columns[order[i], a] >= 0:
                    _count(counters, columns[order[i], a], count[order[i]])
        position = _write(counters, position, out)
        clear(counters)
    out.start[groups] = position
    return position


@njit(**FROM_PYTHON)
def evaluate_groups(source, group, sizes, rules, tally, limit, slack, group_lists, out, state):
    """Roll histograms up to the groups of a node and evaluate them.

    source : Histograms of a finer node, and group : int64, the new group of each of its groups
    sizes : int64 (groups,), rows; slack : see :func:`shoal.kernels.rules.verdict`
    group_lists : int64 (2, at least source's groups + 1), overwritten; out : Histograms with capacity for the source's
        entries
    state : int8 (groups,), overwritten with HOLDS, FAILS or UNSURE
    Returns the rows of failing groups; a lower bound of the failing rows at every finer node; the rows of unsure
    groups; and whether all groups were evaluated. Not all are where it is certain that more than `limit` rows fail at
    finer nodes, or where none may fail and one does. Cost: the source's entries, and the cost of the verdicts.
    """
    counters = tally.counter
    least = rules.least[0]
    groups = len(sizes)
    failing, certain, unsure = np.int64(0), np.int64(0), np.int64(0)
    for g in range(groups):
        if sizes[g] < least:
            failing += sizes[g]
    certain = failing
    if certain > limit:
        return failing, certain, unsure, False
    start, order = group_lists[0], group_lists[1]
    _members(group, groups, start, order)
    position = 0
    for g in range(groups):
        out.start[g] = position
        for i in range(start[g], start[g + 1]):
            for entry in range(source.start[order[i]], source.start[order[i] + 1]):
                _count(counters, source.column[entry], source.rows[entry])
        position = _write(counters, position, out)
        state[g] = FAILS
        if sizes[g] >= least:
            counters[0, -1] = sizes[g]
            found, leave = verdict(rules, tally, slack)
            state[g] = found
            if found == FAILS:
                failing += sizes[g]
                certain += leave
            elif found == UNSURE:
                unsure += sizes[g]
        clear(counters)
        if certain > limit or (limit == 0 and failing > 0):
            return failing, certain, unsure, False
    out.start[groups] = position
    return failing, certain, unsure, True


@njit(**FROM_PYTHON)
def reevaluate_groups(histograms, sizes, rules, tally, totals, state, fresh):
    """Evaluate the remaining groups against the table without failing ones.

    Updates `totals`, int64 (columns,), the counts of that table.
    fresh : the groups whose rows are not yet subtracted from `totals`
    state : int8 (groups,), updated
    Returns the rows of groups that fail now, and of unsure ones.
    """
    counters = tally.counter
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
            _count(counters, histograms.column[entry], histograms.rows[entry])
        counters[0, -1] = sizes[g]
        state[g] = verdict(rules, tally, slack)[0]
        if state[g] == FAILS:
            failing += sizes[g]
        elif state[g] == UNSURE:
            unsure += sizes[g]
        clear(counters)
    return failing, unsure
