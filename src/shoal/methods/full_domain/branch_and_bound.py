"""The search of a lattice of which not every node can have a bound in memory: a good node early, and a bound of all.

Two workers, each on a core of its own where two threads are allowed. One looks for good nodes: greedy ways down from
the top (:mod:`shoal.methods.full_domain.greedy`), then again and again around the best one, where some columns give
levels back and others take what that makes room for. The other bounds the loss from below: of boxes of nodes that do
not overlap it takes the one whose lowest node loses least, and cuts off what lies below a node that fails with all
finer ones. Such a node is raised as high as it still fails, column by column, before it is used to cut: the higher it
is, the more boxes it cuts. What either learns of failing nodes serves both. When no box can hold less than the
best loss found, that is the optimum.

Most looks fail by the sizes of groups, which are told from keys (:class:`shoal.methods.full_domain.kernels.branch_and_bound.Keys`);
figures of solutions that could be the best are those of :class:`shoal.methods.full_domain.lattice.NodeEvaluator`.
"""

from __future__ import annotations

import contextvars
import math
import threading
import time

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Problem
from shoal.methods.full_domain.greedy import Surroundings, information
from shoal.methods.full_domain.kernels.branch_and_bound import (
    ADDED,
    DONE,
    FULL,
    GEOMETRIC,
    LARGEST,
    LOOK,
    Boxes,
    Keys,
    add_failed,
    bound_of,
    covers,
    kept_sums,
    small_rows,
    split_first,
    tighten,
)
from shoal.methods.full_domain.lattice import Figures, Node, NodeEvaluator
from shoal.methods.full_domain.lattice_search import Search, column_losses
from shoal.runtime.threads import allowed
from shoal.utility.measures import Measure

__all__ = ["LargeSearch"]

MOST_BOXES = 2_000_000  # of about 80 bytes
MOST_FAILED = 20_000
STEPS = 200  # boxes that are split before the clock is looked at


class Sizes:
    """Looks at the sizes of groups, for one thread; ``least`` is the smallest group that is kept.

    Time per look: the combinations, once and for every column that differs from the last node.
    """

    def __init__(self, problem: Problem, measure: Measure, least: int) -> None:
        frequencies = problem.frequencies
        distinct, number = np.unique(frequencies.codes, axis=0, return_inverse=True)
        self._codes = np.ascontiguousarray(distinct.T, np.int32)
        self._count = np.bincount(number.reshape(-1), weights=frequencies.count).astype(np.int64)
        self._least, self._measure = least, measure
        ladders = problem.ladders
        random = np.random.default_rng(0)  # keys must differ, no more: the same ones for every table
        self._at = np.zeros((len(ladders), max(ladder.height for ladder in ladders) + 1), np.int64)
        self._whole = np.zeros(self._at.shape)
        numbers, costs = [], []
        place = 0
        for a, ladder in enumerate(ladders):
            rows = np.bincount(self._codes[a], self._count, len(ladder.codes[0]))
            for level, codes in enumerate(ladder.codes):
                self._at[a, level] = place
                place += len(codes)
                drawn = random.integers(0, 2**64, ladder.size(level), np.uint64)
                numbers.append(drawn[codes])
                cost = measure.cost[a][level][codes] if measure.by_column else np.zeros(len(codes))
                costs.append(cost)
                self._whole[a, level] = (rows * cost).sum()
        self._numbers, self._costs = np.concatenate(numbers), np.concatenate(costs)
        rows_held = self._codes.shape[1]
        room = 1 << max(4, (2 * rows_held - 1).bit_length())
        keys = np.zeros(rows_held, np.uint64)
        for a in range(len(ladders)):
            keys += self._numbers[self._at[a, 0] + self._codes[a]]
        self._memory = Keys(
            np.zeros(len(ladders), np.int64),
            keys,
            np.zeros(rows_held, np.int32),
            np.zeros(room, np.uint64),
            np.zeros(room, np.int64),
        )

    def small(self, node: npt.NDArray[np.int64]) -> int:
        """How many rows are in groups that are too small."""
        return int(small_rows(self._codes, self._count, self._numbers, self._at, node, self._least, self._memory))

    def loss(self, small: int) -> float:
        """The loss of the node that was looked at last, which has so many rows in small groups, if no others fail."""
        sums = np.zeros(len(self._codes))
        kept_sums(self._codes, self._count, self._costs, self._at, self._whole, self._least, self._memory, sums)
        return self._measure.value(sums, small, 1, 0.0)


class LargeSearch(Search):
    """See the module's text. Memory: two sets of keys and groups, and boxes up to ``MOST_BOXES``."""

    def run(self) -> None:
        """See :class:`Search`."""
        first = self.evaluator
        assert isinstance(first, NodeEvaluator)
        problem, measure = first.problem, self.measure
        columns = column_losses(measure, problem, self.limit) if measure.by_column else None
        self.boxes = self._whole_box(columns)
        # what fails with all finer nodes, and how many they are: one pair, for the other thread may be reading
        self.failed = (np.zeros((256, len(self.lowest)), np.int16), 0)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._told = time.monotonic()
        heights = [np.arange(ladder.height + 1) / max(ladder.height, 1) for ladder in problem.ladders]
        around = Surroundings(
            self.lowest,
            self.highest,
            columns or heights,
            information(problem.frequencies, problem.ladders),
            problem.seed,
        )
        # without bounds by column, ties depend on which node is looked at first: then one after the other
        if allowed() < 2 or not measure.by_column:
            self._alternate(_Worker(self, first), around)
            return
        second = NodeEvaluator(problem, measure)
        faults: list[BaseException] = []

        def bound() -> None:
            worker = _Worker(self, second)
            try:
                while not self.over() and worker.tighten():
                    pass
            except BaseException as error:  # raised again by the one who waits
                faults.append(error)
            self._stop.set()

        thread = threading.Thread(target=contextvars.copy_context().run, args=(bound,), daemon=True)
        thread.start()
        try:
            worker = _Worker(self, first)
            for _ in around.explore(worker.try_node, self.over):
                self._tell_sometimes()
            while not self.over():
                self._stop.wait(0.05)
        finally:
            self._stop.set()
            thread.join()
            first.seen += second.seen
        if faults:
            raise faults[0]

    def _alternate(self, worker: _Worker, around: Surroundings) -> None:
        """Both on one thread: whoever has had less time is next."""
        ways = around.explore(worker.try_node, self.over)
        spent = [0.0, 0.0]
        more = True
        while not self.over():
            turn = int(not more or spent[1] < spent[0])
            start = time.monotonic()
            if turn == 0:
                more = next(ways, None) is not None
            elif not worker.tighten():
                return
            spent[turn] += time.monotonic() - start
            self._tell_sometimes()

    def over(self) -> bool:
        """Whether to stop: all is known, or the time is over."""
        return self._stop.is_set() or self.late()

    def _tell_sometimes(self) -> None:
        if time.monotonic() - self._told > 0.2:
            self._told = time.monotonic()
            self.tell(None)

    def remaining_bound(self) -> float:
        """See :class:`Search`."""
        if self.boxes.size[0] == 0:
            return math.inf
        return float(self.boxes.bound[self.boxes.heap[0]])

    def _whole_box(self, columns: list[npt.NDArray[np.float64]] | None) -> Boxes:
        """The lattice as one box; what columns add to its bound is kept beside."""
        attributes = len(self.lowest)
        measure = self.measure
        self.how = {"maximum": LARGEST, "geometric": GEOMETRIC}.get(measure.aggregate, ADDED)
        self.parts = np.zeros((attributes, max(self.highest) + 2))
        for a, losses in enumerate(columns or []):
            # a bound of a level and of all above it
            least = np.minimum.accumulate(losses[::-1])[::-1][: self.parts.shape[1]]
            weight = measure.weight[a]
            if measure.aggregate not in ("sum", "maximum"):
                weight = weight / measure.weight.sum()
            self.parts[a, : len(least)] = weight * (np.log1p(least) if self.how == GEOMETRIC else least)
        room = int(min(MOST_BOXES, 64 + 4 * self.nodes * attributes))
        boxes = Boxes(
            np.zeros((room, attributes), np.int16),
            np.zeros((room, attributes), np.int16),
            np.zeros(room),
            np.arange(room, dtype=np.int32),
            np.ones(1, np.int64),
        )
        boxes.low[0], boxes.high[0] = self.lowest, self.highest
        boxes.bound[0] = bound_of(boxes.low[0], self.parts, self.how)
        return boxes

    def consider(self, figures: Figures, good: bool) -> None:
        """Keep the best; two threads may have one at a time."""
        with self._lock:
            super().consider(figures, good)

    def fails(self, node: npt.NDArray[np.int64]) -> bool:
        """Whether a node is known to fail."""
        return bool(covers(*self.failed, node))

    def remember(self, node: npt.NDArray[np.int64]) -> None:
        """A node that fails with all finer ones."""
        with self._lock:
            failed, known = self.failed
            if known >= MOST_FAILED:
                return
            failed = np.concatenate([failed, np.zeros_like(failed)]) if known == len(failed) else failed.copy()
            self.failed = (failed, add_failed(failed, known, node))


class _Worker:
    """Looks for one thread."""

    def __init__(self, search: LargeSearch, exact: NodeEvaluator) -> None:
        self._search, self._exact = search, exact
        problem, measure = exact.problem, search.measure
        self._sizes = Sizes(problem, measure, exact.least) if exact.least > 1 else None
        self._by_sizes = problem.model.sizes_only and measure.by_column

    def try_node(self, node: Node) -> float | None:
        """What a node loses; None where it is no solution."""
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
        figures = self._exact.look(node, search.limit, math.inf if search.tells_all else search.best_loss)
        good = search.is_good(figures)
        search.consider(figures, good)
        return figures, good, search.fails_below(figures, good)

    def _falls(self, node: Node) -> bool:
        """Whether a node fails with all finer ones."""
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
        """A step towards a better bound; False where there is none, because all is known or there is no room."""
        search = self._search
        boxes = search.boxes
        status = tighten(boxes, *search.failed, search.parts, search.how, search.best_loss, STEPS)
        if status in (DONE, FULL):
            return False
        if status != LOOK:
            return True
        node = tuple(int(level) for level in boxes.low[boxes.heap[0]])
        if self._falls(node):
            search.remember(np.asarray(self._raise(node), np.int64))
            return True
        figures, _, below = self._look(node)
        if below:
            search.remember(np.asarray(node, np.int64))
            return True
        if boxes.size[0] + len(node) >= len(boxes.heap):
            return False
        split_first(boxes, np.asarray(node), figures.floor, search.parts, search.how, search.best_loss)
        return True

    def _raise(self, node: Node) -> Node:
        """As high as the node still fails: many columns to their top at once, where that is too much half of them."""
        search = self._search

        def raised(node: Node, columns: list[int]) -> Node:
            if not columns or search.over():
                return node
            trial = tuple(search.highest[a] if a in columns else level for a, level in enumerate(node))
            if self._falls(trial):
                return trial
            if len(columns) == 1:
                return node
            half = len(columns) // 2
            return raised(raised(node, columns[:half]), columns[half:])

        # what a column saves by being low decides how long it is kept so: the cheap ones rise first
        gain = [search.parts[a, search.highest[a]] - search.parts[a, level] for a, level in enumerate(node)]
        return raised(node, sorted((a for a in range(len(node)) if node[a] < search.highest[a]), key=gain.__getitem__))
