"""Result pages of the papers, as Markdown and as HTML.

Tables have the figure of the paper next to ours.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.formatting import fixed, number


@dataclass(frozen=True)
class Section:
    """One table or figure of a paper.

    ``rows`` are cells under ``header``; ``comment`` explains in a sentence or two what differs and why.
    ``missing_data`` names the data that is needed and not available; then there are no rows. ``chart`` is a picture as
    SVG.
    """

    title: str
    header: tuple[str, ...] = ()
    rows: Sequence[Sequence[object]] = ()
    comment: str = ""
    missing_data: str = ""
    chart: str = ""

    @property
    def picture(self) -> str:
        """The name of the chart's file."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")[:60] + ".svg"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return number(value) if abs(value) < 10 else fixed(value, 2)
    return str(value)


def to_markdown(title: str, introduction: str, papers: Sequence[tuple[str, Sequence[Section]]]) -> str:
    """Return all papers as one Markdown page."""
    lines = [f"# {title}", "", introduction, ""]
    for paper, sections in papers:
        lines += [f"## {paper}", ""]
        for section in sections:
            lines += [f"### {section.title}", ""]
            if section.missing_data:
                lines += [f"*{section.missing_data}*", ""]
            if section.rows:
                lines.append("| " + " | ".join(section.header) + " |")
                lines.append("|" + "---|" * len(section.header))
                lines += [
                    "| " + " | ".join(_cell(cell).replace("|", "\\|") for cell in row) + " |" for row in section.rows
                ]
                lines.append("")
            if section.chart:
                lines += [f"![{section.title}]({section.picture})", ""]
            if section.comment:
                lines += [section.comment, ""]
    return "\n".join(lines)


STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #8886; text-align: left; white-space: nowrap; }
th { white-space: normal; vertical-align: bottom; }
.number { text-align: right; }
h2 { margin-top: 3rem; border-bottom: 2px solid #8886; }
.lacking { font-style: italic; }
figure { margin: 1rem 0; max-width: 40rem; }
"""


def _table(section: Section) -> str:
    """Return a table with right-aligned columns of numbers.

    Their headings are right-aligned as well.
    """
    kinds = [
        ' class="number"' if all(isinstance(row[index], int | float) or not row[index] for row in section.rows) else ""
        for index in range(len(section.header))
    ]
    named = zip(kinds, section.header, strict=True)
    head = "".join(f'<th scope="col"{kind}>{html.escape(name)}</th>' for kind, name in named)
    rows = []
    for row in section.rows:
        cells = zip(kinds, row, strict=True)
        rows.append("<tr>" + "".join(f"<td{kind}>{html.escape(_cell(cell))}</td>" for kind, cell in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _prose(text: str) -> str:
    """Return a sentence with its `code` as HTML code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def to_html(title: str, introduction: str, papers: Sequence[tuple[str, Sequence[Section]]]) -> str:
    """Return all papers as one page without external resources."""
    body = [f"<h1>{html.escape(title)}</h1>", f"<p>{html.escape(introduction)}</p>"]
    for paper, sections in papers:
        body.append(f"<h2>{html.escape(paper)}</h2>")
        for section in sections:
            body.append(f"<h3>{html.escape(section.title)}</h3>")
            if section.missing_data:
                body.append(f'<p class="lacking">{html.escape(section.missing_data)}</p>')
            if section.rows:
                body.append(_table(section))
            if section.chart:
                body.append(f"<figure>{section.chart}</figure>")
            if section.comment:
                body.append(f"<p>{_prose(section.comment)}</p>")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )
