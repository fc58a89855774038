"""Regions: the published extents of groups, and their costs.

A region has one extent per attribute, a pair of whole numbers (low, high):

* of a column with a hierarchy, low is the closest common ancestor of the group's values (a node of the forest of all
  hierarchies, numbered consecutively) and high equals it;
* of a column with an order, low and high are the least and the largest code.

Regions are stored in arrays, int32 (regions, q, 2), and identified by their index. The cost of a region is the loss of
every row of the group, summed over attributes; it never falls when a row joins. Adding one row costs attributes times
the height of the hierarchies.

Compiled code counts references whenever an array is taken out of a tuple or a view of it is made, which costs more
than the work on a row. So functions that are called for every row get the arrays themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import INNER
from shoal.kernels.rules import Rules

PARENT, LEVEL = -2, -1  # the last two rows of a forest


class Space(NamedTuple):
    """The attributes of a table as arrays.

    A value is a leaf's node, or a code where the column is ordered.
    ordered : bool (q,), whether the attribute has extents of codes instead of nodes
    forest : int32 (levels + 2, nodes), the ancestor of a leaf at each level (valid for leaves only), then the parent
        of every node (the root of a tree is its own parent), then the level of every node
    cost : float64 (nodes,), the loss of a row where the node is published
    start : int64 (q,), the start of the attribute's cumulative shares in `shares`
    shares : float64, for ordered attributes the cumulative sum of their codes' shares of the domain, times the weight
    least : float64 (q,), the cost that is subtracted, so that a single value costs nothing
    top : float64 (q,), the cost of the whole domain
    missing : int32 (q,), the code of a missing value, -1 where there is none: with other values it covers the whole
        domain
    """

    ordered: np.ndarray
    forest: np.ndarray
    cost: np.ndarray
    start: np.ndarray
    shares: np.ndarray
    least: np.ndarray
    top: np.ndarray
    missing: np.ndarray


class Setting(NamedTuple):
    """The constant input of a search.

    space : the attributes and the costs of their extents
    rules : the models
    values : int32 (n, q), per item its leaves, or codes where an attribute is ordered
    columns : int32 (n, s), per item the rules' columns of its sensitive values, -1 where missing
    """

    space: Space
    rules: Rules
    values: np.ndarray
    columns: np.ndarray


@njit(**INNER)
def range_cost(space, j, low, high):
    """Return the loss of a row in an ordered attribute with this extent."""
    if high == space.missing[j] and low != high:
        return space.top[j]
    at = space.start[j]
    return max(0.0, space.shares[at + high + 1] - space.shares[at + low] - space.least[j])


@njit(**INNER)
def extent_cost(space, j, low, high):
    """Return the loss of a row in attribute j with this extent."""
    return range_cost(space, j, low, high) if space.ordered[j] else space.cost[low]


@njit(**INNER)
def common_ancestor(forest, one, other):
    """Return the lowest common ancestor of two nodes of one tree."""
    while one != other:
        below = forest[LEVEL, one] - forest[LEVEL, other]
        if below <= 0:
            one = forest[PARENT, one]
        if below >= 0:
            other = forest[PARENT, other]
    return one


@njit(**INNER)
def include(forest, ordered, regions, g, values, row):
    """Widen the region g to contain a row of `values`, int32 (n, q)."""
    for j in range(values.shape[1]):
        value = values[row, j]
        low = regions[g, j, 0]
        if low == value and regions[g, j, 1] == value:
            continue
        if low < 0:
            regions[g, j, 0] = value
            regions[g, j, 1] = value
        elif ordered[j]:
            regions[g, j, 0] = min(low, value)
            regions[g, j, 1] = max(regions[g, j, 1], value)
        elif forest[forest[LEVEL, low], value] != low:
            low = common_ancestor(forest, low, value)
            regions[g, j, 0] = low
            regions[g, j, 1] = low


@njit(**INNER)
def unite(forest, ordered, regions, g, others, h):
    """Widen the region g to contain the region h of `others`."""
    for j in range(regions.shape[1]):
        low, high = others[h, j, 0], others[h, j, 1]
        if low < 0:
            continue
        if regions[g, j, 0] < 0:
            regions[g, j, 0] = low
            regions[g, j, 1] = high
        elif ordered[j]:
            regions[g, j, 0] = min(regions[g, j, 0], low)
            regions[g, j, 1] = max(regions[g, j, 1], high)
        else:
            low = common_ancestor(forest, regions[g, j, 0], low)
            regions[g, j, 0] = low
            regions[g, j, 1] = low


@njit(**INNER)
def region_cost(space, regions, g):
    """Return the loss of every row of a group with the region g.

    Empty extents cost nothing.
    """
    ordered, cost = space.ordered, space.cost
    total = 0.0
    for j in range(regions.shape[1]):
        low = regions[g, j, 0]
        if low >= 0:
            total += range_cost(space, j, low, regions[g, j, 1]) if ordered[j] else cost[low]
    return total


@njit(**INNER)
def cost_with(space, regions, g, values, row):
    """Return the cost of the region g if a row of `values` joined.

    The region is not empty;  values : int32 (n, q)
    """
    ordered, cost, forest = space.ordered, space.cost, space.forest
    total = 0.0
    for j in range(values.shape[1]):
        value = values[row, j]
        low = regions[g, j, 0]
        if ordered[j]:
            total += range_cost(space, j, min(low, value), max(regions[g, j, 1], value))
        else:
            if forest[forest[LEVEL, low], value] != low:
                low = common_ancestor(forest, low, value)
            total += cost[low]
    return total


@njit(**INNER)
def cost_united(space, regions, g, h):
    """Return the cost of the union of the regions g and h, both not empty."""
    ordered, cost, forest = space.ordered, space.cost, space.forest
    total = 0.0
    for j in range(regions.shape[1]):
        if ordered[j]:
            low = min(regions[g, j, 0], regions[h, j, 0])
            total += range_cost(space, j, low, max(regions[g, j, 1], regions[h, j, 1]))
        else:
            total += cost[common_ancestor(forest, regions[g, j, 0], regions[h, j, 0])]
    return total
