"""Questions to a table: the engine computes the exact figure, after the booking and before the noise.

What a question needs to be asked at all (that the table can be read and has the columns) is looked at first, so that a
question with a misspelt name costs nothing. Values to look for, cells and candidates are declared by the one who asks;
they are compared in the type of their column (text in its canonical form, without blanks around it) and never become
part of a statement. Two spellings of one value are one value, which may be declared once: so a row is counted once at
most, which is what the noise is made for.

Where several rows can be a person's, at most ``rows_per_person`` of each person are kept before anything is counted,
and E to that power is booked. Which ones are kept must not depend on the rows of others, or one person could change
what many answer with; nor on what the rows hold, or answers would lean to one side.

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
from shoal.budget.ledger import MOST_ROWS, Ledger
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
    call_column,
    check_time_zone,
    require_columns,
)
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.runtime.validation import Checked, Name
from shoal.schema.detect_identifiers import person_key
from shoal.table.people import number_names

__all__ = ["Questions", "Where"]

Where = Mapping[str, str | None]
"""Columns and the value that each must have, as text; None is a missing value."""


@dataclass(frozen=True)
class Questions(Checked):
    """Questions to one table, each booked in the table's ledger before the table is looked at.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    ledger
        The ledger of this data set.
    csv
        How a CSV file is written, where this is not found by itself.
    engine
        What computes the figures, and with how much memory; by default Spark for Spark's own frames, and DuckDB
        otherwise.
    source
        Where random bits come from; the operating system unless given.
    person, rows_per_person
        The columns that say together whose rows they are, and how many rows of each person are kept. An empty list of
        columns says that every row is a person of its own. Where nothing is said, a table with a column that is called
        like a key of people, and that repeats, is refused.
    time_zone
        The zone in which instants, and declared values that say none, are read.

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
    rows_per_person: Annotated[int, Ge(1), Le(MOST_ROWS)] | None = None
    time_zone: str = UTC

    def __post_init__(self) -> None:
        check_time_zone(self.time_zone)
        if bool(self.person) != (self.rows_per_person is not None):
            raise ParameterError(
                "Whose rows they are (person) and how many rows of each person are kept (rows_per_person) must be said "
                "together: noise hides a person by as many rows as that, and each multiplies the odds. Got one of them."
            )

    @property
    def _rows(self) -> int:
        return self.rows_per_person or 1

    def count(self, rho: Rational, where: Where | None = None, label: str = "") -> Answer:
        """How many rows have these values; all rows where none are given."""
        where = where or {}
        with self._opened(where) as (engine, table):
            wanted = _wanted(engine, table, where)
            return ask_count(
                self.ledger, rho, lambda: engine.count_matching(table, wanted)[0], label, self.source, self._rows
            )

    def sum(self, rho: Rational, column: str, span: Span, where: Where | None = None, label: str = "") -> Answer:
        """The sum of a column, clipped to a public range; what is missing or no number counts as 0, clipped."""
        where = where or {}
        with self._opened((column, *where)) as (engine, table):
            wanted = _wanted(engine, table, where)
            return ask_sum(
                self.ledger,
                rho,
                lambda: _total(engine, table, column, span, wanted),
                span,
                label,
                self.source,
                self._rows,
                filtered=bool(where),
            )

    def mean(self, rho: Rational, column: str, span: Span, label: str = "") -> Answer:
        """The mean of a column over all rows, or one row of each person; their number is public."""
        if self._rows > 1:
            raise ParameterError(
                "A mean is over rows whose number is public; with several rows of a person it is not. Got "
                f"rows_per_person = {self._rows}. Ask for a sum and a count, or keep one row of each person."
            )
        with self._opened((column,)) as (engine, table):
            wanted = _wanted(engine, table, {})
            (rows,) = engine.count_matching(table, wanted)
            if not rows:
                raise TableError("The table has no rows; a mean needs one at least.")
            return ask_mean(
                self.ledger, rho, lambda: _total(engine, table, column, span, wanted), rows, span, label, self.source
            )

    def histogram(
        self, rho: Rational, column: str, values: Sequence[str | None], where: Where | None = None, label: str = ""
    ) -> Answer:
        """How many rows have each of the declared values of a column."""
        with self._counting(column, values, where or {}) as (declared, count):
            return ask_histogram(self.ledger, rho, declared, count, label, self.source, self._rows)

    def best_of(
        self, rho: Rational, column: str, values: Sequence[str | None], where: Where | None = None, label: str = ""
    ) -> Answer:
        """Which of the declared values of a column most rows have, by position."""
        with self._counting(column, values, where or {}) as (declared, count):
            return ask_best_of(self.ledger, rho, declared, count, 1, label, self.source, self._rows)

    @contextmanager
    def _counting(
        self, column: str, values: Sequence[str | None], where: Where
    ) -> Iterator[tuple[int, Callable[[], Sequence[int]]]]:
        """How many values are declared, and what counts the rows of each."""
        declared = _declared(values)
        _check_apart(column, where)
        with self._opened((column, *where)) as (engine, table):
            wanted = _wanted(engine, table, where, len(declared), column, declared)
            yield len(declared), lambda: engine.count_matching(table, wanted)

    @contextmanager
    def _opened(self, columns: Mapping[str, object] | Sequence[str]) -> Iterator[tuple[Engine, Relation]]:
        """The table in an engine, if it has the columns."""
        with open_engine(self.engine, self.data, time_zone=self.time_zone) as engine:
            is_path = isinstance(self.data, str | Path)
            source = Source(Path(self.data), csv=self.csv) if is_path else Source(frame=self.data, csv=self.csv)
            table = engine.read(source)
            require_columns(table, (*columns, *(self.person or ())))
            if self.person is None:
                _refuse_repeated(engine, table)
            yield engine, _few_rows(engine, table, self.person, self._rows) if self.person else table


def _refuse_repeated(engine: Engine, table: Relation) -> None:
    """Raise where a column is called like a key of people and repeats: a row is then no person."""
    keys = [place for place, name in enumerate(table.columns) if person_key(name)]
    for place, (rows, values) in zip(keys, engine.repeats(table, keys) if keys else (), strict=True):
        if values < rows:
            raise ParameterError(
                "Every row must be another person's, or it must be said whose rows they are. By its name, "
                f"{call_column(table.columns, place, table.named)} is a key of people, and {rows:,} rows have "
                f"{values:,} different values of it. Give it as person with rows_per_person (--person and "
                '--rows-per-person); or, if every row is a person, an empty list (--person "").'
            )


def _few_rows(engine: Engine, table: Relation, person: Sequence[str], most: int) -> Relation:
    """At most so many rows of each person; a row that names nobody is a person of its own."""
    import pyarrow as pa

    places = table.places(person)
    counted = engine.frequencies(table, places)
    number, _ = number_names(counted, places)
    named = pa.array(number >= 0)
    owners = counted.drop_columns(["n"]).append_column("g", pa.array(number)).filter(named)
    return engine.few_of_each(table, owners, most)


def _declared(values: Sequence[str | None]) -> tuple[str | None, ...]:
    if not values or isinstance(values, str):
        raise ParameterError(
            "The values of a histogram or a choice must be declared, each once. Got none. List them; do not take them "
            "from the data."
        )
    return tuple(values)


def _check_apart(column: str, where: Where) -> None:
    if column in where:
        raise ParameterError(
            f"A condition must be about other columns than the one whose values are counted. Got {column!r} in both. "
            f"Remove the condition; the values are given already."
        )


def _wanted(
    engine: Engine,
    table: Relation,
    where: Where,
    rows: int = 1,
    column: str = "",
    values: Sequence[str | None] = (),
) -> Declared:
    """What is looked for, in the types of the columns; each row of the table has one of it at most, or it is refused.

    The noise is for one row that counts once. 1, 1.0 and 1.00 are one number: as three values they would count a row
    three times, and their mean would tell more than was booked.
    """
    import pyarrow as pa

    listed = {name: [value] * rows for name, value in where.items()} | ({column: list(values)} if column else {})
    for name, texts in listed.items():
        if not all(text is None or _is_text(text) for text in texts):
            raise ParameterError(f"What is looked for in column {name!r} must be given as text (UTF-8), or as None.")
    # a table needs a column to have rows
    columns: dict[str, pa.Array] = {} if listed else {"every": pa.array([0] * rows)}
    columns |= {f"c{table.columns.index(name)}": pa.array(texts, pa.string()) for name, texts in listed.items()}
    wanted, understood = engine.declare(table, pa.table(columns))
    for name, texts in listed.items():
        place = table.columns.index(name)
        for text, value in zip(texts, understood.column(f"c{place}").to_pylist(), strict=True):
            if text is not None and not _is_value(text, value, table.types[place]):
                raise ParameterError(
                    f"Column {name!r} is of type {table.types[place]}; it must be compared with a value of that type. "
                    "Got a text that is none, or none exactly."
                )
    if understood.column("same").to_pylist() != list(range(rows)):
        raise ParameterError(
            "The values of a histogram or a choice must be declared, each once. Got a value twice, perhaps in two "
            f"spellings: values of column {column!r} are compared as {table.types[table.columns.index(column)]}. "
            "Leave one of them out."
        )
    return wanted


def _is_text(value: object) -> bool:
    """Whether it is text that can be written as UTF-8: arguments of a command line may hold any bytes."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_value(text: str, understood: str | None, kind: str) -> bool:
    """Whether a text is a value of a type, and none that the engine had to round: 1.5 is not the whole number 2."""
    if understood is None:
        return False
    if kind.endswith(("INT", "INTEGER")) or kind.startswith("DECIMAL"):
        try:
            return Decimal(text.strip()) == Decimal(understood)
        except ArithmeticError:
            return False
    return True


def _total(engine: Engine, table: Relation, column: str, span: Span, wanted: Declared) -> int:
    """The sum in steps of the span; the same as :meth:`Span.total`."""
    return engine.total(table, table.columns.index(column), float(1 / span.step), span.units, wanted)
