"""Risk thresholds: probabilities that an intruder picks the right person.

The highest probability is a condition on every group, and the same as a least group size. The average over rows and the
share of rows at risk are conditions on the table: they promise nothing to a single person. All thresholds are compared
as the plan writes them, without rounding: 0.09 is less than 1/11, so that a group of 11 does not meet it.

El Emam and Dankar, "Protecting privacy using k-anonymity", JAMIA 15, 2008; El Emam, "Guide to the de-identification of
personal health information", 2013.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt, Le
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition
from shoal.models.of_table import TableModel
from shoal.models.population import require_people
from shoal.runtime.validation import Number, exact_number
from shoal.table.groups import Groups, sum_by

Probability = Annotated[Number, Gt(0), Le(1)]
SHARE_AT_RISK_KEYS = {"above", "share"}
MAX_ROUNDING = 1e-9
"""Relative distance from a threshold above which floats decide."""
SENTENCES = {
    "highest": "The intruder ({intruder}) finds the right row of a person with a probability of at most {highest}.",
    "average": "On average over the rows, that probability is at most {average}; a single row may be easier to find.",
    "at_risk_share": "At most a share of {at_risk_share} of the rows has a probability above {at_risk_above}.",
}


@dataclass(frozen=True)
class Risk(TableModel):
    """The risk of re-identification stays below thresholds.

    Parameters
    ----------
    highest
        The highest probability of any row.
    average
        The mean probability over all rows.
    at_risk
        A table with ``above`` and ``share``: at most this share of the rows may have a probability above it.
    intruder
        The prosecutor knows that a person is in the table. The journalist does not know it, and the marketer links
        everybody; both need a ``[population]``, and the marketer has an average only.

    Examples
    --------
    >>> Risk(highest="1/11").least, Risk(highest="0.09").least
    (11, 12)
    """

    highest: Probability | None = None
    average: Probability | None = None
    at_risk: Mapping[str, Annotated[Number, Ge(0), Le(1)]] | None = None
    intruder: Literal["prosecutor", "journalist", "marketer"] = "prosecutor"
    name: ClassVar[str] = "risk"
    supports_people: ClassVar[bool] = True
    supports_harmless: ClassVar[bool] = True
    harmless_template: ClassVar[str] = ""
    initial_parameters: ClassVar[Mapping[str, Any]] = {"highest": 0.2}
    summary_template: ClassVar[str] = " ".join(SENTENCES.values())

    def __post_init__(self) -> None:
        if self.highest is None and self.average is None and self.at_risk is None:
            raise PlanError("models.risk-without-threshold")
        if self.at_risk is not None and set(self.at_risk) != SHARE_AT_RISK_KEYS:
            raise PlanError("models.risk-share-keys", found=", ".join(sorted(self.at_risk)) or "none of them")
        if self.intruder == "marketer" and (self.highest is not None or self.at_risk is not None):
            raise PlanError("models.risk-of-marketer")

    def __hash__(self) -> int:
        """Return a hash; the thresholds may be a table."""
        return hash((self.highest, self.average, self.intruder))

    @classmethod
    @override
    def sentence(cls, parameters: Mapping[str, Any]) -> str:
        return " ".join(text for key, text in SENTENCES.items() if parameters.get(key) is not None)

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        """The thresholds by name, each a number."""
        found = {key: value for key, value in super().parameters.items() if key != "at_risk"}
        return found | {f"at_risk_{key}": value for key, value in (self.at_risk or {}).items()}

    @property
    @override
    def of_table(self) -> bool:  # type: ignore[override]
        return self.average is not None or self.at_risk is not None

    @property
    @override
    def needs_population(self) -> bool:  # type: ignore[override]
        return self.intruder != "prosecutor"

    @property
    @override
    def sizes_only(self) -> bool:  # type: ignore[override]
        return not self.of_table and not self.needs_population

    @property
    @override
    def counts_only(self) -> bool:
        return True

    @property
    @override
    def closed_under_superset(self) -> bool:  # type: ignore[override]
        return not self.of_table

    @property
    def least_crowd(self) -> int:
        """The fewest people, or rows, that the highest probability allows."""
        return 1 if self.highest is None else size_for_probability(self.highest)

    @property
    @override
    def least(self) -> int:
        return 1 if self.needs_population else self.least_crowd

    @property
    @override
    def sufficient_size(self) -> int:
        """The group size that implies all thresholds."""
        sizes = [self.least_crowd]
        if self.average is not None:
            sizes.append(size_for_probability(self.average))
        if self.at_risk is not None and exact_number(self.at_risk["above"]):
            sizes.append(size_for_probability(self.at_risk["above"]))
        return max(sizes)

    def _crowd(self, groups: Groups) -> npt.NDArray[np.int64]:
        """Return the number among which the intruder picks, by group."""
        if not self.needs_population:
            return groups.size
        return np.maximum(require_people(groups, self).count, 1)

    @override
    def order(self, groups: Groups) -> npt.NDArray[np.int64]:
        """Return the groups by risk.

        Where the table itself is searched, small groups have the largest gain and cost least.
        """
        return np.argsort(self._crowd(groups), kind="stable")

    def _figures(self, groups: Groups, chosen: npt.NDArray[np.bool_]) -> dict[str, tuple[float, Fraction, bool]]:
        """Return the figures of the table, each with its threshold and verdict."""
        size, crowd = groups.size[chosen], self._crowd(groups)[chosen]
        rows = max(int(size.sum()), 1)
        found = {}
        if self.average is not None:
            threshold = exact_number(self.average)
            mean, holds = _mean_risk(size, crowd, rows, threshold)
            if self.intruder == "journalist" and len(crowd):
                # the mean over the population, if that is higher
                other = Fraction(len(crowd), int(crowd.sum()))
                mean, holds = max(mean, float(other)), holds and other <= threshold
            found["average"] = (mean, threshold, holds)
        if self.at_risk is not None:
            above, share = (exact_number(self.at_risk[key]) for key in ("above", "share"))
            risky = crowd < math.ceil(1 / above) if above else np.ones(len(crowd), np.bool_)
            figure = Fraction(int(size[risky].sum()), rows)
            found["at_risk"] = (float(figure), share, figure <= share)
        return found

    @override
    def table_holds(self, groups: Groups, chosen: npt.NDArray[np.bool_]) -> bool:
        return all(holds for _, _, holds in self._figures(groups, chosen).values())

    @override
    def assess(self, groups: Groups) -> Assessment:
        crowd = self._crowd(groups)
        meets = crowd >= self.least_crowd
        conditions = []
        if self.highest is not None:
            risk = 1 / np.maximum(crowd, 1)
            conditions.append(Condition.of("highest", risk, exact_number(self.highest), meets, at_least=False))
        everything = np.ones(groups.count, np.bool_)
        for parameter, (figure, threshold, holds) in self._figures(groups, everything).items():
            whole = np.full(groups.count, figure)
            conditions.append(Condition.of(parameter, whole, threshold, everything & holds, at_least=False))
        return Assessment(self.without_failing(groups, meets), tuple(conditions))


def _mean_risk(
    size: npt.NDArray[np.int64], crowd: npt.NDArray[np.int64], rows: int, threshold: Fraction
) -> tuple[float, bool]:
    """Return the mean risk of rows, and whether it meets a threshold.

    Floats decide unless the mean is close to the threshold; then whole numbers do.
    """
    mean = float((size / crowd).sum()) / rows
    if abs(mean - float(threshold)) > MAX_ROUNDING * max(mean, 1e-9):
        return mean, mean < threshold
    by_crowd: dict[int, int] = {}
    distinct, inverse = np.unique(crowd, return_inverse=True)
    for people, count in zip(distinct.tolist(), sum_by(inverse.reshape(-1), size, len(distinct)).tolist(), strict=True):
        by_crowd[people] = by_crowd.get(people, 0) + count
    exact = sum((Fraction(count, people) for people, count in by_crowd.items()), Fraction(0)) / rows
    return float(exact), exact <= threshold


def size_for_probability(probability: Any) -> int:
    """Return the least group size for a probability.

    >>> size_for_probability("1/11"), size_for_probability("0.09"), size_for_probability("0.33")
    (11, 12, 4)
    """
    return math.ceil(1 / exact_number(probability))
