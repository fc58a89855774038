"""A k-d tree of records that supports exact nearest and farthest queries while records leave.

The tree is complete: the nodes are numbered as in a heap (children of i are 2i and 2i+1) and the leaves hold up
to 32 records as one column-major block, so that a leaf's distances are computed by vector instructions. Each
node keeps how many records it still holds, their bounding box, the largest squared distance to a fixed centre
and the smallest row. When a record leaves, only what it defined is computed again, from its leaf upwards.

Every answer equals that of a scan over all records: distances are squared Euclidean, added attribute by
attribute in column order, and ties go to the smallest row. The lower bounds are rounded like the distances they
bound (rounding is monotone), so no slack is needed there. After Bentley, "Multidimensional binary search trees
used for associative searching" (1975), and Friedman, Bentley and Finkel (1977).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.threads import allowed, spread

LEAF = 32
"""Records in a full leaf."""

NO_ROW = np.int32(2**31 - 1)
"""Stands for 'no record'; larger than every row, so it loses every tie."""

_ROUNDING = 1e-12  # far above the rounding error of a bound that is a difference of such squares
_LEAST_WEIGHT = 1e-6
_NO_NAN = {"nnan", "nsz"}  # lets minima and maxima become vector instructions; never reorders a sum
_MOST_PARTS = 4
_ROWS_WORTHTHREADS = 20_000


class KdTree(NamedTuple):
    """A k-d tree over some rows of a matrix with d attributes; `leaves` is a power of two.

    block : float64 (leaves, w + 1, 32), the records of a leaf; w is d rounded up to even, a padding column holds
        zeros, the last row holds the squared distance to `centre`. A free slot repeats slot 0.
    row : int32 (leaves, 32), the rows of the records
    filled : int32 (leaves,), records left in each leaf
    box : float64 (2 leaves, 2 d + 1), per node the minima, the maxima and the largest squared distance to `centre`;
        without records infinity, minus infinity and -1
    first : int32 (2 leaves,), the smallest row below each node, NO_ROW where there is none
    place : int32 (rows of the matrix,), 32 leaf + slot of each row, -1 where the row is not in the tree
    centre : float64 (d,)
    """

    block: np.ndarray
    row: np.ndarray
    filled: np.ndarray
    box: np.ndarray
    first: np.ndarray
    place: np.ndarray
    centre: np.ndarray


class NearestScratch(NamedTuple):
    """Memory that queries overwrite: a stack, the distances of one leaf, and the answer (nearest first)."""

    node: np.ndarray
    bound: np.ndarray
    leaf: np.ndarray
    distance: np.ndarray
    row: np.ndarray


def make_scratch(answers: int) -> NearestScratch:
    """Memory for queries that ask for at most `answers` records."""
    answers = max(1, answers)
    return NearestScratch(
        np.empty(128, np.int64),
        np.empty(128),
        np.empty(LEAF),
        np.empty(answers),
        np.empty(answers, np.int32),
    )


@njit(**INNER)
def _select(keys, rows, start, stop, kth):
    """Permute keys and rows in [start, stop) so that position `kth` is in place by (key, row) (Hoare's find)."""
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
    """The attribute with the widest range, from a sample where there are many records (any split is correct)."""
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


@njit(**FROM_PYTHON)
def _arrange(points, rows, keys, bounds, root, below):
    """Sort `rows` into the nodes at and below `root` that are smaller than `below`; fills `bounds` (start, stop)."""
    first, last = root, root
    while first < below:
        for node in range(first, last + 1):
            start, stop = bounds[node]
            middle = (start + stop) >> 1
            if stop - start > 1:
                attribute = _widest(points, rows, start, stop)
                for i in range(start, stop):
                    keys[i] = points[rows[i], attribute]
                _select(keys, rows, start, stop, middle)
            bounds[2 * node] = (start, middle)
            bounds[2 * node + 1] = (middle, stop)
        first, last = 2 * first, 2 * last + 1


@njit(**FROM_PYTHON, fastmath=_NO_NAN)
def _fill(tree, points, rows, bounds, first_leaf, last_leaf):
    """Copy the records of the leaves [first_leaf, last_leaf) into their blocks and describe these leaves."""
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
            row = rows[start + slot]
            tree.row[leaf, slot] = row
            tree.place[row] = LEAF * leaf + slot
            smallest = min(smallest, row)
            square = 0.0
            for j in range(attributes):
                value = points[row, j]
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
        for slot in range(stop - start, LEAF):
            tree.row[leaf, slot] = NO_ROW
            for j in range(width + 1):
                block[leaf, j, slot] = block[leaf, j, 0] if stop > start else 0.0


@njit(**FROM_PYTHON)
def _summarise(tree):
    """Describe the inner nodes from their children, from the last to the root."""
    box = tree.box
    attributes = tree.centre.shape[0]
    for node in range(tree.block.shape[0] - 1, 0, -1):
        left, right = 2 * node, 2 * node + 1
        tree.first[node] = min(tree.first[left], tree.first[right])
        for j in range(attributes):
            box[node, j] = min(box[left, j], box[right, j])
            box[node, attributes + j] = max(box[left, attributes + j], box[right, attributes + j])
        box[node, 2 * attributes] = max(box[left, 2 * attributes], box[right, 2 * attributes])


def build_tree(points: np.ndarray, rows: np.ndarray, centre: np.ndarray) -> KdTree:
    """A tree over the given rows of `points`, on several threads where there are many.

    Parameters
    ----------
    points : float64 (n, d), C-contiguous, finite
    rows : int32 (m,), distinct rows of `points`; permuted into the order of the leaves
    centre : float64 (d,), any point; a centre near the middle of the records makes the farthest query faster

    Cost: m log m time, about 8 (d + 3) bytes a record.
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
        first=np.empty(2 * leaves, np.int32),
        place=np.full(points.shape[0], -1, np.int32),
        centre=np.array(centre, np.float64),
    )
    keys = np.empty(records)
    bounds = np.zeros((2 * leaves, 2), np.int64)
    bounds[1] = (0, records)
    parts = 1
    while 2 * parts <= min(_MOST_PARTS, allowed()) and parts < leaves and records >= _ROWS_WORTHTHREADS:
        parts *= 2
    if parts == 1:
        _arrange(points, rows, keys, bounds, 1, leaves)
        _fill(tree, points, rows, bounds, 0, leaves)
    else:
        _arrange(points, rows, keys, bounds, 1, parts)
        share = leaves // parts

        def build_part(part: int) -> None:
            _arrange(points, rows, keys, bounds, parts + part, leaves)
            _fill(tree, points, rows, bounds, share * part, share * (part + 1))

        spread(build_part, range(parts))
    _summarise(tree)
    return tree


@njit(**INNER, fastmath=_NO_NAN)
def _take_slot(tree, leaf, slot, last):
    """Move the last record of a leaf into a slot that is free now; free slots repeat slot 0."""
    block = tree.block
    if slot != last:
        moved = tree.row[leaf, last]
        tree.row[leaf, slot] = moved
        tree.place[moved] = LEAF * leaf + slot
    tree.row[leaf, last] = NO_ROW
    end = LEAF if slot == 0 else last + 1
    for j in range(block.shape[1]):
        block[leaf, j, slot] = block[leaf, j, last]
        for free in range(last, end):
            block[leaf, j, free] = block[leaf, j, 0]


@njit(**INNER, fastmath=_NO_NAN)
def _describe_leaf_without(tree, leaf, record, row):
    """After `record` left a leaf: compute again what it defined. Returns whether anything changed."""
    block, box = tree.block, tree.box
    attributes = tree.centre.shape[0]
    node = block.shape[0] + leaf
    records, width = tree.filled[leaf], block.shape[1] - 1
    changed = False
    for j in range(attributes):
        if record[j] == box[node, j] or record[j] == box[node, attributes + j]:
            lowest = highest = block[leaf, j, 0]
            for i in range(LEAF):
                lowest = min(lowest, block[leaf, j, i])
                highest = max(highest, block[leaf, j, i])
            if records == 0:
                lowest, highest = np.inf, -np.inf
            changed |= lowest != box[node, j] or highest != box[node, attributes + j]
            box[node, j], box[node, attributes + j] = lowest, highest
    radius = -1.0
    for i in range(records):
        radius = max(radius, block[leaf, width, i])
    if radius != box[node, 2 * attributes]:
        box[node, 2 * attributes] = radius
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
    """Take a record out of the tree; `record` is its values, float64 (d,). Cost: a leaf's block, and log n at most."""
    box, first = tree.box, tree.first
    attributes = tree.centre.shape[0]
    leaf, slot = tree.place[row] // LEAF, tree.place[row] % LEAF
    tree.filled[leaf] -= 1
    tree.place[row] = -1
    _take_slot(tree, leaf, slot, tree.filled[leaf])
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


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def least_distance(box, node, query):
    """Lower bound of the squared distances from `query` to the records of a node: that to its box.

    It is infinite for a node without records.
    """
    attributes = query.shape[0]
    total = 0.0
    for j in range(attributes):
        step = max(max(box[node, j] - query[j], query[j] - box[node, attributes + j]), 0.0)
        total += step * step
    return total


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def _largest_distance(box, node, centre, opposite, weight, squares):
    """Upper bound of the squared distances from a query to the records of a node, by its box and its radius.

    With x and q seen from the centre and any weight a > 0: |x - q|² = |q|² + |q|²/a + (1 + a)|x|² - a|x + q/a|². What
    is subtracted is least for the point of the box next to `opposite`, -q/a; |x|² is at most the node's radius;
    `squares` is what does not depend on x. With a = |q| / radius, `opposite` lies where a farthest record would.
    """
    attributes = centre.shape[0]
    near = 0.0
    for j in range(attributes):
        low, high = box[node, j] - centre[j], box[node, attributes + j] - centre[j]
        step = max(max(low - opposite[j], opposite[j] - high), 0.0)
        near += step * step
    most = squares + (1.0 + weight) * box[node, 2 * attributes]
    return most - weight * near + _ROUNDING * (most + weight * near)


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def leaf_distances(block, leaf, query, distance):
    """Squared distances from `query` to the 32 slots of a leaf, two attributes at a time in column order."""
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


@njit(**INNER, fastmath=_NO_NAN)
def nearest(tree, query, wanted, scratch):
    """The `wanted` records nearest to `query` by (distance, row), into scratch.distance and scratch.row.

    Returns how many were found (fewer than wanted only where the tree holds fewer). `query` is float64 (d,).
    Cost: log n in practice for few attributes, n in the worst case.
    """
    block, box, filled, first = tree.block, tree.box, tree.filled, tree.first
    stack, bounds, distance = scratch.node, scratch.bound, scratch.leaf
    best, rows = scratch.distance, scratch.row
    leaves = block.shape[0]
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
        while node < leaves:
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
        leaf = node - leaves
        leaf_distances(block, leaf, query, distance)
        closest = distance[0]
        for i in range(LEAF):
            closest = min(closest, distance[i])
        if closest > worst:
            continue
        for i in range(filled[leaf]):
            value, row = distance[i], tree.row[leaf, i]
            if value < worst or (value == worst and row < worst_row):
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
def farthest(tree, query, scratch):
    """The record farthest from `query`, ties to the smallest row: (squared distance, row), (-1, NO_ROW) if none.

    Cost: log n in practice where few records are outlying, n in the worst case.
    """
    block, box, filled, first, centre = tree.block, tree.box, tree.filled, tree.first, tree.centre
    stack, bounds, distance = scratch.node, scratch.bound, scratch.leaf
    leaves, attributes = block.shape[0], query.shape[0]
    best, best_row = -1.0, NO_ROW
    if first[1] == NO_ROW:
        return best, best_row
    offset = query - centre
    square = 0.0
    for j in range(attributes):
        square += offset[j] * offset[j]
    radius = box[1, 2 * attributes]
    weight = max(np.sqrt(square / radius), _LEAST_WEIGHT) if radius > 0.0 else 1.0
    opposite = -offset / weight
    squares = square + square / weight
    stack[0], bounds[0] = 1, np.inf
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if bounds[depth] < best or (bounds[depth] == best and first[node] > best_row):
            continue
        while node < leaves:
            far, near = 2 * node, 2 * node + 1
            far_bound = near_bound = -1.0
            if box[far, 2 * attributes] >= 0.0:
                far_bound = _largest_distance(box, far, centre, opposite, weight, squares)
            if box[near, 2 * attributes] >= 0.0:
                near_bound = _largest_distance(box, near, centre, opposite, weight, squares)
            if near_bound > far_bound:
                near, far = far, near
                near_bound, far_bound = far_bound, near_bound
            if near_bound > best or (near_bound == best and first[near] < best_row):
                stack[depth], bounds[depth] = near, near_bound
                depth += 1
            node = far
            if far_bound < best or (far_bound == best and first[far] > best_row):
                node = 0
                break
        if node == 0:
            continue
        leaf = node - leaves
        leaf_distances(block, leaf, query, distance)
        widest = distance[0]
        for i in range(LEAF):
            widest = max(widest, distance[i])
        if widest >= best:
            for i in range(filled[leaf]):
                if distance[i] > best or (distance[i] == best and tree.row[leaf, i] < best_row):
                    best, best_row = distance[i], tree.row[leaf, i]
    return best, best_row
