"""The labels that a group publishes.

A method returns a partition; the labels of its groups are chosen column by column:

* ``ancestor``: the lowest label of the hierarchy that covers all its values;
* ``range``: a range that covers its values, for columns with an order, see :mod:`shoal.table.group_ranges`;
* ``star``: the value itself if all rows agree, otherwise `*`.

All return labels, the height of each in its hierarchy (0 to 1), and the share of the domain that it covers. Labels are
made from the rows of the partition alone: suppressed rows do not influence them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.schema import TOP, Ladder
from shoal.table.frequency_set import FrequencySet
from shoal.table.group_ranges import RangeEnds, publish_ranges
from shoal.table.recoding import ByGroup

Representative = Literal["ancestor", "range", "star"]
REPRESENTATIVES: tuple[Representative, ...] = get_args(Representative)

GroupLabels = tuple[tuple[str | None, ...], npt.NDArray[np.float64], npt.NDArray[np.float64]]


def publish_groups(
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    count: npt.NDArray[np.int64],
    how: Representative | Sequence[Representative] = "ancestor",
    *,
    ends: RangeEnds = RangeEnds(),  # noqa: B008 - frozen
    ranks: Sequence[npt.NDArray[np.int32] | None] | None = None,
    parts: bool = False,
) -> ByGroup:
    """Build a recoding from a partition.

    Of combination ``row[i]``, ``count[i]`` rows go to group ``group[i]``. Groups must be numbered 0, 1, ... without
    gaps. Entries are sorted by ``row`` (then group), as :class:`ByGroup` requires. Two groups with the same labels are
    one group to a reader. That is safe only for models that are closed under union, so methods must use such models.
    Cost: entries times levels.

    ``ranks`` gives the declared order of columns with ranges, ``ends`` the ends of ranges. ``parts`` states that the
    partition is a part of one without suppression, so that all values count as released.
    """
    order = np.lexsort((group, row))
    row, group, count = row[order], group[order], count[order]
    groups = int(group.max(initial=-1)) + 1
    kinds = [how] * len(ladders) if isinstance(how, str) else list(how)
    published = []
    for j, (whole, kind) in enumerate(zip(ladders, kinds, strict=True)):
        codes = frequencies.codes[row, j]
        present = np.full(len(whole.codes[0]), parts, np.bool_)
        present[codes] = True
        ladder = whole.released(present)
        if kind == "ancestor":
            published.append(_ancestors(codes, group, groups, ladder))
        elif kind == "star":
            published.append(_stars(codes, group, groups, ladder))
        elif kind == "range":
            rank = None if ranks is None else ranks[j]
            published.append(publish_ranges(codes, count, group, groups, ladder, ends, rank, present))
        else:
            raise PlanError("method.unknown-published-value", allowed=", ".join(REPRESENTATIVES), found=kind)
    return ByGroup(
        row,
        group,
        count,
        tuple(labels for labels, _, _ in published),
        np.stack([height for _, height, _ in published], axis=1),
        np.stack([share for _, _, share in published], axis=1),
    )


def _extent(
    codes: npt.NDArray[np.int32], group: npt.NDArray[np.int64], groups: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the smallest and the largest code of each group."""
    low = np.full(groups, np.iinfo(np.int32).max, np.int32)
    high = np.full(groups, -1, np.int32)
    np.minimum.at(low, group, codes)
    np.maximum.at(high, group, codes)
    return low, high


def _ancestors(codes: npt.NDArray[np.int32], group: npt.NDArray[np.int64], groups: int, ladder: Ladder) -> GroupLabels:
    labels = np.full(groups, None, object)
    height = np.ones(groups)
    share = np.ones(groups)
    open_groups = np.ones(groups, np.bool_)
    for level in range(ladder.height + 1):
        low, high = _extent(ladder.codes[level][codes], group, groups)
        found = np.flatnonzero(open_groups & (low == high))
        labels[found] = np.asarray([*ladder.labels[level], None], object)[low[found]]
        height[found] = level / ladder.height
        share[found] = ladder.share[level][low[found]]
        open_groups &= low != high
        if not open_groups.any():
            break
    return tuple(labels), height, share


def _stars(codes: npt.NDArray[np.int32], group: npt.NDArray[np.int64], groups: int, ladder: Ladder) -> GroupLabels:
    low, high = _extent(codes, group, groups)
    one = low == high
    labels = np.asarray([*ladder.labels[0], TOP], object)[np.where(one, low, -1)]
    return tuple(labels), np.where(one, 0.0, 1.0), np.where(one, ladder.share[0][low], 1.0)
