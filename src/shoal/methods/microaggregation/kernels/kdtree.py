"""A k-d tree with exact nearest and farthest queries while records leave.

The tree is complete: the nodes are numbered as in a heap (children of i are 2i and 2i+1) and a leaf has up to 32
records as one column-major block, so that a leaf's distances are computed by vector instructions. Each node stores the
bounding box of its remaining records, their largest squared distance to a fixed centre and their smallest row. When a
record leaves, only what it defined is computed again, from its leaf upwards.

Every answer equals that of a scan over all records: distances are squared Euclidean, added attribute by
attribute in column order, and ties go to the smallest row. The lower bounds are rounded like the distances they
bound (rounding is monotone), so no slack is needed there. After Bentley, "Multidimensional binary search trees
used for associative searching" (1975), and Friedman, Bentley and Finkel (1977).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.runtime.threads import parallel_map, thread_limit

LEAF = 32
"""Records in a full leaf."""

BUSH = 16
"""Leaves in a bush; vector instructions compute their bounds at once."""

NO_ROW = np.int32(2**31 - 1)
"""The marker of 'no record'; larger than every row, so it loses every tie."""

_ROUNDING = 1e-12  # far above the rounding error of a bound that is a difference of such squares
_MIN_WEIGHT = 1e-6
_NO_NAN = {"nnan", "nsz"}  # lets minima and maxima become vector instructions; never reorders a sum
_MAX_PARTS = 4
_MIN_ROWS_FOR_THREADS = 20_000
_RECORDS_IN_CACHE = 8192  # records that fit into a core's cache


class KdTree(NamedTuple):
    """A k-d tree over some rows of a matrix with d attributes.

    `leaves` is a power of two.

    block : float64 (leaves, w + 1, 32), the records of a leaf; w is d rounded up to even, a padding column contains
        zeros, the last row contains the squared distance to `centre`. A free slot repeats slot 0.
    row : int32 (leaves, 32), the rows of the records; NO_ROW for one that was marked as removed
    filled : int32 (leaves,), records left in each leaf
    box : float64 (2 leaves, 2 d + 1), per node the minima, the maxima and the largest squared distance to `centre`;
        without records infinity, minus infinity and -1
    bush : float64 (leaves / 16, 2 d + 1, 16), the boxes of the leaves once more, those of 16 leaves side by side
    first : int32 (2 leaves,), the smallest row below each node, NO_ROW where there is none
    slot_of_row : int32 (rows of the matrix,), 32 leaf + slot of each row, -1 where the row is not in the tree
    centre : float64 (d,)
    """

    block: np.ndarray
    row: np.ndarray
    filled: np.ndarray
    box: np.ndarray
    bush: np.ndarray
    first: np.ndarray
    slot_of_row: np.ndarray
    centre: np.ndarray


class NearestScratch(NamedTuple):
    """Memory that queries overwrite.

    It consists of a stack (`node`, `bound`), the bounds of a bush and the visiting order of its leaves (`bush`,
    `visit_order`), the distances of a leaf (`leaf`), and the answer in its order (`distance`, `row`).
    """

    node: np.ndarray
    bound: np.ndarray
    bush: np.ndarray
    visit_order: np.ndarray
    leaf: np.ndarray
    distance: np.ndarray
    row: np.ndarray


def make_query_scratch(answers: int) -> NearestScratch:
    """Allocate memory for queries of at most `answers` records."""
    answers = max(1, answers)
    return NearestScratch(
        np.empty(128, np.int64),
        np.empty(128),
        np.empty(BUSH),
        np.empty(BUSH, np.int64),
        np.empty(LEAF),
        np.empty(answers),
        np.empty(answers, np.int32),
    )


@njit(**INNER)
def _select(keys, rows, start, stop, kth):
    """Partition keys and rows in [start, stop) around position `kth`.

    Position `kth` is correct by (key, row) afterwards (Hoare's find).
    """
    low, high = start, stop - 1
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < keys[low] or (keys[middle] == keys[low] and rows[middle] < rows[low]):
            keys[middle], keys[low] = keys[low], keys[middle]
            rows[middle], rows[low] = rows[low], rows[middle]
        if keys[high] < keys[low] or (keys[high] == keys[low] and rows[high] < rows[low]):
            keys[high], keys[low] = keys[low], keys[high]
            rows[high], rows[low] = rows[low], rows[high]
        if keys[high] < keys[middle] or (keys[high] == keys[middle] and rows[high] < rows[middle]):
            keys[high], keys[middle] = keys[middle], keys[high]
            rows[high], rows[middle] = rows[middle], rows[high]
        pivot_key, pivot_row = keys[middle], rows[middle]
        left, right = low, high
        while left <= right:
            while keys[left] < pivot_key or (keys[left] == pivot_key and rows[left] < pivot_row):
                left += 1
            while keys[right] > pivot_key or (keys[right] == pivot_key and rows[right] > pivot_row):
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                rows[left], rows[right] = rows[right], rows[left]
                left += 1
                right -= 1
        if kth <= right:
            high = right
        elif kth >= left:
            low = left
        else:
            return


@njit(**INNER, fastmath=_NO_NAN)
def _widest(points, rows, start, stop):
    """Return the attribute with the widest range.

    From a sample where there are many records (any split is correct).
    """
    attributes = points.shape[1]
    step = max(1, (stop - start) // 2048)
    widest, width = 0, -1.0
    lowest = np.full(attributes, np.inf)
    highest = np.full(attributes, -np.inf)
    for i in range(start, stop, step):
        for j in range(attributes):
            value = points[rows[i], j]
            lowest[j] = min(lowest[j], value)
            highest[j] = max(highest[j], value)
    for j in range(attributes):
        if highest[j] - lowest[j] > width:
            width = highest[j] - lowest[j]
            widest = j
    return widest


@njit(**INNER)
def _arrange(points, rows, keys, bounds, base, root, below):
    """Sort `rows` into the nodes at and below `root` that precede `below`.

    Fills `bounds` (start, stop). Positions in `rows` and `keys` are counted from `base`.
    """
    first, last = root, root
    while first < below:
        for node in range(first, last + 1):
            start, stop = bounds[node]
            middle = (start + stop) >> 1
            if stop - start > 1:
                attribute = _widest(points, rows, start - base, stop - base)
                for i in range(start - base, stop - base):
                    keys[i] = points[rows[i], attribute]
                _select(keys, rows, start - base, stop - base, middle - base)
            bounds[2 * node] = (start, middle)
            bounds[2 * node + 1] = (middle, stop)
        first, last = 2 * first, 2 * last + 1


@njit(**INNER)
def _copy_box_to_bush(tree, leaf):
    """Copy the box of a leaf into its bush."""
    node = tree.block.shape[0] + leaf
    for j in range(tree.box.shape[1]):
        tree.bush[leaf // BUSH, j, leaf % BUSH] = tree.box[node, j]


@njit(**INNER, fastmath=_NO_NAN)
def _fill(tree, points, indices, rows, bounds, base, first_leaf, last_leaf):
    """Copy records into the leaves [first_leaf, last_leaf) and describe these.

    `indices` are positions in `points` and in `rows`; they are counted from `base`.
    """
    block, box = tree.block, tree.box
    attributes = points.shape[1]
    leaves, width = block.shape[0], block.shape[1] - 1
    for leaf in range(first_leaf, last_leaf):
        node = leaves + leaf
        start, stop = bounds[node]
        tree.filled[leaf] = stop - start
        smallest = NO_ROW
        for j in range(attributes):
            box[node, j] = np.inf
            box[node, attributes + j] = -np.inf
        radius = -1.0
        for slot in range(stop - start):
            index = indices[start - base + slot]
            row = rows[index]
            tree.row[leaf, slot] = row
            tree.slot_of_row[row] = LEAF * leaf + slot
            smallest = min(smallest, row)
            square = 0.0
            for j in range(attributes):
                value = points[index, j]
                block[leaf, j, slot] = value
                box[node, j] = min(box[node, j], value)
                box[node, attributes + j] = max(box[node, attributes + j], value)
                step = value - tree.centre[j]
                square += step * step
            for j in range(attributes, width):
                block[leaf, j, slot] = 0.0
            block[leaf, width, slot] = square
            radius = max(radius, square)
        box[node, 2 * attributes] = radius
        tree.first[node] = smallest
        _copy_box_to_bush(tree, leaf)
        for slot in range(stop - start, LEAF):
            tree.row[leaf, slot] = NO_ROW
            for j in range(width + 1):
                block[leaf, j, slot] = block[leaf, j, 0] if stop > start else 0.0


@njit(**FROM_PYTHON)
def _part(points, rows, keys, bounds, parts):
    """Sort `rows` into the first `parts` nodes of one level."""
    _arrange(points, rows, keys, bounds, 0, 1, parts)


@njit(**FROM_PYTHON)
def _grow(tree, points, rows, keys, bounds, root):
    """Sort `rows` into the nodes below `root` and fill the leaves.

    Records are scattered in memory. Those of a small enough node are copied into one array first, so that everything
    below
    it is sorted in the cache.
    """
    leaves = tree.block.shape[0]
    below, share = root, 1  # the first node of a level below the root, and the level's size
    while bounds[root, 1] - bounds[root, 0] > share * _RECORDS_IN_CACHE and below < leaves:
        below, share = 2 * below, 2 * share
    _arrange(points, rows, keys, bounds, 0, root, below)
    largest = 0
    for node in range(below, below + share):
        largest = max(largest, bounds[node, 1] - bounds[node, 0])
    copied, own_rows, indices = (
        np.empty((largest, points.shape[1])),
        np.empty(largest, np.int32),
        np.empty(largest, np.int32),
    )
    for node in range(below, below + share):
        start, stop = bounds[node]
        for i in range(stop - start):
            own_rows[i], indices[i] = rows[start + i], i
            for j in range(points.shape[1]):
                copied[i, j] = points[own_rows[i], j]
        first, last = node, node + 1
        while first < leaves:
            first, last = 2 * first, 2 * last
        _arrange(copied, indices, keys[start:stop], bounds, start, node, leaves)
        _fill(tree, copied, indices, own_rows, bounds, start, first - leaves, last - leaves)
        for i in range(stop - start):
            rows[start + i] = own_rows[indices[i]]


@njit(**INNER, fastmath=_NO_NAN)
def _describe(tree, node):
    """Describe an inner node from its children."""
    box, first = tree.box, tree.first
    attributes = tree.centre.shape[0]
    left, right = 2 * node, 2 * node + 1
    first[node] = min(first[left], first[right])
    for j in range(attributes):
        box[node, j] = min(box[left, j], box[right, j])
        box[node, attributes + j] = max(box[left, attributes + j], box[right, attributes + j])
    box[node, 2 * attributes] = max(box[left, 2 * attributes], box[right, 2 * attributes])


@njit(**FROM_PYTHON)
def summarise(tree, below):
    """Describe the inner nodes before `below`, from the last to the root."""
    for node in range(below - 1, 0, -1):
        _describe(tree, node)


def build_tree(
    points: np.ndarray, rows: np.ndarray, centre: np.ndarray, work: Callable[..., object] = parallel_map
) -> KdTree:
    """Build a tree over the given rows of `points`.

    On several threads where there are many records.

    Parameters
    ----------
    points : float64 (n, d), C-contiguous, finite
    rows : int32 (m,), distinct rows of `points`; permuted into the order of the leaves
    centre : float64 (d,), any point; a centre near the middle of the records makes the farthest query faster
    work : parallel map over threads

    Cost: m log m time, about 8 (d + 3) bytes per record.
    """
    records, attributes = len(rows), points.shape[1]
    leaves = 1
    while records > leaves * LEAF:
        leaves *= 2
    width = attributes + attributes % 2
    tree = KdTree(
        block=np.empty((leaves, width + 1, LEAF)),
        row=np.empty((leaves, LEAF), np.int32),
        filled=np.empty(leaves, np.int32),
        box=np.empty((2 * leaves, 2 * attributes + 1)),
        bush=np.empty((-(-leaves // BUSH), 2 * attributes + 1, BUSH)),
        first=np.empty(2 * leaves, np.int32),
        slot_of_row=np.full(points.shape[0], -1, np.int32),
        centre=np.array(centre, np.float64),
    )
    if leaves < BUSH:  # missing leaves count as empty
        tree.bush[:, :attributes], tree.bush[:, attributes:-1], tree.bush[:, -1] = np.inf, -np.inf, -1.0
    keys = np.empty(records)
    bounds = np.zeros((2 * leaves, 2), np.int64)
    bounds[1] = (0, records)
    parts = 1
    while 2 * parts <= min(_MAX_PARTS, thread_limit()) and parts < leaves and records >= _MIN_ROWS_FOR_THREADS:
        parts *= 2
    _part(points, rows, keys, bounds, parts)
    work(lambda part: _grow(tree, points, rows, keys, bounds, parts + part), range(parts))
    summarise(tree, leaves)
    return tree


@njit(**INNER, fastmath=_NO_NAN)
def _free_slot(tree, leaf, slot, last):
    """Move the last record of a leaf into a slot that is free now.

    Free slots repeat slot 0.
    """
    block = tree.block
    if slot != last:
        moved = tree.row[leaf, last]
        tree.row[leaf, slot] = moved
        tree.slot_of_row[moved] = LEAF * leaf + slot
    tree.row[leaf, last] = NO_ROW
    end = LEAF if slot == 0 else last + 1
    for j in range(block.shape[1]):
        block[leaf, j, slot] = block[leaf, j, last]
        for free in range(last, end):
            block[leaf, j, free] = block[leaf, j, 0]


@njit(**INNER, fastmath=_NO_NAN)
def _describe_leaf_without(tree, leaf, record, row):
    """Update a leaf after `record` left; return whether anything changed.

    Only what the record defined is computed again.
    """
    block, box = tree.block, tree.box
    attributes = tree.centre.shape[0]
    node = block.shape[0] + leaf
    records, width = tree.filled[leaf], block.shape[1] - 1
    bush, lane = tree.bush[leaf // BUSH], leaf % BUSH
    changed = False
    for j in range(attributes):
        if record[j] == box[node, j] or record[j] == box[node, attributes + j]:
            lowest = highest = block[leaf, j, 0]
            for i in range(LEAF):
                lowest = min(lowest, block[leaf, j, i])
                highest = max(highest, block[leaf, j, i])
            if records == 0:
                lowest, highest = np.inf, -np.inf
            if lowest != box[node, j] or highest != box[node, attributes + j]:
                changed = True
                box[node, j], box[node, attributes + j] = lowest, highest
                bush[j, lane], bush[attributes + j, lane] = lowest, highest
    radius = -1.0
    for i in range(records):
        radius = max(radius, block[leaf, width, i])
    if radius != box[node, 2 * attributes]:
        box[node, 2 * attributes] = radius
        bush[2 * attributes, lane] = radius
        changed = True
    if tree.first[node] == row:
        smallest = NO_ROW
        for i in range(records):
            smallest = min(smallest, tree.row[leaf, i])
        tree.first[node] = smallest
        changed = True
    return changed


@njit(**INNER, fastmath=_NO_NAN)
def remove(tree, record, row):
    """Remove a record from the tree; `record` is its values, float64 (d,).

    Cost: a leaf's block, and log n at most.
    """
    box, first = tree.box, tree.first
    attributes = tree.centre.shape[0]
    leaf, slot = tree.slot_of_row[row] // LEAF, tree.slot_of_row[row] % LEAF
    tree.filled[leaf] -= 1
    tree.slot_of_row[row] = -1
    _free_slot(tree, leaf, slot, tree.filled[leaf])
    changed = _describe_leaf_without(tree, leaf, record, row)
    node = (tree.block.shape[0] + leaf) >> 1
    while changed and node >= 1:
        changed = False
        left, right = 2 * node, 2 * node + 1
        for j in range(attributes):
            value = min(box[left, j], box[right, j])
            if value != box[node, j]:
                box[node, j] = value
                changed = True
        for j in range(attributes, 2 * attributes + 1):
            value = max(box[left, j], box[right, j])
            if value != box[node, j]:
                box[node, j] = value
                changed = True
        smallest = min(first[left], first[right])
        if smallest != first[node]:
            first[node] = smallest
            changed = True
        node >>= 1


@njit(**INNER)
def mark_removed(tree, row):
    """Hide a record from all queries.

    It stays in its leaf until `compact_leaves`, which must be the next change.
    """
    position = tree.slot_of_row[row]
    tree.row[position // LEAF, position % LEAF] = NO_ROW
    tree.slot_of_row[row] = -1


@njit(**FROM_PYTHON, fastmath=_NO_NAN)
def compact_leaves(tree, dirty, root):
    """Remove the marked records from the `dirty` leaves below `root`.

    `dirty` is uint8 by leaf. Queries skip marked records, so many can be marked first and removed in one pass, each
    subtree
    by a thread.
    """
    box, first, block = tree.box, tree.first, tree.block
    attributes = tree.centre.shape[0]
    leaves, width = block.shape[0], block.shape[1] - 1
    start, stop = root, root + 1
    while start < leaves:
        start, stop = 2 * start, 2 * stop
    touched = np.zeros(stop - start, np.uint8)  # of the nodes of a level
    for node in range(start, stop):
        leaf = node - leaves
        if dirty[leaf] == 0:
            continue
        dirty[leaf] = 0
        touched[node - start] = 1
        used = 0
        smallest = NO_ROW
        for slot in range(tree.filled[leaf]):
            row = tree.row[leaf, slot]
            if row != NO_ROW:
                if used < slot:
                    tree.row[leaf, used] = row
                    tree.slot_of_row[row] = LEAF * leaf + used
                    for j in range(width + 1):
                        block[leaf, j, used] = block[leaf, j, slot]
                smallest = min(smallest, row)
                used += 1
        tree.filled[leaf] = used
        first[node] = smallest
        for j in range(width + 1):
            for slot in range(used, LEAF):
                block[leaf, j, slot] = block[leaf, j, 0]
        for slot in range(used, LEAF):
            tree.row[leaf, slot] = NO_ROW
        for j in range(attributes):
            lowest = highest = block[leaf, j, 0]
            for slot in range(LEAF):
                lowest = min(lowest, block[leaf, j, slot])
                highest = max(highest, block[leaf, j, slot])
            box[node, j], box[node, attributes + j] = (lowest, highest) if used else (np.inf, -np.inf)
        radius = block[leaf, width, 0]
        for slot in range(LEAF):
            radius = max(radius, block[leaf, width, slot])
        box[node, 2 * attributes] = radius if used else -1.0
        _copy_box_to_bush(tree, leaf)
    while start > root:
        start, stop = start >> 1, stop >> 1
        for node in range(start, stop):
            at = node - start
            touched[at] = touched[2 * at] | touched[2 * at + 1]
            if touched[at]:
                _describe(tree, node)


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def least_distance(box, node, query):
    """Return a lower bound of the squared distances to a node's records.

    It is the squared distance from `query` to the node's box; infinite for a node without records.
    """
    attributes = query.shape[0]
    total = 0.0
    for j in range(attributes):
        step = max(max(box[node, j] - query[j], query[j] - box[node, attributes + j]), 0.0)
        total += step * step
    return total


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def _largest_distance(box, node, centre, opposite, weight, squares):
    """Return an upper bound of the squared distances to a node's records.

    By its box and its radius. With x and q seen from the centre and any weight a > 0:
    |x - q|² = |q|² + |q|²/a + (1 + a)|x|² - a|x + q/a|². The subtracted term is least for the point of the box next to
    `opposite`, -q/a; |x|² is at most the node's radius; `squares` is the part that does not depend on x. With
    a = |q| / radius, `opposite` lies where a farthest record would.
    """
    attributes = centre.shape[0]
    near = 0.0
    for j in range(attributes):
        low, high = box[node, j] - centre[j], box[node, attributes + j] - centre[j]
        step = max(max(low - opposite[j], opposite[j] - high), 0.0)
        near += step * step
    upper = squares + (1.0 + weight) * box[node, 2 * attributes]
    return upper - weight * near + _ROUNDING * (upper + weight * near)


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def least_distances(bush, number, query, bound):
    """Compute `least_distance` of the leaves of a bush, into `bound`.

    `bound` is float64 (16,).
    """
    attributes, lanes = query.shape[0], bound.shape[0]
    for i in range(lanes):
        bound[i] = 0.0
    for j in range(attributes):
        value = query[j]
        for i in range(lanes):
            step = max(max(bush[number, j, i] - value, value - bush[number, attributes + j, i]), 0.0)
            bound[i] += step * step


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def _largest_distances(bush, number, centre, opposite, weight, squares, bound):
    """Compute `_largest_distance` of the leaves of a bush, into `bound`.

    `bound` is float64 (16,); -1 for an empty leaf.
    """
    attributes, lanes = centre.shape[0], bound.shape[0]
    for i in range(lanes):
        bound[i] = 0.0
    for j in range(attributes):
        middle, value = centre[j], opposite[j]
        for i in range(lanes):
            low, high = bush[number, j, i] - middle, bush[number, attributes + j, i] - middle
            step = max(max(low - value, value - high), 0.0)
            bound[i] += step * step
    for i in range(lanes):
        radius = bush[number, 2 * attributes, i]
        upper = squares + (1.0 + weight) * radius
        near = bound[i]
        bound[i] = upper - weight * near + _ROUNDING * (upper + weight * near) if radius >= 0.0 else -1.0


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def leaf_distances(block, leaf, query, distance):
    """Compute squared distances from `query` to the 32 slots of a leaf.

    Two attributes at a time in column order.
    """
    attributes = query.shape[0]
    first, second = query[0], query[1] if attributes > 1 else 0.0
    for i in range(LEAF):
        step = block[leaf, 0, i] - first
        other = block[leaf, 1, i] - second
        distance[i] = step * step + other * other
    for j in range(2, attributes, 2):
        first, second = query[j], query[j + 1] if j + 1 < attributes else 0.0
        for i in range(LEAF):
            step = block[leaf, j, i] - first
            other = block[leaf, j + 1, i] - second
            distance[i] = (distance[i] + step * step) + other * other


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def any_within(distance, limit):
    """Return whether any of these distances is at most `limit`.

    They are counted: a search for the minimum would not be vectorized.
    """
    count = 0
    for i in range(len(distance)):
        count += distance[i] <= limit
    return count > 0


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def _any_beyond(distance, least):
    """Return whether any of these distances is at least `least`."""
    count = 0
    for i in range(len(distance)):
        count += distance[i] >= least
    return count > 0


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def nearest_first(lows, worst, visit_order):
    """Sort the leaves of a bush with a bound of at most `worst`.

    The least bound first, into `visit_order`; returns their number.
    """
    waiting = 0
    for i in range(BUSH):
        if lows[i] <= worst and lows[i] < np.inf:
            position = waiting
            while position > 0 and lows[visit_order[position - 1]] > lows[i]:
                visit_order[position] = visit_order[position - 1]
                position -= 1
            visit_order[position] = i
            waiting += 1
    return waiting


@njit(**INNER, fastmath=_NO_NAN)
def nearest(tree, query, wanted, scratch):
    """Find the `wanted` records nearest to `query` by (distance, row).

    The answer is in scratch.distance and scratch.row. Returns the number found (fewer than wanted only where the tree
    has
    fewer). `query` is float64 (d,). Cost: log n in practice for few attributes, n in the worst case.
    """
    block, box, filled, first = tree.block, tree.box, tree.filled, tree.first
    stack, bounds, lows, distance = scratch.node, scratch.bound, scratch.bush, scratch.leaf
    visit_order = scratch.visit_order
    best, rows = scratch.distance, scratch.row
    leaves, bushes = block.shape[0], tree.bush.shape[0]
    found = 0
    if wanted == 0 or first[1] == NO_ROW:
        return found
    worst, worst_row = np.inf, NO_ROW
    stack[0], bounds[0] = 1, 0.0
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if bounds[depth] > worst or (bounds[depth] == worst and first[node] >= worst_row):
            continue
        while node < bushes:
            near, far = 2 * node, 2 * node + 1
            near_bound = least_distance(box, near, query)
            far_bound = least_distance(box, far, query)
            if far_bound < near_bound:
                near, far = far, near
                near_bound, far_bound = far_bound, near_bound
            if far_bound < worst or (far_bound == worst and first[far] < worst_row):
                stack[depth], bounds[depth] = far, far_bound
                depth += 1
            node = near
            if near_bound > worst or (near_bound == worst and first[near] >= worst_row):
                node = 0
                break
        if node == 0:
            continue
        least_distances(tree.bush, node - bushes, query, lows)
        for lane in visit_order[: nearest_first(lows, worst, visit_order)]:
            if lows[lane] > worst:
                break
            leaf = BUSH * (node - bushes) + lane
            if lows[lane] == worst and first[leaves + leaf] >= worst_row:
                continue
            leaf_distances(block, leaf, query, distance)
            if not any_within(distance, worst):
                continue
            for i in range(filled[leaf]):
                value, row = distance[i], tree.row[leaf, i]
                if (value < worst or (value == worst and row < worst_row)) and row != NO_ROW:
                    if found < wanted:
                        found += 1
                    position = found - 1
                    while position > 0 and (
                        best[position - 1] > value or (best[position - 1] == value and rows[position - 1] > row)
                    ):
                        best[position], rows[position] = best[position - 1], rows[position - 1]
                        position -= 1
                    best[position], rows[position] = value, row
                    if found == wanted:
                        worst, worst_row = best[wanted - 1], rows[wanted - 1]
    return found


@njit(**INNER, fastmath=_NO_NAN)
def farthest(tree, query, wanted, scratch):
    """Find the `wanted` records farthest from `query`.

    Ties go to the smallest row. The answer is in scratch.distance and scratch.row. Returns the number found (fewer than
    wanted only where the tree has fewer). `query` is float64 (d,). Cost: log n in practice where few records are
    outlying,
    n in the worst case.
    """
    block, box, filled, first, centre = tree.block, tree.box, tree.filled, tree.first, tree.centre
    stack, bounds, highs, distance = scratch.node, scratch.bound, scratch.bush, scratch.leaf
    visit_order = scratch.visit_order
    best, rows = scratch.distance, scratch.row
    leaves, bushes, attributes = block.shape[0], tree.bush.shape[0], query.shape[0]
    found = 0
    if wanted == 0 or first[1] == NO_ROW:
        return found
    offset = query - centre
    square = 0.0
    for j in range(attributes):
        square += offset[j] * offset[j]
    radius = box[1, 2 * attributes]
    weight = max(np.sqrt(square / radius), _MIN_WEIGHT) if radius > 0.0 else 1.0
    opposite = -offset / weight
    squares = square + square / weight
    least, least_row = -1.0, NO_ROW
    stack[0], bounds[0] = 1, np.inf
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if bounds[depth] < least or (bounds[depth] == least and first[node] > least_row):
            continue
        while node < bushes:
            far, near = 2 * node, 2 * node + 1
            far_bound = near_bound = -1.0
            if box[far, 2 * attributes] >= 0.0:
                far_bound = _largest_distance(box, far, centre, opposite, weight, squares)
            if box[near, 2 * attributes] >= 0.0:
                near_bound = _largest_distance(box, near, centre, opposite, weight, squares)
            if near_bound > far_bound:
                near, far = far, near
                near_bound, far_bound = far_bound, near_bound
            if near_bound > least or (near_bound == least and first[near] < least_row):
                stack[depth], bounds[depth] = near, near_bound
                depth += 1
            node = far
            if far_bound < least or (far_bound == least and first[far] > least_row):
                node = 0
                break
        if node == 0:
            continue
        _largest_distances(tree.bush, node - bushes, centre, opposite, weight, squares, highs)
        waiting = 0
        for i in range(BUSH):
            if highs[i] >= least and highs[i] >= 0.0:
                position = waiting
                while position > 0 and highs[visit_order[position - 1]] < highs[i]:
                    visit_order[position] = visit_order[position - 1]
                    position -= 1
                visit_order[position] = i
                waiting += 1
        for lane in visit_order[:waiting]:
            if highs[lane] < least:
                break
            leaf = BUSH * (node - bushes) + lane
            if highs[lane] == least and first[leaves + leaf] > least_row:
                continue
            leaf_distances(block, leaf, query, distance)
            if not _any_beyond(distance, least):
                continue
            for i in range(filled[leaf]):
                value, row = distance[i], tree.row[leaf, i]
                if (value > least or (value == least and row < least_row)) and row != NO_ROW:
                    if found < wanted:
                        found += 1
                    position = found - 1
                    while position > 0 and (
                        best[position - 1] < value or (best[position - 1] == value and rows[position - 1] > row)
                    ):
                        best[position], rows[position] = best[position - 1], rows[position - 1]
                        position -= 1
                    best[position], rows[position] = value, row
                    if found == wanted:
                        least, least_row = best[wanted - 1], rows[wanted - 1]
    return found
