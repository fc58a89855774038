"""Greedy specialization: a good node of a lattice too large to exhaust.

From the highest levels, one column at a time goes down by one level, as long as the node stays a solution. The next
step is the one that saves most, or the one that saves most per information that it reveals (the entropy of the column's
labels), since revealed information splits groups; both rules are tried. A step that fails is not tried again: it fails
even more when other columns have gone down. Then one column of the best node rises by a level, and the others descend
as far as this allows. While there is time, the same is repeated at random with more columns and levels, or in reverse:
one column goes down, and others rise until the node is a solution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.methods.full_domain.lattice import Node
from shoal.schema import Ladder
from shoal.table import FrequencySet

Table = Sequence[npt.NDArray[np.float64]]
"""A number for each column and each of its levels."""
TryNode = Callable[[Node], float | None]
Priority = Callable[[int, int], float]
"""The priority of lowering a column from a level."""
Late = Callable[[], bool]


def label_entropy(frequencies: FrequencySet, ladders: Sequence[Ladder]) -> list[npt.NDArray[np.float64]]:
    """Return the entropy of each column's labels at every level, in bits."""
    found = []
    for j, ladder in enumerate(ladders):
        rows = np.bincount(frequencies.codes[:, j], frequencies.count, len(ladder.codes[0]))
        entropy = []
        for level, codes in enumerate(ladder.codes):
            part = np.bincount(codes, rows, ladder.size(level)) / max(float(rows.sum()), 1.0)
            part = part[part > 0]
            entropy.append(float(-(part * np.log2(part)).sum()))
        found.append(np.asarray(entropy))
    return found


class GreedySearch:
    """Descents through a lattice: from the top, then around the best node."""

    def __init__(self, lowest: Node, highest: Node, losses: Table, entropy: Table, seed: int = 0) -> None:
        self.lowest, self.highest = lowest, highest
        self._losses, self._entropy = losses, entropy
        self._random = np.random.default_rng(seed)

    def explore(self, try_node: TryNode, late: Late) -> Iterator[Node]:
        """Try nodes and yield the best one after each descent, until time is over.

        Parameters
        ----------
        try_node
            Evaluates a node and returns its loss; None where it is no solution.
        late
            Whether to stop.
        """
        for best in self.start(try_node, late):
            yield best
            if best == self.lowest:
                return
        while self._least < math.inf and not late():
            self._perturb(try_node, late)
            yield self._best

    def start(self, try_node: TryNode, late: Late) -> Iterator[Node]:
        """Descend from the top, then after raising single columns by one level.

        This is the part of the exploration that ends by itself.
        """
        self._best, self._least = self.highest, math.inf
        loss = try_node(self.highest)
        if loss is None:
            return
        self._least = loss
        yield self._best
        for rule in (self._by_information, self._saved):
            self._accept(*_descend(try_node, self.highest, loss, self.lowest, rule, late))
            yield self._best
        changed = True
        while changed and not late():
            changed = False
            for j in range(len(self._best)):
                if self._best[j] < self.highest[j] and not late():
                    changed |= self._raise_and_descend(try_node, {j: self._best[j] + 1}, self._by_information, late)
                    yield self._best

    def _saved(self, j: int, level: int) -> float:
        return float(self._losses[j][level] - self._losses[j][level - 1])

    def _by_information(self, j: int, level: int) -> float:
        return self._saved(j, level) / max(float(self._entropy[j][level - 1] - self._entropy[j][level]), 1e-9)

    def _accept(self, node: Node, loss: float) -> bool:
        better = loss < self._least
        if better:
            self._best, self._least = node, loss
        return better

    def _raise_and_descend(self, try_node: TryNode, raised_levels: dict[int, int], rule: Priority, late: Late) -> bool:
        """Raise some columns of the best node, lower the others, then all.

        Returns whether the result is better.
        """
        raised = _at(self._best, raised_levels)
        loss = try_node(raised)
        if loss is None:
            return False
        node, loss = _descend(try_node, raised, loss, _at(self.lowest, raised_levels), rule, late)
        return self._accept(*_descend(try_node, node, loss, self.lowest, rule, late))

    def _perturb(self, try_node: TryNode, late: Late) -> None:
        """Change the best node at random and descend again.

        One to three columns rise by some levels, or one goes down and others rise until the node is a solution.
        """
        random, best = self._random, self._best
        noise = np.exp(random.normal(scale=0.7, size=len(best)))

        def rule(j: int, level: int) -> float:
            return self._by_information(j, level) * float(noise[j])

        up = [j for j in range(len(best)) if best[j] < self.highest[j]]
        down = [j for j in range(len(best)) if best[j] > self.lowest[j]]
        if up and (not down or random.random() < 0.5):
            chosen = random.permutation(up)[: random.integers(1, 4)]
            raised_levels = {int(j): int(random.integers(best[j] + 1, self.highest[j] + 1)) for j in chosen}
            self._raise_and_descend(try_node, raised_levels, rule, late)
            return
        j = int(random.choice(down))
        fixed = {j: int(random.integers(self.lowest[j], best[j]))}
        node = _at(best, fixed)
        loss = try_node(node)
        while loss is None and not late():
            open_columns = [a for a in range(len(node)) if a != j and node[a] < self.highest[a]]
            if not open_columns:
                return
            a = min(open_columns, key=lambda a: rule(a, node[a] + 1))
            node = _at(node, {a: node[a] + 1})
            loss = try_node(node)
        if loss is not None:
            self._accept(*_descend(try_node, node, loss, self.lowest, rule, late))


def _at(node: Node, raised_levels: Mapping[int, int]) -> Node:
    """Return the node with some columns at other levels."""
    return tuple(raised_levels.get(j, level) for j, level in enumerate(node))


def _descend(
    try_node: TryNode,
    node: Node,
    loss: float,
    lowest: Node,
    rule: Priority,
    late: Late,
) -> tuple[Node, float]:
    """Lower columns until none can go down; return the node and its loss."""
    open_columns = {j for j in range(len(node)) if node[j] > lowest[j]}
    while open_columns and not late():
        j = max(sorted(open_columns), key=lambda column: rule(column, node[column]))
        trial = (*node[:j], node[j] - 1, *node[j + 1 :])
        found = try_node(trial)
        if found is None:
            open_columns.discard(j)
            continue
        node, loss = trial, found
        if node[j] == lowest[j]:
            open_columns.discard(j)
    return node, loss
