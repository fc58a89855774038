"""Text, numbers, tables and bars as HTML. Whatever comes from data or a plan goes through :func:`text`.

Bars are inline SVG without text: the figure stands beside them as text that can be read, copied, enlarged and spoken.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["bar", "figure", "number", "percent", "prose", "table", "text"]

LONGEST = 120
JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def text(value: object, longest: int = LONGEST) -> str:
    """Text from data: escaped, of bounded length, without control characters, in a direction of its own.

    >>> text("<b>x</b>")
    '<bdi>&lt;b&gt;x&lt;/b&gt;</bdi>'
    """
    return f"<bdi>{prose(value, longest)}</bdi>"


def prose(value: object, longest: int = LONGEST) -> str:
    """Like :func:`text`, for attributes and sentences of our own: without an element around it."""
    given = str(value)
    if len(given) > longest:
        given = given[: longest - 1] + "…"
    # among what is not printable are the signs that turn the direction of what follows; joiners are part of words
    shown = "".join(sign if sign.isprintable() or sign in JOINERS else "\N{REPLACEMENT CHARACTER}" for sign in given)
    return html.escape(shown, quote=True)


def number(value: float) -> str:
    """A number as people read it.

    >>> number(12345), number(0.25), number(3.0)
    ('12,345', '0.25', '3')
    """
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.4g}"


def percent(share: float) -> str:
    """A part of a whole; what is not nothing and not all does not look like it.

    >>> percent(0.25), percent(0.0004), percent(0.9999), percent(1)
    ('25%', 'under 0.1%', 'over 99.9%', '100%')
    """
    if 0 < share < 0.001:
        return "under 0.1%"
    if 0.999 < share < 1:
        return "over 99.9%"
    return f"{100 * share:.1f}%".replace(".0%", "%")


def bar(share: float, kind: str) -> str:
    """A bar of a part of the width; ``kind`` is before or after. The figure itself must stand beside it."""
    width = f"{100 * min(max(share, 0.0), 1.0):.2f}%"
    return (
        f'<svg class="bar" aria-hidden="true" focusable="false"><rect class="track" width="100%" height="100%"/>'
        f'<rect class="{kind}" width="{width}" height="100%"/></svg>'
    )


def table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "", scrolls: str = ""
) -> str:
    """A table of finished cells; the first column heads its row.

    One that may be wider than the screen ``scrolls``, under that name, by keyboard too.
    """
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    lines = []
    for row in rows:
        # a narrow screen shows the column's name in each cell
        cells = [f'<td data-column="{name}">{cell}</td>' for name, cell in zip(columns[1:], row[1:], strict=True)]
        lines.append(f'<tr><th scope="row">{row[0]}</th>{"".join(cells)}</tr>')
    style = f' class="{kind}"' if kind else ""
    frame, end = (f'<section class="wide" aria-label="{scrolls}" tabindex="0">', "</section>") if scrolls else ("", "")
    return (
        f"{frame}<table{style}><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>{end}"
    )


def figure(content: str, caption: str) -> str:
    """A picture and what it shows in words."""
    return f"<figure>{content}<figcaption>{caption}</figcaption></figure>"
