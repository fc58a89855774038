"""Large-neighbourhood search: a few near groups are regrouped at a time.

Where no row can move and no two rows can change places, the number and the shape of groups may still be poor. So some
groups that are near each other are joined, cut again from the top down, and refined among themselves; the result is
accepted if it loses less. One round uses as many such sets of groups at once as possible, all disjoint, so that each is
accepted or rejected by itself. Every group meets the models at any time, and the loss never rises. Large-neighbourhood
search is after Shaw, "Using constraint programming and local search methods to solve vehicle routing problems", 1998.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.kernels.rules import make_tally
from shoal.methods.base import Quality
from shoal.methods.local.brute_force import least_partition
from shoal.methods.local.kernels.exchange import exchange_rows, fill_groups, make_linked_groups, read_groups
from shoal.methods.local.kernels.nearness import near_items
from shoal.methods.local.problem import LocalProblem, Pieces
from shoal.methods.local.search import Refined, cut_pieces, refine_pieces
from shoal.methods.time_limits import is_late

WORK = {"good": 900_000, "best": 6_000_000}
"""Rounds times pieces; a million of them takes about eight seconds."""
MIN_ROUNDS, MAX_ROUNDS = 4, 2_000
MAX_ROUNDS_WITHOUT_GAIN = 100
"""Maximum number of consecutive rounds without a gain; fewer in a small table, which has few sets of groups."""
GROUP_LIMITS = (3, 4, 6, 9)
"""Maximum numbers of groups that are joined, drawn at random in each round."""
BASE_JOINED_ROWS, JOINED_ROWS_PER_GROUP = 20, 8
"""Maximum number of rows that are joined: a constant, and a number for each group."""
MAX_PARTNERS = 24
"""Number of other items of its set to which a row may move."""
ROUNDS_PER_REFINEMENT = 12
"""Number of rounds after which rows are moved between all groups."""

Ints = npt.NDArray[np.int64]


def improve_pieces(
    local: LocalProblem, pieces: Pieces, quality: Quality | None, deadline: float | None = None, seed: int = 0
) -> Refined:
    """Refine a partition that meets the models, and regroup it if asked.

    The qualities ``good`` and ``best`` regroup. For very few rows, ``best`` is the optimum over all partitions.
    """
    refined = refine_pieces(local, pieces, deadline)
    if quality is None or quality == "fast":
        return refined
    exact = least_partition(local) if quality == "best" else None
    if exact is not None:
        return Refined(exact, refined.changes, True)
    rounds = min(max(MIN_ROUNDS, WORK[quality] // max(len(refined.pieces.item), 1)), MAX_ROUNDS)
    return replace(refined, pieces=regroup(local, refined.pieces, rounds, deadline, seed))


def regroup(local: LocalProblem, pieces: Pieces, rounds: int, deadline: float | None = None, seed: int = 0) -> Pieces:
    """Return groups of less loss, or the same groups.

    The same seed and rounds give the same groups, unless a deadline ends the search.
    """
    near = near_items(local.setting.space, local.setting.values)
    rng = np.random.default_rng([seed, 0x5E7])
    rounds_without_gain = 0
    for number in range(1, rounds + 1):
        if is_late(deadline) or rounds_without_gain >= min(MAX_ROUNDS_WITHOUT_GAIN, 10 + 4 * len(pieces.start)):
            break
        before = pieces
        pieces = _round(local, pieces, near, rng, "rate" if number % 2 else "loss")
        rounds_without_gain = rounds_without_gain + 1 if pieces is before else 0
        if (number % ROUNDS_PER_REFINEMENT == 0 and rounds_without_gain < ROUNDS_PER_REFINEMENT) or number == rounds:
            pieces = refine_pieces(local, pieces, deadline).pieces
    return pieces


def _group_losses(local: LocalProblem, pieces: Pieces) -> npt.NDArray[np.float64]:
    linked = make_linked_groups(len(local.count), local.setting.values.shape[1], pieces.item, pieces.start)
    fill_groups(local.setting, linked, pieces.item, pieces.count, pieces.start)
    groups = len(pieces.start) - 1
    return np.asarray(linked.size[:groups] * linked.cost[:groups], np.float64)


def _round(
    local: LocalProblem, pieces: Pieces, near: npt.NDArray[np.int32], rng: np.random.Generator, choose: str
) -> Pieces:
    """Run one round over all groups that lose something."""
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
    """Return the set of each group, int64 (groups,), and the number of sets.

    The set is -1 where there is none. Each set starts from a group with a loss.
    """
    groups, group = len(loss), pieces.group
    size = np.bincount(group, weights=pieces.count, minlength=groups).astype(np.int64)
    by_item = np.argsort(pieces.item, kind="stable")
    first = np.searchsorted(pieces.item[by_item], np.arange(len(near) + 1))
    max_groups = int(rng.choice(GROUP_LIMITS))
    max_rows = BASE_JOINED_ROWS + JOINED_ROWS_PER_GROUP * max_groups
    chosen = np.full(groups, -1, np.int64)
    sets = 0
    for seed in rng.permutation(np.flatnonzero(loss > 0)).tolist():
        if chosen[seed] >= 0:
            continue
        wanted, rows, members = int(rng.integers(2, max_groups + 1)), int(size[seed]), [seed]
        for draw in rng.random((4 * wanted, 4)).tolist():
            start = seed if draw[0] < 0.6 else members[int(draw[0] * 1e6) % len(members)]
            low, high = int(pieces.start[start]), int(pieces.start[start + 1])
            other = near[pieces.item[low + int(draw[1] * (high - low))], int(near.shape[1] * draw[2] ** 2)]
            low, high = int(first[other]), int(first[other + 1])
            if low == high:
                continue
            candidate = int(group[by_item[low + int(draw[3] * (high - low))]])
            if chosen[candidate] < 0 and candidate not in members and rows + size[candidate] <= max_rows:
                members.append(candidate)
                rows += int(size[candidate])
                if len(members) == wanted:
                    break
        if len(members) > 1:
            chosen[members] = sets
            sets += 1
    return chosen, sets


def _joined(local: LocalProblem, pieces: Pieces, chosen: Ints, sets: int) -> tuple[LocalProblem, Ints, Ints]:
    """Return the rows of all sets as a problem; each item is of one set.

    Also returns the original item and the set of each new item.
    """
    owner = chosen[pieces.group]
    there = np.flatnonzero(owner >= 0)
    key = owner[there] * len(local.count) + pieces.item[there]
    key, inverse = np.unique(key, return_inverse=True)
    count = np.zeros(len(key), np.int64)
    np.add.at(count, inverse, pieces.count[there])
    owner, item = key // len(local.count), key % len(local.count)
    values, columns = local.setting.values[item], local.setting.columns[item]
    setting = local.setting._replace(values=np.ascontiguousarray(values), columns=np.ascontiguousarray(columns))
    return replace(local, setting=setting, count=count, first=np.arange(len(item) + 1)), item, owner


def _grouped_again(joined: LocalProblem, owner: Ints, sets: int, choose: str) -> Pieces:
    """Cut the rows of each set from the top down and exchange them within it."""
    items = len(owner)
    start = np.searchsorted(owner, np.arange(sets + 1)).astype(np.int64)
    found = cut_pieces(joined, Pieces(np.arange(items), joined.count.copy(), start), strict=False, choose=choose)
    position, width = np.arange(items) - start[owner], np.diff(start)[owner]
    partner = start[owner][:, None] + (position[:, None] + 1 + np.arange(MAX_PARTNERS)) % width[:, None]
    setting, closed_under_superset = joined.setting, joined.problem.model.closed_under_superset
    for _ in range(2):
        linked = make_linked_groups(items, setting.values.shape[1], found.item, found.start)
        fill_groups(setting, linked, found.item, found.count, found.start)
        exchange_rows(setting, make_tally(setting.rules), linked, partner.astype(np.int32), 1, 6, closed_under_superset)
        found = cut_pieces(joined, Pieces(*read_groups(linked)), strict=False, choose="loss")
    return found
