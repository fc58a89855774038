"""Integers in formats that have only floats, and casts to a schema."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import TableError

MAX_EXACT_INTEGER = 2**53 - 1
"""The largest integer that a float distinguishes from its neighbours."""


def whole_numbers(table: pa.Table) -> pa.Table:
    """Convert columns of floats with only whole values to integers.

    31 is then written as 31, not as 31.0.
    """
    for position, part in enumerate(table.schema):
        if not pa.types.is_floating(part.type):
            continue
        column = table.column(position)
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, part.type), column)
        ends = pc.min_max(pc.abs(column)).as_py()["max"]
        if ends is not None and ends <= MAX_EXACT_INTEGER and pc.all(pc.equal(pc.floor(column), column)).as_py():
            table = table.set_column(position, part.name, column.cast(pa.int64()))
    return table


def cast_to_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast a table that was read back to the types it was written from."""
    if table.num_columns != len(schema):
        raise TableError("verification.columns-differ-on-reading")
    columns = [column.cast(part.type) for column, part in zip(table.columns, schema, strict=True)]
    return pa.table(columns, schema=pa.schema([pa.field(part.name, part.type) for part in schema]))
