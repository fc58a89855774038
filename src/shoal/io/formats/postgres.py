"""PostgreSQL through ADBC; a release is one transaction.

Tables are streamed in and out. A source is read in one REPEATABLE READ READ ONLY transaction: concurrent changes are
not visible. A release is written to a stage table, read back from the server and verified. Only then does it get its
name, together with its certificate. An interruption before the commit leaves the old release, and no stage table. The
address comes from the environment (``env:NAME``) or a service file (``service:NAME``) and is not repeated. A failure of
the server or the driver is reported by its code alone, since the message may quote rows or addresses.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

import pyarrow as pa

from shoal.errors import InputError, OutputError, PlanError, TableError
from shoal.io.formats import ColumnLabels
from shoal.io.formats.urls import address_in
from shoal.runtime.lazy_dataclass import dataclass

MAX_NAME_BYTES = 63
UNCHANGED_TYPES = {
    "boolean", "smallint", "integer", "bigint", "real", "double precision", "text", "character varying", "date",
    "time without time zone", "timestamp without time zone", "timestamp with time zone",
}  # fmt: skip
"""Types whose values the driver transfers unchanged. The server converts others to text, without padding."""

MISREAD_VALUES = {
    "date": "NOT isfinite({})", "timestamp without time zone": "NOT isfinite({})",
    "timestamp with time zone": "NOT isfinite({})", "time without time zone": "{} = '24:00'",
}  # fmt: skip
"""Values of these types that the driver misreads: infinity, and the end of a day as its beginning."""

UNSUPPORTED_TYPES = {"bytea", "interval", "record", "void"}
DDL = {
    "VARCHAR": "text", "BOOLEAN": "boolean", "DATE": "date", "TIME": "time", "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamptz", "DOUBLE": "double precision", "FLOAT": "real", "BIGINT": "bigint",
    "INTEGER": "integer", "SMALLINT": "smallint", "TINYINT": "smallint", "UTINYINT": "smallint", "USMALLINT": "integer",
    "UINTEGER": "bigint",
}  # fmt: skip
"""The server's types for those of the engine; other types are stored as text."""

REASONS = {
    "42501": "the role has no right to do that",
    "42P01": "there is no such table",
    "42703": "there is no such column",
    "42702": "two columns have one name",
    "42601": "the query is not one that it understands",
    "3F000": "there is no such schema",
    "2BP01": "other objects, such as views, depend on the old release; it is not dropped with them",
    "55P03": "somebody else has locked the table",
    "40001": "another transaction changed the same table",
    "53100": "its disk is full",
    "57014": "the statement was cancelled",
    "42P07": "a table of this name was made meanwhile",
    "42809": "what stands there is no table",
}


def certificate_table_name(table: str) -> str:
    """Return the name of the table with the certificate of a release.

    It is the table's name with _certificate, shortened if that is too long.

    >>> certificate_table_name("visits")
    'visits_certificate'
    """
    name = f"{table}_certificate"
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    mark = hashlib.sha256(table.encode()).hexdigest()[:12]
    return f"{table.encode()[:37].decode(errors='ignore')}_{mark}_certificate"


@dataclass(frozen=True)
class TableName:
    """The name of a table on the server, and its schema.

    Without a schema the server looks it up in its search path.
    """

    schema: str
    name: str

    @classmethod
    def of(cls, table: str) -> TableName:
        """Parse a table name of a plan: name or schema.name, each may be quoted."""
        word = r'(?:"((?:[^"]|"")+)"|([^".]+))'
        found = re.fullmatch(rf"(?:{word}\.)?{word}", table)
        if found is None:
            raise PlanError("databases.table-name-malformed", found=table)
        one, two, three, four = found.groups()
        return cls((one or "").replace('""', '"') or two or "", (three or "").replace('""', '"') or four)

    @property
    def quoted(self) -> str:
        """The quoted name for a statement."""
        return f"{_quoted(self.schema)}.{_quoted(self.name)}" if self.schema else _quoted(self.name)

    @property
    def certificate(self) -> TableName:
        """The name of the table with its certificate."""
        return replace(self, name=certificate_table_name(self.name))


@dataclass(frozen=True)
class TableQuery:
    """A statement that reads a table.

    Attributes
    ----------
    names
        The columns; the statement returns them as c0, c1, ...
    kinds
        Types to cast to, by position: exact numbers come as text.
    flagged
        Whether a last column gives the position of a column whose value cannot be transferred, if there is one.
    """

    names: tuple[str, ...]
    statement: str
    kinds: Mapping[int, str]
    flagged: bool = False


class Postgres:
    """One transaction on a server; use it as a context manager.

    It is rolled back unless :meth:`publish` commits it.
    """

    def __init__(self, database: str, *, fault: type[InputError], write: bool = False) -> None:
        self._fault = fault
        address = address_in(database, services=True)
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise PlanError("databases.postgres-driver-missing") from None
        with self._translate_errors("be reached"):
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
    def _translate_errors(self, what: str, left: str = "Nothing was changed there.") -> Iterator[None]:
        """Replace the server's error by a message without its text."""
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
                "databases.failed",
                action=what,
                reason=reason or "see the code in its manual",
                sqlstate=f" (SQLSTATE {code})" if code else "",
                state=left,
            ) from None

    def run(self, statement: str, given: tuple[Any, ...] | None = None) -> list[tuple[Any, ...]]:
        """Execute a statement; return the rows of its result."""
        with self._translate_errors("do what was asked"), self._connection.cursor() as cursor:
            cursor.execute(statement, given)
            return list(cursor.fetchall()) if cursor.description else []

    # -- reading ---------------------------------------------------------------------------------

    def columns(self, table: str | None, query: str | None, wanted: Sequence[str] | None = None) -> TableQuery:
        """Build the statement for a table or a query.

        It reads all columns, or those that are ``wanted``.
        """
        if (table is None) == (query is None):
            raise PlanError("databases.table-or-query-missing")
        relation = TableName.of(table).quoted if table is not None else f"({query or ''}\n) AS q"
        with self._translate_errors("be asked for this table"), self._connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {relation} LIMIT 0")
            schema = cursor.fetch_arrow_table().schema
        exact = self._exact(table) if table is not None else {}
        parts = [part for part in schema if wanted is None or part.name in wanted]
        cells, kinds, beyond = [], {}, []
        for position, (part, kind) in enumerate(zip(parts, self._kinds(relation, parts), strict=True)):
            if pa.types.is_nested(part.type) or kind in UNSUPPORTED_TYPES or kind.endswith("[]"):
                raise TableError("databases.column-not-plain", column=part.name, type=kind)
            name = _quoted(part.name)
            cells.append(f"{name}{'' if kind in UNCHANGED_TYPES else '::text'} AS c{position}")
            if kind in MISREAD_VALUES:
                beyond.append(f"WHEN {MISREAD_VALUES[kind].format(name)} THEN {position}")
            if part.name in exact:
                kinds[position] = exact[part.name]
        if beyond:
            cells.append(f"CASE {' '.join(beyond)} END AS c{len(parts)}")
        names = tuple(part.name for part in parts)
        return TableQuery(names, f"SELECT {', '.join(cells)} FROM {relation}", kinds, bool(beyond))

    def _kinds(self, relation: str, parts: Sequence[pa.Field]) -> list[str]:
        """Return the server's types of columns; for domains the base types.

        The driver takes money for integers. The types are read from one row of missing values, for the table may be
        empty.
        """
        cells = ", ".join(f"pg_typeof(q.{_quoted(part.name)})::oid::bigint" for part in parts)
        (found,) = self.run(
            f"SELECT {cells} FROM (SELECT) AS one LEFT JOIN (SELECT * FROM {relation} LIMIT 0) AS q ON true"
        )
        names: dict[int, tuple[int, str]] = {}
        wanted = set(found)
        while wanted:
            listed = ", ".join(map(str, sorted(wanted)))
            for number, base, name in self.run(
                f"SELECT oid::bigint, typbasetype::bigint, oid::regtype::text FROM pg_type WHERE oid IN ({listed})"
            ):
                names[number] = (base, name)
            wanted = {base for base, _ in names.values() if base} - names.keys()

        def base_of(number: int) -> str:
            base, name = names[number]
            return base_of(base) if base else name

        return [base_of(number) for number in found]

    def _exact(self, table: str) -> dict[str, str]:
        """Return decimal columns with a precision, and their types.

        They come as text; the catalogue gives the type.
        """
        kinds = {}
        for name, modifier in self._catalogue(table, "atttypmod", "AND atttypid = 1700 AND atttypmod > 4"):
            precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
            if precision <= 38 and scale <= precision:
                kinds[str(name)] = f"DECIMAL({precision}, {scale})"
        return kinds

    def labels(self, table: str) -> dict[str, ColumnLabels]:
        """Return the comments on a table's columns, and which are NOT NULL."""
        found = self._catalogue(table, "col_description(attrelid, attnum), attnotnull")
        return {str(name): ColumnLabels(comment or None, never_missing=bool(filled)) for name, comment, filled in found}

    def _catalogue(self, table: str, what: str, where: str = "") -> list[tuple[Any, ...]]:
        regclass = _literal(TableName.of(table).quoted)
        return self.run(
            f"SELECT attname::text, {what} FROM pg_attribute WHERE attrelid = {regclass}::regclass AND attnum > 0 "
            f"AND NOT attisdropped {where}"
        )

    @contextmanager
    def batches(self, statement: str) -> Iterator[pa.RecordBatchReader]:
        """Stream the result of a statement."""
        broken: list[Exception] = []
        with self._translate_errors("be read to the end"), self._connection.cursor() as cursor:
            cursor.execute(statement)
            try:
                yield record_read_errors(cursor.fetch_record_batch(), broken)
            except Exception:
                if broken:  # the driver gives only a message, which may quote rows
                    raise self._fault("databases.not-read-to-end") from None
                raise

    def count_rows(self, table: TableName, names: Sequence[str], zone: str) -> Iterator[pa.RecordBatch]:
        """Let the server count the rows of a table by the texts of some columns.

        Yields the texts (c<i>) and the counts (n). Equal bytes are equal, whatever the collation of the table says.
        """
        for setting, value in (("datestyle", "ISO, YMD"), ("extra_float_digits", "1"), ("timezone", zone)):
            self.run(f"SET LOCAL {setting} = {_literal(value)}")
        cells = ", ".join(f'{_quoted(name)}::text COLLATE "C" AS c{index}' for index, name in enumerate(names))
        grouped = ", ".join(str(index) for index in range(1, len(names) + 1))
        with self.batches(f"SELECT {cells}, count(*) AS n FROM {table.quoted} GROUP BY {grouped}") as found:
            yield from found

    # -- writing ---------------------------------------------------------------------------------

    def begin(self, table: str, *, overwrite: bool, source: str | None = None) -> TableName:
        """Lock the output table, and check that it may be written.

        ``source`` is a table of the same server. Only a release is replaced: a table with a certificate table.
        """
        target = self._with_schema(table)
        ((alone,),) = self.run(
            f"SELECT pg_try_advisory_xact_lock(hashtextextended({_literal('shoal ' + target.quoted)}, 0))"
        )
        if not alone:
            raise OutputError("databases.release-at-work")
        there = self._object_number(target)
        if source is not None and there is not None and there == self._object_number(TableName.of(source)):
            raise OutputError("databases.output-is-source")
        certificate_number = self._object_number(target.certificate)
        if there is None and certificate_number is None:
            return target
        if not overwrite:
            raise OutputError("databases.output-exists")
        if certificate_number is None or not self._is_certificate(certificate_number):
            raise OutputError("databases.output-not-a-release")
        return target

    def _with_schema(self, table: str) -> TableName:
        """Return a table name with its schema, by default the current schema."""
        target = TableName.of(table)
        if not target.schema:
            ((schema,),) = self.run("SELECT current_schema()::text")
            if schema is None:
                raise OutputError("databases.no-schema")
            target = replace(target, schema=str(schema))
        _require_short(target.schema, target.name)
        return target

    def _object_number(self, target: TableName) -> int | None:
        """Return the server's object number of a table, or None."""
        ((found,),) = self.run(f"SELECT to_regclass({_literal(target.quoted)})::oid::bigint")
        return None if found is None else int(found)

    def _is_certificate(self, number: int) -> bool:
        found = self.run(
            f"SELECT attname::text, atttypid::regtype::text FROM pg_attribute WHERE attrelid = {number} AND attnum > 0 "
            "AND NOT attisdropped"
        )
        return found == [("certificate", "text")]

    def stage(
        self,
        target: TableName,
        columns: Sequence[str],
        types: Sequence[str],
        batches: pa.RecordBatchReader,
        labels: Mapping[str, ColumnLabels],
        *,
        passing: bool = False,
    ) -> TableName:
        """Write rows to a stage table; return its name.

        No other transaction sees it. Its columns get the comments of the source's columns, and are NOT NULL if those
        are. A ``passing`` table is temporary: it ends with the connection and leaves nothing in the server's logs.
        """
        _require_short(*columns)
        mark = hashlib.sha256(f"{os.getpid()} {target.quoted}".encode()).hexdigest()[:16]
        stage = TableName("pg_temp" if passing else target.schema, f"shoal_stage_{mark}")
        listed = ", ".join(f"{_quoted(c)} {_ddl(t)}" for c, t in zip(columns, types, strict=True))
        self.run(f"CREATE TABLE {stage.quoted} ({listed})")
        with self._translate_errors("be written to"), self._connection.cursor() as cursor:
            cursor.adbc_ingest(stage.name, batches, mode="append", db_schema_name=stage.schema)
        for name in columns:
            if name in labels and (label := labels[name].label):
                self.run(f"COMMENT ON COLUMN {stage.quoted}.{_quoted(name)} IS {_literal(label)}")
        self._set_not_null(stage, [name for name in columns if name in labels and labels[name].never_missing])
        return stage

    def _set_not_null(self, stage: TableName, names: Sequence[str]) -> None:
        """Set columns NOT NULL, unless a method has suppressed cells of them."""
        if not names:
            return
        checks = ", ".join(f"coalesce(bool_and({_quoted(name)} IS NOT NULL), true)" for name in names)
        (full,) = self.run(f"SELECT {checks} FROM {stage.quoted}")
        changes = [f"ALTER {_quoted(name)} SET NOT NULL" for name, is_full in zip(names, full, strict=True) if is_full]
        if changes:
            self.run(f"ALTER TABLE {stage.quoted} {', '.join(changes)}")

    def publish(self, stage: TableName, target: TableName, certificate: str) -> None:
        """Rename the stage table, add the certificate table, and commit."""
        certificate_table = target.certificate.quoted
        self.run(f"DROP TABLE IF EXISTS {certificate_table}")
        self.run(f"DROP TABLE IF EXISTS {target.quoted}")
        self.run(f"ALTER TABLE {stage.quoted} RENAME TO {_quoted(target.name)}")
        self.run(f"CREATE TABLE {certificate_table} (certificate text NOT NULL)")
        self.run(f"INSERT INTO {certificate_table} VALUES ($1)", (certificate,))
        with self._translate_errors(
            "commit the release", "Whether it is there is not known: look before you repeat it."
        ):
            self._connection.commit()


def record_read_errors(found: pa.RecordBatchReader, broken: list[Exception]) -> pa.RecordBatchReader:
    """Stream batches, and record the error if they break off.

    The caller reports it in a message without the driver's text.
    """

    def coming() -> Iterator[pa.RecordBatch]:
        try:
            yield from found
        except Exception as error:
            broken.append(error)
            raise

    return pa.RecordBatchReader.from_batches(found.schema, coming())


def _require_short(*names: str) -> None:
    too_long = [name for name in names if len(name.encode()) > MAX_NAME_BYTES]
    if too_long:
        raise OutputError("databases.name-too-long", bytes=MAX_NAME_BYTES, name=too_long[0])


def _ddl(kind: str) -> str:
    return kind.replace("DECIMAL", "numeric") if kind.startswith("DECIMAL") else DDL.get(kind, "text")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    if "\\" in text:
        return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    return "'" + text.replace("'", "''") + "'"
