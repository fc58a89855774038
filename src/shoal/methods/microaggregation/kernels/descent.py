"""Descent from a partition that meets a model to one that meets it with less loss.

Each record tries to move to the group of one of its nearest records, or to change places with a record of such a
group; the best change that lowers SSE and keeps the model is made. Then groups are dissolved into their
neighbours where that pays, and large groups are split. This is repeated until nothing changes.
"""

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import Judge, add_row, holds, shortfall
from shoal.methods.microaggregation.kernels.partition import (
    cost_of_joining,
    cost_of_swapping,
    gain_of_leaving,
    move,
    short_after_move,
    short_after_swap,
    swap,
    take_free,
    to_centroid,
)

NEAR_RECORDS = 16

_IMPROVES = -1e-10  # a change must lower SSE by more than rounding errors, or descent might never end
_MOST_PARTNERS = 64  # partners tried for a swap in one group, so that large groups cost no more than this


@njit(**INNER)
def _near_groups(partition, near, row, found):
    """The groups of a record's nearest records other than its own, into `found`; how many."""
    used = 0
    for i in range(near.shape[1]):
        g = partition.group[near[row, i]]
        if g == partition.group[row]:
            continue
        known = False
        for j in range(used):
            known |= found[j] == g
        if not known:
            found[used] = g
            used += 1
    return used


@njit(**INNER)
def _best_swap(partition, judge, row, target, best):
    """The record of `target` to change places with: (gain, record), record -1 where none is better than `best`."""
    partner = -1
    other = partition.head[target]
    for _ in range(min(_MOST_PARTNERS, partition.sizes[target])):
        cost = cost_of_swapping(partition, row, other)
        if cost < best:
            short_here, short_there = short_after_swap(partition, judge, row, other)
            if short_here == 0.0 and short_there == 0.0:
                best, partner = cost, other
        other = partition.after[other]
    return best, partner


@njit(**INNER)
def _wake(partition, near, g, awake):
    """The records of a changed group, and those near them, may have better places now."""
    row = partition.head[g]
    for _ in range(partition.sizes[g]):
        awake[row] = True
        for i in range(min(8, near.shape[1])):
            awake[near[row, i]] = True
        row = partition.after[row]


@njit(**INNER)
def _improve_record(partition, judge, near, row, found):
    """Make the best move or swap of a record; returns the other group, or -1 where nothing is better."""
    source = partition.group[row]
    best, target, partner = _IMPROVES, -1, -1
    may_leave = partition.sizes[source] > judge.rules.least[0]
    leaving = gain_of_leaving(partition, row) if may_leave else 0.0
    for i in range(_near_groups(partition, near, row, found)):
        g = found[i]
        if may_leave:
            cost = cost_of_joining(partition, row, g) - leaving
            if cost < best:
                short_here, short_there = short_after_move(partition, judge, row, g)
                if short_here == 0.0 and short_there == 0.0:
                    best, target, partner = cost, g, -1
        cost, other = _best_swap(partition, judge, row, g, best)
        if other >= 0:
            best, target, partner = cost, g, other
    if partner >= 0:
        swap(partition, row, partner)
    elif target >= 0:
        move(partition, row, target)
    return target


@njit(**INNER)
def _improve_records(partition, judge, near, awake):
    """One pass of moves and swaps over the records that are awake; returns how many changed."""
    found = np.empty(max(1, near.shape[1]), np.int64)
    changes = 0
    for row in range(len(awake)):
        if awake[row]:
            awake[row] = False
            source = partition.group[row]
            target = _improve_record(partition, judge, near, row, found)
            if target >= 0:
                _wake(partition, near, source, awake)
                _wake(partition, near, target, awake)
                changes += 1
    return changes


@njit(**INNER)
def cost_of_dissolving(partition, near, g, members, origin):
    """Dissolve a group into the groups of its records' nearest records, one record after the other.

    members and origin, int64, at least as long as the group: its records (overwritten); the result is what SSE
    gains, or infinity, and then nothing has changed, where a record has no near group to go to.
    """
    size = partition.sizes[g]
    gain, cost = 0.0, 0.0
    row = partition.head[g]
    for i in range(size):
        members[i] = row
        origin[i] = g
        gain += to_centroid(partition, row, g)
        row = partition.after[row]
    for i in range(size):
        row = members[i]
        least, target = np.inf, -1
        for j in range(near.shape[1]):
            other = partition.group[near[row, j]]
            if other != g:
                joining = cost_of_joining(partition, row, other)
                if joining < least:
                    least, target = joining, other
        if target < 0:
            put_back(partition, members, origin, i)
            return np.inf
        cost += least
        move(partition, row, target)
    return cost - gain


@njit(**INNER)
def put_back(partition, members, origin, count):
    """Undo moves: the first `count` members return to their groups of origin, the last one first."""
    for i in range(count - 1, -1, -1):
        g = origin[i]
        if partition.sizes[g] == 0:
            take_free(partition)  # it is g: the group that was emptied last is on top of the stack
        move(partition, members[i], g)


@njit(**INNER)
def settle_targets(partition, judge, targets, count):
    """Set the shortfalls of the groups that records have joined; whether all of them meet the model."""
    good = True
    for i in range(count):
        g = targets[i]
        partition.short[g] = shortfall(judge, partition.sizes[g], partition.histograms[g])
        good &= partition.short[g] == 0.0
    return good


@njit(**INNER)
def _dissolve_groups(partition, judge, near, awake):
    """Dissolve each group where that lowers SSE and keeps the model; returns how many were."""
    longest = partition.sizes.max() + 1
    members = np.empty(longest, np.int64)
    origin = np.empty(longest, np.int64)
    targets = np.empty(longest, np.int64)
    dissolved = 0
    for g in range(len(partition.sizes)):
        size = partition.sizes[g]
        if size == 0 or size >= min(longest, 4 * judge.rules.least[0] + 8):
            continue
        cost = cost_of_dissolving(partition, near, g, members, origin)
        if cost == np.inf:
            continue
        for i in range(size):
            targets[i] = partition.group[members[i]]
        if settle_targets(partition, judge, targets, size) and cost < _IMPROVES:
            dissolved += 1
            for i in range(size):
                awake[members[i]] = True
                for j in range(near.shape[1]):
                    awake[near[members[i], j]] = True
        else:
            put_back(partition, members, origin, size)
            settle_targets(partition, judge, targets, size)
    return dissolved


@njit(**INNER)
def _sort_by_distance(points, members, size, centre):
    """Sort the first `size` members by squared distance to the record `centre`, by merging runs (stable)."""
    distance = np.zeros(size)
    for i in range(size):
        for j in range(points.shape[1]):
            step = points[members[i], j] - points[centre, j]
            distance[i] += step * step
    old, new = np.arange(size), np.empty(size, np.int64)
    run = 1
    while run < size:
        for start in range(0, size, 2 * run):
            left, right = start, min(start + run, size)
            middle, stop = right, min(start + 2 * run, size)
            for place in range(start, stop):
                if right >= stop or (left < middle and distance[old[left]] <= distance[old[right]]):
                    new[place] = old[left]
                    left += 1
                else:
                    new[place] = old[right]
                    right += 1
        old, new = new, old
        run *= 2
    unsorted = members[:size].copy()
    for i in range(size):
        members[i] = unsorted[old[i]]


@njit(**INNER)
def _split_off(partition, judge, g, members):
    """How many of the members, nearest to the outermost first, can form a group while the others keep the model.

    members : int64, overwritten with the records of g, the outermost first, then by distance to it. 0 where the
    group cannot be split so.
    """
    size = partition.sizes[g]
    row = partition.head[g]
    outermost, widest = row, -1.0
    for i in range(size):
        members[i] = row
        distance = to_centroid(partition, row, g)
        if distance > widest:
            outermost, widest = row, distance
        row = partition.after[row]
    _sort_by_distance(partition.points, members, size, outermost)
    rest = partition.histograms[g].copy()
    part = np.zeros_like(rest)
    least = judge.rules.least[0]
    for i in range(size - least):
        add_row(rest, partition.columns, members[i], -1)
        add_row(part, partition.columns, members[i], 1)
        if holds(judge, i + 1, part):
            return i + 1 if holds(judge, size - i - 1, rest) else 0
    return 0


@njit(**INNER)
def _split_groups(partition, judge, awake):
    """Split groups of at least 2k records where both parts meet the model (SSE never rises); how many were."""
    members = np.empty(partition.sizes.max() + 1, np.int64)
    split = 0
    for g in range(len(partition.sizes)):
        while partition.sizes[g] >= 2 * max(1, judge.rules.least[0]):
            leaving = _split_off(partition, judge, g, members)
            new = take_free(partition) if leaving > 0 else -1
            if new < 0:
                break
            size = partition.sizes[g]
            for i in range(leaving):
                move(partition, members[i], new)
            for i in range(size):
                awake[members[i]] = True
            split += 1
    return split


@njit(**FROM_PYTHON)
def descend_partition(partition, judge, near, most_passes):
    """Improve a partition in which every group meets the model, in place. Cost: n k d near a pass."""
    awake = np.ones(len(partition.group), np.bool_)
    for _ in range(most_passes):
        changes = _improve_records(partition, judge, near, awake)
        changes += _dissolve_groups(partition, judge, near, awake)
        changes += _split_groups(partition, judge, awake)
        if changes == 0:
            break


def most_groups_by_size(judge: Judge, records: int) -> int:
    """Room for the groups that a minimum size allows."""
    return records // max(1, int(judge.rules.least[0])) + 1
