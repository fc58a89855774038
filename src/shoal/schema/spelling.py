"""When two spellings are one value.

Quasi-identifiers have a canonical form, :func:`canonical`, in which they are published: what is counted as equal is
then equal byte for byte, and nothing that differs is counted as equal. It changes no more than what nobody sees: blanks
around, and how Unicode writes an accent.

Sensitive values are published as they are, but counted by what they mean, :func:`fold`: a group in which everyone has
HIV is no more diverse for writing it as `hiv` or `HIV `.

The Unicode Standard, Annex 15 (normalization forms) and section 3.13 (caseless matching).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

__all__ = ["canonical", "declared_spelling", "fold", "same_text"]

# white space to the eye, but not to Python
INVISIBLE = "\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
# Unicode's Default_Ignorable_Code_Point, where the general category (Cf) does not tell it
IGNORABLE = ((0x034F, 0x034F), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065), (0xFE00, 0xFE0F),
             (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF))  # fmt: skip
# letters and signs that leave a place empty: the fillers of Hangul, and the pattern of Braille without a dot
FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
AROUND = "".join(chr(code) for code in range(0x3001) if chr(code).isspace()) + INVISIBLE
NUMBER = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,9}))?")


def canonical(text: str) -> str | None:
    """The form in which a quasi-identifier is published; None, missing, where nothing but blanks is left.

    >>> canonical("Wien\\u00a0"), canonical("Cafe\\u0301"), canonical("-0.0"), canonical(" ")
    ('Wien', 'Café', '-0.0', None)
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).strip(AROUND)
        # a combining mark may have stood behind a blank that is gone now
        return (text if unicodedata.is_normalized("NFC", text) else canonical(text)) or None
    return text.strip() or None


def fold(text: str) -> str | None:
    """The key of a sensitive value: equal for spellings of one value; None, missing, where there are only blanks.

    Letters by compatibility form and without case, blanks as one and none around, what nobody sees dropped (control
    characters too), numbers by their value.

    >>> {fold(text) for text in ("HIV", "hiv", "HIV ", "HIV\\u00a0", "\\uff28IV", "H\\u00adIV")}
    {'hiv'}
    >>> {fold(text) for text in ("HIV\\0", "HIV\\u034f", "HIV\\u3164", "HIV\\u2800", "HIV\\U000e0100")}
    {'hiv'}
    >>> {fold(text) for text in ("1", "1.0", "01", "+1", "1e0", "0.1E+1")}
    {'1e0'}
    >>> fold("1.05") == fold("1.5"), fold("A01") == fold("A1"), fold("1,000") == fold("1000")
    (False, False, False)
    """
    if text.isalnum() and text.isascii():  # most keys of people, and most words: nothing to take away
        if text.isdigit():
            digits = text.lstrip("0")
            kept = digits.rstrip("0")
            return f"{kept}e{len(digits) - len(kept)}" if kept else "0e0"
        if not text[0].isdigit():
            return text.lower()
    return fold_with_care(text)


def fold_with_care(text: str) -> str | None:
    """The same for any text; :func:`fold` is faster for letters and digits."""
    key = text.casefold() if text.isascii() and text.isprintable() else _caseless(text)
    key = " ".join(key.split())
    number = NUMBER.fullmatch(key)
    return _by_value(number) if number else key or None


def same_text(text: str) -> str:
    """The key of a value whose column says ``exact = true``: the text itself."""
    return text


def _caseless(text: str) -> str:
    """Compatibility form without case, signs that nobody sees, and signs of other scripts for digits."""
    while True:
        visible = (sign for sign in unicodedata.normalize("NFKC", text).casefold() if not _is_ignored(sign))
        key = unicodedata.normalize("NFKC", "".join(map(_plain_sign, visible)))
        if key == text:
            return key
        text = key  # folding case can undo the form, and the other way round


def _is_ignored(sign: str) -> bool:
    kind = unicodedata.category(sign)
    if kind == "Cc":
        return not sign.isspace()
    return kind == "Cf" or sign in INVISIBLE or any(low <= ord(sign) <= high for low, high in IGNORABLE)


def _plain_sign(sign: str) -> str:
    if sign == "\u2212":  # the minus of typesetters
        return "-"
    if sign in FILLERS:
        return " "
    return str(unicodedata.decimal(sign)) if sign.isdecimal() else sign


def _by_value(number: re.Match[str]) -> str:
    sign, whole, fraction, exponent = number.groups(default="")
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return "0e0"
    return f"{sign.strip('+')}{kept}e{int(exponent or 0) - len(fraction) + len(digits) - len(kept)}"


def declared_spelling(
    texts: Sequence[str], declared: Iterable[str], key: Callable[[str], str | None] = fold
) -> list[str]:
    """For each text the declared one that is the same value; the text itself where none is."""
    known = {key(value): value for value in declared}
    return [known.get(key(text), text) for text in texts]
