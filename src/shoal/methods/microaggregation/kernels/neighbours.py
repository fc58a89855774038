"""Distances to the nearest records, for all records of a table.

Lower bounds need the distances only. Records are queried in the order of the leaves: consecutive ones visit the same
part of the tree. Only distances are stored: among equally far records it does not matter which one is found.
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
from shoal.runtime.threads import parallel_map, thread_limit

_NO_NAN = {"nnan", "nsz"}  # lets minima and maxima become vector instructions; never reorders a sum
_PARTS = 4  # parts of the leaves per thread, as parts take different times


@njit(**INNER, fastmath=_NO_NAN)
def _insert_distances(tree, leaf, query, distance, best):
    """Insert the distances to a leaf's records into `best`, least first.

    Only distances below the last one of `best` are inserted.
    """
    leaf_distances(tree.block, leaf, query, distance)
    last = len(best) - 1
    if not any_within(distance, best[last]):
        return
    for slot in range(tree.filled[leaf]):
        if distance[slot] < best[last]:
            position = last
            while position > 0 and best[position - 1] > distance[slot]:
                best[position] = best[position - 1]
                position -= 1
            best[position] = distance[slot]


@njit(**FROM_PYTHON, fastmath=_NO_NAN)
def _near_squares(tree, first, last, near):
    """Compute squared distances to the nearest other records, into `near`.

    For the records of the leaves [first, last).
    """
    box, bushes = tree.box, tree.bush.shape[0]
    attributes, wanted = len(tree.centre), near.shape[1]
    stack, bounds, distance = np.empty(128, np.int64), np.empty(128), np.empty(LEAF)
    lows, visit_order = np.empty(BUSH), np.empty(BUSH, np.int64)
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
                for lane in visit_order[: nearest_first(lows, best[wanted], visit_order)]:
                    if lows[lane] >= best[wanted]:
                        break
                    _insert_distances(tree, BUSH * (node - bushes) + lane, query, distance, best)
            row = tree.row[leaf, slot]
            for position in range(wanted):
                near[row, position] = best[position + 1]


def nearest_squares(points: np.ndarray, wanted: int) -> np.ndarray:
    """Return the squared distances of each record to its nearest others.

    Least first, float64 (n, min(wanted, n - 1)). Cost: n log n in practice for few attributes, on all threads.
    """
    records = len(points)
    near = np.empty((records, max(0, min(wanted, records - 1))))
    if near.shape[1]:
        tree: KdTree = build_tree(points, np.arange(records, dtype=np.int32), column_sums(points) / records)
        edges = np.linspace(0, len(tree.filled), _PARTS * thread_limit() + 1).astype(np.int64)
        parallel_map(
            lambda part: _near_squares(tree, edges[part], edges[part + 1], near), range(_PARTS * thread_limit())
        )
    return near
