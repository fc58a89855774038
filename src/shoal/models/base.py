"""What a model is: a condition that every group must meet.

A model is a frozen dataclass. ``assess`` takes groups and tells for each whether the model holds and how
far it is from holding; ``&`` combines models. What depends on a sensitive column holds for every sensitive
column, unless the model names one.

Two kinds of monotonicity serve the search methods:

* a model with ``unites = True`` survives the union of two groups that meet it, so that a table stays good
  when it is generalized further;
* a model with ``absorbs = True`` survives the union of a group that meets it with *any* group. Only then
  may a search that leaves rows out conclude from a node to its generalizations.

A missing sensitive value never helps: it is no distinct value, weighs nothing, and has no part in shares and
distributions, which are over the known values. A group of which no value is known meets no such model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.models.exact_comparison import as_float, settle
from shoal.models.superset_rules import absorbing_part
from shoal.runtime.validation import Checked, Number
from shoal.schema import Domain
from shoal.schema.hierarchy import changed
from shoal.table.groups import Groups, Histogram
from shoal.table.rules import Rule

__all__ = ["AllOf", "Assessment", "Condition", "Model", "Number", "SensitiveModel"]

SMALLER = (20, 10, 5, 4, 3, 2)
"""What a whole parameter is lowered to, to see what it costs."""


@dataclass(frozen=True)
class Condition:
    """One figure of every group beside the bound it must keep.

    ``parameter`` names the model's parameter that the figure answers. Verdicts are not read off these figures, which
    are rounded; but they never contradict them.
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
        """Figures that agree with a verdict that was reached exactly; ``strict`` verdicts fail at the bound itself."""
        limit = as_float(bound)
        return cls(parameter, settle(value, limit, holds, at_least=at_least, strict=strict), limit, at_least)

    @property
    def worst(self) -> float:
        """The figure of the worst group: the parameter that the table really has."""
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
        """The parameters that the table really has: the largest k, p, l, alpha, the smallest t, ..."""
        worst: dict[str, float | int] = {}
        for condition in self.conditions:
            value = condition.worst
            if condition.parameter in worst:
                choose = min if condition.at_least else max
                value = choose(value, worst[condition.parameter])
            worst[condition.parameter] = int(value) if math.isfinite(value) and value == int(value) else value
        return worst


@dataclass(frozen=True)
class Model(Checked):
    """Base of all models."""

    name: ClassVar[str]
    says: ClassVar[str] = "Every group meets a condition of this name."
    """What the model promises, in a sentence for people: {name} is a parameter, {column} what the model is about."""
    says_of_people: ClassVar[str] = ""
    """The same where people are counted, if that needs other words."""
    unites: ClassVar[bool] = True
    absorbs: ClassVar[bool] = False
    counts: ClassVar[str] = "rows"
    """What the model counts: rows, or people where a column says whose rows they are."""
    sizes_only: ClassVar[bool] = False
    """Whether the model looks at nothing but how many rows a group has, which :attr:`least` then says."""
    only_people: ClassVar[bool] = False
    """Whether the model can be asked only where it is known whose rows they are."""
    rules_decide: ClassVar[bool] = False
    """Whether a group of at least :attr:`least` rows meets the model if and only if it meets its rules.

    A search that must be right at every group may then ask compiled code; else it asks :meth:`assess`.
    """

    @classmethod
    def sentence(cls, parameters: Mapping[str, Any]) -> str:
        """What the model promises with some parameters: see :attr:`says`."""
        return cls.says

    @property
    def least(self) -> int:
        """The smallest group that can meet the model, as far as its parameters alone tell."""
        return 1

    @property
    def linked_rows(self) -> int | None:
        """How many rows of a person the model takes an intruder to know and to link; None for all."""
        return 1

    def assess(self, groups: Groups) -> Assessment:
        """Which groups meet the model, and how far each is from it."""
        raise NotImplementedError

    def bound_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]]
    ) -> list[tuple[int, Rule]]:
        """The rules of the model on a table's sensitive columns, each with the place of its column."""
        return []

    def absorbing_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]], *, whole: bool
    ) -> list[tuple[int, Rule]] | None:
        """Rules of which every set of rows that holds a group of the model meets all, beside :attr:`least`.

        ``whole`` tells that no row is left out. None where not even :attr:`least` holds of such a set. See
        :mod:`shoal.models.superset_rules`.
        """
        parts = [(at, absorbing_part(rule, totals[at], whole=whole)) for at, rule in self.bound_rules(domains, totals)]
        return [(at, part) for at, part in parts if part is not None]

    def check(self, domains: tuple[Domain, ...]) -> None:
        """Raise :class:`PlanError` where the model makes no sense for these sensitive columns."""

    def resized(self, least: int) -> Model:
        """The same model for groups of another size; itself where it is not about sizes alone."""
        return self

    def eased(self) -> Iterator[tuple[str, int, Model]]:
        """The model with one whole parameter lowered: its name, what it is then, and the model."""
        for part in fields(self):
            value = getattr(self, part.name)
            if not isinstance(value, bool) and isinstance(value, int) and value > 2:
                lower = next(number for number in SMALLER if number < value)
                yield part.name, lower, replace(self, **{part.name: lower})

    @property
    def start(self) -> Model | None:
        """What groups should meet before rows are switched between them to meet this model; None for nothing."""
        return None

    def __and__(self, other: Model) -> AllOf:
        return AllOf((*self.parts, *other.parts))

    @property
    def parts(self) -> tuple[Model, ...]:
        """The models that this one is made of."""
        return (self,)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's parameters by name, those left at None excepted."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: value for key, value in given.items() if value is not None}

    def to_plan(self) -> dict[str, Any]:
        """The model as a section of a plan."""
        return {"name": self.name, **changed(self)}

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.parameters.items())})"


@dataclass(frozen=True)
class SensitiveModel(Model):
    """Base of the models that look at sensitive columns: all of them, or the one that is named."""

    def columns(self, domains: tuple[Domain, ...]) -> tuple[Domain, ...]:
        """The sensitive columns that the model is about."""
        column = getattr(self, "column", None)
        if not domains:
            raise PlanError(f"The model {self.name} needs a sensitive column; the plan has none.")
        if column is None:
            return domains
        chosen = tuple(domain for domain in domains if domain.name == column)
        if not chosen:
            raise PlanError(
                f"The model {self.name} is about column {column!r}, which is not a sensitive column. Sensitive are: "
                f"{', '.join(repr(domain.name) for domain in domains)}."
            )
        return chosen

    def check(self, domains: tuple[Domain, ...]) -> None:
        """See :class:`Model`."""
        self.columns(domains)

    def assess(self, groups: Groups) -> Assessment:
        """See :class:`Model`."""
        holds = np.ones(groups.count, np.bool_)
        conditions: list[Condition] = []
        for domain in self.columns(tuple(histogram.domain for histogram in groups.histograms)):
            one = self.assess_column(groups, groups.histogram(domain.name))
            holds &= one.holds
            conditions += one.conditions
        return Assessment(holds, tuple(conditions))

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """The verdict for one sensitive column."""
        raise NotImplementedError

    def bound_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]]
    ) -> list[tuple[int, Rule]]:
        """See :class:`Model`."""
        place = {domain.name: number for number, domain in enumerate(domains)}
        return [
            (place[domain.name], rule)
            for domain in self.columns(domains)
            for rule in self.rules(domain, totals[place[domain.name]]) or ()
        ]

    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...] | None:
        """The model on one sensitive column, as rules that compiled searches evaluate; None where it has none.

        ``totals`` are the table's counts of each value, int64 (values,). Where a model has no rules, a search goes on
        without them; its groups are assessed by the model itself afterwards, and joined until it holds.
        """
        return None


@dataclass(frozen=True)
class AllOf(Model):
    """Several models at once."""

    models: tuple[Model, ...] = ()
    name: ClassVar[str] = "all-of"

    @property
    def unites(self) -> bool:  # type: ignore[override]
        """True where every part unites."""
        return all(model.unites for model in self.models)

    @property
    def absorbs(self) -> bool:  # type: ignore[override]
        """True where every part absorbs."""
        return all(model.absorbs for model in self.models)

    @property
    def sizes_only(self) -> bool:  # type: ignore[override]
        """True where every part looks at sizes alone."""
        return all(model.sizes_only for model in self.models)

    @property
    def least(self) -> int:
        """See :class:`Model`."""
        return max((model.least for model in self.models), default=1)

    @property
    def parts(self) -> tuple[Model, ...]:
        """See :class:`Model`."""
        return self.models

    def absorbing_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]], *, whole: bool
    ) -> list[tuple[int, Rule]] | None:
        """See :class:`Model`."""
        found: list[tuple[int, Rule]] = []
        for model in self.models:
            rules = model.absorbing_rules(domains, totals, whole=whole)
            if rules is None:
                return None
            found += rules
        return found

    def check(self, domains: tuple[Domain, ...]) -> None:
        """See :class:`Model`."""
        for model in self.models:
            model.check(domains)

    def assess(self, groups: Groups) -> Assessment:
        """See :class:`Model`."""
        holds = np.ones(groups.count, np.bool_)
        conditions: list[Condition] = []
        for model in self.models:
            one = model.assess(groups)
            holds &= one.holds
            conditions += one.conditions
        return Assessment(holds, tuple(conditions))

    def __str__(self) -> str:
        return " & ".join(map(str, self.models))
