"""``shoal compare``: the utility of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from shoal.cli.options import TABLES, EngineName, Master, settings_of

if TYPE_CHECKING:
    pass

NAMES = "Column names, separated by commas; may be repeated."


def compare(
    original: Annotated[Path, typer.Argument(help=f"The original table: {TABLES}.")],
    released: Annotated[Path, typer.Argument(help="The released table.")],
    plan: Annotated[Path | None, typer.Option(help="Plan with columns and hierarchies.")] = None,
    quasi_identifiers: Annotated[list[str] | None, typer.Option("--quasi-identifiers", "-q", help=NAMES)] = None,
    sensitive: Annotated[list[str] | None, typer.Option("--sensitive", "-s", help=NAMES)] = None,
    target: Annotated[
        str | None, typer.Option(help="Column to predict: train classifiers on both tables (needs shoal[learn]).")
    ] = None,
    classifier: Annotated[
        list[str] | None,
        typer.Option(help="Classifier: tree, logistic, forest or c45; may be repeated. Default: tree."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Original rows to test classifiers on. Default: the original.")
    ] = None,
    aligned: Annotated[
        bool, typer.Option("--aligned", help="Row i of both tables is the same record; report exact errors of numbers.")
    ] = False,
    queries: Annotated[int, typer.Option(help="Number of range queries to compare.")] = 500,
    seed: Annotated[int, typer.Option(help="Random seed, for queries and for values drawn from labels.")] = 0,
    missing: Annotated[list[str] | None, typer.Option(help="Text that marks a missing value.")] = None,
    engine: EngineName = None,
    master: Master = None,
    time_zone: Annotated[
        str | None, typer.Option(help="Time zone for times that have one. Default: the plan's, or UTC.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
) -> None:
    """Compare a released table with its original: remaining utility.

    Reports how far the distributions of columns and pairs of columns moved (total variation, 0 to 1, and
    Kullback-Leibler divergence), the error of numbers, whether a model can distinguish the tables (pMSE ratio, 1 is
    perfect), the error of range queries and, with --target, the accuracy of classifiers trained on the release.

    Rows need not be in the same order. Published labels such as 20..24, 142** or those of a hierarchy stand for the
    values that they cover, each equally likely.

    \b
    Example:  shoal compare patients.csv released.csv --plan plan.toml
              shoal compare adult.csv released.csv --plan plan.toml --target salary --classifier tree --test test.csv
    """
    from shoal.audit.compare import compare as run
    from shoal.cli.attack import roles_from
    from shoal.cli.console import print_summary, progress

    roles = roles_from(plan, quasi_identifiers, sensitive, None)
    with progress(as_json) as show:
        show("comparing", None)
        answer = run(
            original,
            released,
            roles,
            target=target,
            classifiers=cast(Any, classifier or "tree"),
            test=test,
            aligned=aligned,
            queries=queries,
            seed=seed,
            missing=missing or (),
            engine=settings_of(engine, master, roles),
            time_zone=time_zone,
        )
    if as_json:
        print(json.dumps(answer.to_dict()))
    else:
        print_summary(answer.summary())
