"""Rows cut into blocks of bounded size: a splitter grown from a sample, and the rule that joins blocks at borders.

A k-d tree is grown from a sample of the points, cut at medians along the widest coordinate, finer than needed. The rows
of its leaves are then counted, and blocks are the highest nodes that have no more rows than asked for. A block that has
fewer than k rows, or whose rows as one group do not meet the models, is joined with its neighbour beyond the last cut
and, where that is not enough, with all that lies beyond that cut, and so on up the tree.

Everything depends on the values and the seed alone: a row is in the sample by the hash of its values, so that every
engine takes the same sample, whatever order its rows come in. Friedman, Bentley and Finkel, "An algorithm for finding
best matches in logarithmic expected time", 1977, for the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Blocks", "Forest", "grow_forest", "hash_rows", "join_leaves", "sample_rate", "sampled"]

LEAVES_A_BLOCK = 4
"""Leaves are so much smaller than blocks: a node that has a few rows too many need not be cut in half."""

SAMPLED_A_LEAF = 64
"""Rows of the sample in a leaf; medians of so few lie within the middle quarter of the rows nearly always."""


def hash_rows(keys: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of each row of keys, uint64 (n, c), by the mixing function of splitmix64 (Steele et al., 2014).

    >>> hash_rows(np.array([[1, 2], [2, 1], [1, 2]], np.uint64), 0).tolist() == [
    ...     13608149317741381227, 16171810823986729605, 13608149317741381227]
    True
    """
    state = np.full(len(keys), seed % 2**64, np.uint64)
    for key in keys.T:
        state = _mix(state ^ key)
    return state


def _mix(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def sample_rate(most: int) -> float:
    """Which part of the rows the sample takes for blocks of ``most`` rows."""
    return min(1.0, LEAVES_A_BLOCK * SAMPLED_A_LEAF / most)


def sampled(hashes: npt.NDArray[np.uint64], rate: float) -> npt.NDArray[np.bool_]:
    """Which rows are in the sample."""
    if rate >= 1:
        return np.ones(len(hashes), np.bool_)
    return np.asarray(hashes < np.uint64(int(rate * 2**64)), np.bool_)


@dataclass(frozen=True)
class Forest:
    """One tree for each stratum.

    Attributes
    ----------
    root
        int64 (strata,): the root of each tree.
    dimension, cut
        int64 and float64 (nodes,): a point goes to the left where its coordinate is at most ``cut``; -1 is a leaf.
    left, right
        int64 (nodes,): the nodes below; they come after the node itself.
    leaf
        int64 (nodes,): the number of a leaf among the leaves; -1 elsewhere.
    """

    root: npt.NDArray[np.int64]
    dimension: npt.NDArray[np.int64]
    cut: npt.NDArray[np.float64]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    leaf: npt.NDArray[np.int64]

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return int(self.leaf.max(initial=-1)) + 1

    def leaf_of(self, points: npt.NDArray[np.float64], stratum: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The leaf of each point, float64 (n, d), given its stratum. Time n times the depth."""
        node = self.root[stratum]
        open_rows = np.flatnonzero(self.dimension[node] >= 0)
        while len(open_rows):
            at = node[open_rows]
            below = points[open_rows, self.dimension[at]] <= self.cut[at]
            node[open_rows] = np.where(below, self.left[at], self.right[at])
            open_rows = open_rows[self.dimension[node[open_rows]] >= 0]
        return self.leaf[node]


def grow_forest(
    points: npt.NDArray[np.float64],
    weight: npt.NDArray[np.int64],
    stratum: npt.NDArray[np.int64],
    strata: int,
    most: float,
) -> Forest:
    """Cut each stratum's sample at weighted medians until no leaf has more than ``most`` of it, or all of it is alike.

    Parameters
    ----------
    points
        float64 (n, d): the sample, in any order.
    weight
        int64 (n,): how many rows each point stands for.
    stratum, strata
        int64 (n,) and how many there are; a stratum without a sample is one leaf.

    Time n d for each level of the tree.
    """
    order = np.lexsort((weight, *points.T[::-1], stratum))
    points, weight, stratum = points[order], weight[order], stratum[order]
    starts = np.searchsorted(stratum, np.arange(strata + 1))
    nodes: list[list[float]] = []  # dimension, cut, left, right
    root = []
    waiting: list[tuple[int, npt.NDArray[np.int64]]] = []
    for number in range(strata):
        root.append(len(nodes))
        nodes.append([-1, 0.0, -1, -1])
        waiting.append((root[-1], np.arange(starts[number], starts[number + 1])))
    while waiting:
        node, members = waiting.pop()
        if weight[members].sum() <= most:
            continue
        found = _median_cut(points[members], weight[members])
        if found is None:
            continue
        dimension, cut = found
        low = points[members, dimension] <= cut
        nodes[node] = [dimension, cut, len(nodes), len(nodes) + 1]
        for part in (members[low], members[~low]):
            waiting.append((len(nodes), part))
            nodes.append([-1, 0.0, -1, -1])
    table = np.asarray(nodes, np.float64).reshape(-1, 4)
    is_leaf = table[:, 0] < 0
    return Forest(
        np.asarray(root, np.int64),
        table[:, 0].astype(np.int64),
        table[:, 1].copy(),
        table[:, 2].astype(np.int64),
        table[:, 3].astype(np.int64),
        np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
    )


def _median_cut(points: npt.NDArray[np.float64], weight: npt.NDArray[np.int64]) -> tuple[int, float] | None:
    """The coordinate of largest variance and where its weighted median cuts it; None where all points are alike."""
    whole = int(weight.sum())
    share = weight[:, None] / whole
    variance = (share * (points - (share * points).sum(axis=0)) ** 2).sum(axis=0)
    for dimension in np.argsort(-variance, kind="stable"):
        values, inverse = np.unique(points[:, dimension], return_inverse=True)
        if len(values) > 1:
            reached = np.cumsum(np.bincount(inverse, weights=weight))[:-1]
            return int(dimension), float(values[np.argmin(np.abs(2 * reached - whole))])
    return None


@dataclass(frozen=True)
class Blocks:
    """Blocks as sets of leaves: int64 (leaves,) the block of each leaf, its rows int64 (blocks,), and joins made."""

    of_leaf: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    joined: int


def join_leaves(
    forest: Forest, rows: npt.NDArray[np.int64], holds: Callable[[Sequence[int]], bool], most: int
) -> Blocks:
    """Blocks of at most ``most`` rows, if they can be, whose rows as one group meet the models, if they can.

    Parameters
    ----------
    rows
        int64 (leaves,): how many rows each leaf has.
    holds
        Whether the rows of some leaves, as one group, are enough and meet the models.

    Returns
    -------
    Blocks
        No block crosses strata. Only where a whole stratum does not hold is there a block that does not. More than
        ``most`` rows has a block only where its rows are too much alike to be cut, or had to be joined.
    """
    below: list[tuple[int, ...]] = [()] * len(forest.dimension)
    size = np.zeros(len(forest.dimension), np.int64)
    for node in range(len(forest.dimension) - 1, -1, -1):
        if forest.dimension[node] < 0:
            below[node] = (int(forest.leaf[node]),)
            size[node] = rows[forest.leaf[node]]
        else:
            below[node] = below[forest.left[node]] + below[forest.right[node]]
            size[node] = size[forest.left[node]] + size[forest.right[node]]
    is_cut = (forest.dimension >= 0) & (size > most)
    parts: dict[int, list[tuple[int, ...]]] = {}
    failing: set[int] = set()
    joined = 0

    def alone(node: int) -> None:
        parts[node] = [below[node]]
        if holds(below[node]):
            failing.discard(node)
        else:
            failing.add(node)

    # a node is looked at only if all above it are cut
    seen = set(forest.root.tolist())
    for node in np.flatnonzero(is_cut).tolist():
        if node in seen:
            seen |= {int(forest.left[node]), int(forest.right[node])}
    for node in sorted(seen, reverse=True):
        if not is_cut[node]:
            alone(node)
            continue
        left, right = int(forest.left[node]), int(forest.right[node])
        if left not in failing and right not in failing:
            parts[node] = parts[left] + parts[right]
            continue
        joined += 1
        if left in failing and right in failing:
            alone(node)
            continue
        weak, strong = (left, right) if left in failing else (right, left)
        neighbour = _leaf_at_border(forest, size, node, strong)
        place = next(i for i, leaves in enumerate(parts[strong]) if neighbour in leaves)
        both = below[weak] + parts[strong][place]
        if holds(both):
            parts[node] = [*parts[strong][:place], both, *parts[strong][place + 1 :]]
        else:
            alone(node)
    of_leaf = np.zeros(len(rows), np.int64)
    made = 0
    for node in forest.root.tolist():
        for leaves in parts[node]:
            of_leaf[list(leaves)] = made
            made += 1
    return Blocks(of_leaf, np.bincount(of_leaf, weights=rows, minlength=made).astype(np.int64), joined)


def _leaf_at_border(forest: Forest, size: npt.NDArray[np.int64], parent: int, node: int) -> int:
    """A leaf under ``node`` next to the cut of its parent; away from the border, on the side of fewer rows."""
    near_is_left = node == forest.right[parent]
    while forest.dimension[node] >= 0:
        left, right = int(forest.left[node]), int(forest.right[node])
        if forest.dimension[node] == forest.dimension[parent]:
            node = left if near_is_left else right
        else:
            node = left if size[left] <= size[right] else right
    return int(forest.leaf[node])
