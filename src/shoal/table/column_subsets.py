"""Counts of the combinations of a few columns at a time.

A suppressed cell has its own code, the last of its column. Sets of columns are counted one after another on the same
code columns: in a dense table of all combinations if that is small, otherwise by sorting. Two questions are answered
for a set: which combinations of visible labels exist, and how many rows are candidates for a person with known values
in these columns (rows with the same labels, or with suppressed cells). If a column names the person of each row, both
count people: a person counts once, with any number of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.runtime.lazy_dataclass import dataclass
from shoal.table.frequency_set import FrequencySet
from shoal.table.groups import group_keys, sum_by
from shoal.table.wildcard_matches import count_candidates

MAX_DENSE_CELLS_PER_ROW = 16
"""Largest number of cells of a dense table for each row."""


@dataclass(frozen=True)
class Owners:
    """The people of table entries, as pairs of an entry and a person.

    ``entry`` and ``person`` are int64 (pairs,), ``count`` is larger than every person's number.
    """

    entry: npt.NDArray[np.int64]
    person: npt.NDArray[np.int64]
    count: int


def owners_of(frequencies: FrequencySet) -> Owners | None:
    """Return the people of a table's combinations; None without people."""
    for position, domain in enumerate(frequencies.domains):
        if domain.people is not None:
            person = frequencies.secrets[:, position].astype(np.int64)
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
        bool (c,): whether no column is suppressed.
    """

    number: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    visible: npt.NDArray[np.bool_]


class SubsetCounter:
    """Entries of a table by label codes, with their numbers of rows.

    ``columns[j]`` are int64 codes; ``columns[j][i]`` is from 0 to ``sizes[j]``, the code of a suppressed cell. The
    arrays may be changed between calls. With ``owners``, people are counted instead of rows.
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
        if span <= MAX_DENSE_CELLS_PER_ROW * len(self.count) + 4096:
            visible = np.zeros([self.sizes[j] + 1 for j in chosen], np.bool_)
            visible[tuple(slice(-1) for _ in chosen)] = True
            return Combinations(number, self._sum(number, span), visible.reshape(-1))
        _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
        visible_rows = np.ones(len(first), np.bool_)
        for j in chosen:
            visible_rows &= self.columns[j][first] < self.sizes[j]
        return Combinations(inverse, self._sum(inverse, len(first)), visible_rows)

    def count_candidate_rows(self, known: SubsetCounter, chosen: Sequence[int], enough: int) -> npt.NDArray[np.int64]:
        """Count the candidate rows of each entry of ``known``.

        Entries of ``known`` have no suppressed cells. A candidate row of this table has the same labels, or suppressed
        cells. Numbers of at least ``enough`` may be too low, but not lower than ``enough``.
        """
        if self.owners is not None:
            return self._people_of(self.owners, known, chosen, enough)
        span = 1
        for j in chosen:
            span *= self.sizes[j] + 1
        if span <= MAX_DENSE_CELLS_PER_ROW * len(self.count) + 4096:
            number, _ = self._keys(chosen)
            covered = self._sum(number, span).reshape([self.sizes[j] + 1 for j in chosen])
            for axis in range(len(chosen)):
                hidden = np.take(covered, [-1], axis)
                covered = covered + hidden
                covered[(slice(None),) * axis + (-1,)] = hidden.squeeze(
                    axis
                )  # a suppressed cell matches suppressed cells only
            return covered.reshape(-1)[known._keys(chosen, self.sizes)[0]]
        published = np.stack([np.where(self.columns[j] == self.sizes[j], -1, self.columns[j]) for j in chosen], axis=1)
        values = np.stack([known.columns[j] for j in chosen], axis=1)
        found = count_candidates(values.astype(np.int32), known.count, published.astype(np.int32), self.count)[0]
        return np.asarray(found)

    def _people_of(
        self, owners: Owners, known: SubsetCounter, chosen: Sequence[int], enough: int
    ) -> npt.NDArray[np.int64]:
        """Count the candidate people of each entry of ``known``.

        Rows are classified by their suppressed columns, and each class is matched on the other columns. A person can
        have rows of several classes: the class with most people gives a lower bound, and only if that is less than
        ``enough`` are the people of all classes united.
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
        for index, suppressed in enumerate(kinds):
            rows, own = kind == index, np.flatnonzero(~suppressed)
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
        """Count the entries, in an order, that must be added to reach ``least``.

        The count is in rows, or people. Return all entries if they are not enough.
        """
        if self.owners is None:
            lacking = least - int(self.count[have].sum())
            return int(np.searchsorted(np.cumsum(self.count[order]), lacking)) + 1 if lacking > 0 else 0
        entry, person = self.owners.entry, self.owners.person
        present = np.zeros(self.owners.count, np.bool_)
        present[person[have[entry]]] = True
        lacking = least - int(present.sum())
        if lacking <= 0:
            return 0
        index = np.full(len(self.count), len(order))
        index[order] = np.arange(len(order))
        soonest = np.full(self.owners.count, len(order))
        np.minimum.at(soonest, person, index[entry])
        return int(np.sort(soonest[~present])[lacking - 1]) + 1 if lacking <= int((~present).sum()) else len(order)

    def count_certain_rows(self, chosen: Sequence[int], enough: int) -> npt.NDArray[np.int64]:
        """Count candidate rows whatever a suppressed cell was: a lower bound.

        Where the entry has a label, candidates have the same label or a suppressed cell; where its cell is suppressed,
        theirs are too.
        """
        return self.count_candidate_rows(self, chosen, enough)

    def _keys(self, chosen: Sequence[int], sizes: Sequence[int] | None = None) -> tuple[npt.NDArray[np.int64], int]:
        """Return one number per entry, and a number above all of them.

        Numbers that would be too large are renumbered.
        """
        sizes = self.sizes if sizes is None else sizes
        number, span = np.zeros(len(self.count), np.int64), 1
        for position, j in enumerate(chosen):
            size = sizes[j] + 1
            if span * size >= 2**62:
                distinct, number = np.unique(number, return_inverse=True)
                span = len(distinct)
            number = self.columns[j].copy() if not position else number * size + self.columns[j]
            span *= size
        return number, span

    def _sum(self, number: npt.NDArray[np.int64], span: int) -> npt.NDArray[np.int64]:
        if self.owners is not None:
            pairs = np.unique(number[self.owners.entry] * self.owners.count + self.owners.person)
            return np.bincount(pairs // self.owners.count, minlength=span)
        if self._ones:
            return np.bincount(number, minlength=span)
        if self.rows < 2**53:  # integers that floats represent exactly
            return np.bincount(number, self._weight, span).astype(np.int64)
        return np.asarray(sum_by(number, self.count, span))


def read_subset_counters(
    released: FrequencySet,
    hidden: str,
    source: FrequencySet | None = None,
    source_labels: Sequence[Sequence[str | None]] = (),
) -> tuple[SubsetCounter, SubsetCounter | None]:
    """Build counters of a release and, if given, of its source.

    ``source_labels[j]`` are the labels under which the release publishes the source's codes of column j, unless they
    are suppressed. Empty text and a missing value are the same to a reader of a CSV.
    """
    published, known, sizes = [], [], []
    for j, dictionary in enumerate(released.quasi):
        code_of: dict[str | None, int] = {}
        labels = [text or None for text in (*dictionary.text, None)]
        people_labels = [text or None for text in source_labels[j]] if source is not None else []
        for label in (*labels, *people_labels):
            if label != hidden:
                code_of.setdefault(label, len(code_of))
        sizes.append(len(code_of))
        code_of[hidden] = len(code_of)
        published.append(np.asarray([code_of[label] for label in labels])[released.codes[:, j]])
        if source is not None:
            known.append(np.asarray([code_of[label] for label in people_labels])[source.codes[:, j]])
    facts = SubsetCounter(np.stack(published, axis=1), sizes, released.count, owners_of(released))
    return facts, None if source is None else SubsetCounter(np.stack(known, axis=1), sizes, source.count)


def subsets_up_to(columns: int, limit: int) -> Iterable[tuple[int, ...]]:
    """Yield all sets of 1 to ``limit`` columns, smallest first."""
    for size in range(1, min(limit, columns) + 1):
        yield from itertools.combinations(range(columns), size)


def all_subsets(chosen: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Yield all nonempty subsets of these columns, smallest first."""
    for size in range(1, len(chosen) + 1):
        yield from itertools.combinations(chosen, size)
