"""Attacks on people, where a column of the table under attack says whose rows they are.

Models and attacks that count rows take five visits of one patient for a crowd. Here everybody counts once:

* **groups of few people**: who has a row in a group with rows of fewer than so many people;
* **two rows, three rows**: whose rows can be linked is known by any two (three) of them, as labels; exposed is who has
  some that fewer than so many people have. **All rows**: the same of the whole history;
* **composition**: who is known to be in several groups has a value that all of them hold; exposed is of whom only one
  is left, and who has it.

The last ones need rows that can be linked, as whoever has the column links them.

**Households**: how many live together, and of what age and sex they are, neighbours know. Exposed is every household of
which, by the number of its rows, or by their labels, there are fewer than so many.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding import FrequencySet, Groups, read_frequency_set
from shoal.encoding.people import number_people
from shoal.engines.base import Source, require_columns
from shoal.risk.attacks import AttackResult
from shoal.schema import Column, Role, Schema
from shoal.utility.tables import Tables

__all__ = ["ExposedPeople", "attack_households", "attack_people"]

MOST_SETS = 5_000_000
"""Beyond so many sets of rows an attack that looks at all of them is not run."""


@dataclass(frozen=True)
class ExposedPeople:
    """How many people there are, and how many have a row in a group of fewer than ``least`` people."""

    total: int
    exposed: int
    least: int
    results: tuple[AttackResult, ...]

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


def attack_people(tables: Tables, released: Any, schema: Schema, person: Sequence[str], least: int) -> ExposedPeople:
    """Attack the people of a table; a crowd of fewer than ``least`` people hides nobody."""
    frequencies = _numbered(tables, released, schema, person)
    histories = _histories(frequencies)
    few = _few_people(histories, least)
    results = [few, *(found for rows in (2, 3) if (found := _some_rows(histories, rows, least)) is not None)]
    results.append(_all_rows(histories, least))
    results += [_composition(histories, frequencies, place) for place in range(len(frequencies.domains) - 1)]
    told = tuple(replace(result, counts="people") for result in results)
    return ExposedPeople(histories.people, few.exposed, least, told)


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
