"""Scenarios by local recoding, in two stages.

If models bind the crowds of scenarios only, a method first partitions the rows in the columns that scenarios name, all
of them together, by the models of all scenarios. The crowds of one scenario's columns are unions of these. Then every
other quasi-identifier is recoded by itself within each of these crowds, for scenarios with one further column: a label
that is too rare climbs the hierarchy with others that are too rare, and what is still too rare at the top takes the
rarest other label in. In the end the whole crowd shows `*`, which meets the models. Large crowds of the first stage
leave room for labels of the second: their size is doubled as long as the loss falls.

If models bind all quasi-identifiers together as well, or two further columns may be known, all models are asked of the
groups in all quasi-identifiers. That implies the scenarios.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError, PlanError
from shoal.methods.base import Method, Problem, require_feasible
from shoal.methods.partition import same_labels
from shoal.methods.scenarios import require_one_reading
from shoal.models import AllOf, InScenario, Model, scenario_models, without_scenarios
from shoal.schema import Ladder, Schema
from shoal.table import ByGroup, ByLevel, FrequencySet, MethodFacts
from shoal.table.groups import group_keys
from shoal.utility.loss import losses


@dataclass(frozen=True, kw_only=True)
class StageFacts(MethodFacts):
    """Facts of the first stage, and the columns that it recodes."""

    first_columns: tuple[str, ...]
    first: MethodFacts


def require_stages(method: Method, schema: Schema, model: AllOf) -> None:
    """Raise where two stages cannot meet the scenarios of a plan."""
    for part in scenario_models(model):
        scenario, known = part.knowledge.title, part.knowledge
        if known.plus and not set(known.further) <= set(schema.quasi_identifiers):
            column = next(name for name in known.further if name not in schema.quasi_identifiers)
            raise PlanError("scenarios.sensitive-for-method", method=method.name, scenario=scenario, column=column)
        if not part.closed_under_union:
            raise PlanError("scenarios.model-for-method", method=method.name, scenario=scenario, model=part.name)
    require_one_reading(method, model)


def demands_of(model: AllOf) -> AllOf:
    """Return the models of all columns and of scenarios, each once."""
    general = without_scenarios(model).parts
    return AllOf(tuple(dict.fromkeys((*general, *(part.of for part in scenario_models(model))))))


def decide_in_stages(
    method: Method,
    problem: Problem,
    ladders: tuple[Ladder, ...] | None = None,
    for_several: Callable[[Problem], ByGroup] | None = None,
) -> ByGroup | ByLevel:
    """Form the crowds of scenarios by a method of local recoding.

    ``ladders`` are the hierarchies of the second stage, if they are not those of the problem. ``for_several`` decides
    where two or more further columns are known; without it, groups in all columns do.
    """
    parts = scenario_models(problem.model)
    general = without_scenarios(problem.model).parts
    demands = demands_of(problem.model)
    named = {name for part in parts for name in part.knowledge.columns}
    several = any(part.knowledge.plus > 1 for part in parts)
    if several and not general and for_several is not None:
        return for_several(problem)
    if general or several or named >= set(problem.names):
        recoding = method.decide(replace(problem, model=demands))
        assert isinstance(recoding, ByGroup | ByLevel)
        return recoding
    first = [j for j, name in enumerate(problem.names) if name in named]
    best: ByGroup | None = None
    best_loss = math.inf
    size = max(part.least for part in parts)
    while True:
        larger = AllOf(tuple(_with_size(part, size) for part in demands.parts))
        try:
            found = _Stages(method, replace(problem, model=larger), parts, first, ladders or problem.ladders).decide()
        except InfeasibleError:
            if best is None:
                raise
            return best
        loss = losses(problem.frequencies, problem.ladders, found)["ncp"]
        if best is not None and loss >= best_loss:
            return best
        best, best_loss, size = found, loss, 2 * size


def _with_size(model: Model, size: int) -> Model:
    """Return a model of sizes with a larger one, any other as it is."""
    of_rows: Model = getattr(model, "of_rows", model)
    return model.with_group_size(max(size, model.least)) if of_rows.sizes_only else model


class _Stages:
    """The two stages of one problem."""

    def __init__(
        self,
        method: Method,
        problem: Problem,
        parts: tuple[InScenario, ...],
        first: list[int],
        ladders: tuple[Ladder, ...],
    ) -> None:
        self.method, self.problem, self.first, self.ladders = method, problem, first, ladders
        self.further = [j for j in range(len(problem.names)) if j not in first]
        self.model = AllOf(tuple(dict.fromkeys(part.of for part in parts if part.knowledge.plus)))

    def decide(self) -> ByGroup:
        base = self._first_stage()
        crowd = same_labels(base)[base.group] if self.first else base.group
        entries = self.problem.frequencies.select(base.row, base.count)
        whole = entries.groups_of(np.zeros(len(crowd), np.int64), 1)
        self.totals = [histogram.total for histogram in whole.histograms]
        labels = [_Labels(entries, j, self.ladders[j]) for j in self.further]
        for one in labels:
            self._climb(entries, crowd, one)
        keys = np.stack([base.group, *(one.key for one in labels)], axis=1)
        group, count = group_keys(keys, [int(column.max(initial=0)) + 1 for column in keys.T])
        member = np.zeros(count, np.int64)
        member[group] = np.arange(len(group))
        columns = len(self.problem.names)
        height, share = np.zeros((count, columns)), np.zeros((count, columns))
        texts: list[object] = [None] * columns
        for position, j in enumerate(self.first):
            of_groups = base.group[member]
            texts[j] = _taken(base.labels[position], of_groups)
            height[:, j], share[:, j] = base.height[of_groups, position], base.share[of_groups, position]
        for one, j in zip(labels, self.further, strict=True):
            texts[j], height[:, j], share[:, j] = one.published(member)
        order = np.lexsort((group, base.row))
        names = tuple(self.problem.names[j] for j in self.first)
        return ByGroup(
            base.row[order], group[order], base.count[order], tuple(texts), height, share,
            StageFacts(first_columns=names, first=base.facts),
        )  # fmt: skip

    def _first_stage(self) -> ByGroup:
        """Partition the rows in the columns that scenarios name."""
        frequencies = self.problem.frequencies
        require_feasible(self.problem)
        if not self.first:
            rows = np.arange(len(frequencies.count))
            return ByGroup(rows, np.zeros_like(rows), frequencies.count, (), np.zeros((1, 0)), np.zeros((1, 0)))
        part, order = frequencies.select_columns(self.first)
        ladders = tuple(self.problem.ladders[j] for j in self.first)
        recoding = self.method.decide(replace(self.problem, frequencies=part, ladders=ladders))
        assert isinstance(recoding, ByGroup)
        return replace(recoding, row=order[recoding.row])

    def _climb(self, entries: FrequencySet, crowd: npt.NDArray[np.int64], labels: _Labels) -> None:
        """Recode a column within each crowd, until every label meets the models."""
        top = labels.ladder.height
        open_entries = np.ones(len(crowd), np.bool_)
        for level in range(top + 1):
            labels.level[open_entries] = level
            number, holds = self._assess(entries, crowd, labels, open_entries)
            open_entries[open_entries] = ~holds[number[open_entries]]
            if not open_entries.any():
                return
        while open_entries.any():  # rows at the top are too rare: the rarest other label joins them
            failing = np.zeros(int(crowd.max()) + 1, np.bool_)
            failing[crowd[open_entries]] = True
            others = failing[crowd] & (labels.level < top)
            number, count = group_keys(
                np.stack([crowd[others], labels.key[others]], axis=1), [len(failing), int(labels.key.max()) + 1]
            )
            size = np.bincount(number, entries.count[others], count)
            owner = np.zeros(count, np.int64)
            owner[number] = crowd[others]
            by_size = np.lexsort((size, owner))
            rarest = by_size[np.r_[True, owner[by_size][1:] != owner[by_size][:-1]]]
            labels.level[np.flatnonzero(others)[np.isin(number, rarest)]] = top
            at_top = failing[crowd] & (labels.level == top)
            number, holds = self._assess(entries, crowd, labels, at_top)
            open_entries = at_top
            open_entries[at_top] = ~holds[number[at_top]]

    def _assess(
        self, entries: FrequencySet, crowd: npt.NDArray[np.int64], labels: _Labels, which: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Number the labels of some entries by crowd, and assess each."""
        chosen = np.flatnonzero(which)
        key = labels.key[chosen]
        found, count = group_keys(
            np.stack([crowd[chosen], key], axis=1), [int(crowd.max()) + 1, int(key.max(initial=0)) + 1]
        )
        number = np.full(len(crowd), -1, np.int64)
        number[chosen] = found
        return number, self.model.assess(entries.groups_of(number, count).within(self.totals)).holds


class _Labels:
    """Labels of one column: a level of its hierarchy for every entry."""

    def __init__(self, entries: FrequencySet, column: int, ladder: Ladder) -> None:
        self.codes = entries.codes[:, column]
        present = np.zeros(len(ladder.codes[0]), np.bool_)
        present[self.codes] = True
        self.ladder = ladder.released(present)
        self.level = np.zeros(len(self.codes), np.int64)
        sizes = [self.ladder.size(level) for level in range(ladder.height + 1)]
        self.start = np.cumsum(np.asarray([0, *sizes], np.int64))

    @property
    def key(self) -> npt.NDArray[np.int64]:
        """The number of each entry's label among those of all levels."""
        by_level = np.stack([codes[self.codes] for codes in self.ladder.codes])
        found: npt.NDArray[np.int64] = self.start[self.level] + by_level[self.level, np.arange(len(self.codes))]
        return found

    def published(
        self, member: npt.NDArray[np.int64]
    ) -> tuple[list[str | None], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return labels, heights and shares of groups with such a member."""
        texts = [text for level in range(self.ladder.height + 1) for text in self.ladder.labels[level]]
        shares = np.concatenate([self.ladder.share[level] for level in range(self.ladder.height + 1)])
        key = self.key[member]
        height = self.level[member] / max(self.ladder.height, 1)
        return [texts[one] for one in key.tolist()], height, shares[key]


def _taken(labels: object, of_groups: npt.NDArray[np.int64]) -> object:
    import pyarrow as pa

    if isinstance(labels, pa.Array):
        return labels.take(pa.array(of_groups))
    assert isinstance(labels, list | tuple)
    return [labels[one] for one in of_groups.tolist()]
