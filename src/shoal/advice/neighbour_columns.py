"""Tiers of columns by adjacent and related columns.

Evidence is a column that tells the same, a series of numbered names, a family of names with one first word, a row of
measurements, and adjacent columns with the same values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from shoal.advice.column_tiers import ROLES, TOPICS, Evidence, Judgement, Tier
from shoal.advice.value_kinds import numbers_of
from shoal.schema import Role
from shoal.schema.column_vocabulary import words_of
from shoal.schema.column_words import meanings_of
from shoal.schema.value_words import fold_value, yes_and_no

MIN_SERIES = 3
MIN_BATTERY = 5
MIN_SCALE = 4
CODED_MARKS = frozenset(["1", "2", "7", "8", "9", "77", "88", "96", "97", "98", "99"])
"""Codes of yes and no in surveys, with those of no answer."""
MIN_SHARED_ANSWERS = 0.6
MIN_TOPIC_COLUMNS = 3
RECORD_TOPICS = {"health", "offences", "grades", "income", "money"}
"""Topics of files about people in the care of somebody: patients, pupils, staff, tenants."""
MIN_RECORD_TOPICS = 2
MIN_RECORD_COLUMNS = 4
MIN_FAMILY = 3
START_WORDS = {
    "start", "origin", "pickup", "pu", "departure", "from", "depart", "origen", "salida", "origem", "partenza", "von",
    "abfahrt", "begin", "vertrek",
}  # fmt: skip
END_WORDS = {
    "end", "destination", "dest", "dropoff", "do", "arrival", "to", "arrivee", "destino", "llegada", "arrivo", "nach",
    "ziel", "ankunft", "einde", "aankomst",
}  # fmt: skip
MIN_MEASURES = 3
MAX_MEASURES = 200
VALUE_WORDS = {
    "value", "values", "val", "result", "results", "res", "reading", "measurement", "measure", "obs", "observation",
    "num", "numeric", "unit", "wert", "messwert", "befund", "ergebnis", "valeur", "resultat", "mesure", "valor",
    "resultado", "medida", "valore", "risultato", "misura", "waarde", "uitslag", "meting", "vaerdi", "varde", "wartosc",
    "wynik", "hodnota", "vysledek",
}  # fmt: skip
"""Names of the values of a long table."""
MIN_MEASUREMENTS = 2
NEIGHBOUR_DISTANCE = 3
MAX_FACT_DISTANCE = 5
MIN_SENSITIVE_NEIGHBOURS = 2
MAX_MEASURED_VALUES = 300
MIN_MONEY = 500
MAX_ANSWERS = 12
"""Maximum number of values of an item of a questionnaire."""


@dataclass(frozen=True)
class Shape:
    """Properties of a column that others may share.

    Its kind, its answers if they are few, whether it may be money or a yes and no, and the sensitive topic of the
    measures that its values name (hdl, chol, sbp), if they do.
    """

    kind: str
    answers: frozenset[str]
    is_money: bool
    is_mark: bool
    distinct: int
    measures: str = ""
    has_fractions: bool = False


def shape_of(column: Evidence) -> Shape:
    """Return the shape of a column."""
    answers = frozenset(map(fold_value, column.values)) if 1 < len(column.values) <= MAX_ANSWERS else frozenset()
    return Shape(
        column.kind,
        answers,
        column.kind == "number" and _is_money(column),
        yes_and_no(column.values) is not None,
        len(column.values),
        _measures_of(column),
        column.kind == "number" and _has_fractions(column.values),
    )


def _has_fractions(values: Sequence[str]) -> bool:
    """Return whether most numbers are not whole."""
    numbers = numbers_of(values) or []
    return 2 * sum(number != round(number) for number in numbers) > len(numbers)


def _measures_of(column: Evidence) -> str:
    """Return the sensitive topic of most values, read as names of columns."""
    if column.kind not in ("word", "code") or not MIN_MEASURES <= len(column.values) <= MAX_MEASURES:
        return ""
    readings = [[part.topic for part in meanings_of(value) if part.tier == "sensitive"] for value in column.values]
    topics = Counter(found[0] for found in readings if found)
    topic, count = max(topics.items(), key=lambda one: (one[1], one[0]), default=("", 0))
    return topic if 2 * count >= len(column.values) else ""


def _is_money(column: Evidence) -> bool:
    """Return whether numbers may be amounts of money.

    Some are large, and many are zero or have cents.
    """
    numbers = numbers_of(column.values) or []
    if not numbers or max(map(abs, numbers)) < MIN_MONEY:
        return False
    rows = sum(column.count)
    zeros = sum(n for number, n in zip(numbers, column.count, strict=True) if number == 0) / rows
    cents = sum(round(number, 2) == number != round(number) for number in numbers) > len(numbers) / 4
    return zeros > 0.1 or cents


def judge_by_neighbours(
    names: Sequence[str], judged: Sequence[Judgement], shapes: Sequence[Shape], same: Mapping[str, str]
) -> list[Judgement]:
    """Judge columns that are not understood by adjacent ones.

    ``same`` maps a column to an earlier one with which it corresponds one to one.
    """
    found = list(judged)
    for later, earlier in same.items():
        pair = (names.index(earlier), names.index(later))
        for at, other in (pair, pair[::-1]):
            if found[at].tier is Tier.UNKNOWN and found[other].tier in (Tier.VISIBLE, Tier.SENSITIVE, Tier.PRIVATE):
                reason = f"it tells the same as {names[other]!r} in every row"
                found[at] = replace(found[other], reason=reason)
            elif found[at].tier is Tier.UNKNOWN and found[other].tier is Tier.PERSON:
                found[at] = Judgement(
                    Tier.NAMES, Role.IDENTIFIER, f"it tells the same as {names[other]!r} in every row"
                )
    found = _judge_measured_values(names, _judge_destinations(names, found), shapes)
    found = _judge_batteries(_judge_families(names, _judge_series(names, found, shapes), shapes), shapes)
    topics = Counter(one.topic for one in found if one.tier is Tier.SENSITIVE)
    found = _judge_measurements(found, shapes)
    understood = [one for one in found if one.tier in (Tier.VISIBLE, Tier.SENSITIVE, Tier.PRIVATE)]
    money = sum(one.topic in ("money", "income") for one in understood)
    for position, one in enumerate(found):
        if one.topic == "events" and shapes[position].is_mark and (topic := _table_topic(topics)):
            reason = f"it is a yes or no about an event, in a table about {TOPICS[topic]}"
            found[position] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, topic)
        if one.tier is not Tier.UNKNOWN or one.topic:
            continue
        adjacent = _agreed_neighbours(position, judged, shapes)
        if adjacent is not None:
            verb = "sensitive" if adjacent.tier is Tier.SENSITIVE else "private"
            reason = f"it stands among columns of the same values that tell about {TOPICS.get(adjacent.topic, verb)}"
            found[position] = Judgement(adjacent.tier, ROLES[adjacent.tier], reason, adjacent.topic)
        elif (shapes[position].is_mark or _may_be_coded_mark(position, found, shapes)) and (
            topic := _table_topic(topics)
        ):
            reason = f"it is a yes or no that is not understood, in a table about {TOPICS[topic]}"
            found[position] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, topic)
        elif shapes[position].has_fractions and topics["health"] >= MIN_TOPIC_COLUMNS:
            reason = "it is a measurement that is not understood, in a table about health"
            found[position] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, "health", is_guess=True)
        elif shapes[position].is_money and money > max(len(understood) / 2, MIN_TOPIC_COLUMNS):
            reason = "it is a number that is not understood, in a table about money"
            found[position] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, "money", is_guess=True)
    return _judge_among_sensitive(found, shapes)


def _may_be_coded_mark(position: int, judged: Sequence[Judgement], shapes: Sequence[Shape]) -> bool:
    """Return whether 1 and 2 are yes and no, after a sensitive column."""
    answers = shapes[position].answers
    return {"1", "2"} <= answers <= CODED_MARKS and any(one.tier is Tier.SENSITIVE for one in judged[:position])


def _judge_among_sensitive(judged: Sequence[Judgement], shapes: Sequence[Shape]) -> list[Judgement]:
    """Judge unknown columns between sensitive ones.

    Tables have identities first, then what everybody sees, then findings. What stands among findings is one, unless
    it is a date; at the end of the table two findings before it are enough, and a number of as many values as a
    measurement has is a finding if the nearest fact before it is one.
    """
    found = list(judged)
    for position, one in enumerate(judged):
        if one.tier is not Tier.UNKNOWN or one.topic or shapes[position].kind == "date":
            continue
        before, after = (_nearest_facts(position, judged, step) for step in (-1, 1))
        if (
            before
            and shapes[position].kind == "number"
            and MAX_ANSWERS < shapes[position].distinct <= MAX_MEASURED_VALUES
        ):
            facts = [before[0], before[0]]
        else:
            facts = before[:1] + after[:1] if after else before
        if len(facts) == len([side for side in facts if side.tier is Tier.SENSITIVE]) >= MIN_SENSITIVE_NEIGHBOURS:
            topic = facts[0].topic
            reason = f"it is not understood, and stands among columns that tell about {TOPICS.get(topic, 'illnesses')}"
            found[position] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, topic, is_guess=True)
    return found


def _nearest_facts(position: int, judged: Sequence[Judgement], step: int) -> list[Judgement]:
    """Return the nearest visible and sensitive columns on one side.

    Dates stand anywhere: before a finding, and after it.
    """
    end = len(judged) if step > 0 else -1
    facts = [
        judged[at]
        for at in range(position + step, end, step)
        if judged[at].tier in (Tier.VISIBLE, Tier.SENSITIVE)
        and judged[at].topic != "events"
        and abs(at - position) <= MAX_FACT_DISTANCE
    ]
    return facts[:MIN_SENSITIVE_NEIGHBOURS]


def _judge_measured_values(names: Sequence[str], judged: list[Judgement], shapes: Sequence[Shape]) -> list[Judgement]:
    """Judge the values of measures that another column names.

    A row has the name of a test, and its result.
    """
    topic = next((shape.measures for shape in shapes if shape.measures), "")
    if not topic:
        return judged
    reason = f"it has the values of measures that another column names, which tell about {TOPICS[topic]}"
    return [
        Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, topic)
        if one.tier in (Tier.UNKNOWN, Tier.PRIVATE, Tier.TECHNICAL)
        and set(words_of(name)) <= VALUE_WORDS
        and shape.kind in ("number", "word")
        else one
        for name, one, shape in zip(names, judged, shapes, strict=True)
    ]


def _judge_destinations(names: Sequence[str], judged: list[Judgement]) -> list[Judgement]:
    """Judge where a trip ended, if another column says where it began.

    Who sees somebody set out may know the place, and wants to learn the destination.
    """
    found = list(judged)
    starts = {
        tuple("" if word in START_WORDS else word for word in words_of(name))
        for name, one in zip(names, judged, strict=True)
        if one.topic == "place" and START_WORDS & set(words_of(name))
    }
    for position, name in enumerate(names):
        words = words_of(name)
        ended = tuple("" if word in END_WORDS else word for word in words)
        if judged[position].topic == "place" and END_WORDS & set(words) and ended in starts:
            reason = "it tells where a trip ended, and another column where it began"
            found[position] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, "place")
    return found


def _judge_families(names: Sequence[str], judged: list[Judgement], shapes: Sequence[Shape]) -> list[Judgement]:
    """Judge columns with the same first word together.

    What is not understood in a family of which all others are sensitive is sensitive, too.
    """
    found = list(judged)
    families: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        if len(words := words_of(name)) > 1:
            families.setdefault(words[0], []).append(position)
    for word, members in families.items():
        if len(members) < MIN_FAMILY or 2 * len(members) > len(names):
            continue
        known = {found[at].tier for at in members} - {Tier.UNKNOWN}
        if known != {Tier.SENSITIVE}:
            continue
        example = next(found[at] for at in members if found[at].tier is Tier.SENSITIVE)
        kinds = {shapes[at].kind for at in members if found[at].tier is Tier.SENSITIVE}
        for at in members:
            if found[at].tier is Tier.UNKNOWN and not found[at].topic and shapes[at].kind in kinds:
                reason = f"it is one of {len(members)} columns called {word}..., of which the others are sensitive"
                found[at] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, example.topic)
    return found


def _judge_measurements(judged: list[Judgement], shapes: Sequence[Shape]) -> list[Judgement]:
    """Judge numbers that stand in a row of measurements of health."""
    found = list(judged)
    start = 0
    while start < len(found):
        end = start
        while end < len(found) and shapes[end].kind == "number" and judged[end].tier in (Tier.UNKNOWN, Tier.SENSITIVE):
            end += 1
        block = range(start, end)
        measured = sum(judged[at].topic == "health" and not shapes[at].answers for at in block)
        for at in block if measured >= MIN_MEASUREMENTS and 2 * measured >= len(block) else ():
            if judged[at].tier is Tier.UNKNOWN and not judged[at].topic and not shapes[at].answers:
                reason = f"it is a number in a row of {len(block)} measurements of health"
                found[at] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, "health")
        start = max(end, start + 1)
    return found


def _table_topic(topics: Counter[str]) -> str | None:
    """Return the commonest grave topic of a table with several grave columns.

    Records of staff and pupils have a few of each: sick leave, pay, ratings, unions.
    """
    grave = [(count, topic) for topic, count in topics.items() if topic in RECORD_TOPICS]
    alone = [(count, topic) for count, topic in grave if topic in ("health", "offences") and count >= MIN_TOPIC_COLUMNS]
    if alone:
        return max(alone)[1]
    several = len(grave) >= MIN_RECORD_TOPICS and sum(count for count, _ in grave) >= MIN_RECORD_COLUMNS
    return max(grave)[1] if several else None


def _judge_series(names: Sequence[str], judged: list[Judgement], shapes: Sequence[Shape]) -> list[Judgement]:
    """Judge numbered columns (py010n, py050n, ...; q1, q2, ...) together."""
    found = list(judged)
    series: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        stem = re.sub(r"\d+", "#", name)
        if "#" in stem and found[position].tier is Tier.UNKNOWN and shapes[position].kind != "date":
            series.setdefault(stem, []).append(position)
    for stem, positions in series.items():
        letters = stem.replace("#", "")
        if (
            len(positions) >= MIN_SERIES
            and 2 * sum(shapes[at].is_money for at in positions) >= len(positions)
            and letters
        ):
            for at in positions:
                if shapes[at].kind == "number":
                    reason = f"it is one of {len(positions)} numbered columns that look like amounts of money"
                    found[at] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, "money")
            continue
        answers = Counter(shapes[at].answers for at in positions if shapes[at].answers)
        for values, count in answers.items():
            if count >= MIN_BATTERY and len(values) <= MAX_ANSWERS:
                for at in positions:
                    if shapes[at].answers == values:
                        reason = f"it is one of {count} numbered columns of the same values: answers to questions"
                        found[at] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, "opinion")
    return found


def _judge_batteries(judged: list[Judgement], shapes: Sequence[Shape]) -> list[Judgement]:
    """Judge adjacent numbers of nearly the same few values together.

    They are answers on one scale, or marks of one school, whatever their names.
    """
    found = list(judged)
    start = 0
    while start < len(found):
        end = start + 1
        while (
            end < len(found)
            and all(_may_be_answers(judged[at], shapes[at]) for at in (start, end))
            and (_share_answers(shapes[end - 1], shapes[end]))
        ):
            end += 1
        for at in range(start, end) if end - start >= MIN_SERIES else ():
            reason = f"it is one of {end - start} columns side by side with the same values: answers or marks"
            found[at] = Judgement(Tier.SENSITIVE, Role.SENSITIVE, reason, "opinion")
        start = end
    return found


def _may_be_answers(judged: Judgement, shape: Shape) -> bool:
    return (
        judged.tier is Tier.UNKNOWN and not judged.topic and shape.kind == "number" and len(shape.answers) >= MIN_SCALE
    )


def _share_answers(one: Shape, other: Shape) -> bool:
    return len(one.answers & other.answers) >= MIN_SHARED_ANSWERS * len(one.answers | other.answers)


def _agreed_neighbours(position: int, judged: Sequence[Judgement], shapes: Sequence[Shape]) -> Judgement | None:
    """Return the judgement that the nearest columns on both sides share.

    None if they differ, or have another shape.
    """
    sides = []
    for step in (-1, 1):
        for distance in range(1, NEIGHBOUR_DISTANCE + 1):
            at = position + step * distance
            if not 0 <= at < len(judged):
                break
            if judged[at].tier is not Tier.UNKNOWN:
                sides.append(judged[at] if _have_same_shape(shapes[position], shapes[at]) else None)
                break
    if len(sides) < 2 or sides[0] is None or sides[1] is None or sides[0].tier is not sides[1].tier:
        return None
    return sides[0] if sides[0].tier in (Tier.SENSITIVE, Tier.PRIVATE) and sides[0].topic == sides[1].topic else None


def _have_same_shape(one: Shape, other: Shape) -> bool:
    if one.answers or other.answers:
        return one.answers == other.answers
    return one.kind == other.kind == "number"
