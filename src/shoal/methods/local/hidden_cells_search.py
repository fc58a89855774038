"""Search of levels and hidden cells for partial knowledge.

See :mod:`shoal.methods.local.hidden_cells`. With the levels given, sets of columns are processed in the order of their
size. In the rows of a group that fails, one cell of the set is hidden: the one that is in the largest number of the
row's failing groups relative to its cost, a greedy hitting set. Hiding a cell removes a row from other groups, so sets
are counted again until none fails. Then cells are hidden for people who have too few matching rows, or whose matching
rows do not meet a model: those that exclude the nearest rows from being candidates. That may break groups, which are
repaired as before. Each round hides at least one cell, so the search ends; a table that hides everything meets every
requirement that the whole table meets. If the time is over before that, whole columns are hidden.

Hiding only adds to the rows that match a person, so a set in which everybody has enough is not checked again, nor one
in which everybody's rows meet models that are closed under superset. Other models are asked again whenever a cell of
the set's columns was hidden: a row that is added can make one value too frequent.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from shoal.methods.base import Problem, Quality, require_feasible
from shoal.methods.local.cell_levels import (
    CellsAtLevels,
    CellTable,
    Hiding,
    LevelChooser,
    Sets,
    SetsOfColumns,
    distinct_combinations,
    recode_cells,
)
from shoal.methods.local.person_crowds import ALWAYS, CrowdTrial, find_failing_people
from shoal.methods.time_limits import deadline_of, finished_in_time, is_late
from shoal.models import PartialKnowledge, partial_knowledge_models
from shoal.models.partial_knowledge import MIN_ENTRIES_TO_COMPILE
from shoal.runtime.threads import parallel_map
from shoal.table import ByCell
from shoal.table.cell_suppression import (
    FAILS,
    HIDE,
    LOOK,
    NOTE,
    UNKNOWN,
    SubsetCounts,
    clip_counts,
    make_cell_state,
    make_subset_counts,
    max_table_cells,
)
from shoal.table.column_subsets import Owners, SubsetCounter, owners_of

SETS_PER_TIME_CHECK = 500
"""Number of sets that are processed between two checks of the time."""
MIN_COLUMNS_OF_WIDE_SETS = 4
"""Number of columns from which on the matching rows of a set are counted before those of its subsets."""


@dataclass(frozen=True)
class _Demands(SetsOfColumns):
    """Required rows of each set of columns, and further models.

    ``models`` has the models that depend on more than the number of rows.
    """

    rows: Mapping[tuple[int, ...], int]
    models: Mapping[tuple[int, ...], tuple[PartialKnowledge, ...]]

    @cached_property
    def index(self) -> Mapping[tuple[int, ...], int]:
        """Return the number of each set."""
        return {chosen: number for number, chosen in enumerate(self.rows)}

    @cached_property
    def sets(self) -> list[tuple[int, ...]]:
        """Return all sets, from small to large, in lexicographic order."""
        return list(self.rows)

    @property
    def decided_by_size(self) -> bool:
        return not self.models


def _demands(parts: Sequence[PartialKnowledge], names: Sequence[str]) -> _Demands:
    rows: dict[tuple[int, ...], int] = {}
    models: dict[tuple[int, ...], tuple[PartialKnowledge, ...]] = {}
    for part in parts:
        for chosen in part.sets(names):
            rows[chosen] = max(rows.get(chosen, 1), part.least)
            if not part.by_size:
                models[chosen] = (*models.get(chosen, ()), part)
    order = sorted(rows, key=lambda chosen: (len(chosen), chosen))
    return _Demands({chosen: rows[chosen] for chosen in order}, models)


@dataclass(frozen=True)
class _Table(CellTable):
    """Distinct combinations of quasi-identifiers, with what is demanded."""

    demands: _Demands
    owners: Owners | None


def hide_cells(
    problem: Problem,
    lowest: Sequence[int],
    highest: Sequence[int],
    importance: Mapping[str, float],
    time_limit: float | None,
    quality: Quality | None = None,
) -> ByCell:
    """Return the recoding of least loss among the levels that were tried."""
    require_feasible(problem)
    frequencies = problem.frequencies
    cells = distinct_combinations(problem, importance)
    demands = _demands(partial_knowledge_models(problem.model), problem.names)
    owners = owners_of(frequencies)
    if owners is not None:
        owners = Owners(cells.unit, owners.person, owners.count)
    table = _Table(**vars(cells), demands=demands, owners=owners)
    deadline = deadline_of(time_limit)
    make = partial(_Hiding, table)
    chooser = LevelChooser(problem, table, demands, make, lowest, highest, time_limit, quality or "good")
    levels = chooser.run()
    problem.progress("hiding cells", None)
    hiding = chooser.begun() or make(levels)
    hiding.run(demands.sets, deadline)
    return recode_cells(problem, table, levels, hiding.hidden, finished_in_time(deadline))


# -- cells -------------------------------------------------------------------------------------------


class _Hiding(CellsAtLevels):
    """The cells of a table at some levels, some of them hidden."""

    def __init__(self, table: _Table, levels: Sequence[int]) -> None:
        super().__init__(table, levels)
        self.table = table
        lifted, sizes = self.lifted, self.sizes
        self.published = SubsetCounter(
            lifted, sizes, table.count, table.owners
        )  # its columns change as cells are hidden
        self.known = SubsetCounter(lifted, sizes, table.count)
        self._clipped = clip_counts(table.count, max(table.demands.rows.values()))
        self._cells = make_cell_state(np.stack(self.published.columns))
        self._settled_at = np.full(len(table.demands.rows), -1, np.int64)
        self._crowds_settled_at: dict[tuple[int, ...], int] = {}
        self._tables: SubsetCounts | None = None
        self._deadline: float | None = None
        self._is_over: Callable[[], bool] = bool
        self._begun = False
        self._failures = np.zeros((len(table.count), len(sizes)), np.float32)
        self._sizes_only = False
        self._sufficient: set[tuple[int, ...]] = set()

    @property
    @override
    def columns(self) -> Sequence[npt.NDArray[np.int64]]:
        return self.published.columns

    def run(self, sets: Sets, deadline: float | None = None) -> None:
        """Hide cells until every set holds and everybody has enough rows.

        The sets are ordered from small to large. If the deadline passes first, whole columns are hidden.
        """
        if not self._begun:
            self.begin(sets, deadline, lambda *_: False)
        self._sizes_only, self._deadline, self._is_over = False, deadline, lambda: is_late(deadline)
        while not is_late(deadline):
            while self._hide_rare(sets, HIDE) and not is_late(deadline):
                pass
            changed = [self._add_candidates(chosen) for chosen in self._open(sets) if not is_late(deadline)]
            if not any(changed):
                changed = [self._mix_candidates(chosen) for chosen in sets if not is_late(deadline)]
            if not any(changed) and not is_late(deadline):
                return
        self._hide_columns(sets)

    def begin(
        self,
        sets: Sets,
        deadline: float | None,
        give_up: Callable[[Hiding, float], bool],
        *,
        sizes_only: bool = False,
    ) -> bool:
        """Process the sets once, which shows what the levels cost.

        After that most groups are large enough. Returns whether it ended before the deadline and was not abandoned.
        ``give_up`` is called with a lower bound of the share of cells that still must be hidden.
        """
        self._sizes_only, self._deadline = sizes_only, deadline
        self._is_over = lambda: is_late(deadline) or give_up(self, 0.0)
        wanted = {chosen: self.table.demands.index[chosen] for chosen in sets} if self._by_sizes else {}
        self._tables = make_subset_counts(self.sizes, wanted, self._settled_at, max_table_cells(len(self.table.count)))
        for _, same_size in itertools.groupby(sets, len):
            self._failures[:] = 0
            failed = self._hide_rare(list(same_size), NOTE)
            if self._is_over() or give_up(self, self._needed(failed)):
                return False
            self._hide_rare(failed, HIDE)
        self._begun = not self._is_over()
        return self._begun

    def _needed(self, failed: Sets) -> float:
        """Return a lower bound of the share of cells that must be hidden.

        A cell is in no more failing groups of a row than were counted.
        """
        failures, count = self._failures, self.table.count
        largest = failures.max(axis=1, initial=1.0) * (len(failed[0]) if failed else 1)
        return float((np.ceil(failures.sum(axis=1) / largest) * count).sum() / (count.sum() * failures.shape[1]))

    def _hide_rare(self, sets: Sets, mode: int) -> list[tuple[int, ...]]:
        """Process the failing groups set by set; return the sets that failed.

        By ``mode``, cells are hidden, failing groups are counted per cell, or sets are only checked. If only sizes
        matter and there are many sets, compiled code does the same.
        """
        ask = {HIDE: self._hide, NOTE: self._count, LOOK: lambda chosen: len(self._failing(chosen)) > 0}[mode]
        failed = []
        for _, same_size in itertools.groupby(sets, len):
            listed = list(same_size)
            if (
                not self._by_sizes
                or len(listed) * len(self.table.count) < MIN_ENTRIES_TO_COMPILE
                or self._clipped is None
            ):
                timely = (chosen for chosen in listed if mode == LOOK or not is_late(self._deadline))
                failed += [chosen for chosen in timely if ask(chosen)]
                continue
            found = self._hide_compiled(listed, mode)
            failed += [
                chosen for chosen, state in zip(listed, found, strict=True) if state == FAILS or
                (state == UNKNOWN and ask(chosen))
            ]  # fmt: skip
        return failed

    def _hide_compiled(self, sets: list[tuple[int, ...]], mode: int) -> npt.NDArray[np.int8]:
        """Process sets by compiled code.

        See :func:`shoal.kernels.column_subsets.hide_rare`. All cores check the sets; then one core hides the cells.
        """
        from shoal.kernels.column_subsets import hide_rare

        demands, cells, tables = self.table.demands, self._cells, self._tables
        index = np.asarray([demands.index[chosen] for chosen in sets])
        least = np.asarray([demands.rows[chosen] for chosen in sets], np.int64)
        listed, found = np.asarray(sets, np.int64), np.zeros(len(sets), np.int8)
        sizes, capacity = np.asarray(self.sizes, np.int64), max_table_cells(len(self.table.count))
        assert tables is not None

        def ask(part: slice, mode: int) -> None:
            hide_rare(
                cells, sizes, self._clipped, listed[part], index[part], least[part], self._failures, self.cost, mode,
                tables, capacity, found[part],
            )  # fmt: skip

        parts = [slice(start, start + SETS_PER_TIME_CHECK) for start in range(0, len(sets), SETS_PER_TIME_CHECK)]
        parallel_map(lambda part: ask(part, LOOK), parts)
        if mode == LOOK or not (found == FAILS).any():
            return found
        before = cells.length.copy()
        for part in parts:
            if self._is_over():
                break
            ask(part, mode)
        for j in np.flatnonzero(cells.length > before):
            self.published.columns[j][:] = cells.now[j]
        return found

    @property
    def _by_sizes(self) -> bool:
        return self.table.owners is None and (self._sizes_only or not self.table.demands.models)

    def _look_at_wide_sets(self, sets: Sets) -> None:
        """Find sets with enough matching rows, from wide ones down.

        Who knows fewer columns has no fewer matching rows, and hidden cells never take one away: a set with enough of
        them has subsets with enough of them. Sets of few columns are counted together, in compiled code.
        """
        wide = {chosen for chosen in sets if len(chosen) >= MIN_COLUMNS_OF_WIDE_SETS} - self._sufficient
        covered: set[tuple[int, ...]] = set()
        for chosen in sorted(wide, key=lambda chosen: (-len(chosen), chosen)):
            if is_late(self._deadline):
                return
            if chosen not in covered and len(self._insufficient(chosen)):
                continue
            self._sufficient.add(chosen)
            least = self.table.demands.rows[chosen]
            for part in itertools.combinations(chosen, len(chosen) - 1):
                if self.table.demands.rows.get(part, least + 1) <= least:
                    covered.add(part)
        self._sufficient |= covered

    def _open(self, sets: Sets) -> list[tuple[int, ...]]:
        """List the sets in which people may have too few matching rows."""
        self._look_at_wide_sets(sets)
        left = []
        for _, same_size in itertools.groupby((chosen for chosen in sets if chosen not in self._sufficient), len):
            listed = list(same_size)
            if self.table.owners is None and len(listed) * len(self.table.count) >= MIN_ENTRIES_TO_COMPILE:
                from shoal.kernels.column_subsets import count_sets_parallel

                fewest = count_sets_parallel(self.published, self.known, listed)[1]
                least = np.asarray([self.table.demands.rows[chosen] for chosen in listed])
                self._sufficient.update(chosen for chosen, bad in zip(listed, fewest < least, strict=True) if not bad)
                listed = [chosen for chosen in listed if chosen not in self._sufficient]
            left += listed
        return left

    def _hide_columns(self, sets: Sets) -> None:
        """Hide whole columns until every set holds.

        A set holds without a column if the smaller set does.
        """
        rare = set(self._hide_rare(sets, LOOK))
        others = self._open([chosen for chosen in sets if chosen not in rare])
        failing = [*rare, *(chosen for chosen in others if len(self._insufficient(chosen)))]
        decided = set(failing)
        failing += [chosen for chosen in sets if chosen not in decided and len(self._badly_mixed(chosen))]
        while failing:
            frequency = np.bincount([j for chosen in failing for j in chosen])
            worst = int(frequency.argmax())
            self._hide_in(worst, np.arange(len(self.table.count)))
            failing = [chosen for chosen in failing if worst not in chosen]

    def _events(self, chosen: tuple[int, ...]) -> int:
        """Count the hidden cells of a set's columns."""
        return int(self._cells.length[list(chosen)].sum())

    def _is_settled(self, chosen: tuple[int, ...]) -> bool:
        """Return whether no cell of a set was hidden since it was found to hold."""
        return bool(self._settled_at[self.table.demands.index[chosen]] == self._events(chosen))

    def _hide_in(self, j: int, entries: npt.NDArray[np.int64]) -> None:
        column, cells, before = self.published.columns[j], self._cells, int(self._cells.length[j])
        fresh = entries[column[entries] != self.sizes[j]]
        after = before + len(fresh)
        column[fresh] = cells.now[j, fresh] = self.sizes[j]
        cells.row[j, before:after], cells.when[j, fresh] = fresh, np.arange(before, after)
        cells.length[j] = after

    def _failing(self, chosen: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Return the entries in failing groups of a set of columns."""
        if self._is_settled(chosen):
            return np.zeros(0, np.int64)
        found = self.published.combinations(chosen)
        there = found.visible & (found.size > 0)
        bad = there & (found.size < self.table.demands.rows[chosen])
        parts = () if self._sizes_only else self.table.demands.models.get(chosen, ())
        if parts:
            index = np.where(there, np.cumsum(there) - 1, -1)
            entries = self.table.entries
            groups = entries.groups_of(index[found.number][self.table.unit], int(there.sum())).within(self.totals)
            for part in parts:
                bad[there] |= ~part.of.assess(groups).holds
        if bad.any():
            return np.flatnonzero(bad[found.number])
        self._settled_at[self.table.demands.index[chosen]] = self._events(chosen)
        return np.zeros(0, np.int64)

    def _count(self, chosen: tuple[int, ...]) -> bool:
        """Count for every cell the failing groups that contain it."""
        failing = self._failing(chosen)
        for j in chosen:
            self._failures[failing, j] += 1
        return bool(len(failing))

    def _hide(self, chosen: tuple[int, ...]) -> bool:
        failing = self._failing(chosen)
        if not len(failing):
            return False
        gain = np.stack([(self._failures[failing, j] + 1) / self.cost[j] for j in chosen], axis=1)
        best = gain.argmax(axis=1)
        for index, j in enumerate(chosen):
            self._hide_in(j, failing[best == index])
            self._failures[failing, j] += 1
        return True

    def _insufficient(self, chosen: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Return the people with too few matching rows."""
        least = self.table.demands.rows[chosen]
        return np.flatnonzero(self.published.count_candidate_rows(self.known, chosen, least) < least)

    def _badly_mixed(self, chosen: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Return a person of each combination with candidates that fail a model."""
        parts = self.table.demands.models.get(chosen, ())
        if not parts or self._crowds_settled_at.get(chosen) in (self._events(chosen), ALWAYS):
            return np.zeros(0, np.int64)
        bad = find_failing_people(self.published, self.known, chosen, parts, self.table.entries, self.table.unit)
        if not len(bad):
            lasting = all(part.closed_under_superset for part in parts)
            self._crowds_settled_at[chosen] = ALWAYS if lasting else self._events(chosen)
        return bad

    def _mix_candidates(self, chosen: tuple[int, ...]) -> bool:
        """Hide cells of near rows until all candidates meet the models.

        The rows are taken in the order of the cells that they lose, whatever their sensitive values are.
        """
        bad = self._badly_mixed(chosen)
        if not len(bad):
            return False
        parts = self.table.demands.models[chosen]
        trial = CrowdTrial(self.table.entries, self.table.unit, parts)
        for person in np.stack([self.known.columns[j][bad] for j in chosen], axis=1):
            matching, differs, order = self._nearest(chosen, person)
            taken = order[: trial.number_needed(matching, order)]
            for index, j in enumerate(chosen):
                self._hide_in(j, taken[differs[taken, index]])
        return True

    def _nearest(
        self, chosen: tuple[int, ...], person: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        """Return which rows match a person, which cells differ, and the nearest.

        These are the rows that do not match, in the order of the cost of hiding what differs.
        """
        found = self.published.combinations(chosen)
        group_size = found.size[found.number]
        differs = np.stack(
            [
                (self.published.columns[j] != value) & (self.published.columns[j] != self.sizes[j])
                for j, value in zip(chosen, person, strict=True)
            ],
            axis=1,
        )
        price = differs @ self.cost[list(chosen)]
        order = np.lexsort((-group_size, price))
        return price == 0, differs, order[price[order] > 0]

    def _add_candidates(self, chosen: tuple[int, ...]) -> bool:
        """Hide cells so that near rows match people with too few matching rows."""
        least = self.table.demands.rows[chosen]
        bad = self._insufficient(chosen)
        if not len(bad):
            self._sufficient.add(chosen)
            return False
        values = np.unique(np.stack([self.known.columns[j][bad] for j in chosen], axis=1), axis=0)
        for person in values:
            matching, differs, order = self._nearest(chosen, person)
            taken = order[: self.published.needed(matching, order, least)]
            for index, j in enumerate(chosen):
                self._hide_in(j, taken[differs[taken, index]])
        return True
