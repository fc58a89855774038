"""k-anonymity: every group has at least k rows.

Sweeney, "k-anonymity: a model for protecting privacy", 2002.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from annotated_types import Ge
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, Model
from shoal.table.groups import Groups


def whole_number(value: object, name: str, least: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PlanError("models.parameter-not-whole-number", parameter=name, least=least, found=value)


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every group has at least ``k`` rows.

    >>> KAnonymity(4).name
    'k-anonymity'
    """

    k: Annotated[int, Ge(2)]
    name: ClassVar[str] = "k-anonymity"
    supports_people: ClassVar[bool] = True
    summary_template: ClassVar[str] = "Every group, that is all rows that look alike, has at least {k} rows."
    people_summary_template: ClassVar[str] = (
        "Every group, that is all rows that look alike, has rows of at least {k} people."
    )
    closed_under_superset: ClassVar[bool] = True
    sizes_only: ClassVar[bool] = True

    @property
    @override
    def least(self) -> int:
        return self.k

    @override
    def with_group_size(self, least: int) -> KAnonymity:
        return replace(self, k=least)

    @property
    @override
    def start(self) -> KAnonymity:
        return self

    @override
    def assess(self, groups: Groups) -> Assessment:
        holds = groups.size >= self.k
        return Assessment(holds, (Condition.of("k", groups.size, self.k, holds),))
