"""l-diversity: distinct, entropy and recursive (c, l).

Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", 2006.

* distinct: l different values.
* entropy: the entropy of the values is at least log l. The figure of a group is exp(entropy), compared with l;
  where floating point cannot decide, exact comparison does.
* recursive (c, l): of the counts r1 >= r2 >= ..., r1 < c (r_l + r_(l+1) + ...).

With harmless values: distinct as for p-sensitivity; recursive with the counts of the harmful values, and the rows with
a harmless one added to the sum on the right. The entropy has no meaning then: it is low in groups of harmless values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, SensitiveModel
from shoal.models.exact_comparison import as_float, powers_reach_one, ratio_within
from shoal.models.k_anonymity import whole_number
from shoal.models.p_sensitive import ONE_HARMLESS_VALUE, rules_for_distinct_values
from shoal.runtime.validation import Number, exact_number
from shoal.schema import Domain
from shoal.table.groups import Groups, Histogram, sum_by
from shoal.table.rules import DISTINCT, ENTROPY, RECURSIVE, Rule

FLOAT_MARGIN = 1e-9  # relative distance below which exact arithmetic decides


SENTENCES = {
    "entropy": "In every group the values of {column} are spread at least as evenly as {l} equally frequent ones "
    "would be (entropy l-diversity).",
    "recursive": "In every group the most frequent value of {column} has fewer rows than {c} times those of the values "
    "from the {l}th most frequent on (recursive l-diversity).",
}


@dataclass(frozen=True)
class LDiversity(SensitiveModel):
    """Every group is l-diverse; ``c`` is only for the recursive kind.

    ``l`` may be a fraction for the entropy kind.
    """

    l: Annotated[Number, Ge(1)]  # noqa: E741 - the letter of the literature
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: Annotated[Number, Gt(0)] | None = None
    column: str | None = None
    rules_are_exact: ClassVar[bool] = True
    name: ClassVar[str] = "l-diversity"
    supports_people: ClassVar[bool] = True
    harmless_template: ClassVar[str] = ONE_HARMLESS_VALUE
    summary_template: ClassVar[str] = "Every group holds at least {l} different values of {column}."

    def __post_init__(self) -> None:
        if self.kind != "entropy":
            whole_number(self.l, "l", 1)
        if (self.kind == "recursive") != (self.c is not None):
            raise PlanError("models.c-only-for-recursive")

    @property
    def closed_under_superset(self) -> bool:  # type: ignore[override]
        """Return whether the kind is distinct.

        The other kinds are closed under the union of diverse groups only.
        """
        return self.kind == "distinct"

    @property
    def supports_harmless(self) -> bool:  # type: ignore[override]
        """Return whether the kind is another than entropy."""
        return self.kind != "entropy"

    @property
    def uses_shares(self) -> bool:  # type: ignore[override]
        """Return whether the kind is another than distinct."""
        return self.kind != "distinct"

    @override
    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        if self.kind == "distinct":
            different = histogram.different_harmful(int(self.l))
            holds = different >= int(self.l)
            return Assessment(holds, (Condition.of("l", different, int(self.l), holds),))
        if self.kind == "entropy":
            return self._entropy(histogram)
        return self._recursive(histogram)

    @classmethod
    @override
    def sentence(cls, parameters: Mapping[str, Any]) -> str:
        return SENTENCES.get(parameters.get("kind", "distinct"), cls.summary_template)

    @override
    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...]:
        if self.kind == "distinct":
            return (Rule(DISTINCT, int(self.l)),)
        if self.kind == "entropy":
            return (Rule(ENTROPY, real=as_float(exact_number(self.l))),)
        assert self.c is not None
        return (Rule(RECURSIVE, int(self.l), as_float(exact_number(self.c))),)

    @override
    def harmless_rules(self, domain: Domain) -> tuple[Rule, ...]:
        return rules_for_distinct_values(domain, int(self.l)) if self.kind == "distinct" else ()

    def _entropy(self, histogram: Histogram) -> Assessment:
        bound = exact_number(self.l)
        value = np.exp(entropy(histogram))
        value[histogram.known == 0] = 0.0
        holds = value >= as_float(bound)
        margin = FLOAT_MARGIN * (1 + histogram.distinct / 1e6)  # each term of the sum is rounded
        near = np.abs(value - as_float(bound)) <= margin * value
        for group in np.flatnonzero(near):
            counts = histogram.count[histogram.start[group] : histogram.start[group + 1]]
            # the entropy is invariant to scaling
            scaled = np.sort(counts // np.gcd.reduce(counts))
            holds[group] = _entropy_reaches(tuple(scaled.tolist()), bound)
            value[group] = as_float(bound)
        return Assessment(holds, (Condition.of("l", value, bound, holds),))

    def _recursive(self, histogram: Histogram) -> Assessment:
        assert self.c is not None
        ell, c = int(self.l), exact_number(self.c)
        harmful = histogram.harmful
        harmless_rows = histogram.known - sum_by(harmful.owner, harmful.count, len(harmful.known))
        tail = _tail(harmful, ell) + harmless_rows
        top = harmful.largest()
        holds = ratio_within(top, tail, c, strict=True)  # no count is below 0, so a group without a tail fails
        ratio = np.where(tail > 0, top / np.maximum(tail, 1), np.inf)
        return Assessment(holds, (Condition.of("c", ratio, c, holds, at_least=False, strict=True),))


def entropy(histogram: Histogram) -> npt.NDArray[np.float64]:
    """Return the entropy (natural logarithm) of every group's known values."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = histogram.count / histogram.known[histogram.owner]
    parts = np.bincount(histogram.owner, weights=-share * np.log(share), minlength=len(histogram.known))
    return np.asarray(parts, np.float64)


@lru_cache(maxsize=4096)
def _entropy_reaches(counts: tuple[int, ...], bound: Fraction) -> bool:
    """Return whether the entropy is at least log(bound).

    That is n^n >= l^n * prod(c^c).
    """
    rows = sum(counts)
    parts = [(count, -count * times) for count, times in Counter(counts).items()]
    return powers_reach_one([(rows, rows), (bound.denominator, rows), (bound.numerator, -rows), *parts])


def _tail(histogram: Histogram, ell: int) -> npt.NDArray[np.int64]:
    """Return the sum of each group's counts from the l-th largest on."""
    order = np.lexsort((-histogram.count, histogram.owner))
    rank = np.arange(len(order)) - histogram.start[histogram.owner]
    counts = np.where(rank >= ell - 1, histogram.count[order], 0)
    return sum_by(histogram.owner, counts, len(histogram.known))
