"""What names a person directly, and what one would not like to be known: told by a column's name and its content.

Content is matched by form and, where there is one, by check digits, so that a column of nine-digit amounts is not taken
for national numbers. A column is taken for identifiers where most of its values match.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence

from shoal.schema.column_vocabulary import (
    ALONE,
    AMBIGUOUS,
    IDENTIFIERS,
    KEYS,
    OWN,
    PEOPLE,
    REMARKS,
    SENSITIVE,
    SHARED,
    STAFF,
    meaning_of,
    words_of,
)

__all__ = [
    "about_others", "identifier_reason", "is_remark", "key_name", "person_key", "person_reason", "sensitive_reason",
    "shared_by_many", "staff_key",
]  # fmt: skip

MOST = 0.8
"""The part of a column's different values that must match."""
SAMPLE = 2000
FIRST = 50
NEARLY_UNIQUE = 0.95
FEW_ROWS = 20
SURELY_UNIQUE = 100
FEW_VALUES = 10
MOST_ROWS_OF_ONE = 200
"""In so many rows on average somebody's number or address stands at most; a hotline's stands in more."""


def identifier_reason(name: str, values: Sequence[str], distinct: float, rows: int) -> str | None:
    """Why a column is taken for a direct identifier, or None.

    Parameters
    ----------
    values
        Its different values.
    distinct
        How many they are, as part of the rows that have a value.
    rows
        How many rows have a value.
    """
    whole = _as_whole(values)
    sample = _sample(whole)
    looks = _looks_like(sample)
    if looks:
        return f"its values look like {looks}"
    named = _named(words_of(name))
    if named and not (named == AMBIGUOUS and len(values) <= FEW_VALUES and distinct < 1 / FEW_VALUES):
        return f"by its name it is {named}"
    if rows < FEW_ROWS or distinct < NEARLY_UNIQUE:
        return None
    if key_name(name):
        return "by its name it is a key, and nearly every row has a value of its own"
    if _running(whole):
        return "it numbers the rows"
    if sum(map(_is_name, sample)) >= MOST * len(sample):
        return "its values look like names of people, and nearly every row has one of its own"
    if distinct == 1 and rows >= SURELY_UNIQUE and all(map(_is_code, sample)):
        return "no two rows have the same value, as in a key"
    return None


def key_name(name: str) -> bool:
    """Whether a column is called like a key: id, customer number, Kundennummer, ...

    >>> [key_name(name) for name in ("case.id", "Kundennummer", "idea", "number of children")]
    [True, True, False, False]
    """
    words = words_of(name)
    counts = {"of", "count", "anzahl", "total"} & set(words)
    return not counts and any(word in KEYS or word.endswith(("nummer", "schluessel")) for word in words)


def person_key(name: str) -> bool:
    """Whether a column is called like a key of people: id, or patient number, and not order number.

    >>> [person_key(name) for name in ("id", "patient_id", "order_id", "patient age")]
    [True, True, False, False]
    """
    words = words_of(name)
    return key_name(name) and (len(words) == 1 or bool(set(words) & PEOPLE))


def person_reason(name: str, values: Sequence[str], distinct: float) -> str | None:
    """Why a column with values that repeat is taken to say whose rows they are, or None.

    A key of people does, and what is one person's own, such as an e-mail address; but not where each value is in very
    many rows.
    """
    if len(values) < FEW_ROWS or distinct >= NEARLY_UNIQUE:
        return None
    said = "repeat: it says whose rows they are, and people are counted"
    whole = _as_whole(values)
    if person_key(name):
        return f"by its name it is a key, and its values {said}" if all(map(_is_code, whole)) else None
    if distinct * MOST_ROWS_OF_ONE < 1:
        return None
    looks = _looks_like(_sample(whole))
    if looks in _OWN_CONTENT:
        return f"its values look like {looks}, and {said}"
    if looks and looks not in _KEY_CONTENT:
        return None
    named = _named(words_of(name))
    return f"by its name it is {named}, and its values {said}" if named in OWN else None


def staff_key(name: str) -> bool:
    """Whether a column is called like a key of those who attend to others: officer_id, doctor number.

    >>> [staff_key(name) for name in ("officer_id", "patient_id", "teacher age")]
    [True, False, False]
    """
    return person_key(name) and bool(set(words_of(name)) & STAFF)


def about_others(name: str) -> bool:
    """Whether a column is by its name a fact of people other than staff: subject_age, patient sex."""
    return bool(set(words_of(name)) & (PEOPLE - STAFF))


def shared_by_many(name: str) -> bool:
    """Whether a column is by its name what different people have in common by chance: a name, an address.

    >>> [shared_by_many(name) for name in ("first", "Nachname", "case.id")]
    [True, True, False]
    """
    return _named(words_of(name)) in SHARED


def is_remark(name: str) -> bool:
    """Whether a column is by its name for remarks, whatever stands in it now."""
    return bool(set(words_of(name)) & REMARKS)


def sensitive_reason(name: str) -> str | None:
    """Why a column is taken for sensitive, or None; told by its name alone."""
    what = meaning_of(words_of(name), SENSITIVE)
    return None if what is None else f"by its name it tells about {what}"


def _sample(values: Sequence[str]) -> list[str]:
    step = max(1, len(values) // SAMPLE)
    return [value.strip() for value in values[::step]][: 2 * SAMPLE]


def _looks_like(sample: Sequence[str]) -> str | None:
    """What most values look like, or None; of many values a few are looked at first."""
    few = sample[:: max(1, len(sample) // FIRST)]
    for what, matches in _CONTENT:
        if 2 * sum(map(matches, few)) >= MOST * len(few) and sum(map(matches, sample)) >= MOST * len(sample):
            return what
    return None


def _named(words: list[str]) -> str | None:
    """What a column names by its name; a phrase may stand anywhere in it."""
    found = meaning_of(words, IDENTIFIERS)
    if found is None and words and set(words) <= {*ALONE, *PEOPLE}:
        found = next((ALONE[word] for word in words if word in ALONE), None)
    return found


# -- content -----------------------------------------------------------------------------------------


def _luhn(digits: str) -> bool:
    """The check digit of payment cards and many national numbers."""
    total = 0
    for place, sign in enumerate(reversed(digits)):
        number = int(sign) * (1 + place % 2)
        total += number - 9 * (number > 9)
    return total % 10 == 0


def _is_email(text: str) -> bool:
    return re.fullmatch(r"[^@\s]{1,64}@[^@\s]+\.[^@\s.]{2,}", text) is not None


def _is_phone(text: str) -> bool:
    """With a plus, a leading zero or separators: a bare number may be anything."""
    digits = re.sub(r"\D", "", text)
    if (
        not 7 <= len(digits) <= 15
        or not re.fullmatch(r"\+?[\d\s()./-]+", text)
        or re.fullmatch(r"\d{4}-\d\d-\d\d", text)
    ):
        return False
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return re.fullmatch(r"0[1-9]\d{7,10}|00[1-9]\d{8,12}", text) is not None
    parts = len(re.findall(r"\d+", text))
    return text.startswith("+") or (parts >= 2 and ("(" in text or parts >= 3) and not re.fullmatch(r"[\d./]+", text))


def _is_card(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    return digits.isascii() and digits.isdigit() and 13 <= len(digits) <= 19 and _luhn(digits)


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "").upper()
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z\d]{10,30}", plain):
        return False
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _is_social_security(text: str) -> bool:
    return re.fullmatch(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", text) is not None


def _is_national(text: str) -> bool:
    """Codice fiscale, NINO, DNI/NIE (letter), Dutch BSN (eleven test), Swedish and Finnish numbers, French NIR."""
    plain = text.replace(" ", "").upper()
    if re.fullmatch(r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]", plain):
        return True
    if re.fullmatch(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]", plain):
        return True
    if found := re.fullmatch(r"([XYZ]?)(\d{7,8})([A-Z])", plain):
        number = int({"X": "0", "Y": "1", "Z": "2", "": ""}[found[1]] + found[2])
        return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == found[3]
    if re.fullmatch(r"(\d\d)?\d{6}[-+]\d{4}", plain):
        return _luhn(re.sub(r"\D", "", plain)[-10:])
    if re.fullmatch(r"\d{6}[-+A]\d{3}[\dA-Y]", plain):
        return True
    if re.fullmatch(r"[12]\d{14}", plain):
        return (97 - int(plain[:13]) % 97) == int(plain[13:])
    return False


def _is_bsn(text: str) -> bool:
    if not re.fullmatch(r"\d{9}", text) or text == "000000000":
        return False
    digits = [int(sign) for sign in text]
    return (sum(d * w for d, w in zip(digits, range(9, 1, -1), strict=False)) - digits[8]) % 11 == 0


def _is_uuid(text: str) -> bool:
    return re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None


def _is_network(text: str) -> bool:
    if re.fullmatch(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}", text):
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "." in text or ":" in text


def _is_web(text: str) -> bool:
    return re.match(r"(?:[a-z][a-z+.-]{1,9}://|www\.)\S+$", text) is not None


def _is_name(text: str) -> bool:
    return (
        re.fullmatch(r"[^\W\d_][^\W\d_'’.-]*(?:[ ,]+[^\W\d_][^\W\d_'’.-]*){1,3}\.?", text) is not None
        and text[0].isupper()
    )


def _is_code(text: str) -> bool:
    """A whole number, or one word with a digit in it; no measurement and no date."""
    return (
        re.fullmatch(r"\d+|(?=.*\d)[^\W_][\w./#-]{3,39}", text) is not None
        and re.fullmatch(r"-?\d+\.\d*(e-?\d+)?|\d{1,4}([-/.])\d{1,2}\2\d{1,4}.*|\d{4}-\d\d.*", text) is None
    )


def _as_whole(values: Sequence[str]) -> Sequence[str]:
    """Whole numbers that are stored as floats (10630.0) as whole numbers."""
    if values and all(re.fullmatch(r"-?\d+\.0+", value) for value in values):
        return [value.partition(".")[0] for value in values]
    return values


def _running(values: Sequence[str]) -> bool:
    """Whole numbers of which nearly all of a range are there."""
    if not all(value.isascii() and value.isdigit() and len(value) < 16 for value in values):
        return False
    numbers = list(map(int, values))
    return len(numbers) > 1 and max(numbers) - min(numbers) < 1.05 * len(numbers)


_CONTENT: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("e-mail addresses", _is_email),
    ("social security numbers", _is_social_security),
    ("national identity numbers", _is_national),
    ("national identity numbers", _is_bsn),
    ("bank accounts", _is_iban),
    ("payment cards", _is_card),
    ("telephone numbers", _is_phone),
    ("identifiers of records", _is_uuid),
    ("network addresses", _is_network),
    ("web addresses", _is_web),
)
_OWN_CONTENT = {
    "e-mail addresses", "social security numbers", "national identity numbers", "bank accounts", "payment cards",
    "telephone numbers",
}  # fmt: skip
_KEY_CONTENT = {"identifiers of records", "network addresses"}
"""What a person's device may be known by, where the column's name says so."""
