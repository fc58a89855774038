"""Warnings about releases of little use.

They name the columns that are wholly hidden, and those of which nothing can be learned. A release may meet every
model and be useless, such as a table of `*`. This is not forbidden, but the publisher must be warned.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.schema import Ladder
from shoal.table import ByLevel, FrequencySet, Recoding
from shoal.table.groups import group_keys
from shoal.utility.loss import published

MAX_VARIATION_WITHOUT_SIGNAL = 0.01
"""Largest share of the rows of any value that are not where equal shares would put them, with nothing to learn."""


def hidden_columns(frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding) -> list[str]:
    """Return the quasi-identifiers that are `*` in every released row.

    Columns with one value in the original are not included.
    """
    if isinstance(recoding, ByLevel) and not any(
        (ladder.share[level] >= 1).any() for ladder, level in zip(ladders, recoding.levels, strict=True)
    ):
        return []  # no label covers a whole column
    fate = published(frequencies, ladders, recoding)
    is_released = (fate.group >= 0) & (fate.count > 0)
    if not is_released.any():
        return []
    least = fate.share[is_released].min(axis=0)
    varying = [ladder.share[0].min() < 1 for ladder in ladders]
    return [
        part.name for part, low, varies in zip(frequencies.quasi, least, varying, strict=True) if varies and low >= 1
    ]


def columns_with_no_signal(
    frequencies: FrequencySet,
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    count: npt.NDArray[np.int64],
    names: tuple[str, ...],
) -> list[str]:
    """Return the sensitive columns with equal shares of each value in groups.

    ``row``, ``group`` and ``count`` are the combination, group and number of rows of released entries. Columns of one
    value are not included.
    """
    found = []
    for index, dictionary in enumerate(frequencies.sensitive):
        value = frequencies.secrets[row, index]
        varies = dictionary.name in names and len(np.unique(value)) > 1
        if varies and _variation(group, value, count) <= MAX_VARIATION_WITHOUT_SIGNAL:
            found.append(dictionary.name)
    return found


def released_entries(
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
    """Return the largest variation of a value between groups and all rows.

    That of a value is the share of its rows that would have to move for it to have the same share in every group. A
    mean over values would not notice a rare one, of which a group may tell everything.
    """
    g, groups = group_keys(group[:, None], [int(group.max()) + 1])
    v, values = group_keys((value - value.min())[:, None], [int(value.max()) - int(value.min()) + 1])
    cell, cells = group_keys(np.stack([g, v], axis=1), [groups, values])
    group_of_cell, value_of_cell = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    group_of_cell[cell], value_of_cell[cell] = g, v
    rows = np.bincount(cell, weights=count)
    size = np.bincount(g, weights=count, minlength=groups)
    total = np.bincount(v, weights=count, minlength=values)
    # for each value: half the sum over groups of |n_gv - n_g s_v|; groups without the value add n_g s_v each
    expected = size[group_of_cell] * (total / count.sum())[value_of_cell]
    deviation = np.bincount(value_of_cell, weights=np.abs(rows - expected), minlength=values)
    absent = total - np.bincount(value_of_cell, weights=expected, minlength=values)
    return float(((deviation + absent) / 2 / total).max())
