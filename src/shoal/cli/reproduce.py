"""``shoal reproduce``: the papers' tables and figures, run here."""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["reproduce"]

PAPERS = ("switching", "microaggregation", "identifiability", "enhanced_models", "anti_unification")
INTRODUCTION = (
    "Every table and figure of the five papers that shoal implements, computed by shoal on this machine, "
    "with the paper's "
    "figure beside ours and a sentence where they differ."
)


def reproduce(
    out: Annotated[Path, typer.Option(help="Directory for the pages; created if it does not exist.")] = Path(
        "reproduced"
    ),
    paper: Annotated[
        list[str] | None, typer.Option(help=f"Only this one; may be repeated: {', '.join(PAPERS)}.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Run the experiments of the papers and write them as a Markdown and an HTML page.

    The data sets are read from the folder that the environment variable SHOAL_DATA names; without it, the page says
    what is missing and where it can be had, and holds what needs no data.

    \b
    Example:  SHOAL_DATA=~/data shoal reproduce
    """
    from shoal.cli.console import output, progress
    from shoal.errors import OutputError, PlanError
    from shoal.reproduce.page import to_html, to_markdown

    chosen = tuple(paper or PAPERS)
    for name in chosen:
        if name not in PAPERS:
            raise PlanError(f"There is no paper named {name!r}; known are {', '.join(PAPERS)}.")
    results = []
    seconds = {}
    with progress(as_json) as show:
        for number, name in enumerate(chosen):
            show(f"reproducing {name.replace('_', ' ')}", number / len(chosen))
            start = time.perf_counter()
            module = importlib.import_module(f"shoal.reproduce.{name}")
            results.append((module.TITLE, module.sections()))
            seconds[name] = time.perf_counter() - start
    title = "The papers' experiments, reproduced"
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "papers.md").write_text(to_markdown(title, INTRODUCTION, results), encoding="utf-8")
        (out / "papers.html").write_text(to_html(title, INTRODUCTION, results), encoding="utf-8")
        for section in (section for _, sections in results for section in sections if section.chart):
            (out / section.picture).write_text(section.chart, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"The pages cannot be written to {str(out)!r}: {error.strerror}.") from None
    missing = [section.title for _, sections in results for section in sections if section.lacking]
    if as_json:
        print(json.dumps({"pages": ["papers.md", "papers.html"], "seconds": seconds, "lacking": missing}))
        return
    output.print(f"Written: {out / 'papers.md'} and {out / 'papers.html'}", markup=False)
    for name, took in seconds.items():
        output.print(f"  {name.replace('_', ' ')}: {took:.1f} s", markup=False)
    if missing:
        output.print("Left out for want of data (set SHOAL_DATA): " + "; ".join(missing), markup=False)
