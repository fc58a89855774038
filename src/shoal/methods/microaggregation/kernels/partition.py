"""A partition that changes record by record, with all that its loss and its model need kept up to date.

The loss is the within-group sum of squares, SSE. What a change would do to it follows from the groups' sums and
sizes alone: moving x from a group of size s with centroid c takes away s/(s-1) |x - c|², adding it to another one
adds s/(s+1) |x - c|² (Späth, "Cluster analysis algorithms", 1980).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import Judge, add_row, count_rows, shortfall
from shoal.methods.microaggregation.kernels.kdtree import KdTree, build_tree, make_scratch, nearest
from shoal.methods.microaggregation.kernels.unassigned import column_sums
from shoal.runtime.threads import allowed, spread


class Partition(NamedTuple):
    """The groups of the n records of a table; groups without records are free to be used.

    points : float64 (n, d);  columns : int32 (n, s), the rules' columns of the sensitive values
    group : int32 (n,)
    sizes : int64 (G,);  sums : float64 (G, d);  histograms : int64 (G, columns)
    short : float64 (G,), each group's shortfall from the model
    head : int32 (G,), some record of each group, -1 if it has none
    after, before : int32 (n,), each group as a ring of records
    free : int64 (G + 1,), a stack of the groups without records; the last element is its height
    """

    points: np.ndarray
    columns: np.ndarray
    group: np.ndarray
    sizes: np.ndarray
    sums: np.ndarray
    histograms: np.ndarray
    short: np.ndarray
    head: np.ndarray
    after: np.ndarray
    before: np.ndarray
    free: np.ndarray


def make_partition(
    points: np.ndarray, columns: np.ndarray, judge: Judge, group: np.ndarray, capacity: int
) -> Partition:
    """A partition with room for `capacity` groups (or as many as `group` has). Cost: n (d + s)."""
    records, attributes = points.shape
    capacity = max(capacity, int(group.max(initial=-1)) + 1)
    sizes, histograms = count_rows(columns, group, capacity, judge.rules.offsets[-1])
    partition = Partition(
        points=points,
        columns=columns,
        group=group.astype(np.int32),
        sizes=sizes,
        sums=np.zeros((capacity, attributes)),
        histograms=histograms,
        short=np.zeros(capacity),
        head=np.full(capacity, -1, np.int32),
        after=np.zeros(records, np.int32),
        before=np.zeros(records, np.int32),
        free=np.zeros(capacity + 1, np.int64),
    )
    _describe(partition, judge)
    return partition


@njit(**FROM_PYTHON)
def _describe(partition, judge):
    """Fill what follows from the groups: sums, shortfalls, rings and the stack of free groups."""
    for row in range(len(partition.group)):
        _link(partition, row, partition.group[row])
        for j in range(partition.points.shape[1]):
            partition.sums[partition.group[row], j] += partition.points[row, j]
    for g in range(len(partition.sizes) - 1, -1, -1):
        if partition.sizes[g] == 0:
            _push_free(partition.free, g)
        else:
            partition.short[g] = shortfall(judge, partition.sizes[g], partition.histograms[g])


@njit(**INNER)
def _push_free(free, g):
    """Put a group on the stack of free groups."""
    free[free[-1]] = g
    free[-1] += 1


@njit(**INNER)
def take_free(partition):
    """A group without records, or -1 where none is free."""
    free = partition.free
    if free[-1] == 0:
        return -1
    free[-1] -= 1
    g = free[free[-1]]
    partition.sums[g] = 0.0
    return g


@njit(**INNER)
def _link(partition, row, g):
    """Put a record into the ring of a group."""
    head, after, before = partition.head, partition.after, partition.before
    if head[g] < 0:
        head[g] = after[row] = before[row] = row
    else:
        follower = head[g]
        last = before[follower]
        after[last], before[row] = row, last
        after[row], before[follower] = follower, row


@njit(**INNER)
def _unlink(partition, row, g):
    """Take a record out of the ring of a group."""
    head, after, before = partition.head, partition.after, partition.before
    if after[row] == row:
        head[g] = -1
    else:
        after[before[row]], before[after[row]] = after[row], before[row]
        if head[g] == row:
            head[g] = after[row]


@njit(**INNER)
def move(partition, row, target):
    """Move a record to a group; the shortfalls of both groups are left for the caller to set."""
    source = partition.group[row]
    _unlink(partition, row, source)
    _link(partition, row, target)
    partition.group[row] = target
    partition.sizes[source] -= 1
    partition.sizes[target] += 1
    for j in range(partition.points.shape[1]):
        partition.sums[source, j] -= partition.points[row, j]
        partition.sums[target, j] += partition.points[row, j]
    add_row(partition.histograms[source], partition.columns, row, -1)
    add_row(partition.histograms[target], partition.columns, row, 1)
    if partition.sizes[source] == 0:
        partition.short[source] = 0.0
        _push_free(partition.free, source)


@njit(**INNER)
def swap(partition, row, other):
    """Let two records of different groups change places; shortfalls are left for the caller to set."""
    a, b = partition.group[row], partition.group[other]
    move(partition, row, b)
    if partition.sizes[a] == 0:
        take_free(partition)  # it is a, which is about to get a record again
    move(partition, other, a)


@njit(**INNER)
def to_centroid(partition, row, g):
    """Squared distance from a record to the centroid of a group with records."""
    points, sums = partition.points, partition.sums
    share = 1.0 / partition.sizes[g]
    total = 0.0
    for j in range(points.shape[1]):
        step = points[row, j] - sums[g, j] * share
        total += step * step
    return total


@njit(**INNER)
def cost_of_joining(partition, row, g):
    """What SSE gains when a record that is in no group joins g."""
    size = partition.sizes[g]
    return size / (size + 1.0) * to_centroid(partition, row, g) if size > 0 else 0.0


@njit(**INNER)
def gain_of_leaving(partition, row):
    """What SSE loses when a record leaves its group, which has others."""
    size = partition.sizes[partition.group[row]]
    return size / (size - 1.0) * to_centroid(partition, row, partition.group[row])


@njit(**INNER)
def cost_of_swapping(partition, row, other):
    """What SSE gains when two records of different groups change places."""
    points, sums = partition.points, partition.sums
    a, b = partition.group[row], partition.group[other]
    share_a, share_b = 1.0 / partition.sizes[a], 1.0 / partition.sizes[b]
    dot = square = 0.0
    for j in range(points.shape[1]):
        step = points[other, j] - points[row, j]
        dot += step * (sums[b, j] * share_b - sums[a, j] * share_a)
        square += step * step
    return 2.0 * dot - square * (share_a + share_b)


@njit(**INNER)
def short_after_move(partition, judge, row, target):
    """The shortfalls of a record's group and of `target` if it moved there: (source, target)."""
    source = partition.group[row]
    here, there = partition.histograms[source], partition.histograms[target]
    add_row(here, partition.columns, row, -1)
    add_row(there, partition.columns, row, 1)
    short_source = 0.0
    if partition.sizes[source] > 1:
        short_source = shortfall(judge, partition.sizes[source] - 1, here)
    short_target = shortfall(judge, partition.sizes[target] + 1, there)
    add_row(here, partition.columns, row, 1)
    add_row(there, partition.columns, row, -1)
    return short_source, short_target


@njit(**INNER)
def short_after_swap(partition, judge, row, other):
    """The shortfalls of two records' groups if they changed places: (group of row, group of other)."""
    a, b = partition.group[row], partition.group[other]
    columns = partition.columns
    same = True
    for attribute in range(columns.shape[1]):
        same &= columns[row, attribute] == columns[other, attribute]
    if same:
        return partition.short[a], partition.short[b]
    here, there = partition.histograms[a], partition.histograms[b]
    add_row(here, columns, row, -1)
    add_row(here, columns, other, 1)
    add_row(there, columns, other, -1)
    add_row(there, columns, row, 1)
    short_here = shortfall(judge, partition.sizes[a], here)
    short_there = shortfall(judge, partition.sizes[b], there)
    add_row(here, columns, row, 1)
    add_row(here, columns, other, -1)
    add_row(there, columns, other, 1)
    add_row(there, columns, row, -1)
    return short_here, short_there


@njit(**FROM_PYTHON)
def number_by_first_record(group, capacity):
    """The groups numbered from 0 in the order of their first records, int32 (n,)."""
    number = np.full(capacity, -1, np.int32)
    result = np.empty(len(group), np.int32)
    used = 0
    for row in range(len(group)):
        if number[group[row]] < 0:
            number[group[row]] = used
            used += 1
        result[row] = number[group[row]]
    return result


@njit(**FROM_PYTHON)
def within_squares(points, group, groups):
    """SSE of a partition; the means are computed first, so there is no cancellation. Cost: n d."""
    sums = np.zeros((groups, points.shape[1]))
    sizes = np.zeros(groups, np.int64)
    for row in range(len(group)):
        sizes[group[row]] += 1
        for j in range(points.shape[1]):
            sums[group[row], j] += points[row, j]
    total = 0.0
    for row in range(len(group)):
        for j in range(points.shape[1]):
            step = points[row, j] - sums[group[row], j] / sizes[group[row]]
            total += step * step
    return total


@njit(**FROM_PYTHON)
def _nearest_others(points, tree, rows, scratch, near):
    """The nearest other records of some rows, into `near`."""
    wanted = near.shape[1]
    for row in rows:
        found = nearest(tree, points[row], wanted + 1, scratch)
        used = 0
        for i in range(found):
            if scratch.row[i] != row and used < wanted:
                near[row, used] = scratch.row[i]
                used += 1


def nearest_records(points: np.ndarray, wanted: int) -> np.ndarray:
    """The nearest other records of each record by (distance, row), int32 (n, min(wanted, n - 1)), on all threads.

    Cost: n log n in practice for few attributes.
    """
    records = len(points)
    near = np.empty((records, max(0, min(wanted, records - 1))), np.int32)
    if near.shape[1]:
        rows = np.arange(records, dtype=np.int32)
        tree: KdTree = build_tree(points, rows, column_sums(points) / records)
        # rows are in the order of the leaves now: those that follow each other look at the same part of the tree
        spread(
            lambda part: _nearest_others(points, tree, part, make_scratch(near.shape[1] + 1), near),
            np.array_split(rows, allowed()),
        )
    return near
