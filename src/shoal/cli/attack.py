"""``shoal attack``: the disclosure risk of a table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.linked import Ignored, Knows, Links, Root, Tables, audit_files, show_audit
from shoal.cli.options import TABLES, EngineName, Master, settings_of

if TYPE_CHECKING:
    from shoal.plan.plan import Plan
    from shoal.schema import Schema

NAMES = "Column names, separated by commas; may be repeated."


def attack(
    table: Annotated[Path | None, typer.Argument(help=f"The released table: {TABLES}.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Take roles, hierarchies, categories and models from here.")] = None,
    quasi_identifiers: Annotated[list[str] | None, typer.Option("--quasi-identifiers", "-q", help=NAMES)] = None,
    sensitive: Annotated[list[str] | None, typer.Option("--sensitive", "-s", help=NAMES)] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(
            help="Sensitivity categories, the most sensitive first: 'HIV,Cancer;Asthma;Flu'; see shoal check."
        ),
    ] = None,
    external: Annotated[
        Path | None, typer.Option(help="A table of people with some of the quasi-identifiers, to link with.")
    ] = None,
    original: Annotated[
        Path | None, typer.Option(help="The table that the release was made from: everybody is linked, audits run.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="An earlier release of the same rows, to lay beside this one; needs --original.")
    ] = None,
    person: Annotated[
        list[str] | None,
        typer.Option(
            "--person", help="Columns that say together whose rows they are, separated by commas: people are attacked."
        ),
    ] = None,
    household: Annotated[
        list[str] | None,
        typer.Option(
            "--household",
            help="Columns that say together who lives together: households are attacked too.",
        ),
    ] = None,
    population: Annotated[
        Path | None, typer.Option(help="Everybody whom the table is a sample of: for the journalist's risk.")
    ] = None,
    fraction: Annotated[
        float | None, typer.Option(help="Which part of the population is in the table, such as 0.01.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="Above which probability a row is at risk.")] = 0.2,
    excluded: Annotated[int, typer.Option(help="How many sensitive values the intruder can rule out.")] = 1,
    aligned: Annotated[bool, typer.Option("--aligned", help="Row i of the original is row i of the release.")] = False,
    locality: Annotated[
        bool,
        typer.Option("--locality", help="Rerun the plan's method on parts of the original; needs --plan, --original."),
    ] = False,
    missing: Annotated[list[str] | None, typer.Option(help="A text that stands for a missing value.")] = None,
    engine: EngineName = None,
    master: Master = None,
    time_zone: Annotated[
        str | None, typer.Option(help="The zone in which times with a zone are read; the plan's or UTC by default.")
    ] = None,
    root: Root = None,
    link: Links = None,
    tables: Tables = None,
    knows: Knows = None,
    ignore: Ignored = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Attack a released table and count the rows that would be exposed.

    Every row is taken for a person, unless --person says whose rows they are: then groups of few people, two rows,
    three rows or all rows of a person, and what several groups tell together, are counted in people. With --household
    every household is looked for by how many rows it has, and by what its rows show, which neighbours know.

    From the table alone: groups of one value (homogeneity) or one category (similarity), the best guess for everyone
    (inference), and what remains when some values can be ruled out (background knowledge); and how many facts, of the
    quasi-identifiers, suffice to single somebody out. With an external table:
    linkage, which understands published labels such as 20..24, <30, 142** or a hierarchy's. With the original: linkage
    of everybody, linkage by distance, the minimality attack and audits of how the release was made.

    Beside each stands what could be guessed without the release. Counts are told, and row numbers of the external
    table; never a value.

    \b
    Example:  shoal attack released.csv --plan plan.toml
              shoal attack released.csv --plan plan.toml --external voters.csv --original patients.csv
              shoal attack released.csv -q age,zip -s condition --categories "HIV,Cancer;Asthma;Flu" --json
              shoal attack --tables folder --sensitive diagnosis.code
    """
    from shoal.audit.assess import assess
    from shoal.audit.attack import attack as run
    from shoal.cli.check import names_of
    from shoal.cli.console import print_summary, progress
    from shoal.io.engines.spark_shared_session import shared_spark_session

    audit = audit_files(table, root, link, tables, knows, ignore, names_of(sensitive), None, missing)
    if audit is not None:
        show_audit(audit, as_json)
        return
    roles = roles_from(plan, quasi_identifiers, sensitive, categories)
    settings = settings_of(engine, master, roles)
    with progress(as_json) as show, shared_spark_session():
        show("attacking", None)
        attacks = run(
            table, roles, external=external, original=original, previous=previous, excluded=excluded, aligned=aligned,
            locality=locality, person=names_of(person), household=names_of(household), missing=missing or (),
            engine=settings, time_zone=time_zone,
        )  # fmt: skip
        show("assessing", None)
        risk = assess(
            table, roles, population=population, fraction=fraction, threshold=threshold, missing=missing or (),
            engine=settings, time_zone=time_zone,
        )  # fmt: skip
    if as_json:
        print(json.dumps({**attacks.to_dict(), "risk": risk.to_dict()}))
        return
    print_summary(risk.summary())
    print_summary(replace(attacks.summary(), figures=()))


def roles_from(
    plan: Path | None, quasi_identifiers: list[str] | None, sensitive: list[str] | None, categories: list[str] | None
) -> Plan | Schema:
    """Return roles from a plan or from options."""
    from shoal.audit.inputs import roles_of
    from shoal.cli.check import categories_of, names_of
    from shoal.errors import PlanError
    from shoal.plan.plan import Plan
    from shoal.schema import Column, Role

    if plan is not None:
        if quasi_identifiers or sensitive or categories:
            raise PlanError("command.plan-and-columns")
        return Plan.read(plan)
    quasi, secret = names_of(quasi_identifiers), names_of(sensitive)
    if not quasi:
        raise PlanError("command.known-columns-missing")
    classes = categories_of(categories or [], secret)
    return roles_of(None, quasi, {name: Column(Role.SENSITIVE, categories=classes.get(name)) for name in secret})
