"""Counts of small tables in memory without an engine.

Opening an engine takes longer than counting them. This is done only if no value depends on how an engine reads it:
text, integers, dates and booleans. All other tables, and tables that may have to be refused, go to the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from shoal.io.engines import sql
from shoal.io.engines.base import Relation, check_names
from shoal.io.engines.duckdb import as_cells
from shoal.io.engines.duckdb import frame_to_arrow as frame_to_arrow

MAX_ROWS = 200_000
"""Above this number of rows an engine counts faster."""

_TEXT = (pa.string(), pa.large_string())


def count_in_memory(table: pa.Table, names: Sequence[str]) -> tuple[Relation, pa.Table] | None:
    """Return a table and its rows by some columns, each with count 1.

    The rows are as :meth:`shoal.io.engines.base.Engine.frequencies` returns them. Returns None if an engine is needed.
    """
    check_names(table.column_names, named=True)
    as_cells(table.schema, ())  # raises where an engine would
    if table.num_rows > MAX_ROWS or not set(names) <= set(table.column_names):
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
    """Encode a column as a dictionary if all readers read it equally."""
    kind = column.type
    if pa.types.is_dictionary(kind) and kind.value_type in _TEXT:  # the dictionary may list values that no row has
        column = column.cast(kind.value_type)
    elif kind not in _TEXT and not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date32(kind)):
        return None
    encoded = column.dictionary_encode()
    try:
        for chunk in encoded.chunks:
            chunk.dictionary.validate(full=True)
    except pa.ArrowInvalid:  # invalid UTF-8
        return None
    return encoded
