"""Random bits, and exact Bernoulli draws made from them.

A guarantee about probabilities holds only if the draws have exactly those probabilities: an exact β, no floating point,
and unpredictable bits. The source of bits is an object that is passed in. The default uses the operating system
(``secrets``, ``os.urandom``) and cannot be seeded: a seed that leaks undoes every answer.

Source: Canonne, Kamath and Steinke, The discrete Gaussian for differential privacy, 2020, algorithm 1 (coins
of probability e^-x).
"""

from __future__ import annotations

import os
import secrets
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shoal.budget.arithmetic import Rational, check_integer, format_fraction, to_fraction
from shoal.budget.errors import FixedSizeSamplingError, SamplingRateError

_ROWS_PER_CHUNK = 1 << 24


@runtime_checkable
class RandomBits(Protocol):
    """A source of random bits."""

    def below(self, limit: int) -> int:
        """Return a uniform integer in 0 .. limit - 1."""
        ...

    def randbytes(self, size: int) -> bytes:
        """Return ``size`` uniform bytes."""
        ...


class SystemSource:
    """The operating system's cryptographic source, without seed or state."""

    def below(self, limit: int) -> int:
        """Return a uniform integer in 0 .. limit - 1."""
        return secrets.randbelow(limit)

    def randbytes(self, size: int) -> bytes:
        """Return ``size`` uniform bytes."""
        return os.urandom(size)


def bernoulli(chance: Fraction, source: RandomBits) -> bool:
    """Return True with exactly this rational probability.

    Examples
    --------
    >>> bernoulli(Fraction(1), SystemSource()), bernoulli(Fraction(0), SystemSource())
    (True, False)
    """
    return source.below(chance.denominator) < chance.numerator


def bernoulli_exponential(exponent: Fraction, source: RandomBits) -> bool:
    """Return True with probability exactly e^-exponent.

    The exponent is rational and not negative. Canonne, Kamath and Steinke 2020, algorithm 1: no logarithm, no
    exponential and no float is evaluated.

    Examples
    --------
    >>> bernoulli_exponential(Fraction(0), SystemSource())
    True
    """
    units = exponent.__floor__()
    for _ in range(units):
        if not _bernoulli_exponential_below_one(Fraction(1), source):
            return False
    return _bernoulli_exponential_below_one(exponent - units, source)


def _bernoulli_exponential_below_one(exponent: Fraction, source: RandomBits) -> bool:
    """Return True with probability e^-exponent, for an exponent in 0 .. 1."""
    turn = 1
    while source.below(exponent.denominator * turn) < exponent.numerator:
        turn += 1
    return turn % 2 == 1


def check_sampling_design(design: str) -> None:
    """Raise unless every row is sampled independently of the others.

    Parameters
    ----------
    design
        ``independent``. Anything else, such as ``fixed-size``, is not covered by the theorem.

    Examples
    --------
    >>> check_sampling_design("independent")
    """
    if design != "independent":
        raise FixedSizeSamplingError("budget.sample-of-fixed-size")


def sample_mask(rows: int, beta: Rational, source: RandomBits) -> NDArray[np.bool_]:
    """Sample each row independently with probability exactly β.

    A row draws its binary expansion byte by byte until it is known to be below or above that of β. One byte decides
    for 255 rows of 256, so ten million rows cost little more than ten million random bytes.

    Examples
    --------
    >>> bool(sample_mask(1000, "1/3", SystemSource()).sum() > 100)
    True
    """
    rows, beta = check_integer(rows, "rows", 0), _rate(beta)
    mask = np.empty(rows, dtype=np.bool_)
    for start in range(0, rows, _ROWS_PER_CHUNK):
        part = mask[start : start + _ROWS_PER_CHUNK]
        part[:] = _mask(len(part), beta, source)
    return mask


def _mask(rows: int, beta: Fraction, source: RandomBits) -> NDArray[np.bool_]:
    """Return ``rows`` exact draws of probability β, 0 ≤ β < 1."""
    drawn = np.frombuffer(source.randbytes(rows), dtype=np.uint8)
    digit = (beta * 256).__floor__()
    mask = drawn < digit
    rest = beta * 256 - digit
    if rest:
        undecided = np.flatnonzero(drawn == digit)
        if len(undecided):
            mask[undecided] = _mask(len(undecided), rest, source)
    return mask


def sample_counts(counts: NDArray[np.int64], beta: Rational, source: RandomBits) -> NDArray[np.int64]:
    """Draw exact binomial samples of each count, one coin for each row.

    If a release depends on the rows through their cells only, it does not matter which rows of a cell are
    sampled, and the frequency set is all that is needed.

    Examples
    --------
    >>> sampled = sample_counts(np.array([5, 0, 100]), "1/2", SystemSource())
    >>> bool(sampled[0] <= 5), int(sampled[1])
    (True, 0)
    """
    beta = _rate(beta)
    sampled = np.zeros(len(counts), dtype=np.int64)
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, _ROWS_PER_CHUNK):
        stop = min(total, start + _ROWS_PER_CHUNK)
        # running[i] is the number of sampled rows among the first i rows of this chunk
        running = np.zeros(stop - start + 1, dtype=np.int64)
        np.cumsum(_mask(stop - start, beta, source), out=running[1:])
        first = np.searchsorted(ends, start, side="right")
        last = np.searchsorted(ends, stop, side="left")
        edges = np.clip(ends[first : last + 1], start, stop) - start
        sampled[first : last + 1] += np.diff(running[edges], prepend=0)
    return sampled


def _rate(beta: Rational) -> Fraction:
    """Return β if it is above 0 and below 1, or raise."""
    beta = to_fraction(beta, "beta")
    if not 0 < beta < 1:
        raise SamplingRateError("budget.beta-out-of-range", found=format_fraction(beta))
    return beta
