"""The engine for one machine: DuckDB, in process.

It uses all cores and spills to disk under a memory limit.
"""

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
from typing_extensions import override

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
from shoal.io.formats.adbc import query_database
from shoal.io.formats.compression import compression_of, convert_to_utf8, unpack_to_file
from shoal.io.formats.csv_dialect import (
    RELEASED,
    CsvFormat,
    check_same_header,
    detect,
    has_reliable_names,
    is_cp1252,
    refuse_carriage_returns,
)
from shoal.io.formats.object_store import Store
from shoal.io.formats.partitioned import Parts, check_no_duplicates, find_parts, read_runs
from shoal.io.formats.postgres import Postgres, TableQuery
from shoal.io.formats.sandbox import load_in_sandbox
from shoal.io.formats.urls import address_of
from shoal.runtime.scratch import make_scratch

MAX_FREE_MEMORY_PER_THREAD = "8MB"
"""Freed memory that each DuckDB thread may keep; the default is 16 times as much."""


class DuckDBEngine(SqlEngine):
    """DuckDB as a :class:`shoal.io.engines.base.Engine`.

    Use it as a context manager.

    Parameters
    ----------
    memory
        Memory limit such as ``"1GB"``; beyond it DuckDB spills to a private temporary directory.
    threads
        Number of threads; all cores by default.
    time_zone
        The zone in which instants are read, grouped by their text and written; the machine's own zone has no effect.
    """

    rows_are_numbered = True
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
            raise TableError("engine.settings-not-accepted", memory=memory, threads=threads) from error
        self._made = 0
        self._memory = None if memory is None else memory_bytes(memory)
        self._unpacked: dict[Path, Path] = {}
        self._run(f"SET TimeZone = {sql.literal(time_zone)}")
        self._run(f"SET allocator_flush_threshold = {sql.literal(MAX_FREE_MEMORY_PER_THREAD)}")
        self._run("SET allocator_background_threads = true")  # a background thread returns free memory

    def close(self) -> None:
        """Release the data and remove spilled files."""
        self._connection.close()
        self._spill.remove()

    # -- reading ---------------------------------------------------------------------------------

    def read(self, source: Source) -> Relation:
        """Make a source readable; nothing is loaded yet."""
        if source.database is not None:
            return self._read_database(source)
        if source.path is None:
            return self._read_frame(source.frame, source.csv.missing, source.with_nan)
        path = self._local_copy(source.path)
        parts = None if path == STANDARD else find_parts(path, source.format)
        if parts is not None:
            source.require_supported_options(FORMATS[parts.form])
            return self._read_parts(parts, source)
        if path != STANDARD:
            _require_file(path)
        path = self._unpacked_file(path)
        form = format_of(path, source.format)
        source.require_supported_options(form)
        if form.name in ("csv", "parquet"):
            return self._read_parts(Parts(form.name, (path,)), source)
        return self._read_other(form, path, source)

    def _read_database(self, source: Source) -> Relation:
        if source.driver is not None:
            with query_database(source.database or "", source.driver, source.table, source.query) as batches:
                names = tuple(batches.schema.names)
                name = self._load_batches(batches, source.csv.missing, source.with_nan)
            return self._view(sql.replaced(name, len(names), {}), names, named=True)
        with Postgres(source.database or "", fault=TableError) as server:
            query = server.columns(source.table, source.query)
            found = self.ingest(server, query, source.csv.missing, source.with_nan)
            return replace(found, labels={} if source.table is None else server.labels(source.table))

    def ingest(
        self, server: Postgres, query: TableQuery, missing: tuple[str, ...] = (), with_nan: Collection[str] = ()
    ) -> Relation:
        """Stream the result of a server's query into a table of this engine."""
        with server.batches(query.statement) as batches:
            name = self._load_batches(batches, missing, with_nan)
        if query.flagged:
            ((position,),) = self._run(f"SELECT min({sql.column(len(query.names))}) FROM {name}").fetchall()
            if position is not None:
                raise TableError("table.infinite-date", column=query.names[position])
        exact = {position: f"TRY_CAST({sql.column(position)} AS {kind})" for position, kind in query.kinds.items()}
        return self._view(sql.replaced(name, len(query.names), exact), query.names, named=True)

    def _load_batches(self, batches: pa.RecordBatchReader, missing: tuple[str, ...], with_nan: Collection[str]) -> str:
        """Load batches into a table of this engine with columns c0, c1, ..."""
        name, incoming = self._name(), self._name()
        cells = as_cells(batches.schema, missing, with_nan)
        names = [sql.column(position) for position in range(len(batches.schema))]
        renamed = pa.schema([part.with_name(name) for part, name in zip(batches.schema, names, strict=True)])
        coming = pa.RecordBatchReader.from_batches(renamed, (batch.rename_columns(names) for batch in batches))
        self._connection.register(incoming, coming)
        self._run(f"CREATE TEMP TABLE {name} AS SELECT {cells} FROM {incoming}")
        self._connection.unregister(incoming)
        return name

    def batches(self, table: Relation) -> pa.RecordBatchReader:
        """Stream the rows of a table in content order, with the user's names."""
        query = _in_order(table)
        found = self._connection.sql(query).to_arrow_reader(1 << 17)
        return pa.RecordBatchReader.from_batches(
            pa.schema([part.with_name(name) for part, name in zip(found.schema, table.columns, strict=True)]),
            (batch.rename_columns(list(table.columns)) for batch in found),
        )

    def _local_copy(self, path: Path) -> Path:
        """Copy from an object store once; return other paths unchanged."""
        if address_of(path) is None:
            return path
        if path not in self._unpacked:
            self._unpacked[path] = Store(path, TableError).fetch(self._make_folder())
        return self._unpacked[path]

    def _make_folder(self) -> Path:
        """Make a private folder for the next unpacked file."""
        folder = self._spill.path / f"unpacked-{len(self._unpacked)}"
        folder.mkdir(mode=0o700)
        return folder

    @override
    def plain_file(self, path: Path) -> Path:
        local = self._local_copy(path)
        return self._unpacked_file(local) if local == STANDARD or local.is_file() else local

    def _unpacked_file(self, path: Path) -> Path:
        """Return a file with random access.

        Standard input and compressed files are copied to one, once.
        """
        if path != STANDARD and compression_of(path) is None:
            return path
        if path not in self._unpacked:
            name = "standard input" if path == STANDARD else re.sub(r"(?i)\.(gz|zst)$", "", path.name)
            self._unpacked[path] = unpack_to_file(path, self._make_folder() / name)
        return self._unpacked[path]

    def _in_utf8(self, path: Path) -> Path:
        """Convert a cp1252 file to UTF-8, which DuckDB reads."""
        key = path / "in cp1252"  # no file has such a path
        if key not in self._unpacked:
            self._unpacked[key] = convert_to_utf8(path, self._make_folder() / path.name)
        return self._unpacked[key]

    def _read_parts(self, parts: Parts, source: Source) -> Relation:
        """Read one table from one or several CSV or Parquet files."""
        given = source.csv
        parts = replace(parts, files=tuple(map(self._unpacked_file, parts.files)))
        by_folder = bool(parts.keys)
        if parts.form == "parquet":
            self._ignore_file_statistics()
            schema, runs = read_runs(parts.files)
            names, named = tuple(schema.names), True
            query = scan_parquet(runs, names, as_cells(schema, given.missing, source.with_nan), by_folder)
        else:
            if is_cp1252(given.encoding):
                parts = replace(parts, files=tuple(map(self._in_utf8, parts.files)))
                given = replace(given, encoding="utf-8")
            form = detect(parts.files[0], given)
            for file in parts.files[1:]:
                detect(file, replace(form, names=(), skip=0))
            check_same_header(parts.files, form)
            names, named = form.names, has_reliable_names(given, form)
            query = scan_csv(parts.files, form, by_folder)
            if form.foreign_numbers:
                query = self._plain_numbers(query, form, by_folder)
        check_no_duplicates(names, parts.keys)
        if by_folder:
            query = folder_cells(query, len(names), parts)
        return self._view(query, (*names, *parts.keys), named)

    def _ignore_file_statistics(self) -> None:
        """Turn off conclusions from the statistics that a Parquet file states.

        The statistics of a column with NaN do not tell of it, so DuckDB would take ``isnan`` for false in every row.
        """
        self._run("SET disabled_optimizers = 'statistics_propagation'")

    def _plain_numbers(self, query: str, form: CsvFormat, with_file: bool) -> str:
        """Convert numbers to the form 1234.5 in purely numeric columns.

        These are the columns in which all values are numbers in the format of the file.
        """
        positions, pattern = range(len(form.names)), sql.literal(number_pattern(form))
        checks = ", ".join(f"bool_and(regexp_full_match({sql.column(position)}, {pattern}))" for position in positions)
        (numeric,) = self._run(f"SELECT {checks} FROM ({query})").fetchall()
        cells = [
            f"{plain_number(sql.column(position), form)} AS {sql.column(position)}"
            if numeric[position]
            else sql.column(position)
            for position in positions
        ]
        return f"SELECT {', '.join([*cells, *(['filename'] if with_file else [])])} FROM ({query})"

    def _read_other(self, form: Format, path: Path, source: Source) -> Relation:
        """Read a format that DuckDB does not read, in another process."""
        table, labels = load_in_sandbox(form, path, source.options, self._spill.path, self._memory)
        return replace(self._read_frame(table, source.csv.missing, source.with_nan), labels=labels)

    def _read_frame(self, frame: Any, missing: tuple[str, ...], with_nan: Collection[str]) -> Relation:
        table = frame_to_arrow(frame)
        names = tuple(table.column_names)
        check_names(names, named=True)
        for position, part in enumerate(table.schema):
            if pa.types.is_float16(part.type):  # DuckDB has no such type
                table = table.set_column(position, part.name, table.column(position).cast(pa.float32()))
        renamed = table.rename_columns([sql.column(position) for position in range(len(names))])
        cells = as_cells(table.schema, missing, with_nan)
        return self._view(f"SELECT {cells} FROM {self._send(renamed)}", names, named=True)

    def _view(self, query: str, columns: tuple[str, ...], named: bool = False) -> Relation:
        check_names(columns, named)
        name = self._name()
        self._run(f"CREATE TEMP VIEW {name} AS {query}")
        types = self._connection.sql(f"DESCRIBE {name}").fetchall()
        return Relation(name, columns, tuple(str(row[1]) for row in types), named=named)

    def cache(self, table: Relation) -> Relation:
        """Return the same rows cached by the engine, so that a CSV is read once.

        The copy is spilled under the memory limit.
        """
        name = self._name()
        self._run(f"CREATE TEMP TABLE {name} AS SELECT * FROM {table.name}")
        return replace(table, name=name)

    # -- counting and recoding --------------------------------------------------------------------

    def frequencies(self, table: Relation, positions: Sequence[int]) -> pa.Table:
        """Return the distinct combinations of columns (c<i>) with their count (n)."""
        return self._fetch(sql.frequencies(table.name, positions))

    def find_row_numbers(self, table: Relation, position: int, texts: Sequence[str], limit: int) -> list[int]:
        """Return the numbers (from 1) of the first rows with one of some texts."""
        wanted = self._send(pa.table({"v": pa.array(list(texts), pa.string())}))
        found = self._fetch(
            f"SELECT r FROM (SELECT row_number() OVER () AS r, CAST({sql.column(position)} AS VARCHAR) AS v "
            f"FROM {table.name}) WHERE v IN (SELECT v FROM {wanted}) ORDER BY r LIMIT {int(limit)}"
        )
        return [int(row) for row in found.column(0).to_pylist()]

    def declare(self, table: Relation, texts: pa.Table) -> tuple[Declared, pa.Table]:
        """Convert declared texts to the types of the table's columns."""
        numbered = texts.append_column("i", pa.array(range(texts.num_rows), pa.int64()))
        kinds = {position: table.types[position] for position in sql.positions(texts.column_names)}
        name = self._name()
        self._run(f"CREATE TEMP TABLE {name} AS {sql.declared(self._send(numbered), kinds)}")
        return Declared(name, texts.num_rows, kinds), self._fetch(sql.declared_again(name, list(kinds)))

    def count_matching(self, table: Relation, wanted: Declared, times: str = "1") -> list[int]:
        """Return the number of rows that have the values of each declared row.

        For ``times`` see :func:`shoal.io.engines.sql.count_matching`.
        """
        counted = self._fetch(sql.count_matching(table.name, wanted.name, wanted.kinds, times))
        found = dict(zip(counted.column("i").to_pylist(), counted.column("n").to_pylist(), strict=True))
        return [int(found.get(row, 0)) for row in range(wanted.rows)]

    def total(
        self, table: Relation, position: int, scale: float, ends: tuple[int, int], wanted: Declared, times: str = "1"
    ) -> int:
        """Return the exact sum of a column over the rows that match ``wanted``.

        For ``times`` see :func:`shoal.io.engines.sql.count_matching`.
        """
        query = sql.total(table.name, position, scale, ends, wanted.name, wanted.kinds, times)
        ((found,),) = self._run(query).fetchall()  # all rows: an open result blocks the next statement
        return int(found or 0)

    def limit_rows_per_person(self, table: Relation, owners: pa.Table, limit: int) -> Relation:
        """Return the table with at most ``limit`` rows of each owner."""
        key = sql.positions(owners.column_names)
        query = sql.limit_rows_per_person(table.name, len(table.columns), key, self._send(owners), limit)
        return self.cache(self._view(query, table.columns, table.named))  # the selection is made once

    def combinations(self, table: Relation, counted: pa.Table) -> Relation:
        """Register the combinations (c<i>, n) of a table stored elsewhere.

        Query the result with ``times`` n.
        """
        return replace(table, name=self._send(counted))

    def repeat(
        self, table: Relation, keep: Sequence[int], rows: pa.Table, constants: Mapping[int, str], own: Sequence[int]
    ) -> Relation | None:
        """Return published rows, each n times, in place of the rows of a table."""
        if own:
            checks = ", ".join(f"stats({sql.column(position)})" for position in own)
            ((disabled,),) = self._run("SELECT current_setting('disabled_optimizers')").fetchall()
            self._run("SET disabled_optimizers = ''")  # without statistics, stats() knows nothing
            known = self._run(f"SELECT {checks} FROM {table.name} LIMIT 1").fetchall()
            self._run(f"SET disabled_optimizers = {sql.literal(disabled)}")
            if any(column is None or column.get("has_null") is not True for row in known for column in row):
                return None
        return replace(self._repeated(table, keep, rows, constants), ordered=True)

    def distributed_frequencies(self, table: Relation, positions: Sequence[int]) -> None:
        """Return None: all combinations are on this machine."""
        return

    # -- results ---------------------------------------------------------------------------------

    def write(self, table: Relation, path: Path, writing: Writing = PLAIN) -> Source:
        """Write a table in content order; return the source to read it back."""
        form = writer_of(path)
        if form.module is not None:
            return self._write_other(form, table, path, writing)
        query = _in_order(table)
        _release_free_memory()
        try:
            if path.suffix.lower() == ".parquet":
                self._write_parquet(table, query, path)
            else:
                refuse_carriage_returns(table.columns, OutputError)
                header = io.StringIO()
                csv.writer(header, lineterminator="\n").writerow(table.columns)
                # our own header: DuckDB would rename columns that differ only in case; the suffix is the end
                # of the last line, which DuckDB omits if a suffix is given
                self._run(
                    f"COPY ({query}) TO {sql.literal(str(path))} (FORMAT csv, HEADER false, "
                    f"PREFIX {sql.literal(header.getvalue())}, SUFFIX '\n')"
                )
        except (OSError, duckdb.IOException) as error:
            raise OutputError("output.release-not-written", directory=str(path.parent), reason=_reason(error)) from None
        return Source(path, csv=RELEASED)

    def _write_other(self, form: Format, table: Relation, path: Path, writing: Writing = PLAIN) -> Source:
        """Write a format that DuckDB does not write.

        The library's message on a failure may quote data and is not passed on.
        """
        assert form.module is not None
        rows = self.to_arrow(table)
        try:
            return Source(path, reading=importlib.import_module(form.module).write(rows, path, writing))
        except (ShoalError, MemoryError):
            raise
        except OSError as error:
            raise OutputError("output.release-not-written", directory=str(path.parent), reason=_reason(error)) from None
        except Exception as error:
            raise OutputError("output.format-not-written", format=form.title, reason=type(error).__name__) from None

    def sample(self, table: Relation, rows: int) -> pa.Table:
        """Return a reproducible sample, chosen by row number alone."""
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
        """Return the table in content order, with the user's column names."""
        return self._fetch(_in_order(table)).rename_columns(list(table.columns))

    def materialize(self, table: Relation, like: Any) -> pa.Table:
        """Return the table in content order, always as an Arrow table."""
        return self.to_arrow(table)

    def rows(self, table: Relation, positions: Sequence[int]) -> pa.Table:
        """Return some columns of all rows."""
        return self._fetch(f"SELECT {sql.columns(positions)} FROM {table.name}")

    def head(self, table: Relation, limit: int) -> pa.Table:
        """Return all columns (c<i>) of the first rows without reading the others."""
        return self._fetch(f"SELECT {sql.columns(range(len(table.columns)))} FROM {table.name} LIMIT {int(limit)}")

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


def _release_free_memory() -> None:
    """Return free memory of Arrow and C to the system.

    DuckDB, which sorts next, has its own allocator.
    """
    import ctypes

    pa.default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # only the GNU C library has it
        ctypes.CDLL(None).malloc_trim(0)


def _in_order(table: Relation) -> str:
    """Select all rows in content order.

    DuckDB preserves the order of rows that it need not move.
    """
    positions = range(len(table.columns))
    if table.ordered:
        return f"SELECT {sql.columns(positions)} FROM {table.name}"
    return sql.sorted_rows(table.name, positions, table.ranked)


MIN_ROWS_FOR_THREADS = 100_000
"""Below this number of rows, converting columns is faster than starting threads for it."""


def frame_to_arrow(frame: Any) -> pa.Table:
    """Convert a pandas, Polars, PyArrow or DuckDB object to an Arrow table."""
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
        raise TableError("table.unknown-kind", found=type(frame).__name__) from None
    except nw.exceptions.DuplicateError:
        check_names(tuple(map(str, frame.columns)), named=True)
        raise
    check_names(names, named=True)
    if not wrapped.implementation.is_pandas_like() and nw.Object in wrapped.schema.values():
        raise _conversion_error(wrapped)
    try:
        if wrapped.implementation.is_pandas() and len(wrapped) < MIN_ROWS_FOR_THREADS:
            table = pa.Table.from_pandas(wrapped.to_native(), nthreads=1)
        else:
            table = wrapped.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        raise _conversion_error(wrapped) from None
    # pandas adds an index other than 0, 1, ... as a column; it is no column of the user
    return table.select([name for name in table.column_names if name in set(names)])


def _conversion_error(frame: Any) -> TableError:
    """Return the error of a frame that cannot be converted to Arrow."""
    for name in frame.columns:
        try:
            frame.select(name).to_arrow()
        except Exception:
            return TableError("table.mixed-types", column=name)
    return TableError("table.not-convertible")


_PLAIN = (
    pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal,
    pa.types.is_date, pa.types.is_time, pa.types.is_timestamp, pa.types.is_string, pa.types.is_large_string,
    pa.types.is_string_view,
)  # fmt: skip
"""Types whose values have an order and a text; intervals, durations, bytes and long decimals do not have both."""


def as_cells(schema: pa.Schema, missing: tuple[str, ...], with_nan: Collection[str] = ()) -> str:
    """Select the columns of a typed table with missing values as NULL.

    Missing are the declared markers, and NaN except in the columns ``with_nan``.
    """
    cells = []
    markers = ", ".join(map(sql.literal, missing))
    for position, part in enumerate(schema):
        name = sql.column(position)
        value_type = part.type.value_type if pa.types.is_dictionary(part.type) else part.type
        if pa.types.is_nested(value_type):
            raise TableError("table.nested-column", column=part.name, type=value_type)
        if pa.types.is_decimal256(value_type) or not any(is_kind(value_type) for is_kind in _PLAIN):
            raise TableError("table.column-without-text", column=part.name, type=value_type)
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
        raise TableError("source.not-readable", file=str(path), reason=reason) from None
    if not stat.S_ISREG(kind):
        raise TableError("source.not-a-file", path=str(path))


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _explain(error: duckdb.Error) -> ShoalError:
    """Describe an error without the line of data that DuckDB quotes."""
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
