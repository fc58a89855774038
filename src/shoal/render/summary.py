"""What there is to show of a result, and how it is shown."""

from __future__ import annotations

import html
import io
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.render.html import prose, table, text
from shoal.render.style import STYLE

__all__ = ["Grid", "Page", "Sheet", "Shown", "figure_of"]

WIDTH = 80
LONGEST_CELL = 120
MOST_ROWS = 40


@dataclass(frozen=True)
class Grid:
    """A table of a sheet."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Sheet:
    """What there is to show: a title, figures, sentences and tables as plain text, and finished SVG for pages."""

    title: str
    figures: Sequence[tuple[str, object]] = ()
    sentences: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    picture: str = ""

    def to_text(self) -> str:
        """At most 80 columns wide."""
        lines = [_visible(self.title)]
        if self.figures:
            told = ", ".join(f"{label} {figure_of(value)}" for label, value in self.figures)
            lines += textwrap.wrap(_visible(told), WIDTH)
        for sentence in self.sentences:
            lines += textwrap.wrap(_visible(sentence), WIDTH)
        for grid in self.grids:
            lines += ["", *textwrap.wrap(_visible(_caption(grid)), WIDTH), _in_columns(grid)]
        return "\n".join(lines)

    def to_html(self) -> str:
        """A part of a page, which brings its style along and keeps it to itself."""
        parts = [f"<h3>{prose(self.title)}</h3>"]
        if self.figures:
            shown = (
                f"<div><dt>{prose(label)}</dt><dd>{prose(figure_of(value))}</dd></div>" for label, value in self.figures
            )
            parts.append(f'<dl class="tiles">{"".join(shown)}</dl>')
        parts += [f"<p>{prose(sentence, 2000)}</p>" for sentence in self.sentences]
        parts.append(self.picture)
        for grid in self.grids:
            rows = [[text(figure_of(cell)) for cell in row] for row in _first(grid.rows)]
            parts.append(table(prose(_caption(grid)), [prose(name) for name in grid.columns], rows))
        return f'<div class="shoal"><style>{CELL_STYLE}</style>{"".join(parts)}</div>'


class Shown:
    """A result that says what there is to show; give its dataclass ``repr=False``."""

    def sheet(self) -> Sheet:
        """What there is to show."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.sheet().to_text()

    def _repr_html_(self) -> str:
        return self.sheet().to_html()


@dataclass(frozen=True, repr=False)
class Page:
    """A whole page of HTML: shown in a frame of its own in a notebook, saved, or opened in a browser."""

    html: str

    def __repr__(self) -> str:
        return f"A page of {len(self.html):,} characters: save(path) writes it, open() shows it in a browser."

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="" srcdoc="{html.escape(self.html, quote=True)}" title="Report" width="100%" '
            f'height="640" style="border:1px solid #8886"></iframe>'
        )

    def save(self, path: Path | str, *, overwrite: bool = False) -> Path:
        """Write it to a file, whole or not at all; nothing but a regular file is replaced, and that only if told so."""
        from shoal.io import publish  # looks ahead: files are written in one place

        place = Path(path)
        publish.check_paper(place, overwrite, {})
        publish.write_paper(place, self.html)
        return place

    def open(self) -> Path:
        """Show it in a browser, from a file that only this user can read; returns where that is."""
        import tempfile
        import webbrowser

        place = self.save(Path(tempfile.mkdtemp(prefix="shoal-")) / "report.html")
        webbrowser.open(place.as_uri())
        return place


def figure_of(value: object) -> str:
    """A value as people read it.

    >>> figure_of(12345), figure_of(0.123456789), figure_of(None), figure_of(True)
    ('12,345', '0.1235', '', 'yes')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


# -- text ------------------------------------------------------------------------------------------------------------


def _visible(given: str) -> str:
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in given)


def _first(rows: Sequence[Sequence[object]]) -> Sequence[Sequence[object]]:
    return rows[:MOST_ROWS]


def _caption(grid: Grid) -> str:
    left = len(grid.rows) - MOST_ROWS
    return grid.caption + (f" (and {left:,} more)" if left > 0 else "")


def _in_columns(grid: Grid) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE, pad_edge=False)
    for name in grid.columns:
        shown.add_column(Text(_visible(name)), overflow="fold")
    for row in _first(grid.rows):
        cells = [_visible(figure_of(cell)) for cell in row]
        shown.add_row(*(Text(cell if len(cell) <= LONGEST_CELL else cell[: LONGEST_CELL - 1] + "…") for cell in cells))
    console = Console(width=WIDTH, file=io.StringIO(), color_system=None, highlight=False, legacy_windows=False)
    console.print(shown)
    written: Any = console.file
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines() if line.strip())


# -- style -----------------------------------------------------------------------------------------------------------


def _scoped(style: str, scope: str) -> str:
    """The rules of a style sheet for what is inside of ``scope`` alone; those for paper are left out."""
    parts = []
    for media, rules, selectors, body in re.findall(
        r"(@media[^{]+)\{((?:[^{}]+\{[^{}]*\})+)\s*\}|([^{}@]+)\{([^{}]*)\}", style
    ):
        if media:
            if "print" not in media:
                parts.append(f"{media.strip()}{{{_scoped(rules, scope)}}}")
            continue
        inner = (name.strip() for name in selectors.split(","))
        named = ",".join(scope if name in (":root", "body") else f"{scope} {name}" for name in inner)
        parts.append(f"{named}{{{body}}}")
    return "".join(parts)


def _themes(style: str) -> str:
    """The colours of a notebook's theme, where it says which it has, before those of the system."""
    light, dark = re.findall(r":root\{([^}]*)\}", style)[:2]
    return (
        f'body[data-jp-theme-light="true"] .shoal{{{light}}}'
        f'body[data-jp-theme-light="false"] .shoal,body.vscode-dark .shoal{{{dark}}}'
    )


CELL_STYLE = (
    _scoped(STYLE, ".shoal")
    + _themes(STYLE)
    + ".shoal{margin:0;padding:.5rem .75rem;max-width:60rem;font-size:.875rem}.shoal h3{margin:0 0 .5rem}"
    ".shoal table{font-size:inherit;color:inherit}.shoal td{overflow-wrap:break-word}.shoal caption{font-weight:600}"
    ".shoal .tiles{margin:.5rem 0;gap:.5rem}.shoal .tiles div{padding:.35rem .75rem}.shoal .tiles dd{font-size:1.2rem}"
)
