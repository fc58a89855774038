"""Interface of engines: read a table, count, recode rows, write.

An engine stores tables of any size and makes no decisions. It exchanges small tables with the rest of shoal as Arrow
tables whose columns are named c0, c1, ... by their position in the table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

from annotated_types import Ge, Le, MaxLen

from shoal.errors import PlanError, TableError
from shoal.formatting import counted
from shoal.io.engines import ENGINES
from shoal.io.formats import PLAIN, ColumnLabels, Format, Options, Writing, format_named
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.io.formats.urls import refuse_address, resolve_path
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.marks import FROM_TEXT, INLINE, NOT_IN_PLAN, Name
from shoal.runtime.validation import Validated

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.io.formats.postgres import Postgres, TableQuery

MAX_COLUMNS_IN_MESSAGE = 5
UTC = "UTC"


MIN_MEMORY_BYTES = 16 << 20
"""Bytes below which DuckDB cannot even open a file."""

MAX_MEMORY_BYTES = 1 << 50
MAX_THREADS = 4096


def memory_bytes(text: str) -> int:
    """Return an amount of memory such as ``4GB`` or ``1.5g`` in bytes.

    >>> memory_bytes("1.5KiB"), memory_bytes("2 GB")
    (1536, 2000000000)
    """
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if found is None or (found[3] and not found[2]):
        raise PlanError("engine.memory-malformed", found=text)
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " kmgt".index(found[2] or " "))


def check_memory(text: str) -> None:
    """Raise unless an engine can work within this amount of memory."""
    if not MIN_MEMORY_BYTES <= memory_bytes(text) <= MAX_MEMORY_BYTES:
        raise PlanError(
            "engine.memory-out-of-range", least=MIN_MEMORY_BYTES >> 20, most=MAX_MEMORY_BYTES >> 40, found=text
        )


@dataclass(frozen=True)
class EngineSettings(Validated):
    """The engine, and how much of the machine it may use.

    Attributes
    ----------
    memory
        Memory of the engine for the table; beyond it DuckDB uses the disk. The interpreter, its libraries, the coded
        combinations and the data of a method come on top. If a method is known to need more than this for itself, the
        run is refused. On Spark it is the memory of the driver, and applies if shoal starts the session.
    threads
        Number of threads that the engine and the methods may use; all cores by default.
    name
        ``duckdb`` (this machine) or ``spark``, or one of :data:`shoal.io.engines.ENGINES` that another package adds; by
        default Spark for Spark DataFrames, and DuckDB otherwise.
    master, options
        For Spark: where it runs, such as ``local[4]``, and further settings by their Spark names.

    Examples
    --------
    >>> import shoal
    >>> shoal.Engine(memory="4GB", threads=2).memory
    '4GB'
    """

    memory: Annotated[str, MaxLen(30)] | None = None
    threads: Annotated[int, Ge(1), Le(MAX_THREADS), FROM_TEXT] | None = None
    name: Name | None = None
    master: Name | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.memory is not None:
            check_memory(self.memory)
        if self.name is not None and self.name not in ENGINES:
            raise PlanError("engine.unknown", allowed=", ".join(ENGINES), found=self.name[:40])
        if self.name in (None, "duckdb") and (self.master is not None or self.options):
            raise PlanError("engine.spark-settings-without-spark")
        strange = [key for key in self.options if self.name == "spark" and not key.startswith("spark.")]
        if strange:
            raise PlanError("engine.option-not-of-spark", found=strange[0])

    @property
    def here(self) -> EngineSettings:
        """The same limits with DuckDB on this machine.

        They are for samples, and for parts of a table that were collected here.
        """
        return EngineSettings(self.memory, self.threads, "duckdb")

    def instead(self, name: str | None, master: str | None) -> EngineSettings:
        """Return these settings with another engine or master, if given."""
        settings = self
        if name not in (None, self.name):  # options for Spark do not apply to another engine
            settings = EngineSettings(self.memory, self.threads, name)
        return settings if master is None else replace(settings, master=master)


@dataclass(frozen=True)
class Source(Validated):
    """The origin of a table: a path or an object in memory.

    Attributes
    ----------
    path
        A file, a folder, a pattern such as ``2024-*.csv``, any of them in an object store (``s3://bucket/name.csv``),
        or ``-`` for standard input.
    format
        One of :data:`shoal.io.formats.FORMATS`, if the file name does not determine it.
    time_zone
        The zone in which instants (times with a zone) are read, whatever the zone of the machine is.
    sheet
        For a workbook: the name of a sheet, or its number from 1.
    table, query
        For a database: one of its tables, or a query.
    database
        A PostgreSQL server: ``env:NAME``, the environment variable that holds its address, or ``service:NAME``.
    driver
        For another database: the name of an ADBC driver, or ``odbc``.
    user_missing, values
        For a survey file: whether codes declared as missing are kept; whether labels are read in place of codes.

    Examples
    --------
    >>> from pathlib import Path
    >>> import shoal
    >>> shoal.Source(Path("visits.csv"), csv=shoal.CsvOptions(delimiter=";")).csv.delimiter
    ';'
    """

    path: Path | None = None
    frame: Annotated[Any, NOT_IN_PLAN] = None
    csv: Annotated[CsvFormat, INLINE] = field(default_factory=CsvFormat)
    format: str | None = None
    time_zone: str = UTC
    sheet: Name | Annotated[int, Ge(1)] | None = None
    table: Name | None = None
    query: Name | None = None
    database: Name | None = None
    driver: Name | None = None
    user_missing: Literal["missing", "keep"] = "missing"
    values: Literal["codes", "labels"] = "codes"
    reading: Annotated[Options | None, NOT_IN_PLAN] = None
    """Options to read back a release that was just written; not part of a plan."""
    with_nan: Annotated[tuple[str, ...], NOT_IN_PLAN] = ()
    """Columns in which NaN and other kinds of missing values (codes of a survey, errors of a workbook) are distinct
    from a missing value, as in the table; not part of a plan."""
    written: Annotated[Mapping[str, str], NOT_IN_PLAN] = field(default_factory=dict, compare=False, repr=False)
    """The text of the plan where the value of a variable was inserted, by key."""

    def __post_init__(self) -> None:
        check_time_zone(self.time_zone)
        if self.format is not None:
            format_named(self.format)
        if self.path is not None:
            refuse_address(self.path)
        if self.table is not None and self.query is not None:
            raise PlanError("source.table-and-query")
        if self.path is not None and self.database is not None:
            raise PlanError("source.path-and-database")
        if self.driver is not None and self.database is None:
            raise PlanError("source.driver-without-database")

    def located(self, folder: Path) -> Source:
        """Return the source of a plan in this folder."""
        if self.path is None and self.database is None:
            raise PlanError("plan.no-source-path")
        return self if self.path is None else replace(self, path=resolve_path(self.path, folder))

    @property
    def options(self) -> Options:
        """The options for the reader of a format."""
        if self.reading is not None:
            return self.reading
        return Options(
            self.sheet, self.table, self.query, self.user_missing, self.values, with_missing_kinds=self.with_nan
        )

    def require_supported_options(self, form: Format) -> None:
        """Raise if an option is set that the format does not support."""
        for name in ("sheet", "table", "query", "user_missing", "values"):
            if getattr(self, name) != getattr(Options, name) and name not in form.takes:
                raise PlanError("source.option-not-of-format", format=form.title, option=name)


@dataclass(frozen=True)
class Relation:
    """A table inside an engine.

    Attributes
    ----------
    name
        Its SQL name; column i is called c<i> in SQL.
    columns, types
        The user's column names, and the engine's types.
    ranked
        Columns whose content is ordered by an additional, hidden column k; sorting by a number is faster than by text.
    named
        Whether the column names are known to be names: those of a schema (Parquet, a frame), those that the user gave,
        and those that shoal made. The first line of a CSV may instead be the first record, of a person.
    labels
        Labels of the columns from a survey file or a server.
    ordered
        Whether the rows are already in content order.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    ranked: tuple[int, ...] = ()
    named: bool = False
    labels: Mapping[str, ColumnLabels] = field(default_factory=dict)
    ordered: bool = False

    def positions(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the positions of some columns."""
        return tuple(self.columns.index(name) for name in names)


@dataclass(frozen=True)
class Declared:
    """Declared values stored by the engine: number of rows, column types."""

    name: str
    rows: int
    kinds: Mapping[int, str]


class Engine(Protocol):
    """The interface to DuckDB and Spark that every command uses.

    Use it as a context manager.
    """

    rows_are_numbered: bool
    """Whether the rows of a table have an order that its owner knows, so that row numbers identify them."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def read(self, source: Source) -> Relation:
        """Make a source readable; nothing is loaded yet."""
        ...

    def plain_file(self, path: Path) -> Path:
        """Return the file of a source's content, without compression.

        It is the source itself where the engine makes no copies.
        """
        ...

    def ingest(self, server: Postgres, query: TableQuery, missing: tuple[str, ...] = ()) -> Relation:
        """Stream the result of a server's query into a table of this engine."""
        ...

    def cache(self, table: Relation) -> Relation:
        """Return the same rows cached by the engine, so that a CSV is read once."""
        ...

    def rows(self, table: Relation, positions: Sequence[int]) -> pa.Table:
        """Return some columns of all rows.

        They are called c<i> and have native types. The rows are in the order of the source if ``rows_are_numbered``.
        """
        ...

    def head(self, table: Relation, limit: int) -> pa.Table:
        """Return all columns (c<i>) of the first rows without reading the others."""
        ...

    def sample(self, table: Relation, rows: int) -> pa.Table:
        """Return a reproducible sample with the user's column names.

        It has the given number of rows, or all rows if there are fewer.
        """
        ...

    def declare(self, table: Relation, texts: pa.Table) -> tuple[Declared, pa.Table]:
        """Convert declared texts to the types of the table's columns.

        ``texts`` has columns c<i>; null is missing. Returns the stored values for the queries below, and how they were
        understood: each as text (null if it is no value of the type), and ``same``, the first row that has the same
        values. The rows of the table are not read.
        """
        ...

    def count_matching(self, table: Relation, wanted: Declared) -> list[int]:
        """Return the number of rows that have the values of each declared row."""
        ...

    def total(self, table: Relation, position: int, scale: float, ends: tuple[int, int], wanted: Declared) -> int:
        """Return the exact sum of a column over the rows that match ``wanted``.

        ``wanted`` has one declared row. The sum is in whole steps. See :func:`shoal.io.engines.sql.total`.
        """
        ...

    def frequencies(self, table: Relation, positions: Sequence[int]) -> pa.Table:
        """Return the distinct combinations of columns (c<i>) with their count (n)."""
        ...

    def find_row_numbers(self, table: Relation, position: int, texts: Sequence[str], limit: int) -> list[int]:
        """Return the numbers (from 1) of the first rows with one of some texts."""
        ...

    def limit_rows_per_person(self, table: Relation, owners: pa.Table, limit: int) -> Relation:
        """Return the table with at most ``limit`` rows of each owner.

        ``owners`` has columns c<i> and a number g; see :func:`shoal.io.engines.sql.limit_rows_per_person`. Raises
        unless ``rows_are_numbered``.
        """
        ...

    def without_signed_zeros(self, table: Relation, positions: Sequence[int]) -> Relation:
        """Return the table with 0.0 for -0.0 in some floating-point columns."""
        ...

    def signed_zeros(self, table: Relation, positions: Sequence[int]) -> list[int]:
        """Return which of some floating-point columns contain -0.0.

        -0.0 counts as 0.0 but is written differently.
        """
        ...

    def as_text(self, table: Relation, positions: Sequence[int]) -> Relation:
        """Return the table with some columns converted to text."""
        ...

    def count_distinct(self, table: Relation, positions: Sequence[int]) -> list[tuple[int, int]]:
        """Count the non-missing cells and the distinct values of some columns."""
        ...

    def linking_columns(self, table: Relation, owner: int, positions: Sequence[int]) -> tuple[int, list[int]]:
        """Count owners of several rows, and per column those with varying values."""
        ...

    def count_unique_owners(self, table: Relation, owner: int, positions: Sequence[int]) -> int:
        """Count owners of several rows with values that no other owner has.

        The values are those of some columns.
        """
        ...

    def project(self, table: Relation, positions: Sequence[int]) -> Relation:
        """Return the table with some of its columns.

        All columns that order its rows must be among them.
        """
        ...

    def duplicate(self, table: Relation, positions: Sequence[int], names: Sequence[str]) -> Relation:
        """Return the table with copies of some columns, under new names."""
        ...

    def relabel(self, table: Relation, position: int, labels: pa.Table) -> Relation:
        """Replace the values of one column by labels (v, label).

        Values without a label become missing.
        """
        ...

    def recode_by_level(
        self,
        table: Relation,
        keep: Sequence[int],
        maps: Mapping[int, pa.Table],
        constants: Mapping[int, str],
        suppressed: pa.Table | None,
    ) -> Relation:
        """Replace values by labels per column, and drop suppressed combinations.

        ``maps`` gives for a column a table (v, label) of values and their labels. A third column ``rank`` is present if
        the sum of ranks over columns orders the published rows.
        """
        ...

    def recode_by_group(self, table: Relation, keep: Sequence[int], assignment: pa.Table, labels: pa.Table) -> Relation:
        """Replace values by the labels of each row's group.

        Rows without a group are dropped. ``labels`` has a row per group g: its labels, and a number ``rank`` that
        orders the published labels of groups.
        """
        ...

    def repeat(
        self, table: Relation, keep: Sequence[int], rows: pa.Table, constants: Mapping[int, str], own: Sequence[int]
    ) -> Relation | None:
        """Return published rows, each n times, in place of the rows of a table.

        ``rows`` has columns c<i> in content order. ``constants`` are the columns with one label; values of ``own``
        columns come from the table. Returns None if rows should be recoded in place instead: they are distributed over
        machines, or an ``own`` column is known to have no missing values, which a typed file would reveal.
        """
        ...

    def write(self, table: Relation, path: Path, writing: Writing = PLAIN) -> Source:
        """Write a table in content order; return the source to read it back.

        The extension of the path determines the format.
        """
        ...

    def batches(self, table: Relation) -> pa.RecordBatchReader:
        """Stream the rows of a table in content order, with the user's names."""
        ...

    def to_arrow(self, table: Relation) -> pa.Table:
        """Return the table in content order, with the user's column names."""
        ...

    def materialize(self, table: Relation, like: Any) -> Any:
        """Return the table in content order, computed once.

        It is a frame of the engine if ``like`` is one, else an Arrow table.
        """
        ...

    def distributed_frequencies(self, table: Relation, positions: Sequence[int]) -> DistributedTable | None:
        """Count combinations and leave them distributed; None on one machine."""
        ...

    def close(self) -> None:
        """Release the data."""
        ...


class DistributedTable(Protocol):
    """Combinations of some columns with their counts, over several machines.

    No single machine has all of them. Functions passed to it run where the combinations are, on Arrow tables with
    columns c<i> and n. They and the data they carry must be picklable, and shoal must be installed there.
    """

    rows: int
    schema: pa.Schema

    def values(self, position: int) -> pa.Table:
        """Return the distinct values of a column with their counts.

        The columns are c<i> and n. Raises if they do not fit on this machine.
        """
        ...

    def distinct(self, position: int) -> int:
        """Count the distinct values of a column; missing is one of them."""
        ...

    def ends(self, positions: Sequence[int]) -> pa.Table:
        """Return the lowest and the highest value of columns c<i>, in two rows."""
        ...

    def gather(self, function: Callable[[pa.Table], Any]) -> list[Any]:
        """Return the results of a function for parts of the combinations.

        The parts are arbitrary.
        """
        ...

    def gather_by(self, positions: Sequence[int], function: Callable[[pa.Table], Any]) -> list[Any]:
        """Return the results of a function for parts by key.

        Combinations with equal values in ``positions`` are in one part.
        """
        ...

    def count_by(self, tag: Callable[[pa.Table], Any], positions: Sequence[int]) -> pa.Table:
        """Count rows (n) by tag (b) and the values of some columns."""
        ...

    def recode_blocks(
        self,
        tag: Callable[[pa.Table], Any],
        blocks: int,
        function: Callable[[pa.Table], tuple[pa.Table, Any]],
        published: pa.Schema,
    ) -> tuple[str, list[Any]]:
        """Recode the combinations of each block, which their tag identifies.

        The function returns entries (c<i>, low, high, l<i> as in ``published``) and a result. An entry says: of the
        rows with the values c, those numbered from low + 1 to high publish l. Returned are the name of the table of all
        entries, and the results.
        """
        ...

    def recode(self, keep: Sequence[int], entries: str, recoded: Sequence[int]) -> Relation:
        """Return the table with the labels of each row's entry.

        ``keep`` are the published columns; ``recoded`` are those with labels.
        """
        ...


def check_time_zone(name: object) -> None:
    """Raise unless a value is the name of a time zone."""
    from zoneinfo import ZoneInfo

    try:
        if not isinstance(name, str):
            raise TypeError
        ZoneInfo(name)
    except (TypeError, ValueError, OSError, KeyError):  # the text may be a folder, or a path outside of the zone files
        raise PlanError("source.unknown-time-zone") from None


def column_in_message(names: Sequence[str], position: int, named: bool) -> str:
    """Return a column for a message: its name only if it is known to be one.

    >>> column_in_message(("age", "zip"), 1, named=True), column_in_message(("Miller", "14248"), 1, named=False)
    ("'zip'", 'column 2 of 2')
    """
    return repr(names[position]) if named else f"column {position + 1} of {len(names)}"


def require_columns(table: Relation, names: Sequence[str], what: str = "table") -> None:
    """Raise if a requested column is not in the table.

    ``what`` is the table's name in the message.
    """
    import difflib

    for name in names:
        if name in table.columns:
            continue
        close = difflib.get_close_matches(name, table.columns, 1)
        hint = (
            f"It has {counted(len(table.columns), 'column')}; check the spelling, and that its first line is a header."
        )
        if close:
            like = column_in_message(table.columns, table.columns.index(close[0]), table.named)
            hint = f"Did you mean {like}?"
        raise TableError("columns.not-in-table", table=what, column=name, hint=hint)


def require_roles(table: Relation, names: Collection[str]) -> None:
    """Raise if the plan, which has roles for ``names``, omits a column."""
    forgotten = [position for position, name in enumerate(table.columns) if name not in names]
    if forgotten:
        called = ", ".join(
            column_in_message(table.columns, position, table.named) for position in forgotten[:MAX_COLUMNS_IN_MESSAGE]
        )
        more = f" and {len(forgotten) - MAX_COLUMNS_IN_MESSAGE} more" if len(forgotten) > MAX_COLUMNS_IN_MESSAGE else ""
        raise PlanError("columns.role-missing", columns=called, more=more)


def check_names(names: Sequence[str], named: bool = False) -> None:
    """Raise if columns have no names or duplicate names.

    ``named`` is as in :class:`Relation`.
    """
    if not names:
        raise TableError("table.no-columns")
    counted = Counter(names)
    twice = [position for position, name in enumerate(names) if counted[name] > 1]
    if twice:
        called = ", ".join(
            dict.fromkeys(column_in_message(names, position, named) for position in twice[:MAX_COLUMNS_IN_MESSAGE])
        )
        raise TableError("table.column-names-equal", count=len(twice), columns=called)
    if any(not name for name in names):
        position = list(names).index("") + 1
        raise TableError("table.column-name-missing", position=position)
