"""Attacks on people, by a person column of the table under attack.

Models and attacks that count rows take five visits of one patient for five people. Here every person counts once:

* **groups of few people**: exposed are people with a row in a group of fewer than ``least`` people;
* **two rows, three rows**: the intruder can link rows and knows the labels of any two (three) rows of a person; exposed
  are people with such rows that fewer than ``least`` people share. **All rows**: the same for the whole history;
* **composition**: a person who is known to be in several groups has a value that occurs in all of them; exposed are
  people for whom only one value remains, which is theirs.

The attacks by several rows assume that rows can be linked, as anybody with the person column can do. Attribute
disclosure by groups is counted in people too (:func:`attack_values`): a person has all values of all his or her rows.

**Households**: neighbours know how many people live in a household, and their age and sex. Exposed is every household
with which fewer than ``least`` households share the number of rows, or the labels of the rows.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.io.engines.base import Source, require_columns
from shoal.risk.attacks import AttackResult, guessed_harmful, is_harmful, label_harmless
from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import Column, Role, Schema
from shoal.schema.people import ValueSets
from shoal.table import FrequencySet, Groups, read_frequency_set
from shoal.table.groups import different_keys
from shoal.table.people import by_people, number_people
from shoal.utility.coded_tables import TableReader

MAX_ROW_SETS = 5_000_000
"""Number of row sets beyond which an attack that enumerates them is not run."""


@dataclass(frozen=True)
class Members:
    """Members of groups, in compressed form.

    The people of group g are ``person[start[g]:start[g + 1]]``.

    ``sets`` are all values of each person, by sensitive column, where the table itself has a person column.
    """

    start: npt.NDArray[np.int64]
    person: npt.NDArray[np.int64]
    sets: Mapping[str, ValueSets] = field(default_factory=dict)

    @classmethod
    def from_pairs(
        cls,
        groups: int,
        group: npt.NDArray[np.int64],
        person: npt.NDArray[np.int64],
        sets: Mapping[str, ValueSets] | None = None,
    ) -> Members:
        """Build members from pairs of group and person, unordered, with repeats."""
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
        """Number of distinct people."""
        return len(np.unique(self.person))


@dataclass(frozen=True)
class ExposedPeople:
    """Numbers of all people, and of those in groups below ``least`` people."""

    total: int
    exposed: int
    least: int
    results: tuple[AttackResult, ...]
    members: Members | None = None
    """Members of the groups."""

    def to_dict(self) -> dict[str, int]:
        """Return the counts for JSON."""
        return {"total": self.total, "exposed": self.exposed, "crowd_below": self.least}


@dataclass(frozen=True)
class _Histories:
    """Rows of each person by group.

    Person u has ``rows[i]`` rows in ``group[i]``, for start[u] <= i < start[u + 1].
    """

    start: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    groups: Groups

    @property
    def people(self) -> int:
        return len(self.start) - 1

    def rows_by_group(self, person: int) -> list[tuple[int, int]]:
        part = slice(self.start[person], self.start[person + 1])
        return list(zip(self.group[part].tolist(), self.rows[part].tolist(), strict=True))


def attack_people(
    tables: TableReader,
    released: Any,
    schema: Schema,
    person: Sequence[str],
    least: int,
    excluded: int = 1,
    confidence: float = 0.8,
) -> ExposedPeople:
    """Attack the people of a table.

    A crowd of fewer than ``least`` people does not protect its members.
    """
    frequencies = _numbered(tables, released, schema, person)
    histories = _histories(frequencies)
    small_groups = _small_groups(histories, least)
    results = [small_groups, *(found for rows in (2, 3) if (found := _known_rows(histories, rows, least)) is not None)]
    results.append(_all_rows(histories, least))
    results += [_composition(histories, frequencies, index) for index in range(len(frequencies.domains) - 1)]
    results += attack_values(histories.groups, confidence, excluded)
    by_people = tuple(replace(result, counts="people") for result in results)
    people = histories.groups.people
    assert people is not None
    assert people.domain.people is not None
    members = Members.from_pairs(
        histories.groups.count, people.owner, people.value.astype(np.int64), people.domain.people.sets
    )
    return ExposedPeople(histories.people, small_groups.exposed, least, by_people, members)


# -- attribute disclosure


def attack_values(groups: Groups, confidence: float = 0.8, excluded: int | None = None) -> list[AttackResult]:
    """Attack the sensitive values of the people in groups; each counts once.

    * **homogeneity**: all people of a group with a known value share one value; **similarity**: one category;
    * **inference**: the intruder names the commonest value of a group for all its people; for a person in several
      groups, the group with the highest share decides; exposed are people who have the named value;
    * **background knowledge**, where ``excluded`` is given: ``excluded`` + 1 values form a hitting set of a group, so
      that every person has one of them.
    """
    people = groups.people
    assert people is not None
    assert people.domain.people is not None
    results: list[AttackResult] = []
    for histogram in groups.histograms:
        domain = histogram.domain
        if histogram is people:
            continue
        grouped = GroupedPeople(
            people.owner,
            people.value.astype(np.int64),
            groups.count,
            people.domain.people.sets[domain.name],
            is_harmful(domain),
        )
        if not grouped.attacked:
            continue
        results.append(grouped.single_value("homogeneity", "the value", domain.name))
        if domain.category is not None:
            labelled = grouped.with_labels(*label_harmless(domain, domain.category))
            results.append(labelled.single_value("similarity", "the category", domain.name))
        results.append(grouped.inference(domain.name, confidence))
        if excluded is not None:
            results.append(_background_knowledge(groups, grouped, domain.name, excluded))
    return [replace(result, counts="people") for result in results]


class GroupedPeople:
    """Groups of people, and how many people of each group have each value.

    ``group`` and ``person`` are pairs of a group and a person in it; ``sets`` are the values of all people. ``harmful``
    says which values harm if they are learned; the commonest value of a group is one of these.
    """

    def __init__(
        self,
        group: npt.NDArray[np.int64],
        person: npt.NDArray[np.int64],
        groups: int,
        sets: ValueSets,
        harmful: npt.NDArray[np.bool_],
    ) -> None:
        known = sets.size[person] > 0
        self.group, self.person, self.groups, self.sets = group[known], person[known], groups, sets
        self.people = np.bincount(self.group, minlength=groups)
        self.harmful = harmful
        own = sets.of(self.person)
        owner, harms = np.repeat(self.group, own.size), harmful[own.value]
        self.largest_count, self.commonest = _commonest_values(owner[harms], own.value[harms], groups)
        self.harmless_count, _ = _commonest_values(owner[~harms], own.value[~harms], groups)

    def with_labels(self, label: npt.NDArray[np.int32], harmful: npt.NDArray[np.bool_]) -> GroupedPeople:
        """Replace values by their labels; a person has each label once."""
        width, sets = int(label.max(initial=0)) + 1, self.sets
        owner = np.repeat(np.arange(len(sets.size)), sets.size)
        key = np.unique(owner * width + label[sets.value])
        start = np.searchsorted(key // width, np.arange(len(sets.size) + 1))
        labelled = ValueSets(start, (key % width).astype(np.int32))
        return GroupedPeople(self.group, self.person, self.groups, labelled, harmful)

    def is_member(self, group: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.bool_]:
        """Return for each person whether he or she is in any, or a chosen, group."""
        found = np.zeros(len(self.sets.start) - 1, np.bool_)
        found[self.person if group is None else self.person[group[self.group]]] = True
        return found

    @cached_property
    def attacked(self) -> int:
        """Number of people in any group."""
        return int(self.is_member().sum())

    @cached_property
    def baseline(self) -> float:
        """Number of people with the commonest value of the table, if it harms."""
        values = self.sets.value[np.repeat(self.is_member(), self.sets.size)]
        return guessed_harmful(np.bincount(values, minlength=len(self.harmful)), self.harmful)

    def count_members(self, chosen: npt.NDArray[np.bool_]) -> int:
        """Count the people in any of the chosen groups."""
        return int(self.is_member(chosen).sum())

    def single_value(self, name: str, learns: str, column: str) -> AttackResult:
        """Attack groups in which all people share one value."""
        same = (self.people > 0) & (self.largest_count == self.people)
        figures = {"groups": self.groups, "exposed_groups": int(same.sum())}
        return AttackResult(name, learns, column, self.attacked, self.count_members(same), self.baseline, figures)

    def inference(self, column: str, confidence: float) -> AttackResult:
        """Attack people by the commonest value of their groups."""
        share = self.largest_count / np.maximum(self.people, 1)
        own = share[self.group]
        surest = np.zeros(len(self.sets.start) - 1)
        np.maximum.at(surest, self.person, own)
        named = np.full(len(surest), -1, np.int64)
        deciding = np.flatnonzero(own == surest[self.person])[::-1]  # reversed: the first of equal groups wins
        value = np.where(self.largest_count >= self.harmless_count, self.commonest, -1)
        named[self.person[deciding]] = value[self.group[deciding]]
        figures = {
            "highest_share": float(share.max(initial=0.0)),
            "confidence": confidence,
            "people_above_confidence": self.count_members(share >= confidence),
        }
        exposed = int((self.sets.value == np.repeat(named, self.sets.size)).sum())
        return AttackResult(
            "inference", "the most likely value", column, self.attacked, exposed, self.baseline, figures
        )  # fmt: skip


def _commonest_values(
    group: npt.NDArray[np.int64], value: npt.NDArray[np.int32], groups: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the count of the commonest value of each group, and the value.

    Among ties the first value is returned; a group without values has 0 and -1. The full matrix of groups and values is
    counted where it is not much larger than the input.
    """
    width = int(value.max(initial=0)) + 1
    key = group * width + value
    if groups * width <= 8 * len(key):
        cells = np.bincount(key, minlength=groups * width).reshape(groups, width)
        largest = cells.max(axis=1)
        return largest, np.where(largest > 0, cells.argmax(axis=1), -1)
    key, times = different_keys(key)
    owner, largest, values = key // width, np.zeros(groups, np.int64), np.full(groups, -1, np.int64)
    np.maximum.at(largest, owner, times)
    first = np.flatnonzero(times == largest[owner])[::-1]
    values[owner[first]] = key[first] % width
    return largest, values


def _background_knowledge(groups: Groups, grouped: GroupedPeople, column: str, excluded: int) -> AttackResult:
    """Attack groups in which ``excluded`` + 1 values form a hitting set."""
    needed = by_people(groups, (column,), shares=False).histogram(column).different_harmful(excluded + 2)
    exposed_groups = (grouped.people > 0) & (needed <= excluded + 1)
    figures = {"excluded": excluded, "exposed_groups": int(exposed_groups.sum())}
    exposed = grouped.count_members(exposed_groups)
    return AttackResult("background knowledge", "the value", column, grouped.attacked, exposed, 0.0, figures)


# -- households


def attack_households(
    tables: TableReader, released: Any, schema: Schema, household: Sequence[str], least: int
) -> tuple[AttackResult, ...]:
    """Attack the households of a table, by a column that links their rows.

    Households are counted.
    """
    histories = _histories(_numbered(tables, released, schema, household))
    rows = np.add.reduceat(histories.rows, histories.start[:-1]).tolist()
    members = Counter(rows)
    by_size = [members[number] for number in rows]
    results = (
        _crowd_result("household by size", "which household it is, by how many rows it has", by_size, least),
        replace(
            _all_rows(histories, least),
            name="household by its members",
            learns="which household it is, by the labels of its rows",
        ),
    )
    return tuple(replace(result, counts="households") for result in results)


def _numbered(tables: TableReader, released: Any, schema: Schema, person: Sequence[str]) -> FrequencySet:
    """Read the combinations of a table, with people or households numbered."""
    engine, table = tables.engine, tables.read(released)
    require_columns(table, (*schema.quasi_identifiers, *schema.sensitive, *person), "table under attack")
    table_with_copies = engine.to_arrow(table)
    names = [
        _unused_name(name, table_with_copies.column_names) for name in person
    ]  # the person column may be published too
    for name, copy in zip(person, names, strict=True):
        table_with_copies = table_with_copies.append_column(copy, table_with_copies.column(name))
    copied_schema = Schema({**schema.of_rows.columns, **{name: Column(Role.PERSON) for name in names}}).published
    numbered = number_people(engine, engine.read(Source(frame=table_with_copies)), names).table
    return read_frequency_set(engine, numbered, copied_schema)


def _unused_name(name: str, others: Sequence[str]) -> str:
    """Return a column name that the table does not have."""
    return next(candidate for number in itertools.count() if (candidate := f"{name} {number}") not in others)


def _histories(frequencies: FrequencySet) -> _Histories:
    number, groups = frequencies.group(frequencies.codes, [dictionary.size for dictionary in frequencies.quasi])
    person = frequencies.secrets[:, -1].astype(np.int64)
    key, inverse = np.unique(person * groups.count + number, return_inverse=True)
    rows = np.zeros(len(key), np.int64)
    np.add.at(rows, inverse.reshape(-1), frequencies.count)
    people = int(person.max()) + 1
    start = np.searchsorted(key, np.arange(people + 1) * groups.count).astype(np.int64)
    return _Histories(start, key % groups.count, rows, groups)


def _small_groups(histories: _Histories, least: int) -> AttackResult:
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


def _known_rows(histories: _Histories, rows: int, least: int) -> AttackResult | None:
    """Attack people by any ``rows`` of their rows, or all if there are fewer.

    None where the enumeration would take too long.
    """
    labels = [
        list(
            itertools.chain.from_iterable(
                [group] * min(times, rows) for group, times in histories.rows_by_group(person)
            )
        )
        for person in range(histories.people)
    ]
    if sum(math.comb(len(own), min(rows, len(own))) for own in labels) * rows > MAX_ROW_SETS:
        return None
    crowds = [
        Counter(itertools.chain.from_iterable(_label_sets(own, size) for own in labels)) for size in range(1, rows + 1)
    ]
    smallest = [
        min(crowds[size - 1][known] for known in _label_sets(own, size))
        for own in labels
        for size in [min(rows, len(own))]
    ]
    word = {2: "two rows", 3: "three rows"}[rows]
    return _crowd_result(word, f"which rows are the person's, by {word} that are known", smallest, least)


def _label_sets(labels: Sequence[int], size: int) -> set[tuple[int, ...]]:
    return set(itertools.combinations(labels, size)) if size <= len(labels) else set()


def _all_rows(histories: _Histories, least: int) -> AttackResult:
    histories_as_tuples = [tuple(histories.rows_by_group(person)) for person in range(histories.people)]
    crowd = Counter(histories_as_tuples)
    return _crowd_result(
        "all rows", "which rows are the person's, by all labels", [crowd[own] for own in histories_as_tuples], least
    )


def _crowd_result(name: str, learns: str, smallest: Sequence[int], least: int) -> AttackResult:
    exposed, alone = (sum(crowd < bound for crowd in smallest) for bound in (least, 2))
    figures = {"alone": alone, "smallest_crowd": min(smallest)}
    return AttackResult(name, learns, None, len(smallest), exposed, 0.0, figures)


def _composition(histories: _Histories, frequencies: FrequencySet, index: int) -> AttackResult:
    """Attack people by the values that occur in all of their groups.

    Groups with a missing value are compatible with any value.
    """
    domain, histogram = frequencies.domains[index], histories.groups.histograms[index]
    people = frequencies.domains[-1].people
    assert people is not None
    sets = people.sets[domain.name]
    values_by_group = [
        frozenset(histogram.value[a:b].tolist()) if known == size else None
        for (a, b), known, size in zip(
            itertools.pairwise(histogram.start.tolist()), histogram.known, histories.groups.size, strict=True
        )
    ]
    exposed = 0
    for person in range(histories.people):
        remaining: frozenset[int] | None = None
        for group, _ in histories.rows_by_group(person):
            values = values_by_group[group]
            remaining = remaining if values is None else values if remaining is None else remaining & values
        own = sets.value[sets.start[person] : sets.start[person + 1]].tolist()
        exposed += remaining is not None and len(remaining) == 1 and next(iter(remaining)) in own
    commonest = np.bincount(sets.value, minlength=1).max()
    return AttackResult(
        "composition", "the value, by the groups that the person is in", domain.name, histories.people, exposed,
        float(commonest),
    )  # fmt: skip
