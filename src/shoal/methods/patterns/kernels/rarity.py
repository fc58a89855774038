"""Columns with rare combinations, as reasons for discarded records.

No value is reported. A set of columns makes a record rare when fewer than k records of the table share the record's
values there, and no smaller set of them does so already. Armengol and Torra, "Generalization-based k-anonymization",
section 4, take discarded records for outliers, "records that have very particular combinations of values"; this module
finds the columns.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.table.groups import group_keys


def rare_columns(
    codes: NDArray[np.int32], counts: NDArray[np.int64], discarded: NDArray[np.bool_], k: int, max_columns: int = 2
) -> tuple[list[tuple[tuple[int, ...], int]], int]:
    """Count the discarded records that each small set of columns makes rare.

    Sets have at most ``max_columns`` columns. Also returns the number of records that no such set makes rare. ``codes``
    int32 (n, q), ``counts`` int64 (n,), ``discarded`` bool (n,). The list has pairs (columns, records), most records
    first,
    then fewer columns, then their order; sets without a record are omitted. A record counts once for each smallest set
    that
    makes it rare, so the records do not add up. Time grows with n log n C(q, ``max_columns``).

    Examples
    --------
    >>> codes = np.array([[0, 0, 1], [0, 0, 2], [7, 0, 1]], dtype=np.int32)
    >>> rare_columns(codes, np.array([3, 2, 1]), np.array([False, False, True]), k=2)
    ([((0,), 1)], 0)
    """
    rare: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.zeros(len(counts), dtype=np.bool_)}
    reasons = []
    unexplained = discarded.copy()
    for size in range(1, min(max_columns, codes.shape[1]) + 1):
        for columns in combinations(range(codes.shape[1]), size):
            # Rarity is monotone in the set of columns, so only the sets smaller by one need be checked.
            rare[columns] = _count_equal_records(codes[:, list(columns)], counts) < k
            newly = rare[columns] & discarded
            for smaller in combinations(columns, size - 1):
                newly &= ~rare[smaller]
            unexplained &= ~newly
            if newly.any():
                reasons.append((columns, int(counts[newly].sum())))
    reasons.sort(key=lambda reason: (-reason[1], len(reason[0]), reason[0]))
    return reasons, int(counts[unexplained].sum())


def _count_equal_records(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the records with the same codes as each row: int64 (n,)."""
    group, number = group_keys(codes, (codes.max(axis=0, initial=0) + 1).tolist())
    equal: NDArray[np.int64] = np.bincount(group, weights=counts, minlength=number).astype(np.int64)[group]
    return equal
