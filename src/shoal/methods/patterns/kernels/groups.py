"""Groups by anti-unification: search, assignment and remaining records.

The paper discards every record that its search misses. Here the rest is swept once more: all patterns with the
allowed number of ``*`` that k waiting records fit are tried, until there is none. So among the discarded records no k
agree in enough attributes (in a very large rest, the search is repeated instead, which may miss some).
``keep_rest`` continues with one more ``*`` at a time, and the last few records join the group of least additional loss.
A group publishes the anti-unification of its own rows, which may show more than the pattern that formed it.

Armengol and Torra, "Generalization-based k-anonymization", section 3 (search) and section 4 (passes on the rest).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, count
from math import comb

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.methods.patterns.kernels.assignment import (
    Accept,
    PatternGroups,
    assign_records,
    distinct_rows,
    group_sizes,
)
from shoal.methods.patterns.kernels.finding import DISCARDED, Patterns, find_patterns
from shoal.methods.patterns.kernels.hashing import INDIFFERENT, code_hash

_MAX_SWEEP_PAIRS = 10_000_000
"""The largest number of pairs of a row and a set of ``*`` in one sweep; beyond, a search is faster."""

_SINGLE_MERGES = 64
"""The number of groups merged one at a time; after that, twice as many in each step, to bound the time."""


def group_by_patterns(
    codes: NDArray[np.int32],
    classes: NDArray[np.int32],
    counts: NDArray[np.int64],
    k: int,
    indifferent: int,
    order: Sequence[str] = ("<", ">"),
    accept: Accept | None = None,
    keep_rest: bool = False,
) -> PatternGroups:
    """Form disjoint accepted groups of at least k records.

    Each has at most ``indifferent`` ``*``. ``codes`` int32 (n, q), ``classes`` int32 (n,), ``counts`` int64 (n,) as for
    `find_patterns`; ``classes`` all 0 for the model-aware reading. With ``keep_rest`` no record is left if the table as
    a
    whole has k records and is accepted, and the groups of the rest have more ``*``. ``PatternGroups.passes`` is the
    position in ``order``, then len(order) for the sweep and len(order) + 1 for groups of the rest.

    Time grows with that of `find_patterns` and `assign_records`, and with the rows left times C(q, ``indifferent``).

    Examples
    --------
    >>> codes = np.array([[0, 1, 2], [0, 1, 3], [4, 4, 4]], dtype=np.int32)
    >>> classes, counts = np.array([0, 0, 1], np.int32), np.array([3, 2, 4])
    >>> group_by_patterns(codes, classes, counts, k=5, indifferent=1).assignment.tolist()
    [0, 0, -1]
    >>> group_by_patterns(codes, classes, counts, k=5, indifferent=1, keep_rest=True).codes.tolist()
    [[-1, -1, -1]]
    """
    patterns = find_patterns(codes, classes, counts, k, indifferent, order)
    groups = assign_records(codes, classes, counts, patterns, k, accept)
    assignment, passes = groups.assignment, groups.passes
    fewest = max(min(indifferent, codes.shape[1] - 1), 0)
    for stars in range(fewest, codes.shape[1] if keep_rest else fewest + 1):
        label = np.int8(len(order) if stars == fewest else len(order) + 1)
        while len(rows := np.flatnonzero(assignment == DISCARDED)):
            none = np.zeros(len(rows), np.int32)
            swept = comb(codes.shape[1], stars) * len(rows) <= _MAX_SWEEP_PAIRS
            if swept:
                patterns = sweep_patterns(codes[rows], counts[rows], k, stars)
            else:
                patterns = find_patterns(codes[rows], none, counts[rows], k, stars, order)
            groups = assign_records(codes[rows], none, counts[rows], patterns, k, _for_rows(accept, rows))
            if len(groups.sizes) == 0:
                break
            joined = groups.assignment != DISCARDED
            assignment[rows[joined]] = groups.assignment[joined] + len(passes)
            passes = np.append(passes, np.full(len(groups.sizes), label))
            if not swept:  # the search repeats its passes itself; another one finds little
                break
    if keep_rest and (assignment == DISCARDED).any():
        assignment, passes = _merge_rest(codes, counts, assignment, passes, k, accept, len(order) + 1)
    return published_groups(codes, counts, assignment, passes)


def sweep_patterns(codes: NDArray[np.int32], counts: NDArray[np.int64], k: int, stars: int) -> Patterns:
    """Return all patterns of ``stars`` ``*`` that at least k records fit.

    ``stars`` is less than q; the patterns are of class 0 and pass 0. ``codes`` int32 (n, q), ``counts`` int64 (n,). The
    patterns are sorted by their set of ``*``, then by their first row. Time grows with n C(q, stars).
    """
    width = codes.shape[1]
    chosen = list(combinations(range(width), stars)) if 0 <= stars < width else []
    masks = np.zeros((len(chosen), width), dtype=np.bool_)
    for mask, attributes in zip(masks, chosen, strict=True):
        mask[list(attributes)] = True
    found, records = _sweep(np.ascontiguousarray(codes), np.ascontiguousarray(counts, dtype=np.int64), masks, k)
    number = len(records)
    return Patterns(
        found,
        np.zeros(number, np.int32),
        records,
        np.zeros(number, np.int8),
        np.full(len(counts), -1, np.int8),
    )


def published_groups(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    assignment: NDArray[np.int32],
    passes: NDArray[np.int8],
) -> PatternGroups:
    """Anti-unify the rows of each group; merge groups that publish the same.

    ``passes`` int8 (G,) by group of the assignment. Groups are numbered by their codes, ``*`` first.
    """
    shared = _anti_unify_groups(np.ascontiguousarray(codes), assignment, len(passes))
    used = np.flatnonzero(group_sizes(assignment, counts, len(passes)) > 0)
    distinct, index = distinct_rows(shared[used])
    number = np.full(len(passes) + 1, DISCARDED, dtype=np.int32)
    number[used] = index
    first_passes = np.full(len(distinct), np.iinfo(np.int8).max, dtype=np.int8)
    np.minimum.at(first_passes, index, passes[used])
    renumbered = number[assignment]
    return PatternGroups(distinct, group_sizes(renumbered, counts, len(distinct)), renumbered, first_passes)


def _for_rows(accept: Accept | None, rows: NDArray[np.int64]) -> Accept | None:
    """Return ``accept`` for a subset in which row i is row ``rows[i]``."""
    if accept is None:
        return None
    return lambda positions, groups, number: accept(rows[positions], groups, number)


def _merge_rest(
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    assignment: NDArray[np.int32],
    passes: NDArray[np.int8],
    k: int,
    accept: Accept | None,
    label: int,
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Merge the waiting rows and the cheapest groups into one group.

    Groups are added until it has k records and is accepted. The cheapest adds fewest ``*`` over all records concerned
    (ties: the lower number). Where not even all rows as one group are accepted, the assignment stays as it was.
    """
    rest = len(passes)
    merged = np.where(assignment == DISCARDED, rest, assignment).astype(np.int32)
    merged_passes = np.append(passes, np.int8(label))
    for step in count():
        sizes = group_sizes(merged, counts, rest + 1)
        members = np.flatnonzero(merged == rest)
        if sizes[rest] >= k and (accept is None or accept(members, np.zeros_like(members), 1)[0]):
            return merged, merged_passes
        if not sizes[:rest].any():
            break
        shared = _anti_unify_groups(np.ascontiguousarray(codes), merged, rest + 1)
        stars = (shared == INDIFFERENT).sum(axis=1)
        joint = ((shared == INDIFFERENT) | (shared != shared[rest])).sum(axis=1)
        cost = sizes * (joint - stars) + sizes[rest] * (joint - stars[rest])
        cost[sizes == 0] = np.iinfo(np.int64).max
        joining = 1 if step < _SINGLE_MERGES else 2 ** (step - _SINGLE_MERGES + 1)
        merged[np.isin(merged, np.argsort(cost[:rest], kind="stable")[:joining])] = rest
    return assignment, passes


@njit(cache=True)
def _anti_unify_groups(codes: NDArray[np.int32], assignment: NDArray[np.int32], groups: int) -> NDArray[np.int32]:
    """Return the values that the rows of each group share.

    -1 where they differ: int32 (groups, q); -1 throughout for no rows.
    """
    shared = np.full((groups, codes.shape[1]), INDIFFERENT, np.int32)
    seen = np.zeros(groups, np.bool_)
    for row in range(len(assignment)):
        group = assignment[row]
        if group == DISCARDED:
            continue
        if not seen[group]:
            seen[group] = True
            shared[group] = codes[row]
            continue
        for attribute in range(codes.shape[1]):
            if shared[group, attribute] != codes[row, attribute]:
                shared[group, attribute] = INDIFFERENT
    return shared


@njit(cache=True)
def _sweep(
    codes: NDArray[np.int32], counts: NDArray[np.int64], masks: NDArray[np.bool_], k: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Find the patterns of `sweep_patterns`.

    ``masks`` bool (m, q) has the attributes that are ``*``. Each mask uses a hash table of open addressing: -1 is free,
    else
    the first of the rows that agree outside the mask.
    """
    size, width = codes.shape
    capacity = 16
    while capacity < 2 * size:
        capacity *= 2
    slots = np.empty(capacity, np.int64)
    records = np.empty(size, np.int64)
    found = np.empty((64, width), np.int32)
    found_records = np.empty(64, np.int64)
    number = 0
    for mask in range(len(masks)):
        slots[:] = -1
        records[:] = 0
        for row in range(size):
            total = 0
            for attribute in range(width):
                if not masks[mask, attribute]:
                    total += code_hash(attribute, codes[row, attribute])
            slot = total & (capacity - 1)
            while slots[slot] != -1 and not _agree_outside(codes[slots[slot]], codes[row], masks[mask]):
                slot = (slot + 1) & (capacity - 1)
            if slots[slot] == -1:
                slots[slot] = row
            records[slots[slot]] += counts[row]
        for row in range(size):
            if records[row] < k or records[row] == 0:
                continue
            if number == len(found):
                larger = np.empty((2 * number, width), np.int32)
                larger[:number] = found
                found = larger
                larger_records = np.empty(2 * number, np.int64)
                larger_records[:number] = found_records
                found_records = larger_records
            for attribute in range(width):
                found[number, attribute] = INDIFFERENT if masks[mask, attribute] else codes[row, attribute]
            found_records[number] = records[row]
            number += 1
    return found[:number].copy(), found_records[:number].copy()


@njit(cache=True)
def _agree_outside(first: NDArray[np.int32], second: NDArray[np.int32], mask: NDArray[np.bool_]) -> bool:
    """Return whether two rows agree outside the mask."""
    agree = True
    for attribute in range(len(first)):
        agree &= mask[attribute] or first[attribute] == second[attribute]
    return agree
