"""What the searches of a lattice share: the rows that may be left out, the best so far, the clock, losses by column."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Problem, row_limit
from shoal.methods.full_domain.lattice import Figures, Node, NodeEvaluator
from shoal.methods.full_domain.partial_knowledge import FewEvaluator
from shoal.methods.time_limits import deadline_of, is_late
from shoal.utility.measures import Measure

__all__ = ["Evaluator", "Search", "column_losses"]

Evaluator = NodeEvaluator | FewEvaluator


class Search:
    """A search for the node of least loss among those that leave out no more than ``limit`` rows."""

    def __init__(
        self,
        evaluator: Evaluator,
        suppression: float,
        lowest: Node,
        highest: Node,
        nodes: int,
        time_limit: float | None,
    ) -> None:
        self.evaluator = evaluator
        self.measure = evaluator.measure
        self.lowest, self.highest, self.nodes = lowest, highest, nodes
        self.limit = row_limit(suppression, self.measure.rows)
        self.best: Figures | None = None
        self._end = deadline_of(time_limit)
        model = evaluator.problem.model
        # without suppression a node that fails a uniting model has no good finer node; with it, absorbing is needed
        self.settles_below = model.absorbs or (self.limit == 0 and model.unites)
        # else a node can at best tell that so many rows are in the way that all finer nodes fail
        self.foresees = evaluator.foresees and self.measure.by_column
        # where a failing node settles others, it must be told from one that is merely not better
        self.tells_all = self.settles_below

    def run(self) -> None:
        """Search, until the best is proven to be so or the time is over."""
        raise NotImplementedError

    def remaining_bound(self) -> float:
        """The least bound of the nodes that are not settled."""
        raise NotImplementedError

    @property
    def best_loss(self) -> float:
        """The least loss found; infinite where there is no solution yet."""
        return math.inf if self.best is None else self.best.loss

    def tell(self, done: float | None) -> None:
        """Progress: how far, and the best so far."""
        best = "" if self.best is None else f", best loss {self.best.loss:.5g}"
        self.evaluator.problem.progress(f"{self.evaluator.seen:,} of {self.nodes:,} nodes looked at{best}", done)

    def late(self) -> bool:
        """Whether the time is over."""
        return is_late(self._end)

    def look(self, node: Node) -> tuple[Figures, bool]:
        """A node's figures, and whether it is a solution; the best one is kept."""
        figures = self.evaluator.look(node, self.limit, math.inf if self.tells_all else self.best_loss)
        good = self.is_good(figures)
        self.consider(figures, good)
        return figures, good

    def is_good(self, figures: Figures) -> bool:
        """Whether a node is a solution."""
        return figures.suppressed <= self.limit and figures.groups > 0 and figures.loss < math.inf

    def consider(self, figures: Figures, good: bool) -> None:
        """Keep a solution if it is the best."""
        node = figures.node
        if good and (
            self.best is None or (figures.loss, sum(node), node) < (self.best.loss, sum(self.best.node), self.best.node)
        ):
            self.best = figures

    def fails_below(self, figures: Figures, good: bool) -> bool:
        """Whether every finer node must fail."""
        return (not good and self.settles_below) or figures.certain > self.limit


def column_losses(measure: Measure, problem: Problem, limit: int) -> list[npt.NDArray[np.float64]]:
    """Of each column, the least loss at every level if at most ``limit`` rows are suppressed.

    That is the loss without suppression, unless suppressed rows cost less than generalized ones: then the rows are
    left out, in each column by itself, that this saves most.
    """
    frequencies = problem.frequencies
    sums = np.zeros((max(ladder.height for ladder in problem.ladders) + 1, len(problem.ladders)))
    for a, ladder in enumerate(problem.ladders):
        counts = np.bincount(frequencies.codes[:, a], frequencies.count, len(ladder.codes[0])).astype(np.float64)
        for level in range(ladder.height + 1):
            cost = measure.cost[a][level][ladder.codes[level]]
            sums[level, a] = (counts * cost).sum()
            if measure.suppression < measure.generalization and measure.name != "height":
                sums[level, a] -= _most_saved(cost - measure.suppression * measure.top[a], counts, limit)
    scaled = measure.scale(sums, np.zeros(len(sums), np.int64))
    return [scaled[: ladder.height + 1, a] for a, ladder in enumerate(problem.ladders)]


def _most_saved(gain: npt.NDArray[np.float64], counts: npt.NDArray[np.float64], limit: int) -> float:
    """What is saved most by leaving out at most ``limit`` of the rows: so much each, so many of each kind."""
    order = np.argsort(-gain, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    taken = np.clip(limit - before, 0, counts[order])
    return float((taken * np.maximum(gain[order], 0.0)).sum())
