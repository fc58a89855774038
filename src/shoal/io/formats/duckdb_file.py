"""DuckDB's own files: opened read-only by a connection of its own that reaches nothing outside of the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from shoal.errors import OutputError, PlanError
from shoal.io.formats import ColumnLabels, Options, Writing
from shoal.io.formats.numbers import as_told
from shoal.io.formats.sqlite import RELEASE, chosen_table

__all__ = ["load", "tables_in", "write"]

BATCH = 1 << 17
CLOSED = {"autoinstall_known_extensions": False, "enable_external_access": False}


def load(path: Path, options: Options) -> tuple[Any, Mapping[str, ColumnLabels]]:
    """A table of the database, the only one by default, or the answer to a question, in batches."""
    connection = duckdb.connect(str(path), read_only=True, config=CLOSED)
    question = options.query
    if question is None:
        question = f"SELECT * FROM {_place(chosen_table(_tables(connection), options.table, path))}"
    try:
        batches = connection.sql(question).to_arrow_reader(BATCH)
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
        raise PlanError("The query of the source is not one that DuckDB understands; try it there first.") from None
    return (batches if options.schema is None else as_told(batches.read_all(), options.schema)), {}


def tables_in(path: Path) -> list[str]:
    """The tables and views of a database; those outside of the schema main as schema.name."""
    with duckdb.connect(str(path), read_only=True, config=CLOSED) as connection:
        return _tables(connection)


def _tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    found = connection.execute(
        "SELECT CASE WHEN table_schema = 'main' THEN '' ELSE table_schema || '.' END || table_name "
        "FROM information_schema.tables WHERE table_catalog = current_database() ORDER BY 1"
    ).fetchall()
    return [str(name) for (name,) in found]


def _place(name: str) -> str:
    schema, sign, table = name.partition(".")
    return f"{_quoted(schema)}.{_quoted(table)}" if sign else _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def write(table: pa.Table, path: Path, writing: Writing) -> Options:
    """Write a database of one table; returns how it is read back."""
    if len({name.lower() for name in table.column_names}) < len(table.column_names):
        raise OutputError("Columns of a DuckDB table must differ in more than case. Rename them, or write Parquet.")
    with duckdb.connect(str(path), config={"autoinstall_known_extensions": False}) as connection:
        connection.register("released", table)
        name = _quoted(writing.table or RELEASE)
        connection.execute(f"CREATE TABLE main.{name} AS SELECT * FROM released")
    return Options(schema=table.schema)
