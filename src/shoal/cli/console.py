"""Terminal output of the commands.

Progress goes to standard error, tables to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shoal.formatting import counted, format_parameters, format_value, percent
from shoal.methods.patterns.pattern_set import Pattern
from shoal.runtime.progress import Progress as Callback
from shoal.runtime.progress import on_terminal
from shoal.runtime.progress import quiet as ignore_progress

output = Console(highlight=False)
MAX_WORD_WIDTH = 16
MAX_CELL_CHARACTERS = 200


def safe(text: object) -> str:
    """Escape markup and control characters in a text for the terminal."""
    printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text))
    return escape(printable)


@contextmanager
def progress(quiet: bool) -> Iterator[Callback]:
    """Display the current step and its progress on standard error.

    Nothing is displayed if standard error is not a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield ignore_progress
        return
    with on_terminal() as show:
        yield show


def rows_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Build a small table of data."""
    table = Table(title=title, title_justify="left")
    cells = [["" if cell is None else _truncate(str(cell)) for cell in row] for row in rows]
    for position, column in enumerate(columns):
        words = [len(word) for row in cells for word in row[position].split()]
        # words are not truncated, and broken only if they are long
        table.add_column(safe(column), overflow="fold", min_width=min(max(words, default=0), MAX_WORD_WIDTH))
    for row in cells:
        table.add_row(*map(safe, row))
    return table


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_CELL_CHARACTERS else text[: MAX_CELL_CHARACTERS - 1] + "…"


def models_table(models: Sequence[Mapping[str, Any]]) -> Table:
    """Build a table of model verdicts and effective parameters."""
    table = Table(title="Models", title_justify="left")
    table.add_column("model", no_wrap=True)
    for column in ("asked for", "holds", "the table has", "failing"):
        table.add_column(column)
    for model in models:
        parameters = format_parameters(model["parameters"])
        reached = format_parameters(model["effective"])
        verdict = "[green]yes[/]" if model["holds"] else "[red]no[/]"
        groups, rows = model["failing_groups"], model["failing_rows"]
        failing = f"{counted(groups, 'group')}, {counted(rows, 'row')}" if groups else "none"
        counts = " of people" if model.get("counts") == "people" else ""
        table.add_row(safe(model["name"]) + counts, safe(parameters), verdict, reached, failing)
    return table


def folded_line(folded: Mapping[str, int]) -> str:
    """Describe how many spellings of sensitive values were merged."""
    listed = ", ".join(f"{safe(column)} {format_value(count)}" for column, count in folded.items())
    return f"Spellings of sensitive values that were counted as another one: {listed}."


def patterns_table(patterns: Sequence[Pattern]) -> Table:
    """Build a table of patterns, one group per row.

    Each row has the published labels, the number of records and the shares of the sensitive values.
    """
    table = Table(title="The patterns of most records", title_justify="left")
    for column in ("pattern", "records", "sensitive values"):
        table.add_column(column)
    for pattern in patterns:
        labels = {column: "missing" if value is None else value for column, value in pattern.shown.items()}
        published = ", ".join(f"{column} {value}" for column, value in labels.items() if value != "*")
        parts = []
        for column, shares in pattern.shares.items():
            first = ", ".join(f"{value} {percent(share, 0)}" for value, share in list(shares.items())[:3])
            parts.append(f"{column}: {first}{', ...' if len(shares) > 3 else ''}")
        table.add_row(safe(published or "*"), format_value(pattern.support), safe("; ".join(parts)))
    return table
