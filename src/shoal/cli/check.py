"""``shoal check``: verify models on a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.linked import Ignored, Knows, Links, Root, Tables, audit_by_plan, audit_files, show_audit
from shoal.cli.options import TABLES, EngineName, Master, settings_of
from shoal.formatting import format_value

if TYPE_CHECKING:
    from shoal.schema import Categories


def check(
    table: Annotated[Path | None, typer.Argument(help=f"The table: {TABLES}.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Plan with roles and models.")] = None,
    quasi_identifiers: Annotated[
        list[str] | None,
        typer.Option("--quasi-identifiers", "-q", help="Column names, separated by commas; may be repeated."),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", "-s", help="Column names, separated by commas; may be repeated."),
    ] = None,
    person: Annotated[
        list[str] | None,
        typer.Option(
            "--person",
            help="Columns that together identify a person, separated by commas; count people instead of rows.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="Model, such as 'k-anonymity k=5'; may be repeated.")
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(
            help="Sensitivity categories, the most sensitive first: 'HIV,Cancer;Asthma;Flu', or 'column=...' where "
            "there are several sensitive columns."
        ),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="CSV delimiter. Default: detected.")] = None,
    encoding: Annotated[str | None, typer.Option(help="CSV encoding: utf-8, utf-16, latin-1 or cp1252.")] = None,
    missing: Annotated[list[str] | None, typer.Option(help="Text that marks a missing value.")] = None,
    memory: Annotated[str | None, typer.Option(help="Memory limit, such as 1GB; larger tables use the disk.")] = None,
    time_zone: Annotated[
        str | None, typer.Option(help="Time zone for times that have one. Default: the plan's, or UTC.")
    ] = None,
    engine: EngineName = None,
    master: Master = None,
    require_complete: Annotated[
        bool,
        typer.Option(
            "--require-complete",
            help="Exit with status 1 also if the table is not enough to check every model of the plan.",
        ),
    ] = False,
    root: Root = None,
    link: Links = None,
    tables: Tables = None,
    knows: Knows = None,
    ignore: Ignored = None,
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
) -> None:
    """Check a table against models; exit status 0 if it meets them, 1 if not.

    Every group is tested. The answer has the number and size of failing groups, and the strictest parameters that
    the table meets, such as the largest k and the smallest t.

    Models: k-anonymity k; p-sensitive p; p-alpha-sensitive p alpha; p-plus-alpha-sensitive p alpha;
    l-diversity l kind=distinct|entropy|recursive c; t-closeness t distance=equal|ordered|hierarchical;
    alpha-k alpha k; delta-disclosure delta; beta-likeness beta kind=basic|enhanced;
    risk highest average.

    \b
    Example:  shoal check released.csv -q age,country,zip -s condition -m "k-anonymity k=4" -m "p-sensitive p=2"
              shoal check released.csv --plan plan.toml
              shoal check --root person.csv --link visit.csv:person_id --knows facts=2 -m "k-anonymity k=5"
              shoal check --tables release/ --plan plan.toml
    """
    from shoal.api import functions
    from shoal.cli.console import folded_line, output, print_grid, progress, safe
    from shoal.errors import PlanError
    from shoal.io.formats.csv_dialect import CsvFormat
    from shoal.plan.plan import Plan
    from shoal.schema import Column, Role
    from shoal.verification.check import verdict_grid

    options = (root, link, knows, ignore, sensitive, model, quasi_identifiers, categories)
    audit = audit_by_plan(plan, table, tables, options)
    if audit is None:
        audit = audit_files(table, root, link, tables, knows, ignore, names_of(sensitive), model, missing)
    if audit is not None:
        show_audit(audit, as_json)
        raise typer.Exit(0 if audit.holds else 1)
    if plan is not None and (quasi_identifiers or sensitive or categories):
        raise PlanError("command.plan-and-columns")
    loaded = None if plan is None else Plan.read(plan)
    if loaded is not None:
        # a missing value of the plan's source must not help a model in this table either
        missing = [*(missing or ()), *(loaded.source.csv.missing if loaded.source else ())]
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    form = CsvFormat(delimiter=delimiter, encoding=encoding, missing=tuple(missing or ()))
    secret = names_of(sensitive)
    classes = categories_of(categories or [], secret)
    with progress(as_json) as show:
        result = functions.check(
            table,
            model or [],
            quasi_identifiers=names_of(quasi_identifiers),
            sensitive={name: Column(Role.SENSITIVE, categories=classes.get(name)) for name in secret},
            person=names_of(person),
            plan=loaded,
            csv=form,
            engine=settings_of(engine, master, loaded, memory),
            time_zone=time_zone,
            progress=show,
        )
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        verdict = "[green bold]holds[/]" if result.holds else "[red bold]does not hold[/]"
        output.print(
            f"{format_value(result.rows)} rows in {format_value(result.groups)} groups, the smallest of "
            f"{format_value(result.smallest_group)}: {verdict}."
        )
        if result.people is not None:
            output.print(
                f"They are rows of {format_value(result.people.total)} people; the group of fewest people has "
                f"{format_value(result.people.smallest_group)}."
            )
        print_grid(verdict_grid([verdict.to_dict() for verdict in result.models]))
        if result.folded:
            output.print(folded_line(result.folded))
        for warning in result.warnings:
            output.print(f"[bold yellow]Warning:[/] {safe(warning['text'])}")
        if result.failing_groups:
            sizes = result.failing_sizes
            output.print(
                f"{format_value(result.failing_groups)} groups fail, of {format_value(sizes[0])} to "
                f"{format_value(sizes[-1])} rows, "
                f"{format_value(result.failing_rows)} rows together."
            )
    if not result.complete:
        print(f"Not the whole question was answered: {' '.join(result.unanswered)}", file=sys.stderr)
    raise typer.Exit(0 if result.holds and (result.complete or not require_complete) else 1)


def names_of(options: list[str] | None) -> list[str]:
    """Split repeated options into names.

    A comma separates names; a doubled comma stands for a comma.
    """
    names = []
    for option in options or []:
        names += [name.replace("\0", ",") for name in option.replace(",,", "\0").split(",")]
    return [name for name in names if name]


def categories_of(options: list[str], sensitive: list[str]) -> dict[str, Categories]:
    """Parse sensitivity categories from repeated options, by column."""
    from shoal.errors import PlanError
    from shoal.schema import Categories

    chosen = {}
    for option in options:
        named = [name for name in sensitive if option.startswith(f"{name}=")]
        if not named and len(sensitive) != 1:
            raise PlanError("command.categories-malformed")
        column, text = (named[0], option.removeprefix(f"{named[0]}=")) if named else (sensitive[0], option)
        classes = ([value.strip() for value in part.split(",")] for part in text.split(";"))
        chosen[column] = Categories(tuple(tuple(value for value in values if value) for values in classes))
    return chosen
