"""Optimal microaggregation along an order or a path through the records.

Along an order, the best partition into runs of at least k records is found by dynamic programming, since an
optimal run has fewer than 2k records (Hansen and Mukherjee, "A polynomial algorithm for optimal univariate
microaggregation", 2003). For one attribute the sorted order makes this the optimum of all partitions. For a few
attributes a short path through the records replaces the order (Domingo-Ferrer, Martínez-Ballesté,
Mateo-Sanz and Sebé, "Efficient multivariate data-oriented microaggregation", 2006).
"""

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.methods.microaggregation.kernels.kdtree import NO_ROW, nearest
from shoal.methods.microaggregation.kernels.partition import nearest_records
from shoal.methods.microaggregation.kernels.unassigned import (
    Pool,
    farthest_from,
    leave,
    make_pool,
    needs_new_tree,
    renew,
)

_NEIGHBOURS = 10
_MAX_REVERSAL = 1_000  # records; longer pieces are not reversed, so that a pass is nearly linear


@njit(**FROM_PYTHON)
def _cut(points, order, k):
    """Compute the start of the last run of each best cut, int64 (n + 1,).

    Element i belongs to the best cut of the first i records. The cost of the runs that end at a record grows record by
    record backwards (Welford's update), without the cancellation of prefix sums. Ties go to the shorter run.
    """
    records, attributes = points.shape
    best = np.full(records + 1, np.inf)
    start_of = np.zeros(records + 1, np.int64)
    best[0] = 0.0
    mean = np.empty(attributes)
    for stop in range(k, records + 1):
        mean[:] = 0.0
        cost = 0.0
        for start in range(stop - 1, max(-1, stop - 2 * k), -1):
            size = stop - start
            for j in range(attributes):
                step = points[order[start], j] - mean[j]
                mean[j] += step / size
                cost += step * (points[order[start], j] - mean[j])
            if size >= k and best[start] + cost < best[stop]:
                best[stop], start_of[stop] = best[start] + cost, start
    return start_of


def cut_order(points: np.ndarray, order: np.ndarray, k: int) -> np.ndarray:
    """Cut an order into runs of at least k records with least SSE.

    Runs are shorter than 2k.

    Parameters
    ----------
    points : float64 (n, d), C-contiguous
    order : int64 (n,), a permutation of the rows
    k : the minimum run

    Returns
    -------
    int32 (n,): groups numbered along the order; one group where n < 2k.

    Cost: n k d time, n memory.
    """
    group = np.zeros(len(points), np.int32)
    if len(points) < 2 * k:
        return group
    start_of = _cut(points, order, k)
    starts = []
    stop = len(points)
    while stop > 0:
        stop = int(start_of[stop])
        starts.append(stop)
    group[order[starts]] = 1
    group[order] = np.cumsum(group[order]) - 1
    return group


def optimal_univariate(values: np.ndarray, k: int) -> np.ndarray:
    """Compute the optimal microaggregation of one attribute, float64 (n,).

    Returns int32 (n,), groups numbered by rising value. Cost: n log n + n k.

    Examples
    --------
    >>> optimal_univariate(np.array([7.0, 0.0, 8.0, 1.0, 2.0]), 2)
    array([1, 0, 1, 0, 0], dtype=int32)
    """
    order = np.argsort(values, kind="stable")
    return cut_order(np.ascontiguousarray(values.reshape(-1, 1)), order, k)


@njit(**FROM_PYTHON)
def _walk(pool, path, visited):
    """Visit the nearest unvisited record until all are visited.

    Returns -1, or the number of visited records where the tree must be renewed.
    """
    while visited < len(path):
        if needs_new_tree(pool):
            return visited
        if visited == 0:
            path[0] = farthest_from(pool, pool.total / len(path))
        else:
            nearest(pool.tree, pool.points[path[visited - 1]], np.int64(1), pool.scratch)
            path[visited] = pool.scratch.row[0]
        leave(pool, path[visited])
        visited += 1
    return -1


def nearest_point_next(points: np.ndarray) -> np.ndarray:
    """Return a nearest-neighbour path through the records, int64 (n,).

    It starts at the record farthest from the centroid. Ties to the smallest row. Cost: n log n in practice for few
    attributes.
    """
    pool: Pool = make_pool(points, 1)
    path = np.full(len(points), NO_ROW, np.int64)
    visited = 0
    while (visited := _walk(pool, path, visited)) >= 0:
        pool = renew(pool)
    return path


@njit(**INNER)
def _length(points, a, b):
    """Return the Euclidean distance of two records."""
    total = 0.0
    for j in range(points.shape[1]):
        step = points[a, j] - points[b, j]
        total += step * step
    return np.sqrt(total)


@njit(**INNER)
def _reverse(path, position, low, high):
    """Reverse the piece of the path from low to high."""
    while low < high:
        path[low], path[high] = path[high], path[low]
        position[path[low]], position[path[high]] = low, high
        low += 1
        high -= 1


@njit(**FROM_PYTHON)
def _shorten(points, path, near, max_passes):
    """Shorten a path by 2-opt with neighbour lists, in place.

    Steps a-b and c-d are replaced by a-c and b-d where that is shorter.
    """
    records = len(path)
    position = np.empty(records, np.int64)
    position[path] = np.arange(records)
    for _ in range(max_passes):
        improved = False
        for a in range(records):
            for i in range(near.shape[1]):
                here = position[a]
                if here == records - 1:
                    break
                b, c = path[here + 1], near[a, i]
                there = position[c]
                step = _length(points, a, b)
                if _length(points, a, c) >= step:
                    break
                if there == records - 1 or abs(there - here) > _MAX_REVERSAL:
                    continue
                d = path[there + 1]
                gain = step + _length(points, c, d) - _length(points, a, c) - _length(points, b, d)
                if gain > 1e-12:
                    _reverse(path, position, min(here, there) + 1, max(here, there))
                    improved = True
        if not improved:
            break


def path_microaggregation(points: np.ndarray, k: int) -> np.ndarray:
    """Aggregate along a short path: nearest point next, 2-opt, optimal cut.

    Result as for `cut_order`. Good for two or three attributes, and a good start for refinement.
    Cost: n log n + n k d in practice.
    """
    path = nearest_point_next(points)
    _shorten(points, path, nearest_records(points, _NEIGHBOURS), 50)
    return cut_order(points, path, k)
