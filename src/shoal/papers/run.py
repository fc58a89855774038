"""All experiments of the papers, in order, on one page."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from pathlib import Path

from shoal.errors import OutputError, PlanError
from shoal.io.publish import check_target, write_text_atomic
from shoal.papers import PAPERS
from shoal.papers.page import to_html, to_markdown
from shoal.runtime.progress import Progress, quiet

PAGES = ("papers.md", "papers.html")
TITLE = "The papers' experiments, reproduced"
INTRODUCTION = (
    "Every table and figure of the five papers that shoal implements, computed by shoal on this machine, "
    "with the paper's "
    "figure beside ours and a sentence where they differ."
)


def reproduce_papers(
    out: Path | str = Path("reproduced"),
    papers: Sequence[str] = (),
    progress: Progress = quiet,
    *,
    overwrite: bool = False,
) -> tuple[dict[str, float], list[str]]:
    """Run the papers' experiments and write a Markdown and an HTML page.

    Parameters
    ----------
    out
        A folder, created if it does not exist.
    papers
        Names in :data:`shoal.papers.PAPERS`; all by default.
    overwrite
        Whether existing pages and pictures are replaced.

    Returns
    -------
    tuple
        The seconds for each paper, and the titles of the sections that were skipped because their data is missing.
    """
    chosen, folder = tuple(papers or PAPERS), Path(out)
    for name in chosen:
        if name not in PAPERS:
            raise PlanError("command.unknown-paper", paper=name, allowed=", ".join(PAPERS))
    _make(folder)
    for name in PAGES:
        check_target(folder / name, overwrite, {})
    results = []
    seconds = {}
    for number, name in enumerate(chosen):
        progress(f"reproducing {name.replace('_', ' ')}", number / len(chosen))
        start = time.perf_counter()
        module = importlib.import_module(f"shoal.papers.{name}")
        results.append((module.TITLE, module.sections()))
        seconds[name] = time.perf_counter() - start
    pages = (to_markdown(TITLE, INTRODUCTION, results), to_html(TITLE, INTRODUCTION, results))
    texts = dict(zip(PAGES, pages, strict=True))
    texts |= {section.picture: section.chart for _, sections in results for section in sections if section.chart}
    for name in texts:
        check_target(folder / name, overwrite, {})
    for name, text in texts.items():
        write_text_atomic(folder / name, text)
    return seconds, [section.title for _, sections in results for section in sections if section.missing_data]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError("command.pages-not-writable", folder=str(folder), reason=error.strerror) from None
