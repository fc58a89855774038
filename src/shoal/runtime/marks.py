"""Marks and types for annotations of fields, and exact numbers.

A mark stands in ``Annotated`` beside the bounds of ``annotated_types``; :mod:`shoal.runtime.annotations` reads both.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from annotated_types import Ge, Gt, Le, MinLen

from shoal.runtime.lazy_dataclass import dataclass

MAX_INTEGER = 2**53 - 1
"""The largest integer by default: beyond it floats no longer distinguish neighbours."""

MAX_EXPONENT = 300
"""Numbers beyond 10**300 or below 10**-300 are rejected: exact arithmetic on 1e999999999 would not end."""


@dataclass(frozen=True)
class Mark:
    """Mark in an annotation that no library defines."""

    word: str


EXACT = Mark("exact")
"""A number that is compared exactly: it may be text such as "4/3", and stays as the user wrote it."""
ALLOW_INFINITE = Mark("open")
"""A number that may be infinite."""
CELL = Mark("cell")
"""The text of a cell: a plan may write it as a number, a truth value or a date."""
FROM_TEXT = Mark("from text")
"""A number that a plan may write as text, since a variable is text."""
ONE_OR_MORE = Mark("one or more")
"""A list: a plan may write a single item that is text without the list."""
INLINE = Mark("inline")
"""An object whose keys stand in the section of its owner."""
NOT_IN_PLAN = Mark("not in plan")
"""A field that a plan cannot write."""


@dataclass(frozen=True)
class Key(Mark):
    """Key of a field in a plan, where it is not the field's name."""


Number = Annotated[int | float | str | Fraction | Decimal, EXACT]
Share = Annotated[float, Ge(0), Le(1)]
Weight = Annotated[float, Ge(1e-9), Le(1e9)]
Seconds = Annotated[float, Gt(0), Le(1e9)]
Name = Annotated[str, MinLen(1)]
CellText = Annotated[str, CELL]


def exact_number(number: object) -> Fraction:
    """Return the number as the user wrote it, as an exact fraction.

    0.1 is one tenth, not the nearest float. Raises ValueError if the value is not a number.
    """
    if isinstance(number, bool) or not isinstance(number, int | float | str | Fraction | Decimal):
        raise ValueError("not a number")
    if isinstance(number, float | Decimal) and not math.isfinite(number):
        raise ValueError("not finite")
    if isinstance(number, str | float | Decimal):
        text = str(number).strip()
        if len(text) > 2 * MAX_EXPONENT:
            raise ValueError("too long")
        power = text.lower().rpartition("e")[2] if "e" in text.lower() else "0"
        if abs(int(power)) > MAX_EXPONENT:
            raise ValueError("too large or too small")
        try:
            number = Fraction(text)
        except ZeroDivisionError:
            raise ValueError("a division by zero") from None
    found = Fraction(number)
    limit = 10**MAX_EXPONENT
    if abs(found) > limit or found.denominator > limit:
        raise ValueError("too large or too small")
    return found
