"""Tier of a column, by the knowledge that others have of its facts.

=========  =======================================================================  ================
tier       the column tells                                                         suggested role
=========  =======================================================================  ================
names      who a person is                                                          identifier
person     whose rows they are                                                      person
visible    what strangers, neighbours, employers and registers know                 quasi-identifier
private    what only those close to a person know, and what harms nobody            other
sensitive  what nobody should learn                                                 sensitive
technical  weights, constants, the administration of a survey                       other, drop
unknown    something that is not understood                                         quasi-identifier
text       anything: free text, remarks                                             drop
=========  =======================================================================  ================

Evidence is the name with its abbreviations, the label that the source has, the values, and, for what is not understood
by itself, the neighbours (:mod:`shoal.advice.neighbour_columns`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shoal.advice.value_kinds import (
    are_times_of_day,
    are_years,
    have_same_unit,
    look_like_amounts,
    may_be_births,
    may_be_years_of_birth,
    numbers_of,
)
from shoal.formatting import number
from shoal.schema import Role
from shoal.schema.column_vocabulary import IDENTIFYING_ALONE, PEOPLE, words_of
from shoal.schema.column_words import Meaning, meanings_of
from shoal.schema.detect_identifiers import (
    are_titled_names,
    has_contact_data,
    identifier_reason,
    is_key_name,
    is_remark,
    person_reason,
    sensitive_reason,
)
from shoal.schema.value_words import are_names_of_people, topic_of_values

MAX_DISTINCT_WORD_SHARE = 0.2
MAX_DISTINCT_WORDS = 100
MIN_ROWS_OF_CONSTANT = 20
MIN_WEEKDAYS = 3
MAX_PRIVATE_WORDS = 60
MAX_ADMINISTRATIVE_VALUES = 20
TOPICS = {
    "age": "age", "sex": "sex", "origin": "origin", "place": "a place", "family": "the family", "work": "work",
    "schooling": "schooling",
    "looks": "what everybody sees", "events": "when something happened", "dwelling": "the dwelling",
    "leisure": "leisure", "food": "food",
    "shopping": "purchases and use", "opinion": "opinions", "habits": "habits", "health": "health", "income": "income",
    "money": "debts and money", "belief": "belief", "sexuality": "sexual life", "politics": "political opinion",
    "offences": "offences and discipline",
    "grades": "grades and ratings", "weight": "a weight of the survey",
    "administration": "the administration of the data",
    "marital": "marital status", "ethnicity": "origin", "degree": "schooling", "activity": "work", "title": "titles",
    "weekday": "when something happened",
    "religion": "belief", "party": "political opinion", "illness": "illnesses", "drug": "medicines",
    "offence": "offences", "grade": "grades",
    "habit": "habits", "specialty": "health",
}  # fmt: skip
WEIGHT_WORDS = {"weight", "weights", "poids", "gewicht", "gew", "peso", "wgt", "wght", "wt", "bmxwt", "vikt", "waga"}
UNITS_OF_WEIGHT = {"kg", "lb", "lbs", "pounds", "body", "birth", "koerper", "corps", "cuerpo", "corpo", "bmxwt"}
REGION_WORDS = {
    "city", "county", "state", "region", "country", "zip", "district", "town", "province", "municipality", "station",
    "area", "code postal",
    "plz", "ort", "stadt", "gemeinde", "kreis", "ville", "commune", "departement", "municipio", "provincia", "pais",
    "comune", "regione", "uf",
}  # fmt: skip
WORDED_TOPICS = {"sex", "family", "origin"}
"""Facts that are words, few codes or small counts."""
TOPICS_OF_OTHERS = {"family", "work", "events", "dwelling", "looks"}
"""Facts that may be told by the name of another person."""
MAX_CODES_OF_FACTS = 30
MIN_LOOSE_CODES = 100
MAX_REPEATED_CODES_SHARE = 0.4
KEY_ENDING = re.compile(r"[a-z]{1,4}(id|nr|no|num|key|ref)")
"""Short words that end like a key: fid, hhid, gzno."""
MIN_NAMED_KEYS = 20
KEY_TOPICS = {"offences", "health", "belief", "politics"}
"""Sensitive topics of which a register has numbers, and no amounts: the number of a committal."""
MIN_KEY_DIGITS = 4
MIN_DIGITS_OF_LOOSE_KEY = 5
MAX_ROWS_OF_KEY = 8
"""Largest mean number of rows with one value of a key, of a household for example."""
MIN_ROWS_OF_KEY = 100
CORE_TOPICS = {"age", "sex", "origin", "place", "family"}
"""Visible facts that count more than a private word beside them: the age of a subscriber."""
GRAVE_TOPICS = {"health", "belief", "sexuality", "politics", "offences", "money", "income"}
"""Sensitive facts that count more than a word of opinion beside them."""


KIND_WORDS = {
    "type", "kind", "basis", "frequency", "freq", "method", "mode", "currency", "art", "typ", "turnus", "devise",
    "tipo", "moneda", "moeda", "modo", "valuta", "soort", "rodzaj", "forme", "forma",
}  # fmt: skip
"""Words for a kind of pay or account: what stands beside them is no amount."""
HOUR_WORDS = {"hour", "hr", "hod", "heure", "stunde", "hora", "ora", "uur", "time"}
WEEKDAY_WORDS = {"dow", "wday", "weekday", "wochentag", "jour", "giorno", "weekdag"}
MIN_HOURS = 12
MIN_HEIGHT_CM, MAX_HEIGHT_CM = 130, 210


class Tier(StrEnum):
    """Knowledge that others have of the facts of a column."""

    NAMES = "names"
    PERSON = "person"
    VISIBLE = "visible"
    PRIVATE = "private"
    SENSITIVE = "sensitive"
    TECHNICAL = "technical"
    UNKNOWN = "unknown"
    TEXT = "text"


ROLES = {
    Tier.NAMES: Role.IDENTIFIER,
    Tier.PERSON: Role.PERSON,
    Tier.VISIBLE: Role.QUASI_IDENTIFIER,
    Tier.PRIVATE: Role.OTHER,
    Tier.SENSITIVE: Role.SENSITIVE,
    Tier.TECHNICAL: Role.OTHER,
    Tier.UNKNOWN: Role.QUASI_IDENTIFIER,
    Tier.TEXT: Role.DROP,
}


@dataclass(frozen=True)
class Judgement:
    """Tier and topic of a column, its suggested role, and the evidence.

    ``is_guess`` tells that other columns alone are the evidence.
    """

    tier: Tier
    role: Role
    reason: str
    topic: str = ""
    is_guess: bool = False


@dataclass(frozen=True)
class Evidence:
    """Name, label and values of a column.

    ``values`` are its distinct values as text, ``count`` their rows; ``label`` and ``meanings`` are the description of
    the column and of its codes by the source.
    """

    name: str
    kind: str
    values: Sequence[str]
    count: Sequence[int]
    rows: int
    missing: int
    label: str = ""
    meanings: Sequence[str] = ()


def judge_column(column: Evidence) -> Judgement:
    """Judge a column by its name, label and values."""
    values, name = column.values, column.name
    if not values:
        return Judgement(Tier.TECHNICAL, Role.DROP, "it has no value at all")
    filled = column.rows - column.missing
    distinct = len(values) / filled
    if column.kind != "date":
        if person := person_reason(name, values, distinct):
            return Judgement(Tier.PERSON, Role.PERSON, person)
        if found := identifier_reason(name, values, distinct, filled, understood=_is_understood(name)):
            return Judgement(Tier.NAMES, Role.IDENTIFIER, found)
        if column.kind in ("word", "text") and not _explains_names(name):
            if are_names_of_people(values):
                return Judgement(Tier.NAMES, Role.IDENTIFIER, "its values are names of people")
            if not _is_understood(name) and are_titled_names(values):
                return Judgement(Tier.NAMES, Role.IDENTIFIER, "its values look like names with a title or an initial")
        if column.kind != "number" and has_contact_data(values):
            return Judgement(Tier.TEXT, Role.DROP, "some of its values have an address or a telephone number in them")
    if are_times_of_day(values):
        return Judgement(
            Tier.VISIBLE, Role.QUASI_IDENTIFIER, "others may know at which time something happened", "events"
        )
    if column.kind == "text":
        return Judgement(Tier.TEXT, Role.DROP, "it is free text, which may say anything about anybody")
    if column.kind == "word" and is_remark(name):
        return Judgement(Tier.TEXT, Role.DROP, "by its name it is for remarks, which may say anything about anybody")
    if len(values) == 1 and not column.missing and column.rows >= MIN_ROWS_OF_CONSTANT:
        return _judge_constant(column)
    is_varied = len(values) > MAX_DISTINCT_WORDS and distinct > MAX_DISTINCT_WORD_SHARE
    if column.kind == "word" and is_varied and topic_of_values(values) != ("visible", "place", "form"):
        if have_same_unit(values):
            reason = "its numbers have a sign beside them (5%, 5 kg): without it they could become intervals"
        else:
            reason = "it has so many different words that it is like free text, which may name somebody"
        return Judgement(Tier.TEXT, Role.DROP, reason)
    if column.kind == "date":
        born = any(part.topic == "age" for part in meanings_of(name)) or may_be_births(values)
        topic, what = ("age", "somebody was born") if born else ("events", "something happened")
        return Judgement(Tier.VISIBLE, Role.QUASI_IDENTIFIER, f"others may know when {what}", topic)
    return _judge_by_words(column)


def _judge_constant(column: Evidence) -> Judgement:
    """Judge a column of one value, the same in every row.

    What it says of everybody is published, unless it is sensitive or not understood and no plain number or mark.
    """
    judged = _judge_by_words(column)
    if judged.tier in (Tier.SENSITIVE, Tier.TEXT) or (judged.tier is Tier.UNKNOWN and column.kind != "number"):
        return Judgement(Tier.TECHNICAL, Role.DROP, "it has one value only")
    return Judgement(Tier.TECHNICAL, Role.OTHER, "it has one value only, the same for everybody", judged.topic)


def _judge_by_words(column: Evidence) -> Judgement:
    """Judge by the meanings of words, those of the name first."""
    if WEIGHT_WORDS & set(words_of(column.name)):
        return _judge_weight(column)
    found, source = _tier_of_name(column.name), "name"
    if found is None and column.label:
        plain = [part for part in meanings_of(column.label) if part.way in ("name", "inflection")]
        found, source = _strongest(plain, column.label), "label"
    by_values = topic_of_values(column.meanings or column.values)
    if by_values is not None and _overrules(by_values, found):
        tier, topic, way = by_values
        what = f"its values have the form of {topic}" if way == "form" else f"its values tell about {TOPICS[topic]}"
        return _with_role(column, Tier(tier), topic, what)
    if measured := _measured(column):
        return measured
    if found is None and (named := sensitive_reason(column.name)):
        return _with_role(column, Tier.SENSITIVE, "", named)
    if found is not None and _contradicts_values(found, column):
        found = None
    if found is None:
        return _judge_by_shape(column)
    tier = Tier(found.tier)
    if found.topic == "family" and is_key_name(column.name) and _may_be_key(column):
        return Judgement(Tier.NAMES, Role.IDENTIFIER, "by its name and values it is a key of families")
    if found.topic in KEY_TOPICS and _numbers_records(column):
        reason = f"by its name it is of a register of {TOPICS[found.topic]}, and no two rows have the same number"
        return Judgement(Tier.NAMES, Role.IDENTIFIER, reason)
    if found.way == "abbreviation" and tier in (Tier.PRIVATE, Tier.TECHNICAL) and not _may_be_key(column):
        reason = f"it may tell about {TOPICS[found.topic]} (read as {found.words}...), which is not sure"
        return Judgement(Tier.UNKNOWN, Role.QUASI_IDENTIFIER, f"{reason}, and somebody may know it")
    if found.topic in ("income", "money") and column.kind == "word" and KIND_WORDS & set(words_of(column.name)):
        return _with_role(column, Tier.VISIBLE, "work", "it tells a kind of pay or account, and no amount")
    sure = "" if found.way in ("name", "inflection") else f" (read as {found.words}...)"
    return _with_role(column, tier, found.topic, f"by its {source} it tells about {TOPICS[found.topic]}{sure}")


def _contradicts_values(found: Meaning, column: Evidence) -> bool:
    """Return whether an unsure reading of the name does not fit the values.

    Many different numbers are no sex, no relatives and no origin: `ta_sist` is no sister.
    """
    is_numeric = column.kind == "number" and len(column.values) > MAX_CODES_OF_FACTS
    return found.way == "abbreviation" and found.topic in WORDED_TOPICS and is_numeric


def _judge_by_shape(column: Evidence) -> Judgement:
    """Judge a column that no word explains by the shape of its values."""
    if column.kind == "number" and are_years(column.values):
        topic = "age" if may_be_years_of_birth(column.values) else "events"
        return _with_role(column, Tier.VISIBLE, topic, "its numbers are years")
    if column.kind == "number" and look_like_amounts(column.values):
        return _with_role(column, Tier.SENSITIVE, "money", "its numbers look like amounts of money")
    if _may_be_key(column):
        return Judgement(Tier.NAMES, Role.IDENTIFIER, "it is not understood, and its codes hardly repeat: a key, maybe")
    return Judgement(Tier.UNKNOWN, Role.QUASI_IDENTIFIER, "it is not understood, and somebody may know it")


def _may_be_key(column: Evidence) -> bool:
    """Return whether most codes occur in few rows."""
    filled, count = column.rows - column.missing, len(column.values)
    if column.kind != "code" and not _have_form_of_keys(column):
        return False
    named = is_key_name(column.name) or any(KEY_ENDING.fullmatch(word) for word in words_of(column.name))
    repeats_seldom = count * MAX_ROWS_OF_KEY >= filled and count >= MIN_NAMED_KEYS
    dense = _have_form_of_keys(column) and int(max(column.values)) - int(min(column.values)) < 2 * count
    return (
        count > max(MIN_LOOSE_CODES, MAX_REPEATED_CODES_SHARE * filled)
        or (named and repeats_seldom)
        or (dense and repeats_seldom and count >= MIN_LOOSE_CODES)
    )


def _have_form_of_keys(column: Evidence) -> bool:
    """Return whether all numbers are whole, long, and of one length.

    Amounts and measurements have different lengths, or a point.
    """
    lengths = {len(value) for value in column.values}
    return (
        column.kind == "number"
        and len(lengths) == 1
        and min(lengths) >= MIN_DIGITS_OF_LOOSE_KEY
        and all(value.isdigit() for value in column.values)
    )


def _numbers_records(column: Evidence) -> bool:
    """Return whether every row has its own whole number of one length."""
    filled = column.rows - column.missing
    lengths = {len(value) for value in column.values}
    return (
        filled >= MIN_ROWS_OF_KEY
        and len(column.values) == filled
        and len(lengths) == 1
        and min(lengths) >= MIN_KEY_DIGITS
        and all(value.isdigit() for value in column.values)
    )


def _explains_names(name: str) -> bool:
    """Return whether a name explains values that are names of people, too.

    Places and candidates of an election are called so. A relative, a colleague or a house is not: the names of mothers
    identify their children.
    """
    is_named = bool(set(words_of(name)) & set(IDENTIFYING_ALONE))
    return any(
        (part.topic == "place" and not is_named)
        or (
            part.way in ("name", "inflection")
            and (part.tier == "sensitive" or (part.tier == "visible" and part.topic not in TOPICS_OF_OTHERS))
        )
        for part in meanings_of(name)
    )


def _is_understood(name: str) -> bool:
    """Return whether a name says surely that its values are facts of a person."""
    return any(
        part.way in ("name", "inflection") and part.tier in ("visible", "sensitive") for part in meanings_of(name)
    )


def _tier_of_name(name: str) -> Meaning | None:
    return _strongest(meanings_of(name), name)


def _strongest(found: Sequence[Meaning], name: str) -> Meaning | None:
    """Return the meaning that counts most among those of a name.

    Sensitive ones first, with two exceptions: an opinion about something harmless is private, and a place is visible
    (health region, police district).
    """
    if not found:
        return None
    if found[-1].topic == "place" and found[-1].words in REGION_WORDS:
        return found[-1]
    core = [part for part in found if part.topic in CORE_TOPICS]
    sensitive = [part for part in found if part.tier == "sensitive" and not (core and _is_about_somebody(part))]
    opinions = [part for part in found if part.topic == "opinion"]
    if opinions and not any(part.topic in GRAVE_TOPICS for part in sensitive):
        return opinions[0]
    for part in (*sensitive, *core):
        return part
    for tier in ("private", "visible", "technical"):
        for part in found:
            if part.tier == tier:
                return part
    return None


def _is_about_somebody(part: Meaning) -> bool:
    """Return whether a sensitive word only denotes the person of a fact.

    The age of a victim is an age. A piece of a word that is read with a guess counts as little.
    """
    return part.words in PEOPLE or part.way == "abbreviation"


def _overrules(by_values: tuple[str, str, str], found: Meaning | None) -> bool:
    """Return whether values count more than the name."""
    tier, topic, way = by_values
    if found is None:
        return True
    if way == "form":
        return found.tier != "sensitive" and found.way != "name"
    if topic == "opinion":
        return found.tier == "visible" and found.topic not in CORE_TOPICS
    return tier == "sensitive" and found.tier in ("private", "technical")


def _with_role(column: Evidence, tier: Tier, topic: str, reason: str) -> Judgement:
    """Give the tier's role.

    Columns that are published unchanged must be harmless in their values, too.
    """
    words = column.kind in ("word", "code")
    if tier is Tier.PRIVATE and _may_be_key(column):
        return Judgement(Tier.NAMES, Role.IDENTIFIER, f"{reason}; its codes hardly repeat: a key, maybe", topic)
    if tier is Tier.PRIVATE and words and len(column.values) > MAX_PRIVATE_WORDS:
        reason += f"; with {number(len(column.values))} different values somebody may know one"
        return Judgement(Tier.UNKNOWN, Role.QUASI_IDENTIFIER, reason, topic)
    if tier is Tier.TECHNICAL and topic != "weight" and len(column.values) > MAX_ADMINISTRATIVE_VALUES:
        reason += ", but has many values"
        return Judgement(Tier.UNKNOWN, Role.QUASI_IDENTIFIER, reason, topic)
    if tier is Tier.SENSITIVE and len(column.values) == 1 and not column.missing:
        return Judgement(tier, Role.DROP, f"{reason}, and it has one value only", topic)
    before = "others may know it: " if tier is Tier.VISIBLE else ""
    return Judgement(tier, ROLES[tier], before + reason, topic)


def _measured(column: Evidence) -> Judgement | None:
    """Judge by a unit or a part of the day in the name, if values agree."""
    words = set(words_of(column.name))
    if column.kind != "number" or not words & (HOUR_WORDS | WEEKDAY_WORDS | {"cm"}):
        return None
    numbers = sorted(numbers_of(column.values) or [])
    whole = all(number == round(number) for number in numbers)
    if words & HOUR_WORDS and whole and numbers[0] >= 0 and numbers[-1] <= 24 and len(numbers) >= MIN_HOURS:
        return _with_role(column, Tier.VISIBLE, "events", "it is an hour of the day")
    if words & WEEKDAY_WORDS and whole and numbers[0] >= 0 and numbers[-1] <= 7 and len(numbers) >= MIN_WEEKDAYS:
        return _with_role(column, Tier.VISIBLE, "events", "it is a day of the week")
    if "cm" in words and MIN_HEIGHT_CM <= numbers[len(numbers) // 2] <= MAX_HEIGHT_CM:
        return _with_role(column, Tier.VISIBLE, "looks", "by its unit and values it is somebody's height")
    return None


def _judge_weight(column: Evidence) -> Judgement:
    """Distinguish body weight from weights of a survey, by name and values."""
    phrases = {part.words for part in meanings_of(column.name)}
    numbers = sorted(numbers_of(column.values) or [])
    if phrases & {"birthweight", "koerpergewicht"} or UNITS_OF_WEIGHT & set(words_of(column.name)):
        return _with_role(column, Tier.VISIBLE, "looks", "by its name it tells about what everybody sees")
    named = [part for part in meanings_of(column.name) if part.tier != "technical"]
    if numbers:
        middle, coarse = numbers[len(numbers) // 2], sum(round(n, 1) == n for n in numbers) > len(numbers) / 2
        if not any(part.topic == "weight" for part in meanings_of(column.name)) and (
            (20 <= middle <= 130 and numbers[-1] <= 350 and coarse)
            or (90 <= middle <= 220 and numbers[-1] <= 700 and coarse)
        ):
            return _with_role(column, Tier.VISIBLE, "looks", "by its name and values it is a weight of the body")
        return _with_role(column, Tier.TECHNICAL, "weight", "by its name and values it is a weight of the survey")
    if named:
        return _with_role(
            column, Tier(named[0].tier), named[0].topic, f"by its name it tells about {TOPICS[named[0].topic]}"
        )
    return Judgement(Tier.UNKNOWN, Role.QUASI_IDENTIFIER, "it is not understood, and somebody may know it")


# -- codes -------------------------------------------------------------------------------------------

QUANTITY_WORDS = {
    "num", "number", "count", "years", "year", "hours", "size", "distance", "level", "age", "total", "nb", "anzahl",
    "jahre", "stunden",
    "nombre", "annees", "heures", "numero", "horas", "anos", "anni", "ore", "months", "days", "time", "times",
    "rate", "band", "rank",
}  # fmt: skip
CATEGORY_WORDS = {
    "marital", "civil", "marstat", "marst", "mstatus", "status", "matrimonial", "sitmat", "civile", "stciv",
    "familienstand", "type", "type of",
}  # fmt: skip
SECONDARY_TOPICS = {"events", "looks", "dwelling", "weekday", "title"}
CATEGORY_TOPICS = {"sex", "origin", "place", "work", "looks"}
MAX_CATEGORY_CODES = 40


def are_category_codes(name: str, topic: str, values: Sequence[str]) -> bool:
    """Return whether whole numbers are codes of categories.

    >>> are_category_codes("gender", "sex", ["0", "1", "2"]), are_category_codes("num_kids", "family", ["0", "1", "2"])
    (True, False)
    """
    words = set(words_of(name))
    if len(values) > MAX_CATEGORY_CODES or not all(
        re.fullmatch(r"-?\d{1,5}(\.0+)?", value.strip()) for value in values
    ):
        return False
    if words & QUANTITY_WORDS or (
        topic == "looks" and words & {"height", "groesse", "taille", "altura", "altezza", "weight"}
    ):
        return False
    return topic in CATEGORY_TOPICS or bool(words & CATEGORY_WORDS and topic == "family")


def is_secondary(name: str, topic: str) -> bool:
    """Return whether a visible fact is one that readers miss least.

    Dates and sights, and how long or how far something is: years in a role, the distance from home.
    """
    return topic in SECONDARY_TOPICS or (topic in ("work", "place") and bool(QUANTITY_WORDS & set(words_of(name))))
