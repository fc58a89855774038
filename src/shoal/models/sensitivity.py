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
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.encoding.groups import Groups, Histogram
from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, Number, SensitiveModel, exact
from shoal.models.k_anonymity import whole_number
from shoal.schema import Domain

__all__ = ["PAlphaSensitive", "PPlusAlphaSensitive", "PSensitive", "weight_units"]


@dataclass(frozen=True)
class PSensitive(SensitiveModel):
    """Every group holds at least ``p`` distinct sensitive values."""

    p: int
    column: str | None = None
    name: ClassVar[str] = "p-sensitive"
    absorbs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_number(self.p, "p", 1)

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """See :class:`shoal.models.base.SensitiveModel`."""
        distinct = histogram.distinct
        return Assessment(distinct >= self.p, (Condition("p", distinct.astype(np.float64), self.p),))


@dataclass(frozen=True)
class _Weighted(SensitiveModel):
    """What (p, α) and (p+, α) share: categories and the total weight of a group."""

    p: int
    alpha: Number
    column: str | None = None
    absorbs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_number(self.p, "p", 1)
        if exact(self.alpha, "alpha") < 0:
            raise PlanError(f"The parameter 'alpha' must not be negative; found {self.alpha!r}.")

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
        parts = histogram.domain.categories - 1
        weight = Condition("alpha", units / parts, float(exact(self.alpha, "alpha")))
        return units >= self.least_units(histogram.domain), weight


def weight_units(histogram: Histogram) -> npt.NDArray[np.int64]:
    """The total weight of every group in whole multiples of 1/(m-1)."""
    category = histogram.domain.category
    assert category is not None
    entries = np.zeros(len(histogram.count) + 1, np.int64)
    np.cumsum(histogram.count * category[histogram.value], out=entries[1:])
    units: npt.NDArray[np.int64] = np.diff(entries[histogram.start])
    return units


@dataclass(frozen=True)
class PAlphaSensitive(_Weighted):
    """Every group holds ``p`` distinct sensitive values and weighs at least ``alpha``."""

    name: ClassVar[str] = "p-alpha-sensitive"

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """See :class:`shoal.models.base.SensitiveModel`."""
        distinct = histogram.distinct
        heavy, weight = self._weigh(histogram)
        values = Condition("p", distinct.astype(np.float64), self.p)
        return Assessment((distinct >= self.p) & heavy, (values, weight))


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
        heavy, weight = self._weigh(histogram)
        return Assessment((distinct >= self.p) & heavy, (Condition("p", distinct.astype(np.float64), self.p), weight))
