"""Reference definition of equal spellings of a value.

Texts are compared character by character, numbers as fractions.
"""

from __future__ import annotations

import unicodedata
from fractions import Fraction

IGNORED = {"\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2060", "\ufeff"}
# Default_Ignorable_Code_Point of Unicode 15, written out; fillers of Hangul and the empty Braille pattern are blanks
INVISIBLE = [0xAD, 0x34F, 0x61C, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F),
          *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), 0xFEFF, *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4),
          *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)]  # fmt: skip
EMPTY = [0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0]


def is_visible(sign: str) -> bool:
    control = unicodedata.category(sign) == "Cc" and not sign.isspace()
    return not control and unicodedata.category(sign) != "Cf" and ord(sign) not in INVISIBLE


def is_blank(sign: str) -> bool:
    return sign.isspace() or sign in IGNORED


def canonical(text: str) -> str | None:
    before = None
    while text != before:
        before = text
        text = unicodedata.normalize("NFC", text)
        while text and is_blank(text[0]):
            text = text[1:]
        while text and is_blank(text[-1]):
            text = text[:-1]
    return text or None


def number(text: str) -> Fraction | None:
    """Return the value of a decimal number.

    Sign, point and exponent are optional.
    """
    body, mark, exponent = text.partition("e")
    sign = 1
    if body[:1] in ("+", "-"):
        sign = -1 if body[0] == "-" else 1
        body = body[1:]
    whole, _, fraction = body.partition(".")
    digits = set("0123456789")
    if not whole + fraction or not set(whole + fraction) <= digits:
        return None
    power = 0
    if mark:
        size = exponent[1:] if exponent[:1] in ("+", "-") else exponent
        if not size or not set(size) <= digits:
            return None
        power = int(exponent)
    return sign * Fraction(int(whole + fraction)) / 10 ** len(fraction) * Fraction(10) ** power


def value(text: str) -> str | Fraction | None:
    """Return the value that a spelling of a sensitive value counts as."""
    before = None
    while text != before:
        before = text
        visible = [sign for sign in unicodedata.normalize("NFKC", text).casefold() if is_visible(sign)]
        visible = [" " if ord(sign) in EMPTY else sign for sign in visible]
        plain = ["-" if sign == "\u2212" else str(int(sign)) if sign.isdecimal() else sign for sign in visible]
        text = unicodedata.normalize("NFKC", "".join(plain))
    words: list[str] = [""]
    for sign in text:
        if sign.isspace():
            words.append("")
        else:
            words[-1] += sign
    text = " ".join(word for word in words if word)
    if not text:
        return None
    found = number(text)
    return text if found is None else found
