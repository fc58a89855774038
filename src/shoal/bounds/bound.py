"""How far a release can be from the best one: what it loses, and the least that any release of its kind loses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.errors import ShoalError

__all__ = ["Bound", "least_geometric", "rounded_down"]

ROUNDING = 1e-12
"""Relative: far more than the rounding of all sums and products on the way, far less than anybody reads."""
EQUAL = 1e-9
"""Relative: so far the sums of a loss and of its bound may be apart where both are the same figure."""


@dataclass(frozen=True)
class Bound:
    """What a release loses, in the measure that its method minimizes, and what no release of its kind can undercut.

    A release that loses less than its bound says that one of the two is wrong: that is a fault, and is not hidden.

    >>> Bound("ncp", 0.25, 0.25).optimal, Bound("ncp", 0.25, 0.2).optimal
    (True, False)
    """

    measure: str
    loss: float
    lower_bound: float
    reported: Mapping[str, float] = field(default_factory=dict)
    """The same for figures under ``loss`` of the certificate that follow from it."""

    @property
    def optimal(self) -> bool:
        """Whether the release is proven to lose least, up to the rounding of sums."""
        return self.loss <= self.lower_bound * (1 + 4 * ROUNDING)

    def to_dict(self) -> dict[str, object]:
        """For the certificate; of a release that was found to meet its models, so that the fault is not there."""
        if self.lower_bound > self.loss + EQUAL * max(self.loss, 1e-3):
            raise ShoalError(
                f"The release loses {self.loss:.9g} ({self.measure}), and is said to lose no less than "
                f"{self.lower_bound:.9g}: one of the two is wrong. This is a fault in shoal; nothing was written."
            )
        return {
            "measure": self.measure,
            "loss": self.loss,
            "lower_bound": min(self.lower_bound, self.loss),  # above it by rounding alone
            "optimal": self.optimal,
            **({"reported": dict(self.reported)} if self.reported else {}),
        }


def rounded_down(bound: float) -> float:
    """A bound as a float that is below it for certain, and not below 0."""
    return max(0.0, bound * (1 - ROUNDING))


def least_geometric(mean: float, columns: int) -> float:
    """The least geometric mean of (1 + loss), minus 1, of columns with such a mean loss, each from 0 to 1.

    It is a concave function of the losses, so the least is at a corner: all columns at 0 or 1 but one.

    >>> least_geometric(0.5, 2) == 2**0.5 - 1, least_geometric(0.0, 3)
    (True, 0.0)
    """
    whole, part = divmod(min(mean, 1.0) * columns, 1.0)
    return math.expm1((whole * math.log(2.0) + math.log1p(part)) / columns)
