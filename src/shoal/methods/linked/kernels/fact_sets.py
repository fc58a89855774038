"""Sets of one and two facts: leaving out facts of rare sets, putting back.

People are sorted by root group. An entry is a person with a label, and the number of the person's facts with it, at
widest two: more say nothing to whoever knows two facts. Entries are sorted by person; labels are numbered within their
group. A set is one label, two labels, or one label twice. Its support is the number of people of the group who have it.

A set is rare if its support is below k. Banned sets have a very low support, and stay rare.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER

BANNED = -(2**30)


@njit(**INNER)
def _ban(single, pairs, width, banned, first, last):
    for one in range(first, last):
        a, b = banned[one, 0], banned[one, 1]
        if b < 0:
            single[a] = BANNED
        else:
            pairs[min(a, b) * width + max(a, b)] = BANNED


@njit(**INNER)
def _count(single, pairs, width, entry, label, keep, first, last):
    for person in range(first, last):
        for one in range(entry[person], entry[person + 1]):
            if keep[one] == 0:
                continue
            a = label[one]
            single[a] += 1
            if keep[one] > 1:
                pairs[a * width + a] += 1
            for two in range(one + 1, entry[person + 1]):
                if keep[two] > 0:
                    pairs[a * width + label[two]] += 1


@njit(**INNER)
def _drop(single, pairs, width, label, keep, chosen, first, last):
    """Take a label from a person."""
    a = label[chosen]
    single[a] -= 1
    if keep[chosen] > 1:
        pairs[a * width + a] -= 1
    keep[chosen] = 0
    for other in range(first, last):
        if keep[other] > 0:
            b = label[other]
            pairs[min(a, b) * width + max(a, b)] -= 1


@njit(**INNER)
def _thin_person(single, pairs, width, label, keep, lot, first, last, k):
    """Leave out facts of a person until no set is rare; return whether any.

    Labels of too few people go first, and second facts of a label that too few have twice. Then the label goes that is
    in widest rare pairs; of several, the rarer, then that of the lower lot.
    """
    changed = False
    while True:
        for one in range(first, last):
            if keep[one] > 0 and single[label[one]] < k:
                _drop(single, pairs, width, label, keep, one, first, last)
                changed = True
            elif keep[one] > 1 and pairs[label[one] * width + label[one]] < k:
                keep[one] = 1
                pairs[label[one] * width + label[one]] -= 1
                changed = True
        chosen, worst = -1, 0
        for one in range(first, last):
            if keep[one] == 0:
                continue
            a, rare = label[one], 0
            for two in range(first, last):
                if two != one and keep[two] > 0:
                    b = label[two]
                    if pairs[min(a, b) * width + max(a, b)] < k:
                        rare += 1
            if rare == 0 or rare < worst:
                continue
            better = rare > worst or single[a] < single[label[chosen]]
            if better or (single[a] == single[label[chosen]] and lot[one] < lot[chosen]):
                chosen, worst = one, rare
        if chosen < 0:
            return changed
        _drop(single, pairs, width, label, keep, chosen, first, last)
        changed = True


@njit(**FROM_PYTHON)
def thin(group, entry, label, keep, lot, width, banned, banned_start, k, facts):
    """Leave out facts until no set of a person is rare.

    group : int64 (groups + 1,), first person of each; entry : int64 (people + 1,), first entry of each
    label : int64 (entries,); keep : int8 (entries,), facts that stay, changed in index; lot : int64 (entries,)
    width : int64 (groups,), labels of each group
    banned : int64 (sets, 2), labels of sets that must not remain, by group from ``banned_start``; the second label is
    -1 for a set of one
    """
    widest = 1
    for one in range(len(width)):
        widest = max(widest, width[one])
    single = np.zeros(widest, np.int32)
    pairs = np.zeros(widest * widest if facts > 1 else 1, np.int32)
    for one in range(len(width)):
        wide = width[one]
        single[:wide] = 0
        if facts > 1:
            pairs[: wide * wide] = 0
        _ban(single, pairs, wide, banned, banned_start[one], banned_start[one + 1])
        if facts > 1:
            _count(single, pairs, wide, entry, label, keep, group[one], group[one + 1])
        else:
            for index in range(entry[group[one]], entry[group[one + 1]]):
                if keep[index] > 0:
                    single[label[index]] += 1
        changed = True
        while changed:
            changed = False
            for person in range(group[one], group[one + 1]):
                first, last = entry[person], entry[person + 1]
                if facts > 1:
                    changed |= _thin_person(single, pairs, wide, label, keep, lot, first, last, k)
                    continue
                for index in range(first, last):
                    if keep[index] > 0 and single[label[index]] < k:
                        single[label[index]] -= 1
                        keep[index] = 0
                        changed = True


@njit(**FROM_PYTHON)
def put_back_rows(group, entry, label, keep, width, rows, rows_start, row_entry, parent, alive, owner, k, facts):
    """Put back facts if all their sets have k people then.

    keep : int64 (entries,), facts that are there, not cut at two, changed in index
    rows : int64, facts to try, by group from ``rows_start``, in order; row_entry : their entry by fact
    parent, alive : by fact; a fact stays out if its parent, if any, is out; alive is changed in index
    owner : int64 (entries,), the person of an entry
    """
    widest = 1
    for one in range(len(width)):
        widest = max(widest, width[one])
    single = np.zeros(widest, np.int32)
    pairs = np.zeros(widest * widest if facts > 1 else 1, np.int32)
    for one in range(len(width)):
        if rows_start[one] == rows_start[one + 1]:
            continue
        wide = width[one]
        single[:wide] = 0
        if facts > 1:
            pairs[: wide * wide] = 0
            _count(single, pairs, wide, entry, label, keep, group[one], group[one + 1])
        else:
            for index in range(entry[group[one]], entry[group[one + 1]]):
                if keep[index] > 0:
                    single[label[index]] += 1
        for number in range(rows_start[one], rows_start[one + 1]):
            row = rows[number]
            if parent[row] >= 0 and not alive[parent[row]]:
                continue
            index = row_entry[row]
            a = label[index]
            first, last = entry[owner[index]], entry[owner[index] + 1]
            fits = True
            if keep[index] == 0:
                fits = single[a] + 1 >= k
                if facts > 1 and fits:
                    for other in range(first, last):
                        b = label[other]
                        if keep[other] > 0 and pairs[min(a, b) * wide + max(a, b)] + 1 < k:
                            fits = False
                            break
            elif keep[index] == 1 and facts > 1:
                fits = pairs[a * wide + a] + 1 >= k
            if not fits:
                continue
            if keep[index] == 0:
                single[a] += 1
                if facts > 1:
                    for other in range(first, last):
                        b = label[other]
                        if keep[other] > 0:
                            pairs[min(a, b) * wide + max(a, b)] += 1
            elif keep[index] == 1 and facts > 1:
                pairs[a * wide + a] += 1
            keep[index] += 1
            alive[row] = True
