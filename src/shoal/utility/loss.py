"""What a recoding lost, as single figures between 0 (nothing) and 1 (all), unless said otherwise.

A suppressed row counts as fully generalized. For rows i, quasi-identifiers j with height H_j and |D_j| leaf values:

* distortion_ratio: how many levels values went up, over how many they could: sum h_ij / (rows · sum H_j).
  Sun, Wang, Li and Truta, 2008, section 4.
* precision: the mean of h_ij / H_j (Sweeney's precision is 1 minus this).
* ncp: ARX's Loss. Per column the mean share of the domain that the published value covers, scaled so that a value
  itself counts 0 and `*` counts 1; over columns the geometric mean of (loss + 1), minus 1.
* discernibility: every row pays its group's size, a suppressed row the table's (not scaled). Bayardo and Agrawal, 2005.
* average_group_size: rows per group (not scaled).
* sse_sst, il1s: of numbers that are published as other numbers, how far they moved: the squared change as part of the
  variance, each column by itself and their mean; and the mean change in units of sqrt(2) standard deviations. A number
  that is published as missing costs in sse_sst as if the column's mean were shown in its place, and is left out of
  il1s. A column that is constant is left out: it has nothing to lose.

All are made of sums over rows, so that a table may be measured in parts; one that is here is one part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.schema import Ladder
from shoal.table import ByGroup, ByLevel, FrequencySet, Recoding, recode_codes

__all__ = [
    "LOSSES", "LossName", "Moved", "Published", "RecodingLoss", "Sums", "distances", "losses", "measures", "moved",
    "published", "weighted_sums",
]  # fmt: skip

RecodingLoss = Literal["ncp", "distortion_ratio", "precision", "discernibility", "average_group_size"]
"""What every recoding has."""
LossName = Literal[RecodingLoss, "sse_sst", "il1s"]
LOSSES: tuple[str, ...] = get_args(LossName)


@dataclass(frozen=True)
class Published:
    """What becomes of the rows, entry by entry: ``count`` rows share a fate.

    Attributes
    ----------
    count
        int64 (e,): rows of the entry.
    group
        int64 (e,): their group; -1 is suppressed.
    height
        float64 (e, q): levels above the value, as part of the hierarchy's height.
    share
        float64 (e, q): part of the domain's leaf values that the published value covers.
    """

    count: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    height: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]


def published(frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding) -> Published:
    """The fate of every row under a recoding."""
    if isinstance(recoding, ByLevel):
        codes, _ = recode_codes(frequencies.codes, ladders, recoding.levels)
        part = [level / ladder.height for ladder, level in zip(ladders, recoding.levels, strict=True)]
        height = np.tile(np.asarray(part, np.float64), (len(codes), 1))
        share = np.zeros((len(codes), len(ladders)))
        for j, (ladder, level) in enumerate(zip(ladders, recoding.levels, strict=True)):
            share[:, j] = ladder.share[level][codes[:, j]]
        height[recoding.group < 0] = 1.0
        share[recoding.group < 0] = 1.0
        return Published(frequencies.count, recoding.group, height, share)
    left = frequencies.count.copy()
    np.subtract.at(left, recoding.row, recoding.count)
    group = np.r_[recoding.group, -1]
    return Published(
        np.r_[recoding.count, int(left.sum())], group, _of_rows(recoding.height, group), _of_rows(recoding.share, group)
    )


def _of_rows(values: npt.NDArray[np.float64], group: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """What groups have, float64 (g, q), for each row; 1 for the last, which stands for those that are left out."""
    found = np.ones((len(group), values.shape[1]))
    np.take(values, group[:-1], axis=0, out=found[:-1], mode="wrap")  # else it is laid aside first
    return found


def weighted_sums(count: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The sum of each column of values, float64 (n, q), each row as often as it counts.

    Added in the order of rows: a matrix product may be shared out to threads, as many as a machine has, and the last
    digits of a certificate must not hang on that.
    """
    return np.asarray((count[:, None] * values).sum(axis=0))


@dataclass(frozen=True)
class Sums:
    """What the measures need of a part of a table.

    Attributes
    ----------
    rows, released
        All of them, and those that are in a group.
    groups, squares
        How many there are, and the sum of their squared sizes.
    height, share
        float64 (q,): sums over rows, as in :class:`Published`.
    """

    rows: int
    released: int
    groups: int
    squares: float
    height: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]

    @classmethod
    def of(cls, fate: Published) -> Sums:
        """The sums of the rows of some entries; every group is whole in them."""
        inside = fate.group >= 0
        size = np.bincount(fate.group[inside], weights=fate.count[inside]).astype(np.int64)
        return cls(
            int(fate.count.sum()),
            int(size.sum()),
            int((size > 0).sum()),
            float((size.astype(np.float64) ** 2).sum()),
            weighted_sums(fate.count, fate.height),
            weighted_sums(fate.count, fate.share),
        )


def measures(parts: Sequence[Sums], heights: Sequence[float], leaf: Sequence[float]) -> dict[str, float]:
    """The measures of a table, of the parts that it has.

    ``heights`` are those of the columns' hierarchies, ``leaf`` the part of its domain that one value of each covers.
    """
    rows, released = sum(part.rows for part in parts), sum(part.released for part in parts)
    height, covered = (
        np.asarray([math.fsum(sums) for sums in zip(*columns, strict=True)]) / rows
        for columns in ([part.height for part in parts], [part.share for part in parts])
    )
    high, least = np.asarray(heights, np.float64), np.asarray(leaf, np.float64)
    # a column of one value has nothing to lose
    scaled = np.divide(covered - least, 1 - least, out=np.zeros_like(covered), where=least < 1)
    return {
        "distortion_ratio": float((height * high).sum() / high.sum()),
        "precision": float(height.mean()),
        "ncp": float(np.exp(np.log1p(np.maximum(scaled, 0)).mean()) - 1),
        "discernibility": math.fsum(part.squares for part in parts) + float(rows - released) * rows,
        "average_group_size": released / max(sum(part.groups for part in parts), 1),
    }


def losses(frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding) -> dict[str, float]:
    """Every measure that applies to the recoding."""
    fate = Sums.of(published(frequencies, ladders, recoding))
    heights, leaf = [ladder.height for ladder in ladders], [float(ladder.share[0].min()) for ladder in ladders]
    return {**(recoding.loss if isinstance(recoding, ByGroup) else {}), **measures([fate], heights, leaf)}


@dataclass(frozen=True)
class Moved:
    """Of the rows of a part that have a number: how many, sums of their distances from a centre and their squares; the
    same of those that show none; and of the others the sums of the squared change, and of the change."""

    rows: int
    apart: float
    squares: float
    hidden: int
    hidden_apart: float
    hidden_squares: float
    change: float
    absolute: float


def moved(before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], centre: float | None = None) -> Moved:
    """How far numbers moved; ``centre``, near their mean, is the same for all parts of a column (their own without)."""
    known = ~np.isnan(before)
    before, after = before[known], after[known]
    if centre is None:
        centre = float(before.mean()) if len(before) else 0.0
    shown = ~np.isnan(after)
    distance, change = before - centre, (before - after)[shown]
    hidden = distance[~shown]
    return Moved(
        *(len(before), float(distance.sum()), float((distance**2).sum())),
        *(len(hidden), float(hidden.sum()), float((hidden**2).sum())),
        *(float((change**2).sum()), float(np.abs(change).sum())),
    )


def distances(columns: Mapping[str, Sequence[Moved]]) -> tuple[dict[str, float], dict[str, float]]:
    """sse_sst and il1s over all columns, and SSE/SST of each, of the parts that each column has."""
    per_column: dict[str, float] = {}
    absolute = []
    for name, parts in columns.items():
        rows = sum(part.rows for part in parts)
        apart = math.fsum(part.apart for part in parts)
        total = math.fsum(part.squares for part in parts) - apart * apart / rows if rows else 0.0
        if total > 0:
            mean, hidden = apart / rows, sum(part.hidden for part in parts)
            # the squared distances from the mean of what is hidden, of those from the centre
            price = math.fsum(part.hidden_squares - 2 * mean * part.hidden_apart for part in parts) + hidden * mean**2
            per_column[name] = (math.fsum(part.change for part in parts) + max(price, 0.0)) / total
            change = math.fsum(part.absolute for part in parts) / max(rows - hidden, 1)
            absolute.append(change / math.sqrt(2 * total / max(rows - 1, 1)))
    if not per_column:
        return {}, {}
    return {"sse_sst": float(np.mean(list(per_column.values()))), "il1s": float(np.mean(absolute))}, per_column
