"""Numbers of matching rows, where a suppressed cell matches any value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.table.groups import group_keys, sum_by


def count_candidates(
    known: npt.NDArray[np.int32],
    known_count: npt.NDArray[np.int64],
    released: npt.NDArray[np.int32],
    released_count: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Count the matches of original and released rows in both directions.

    A released code of -1 is suppressed and matches any value. For every original combination ``known``: the number of
    released rows that can be its row, as no visible cell differs. For every released combination ``released``: the
    number of original rows that can be behind it. Released rows with values in the same columns are counted together.
    Cost: original combinations times such classes.

    >>> known, one = np.asarray([[0, 0], [0, 1], [1, 1]], np.int32), np.ones(3, np.int64)
    >>> rows, people = count_candidates(known, one, np.asarray([[0, -1], [0, -1], [-1, 1]], np.int32), one)
    >>> rows.tolist(), people.tolist()
    ([2, 3, 1], [2, 2, 2])
    """
    rows = np.zeros(len(known), np.int64)
    people = np.zeros(len(released), np.int64)
    visible = released >= 0
    kind, kinds = group_keys(visible.astype(np.int32), [2] * released.shape[1])
    sizes = [int(max(a.max(initial=0), b.max(initial=0))) + 1 for a, b in zip(known.T, released.T, strict=True)]
    for number in range(kinds):
        members = np.flatnonzero(kind == number)
        columns = np.flatnonzero(visible[members[0]])
        both = np.concatenate([known[:, columns], released[np.ix_(members, columns)]])
        key, keys = group_keys(both, [sizes[j] for j in columns])
        rows += sum_by(key[len(known) :], released_count[members], keys)[key[: len(known)]]
        people[members] = sum_by(key[: len(known)], known_count, keys)[key[len(known) :]]
    return rows, people


def smallest_candidate_count(
    known: npt.NDArray[np.int32],
    known_count: npt.NDArray[np.int64],
    released: npt.NDArray[np.int32],
    released_count: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return the smaller number of both directions by released combination.

    That is the number of people who can be behind it and, over all of them, the smallest number of candidate rows. All
    are 0 if a person has no candidate row.
    """
    rows, people = count_candidates(known, known_count, released, released_count)
    if not rows.all():
        return np.zeros_like(people)
    least = people.copy()
    visible = released >= 0
    kind, kinds = group_keys(visible.astype(np.int32), [2] * released.shape[1])
    sizes = [int(max(a.max(initial=0), b.max(initial=0))) + 1 for a, b in zip(known.T, released.T, strict=True)]
    for number in range(kinds):
        members = np.flatnonzero(kind == number)
        columns = np.flatnonzero(visible[members[0]])
        key, keys = group_keys(
            np.concatenate([known[:, columns], released[np.ix_(members, columns)]]), [sizes[j] for j in columns]
        )
        fewest = np.full(keys, np.iinfo(np.int64).max)
        np.minimum.at(fewest, key[: len(known)], rows)
        least[members] = np.minimum(people[members], fewest[key[len(known) :]])
    return least


def count_certain_candidates(released: npt.NDArray[np.int32], count: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count the rows that match each released combination with certainty.

    Without the original this is all that is certain: rows with fewer visible cells that agree can be the row of the
    person behind it, and the people behind rows with more visible cells that agree can be behind it. Returns the
    smaller number.
    """
    visible = released >= 0
    kind, kinds = group_keys(visible.astype(np.int32), [2] * released.shape[1])
    members = [np.flatnonzero(kind == number) for number in range(kinds)]
    sizes = [int(column.max(initial=0)) + 1 for column in released.T]
    above = np.zeros(len(released), np.int64)
    below = np.zeros(len(released), np.int64)
    for less in members:
        columns = np.flatnonzero(visible[less[0]])
        for more in members:
            if not visible[more[0]][columns].all():
                continue
            both = np.concatenate([less, more])
            key, keys = group_keys(released[np.ix_(both, columns)], [sizes[j] for j in columns])
            above[more] += sum_by(key[: len(less)], count[less], keys)[key[len(less) :]]
            below[less] += sum_by(key[len(less) :], count[more], keys)[key[: len(less)]]
    return np.minimum(above, below)
