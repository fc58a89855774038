"""The least of many numbers, as many as a group has rows: kept so that one more costs the logarithm of how many."""

from __future__ import annotations

from numba import njit

from shoal.kernels.options import INNER

__all__ = ["replace_largest"]


@njit(**INNER)
def replace_largest(heap, value):
    """Put a value in the place of the largest of a heap, which is the first; each is no less than its two followers."""
    size = len(heap)
    place = 0
    while True:
        larger = 2 * place + 1
        if larger >= size:
            break
        if larger + 1 < size and heap[larger + 1] > heap[larger]:
            larger += 1
        if heap[larger] <= value:
            break
        heap[place] = heap[larger]
        place = larger
    heap[place] = value
