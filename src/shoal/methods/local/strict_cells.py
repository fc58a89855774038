"""Levels and hidden cells for scenarios, where a hidden cell is a label.

A crowd is the rows with equal labels in the columns that are known, hidden cells included. Hiding a cell moves a row
from a crowd to another one: it can break the crowd that is left, and helps the one that is joined. So nothing is
concluded from a cell that was hidden. In rounds, all sets of columns are counted; every row in failing crowds hides one
cell, the one that is in most of its failing crowds relative to its cost. Where a failing crowd has nothing left to
hide, the cheapest other crowd of the set hides all its cells in the known columns, and joins it. Each round hides at
least one cell, so the search ends; crowds of a table that hides everything are those of the sensitive columns that are
known, which are examined first. If the time is over before, whole columns are hidden.

Afterwards hidden cells are shown again, label by label, as far as all crowds of the sets with that column go on
holding: many were hidden for crowds that have grown since. The rows that a label gives back are those that no crowd
refuses; if a crowd that they leave would fail, none is given back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from shoal.errors import InfeasibleError
from shoal.methods.base import Problem, Quality, require_feasible
from shoal.methods.local.cell_levels import (
    Bools,
    CellsAtLevels,
    CellTable,
    Columns,
    Hiding,
    LevelChooser,
    Sets,
    SetsOfColumns,
    distinct_combinations,
    recode_cells,
)
from shoal.methods.time_limits import deadline_of, finished_in_time, is_late
from shoal.models import AllOf
from shoal.models.base import Assessment
from shoal.models.views import set_models
from shoal.schema import TOP
from shoal.table import ByCell, Groups
from shoal.table.column_subsets import SubsetCounter, owners_of

ROUNDS = 8
"""How often the sets are counted at some levels, as far as choosing levels reckons."""
SHOWING_WORK = 1_000_000_000
"""Entries times sets of columns that may be counted for showing cells again: some seconds."""
SHOWING_PASSES = 3
"""How often all hidden cells are tried again: a label that is shown can make room for another."""

Ask = Callable[[Groups], Assessment | None]


@dataclass(frozen=True)
class CrowdDemands(SetsOfColumns):
    """Required members of the crowds of each set, and further models.

    Positions are those of the quasi-identifiers, then of the sensitive columns.
    """

    members: Mapping[Columns, int]
    models: Mapping[Columns, tuple[Ask, ...]] = field(repr=False)

    @cached_property
    @override
    def sets(self) -> list[Columns]:
        return sorted(self.members, key=lambda known: (len(known), known))

    @property
    @override
    def decided_by_size(self) -> bool:
        return not self.models


def crowd_demands(model: AllOf, names: Sequence[str], sensitive: Sequence[str]) -> CrowdDemands:
    """Return what the models of scenarios demand of each set."""
    columns = (*names, *sensitive)
    members: dict[Columns, int] = {}
    models: dict[Columns, tuple[Ask, ...]] = {}
    for part in set_models(model):
        for known in part.positions(columns, names):
            members[known] = max(members.get(known, 1), part.least)
            if not part.by_size:
                ask = partial(part.assess_known, known=tuple(columns[j] for j in known))
                models[known] = (*models.get(known, ()), ask)
    return CrowdDemands(members, models)


def hide_cells_strictly(
    problem: Problem,
    lowest: Sequence[int],
    highest: Sequence[int],
    importance: Mapping[str, float],
    time_limit: float | None,
    quality: Quality | None = None,
) -> ByCell:
    """Return the recoding of least loss among the levels that were tried."""
    require_feasible(problem)
    sensitive = tuple(part.written.name for part in problem.frequencies.spellings)
    demands = crowd_demands(problem.model, problem.names, sensitive)
    table = distinct_combinations(problem, importance)
    _require_feasible_when_hidden(problem, table, demands)
    deadline = deadline_of(time_limit)
    make = partial(StrictHiding, table, demands)
    chooser = LevelChooser(problem, table, demands, make, lowest, highest, time_limit, quality or "good", ROUNDS)
    levels = chooser.run()
    problem.progress("hiding cells", None)
    hiding = chooser.begun() or make(levels)
    hiding.run(demands.sets, deadline)
    return recode_cells(problem, table, levels, hiding.hidden, finished_in_time(deadline))


def _require_feasible_when_hidden(problem: Problem, table: CellTable, demands: CrowdDemands) -> None:
    """Raise where crowds of known sensitive columns alone fail a demand."""
    columns = len(problem.names)
    if all(j < columns for known in demands.sets for j in known):
        return
    hidden = StrictHiding(table, demands, [0] * columns)
    for j in range(columns):
        hidden.hide(j, np.arange(len(table.count)))
    for known in demands.sets:
        if known[-1:] >= (columns,) and len(hidden.failing(known)):
            column = problem.frequencies.spellings[known[-1] - columns].written.name
            raise InfeasibleError("scenarios.sensitive-too-rare", column=column)


class StrictHiding(CellsAtLevels):
    """The cells of a table at some levels, where a hidden cell is a label."""

    def __init__(self, table: CellTable, demands: CrowdDemands, levels: Sequence[int]) -> None:
        super().__init__(table, levels)
        self.demands = demands
        for j, (ladder, level) in enumerate(zip(table.ladders, levels, strict=True)):
            for code, label in enumerate(ladder.labels[level]):
                if label == TOP and len(ladder.labels[level]) > 1:  # the label of a hidden cell
                    self.lifted[self.lifted[:, j] == code, j] = self.sizes[j]
        self._columns = [np.ascontiguousarray(self.lifted[:, j], np.int64) for j in range(self.lifted.shape[1])]
        entries, unit = table.entries, table.unit
        labels = np.column_stack([self.lifted[unit], *(part.codes for part in entries.spellings)])
        sizes = [*self.sizes, *(part.written.size for part in entries.spellings)]
        self._counter = SubsetCounter(labels, sizes, entries.count, owners_of(entries))
        self._hidden_cells = np.zeros(len(sizes), np.int64)
        self._holds_at: dict[Columns, int] = {}
        self._sizes_only = False
        self._counted = 0

    @property
    @override
    def columns(self) -> Sequence[npt.NDArray[np.int64]]:
        return self._columns

    def begin(
        self, sets: Sets, deadline: float | None, give_up: Callable[[Hiding, float], bool], *, sizes_only: bool = False
    ) -> bool:
        """Hide cells until every set holds; see :class:`Hiding`."""
        self._sizes_only = sizes_only
        while self._round(sets):
            if is_late(deadline) or give_up(self, 0.0):
                return False
        return True

    def run(self, sets: Sets, deadline: float | None = None) -> None:
        """Hide cells until every set holds, and show those again that may be.

        If the deadline passes first, whole columns are hidden.
        """
        self._sizes_only = False
        self._holds_at.clear()
        while self._round(sets):
            if is_late(deadline):
                return self._hide_columns(sets)
        self._counted = 0
        for _ in range(SHOWING_PASSES):
            self._show_again(sets, deadline)
        return None

    def hide(self, j: int, units: npt.NDArray[np.int64]) -> None:
        """Hide the cells of a column in some combinations."""
        self._set(j, units, np.full(len(units), self.sizes[j]))

    def failing(self, known: Columns) -> Bools:
        """Return the combinations with rows in a failing crowd of a set."""
        if self._holds_at.get(known) == self._state(known):
            return np.zeros(0, np.bool_)
        self._counted += len(self._counter.count)
        found = self._counter.combinations(known)
        there = found.size > 0
        bad = there & (found.size < self.demands.members[known])
        questions = () if self._sizes_only else self.demands.models.get(known, ())
        if questions:
            index = np.cumsum(there) - 1
            groups = self.cells.entries.groups_of(index[found.number], int(there.sum()))
            for ask in questions:
                verdict = ask(groups)
                if verdict is not None:
                    bad[there] |= ~verdict.holds
        if not bad.any():
            self._holds_at[known] = self._state(known)
            return np.zeros(0, np.bool_)
        fails = np.zeros(len(self.cells.count), np.bool_)
        fails[self.cells.unit[bad[found.number]]] = True
        return fails

    def _state(self, known: Columns) -> int:
        """Return a number that changes with every change of a set's cells."""
        return int(self._hidden_cells[list(known)].sum())

    def _set(self, j: int, units: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]) -> None:
        if len(units):
            self._columns[j][units] = codes
            self._counter.columns[j] = self._columns[j][self.cells.unit]
            self._hidden_cells[j] += 1

    def _quasi(self, known: Columns) -> list[int]:
        return [j for j in known if j < len(self.sizes)]

    def _round(self, sets: Sets) -> bool:
        """Hide a cell of every combination that fails; return whether one did."""
        failures = np.zeros((len(self.cells.count), len(self.sizes)), np.float32)
        stuck = []
        for known in sets:
            fails = self.failing(known)
            if not len(fails):
                continue
            units = np.flatnonzero(fails)
            nothing_left = np.ones(len(units), np.bool_)
            for j in self._quasi(known):
                visible = self._columns[j][units] != self.sizes[j]
                failures[units[visible], j] += 1
                nothing_left &= ~visible
            if nothing_left.any():
                stuck.append(known)
        chosen = np.flatnonzero(failures.any(axis=1))
        if len(chosen):
            best = (failures[chosen] / self.cost).argmax(axis=1)
            for j in range(len(self.sizes)):
                self.hide(j, chosen[best == j])
            return True
        for known in stuck:
            self._join_cheapest(known)
        return bool(stuck)

    def _join_cheapest(self, known: Columns) -> None:
        """Let the cheapest other crowd of a set join those that hide everything."""
        if not len(self.failing(known)):
            return
        quasi = self._quasi(known)
        visible = np.stack([self._columns[j] != self.sizes[j] for j in quasi], axis=1)
        open_units = visible.any(axis=1)
        number = (
            SubsetCounter(
                np.stack([self._columns[j] for j in quasi], axis=1), [self.sizes[j] for j in quasi], self.cells.count
            )
            .combinations(range(len(quasi)))
            .number
        )
        price = (visible @ self.cost[quasi]) * self.cells.count
        distinct, crowd = np.unique(number[open_units], return_inverse=True)
        total = np.bincount(crowd, price[open_units], len(distinct))
        cheapest = np.flatnonzero(open_units)[crowd == total.argmin()]
        for j in quasi:
            self.hide(j, cheapest[self._columns[j][cheapest] != self.sizes[j]])

    def _hide_columns(self, sets: Sets) -> None:
        """Hide whole columns until every set holds: most frequent ones first."""
        while failing := [known for known in sets if len(self.failing(known))]:
            frequency = np.zeros(len(self.sizes), np.int64)
            for known in failing:
                for j in self._quasi(known):
                    frequency[j] += bool((self._columns[j] != self.sizes[j]).any())
            self.hide(int(frequency.argmax()), np.arange(len(self.cells.count)))

    def _show_again(self, sets: Sets, deadline: float | None) -> None:
        """Show hidden cells again, label by label, where all crowds go on holding."""
        by_column = [[known for known in sets if j in known] for j in range(len(self.sizes))]
        for j in np.argsort(-self.cost, kind="stable").tolist():
            hidden = np.flatnonzero((self._columns[j] == self.sizes[j]) & (self.lifted[:, j] != self.sizes[j]))
            labels, label = np.unique(self.lifted[hidden, j], return_inverse=True)
            order = np.argsort(-np.bincount(label, self.cells.count[hidden], len(labels)), kind="stable")
            for one in order.tolist():
                if is_late(deadline) or self._counted > SHOWING_WORK:
                    return
                self._show(j, hidden[label == one], by_column[j])

    def _show(self, j: int, units: npt.NDArray[np.int64], sets: Iterable[Columns]) -> None:
        """Show a column in those of some combinations that no crowd refuses."""
        sets = list(sets)
        while len(units):
            self._set(j, units, self.lifted[units, j].astype(np.int64))
            refused = np.zeros(len(self.cells.count), np.bool_)
            fails = False
            for known in sets:
                failing = self.failing(known)
                if len(failing):
                    fails = True
                    refused |= failing
            if not fails:
                return
            self.hide(j, units)
            self._holds_at |= {known: self._state(known) for known in sets}
            left = units[~refused[units]]
            if len(left) == len(units):  # a crowd that they leave needs them
                return
            units = left
