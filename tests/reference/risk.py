"""Reference definitions of risks and attacks, on rows and plain numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction


def by_group(rows):
    """Group values by quasi-identifiers.

    Rows are (quasi-identifiers, value).
    """
    groups = defaultdict(list)
    for labels, value in rows:
        groups[labels].append(value)
    return groups


def known(values):
    return [value for value in values if value is not None]


def homogeneous(rows):
    return sum(len(known(values)) for values in by_group(rows).values() if len(set(known(values))) == 1)


def similar(rows, category):
    return sum(
        len(known(values)) for values in by_group(rows).values() if len({category[v] for v in known(values)}) == 1
    )


def guessed(rows):
    return sum(max(Counter(known(values)).values(), default=0) for values in by_group(rows).values())


def background(rows, excluded):
    """Count the people exposed by background knowledge.

    A person is exposed if some choice of excluded other values leaves only the person's value. Return also the best
    confidence of each.
    """
    exposed, confidences = 0, []
    for values in by_group(rows).values():
        values_known = known(values)
        for value in values_known:
            others = set(values_known) - {value}
            best = Fraction(0)
            for out in itertools.combinations(sorted(others), min(excluded, len(others))):
                left = [v for v in values_known if v not in out]
                best = max(best, Fraction(left.count(value), len(left)))
            exposed += best == 1
            confidences.append(best)
    return exposed, confidences


def minimal_uniques(rows, largest):
    """Return for each row its minimal unique sets of columns."""
    q = len(rows[0])
    found = []
    for row in rows:
        sets = []
        for size in range(1, largest + 1):
            for columns in itertools.combinations(range(q), size):
                if any(set(part) <= set(columns) for part in sets):
                    continue
                if sum(all(other[c] == row[c] for c in columns) for other in rows) == 1:
                    sets.append(columns)
        found.append(sets)
    return found


def suda_scores(rows, largest):
    q = len(rows[0])
    return [
        sum(math.prod(q - i for i in range(len(columns), min(largest, q - 1) + 1)) for columns in sets)
        for sets in minimal_uniques(rows, largest)
    ]


def suda_contribution(rows, largest):
    """Return the share of each column in all scores."""
    q = len(rows[0])
    parts, total = [0] * q, 0
    for sets in minimal_uniques(rows, largest):
        for columns in sets:
            weight = math.prod(q - i for i in range(len(columns), min(largest, q - 1) + 1))
            total += weight
            for column in columns:
                parts[column] += weight
    return [part / total if total else 0.0 for part in parts]


def highest_share_and_gain(rows):
    """Return the largest share of a value, and the largest gain.

    Both are over all groups and values; the gain is the excess over the share in the table.
    """
    everything = known([value for _, value in rows])
    share = gain = Fraction(0)
    for values in by_group(rows).values():
        values_known = known(values)
        for value in set(values_known):
            inside = Fraction(values_known.count(value), len(values_known))
            share = max(share, inside)
            gain = max(gain, inside - Fraction(everything.count(value), len(everything)))
    return share, gain


def shlosser(sizes, fraction):
    """Return the modified Shlosser estimate in exact fractions.

    Haas and Stokes, JASA 93 (1998), their third variant of the estimator.
    """
    c = Counter(sizes)
    q = Fraction(fraction)
    first = sum(i * q**2 * (1 - q**2) ** (i - 1) * n for i, n in c.items())
    first /= sum((1 - q) ** i * ((1 + q) ** i - 1) * n for i, n in c.items())
    second = sum((1 - q) ** i * n for i, n in c.items()) / sum(i * q * (1 - q) ** (i - 1) * n for i, n in c.items())
    return len(sizes) + c[1] * first * second**2


def individual_risk(f, people):
    """Return Σ_h 1/h · Pr(F = h), the individual risk.

    F is negative binomial with f successes of probability f / people.
    """
    p = f / people
    if p == 1:
        return 1 / f
    terms = int(people + (12 * f**0.5 + 40) / p)  # the mean, twelve deviations and the exponential tail
    total, log = 0.0, f * math.log(p)  # h = f
    for h in range(f, f + terms):
        total += math.exp(log) / h
        log += math.log(h / (h - f + 1)) + math.log1p(-p)
    return total


def zayatz(sizes, people):
    """Return the estimate of Zayatz in exact fractions.

    ``people`` is N.
    """
    rows = sum(sizes)
    drawn = {i: Fraction(i * math.comb(people - i, rows - 1), math.comb(people, rows)) for i in set(sizes)}
    ones = sizes.count(1)
    return ones * (ones * drawn[1] / sum(drawn[size] for size in sizes)) * Fraction(people, rows)


def snb_expectations(groups, fraction, alpha, beta, terms=4000):
    """Return expected c_1 and c_2 under the slide negative binomial model.

    The sampling probability is ``fraction``; the population has K groups.
    """
    one = two = 0.0
    for x in range(terms):
        log = math.lgamma(alpha + x) - math.lgamma(alpha) - math.lgamma(x + 1)
        share = math.exp(log + x * math.log1p(-beta) + alpha * math.log(beta))
        size = x + 1
        one += share * size * fraction * (1 - fraction) ** (size - 1)
        if size > 1:
            two += share * math.comb(size, 2) * fraction**2 * (1 - fraction) ** (size - 2)
    return groups * one, groups * two


def pitman_log_likelihood(sizes, theta, alpha):
    rows, groups = sum(sizes), len(sizes)
    total = sum(math.log(theta + i * alpha) for i in range(1, groups))
    total -= sum(math.log(theta + i) for i in range(1, rows))
    return total + sum(math.log(j - alpha) for size in sizes for j in range(1, size))


def pitman_expected_uniques(people, theta, alpha):
    """Return the expected uniques, adding people one by one."""
    tables = ones = 1.0
    for seated in range(1, people):
        new = (theta + alpha * tables) / (theta + seated)
        joined = ones * (1 - alpha) / (theta + seated)
        tables, ones = tables + new, ones + new - joined
    return ones


def candidates(groups, person, covers, within):
    """Return the groups that cover a person, and the innermost of them.

    No other covering group lies within an innermost one. ``groups`` are tuples of labels, ``covers(j, label, value)``
    and ``within(j, inner, outer)`` the rules by column.
    """
    every = [g for g in groups if all(covers(j, label, person[j]) for j, label in enumerate(g))]

    def inside(inner, outer):
        return all(within(j, a, b) for j, (a, b) in enumerate(zip(inner, outer, strict=True)))

    closest = [g for g in every if not any(inside(h, g) and not inside(g, h) for h in every if h != g)]
    return every, closest


def linked_people(crowds):
    """Return the people that linkage identifies, and those it exposes.

    ``crowds`` maps each (person, row) of an external table to its crowd, a list of (person of the released row, value).
    A row identifies its person if its crowd is of one person, and exposes its person if the people of the crowd, of
    whom a value is known, have a value in common.
    """

    def same(crowd):
        sets = {}
        for person, values in crowd:
            if values:
                sets.setdefault(person, set()).update(values)
        return bool(sets) and bool(set.intersection(*sets.values()))

    identified = {person for (person, _), crowd in crowds.items() if len({owner for owner, _ in crowd}) == 1}
    exposed = {person for (person, _), crowd in crowds.items() if same(crowd)}
    return identified, exposed


def possible_rows(people, released):
    """List for each person the rows that are theirs in some assignment.

    Every person has one row, and every row is one person's; ``*`` fits everything. People without a row may be more
    than there are rows. Without any assignment all lists are empty.
    """
    fits = [[all(c in (v, "*") for v, c in zip(p, row, strict=True)) for row in released] for p in people]
    found = [set() for _ in people]
    for owners in itertools.permutations(range(len(people)), len(released)):
        if all(fits[person][row] for row, person in enumerate(owners)):
            for row, person in enumerate(owners):
                found[person].add(row)
    return found
