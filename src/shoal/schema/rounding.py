"""Exact numbers, interval labels and round interval ends.

The ends of intervals that are made from data lie on multiples of 1, 2 or 5 times a power of ten. This grid does not
depend on rows, so that no end exists because a person has that value. All arithmetic is on whole numbers: values are
scaled by a power of ten first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from shoal.errors import HierarchyError
from shoal.runtime.validation import MAX_EXPONENT
from shoal.schema.bound_hierarchy import TOP, MissingFromHierarchy


def as_numbers(values: Sequence[str], column: str) -> list[Fraction]:
    """Return the values as exact numbers, or raise.

    The error states the number of values that are not numbers; if only some are not, it lists them.
    """
    numbers: list[Fraction] = []
    bad: list[str] = []
    for value in values:
        try:
            decimal = Decimal(value.strip())
            if decimal and abs(decimal.adjusted()) > MAX_EXPONENT:
                raise OverflowError
            numbers.append(Fraction(decimal) if decimal else Fraction(0))
        except (InvalidOperation, ValueError, OverflowError):
            bad.append(value)
    if bad and not numbers:
        raise HierarchyError("hierarchies.not-numbers", column=column, failing=len(bad), values=len(values))
    if bad:
        raise MissingFromHierarchy(column, bad)
    return numbers


def _text(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def interval_label(low: Fraction | None, high: Fraction | None, whole: bool) -> str:
    """Return the published label of an interval.

    This is the only function that formats intervals. None opens an end; ``whole`` is for whole numbers. The label has
    two dots between its first and its last number. If there is no last number below the end, ``<`` precedes the end. A
    dash would be a minus, and a spreadsheet reads ``1-2`` as a date; a comma would separate cells of a CSV.

    >>> [interval_label(*map(Fraction, (20, 25)), whole) for whole in (True, False)]
    ['20..24', '20..<25']
    """
    if low is None and high is None:
        return TOP
    if low is None:
        assert high is not None
        return f"<{_text(high)}"
    if high is None:
        return f">={_text(low)}"
    if whole:
        return _text(low) if high - low == 1 else f"{_text(low)}..{_text(high - 1)}"
    return f"{_text(low)}..<{_text(high)}"


def as_whole(numbers: Sequence[Fraction]) -> tuple[list[int], int]:
    """Scale decimal numbers by the least power of ten that makes them whole.

    Returns the scaled numbers and that power.

    >>> as_whole([Fraction("2.5"), Fraction(3)])
    ([25, 30], 10)
    """
    scale = 1
    for number in numbers:
        while (number * scale).denominator != 1:
            scale *= 10
    return [int(number * scale) for number in numbers], scale


def round_steps(least: int = 1) -> Iterator[int]:
    """Yield the steps 1, 2, 5, 10, 20, 50, ... from ``least`` on.

    >>> steps = round_steps(4)
    >>> [next(steps) for _ in range(4)]
    [5, 10, 20, 50]
    """
    power = 10 ** max(len(str(max(least, 1))) - 1, 0)
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                yield factor * power
        power *= 10


def round_cut(low: Fraction, high: Fraction) -> Fraction:
    """Return the roundest number above ``low`` and not above ``high``.

    If several numbers are equally round, one below ``high`` is preferred.

    >>> [int(round_cut(Fraction(a), Fraction(b))) for a, b in ((59, 97), (2, 3), (-4, 7), (980, 2100))]
    [60, 3, 0, 2000]
    """
    if low < 0 <= high:
        return Fraction(0)
    (a, b), scale = as_whole([low, high])
    found = b
    for step in round_steps():
        first = (a // step + 1) * step
        if first > b:
            break
        found = first
        if step > 2 * max(abs(a), abs(b)):
            break
    return Fraction(found, scale)
