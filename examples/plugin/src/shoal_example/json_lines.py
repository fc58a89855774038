"""JSON lines: one object per line, with the table's columns by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from shoal.errors import TableError
from shoal.plugins import ColumnLabels, Options, Writing, cast_to_schema


def load(path: Path, options: Options) -> tuple[pa.Table, Mapping[str, ColumnLabels]]:
    """Load a table from a file.

    shoal runs this in a separate process with limited memory.
    """
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        raise TableError(f"File {path.name!r} is cut off: its last line has no end.")
    rows = [json.loads(line) for line in text.splitlines()]
    if any(list(row) != list(rows[0]) for row in rows):
        raise TableError(f"Every line of {path.name!r} must have the same names in the same order.")
    table = pa.Table.from_pylist(rows)
    return (table if options.schema is None else cast_to_schema(table, options.schema)), {}


def write(table: pa.Table, path: Path, writing: Writing) -> Options:
    """Write a table; return the options with which it is read back."""
    plain_types = {pa.bool_(), pa.int64(), pa.float64(), pa.string()}
    plain = pa.table({part.name: column if part.type in plain_types else column.cast(pa.string())
                      for part, column in zip(table.schema, table.columns, strict=True)})  # fmt: skip
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in plain.to_batches(max_chunksize=1 << 14):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
    return Options(schema=plain.schema)
