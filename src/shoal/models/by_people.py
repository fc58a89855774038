"""A model that counts people: what another model says of groups of rows, said of the people in them.

Where rows of a person can be linked, it is said of all crowds, too: of the people who share what is known of somebody
(:mod:`shoal.table.linked_rows`). How much is known, the model ``trajectory-anonymity`` of a plan says.

Where a column says whose rows they are, every model of a plan is asked of :func:`shoal.table.people.by_people`.
Sizes, different values, categories and weights survive the union with any group, by people as by rows. Shares do not
even survive the union of two good groups: a person in both counts once in their union. So for them nothing is
concluded from one node of a search to another. Proofs and counterexamples are in docs/people.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.models.base import AllOf, Assessment, Model, SensitiveModel
from shoal.models.partial_knowledge import Limited
from shoal.schema import Domain
from shoal.table.groups import Groups
from shoal.table.linked_rows import fold_back, link
from shoal.table.people import by_people
from shoal.table.rules import DISTINCT, Rule

__all__ = ["ByPeople", "counting_people"]


@dataclass(frozen=True)
class ByPeople(Model):
    """Another model, in people."""

    of_rows: Model
    known_rows: int | None = 1
    """How many rows of a person can be known and linked; None for all of them."""
    counts: ClassVar[str] = "people"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the model that it is."""
        return self.of_rows.name

    @property
    def unites(self) -> bool:  # type: ignore[override]
        """What absorbs by rows absorbs by people; what only unites by rows need not unite by people."""
        return self.of_rows.absorbs

    @property
    def absorbs(self) -> bool:  # type: ignore[override]
        """See :attr:`unites`. Rows that are left out change what is known of a person: then nothing absorbs."""
        return self.of_rows.absorbs and self.known_rows == 1

    @property
    def only_people(self) -> bool:  # type: ignore[override]
        """See :class:`shoal.models.base.Model`."""
        return self.of_rows.only_people

    @property
    def sizes_of_people(self) -> bool:
        """Whether it looks at nothing but how many people a group has, which :attr:`least` then says."""
        return self.of_rows.sizes_only and self.known_rows == 1

    @property
    def least(self) -> int:
        """See :class:`shoal.models.base.Model`: so many people have at least as many rows."""
        return self.of_rows.least

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See :class:`shoal.models.base.Model`."""
        return self.of_rows.parameters

    def resized(self, least: int) -> ByPeople:
        """See :class:`shoal.models.base.Model`."""
        return replace(self, of_rows=self.of_rows.resized(least))

    @property
    def start(self) -> Model | None:
        """See :class:`shoal.models.base.Model`."""
        first = self.of_rows.start
        return None if first is None else replace(self, of_rows=first)

    def check(self, domains: tuple[Domain, ...]) -> None:
        """See :class:`shoal.models.base.Model`."""
        if not any(domain.people is not None for domain in domains):
            raise PlanError(f"The model {self.name} counts people; the plan has no column of role person.")
        if not self.of_rows.only_people:
            self.of_rows.check(tuple(domain for domain in domains if domain.people is None))

    def assess(self, groups: Groups) -> Assessment:
        """See :class:`shoal.models.base.Model`."""
        model = self.of_rows
        needed: tuple[str, ...] | None = () if model.sizes_only else None
        if isinstance(model, SensitiveModel):
            held = tuple(h.domain for h in groups.histograms if h.domain.people is None)
            needed = tuple(domain.name for domain in model.columns(held))
        if self.known_rows == 1:
            return model.assess(by_people(groups, needed))
        both, crowds = link(groups, self.known_rows)
        found = model.assess(by_people(both, needed))
        conditions = (
            replace(one, value=fold_back(one.value, crowds, at_least=one.at_least)) for one in found.conditions
        )
        holds = fold_back(found.holds.astype(np.float64), crowds, at_least=True) > 0
        return Assessment(holds, tuple(conditions))

    def bound_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]]
    ) -> list[tuple[int, Rule]]:
        """See :class:`shoal.models.base.Model`: as many people, and of the rest what rows tell of it."""
        person = next(place for place, domain in enumerate(domains) if domain.people is not None)
        others = tuple(domain for domain in domains if domain.people is None)
        kept = [place for place, domain in enumerate(domains) if domain.people is None]
        hints = self.of_rows.bound_rules(others, [totals[place] for place in kept])
        crowd = [(person, Rule(DISTINCT, self.least))] if self.least > 1 else []
        return crowd + [(kept[place], rule) for place, rule in hints]

    def absorbing_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]], *, whole: bool
    ) -> list[tuple[int, Rule]] | None:
        """See :class:`shoal.models.base.Model`: as many people; their values may be of rows in other groups."""
        person = next(place for place, domain in enumerate(domains) if domain.people is not None)
        return [(person, Rule(DISTINCT, self.least))] if self.least > 1 else []

    def __str__(self) -> str:
        return f"{self.of_rows} by people"


def counting_people(model: AllOf) -> AllOf:
    """All models of a plan, in people; those for few known columns count the people who show the same in few."""
    linked = [part for part in model.parts if part.only_people]
    if len(linked) > 1:
        raise PlanError(
            "How many rows of a person can be linked must be said once; the plan has several models that say it. Keep "
            "the one of the largest known_rows, or without known_rows: it implies the others."
        )
    if linked and any(isinstance(part, Limited) for part in model.parts):
        raise PlanError(
            f"Where rows of a person can be linked ({linked[0].name}), all columns of a row are taken to be known; "
            "leave 'known' and [[keys]] out."
        )
    known_rows = linked[0].linked_rows if linked else 1
    return AllOf(
        tuple(
            replace(part, of=ByPeople(part.of)) if isinstance(part, Limited) else ByPeople(part, known_rows)
            for part in model.parts
        )
    )
