"""C4.5: a decision tree over categorical columns with unknown values.

Quinlan, "C4.5: Programs for Machine Learning", 1993, with the choices of Weka's J48 for nominal attributes. A node is
split into one branch per value of an attribute. Of the attributes with at least average information gain, the one with
the largest gain ratio is taken; a split must leave two branches with two records. A record of unknown value goes down
every branch with a fraction of its weight, in proportion to the known records, in training and in prediction; gain and
split information are reduced by the fraction of unknown values. The tree is pruned from the bottom up: a subtree
becomes a leaf, or is replaced by its largest branch (grown anew), where the pessimistic estimate of its errors at a
confidence of 25 % is no larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.25
MIN_RECORDS = 2
TOLERANCE = 1e-6
Codes = npt.NDArray[np.int32]
"""Values of records by column, -1 where unknown."""
Weights = npt.NDArray[np.float64]


@dataclass
class Node:
    """A leaf, or a split on ``column`` with one child per value.

    ``classes`` are the weights of the training records by class, ``shares`` the weights of the branches.
    """

    classes: Weights
    column: int = -1
    shares: Weights = field(default_factory=lambda: np.zeros(0))
    children: list[Node] = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        """Return whether the node has no branches."""
        return not self.children

    def leaves(self) -> int:
        """Return the number of leaves."""
        return 1 if self.is_leaf else sum(child.leaves() for child in self.children)


@dataclass(frozen=True)
class _Records:
    codes: Codes
    labels: npt.NDArray[np.int64]
    weights: Weights

    def select(self, chosen: npt.NDArray[np.bool_], factor: npt.NDArray[np.float64] | float = 1.0) -> _Records:
        weights = self.weights * factor
        return _Records(self.codes[chosen], self.labels[chosen], weights[chosen])


def train_tree(
    codes: Codes,
    labels: npt.NDArray[np.int64],
    sizes: tuple[int, ...],
    classes: int,
    confidence: float | None = CONFIDENCE,
) -> Node:
    """Grow and prune a tree.

    Parameters
    ----------
    codes
        int32 (n, columns), -1 where unknown.
    labels
        int64 (n,), the class of each record.
    sizes
        The number of values of each column.
    classes
        The number of classes.
    confidence
        The confidence of the pruning; None for an unpruned tree.

    Examples
    --------
    >>> codes = np.array([[0, 1], [0, 0], [1, 1], [1, 0], [0, -1], [1, -1]], np.int32)
    >>> tree = train_tree(codes, np.array([0, 0, 1, 1, 0, 1]), (2, 2), 2)
    >>> tree.column, predict_classes(tree, np.array([[1, 0], [-1, 0]], np.int32)).tolist()
    (0, [1, 0])
    """
    records = _Records(codes, labels, np.ones(len(codes)))
    grower = _Grower(sizes, classes, confidence or 1.0)
    root = grower.grow(records)
    grower.collapse(root)
    return root if confidence is None else grower.prune(root, records)


class _Grower:
    """The growth and the pruning of one tree."""

    def __init__(self, sizes: tuple[int, ...], classes: int, confidence: float) -> None:
        self.sizes, self.classes, self.confidence = sizes, classes, confidence

    def count(self, records: _Records) -> Weights:
        return np.asarray(np.bincount(records.labels, records.weights, self.classes), np.float64)

    def grow(self, records: _Records) -> Node:
        counts = self.count(records)
        total = counts.sum()
        if total < 2 * MIN_RECORDS - TOLERANCE or counts.max() > total - TOLERANCE:
            return Node(counts)
        column = self.choose(records, total)
        if column < 0:
            return Node(counts)
        shares = self.shares(records, column)
        children = [self.grow(self.branch(records, column, value, shares)) for value in range(self.sizes[column])]
        return Node(counts, column, shares, children)

    def shares(self, records: _Records, column: int) -> Weights:
        value = records.codes[:, column]
        known = value >= 0
        counts = np.bincount(value[known], records.weights[known], self.sizes[column])
        return np.asarray(counts / counts.sum())

    def branch(self, records: _Records, column: int, value: int, shares: Weights) -> _Records:
        """Return the records of a branch; those of unknown value in part."""
        at = records.codes[:, column]
        factor = np.where(at < 0, shares[value], 1.0)
        return records.select((at == value) | ((at < 0) & (shares[value] > 0)), factor)

    def choose(self, records: _Records, total: float) -> int:
        """Return the column with the best split, or -1."""
        found = []
        for column, size in enumerate(self.sizes):
            value = records.codes[:, column]
            known = value >= 0
            cell = value[known].astype(np.int64) * self.classes + records.labels[known]
            counts = np.bincount(cell, records.weights[known], size * self.classes)
            table = np.asarray(counts, np.float64).reshape(size, self.classes)
            branches = table.sum(axis=1)
            if (branches >= MIN_RECORDS - TOLERANCE).sum() < 2:
                continue
            weight = float(branches.sum())
            information = (_weighted_entropy(table.sum(axis=0)[None]) - _weighted_entropy(table)) / total
            split = _split_information(branches, total - weight, total)
            if information > TOLERANCE and split > TOLERANCE:
                found.append((column, information, split))
        if not found:
            return -1
        average = sum(information for _, information, _ in found) / len(found)
        best, best_ratio = -1, 0.0
        for column, information, split in found:
            if information >= average - 1e-3 and information / split > best_ratio + TOLERANCE:
                best, best_ratio = column, information / split
        return best

    def collapse(self, node: Node) -> None:
        """Make a leaf of a subtree that makes no fewer errors in training."""
        if node.is_leaf:
            return
        if _training_errors(node) >= _errors(node.classes) - 1e-3:
            node.children, node.column = [], -1
            return
        for child in node.children:
            self.collapse(child)

    def prune(self, node: Node, records: _Records) -> Node:
        """Replace subtrees by leaves or by their largest branch."""
        if node.is_leaf:
            return node
        node.children = [
            self.prune(child, self.branch(records, node.column, value, node.shares))
            for value, child in enumerate(node.children)
        ]
        largest = int(np.argmax(node.shares))
        branch = self.estimate_on(node.children[largest], records)
        leaf = self.estimate(node.classes)
        tree = self.estimate_tree(node)
        if leaf <= tree + 0.1 and leaf <= branch + 0.1:
            return Node(node.classes)
        if branch <= tree + 0.1:
            raised = self.redistribute(node.children[largest], records)
            return self.prune(raised, records)
        return node

    def redistribute(self, node: Node, records: _Records) -> Node:
        """Return a subtree with the records of another node."""
        counts = self.count(records)
        if node.is_leaf:
            return Node(counts)
        value = records.codes[:, node.column]
        shares = self.shares(records, node.column) if (value >= 0).any() else node.shares
        children = [
            self.redistribute(child, self.branch(records, node.column, at, shares))
            for at, child in enumerate(node.children)
        ]
        return Node(counts, node.column, shares, children)

    def estimate(self, classes: Weights) -> float:
        """Return the pessimistic estimate of a leaf's errors."""
        total = float(classes.sum())
        if total <= 0:
            return 0.0
        errors = _errors(classes)
        return errors + added_errors(total, errors, self.confidence)

    def estimate_tree(self, node: Node) -> float:
        """Return the estimate of a subtree: that of its leaves."""
        return self.estimate(node.classes) if node.is_leaf else sum(map(self.estimate_tree, node.children))

    def estimate_on(self, node: Node, records: _Records) -> float:
        """Return the estimate of a subtree on the records of another node."""
        return self.estimate_tree(self.redistribute(node, records))


def predict_classes(node: Node, codes: Codes) -> npt.NDArray[np.int64]:
    """Return the most probable class of each record."""
    distinct, inverse = np.unique(codes, axis=0, return_inverse=True)
    classes = len(node.classes)
    chances = np.zeros((len(distinct), classes))
    _add_chances(node, distinct, np.arange(len(distinct)), np.ones(len(distinct)), chances)
    return np.asarray(chances.argmax(axis=1)[inverse.reshape(-1)], np.int64)


def _add_chances(node: Node, codes: Codes, rows: npt.NDArray[np.int64], weights: Weights, chances: Weights) -> None:
    if node.is_leaf:
        total = node.classes.sum()
        if total > 0:
            chances[rows] += weights[:, None] * node.classes / total
        return
    value = codes[rows, node.column]
    for at, child in enumerate(node.children):
        share = float(node.shares[at])
        chosen = (value == at) | ((value < 0) & (share > 0))
        if not chosen.any():
            continue
        factor = np.where(value[chosen] < 0, share, 1.0)
        if child.classes.sum() > 0:
            _add_chances(child, codes, rows[chosen], weights[chosen] * factor, chances)
        else:  # no training record had this value: the node itself decides
            total = node.classes.sum()
            chances[rows[chosen]] += (weights[chosen] * factor)[:, None] * node.classes / total


def added_errors(total: float, errors: float, confidence: float) -> float:
    """Return the errors that the upper confidence limit adds.

    >>> round(added_errors(6, 0, 0.25), 3), round(added_errors(14, 5, 0.25), 3)
    (1.238, 1.761)
    """
    if errors < 1:
        base = total * (1 - math.exp(math.log(confidence) / total))
        return base if errors == 0 else base + errors * (added_errors(total, 1.0, confidence) - base)
    if errors + 0.5 >= total:
        return max(total - errors, 0.0)
    z = NormalDist().inv_cdf(1 - confidence)
    f = (errors + 0.5) / total
    limit = f + z * z / (2 * total) + z * math.sqrt(f / total - f * f / total + z * z / (4 * total * total))
    return limit / (1 + z * z / total) * total - errors


def _errors(classes: Weights) -> float:
    return float(classes.sum() - classes.max())


def _training_errors(node: Node) -> float:
    return _errors(node.classes) if node.is_leaf else sum(map(_training_errors, node.children))


def _weighted_entropy(table: npt.NDArray[np.float64]) -> float:
    """Return the weighted entropy of the rows of a table, in bits."""

    def xlogx(values: npt.NDArray[np.float64]) -> float:
        positive = values[values > 0]
        return float((positive * np.log2(positive)).sum())

    return xlogx(table.sum(axis=1)) - xlogx(table)


def _split_information(branches: Weights, unknown: float, total: float) -> float:
    """Return the entropy of the branches, unknown values being one more."""
    parts = np.append(branches, unknown)
    parts = parts[parts > 0] / total
    return float(-(parts * np.log2(parts)).sum())
