"""Search of a generalization lattice: the optimum and all minimal nodes.

Every node has a lower bound of its loss that does not depend on its groups. For measures by column, it is the loss if
the rows are suppressed whose suppression saves most; for other measures, it comes from finer nodes that were evaluated.
Nodes are taken in the order of their bounds, and the search ends when the next bound is not below the best loss found.
It is fast because one evaluation decides many nodes: where too many rows fail models that are closed under supersets
(or, without suppression, models that are closed under union), every finer node fails too. So the search does not
evaluate the next node itself, but the top of a path that rises from it as far as the bounds allow, and beyond. If the
top fails, the whole path and all nodes below it are decided; otherwise solutions are sought further down the path.

Section 5.1 of Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity models", 2008, extends Incognito (LeFevre,
DeWitt and Ramakrishnan, 2005) to (p, α) and (p+, α); paths and their bisection are in Kohlmayer et al., "Flash:
efficient, stable and optimal k-anonymity", 2012.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.methods.base import Problem
from shoal.methods.full_domain.branch_and_bound import LargeSearch
from shoal.methods.full_domain.greedy import GreedySearch, label_entropy
from shoal.methods.full_domain.kernels.lattice import (
    count_people,
    make_lifts,
    make_roll_scratch,
    next_open,
    released_figures,
    rising_path,
    roll_up,
    tag_box,
)
from shoal.methods.full_domain.lattice import Figures, Node
from shoal.methods.full_domain.lattice_search import Evaluator, LatticeSearch, column_losses
from shoal.methods.full_domain.partial_knowledge import PartialKnowledgeEvaluator, descend_lattice, evaluator_of
from shoal.methods.time_limits import deadline_of
from shoal.utility.measures import Measure

LARGEST_LATTICE = 10_000_000  # nodes up to which each has a bound in memory
MIN_NODES_FOR_GREEDY_START = 100_000  # above it, a good node is sought before nodes are sorted
OVERSHOOT = 0.03  # relative extension of paths beyond the best loss after each end that fails
UNKNOWN, FAILS, MEETS, SEEN = 0, 1, 2, 3  # odd tags are decided


@dataclass(frozen=True)
class Optimum:
    """The best node found, with a lower bound of the loss of any node."""

    best: Figures | None
    proven: bool
    lower_bound: float
    nodes: int
    seen: int


def find_optimum(
    problem: Problem,
    measure: Measure,
    suppression: float,
    lowest: Node,
    highest: Node,
    time_limit: float | None = None,
    interruptible: bool = False,
    patience: float = 60.0,
) -> Optimum:
    """Return the node of least loss within the suppression limit.

    The failing rows of a node are at most ``suppression`` of all rows. Ties go to the lower loss, then to the lower sum
    of levels, then to the smaller node in lexicographic order. A lattice that is too large for a complete search is
    searched for ``patience`` seconds, unless ``time_limit`` is given.
    """
    nodes = math.prod(high - low + 1 for low, high in zip(lowest, highest, strict=True))
    evaluator = evaluator_of(problem, measure)
    if nodes > LARGEST_LATTICE and isinstance(evaluator, PartialKnowledgeEvaluator):
        return _descend(evaluator, lowest, highest, nodes, time_limit)
    if nodes > LARGEST_LATTICE:
        search: LatticeSearch = LargeSearch(
            evaluator, suppression, lowest, highest, nodes, patience if time_limit is None else time_limit
        )
    else:
        search = _ArraySearch(evaluator, suppression, lowest, highest, nodes, time_limit)
    try:
        search.run()
    except KeyboardInterrupt:
        if not interruptible or search.best is None:
            raise
    bound = search.remaining_bound()
    loss = math.inf if search.best is None else search.best.loss
    return Optimum(search.best, bound >= loss, min(bound, loss), nodes, evaluator.seen)


def _descend(
    evaluator: PartialKnowledgeEvaluator, lowest: Node, highest: Node, nodes: int, time_limit: float | None
) -> Optimum:
    """Return a good node of a large lattice under partial knowledge."""
    found = descend_lattice(evaluator, lowest, highest, deadline_of(time_limit))
    if found is None:
        return Optimum(None, False, math.inf, nodes, evaluator.seen)
    best, bound = found
    return Optimum(best, bound >= best.loss, min(bound, best.loss), nodes, evaluator.seen)


def load_kernels() -> None:
    """Call the compiled functions once on tiny arrays, to load them."""
    tag, bound, one = np.zeros(2, np.int8), np.zeros(2), np.ones(1, np.int64)
    next_open(np.arange(2), 0, tag, bound, math.inf)
    rising_path(0, one + 1, one, tag, bound, math.inf)
    tag_box(tag, one - 1, one, one, FAILS, SEEN)
    codes = np.zeros((1, 1), np.int32)
    lifts = make_lifts([[codes[0]]])
    roll_up(codes, one, one - 1, one - 1, lifts, make_roll_scratch(1), codes.copy(), one.copy())
    released_figures(codes, one, one, one - 1, 1, bound, np.zeros((1, 1), np.int64), np.zeros(1))
    count_people(one, 1, 2, codes[0], codes[0], codes[0], codes[0].copy(), one.copy())


class _ArraySearch(LatticeSearch):
    """A search with a bound and a tag for every node in arrays."""

    def __init__(
        self,
        evaluator: Evaluator,
        suppression: float,
        lowest: Node,
        highest: Node,
        nodes: int,
        time_limit: float | None,
    ) -> None:
        super().__init__(evaluator, suppression, lowest, highest, nodes, time_limit)
        self.overshoot = 0.0
        self.shape = tuple(high - low + 1 for low, high in zip(lowest, highest, strict=True))
        self.tag = np.zeros(self.shape, np.int8)
        self.flat_tag = self.tag.reshape(-1)
        self.bound = _bounds(self.measure, evaluator.problem, lowest, highest, self.limit)
        self.flat_bound = self.bound.reshape(-1)
        self.strides = np.asarray(self.tag.strides, np.int64)
        self.sizes = np.asarray(self.shape, np.int64)
        self.bottom = np.asarray(lowest, np.int64)
        self.next_index = 0

    def run(self) -> None:
        last_report = time.monotonic()
        if self.nodes > MIN_NODES_FOR_GREEDY_START and self.measure.by_column:
            self.find_start()
        order = self.ordered()
        while not self.late():
            self.next_index = next_open(order, self.next_index, self.flat_tag, self.flat_bound, self.best_loss)
            if self.next_index >= len(order):
                return
            index = int(order[self.next_index])
            if self.flat_tag[index] == MEETS or not (self.failure_extends_to_finer or self.predicts_finer_failure):
                self.look_at(index)
            else:
                self.climb(index)
            if time.monotonic() - last_report > 0.2:
                last_report = time.monotonic()
                self.report_progress(self.next_index / len(order))

    def find_start(self) -> None:
        """Evaluate a good node first.

        Otherwise sorting nodes that cannot be better would take most of the time.
        """
        problem = self.evaluator.problem
        losses = column_losses(self.measure, problem, self.limit)
        entropy = label_entropy(problem.frequencies, problem.ladders)

        def try_node(node: Node) -> float | None:
            index = int(((np.asarray(node) - self.bottom) * self.strides).sum())
            if self.flat_tag[index] == FAILS:
                return None
            figures, good = self.look_at(index)
            return figures.loss if good else None

        greedy = GreedySearch(self.lowest, self.highest, losses, entropy)
        for _ in greedy.start(try_node, self.late):
            self.report_progress(None)

    def ordered(self) -> npt.NDArray[np.int64]:
        """Return the nodes by bound and then by height.

        Nodes that cannot be better than the best are left out.
        """
        if not self.measure.by_column:
            # bounds that come from groups rise during the search: then from the bottom up
            return np.argsort(_heights(self.shape), kind="stable")
        nodes = np.flatnonzero(self.flat_bound < self.best_loss)
        return nodes[np.lexsort((_heights(self.shape)[nodes], self.flat_bound[nodes]))]

    def remaining_bound(self) -> float:
        open_nodes = self.flat_tag % 2 == 0
        return float(self.flat_bound[open_nodes].min(initial=math.inf))

    def climb(self, index: int) -> None:
        """Evaluate the end of a path that rises beyond the best loss.

        Unless it fails, the part of the path below the best loss is bisected. Nodes beyond the best loss are no better
        solutions, but one that fails decides many nodes below it that would each need an evaluation. The extension
        adapts: a little longer after each failure, half as long after a success.
        """
        beyond = self.best_loss * (1 + self.overshoot)
        path = rising_path(index, self.sizes, self.strides, self.flat_tag, self.flat_bound, beyond)
        inside = max(1, int(np.count_nonzero(self.flat_bound[path] < self.best_loss)))
        if inside < len(path):
            passes = not self.fails_below(*self.look_at(int(path[-1])))
            self.overshoot = self.overshoot / 2 if passes else self.overshoot + OVERSHOOT
            if not passes:
                return
        elif math.isfinite(self.best_loss):
            self.overshoot += OVERSHOOT
        self.bisect(path[:inside])

    def bisect(self, path: npt.NDArray[np.int64]) -> list[Figures]:
        """Find the lowest node of a path that does not fail with all finer ones.

        The top is evaluated first, as it decides most nodes if it fails. Returns the solutions that were found.
        """
        low, high = 0, len(path) - 1
        probe = high
        solutions = []
        while low <= high:
            figures, good = self.look_at(int(path[probe]))
            solutions += [figures] if good else []
            low, high = (probe + 1, high) if self.fails_below(figures, good) else (low, probe - 1)
            probe = (low + high) // 2
        return solutions

    def look_at(self, index: int) -> tuple[Figures, bool]:
        """Evaluate a node and tag the nodes that it decides."""
        levels = index // self.strides % self.sizes
        figures, good = self.look(tuple((levels + self.bottom).tolist()))
        if self.fails_below(figures, good):
            tag_box(self.flat_tag, np.zeros_like(levels), levels, self.strides, FAILS, SEEN)
        elif good or self.predicts_finer_failure:
            # where failure does not extend to finer nodes, the tag only says that climbing from there is useless
            tag_box(self.flat_tag, levels, self.sizes - 1, self.strides, MEETS, UNKNOWN)
        if not self.measure.by_column:
            above_bound = self.bound[tuple(slice(level, None) for level in levels)]
            np.maximum(above_bound, figures.floor, out=above_bound)
        self.flat_tag[index] |= SEEN
        return figures, good


def _heights(shape: tuple[int, ...]) -> npt.NDArray[np.int16]:
    """Return the sum of levels of every node."""
    height = np.zeros(shape, np.int16)
    for a, size in enumerate(shape):
        height += np.arange(size, dtype=np.int16).reshape([-1 if b == a else 1 for b in range(len(shape))])
    return height.reshape(-1)


def _bounds(measure: Measure, problem: Problem, lowest: Node, highest: Node, limit: int) -> npt.NDArray[np.float64]:
    """Return a lower bound of the loss of every node.

    See :func:`column_losses`; it is 0 where the loss depends on groups.
    """
    shape = tuple(high - low + 1 for low, high in zip(lowest, highest, strict=True))
    if not measure.by_column:
        return np.zeros(shape)
    columns = column_losses(measure, problem, limit)
    total = measure.weight.sum()
    bound = np.zeros(shape)
    for a, (low, high) in enumerate(zip(lowest, highest, strict=True)):
        part = columns[a][low : high + 1]
        wide = part.reshape([-1 if b == a else 1 for b in range(len(shape))])
        match measure.aggregate:
            case "sum":
                bound = bound + wide * measure.weight[a]
            case "mean":
                bound = bound + wide * (measure.weight[a] / total)
            case "maximum":
                bound = np.maximum(bound, wide * measure.weight[a])
            case _:
                bound = bound + np.log1p(wide) * (measure.weight[a] / total)
    if measure.aggregate == "geometric":
        bound = np.expm1(bound)
    # sums in another order differ in the last bits; a bound must not exceed the loss that it bounds
    return bound * (1 - 1e-12)


def minimal_nodes(problem: Problem, measure: Measure, suppression: float, lowest: Node, highest: Node) -> list[Figures]:
    """Return all minimal solutions in lexicographic order, as Incognito does.

    A solution is minimal if no finer node is a solution. Where the failure of a node does not extend to finer ones (see
    :class:`LatticeSearch`), every node is evaluated.
    """
    nodes = math.prod(high - low + 1 for low, high in zip(lowest, highest, strict=True))
    if nodes > LARGEST_LATTICE:
        raise PlanError("method.lattice-too-large", nodes=nodes, limit=LARGEST_LATTICE)
    search = _ArraySearch(evaluator_of(problem, measure), suppression, lowest, highest, nodes, None)
    search.needs_full_evaluation = True
    solutions: list[Figures] = []
    for index in map(int, np.argsort(_heights(search.shape), kind="stable")):
        if search.flat_tag[index] == UNKNOWN and search.failure_extends_to_finer:
            path = rising_path(index, search.sizes, search.strides, search.flat_tag, search.flat_bound, math.inf)
            solutions += search.bisect(path)
        elif not search.failure_extends_to_finer and search.flat_tag[index] != FAILS:
            figures, good = search.look_at(index)
            solutions += [figures] if good else []
    # no other node decides a minimal node, so it was evaluated itself
    node_levels = np.asarray([figures.node for figures in solutions]).reshape(len(solutions), len(lowest))
    return sorted(
        (
            figures
            for figures in solutions
            if (node_levels <= np.asarray(figures.node)).all(axis=1).sum() == 1  # only itself is at or below
        ),
        key=lambda figures: figures.node,
    )
