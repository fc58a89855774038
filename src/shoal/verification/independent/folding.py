"""Equality of values, written a second time from docs/equal-values.md.

Nothing of :mod:`shoal.schema.spelling` is used. Characters are mapped one by one by a table that is filled as they
occur, and numbers are compared as decimal numbers.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

Key = str | tuple[int, tuple[int, ...], int]
"""What equal values have in common: a text, or sign, digits and exponent of a number."""

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,9})?")
_BLANK_LETTERS = frozenset([0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0])
"""Fillers of Hangul and the Braille pattern without dots."""

_FORMULA_SIGNS = frozenset("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
_ZERO_WIDTH = frozenset([0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF])
"""Characters without width, which surround a text as blanks do."""

_IGNORABLE = (
    frozenset([0x034F, 0x17B4, 0x17B5, 0x2065])
    | frozenset(range(0x180B, 0x1810))
    | frozenset(range(0xFE00, 0xFE10))
    | frozenset(range(0xFFF0, 0xFFF9))
    | frozenset(range(0xE0000, 0xE1000))
)
"""Characters that Unicode lets programs not display, and that are no control or format characters."""


class _VisibleCharacters(dict[int, str]):
    """The visible form of characters by code point: empty if invisible."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = unicodedata.category(character)
        if character.isspace():
            form = " "
        elif kind in ("Cc", "Cf") or code in _IGNORABLE or code in _ZERO_WIDTH:
            form = ""
        elif code in _BLANK_LETTERS:
            form = " "
        elif kind == "Nd":
            form = str(unicodedata.digit(character))
        else:
            form = "-" if code == 0x2212 else character
        self[code] = form
        return form


_VISIBLE = _VisibleCharacters()


def value_key(text: str) -> Key | None:
    """Return what equal sensitive values have in common; None is missing.

    >>> value_key("HIV\\u00a0") == value_key("hiv"), value_key("1e0") == value_key("01"), value_key(" ")
    (True, True, None)
    """
    folded, previous = text, None
    while folded != previous:  # each of the steps can make another one necessary
        previous = folded
        folded = unicodedata.normalize("NFKC", folded).casefold().translate(_VISIBLE)
        folded = unicodedata.normalize("NFKC", folded)
    folded = " ".join(folded.split())
    if _DECIMAL.fullmatch(folded):
        return _number_key(folded)
    return folded or None


def _number_key(text: str) -> Key:
    """Return sign, significant digits and exponent of a decimal number."""
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    end = len(digits)
    while end and digits[end - 1] == 0:
        end -= 1
    start = 0
    while start < end and digits[start] == 0:
        start += 1
    if start == end:
        return 0, (), 0
    return sign, digits[start:end], exponent + len(digits) - end


def published_form(text: str) -> str | None:
    """Return the canonical form of a quasi-identifier; None is missing.

    It is composed (NFC), without blanks around it.
    """
    previous = None
    while text != previous:
        previous = text
        text = unicodedata.normalize("NFC", text)
        start, end = 0, len(text)
        while start < end and _is_blank(text[start]):
            start += 1
        while start < end and _is_blank(text[end - 1]):
            end -= 1
        text = text[start:end]
    return text or None


def without_apostrophe(text: str) -> str:
    """Return the text before an apostrophe was put in front of a formula.

    Formulas begin with =, +, -, @, a tab or a carriage return. Texts with apostrophes before such a sign have one more.

    >>> [without_apostrophe(text) for text in ("'=1+1", "''=1+1", "-5", "'s Gravenhage")]
    ['=1+1', "'=1+1", '-5', "'s Gravenhage"]
    """
    rest = text.lstrip("'")
    return text[1:] if text != rest and rest[:1] in _FORMULA_SIGNS else text


def _is_blank(character: str) -> bool:
    return character.isspace() or ord(character) in _ZERO_WIDTH
