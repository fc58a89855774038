"""Base classes of privacy models: conditions that every group must meet.

A model is a frozen dataclass. ``assess`` takes groups and returns, for each, whether the model holds and how far
the group is from meeting it. ``&`` combines models. A model on a sensitive column applies to every sensitive column
unless it names one.

The search methods rely on two kinds of monotonicity:

* a model with ``closed_under_union = True`` holds for the union of two groups that meet it, so that a table that meets
  it still does when it is generalized further;
* a model with ``closed_under_superset = True`` holds for the union of a group that meets it with *any* group. Only then
  may a search with suppression conclude from a node to its generalizations.

A missing sensitive value never helps: it is not a distinct value, weighs nothing, and is ignored in shares and
distributions, which are over the known values. A group without a known value meets no model on that column.

A plan may call values of a sensitive column harmless, and missing ones too. No model counts a group as disclosed
because of them: docs/models.md defines each model for such columns. Compiled searches have no rules for them, unless a
rule of another kind says the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.exact_comparison import align_with_verdict, as_float
from shoal.models.superset_rules import superset_part
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Validated, changed_fields
from shoal.schema import Domain
from shoal.table.groups import Groups, Histogram
from shoal.table.rules import Rule

RELAXED_VALUES = (20, 10, 5, 4, 3, 2)
"""Values to which a whole-number parameter is lowered, to find out what it costs."""


@dataclass(frozen=True)
class Condition:
    """One figure of every group, with the bound that it must meet.

    ``parameter`` names the model's parameter that the figure belongs to. Verdicts are not derived from these figures,
    which are rounded, but the two never contradict each other.
    """

    parameter: str
    value: npt.NDArray[np.float64]
    bound: float
    at_least: bool = True

    @classmethod
    def of(
        cls,
        parameter: str,
        value: npt.NDArray[Any],
        bound: Fraction | int,
        holds: npt.NDArray[np.bool_],
        *,
        at_least: bool = True,
        strict: bool = False,
    ) -> Condition:
        """Return figures that agree with an exact verdict.

        ``strict`` is for verdicts that fail at the bound itself.
        """
        limit = as_float(bound)
        return cls(
            parameter, align_with_verdict(value, limit, holds, at_least=at_least, strict=strict), limit, at_least
        )

    @property
    def worst(self) -> float:
        """The figure of the worst group: the parameter that the table attains."""
        if not len(self.value):
            return math.inf if self.at_least else 0.0
        return float(self.value.min() if self.at_least else self.value.max())


@dataclass(frozen=True)
class Assessment:
    """The verdict on every group, and the figures behind it."""

    holds: npt.NDArray[np.bool_]
    conditions: tuple[Condition, ...]

    @property
    def effective(self) -> dict[str, float | int]:
        """The parameters that the table attains.

        That is the largest k, p, l, alpha, the smallest t, ...
        """
        worst: dict[str, float | int] = {}
        for condition in self.conditions:
            value = condition.worst
            if condition.parameter in worst:
                choose = min if condition.at_least else max
                value = choose(value, worst[condition.parameter])
            worst[condition.parameter] = int(value) if math.isfinite(value) and value == int(value) else value
        return worst


@dataclass(frozen=True)
class Model(Validated):
    """Base class of all models."""

    name: ClassVar[str]
    summary_template: ClassVar[str] = "Every group meets a condition of this name."
    """The model's guarantee as a sentence: {name} is a parameter, {column} the sensitive column."""
    people_summary_template: ClassVar[str] = ""
    """The same for counts of people, if that needs other words."""
    closed_under_union: ClassVar[bool] = True
    closed_under_superset: ClassVar[bool] = False
    counts: ClassVar[str] = "rows"
    """What the model counts: rows, or people if a column names the person of each row."""
    sizes_only: ClassVar[bool] = False
    """Whether the model depends on group sizes alone; :attr:`least` is then the size that it requires."""
    uses_shares: ClassVar[bool] = True
    """Whether the model looks at the shares of values in a group, not only at distinct values and weights."""
    supports_people: ClassVar[bool] = False
    """Whether the model is also right for counts of people.

    Groups of people have sizes in people, and counts of values in fractions of a person, since the rows of a person
    share one person. A model that compares counts with sizes or with a number of rows is wrong for them.
    """
    requires_people: ClassVar[bool] = False
    """Whether the model needs a column that names the person of each row."""
    supports_harmless: ClassVar[bool] = False
    """Whether the model is defined for columns with harmless values (:attr:`shoal.schema.Domain.harmless`)."""
    harmless_template: ClassVar[str] = "The plan calls some values of {harmless} harmless: only the others count here."
    """What the model's sentence adds for columns with harmless values."""
    rules_are_exact: ClassVar[bool] = False
    """Whether a group of at least :attr:`least` rows meets the model if and only if it meets its rules.

    A search that needs an exact verdict on every group may then use compiled code; otherwise it calls :meth:`assess`.
    """

    needs_population: ClassVar[bool] = False
    """Whether the model counts people of a population (:mod:`shoal.models.population`)."""
    needs_disjoint_labels: ClassVar[bool] = False
    """Whether the model is defined only where nobody of the population fits several groups."""
    initial_parameters: ClassVar[Mapping[str, Any]] = {}
    """Parameters of a new model where none must be given."""
    of_table: ClassVar[bool] = False
    """Whether groups are judged together: an average or a share of the table (:mod:`shoal.models.of_table`)."""
    binds_all_columns: ClassVar[bool] = True
    """Whether the model is about the groups of all quasi-identifiers together; otherwise about sets of columns."""

    @property
    def row_model(self) -> Model:
        """The model in terms of rows, which the independent verification defines."""
        return self

    @classmethod
    def sentence(cls, parameters: Mapping[str, Any]) -> str:
        """Return the guarantee for some parameters: see :attr:`summary_template`."""
        return cls.summary_template

    @property
    def least(self) -> int:
        """The smallest group size that can meet the model.

        Only the model's parameters are considered.
        """
        return 1

    @property
    def counts_only(self) -> bool:
        """Return whether numbers of rows and people of groups alone decide."""
        return self.sizes_only

    @property
    def sufficient_size(self) -> int:
        """The size of groups that implies the model, for one of the whole table."""
        return self.least

    @property
    def linked_rows(self) -> int | None:
        """The number of rows of a person that an intruder knows and can link.

        None stands for all rows.
        """
        return 1

    def assess(self, groups: Groups) -> Assessment:
        """Evaluate which groups meet the model, and how far each is from it."""
        raise NotImplementedError

    def bound_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]]
    ) -> list[tuple[int, Rule]]:
        """Return the model's rules, each with the position of its column."""
        return []

    def superset_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]], *, whole: bool
    ) -> list[tuple[int, Rule]] | None:
        """Return rules that every superset of a group of the model meets.

        They apply in addition to :attr:`least`. ``whole`` states that no row is suppressed. Return None if such a set
        need not even meet :attr:`least`. See :mod:`shoal.models.superset_rules`.
        """
        parts = [(at, superset_part(rule, totals[at], whole=whole)) for at, rule in self.bound_rules(domains, totals)]
        return [(at, part) for at, part in parts if part is not None]

    def check(self, domains: tuple[Domain, ...]) -> None:
        """Raise :class:`PlanError` if the model does not fit these columns."""

    def require_harmless_support(self, domains: tuple[Domain, ...]) -> None:
        """Raise if a column has harmless values and the model has no meaning then."""
        if self.sizes_only or self.supports_harmless:
            return
        for domain in domains:
            if domain.harmless is not None:
                raise PlanError("models.harmless-not-possible", model=self.name, column=domain.name)

    def has_exact_rules(self, domains: tuple[Domain, ...]) -> bool:
        """Return whether compiled rules decide the model on these columns."""
        return self.sizes_only or (self.rules_are_exact and all(domain.harmless is None for domain in domains))

    def with_group_size(self, least: int) -> Model:
        """Return the model for another group size.

        A model that is not about sizes alone returns itself.
        """
        return self

    def relaxations(self) -> Iterator[tuple[str, int, Model]]:
        """Yield models with one whole-number parameter lowered.

        Each item is the parameter's name, its lower value, and the model with that value.
        """
        for part in fields(self):
            value = getattr(self, part.name)
            if not isinstance(value, bool) and isinstance(value, int) and value > 2:
                lower = next(number for number in RELAXED_VALUES if number < value)
                yield part.name, lower, replace(self, **{part.name: lower})

    @property
    def start(self) -> Model | None:
        """The model that initial groups must meet before rows are switched.

        None stands for no model.
        """
        return None

    def __and__(self, other: Model) -> AllOf:
        return AllOf((*self.parts, *other.parts))

    @property
    def parts(self) -> tuple[Model, ...]:
        """The models that this one consists of."""
        return (self,)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's parameters by name, except those that are None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: value for key, value in values.items() if value is not None}

    def to_plan(self) -> dict[str, Any]:
        """Return the model as a section of a plan."""
        return {"name": self.name, **changed_fields(self)}

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.parameters.items())})"


@dataclass(frozen=True)
class SensitiveModel(Model):
    """Base class of models on sensitive columns: all of them, or a named one."""

    def columns(self, domains: tuple[Domain, ...]) -> tuple[Domain, ...]:
        """Return the sensitive columns that the model applies to."""
        column = getattr(self, "column", None)
        if not domains:
            raise PlanError("models.no-sensitive-column", model=self.name)
        if column is None:
            return domains
        chosen = tuple(domain for domain in domains if domain.name == column)
        if not chosen:
            raise PlanError(
                "models.column-not-sensitive",
                model=self.name,
                column=column,
                sensitive=", ".join(repr(domain.name) for domain in domains),
            )
        return chosen

    @override
    def check(self, domains: tuple[Domain, ...]) -> None:
        self.columns(domains)

    @override
    def require_harmless_support(self, domains: tuple[Domain, ...]) -> None:
        super().require_harmless_support(self.columns(domains))

    @override
    def has_exact_rules(self, domains: tuple[Domain, ...]) -> bool:
        return super().has_exact_rules(self.columns(domains))

    @override
    def assess(self, groups: Groups) -> Assessment:
        holds = np.ones(groups.count, np.bool_)
        conditions: list[Condition] = []
        for domain in self.columns(tuple(histogram.domain for histogram in groups.histograms)):
            one = self.assess_column(groups, groups.histogram(domain.name))
            holds &= one.holds
            conditions += one.conditions
        return Assessment(holds, tuple(conditions))

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """Evaluate the model on one sensitive column."""
        raise NotImplementedError

    @override
    def bound_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]]
    ) -> list[tuple[int, Rule]]:
        positions = {domain.name: number for number, domain in enumerate(domains)}
        return [
            (positions[domain.name], rule)
            for domain in self.columns(domains)
            for rule in self._rules_of(domain, totals[positions[domain.name]]) or ()
        ]

    def _rules_of(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...] | None:
        return self.rules(domain, totals) if domain.harmless is None else self.harmless_rules(domain)

    def harmless_rules(self, domain: Domain) -> tuple[Rule, ...]:
        """Return the rules on a column with harmless values, if there are any."""
        return ()

    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...] | None:
        """Return the rules of the model on one sensitive column, if it has any.

        Compiled searches evaluate them. ``totals`` are the table's counts of each value, int64 (values,). A model
        without rules returns None, and a search runs without them; the model then assesses the resulting groups, which
        are merged until it holds.
        """
        return None


@dataclass(frozen=True)
class AllOf(Model):
    """The conjunction of several models."""

    models: tuple[Model, ...] = ()
    name: ClassVar[str] = "all-of"

    @property
    def closed_under_union(self) -> bool:  # type: ignore[override]
        """Return whether every part is closed under union."""
        return all(model.closed_under_union for model in self.models)

    @property
    def closed_under_superset(self) -> bool:  # type: ignore[override]
        """Return whether every part is closed under superset."""
        return all(model.closed_under_superset for model in self.models)

    @property
    def sizes_only(self) -> bool:  # type: ignore[override]
        """Return whether every part depends on group sizes alone."""
        return all(model.sizes_only for model in self.models)

    @property
    def of_table(self) -> bool:  # type: ignore[override]
        """Return whether a part is about the whole table."""
        return any(model.of_table for model in self.models)

    @property
    def needs_population(self) -> bool:  # type: ignore[override]
        """Return whether a part counts people of a population."""
        return any(model.needs_population for model in self.models)

    @property
    @override
    def least(self) -> int:
        return max((model.least for model in self.models), default=1)

    @property
    @override
    def parts(self) -> tuple[Model, ...]:
        return self.models

    @property
    def of_all_columns(self) -> AllOf:
        """The parts about groups of all quasi-identifiers together."""
        return AllOf(tuple(part for part in self.models if part.binds_all_columns))

    @property
    def of_some_columns(self) -> tuple[Model, ...]:
        """The parts about sets of columns."""
        return tuple(part for part in self.models if not part.binds_all_columns)

    @override
    def superset_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]], *, whole: bool
    ) -> list[tuple[int, Rule]] | None:
        found: list[tuple[int, Rule]] = []
        for model in self.models:
            rules = model.superset_rules(domains, totals, whole=whole)
            if rules is None:
                return None
            found += rules
        return found

    @override
    def require_harmless_support(self, domains: tuple[Domain, ...]) -> None:
        for model in self.models:
            model.require_harmless_support(domains)

    @override
    def check(self, domains: tuple[Domain, ...]) -> None:
        self.require_harmless_support(domains)
        for model in self.models:
            model.check(domains)

    @override
    def assess(self, groups: Groups) -> Assessment:
        holds = np.ones(groups.count, np.bool_)
        conditions: list[Condition] = []
        for model in self.models:
            one = model.assess(groups)
            holds &= one.holds
            conditions += one.conditions
        return Assessment(holds, tuple(conditions))

    def __str__(self) -> str:
        return " & ".join(map(str, self.models))
