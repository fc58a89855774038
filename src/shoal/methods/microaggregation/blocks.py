"""Blocks of bounded size: a k-d tree grown from a sample, cut into blocks.

The tree is grown from a sample of the points, cut at medians along the coordinate of largest variance, finer than
needed. The rows of its leaves are then counted, and blocks are the highest nodes that have at most the required number
of rows. A block that has fewer than k rows, or whose rows as one group fail the models, is merged with its neighbour
beyond the last cut; where that is not enough, with everything beyond that cut, and so on up the tree.

Everything depends on the values and the seed alone: a row is in the sample by the hash of its values, so that every
engine draws the same sample, whatever the order of its rows. Friedman, Bentley and Finkel, "An algorithm for finding
best matches in logarithmic expected time", 1977, for the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LEAVES_PER_BLOCK = 4
"""Leaves are smaller than blocks by this factor, so that a node slightly above the limit need not be halved."""

SAMPLED_ROWS_PER_LEAF = 64
"""Sampled rows per leaf; the median of this many nearly always lies within the middle quarter of the rows."""


def hash_rows(keys: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Return a 64-bit hash of each row of keys, uint64 (n, c).

    By the mixing function of splitmix64 (Steele et al., 2014).

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


def sample_rate(max_rows: int) -> float:
    """Return the sampling rate for blocks of ``max_rows`` rows."""
    return min(1.0, LEAVES_PER_BLOCK * SAMPLED_ROWS_PER_LEAF / max_rows)


def sampled(hashes: npt.NDArray[np.uint64], rate: float) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows in the sample."""
    if rate >= 1:
        return np.ones(len(hashes), np.bool_)
    return np.asarray(hashes < np.uint64(int(rate * 2**64)), np.bool_)


@dataclass(frozen=True)
class Forest:
    """One k-d tree per stratum.

    Attributes
    ----------
    root
        int64 (strata,): the root of each tree.
    dimension, cut
        int64 and float64 (nodes,): a point goes to the left where its coordinate is at most ``cut``; -1 is a leaf.
    left, right
        int64 (nodes,): the child nodes; they come after the node itself.
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
        """Number of leaves."""
        return int(self.leaf.max(initial=-1)) + 1

    def leaf_of(self, points: npt.NDArray[np.float64], stratum: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the leaf of each point, float64 (n, d), given its stratum.

        Time n times the depth.
        """
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
    max_rows: float,
) -> Forest:
    """Cut each stratum's sample at weighted medians.

    Cuts end where a leaf has at most ``max_rows`` of the sample, or all of its points are equal.

    Parameters
    ----------
    points
        float64 (n, d): the sample, in any order.
    weight
        int64 (n,): the number of rows that each point represents.
    stratum, strata
        int64 (n,) and the number of strata; a stratum without a sample is one leaf.

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
        if weight[members].sum() <= max_rows:
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
    """Return the coordinate of largest variance and its weighted median.

    None where all points are equal.
    """
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
    """Blocks as sets of leaves.

    int64 (leaves,) the block of each leaf, int64 (blocks,) the rows of each block, and the number of merges.
    """

    of_leaf: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    joined: int


def join_leaves(
    forest: Forest, rows: npt.NDArray[np.int64], holds: Callable[[Sequence[int]], bool], max_rows: int
) -> Blocks:
    """Merge leaves into blocks that meet the models as one group each.

    Parameters
    ----------
    rows
        int64 (leaves,): the number of rows of each leaf.
    holds
        Whether the rows of some leaves, as one group, are enough and meet the models.

    Returns
    -------
    Blocks
        No block spans two strata. A block fails only where its whole stratum fails. A block has more than ``max_rows``
        rows only where its rows are too similar to be cut, or had to be merged.
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
    is_cut = (forest.dimension >= 0) & (size > max_rows)
    parts: dict[int, list[tuple[int, ...]]] = {}
    failing: set[int] = set()
    joined = 0

    def keep_whole(node: int) -> None:
        parts[node] = [below[node]]
        if holds(below[node]):
            failing.discard(node)
        else:
            failing.add(node)

    # only nodes below a cut are examined
    seen = set(forest.root.tolist())
    for node in np.flatnonzero(is_cut).tolist():
        if node in seen:
            seen |= {int(forest.left[node]), int(forest.right[node])}
    for node in sorted(seen, reverse=True):
        if not is_cut[node]:
            keep_whole(node)
            continue
        left, right = int(forest.left[node]), int(forest.right[node])
        if left not in failing and right not in failing:
            parts[node] = parts[left] + parts[right]
            continue
        joined += 1
        if left in failing and right in failing:
            keep_whole(node)
            continue
        weak, strong = (left, right) if left in failing else (right, left)
        neighbour = _leaf_at_border(forest, size, node, strong)
        position = next(i for i, leaves in enumerate(parts[strong]) if neighbour in leaves)
        both = below[weak] + parts[strong][position]
        if holds(both):
            parts[node] = [*parts[strong][:position], both, *parts[strong][position + 1 :]]
        else:
            keep_whole(node)
    of_leaf = np.zeros(len(rows), np.int64)
    made = 0
    for node in forest.root.tolist():
        for leaves in parts[node]:
            of_leaf[list(leaves)] = made
            made += 1
    return Blocks(of_leaf, np.bincount(of_leaf, weights=rows, minlength=made).astype(np.int64), joined)


def _leaf_at_border(forest: Forest, size: npt.NDArray[np.int64], parent: int, node: int) -> int:
    """Return a leaf under ``node`` next to the cut of its parent.

    At cuts along other coordinates, the side with fewer rows is followed.
    """
    near_is_left = node == forest.right[parent]
    while forest.dimension[node] >= 0:
        left, right = int(forest.left[node]), int(forest.right[node])
        if forest.dimension[node] == forest.dimension[parent]:
            node = left if near_is_left else right
        else:
            node = left if size[left] <= size[right] else right
    return int(forest.leaf[node])
