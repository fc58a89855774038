"""``shoal query``: noisy answers under a privacy budget.

Every answer is booked in a ledger before it is computed.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.options import TABLES, EngineName, Master, settings_of
from shoal.formatting import number, precise, rounded_down

if TYPE_CHECKING:
    from shoal.budget import Answer
    from shoal.budget.mechanisms import Span
    from shoal.budget.questions import Questions

app = typer.Typer()

Table = Annotated[Path, typer.Argument(help=f"The table: {TABLES}.")]
LedgerFile = Annotated[Path, typer.Option("--ledger", help="The ledger of this data set (shoal ledger create).")]
Rho = Annotated[str, typer.Option("--rho", help="What this answer may spend, such as 1/500 or 0.002.")]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Only rows with this value: COLUMN=VALUE; COLUMN= is missing. May be repeated (and)."),
]
ColumnName = Annotated[str, typer.Option("--column", help="The column that is asked about.")]
Values = Annotated[
    list[str],
    typer.Option(
        "--values", help="The declared values, separated by commas (a doubled comma is one); may be repeated."
    ),
]
Lower = Annotated[str, typer.Option("--lower", help="The least value that counts; smaller ones are raised to it.")]
Upper = Annotated[str, typer.Option("--upper", help="The largest value that counts; larger ones are lowered to it.")]
Step = Annotated[str, typer.Option("--step", help="Values are rounded to multiples of this.")]
Label = Annotated[str | None, typer.Option("--label", help="Written into the ledger; by default, the question.")]
Delimiter = Annotated[str | None, typer.Option(help="CSV delimiter, where it is not found by itself.")]
Encoding = Annotated[str | None, typer.Option(help="utf-8, utf-16, latin-1 or cp1252.")]
Missing = Annotated[list[str] | None, typer.Option(help="A text that stands for a missing value.")]
Person = Annotated[
    list[str] | None,
    typer.Option(
        "--person",
        help='Columns that say together whose rows they are, separated by commas; "" where every row is a person.',
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(
        "--rows-per-person",
        help="How many rows of each person are kept, whatever they hold; each is booked (E to this power).",
    ),
]
Memory = Annotated[str | None, typer.Option(help="Memory limit, such as 1GB; beyond it, disk is used.")]
ExpectHead = Annotated[
    str | None,
    typer.Option(
        "--expect-head",
        help="A head of the ledger that was noted earlier; refuse where the ledger does not go on from it.",
    ),
]
TimeZone = Annotated[
    str, typer.Option("--time-zone", help="The zone in which times with a zone, and values that say none, are read.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.callback(invoke_without_command=True)
def query_group(context: typer.Context) -> None:
    """Query a table: noisy answers, booked in its ledger beforehand.

    rho is the highest probability with which this one answer, alone, may let an intruder who knows every row but one
    name the person in the unknown row. It must be above 1/m, the blind guess; a larger rho means less noise and more of
    the budget. `shoal ledger show` tells what remains. Ranges, values and conditions are declared by you: do not take
    them from the data. Where a person can have several rows, --person and --rows-per-person say whose rows they are and
    how many of each person are kept; rho is then that of one row, and what is booked is that of all of them.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def _open(
    table: Table,
    ledger: LedgerFile,
    expect_head: ExpectHead = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    memory: Memory = None,
    person: Person = None,
    rows_per_person: RowsPerPerson = None,
    engine: EngineName = None,
    master: Master = None,
    time_zone: TimeZone = "UTC",
) -> Questions:
    """Open a table for questions; every query command has these options."""
    from shoal.budget import Ledger
    from shoal.budget.questions import Questions
    from shoal.io.formats.csv_dialect import CsvFormat

    settings = settings_of(engine, master, memory=memory)
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    form = CsvFormat(delimiter=delimiter, encoding=encoding, missing=tuple(missing or ()))
    opened = Ledger.open(ledger, expected=expect_head)
    owner = None if person is None else tuple(_split_values(person))
    return Questions(table, opened, form, settings, person=owner, rows_per_person=rows_per_person, time_zone=time_zone)


AnswerAndValues = tuple["Answer", list[str] | None]
"""An answer, and the declared values that it refers to."""


def _query_command(name: str) -> Callable[[Callable[..., AnswerAndValues]], None]:
    """Return a decorator that makes a command of a query function.

    The command has the options of the function between those that all queries share.
    """

    def register(ask: Callable[..., AnswerAndValues]) -> None:
        known = {"Questions": Any, "Answer": Any}
        own = list(inspect.signature(ask, eval_str=True, locals=known).parameters.values())[1:]
        shared = list(inspect.signature(_open, eval_str=True, locals=known).parameters.values())
        as_json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
        options = [*shared[:2], *own, *shared[2:], as_json]

        def run(**given: Any) -> None:
            questions = _open(**{part.name: given[part.name] for part in shared})
            answer, values = ask(questions, **{part.name: given[part.name] for part in own})
            _show(questions, answer, given["as_json"], values)

        run.__name__, run.__doc__ = ask.__name__, ask.__doc__
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [part.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in options]
        )
        app.command(name)(run)

    return register


@_query_command("count")
def count(questions: Questions, rho: Rho, where: Where = None, label: Label = None) -> AnswerAndValues:
    """Count the rows with these values.

    \b
    Example:  shoal query count patients.csv --ledger patients.ledger --rho 1/500 --where smokes=yes
    """
    chosen = _conditions(where)
    return questions.count(rho, chosen, _label(label, "count", chosen)), None


@_query_command("sum")
def sum_(
    questions: Questions,
    rho: Rho,
    column: ColumnName,
    lower: Lower,
    upper: Upper,
    step: Step = "1",
    where: Where = None,
    label: Label = None,
) -> AnswerAndValues:
    """Sum of a column; values are clipped to a range that you declare.

    The noise grows with the width of the range.

    What is missing or is no number counts as 0, clipped to the range.

    \b
    Example:  shoal query sum patients.csv --ledger patients.ledger --rho 1/500 --column days --lower 0 --upper 60
    """
    chosen = _conditions(where)
    label = _label(label, f"sum of {column!r} in {lower} .. {upper}", chosen)
    return questions.sum(rho, column, _span(lower, upper, step), chosen, label), None


@_query_command("mean")
def mean(
    questions: Questions,
    rho: Rho,
    column: ColumnName,
    lower: Lower,
    upper: Upper,
    step: Step = "1",
    label: Label = None,
) -> AnswerAndValues:
    """Mean of a column over all rows; the number of rows is public.

    For a mean over some rows ask for a sum and a count. What is missing or is no number counts as 0, clipped.

    \b
    Example:  shoal query mean patients.csv --ledger patients.ledger --rho 1/500 --column age --lower 0 --upper 100
    """
    label = _label(label, f"mean of {column!r} in {lower} .. {upper}", {})
    return questions.mean(rho, column, _span(lower, upper, step), label), None


@_query_command("histogram")
def histogram(
    questions: Questions, rho: Rho, column: ColumnName, values: Values, where: Where = None, label: Label = None
) -> AnswerAndValues:
    """Histogram: rows per value of a column, at the cost of one query.

    \b
    Example:  shoal query histogram patients.csv --ledger patients.ledger --rho 1/500 --column illness \\
                --values flu,gout,asthma
    """
    chosen, declared = _conditions(where), _split_values(values)
    label = _label(label, f"histogram of {column!r}, {len(declared)} values", chosen)
    return questions.histogram(rho, column, declared, chosen, label), declared


@_query_command("best-of")
def best_of(
    questions: Questions, rho: Rho, column: ColumnName, values: Values, where: Where = None, label: Label = None
) -> AnswerAndValues:
    """Most frequent of several values; without its count, which costs less.

    \b
    Example:  shoal query best-of patients.csv --ledger patients.ledger --rho 1/500 --column illness \\
                --values flu,gout,asthma
    """
    chosen, declared = _conditions(where), _split_values(values)
    label = _label(label, f"best of {column!r}, {len(declared)} values", chosen)
    return questions.best_of(rho, column, declared, chosen, label), declared


def _conditions(options: list[str] | None) -> dict[str, str | None]:
    """Parse conditions of the form COLUMN=VALUE.

    The first equals sign separates them.
    """
    from shoal.errors import PlanError

    conditions: dict[str, str | None] = {}
    for option in options or []:
        column, sign, value = option.partition("=")
        if not sign or not column:
            raise PlanError("command.condition-malformed")
        if column in conditions:
            raise PlanError("command.condition-twice", column=column)
        conditions[column] = value or None
    return conditions


def _split_values(options: list[str]) -> list[str]:
    """Split repeated options into values.

    A comma separates values; a doubled comma stands for a comma.
    """
    parts = (part for option in options for part in option.replace(",,", "\0").split(","))
    return [part.replace("\0", ",") for part in parts if part]


def _span(lower: str, upper: str, step: str) -> Span:
    from shoal.budget import Span

    return Span.of(lower, upper, step)


def _label(label: str | None, question: str, where: dict[str, str | None]) -> str:
    if label is not None:
        return label
    conditions = " and ".join(
        f"{column!r} is {'missing' if value is None else repr(value)}" for column, value in where.items()
    )
    return f"{question} where {conditions}" if conditions else question


def _show(questions: Questions, answer: Answer, as_json: bool, values: list[str] | None = None) -> None:
    """Print an answer.

    A histogram is printed as values with counts, a choice as its value.
    """
    status = questions.ledger.status().to_dict()
    content: dict[str, Any] = answer.to_dict()
    if values is not None and answer.kind == "histogram":
        content["answer"] = dict(zip(values, content["answer"], strict=True))
    elif values is not None:
        content["answer"] = values[int(answer.values[0])]
    content |= {key: status[key] for key in ("m", "k", "rho_limit", "remaining_rho")}
    if as_json:
        print(json.dumps(content))
        return
    from shoal.cli.console import output, rows_table, safe

    if answer.kind == "histogram":
        output.print(rows_table("Counts, with noise", ("value", "rows"), list(content["answer"].items())))
    else:
        text = content["answer"] if isinstance(content["answer"], str) else precise(content["answer"])
        output.print(f"[bold]{safe(answer.kind)}[/]: {safe(text)}")
    if answer.half_width is not None:
        output.print(f"Within {number(answer.half_width, 6)} of the truth in 95 answers of 100.")
    remaining = (
        "nothing remains"
        if content["remaining_rho"] is None
        else f"rho up to {rounded_down(content['remaining_rho'], 6)} remains"
    )
    output.print(
        f"Booked as entry {content['entry']}: E = {precise(content['E'])}, epsilon = {precise(content['epsilon'])}, m "
        "= "
        f"{precise(content['m'])}. All that was told of this data: rho = {precise(content['rho_spent'])} of "
        f"{precise(content['rho_limit'])}; {remaining} for one question."
    )
    output.print(f"Head of the ledger: {content['head']}", soft_wrap=True)
