"""What kind of values a column has, and which hierarchy suits them: told by looking at its different values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from shoal.runtime.validation import LARGEST_EXPONENT
from shoal.schema.column_vocabulary import words_of
from shoal.schema.spelling import fold

__all__ = ["date_format", "kind_of", "numbers_of", "oddities", "separators_of", "with_a_sign"]

FORMATS = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y", "%Y%m%d", "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%Y-%m",
    "%b-%Y", "%b %Y", "%m/%Y",
)  # fmt: skip
MONTHLY = {"%Y-%m", "%b-%Y", "%b %Y", "%m/%Y"}
LONGEST_PREFIX = 10
FREE_TEXT = 40
POSTAL = {"zip", "zipcode", "postcode", "postal", "plz", "cap", "postleitzahl"}
DEGREES = {"lat": 90, "latitude": 90, "breitengrad": 90, "latitud": 90, "latitudine": 90, "lon": 180, "lng": 180,
           "long": 180, "longitude": 180, "laengengrad": 180, "longitud": 180, "longitudine": 180}  # fmt: skip
GRID = [0.01, 0.1, 1, 10]
"""Widths of the cells of a map in degrees: about a kilometre, ten, a hundred, a thousand."""


def kind_of(values: list[str], name: str) -> tuple[str, Mapping[str, Any], str]:
    """The kind of a column, a hierarchy for it, and why that one."""
    form = date_format(values)
    if form is not None:
        units = ["month", "quarter", "year", "decade"][form in MONTHLY :]
        if any(":" in value for value in values):  # the time of the day is lost first
            units = ["day", *units]
        hierarchy: dict[str, Any] = {"dates": units, **({"format": form} if form else {})}
        return "date", hierarchy, f"dates become {', '.join(unit + 's' for unit in units)}"
    longest = max(map(len, values))
    same_length = min(map(len, values)) == longest
    codes = same_length and 3 <= longest <= LONGEST_PREFIX and len(values) > 2
    words = words_of(name)
    said = POSTAL & set(words)
    numbers = numbers_of(values)
    zeros = any(len(value) > 1 and value[0] == "0" and value.isdigit() for value in values)
    if numbers is not None and not (codes and (zeros or said)):
        degrees = max((DEGREES.get(word, 0) for word in words), default=0)
        if degrees and max(map(abs, numbers)) <= degrees and any(number % 1 for number in numbers):
            return "number", {"intervals": GRID}, "places become cells of a grid, in degrees"
        if len(values) <= 2:
            return "number", {"flat": True}, "it has so few values that there is nothing between them and none"
        widths = _widths(numbers)
        if widths is None:
            return "number", {"flat": True}, "its values lie too close together for intervals"
        return "number", {"intervals": widths}, "numbers become intervals"
    if codes and (said or all(any(sign.isdigit() for sign in value) for value in values)):
        return "code", {"prefix": True}, "codes of one length lose their last characters first"
    if numbers_of([value.replace(",", ".", 1) for value in values]) is not None:
        how = "numbers with a decimal comma are shown or hidden; written with a point, they would become intervals"
        return "word", {"flat": True}, how
    if longest > FREE_TEXT and sum(map(len, values)) / len(values) > FREE_TEXT and len(values) > 20:
        return "text", {"flat": True}, ""
    return "word", {"flat": True}, "a word is shown or hidden; a tree or a CSV hierarchy would keep more"


def numbers_of(values: Sequence[str]) -> list[float] | None:
    """The values as numbers that a hierarchy takes, or None."""
    found = []
    for value in values:
        try:
            number = Decimal(value.strip())
            if not number.is_finite() or (number and abs(number.adjusted()) > LARGEST_EXPONENT):
                return None
        except (InvalidOperation, ValueError):
            return None
        found.append(float(number))
    return found or None


def with_a_sign(values: Sequence[str]) -> bool:
    """Whether all values are numbers with the same sign or unit beside them.

    >>> [with_a_sign(values) for values in (["85.3%", "7 %"], ["$ 1200", "$15"], ["5 kg", "6 cm"], ["5", "6"])]
    [True, True, False, False]
    """
    found = {re.sub(r"[\d.,+\s-]+", "", value) for value in values}
    number = re.compile(r"\D{0,4}[+-]?\d[\d.,]*\D{0,4}")
    return len(found) == 1 and found != {""} and all(number.fullmatch(value.strip()) for value in values)


def separators_of(columns: Iterable[Sequence[str]]) -> tuple[str | None, str | None]:
    """The decimal and the thousands separator of a file's numbers, told by its columns' values; None as in 1234.5.

    Only what cannot be read otherwise counts: 1,234 may be either, 1,5 and 1.234,5 may not. Where columns contradict
    each other, nothing is said.

    >>> separators_of([["1,5", "1.234,25"], ["7", "8"]]), separators_of([["1,234", "5,678"]])
    ((',', '.'), (None, None))
    """
    decimals, thousands = set[str](), set[str]()
    for values in columns:
        if not values or numbers_of(values) is not None:
            continue
        for decimal, between in ((",", ""), (",", "."), (",", " "), (",", "'"), (".", ","), (".", " "), (".", "'")):
            if _proves(values, decimal, between):
                decimals |= {decimal} if any(decimal in value for value in values) else set()
                thousands |= {between} if between else set()
    if len(decimals) > 1 or len(thousands) > 1 or decimals & thousands:
        return None, None
    return (("," if "," in decimals else None), next(iter(thousands), None))


def _proves(values: Sequence[str], decimal: str, between: str) -> bool:
    """Whether all values are numbers written so, and some can be read in no other way."""
    blank = "[ \u00a0\u202f]" if between == " " else re.escape(between)
    whole = rf"[0-9]{{1,3}}(?:{blank}[0-9]{{3}})+|[0-9]+" if between else "[0-9]+"
    pattern = re.compile(rf"[-+]?({whole})(?:{re.escape(decimal)}([0-9]+))?")
    found = [pattern.fullmatch(value.strip()) for value in values]
    parts = [(part[1], part[2]) for part in found if part is not None]
    if len(parts) < len(values):
        return False
    if not between:
        return any(rest is not None and (len(rest) != 3 or len(head) > 3 or head[0] == "0") for head, rest in parts)
    groups = [(re.split(blank, head), rest) for head, rest in parts]
    mixed = between in " '" and any(len(head) == 1 and len(head[0]) <= 3 for head, _ in groups)
    return any(len(head) > 2 or (len(head) == 2 and (rest is not None or mixed)) for head, rest in groups)


def date_format(values: Sequence[str]) -> str | None:
    """The format of a column of dates, empty for ISO 8601; None where it is not one."""
    if not values or any(len(value) < 6 or len(value) > 32 for value in values):
        return None
    for form in ("", *FORMATS):
        if form == "" and values[0].strip().isdigit():
            continue  # 20240229 is a date only if all are, in years that people live in
        try:
            dates = [datetime.strptime(v.strip(), form) if form else datetime.fromisoformat(v.strip()) for v in values]
        except ValueError:
            continue
        if form != "%Y%m%d" or all(1880 <= date.year <= 2100 for date in dates):
            return form
    return None


def _widths(numbers: Sequence[float]) -> list[int | float] | None:
    """Four round widths, each twice the one before: from about 20 intervals over the bulk of the values to 3.

    Fewer, where a wider one would put all values into one interval, which says as little as none.
    """
    ordered = sorted(numbers)
    low, high = ordered[len(ordered) // 50], ordered[-1 - len(ordered) // 50]  # a few outliers set no scale
    span = (high - low) / 20
    if not 1e-12 < span < 1e15:
        return None
    power = 10.0 ** math.floor(math.log10(span))
    width = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= span)
    if all(number == int(number) for number in numbers):
        width = max(width, 2)
        widths = [int(width * factor) for factor in (1, 2, 4, 8)]
        several = [w for w in widths if ordered[0] // w < ordered[-1] // w]
        return list(several or widths[:1])
    digits = max(0, 1 - math.floor(math.log10(width)))
    return [round(width * factor, digits) for factor in (1, 2, 4, 8)]


def oddities(values: Sequence[str], count: Sequence[int], kind: str) -> tuple[str, ...]:
    """What somebody who knows the column should look at, in counts: spellings of one value, marks among numbers."""
    found = []
    if kind in ("word", "code"):
        keys = [fold(value) for value in values]
        twice = len(keys) - len(set(keys))
        if twice:
            found.append(
                f"{twice:,} value{'s differ' if twice > 1 else ' differs'} from another only in case or blanks"
            )
    if kind == "number":
        numbers = numbers_of(values) or []
        usual = sorted(number for number in numbers if not _is_mark(number))
        if usual:
            rows = sum(n for number, n in zip(numbers, count, strict=True) if _is_mark(number) and _far(number, usual))
            if rows:
                found.append(
                    f"in {rows:,} row{'s' if rows > 1 else ''} a number of nines only, far from the others: missing?"
                )
    return tuple(found)


def _is_mark(number: float) -> bool:
    """-9, -99, 99, 999, ...: as questionnaires write a missing answer."""
    text = f"{abs(number):.0f}"
    return abs(number) == float(text) and set(text) == {"9"} and (number < 0 or len(text) > 1)


def _far(number: float, usual: Sequence[float]) -> bool:
    """Beyond the others by more than their own range, or the only one below zero."""
    span = max(usual[-1] - usual[0], 1.0)
    return number > usual[-1] + span or number < usual[0] - span or (number < 0 <= usual[0])
