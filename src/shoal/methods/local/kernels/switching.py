"""Switching rows between groups until all meet the models: Algorithm 2 of the (p+, α) paper.

What a group lacks is a number, 0 where it meets the models. For a group that lacks something, a row is exchanged with
a row of another group, or taken over from it, such that the group lacks less afterwards and the other no more than
before. Of all such switches with near groups, the one of least extra loss, by how much it mends, is made. Where none
exists, the group is merged with the near group that costs least, unless a switch with a far group costs less.

Termination: a switch leaves the number of groups as it is and lowers the sum of what all groups lack; there are only
finitely many partitions into that number of groups, so that only finitely many switches follow each other. A merge
lowers the number of groups. So the pair (groups, lack) falls in lexicographic order with every step, and has a least
element. At the end all groups meet the models, or there is one group.

Sun, Wang, Truta, Li and Li, "(p+, α)-sensitive k-anonymity: a new enhanced privacy protection model", 2008, section 4.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import add, clear, lack
from shoal.methods.local.kernels.exchange import transfer
from shoal.methods.local.kernels.regions import cost_united, include, region_cost

__all__ = ["switch_rows"]

WIDEST = 4096  # groups up to which all are looked at where no near group helps
STEP = 1e-9  # what a switch must mend at least


@njit(**INNER)
def _count_group(book, columns, h, group):
    item, rows, after = h.item, h.rows, h.after
    piece = h.head[group]
    while piece >= 0:
        add(book, columns, item[piece], rows[piece])
        piece = after[piece]


@njit(**INNER)
def _cost_after(setting, h, group, leaver, comer, room):
    """The cost of a group if one row of a piece left it (-1: none) and a row of another item came (-1: none)."""
    forest, ordered, values = setting.space.forest, setting.space.ordered, setting.values
    item, rows, after = h.item, h.rows, h.after
    room[0] = -1
    piece = h.head[group]
    while piece >= 0:
        if piece != leaver or rows[piece] > 1:
            include(forest, ordered, room, 0, values, item[piece])
        piece = after[piece]
    if comer >= 0:
        include(forest, ordered, room, 0, values, comer)
    return region_cost(setting.space, room, 0)


@njit(**INNER)
def _best_with(setting, tally, other, h, lacks, short, giver, room, best):
    """Improve `best`, float64 (3,): score, the piece that leaves `short` (negative: none), the piece that comes.

    tally : the rows of `short`
    """
    rules, columns, own, book = setting.rules, setting.columns, tally.book, other.book
    item, after = h.item, h.after
    _count_group(book, columns, h, giver)
    now = h.size[short] * h.cost[short] + h.size[giver] * h.cost[giver]
    comer = h.head[giver]
    while comer >= 0:
        new = item[comer]
        add(own, columns, new, 1)
        add(book, columns, new, -1)
        leaver = np.int64(-2)  # nobody leaves; then every piece of the short group in turn
        while leaver != -1:
            old = item[leaver] if leaver >= 0 else np.int64(-1)
            if old != new:
                if old >= 0:
                    add(own, columns, old, -1)
                    add(book, columns, old, 1)
                mended = lacks[short] - lack(rules, tally)
                if mended > STEP and lack(rules, other) <= lacks[giver]:
                    shift = 0 if old >= 0 else 1
                    rise = (h.size[short] + shift) * _cost_after(setting, h, short, leaver, new, room) - now
                    rise += (h.size[giver] - shift) * _cost_after(setting, h, giver, comer, old, room)
                    if rise / mended < best[0]:
                        best[0], best[1], best[2] = rise / mended, leaver, comer
                if old >= 0:
                    add(own, columns, old, 1)
                    add(book, columns, old, -1)
            leaver = h.head[short] if leaver == -2 else after[leaver]
        add(own, columns, new, -1)
        add(book, columns, new, 1)
        comer = after[comer]
    clear(book)


@njit(**INNER)
def _near_groups(h, near, group, found):
    """Write the groups of items near to those of a group into `found`; how many."""
    h.stamp[-1] += 1
    h.stamp[group] = h.stamp[-1]
    used = 0
    piece = h.head[group]
    while piece >= 0:
        for i in range(near.shape[1]):
            other = h.first[near[h.item[piece], i]]
            while other >= 0:
                g = h.group[other]
                if h.stamp[g] != h.stamp[-1] and used < len(found):
                    h.stamp[g] = h.stamp[-1]
                    found[used] = g
                    used += 1
                other = h.same[other]
        piece = h.after[piece]
    return used


@njit(**INNER)
def _all_groups(h, group, found):
    used = 0
    for g in range(len(h.head)):
        if g != group and h.size[g] > 0:
            found[used] = g
            used += 1
    return used


@njit(**INNER)
def _best_merge(setting, tally, h, lacks, group, found, used):
    """The group of `found` to merge with at least extra loss by what it mends: (group, score).

    tally : the rows of `group`. A merge that mends nothing counts as mending one thousandth of what is lacking, so that
    there is always an answer.
    """
    rules, columns, book, item, rows, after = setting.rules, setting.columns, tally.book, h.item, h.rows, h.after
    best = -1
    best_score = np.inf
    for i in range(used):
        g = found[i]
        rise = (h.size[g] + h.size[group]) * cost_united(setting.space, h.region, g, group)
        rise -= h.size[g] * h.cost[g] + h.size[group] * h.cost[group]
        _count_group(book, columns, h, g)
        mended = max(lacks[group] + lacks[g] - lack(rules, tally), 1e-3 * lacks[group])
        piece = h.head[g]
        while piece >= 0:
            add(book, columns, item[piece], -rows[piece])
            piece = after[piece]
        if rise / mended < best_score:
            best, best_score = g, rise / mended
    return best, best_score


@njit(**INNER)
def _recount(setting, tally, h, lacks, group):
    """Bring what a group lacks up to date."""
    _count_group(tally.book, setting.columns, h, group)
    lacks[group] = lack(setting.rules, tally)
    clear(tally.book)


@njit(**FROM_PYTHON)
def switch_rows(setting, tally, other, h, near, lacks):
    """Mend a holding in place; lacks : float64 (groups,), what each group lacks, kept up to date.

    Returns int64 (3,): rows exchanged in pairs, rows taken over, and groups merged.
    Cost of a switch: the pairs of rows of the group and of its near groups, times what a verdict costs.
    """
    made = np.zeros(3, np.int64)
    room = np.empty((1, setting.values.shape[1], 2), np.int32)
    found = np.empty(len(h.head), np.int64)
    best = np.empty(3)
    for start in range(len(h.head)):
        group = start
        while h.size[group] > 0 and lacks[group] > 0.0:
            _count_group(tally.book, setting.columns, h, group)
            best[0] = np.inf
            used = _near_groups(h, near, group, found)
            spacious = h.state[0] > 1  # a switch can need room for two pieces
            for i in range(used if spacious else 0):
                _best_with(setting, tally, other, h, lacks, group, found[i], room, best)
            partner, score = -1, np.inf
            if best[0] == np.inf:
                if used == 0:
                    used = _all_groups(h, group, found)
                partner, score = _best_merge(setting, tally, h, lacks, group, found, used)
            if best[0] == np.inf and len(h.head) <= WIDEST and spacious:
                used = _all_groups(h, group, found)
                for i in range(used):
                    _best_with(setting, tally, other, h, lacks, group, found[i], room, best)
            clear(tally.book)
            if partner < 0 and best[0] == np.inf:  # it is the only group
                return made
            if best[0] <= score:
                leaver, comer = np.int64(best[1]), np.int64(best[2])
                giver = h.group[comer]
                transfer(setting, h, comer, 1, group)
                if leaver >= 0:
                    transfer(setting, h, leaver, 1, giver)
                made[0 if leaver >= 0 else 1] += 1
                _recount(setting, tally, h, lacks, giver)
            else:
                while h.head[group] >= 0:
                    transfer(setting, h, h.head[group], h.rows[h.head[group]], partner)
                made[2] += 1
                lacks[group] = 0.0
                group = partner
            _recount(setting, tally, h, lacks, group)
    return made
