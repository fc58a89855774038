"""Count the rows of all sets of columns, for models of sizes alone.

*Groups*: the rows that show the same labels in a set of columns. A set is extended column by column: rows of one group
have one number, rows that hide a column leave, and each further column divides the groups.

*Candidates*: the rows that can be a person's show or hide each of the person's labels. With more columns known there
are no more of them, so that sets of the largest size alone have the fewest. Where the labels of a set are few, all
counts are one table with an axis for each column, in which hidden cells are the last entry: it is added to the others,
axis by axis. Otherwise rows are counted by the columns that they show, and looked up for each person.

The counts are those of :func:`numpy.bincount` and of dictionaries. The search packs combinations into keys and counts
them in compiled tables; nothing of it is used here. :mod:`shoal.verification.independent.column_subsets` counts the
same with Python's integers, and sensitive values too.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from shoal.verification.independent.column_subsets import ReleasedRows

MAX_ROWS = 2**53
"""Number of rows up to which sums of counts as floating-point numbers are exact."""
TABLE_ENTRIES_PER_ROW = 8
"""Entries of a table of counts per row, beyond which rows are looked up instead."""

Numbers = npt.NDArray[np.int64]


class ArrayCounts:
    """Counts of the sets of some columns, with at most ``known`` of them.

    Attributes
    ----------
    group_sizes
        Sizes of all groups, without repetition.
    fewest_candidates
        The fewest rows that can be a person's.
    """

    def __init__(self, released: ReleasedRows, positions: Sequence[int], known: int, with_people: bool) -> None:
        assert released.rows < MAX_ROWS
        self._released, self._known = released, known
        self._times = None if released.rows == len(released.times) else np.asarray(released.times, np.float64)
        self._labels = {j: released.labels[j] for j in positions}
        self._cells = {j: _numbers(released.cells[j], released.labels[j]) for j in positions}
        self._people = {j: _numbers(released.people[j], released.labels[j]) for j in positions} if with_people else {}
        self._has_size = np.zeros(released.rows + 1, np.bool_)
        self.fewest_candidates = released.rows
        everybody = np.zeros(len(released.times), np.int64)
        self._divide(everybody, 1, np.arange(len(everybody)), list(positions), 0)
        if with_people and positions and len(released.people[0]):
            self._count_candidates(positions)
        self.group_sizes = {int(size) for size in np.flatnonzero(self._has_size) if size}

    def _divide(self, group: Numbers, groups: int, rows: Numbers, further: Sequence[int], known: int) -> None:
        """Record groups, and those of the sets with one further column each."""
        self._has_size[self._sums(group, groups, rows)] = True
        if known == self._known:
            return
        for index, j in enumerate(further):
            labels = self._labels[j] + 1
            key = group * labels + self._cells[j][rows]
            if known + 1 == self._known:  # no set is larger: sizes are enough
                counts = self._sums(key, groups * labels, rows).reshape(groups, labels)
                self._has_size[counts[:, :-1]] = True
                continue
            visible = self._cells[j][rows] < labels - 1
            number, found = _renumber(key[visible], groups * labels)
            self._divide(number, found, rows[visible], further[index + 1 :], known + 1)

    def _sums(self, group: Numbers, groups: int, rows: Numbers) -> Numbers:
        """Return the rows of each group."""
        times = None if self._times is None else self._times[rows]
        return np.bincount(group, times, groups).astype(np.int64, copy=False)

    def _count_candidates(self, positions: Sequence[int]) -> None:
        limit = TABLE_ENTRIES_PER_ROW * (len(self._released.times) + len(self._released.people[0])) + 4096
        rows = np.arange(len(self._released.times))
        for chosen in itertools.combinations(positions, min(self._known, len(positions))):
            shape = tuple(self._labels[j] + 1 for j in chosen)
            entries = 1
            for labels in shape:
                entries *= labels  # Python's integers do not overflow
            if entries > limit:
                self.fewest_candidates = min(self.fewest_candidates, _look_up(self._released, chosen))
                continue
            counts = self._sums(_joint(self._cells, chosen, shape), entries, rows).reshape(shape)
            for axis in range(len(shape)):
                along = np.moveaxis(counts, axis, 0)
                along[:-1] += along[-1:]  # a hidden cell can be any label
            has_people = np.zeros(entries, np.bool_)
            has_people[_joint(self._people, chosen, shape)] = True
            self.fewest_candidates = min(self.fewest_candidates, int(counts.reshape(-1)[has_people].min()))


def _numbers(column: Sequence[int | None], labels: int) -> Numbers:
    """Return label numbers as an array; a hidden cell has the last one."""
    return np.fromiter((labels if number is None else number for number in column), np.int64, len(column))


def _renumber(key: Numbers, keys: int) -> tuple[Numbers, int]:
    """Number keys without gaps; return the numbers and how many there are."""
    if keys > 4 * len(key) + 4096:
        found, number = np.unique(key, return_inverse=True)
        return number.reshape(-1).astype(np.int64), len(found)
    is_used = np.zeros(keys, np.bool_)
    is_used[key] = True
    numbers = np.cumsum(is_used) - 1
    return numbers[key], int(numbers[-1]) + 1 if keys else 0


def _joint(columns: dict[int, Numbers], chosen: Sequence[int], shape: Sequence[int]) -> Numbers:
    """Return one number for the labels of some columns."""
    key = columns[chosen[0]]
    for j, labels in zip(chosen[1:], shape[1:], strict=True):
        key = key * labels + columns[j]
    return key


def _look_up(released: ReleasedRows, chosen: Sequence[int]) -> int:
    """Return the fewest rows that can be a person's, by dictionaries.

    Rows that hide the same columns are counted by the labels of the others.
    """
    counts: defaultdict[tuple[int, ...], Counter[tuple[Any, ...]]] = defaultdict(Counter)
    for row, times in zip(zip(*(released.cells[j] for j in chosen), strict=True), released.times, strict=True):
        visible = tuple(index for index, cell in enumerate(row) if cell is not None)
        counts[visible][tuple(row[index] for index in visible)] += times
    people = set(zip(*(released.people[j] for j in chosen), strict=True))
    fewest = released.rows
    for person in people:
        found = 0
        for visible, rows in counts.items():
            found += rows.get(tuple(person[index] for index in visible), 0)
        fewest = min(fewest, found)
    return fewest
