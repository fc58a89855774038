"""Crowds: people with the same known rows, if rows can be linked.

A crowd is the set of people who share what an intruder knows of a person. It depends on the number of known rows:

* one row: the people who have a row in the same group; these are the groups themselves;
* ``m`` rows: the people with the same labels in some m or fewer rows, as a multiset of groups;
* all rows (None): the people with the same labels in all their rows, the same trajectory.

A model that holds for all crowds, and for the groups, holds for each of these kinds of knowledge. Crowds of m rows
overlap: a person is in one for each set of his or her rows.

Sets of m labels: Terrovitis, Mamoulis and Kalnis, "Privacy-preserving anonymization of set-valued data", 2008 (k^m);
trajectories: Nergiz, Atzori, Saygin and Guc, "Towards trajectory anonymization", 2009.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.table.groups import Groups, Histogram, number_rows

MAX_ROW_SETS = 20_000_000
"""Largest number of sets of rows that are examined."""

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LinkedRowCrowds:
    """Crowds of people.

    Attributes
    ----------
    start, person
        int64 (crowds + 1,) and int32: crowd i has the people ``person[start[i]:start[i + 1]]``.
    crowd, group
        int64: the groups that contain what is known of a crowd, as pairs.
    """

    start: Whole
    person: npt.NDArray[np.int32]
    crowd: Whole
    group: Whole

    @property
    def count(self) -> int:
        """The number of crowds."""
        return len(self.start) - 1


def find_crowds(people: Histogram, known_rows: int | None) -> LinkedRowCrowds:
    """Return the crowds of several known rows, besides the groups.

    ``people`` has the number of rows of each person in every group.
    """
    order = np.lexsort((people.owner, people.value))
    group, person, rows = people.owner[order], people.value[order].astype(np.int64), people.count[order]
    if known_rows is None:
        return _same_trajectory(group, person, rows)
    return crowds_of_row_sets(group, person, np.minimum(rows, known_rows), len(people.known), known_rows)


def _same_trajectory(group: Whole, person: Whole, rows: Whole) -> LinkedRowCrowds:
    """Return crowds of people with the same numbers of rows in each group.

    Pairs are sorted by person, then by group.
    """
    everybody, owner = np.unique(person, return_inverse=True)
    item = number_rows([group, rows], len(group))
    number = number_multisets([owner.reshape(-1)], [item], len(everybody))
    crowd = np.unique(number, return_inverse=True)[1].reshape(-1)
    order = np.argsort(crowd, kind="stable")
    start = np.searchsorted(crowd[order], np.arange(int(crowd.max(initial=-1)) + 2))
    known = np.unique(np.stack([crowd[owner.reshape(-1)], group], axis=1), axis=0)
    return LinkedRowCrowds(start.astype(np.int64), everybody[order].astype(np.int32), known[:, 0], known[:, 1])


def number_multisets(owners: Sequence[Whole], items: Sequence[Whole], count: int) -> Whole:
    """Number the owners by their multiset of items; items of two lists differ."""
    number, used = np.zeros(count, np.int64), 1
    for owner, item in zip(owners, items, strict=True):
        order = np.lexsort((item, owner))
        owner, item = owner[order], item[order]
        position = np.arange(len(owner)) - np.searchsorted(owner, owner)
        by_position = np.argsort(position, kind="stable")
        ends = np.cumsum(np.bincount(position))
        # owners who agree in their first items, refined item by item; owners without more items keep their number
        for begin, end in itertools.pairwise([0, *ends.tolist()]):
            at = by_position[begin:end]
            refined = number_rows([number[owner[at]], item[at]], len(at))
            number[owner[at]] = used + refined
            used += int(refined.max(initial=-1)) + 1
    return number


def crowds_of_row_sets(group: Whole, person: Whole, rows: Whole, groups: int, limit: int) -> LinkedRowCrowds:
    """Return crowds of people with the same labels in 2 to ``limit`` rows.

    Each entry is a person's number of rows in a group, at most ``limit``; entries are sorted by person and group. A set
    of rows is represented by its sorted labels; longer sets extend shorter ones by a later row of the same person. Of
    several ways to the same labels, the one is stored that leaves most later rows.
    """
    label, owner = np.repeat(group, rows), np.repeat(person, rows)
    end = np.searchsorted(owner, owner, side="right")
    last = np.cumsum(rows) - rows
    number, labels = group, np.arange(groups)[:, None]
    none = np.zeros(0, np.int64)
    starts, people, crowds, touched = [np.zeros(1, np.int64)], [none], [none], [none]
    before = looked_at = 0
    for _ in range(2, limit + 1):
        later_rows = end[last] - last - 1
        looked_at += int(later_rows.sum())
        if looked_at > MAX_ROW_SETS:
            raise PlanError(
                "people.too-many-row-sets", known_rows=limit, limit=MAX_ROW_SETS, rows=int(np.bincount(owner).max())
            )
        source = np.repeat(np.arange(len(last)), later_rows)
        after = last[source] + 1 + np.arange(len(source)) - np.repeat(np.cumsum(later_rows) - later_rows, later_rows)
        found, inverse = np.unique(number[source] * groups + label[after], return_inverse=True)
        number, set_owner = inverse.reshape(-1), owner[after]
        order = np.lexsort((after, set_owner, number))
        number, set_owner, last = number[order], set_owner[order], after[order]
        fresh = np.r_[True, (number[1:] != number[:-1]) | (set_owner[1:] != set_owner[:-1])][: len(number)]
        number, set_owner, last = number[fresh], set_owner[fresh], last[fresh]
        labels = np.concatenate([labels[found // groups], (found % groups)[:, None]], axis=1)
        starts.append(np.searchsorted(number, np.arange(1, len(found) + 1)) + sum(len(part) for part in people))
        people.append(set_owner)
        crowds.append(np.repeat(np.arange(len(found)) + before, labels.shape[1]))
        touched.append(labels.reshape(-1))
        before += len(found)
    all_people, crowd, touches = map(np.concatenate, (people, crowds, touched))
    return LinkedRowCrowds(np.concatenate(starts).astype(np.int64), all_people.astype(np.int32), crowd, touches)


def add_crowds(groups: Groups, known_rows: int | None) -> tuple[Groups, LinkedRowCrowds]:
    """Append the crowds of several known rows to the groups.

    Only the people of crowds are filled in. Returns groups and crowds together, and the crowds.
    """
    people = groups.people
    assert people is not None
    crowds = find_crowds(people, known_rows)
    size = np.diff(crowds.start)
    both = replace(
        people,
        start=np.concatenate([people.start, people.start[-1] + crowds.start[1:]]),
        value=np.concatenate([people.value, crowds.person]),
        count=np.concatenate([people.count, np.ones(len(crowds.person), np.int64)]),
        known=np.concatenate([people.known, size]),
    )
    others = tuple(both if histogram is people else histogram for histogram in groups.histograms)
    return Groups(np.concatenate([groups.size, size]), others), crowds


def worst_per_group(
    value: npt.NDArray[np.float64], crowds: LinkedRowCrowds, *, at_least: bool
) -> npt.NDArray[np.float64]:
    """Reduce figures of groups and crowds to figures of the groups.

    Each group has the worst figure of itself and of the crowds that involve it.
    """
    groups = len(value) - crowds.count
    own = value[:groups].copy()
    (np.minimum if at_least else np.maximum).at(own, crowds.group, value[groups + crowds.crowd])
    return own
