"""The search of a generalization lattice: the node of least loss, and all minimal nodes.

Every node of the lattice has a lower bound of its loss that needs no look at its groups: for measures by column the
loss if the rows are suppressed that this serves best; for the others what finer nodes showed. Nodes are taken in the
order of their bounds, and the search ends when the next bound is not below the best loss found. What makes it quick is
how much one look settles: where too many rows fail models that absorb (or, without suppression, models that unite),
every finer node fails too. So the look is not at the node whose turn it is, but at the top of a path that rises from it
as far as bounds allow, and beyond; if that fails, the whole path and all below it is settled, and if not, solutions are
sought on the path below.

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
from shoal.methods.full_domain.greedy import Surroundings, information
from shoal.methods.full_domain.kernels.lattice import (
    count_people,
    kept_figures,
    make_lifts,
    make_scratch,
    next_open,
    rising_path,
    roll_up,
    tag_box,
)
from shoal.methods.full_domain.lattice import Figures, Node
from shoal.methods.full_domain.lattice_search import Evaluator, Search, column_losses
from shoal.methods.full_domain.partial_knowledge import FewEvaluator, descend_lattice, evaluator_of
from shoal.methods.time_limits import deadline_of
from shoal.utility.measures import Measure

__all__ = ["Optimum", "find_optimum", "load_kernels", "minimal_nodes"]

LARGEST_LATTICE = 10_000_000  # nodes up to which a bound is kept for each
MANY = 100_000  # nodes from which on a good one is sought before they are sorted
OVERSHOOT = 0.03  # how much further beyond the best loss paths go, as a part of it, each time that their ends fail
UNKNOWN, FAILS, MEETS, SEEN = 0, 1, 2, 3  # odd tags are settled


@dataclass(frozen=True)
class Optimum:
    """The best node found; ``lower_bound`` is the least loss that any node can have."""

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
    """The node of least loss among those whose failing rows are at most ``suppression`` of all.

    Ties go to the lower bound, then to the lower sum of levels, then to the smaller node in lexicographic order. A
    lattice that is too large to be searched to the end is searched for ``patience`` seconds, unless there is a limit.
    """
    nodes = math.prod(high - low + 1 for low, high in zip(lowest, highest, strict=True))
    evaluator = evaluator_of(problem, measure)
    if nodes > LARGEST_LATTICE and isinstance(evaluator, FewEvaluator):
        return _descend(evaluator, lowest, highest, nodes, time_limit)
    if nodes > LARGEST_LATTICE:
        search: Search = LargeSearch(
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


def _descend(evaluator: FewEvaluator, lowest: Node, highest: Node, nodes: int, time_limit: float | None) -> Optimum:
    """A good node for few known columns, where there are too many to look at."""
    found = descend_lattice(evaluator, lowest, highest, deadline_of(time_limit))
    if found is None:
        return Optimum(None, False, math.inf, nodes, evaluator.seen)
    best, bound = found
    return Optimum(best, bound >= best.loss, min(bound, best.loss), nodes, evaluator.seen)


def load_kernels() -> None:
    """Call the compiled code once on next to nothing: to load it takes a moment."""
    tag, bound, one = np.zeros(2, np.int8), np.zeros(2), np.ones(1, np.int64)
    next_open(np.arange(2), 0, tag, bound, math.inf)
    rising_path(0, one + 1, one, tag, bound, math.inf)
    tag_box(tag, one - 1, one, one, FAILS, SEEN)
    codes = np.zeros((1, 1), np.int32)
    lifts = make_lifts([[codes[0]]])
    roll_up(codes, one, one - 1, one - 1, lifts, make_scratch(1), codes.copy(), one.copy())
    kept_figures(codes, one, one, one - 1, 1, bound, np.zeros((1, 1), np.int64), np.zeros(1))
    count_people(one, 1, 2, codes[0], codes[0], codes[0], codes[0].copy(), one.copy())


class _ArraySearch(Search):
    """A bound and a tag for every node."""

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
        self.place = 0

    def run(self) -> None:
        told = time.monotonic()
        if self.nodes > MANY and self.measure.by_column:
            self.find_start()
        order = self.ordered()
        while not self.late():
            self.place = next_open(order, self.place, self.flat_tag, self.flat_bound, self.best_loss)
            if self.place >= len(order):
                return
            index = int(order[self.place])
            if self.flat_tag[index] == MEETS or not (self.settles_below or self.foresees):
                self.look_at(index)
            else:
                self.climb(index)
            if time.monotonic() - told > 0.2:
                told = time.monotonic()
                self.tell(self.place / len(order))

    def find_start(self) -> None:
        """Look at a good node first: to sort the nodes that cannot be better would take most of the time."""
        problem = self.evaluator.problem
        losses = column_losses(self.measure, problem, self.limit)
        told = information(problem.frequencies, problem.ladders)

        def try_node(node: Node) -> float | None:
            index = int(((np.asarray(node) - self.bottom) * self.strides).sum())
            if self.flat_tag[index] == FAILS:
                return None
            figures, good = self.look_at(index)
            return figures.loss if good else None

        around = Surroundings(self.lowest, self.highest, losses, told)
        for _ in around.start(try_node, self.late):
            self.tell(None)

    def ordered(self) -> npt.NDArray[np.int64]:
        """The nodes by bound and then by height, those that cannot be better than the best left out."""
        if not self.measure.by_column:
            # where bounds come from groups they rise during the search: then from the bottom up
            return np.argsort(_heights(self.shape), kind="stable")
        nodes = np.flatnonzero(self.flat_bound < self.best_loss)
        return nodes[np.lexsort((_heights(self.shape)[nodes], self.flat_bound[nodes]))]

    def remaining_bound(self) -> float:
        open_nodes = self.flat_tag % 2 == 0
        return float(self.flat_bound[open_nodes].min(initial=math.inf))

    def climb(self, index: int) -> None:
        """Look at the end of a path that rises beyond the best loss and, unless it fails, at the part below that loss.

        Nodes beyond are no better solutions, but one that fails settles many nodes below that would each need a look.
        How far to go is learnt on the way: a little further after each failure, half as far after a success.
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
        """Find where on a path nodes no longer fail with all below: first the top, which settles most if it does.

        Returns the solutions that were seen.
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
        """Look at a node, and settle what follows from it."""
        levels = index // self.strides % self.sizes
        figures, good = self.look(tuple((levels + self.bottom).tolist()))
        if self.fails_below(figures, good):
            tag_box(self.flat_tag, np.zeros_like(levels), levels, self.strides, FAILS, SEEN)
        elif good or self.foresees:
            # where failing does not settle what is below, this tells only that to climb from there is of no use
            tag_box(self.flat_tag, levels, self.sizes - 1, self.strides, MEETS, UNKNOWN)
        if not self.measure.by_column:
            above_bound = self.bound[tuple(slice(level, None) for level in levels)]
            np.maximum(above_bound, figures.floor, out=above_bound)
        self.flat_tag[index] |= SEEN
        return figures, good


def _heights(shape: tuple[int, ...]) -> npt.NDArray[np.int16]:
    """The sum of levels of every node."""
    height = np.zeros(shape, np.int16)
    for a, size in enumerate(shape):
        height += np.arange(size, dtype=np.int16).reshape([-1 if b == a else 1 for b in range(len(shape))])
    return height.reshape(-1)


def _bounds(measure: Measure, problem: Problem, lowest: Node, highest: Node, limit: int) -> npt.NDArray[np.float64]:
    """A lower bound of the loss of every node, see :func:`column_losses`; 0 where that depends on groups."""
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
    # sums in another order differ in the last bits; a bound must not be above the loss that it bounds
    return bound * (1 - 1e-12)


def minimal_nodes(problem: Problem, measure: Measure, suppression: float, lowest: Node, highest: Node) -> list[Figures]:
    """All solutions of which no finer node is one, in lexicographic order: Incognito's answer.

    Where one look settles nothing below (see :class:`Search`), every node is looked at.
    """
    nodes = math.prod(high - low + 1 for low, high in zip(lowest, highest, strict=True))
    if nodes > LARGEST_LATTICE:
        raise PlanError(
            f"All minimal recodings of a lattice of {nodes:,} nodes are too many to list; fix or bound some levels "
            f"(at most {LARGEST_LATTICE:,} nodes)."
        )
    search = _ArraySearch(evaluator_of(problem, measure), suppression, lowest, highest, nodes, None)
    search.tells_all = True
    solutions: list[Figures] = []
    for index in map(int, np.argsort(_heights(search.shape), kind="stable")):
        if search.flat_tag[index] == UNKNOWN and search.settles_below:
            path = rising_path(index, search.sizes, search.strides, search.flat_tag, search.flat_bound, math.inf)
            solutions += search.bisect(path)
        elif not search.settles_below and search.flat_tag[index] != FAILS:
            figures, good = search.look_at(index)
            solutions += [figures] if good else []
    # a minimal node is settled by no other, so it was looked at itself
    nodes_found = np.asarray([figures.node for figures in solutions]).reshape(len(solutions), len(lowest))
    return sorted(
        (
            figures
            for figures in solutions
            if (nodes_found <= np.asarray(figures.node)).all(axis=1).sum() == 1  # none but itself is below
        ),
        key=lambda figures: figures.node,
    )
