"""Pages of results: sections of tables with the paper's figure beside ours, as Markdown and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Section", "to_html", "to_markdown"]


@dataclass(frozen=True)
class Section:
    """One table or figure of a paper.

    ``rows`` are cells under ``header``; ``says`` is a sentence or two on what differs and why. ``lacking`` tells which
    data it needs that is not there; then there are no rows.
    """

    title: str
    header: tuple[str, ...] = ()
    rows: Sequence[Sequence[object]] = ()
    says: str = ""
    lacking: str = ""


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10 else f"{value:.2f}"
    return str(value)


def to_markdown(title: str, introduction: str, papers: Sequence[tuple[str, Sequence[Section]]]) -> str:
    """All papers as one Markdown page."""
    lines = [f"# {title}", "", introduction, ""]
    for paper, sections in papers:
        lines += [f"## {paper}", ""]
        for section in sections:
            lines += [f"### {section.title}", ""]
            if section.lacking:
                lines += [f"*{section.lacking}*", ""]
            if section.rows:
                lines.append("| " + " | ".join(section.header) + " |")
                lines.append("|" + "---|" * len(section.header))
                lines += [
                    "| " + " | ".join(_cell(cell).replace("|", "\\|") for cell in row) + " |" for row in section.rows
                ]
                lines.append("")
            if section.says:
                lines += [section.says, ""]
    return "\n".join(lines)


STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #8886; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
h2 { margin-top: 3rem; border-bottom: 2px solid #8886; }
.lacking { font-style: italic; }
"""


def to_html(title: str, introduction: str, papers: Sequence[tuple[str, Sequence[Section]]]) -> str:
    """All papers as one page that loads nothing."""
    body = [f"<h1>{html.escape(title)}</h1>", f"<p>{html.escape(introduction)}</p>"]
    for paper, sections in papers:
        body.append(f"<h2>{html.escape(paper)}</h2>")
        for section in sections:
            body.append(f"<h3>{html.escape(section.title)}</h3>")
            if section.lacking:
                body.append(f'<p class="lacking">{html.escape(section.lacking)}</p>')
            if section.rows:
                head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in section.header)
                rows = "".join(
                    "<tr>" + "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row) + "</tr>"
                    for row in section.rows
                )
                body.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
            if section.says:
                body.append(f"<p>{html.escape(section.says)}</p>")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )
