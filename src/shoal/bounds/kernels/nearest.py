"""How far the nearest rows are, where a distance is a sum over columns of the way between two places on a line.

A tree of boxes over the distinct points: a box is divided at the middle of its points along its widest column until few
are left, and a search leaves out boxes that are further away than what it has found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.bounds.kernels.heap import replace_largest
from shoal.kernels.options import FROM_PYTHON, INNER

__all__ = ["distance_of_others", "make_boxes"]

FEW = 8


class Boxes(NamedTuple):
    """A tree of boxes over points.

    points : float64 (n, r) and copies : int64 (n,), in the order of the tree's leaves
    low, high : int64 (boxes,), the points of each box;  left : int64 (boxes,), its first half (the second is next to
        it), -1 where it is not divided
    least, most : float64 (boxes, r)
    """

    points: np.ndarray
    copies: np.ndarray
    low: np.ndarray
    high: np.ndarray
    left: np.ndarray
    least: np.ndarray
    most: np.ndarray


@njit(**FROM_PYTHON)
def _divide(points, order):
    """Boxes over points, float64 (n, r); `order`, int64 (n,), is put in the order of the leaves."""
    n, columns = points.shape
    room = max(1, 4 * n)
    low, high, left = np.zeros(room, np.int64), np.zeros(room, np.int64), np.full(room, -1, np.int64)
    least, most = np.zeros((room, columns)), np.zeros((room, columns))
    high[0] = n
    made = 1
    box = 0
    while box < made:
        a, b = low[box], high[box]
        for j in range(columns):
            least[box, j], most[box, j] = np.inf, -np.inf
            for i in range(a, b):
                least[box, j] = min(least[box, j], points[order[i], j])
                most[box, j] = max(most[box, j], points[order[i], j])
        if b - a > FEW:
            widest = 0
            for j in range(columns):
                if most[box, j] - least[box, j] > most[box, widest] - least[box, widest]:
                    widest = j
            place = np.empty(b - a)
            for i in range(b - a):
                place[i] = points[order[a + i], widest]
            order[a:b] = order[a:b][np.argsort(place)]
            middle = (a + b) // 2
            left[box] = made
            low[made], high[made] = a, middle
            low[made + 1], high[made + 1] = middle, b
            made += 2
        box += 1
    return low[:made], high[:made], left[:made], least[:made], most[:made]


def make_boxes(points: np.ndarray, count: np.ndarray) -> tuple[Boxes, np.ndarray]:
    """Boxes over points, and which point is where in them."""
    order = np.arange(len(points))
    tree = _divide(points, order)
    return Boxes(np.ascontiguousarray(points[order]), count[order], *tree), order


@njit(**INNER)
def _away(x, j, least, most, top):
    """How far a place is from an interval, at most `top[j]`."""
    return min(top[j], max(0.0, max(least - x, x - most)))


@njit(**FROM_PYTHON)
def distance_of_others(boxes, top, others, found):
    """Of each point, as the boxes have them, how far away the `others`-th nearest other row is; into `found`.

    top : float64 (r,), how far two rows are apart in a column at most;  others : at least 1
    A distance is infinite where there are not so many rows.
    """
    points, count = boxes.points, boxes.copies
    n, columns = points.shape
    near = np.empty(others)
    stack = np.empty(128, np.int64)
    for row in range(n):
        near[:] = np.inf
        stack[0] = 0
        height = 1
        while height > 0:
            height -= 1
            box = stack[height]
            away = 0.0
            for j in range(columns):
                away += _away(points[row, j], j, boxes.least[box, j], boxes.most[box, j], top)
            if away >= near[0]:
                continue
            if boxes.left[box] >= 0:
                first = boxes.left[box]
                if boxes.low[first + 1] <= row:  # the half that holds the row comes last on the stack: it is seen first
                    stack[height], stack[height + 1] = first, first + 1
                else:
                    stack[height], stack[height + 1] = first + 1, first
                height += 2
                continue
            for i in range(boxes.low[box], boxes.high[box]):
                away = 0.0
                for j in range(columns):
                    away += _away(points[row, j], j, points[i, j], points[i, j], top)
                for _ in range(min(count[i] - (i == row), others)):
                    if away >= near[0]:
                        break
                    replace_largest(near, away)
        found[row] = near[0]
