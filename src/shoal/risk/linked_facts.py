"""Crowds of people in linked tables, by kinds of knowledge.

An intruder knows the values of the root table, and besides one of these:

* **m facts**: any m rows of child tables, with their values and their path to the person, as a multiset. With
  structure, also which of two rows hang on the same parent row;
* **rows per table**: how many rows a person has in each child table; with structure, how many per parent row;
* **all**: every fact, with its structure;
* **intervals**: the days between the dates of a table, which a shift of dates does not change;
* **rows without children**: how many rows lack a child that nearly all rows have.

The crowd of a person is everybody who shares what is known. Each function returns the size of the smallest crowd of
each person. Nergiz, Clifton and Nergiz, "Multirelational k-anonymity", 2009; Poulis et al., "Anonymizing data with
relational and transaction attributes", 2013.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.table.groups import different_keys, number_rows
from shoal.table.linked_rows import LinkedRowCrowds, crowds_of_row_sets, number_multisets
from shoal.table.linked_tables import FactTable, LinkedPeople, SensitiveValues

Whole = npt.NDArray[np.int64]

MAX_SETS_AT_ONCE = 1_000_000
"""Number of sets of facts that are held in memory at once."""
MAX_CHILDLESS_SHARE = 0.05
"""Share of rows without a child up to which their lack is conspicuous."""
MAX_OFFSET_DAYS = 3660
"""Largest number of days that is taken for an offset of dates."""
MISSING_DAY = np.iinfo(np.int64).min


def count_equal(parts: Sequence[Whole], people: int) -> Whole:
    """Return, for each person, the number of people with the same numbers."""
    number = number_rows(parts, people)
    return np.bincount(number)[number]


def crowds_by_root(linked: LinkedPeople) -> Whole:
    """Return the crowds of the root table's known values."""
    return count_equal([linked.root], linked.people)


def crowds_by_facts(linked: LinkedPeople, facts: int, tables: Sequence[str] | None = None) -> Whole:
    """Return the smallest crowds of the root and any ``facts`` rows or fewer.

    ``tables`` restricts the facts to some child tables. The crowd of no fact is that of the root.
    """
    smallest = crowds_by_root(linked)
    for crowds in fact_crowds(linked, facts, tables):
        np.minimum.at(smallest, crowds.person, np.repeat(np.diff(crowds.start), np.diff(crowds.start)))
    return smallest


def fact_crowds(linked: LinkedPeople, facts: int, tables: Sequence[str] | None = None) -> Iterator[LinkedRowCrowds]:
    """Yield all crowds of the root and one to ``facts`` rows, in parts.

    Groups are those of :func:`number_facts`.
    """
    person, _, group = number_facts(linked, tables)
    if not len(person) or facts < 1:
        return
    groups = int(group.max()) + 1
    key, rows = different_keys(person * groups + group)
    owner, group = key // groups, key % groups
    for part in _parts_by_root(linked.root[owner], owner, np.minimum(rows, facts), facts):
        people, inverse = np.unique(owner[part], return_inverse=True)
        labels, label_of = np.unique(group[part], return_inverse=True)
        order = np.lexsort((label_of.reshape(-1), inverse.reshape(-1)))
        chosen = label_of.reshape(-1)[order], inverse.reshape(-1)[order], np.minimum(rows[part][order], facts)
        singles = _crowds_of_single_facts(chosen[0], chosen[1], len(labels))
        yield replace(singles, person=people[singles.person].astype(np.int32), group=labels[singles.group])
        if facts > 1:
            several = crowds_of_row_sets(*chosen, len(labels), facts)
            yield replace(several, person=people[several.person].astype(np.int32), group=labels[several.group])


def summarize_crowds(linked: LinkedPeople, facts: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the size of the smallest crowd and the number of crowds.

    Both are by the number of known facts; the smallest is that of at most as many.
    """
    roots = np.bincount(linked.root)
    smallest, crowds_of = [int(roots.min())] + [linked.people] * facts, [len(roots)] + [0] * facts
    for crowds in fact_crowds(linked, facts):
        if crowds.count:
            known = len(crowds.group) // crowds.count
            smallest[known] = min(smallest[known], int(np.diff(crowds.start).min()))
            crowds_of[known] += crowds.count
    return tuple(np.minimum.accumulate(smallest).tolist()), tuple(crowds_of)


def number_facts(linked: LinkedPeople, tables: Sequence[str] | None = None) -> tuple[Whole, Whole, Whole]:
    """Return person, label and group of all facts.

    Crowds never cross root labels: facts are in one group if their labels and those of the root are equal.
    """
    person, label = _facts_of(linked, tables)
    return person, label, number_rows([linked.root[person], label], len(person))


def count_fact_sets(linked: LinkedPeople, facts: int) -> int:
    """Return how many sets of facts people have, counted person by person."""
    rows = linked.counts.sum(axis=1).astype(np.float64)
    sets = np.ones(len(rows))
    for known in range(facts):
        sets *= np.maximum(rows - known, 0) / (known + 1)
    return int(sets.sum())


def root_crowds(linked: LinkedPeople) -> LinkedRowCrowds:
    """Return the crowds of the root table's known values."""
    order = np.argsort(linked.root, kind="stable")
    start = np.r_[0, np.cumsum(np.bincount(linked.root))]
    none = np.zeros(0, np.int64)
    return LinkedRowCrowds(start, order.astype(np.int32), none, none)


def crowds_by_linked_facts(linked: LinkedPeople) -> Whole:
    """Return the smallest crowds of two facts and their relation.

    Two facts hang on the same parent row, or one hangs on the other, or neither. The crowd is everybody who has two
    such facts in the same relation.
    """
    smallest = crowds_by_facts(linked, 1)
    person, label = _facts_of(linked, None)
    parent = np.concatenate([_parent_numbers(linked, table) for table in linked.tables])
    own = np.concatenate([_row_numbers(linked, table) for table in linked.tables])
    group = number_rows([linked.root[person], label], len(person))
    order = np.argsort(person, kind="stable")
    person, group, parent, own = person[order], group[order], parent[order], own[order]
    root = linked.root[person]
    for part in _parts_by_root(root, person, np.ones_like(person), 2):
        first, second = _pairs(person[part])
        one, two = np.flatnonzero(part)[first], np.flatnonzero(part)[second]
        relation = np.zeros(len(one), np.int64)
        relation[(parent[one] == parent[two]) & (parent[one] >= 0)] = 1
        relation[(parent[two] == own[one]) | (parent[one] == own[two])] = 2
        low, high = np.minimum(group[one], group[two]), np.maximum(group[one], group[two])
        known = number_rows([low, high, relation], len(one))
        keys, _ = different_keys(known * linked.people + person[one])
        size = np.bincount(keys // linked.people)
        np.minimum.at(smallest, keys % linked.people, size[keys // linked.people])
    return smallest


def crowds_by_counts(linked: LinkedPeople, *, structure: bool = False) -> Whole:
    """Return the crowds of the root and the rows per table.

    With structure, the number of rows under each parent row is known too.
    """
    if structure:
        bare = [replace(table, label=np.zeros_like(table.label)) for table in linked.tables]
        return crowds_by_all(replace(linked, tables=tuple(bare)))
    return count_equal([linked.root, *linked.counts.T], linked.people)


def crowds_by_facts_and_counts(linked: LinkedPeople, facts: int) -> Whole:
    """Return the crowds of the root, the rows per table and some facts."""
    return crowds_by_facts(replace(linked, root=number_rows([linked.root, *linked.counts.T], linked.people)), facts)


def crowds_by_all(linked: LinkedPeople) -> Whole:
    """Return the crowds of the root and all facts with their structure."""
    tree = {table.name: table.label for table in linked.tables}
    for table in reversed(_parents_first(linked)):
        children = [child for child in linked.tables if child.parent == table.name]
        owners = [child.parent_row for child in children]
        below = number_multisets(owners, [tree[child.name] for child in children], table.rows)
        tree[table.name] = number_rows([tree[table.name], below], table.rows)
    direct = [table for table in linked.tables if table.parent == linked.root_name]
    own = number_multisets([table.person for table in direct], [tree[table.name] for table in direct], linked.people)
    return count_equal([linked.root, own], linked.people)


def crowds_by_intervals(linked: LinkedPeople, table: FactTable, column: str) -> Whole:
    """Return the crowds of the root and the days between a table's dates."""
    dated = table.days[column] != MISSING_DAY
    person, days = table.person[dated], table.days[column][dated]
    order = np.lexsort((days, person))
    person, days = person[order], days[order]
    same = np.r_[False, person[1:] == person[:-1]] if len(person) else np.zeros(0, np.bool_)
    gaps = np.diff(days, prepend=0)[same]
    owner = person[same]
    position = np.arange(len(owner)) - np.searchsorted(owner, owner)
    steps = number_rows([position, gaps - gaps.min(initial=0)], len(owner))
    return count_equal([linked.root, number_multisets([owner], [steps], linked.people)], linked.people)


def crowds_by_childless_rows(linked: LinkedPeople, child: FactTable) -> Whole | None:
    """Return the crowds of the root and the number of rows without a child.

    None unless a few rows of the parent table lack a row of ``child``.
    """
    if child.parent == linked.root_name:
        return None
    parent = linked.table(child.parent)
    lacks = np.bincount(child.parent_row, minlength=parent.rows) == 0
    if not lacks.any() or lacks.mean() > MAX_CHILDLESS_SHARE:
        return None
    lacking = np.bincount(parent.person[lacks], minlength=linked.people)
    return count_equal([linked.root, lacking], linked.people)


def crowds_by_value(linked: LinkedPeople, table: FactTable, column: str) -> Whole:
    """Return the smallest crowds of one value of a column, without the root.

    Such a value may name a third party, such as a doctor: whoever knows it finds the people with it. People without a
    row of the table are in a crowd of everybody.
    """
    codes = table.codes[column]
    width = int(codes.max(initial=0)) + 1
    keys, _ = different_keys(table.person * width + codes)
    people = np.bincount(keys % width, minlength=width)
    smallest = np.full(linked.people, linked.people, np.int64)
    np.minimum.at(smallest, keys // width, people[keys % width])
    return smallest


def is_offset(table: FactTable, column: str) -> bool:
    """Return whether a column looks like days by which dates were shifted.

    It is one integer of each person, of both signs, of at most ten years.
    """
    values = table.whole_numbers[column]
    pairs = np.unique(np.stack([table.person, values], axis=1), axis=0)
    if len(pairs) != len(np.unique(table.person)) or np.abs(values).max(initial=0) > MAX_OFFSET_DAYS:
        return False
    return bool((values < 0).any() and (values > 0).any())


def count_disclosed(linked: LinkedPeople, sensitive: SensitiveValues, facts: int) -> int:
    """Count the people in crowds with one value in common."""
    disclosed = np.zeros(linked.people, np.bool_)
    first = np.searchsorted(sensitive.person, np.arange(linked.people + 1))
    width = int(sensitive.value.max(initial=0)) + 1
    for crowds in (root_crowds(linked), *fact_crowds(linked, facts)):
        members = crowds.person.astype(np.int64)
        crowd = np.repeat(np.arange(crowds.count), np.diff(crowds.start))
        values = first[members + 1] - first[members]
        each = np.repeat(np.arange(len(members)), values)
        position = first[members][each] + np.arange(len(each)) - np.repeat(np.cumsum(values) - values, values)
        key, people = different_keys(crowd[each] * width + sensitive.value[position])
        shared = np.unique(key[people == np.diff(crowds.start)[key // width]] // width)
        found = np.zeros(crowds.count, np.bool_)
        found[shared] = True
        disclosed[members[found[crowd]]] = True
    return int(disclosed.sum())


def _facts_of(linked: LinkedPeople, tables: Sequence[str] | None) -> tuple[Whole, Whole]:
    """Return person and label of all facts, labels of different tables differ."""
    chosen = [table for table in linked.tables if tables is None or table.name in tables]
    if not chosen:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    offset = np.cumsum([0, *(int(table.label.max(initial=-1)) + 1 for table in chosen)])
    labels = [table.label + offset[number] for number, table in enumerate(chosen)]
    return np.concatenate([table.person for table in chosen]), np.concatenate(labels)


def _crowds_of_single_facts(group: Whole, person: Whole, groups: int) -> LinkedRowCrowds:
    """Return the people with each fact."""
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(groups + 1))
    each = np.arange(groups)
    return LinkedRowCrowds(start.astype(np.int64), person[order].astype(np.int32), each, each)


def _parts_by_root(root: Whole, person: Whole, rows: Whole, facts: int) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield masks of entries of whole root labels, with few sets of facts."""
    sets = np.zeros(int(root.max()) + 1, np.float64)
    per_person = np.bincount(person, weights=rows)
    present, first = np.unique(person, return_index=True)
    np.add.at(sets, root[first], per_person[present] ** facts / max(1, facts))
    part = np.floor(np.cumsum(sets) / MAX_SETS_AT_ONCE).astype(np.int64)
    for number in np.unique(part[root]):
        yield part[root] == number


def _pairs(person: Whole) -> tuple[Whole, Whole]:
    """Return all pairs of positions with the same person; people are sorted."""
    end = np.searchsorted(person, person, side="right")
    later = end - np.arange(len(person)) - 1
    first = np.repeat(np.arange(len(person)), later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    return first, second


def _offsets(linked: LinkedPeople) -> dict[str, int]:
    """Return where the row numbers of each child table begin in one count."""
    ends = np.cumsum([0, *(table.rows for table in linked.tables)])
    return {table.name: int(ends[number]) for number, table in enumerate(linked.tables)}


def _row_numbers(linked: LinkedPeople, table: FactTable) -> Whole:
    return _offsets(linked)[table.name] + np.arange(table.rows)


def _parent_numbers(linked: LinkedPeople, table: FactTable) -> Whole:
    """Return the number of each row's parent row; -1 for the root."""
    if table.parent == linked.root_name:
        return np.full(table.rows, -1, np.int64)
    return _offsets(linked)[table.parent] + table.parent_row


def _parents_first(linked: LinkedPeople) -> list[FactTable]:
    """Return the child tables, each after the table it refers to."""
    ordered: list[FactTable] = []
    reached = {linked.root_name}
    while len(ordered) < len(linked.tables):
        found = [table for table in linked.tables if table.parent in reached and table.name not in reached]
        ordered += found
        reached |= {table.name for table in found}
    return ordered
