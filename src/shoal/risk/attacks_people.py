"""Attacks on people, where a column of the table under attack says whose rows they are.

Models and attacks that count rows take five visits of one patient for a crowd. Here everybody counts once:

* **groups of few people**: who has a row in a group with rows of fewer than so many people;
* **two rows, three rows**: whose rows can be linked is known by any two (three) of them, as labels; exposed is who has
  some that fewer than so many people have. **All rows**: the same of the whole history;
* **composition**: who is known to be in several groups has a value that all of them hold; exposed is of whom only one
  is left, and who has it.

The last ones need rows that can be linked, as whoever has the column links them. What groups tell of sensitive values
is asked by people too (:func:`attack_values`): everybody has all values of all his or her rows.

**Households**: how many live together, and of what age and sex they are, neighbours know. Exposed is every household of
which, by the number of its rows, or by their labels, there are fewer than so many.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.io.engines.base import Source, require_columns
from shoal.risk.attacks import AttackResult
from shoal.schema import Column, Role, Schema
from shoal.schema.people import ValueSets
from shoal.table import FrequencySet, Groups, read_frequency_set
from shoal.table.groups import different_keys
from shoal.table.people import by_people, number_people
from shoal.utility.coded_tables import Tables

__all__ = ["Crowds", "ExposedPeople", "Members", "attack_households", "attack_people", "attack_values"]

MOST_SETS = 5_000_000
"""Beyond so many sets of rows an attack that looks at all of them is not run."""


@dataclass(frozen=True)
class Members:
    """Who is in which group: the people of group g are ``person[start[g]:start[g + 1]]``.

    ``sets`` are all values that each person has, by sensitive column, where the table itself says whose its rows are.
    """

    start: npt.NDArray[np.int64]
    person: npt.NDArray[np.int64]
    sets: Mapping[str, ValueSets] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        groups: int,
        group: npt.NDArray[np.int64],
        person: npt.NDArray[np.int64],
        sets: Mapping[str, ValueSets] | None = None,
    ) -> Members:
        """From pairs of a group and somebody in it, in any order, and the same pair as often as it likes."""
        width = int(person.max(initial=0)) + 1
        key = np.unique(group * width + person)
        start = np.searchsorted(key // width, np.arange(groups + 1))
        return cls(start.astype(np.int64), key % width, sets or {})

    @cached_property
    def width(self) -> int:
        """One more than the highest number of a person."""
        return int(self.person.max(initial=0)) + 1

    @cached_property
    def people(self) -> int:
        """How many different people there are."""
        return len(np.unique(self.person))


@dataclass(frozen=True)
class ExposedPeople:
    """How many people there are, and how many have a row in a group of fewer than ``least`` people."""

    total: int
    exposed: int
    least: int
    results: tuple[AttackResult, ...]
    members: Members | None = None
    """Who is in which group."""

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return {"total": self.total, "exposed": self.exposed, "crowd_below": self.least}


@dataclass(frozen=True)
class _Histories:
    """Everybody's rows by group: person u has ``rows[i]`` of them in ``group[i]``, for start[u] <= i < start[u + 1]."""

    start: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    groups: Groups

    @property
    def people(self) -> int:
        return len(self.start) - 1

    def of(self, person: int) -> list[tuple[int, int]]:
        part = slice(self.start[person], self.start[person + 1])
        return list(zip(self.group[part].tolist(), self.rows[part].tolist(), strict=True))


def attack_people(
    tables: Tables,
    released: Any,
    schema: Schema,
    person: Sequence[str],
    least: int,
    excluded: int = 1,
    confidence: float = 0.8,
) -> ExposedPeople:
    """Attack the people of a table; a crowd of fewer than ``least`` people hides nobody."""
    frequencies = _numbered(tables, released, schema, person)
    histories = _histories(frequencies)
    few = _few_people(histories, least)
    results = [few, *(found for rows in (2, 3) if (found := _some_rows(histories, rows, least)) is not None)]
    results.append(_all_rows(histories, least))
    results += [_composition(histories, frequencies, place) for place in range(len(frequencies.domains) - 1)]
    results += attack_values(histories.groups, confidence, excluded)
    told = tuple(replace(result, counts="people") for result in results)
    held = histories.groups.people
    assert held is not None
    assert held.domain.people is not None
    members = Members.of(histories.groups.count, held.owner, held.value.astype(np.int64), held.domain.people.sets)
    return ExposedPeople(histories.people, few.exposed, least, told, members)


# -- what groups tell of values


def attack_values(groups: Groups, confidence: float = 0.8, excluded: int | None = None) -> list[AttackResult]:
    """What groups tell of the sensitive values of the people in them; everybody counts once.

    * **homogeneity**: all people of a group, of whom a value is known, have one value; **similarity**: one category;
    * **inference**: the value that most people of a group have is named for all of them, and of a person's groups the
      one is asked in which the most have it; exposed is who has it;
    * **background knowledge**, where ``excluded`` is given: so many values and one more suffice for everybody in a
      group to have one of them.
    """
    held = groups.people
    assert held is not None
    assert held.domain.people is not None
    results: list[AttackResult] = []
    for histogram in groups.histograms:
        domain = histogram.domain
        if histogram is held:
            continue
        crowds = Crowds(held.owner, held.value.astype(np.int64), groups.count, held.domain.people.sets[domain.name])
        if not crowds.attacked:
            continue
        results.append(crowds.of_one("homogeneity", "the value", domain.name))
        if domain.category is not None:
            results.append(crowds.by(domain.category).of_one("similarity", "the category", domain.name))
        results.append(crowds.inference(domain.name, confidence))
        if excluded is not None:
            results.append(_background(groups, crowds, domain.name, excluded))
    return [replace(result, counts="people") for result in results]


class Crowds:
    """Groups of people, and how many of each group have each value.

    ``group`` and ``person`` are pairs of a group and somebody in it; ``sets`` are the values of everybody.
    """

    def __init__(
        self, group: npt.NDArray[np.int64], person: npt.NDArray[np.int64], groups: int, sets: ValueSets
    ) -> None:
        known = sets.size[person] > 0
        self.group, self.person, self.groups, self.sets = group[known], person[known], groups, sets
        self.people = np.bincount(self.group, minlength=groups)
        own = sets.of(self.person)
        self.most, self.commonest = _commonest(np.repeat(self.group, own.size), own.value, groups)

    def by(self, label: npt.NDArray[np.int32]) -> Crowds:
        """The same with labels of the values in place of them; a person can have several values of one label."""
        width, sets = int(label.max(initial=0)) + 1, self.sets
        owner = np.repeat(np.arange(len(sets.size)), sets.size)
        key = np.unique(owner * width + label[sets.value])
        start = np.searchsorted(key // width, np.arange(len(sets.size) + 1))
        return Crowds(self.group, self.person, self.groups, ValueSets(start, (key % width).astype(np.int32)))

    def who(self, group: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.bool_]:
        """Of everybody, whether he or she is in a group, or in one of some groups."""
        found = np.zeros(len(self.sets.start) - 1, np.bool_)
        found[self.person if group is None else self.person[group[self.group]]] = True
        return found

    @cached_property
    def attacked(self) -> int:
        """How many people are in a group."""
        return int(self.who().sum())

    @cached_property
    def guessed(self) -> float:
        """Of how many the commonest value of the table is one of theirs."""
        return float(np.bincount(self.sets.value[np.repeat(self.who(), self.sets.size)]).max(initial=0))

    def in_groups(self, chosen: npt.NDArray[np.bool_]) -> int:
        """How many people are in one of some groups."""
        return int(self.who(chosen).sum())

    def of_one(self, name: str, learns: str, column: str) -> AttackResult:
        """Who is in a group whose people have one value in common."""
        same = (self.people > 0) & (self.most == self.people)
        figures = {"groups": self.groups, "exposed_groups": int(same.sum())}
        return AttackResult(name, learns, column, self.attacked, self.in_groups(same), self.guessed, figures)

    def inference(self, column: str, confidence: float) -> AttackResult:
        """Whose value the commonest of a group is."""
        share = self.most / np.maximum(self.people, 1)
        own = share[self.group]
        surest = np.zeros(len(self.sets.start) - 1)
        np.maximum.at(surest, self.person, own)
        named = np.full(len(surest), -1, np.int64)
        asked = np.flatnonzero(own == surest[self.person])[::-1]  # of equal ones the first group is written last
        named[self.person[asked]] = self.commonest[self.group[asked]]
        figures = {
            "highest_share": float(share.max(initial=0.0)),
            "confidence": confidence,
            "people_above_confidence": self.in_groups(share >= confidence),
        }
        exposed = int((self.sets.value == np.repeat(named, self.sets.size)).sum())
        return AttackResult(
            "inference", "the most likely value", column, self.attacked, exposed, self.guessed, figures
        )  # fmt: skip


def _commonest(
    group: npt.NDArray[np.int64], value: npt.NDArray[np.int32], groups: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """How often the commonest value of each group is there, and which it is, of equal ones the first; 0 and -1 of none.

    The cells of all groups and values are counted where they are not many more than what there is to count.
    """
    width = int(value.max(initial=0)) + 1
    key = group * width + value
    if groups * width <= 8 * len(key):
        cells = np.bincount(key, minlength=groups * width).reshape(groups, width)
        most = cells.max(axis=1)
        return most, np.where(most > 0, cells.argmax(axis=1), -1)
    key, times = different_keys(key)
    owner, most, which = key // width, np.zeros(groups, np.int64), np.full(groups, -1, np.int64)
    np.maximum.at(most, owner, times)
    first = np.flatnonzero(times == most[owner])[::-1]
    which[owner[first]] = key[first] % width
    return most, which


def _background(groups: Groups, crowds: Crowds, column: str, excluded: int) -> AttackResult:
    """Who is in a group in which ``excluded`` + 1 values suffice for everybody to have one of them."""
    needed = by_people(groups, (column,)).histogram(column).different(excluded + 2)
    few = (crowds.people > 0) & (needed <= excluded + 1)
    figures = {"excluded": excluded, "exposed_groups": int(few.sum())}
    exposed = crowds.in_groups(few)
    return AttackResult("background knowledge", "the value", column, crowds.attacked, exposed, 0.0, figures)


# -- households


def attack_households(
    tables: Tables, released: Any, schema: Schema, household: Sequence[str], least: int
) -> tuple[AttackResult, ...]:
    """Attack the households of a table, whose members' rows a column links; what is counted are households."""
    histories = _histories(_numbered(tables, released, schema, household))
    rows = np.add.reduceat(histories.rows, histories.start[:-1]).tolist()
    members = Counter(rows)
    by_size = [members[number] for number in rows]
    results = (
        _crowds("household by size", "which household it is, by how many rows it has", by_size, least),
        replace(
            _all_rows(histories, least),
            name="household by its members",
            learns="which household it is, by the labels of its rows",
        ),
    )
    return tuple(replace(result, counts="households") for result in results)


def _numbered(tables: Tables, released: Any, schema: Schema, person: Sequence[str]) -> FrequencySet:
    """The combinations of a table with numbers in place of what names people, or households."""
    engine, table = tables.engine, tables.read(released)
    require_columns(table, (*schema.quasi_identifiers, *schema.sensitive, *person), "table under attack")
    shown = engine.to_arrow(table)
    names = [_beside(name, shown.column_names) for name in person]  # what says whose rows they are may be shown too
    for name, made in zip(person, names, strict=True):
        shown = shown.append_column(made, shown.column(name))
    own = Schema({**schema.of_rows.columns, **{name: Column(Role.PERSON) for name in names}}).published
    numbered = number_people(engine, engine.read(Source(frame=shown)), names).table
    return read_frequency_set(engine, numbered, own)


def _beside(name: str, others: Sequence[str]) -> str:
    """A name that no column has."""
    return next(made for number in itertools.count() if (made := f"{name} {number}") not in others)


def _histories(frequencies: FrequencySet) -> _Histories:
    number, groups = frequencies.group(frequencies.codes, [dictionary.size for dictionary in frequencies.quasi])
    person = frequencies.secrets[:, -1].astype(np.int64)
    key, inverse = np.unique(person * groups.count + number, return_inverse=True)
    rows = np.zeros(len(key), np.int64)
    np.add.at(rows, inverse.reshape(-1), frequencies.count)
    people = int(person.max()) + 1
    start = np.searchsorted(key, np.arange(people + 1) * groups.count).astype(np.int64)
    return _Histories(start, key % groups.count, rows, groups)


def _few_people(histories: _Histories, least: int) -> AttackResult:
    crowd = np.bincount(histories.group, minlength=histories.groups.count)
    smallest = np.minimum.reduceat(crowd[histories.group], histories.start[:-1])
    return AttackResult(
        "groups of few people",
        f"that the person is one of fewer than {least}",
        None,
        histories.people,
        int((smallest < least).sum()),
        0.0,
        {"alone": int((smallest == 1).sum()), "groups": int((crowd < least).sum()), "smallest_crowd": int(crowd.min())},
    )


def _some_rows(histories: _Histories, rows: int, least: int) -> AttackResult | None:
    """Who is known by any so many of his or her rows, or by all where there are fewer; None where it takes too long."""
    labels = [
        list(itertools.chain.from_iterable([group] * min(times, rows) for group, times in histories.of(person)))
        for person in range(histories.people)
    ]
    if sum(math.comb(len(own), min(rows, len(own))) for own in labels) * rows > MOST_SETS:
        return None
    crowds = [Counter(itertools.chain.from_iterable(_sets(own, size) for own in labels)) for size in range(1, rows + 1)]
    smallest = [
        min(crowds[size - 1][known] for known in _sets(own, size)) for own in labels for size in [min(rows, len(own))]
    ]
    word = {2: "two rows", 3: "three rows"}[rows]
    return _crowds(word, f"which rows are the person's, by {word} that are known", smallest, least)


def _sets(labels: Sequence[int], size: int) -> set[tuple[int, ...]]:
    return set(itertools.combinations(labels, size)) if size <= len(labels) else set()


def _all_rows(histories: _Histories, least: int) -> AttackResult:
    whole = [tuple(histories.of(person)) for person in range(histories.people)]
    crowd = Counter(whole)
    return _crowds("all rows", "which rows are the person's, by all labels", [crowd[own] for own in whole], least)


def _crowds(name: str, learns: str, smallest: Sequence[int], least: int) -> AttackResult:
    exposed, alone = (sum(crowd < bound for crowd in smallest) for bound in (least, 2))
    figures = {"alone": alone, "smallest_crowd": min(smallest)}
    return AttackResult(name, learns, None, len(smallest), exposed, 0.0, figures)


def _composition(histories: _Histories, frequencies: FrequencySet, place: int) -> AttackResult:
    """A value that all groups of a person hold; groups of which some value is not known can hold any."""
    domain, histogram = frequencies.domains[place], histories.groups.histograms[place]
    people = frequencies.domains[-1].people
    assert people is not None
    sets = people.sets[domain.name]
    held = [
        frozenset(histogram.value[a:b].tolist()) if known == size else None
        for (a, b), known, size in zip(
            itertools.pairwise(histogram.start.tolist()), histogram.known, histories.groups.size, strict=True
        )
    ]
    exposed = 0
    for person in range(histories.people):
        left: frozenset[int] | None = None
        for group, _ in histories.of(person):
            values = held[group]
            left = left if values is None else values if left is None else left & values
        own = sets.value[sets.start[person] : sets.start[person + 1]].tolist()
        exposed += left is not None and len(left) == 1 and next(iter(left)) in own
    commonest = np.bincount(sets.value, minlength=1).max()
    return AttackResult(
        "composition", "the value, by the groups that the person is in", domain.name, histories.people, exposed,
        float(commonest),
    )  # fmt: skip
