"""A good node to start from, where a lattice is too large to be exhausted: greedy specialization from the top.

From the highest levels, one column goes down by one level at a time, as long as the node stays a solution. Which one:
the step that saves most, or the step that saves most for the information that it tells (the entropy of the column's
labels), which is what tears groups apart; both ways are gone. A step that fails is not tried again, for it fails the
more when others have gone down. Then a column of the best node gives back a level, and the others take what that makes
room for; and as long as there is time the same by chance, with more columns and levels, or the other way round: a
column goes down, and others up until that is a solution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.methods.full_domain.lattice import Node
from shoal.schema import Ladder
from shoal.table import FrequencySet

__all__ = ["Surroundings", "information"]

Table = Sequence[npt.NDArray[np.float64]]
"""A figure for each column at each of its levels."""
TryNode = Callable[[Node], float | None]
Rule = Callable[[int, int], float]
"""How good it is to take a column down from a level."""
Late = Callable[[], bool]


def information(frequencies: FrequencySet, ladders: Sequence[Ladder]) -> list[npt.NDArray[np.float64]]:
    """Of each column the entropy of its labels at every level, in bits."""
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


class Surroundings:
    """Ways through a lattice: down from the top, then around the best node found."""

    def __init__(self, lowest: Node, highest: Node, losses: Table, told: Table, seed: int = 0) -> None:
        self.lowest, self.highest = lowest, highest
        self._losses, self._told = losses, told
        self._random = np.random.default_rng(seed)

    def explore(self, try_node: TryNode, late: Late) -> Iterator[Node]:
        """Try nodes, so that good ones are among them; yields the best after each way, and ends when it is late.

        Parameters
        ----------
        try_node
            Looks at a node and tells what it loses; None where it is no solution.
        late
            Whether to stop.
        """
        for best in self.start(try_node, late):
            yield best
            if best == self.lowest:
                return
        while self._least < math.inf and not late():
            self._wander(try_node, late)
            yield self._best

    def start(self, try_node: TryNode, late: Late) -> Iterator[Node]:
        """The ways down from the top, and those where one column gives back a level: an end is in sight."""
        self._best, self._least = self.highest, math.inf
        loss = try_node(self.highest)
        if loss is None:
            return
        self._least = loss
        yield self._best
        for rule in (self._by_information, self._saved):
            self._take(*_descend(try_node, self.highest, loss, self.lowest, rule, late))
            yield self._best
        changed = True
        while changed and not late():
            changed = False
            for j in range(len(self._best)):
                if self._best[j] < self.highest[j] and not late():
                    changed |= self._give_back(try_node, {j: self._best[j] + 1}, self._by_information, late)
                    yield self._best

    def _saved(self, j: int, level: int) -> float:
        return float(self._losses[j][level] - self._losses[j][level - 1])

    def _by_information(self, j: int, level: int) -> float:
        return self._saved(j, level) / max(float(self._told[j][level - 1] - self._told[j][level]), 1e-9)

    def _take(self, node: Node, loss: float) -> bool:
        better = loss < self._least
        if better:
            self._best, self._least = node, loss
        return better

    def _give_back(self, try_node: TryNode, given: dict[int, int], rule: Rule, late: Late) -> bool:
        """Some columns of the best node go up to given levels, and the others down; then all. Whether it was better."""
        raised = _at(self._best, given)
        loss = try_node(raised)
        if loss is None:
            return False
        node, loss = _descend(try_node, raised, loss, _at(self.lowest, given), rule, late)
        return self._take(*_descend(try_node, node, loss, self.lowest, rule, late))

    def _wander(self, try_node: TryNode, late: Late) -> None:
        """One to three columns up by some levels, or one down and others up until that is a solution."""
        random, best = self._random, self._best
        noise = np.exp(random.normal(scale=0.7, size=len(best)))

        def rule(j: int, level: int) -> float:
            return self._by_information(j, level) * float(noise[j])

        up = [j for j in range(len(best)) if best[j] < self.highest[j]]
        down = [j for j in range(len(best)) if best[j] > self.lowest[j]]
        if up and (not down or random.random() < 0.5):
            chosen = random.permutation(up)[: random.integers(1, 4)]
            given = {int(j): int(random.integers(best[j] + 1, self.highest[j] + 1)) for j in chosen}
            self._give_back(try_node, given, rule, late)
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
            self._take(*_descend(try_node, node, loss, self.lowest, rule, late))


def _at(node: Node, given: Mapping[int, int]) -> Node:
    """The node with some columns at other levels."""
    return tuple(given.get(j, level) for j, level in enumerate(node))


def _descend(
    try_node: TryNode,
    node: Node,
    loss: float,
    lowest: Node,
    rule: Rule,
    late: Late,
) -> tuple[Node, float]:
    """The node at which no column can go down any more, and what it loses."""
    going = {j for j in range(len(node)) if node[j] > lowest[j]}
    while going and not late():
        j = max(sorted(going), key=lambda column: rule(column, node[column]))
        trial = (*node[:j], node[j] - 1, *node[j + 1 :])
        found = try_node(trial)
        if found is None:
            going.discard(j)
            continue
        node, loss = trial, found
        if node[j] == lowest[j]:
            going.discard(j)
    return node, loss
