"""SQLite databases, opened read-only by Python's sqlite3 module.

A table or the result of a query is read. Each column gets one type.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from shoal.errors import PlanError, TableError
from shoal.io.formats import ColumnLabels, Options, Writing
from shoal.io.formats.column_names import require_column_names
from shoal.io.formats.numbers import MAX_EXACT_INTEGER, cast_to_schema

DENY = sqlite3.SQLITE_DENY
BATCH_ROWS = 1 << 16
RELEASE = "release"
"""The default name of a released table."""

KINDS: dict[type, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string()}


def load(path: Path, options: Options) -> tuple[pa.Table, Mapping[str, ColumnLabels]]:
    """Load a table of the database, or the result of a query.

    The default is the only table.
    """
    connection = _opened(path)
    try:
        question = options.query
        if question is None:
            question = f"SELECT * FROM {_quoted(chosen_table(_tables(connection), options.table, path))}"
        try:
            cursor = connection.execute(question)
        except sqlite3.Error:
            raise PlanError("databases.sqlite-query-not-understood") from None
        names = [str(part[0]) for part in cursor.description or ()]
        columns: list[list[Any]] = [[] for _ in names]
        while rows := cursor.fetchmany(BATCH_ROWS):
            for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
                column.extend(cells)
    finally:
        connection.close()
    made = [_column(values, name) for values, name in zip(columns, names, strict=True)]
    table = pa.table(made, names=names)
    return (table if options.schema is None else cast_to_schema(table, options.schema)), {}


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
    # ATTACH would open or create another file with the rights of the user
    connection.set_authorizer(lambda act, *_: DENY if act == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def tables_in(path: Path) -> list[str]:
    """Return the names of the tables and views of a database."""
    connection = _opened(path)
    try:
        return _tables(connection)
    finally:
        connection.close()


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' ESCAPE '~' "
        "ORDER BY name"
    )
    return [str(name) for (name,) in found]


def chosen_table(tables: list[str], wanted: str | None, path: Path) -> str:
    """Return the requested table, or the only one."""
    if wanted is None and len(tables) == 1:
        return tables[0]
    if wanted is None:
        raise PlanError("databases.several-tables", file=path.name, tables=len(tables))
    if wanted not in tables:
        raise TableError("databases.table-not-found", file=path.name, table=wanted)
    return wanted


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _column(values: list[Any], name: str) -> pa.Array:
    """Convert values to a column of one type.

    SQLite has a type for each value. If the types differ, or integers and other numbers mix without being exact, the
    column is text.
    """
    kinds = {type(value) for value in values} - {type(None)}
    if bytes in kinds:
        raise TableError("databases.column-of-bytes", column=name)
    if len(kinds) == 1:
        return pa.array(values, KINDS[kinds.pop()])
    if kinds == {int, float} and all(abs(value) <= MAX_EXACT_INTEGER for value in values if type(value) is int):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def write(table: pa.Table, path: Path, writing: Writing) -> Options:
    """Write a database of one table; return the options to read it back."""
    require_column_names(table.column_names, path.suffix.lower())
    made = pa.table([_holdable(column) for column in table.columns], names=table.column_names)
    sql_kinds = {pa.int64(): "INTEGER", pa.float64(): "REAL", pa.string(): "TEXT"}
    listed = ", ".join(f"{_quoted(part.name)} {sql_kinds[part.type]}" for part in made.schema)
    name = _quoted(writing.table or RELEASE)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = OFF")  # the file is moved to its target when it is complete
        connection.execute("BEGIN")
        connection.execute(f"CREATE TABLE {name} ({listed}) STRICT")
        marks = ", ".join("?" * made.num_columns)
        for batch in made.to_batches(max_chunksize=BATCH_ROWS):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        connection.execute("COMMIT")
    finally:
        connection.close()
    return Options(schema=made.schema)


def _holdable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and kind != pa.uint64()):
        return column.cast(pa.int64())
    return column.cast(pa.float64() if pa.types.is_floating(kind) else pa.string())
