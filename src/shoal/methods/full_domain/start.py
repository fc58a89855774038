"""A good node to start from, where a lattice is too large to be exhausted: greedy specialization from the top.

From the highest levels, one column goes down by one level at a time, as long as the node stays a solution. Which one:
the step that saves most, or the step that saves most for the information that it tells (the entropy of the column's
labels), which is what tears groups apart; both ways are gone. A step that fails is not tried again, for it fails the
more when others have gone down. Then, as long as there is time, a column of the best node gives back a level, and the
others take what that makes room for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from shoal.encoding import FrequencySet
from shoal.methods.full_domain.lattice import Node
from shoal.schema import Ladder

__all__ = ["find_start", "information"]

Table = Sequence[npt.NDArray[np.float64]]
"""A figure for each column at each of its levels."""


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


def find_start(
    try_node: Callable[[Node], float | None],
    lowest: Node,
    highest: Node,
    losses: Table,
    told: Table,
    late: Callable[[], bool],
) -> None:
    """Try nodes, so that a good one is among them.

    Parameters
    ----------
    try_node
        Looks at a node and tells what it loses; None where it is no solution.
    losses, told
        What each column loses at each level, and what it tells there.
    late
        Whether to stop.
    """

    def saved(j: int, level: int) -> float:
        return float(losses[j][level] - losses[j][level - 1])

    def by_information(j: int, level: int) -> float:
        return saved(j, level) / max(float(told[j][level - 1] - told[j][level]), 1e-9)

    loss = try_node(highest)
    if loss is None:
        return
    best, least = highest, loss
    for rule in (by_information, saved):
        node, reached = _descend(try_node, highest, loss, lowest, rule, late)
        if reached < least:
            best, least = node, reached
    changed = True
    while changed and not late():
        changed = False
        for j in range(len(best)):
            if best[j] == highest[j] or late():
                continue
            raised = (*best[:j], best[j] + 1, *best[j + 1 :])
            given = try_node(raised)
            if given is None:
                continue
            node, reached = _descend(
                try_node, raised, given, (*lowest[:j], raised[j], *lowest[j + 1 :]), by_information, late
            )
            if reached < least:
                best, least, changed = node, reached, True


def _descend(
    try_node: Callable[[Node], float | None],
    node: Node,
    loss: float,
    lowest: Node,
    rule: Callable[[int, int], float],
    late: Callable[[], bool],
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
