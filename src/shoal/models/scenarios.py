"""Scenarios: what one kind of intruder knows together.

``InScenario(model, knowledge)`` applies a model to the crowds of a scenario. Of everybody, its intruder knows the
columns of a set K: those that the scenario names, and any ``plus`` further ones. A crowd is the rows with the same
labels on K, a suppressed cell (`*`) being a label like any other. So crowds are a partition of the rows, for every K,
and can be counted from the release alone.

*Theorem.* Let every crowd have k rows. An intruder who has K of everybody in the table and takes all assignments of
people to rows that fit as equally likely gives no row more than 1/k; and what he believes of a person's sensitive value
is a mixture of the histograms of crowds. *Proof.* Rows of one crowd fit the same people, so exchanging two of them maps
assignments that fit onto such: given that a person's row is in a crowd, all its rows are equally likely.

The crowds of a subset of K are unions of those of K. So for a model that is closed under union only the largest sets
are examined, and for another model every subset. A model about a sensitive column is not asked of sets that contain
this column: who knows it has nothing to learn from it. The largest sets without this column are examined then.

Labels are compared in print: two spellings of a sensitive value are two labels. If a column names the person of each
row, a crowd is the people who have a row in it.

``known = m`` and key sets are scenarios without a name: any m quasi-identifiers, or the columns of the set. Sensitive
columns are not among what they say is known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import AllOf, Assessment, Model
from shoal.models.k_anonymity import KAnonymity
from shoal.models.of_columns import ModelOfColumns
from shoal.models.partial_knowledge import (
    KnowsColumns,
    LooselyKnown,
    replaces_model,
    require_key_columns,
    require_known_columns,
)
from shoal.models.views import CodedTable, Examined
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Name, Validated
from shoal.table.frequency_set import FrequencySet
from shoal.table.groups import Groups, group_keys

Reading = Literal["strict", "loose"]
Columns = tuple[str, ...]

MAX_KEY_COLUMNS = 12
"""Largest key set of the loose reading: each of its subsets is counted."""
MAX_SETS = 2**16
"""Largest number of sets of columns that one demand of a scenario is examined on."""


@dataclass(frozen=True)
class Knowledge:
    """Columns that an intruder knows: the named ones, and some further ones.

    Attributes
    ----------
    scenario
        The name of the scenario; empty for ``known`` and key sets.
    columns
        Columns that are known together.
    further, plus
        Columns of which any ``plus`` are known in addition.
    """

    scenario: str
    columns: Columns
    further: Columns = ()
    plus: int = 0

    @property
    def title(self) -> str:
        """The name for messages."""
        return self.scenario or (f"known = {self.plus}" if self.plus else "keys")

    @property
    def number_of_widest(self) -> int:
        """The number of maximal sets."""
        return math.comb(len(self.further), min(self.plus, len(self.further)))

    def widest(self, without: str | None = None) -> Iterator[Columns]:
        """Yield the maximal sets of columns, or of those without one of them."""
        further = [name for name in self.further if name != without]
        for added in itertools.combinations(further, min(self.plus, len(further))):
            yield (*self.columns, *added)

    @property
    def number_of_sets(self) -> int:
        """The number of sets, including the empty one."""
        further = sum(math.comb(len(self.further), size) for size in range(min(self.plus, len(self.further)) + 1))
        return int(2 ** len(self.columns) * further)

    def sets(self) -> Iterator[Columns]:
        """Yield all subsets of the maximal sets, smallest first."""
        for size in range(len(self.columns) + self.plus + 1):
            for more in range(min(self.plus, size) + 1):
                for own in itertools.combinations(self.columns, size - more):
                    for added in itertools.combinations(self.further, more):
                        yield (*own, *added)


@dataclass(frozen=True)
class InScenario(ModelOfColumns):
    """Another model, applied to the crowds of a scenario."""

    knowledge: Knowledge

    def __post_init__(self) -> None:
        sets = self.number_of_sets
        if sets > MAX_SETS:
            raise PlanError(
                "scenarios.too-many-sets",
                scenario=self.knowledge.title,
                model=self.of.name,
                sets=sets,
                limit=MAX_SETS,
            )

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        known = self.knowledge
        if not known.scenario:
            limit = {"known": known.plus} if known.plus else {"keys": known.columns}
            return {**self.of.parameters, **limit, "reading": "strict"}
        plus = {"plus": known.plus} if known.plus else {}
        return {**self.of.parameters, "scenario": known.scenario, "columns": known.columns, **plus}

    @property
    @override
    def closed_under_superset(self) -> bool:  # type: ignore[override]
        """Return whether more rows never make a crowd fail.

        Where rows of failing crowds are left out until none fails, the rows that remain at some levels remain at
        higher ones: the crowds there are unions of theirs.
        """
        return self.of.closed_under_superset

    @property
    @override
    def of_rows(self) -> Model:
        """The model that is applied, counting rows."""
        model: Model = getattr(self.of, "of_rows", self.of)
        return model

    @property
    def column(self) -> str | None:
        """The sensitive column that the model is about; None for all."""
        return getattr(self.of_rows, "column", None)

    @property
    def known_rows(self) -> int | None:
        """The number of a person's rows that can be linked; None for all."""
        known: int | None = getattr(self.of, "known_rows", 1)
        return known

    @property
    def by_size(self) -> bool:
        """Return whether the number of rows, or people, alone decides."""
        return self.of_rows.sizes_only and self.known_rows == 1

    @property
    def number_of_sets(self) -> int:
        """The number of sets that are examined."""
        return self.knowledge.number_of_widest if self.closed_under_union else self.knowledge.number_of_sets

    def sets(self) -> Iterator[Columns]:
        """Yield the sets of columns to examine, each once."""
        for known in self._widest() if self.closed_under_union else self.knowledge.sets():
            if self.applies(known):
                yield known

    def _widest(self) -> Iterable[Columns]:
        """Return the maximal sets on which the model is asked of each column.

        A model about a sensitive column is not asked where it is known, so that the maximal sets without this column
        decide. A model about all sensitive columns is asked of each of them: where all further columns may be known at
        once, the sets without one of them are maximal for that one.
        """
        known = self.knowledge
        if self.of_rows.sizes_only:
            return known.widest()
        left_out: tuple[str | None, ...] = (self.column,) if self.column is not None else (None, *known.further)
        return dict.fromkeys(chosen for column in left_out for chosen in known.widest(column))

    def applies(self, known: Iterable[str]) -> bool:
        """Return whether the model is asked where these columns are known."""
        return self.of_rows.sizes_only or self.column not in set(known)

    def positions(self, columns: Sequence[str], quasi: Sequence[str]) -> Iterable[tuple[int, ...]]:
        """Yield the sets to examine, as positions among ``columns``."""
        for known in self.sets():
            yield tuple(sorted(columns.index(name) for name in known))

    def examine(self, table: CodedTable) -> Examined:
        """Examine the crowds of all sets of a table."""
        found = assess_scenario(table.frequencies, self)
        facts = {
            **({"scenario": self.knowledge.scenario} if self.knowledge.scenario else {}),
            "reading": "strict",
            "sets": found.sets,
            **({} if found.fails_with is None else {"fails_with": list(found.fails_with)}),
        }
        return Examined(found.holds, found.effective, found.failing, facts)

    def assess_known(self, groups: Groups, known: Iterable[str]) -> Assessment | None:
        """Assess crowds of rows with equal labels in the known columns.

        None where all sensitive columns are known.
        """
        left = tuple(h for h in groups.histograms if h.domain.name not in set(known))
        if not self.of_rows.sizes_only and not any(h.domain.people is None for h in left):
            return None
        return self.of.assess(Groups(groups.size, left))

    def __str__(self) -> str:
        if not self.knowledge.scenario:
            return f"{self.of} for {self.knowledge.plus} known" if self.knowledge.plus else f"{self.of} of a key set"
        return f"{self.of} in scenario {self.knowledge.scenario!r}"

    @override
    def relaxations(self) -> Iterator[tuple[str, int, Model]]:
        """Yield the relaxations of the model, then one column less known."""
        yield from super().relaxations()
        known = self.knowledge
        if known.plus > (0 if known.columns else 1):
            parameter = "plus" if known.scenario else "known"
            yield parameter, known.plus - 1, replace(self, knowledge=replace(known, plus=known.plus - 1))


@dataclass(frozen=True)
class Known(ModelOfColumns):
    """A model for an intruder with knowledge of few quasi-identifiers.

    A suppressed cell is a label of its own. For a table with some quasi-identifiers it is :meth:`bound` to them.

    >>> Known(KAnonymity(5), 2).bound(("age", "sex", "zip")).knowledge.number_of_widest
    3
    """

    known: Annotated[int, Ge(1)]

    def __post_init__(self) -> None:
        self.require_single_model()

    def bound(self, quasi: Columns) -> InScenario:
        """Return the model of the sets of quasi-identifiers."""
        require_known_columns(self.known, quasi)
        return InScenario(self.of, Knowledge("", (), quasi, self.known))

    @property
    @override
    def of_rows(self) -> Model:
        return self.of

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        return {**self.of.parameters, "known": self.known, "reading": "strict"}

    @override
    def relaxations(self) -> Iterator[tuple[str, int, Model]]:
        """Yield the relaxations of the model, then ``known`` lowered by one."""
        yield from super().relaxations()
        if self.known > 1:
            yield "known", self.known - 1, replace(self, known=self.known - 1)

    @override
    def to_plan(self) -> dict[str, Any]:
        return {**self.of.to_plan(), "known": self.known}

    def __str__(self) -> str:
        return f"{self.of} for {self.known} known"


def bind_known(models: Iterable[Model], quasi: Columns) -> tuple[Model, ...]:
    """Bind models with ``known`` to the quasi-identifiers of a table."""
    return tuple(model.bound(quasi) if isinstance(model, Known) else model for model in models)


def scenario_models(model: AllOf) -> tuple[InScenario, ...]:
    """Return the parts of a model that apply to the crowds of scenarios."""
    return tuple(part for part in model.parts if isinstance(part, InScenario))


def without_scenarios(model: AllOf) -> AllOf:
    """Return a model without the parts of scenarios."""
    return AllOf(tuple(part for part in model.parts if not isinstance(part, InScenario)))


# -- the plan's section --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario(Validated):
    """Columns that one kind of intruder knows, and demands on the crowds.

    Attributes
    ----------
    name
        A name for certificate and report.
    columns
        The quasi-identifiers that are known together.
    plus
        How many further columns are known, whichever they are: quasi-identifiers, and sensitive columns as they are
        published, unless they have ``known_to_others = false``.
    k
        The number of people in every crowd.
    models
        Further models that every crowd must meet.
    reading
        ``strict``: a suppressed cell is a label of its own. ``loose``: it matches everything, as for ``known`` and key
        sets; this protects against somebody who looks for one person and has no list of the others.
    """

    name: Name
    columns: tuple[Name, ...] = ()
    plus: Annotated[int, Ge(0)] = 0
    k: Annotated[int, Ge(2)] | None = None
    models: tuple[Model, ...] = field(default=())
    reading: Reading = "strict"

    def __post_init__(self) -> None:
        if not self.columns and not self.plus:
            raise PlanError("scenarios.no-columns", scenario=self.name)
        if len(set(self.columns)) < len(self.columns):
            raise PlanError("scenarios.column-twice", scenario=self.name)
        if any(isinstance(model, ModelOfColumns) or model.requires_people for model in self.models):
            raise PlanError("scenarios.model-not-possible", scenario=self.name)

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"name": self.name, "columns": list(self.columns), **super().to_plan()}

    def demands(self, general: Sequence[Model]) -> tuple[Model, ...]:
        """Return the models of the crowds: its own, and inherited ones.

        Own models replace those of ``general`` with the same name and column.
        """
        own = (*(() if self.k is None else (KAnonymity(self.k),)), *self.models)
        demands = (*own, *(model for model in general if not any(replaces_model(one, model) for one in own)))
        if not any(model.sizes_only for model in demands):
            raise PlanError("scenarios.no-k", scenario=self.name)
        return demands

    def bind(self, demands: Sequence[Model], quasi: Columns, sensitive: Columns) -> tuple[Model, ...]:
        """Apply models to the scenario's crowds.

        ``quasi`` are the quasi-identifiers, ``sensitive`` the sensitive columns that others may know.
        """
        for column in self.columns:
            if column not in quasi:
                raise PlanError("scenarios.column-not-quasi-identifier", scenario=self.name, column=column)
        further = tuple(name for name in quasi if name not in self.columns)
        if self.reading == "loose":
            return self._bind_loosely(demands, further)
        further = (*further, *sensitive)
        knowledge = Knowledge(self.name, self.columns, further if self.plus else (), min(self.plus, len(further)))
        return tuple(InScenario(model, knowledge) for model in demands)

    def _bind_loosely(self, demands: Sequence[Model], further: Columns) -> tuple[Model, ...]:
        plus = min(self.plus, len(further))
        if not self.columns:
            return tuple(LooselyKnown(model, plus) for model in demands)
        sets = [(*self.columns, *added) for added in itertools.combinations(further, plus)]
        return tuple(KnowsColumns(model, columns) for columns in sets for model in demands)


@dataclass(frozen=True)
class KeySet(Validated):
    """Columns that an intruder may know jointly, with own requirements.

    A scenario without a name.

    Attributes
    ----------
    columns
        The quasi-identifiers that are known jointly; with the loose reading twelve at most.
    k, models
        They replace the models of the plan with the same name and column; the other models apply to the key set too.
    reading
        ``strict``: a suppressed cell is a label of its own. ``loose``: it matches everything, which protects against
        somebody who looks for one person and has no list of the others.
    """

    columns: tuple[Name, ...]
    k: Annotated[int, Ge(2)] | None = None
    models: tuple[Model, ...] = field(default=())
    reading: Reading = "strict"

    def __post_init__(self) -> None:
        if not self.columns:
            raise PlanError("plan.key-set-empty")
        if len(set(self.columns)) < len(self.columns):
            raise PlanError("plan.key-set-column-twice")
        if self.reading == "loose" and len(self.columns) > MAX_KEY_COLUMNS:
            raise PlanError("plan.key-set-too-large", limit=MAX_KEY_COLUMNS, found=len(self.columns))
        if any(isinstance(model, ModelOfColumns) for model in self.models):
            raise PlanError("plan.key-set-with-known")

    def require(self, names: Sequence[str]) -> None:
        """Raise if a column is not one of the quasi-identifiers ``names``."""
        require_key_columns(self.columns, names)

    def bind(self, demands: Sequence[Model]) -> tuple[Model, ...]:
        """Apply models to the columns of the set."""
        if self.reading == "loose":
            return tuple(KnowsColumns(model, self.columns) for model in demands)
        return tuple(InScenario(model, Knowledge("", self.columns)) for model in demands)


def bind_keys(models: Sequence[Model], keys: Sequence[KeySet]) -> tuple[Model, ...]:
    """Apply the models of a plan to its key sets, if there are any.

    Models with ``known`` remain unchanged.
    """
    if not keys:
        return tuple(models)
    general = [model for model in models if not isinstance(model, ModelOfColumns)]
    bound: list[Model] = [model for model in models if isinstance(model, ModelOfColumns)]
    for key in keys:
        own = (*(() if key.k is None else (KAnonymity(key.k),)), *key.models)
        demands = (*own, *(model for model in general if not any(replaces_model(one, model) for one in own)))
        if not demands:
            raise PlanError("plan.key-set-without-model")
        bound += key.bind(demands)
    return tuple(bound)


def bind_scenarios(
    models: Sequence[Model], scenarios: Sequence[Scenario], quasi: Columns, sensitive: Columns, *, jointly: bool
) -> tuple[Model, ...]:
    """Apply the models of a plan and of its scenarios.

    With ``jointly``, the plan's models bind all quasi-identifiers together, and a scenario adds its own. Without it,
    they bind the crowds of each scenario instead, unless the scenario replaces them. Models with ``known``, and those
    of linked rows, remain unchanged. ``quasi`` and ``sensitive`` are as in :meth:`Scenario.bind`.
    """
    if len({scenario.name for scenario in scenarios}) < len(scenarios):
        raise PlanError("scenarios.name-twice")
    if jointly:
        bound, general = list(models), []
    else:
        bound = [model for model in models if isinstance(model, ModelOfColumns) or model.requires_people]
        general = [model for model in models if model not in bound]
        covered = {name for scenario in scenarios for name in (quasi if scenario.plus else scenario.columns)}
        if any(isinstance(model, Known | LooselyKnown) for model in models):
            covered = set(quasi)
        if not scenarios:
            raise PlanError("scenarios.together-without-scenario")
        if left := [name for name in quasi if name not in covered]:
            raise PlanError("scenarios.column-not-covered", column=left[0])
    for scenario in scenarios:
        bound += scenario.bind(scenario.demands(general), quasi, sensitive)
    return tuple(bound)


# -- assessment ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScenarioVerdict:
    """The verdict of one model on the crowds of a scenario.

    Attributes
    ----------
    effective
        The model's figures in the worst crowd of any set.
    sets
        The number of sets examined.
    failing
        bool (n,): the entries of the table in a crowd that fails.
    fails_with
        The columns of the first set that fails; None if none does.
    """

    holds: bool
    effective: dict[str, float | int]
    sets: int
    failing: npt.NDArray[np.bool_] = field(repr=False)
    fails_with: Columns | None = None


def label_columns(frequencies: FrequencySet) -> dict[str, tuple[npt.NDArray[np.int32], int]]:
    """Return the labels of each column as codes, with their number.

    Labels are equal if they are equal in print. Columns are the quasi-identifiers and the sensitive columns.
    """
    found = {d.name: (frequencies.codes[:, j], d.size) for j, d in enumerate(frequencies.quasi)}
    for part in frequencies.spellings:
        found[part.written.name] = (part.codes, part.written.size)
    return found


def crowds_of(
    frequencies: FrequencySet, labels: Mapping[str, tuple[npt.NDArray[np.int32], int]], known: Columns
) -> tuple[npt.NDArray[np.int64], int]:
    """Number the crowds of a set of columns, and return that of each entry."""
    columns = [labels[name] for name in known]
    stacked = np.stack([codes for codes, _ in columns], axis=1) if columns else np.zeros((len(frequencies.count), 0))
    return group_keys(stacked.astype(np.int32, copy=False), [size for _, size in columns])


def assess_scenario(frequencies: FrequencySet, part: InScenario) -> ScenarioVerdict:
    """Assess the crowds of all sets of a scenario."""
    labels = label_columns(frequencies)
    assessed = frequencies
    if part.by_size:  # other histograms are not needed
        person_columns = [s for s, domain in enumerate(frequencies.domains) if domain.people is not None]
        assessed = replace(
            frequencies,
            domains=tuple(frequencies.domains[s] for s in person_columns),
            secrets=frequencies.secrets[:, person_columns],
        )
    failing, fails_with, sets = np.zeros(len(frequencies.count), np.bool_), None, 0
    worst: list[Assessment] = []
    for known in part.sets():
        number, count = crowds_of(frequencies, labels, known)
        verdict = part.assess_known(assessed.groups_of(number, count), known)
        if verdict is None:
            continue
        sets += 1
        worst.append(
            Assessment(
                np.zeros(0, np.bool_), tuple(replace(one, value=np.asarray([one.worst])) for one in verdict.conditions)
            )
        )
        if not verdict.holds.all():
            failing |= ~verdict.holds[number]
            fails_with = known if fails_with is None else fails_with
    conditions = tuple(condition for one in worst for condition in one.conditions)
    effective = Assessment(np.zeros(0, np.bool_), conditions).effective
    return ScenarioVerdict(fails_with is None, effective, sets, failing, fails_with)
