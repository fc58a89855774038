"""``shoal explain``: the sources of a plan's information loss.

It also names the change that would reduce the loss most.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.options import EngineName, Master, settings_of

if TYPE_CHECKING:
    pass


def explain(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML).")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write an HTML page with the chart to this file.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite an existing page.")] = False,
    time_limit: Annotated[float, typer.Option(min=1.0, help="Seconds after which no further change is tried.")] = 120.0,
    engine: EngineName = None,
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Measure what each column, model and parameter of a plan costs.

    The plan is run on a sample of at most 10,000 rows for every change, with nothing written. The loss (ncp) is of the
    columns that remain: 0 is none of the detail, 1 all of it.

    \b
    Example:  shoal explain plan.toml
              shoal explain plan.toml -o costs.html
    """
    from shoal.advice.explain import explain as run
    from shoal.advice.explain_chart import render_costs
    from shoal.cli.console import output, print_summary, progress, safe
    from shoal.io.publish import check_target, write_text_atomic
    from shoal.plan.plan import Plan

    loaded = Plan.read(plan)
    if out is not None:
        check_target(out, overwrite, loaded.inputs)
    with progress(quiet or as_json) as show:
        found = run(loaded, time_limit=time_limit, engine=settings_of(engine, master, loaded), progress=show)
    if out is not None:
        write_text_atomic(out, render_costs(found))
    if as_json:
        print(json.dumps({**found.to_dict(), **({"output": str(out)} if out else {})}))
        return
    print_summary(found.summary())
    if out is not None:
        output.print(f"Picture: {safe(out)}")
