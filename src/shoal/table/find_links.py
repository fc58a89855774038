"""Find how tables refer to each other: by declared or by likely keys.

A database declares foreign keys. In a folder of files, a column is taken for a reference if it has the name of another
table's key and that key has all its values. The root is the table that refers to no other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import TableError
from shoal.io.engines.base import Source
from shoal.table.linked_tables import Link

if TYPE_CHECKING:
    import pyarrow as pa

SQLITE_SUFFIXES = (".sqlite", ".sqlite3", ".db")
DUCKDB_SUFFIXES = (".duckdb", ".ddb")
ROW_KEY_ENDINGS = ("id", "key", "uuid", "guid", "nr", "number", "no")


def list_tables(path: Path, like: Source) -> tuple[dict[str, Source], list[Link]]:
    """Return the tables of a folder or a database file, and declared links."""
    if not path.exists():
        raise TableError("linked.folder-not-found")
    if path.is_file():
        tables, links = _database_tables(path)
        return {name: Source(path, table=name, time_zone=like.time_zone) for name in tables}, links
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    found: dict[str, Source] = {}
    for file in files:
        name = table_name(file)
        if file.suffix.lower() in (".json", ".html", ".md", ".toml"):  # certificates, reports and plans
            continue
        if name in found:
            raise TableError("linked.name-twice", table=name)
        found[name] = replace(like, path=file)
    return found, []


def table_name(path: Path) -> str:
    """Return the name of a file's table: the file name up to its first dot."""
    return path.name.split(".")[0]


def _database_tables(path: Path) -> tuple[list[str], list[Link]]:
    """Return the tables of a SQLite or DuckDB file and their foreign keys."""
    if path.suffix.lower() in SQLITE_SUFFIXES:
        return _sqlite_tables(path)
    if path.suffix.lower() in DUCKDB_SUFFIXES:
        return _duckdb_tables(path)
    raise TableError("linked.not-a-folder")


def _sqlite_tables(path: Path) -> tuple[list[str], list[Link]]:
    links = []
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        listed = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        tables = [name for (name,) in connection.execute(listed)]
        for table in tables:
            keys = connection.execute('SELECT "id", "table", "from", "to" FROM pragma_foreign_key_list(?)', (table,))
            for _, parent, column, key in keys.fetchall():
                links.append(Link(table, column, parent, key or _sqlite_key(connection, parent)))
    return tables, links


def _sqlite_key(connection: sqlite3.Connection, table: str) -> str:
    """Return the primary key of a table, which a foreign key may leave out."""
    found = connection.execute("SELECT name FROM pragma_table_info(?) WHERE pk = 1", (table,)).fetchone()
    return str(found[0]) if found else ""


def _duckdb_tables(path: Path) -> tuple[list[str], list[Link]]:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
        ]
        keys = connection.execute(
            "SELECT table_name, constraint_column_names, referenced_table, referenced_column_names "
            "FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' ORDER BY ALL"
        ).fetchall()
    return tables, [
        Link(table, columns[0], parent, names[0]) for table, columns, parent, names in keys if len(columns) == 1
    ]


def find_links(tables: Mapping[str, pa.Table], root: str | None, declared: list[Link]) -> tuple[str, list[Link]]:
    """Return the root table, and one link for every other table.

    Declared links come first. A table that could refer to several others refers to the one that is farthest from the
    root: a measurement of a visit of a person hangs on the visit.
    """
    possible = [*declared]
    linked, keys = {link.table for link in declared}, find_keys(tables)
    for name in tables:
        if name not in linked and name != root:
            possible += _possible_links(tables, keys, name)
    roots = [name for name in tables if name not in {link.table for link in possible}]
    chosen = root or _root_of(roots, possible)
    links: dict[str, Link] = {}
    depth = {chosen: 0}
    # longest paths from the root; without cycles they end after as many rounds as there are tables
    for _ in range(len(tables)):
        for link in possible:
            if link.parent in depth and link.table != chosen and depth.get(link.table, -1) < depth[link.parent] + 1:
                depth[link.table] = depth[link.parent] + 1
                links[link.table] = link
    if any(steps >= len(tables) for steps in depth.values()):
        raise TableError("linked.cycle")
    return chosen, [links[name] for name in tables if name in links]


def _root_of(roots: list[str], links: list[Link]) -> str:
    """Return the one table without a parent that others refer to."""
    referred = [name for name in roots if any(link.parent == name for link in links)]
    if len(referred) != 1:
        raise TableError("linked.root-not-found", tables=len(referred))
    return referred[0]


def _possible_links(tables: Mapping[str, pa.Table], keys: Mapping[str, str], name: str) -> Iterator[Link]:
    """Yield references to the keys of other tables, by columns of their name."""
    for parent, key in keys.items():
        shared = parent != name and key != keys.get(name) and key in tables[name].column_names
        if shared and _contains(tables[parent].column(key), tables[name].column(key)):
            yield Link(name, key, parent, key)


def find_keys(tables: Mapping[str, pa.Table]) -> dict[str, str]:
    """Return the columns that number the rows of the tables that have one.

    Such a column is named after its table, or else it is the first column and not named after another table; it has a
    value in every row, and none twice.
    """
    keys = {}
    for name, table in tables.items():
        named = [column for column in table.column_names if column.lower().startswith(name.lower().rstrip("s"))]
        found = [column for column in named if is_row_key(table, column)]
        keys.update({name: found[0]} if found else {})
    after_tables = set(keys.values())
    for name, table in tables.items():
        first = table.column_names[0]
        if name not in keys and first not in after_tables and is_row_key(table, first):
            keys[name] = first
    return keys


def _contains(keys: Any, references: Any) -> bool:
    """Return whether a key has all values of a column."""
    import pyarrow.compute as pc

    if keys.type != references.type or references.null_count:
        return False
    return bool(pc.all(pc.is_in(references, value_set=keys.combine_chunks())).as_py())


def is_unique(column: Any) -> bool:
    """Return whether a column has a value in every row and none twice."""
    import pyarrow.compute as pc

    return len(column) > 1 and not column.null_count and pc.count_distinct(column).as_py() == len(column)


def is_row_key(table: pa.Table, name: str) -> bool:
    """Return whether a column only numbers the rows of its table."""
    import pyarrow as pa

    column = table.column(name)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return False
    return name.lower().endswith(ROW_KEY_ENDINGS) and is_unique(column)
