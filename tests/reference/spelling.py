"""When two spellings are one value, said slowly: sign by sign, and numbers as fractions."""

from __future__ import annotations

import unicodedata
from fractions import Fraction

IGNORED = {"\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2060", "\ufeff"}


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
    """The value of a decimal number, written with or without sign, point and exponent."""
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
    """What a sensitive value is counted as."""
    before = None
    while text != before:
        before = text
        kept = [
            sign
            for sign in unicodedata.normalize("NFKC", text).casefold()
            if sign not in IGNORED and unicodedata.category(sign) != "Cf" and not 0xFE00 <= ord(sign) <= 0xFE0F
        ]
        plain = ["-" if sign == "\u2212" else str(int(sign)) if sign.isdecimal() else sign for sign in kept]
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
