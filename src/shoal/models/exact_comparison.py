"""Comparisons that neither rounding nor overflow can falsify.

Counts are compared with a fraction in whole numbers, with 64 bits only if a bound proves that they suffice. A logarithm
is compared with a fraction, and a product of powers with 1, by decimals whose precision is raised until they decide;
equality, if it is possible at all, is detected beforehand in whole numbers. Published figures are moved to the side of
their bound that agrees with the verdict: a reader who compares the two reaches the same verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

INT64_LIMIT = 2**62
INITIAL_DIGITS = 30  # precision of the first attempt at a logarithm


def as_float(number: Fraction | int) -> float:
    """Return the nearest float; infinity if the number is out of range."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def integer_type(largest: int) -> type:
    """Return int64 if it can represent ``largest``, otherwise object.

    Object arrays contain Python integers, which are unbounded.
    """
    return np.int64 if largest < INT64_LIMIT else object


def ratio_within(
    left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], bound: Fraction, *, strict: bool = False
) -> npt.NDArray[np.bool_]:
    """Return where ``left <= bound * right`` (``<`` if strict).

    Counts and bound must not be negative.

    >>> ratio_within(np.asarray([1999, 2]), np.asarray([2000, 7]), Fraction("0.3333333333333333"))
    array([False,  True])
    """
    largest = max(int(left.max(initial=0)) * bound.denominator, int(right.max(initial=0)) * bound.numerator)
    kind = integer_type(max(largest, bound.denominator, bound.numerator))
    scaled_left: npt.NDArray[Any] = left.astype(kind) * bound.denominator
    scaled_right: npt.NDArray[Any] = right.astype(kind) * bound.numerator
    return np.asarray(scaled_left < scaled_right if strict else scaled_left <= scaled_right, np.bool_)


def align_with_verdict(
    value: npt.NDArray[Any], bound: float, holds: npt.NDArray[np.bool_], *, at_least: bool, strict: bool = False
) -> npt.NDArray[np.float64]:
    """Move figures that rounding put on the wrong side of the bound.

    The verdict ``holds`` decides the side. ``strict`` is for verdicts that fail at the bound itself.

    >>> align_with_verdict(np.asarray([1 / 3]), 1 / 3, np.asarray([False]), at_least=False)
    array([0.33333333])
    """
    figures = np.array(value, np.float64)
    inside, outside = (-math.inf, math.inf) if not at_least else (math.inf, -math.inf)
    good = np.nextafter(bound, inside) if strict else bound
    bad = bound if strict else np.nextafter(bound, outside)
    within = np.asarray(figures >= good if at_least else figures <= good)
    figures[holds & ~within] = good
    figures[~holds & within] = bad
    return figures


@lru_cache(maxsize=4096)
def log_is_below(ratio: Fraction, bound: Fraction) -> bool:
    """Return whether ln(ratio) < bound.

    Only ln 1 = 0 is a fraction, so that raising the precision terminates.

    >>> log_is_below(Fraction(2), Fraction(7, 10)), log_is_below(Fraction(2), Fraction(69, 100))
    (True, False)
    """
    if ratio == 1:
        return bound > 0
    digits = INITIAL_DIGITS
    while True:
        middle, error = _weighted_logs(((ratio.numerator, 1), (ratio.denominator, -1)), digits)
        if abs(middle - bound) > error:
            return middle < bound
        digits *= 2


def powers_reach_one(powers: Sequence[tuple[int, int]]) -> bool:
    """Return whether the product of base ** exponent is at least 1.

    Bases are positive.

    >>> powers_reach_one([(4, 4), (2, -8)]), powers_reach_one([(3, 5), (2, -8)])
    (True, False)
    """
    digits = INITIAL_DIGITS
    while True:
        middle, error = _weighted_logs(powers, digits)
        if abs(middle) > error:
            return middle > 0
        if digits == INITIAL_DIGITS and _product_is_one(powers):
            return True
        digits *= 2


def _weighted_logs(powers: Sequence[tuple[int, int]], digits: int) -> tuple[Fraction, Fraction]:
    """Return the sum of exponent * ln(base), and a bound on its error.

    Each logarithm is correct to its last digit.
    """
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    total, error = Fraction(0), Fraction(0)
    for base, exponent in powers:
        term = exponent * Fraction(context.ln(Decimal(base)))
        total += term
        error += abs(term) / 10 ** (digits - 1)
    return total, error


def _product_is_one(powers: Sequence[tuple[int, int]]) -> bool:
    """Split the bases by common divisors until they are pairwise coprime.

    Then no two powers can cancel each other.
    """
    bases: dict[int, int] = {}
    waiting = list(powers)
    while waiting:
        base, exponent = waiting.pop()
        if base == 1 or exponent == 0:
            continue
        for other in bases:
            common = math.gcd(base, other)
            if common > 1:
                exponent_of_other = bases.pop(other)
                waiting += [
                    (base // common, exponent),
                    (other // common, exponent_of_other),
                    (common, exponent + exponent_of_other),
                ]
                break
        else:
            bases[base] = exponent
    return not bases
