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
from shoal.runtime.validation import Number, exact_number
from shoal.table.groups import Groups

Probability = Annotated[Number, Gt(0), Le(1)]
SHARE_AT_RISK_KEYS = {"above", "share"}
SENTENCES = {
    "highest": "Nobody who knows that a person is in the table finds the right row with a probability above {highest}.",
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
        Who looks for people: the prosecutor knows that they are in the table.

    Examples
    --------
    >>> Risk(highest="1/11").least, Risk(highest="0.09").least
    (11, 12)
    """

    highest: Probability | None = None
    average: Probability | None = None
    at_risk: Mapping[str, Annotated[Number, Ge(0), Le(1)]] | None = None
    intruder: Literal["prosecutor"] = "prosecutor"
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
    def sizes_only(self) -> bool:  # type: ignore[override]
        return not self.of_table

    @property
    @override
    def closed_under_superset(self) -> bool:  # type: ignore[override]
        return not self.of_table

    @property
    @override
    def least(self) -> int:
        """The smallest group that the highest probability allows."""
        return 1 if self.highest is None else size_for_probability(self.highest)

    @property
    @override
    def sufficient_size(self) -> int:
        """The group size that implies all thresholds."""
        sizes = [self.least]
        if self.average is not None:
            sizes.append(size_for_probability(self.average))
        if self.at_risk is not None and exact_number(self.at_risk["above"]):
            sizes.append(size_for_probability(self.at_risk["above"]))
        return max(sizes)

    @override
    def order(self, groups: Groups) -> npt.NDArray[np.int64]:
        """Return the groups by size.

        Small ones have the largest gain and cost least.
        """
        return np.argsort(groups.size, kind="stable")

    def _at_risk(self, crowd: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        assert self.at_risk is not None
        above = exact_number(self.at_risk["above"])
        return crowd < math.ceil(1 / above) if above else np.ones(len(crowd), np.bool_)

    def _figures(self, groups: Groups, chosen: npt.NDArray[np.bool_]) -> dict[str, tuple[Fraction, Fraction]]:
        """Return the figures of the table, each with its threshold."""
        size = groups.size[chosen]
        rows = max(int(size.sum()), 1)
        found = {}
        if self.average is not None:
            found["average"] = (Fraction(len(size), rows), exact_number(self.average))
        if self.at_risk is not None:
            found["at_risk"] = (
                Fraction(int(size[self._at_risk(size)].sum()), rows),
                exact_number(self.at_risk["share"]),
            )
        return found

    @override
    def table_holds(self, groups: Groups, chosen: npt.NDArray[np.bool_]) -> bool:
        return all(figure <= threshold for figure, threshold in self._figures(groups, chosen).values())

    @override
    def assess(self, groups: Groups) -> Assessment:
        meets = groups.size >= self.least
        conditions = []
        if self.highest is not None:
            risk = 1 / np.maximum(groups.size, 1)
            conditions.append(Condition.of("highest", risk, exact_number(self.highest), meets, at_least=False))
        everything = np.ones(groups.count, np.bool_)
        for parameter, (figure, threshold) in self._figures(groups, everything).items():
            whole = np.full(groups.count, float(figure))
            verdict = np.full(groups.count, figure <= threshold)
            conditions.append(Condition.of(parameter, whole, threshold, verdict, at_least=False))
        return Assessment(self.without_failing(groups, meets), tuple(conditions))


def size_for_probability(probability: Any) -> int:
    """Return the least group size for a probability.

    >>> size_for_probability("1/11"), size_for_probability("0.09"), size_for_probability("0.33")
    (11, 12, 4)
    """
    return math.ceil(1 / exact_number(probability))
