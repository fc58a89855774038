"""``shoal attack``: what would an intruder learn from a table?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoal.engines.base import Source
    from shoal.engines.csv_format import CsvFormat
    from shoal.plan import Plan
    from shoal.risk import AttackResult, RiskAssessment
    from shoal.schema import Schema

__all__ = ["attack", "schema_from", "source_from"]

NAMES = "Column names, separated by commas; may be repeated."


def attack(
    table: Annotated[Path, typer.Argument(help="The released table: CSV, or Parquet (a file or a directory).")],
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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Attack a table, made here or elsewhere, and tell how many people would be exposed, and to what.

    From the table alone: groups of one value (homogeneity) or one category (similarity), the best guess for everyone
    (inference), and what remains when some values can be ruled out (background knowledge). With an external table:
    linkage, which understands published labels such as 20-24, <30, 142** or a hierarchy's. With the original: linkage
    of everybody, linkage by distance, the minimality attack and audits of how the release was made.

    Beside each stands what could be guessed without the release. Counts are told, and row numbers of the external
    table; never a value.

    \b
    Example:  shoal attack released.csv --plan plan.toml
              shoal attack released.csv --plan plan.toml --external voters.csv --original patients.csv
              shoal attack released.csv -q age,zip -s condition --categories "HIV,Cancer;Asthma;Flu" --json
    """
    from shoal.cli.console import progress
    from shoal.engines.csv_format import CsvFormat
    from shoal.errors import PlanError
    from shoal.risk import assess
    from shoal.risk import attack as run

    loaded, schema = schema_from(plan, quasi_identifiers, sensitive, categories)
    if locality and (loaded is None or original is None):
        raise PlanError("The audit of locality reruns the plan's method on the original; give --plan and --original.")
    gaps = (*(missing or ()), *(loaded.source.csv.missing if loaded is not None and loaded.source else ()))
    form = CsvFormat(missing=gaps)
    source = None if original is None else source_from(original, loaded, form)
    with progress(as_json) as show:
        show("attacking", None)
        attacks = run(
            table, schema, external=external, original=source, previous=previous, excluded=excluded, aligned=aligned,
            models=() if loaded is None else loaded.models, source=form,
        )  # fmt: skip
        results = list(attacks.results)
        if locality and loaded is not None:
            show("rerunning the method", None)
            results.append(_locality(loaded, source))
        show("assessing", None)
        risk = assess(table, schema, population=population, fraction=fraction, threshold=threshold, source=form)
    if as_json:
        answer = attacks.to_dict()
        answer["attacks"] = [result.to_dict() for result in results]
        print(json.dumps({**answer, "risk": risk.to_dict()}))
        return
    _show(results, risk)


def schema_from(
    plan: Path | None, quasi_identifiers: list[str] | None, sensitive: list[str] | None, categories: list[str] | None
) -> tuple[Plan | None, Schema]:
    """Roles from a plan, or from options."""
    from shoal.cli.check import categories_of, names_of
    from shoal.errors import PlanError
    from shoal.plan import Plan
    from shoal.schema import Column, Role, Schema

    if plan is not None:
        if quasi_identifiers or sensitive or categories:
            raise PlanError("Give either --plan or --quasi-identifiers, --sensitive and --categories, not both.")
        loaded = Plan.read(plan)
        return loaded, loaded.schema
    quasi, secret = names_of(quasi_identifiers), names_of(sensitive)
    if not quasi:
        raise PlanError("Say which columns are known to an intruder: --plan plan.toml, or --quasi-identifiers age,zip.")
    both = sorted(set(quasi) & set(secret))
    if both:
        raise PlanError(f"A column must have one role; {both[0]!r} is both quasi-identifier and sensitive.")
    classes = categories_of(categories or [], secret)
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in quasi}
    return None, Schema(columns | {name: Column(Role.SENSITIVE, categories=classes.get(name)) for name in secret})


def source_from(path: Path, plan: Plan | None, form: CsvFormat) -> Source:
    """The original as the plan says that it is written, or as it looks."""
    from shoal.engines.base import Source

    given = None if plan is None else plan.source
    if given is not None and given.path is not None and path.resolve() == given.path.resolve():
        return Source(path, csv=given.csv, format=given.format)
    return Source(path, csv=form)


def _locality(plan: Plan, source: Source | None) -> AttackResult:
    from dataclasses import replace

    from shoal import pipeline
    from shoal.risk.attacks_audits import audit_locality, row_column
    from shoal.schema import Column, Role, Schema
    from shoal.utility.tables import read_arrow

    original = read_arrow(source)
    marker = row_column(original.column_names)
    schema = Schema({**plan.schema.columns, marker: Column(Role.OTHER)})
    # a rehearsal: a method with a budget must not spend it on an audit
    method, models = plan.method.rehearsal(), plan.model.parts
    marked = replace(plan, schema=schema, method=method, models=models, source=None, output=None)
    return audit_locality(original, plan.schema, lambda part: pipeline.anonymize(part, marked).table)


def _show(results: list[AttackResult], risk: RiskAssessment) -> None:
    from rich.table import Table

    from shoal.cli.console import figure, output, safe
    from shoal.report.markup import percent

    figures = risk.reidentification
    output.print(
        f"{figure(risk.rows)} rows in {figure(risk.groups)} groups, the smallest of {figure(risk.smallest_group)}. "
        f"An intruder who knows that a person is in the table finds the row with a probability of at most "
        f"{percent(figures.prosecutor.highest)}, {percent(figures.prosecutor.average)} on average; "
        f"{percent(figures.prosecutor.at_risk)} of rows are above {figures.threshold:.0%}."
    )
    if figures.journalist is not None:
        output.print(
            f"One who does not know it: at most {percent(figures.journalist.highest)}, "
            f"{percent(figures.journalist.average)} on average."
        )
    if risk.uniqueness is not None:
        output.print(
            f"{figure(risk.uniqueness.sample_uniques)} rows are unique; of the population about "
            f"{figure(round(risk.uniqueness.dankar))} people are ({risk.uniqueness.chosen})."
        )
    shown = Table(title="What an intruder learns", title_justify="left")
    shown.add_column("attack", min_width=12)  # the longest word in it
    shown.add_column("learns", overflow="fold")
    for column in ("people", "exposed", "share", "guessed without"):
        shown.add_column(column, justify="right")
    for result in results:
        if not result.people:  # such as a part of the table that could not be published at all
            shown.add_row(safe(result.name), "nothing to attack", "0", "", "", "")
            continue
        colour = "red" if result.exposed > result.baseline else "green" if not result.exposed else "yellow"
        shown.add_row(
            safe(result.name),
            safe(_learns(result)),
            figure(result.people),
            f"[{colour}]{figure(result.exposed)}[/]",
            percent(result.share),
            f"{result.baseline:,.1f}".removesuffix(".0"),
        )
    output.print(shown)
    for result in results:
        if result.rows:
            listed = ", ".join(map(str, result.rows[:20])) + (", ..." if len(result.rows) > 20 else "")
            output.print(f"Exposed to {safe(_learns(result))}: rows {listed} of the external table.")


def _learns(result: AttackResult) -> str:
    return result.learns if result.column is None else f"{result.learns} of {result.column}"
