"""Levels of columns with hidden cells: what a choice of levels loses.

A table shows each column at one level, and hides single cells. How cells are hidden depends on what a hidden cell means
to an intruder; the levels are chosen here, by what is lost once the cells are hidden: first all columns at the same
level, then each at the one where it lost least, then columns one step up or down, as long as the loss falls and a fixed
amount of work is not used up. Of sets larger than pairs only a sample is tried. If that is not all of them, the levels
found are then compared with coarser ones by all sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal.formatting import fixed
from shoal.methods.base import Problem, Quality
from shoal.methods.time_limits import deadline_of, is_late
from shoal.schema import TOP, Ladder
from shoal.table import ByCell, FrequencySet, MethodFacts, recode_codes
from shoal.table.groups import group_keys, sum_by
from shoal.table.method_facts import LevelFacts

WORK = 150_000_000
"""Entries times sets of columns that may be counted for trying levels: some seconds to half a minute."""
MAX_TRIES, MIN_TRIES = 16, 5
TRIES = {"fast": (0, 1), "good": (1, 1), "best": (10, 4)}
"""By quality: the multiple of that work, and the multiple of the maximum number of tries."""
MAX_LARGER_SETS = 2000
"""Maximum number of sets of more than two columns that are tried when levels are chosen, spread evenly over all."""
MAX_TRIES_WITH_ALL_SETS = 4
"""Maximum number of levels that are tried with all sets, besides the finest and the coarsest."""
TIME_SHARE_FOR_LEVELS = 1 / 3
"""The share of the time in which levels are chosen."""
INITIAL_SHARE_OF_COLUMNS = 0.25
"""The share of the columns that are moved at once at first."""

Bools = npt.NDArray[np.bool_]
Columns = tuple[int, ...]
Sets = Sequence[Columns]


class SetsOfColumns:
    """Sets of columns that are known, from small to large."""

    @property
    def sets(self) -> list[Columns]:
        """All sets, in lexicographic order within a size."""
        raise NotImplementedError

    @property
    def decided_by_size(self) -> bool:
        """Return whether the number of rows, or people, decides on all of them."""
        raise NotImplementedError

    @cached_property
    def tried(self) -> list[Columns]:
        """Return the sets by which levels are chosen."""
        pairs = [chosen for chosen in self.sets if len(chosen) <= 2]
        larger = self.sets[len(pairs) :]
        return [*pairs, *larger[:: -(-len(larger) // MAX_LARGER_SETS)]] if larger else pairs


@dataclass(frozen=True)
class CellTable:
    """Distinct combinations of quasi-identifiers.

    Rows with equal quasi-identifiers show the same: nothing that is hidden depends on a single row's sensitive value.
    """

    entries: FrequencySet
    unit: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]
    ladders: tuple[Ladder, ...]
    weight: npt.NDArray[np.float64]


def distinct_combinations(problem: Problem, importance: Mapping[str, float]) -> CellTable:
    """Return the distinct combinations of a problem's quasi-identifiers."""
    frequencies = problem.frequencies
    unit, units = group_keys(frequencies.codes, [dictionary.size for dictionary in frequencies.quasi])
    first = np.zeros(units, np.int64)
    first[unit[::-1]] = np.arange(len(unit))[::-1]
    weight = np.asarray([float(importance.get(name, 1.0)) for name in problem.names])
    count = np.asarray(sum_by(unit, frequencies.count, units))
    return CellTable(frequencies, unit, frequencies.codes[first], count, problem.ladders, weight)


class CellsAtLevels:
    """The cells of a table at some levels, some of them hidden.

    The code of a hidden cell is the last of its column, ``sizes[j]``.
    """

    def __init__(self, table: CellTable, levels: Sequence[int]) -> None:
        self.cells, self.levels = table, levels
        lifted, sizes = recode_codes(table.codes, table.ladders, levels)
        for j, (ladder, level) in enumerate(zip(table.ladders, levels, strict=True)):
            if ladder.labels[level] == (TOP,):  # a column that shows nothing is hidden from the start
                lifted[:, j], sizes[j] = 1, 1
        self.lifted, self.sizes = lifted, sizes
        # the loss of hiding one cell of a column, weighted by its importance
        share = [
            ladder.share[level][ladder.codes[level][table.codes[:, j]]].mean()
            for j, (ladder, level) in enumerate(zip(table.ladders, levels, strict=True))
        ]
        self.share = np.asarray(share)
        self.cost = table.weight * np.maximum(1.0 - self.share, 1e-3)
        self.totals = [
            histogram.total for histogram in table.entries.groups_of(np.zeros(len(table.unit), np.int64), 1).histograms
        ]

    @property
    def columns(self) -> Sequence[npt.NDArray[np.int64]]:
        """The codes of the cells as they are shown, by column."""
        raise NotImplementedError

    @property
    def hidden(self) -> Bools:
        """Return which cells are hidden, bool (n, columns)."""
        return np.stack([column == size for column, size in zip(self.columns, self.sizes, strict=True)], axis=1)

    def column_losses(self) -> npt.NDArray[np.float64]:
        """Return the share of its detail that each column loses."""
        table = self.cells
        lost = np.zeros(len(self.sizes))
        for j, (ladder, level) in enumerate(zip(table.ladders, self.levels, strict=True)):
            leaf = float(ladder.share[0].min())
            share = ladder.share[level][ladder.codes[level][table.codes[:, j]]]
            share = np.where(self.columns[j] == self.sizes[j], 1.0, share)
            covered = float((share * table.count).sum() / table.count.sum())
            lost[j] = max((covered - leaf) / (1 - leaf), 0.0) if leaf < 1 else 0.0
        return lost


class Hiding(Protocol):
    """A way to hide cells at some levels, as the choice of levels uses it."""

    levels: Sequence[int]
    share: npt.NDArray[np.float64]

    def begin(
        self, sets: Sets, deadline: float | None, give_up: Callable[[Hiding, float], bool], *, sizes_only: bool = False
    ) -> bool:
        """Process the sets once, which shows what the levels cost.

        After that most groups are large enough. Returns whether it ended before the deadline and was not abandoned.
        ``give_up`` is called with a lower bound of the share of cells that still must be hidden.
        """

    def run(self, sets: Sets, deadline: float | None = None) -> None:
        """Hide cells until every set holds."""

    def column_losses(self) -> npt.NDArray[np.float64]:
        """Return the share of its detail that each column loses."""

    @property
    def hidden(self) -> Bools:
        """Return which cells are hidden, bool (n, columns)."""


@dataclass(frozen=True, kw_only=True)
class HiddenCellsFacts(MethodFacts):
    """The number of cells hidden above the chosen levels."""

    at: LevelFacts
    hidden_cells: int
    hidden_part: float
    hidden_cells_by_column: Mapping[str, int]
    finished: bool | None


class LevelChooser:
    """Search for the levels of least loss.

    ``rounds`` says how often a trial counts the sets.
    """

    def __init__(
        self,
        problem: Problem,
        table: CellTable,
        demands: SetsOfColumns,
        make: Callable[[Sequence[int]], Hiding],
        lowest: Sequence[int],
        highest: Sequence[int],
        time_limit: float | None,
        quality: Quality,
        rounds: int = 1,
    ) -> None:
        self.problem, self.table, self.demands, self.make = problem, table, demands, make
        self.lowest, self.highest = np.asarray(lowest), np.asarray(highest)
        work = len(table.count) * len(demands.tried) * rounds
        work_factor, tries_factor = TRIES[quality]
        self.left = min(max(work_factor * WORK // max(work, 1), MIN_TRIES), tries_factor * MAX_TRIES)
        self.end = deadline_of(None if time_limit is None else time_limit * TIME_SHARE_FOR_LEVELS)
        self.sets = demands.tried
        self.coarsest = np.where(self.highest > self.lowest, self.highest - 1, self.highest)
        self.best: tuple[float, tuple[int, ...]] | None = None
        self.columns = np.zeros(len(lowest))
        self.hiding: Hiding | None = None
        """The cells hidden at the best levels."""

    def run(self) -> tuple[int, ...]:
        """Return the levels of least loss among those that were tried."""
        top = int(self.highest.max())
        if (self.lowest == self.highest).all():
            return tuple(self.lowest.tolist())
        tried: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = []
        for level in range(max(top, 1)):
            at = np.clip(np.full(len(self.lowest), level), self.lowest, self.highest)
            # a column with fewer levels than others is not hidden completely
            at = np.minimum(at, self.coarsest)
            if self._over() or (tried and (at == tried[-1][0]).all()):
                break
            tried.append((at, self._try(at)))
        own = np.stack([losses for _, losses in tried])
        self._try(np.stack([at for at, _ in tried])[own.argmin(axis=0), np.arange(own.shape[1])])
        self._step()
        assert self.best is not None
        if len(self.sets) < len(self.demands.sets):
            self._judge_by_all()
        return self.best[1]

    def begun(self) -> Hiding | None:
        """Return the hiding at the best levels, if it can be continued."""
        begun = self.hiding
        if begun is None or begun.levels != (self.best or (0.0, ()))[1] or self.sets is not self.demands.sets:
            return None
        return begun if self.demands.decided_by_size else None

    def _judge_by_all(self) -> None:
        """Compare levels by all sets instead of a sample.

        A sample underestimates the loss, of fine levels most, so that coarser ones may be better by all sets.
        """
        assert self.best is not None
        fine = np.asarray(self.best[1])
        self.sets, self.best = self.demands.sets, None
        self.left = 2 + min(WORK // (len(self.table.count) * len(self.sets)), MAX_TRIES_WITH_ALL_SETS)
        for at in (np.maximum(self.coarsest, fine), fine):
            self._try(at)
        self._step()

    def _over(self) -> bool:
        return self.best is not None and (self.left <= 0 or is_late(self.end))

    def _try(self, at: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the loss of each column at some levels; infinite if unknown."""
        self.left -= 1
        levels = tuple(int(level) for level in at)
        hiding = self.make(levels)
        if not hiding.begin(self.sets, self.end, self._is_worse, sizes_only=True):
            self.best = self.best or (np.inf, tuple(self.coarsest.tolist()))
            return np.full(len(at), np.inf)
        columns = hiding.column_losses()
        loss = self._loss(columns)
        if self.best is None or (loss, levels) < self.best:
            self.best, self.columns, self.hiding = (loss, levels), columns, hiding
        self.problem.progress(f"choosing levels, least loss {fixed(np.expm1(self.best[0]), 4)}", None)
        return columns

    def _loss(self, columns: npt.NDArray[np.float64]) -> float:
        return float((self.table.weight * np.log1p(columns)).sum() / self.table.weight.sum())

    def _is_worse(self, hiding: Hiding, share: float) -> bool:
        """Return whether hiding another share of cells exceeds the best loss.

        It is False unless all sets are used.
        """
        if self.best is None or self.sets is self.demands.tried:
            return False
        return self._loss(hiding.column_losses() + share * (1 - hiding.share)) > self.best[0]

    def _step(self) -> None:
        """Move the columns that lose most by one level.

        Many columns move at once at first, then fewer, then one by one.
        """
        assert self.best is not None
        step_size = max(1, int(len(self.lowest) * INITIAL_SHARE_OF_COLUMNS))
        seen = {self.best[1]}
        while not self._over():
            before = self.best[0]
            order = np.argsort(-self.columns, kind="stable")
            for start in range(0, len(order), step_size):
                for move in (1, -1):
                    at = np.asarray(self.best[1])
                    chosen = order[start : start + step_size]
                    at[chosen] = np.clip(at[chosen] + move, self.lowest[chosen], self.highest[chosen])
                    if tuple(at.tolist()) in seen or self._over():
                        continue
                    seen.add(tuple(at.tolist()))
                    self._try(at)
            if self.best[0] == before:
                if step_size == 1:
                    return
                step_size = max(1, step_size // 2)


def recode_cells(
    problem: Problem, table: CellTable, levels: tuple[int, ...], hidden: Bools, finished: bool | None
) -> ByCell:
    """Return the groups of the published cells.

    Labels are computed from the published values only, independently of what is hidden.
    """
    frequencies = problem.frequencies
    ladders = []
    for j, ladder in enumerate(problem.ladders):
        present = np.zeros(len(ladder.codes[0]), np.bool_)
        present[table.codes[~hidden[:, j], j]] = True
        ladders.append(ladder.released(present))
    lifted, sizes = recode_codes(table.codes, problem.ladders, levels)
    published = np.where(hidden, np.asarray(sizes, np.int32), lifted)
    group, groups = group_keys(published, [size + 1 for size in sizes])
    first = np.zeros(groups, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    labels, share, height = [], [], []
    for j, (ladder, level) in enumerate(zip(ladders, levels, strict=True)):
        texts = (*ladder.labels[level], TOP)
        codes = published[first, j]
        labels.append(tuple(texts[code] for code in codes))
        share.append(np.r_[ladder.share[level], 1.0][codes])
        height.append(np.where(hidden[first, j], 1.0, level / max(ladder.height, 1)))
    rows = frequencies.count
    cells = [int(rows[hidden[table.unit, j]].sum()) for j in range(len(levels))]
    facts = HiddenCellsFacts(
        at=LevelFacts(levels=dict(zip(problem.names, levels, strict=True))),
        hidden_cells=sum(cells),
        hidden_part=sum(cells) / (frequencies.rows * len(levels)),
        hidden_cells_by_column=dict(zip(problem.names, cells, strict=True)),
        finished=finished,
    )
    entry = np.arange(len(rows), dtype=np.int64)
    return ByCell(
        entry, group[table.unit], rows, tuple(labels), np.stack(height, axis=1), np.stack(share, axis=1), facts,
        levels=levels, ladders=tuple(ladders),
    )  # fmt: skip
