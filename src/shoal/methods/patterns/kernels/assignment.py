"""Assignment of each record to one pattern.

This is the disjoint and the model-aware reading of anti-unification.

A published group is what a pattern shows of the quasi-identifiers, so patterns that differ only in their class are
one group, and a record may join a pattern of another class. The rule is deterministic:

1. A record prefers patterns found in its own class, then fewer ``*``, then more records that fit, then the lower code.
2. A pattern is active if the waiting records that fit it number at least k and would pass the model.
3. Each waiting record joins the first active pattern of its list. While a pattern has fewer than k records, the
   smallest is disbanded (ties: the higher code) and its records join their next active pattern.
4. While groups fail the model, the smaller half of them is disbanded in the same way, and the groups that grew are
   tested.
5. The records that found no group wait, and steps 2 to 4 are repeated until no record finds one.

A pattern with k records that fit no other pattern of their class is never disbanded in step 3, hence no more records
are
left than by removing from the overlapping pattern set every pattern with fewer than k own records. Without a model, or
with a model that is closed under superset, the last active pattern has all records that fit it and is never
disbanded: so at the end no pattern is left that the waiting records could fill.

Armengol and Torra, "Generalization-based k-anonymization", section 3, made k-anonymous as published.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.methods.patterns.kernels.finding import DISCARDED, Patterns
from shoal.methods.patterns.kernels.hashing import INDIFFERENT
from shoal.methods.patterns.kernels.matching import fit_patterns
from shoal.table.groups import group_keys

Accept = Callable[[NDArray[np.int64], NDArray[np.int64], int], NDArray[np.bool_]]
"""``accept(rows, groups, number)``: whether each of ``number`` groups meets the model, bool (number,).

``rows`` int64 (m,) are rows of the frequency set and ``groups`` int64 (m,) the group of each, 0 to ``number`` - 1, in
any order. Where candidates are tested, a row may occur once in each of several groups.
"""


class PatternGroups(NamedTuple):
    """A disjoint assignment of the rows of a frequency set.

    ``codes``: int32 (G, q), the published pattern of each group, -1 for ``*``. ``sizes``: int64 (G,), its records, at
    least
    k. ``assignment``: int32 (n,), the group of each row or -1. ``passes``: int8 (G,), the first pass that found the
    group's pattern; groups formed of the rest have higher numbers.
    """

    codes: NDArray[np.int32]
    sizes: NDArray[np.int64]
    assignment: NDArray[np.int32]
    passes: NDArray[np.int8]


def assign_records(
    codes: NDArray[np.int32],
    classes: NDArray[np.int32],
    counts: NDArray[np.int64],
    patterns: Patterns,
    k: int,
    accept: Accept | None = None,
) -> PatternGroups:
    """Assign each row to one accepted group of at least k records.

    See the module for the rule. ``codes`` int32 (n, q), ``classes`` int32 (n,) and ``counts`` int64 (n,) are those
    given to
    `find_patterns`. Time grows with n times the different sets of ``*``, with the fits of rows and patterns, and with P
    log
    P.

    Examples
    --------
    >>> from shoal.methods.patterns.kernels.finding import find_patterns
    >>> codes = np.array([[0, 1, 2], [0, 1, 3], [4, 4, 4]], dtype=np.int32)
    >>> classes, counts = np.array([0, 0, 1], np.int32), np.array([3, 2, 4])
    >>> patterns = find_patterns(codes, classes, counts, k=5, indifferent=1)
    >>> groups = assign_records(codes, classes, counts, patterns, k=5)
    >>> groups.codes.tolist(), groups.sizes.tolist(), groups.assignment.tolist()
    ([[0, 1, -1]], [5], [0, 0, -1])
    """
    distinct, of_pattern = distinct_rows(patterns.codes)
    starts, fits = fit_patterns(codes, patterns.codes)
    foreign = patterns.classes[fits] != np.repeat(classes, np.diff(starts))
    fits = of_pattern[fits]
    _sort_by_preference(starts, fits, foreign, _ranks(distinct, starts, fits, counts))
    assignment = np.full(len(counts), DISCARDED, dtype=np.int32)
    while True:
        waiting = assignment == DISCARDED
        active = _viable_groups(starts, fits, counts, waiting, len(distinct), k, accept)
        if not active.any():
            break
        found = _disband_failing(_initial_state(starts, fits, counts, waiting, active), k, accept)
        if not (found != DISCARDED).any():
            break
        assignment = np.where(found == DISCARDED, assignment, found)
    passes = np.full(len(distinct), np.iinfo(np.int8).max, dtype=np.int8)
    np.minimum.at(passes, of_pattern, patterns.passes)
    return _drop_empty_groups(distinct, counts, assignment, passes)


def distinct_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct rows of ``codes`` in ascending order.

    Also the index of each row among them (int32).
    """
    shifted = codes - INDIFFERENT
    index, number = group_keys(shifted, (shifted.max(axis=0, initial=0) + 1).tolist())
    first = np.zeros(number, dtype=np.int64)
    first[index[::-1]] = np.arange(len(codes))[::-1]
    return codes[first], index.astype(np.int32)


def _ranks(
    distinct: NDArray[np.int32], starts: NDArray[np.int64], fits: NDArray[np.int32], counts: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the rank of each group: int32 (G,).

    Groups are sorted by fewer ``*``, more records that fit, lower codes.
    """
    rows, members = _waiting_fits(starts, fits, np.ones(len(counts), dtype=np.bool_), len(distinct))
    support = group_sizes(members, counts[rows], len(distinct))
    stars = (distinct == INDIFFERENT).sum(axis=1)
    ranks = np.empty(len(distinct), dtype=np.int32)
    ranks[np.lexsort((np.arange(len(distinct)), -support, stars))] = np.arange(len(distinct), dtype=np.int32)
    return ranks


def _viable_groups(
    starts: NDArray[np.int64],
    fits: NDArray[np.int32],
    counts: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    groups: int,
    k: int,
    accept: Accept | None,
) -> NDArray[np.bool_]:
    """Step 2: mark the groups that could meet the model, bool (groups,).

    Each is tested with every waiting row that fits it.
    """
    rows, members = _waiting_fits(starts, fits, waiting, groups)
    large = group_sizes(members, counts[rows], groups) >= k
    if accept is None or not large.any():
        return large
    among_large = large[members]
    number = np.cumsum(large) - 1
    large[large] = accept(rows[among_large], number[members[among_large]], int(large.sum()))
    return large


def _disband_failing(state: _State, k: int, accept: Accept | None) -> NDArray[np.int32]:
    """Steps 3 and 4: return the accepted group of each row, int32 (n,).

    -1 where a row has no group.
    """
    _disband_small(state, k)
    failing = np.zeros(len(state.active), dtype=np.bool_)
    tested = np.flatnonzero(state.active)
    while accept is not None and len(tested):
        rows, members = _members(state, tested)
        failing[tested] = ~accept(rows, members, len(tested))
        disbanded = np.flatnonzero(failing & state.active)
        disbanded = disbanded[np.argsort(state.sizes[disbanded], kind="stable")][: (len(disbanded) + 1) // 2]
        state.changed[:] = False
        _disband_all(state, disbanded)
        tested = np.flatnonzero((state.changed | failing) & state.active)
    assignment: NDArray[np.int32] = _assignment(state)
    return assignment


def group_sizes(
    assignment: NDArray[np.signedinteger[Any]], counts: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """Return the number of records of each group: int64 (groups,)."""
    sizes = np.zeros(groups, dtype=np.int64)
    np.add.at(sizes, assignment[assignment != DISCARDED], counts[assignment != DISCARDED])
    return sizes


def _drop_empty_groups(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    assignment: NDArray[np.int32],
    passes: NDArray[np.int8],
) -> PatternGroups:
    """Return the groups that have rows, renumbered in their order."""
    sizes = group_sizes(assignment, counts, len(codes))
    used = np.flatnonzero(sizes > 0)
    number = np.full(len(codes) + 1, DISCARDED, dtype=np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    return PatternGroups(codes[used], sizes[used], number[assignment], passes[used])


@njit(cache=True)
def _sort_by_preference(
    starts: NDArray[np.int64], fits: NDArray[np.int32], foreign: NDArray[np.bool_], ranks: NDArray[np.int32]
) -> None:
    """Sort the fits of each row in place: own class first, then by rank.

    A row's list may contain a group twice.
    """
    size = len(ranks)
    for row in range(len(starts) - 1):
        start, stop = starts[row], starts[row + 1]
        if stop - start > 1:
            own = fits[start:stop].copy()
            keys = ranks[own].astype(np.int64) + size * foreign[start:stop]
            fits[start:stop] = own[np.argsort(keys)]


@njit(cache=True)
def _waiting_fits(
    starts: NDArray[np.int64], fits: NDArray[np.int32], waiting: NDArray[np.bool_], groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs (row, group) of the waiting rows, each pair once."""
    rows = np.empty(len(fits), np.int64)
    members = np.empty(len(fits), np.int64)
    last_row = np.full(groups, -1, np.int64)
    number = 0
    for row in range(len(waiting)):
        if not waiting[row]:
            continue
        for index in range(starts[row], starts[row + 1]):
            group = fits[index]
            if last_row[group] != row:
                last_row[group] = row
                rows[number] = row
                members[number] = group
                number += 1
    return rows[:number], members[:number]


class _State(NamedTuple):
    """The group of each row, while groups are disbanded.

    ``fits`` has each row's groups in the order of its preference. ``positions`` int64 (n,): the current position of a
    row in
    ``fits``; at the end of its list it waits. The rows of a group are a chain: ``first_rows`` int64 (G,) is its first
    row,
    ``next_rows`` int64 (n,) the next one, -1 ends it. ``changed`` bool (G,): has gained rows.
    """

    starts: NDArray[np.int64]
    fits: NDArray[np.int32]
    counts: NDArray[np.int64]
    active: NDArray[np.bool_]
    positions: NDArray[np.int64]
    sizes: NDArray[np.int64]
    first_rows: NDArray[np.int64]
    next_rows: NDArray[np.int64]
    changed: NDArray[np.bool_]


@njit(cache=True)
def _initial_state(
    starts: NDArray[np.int64],
    fits: NDArray[np.int32],
    counts: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    active: NDArray[np.bool_],
) -> _State:
    """Put every waiting row into its first active group.

    ``active`` becomes part of the state.
    """
    groups = len(active)
    positions = starts[:-1].copy()
    state = _State(
        starts,
        fits,
        counts,
        active,
        positions,
        np.zeros(groups, np.int64),
        np.full(groups, -1, np.int64),
        np.full(len(counts), -1, np.int64),
        np.zeros(groups, np.bool_),
    )
    for row in range(len(counts)):
        if waiting[row]:
            _join_next(state, row)
        else:
            positions[row] = starts[row + 1]
    return state


@njit(cache=True)
def _join_next(state: _State, row: int) -> None:
    """Move the row on to its next active group, if there is one."""
    position, end = state.positions[row], state.starts[row + 1]
    while position < end and not state.active[state.fits[position]]:
        position += 1
    state.positions[row] = position
    if position < end:
        group = state.fits[position]
        state.next_rows[row] = state.first_rows[group]
        state.first_rows[group] = row
        state.sizes[group] += state.counts[row]
        state.changed[group] = True


@njit(cache=True)
def _disband_all(state: _State, disbanded: NDArray[np.int64]) -> None:
    """Disband the groups in this order; their rows join their next group."""
    for group in disbanded:
        state.active[group] = False
    for group in disbanded:
        row = state.first_rows[group]
        while row != -1:
            after = state.next_rows[row]
            _join_next(state, row)
            row = after


@njit(cache=True)
def _disband_small(state: _State, k: int) -> None:
    """Step 3: disband the smallest group while it has fewer than k records.

    Time grows with fits + G log G. The heap contains (size, -group). A size may be out of date, but then it is too
    small,
    because groups only grow: such a group comes up too early and goes back with its true size.
    """
    heap = [
        (state.sizes[group], -group)
        for group in range(len(state.active))
        if state.active[group] and state.sizes[group] < k
    ]
    heapq.heapify(heap)
    disbanded = np.empty(1, np.int64)
    while len(heap) > 0:
        size, negative = heapq.heappop(heap)
        group = -negative
        if state.sizes[group] == size:
            disbanded[0] = group
            _disband_all(state, disbanded)
        elif state.sizes[group] < k:
            heapq.heappush(heap, (state.sizes[group], negative))


@njit(cache=True)
def _members(state: _State, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of some groups, and the index of each row's group."""
    rows = np.empty(len(state.counts), np.int64)
    members = np.empty(len(state.counts), np.int64)
    number = 0
    for index in range(len(groups)):
        row = state.first_rows[groups[index]]
        while row != -1:
            rows[number] = row
            members[number] = index
            number += 1
            row = state.next_rows[row]
    return rows[:number], members[:number]


@njit(cache=True)
def _assignment(state: _State) -> NDArray[np.int32]:
    """Return the group of each row, or -1: int32 (n,)."""
    assignment = np.full(len(state.counts), DISCARDED, np.int32)
    for row in range(len(state.counts)):
        if state.positions[row] < state.starts[row + 1]:
            assignment[row] = state.fits[state.positions[row]]
    return assignment
