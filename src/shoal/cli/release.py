"""``shoal release``: do what a plan says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import EngineName, Master, settings_of

__all__ = ["release"]

EXPLAINING = 120.0


def release(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML).")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a release that exists.")] = False,
    engine: EngineName = None,
    master: Master = None,
    recoding: Annotated[
        Path | None, typer.Option(help="Use a recoding that was kept with an earlier release, not the plan's method.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="An earlier released table: tell what both together leave of each crowd.")
    ] = None,
    save_recoding: Annotated[
        bool, typer.Option("--save-recoding", help="Keep the recoding beside the release, for the next delivery.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Draw in the report what the loss comes from; takes up to two minutes.")
    ] = False,
    expect_head: Annotated[
        str | None,
        typer.Option(
            help="A head of the plan's ledger, noted earlier; refuse where the ledger does not go on from it."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="A value in place of the plan's, such as columns.age.role=other; may be repeated."),
    ] = None,
    log_json: Annotated[
        Path | None, typer.Option(help="Add what happens to this file, one JSON object per line: steps and times.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Anonymize the table that a plan names: write the released table and its certificate.

    The released table is checked against the plan's models before it is moved to its place. Where that fails, or no
    release is possible, nothing is written.

    \b
    Example:  shoal release plan.toml
              shoal release plan.toml --json | jq .smallest_group
              shoal release plan.toml --engine spark --master "local[4]"
    """
    from shoal.api import functions
    from shoal.budget.methods.grids import Booked
    from shoal.cli.console import figure, folded_line, models_table, output, patterns_table, progress, safe
    from shoal.cli.log import logged
    from shoal.errors import PlanError, counted
    from shoal.methods.patterns.anti_unification import PatternFacts
    from shoal.plan.plan import Plan
    from shoal.plan.variables import shown
    from shoal.results.release import about_bound, about_few_columns

    loaded = Plan.read(plan, changes or ())
    loaded = replace(loaded, engine=settings_of(engine, master, loaded))
    if expect_head is not None:
        loaded = replace(loaded, method=_expecting(loaded.method, expect_head))
    if as_json and loaded.output is not None and loaded.output.is_standard:
        raise PlanError('The release itself goes to standard output (path = "-"); leave out --json.')
    with progress(quiet or as_json) as bar, logged(log_json, bar) as show:
        result = functions.release(
            loaded,
            overwrite=True if overwrite else None,
            recoding=recoding,
            previous=previous,
            save_recoding=save_recoding,
            explain=EXPLAINING if explain else None,
            progress=show,
        )
    answer = result.to_dict()
    assert loaded.output is not None
    if loaded.output.is_standard:  # the table is what stands there, and nothing else
        return
    if as_json:
        if "output" in answer:
            answer["output"] = shown(answer["output"])
        print(json.dumps(answer))
        return
    # a method whose promise forbids to tell about the source leaves these figures out
    of_rows = f" of {figure(answer['rows'])}" if "rows" in answer else ""
    suppressed = f"; {figure(answer['suppressed'])} suppressed" if "suppressed" in answer else ""
    groups = f" in {counted(answer['groups'], 'group')}, the smallest of {figure(answer['smallest_group'])}"
    few = about_few_columns(answer)
    output.print(f"[bold]Released[/] {figure(answer['released'])}{of_rows} rows{'' if few else groups}{suppressed}.")
    if few:
        output.print(few)
    if "people" in answer:
        people = answer["people"]
        output.print(f"They are rows of {figure(people['released'])} of {figure(people['total'])} people; the group of "
                     f"fewest people has {figure(people['smallest_group'])}.")  # fmt: skip
    if answer["models"]:
        output.print(models_table(answer["models"]))
    if "folded" in answer:
        output.print(folded_line(answer["folded"]))
    if "loss" in answer:
        output.print("Loss: " + ", ".join(f"{name} {figure(value)}" for name, value in answer["loss"].items()))
    facts = result.certificate.facts
    if booked := facts.of(Booked):
        promise, booking = booked.promise, booked.booking
        output.print(f"Promise: {', '.join(f'{name} = {figure(value)}' for name, value in promise.figures().items())}.")
        output.print(f"Booked as entry {figure(booking.number)}. Head of the ledger: {booking.head}", soft_wrap=True)
        for title, sentences in (("It holds if", promise.assumptions), ("It does not say", promise.not_promised)):
            output.print(f"{title}:")
            for sentence in sentences:
                output.print(f"  - {safe(sentence)}")
    if "intersection" in answer:
        both = answer["intersection"]
        output.print(
            f"With the earlier release: {figure(both['exposed'])} of {figure(both['people'])} people are left in a "
            f"crowd of fewer than {figure(both['crowd_below'])}; the smallest has {figure(both['smallest_crowd'])}."
        )
    for sentence in about_bound(answer):
        output.print(safe(sentence))
    if answer["optimal"] and "bound" not in answer:
        output.print("No recoding that the plan allows loses less: this is proven.")
    for warning in answer["warnings"]:
        output.print(f"[bold yellow]Warning:[/] {safe(warning['text'])}")
        if warning["code"] == "method" and "risk" in answer:
            output.print("Risk: " + ", ".join(f"{name} {figure(value)}" for name, value in answer["risk"].items()))
    found = facts.of(PatternFacts)
    if found and found.discarded.rare:
        first = (f"{' with '.join(rare.columns)} ({rare.records})" for rare in found.discarded.rare[:3])
        output.print(f"What makes rows that were left out rare, first of all: {safe(', '.join(first))}.")
    if found and found.pattern_set:
        output.print(patterns_table(found.pattern_set[:5]))
    for what, where in _places(loaded.output, result).items():
        output.print(f"{what}: {safe(shown(where))}")


def _places(told: Any, result: Any) -> dict[str, str]:
    """Where the table and its papers are."""
    from shoal.io.formats.urls import shown_path

    if told.database is not None:
        paper = told.certificate_file
        return {"Table": told.table} | ({} if paper is None else {"Certificate": str(paper)})
    table = result.path or told.path
    found = {"Table": shown_path(table), "Certificate": shown_path(told.certificate)}
    return found | ({"Report": shown_path(table.with_name(told.report_path.name))} if told.report else {})


def _expecting(method: Any, head: str) -> Any:
    """The plan's method with a head that its ledger must go on from."""
    from shoal.errors import PlanError

    if not hasattr(method, "expecting"):
        raise PlanError(
            f"A head can be expected of a ledger, which the method {method.name} does not have. Remove --expect-head."
        )
    return method.expecting(head)
