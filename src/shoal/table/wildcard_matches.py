"""How many rows could be taken for a row, where some cells show nothing and may stand for any value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.table.groups import group_keys, sum_by

__all__ = ["candidates", "certain_candidates", "crowd"]


def candidates(
    known: npt.NDArray[np.int32],
    known_count: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int32],
    shown_count: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Who can be whom, where -1 shows nothing and may stand for any value: in both directions.

    For every original combination ``known`` how many released rows can be its row: those that show nothing that differs
    from it. For every released combination ``shown`` how many original rows can be behind it. Released rows that show
    values in the same columns are counted together. Cost: original combinations times such classes.

    >>> known, one = np.asarray([[0, 0], [0, 1], [1, 1]], np.int32), np.ones(3, np.int64)
    >>> rows, people = candidates(known, one, np.asarray([[0, -1], [0, -1], [-1, 1]], np.int32), one)
    >>> rows.tolist(), people.tolist()
    ([2, 3, 1], [2, 2, 2])
    """
    rows = np.zeros(len(known), np.int64)
    people = np.zeros(len(shown), np.int64)
    shows = shown >= 0
    kind, kinds = group_keys(shows.astype(np.int32), [2] * shown.shape[1])
    sizes = [int(max(a.max(initial=0), b.max(initial=0))) + 1 for a, b in zip(known.T, shown.T, strict=True)]
    for number in range(kinds):
        mine = np.flatnonzero(kind == number)
        columns = np.flatnonzero(shows[mine[0]])
        both = np.concatenate([known[:, columns], shown[np.ix_(mine, columns)]])
        key, keys = group_keys(both, [sizes[j] for j in columns])
        rows += sum_by(key[len(known) :], shown_count[mine], keys)[key[: len(known)]]
        people[mine] = sum_by(key[: len(known)], known_count, keys)[key[len(known) :]]
    return rows, people


def crowd(
    known: npt.NDArray[np.int32],
    known_count: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int32],
    shown_count: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """For every released combination the smaller number of both directions, over all who can be behind it.

    That is the people who can be behind it and, of each of them, the rows that can be theirs. All are 0 where somebody
    has no row at all.
    """
    rows, people = candidates(known, known_count, shown, shown_count)
    if not rows.all():
        return np.zeros_like(people)
    least = people.copy()
    shows = shown >= 0
    kind, kinds = group_keys(shows.astype(np.int32), [2] * shown.shape[1])
    sizes = [int(max(a.max(initial=0), b.max(initial=0))) + 1 for a, b in zip(known.T, shown.T, strict=True)]
    for number in range(kinds):
        mine = np.flatnonzero(kind == number)
        columns = np.flatnonzero(shows[mine[0]])
        key, keys = group_keys(
            np.concatenate([known[:, columns], shown[np.ix_(mine, columns)]]), [sizes[j] for j in columns]
        )
        fewest = np.full(keys, np.iinfo(np.int64).max)
        np.minimum.at(fewest, key[: len(known)], rows)
        least[mine] = np.minimum(people[mine], fewest[key[len(known) :]])
    return least


def certain_candidates(shown: npt.NDArray[np.int32], count: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For every released combination, how many rows can be taken for it whatever its stars stand for.

    Without the original this is all that is certain: rows that show no more than it and agree can be the row of whoever
    is behind it, and people behind rows that show no less and agree can be behind it. The smaller number is given.
    """
    shows = shown >= 0
    kind, kinds = group_keys(shows.astype(np.int32), [2] * shown.shape[1])
    members = [np.flatnonzero(kind == number) for number in range(kinds)]
    sizes = [int(column.max(initial=0)) + 1 for column in shown.T]
    above = np.zeros(len(shown), np.int64)
    below = np.zeros(len(shown), np.int64)
    for less in members:
        columns = np.flatnonzero(shows[less[0]])
        for more in members:
            if not shows[more[0]][columns].all():
                continue
            both = np.concatenate([less, more])
            key, keys = group_keys(shown[np.ix_(both, columns)], [sizes[j] for j in columns])
            above[more] += sum_by(key[: len(less)], count[less], keys)[key[len(less) :]]
            below[less] += sum_by(key[len(less) :], count[more], keys)[key[: len(less)]]
    return np.minimum(above, below)
