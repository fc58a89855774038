"""Groups of people instead of rows, if people have several rows.

A group's size is then the number of different people in it. Each person counts once in its histograms, in equal parts
for the distinct values that he or she has anywhere in the source; counts are in whole parts of a person, so that they
are exact. Two figures are not sums over values and are computed from the people themselves:

* the number of distinct values of a group is the smallest number of values such that everybody has one of them: the
  knowledge that a person is in a group with p = 2 must not reveal a value that all of them have;
* a person weighs as much as the lightest of his or her values.

People without a known value count for the group's size only. A person with a harmful value and a harmless one has the
harmful one only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from shoal.errors import PlanError, VerificationError
from shoal.io.engines.base import Engine, Relation
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.search_allowance import Stopwatch
from shoal.schema import Domain
from shoal.schema.people import People, ValueSets
from shoal.schema.spelling import fold
from shoal.table.frequency_set import FrequencySet
from shoal.table.groups import LARGEST_KEY, Groups, Histogram, different_keys, sum_by

if TYPE_CHECKING:
    import pyarrow as pa

PLAIN_WORD, PLAIN_NUMBER = "^[A-Za-z][A-Za-z0-9]*$", "^[0-9]{1,18}$"
"""Keys of people that are compared in bulk: but for the case of letters, and leading zeros."""


@dataclass(frozen=True)
class PeopleHistogram(Histogram):
    """A histogram of people, in whole parts of a person.

    Attributes
    ----------
    member
        int64 (members,): the group of each pair of a group and a person in it.
    sets
        The values of each such person.
    """

    member: npt.NDArray[np.int64]
    sets: ValueSets

    @property
    @override
    def harmful(self) -> Histogram:
        if self.domain.harmless is None:
            return self
        remains = ~self.domain.harmless[self.sets.value]
        start = np.concatenate([[0], np.cumsum(remains)])[self.sets.start].astype(np.int64)
        return replace(super().harmful, sets=ValueSets(start, self.sets.value[remains]))  # type: ignore[call-arg]

    @property
    @override
    def has_harmless(self) -> npt.NDArray[np.bool_]:
        harmless = self.domain.harmless
        assert harmless is not None
        found = np.zeros(len(self.known), np.bool_)
        known = np.flatnonzero(self.sets.size > 0)
        # a person has harmful values only, or harmless ones only
        found[self.member[known[harmless[self.sets.value[self.sets.start[known]]]]]] = True
        return found

    @override
    def different(self, limit: int, labels: npt.NDArray[np.int32] | None = None) -> npt.NDArray[np.int64]:
        if int(self.sets.size.max(initial=0)) <= 1:
            return np.minimum(super().different(limit, labels), limit)
        values = self.sets.value if labels is None else labels[self.sets.value]
        people, largest = self._commonest(values)
        # a lower bound: each value covers at most as many people as the most frequent one
        found = np.minimum(-(-people // np.maximum(largest, 1)), limit)
        first = np.searchsorted(self.member, np.arange(len(found) + 1))
        for group in np.flatnonzero((found < limit) & (largest < people)):
            start = self.sets.start[first[group] : first[group + 1] + 1]
            sets = {frozenset(values[a:b].tolist()) for a, b in itertools.pairwise(start) if b > a}
            found[group] = hitting_number(sets, limit)
        return found

    def _commonest(self, values: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Count each group's people with a known and with the commonest value."""
        groups, size = len(self.known), self.sets.size
        people = np.bincount(self.member[size > 0], minlength=groups).astype(np.int64)
        width = int(values.max(initial=0)) + 1
        # a person can have several values of one label, and counts once
        pair = different_keys(np.repeat(np.arange(len(size)), size) * width + values)[0]
        key, count = different_keys(self.member[pair // width] * width + pair % width)
        largest = np.zeros(groups, np.int64)
        np.maximum.at(largest, key // width, count)
        return people, largest

    @override
    def weight(self, units: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
        known = self.sets.size > 0
        if not known.any():
            return np.zeros(len(self.known), np.int64)
        lightest = np.minimum.reduceat(units[self.sets.value].astype(np.int64), self.sets.start[:-1][known])
        return sum_by(self.member[known], lightest, len(self.known))


def hitting_number(sets: set[frozenset[int]], limit: int) -> int:
    """Return the smallest number of values that hit every set.

    It is at most ``limit``. A set is hit if it contains one of the values. Time: (values of the smallest sets) to the
    power of ``limit`` - 1, in the worst case.

    >>> hitting_number({frozenset({1, 2}), frozenset({1, 3}), frozenset({4})}, 5)
    2
    """
    if not sets:
        return 0
    needed = [one for one in sets if not any(other < one for other in sets)]  # a value that hits a subset hits the set
    needed.sort(key=len)
    watch = Stopwatch()
    found = next((number for number in range(1, limit) if _can_be_hit(needed, number, watch)), limit)
    watch.spend()
    return found


def _can_be_hit(sets: Sequence[frozenset[int]], values: int, watch: Stopwatch) -> bool:
    """Return whether some number of values can hit all sets."""
    watch.step()
    if not sets:
        return True
    if _disjoint(sets) > values:  # each of them needs a value of its own
        return False
    return any(
        _can_be_hit([one for one in sets[1:] if value not in one], values - 1, watch) for value in sorted(sets[0])
    )


def _disjoint(sets: Sequence[frozenset[int]]) -> int:
    """Count sets that have no value in common, chosen smallest first."""
    taken: set[int] = set()
    count = 0
    for one in sets:
        if taken.isdisjoint(one):
            taken |= one
            count += 1
    return count


def by_people(groups: Groups, columns: Collection[str] | None = None, *, shares: bool = True) -> Groups:
    """Convert groups to people: sizes, and histograms of some columns.

    Without ``columns``, the histograms are those of all sensitive columns. Without ``shares``, a person counts once for
    each of his or her values, which distinct values and weights do not depend on.
    """
    members = groups.people
    assert members is not None
    assert members.domain.people is not None
    people = members.domain.people
    others = tuple(
        _by_people(histogram, members, people.sets[histogram.domain.name], shares)
        for histogram in groups.histograms
        if histogram is not members and (columns is None or histogram.domain.name in columns)
    )
    return Groups(members.distinct, others)


def _by_people(histogram: Histogram, members: Histogram, sets: ValueSets, shares: bool) -> PeopleHistogram:
    member, person = members.owner, members.value.astype(np.int64)
    groups, width = len(members.known), max(histogram.domain.size, 1)
    member_sets = sets.of(person)
    present = np.flatnonzero(members.total)  # in the whole table; these may be some of its groups only
    parts = _parts(sets, present, histogram.domain.name) if shares else 1
    share = _share(parts, member_sets, shares)
    owner = np.repeat(member, member_sets.size)
    key, inverse = np.unique(owner * width + member_sets.value, return_inverse=True)
    start = np.zeros(groups + 1, np.int64)
    np.cumsum(np.bincount(key // width, minlength=groups), out=start[1:])
    present_sets = sets.of(present)
    share_of_each = _share(parts, present_sets, shares)
    return PeopleHistogram(
        histogram.domain,
        start,
        (key % width).astype(np.int32),
        sum_by(inverse.reshape(-1), np.repeat(share, member_sets.size), len(key)),
        sum_by(member, np.where(member_sets.size > 0, parts, 0), groups),
        sum_by(present_sets.value.astype(np.int64), np.repeat(share_of_each, present_sets.size), histogram.domain.size),
        member,
        member_sets,
    )


def _share(parts: int, sets: ValueSets, shares: bool) -> npt.NDArray[np.int64]:
    """Return how much each of a person's values counts, by person."""
    divisor = np.maximum(sets.size, 1) if shares else 1
    return np.where(sets.size > 0, parts // divisor, 0)


def _parts(sets: ValueSets, people: npt.NDArray[np.int64], column: str) -> int:
    """Return the number of parts of a person, for equal parts on all values.

    It is a multiple of each person's number of values, so that parts are whole numbers.
    """
    sizes = np.unique(sets.size[people])
    parts = math.lcm(*(int(size) for size in sizes if size))
    if parts * max(len(people), 1) * 2 >= LARGEST_KEY:
        raise PlanError("people.too-many-values", values=int(sizes.max()), column=column)
    return parts


def people_of(frequencies: FrequencySet, position: int) -> People:
    """Return the people of a table, given the position of their column."""
    person = frequencies.secrets[:, position].astype(np.int64)
    count = int(person.max(initial=-1)) + 1
    sets = {}
    for s, domain in enumerate(frequencies.domains):
        if s == position:
            continue
        sets[domain.name] = value_sets(person, frequencies.secrets[:, s], count, domain)
    return People(count, sets)


def value_sets(person: npt.NDArray[np.int64], value: npt.NDArray[np.int32], people: int, domain: Domain) -> ValueSets:
    """Collect the values of each person from rows; -1 is missing."""
    known = value >= 0
    width = max(domain.size, 1)
    key = different_keys(person[known] * width + value[known])[0]
    if domain.harmless is not None:  # a harmless value says nothing of a person who has a harmful one, too
        harmful = np.zeros(people, np.bool_)
        harmful[key[~domain.harmless[key % width]] // width] = True
        key = key[~domain.harmless[key % width] | ~harmful[key // width]]
    start = np.searchsorted(key // width, np.arange(people + 1)).astype(np.int64)
    return ValueSets(start, (key % width).astype(np.int32))


def with_people(frequencies: FrequencySet) -> FrequencySet:
    """Attach the people that the last sensitive column names."""
    position = frequencies.secrets.shape[1] - 1
    domain = replace(frequencies.domains[position], people=people_of(frequencies, position))
    return replace(frequencies, domains=(*frequencies.domains[:position], domain))


def with_source_people(found: FrequencySet, source: FrequencySet) -> FrequencySet:
    """Attach the source's people to a table of some of its rows.

    The column of people has the numbers of :func:`number_people`; other sensitive columns are ignored.
    """
    position = source.secrets.shape[1] - 1
    numbers = np.asarray([int(text) for text in found.sensitive[position].text], np.int32)
    person = found.secrets[:, position]
    if (person < 0).any() or not np.isin(numbers, source.secrets[:, position]).all():
        raise VerificationError("people.row-of-nobody")
    secrets = np.full_like(found.secrets, -1)
    secrets[:, position] = numbers[person]
    return replace(found, domains=source.domains, secrets=secrets)


@dataclass(frozen=True)
class NumberedPeople:
    """A table with the people's numbers, and their names by number.

    ``rows_without_person`` counts the rows in which a name is missing.
    """

    table: Relation
    rows_without_person: int
    named: pa.Array | Sequence[tuple[str, ...]]

    @cached_property
    def names(self) -> Sequence[tuple[str, ...]]:
        """The name of each person: one text for each of the naming columns."""
        if isinstance(self.named, Sequence):
            return self.named
        return [(fold(str(key)) or "",) for key in self.named.to_pylist()]


def number_people(engine: Engine, table: Relation, columns: Sequence[str]) -> NumberedPeople:
    """Replace the first naming column by the people's numbers, from 0.

    The columns together name the person of each row. Numbers follow the names; spellings are merged as those of a
    sensitive value. If a name is missing, each row has its own number, above those with a name: it may be another
    person. Costs one count of these columns, and memory for the distinct names.
    """
    import pyarrow as pa

    positions = table.positions(columns)
    counted = engine.frequencies(table, positions)
    number, names = number_names(counted, positions)
    rows = np.asarray(counted.column("n").to_numpy(), np.int64)
    copies = np.where(number >= 0, 1, rows)
    row = np.repeat(np.arange(len(number)), copies)
    named, person = len(names), number[row]
    unnamed = person < 0
    person[unnamed] = named + np.arange(int(unnamed.sum()))
    if not unnamed.any() and len(positions) == 1:
        label = {positions[0]: pa.table({"v": counted.column(f"c{positions[0]}"), "label": pa.array(person)})}
        numbered = engine.recode_by_level(table, range(len(table.columns)), label, {}, None)
        return NumberedPeople(replace(numbered, ranked=()), 0, names)
    data: dict[str, object] = {
        f"c{position}": counted.column(f"c{position}").take(pa.array(row)) for position in positions
    }
    data["g"] = pa.array(person)
    if unnamed.any():  # rows without a name are distinguished by their position among equal rows
        low = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        data["low"], data["high"] = pa.array(low), pa.array(np.where(unnamed, low + 1, rows[row]))
    numbers = np.arange(named + int(unnamed.sum()), dtype=np.int64)
    labels = {"g": numbers, f"c{positions[0]}": numbers, "rank": numbers, "n": np.ones_like(numbers)}
    numbered = engine.recode_by_group(
        table, range(len(table.columns)), pa.table(data), pa.table({key: pa.array(v) for key, v in labels.items()})
    )
    return NumberedPeople(replace(numbered, ranked=()), int(unnamed.sum()), names)


def number_names(
    counted: pa.Table, positions: Sequence[int]
) -> tuple[npt.NDArray[np.int64], pa.Array | Sequence[tuple[str, ...]]]:
    """Return the number of each row's person, and the names by number.

    -1 if one of the naming columns is missing. Numbers depend on the names, not on the order of rows.
    """
    if len(positions) == 1 and (plain := _number_plain(counted.column(f"c{positions[0]}"))) is not None:
        return plain
    found = list(zip(*(_keys(counted.column(f"c{position}")) for position in positions), strict=True))
    names: list[Any] = sorted({name for name in found if None not in name})
    number = {name: position for position, name in enumerate(names)}
    return np.asarray([number.get(name, -1) for name in found], np.int64), names


def _number_plain(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], pa.Array] | None:
    """Number names that are integers, or words of letters and digits, in bulk.

    Words begin with a letter. None if there are other names. The case of letters and leading zeros are folded, as by
    :func:`fold`; integers are ordered by size.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(column.type):
        if pc.all(pc.match_substring_regex(column, PLAIN_WORD)).as_py():
            column = pc.ascii_lower(column)
        elif pc.all(pc.match_substring_regex(column, PLAIN_NUMBER)).as_py():
            column = pc.cast(column, pa.int64())
        else:
            return None
    elif not pa.types.is_integer(column.type):
        return None
    keys = column.combine_chunks().dictionary_encode()
    order = pc.sort_indices(keys.dictionary)
    number = np.full(len(order) + 1, -1, np.int64)
    number[order.to_numpy()] = np.arange(len(order))
    return number[keys.indices.fill_null(len(order)).to_numpy()], keys.dictionary.take(order)


def _keys(column: pa.ChunkedArray) -> list[str | None]:
    """Return comparison keys of a column's values; None is missing.

    They are the same for numbers and their text.
    """
    import pyarrow as pa

    return [None if text is None else fold(text) for text in column.cast(pa.string()).to_pylist()]
