"""Less loss than moving rows can bring: a few neighbouring groups at a time are joined and grouped again.

Where no row can move and no two can change places, the number and the shape of groups may still be wrong. So some
groups that lie near each other are taken together, cut again from the top down, and refined among themselves; what is
found is kept where it loses less. One round takes as many such sets of groups at once as there are, none of them with a
group in common, so that each is kept or not by itself. Every group meets the models at any time, and the loss never
rises. Large-neighbourhood search is after Shaw, "Using constraint programming and local search methods to solve vehicle
routing problems", 1998.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.kernels.rules import make_tally
from shoal.methods.base import Quality
from shoal.methods.local.brute_force import least_partition
from shoal.methods.local.kernels.exchange import exchange_rows, hold, make_holding, read_holding
from shoal.methods.local.kernels.nearness import near_items
from shoal.methods.local.problem import LocalProblem, Pieces
from shoal.methods.local.search import Refined, cut_pieces, refine_pieces
from shoal.methods.time_limits import is_late

__all__ = ["WORK", "improve_pieces", "regroup"]

WORK = {"good": 900_000, "best": 6_000_000}
"""Rounds times pieces; a million of them takes about eight seconds."""
FEWEST_ROUNDS, MOST_ROUNDS = 4, 2_000
STILL = 100
"""After so many rounds without a gain there are no more; after fewer in a small table, which has few sets of groups."""
MOST_GROUPS = (3, 4, 6, 9)
"""How many groups are joined at most, by turns at random."""
MOST_ROWS, ROWS_A_GROUP = 20, 8
"""So many rows are joined at most: so many for each group that may be, and some."""
PARTNERS = 24
"""How many others of its set a row may go to."""
REFINED_EVERY = 12
"""After so many rounds rows are moved between all groups."""

Ints = npt.NDArray[np.int64]


def improve_pieces(
    local: LocalProblem, pieces: Pieces, quality: Quality | None, deadline: float | None = None, seed: int = 0
) -> Refined:
    """Refine a partition that meets the models and, where ``good`` or ``best`` is asked for, regroup it.

    Of very few rows the ``best`` is found among all partitions.
    """
    refined = refine_pieces(local, pieces, deadline)
    if quality is None or quality == "fast":
        return refined
    exact = least_partition(local) if quality == "best" else None
    if exact is not None:
        return Refined(exact, refined.changes, True)
    rounds = min(max(FEWEST_ROUNDS, WORK[quality] // max(len(refined.pieces.item), 1)), MOST_ROUNDS)
    return replace(refined, pieces=regroup(local, refined.pieces, rounds, deadline, seed))


def regroup(local: LocalProblem, pieces: Pieces, rounds: int, deadline: float | None = None, seed: int = 0) -> Pieces:
    """Groups of less loss, or the same. The same seed and rounds give the same groups, unless a deadline ends them."""
    near = near_items(local.setting.space, local.setting.values)
    rng = np.random.default_rng([seed, 0x5E7])
    still = 0
    for number in range(1, rounds + 1):
        if is_late(deadline) or still >= min(STILL, 10 + 4 * len(pieces.start)):
            break
        before = pieces
        pieces = _round(local, pieces, near, rng, "rate" if number % 2 else "loss")
        still = still + 1 if pieces is before else 0
        if (number % REFINED_EVERY == 0 and still < REFINED_EVERY) or number == rounds:
            pieces = refine_pieces(local, pieces, deadline).pieces
    return pieces


def _group_losses(local: LocalProblem, pieces: Pieces) -> npt.NDArray[np.float64]:
    holding = make_holding(len(local.count), local.setting.values.shape[1], pieces.item, pieces.start)
    hold(local.setting, holding, pieces.item, pieces.count, pieces.start)
    groups = len(pieces.start) - 1
    return np.asarray(holding.size[:groups] * holding.cost[:groups], np.float64)


def _round(
    local: LocalProblem, pieces: Pieces, near: npt.NDArray[np.int32], rng: np.random.Generator, choose: str
) -> Pieces:
    """One round over all groups that lose something."""
    loss = _group_losses(local, pieces)
    chosen, sets = _neighbourhoods(pieces, near, loss, rng)
    if sets == 0:
        return pieces
    joined, item, owner = _joined(local, pieces, chosen, sets)
    found = _grouped_again(joined, owner, sets, choose)
    new_loss = _group_losses(joined, found)
    new_owner = owner[found.item[found.start[:-1]]]
    inside = chosen >= 0
    before = np.bincount(chosen[inside], weights=loss[inside], minlength=sets)
    after = np.bincount(new_owner, weights=new_loss, minlength=sets)
    better = after < before - 1e-9
    if not better.any():
        return pieces
    stays = ~(inside & better[np.maximum(chosen, 0)])
    old, new = stays[pieces.group], better[new_owner][found.group]
    return _as_pieces(
        np.r_[pieces.item[old], item[found.item[new]]],
        np.r_[pieces.count[old], found.count[new]],
        np.r_[pieces.group[old], found.group[new] + len(stays)],
    )


def _as_pieces(item: Ints, count: Ints, group: Ints) -> Pieces:
    order = np.lexsort((item, group))
    item, count, group = item[order], count[order], group[order]
    first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    return Pieces(item, count, np.r_[first, len(group)].astype(np.int64))


def _neighbourhoods(
    pieces: Pieces, near: npt.NDArray[np.int32], loss: npt.NDArray[np.float64], rng: np.random.Generator
) -> tuple[Ints, int]:
    """The set of each group, int64 (groups,), -1 for none, and how many sets there are; each starts where loss is."""
    groups, group = len(loss), pieces.group
    size = np.bincount(group, weights=pieces.count, minlength=groups).astype(np.int64)
    by_item = np.argsort(pieces.item, kind="stable")
    first = np.searchsorted(pieces.item[by_item], np.arange(len(near) + 1))
    most = int(rng.choice(MOST_GROUPS))
    room = MOST_ROWS + ROWS_A_GROUP * most
    chosen = np.full(groups, -1, np.int64)
    sets = 0
    for seed in rng.permutation(np.flatnonzero(loss > 0)).tolist():
        if chosen[seed] >= 0:
            continue
        wanted, rows, members = int(rng.integers(2, most + 1)), int(size[seed]), [seed]
        for draw in rng.random((4 * wanted, 4)).tolist():
            start = seed if draw[0] < 0.6 else members[int(draw[0] * 1e6) % len(members)]
            low, high = int(pieces.start[start]), int(pieces.start[start + 1])
            other = near[pieces.item[low + int(draw[1] * (high - low))], int(near.shape[1] * draw[2] ** 2)]
            low, high = int(first[other]), int(first[other + 1])
            if low == high:
                continue
            candidate = int(group[by_item[low + int(draw[3] * (high - low))]])
            if chosen[candidate] < 0 and candidate not in members and rows + size[candidate] <= room:
                members.append(candidate)
                rows += int(size[candidate])
                if len(members) == wanted:
                    break
        if len(members) > 1:
            chosen[members] = sets
            sets += 1
    return chosen, sets


def _joined(local: LocalProblem, pieces: Pieces, chosen: Ints, sets: int) -> tuple[LocalProblem, Ints, Ints]:
    """The rows of all sets as a problem in which an item is of one set; the item each stands for, and its set."""
    owner = chosen[pieces.group]
    there = np.flatnonzero(owner >= 0)
    key = owner[there] * len(local.count) + pieces.item[there]
    key, place = np.unique(key, return_inverse=True)
    count = np.zeros(len(key), np.int64)
    np.add.at(count, place, pieces.count[there])
    owner, item = key // len(local.count), key % len(local.count)
    values, columns = local.setting.values[item], local.setting.columns[item]
    setting = local.setting._replace(values=np.ascontiguousarray(values), columns=np.ascontiguousarray(columns))
    return replace(local, setting=setting, count=count, first=np.arange(len(item) + 1)), item, owner


def _grouped_again(joined: LocalProblem, owner: Ints, sets: int, choose: str) -> Pieces:
    """The rows of each set cut from the top down, and moved between the groups of the set."""
    items = len(owner)
    start = np.searchsorted(owner, np.arange(sets + 1)).astype(np.int64)
    found = cut_pieces(joined, Pieces(np.arange(items), joined.count.copy(), start), strict=False, choose=choose)
    place, width = np.arange(items) - start[owner], np.diff(start)[owner]
    partner = start[owner][:, None] + (place[:, None] + 1 + np.arange(PARTNERS)) % width[:, None]
    setting, absorbs = joined.setting, joined.problem.model.absorbs
    for _ in range(2):
        holding = make_holding(items, setting.values.shape[1], found.item, found.start)
        hold(setting, holding, found.item, found.count, found.start)
        exchange_rows(setting, make_tally(setting.rules), holding, partner.astype(np.int32), 1, 6, absorbs)
        found = cut_pieces(joined, Pieces(*read_holding(holding)), strict=False, choose="loss")
    return found
