"""Branch and bound for lattices too large to store a bound per node.

Two workers, each on its own core if two threads are allowed. One looks for good nodes: greedy descents from the top
(:mod:`shoal.methods.full_domain.greedy`), then repeated changes of the best node, in which some columns rise and others
use what this allows. The other bounds the loss from below. Among disjoint boxes of nodes it takes the one whose lowest
node loses least, and cuts off what lies below a node that fails together with all finer ones. Before such a node is
used to cut, it is raised column by column as long as it still fails: the higher it is, the more boxes it cuts. Both
workers share the failing nodes that they find. When no box can contain less than the best loss found, that loss is the
optimum.

Most nodes fail by the sizes of their groups, which are computed from keys
(:class:`shoal.methods.full_domain.kernels.branch_and_bound.Keys`). Solutions that could be the best are evaluated
exactly by :class:`shoal.methods.full_domain.lattice.NodeEvaluator`.
"""

from __future__ import annotations

import contextvars
import math
import threading
import time

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from shoal.methods.base import Problem
from shoal.methods.full_domain.greedy import GreedySearch, label_entropy
from shoal.methods.full_domain.kernels.branch_and_bound import (
    ADDED,
    DONE,
    FULL,
    GEOMETRIC,
    LARGEST,
    LOOK,
    Keys,
    NodeBoxes,
    add_failed,
    bound_of,
    covers,
    released_sums,
    small_rows,
    split_first,
    tighten,
)
from shoal.methods.full_domain.lattice import Figures, Node, NodeEvaluator
from shoal.methods.full_domain.lattice_search import LatticeSearch, column_losses
from shoal.runtime.threads import thread_limit
from shoal.utility.measures import Measure

MAX_BOXES = 2_000_000  # of about 80 bytes each
MAX_FAILED_NODES = 20_000
SPLITS_PER_TIME_CHECK = 200  # boxes that are split between two checks of the time


class Sizes:
    """Evaluation of nodes by the sizes of their groups, on one thread.

    ``least`` is the minimum size of a group. Time per node: the combinations, once and for every column that differs
    from the last node.
    """

    def __init__(self, problem: Problem, measure: Measure, least: int) -> None:
        frequencies = problem.frequencies
        distinct, number = np.unique(frequencies.codes, axis=0, return_inverse=True)
        self._codes = np.ascontiguousarray(distinct.T, np.int32)
        self._count = np.bincount(number.reshape(-1), weights=frequencies.count).astype(np.int64)
        self._least, self._measure = least, measure
        ladders = problem.ladders
        random = np.random.default_rng(0)  # keys only have to differ: a fixed seed serves every table
        self._at = np.zeros((len(ladders), max(ladder.height for ladder in ladders) + 1), np.int64)
        self._whole = np.zeros(self._at.shape)
        numbers, costs = [], []
        offset = 0
        for a, ladder in enumerate(ladders):
            rows = np.bincount(self._codes[a], self._count, len(ladder.codes[0]))
            for level, codes in enumerate(ladder.codes):
                self._at[a, level] = offset
                offset += len(codes)
                drawn = random.integers(0, 2**64, ladder.size(level), np.uint64)
                numbers.append(drawn[codes])
                cost = measure.cost[a][level][codes] if measure.by_column else np.zeros(len(codes))
                costs.append(cost)
                self._whole[a, level] = (rows * cost).sum()
        self._numbers, self._costs = np.concatenate(numbers), np.concatenate(costs)
        combinations = self._codes.shape[1]
        capacity = 1 << max(4, (2 * combinations - 1).bit_length())
        keys = np.zeros(combinations, np.uint64)
        for a in range(len(ladders)):
            keys += self._numbers[self._at[a, 0] + self._codes[a]]
        self._keys = Keys(
            np.zeros(len(ladders), np.int64),
            keys,
            np.zeros(combinations, np.int32),
            np.zeros(capacity, np.uint64),
            np.zeros(capacity, np.int64),
        )

    def small(self, node: npt.NDArray[np.int64]) -> int:
        """Count the rows in groups that are too small."""
        return int(small_rows(self._codes, self._count, self._numbers, self._at, node, self._least, self._keys))

    def loss(self, small: int) -> float:
        """Return the loss of the last node, if no group but the small ones fails.

        ``small`` is the number of rows in small groups.
        """
        sums = np.zeros(len(self._codes))
        released_sums(self._codes, self._count, self._costs, self._at, self._whole, self._least, self._keys, sums)
        return self._measure.value(sums, small, 1, 0.0)


class LargeSearch(LatticeSearch):
    """Search for the best node and a lower bound, by two workers.

    Memory: two sets of keys and groups, and up to ``MAX_BOXES`` boxes.
    """

    @override
    def run(self) -> None:
        first = self.evaluator
        assert isinstance(first, NodeEvaluator)
        problem, measure = first.problem, self.measure
        columns = column_losses(measure, problem, self.limit) if measure.by_column else None
        self.boxes = self._whole_box(columns)
        # nodes that fail with all finer ones, and their number: one tuple, as the other thread may be reading
        self.failed = (np.zeros((256, len(self.lowest)), np.int16), 0)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._last_report = time.monotonic()
        heights = [np.arange(ladder.height + 1) / max(ladder.height, 1) for ladder in problem.ladders]
        greedy = GreedySearch(
            self.lowest,
            self.highest,
            columns or heights,
            label_entropy(problem.frequencies, problem.ladders),
            problem.seed,
        )
        # without bounds by column, ties depend on the order of evaluation: then on one thread
        if thread_limit() < 2 or not measure.by_column:
            self._alternate(_Worker(self, first), greedy)
            return
        second = NodeEvaluator(problem, measure)
        errors: list[BaseException] = []

        def bound() -> None:
            worker = _Worker(self, second)
            try:
                while not self.over() and worker.tighten():
                    pass
            except BaseException as error:  # raised again by the waiting thread
                errors.append(error)
            self._stop.set()

        thread = threading.Thread(target=contextvars.copy_context().run, args=(bound,), daemon=True)
        thread.start()
        try:
            worker = _Worker(self, first)
            for _ in greedy.explore(worker.try_node, self.over):
                self._report_regularly()
            while not self.over():
                self._stop.wait(0.05)
        finally:
            self._stop.set()
            thread.join()
            first.seen += second.seen
        if errors:
            raise errors[0]

    def _alternate(self, worker: _Worker, greedy: GreedySearch) -> None:
        """Run both workers on one thread; the one with less time so far is next."""
        descents = greedy.explore(worker.try_node, self.over)
        spent = [0.0, 0.0]
        unfinished = True
        while not self.over():
            turn = int(not unfinished or spent[1] < spent[0])
            start = time.monotonic()
            if turn == 0:
                unfinished = next(descents, None) is not None
            elif not worker.tighten():
                return
            spent[turn] += time.monotonic() - start
            self._report_regularly()

    def over(self) -> bool:
        """Return whether to stop: the optimum is proven, or the time is over."""
        return self._stop.is_set() or self.late()

    def _report_regularly(self) -> None:
        if time.monotonic() - self._last_report > 0.2:
            self._last_report = time.monotonic()
            self.report_progress(None)

    @override
    def remaining_bound(self) -> float:
        if self.boxes.size[0] == 0:
            return math.inf
        return float(self.boxes.bound[self.boxes.heap[0]])

    def _whole_box(self, columns: list[npt.NDArray[np.float64]] | None) -> NodeBoxes:
        """Return the lattice as one box; also set each column's part of the bound."""
        attributes = len(self.lowest)
        measure = self.measure
        self.aggregation = {"maximum": LARGEST, "geometric": GEOMETRIC}.get(measure.aggregate, ADDED)
        self.parts = np.zeros((attributes, max(self.highest) + 2))
        for a, losses in enumerate(columns or []):
            # a lower bound for a level and all higher ones
            least = np.minimum.accumulate(losses[::-1])[::-1][: self.parts.shape[1]]
            weight = measure.weight[a]
            if measure.aggregate not in ("sum", "maximum"):
                weight = weight / measure.weight.sum()
            self.parts[a, : len(least)] = weight * (np.log1p(least) if self.aggregation == GEOMETRIC else least)
        capacity = int(min(MAX_BOXES, 64 + 4 * self.nodes * attributes))
        boxes = NodeBoxes(
            np.zeros((capacity, attributes), np.int16),
            np.zeros((capacity, attributes), np.int16),
            np.zeros(capacity),
            np.arange(capacity, dtype=np.int32),
            np.ones(1, np.int64),
        )
        boxes.low[0], boxes.high[0] = self.lowest, self.highest
        boxes.bound[0] = bound_of(boxes.low[0], self.parts, self.aggregation)
        return boxes

    @override
    def consider(self, figures: Figures, good: bool) -> None:
        # two threads may report a solution
        with self._lock:
            super().consider(figures, good)

    def fails(self, node: npt.NDArray[np.int64]) -> bool:
        """Return whether a node is known to fail."""
        return bool(covers(*self.failed, node))

    def remember(self, node: npt.NDArray[np.int64]) -> None:
        """Record a node that fails with all finer ones."""
        with self._lock:
            failed, known = self.failed
            if known >= MAX_FAILED_NODES:
                return
            failed = np.concatenate([failed, np.zeros_like(failed)]) if known == len(failed) else failed.copy()
            self.failed = (failed, add_failed(failed, known, node))


class _Worker:
    """A worker that evaluates nodes on one thread."""

    def __init__(self, search: LargeSearch, exact: NodeEvaluator) -> None:
        self._search, self._exact = search, exact
        problem, measure = exact.problem, search.measure
        self._sizes = Sizes(problem, measure, exact.least) if exact.least > 1 else None
        self._by_sizes = problem.model.sizes_only and measure.by_column

    def try_node(self, node: Node) -> float | None:
        """Return the loss of a node; None where it is no solution."""
        search = self._search
        levels = np.asarray(node, np.int64)
        if search.fails(levels):
            return None
        if self._sizes is not None:
            self._exact.seen += 1
            small = self._sizes.small(levels)
            if small > search.limit:
                search.remember(levels)
                return None
            if self._by_sizes:
                loss = self._sizes.loss(small)
                if loss > search.best_loss * (1 + 1e-9):
                    return loss
            self._exact.seen -= 1
        figures, good, below = self._look(node)
        if below:
            search.remember(levels)
        return figures.loss if good else None

    def _look(self, node: Node) -> tuple[Figures, bool, bool]:
        search = self._search
        figures = self._exact.look(node, search.limit, math.inf if search.needs_full_evaluation else search.best_loss)
        good = search.is_good(figures)
        search.consider(figures, good)
        return figures, good, search.fails_below(figures, good)

    def _fails_with_finer(self, node: Node) -> bool:
        """Return whether a node fails with all finer ones."""
        search = self._search
        levels = np.asarray(node, np.int64)
        if search.fails(levels):
            return True
        if self._sizes is not None:
            self._exact.seen += 1
            if self._sizes.small(levels) > search.limit:
                return True
            self._exact.seen -= 1
            if self._by_sizes:
                return False
        return self._look(node)[2]

    def tighten(self) -> bool:
        """Improve the lower bound by one step.

        Returns False where that is impossible: the optimum is proven, or the memory for boxes is full.
        """
        search = self._search
        boxes = search.boxes
        status = tighten(
            boxes, *search.failed, search.parts, search.aggregation, search.best_loss, SPLITS_PER_TIME_CHECK
        )
        if status in (DONE, FULL):
            return False
        if status != LOOK:
            return True
        node = tuple(int(level) for level in boxes.low[boxes.heap[0]])
        if self._fails_with_finer(node):
            search.remember(np.asarray(self._raise(node), np.int64))
            return True
        figures, _, below = self._look(node)
        if below:
            search.remember(np.asarray(node, np.int64))
            return True
        if boxes.size[0] + len(node) >= len(boxes.heap):
            return False
        split_first(boxes, np.asarray(node), figures.floor, search.parts, search.aggregation, search.best_loss)
        return True

    def _raise(self, node: Node) -> Node:
        """Raise a failing node as high as it still fails.

        Many columns go to their top at once; where the result does not fail, half of them are tried.
        """
        search = self._search

        def raised(node: Node, columns: list[int]) -> Node:
            if not columns or search.over():
                return node
            trial = tuple(search.highest[a] if a in columns else level for a, level in enumerate(node))
            if self._fails_with_finer(trial):
                return trial
            if len(columns) == 1:
                return node
            half = len(columns) // 2
            return raised(raised(node, columns[:half]), columns[half:])

        # columns that save little by a low level rise first
        gain = [search.parts[a, search.highest[a]] - search.parts[a, level] for a, level in enumerate(node)]
        return raised(node, sorted((a for a in range(len(node)) if node[a] < search.highest[a]), key=gain.__getitem__))
