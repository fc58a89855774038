"""Distances to the nearest rows, as sums over columns.

In each column a row is a point on a line. A tree of boxes covers the distinct points: a box is divided at the median of
its points along its widest column until few points are left. A search skips boxes that are further away than the
nearest rows found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.bounds.kernels.heap import replace_largest
from shoal.kernels.options import FROM_PYTHON, INNER

MAX_POINTS_IN_LEAF = 8


class PointBoxes(NamedTuple):
    """A tree of boxes over points.

    points : float64 (n, r) and copies : int64 (n,), in the order of the tree's leaves
    low, high : int64 (boxes,), the points of each box
    left : int64 (boxes,), its first half (the second follows it), -1 where it is not divided
    minimum, maximum : float64 (boxes, r)
    """

    points: np.ndarray
    copies: np.ndarray
    low: np.ndarray
    high: np.ndarray
    left: np.ndarray
    minimum: np.ndarray
    maximum: np.ndarray


@njit(**FROM_PYTHON)
def _divide(points, order):
    """Build boxes over points, float64 (n, r).

    `order`, int64 (n,), is rearranged to the order of the leaves.
    """
    n, columns = points.shape
    capacity = max(1, 4 * n)
    low, high, left = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64), np.full(capacity, -1, np.int64)
    minimum, maximum = np.zeros((capacity, columns)), np.zeros((capacity, columns))
    high[0] = n
    made = 1
    box = 0
    while box < made:
        a, b = low[box], high[box]
        for j in range(columns):
            minimum[box, j], maximum[box, j] = np.inf, -np.inf
            for i in range(a, b):
                minimum[box, j] = min(minimum[box, j], points[order[i], j])
                maximum[box, j] = max(maximum[box, j], points[order[i], j])
        if b - a > MAX_POINTS_IN_LEAF:
            widest = 0
            for j in range(columns):
                if maximum[box, j] - minimum[box, j] > maximum[box, widest] - minimum[box, widest]:
                    widest = j
            coordinate = np.empty(b - a)
            for i in range(b - a):
                coordinate[i] = points[order[a + i], widest]
            order[a:b] = order[a:b][np.argsort(coordinate)]
            middle = (a + b) // 2
            left[box] = made
            low[made], high[made] = a, middle
            low[made + 1], high[made + 1] = middle, b
            made += 2
        box += 1
    return low[:made], high[:made], left[:made], minimum[:made], maximum[:made]


def make_boxes(points: np.ndarray, count: np.ndarray) -> tuple[PointBoxes, np.ndarray]:
    """Build boxes over points; also return the order of the points in them."""
    order = np.arange(len(points))
    tree = _divide(points, order)
    return PointBoxes(np.ascontiguousarray(points[order]), count[order], *tree), order


@njit(**INNER)
def _interval_distance(x, j, minimum, maximum, top):
    """Return the distance of a point from an interval, at most `top[j]`."""
    return min(top[j], max(0.0, max(minimum - x, x - maximum)))


@njit(**FROM_PYTHON)
def nearest_row_distances(boxes, top, others, found):
    """Write each point's distance to its `others`-th nearest row to `found`.

    Points are in the order of the boxes; the row itself is not counted.
    top : float64 (r,), the largest distance of two rows in a column;  others : at least 1
    A distance is infinite where there are fewer rows.
    """
    points, count = boxes.points, boxes.copies
    n, columns = points.shape
    nearest = np.empty(others)
    stack = np.empty(128, np.int64)
    for row in range(n):
        nearest[:] = np.inf
        stack[0] = 0
        height = 1
        while height > 0:
            height -= 1
            box = stack[height]
            away = 0.0
            for j in range(columns):
                away += _interval_distance(points[row, j], j, boxes.minimum[box, j], boxes.maximum[box, j], top)
            if away >= nearest[0]:
                continue
            if boxes.left[box] >= 0:
                first = boxes.left[box]
                if boxes.low[first + 1] <= row:  # the half with the row is pushed last: visited first
                    stack[height], stack[height + 1] = first, first + 1
                else:
                    stack[height], stack[height + 1] = first + 1, first
                height += 2
                continue
            for i in range(boxes.low[box], boxes.high[box]):
                away = 0.0
                for j in range(columns):
                    away += _interval_distance(points[row, j], j, points[i, j], points[i, j], top)
                for _ in range(min(count[i] - (i == row), others)):
                    if away >= nearest[0]:
                        break
                    replace_largest(nearest, away)
        found[row] = nearest[0]
