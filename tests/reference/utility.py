"""Reference definitions of utility measures, on rows.

A released row is a tuple of sets: the values that each of its labels covers, each as likely as the others.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction


def shares(rows):
    """Return the distribution of original rows (tuples of values)."""
    return {row: Fraction(count, len(rows)) for row, count in Counter(rows).items()}


def spread(rows, domains, total):
    """Return the distribution that a release represents.

    Rows missing to ``total`` cover the whole domain.
    """
    rows = [*rows, *[tuple(domains)] * max(total - len(rows), 0)]
    mass = Counter()
    for row in rows:
        each = Fraction(1, math.prod(len(part) for part in row))
        for cell in itertools.product(*row):
            mass[cell] += each
    return {cell: part / len(rows) for cell, part in mass.items()}


def variation(one, other):
    return sum(abs(one.get(cell, 0) - other.get(cell, 0)) for cell in {*one, *other}) / 2


def divergence(one, other):
    return sum(float(p) * math.log(p / other[cell]) if other.get(cell) else math.inf for cell, p in one.items() if p)


def cramers_v(joint):
    rows = Counter()
    columns = Counter()
    for (a, b), p in joint.items():
        rows[a] += p
        columns[b] += p
    rows = {a: p for a, p in rows.items() if p}
    columns = {b: p for b, p in columns.items() if p}
    least = min(len(rows), len(columns)) - 1
    if least < 1:
        return 0.0
    chi = sum(
        (joint.get((a, b), 0) - rows[a] * columns[b]) ** 2 / (rows[a] * columns[b]) for a in rows for b in columns
    )
    return math.sqrt(chi / least)


def mean(numbers):
    return sum(numbers) / len(numbers)


def deviation(numbers):
    centre = mean(numbers)
    return math.sqrt(sum((x - centre) ** 2 for x in numbers) / (len(numbers) - 1))


def sse_sst(before, after):
    """Return SSE / SST of aligned rows, standardized by the original."""
    error = total = 0.0
    for j in range(len(before[0])):
        column = [row[j] for row in before]
        centre, scale = mean(column), deviation(column) or 1.0
        error += sum(((x[j] - y[j]) / scale) ** 2 for x, y in zip(before, after, strict=True))
        total += sum(((x[j] - centre) / scale) ** 2 for x in before)
    return error / total if total else 0.0


def il1s(before, after):
    parts = []
    for j in range(len(before[0])):
        scale = deviation([row[j] for row in before]) or 1.0
        parts += [abs(x[j] - y[j]) / (math.sqrt(2) * scale) for x, y in zip(before, after, strict=True)]
    return mean(parts)


def correlation(one, other):
    a, b = mean(one), mean(other)
    above = sum((x - a) * (y - b) for x, y in zip(one, other, strict=True))
    below = math.sqrt(sum((x - a) ** 2 for x in one) * sum((y - b) ** 2 for y in other))
    return above / below if below else 0.0


def query(before, after, wanted, floor):
    """Return the relative error of a count query.

    The query counts rows with values in ``wanted`` (a set for each column).
    """
    true = sum(all(value in part for value, part in zip(row, wanted, strict=True)) for row in before)
    answer = sum(
        math.prod(Fraction(len(label & part), len(label)) for label, part in zip(row, wanted, strict=True))
        for row in after
    )
    return float(abs(answer - true)) / max(true, floor * len(before), 1)
