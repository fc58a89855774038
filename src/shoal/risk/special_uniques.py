"""Special uniques: rows that are alone already in a few of their columns, with SUDA scores.

A *minimal sample unique* (MSU) of a row is a set of columns in which no other row has the same values, while in every
proper part of the set some other row has. A small MSU is a mark of a person who stands out. A row's SUDA score adds up,
over its MSUs of size s <= M, the products (q - s)(q - s - 1)...(q - M), for q columns.

Elliot, Manning and Ford, "A computational algorithm for handling the special uniques problem", 2002; Manning, Haglin
and Keane, "A recursive search algorithm for statistical disclosure assessment" (SUDA2), Data Mining and Knowledge
Discovery 16, 2008. Scores: Elliot, Manning, Mayes, Gurd and Bane, "SUDA: a program for detecting special uniques",
2005.

The search goes through the sets in the order of binary counting, so that all parts of a set come before it. A row that
is alone in a set leaves the search below it: it is alone in every larger set too, so it neither has an MSU there nor is
another row's double. The rows shrink fast on the way down, as in SUDA2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.table.groups import group_keys

__all__ = ["SpecialUniques", "minimal_sample_uniques", "special_uniques"]

LARGEST = 6
MOST_SETS = 2000
"""Unless told otherwise, the search stops at a size beyond which there are more sets of columns than this."""


@dataclass(frozen=True)
class SpecialUniques:
    """Minimal sample uniques and scores.

    Attributes
    ----------
    names
        The columns.
    largest
        M, the largest size of a set that was looked at.
    score
        float64 (n,): the SUDA score of each combination; 0 where it has no MSU of that size.
    smallest
        int64 (n,): the size of its smallest MSU, 0 where it has none.
    sets
        int64 (M,): how many MSUs of sizes 1 to M there are.
    contribution
        float64 (q,): which part of all scores comes from MSUs with this column.
    """

    names: tuple[str, ...]
    largest: int
    score: npt.NDArray[np.float64]
    smallest: npt.NDArray[np.int64]
    sets: npt.NDArray[np.int64]
    contribution: npt.NDArray[np.float64]

    @property
    def count(self) -> int:
        """How many rows are special uniques."""
        return int((self.smallest > 0).sum())

    def to_dict(self) -> dict[str, object]:
        """For JSON: counts and scores, no row."""
        scores = np.sort(self.score[self.smallest > 0])
        return {
            "special_uniques": self.count,
            "largest_size": self.largest,
            "unique_sets_by_size": {str(size): int(many) for size, many in enumerate(self.sets, 1)},
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
    """Score the rows that stand out.

    Parameters
    ----------
    codes
        int32 (n, q): distinct combinations as codes.
    count
        int64 (n,): how many rows have each combination; only those of one row can be unique.
    largest
        M, the largest size of an MSU that is looked for; by default q - 1, at most 6, and less where there are so
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
        raise PlanError(f"The largest size of a unique set must be from 1 to {q}, the number of columns.")
    most = _usual_size(q) if largest is None else largest
    named = tuple(names) or tuple(f"column{place}" for place in range(1, q + 1))
    # (q - s) ... (q - M); where M = q the last factor is left out, or all scores would be 0
    weight = [float(math.prod(q - i for i in range(size, min(most, q - 1) + 1))) for size in range(1, most + 1)]
    score = np.zeros(n)
    smallest = np.zeros(n, np.int64)
    sets = np.zeros(most, np.int64)
    contribution = np.zeros(q)
    for columns, rows in minimal_sample_uniques(codes, count, most):
        size = len(columns)
        score[rows] += weight[size - 1]
        smallest[rows] = np.where(smallest[rows] == 0, size, np.minimum(smallest[rows], size))
        sets[size - 1] += len(rows)
        contribution[list(columns)] += weight[size - 1] * len(rows)
    total = float(score.sum())
    return SpecialUniques(named, most, score, smallest, sets, contribution / total if total else contribution)


def _usual_size(columns: int) -> int:
    sizes = range(1, max(1, min(columns - 1, LARGEST)) + 1)
    sets = np.cumsum([math.comb(columns, size) for size in sizes])
    return max(1, int((sets <= MOST_SETS).sum()))


def minimal_sample_uniques(
    codes: npt.NDArray[np.int32], count: npt.NDArray[np.int64], largest: int
) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
    """Every set of columns that is an MSU of some row, with these rows; all parts of a set come before it."""
    n, q = codes.shape
    sizes = [int(codes[:, j].max(initial=0)) + 1 for j in range(q)]
    # a combination of several rows is never unique, but it is a double of others: two stand for any number
    weight = np.minimum(count, 2)
    found: dict[int, npt.NDArray[np.int64]] = {}
    doubtful = np.zeros(n, np.bool_)

    def visit(
        mask: int, lowest: int, depth: int, rows: npt.NDArray[np.int64], key: npt.NDArray[np.int64], groups: int
    ) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.int64]]]:
        for j in range(lowest):
            pair = np.stack([key, codes[rows, j]], axis=1).astype(np.int32)
            number, many = group_keys(pair, [groups, sizes[j]])
            alone = np.bincount(number, weights=weight[rows], minlength=many)[number] == 1
            below = mask | (1 << j)
            if alone.any():
                lonely = rows[alone]
                parts = [rows_of for part, rows_of in found.items() if part & below == part]
                for part in parts:
                    doubtful[part] = True
                minimal = lonely[~doubtful[lonely]]
                for part in parts:
                    doubtful[part] = False
                if len(minimal):
                    found[below] = minimal
                    yield tuple(c for c in range(q) if below >> c & 1), minimal
            if j and depth + 1 < largest:
                kept = ~alone
                if kept.any():
                    again, left = group_keys(number[kept].astype(np.int32)[:, None], [many])
                    yield from visit(below, j, depth + 1, rows[kept], again, left)

    everyone = np.arange(n, dtype=np.int64)
    yield from visit(0, q, 0, everyone, np.zeros(n, np.int64), 1)
