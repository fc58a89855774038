"""Exact arithmetic of differential identifiability.

An intruder knows every row but one, and m individuals could be the missing one. ρ is the highest probability
with which the intruder may identify it. A mechanism is *pairwise bounded by E* if no output is more than E times
as likely for one candidate as for another; E = e^ε. With odds(p) = p / (1 - p), a uniform prior 1/m becomes
at most odds(ρ) = E · odds(1/m). All of these numbers are rational, so they are computed with fractions and never
rounded.

Sources: Lee and Clifton, Differential identifiability, KDD 2012; Zhao, Shang and Liu, Secure k-anonymization
linked with differential identifiability (sections 3 and 3.4; Proposition 5 is corrected here); Li, Qardaji and
Su, On sampling, anonymization, and differential privacy, ASIACCS 2012 (Theorem 1, for δ).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from shoal.budget.errors import (
    ParameterError,
    RhoAboveCrowdError,
    RhoTooSmallError,
    SamplingRateError,
)
from shoal.formatting import significant

_MAX_POWER_BITS = 2**24
_LONG_EXPONENT = re.compile(r"[eE][+-]?0*[1-9][0-9]{4}")

Rational = Fraction | Decimal | float | int | str
"""A rational number as the public functions accept it; a float is read as the decimal number that it prints as."""


def to_fraction(value: Rational, name: str) -> Fraction:
    """Return ``value`` as an exact fraction.

    A float is read as the decimal number that it prints as, since that is what the user wrote. The binary float 0.1 is
    a little more than 1/10, and a rounding error must not exceed a budget.

    Examples
    --------
    >>> to_fraction("1/20", "rho"), to_fraction(0.1, "rho"), to_fraction(3, "rho")
    (Fraction(1, 20), Fraction(1, 10), Fraction(3, 1))
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, str | Decimal) and _LONG_EXPONENT.search(str(value)):
            raise ValueError  # a fraction with a billion digits would take forever to compute
        return Fraction(repr(value) if type(value) is float else value)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise ParameterError("budget.not-a-number", parameter=name, found=type(value).__name__) from None


def check_integer(value: int, name: str, minimum: int) -> int:
    """Return ``value`` as an int that is not below ``minimum``, or raise.

    The error names the parameter.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ParameterError("budget.not-a-whole-number", parameter=name, found=type(value).__name__)
    number = value.__index__()
    if number < minimum:
        raise ParameterError("budget.below-minimum", parameter=name, minimum=minimum, found=number)
    return number


def format_fraction(value: Fraction) -> str:
    """Format a fraction for people: exactly if it is short, and as a decimal.

    Examples
    --------
    >>> format_fraction(Fraction(1, 20)), format_fraction(Fraction(3)), format_fraction(Fraction(10**40, 10**41 + 1))
    ('1/20 (0.05)', '3', '0.1')
    """
    if value.denominator == 1 and value.numerator.bit_length() < 64:
        return str(value)
    try:
        decimal = significant(float(value), 6)
    except OverflowError:
        decimal = f"about 2^{value.numerator.bit_length() - value.denominator.bit_length()}"
    short = value.numerator.bit_length() < 64 and value.denominator.bit_length() < 64
    return f"{value} ({decimal})" if short else decimal


def odds(probability_: Fraction) -> Fraction:
    """Return p / (1 - p) of a probability below 1.

    Examples
    --------
    >>> odds(Fraction(1, 5))
    Fraction(1, 4)
    """
    return probability_ / (1 - probability_)


def probability(odds_: Fraction) -> Fraction:
    """Return the probability that has these odds; the inverse of :func:`odds`.

    Examples
    --------
    >>> probability(Fraction(1, 4))
    Fraction(1, 5)
    """
    return odds_ / (1 + odds_)


def epsilon(bound: Fraction) -> float:
    """Return ε = ln E, for display only: no decision depends on this float.

    Examples
    --------
    >>> round(epsilon(bound_from_rho("1/10", 10**6)), 1)
    11.6
    """
    return math.log(bound.numerator) - math.log(bound.denominator)


def bound_from_rho(rho: Rational, m: int) -> Fraction:
    """Return the pairwise bound E of a ρ-differentially identifiable query.

    E = (m - 1) · ρ / (1 - ρ). Lee and Clifton 2012, section 4.

    Parameters
    ----------
    rho
        The highest probability with which the intruder may identify the individual; 1/m < ρ < 1.
    m
        The number of individuals who could be the unknown one. A number that is too small is safe; one that is too
        large is not.

    Examples
    --------
    >>> bound_from_rho("1/5", 10), bound_from_rho("1/10", 100)
    (Fraction(9, 4), Fraction(11, 1))
    """
    m = check_integer(m, "m", 2)
    rho = to_fraction(rho, "rho")
    if rho * m <= 1:
        raise RhoTooSmallError("budget.rho-too-small", m=m, found=format_fraction(rho))
    if rho >= 1:
        raise ParameterError("budget.rho-permits-certainty", found=format_fraction(rho))
    return (m - 1) * odds(rho)


def rho_from_bound(bound: Rational, m: int) -> Fraction:
    """Return the ρ of a mechanism with pairwise bound E: ρ = E / (E + m - 1).

    Examples
    --------
    >>> rho_from_bound("9/4", 10)
    Fraction(1, 5)
    """
    m = check_integer(m, "m", 2)
    bound = _check_bound(bound)
    return bound / (bound + m - 1)


def check_crowd(rho: Rational, k: int) -> Fraction:
    """Return ρ if it is at most 1/k, or raise.

    Zhao, Shang and Liu, Definition 2.

    Examples
    --------
    >>> check_crowd("1/20", 5)
    Fraction(1, 20)
    """
    k = check_integer(k, "k", 1)
    rho = to_fraction(rho, "rho")
    if rho * k > 1:
        raise RhoAboveCrowdError(
            "budget.rho-above-crowd", k=k, crowd=k, found=format_fraction(rho), largest_k=int(1 / rho)
        )
    return rho


def compose(rho: Rational, bound: Rational) -> Fraction:
    """Return ρ after one more mechanism with pairwise bound E.

    The mechanism multiplies odds(ρ) by E. This is Proposition 5, corrected. The proposition multiplies ρ1 · ρ2 · m for
    any ρ2-differentially identifiable second mechanism, which is false. A second mechanism with a pairwise bound gives
    the formula here, and small universes attain it.

    Examples
    --------
    >>> compose("1/20", bound_from_rho("1/2500", 10**4))
    Fraction(3333, 19160)
    """
    rho = to_fraction(rho, "rho")
    if not 0 <= rho <= 1:
        raise ParameterError("budget.rho-out-of-range", found=format_fraction(rho))
    return rho if rho == 1 else probability(odds(rho) * _check_bound(bound))


def compose_as_in_paper(rho: Rational, rho_of_query: Rational, m: int) -> Fraction:
    """Return ρ1 · ρ2 · m, Proposition 5 as printed, for comparison only.

    If the second mechanism has a pairwise bound and ρ1 ≥ 1/m, the number is never below :func:`compose`: it is valid,
    but loose.

    Examples
    --------
    >>> compose_as_in_paper("1/20", "1/2500", 10**4)
    Fraction(1, 5)
    """
    return to_fraction(rho, "rho") * to_fraction(rho_of_query, "rho_of_query") * check_integer(m, "m", 2)


def check_sampling_rate(beta: Rational, bound: Rational) -> Fraction:
    """Return β if 0 < β ≤ 1 - 1/E, or raise.

    This is the range of Theorem 1 of Li, Qardaji and Su.

    Examples
    --------
    >>> check_sampling_rate(0.5, 2)
    Fraction(1, 2)
    """
    beta, bound = to_fraction(beta, "beta"), _check_bound(bound)
    if not 0 < beta <= 1 - 1 / bound:
        raise SamplingRateError(
            "budget.beta-above-limit", limit=format_fraction(1 - 1 / bound), found=format_fraction(beta)
        )
    return beta


def sampled_factor(bound: Rational, beta: Rational) -> Fraction:
    """Return E / (1 - β), the factor of a sampled release on the odds.

    Removing the individual from the data changes the likelihood of an output by at most E upwards, and by at
    most 1 - β downwards (the row may not have been sampled). Two candidates can differ by both.

    Examples
    --------
    >>> sampled_factor(3, "1/4")
    Fraction(4, 1)
    """
    beta = check_sampling_rate(beta, bound)
    return _check_bound(bound) / (1 - beta)


def sampled_bound_from_rho(rho: Rational, m: int, beta: Rational, choice: Rational = 1) -> Fraction:
    """Return the E of a sampled release with guarantee ρ.

    E = (1 - β)(m - 1) ρ / (1 - ρ), divided by the E of a private choice.

    Parameters
    ----------
    choice
        The part of E that a private choice of the recoding spends; 1 if there is none.

    Examples
    --------
    >>> sampled_bound_from_rho("2/21", 39, "1/4")
    Fraction(3, 1)
    >>> sampled_bound_from_rho("2/21", 39, "1/4", choice="3/2")
    Fraction(2, 1)
    """
    beta = to_fraction(beta, "beta")
    factor = bound_from_rho(rho, m) / to_fraction(choice, "choice")
    bound = (1 - beta) * factor
    if bound <= 1:
        raise SamplingRateError(
            "budget.beta-leaves-too-small-e", beta=format_fraction(beta), bound=format_fraction(bound)
        )
    check_sampling_rate(beta, bound)
    return bound


def sampling_delta(bound: Rational, k: int, beta: Rational) -> Fraction:
    """Return the exact δ of a sampled release that drops cells below k rows.

    δ = max over n ≥ ⌈k/γ - 1⌉ of Pr[Bin(n, β) > γn], γ = 1 - (1 - β)/E. Li, Qardaji and Su 2012, Theorem 1.
    The maximum is over infinitely many n; the search stops when Chernoff's bound shows that no later n can exceed it.

    Examples
    --------
    >>> sampling_delta(2, 5, "1/2"), sampling_delta(3, 5, "1/4")
    (Fraction(7, 64), Fraction(19, 4096))
    """
    k, tails = check_integer(k, "k", 1), _Tails.of(bound, beta)
    best = tails.at(k)
    threshold = k + 1
    while tails.decay * tails.trials(threshold) <= _log_inverse_upper(best):
        best = max(best, tails.at(threshold))
        threshold += 1
    return best


def smallest_crowd(bound: Rational, delta: Rational, beta: Rational) -> int:
    """Return the smallest k with :func:`sampling_delta` at most ``delta``.

    Examples
    --------
    >>> smallest_crowd(2, "1e-6", "1/2"), smallest_crowd(3, "1e-8", "2/3")
    (66, 108)
    """
    tails, delta = _Tails.of(bound, beta), to_fraction(delta, "delta")
    if not 0 < delta < 1:
        raise ParameterError("budget.delta-out-of-range", found=format_fraction(delta))
    # From here on Chernoff's bound keeps every tail below delta: walk down to the last one that is above it.
    threshold = math.ceil(_log_inverse_upper(delta) / tails.decay * tails.gamma) + 1
    while threshold > 0 and tails.at(threshold) <= delta:
        threshold -= 1
    return threshold + 1


@dataclass(frozen=True)
class _Tails:
    """The tails Pr[Bin(n, β) > γn], evaluated only at their local maxima.

    While ⌊γn⌋ stays j - 1, the tail is Pr[Bin(n, β) ≥ j] and grows with n. So its maxima are at the last such n,
    ⌈j/γ⌉ - 1, one for each threshold j; and n ≥ ⌈k/γ - 1⌉ is j ≥ k.
    """

    bound: Fraction
    beta: Fraction
    gamma: Fraction

    @classmethod
    def of(cls, bound: Rational, beta: Rational) -> _Tails:
        """Check E and β, and compute γ."""
        bound, beta = _check_bound(bound), check_sampling_rate(beta, bound)
        return cls(bound, beta, 1 - (1 - beta) / bound)

    def trials(self, threshold: int) -> int:
        """Return the largest n with γn below the threshold."""
        return math.ceil(threshold / self.gamma) - 1

    def at(self, threshold: int) -> Fraction:
        """Return Pr[Bin(n, β) ≥ threshold] for this n.

        The sum runs over the side with fewer terms.
        """
        trials, scale = self.trials(threshold), self.beta.denominator
        success, failure = self.beta.numerator, scale - self.beta.numerator
        if trials * scale.bit_length() > _MAX_POWER_BITS:
            raise ParameterError(
                "budget.delta-not-computable",
                bound=format_fraction(self.bound),
                beta=format_fraction(self.beta),
                bits=_MAX_POWER_BITS,
            )
        total = 0
        if trials - threshold < threshold:
            term = success**trials
            for j in range(trials, threshold - 1, -1):
                total += term
                term = term * j * failure // ((trials - j + 1) * success)
        else:
            term = failure**trials
            for j in range(threshold):
                total += term
                term = term * (trials - j) * success // ((j + 1) * failure)
            total = scale**trials - total
        return Fraction(total, scale**trials)

    @property
    def decay(self) -> Fraction:
        """A rational c with Pr[Bin(n, β) > γn] ≤ exp(-c·n) for all n.

        It is the larger of two bounds. Bernstein's is rational. Chernoff's, the relative entropy of γ and β, is far
        better for β near 1, but it is computed in floats. It is used only if it is large against their error, and then
        lowered.
        """
        excess = (self.gamma - self.beta) / self.beta
        bernstein = self.beta * excess**2 / (2 + 2 * excess / 3)
        entropy = float(self.gamma) * epsilon(1 + excess) - float(1 - self.gamma) * epsilon(self.bound)
        return max(bernstein, Fraction(entropy) * Fraction(999, 1000)) if entropy > 1e-9 else bernstein


def _log_inverse_upper(value: Fraction) -> Fraction:
    """Return a little more than ln(1 / value), for 0 < value < 1."""
    return Fraction(math.log(value.denominator) - math.log(value.numerator)) * Fraction(1001, 1000) + Fraction(1, 1000)


def _check_bound(bound: Rational) -> Fraction:
    """Return E as a fraction above or equal to 1, or raise."""
    bound = to_fraction(bound, "E")
    if bound <= 1:
        raise ParameterError("budget.e-too-small", found=format_fraction(bound))
    return bound


def log_lower_bound(bound: Rational, bits: int = 40) -> Fraction:
    """Return a rational lower bound of ln E.

    Its relative error is about 2^-bits. ln(2^j · f) = j ln 2 + ln f, each from the series
    2·artanh(z) = 2(z + z³/3 + ...), z = (f - 1)/(f + 1). All terms of the series are positive, so every partial sum,
    rounded down, is a lower bound.

    Examples
    --------
    >>> from math import log
    >>> lower = log_lower_bound(4)
    >>> lower < Fraction(log(4)) and float(log(4) - lower) < 1e-11
    True
    """
    bound = _check_bound(bound)
    shift = bound.numerator.bit_length() - bound.denominator.bit_length()
    if Fraction(2) ** shift > bound:
        shift -= 1
    mantissa = bound / Fraction(2) ** shift
    # A bound close to 1 has a small logarithm: keep its leading bits, not only the first bits after the point.
    fraction_bits = bits + 4 + max(0, (1 / (bound - 1)).__ceil__().bit_length())
    units = shift * _log_units(Fraction(2), fraction_bits) + _log_units(mantissa, fraction_bits)
    return Fraction(units, 2**fraction_bits)


def _log_units(mantissa: Fraction, fraction_bits: int) -> int:
    """Return a lower bound of 2^fraction_bits · ln(mantissa), rounded down.

    The mantissa lies in 1 .. 2.
    """
    guard = fraction_bits + 16
    z = ((mantissa - 1) / (mantissa + 1) * 2**guard).__floor__()
    square = z * z >> guard
    total, power, divisor = 0, z, 1
    while power:
        total += power // divisor
        power = power * square >> guard
        divisor += 2
    return 2 * total >> 16


def exact_root(value: Fraction, degree: int) -> Fraction | None:
    """Return the root of a positive fraction if it is rational, else None.

    Examples
    --------
    >>> exact_root(Fraction(9, 4), 2), exact_root(Fraction(2), 2)
    (Fraction(3, 2), None)
    """
    parts = []
    for part in (value.numerator, value.denominator):
        root = 1 if part.bit_length() <= degree else _floor_root(part, degree)
        if (part if root == 1 else root**degree) != (1 if root == 1 else part):
            return None
        parts.append(root)
    return Fraction(parts[0], parts[1])


def _floor_root(value: int, degree: int) -> int:
    """Return the floor of the ``degree``-th root of an integer.

    Newton's method, in integers.
    """
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


def round_up(value: Fraction, bits: int = 1024) -> Fraction:
    """Return ``value``, rounded up if it takes more than ``bits`` bits.

    Products of bounds would grow without limit, and so would the ledger. Rounding up books more than was spent, by a
    relative error below 2^-(bits/4): this is safe and far too small to notice. Values below 2^-(4·bits) become
    2^-(4·bits): a δ of a million digits must not take a million digits to write.

    Examples
    --------
    >>> round_up(Fraction(1, 3)), float(round_up(Fraction(1, 3**2000)) * 3**2000)
    (Fraction(1, 3), 1.0)
    """
    size = max(value.numerator.bit_length(), value.denominator.bit_length())
    if size <= bits or value == 0:
        return value
    magnitude = value.numerator.bit_length() - value.denominator.bit_length()
    fraction_bits = min(bits // 4 - magnitude, 4 * bits)
    unit = Fraction(2) ** fraction_bits
    return Fraction((value * unit).__ceil__()) / unit


def round_down(value: Fraction, digits: int = 6) -> Fraction:
    """Return a positive value truncated to its first decimal digits.

    A user can request the truncated value of what remains.

    Examples
    --------
    >>> round_down(Fraction(2, 3)), round_down(Fraction(1, 5))
    (Fraction(333333, 500000), Fraction(1, 5))
    """
    unit = Fraction(10) ** (digits - 1 - math.floor(math.log10(value)))
    return Fraction((value * unit).__floor__()) / unit
