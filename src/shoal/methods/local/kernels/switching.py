"""Switching rows between groups: Algorithm 2 of the (p+, α) paper.

Rows are switched until all groups meet the models. The deficit of a group is a number, 0 where it meets the models. For
a group with a deficit, a row is exchanged with a row of another group, or taken over from it, such that the deficit of
the group falls and that of the other does not rise. Of all such switches with near groups, the one of least additional
loss, relative to the deficit that it removes, is made. Where none exists, the group is merged with the near group that
costs least, unless a switch with a far group costs less.

Termination: a switch keeps the number of groups and lowers the sum of the deficits; there are only finitely many
partitions into that number of groups, so that only finitely many switches follow each other. A merge lowers the number
of groups. So the pair (groups, deficit) falls in lexicographic order with every step, and has a least element. At the
end all groups meet the models, or there is one group.

Sun, Wang, Truta, Li and Li, "(p+, α)-sensitive k-anonymity: a new enhanced privacy protection model", 2008, section 4.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import add, clear, deficit
from shoal.methods.local.kernels.exchange import transfer
from shoal.methods.local.kernels.regions import cost_united, include, region_cost

MAX_GROUPS_FOR_FULL_SEARCH = 4096  # up to this number, all groups are examined where no near group helps
STEP = 1e-9  # the minimum decrease of the deficit by a switch


@njit(**INNER)
def _count_group(counters, columns, h, group):
    item, rows, after = h.item, h.rows, h.after
    piece = h.head[group]
    while piece >= 0:
        add(counters, columns, item[piece], rows[piece])
        piece = after[piece]


@njit(**INNER)
def _cost_after(setting, h, group, outgoing, incoming, scratch_region):
    """Return the cost of a group after one row left and another one joined.

    outgoing : the piece of the leaving row, negative for none;  incoming : the item of the joining row, -1 for none
    scratch_region : int32 (1, q, 2), overwritten
    """
    forest, ordered, values = setting.space.forest, setting.space.ordered, setting.values
    item, rows, after = h.item, h.rows, h.after
    scratch_region[0] = -1
    piece = h.head[group]
    while piece >= 0:
        if piece != outgoing or rows[piece] > 1:
            include(forest, ordered, scratch_region, 0, values, item[piece])
        piece = after[piece]
    if incoming >= 0:
        include(forest, ordered, scratch_region, 0, values, incoming)
    return region_cost(setting.space, scratch_region, 0)


@njit(**INNER)
def _best_with(setting, tally, other, h, deficits, short, giver, scratch_region, best):
    """Improve `best`, float64 (3,), by switches of `short` with `giver`.

    best : score, the piece that leaves `short` (negative: none), the piece that joins
    tally : the rows of `short`
    """
    rules, columns, own, counters = setting.rules, setting.columns, tally.counter, other.counter
    item, after = h.item, h.after
    _count_group(counters, columns, h, giver)
    now = h.size[short] * h.cost[short] + h.size[giver] * h.cost[giver]
    incoming = h.head[giver]
    while incoming >= 0:
        new = item[incoming]
        add(own, columns, new, 1)
        add(counters, columns, new, -1)
        outgoing = np.int64(-2)  # no row leaves; then every piece of the short group in turn
        while outgoing != -1:
            old = item[outgoing] if outgoing >= 0 else np.int64(-1)
            if old != new:
                if old >= 0:
                    add(own, columns, old, -1)
                    add(counters, columns, old, 1)
                removed = deficits[short] - deficit(rules, tally)
                if removed > STEP and deficit(rules, other) <= deficits[giver]:
                    shift = 0 if old >= 0 else 1
                    rise = (h.size[short] + shift) * _cost_after(setting, h, short, outgoing, new, scratch_region) - now
                    rise += (h.size[giver] - shift) * _cost_after(setting, h, giver, incoming, old, scratch_region)
                    if rise / removed < best[0]:
                        best[0], best[1], best[2] = rise / removed, outgoing, incoming
                if old >= 0:
                    add(own, columns, old, 1)
                    add(counters, columns, old, -1)
            outgoing = h.head[short] if outgoing == -2 else after[outgoing]
        add(own, columns, new, -1)
        add(counters, columns, new, 1)
        incoming = after[incoming]
    clear(counters)


@njit(**INNER)
def _near_groups(h, near, group, found):
    """Write the groups near to a group into `found`; return their number.

    They have items near to those of the group.
    """
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
def _best_merge(setting, tally, h, deficits, group, found, used):
    """Return the best group of `found` to merge with: (group, score).

    The score is the additional loss relative to the deficit that the merge removes.
    tally : the rows of `group`. A merge that removes no deficit counts as removing one thousandth of it, so that there
        is
    always an answer.
    """
    rules, columns, counters, item, rows, after = setting.rules, setting.columns, tally.counter, h.item, h.rows, h.after
    best = -1
    best_score = np.inf
    for i in range(used):
        g = found[i]
        rise = (h.size[g] + h.size[group]) * cost_united(setting.space, h.region, g, group)
        rise -= h.size[g] * h.cost[g] + h.size[group] * h.cost[group]
        _count_group(counters, columns, h, g)
        removed = max(deficits[group] + deficits[g] - deficit(rules, tally), 1e-3 * deficits[group])
        piece = h.head[g]
        while piece >= 0:
            add(counters, columns, item[piece], -rows[piece])
            piece = after[piece]
        if rise / removed < best_score:
            best, best_score = g, rise / removed
    return best, best_score


@njit(**INNER)
def _recount(setting, tally, h, deficits, group):
    """Update the deficit of a group."""
    _count_group(tally.counter, setting.columns, h, group)
    deficits[group] = deficit(setting.rules, tally)
    clear(tally.counter)


@njit(**FROM_PYTHON)
def switch_rows(setting, tally, other, h, near, deficits):
    """Repair linked groups in place until all meet the rules.

    deficits : float64 (groups,), the deficit of each group, updated
    Returns int64 (3,): rows exchanged in pairs, rows taken over, and groups merged.
    Cost of a switch: the pairs of rows of the group and of its near groups, times the cost of a verdict.
    """
    made = np.zeros(3, np.int64)
    scratch_region = np.empty((1, setting.values.shape[1], 2), np.int32)
    found = np.empty(len(h.head), np.int64)
    best = np.empty(3)
    for start in range(len(h.head)):
        group = start
        while h.size[group] > 0 and deficits[group] > 0.0:
            _count_group(tally.counter, setting.columns, h, group)
            best[0] = np.inf
            used = _near_groups(h, near, group, found)
            has_free_pieces = h.state[0] > 1  # a switch can need two free pieces
            for i in range(used if has_free_pieces else 0):
                _best_with(setting, tally, other, h, deficits, group, found[i], scratch_region, best)
            partner, score = -1, np.inf
            if best[0] == np.inf:
                if used == 0:
                    used = _all_groups(h, group, found)
                partner, score = _best_merge(setting, tally, h, deficits, group, found, used)
            if best[0] == np.inf and len(h.head) <= MAX_GROUPS_FOR_FULL_SEARCH and has_free_pieces:
                used = _all_groups(h, group, found)
                for i in range(used):
                    _best_with(setting, tally, other, h, deficits, group, found[i], scratch_region, best)
            clear(tally.counter)
            if partner < 0 and best[0] == np.inf:  # it is the only group
                return made
            if best[0] <= score:
                outgoing, incoming = np.int64(best[1]), np.int64(best[2])
                giver = h.group[incoming]
                transfer(setting, h, incoming, 1, group)
                if outgoing >= 0:
                    transfer(setting, h, outgoing, 1, giver)
                made[0 if outgoing >= 0 else 1] += 1
                _recount(setting, tally, h, deficits, giver)
            else:
                while h.head[group] >= 0:
                    transfer(setting, h, h.head[group], h.rows[h.head[group]], partner)
                made[2] += 1
                deficits[group] = 0.0
                group = partner
            _recount(setting, tally, h, deficits, group)
    return made
