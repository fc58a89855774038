"""Descent: exchanges of rows between groups that lower the loss.

All groups meet the models before and after. Three kinds of change are tried, and made where the loss falls and every
group still meets the models:

* a piece (rows of one item in one group) *moves* to the group of a near item;
* where its group would fail without it, the group is *filled* from near groups that can spare rows, so that rows
  change places, in pairs or along a chain of three groups;
* a group is *dissolved*: each of its pieces goes to the near group where it adds the least loss.

The loss of a group is its rows times the cost of its region. Every change lowers the sum by more than a fixed step,
so that descent ends; it also ends after a number of passes or at a deadline that the caller checks between passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import add, clear, meets
from shoal.methods.local.kernels.regions import cost_with, include, region_cost

STEP = 1e-9  # of the loss of one row: a change must gain more, or rounding could prevent termination
MAX_FILLERS = 8  # rows that a chain may bring back to a group


class LinkedGroups(NamedTuple):
    """Groups as linked lists of pieces; empty pieces and groups are free.

    item, rows, group : int64 (pieces,);  group is -1 where the piece is free
    after, before : int64 (pieces,), the other pieces of the group;  same, back : those of the same item
    head, size : int64 (groups,);  region : int32 (groups, q, 2);  cost : float64 (groups,)
    first : int64 (items,), some piece of each item
    free : int64 (pieces,), a stack of free pieces;  state : int64 (2,), its height and the number of changes
    changed : int64 (groups,), the pass in which a group last changed
    stamp : int64 (groups + 1,), scratch; the last element counts up
    """

    item: np.ndarray
    rows: np.ndarray
    group: np.ndarray
    after: np.ndarray
    before: np.ndarray
    same: np.ndarray
    back: np.ndarray
    head: np.ndarray
    size: np.ndarray
    region: np.ndarray
    cost: np.ndarray
    first: np.ndarray
    free: np.ndarray
    state: np.ndarray
    changed: np.ndarray
    stamp: np.ndarray


def make_linked_groups(items: int, attributes: int, item: np.ndarray, start: np.ndarray) -> LinkedGroups:
    """Allocate linked lists for a partition.

    item : int64 (pieces,);  start : int64 (groups + 1,)
    There are spare pieces for rows of items that are divided. Where they run out, changes that divide further items are
    not made.
    """
    pieces = 2 * len(item) + items + 64
    groups = len(start) - 1
    return LinkedGroups(
        np.zeros(pieces, np.int64),
        np.zeros(pieces, np.int64),
        np.full(pieces, -1, np.int64),
        np.full(pieces, -1, np.int64),
        np.full(pieces, -1, np.int64),
        np.full(pieces, -1, np.int64),
        np.full(pieces, -1, np.int64),
        np.full(groups, -1, np.int64),
        np.zeros(groups, np.int64),
        np.full((groups, attributes, 2), -1, np.int32),
        np.zeros(groups),
        np.full(items, -1, np.int64),
        np.arange(pieces - 1, -1, -1, dtype=np.int64),
        np.asarray([pieces, 0], np.int64),
        np.zeros(groups, np.int64),
        np.zeros(groups + 1, np.int64),
    )


@njit(**INNER)
def _link(h, piece, group):
    """Insert a free piece into the lists of its group and its item."""
    h.group[piece] = group
    h.before[piece] = -1
    h.after[piece] = h.head[group]
    if h.head[group] >= 0:
        h.before[h.head[group]] = piece
    h.head[group] = piece
    item = h.item[piece]
    h.back[piece] = -1
    h.same[piece] = h.first[item]
    if h.first[item] >= 0:
        h.back[h.first[item]] = piece
    h.first[item] = piece


@njit(**INNER)
def _unlink(h, piece):
    """Remove a piece from its lists."""
    if h.before[piece] >= 0:
        h.after[h.before[piece]] = h.after[piece]
    else:
        h.head[h.group[piece]] = h.after[piece]
    if h.after[piece] >= 0:
        h.before[h.after[piece]] = h.before[piece]
    if h.back[piece] >= 0:
        h.same[h.back[piece]] = h.same[piece]
    else:
        h.first[h.item[piece]] = h.same[piece]
    if h.same[piece] >= 0:
        h.back[h.same[piece]] = h.back[piece]
    h.group[piece] = -1


@njit(**INNER)
def _measure(setting, h, group):
    """Recompute a group's region and cost."""
    forest, ordered, values = setting.space.forest, setting.space.ordered, setting.values
    region, item, after = h.region, h.item, h.after
    region[group] = -1
    piece = h.head[group]
    while piece >= 0:
        include(forest, ordered, region, group, values, item[piece])
        piece = after[piece]
    h.cost[group] = region_cost(setting.space, region, group)


@njit(**FROM_PYTHON)
def fill_groups(setting, h, item, count, start):
    """Fill empty linked lists with groups.

    item, count : int64 (pieces,);  start : int64 (groups + 1,)
    """
    for g in range(len(start) - 1):
        for i in range(start[g], start[g + 1]):
            h.state[0] -= 1
            piece = h.free[h.state[0]]
            h.item[piece] = item[i]
            h.rows[piece] = count[i]
            _link(h, piece, g)
            h.size[g] += count[i]
        _measure(setting, h, g)


@njit(**FROM_PYTHON)
def read_groups(h):
    """Return the groups of linked lists as item, count, start.

    Free groups are left out; the pieces of a group are in the order of items.
    """
    pieces = len(h.item) - h.state[0]
    item = np.empty(pieces, np.int64)
    count = np.empty(pieces, np.int64)
    start = np.zeros(len(h.head) + 1, np.int64)
    filled = 0
    groups = 0
    for g in range(len(h.head)):
        if h.size[g] == 0:
            continue
        low = filled
        piece = h.head[g]
        while piece >= 0:
            item[filled] = h.item[piece]
            count[filled] = h.rows[piece]
            filled += 1
            piece = h.after[piece]
        order = np.argsort(item[low:filled])
        item[low:filled] = item[low:filled][order]
        count[low:filled] = count[low:filled][order]
        groups += 1
        start[groups] = filled
    return item, count, start[: groups + 1]


@njit(**FROM_PYTHON)
def partition_loss(setting, item, count, start):
    """Return the total loss of a partition.

    It is the sum of the groups' rows times the cost of their regions.
    """
    forest, ordered, values = setting.space.forest, setting.space.ordered, setting.values
    region = np.empty((1, values.shape[1], 2), np.int32)
    total = 0.0
    for g in range(len(start) - 1):
        region[0] = -1
        rows = 0
        for i in range(start[g], start[g + 1]):
            include(forest, ordered, region, 0, values, item[i])
            rows += count[i]
        total += rows * region_cost(setting.space, region, 0)
    return total


@njit(**INNER)
def transfer(setting, h, piece, times, target):
    """Move `times` rows of a piece to another group; return their new piece.

    The piece goes as a whole where all its rows move and the target has none of its item.
    """
    group, rows, free, state = h.group, h.rows, h.free, h.state
    item = h.item[piece]
    source = group[piece]
    there = h.first[item]
    while there >= 0 and group[there] != target:
        there = h.same[there]
    whole = times == rows[piece]
    if there < 0:
        if whole:
            _unlink(h, piece)
            there = piece
        else:
            state[0] -= 1
            there = free[state[0]]
            h.item[there] = item
            rows[there] = times
            rows[piece] -= times
        _link(h, there, target)
    else:
        rows[there] += times
        rows[piece] -= times
        if whole:
            _unlink(h, piece)
            free[state[0]] = piece
            state[0] += 1
    h.size[source] -= times
    h.size[target] += times
    if whole:
        _measure(setting, h, source)
    include(setting.space.forest, setting.space.ordered, h.region, target, setting.values, item)
    h.cost[target] = region_cost(setting.space, h.region, target)
    return there


@njit(**INNER)
def _meets_without(setting, tally, h, group, piece, times):
    """Return whether a group meets the rules without `times` rows of a piece.

    An empty group does.
    """
    rules = setting.rules
    size = h.size[group] - times
    if size == 0:
        return True
    if size < rules.least[0]:
        return False
    if len(rules.rule_headers) == 0:
        return True
    counters, columns, item, rows, after = tally.counter, setting.columns, h.item, h.rows, h.after
    other = h.head[group]
    while other >= 0:
        left = rows[other] - (times if other == piece else 0)
        if left > 0:
            add(counters, columns, item[other], left)
        other = after[other]
    fine = meets(rules, tally)
    clear(counters)
    return fine


@njit(**INNER)
def group_meets(setting, tally, h, group):
    """Return whether a group meets the rules; an empty one does."""
    return _meets_without(setting, tally, h, group, -1, 0)


@njit(**INNER)
def _cost_without(setting, h, piece, scratch_region):
    """Return the cost of a group's region without a piece.

    scratch_region : int32 (1, q, 2), overwritten
    """
    forest, ordered, values = setting.space.forest, setting.space.ordered, setting.values
    item, after = h.item, h.after
    scratch_region[0] = -1
    other = h.head[h.group[piece]]
    while other >= 0:
        if other != piece:
            include(forest, ordered, scratch_region, 0, values, item[other])
        other = after[other]
    return region_cost(setting.space, scratch_region, 0)


@njit(**INNER)
def _loss(h, group):
    return h.size[group] * h.cost[group]


@njit(**INNER)
def _best_target(setting, h, near, piece, times):
    """Return the near group to which rows of a piece can move at least cost.

    Returns (group, rise of its loss); the group is -1 where there is none.
    """
    space, values = setting.space, setting.values
    first, same, group, stamp = h.first, h.same, h.group, h.stamp
    size, cost, region = h.size, h.cost, h.region
    item = h.item[piece]
    stamp[-1] += 1
    now = stamp[-1]
    stamp[group[piece]] = now
    best = -1
    best_rise = np.inf
    for i in range(near.shape[1]):
        other = first[near[item, i]]
        while other >= 0:
            g = group[other]
            if stamp[g] != now:
                stamp[g] = now
                rise = (size[g] + times) * cost_with(space, region, g, values, item) - size[g] * cost[g]
                if rise < best_rise:
                    best, best_rise = g, rise
            other = same[other]
    return best, best_rise


@njit(**INNER)
def _best_filler(setting, tally, h, near, group, barred, scratch_region):
    """Return the piece of a near group from which a row joins at least cost.

    The row joins `group`; it is not of item `barred`. Returns -1 where there is none.
    """
    space, values, least = setting.space, setting.values, setting.rules.least[0]
    first, same, group_of, item_of, after = h.first, h.same, h.group, h.item, h.after
    size, cost, rows, region = h.size, h.cost, h.rows, h.region
    now = size[group] * cost[group]
    best = -1
    best_rise = np.inf
    member = h.head[group]
    looked = 0
    while member >= 0 and looked < MAX_FILLERS:
        looked += 1
        item = item_of[member]
        for i in range(-1, near.shape[1]):
            new = item if i < 0 else near[item, i]
            if new == barred:
                continue
            other = first[new]
            while other >= 0:
                g = group_of[other]
                if g != group and size[g] > least:
                    # the row leaves a group of cost[g]; if it is the only row of its item, the region may shrink
                    rise = (size[group] + 1) * cost_with(space, region, group, values, new) - now - cost[g]
                    if rows[other] == 1 and cost[g] > 0.0 and rise - (size[g] - 1) * cost[g] < best_rise:
                        rise -= (size[g] - 1) * (cost[g] - _cost_without(setting, h, other, scratch_region))
                    if rise < best_rise and _meets_without(setting, tally, h, g, other, 1):
                        best, best_rise = other, rise
                other = same[other]
        member = after[member]
    return best


@njit(**INNER)
def _try_chain(setting, tally, h, near, piece, target, scratch_region, pass_number, closed_under_superset):
    """Move a piece that its group cannot spare, and refill the group.

    Returns whether the change was accepted; otherwise it is undone.
    """
    source = h.group[piece]
    item = h.item[piece]
    times = h.rows[piece]
    moved_pieces = np.empty(
        MAX_FILLERS + 1, np.int64
    )  # the pieces that have the rows now; `origin`: the groups they came from
    origin = np.empty(MAX_FILLERS + 1, np.int64)
    total = -_loss(h, source) - _loss(h, target)
    moved_pieces[0] = transfer(setting, h, piece, times, target)
    origin[0] = source
    total += _loss(h, source) + _loss(h, target)
    steps = 1
    fine = False
    while total < -STEP:
        if group_meets(setting, tally, h, source):
            fine = True
            break
        if steps > MAX_FILLERS:
            break
        filler = _best_filler(setting, tally, h, near, source, item, scratch_region)
        if filler < 0:
            break
        giver = h.group[filler]
        total -= _loss(h, source) + _loss(h, giver)
        moved_pieces[steps] = transfer(setting, h, filler, 1, source)
        origin[steps] = giver
        total += _loss(h, source) + _loss(h, giver)
        steps += 1
    if fine and not closed_under_superset:
        # each group could spare one row, but may have given several
        fine = group_meets(setting, tally, h, target)
        for i in range(1, steps):
            fine = fine and group_meets(setting, tally, h, origin[i])
    if fine:
        h.changed[target] = pass_number
        for i in range(steps):
            h.changed[origin[i]] = pass_number
        return True
    for i in range(steps - 1, -1, -1):
        transfer(setting, h, moved_pieces[i], times if i == 0 else 1, origin[i])
    return False


@njit(**INNER)
def _recently_changed(h, near, piece, pass_number):
    """Return whether a piece's group or a near one changed recently.

    That is in this pass or the last one.
    """
    first, same, group, changed = h.first, h.same, h.group, h.changed
    if changed[group[piece]] >= pass_number - 1:
        return True
    item = h.item[piece]
    for i in range(near.shape[1]):
        other = first[near[item, i]]
        while other >= 0:
            if changed[group[other]] >= pass_number - 1:
                return True
            other = same[other]
    return False


@njit(**INNER)
def _move_rows(setting, tally, h, piece, times, target, pass_number, closed_under_superset):
    """Move rows that their group can spare, unless that breaks the target.

    Returns whether they were moved.
    """
    source = h.group[piece]
    moved = transfer(setting, h, piece, times, target)
    if closed_under_superset or group_meets(setting, tally, h, target):
        h.changed[source] = pass_number
        h.changed[target] = pass_number
        return True
    transfer(setting, h, moved, times, source)
    return False


@njit(**INNER)
def _move_pieces(setting, tally, h, near, scratch_region, pass_number, closed_under_superset):
    """Run one pass over all pieces of groups with a cost; count the changes."""
    made = 0
    for piece in range(len(h.item)):
        source = h.group[piece]
        if (
            source < 0
            or h.cost[source] <= 0.0
            or h.state[0] <= MAX_FILLERS
            or not _recently_changed(h, near, piece, pass_number)
        ):
            continue
        times = h.rows[piece]
        target, rise = _best_target(setting, h, near, piece, times)
        if target < 0:
            continue
        rest = (h.size[source] - times) * _cost_without(setting, h, piece, scratch_region)
        pays = _loss(h, source) - rest - rise > STEP
        if _meets_without(setting, tally, h, source, piece, times):
            made += pays and _move_rows(setting, tally, h, piece, times, target, pass_number, closed_under_superset)
            continue
        spare = h.size[source] - setting.rules.least[0]
        if 0 < spare < times:  # some of the rows can move, although the region stays
            nearest, rise = _best_target(setting, h, near, piece, spare)
            if spare * h.cost[source] - rise > STEP and _meets_without(setting, tally, h, source, piece, spare):
                made += _move_rows(setting, tally, h, piece, spare, nearest, pass_number, closed_under_superset)
                continue
        made += pays and _try_chain(
            setting, tally, h, near, piece, target, scratch_region, pass_number, closed_under_superset
        )
    return made


@njit(**INNER)
def _dissolve_groups(setting, tally, h, near, pass_number, closed_under_superset):
    """Dissolve groups where that lowers the loss; return their number."""
    longest = 4 * setting.rules.least[0] + 8
    moved_pieces = np.empty(longest, np.int64)
    rows = np.empty(longest, np.int64)
    made = 0
    for group in range(len(h.head)):
        if h.size[group] == 0 or h.size[group] > longest or h.cost[group] <= 0.0 or h.changed[group] < pass_number - 1:
            continue
        total = -_loss(h, group)
        steps = 0
        fine = True
        while h.head[group] >= 0:
            piece = h.head[group]
            times = h.rows[piece]
            target, rise = _best_target(setting, h, near, piece, times)
            if target < 0 or total + rise >= -STEP:
                fine = False
                break
            total += rise
            rows[steps] = times
            moved_pieces[steps] = transfer(setting, h, piece, times, target)
            steps += 1
        if fine and not closed_under_superset:
            for i in range(steps):
                fine = fine and group_meets(setting, tally, h, h.group[moved_pieces[i]])
        if fine:
            made += 1
            for i in range(steps):
                h.changed[h.group[moved_pieces[i]]] = pass_number
        else:
            for i in range(steps - 1, -1, -1):
                transfer(setting, h, moved_pieces[i], rows[i], group)
    return made


@njit(**FROM_PYTHON)
def exchange_rows(setting, tally, h, near, first_pass, passes, closed_under_superset):
    """Improve linked groups in place; return the number of changes.

    Every group must meet the rules, and does so afterwards.
    near : int32 (items, c), items near to each;  first_pass : larger than any pass before on these groups
    closed_under_superset : whether a group that meets the rules still does with more rows
    Cost of a pass: pieces times near items times attributes.
    """
    scratch_region = np.empty((1, setting.values.shape[1], 2), np.int32)
    made = 0
    for pass_number in range(first_pass, first_pass + passes):
        changes = _move_pieces(setting, tally, h, near, scratch_region, pass_number, closed_under_superset)
        changes += _dissolve_groups(setting, tally, h, near, pass_number, closed_under_superset)
        made += changes
        if changes == 0:
            break
    return made
