"""Small tables that are here already, counted without an engine: to open one takes longer than to count them.

Only where nothing depends on how an engine reads a value: text, whole numbers, dates, true and false. All else, and
whatever may have to be refused, is the engine's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from shoal.io.engines import sql
from shoal.io.engines.base import Relation, check_names
from shoal.io.engines.duckdb import as_cells, frame_to_arrow

__all__ = ["count_here", "frame_to_arrow"]

MOST_ROWS = 200_000
"""More rows than these an engine counts faster."""

_TEXT = (pa.string(), pa.large_string())


def count_here(table: pa.Table, names: Sequence[str]) -> tuple[Relation, pa.Table] | None:
    """A table, and its rows by some columns as :meth:`shoal.io.engines.base.Engine.frequencies` has them, each by itself.

    None where an engine has to be asked.
    """
    check_names(table.column_names, named=True)
    as_cells(table.schema, ())  # refuses what an engine would refuse
    if table.num_rows > MOST_ROWS or not set(names) <= set(table.column_names):
        return None
    counted = {}
    for name in names:
        column = _plain(table.column(name))
        if column is None:
            return None
        counted[sql.column(table.column_names.index(name))] = column
    counted["n"] = pa.chunked_array([np.ones(table.num_rows, np.int64)])
    kinds = tuple(str(part.type) for part in table.schema)
    return Relation("", tuple(table.column_names), kinds, named=True), pa.table(counted)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The values, each listed once, where every reader sees the same in them."""
    kind = column.type
    if pa.types.is_dictionary(kind) and kind.value_type in _TEXT:  # it may list values that no row has
        column = column.cast(kind.value_type)
    elif kind not in _TEXT and not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date32(kind)):
        return None
    encoded = column.dictionary_encode()
    try:
        for chunk in encoded.chunks:
            chunk.dictionary.validate(full=True)
    except pa.ArrowInvalid:  # bytes that are no text
        return None
    return encoded
