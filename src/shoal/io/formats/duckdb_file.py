"""DuckDB files, opened read-only by a separate connection.

The connection has no access to anything but the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from shoal.errors import PlanError
from shoal.io.formats import ColumnLabels, Options, Writing
from shoal.io.formats.column_names import require_column_names
from shoal.io.formats.numbers import cast_to_schema
from shoal.io.formats.sqlite import RELEASE, chosen_table

BATCH_ROWS = 1 << 17
READ_ONLY_CONFIG = {"autoinstall_known_extensions": False, "enable_external_access": False}


def load(path: Path, options: Options) -> tuple[Any, Mapping[str, ColumnLabels]]:
    """Load a table of the database, or the result of a query, in batches.

    The default is the only table.
    """
    connection = duckdb.connect(str(path), read_only=True, config=READ_ONLY_CONFIG)
    question = options.query
    if question is None:
        question = f"SELECT * FROM {_qualified_name(chosen_table(_tables(connection), options.table, path))}"
    try:
        batches = connection.sql(question).to_arrow_reader(BATCH_ROWS)
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
        raise PlanError("databases.duckdb-query-not-understood") from None
    return (batches if options.schema is None else cast_to_schema(batches.read_all(), options.schema)), {}


def tables_in(path: Path) -> list[str]:
    """Return the tables and views of a database.

    Those outside of the schema main are called schema.name.
    """
    with duckdb.connect(str(path), read_only=True, config=READ_ONLY_CONFIG) as connection:
        return _tables(connection)


def _tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    found = connection.execute(
        "SELECT CASE WHEN table_schema = 'main' THEN '' ELSE table_schema || '.' END || table_name "
        "FROM information_schema.tables WHERE table_catalog = current_database() ORDER BY 1"
    ).fetchall()
    return [str(name) for (name,) in found]


def _qualified_name(name: str) -> str:
    schema, sign, table = name.partition(".")
    return f"{_quoted(schema)}.{_quoted(table)}" if sign else _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def write(table: pa.Table, path: Path, writing: Writing) -> Options:
    """Write a database of one table; return the options to read it back."""
    require_column_names(table.column_names, path.suffix.lower())
    with duckdb.connect(str(path), config={"autoinstall_known_extensions": False}) as connection:
        connection.register("released", table)
        name = _quoted(writing.table or RELEASE)
        connection.execute(f"CREATE TABLE main.{name} AS SELECT * FROM released")
    return Options(schema=table.schema)
