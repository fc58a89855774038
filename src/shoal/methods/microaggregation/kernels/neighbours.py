"""How far the nearest records are, of all records of a table: what a bound needs, and no more than that.

Records are asked for in the order of the leaves: those that follow each other look at the same part of the tree.
Only distances are kept: of records that are equally far, it does not matter which is found.
"""

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.methods.microaggregation.kernels.kdtree import (
    BUSH,
    LEAF,
    KdTree,
    any_within,
    build_tree,
    leaf_distances,
    least_distance,
    least_distances,
    nearest_first,
)
from shoal.methods.microaggregation.kernels.unassigned import column_sums
from shoal.runtime.threads import allowed, spread

_NO_NAN = {"nnan", "nsz"}  # lets minima and maxima become vector instructions; never reorders a sum
_PARTS = 4  # parts of the leaves for each thread: some are done sooner than others


@njit(**INNER, fastmath=_NO_NAN)
def _look(tree, leaf, query, distance, best):
    """Put the distances to a leaf's records into `best`, least first, where they are less than its last."""
    leaf_distances(tree.block, leaf, query, distance)
    last = len(best) - 1
    if not any_within(distance, best[last]):
        return
    for slot in range(tree.filled[leaf]):
        if distance[slot] < best[last]:
            place = last
            while place > 0 and best[place - 1] > distance[slot]:
                best[place] = best[place - 1]
                place -= 1
            best[place] = distance[slot]


@njit(**FROM_PYTHON, fastmath=_NO_NAN)
def _near_squares(tree, first, last, near):
    """Of the records of the leaves [first, last) the squared distances to their nearest others, into `near`."""
    box, bushes = tree.box, tree.bush.shape[0]
    attributes, wanted = len(tree.centre), near.shape[1]
    stack, bounds, distance = np.empty(128, np.int64), np.empty(128), np.empty(LEAF)
    lows, turns = np.empty(BUSH), np.empty(BUSH, np.int64)
    query, best = np.empty(attributes), np.empty(wanted + 1)  # a record is the nearest to itself
    for leaf in range(first, last):
        for slot in range(tree.filled[leaf]):
            for j in range(attributes):
                query[j] = tree.block[leaf, j, slot]
            best[:] = np.inf
            stack[0], bounds[0] = 1, 0.0
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack[depth]
                if bounds[depth] >= best[wanted]:
                    continue
                while node < bushes:
                    closer, further = 2 * node, 2 * node + 1
                    close, far = least_distance(box, closer, query), least_distance(box, further, query)
                    if far < close:
                        closer, further, close, far = further, closer, far, close
                    if far < best[wanted]:
                        stack[depth], bounds[depth] = further, far
                        depth += 1
                    node = closer if close < best[wanted] else 0
                    if node == 0:
                        break
                if node == 0:
                    continue
                least_distances(tree.bush, node - bushes, query, lows)
                for turn in turns[: nearest_first(lows, best[wanted], turns)]:
                    if lows[turn] >= best[wanted]:
                        break
                    _look(tree, BUSH * (node - bushes) + turn, query, distance, best)
            row = tree.row[leaf, slot]
            for place in range(wanted):
                near[row, place] = best[place + 1]


def nearest_squares(points: np.ndarray, wanted: int) -> np.ndarray:
    """The squared distances of each record to its nearest others, least first, float64 (n, min(wanted, n - 1)).

    Cost: n log n in practice for few attributes, on all threads.
    """
    records = len(points)
    near = np.empty((records, max(0, min(wanted, records - 1))))
    if near.shape[1]:
        tree: KdTree = build_tree(points, np.arange(records, dtype=np.int32), column_sums(points) / records)
        edges = np.linspace(0, len(tree.filled), _PARTS * allowed() + 1).astype(np.int64)
        spread(lambda part: _near_squares(tree, edges[part], edges[part + 1], near), range(_PARTS * allowed()))
    return near
