"""The records that are in no group yet, for methods that form one group after the other.

MDAV, CBFS and Algorithm 2 all ask for the record farthest from the centroid of the records left, or from a seed.
Such a record is nearly always among the outermost few per cent, so these are kept a second time in a small tree,
the fringe. Its answer is certain if it is farther away than any record inside the fringe can be, by the triangle
inequality; otherwise the whole tree is asked. Both trees are built again as records leave: the tree when half of
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
    make_scratch,
    nearest,
    remove,
)
from shoal.runtime.threads import allowed, spread

REMAINING, TREE_BUILT, FRINGE_BUILT, UNCERTAIN, GROUPS = range(5)

_FRINGE_SHARE = 0.05
_FRINGE_WORTH = 2048  # with fewer records left than this the tree alone is as fast
_RECORDS_A_QUERY = 4096  # a query of the whole tree costs as much as so many records of a new fringe
_SPARE_QUERIES = 32
_PARTS = 4
_WORTH_THREADS = 100_000
CERTAIN = 1.0 - 1e-9  # a margin far above the rounding error of a distance


class Pool(NamedTuple):
    """The records left of a matrix.

    points : float64 (n, d), all records
    rows : int32 (m,), the rows in the tree when it was built, in the order of its leaves
    tree, fringe : the records left, and the outermost of them
    reach : float64 (1,), no record left outside the fringe is farther than this from the fringe's centre
    total : float64 (d,), sum of the records left
    progress : int64 (5,), how many records are left, were left when tree and fringe were built, answers of this
        fringe that were not certain, and groups made
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
    """Sum of each column, rows added one after the other (not pairwise, so that a plain loop agrees)."""
    total = np.zeros(points.shape[1])
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            total[j] += points[i, j]
    return total


@njit(**FROM_PYTHON)
def _fringe_sample(tree, centre, distance):
    """Squared distances to `centre` of the records of about 512 leaves."""
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
    """The rows of the leaves [first, last) farther from `centre` than the squared distance `cut`, in their order."""
    rows = np.empty(LEAF * (last - first), np.int32)
    found = 0
    away = 0.0
    for j in range(len(centre)):
        away += (centre[j] - tree.centre[j]) ** 2
    within = np.sqrt(cut) * CERTAIN - np.sqrt(away)  # a leaf of this radius has nothing outside
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
def _still_there(rows, place):
    """The rows that the tree still holds, in their order."""
    kept = np.empty(len(rows), np.int32)
    found = 0
    for row in rows:
        if place[row] >= 0:
            kept[found] = row
            found += 1
    return kept[:found].copy()


def make_pool(points: np.ndarray, answers: int) -> Pool:
    """A pool of all records of `points` (float64 (n, d), C-contiguous); queries ask for up to `answers` records."""
    records = len(points)
    rows = np.arange(records, dtype=np.int32)
    total = column_sums(points)
    tree = build_tree(points, rows, total / records)
    progress = np.array([records, records, records, 0, 0], np.int64)
    pool = Pool(points, rows, tree, tree, np.zeros(1), total, progress, make_scratch(answers))
    return with_fringe(pool)


def with_fringe(pool: Pool, share: float = _FRINGE_SHARE, work: Callable[..., object] = spread) -> Pool:
    """The pool with a new fringe; an empty one that is never certain where few records are left."""
    remaining = int(pool.progress[REMAINING])
    centre = pool.total / max(1, remaining)
    outermost = np.empty(0, np.int32)
    reach = np.inf
    if remaining >= _FRINGE_WORTH:
        tree = pool.tree
        sample = _fringe_sample(tree, centre, pool.scratch.leaf)
        cut = float(np.quantile(sample, 1.0 - share)) if len(sample) else 0.0
        parts = _PARTS if remaining >= _WORTH_THREADS else 1
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
    """The pool with a new fringe, and a new tree if half of the tree's records have left. Cost: n log n."""
    return with_fringe(with_tree(pool))


def with_tree(pool: Pool, work: Callable[..., object] = spread) -> Pool:
    """The pool with a new tree if half of the tree's records have left. Cost: n log n."""
    remaining = int(pool.progress[REMAINING])
    if 2 * remaining >= pool.progress[TREE_BUILT]:
        return pool
    rows = _still_there(pool.rows, pool.tree.place)
    tree = build_tree(pool.points, rows, pool.total / max(1, remaining), work)
    pool.progress[TREE_BUILT] = remaining
    return pool._replace(rows=rows, tree=tree)


@njit(**INNER)
def leave(pool, row):
    """A record leaves the pool; `row` is int64."""
    for j in range(pool.points.shape[1]):
        pool.total[j] -= pool.points[row, j]
    record = pool.points[row]
    remove(pool.tree, record, row)
    if pool.fringe.place[row] >= 0:
        remove(pool.fringe, record, row)
    pool.progress[REMAINING] -= 1


@njit(**INNER)
def _farthest_in(tree, query, scratch):
    """The row of the record farthest from `query`, and its squared distance; NO_ROW and -1 if there is none."""
    if farthest(tree, query, np.int64(1), scratch) == 0:
        return NO_ROW, -1.0
    return scratch.row[0], scratch.distance[0]


@njit(**INNER)
def _farthest_on_fringe(pool, query):
    """The record of the fringe farthest from `query`, and whether it is the farthest of all for certain."""
    away = 0.0
    for j in range(query.shape[0]):
        step = query[j] - pool.fringe.centre[j]
        away += step * step
    row, distance = _farthest_in(pool.fringe, query, pool.scratch)
    certain = distance > 0.0 and np.sqrt(distance) * CERTAIN > pool.reach[0] + np.sqrt(away)
    return row, certain


@njit(**INNER)
def farthest_from(pool, query):
    """The row of the record left that is farthest from `query`, ties to the smallest row."""
    row, certain = _farthest_on_fringe(pool, query)
    if not certain:
        pool.progress[UNCERTAIN] += 1
        row, _ = _farthest_in(pool.tree, query, pool.scratch)
    return row


@njit(**INNER)
def tree_is_worn(pool):
    """Whether so many records have left that the tree should be built again."""
    built = pool.progress[TREE_BUILT]
    return 2 * pool.progress[REMAINING] < built and built > 4 * LEAF


@njit(**INNER)
def next_seed(pool):
    """The row of the record left that is farthest from the centroid, or NO_ROW: the pool must be renewed first.

    The fringe may be renewed only after a quarter of it could have left, so that data of equal radius, where no
    fringe is ever certain, cost no more than the tree alone.
    """
    progress = pool.progress
    remaining = progress[REMAINING]
    if tree_is_worn(pool):
        return NO_ROW
    if remaining >= _FRINGE_WORTH and progress[UNCERTAIN] > _SPARE_QUERIES + remaining // _RECORDS_A_QUERY:
        return NO_ROW
    centroid = pool.total / remaining
    row, certain = _farthest_on_fringe(pool, centroid)
    if certain:
        return row
    if remaining >= _FRINGE_WORTH and progress[FRINGE_BUILT] - remaining > _FRINGE_SHARE / 4 * remaining:
        return NO_ROW
    row, _ = _farthest_in(pool.tree, centroid, pool.scratch)
    return row


@njit(**FROM_PYTHON)
def centroids_of(points, group, groups):
    """The mean of each group's records, added in row order; records with group -1 belong to none."""
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
    """Give each of the rows the group whose centroid, a record of `tree`, is nearest, ties to the smaller group."""
    for row in rows:
        nearest(tree, points[row], np.int64(1), scratch)
        group[row] = scratch.row[0]


def join_nearest(points: np.ndarray, group: np.ndarray, groups: int) -> None:
    """Let each left-over record (group -1) join the group of the nearest centroid, in place, on several threads.

    Centroids are those before any left-over record joins; ties go to the group made first. Without any group all
    records form one. Cost: left-over records times log of the groups.
    """
    left = np.flatnonzero(group < 0)
    if groups == 0:
        group[:] = 0
    elif len(left):
        centroids = centroids_of(points, group, groups)
        tree = build_tree(centroids, np.arange(groups, dtype=np.int32), column_sums(centroids) / groups)
        parts = np.array_split(left, allowed() if len(left) > 1000 else 1)
        spread(lambda part: _join(points, group, tree, part, make_scratch(1)), parts)
