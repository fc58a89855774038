"""Read written workbooks, survey files and databases again.

Nothing of :mod:`shoal.io` is used. A workbook is read by Python's XML parser, SQLite by Python's sqlite3 module, a
DuckDB file by a connection of its own, and files of SPSS, Stata and SAS by pyreadstat, which also wrote them. Types are
those of the file: a column with values of several kinds is refused. Numbers of formats that have only floating-point
numbers are whole numbers if all of a column are.
"""

from __future__ import annotations

import datetime
import itertools
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote
from zipfile import BadZipFile, ZipFile

from shoal.errors import VerificationError

if TYPE_CHECKING:
    import pyarrow as pa

XML, PYREADSTAT, SQLITE, DUCKDB = "Python's XML parser", "pyreadstat", "Python's sqlite3 module", "DuckDB"
"""Readers of these formats."""

MAX_EXACT_NUMBER = 2**53
FIRST_DAY = datetime.date(1899, 12, 30)
"""Day 0 of a workbook, for dates from March 1900."""

DATE_FORMATS = range(14, 23)
"""Numbers of the built-in formats of dates in a workbook."""

ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
"""A character that XML does not have, in a text of a workbook."""

SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
TABLES_OF_DUCKDB = "SELECT table_schema, table_name FROM information_schema.tables"
TABLES_OF_SQLITE = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
DUCKDB_CONFIG: dict[str, Any] = {"autoinstall_known_extensions": False, "enable_external_access": False}


class UnreadableError(Exception):
    """Raised for a file that is not what the writer should have written."""


@dataclass(frozen=True)
class FormatReader:
    """Reader of a format: its name, and the function that reads a table.

    The function gets the path and the columns whose codes stand for their labels.
    """

    name: str
    read: Callable[[Path, Sequence[str]], pa.Table]


def read_other_format(reader: FormatReader, path: Path, labelled: Sequence[str]) -> pa.Table:
    """Read all rows of a written file; messages of libraries may quote data."""
    try:
        return reader.read(path, labelled)
    except MemoryError:
        raise
    except Exception:
        raise VerificationError("verification.not-readable-again", reader=reader.name) from None


# -- workbooks ---------------------------------------------------------------------------------------------------------


def _read_workbook(path: Path, labelled: Sequence[str]) -> pa.Table:
    """Read the only sheet of a workbook; its first row has the names."""
    import pyarrow as pa

    try:
        archive = ZipFile(path)
    except BadZipFile:
        raise UnreadableError from None
    with archive:
        sheets = [name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
        if len(sheets) != 1:
            raise UnreadableError
        date_styles = _date_styles(archive)
        shared = _shared_texts(archive)
        with archive.open(sheets[0]) as sheet:
            rows = _sheet_rows(sheet, date_styles, shared)
            _, header = next(rows, (0, {}))
            columns: list[list[Any]] = [[] for _ in header]
            last = 1
            for number, cells in rows:
                if number <= last or max(cells, default=0) >= len(columns):
                    raise UnreadableError
                for position, column in enumerate(columns):
                    column.extend(itertools.repeat(None, number - last - 1))  # rows without cells
                    column.append(cells.get(position))
                last = number
    if sorted(header) != list(range(len(header))) or any(type(name) is not str for name in header.values()):
        raise UnreadableError
    return pa.table([_column(cells) for cells in columns], [header[position] for position in range(len(header))])


def _elements(file: IO[bytes], name: str) -> Iterator[Any]:
    """Yield the elements of a name, one at a time."""
    from xml.etree.ElementTree import iterparse

    for _, element in iterparse(file, ("end",)):
        if element.tag == SPREADSHEET + name:
            yield element
            element.clear()


def _date_styles(archive: ZipFile) -> set[str]:
    """Return the styles of dates, which are stored as numbers."""
    with archive.open("xl/styles.xml") as file:
        (whole,) = _whole(file, "styleSheet")
    dates = {str(number) for number in DATE_FORMATS}
    for entry in whole.iter(SPREADSHEET + "numFmt"):
        if re.search("[dy]", entry.get("formatCode", "")):
            dates.add(entry.get("numFmtId", ""))
    styles = whole.find(SPREADSHEET + "cellXfs")
    entries = [] if styles is None else list(styles)
    return {str(number) for number, entry in enumerate(entries) if entry.get("numFmtId") in dates}


def _whole(file: IO[bytes], name: str) -> list[Any]:
    from xml.etree.ElementTree import parse

    root = parse(file).getroot()
    return [root] if root.tag == SPREADSHEET + name else []


def _shared_texts(archive: ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    with archive.open("xl/sharedStrings.xml") as file:
        return [_text_of(entry) for entry in _elements(file, "si")]


def _text_of(element: Any) -> str:
    text = "".join(part.text or "" for part in element.iter(SPREADSHEET + "t"))
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _sheet_rows(sheet: IO[bytes], dates: set[str], shared: Sequence[str]) -> Iterator[tuple[int, dict[int, Any]]]:
    """Yield number and cells of each row that is written."""
    for row in _elements(sheet, "row"):
        yield int(row.get("r")), {_position(cell.get("r")): _cell(cell, dates, shared) for cell in row}


def _position(reference: str) -> int:
    """Return the position of a column: 0 for A, 26 for AA."""
    position = 0
    for letter in reference.rstrip("0123456789"):
        position = 26 * position + ord(letter) - ord("A") + 1
    return position - 1


def _cell(cell: Any, dates: set[str], shared: Sequence[str]) -> Any:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _text_of(cell)
    text = cell.findtext(SPREADSHEET + "v")
    if cell.find(SPREADSHEET + "f") is not None:  # no release has formulas
        raise UnreadableError
    if kind == "n":
        if text is None:
            return None
        if cell.get("s", "0") in dates:
            return FIRST_DAY + datetime.timedelta(days=int(text))
        return float(text)
    if kind == "b" and text in ("0", "1"):
        return text == "1"
    if kind == "s":
        return shared[int(text)]
    raise UnreadableError


# -- files of SPSS, Stata and SAS --------------------------------------------------------------------------------------


def _read_survey(path: Path, labelled: Sequence[str]) -> pa.Table:
    """Read all values of a file, no code as missing; empty text is missing."""
    import pyarrow as pa
    import pyreadstat

    suffix = path.suffix.lower()
    if suffix == ".xpt":
        columns, about = pyreadstat.read_xport(str(path), output_format="dict")
    else:
        reader = pyreadstat.read_sav if suffix == ".sav" else pyreadstat.read_dta
        columns, about = reader(str(path), output_format="dict", user_missing=True)
    found = []
    for name, values in columns.items():
        cells = [None if value is None or value == "" or value != value else value for value in _as_list(values)]
        if name in labelled:
            cells = _labels(cells, about.variable_value_labels.get(name, {}))
        found.append(_column(cells))
    return pa.table(found, list(columns))


def _as_list(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _labels(codes: Sequence[Any], labels: Mapping[Any, str]) -> list[str | None]:
    """Return the labels of codes; every code has one, and no two the same."""
    if len(set(labels.values())) < len(labels):
        raise UnreadableError
    return [None if code is None else labels[code] for code in codes]


# -- databases ---------------------------------------------------------------------------------------------------------


def _read_sqlite(path: Path, labelled: Sequence[str]) -> pa.Table:
    """Read the only table of an SQLite database."""
    import pyarrow as pa

    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
    try:
        ((name,),) = connection.execute(TABLES_OF_SQLITE).fetchall()
        cursor = connection.execute(f"SELECT * FROM {_quoted(name)}")
        names = [part[0] for part in cursor.description]
        columns = list(zip(*cursor, strict=True)) or [()] * len(names)
    finally:
        connection.close()
    return pa.table([_column(cells, whole=False) for cells in columns], names)


def _read_duckdb(path: Path, labelled: Sequence[str]) -> pa.Table:
    """Read the only table of a DuckDB file, in its types."""
    import duckdb

    with duckdb.connect(str(path), read_only=True, config=DUCKDB_CONFIG) as connection:
        ((schema, name),) = connection.execute(TABLES_OF_DUCKDB).fetchall()
        return connection.sql(f"SELECT * FROM {_quoted(schema)}.{_quoted(name)}").to_arrow_table()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# -- columns -----------------------------------------------------------------------------------------------------------


def _column(cells: Sequence[Any], whole: bool = True) -> pa.Array:
    """Convert cells of one kind to a column.

    ``whole`` says that floating-point numbers may stand for whole numbers. Negative zero is none.
    """
    import pyarrow as pa

    kinds = {type(cell) for cell in cells} - {type(None)}
    if len(kinds) > 1:
        raise UnreadableError
    if kinds == {float} and whole and all(cell is None or _is_whole(cell) for cell in cells):
        return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
    return pa.array(cells) if kinds else pa.nulls(len(cells), pa.string())


def _is_whole(number: float) -> bool:
    return number.is_integer() and abs(number) <= MAX_EXACT_NUMBER and str(number) != "-0.0"


READERS = {
    ".xlsx": FormatReader(XML, _read_workbook),
    **dict.fromkeys((".sav", ".dta", ".xpt"), FormatReader(PYREADSTAT, _read_survey)),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), FormatReader(SQLITE, _read_sqlite)),
    **dict.fromkeys((".duckdb", ".ddb"), FormatReader(DUCKDB, _read_duckdb)),
}
"""Readers by extension."""
