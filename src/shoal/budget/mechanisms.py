"""Mechanisms with exact integer noise, without floating point.

Laplace noise drawn with floats is breakable: more than half of the outputs for one true answer are
impossible for its neighbour. Here noise is an integer z with probability proportional to q^|z|, where
q^sensitivity ≥ 1/E, so that replacing one individual changes the likelihood of any answer by at most E.
If the root of 1/E is rational, it is q, and the noise is two-sided geometric. Otherwise q = e^-r with a
rational r, and the sampler is that of Canonne, Kamath and Steinke.

Sensitivity is always for *replacing* one individual, the number of rows being public: 1 for a count, the
width of the range for a sum, 2 for a histogram.

Sources: Ghosh, Roughgarden and Sundararajan, Universally utility-maximizing privacy mechanisms, 2009
(geometric); Canonne, Kamath and Steinke, The discrete Gaussian for differential privacy, 2020, algorithm 2
(discrete Laplace); McKenna and Sheldon, Permute-and-flip, 2020 (selection).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shoal.budget.arithmetic import Rational, check_integer, exact_root, format_fraction, log_lower_bound, to_fraction
from shoal.budget.errors import ParameterError
from shoal.budget.sampling import RandomBits, bernoulli, bernoulli_exponential
from shoal.errors import InputError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Validated

_LARGEST_UNIT = 2**53  # up to here a float64 holds every integer, so that rounding to the grid is exact

_SMALLEST_ROOT = Fraction(1001, 1000)  # a geometric variable takes 1/(root - 1) tosses; below, Laplace is faster


@dataclass(frozen=True)
class Noise:
    """Integer noise z with probability proportional to q^|z|.

    Attributes
    ----------
    ratio
        q if it is rational, else None.
    rate
        The rational r with q = e^-r if q is not rational, else None.
    """

    ratio: Fraction | None
    rate: Fraction | None


def calibrate(bound: Rational, sensitivity: int) -> Noise:
    """Return the noise that gives an integer answer the pairwise bound E.

    Examples
    --------
    >>> calibrate(4, 2)
    Noise(ratio=Fraction(1, 2), rate=None)
    >>> calibrate(2, 2).ratio is None
    True
    """
    bound, sensitivity = to_fraction(bound, "E"), check_integer(sensitivity, "sensitivity", 1)
    lower = log_lower_bound(bound)  # also checks that E is above 1
    root = exact_root(bound, sensitivity)
    if root is not None and root >= _SMALLEST_ROOT:
        return Noise(ratio=1 / root, rate=None)
    return Noise(ratio=None, rate=lower / sensitivity)


def draw_noise(noise: Noise, source: RandomBits) -> int:
    """Draw one integer of this noise, exactly.

    Examples
    --------
    >>> from shoal.budget.sampling import SystemSource
    >>> isinstance(draw_noise(calibrate(4, 2), SystemSource()), int)
    True
    """
    if noise.ratio is not None:
        # The difference of two geometric variables is two-sided geometric.
        return _geometric(noise.ratio, source) - _geometric(noise.ratio, source)
    assert noise.rate is not None
    return _discrete_laplace(noise.rate, source)


def _geometric(ratio: Fraction, source: RandomBits) -> int:
    """Draw g ≥ 0 with probability (1 - ratio) · ratio^g."""
    failures = 0
    while bernoulli(ratio, source):
        failures += 1
    return failures


def _discrete_laplace(rate: Fraction, source: RandomBits) -> int:
    """Draw z with probability proportional to e^(-rate·|z|).

    Algorithm 2 of Canonne, Kamath and Steinke.
    """
    step, size = rate.numerator, rate.denominator
    while True:
        offset = source.below(size)
        if not bernoulli_exponential(Fraction(offset, size), source):
            continue
        blocks = 0
        while bernoulli_exponential(Fraction(1), source):
            blocks += 1
        magnitude = (offset + size * blocks) // step
        negative = source.below(2) == 1
        if negative and magnitude == 0:
            continue  # else zero would be drawn twice as often
        return -magnitude if negative else magnitude


def half_width(noise: Noise, confidence: Rational = "0.95") -> int:
    """Return the smallest w with Pr[|z| ≤ w] ≥ confidence.

    It bounds the distance of an answer from the truth. It follows from public parameters only, so it may be published.

    Examples
    --------
    >>> half_width(calibrate(11, 1)), half_width(calibrate("9/4", 1)), half_width(calibrate(2, 1000))
    (1, 4, 4322)
    """
    confidence = to_fraction(confidence, "confidence")
    if not 0 < confidence < 1:
        raise ParameterError("budget.confidence-out-of-range", found=format_fraction(confidence))
    ratio = float(noise.ratio) if noise.ratio is not None else math.exp(-float(noise.rate or 0))
    # Pr[|z| > w] = 2 q^(w+1) / (1 + q)
    steps = math.log(float(1 - confidence) * (1 + ratio) / 2) / math.log(ratio)
    return max(0, math.ceil(round(steps - 1, 9)))


def noisy_count(count: int, bound: Rational, source: RandomBits) -> int:
    """Return a count of rows with noise; sensitivity 1.

    Examples
    --------
    >>> from shoal.budget.sampling import SystemSource
    >>> abs(noisy_count(100, 10**9, SystemSource()) - 100) < 5
    True
    """
    return check_integer(count, "count", 0) + draw_noise(calibrate(bound, 1), source)


def noisy_histogram(counts: Sequence[int], bound: Rational, source: RandomBits) -> tuple[int, ...]:
    """Return the counts of declared cells, each with noise; sensitivity 2.

    Replacing an individual can take a row from one cell and add one to another. The cells must be declared, not taken
    from the data, and each row lies in one cell at most.

    Examples
    --------
    >>> from shoal.budget.sampling import SystemSource
    >>> len(noisy_histogram([3, 0, 4], 4, SystemSource()))
    3
    """
    noise = calibrate(bound, 2)
    return tuple(check_integer(count, "count", 0) + draw_noise(noise, source) for count in counts)


@dataclass(frozen=True)
class Span(Validated):
    """A public range and grid for sums.

    Values are clipped to lower .. upper and rounded to multiples of the step.

    Attributes
    ----------
    lower, upper
        The declared range. It must not be taken from the data.
    step
        The distance between neighbouring grid points; lower and upper are multiples of it.

    Examples
    --------
    >>> span = Span.of(0, 100, "1/2")
    >>> span.sensitivity(filtered=False), span.total([1.25, 99.9, 1000, float("nan")])
    (200, 402)
    """

    lower: Fraction
    upper: Fraction
    step: Fraction
    fault: ClassVar[type[InputError]] = ParameterError

    @classmethod
    def of(cls, lower: Rational, upper: Rational, step: Rational = 1) -> Span:
        """Build a span from numbers, and check it."""
        return cls(to_fraction(lower, "lower"), to_fraction(upper, "upper"), to_fraction(step, "step"))

    def __post_init__(self) -> None:
        if not (self.lower < self.upper and self.step > 0):
            raise ParameterError(
                "budget.range-invalid",
                lower=format_fraction(self.lower),
                upper=format_fraction(self.upper),
                step=format_fraction(self.step),
            )
        if not 2**-1000 <= self.step <= 2**1000:
            raise ParameterError("budget.step-out-of-range")
        units = (self.lower / self.step, self.upper / self.step)
        if any(unit.denominator != 1 or abs(unit) > _LARGEST_UNIT for unit in units):
            raise ParameterError(
                "budget.range-not-in-steps",
                lower=format_fraction(self.lower),
                upper=format_fraction(self.upper),
                step=format_fraction(self.step),
            )

    @property
    def units(self) -> tuple[int, int]:
        """Lower and upper, in steps."""
        return int(self.lower / self.step), int(self.upper / self.step)

    def sensitivity(self, filtered: bool) -> int:
        """Return the sensitivity of a sum, in steps.

        It is the largest change when one individual is replaced. A row outside a filter adds 0, so with a filter the
        range also includes 0.
        """
        lower, upper = self.units
        return max(upper, 0) - min(lower, 0) if filtered else upper - lower

    def total(self, values: ArrayLike) -> int:
        """Return the sum of the values on the grid, in steps.

        A missing value counts as 0, clipped.
        """
        array = np.asarray(values, dtype=np.float64)
        lower, upper = self.units
        with np.errstate(over="ignore"):
            steps = np.rint(array * float(1 / self.step))
        steps = np.clip(np.where(np.isnan(steps), 0.0, steps), lower, upper).astype(np.int64)
        largest = max(abs(lower), abs(upper), 1)
        chunk = max(1, (2**63 - 1) // largest)
        return sum(int(steps[start : start + chunk].sum()) for start in range(0, len(steps), chunk))


def noisy_sum(total: int, span: Span, bound: Rational, source: RandomBits, *, filtered: bool) -> Fraction:
    """Return a sum with noise, from its total in steps of the span.

    Parameters
    ----------
    total
        The exact sum in steps, as :meth:`Span.total` or the engine computes it.
    span
        The public range and grid.
    filtered
        Whether the sum is over the rows that meet a condition. It is not public which rows these are, so the sum
        can change by more.

    Examples
    --------
    >>> from shoal.budget.sampling import SystemSource
    >>> span = Span.of(0, 10)
    >>> isinstance(noisy_sum(span.total([1, 2, 30]), span, 4, SystemSource(), filtered=False), Fraction)
    True
    """
    noise = calibrate(bound, span.sensitivity(filtered))
    return span.step * (check_integer(total, "total", -(2**200)) + draw_noise(noise, source))


def noisy_mean(total: int, rows: int, span: Span, bound: Rational, source: RandomBits) -> Fraction:
    """Return the mean over all rows: a noisy sum over the number of rows.

    The number of rows is public. A mean over the rows that meet a condition divides by a number that is not public: ask
    for a sum and a count instead.

    Examples
    --------
    >>> from shoal.budget.sampling import SystemSource
    >>> isinstance(noisy_mean(33, 3, Span.of(0, 40), 4, SystemSource()), Fraction)
    True
    """
    rows = check_integer(rows, "rows", 1)
    return noisy_sum(total, span, bound, source, filtered=False) / rows


def best_of(scores: Sequence[int], sensitivity: int, bound: Rational, source: RandomBits) -> int:
    """Return the position of a candidate with a high score, chosen privately.

    Permute-and-flip: candidates are visited in random order, and one that is d below the best is chosen with
    probability q^d, q^(2·sensitivity) ≥ 1/E. In expectation it is never worse than the exponential mechanism, and
    its coins are exact. McKenna and Sheldon 2020, algorithm 1.

    Parameters
    ----------
    scores
        Whole numbers, larger is better; put fractions on a public grid first.
    sensitivity
        The largest change of one score when one individual is replaced.

    Examples
    --------
    >>> from shoal.budget.sampling import SystemSource
    >>> best_of([0, 10**6, 5], 1, 4, SystemSource())
    1
    """
    if not len(scores):
        raise ParameterError("budget.no-candidates")
    noise = calibrate(bound, 2 * check_integer(sensitivity, "sensitivity", 1))
    numbers = [check_integer(score, "score", -(2**200)) for score in scores]
    best = max(numbers)
    order = list(range(len(numbers)))
    for position in range(len(order)):
        other = position + source.below(len(order) - position)
        order[position], order[other] = order[other], order[position]
        if _survives(noise, best - numbers[order[position]], source):
            return order[position]
    raise AssertionError("a candidate with the best score is always taken")


def _survives(noise: Noise, steps: int, source: RandomBits) -> bool:
    """Return True with probability q^steps."""
    if noise.ratio is not None:
        return all(bernoulli(noise.ratio, source) for _ in range(steps))
    assert noise.rate is not None
    return bernoulli_exponential(noise.rate * steps, source)
