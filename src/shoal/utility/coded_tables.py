"""Columns of tables as integer codes, row by row.

Some measures need rows rather than combinations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError, TableError
from shoal.io.engines import open_engine
from shoal.io.engines.base import UTC, Engine, EngineSettings, Relation, Source, require_columns
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema.spelling import canonical

if TYPE_CHECKING:
    import pyarrow as pa


def source_of(data: Any, form: CsvFormat | None = None) -> Source:
    """Return a path (CSV or Parquet) or an object in memory as a source."""
    if isinstance(data, Source):
        return data
    form = form or CsvFormat()
    return Source(Path(data), csv=form) if isinstance(data, str | Path) else Source(frame=data, csv=form)


@dataclass(frozen=True)
class CodedColumn:
    """Column as distinct values and the code of each row.

    Values are text in the order of the frequency set; None is missing and comes last.

    Attributes
    ----------
    code
        int32 (rows,): index into ``values``.
    """

    name: str
    values: tuple[str | None, ...]
    code: npt.NDArray[np.int32]

    @property
    def count(self) -> npt.NDArray[np.int64]:
        """Number of occurrences of each value."""
        return np.bincount(self.code, minlength=len(self.values))


@dataclass(frozen=True)
class TableReader:
    """Reader of tables with one engine and one CSV dialect.

    A table is a path (CSV or Parquet), an object in memory, or a source, which has its own dialect.
    """

    engine: Engine
    form: CsvFormat | None = None

    def read(self, data: Any) -> Relation:
        """Read a table into the engine."""
        return self.engine.read(source_of(data, self.form))

    def names(self, data: Any) -> tuple[str, ...]:
        """Return the names of a table's columns."""
        return self.read(data).columns

    def arrow(self, data: Any) -> pa.Table:
        """Return a whole table as a PyArrow table, rows in source order."""
        table = self.read(data)
        return self.engine.rows(table, range(len(table.columns))).rename_columns(list(table.columns))

    def rows(self, data: Any, names: Sequence[str]) -> tuple[CodedColumn, ...]:
        """Return some columns of a table as codes, rows in source order.

        Memory: 4 bytes for each cell. Text has the canonical form in which quasi-identifiers are published, so that the
        values of an original are found in its release.
        """
        from shoal.table.frequency_set import encode_column

        table = self.read(data)
        require_columns(table, names)
        positions = table.positions(names)
        rows = self.engine.rows(table, positions)
        if not rows.num_rows:
            raise TableError("table.no-rows")
        columns = []
        for name, position in zip(names, positions, strict=True):
            dictionary, code = encode_column(as_published(rows.column(f"c{position}")), name, position)
            columns.append(CodedColumn(name, (*dictionary.text, *((None,) if dictionary.missing else ())), code))
        return tuple(columns)

    def require_numbered(self) -> None:
        """Raise where the rows of the engine have no order, and so no numbers."""
        if not self.engine.rows_are_numbered:
            raise PlanError("compare.spark-rows-not-numbered")


@contextmanager
def open_tables(settings: EngineSettings | None, *tables: Any, form: CsvFormat | None = None) -> Iterator[TableReader]:
    """Open an engine for tables.

    Instants are read in the time zone of the first source, in all tables.
    """
    zone = next((table.time_zone for table in tables if isinstance(table, Source)), UTC)
    with open_engine(settings, *tables, time_zone=zone) as engine:
        yield TableReader(engine, form)


def as_published(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text in canonical form; other values stay unchanged.

    See :func:`shoal.schema.spelling.canonical`.
    """
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    coded = column.combine_chunks().dictionary_encode()
    texts = coded.dictionary.to_pylist()
    published = [canonical(text) for text in texts]
    return column if published == texts else pa.chunked_array([pa.array(published, pa.string()).take(coded.indices)])
