"""Patterns in hash tables: a sum of hashes over the attributes that are not ``*``, and tables that grow.

The sum lets the hash of a record under any set of ``*`` be had by leaving terms out. Tables use open addressing and
compare whole patterns, so a collision costs time and nothing else.
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
    """The hash of a pattern: the sum of `code_hash` over the attributes that are not ``*``."""
    total = 0
    for attribute in range(len(pattern)):
        if pattern[attribute] != INDIFFERENT:
            total += code_hash(attribute, pattern[attribute])
    return total


@njit(cache=True)
def code_hash(attribute: int, code: int) -> int:
    """A well mixed 31-bit number of one attribute's code; no step leaves 64 bits, compiled or not."""
    mixed = (int(code) + 0x632BE5AB * (attribute + 1)) & 0x7FFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
    mixed = ((mixed ^ (mixed >> 12)) * 0x297A2D39) & 0x7FFFFFFF
    return mixed ^ (mixed >> 15)


@njit(cache=True)
def _same(first: NDArray[np.int32], second: NDArray[np.int32]) -> bool:
    """Whether two patterns are equal."""
    same = True
    for attribute in range(len(first)):
        same &= first[attribute] == second[attribute]
    return same


@njit(cache=True)
def first_visit(slots: NDArray[np.int64], visited: NDArray[np.int32], pattern: NDArray[np.int32]) -> bool:
    """Whether ``pattern`` is new; then it is added to ``visited`` (rows 1 to slots[-1] are in use).

    ``slots`` int64 (a power of two, + 1): open addressing, 0 is free, else a row of ``visited``; its last element
    counts them. The caller keeps both less than half full. A set of one round is known by its pattern: it holds every
    record of the round that fits the pattern.
    """
    mask = len(slots) - 2
    place = pattern_hash(pattern) & mask
    while slots[place] != 0:
        row = slots[place]
        if _same(visited[row], pattern):
            return False
        place = (place + 1) & mask
    slots[-1] += 1
    slots[place] = slots[-1]
    for attribute in range(len(pattern)):
        visited[slots[-1], attribute] = pattern[attribute]
    return True


@njit(cache=True)
def rehashed(visited: NDArray[np.int32], used: int, size: int) -> NDArray[np.int64]:
    """Slots (see `first_visit`) of ``size`` places for rows 1 to ``used`` of ``visited``."""
    slots = np.zeros(size + 1, np.int64)
    slots[-1] = used
    for row in range(1, used + 1):
        place = pattern_hash(visited[row]) & (size - 1)
        while slots[place] != 0:
            place = (place + 1) & (size - 1)
        slots[place] = row
    return slots


@njit(cache=True)
def grown(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """A copy of a matrix with so many rows; the new rows are not set."""
    larger = np.empty((rows, array.shape[1]), array.dtype)
    for row in range(len(array)):
        copy_row(array, row, larger, row)
    return larger


@njit(cache=True)
def copy_row(source: NDArray[Any], row: int, target: NDArray[Any], place: int) -> None:
    """Copy a row of one matrix into another (a loop compiles several times faster than a slice)."""
    for column in range(source.shape[1]):
        target[place, column] = source[row, column]
