"""Which levels, and which cells to hide: the search of :mod:`shoal.methods.local.hidden_cells`.

With the levels given, sets of columns are gone through in the order of their size. The rows of a group that fails get
one cell of the set hidden: the one that is in most of the row's failing groups for what it costs, a greedy hitting set.
To hide a cell takes a row from other groups, so sets are counted again until nothing fails. Then people of whom too few
rows can be theirs get more: cells are hidden that keep the nearest rows from being candidates. That only helps the
people, but may break groups: these are mended as before, and hiding their cells helps the people again. Each round
hides at least one cell, so there is an end; a table that hides everything meets every demand that the whole table does.
Where the time is over before, whole columns are hidden.

Hiding only adds to the rows that can be somebody's, so that a set in which everybody has enough is not asked again.

Levels: first all columns at the same one, then each at the one where it lost least, then columns one step up or down,
as long as less is lost and a fixed amount of work is not used up: of larger sets than pairs a part is tried. Where that
is not all of them, the levels that were found are then laid beside coarser ones, by all sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Problem, Quality, require_feasible
from shoal.methods.time_limits import deadline_of, in_time, is_late
from shoal.models import Limited, limited
from shoal.models.partial_knowledge import MANY
from shoal.runtime.threads import spread
from shoal.schema import TOP, Ladder
from shoal.table import ByCell, FrequencySet, MethodFacts, recode_codes
from shoal.table.cell_suppression import (
    FAILS,
    HIDE,
    LOOK,
    NOTE,
    UNKNOWN,
    Tables,
    clip_counts,
    make_cells,
    make_tables,
    room_of,
)
from shoal.table.column_subsets import Facts, Owners, owners_of
from shoal.table.groups import group_keys, sum_by
from shoal.table.method_facts import AtLevels

__all__ = ["hide_cells"]

WORK = 150_000_000
"""Entries times sets of columns that may be counted for trying levels: some seconds to half a minute."""
MOST_TRIES, FEWEST_TRIES = 16, 5
TRIES = {"fast": (0, 1), "good": (1, 1), "best": (10, 4)}
"""By quality: how much of that work, and how many times as many tries."""
LARGER = 2000
"""So many sets of more than two columns are tried at most when levels are chosen, spread evenly over all of them."""
AT_ONCE = 500
"""So many sets are gone through before the clock is looked at."""
BY_ALL = 4
"""So many levels are tried with all of them besides the finest and the coarsest."""
CHOOSING = 1 / 3
"""The part of the time in which levels are chosen."""
STEP = 0.25
"""Columns that are moved together at first, as a part of all."""

Bools = npt.NDArray[np.bool_]
Sets = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class _Demands:
    """For each set of columns the rows that a group needs, and the models that are about more than that."""

    rows: Mapping[tuple[int, ...], int]
    models: Mapping[tuple[int, ...], tuple[Limited, ...]]

    @cached_property
    def place(self) -> Mapping[tuple[int, ...], int]:
        """The number of each set."""
        return {chosen: number for number, chosen in enumerate(self.rows)}

    @cached_property
    def sets(self) -> list[tuple[int, ...]]:
        """All sets, from small to large, in lexicographic order."""
        return list(self.rows)

    @cached_property
    def tried(self) -> list[tuple[int, ...]]:
        """Those by which levels are chosen."""
        pairs = [chosen for chosen in self.sets if len(chosen) <= 2]
        larger = self.sets[len(pairs) :]
        return [*pairs, *larger[:: -(-len(larger) // LARGER)]] if larger else pairs


def _demands(parts: Sequence[Limited], names: Sequence[str]) -> _Demands:
    rows: dict[tuple[int, ...], int] = {}
    models: dict[tuple[int, ...], tuple[Limited, ...]] = {}
    for part in parts:
        for chosen in part.sets(names):
            rows[chosen] = max(rows.get(chosen, 1), part.least)
            if not part.by_size:
                models[chosen] = (*models.get(chosen, ()), part)
    order = sorted(rows, key=lambda chosen: (len(chosen), chosen))
    return _Demands({chosen: rows[chosen] for chosen in order}, models)


@dataclass(frozen=True)
class _Table:
    """Distinct combinations of quasi-identifiers, so that nothing that is hidden depends on a sensitive value."""

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
    """How many cells are hidden above the levels that were taken."""

    at: AtLevels
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
    """The levels and hidden cells that lost least of those tried, as a recoding."""
    require_feasible(problem)
    frequencies = problem.frequencies
    unit, units = group_keys(frequencies.codes, [dictionary.size for dictionary in frequencies.quasi])
    first = np.zeros(units, np.int64)
    first[unit[::-1]] = np.arange(len(unit))[::-1]
    weight = np.asarray([float(importance.get(name, 1.0)) for name in problem.names])
    demands = _demands(limited(problem.model), problem.names)
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
    return _recoding(problem, table, levels, hiding.hidden, in_time(deadline))


# -- cells -------------------------------------------------------------------------------------------


class _Hiding:
    """The cells of a table at some levels, and those of them that are hidden."""

    def __init__(self, table: _Table, levels: Sequence[int]) -> None:
        self.table, self.levels = table, levels
        lifted, sizes = recode_codes(table.codes, table.ladders, levels)
        for j, (ladder, level) in enumerate(zip(table.ladders, levels, strict=True)):
            if ladder.labels[level] == (TOP,):  # what shows nothing anyhow is hidden from the start
                lifted[:, j], sizes[j] = 1, 1
        self.sizes = sizes
        self.shown = Facts(lifted, sizes, table.count, table.owners)  # its columns are changed
        self.known = Facts(lifted, sizes, table.count)
        self._few = clip_counts(table.count, max(table.demands.rows.values()))
        self._cells = make_cells(np.stack(self.shown.columns))
        self._held = np.full(len(table.demands.rows), -1, np.int64)
        self._tables: Tables | None = None
        self._deadline: float | None = None
        self._is_over: Callable[[], bool] = bool
        self._begun = False
        self._often = np.zeros((len(table.count), len(sizes)), np.float32)
        self._sizes_only = False
        self._enough: set[tuple[int, ...]] = set()
        # what a column still has to lose when one of its cells is hidden, by its importance
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
        columns = zip(self.shown.columns, self.sizes, strict=True)
        return np.stack([column == size for column, size in columns], axis=1)

    def run(self, sets: Sets, deadline: float | None = None) -> None:
        """Hide cells until every one of these sets, from small to large, holds, and everybody has rows enough.

        Where the deadline is over before that, whole columns are hidden.
        """
        if not self._begun:
            self.begin(sets, deadline, lambda *_: False)
        self._sizes_only, self._deadline, self._is_over = False, deadline, lambda: is_late(deadline)
        while not is_late(deadline):
            while self._hide_rare(sets, HIDE) and not is_late(deadline):
                pass
            mended = [self._mend(chosen) for chosen in self._open(sets) if not is_late(deadline)]
            if not any(mended) and not is_late(deadline):
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
        """Go through the sets once: most groups are large enough then, and it is seen what the levels cost.

        Returns whether that was so before the deadline, and not given up by who was asked, with the part of the cells
        that must be hidden at least.
        """
        self._sizes_only, self._deadline = sizes_only, deadline
        self._is_over = lambda: is_late(deadline) or give_up(self, 0.0)
        wanted = {chosen: self.table.demands.place[chosen] for chosen in sets} if self._by_sizes else {}
        self._tables = make_tables(self.sizes, wanted, self._held, room_of(len(self.table.count)))
        for _, alike in itertools.groupby(sets, len):
            self._often[:] = 0
            failed = self._hide_rare(list(alike), NOTE)
            if self._is_over() or give_up(self, self._needed(failed)):
                return False
            self._hide_rare(failed, HIDE)
        self._begun = not self._is_over()
        return self._begun

    def _needed(self, failed: Sets) -> float:
        """The part of the cells that must be hidden at least: a cell is in no more of a row's groups than was noted."""
        often, count = self._often, self.table.count
        most = often.max(axis=1, initial=1.0) * (len(failed[0]) if failed else 1)
        return float((np.ceil(often.sum(axis=1) / most) * count).sum() / (count.sum() * often.shape[1]))

    def _hide_rare(self, sets: Sets, mode: int) -> list[tuple[int, ...]]:
        """Hide cells of the groups that fail, set by set, or note which they are, or only look; returns what failed.

        Where sizes are all that is asked, and there are many sets, by compiled code: it does the same.
        """
        ask = {HIDE: self._hide, NOTE: self._count, LOOK: lambda chosen: len(self._failing(chosen)) > 0}[mode]
        failed = []
        for _, alike in itertools.groupby(sets, len):
            listed = list(alike)
            if not self._by_sizes or len(listed) * len(self.table.count) < MANY or self._few is None:
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
        """See :func:`shoal.kernels.column_subsets.hide_rare`: all sets are looked at on all cores, then cells hidden on one."""
        from shoal.kernels.column_subsets import hide_rare

        demands, cells, tables = self.table.demands, self._cells, self._tables
        place = np.asarray([demands.place[chosen] for chosen in sets])
        least = np.asarray([demands.rows[chosen] for chosen in sets], np.int64)
        listed, found = np.asarray(sets, np.int64), np.zeros(len(sets), np.int8)
        sizes, room = np.asarray(self.sizes, np.int64), room_of(len(self.table.count))
        assert tables is not None

        def ask(part: slice, mode: int) -> None:
            hide_rare(
                cells, sizes, self._few, listed[part], place[part], least[part], self._often, self.cost, mode,
                tables, room, found[part],
            )  # fmt: skip

        parts = [slice(start, start + AT_ONCE) for start in range(0, len(sets), AT_ONCE)]
        spread(lambda part: ask(part, LOOK), parts)
        if mode == LOOK or not (found == FAILS).any():
            return found
        before = cells.length.copy()
        for part in parts:
            if self._is_over():
                break
            ask(part, mode)
        for j in np.flatnonzero(cells.length > before):
            self.shown.columns[j][:] = cells.now[j]
        return found

    @property
    def _by_sizes(self) -> bool:
        return self.table.owners is None and (self._sizes_only or not self.table.demands.models)

    def _open(self, sets: Sets) -> list[tuple[int, ...]]:
        """The sets in which somebody may have too few rows that can be theirs."""
        left = []
        for _, alike in itertools.groupby((chosen for chosen in sets if chosen not in self._enough), len):
            listed = list(alike)
            if self.table.owners is None and len(listed) * len(self.table.count) >= MANY:
                from shoal.kernels.column_subsets import look_at_sets

                fewest = look_at_sets(self.shown, self.known, listed)[1]
                least = np.asarray([self.table.demands.rows[chosen] for chosen in listed])
                self._enough.update(chosen for chosen, bad in zip(listed, fewest < least, strict=True) if not bad)
                listed = [chosen for chosen in listed if chosen not in self._enough]
            left += listed
        return left

    def _hide_columns(self, sets: Sets) -> None:
        """Hide whole columns until every set holds: a set holds without a column where the smaller set does."""
        rare = set(self._hide_rare(sets, LOOK))
        others = self._open([chosen for chosen in sets if chosen not in rare])
        failing = [*rare, *(chosen for chosen in others if len(self._lacking(chosen)))]
        while failing:
            often = np.bincount([j for chosen in failing for j in chosen])
            worst = int(often.argmax())
            self._hide_in(worst, np.arange(len(self.table.count)))
            failing = [chosen for chosen in failing if worst not in chosen]

    def _events(self, chosen: tuple[int, ...]) -> int:
        """How many cells of a set's columns were hidden."""
        return int(self._cells.length[list(chosen)].sum())

    def _is_settled(self, chosen: tuple[int, ...]) -> bool:
        """Whether nothing of a set's columns was hidden since it was found to hold."""
        return bool(self._held[self.table.demands.place[chosen]] == self._events(chosen))

    def _hide_in(self, j: int, entries: npt.NDArray[np.int64]) -> None:
        column, cells, before = self.shown.columns[j], self._cells, int(self._cells.length[j])
        fresh = entries[column[entries] != self.sizes[j]]
        after = before + len(fresh)
        column[fresh] = cells.now[j, fresh] = self.sizes[j]
        cells.row[j, before:after], cells.when[j, fresh] = fresh, np.arange(before, after)
        cells.length[j] = after

    def _failing(self, chosen: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """The entries whose group in a set of columns fails."""
        if self._is_settled(chosen):
            return np.zeros(0, np.int64)
        found = self.shown.combinations(chosen)
        there = found.visible & (found.size > 0)
        bad = there & (found.size < self.table.demands.rows[chosen])
        parts = () if self._sizes_only else self.table.demands.models.get(chosen, ())
        if parts:
            place = np.where(there, np.cumsum(there) - 1, -1)
            entries = self.table.entries
            groups = entries.groups_of(place[found.number][self.table.unit], int(there.sum())).within(self.totals)
            for part in parts:
                bad[there] |= ~part.of.assess(groups).holds
        if bad.any():
            return np.flatnonzero(bad[found.number])
        self._held[self.table.demands.place[chosen]] = self._events(chosen)
        return np.zeros(0, np.int64)

    def _count(self, chosen: tuple[int, ...]) -> bool:
        """Note of every cell in how many failing groups it is."""
        failing = self._failing(chosen)
        for j in chosen:
            self._often[failing, j] += 1
        return bool(len(failing))

    def _hide(self, chosen: tuple[int, ...]) -> bool:
        failing = self._failing(chosen)
        if not len(failing):
            return False
        gain = np.stack([(self._often[failing, j] + 1) / self.cost[j] for j in chosen], axis=1)
        best = gain.argmax(axis=1)
        for place, j in enumerate(chosen):
            self._hide_in(j, failing[best == place])
            self._often[failing, j] += 1
        return True

    def _lacking(self, chosen: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """The people of whom too few rows can be theirs."""
        least = self.table.demands.rows[chosen]
        return np.flatnonzero(self.shown.rows_of(self.known, chosen, least) < least)

    def _mend(self, chosen: tuple[int, ...]) -> bool:
        """Hide what keeps the nearest rows from being those of people who have too few."""
        least = self.table.demands.rows[chosen]
        bad = self._lacking(chosen)
        if not len(bad):
            self._enough.add(chosen)
            return False
        values = np.unique(np.stack([self.known.columns[j][bad] for j in chosen], axis=1), axis=0)
        for person in values:
            found = self.shown.combinations(chosen)
            crowd = found.size[found.number]
            differs = np.stack(
                [
                    (self.shown.columns[j] != value) & (self.shown.columns[j] != self.sizes[j])
                    for j, value in zip(chosen, person, strict=True)
                ],
                axis=1,
            )
            price = differs @ self.cost[list(chosen)]
            order = np.lexsort((-crowd, price))
            order = order[price[order] > 0]
            taken = order[: self.shown.needed(price == 0, order, least)]
            for place, j in enumerate(chosen):
                self._hide_in(j, taken[differs[taken, place]])
        return True

    def column_losses(self) -> npt.NDArray[np.float64]:
        """The part of its detail that each column loses."""
        table = self.table
        lost = np.zeros(len(self.sizes))
        for j, (ladder, level) in enumerate(zip(table.ladders, self.levels, strict=True)):
            leaf = float(ladder.share[0].min())
            share = ladder.share[level][ladder.codes[level][table.codes[:, j]]]
            share = np.where(self.shown.columns[j] == self.sizes[j], 1.0, share)
            covered = float((share * table.count).sum() / table.count.sum())
            lost[j] = max((covered - leaf) / (1 - leaf), 0.0) if leaf < 1 else 0.0
        return lost


# -- levels ------------------------------------------------------------------------------------------


class _Chooser:
    """Tries levels, and keeps those that lose least."""

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
        more, times = TRIES[quality]
        self.left = min(max(more * WORK // max(work, 1), FEWEST_TRIES), times * MOST_TRIES)
        self.end = deadline_of(None if time_limit is None else time_limit * CHOOSING)
        self.sets = table.demands.tried
        self.coarsest = np.where(self.highest > self.lowest, self.highest - 1, self.highest)
        self.best: tuple[float, tuple[int, ...]] | None = None
        self.columns = np.zeros(len(lowest))
        self.hiding: _Hiding | None = None
        """What was hidden at the best levels."""

    def run(self) -> tuple[int, ...]:
        top = int(self.highest.max())
        if (self.lowest == self.highest).all():
            return tuple(self.lowest.tolist())
        tried: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = []
        for level in range(max(top, 1)):
            at = np.clip(np.full(len(self.lowest), level), self.lowest, self.highest)
            # a column is not hidden altogether for the sake of one that has more levels
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
        """The hiding at the best levels as far as it came, where the same would be done again."""
        begun = self.hiding
        if begun is None or begun.levels != (self.best or (0.0, ()))[1] or self.sets is not self.table.demands.sets:
            return None
        return begun if not self.table.demands.models else None

    def _judge_by_all(self) -> None:
        """By a part of the sets levels look better than they are, fine ones most: by all sets coarser ones may win."""
        assert self.best is not None
        fine = np.asarray(self.best[1])
        self.sets, self.best = self.table.demands.sets, None
        self.left = 2 + min(WORK // (len(self.table.count) * len(self.sets)), BY_ALL)
        for at in (np.maximum(self.coarsest, fine), fine):
            self._try(at)
        self._step()

    def _over(self) -> bool:
        return self.best is not None and (self.left <= 0 or is_late(self.end))

    def _try(self, at: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """What each column loses at some levels; infinite where that was not found out."""
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
        self.problem.progress(f"choosing levels, least loss {np.expm1(self.best[0]):.4f}", None)
        return columns

    def _loss(self, columns: npt.NDArray[np.float64]) -> float:
        return float((self.table.weight * np.log1p(columns)).sum() / self.table.weight.sum())

    def _is_worse(self, hiding: _Hiding, more: float) -> bool:
        """Whether more is lost than by the best, when a part of the cells more is hidden; asked where all sets are."""
        if self.best is None or self.sets is self.table.demands.tried:
            return False
        return self._loss(hiding.column_losses() + more * (1 - hiding.share)) > self.best[0]

    def _step(self) -> None:
        """Move the columns that lose most by one level, many together at first, then fewer, then one by one."""
        assert self.best is not None
        together = max(1, int(len(self.lowest) * STEP))
        seen = {self.best[1]}
        while not self._over():
            before = self.best[0]
            order = np.argsort(-self.columns, kind="stable")
            for start in range(0, len(order), together):
                for move in (1, -1):
                    at = np.asarray(self.best[1])
                    chosen = order[start : start + together]
                    at[chosen] = np.clip(at[chosen] + move, self.lowest[chosen], self.highest[chosen])
                    if tuple(at.tolist()) in seen or self._over():
                        continue
                    seen.add(tuple(at.tolist()))
                    self._try(at)
            if self.best[0] == before:
                if together == 1:
                    return
                together = max(1, together // 2)


# -- what is published -------------------------------------------------------------------------------


def _recoding(problem: Problem, table: _Table, levels: tuple[int, ...], hidden: Bools, finished: bool | None) -> ByCell:
    """The groups of what is shown. Labels are made from the values that are shown: what is hidden is not heard."""
    frequencies = problem.frequencies
    ladders = []
    for j, ladder in enumerate(problem.ladders):
        present = np.zeros(len(ladder.codes[0]), np.bool_)
        present[table.codes[~hidden[:, j], j]] = True
        ladders.append(ladder.released(present))
    lifted, sizes = recode_codes(table.codes, problem.ladders, levels)
    shown = np.where(hidden, np.asarray(sizes, np.int32), lifted)
    group, groups = group_keys(shown, [size + 1 for size in sizes])
    first = np.zeros(groups, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    labels, share, height = [], [], []
    for j, (ladder, level) in enumerate(zip(ladders, levels, strict=True)):
        texts = (*ladder.labels[level], TOP)
        codes = shown[first, j]
        labels.append(tuple(texts[code] for code in codes))
        share.append(np.r_[ladder.share[level], 1.0][codes])
        height.append(np.where(hidden[first, j], 1.0, level / max(ladder.height, 1)))
    rows = frequencies.count
    cells = [int(rows[hidden[table.unit, j]].sum()) for j in range(len(levels))]
    facts = HiddenCellsFacts(
        at=AtLevels(levels=dict(zip(problem.names, levels, strict=True))),
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
