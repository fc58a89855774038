"""MDAV of many records in rounds: what groups are made of is looked up beforehand by all threads, and taken in order.

Records only leave. So what is left of the records that once were the farthest from a seed, or the nearest to it, in
their order, still is the farthest or the nearest of all, as long as anything is left of them. A round lists the
records that are outermost when it begins. For each of these the threads look up the few records that are farthest
from it; from that it is foreseen which records will be seeds; and for these, the nearest. Then groups are formed one
after the other as MDAV says. What was foreseen wrongly, or is used up, is looked up again: a guess costs time,
never a group.

The next seed is the listed record that is farthest from the centroid as it is now. That is certain if it is farther
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
    farthest,
    leaf_distances,
    let_go,
    make_scratch,
    nearest,
    summarise,
    tidy,
)
from shoal.methods.microaggregation.kernels.unassigned import (
    CERTAIN,
    GROUPS,
    REMAINING,
    TREE_BUILT,
    Pool,
    farthest_from,
    with_fringe,
    with_tree,
)
from shoal.runtime.threads import allowed, crew

WORTH = 50_000
"""With fewer records left, threads cost more than they save."""

PAIRS, USED, NEAR_AGAIN, FAR_AGAIN = range(4)

_LEAST_ATTRIBUTES = 4  # with fewer, what a group needs is found at once, and the outermost records are neighbours
_SHARE = 0.004  # of the records left, so many are listed at most
_FEWEST = 64  # with fewer listed, rounds do not pay
_FRINGE_SHARE = 0.05
_FAR = 4  # records looked up that are farthest
_SPARE = 2  # and so many more than a group needs that are nearest
_PARTS = 4  # for each thread: some are done sooner than others
_MOST_PARTS = 4


class Round(NamedTuple):
    """What is known of the records that are outermost when a round begins.

    block : float64 (m / 32, w, 32), the listed records, outermost first, as in leaves of a tree
    row : int32 (m,), their rows, NO_ROW for what fills the last block
    away : float64 (m,), how far they are from the fringe's centre, the largest first
    beyond : float64 (1,), no other record is farther from there
    far : int32 (p, few), the farthest records of each of the first p that are listed, NO_ROW where there are fewer
    seeds : int32 (q,), the records that may become seeds
    near : int32 (q, some), the nearest records of each of these
    slot : int32 (n,), where each row is in `near`, -1 where it is not
    worn : uint8 (leaves,), whether a record of that leaf has left in this round
    told : int64 (4,), pairs of groups made, lists of near records used, and what was looked up again: near, far
    """

    block: np.ndarray
    row: np.ndarray
    away: np.ndarray
    beyond: np.ndarray
    far: np.ndarray
    seeds: np.ndarray
    near: np.ndarray
    slot: np.ndarray
    worn: np.ndarray
    told: np.ndarray


@njit(**FROM_PYTHON)
def _look_far(pool, rows, order, far, scratch):
    """The farthest records of some of the `rows`, those with the numbers `order`, into `far`."""
    centre, points = pool.fringe.centre, pool.points
    few = far.shape[1]
    for number in order:
        query = points[rows[number]]
        away = 0.0
        for j in range(query.shape[0]):
            step = query[j] - centre[j]
            away += step * step
        least = pool.reach[0] + np.sqrt(away)
        found = farthest(pool.fringe, query, few, scratch)
        while found > 0 and not np.sqrt(scratch.distance[found - 1]) * CERTAIN > least:
            found -= 1
        if found == 0:
            found = farthest(pool.tree, query, few, scratch)
        for i in range(found):
            far[number, i] = scratch.row[i]


@njit(**FROM_PYTHON)
def _foresee(rows, far, slot, seeds):
    """The records that will be seeds, if every listed one has its farthest that is not taken yet; returns how many."""
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
def _look_near(tree, points, seeds, order, near, scratch):
    """The nearest records of some of the `seeds`, those with the numbers `order`, into `near`."""
    wanted = near.shape[1]
    for number in order:
        found = nearest(tree, points[seeds[number]], wanted + 1, scratch)
        kept = 0
        for i in range(found):
            if scratch.row[i] != seeds[number] and kept < wanted:
                near[number, kept] = scratch.row[i]
                kept += 1


@njit(**INNER)
def _next_listed(pool, listed, head):
    """The place of the listed record that is farthest from the centroid, or -1 where another may be farther."""
    centre, place = pool.fringe.centre, pool.tree.place
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
                if row == NO_ROW or place[row] < 0:
                    for j in range(len(centroid)):  # not to be looked at again
                        listed.block[number, j, i] = centre[j]
                elif distance[i] > best or row < listed.row[found]:
                    best, found = distance[i], number * LEAF + i
        if found >= 0:
            limit = np.sqrt(best) * CERTAIN - moved
    return found if listed.beyond[0] < limit else -1


@njit(**INNER)
def _let_go(pool, listed, row):
    """A record leaves the pool, and stays in the leaves of the trees for now."""
    for j in range(pool.points.shape[1]):
        pool.total[j] -= pool.points[row, j]
    listed.worn[pool.tree.place[row] // LEAF] = 1
    let_go(pool.tree, row)
    if pool.fringe.place[row] >= 0:
        let_go(pool.fringe, row)
    pool.progress[REMAINING] -= 1


@njit(**INNER)
def _take_group(pool, listed, seed, k, group):
    """The seed and its k - 1 nearest records leave the pool as the next group."""
    place, rows = pool.tree.place, pool.scratch.row
    label = pool.progress[GROUPS]
    _let_go(pool, listed, seed)
    group[seed] = label
    found = 0
    number = listed.slot[seed]
    if number >= 0:
        for i in range(listed.near.shape[1]):
            row = listed.near[number, i]
            if row != NO_ROW and place[row] >= 0:
                rows[found] = row
                found += 1
                if found == k - 1:
                    listed.told[USED] += 1
                    break
    if found < k - 1:
        listed.told[NEAR_AGAIN] += 1
        found = nearest(pool.tree, pool.points[seed], k - 1, pool.scratch)
    for i in range(found):
        _let_go(pool, listed, rows[i])
        group[rows[i]] = label
    pool.progress[GROUPS] += 1


@njit(**INNER)
def _farthest_left(pool, listed, number, seed):
    """The row of the record left that is farthest from the seed, which is the `number`th that is listed."""
    if number < listed.far.shape[0]:
        for i in range(listed.far.shape[1]):
            row = listed.far[number, i]
            if row == NO_ROW:
                break
            if pool.tree.place[row] >= 0:
                return row
    listed.told[FAR_AGAIN] += 1
    return farthest_from(pool, pool.points[seed])


@njit(**FROM_PYTHON)
def _take_round(pool, listed, k, group):
    """MDAV until the records with lists have left, or the next seed is not certain."""
    place, head = pool.tree.place, 0
    while pool.progress[REMAINING] >= 3 * k:
        while head < listed.far.shape[0] and place[listed.row[head]] < 0:
            head += 1
        if head == listed.far.shape[0]:
            break
        number = _next_listed(pool, listed, head)
        if number < 0:
            break
        seed = listed.row[number]
        _take_group(pool, listed, seed, k, group)
        _take_group(pool, listed, _farthest_left(pool, listed, number, seed), k, group)
        listed.told[PAIRS] += 1


def _list_outermost(pool: Pool, wanted: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Places on the fringe of the outermost records, outermost first; how far they are, and what no other exceeds."""
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
    pool: Pool, wanted: int, k: int, slot: np.ndarray, worn: np.ndarray, work: Callable[..., object]
) -> Round:
    """List the outermost records, and look up what their groups may be made of; `slot` is -1 everywhere."""
    points, parts = pool.points, _PARTS * allowed()
    outer, away, beyond = _list_outermost(pool, wanted + wanted // 4)
    listed, prepared = len(outer), min(wanted, len(outer))
    blocks, attributes, width = -(-listed // LEAF), points.shape[1], pool.tree.block.shape[1] - 1
    rows = np.full(blocks * LEAF, NO_ROW, np.int32)
    rows[:listed] = pool.fringe.row.ravel()[outer]
    block = np.zeros((blocks * LEAF, width))
    block[:, :attributes] = pool.fringe.centre
    block[:listed, :attributes] = points[rows[:listed]]
    block = np.ascontiguousarray(block.reshape(blocks, LEAF, width).transpose(0, 2, 1))
    # who lies close together is looked up one after the other: the same part of a tree is then at hand
    far = np.full((prepared, _FAR), NO_ROW, np.int32)
    turns = np.array_split(np.argsort(outer[:prepared]), parts)
    work(lambda turn: _look_far(pool, rows, turn, far, make_scratch(_FAR)), turns)
    seeds = np.empty(2 * prepared, np.int32)
    seeds = seeds[: _foresee(rows, far, slot, seeds)]
    near = np.full((len(seeds), k - 1 + _SPARE), NO_ROW, np.int32)
    turns = np.array_split(np.argsort(pool.tree.place[seeds]), parts)
    work(lambda turn: _look_near(pool.tree, points, seeds, turn, near, make_scratch(k + _SPARE)), turns)
    return Round(block, rows, away, np.array([beyond]), far, seeds, near, slot, worn, np.zeros(4, np.int64))


def take_rounds(pool: Pool, k: int, group: np.ndarray) -> Pool:
    """Make groups in rounds while that pays, and give back the pool; nothing is done where its tree is not new.

    How many records are listed follows from how many of the lists are used: where the records of a group are
    themselves outermost, as they are in one dimension, to look up much beforehand is in vain.
    """
    progress, share = pool.progress, _SHARE
    if pool.points.shape[1] < _LEAST_ATTRIBUTES or k < 2:
        return pool
    if progress[REMAINING] < max(WORTH, 3 * k) or progress[REMAINING] < progress[TREE_BUILT]:
        return pool
    slot = np.full(len(pool.points), -1, np.int32)
    with crew() as work:
        while progress[REMAINING] >= WORTH and (wanted := int(share * progress[REMAINING])) >= _FEWEST:
            pool = with_fringe(with_tree(pool, work), _FRINGE_SHARE, work)
            worn = np.zeros(len(pool.tree.filled), np.uint8)
            made = _begin_round(pool, wanted, k, slot, worn, work)
            _take_round(pool, made, k, group)
            slot[made.seeds] = -1
            _take_out(pool, worn, work)
            if 8 * made.told[PAIRS] < wanted:
                break
            share = min(_SHARE, share * max(0.1, 1.25 * made.told[USED] / len(made.seeds)))
    return with_fringe(pool)


def _take_out(pool: Pool, worn: np.ndarray, work: Callable[..., object]) -> None:
    """Take the records that have left out of the tree."""
    parts = min(_MOST_PARTS, len(worn))
    work(lambda part: tidy(pool.tree, worn, part), range(parts, 2 * parts))
    summarise(pool.tree, parts)
