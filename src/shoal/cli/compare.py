"""``shoal compare``: the utility of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from shoal.cli.options import TABLES, EngineName, Master, settings_of
from shoal.formatting import fixed, format_value, percent

if TYPE_CHECKING:
    from shoal.audit.compare import Comparison

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
    from shoal.cli.console import progress

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
        _show(answer)


def _show(answer: Comparison) -> None:
    from rich.table import Table

    from shoal.cli.console import output, safe

    output.print(f"{format_value(answer.released)} of {format_value(answer.rows)} rows are released.")
    table = Table(title="How far distributions moved", title_justify="left")
    table.add_column("column")
    table.add_column("total variation", justify="right")
    table.add_column("divergence (nats)", justify="right")
    for name, distance in answer.columns.items():
        table.add_row(safe(name), fixed(distance.variation, 3), fixed(distance.divergence, 3))
    if answer.pairs is not None:
        pairs = answer.pairs
        table.add_row(
            f"mean of {format_value(pairs.pairs)} pairs",
            fixed(pairs.mean_variation, 3),
            fixed(pairs.mean_divergence, 3),
        )
    output.print(table)
    if answer.pairs is not None:
        output.print(
            f"Association of columns (Cramér's V) moved by {fixed(answer.pairs.mean_association_change, 3)} on "
            "average, "
            f"by {fixed(answer.pairs.highest_association_change, 3)} at most."
        )
    if answer.numeric is not None:
        bound = "" if answer.numeric.aligned else "at least "
        output.print(
            f"Numbers: SSE/SST {bound}{fixed(answer.numeric.sse_sst, 4)}, IL1s {bound}{fixed(answer.numeric.il1s, 4)}."
        )
    output.print(
        f"pMSE {fixed(answer.propensity.pmse, 4)} of at most {fixed(answer.propensity.worst, 4)}; "
        f"{fixed(answer.propensity.ratio, 1)} times what chance gives."
    )
    output.print(
        f"Range queries: relative error {percent(answer.queries.median)} in the median, "
        f"{percent(answer.queries.mean)} on "
        f"average."
    )
    for one in answer.accuracy:
        output.print(
            f"Predicting {safe(one.target)} by {safe(one.classifier)}: {percent(one.released)} right when trained on "
            "the "
            f"release, {percent(one.original)} on the original, {percent(one.majority)} by naming the most frequent "
            "class."
        )
