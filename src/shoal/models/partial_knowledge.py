"""Models for an intruder who knows little: what another model says of all columns at once, said of few at a time.

``Known(model, m)``: the intruder knows at most m of the quasi-identifiers. ``Keyed(model, columns)``: the intruder
knows some of these columns. Both stand for a family of sets of columns: all of at most m, or all subsets of the named.
For every set C of the family, the empty one included:

* *row to people*: the rows that show the same labels on C, all of them visible, are a group that meets the model;
* *person to rows*: of every person who is released, at least as many rows as the smallest group that can meet the model
  can be the person's row: on each column of C they show a label that covers its value, or nothing.

Coarser labels help both. To hide a cell helps the second, and takes a row away from groups of the first. The second
needs the original; from the release alone follows a lower bound, where a hidden cell is matched by hidden cells only.
Where a column says whose rows they are, an intruder knows some columns of one row of a person, and both count people: a
group is the people who have a row in it, and a person's candidates are the people who have a row that can be it.

Sets are looked at in the order of their size, and not beyond the first size at which one fails: who is found by two
facts is found by three. With m facts this is Incognito's iteration (LeFevre, DeWitt and Ramakrishnan, 2005), stopped at
m; key sets are those of mu-ARGUS.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from annotated_types import Ge

from shoal.errors import PlanError
from shoal.models.base import AllOf, Assessment, Model
from shoal.models.k_anonymity import KAnonymity
from shoal.runtime.validation import Checked, Name
from shoal.schema import Domain
from shoal.table.column_subsets import Facts, all_subsets, subsets_up_to
from shoal.table.frequency_set import FrequencySet
from shoal.table.groups import Groups
from shoal.table.rules import Rule

__all__ = ["MOST_KEYS", "KeySet", "Keyed", "Known", "Limited", "SetsVerdict", "assess_sets", "bind_keys", "limited"]

FEWEST = {"rows": "rows_per_person", "people": "people_per_person"}
"""What the fewest candidates of anybody are called, by what is counted."""
MANY = 5_000_000
"""From so many sets times entries on, compiled code counts them."""
MOST_KEYS = 12
"""A key set has at most so many columns: each of its subsets is counted."""


@dataclass(frozen=True)
class Limited(Model):
    """Base of both: another model, asked of sets of columns."""

    of: Model

    def __post_init__(self) -> None:
        if isinstance(self.of, Limited | AllOf):
            raise PlanError(f"The model of {type(self).__name__} must be a single model for groups; found {self.of}.")
        if self.of.only_people:
            raise PlanError(
                f"The model {self.of.name} is about all columns of several rows of a person; it cannot say 'known' or "
                f"bind a key set. Leave these out."
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the model that it is."""
        return self.of.name

    @property
    def unites(self) -> bool:  # type: ignore[override]
        """See :class:`shoal.models.base.Model`."""
        return self.of.unites

    @property
    def absorbs(self) -> bool:  # type: ignore[override]
        """See :class:`shoal.models.base.Model`."""
        return self.of.absorbs

    @property
    def least(self) -> int:
        """See :class:`shoal.models.base.Model`: of groups of few columns."""
        return self.of.least

    @property
    def counts(self) -> str:  # type: ignore[override]
        """See :class:`shoal.models.base.Model`."""
        return self.of.counts

    @property
    def of_rows(self) -> Limited:
        """The same with its model in rows, where that counts people."""
        return replace(self, of=getattr(self.of, "of_rows", self.of))

    def absorbing_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]], *, whole: bool
    ) -> list[tuple[int, Rule]] | None:
        """See :class:`shoal.models.base.Model`: rows that look alike in all columns may be few."""
        return None

    @property
    def by_size(self) -> bool:
        """Whether the model looks at nothing but how many rows, or people, a group has."""
        model: Model = getattr(self.of, "of_rows", self.of)
        return model.sizes_only

    @property
    def k(self) -> int:
        """The k of the model; 0 where it has none."""
        return int(getattr(self.of, "k", 0))

    @property
    def column(self) -> str | None:
        """The sensitive column that the model is about; None for all."""
        return getattr(self.of, "column", None)

    def sets(self, names: Sequence[str]) -> Iterable[tuple[int, ...]]:
        """The sets of columns that are bound, by their places among the quasi-identifiers, the small ones first."""
        raise NotImplementedError

    def widest(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """Those of them that are in no other."""
        raise NotImplementedError

    def require(self, names: Sequence[str]) -> None:
        """Raise where there are no such columns."""
        raise NotImplementedError

    def eased(self) -> Iterator[tuple[str, int, Model]]:
        """See :class:`shoal.models.base.Model`."""
        for name, lower, less in self.of.eased():
            yield name, lower, replace(self, of=less)

    def check(self, domains: tuple[Domain, ...]) -> None:
        """See :class:`shoal.models.base.Model`."""
        self.of.check(domains)

    def assess(self, groups: Groups) -> Assessment:
        """See :class:`shoal.models.base.Model`: of groups that are already those of a set of columns."""
        return self.of.assess(groups)


@dataclass(frozen=True)
class Known(Limited):
    """A model for an intruder who knows at most ``known`` of the quasi-identifiers.

    >>> from shoal import KAnonymity
    >>> list(Known(KAnonymity(5), 2).sets(("age", "sex", "zip")))
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """

    known: Annotated[int, Ge(1)]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See :class:`shoal.models.base.Model`."""
        return {**self.of.parameters, "known": self.known}

    def sets(self, names: Sequence[str]) -> Iterable[tuple[int, ...]]:
        """See :class:`Limited`."""
        return subsets_up_to(len(names), self.known)

    def widest(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """See :class:`Limited`."""
        return [chosen for chosen in self.sets(names) if len(chosen) == self.known]

    def require(self, names: Sequence[str]) -> None:
        """See :class:`Limited`."""
        if self.known > len(names):
            raise PlanError(
                f"'known' must be at most the number of quasi-identifiers, {len(names)}; found {self.known}. Where the "
                f"intruder may know all of them, leave 'known' out."
            )

    def eased(self) -> Iterator[tuple[str, int, Model]]:
        """See :class:`shoal.models.base.Model`: ``known`` falls by one."""
        yield from super().eased()
        if self.known > 1:
            yield "known", self.known - 1, replace(self, known=self.known - 1)

    def resized(self, least: int) -> Known:
        """See :class:`shoal.models.base.Model`."""
        return Known(self.of.resized(least), self.known)

    def to_plan(self) -> dict[str, Any]:
        """See :class:`shoal.models.base.Model`."""
        return {**self.of.to_plan(), "known": self.known}

    def __str__(self) -> str:
        return f"{self.of} for {self.known} known"


@dataclass(frozen=True)
class Keyed(Limited):
    """A model for an intruder who knows some of the named columns."""

    columns: tuple[Name, ...]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See :class:`shoal.models.base.Model`."""
        return {**self.of.parameters, "keys": self.columns}

    def sets(self, names: Sequence[str]) -> Iterable[tuple[int, ...]]:
        """See :class:`Limited`."""
        return all_subsets(self._places(names))

    def widest(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """See :class:`Limited`."""
        return [self._places(names)]

    def _places(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(sorted(names.index(name) for name in self.columns))

    def require(self, names: Sequence[str]) -> None:
        """See :class:`Limited`."""
        KeySet(self.columns, 2).require(names)

    def resized(self, least: int) -> Keyed:
        """See :class:`shoal.models.base.Model`."""
        return Keyed(self.of.resized(least), self.columns)

    def __str__(self) -> str:
        return f"{self.of} on {len(self.columns)} key columns"


@dataclass(frozen=True)
class KeySet(Checked):
    """Columns that an intruder may know together, with demands of their own in place of the plan's.

    Attributes
    ----------
    columns
        The quasi-identifiers that are known together, twelve at most.
    k, models
        They replace those models of the plan that have the same name and are about the same column; the others bind
        the key set too.
    """

    columns: tuple[Name, ...]
    k: Annotated[int, Ge(2)] | None = None
    models: tuple[Model, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.columns:
            raise PlanError("A key set must name at least one column; it names none.")
        if len(set(self.columns)) < len(self.columns):
            raise PlanError("A key set must name each of its columns once; one is named twice.")
        if len(self.columns) > MOST_KEYS:
            raise PlanError(
                f"A key set has at most {MOST_KEYS} columns; found {len(self.columns)}. For an intruder who knows some "
                f"of many columns use 'known'."
            )
        if any(isinstance(model, Limited) for model in self.models):
            raise PlanError("A model of a key set cannot say 'known': the set's columns are what is known.")

    def to_plan(self) -> dict[str, Any]:
        """The key set as a plan writes it."""
        own: dict[str, Any] = {} if self.k is None else {"k": self.k}
        if self.models:
            own["models"] = [model.to_plan() for model in self.models]
        return {"columns": list(self.columns), **own}

    def require(self, names: Sequence[str]) -> None:
        """Raise where a column is none of the quasi-identifiers ``names``."""
        for column in self.columns:
            if column not in names:
                raise PlanError(f"A key set names column {column!r}, which is not a quasi-identifier of the plan.")


def bind_keys(models: Sequence[Model], keys: Sequence[KeySet]) -> tuple[Model, ...]:
    """The models of a plan, bound to its key sets where there are any; those that say ``known`` stay as they are."""
    if not keys:
        return tuple(models)
    general = [model for model in models if not isinstance(model, Limited)]
    bound: list[Model] = [model for model in models if isinstance(model, Limited)]
    for key in keys:
        own = (*(() if key.k is None else (KAnonymity(key.k),)), *key.models)
        kept = [model for model in general if not any(_replaces(one, model) for one in own)]
        if not (*own, *kept):
            raise PlanError("A key set must have a k or a model, of its own or from [[models]]; one has neither.")
        bound += [Keyed(model, key.columns) for model in (*own, *kept)]
    return tuple(bound)


def _replaces(own: Model, general: Model) -> bool:
    column = getattr(own, "column", None)
    return own.name == general.name and column in (None, getattr(general, "column", None))


def limited(model: AllOf) -> tuple[Limited, ...]:
    """The parts of a model that are asked of sets of columns."""
    return tuple(part for part in model.parts if isinstance(part, Limited))


@dataclass(frozen=True)
class SetsVerdict:
    """What the sets of columns of one model say.

    Attributes
    ----------
    effective
        The model's figures in the worst group of any set, and ``rows_per_person``: the fewest rows that can be
        somebody's, or without the original a lower bound of that. Where people are counted, ``people_per_person``: the
        fewest people of whom a row can be somebody's.
    sets
        How many sets were looked at, the empty one included.
    facts
        The size of the first sets that fail; None where none does.
    failing_groups, failing
        Groups, of all sets, that fail; and bool (n,), which entries of the table are in one.
    people_hold
        Whether every person has rows enough; without the original, whether that follows from the release.
    """

    holds: bool
    people_hold: bool
    effective: dict[str, float | int]
    sets: int
    facts: int | None
    failing_groups: int
    failing: npt.NDArray[np.bool_] = field(repr=False)


def assess_sets(
    shown: Facts, entries: FrequencySet, part: Limited, names: Sequence[str], known: Facts | None
) -> SetsVerdict:
    """Whether all sets of a part hold; ``entries`` are those of ``shown``, with their sensitive values."""
    return _Assessor(shown, entries, part, known).run(part.sets(names))


class _Assessor:
    """Goes through sets of growing size, and keeps the worst that was seen."""

    def __init__(self, shown: Facts, entries: FrequencySet, part: Limited, known: Facts | None) -> None:
        self.shown, self.entries, self.part, self.known = shown, entries, part, known
        self.failing = np.zeros(len(shown.count), np.bool_)
        self.failing_groups, self.sets, self.rows = 0, 1, shown.rows
        whole = entries.groups_of(np.zeros(len(shown.count), np.int64), 1)
        self.totals = [histogram.total for histogram in whole.histograms]
        self.hides = [bool((column == size).any()) for column, size in zip(shown.columns, shown.sizes, strict=True)]
        self.effective: dict[str, float | int] = {}
        self.people_hold = shown.rows >= part.least
        self._judge(whole, np.zeros(len(shown.count), np.int64))

    def run(self, sets: Iterable[tuple[int, ...]]) -> SetsVerdict:
        facts = 0 if self.failing_groups or not self.people_hold else None
        for size, alike in itertools.groupby(sets, len):
            if facts is not None:
                break
            listed = list(alike)
            self.sets += len(listed)
            for chosen in self._left(listed):
                self._look(chosen)
            if self.failing_groups or (self.known is not None and not self.people_hold):
                facts = size
        effective = {**self.effective, FEWEST[self.part.counts]: self.rows}
        holds = not self.failing_groups and (self.known is None or self.people_hold)
        return SetsVerdict(holds, self.people_hold, effective, self.sets, facts, self.failing_groups, self.failing)

    def _left(self, sets: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Those of the sets of one size that have to be looked at one by one: they fail, or are too wide to be counted.

        Where sizes of groups are all that is asked, and there are many sets, compiled code counts the others at once:
        the smallest group says everything.
        """
        if not self.part.by_size or self.shown.owners is not None or len(sets) * len(self.shown.count) < MANY:
            return sets
        from shoal.kernels.column_subsets import look_at_sets

        smallest, fewest = look_at_sets(self.shown, self.shown if self.known is None else self.known, sets)
        least = self.part.least
        good = ((smallest == 0) | (smallest >= least)) & (fewest >= least)
        self.rows = min(self.rows, int(fewest[good].min(initial=self.rows)))
        if (good & (smallest > 0)).any():
            worst = smallest[good & (smallest > 0)].min()
            self._judge(Groups(np.asarray([worst])), np.zeros(1, np.int64), self.part.of_rows.of)
        return [chosen for chosen, held in zip(sets, good, strict=True) if not held]

    def _look(self, chosen: tuple[int, ...]) -> None:
        found = self.shown.combinations(chosen)
        there = found.visible & (found.size > 0)
        if self.part.by_size:
            if there.any():
                sizes = Groups(np.where(there, found.size, self.shown.rows))
                self._judge(sizes, found.number, self.part.of_rows.of)
        elif there.any():
            place = np.where(there, np.cumsum(there) - 1, -1)[found.number]
            groups = self.entries.groups_of(place, int(there.sum())).within(self.totals)
            self._judge(groups, place)
        least = self.part.least
        if self.known is not None:
            rows = self.shown.rows_of(self.known, chosen, self.rows)
        elif any(self.hides[j] for j in chosen):
            rows = self.shown.certain_rows(chosen, self.rows)
        else:  # nothing is hidden: the rows of the group
            rows = found.size[there]
        fewest = int(rows.min(initial=self.rows))
        self.rows = min(self.rows, fewest)
        self.people_hold = self.people_hold and fewest >= least

    def _judge(self, groups: Groups, place: npt.NDArray[np.int64], model: Model | None = None) -> None:
        verdict = (model or self.part.of).assess(groups)
        for condition in verdict.conditions:
            worst = condition.worst
            if condition.parameter in self.effective:
                worst = (min if condition.at_least else max)(worst, self.effective[condition.parameter])
            whole = math.isfinite(worst) and worst == int(worst)
            self.effective[condition.parameter] = int(worst) if whole else worst
        if not verdict.holds.all():
            self.failing_groups += int((~verdict.holds).sum())
            self.failing |= (place >= 0) & ~verdict.holds[place]
