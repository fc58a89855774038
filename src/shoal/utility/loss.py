"""Information loss of a recoding, from 0 (none) to 1 (all) unless noted.

A suppressed row counts as fully generalized. For rows i, quasi-identifiers j with height H_j and |D_j| leaf values:

* distortion_ratio: generalized levels as a share of all possible ones: sum h_ij / (rows · sum H_j).
  Sun, Wang, Li and Truta, 2008, section 4.
* precision: the mean of h_ij / H_j (Sweeney's precision is 1 minus this).
* ncp: ARX's Loss. Per column the mean share of the domain that the published value covers, scaled so that a value
  itself counts 0 and `*` counts 1; over columns the geometric mean of (loss + 1), minus 1.
* discernibility: every row costs its group's size, a suppressed row the table's (not scaled). Bayardo and Agrawal,
  2005.
* average_group_size: rows per group (not scaled).
* sse_sst, il1s: change of numbers that are published as other numbers: the squared change as a share of the variance,
  for each column and averaged; and the mean change in units of sqrt(2) standard deviations. A number that is published
  as missing costs in sse_sst as if the column's mean were published, and is left out of il1s. A constant column is left
  out: it has nothing to lose.

All are computed from sums over rows, so that a table may be measured in parts; a local table is one part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import Ladder
from shoal.table import ByGroup, ByLevel, FrequencySet, Recoding

RecodingLoss = Literal["ncp", "distortion_ratio", "precision", "discernibility", "average_group_size"]
"""Losses that every recoding has."""
LossName = Literal[RecodingLoss, "sse_sst", "il1s"]
LOSSES: tuple[str, ...] = get_args(LossName)
MAX_ENTRIES_AT_ONCE = 1 << 16
"""Number of combinations summed up at a time."""


@dataclass(frozen=True)
class Published:
    """Published form of the rows, by entry of ``count`` rows.

    Attributes
    ----------
    count
        int64 (e,): rows of the entry.
    group
        int64 (e,): their group; -1 is suppressed.
    height
        float64 (e, q): levels above the value, as a share of the hierarchy's height.
    share
        float64 (e, q): share of the domain's leaf values that the published value covers.
    """

    count: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    height: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]


def published(frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding) -> Published:
    """Return the published form of every row under a recoding."""
    if isinstance(recoding, ByLevel):
        return _published_levels(frequencies, ladders, recoding, slice(0, len(frequencies.count)))
    left = frequencies.count.copy()
    np.subtract.at(left, recoding.row, recoding.count)
    group = np.r_[recoding.group, -1]
    return Published(
        np.r_[recoding.count, int(left.sum())],
        group,
        _repeat_for_rows(recoding.height, group),
        _repeat_for_rows(recoding.share, group),
    )


def _published_levels(
    frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: ByLevel, entries: slice
) -> Published:
    """Return the published form of some combinations under levels."""
    codes, group = frequencies.codes[entries], recoding.group[entries]
    part = [level / ladder.height for ladder, level in zip(ladders, recoding.levels, strict=True)]
    height = np.tile(np.asarray(part, np.float64), (len(codes), 1))
    share = np.zeros((len(codes), len(ladders)))
    for j, (ladder, level) in enumerate(zip(ladders, recoding.levels, strict=True)):
        share[:, j] = ladder.share[level][ladder.codes[level]][codes[:, j]]
    height[group < 0] = 1.0
    share[group < 0] = 1.0
    return Published(frequencies.count[entries], group, height, share)


def _repeat_for_rows(values: npt.NDArray[np.float64], group: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Repeat the values of groups, float64 (g, q), for each row.

    The last row, which stands for the suppressed rows, has 1.
    """
    found = np.ones((len(group), values.shape[1]))
    np.take(values, group[:-1], axis=0, out=found[:-1], mode="wrap")  # the default mode would buffer the output
    return found


def weighted_sums(
    count: npt.NDArray[np.int64], values: npt.NDArray[np.float64], before: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float64]:
    """Sum each column of values, float64 (n, q), weighted by count.

    The sum runs in the order of rows: a matrix product may be divided over as many threads as a machine has, and the
    last digits of a certificate must not depend on that. It continues ``before``, the sum of earlier rows.
    """
    if before is None:
        return np.asarray((count[:, None] * values).sum(axis=0))
    terms = np.empty((len(count) + 1, values.shape[1]))
    terms[0] = before
    np.multiply(count[:, None], values, out=terms[1:])
    return np.asarray(terms.sum(axis=0))


@dataclass(frozen=True)
class LossSums:
    """Sums over a part of a table from which the measures are computed.

    Attributes
    ----------
    rows, released
        All rows, and those that are in a group.
    groups, squares
        The number of groups, and the sum of their squared sizes.
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
    def of(cls, fate: Published) -> LossSums:
        """Sum over the rows of some entries, which contain whole groups."""
        sums = (weighted_sums(fate.count, values) for values in (fate.height, fate.share))
        return cls(*_group_sums(fate.count, fate.group), *sums)


def _group_sums(count: npt.NDArray[np.int64], group: npt.NDArray[np.int64]) -> tuple[int, int, int, float]:
    """Return all rows, released rows, groups, and the sum of their squares."""
    inside = group >= 0
    size = np.bincount(group[inside], weights=count[inside]).astype(np.int64)
    squares = float((size.astype(np.float64) ** 2).sum())
    return int(count.sum()), int(size.sum()), int((size > 0).sum()), squares


def loss_sums(frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding) -> LossSums:
    """Sum over all rows of a recoding; under levels, a part of them at a time.

    One column is summed at once: there the order of the sum depends on its length.
    """
    if not isinstance(recoding, ByLevel) or len(ladders) < 2:
        return LossSums.of(published(frequencies, ladders, recoding))
    height, share = np.zeros(len(ladders)), np.zeros(len(ladders))
    for low in range(0, len(frequencies.count), MAX_ENTRIES_AT_ONCE):
        fate = _published_levels(frequencies, ladders, recoding, slice(low, low + MAX_ENTRIES_AT_ONCE))
        height = weighted_sums(fate.count, fate.height, height)
        share = weighted_sums(fate.count, fate.share, share)
    return LossSums(*_group_sums(frequencies.count, recoding.group), height, share)


def measures(parts: Sequence[LossSums], heights: Sequence[float], leaf: Sequence[float]) -> dict[str, float]:
    """Compute the measures of a table from the sums of its parts.

    ``heights`` are those of the columns' hierarchies, ``leaf`` the share of its domain that one value of each covers.
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


def ncp_by_column(
    frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding
) -> npt.NDArray[np.float64]:
    """Compute the ncp of each quasi-identifier under a recoding, float64 (q,)."""
    sums = loss_sums(frequencies, ladders, recoding)
    leaf = np.asarray([float(ladder.share[0].min()) for ladder in ladders])
    covered = sums.share / sums.rows
    scaled = np.divide(covered - leaf, 1 - leaf, out=np.zeros_like(covered), where=leaf < 1)
    return np.asarray(np.maximum(scaled, 0.0), np.float64)


def losses(frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding) -> dict[str, float]:
    """Compute every measure that applies to the recoding."""
    fate = loss_sums(frequencies, ladders, recoding)
    heights, leaf = [ladder.height for ladder in ladders], [float(ladder.share[0].min()) for ladder in ladders]
    return {**(recoding.loss if isinstance(recoding, ByGroup) else {}), **measures([fate], heights, leaf)}


@dataclass(frozen=True)
class NumericChange:
    """Sums over the numbers of a part of a column.

    ``rows``, ``deviation`` and ``squares`` are the count of known numbers and the sums of their deviations from a
    centre and of the squares; ``hidden``, ``hidden_deviation`` and ``hidden_squares`` are the same for the numbers that
    are published as missing. ``change`` and ``absolute`` are, for the others, the sums of the squared and of the
    absolute change.
    """

    rows: int
    deviation: float
    squares: float
    hidden: int
    hidden_deviation: float
    hidden_squares: float
    change: float
    absolute: float


def measure_change(
    before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], centre: float | None = None
) -> NumericChange:
    """Sum up the change of numbers.

    ``centre``, near their mean, must be the same for all parts of a column; by default it is the mean of ``before``.
    """
    known = ~np.isnan(before)
    before, after = before[known], after[known]
    if centre is None:
        centre = float(before.mean()) if len(before) else 0.0
    is_published = ~np.isnan(after)
    distance, change = before - centre, (before - after)[is_published]
    hidden = distance[~is_published]
    return NumericChange(
        *(len(before), float(distance.sum()), float((distance**2).sum())),
        *(len(hidden), float(hidden.sum()), float((hidden**2).sum())),
        *(float((change**2).sum()), float(np.abs(change).sum())),
    )


def distances(columns: Mapping[str, Sequence[NumericChange]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return sse_sst and il1s over all columns, and SSE/SST of each column.

    ``columns`` has the sums of all parts of each column.
    """
    per_column: dict[str, float] = {}
    absolute = []
    for name, parts in columns.items():
        rows = sum(part.rows for part in parts)
        deviation = math.fsum(part.deviation for part in parts)
        total = math.fsum(part.squares for part in parts) - deviation * deviation / rows if rows else 0.0
        if total > 0:
            mean, hidden = deviation / rows, sum(part.hidden for part in parts)
            # the squared deviations of hidden numbers from the mean, computed from those from the centre
            price = (
                math.fsum(part.hidden_squares - 2 * mean * part.hidden_deviation for part in parts) + hidden * mean**2
            )
            per_column[name] = (math.fsum(part.change for part in parts) + max(price, 0.0)) / total
            change = math.fsum(part.absolute for part in parts) / max(rows - hidden, 1)
            absolute.append(change / math.sqrt(2 * total / max(rows - 1, 1)))
    if not per_column:
        return {}, {}
    return {"sse_sst": float(np.mean(list(per_column.values()))), "il1s": float(np.mean(absolute))}, per_column
