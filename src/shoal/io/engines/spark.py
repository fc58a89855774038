"""The engine for tables beyond one machine: Spark, through PySpark.

It runs the same statements as the other engine (:mod:`shoal.io.engines.sql`). Rows stay in Spark. Only the combinations
with their counts come to the driver, after a check that they fit. Labels of values and of groups are broadcast from
there. No Python runs on the executors, so they need nothing but Spark, unless a method works in blocks
(:mod:`shoal.io.engines.spark_distributed`).
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import OutputError, ShoalError, TableError
from shoal.formatting import number
from shoal.io.engines import sql
from shoal.io.engines.base import UTC, Declared, EngineSettings, Relation, Source, check_names, check_time_zone
from shoal.io.engines.spark_files import open_files
from shoal.io.engines.spark_session import is_spark_frame, megabytes, require_pyspark
from shoal.io.engines.spark_shared_session import OpenSession, open_session
from shoal.io.engines.sql_engine import SqlEngine
from shoal.io.formats import PLAIN, Writing
from shoal.io.formats.csv_dialect import RELEASED, refuse_carriage_returns
from shoal.runtime.templates import fill_template

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.io.engines.duckdb import DuckDBEngine
    from shoal.io.engines.spark_distributed import SparkDistributedTable
    from shoal.io.formats.postgres import Postgres, TableQuery

BROADCAST_BYTES = 512 << 20
"""Larger tables of groups are joined by a shuffle: every executor would have to store a broadcast one."""

WORK_BYTES_PER_COMBINATION = 120
"""Driver memory for coding and sorting, per combination, in addition to its values (see docs/spark.md)."""

SMALL_TABLE_BYTES = 4 << 20
MAX_COMBINATIONS_AT_ONCE = 100_000
"""Combinations that are fetched without a size check from a table of at most SMALL_TABLE_BYTES."""

MAX_REPEATED_ROWS = 1_000_000
"""Releases of up to this many rows are made from combinations: one task repeats them and stores a number per copy."""

COMBINATIONS = "different combinations of quasi-identifiers and sensitive values"
COARSER = (
    "Make the lowest levels coarser before (round numbers, cut codes and dates): most values have {columns}. For "
    "microaggregation, set block = 100000 under [method]: blocks are aggregated where they are."
)
"""Advice if the combinations do not fit the driver; the columns with the most values are inserted."""

POLL_SECONDS = 0.5
BLANKS = " \t"
PART = "part"
"""The column that distinguishes tables that are sent as one."""
ZONE = "spark.sql.session.timeZone"
# DuckDB's names, so that a certificate is the same whichever engine read the table
TYPES = {
    "string": "VARCHAR", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT",
    "float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "timestamp_ntz": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip

Answer = TypeVar("Answer")


class SparkEngine(SqlEngine):
    """Spark as a :class:`shoal.io.engines.base.Engine`.

    Use it as a context manager.

    Parameters
    ----------
    settings
        Master, memory, threads and options for a session that is started here; a running one is used as it is.
    frame
        A Spark DataFrame, to use its session.
    progress
        Called with the fraction of Spark's tasks that is done, while Spark works.
    time_zone
        The zone in which instants are read and written; it replaces the session's own until the engine is closed.
    """

    rows_are_numbered = False
    text_type, hash_function, copies = "STRING", "xxhash64", "explode(sequence(1, n))"
    quote = staticmethod(sql.hex_literal)

    def __init__(
        self,
        settings: EngineSettings | None = None,
        frame: DataFrame | None = None,
        progress: Callable[[float], None] | None = None,
        time_zone: str = UTC,
    ) -> None:
        check_time_zone(time_zone)
        settings = settings or EngineSettings()
        if frame is None:
            self._open = open_session(settings)
        elif "connect" in type(frame).__module__:
            raise TableError("engine.spark-connect")
        else:
            require_pyspark()
            self._open = OpenSession(frame.sparkSession)
        self._spark = self._open.spark
        self._progress = progress
        self._tag = f"shoal_{secrets.token_hex(6)}"
        self._views: list[str] = []
        self._distributed: list[SparkDistributedTable] = []
        self._persisted_frames: list[DataFrame] = []
        self._matcher: DuckDBEngine | None = None
        self._zone_before = self._spark.conf.get(ZONE)
        self._spark.conf.set(ZONE, time_zone)

    def close(self) -> None:
        """Release the data, cancel running jobs, and release the session."""
        with contextlib.suppress(Exception):  # an interrupted or lost session may not respond
            self._spark.sparkContext.cancelJobsWithTag(self._tag)
        for distributed in self._distributed:
            distributed.close()
        for frame in self._persisted_frames:
            with contextlib.suppress(Exception):
                frame.unpersist()
        with contextlib.suppress(Exception):
            for view in self._views:
                self._spark.catalog.dropTempView(view)
            self._spark.conf.set(ZONE, self._zone_before)  # the session may be the user's
        if self._matcher is not None:
            self._matcher.close()
        self._open.close()

    # -- reading ---------------------------------------------------------------------------------

    def read(self, source: Source) -> Relation:
        """Make a source readable; nothing is loaded yet."""
        if source.path is not None:
            path = source.path
            with self._set("spark.sql.sources.partitionColumnTypeInference.enabled", "false"):
                frame, names, missing, named = self._run(lambda: open_files(self._spark, path, source))
            return self._table(frame, names, missing, source, named)
        if source.database is not None:
            raise TableError("engine.spark-no-database")
        frame = source.frame
        if is_spark_frame(frame):
            names = tuple(frame.columns)
        else:
            from shoal.io.engines.duckdb import frame_to_arrow

            table = frame_to_arrow(frame)
            names = tuple(table.column_names)
            frame = self._local(table.rename_columns([sql.column(position) for position in range(len(names))]))
        return self._table(frame, names, source.csv.missing, source, named=True)

    def _table(
        self, frame: DataFrame, names: tuple[str, ...], missing: Sequence[str], source: Source, named: bool
    ) -> Relation:
        """Make a view with columns c<i>; NaN and declared markers are missing."""
        check_names(names, named)
        renamed = frame.toDF(*(sql.column(position) for position in range(len(names))))
        cells = []
        for part, name in zip(renamed.schema, names, strict=True):
            cell = _cell(part.name, part.dataType.simpleString(), name, missing, source)
            cells.append(f"{cell} AS {part.name}")
        return replace(self._framed(lambda: renamed.selectExpr(*cells), names), named=named)

    def ingest(self, server: Postgres, query: TableQuery, missing: tuple[str, ...] = ()) -> Relation:
        """Raise: the result of a server comes to one machine."""
        raise TableError("engine.spark-no-database")

    def cache(self, table: Relation) -> Relation:
        """Return the same rows cached in memory or on the executors' disks."""
        from pyspark import StorageLevel

        frame = self._spark.table(table.name).persist(StorageLevel.MEMORY_AND_DISK)
        self._persisted_frames.append(frame)
        return replace(table, name=self._register(frame))

    def _view(self, query: str, columns: tuple[str, ...]) -> Relation:
        return self._framed(lambda: self._spark.sql(query), columns)

    def _framed(self, make: Callable[[], DataFrame], columns: tuple[str, ...]) -> Relation:
        frame = self._run(make)
        types = tuple(TYPES.get(kind, kind.upper()) for _, kind in frame.dtypes)
        return Relation(self._register(frame), columns, types)

    # -- counting and recoding --------------------------------------------------------------------

    def frequencies(self, table: Relation, positions: Sequence[int]) -> pa.Table:
        """Return the distinct combinations of columns (c<i>) with their count (n).

        Raises if they do not fit the driver.
        """
        from pyspark import StorageLevel

        found = self._spark.sql(sql.frequencies(table.name, positions))
        if self._is_small(table):  # persisting and measuring them first would take longer than all else
            fetched = self._fetched(found.limit(MAX_COMBINATIONS_AT_ONCE + 1))
            if fetched.num_rows <= MAX_COMBINATIONS_AT_ONCE:
                return fetched
        counted = found.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            self._check_driver_memory(self._register(counted), table, positions)
            return self._fetched(counted)
        finally:
            with contextlib.suppress(Exception):
                counted.unpersist()

    def _is_small(self, table: Relation) -> bool:
        """Return whether the driver has memory for many times the table's size.

        The size is Spark's estimate, that of its files.
        """
        plan = self._run(lambda: self._spark.table(table.name)._jdf.queryExecution().optimizedPlan())
        memory = self._driver_memory()
        return int(str(plan.stats().sizeInBytes())) <= min(SMALL_TABLE_BYTES, memory.result // 16, memory.python // 16)

    def _driver_memory(self) -> DriverMemory:
        settings = ("spark.driver.memory", "spark.driver.maxResultSize")
        return driver_memory(*(self._setting(name, "1g") for name in settings))

    def _check_driver_memory(
        self, counted: str, table: Relation, positions: Sequence[int], what: str = COMBINATIONS, instead: str = COARSER
    ) -> None:
        """Raise if a table does not fit the memory of the driver.

        It passes through the driver's Java to Python, and is coded and sorted there.
        """
        if not positions:
            return
        text = [position for position in positions if table.types[position] == "VARCHAR"]
        (found,) = self._answers(sql.extent(counted, text))
        values = int(found["b"] or 0) + found["n"] * (4 * len(text) + 8 * (len(positions) - len(text) + 1))
        needed = 2 * values + found["n"] * WORK_BYTES_PER_COMBINATION
        memory = self._driver_memory()
        if values <= memory.result and needed <= memory.python:
            return
        distinct = self._answers(sql.distinct_values(counted, positions))[0]
        widest = sorted(positions, key=lambda position: -distinct[sql.column(position)])[:3]
        named = ", ".join(
            f"{table.columns[position]!r} ({number(distinct[sql.column(position)])} values)" for position in widest
        )
        advice = fill_template(instead, {"columns": named})
        raise TableError(
            "engine.driver-memory-too-small",
            count=found["n"],
            what=what,
            size=values >> 20,
            java_room=memory.result >> 20,
            python_room=memory.python >> 20,
            needed=needed >> 20,
            advice=advice,
        )

    def distributed_frequencies(self, table: Relation, positions: Sequence[int]) -> SparkDistributedTable:
        """Count combinations and leave them distributed; None on one machine."""
        from shoal.io.engines.spark_distributed import SparkDistributedTable

        distributed = SparkDistributedTable(self, table, positions)
        self._distributed.append(distributed)
        return distributed

    def find_row_numbers(self, table: Relation, position: int, texts: Sequence[str], limit: int) -> list[int]:
        """Return no numbers: rows of a distributed table have none."""
        return []

    def declare(self, table: Relation, texts: pa.Table) -> tuple[Declared, pa.Table]:
        """Convert declared texts to the types of the table's columns."""
        return self._matching().declare(table, texts)

    def count_matching(self, table: Relation, wanted: Declared) -> list[int]:
        """Return the number of rows that have the values of each declared row.

        Raises if the combinations of the columns do not fit the driver.
        """
        counted = self.frequencies(table, list(wanted.kinds))
        return self._matching().count_matching(self._matching().combinations(table, counted), wanted, "t.n")

    def total(self, table: Relation, position: int, scale: float, ends: tuple[int, int], wanted: Declared) -> int:
        """Return the exact sum of a column over the rows that match ``wanted``.

        Raises if the combinations of the columns do not fit the driver.
        """
        counted = self.frequencies(table, list(dict.fromkeys((position, *wanted.kinds))))
        return self._matching().total(
            self._matching().combinations(table, counted), position, scale, ends, wanted, "t.n"
        )

    def limit_rows_per_person(self, table: Relation, owners: pa.Table, limit: int) -> Relation:
        """Raise: rows are chosen by number, which distributed rows do not have.

        The numbers must not depend on the content of the rows.
        """
        raise TableError("engine.spark-rows-without-numbers")

    def _matching(self) -> DuckDBEngine:
        """Return the DuckDB engine that compares values with declared ones.

        Spark has no function for the canonical form of a text.
        """
        if self._matcher is None:
            from shoal.io.engines.duckdb import DuckDBEngine

            self._matcher = DuckDBEngine(time_zone=str(self._spark.conf.get(ZONE)))
        return self._matcher

    def repeat(
        self, table: Relation, keep: Sequence[int], rows: pa.Table, constants: Mapping[int, str], own: Sequence[int]
    ) -> Relation | None:
        """Return published rows, each n times, if the table is small.

        A large table is recoded on the executors.
        """
        if rows.num_rows > MAX_COMBINATIONS_AT_ONCE or pc.sum(rows["n"]).as_py() > MAX_REPEATED_ROWS:
            return None
        return self._repeated(table, keep, rows, constants)

    # -- results ---------------------------------------------------------------------------------

    def write(self, table: Relation, path: Path, writing: Writing = PLAIN) -> Source:
        """Write a table in content order as files part-00000, part-00001, ..."""
        form = path.suffix.lower().removeprefix(".")
        frame = self._sorted(table)
        if form == "csv":
            refuse_carriage_returns(table.columns, OutputError)
            frame = frame.selectExpr(*(_written(name, kind) for name, kind in frame.dtypes))
        writer = frame.toDF(*table.columns).write.format(form)
        if form == "csv":
            writer = writer.options(
                header=True, quote='"', escape='"', emptyValue='""', nullValue="", lineSep="\n", encoding="UTF-8",
                ignoreLeadingWhiteSpace=False, ignoreTrailingWhiteSpace=False, compression="none",
            )  # fmt: skip
        else:
            writer = writer.option("compression", "zstd")
        try:
            # the user's names may differ only in case
            with self._set("spark.sql.caseSensitive", "true"):
                self._run(lambda: writer.save(path.resolve().as_uri()))
            _tidy(path, form)
        except OSError as error:
            raise OutputError(
                "output.spark-release-not-written", directory=str(path.parent), reason=error.strerror
            ) from None
        return Source(path, csv=RELEASED)

    def sample(self, table: Relation, rows: int) -> pa.Table:
        """Return a reproducible sample, chosen by a hash of the content.

        Rows with equal content are numbered.
        """
        query = sql.sample(table.name, len(table.columns), rows)
        return self._fetched(self._spark.sql(query)).rename_columns(list(table.columns))

    def rows(self, table: Relation, positions: Sequence[int]) -> pa.Table:
        """Return some columns of all rows; raise if they do not fit the driver."""
        self._check_driver_memory(
            table.name, table, positions, "rows", "Most values have {columns}; leave columns or rows out."
        )
        return self._fetched(self._spark.sql(f"SELECT {sql.columns(positions)} FROM {table.name}"))

    def head(self, table: Relation, limit: int) -> pa.Table:
        """Return all columns (c<i>) of the first rows without reading the others."""
        listed = sql.columns(range(len(table.columns)))
        return self._fetched(self._spark.sql(f"SELECT {listed} FROM {table.name} LIMIT {int(limit)}"))

    def batches(self, table: Relation) -> pa.RecordBatchReader:
        """Stream the rows of a table in content order, with the user's names."""
        return self.to_arrow(table).to_reader()

    def to_arrow(self, table: Relation) -> pa.Table:
        """Return the table in content order, with the user's column names."""
        return self._fetched(self._sorted(table)).rename_columns(list(table.columns))

    def materialize(self, table: Relation, like: Any) -> Any:
        """Return the table in content order, computed once.

        A frame is computed once and kept by the executors. So the user gets what was verified, even if the source
        changes or is not deterministic.
        """
        if not is_spark_frame(like):
            return self.to_arrow(table)
        return self._run(lambda: self._sorted(table).toDF(*table.columns).localCheckpoint(eager=True))

    def _sorted(self, table: Relation) -> DataFrame:
        return self._spark.sql(sql.sorted_rows(table.name, range(len(table.columns)), table.ranked))

    # -- inside ----------------------------------------------------------------------------------

    def _register(self, frame: DataFrame) -> str:
        name = f"{self._tag}_{len(self._views)}"
        self._views.append(name)
        frame.createOrReplaceTempView(name)
        return name

    def _local(self, table: pa.Table) -> DataFrame:
        """Convert an Arrow table to a frame; times without a zone stay so."""
        with self._set("spark.sql.timestampType", "TIMESTAMP_NTZ"):
            return self._run(lambda: self._spark.createDataFrame(_for_spark(table)))

    def _send(self, table: pa.Table) -> str:
        """Register a table of the driver for joins; broadcast it if not too large."""
        from pyspark.sql.functions import broadcast

        frame = self._local(table)
        return self._register(broadcast(frame) if table.nbytes <= BROADCAST_BYTES else frame)

    def _send_all(self, tables: Sequence[pa.Table]) -> list[str]:
        """Send tables of the same columns as one.

        Sending a table takes longer than all its rows.
        """
        by_schema: dict[pa.Schema, list[int]] = {}
        suited = [_for_spark(table) for table in tables]
        for position, table in enumerate(suited):
            by_schema.setdefault(table.schema, []).append(position)
        sent = [""] * len(suited)
        for schema, positions in by_schema.items():
            if len(positions) == 1 or sum(suited[position].nbytes for position in positions) > BROADCAST_BYTES:
                for position in positions:
                    sent[position] = self._send(suited[position])
                continue
            parts = [
                suited[position].append_column(PART, pa.repeat(position, suited[position].num_rows))
                for position in positions
            ]
            name = self._send(pa.concat_tables(parts))
            for position in positions:
                sent[position] = f"(SELECT {', '.join(schema.names)} FROM {name} WHERE {PART} = {position})"
        return sent

    def _fetched(self, frame: DataFrame) -> pa.Table:
        """Fetch a frame as an Arrow table, its instants in the session's zone.

        Arrow writes their text in that zone.
        """
        zone = self._spark.conf.get(ZONE)
        found: pa.Table = self._run(frame.toArrow)
        for position, part in enumerate(found.schema):
            if pa.types.is_timestamp(part.type) and part.type.tz is not None:
                moved = found.column(position).cast(pa.timestamp(part.type.unit, zone))
                found = found.set_column(position, part.name, moved)
        return found

    def _answers(self, query: str) -> list[Any]:
        return self._run(lambda: self._spark.sql(query).collect())

    def _setting(self, name: str, default: str) -> str:
        return str(self._spark.conf.get(name, default))  # one request; the context would fetch all settings

    @contextlib.contextmanager
    def _set(self, name: str, value: str) -> Iterator[None]:
        """Change a setting of the session, which may be the user's, for a moment."""
        before = self._spark.conf.get(name)
        self._spark.conf.set(name, value)
        try:
            yield
        finally:
            self._spark.conf.set(name, before)

    def _run(self, action: Callable[[], Answer]) -> Answer:
        """Run an action on Spark, report progress, and translate its errors."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        context = self._spark.sparkContext
        context.addJobTag(self._tag)
        try:
            with _report_progress(context, self._progress):
                return action()
        except (PySparkException, Py4JError) as error:
            if os.environ.get("SHOAL_DEBUG"):
                raise
            raise _explain(error) from None
        finally:
            with contextlib.suppress(Exception):
                context.removeJobTag(self._tag)


class DriverMemory:
    """Bytes available on the driver: for a result in Java, and for Python."""

    def __init__(self, result: int, python: int) -> None:
        self.result = result
        self.python = python


def driver_memory(heap: str, max_result: str) -> DriverMemory:
    """Return how much of the driver's memory the combinations may take.

    Its Java may fill half of its heap with a result, and no more than spark.driver.maxResultSize if that is set. Python
    has the memory of the machine, or of the container, without that heap.
    """
    java = _bytes(heap)
    limit = _bytes(max_result)
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):
        machine = min(machine, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return DriverMemory(min(java // 2, limit or java), max(machine - java, 0))


def _bytes(setting: str) -> int:
    """Return the bytes of a Spark setting; a plain number is in bytes."""
    return int(setting) if setting.isdecimal() else megabytes(setting) << 20


def _written(name: str, kind: str) -> str:
    """Return a column as written to a CSV.

    NaN and infinity are written as DuckDB writes them, so that both engines write the same.
    """
    cell = f"CAST({name} AS STRING)"
    if kind in ("float", "double"):
        cell = f"CASE WHEN isnan({name}) THEN 'nan' ELSE replace({cell}, 'Infinity', 'inf') END"
    return f"{cell} AS {name}"


def _cell(name: str, kind: str, column: str, missing: Sequence[str], source: Source) -> str:
    """Return a column as read: plain values, with NaN and markers as missing."""
    if kind.startswith(("array", "map", "struct", "variant")):
        raise TableError("table.nested-column", column=column, type=kind)
    if kind.startswith(("binary", "interval", "geo")):
        raise TableError("table.column-without-text", column=column, type=kind)
    cell = name
    if kind == "void":
        cell = f"CAST({name} AS STRING)"
    elif kind.startswith(("string ", "char", "varchar")):
        cell = f"CAST({name} AS STRING) COLLATE UTF8_BINARY"  # a collation may equate different values
    elif kind in ("float", "double") and column not in source.with_nan:
        cell = f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END"
    text = f"CAST({name} AS STRING)"
    if source.csv.trim and source.path is not None and kind == "string":
        cell = text = f"trim(BOTH {sql.hex_literal(BLANKS)} FROM {name})"
    if missing:
        markers = ", ".join(map(sql.hex_literal, missing))
        cell = f"CASE WHEN {text} IN ({markers}) THEN NULL ELSE {cell} END"
    return cell


def _for_spark(table: pa.Table) -> pa.Table:
    """Convert a table to types that Spark supports."""
    columns = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = kind.value_type
        column = column.cast(_NEAREST.get(kind, kind))
        columns.append(column)
    return pa.table(columns, names=table.column_names)


_NEAREST = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.null(): pa.string(),
    pa.date64(): pa.date32(),
}


@contextlib.contextmanager
def _report_progress(context: Any, progress: Callable[[float], None] | None) -> Iterator[None]:
    """Poll Spark for the fraction of done tasks in the active stages."""
    if progress is None:
        yield
        return
    done = threading.Event()

    def poll() -> None:
        tracker = context.statusTracker()
        while not done.wait(POLL_SECONDS):
            with contextlib.suppress(Exception):  # the session may end at any time
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                tasks = sum(stage.numTasks for stage in stages if stage)
                if tasks:
                    progress(sum(stage.numCompletedTasks for stage in stages if stage) / tasks)

    poller = threading.Thread(target=poll, daemon=True)
    poller.start()
    try:
        yield
    finally:
        done.set()
        poller.join()


def _tidy(folder: Path, form: str) -> None:
    """Remove everything but the parts, and number them in row order."""
    parts = sorted(folder.glob(f"part-*.{form}"))
    for entry in folder.iterdir():
        if entry not in parts:
            entry.unlink()
    for position, part in enumerate(parts):
        part.rename(folder / f"part-{position:05d}.{form}")


def _explain(error: Exception) -> ShoalError:
    """Describe an error without the values that Spark quotes."""
    text = str(error)
    condition = getattr(error, "getCondition", lambda: None)() or ""
    if "MALFORMED_RECORD" in text or "TextParsingException" in text or "MALFORMED_CSV" in text:
        return TableError(
            "A file cannot be read as CSV: every record must have as many cells as the header, with quotes doubled "
            "within quotes. Mend it, or set the delimiter and the quote."
        )
    if "No space left on device" in text:
        return OutputError("Spark has no room left for its files. Free some, or set spark.local.dir.")
    if "OutOfMemoryError" in text or "CANNOT_ACQUIRE_MEMORY" in text or "maxResultSize" in text:
        return TableError(
            "The memory of Spark is too small for this table. Raise it ([engine] memory; spark.executor.memory and "
            "spark.driver.maxResultSize in [engine.options])."
        )
    if re.search("FAILED_READ_FILE|CANNOT_READ|not a Parquet file|ParquetDecoding|Illegal Parquet type|Checksum", text):
        return TableError("A file of the source cannot be read: it is damaged, or its columns have other types.")
    if "Permission denied" in text:
        return OutputError("Spark may not write where it was asked to (permission denied). Choose another place.")
    if "stopped SparkContext" in text or "Connection refused" in text or "GatewayClient" in text:
        return ShoalError("Spark has ended before its work was done; nothing was written. SHOAL_DEBUG=1 shows its log.")
    reason = condition or type(error).__name__  # text in brackets in the message may be a value
    return ShoalError(
        f"Spark failed ({reason}); nothing was written. SHOAL_DEBUG=1 shows its log, which may show data."
    )
