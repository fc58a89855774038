"""Tables of a case read without the package: released files and sources.

A CSV is read by Python's csv module and by pandas, which must agree; other formats by pandas, fastexcel, pyreadstat or
sqlite3. Cells are texts, or None where nothing is shown.
"""

from __future__ import annotations

import csv
import io
import sqlite3
import unicodedata
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

Cell = str | None
Table = tuple[list[str], list[list[Cell]]]

ZERO_WIDTH = {0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF}
FILLERS = {0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0}
VARIATIONS = [(0xFE00, 0xFE0F), (0x180B, 0x180F), (0xE0000, 0xE0FFF), (0xFFF0, 0xFFF8)]


def read_table(path: Path) -> Table:
    """Read a released table."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _read_csv(path)
    if suffix in (".sqlite", ".db"):
        with sqlite3.connect(path) as connection:
            found = connection.execute('SELECT * FROM "release"')
            return [column[0] for column in found.description], [[_text(cell) for cell in row] for row in found]
    if suffix == ".xlsx":
        import fastexcel

        table = fastexcel.read_excel(path).load_sheet(0, dtypes="string").to_arrow()
        columns = [column.to_pylist() for column in table.columns]
        return list(table.schema.names), [[_text(cell) for cell in row] for row in zip(*columns, strict=True)]
    return _read_frame(path, suffix)


def _read_csv(path: Path) -> Table:
    import pandas as pd

    raw = path.read_text(encoding="utf-8")
    header, *rows = [record or [""] for record in csv.reader(io.StringIO(raw, newline=""), strict=True)]
    frame = pd.read_csv(
        path, header=None, dtype=str, keep_default_na=False, na_filter=False, skip_blank_lines=False, encoding="utf-8",
        low_memory=False,
    )  # fmt: skip
    if frame.to_numpy().tolist() != [header, *rows]:
        raise ValueError("Python's csv module and pandas read other cells")
    return header, [[cell or None for cell in row] for row in rows]


def _read_frame(path: Path, suffix: str) -> Table:
    import pandas as pd
    import pyreadstat

    if suffix == ".parquet":
        frame = pd.read_parquet(path, dtype_backend="pyarrow")
    else:
        reader = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}[suffix]
        frame = reader(path, apply_value_formats=True)[0]
    columns = [[_text(cell) for cell in frame[name].astype(object)] for name in frame.columns]
    return [str(name) for name in frame.columns], [list(row) for row in zip(*columns, strict=True)]


def _text(cell: Any) -> Cell:
    if cell is None or str(cell) in ("<NA>", "NaT") or cell != cell:
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell) or None


def read_source(path: Path, columns: list[str], missing: list[str]) -> list[dict[str, Cell]] | None:
    """Read a plain CSV source, or return None."""
    try:
        raw = path.read_bytes().decode("utf-8-sig")
    except UnicodeError:
        return None
    for delimiter in ",;\t|":
        try:
            header, *rows = csv.reader(io.StringIO(raw, newline=""), delimiter=delimiter, strict=True)
        except (csv.Error, ValueError):
            continue
        if sorted(header) == sorted(columns):
            rows = [row for row in rows if row]
            if any(len(row) != len(header) for row in rows):
                return None
            return [
                {name: None if cell in missing else canonical(cell) for name, cell in zip(header, row, strict=True)}
                for row in rows
            ]
    return None


def canonical(text: Cell) -> Cell:
    """Return the form in which a quasi-identifier is published."""
    previous = None
    while text is not None and text != previous:
        previous = text
        text = unicodedata.normalize("NFC", text)
        while text and _is_blank(text[0]):
            text = text[1:]
        while text and _is_blank(text[-1]):
            text = text[:-1]
    return text or None


def _is_blank(sign: str) -> bool:
    return sign.isspace() or ord(sign) in ZERO_WIDTH


def fold(text: Cell, *, exact: bool = False) -> Any:
    """Return what equal sensitive values have in common; None is missing."""
    if text is None or exact:
        return text
    previous = None
    while text != previous:
        previous = text
        text = unicodedata.normalize("NFKC", text).casefold()
        text = "".join(_visible(sign) for sign in text)
        text = unicodedata.normalize("NFKC", text)
    text = " ".join(text.split())
    if text and set(text) <= set("0123456789+-.e") and any(sign.isdigit() for sign in text):
        try:
            number = Decimal(text)
        except InvalidOperation:
            return text
        if number.is_finite():
            return number.normalize() if number else Decimal(0)
    return text or None


def _visible(sign: str) -> str:
    code, kind = ord(sign), unicodedata.category(sign)
    if sign.isspace() or code in FILLERS:
        return " "
    if kind in ("Cc", "Cf") or code in ZERO_WIDTH or code in (0x34F, 0x17B4, 0x17B5, 0x2065):
        return ""
    if any(low <= code <= high for low, high in VARIATIONS):
        return ""
    if kind == "Nd":
        return str(unicodedata.digit(sign))
    return "-" if code == 0x2212 else sign
