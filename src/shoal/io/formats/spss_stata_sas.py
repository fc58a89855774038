"""Files of SPSS, Stata and SAS, by pyreadstat: values with their labels.

A code is read as a number, its meaning as a label. Codes that the survey declares as missing are missing, unless they
are to be kept. A column of numbers whose release publishes text (20..29) is written as codes 1, 2, ... with these texts
as labels. Only published columns keep their labels, and only labels of values that occur. The codebook of suppressed
rows is not published, and neither are the notes of a file, which may name people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import OutputError, TableError
from shoal.io.formats import ColumnLabels, Options, Writing
from shoal.io.formats.column_names import require_column_names
from shoal.io.formats.numbers import MAX_EXACT_INTEGER, cast_to_schema, whole_numbers

MAX_LABEL_BYTES = 120
"""Bytes of a value label that every program displays."""

LABELLED = (".sav", ".dta")
"""Formats that store labels of values in the file itself."""

PINNED = {
    ".sav": (re.compile(rb"(?s)(?<=^.{92})\d\d \w{3} \d\d\d\d:\d\d:\d\d"), b"01 Jan 8000:00:00"),
    ".dta": (re.compile(rb"\d\d \w{3} \d{4} \d\d:\d\d(?=</timestamp>)"), b"01 Jan 1980 00:00"),
    ".xpt": (re.compile(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d"), b"01JAN80:00:00:00"),
}
"""Positions of the creation time in files, and its replacement: the same release has the same bytes."""

HEADER_BYTES = 4096
RECORD_BYTES = 80


def load(path: Path, options: Options) -> tuple[pa.Table, Mapping[str, ColumnLabels]]:
    """Load the values of a file, and the labels of its columns."""
    import pyreadstat

    readers: dict[str, Callable[..., Any]] = {
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".dta": pyreadstat.read_dta,
        ".xpt": pyreadstat.read_xport,
        ".sas7bdat": pyreadstat.read_sas7bdat,
    }
    suffix = path.suffix.lower() if path.suffix.lower() in readers else _suffix_of(path)
    if suffix == ".xpt" and path.stat().st_size % RECORD_BYTES:  # the format does not store its number of rows
        raise TableError("files.sas-cut-off", file=path.name, bytes=RECORD_BYTES)
    given = {} if suffix == ".xpt" else {"user_missing": options.user_missing == "keep"}
    columns, about = readers[suffix](str(path), output_format="dict", **given)
    chosen = [name for name in options.with_missing_kinds if name in columns]
    if given and not given["user_missing"] and chosen:
        with_codes, _ = readers[suffix](str(path), output_format="dict", user_missing=True, usecols=chosen)
        columns |= with_codes
    table = pa.table({name: _column(values) for name, values in columns.items()})
    labels = {
        name: ColumnLabels(
            about.column_names_to_labels.get(name) or None,
            tuple((_code(code), text) for code, text in about.variable_value_labels.get(name, {}).items()),
        )
        for name in table.column_names
    }
    table = whole_numbers(_without_blanks(table))
    for position, name in enumerate(table.column_names):
        if name in options.decoded or (options.values == "labels" and labels[name].values):
            table = table.set_column(position, name, _decoded(table.column(position), labels[name]))
    if options.schema is not None:
        table = cast_to_schema(table, options.schema)
    return table, labels


def _suffix_of(path: Path) -> str:
    head = path.open("rb").read(16)
    return ".sav" if head[:3] == b"$FL" else ".dta" if head.startswith(b"<stata") else ".xpt"


def _column(values: Any) -> pa.Array:
    """Convert values to Arrow; to text if letters occur among numbers.

    Such letters (.a, .b) are kinds of missing values that are kept.
    """
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if _is_none(value) else _code(value) for value in values], pa.string())


def _is_none(value: Any) -> bool:
    return value is None or value != value


def _code(value: Any) -> str:
    """Return a code as text: 1, not 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _decoded(column: pa.ChunkedArray, labels: ColumnLabels) -> pa.ChunkedArray:
    meaning = dict(labels.values)
    coded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    texts = pa.array([meaning.get(code, code) for code in coded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([texts.take(coded.indices)])


def _without_blanks(table: pa.Table) -> pa.Table:
    """Replace empty texts by missing: these files have no missing text."""
    for position, part in enumerate(table.schema):
        if pa.types.is_string(part.type):
            column = table.column(position)
            table = table.set_column(
                position, part.name, pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            )
    return table


def write(table: pa.Table, path: Path, writing: Writing) -> Options:
    """Write a file; return the options to read it back."""
    import pandas as pd
    import pyreadstat

    suffix = path.suffix.lower()
    labels = writing.labels
    require_column_names(table.column_names, suffix)
    columns: dict[str, Any] = {}
    meanings: dict[str, dict[float, str]] = {}
    fields: list[pa.Field] = []
    decoded: list[str] = []
    for part, column in zip(table.schema, table.columns, strict=True):
        name, values = part.name, _holdable(column)
        _check_no_nul(name, values, suffix)
        fields.append(pa.field(name, values.type))
        if pa.types.is_string(values.type) and name in writing.coded and suffix in LABELLED:
            values, meanings[name] = _coded(values, name)
            decoded.append(name)
        elif name in labels and suffix in LABELLED and pa.types.is_integer(values.type):
            meanings[name] = _occurring(values, labels[name])
        columns[name] = _pandas(values)
    frame = pd.DataFrame(columns)
    sentences = {name: labels[name].label or "" for name in table.column_names if name in labels}
    writers: dict[str, Callable[..., Any]] = {
        ".sav": pyreadstat.write_sav,
        ".dta": pyreadstat.write_dta,
        ".xpt": pyreadstat.write_xport,
    }
    given: dict[str, Any] = {"column_labels": sentences}
    if suffix in LABELLED:
        given["variable_value_labels"] = {name: found for name, found in meanings.items() if found}
    writers[suffix](frame, str(path), **given)
    _pin_time(path, suffix)
    return Options(schema=pa.schema(fields), decoded=tuple(decoded))


def _check_no_nul(name: str, values: pa.ChunkedArray, suffix: str) -> None:
    """Raise if a text has a NUL character, at which these files end it."""
    if pa.types.is_string(values.type):
        cut = pc.sum(pc.match_substring(values, "\0")).as_py() or 0
        if cut:
            raise OutputError("output.text-with-nul", column=name, texts=cut, ending=suffix)


def _holdable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a column to a type of these files: exact floats, dates, text."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return column.cast(pa.int64())
    if pa.types.is_integer(kind):
        ends = pc.min_max(column).as_py()
        fits = ends["min"] is None or max(abs(ends["min"]), abs(ends["max"])) <= MAX_EXACT_INTEGER
        return column.cast(pa.int64() if fits else pa.string())
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    return column if pa.types.is_date(kind) else column.cast(pa.string())


def _natural(text: str) -> tuple[bool, float, str]:
    """Return the sort key of a label: its first number, and * last."""
    found = re.match(r"[^\d*-]*(-?\d+(?:\.\d+)?)", text)
    return (text == "*", float(found[1]) if found else float("inf"), text)


def _coded(values: pa.ChunkedArray, name: str) -> tuple[pa.ChunkedArray, dict[float, str]]:
    encoded = values.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    if any(len(text.encode()) > MAX_LABEL_BYTES for text in texts):
        raise OutputError("output.label-too-long", column=name, bytes=MAX_LABEL_BYTES)
    order = sorted(range(len(texts)), key=lambda position: _natural(texts[position]))
    code = [0] * len(texts)
    for number, position in enumerate(order, 1):
        code[position] = number
    codes = pa.chunked_array([pa.array(code, pa.int64()).take(encoded.indices)])
    return codes, {float(code[position]): texts[position] for position in order}


def _occurring(values: pa.ChunkedArray, labels: ColumnLabels) -> dict[float, str]:
    """Return the labels of codes that are published."""
    present = {str(code) for code in pc.unique(values).to_pylist() if code is not None}
    return {float(code): text for code, text in labels.values if code in present}


def _pandas(values: pa.ChunkedArray) -> Any:
    if pa.types.is_string(values.type):
        return pc.fill_null(values, "").to_pandas().astype(object)
    if pa.types.is_integer(values.type):
        return values.cast(pa.float64()).to_pandas()
    return values.to_pandas()


def _pin_time(path: Path, suffix: str) -> None:
    pattern, instead = PINNED[suffix]
    with path.open("r+b") as file:
        head = file.read(HEADER_BYTES)
        file.seek(0)
        file.write(pattern.sub(instead, head))
