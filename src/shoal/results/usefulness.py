"""Warnings about releases of little use.

They name the columns that are wholly hidden, and those of which nothing can be learned. A release may meet every
model and be useless, such as a table of `*`. This is not forbidden, but the publisher must be warned.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.schema import Ladder
from shoal.table import ByPattern, FrequencySet, Recoding
from shoal.table.groups import group_keys
from shoal.utility.loss import published

MAX_VARIATION_WITHOUT_SIGNAL = 0.01
"""Mean total variation between groups and the whole table up to which nothing is learned of a column."""


def hidden_columns(frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding) -> list[str]:
    """Return the quasi-identifiers that are `*` in every released row.

    Columns with one value in the original are not included.
    """
    fate = published(frequencies, ladders, recoding)
    is_released = (fate.group >= 0) & (fate.count > 0)
    if not is_released.any():
        return []
    least = fate.share[is_released].min(axis=0)
    varying = [ladder.share[0].min() < 1 for ladder in ladders]
    return [
        part.name for part, low, varies in zip(frequencies.quasi, least, varying, strict=True) if varies and low >= 1
    ]


def columns_with_no_signal(frequencies: FrequencySet, recoding: Recoding, names: tuple[str, ...]) -> list[str]:
    """Return the sensitive columns with the same shares in every group.

    Columns of one value are not included.
    """
    if isinstance(recoding, ByPattern):
        return []
    row, group, count = _entries(frequencies, recoding)
    found = []
    for index, dictionary in enumerate(frequencies.sensitive):
        value = frequencies.secrets[row, index]
        varies = dictionary.name in names and len(np.unique(value)) > 1
        if varies and _variation(group, value, count) <= MAX_VARIATION_WITHOUT_SIGNAL:
            found.append(dictionary.name)
    return found


def _entries(
    frequencies: FrequencySet, recoding: Recoding
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the combination, group and number of rows of released entries."""
    row = getattr(recoding, "row", None)
    if row is None:
        row = np.flatnonzero(recoding.group >= 0)
        return row, recoding.group[row], frequencies.count[row]
    return row, recoding.group, recoding.count  # type: ignore[union-attr]


def _variation(
    group: npt.NDArray[np.int64], value: npt.NDArray[np.signedinteger], count: npt.NDArray[np.int64]
) -> float:
    """Return the mean total variation of groups from all released rows.

    The mean is over rows.
    """
    g, groups = group_keys(group[:, None], [int(group.max()) + 1])
    v, values = group_keys((value - value.min())[:, None], [int(value.max()) - int(value.min()) + 1])
    cell, cells = group_keys(np.stack([g, v], axis=1), [groups, values])
    group_of_cell, value_of_cell = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    group_of_cell[cell], value_of_cell[cell] = g, v
    rows = np.bincount(cell, weights=count)
    size = np.bincount(g, weights=count, minlength=groups)
    share = np.bincount(v, weights=count, minlength=values) / count.sum()
    # for each group: half the sum over values of |n_gv - n_g s_v|; cells without rows add n_g s_v each
    expected = size[group_of_cell] * share[value_of_cell]
    absent = size.sum() - expected.sum()
    return float((np.abs(rows - expected).sum() + absent) / 2 / count.sum())
