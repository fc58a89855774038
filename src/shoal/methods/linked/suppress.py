"""Leaving out facts, so that every set of known facts has k people.

In each root group, while a person has a set of at most m facts that fewer than k people have, a fact of it is left out
(:mod:`shoal.methods.linked.kernels.fact_sets`). What hangs on a fact goes with it. Supports only fall, so this ends.
Afterwards facts are put back once, the most frequent first, where all their sets have k people then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.table.groups import different_keys
from shoal.table.linked_coding import CodedTables

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
BannedSets = npt.NDArray[np.int64]
"""int64 (sets, 3): root group, and one or two labels; -1 for no second label."""

MAX_LABELS = 8000
"""Largest number of labels of a root group of which pairs are counted."""


class LabelLimitExceeded(Exception):
    """A root group has more labels than pairs can be counted of."""


@dataclass(frozen=True)
class Entries:
    """People with labels, in the form of the kernels.

    Attributes
    ----------
    group, entry
        int64: the first person of each group, and the first entry of each person, in the order of groups.
    label
        int64 (entries,): the label of each entry, numbered within its group.
    width
        int64 (groups,): the number of labels of each group.
    row_entry
        int64 (rows,): the entry of each row; -1 for labels of too few people.
    order
        int64: the rows that have an entry, sorted by it and by lot.
    key
        int64: root group and label of each label of the groups, as one number.
    labels
        The number of labels.
    """

    group: Whole
    entry: Whole
    label: Whole
    width: Whole
    row_entry: Whole
    order: Whole
    key: Whole
    labels: int

    @property
    def owner(self) -> Whole:
        """The position of each entry's person."""
        return np.repeat(np.arange(len(self.entry) - 1), np.diff(self.entry))

    def count(self, alive: Flags) -> Whole:
        """Count the remaining rows of each entry."""
        chosen = alive & (self.row_entry >= 0)
        return np.bincount(self.row_entry[chosen], minlength=len(self.label)).astype(np.int64)


def make_entries(tables: CodedTables, root: Whole, label: Whole, alive: Flags, k: int, lot: Whole) -> Entries:
    """Collect labels of people; a label of fewer than k of a group has none."""
    labels = int(label.max(initial=-1)) + 1
    groups = int(root.max(initial=-1)) + 1
    rows = np.flatnonzero(alive)
    # each label's people, by root group
    pair, _ = different_keys(tables.person[rows] * labels + label[rows])
    key, support = different_keys(root[pair // max(labels, 1)] * labels + pair % max(labels, 1))
    key = key[support >= k]
    of_row = root[tables.person[rows]] * labels + label[rows]
    index = np.searchsorted(key, of_row)
    known = index < len(key)
    known[known] = key[index[known]] == of_row[known]
    rows, index = rows[known], index[known]
    width = np.bincount(key // max(labels, 1), minlength=groups).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(width)])[:-1]
    people = np.argsort(root, kind="stable")
    position = np.empty(len(root), np.int64)
    position[people] = np.arange(len(root))
    person = position[tables.person[rows]]
    order = np.lexsort((lot[rows], index, person))
    rows, index, person = rows[order], index[order], person[order]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (person[1:] != person[:-1]) | (index[1:] != index[:-1])
    row_entry = np.full(len(label), -1, np.int64)
    row_entry[rows] = np.cumsum(fresh) - 1
    entry = np.searchsorted(person[fresh], np.arange(len(root) + 1)).astype(np.int64)
    local = index[fresh] - first[root[people[person[fresh]]]]
    group = np.searchsorted(root[people], np.arange(groups + 1)).astype(np.int64)
    return Entries(group, entry, local, width, row_entry, rows, key, labels)


def leave_out(
    tables: CodedTables,
    root: Whole,
    label: Whole,
    k: int,
    facts: int,
    lot: Whole,
    failing: Callable[[Flags], BannedSets] | None = None,
) -> Flags:
    """Return the rows that remain if no known set of facts has fewer than k.

    ``root`` is the group of each person, ``lot`` a number for each row that decides ties. ``failing`` returns the sets
    of facts whose crowd does not meet a model, for some remaining rows; no such set remains.
    """
    from shoal.methods.linked.kernels.fact_sets import thin

    alive = np.ones(len(label), np.bool_)
    if facts == 0:
        return alive
    banned = np.zeros((0, 3), np.int64)
    while True:
        entries = make_entries(tables, root, label, alive, k, lot)
        if facts > 1 and int(entries.width.max(initial=0)) > MAX_LABELS:
            raise LabelLimitExceeded
        keep = np.minimum(entries.count(alive), 2).astype(np.int8)
        local, start = _banned_by_group(banned, entries)
        lots = np.zeros(len(keep), np.int64)
        lots[entries.row_entry[entries.order[::-1]]] = lot[entries.order[::-1]]
        thin(entries.group, entries.entry, entries.label, keep, lots, entries.width, local, start, k, facts)
        remains = tables.close(alive & _remaining_rows(entries, keep, facts))
        if (remains == alive).all():
            more = banned[:0] if failing is None else failing(alive)
            if not len(more):
                return alive
            banned = np.concatenate([banned, more])
        alive = remains


def _remaining_rows(entries: Entries, keep: npt.NDArray[np.int8], facts: int) -> Flags:
    """Return the rows of remaining labels.

    Of a label that remains once, the first row stays."""
    remaining = np.zeros(len(entries.row_entry), np.bool_)
    index = entries.row_entry[entries.order]
    first = np.ones(len(index), np.bool_)
    first[1:] = index[1:] != index[:-1]
    rows = np.bincount(index, minlength=len(keep))
    # one row of a label that there are several of: the second was left out
    once = (keep == 1) & (rows > 1) & (facts > 1)
    remaining[entries.order] = (keep[index] > 0) & (first | ~once[index])
    return remaining


def _banned_by_group(banned: BannedSets, entries: Entries) -> tuple[Whole, Whole]:
    """Return banned sets by labels within groups, and where groups begin."""
    groups = len(entries.width)
    first = np.concatenate([[0], np.cumsum(entries.width)])[:-1]
    found = []
    for group, one, two in banned.tolist():
        positions = []
        for label in (one, two):
            key = group * entries.labels + label
            index = int(np.searchsorted(entries.key, key)) if label >= 0 else -1
            if label < 0:
                positions.append(-1)
            elif index < len(entries.key) and entries.key[index] == key:
                positions.append(index - int(first[group]))
        if len(positions) == 2:
            found.append((group, *positions))
    made = np.asarray(sorted(found), np.int64).reshape(-1, 3)
    start = np.searchsorted(made[:, 0], np.arange(groups + 1)).astype(np.int64)
    return np.ascontiguousarray(made[:, 1:]), start


def put_back(tables: CodedTables, root: Whole, label: Whole, k: int, facts: int, lot: Whole, alive: Flags) -> Flags:
    """Put back rows if their sets of facts have k people then.

    Rows that always have children stay out: they would lack them.
    """
    from shoal.methods.linked.kernels.fact_sets import put_back_rows

    entries = make_entries(tables, root, label, np.ones(len(label), np.bool_), k, lot)
    if facts == 0 or (facts > 1 and int(entries.width.max(initial=0)) > MAX_LABELS):
        return alive
    stay_out = {parent for parent, _ in tables.always_with}
    table = np.repeat(np.arange(len(tables.tables)), np.diff(tables.start))
    tried = np.flatnonzero(~alive & (entries.row_entry >= 0) & ~np.isin(table, list(stay_out)))
    group = root[tables.person[tried]]
    size = np.bincount(label[alive], minlength=int(label.max(initial=-1)) + 1)
    order = np.lexsort((lot[tried], -size[label[tried]], table[tried], group))
    tried = tried[order]
    start = np.searchsorted(group[order], np.arange(len(entries.width) + 1)).astype(np.int64)
    remains, keep = alive.copy(), entries.count(alive)
    put_back_rows(
        entries.group,
        entries.entry,
        entries.label,
        keep,
        entries.width,
        tried,
        start,
        entries.row_entry,
        tables.parent,
        remains,
        entries.owner,
        k,
        facts,
    )
    return remains
