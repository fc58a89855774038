"""Search for patterns by anti-unification.

A pattern has the values that the records of a set share, and ``*`` where they differ. A set of records is cut by the
values of one attribute, and its parts again, until the records of a part differ in at most ``indifferent`` attributes;
their shared values are a pattern. Parts of fewer than k records are not followed. The records that no pattern
identifies are searched again, first in the same order of attributes, then in the next one. A set is a range of
physically sorted rows, and cutting it sorts the range in place, so there is no copy per set.

Armengol and Torra, "Generalization-based k-anonymization", section 3 (Anonymize, Analyze-partition, Analyze-set).
Interpretation: ``indifferent`` bounds the number of ``*`` (the printed ``long`` = 2 cannot be a minimum length); every
attribute tied for P_cond is followed; only attributes that differ inside a set can cut it; an unknown value is a
value like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.methods.patterns.kernels.hashing import INDIFFERENT, copy_row, enlarge, first_visit, rehash

DISCARDED = -1
"""The pass of a record that no pass identified, and the pattern of a record that has none."""

_MAX_VISITS = 5_000_000
_MAX_VISITS_PER_ROW = 50
"""The row visits after which a search follows only the first of tied attributes: columns with equally many values tie
everywhere, and following all ties takes time 2^q."""

ORDERS = ("<", ">")
"""``<``: cut by the attribute of fewest values first; ``>``: of most values first."""


class Patterns(NamedTuple):
    """The patterns of a frequency set, in the order in which they were found.

    ``codes``: int32 (P, q), -1 for ``*``. ``classes``: int32 (P,), the confidential class the pattern was built in.
    ``found``: int64 (P,), the records of the set it was built from, at least k. ``passes``: int8 (P,), the position in
    ``order`` of the pass that found it. ``identified``: int8 (n,), by row of the frequency set, the pass that first
    identified the row, or -1 where it is discarded. ``ties_cut``: the number of sets in which not every tied attribute
    was
    followed, because the search had grown too large; 0 unless most columns have equally many values.
    """

    codes: NDArray[np.int32]
    classes: NDArray[np.int32]
    found: NDArray[np.int64]
    passes: NDArray[np.int8]
    identified: NDArray[np.int8]
    ties_cut: int = 0


def find_patterns(
    codes: NDArray[np.int32],
    classes: NDArray[np.int32],
    counts: NDArray[np.int64],
    k: int,
    indifferent: int,
    order: Sequence[str] = ("<", ">"),
) -> Patterns:
    """Find patterns of at least k records inside each confidential class.

    Section 3, Figures 1, 3 and 4.

    Parameters
    ----------
    codes
        int32 (n, q), codes of the quasi-identifiers, at least 0.
    classes
        int32 (n,), one code for the combination of confidential values; all 0 to build patterns across classes.
    counts
        int64 (n,), records per row.
    k, indifferent
        The minimum number of records of a pattern, and the maximum number of attributes published as ``*``. A pattern
        of
        ``*`` only is never built.
    order
        The passes, each ``<`` or ``>``.

    The result does not depend on the order of the rows. Time grows with n q times the depth of the cuts (at most
    q - indifferent) times the ties; a set that ties reach twice is cut once, and past a fixed number of row visits
    only the first of tied attributes is followed.

    Examples
    --------
    >>> codes = np.array([[0, 1, 2], [0, 1, 3], [4, 4, 4]], dtype=np.int32)
    >>> patterns = find_patterns(codes, np.zeros(3, np.int32), np.array([3, 2, 9]), k=5, indifferent=1)
    >>> patterns.codes.tolist(), patterns.found.tolist()
    ([[0, 1, -1], [4, 4, 4]], [5, 9])
    """
    prefer_high_cardinality = np.array([ORDERS.index(condition) == 1 for condition in order], dtype=np.bool_)
    sorted_rows = np.argsort(classes, kind="stable")
    offsets = np.zeros(codes.shape[1] + 1, dtype=np.int64)
    if codes.shape[0]:
        np.cumsum(codes.max(axis=0).astype(np.int64) + 1, out=offsets[1:])
    work = np.array([_MAX_VISITS + _MAX_VISITS_PER_ROW * len(counts), 0], dtype=np.int64)
    pattern_codes, columns, passes_of_rows = _search(
        np.ascontiguousarray(codes[sorted_rows], dtype=np.int32),
        np.ascontiguousarray(classes[sorted_rows], dtype=np.int32),
        np.ascontiguousarray(counts[sorted_rows], dtype=np.int64),
        offsets,
        k,
        indifferent,
        prefer_high_cardinality,
        work,
    )
    identified = np.empty(codes.shape[0], dtype=np.int8)
    identified[sorted_rows] = passes_of_rows
    by_pass = np.argsort(columns[:, 2], kind="stable")
    pattern_classes, found, passes = columns[by_pass].T
    return Patterns(
        pattern_codes[by_pass],
        pattern_classes.astype(np.int32),
        found.copy(),
        passes.astype(np.int8),
        identified,
        int(work[1]),
    )


@njit(cache=True)
def anti_unify(codes: NDArray[np.int32], start: int, stop: int, pattern: NDArray[np.int32]) -> int:
    """Write the shared values of rows start:stop into ``pattern`` (q,).

    -1 where they differ; returns how many differ. Section 3, Analyze-set, first step. Time grows with (stop - start) q.
    """
    width = codes.shape[1]
    differing = 0
    for attribute in range(width):
        pattern[attribute] = codes[start, attribute]
    for row in range(start + 1, stop):
        if differing == width:
            break
        for attribute in range(width):
            if pattern[attribute] != INDIFFERENT and pattern[attribute] != codes[row, attribute]:
                pattern[attribute] = INDIFFERENT
                differing += 1
    return differing


@njit(cache=True)
def _tied_attributes(
    codes: NDArray[np.int32],
    start: int,
    stop: int,
    pattern: NDArray[np.int32],
    prefer_high_cardinality: bool,
    stamps: NDArray[np.int64],
    offsets: NDArray[np.int64],
    tied: NDArray[np.int32],
) -> int:
    """P_cond of Analyze-set: write the best attributes; return their number.

    These cut rows start:stop into the fewest (most) sets. Only attributes that differ (-1 in ``pattern``) count.
    ``stamps``
    int64 (sum of code ranges + 1,) marks the codes that were seen; its last element is the last mark used, so that it
    is
    never cleared.
    """
    number_tied = 0
    best = 0
    for attribute in range(codes.shape[1]):
        if pattern[attribute] != INDIFFERENT:
            continue
        stamps[-1] += 1
        mark = stamps[-1]
        sets = 0
        for row in range(start, stop):
            position = offsets[attribute] + codes[row, attribute]
            if stamps[position] != mark:
                stamps[position] = mark
                sets += 1
        if number_tied == 0 or (sets > best if prefer_high_cardinality else sets < best):
            best = sets
            number_tied = 0
        if sets == best:
            tied[number_tied] = attribute
            number_tied += 1
    return number_tied


@njit(cache=True)
def _sort_range(
    rows: tuple[NDArray[Any], ...],
    spare: tuple[NDArray[Any], ...],
    start: int,
    stop: int,
    attribute: int,
    positions: NDArray[np.int64],
) -> None:
    """Sort rows start:stop by one attribute, stably and in place.

    ``rows`` is (codes, counts, origins), ``spare`` is scratch. A counting sort over the codes that occur. ``positions``
    int64 (more than the largest code,) is 0 before and after. Time grows with the range, and d log d in its d distinct
    codes.
    """
    codes, counts, origins = rows
    spare_codes, spare_counts, spare_origins = spare
    distinct = 0
    for row in range(start, stop):
        code = codes[row, attribute]
        if positions[code] == 0:
            spare_origins[start + distinct] = code
            distinct += 1
        positions[code] += 1
    values = np.sort(spare_origins[start : start + distinct])
    position = start
    for value in values:
        size = positions[value]
        positions[value] = position
        position += size
    for row in range(start, stop):
        position = positions[codes[row, attribute]]
        positions[codes[row, attribute]] += 1
        copy_row(codes, row, spare_codes, position)
        spare_counts[position] = counts[row]
        spare_origins[position] = origins[row]
    for value in values:
        positions[value] = 0
    for row in range(start, stop):
        copy_row(spare_codes, row, codes, row)
        counts[row] = spare_counts[row]
        origins[row] = spare_origins[row]


@njit(cache=True)
def _analyze_set(
    rows: tuple[NDArray[Any], ...],
    spare: tuple[NDArray[Any], ...],
    stop: int,
    limits: tuple[int, int, bool],
    offsets: NDArray[np.int64],
    stamps: NDArray[np.int64],
    positions: NDArray[np.int64],
    hit: NDArray[np.bool_],
    start: int,
    work: NDArray[np.int64],
) -> tuple[NDArray[Any], ...]:
    """Analyze-set (Figure 4) on rows start:stop, with an explicit stack.

    ``limits`` is (k, indifferent, prefer_high_cardinality). Sets ``hit[origin]`` for each identified row and returns
    (pattern codes (p, q), records of each (p, 1)). A frame is a range, its tied attributes, the one in use and the
    next part. ``work`` int64 (2,) has the row visits left for ties and the sets whose ties were cut; both change.
    """
    codes, counts, origins = rows
    k, indifferent, prefer_high_cardinality = limits
    width = codes.shape[1]
    pattern_codes = np.empty((64, width), np.int32)
    pattern_found = np.empty((64, 1), np.int64)
    number = 0
    slots = np.zeros(129, np.int64)
    visited = np.empty((64, width), np.int32)
    pattern = np.empty(width, np.int32)
    # Every frame fixes one more attribute than the frame below it, so the stack is at most q + 1 high.
    ranges = np.empty((width + 2, 3), np.int64)
    tied = np.empty((width + 2, width), np.int32)
    tied_number = np.zeros(width + 2, np.int64)
    tied_at = np.zeros(width + 2, np.int64)
    # Two paths reach the same set only below a tie: this is the height of the lowest frame that has one.
    no_tie = width + 2
    lowest_tie = no_tie
    height = 0
    first, last = start, stop
    while True:
        # Enter the set first:last: it is a pattern, or a new frame.
        differing = anti_unify(codes, first, last, pattern)
        work[0] -= last - first
        is_new = True
        if lowest_tie < no_tie:
            if 2 * (slots[-1] + 1) >= len(slots) - 1:
                slots = rehash(visited, slots[-1], 2 * (len(slots) - 1))
                if 2 * len(visited) < len(slots):
                    visited = enlarge(visited, 2 * len(visited))
            is_new = first_visit(slots, visited, pattern)
        if is_new and differing <= indifferent and differing < width:
            if number == len(pattern_found):
                pattern_codes = enlarge(pattern_codes, 2 * number)
                pattern_found = enlarge(pattern_found, 2 * number)
            for attribute in range(width):
                pattern_codes[number, attribute] = pattern[attribute]
            pattern_found[number, 0] = 0
            for row in range(first, last):
                pattern_found[number, 0] += counts[row]
                hit[origins[row]] = True
            number += 1
        elif is_new and differing > 0:
            ranges[height, 0], ranges[height, 1], ranges[height, 2] = first, last, last
            tied_at[height] = -1
            tied_number[height] = _tied_attributes(
                codes, first, last, pattern, prefer_high_cardinality, stamps, offsets, tied[height]
            )
            if tied_number[height] > 1 and work[0] < 0:
                tied_number[height] = 1
                work[1] += 1
            if tied_number[height] > 1 and lowest_tie == no_tie:
                lowest_tie = height
                slots = np.zeros(129, np.int64)
            height += 1
        # Find the next part of at least k records in the highest frame that has one.
        entered = False
        while height > 0 and not entered:
            top = height - 1
            if ranges[top, 2] == ranges[top, 1]:
                tied_at[top] += 1
                if tied_at[top] == tied_number[top]:
                    height -= 1
                    if lowest_tie == height:
                        lowest_tie = no_tie
                    continue
                ranges[top, 2] = ranges[top, 0]
                _sort_range(rows, spare, ranges[top, 0], ranges[top, 1], tied[top, tied_at[top]], positions)
            attribute = tied[top, tied_at[top]]
            first = ranges[top, 2]
            last = first
            records = 0
            while last < ranges[top, 1] and codes[last, attribute] == codes[first, attribute]:
                records += counts[last]
                last += 1
            ranges[top, 2] = last
            entered = records >= k
        if not entered:
            return pattern_codes[:number], pattern_found[:number]


@njit(cache=True)
def _search(
    codes: NDArray[np.int32],
    classes: NDArray[np.int32],
    counts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    k: int,
    indifferent: int,
    prefer_high_cardinality: NDArray[np.bool_],
    work: NDArray[np.int64],
) -> tuple[NDArray[Any], ...]:
    """Anonymize and Analyze-partition (Figures 1 and 3), class by class.

    Rows are sorted by class; ``codes`` and ``counts`` are reordered. Classes are independent of each other: in each, a
    pass
    is repeated on the records it left until it identifies no more, then comes the next pass. Returns the patterns'
    codes
    (P, q), their classes, records and passes (P, 3), and the pass of each row (n,).
    """
    size, width = codes.shape
    identified = np.full(size, DISCARDED, np.int8)
    all_codes = np.empty((64, width), np.int32)
    all_columns = np.empty((64, 3), np.int64)
    number = 0
    widest = 1
    for attribute in range(width):
        widest = max(widest, offsets[attribute + 1] - offsets[attribute])
    origins = np.arange(size)
    rows = (codes, counts, origins)
    spare = (np.empty_like(codes), np.empty_like(counts), np.empty_like(origins))
    stamps = np.zeros(offsets[-1] + 1, np.int64)
    positions = np.zeros(widest, np.int64)
    hit = np.zeros(size, np.bool_)
    start = 0
    while start < size and width > 0:
        end = start
        while end < size and classes[end] == classes[start]:
            end += 1
        stop = end
        for turn in range(len(prefer_high_cardinality)):
            while stop > start and counts[start:stop].sum() >= k:
                limits = (k, indifferent, prefer_high_cardinality[turn])
                new_codes, new_found = _analyze_set(
                    rows, spare, stop, limits, offsets, stamps, positions, hit, start, work
                )
                if len(new_found) == 0:
                    break
                while number + len(new_found) > len(all_codes):
                    all_codes = enlarge(all_codes, 2 * len(all_codes))
                    all_columns = enlarge(all_columns, 2 * len(all_columns))
                for row in range(len(new_found)):
                    copy_row(new_codes, row, all_codes, number)
                    all_columns[number, 0] = classes[start]
                    all_columns[number, 1] = new_found[row, 0]
                    all_columns[number, 2] = turn
                    number += 1
                remaining = start
                for row in range(start, stop):
                    if hit[origins[row]]:
                        identified[origins[row]] = turn
                    else:
                        copy_row(codes, row, codes, remaining)
                        counts[remaining] = counts[row]
                        origins[remaining] = origins[row]
                        remaining += 1
                stop = remaining
        start = end
    return all_codes[:number], all_columns[:number], identified
