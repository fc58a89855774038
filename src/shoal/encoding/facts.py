"""What can be told of a table by few columns at a time: the combinations of a set of columns, counted.

A cell that shows nothing has a code of its own, the last of its column. Sets of columns are counted one after another
on the same code columns: in a table of all combinations where that is small, else by sorting. Two questions are asked
of a set: which combinations of visible labels there are, and how many rows can be the row of somebody whose values in
these columns are known (they show the same there, or nothing).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding.frequency import FrequencySet
from shoal.encoding.groups import sum_by
from shoal.encoding.wildcards import candidates

__all__ = ["Combinations", "Facts", "all_subsets", "read_facts", "subsets_up_to"]

DENSE = 16
"""A table of all combinations may have so many cells for each row."""


@dataclass(frozen=True)
class Combinations:
    """The combinations of some columns.

    Attributes
    ----------
    number
        int64 (n,): the combination of each entry.
    size
        int64 (c,): rows of each combination; there may be combinations without rows.
    visible
        bool (c,): whether every column shows something.
    """

    number: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    visible: npt.NDArray[np.bool_]


class Facts:
    """Entries of a table by what they show: int64 codes, one array by column, and how many rows each entry has.

    ``columns[j][i]`` is from 0 to ``sizes[j]``, which stands for a cell that shows nothing. The arrays may be changed
    between questions.
    """

    def __init__(self, codes: npt.NDArray[Any], sizes: Sequence[int], count: npt.NDArray[np.int64]) -> None:
        self.columns = [np.ascontiguousarray(codes[:, j], np.int64) for j in range(codes.shape[1])]
        self.sizes = [int(size) for size in sizes]
        self.count = count
        self.rows = int(count.sum())
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

    def rows_of(self, known: Facts, chosen: Sequence[int]) -> npt.NDArray[np.int64]:
        """Of each entry of ``known``, all of whose cells show something, how many rows of this table can be its row."""
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

    def certain_rows(self, chosen: Sequence[int]) -> npt.NDArray[np.int64]:
        """Of each entry, how many rows can be its person's whatever a hidden cell stands for: a lower bound.

        Where it shows something, they show the same or nothing; where it shows nothing, they show nothing.
        """
        return self.rows_of(self, chosen)

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
    facts = Facts(np.stack(shown, axis=1), sizes, released.count)
    return facts, None if source is None else Facts(np.stack(known, axis=1), sizes, source.count)


def subsets_up_to(columns: int, most: int) -> Iterable[tuple[int, ...]]:
    """All sets of 1 to ``most`` of so many columns, the small ones first."""
    for size in range(1, min(most, columns) + 1):
        yield from itertools.combinations(range(columns), size)


def all_subsets(chosen: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """All sets of at least one of these columns, the small ones first."""
    for size in range(1, len(chosen) + 1):
        yield from itertools.combinations(chosen, size)
