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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import pyarrow as pa

from shoal.errors import InputError, OutputError, PlanError, TableError
from shoal.io.formats import ColumnLabels
from shoal.io.formats.urls import address_in

__all__ = ["Asked", "Place", "Postgres", "name_of_certificate", "watched"]

LONGEST_NAME = 63
AS_THEY_ARE = {
    "boolean", "smallint", "integer", "bigint", "real", "double precision", "text", "character varying", "date",
    "time without time zone", "timestamp without time zone", "timestamp with time zone",
}  # fmt: skip
"""Types whose values the driver brings as what they are. Of others the server makes text, without padding."""

BEYOND = {
    "date": "NOT isfinite({})", "timestamp without time zone": "NOT isfinite({})",
    "timestamp with time zone": "NOT isfinite({})", "time without time zone": "{} = '24:00'",
}  # fmt: skip
"""What values of these types the driver would take for others: infinity, and the end of a day for its beginning."""

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


@dataclass(frozen=True)
class Place:
    """A table of the server: its schema, or none where the server looks for it, and its name."""

    schema: str
    name: str

    @classmethod
    def of(cls, table: str) -> Place:
        """A table as plans write it: name or schema.name, where each may stand in quotes."""
        word = r'(?:"((?:[^"]|"")+)"|([^".]+))'
        found = re.fullmatch(rf"(?:{word}\.)?{word}", table)
        if found is None:
            raise PlanError(
                f"A table must be written as name or schema.name, with quotes where needed; found {table!r}."
            )
        one, two, three, four = found.groups()
        return cls((one or "").replace('""', '"') or two or "", (three or "").replace('""', '"') or four)

    @property
    def quoted(self) -> str:
        """As it stands in a statement."""
        return f"{_quoted(self.schema)}.{_quoted(self.name)}" if self.schema else _quoted(self.name)

    @property
    def certificate(self) -> Place:
        """Where its certificate stands."""
        return replace(self, name=name_of_certificate(self.name))


@dataclass(frozen=True)
class Asked:
    """What a server is asked for.

    Attributes
    ----------
    names
        The columns; the statement gives them as c0, c1, ...
    kinds
        Types to cast to, by place: exact numbers come as text.
    flagged
        Whether a last column tells the place of a column whose value cannot be brought, where there is one.
    """

    names: tuple[str, ...]
    statement: str
    kinds: Mapping[int, str]
    flagged: bool = False


class Postgres:
    """One transaction on a server; use it as a context manager. It is rolled back unless :meth:`publish` ends it."""

    def __init__(self, database: str, *, fault: type[InputError], write: bool = False) -> None:
        self._fault = fault
        address = address_in(database, services=True)
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

    def columns(self, table: str | None, query: str | None, wanted: Sequence[str] | None = None) -> Asked:
        """What gives a table, or the answer to a query: all of its columns, or those that are ``wanted``."""
        if (table is None) == (query is None):
            raise PlanError('A database needs table = "schema.name" or query = "..." in [source].')
        asked = Place.of(table).quoted if table is not None else f"({query or ''}\n) AS q"
        with self._told("be asked for this table"), self._connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {asked} LIMIT 0")
            schema = cursor.fetch_arrow_table().schema
        exact = self._exact(table) if table is not None else {}
        parts = [part for part in schema if wanted is None or part.name in wanted]
        cells, kinds, beyond = [], {}, []
        for place, (part, kind) in enumerate(zip(parts, self._kinds(asked, parts), strict=True)):
            if pa.types.is_nested(part.type) or kind in NO_VALUES or kind.endswith("[]"):
                raise TableError(
                    f"Column {part.name!r} holds {kind}, not plain values. Leave it out by a query, or unnest it there."
                )
            name = _quoted(part.name)
            cells.append(f"{name}{'' if kind in AS_THEY_ARE else '::text'} AS c{place}")
            if kind in BEYOND:
                beyond.append(f"WHEN {BEYOND[kind].format(name)} THEN {place}")
            if part.name in exact:
                kinds[place] = exact[part.name]
        if beyond:
            cells.append(f"CASE {' '.join(beyond)} END AS c{len(parts)}")
        names = tuple(part.name for part in parts)
        return Asked(names, f"SELECT {', '.join(cells)} FROM {asked}", kinds, bool(beyond))

    def _kinds(self, asked: str, parts: Sequence[pa.Field]) -> list[str]:
        """The server's types of columns, for domains what they are made of; the driver takes money for whole numbers.

        They are told of one row in which all is missing, for there may be none.
        """
        cells = ", ".join(f"pg_typeof(q.{_quoted(part.name)})::oid::bigint" for part in parts)
        (found,) = self.run(
            f"SELECT {cells} FROM (SELECT) AS one LEFT JOIN (SELECT * FROM {asked} LIMIT 0) AS q ON true"
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
        """Columns of numbers with a precision, which come as text and are what the catalogue says."""
        kinds = {}
        for name, modifier in self._catalogue(table, "atttypmod", "AND atttypid = 1700 AND atttypmod > 4"):
            precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
            if precision <= 38 and scale <= precision:
                kinds[str(name)] = f"DECIMAL({precision}, {scale})"
        return kinds

    def labels(self, table: str) -> dict[str, ColumnLabels]:
        """What the catalogue says of the columns of a table: the comment on each, and which are never missing."""
        found = self._catalogue(table, "col_description(attrelid, attnum), attnotnull")
        return {str(name): ColumnLabels(comment or None, never_missing=bool(filled)) for name, comment, filled in found}

    def _catalogue(self, table: str, what: str, where: str = "") -> list[tuple[Any, ...]]:
        place = _literal(Place.of(table).quoted)
        return self.run(
            f"SELECT attname::text, {what} FROM pg_attribute WHERE attrelid = {place}::regclass AND attnum > 0 "
            f"AND NOT attisdropped {where}"
        )

    @contextmanager
    def batches(self, statement: str) -> Iterator[pa.RecordBatchReader]:
        """The answer to a statement, as it comes."""
        broken: list[Exception] = []
        with self._told("be read to the end"), self._connection.cursor() as cursor:
            cursor.execute(statement)
            try:
                yield watched(cursor.fetch_record_batch(), broken)
            except Exception:
                if broken:  # the driver says no more here than a text that may quote rows
                    raise self._fault(
                        "The database cannot be read to the end: the connection was lost, or the query fails for one "
                        "of its rows. Nothing was changed there."
                    ) from None
                raise

    # -- writing ---------------------------------------------------------------------------------

    def begin(self, table: str, *, overwrite: bool, source: str | None = None) -> Place:
        """Be the only one to release to this table, and see that it may be; ``source`` is a table of the same server.

        What is replaced is a release: a table with a certificate beside it.
        """
        place = self._settled(table)
        ((alone,),) = self.run(
            f"SELECT pg_try_advisory_xact_lock(hashtextextended({_literal('shoal ' + place.quoted)}, 0))"
        )
        if not alone:
            raise OutputError("Another release to this table is at work. Wait for its end, or choose another name.")
        there = self._number(place)
        if source is not None and there is not None and there == self._number(Place.of(source)):
            raise OutputError("The output must not be the source itself; choose another name.")
        papers = self._number(place.certificate)
        if there is None and papers is None:
            return place
        if not overwrite:
            raise OutputError(
                "The output table or its certificate exists. Choose another name, or allow overwriting (--overwrite)."
            )
        if papers is None or not self._is_certificate(papers):
            raise OutputError(
                "What stands in the place of the output or of its certificate is no release of shoal, and is not "
                "replaced. Choose another name, or drop it yourself."
            )
        return place

    def _settled(self, table: str) -> Place:
        """A table with its schema: where none is given, the one in which the server makes tables."""
        place = Place.of(table)
        if not place.schema:
            ((schema,),) = self.run("SELECT current_schema()::text")
            if schema is None:
                raise OutputError('The database has no schema to write to; give one: table = "schema.name".')
            place = replace(place, schema=str(schema))
        _require_short(place.schema, place.name)
        return place

    def _number(self, place: Place) -> int | None:
        """The server's own number of a table; None where there is none."""
        ((found,),) = self.run(f"SELECT to_regclass({_literal(place.quoted)})::oid::bigint")
        return None if found is None else int(found)

    def _is_certificate(self, number: int) -> bool:
        found = self.run(
            f"SELECT attname::text, atttypid::regtype::text FROM pg_attribute WHERE attrelid = {number} AND attnum > 0 "
            "AND NOT attisdropped"
        )
        return found == [("certificate", "text")]

    def stage(
        self,
        place: Place,
        columns: Sequence[str],
        types: Sequence[str],
        batches: pa.RecordBatchReader,
        labels: Mapping[str, ColumnLabels],
        *,
        passing: bool = False,
    ) -> Place:
        """Write rows to a table of another name, which nobody else sees; returns it.

        Its columns have the comments of the source's, and are never missing where those are not. One that is
        ``passing`` goes with the connection and leaves nothing in the server's logs.
        """
        _require_short(*columns)
        mark = hashlib.sha256(f"{os.getpid()} {place.quoted}".encode()).hexdigest()[:16]
        stage = Place("pg_temp" if passing else place.schema, f"shoal_stage_{mark}")
        listed = ", ".join(f"{_quoted(c)} {_ddl(t)}" for c, t in zip(columns, types, strict=True))
        self.run(f"CREATE TABLE {stage.quoted} ({listed})")
        with self._told("be written to"), self._connection.cursor() as cursor:
            cursor.adbc_ingest(stage.name, batches, mode="append", db_schema_name=stage.schema)
        for name in columns:
            if name in labels and (label := labels[name].label):
                self.run(f"COMMENT ON COLUMN {stage.quoted}.{_quoted(name)} IS {_literal(label)}")
        self._fill(stage, [name for name in columns if name in labels and labels[name].never_missing])
        return stage

    def _fill(self, stage: Place, names: Sequence[str]) -> None:
        """Let columns be never missing, where they are not: a method may have hidden cells of them."""
        if not names:
            return
        asked = ", ".join(f"coalesce(bool_and({_quoted(name)} IS NOT NULL), true)" for name in names)
        (full,) = self.run(f"SELECT {asked} FROM {stage.quoted}")
        changes = [f"ALTER {_quoted(name)} SET NOT NULL" for name, is_full in zip(names, full, strict=True) if is_full]
        if changes:
            self.run(f"ALTER TABLE {stage.quoted} {', '.join(changes)}")

    def publish(self, stage: Place, place: Place, certificate: str) -> None:
        """Let the stage table take its name, with the certificate beside it, and commit."""
        papers = place.certificate.quoted
        self.run(f"DROP TABLE IF EXISTS {papers}")
        self.run(f"DROP TABLE IF EXISTS {place.quoted}")
        self.run(f"ALTER TABLE {stage.quoted} RENAME TO {_quoted(place.name)}")
        self.run(f"CREATE TABLE {papers} (certificate text NOT NULL)")
        self.run(f"INSERT INTO {papers} VALUES ($1)", (certificate,))
        with self._told("commit the release", "Whether it is there is not known: look before you repeat it."):
            self._connection.commit()


def watched(found: pa.RecordBatchReader, broken: list[Exception]) -> pa.RecordBatchReader:
    """Batches as they come; where they break off, why is noted: whoever reads them tells it in words of its own."""

    def coming() -> Iterator[pa.RecordBatch]:
        try:
            yield from found
        except Exception as error:
            broken.append(error)
            raise

    return pa.RecordBatchReader.from_batches(found.schema, coming())


def _require_short(*names: str) -> None:
    too_long = [name for name in names if len(name.encode()) > LONGEST_NAME]
    if too_long:
        raise OutputError(f"Names must be of at most {LONGEST_NAME} bytes; {too_long[0]!r} is longer. Shorten it.")


def _ddl(kind: str) -> str:
    return kind.replace("DECIMAL", "numeric") if kind.startswith("DECIMAL") else DDL.get(kind, "text")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    if "\\" in text:
        return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    return "'" + text.replace("'", "''") + "'"
