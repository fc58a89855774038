"""``shoal release``: execute a plan."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.linked import release_files
from shoal.cli.options import EngineName, Master, settings_of
from shoal.formatting import format_parameters, format_value, number

EXPLAIN_SECONDS = 120.0


def release(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML).")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite an existing release.")] = False,
    engine: EngineName = None,
    master: Master = None,
    recoding: Annotated[
        Path | None, typer.Option(help="Apply a saved recoding instead of running the plan's method.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="Earlier released table: report the crowds that remain if both are combined.")
    ] = None,
    save_recoding: Annotated[
        bool, typer.Option("--save-recoding", help="Save the recoding next to the release, to reuse it later.")
    ] = False,
    internal_report: Annotated[
        bool,
        typer.Option(
            "--internal-report",
            help="Also write an internal report, with figures about the original. Do not publish it.",
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show the sources of the loss in the internal report; takes up to two minutes."),
    ] = False,
    sign: Annotated[
        Path | None,
        typer.Option(help="Sign the release as its maker, with this private key (see shoal signing-key create)."),
    ] = None,
    expect_head: Annotated[
        str | None,
        typer.Option(help="Ledger head noted earlier; refuse if the plan's ledger does not continue from it."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a value of the plan, such as columns.age.role=other; may be repeated."),
    ] = None,
    log_json: Annotated[
        Path | None, typer.Option(help="Append a log of steps and times to this file, one JSON object per line.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Anonymize the table of a plan: write release, certificate and report.

    The released table is verified against the plan's models before it is moved to its target. If that fails, or if no
    release is possible, nothing is written.

    \b
    Example:  shoal release plan.toml
              shoal release plan.toml --json | jq .smallest_group
              shoal release plan.toml --engine spark --master "local[4]"
    """
    from shoal.api import functions
    from shoal.budget.methods.grids import Booked
    from shoal.cli.console import folded_line, output, patterns_grid, print_grid, progress, safe
    from shoal.cli.log import log_progress
    from shoal.errors import PlanError
    from shoal.formatting import counted
    from shoal.methods.patterns.anti_unification import PatternFacts
    from shoal.plan.linked import has_tables
    from shoal.plan.plan import Plan
    from shoal.plan.variables import mask_values
    from shoal.results.certificate import partial_knowledge_sentence
    from shoal.results.release import bound_sentences, minimized_measure
    from shoal.risk.exposure import exposure_sentence
    from shoal.verification.check import verdict_grid

    if has_tables(plan):
        options = {
            "--recoding": recoding,
            "--previous": previous,
            "--save-recoding": save_recoding,
            "--internal-report": internal_report,
            "--explain": explain,
            "--sign": sign,
            "--expect-head": expect_head,
            "--log-json": log_json,
            "--master": master,
            "--engine": engine is not None and engine != "duckdb",
        }
        release_files(plan, changes or (), overwrite, options, as_json, quiet)
        return
    loaded = Plan.read(plan, changes or ())
    loaded = replace(loaded, engine=settings_of(engine, master, loaded))
    if expect_head is not None:
        loaded = replace(loaded, method=_with_expected_head(loaded.method, expect_head))
    if as_json and loaded.output is not None and loaded.output.is_standard:
        raise PlanError("command.json-with-standard-output")
    with progress(quiet or as_json) as bar, log_progress(log_json, bar) as show:
        result = functions.release(
            loaded,
            overwrite=True if overwrite else None,
            recoding=recoding,
            previous=previous,
            save_recoding=save_recoding,
            internal_report=internal_report,
            explain=EXPLAIN_SECONDS if explain else None,
            sign=sign,
            progress=show,
        )
    answer = result.to_dict()
    assert loaded.output is not None
    if loaded.output.is_standard:  # standard output has the table only
        return
    if as_json:
        if "output" in answer:
            answer["output"] = mask_values(answer["output"])
        print(json.dumps(answer))
        return
    # a method whose guarantee does not permit figures about the source omits them
    of_rows = f" of {format_value(answer['rows'])}" if "rows" in answer else ""
    suppressed = f"; {format_value(answer['suppressed'])} suppressed" if "suppressed" in answer else ""
    groups = f" in {counted(answer['groups'], 'group')}, the smallest of {format_value(answer['smallest_group'])}"
    known = partial_knowledge_sentence(answer)
    output.print(
        f"[bold]Released[/] {format_value(answer['released'])}{of_rows} rows{'' if known else groups}{suppressed}."
    )
    if known:
        output.print(known)
    if "people" in answer:
        people = answer["people"]
        output.print(
            f"They are rows of {number(people['released'])} of {number(people['total'])} people; the group of fewest "
            f"people has {number(people['smallest_group'])}."
        )
    if answer["models"]:
        print_grid(verdict_grid(answer["models"]))
    if "folded" in answer:
        output.print(folded_line(answer["folded"]))
    if "loss" in answer:
        output.print("Loss: " + ", ".join(f"{name} {format_value(value)}" for name, value in answer["loss"].items()))
    if "exposure" in answer:
        output.print(safe(exposure_sentence(answer["exposure"])))
    facts = result.facts
    if booked := facts.get(Booked):
        promise, booking = booked.promise, booked.booking
        output.print(f"Promise: {format_parameters(promise.figures(), 6)}.")
        output.print(
            f"Booked as entry {format_value(booking.number)}. Head of the ledger: {booking.head}", soft_wrap=True
        )
        for title, sentences in (("It holds if", promise.assumptions), ("It does not say", promise.not_promised)):
            output.print(f"{title}:")
            for sentence in sentences:
                output.print(f"  - {safe(sentence)}")
    if "intersection" in answer:
        both = answer["intersection"]
        output.print(
            f"With the earlier release: {format_value(both['exposed'])} of {format_value(both['people'])} people are "
            "left in a "
            f"crowd of fewer than {format_value(both['crowd_below'])}; the smallest has "
            f"{format_value(both['smallest_crowd'])}."
        )
    for sentence in bound_sentences(answer):
        output.print(safe(sentence))
    if answer["optimal"] and "bound" not in answer:
        measure = minimized_measure(answer["method"])
        measured = f" by the plan's measure ({safe(measure)})" if measure else ""
        output.print(f"No recoding that the plan allows loses less{measured}: this is proven.")
    for warning in answer["warnings"]:
        output.print(f"[bold yellow]Warning:[/] {safe(warning['text'])}")
        if warning["code"] == "method" and "risk" in answer:
            output.print(
                "Risk: " + ", ".join(f"{name} {format_value(value)}" for name, value in answer["risk"].items())
            )
    found = facts.get(PatternFacts)
    if found and found.discarded.rare:
        first = (f"{' with '.join(rare.columns)} ({rare.records})" for rare in found.discarded.rare[:3])
        output.print(f"What makes rows that were left out rare, first of all: {safe(', '.join(first))}.")
    if found and found.pattern_set:
        print_grid(patterns_grid(found.pattern_set[:5]))
    for what, where in _output_locations(loaded.output, result, internal_report).items():
        output.print(f"{what}: {safe(mask_values(where))}")


def _output_locations(target: Any, result: Any, internal_report: bool) -> dict[str, str]:
    """Return the locations of the released table and its documents."""
    from shoal.io.formats.urls import path_or_address
    from shoal.io.publish import internal_report_of

    if target.database is not None:
        certificate = target.certificate_file
        return {"Table": target.table} | ({} if certificate is None else {"Certificate": str(certificate)})
    table = result.path or target.path
    found = {"Table": path_or_address(table), "Certificate": path_or_address(target.certificate)}
    if target.report:
        found["Report"] = path_or_address(table.with_name(target.report_path.name))
    if internal_report:
        found["Internal report, not to be published"] = str(internal_report_of(target.path))
    return found


def _with_expected_head(method: Any, head: str) -> Any:
    """Return the plan's method with the expected head of its ledger."""
    from shoal.errors import PlanError

    if not hasattr(method, "expecting"):
        raise PlanError("command.expect-head-without-ledger", method=method.name)
    return method.expecting(head)
