"""The declared universe: the individuals in each cell of a public grid.

The counts come from a census or a register, never from the table itself. A CSV file has one row for each cell: the
labels of the published columns, as in the release (an empty label is a missing value), and a count. A cell that is
not listed has no individuals. Two spellings of one cell are refused: m, the number of candidates, is the sum of the
counts, and one that is too large is not safe.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from shoal.budget.errors import UniverseError

Cell = tuple[str | None, ...]
"""The published labels of a row, column by column; None is a missing value."""


def read_universe(path: Path, columns: Sequence[str], count: str = "count") -> dict[Cell, int]:
    """Read the declared count of each cell from a CSV file.

    The file is UTF-8, with a header, and separated by commas or semicolons.

    Parameters
    ----------
    path
        The file.
    columns
        The published columns; the file must have each of them, in any order.
    count
        The name of the column of counts.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = Path(directory) / "census.csv"
    ...     _ = file.write_text("age,sex,count\\n20..29,f,5300\\n20..29,m,5100\\n")
    ...     read_universe(file, ["sex", "age"])
    {('f', '20..29'): 5300, ('m', '20..29'): 5100}
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UniverseError("budget.universe-not-readable", file=str(path), reason=error.strerror) from None
    except UnicodeDecodeError:
        raise UniverseError("budget.universe-not-utf8", file=str(path)) from None
    if count in columns:
        raise UniverseError("method.count-column-published", column=count)
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first and "," not in first else ","
    try:
        header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row] or [[]]
    except csv.Error:
        raise UniverseError("budget.universe-not-csv", file=str(path)) from None
    if sorted(header) != sorted((*columns, count)):
        raise UniverseError(
            "budget.universe-columns-differ",
            expected=", ".join(map(repr, (*columns, count))),
            columns=len(header),
            matching=len({*header} & {*columns, count}),
        )
    positions = [header.index(name) for name in columns]
    cells: dict[Cell, int] = {}
    seen: set[Cell] = set()  # cells in canonical form: m must not count an individual twice
    for number, row in enumerate(rows, 2):
        figure = row[header.index(count)].strip() if len(row) == len(header) else ""
        if not (figure.isascii() and figure.isdigit()):
            raise UniverseError("budget.universe-row-malformed", cells=len(header), row=number)
        cell = tuple(row[position] or None for position in positions)
        canonical_cell = tuple(label and unicodedata.normalize("NFC", label.strip()) for label in cell)
        if canonical_cell in seen:
            raise UniverseError("budget.universe-cell-twice", row=number)
        seen.add(canonical_cell)
        cells[cell] = int(figure)
    return cells
