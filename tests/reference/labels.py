"""Reference implementation of labels made from released rows alone."""

from __future__ import annotations

from fractions import Fraction


def steps():
    """Yield all round numbers from 10**-12: 1, 2, 5 times powers of ten."""
    power = Fraction(1, 10**12)
    while True:
        for factor in (1, 2, 5):
            yield factor * power
        power *= 10


def round_range(values, column, text):
    """Return the label of a group of numbers.

    ``column`` has the released numbers of all groups.
    """
    low, high = min(values), max(values)
    if low == high:
        return text[low]
    unit = Fraction(1)
    while any((number / unit).denominator != 1 for number in column):
        unit /= 10
    for step in steps():
        if step < 2 * unit or step * 4 < high - low:
            continue
        start, end = low // step * step, (high // step + 1) * step
        if start in values:
            start -= step
        if unit == 1 and end - 1 in values:
            end += step
        return _label(start if start > min(column) else None, end if end <= max(column) else None, unit == 1)
    return None


def _label(low, high, whole):
    if low is None:
        return "*" if high is None else f"<{_text(high)}"
    if high is None:
        return f">={_text(low)}"
    return f"{_text(low)}..{_text(high - 1)}" if whole else f"{_text(low)}..<{_text(high)}"


def _text(number):
    return str(number) if number.denominator == 1 else repr(float(number))


def between(low, high):
    """Yield all tenths above ``low`` and not above ``high``."""
    number = (low * 10).__floor__() + 1
    while Fraction(number, 10) <= high:
        yield Fraction(number, 10)
        number += 1


def roundness(number):
    """Return the largest round step that divides a number.

    Nothing is rounder than 0.
    """
    if number == 0:
        return Fraction(10**9)
    return max(step for step, _ in zip(steps(), range(60), strict=False) if (number / step).denominator == 1)
