"""Queries to a table, computed by the engine after they are booked.

The engine computes the exact figure after the booking and before the noise. The table must be readable and have the
columns; this is checked first, so that a query with a misspelt name costs nothing. Whether a query is refused depends
on names and declared types alone, never on rows: a refusal is not booked. Values to search for, cells and candidates
are declared by the user. They are compared in the type of their column (text in its canonical form, without surrounding
blanks) and never become part of an SQL statement. Two spellings of one value are one value, which may be
declared once. So a row is counted at most once, as the noise assumes.

If a person can have several rows, at most ``rows_per_person`` of each person are used, and E to that power is
booked. The selection must not depend on the rows of others, or one person could change the rows that represent
other people. It must not depend on the content of the rows either, or answers would be biased.

Source: Lee and Clifton, Differential identifiability, KDD 2012, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le

from shoal.budget.arithmetic import Rational
from shoal.budget.errors import ParameterError
from shoal.budget.ledger import MAX_ROWS_PER_PERSON, Ledger
from shoal.budget.mechanisms import Span
from shoal.budget.noisy_queries import Answer, ask_best_of, ask_count, ask_histogram, ask_mean, ask_sum
from shoal.budget.sampling import RandomBits
from shoal.errors import TableError
from shoal.io.engines import open_engine
from shoal.io.engines.base import (
    UTC,
    Declared,
    Engine,
    EngineSettings,
    Relation,
    Source,
    check_time_zone,
    column_in_message,
    require_columns,
)
from shoal.io.formats import format_of
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.runtime.validation import Name, Validated
from shoal.schema.detect_identifiers import is_person_key
from shoal.table.people import number_names

Where = Mapping[str, str | None]
"""Columns and the value that each must have, as text; None stands for a missing value."""


@dataclass(frozen=True)
class Questions(Validated):
    """Queries to one table, each booked before the table is read.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    ledger
        The ledger of this data set.
    csv
        The dialect of a CSV file, if it cannot be detected.
    engine
        The engine that computes the figures, and its memory; by default Spark for Spark's own frames, and DuckDB
        otherwise.
    source
        The source of random bits; the operating system by default.
    person, rows_per_person
        The columns that together identify the person of a row, and the number of rows of each person to use. An empty
        list of columns declares that every row is a different person. By default, a table is refused if a column is
        named like a key of people.
    time_zone
        The time zone of instants, and of declared values without a zone.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> directory = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(directory.name + "/patients.ledger", m=1000, k=5)
    >>> patients = pa.table({"age": [23, 44, 61], "illness": ["flu", "gout", "flu"]})
    >>> answer = Questions(patients, ledger).count("1/100", where={"illness": "flu"})
    >>> answer.kind, answer.half_width, answer.booking.rho
    ('count', Fraction(1, 1), Fraction(1, 100))
    >>> directory.cleanup()
    """

    data: Any
    ledger: Ledger
    csv: CsvFormat = field(default_factory=CsvFormat)
    engine: EngineSettings | None = None
    source: RandomBits | None = None
    person: tuple[Name, ...] | None = None
    rows_per_person: Annotated[int, Ge(1), Le(MAX_ROWS_PER_PERSON)] | None = None
    time_zone: str = UTC

    def __post_init__(self) -> None:
        check_time_zone(self.time_zone)
        if bool(self.person) != (self.rows_per_person is not None):
            raise ParameterError("budget.person-without-rows-per-person")

    @property
    def _rows(self) -> int:
        return self.rows_per_person or 1

    def count(self, rho: Rational, where: Where | None = None, label: str = "") -> Answer:
        """Count the rows with these values; all rows if none are given."""
        where = where or {}
        with self._open_table(where) as (engine, table):
            conditions = _declare_values(engine, table, where)
            return ask_count(
                self.ledger, rho, lambda: engine.count_matching(table, conditions)[0], label, self.source, self._rows
            )

    def sum(self, rho: Rational, column: str, span: Span, where: Where | None = None, label: str = "") -> Answer:
        """Sum a column, clipped to a public range.

        A missing value, or one that is not a number, counts as 0, clipped.
        """
        where = where or {}
        with self._open_table((column, *where)) as (engine, table):
            conditions = _declare_values(engine, table, where)
            return ask_sum(
                self.ledger,
                rho,
                lambda: _total(engine, table, column, span, conditions),
                span,
                label,
                self.source,
                self._rows,
                filtered=bool(where),
            )

    def mean(self, rho: Rational, column: str, span: Span, label: str = "") -> Answer:
        """Return the mean of a column over all rows, or one row per person.

        The number of rows is public.
        """
        if self._rows > 1:
            raise ParameterError("budget.mean-with-several-rows", found=self._rows)
        with self._open_table((column,)) as (engine, table):
            conditions = _declare_values(engine, table, {})
            (rows,) = engine.count_matching(table, conditions)
            if not rows:
                raise TableError("budget.mean-without-rows")
            return ask_mean(
                self.ledger,
                rho,
                lambda: _total(engine, table, column, span, conditions),
                rows,
                span,
                label,
                self.source,
            )

    def histogram(
        self, rho: Rational, column: str, values: Sequence[str | None], where: Where | None = None, label: str = ""
    ) -> Answer:
        """Count the rows with each of the declared values of a column."""
        with self._counting(column, values, where or {}) as (declared, count):
            return ask_histogram(self.ledger, rho, declared, count, label, self.source, self._rows)

    def best_of(
        self, rho: Rational, column: str, values: Sequence[str | None], where: Where | None = None, label: str = ""
    ) -> Answer:
        """Return the position of the most frequent declared value of a column."""
        with self._counting(column, values, where or {}) as (declared, count):
            return ask_best_of(self.ledger, rho, declared, count, 1, label, self.source, self._rows)

    @contextmanager
    def _counting(
        self, column: str, values: Sequence[str | None], where: Where
    ) -> Iterator[tuple[int, Callable[[], Sequence[int]]]]:
        """Open the table; yield the number of values and a function to count."""
        declared = _check_declared(values)
        _check_other_columns(column, where)
        with self._open_table((column, *where)) as (engine, table):
            conditions = _declare_values(engine, table, where, len(declared), column, declared)
            yield len(declared), lambda: engine.count_matching(table, conditions)

    @contextmanager
    def _open_table(self, columns: Mapping[str, object] | Sequence[str]) -> Iterator[tuple[Engine, Relation]]:
        """Open the table in an engine, and check that it has the columns."""
        with open_engine(self.engine, self.data, time_zone=self.time_zone) as engine:
            is_path = isinstance(self.data, str | Path)
            source = Source(Path(self.data), csv=self.csv) if is_path else Source(frame=self.data, csv=self.csv)
            _refuse_types_by_content(source)
            table = engine.read(source)
            require_columns(table, (*columns, *(self.person or ())))
            if self.person is None:
                _refuse_undeclared_people(table)
            yield engine, _limit_rows_per_person(engine, table, self.person, self._rows) if self.person else table


def _refuse_undeclared_people(table: Relation) -> None:
    """Raise if a column is named like a key of people and nothing is declared.

    The names decide, never the rows: a refusal costs nothing, so it must say nothing about the data, such as whether a
    person has two rows, or how many people there are.
    """
    for position, name in enumerate(table.columns):
        if is_person_key(name):
            raise ParameterError(
                "budget.person-not-given", column=column_in_message(table.columns, position, table.named)
            )


def _refuse_types_by_content(source: Source) -> None:
    """Raise if the types of a source's columns follow from its rows.

    One row would change how all others are compared, and which questions are refused.
    """
    if source.csv.foreign_numbers:
        raise ParameterError("budget.number-style-depends-on-rows")
    if source.path is None or source.path.is_dir():
        return
    form = format_of(source.path, source.format)
    if form.types_by_content:
        raise ParameterError("budget.types-depend-on-rows", format=form.title)


def _limit_rows_per_person(engine: Engine, table: Relation, person: Sequence[str], limit: int) -> Relation:
    """Return at most a given number of rows per person.

    A row without a person is a person by itself.
    """
    import pyarrow as pa

    positions = table.positions(person)
    counted = engine.frequencies(table, positions)
    number, _ = number_names(counted, positions)
    named = pa.array(number >= 0)
    owners = counted.drop_columns(["n"]).append_column("g", pa.array(number)).filter(named)
    return engine.limit_rows_per_person(table, owners, limit)


def _check_declared(values: Sequence[str | None]) -> tuple[str | None, ...]:
    if not values or isinstance(values, str):
        raise ParameterError("budget.values-not-declared")
    return tuple(values)


def _check_other_columns(column: str, where: Where) -> None:
    if column in where:
        raise ParameterError("budget.condition-on-counted-column", column=column)


def _declare_values(
    engine: Engine,
    table: Relation,
    where: Where,
    rows: int = 1,
    column: str = "",
    values: Sequence[str | None] = (),
) -> Declared:
    """Declare the searched values to the engine, in the types of the columns.

    Each row of the table may match one of them at most; otherwise the query is refused. The noise is for one row that
    counts once. 1, 1.0 and 1.00 are one number: as three values they would count a row three times, and their mean
    would reveal more than was booked.
    """
    import pyarrow as pa

    listed = {name: [value] * rows for name, value in where.items()} | ({column: list(values)} if column else {})
    for name, texts in listed.items():
        if not all(text is None or _is_text(text) for text in texts):
            raise ParameterError("budget.condition-not-text", column=name)
    # an Arrow table needs a column to have rows
    columns: dict[str, pa.Array] = {} if listed else {"every": pa.array([0] * rows)}
    columns |= {f"c{table.columns.index(name)}": pa.array(texts, pa.string()) for name, texts in listed.items()}
    conditions, understood = engine.declare(table, pa.table(columns))
    for name, texts in listed.items():
        position = table.columns.index(name)
        for text, value in zip(texts, understood.column(f"c{position}").to_pylist(), strict=True):
            if text is not None and not _is_value(text, value, table.types[position]):
                raise ParameterError("budget.condition-of-other-type", column=name, type=table.types[position])
    if understood.column("same").to_pylist() != list(range(rows)):
        raise ParameterError(
            "budget.value-declared-twice", column=column, type=table.types[table.columns.index(column)]
        )
    return conditions


def _is_text(value: object) -> bool:
    """Return whether a value is text that UTF-8 can encode.

    Arguments of a command line may have any bytes.
    """
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_value(text: str, understood: str | None, kind: str) -> bool:
    """Return whether a text is exactly a value of a type.

    A value that the engine had to round is not: 1.5 is not the whole number 2.
    """
    if understood is None:
        return False
    if kind.endswith(("INT", "INTEGER")) or kind.startswith("DECIMAL"):
        try:
            return Decimal(text.strip()) == Decimal(understood)
        except ArithmeticError:
            return False
    return True


def _total(engine: Engine, table: Relation, column: str, span: Span, conditions: Declared) -> int:
    """Return the sum in steps of the span, equal to :meth:`Span.total`."""
    return engine.total(table, table.columns.index(column), float(1 / span.step), span.units, conditions)
