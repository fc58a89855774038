"""Conversion of tables in memory: from and to the user's type."""

from __future__ import annotations

from typing import Any

from shoal.io.engines import runs_on_spark
from shoal.io.engines.base import EngineSettings


def as_arrow(frame: Any) -> Any:
    """Convert a frame to an Arrow table, to be read by several steps.

    A Spark frame stays as it is: its rows are on other machines, and it does not change.
    """
    if runs_on_spark(EngineSettings(), frame):
        return frame
    from shoal.io.engines.duckdb import frame_to_arrow

    return frame_to_arrow(frame)


def convert_like(table: Any, frame: Any) -> Any:
    """Convert an Arrow table to the type of the user's table.

    pandas would convert whole numbers with gaps to floating point, in which large ones are no longer exact. They get
    its nullable types.
    """
    import pyarrow as pa

    if isinstance(frame, pa.Table) or type(table) is type(frame):
        return table
    import duckdb

    if isinstance(frame, duckdb.DuckDBPyRelation):
        table_of_release = table  # noqa: F841
        # DuckDB finds the local variable by name, on the connection of the user's relation
        return frame.query("shoal_source", "SELECT * FROM table_of_release")
    import narwhals as nw

    native = nw.from_native(frame)
    result = nw.from_arrow(table, backend=native.implementation)
    if native.implementation.is_pandas():
        converted = result.to_native()
        for part in table.schema:
            column = table.column(part.name)
            if pa.types.is_integer(part.type) and column.null_count:
                converted[part.name] = column.to_pandas(types_mapper=_nullable_type)
        return converted
    return result.lazy().to_native() if isinstance(native, nw.LazyFrame) else result.to_native()


def _nullable_type(kind: Any) -> Any:
    """Return the pandas type of whole numbers with gaps: UInt8 for uint8."""
    import pandas as pd

    return pd.api.types.pandas_dtype(str(kind).replace("int", "Int").replace("u", "U"))


def drop_columns(frame: Any, columns: tuple[str, ...]) -> Any:
    """Drop columns of a frame of the engine or of the user."""
    if not columns:
        return frame
    import duckdb
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame.drop_columns(list(columns))
    if isinstance(frame, duckdb.DuckDBPyRelation):
        return frame.select(*(duckdb.ColumnExpression(name) for name in frame.columns if name not in columns))
    import narwhals as nw

    wrapped = nw.from_native(frame)
    return frame.drop(*columns) if wrapped.implementation.is_spark_like() else wrapped.drop(columns).to_native()
