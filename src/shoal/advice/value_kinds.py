"""Kind of the values of a column, and a suitable hierarchy."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from shoal.formatting import counted
from shoal.runtime.validation import MAX_EXPONENT
from shoal.schema.column_vocabulary import words_of
from shoal.schema.spelling import fold

DATE_FORMATS = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y", "%Y%m%d", "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%Y-%m",
    "%b-%Y", "%b %Y", "%m/%Y", "%d-%m-%Y %H:%M", "%d-%m-%Y %H:%M:%S", "%m-%d-%Y", "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%d/%m/%Y %I:%M:%S %p", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%d/%b/%Y:%H:%M:%S", "%d/%b/%Y:%H:%M:%S %z",
    "%d/%b/%Y", "%d-%b-%Y", "%d-%b-%y",
    "%d%b%Y", "%d%b%Y:%H:%M:%S", "%d%b%y", "%Y-%b-%d",
    "%d %b %Y", "%d %B %Y", "%B %d, %Y", "%b %d, %Y", "%B %Y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y %H:%M",
    "%a %b %d %H:%M:%S %Y", "%Y-%m-%d-%H-%M", "%Y-%m-%d-%H-%M-%S", "%Y.%m.%d", "%Y.%m.%d %H:%M", "%m-%d-%Y %H:%M",
)  # fmt: skip
MONTH_FORMATS = {"%Y-%m", "%b-%Y", "%b %Y", "%m/%Y", "%B %Y"}
MAX_PREFIX_LENGTH = 10
MAX_QUARTILES = 3
"""Distance from the middle half of the values, in widths of it, beyond which a value is an outlier."""
MIN_FREE_TEXT_LENGTH = 40
POSTAL_WORDS = {"zip", "zipcode", "postcode", "postal", "plz", "cap", "postleitzahl"}
MAX_DEGREES = {"lat": 90, "latitude": 90, "breitengrad": 90, "latitud": 90, "latitudine": 90, "lon": 180, "lng": 180,
           "long": 180, "longitude": 180, "laengengrad": 180, "longitud": 180, "longitudine": 180}  # fmt: skip
GRID_WIDTHS_DEGREES = [0.01, 0.1, 1, 10]
"""Cell widths of a map grid in degrees: about 1, 10, 100 and 1000 km."""


def kind_of(values: list[str], name: str) -> tuple[str, Mapping[str, Any], str]:
    """Return the kind of a column, a hierarchy, and the reason for it."""
    form = date_format(values)
    if form is not None:
        units = ["month", "quarter", "year", "decade"][form in MONTH_FORMATS :]
        if any(":" in value for value in values):  # generalize the time of day first
            units = ["day", *units]
        hierarchy: dict[str, Any] = {"dates": units, **({"format": form} if form else {})}
        return "date", hierarchy, f"dates become {', '.join(unit + 's' for unit in units)}"
    max_length = max(map(len, values))
    same_length = min(map(len, values)) == max_length
    may_be_codes = same_length and 3 <= max_length <= MAX_PREFIX_LENGTH and len(values) > 2
    words = words_of(name)
    postal_words = POSTAL_WORDS & set(words)
    numbers = numbers_of(values)
    has_leading_zeros = any(len(value) > 1 and value[0] == "0" and value.isdigit() for value in values)
    if numbers is not None and not (may_be_codes and (has_leading_zeros or postal_words)):
        degrees = max((MAX_DEGREES.get(word, 0) for word in words), default=0)
        if degrees and max(map(abs, numbers)) <= degrees and any(number % 1 for number in numbers):
            return "number", {"intervals": GRID_WIDTHS_DEGREES}, "places become cells of a grid, in degrees"
        if len(values) <= 2:
            return "number", {"flat": True}, "it has so few values that there is nothing between them and none"
        widths = _widths(numbers)
        if widths is None:
            return "number", {"flat": True}, "its values lie too close together for intervals"
        return "number", {"intervals": widths}, "numbers become intervals"
    if may_be_codes and (postal_words or all(any(character.isdigit() for character in value) for value in values)):
        return "code", {"prefix": True}, "codes of one length lose their last characters first"
    if (classes := ordered_classes(values)) is not None:
        fanout = [2] * max(1, math.ceil(math.log2(len(classes))) - 1)
        return "word", {"order": {"values": classes, "fanout": fanout}}, "classes of numbers join their neighbours"
    if numbers_of([value.replace(",", ".", 1) for value in values]) is not None:
        how = "numbers with a decimal comma are shown or hidden; written with a point, they would become intervals"
        return "word", {"flat": True}, how
    if (
        max_length > MIN_FREE_TEXT_LENGTH
        and sum(map(len, values)) / len(values) > MIN_FREE_TEXT_LENGTH
        and len(values) > 20
    ):
        return "text", {"flat": True}, ""
    return "word", {"flat": True}, "a word is shown or hidden; a tree or a CSV hierarchy would keep more"


CLASS_OF_NUMBERS = re.compile(
    r"[\[(<>=\s]*(?:under|over|below|unter|ueber|moins de|plus de|menos de|mas de|bis|ab)?\s*(\d{1,7}(?:[.,]\d+)?)"
    r"\s*(?:(?:-|\u2013|\.\.|to|bis|a|à|ate|until|,)\s*(\d{1,7}(?:[.,]\d+)?))?\s*(?:years?|ans|jahre|anos|a\u00f1os|anni|%|\+)?"
    r"[\])<>=+%\s]*(?:and over|und mehr|et plus|y mas|e mais|e oltre|or more|plus)?",
    re.IGNORECASE,
)
MIN_CLASSES = 4
MAX_CLASSES = 40


def ordered_classes(values: Sequence[str]) -> list[str] | None:
    """Return classes of numbers in their order, or None.

    Most have two ends: 20-29, 30 to 39, [70-80); the outermost may have one: <18, 65+.

    >>> ordered_classes(["21-30", "0-20", "31-100", "101+"]), ordered_classes(["a", "b", "c", "d"])
    (['0-20', '21-30', '31-100', '101+'], None)
    """
    if not MIN_CLASSES <= len(values) <= MAX_CLASSES:
        return None
    found = [CLASS_OF_NUMBERS.fullmatch(value.strip()) for value in values]
    if not all(found) or 2 * sum(part is not None and part[2] is not None for part in found) < len(values):
        return None
    keys = []
    for value, part in zip(values, found, strict=True):
        assert part is not None
        low = float(part[1].replace(",", "."))
        is_below = part[2] is None and re.match(r"\s*(<|under|below|unter|bis|moins|menos)", value, re.IGNORECASE)
        keys.append((-math.inf if is_below else low, math.inf if part[2] is None else float(part[2].replace(",", "."))))
    if len(set(keys)) < len(keys) or any(low > high for low, high in keys):
        return None
    return [value for _, value in sorted(zip(keys, values, strict=True))]


def numbers_of(values: Sequence[str]) -> list[float] | None:
    """Convert values to numbers that a hierarchy accepts, or return None."""
    found = []
    for value in values:
        try:
            number = Decimal(value.strip())
            if not number.is_finite() or (number and abs(number.adjusted()) > MAX_EXPONENT):
                return None
        except (InvalidOperation, ValueError):
            return None
        found.append(float(number))
    return found or None


MIN_YEARS = 8
MIN_YEAR, MAX_YEAR = 1900, 2040
MIN_BIRTH_SPAN = 35
"""Years between the first and the last birth: events of a register span fewer."""


def are_years(values: Sequence[str]) -> bool:
    """Return whether whole numbers are years of the last and this century.

    They lie close together: eight codes of four digits do not.

    >>> are_years([str(year) for year in range(1950, 2000)]), are_years(["1900", "1917", "1950", "2010", "2020"])
    (True, False)
    """
    if len(values) < MIN_YEARS or not all(value.isdigit() and MIN_YEAR <= int(value) <= MAX_YEAR for value in values):
        return False
    years = [int(value) for value in values]
    return max(years) - min(years) < 3 * len(years)


def may_be_births(values: Sequence[str]) -> bool:
    """Return whether dates with four digits of the year span many years.

    >>> may_be_births(["1951-02-01", "1999-12-31"]), may_be_births(["01.02.2020", "03.04.2022"])
    (True, False)
    """
    found = [re.search(r"(?<!\d)(?:19|20)\d\d(?!\d)", value) for value in values]
    years = [year[0] for year in found if year is not None]
    return len(years) == len(values) > 1 and may_be_years_of_birth(years)


def may_be_years_of_birth(values: Sequence[str]) -> bool:
    """Return whether years span the ages of adults."""
    years = [int(value) for value in values]
    return max(years) - min(years) >= MIN_BIRTH_SPAN


def are_times_of_day(values: Sequence[str]) -> bool:
    """Return whether values are hours and minutes, as 08:30 or 23:59:01.

    >>> are_times_of_day(["08:30", "23:59:01"]), are_times_of_day(["25:00", "08:30"])
    (True, False)
    """
    return bool(values) and all(re.fullmatch(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?", value.strip()) for value in values)


def have_same_unit(values: Sequence[str]) -> bool:
    """Return whether all values are numbers with the same unit or sign.

    >>> [have_same_unit(values) for values in (["85.3%", "7 %"], ["$ 1200", "$15"], ["5 kg", "6 cm"], ["5", "6"])]
    [True, True, False, False]
    """
    found = {re.sub(r"[\d.,+\s-]+", "", value) for value in values}
    number = re.compile(r"\D{0,4}[+-]?\d[\d.,]*\D{0,4}")
    return len(found) == 1 and found != {""} and all(number.fullmatch(value.strip()) for value in values)


def separators_of(columns: Iterable[Sequence[str]]) -> tuple[str | None, str | None]:
    """Infer the decimal and thousands separators from columns of a file.

    None stands for the format 1234.5. Only unambiguous values count: 1,234 may be either, 1,5 and 1.234,5 may not. If
    columns contradict each other, both are None.

    >>> separators_of([["1,5", "1.234,25"], ["7", "8"]]), separators_of([["1,234", "5,678"]])
    ((',', '.'), (None, None))
    """
    decimals, thousands = set[str](), set[str]()
    for values in columns:
        if not values or numbers_of(values) is not None:
            continue
        for decimal, between in ((",", ""), (",", "."), (",", " "), (",", "'"), (".", ","), (".", " "), (".", "'")):
            if _proves_separators(values, decimal, between):
                decimals |= {decimal} if any(decimal in value for value in values) else set()
                thousands |= {between} if between else set()
    if len(decimals) > 1 or len(thousands) > 1 or decimals & thousands:
        return None, None
    return (("," if "," in decimals else None), next(iter(thousands), None))


def _proves_separators(values: Sequence[str], decimal: str, between: str) -> bool:
    """Return whether values are numbers with these separators.

    All values must have this format, and at least one must be unambiguous.
    """
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
    """Return the format of a column of dates.

    Empty for ISO 8601; None if the values are not dates.
    """
    if not values or any(len(value) < 6 or len(value) > 32 for value in values):
        return None
    for form in ("", *DATE_FORMATS):
        if form == "" and values[0].strip().isdigit():
            continue  # 20240229 is a date only if all values are, in plausible years
        try:
            dates = [datetime.strptime(v.strip(), form) if form else datetime.fromisoformat(v.strip()) for v in values]
        except ValueError:
            continue
        if form != "%Y%m%d" or all(1880 <= date.year <= 2100 for date in dates):
            return form
    return None


def _widths(numbers: Sequence[float]) -> list[int | float] | None:
    """Choose up to four round interval widths, each twice the previous one.

    They range from about 20 intervals over the bulk of the values to 3. There are fewer if a wider interval would
    contain all values, which is no better than suppression.
    """
    ordered = sorted(numbers)
    low, high = ordered[len(ordered) // 50], ordered[-1 - len(ordered) // 50]  # outliers do not determine the scale
    lower, upper = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
    if upper > lower:  # nor does a single one of few values: the year 5012 among years
        distance = MAX_QUARTILES * (upper - lower)
        regular = [number for number in ordered if lower - distance <= number <= upper + distance]
        low, high = max(low, regular[0]), min(high, regular[-1])
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
    """Describe oddities of a column in counts, for review.

    They are spellings of one value, and codes of missing values among numbers.
    """
    found = []
    if kind in ("word", "code"):
        keys = [fold(value) for value in values]
        repeated = len(keys) - len(set(keys))
        if repeated:
            found.append(
                f"{counted(repeated, 'value')} {'differ' if repeated > 1 else 'differs'} from another only in case or "
                "blanks"
            )
    if kind == "number":
        numbers = numbers_of(values) or []
        regular = sorted(number for number in numbers if not _is_missing_code(number))
        if regular:
            rows = sum(
                n
                for number, n in zip(numbers, count, strict=True)
                if _is_missing_code(number) and _is_outlier(number, regular)
            )
            if rows:
                found.append(f"in {counted(rows, 'row')} a number of nines only, far from the others: missing?")
    return tuple(found)


def _is_missing_code(number: float) -> bool:
    """Return whether a number is a code such as -9, 99 or 999."""
    text = str(abs(number)).removesuffix(".0")
    return set(text) == {"9"} and (number < 0 or len(text) > 1)


def _is_outlier(number: float, regular: Sequence[float]) -> bool:
    """Return whether a number is far from the others.

    It differs by more than their range, or is the only one below zero.
    """
    span = max(regular[-1] - regular[0], 1.0)
    return number > regular[-1] + span or number < regular[0] - span or (number < 0 <= regular[0])


MIN_AMOUNTS = 20
MIN_LARGEST_AMOUNT = 100
MIN_CENTS_SHARE = 0.7
MIN_AMOUNT_SKEW = 1.2
"""Smallest ratio of mean and median of amounts: most are small, few are large."""


def look_like_amounts(values: Sequence[str]) -> bool:
    """Return whether numbers look like amounts of money.

    Nearly all have cents and no further digits, and few large ones are far above the others.

    >>> look_like_amounts([f"{n * n / 7:.2f}" for n in range(1, 90)])
    True
    >>> look_like_amounts([f"{20 + n / 7:.1f}" for n in range(1, 90)]), look_like_amounts(["1.25", "3.10"])
    (False, False)
    """
    numbers = sorted(numbers_of(values) or [])
    if len(numbers) < MIN_AMOUNTS or numbers[-1] < MIN_LARGEST_AMOUNT:
        return False
    cents = sum(round(number, 2) == number != round(number, 1) for number in numbers)
    finer = sum(round(number, 2) != number for number in numbers)
    middle = numbers[len(numbers) // 2]
    skewed = sum(numbers) / len(numbers) >= MIN_AMOUNT_SKEW * middle
    return not finer and cents >= MIN_CENTS_SHARE * len(numbers) and middle > 0 and skewed
