"""Models that count people instead of rows.

If the rows of a person can be linked, the model must also hold for all crowds: the sets of people who share what an
intruder knows of somebody (:mod:`shoal.table.linked_rows`). The plan's model ``trajectory-anonymity`` states how much
is known.

If a column names the person of each row, every model of a plan is assessed on :func:`shoal.table.people.by_people`.
Sizes, distinct values, categories and weights are closed under superset, for people as for rows. Shares are not even
closed under union: a person in both groups counts once in their union. So for shares a search concludes nothing from
one node to another. Proofs and counterexamples are in docs/people.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import AllOf, Assessment, Model, SensitiveModel
from shoal.models.partial_knowledge import PartialKnowledge
from shoal.models.scenarios import InScenario
from shoal.schema import Domain
from shoal.table.groups import Groups
from shoal.table.linked_rows import add_crowds, worst_per_group
from shoal.table.people import by_people
from shoal.table.rules import DISTINCT, Rule


@dataclass(frozen=True)
class ByPeople(Model):
    """Another model, applied to people instead of rows."""

    of_rows: Model
    known_rows: int | None = 1
    """The number of rows of a person that can be known and linked; None for all."""
    counts: ClassVar[str] = "people"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the model that is applied."""
        return self.of_rows.name

    @property
    @override
    def row_model(self) -> Model:
        return self.of_rows

    @property
    def closed_under_union(self) -> bool:  # type: ignore[override]
        """Return whether the row model is closed under superset.

        A model that is only closed under union of rows need not be closed under union of people.
        """
        return self.of_rows.closed_under_superset

    @property
    @override
    def closed_under_superset(self) -> bool:  # type: ignore[override]
        """Return whether one row is known and the row model has the property.

        With several known rows, suppressing a row changes what is known of a person, so that no model is closed under
        superset.
        """
        return self.of_rows.closed_under_superset and self.known_rows == 1

    @property
    @override
    def needs_population(self) -> bool:  # type: ignore[override]
        return self.of_rows.needs_population

    @property
    @override
    def of_table(self) -> bool:  # type: ignore[override]
        return self.of_rows.of_table

    @property
    @override
    def sufficient_size(self) -> int:
        return self.of_rows.sufficient_size

    @property
    @override
    def requires_people(self) -> bool:  # type: ignore[override]
        return self.of_rows.requires_people

    @property
    def people_sizes_only(self) -> bool:
        """Return whether the number of people in a group alone decides.

        :attr:`least` is then the number that the model requires.
        """
        return self.of_rows.sizes_only and self.known_rows == 1

    @property
    @override
    def least(self) -> int:
        """The smallest group size: that many people have at least as many rows."""
        return self.of_rows.least

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        return self.of_rows.parameters

    @override
    def with_group_size(self, least: int) -> ByPeople:
        return replace(self, of_rows=self.of_rows.with_group_size(least))

    @property
    @override
    def start(self) -> Model | None:
        initial = self.of_rows.start
        return None if initial is None else replace(self, of_rows=initial)

    @override
    def require_harmless_support(self, domains: tuple[Domain, ...]) -> None:
        self.of_rows.require_harmless_support(tuple(domain for domain in domains if domain.people is None))

    @override
    def check(self, domains: tuple[Domain, ...]) -> None:
        if not any(domain.people is not None for domain in domains):
            raise PlanError("models.no-person-column", model=self.name)
        if not self.of_rows.requires_people:
            self.of_rows.check(tuple(domain for domain in domains if domain.people is None))

    @override
    def assess(self, groups: Groups) -> Assessment:
        model = self.of_rows
        needed: tuple[str, ...] | None = () if model.sizes_only else None
        if isinstance(model, SensitiveModel):
            domains = tuple(h.domain for h in groups.histograms if h.domain.people is None)
            needed = tuple(domain.name for domain in model.columns(domains))
        if self.known_rows == 1:
            return model.assess(by_people(groups, needed, shares=model.uses_shares))
        both, crowds = add_crowds(groups, self.known_rows)
        found = model.assess(by_people(both, needed, shares=model.uses_shares))
        conditions = (
            replace(one, value=worst_per_group(one.value, crowds, at_least=one.at_least)) for one in found.conditions
        )
        holds = worst_per_group(found.holds.astype(np.float64), crowds, at_least=True) > 0
        return Assessment(holds, tuple(conditions))

    @override
    def bound_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]]
    ) -> list[tuple[int, Rule]]:
        """Return a rule on the number of people, and row rules as hints."""
        person = next(position for position, domain in enumerate(domains) if domain.people is not None)
        others = tuple(domain for domain in domains if domain.people is None)
        positions = [position for position, domain in enumerate(domains) if domain.people is None]
        hints = self.of_rows.bound_rules(others, [totals[position] for position in positions])
        size_rules = [(person, Rule(DISTINCT, self.least))] if self.least > 1 else []
        return size_rules + [(positions[position], rule) for position, rule in hints]

    @override
    def superset_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]], *, whole: bool
    ) -> list[tuple[int, Rule]] | None:
        """Return a rule on the number of people.

        The values of these people may be in rows of other groups, so nothing follows for them.
        """
        person = next(position for position, domain in enumerate(domains) if domain.people is not None)
        return [(person, Rule(DISTINCT, self.least))] if self.least > 1 else []

    def __str__(self) -> str:
        return f"{self.of_rows} by people"


def as_people_models(model: AllOf) -> AllOf:
    """Convert all models of a plan to count people.

    Models for partial knowledge and of scenarios count the people who agree on the known columns.
    """
    linked = [part for part in model.parts if part.requires_people]
    if len(linked) > 1:
        raise PlanError("models.linked-rows-said-twice")
    if linked and any(isinstance(part, PartialKnowledge) for part in model.parts):
        raise PlanError("models.known-with-linked-rows", model=linked[0].name)
    if linked and model.of_table:
        raise PlanError("models.table-with-linked-rows", model=linked[0].name)
    for part in model.parts:
        if not (part.of if isinstance(part, PartialKnowledge | InScenario) else part).supports_people:
            raise PlanError("models.counts-rows-only", model=part.name)
    known_rows = linked[0].linked_rows if linked else 1
    return AllOf(tuple(_as_people_model(part, known_rows) for part in model.parts))


def _as_people_model(part: Model, known_rows: int | None) -> Model:
    if isinstance(part, PartialKnowledge):
        return replace(part, of=ByPeople(part.of))
    if isinstance(part, InScenario):
        return replace(part, of=ByPeople(part.of, known_rows))
    return ByPeople(part, known_rows)
