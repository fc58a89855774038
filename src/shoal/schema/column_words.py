"""Meaning of the words of a column's name and values.

The words are in the folder ``words``, by tier, meaning and language. A name is read in four ways, from sure to vague:
phrases as listed; inflected words; run-together names, which are covered by listed words; and abbreviations, which are
the beginning of listed words of one tier only.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from shoal.schema.column_vocabulary import words_of

TIERS = ("visible", "private", "sensitive", "technical")
MIN_ABBREVIATION = 4
MIN_STEM = 5
MAX_INFLECTION = 3
MIN_PIECE = 3
MIN_JOINED = 6
MAX_JOINED = 40
MAX_PHRASE_WORDS = 4
SHORT_WORDS = {
    "hh", "id", "nr", "nb", "tv", "bp", "age", "sex", "job", "dog", "cat", "bmi", "tax", "zip", "hiv", "dob", "kid",
    "inc",
}  # fmt: skip
"""Words of two or three letters that may be a piece of a run-together name, beside those that say nothing."""
ENDINGS = {
    "s", "es", "n", "en", "e", "er", "ers", "r", "d", "ed", "ing", "al", "ic", "ly", "y", "a", "o", "i", "as", "os",
    "se", "ne", "id", "in",
}  # fmt: skip
"""Endings that a word may have in place of none."""
JOINERS = {"s", "n", "es", "en", "er"}
"""Letters between the parts of a compound."""
NO_ABBREVIATION = {
    "name", "station", "number", "class", "main", "grad", "part", "char", "form", "case", "test", "self", "cons",
    "cond", "comp",
    "prod", "stat", "data", "line", "plan", "port", "mess", "with", "real", "text", "para", "over", "inter", "term",
    "start", "stop", "weight", "poids", "peso", "gewicht", "dist", "perc", "resp", "cost", "mort",
}  # fmt: skip


@dataclass(frozen=True)
class Meaning:
    """Topic of some words, its tier, and how it was found."""

    tier: str
    topic: str
    words: str
    way: str


@dataclass(frozen=True)
class _Lists:
    """Listed words.

    Phrases with tier and topic, words that say nothing, and beginnings of words with the tiers they may have.
    """

    phrases: dict[str, tuple[str, str]]
    fillers: frozenset[str]
    beginnings: dict[str, set[tuple[str, str]]]


@cache
def _lists() -> _Lists:
    phrases: dict[str, tuple[str, str]] = {}
    joined: dict[str, tuple[str, str]] = {}
    folder = files("shoal.schema") / "words"
    for tier in ("technical", "private", "visible", "sensitive"):  # the later ones win
        listed = tomllib.loads((folder / f"{tier}.toml").read_text(encoding="utf-8"))
        for topic, languages in listed.items():
            for words in languages.values():
                for phrase in filter(None, map(str.strip, words.split(","))):
                    phrases[phrase] = (tier, topic)
                    if " " in phrase and len(phrase) >= MIN_JOINED:  # heartattack
                        joined[phrase.replace(" ", "")] = (tier, topic)
    fillers = tomllib.loads((folder / "fillers.toml").read_text(encoding="utf-8"))["words"]
    neutral = frozenset(word.strip() for word in fillers.split(","))
    beginnings: dict[str, set[tuple[str, str]]] = {}
    for phrase, found in phrases.items():
        if " " in phrase:
            continue
        for length in range(MIN_ABBREVIATION, len(phrase) - 1):
            beginnings.setdefault(phrase[:length], set()).add(found)
    return _Lists({**joined, **phrases}, neutral, beginnings)


def meanings_of(name: str) -> tuple[Meaning, ...]:
    """Return the meanings of a name's words, in the order of the name.

    >>> [(part.tier, part.topic) for part in meanings_of("fh.heartdisease")]
    [('sensitive', 'health'), ('sensitive', 'health')]
    >>> [part.topic for part in meanings_of("nivetud")], meanings_of("xqz")
    (['schooling'], ())
    """
    words = [stripped for word in words_of(name) if (stripped := word.rstrip("0123456789") or word)]
    listed = _lists().phrases
    found: list[Meaning] = []
    position = 0
    while position < len(words):
        for length in range(min(MAX_PHRASE_WORDS, len(words) - position), 0, -1):
            phrase = " ".join(words[position : position + length])
            joined = phrase.replace(" ", "") if length > 1 else phrase
            phrase = phrase if phrase in listed else joined
            if phrase in listed and not (length == 1 and phrase in AMBIGUOUS_ALONE and len(words) > 1):
                found.append(Meaning(*listed[phrase], phrase, "name"))
                break
        else:
            length = 1
            found += _meanings_of_word(words[position])
        position += length
    return tuple(found)


AMBIGUOUS_ALONE = {
    "cat", "hand", "from", "stop", "start", "man", "role", "block", "class", "time", "make", "model", "cor", "cap",
    "ort", "land", "ora", "data", "fin", "alta", "dep", "imp", "sat", "lab", "alt", "ast", "med", "temp", "sal",
    "ill", "stage", "scan", "via", "rank", "party", "race", "fe", "ind", "no", "ps",
}  # fmt: skip
"""Words that mean something alone, and may mean anything beside others."""


def _meanings_of_word(word: str) -> list[Meaning]:
    """Return the meanings of one word that is not listed itself."""
    lists = _lists()
    if len(word) < MIN_ABBREVIATION or word in lists.fillers or word.isdigit():
        return []
    for ending in range(1, MAX_INFLECTION + 1):
        stem = word[:-ending]
        if word[-ending:] in ENDINGS and len(stem) >= MIN_STEM and stem in lists.phrases and stem not in lists.fillers:
            return [Meaning(*lists.phrases[stem], stem, "inflection")]
    if len(word) >= MIN_JOINED and (pieces := _pieces(word[:MAX_JOINED])):
        found = [Meaning(*lists.phrases[piece], piece, "joined") for piece in pieces if piece in lists.phrases]
        found += [
            Meaning(*next(iter(lists.beginnings[piece])), piece, "joined")
            for piece in pieces
            if piece not in lists.phrases and piece not in lists.fillers and piece in lists.beginnings
        ]
        if found:
            return found
    return _abbreviated(word) or _at_an_end(word)


def _at_an_end(word: str) -> list[Meaning]:
    """Return the meaning of the listed word at an end of a longer one.

    It must be at least half of the longer word.
    """
    listed = _lists().phrases
    for length in range(len(word) - 1, max(MIN_JOINED, (len(word) + 1) // 2) - 1, -1):
        for part in (word[-length:], word[:length]):
            if part in listed and part not in _lists().fillers:
                return [Meaning(*listed[part], part, "joined")]
    return []


def _abbreviated(word: str) -> list[Meaning]:
    """Return the meaning of a word that begins listed words of one tier only."""
    begun = _lists().beginnings.get(word, set())
    if word in NO_ABBREVIATION or len({tier for tier, _ in begun}) != 1:
        return []
    tier, topic = sorted(begun)[0]
    return [Meaning(tier, topic, word, "abbreviation")]


def _pieces(word: str) -> list[str] | None:
    """Split a run-together word into listed words, as long as possible.

    None if they do not cover it.
    """
    lists = _lists()
    best: list[tuple[float, list[str]] | None] = [(0.0, []), *[None] * len(word)]
    for end in range(2, len(word) + 1):
        for start in range(end):
            before, piece = best[start], word[start:end]
            if before is None:
                continue
            if (
                piece in SHORT_WORDS
                or (len(piece) >= MIN_PIECE and piece in lists.fillers)
                or (len(piece) > MIN_PIECE and piece in lists.phrases and piece not in AMBIGUOUS_ALONE)
            ):
                cost = 1.0 + (len(piece) < MIN_ABBREVIATION) * 0.5
            elif (
                len(piece) >= MIN_ABBREVIATION
                and piece not in NO_ABBREVIATION
                and len({tier for tier, _ in lists.beginnings.get(piece, ())}) == 1
            ):
                cost = 1.8
            elif piece in JOINERS and start:
                cost = 0.9
            else:
                continue
            total = before[0] + cost
            reached = best[end]
            if reached is None or total < reached[0]:
                best[end] = (total, [*before[1], piece])
    found = best[len(word)]
    if found is None or found[0] > 5 or len(found[1]) < 2:
        return None
    if sum(len(piece) for piece in found[1] if len(piece) > MIN_PIECE) < 0.4 * len(word):
        return None
    return [piece for piece in found[1] if piece not in JOINERS]


# -- values ------------------------------------------------------------------------------------------


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
    ("codes of medicines (ATC)", re.compile(r"[ABCDGHJLMNPRSV]\d\d[A-Z]([A-Z](\d\d)?)?")),
)
MIN_CODES = 3


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
    if len(sample) >= MIN_CODES:
        for form, pattern in CODE_FORMS:
            letters = {value[:1] for value in sample}
            if len(letters) >= MIN_CODES and all(pattern.fullmatch(value) for value in sample):
                return "sensitive", form, "form"
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


def _is_listed(text: str, listed: _ValueList) -> bool:
    if text in listed.whole:
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
