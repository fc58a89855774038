"""``shoal explore``: methods and parameters side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, cast

import typer


def explore(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML).")],
    method: Annotated[
        list[str] | None, typer.Option("--method", help="A method to try; may be repeated. Six by default.")
    ] = None,
    k: Annotated[
        list[int] | None, typer.Option(min=2, help="A k to try; may be repeated. The plan's and twice that by default.")
    ] = None,
    suppression: Annotated[
        list[float] | None,
        typer.Option(help="A limit of suppression to try, for methods that leave rows out; may be repeated."),
    ] = None,
    loss: Annotated[str, typer.Option(help="The loss to compare by.")] = "ncp",
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds after which a trial is ended.")] = 60.0,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; as many as cores by default.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Name of the table and the picture, without extension.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Compare methods and parameters for a plan: loss against risk.

    Every trial is a whole run, verified, of which nothing is kept but its figures: a table (CSV) and a picture (HTML).
    Exit status 3 where no trial meets the plan's models.

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
