"""The loss of a release and the lower bound of its method."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.errors import ShoalError

ROUNDING = 1e-12
"""Relative tolerance, far above the rounding error of all sums and products and far below any reported digit."""
EQUAL = 1e-9
"""Relative difference at which the sums of a loss and of its bound still count as the same figure."""


@dataclass(frozen=True)
class Bound:
    """The loss of a release and a lower bound of any release of its kind.

    Both are in the measure that the method minimizes. A release that loses less than its bound proves that one of the
    two figures is wrong; that is an internal error and raises.

    >>> Bound("ncp", 0.25, 0.25).optimal, Bound("ncp", 0.25, 0.2).optimal
    (True, False)
    """

    measure: str
    loss: float
    lower_bound: float
    reported: Mapping[str, float] = field(default_factory=dict)
    """Lower bounds of the figures under ``loss`` of the certificate that follow from this bound."""

    @property
    def optimal(self) -> bool:
        """Return whether the release is proven optimal, up to rounding of sums."""
        return self.loss <= self.lower_bound * (1 + 4 * ROUNDING)

    def to_dict(self) -> dict[str, object]:
        """Return the entry of the certificate.

        The release must already be known to meet its models; otherwise a loss below the bound would not be an error.
        """
        if self.lower_bound > self.loss + EQUAL * max(self.loss, 1e-3):
            raise ShoalError(
                "verification.loss-below-bound", loss=self.loss, measure=self.measure, lower_bound=self.lower_bound
            )
        return {
            "measure": self.measure,
            "loss": self.loss,
            "lower_bound": min(self.lower_bound, self.loss),  # it can exceed the loss by rounding only
            "optimal": self.optimal,
            **({"reported": dict(self.reported)} if self.reported else {}),
        }


def rounded_down(bound: float) -> float:
    """Return a bound as a float that is surely not above it, and at least 0."""
    return max(0.0, bound * (1 - ROUNDING))


def least_geometric(mean: float, columns: int) -> float:
    """Return the least geometric mean of (1 + loss), minus 1, of columns.

    The columns have the given mean loss, each from 0 to 1. The geometric mean is a concave function of the losses, so
    the minimum is at a corner: all columns but one are at 0 or 1.

    >>> least_geometric(0.5, 2) == 2**0.5 - 1, least_geometric(0.0, 3)
    (True, 0.0)
    """
    whole, part = divmod(min(mean, 1.0) * columns, 1.0)
    return math.expm1((whole * math.log(2.0) + math.log1p(part)) / columns)
