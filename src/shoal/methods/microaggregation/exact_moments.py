"""Mean and standard deviation, independent of row order and distribution.

A float is an integer times a power of two, so floats can be added exactly as integers. Only each value's distance from
the lowest one, and the result, are rounded. Sums of parts of a table can be added in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Moments:
    """Count and exact sums of x - low and of its square, for x above ``low``."""

    low: float
    count: int = 0
    total: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both parts; ``low`` must be the same."""
        return Moments(self.low, self.count + other.count, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float:
        """The mean; 0 for no numbers."""
        return self.low + float(self.total / self.count) if self.count else 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation of a sample.

        Its relative error is at most about the number of rows times 2⁻⁵³: the lowest value alone makes the variance at
        least the squared distance of the mean from it over the number of rows.
        """
        if self.count < 2:
            return 0.0
        variance = (self.squares - self.total * self.total / self.count) / (self.count - 1)
        return float(np.sqrt(float(max(variance, Fraction(0)))))


def moments(numbers: npt.NDArray[np.float64], count: npt.NDArray[np.int64], low: float) -> Moments:
    """Compute the moments of numbers, float64 (n,), with counts, int64 (n,).

    NaN is ignored.

    >>> found = moments(np.array([1.0, 3.0, np.nan]), np.array([2, 1, 5]), 1.0)
    >>> found.mean, round(found.deviation, 6)
    (1.6666666666666665, 1.154701)
    """
    known = ~np.isnan(numbers)
    above, count = numbers[known] - low, count[known]
    return Moments(low, int(count.sum()), exact_sum(above, count), exact_sum(above * above, count))


def exact_sum(values: npt.NDArray[np.float64], count: npt.NDArray[np.int64]) -> Fraction:
    """Return the sum of finite values times counts, without rounding.

    The counts must add up to less than 2³⁵.

    >>> exact_sum(np.array([1e16, 1.0, -1e16]), np.array([1, 3, 1]))
    Fraction(3, 1)
    """
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64)
    order = np.argsort(exponent.astype(np.int16), kind="stable")
    whole, exponent, count = whole[order], exponent[order], count[order]
    starts = np.flatnonzero(np.diff(exponent, prepend=exponent[:1] - 1))  # the first value of each exponent
    # sums of the halves stay within 64 bits
    high = np.add.reduceat((whole >> 26) * count, starts) if len(starts) else starts
    low = np.add.reduceat((whole & (2**26 - 1)) * count, starts) if len(starts) else starts
    return sum(
        (
            Fraction((above << 26) + below) * Fraction(2) ** (power - 53)
            for above, below, power in zip(high.tolist(), low.tolist(), exponent[starts].tolist(), strict=True)
        ),
        Fraction(0),
    )
