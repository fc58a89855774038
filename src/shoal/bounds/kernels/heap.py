"""A heap of the smallest numbers seen, the largest of them first.

It has as many numbers as a group has rows. Replacing one takes time logarithmic in the size.
"""

from __future__ import annotations

from numba import njit

from shoal.kernels.options import INNER


@njit(**INNER)
def replace_largest(heap, value):
    """Replace the largest number of a heap by a value.

    The largest is the first; each number is no less than its two children.
    """
    size = len(heap)
    position = 0
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[position] = heap[child]
        position = child
    heap[position] = value
