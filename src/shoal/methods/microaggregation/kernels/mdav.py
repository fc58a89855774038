"""Microaggregation by fixed-size heuristics: MDAV, CBFS and V-MDAV.

All three use the record farthest from the centroid as a seed and give it its k - 1 nearest records. MDAV forms
a second group around the record farthest from the seed; CBFS forms one group at a time; V-MDAV lets a group grow
up to 2k - 1 records while the next record is near the group and far from the rest.

MDAV: Domingo-Ferrer and Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
2005. CBFS: Laszlo and Mukherjee, "Minimum spanning tree partitioning algorithm for microaggregation",
2005. V-MDAV: Solanas and Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable
group size", 2006.

Ties: farthest by (largest distance, smallest row), nearest by (distance, row); a group leaves seed first, then by
(distance, row). Left-over records join the group of the nearest centroid.
"""

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.methods.microaggregation.kernels.kdtree import NO_ROW, nearest
from shoal.methods.microaggregation.kernels.parallel_mdav import run_rounds
from shoal.methods.microaggregation.kernels.unassigned import (
    GROUPS,
    REMAINING,
    Pool,
    farthest_from,
    join_nearest,
    leave,
    make_pool,
    needs_new_tree,
    next_seed,
    renew,
)


@njit(**INNER)
def _form_group(pool, seed, k, group):
    """Remove the seed and its k - 1 nearest records as the next group."""
    label = pool.progress[GROUPS]
    leave(pool, np.int64(seed))
    group[seed] = label
    found = nearest(pool.tree, pool.points[seed], k - 1, pool.scratch)
    for i in range(found):
        leave(pool, np.int64(pool.scratch.row[i]))
        group[pool.scratch.row[i]] = label
    pool.progress[GROUPS] += 1


@njit(**FROM_PYTHON)
def _mdav_groups(pool, k, group):
    """Form MDAV groups until fewer than 2k records remain (True).

    Returns False where the pool must be renewed.
    """
    while pool.progress[REMAINING] >= 2 * k:
        seed = next_seed(pool)
        if seed == NO_ROW:
            return False
        paired = pool.progress[REMAINING] >= 3 * k
        _form_group(pool, seed, k, group)
        if paired:
            _form_group(pool, farthest_from(pool, pool.points[seed]), k, group)
    return True


@njit(**FROM_PYTHON)
def _cbfs_groups(pool, k, group):
    """Form CBFS groups until fewer than k records remain (True).

    Returns False where the pool must be renewed.
    """
    while pool.progress[REMAINING] >= k:
        seed = next_seed(pool)
        if seed == NO_ROW:
            return False
        _form_group(pool, seed, k, group)
    return True


@njit(**INNER)
def _nearest_to_group(pool, members, size, gaps, rows):
    """Return the remaining record nearest to any member: (distance, row).

    By (squared distance, row). gaps and rows contain each member's nearest remaining record; where that one has left
    (-1),
    it is searched again.
    """
    gap, closest = np.inf, NO_ROW
    for i in range(size):
        if rows[i] < 0 or pool.tree.slot_of_row[rows[i]] < 0:
            nearest(pool.tree, pool.points[members[i]], np.int64(1), pool.scratch)
            gaps[i], rows[i] = pool.scratch.distance[0], pool.scratch.row[0]
        if gaps[i] < gap or (gaps[i] == gap and rows[i] < closest):
            gap, closest = gaps[i], rows[i]
    return gap, closest


@njit(**FROM_PYTHON)
def _v_mdav_groups(pool, k, gamma, order, position, group):
    """Form V-MDAV groups until fewer than k records remain (-1).

    Returns the position reached in `order` where the tree must be renewed.
    """
    members = np.empty(2 * k, np.int32)
    gaps = np.empty(2 * k)
    rows = np.empty(2 * k, np.int32)
    progress, scratch = pool.progress, pool.scratch
    while progress[REMAINING] >= k:
        if needs_new_tree(pool):
            return position
        while group[order[position]] >= 0:
            position += 1
        members[0] = order[position]
        label = progress[GROUPS]
        _form_group(pool, members[0], k, group)
        for i in range(1, k):
            members[i] = scratch.row[i - 1]
        rows[:] = -1
        size = k
        while size < 2 * k - 1 and progress[REMAINING] > 0:
            gap, closest = _nearest_to_group(pool, members, size, gaps, rows)
            alone = np.inf
            if nearest(pool.tree, pool.points[closest], np.int64(2), scratch) == 2:
                alone = scratch.distance[0] if scratch.row[0] != closest else scratch.distance[1]
            if not gap < gamma * gamma * alone:
                break
            leave(pool, np.int64(closest))
            group[closest] = label
            members[size] = closest
            size += 1
    return -1


def mdav(points: np.ndarray, k: int) -> np.ndarray:
    """MDAV: groups of k records, the last of k to 2k - 1.

    Parameters
    ----------
    points : float64 (n, d), C-contiguous, finite, standardised by the caller
    k : at least 1

    Returns
    -------
    int32 (n,): the group of each row, numbered in order of creation; one group where n < 2k.

    Cost: n log n in practice for few attributes; n² d / k at worst. Large tables use all threads for most of the work;
    the
    number of threads changes no group.

    Examples
    --------
    >>> mdav(np.array([[0.0], [0.1], [5.0], [5.1], [0.2]]), 2)
    array([1, 1, 0, 0, 1], dtype=int32)
    """
    group = np.full(len(points), -1, np.int32)
    pool = run_rounds(make_pool(points, k), k, group)
    while not _mdav_groups(pool, k, group):
        pool = run_rounds(renew(pool), k, group)
    group[group < 0] = pool.progress[GROUPS]
    return group


def cbfs(points: np.ndarray, k: int) -> np.ndarray:
    """CBFS: groups of k records.

    Fewer than k left-over records join the groups of the nearest centroids. Parameters, result and cost as for `mdav`;
    one
    group where n < k.
    """
    group = np.full(len(points), -1, np.int32)
    pool = make_pool(points, k)
    while not _cbfs_groups(pool, k, group):
        pool = renew(pool)
    join_nearest(points, group, int(pool.progress[GROUPS]))
    return group


def _outermost_first(pool: Pool) -> np.ndarray:
    """Return all rows by (largest distance to the centroid, smallest row).

    The centroid is that of all records.
    """
    centroid = pool.total / len(pool.points)
    distance = np.zeros(len(pool.points))
    for j in range(pool.points.shape[1]):
        distance += (pool.points[:, j] - centroid[j]) ** 2
    return np.argsort(-distance, kind="stable")


def v_mdav(points: np.ndarray, k: int, gamma: float) -> np.ndarray:
    """V-MDAV: groups of k to 2k - 1 records.

    Seeds are the records farthest from the centroid of all records. A group takes the record x nearest to any of its
    members while that distance is less than gamma times the distance from x to the nearest other remaining record.
    Parameters, result and cost as for `mdav`, times k.
    """
    group = np.full(len(points), -1, np.int32)
    pool = make_pool(points, max(k, 2))
    order = _outermost_first(pool)
    position = 0
    while (position := _v_mdav_groups(pool, k, gamma, order, position, group)) >= 0:
        pool = renew(pool)
    join_nearest(points, group, int(pool.progress[GROUPS]))
    return group
