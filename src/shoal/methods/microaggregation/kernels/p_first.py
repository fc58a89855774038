"""Algorithm 2, p-sensitivity first, for every model that has rules.

A group starts with the record farthest from the centroid of the remaining records. While the model's rules fail, it
takes the nearest record that contributes to them (see `want_values`), then the nearest records until it has k.
When the remaining records cannot meet the model by themselves, each joins the group of the nearest centroid.

The nearest contributing record is found in the k-d tree with one bit set per node: the values that occur
below it. A subtree with none of the wanted values is skipped.

Domingo-Ferrer, Sebé and Solanas, "Microaggregation heuristics for p-sensitive k-anonymity", 2007, section 3.2.
Ties as in `shoal.methods.microaggregation.kernels.mdav`.
"""

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import (
    RuleEvaluator,
    Rules,
    add_row,
    all_rules_met,
    count_rows,
    failing_groups,
    make_evaluator,
    value_counts,
    want_values,
)
from shoal.methods.microaggregation.kernels.kdtree import LEAF, NO_ROW, leaf_distances, least_distance, nearest
from shoal.methods.microaggregation.kernels.unassigned import (
    GROUPS,
    REMAINING,
    centroids_of,
    join_nearest,
    leave,
    make_pool,
    next_seed,
    renew,
)

_MAX_WORDS = 16  # at most 1024 bits per node; further values share bits, which skips fewer subtrees but none wrongly


@njit(**INNER)
def _set_bit(bits, column):
    """Set the bit of a histogram column in bits, uint64 (words,)."""
    position = column % (64 * bits.shape[0])
    bits[position >> 6] |= np.uint64(1) << np.uint64(position & 63)


@njit(**INNER)
def _leaf_bits(tree, leaf, columns, bits):
    """Compute the bits of the values in a leaf, into `bits`, overwritten."""
    bits[:] = np.uint64(0)
    for i in range(tree.filled[leaf]):
        row = tree.row[leaf, i]
        for a in range(columns.shape[1]):
            if columns[row, a] >= 0:
                _set_bit(bits, columns[row, a])


@njit(**FROM_PYTHON)
def _all_bits(tree, columns, words):
    """Compute the bits of the values below each node.

    uint64 (2 leaves, words).
    """
    leaves = tree.block.shape[0]
    masks = np.zeros((2 * leaves, words), np.uint64)
    for leaf in range(leaves):
        _leaf_bits(tree, leaf, columns, masks[leaves + leaf])
    for node in range(leaves - 1, 0, -1):
        for word in range(words):
            masks[node, word] = masks[2 * node, word] | masks[2 * node + 1, word]
    return masks


@njit(**INNER)
def _renew_bits(tree, leaf, columns, masks, bits):
    """Update the bits of a leaf after a record has left it.

    Those of the nodes above are updated while they change.
    """
    node = tree.block.shape[0] + leaf
    _leaf_bits(tree, leaf, columns, bits)
    changed = False
    for word in range(len(bits)):
        changed |= masks[node, word] != bits[word]
        masks[node, word] = bits[word]
    node >>= 1
    while changed and node >= 1:
        changed = False
        for word in range(len(bits)):
            both = masks[2 * node, word] | masks[2 * node + 1, word]
            changed |= masks[node, word] != both
            masks[node, word] = both
        node >>= 1


@njit(**INNER)
def _has_wanted(masks, node, bits):
    """Return whether a node may contain a record with a wanted value."""
    for word in range(bits.shape[0]):  # noqa: SIM110 (compiled code has no generators)
        if masks[node, word] & bits[word]:
            return True
    return False


@njit(**INNER)
def _nearest_wanted(pool, masks, bits, columns, wanted, query):
    """Return the row nearest to `query` with a wanted value.

    By (distance, row); NO_ROW if there is none.
    """
    tree, scratch = pool.tree, pool.scratch
    block, box, filled, first = tree.block, tree.box, tree.filled, tree.first
    stack, bounds, distance = scratch.node, scratch.bound, scratch.leaf
    leaves = block.shape[0]
    best, best_row = np.inf, NO_ROW
    stack[0], bounds[0] = 1, 0.0
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if bounds[depth] > best or (bounds[depth] == best and first[node] > best_row):
            continue
        while node < leaves:
            near, far = 2 * node, 2 * node + 1
            near_useful = _has_wanted(masks, near, bits)
            far_useful = _has_wanted(masks, far, bits)
            near_bound = least_distance(box, near, query) if near_useful else np.inf
            far_bound = least_distance(box, far, query) if far_useful else np.inf
            if far_bound < near_bound:
                near, far = far, near
                near_bound, far_bound = far_bound, near_bound
                near_useful, far_useful = far_useful, near_useful
            if far_useful and (far_bound < best or (far_bound == best and first[far] < best_row)):
                stack[depth], bounds[depth] = far, far_bound
                depth += 1
            node = near
            if not near_useful or near_bound > best or (near_bound == best and first[near] > best_row):
                node = 0
                break
        if node == 0:
            continue
        leaf = node - leaves
        leaf_distances(block, leaf, query, distance)
        for i in range(filled[leaf]):
            row = tree.row[leaf, i]
            if distance[i] < best or (distance[i] == best and row < best_row):
                for a in range(columns.shape[1]):
                    if columns[row, a] >= 0 and wanted[columns[row, a]]:
                        best, best_row = distance[i], row
                        break
    return best_row


@njit(**INNER)
def _remove(pool, masks, bits, columns, left, row):
    """Remove a record from the pool and update what depends on it.

    These are the bits of its nodes and the histogram `left` of the remaining records.
    """
    leaf = pool.tree.slot_of_row[row] // LEAF
    leave(pool, row)
    _renew_bits(pool.tree, leaf, columns, masks, bits)
    add_row(left, columns, row, -1)


@njit(**FROM_PYTHON)
def _grow_groups(pool, judge, columns, masks, left, lacking, group):
    """Form groups until the pool is exhausted or must be renewed.

    Returns True where the remaining records fail the model, False where the pool must be renewed.
    """
    k = judge.rules.least[0]
    bits = np.zeros(masks.shape[1], np.uint64)
    wanted = np.zeros(len(left), np.bool_)
    histogram = np.zeros(len(left), np.int64)
    while pool.progress[REMAINING] >= max(1, k) and all_rules_met(judge, left):
        seed = next_seed(pool)
        if seed == NO_ROW:
            return False
        query, label = pool.points[seed], pool.progress[GROUPS]
        histogram[:] = 0
        size, row = 0, seed
        while True:
            _remove(pool, masks, bits, columns, left, np.int64(row))
            add_row(histogram, columns, row, 1)
            group[row] = label
            size += 1
            if all_rules_met(judge, histogram):
                break
            want_values(judge, histogram, lacking, wanted)
            bits[:] = np.uint64(0)
            for column in range(len(wanted)):
                if wanted[column]:
                    _set_bit(bits, column)
            row = _nearest_wanted(pool, masks, bits, columns, wanted, query)
            if row == NO_ROW:  # no remaining record contributes: take the nearest; the rules hold with all of them
                nearest(pool.tree, query, np.int64(1), pool.scratch)
                row = pool.scratch.row[0]
        found = nearest(pool.tree, query, k - size, pool.scratch) if size < k else 0
        for i in range(found):
            _remove(pool, masks, bits, columns, left, np.int64(pool.scratch.row[i]))
            group[pool.scratch.row[i]] = label
        pool.progress[GROUPS] += 1
    return True


@njit(**FROM_PYTHON)
def _merge_target(centroids, sizes, g):
    """Return the other group with the nearest centroid.

    Ties go to the smaller number; groups without records are skipped.
    """
    best, target = np.inf, -1
    for other in range(len(sizes)):
        if other != g and sizes[other] > 0:
            distance = 0.0
            for j in range(centroids.shape[1]):
                step = centroids[other, j] - centroids[g, j]
                distance += step * step
            if distance < best:
                best, target = distance, other
    return target


def merge_failing(points: np.ndarray, columns: np.ndarray, judge: RuleEvaluator, group: np.ndarray) -> np.ndarray:
    """Merge failing groups into the group of the nearest centroid.

    The first failing group is merged first, until all groups meet the model. Needed only for rules that a further row
    can
    break: all but DISTINCT, CATEGORIES and WEIGHT. Returns the groups int32 (n,), numbered without gaps in their old
    order.
    Cost: groups for each one that fails.
    """
    group = group.copy()
    groups = int(group.max(initial=-1)) + 1
    sizes, histograms = count_rows(columns, group, groups, judge.rules.offsets[-1])
    failing = failing_groups(judge, sizes, histograms)
    if not failing.any():
        return group
    centroids = centroids_of(points, group, groups)
    into = np.arange(groups)
    while (waiting := np.flatnonzero(failing)).size:
        g = int(waiting[0])
        target = _merge_target(centroids, sizes, g)
        if target < 0:
            break
        into[into == g] = target
        both = sizes[g] + sizes[target]
        centroids[target] = (sizes[g] * centroids[g] + sizes[target] * centroids[target]) / both
        histograms[target] += histograms[g]
        sizes[target], sizes[g] = both, 0
        failing[g] = False
        failing[target] = failing_groups(judge, sizes[target : target + 1], histograms[target : target + 1])[0]
    number = np.cumsum(sizes > 0) - 1
    return number[into[group]].astype(np.int32)


def grow_until(points: np.ndarray, columns: np.ndarray, rules: Rules, lacking: bool) -> np.ndarray:
    """Grow groups until the models hold: Algorithm 2 with any rules.

    Parameters
    ----------
    points : float64 (n, d), C-contiguous, finite, standardised by the caller
    columns : int32 (n, s), the rules' columns of the sensitive values; -1 is missing
    rules : the models; they should hold on the whole table, or all records form one group
    lacking : a record contributes only to rules that do not hold yet

    Returns
    -------
    int32 (n,): the group of each row, numbered in order of creation.

    Cost: n log n in practice, times the number of words of 64 values and the values of the attributes.
    """
    group = np.full(len(points), -1, np.int32)
    judge = make_evaluator(rules)
    pool = make_pool(points, int(rules.least[0]))
    words = min(_MAX_WORDS, max(1, -(-int(rules.offsets[-1]) // 64)))
    left = value_counts(columns, rules)
    tree, masks = pool.tree, _all_bits(pool.tree, columns, words)
    while not _grow_groups(pool, judge, columns, masks, left, lacking, group):
        pool = renew(pool)
        if pool.tree is not tree:
            tree, masks = pool.tree, _all_bits(pool.tree, columns, words)
    join_nearest(points, group, int(pool.progress[GROUPS]))
    return merge_failing(points, columns, judge, group)
