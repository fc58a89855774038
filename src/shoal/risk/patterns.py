"""Disclosure by a published set of overlapping patterns.

A pattern shows some values, `*` elsewhere, a sensitive class, and the number of records that it describes. Records may
match several patterns, and then the supports alone do not protect: by subtracting one support from another, a reader
can single out the records that match one pattern and not the other; and the class of a record is disclosed if it only
matches patterns of one class. Everything is counted from the published patterns and the table, without the search that
found them.

Armengol and Torra, "Generalization-based k-anonymization", section 3, end: a record may fit more than one pattern.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.table.groups import group_keys

WILDCARD_CODE = -1
"""Code of `*` in a pattern."""


@dataclass(frozen=True)
class PatternExposure:
    """Records that a pattern set exposes; all counts are records.

    Attributes
    ----------
    support, own
        int64 (P,): records of the pattern's class that match it, and those of them that match no other pattern of the
        class.
    fitting
        Records that match a pattern of their class.
    disclosed
        Those of them that match patterns of no other class, so that their class is disclosed.
    cells
        int64 (c,): sizes of the sets of records that match the same patterns of their class, the finest sets that
        supports can distinguish.
    """

    support: npt.NDArray[np.int64]
    own: npt.NDArray[np.int64]
    fitting: int
    disclosed: int
    cells: npt.NDArray[np.int64]


def expose_patterns(
    codes: npt.NDArray[np.int32],
    classes: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    patterns: npt.NDArray[np.int32],
    pattern_classes: npt.NDArray[np.int64],
) -> PatternExposure:
    """Match every record with every pattern, one sort per set of `*` columns.

    Parameters
    ----------
    codes, patterns
        int32 (n, q) and (P, q), at least 0; in patterns -1 is `*`.
    classes, pattern_classes
        int64 (n,) and (P,): the sensitive class, at least 0.
    counts
        int64 (n,): records of each row.

    Time (n + P) log (n + P) and memory n, each times the distinct sets of `*`.

    Examples
    --------
    >>> codes = np.array([[1, 2], [1, 3]], np.int32)
    >>> patterns = np.array([[1, -1], [1, 2]], np.int32)
    >>> exposure = expose_patterns(codes, np.array([0, 0]), np.array([5, 1]), patterns, np.array([0, 0]))
    >>> exposure.support.tolist(), exposure.own.tolist(), sorted(exposure.cells.tolist())
    ([6, 5], [1, 0], [1, 5])
    """
    rows, number = len(codes), len(patterns)
    support = np.zeros(number, np.int64)
    fits_class = np.zeros(rows, np.int64)
    fits_any = np.zeros(rows, np.int64)
    matching_pattern = np.full(rows, -1, np.int64)
    starred = patterns == WILDCARD_CODE
    of_pattern, sets = group_keys(starred.astype(np.int32), [2] * starred.shape[1])
    masks = np.zeros((sets if number else 0, starred.shape[1]), np.bool_)
    masks[of_pattern] = starred
    signature = np.full((rows, len(masks)), -1, np.int32)
    for m, mask in enumerate(masks):
        chosen = np.flatnonzero(of_pattern == m)
        visible = np.flatnonzero(~mask)
        visible_key = _numbered(codes[:, visible], patterns[np.ix_(chosen, visible)])
        fits_any += np.bincount(visible_key[rows:], minlength=visible_key.max() + 1)[visible_key[:rows]]
        classed, keys = group_keys(
            np.column_stack([visible_key, np.concatenate([classes, pattern_classes[chosen]])]).astype(np.int64),
            [int(visible_key.max()) + 1, int(max(classes.max(initial=0), pattern_classes.max(initial=0))) + 1],
        )
        fits_class += np.bincount(classed[rows:], minlength=keys)[classed[:rows]]
        first = np.full(keys, -1, np.int64)
        first[classed[rows:][::-1]] = chosen[::-1]
        signature[:, m] = first[classed[:rows]]
        matching_pattern = np.where(signature[:, m] >= 0, signature[:, m], matching_pattern)
        support[chosen] = np.bincount(classed[:rows], weights=counts, minlength=keys)[classed[rows:]].astype(np.int64)
    single = fits_class == 1
    own = np.bincount(matching_pattern[single], weights=counts[single], minlength=number).astype(np.int64)
    known = fits_class > 0
    inverse, cells = group_keys(signature[known] + 1, [number + 1] * len(masks))
    sizes = np.bincount(inverse, weights=counts[known], minlength=cells).astype(np.int64)
    disclosed = known & (fits_any == fits_class)
    return PatternExposure(support, own, int(counts[known].sum()), int(counts[disclosed].sum()), sizes[sizes > 0])


def _numbered(codes: npt.NDArray[np.int32], patterns: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Number the combinations of values, of records and then patterns."""
    both = np.concatenate([codes, patterns])
    return group_keys(both, (both.max(axis=0, initial=-1) + 1).tolist())[0]
