"""Descent from a partition that meets a model to one with less loss.

Each record tries to move to the group of one of its nearest records, or to swap with a record of such a group; the best
change that lowers SSE and keeps the model is made. Then groups are dissolved into their neighbours where that lowers
SSE, and large groups are split. This is repeated until nothing changes.
"""

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import RuleEvaluator, add_row, holds, shortfall
from shoal.methods.microaggregation.kernels.partition import (
    cost_of_joining,
    cost_of_swapping,
    gain_of_leaving,
    move,
    pop_free_group,
    short_after_move,
    short_after_swap,
    swap,
    to_centroid,
)

NEAR_RECORDS = 16

_MIN_IMPROVEMENT = -1e-10  # a change must lower SSE by more than rounding errors, so that descent ends
_MAX_PARTNERS = 64  # swap partners tried per group, to bound the cost of large groups


@njit(**INNER)
def _near_groups(partition, near, row, found):
    """Write the groups of a record's nearest records into `found`.

    Its own group is excluded. Returns their number.
    """
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
    """Return the best record of `target` to swap with: (gain, record).

    The record is -1 where none is better than `best`.
    """
    partner = -1
    other = partition.head[target]
    for _ in range(min(_MAX_PARTNERS, partition.sizes[target])):
        cost = cost_of_swapping(partition, row, other)
        if cost < best:
            short_here, short_there = short_after_swap(partition, judge, row, other)
            if short_here == 0.0 and short_there == 0.0:
                best, partner = cost, other
        other = partition.after[other]
    return best, partner


@njit(**INNER)
def _activate(partition, near, g, active):
    """Activate the records of a changed group and the records near them.

    They may have better groups now.
    """
    row = partition.head[g]
    for _ in range(partition.sizes[g]):
        active[row] = True
        for i in range(min(8, near.shape[1])):
            active[near[row, i]] = True
        row = partition.after[row]


@njit(**INNER)
def _improve_record(partition, judge, near, row, found):
    """Make the best move or swap of a record.

    Returns the other group, or -1 where nothing is better.
    """
    source = partition.group[row]
    best, target, partner = _MIN_IMPROVEMENT, -1, -1
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
def _improve_records(partition, judge, near, active):
    """Move or swap the active records once; return the number of changes."""
    found = np.empty(max(1, near.shape[1]), np.int64)
    changes = 0
    for row in range(len(active)):
        if active[row]:
            active[row] = False
            source = partition.group[row]
            target = _improve_record(partition, judge, near, row, found)
            if target >= 0:
                _activate(partition, near, source, active)
                _activate(partition, near, target, active)
                changes += 1
    return changes


@njit(**INNER)
def cost_of_dissolving(partition, near, g, members, origin):
    """Dissolve a group into those of its records' nearest records.

    Records are moved one after the other. members and origin, int64, at least as long as the group, are overwritten
    with
    its records and their group. Returns the rise of SSE, or infinity where a record has no near group to join; then
    nothing
    has changed.
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
            undo_moves(partition, members, origin, i)
            return np.inf
        cost += least
        move(partition, row, target)
    return cost - gain


@njit(**INNER)
def undo_moves(partition, members, origin, count):
    """Return the first `count` members to their origins, the last one first."""
    for i in range(count - 1, -1, -1):
        g = origin[i]
        if partition.sizes[g] == 0:
            pop_free_group(partition)  # it is g: the group that was emptied last is on top of the stack
        move(partition, members[i], g)


@njit(**INNER)
def update_shortfalls(partition, judge, targets, count):
    """Set the shortfalls of changed groups; return whether all are zero."""
    good = True
    for i in range(count):
        g = targets[i]
        partition.short[g] = shortfall(judge, partition.sizes[g], partition.histograms[g])
        good &= partition.short[g] == 0.0
    return good


@njit(**INNER)
def _dissolve_groups(partition, judge, near, active):
    """Dissolve groups where that lowers SSE and keeps the model.

    Returns the number of dissolved groups.
    """
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
        if update_shortfalls(partition, judge, targets, size) and cost < _MIN_IMPROVEMENT:
            dissolved += 1
            for i in range(size):
                active[members[i]] = True
                for j in range(near.shape[1]):
                    active[near[members[i], j]] = True
        else:
            undo_moves(partition, members, origin, size)
            update_shortfalls(partition, judge, targets, size)
    return dissolved


@njit(**INNER)
def _sort_by_distance(points, members, size, centre):
    """Sort the first `size` members by distance to the record `centre`.

    By squared distance, with a stable merge sort.
    """
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
            for position in range(start, stop):
                if right >= stop or (left < middle and distance[old[left]] <= distance[old[right]]):
                    new[position] = old[left]
                    left += 1
                else:
                    new[position] = old[right]
                    right += 1
        old, new = new, old
        run *= 2
    unsorted = members[:size].copy()
    for i in range(size):
        members[i] = unsorted[old[i]]


@njit(**INNER)
def _split_off(partition, judge, g, members):
    """Return how many members to split off; 0 where no split is possible.

    The members are those nearest to the outermost one; both parts must meet the model. members : int64, overwritten
    with
    the records of g, the outermost first, then by distance to it.
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
def _split_groups(partition, judge, active):
    """Split groups of at least 2k records where both parts meet the model.

    SSE never rises. Returns the number of splits.
    """
    members = np.empty(partition.sizes.max() + 1, np.int64)
    split = 0
    for g in range(len(partition.sizes)):
        while partition.sizes[g] >= 2 * max(1, judge.rules.least[0]):
            leaving = _split_off(partition, judge, g, members)
            new = pop_free_group(partition) if leaving > 0 else -1
            if new < 0:
                break
            size = partition.sizes[g]
            for i in range(leaving):
                move(partition, members[i], new)
            for i in range(size):
                active[members[i]] = True
            split += 1
    return split


@njit(**FROM_PYTHON)
def descend_partition(partition, judge, near, max_passes):
    """Improve a partition in which every group meets the model, in place.

    Cost: n k d near a pass.
    """
    active = np.ones(len(partition.group), np.bool_)
    for _ in range(max_passes):
        changes = _improve_records(partition, judge, near, active)
        changes += _dissolve_groups(partition, judge, near, active)
        changes += _split_groups(partition, judge, active)
        if changes == 0:
            break


def max_groups_by_size(judge: RuleEvaluator, records: int) -> int:
    """Return the capacity for the groups that a minimum size allows."""
    return records // max(1, int(judge.rules.least[0])) + 1
