"""Text, numbers, tables and bars as HTML.

All text from data or a plan goes through :func:`text`. Bars are inline SVG without text: the figure next to a bar is
text that can be read, copied, enlarged and spoken.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence

from shoal.formatting import format_value
from shoal.render.grid import Grid, Marked, tone_of

MAX_TEXT_LENGTH = 120
MAX_CELL_LENGTH = 400
JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def text(value: object, max_length: int = MAX_TEXT_LENGTH) -> str:
    """Escape text from data for HTML.

    Its length is bounded, control characters are replaced, and its direction is isolated.

    >>> text("<b>x</b>")
    '<bdi>&lt;b&gt;x&lt;/b&gt;</bdi>'
    """
    return f"<bdi>{prose(value, max_length)}</bdi>"


def prose(value: object, max_length: int = MAX_TEXT_LENGTH) -> str:
    """Escape text for attributes and sentences.

    Like :func:`text`, but without an element around it.
    """
    content = str(value)
    if len(content) > max_length:
        content = content[: max_length - 1] + "…"
    # characters that are not printable include direction overrides; joiners are part of words
    printable = "".join(
        character if character.isprintable() or character in JOINERS else "\N{REPLACEMENT CHARACTER}"
        for character in content
    )
    return html.escape(printable, quote=True)


def bar(share: float, kind: str) -> str:
    """Draw a bar of a share of the width.

    ``kind`` is before or after. The caller places the figure next to it.
    """
    width = f"{100 * min(max(share, 0.0), 1.0):.2f}%"
    return (
        f'<svg class="bar" aria-hidden="true" focusable="false"><rect class="track" width="100%" height="100%"/>'
        f'<rect class="{kind}" width="{width}" height="100%"/></svg>'
    )


def table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "", scrolls: str = ""
) -> str:
    """Build a table of finished cells; the first cell is the row header.

    A table that may be wider than the screen ``scrolls`` under that name, by keyboard too.
    """
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    lines = []
    for row in rows:
        # narrow screens show the column name in each cell
        cells = [f'<td data-column="{name}">{cell}</td>' for name, cell in zip(columns[1:], row[1:], strict=True)]
        lines.append(f'<tr><th scope="row">{row[0]}</th>{"".join(cells)}</tr>')
    style = f' class="{kind}"' if kind else ""
    frame, end = (f'<section class="wide" aria-label="{scrolls}" tabindex="0">', "</section>") if scrolls else ("", "")
    return (
        f"{frame}<table{style}><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>{end}"
    )


def grid_html(grid: Grid, kind: str = "", *, finished: Collection[str] = (), scrolls: str = "") -> str:
    """Build the table of a grid.

    Columns that are named ``finished`` hold HTML already; all other cells are escaped here. It ``scrolls`` as
    :func:`table` does.
    """
    rows = [
        [str(cell) if name in finished else _cell(cell) for name, cell in zip(grid.columns, row, strict=True)]
        for row in grid.rows
    ]
    return table(
        prose(grid.caption), [prose(name[:1].upper() + name[1:]) for name in grid.columns], rows, kind, scrolls
    )


def _cell(cell: object) -> str:
    content = text(format_value(cell.value if isinstance(cell, Marked) else cell), MAX_CELL_LENGTH)
    style = {"good": "yes", "bad": "no"}.get(tone_of(cell), "")
    return f'<span class="{style}">{content}</span>' if style else content


def figure(content: str, caption: str) -> str:
    """Build a figure with a caption."""
    return f"<figure>{content}<figcaption>{caption}</figcaption></figure>"
