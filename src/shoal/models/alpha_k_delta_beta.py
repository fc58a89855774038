"""Models that bound the change of a sensitive value's share in a group.

* (α, k)-anonymity: no value has a larger share than α in a group of at least k rows. Wong, Li, Fu and Wang, 2006.
* δ-disclosure: for every value of the table, |ln(p/q)| < δ, where p is its share in the group and q in the table.
  The logarithm of an absent value is infinite, so by the definition every group must contain every value;
  ``absent = "ignored"`` skips absent values, as ARX does. Brickell and Shmatikov, 2008.
* β-likeness: a value's share may rise by at most β times: (p - q)/q <= β; the enhanced kind uses the smaller of
  β and -ln q. Cao and Karras, 2012.

With harmless values, the shares of the others among all known rows are bounded, and for δ only from above: that a
harmful value is rarer than in the table means that harmless ones are more frequent. So δ needs
``absent = "ignored"``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt, Le
from typing_extensions import override

from shoal.models.base import Assessment, Condition, SensitiveModel
from shoal.models.exact_comparison import as_float, log_is_below, ratio_within
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Number, exact_number
from shoal.schema import Domain
from shoal.table.groups import Groups, Histogram
from shoal.table.rules import DISCLOSURE, LIKENESS, SHARE, Rule

FLOAT_MARGIN = 1e-9  # distance from a bound within which exact arithmetic decides


@dataclass(frozen=True)
class AlphaK(SensitiveModel):
    """Groups have ``k`` rows, and no sensitive value exceeds share ``alpha``."""

    alpha: Annotated[Number, Gt(0), Le(1)]
    k: Annotated[int, Ge(2)]
    column: str | None = None
    rules_are_exact: ClassVar[bool] = True
    name: ClassVar[str] = "alpha-k"
    supports_people: ClassVar[bool] = True
    supports_harmless: ClassVar[bool] = True
    summary_template: ClassVar[str] = (
        "Every group has at least {k} rows, and no value of {column} makes up more than {alpha} of it."
    )
    people_summary_template: ClassVar[str] = (
        "Every group has rows of at least {k} people, and no value of {column} makes up more than {alpha} of it."
    )

    @override
    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        alpha = exact_number(self.alpha)
        top = histogram.harmful.largest()
        within_alpha = ratio_within(top, histogram.known, alpha) & (histogram.known > 0)
        share = np.where(histogram.known > 0, top / np.maximum(histogram.known, 1), np.inf)
        large = groups.size >= self.k
        return Assessment(
            within_alpha & large,
            (
                Condition.of("alpha", share, alpha, within_alpha, at_least=False),
                Condition.of("k", groups.size, self.k, large),
            ),
        )

    @property
    @override
    def least(self) -> int:
        return self.k

    @override
    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...]:
        return (Rule(SHARE, real=as_float(exact_number(self.alpha))),)


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """Every value's |ln(share in group / share in table)| is below ``delta``."""

    delta: Annotated[Number, Gt(0)]
    absent: Literal["fails", "ignored"] = "fails"
    column: str | None = None
    rules_are_exact: ClassVar[bool] = True
    name: ClassVar[str] = "delta-disclosure"
    supports_people: ClassVar[bool] = True
    harmless_template: ClassVar[str] = (
        "The plan calls some values of {harmless} harmless: the others are nowhere much more frequent than in all."
    )
    summary_template: ClassVar[str] = (
        "In no group is a value of {column} much more or less frequent than in all (δ = {delta})."
    )

    @property
    def closed_under_union(self) -> bool:  # type: ignore[override]
        """Return whether absent values fail.

        If they are ignored, a union can give a value a small share that neither group had.
        """
        return self.absent == "fails"

    @property
    def supports_harmless(self) -> bool:  # type: ignore[override]
        """Return whether absent values are ignored.

        Otherwise a group in which everybody has a harmless value would fail.
        """
        return self.absent == "ignored"

    @override
    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        delta = exact_number(self.delta)
        both_ways = histogram.domain.harmless is None
        histogram = histogram.harmful
        change = np.log(_ratio(histogram))
        size = np.abs(change) if both_ways else np.maximum(change, 0.0)
        within = size < as_float(delta)
        for entry in np.flatnonzero(_near(size, delta)):
            ratio = _exact_ratio(histogram, entry)
            within[entry] = log_is_below(ratio, delta) and (not both_ways or log_is_below(1 / ratio, delta))
        worst = np.where(histogram.known > 0, 0.0, np.inf)
        np.maximum.at(worst, histogram.owner, size)
        holds = histogram.known > 0
        if self.absent == "fails":
            lacking = histogram.distinct < np.count_nonzero(histogram.total)
            worst[lacking] = np.inf
            holds &= ~lacking
        np.logical_and.at(holds, histogram.owner, within)
        return Assessment(holds, (Condition.of("delta", worst, delta, holds, at_least=False, strict=True),))

    @override
    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...]:
        return (Rule(DISCLOSURE, int(self.absent == "fails"), as_float(exact_number(self.delta))),)


@dataclass(frozen=True)
class BetaLikeness(SensitiveModel):
    """No value's share rises by more than ``beta`` times its table share."""

    beta: Annotated[Number, Gt(0)]
    kind: Literal["basic", "enhanced"] = "basic"
    column: str | None = None
    rules_are_exact: ClassVar[bool] = True
    name: ClassVar[str] = "beta-likeness"
    supports_people: ClassVar[bool] = True
    supports_harmless: ClassVar[bool] = True
    summary_template: ClassVar[str] = (
        "In no group is a value of {column} much more frequent than in the table (β = {beta})."
    )

    @override
    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        beta = exact_number(self.beta)
        histogram = histogram.harmful
        gain = _ratio(histogram) - 1.0
        within = gain <= as_float(beta)
        for entry in np.flatnonzero(_near(gain, beta)):
            within[entry] = _exact_ratio(histogram, entry) - 1 <= beta
        if self.kind == "enhanced":
            below_own_limit = _below_own_limit(histogram, gain)
            within &= below_own_limit
            # reported on the scale of beta: a value above its own limit counts as infinite
            gain = np.where(below_own_limit, gain, np.inf)
        worst = np.where(histogram.known > 0, 0.0, np.inf)
        np.maximum.at(worst, histogram.owner, gain)
        holds = histogram.known > 0
        np.logical_and.at(holds, histogram.owner, within)
        return Assessment(holds, (Condition.of("beta", worst, beta, holds, at_least=False),))

    @override
    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...]:
        return (Rule(LIKENESS, int(self.kind == "enhanced"), as_float(exact_number(self.beta))),)


def _below_own_limit(histogram: Histogram, gain: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return for every entry whether its gain is at most -ln q."""
    rows = int(histogram.total.sum())
    limit = -np.log(histogram.total[histogram.value] / max(rows, 1))
    allowed = gain <= limit
    for entry in np.flatnonzero(np.abs(gain - limit) <= FLOAT_MARGIN * (1 + limit)):
        exact_gain = _exact_ratio(histogram, entry) - 1
        share = Fraction(int(histogram.total[histogram.value[entry]]), rows)
        # gain <= -ln q; where both are 0, all rows have this value
        allowed[entry] = exact_gain <= 0 or log_is_below(share, -exact_gain)
    return np.asarray(allowed, np.bool_)


def _near(figure: npt.NDArray[np.float64], bound: Fraction) -> npt.NDArray[np.bool_]:
    """Return the figures that are too close to the bound for floats to decide."""
    return np.asarray(np.abs(figure - as_float(bound)) <= FLOAT_MARGIN * (1 + np.abs(figure)), np.bool_)


def _exact_ratio(histogram: Histogram, entry: np.intp) -> Fraction:
    """Return one entry's exact share in the group over its table share."""
    expected = int(histogram.total[histogram.value[entry]]) * int(histogram.known[histogram.owner[entry]])
    return Fraction(int(histogram.count[entry]) * int(histogram.total.sum()), expected)


def _ratio(histogram: Histogram) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return every entry's share in the group over its share in the table."""
    rows = histogram.total.sum()
    inside = histogram.count / histogram.known[histogram.owner]
    outside = histogram.total[histogram.value] / max(rows, 1)
    return np.asarray(inside / outside, np.float64)
