"""Roll-ups along a lattice: groups of a node from those of a finer one.

A table of groups is a matrix of codes, int32 (a, m), at the levels of some node, and their counts, int64 (m,). To roll
it up to a coarser node, every code is replaced by a look-up, and the counts of rows that become equal are added. The
cost depends on the groups of the finer node, never on the rows of the data.

Look-ups are stored flat: `lift[at[a, from, to] + code]` is the code at level `to` of a code at level `from` of
attribute a, and `size[a, level]` is the number of codes.

LeFevre, DeWitt and Ramakrishnan, "Incognito: efficient full-domain k-anonymity", 2005, section 3.2 (roll-up).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

MAX_KEY = np.int64(2**62)
MAX_DENSE_KEYS = 1 << 20  # up to this number of possible keys a direct table is cheaper than hashing


class Lifts(NamedTuple):
    """The hierarchies of all attributes as flat look-ups.

    lift : int32, all look-ups one after the other
    at : int64 (attributes, levels, levels), the start of the look-up from one level to another
    size : int64 (attributes, levels), the number of codes
    """

    lift: np.ndarray
    at: np.ndarray
    size: np.ndarray


class RollScratch(NamedTuple):
    """Working memory of a roll-up of up to m rows.

    dense : int32 (DENSE,) and slots : int32 (a power of two, at least 2 m), zero between calls
    keys, first : int64 (m,), and group : int64 (m,), overwritten
    """

    dense: np.ndarray
    slots: np.ndarray
    keys: np.ndarray
    first: np.ndarray
    group: np.ndarray


def make_lifts(levels: list[list[np.ndarray]]) -> Lifts:
    """Build look-ups from the codes of each attribute at each level.

    `levels[a][l]` is the code at level l of each code at level 0 of attribute a.
    """
    depth = max(len(codes) for codes in levels)
    at = np.zeros((len(levels), depth, depth), np.int64)
    size = np.ones((len(levels), depth), np.int64)
    parts: list[np.ndarray] = []
    offset = 0
    for a, codes in enumerate(levels):
        for low, fine in enumerate(codes):
            size[a, low] = int(fine.max(initial=0)) + 1
            for high in range(low, len(codes)):
                step = np.zeros(size[a, low], np.int32)
                step[fine] = codes[high]
                at[a, low, high] = offset
                parts.append(step)
                offset += len(step)
    return Lifts(np.concatenate(parts), at, size)


def make_roll_scratch(rows: int) -> RollScratch:
    """Allocate working memory for roll-ups of up to `rows` rows."""
    slots = 16
    while slots < 2 * rows:
        slots *= 2
    rows = max(rows, 1)
    return RollScratch(
        np.zeros(MAX_DENSE_KEYS, np.int32),
        np.zeros(slots, np.int32),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
    )


@njit(cache=True, nogil=True)
def _number(rows, span, scratch):
    """Number keys by first appearance; return how many differ.

    The keys are scratch.keys[:rows], all in 0 to span - 1.
    Writes scratch.group, the number of each key, and scratch.first, the first row of each number.
    """
    dense, slots, keys, first, group = scratch
    groups = 0
    if span <= len(dense):
        for row in range(rows):
            found = dense[keys[row]]
            if found == 0:
                first[groups] = row
                groups += 1
                found = groups
                dense[keys[row]] = found
            group[row] = found - 1
        for g in range(groups):
            dense[keys[first[g]]] = 0
        return groups
    mask = np.int64(16)
    while mask < 2 * rows:
        mask *= 2
    mask -= 1
    for row in range(rows):
        slot = np.int64((np.uint64(keys[row]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
        while slots[slot] != 0 and keys[first[slots[slot] - 1]] != keys[row]:
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            first[groups] = row
            groups += 1
            slots[slot] = groups
        group[row] = slots[slot] - 1
    slots[: mask + 1] = 0
    return groups


@njit(cache=True, nogil=True)
def group_entries(codes, attributes, level, node, lifts, scratch):
    """Number the rows of a table by their codes lifted to a node.

    Uses the first `attributes` codes, lifted from `level` to `node`. Returns the number of groups; scratch.group has
    the group of each row, scratch.first the first row of each group. Cost: rows times the attributes that still have
    more than one code at `node`.
    """
    rows = codes.shape[1]
    keys = scratch.keys
    keys[:rows] = 0
    span = np.int64(1)
    for a in range(attributes):
        size = lifts.size[a, node[a]]
        if size == 1:
            continue
        if span > MAX_KEY // size:  # the product would overflow: replace the keys by their numbers
            span = np.int64(_number(rows, MAX_KEY, scratch))
            for row in range(rows):
                keys[row] = scratch.group[row]
        start = lifts.at[a, level[a], node[a]]
        for row in range(rows):
            keys[row] = keys[row] * size + lifts.lift[start + codes[a, row]]
        span *= size
    return _number(rows, span, scratch)


@njit(cache=True, nogil=True)
def roll_up(codes, counts, level, node, lifts, scratch, out_codes, out_counts):
    """Compute the groups of `node` from those of the finer `level`.

    Returns the number of groups.
    codes : int32 (a, m); counts : int64 (m,); level, node : int64 (a,), level <= node
    out_codes, out_counts : capacity for m rows, overwritten; the groups are in order of first appearance.
    """
    attributes, rows = codes.shape
    groups = group_entries(codes, attributes, level, node, lifts, scratch)
    out_counts[:groups] = 0
    for row in range(rows):
        out_counts[scratch.group[row]] += counts[row]
    for a in range(attributes):
        start = lifts.at[a, level[a], node[a]]
        for g in range(groups):
            out_codes[a, g] = lifts.lift[start + codes[a, scratch.first[g]]]
    return groups


@njit(cache=True, nogil=True)
def count_people(counts, least, max_rows, combination, person, member, last, people):
    """Count the people of each group of a node, where that decides anything.

    Returns whether it counted.
    counts : int64 (g,), the groups' rows; max_rows : the largest number of rows of one person
    combination, person : int32 (pairs,), the distinct pairs of a person and a combination, ordered by person
    member : int32, the group of each combination
    last : int32 (g or more,) and people : int64 (g or more,), overwritten. If the number of rows alone decides for
        every
    group whether it has enough people, `people` is set to 0 or `least`.

    The pairs are ordered by person, so a person is already counted in a group if and only if it was the last one seen
    there: one pass, no sort.
    """
    groups = len(counts)
    open_groups = 0
    for g in range(groups):
        if counts[g] >= least and counts[g] < least * max_rows:
            open_groups += 1
        people[g] = least if counts[g] >= least else 0
    if open_groups == 0:
        return False
    people[:groups] = 0
    last[:groups] = -1
    for pair in range(len(person)):
        g = member[combination[pair]]
        if last[g] != person[pair]:
            last[g] = person[pair]
            people[g] += 1
    return True


@njit(cache=True, nogil=True)
def released_figures(codes, counts, people, node, least, cost, cost_at, sums):
    """Compute the figures of a node after suppressing small groups.

    Groups must have at least `least` people.
    counts, people : int64 (g,), the groups' rows and people, the same where every row belongs to another person
    cost : float64, flat; `cost[cost_at[a, level] + code]` is the loss of a row in attribute a
    sums : float64 (a,), overwritten with the loss of the remaining rows per attribute
    Returns suppressed rows, remaining groups, the sum of squares of remaining sizes, and that of all sizes.
    """
    attributes = len(sums)
    sums[:] = 0.0
    suppressed = np.int64(0)
    groups = 0
    squares = 0.0
    all_squares = 0.0
    for g in range(len(counts)):
        size = counts[g]
        all_squares += float(size) * float(size)
        if people[g] < least:
            suppressed += size
            continue
        groups += 1
        squares += float(size) * float(size)
        for a in range(attributes):
            sums[a] += size * cost[cost_at[a, node[a]] + codes[a, g]]
    return suppressed, groups, squares, all_squares


@njit(cache=True, nogil=True)
def next_open(order, position, tag, bound, best):
    """Return the next undecided position in `order` from `position` on.

    Its node is neither decided (odd tag) nor excluded by its bound.
    """
    while position < len(order):
        node = order[position]
        if tag[node] & 1 == 0 and bound[node] < best:
            return position
        position += 1
    return position


@njit(cache=True, nogil=True)
def rising_path(node, shape, strides, tag, bound, best):
    """Return a path of flat indices from `node` upwards.

    Each step goes to the untagged neighbour of least bound, while that is below `best`.
    shape, strides : int64 (a,), in nodes; tag : int8 (nodes,); bound : float64 (nodes,)
    """
    attributes = len(shape)
    levels = np.empty(attributes, np.int64)
    rest = node
    longest = 1
    for a in range(attributes):
        levels[a] = rest // strides[a]
        rest %= strides[a]
        longest += shape[a] - 1 - levels[a]
    path = np.empty(longest, np.int64)
    path[0] = node
    length = 1
    while True:
        chosen = -1
        least = best
        for a in range(attributes):
            if levels[a] + 1 < shape[a]:
                neighbour = path[length - 1] + strides[a]
                if tag[neighbour] == 0 and bound[neighbour] < least:
                    chosen = a
                    least = bound[neighbour]
        if chosen < 0:
            return path[:length]
        levels[chosen] += 1
        path[length] = path[length - 1] + strides[chosen]
        length += 1


@njit(cache=True, nogil=True)
def tag_box(tag, low, high, strides, value, over):
    """Tag all nodes from `low` to `high` that have a tag of at most `over`.

    low, high : int64 (a,)
    """
    attributes = len(low)
    last = attributes - 1
    levels = low.copy()
    while True:
        node = 0
        for a in range(last):
            node += levels[a] * strides[a]
        for level in range(low[last], high[last] + 1):
            if tag[node + level * strides[last]] <= over:
                tag[node + level * strides[last]] = value
        a = last - 1
        while a >= 0:
            levels[a] += 1
            if levels[a] <= high[a]:
                break
            levels[a] = low[a]
            a -= 1
        if a < 0:
            return
