"""Workbooks: read by fastexcel, written by xlsxwriter.

Values alone are read: no formula, link or macro is followed or carried over.

Text is written as text, so that no cell of a release is a formula. Numbers, truth values and dates keep their kind;
what a workbook cannot hold exactly (large whole numbers, decimals, times) is written as text.
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

from shoal.errors import OutputError, TableError, counted
from shoal.io.formats import ColumnLabels, Options, Writing
from shoal.io.formats.numbers import LARGEST_EXACT, as_told, whole_numbers

__all__ = ["load", "write"]

MOST_ROWS = 1_048_575
MOST_COLUMNS = 16_384
LONGEST_CELL = 32_767
MOST_UNPACKED = 4 << 30
"""Bytes that the parts of a workbook may be together."""

MOST_GROWTH = 200
ALWAYS_ALLOWED = 256 << 20
"""How many times larger than the workbook they may be, above so many bytes; sheets become 5 to 30 times larger."""

BLOCK = 1 << 20
_CELLS = re.compile(rb"<(?:\w+:)?c[ >/]")
_BEYOND = re.compile(rb"""<(?:\w+:)?c\s[^<>]*?\br=["'](?:[A-Z]{4,}|X(?:F[E-Z]|[G-Z][A-Z])|[YZ][A-Z]{2})\d""")
"""The place of a cell that is beyond column XFD."""

_REPEATED = re.compile(rb"""number-columns-repeated=["'](\d+)""")
"""How many columns of an OpenDocument sheet have the same cell."""

FIRST_DAY = datetime.date(1900, 3, 1)
"""Before it workbooks count a day that never was."""

MADE = datetime.datetime(1980, 1, 1)
_PINNED = {"created": MADE}


def load(path: Path, options: Options) -> tuple[pa.Table, Mapping[str, ColumnLabels]]:
    """A sheet of a workbook; its first row names the columns."""
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
        raise TableError(
            f"Workbook {path.name!r} has {counted(len(sheets), 'sheet')}, and none that is {wanted!r}; set sheet to "
            f"the name of one, or to its number from 1."
        )
    dtypes = None if options.schema is None else [_kind(part.type) for part in options.schema]
    # types are told by all rows: those of a sample would turn what does not fit into missing values
    sheet = book.load_sheet(
        chosen, schema_sample_rows=None, dtypes=None if dtypes is None else dict(enumerate(dtypes)),
    )  # fmt: skip
    if sheet.width > MOST_COLUMNS:
        raise _too_wide(path)
    table = pa.Table.from_batches([pa.record_batch(sheet.to_arrow())])
    if options.schema is not None:
        return as_told(table, options.schema), {}
    return whole_numbers(_days(table)), {}


def _days(table: pa.Table) -> pa.Table:
    """Columns of times that are all midnight, as the dates that they are."""
    for place, part in enumerate(table.schema):
        column = table.column(place)
        if pa.types.is_timestamp(part.type) and part.type.tz is None and column.null_count < len(column):
            days = column.cast(pa.date32(), safe=False)
            if pc.all(pc.equal(days.cast(part.type), column)).as_py():
                table = table.set_column(place, part.name, days)
    return table


def _too_wide(path: Path) -> TableError:
    return TableError(
        f"A sheet of workbook {path.name!r} has cells beyond column {MOST_COLUMNS:,}, where sheets end. "
        f"It is damaged; save it anew."
    )


def _check_width(path: Path) -> None:
    """Refuse a workbook with rows of too many cells at once: its reader would name a million columns for an hour.

    Sheets that are written in another way than usual are not seen here, and meet the reader's limits.
    """
    try:
        with ZipFile(path) as archive:
            for name in archive.namelist():
                if (name.startswith("xl/worksheets/") and name.endswith(".xml")) or name == "content.xml":
                    with archive.open(name) as sheet:
                        if _is_too_wide(sheet):
                            raise _too_wide(path)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        return  # an old workbook, or a damaged one; its reader tells


def _is_too_wide(sheet: IO[bytes]) -> bool:
    """Whether a row of a sheet has more cells than there are columns, or one cell is beyond the last."""
    cells, rest = 0, b""
    while block := sheet.read(BLOCK):
        block = rest + block
        cut = block.rfind(b"<") + 1 or len(block)  # no mark is cut in two
        block, rest = block[: cut - 1], block[cut - 1 :]
        if len(rest) > BLOCK:
            return False  # no sheet that anybody would read
        if _BEYOND.search(block) or any(int(n[:9]) > MOST_COLUMNS for n in _REPEATED.findall(block)):
            return True
        first, *others = block.split(b"row>")
        cells += _count_cells(first)
        if cells > MOST_COLUMNS or any(len(row) > MOST_COLUMNS and _count_cells(row) > MOST_COLUMNS for row in others):
            return True
        cells = _count_cells(others[-1]) if others else cells
    return False


def _count_cells(text: bytes) -> int:
    return len(_CELLS.findall(text))


def _check_size(path: Path) -> None:
    """Refuse a workbook whose parts are said to be huge; what says less than it holds meets the reader's limit."""
    try:
        with ZipFile(path) as archive:
            listed = archive.infolist()
    except BadZipFile:
        return  # an old workbook, or none; its reader tells
    unpacked = sum(part.file_size for part in listed)
    if unpacked > MOST_UNPACKED:
        raise TableError(
            f"Workbook {path.name!r} would be larger than {MOST_UNPACKED >> 30} GiB when unpacked, as no sheet that "
            f"fits into its limits is. Save the table as CSV."
        )
    if unpacked > max(ALWAYS_ALLOWED, MOST_GROWTH * path.stat().st_size):
        raise TableError(
            f"Workbook {path.name!r} grows to more than {MOST_GROWTH} times its size when it is unpacked, as no table "
            f"does. Save it anew, or as CSV."
        )
    if not any(part.filename in ("xl/workbook.xml", "xl/workbook.bin", "content.xml") for part in listed):
        raise TableError(f"File {path.name!r} is a zip archive, and no workbook; unpack it first.")


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "float"
    return "date" if pa.types.is_date(kind) else "string"


def write(table: pa.Table, path: Path, writing: Writing) -> Options:
    """Write a workbook of one sheet; returns how it is read back."""
    import xlsxwriter

    if table.num_rows > MOST_ROWS or table.num_columns > MOST_COLUMNS:
        raise OutputError(
            f"A sheet of a workbook has room for {MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns; the release has "
            f"{table.num_rows:,} and {table.num_columns:,}. Write it as CSV or Parquet."
        )
    table = _holdable(table)
    with xlsxwriter.Workbook(str(path), {"constant_memory": True, "in_memory": False}) as book:
        book.set_properties(_PINNED)
        sheet = book.add_worksheet((writing.table or "release")[:31])
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for place, title in enumerate(table.column_names):
            sheet.write_string(0, place, title)
        writers = [_writer(sheet, part.type, day) for part in table.schema]
        row = 1
        for batch in table.to_batches(max_chunksize=1 << 14):
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for place, cell in enumerate(cells):
                    if cell is not None:
                        writers[place](row, place, cell)
                row += 1
    return Options(schema=table.schema)


def _writer(sheet: Any, kind: pa.DataType, day: Any) -> Callable[[int, int, Any], Any]:
    if pa.types.is_boolean(kind):
        return lambda row, place, cell: sheet.write_boolean(row, place, cell)
    if pa.types.is_date(kind):
        return lambda row, place, cell: sheet.write_datetime(row, place, cell, day)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return lambda row, place, cell: sheet.write_number(row, place, cell)
    return lambda row, place, cell: sheet.write_string(row, place, cell)


def _holdable(table: pa.Table) -> pa.Table:
    """Columns as a workbook can hold them without loss; the others as text."""
    columns = []
    for part, column in zip(table.schema, table.columns, strict=True):
        kind = part.type
        if pa.types.is_integer(kind):
            ends = pc.min_max(column).as_py()
            fits = ends["min"] is None or max(abs(ends["min"]), abs(ends["max"])) <= LARGEST_EXACT
        elif pa.types.is_floating(kind):
            fits = pc.all(pc.is_finite(column)).as_py() is not False
        elif pa.types.is_date(kind):
            first = pc.min(column).as_py()
            fits = first is None or first >= FIRST_DAY
        else:
            fits = pa.types.is_boolean(kind)
        columns.append(column if fits else column.cast(pa.string()))
        if not fits and (pc.max(pc.utf8_length(columns[-1])).as_py() or 0) > LONGEST_CELL:
            raise OutputError(
                f"Column {part.name!r} has texts of more than {LONGEST_CELL:,} characters, which no cell of a workbook "
                f"holds. Write the release as CSV or Parquet."
            )
    return pa.table(columns, names=table.column_names)
