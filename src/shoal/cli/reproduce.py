"""``shoal reproduce``: the tables and figures of the papers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from shoal.formatting import fixed
from shoal.papers import PAPERS


def reproduce(
    out: Annotated[Path, typer.Option(help="Directory for the pages; created if needed.")] = Path("reproduced"),
    paper: Annotated[
        list[str] | None, typer.Option(help=f"Only this one; may be repeated: {', '.join(PAPERS)}.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Overwrite existing pages and pictures.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
) -> None:
    """Run the papers' experiments and write them as Markdown and HTML.

    The environment variable SHOAL_DATA names the folder of the data sets. Without it, the page has only the experiments
    that need no data, and lists where to get the rest.

    \b
    Example:  SHOAL_DATA=~/data shoal reproduce
    """
    from shoal.cli.console import output, progress
    from shoal.papers.run import reproduce_papers

    with progress(as_json) as show:
        seconds, missing = reproduce_papers(out, paper or (), show, overwrite=overwrite)
    if as_json:
        print(json.dumps({"pages": ["papers.md", "papers.html"], "seconds": seconds, "lacking": missing}))
        return
    output.print(f"Written: {out / 'papers.md'} and {out / 'papers.html'}", markup=False)
    for name, took in seconds.items():
        output.print(f"  {name.replace('_', ' ')}: {fixed(took, 1)} s", markup=False)
    if missing:
        output.print("Left out for want of data (set SHOAL_DATA): " + "; ".join(missing), markup=False)
