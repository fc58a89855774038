"""Suppressed cells, and the group counts of many sets of columns.

A set of columns is counted once. When cells are suppressed, only the groups that their rows have left can change. So
every column records the order in which its cells were suppressed, and every set how far in that order its counts are.
The kernels that update them are in :mod:`shoal.kernels.column_subsets`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.table.column_subsets import MAX_DENSE_CELLS_PER_ROW

HOLDS, FAILS, UNKNOWN = 0, 1, 2
"""Verdict on a set; unknown if it is too wide for a table of counts."""
LOOK, NOTE, HIDE = range(3)
"""Action on failing groups: none, record their cells, or suppress one cell."""
NEVER_RARE = 1 << 30
"""The count of combinations with a suppressed cell: they are never rare."""
MAX_STORED_COUNTS = 200_000_000
"""Largest number of stored counts, of four bytes each."""


class CellState(NamedTuple):
    """The label codes of rows, and the order in which cells were suppressed.

    now, first : int32 (columns, rows), the current codes, and those before any suppression
    row : int32 (columns, rows), the rows suppressed in a column, in order; length, int64 (columns,), is their number
    when : int32 (columns, rows), the position of a row in that order, or the number of rows if it is not suppressed
    """

    now: npt.NDArray[Any]
    first: npt.NDArray[Any]
    row: npt.NDArray[Any]
    length: npt.NDArray[Any]
    when: npt.NDArray[Any]


class SubsetCounts(NamedTuple):
    """The counts of the groups of sets of columns.

    start : int64 (sets,), where a set's counts begin in counts, int32; -1 if they are not stored
    seen : int64 (sets, columns of a set), the number of cells suppressed in each of its columns when it was counted
    rare : int64 (sets,), the number of rare groups at that time; -1 if a set was not counted yet
    passed_at : int64 (sets,), the number of cells suppressed in its columns when the set last held; -1 if it never did
    """

    start: npt.NDArray[Any]
    counts: npt.NDArray[Any]
    seen: npt.NDArray[Any]
    rare: npt.NDArray[Any]
    passed_at: npt.NDArray[Any]


def clip_counts(count: npt.NDArray[np.int64], limit: int) -> npt.NDArray[np.int32] | None:
    """Clip counts at ``limit``; None if their sums might overflow.

    Clipped counts still decide which groups have fewer than ``limit`` rows.
    """
    return np.minimum(count, limit).astype(np.int32) if limit * len(count) < NEVER_RARE else None


def make_cell_state(codes: npt.NDArray[Any]) -> CellState:
    """Build the state of cells, int (columns, rows), without suppression."""
    columns, rows = codes.shape
    first = codes.astype(np.int32)
    return CellState(
        first.copy(), first, np.empty(codes.shape, np.int32), np.zeros(columns, np.int64),
        np.full(codes.shape, rows, np.int32),
    )  # fmt: skip


def make_subset_counts(
    sizes: Sequence[int], sets: Mapping[tuple[int, ...], int], passed_at: npt.NDArray[np.int64], max_cells: int
) -> SubsetCounts:
    """Allocate the counts of sets; only the first ones if memory is limited.

    ``sets`` maps each set to its index in the arrays, which have the length of ``passed_at``. A set with more than
    ``max_cells`` combinations is not stored.
    """
    start, used = np.full(len(passed_at), -1, np.int64), 0
    for chosen, position in sets.items():
        span = math.prod(sizes[j] + 1 for j in chosen)
        if span <= max_cells and used + span <= MAX_STORED_COUNTS:
            start[position], used = used, used + span
    seen = np.zeros((len(passed_at), max(map(len, sets), default=1)), np.int64)
    return SubsetCounts(start, np.zeros(used, np.int32), seen, np.full(len(passed_at), -1, np.int64), passed_at)


def max_table_cells(rows: int) -> int:
    """Return the largest number of cells of a table of combinations.

    Keys are numbers of 32 bits.
    """
    return min(MAX_DENSE_CELLS_PER_ROW * rows + 4096, 1 << 30)
