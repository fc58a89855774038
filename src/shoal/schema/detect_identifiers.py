"""Detection of direct identifiers and sensitive columns.

Columns are judged by their name and content. Content is matched by its form and, if there are any, by check digits, so
that a column of nine-digit amounts is not mistaken for national numbers. A column is an identifier if a large share of
its values matches.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence

from shoal.schema.column_vocabulary import (
    AMBIGUOUS_MEANING,
    CODES,
    COMPOUND_SUFFIXES,
    IDENTIFIERS,
    IDENTIFYING_ALONE,
    KEYS,
    PEOPLE,
    PERSONAL_MEANINGS,
    REMARKS,
    SENSITIVE,
    SHARED_MEANINGS,
    STAFF,
    meaning_of,
    words_of,
)
from shoal.schema.column_words import may_begin_word, meanings_of, skeleton_of
from shoal.schema.value_words import yes_and_no

MIN_MATCHING_SHARE = 0.8
"""The share of a column's distinct values that must match."""
SAMPLE_SIZE = 2000
QUICK_SAMPLE_SIZE = 50
NEARLY_UNIQUE_SHARE = 0.95
MIN_ROWS = 20
MIN_ROWS_OF_KEY = 100
MAX_AMBIGUOUS_VALUES = 10
ABBREVIATED_MEANINGS = {"a name", "an e-mail address", "a telephone number", "an address", "a national number"}
MIN_COMPOUND_KEY = 4
MIN_CONSONANTS_OF_IDENTIFIER = 4
MIN_ABBREVIATION = 5
"""Letters of an abbreviation of a word that identifies people."""
MAX_ROWS_PER_PERSON = 200
"""The largest mean number of rows with the same personal number or address; a hotline occurs in more."""


def identifier_reason(
    name: str, values: Sequence[str], distinct: float, rows: int, *, understood: bool = False
) -> str | None:
    """Return the reason to treat a column as a direct identifier, or None.

    Parameters
    ----------
    values
        Its distinct values.
    distinct
        Their number as a share of the rows that have a value.
    rows
        The number of rows that have a value.
    understood
        Whether the name says what the column tells: values that happen to be different are no key then.
    """
    texts = _without_zero_fraction(values)
    sample = _sample(texts)
    looks = _common_form(sample)
    if looks:
        return f"its values look like {looks}"
    named = _identifier_meaning(words_of(name))
    if named and not (distinct < 1 / MAX_AMBIGUOUS_VALUES and _are_classes(values, named)):
        return f"by its name it is {named}"
    if rows < MIN_ROWS or distinct < NEARLY_UNIQUE_SHARE:
        return None
    if is_key_name(name):
        return "by its name it is a key, and nearly every row has a value of its own"
    if _is_consecutive(texts):
        return "it numbers the rows"
    if sum(map(_is_name, sample)) >= MIN_MATCHING_SHARE * len(sample):
        return "its values look like names of people, and nearly every row has one of its own"
    if distinct == 1 and rows >= MIN_ROWS_OF_KEY and not understood and all(map(_is_code, sample)):
        return "no two rows have the same value, as in a key"
    return None


def _are_classes(values: Sequence[str], named: str) -> bool:
    """Return whether values are a few marks or codes.

    They say whether somebody has a telephone, or a kind of address, and name nobody. Of an ambiguous name any few words
    are classes, of a name of people only yes and no: a letter may be an initial.
    """
    if len(values) > MAX_AMBIGUOUS_VALUES:
        return False
    if named == AMBIGUOUS_MEANING or yes_and_no(values) is not None:
        return True
    return named not in ("a name", "a user name") and all(re.fullmatch(r"[A-Z]|\d", value) for value in values)


def is_key_name(name: str) -> bool:
    """Return whether a name is that of a key: id, customer number, ...

    German names such as Kundennummer count as well.

    >>> [is_key_name(name) for name in ("case.id", "Kundennummer", "idea", "number of children")]
    [True, True, False, False]
    """
    words = words_of(name)
    counts = {"of", "count", "anzahl", "total"} & set(words)
    return not counts and any(
        word in KEYS
        or word.endswith(("nummer", "schluessel"))
        or (word.endswith("nr") and len(word) > MIN_COMPOUND_KEY)
        for word in words
    )


def is_person_key(name: str) -> bool:
    """Return whether a name is that of a key of people.

    Examples are id and patient number, but not order number.

    >>> [is_person_key(name) for name in ("id", "patient_id", "order_id", "patient age")]
    [True, True, False, False]
    """
    words = words_of(name)
    if len(words) == 1 and words[0] not in KEYS:  # the number of a house is nobody's
        stem = next((words[0].removesuffix(end) for end in COMPOUND_SUFFIXES if words[0].endswith(end)), "")
        return is_key_name(name) and any(part in PEOPLE for part in (stem, stem.removesuffix("s")))
    return is_key_name(name) and ((len(words) == 1 and words[0] not in CODES) or bool(set(words) & PEOPLE))


def person_reason(name: str, values: Sequence[str], distinct: float) -> str | None:
    """Return the reason to treat a column as a person's key, or None.

    Its values must repeat. A key of people identifies the person of a row, and so does a personal attribute, such as an
    e-mail address, unless each value occurs in too large a number of rows.
    """
    if len(values) < MIN_ROWS or distinct >= NEARLY_UNIQUE_SHARE:
        return None
    repeats = "repeat: it says whose rows they are, and people are counted"
    texts = _without_zero_fraction(values)
    if is_person_key(name):
        return f"by its name it is a key, and its values {repeats}" if all(map(_is_code, texts)) else None
    if distinct * MAX_ROWS_PER_PERSON < 1:
        return None
    looks = _common_form(_sample(texts))
    words = set(words_of(name))
    if looks == "identifiers of records" and words and words <= PEOPLE:
        return f"by its name and values it is a key of people, and its values {repeats}"
    if looks in _PERSONAL_FORMS:
        return f"its values look like {looks}, and {repeats}"
    if looks and looks not in _DEVICE_FORMS:
        return None
    named = _identifier_meaning(words_of(name))
    return f"by its name it is {named}, and its values {repeats}" if named in PERSONAL_MEANINGS else None


def is_staff_key(name: str) -> bool:
    """Return whether a name is that of a key of staff.

    Examples are officer_id and doctor number.

    >>> [is_staff_key(name) for name in ("officer_id", "patient_id", "teacher age")]
    [True, False, False]
    """
    return is_person_key(name) and bool(set(words_of(name)) & STAFF)


def is_about_data_subjects(name: str) -> bool:
    """Return whether a name is that of a fact about people, not staff.

    Examples are subject_age and patient sex.
    """
    return bool(set(words_of(name)) & (PEOPLE - STAFF))


def is_shared_attribute(name: str) -> bool:
    """Return whether different people can share the attribute by chance.

    Examples are a name and an address.

    >>> [is_shared_attribute(name) for name in ("first", "Nachname", "case.id")]
    [True, True, False]
    """
    return _identifier_meaning(words_of(name)) in SHARED_MEANINGS


def is_remark(name: str) -> bool:
    """Return whether a name is that of a column for remarks.

    The present content of the column does not matter.
    """
    return bool(set(words_of(name)) & REMARKS)


def sensitive_reason(name: str) -> str | None:
    """Return the reason to treat a column as sensitive, by its name, or None."""
    what = meaning_of(words_of(name), SENSITIVE)
    return None if what is None else f"by its name it tells about {what}"


def _sample(values: Sequence[str]) -> list[str]:
    step = max(1, len(values) // SAMPLE_SIZE)
    return [value.strip() for value in values[::step]][: 2 * SAMPLE_SIZE]


def _common_form(sample: Sequence[str]) -> str | None:
    """Return the form that a large share of the values has, or None.

    A small part of the sample is tried first.
    """
    quick_sample = sample[:: max(1, len(sample) // QUICK_SAMPLE_SIZE)]
    for what, matches in _FORMS:
        if 2 * sum(map(matches, quick_sample)) >= MIN_MATCHING_SHARE * len(quick_sample) and sum(
            map(matches, sample)
        ) >= MIN_MATCHING_SHARE * len(sample):
            return what
    return None


def _identifier_meaning(words: list[str]) -> str | None:
    """Return the identifier that a name denotes, or None.

    A phrase may occur anywhere in the name.
    """
    found = meaning_of(words, IDENTIFIERS) or next(filter(None, map(_begun_identifier, words)), None)
    if found == "an address" and any(" " in part.words for part in meanings_of(" ".join(words))):
        return None  # a direction of studies, in Italian
    if found is None and words and set(words) <= {*IDENTIFYING_ALONE, *PEOPLE}:
        found = next((IDENTIFYING_ALONE[word] for word in words if word in IDENTIFYING_ALONE), None)
    return found


def _begun_identifier(word: str) -> str | None:
    """Return the identifier that an abbreviation begins, and no other word.

    A word without its vowels is an abbreviation, too.

    >>> _begun_identifier("apell1"), _begun_identifier("surnm"), _begun_identifier("photog")
    ('a name', 'a name', None)
    """
    start = word.rstrip("0123456789")
    consonants = skeleton_of(start)
    if len(consonants) >= MIN_CONSONANTS_OF_IDENTIFIER and not may_begin_word(start):
        for phrase, what in IDENTIFIERS.items():
            if what in ABBREVIATED_MEANINGS and len(phrase) > len(start) and skeleton_of(phrase) == consonants:
                return what
    if len(start) < MIN_ABBREVIATION or may_begin_word(start):
        return None
    begun = {
        what
        for phrase, what in IDENTIFIERS.items()
        if phrase.startswith(start) and " " not in phrase and phrase != f"{start}s"
    }
    is_word = start in PEOPLE or start in IDENTIFYING_ALONE
    return next(iter(begun)) if len(begun) == 1 and begun <= ABBREVIATED_MEANINGS and not is_word else None


# -- content -----------------------------------------------------------------------------------------


def _luhn(digits: str) -> bool:
    """Return whether the Luhn check digit is right.

    Payment cards and several national numbers have it.
    """
    total = 0
    for position, sign in enumerate(reversed(digits)):
        number = int(sign) * (1 + position % 2)
        total += number - 9 * (number > 9)
    return total % 10 == 0


def _is_email(text: str) -> bool:
    return re.fullmatch(r"[^@\s]{1,64}@[^@\s]+\.[^@\s.]{2,}", text) is not None


def _is_phone(text: str) -> bool:
    """Return whether a text has the form of a telephone number.

    A plus, a leading zero or separators are required: a bare number may be anything.
    """
    digits = re.sub(r"\D", "", text)
    if (
        not 7 <= len(digits) <= 15
        or not re.fullmatch(r"\+?[\d\s()./-]+", text)
        or re.fullmatch(r"\d{4}-\d\d-\d\d", text)
        or re.fullmatch(r"(0?[1-9]|[12]\d|3[01])([-/.])(0?[1-9]|[12]\d|3[01])\2((18|19|20)\d\d|\d\d)", text)  # a date
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


def _is_national_number(text: str) -> bool:
    """Return whether a text is a national identity number.

    Codice fiscale, NINO, DNI/NIE (letter), Swedish and Finnish numbers, French NIR. The Dutch BSN (eleven test) is
    checked by :func:`_is_bsn`.
    """
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


def _is_network_address(text: str) -> bool:
    if re.fullmatch(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}", text):
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "." in text or ":" in text


def _is_web_address(text: str) -> bool:
    return re.match(r"(?:[a-z][a-z+.-]{1,9}://|www\.)\S+$", text) is not None


_CONTACT = re.compile(r"[^@\s]{1,64}@[^@\s]+\.[^@\s.]{2,}|(?<![\d.])(?:\+|00)[1-9][\d\s()/-]{7,}\d|https?://\S+")


def has_contact_data(values: Sequence[str]) -> bool:
    """Return whether some value contains an e-mail, web or telephone address.

    >>> has_contact_data(["none", "call +49 30 1234567"]), has_contact_data(["none", "2020-01-01"])
    (True, False)
    """
    return any(_CONTACT.search(value) for value in _sample(values))


_TITLED = re.compile(
    r"(?:dr|prof|mrs?|ms|miss|hr|fr|herr|frau|mme|mlle|sra?|srta|dra|dott|dottssa|sig|sigra|dhr|mevr|mgr|ing|pan|pani|rev|sir|lady)"
    r"\.? +[^\W\d_][^\W\d_'’.-]+.*",
    re.IGNORECASE,
)
_WITH_INITIAL = re.compile(
    r"[A-Z][^\W\d_'’-]+,? (?:[A-Z]\.? ?){1,2}|(?:[A-Z]\. ?){1,2}(?:(?:van|de|von|der) )*[A-Z][^\W\d_'’-]{2,}"
)
MIN_TITLED_SHARE = 0.5


def are_titled_names(values: Sequence[str]) -> bool:
    """Return whether most values are names with a title or an initial.

    >>> [are_titled_names(values) for values in (["Dr. Wolska", "dr Maj"], ["Patel R", "Cho S."], ["Plan B", "Plan A"])]
    [True, True, False]
    """
    sample = _sample(values)
    titled = sum(_TITLED.fullmatch(text) is not None for text in sample)
    initials = {max(text.split(), key=len) for text in sample if _WITH_INITIAL.fullmatch(text)}
    return len(sample) > 1 and titled + len(initials) > MIN_TITLED_SHARE * len(sample)


def _is_name(text: str) -> bool:
    return (
        re.fullmatch(r"[^\W\d_][^\W\d_'’.-]*(?:[ ,]+[^\W\d_][^\W\d_'’.-]*){1,3}\.?", text) is not None
        and text[0].isupper()
    )


def _is_code(text: str) -> bool:
    """Return whether a text is a whole number, or one word with a digit.

    Measurements and dates are not codes.
    """
    return (
        re.fullmatch(r"\d+|(?=.*\d)[^\W_][\w./#-]{3,39}", text) is not None
        and re.fullmatch(r"-?\d+\.\d*(e-?\d+)?|\d{1,4}([-/.])\d{1,2}\2\d{1,4}.*|\d{4}-\d\d.*", text) is None
    )


def _without_zero_fraction(values: Sequence[str]) -> Sequence[str]:
    """Return whole numbers that are stored as floats without ``.0``."""
    if values and all(re.fullmatch(r"-?\d+\.0+", value) for value in values):
        return [value.partition(".")[0] for value in values]
    return values


def _is_consecutive(values: Sequence[str]) -> bool:
    """Return whether whole numbers cover nearly all of a range."""
    if not all(value.isascii() and value.isdigit() and len(value) < 16 for value in values):
        return False
    numbers = list(map(int, values))
    return len(numbers) > 1 and max(numbers) - min(numbers) < 1.05 * len(numbers)


_FORMS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("e-mail addresses", _is_email),
    ("social security numbers", _is_social_security),
    ("national identity numbers", _is_national_number),
    ("national identity numbers", _is_bsn),
    ("bank accounts", _is_iban),
    ("payment cards", _is_card),
    ("telephone numbers", _is_phone),
    ("identifiers of records", _is_uuid),
    ("network addresses", _is_network_address),
    ("web addresses", _is_web_address),
)
_PERSONAL_FORMS = {
    "e-mail addresses", "social security numbers", "national identity numbers", "bank accounts", "payment cards",
    "telephone numbers",
}  # fmt: skip
_DEVICE_FORMS = {"identifiers of records", "network addresses"}
"""Forms that can identify a person's device, if the column's name says so."""
