"""Whether a release still says something: what is wholly hidden, and what can no longer be learned from it.

A release may keep every promise and be worth nothing, such as a table of stars. Nothing forbids it, but whoever made it
must be told.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.schema import Ladder
from shoal.table import ByPattern, FrequencySet, Recoding
from shoal.table.groups import group_keys
from shoal.utility.loss import published

__all__ = ["hidden_columns", "nothing_learned"]

NOTHING = 0.01
"""Where groups differ from the whole table by no more than this (mean total variation), nothing is learned of them."""


def hidden_columns(frequencies: FrequencySet, ladders: tuple[Ladder, ...], recoding: Recoding) -> list[str]:
    """Quasi-identifiers of which every released row shows nothing, though the original has several values."""
    fate = published(frequencies, ladders, recoding)
    there = (fate.group >= 0) & (fate.count > 0)
    if not there.any():
        return []
    least = fate.share[there].min(axis=0)
    several = [ladder.share[0].min() < 1 for ladder in ladders]
    return [part.name for part, low, many in zip(frequencies.quasi, least, several, strict=True) if many and low >= 1]


def nothing_learned(frequencies: FrequencySet, recoding: Recoding, names: tuple[str, ...]) -> list[str]:
    """Sensitive columns of several values whose shares are the same in every group as in all released rows."""
    if isinstance(recoding, ByPattern):
        return []
    row, group, count = _entries(frequencies, recoding)
    found = []
    for place, dictionary in enumerate(frequencies.sensitive):
        value = frequencies.secrets[row, place]
        several = dictionary.name in names and len(np.unique(value)) > 1
        if several and _variation(group, value, count) <= NOTHING:
            found.append(dictionary.name)
    return found


def _entries(
    frequencies: FrequencySet, recoding: Recoding
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Which combination, in which group, how many rows; without those that are left out."""
    row = getattr(recoding, "row", None)
    if row is None:
        row = np.flatnonzero(recoding.group >= 0)
        return row, recoding.group[row], frequencies.count[row]
    return row, recoding.group, recoding.count  # type: ignore[union-attr]


def _variation(
    group: npt.NDArray[np.int64], value: npt.NDArray[np.signedinteger], count: npt.NDArray[np.int64]
) -> float:
    """How far the shares of values in a group are from those in all, in total variation, over all rows."""
    g, groups = group_keys(group[:, None], [int(group.max()) + 1])
    v, values = group_keys((value - value.min())[:, None], [int(value.max()) - int(value.min()) + 1])
    cell, cells = group_keys(np.stack([g, v], axis=1), [groups, values])
    owner, held = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    owner[cell], held[cell] = g, v
    rows = np.bincount(cell, weights=count)
    size = np.bincount(g, weights=count, minlength=groups)
    share = np.bincount(v, weights=count, minlength=values) / count.sum()
    # of each group: half the sum over values |n_gv - n_g s_v|; cells without rows add n_g s_v each
    expected = size[owner] * share[held]
    absent = size.sum() - expected.sum()
    return float((np.abs(rows - expected).sum() + absent) / 2 / count.sum())
