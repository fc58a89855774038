"""Unassigned records, for methods that form one group after the other.

MDAV, CBFS and Algorithm 2 all query the record farthest from the centroid of the remaining records, or from a seed.
Such a record is nearly always among the outermost few per cent, so these are stored a second time in a small tree,
the fringe. Its answer is certain if it is farther away than any record inside the fringe can be, by the triangle
inequality; otherwise the whole tree is queried. Both trees are built again as records leave: the tree when half of
its records are gone, the fringe when it can no longer answer.

The centroid is a running sum divided by the count; records are subtracted in the order in which they leave.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.methods.microaggregation.kernels.kdtree import (
    LEAF,
    NO_ROW,
    KdTree,
    NearestScratch,
    build_tree,
    farthest,
    leaf_distances,
    make_query_scratch,
    nearest,
    remove,
)
from shoal.runtime.threads import parallel_map, thread_limit

REMAINING, TREE_BUILT, FRINGE_BUILT, UNCERTAIN, GROUPS = range(5)

_FRINGE_SHARE = 0.05
_MIN_RECORDS_FOR_FRINGE = 2048  # with fewer remaining records the tree alone is as fast
_RECORDS_PER_QUERY = 4096  # records of a new fringe that cost as much as a query of the whole tree
_MAX_UNCERTAIN_QUERIES = 32
_PARTS = 4
_MIN_RECORDS_FOR_THREADS = 100_000
CERTAINTY_MARGIN = 1.0 - 1e-9  # a margin far above the rounding error of a distance


class Pool(NamedTuple):
    """The remaining records of a matrix.

    points : float64 (n, d), all records
    rows : int32 (m,), the rows in the tree when it was built, in the order of its leaves
    tree, fringe : the remaining records, and the outermost of them
    reach : float64 (1,), no remaining record outside the fringe is farther than this from the fringe's centre
    total : float64 (d,), sum of the remaining records
    progress : int64 (5,), the number of remaining records, of those when tree and fringe were built, of uncertain
        answers of this fringe, and of groups
    scratch : memory for queries
    """

    points: np.ndarray
    rows: np.ndarray
    tree: KdTree
    fringe: KdTree
    reach: np.ndarray
    total: np.ndarray
    progress: np.ndarray
    scratch: NearestScratch


@njit(**FROM_PYTHON)
def column_sums(points):
    """Return the sum of each column, added row by row.

    Not pairwise, so that a plain loop agrees.
    """
    total = np.zeros(points.shape[1])
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            total[j] += points[i, j]
    return total


@njit(**FROM_PYTHON)
def _fringe_sample(tree, centre, distance):
    """Return squared distances to `centre` of the records of about 512 leaves."""
    leaves = tree.block.shape[0]
    step = max(1, leaves // 512)
    sample = np.empty(((leaves + step - 1) // step) * LEAF)
    sampled = 0
    for leaf in range(0, leaves, step):
        leaf_distances(tree.block, leaf, centre, distance)
        for i in range(tree.filled[leaf]):
            sample[sampled] = distance[i]
            sampled += 1
    return sample[:sampled]


@njit(**FROM_PYTHON)
def _outside(tree, centre, cut, distance, first, last):
    """Return the rows of the leaves [first, last) beyond a distance.

    These are farther from `centre` than the squared distance `cut`, in their order.
    """
    rows = np.empty(LEAF * (last - first), np.int32)
    found = 0
    away = 0.0
    for j in range(len(centre)):
        away += (centre[j] - tree.centre[j]) ** 2
    within = np.sqrt(cut) * CERTAINTY_MARGIN - np.sqrt(away)  # a leaf with a smaller radius has no record outside
    for leaf in range(first, last):
        records = tree.filled[leaf]
        radius = tree.box[len(tree.filled) + leaf, 2 * len(centre)]
        if records == 0 or (within > 0.0 and radius < within * within):
            continue
        leaf_distances(tree.block, leaf, centre, distance)
        for i in range(records):
            if distance[i] > cut:
                rows[found] = tree.row[leaf, i]
                found += 1
    return rows[:found].copy()


@njit(**FROM_PYTHON)
def _rows_in_tree(rows, slot_of_row):
    """Return the rows that are still in the tree, in their order."""
    remaining_rows = np.empty(len(rows), np.int32)
    found = 0
    for row in rows:
        if slot_of_row[row] >= 0:
            remaining_rows[found] = row
            found += 1
    return remaining_rows[:found].copy()


def make_pool(points: np.ndarray, answers: int) -> Pool:
    """Build a pool of all records of `points`.

    `points` is float64 (n, d), C-contiguous. Queries ask for up to `answers` records.
    """
    records = len(points)
    rows = np.arange(records, dtype=np.int32)
    total = column_sums(points)
    tree = build_tree(points, rows, total / records)
    progress = np.array([records, records, records, 0, 0], np.int64)
    pool = Pool(points, rows, tree, tree, np.zeros(1), total, progress, make_query_scratch(answers))
    return with_fringe(pool)


def with_fringe(pool: Pool, share: float = _FRINGE_SHARE, work: Callable[..., object] = parallel_map) -> Pool:
    """Return the pool with a new fringe.

    The fringe is empty, and never certain, where few records remain.
    """
    remaining = int(pool.progress[REMAINING])
    centre = pool.total / max(1, remaining)
    outermost = np.empty(0, np.int32)
    reach = np.inf
    if remaining >= _MIN_RECORDS_FOR_FRINGE:
        tree = pool.tree
        sample = _fringe_sample(tree, centre, pool.scratch.leaf)
        cut = float(np.quantile(sample, 1.0 - share)) if len(sample) else 0.0
        parts = _PARTS if remaining >= _MIN_RECORDS_FOR_THREADS else 1
        edges = np.linspace(0, len(tree.filled), parts + 1).astype(np.int64)
        found: list[np.ndarray] = [outermost] * parts

        def look(part: int) -> None:
            found[part] = _outside(tree, centre, cut, np.empty(LEAF), edges[part], edges[part + 1])

        work(look, range(parts))
        outermost = np.concatenate(found)
        reach = float(np.sqrt(cut))
    pool.progress[FRINGE_BUILT], pool.progress[UNCERTAIN] = remaining, 0
    fringe = build_tree(pool.points, outermost, centre, work)
    return pool._replace(fringe=fringe, reach=np.array([reach]))


def renew(pool: Pool) -> Pool:
    """Return the pool with a new fringe and, if needed, a new tree.

    The tree is rebuilt if half of its records have left. Cost: n log n.
    """
    return with_fringe(with_tree(pool))


def with_tree(pool: Pool, work: Callable[..., object] = parallel_map) -> Pool:
    """Return the pool with a new tree if half of its records have left.

    Cost: n log n.
    """
    remaining = int(pool.progress[REMAINING])
    if 2 * remaining >= pool.progress[TREE_BUILT]:
        return pool
    rows = _rows_in_tree(pool.rows, pool.tree.slot_of_row)
    tree = build_tree(pool.points, rows, pool.total / max(1, remaining), work)
    pool.progress[TREE_BUILT] = remaining
    return pool._replace(rows=rows, tree=tree)


@njit(**INNER)
def leave(pool, row):
    """Remove a record from the pool; `row` is int64."""
    for j in range(pool.points.shape[1]):
        pool.total[j] -= pool.points[row, j]
    record = pool.points[row]
    remove(pool.tree, record, row)
    if pool.fringe.slot_of_row[row] >= 0:
        remove(pool.fringe, record, row)
    pool.progress[REMAINING] -= 1


@njit(**INNER)
def _farthest_in(tree, query, scratch):
    """Return the row farthest from `query`, and its squared distance.

    NO_ROW and -1 if there is none.
    """
    if farthest(tree, query, np.int64(1), scratch) == 0:
        return NO_ROW, -1.0
    return scratch.row[0], scratch.distance[0]


@njit(**INNER)
def _farthest_on_fringe(pool, query):
    """Return the record of the fringe farthest from `query`.

    Also whether it is certainly the farthest of all.
    """
    away = 0.0
    for j in range(query.shape[0]):
        step = query[j] - pool.fringe.centre[j]
        away += step * step
    row, distance = _farthest_in(pool.fringe, query, pool.scratch)
    certain = distance > 0.0 and np.sqrt(distance) * CERTAINTY_MARGIN > pool.reach[0] + np.sqrt(away)
    return row, certain


@njit(**INNER)
def farthest_from(pool, query):
    """Return the remaining row farthest from `query`; ties to the smallest."""
    row, certain = _farthest_on_fringe(pool, query)
    if not certain:
        pool.progress[UNCERTAIN] += 1
        row, _ = _farthest_in(pool.tree, query, pool.scratch)
    return row


@njit(**INNER)
def needs_new_tree(pool):
    """Return whether enough records have left to rebuild the tree."""
    built = pool.progress[TREE_BUILT]
    return 2 * pool.progress[REMAINING] < built and built > 4 * LEAF


@njit(**INNER)
def next_seed(pool):
    """Return the remaining row farthest from the centroid.

    NO_ROW where the pool must be renewed first. The fringe may be renewed only after a quarter of it could have left,
    so
    that data of equal radius, where no fringe is ever certain, cost no more than the tree alone.
    """
    progress = pool.progress
    remaining = progress[REMAINING]
    if needs_new_tree(pool):
        return NO_ROW
    if (
        remaining >= _MIN_RECORDS_FOR_FRINGE
        and progress[UNCERTAIN] > _MAX_UNCERTAIN_QUERIES + remaining // _RECORDS_PER_QUERY
    ):
        return NO_ROW
    centroid = pool.total / remaining
    row, certain = _farthest_on_fringe(pool, centroid)
    if certain:
        return row
    if remaining >= _MIN_RECORDS_FOR_FRINGE and progress[FRINGE_BUILT] - remaining > _FRINGE_SHARE / 4 * remaining:
        return NO_ROW
    row, _ = _farthest_in(pool.tree, centroid, pool.scratch)
    return row


@njit(**FROM_PYTHON)
def centroids_of(points, group, groups):
    """Return the mean of each group's records, added in row order.

    Records with group -1 belong to none.
    """
    sums = np.zeros((groups, points.shape[1]))
    sizes = np.zeros(groups, np.int64)
    for i in range(points.shape[0]):
        if group[i] >= 0:
            sizes[group[i]] += 1
            for j in range(points.shape[1]):
                sums[group[i], j] += points[i, j]
    for g in range(groups):
        for j in range(points.shape[1]):
            sums[g, j] /= sizes[g]
    return sums


@njit(**FROM_PYTHON)
def _join(points, group, tree, rows, scratch):
    """Assign each of the rows to the group of the nearest centroid.

    Centroids are the records of `tree`; ties go to the smaller group.
    """
    for row in rows:
        nearest(tree, points[row], np.int64(1), scratch)
        group[row] = scratch.row[0]


def join_nearest(points: np.ndarray, group: np.ndarray, groups: int) -> None:
    """Assign left-over records (group -1) to the nearest centroid, in place.

    On several threads. Centroids are those before any left-over record joins; ties go to the group formed first.
    Without
    any group all records form one. Cost: left-over records times log of the groups.
    """
    left = np.flatnonzero(group < 0)
    if groups == 0:
        group[:] = 0
    elif len(left):
        centroids = centroids_of(points, group, groups)
        tree = build_tree(centroids, np.arange(groups, dtype=np.int32), column_sums(centroids) / groups)
        parts = np.array_split(left, thread_limit() if len(left) > 1000 else 1)
        parallel_map(lambda part: _join(points, group, tree, part, make_query_scratch(1)), parts)
