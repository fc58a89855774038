"""Upward privacy breaches, as a condition on groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Le, Lt

from shoal.errors import PlanError
from shoal.plugins import Assessment, Condition, Groups, Histogram, SensitiveModel


@dataclass(frozen=True)
class Rho1ToRho2(SensitiveModel):
    """Absence of upward ρ1-to-ρ2 privacy breaches.

    A value is rare if its share of the release is at most ρ1. In every group, the share of every rare value is less
    than ρ2 (Evfimievski, Gehrke and Srikant 2003). Shares are of the rows whose value is known; a group without any
    fails.
    """

    rho1: Annotated[float, Gt(0), Lt(1)] = 0.1
    rho2: Annotated[float, Gt(0), Le(1)] = 0.5
    column: str | None = None
    name: ClassVar[str] = "rho1-to-rho2"
    supports_people: ClassVar[bool] = True  # counts are compared with counts alone
    summary_template: ClassVar[str] = (
        "No value of {column} with a share of at most {rho1} has a share of {rho2} or more in a group."
    )

    def __post_init__(self) -> None:
        """Validate the parameters, also against each other."""
        super().__post_init__()
        if self.rho1 >= self.rho2:
            raise PlanError("rho1-to-rho2: rho1 must be less than rho2; try a larger rho2")

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """Evaluate the model on one sensitive column."""
        rho1, rho2 = Fraction(str(self.rho1)), Fraction(str(self.rho2))
        rare = histogram.total <= math.floor(rho1 * int(histogram.total.sum()))
        sizes, position = np.unique(histogram.known, return_inverse=True)
        breach_counts = np.array([math.ceil(rho2 * int(size)) for size in sizes], dtype=np.int64)[position]
        owner = np.repeat(np.arange(groups.count), np.diff(histogram.start))
        is_rare = rare[histogram.value]
        owner, count = owner[is_rare], histogram.count[is_rare]

        holds = histogram.known > 0
        holds[owner[count >= breach_counts[owner]]] = False
        share = np.where(histogram.known > 0, 0.0, 1.0)
        np.maximum.at(share, owner, count / histogram.known[owner])
        return Assessment(holds, (Condition.of("rho2", share, rho2, holds, at_least=False, strict=True),))
