"""The engine for one machine: DuckDB, in process, on all cores, spilling to disk under a memory limit."""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import re
import stat
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from shoal.errors import OutputError, ShoalError, TableError
from shoal.io.engines import sql
from shoal.io.engines.base import (
    UTC,
    Declared,
    Relation,
    Source,
    check_memory,
    check_names,
    check_time_zone,
    memory_bytes,
)
from shoal.io.engines.duckdb_files import (
    folder_cells,
    number_pattern,
    plain_number,
    scan_csv,
    scan_parquet,
)
from shoal.io.engines.sql_engine import SqlEngine
from shoal.io.formats import FORMATS, PLAIN, STANDARD, Format, Writing, format_of, writer_of
from shoal.io.formats.adbc import answer
from shoal.io.formats.compression import in_utf8, is_packed, lay_out
from shoal.io.formats.csv_dialect import RELEASED, CsvFormat, detect, is_cp1252, same_header, surely_named
from shoal.io.formats.object_store import Store
from shoal.io.formats.partitioned import Parts, common_schema, find_parts, refuse_double
from shoal.io.formats.postgres import Asked, Postgres
from shoal.io.formats.sandbox import load_apart
from shoal.io.formats.urls import address_of
from shoal.runtime.scratch import make_scratch

__all__ = ["DuckDBEngine", "as_cells", "frame_to_arrow"]

KEPT_FREE = "8MB"
"""How much memory that is free again each thread of DuckDB's may keep; its default is 16 times as much."""


class DuckDBEngine(SqlEngine):
    """DuckDB behind the :class:`shoal.io.engines.base.Engine` protocol; use it as a context manager.

    Parameters
    ----------
    memory
        Memory limit such as ``"1GB"``; beyond it DuckDB spills to a private temporary directory.
    threads
        Number of threads; all cores by default.
    time_zone
        The zone in which instants are read, grouped by their text and written; the machine's own plays no part.
    """

    numbered = True
    text_type, hash_function, copies = "VARCHAR", "hash", "unnest(range(n))"
    quote = staticmethod(sql.literal)

    def __init__(self, memory: str | None = None, threads: int | None = None, time_zone: str = UTC) -> None:
        check_time_zone(time_zone)
        if memory is not None:
            check_memory(memory)
        self._spill = make_scratch(Path(tempfile.gettempdir()), "shoal-")
        # DuckDB would otherwise fetch extensions from the network
        config: dict[str, Any] = {"temp_directory": str(self._spill.path), "autoinstall_known_extensions": False}
        if memory is not None:
            config["memory_limit"] = memory
        if threads is not None:
            config["threads"] = threads
        try:
            self._connection = duckdb.connect(":memory:", config=config)
        except duckdb.Error as error:
            self._spill.remove()
            raise TableError(
                f"The engine does not take these settings (memory {memory!r}, threads {threads!r})."
            ) from error
        self._made = 0
        self._memory = None if memory is None else memory_bytes(memory)
        self._unpacked: dict[Path, Path] = {}
        self._run(f"SET TimeZone = {sql.literal(time_zone)}")
        self._run(f"SET allocator_flush_threshold = {sql.literal(KEPT_FREE)}")
        self._run("SET allocator_background_threads = true")  # a thread of its own gives back what is free

    def close(self) -> None:
        """Let go of the data and remove what was spilled."""
        self._connection.close()
        self._spill.remove()

    # -- reading ---------------------------------------------------------------------------------

    def read(self, source: Source) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`."""
        if source.database is not None:
            return self._read_database(source)
        if source.path is None:
            return self._read_frame(source.frame, source.csv.missing, source.with_nan)
        path = self._fetched(source.path)
        parts = None if path == STANDARD else find_parts(path, source.format)
        if parts is not None:
            source.require_taken(FORMATS[parts.form])
            return self._read_parts(parts, source)
        if path != STANDARD:
            _require_file(path)
        path = self._laid_out(path)
        form = format_of(path, source.format)
        source.require_taken(form)
        if form.name in ("csv", "parquet"):
            return self._read_parts(Parts(form.name, (path,)), source)
        return self._read_other(form, path, source)

    def _read_database(self, source: Source) -> Relation:
        if source.driver is not None:
            with answer(source.database or "", source.driver, source.table, source.query) as batches:
                names = tuple(batches.schema.names)
                name = self._held(batches, source.csv.missing, source.with_nan)
            return self._view(sql.replaced(name, len(names), {}), names, named=True)
        with Postgres(source.database or "", fault=TableError) as server:
            asked = server.columns(source.table, source.query)
            found = self.take(server, asked, source.csv.missing, source.with_nan)
            return replace(found, labels={} if source.table is None else server.labels(source.table))

    def take(
        self, server: Postgres, asked: Asked, missing: tuple[str, ...] = (), with_nan: Collection[str] = ()
    ) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`."""
        with server.batches(asked.statement) as batches:
            name = self._held(batches, missing, with_nan)
        if asked.flagged:
            ((place,),) = self._run(f"SELECT min({sql.column(len(asked.names))}) FROM {name}").fetchall()
            if place is not None:
                raise TableError(
                    f"Column {asked.names[place]!r} holds infinity or 24:00, which is no date and no time of a day. "
                    f"Turn it into text by a query."
                )
        exact = {place: f"TRY_CAST({sql.column(place)} AS {kind})" for place, kind in asked.kinds.items()}
        return self._view(sql.replaced(name, len(asked.names), exact), asked.names, named=True)

    def _held(self, batches: pa.RecordBatchReader, missing: tuple[str, ...], with_nan: Collection[str]) -> str:
        """A table of this engine with what comes, as columns c0, c1, ..."""
        name, incoming = self._name(), self._name()
        cells = as_cells(batches.schema, missing, with_nan)
        names = [sql.column(place) for place in range(len(batches.schema))]
        renamed = pa.schema([part.with_name(name) for part, name in zip(batches.schema, names, strict=True)])
        coming = pa.RecordBatchReader.from_batches(renamed, (batch.rename_columns(names) for batch in batches))
        self._connection.register(incoming, coming)
        self._run(f"CREATE TEMP TABLE {name} AS SELECT {cells} FROM {incoming}")
        self._connection.unregister(incoming)
        return name

    def batches(self, table: Relation) -> pa.RecordBatchReader:
        """See :class:`shoal.io.engines.base.Engine`."""
        query = _in_order(table)
        found = self._connection.sql(query).to_arrow_reader(1 << 17)
        return pa.RecordBatchReader.from_batches(
            pa.schema([part.with_name(name) for part, name in zip(found.schema, table.columns, strict=True)]),
            (batch.rename_columns(list(table.columns)) for batch in found),
        )

    def _fetched(self, path: Path) -> Path:
        """What an object store has, copied once to this machine; other paths as they are."""
        if address_of(path) is None:
            return path
        if path not in self._unpacked:
            self._unpacked[path] = Store(path, TableError).fetch(self._room())
        return self._unpacked[path]

    def _room(self) -> Path:
        """A private folder for what is laid out next."""
        folder = self._spill.path / f"unpacked-{len(self._unpacked)}"
        folder.mkdir(mode=0o700)
        return folder

    def _laid_out(self, path: Path) -> Path:
        """A file as it can be read at any place: standard input and compressed files are laid out once."""
        if path != STANDARD and is_packed(path) is None:
            return path
        if path not in self._unpacked:
            name = "standard input" if path == STANDARD else re.sub(r"(?i)\.(gz|zst)$", "", path.name)
            self._unpacked[path] = lay_out(path, self._room() / name)
        return self._unpacked[path]

    def _in_utf8(self, path: Path) -> Path:
        """A file in cp1252 as one that DuckDB reads."""
        key = path / "in cp1252"  # no file has such a path
        if key not in self._unpacked:
            self._unpacked[key] = in_utf8(path, self._room() / path.name)
        return self._unpacked[key]

    def _read_parts(self, parts: Parts, source: Source) -> Relation:
        """One table of one or many files, CSV or Parquet."""
        given = source.csv
        parts = replace(parts, files=tuple(map(self._laid_out, parts.files)))
        by_folder = bool(parts.keys)
        if parts.form == "parquet":
            schema = common_schema(parts.files)
            names, named = tuple(schema.names), True
            query = scan_parquet(parts.files, schema, as_cells(schema, given.missing, source.with_nan), by_folder)
        else:
            if is_cp1252(given.encoding):
                parts = replace(parts, files=tuple(map(self._in_utf8, parts.files)))
                given = replace(given, encoding="utf-8")
            form = detect(parts.files[0], given)
            for file in parts.files[1:]:
                detect(file, replace(form, names=(), skip=0))
            same_header(parts.files, form)
            names, named = form.names, surely_named(given, form)
            query = scan_csv(parts.files, form, by_folder)
            if form.foreign_numbers:
                query = self._plain_numbers(query, form, by_folder)
        refuse_double(names, parts.keys)
        if by_folder:
            query = folder_cells(query, len(names), parts)
        return self._view(query, (*names, *parts.keys), named)

    def _plain_numbers(self, query: str, form: CsvFormat, with_file: bool) -> str:
        """The scan with numbers as 1234.5 in the columns in which all values are numbers as the file writes them."""
        places, pattern = range(len(form.names)), sql.literal(number_pattern(form))
        asked = ", ".join(f"bool_and(regexp_full_match({sql.column(place)}, {pattern}))" for place in places)
        (numeric,) = self._run(f"SELECT {asked} FROM ({query})").fetchall()
        cells = [
            f"{plain_number(sql.column(place), form)} AS {sql.column(place)}" if numeric[place] else sql.column(place)
            for place in places
        ]
        return f"SELECT {', '.join([*cells, *(['filename'] if with_file else [])])} FROM ({query})"

    def _read_other(self, form: Format, path: Path, source: Source) -> Relation:
        """A file that is not read by DuckDB itself: by another process, as an Arrow table."""
        table, labels = load_apart(form, path, source.options, self._spill.path, self._memory)
        return replace(self._read_frame(table, source.csv.missing, source.with_nan), labels=labels)

    def _read_frame(self, frame: Any, missing: tuple[str, ...], with_nan: Collection[str]) -> Relation:
        table = frame_to_arrow(frame)
        names = tuple(table.column_names)
        check_names(names, named=True)
        for place, part in enumerate(table.schema):
            if pa.types.is_float16(part.type):  # DuckDB has no such type
                table = table.set_column(place, part.name, table.column(place).cast(pa.float32()))
        renamed = table.rename_columns([sql.column(place) for place in range(len(names))])
        cells = as_cells(table.schema, missing, with_nan)
        return self._view(f"SELECT {cells} FROM {self._send(renamed)}", names, named=True)

    def _view(self, query: str, columns: tuple[str, ...], named: bool = False) -> Relation:
        check_names(columns, named)
        name = self._name()
        self._run(f"CREATE TEMP VIEW {name} AS {query}")
        types = self._connection.sql(f"DESCRIBE {name}").fetchall()
        return Relation(name, columns, tuple(str(row[1]) for row in types), named=named)

    def keep(self, table: Relation) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`; spilled under the memory limit."""
        name = self._name()
        self._run(f"CREATE TEMP TABLE {name} AS SELECT * FROM {table.name}")
        return replace(table, name=name)

    # -- the way of the data ---------------------------------------------------------------------

    def frequencies(self, table: Relation, places: Sequence[int]) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`."""
        return self._fetch(sql.frequencies(table.name, places))

    def rows_holding(self, table: Relation, place: int, texts: Sequence[str], most: int) -> list[int]:
        """See :class:`shoal.io.engines.base.Engine`."""
        wanted = self._send(pa.table({"v": pa.array(list(texts), pa.string())}))
        found = self._fetch(
            f"SELECT r FROM (SELECT row_number() OVER () AS r, CAST({sql.column(place)} AS VARCHAR) AS v "
            f"FROM {table.name}) WHERE v IN (SELECT v FROM {wanted}) ORDER BY r LIMIT {int(most)}"
        )
        return [int(row) for row in found.column(0).to_pylist()]

    def declare(self, table: Relation, texts: pa.Table) -> tuple[Declared, pa.Table]:
        """See :class:`shoal.io.engines.base.Engine`."""
        numbered = texts.append_column("i", pa.array(range(texts.num_rows), pa.int64()))
        kinds = {place: table.types[place] for place in sql.places(texts.column_names)}
        name = self._name()
        self._run(f"CREATE TEMP TABLE {name} AS {sql.declared(self._send(numbered), kinds)}")
        return Declared(name, texts.num_rows, kinds), self._fetch(sql.declared_again(name, list(kinds)))

    def count_matching(self, table: Relation, wanted: Declared, times: str = "1") -> list[int]:
        """See :class:`shoal.io.engines.base.Engine`; for ``times`` see :func:`shoal.io.engines.sql.count_matching`."""
        counted = self._fetch(sql.count_matching(table.name, wanted.name, wanted.kinds, times))
        found = dict(zip(counted.column("i").to_pylist(), counted.column("n").to_pylist(), strict=True))
        return [int(found.get(row, 0)) for row in range(wanted.rows)]

    def total(
        self, table: Relation, place: int, scale: float, ends: tuple[int, int], wanted: Declared, times: str = "1"
    ) -> int:
        """See :class:`shoal.io.engines.base.Engine`; for ``times`` see :func:`shoal.io.engines.sql.count_matching`."""
        query = sql.total(table.name, place, scale, ends, wanted.name, wanted.kinds, times)
        ((found,),) = self._run(query).fetchall()  # all of it: a result that is left open blocks the next statement
        return int(found or 0)

    def few_of_each(self, table: Relation, owners: pa.Table, most: int) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`."""
        key = sql.places(owners.column_names)
        query = sql.few_of_each(table.name, len(table.columns), key, self._send(owners), most)
        return self.keep(self._view(query, table.columns, table.named))  # the same rows, however often they are read

    def combinations(self, table: Relation, counted: pa.Table) -> Relation:
        """A table that is held elsewhere as its combinations (c<i>) with their counts (n), to be asked with times n."""
        return replace(table, name=self._send(counted))

    def repeat(
        self, table: Relation, keep: Sequence[int], rows: pa.Table, constants: Mapping[int, str], own: Sequence[int]
    ) -> Relation | None:
        """See :class:`shoal.io.engines.base.Engine`."""
        if own:
            asked = ", ".join(f"stats({sql.column(place)})" for place in own)
            known = self._run(f"SELECT {asked} FROM {table.name} LIMIT 1").fetchall()
            if any(told.get("has_null") is not True for row in known for told in row):
                return None
        return replace(self._repeated(table, keep, rows, constants), ordered=True)

    def spread(self, table: Relation, places: Sequence[int]) -> None:
        """See :class:`shoal.io.engines.base.Engine`."""
        return

    # -- results ---------------------------------------------------------------------------------

    def write(self, table: Relation, path: Path, writing: Writing = PLAIN) -> Source:
        """See :class:`shoal.io.engines.base.Engine`."""
        form = writer_of(path)
        if form.module is not None:
            return self._write_other(form, table, path, writing)
        query = _in_order(table)
        _give_back()
        try:
            if path.suffix.lower() == ".parquet":
                self._write_parquet(table, query, path)
            else:
                header = io.StringIO()
                csv.writer(header, lineterminator="\n").writerow(table.columns)
                # our own header: DuckDB's would rename columns that differ only in case; the suffix is the end
                # of the last line, which DuckDB leaves out where there is one
                self._run(
                    f"COPY ({query}) TO {sql.literal(str(path))} (FORMAT csv, HEADER false, "
                    f"PREFIX {sql.literal(header.getvalue())}, SUFFIX '\n')"
                )
        except (OSError, duckdb.IOException) as error:
            raise OutputError(f"The release cannot be written to {str(path.parent)!r}: {_reason(error)}") from None
        return Source(path, csv=RELEASED)

    def _write_other(self, form: Format, table: Relation, path: Path, writing: Writing = PLAIN) -> Source:
        """A format that DuckDB does not write itself; a library's own words on a failure may quote data."""
        assert form.module is not None
        rows = self.to_arrow(table)
        try:
            return Source(path, reading=importlib.import_module(form.module).write(rows, path, writing))
        except (ShoalError, MemoryError):
            raise
        except OSError as error:
            raise OutputError(f"The release cannot be written to {str(path.parent)!r}: {_reason(error)}") from None
        except Exception as error:
            raise OutputError(
                f"The release cannot be written as {form.title} ({type(error).__name__}). Write it as CSV or Parquet."
            ) from None

    def sample(self, table: Relation, rows: int) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`; chosen by their place alone."""
        numbered = f"SELECT *, row_number() OVER () AS n FROM {table.name}"
        query = (
            f"SELECT {sql.columns(range(len(table.columns)))} FROM ({numbered}) ORDER BY hash(n), n LIMIT {int(rows)}"
        )
        return self._fetch(query).rename_columns(list(table.columns))

    def _write_parquet(self, table: Relation, query: str, path: Path) -> None:
        if len({name.lower() for name in table.columns}) < len(table.columns):
            import pyarrow.parquet as pq

            with self._connection.sql(query).to_arrow_reader(1 << 17) as batches:
                schema = pa.schema(
                    [part.with_name(name) for part, name in zip(batches.schema, table.columns, strict=True)]
                )
                with pq.ParquetWriter(path, schema, compression="zstd") as writer:
                    for batch in batches:
                        writer.write_batch(batch.rename_columns(list(table.columns)))
            return
        names = ", ".join(f"{sql.column(p)} AS {_identifier(name)}" for p, name in enumerate(table.columns))
        self._run(f"COPY (SELECT {names} FROM ({query})) TO {sql.literal(str(path))} (FORMAT parquet, CODEC 'zstd')")

    def to_arrow(self, table: Relation) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`."""
        return self._fetch(_in_order(table)).rename_columns(list(table.columns))

    def hold(self, table: Relation, like: Any) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`; always an Arrow table."""
        return self.to_arrow(table)

    def rows(self, table: Relation, places: Sequence[int]) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`."""
        return self._fetch(f"SELECT {sql.columns(places)} FROM {table.name}")

    def head(self, table: Relation, most: int) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`."""
        return self._fetch(f"SELECT {sql.columns(range(len(table.columns)))} FROM {table.name} LIMIT {int(most)}")

    # -- inside ----------------------------------------------------------------------------------

    def _name(self) -> str:
        self._made += 1
        return f"shoal_{self._made}"

    def _send(self, table: pa.Table) -> str:
        name = self._name()
        self._connection.register(name, table)
        return name

    def _answers(self, query: str) -> list[dict[str, Any]]:
        return list(self._fetch(query).to_pylist())

    def _fetch(self, query: str) -> pa.Table:
        try:
            return self._connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            raise _explain(error) from None

    def _run(self, query: str) -> Any:
        try:
            return self._connection.execute(query)
        except duckdb.IOException:
            raise
        except duckdb.Error as error:
            raise _explain(error) from None


def _give_back() -> None:
    """Have the system take back what Arrow and C keep of memory that is free: DuckDB, which sorts next, has its own."""
    import ctypes

    pa.default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # the GNU library has it
        ctypes.CDLL(None).malloc_trim(0)


def _in_order(table: Relation) -> str:
    """All rows in content order; DuckDB keeps the order of rows that it need not move."""
    places = range(len(table.columns))
    if table.ordered:
        return f"SELECT {sql.columns(places)} FROM {table.name}"
    return sql.sorted_rows(table.name, places, table.ranked)


WORTH_THREADS = 100_000
"""The columns of fewer rows are sooner converted than the threads are started that would share them."""


def frame_to_arrow(frame: Any) -> pa.Table:
    """An Arrow table of a pandas, Polars, PyArrow or DuckDB object."""
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, duckdb.DuckDBPyRelation):
        return frame.to_arrow_table()
    import narwhals as nw

    try:
        wrapped = nw.from_native(frame)
        if isinstance(wrapped, nw.LazyFrame):
            wrapped = wrapped.collect()
        names = tuple(map(str, wrapped.columns))
    except TypeError:
        raise TableError(
            f"A table must be a path, or a pandas, Polars, PyArrow or DuckDB object; found {type(frame).__name__}."
        ) from None
    except nw.exceptions.DuplicateError:
        check_names(tuple(map(str, frame.columns)), named=True)
        raise
    check_names(names, named=True)
    if not wrapped.implementation.is_pandas_like() and nw.Object in wrapped.schema.values():
        raise TableError(_mixed(wrapped))
    try:
        if wrapped.implementation.is_pandas() and len(wrapped) < WORTH_THREADS:
            table = pa.Table.from_pandas(wrapped.to_native(), nthreads=1)
        else:
            table = wrapped.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        raise TableError(_mixed(wrapped)) from None
    # pandas keeps an index other than 0, 1, ... as a further column; it is no column of the user's
    return table.select([name for name in table.column_names if name in set(names)])


def _mixed(frame: Any) -> str:
    for name in frame.columns:
        try:
            frame.select(name).to_arrow()
        except Exception:
            return (
                f"Column {name!r} mixes types, so its values have no common form. Convert it to one type first, "
                f"for example to text."
            )
    return "The table cannot be turned into Arrow columns; convert its columns to plain types first."


_PLAIN = (
    pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal,
    pa.types.is_date, pa.types.is_time, pa.types.is_timestamp, pa.types.is_string, pa.types.is_large_string,
    pa.types.is_string_view,
)  # fmt: skip
"""Kinds of values that have an order and a text; intervals, durations, bytes and long decimals have not both."""


def as_cells(schema: pa.Schema, missing: tuple[str, ...], with_nan: Collection[str] = ()) -> str:
    """Columns of a typed table, with the declared markers as missing, and NaN but in the columns ``with_nan``."""
    cells = []
    markers = ", ".join(map(sql.literal, missing))
    for place, part in enumerate(schema):
        name = sql.column(place)
        value_type = part.type.value_type if pa.types.is_dictionary(part.type) else part.type
        if pa.types.is_nested(value_type):
            raise TableError(
                f"Column {part.name!r} holds {value_type}; only plain values can be anonymized. Unnest it first."
            )
        if pa.types.is_decimal256(value_type) or not any(is_kind(value_type) for is_kind in _PLAIN):
            raise TableError(
                f"Column {part.name!r} holds {value_type}, which has no text. Convert it to text or numbers."
            )
        cell = name
        if pa.types.is_null(value_type):
            cell = f"CAST({name} AS VARCHAR)"
        if pa.types.is_dictionary(part.type):
            cell = f"CAST({name} AS VARCHAR)" if _is_text(value_type) else name
        if pa.types.is_floating(value_type) and part.name not in with_nan:
            cell = f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END"
        if missing:
            cell = f"CASE WHEN CAST({name} AS VARCHAR) IN ({markers}) THEN NULL ELSE {cell} END"
        cells.append(f"{cell} AS {name}")
    return ", ".join(cells)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _require_file(path: Path) -> None:
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not a name of a file"
        raise TableError(f"File {str(path)!r} cannot be read: {reason}. Check the path.") from None
    if not stat.S_ISREG(kind):
        raise TableError(f"The source {str(path)!r} must be a file or a directory; copy it to a file first.")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _explain(error: duckdb.Error) -> ShoalError:
    """What went wrong, without the line of data that DuckDB quotes."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    where = f" at line {line.group(1)}" if line else ""
    if "not utf-8" in text or "Invalid unicode" in text:
        return TableError(f'The file is not UTF-8 text{where}. Set its encoding, for example encoding = "latin-1".')
    cells = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if cells:
        return TableError(
            f"Every record must have as many cells as the header: {cells.group(1)}; found {cells.group(2)}{where}. "
            f"Mend that line, or set the delimiter."
        )
    if "unterminated quote" in text:
        return TableError(f"A quoted cell is not closed{where}. Mend it, or set the quote character.")
    if "state machine reached an invalid state" in text:
        return TableError(
            f"The file's line ends or quotes are not regular{where}. Save it with one kind of line end (LF or CR LF), "
            f"and quotes doubled within quotes."
        )
    if line:
        return TableError(f"The file cannot be read as CSV{where}.")
    if isinstance(error, duckdb.OutOfMemoryException):
        return TableError("The memory limit is too small for this table. Raise it, or generalize columns before.")
    if isinstance(error, duckdb.ConversionException | duckdb.InvalidInputException):
        return TableError("The source holds values that cannot be read in its declared types.")
    if isinstance(error, duckdb.IOException):
        return TableError(f"The table cannot be read, or too little room is left for temporary files: {_reason(error)}")
    if type(error) is duckdb.Error or re.search("parquet|snappy|zstd|thrift", text, re.IGNORECASE):
        return TableError("The file is damaged; its data cannot be read. Write it anew.")
    return ShoalError(f"The engine failed: {type(error).__name__}.")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}."
    text = str(error)
    for sign in ("No space left on device", "Permission denied", "Read-only file system", "File too large"):
        if sign in text:
            return f"{sign}."
    return "the file system refused it."
