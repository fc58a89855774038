"""Tab-separated text with types in its header.

The first line is `#typed-tsv 1`. Lines with the names and the types of the columns follow, then one line per row, and
at the end `#rows` and their number, so that a truncated file is recognized. A backslash escapes itself, tabs (`\\t`),
line feeds (`\\n`) and carriage returns (`\\r`); `\\N` is a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import TableError
from shoal.plugins import ColumnLabels, Options, Writing, cast_to_schema

FIRST_LINE = "#typed-tsv 1"
MISSING = "\\N"
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
CHARACTERS = {escape[1]: character for character, escape in ESCAPES.items()}


def load(path: Path, options: Options) -> tuple[pa.Table, Mapping[str, ColumnLabels]]:
    """Read a table."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise TableError("a typed-tsv file must be UTF-8 text; the file is damaged or of another format") from None
    lines = text.split("\n")
    if len(lines) < 5 or lines[0] != FIRST_LINE or lines[-1] != "":
        raise TableError("a typed-tsv file must have three header lines and a last line with its number of rows")
    names, types, rows, last = lines[1].split("\t"), lines[2].split("\t"), lines[3:-2], lines[-2]
    if last != f"#rows {len(rows)}":
        raise TableError(f"the last line of a typed-tsv file must state its {len(rows)} rows; the file may be cut off")
    if len(names) != len(types):
        raise TableError(f"a typed-tsv file must state a type for each of its {len(names)} columns, not {len(types)}")
    cells = [line.split("\t") for line in rows]
    for number, row in enumerate(cells, start=1):
        if len(row) != len(names):
            raise TableError(f"row {number} of a typed-tsv file must have {len(names)} cells, not {len(row)}")
    columns = []
    for position, name in enumerate(types):
        values = [_unescape(row[position]) for row in cells]
        columns.append(_from_text(pa.array(values, pa.string()), _parse_type(name), position))
    table = pa.Table.from_arrays(columns, names=[_unescape(name) or "" for name in names])
    return (table if options.schema is None else cast_to_schema(table, options.schema)), {}


def write(table: pa.Table, path: Path, writing: Writing) -> Options:
    """Write a table, and return the options to read it back."""
    if table.num_columns == 0:
        raise TableError("typed-tsv needs at least one column; found none")
    columns = []
    types = []
    for position, field in enumerate(table.schema):
        column = table.column(position).combine_chunks()
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        types.append(str(column.type))
        _parse_type(types[-1])
        columns.append([MISSING if text is None else _escape(text) for text in _to_text(column).to_pylist()])
    lines = [FIRST_LINE, "\t".join(map(_escape, table.column_names)), "\t".join(types)]
    lines += ["\t".join(row) for row in zip(*columns, strict=True)]
    lines.append(f"#rows {table.num_rows}")
    Path(path).write_bytes(("\n".join(lines) + "\n").encode("utf-8"))
    return Options(schema=table.schema)


def _escape(text: str) -> str:
    return re.sub(r"[\\\t\n\r]", lambda match: ESCAPES[match[0]], text)


def _unescape(text: str) -> str | None:
    if text == MISSING:
        return None
    if "\\" not in text:
        return text
    if not re.fullmatch(r"(?:[^\\]|\\[\\tnr])*", text):
        raise TableError("a backslash in a typed-tsv file must begin one of the escapes of the format")
    return re.sub(r"\\(.)", lambda match: CHARACTERS[match[1]], text)


def _parse_type(name: str) -> pa.DataType:
    """Return the type of a name such as `int64` or `decimal128(9, 2)`."""
    if match := re.fullmatch(r"timestamp\[(s|ms|us|ns), tz=([\w/+:-]+)\]", name):
        return pa.timestamp(match[1], tz=match[2])
    try:
        if match := re.fullmatch(r"decimal128\((\d{1,2}), (-?\d{1,2})\)", name):
            return pa.decimal128(int(match[1]), int(match[2]))
        return pa.type_for_alias(name)
    except ValueError:
        raise TableError("typed-tsv has no such column type; try text, numbers, truth values, dates or times") from None


def _text_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that represents values of a type as text.

    A time of day or a duration is written as a whole number, and a point in time as that of UTC.
    """
    if pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_time64(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit)
    return kind


def _to_text(column: pa.Array) -> pa.Array:
    try:
        return column.cast(_text_type(column.type)).cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TableError("typed-tsv holds only values that can be written as UTF-8 text") from None


def _from_text(texts: pa.Array, kind: pa.DataType, position: int) -> pa.Array:
    try:
        if pa.types.is_null(kind) and texts.null_count == len(texts):
            return pa.nulls(len(texts))
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            return pc.call_function(
                "assume_timezone", [texts.cast(_text_type(kind))], pc.AssumeTimezoneOptions("UTC")
            ).cast(kind)
        return texts.cast(_text_type(kind)).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise TableError(f"a value of column {position + 1} of a typed-tsv file is not of the declared type") from None
