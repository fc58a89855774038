"""Near items: candidates that share most of what is costly to lose.

Items are sorted in several orders, and in each the neighbours of an item are examined. One order compares attributes
level by level, the level with the costliest loss first; each of the others puts one attribute last, so that items that
differ in that attribute alone become neighbours. Of the neighbours, the nearest are stored: those with the cheapest
common region. No pair of items is guaranteed to be found; it takes n log n instead of n² time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.methods.local.kernels.regions import PARENT, Space, common_ancestor, range_cost

MAX_KEY = 2**62


def near_items(space: Space, values: np.ndarray, window: int = 3, limit: int = 16) -> np.ndarray:
    """Return items near to each: int32 (n, c), the nearest first.

    An item's own number fills up missing entries.

    Parameters
    ----------
    values : int32 (n, q)
    window : the number of neighbours on each side that are examined in each order
    limit : the number of near items to return
    """
    n, q = values.shape
    keys = _level_keys(space, values)
    orders = [np.argsort(_packed(keys, -1), kind="stable")]
    orders += [np.argsort(_packed(keys, j), kind="stable") for j in range(q)] if q > 1 else []
    near = np.tile(np.arange(n, dtype=np.int32)[:, None], (1, limit))
    _collect(space, values, np.stack(orders), window, near)
    return near


def _level_keys(space: Space, values: np.ndarray) -> list[tuple[float, int, np.ndarray, int]]:
    """Return the sort keys of all attributes and levels.

    Each is (cost of losing the level, attribute, code at the level, number of codes).
    """
    keys: list[tuple[float, int, np.ndarray, int]] = []
    for j in range(values.shape[1]):
        column = values[:, j]
        if space.ordered[j]:
            low = int(column.min())
            keys.append((float(space.top[j]), j, (column - low).astype(np.int64), int(column.max()) - low + 1))
            continue
        node = column
        while True:
            above = space.forest[PARENT, node]
            if (above == node).all():
                break
            distinct, code = np.unique(node, return_inverse=True)
            keys.append((float(space.cost[above].mean()), j, code.astype(np.int64), len(distinct)))
            node = above
    return keys


def _packed(keys: list[tuple[float, int, np.ndarray, int]], last: int) -> np.ndarray:
    """Return one number per item that sorts by the keys.

    The costliest key comes first; those of attribute `last` come at the end.
    """
    ordered = sorted(keys, key=lambda key: (key[1] == last, -key[0], key[1]))
    packed = np.zeros(len(keys[0][2]) if keys else 0, np.int64)
    span = 1
    for _, _, code, size in ordered:
        if span * size >= MAX_KEY:
            distinct, packed = np.unique(packed, return_inverse=True)
            span = len(distinct)
        packed = packed * size + code
        span *= size
    return packed


@njit(**INNER)
def _distance(space, forest, ordered, cost, values, one, other):
    """Return the cost of the common region of two items."""
    total = 0.0
    for j in range(values.shape[1]):
        a, b = values[one, j], values[other, j]
        if ordered[j]:
            total += range_cost(space, j, min(a, b), max(a, b))
        elif a != b:
            total += cost[common_ancestor(forest, a, b)]
    return total


@njit(**FROM_PYTHON)
def _collect(space, values, orders, window, near):
    """Fill `near` with the nearest neighbours of all orders.

    Ties go to the neighbour that was found first.
    """
    forest, ordered, cost = space.forest, space.ordered, space.cost
    n = values.shape[0]
    limit = near.shape[1]
    position = np.empty(orders.shape, np.int64)
    for o in range(orders.shape[0]):
        for i in range(n):
            position[o, orders[o, i]] = i
    distance = np.empty(limit)
    for item in range(n):
        found = 0
        for o in range(orders.shape[0]):
            for step in range(-window, window + 1):
                at = position[o, item] + step
                if step == 0 or at < 0 or at >= n:
                    continue
                other = orders[o, at]
                known = False
                for i in range(found):
                    if near[item, i] == other:
                        known = True
                        break
                if known:
                    continue
                far = _distance(space, forest, ordered, cost, values, item, other)
                if found == limit and far >= distance[limit - 1]:
                    continue
                i = found if found < limit else limit - 1
                while i > 0 and (distance[i - 1] > far):
                    distance[i] = distance[i - 1]
                    near[item, i] = near[item, i - 1]
                    i -= 1
                distance[i] = far
                near[item, i] = other
                found = min(found + 1, limit)
