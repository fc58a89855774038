"""Exponentials and logarithms enclosed between two integers.

A pair (low, high) with a number of bits encloses a number x: low <= x * 2**bits <= high. The terms of a series are
rounded down for the lower end and up for the upper end; the remainder of the series is bounded by its last term. More
bits give a closer enclosure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

BITS = 64  # of the first attempt

Enclosure = tuple[int, int]


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)


def exponential(power: Fraction, bits: int) -> Enclosure:
    """Enclose e ** power for a power that is not negative, by its series.

    >>> exponential(Fraction(1), 20)
    (2850315, 2850335)
    """
    p, q = power.numerator, power.denominator
    low = high = down = up = 1 << bits
    term = 0
    while up > 1 or term <= 2 * power:  # beyond this, each term is less than half of the previous one
        term += 1
        down, up = down * p // (q * term), _ceil(up * p, q * term)
        low, high = low + down, high + up
    return low, high + up


@lru_cache(maxsize=100_000)
def logarithm(number: int, bits: int) -> Enclosure:
    """Enclose the natural logarithm of an integer of at least 1.

    With number = 2^e (1 + x) / (1 - x), it is e ln 2 + 2 artanh x.

    >>> logarithm(1, 20), logarithm(10, 20)
    ((0, 0), (2414430, 2414475))
    """
    if number == 1:
        return 0, 0
    exponent = number.bit_length() - 1
    of_two, rest = _artanh(1, 3, bits), _artanh(number - (1 << exponent), number + (1 << exponent), bits)
    return 2 * (exponent * of_two[0] + rest[0]), 2 * (exponent * of_two[1] + rest[1])


def _artanh(p: int, q: int, bits: int) -> Enclosure:
    """Enclose x + x^3/3 + x^5/5 + ... for x = p/q, 0 <= x <= 1/3."""
    low = high = 0
    down, up = (p << bits) // q, _ceil(p << bits, q)
    term = 1
    while up > 1:
        low, high = low + down // term, high + _ceil(up, term)
        down, up = down * p * p // (q * q), _ceil(up * p * p, q * q)
        term += 2
    return low, high + 2  # the omitted terms: at most 1 + 1/9 + 1/81 + ...


class BelowExponential:
    """Test whether a ratio is below e ** power, for power > 0.

    No rational number but 1 = e^0 is a rational power of e, so the test always terminates.
    """

    def __init__(self, power: Fraction) -> None:
        self.power, self.whole = power, math.floor(power)
        self.bits = 0
        self.low = self.high = 0

    def __call__(self, above: int, under: int) -> bool:
        """Return whether above / under < e ** power, for above >= under > 0."""
        if above == under or self.whole >= above.bit_length():  # the ratio is less than 2 ** bits
            return True
        while True:
            if self.bits:
                scaled = above << self.bits
                if scaled < self.low * under:
                    return True
                if scaled > self.high * under:
                    return False
            self.bits = 2 * self.bits or BITS
            self.low, self.high = exponential(self.power, self.bits)


def product_is_at_least_one(powers: Iterable[tuple[int, int]]) -> bool:
    """Return whether the product of base ** exponent is at least 1.

    Bases and exponents are integers; bases are positive.
    """
    listed = [(base, exponent) for base, exponent in powers if exponent]
    bits = BITS
    while True:
        ends = [0, 0]
        for base, exponent in listed:
            enclosure = logarithm(base, bits)
            ends[0] += exponent * enclosure[exponent < 0]
            ends[1] += exponent * enclosure[exponent > 0]
        if ends[0] >= 0 or ends[1] < 0:
            return ends[0] >= 0
        if bits == BITS and _cancels(listed):
            return True
        bits *= 2


def _cancels(powers: list[tuple[int, int]]) -> bool:
    """Return whether a product of powers is 1.

    It is 1 if every exponent is 0 once the bases are pairwise coprime. One base is taken at a time, and the factors
    that the others share with it are moved to it.
    """
    rest = [(base, exponent) for base, exponent in powers if base > 1]
    while rest:
        common = rest[0][0]
        for base, _ in rest[1:]:
            shared = math.gcd(common, base)
            common = shared if shared > 1 else common
        total, left = 0, []
        for base, exponent in rest:
            times = 0
            while base % common == 0:
                base, times = base // common, times + 1
            total += times * exponent
            if base > 1:
                left.append((base, exponent))
        if all(math.gcd(common, base) == 1 for base, _ in left):
            if total:
                return False
            rest = left
        else:
            rest = [(common, total), *left] if total else left
    return True
