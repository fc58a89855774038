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

Levels: first all columns at the same level, then each at the one where it lost least, then columns one step up or down,
as long as the loss falls and a fixed amount of work is not used up. Of sets larger than pairs only a sample is tried.
If that is not all of them, the levels found are then compared with coarser ones by all sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.formatting import fixed
from shoal.methods.base import Problem, Quality, require_feasible
from shoal.methods.local.person_crowds import ALWAYS, CrowdTrial, find_failing_people
from shoal.methods.time_limits import deadline_of, finished_in_time, is_late
from shoal.models import PartialKnowledge, partial_knowledge_models
from shoal.models.partial_knowledge import MIN_ENTRIES_TO_COMPILE
from shoal.runtime.threads import parallel_map
from shoal.schema import TOP, Ladder
from shoal.table import ByCell, FrequencySet, MethodFacts, recode_codes
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
from shoal.table.groups import group_keys, sum_by
from shoal.table.method_facts import LevelFacts

WORK = 150_000_000
"""Entries times sets of columns that may be counted for trying levels: some seconds to half a minute."""
MAX_TRIES, MIN_TRIES = 16, 5
TRIES = {"fast": (0, 1), "good": (1, 1), "best": (10, 4)}
"""By quality: the multiple of that work, and the multiple of the maximum number of tries."""
MAX_LARGER_SETS = 2000
"""Maximum number of sets of more than two columns that are tried when levels are chosen, spread evenly over all."""
SETS_PER_TIME_CHECK = 500
"""Number of sets that are processed between two checks of the time."""
MAX_TRIES_WITH_ALL_SETS = 4
"""Maximum number of levels that are tried with all sets, besides the finest and the coarsest."""
TIME_SHARE_FOR_LEVELS = 1 / 3
"""The share of the time in which levels are chosen."""
INITIAL_SHARE_OF_COLUMNS = 0.25
"""The share of the columns that are moved at once at first."""

Bools = npt.NDArray[np.bool_]
Sets = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class _Demands:
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

    @cached_property
    def tried(self) -> list[tuple[int, ...]]:
        """Return the sets by which levels are chosen."""
        pairs = [chosen for chosen in self.sets if len(chosen) <= 2]
        larger = self.sets[len(pairs) :]
        return [*pairs, *larger[:: -(-len(larger) // MAX_LARGER_SETS)]] if larger else pairs


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
class _Table:
    """Distinct combinations of quasi-identifiers.

    Nothing that is hidden depends on a sensitive value.
    """

    entries: FrequencySet
    unit: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]
    ladders: tuple[Ladder, ...]
    weight: npt.NDArray[np.float64]
    demands: _Demands
    owners: Owners | None


@dataclass(frozen=True, kw_only=True)
class HiddenCellsFacts(MethodFacts):
    """The number of cells hidden above the chosen levels."""

    at: LevelFacts
    hidden_cells: int
    hidden_part: float
    hidden_cells_by_column: Mapping[str, int]
    finished: bool | None


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
    unit, units = group_keys(frequencies.codes, [dictionary.size for dictionary in frequencies.quasi])
    first = np.zeros(units, np.int64)
    first[unit[::-1]] = np.arange(len(unit))[::-1]
    weight = np.asarray([float(importance.get(name, 1.0)) for name in problem.names])
    demands = _demands(partial_knowledge_models(problem.model), problem.names)
    count = np.asarray(sum_by(unit, frequencies.count, units))
    owners = owners_of(frequencies)
    if owners is not None:
        owners = Owners(unit, owners.person, owners.count)
    table = _Table(frequencies, unit, frequencies.codes[first], count, problem.ladders, weight, demands, owners)
    deadline = deadline_of(time_limit)
    chooser = _Chooser(problem, table, lowest, highest, time_limit, quality or "good")
    levels = chooser.run()
    problem.progress("hiding cells", None)
    hiding = chooser.begun() or _Hiding(table, levels)
    hiding.run(demands.sets, deadline)
    return _recoding(problem, table, levels, hiding.hidden, finished_in_time(deadline))


# -- cells -------------------------------------------------------------------------------------------


class _Hiding:
    """The cells of a table at some levels, some of them hidden."""

    def __init__(self, table: _Table, levels: Sequence[int]) -> None:
        self.table, self.levels = table, levels
        lifted, sizes = recode_codes(table.codes, table.ladders, levels)
        for j, (ladder, level) in enumerate(zip(table.ladders, levels, strict=True)):
            if ladder.labels[level] == (TOP,):  # a column that shows nothing is hidden from the start
                lifted[:, j], sizes[j] = 1, 1
        self.sizes = sizes
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
    def hidden(self) -> Bools:
        columns = zip(self.published.columns, self.sizes, strict=True)
        return np.stack([column == size for column, size in columns], axis=1)

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
        give_up: Callable[[_Hiding, float], bool],
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

    def _open(self, sets: Sets) -> list[tuple[int, ...]]:
        """List the sets in which people may have too few matching rows."""
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

    def column_losses(self) -> npt.NDArray[np.float64]:
        """Return the share of its detail that each column loses."""
        table = self.table
        lost = np.zeros(len(self.sizes))
        for j, (ladder, level) in enumerate(zip(table.ladders, self.levels, strict=True)):
            leaf = float(ladder.share[0].min())
            share = ladder.share[level][ladder.codes[level][table.codes[:, j]]]
            share = np.where(self.published.columns[j] == self.sizes[j], 1.0, share)
            covered = float((share * table.count).sum() / table.count.sum())
            lost[j] = max((covered - leaf) / (1 - leaf), 0.0) if leaf < 1 else 0.0
        return lost


# -- levels ------------------------------------------------------------------------------------------


class _Chooser:
    """Search for the levels of least loss."""

    def __init__(
        self,
        problem: Problem,
        table: _Table,
        lowest: Sequence[int],
        highest: Sequence[int],
        time_limit: float | None,
        quality: Quality,
    ) -> None:
        self.problem, self.table = problem, table
        self.lowest, self.highest = np.asarray(lowest), np.asarray(highest)
        work = len(table.count) * len(table.demands.tried)
        work_factor, tries_factor = TRIES[quality]
        self.left = min(max(work_factor * WORK // max(work, 1), MIN_TRIES), tries_factor * MAX_TRIES)
        self.end = deadline_of(None if time_limit is None else time_limit * TIME_SHARE_FOR_LEVELS)
        self.sets = table.demands.tried
        self.coarsest = np.where(self.highest > self.lowest, self.highest - 1, self.highest)
        self.best: tuple[float, tuple[int, ...]] | None = None
        self.columns = np.zeros(len(lowest))
        self.hiding: _Hiding | None = None
        """The cells hidden at the best levels."""

    def run(self) -> tuple[int, ...]:
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
        if len(self.sets) < len(self.table.demands.sets):
            self._judge_by_all()
        return self.best[1]

    def begun(self) -> _Hiding | None:
        """Return the hiding at the best levels, if it can be continued."""
        begun = self.hiding
        if begun is None or begun.levels != (self.best or (0.0, ()))[1] or self.sets is not self.table.demands.sets:
            return None
        return begun if not self.table.demands.models else None

    def _judge_by_all(self) -> None:
        """Compare levels by all sets instead of a sample.

        A sample underestimates the loss, of fine levels most, so that coarser ones may be better by all sets.
        """
        assert self.best is not None
        fine = np.asarray(self.best[1])
        self.sets, self.best = self.table.demands.sets, None
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
        hiding = _Hiding(self.table, levels)
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

    def _is_worse(self, hiding: _Hiding, share: float) -> bool:
        """Return whether hiding another share of cells exceeds the best loss.

        It is False unless all sets are used.
        """
        if self.best is None or self.sets is self.table.demands.tried:
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


# -- what is published -------------------------------------------------------------------------------


def _recoding(problem: Problem, table: _Table, levels: tuple[int, ...], hidden: Bools, finished: bool | None) -> ByCell:
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
