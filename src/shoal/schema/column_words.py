"""Meaning of the words of a column's name.

The words are in the folder ``words``, by tier, meaning and language. A name is read in four ways, from sure to vague:
phrases as listed; inflected words; run-together names, which are covered by listed words; and abbreviations, which are
the beginning of listed words of one tier only.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema.column_vocabulary import PEOPLE, words_of

TIERS = ("visible", "private", "sensitive", "technical")
MIN_ABBREVIATION = 4
MIN_CONSONANTS = 5
"""Consonants of a word without its vowels: dscpln for discipline."""
MIN_STEM = 5
MAX_INFLECTION = 3
MIN_PIECE = 3
MIN_JOINED = 6
MAX_JOINED = 40
MAX_PHRASE_WORDS = 4
MIN_PHRASE_PART = 3
MIN_SHORTENED_PHRASE = 7
"""Letters of a phrase of shortened words: arret_mal for arret maladie."""
PLURALS = (("oes", "ao"), ("aes", "ao"), ("ais", "al"), ("ies", "y"), ("i", "o"), ("i", "e"), ("e", "a"), ("ien", "ie"))
"""Endings of plurals and of the singular in their place."""
ILLNESS_ENDINGS = (
    "itis", "osis", "aemia", "pathie", "pathia", "algie", "algia", "lexie", "lexia", "lessia", "plegie", "plegia",
    "rrhea", "rrhoea", "ectomy", "ektomie", "ectomia", "ectomie",
)  # fmt: skip
"""Endings of words for illnesses and operations in all languages."""
MEDICINE_ENDINGS = (
    "statin", "sartan", "olol", "mycin", "cillin", "cycline", "floxacin", "dipine", "gliptin", "gliflozin", "formin",
    "azepam", "oxetine", "triptyline", "prazole", "glitazone", "glinide", "thiazide", "triptan", "zolam", "caserin",
)  # fmt: skip
"""Endings of the international names of medicines, which are columns of prescriptions."""
MIN_ILLNESS = 7
MIN_SENSITIVE_BEGINNING = 5
SHORT_WORDS = {
    "hh", "id", "nr", "nb", "tv", "bp", "age", "sex", "job", "dog", "cat", "bmi", "tax", "zip", "hiv", "dob", "kid",
    "inc", "sal", "dt", "cd", "nm", "yr", "rtg", "perf", "ttl", "mbr", "emp", "hrs", "lv", "disab", "med", "wrk",
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
    pairs: dict[tuple[str, str], list[tuple[str, str]]]
    """Phrases of two words, by the beginnings of both."""
    skeletons: dict[str, set[tuple[str, tuple[str, str]]]]
    """Words with tier and topic, by their consonants."""


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
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for phrase in phrases:
        parts = phrase.split()
        if len(parts) == 2 and all(len(part) >= MIN_PHRASE_PART for part in parts):
            pairs.setdefault((parts[0][:MIN_PHRASE_PART], parts[1][:MIN_PHRASE_PART]), []).append((parts[0], parts[1]))
    skeletons: dict[str, set[tuple[str, tuple[str, str]]]] = {}
    for phrase, found in phrases.items():
        if " " not in phrase and phrase not in neutral:
            skeletons.setdefault(skeleton_of(phrase), set()).add((phrase, found))
    return _Lists({**joined, **phrases}, neutral, beginnings, pairs, skeletons)


def may_begin_word(start: str) -> bool:
    """Return whether a listed word is, or begins with, some letters.

    >>> may_begin_word("relig"), may_begin_word("apell")
    (True, False)
    """
    lists = _lists()
    return start in lists.phrases or start in lists.fillers or start in lists.beginnings


def meanings_of(name: str) -> tuple[Meaning, ...]:
    """Return the meanings of a name's words, in the order of the name.

    >>> [(part.tier, part.topic) for part in meanings_of("fh.heartdisease")]
    [('sensitive', 'health'), ('sensitive', 'health')]
    >>> [part.topic for part in meanings_of("nivetud")], meanings_of("xqz")
    (['schooling'], ())
    """
    listed = _lists().phrases
    words = [word if word in listed else word.rstrip("0123456789") or word for word in words_of(name)]
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
            if shortened := _shortened_phrase(words[position : position + 2]):
                length, found = 2, [*found, shortened]
            else:
                found += _meanings_of_word(words[position])
        position += length
    return tuple(found)


AMBIGUOUS_ALONE = {
    "cat", "hand", "from", "stop", "start", "man", "role", "block", "class", "classe", "klasse", "klass",
    "time", "make", "model", "cor", "cap", "ort", "land",
    "ora", "data", "fin", "alta", "dep", "imp", "sat", "lab", "alt", "ast", "med", "temp", "sal",
    "ill", "stage", "scan", "via", "rank", "party", "race", "fe", "ind", "no", "ps", "pass", "mark", "bond", "rock",
    "stock", "raise", "default", "web", "golf", "moral", "by", "stad", "zorg", "barn", "gang", "proc",
}  # fmt: skip
"""Words that mean something alone, and may mean anything beside others."""


def _shortened_phrase(words: list[str]) -> Meaning | None:
    """Return the meaning of two words that begin those of a listed phrase.

    All such phrases must have one tier.
    """
    if len(words) < 2 or sum(map(len, words)) < MIN_SHORTENED_PHRASE or min(map(len, words)) < MIN_PHRASE_PART:
        return None
    lists = _lists()
    key = (words[0][:MIN_PHRASE_PART], words[1][:MIN_PHRASE_PART])
    begun = [
        f"{first} {second}"
        for first, second in lists.pairs.get(key, ())
        if first.startswith(words[0]) and second.startswith(words[1])
    ]
    if len({lists.phrases[phrase][0] for phrase in begun}) != 1:
        return None
    return Meaning(*lists.phrases[begun[0]], begun[0], "inflection")


def _meanings_of_word(word: str) -> list[Meaning]:
    """Return the meanings of one word that is not listed itself."""
    lists = _lists()
    if len(word) < MIN_ABBREVIATION or word in lists.fillers or word.isdigit():
        return []
    for ending in range(1, MAX_INFLECTION + 1):
        stem = word[:-ending]
        if word[-ending:] in ENDINGS and len(stem) >= MIN_STEM and stem in lists.phrases and stem not in lists.fillers:
            return [Meaning(*lists.phrases[stem], stem, "inflection")]
    for plural, singular in PLURALS:
        stem = word.removesuffix(plural)
        whole = stem + singular
        if stem != word and len(stem) >= MIN_ABBREVIATION and whole in lists.phrases and whole not in AMBIGUOUS_ALONE:
            return [Meaning(*lists.phrases[stem + singular], stem + singular, "inflection")]
    if len(word) >= MIN_ILLNESS and word.endswith((*ILLNESS_ENDINGS, *MEDICINE_ENDINGS)):
        return [Meaning("sensitive", "health", word, "inflection")]
    if len(word) >= MIN_JOINED and (pieces := _pieces(word[:MAX_JOINED])):
        found = [Meaning(*lists.phrases[piece], piece, "joined") for piece in pieces if piece in lists.phrases]
        found += [
            Meaning(*sorted(lists.beginnings[piece])[0], piece, "abbreviation")
            for piece in pieces
            if piece not in lists.phrases and piece not in lists.fillers and piece in lists.beginnings
        ]
        if found:
            return found
    return _abbreviated(word) or _without_vowels(word) or _at_an_end(word)


def _without_vowels(word: str) -> list[Meaning]:
    """Return the meaning of a word of which some vowels are left out.

    All listed words with these consonants must have one tier.

    >>> [part.topic for part in _without_vowels("discpln")], _without_vowels("planet")
    (['offences'], [])
    """
    begun = _lists().skeletons.get(skeleton_of(word), set())
    longer = {found for listed, found in begun if len(listed) > len(word)}
    if len(skeleton_of(word)) < MIN_CONSONANTS or len({tier for tier, _ in longer}) != 1:
        return []
    return [Meaning(*sorted(longer)[0], word, "abbreviation")]


def skeleton_of(word: str) -> str:
    """Return a word's first letter and consonants, doubled ones once."""
    consonants = word[:1] + "".join(sign for sign in word[1:] if sign not in "aeiouy")
    return "".join(sign for sign, before in zip(consonants, " " + consonants, strict=False) if sign != before)


def _at_an_end(word: str) -> list[Meaning]:
    """Return the meaning of the listed word at an end of a longer one.

    It must be at least half of the longer word.
    """
    listed = _lists().phrases
    for length in range(len(word) - 1, max(MIN_JOINED, (len(word) + 1) // 2) - 1, -1):
        for part in (word[-length:], word[:length]):
            if part in listed and part not in _lists().fillers:
                return [Meaning(*listed[part], part, "joined")]
    beginnings = _lists().beginnings
    for length in range(len(word) - 1, MIN_SENSITIVE_BEGINNING - 1, -1):  # religpew: the beginning of religion
        for part in (word[:length], word[-length:] if length > MIN_SENSITIVE_BEGINNING else ""):
            begun = beginnings.get(part, set())
            if part not in NO_ABBREVIATION and part not in PEOPLE and {tier for tier, _ in begun} == {"sensitive"}:
                return [Meaning(*sorted(begun)[0], part, "abbreviation")]
    return []


def _abbreviated(word: str) -> list[Meaning]:
    """Return the meaning of a word that begins listed words of one tier only."""
    begun = _lists().beginnings.get(word, set())
    if word in NO_ABBREVIATION or word in PEOPLE or len({tier for tier, _ in begun}) != 1:
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
                and piece not in PEOPLE
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
