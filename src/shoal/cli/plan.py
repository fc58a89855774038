"""``shoal plan``: profile a table and write a first plan for it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.linked import draft_files
from shoal.cli.options import TABLES, EngineName, Master, settings_of
from shoal.formatting import fixed, format_value, number, percent

if TYPE_CHECKING:
    from shoal.advice.profile import Profile
    from shoal.advice.suggest_role import ColumnProfile

MIN_MERGED_COLUMNS = 6


def plan(
    table: Annotated[Path | None, typer.Argument(help=f"The table: {TABLES}.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file for the plan.")] = Path("plan.toml"),
    k: Annotated[
        int | None, typer.Option(min=2, help="Smallest group size. Default: 5, or less in a very small table.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite an existing plan.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
    encoding: Annotated[
        str | None, typer.Option(help="Of a CSV: CSV encoding: CSV encoding: utf-8, utf-16, latin-1 or cp1252.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="CSV delimiter. Default: detected.")] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line of a CSV file names the columns."),
    ] = None,
    time_zone: Annotated[str, typer.Option(help="Time zone for times that have one.")] = "UTC",
    try_methods: Annotated[
        bool, typer.Option("--rehearse/--no-rehearse", help="Try methods on a sample, and put the best into the plan.")
    ] = True,
    engine: EngineName = None,
    master: Master = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    recipient: Annotated[
        str | None,
        typer.Option(help="Recipient of the release: public, researchers or colleagues; sets the smallest group size."),
    ] = None,
    tables: Annotated[
        Path | None, typer.Option("--tables", help="A folder of linked files, in place of one table.")
    ] = None,
) -> None:
    """Draft a plan for a table: roles, hierarchies and models, with reasons.

    Direct identifiers (names, e-mail addresses, telephone and national numbers, ...) are recognized by the name and the
    content of a column. Methods are tried on a sample for some seconds, and the plan gets the one that loses least.
    The plan can run as it is; review it before you rely on it.

    \b
    Example:  shoal plan patients.csv && shoal release plan.toml
              shoal plan export.csv --encoding latin-1 --delimiter ";"
              shoal plan --tables folder/
    """
    from shoal.advice.try_methods import least_loss
    from shoal.api.functions import draft
    from shoal.cli.console import output, print_rows, progress, safe
    from shoal.errors import PlanError
    from shoal.io.formats.csv_dialect import CsvFormat
    from shoal.io.publish import check_target

    if tables is not None:
        if table is not None or encoding or delimiter or header is not None or engine or master or recipient:
            raise PlanError("linked.draft-options")
        check_target(out, overwrite, {"table": tuple(tables.iterdir()) if tables.is_dir() else ()})
        draft_files(tables, out, k, as_json)
        return
    if table is None:
        raise PlanError("command.table-missing")
    check_target(out, overwrite, {"table": (table,)})
    if delimiter is not None and len(delimiter) != 1:
        raise PlanError("command.delimiter-not-one-character", found=len(delimiter))
    form = CsvFormat(delimiter=delimiter, header=header, encoding=encoding)
    with progress(quiet or as_json) as show:
        drafted = draft(
            table, k=k, folder=out.parent, csv=form, rehearse=try_methods, engine=settings_of(engine, master),
            time_zone=time_zone, recipient=recipient, progress=show,
        )  # fmt: skip
    drafted.save(out, overwrite=overwrite)
    profile, tried = drafted.profile, drafted.tried
    if as_json:
        trials = [{"method": trial.method.name, "ncp": trial.loss, "rows": trial.rows} for trial in tried]
        print(json.dumps({**profile.to_dict(), "rehearsal": trials, "plan": str(out)}))
        return
    rows = _rows(profile)
    title = f"{number(profile.rows)} rows; {number(profile.unique)} are alone in all quasi-identifiers"
    print_rows(title, ("column", "role", "because"), rows)
    for pair in profile.pairs[:3]:
        if pair.unique:
            both = " with ".join(map(safe, pair.columns))
            output.print(f"{both}: {percent(pair.unique / profile.rows)} of the rows are alone in it")
    best = least_loss(tried)
    if best is not None:
        losses = ", ".join(f"{t.method.name} {'no release' if t.loss is None else fixed(t.loss, 2)}" for t in tried)
        output.print(
            f"Tried on {format_value(best.rows)} rows; part of the detail lost: {losses}. Planned: {best.method.name}."
        )
    output.print(f"Plan: {safe(out)}. Read it, then run: shoal release {safe(out)}")


def _rows(profile: Profile) -> list[tuple[str, str, str]]:
    """Return one row per column; merge columns with the same explanation.

    Columns are merged if many of them have the same role for the same reason. For columns that are dropped, only the
    reason counts; for others, the whole explanation.
    """
    from shoal.schema import Role

    texts = {column.name: _explanation(column, profile.rows) for column in profile.columns}
    key = {
        column.name: (column.role, column.reason if column.role is Role.DROP else texts[column.name])
        for column in profile.columns
    }
    frequencies = Counter(key.values())
    rows, merged = [], set()
    for column in profile.columns:
        role, because = key[column.name]
        count = frequencies[role, because]
        if count < MIN_MERGED_COLUMNS:
            rows.append((column.name, str(role), texts[column.name]))
        elif (role, because) not in merged:
            merged.add((role, because))
            rows.append((f"{column.name} and {count - 1} others", str(role), f"{because}; the plan lists them"))
    return rows


def _explanation(column: ColumnProfile, rows: int) -> str:
    """Describe a column and the reason for its role."""

    if column.kind == "empty":
        return column.reason
    kind = {"text": "value"}.get(column.kind, column.kind)
    parts = [f"{column.reason} ({number(column.distinct)} {kind}{'' if column.distinct == 1 else 's'}"]
    if column.unique:
        parts.append(f", {percent(column.unique / rows)} of rows alone")
    return "".join([*parts, ")", *(f"; {note}" for note in column.notes)])
