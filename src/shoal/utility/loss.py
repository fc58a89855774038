"""What a recoding lost, as single figures between 0 (nothing) and 1 (all), unless said otherwise.

A suppressed row counts as fully generalized. For rows i, quasi-identifiers j with height H_j and |D_j| leaf values:

* distortion_ratio: how many levels values went up, over how many they could: sum h_ij / (rows · sum H_j).
  Sun, Wang, Li and Truta, 2008, section 4.
* precision: the mean of h_ij / H_j (Sweeney's precision is 1 minus this).
* ncp: ARX's Loss. Per column the mean share of the domain that the published value covers, scaled so that a value
  itself counts 0 and `*` counts 1; over columns the geometric mean of (loss + 1), minus 1.
* discernibility: every row pays its group's size, a suppressed row the table's (not scaled). Bayardo and Agrawal, 2005.
* average_group_size: rows per group (not scaled).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.encoding import ByGroup, ByLevel, FrequencySet, Recoding, recode_codes
from shoal.schema import Ladder

__all__ = ["Published", "losses", "published", "weighted_sums"]


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
    out = int(left.sum())
    columns = len(ladders)
    return Published(
        np.r_[recoding.count, out],
        np.r_[recoding.group, -1],
        np.concatenate([recoding.height[recoding.group], np.ones((1, columns))]),
        np.concatenate([recoding.share[recoding.group], np.ones((1, columns))]),
    )


def weighted_sums(count: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The sum of each column of values, float64 (n, q), each row as often as it counts.

    Added in the order of rows: a matrix product may be shared out to threads, as many as a machine has, and the last
    digits of a certificate must not hang on that.
    """
    return np.asarray((count[:, None] * values).sum(axis=0))


def losses(frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding) -> dict[str, float]:
    """Every measure that applies to the recoding."""
    fate = published(frequencies, ladders, recoding)
    rows = int(fate.count.sum())
    heights = np.asarray([ladder.height for ladder in ladders], np.float64)
    per_column = weighted_sums(fate.count, fate.height) / rows
    leaf = np.asarray([ladder.share[0].min() for ladder in ladders])
    covered = weighted_sums(fate.count, fate.share) / rows
    # a column of one value has nothing to lose
    scaled = np.divide(covered - leaf, 1 - leaf, out=np.zeros_like(covered), where=leaf < 1)
    size = np.bincount(fate.group[fate.group >= 0], weights=fate.count[fate.group >= 0]).astype(np.int64)
    size = size[size > 0]
    suppressed = rows - int(size.sum())
    return {
        **(recoding.loss if isinstance(recoding, ByGroup) else {}),
        "distortion_ratio": float((per_column * heights).sum() / heights.sum()),
        "precision": float(per_column.mean()),
        "ncp": float(np.exp(np.log1p(np.maximum(scaled, 0)).mean()) - 1),
        "discernibility": float((size.astype(np.float64) ** 2).sum() + float(suppressed) * rows),
        "average_group_size": float(size.sum() / max(len(size), 1)),
    }
