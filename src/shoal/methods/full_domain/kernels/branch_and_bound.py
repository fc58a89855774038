"""Kernels of branch and bound: group sizes by keys, boxes of nodes.

The key of a row is the sum of one random number per column, drawn for the column's label at a level. So the keys of a
node follow from those of another node by the columns in which the two differ. Equal labels have equal keys. Different
labels collide about once in 10^19 pairs, which can only make a group look larger: a node that fails by its keys fails.

A box is the set of nodes between two nodes. A node that fails with all finer ones cuts off a corner of each box. The
rest of the box consists of disjoint smaller boxes: one for each column that rises above the failing node, with the
columns before it at most as high as there. The box whose lowest node loses least bounds the loss of all nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER

DONE, LOOK, FULL, MORE = 0, 1, 2, 3
ADDED, LARGEST, GEOMETRIC = 0, 1, 2


class Keys(NamedTuple):
    """Working memory of evaluations by group size.

    node : int64 (a,), the levels of the keys;  keys : uint64 (m,);  slot : int32 (m,), each row's slot in the hash
        table
    table : uint64 (a power of two,), the keys in the slots;  rows : int64, the number of rows with each key
    """

    node: np.ndarray
    keys: np.ndarray
    slot: np.ndarray
    table: np.ndarray
    rows: np.ndarray


class NodeBoxes(NamedTuple):
    """Boxes of nodes in a heap, the one of least bound first.

    low, high : int16 (capacity, a);  bound : float64 (capacity,)
    heap : int32 (capacity,), boxes in use by bound, then the free ones;  size : int64 (1,), the number in use
    """

    low: np.ndarray
    high: np.ndarray
    bound: np.ndarray
    heap: np.ndarray
    size: np.ndarray


@njit(**FROM_PYTHON)
def small_rows(codes, count, numbers, at, node, least, memory):
    """Count the rows in groups of fewer than `least` rows at a node.

    codes : int32 (a, m), at level 0;  numbers : uint64, `numbers[at[a, level] + code]` is what a label adds to a key
    Cost: the rows, for each column that differs from the last node and once more.
    """
    keys, slot, table, rows = memory.keys, memory.slot, memory.table, memory.rows
    for a in range(len(node)):
        if memory.node[a] != node[a]:
            before, now = at[a, memory.node[a]], at[a, node[a]]
            for i in range(len(keys)):
                keys[i] += numbers[now + codes[a, i]] - numbers[before + codes[a, i]]
            memory.node[a] = node[a]
    mask = np.uint64(len(table) - 1)
    rows[:] = 0
    for i in range(len(keys)):
        index = keys[i] & mask
        while rows[index] != 0 and table[index] != keys[i]:
            index = (index + np.uint64(1)) & mask
        table[index] = keys[i]
        rows[index] += count[i]
        slot[i] = index
    small = np.int64(0)
    for i in range(len(keys)):
        if rows[slot[i]] < least:
            small += count[i]
    return small


@njit(**FROM_PYTHON)
def released_sums(codes, count, cost, at, whole, least, memory, sums):
    """Compute the loss per column of the rows in large enough groups.

    Writes sums, float64 (a,); call right after :func:`small_rows`.
    cost : float64, by the code at level 0, laid out as `numbers` there;  whole : float64 (a, levels), the loss of all
        rows
    """
    node = memory.node
    for a in range(len(node)):
        sums[a] = whole[a, node[a]]
    for i in range(len(count)):
        if memory.rows[memory.slot[i]] < least:
            for a in range(len(node)):
                sums[a] -= count[i] * cost[at[a, node[a]] + codes[a, i]]


@njit(**FROM_PYTHON)
def covers(failed, known, node):
    """Return whether a failing node is at or above a node, int64 (a,).

    failed : int16 (capacity, a), of which the first `known` rows are in use
    """
    for f in range(known - 1, -1, -1):
        below = True
        for a in range(len(node)):
            if failed[f, a] < node[a]:
                below = False
                break
        if below:
            return True
    return False


@njit(**FROM_PYTHON)
def add_failed(failed, known, node):
    """Add a failing node, replacing all below it; return the new number.

    There must be a free row for it.
    """
    retained = 0
    for f in range(known):
        below = True
        for a in range(len(node)):
            if failed[f, a] > node[a]:
                below = False
                break
        if not below:
            failed[retained] = failed[f]
            retained += 1
    for a in range(len(node)):
        failed[retained, a] = node[a]
    return retained + 1


@njit(**FROM_PYTHON)
def bound_of(low, parts, aggregation):
    """Return a lower bound of the loss of a node, int16 (a,).

    parts : float64 (a, levels), what each column contributes;  aggregation : ADDED, LARGEST or GEOMETRIC
    """
    total = 0.0
    for a in range(len(low)):
        part = parts[a, low[a]]
        total = max(total, part) if aggregation == LARGEST else total + part
    if aggregation == GEOMETRIC:
        total = np.expm1(total)
    # sums in another order differ in the last bits; a bound must not exceed the loss that it bounds
    return total * (1 - 1e-12)


@njit(**INNER)
def _before(boxes, one, other):
    return boxes.bound[one] < boxes.bound[other] or (boxes.bound[one] == boxes.bound[other] and one < other)


@njit(**INNER)
def _push(boxes):
    """Insert the first free box into the heap; its content is already written."""
    heap = boxes.heap
    position = boxes.size[0]
    boxes.size[0] += 1
    box = heap[position]
    while position > 0 and _before(boxes, box, heap[(position - 1) // 2]):
        heap[position] = heap[(position - 1) // 2]
        position = (position - 1) // 2
    heap[position] = box


@njit(**INNER)
def _drop_first(boxes):
    """Free the box of least bound."""
    heap = boxes.heap
    boxes.size[0] -= 1
    size = boxes.size[0]
    freed, box = heap[0], heap[size]
    heap[size] = freed
    position = 0
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        if child + 1 < size and _before(boxes, heap[child + 1], heap[child]):
            child += 1
        if not _before(boxes, heap[child], box):
            break
        heap[position] = heap[child]
        position = child
    if size > 0:
        heap[position] = box


@njit(**FROM_PYTHON)
def split_first(boxes, node, floor, parts, aggregation, best):
    """Replace the first box by its parts that may lose less than `best`.

    The parts exclude all nodes at or below `node`.
    node : int64 (a,), at or above the box's lowest
    parts : float64 (a, levels), what a column contributes to the bound;  aggregation : ADDED, LARGEST or GEOMETRIC
    floor : a lower bound of the loss of every node in the box
    There must be one free box per column.
    """
    attributes = len(node)
    first = boxes.heap[0]
    low, high = boxes.low[first].copy(), boxes.high[first].copy()
    least = max(floor, boxes.bound[first])
    gain = np.empty(attributes)
    for a in range(attributes):
        gain[a] = parts[a, node[a] + 1] - parts[a, low[a]] if node[a] < high[a] else -1.0
    _drop_first(boxes)
    # the most expensive column rises first, so that the boxes of the cheap columns are narrow
    for a in np.argsort(-gain):
        if node[a] >= high[a]:
            continue
        box = boxes.heap[boxes.size[0]]
        boxes.low[box] = low
        boxes.high[box] = high
        boxes.low[box, a] = node[a] + 1
        bound = max(least, bound_of(boxes.low[box], parts, aggregation))
        boxes.bound[box] = bound
        if bound < best:
            _push(boxes)
        high[a] = node[a]


@njit(**FROM_PYTHON)
def tighten(boxes, failed, known, parts, aggregation, best, steps):
    """Split boxes by failing nodes, at most `steps` times.

    Returns DONE where no box can contain less than `best`; LOOK where the first box's lowest node is not known to fail;
    FULL where the memory for boxes is exhausted; MORE where the steps are used up. Among the nodes that cut the first
    box, it takes the one after which the least loss of the parts is largest. Cost per step: the failing nodes times the
    columns.
    """
    attributes = failed.shape[1]
    cut = np.empty(attributes, np.int64)
    for _ in range(steps):
        if boxes.size[0] == 0 or boxes.bound[boxes.heap[0]] >= best:
            return DONE
        if boxes.size[0] + attributes >= len(boxes.heap):
            return FULL
        first = boxes.heap[0]
        low, high = boxes.low[first], boxes.high[first]
        chosen, largest = -1, -1.0
        for f in range(known):
            least = np.inf
            for a in range(attributes):
                if failed[f, a] < low[a]:
                    least = -1.0
                    break
                if failed[f, a] < high[a]:
                    least = min(least, parts[a, failed[f, a] + 1] - parts[a, low[a]])
                    if least <= largest:
                        break
            if least > largest:
                chosen, largest = f, least
        if chosen < 0:
            return LOOK
        for a in range(attributes):
            cut[a] = failed[chosen, a]
        split_first(boxes, cut, 0.0, parts, aggregation, best)
    return MORE
