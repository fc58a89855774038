"""Models that bound how much more likely a sensitive value is in a group than elsewhere.

* (α, k)-anonymity: no value has a larger share than α in a group of at least k rows. Wong, Li, Fu and Wang, 2006.
* δ-disclosure: for every value of the table, |ln(p/q)| < δ, where p is its share in the group and q in the table.
  A value that the group lacks has an infinite logarithm, so by the definition every group must hold every value;
  ``absent = "ignored"`` leaves such values out, as ARX does. Brickell and Shmatikov, 2008.
* β-likeness: a value's share may rise by at most β times: (p - q)/q <= β; the enhanced kind takes the smaller of
  β and -ln q. Cao and Karras, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.encoding.groups import Groups, Histogram
from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, Number, SensitiveModel, exact
from shoal.models.k_anonymity import whole_number

__all__ = ["AlphaK", "BetaLikeness", "DeltaDisclosure"]


@dataclass(frozen=True)
class AlphaK(SensitiveModel):
    """Every group has at least ``k`` rows, and no sensitive value a larger share than ``alpha``."""

    alpha: Number
    k: int
    column: str | None = None
    name: ClassVar[str] = "alpha-k"

    def __post_init__(self) -> None:
        whole_number(self.k, "k", 2)
        if not 0 < exact(self.alpha, "alpha") <= 1:
            raise PlanError(f"The parameter 'alpha' must be above 0 and at most 1; found {self.alpha!r}.")

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """See :class:`shoal.models.base.SensitiveModel`."""
        alpha = exact(self.alpha, "alpha")
        top = histogram.largest()
        rare = (top * alpha.denominator <= alpha.numerator * histogram.known) & (histogram.known > 0)
        share = np.where(histogram.known > 0, top / np.maximum(histogram.known, 1), 1.0)
        return Assessment(
            rare & (groups.size >= self.k),
            (
                Condition("alpha", share, float(alpha), at_least=False),
                Condition("k", groups.size.astype(np.float64), self.k),
            ),
        )


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """The logarithm of every value's share against its share in the table is below ``delta``."""

    delta: Number
    absent: Literal["fails", "ignored"] = "fails"
    column: str | None = None
    name: ClassVar[str] = "delta-disclosure"

    @property
    def unites(self) -> bool:  # type: ignore[override]
        """Where absent values are ignored, a union can give a value a small share that neither group showed."""
        return self.absent == "fails"

    def __post_init__(self) -> None:
        if exact(self.delta, "delta") <= 0:
            raise PlanError(f"The parameter 'delta' must be positive; found {self.delta!r}.")
        if self.absent not in ("fails", "ignored"):
            raise PlanError(f"The parameter 'absent' must be 'fails' or 'ignored'; found {self.absent!r}.")

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """See :class:`shoal.models.base.SensitiveModel`."""
        worst = np.where(histogram.known > 0, 0.0, np.inf)
        ratio = _ratio(histogram)
        np.maximum.at(worst, histogram.owner, np.abs(np.log(ratio)))
        if self.absent == "fails":
            worst[histogram.distinct < np.count_nonzero(histogram.total)] = np.inf
        bound = float(exact(self.delta, "delta"))
        return Assessment(worst < bound, (Condition("delta", worst, bound, at_least=False),))


@dataclass(frozen=True)
class BetaLikeness(SensitiveModel):
    """No value's share rises by more than ``beta`` times its share in the table."""

    beta: Number
    kind: Literal["basic", "enhanced"] = "basic"
    column: str | None = None
    name: ClassVar[str] = "beta-likeness"

    def __post_init__(self) -> None:
        if exact(self.beta, "beta") <= 0:
            raise PlanError(f"The parameter 'beta' must be positive; found {self.beta!r}.")
        if self.kind not in ("basic", "enhanced"):
            raise PlanError(f"The kind of beta-likeness must be basic or enhanced; found {self.kind!r}.")

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """See :class:`shoal.models.base.SensitiveModel`."""
        beta = exact(self.beta, "beta")
        gain = _ratio(histogram) - 1.0
        rows = int(histogram.total.sum())
        within = gain <= float(beta)
        for entry in np.flatnonzero(np.abs(gain - float(beta)) <= 1e-9 * (1 + float(beta))):
            expected = int(histogram.total[histogram.value[entry]]) * int(histogram.known[histogram.owner[entry]])
            surplus = int(histogram.count[entry]) * rows - expected
            within[entry] = surplus * beta.denominator <= beta.numerator * expected
        if self.kind == "enhanced":
            share = histogram.total[histogram.value] / max(rows, 1)
            limit = -np.log(share)
            within &= gain <= limit
            # shown on beta's scale: a value that breaks its own limit counts as beyond any beta
            gain = np.where(gain <= limit, gain, np.inf)
        worst = np.where(histogram.known > 0, 0.0, np.inf)
        np.maximum.at(worst, histogram.owner, gain)
        holds = histogram.known > 0
        np.logical_and.at(holds, histogram.owner, within)
        return Assessment(holds, (Condition("beta", worst, float(beta), at_least=False),))


def _ratio(histogram: Histogram) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Of every entry, its share in the group over its share in the table."""
    rows = histogram.total.sum()
    inside = histogram.count / histogram.known[histogram.owner]
    outside = histogram.total[histogram.value] / max(rows, 1)
    return np.asarray(inside / outside, np.float64)
