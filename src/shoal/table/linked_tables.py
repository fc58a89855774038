"""Linked tables: a root table of people, and tables of their facts.

A child table names a row of its parent in one column. A *fact* is a row of a child table: the table, the values of its
known columns, and those of the rows on its path to the person. Every row of every table belongs to one person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import TableError
from shoal.table.frequency_set import encode_column
from shoal.table.groups import number_rows

if TYPE_CHECKING:
    import pyarrow as pa

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Link:
    """A column of a child table that names a row of its parent table."""

    table: str
    column: str
    parent: str
    key: str


@dataclass(frozen=True)
class FactTable:
    """The facts of one child table, row by row.

    Attributes
    ----------
    parent
        The name of the table that it refers to.
    person, parent_row
        int64 (rows,): the number of the person, and of the row of the parent table.
    label
        int64 (rows,): equal for rows with equal known values and equal paths.
    codes
        int64 (rows,) by known column: equal for equal values.
    days
        int64 (rows,) by column with dates: days since 1970; the smallest integer if missing.
    whole_numbers
        int64 (rows,) by column with integers.
    """

    name: str
    parent: str
    person: Whole
    parent_row: Whole
    label: Whole
    codes: Mapping[str, Whole] = field(default_factory=dict)
    days: Mapping[str, Whole] = field(default_factory=dict)
    whole_numbers: Mapping[str, Whole] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of facts."""
        return len(self.person)


@dataclass(frozen=True)
class SensitiveValues:
    """The values of a sensitive column, by person: pairs without repeats."""

    table: str
    column: str
    person: Whole
    value: Whole


@dataclass(frozen=True)
class LinkedPeople:
    """People, their labels in the root table, and their facts.

    Attributes
    ----------
    root
        int64 (people,): equal for people with equal known values in the root table.
    """

    root_name: str
    root: Whole
    tables: tuple[FactTable, ...]
    sensitive: tuple[SensitiveValues, ...] = ()

    @property
    def people(self) -> int:
        """The number of people."""
        return len(self.root)

    def table(self, name: str) -> FactTable:
        """Return a child table by name."""
        return next(table for table in self.tables if table.name == name)

    @cached_property
    def counts(self) -> Whole:
        """The number of rows by person and child table: int64 (people, tables)."""
        counted = [np.bincount(table.person, minlength=self.people) for table in self.tables]
        return np.stack(counted, axis=1) if counted else np.zeros((self.people, 0), np.int64)


def resolve_links(
    tables: Mapping[str, pa.Table],
    root: str,
    links: Sequence[Link],
    known: Mapping[str, Sequence[str]],
    sensitive: Sequence[tuple[str, str]] = (),
) -> LinkedPeople:
    """Follow the links from every row to its person.

    ``known`` are the columns that an intruder may know, by table. Raises if a key repeats or is missing in a parent, if
    a row has no parent, if the types of a key and its reference differ, or if the tables form no tree.
    """
    require_tree(tables, root, links)
    for name, table in tables.items():
        if not table.num_rows:
            raise TableError("linked.no-rows", table=name)
    person: dict[str, Whole] = {root: np.arange(tables[root].num_rows)}
    root_codes = _codes(tables, root, known.get(root, ()))
    label: dict[str, Whole] = {root: number_rows(list(root_codes.values()), tables[root].num_rows)}
    facts: dict[str, FactTable] = {}
    waiting = list(links)
    while waiting:
        link = next(link for link in waiting if link.parent in person)
        waiting.remove(link)
        table = tables[link.table]
        row = _parent_rows(table, tables[link.parent], link)
        person[link.table] = person[link.parent][row]
        path = [] if link.parent == root else [label[link.parent][row]]
        columns = known.get(link.table, ())
        codes = _codes(tables, link.table, columns)
        label[link.table] = number_rows([*codes.values(), *path], table.num_rows)
        facts[link.table] = FactTable(
            link.table,
            link.parent,
            person[link.table],
            row,
            label[link.table],
            codes,
            {name: days for name in columns if (days := _days(table, name)) is not None},
            {name: numbers for name in table.column_names if (numbers := _integers(table, name)) is not None},
        )
    _require_one_person(tables, root, links, person)
    values = tuple(_sensitive_values(tables[name], name, column, person[name]) for name, column in sensitive)
    return LinkedPeople(root, label[root], tuple(facts[link.table] for link in links), values)


def require_tree(tables: Mapping[str, object], root: str, links: Sequence[Link]) -> None:
    """Raise unless the links form a tree of all tables with this root."""
    for link in links:
        for name in (link.table, link.parent):
            if name not in tables:
                raise TableError("linked.unknown-table", table=name)
    linked = [link.table for link in links]
    for name in linked:
        if linked.count(name) > 1:
            raise TableError("linked.two-parents", table=name)
    if root in linked:
        raise TableError("linked.root-has-parent", table=root)
    reached = {root}
    while grown := {link.table for link in links if link.parent in reached} - reached:
        reached |= grown
    for name in tables:
        if name not in reached:
            raise TableError("linked.not-linked", table=name, root=root)


def _parent_rows(table: pa.Table, parent: pa.Table, link: Link) -> Whole:
    """Return the row of the parent that each row of a child table names."""
    import pyarrow.compute as pc

    for name, column, holder in ((link.table, link.column, table), (link.parent, link.key, parent)):
        if column not in holder.column_names:
            raise TableError("linked.unknown-column", table=name, column=column)
    references, keys = table.column(link.column), parent.column(link.key)
    if references.type != keys.type:
        wide = _key_kind(keys.type)
        if wide is None or wide != _key_kind(references.type):
            raise TableError("linked.key-types-differ", table=link.table, column=link.column, parent=link.parent)
        references, keys = references.cast(wide), keys.cast(wide)
    if keys.null_count or pc.count_distinct(keys).as_py() < len(keys):
        raise TableError(
            "linked.key-not-unique",
            table=link.parent,
            column=link.key,
            rows=len(keys) - int(pc.count_distinct(keys).as_py()),
        )
    row = pc.index_in(references, value_set=keys.combine_chunks())
    if references.null_count or row.null_count:
        orphans = pc.sum(pc.or_(pc.is_null(references), pc.is_null(row))).as_py()
        raise TableError("linked.orphans", table=link.table, rows=orphans, parent=link.parent)
    return np.asarray(row.to_numpy(), np.int64)


def _require_one_person(
    tables: Mapping[str, pa.Table], root: str, links: Sequence[Link], person: Mapping[str, Whole]
) -> None:
    """Raise if a row names another person than its path does.

    A column of the root key's name may number the rows of its own table instead: such a column is unique.
    """
    import pyarrow.compute as pc

    own = {link.key for link in links if link.parent == root}
    for link in links:
        referred = {other.key for other in links if other.parent == link.table}
        for key in own & set(tables[link.table].column_names) - {link.column} - referred:
            keys, column = tables[root].column(key), tables[link.table].column(key)
            if keys.type != column.type:
                continue
            named = pc.index_in(column, value_set=keys.combine_chunks()).fill_null(-1).to_numpy()
            if (named < 0).any() and pc.count_distinct(column).as_py() == len(column):
                continue
            differing = int(((named != person[link.table]) & ~column.is_null().to_numpy()).sum())
            if differing:
                raise TableError("linked.other-person", table=link.table, column=key, rows=differing)


def _codes(tables: Mapping[str, pa.Table], table: str, columns: Sequence[str]) -> dict[str, Whole]:
    """Return the codes of some columns of a table; missing is a value."""
    for name in columns:
        if name not in tables[table].column_names:
            raise TableError("linked.unknown-column", table=table, column=name)
    found = {name: encode_column(tables[table].column(name), name, 0)[1] for name in columns}
    return {name: np.asarray(codes, np.int64) for name, codes in found.items()}


def _days(table: pa.Table, name: str) -> Whole | None:
    """Return a column of dates, as text too, as days since 1970.

    None for other columns.
    """
    import pyarrow as pa

    column = table.column(name)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.date32(), safe=False)
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        try:
            column = column.cast(pa.date32())
        except pa.ArrowInvalid:
            return None
    elif not pa.types.is_date(column.type):
        return None
    days = column.cast(pa.date32(), safe=False).cast(pa.int32()).cast(pa.int64())
    return np.asarray(days.fill_null(np.iinfo(np.int64).min).to_numpy(), np.int64)


def _integers(table: pa.Table, name: str) -> Whole | None:
    """Return a column of integers without gaps; None for others."""
    import pyarrow as pa

    column = table.column(name)
    if not pa.types.is_integer(column.type) or pa.types.is_uint64(column.type) or column.null_count:
        return None
    return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)


def _sensitive_values(table: pa.Table, name: str, column: str, person: Whole) -> SensitiveValues:
    if column not in table.column_names:
        raise TableError("linked.unknown-column", table=name, column=column)
    dictionary, codes = encode_column(table.column(column), column, 0)
    present = codes < len(dictionary.text)
    pairs = np.unique(np.stack([person[present], codes[present].astype(np.int64)], axis=1), axis=0)
    return SensitiveValues(name, column, pairs[:, 0], pairs[:, 1])


def _key_kind(kind: pa.DataType) -> pa.DataType | None:
    """Return the widest type of a kind of key: integers or text."""
    import pyarrow as pa

    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return pa.int64()
    return pa.large_string() if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None
