"""Equality of spellings: canonical forms and keys of values.

Quasi-identifiers are published in a canonical form, :func:`canonical`. Values that are counted as equal are
then equal byte for byte, and values that differ are counted as different. It changes only what is invisible:
surrounding blanks, and the Unicode form of accents.

Sensitive values are published unchanged, but counted by their meaning, :func:`fold`: a group in which everyone has
HIV is not more diverse for writing it as `hiv` or `HIV `.

The Unicode Standard, Annex 15 (normalization forms) and section 3.13 (caseless matching).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

# invisible like white space, but not white space to Python
INVISIBLE = "\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
# Unicode's Default_Ignorable_Code_Point outside the general category Cf
IGNORABLE = ((0x034F, 0x034F), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065), (0xFE00, 0xFE0F),
             (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF))  # fmt: skip
# letters and signs that are rendered as a blank: the fillers of Hangul, and the Braille pattern without dots
FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace()) + INVISIBLE
# texts that pandas (`read_csv`) or R (`read.csv`, `readr`) take for a missing value unless told otherwise
READ_AS_MISSING = frozenset(
    ["#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
MAX_REMEMBERED_KEYS = 1 << 17
"""Number of texts of which the key is remembered: trials read one sample again and again."""
NUMBER = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,9}))?")


def canonical(text: str) -> str | None:
    """Return the published form of a quasi-identifier.

    None, a missing value, if only blanks are left.

    >>> canonical("Wien\\u00a0"), canonical("Cafe\\u0301"), canonical("-0.0"), canonical(" ")
    ('Wien', 'Café', '-0.0', None)
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).strip(BLANKS)
        # a combining mark may have followed a blank that is now removed
        return (text if unicodedata.is_normalized("NFC", text) else canonical(text)) or None
    return text.strip() or None


def fold(text: str) -> str | None:
    """Return the key of a sensitive value, equal for equal values.

    None, a missing value, if there are only blanks. Letters are compared in compatibility form and without case, blanks
    are merged and trimmed, invisible characters (control characters too) are dropped, and numbers are compared by
    value.

    >>> {fold(text) for text in ("HIV", "hiv", "HIV ", "HIV\\u00a0", "\\uff28IV", "H\\u00adIV")}
    {'hiv'}
    >>> {fold(text) for text in ("HIV\\0", "HIV\\u034f", "HIV\\u3164", "HIV\\u2800", "HIV\\U000e0100")}
    {'hiv'}
    >>> {fold(text) for text in ("1", "1.0", "01", "+1", "1e0", "0.1E+1")}
    {'1e0'}
    >>> fold("1.05") == fold("1.5"), fold("A01") == fold("A1"), fold("1,000") == fold("1000")
    (False, False, False)
    """
    if text.isalnum() and text.isascii():  # fast path for typical keys and words
        if text.isdigit():
            digits = text.lstrip("0")
            significant = digits.rstrip("0")
            return f"{significant}e{len(digits) - len(significant)}" if significant else "0e0"
        if not text[0].isdigit():
            return text.lower()
    return fold_any_text(text)


@lru_cache(maxsize=MAX_REMEMBERED_KEYS)
def fold_any_text(text: str) -> str | None:
    """Return the key of any text; :func:`fold` has a faster path."""
    key = text.casefold() if text.isascii() and text.isprintable() else _caseless(text)
    key = " ".join(key.split())
    number = NUMBER.fullmatch(key)
    return _by_value(number) if number else key or None


def identity_key(text: str) -> str:
    """Return the text itself, the key in a column with ``exact = true``."""
    return text


def _caseless(text: str) -> str:
    """Return the compatibility form without case and invisible characters.

    Digits of other scripts become ASCII digits.
    """
    while True:
        visible = (sign for sign in unicodedata.normalize("NFKC", text).casefold() if not _is_ignored(sign))
        key = unicodedata.normalize("NFKC", "".join(map(_plain_sign, visible)))
        if key == text:
            return key
        text = key  # case folding can undo the normalization, and vice versa


def _is_ignored(sign: str) -> bool:
    kind = unicodedata.category(sign)
    if kind == "Cc":
        return not sign.isspace()
    return kind == "Cf" or sign in INVISIBLE or any(low <= ord(sign) <= high for low, high in IGNORABLE)


def _plain_sign(sign: str) -> str:
    if sign == "\u2212":  # the typographic minus
        return "-"
    if sign in FILLERS:
        return " "
    return str(unicodedata.decimal(sign)) if sign.isdecimal() else sign


def _by_value(number: re.Match[str]) -> str:
    sign, whole, fraction, exponent = number.groups(default="")
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return "0e0"
    return f"{sign.strip('+')}{significant}e{int(exponent or 0) - len(fraction) + len(digits) - len(significant)}"


def declared_spelling(
    texts: Sequence[str], declared: Iterable[str], key: Callable[[str], str | None] = fold
) -> list[str]:
    """Replace each text by the declared spelling of the same value.

    A text without a declared spelling stays as it is.
    """
    known = {key(value): value for value in declared}
    return [known.get(key(text), text) for text in texts]
