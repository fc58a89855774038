"""Columns of a table as integer codes, row by row, for measures that need rows rather than combinations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError, TableError
from shoal.io.engines import open_engine
from shoal.io.engines.base import UTC, Engine, EngineSettings, Relation, Source, require_columns
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.schema.spelling import canonical

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CodedColumn", "Tables", "open_tables", "source_of"]


def source_of(data: Any, form: CsvFormat | None = None) -> Source:
    """A path (CSV or Parquet) or an object in memory as a source."""
    if isinstance(data, Source):
        return data
    form = form or CsvFormat()
    return Source(Path(data), csv=form) if isinstance(data, str | Path) else Source(frame=data, csv=form)


@dataclass(frozen=True)
class CodedColumn:
    """A column: distinct values as text (None: missing, last) in the frequency set's order, and each row's code.

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
        """How often each value occurs."""
        return np.bincount(self.code, minlength=len(self.values))


@dataclass(frozen=True)
class Tables:
    """Tables that are read by one engine, their CSV files written in one way.

    A table is a path (CSV or Parquet), an object in memory, or a source, which says itself how it is written.
    """

    engine: Engine
    form: CsvFormat | None = None

    def read(self, data: Any) -> Relation:
        """A table inside the engine."""
        return self.engine.read(source_of(data, self.form))

    def names(self, data: Any) -> tuple[str, ...]:
        """The names of a table's columns."""
        return self.read(data).columns

    def arrow(self, data: Any) -> pa.Table:
        """A whole table as a PyArrow table, its rows in the order of the source."""
        table = self.read(data)
        return self.engine.rows(table, range(len(table.columns))).rename_columns(list(table.columns))

    def rows(self, data: Any, names: Sequence[str]) -> tuple[CodedColumn, ...]:
        """Some columns of a table, its rows in the order of the source. Memory: 4 bytes for each cell.

        Text is in the form in which quasi-identifiers are published, so that an original is found in its release.
        """
        from shoal.table.frequency_set import encode_column

        table = self.read(data)
        require_columns(table, names)
        places = table.places(names)
        rows = self.engine.rows(table, places)
        if not rows.num_rows:
            raise TableError("The table has no rows; at least one is needed.")
        columns = []
        for name, place in zip(names, places, strict=True):
            dictionary, code = encode_column(_as_published(rows.column(f"c{place}")), name, place)
            columns.append(CodedColumn(name, (*dictionary.text, *((None,) if dictionary.missing else ())), code))
        return tuple(columns)

    def require_numbered(self) -> None:
        """Raise where the engine's rows have no order, so that none can be told by its number."""
        if not self.engine.numbered:
            raise PlanError(
                "Tables are aligned by the numbers of their rows, which those on Spark do not have. Leave aligned out, "
                "or use the engine duckdb."
            )


@contextmanager
def open_tables(settings: EngineSettings | None, *tables: Any, form: CsvFormat | None = None) -> Iterator[Tables]:
    """Tables in the engine that is for them; instants are read in the zone of the first source, as in all of them."""
    zone = next((table.time_zone for table in tables if isinstance(table, Source)), UTC)
    with open_engine(settings, *tables, time_zone=zone) as engine:
        yield Tables(engine, form)


def _as_published(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text in canonical form (:func:`shoal.schema.spelling.canonical`); other values as they are."""
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    coded = column.combine_chunks().dictionary_encode()
    texts = coded.dictionary.to_pylist()
    shown = [canonical(text) for text in texts]
    return column if shown == texts else pa.chunked_array([pa.array(shown, pa.string()).take(coded.indices)])
