"""p-sensitive k-anonymity and its two enhancements: (p, α) and (p+, α).

Each group holds p distinct sensitive values (p-sensitive, (p, α)) or values of p distinct categories
((p+, α)), and its rows together weigh at least α, where a value of category S_i of m weighs (i-1)/(m-1).
The size of groups is a model of its own: combine with :class:`KAnonymity`.

Truta and Vinay, "Privacy protection: p-sensitive k-anonymity property", 2006; Sun, Wang, Truta, Li and Li,
"(p+, α)-sensitive k-anonymity", 2008, section 3; Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity
models for privacy preserving data publishing", 2008, section 3. Algorithm 1 of the former stops at the first
good group and so accepts tables that it should not; here every group is tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from annotated_types import Ge

from shoal.encoding.groups import Groups, Histogram, sum_by
from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, Number, SensitiveModel, exact
from shoal.models.comparison import fitting
from shoal.schema import Domain

__all__ = ["PAlphaSensitive", "PPlusAlphaSensitive", "PSensitive", "weight_units"]


@dataclass(frozen=True)
class PSensitive(SensitiveModel):
    """Every group holds at least ``p`` distinct sensitive values."""

    p: Annotated[int, Ge(1)]
    column: str | None = None
    name: ClassVar[str] = "p-sensitive"
    absorbs: ClassVar[bool] = True

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """See :class:`shoal.models.base.SensitiveModel`."""
        holds = histogram.distinct >= self.p
        return Assessment(holds, (Condition.of("p", histogram.distinct, self.p, holds),))


@dataclass(frozen=True)
class _Weighted(SensitiveModel):
    """What (p, α) and (p+, α) share: categories and the total weight of a group."""

    p: Annotated[int, Ge(1)]
    alpha: Annotated[Number, Ge(0)]
    column: str | None = None
    absorbs: ClassVar[bool] = True

    def check(self, domains: tuple[Domain, ...]) -> None:
        """See :class:`shoal.models.base.Model`."""
        for domain in self.columns(domains):
            if domain.category is None:
                raise PlanError(
                    f"The model {self.name} needs sensitivity categories of column {domain.name!r}; it has none. "
                    f"List them under the column, the most sensitive first."
                )

    def least_units(self, domain: Domain) -> int:
        """α in whole multiples of 1/(m-1), rounded up."""
        return math.ceil(exact(self.alpha, "alpha") * (domain.categories - 1))

    def _weigh(self, histogram: Histogram) -> tuple[npt.NDArray[np.bool_], Condition]:
        units = weight_units(histogram)
        heavy = np.asarray(units >= self.least_units(histogram.domain), np.bool_)
        share = units / (histogram.domain.categories - 1)
        return heavy, Condition.of("alpha", share, exact(self.alpha, "alpha"), heavy)


def weight_units(histogram: Histogram) -> npt.NDArray[Any]:
    """The total weight of every group in whole multiples of 1/(m-1)."""
    category = histogram.domain.category
    assert category is not None
    kind = fitting(int(histogram.known.max(initial=0)) * histogram.domain.categories)
    entries = histogram.count.astype(kind) * category[histogram.value]
    return sum_by(histogram.owner, entries, len(histogram.known))


@dataclass(frozen=True)
class PAlphaSensitive(_Weighted):
    """Every group holds ``p`` distinct sensitive values and weighs at least ``alpha``."""

    name: ClassVar[str] = "p-alpha-sensitive"

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """See :class:`shoal.models.base.SensitiveModel`."""
        diverse = histogram.distinct >= self.p
        heavy, weight = self._weigh(histogram)
        return Assessment(diverse & heavy, (Condition.of("p", histogram.distinct, self.p, diverse), weight))


@dataclass(frozen=True)
class PPlusAlphaSensitive(_Weighted):
    """Every group holds values of ``p`` distinct categories and weighs at least ``alpha``."""

    name: ClassVar[str] = "p-plus-alpha-sensitive"

    def check(self, domains: tuple[Domain, ...]) -> None:
        """See :class:`shoal.models.base.Model`."""
        super().check(domains)
        for domain in self.columns(domains):
            if self.p > domain.categories:
                raise PlanError(
                    f"The model {self.name} asks for p = {self.p} categories, but column {domain.name!r} has only "
                    f"{domain.categories}. Lower p."
                )

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """See :class:`shoal.models.base.SensitiveModel`."""
        category = histogram.domain.category
        assert category is not None
        present = np.zeros((groups.count, histogram.domain.categories), np.bool_)
        present[histogram.owner, category[histogram.value]] = True
        distinct = present.sum(axis=1)
        diverse = distinct >= self.p
        heavy, weight = self._weigh(histogram)
        return Assessment(diverse & heavy, (Condition.of("p", distinct, self.p, diverse), weight))
