"""Trajectory anonymity: nobody is found by several rows, where the rows of a person can be linked.

Every model of a plan that has it is then judged on the people who share what is known, too: k people whose rows look
alike, and who all have one illness, would hide nobody's (docs/people.md, D3 and D4).

Nergiz, Atzori, Saygin and Guc, "Towards trajectory anonymization", 2009; with ``known_rows``: Poulis, Loukides,
Gkoulalas-Divanis and Skiadopoulos, "Anonymizing data with relational and transaction attributes", 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le

from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, Model
from shoal.schema import Domain
from shoal.table.groups import Groups

__all__ = ["TrajectoryAnonymity"]

MOST_KNOWN = 5


@dataclass(frozen=True)
class TrajectoryAnonymity(Model):
    """At least ``k`` people have the same labels in all their rows, or any ``known_rows`` rows of a person.

    >>> TrajectoryAnonymity(5, known_rows=2).name
    'trajectory-anonymity'
    """

    k: Annotated[int, Ge(2)]
    known_rows: Annotated[int, Ge(2), Le(MOST_KNOWN)] | None = None
    name: ClassVar[str] = "trajectory-anonymity"
    says: ClassVar[str] = "Who knows all rows of a person, and can link them, finds at least {k} people who have them."
    sizes_only: ClassVar[bool] = True
    absorbs: ClassVar[bool] = True
    only_people: ClassVar[bool] = True

    @classmethod
    def sentence(cls, parameters: Mapping[str, Any]) -> str:
        """See :class:`shoal.models.base.Model`."""
        if parameters.get("known_rows") is None:
            return cls.says
        return "Who knows {known_rows} rows of a person, and can link them, finds at least {k} people who have them."

    @property
    def least(self) -> int:
        """See :class:`shoal.models.base.Model`."""
        return self.k

    @property
    def linked_rows(self) -> int | None:
        """See :class:`shoal.models.base.Model`."""
        return self.known_rows

    def resized(self, least: int) -> TrajectoryAnonymity:
        """See :class:`shoal.models.base.Model`."""
        return replace(self, k=least)

    def check(self, domains: tuple[Domain, ...]) -> None:
        """See :class:`shoal.models.base.Model`; where people are counted, this is not asked."""
        raise PlanError(
            "The model trajectory-anonymity is about people with several rows: say whose rows they are, with a column "
            "of role person (or --person)."
        )

    def assess(self, groups: Groups) -> Assessment:
        """See :class:`shoal.models.base.Model`; the groups are crowds of people."""
        holds = groups.size >= self.k
        return Assessment(holds, (Condition.of("k", groups.size, self.k, holds),))
