"""The partition of least loss, for tables so small that all sets of records can be looked at."""

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import add_row, holds

MOST_RECORDS = 16
"""A table of so many records has 43 million pairs of a set and a part of it, a fraction of a second."""


@njit(**INNER)
def _cost_of_set(points, columns, judge, members, mean, histogram):
    """SSE of the records whose bits are set in `members`; infinite where they do not meet the model."""
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
    """The partition of least SSE of which every group meets the model, int32 (n,), numbered by their first records.

    Parameters
    ----------
    points : float64 (n, d), n at most MOST_RECORDS
    columns, judge : see `refine_partition`
    width : how many columns histograms have

    Empty where there is no such partition. Cost: 3 to the power of n. The best partition of a set is the group of its
    first record and the best partition of the others.
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
