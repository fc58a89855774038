"""How many rows could be taken for a row, where some cells show nothing and may stand for any value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.encoding.groups import group_keys, sum_by

__all__ = ["wildcard_counts"]


def wildcard_counts(
    codes: npt.NDArray[np.int32], count: npt.NDArray[np.int64], enough: int | None = None
) -> npt.NDArray[np.int64]:
    """For every combination, the rows that agree with it wherever both show a value; -1 shows none.

    Combinations are compared class by class, where a class shows values in the same columns: two classes are
    compared on the columns that both show. With ``enough``, combinations are counted no further once they have that
    many; classes with many rows come first. Cost: combinations times classes, in the worst case.

    >>> wildcard_counts(np.asarray([[0, 0], [0, 1], [0, -1]], np.int32), np.asarray([1, 2, 1]))
    array([2, 3, 4])
    """
    shows = codes >= 0
    kind, kinds = group_keys(shows.astype(np.int32), [2] * codes.shape[1])
    members = [np.flatnonzero(kind == number) for number in range(kinds)]
    members.sort(key=lambda rows: (-int(count[rows].sum()), int(rows[0])))
    total = np.zeros(len(codes), np.int64)
    sizes = [int(column.max(initial=0)) + 1 for column in codes.T]
    for mine in members:
        open_rows = mine
        for theirs in members:
            common = np.flatnonzero(shows[mine[0]] & shows[theirs[0]])
            both = np.concatenate([open_rows, theirs])
            key, keys = group_keys(codes[np.ix_(both, common)], [sizes[j] for j in common])
            held = sum_by(key[len(open_rows) :], count[theirs], keys)
            total[open_rows] += held[key[: len(open_rows)]]
            if enough is not None:
                open_rows = open_rows[total[open_rows] < enough]
                if not len(open_rows):
                    break
    return total
