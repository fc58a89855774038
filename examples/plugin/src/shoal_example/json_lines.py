"""JSON, one object per line: the table's columns by name, in every line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from shoal.errors import TableError
from shoal.io.formats import ColumnLabels, Options, Writing
from shoal.io.formats.numbers import as_told

__all__ = ["load", "write"]


def load(path: Path, options: Options) -> tuple[pa.Table, Mapping[str, ColumnLabels]]:
    """The objects of a file; shoal runs this in a process of its own, whose memory is limited."""
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        raise TableError(f"File {path.name!r} is cut off: its last line has no end.")
    rows = [json.loads(line) for line in text.splitlines()]
    if any(list(row) != list(rows[0]) for row in rows):
        raise TableError(f"Every line of {path.name!r} must have the same names in the same order.")
    table = pa.Table.from_pylist(rows)
    return (table if options.schema is None else as_told(table, options.schema)), {}


def write(table: pa.Table, path: Path, writing: Writing) -> Options:
    """Write a table; returns how it is read back, to be verified."""
    held = {pa.bool_(), pa.int64(), pa.float64(), pa.string()}
    plain = pa.table({part.name: column if part.type in held else column.cast(pa.string())
                      for part, column in zip(table.schema, table.columns, strict=True)})  # fmt: skip
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in plain.to_batches(max_chunksize=1 << 14):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
    return Options(schema=plain.schema)
