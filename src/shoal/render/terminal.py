"""Tables and summaries on a terminal, and as text of 80 columns."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from shoal.formatting import format_value
from shoal.render.grid import Grid, Marked, is_number, printable, tone_of

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 80
MAX_CELL_LENGTH = 200
MAX_WORD_WIDTH = 16
COLOURS = {"good": "green", "bad": "red", "mixed": "yellow"}


def grid_table(grid: Grid, *, framed: bool = True) -> Table:
    """Lay out a grid as a table of a terminal; cells are text, never markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    layout = Table(title=Text(printable(grid.caption)), title_justify="left") if framed else Table(box=box.SIMPLE)
    layout.pad_edge = framed
    rows = [[_cell(cell) for cell in row] for row in grid.rows]
    for position, name in enumerate(grid.columns):
        words = [len(word) for row in rows for word in row[position].split()]
        numeric = all(is_number(row[position]) for row in grid.rows) and bool(grid.rows)
        # words are not truncated, and broken only if they are long
        layout.add_column(
            Text(printable(name)),
            overflow="fold",
            min_width=min(max(words, default=0), MAX_WORD_WIDTH),
            justify="right" if numeric else "left",
        )
    for cells, row in zip(rows, grid.rows, strict=True):
        layout.add_row(*(Text(text, COLOURS.get(tone_of(cell), "")) for text, cell in zip(cells, row, strict=True)))
    return layout


def grid_text(grid: Grid) -> str:
    """Lay out a grid as text of 80 columns, without colours and caption."""
    from rich.console import Console

    console = Console(width=WIDTH, file=io.StringIO(), color_system=None, highlight=False, legacy_windows=False)
    console.print(grid_table(grid, framed=False))
    written: Any = console.file
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines() if line.strip())


def _cell(cell: object) -> str:
    text = printable(format_value(cell.value if isinstance(cell, Marked) else cell))
    return text if len(text) <= MAX_CELL_LENGTH else text[: MAX_CELL_LENGTH - 1] + "…"
