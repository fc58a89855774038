"""``shoal explain``: the sources of a plan's information loss.

It also names the change that would reduce the loss most.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.options import EngineName, Master, settings_of
from shoal.formatting import fixed, format_value

if TYPE_CHECKING:
    from shoal.advice.explain import Cost, Explanation


def explain(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML).")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a page with the picture here (HTML).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a page that exists.")] = False,
    time_limit: Annotated[float, typer.Option(min=1.0, help="Seconds after which no further change is tried.")] = 120.0,
    engine: EngineName = None,
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
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
    from shoal.cli.console import output, progress, rows_table, safe
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
    prefix = "a sample of " if found.sampled else ""
    lost = "there is no release" if found.loss is None else f"the loss is {fixed(found.loss, 2)} (ncp)"
    output.print(f"As the plan stands, on {prefix}{format_value(found.rows)} rows, {lost}. {safe(found.why)}")
    rows = [(str(cost), _format_loss(cost, found)) for cost in (*found.without, *found.with_)]
    output.print(rows_table("What it would be otherwise", ("change", "loss"), rows))
    if found.untried:
        output.print(f"{format_value(found.untried)} changes were not tried: the time was over (--time-limit).")
    if found.advice is not None and found.advice.loss is not None:
        output.print(f"What helps most: {safe(found.advice)}, the loss is {fixed(found.advice.loss, 2)}.")
    if out is not None:
        output.print(f"Picture: {safe(out)}")


def _format_loss(cost: Cost, found: Explanation) -> str:
    if cost.loss is None:
        return "no release"
    change = "" if found.loss is None else f" ({fixed(cost.loss - found.loss, 2, signed=True)})"
    return f"{fixed(cost.loss, 2)}{change}"
