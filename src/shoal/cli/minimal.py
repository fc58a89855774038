"""``shoal minimal``: all minimal full-domain recodings of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def minimal(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML); its method must be full-domain, or missing.")],
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
) -> None:
    """List all minimal full-domain recodings that meet the plan's models.

    Each comes with its loss, its groups and, where a sensitive column has categories, the groups and rows that the
    similarity attack exposes: those whose values are all of one category. Nothing is written.

    \b
    Example:  shoal minimal plan.toml
    """
    from shoal.api import functions
    from shoal.cli.console import print_rows, progress

    with progress(as_json) as show:
        found = functions.minimal_recodings(plan, progress=show)
    if as_json:
        print(json.dumps({"minimal": [one.to_dict() for one in found]}, ensure_ascii=False))
        return
    names = list(found[0].levels) if found else []
    rows = [
        [*one.levels.values(), one.loss, one.groups, one.suppressed]
        + (["-", "-"] if one.exposed_groups is None else [one.exposed_groups, one.exposed_rows])
        for one in found
    ]
    title = f"{len(found)} minimal recodings: the level of each column, and what it costs"
    print_rows(title, [*names, "loss", "groups", "suppressed", "exposed groups", "exposed rows"], rows)
