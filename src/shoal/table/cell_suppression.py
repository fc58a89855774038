"""Cells that are hidden one after another, and what is known meanwhile of the groups of many sets of columns.

A set of columns is counted once. When cells are hidden, only the groups that their rows have left can change: so every
column keeps the order in which its cells were hidden, and every set how far in that order its counts are. What works on
them is in :mod:`shoal.kernels.column_subsets`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.table.column_subsets import DENSE

__all__ = [
    "FAILS", "HIDE", "HOLDS", "LOOK", "NOBODY_ASKS", "NOTE", "UNKNOWN", "Cells", "Tables", "clip_counts",
    "make_cells", "make_tables", "room_of",
]  # fmt: skip

HOLDS, FAILS, UNKNOWN = 0, 1, 2
"""What is said of a set; of one that is too wide to be counted in a table, nothing."""
LOOK, NOTE, HIDE = range(3)
"""What is done about the groups that fail: nothing, or their cells are noted, or one of them is hidden."""
NOBODY_ASKS = 1 << 30
"""The count of combinations that show nothing somewhere: they are never rare."""
MOST_KEPT = 200_000_000
"""So many counts are kept at most, of four bytes."""


class Cells(NamedTuple):
    """What rows show in each column, and in which order cells were hidden.

    now, first : int32 (columns, rows), as they are, and before any was hidden
    row : int32 (columns, rows), the rows that were hidden in a column, one after the other, as many as length, int64
    (columns,), says; when : int32 (columns, rows), the place of a row there, or above all where it was not hidden
    """

    now: npt.NDArray[Any]
    first: npt.NDArray[Any]
    row: npt.NDArray[Any]
    length: npt.NDArray[Any]
    when: npt.NDArray[Any]


class Tables(NamedTuple):
    """What is known of the groups of sets of columns.

    start : int64 (sets,), where a set's counts begin in counts, int32; -1 where they are not kept
    seen : int64 (sets, columns of a set), how many cells had been hidden in each of its columns when it was counted
    rare : int64 (sets,), how many groups were rare then; -1 where a set was not counted yet
    held : int64 (sets,), how many cells had been hidden in its columns when it was found to hold; -1 where it was not
    """

    start: npt.NDArray[Any]
    counts: npt.NDArray[Any]
    seen: npt.NDArray[Any]
    rare: npt.NDArray[Any]
    held: npt.NDArray[Any]


def clip_counts(count: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int32] | None:
    """Counts that tell as well as these which groups have fewer than ``most`` rows; None where they might run over."""
    return np.minimum(count, most).astype(np.int32) if most * len(count) < NOBODY_ASKS else None


def make_cells(codes: npt.NDArray[Any]) -> Cells:
    """Cells, int (columns, rows), of which none was hidden yet."""
    columns, rows = codes.shape
    first = codes.astype(np.int32)
    return Cells(
        first.copy(), first, np.empty(codes.shape, np.int32), np.zeros(columns, np.int64),
        np.full(codes.shape, rows, np.int32),
    )  # fmt: skip


def make_tables(
    sizes: Sequence[int], sets: Mapping[tuple[int, ...], int], held: npt.NDArray[np.int64], room: int
) -> Tables:
    """Room for the counts of sets, each with its place among as many as ``held`` has: the first of them, if not all."""
    start, taken = np.full(len(held), -1, np.int64), 0
    for chosen, place in sets.items():
        span = math.prod(sizes[j] + 1 for j in chosen)
        if span <= room and taken + span <= MOST_KEPT:
            start[place], taken = taken, taken + span
    seen = np.zeros((len(held), max(map(len, sets), default=1)), np.int64)
    return Tables(start, np.zeros(taken, np.int32), seen, np.full(len(held), -1, np.int64), held)


def room_of(rows: int) -> int:
    """How many cells a table of combinations may have; keys are numbers of 32 bits."""
    return min(DENSE * rows + 4096, 1 << 30)
