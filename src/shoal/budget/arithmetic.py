"""The arithmetic of differential identifiability, exact.

An intruder knows every row but one, and m individuals could be the missing one. ρ is the highest probability
with which the intruder may name it. A mechanism is *pairwise bounded by E* if no output is more than E times
as likely for one candidate as for another; E = e^ε. With odds(p) = p / (1 - p), a uniform prior 1/m becomes
at most odds(ρ) = E · odds(1/m). All of this is rational, so it is computed with fractions and never rounded.

Sources: Lee and Clifton, Differential identifiability, KDD 2012; Zhao, Shang and Liu, Secure k-anonymization
linked with differential identifiability (sections 3 and 3.4; Proposition 5 is repaired here); Li, Qardaji and
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

__all__ = [
    "Rational",
    "bound_from_rho",
    "check_crowd",
    "check_sampling_rate",
    "compose",
    "compose_as_in_paper",
    "epsilon",
    "exact",
    "exact_root",
    "log_lower_bound",
    "odds",
    "probability",
    "rho_from_bound",
    "round_down",
    "round_up",
    "sampled_bound_from_rho",
    "sampled_factor",
    "sampling_delta",
    "show",
    "smallest_crowd",
    "whole",
]

_LARGEST_POWER = 2**24
_LONG_EXPONENT = re.compile(r"[eE][+-]?0*[1-9][0-9]{4}")

Rational = Fraction | Decimal | float | int | str
"""What the public functions accept for a rational number; a float is read as the decimal it prints as."""


def exact(value: Rational, name: str) -> Fraction:
    """Return ``value`` as an exact fraction.

    A float is taken for the decimal number that it prints as, since that is what the user wrote: the binary
    float 0.1 is a little more than 1/10, and a budget must not be passed by a rounding error.

    Examples
    --------
    >>> exact("1/20", "rho"), exact(0.1, "rho"), exact(3, "rho")
    (Fraction(1, 20), Fraction(1, 10), Fraction(3, 1))
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, str | Decimal) and _LONG_EXPONENT.search(str(value)):
            raise ValueError  # a fraction of a thousand million digits would be computed without end
        return Fraction(repr(value) if type(value) is float else value)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise ParameterError(
            f"{name} must be a finite number such as 0.05 or '1/20'. Got a {type(value).__name__} that is none."
        ) from None


def whole(value: int, name: str, least: int) -> int:
    """Return ``value`` as an int of at least ``least``, or raise an error that names the parameter."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ParameterError(f"{name} must be a whole number. Got a {type(value).__name__} instead.")
    number = value.__index__()
    if number < least:
        raise ParameterError(f"{name} must be at least {least}. Got {number} instead.")
    return number


def show(value: Fraction) -> str:
    """Write a fraction for people: exactly where it is short, and as a decimal number.

    Examples
    --------
    >>> show(Fraction(1, 20)), show(Fraction(3)), show(Fraction(10**40, 10**41 + 1))
    ('1/20 (0.05)', '3', '0.1')
    """
    if value.denominator == 1 and value.numerator.bit_length() < 64:
        return str(value)
    try:
        decimal = f"{float(value):.6g}"
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
    """Return ε = ln E, for display only: no decision is taken on this float.

    Examples
    --------
    >>> round(epsilon(bound_from_rho("1/10", 10**6)), 1)
    11.6
    """
    return math.log(bound.numerator) - math.log(bound.denominator)


def bound_from_rho(rho: Rational, m: int) -> Fraction:
    """Return the pairwise bound E that makes a query ρ-differentially identifiable.

    E = (m - 1) · ρ / (1 - ρ). Lee and Clifton 2012, section 4.

    Parameters
    ----------
    rho
        The highest probability with which the intruder may name the individual; 1/m < ρ < 1.
    m
        How many individuals could be the unknown one. A number that is too small is safe, one too large is
        not.

    Examples
    --------
    >>> bound_from_rho("1/5", 10), bound_from_rho("1/10", 100)
    (Fraction(9, 4), Fraction(11, 1))
    """
    m = whole(m, "m", 2)
    rho = exact(rho, "rho")
    if rho * m <= 1:
        raise RhoTooSmallError(
            f"rho must be above 1/m = 1/{m}, the probability of a blind guess. Got {show(rho)}. "
            "Ask for a larger rho; or, if more individuals could be the unknown one, declare a larger m."
        )
    if rho >= 1:
        raise ParameterError(f"rho must be below 1. Got {show(rho)}: this would permit certainty. Lower rho.")
    return (m - 1) * odds(rho)


def rho_from_bound(bound: Rational, m: int) -> Fraction:
    """Return the ρ of a mechanism with pairwise bound E: ρ = E / (E + m - 1).

    Examples
    --------
    >>> rho_from_bound("9/4", 10)
    Fraction(1, 5)
    """
    m = whole(m, "m", 2)
    bound = _bound(bound)
    return bound / (bound + m - 1)


def check_crowd(rho: Rational, k: int) -> Fraction:
    """Return ρ if it is at most 1/k (Zhao, Shang and Liu, Definition 2), or raise.

    Examples
    --------
    >>> check_crowd("1/20", 5)
    Fraction(1, 20)
    """
    k = whole(k, "k", 1)
    rho = exact(rho, "rho")
    if rho * k > 1:
        raise RhoAboveCrowdError(
            f"rho must be at most 1/k = 1/{k} for everyone to hide in a crowd of {k}. Got {show(rho)}. "
            f"Lower rho (more noise, or a smaller sample), or ask for k of at most {int(1 / rho)}."
        )
    return rho


def compose(rho: Rational, bound: Rational) -> Fraction:
    """Return ρ after one more mechanism with pairwise bound E: odds(ρ) grow by the factor E.

    This is Proposition 5 repaired. The proposition multiplies ρ1 · ρ2 · m for any ρ2-differentially
    identifiable second mechanism, which is false; a second mechanism with a pairwise bound gives the formula
    here, and small universes attain it.

    Examples
    --------
    >>> compose("1/20", bound_from_rho("1/2500", 10**4))
    Fraction(3333, 19160)
    """
    rho = exact(rho, "rho")
    if not 0 <= rho <= 1:
        raise ParameterError(f"rho must be between 0 and 1. Got {show(rho)} instead.")
    return rho if rho == 1 else probability(odds(rho) * _bound(bound))


def compose_as_in_paper(rho: Rational, rho_of_query: Rational, m: int) -> Fraction:
    """Return ρ1 · ρ2 · m, the number of Proposition 5 as printed, for comparison only.

    Where the second mechanism has a pairwise bound and ρ1 ≥ 1/m, it is never below :func:`compose`: valid,
    but loose.

    Examples
    --------
    >>> compose_as_in_paper("1/20", "1/2500", 10**4)
    Fraction(1, 5)
    """
    return exact(rho, "rho") * exact(rho_of_query, "rho_of_query") * whole(m, "m", 2)


def check_sampling_rate(beta: Rational, bound: Rational) -> Fraction:
    """Return β if 0 < β ≤ 1 - 1/E, the range of Li, Qardaji and Su's Theorem 1, or raise.

    Examples
    --------
    >>> check_sampling_rate(0.5, 2)
    Fraction(1, 2)
    """
    beta, bound = exact(beta, "beta"), _bound(bound)
    if not 0 < beta <= 1 - 1 / bound:
        raise SamplingRateError(
            f"beta must be above 0 and at most 1 - 1/E = {show(1 - 1 / bound)}. Got {show(beta)}. "
            "Sample fewer rows, or permit a larger E (a larger rho)."
        )
    return beta


def sampled_factor(bound: Rational, beta: Rational) -> Fraction:
    """Return E / (1 - β), by which a sampled release can multiply the intruder's odds.

    Removing the individual from the data changes the likelihood of an output by at most E upwards, and by at
    most 1 - β downwards (the row may not have been sampled); two candidates differ by both.

    Examples
    --------
    >>> sampled_factor(3, "1/4")
    Fraction(4, 1)
    """
    beta = check_sampling_rate(beta, bound)
    return _bound(bound) / (1 - beta)


def sampled_bound_from_rho(rho: Rational, m: int, beta: Rational, choice: Rational = 1) -> Fraction:
    """Return the E of a sampled release that promises ρ: E = (1 - β)(m - 1) ρ / (1 - ρ).

    Parameters
    ----------
    choice
        The E that a private choice of the recoding uses of the same promise; 1 where there is none.

    Examples
    --------
    >>> sampled_bound_from_rho("2/21", 39, "1/4")
    Fraction(3, 1)
    >>> sampled_bound_from_rho("2/21", 39, "1/4", choice="3/2")
    Fraction(2, 1)
    """
    beta = exact(beta, "beta")
    factor = bound_from_rho(rho, m) / exact(choice, "choice")
    bound = (1 - beta) * factor
    if bound <= 1:
        raise SamplingRateError(
            f"beta must leave E = (1 - beta)(m - 1) rho / (1 - rho) above 1, the E of a private choice taken off. "
            f"Got beta {show(beta)} and E = {show(bound)}. Sample fewer rows, or permit a larger rho."
        )
    check_sampling_rate(beta, bound)
    return bound


def sampling_delta(bound: Rational, k: int, beta: Rational) -> Fraction:
    """Return δ of a sampled release that drops cells of fewer than k rows, exactly.

    δ = max over n ≥ ⌈k/γ - 1⌉ of Pr[Bin(n, β) > γn], γ = 1 - (1 - β)/E. Li, Qardaji and Su 2012, Theorem 1.
    The maximum is over infinitely many n; the search ends when Chernoff's bound shows that no later n counts.

    Examples
    --------
    >>> sampling_delta(2, 5, "1/2"), sampling_delta(3, 5, "1/4")
    (Fraction(7, 64), Fraction(19, 4096))
    """
    k, tails = whole(k, "k", 1), _Tails.of(bound, beta)
    best = tails.at(k)
    threshold = k + 1
    while tails.decay * tails.trials(threshold) <= _log_inverse_upper(best):
        best = max(best, tails.at(threshold))
        threshold += 1
    return best


def smallest_crowd(bound: Rational, delta: Rational, beta: Rational) -> int:
    """Return the smallest k whose sampled release has :func:`sampling_delta` of at most ``delta``.

    Examples
    --------
    >>> smallest_crowd(2, "1e-6", "1/2"), smallest_crowd(3, "1e-8", "2/3")
    (66, 108)
    """
    tails, delta = _Tails.of(bound, beta), exact(delta, "delta")
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be above 0 and below 1. Got {show(delta)} instead.")
    # From here on Chernoff's bound keeps every tail under delta: walk down to the last that is above.
    threshold = math.ceil(_log_inverse_upper(delta) / tails.decay * tails.gamma) + 1
    while threshold > 0 and tails.at(threshold) <= delta:
        threshold -= 1
    return threshold + 1


@dataclass(frozen=True)
class _Tails:
    """The tails Pr[Bin(n, β) > γn], of which only one in about 1/γ matters.

    While ⌊γn⌋ stays j - 1, the tail is Pr[Bin(n, β) ≥ j] and grows with n. So its maxima are at the last such n,
    ⌈j/γ⌉ - 1, one for each threshold j; and n ≥ ⌈k/γ - 1⌉ is j ≥ k.
    """

    bound: Fraction
    beta: Fraction
    gamma: Fraction

    @classmethod
    def of(cls, bound: Rational, beta: Rational) -> _Tails:
        """Check E and β, and compute γ."""
        bound, beta = _bound(bound), check_sampling_rate(beta, bound)
        return cls(bound, beta, 1 - (1 - beta) / bound)

    def trials(self, threshold: int) -> int:
        """Return the largest n with γn below the threshold."""
        return math.ceil(threshold / self.gamma) - 1

    def at(self, threshold: int) -> Fraction:
        """Return Pr[Bin(n, β) ≥ threshold] for this n; from whichever side has fewer terms."""
        trials, scale = self.trials(threshold), self.beta.denominator
        success, failure = self.beta.numerator, scale - self.beta.numerator
        if trials * scale.bit_length() > _LARGEST_POWER:
            raise ParameterError(
                "E and beta must be such that delta can be computed exactly. "
                f"Got E = {show(self.bound)} and beta = {show(self.beta)}, which takes numbers of more than "
                f"{_LARGEST_POWER} bits. Use a beta with fewer digits, or an E that is further from 1."
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
        """A rational c with Pr[Bin(n, β) > γn] ≤ exp(-c·n) for all n; the larger of two bounds.

        Bernstein's is rational. Chernoff's, the relative entropy of γ and β, is far better where β is near 1, but
        is computed in floats: it is used only where it is large against their error, and then lowered.
        """
        excess = (self.gamma - self.beta) / self.beta
        bernstein = self.beta * excess**2 / (2 + 2 * excess / 3)
        entropy = float(self.gamma) * epsilon(1 + excess) - float(1 - self.gamma) * epsilon(self.bound)
        return max(bernstein, Fraction(entropy) * Fraction(999, 1000)) if entropy > 1e-9 else bernstein


def _log_inverse_upper(value: Fraction) -> Fraction:
    """Return a little more than ln(1 / value), for 0 < value < 1."""
    return Fraction(math.log(value.denominator) - math.log(value.numerator)) * Fraction(1001, 1000) + Fraction(1, 1000)


def _bound(bound: Rational) -> Fraction:
    """Return E as a fraction above or equal to 1, or raise."""
    bound = exact(bound, "E")
    if bound <= 1:
        raise ParameterError(
            f"E must be above 1. Got {show(bound)}: nothing can be said at that E. Permit a larger E (a larger rho)."
        )
    return bound


def log_lower_bound(bound: Rational, bits: int = 40) -> Fraction:
    """Return a rational L with L ≤ ln E, below it by a relative error of about 2^-bits.

    ln(2^j · f) = j ln 2 + ln f, each from the series 2·artanh(z) = 2(z + z³/3 + ...), z = (f - 1)/(f + 1),
    whose terms are all positive: every partial sum, rounded down, is a lower bound.

    Examples
    --------
    >>> from math import log
    >>> lower = log_lower_bound(4)
    >>> lower < Fraction(log(4)) and float(log(4) - lower) < 1e-11
    True
    """
    bound = _bound(bound)
    shift = bound.numerator.bit_length() - bound.denominator.bit_length()
    if Fraction(2) ** shift > bound:
        shift -= 1
    mantissa = bound / Fraction(2) ** shift
    # A bound close to 1 has a small logarithm: keep its leading bits, not only its first `bits` binary
    # places.
    places = bits + 4 + max(0, (1 / (bound - 1)).__ceil__().bit_length())
    units = shift * _log_units(Fraction(2), places) + _log_units(mantissa, places)
    return Fraction(units, 2**places)


def _log_units(mantissa: Fraction, places: int) -> int:
    """Return ⌊·⌋ of a lower bound of 2^places · ln(mantissa), for 1 ≤ mantissa ≤ 2."""
    guard = places + 16
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
    """Return the largest integer whose ``degree``-th power is at most ``value``, by Newton's method."""
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


def round_up(value: Fraction, bits: int = 1024) -> Fraction:
    """Return ``value``, or a little more where it takes over ``bits`` bits to write.

    Products of many bounds grow without limit; a ledger must not. Rounding up spends more than was used, by a
    relative error below 2^-(bits/4): safe, and far below anything that can be noticed. What is below 2^-(4·bits)
    becomes that: a δ of a million digits must not take a million digits to write.

    Examples
    --------
    >>> round_up(Fraction(1, 3)), float(round_up(Fraction(1, 3**2000)) * 3**2000)
    (Fraction(1, 3), 1.0)
    """
    size = max(value.numerator.bit_length(), value.denominator.bit_length())
    if size <= bits or value == 0:
        return value
    magnitude = value.numerator.bit_length() - value.denominator.bit_length()
    places = min(bits // 4 - magnitude, 4 * bits)
    unit = Fraction(2) ** places
    return Fraction((value * unit).__ceil__()) / unit


def round_down(value: Fraction, digits: int = 6) -> Fraction:
    """Return a positive value cut to its first decimal digits, so that a user can ask for what remains.

    Examples
    --------
    >>> round_down(Fraction(2, 3)), round_down(Fraction(1, 5))
    (Fraction(333333, 500000), Fraction(1, 5))
    """
    unit = Fraction(10) ** (digits - 1 - math.floor(math.log10(value)))
    return Fraction((value * unit).__floor__()) / unit
