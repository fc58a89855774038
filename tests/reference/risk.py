"""Risks and attacks, restated slowly and obviously, on rows and plain numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction


def by_group(rows):
    """Rows are (quasi-identifiers, value); a group maps to the list of its values."""
    groups = defaultdict(list)
    for shown, value in rows:
        groups[shown].append(value)
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
    """People whose value some choice of excluded other values leaves alone, and the best confidence of each."""
    exposed, confidences = 0, []
    for values in by_group(rows).values():
        held = known(values)
        for value in held:
            others = set(held) - {value}
            best = Fraction(0)
            for out in itertools.combinations(sorted(others), min(excluded, len(others))):
                left = [v for v in held if v not in out]
                best = max(best, Fraction(left.count(value), len(left)))
            exposed += best == 1
            confidences.append(best)
    return exposed, confidences


def minimal_uniques(rows, largest):
    """For each row, its minimal unique sets of columns."""
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
    """Which part of all scores comes from minimal sets with each column."""
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
    """Over groups and values: the largest share of a value, and the largest excess over its share in the table."""
    everything = known([value for _, value in rows])
    share = gain = Fraction(0)
    for values in by_group(rows).values():
        held = known(values)
        for value in set(held):
            inside = Fraction(held.count(value), len(held))
            share = max(share, inside)
            gain = max(gain, inside - Fraction(everything.count(value), len(everything)))
    return share, gain


def shlosser(sizes, fraction):
    """Haas and Stokes, JASA 93 (1998), their third variant of Shlosser's estimator, in exact fractions."""
    c = Counter(sizes)
    q = Fraction(fraction)
    first = sum(i * q**2 * (1 - q**2) ** (i - 1) * n for i, n in c.items())
    first /= sum((1 - q) ** i * ((1 + q) ** i - 1) * n for i, n in c.items())
    second = sum((1 - q) ** i * n for i, n in c.items()) / sum(i * q * (1 - q) ** (i - 1) * n for i, n in c.items())
    return len(sizes) + c[1] * first * second**2


def individual_risk(f, people):
    """Σ_h 1/h · Pr(F = h), F negative binomial with f successes of probability f / people."""
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
    """Exact fractions; ``people`` is N."""
    rows = sum(sizes)
    drawn = {i: Fraction(i * math.comb(people - i, rows - 1), math.comb(people, rows)) for i in set(sizes)}
    ones = sizes.count(1)
    return ones * (ones * drawn[1] / sum(drawn[size] for size in sizes)) * Fraction(people, rows)


def snb_expectations(groups, fraction, alpha, beta, terms=4000):
    """Expected c_1 and c_2 of a sample with probability ``fraction`` from K slide negative binomial groups."""
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
    """Seat people one by one: expected groups and expected groups of one."""
    tables = ones = 1.0
    for seated in range(1, people):
        new = (theta + alpha * tables) / (theta + seated)
        joined = ones * (1 - alpha) / (theta + seated)
        tables, ones = tables + new, ones + new - joined
    return ones


def candidates(groups, person, covers, within):
    """Groups that cover a person, and those of them that no other covering group lies within.

    ``groups`` are tuples of labels, ``covers(j, label, value)`` and ``within(j, inner, outer)`` the rules by column.
    """
    every = [g for g in groups if all(covers(j, label, person[j]) for j, label in enumerate(g))]

    def inside(inner, outer):
        return all(within(j, a, b) for j, (a, b) in enumerate(zip(inner, outer, strict=True)))

    closest = [g for g in every if not any(inside(h, g) and not inside(g, h) for h in every if h != g)]
    return every, closest


def linked_people(crowds):
    """Whom linkage exposes, from the crowd of each row of an external table: ``{(person, row): crowd}``.

    A crowd is a list of (person of the released row, value); a person is identified by a row whose crowd is all one
    person's, and exposed by a row whose crowd's people, of whom a value is known, have a value in common.
    """

    def same(crowd):
        sets = {}
        for person, values in crowd:
            if values:
                sets.setdefault(person, set()).update(values)
        return bool(sets) and bool(set.intersection(*sets.values()))

    identified = {person for (person, _), crowd in crowds.items() if len({who for who, _ in crowd}) == 1}
    exposed = {person for (person, _), crowd in crowds.items() if same(crowd)}
    return identified, exposed
