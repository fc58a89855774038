"""What commands show: progress on standard error, tables on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shoal.errors import counted
from shoal.methods.patterns.pattern_set import Pattern
from shoal.runtime.progress import Progress as Callback
from shoal.runtime.progress import on_terminal
from shoal.runtime.progress import quiet as unwatched

__all__ = [
    "figure",
    "folded_line",
    "models_table",
    "output",
    "patterns_table",
    "progress",
    "rows_table",
    "safe",
]

output = Console(highlight=False)
LONGEST_WORD = 16
LONGEST_CELL = 200


def safe(text: object) -> str:
    """Text from data or a plan, for the terminal: markup is not obeyed, control characters are not sent."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text))
    return escape(shown)


def figure(value: Any) -> str:
    """A number as people read it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@contextmanager
def progress(quiet: bool) -> Iterator[Callback]:
    """Show the step at work, and how far it is, on standard error; nothing where no one looks."""
    if quiet or not sys.stderr.isatty():
        yield unwatched
        return
    with on_terminal() as show:
        yield show


def rows_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A small table of data."""
    table = Table(title=title, title_justify="left")
    shown = [["" if cell is None else _short(str(cell)) for cell in row] for row in rows]
    for place, column in enumerate(columns):
        words = [len(word) for row in shown for word in row[place].split()]
        # a word is not cut off, and not broken unless it is long
        table.add_column(safe(column), overflow="fold", min_width=min(max(words, default=0), LONGEST_WORD))
    for row in shown:
        table.add_row(*map(safe, row))
    return table


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


def models_table(models: Sequence[Mapping[str, Any]]) -> Table:
    """Each model's verdict and the parameters that the table really reaches."""
    table = Table(title="Models", title_justify="left")
    table.add_column("model", no_wrap=True)
    for column in ("asked for", "holds", "the table has", "failing"):
        table.add_column(column)
    for model in models:
        asked = ", ".join(f"{key} = {value}" for key, value in model["parameters"].items())
        reached = ", ".join(f"{key} = {figure(value)}" for key, value in model["effective"].items())
        verdict = "[green]yes[/]" if model["holds"] else "[red]no[/]"
        groups, rows = model["failing_groups"], model["failing_rows"]
        failing = f"{counted(groups, 'group')}, {counted(rows, 'row')}" if groups else "none"
        counts = " of people" if model.get("counts") == "people" else ""
        table.add_row(safe(model["name"]) + counts, safe(asked), verdict, reached, failing)
    return table


def folded_line(folded: Mapping[str, int]) -> str:
    """How many spellings of sensitive values were counted as another one."""
    listed = ", ".join(f"{safe(column)} {figure(count)}" for column, count in folded.items())
    return f"Spellings of sensitive values that were counted as another one: {listed}."


def patterns_table(patterns: Sequence[Pattern]) -> Table:
    """What groups show, how many records each has, and how its sensitive values are shared; one group per row."""
    table = Table(title="The patterns of most records", title_justify="left")
    for column in ("pattern", "records", "sensitive values"):
        table.add_column(column)
    for pattern in patterns:
        shown = {column: "missing" if value is None else value for column, value in pattern.shown.items()}
        kept = ", ".join(f"{column} {value}" for column, value in shown.items() if value != "*")
        parts = []
        for column, shares in pattern.shares.items():
            first = ", ".join(f"{value} {share:.0%}" for value, share in list(shares.items())[:3])
            parts.append(f"{column}: {first}{', ...' if len(shares) > 3 else ''}")
        table.add_row(safe(kept or "*"), figure(pattern.support), safe("; ".join(parts)))
    return table
