"""``shoal attack``: the disclosure risk of a table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.linked import Ignored, Knows, Links, Root, Tables, audit_by_plan, audit_files, show_audit
from shoal.cli.options import TABLES, EngineName, Master, settings_of

if TYPE_CHECKING:
    from shoal.plan.plan import Plan
    from shoal.schema import Schema

NAMES = "Column names, separated by commas; may be repeated."


def attack(
    table: Annotated[Path | None, typer.Argument(help=f"The released table: {TABLES}.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Plan with roles, hierarchies, categories and models.")] = None,
    quasi_identifiers: Annotated[list[str] | None, typer.Option("--quasi-identifiers", "-q", help=NAMES)] = None,
    sensitive: Annotated[list[str] | None, typer.Option("--sensitive", "-s", help=NAMES)] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(help="Sensitivity categories, most sensitive first: 'HIV,Cancer;Asthma;Flu'. See shoal check."),
    ] = None,
    external: Annotated[
        Path | None, typer.Option(help="External table of people to link with; has some of the quasi-identifiers.")
    ] = None,
    original: Annotated[
        Path | None, typer.Option(help="Original table, to link everyone and to run the audits.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="Earlier release of the same rows, to combine with this one; needs --original.")
    ] = None,
    person: Annotated[
        list[str] | None,
        typer.Option(
            "--person",
            help="Columns that together identify a person, separated by commas; attack people instead of rows.",
        ),
    ] = None,
    household: Annotated[
        list[str] | None,
        typer.Option(
            "--household",
            help="Columns that together identify a household, separated by commas; attack households as well.",
        ),
    ] = None,
    population: Annotated[Path | None, typer.Option(help="Population table, for journalist risk.")] = None,
    fraction: Annotated[
        float | None, typer.Option(help="Sampling fraction: the share of the population in the table, such as 0.01.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="Probability above which a row is at risk.")] = 0.2,
    excluded: Annotated[int, typer.Option(help="Number of sensitive values that the intruder can rule out.")] = 1,
    aligned: Annotated[
        bool, typer.Option("--aligned", help="Row i of the release comes from row i of the original.")
    ] = False,
    locality: Annotated[
        bool,
        typer.Option(
            "--locality", help="Run the plan's method again on parts of the original; needs --plan and --original."
        ),
    ] = False,
    missing: Annotated[list[str] | None, typer.Option(help="Text that marks a missing value.")] = None,
    engine: EngineName = None,
    master: Master = None,
    time_zone: Annotated[
        str | None, typer.Option(help="Time zone for times that have one. Default: the plan's, or UTC.")
    ] = None,
    root: Root = None,
    link: Links = None,
    tables: Tables = None,
    knows: Knows = None,
    ignore: Ignored = None,
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
) -> None:
    """Attack a released table and count the rows that would be exposed.

    Every row counts as a person, unless --person names the columns that identify one. Then the attacks count people:
    groups of few people, intruders who know two, three or all rows of a person, and several groups combined. With
    --household, neighbours who know the rows of a household attack as well.

    From the table alone: groups with one value (homogeneity) or one category (similarity), the best guess for everyone
    (inference), guesses after ruling out some values (background knowledge), and the number of quasi-identifiers that
    single out a person. With an external table: linkage, which understands published labels such as 20..24, <30, 142**
    or those of a hierarchy. With the original: linkage of everyone, linkage by distance, the minimality attack, and
    audits of how the release was made.

    Each result is compared with a guess without the release. The output has counts, and row numbers of the external
    table, but never a value.

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

    options = (root, link, knows, ignore, sensitive, quasi_identifiers, categories, external, original)
    audit = audit_by_plan(plan, table, tables, options)
    if audit is None:
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
