"""Numbers from files that know no whole ones, and tables read back as what they were written from."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import TableError

__all__ = ["LARGEST_EXACT", "as_told", "whole_numbers"]

LARGEST_EXACT = 2**53 - 1
"""The largest whole number that a float tells from its neighbours."""


def whole_numbers(table: pa.Table) -> pa.Table:
    """Columns of floats in which all values are whole, as whole numbers: 31, not 31.0."""
    for place, part in enumerate(table.schema):
        if not pa.types.is_floating(part.type):
            continue
        column = table.column(place)
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, part.type), column)
        ends = pc.min_max(pc.abs(column)).as_py()["max"]
        if ends is not None and ends <= LARGEST_EXACT and pc.all(pc.equal(pc.floor(column), column)).as_py():
            table = table.set_column(place, part.name, column.cast(pa.int64()))
    return table


def as_told(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table that was read back, in the types that it was written from."""
    if table.num_columns != len(schema):
        raise TableError("What was written has another number of columns when it is read back.")
    columns = [column.cast(part.type) for column, part in zip(table.columns, schema, strict=True)]
    return pa.table(columns, schema=pa.schema([pa.field(part.name, part.type) for part in schema]))
