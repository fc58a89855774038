"""Groups: their sizes, and the counts of each sensitive value in them.

Histograms are sparse: a group has entries only for the values that it contains, sorted by value code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import Domain

LARGEST_KEY = 2**62


@dataclass(frozen=True)
class Histogram:
    """Counts of one sensitive column's values, group by group.

    Attributes
    ----------
    domain
        Properties of the values.
    start
        int64 (g + 1,): the entries of group i are ``start[i]:start[i + 1]``.
    value, count
        int32 and int64 (entries,): value code and its count; missing values have no entry.
    known
        int64 (g,): rows of the group with a value that is not missing.
    total
        int64 (values,): counts over all groups.
    """

    domain: Domain
    start: npt.NDArray[np.int64]
    value: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]
    known: npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]

    @property
    def distinct(self) -> npt.NDArray[np.int64]:
        """The number of distinct values of each group."""
        return np.diff(self.start)

    @property
    def owner(self) -> npt.NDArray[np.int64]:
        """The group of each entry."""
        return np.repeat(np.arange(len(self.known)), self.distinct)

    @property
    def harmful(self) -> Histogram:
        """The histogram without harmless values; rows with them stay known."""
        if self.domain.harmless is None:
            return self
        remains = ~self.domain.harmless[self.value]
        start = np.concatenate([[0], np.cumsum(remains)])[self.start].astype(np.int64)
        return replace(self, start=start, value=self.value[remains], count=self.count[remains])

    @property
    def has_harmless(self) -> npt.NDArray[np.bool_]:
        """Return the groups with a member of harmless values only, bool (g,)."""
        return sum_by(self.harmful.owner, self.harmful.count, len(self.known)) < self.known

    def different_harmful(self, limit: int, labels: npt.NDArray[np.int32] | None = None) -> npt.NDArray[np.int64]:
        """Count the distinct harmful values, or labels of them, of each group.

        A group with a member whose values are all harmless has ``limit``: nobody learns of anybody there that one of
        some harmful values applies. Without harmless values it is :meth:`different`.
        """
        if self.domain.harmless is None:
            return self.different(limit, labels)
        return np.where(self.has_harmless, limit, self.harmful.different(limit, labels))

    def different(self, limit: int, labels: npt.NDArray[np.int32] | None = None) -> npt.NDArray[np.int64]:
        """Count the distinct values, or labels of values, of each group.

        For people (:class:`shoal.table.people.PeopleHistogram`) the count stops at ``limit``.
        """
        if labels is None:
            return self.distinct
        present = np.unique(np.stack([self.owner, labels[self.value]], axis=1), axis=0)[:, 0]
        return np.bincount(present, minlength=len(self.known)).astype(np.int64)

    def weight(self, units: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
        """Return the sum of the weights of each group's rows, in whole units."""
        largest = int(self.known.max(initial=0)) * int(units.max(initial=0))
        kind = np.int64 if largest < LARGEST_KEY else object
        return sum_by(self.owner, self.count.astype(kind) * units[self.value], len(self.known))

    def largest(self) -> npt.NDArray[np.int64]:
        """Return the count of each group's most frequent value; 0 without one."""
        top = np.zeros(len(self.known), np.int64)
        filled = self.distinct > 0
        if filled.any():
            top[filled] = np.maximum.reduceat(self.count, self.start[:-1][filled])
        return top


@dataclass(frozen=True)
class PopulationCounts:
    """People of a population by group: the second number of each group.

    Attributes
    ----------
    count
        int64 (g,): the people who fit the labels of each group.
    unshown
        int64 (u,): the people of each combination of labels that no group has.
    contains_release
        Whether everybody in the table is one of these people.
    left_out
        The number of rows of the table that are in no group.
    """

    count: npt.NDArray[np.int64]
    unshown: npt.NDArray[np.int64]
    contains_release: bool = True
    left_out: int = 0

    def without(self, stays: npt.NDArray[np.bool_], rows: int) -> PopulationCounts:
        """Return the people after groups with some rows were left out."""
        unshown = np.concatenate([self.unshown, self.count[~stays]])
        return replace(self, count=self.count[stays], unshown=unshown, left_out=self.left_out + rows)


@dataclass(frozen=True)
class Groups:
    """Sizes (int64 (g,)) and, per sensitive column, histograms.

    ``people_of`` are the people of a population, where the plan has one.
    """

    size: npt.NDArray[np.int64]
    histograms: tuple[Histogram, ...] = ()
    people_of: PopulationCounts | None = None

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(self.size)

    @property
    def people(self) -> Histogram | None:
        """The number of rows of each person in every group; None without people."""
        return next((h for h in self.histograms if h.domain.people is not None), None)

    @property
    def rows(self) -> int:
        """The number of rows in all groups."""
        return int(self.size.sum())

    def within(self, totals: Sequence[npt.NDArray[np.int64]]) -> Groups:
        """Return the groups as part of a larger table with these value counts.

        ``totals`` are the table's counts of each value, by sensitive column.
        """
        histograms = tuple(replace(h, total=t) for h, t in zip(self.histograms, totals, strict=True))
        return replace(self, histograms=histograms)

    def histogram(self, column: str) -> Histogram:
        """Return the histogram of a sensitive column."""
        return next(h for h in self.histograms if h.domain.name == column)


def sum_by(owner: npt.NDArray[Any], amounts: npt.NDArray[Any], owners: int) -> npt.NDArray[Any]:
    """Return the sum of amounts by owner, in the amounts' number type.

    Weights of ``bincount`` would be rounded.
    """
    sums = np.zeros(owners, amounts.dtype)
    np.add.at(sums, owner, amounts)
    return sums


def different_keys(keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the distinct keys in increasing order, and their counts.

    They are sorted, which is faster here than hashing.
    """
    keys = np.sort(keys)
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, np.int64)
    return keys[first], np.diff(np.r_[first, len(keys)])


def unique_pairs(
    first: npt.NDArray[np.integer[Any]], second: npt.NDArray[np.integer[Any]]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the distinct pairs of codes in lexicographic order, and counts.

    >>> [part.tolist() for part in unique_pairs(np.array([2, 0, 2]), np.array([-1, 3, -1]))]
    [[0, 2], [3, -1], [1, 2]]
    """
    if not len(first):
        empty = np.zeros(0, np.int64)
        return empty, empty, empty
    low = int(second.min())
    span = int(second.max()) - low + 1
    assert int(np.abs(first).max()) * span < LARGEST_KEY  # codes are numbers of rows at most
    key, count = different_keys(first.astype(np.int64) * span + (second - low))
    return key // span, key % span + low, count


def row_keys(codes: npt.NDArray[np.signedinteger], sizes: Sequence[int]) -> tuple[npt.NDArray[np.int64], int]:
    """Return one integer per row of a code matrix, and a number above all.

    The integers follow the lexicographic order of the rows.
    """
    key = np.zeros(len(codes), np.int64)
    span = 1
    for j, size in enumerate(sizes):
        size = max(int(size), 1)
        if span * size >= LARGEST_KEY:  # the product no longer fits: renumber the keys so far, and continue
            distinct, key = np.unique(key, return_inverse=True)
            span = len(distinct)
        key = key * size + codes[:, j]
        span *= size
    return key, span


def group_keys(codes: npt.NDArray[np.signedinteger], sizes: Sequence[int]) -> tuple[npt.NDArray[np.int64], int]:
    """Number the distinct rows of a code matrix in lexicographic order.

    ``sizes[j]`` is larger than every code of column j. Returns the number of each row and the number of distinct rows.
    Time n log n for n rows.
    """
    key, span = row_keys(codes, sizes)
    if span <= 4 * len(codes) + 1024:  # few possible keys: mark them instead of sorting
        present = np.zeros(span, np.bool_)
        present[key] = True
        number = np.cumsum(present, dtype=np.int64) - 1
        return number[key], int(number[-1]) + 1 if span else 0
    distinct, inverse = np.unique(key, return_inverse=True)
    return inverse.astype(np.int64, copy=False), len(distinct)


def number_rows(parts: Sequence[npt.NDArray[np.int64]], rows: int) -> npt.NDArray[np.int64]:
    """Number rows by codes in several columns: equal codes, equal number."""
    if not parts:
        return np.zeros(rows, np.int64)
    codes = np.stack(parts, axis=1)
    return group_keys(codes, (codes.max(axis=0, initial=0) + 1).tolist())[0]


def histogram(
    group: npt.NDArray[np.int64],
    value: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
    groups: int,
    domain: Domain,
) -> Histogram:
    """Count values by group; ``value`` -1 is missing and not counted.

    Time n log n for n combinations.
    """
    known = value >= 0
    if not known.all():
        group, value, count = group[known], value[known], count[known]
    width = max(domain.size, 1)
    key = group * width + value
    if groups * width <= 4 * len(key):  # few possible cells: count in all of them instead of sorting
        present = np.zeros(groups * width, np.bool_)
        present[key] = True
        found = np.flatnonzero(present)
        summed = sum_by(key, count, len(present))[found]
    elif (count == 1).all():  # single rows: only their keys are sorted
        found, summed = different_keys(key)
    else:
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, np.int64)
        found = key[first]
        summed = np.add.reduceat(count[order], first) if len(key) else np.zeros(0, np.int64)
    owner = found // width
    start = np.zeros(groups + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=groups), out=start[1:])
    return Histogram(
        domain,
        start,
        (found % width).astype(np.int32),
        summed,
        sum_by(group, count, groups),
        sum_by(value, count, domain.size),
    )


def unite_groups(groups: Groups, owner: npt.NDArray[np.int64], member: npt.NDArray[np.int64], count: int) -> Groups:
    """Return unions of groups that may overlap.

    ``owner`` (from 0 to ``count``) and ``member`` are pairs of a union and one of its groups, each pair once.
    """
    histograms = []
    for one in groups.histograms:
        length = one.distinct[member]
        begin = np.repeat(one.start[member] - np.cumsum(length) + length, length)
        entry = begin + np.arange(len(begin))
        histograms.append(histogram(np.repeat(owner, length), one.value[entry], one.count[entry], count, one.domain))
    return Groups(sum_by(owner, groups.size[member], count), tuple(histograms))
