"""``shoal attack``: the disclosure risk of a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.linked import Ignored, Knows, Links, Root, Tables, audit_files, show_audit
from shoal.cli.options import TABLES, EngineName, Master, settings_of
from shoal.formatting import fixed, format_value, number, percent

if TYPE_CHECKING:
    from shoal.audit.assess import RiskAssessment
    from shoal.plan.plan import Plan
    from shoal.risk.attacks import AttackResult
    from shoal.risk.attacks_facts import FactsNeeded
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
    from shoal.cli.console import output, progress
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
    if attacks.people is not None:
        found = attacks.people
        output.print(
            f"{format_value(found.exposed)} of {format_value(found.total)} people have rows in groups of fewer than "
            f"{format_value(found.least)} people. Attacks on rows below take every row for a person."
        )
    if attacks.facts is not None:
        output.print(_facts_line(attacks.facts))
    _show(attacks.results, risk)


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


def _facts_line(facts: FactsNeeded) -> str:
    """Describe how many facts suffice for identification."""
    counted = len(facts.rows)
    if facts.suffice is None:
        return f"Nobody is singled out by {counted} {'facts' if counted > 1 else 'fact'} or fewer."
    each = facts.people or facts.original_rows or facts.rows
    listed = ", ".join(f"{number(count)} by {facts}" for facts, count in enumerate(each, 1))
    what = "people" if facts.people else "rows of the original" if facts.original_rows else "rows"
    suffice = "facts suffice" if facts.suffice > 1 else "fact suffices"
    return f"{facts.suffice} {suffice} to single somebody out; {what} that are found, by number of facts: {listed}."


def _show(results: Sequence[AttackResult], risk: RiskAssessment) -> None:
    from rich.table import Table

    from shoal.cli.console import output, safe

    figures = risk.reidentification
    output.print(
        f"{format_value(risk.rows)} rows in {format_value(risk.groups)} groups, the smallest of "
        f"{format_value(risk.smallest_group)}. "
        f"An intruder who knows that a person is in the table finds the row with a probability of at most "
        f"{percent(figures.prosecutor.highest)}, {percent(figures.prosecutor.average)} on average; "
        f"{percent(figures.prosecutor.at_risk)} of rows are above {percent(figures.threshold, 0)}."
    )
    if figures.journalist is not None:
        output.print(
            f"One who does not know it: at most {percent(figures.journalist.highest)}, "
            f"{percent(figures.journalist.average)} on average."
        )
    if risk.uniqueness is not None:
        output.print(
            f"{format_value(risk.uniqueness.sample_uniques)} rows are unique; of the population about "
            f"{format_value(round(risk.uniqueness.dankar))} people are ({risk.uniqueness.chosen})."
        )
    table = Table(title="What an intruder learns", title_justify="left")
    table.add_column("attack", min_width=12)  # the longest word in it
    table.add_column("learns", overflow="fold")
    for column in ("attacked", "exposed", "share", "guessed without"):
        table.add_column(column, justify="right")
    for result in results:
        if not result.people:  # such as a part of the table that could not be published at all
            table.add_row(safe(result.name), "nothing to attack", "0", "", "", "")
            continue
        colour = "red" if result.exposed > result.baseline else "green" if not result.exposed else "yellow"
        table.add_row(
            safe(result.name),
            safe(_disclosure(result)),
            f"{format_value(result.people)} {result.counts}",
            f"[{colour}]{format_value(result.exposed)}[/]",
            percent(result.share),
            fixed(result.baseline, 1).removesuffix(".0"),
        )
    output.print(table)
    for result in results:
        if result.rows:
            listed = ", ".join(map(str, result.rows[:20])) + (", ..." if len(result.rows) > 20 else "")
            output.print(f"Exposed to {safe(_disclosure(result))}: rows {listed} of the external table.")


def _disclosure(result: AttackResult) -> str:
    return result.learns if result.column is None else f"{result.learns} of {result.column}"
