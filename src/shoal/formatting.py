"""Numbers for readers: the only place that formats them.

Messages, terminal, notebooks, reports, pages and labels of charts take their numbers from here. What programs read
(JSON, CSV, plans) has exact numbers instead.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

MAX_WHOLE_NUMBER = 1e15
"""Magnitude from which the digits of a float say nothing."""
_GERMAN_SEPARATORS = str.maketrans(",.", ".,")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | Fraction, digits: int = 4) -> str:
    """Format a number with some significant digits; whole numbers in full.

    >>> number(12345), number(0.123456), number(3.0), number(12345.6), number(0.123456, 6)
    ('12,345', '0.1235', '3', '12,346', '0.123456')
    """
    if isinstance(value, int):
        return f"{value:,}"
    value = float(value)
    if value.is_integer() and abs(value) < MAX_WHOLE_NUMBER:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 10**digits <= abs(value) < MAX_WHOLE_NUMBER else f"{value:,.{digits}g}"


def significant(value: float, digits: int) -> str:
    """Format a number without separators, as published texts have it.

    >>> significant(0.123456, 3), significant(12345.678, 6)
    ('0.123', '12345.7')
    """
    return f"{value:.{digits}g}"


def fixed(value: float | Fraction, decimals: int, *, signed: bool = False) -> str:
    """Format a number with a fixed number of decimal decimals.

    >>> fixed(0.5, 2), fixed(0.5, 2, signed=True), fixed(1234.56, 1)
    ('0.50', '+0.50', '1,234.6')
    """
    return f"{float(value):{'+' if signed else ''},.{decimals}f}"


def rounded_down(value: float, digits: int = 4) -> str:
    """Format a number that must not be overstated, such as a lower bound.

    >>> rounded_down(0.123456), rounded_down(0.0)
    ('0.1234', '0')
    """
    decimals = max(0, digits - 1 - math.floor(math.log10(value))) if value > 0 else 0
    return number(math.floor(value * 10**decimals) / 10**decimals, digits)


def percent(share: float, decimals: int = 1) -> str:
    """Format a share in percent; only 0 and 1 are shown as 0% and 100%.

    >>> percent(0.25), percent(0.0004), percent(0.9999), percent(1), percent(0.0004, 2)
    ('25%', 'under 0.1%', 'over 99.9%', '100%', '0.04%')
    """
    step = 10.0**-decimals
    if 0 < 100 * share < step:
        return f"under {step:.{decimals}f}%"
    if 100 - step < 100 * share < 100:
        return f"over {100 - step:.{decimals}f}%"
    written = f"{100 * share:.{decimals}f}"
    return (written.rstrip("0").rstrip(".") if decimals else written) + "%"


def counted(count: int, thing: str) -> str:
    """Return a number of things as a phrase.

    >>> counted(1, "group"), counted(2000, "group")
    ('1 group', '2,000 groups')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def boundary(value: float) -> str:
    """Format the end of an interval, where four digits may be a year.

    >>> boundary(1980), boundary(12000), boundary(0.125)
    ('1980', '12,000', '0.125')
    """
    return f"{value:,.10g}" if abs(value) >= 10_000 else f"{value:.10g}"


def tick(value: float) -> str:
    """Format a number at the axis of a chart.

    >>> tick(0.25), tick(1e-6), tick(25000)
    ('0.25', '10⁻⁶', '2.5·10⁴')
    """
    if not value or 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}"
    mantissa, power = f"{value:.2e}".split("e")
    lead = mantissa.rstrip("0").rstrip(".")
    exponent = f"10{str(int(power)).translate(_SUPERSCRIPTS)}"
    return exponent if lead == "1" else f"{lead}·{exponent}"


def file_size(count: int) -> str:
    """Format a number of bytes.

    >>> file_size(800), file_size(2_516_935)
    ('800 B', '2.5 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def format_value(value: object, digits: int = 4) -> str:
    """Format a plain value: a number, a truth value, a text or nothing.

    >>> format_value(12345), format_value(0.123456789), format_value(None), format_value(True)
    ('12,345', '0.1235', '', 'yes')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value, digits) if isinstance(value, int | float) else str(value)


def precise(value: object) -> str:
    """Format a figure of a budget, where six digits matter.

    >>> precise(0.123456789)
    '0.123457'
    """
    return format_value(value, 6)


def format_parameters(values: Any, digits: int = 4) -> str:
    """Format names and values as a list.

    >>> format_parameters({"k": 5, "alpha": 0.333333})
    'k = 5, alpha = 0.3333'
    """
    return ", ".join(f"{name} = {format_value(value, digits)}" for name, value in values.items())


def format_field(value: object, specification: str, language: str) -> str:
    """Format a field of a message; numbers follow the language.

    A specification of two nouns is a number with the noun that fits it.

    >>> format_field(1204.5, ",.1f", "de"), format_field("1,5", "", "de")
    ('1.204,5', '1,5')
    >>> format_field(1, "row|rows", "en"), format_field(1200, "Zeile|Zeilen", "de")
    ('1 row', '1.200 Zeilen')
    """
    if "|" in specification:
        singular, plural = specification.split("|")
        return f"{format_field(value, ',', language)} {singular if value == 1 else plural}"
    text = format(value, specification)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return localized(text, language) if is_number else text


def localized(figure: str, language: str) -> str:
    """Write a formatted number with the separators of a language.

    >>> localized("1,204.5", "de"), localized("44.7%", "de"), localized("44.7%", "en")
    ('1.204,5', '44,7 %', '44.7%')
    """
    return figure.translate(_GERMAN_SEPARATORS).replace("%", " %") if language == "de" else figure
