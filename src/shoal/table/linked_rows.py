"""Crowds: who shares what an intruder knows of a person, where the rows of a person can be linked.

How many rows of a person are known says who is in the crowd of whom:

* one row: the people who have a row in the same group; these are the groups themselves;
* ``m`` rows: everybody who has the same labels in some m or fewer rows, as a multiset of groups;
* all rows (None): everybody whose rows have the same labels altogether, the same trajectory.

A model that holds of all crowds, and of the groups, holds whatever of this is known. Crowds of m rows overlap: a person
is in one for each set of his or her rows.

Sets of m labels: Terrovitis, Mamoulis and Kalnis, "Privacy-preserving anonymization of set-valued data", 2008 (k^m);
trajectories: Nergiz, Atzori, Saygin and Guc, "Towards trajectory anonymization", 2009.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.table.groups import Groups, Histogram

__all__ = ["Crowds", "crowds_of", "fold_back", "link"]

MOST_SETS = 20_000_000
"""So many sets of rows are looked at, at most."""

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Crowds:
    """Crowds of people.

    Attributes
    ----------
    start, person
        int64 (crowds + 1,) and int32: crowd i has the people ``person[start[i]:start[i + 1]]``.
    crowd, group
        int64: the groups that what is known of a crowd is in, as pairs.
    """

    start: Whole
    person: npt.NDArray[np.int32]
    crowd: Whole
    group: Whole

    @property
    def count(self) -> int:
        """How many crowds there are."""
        return len(self.start) - 1


def crowds_of(held: Histogram, known_rows: int | None) -> Crowds:
    """The crowds of several known rows, beside the groups; ``held`` is how many rows of each person groups have."""
    order = np.lexsort((held.owner, held.value))
    group, person, rows = held.owner[order], held.value[order].astype(np.int64), held.count[order]
    if known_rows is None:
        return _same_trajectory(group, person, rows)
    return _same_sets(group, person, np.minimum(rows, known_rows), len(held.known), known_rows)


def _same_trajectory(group: Whole, person: Whole, rows: Whole) -> Crowds:
    """Everybody with those who have as many rows in the same groups; pairs come by person, then by group."""
    everybody, first = np.unique(person, return_index=True)
    length = np.diff(np.r_[first, len(person)])
    item = np.unique(group * (int(rows.max(initial=0)) + 1) + rows, return_inverse=True)[1].reshape(-1)
    items = int(item.max(initial=-1)) + 1
    # who agrees in the first so many items, refined item by item; who has no more keeps a number of that length
    number, used = np.zeros(len(everybody), np.int64), 1
    for place in range(int(length.max(initial=0))):
        more = np.flatnonzero(length > place)
        found, inverse = np.unique(number[more] * items + item[first[more] + place], return_inverse=True)
        number[more] = used + inverse.reshape(-1)
        used += len(found)
    crowd = np.unique(number, return_inverse=True)[1].reshape(-1)
    order = np.argsort(crowd, kind="stable")
    start = np.searchsorted(crowd[order], np.arange(int(crowd.max(initial=-1)) + 2))
    known = np.unique(np.stack([np.repeat(crowd, length), group], axis=1), axis=0)
    return Crowds(start.astype(np.int64), everybody[order].astype(np.int32), known[:, 0], known[:, 1])


def _same_sets(group: Whole, person: Whole, rows: Whole, groups: int, most: int) -> Crowds:
    """Everybody with those who have the same labels in so many rows: sets of two rows, of three, ... of ``most``.

    A set of rows is its labels in order; longer ones go on from shorter ones with a later row of the same person. Of
    several ways to the same labels the one is kept from which most rows come later.
    """
    label, owner = np.repeat(group, rows), np.repeat(person, rows)
    end = np.searchsorted(owner, owner, side="right")
    last = np.cumsum(rows) - rows
    number, labels = group, np.arange(groups)[:, None]
    none = np.zeros(0, np.int64)
    starts, people, crowds, touched = [np.zeros(1, np.int64)], [none], [none], [none]
    before = looked_at = 0
    for _ in range(2, most + 1):
        room = end[last] - last - 1
        looked_at += int(room.sum())
        if looked_at > MOST_SETS:
            raise PlanError(
                f"With known_rows = {most} more than {MOST_SETS:,} sets of rows would be looked at; people have up to "
                f"{int(np.bincount(owner).max())} rows. Keep fewer rows of each person, or leave known_rows out: who "
                "shares all rows with others shares any of them."
            )
        source = np.repeat(np.arange(len(last)), room)
        after = last[source] + 1 + np.arange(len(source)) - np.repeat(np.cumsum(room) - room, room)
        found, inverse = np.unique(number[source] * groups + label[after], return_inverse=True)
        number, whose = inverse.reshape(-1), owner[after]
        order = np.lexsort((after, whose, number))
        number, whose, last = number[order], whose[order], after[order]
        fresh = np.r_[True, (number[1:] != number[:-1]) | (whose[1:] != whose[:-1])][: len(number)]
        number, whose, last = number[fresh], whose[fresh], last[fresh]
        labels = np.concatenate([labels[found // groups], (found % groups)[:, None]], axis=1)
        starts.append(np.searchsorted(number, np.arange(1, len(found) + 1)) + sum(len(part) for part in people))
        people.append(whose)
        crowds.append(np.repeat(np.arange(len(found)) + before, labels.shape[1]))
        touched.append(labels.reshape(-1))
        before += len(found)
    who, crowd, touches = map(np.concatenate, (people, crowds, touched))
    return Crowds(np.concatenate(starts).astype(np.int64), who.astype(np.int32), crowd, touches)


def link(groups: Groups, known_rows: int | None) -> tuple[Groups, Crowds]:
    """The groups with the crowds of several known rows behind them, as far as their people go; and these crowds."""
    held = groups.people
    assert held is not None
    crowds = crowds_of(held, known_rows)
    size = np.diff(crowds.start)
    both = replace(
        held,
        start=np.concatenate([held.start, held.start[-1] + crowds.start[1:]]),
        value=np.concatenate([held.value, crowds.person]),
        count=np.concatenate([held.count, np.ones(len(crowds.person), np.int64)]),
        known=np.concatenate([held.known, size]),
    )
    others = tuple(both if histogram is held else histogram for histogram in groups.histograms)
    return Groups(np.concatenate([groups.size, size]), others), crowds


def fold_back(value: npt.NDArray[np.float64], crowds: Crowds, *, at_least: bool) -> npt.NDArray[np.float64]:
    """Figures of groups and of the crowds behind them as figures of the groups: each has the worst that touches it."""
    groups = len(value) - crowds.count
    own = value[:groups].copy()
    (np.minimum if at_least else np.maximum).at(own, crowds.group, value[groups + crowds.crowd])
    return own
