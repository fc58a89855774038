"""Base of the searches of a lattice.

They share the suppression limit, the best node so far, the deadline and the losses by column.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shoal.formatting import number
from shoal.methods.base import Problem, row_limit
from shoal.methods.full_domain.lattice import Figures, Node, NodeEvaluator
from shoal.methods.full_domain.partial_knowledge import PartialKnowledgeEvaluator
from shoal.methods.time_limits import deadline_of, is_late
from shoal.utility.measures import Measure

Evaluator = NodeEvaluator | PartialKnowledgeEvaluator


class LatticeSearch:
    """A search for the node of least loss under a suppression limit.

    A node may suppress at most ``limit`` rows.
    """

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
        # a failure extends to finer nodes if models are closed under supersets or, without suppression, under union
        self.failure_extends_to_finer = model.closed_under_superset or (self.limit == 0 and model.closed_under_union)
        # otherwise a node can at best prove that too many rows fail at all finer nodes
        self.predicts_finer_failure = evaluator.predicts_finer_failure and self.measure.by_column
        # if a failure decides other nodes, it must be distinguished from a loss that is merely too high
        self.needs_full_evaluation = self.failure_extends_to_finer

    def run(self) -> None:
        """Search until the best node is proven optimal or the time is over."""
        raise NotImplementedError

    def remaining_bound(self) -> float:
        """Return the least bound of the undecided nodes."""
        raise NotImplementedError

    @property
    def best_loss(self) -> float:
        """Return the least loss found; infinite where there is no solution yet."""
        return math.inf if self.best is None else self.best.loss

    def report_progress(self, done: float | None) -> None:
        """Report the progress and the best loss so far."""
        best = "" if self.best is None else f", best loss {number(self.best.loss, 5)}"
        self.evaluator.problem.progress(
            f"{number(self.evaluator.seen)} of {number(self.nodes)} nodes looked at{best}", done
        )

    def late(self) -> bool:
        """Return whether the time is over."""
        return is_late(self._end)

    def look(self, node: Node) -> tuple[Figures, bool]:
        """Evaluate a node; return its figures and whether it is a solution.

        The best solution is stored.
        """
        figures = self.evaluator.look(node, self.limit, math.inf if self.needs_full_evaluation else self.best_loss)
        good = self.is_good(figures)
        self.consider(figures, good)
        return figures, good

    def is_good(self, figures: Figures) -> bool:
        """Return whether a node is a solution."""
        return figures.suppressed <= self.limit and figures.groups > 0 and figures.loss < math.inf

    def consider(self, figures: Figures, good: bool) -> None:
        """Store a solution if it is the best."""
        node = figures.node
        if good and (
            self.best is None or (figures.loss, sum(node), node) < (self.best.loss, sum(self.best.node), self.best.node)
        ):
            self.best = figures

    def fails_below(self, figures: Figures, good: bool) -> bool:
        """Return whether every finer node must fail."""
        return (not good and self.failure_extends_to_finer) or figures.certain > self.limit


def column_losses(measure: Measure, problem: Problem, limit: int) -> list[npt.NDArray[np.float64]]:
    """Return each column's least loss at every level under suppression.

    At most ``limit`` rows are suppressed. That is the loss without suppression, unless suppressed rows cost less than
    generalized ones: then the rows are suppressed, in each column independently, whose suppression saves most.
    """
    frequencies = problem.frequencies
    sums = np.zeros((max(ladder.height for ladder in problem.ladders) + 1, len(problem.ladders)))
    for a, ladder in enumerate(problem.ladders):
        counts = np.bincount(frequencies.codes[:, a], frequencies.count, len(ladder.codes[0])).astype(np.float64)
        for level in range(ladder.height + 1):
            cost = measure.cost[a][level][ladder.codes[level]]
            sums[level, a] = (counts * cost).sum()
            if measure.suppression < measure.generalization and measure.name != "height":
                sums[level, a] -= _max_saving(cost - measure.suppression * measure.top[a], counts, limit)
    scaled = measure.scale(sums, np.zeros(len(sums), np.int64))
    return [scaled[: ladder.height + 1, a] for a, ladder in enumerate(problem.ladders)]


def _max_saving(gain: npt.NDArray[np.float64], counts: npt.NDArray[np.float64], limit: int) -> float:
    """Return the largest saving by suppressing at most ``limit`` rows.

    ``gain`` is the saving per row and ``counts`` the number of rows of each kind.
    """
    order = np.argsort(-gain, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    suppressed = np.clip(limit - before, 0, counts[order])
    return float((suppressed * np.maximum(gain[order], 0.0)).sum())
