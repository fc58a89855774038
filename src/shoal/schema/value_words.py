"""Topics of the values of columns, regardless of their names.

Evidence is the words of values in the folder ``words`` (``values.toml``, ``names.toml``, ``places.toml``), and the
forms of codes of public classifications.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from shoal.schema.column_vocabulary import words_of


@dataclass(frozen=True)
class _ValueList:
    topic: str
    tier: str
    whole: frozenset[str]
    inside: frozenset[str]
    ending: tuple[str, ...]


@cache
def _value_lists() -> tuple[tuple[_ValueList, ...], dict[str, frozenset[str]]]:
    listed = tomllib.loads((files("shoal.schema") / "words" / "values.toml").read_text(encoding="utf-8"))
    marks = {key: frozenset(_split(words)) for key, words in listed.pop("marks").items()}
    lists = tuple(
        _ValueList(
            topic,
            entry["tier"],
            frozenset(_split(entry.get("whole", ""))),
            frozenset(_split(entry.get("inside", ""))),
            tuple(_split(entry.get("ending", ""))),
        )
        for topic, entry in listed.items()
    )
    return lists, marks


def _split(words: str) -> Iterable[str]:
    return (word.strip() for word in words.split(",") if word.strip())


def fold_value(value: str) -> str:
    """Return the words of a value, lower case, without accents and signs."""
    return " ".join(words_of(value.lower()))


MAX_LISTED_VALUES = 400
MIN_LISTED_SHARE = 0.5
CODE_FORMS = (
    ("codes of illnesses (ICD)", re.compile(r"[A-TV-Z]\d[\dA-B](\.?[\dA-Z]{1,4})?-?")),
    ("codes of operations (OPS)", re.compile(r"[1-9]-\d[\da-z]{2}(\.[\da-z]{1,2})?")),
    ("codes of medicines (ATC)", re.compile(r"[ABCDGHJLMNPRSV]\d\d[A-Z]([A-Z](\d\d)?)?")),
)
GENOTYPE_FORM = re.compile(r"[ACGT-]{1,2}|[ACGT-]/[ACGT-]|[εe][2-4]/[εe][2-4]|\*\d{1,2}/\*\d{1,2}")
"""The two letters of a place in the genome, or two numbered variants of a gene."""
POSTCODE_FORM = re.compile(
    r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{4} ?[A-Z]{2}|\d{2}-\d{3}|\d{4}-\d{3}"
)
"""Postcodes of the United Kingdom, Canada, the Netherlands, Poland and Portugal."""
OFFICE_CODE_FORM = re.compile(r"[EWSNK]\d{8}")
"""Codes of places by the statistical office of the United Kingdom."""
REGION_FORM = re.compile(r"([A-Z]{2})(?=[A-Z]{0,2}\d)[A-Z\d]{1,3}")
"""Codes of regions of Europe (NUTS): a country, and letters or digits."""
MIN_CODES = 3
MIN_GENOTYPES = 3
MIN_NAMES = 4
MIN_CODE_SHARE = 0.9
MAX_WORDS_OF_NAME = 4
MIN_LONG_LIST = 30
MIN_SHARE_IN_LONG_LIST = 0.3
"""Share of listed names among many: the lists have the commonest only."""
PARTICLES = {
    "de", "van", "den", "der", "von", "zu", "ten", "ter", "el", "al", "ben", "bin", "di", "da", "do", "dos", "del",
    "della", "la", "le", "du", "des", "mc", "mac", "o", "san", "st",
}  # fmt: skip
"""Words before surnames."""


def topic_of_values(values: Sequence[str]) -> tuple[str, str, str] | None:
    """Return tier, topic and kind of evidence of a column's values, or None.

    Half of the values that say something at all must be listed, and two of them at least.

    >>> topic_of_values(["Catholic", "Muslim", "none"]), topic_of_values(["I10", "E11.9", "J45.0", "F32.1"])
    (('sensitive', 'religion', 'words'), ('sensitive', 'codes of illnesses (ICD)', 'form'))
    """
    if not values or len(values) > 10 * MAX_LISTED_VALUES:
        return None
    step = max(1, len(values) // MAX_LISTED_VALUES)
    sample = [value.strip() for value in values[::step]]
    sample = [value.strip("*+\u2020 ") or value for value in sample]  # signs of a code's part in a certificate
    if len(sample) >= MIN_CODES:
        for form, pattern in CODE_FORMS:
            letters = {value[:1] for value in sample}
            if len(letters) >= MIN_CODES and all(pattern.fullmatch(value) for value in sample):
                return "sensitive", form, "form"
    if (
        len(sample) >= MIN_GENOTYPES
        and any(len(value) > 1 for value in sample)
        and all(GENOTYPE_FORM.fullmatch(value) for value in sample)
    ):
        return "sensitive", "genotypes", "form"
    if len(sample) >= MIN_NAMES and all(POSTCODE_FORM.fullmatch(value) for value in sample):
        return "visible", "place", "form"
    if _are_region_codes(sample):
        return "visible", "place", "form"
    lists, marks = _value_lists()
    folded = [text for value in sample if (text := fold_value(value)) and text not in marks["neither"]]
    if len(folded) < 2 or all(text.isdigit() for text in folded):
        return None
    best: tuple[float, _ValueList] | None = None
    for listed in lists:
        share = sum(_is_listed(text, listed) for text in folded) / len(folded)
        if share >= MIN_LISTED_SHARE and (best is None or share > best[0]):
            best = (share, listed)
    return None if best is None or best[0] * len(folded) < 2 else (best[1].tier, best[1].topic, "words")


def _are_region_codes(sample: Sequence[str]) -> bool:
    """Return whether values are codes of countries, states or regions.

    >>> [_are_region_codes(values) for values in (["CA", "TX", "NY", "FL"], ["a1", "b2", "c3", "d4"], ["M", "F"])]
    [True, False, False]
    """
    if len(sample) < MIN_NAMES:
        return False
    if all(OFFICE_CODE_FORM.fullmatch(value) for value in sample):
        return True
    codes = _regions()[0]
    regions = [REGION_FORM.fullmatch(value) for value in sample]
    if all(found is not None and found[1].lower() in codes["countries2"] for found in regions):
        return True
    if not all(value.isalpha() and value.isupper() and len(value) <= 3 for value in sample):
        return False
    return any(
        sum(value.lower() in known for value in sample) >= MIN_CODE_SHARE * len(sample) for known in codes.values()
    )


@cache
def _regions() -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """Return the codes of places by standard, and the names of cities."""
    listed = tomllib.loads((files("shoal.schema") / "words" / "places.toml").read_text(encoding="utf-8"))
    codes = {standard: frozenset(_split(words)) for standard, words in listed["codes"].items()}
    return codes, frozenset(city for words in listed["cities"].values() for city in _split(words))


@cache
def _names() -> tuple[frozenset[str], frozenset[str]]:
    """Return the given names and the surnames that are listed."""
    listed = tomllib.loads((files("shoal.schema") / "words" / "names.toml").read_text(encoding="utf-8"))
    given, surnames = (
        frozenset(name for words in listed[kind].values() for name in _split(words)) for kind in ("given", "surname")
    )
    return given, surnames


def are_names_of_people(values: Sequence[str]) -> bool:
    """Return whether most values are names of people.

    A listed given name or surname alone, or a given name beside other words without digits.

    >>> are_names_of_people(["Anna", "Tim", "Lea", "Jan"])
    True
    >>> are_names_of_people(["Meier, Anna", "Tim Xyzw", "Lea Orlok", "B. Jan"])
    True
    >>> are_names_of_people(["red", "green", "blue", "martin"])
    False
    """
    step = max(1, len(values) // MAX_LISTED_VALUES)
    sample = [words_of(value) for value in values[::step] if not any(sign.isdigit() for sign in value)]
    if len(values) < MIN_NAMES or 2 * len(sample) < len(values[::step]):
        return False
    given, surnames = _names()
    found = 0
    for words in sample:
        own = [word for word in words if word not in PARTICLES]
        if len(own) == 1:
            found += own[0] in given or own[0] in surnames
        elif 1 < len(words) <= MAX_WORDS_OF_NAME:
            found += any(word in given for word in words)
    least = MIN_LISTED_SHARE if len(values) < MIN_LONG_LIST else MIN_SHARE_IN_LONG_LIST
    return found >= least * len(sample)


def _is_listed(text: str, listed: _ValueList) -> bool:
    if text in listed.whole or (listed.topic == "place" and text in _regions()[1]):
        return True
    words = text.split()
    if listed.inside and (text in listed.inside or any(word in listed.inside for word in words)):
        return True
    return any(len(word) > len(end) + 2 and word.endswith(end) for word in words for end in listed.ending)


def yes_and_no(values: Sequence[str]) -> tuple[str, str] | None:
    """Return the values of a column of two marks, yes and no, or None.

    >>> yes_and_no(["N", "Y"]), yes_and_no(["m", "f"])
    (('Y', 'N'), None)
    """
    if len(values) != 2:
        return None
    _, marks = _value_lists()
    for yes, no in (values, values[::-1]):
        if fold_value(yes) in marks["yes"] and fold_value(no) in marks["no"]:
            return yes, no
    return None
