"""``shoal release``: do what a plan says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["release"]


def release(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML).")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a release that exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Anonymize the table that a plan names: write the released table and its certificate.

    The released table is checked against the plan's models before it is moved to its place. Where that fails, or no
    release is possible, nothing is written.

    \b
    Example:  shoal release plan.toml
              shoal release plan.toml --json | jq .smallest_group
    """
    from shoal import pipeline
    from shoal.cli.console import figure, models_table, output, progress, safe
    from shoal.plan import Plan

    loaded = Plan.read(plan)
    with progress(quiet or as_json) as show:
        result = pipeline.release(loaded, overwrite=True if overwrite else None, progress=show)
    answer = result.to_dict()
    if as_json:
        print(json.dumps(answer))
        return
    assert loaded.output is not None
    output.print(f"[bold]Released[/] {figure(answer['released'])} of {figure(answer['rows'])} rows "
                 f"in {figure(answer['groups'])} groups, the smallest of {figure(answer['smallest_group'])}; "
                 f"{figure(answer['suppressed'])} suppressed.")  # fmt: skip
    output.print(models_table(answer["models"]))
    output.print("Loss: " + ", ".join(f"{name} {figure(value)}" for name, value in answer["loss"].items()))
    output.print(f"Table: {safe(loaded.output.path)}\nCertificate: {safe(loaded.output.certificate)}")
