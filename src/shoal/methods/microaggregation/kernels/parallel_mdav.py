"""MDAV of many records in rounds, with neighbour queries on all threads.

Records only leave. So the remaining ones of a list of farthest or nearest records, in their order, are still the
farthest or nearest of all, as long as the list is not exhausted. A round lists the records that are outermost when it
begins. For each of these the threads query the few farthest records; from these follows a prediction of the seeds; and
for the predicted seeds, the nearest records are queried. Then groups are formed one after the other as in MDAV. Wrong
predictions and exhausted lists are queried again: a wrong guess costs time, but changes no group.

The next seed is the listed record that is farthest from the current centroid. That is certain if it is farther
than any other record can be, by the distances when the round began and by how far the centroid has moved since.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.methods.microaggregation.kernels.kdtree import (
    LEAF,
    NO_ROW,
    compact_leaves,
    farthest,
    leaf_distances,
    make_query_scratch,
    mark_removed,
    nearest,
    summarise,
)
from shoal.methods.microaggregation.kernels.unassigned import (
    CERTAINTY_MARGIN,
    GROUPS,
    REMAINING,
    TREE_BUILT,
    Pool,
    farthest_from,
    with_fringe,
    with_tree,
)
from shoal.runtime.threads import thread_limit, thread_pool

MIN_RECORDS_FOR_ROUNDS = 50_000
"""The least number of remaining records for which threads are faster."""

PAIRS, USED, NEAR_REQUERIES, FAR_REQUERIES = range(4)

_LEAST_ATTRIBUTES = 4  # with fewer, queries are fast, and the outermost records are neighbours
_SHARE = 0.004  # largest share of the remaining records that is listed
_FEWEST = 64  # with fewer listed records, rounds are slower
_FRINGE_SHARE = 0.05
_FAR = 4  # farthest records per query
_SPARE = 2  # nearest records per query beyond those that a group needs
_PARTS = 4  # chunks per thread, as chunks take different times
_MAX_PARTS = 4


class Round(NamedTuple):
    """Query results for the records that are outermost when a round begins.

    block : float64 (m / 32, w, 32), the listed records, outermost first, as in leaves of a tree
    row : int32 (m,), their rows, NO_ROW for the padding of the last block
    away : float64 (m,), their distances from the fringe's centre, the largest first
    beyond : float64 (1,), no other record is farther from there
    far : int32 (p, _FAR), the farthest records of each of the first p listed ones, NO_ROW where there are fewer
    seeds : int32 (q,), the predicted seeds
    near : int32 (q, k - 1 + _SPARE), the nearest records of each of these
    slot : int32 (n,), the position of each row in `near`, -1 where it has none
    dirty : uint8 (leaves,), whether a record of that leaf has left in this round
    counters : int64 (4,), pairs of groups formed, lists of near records used, and repeated queries: near, far
    """

    block: np.ndarray
    row: np.ndarray
    away: np.ndarray
    beyond: np.ndarray
    far: np.ndarray
    seeds: np.ndarray
    near: np.ndarray
    slot: np.ndarray
    dirty: np.ndarray
    counters: np.ndarray


@njit(**FROM_PYTHON)
def _find_farthest(pool, rows, order, far, scratch):
    """Query the farthest records of the `rows` numbered `order`, into `far`."""
    centre, points = pool.fringe.centre, pool.points
    wanted = far.shape[1]
    for number in order:
        query = points[rows[number]]
        away = 0.0
        for j in range(query.shape[0]):
            step = query[j] - centre[j]
            away += step * step
        least = pool.reach[0] + np.sqrt(away)
        found = farthest(pool.fringe, query, wanted, scratch)
        while found > 0 and not np.sqrt(scratch.distance[found - 1]) * CERTAINTY_MARGIN > least:
            found -= 1
        if found == 0:
            found = farthest(pool.tree, query, wanted, scratch)
        for i in range(found):
            far[number, i] = scratch.row[i]


@njit(**FROM_PYTHON)
def _predict_seeds(rows, far, slot, seeds):
    """Predict the seeds of a round; return their number.

    Every listed record is paired with its farthest record that is not paired yet.
    """
    found = 0
    for number in range(far.shape[0]):
        if slot[rows[number]] >= 0:
            continue
        seeds[found], slot[rows[number]] = rows[number], found
        found += 1
        for i in range(far.shape[1]):
            other = far[number, i]
            if other == NO_ROW:
                break
            if slot[other] < 0:
                seeds[found], slot[other] = other, found
                found += 1
                break
    return found


@njit(**FROM_PYTHON)
def _find_nearest(tree, points, seeds, order, near, scratch):
    """Query the nearest records of the `seeds` numbered `order`, into `near`."""
    wanted = near.shape[1]
    for number in order:
        found = nearest(tree, points[seeds[number]], wanted + 1, scratch)
        used = 0
        for i in range(found):
            if scratch.row[i] != seeds[number] and used < wanted:
                near[number, used] = scratch.row[i]
                used += 1


@njit(**INNER)
def _next_listed(pool, listed, head):
    """Return the position of the listed record farthest from the centroid.

    -1 where another record may be farther.
    """
    centre, slot_of_row = pool.fringe.centre, pool.tree.slot_of_row
    distance = pool.scratch.leaf
    centroid = pool.total / pool.progress[REMAINING]
    moved = 0.0
    for j in range(len(centroid)):
        step = centroid[j] - centre[j]
        moved += step * step
    moved = np.sqrt(moved)
    best, found, limit = -1.0, -1, -np.inf
    for number in range(head // LEAF, listed.block.shape[0]):
        if listed.away[number * LEAF] < limit:
            return found
        leaf_distances(listed.block, number, centroid, distance)
        widest = distance[0]
        for i in range(LEAF):
            widest = max(widest, distance[i])
        if widest < best:
            continue
        for i in range(LEAF):
            if distance[i] >= best:
                row = listed.row[number * LEAF + i]
                if row == NO_ROW or slot_of_row[row] < 0:
                    for j in range(len(centroid)):  # never select it again
                        listed.block[number, j, i] = centre[j]
                elif distance[i] > best or row < listed.row[found]:
                    best, found = distance[i], number * LEAF + i
        if found >= 0:
            limit = np.sqrt(best) * CERTAINTY_MARGIN - moved
    return found if listed.beyond[0] < limit else -1


@njit(**INNER)
def _mark_removed(pool, listed, row):
    """Remove a record from the pool; the trees' leaves are compacted later."""
    for j in range(pool.points.shape[1]):
        pool.total[j] -= pool.points[row, j]
    listed.dirty[pool.tree.slot_of_row[row] // LEAF] = 1
    mark_removed(pool.tree, row)
    if pool.fringe.slot_of_row[row] >= 0:
        mark_removed(pool.fringe, row)
    pool.progress[REMAINING] -= 1


@njit(**INNER)
def _form_group(pool, listed, seed, k, group):
    """Remove the seed and its k - 1 nearest records as the next group."""
    slot_of_row, rows = pool.tree.slot_of_row, pool.scratch.row
    label = pool.progress[GROUPS]
    _mark_removed(pool, listed, seed)
    group[seed] = label
    found = 0
    number = listed.slot[seed]
    if number >= 0:
        for i in range(listed.near.shape[1]):
            row = listed.near[number, i]
            if row != NO_ROW and slot_of_row[row] >= 0:
                rows[found] = row
                found += 1
                if found == k - 1:
                    listed.counters[USED] += 1
                    break
    if found < k - 1:
        listed.counters[NEAR_REQUERIES] += 1
        found = nearest(pool.tree, pool.points[seed], k - 1, pool.scratch)
    for i in range(found):
        _mark_removed(pool, listed, rows[i])
        group[rows[i]] = label
    pool.progress[GROUPS] += 1


@njit(**INNER)
def _farthest_remaining(pool, listed, number, seed):
    """Return the remaining row farthest from the seed.

    The seed is the `number`th listed record.
    """
    if number < listed.far.shape[0]:
        for i in range(listed.far.shape[1]):
            row = listed.far[number, i]
            if row == NO_ROW:
                break
            if pool.tree.slot_of_row[row] >= 0:
                return row
    listed.counters[FAR_REQUERIES] += 1
    return farthest_from(pool, pool.points[seed])


@njit(**FROM_PYTHON)
def _run_round(pool, listed, k, group):
    """Form MDAV groups until the lists end or the next seed is uncertain."""
    slot_of_row, head = pool.tree.slot_of_row, 0
    while pool.progress[REMAINING] >= 3 * k:
        while head < listed.far.shape[0] and slot_of_row[listed.row[head]] < 0:
            head += 1
        if head == listed.far.shape[0]:
            break
        number = _next_listed(pool, listed, head)
        if number < 0:
            break
        seed = listed.row[number]
        _form_group(pool, listed, seed, k, group)
        _form_group(pool, listed, _farthest_remaining(pool, listed, number, seed), k, group)
        listed.counters[PAIRS] += 1


def _list_outermost(pool: Pool, wanted: int) -> tuple[np.ndarray, np.ndarray, float]:
    """List the outermost records of the fringe, outermost first.

    Returns their positions on the fringe, their distances, and a bound of the distances of all others.
    """
    away, rows = pool.fringe.block[:, -1, :].ravel(), pool.fringe.row.ravel()
    outer = np.flatnonzero(rows != NO_ROW)
    beyond = float(pool.reach[0])
    if wanted < len(outer):
        outer = outer[np.argpartition(away[outer], len(outer) - wanted - 1)]
        beyond = float(np.sqrt(away[outer[-wanted - 1]]))
        outer = outer[-wanted:]
    outer = outer[np.lexsort((rows[outer], -away[outer]))]
    return outer, np.sqrt(away[outer]), beyond


def _begin_round(
    pool: Pool, wanted: int, k: int, slot: np.ndarray, dirty: np.ndarray, work: Callable[..., object]
) -> Round:
    """List the outermost records and query the candidates for their groups.

    `slot` is -1 everywhere.
    """
    points, parts = pool.points, _PARTS * thread_limit()
    outer, away, beyond = _list_outermost(pool, wanted + wanted // 4)
    listed, prepared = len(outer), min(wanted, len(outer))
    blocks, attributes, width = -(-listed // LEAF), points.shape[1], pool.tree.block.shape[1] - 1
    rows = np.full(blocks * LEAF, NO_ROW, np.int32)
    rows[:listed] = pool.fringe.row.ravel()[outer]
    block = np.zeros((blocks * LEAF, width))
    block[:, :attributes] = pool.fringe.centre
    block[:listed, :attributes] = points[rows[:listed]]
    block = np.ascontiguousarray(block.reshape(blocks, LEAF, width).transpose(0, 2, 1))
    # neighbouring records are queried in sequence: the same part of a tree is then in the cache
    far = np.full((prepared, _FAR), NO_ROW, np.int32)
    chunks = np.array_split(np.argsort(outer[:prepared]), parts)
    work(lambda chunk: _find_farthest(pool, rows, chunk, far, make_query_scratch(_FAR)), chunks)
    seeds = np.empty(2 * prepared, np.int32)
    seeds = seeds[: _predict_seeds(rows, far, slot, seeds)]
    near = np.full((len(seeds), k - 1 + _SPARE), NO_ROW, np.int32)
    chunks = np.array_split(np.argsort(pool.tree.slot_of_row[seeds]), parts)
    work(lambda chunk: _find_nearest(pool.tree, points, seeds, chunk, near, make_query_scratch(k + _SPARE)), chunks)
    return Round(block, rows, away, np.array([beyond]), far, seeds, near, slot, dirty, np.zeros(4, np.int64))


def run_rounds(pool: Pool, k: int, group: np.ndarray) -> Pool:
    """Form groups in rounds while that is faster; return the pool.

    Nothing is done where its tree is not new. The number of listed records follows from the share of lists used: where
    the
    records of a group are themselves outermost, as in one dimension, large lists are of no use.
    """
    progress, share = pool.progress, _SHARE
    if pool.points.shape[1] < _LEAST_ATTRIBUTES or k < 2:
        return pool
    if progress[REMAINING] < max(MIN_RECORDS_FOR_ROUNDS, 3 * k) or progress[REMAINING] < progress[TREE_BUILT]:
        return pool
    slot = np.full(len(pool.points), -1, np.int32)
    with thread_pool() as work:
        while progress[REMAINING] >= MIN_RECORDS_FOR_ROUNDS and (wanted := int(share * progress[REMAINING])) >= _FEWEST:
            pool = with_fringe(with_tree(pool, work), _FRINGE_SHARE, work)
            dirty = np.zeros(len(pool.tree.filled), np.uint8)
            made = _begin_round(pool, wanted, k, slot, dirty, work)
            _run_round(pool, made, k, group)
            slot[made.seeds] = -1
            _compact_tree(pool, dirty, work)
            if 8 * made.counters[PAIRS] < wanted:
                break
            share = min(_SHARE, share * max(0.1, 1.25 * made.counters[USED] / len(made.seeds)))
    return with_fringe(pool)


def _compact_tree(pool: Pool, dirty: np.ndarray, work: Callable[..., object]) -> None:
    """Remove the marked records from the tree."""
    parts = min(_MAX_PARTS, len(dirty))
    work(lambda part: compact_leaves(pool.tree, dirty, part), range(parts, 2 * parts))
    summarise(pool.tree, parts)
