"""Groups of people in place of groups of rows: what models look at where several rows can be one person's.

A group's size is then the number of different people in it. Each person counts once in its histograms, in equal parts
on the different values that he or she has anywhere in the source; counts are in whole parts of a person, so that they
are exact. Two figures are no sums over values and are taken from the people themselves:

* how many different values a group has is the least number of values such that everybody has one of them: to be told
  that a person is in a group with p = 2 must not tell a value that all of them have;
* a person weighs as much as the lightest of his or her values.

People of whom no value is known count for the group's size and for nothing else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError, VerificationError
from shoal.io.engines.base import Engine, Relation
from shoal.schema.people import People, ValueSets
from shoal.schema.spelling import fold
from shoal.table.frequency_set import FrequencySet
from shoal.table.groups import LARGEST_KEY, Groups, Histogram, different_keys, sum_by

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Numbered", "PeopleHistogram", "as_in_source", "by_people", "number_names", "number_people", "people_of",
    "with_people",
]  # fmt: skip

PLAIN_WORD, PLAIN_NUMBER = "^[A-Za-z][A-Za-z0-9]*$", "^[0-9]{1,18}$"
"""Keys of people that are compared without a look at each: but for the case of letters, and for zeros in front."""


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

    def different(self, most: int, labels: npt.NDArray[np.int32] | None = None) -> npt.NDArray[np.int64]:
        """See :class:`shoal.table.groups.Histogram`."""
        if int(self.sets.size.max(initial=0)) <= 1:
            return np.minimum(super().different(most, labels), most)
        values = self.sets.value if labels is None else labels[self.sets.value]
        people, most_of_them = self._commonest(values)
        # the commonest value is everybody's, or so few have it that no fewer than so many values reach everybody
        found = np.minimum(-(-people // np.maximum(most_of_them, 1)), most)
        first = np.searchsorted(self.member, np.arange(len(found) + 1))
        for group in np.flatnonzero((found < most) & (most_of_them < people)):
            start = self.sets.start[first[group] : first[group + 1] + 1]
            sets = {frozenset(values[a:b].tolist()) for a, b in itertools.pairwise(start) if b > a}
            found[group] = hitting_number(sets, most)
        return found

    def _commonest(self, values: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Of each group the people of whom a value is known, and how many of them have the commonest one."""
        groups, size = len(self.known), self.sets.size
        people = np.bincount(self.member[size > 0], minlength=groups).astype(np.int64)
        width = int(values.max(initial=0)) + 1
        # a person can have several values of one label, and counts once
        pair = different_keys(np.repeat(np.arange(len(size)), size) * width + values)[0]
        key, count = different_keys(self.member[pair // width] * width + pair % width)
        most = np.zeros(groups, np.int64)
        np.maximum.at(most, key // width, count)
        return people, most

    def weight(self, units: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
        """See :class:`shoal.table.groups.Histogram`."""
        known = self.sets.size > 0
        if not known.any():
            return np.zeros(len(self.known), np.int64)
        lightest = np.minimum.reduceat(units[self.sets.value].astype(np.int64), self.sets.start[:-1][known])
        return sum_by(self.member[known], lightest, len(self.known))


def hitting_number(sets: set[frozenset[int]], most: int) -> int:
    """The least number of values such that every set has one of them, or ``most`` if it is not less.

    Time: (values of the smallest sets) to the power of ``most`` - 1, at the worst.

    >>> hitting_number({frozenset({1, 2}), frozenset({1, 3}), frozenset({4})}, 5)
    2
    """
    if not sets:
        return 0
    needed = [one for one in sets if not any(other < one for other in sets)]  # who hits a part of it hits the whole
    needed.sort(key=len)
    return next((number for number in range(1, most) if _can_be_hit(needed, number)), most)


def _can_be_hit(sets: Sequence[frozenset[int]], values: int) -> bool:
    if not sets:
        return True
    if values == 0:
        return False
    return any(_can_be_hit([one for one in sets[1:] if value not in one], values - 1) for value in sets[0])


def by_people(groups: Groups, columns: Collection[str] | None = None) -> Groups:
    """The groups in people: sizes, and histograms of the sensitive columns, or of some of them."""
    held = groups.people
    assert held is not None
    assert held.domain.people is not None
    people = held.domain.people
    others = tuple(
        _by_people(histogram, held, people.sets[histogram.domain.name])
        for histogram in groups.histograms
        if histogram is not held and (columns is None or histogram.domain.name in columns)
    )
    return Groups(held.distinct, others)


def _by_people(histogram: Histogram, held: Histogram, sets: ValueSets) -> PeopleHistogram:
    member, person = held.owner, held.value.astype(np.int64)
    groups, width = len(held.known), max(histogram.domain.size, 1)
    own = sets.of(person)
    present = np.flatnonzero(held.total)  # in the whole table, of which these may be some groups only
    parts = _parts(sets, present, histogram.domain.name)
    share = np.where(own.size > 0, parts // np.maximum(own.size, 1), 0)
    owner = np.repeat(member, own.size)
    key, inverse = np.unique(owner * width + own.value, return_inverse=True)
    start = np.zeros(groups + 1, np.int64)
    np.cumsum(np.bincount(key // width, minlength=groups), out=start[1:])
    everybody = sets.of(present)
    everywhere = np.where(everybody.size > 0, parts // np.maximum(everybody.size, 1), 0)
    return PeopleHistogram(
        histogram.domain,
        start,
        (key % width).astype(np.int32),
        sum_by(inverse.reshape(-1), np.repeat(share, own.size), len(key)),
        sum_by(member, np.where(own.size > 0, parts, 0), groups),
        sum_by(everybody.value.astype(np.int64), np.repeat(everywhere, everybody.size), histogram.domain.size),
        member,
        own,
    )


def _parts(sets: ValueSets, people: npt.NDArray[np.int64], column: str) -> int:
    """Into how many parts a person is divided, so that equal parts on his or her values are whole numbers."""
    sizes = np.unique(sets.size[people])
    parts = math.lcm(*(int(size) for size in sizes if size))
    if parts * max(len(people), 1) * 2 >= LARGEST_KEY:
        raise PlanError(
            f"People have up to {int(sizes.max())} different values of {column!r}, too many to be counted exactly in "
            f"equal parts. Group its values into fewer, or keep fewer rows of each person."
        )
    return parts


def people_of(frequencies: FrequencySet, place: int) -> People:
    """The people of a table: the sensitive column at ``place`` says whose rows they are."""
    person = frequencies.secrets[:, place].astype(np.int64)
    count = int(person.max(initial=-1)) + 1
    sets = {}
    for s, domain in enumerate(frequencies.domains):
        if s == place:
            continue
        known = frequencies.secrets[:, s] >= 0
        width = max(domain.size, 1)
        key = different_keys(person[known] * width + frequencies.secrets[known, s])[0]
        start = np.searchsorted(key // width, np.arange(count + 1)).astype(np.int64)
        sets[domain.name] = ValueSets(start, (key % width).astype(np.int32))
    return People(count, sets)


def with_people(frequencies: FrequencySet) -> FrequencySet:
    """The frequency set whose last sensitive column says whose rows they are, with these people known."""
    place = frequencies.secrets.shape[1] - 1
    domain = replace(frequencies.domains[place], people=people_of(frequencies, place))
    return replace(frequencies, domains=(*frequencies.domains[:place], domain))


def as_in_source(found: FrequencySet, source: FrequencySet) -> FrequencySet:
    """A table of some of the source's rows, with all that its people have in the source.

    Whose rows they are is told by the numbers of :func:`number_people`; nothing else that is sensitive is looked at.
    """
    place = source.secrets.shape[1] - 1
    numbers = np.asarray([int(text) for text in found.sensitive[place].text], np.int32)
    person = found.secrets[:, place]
    if (person < 0).any() or not np.isin(numbers, source.secrets[:, place]).all():
        raise VerificationError("A row is nobody's, or of a person whom the source does not have. A fault in shoal.")
    secrets = np.full_like(found.secrets, -1)
    secrets[:, place] = numbers[person]
    return replace(found, domains=source.domains, secrets=secrets)


@dataclass(frozen=True)
class Numbered:
    """A table with the people's numbers; how many rows are nobody's; and what names the people, by number."""

    table: Relation
    nobodys: int
    named: pa.Array | Sequence[tuple[str, ...]]

    @cached_property
    def names(self) -> Sequence[tuple[str, ...]]:
        """What names each person: one text for each of the columns that say it together."""
        if isinstance(self.named, Sequence):
            return self.named
        return [(fold(str(key)) or "",) for key in self.named.to_pylist()]


def number_people(engine: Engine, table: Relation, columns: Sequence[str]) -> Numbered:
    """The table with the people's numbers, from 0, in the first of the columns that say together whose rows they are.

    Numbers follow the names, of which spellings are one as those of a sensitive value are. Where a name is missing,
    each row has a number of its own, above those with a name: who cannot be told to be the same may be another. Costs
    one count of these columns, and memory for the different names.
    """
    import pyarrow as pa

    places = table.places(columns)
    counted = engine.frequencies(table, places)
    number, names = number_names(counted, places)
    rows = np.asarray(counted.column("n").to_numpy(), np.int64)
    copies = np.where(number >= 0, 1, rows)
    row = np.repeat(np.arange(len(number)), copies)
    named, person = len(names), number[row]
    nobody = person < 0
    person[nobody] = named + np.arange(int(nobody.sum()))
    if not nobody.any() and len(places) == 1:
        label = {places[0]: pa.table({"v": counted.column(f"c{places[0]}"), "label": pa.array(person)})}
        numbered = engine.recode_by_level(table, range(len(table.columns)), label, {}, None)
        return Numbered(replace(numbered, ranked=()), 0, names)
    data: dict[str, object] = {f"c{place}": counted.column(f"c{place}").take(pa.array(row)) for place in places}
    data["g"] = pa.array(person)
    if nobody.any():  # rows without a name are told apart by their place among those that are alike
        low = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        data["low"], data["high"] = pa.array(low), pa.array(np.where(nobody, low + 1, rows[row]))
    every = np.arange(named + int(nobody.sum()), dtype=np.int64)
    labels = {"g": every, f"c{places[0]}": every, "rank": every, "n": np.ones_like(every)}
    numbered = engine.recode_by_group(
        table, range(len(table.columns)), pa.table(data), pa.table({key: pa.array(v) for key, v in labels.items()})
    )
    return Numbered(replace(numbered, ranked=()), int(nobody.sum()), names)


def number_names(
    counted: pa.Table, places: Sequence[int]
) -> tuple[npt.NDArray[np.int64], pa.Array | Sequence[tuple[str, ...]]]:
    """The number of the person whom the columns at these places name together, in each row, and names by number.

    -1 where one of the columns is missing. What people are called decides their numbers, not where their rows stand.
    """
    if len(places) == 1 and (plain := _number_plain(counted.column(f"c{places[0]}"))) is not None:
        return plain
    found = list(zip(*(_keys(counted.column(f"c{place}")) for place in places), strict=True))
    names: list[Any] = sorted({name for name in found if None not in name})
    number = {name: place for place, name in enumerate(names)}
    return np.asarray([number.get(name, -1) for name in found], np.int64), names


def _number_plain(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], pa.Array] | None:
    """The same for whole numbers, and for keys of letters and digits that begin with a letter: all of them at once.

    None where there are others. Of letters the case is folded, of digits zeros in front, as by :func:`fold`; numbers
    follow the size of whole numbers.
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
    """What a column's values are compared by, the same for numbers and their text; None is missing."""
    import pyarrow as pa

    return [None if text is None else fold(text) for text in column.cast(pa.string()).to_pylist()]
