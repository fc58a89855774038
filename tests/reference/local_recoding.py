"""Reference definitions for local recoding, row by row.

These are the labels and losses of groups, and the greedy cuts. Rows are tuples of text. A hierarchy is a mapping from a
value to its labels from level 0 to the last. Everything is recomputed from the rows each time.
"""

from __future__ import annotations

import math
from collections import defaultdict


def ancestor(values, paths):
    """Return the lowest level at which all values have one label, and it."""
    for level in range(len(next(iter(paths.values())))):
        labels = {paths[value][level] for value in values}
        if len(labels) == 1:
            return level, labels.pop()
    raise AssertionError("the last level has one label")


def share(level, label, paths):
    """Return the scaled share of the domain that a label covers.

    A single value counts 0.
    """
    covered = sum(path[level] == label for path in paths.values()) / len(paths)
    leaf = 1 / len(paths)
    return (covered - leaf) / (1 - leaf) if leaf < 1 else 0.0


def group_cost(rows, hierarchies):
    """Return the loss per row of a group: the mean scaled share over columns."""
    total = 0.0
    for j, paths in enumerate(hierarchies):
        total += share(*ancestor([row[j] for row in rows], paths), paths)
    return total / len(hierarchies)


def loss(groups, hierarchies):
    """Return the total loss of all rows."""
    return sum(len(rows) * group_cost(rows, hierarchies) for rows in groups)


def children(rows, j, paths):
    """Split rows by the children of their common label in column j.

    Parts are in order of first appearance.
    """
    level, _ = ancestor([row[j] for row in rows], paths)
    parts = defaultdict(list)
    for row in rows:
        parts[paths[row[j]][level - 1]].append(row)
    return list(parts.values())


def strict_cut(rows, j, hierarchies, holds):
    """Cut a group along column j; equal rows stay together.

    Failing children are pooled, and the pool grows by further children until it holds.
    """
    parts = children(rows, j, hierarchies[j])
    good = [part for part in parts if holds(part)]
    pool = [row for part in parts if not holds(part) for row in part]
    while pool and not holds(pool):
        if len(good) < 2:
            return None
        smallest = min(good, key=len)
        good.remove(smallest)
        pool += smallest
    if len(good) + bool(pool) < 2:
        return None
    return good + ([pool] if pool else [])


def estimate(rows, j, hierarchies, holds, least):
    """Estimate the loss of a cut, for comparison with other cuts.

    Good children count as they are, the pool with at least ``least`` rows.
    """
    parts = children(rows, j, hierarchies[j])
    good = [part for part in parts if holds(part)]
    pool = [row for part in parts if not holds(part) for row in part]
    if not good or (len(good) == 1 and not pool):
        return None
    total = loss(good, hierarchies)
    if pool:
        total += max(len(pool), least) * group_cost(pool, hierarchies)
    return total


def strict_top_down(rows, hierarchies, holds, least):
    """Return the groups of greedy cuts of least loss.

    Ties go to fewer parts, then to the order of columns.
    """
    whole = len(rows) * group_cost(rows, hierarchies)
    barred = set()
    while True:
        best = None
        for j, paths in enumerate(hierarchies):
            if j in barred or ancestor([row[j] for row in rows], paths)[0] == 0:
                continue
            after = estimate(rows, j, hierarchies, holds, least)
            if after is None or whole - after <= 1e-9:
                continue
            parts = len(children(rows, j, paths))
            gain = whole - after
            if best is None or gain > best[0] + 1e-9 or (abs(gain - best[0]) <= 1e-9 and parts < best[1]):
                best = (gain, parts, j)
        if best is None:
            return [rows]
        cut = strict_cut(rows, best[2], hierarchies, holds)
        if cut is not None:
            return [group for part in cut for group in strict_top_down(part, hierarchies, holds, least)]
        barred.add(best[2])


def partitions(items):
    """Yield all partitions of a short list."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for i, group in enumerate(smaller):
            yield [*smaller[:i], [first, *group], *smaller[i + 1 :]]


def least_loss(rows, hierarchies, holds):
    """Return the least loss of a valid partition; infinite if there is none."""
    best = math.inf
    for groups in partitions(rows):
        if all(map(holds, groups)):
            best = min(best, loss(groups, hierarchies))
    return best


def matching_rows(rows, wildcard="*"):
    """Count for each row the rows that agree wherever both have a value."""
    return [
        sum(all(a == b or wildcard in (a, b) for a, b in zip(row, other, strict=True)) for other in rows)
        for row in rows
    ]


def certain_rows(rows, wildcard="*"):
    """Count for each row the rows that certainly match it.

    It is the smaller of two counts: agreeing rows with no more values, and agreeing rows with no fewer values.
    """

    def within(less, more):
        return all(a in (wildcard, b) for a, b in zip(less, more, strict=True))

    return [min(sum(within(other, row) for other in rows), sum(within(row, other) for other in rows)) for row in rows]


def loose_crowd(people, rows, wildcard="*"):
    """Count the matching rows of each person, and the people of each row."""

    def fits(person, row):
        return all(label in (value, wildcard) for value, label in zip(person, row, strict=True))

    return (
        [sum(fits(person, row) for row in rows) for person in people],
        [sum(fits(person, row) for person in people) for row in rows],
    )


def greedy_suppression(rows, k, order):
    """Suppress column by column in every row that too few rows match.

    The least important column comes first. This is the procedure of sdcMicro's kAnon, under its loose interpretation of
    missing values.
    """
    rows = [list(row) for row in rows]
    for j in order:
        counts = matching_rows(rows)
        if min(counts) >= k:
            break
        for row, count in zip(rows, counts, strict=True):
            if count < k:
                row[j] = "*"
    return [tuple(row) for row in rows]
