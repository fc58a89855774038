"""Terminal output of the commands.

Progress goes to standard error, tables to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from shoal.formatting import format_value, percent
from shoal.methods.patterns.pattern_set import Pattern
from shoal.render import Grid, Summary
from shoal.render.grid import printable
from shoal.render.terminal import grid_table
from shoal.runtime.progress import Progress as Callback
from shoal.runtime.progress import on_terminal
from shoal.runtime.progress import quiet as ignore_progress

output = Console(highlight=False)


def safe(text: object) -> str:
    """Escape markup and control characters in a text for the terminal."""
    return escape(printable(str(text)))


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


def print_grid(grid: Grid) -> None:
    """Print a table."""
    output.print(grid_table(grid))


def print_rows(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows of cells as a table."""
    print_grid(Grid(caption, columns, rows))


def print_summary(summary: Summary) -> None:
    """Print figures, sentences and tables of a result."""
    if summary.figures:
        output.print(safe(", ".join(f"{label} {format_value(value)}" for label, value in summary.figures)) + ".")
    for sentence in summary.sentences:
        output.print(safe(sentence))
    for grid in summary.grids:
        print_grid(grid)


def folded_line(folded: Mapping[str, int]) -> str:
    """Describe how many spellings of sensitive values were merged."""
    listed = ", ".join(f"{safe(column)} {format_value(count)}" for column, count in folded.items())
    return f"Spellings of sensitive values that were counted as another one: {listed}."


def patterns_grid(patterns: Sequence[Pattern]) -> Grid:
    """Describe patterns: labels, records and shares of sensitive values."""
    rows = []
    for pattern in patterns:
        labels = {column: "missing" if value is None else value for column, value in pattern.shown.items()}
        published = ", ".join(f"{column} {value}" for column, value in labels.items() if value != "*")
        parts = []
        for column, shares in pattern.shares.items():
            first = ", ".join(f"{value} {percent(share, 0)}" for value, share in list(shares.items())[:3])
            parts.append(f"{column}: {first}{', ...' if len(shares) > 3 else ''}")
        rows.append((published or "*", pattern.support, "; ".join(parts)))
    return Grid("The patterns of most records", ("pattern", "records", "sensitive values"), rows)
