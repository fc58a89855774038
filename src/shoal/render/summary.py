"""Summary of a result, and its display as text and HTML."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from shoal.formatting import format_value, number
from shoal.render.grid import Grid, printable
from shoal.render.html import grid_html, prose
from shoal.render.style import STYLE
from shoal.render.terminal import WIDTH, grid_text
from shoal.runtime.lazy_dataclass import dataclass

MAX_ROWS = 40


@dataclass(frozen=True)
class Summary:
    """Title, figures, sentences and tables of a result as plain text.

    ``picture`` is finished SVG for pages.
    """

    title: str
    figures: Sequence[tuple[str, object]] = ()
    sentences: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    picture: str = ""

    def to_text(self) -> str:
        """Render as text of at most 80 columns."""
        lines = [printable(self.title)]
        if self.figures:
            figures = ", ".join(f"{label} {format_value(value)}" for label, value in self.figures)
            lines += textwrap.wrap(printable(figures), WIDTH)
        for sentence in self.sentences:
            lines += textwrap.wrap(printable(sentence), WIDTH)
        for grid in (grid.first(MAX_ROWS) for grid in self.grids):
            lines += ["", *textwrap.wrap(printable(grid.caption), WIDTH), grid_text(grid)]
        return "\n".join(lines)

    def to_html(self) -> str:
        """Render as a part of a page, with a style sheet that applies to it only."""
        parts = [f"<h3>{prose(self.title)}</h3>"]
        if self.figures:
            tiles = (
                f"<div><dt>{prose(label)}</dt><dd>{prose(format_value(value))}</dd></div>"
                for label, value in self.figures
            )
            parts.append(f'<dl class="tiles">{"".join(tiles)}</dl>')
        parts += [f"<p>{prose(sentence, 2000)}</p>" for sentence in self.sentences]
        parts.append(self.picture)
        parts += [grid_html(grid.first(MAX_ROWS)) for grid in self.grids]
        return f'<div class="shoal"><style>{CELL_STYLE}</style>{"".join(parts)}</div>'


class Displayable:
    """Result that displays itself by its summary.

    Dataclasses that inherit from it need ``repr=False``.
    """

    def summary(self) -> Summary:
        """Return the summary to display."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.summary().to_text()

    def _repr_html_(self) -> str:
        return self.summary().to_html()


@dataclass(frozen=True, repr=False)
class Page:
    """Complete HTML page.

    It can be displayed in a sandboxed frame of a notebook, saved, or opened in a browser.
    """

    html: str

    def __repr__(self) -> str:
        return f"A page of {number(len(self.html))} characters: save(path) writes it, open() shows it in a browser."

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="" srcdoc="{html.escape(self.html, quote=True)}" title="Report" width="100%" '
            f'height="640" style="border:1px solid #8886"></iframe>'
        )

    def save(self, path: Path | str, *, overwrite: bool = False) -> Path:
        """Write the page to a file atomically.

        Only a regular file is replaced, and only with ``overwrite``.
        """
        from shoal.io import publish  # upward import: one module writes all files

        target = Path(path)
        publish.check_target(target, overwrite, {})
        publish.write_text_atomic(target, self.html)
        return target

    def open(self) -> Path:
        """Open the page in a browser and return its path.

        The file is readable by this user only.
        """
        import tempfile
        import webbrowser

        target = self.save(Path(tempfile.mkdtemp(prefix="shoal-")) / "report.html")
        webbrowser.open(target.as_uri())
        return target


# -- style -----------------------------------------------------------------------------------------------------------


def _scope_rules(style: str, scope: str) -> str:
    """Restrict the rules of a style sheet to ``scope``, without print rules."""
    parts = []
    for media, rules, selectors, body in re.findall(
        r"(@media[^{]+)\{((?:[^{}]+\{[^{}]*\})+)\s*\}|([^{}@]+)\{([^{}]*)\}", style
    ):
        if media:
            if "print" not in media:
                parts.append(f"{media.strip()}{{{_scope_rules(rules, scope)}}}")
            continue
        inner = (name.strip() for name in selectors.split(","))
        named = ",".join(scope if name in (":root", "body") else f"{scope} {name}" for name in inner)
        parts.append(f"{named}{{{body}}}")
    return "".join(parts)


def _theme_rules(style: str) -> str:
    """Build rules for the theme of a notebook.

    They take precedence over the colour scheme of the system.
    """
    light, dark = re.findall(r":root\{([^}]*)\}", style)[:2]
    return (
        f'body[data-jp-theme-light="true"] .shoal{{{light}}}'
        f'body[data-jp-theme-light="false"] .shoal,body.vscode-dark .shoal{{{dark}}}'
    )


CELL_STYLE = (
    _scope_rules(STYLE, ".shoal")
    + _theme_rules(STYLE)
    + ".shoal{margin:0;padding:.5rem .75rem;max-width:60rem;font-size:.875rem}.shoal h3{margin:0 0 .5rem}"
    ".shoal table{font-size:inherit;color:inherit}.shoal td{overflow-wrap:break-word}.shoal caption{font-weight:600}"
    ".shoal .tiles{margin:.5rem 0;gap:.5rem}.shoal .tiles div{padding:.35rem .75rem}.shoal .tiles dd{font-size:1.2rem}"
)
