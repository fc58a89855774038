"""Comparisons that no rounding and no overflow decides.

Counts are compared with a fraction in whole numbers, of 64 bits only where a bound proves that they suffice. A
logarithm is compared with a fraction, and a product of powers with 1, by decimals that are refined until they tell;
equality, where it can happen at all, is found beforehand in whole numbers. Figures that are shown are moved to the
side of their bound on which the verdict is: a reader who compares the two comes to the same verdict.
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

__all__ = ["as_float", "fitting", "log_is_below", "no_more", "powers_reach_one", "settle"]

LARGEST = 2**62
DIGITS = 30  # of the first attempt at a logarithm


def as_float(number: Fraction | int) -> float:
    """The nearest float; infinite where the number is beyond all of them."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def fitting(largest: int) -> type:
    """The number type that holds whole numbers up to ``largest``: 64 bits, or Python's own, which have no end."""
    return np.int64 if largest < LARGEST else object


def no_more(
    left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], bound: Fraction, *, strict: bool = False
) -> npt.NDArray[np.bool_]:
    """Where ``left <= bound * right`` (``<`` if strict), for counts and a bound that are not negative.

    >>> no_more(np.asarray([1999, 2]), np.asarray([2000, 7]), Fraction("0.3333333333333333"))
    array([False,  True])
    """
    largest = max(int(left.max(initial=0)) * bound.denominator, int(right.max(initial=0)) * bound.numerator)
    kind = fitting(max(largest, bound.denominator, bound.numerator))
    mine: npt.NDArray[Any] = left.astype(kind) * bound.denominator
    theirs: npt.NDArray[Any] = right.astype(kind) * bound.numerator
    return np.asarray(mine < theirs if strict else mine <= theirs, np.bool_)


def settle(
    value: npt.NDArray[Any], bound: float, holds: npt.NDArray[np.bool_], *, at_least: bool, strict: bool = False
) -> npt.NDArray[np.float64]:
    """The figures, those moved that rounding put on the other side of the bound than the verdict says.

    ``strict`` is for verdicts that do not hold at the bound itself.

    >>> settle(np.asarray([1 / 3]), 1 / 3, np.asarray([False]), at_least=False)
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
    """Whether ln(ratio) < bound. Only ln 1 = 0 is a fraction, so that refining comes to an end.

    >>> log_is_below(Fraction(2), Fraction(7, 10)), log_is_below(Fraction(2), Fraction(69, 100))
    (True, False)
    """
    if ratio == 1:
        return bound > 0
    digits = DIGITS
    while True:
        middle, error = _weighted_logs(((ratio.numerator, 1), (ratio.denominator, -1)), digits)
        if abs(middle - bound) > error:
            return middle < bound
        digits *= 2


def powers_reach_one(powers: Sequence[tuple[int, int]]) -> bool:
    """Whether the product of base ** exponent is at least 1; bases are positive.

    >>> powers_reach_one([(4, 4), (2, -8)]), powers_reach_one([(3, 5), (2, -8)])
    (True, False)
    """
    digits = DIGITS
    while True:
        middle, error = _weighted_logs(powers, digits)
        if abs(middle) > error:
            return middle > 0
        if digits == DIGITS and _product_is_one(powers):
            return True
        digits *= 2


def _weighted_logs(powers: Sequence[tuple[int, int]], digits: int) -> tuple[Fraction, Fraction]:
    """The sum of exponent * ln(base), and how far it may be off: each logarithm is right to its last digit."""
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    total, error = Fraction(0), Fraction(0)
    for base, exponent in powers:
        term = exponent * Fraction(context.ln(Decimal(base)))
        total += term
        error += abs(term) / 10 ** (digits - 1)
    return total, error


def _product_is_one(powers: Sequence[tuple[int, int]]) -> bool:
    """Split the bases by common divisors until none is left: then no two powers can cancel each other."""
    apart: dict[int, int] = {}
    waiting = list(powers)
    while waiting:
        base, exponent = waiting.pop()
        if base == 1 or exponent == 0:
            continue
        for other in apart:
            common = math.gcd(base, other)
            if common > 1:
                met = apart.pop(other)
                waiting += [(base // common, exponent), (other // common, met), (common, exponent + met)]
                break
        else:
            apart[base] = exponent
    return not apart
