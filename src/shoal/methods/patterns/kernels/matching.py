"""Fits of records and patterns, and disclosures by overlapping patterns.

A record fits a pattern when they agree in every attribute that is not ``*``. The patterns are in one hash table;
a record is looked up once for each set of ``*`` that occurs, with the hash of its other attributes. The hash is a
sum over attributes, so leaving some out costs one subtraction each.

Armengol and Torra, "Generalization-based k-anonymization", end of section 3: a record may fit several patterns. So a
pattern may have fewer than k records that fit no other, and a record whose patterns all have the same confidential
class has that class disclosed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.methods.patterns.kernels.finding import Patterns
from shoal.methods.patterns.kernels.hashing import INDIFFERENT, code_hash, pattern_hash
from shoal.table.groups import group_keys


class Overlap(NamedTuple):
    """Supports and disclosures of a pattern set, in records, not rows.

    ``support``: int64 (P,), the records of the pattern's class that fit it. ``own``: int64 (P,), those of them that
    fit no other pattern of the class. ``fitting``: the records that fit a pattern of their class. ``disclosed``:
    those of them for which all patterns they fit, of any class, have one class.
    """

    support: NDArray[np.int64]
    own: NDArray[np.int64]
    fitting: int
    disclosed: int


def fit_patterns(
    codes: NDArray[np.int32], pattern_codes: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the patterns that each record fits, in ascending order.

    A record fits by its quasi-identifiers. Returns ``starts`` int64 (n + 1,) and ``fits`` int32: record i fits
    ``fits[starts[i]:starts[i + 1]]``. Time grows with n times the number of different sets of ``*`` among the patterns,
    and
    with the number of fits.

    Examples
    --------
    >>> starts, fits = fit_patterns(np.array([[1, 2], [3, 4]], np.int32), np.array([[1, -1], [1, 2]], np.int32))
    >>> starts.tolist(), fits.tolist()
    ([0, 2, 2], [0, 1])
    """
    if len(pattern_codes) == 0:
        return np.zeros(len(codes) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    starred = pattern_codes == INDIFFERENT
    of_pattern, number = group_keys(starred.astype(np.int32), [2] * starred.shape[1])
    masks = np.zeros((number, starred.shape[1]), dtype=np.bool_)
    masks[of_pattern] = starred
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    pattern_codes = np.ascontiguousarray(pattern_codes, dtype=np.int32)
    starts, fits = _fit(codes, pattern_codes, _starred(masks), of_pattern, _slots(pattern_codes))
    return starts, fits


def measure_overlap(
    codes: NDArray[np.int32], classes: NDArray[np.int32], counts: NDArray[np.int64], patterns: Patterns
) -> Overlap:
    """Measure supports, own records and disclosures of a pattern set.

    The patterns overlap (the paper's release).
    """
    starts, fits = fit_patterns(codes, patterns.codes)
    support, own, fitting, disclosed = _measure(starts, fits, classes, counts, patterns.classes)
    return Overlap(support, own, int(fitting), int(disclosed))


def _starred(masks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the attributes of each set of ``*``: int64 (m, largest set).

    Padded with -1.
    """
    starred = np.full((len(masks), int(masks.sum(axis=1).max(initial=0))), -1, dtype=np.int64)
    for row, mask in zip(starred, masks, strict=True):
        row[: mask.sum()] = np.flatnonzero(mask)
    return starred


@njit(cache=True)
def _slots(pattern_codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Build a hash table over `pattern_hash`: int64 (a power of two,).

    Open addressing: -1 is free, else a pattern; equal patterns are all stored.
    """
    size = 16
    while size < 4 * len(pattern_codes):
        size *= 2
    slots = np.full(size, -1, np.int64)
    for pattern in range(len(pattern_codes)):
        slot = pattern_hash(pattern_codes[pattern]) & (size - 1)
        while slots[slot] != -1:
            slot = (slot + 1) & (size - 1)
        slots[slot] = pattern
    return slots


@njit(cache=True)
def _agrees(record: NDArray[np.int32], pattern: NDArray[np.int32]) -> bool:
    """Return whether the record fits the pattern."""
    for attribute in range(len(record)):
        if pattern[attribute] != INDIFFERENT and pattern[attribute] != record[attribute]:
            return False
    return True


@njit(cache=True)
def _fit(
    codes: NDArray[np.int32],
    pattern_codes: NDArray[np.int32],
    starred: NDArray[np.int64],
    mask_of_pattern: NDArray[np.int64],
    slots: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Compute the fits of `fit_patterns`.

    ``starred`` is that of `_starred`, ``mask_of_pattern`` is int64 (P,).
    """
    size, width = codes.shape
    starts = np.zeros(size + 1, np.int64)
    fits = np.empty(4 * size + 64, np.int32)
    hashes = np.empty(width, np.int64)
    number = 0
    for row in range(size):
        whole = 0
        for attribute in range(width):
            hashes[attribute] = code_hash(attribute, codes[row, attribute])
            whole += hashes[attribute]
        for mask in range(len(starred)):
            part = whole
            for attribute in starred[mask]:
                if attribute == -1:
                    break
                part -= hashes[attribute]
            slot = part & (len(slots) - 1)
            while slots[slot] != -1:
                pattern = slots[slot]
                if mask_of_pattern[pattern] == mask and _agrees(codes[row], pattern_codes[pattern]):
                    if number == len(fits):
                        larger = np.empty(2 * number, np.int32)
                        larger[:number] = fits
                        fits = larger
                    fits[number] = pattern
                    number += 1
                slot = (slot + 1) & (len(slots) - 1)
        fits[starts[row] : number].sort()
        starts[row + 1] = number
    return starts, fits[:number].copy()


@njit(cache=True)
def _measure(
    starts: NDArray[np.int64],
    fits: NDArray[np.int32],
    classes: NDArray[np.int32],
    counts: NDArray[np.int64],
    pattern_classes: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """Compute the fields of `Overlap`. Time grows with the number of fits."""
    support = np.zeros(len(pattern_classes), np.int64)
    own = np.zeros(len(pattern_classes), np.int64)
    fitting = 0
    disclosed = 0
    for row in range(len(counts)):
        of_class = 0
        others = 0
        only = -1
        for index in range(starts[row], starts[row + 1]):
            pattern = fits[index]
            if pattern_classes[pattern] == classes[row]:
                support[pattern] += counts[row]
                of_class += 1
                only = pattern
            else:
                others += 1
        if of_class == 1:
            own[only] += counts[row]
        if of_class > 0:
            fitting += counts[row]
            if others == 0:
                disclosed += counts[row]
    return support, own, fitting, disclosed
