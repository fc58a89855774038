"""Reference definitions of models that count people.

A group is a list of people. ``people`` maps a person to the set of known values over all rows of the person in the
source.
"""

import itertools
import math
from fractions import Fraction

from tests.reference.models import earth_mover


def known(group, people):
    return [people[u] for u in group if people[u]]


def values_needed(group, people):
    """Return the least number of values that cover every person.

    A value covers a person who has it. People without a known value are left out; 0 if there are no others.
    """
    sets = known(group, people)
    if not sets:
        return 0
    values = sorted(set().union(*sets))
    return next(
        number
        for number in range(1, len(values) + 1)
        if any(all(set(chosen) & one for one in sets) for chosen in itertools.combinations(values, number))
    )


def p_sensitive(group, people, p):
    return values_needed(group, people) >= p


def weight(group, people, weigh):
    return sum((min(weigh(value) for value in one) for one in known(group, people)), Fraction(0))


def shares(group, people):
    """Return shares of values; each person counts once, in equal parts."""
    sets = known(group, people)
    found = {}
    for one in sets:
        for value in one:
            found[value] = found.get(value, Fraction(0)) + Fraction(1, len(one) * len(sets))
    return found


def alpha_k(group, people, alpha, k):
    found = shares(group, people)
    return len(group) >= k and bool(found) and max(found.values()) <= alpha


def entropy_diverse(group, people, least):
    found = shares(group, people)
    return bool(found) and -sum(float(s) * math.log(s) for s in found.values()) >= math.log(least) - 1e-12


def recursive_diverse(group, people, c, least):
    ordered = sorted(shares(group, people).values(), reverse=True)
    return bool(ordered) and ordered[0] < c * sum(ordered[least - 1 :], Fraction(0))


def equal_distance(group, people, everybody):
    mine, all_of_them = shares(group, people), shares(everybody, people)
    if not mine:
        return math.inf
    return sum(abs(mine.get(v, Fraction(0)) - all_of_them.get(v, Fraction(0))) for v in all_of_them | mine) / 2


def moved(group, people, everybody, cost):
    """Return the earth mover's distance of a group from the table.

    ``cost`` is that of one value for another.
    """
    mine = shares(group, people)
    return earth_mover(mine, shares(everybody, people), cost) if mine else math.inf


def beta_like(group, people, everybody, beta, *, enhanced=False):
    mine, all_of_them = shares(group, people), shares(everybody, people)
    gains = {value: mine[value] / all_of_them[value] - 1 for value in mine}
    own = all(gain <= 0 or float(gain) <= -math.log(all_of_them[value]) + 1e-12 for value, gain in gains.items())
    return bool(mine) and all(gain <= beta for gain in gains.values()) and (own or not enhanced)


def delta_disclosed(group, people, everybody, delta):
    mine, all_of_them = shares(group, people), shares(everybody, people)
    return bool(mine) and all(v in mine and abs(math.log(mine[v] / all_of_them[v])) < delta for v in all_of_them)


def labels_of(rows):
    """Group rows (person, label) by person."""
    found = {}
    for person, label in rows:
        found.setdefault(person, []).append(label)
    return found


def contains(history, known):
    rest = list(history)
    for label in known:
        if label not in rest:
            return False
        rest.remove(label)
    return True


def crowds(rows, known_rows):
    """List for each set of labels that a person has the people sharing it.

    Sets are of one row, two, ... ``known_rows``; or of all rows of a person (None).
    """
    found = labels_of(rows)
    if known_rows is None:
        whole = {tuple(sorted(history)) for history in found.values()}
        return [[u for u, history in found.items() if tuple(sorted(history)) == own] for own in sorted(whole)]
    sets = {
        tuple(sorted(known))
        for history in found.values()
        for size in range(1, known_rows + 1)
        for known in itertools.combinations(history, size)
    }
    return [[u for u, history in found.items() if contains(history, known)] for known in sorted(sets)]


def exposed_by_rows(rows, number, least):
    """Return the people with a rare set of rows.

    A set is rare if fewer than ``least`` people have its labels; it has at most ``number`` rows.
    """
    found = labels_of(rows)
    return {
        person
        for person, history in found.items()
        for size in range(1, number + 1)
        for known in itertools.combinations(history, size)
        if sum(contains(other, known) for other in found.values()) < least
    }


def exposed_by_all_rows(rows, least):
    found = {person: sorted(history) for person, history in labels_of(rows).items()}
    return {person for person, own in found.items() if sum(own == other for other in found.values()) < least}


def exposed_by_composition(rows):
    """Return the people exposed by the intersection of their groups.

    rows: (person, label, value or None). A person is exposed if the groups have one value in common, and it is the
    person's.
    """
    values_of = {}
    for _, label, value in rows:
        values_of.setdefault(label, []).append(value)
    exposed = set()
    for person in {row[0] for row in rows}:
        complete = [set(values_of[row[1]]) for row in rows if row[0] == person and None not in values_of[row[1]]]
        left = set.intersection(*complete) if complete else set()
        own = {row[2] for row in rows if row[0] == person}
        if len(left) == 1 and left <= own:
            exposed.add(person)
    return exposed
