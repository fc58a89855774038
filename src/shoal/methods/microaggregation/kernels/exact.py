"""Optimal partition of very small tables, by enumeration of all subsets."""

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import add_row, holds

MAX_EXACT_RECORDS = 16
"""A table of 16 records has 43 million pairs of a set and a subset, a fraction of a second."""


@njit(**INNER)
def _cost_of_set(points, columns, judge, members, mean, histogram):
    """Return the SSE of the records with a bit set in `members`.

    Infinite where they do not meet the model.
    """
    size = 0
    mean[:] = 0.0
    histogram[:] = 0
    for row in range(len(points)):
        if members >> row & 1:
            size += 1
            mean += points[row]
            add_row(histogram, columns, row, 1)
    if not holds(judge, size, histogram):
        return np.inf
    mean /= size
    total = 0.0
    for row in range(len(points)):
        if members >> row & 1:
            for j in range(points.shape[1]):
                step = points[row, j] - mean[j]
                total += step * step
    return total


@njit(**FROM_PYTHON)
def best_partition(points, columns, judge, width):
    """Return the partition of least SSE in which every group meets the model.

    int32 (n,), numbered by the groups' first records; empty where there is no such partition.

    Parameters
    ----------
    points : float64 (n, d), n at most MAX_EXACT_RECORDS
    columns, judge : see `refine_partition`
    width : number of columns of the histograms

    Cost: 3 to the power of n. The best partition of a set is the group of its first record and the best partition of
    the
    others.
    """
    records = len(points)
    everything = (1 << records) - 1
    cost = np.empty(everything + 1)
    mean, histogram = np.empty(points.shape[1]), np.empty(width, np.int64)
    for members in range(1, everything + 1):
        cost[members] = _cost_of_set(points, columns, judge, members, mean, histogram)
    best = np.full(everything + 1, np.inf)
    chosen = np.zeros(everything + 1, np.int64)
    best[0] = 0.0
    for members in range(1, everything + 1):
        first = members & -members
        others = members ^ first
        part = others
        while True:
            found = cost[first | part] + best[others ^ part]
            if found < best[members]:
                best[members], chosen[members] = found, first | part
            if part == 0:
                break
            part = (part - 1) & others
    if best[everything] == np.inf:
        return np.empty(0, np.int32)
    group = np.empty(records, np.int32)
    left, made = everything, 0
    while left:
        for row in range(records):
            if chosen[left] >> row & 1:
                group[row] = made
        left ^= chosen[left]
        made += 1
    return group
