"""Special uniques: rows that are unique in few columns, with SUDA scores.

A *minimal sample unique* (MSU) of a row is a set of columns in which no other row has the same values, while in every
proper subset some other row has. A small MSU marks a person who stands out. The SUDA score of a row adds up, over its
MSUs of size s <= M, the products (q - s)(q - s - 1)...(q - M), for q columns.

Elliot, Manning and Ford, "A computational algorithm for handling the special uniques problem", 2002; Manning, Haglin
and Keane, "A recursive search algorithm for statistical disclosure assessment" (SUDA2), Data Mining and Knowledge
Discovery 16, 2008. Scores: Elliot, Manning, Mayes, Gurd and Bane, "SUDA: a program for detecting special uniques",
2005.

The search visits the sets in the order of binary counting, so that all subsets of a set come before it. A row that is
unique in a set leaves the search below it: it is unique in every superset too, so it neither has an MSU there nor
duplicates another row. The number of rows falls quickly on the way down, as in SUDA2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.table.groups import group_keys

MAX_DEFAULT_SET_SIZE = 6
MAX_COLUMN_SETS = 2000
"""Number of column sets beyond which the default search does not go to larger sets."""


@dataclass(frozen=True)
class SpecialUniques:
    """Minimal sample uniques and SUDA scores.

    Attributes
    ----------
    names
        The columns.
    largest
        M, the largest size of a set that was examined.
    score
        float64 (n,): the SUDA score of each combination; 0 where it has no MSU of that size.
    smallest
        int64 (n,): the size of its smallest MSU, 0 where it has none.
    sets
        int64 (M,): the number of MSUs of sizes 1 to M.
    contribution
        float64 (q,): the share of all scores that comes from MSUs with this column.
    """

    names: tuple[str, ...]
    largest: int
    score: npt.NDArray[np.float64]
    smallest: npt.NDArray[np.int64]
    sets: npt.NDArray[np.int64]
    contribution: npt.NDArray[np.float64]

    @property
    def count(self) -> int:
        """Number of rows that are special uniques."""
        return int((self.smallest > 0).sum())

    def to_dict(self) -> dict[str, object]:
        """Return counts and scores for JSON, without rows."""
        scores = np.sort(self.score[self.smallest > 0])
        return {
            "special_uniques": self.count,
            "largest_size": self.largest,
            "unique_sets_by_size": {str(size): int(number) for size, number in enumerate(self.sets, 1)},
            "rows_by_smallest_set": {
                str(size): int((self.smallest == size).sum()) for size in range(1, self.largest + 1)
            },
            "highest_score": float(scores[-1]) if len(scores) else 0.0,
            "median_score": float(np.median(scores)) if len(scores) else 0.0,
            "contribution": {name: float(part) for name, part in zip(self.names, self.contribution, strict=True)},
        }


def special_uniques(
    codes: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
    names: Sequence[str] = (),
    largest: int | None = None,
) -> SpecialUniques:
    """Compute the SUDA scores of special uniques.

    Parameters
    ----------
    codes
        int32 (n, q): distinct combinations as codes.
    count
        int64 (n,): the number of rows of each combination; only combinations of one row can be unique.
    largest
        M, the largest size of an MSU that is searched; by default q - 1, at most 6, and less where there are so
        many columns that the sets would be more than 2,000.

    Time: the number of column sets up to M times the combinations that are not yet unique there.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 1]], np.int32)
    >>> special_uniques(codes, np.array([1, 1, 1])).score.tolist()
    [1.0, 0.0, 1.0]
    """
    n, q = codes.shape
    if largest is not None and not 1 <= largest <= q:
        raise PlanError("attack.unique-set-size-out-of-range", columns=q)
    max_size = _default_size(q) if largest is None else largest
    named = tuple(names) or tuple(f"column{number}" for number in range(1, q + 1))
    # (q - s) ... (q - M); where M = q the last factor is omitted, or all scores would be 0
    weight = [float(math.prod(q - i for i in range(size, min(max_size, q - 1) + 1))) for size in range(1, max_size + 1)]
    score = np.zeros(n)
    smallest = np.zeros(n, np.int64)
    sets = np.zeros(max_size, np.int64)
    contribution = np.zeros(q)
    for columns, rows in minimal_sample_uniques(codes, count, max_size):
        size = len(columns)
        score[rows] += weight[size - 1]
        smallest[rows] = np.where(smallest[rows] == 0, size, np.minimum(smallest[rows], size))
        sets[size - 1] += len(rows)
        contribution[list(columns)] += weight[size - 1] * len(rows)
    total = float(score.sum())
    return SpecialUniques(named, max_size, score, smallest, sets, contribution / total if total else contribution)


def _default_size(columns: int) -> int:
    sizes = range(1, max(1, min(columns - 1, MAX_DEFAULT_SET_SIZE)) + 1)
    sets = np.cumsum([math.comb(columns, size) for size in sizes])
    return max(1, int((sets <= MAX_COLUMN_SETS).sum()))


def minimal_sample_uniques(
    codes: npt.NDArray[np.int32], count: npt.NDArray[np.int64], largest: int
) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
    """Yield every column set that is an MSU of some row, with these rows.

    All subsets of a set come before it.
    """
    n, q = codes.shape
    sizes = [int(codes[:, j].max(initial=0)) + 1 for j in range(q)]
    # a combination of several rows is never unique, but duplicates others: two stand for any number
    weight = np.minimum(count, 2)
    found: dict[int, npt.NDArray[np.int64]] = {}
    has_smaller_msu = np.zeros(n, np.bool_)

    def visit(
        mask: int, lowest: int, depth: int, rows: npt.NDArray[np.int64], key: npt.NDArray[np.int64], groups: int
    ) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
        for j in range(lowest):
            pair = np.stack([key, codes[rows, j]], axis=1).astype(np.int32)
            number, distinct = group_keys(pair, [groups, sizes[j]])
            alone = np.bincount(number, weights=weight[rows], minlength=distinct)[number] == 1
            below = mask | (1 << j)
            if alone.any():
                unique_rows = rows[alone]
                parts = [rows_of for part, rows_of in found.items() if part & below == part]
                for part in parts:
                    has_smaller_msu[part] = True
                minimal = unique_rows[~has_smaller_msu[unique_rows]]
                for part in parts:
                    has_smaller_msu[part] = False
                if len(minimal):
                    found[below] = minimal
                    yield tuple(c for c in range(q) if below >> c & 1), minimal
            if j and depth + 1 < largest:
                remaining = ~alone
                if remaining.any():
                    renumbered, remaining_groups = group_keys(number[remaining].astype(np.int32)[:, None], [distinct])
                    yield from visit(below, j, depth + 1, rows[remaining], renumbered, remaining_groups)

    everyone = np.arange(n, dtype=np.int64)
    yield from visit(0, q, 0, everyone, np.zeros(n, np.int64), 1)
