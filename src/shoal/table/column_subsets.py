"""What can be told of a table by few columns at a time: the combinations of a set of columns, counted.

A cell that shows nothing has a code of its own, the last of its column. Sets of columns are counted one after another
on the same code columns: in a table of all combinations where that is small, else by sorting. Two questions are asked
of a set: which combinations of visible labels there are, and how many rows can be the row of somebody whose values in
these columns are known (they show the same there, or nothing). Where a column says whose rows they are, both are asked
in people: a person counts once, however many of his or her rows it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.table.frequency_set import FrequencySet
from shoal.table.groups import group_keys, sum_by
from shoal.table.wildcard_matches import candidates

__all__ = ["Combinations", "Facts", "Owners", "all_subsets", "owners_of", "read_facts", "subsets_up_to"]

DENSE = 16
"""A table of all combinations may have so many cells for each row."""


@dataclass(frozen=True)
class Owners:
    """Whose the entries of a table are: an entry and a person who has a row of it, pair by pair.

    ``entry`` and ``person`` are int64 (pairs,), ``count`` is above every person's number.
    """

    entry: npt.NDArray[np.int64]
    person: npt.NDArray[np.int64]
    count: int


def owners_of(frequencies: FrequencySet) -> Owners | None:
    """Whose the combinations of a table are; None where no column says so."""
    for place, domain in enumerate(frequencies.domains):
        if domain.people is not None:
            person = frequencies.secrets[:, place].astype(np.int64)
            return Owners(np.arange(len(person)), person, domain.people.count)
    return None


@dataclass(frozen=True)
class Combinations:
    """The combinations of some columns.

    Attributes
    ----------
    number
        int64 (n,): the combination of each entry.
    size
        int64 (c,): rows (or people) of each combination; there may be combinations without rows.
    visible
        bool (c,): whether every column shows something.
    """

    number: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    visible: npt.NDArray[np.bool_]


class Facts:
    """Entries of a table by what they show: int64 codes, one array by column, and how many rows each entry has.

    ``columns[j][i]`` is from 0 to ``sizes[j]``, which stands for a cell that shows nothing. The arrays may be changed
    between questions. With ``owners`` people are counted wherever rows are spoken of.
    """

    def __init__(
        self,
        codes: npt.NDArray[Any],
        sizes: Sequence[int],
        count: npt.NDArray[np.int64],
        owners: Owners | None = None,
    ) -> None:
        self.columns = [np.ascontiguousarray(codes[:, j], np.int64) for j in range(codes.shape[1])]
        self.sizes = [int(size) for size in sizes]
        self.count = count
        self.owners = owners
        self.rows = int(count.sum()) if owners is None else len(np.unique(owners.person))
        self._ones = bool((count == 1).all())
        self._weight = count.astype(np.float64)

    def combinations(self, chosen: Sequence[int]) -> Combinations:
        """Count the combinations of some columns."""
        number, span = self._keys(chosen)
        if span <= DENSE * len(self.count) + 4096:
            visible = np.zeros([self.sizes[j] + 1 for j in chosen], np.bool_)
            visible[tuple(slice(-1) for _ in chosen)] = True
            return Combinations(number, self._sum(number, span), visible.reshape(-1))
        _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
        shows = np.ones(len(first), np.bool_)
        for j in chosen:
            shows &= self.columns[j][first] < self.sizes[j]
        return Combinations(inverse, self._sum(inverse, len(first)), shows)

    def rows_of(self, known: Facts, chosen: Sequence[int], enough: int) -> npt.NDArray[np.int64]:
        """Of each entry of ``known``, all of whose cells show something, how many rows of this table can be its row.

        Numbers of at least ``enough`` may be too low, but not lower than that.
        """
        if self.owners is not None:
            return self._people_of(self.owners, known, chosen, enough)
        span = 1
        for j in chosen:
            span *= self.sizes[j] + 1
        if span <= DENSE * len(self.count) + 4096:
            number, _ = self._keys(chosen)
            covered = self._sum(number, span).reshape([self.sizes[j] + 1 for j in chosen])
            for axis in range(len(chosen)):
                hidden = np.take(covered, [-1], axis)
                covered = covered + hidden
                covered[(slice(None),) * axis + (-1,)] = hidden.squeeze(axis)  # who shows nothing is met by that alone
            return covered.reshape(-1)[known._keys(chosen, self.sizes)[0]]
        shown = np.stack([np.where(self.columns[j] == self.sizes[j], -1, self.columns[j]) for j in chosen], axis=1)
        values = np.stack([known.columns[j] for j in chosen], axis=1)
        found = candidates(values.astype(np.int32), known.count, shown.astype(np.int32), self.count)[0]
        return np.asarray(found)

    def _people_of(self, owners: Owners, known: Facts, chosen: Sequence[int], enough: int) -> npt.NDArray[np.int64]:
        """The same in people. Rows that hide the same columns are laid beside what is known by the others of them.

        A person can have rows of several kinds: the kind that has most people is a lower bound, and only where that is
        not enough are people put together.
        """
        values = np.stack([known.columns[j] for j in chosen], axis=1).astype(np.int32)
        number, count = group_keys(values, [self.sizes[j] + 1 for j in chosen])
        first = np.zeros(count, np.int64)
        first[number] = np.arange(len(number))
        values = values[first]
        cells = np.stack([self.columns[j][owners.entry] for j in chosen], axis=1).astype(np.int32)
        hidden = cells == np.asarray([self.sizes[j] for j in chosen])
        kinds, kind = np.unique(hidden, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        found = np.zeros(count, np.int64)
        ranges = []
        for place, blank in enumerate(kinds):
            rows, own = kind == place, np.flatnonzero(~blank)
            both = np.concatenate([values[:, own], cells[np.ix_(rows, own)]])
            key, _ = group_keys(both, [self.sizes[chosen[int(i)]] + 1 for i in own])
            pairs = np.unique(key[count:] * owners.count + owners.person[rows])
            start, end = (np.searchsorted(pairs, (key[:count] + one) * owners.count) for one in (0, 1))
            found = np.maximum(found, end - start)
            ranges.append((start, end, pairs % owners.count))
        for i in np.flatnonzero(found < enough):
            found[i] = len(np.unique(np.concatenate([person[start[i] : end[i]] for start, end, person in ranges])))
        return found[number]

    def needed(self, have: npt.NDArray[np.bool_], order: npt.NDArray[np.int64], least: int) -> int:
        """How many entries, in an order, must be added to some for so many rows; all where they are not enough."""
        if self.owners is None:
            lacking = least - int(self.count[have].sum())
            return int(np.searchsorted(np.cumsum(self.count[order]), lacking)) + 1 if lacking > 0 else 0
        entry, person = self.owners.entry, self.owners.person
        there = np.zeros(self.owners.count, np.bool_)
        there[person[have[entry]]] = True
        lacking = least - int(there.sum())
        if lacking <= 0:
            return 0
        place = np.full(len(self.count), len(order))
        place[order] = np.arange(len(order))
        soonest = np.full(self.owners.count, len(order))
        np.minimum.at(soonest, person, place[entry])
        return int(np.sort(soonest[~there])[lacking - 1]) + 1 if lacking <= int((~there).sum()) else len(order)

    def certain_rows(self, chosen: Sequence[int], enough: int) -> npt.NDArray[np.int64]:
        """Of each entry, how many rows can be its person's whatever a hidden cell stands for: a lower bound.

        Where it shows something, they show the same or nothing; where it shows nothing, they show nothing.
        """
        return self.rows_of(self, chosen, enough)

    def _keys(self, chosen: Sequence[int], sizes: Sequence[int] | None = None) -> tuple[npt.NDArray[np.int64], int]:
        """One number per entry, and a number above all; numbers that would be too large are numbered anew."""
        sizes = self.sizes if sizes is None else sizes
        number, span = np.zeros(len(self.count), np.int64), 1
        for place, j in enumerate(chosen):
            size = sizes[j] + 1
            if span * size >= 2**62:
                distinct, number = np.unique(number, return_inverse=True)
                span = len(distinct)
            number = self.columns[j].copy() if not place else number * size + self.columns[j]
            span *= size
        return number, span

    def _sum(self, number: npt.NDArray[np.int64], span: int) -> npt.NDArray[np.int64]:
        if self.owners is not None:
            pairs = np.unique(number[self.owners.entry] * self.owners.count + self.owners.person)
            return np.bincount(pairs // self.owners.count, minlength=span)
        if self._ones:
            return np.bincount(number, minlength=span)
        if self.rows < 2**53:  # whole numbers that floats hold exactly
            return np.bincount(number, self._weight, span).astype(np.int64)
        return np.asarray(sum_by(number, self.count, span))


def read_facts(
    released: FrequencySet, hidden: str, source: FrequencySet | None = None, told: Sequence[Sequence[str | None]] = ()
) -> tuple[Facts, Facts | None]:
    """What the entries of a release show, and beside it what is known of the people of its source, if that is given.

    ``told[j]`` are the labels with which the release shows the source's codes of column j, where it does not hide them.
    Empty text and a missing value are the same to a reader of a CSV.
    """
    shown, known, sizes = [], [], []
    for j, dictionary in enumerate(released.quasi):
        place: dict[str | None, int] = {}
        labels = [text or None for text in (*dictionary.text, None)]
        people = [text or None for text in told[j]] if source is not None else []
        for label in (*labels, *people):
            if label != hidden:
                place.setdefault(label, len(place))
        sizes.append(len(place))
        place[hidden] = len(place)
        shown.append(np.asarray([place[label] for label in labels])[released.codes[:, j]])
        if source is not None:
            known.append(np.asarray([place[label] for label in people])[source.codes[:, j]])
    facts = Facts(np.stack(shown, axis=1), sizes, released.count, owners_of(released))
    return facts, None if source is None else Facts(np.stack(known, axis=1), sizes, source.count)


def subsets_up_to(columns: int, most: int) -> Iterable[tuple[int, ...]]:
    """All sets of 1 to ``most`` of so many columns, the small ones first."""
    for size in range(1, min(most, columns) + 1):
        yield from itertools.combinations(range(columns), size)


def all_subsets(chosen: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """All sets of at least one of these columns, the small ones first."""
    for size in range(1, len(chosen) + 1):
        yield from itertools.combinations(chosen, size)
