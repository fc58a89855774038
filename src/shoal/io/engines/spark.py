"""The engine for tables beyond one machine: Spark, through PySpark.

It runs the same statements as the other engine (:mod:`shoal.io.engines.sql`). Rows stay in Spark; what comes to the
driver is the compacted table, and only after a check that it fits. What goes out from there is broadcast: labels of
values and of groups. No Python runs beside the executors, so they need nothing but Spark, unless a method works in
blocks (:mod:`shoal.io.engines.spark_distributed`).
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
from shoal.io.engines import sql
from shoal.io.engines.base import UTC, Declared, EngineSettings, Relation, Source, check_names, check_time_zone
from shoal.io.engines.spark_files import open_files
from shoal.io.engines.spark_session import is_spark_frame, megabytes, require_pyspark
from shoal.io.engines.spark_shared_session import OpenSession, open_session
from shoal.io.engines.sql_engine import SqlEngine
from shoal.io.formats import PLAIN, Writing
from shoal.io.formats.csv_dialect import RELEASED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.io.engines.duckdb import DuckDBEngine
    from shoal.io.engines.spark_distributed import SparkSpread
    from shoal.io.formats.postgres import Asked, Postgres

__all__ = ["SparkEngine"]

BROADCAST_BYTES = 512 << 20
"""Larger tables of groups are joined by a shuffle: every executor would have to hold a broadcast one."""

WORK_BYTES = 120
"""Of the driver's memory, what coding and sorting take per combination beside its values (see docs/spark.md)."""

SMALL_BYTES = 4 << 20
FEW_COMBINATIONS = 100_000
"""Of a table of so many bytes, so many combinations are fetched at once."""

FEW_REPEATED = 1_000_000
"""A release of so many rows is made from its combinations: one task repeats them, and holds a number for each copy."""

COMBINATIONS = "different combinations of quasi-identifiers and sensitive values"
COARSER = (
    "Make the lowest levels coarser before (round numbers, cut codes and dates): most values have {}. For "
    "microaggregation, set block = 100000 under [method]: blocks are aggregated where they are."
)
"""What helps where the combinations do not fit the driver; the columns of most values are filled in."""

POLL_SECONDS = 0.5
BLANKS = " \t"
PART = "part"
"""The column that tells tables apart which are sent as one."""
ZONE = "spark.sql.session.timeZone"
NO_DATABASE = (
    "Spark reads files and its own frames. A database is read in one transaction of one connection, so that all rows "
    "are of one moment, and Spark's workers cannot share it. Use the engine duckdb, or export the table first."
)

# names as DuckDB has them, so that a certificate tells the same of a table whichever engine read it
TYPES = {
    "string": "VARCHAR", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT",
    "float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "timestamp_ntz": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip

Answer = TypeVar("Answer")


class SparkEngine(SqlEngine):
    """Spark behind the :class:`shoal.io.engines.base.Engine` protocol; use it as a context manager.

    Parameters
    ----------
    settings
        Master, memory, threads and options for a session that is started here; a running one is used as it is.
    frame
        A Spark DataFrame whose session is to be used.
    progress
        Called with the part of Spark's tasks that is done, while it works.
    time_zone
        The zone in which instants are read and written, in place of the session's own until the engine is closed.
    """

    numbered = False
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
            raise TableError(
                "The table must be a DataFrame of a classic Spark session; this one is of Spark Connect. Run shoal on "
                "the driver itself (on Databricks: a cluster with dedicated access)."
            )
        else:
            require_pyspark()
            self._open = OpenSession(frame.sparkSession)
        self._spark = self._open.spark
        self._progress = progress
        self._tag = f"shoal_{secrets.token_hex(6)}"
        self._views: list[str] = []
        self._spread: list[SparkSpread] = []
        self._kept_frames: list[DataFrame] = []
        self._matcher: DuckDBEngine | None = None
        self._zone_before = self._spark.conf.get(ZONE)
        self._spark.conf.set(ZONE, time_zone)

    def close(self) -> None:
        """Let go of the data, of what still runs for it, and of the session."""
        with contextlib.suppress(Exception):  # an interrupted or lost session may not answer any more
            self._spark.sparkContext.cancelJobsWithTag(self._tag)
        for spread in self._spread:
            spread.close()
        for frame in self._kept_frames:
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
        """See :class:`shoal.io.engines.base.Engine`."""
        if source.path is not None:
            path = source.path
            with self._set("spark.sql.sources.partitionColumnTypeInference.enabled", "false"):
                frame, names, missing, named = self._run(lambda: open_files(self._spark, path, source))
            return self._table(frame, names, missing, source, named)
        if source.database is not None:
            raise TableError(NO_DATABASE)
        frame = source.frame
        if is_spark_frame(frame):
            names = tuple(frame.columns)
        else:
            from shoal.io.engines.duckdb import frame_to_arrow

            table = frame_to_arrow(frame)
            names = tuple(table.column_names)
            frame = self._local(table.rename_columns([sql.column(place) for place in range(len(names))]))
        return self._table(frame, names, source.csv.missing, source, named=True)

    def _table(
        self, frame: DataFrame, names: tuple[str, ...], missing: Sequence[str], source: Source, named: bool
    ) -> Relation:
        """A view in which columns are called c<i>, and NaN and the declared markers are missing."""
        check_names(names, named)
        renamed = frame.toDF(*(sql.column(place) for place in range(len(names))))
        cells = []
        for part, name in zip(renamed.schema, names, strict=True):
            cell = _cell(part.name, part.dataType.simpleString(), name, missing, source)
            cells.append(f"{cell} AS {part.name}")
        return replace(self._framed(lambda: renamed.selectExpr(*cells), names), named=named)

    def take(self, server: Postgres, asked: Asked, missing: tuple[str, ...] = ()) -> Relation:
        """None: what a server sends comes to one machine."""
        raise TableError(NO_DATABASE)

    def keep(self, table: Relation) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`; in memory or on the executors' disks."""
        from pyspark import StorageLevel

        frame = self._spark.table(table.name).persist(StorageLevel.MEMORY_AND_DISK)
        self._kept_frames.append(frame)
        return replace(table, name=self._register(frame))

    def _view(self, query: str, columns: tuple[str, ...]) -> Relation:
        return self._framed(lambda: self._spark.sql(query), columns)

    def _framed(self, make: Callable[[], DataFrame], columns: tuple[str, ...]) -> Relation:
        frame = self._run(make)
        types = tuple(TYPES.get(kind, kind.upper()) for _, kind in frame.dtypes)
        return Relation(self._register(frame), columns, types)

    # -- the way of the data ---------------------------------------------------------------------

    def frequencies(self, table: Relation, places: Sequence[int]) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`; raises where the combinations do not fit the driver."""
        from pyspark import StorageLevel

        found = self._spark.sql(sql.frequencies(table.name, places))
        if self._is_small(table):  # to keep and measure them first would take longer than all else
            few = self._fetched(found.limit(FEW_COMBINATIONS + 1))
            if few.num_rows <= FEW_COMBINATIONS:
                return few
        counted = found.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            self._check_room(self._register(counted), table, places)
            return self._fetched(counted)
        finally:
            with contextlib.suppress(Exception):
                counted.unpersist()

    def _is_small(self, table: Relation) -> bool:
        """Whether the driver has room for many times what Spark takes the size of a table for, that of its files."""
        plan = self._run(lambda: self._spark.table(table.name)._jdf.queryExecution().optimizedPlan())
        room = self._room()
        return int(str(plan.stats().sizeInBytes())) <= min(SMALL_BYTES, room.result // 16, room.python // 16)

    def _room(self) -> Room:
        settings = ("spark.driver.memory", "spark.driver.maxResultSize")
        return driver_room(*(self._setting(name, "1g") for name in settings))

    def _check_room(
        self, held: str, table: Relation, places: Sequence[int], what: str = COMBINATIONS, instead: str = COARSER
    ) -> None:
        """What comes here goes through the driver's Java to Python, and is coded and sorted there."""
        if not places:
            return
        text = [place for place in places if table.types[place] == "VARCHAR"]
        (found,) = self._answers(sql.extent(held, text))
        values = int(found["b"] or 0) + found["n"] * (4 * len(text) + 8 * (len(places) - len(text) + 1))
        needed = 2 * values + found["n"] * WORK_BYTES
        room = self._room()
        if values <= room.result and needed <= room.python:
            return
        distinct = self._answers(sql.distinct_values(held, places))[0]
        most = sorted(places, key=lambda place: -distinct[sql.column(place)])[:3]
        named = ", ".join(f"{table.columns[place]!r} ({distinct[sql.column(place)]:,} values)" for place in most)
        raise TableError(
            f"The table has {found['n']:,} {what}, {values >> 20:,} MB; the driver, which decides, has room for "
            f"{room.result >> 20:,} MB in its Java, and for {room.python >> 20:,} MB beside it, where "
            f"{needed >> 20:,} MB are needed. {instead.format(named)} Or give the driver more memory "
            f"([engine] memory; spark.driver.memory and spark.driver.maxResultSize of a running session)."
        )

    def spread(self, table: Relation, places: Sequence[int]) -> SparkSpread:
        """See :class:`shoal.io.engines.base.Engine`."""
        from shoal.io.engines.spark_distributed import SparkSpread

        spread = SparkSpread(self, table, places)
        self._spread.append(spread)
        return spread

    def rows_holding(self, table: Relation, place: int, texts: Sequence[str], most: int) -> list[int]:
        """None: rows of a distributed table have no numbers."""
        return []

    def declare(self, table: Relation, texts: pa.Table) -> tuple[Declared, pa.Table]:
        """See :class:`shoal.io.engines.base.Engine`."""
        return self._matching().declare(table, texts)

    def count_matching(self, table: Relation, wanted: Declared) -> list[int]:
        """See :class:`shoal.io.engines.base.Engine`; raises where the combinations of the columns do not fit here."""
        counted = self.frequencies(table, list(wanted.kinds))
        return self._matching().count_matching(self._matching().combinations(table, counted), wanted, "t.n")

    def total(self, table: Relation, place: int, scale: float, ends: tuple[int, int], wanted: Declared) -> int:
        """See :class:`shoal.io.engines.base.Engine`; raises where the combinations of the columns do not fit here."""
        counted = self.frequencies(table, list(dict.fromkeys((place, *wanted.kinds))))
        return self._matching().total(self._matching().combinations(table, counted), place, scale, ends, wanted, "t.n")

    def few_of_each(self, table: Relation, owners: pa.Table, most: int) -> Relation:
        """None: which rows are kept is told by their numbers, which must say nothing of what they hold."""
        raise TableError(
            "The rows of a person are chosen by their numbers, which those on Spark do not have. Use the engine duckdb."
        )

    def _matching(self) -> DuckDBEngine:
        """Where values are compared with declared ones: the canonical form of a text is nothing that Spark knows."""
        if self._matcher is None:
            from shoal.io.engines.duckdb import DuckDBEngine

            self._matcher = DuckDBEngine(time_zone=str(self._spark.conf.get(ZONE)))
        return self._matcher

    def repeat(
        self, table: Relation, keep: Sequence[int], rows: pa.Table, constants: Mapping[int, str], own: Sequence[int]
    ) -> Relation | None:
        """See :class:`shoal.io.engines.base.Engine`; of small tables: one that is spread is recoded where it is."""
        if rows.num_rows > FEW_COMBINATIONS or pc.sum(rows["n"]).as_py() > FEW_REPEATED:
            return None
        return self._repeated(table, keep, rows, constants)

    # -- results ---------------------------------------------------------------------------------

    def write(self, table: Relation, path: Path, writing: Writing = PLAIN) -> Source:
        """Write a table in content order as a directory of files part-00000, part-00001, ..."""
        form = path.suffix.lower().removeprefix(".")
        frame = self._sorted(table)
        if form == "csv":
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
            # the user's names may differ in nothing but case
            with self._set("spark.sql.caseSensitive", "true"):
                self._run(lambda: writer.save(path.resolve().as_uri()))
            _tidy(path, form)
        except OSError as error:
            raise OutputError(f"The release cannot be written to {str(path.parent)!r}: {error.strerror}.") from None
        return Source(path, csv=RELEASED)

    def sample(self, table: Relation, rows: int) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`; chosen by their content and their number among equal ones."""
        query = sql.sample(table.name, len(table.columns), rows)
        return self._fetched(self._spark.sql(query)).rename_columns(list(table.columns))

    def rows(self, table: Relation, places: Sequence[int]) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`; raises where they do not fit the driver."""
        self._check_room(table.name, table, places, "rows", "Most values have {}; leave columns or rows out.")
        return self._fetched(self._spark.sql(f"SELECT {sql.columns(places)} FROM {table.name}"))

    def head(self, table: Relation, most: int) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`."""
        listed = sql.columns(range(len(table.columns)))
        return self._fetched(self._spark.sql(f"SELECT {listed} FROM {table.name} LIMIT {int(most)}"))

    def batches(self, table: Relation) -> pa.RecordBatchReader:
        """See :class:`shoal.io.engines.base.Engine`."""
        return self.to_arrow(table).to_reader()

    def to_arrow(self, table: Relation) -> pa.Table:
        """See :class:`shoal.io.engines.base.Engine`."""
        return self._fetched(self._sorted(table)).rename_columns(list(table.columns))

    def hold(self, table: Relation, like: Any) -> Any:
        """See :class:`shoal.io.engines.base.Engine`.

        A frame is computed once and kept by the executors, so that what was verified is what the user gets, even where
        the source changes or is not deterministic.
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
        """An Arrow table as a frame; times without a zone stay without one."""
        with self._set("spark.sql.timestampType", "TIMESTAMP_NTZ"):
            return self._run(lambda: self._spark.createDataFrame(_for_spark(table)))

    def _send(self, table: pa.Table) -> str:
        """Something that the driver has made, for joins: to every executor, unless it is very large."""
        from pyspark.sql.functions import broadcast

        frame = self._local(table)
        return self._register(broadcast(frame) if table.nbytes <= BROADCAST_BYTES else frame)

    def _send_all(self, tables: Sequence[pa.Table]) -> list[str]:
        """Tables of the same columns go as one, for each that goes takes longer than all its rows."""
        alike: dict[pa.Schema, list[int]] = {}
        suited = [_for_spark(table) for table in tables]
        for place, table in enumerate(suited):
            alike.setdefault(table.schema, []).append(place)
        sent = [""] * len(suited)
        for schema, places in alike.items():
            if len(places) == 1 or sum(suited[place].nbytes for place in places) > BROADCAST_BYTES:
                for place in places:
                    sent[place] = self._send(suited[place])
                continue
            parts = [suited[place].append_column(PART, pa.repeat(place, suited[place].num_rows)) for place in places]
            name = self._send(pa.concat_tables(parts))
            for place in places:
                sent[place] = f"(SELECT {', '.join(schema.names)} FROM {name} WHERE {PART} = {place})"
        return sent

    def _fetched(self, frame: DataFrame) -> pa.Table:
        """A frame as an Arrow table, its instants in the zone of the session: Arrow writes their text by it."""
        zone = self._spark.conf.get(ZONE)
        found: pa.Table = self._run(frame.toArrow)
        for place, part in enumerate(found.schema):
            if pa.types.is_timestamp(part.type) and part.type.tz is not None:
                moved = found.column(place).cast(pa.timestamp(part.type.unit, zone))
                found = found.set_column(place, part.name, moved)
        return found

    def _answers(self, query: str) -> list[Any]:
        return self._run(lambda: self._spark.sql(query).collect())

    def _setting(self, name: str, default: str) -> str:
        return str(self._spark.conf.get(name, default))  # one question; the context's would bring all settings

    @contextlib.contextmanager
    def _set(self, name: str, value: str) -> Iterator[None]:
        """A setting of the session for a moment; it may be the user's."""
        before = self._spark.conf.get(name)
        self._spark.conf.set(name, value)
        try:
            yield
        finally:
            self._spark.conf.set(name, before)

    def _run(self, action: Callable[[], Answer]) -> Answer:
        """Let Spark work, tell how far it is, and turn its errors into ours."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        context = self._spark.sparkContext
        context.addJobTag(self._tag)
        try:
            with _watched(context, self._progress):
                return action()
        except (PySparkException, Py4JError) as error:
            if os.environ.get("SHOAL_DEBUG"):
                raise
            raise _explain(error) from None
        finally:
            with contextlib.suppress(Exception):
                context.removeJobTag(self._tag)


class Room:
    """Bytes that the driver has: for a result in its Java, and for Python."""

    def __init__(self, result: int, python: int) -> None:
        self.result = result
        self.python = python


def driver_room(heap: str, most: str) -> Room:
    """What of the driver's memory the compacted table may take.

    Its Java may fill half of its heap with a result, and no more than spark.driver.maxResultSize where that is set.
    Python has what the machine, or the container, has beside that heap.
    """
    java = _bytes(heap)
    limit = _bytes(most)
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):
        machine = min(machine, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return Room(min(java // 2, limit or java), max(machine - java, 0))


def _bytes(setting: str) -> int:
    """Bytes of a Spark setting; a plain number is in bytes."""
    return int(setting) if setting.isdecimal() else megabytes(setting) << 20


def _written(name: str, kind: str) -> str:
    """A column as it is written to a CSV; numbers that are none as DuckDB writes them, so that both write the same."""
    cell = f"CAST({name} AS STRING)"
    if kind in ("float", "double"):
        cell = f"CASE WHEN isnan({name}) THEN 'nan' ELSE replace({cell}, 'Infinity', 'inf') END"
    return f"{cell} AS {name}"


def _cell(name: str, kind: str, column: str, missing: Sequence[str], source: Source) -> str:
    """A column of a table as it is read: plain values only, NaN and the markers as missing."""
    if kind.startswith(("array", "map", "struct", "variant")):
        raise TableError(f"Column {column!r} holds {kind}; only plain values can be anonymized. Unnest it first.")
    if kind.startswith(("binary", "interval", "geo")):
        raise TableError(f"Column {column!r} holds {kind}, which has no text. Convert it to text or numbers.")
    cell = name
    if kind == "void":
        cell = f"CAST({name} AS STRING)"
    elif kind.startswith(("string ", "char", "varchar")):
        cell = f"CAST({name} AS STRING) COLLATE UTF8_BINARY"  # a collation may hold values for equal that differ
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
    """The same table in types that Spark knows."""
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
def _watched(context: Any, progress: Callable[[float], None] | None) -> Iterator[None]:
    """Ask Spark now and then how many tasks of the stages at work are done."""
    if progress is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        tracker = context.statusTracker()
        while not done.wait(POLL_SECONDS):
            with contextlib.suppress(Exception):  # the session may end at any time
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                tasks = sum(stage.numTasks for stage in stages if stage)
                if tasks:
                    progress(sum(stage.numCompletedTasks for stage in stages if stage) / tasks)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _tidy(folder: Path, form: str) -> None:
    """Leave nothing but the parts, numbered in the order of their rows."""
    parts = sorted(folder.glob(f"part-*.{form}"))
    for entry in folder.iterdir():
        if entry not in parts:
            entry.unlink()
    for number, part in enumerate(parts):
        part.rename(folder / f"part-{number:05d}.{form}")


def _explain(error: Exception) -> ShoalError:
    """What went wrong, without the values that Spark quotes."""
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
    told = condition or type(error).__name__  # what stands in brackets in the text may be a value
    return ShoalError(f"Spark failed ({told}); nothing was written. SHOAL_DEBUG=1 shows its log, which may show data.")
