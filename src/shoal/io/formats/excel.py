"""Workbooks: read by fastexcel, written by xlsxwriter.

Only values are read: no formula, link or macro is followed or copied.

Text is written as text, so that no cell of a release is a formula. Numbers, booleans and dates keep their types. Values
that a workbook cannot store exactly (large integers, decimals, times) are written as text.
"""

from __future__ import annotations

import datetime
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import OutputError, TableError
from shoal.formatting import number
from shoal.io.formats import ColumnLabels, Options, Writing
from shoal.io.formats.numbers import MAX_EXACT_INTEGER, cast_to_schema, whole_numbers

MAX_ROWS = 1_048_575
MAX_COLUMNS = 16_384
MAX_CELL_CHARACTERS = 32_767
MAX_UNPACKED_BYTES = 4 << 30
"""Maximum total size of the parts of a workbook."""

MAX_EXPANSION = 200
ALWAYS_ALLOWED_BYTES = 256 << 20
"""Unpacked size up to which the expansion is not limited; sheets expand 5 to 30 times."""

BLOCK_BYTES = 1 << 20
_CELLS = re.compile(rb"<(?:\w+:)?c[ >/]")
_CELL_BEYOND_LAST_COLUMN = re.compile(
    rb"""<(?:\w+:)?c\s[^<>]*?\br=["'](?:[A-Z]{4,}|X(?:F[E-Z]|[G-Z][A-Z])|[YZ][A-Z]{2})\d"""
)
"""The reference of a cell beyond column XFD."""

_REPEATED = re.compile(rb"""number-columns-repeated=["'](\d+)""")
"""Number of columns of an OpenDocument sheet with the same cell."""

FIRST_DAY = datetime.date(1900, 3, 1)
"""Before this date workbooks count a day that does not exist."""

_ERROR_PREFIX = "Expected string but got "
"""Text that fastexcel writes before the kind of an error."""

CREATED = datetime.datetime(1980, 1, 1)
_PINNED = {"created": CREATED}


def load(path: Path, options: Options) -> tuple[pa.Table, Mapping[str, ColumnLabels]]:
    """Load a sheet of a workbook; its first row names the columns."""
    import fastexcel

    _check_size(path)
    _check_width(path)
    book = fastexcel.read_excel(path)
    sheets = book.sheet_names
    wanted = 1 if options.sheet is None else options.sheet
    if isinstance(wanted, int) and wanted <= len(sheets):
        chosen: int | str = wanted - 1
    elif wanted in sheets:
        chosen = wanted
    else:
        raise TableError("files.sheet-not-found", file=path.name, sheets=len(sheets), found=wanted)
    dtypes = None if options.schema is None else [_kind(part.type) for part in options.schema]
    # infer types from all rows: with those of a sample, other values would become missing
    sheet = book.load_sheet(
        chosen, schema_sample_rows=None, dtypes=None if dtypes is None else dict(enumerate(dtypes)),
    )  # fmt: skip
    if sheet.width > MAX_COLUMNS:
        raise _too_wide(path)
    table = pa.Table.from_batches([pa.record_batch(sheet.to_arrow())])
    if options.schema is not None:
        return cast_to_schema(table, options.schema), {}
    return whole_numbers(_days(_with_kinds(table, book, chosen, options.with_missing_kinds))), {}


def _with_kinds(table: pa.Table, book: Any, chosen: int | str, names: tuple[str, ...]) -> pa.Table:
    """Convert columns to text if a type would merge kinds of their cells.

    These are booleans among numbers, and errors (#N/A, #REF!), which are missing otherwise.
    """
    positions = [position for position, name in enumerate(table.column_names) if name in names]
    if not positions:
        return table
    batch, found = book.load_sheet(chosen, schema_sample_rows=None, dtypes="string").to_arrow_with_errors()
    errors: dict[int, dict[int, str]] = {}
    for error in [] if found is None else found.errors:
        row, position = error.offset_position
        errors.setdefault(position, {})[row] = f"#{error.detail.removeprefix(_ERROR_PREFIX)}"
    for position in positions:
        column, texts = table.column(position), pa.array(batch.column(position)).cast(pa.string())
        numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        mixed = numeric and pc.any(pc.is_in(texts, pa.array(["true", "false"]))).as_py()
        wrong = errors.get(position, {})
        if wrong:
            cells = texts.to_pylist()
            for row, text in wrong.items():
                cells[row] = text
            texts = pa.array(cells, pa.string())
        if wrong or mixed:
            table = table.set_column(position, table.column_names[position], pa.chunked_array([texts]))
    return table


def _days(table: pa.Table) -> pa.Table:
    """Convert columns of times that are all midnight to dates."""
    for position, part in enumerate(table.schema):
        column = table.column(position)
        if pa.types.is_timestamp(part.type) and part.type.tz is None and column.null_count < len(column):
            days = column.cast(pa.date32(), safe=False)
            if pc.all(pc.equal(days.cast(part.type), column)).as_py():
                table = table.set_column(position, part.name, days)
    return table


def _too_wide(path: Path) -> TableError:
    return TableError(
        f"A sheet of workbook {path.name!r} has cells beyond column {number(MAX_COLUMNS)}, where sheets end. "
        f"It is damaged; save it anew."
    )


def _check_width(path: Path) -> None:
    """Raise if a workbook has rows with too many cells.

    Its reader would spend an hour on naming a million columns. Sheets that are written in an unusual way are not
    detected here, and meet the reader's limits.
    """
    try:
        with ZipFile(path) as archive:
            for name in archive.namelist():
                if (name.startswith("xl/worksheets/") and name.endswith(".xml")) or name == "content.xml":
                    with archive.open(name) as sheet:
                        if _is_too_wide(sheet):
                            raise _too_wide(path)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        return  # an old or a damaged workbook; its reader raises


def _is_too_wide(sheet: IO[bytes]) -> bool:
    """Return whether a row has too many cells, or a cell is too far right."""
    cells, rest = 0, b""
    while block := sheet.read(BLOCK_BYTES):
        block = rest + block
        cut = block.rfind(b"<") + 1 or len(block)  # split between tags
        block, rest = block[: cut - 1], block[cut - 1 :]
        if len(rest) > BLOCK_BYTES:
            return False  # not a sheet
        if _CELL_BEYOND_LAST_COLUMN.search(block) or any(int(n[:9]) > MAX_COLUMNS for n in _REPEATED.findall(block)):
            return True
        first, *others = block.split(b"row>")
        cells += _count_cells(first)
        if cells > MAX_COLUMNS or any(len(row) > MAX_COLUMNS and _count_cells(row) > MAX_COLUMNS for row in others):
            return True
        cells = _count_cells(others[-1]) if others else cells
    return False


def _count_cells(text: bytes) -> int:
    return len(_CELLS.findall(text))


def _check_size(path: Path) -> None:
    """Raise if the parts of a workbook declare a huge size.

    A part that declares less than it contains meets the reader's limit.
    """
    try:
        with ZipFile(path) as archive:
            listed = archive.infolist()
    except BadZipFile:
        return  # an old workbook, or none; its reader raises
    unpacked = sum(part.file_size for part in listed)
    if unpacked > MAX_UNPACKED_BYTES:
        raise TableError("files.workbook-too-large", file=path.name, gigabytes=MAX_UNPACKED_BYTES >> 30)
    if unpacked > max(ALWAYS_ALLOWED_BYTES, MAX_EXPANSION * path.stat().st_size):
        raise TableError("files.workbook-unpacks-too-large", file=path.name, most=MAX_EXPANSION)
    if not any(part.filename in ("xl/workbook.xml", "xl/workbook.bin", "content.xml") for part in listed):
        raise TableError("files.zip-not-workbook", file=path.name)


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "float"
    return "date" if pa.types.is_date(kind) else "string"


def write(table: pa.Table, path: Path, writing: Writing) -> Options:
    """Write a workbook of one sheet; return the options to read it back."""
    import xlsxwriter

    if table.num_rows > MAX_ROWS or table.num_columns > MAX_COLUMNS:
        raise OutputError(
            "output.too-large-for-sheet",
            most_rows=MAX_ROWS,
            most_columns=MAX_COLUMNS,
            rows=table.num_rows,
            columns=table.num_columns,
        )
    table = _holdable(table)
    with xlsxwriter.Workbook(str(path), {"constant_memory": True, "in_memory": False}) as book:
        book.set_properties(_PINNED)
        sheet = book.add_worksheet((writing.table or "release")[:31])
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for position, title in enumerate(table.column_names):
            sheet.write_string(0, position, title)
        writers = [_writer(sheet, part.type, day) for part in table.schema]
        row = 1
        for batch in table.to_batches(max_chunksize=1 << 14):
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for position, cell in enumerate(cells):
                    if cell is not None:
                        writers[position](row, position, cell)
                row += 1
    return Options(schema=table.schema)


def _writer(sheet: Any, kind: pa.DataType, day: Any) -> Callable[[int, int, Any], Any]:
    if pa.types.is_boolean(kind):
        return lambda row, position, cell: sheet.write_boolean(row, position, cell)
    if pa.types.is_date(kind):
        return lambda row, position, cell: sheet.write_datetime(row, position, cell, day)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return lambda row, position, cell: sheet.write_number(row, position, cell)
    return lambda row, position, cell: sheet.write_string(row, position, cell)


def _holdable(table: pa.Table) -> pa.Table:
    """Convert columns that a workbook cannot store without loss to text."""
    columns = []
    for part, column in zip(table.schema, table.columns, strict=True):
        kind = part.type
        if pa.types.is_integer(kind):
            ends = pc.min_max(column).as_py()
            fits = ends["min"] is None or max(abs(ends["min"]), abs(ends["max"])) <= MAX_EXACT_INTEGER
        elif pa.types.is_floating(kind):
            fits = pc.all(pc.is_finite(column)).as_py() is not False
        elif pa.types.is_date(kind):
            first = pc.min(column).as_py()
            fits = first is None or first >= FIRST_DAY
        else:
            fits = pa.types.is_boolean(kind)
        columns.append(column if fits else column.cast(pa.string()))
        if not fits and (pc.max(pc.utf8_length(columns[-1])).as_py() or 0) > MAX_CELL_CHARACTERS:
            raise OutputError("output.text-too-long-for-sheet", column=part.name, characters=MAX_CELL_CHARACTERS)
    return pa.table(columns, names=table.column_names)
