"""``shoal explore``: methods and parameters side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, cast

import typer


def explore(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML).")],
    method: Annotated[
        list[str] | None, typer.Option("--method", help="Method to try; may be repeated. Default: six methods.")
    ] = None,
    k: Annotated[
        list[int] | None, typer.Option(min=2, help="k to try; may be repeated. Default: the plan's k, and twice that.")
    ] = None,
    suppression: Annotated[
        list[float] | None,
        typer.Option(help="Suppression limit to try, for methods that suppress rows; may be repeated."),
    ] = None,
    loss: Annotated[str, typer.Option(help="Loss measure to compare by.")] = "ncp",
    time_limit: Annotated[float, typer.Option(min=0.1, help="Time limit of a trial, in seconds.")] = 60.0,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Name of the output table and chart, without extension.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite existing files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Compare methods and parameters for a plan: loss against risk.

    Every trial is a complete, verified run. Only its figures are saved: a table (CSV) and a chart (HTML). Exit status
    3 if no trial meets the plan's models.

    \b
    Example:  shoal explore plan.toml
              shoal explore plan.toml --method mondrian --method full-domain --k 5 --k 10 --suppression 0.02
    """
    from shoal.advice.explore import explore as run
    from shoal.cli.console import output, print_summary, progress, safe
    from shoal.errors import InfeasibleError
    from shoal.io.publish import check_target, write_text_atomic
    from shoal.plan.plan import Plan

    loaded = Plan.read(plan)
    base = out or plan.with_name(f"{plan.stem}.explore")
    targets = (base.with_name(f"{base.name}.csv"), base.with_name(f"{base.name}.html"))
    for target in targets:
        check_target(target, overwrite, loaded.inputs)
    with progress(quiet or as_json) as show:
        found = run(
            loaded,
            methods=method or (),
            ks=k or (),
            suppressions=suppression or (),
            measure=cast(Any, loss),
            workers=workers,
            time_limit=time_limit,
            progress=show,
            so_far=lambda done: write_text_atomic(targets[0], done.to_csv()),  # a killed run leaves its results so far
        )
    write_text_atomic(targets[1], found.plot(str(loaded.model)).html)
    if as_json:
        print(json.dumps({**found.to_dict(), "table": str(targets[0]), "picture": str(targets[1])}))
    else:
        print_summary(found.summary())
        output.print(f"Table: {safe(targets[0])}\nPicture: {safe(targets[1])}")
    if found.chosen is None:
        raise InfeasibleError("explore.no-trial-feasible")
