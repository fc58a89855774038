"""Lattices that no search can exhaust: quick looks at sizes, and boxes of nodes that bound the loss from below.

A row's key is the sum of one random number per column, drawn for the column's label at a level. So a node's keys come
from those of another node by the columns in which the two differ. Equal labels have equal keys; two different ones are
mixed up about once in 10^19 pairs, which can only make a group look larger: a node that fails by its keys fails.

A box is what lies between two nodes. A node that fails with all finer ones cuts off a corner of each box, and what
remains of a box falls into smaller ones that do not overlap: one for each column that rises above the failing node,
with the columns before it at most as high as there. The box whose lowest node loses least bounds the loss of all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER

__all__ = [
    "ADDED", "DONE", "FULL", "GEOMETRIC", "LARGEST", "LOOK", "MORE", "Boxes", "Keys", "add_failed", "bound_of",
    "covers",
    "kept_sums", "small_rows", "split_first", "tighten",
]  # fmt: skip

DONE, LOOK, FULL, MORE = 0, 1, 2, 3
ADDED, LARGEST, GEOMETRIC = 0, 1, 2


class Keys(NamedTuple):
    """Working memory of looks at sizes.

    node : int64 (a,), the levels of the keys;  keys : uint64 (m,);  slot : int32 (m,), each row's place in the table
    table : uint64 (a power of two,), the keys there;  rows : int64, how many rows have them
    """

    node: np.ndarray
    keys: np.ndarray
    slot: np.ndarray
    table: np.ndarray
    rows: np.ndarray


class Boxes(NamedTuple):
    """Boxes of nodes, the one of least bound first.

    low, high : int16 (room, a);  bound : float64 (room,)
    heap : int32 (room,), boxes in use by bound, then the free ones;  size : int64 (1,), how many are in use
    """

    low: np.ndarray
    high: np.ndarray
    bound: np.ndarray
    heap: np.ndarray
    size: np.ndarray


@njit(**FROM_PYTHON)
def small_rows(codes, count, numbers, at, node, least, memory):
    """How many rows are in groups of fewer than `least` at a node.

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
        place = keys[i] & mask
        while rows[place] != 0 and table[place] != keys[i]:
            place = (place + np.uint64(1)) & mask
        table[place] = keys[i]
        rows[place] += count[i]
        slot[i] = place
    small = np.int64(0)
    for i in range(len(keys)):
        if rows[slot[i]] < least:
            small += count[i]
    return small


@njit(**FROM_PYTHON)
def kept_sums(codes, count, cost, at, whole, least, memory, sums):
    """What the rows in large enough groups lose in each column, float64 (a,), right after :func:`small_rows`.

    cost : float64, by the code at level 0, as `numbers` there;  whole : float64 (a, levels), what all rows lose
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
    """Whether one of the first `known` nodes of failed, int16 (room, a), is at or above a node, int64 (a,)."""
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
    """Add a node, in place of all below it; returns how many there are. There must be room for one."""
    kept = 0
    for f in range(known):
        below = True
        for a in range(len(node)):
            if failed[f, a] > node[a]:
                below = False
                break
        if not below:
            failed[kept] = failed[f]
            kept += 1
    for a in range(len(node)):
        failed[kept, a] = node[a]
    return kept + 1


@njit(**FROM_PYTHON)
def bound_of(low, parts, how):
    """What a node, int16 (a,), loses at least, from what each column adds."""
    total = 0.0
    for a in range(len(low)):
        part = parts[a, low[a]]
        total = max(total, part) if how == LARGEST else total + part
    if how == GEOMETRIC:
        total = np.expm1(total)
    # sums in another order differ in the last bits; a bound must not be above the loss that it bounds
    return total * (1 - 1e-12)


@njit(**INNER)
def _before(boxes, one, other):
    return boxes.bound[one] < boxes.bound[other] or (boxes.bound[one] == boxes.bound[other] and one < other)


@njit(**INNER)
def _push(boxes):
    """Take the first free box, whose content is written already, into the heap."""
    heap = boxes.heap
    place = boxes.size[0]
    boxes.size[0] += 1
    box = heap[place]
    while place > 0 and _before(boxes, box, heap[(place - 1) // 2]):
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = box


@njit(**INNER)
def _drop_first(boxes):
    """Free the box of least bound."""
    heap = boxes.heap
    boxes.size[0] -= 1
    size = boxes.size[0]
    freed, box = heap[0], heap[size]
    heap[size] = freed
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(boxes, heap[child + 1], heap[child]):
            child += 1
        if not _before(boxes, heap[child], box):
            break
        heap[place] = heap[child]
        place = child
    if size > 0:
        heap[place] = box


@njit(**FROM_PYTHON)
def split_first(boxes, node, floor, parts, how, best):
    """Put in place of the first box what of it is not at or below `node` and may lose less than `best`.

    node : int64 (a,), at or above the box's lowest
    parts : float64 (a, levels), what a column adds to the bound;  how : ADDED, LARGEST or GEOMETRIC
    floor : a bound of what everything in the box loses
    There must be room for one box per column.
    """
    attributes = len(node)
    first = boxes.heap[0]
    low, high = boxes.low[first].copy(), boxes.high[first].copy()
    least = max(floor, boxes.bound[first])
    gain = np.empty(attributes)
    for a in range(attributes):
        gain[a] = parts[a, node[a] + 1] - parts[a, low[a]] if node[a] < high[a] else -1.0
    _drop_first(boxes)
    # what costs most rises first: then the cheap columns' boxes are the narrow ones
    for a in np.argsort(-gain):
        if node[a] >= high[a]:
            continue
        box = boxes.heap[boxes.size[0]]
        boxes.low[box] = low
        boxes.high[box] = high
        boxes.low[box, a] = node[a] + 1
        bound = max(least, bound_of(boxes.low[box], parts, how))
        boxes.bound[box] = bound
        if bound < best:
            _push(boxes)
        high[a] = node[a]


@njit(**FROM_PYTHON)
def tighten(boxes, failed, known, parts, how, best, steps):
    """Split boxes by nodes that fail, at most `steps` times.

    Returns DONE where no box may hold less than `best`; LOOK where the first box's lowest node is not known to fail;
    FULL where there is no room; MORE where the steps are over. Of the nodes that cut the first box, the one is taken
    after which its parts lose most. Cost per step: the failing nodes times the columns.
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
        chosen, most = -1, -1.0
        for f in range(known):
            least = np.inf
            for a in range(attributes):
                if failed[f, a] < low[a]:
                    least = -1.0
                    break
                if failed[f, a] < high[a]:
                    least = min(least, parts[a, failed[f, a] + 1] - parts[a, low[a]])
                    if least <= most:
                        break
            if least > most:
                chosen, most = f, least
        if chosen < 0:
            return LOOK
        for a in range(attributes):
            cut[a] = failed[chosen, a]
        split_first(boxes, cut, 0.0, parts, how, best)
    return MORE
