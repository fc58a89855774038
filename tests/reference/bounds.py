"""Optimum by enumeration of all partitions of a small table.

No lower bound may exceed it. Rows are numbers 0, 1, ...; a set of rows is an integer whose bit i is set if it contains
row i.
"""

from __future__ import annotations

import math

import numpy as np


def members(chosen):
    """List the rows of a set."""
    return [i for i in range(chosen.bit_length()) if chosen >> i & 1]


def least_partition(rows, group_loss, may_be):
    """Return the least sum of group losses over all allowed partitions.

    It is infinite if there is none. ``group_loss`` returns the loss of a set of rows, ``may_be`` whether it may be a
    group.
    """
    found = {0: 0.0}

    def best(left):
        if left not in found:
            first = left & -left
            others = left ^ first
            least, some = math.inf, others
            while True:
                group = first | some
                if may_be(group):
                    least = min(least, group_loss(group) + best(left ^ group))
                if some == 0:
                    break
                some = (some - 1) & others
            found[left] = least
        return found[left]

    return best(rows)


def label_loss(codes, ladders, costs, published):
    """Return the loss of one row of a group with common labels.

    A label is the closest common ancestor, or the range, of the codes of the group, (rows, q). ``costs[a](share,
    height)`` is the loss of a label in column a; None in ``ladders[a].labels[0]`` is missing.
    """
    total = 0.0
    for a, ladder in enumerate(ladders):
        column = [row[a] for row in codes]
        if published[a] == "range":
            low, high = min(column), max(column)
            mixed = low != high and ladder.labels[0][high] is None
            share = 1.0 if mixed else float(ladder.share[0][low : high + 1].sum())
            total += costs[a](share, share if low != high else 0.0)
            continue
        for level in range(ladder.height + 1):
            labels = {int(ladder.codes[level][code]) for code in column}
            if len(labels) == 1:
                total += costs[a](float(ladder.share[level][labels.pop()]), level / ladder.height)
                break
    return total


def squares(points):
    """Return the sum of squared distances of points to their mean."""
    return float(((points - points.mean(axis=0)) ** 2).sum()) if len(points) else 0.0


def least_costs(codes, count, lifts, costs, least, holds):
    """Return for each item the cost of the cheapest cell that may be a group.

    All nodes of the lattice are enumerated. ``lifts[a][level][leaf]`` is the code at a level and
    ``costs[a][level][code]`` its cost; ``holds`` evaluates the items of a cell.
    """
    found = np.full(len(count), np.inf)
    for node in np.ndindex(*(len(levels) for levels in lifts)):
        lifted = [tuple(int(lifts[a][level][row[a]]) for a, level in enumerate(node)) for row in codes]
        for cell in set(lifted):
            inside = [i for i, own in enumerate(lifted) if own == cell]
            if sum(count[i] for i in inside) >= least and holds(inside):
                cost = sum(costs[a][level][cell[a]] for a, level in enumerate(node))
                found[inside] = np.minimum(found[inside], cost)
    return found


def nearest_row_distances(points, copies, top, others):
    """Return for each point the distance of its `others`-th nearest row."""
    found = []
    for i, point in enumerate(points):
        away = sorted(
            sum(min(limit, abs(x - y)) for x, y, limit in zip(point, other, top, strict=True))
            for j, other in enumerate(points)
            for _ in range(copies[j] - (i == j))
        )
        found.append(away[others - 1] if len(away) >= others else float("inf"))
    return found
