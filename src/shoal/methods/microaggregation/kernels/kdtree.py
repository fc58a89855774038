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

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.runtime.threads import allowed, spread

LEAF = 32
"""Records in a full leaf."""

BUSH = 16
"""Leaves that are bounded together, by vector instructions."""

NO_ROW = np.int32(2**31 - 1)
"""Stands for 'no record'; larger than every row, so it loses every tie."""

_ROUNDING = 1e-12  # far above the rounding error of a bound that is a difference of such squares
_LEAST_WEIGHT = 1e-6
_NO_NAN = {"nnan", "nsz"}  # lets minima and maxima become vector instructions; never reorders a sum
_MOST_PARTS = 4
_ROWS_WORTHTHREADS = 20_000
_AT_HAND = 8192  # so many records lie in a core's own memory


class KdTree(NamedTuple):
    """A k-d tree over some rows of a matrix with d attributes; `leaves` is a power of two.

    block : float64 (leaves, w + 1, 32), the records of a leaf; w is d rounded up to even, a padding column holds
        zeros, the last row holds the squared distance to `centre`. A free slot repeats slot 0.
    row : int32 (leaves, 32), the rows of the records; NO_ROW for one that was let go
    filled : int32 (leaves,), records left in each leaf
    box : float64 (2 leaves, 2 d + 1), per node the minima, the maxima and the largest squared distance to `centre`;
        without records infinity, minus infinity and -1
    bush : float64 (leaves / 16, 2 d + 1, 16), the boxes of the leaves once more, those of 16 leaves side by side
    first : int32 (2 leaves,), the smallest row below each node, NO_ROW where there is none
    place : int32 (rows of the matrix,), 32 leaf + slot of each row, -1 where the row is not in the tree
    centre : float64 (d,)
    """

    block: np.ndarray
    row: np.ndarray
    filled: np.ndarray
    box: np.ndarray
    bush: np.ndarray
    first: np.ndarray
    place: np.ndarray
    centre: np.ndarray


class NearestScratch(NamedTuple):
    """Memory that queries overwrite: a stack, the bounds of a bush and the turns of its leaves, the distances of a
    leaf, and the answer in its order."""

    node: np.ndarray
    bound: np.ndarray
    bush: np.ndarray
    turn: np.ndarray
    leaf: np.ndarray
    distance: np.ndarray
    row: np.ndarray


def make_scratch(answers: int) -> NearestScratch:
    """Memory for queries that ask for at most `answers` records."""
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


@njit(**INNER)
def _arrange(points, rows, keys, bounds, base, root, below):
    """Sort `rows` into the nodes at and below `root` that are smaller than `below`; fills `bounds` (start, stop).

    Places in `rows` and `keys` are counted from `base`.
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
def _lay_out(tree, leaf):
    """Put the box of a leaf into its bush."""
    node = tree.block.shape[0] + leaf
    for j in range(tree.box.shape[1]):
        tree.bush[leaf // BUSH, j, leaf % BUSH] = tree.box[node, j]


@njit(**INNER, fastmath=_NO_NAN)
def _fill(tree, points, places, rows, bounds, base, first_leaf, last_leaf):
    """Copy the records of the leaves [first_leaf, last_leaf) into their blocks and describe these leaves.

    `places` are places in `points` and in `rows`; they are counted from `base`.
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
            place = places[start - base + slot]
            row = rows[place]
            tree.row[leaf, slot] = row
            tree.place[row] = LEAF * leaf + slot
            smallest = min(smallest, row)
            square = 0.0
            for j in range(attributes):
                value = points[place, j]
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
        _lay_out(tree, leaf)
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
    """Sort `rows` into the nodes below `root`, down to the leaves, and fill these.

    Records lie anywhere in memory. Those of a node that has few are copied side by side first: what is below it is
    then sorted at hand.
    """
    leaves = tree.block.shape[0]
    below, share = root, 1  # nodes of one level below the root, and how many there are
    while bounds[root, 1] - bounds[root, 0] > share * _AT_HAND and below < leaves:
        below, share = 2 * below, 2 * share
    _arrange(points, rows, keys, bounds, 0, root, below)
    most = 0
    for node in range(below, below + share):
        most = max(most, bounds[node, 1] - bounds[node, 0])
    here, mine, places = np.empty((most, points.shape[1])), np.empty(most, np.int32), np.empty(most, np.int32)
    for node in range(below, below + share):
        start, stop = bounds[node]
        for i in range(stop - start):
            mine[i], places[i] = rows[start + i], i
            for j in range(points.shape[1]):
                here[i, j] = points[mine[i], j]
        first, last = node, node + 1
        while first < leaves:
            first, last = 2 * first, 2 * last
        _arrange(here, places, keys[start:stop], bounds, start, node, leaves)
        _fill(tree, here, places, mine, bounds, start, first - leaves, last - leaves)
        for i in range(stop - start):
            rows[start + i] = mine[places[i]]


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
    """Describe the inner nodes before `below` from their children, from the last to the root."""
    for node in range(below - 1, 0, -1):
        _describe(tree, node)


def build_tree(
    points: np.ndarray, rows: np.ndarray, centre: np.ndarray, work: Callable[..., object] = spread
) -> KdTree:
    """A tree over the given rows of `points`, on several threads where there are many.

    Parameters
    ----------
    points : float64 (n, d), C-contiguous, finite
    rows : int32 (m,), distinct rows of `points`; permuted into the order of the leaves
    centre : float64 (d,), any point; a centre near the middle of the records makes the farthest query faster
    work : what spreads work over threads

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
        bush=np.empty((-(-leaves // BUSH), 2 * attributes + 1, BUSH)),
        first=np.empty(2 * leaves, np.int32),
        place=np.full(points.shape[0], -1, np.int32),
        centre=np.array(centre, np.float64),
    )
    if leaves < BUSH:  # leaves that there are not are empty
        tree.bush[:, :attributes], tree.bush[:, attributes:-1], tree.bush[:, -1] = np.inf, -np.inf, -1.0
    keys = np.empty(records)
    bounds = np.zeros((2 * leaves, 2), np.int64)
    bounds[1] = (0, records)
    parts = 1
    while 2 * parts <= min(_MOST_PARTS, allowed()) and parts < leaves and records >= _ROWS_WORTHTHREADS:
        parts *= 2
    _part(points, rows, keys, bounds, parts)
    work(lambda part: _grow(tree, points, rows, keys, bounds, parts + part), range(parts))
    summarise(tree, leaves)
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


@njit(**INNER)
def let_go(tree, row):
    """Have no query find a record any more. It stays in its leaf until `tidy`, and only that may follow."""
    place = tree.place[row]
    tree.row[place // LEAF, place % LEAF] = NO_ROW
    tree.place[row] = -1


@njit(**FROM_PYTHON, fastmath=_NO_NAN)
def tidy(tree, worn, root):
    """Take out the records that were let go, of the leaves below `root` that are `worn` (uint8 by leaf).

    Queries pass such records over: many can be let go first and be taken out together, each subtree by a thread.
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
        if worn[leaf] == 0:
            continue
        worn[leaf] = 0
        touched[node - start] = 1
        kept = 0
        smallest = NO_ROW
        for slot in range(tree.filled[leaf]):
            row = tree.row[leaf, slot]
            if row != NO_ROW:
                if kept < slot:
                    tree.row[leaf, kept] = row
                    tree.place[row] = LEAF * leaf + kept
                    for j in range(width + 1):
                        block[leaf, j, kept] = block[leaf, j, slot]
                smallest = min(smallest, row)
                kept += 1
        tree.filled[leaf] = kept
        first[node] = smallest
        for j in range(width + 1):
            for slot in range(kept, LEAF):
                block[leaf, j, slot] = block[leaf, j, 0]
        for slot in range(kept, LEAF):
            tree.row[leaf, slot] = NO_ROW
        for j in range(attributes):
            lowest = highest = block[leaf, j, 0]
            for slot in range(LEAF):
                lowest = min(lowest, block[leaf, j, slot])
                highest = max(highest, block[leaf, j, slot])
            box[node, j], box[node, attributes + j] = (lowest, highest) if kept else (np.inf, -np.inf)
        radius = block[leaf, width, 0]
        for slot in range(LEAF):
            radius = max(radius, block[leaf, width, slot])
        box[node, 2 * attributes] = radius if kept else -1.0
        _lay_out(tree, leaf)
    while start > root:
        start, stop = start >> 1, stop >> 1
        for node in range(start, stop):
            at = node - start
            touched[at] = touched[2 * at] | touched[2 * at + 1]
            if touched[at]:
                _describe(tree, node)


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
def least_distances(bush, number, query, bound):
    """What `least_distance` is of the leaves of a bush, into `bound`, float64 (16,)."""
    attributes, many = query.shape[0], bound.shape[0]
    for i in range(many):
        bound[i] = 0.0
    for j in range(attributes):
        value = query[j]
        for i in range(many):
            step = max(max(bush[number, j, i] - value, value - bush[number, attributes + j, i]), 0.0)
            bound[i] += step * step


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def _largest_distances(bush, number, centre, opposite, weight, squares, bound):
    """What `_largest_distance` is of the leaves of a bush, into `bound`, float64 (16,); -1 for an empty leaf."""
    attributes, many = centre.shape[0], bound.shape[0]
    for i in range(many):
        bound[i] = 0.0
    for j in range(attributes):
        middle, value = centre[j], opposite[j]
        for i in range(many):
            low, high = bush[number, j, i] - middle, bush[number, attributes + j, i] - middle
            step = max(max(low - value, value - high), 0.0)
            bound[i] += step * step
    for i in range(many):
        radius = bush[number, 2 * attributes, i]
        most = squares + (1.0 + weight) * radius
        near = bound[i]
        bound[i] = most - weight * near + _ROUNDING * (most + weight * near) if radius >= 0.0 else -1.0


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


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def any_within(distance, most):
    """Whether any of these distances is at most `most`; counted, for a least one would not be found by vectors."""
    count = 0
    for i in range(len(distance)):
        count += distance[i] <= most
    return count > 0


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def _any_beyond(distance, least):
    """Whether any of these distances is at least `least`."""
    count = 0
    for i in range(len(distance)):
        count += distance[i] >= least
    return count > 0


@njit(**INNER, inline="always", fastmath=_NO_NAN)
def nearest_first(lows, worst, turns):
    """The leaves of a bush whose bound is at most `worst`, the least bound first, into `turns`; returns how many."""
    waiting = 0
    for i in range(BUSH):
        if lows[i] <= worst and lows[i] < np.inf:
            position = waiting
            while position > 0 and lows[turns[position - 1]] > lows[i]:
                turns[position] = turns[position - 1]
                position -= 1
            turns[position] = i
            waiting += 1
    return waiting


@njit(**INNER, fastmath=_NO_NAN)
def nearest(tree, query, wanted, scratch):
    """The `wanted` records nearest to `query` by (distance, row), into scratch.distance and scratch.row.

    Returns how many were found (fewer than wanted only where the tree holds fewer). `query` is float64 (d,).
    Cost: log n in practice for few attributes, n in the worst case.
    """
    block, box, filled, first = tree.block, tree.box, tree.filled, tree.first
    stack, bounds, lows, distance = scratch.node, scratch.bound, scratch.bush, scratch.leaf
    turns = scratch.turn
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
        for turn in turns[: nearest_first(lows, worst, turns)]:
            if lows[turn] > worst:
                break
            leaf = BUSH * (node - bushes) + turn
            if lows[turn] == worst and first[leaves + leaf] >= worst_row:
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
    """The `wanted` records farthest from `query`, ties to the smallest row, into scratch.distance and scratch.row.

    Returns how many were found (fewer than wanted only where the tree holds fewer). `query` is float64 (d,).
    Cost: log n in practice where few records are outlying, n in the worst case.
    """
    block, box, filled, first, centre = tree.block, tree.box, tree.filled, tree.first, tree.centre
    stack, bounds, highs, distance = scratch.node, scratch.bound, scratch.bush, scratch.leaf
    turns = scratch.turn
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
    weight = max(np.sqrt(square / radius), _LEAST_WEIGHT) if radius > 0.0 else 1.0
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
                while position > 0 and highs[turns[position - 1]] < highs[i]:
                    turns[position] = turns[position - 1]
                    position -= 1
                turns[position] = i
                waiting += 1
        for turn in turns[:waiting]:
            if highs[turn] < least:
                break
            leaf = BUSH * (node - bushes) + turn
            if highs[turn] == least and first[leaves + leaf] > least_row:
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
