"""Reference definitions of all models for columns with harmless values.

A group is a list of members, each a set of values: one value for a row, several for a person. None is a member without
a known value. Harmless values are given as a set; a member with a harmful value has no harmless ones.
"""

import itertools
import math
from fractions import Fraction


def members(group, harmless):
    """Return the sets of the members with known values, without needless ones."""
    return [(one - harmless) or one for one in group if one]


def is_spared(group, harmless):
    """Return whether a member has harmless values only."""
    return any(one <= harmless for one in members(group, harmless))


def covers(group, harmless, number):
    """Return whether some harmful values, of this number, cover everybody."""
    sets = members(group, harmless)
    values = sorted(set().union(*sets) - harmless)
    return any(
        all(set(chosen) & one for one in sets)
        for size in range(min(number, len(values)) + 1)
        for chosen in itertools.combinations(values, size)
    )


def distinct(group, harmless, p):
    sets = members(group, harmless)
    return bool(sets) and (is_spared(group, harmless) or not covers(group, harmless, p - 1))


def categories(group, harmless, p, classes):
    def category(value):
        return next(index for index, values in enumerate(classes) if value in values)

    sets = members(group, harmless)
    if not sets or is_spared(group, harmless):
        return bool(sets)
    return distinct([{category(value) for value in one} for one in sets], set(), p)


def weight(group, harmless, classes):
    def weigh(value):
        if value in harmless:
            return Fraction(1)
        return Fraction(next(i for i, values in enumerate(classes) if value in values), len(classes) - 1)

    return sum((min(map(weigh, one)) for one in members(group, harmless)), Fraction(0))


def shares(group, harmless):
    """Return the share of each harmful value among the members with values."""
    sets = members(group, harmless)
    found = {}
    for one in sets:
        for value in one - harmless:
            found[value] = found.get(value, Fraction(0)) + Fraction(1, len(one) * len(sets))
    return found


def alpha_k(group, harmless, alpha, k):
    return (
        len(group) >= k
        and bool(members(group, harmless))
        and all(share <= alpha for share in shares(group, harmless).values())
    )


def recursive(group, harmless, c, ell):
    if not members(group, harmless):
        return False
    ordered = sorted(shares(group, harmless).values(), reverse=True)
    rest = 1 - sum(ordered[: ell - 1])
    return not ordered or ordered[0] < c * rest


def rises(group, harmless, everybody):
    inside, outside = shares(group, harmless), shares(everybody, harmless)
    return {value: (share, outside[value]) for value, share in inside.items()}


def closeness(group, harmless, everybody, t):
    moved = sum(max(Fraction(0), inside - outside) for inside, outside in rises(group, harmless, everybody).values())
    return bool(members(group, harmless)) and moved <= t


def delta(group, harmless, everybody, bound):
    found = rises(group, harmless, everybody).values()
    return bool(members(group, harmless)) and all(math.log(inside / outside) < bound for inside, outside in found)


def beta(group, harmless, everybody, bound, *, enhanced):
    found = rises(group, harmless, everybody).values()
    return bool(members(group, harmless)) and all(
        inside / outside - 1 <= bound
        and (not enhanced or inside <= outside or inside / outside - 1 <= -math.log(outside))
        for inside, outside in found
    )
