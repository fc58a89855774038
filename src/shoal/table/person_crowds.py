"""Crowds of people: the rows that can be a person's, by known columns.

A row can be a person's if each of its cells in the known columns shows the person's label or is suppressed. Such rows
are some of the combinations of labels and suppressed cells that the table shows; combinations that suppress the same
columns are matched together. Crowds overlap: a row with suppressed cells is in the crowds of many people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.table.column_subsets import SubsetCounter
from shoal.table.frequency_set import FrequencySet
from shoal.table.groups import Groups, group_keys, unite_groups

MAX_HISTOGRAM_ENTRIES = 4_000_000
"""Largest number of histogram entries of crowds that are united at once."""


@dataclass(frozen=True)
class PersonCrowds:
    """The crowds of distinct people, as unions of published combinations.

    Attributes
    ----------
    person
        int64 (crowds,): an entry of the known table that has the crowd's labels.
    owner, member
        int64 (pairs,): crowd and combination of each pair, sorted by crowd.
    number, combinations
        int64 (n,): the combination of each published entry, and the number of combinations.
    """

    person: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    member: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]
    combinations: int

    def groups(
        self,
        entries: FrequencySet,
        totals: Sequence[npt.NDArray[np.int64]],
        unit: npt.NDArray[np.int64] | None = None,
    ) -> Iterator[tuple[slice, Groups]]:
        """Yield the crowds as groups with histograms, some at a time.

        ``entries`` have the sensitive values; ``unit`` is the published entry of each of them, if they are not the
        same. ``totals`` are the table's counts of each value, by sensitive column.
        """
        if not len(self.person):
            return
        whole = entries.groups_of(self.number if unit is None else self.number[unit], self.combinations)
        width = np.ones(self.combinations, np.int64)
        for histogram in whole.histograms:
            width += histogram.distinct
        end = np.searchsorted(self.owner, np.arange(len(self.person)), side="right")
        work = np.cumsum(width[self.member])[end - 1]
        start = 0
        while start < len(self.person):
            before = int(work[start - 1]) if start else 0
            stop = max(int(np.searchsorted(work, before + MAX_HISTOGRAM_ENTRIES, side="right")), start + 1)
            pairs = slice(int(end[start - 1]) if start else 0, int(end[stop - 1]))
            united = unite_groups(whole, self.owner[pairs] - start, self.member[pairs], stop - start)
            yield slice(start, stop), united.within(totals)
            start = stop

    def entries_of(self, crowds: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which published entries are in one of some crowds."""
        chosen = np.zeros(self.combinations, np.bool_)
        chosen[self.member[crowds[self.owner]]] = True
        return chosen[self.number]


def find_person_crowds(
    published: SubsetCounter, known: SubsetCounter, chosen: Sequence[int], *, with_visible: bool = True
) -> PersonCrowds:
    """Find the crowds of the people of ``known`` on some columns.

    A suppressed cell of ``known`` is matched by suppressed cells only. A crowd that is the group of the rows with the
    person's labels and nothing else is left out. Without ``with_visible``, so are all crowds that contain such rows.
    """
    columns = list(chosen)
    cells = np.stack([published.columns[j] for j in columns], axis=1)
    sizes = [published.sizes[j] + 1 for j in columns]
    hidden_code = np.asarray(sizes) - 1
    number, combinations = group_keys(cells, sizes)
    first = np.zeros(combinations, np.int64)
    first[number] = np.arange(len(number))
    cells = cells[first]
    hidden = cells == hidden_code
    empty = np.zeros(0, np.int64)
    if not hidden.any():
        return PersonCrowds(empty, empty, empty, number, combinations)
    values = np.stack([known.columns[j] for j in columns], axis=1)
    same, people = group_keys(values, sizes)
    person = np.zeros(people, np.int64)
    person[same] = np.arange(len(same))
    values = values[person]
    kind, kinds = group_keys(hidden.astype(np.int32), [2] * len(columns))
    owners, members = [], []
    wanted, seen = np.zeros(people, np.bool_), np.zeros(people, np.bool_)
    for index in range(kinds):
        rows = np.flatnonzero(kind == index)
        suppressed = hidden[rows[0]]
        own = np.flatnonzero(~suppressed)
        key, keys = group_keys(np.concatenate([values[:, own], cells[np.ix_(rows, own)]]), [sizes[i] for i in own])
        member = np.full(keys, -1, np.int64)
        member[key[people:]] = rows
        matching = member[key[:people]]
        owner = np.flatnonzero(matching >= 0)
        owners.append(owner)
        members.append(matching[owner])
        (wanted if suppressed.any() else seen)[owner] = True
    if not with_visible:
        wanted &= ~seen
    owner, member = np.concatenate(owners), np.concatenate(members)
    owner, member = owner[wanted[owner]], member[wanted[owner]]
    order = np.argsort(owner, kind="stable")
    renumbered = np.cumsum(wanted) - 1
    return PersonCrowds(person[wanted], renumbered[owner[order]], member[order], number, combinations)
