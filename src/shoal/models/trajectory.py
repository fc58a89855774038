"""Trajectory anonymity: several linked rows do not identify a person.

With this model in a plan, every model of the plan is also assessed on the people who share what is known: k people with
identical labels who all have one illness would not hide anyone's illness (docs/people.md, D3 and D4).

Nergiz, Atzori, Saygin and Guc, "Towards trajectory anonymization", 2009; with ``known_rows``: Poulis, Loukides,
Gkoulalas-Divanis and Skiadopoulos, "Anonymizing data with relational and transaction attributes", 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, Model
from shoal.schema import Domain
from shoal.table.groups import Groups

MAX_KNOWN_ROWS = 5


@dataclass(frozen=True)
class TrajectoryAnonymity(Model):
    """At least ``k`` people share all their labels, or ``known_rows`` of them.

    >>> TrajectoryAnonymity(5, known_rows=2).name
    'trajectory-anonymity'
    """

    k: Annotated[int, Ge(2)]
    known_rows: Annotated[int, Ge(2), Le(MAX_KNOWN_ROWS)] | None = None
    name: ClassVar[str] = "trajectory-anonymity"
    supports_people: ClassVar[bool] = True
    summary_template: ClassVar[str] = (
        "Who knows all rows of a person, and can link them, finds at least {k} people who have them."
    )
    sizes_only: ClassVar[bool] = True
    closed_under_superset: ClassVar[bool] = True
    requires_people: ClassVar[bool] = True

    @classmethod
    @override
    def sentence(cls, parameters: Mapping[str, Any]) -> str:
        if parameters.get("known_rows") is None:
            return cls.summary_template
        return "Who knows {known_rows} rows of a person, and can link them, finds at least {k} people who have them."

    @property
    @override
    def least(self) -> int:
        return self.k

    @property
    @override
    def linked_rows(self) -> int | None:
        return self.known_rows

    @override
    def with_group_size(self, least: int) -> TrajectoryAnonymity:
        return replace(self, k=least)

    @override
    def check(self, domains: tuple[Domain, ...]) -> None:
        """Raise :class:`PlanError`: the model applies only if people are counted."""
        raise PlanError("models.trajectory-needs-person")

    @override
    def assess(self, groups: Groups) -> Assessment:
        """Assess crowds of people, which are passed as groups."""
        holds = groups.size >= self.k
        return Assessment(holds, (Condition.of("k", groups.size, self.k, holds),))
