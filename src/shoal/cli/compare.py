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
    plan: Annotated[Path | None, typer.Option(help="Take columns and hierarchies from this plan.")] = None,
    quasi_identifiers: Annotated[list[str] | None, typer.Option("--quasi-identifiers", "-q", help=NAMES)] = None,
    sensitive: Annotated[list[str] | None, typer.Option("--sensitive", "-s", help=NAMES)] = None,
    target: Annotated[
        str | None, typer.Option(help="A column to predict: classifiers are trained on both tables (shoal[learn]).")
    ] = None,
    classifier: Annotated[
        list[str] | None, typer.Option(help="tree, logistic, forest or c45; may be repeated. tree by default.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Original rows to test classifiers on; the original itself by default.")
    ] = None,
    aligned: Annotated[
        bool, typer.Option("--aligned", help="Row i of both tables is the same person: exact errors of numbers.")
    ] = False,
    queries: Annotated[int, typer.Option(help="How many range queries to ask of both tables.")] = 500,
    seed: Annotated[int, typer.Option(help="For queries, and for values drawn from what labels cover.")] = 0,
    missing: Annotated[list[str] | None, typer.Option(help="A text that stands for a missing value.")] = None,
    engine: EngineName = None,
    master: Master = None,
    time_zone: Annotated[
        str | None, typer.Option(help="The zone in which times with a zone are read; the plan's or UTC by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Compare a released table with its original: remaining utility.

    Told are: how far the distribution of each column and of pairs of columns moved (total variation, 0 to 1, and
    Kullback-Leibler divergence), the error of numbers, whether a model can tell the tables apart (pMSE ratio, 1 is
    perfect), the error of range queries and, with --target, how well classifiers learn from the release.

    Rows need not be in the same order. Published labels such as 20..24, 142** or a hierarchy's are read as what they
    cover, each value as likely as the others.

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
