"""What an engine must do: read a table, count combinations, recode rows, write the result.

An engine holds tables of any size and never decides anything. It exchanges small things with the rest of
shoal as Arrow tables whose columns are named c0, c1, ... by their place in the table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

from annotated_types import Ge, Le, MaxLen

from shoal.errors import PlanError, TableError, counted
from shoal.io.engines import ENGINES
from shoal.io.formats import PLAIN, ColumnLabels, Format, Options, Writing, format_named
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.io.formats.urls import refuse_address
from shoal.runtime.validation import Checked, Name

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.io.formats.postgres import Asked, Postgres

__all__ = [
    "Declared",
    "Engine",
    "EngineSettings",
    "Relation",
    "Source",
    "Spread",
    "call_column",
    "check_memory",
    "check_names",
    "check_time_zone",
    "memory_bytes",
    "require_columns",
    "require_roles",
]

MOST_TOLD = 5
UTC = "UTC"


LEAST_MEMORY = 16 << 20
"""Bytes below which DuckDB cannot so much as open a file."""

MOST_MEMORY = 1 << 50
MOST_THREADS = 4096


def memory_bytes(text: str) -> int:
    """An amount of memory such as ``4GB``, ``512MiB`` or ``1.5g``, in bytes.

    >>> memory_bytes("1.5KiB"), memory_bytes("2 GB")
    (1536, 2000000000)
    """
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if found is None or (found[3] and not found[2]):
        raise PlanError(f"An amount of memory must be written like 4GB or 512MB; found {text!r}.")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " kmgt".index(found[2] or " "))


def check_memory(text: str) -> None:
    """Raise unless an engine can work within this amount of memory."""
    if not LEAST_MEMORY <= memory_bytes(text) <= MOST_MEMORY:
        raise PlanError(
            f"The memory of the engine must be from {LEAST_MEMORY >> 20}MiB to {MOST_MEMORY >> 40}TiB; found {text!r}."
        )


@dataclass(frozen=True)
class EngineSettings(Checked):
    """Which engine does the work, and how much of the machine it may use.

    Attributes
    ----------
    memory
        What the engine may hold of the table; beyond it DuckDB uses the disk. The interpreter, its libraries, the coded
        combinations and what a method works on come on top. Where a method is known to need more than this for itself,
        the run is refused. On Spark it is the driver's, and holds where a session is started.
    threads
        How many threads the engine and the methods may use; all cores by default.
    name
        ``duckdb`` (this machine) or ``spark``, or one of :data:`shoal.io.engines.ENGINES` that another package adds; by
        default Spark for Spark's own frames, and DuckDB otherwise.
    master, options
        Of Spark: where it runs, such as ``local[4]``, and further settings by their Spark names.
    """

    memory: Annotated[str, MaxLen(30)] | None = None
    threads: Annotated[int, Ge(1), Le(MOST_THREADS)] | None = None
    name: Name | None = None
    master: Name | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.memory is not None:
            check_memory(self.memory)
        if self.name is not None and self.name not in ENGINES:
            raise PlanError(f"The engine must be one of {', '.join(ENGINES)}; found {self.name[:40]!r}.")
        if self.name in (None, "duckdb") and (self.master is not None or self.options):
            raise PlanError(
                'Only the engine spark has a master and options; set name = "spark" in [engine], or --engine spark.'
            )
        strange = [key for key in self.options if self.name == "spark" and not key.startswith("spark.")]
        if strange:
            raise PlanError(f"The options of the engine must be settings of Spark, spark.NAME; found {strange[0]!r}.")

    @property
    def here(self) -> EngineSettings:
        """The same limits on this machine: for samples, and for parts of a table that was brought here."""
        return EngineSettings(self.memory, self.threads, "duckdb")

    def instead(self, name: str | None, master: str | None) -> EngineSettings:
        """These settings with another engine or another master, where one is given."""
        settings = self
        if name not in (None, self.name):  # what is said of Spark is not for another engine
            settings = EngineSettings(self.memory, self.threads, name)
        return settings if master is None else replace(settings, master=master)


@dataclass(frozen=True)
class Source(Checked):
    """Where a table comes from: a path or an object in memory.

    Attributes
    ----------
    path
        A file, a folder, a pattern such as ``2024-*.csv``, any of them in an object store (``s3://bucket/name.csv``),
        or ``-`` for standard input.
    format
        One of :data:`shoal.io.formats.FORMATS`, where the name of a file does not tell it.
    time_zone
        The zone in which instants (times that carry a zone) are read, whatever the machine's own is.
    sheet
        Of a workbook: the name of a sheet, or its number from 1.
    table, query
        Of a database: a table of it, or a question to it.
    database
        A PostgreSQL server: ``env:NAME``, the environment variable that holds its address, or ``service:NAME``.
    driver
        Of another database: the name of an ADBC driver, or ``odbc``.
    user_missing, values
        Of a survey file: whether codes that are declared as missing are kept; whether the labels of codes are read in
        their place.
    """

    path: Path | None = None
    frame: Any = None
    csv: CsvFormat = field(default_factory=CsvFormat)
    format: str | None = None
    time_zone: str = UTC
    sheet: Name | Annotated[int, Ge(1)] | None = None
    table: Name | None = None
    query: Name | None = None
    database: Name | None = None
    driver: Name | None = None
    user_missing: Literal["missing", "keep"] = "missing"
    values: Literal["codes", "labels"] = "codes"
    reading: Options | None = None
    """How a release is read back that was just written; no plan says it."""
    with_nan: tuple[str, ...] = ()
    """Columns in which NaN is told from a missing value, as it is in the table; no plan says it."""
    written: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """What the plan says where a variable's value was filled in, by key."""

    def __post_init__(self) -> None:
        check_time_zone(self.time_zone)
        if self.format is not None:
            format_named(self.format)
        if self.path is not None:
            refuse_address(self.path)
        if self.table is not None and self.query is not None:
            raise PlanError("The source must have a table or a query, not both.")
        if self.path is not None and self.database is not None:
            raise PlanError("The source must have a path or a database, not both.")
        if self.driver is not None and self.database is None:
            raise PlanError('A driver is for a database; name one: database = "env:NAME" in [source].')

    @property
    def options(self) -> Options:
        """What the reader of a format is told."""
        if self.reading is not None:
            return self.reading
        return Options(self.sheet, self.table, self.query, self.user_missing, self.values)

    def require_taken(self, form: Format) -> None:
        """Raise where something is said that this format does not know."""
        for name in ("sheet", "table", "query", "user_missing", "values"):
            if getattr(self, name) != getattr(Options, name) and name not in form.takes:
                raise PlanError(f"The source is {form.title}, which has no {name!r}; remove it from [source].")


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
        Columns whose content is ordered by a further, hidden column k; sorting by a number is quicker than by text.
    named
        Whether the names are known to be names: those of a schema (Parquet, a frame), those that the user gave, and
        those that shoal made. What was read from the first line of a CSV may be the first record, of a person.
    labels
        What a survey file or a server says of its columns.
    ordered
        Whether the rows stand in the order of their content already.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    ranked: tuple[int, ...] = ()
    named: bool = False
    labels: Mapping[str, ColumnLabels] = field(default_factory=dict)
    ordered: bool = False

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """The places of some columns."""
        return tuple(self.columns.index(name) for name in names)


@dataclass(frozen=True)
class Declared:
    """Values that were declared, held by the engine: how many rows of them, and the type of each column."""

    name: str
    rows: int
    kinds: Mapping[int, str]


class Engine(Protocol):
    """The boundary to DuckDB and Spark: every command works through it. Use it as a context manager."""

    numbered: bool
    """Whether the rows of a table have an order that its owner knows, so that they can be told by their numbers."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def read(self, source: Source) -> Relation:
        """Make a source readable; nothing is loaded yet."""
        ...

    def take(self, server: Postgres, asked: Asked, missing: tuple[str, ...] = ()) -> Relation:
        """The answer of a server, streamed into a table of this engine."""
        ...

    def keep(self, table: Relation) -> Relation:
        """The same rows held by the engine, so that a CSV is read once, not often."""
        ...

    def rows(self, table: Relation, places: Sequence[int]) -> pa.Table:
        """Some columns (c<i>, native types) of all rows, in the order of the source where they are ``numbered``."""
        ...

    def head(self, table: Relation, most: int) -> pa.Table:
        """All columns (c<i>, native types) of the first rows, without reading the others."""
        ...

    def sample(self, table: Relation, rows: int) -> pa.Table:
        """So many rows (all, where there are no more) with the user's column names: the same ones each time."""
        ...

    def declare(self, table: Relation, texts: pa.Table) -> tuple[Declared, pa.Table]:
        """Declared texts (columns c<i>; null is missing) in the types of the table's columns, for the questions below.

        Returns them, and how they were understood: each as text (null where it is no value of the type), and ``same``,
        the first row that has the same values. The rows of the table are not looked at.
        """
        ...

    def count_matching(self, table: Relation, wanted: Declared) -> list[int]:
        """How many rows have the values of each declared row."""
        ...

    def total(self, table: Relation, place: int, scale: float, ends: tuple[int, int], wanted: Declared) -> int:
        """The exact sum of a column over the rows with the values of the one declared row, in whole steps.

        See :func:`shoal.io.engines.sql.total`.
        """
        ...

    def frequencies(self, table: Relation, places: Sequence[int]) -> pa.Table:
        """Distinct combinations of columns (c<i>, native types) with their count (n)."""
        ...

    def rows_holding(self, table: Relation, place: int, texts: Sequence[str], most: int) -> list[int]:
        """Numbers (from 1) of the first rows whose value, as text, is one of ``texts``."""
        ...

    def few_of_each(self, table: Relation, owners: pa.Table, most: int) -> Relation:
        """At most so many rows of each owner (columns c<i>, and a number g); see :func:`shoal.io.engines.sql.few_of_each`.

        Raises where rows are not ``numbered``.
        """
        ...

    def without_signed_zeros(self, table: Relation, places: Sequence[int]) -> Relation:
        """The table with 0.0 for -0.0 in some columns of floating point."""
        ...

    def signed_zeros(self, table: Relation, places: Sequence[int]) -> list[int]:
        """Those of some columns of floating point that hold -0.0, which counts as 0.0 but is written otherwise."""
        ...

    def as_text(self, table: Relation, places: Sequence[int]) -> Relation:
        """The table with some columns as the text of their values."""
        ...

    def repeats(self, table: Relation, places: Sequence[int]) -> list[tuple[int, int]]:
        """Of some columns how many cells are not missing, and how many different values they have."""
        ...

    def linking(self, table: Relation, owner: int, places: Sequence[int]) -> tuple[int, list[int]]:
        """How many owners have several rows, and of each column how many of them have different values in it."""
        ...

    def told_apart(self, table: Relation, owner: int, places: Sequence[int]) -> int:
        """How many owners of several rows have values in some columns that no other owner has."""
        ...

    def project(self, table: Relation, places: Sequence[int]) -> Relation:
        """The table with some of its columns alone, all that order its rows among them."""
        ...

    def relabel(self, table: Relation, place: int, labels: pa.Table) -> Relation:
        """The table with labels (v, label) in place of the values of one column; missing where there is none."""
        ...

    def recode_by_level(
        self,
        table: Relation,
        keep: Sequence[int],
        maps: Mapping[int, pa.Table],
        constants: Mapping[int, str],
        suppressed: pa.Table | None,
    ) -> Relation:
        """Replace values by labels column by column, and leave suppressed combinations out.

        ``maps`` gives for a column a table (v, label) of values and their labels, with a third column ``rank`` where
        the sum of ranks over columns orders what is published.
        """
        ...

    def recode_by_group(self, table: Relation, keep: Sequence[int], assignment: pa.Table, labels: pa.Table) -> Relation:
        """Replace values by the labels of each row's group; rows without a group are left out.

        ``labels`` has a row per group g: its labels, and a number ``rank`` that orders what groups show.
        """
        ...

    def repeat(
        self, table: Relation, keep: Sequence[int], rows: pa.Table, constants: Mapping[int, str], own: Sequence[int]
    ) -> Relation | None:
        """Rows (c<i>, as published, in content order), each n times, in place of those of a table.

        ``constants`` are the columns that show one label; values of ``own`` columns are the table's. None where rows
        had better be recoded where they are: they are spread over machines, or it is known of a column of its own that
        nothing is missing, which a typed file would tell.
        """
        ...

    def write(self, table: Relation, path: Path, writing: Writing = PLAIN) -> Source:
        """Write a table in content order, in the format of the path's extension; returns how it is read back."""
        ...

    def batches(self, table: Relation) -> pa.RecordBatchReader:
        """The rows of a table in content order, as they come, with the user's names."""
        ...

    def to_arrow(self, table: Relation) -> pa.Table:
        """The whole table in content order, with the user's column names."""
        ...

    def hold(self, table: Relation, like: Any) -> Any:
        """The whole table in content order, computed once: as the engine's own frame if ``like`` is one, else Arrow."""
        ...

    def spread(self, table: Relation, places: Sequence[int]) -> Spread | None:
        """The combinations of some columns, counted and left where they are; None where all are on this machine."""
        ...

    def close(self) -> None:
        """Let go of the data."""
        ...


class Spread(Protocol):
    """The combinations of some columns with their counts, spread over machines: no one machine has all of them.

    Functions that are given to it run where the combinations are, on Arrow tables with columns c<i> and n. They and
    what they hold must be picklable, and shoal must be installed there.
    """

    rows: int
    schema: pa.Schema

    def values(self, place: int) -> pa.Table:
        """The distinct values of a column (c<i>) with their counts (n), if they fit here."""
        ...

    def distinct(self, place: int) -> int:
        """How many different values a column has, missing ones included as one."""
        ...

    def ends(self, places: Sequence[int]) -> pa.Table:
        """The lowest and the highest value of columns c<i>, in two rows."""
        ...

    def gather(self, function: Callable[[pa.Table], Any]) -> list[Any]:
        """What a function tells of each part of the combinations, whichever these are."""
        ...

    def gather_by(self, places: Sequence[int], function: Callable[[pa.Table], Any]) -> list[Any]:
        """What a function tells of parts such that combinations with equal values in ``places`` are in one part."""
        ...

    def count_by(self, tag: Callable[[pa.Table], Any], places: Sequence[int]) -> pa.Table:
        """How many rows (n) have each tag (b) and, with it, each value of some columns."""
        ...

    def by_block(
        self,
        tag: Callable[[pa.Table], Any],
        blocks: int,
        function: Callable[[pa.Table], tuple[pa.Table, Any]],
        published: pa.Schema,
    ) -> tuple[str, list[Any]]:
        """Let a function recode the combinations of each block, which their tag names.

        It returns entries (c<i>, low, high, l<i> as in ``published``): of the rows that have these values c, those
        numbered from low + 1 to high show l; and what it wants to tell. Returned are the name of all entries
        together, and what was told.
        """
        ...

    def recode(self, keep: Sequence[int], entries: str, recoded: Sequence[int]) -> Relation:
        """The table with what the entry of each row shows in its ``recoded`` columns; ``keep`` are published."""
        ...


def check_time_zone(name: object) -> None:
    """Raise unless a text is the name of a time zone."""
    from zoneinfo import ZoneInfo

    try:
        if not isinstance(name, str):
            raise TypeError
        ZoneInfo(name)
    except (TypeError, ValueError, OSError, KeyError):  # what is no name may be a folder, or lead out of one
        raise PlanError("The time zone must be a name such as UTC or Europe/Vienna.") from None


def call_column(names: Sequence[str], place: int, named: bool) -> str:
    """How an error speaks of a column that the user did not name: by its name only if that is known to be one.

    >>> call_column(("age", "zip"), 1, named=True), call_column(("Miller", "14248"), 1, named=False)
    ("'zip'", 'column 2 of 2')
    """
    return repr(names[place]) if named else f"column {place + 1} of {len(names)}"


def require_columns(table: Relation, names: Sequence[str], what: str = "table") -> None:
    """Raise where a column that is asked for is not in the table; ``what`` table it is."""
    import difflib

    for name in names:
        if name in table.columns:
            continue
        close = difflib.get_close_matches(name, table.columns, 1)
        hint = (
            f"It has {counted(len(table.columns), 'column')}; check the spelling, and that its first line is a header."
        )
        if close:
            like = call_column(table.columns, table.columns.index(close[0]), table.named)
            hint = f"Did you mean {like}?"
        raise TableError(f"The {what} has no column {name!r}. {hint}")


def require_roles(table: Relation, names: Collection[str]) -> None:
    """Raise where the table has a column that the plan, which knows ``names``, says nothing of."""
    forgotten = [place for place, name in enumerate(table.columns) if name not in names]
    if forgotten:
        called = ", ".join(call_column(table.columns, place, table.named) for place in forgotten[:MOST_TOLD])
        more = f" and {len(forgotten) - MOST_TOLD} more" if len(forgotten) > MOST_TOLD else ""
        raise PlanError(
            f"The plan must give every column a role; it says nothing of {called}{more}. Use drop to leave a "
            f"column out, other to publish it as it is."
        )


def check_names(names: Sequence[str], named: bool = False) -> None:
    """Raise where columns have no names, or the same; ``named`` as in :class:`Relation`."""
    if not names:
        raise TableError("The table has no columns; at least one is needed.")
    counted = Counter(names)
    twice = [place for place, name in enumerate(names) if counted[name] > 1]
    if twice:
        called = ", ".join(dict.fromkeys(call_column(names, place, named) for place in twice[:MOST_TOLD]))
        raise TableError(
            f"Column names must differ; {len(twice)} columns share a name with another: {called}. Rename them (for "
            f"a CSV: rename = true), or set header = false if the first line is a record."
        )
    if any(not name for name in names):
        place = list(names).index("") + 1
        raise TableError(f"Every column must have a name; column {place} has none. Name it, or set header = false.")
