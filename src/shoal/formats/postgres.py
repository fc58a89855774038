"""PostgreSQL through ADBC: tables are streamed in and out, a release is made in one transaction.

A source is read in one REPEATABLE READ READ ONLY transaction: what others change meanwhile is not seen. A release is
written to a stage table, read back from the server, verified, and only then takes its name, together with its
certificate; whatever breaks off before the commit leaves the old release, and no stage table. The address comes from
the environment (``env:NAME``) or a service file (``service:NAME``) and is repeated nowhere; what the server or the
driver says of a failure is told by its code alone, for it may quote rows or addresses.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import pyarrow as pa

from shoal.errors import InputError, OutputError, PlanError, TableError

__all__ = ["Postgres", "name_of_certificate"]

LONGEST_NAME = 63
PACKAGES = ("adbc_driver_manager", "adbc_driver_postgresql")
AS_THEY_ARE = {
    "bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "bpchar", "date", "time", "timestamp",
    "timestamptz",
}  # fmt: skip
NO_VALUES = {"bytea", "interval", "record", "void"}
DDL = {
    "VARCHAR": "text", "BOOLEAN": "boolean", "DATE": "date", "TIME": "time", "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamptz", "DOUBLE": "double precision", "FLOAT": "real", "BIGINT": "bigint",
    "INTEGER": "integer", "SMALLINT": "smallint", "TINYINT": "smallint", "UTINYINT": "smallint", "USMALLINT": "integer",
    "UINTEGER": "bigint",
}  # fmt: skip
"""The engine's types as the server's; what is not here goes as text."""

REASONS = {
    "42501": "the role has no right to do that",
    "42P01": "there is no such table",
    "42703": "there is no such column",
    "42601": "the query is not one that it understands",
    "3F000": "there is no such schema",
    "2BP01": "other objects, such as views, depend on the old release; it is not dropped with them",
    "55P03": "somebody else has locked the table",
    "40001": "another transaction changed the same table",
    "53100": "its disk is full",
    "57014": "the statement was cancelled",
    "42P07": "a table of this name was made meanwhile",
}


def name_of_certificate(table: str) -> str:
    """The table that holds the certificate of a release: its name with _certificate, shortened where that is too long.

    >>> name_of_certificate("visits")
    'visits_certificate'
    """
    name = f"{table}_certificate"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    mark = hashlib.sha256(table.encode()).hexdigest()[:12]
    return f"{table.encode()[:37].decode(errors='ignore')}_{mark}_certificate"


class Postgres:
    """One transaction on a server; use it as a context manager. It is rolled back unless :meth:`publish` ends it."""

    def __init__(self, database: str, *, fault: type[InputError], write: bool = False) -> None:
        self._fault = fault
        address = _address(database)
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise PlanError(
                "PostgreSQL needs the package adbc-driver-postgresql, which is not installed. Install it with: pip "
                "install 'shoal[postgres]'"
            ) from None
        with self._told("be reached"):
            self._connection = dbapi.connect(address, autocommit=False)
        if not write:
            self.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def __enter__(self) -> Postgres:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for close in (self._connection.rollback, self._connection.close):
            with suppress(Exception):  # the connection may be lost; the server rolls back by itself
                close()

    @contextmanager
    def _told(self, what: str, left: str = "Nothing was changed there.") -> Iterator[None]:
        """Say what the server could not do, in words of our own."""
        try:
            yield
        except InputError:
            raise
        except Exception as error:
            code = getattr(error, "sqlstate", None) or ""
            if type(error).__module__.partition(".")[0] != "adbc_driver_manager" and not code:
                raise
            reason = REASONS.get(code, "the connection was refused or lost" if code[:2] in ("", "08", "57") else "")
            if code[:2] == "28":
                reason = "it does not let this role in"
            raise self._fault(
                f"The database cannot {what}: {reason or 'see the code in its manual'}"
                f"{f' (SQLSTATE {code})' if code else ''}. {left}"
            ) from None

    def run(self, statement: str, given: tuple[Any, ...] | None = None) -> list[tuple[Any, ...]]:
        """Execute a statement; the rows of its answer."""
        with self._told("do what was asked"), self._connection.cursor() as cursor:
            cursor.execute(statement, given)
            return list(cursor.fetchall()) if cursor.description else []

    # -- reading ---------------------------------------------------------------------------------

    def columns(self, table: str | None, query: str | None) -> tuple[tuple[str, ...], str, dict[int, str]]:
        """The names of what is asked for, the statement that gives it as c0, c1, ..., and exact types by place."""
        if (table is None) == (query is None):
            raise PlanError('A database needs table = "schema.name" or query = "..." in [source].')
        asked = _place(table) if table is not None else f"({query or ''}\n) AS q"
        with self._told("be asked for this table"), self._connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {asked} LIMIT 0")
            schema = cursor.fetch_arrow_table().schema
        exact = self._exact(table) if table is not None else {}
        cells, kinds = [], {}
        for place, part in enumerate(schema):
            typname = (part.metadata or {}).get(b"ADBC:postgresql:typname", b"").decode()
            if pa.types.is_nested(part.type) or typname in NO_VALUES or pa.types.is_binary(part.type):
                raise TableError(
                    f"Column {part.name!r} holds {typname or 'arrays'}, not plain values. Leave it out by a query, or "
                    f"unnest it there."
                )
            plain = not typname or typname in AS_THEY_ARE
            cells.append(f"{_quoted(part.name)}{'' if plain else '::text'} AS c{place}")
            if part.name in exact:
                kinds[place] = exact[part.name]
        return tuple(schema.names), f"SELECT {', '.join(cells)} FROM {asked}", kinds

    def _exact(self, table: str) -> dict[str, str]:
        """Columns of numbers with a precision, which come as text and are what the catalogue says."""
        found = self.run(
            "SELECT attname::text, atttypmod FROM pg_attribute WHERE attrelid = "
            f"{_literal(_place(table))}::regclass AND attnum > 0 AND NOT attisdropped AND atttypid = 1700 "
            "AND atttypmod > 4"
        )
        kinds = {}
        for name, modifier in found:
            precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
            if precision <= 38 and scale <= precision:
                kinds[str(name)] = f"DECIMAL({precision}, {scale})"
        return kinds

    @contextmanager
    def batches(self, statement: str) -> Iterator[pa.RecordBatchReader]:
        """The answer to a statement, as it comes."""
        with self._told("be read to the end"), self._connection.cursor() as cursor:
            cursor.execute(statement)
            yield cursor.fetch_record_batch()

    # -- writing ---------------------------------------------------------------------------------

    def begin(self, table: str, *, overwrite: bool) -> None:
        """Be the only one to release to this table, and see that it may be."""
        place = _place(table)
        ((alone,),) = self.run(f"SELECT pg_try_advisory_xact_lock(hashtextextended({_literal('shoal ' + place)}, 0))")
        if not alone:
            raise OutputError("Another release to this table is at work. Wait for its end, or choose another name.")
        for name in (place, _place_of_certificate(table)):
            ((there,),) = self.run(f"SELECT to_regclass({_literal(name)})::text")
            if there is not None and not overwrite:
                raise OutputError(
                    "The output table or its certificate exists. Choose another name, or allow overwriting "
                    "(--overwrite)."
                )

    def stage(self, table: str, columns: Sequence[str], types: Sequence[str], batches: pa.RecordBatchReader) -> str:
        """Write rows to a table of another name, which nobody else sees; returns that name."""
        schema, name = _parts(table)
        mark = hashlib.sha256(f"{os.getpid()} {table}".encode()).hexdigest()[:16]
        stage = f"shoal_stage_{mark}"
        listed = ", ".join(f"{_quoted(c)} {_ddl(t)}" for c, t in zip(columns, types, strict=True))
        where = f"{_quoted(schema)}.{_quoted(stage)}" if schema else _quoted(stage)
        too_long = [name for name in (name, *columns) if len(name.encode()) > LONGEST_NAME]
        if too_long:
            raise OutputError(f"Names must be of at most {LONGEST_NAME} bytes; {too_long[0]!r} is longer. Shorten it.")
        self.run(f"CREATE TABLE {where} ({listed})")
        with self._told("be written to"), self._connection.cursor() as cursor:
            cursor.adbc_ingest(stage, batches, mode="append", **({"db_schema_name": schema} if schema else {}))
        return where

    def publish(self, stage: str, table: str, certificate: str) -> None:
        """Let the stage table take its name, with the certificate beside it, and commit."""
        name = _parts(table)[1]
        papers = _place_of_certificate(table)
        self.run(f"DROP TABLE IF EXISTS {papers}")
        self.run(f"DROP TABLE IF EXISTS {_place(table)}")
        self.run(f"ALTER TABLE {stage} RENAME TO {_quoted(name)}")
        self.run(f"CREATE TABLE {papers} (certificate text NOT NULL)")
        self.run(f"INSERT INTO {papers} VALUES ($1)", (certificate,))
        with self._told("commit the release", "Whether it is there is not known: look before you repeat it."):
            self._connection.commit()


def _address(database: str) -> str:
    kind, sign, name = database.partition(":")
    if sign and kind == "service" and re.fullmatch(r"[\w.-]+", name):
        return f"service={name}"
    if not sign or kind != "env" or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise PlanError(
            'The database must be "env:NAME", the environment variable that holds its address, or "service:NAME" of a '
            "service file. No address stands in a plan: it may carry a password."
        )
    found = os.environ.get(name)
    if not found:
        raise PlanError(f"The environment variable {name} must hold the address of the database; it is not set.")
    return found


def _parts(table: str) -> tuple[str, str]:
    """Schema (or nothing) and name of a table, written as schema.name, where each may stand in quotes."""
    word = r'(?:"((?:[^"]|"")+)"|([^".]+))'
    found = re.fullmatch(rf"(?:{word}\.)?{word}", table)
    if found is None:
        raise PlanError(f"A table must be written as name or schema.name, with quotes where needed; found {table!r}.")
    one, two, three, four = found.groups()
    return (one or "").replace('""', '"') or two or "", (three or "").replace('""', '"') or four


def _place(table: str) -> str:
    schema, name = _parts(table)
    return f"{_quoted(schema)}.{_quoted(name)}" if schema else _quoted(name)


def _place_of_certificate(table: str) -> str:
    schema, name = _parts(table)
    papers = _quoted(name_of_certificate(name))
    return f"{_quoted(schema)}.{papers}" if schema else papers


def _ddl(kind: str) -> str:
    return kind.replace("DECIMAL", "numeric") if kind.startswith("DECIMAL") else DDL.get(kind, "text")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    if "\\" in text:
        return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    return "'" + text.replace("'", "''") + "'"
