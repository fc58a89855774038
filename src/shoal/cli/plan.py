"""``shoal plan``: look at a table and write a first plan for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["plan"]


def plan(
    table: Annotated[Path, typer.Argument(help="The table: CSV, or Parquet (a file or a directory).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the plan goes.")] = Path("plan.toml"),
    k: Annotated[int, typer.Option(min=2, help="The smallest group to ask for.")] = 5,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a plan that exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    encoding: Annotated[str | None, typer.Option(help="Of a CSV: utf-8, utf-16 or latin-1.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV, where it is not found out rightly.")] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether a CSV's first line names the columns.")
    ] = None,
) -> None:
    """Look at the columns of a table; suggest roles, hierarchies and models; write a commented plan.

    Direct identifiers (names, e-mail addresses, telephone and national numbers, ...) are told by a column's name and by
    its content. The plan runs as it is; read it before you trust it.

    \b
    Example:  shoal plan patients.csv && shoal release plan.toml
              shoal plan export.csv --encoding latin-1 --delimiter ";"
    """
    from shoal.cli.console import figure, output, rows_table, safe
    from shoal.engines.csv_format import CsvFormat
    from shoal.errors import OutputError, PlanError
    from shoal.functions import draft

    if out.exists() and not overwrite:
        raise OutputError(
            f"The plan {str(out)!r} exists. Choose another name (-o), or allow overwriting (--overwrite)."
        )
    if delimiter is not None and len(delimiter) != 1:
        raise PlanError(f"The delimiter must be one character; found {len(delimiter)}.")
    form = CsvFormat(delimiter=delimiter, header=header, encoding=encoding)
    drafted = draft(table, k=k, folder=out.parent, source=form)
    drafted.save(out, overwrite=overwrite)
    profile = drafted.profile
    if as_json:
        print(json.dumps({**profile.to_dict(), "plan": str(out)}))
        return
    shown = [
        (column.name, column.kind, figure(column.distinct), f"{column.unique / profile.rows:.1%}", column.role,
         column.reason)
        for column in profile.columns
    ]  # fmt: skip
    columns = ("column", "kind", "values", "rows alone", "role", "because")
    output.print(
        rows_table(f"{profile.rows:,} rows; {profile.unique:,} are alone in all quasi-identifiers", columns, shown)
    )
    for pair in profile.pairs[:3]:
        if pair.unique:
            both = " with ".join(map(safe, pair.columns))
            output.print(f"{both}: {pair.unique / profile.rows:.1%} of the rows are alone in it")
    output.print(f"Plan: {safe(out)}. Read it, then run: shoal release {safe(out)}")
