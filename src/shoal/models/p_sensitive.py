"""p-sensitive k-anonymity and its two enhancements: (p, α) and (p+, α).

Each group contains p distinct sensitive values (p-sensitive, (p, α)) or values of p distinct categories ((p+, α)), and
the weights of its rows add up to at least α, where a value of category S_i of m weighs (i-1)/(m-1). Group size is a
separate model: combine with :class:`KAnonymity`.

With harmless values, a group in which somebody has one meets the condition on distinct values or categories; otherwise
they are all harmful, and counted as ever. A harmless value weighs 1. All three stay closed under superset.

Truta and Vinay, "Privacy protection: p-sensitive k-anonymity property", 2006; Sun, Wang, Truta, Li and Li,
"(p+, α)-sensitive k-anonymity", 2008, section 3; Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity
models for privacy preserving data publishing", 2008, section 3. Algorithm 1 of the former stops at the first
good group and so accepts tables that it should not; here every group is tested.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
from annotated_types import Ge
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, SensitiveModel
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Number, exact_number
from shoal.schema import Domain
from shoal.table.groups import Groups, Histogram
from shoal.table.rules import CATEGORIES, DISTINCT, WEIGHT, Rule

UNREACHABLE_WEIGHT = 2**62  # larger than the weight of any table
ONE_HARMLESS_VALUE = (
    "The plan calls some values of {harmless} harmless: a group in which somebody has one of them needs no other."
)


def rules_for_distinct_values(domain: Domain, least: int) -> tuple[Rule, ...]:
    """Return rules for distinct values of a column with harmless ones.

    With one harmful value, a group needs a harmless one. With more, no rule says the same, and there is none.
    """
    assert domain.harmless is not None
    if least < 2 or (~domain.harmless).sum() != 1:
        return ()
    return (Rule(WEIGHT, 1, labels=domain.harmless.astype(np.int64)),)


@dataclass(frozen=True)
class PSensitive(SensitiveModel):
    """Every group contains at least ``p`` distinct sensitive values."""

    p: Annotated[int, Ge(1)]
    column: str | None = None
    rules_are_exact: ClassVar[bool] = True
    name: ClassVar[str] = "p-sensitive"
    supports_people: ClassVar[bool] = True
    summary_template: ClassVar[str] = "Every group holds at least {p} different values of {column}."
    people_summary_template: ClassVar[str] = (
        "It takes at least {p} values of {column} for everybody in a group to have one of them."
    )
    closed_under_superset: ClassVar[bool] = True
    uses_shares: ClassVar[bool] = False
    supports_harmless: ClassVar[bool] = True
    harmless_template: ClassVar[str] = ONE_HARMLESS_VALUE

    @override
    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        different = histogram.different_harmful(self.p)
        holds = different >= self.p
        return Assessment(holds, (Condition.of("p", different, self.p, holds),))

    @property
    @override
    def start(self) -> PSensitive:
        return self

    @override
    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...]:
        return (Rule(DISTINCT, self.p),)

    @override
    def harmless_rules(self, domain: Domain) -> tuple[Rule, ...]:
        return rules_for_distinct_values(domain, self.p)


@dataclass(frozen=True)
class _WeightedSensitivity(SensitiveModel):
    """Base of (p, α) and (p+, α): categories and the weight of a group."""

    p: Annotated[int, Ge(1)]
    alpha: Annotated[Number, Ge(0)]
    column: str | None = None
    rules_are_exact: ClassVar[bool] = True
    closed_under_superset: ClassVar[bool] = True
    uses_shares: ClassVar[bool] = False
    supports_harmless: ClassVar[bool] = True
    harmless_template: ClassVar[str] = f"{ONE_HARMLESS_VALUE} They weigh 1."

    @override
    def check(self, domains: tuple[Domain, ...]) -> None:
        for domain in self.columns(domains):
            if domain.category is None:
                raise PlanError("models.needs-categories", model=self.name, column=domain.name)

    @property
    @override
    def start(self) -> PSensitive:
        return PSensitive(self.p, self.column)

    def least_units(self, domain: Domain) -> int:
        """Return α in whole multiples of 1/(m-1), rounded up."""
        return math.ceil(exact_number(self.alpha) * (domain.categories - 1))

    def _weight_rules(self, domain: Domain, kind: int) -> tuple[Rule, ...]:
        assert domain.category is not None
        labels = domain.category.astype(np.int64)
        units = self.least_units(domain)
        values = Rule(kind, self.p, labels=labels)
        return (values, Rule(WEIGHT, min(units, UNREACHABLE_WEIGHT), labels=labels)) if units else (values,)

    @override
    def harmless_rules(self, domain: Domain) -> tuple[Rule, ...]:
        assert domain.category is not None
        units = min(self.least_units(domain), UNREACHABLE_WEIGHT)
        return (Rule(WEIGHT, units, labels=domain.category.astype(np.int64)),) if units else ()

    def _weigh(self, histogram: Histogram) -> tuple[npt.NDArray[np.bool_], Condition]:
        assert histogram.domain.category is not None
        units = histogram.weight(histogram.domain.category)
        heavy = np.asarray(units >= self.least_units(histogram.domain), np.bool_)
        share = units / (histogram.domain.categories - 1)
        return heavy, Condition.of("alpha", share, exact_number(self.alpha), heavy)


@dataclass(frozen=True)
class PAlphaSensitive(_WeightedSensitivity):
    """Every group has ``p`` distinct values and weighs at least ``alpha``."""

    name: ClassVar[str] = "p-alpha-sensitive"
    supports_people: ClassVar[bool] = True
    summary_template: ClassVar[str] = (
        "Every group holds at least {p} different values of {column}, and the weights of its rows, 0 for the most "
        "sensitive values and 1 for the least, add up to {alpha} or more."
    )
    people_summary_template: ClassVar[str] = (
        "It takes at least {p} values of {column} for everybody in a group to have one of them, and the weights of its "
        "people, 0 for the most sensitive values and 1 for the least, add up to {alpha} or more."
    )

    @override
    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        different = histogram.different_harmful(self.p)
        diverse = different >= self.p
        heavy, weight = self._weigh(histogram)
        return Assessment(diverse & heavy, (Condition.of("p", different, self.p, diverse), weight))

    @override
    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...]:
        return self._weight_rules(domain, DISTINCT)


@dataclass(frozen=True)
class PPlusAlphaSensitive(_WeightedSensitivity):
    """Every group has ``p`` distinct categories and weighs at least ``alpha``."""

    name: ClassVar[str] = "p-plus-alpha-sensitive"
    supports_people: ClassVar[bool] = True
    summary_template: ClassVar[str] = (
        "Every group holds values of {column} from at least {p} categories of sensitivity, and the weights of its "
        "rows, 0 for the most sensitive category and 1 for the least, add up to {alpha} or more."
    )
    people_summary_template: ClassVar[str] = (
        "It takes at least {p} categories of {column} for everybody in a group to have one of them, and the weights of "
        "its people, 0 for the most sensitive category and 1 for the least, add up to {alpha} or more."
    )

    @override
    def check(self, domains: tuple[Domain, ...]) -> None:
        super().check(domains)
        for domain in self.columns(domains):
            if self.p > domain.categories:
                raise PlanError(
                    "models.too-few-categories",
                    model=self.name,
                    p=self.p,
                    column=domain.name,
                    categories=domain.categories,
                )

    @override
    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        category = histogram.domain.category
        assert category is not None
        different = histogram.different_harmful(self.p, category)
        diverse = different >= self.p
        heavy, weight = self._weigh(histogram)
        return Assessment(diverse & heavy, (Condition.of("p", different, self.p, diverse), weight))

    @override
    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...]:
        return self._weight_rules(domain, CATEGORIES)


def single_category_groups(groups: Groups) -> npt.NDArray[np.bool_]:
    """Return the groups that reveal a sensitivity category, bool (g,).

    In such a group all values of some column with categories belong to one category.
    """
    exposed = np.zeros(groups.count, np.bool_)
    for histogram in groups.histograms:
        if histogram.domain.category is not None:
            exposed |= ~PPlusAlphaSensitive(2, 0, histogram.domain.name).assess(groups).holds
    return exposed
