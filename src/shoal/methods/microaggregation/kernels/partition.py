"""A partition that changes record by record, with incremental statistics.

The loss is the within-group sum of squares, SSE. Its change follows from the groups' sums and sizes alone: removing x
from a group of size s with centroid c subtracts s/(s-1) |x - c|², adding it to another one adds s/(s+1) |x - c|²
(Späth, "Cluster analysis algorithms", 1980).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import RuleEvaluator, add_row, count_rows, shortfall
from shoal.methods.microaggregation.kernels.kdtree import KdTree, build_tree, make_query_scratch, nearest
from shoal.methods.microaggregation.kernels.unassigned import column_sums
from shoal.runtime.threads import parallel_map, thread_limit


class Partition(NamedTuple):
    """The groups of the n records of a table; empty groups are free for use.

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
    points: np.ndarray, columns: np.ndarray, judge: RuleEvaluator, group: np.ndarray, capacity: int
) -> Partition:
    """Build a partition with capacity for `capacity` groups.

    At least for those of `group`. Cost: n (d + s).
    """
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
    """Compute sums, shortfalls, rings and the stack of free groups."""
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
    """Push a group onto the stack of free groups."""
    free[free[-1]] = g
    free[-1] += 1


@njit(**INNER)
def pop_free_group(partition):
    """Pop a group without records; -1 where none is free."""
    free = partition.free
    if free[-1] == 0:
        return -1
    free[-1] -= 1
    g = free[free[-1]]
    partition.sums[g] = 0.0
    return g


@njit(**INNER)
def _link(partition, row, g):
    """Insert a record into the ring of a group."""
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
    """Remove a record from the ring of a group."""
    head, after, before = partition.head, partition.after, partition.before
    if after[row] == row:
        head[g] = -1
    else:
        after[before[row]], before[after[row]] = after[row], before[row]
        if head[g] == row:
            head[g] = after[row]


@njit(**INNER)
def move(partition, row, target):
    """Move a record to a group; the caller sets the shortfalls of both groups."""
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
    """Swap two records of different groups; the caller sets the shortfalls."""
    a, b = partition.group[row], partition.group[other]
    move(partition, row, b)
    if partition.sizes[a] == 0:
        pop_free_group(partition)  # this is a, which gets a record again at once
    move(partition, other, a)


@njit(**INNER)
def to_centroid(partition, row, g):
    """Return the squared distance from a record to a group's centroid."""
    points, sums = partition.points, partition.sums
    share = 1.0 / partition.sizes[g]
    total = 0.0
    for j in range(points.shape[1]):
        step = points[row, j] - sums[g, j] * share
        total += step * step
    return total


@njit(**INNER)
def cost_of_joining(partition, row, g):
    """Return the rise of SSE when an unassigned record joins g."""
    size = partition.sizes[g]
    return size / (size + 1.0) * to_centroid(partition, row, g) if size > 0 else 0.0


@njit(**INNER)
def gain_of_leaving(partition, row):
    """Return the fall of SSE when a record leaves its group of several."""
    size = partition.sizes[partition.group[row]]
    return size / (size - 1.0) * to_centroid(partition, row, partition.group[row])


@njit(**INNER)
def cost_of_swapping(partition, row, other):
    """Return the rise of SSE when two records of different groups swap."""
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
    """Return the shortfalls after a move to `target`: (source, target)."""
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
    """Return the shortfalls after a swap: (group of row, group of other)."""
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
    """Number the groups from 0 by their first records, int32 (n,)."""
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
    """Compute the SSE of a partition. Cost: n d.

    The means are computed first, so there is no cancellation.
    """
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
    """Write the nearest other records of some rows into `near`."""
    wanted = near.shape[1]
    for row in rows:
        found = nearest(tree, points[row], wanted + 1, scratch)
        used = 0
        for i in range(found):
            if scratch.row[i] != row and used < wanted:
                near[row, used] = scratch.row[i]
                used += 1


def nearest_records(points: np.ndarray, wanted: int) -> np.ndarray:
    """Return the nearest other records of each record, on all threads.

    By (distance, row), int32 (n, min(wanted, n - 1)). Cost: n log n in practice for few attributes.
    """
    records = len(points)
    near = np.empty((records, max(0, min(wanted, records - 1))), np.int32)
    if near.shape[1]:
        rows = np.arange(records, dtype=np.int32)
        tree: KdTree = build_tree(points, rows, column_sums(points) / records)
        # rows are in leaf order now: consecutive rows visit the same part of the tree
        parallel_map(
            lambda part: _nearest_others(points, tree, part, make_query_scratch(near.shape[1] + 1), near),
            np.array_split(rows, thread_limit()),
        )
    return near
