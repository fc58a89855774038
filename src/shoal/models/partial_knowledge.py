"""Models for an intruder with partial knowledge, read loosely.

A suppressed cell matches everything: ``known`` and key sets with ``reading = "loose"``. The strict reading, in which it
is a label of its own, is that of :mod:`shoal.models.scenarios`. They apply another model to sets of columns.

``LooselyKnown(model, m)``: the intruder knows at most m of the quasi-identifiers. ``KnowsColumns(model, columns)``: the
intruder knows some of these columns. Each defines a family of sets of columns: all of at most m, or all subsets of the
named columns. For every set C of the family, including the empty set:

* *row to people*: the rows with the same labels on C, none of them suppressed, are a group that meets the model;
* *person to rows*: the candidate rows of every released person are a group that meets the model. A candidate row has,
  in each column of C, a label that covers the person's value, or a suppressed cell.

Suppressing a cell removes a row from groups of the first kind and adds it to the candidates of others. That helps the
second condition where the model is closed under superset; for shares and distributions nothing follows from it. The
second needs the original table. The release alone decides it for people whose known cells are visible; for others it
gives a lower bound, for which only suppressed cells match a suppressed cell. If a column names the person of each row,
the intruder knows some columns of one row of a person, and both count people: a group is the people who have a row in
it, and a person's candidates are the people with a candidate row.

All sets are examined, by increasing size: failing rows are those that fail on some set. A person who is identified by
two facts is identified by three. With m facts this is Incognito's iteration (LeFevre, DeWitt and Ramakrishnan, 2005),
stopped at m; key sets are those of mu-ARGUS.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from annotated_types import Ge
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import AllOf, Assessment, Model
from shoal.models.of_columns import ModelOfColumns
from shoal.models.views import CodedTable, Examined
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Name
from shoal.table.column_subsets import Combinations, SubsetCounter, all_subsets, subsets_up_to
from shoal.table.frequency_set import FrequencySet
from shoal.table.groups import Groups
from shoal.table.person_crowds import find_person_crowds

CANDIDATES_KEY = {"rows": "rows_per_person", "people": "people_per_person"}
"""The name of the smallest number of candidates, by what is counted."""
MIN_ENTRIES_TO_COMPILE = 5_000_000
"""Number of sets times entries from which on compiled code counts them."""


@dataclass(frozen=True)
class PartialKnowledge(ModelOfColumns):
    """Base class: another model, applied to sets of columns."""

    def __post_init__(self) -> None:
        self.require_single_model()

    def applies(self, known: Iterable[str]) -> bool:
        """Return True: only quasi-identifiers are known."""
        return True

    def positions(self, columns: Sequence[str], quasi: Sequence[str]) -> Iterable[tuple[int, ...]]:
        """Return the sets that imply all others, as positions."""
        return self.widest(quasi) if self.closed_under_union else self.sets(quasi)

    def assess_known(self, groups: Groups, known: Iterable[str]) -> Assessment | None:
        """Assess rows with equal labels in the known columns, all visible."""
        return self.of.assess(groups)

    def examine(self, table: CodedTable) -> Examined:
        """Examine all sets of columns of a table."""
        names = table.names
        self.require(names)
        published, known = table.counters
        found = assess_sets(published, table.frequencies, self, names, known)
        rows: bool | str = found.enough_candidates
        if known is None and not found.failing_crowds:
            rows = True if found.enough_candidates else "not to be told from the release alone"
        facts = {
            "sets": found.sets,
            "row_to_people": found.failing_groups == found.failing_crowds,
            "person_to_rows": rows,
            "checked_with": "the release alone" if known is None else "the release and its original",
            "all_columns_at_once": "not promised",
            **({} if found.facts is None else {"fails_at": found.facts}),
        }
        return Examined(found.holds, found.effective, found.failing, facts)

    @property
    @override
    def of_rows(self) -> PartialKnowledge:
        """The same knowledge with the row model, if the model counts people."""
        return replace(self, of=getattr(self.of, "of_rows", self.of))

    @property
    def by_size(self) -> bool:
        """Return whether the number of rows, or people, alone decides."""
        model: Model = getattr(self.of, "of_rows", self.of)
        return model.sizes_only

    @property
    def k(self) -> int:
        """The k of the model; 0 if it has none."""
        return int(getattr(self.of, "k", 0))

    @property
    def column(self) -> str | None:
        """The sensitive column that the model is about; None for all."""
        return getattr(self.of, "column", None)

    def sets(self, names: Sequence[str]) -> Iterable[tuple[int, ...]]:
        """Return the sets of columns, as positions, smallest first.

        Positions are those among the quasi-identifiers.
        """
        raise NotImplementedError

    def widest(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the maximal sets: those that are in no other."""
        raise NotImplementedError

    def require(self, names: Sequence[str]) -> None:
        """Raise if a required column is not among ``names``."""
        raise NotImplementedError


@dataclass(frozen=True)
class LooselyKnown(PartialKnowledge):
    """A model for an intruder with knowledge of at most ``known`` columns.

    The columns are quasi-identifiers.

    >>> from shoal.models import KAnonymity
    >>> list(LooselyKnown(KAnonymity(5), 2).sets(("age", "sex", "zip")))
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """

    known: Annotated[int, Ge(1)]

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        return {**self.of.parameters, "known": self.known, "reading": "loose"}

    @override
    def sets(self, names: Sequence[str]) -> Iterable[tuple[int, ...]]:
        return subsets_up_to(len(names), self.known)

    @override
    def widest(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        return [chosen for chosen in self.sets(names) if len(chosen) == self.known]

    @override
    def require(self, names: Sequence[str]) -> None:
        require_known_columns(self.known, names)

    @override
    def relaxations(self) -> Iterator[tuple[str, int, Model]]:
        """Yield the relaxations of the model, then ``known`` lowered by one."""
        yield from super().relaxations()
        if self.known > 1:
            yield "known", self.known - 1, replace(self, known=self.known - 1)

    @override
    def to_plan(self) -> dict[str, Any]:
        return {**self.of.to_plan(), "known": self.known, "reading": "loose"}

    def __str__(self) -> str:
        return f"{self.of} for {self.known} known"


@dataclass(frozen=True)
class KnowsColumns(PartialKnowledge):
    """A model for an intruder with knowledge of some of the named columns."""

    columns: tuple[Name, ...]

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        return {**self.of.parameters, "keys": self.columns, "reading": "loose"}

    @override
    def sets(self, names: Sequence[str]) -> Iterable[tuple[int, ...]]:
        return all_subsets(self._positions(names))

    @override
    def widest(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        return [self._positions(names)]

    def _positions(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(sorted(names.index(name) for name in self.columns))

    @override
    def require(self, names: Sequence[str]) -> None:
        require_key_columns(self.columns, names)

    def __str__(self) -> str:
        return f"{self.of} on {len(self.columns)} key columns"


def require_known_columns(known: int, names: Sequence[str]) -> None:
    """Raise if more columns are known than there are quasi-identifiers."""
    if known > len(names):
        raise PlanError("models.known-too-large", quasi_identifiers=len(names), known=known)


def require_key_columns(columns: Sequence[str], names: Sequence[str]) -> None:
    """Raise if a column is not one of the quasi-identifiers ``names``."""
    for column in columns:
        if column not in names:
            raise PlanError("plan.key-set-column-not-quasi-identifier", column=column)


def replaces_model(own: Model, general: Model) -> bool:
    """Return whether a model replaces another: same name and column."""
    column = getattr(own, "column", None)
    return own.name == general.name and column in (None, getattr(general, "column", None))


def partial_knowledge_models(model: AllOf) -> tuple[PartialKnowledge, ...]:
    """Return the parts of a model that apply to sets of columns."""
    return tuple(part for part in model.parts if isinstance(part, PartialKnowledge))


@dataclass(frozen=True)
class SetsVerdict:
    """The verdict of one model on its sets of columns.

    Attributes
    ----------
    effective
        The model's figures in the worst group of any set, and ``rows_per_person``: the smallest number of candidate
        rows of any person, or without the original a lower bound of it. If people are counted, ``people_per_person``:
        the smallest number of people with a candidate row.
    sets
        The number of sets examined, including the empty set.
    facts
        The size of the first failing sets; None if none fails.
    failing_groups, failing
        The number of failing groups of all sets, of both kinds; and bool (n,), the entries of the table in one of them.
    failing_crowds
        Of the failing groups, those of a person's candidate rows; the others are rows that show the same labels.
    enough_candidates
        Whether the candidates of every person meet it; without the original, whether that follows from the release.
    """

    holds: bool
    enough_candidates: bool
    effective: dict[str, float | int]
    sets: int
    facts: int | None
    failing_groups: int
    failing: npt.NDArray[np.bool_] = field(repr=False)
    failing_crowds: int = 0


def assess_sets(
    published: SubsetCounter,
    entries: FrequencySet,
    part: PartialKnowledge,
    names: Sequence[str],
    known: SubsetCounter | None,
) -> SetsVerdict:
    """Evaluate all sets of a part.

    ``entries`` are those of ``published``, with their sensitive values.
    """
    assessor = _Assessor(published, entries, part, known)
    if part.by_size and len(widest := part.widest(names)) == 1:
        assessor.look_at_widest(widest[0])
    return assessor.run(part.sets(names))


class _Assessor:
    """Evaluate sets of increasing size, and record the worst figures."""

    def __init__(
        self, published: SubsetCounter, entries: FrequencySet, part: PartialKnowledge, known: SubsetCounter | None
    ) -> None:
        self.published, self.entries, self.part, self.known = published, entries, part, known
        self.failing = np.zeros(len(published.count), np.bool_)
        self.failing_groups, self.failing_crowds, self.sets, self.rows = 0, 0, 1, published.rows
        whole = entries.groups_of(np.zeros(len(published.count), np.int64), 1)
        self.totals = [histogram.total for histogram in whole.histograms]
        self.hides = [
            bool((column == size).any()) for column, size in zip(published.columns, published.sizes, strict=True)
        ]
        self.effective: dict[str, float | int] = {}
        self.enough_candidates = published.rows >= part.least
        self.counts_candidates = True
        self._assess(whole, np.zeros(len(published.count), np.int64))

    def look_at_widest(self, chosen: tuple[int, ...]) -> None:
        """Count candidate rows in the widest set first.

        Who knows fewer columns has no fewer candidate rows, certain ones too. If there are enough here, no subset has
        fewer, and none is counted.
        """
        fewest = self._fewest_candidates(chosen, self.published.combinations(chosen))
        if fewest >= self.part.least:
            self.rows, self.counts_candidates = min(self.rows, fewest), False

    def run(self, sets: Iterable[tuple[int, ...]]) -> SetsVerdict:
        facts = 0 if self._fails() else None
        for size, same_size in itertools.groupby(sets, len):
            listed = list(same_size)
            self.sets += len(listed)
            for chosen in self._remaining_sets(listed):
                self._assess_set(chosen)
            if facts is None and self._fails():
                facts = size
        effective = {**self.effective, CANDIDATES_KEY[self.part.counts]: self.rows}
        holds = not self.failing_groups and (self.known is None or self.enough_candidates)
        return SetsVerdict(
            holds, self.enough_candidates, effective, self.sets, facts, self.failing_groups, self.failing,
            self.failing_crowds,
        )  # fmt: skip

    def _fails(self) -> bool:
        return self.failing_groups > 0 or (self.known is not None and not self.enough_candidates)

    def _remaining_sets(self, sets: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Return the sets of one size that must be examined individually.

        These fail, or are too wide for a dense table. If group sizes alone matter and there are many sets, compiled
        code counts the other sets at once: the smallest group decides.
        """
        if (
            not self.part.by_size
            or self.published.owners is not None
            or len(sets) * len(self.published.count) < MIN_ENTRIES_TO_COMPILE
        ):
            return sets
        from shoal.kernels.column_subsets import count_sets_parallel

        smallest, fewest = count_sets_parallel(
            self.published, self.published if self.known is None else self.known, sets
        )
        least = self.part.least
        good = ((smallest == 0) | (smallest >= least)) & (fewest >= least)
        self.rows = min(self.rows, int(fewest[good].min(initial=self.rows)))
        if (good & (smallest > 0)).any():
            worst = smallest[good & (smallest > 0)].min()
            self._assess(Groups(np.asarray([worst])), np.zeros(1, np.int64), self.part.of_rows.of)
        return [chosen for chosen, passed in zip(sets, good, strict=True) if not passed]

    def _assess_set(self, chosen: tuple[int, ...]) -> None:
        found = self.published.combinations(chosen)
        occupied = found.visible & (found.size > 0)
        if self.part.by_size:
            if occupied.any():
                sizes = Groups(np.where(occupied, found.size, self.published.rows))
                self._assess(sizes, found.number, self.part.of_rows.of)
        elif occupied.any():
            group = np.where(occupied, np.cumsum(occupied) - 1, -1)[found.number]
            groups = self.entries.groups_of(group, int(occupied.sum())).within(self.totals)
            self._assess(groups, group)
        if self.counts_candidates:
            fewest = self._fewest_candidates(chosen, found)
            self.rows = min(self.rows, fewest)
            self.enough_candidates = self.enough_candidates and fewest >= self.part.least
        if not self.part.by_size and any(self.hides[j] for j in chosen):
            self._assess_crowds(chosen)

    def _fewest_candidates(self, chosen: tuple[int, ...], found: Combinations) -> int:
        """Return the fewest candidate rows of a person in a set of columns."""
        if self.known is not None:
            rows = self.published.count_candidate_rows(self.known, chosen, self.rows)
        elif any(self.hides[j] for j in chosen):
            rows = self.published.count_certain_rows(chosen, self.rows)
        else:  # no cell is suppressed: the rows of the group
            rows = found.size[found.visible & (found.size > 0)]
        return int(rows.min(initial=self.rows))

    def _assess_crowds(self, chosen: tuple[int, ...]) -> None:
        """Assess the candidate rows of every person as groups.

        Without the original, people are the rows of the release. Where one has a suppressed cell, its candidates are
        only those that are certain: they prove that the model holds if it is closed under superset, and never that it
        fails.
        """
        crowds = find_person_crowds(self.published, self.known or self.published, chosen)
        visible = np.ones(len(crowds.person), np.bool_)
        if self.known is None:
            for j in chosen:
                visible &= self.published.columns[j][crowds.person] < self.published.sizes[j]
        fails = np.zeros(len(crowds.person), np.bool_)
        for part, groups in crowds.groups(self.entries, self.totals):
            verdict = self.part.of.assess(groups)
            fails[part] = ~verdict.holds
            self._record(verdict, visible[part])
        certain = fails & visible
        proven = (visible | self.part.closed_under_superset) & ~fails
        self.enough_candidates = self.enough_candidates and bool(proven.all())
        if certain.any():
            self.failing_groups += int(certain.sum())
            self.failing_crowds += int(certain.sum())
            self.failing |= crowds.entries_of(certain)

    def _assess(self, groups: Groups, group: npt.NDArray[np.int64], model: Model | None = None) -> None:
        verdict = (model or self.part.of).assess(groups)
        self._record(verdict)
        if not verdict.holds.all():
            self.failing_groups += int((~verdict.holds).sum())
            self.failing |= (group >= 0) & ~verdict.holds[group]

    def _record(self, verdict: Assessment, which: npt.NDArray[np.bool_] | None = None) -> None:
        """Record the worst figures of all groups, or of some."""
        for condition in verdict.conditions:
            if which is not None:
                condition = replace(condition, value=condition.value[which])
            worst = condition.worst
            if condition.parameter in self.effective:
                worst = (min if condition.at_least else max)(worst, self.effective[condition.parameter])
            whole = math.isfinite(worst) and worst == int(worst)
            self.effective[condition.parameter] = int(worst) if whole else worst
