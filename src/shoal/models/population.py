"""Models of a population: k-map and delta-presence.

A row of a table may be the only one of its group, and yet nobody knows whose it is, since many people of the population
fit its labels. ``k-map`` asks for k such people; the intruder is one who does not know who is in the table. For
``delta-presence`` it is the membership itself that must not be learned: P is the share of the people who fit some
labels that are in the table.

Rows that were left out are in the table, but in no group. Whoever knows how many they are may think them to be of any
labels that are not shown, so that each such combination of labels is judged as if all of them had it.

Sweeney, "k-anonymity: a model for protecting privacy", 2002; Nergiz, Atzori and Clifton, "Hiding the presence of
individuals from shared databases", 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, Model
from shoal.models.exact_comparison import ratio_within
from shoal.runtime.validation import Number, exact_number
from shoal.table.groups import Groups, PopulationCounts


def require_people(groups: Groups, model: Model) -> PopulationCounts:
    """Return the people of a population by group; raise without them."""
    if groups.people_of is None:
        raise PlanError("population.missing", model=model.name)
    return groups.people_of


@dataclass(frozen=True)
class KMap(Model):
    """At least ``k`` people of the population fit the labels of every group.

    >>> KMap(20).name
    'k-map'
    """

    k: Annotated[int, Ge(2)]
    name: ClassVar[str] = "k-map"
    summary_template: ClassVar[str] = (
        "At least {k} people of the population fit every row. Who does not know that a person is in the table finds "
        "the right row with a probability of at most 1 in {k}; who knows it may find it at once."
    )
    closed_under_superset: ClassVar[bool] = True
    needs_population: ClassVar[bool] = True
    supports_harmless: ClassVar[bool] = True
    counts: ClassVar[str] = "people of the population"

    @property
    @override
    def counts_only(self) -> bool:
        return True

    @property
    @override
    def sufficient_size(self) -> int:
        """The number of rows that implies the model: they are people, too."""
        return self.k

    @override
    def with_group_size(self, least: int) -> KMap:
        return replace(self, k=least)

    @override
    def assess(self, groups: Groups) -> Assessment:
        people = require_people(groups, self).count
        holds = people >= self.k
        return Assessment(holds, (Condition.of("k", people, self.k, holds),))


@dataclass(frozen=True)
class DeltaPresence(Model):
    """The share of people in the table is within bounds, for all labels.

    Parameters
    ----------
    at_most
        The largest probability that somebody of the population is in the table.
    at_least
        The smallest such probability, also for labels that no row has.

    Examples
    --------
    >>> DeltaPresence("1/2").name
    'delta-presence'
    """

    at_most: Annotated[Number, Ge(0), Le(1)]
    at_least: Annotated[Number, Ge(0), Le(1)] = 0
    name: ClassVar[str] = "delta-presence"
    summary_template: ClassVar[str] = (
        "Of the people of the population who fit some labels, at most a share of {at_most} is in the table, and at "
        "least {at_least}: nobody learns more about whether a person is in it."
    )
    needs_population: ClassVar[bool] = True
    needs_disjoint_labels: ClassVar[bool] = True
    supports_harmless: ClassVar[bool] = True
    counts: ClassVar[str] = "people of the population"

    def __post_init__(self) -> None:
        if exact_number(self.at_least) > exact_number(self.at_most):
            raise PlanError("models.presence-bounds")

    @property
    @override
    def counts_only(self) -> bool:
        return True

    @property
    @override
    def of_table(self) -> bool:  # type: ignore[override]
        """Return True: labels without rows and rows without labels count."""
        return True

    @override
    def assess(self, groups: Groups) -> Assessment:
        """Assess every group, and all of them where no group can mend it.

        Labels that are not shown fail for the whole table: leaving further rows out does not help.
        """
        people = require_people(groups, self)
        upper, lower = exact_number(self.at_most), exact_number(self.at_least)
        size, count = groups.size, np.maximum(people.count, groups.size)
        above = ratio_within(size, count, upper)
        below = ~ratio_within(size, count, lower, strict=True)
        unshown = people.unshown[people.unshown > 0]
        suspected = np.minimum(unshown, people.left_out)
        others_above = bool(ratio_within(suspected, unshown, upper).all())
        others_below = not (len(unshown) and lower > 0)
        highest = max([Fraction(0), *_ratios(size, count), *_ratios(suspected, unshown)])
        lowest = min([Fraction(1), *_ratios(size, count), *([Fraction(0)] if len(unshown) else [])])
        whole = np.ones(groups.count, np.bool_)
        conditions = (
            Condition.of("at_most", whole * float(highest), upper, whole & (highest <= upper), at_least=False),
            Condition.of("at_least", whole * float(lowest), lower, whole & (lowest >= lower)),
        )
        return Assessment(above & below & (others_above and others_below), conditions)


def _ratios(size: npt.NDArray[Any], count: npt.NDArray[Any]) -> list[Fraction]:
    """Return the smallest and the largest ratio."""
    if not len(size):
        return []
    ratio = size / count
    near = np.flatnonzero((ratio <= ratio.min() * (1 + 1e-12)) | (ratio >= ratio.max() * (1 - 1e-12)))
    pairs = {(int(size[index]), int(count[index])) for index in near.tolist()}
    return [Fraction(rows, people) for rows, people in pairs]
