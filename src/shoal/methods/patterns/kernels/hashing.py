"""Hash tables of patterns, by a sum of hashes over non-``*`` attributes.

The sum gives the hash of a record under any set of ``*`` by subtracting terms. Tables grow, use open addressing and
compare whole patterns, so a collision costs time only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

INDIFFERENT = -1
"""The code of ``*`` in a pattern."""


@njit(cache=True)
def pattern_hash(pattern: NDArray[np.int32]) -> int:
    """Return the sum of `code_hash` over the attributes that are not ``*``."""
    total = 0
    for attribute in range(len(pattern)):
        if pattern[attribute] != INDIFFERENT:
            total += code_hash(attribute, pattern[attribute])
    return total


@njit(cache=True)
def code_hash(attribute: int, code: int) -> int:
    """Return a well mixed 31-bit hash of one attribute's code.

    No step exceeds 64 bits, compiled or not.
    """
    mixed = (int(code) + 0x632BE5AB * (attribute + 1)) & 0x7FFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
    mixed = ((mixed ^ (mixed >> 12)) * 0x297A2D39) & 0x7FFFFFFF
    return mixed ^ (mixed >> 15)


@njit(cache=True)
def _same(first: NDArray[np.int32], second: NDArray[np.int32]) -> bool:
    """Return whether two patterns are equal."""
    same = True
    for attribute in range(len(first)):
        same &= first[attribute] == second[attribute]
    return same


@njit(cache=True)
def first_visit(slots: NDArray[np.int64], visited: NDArray[np.int32], pattern: NDArray[np.int32]) -> bool:
    """Add ``pattern`` to ``visited``; return whether it is new.

    Rows 1 to slots[-1] of ``visited`` are in use. ``slots`` int64 (a power of two, + 1): open addressing, 0 is free,
    else a
    row of ``visited``; its last element counts them. The caller ensures that both are less than half full. A set of one
    round is identified by its pattern: it contains every record of the round that fits the pattern.
    """
    mask = len(slots) - 2
    slot = pattern_hash(pattern) & mask
    while slots[slot] != 0:
        row = slots[slot]
        if _same(visited[row], pattern):
            return False
        slot = (slot + 1) & mask
    slots[-1] += 1
    slots[slot] = slots[-1]
    for attribute in range(len(pattern)):
        visited[slots[-1], attribute] = pattern[attribute]
    return True


@njit(cache=True)
def rehash(visited: NDArray[np.int32], used: int, size: int) -> NDArray[np.int64]:
    """Build ``size`` slots for rows 1 to ``used`` of ``visited``.

    See `first_visit`.
    """
    slots = np.zeros(size + 1, np.int64)
    slots[-1] = used
    for row in range(1, used + 1):
        slot = pattern_hash(visited[row]) & (size - 1)
        while slots[slot] != 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = row
    return slots


@njit(cache=True)
def enlarge(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return a copy of a matrix with ``rows`` rows; new rows are not set."""
    larger = np.empty((rows, array.shape[1]), array.dtype)
    for row in range(len(array)):
        copy_row(array, row, larger, row)
    return larger


@njit(cache=True)
def copy_row(source: NDArray[Any], row: int, target: NDArray[Any], target_row: int) -> None:
    """Copy a row of one matrix into another.

    A loop compiles several times faster than a slice.
    """
    for column in range(source.shape[1]):
        target[target_row, column] = source[row, column]
