"""``shoal query``: noisy answers under a privacy budget.

Every answer is booked in a ledger before it is computed.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.budget.question_kinds import DEFAULTS, QUESTION_KINDS, QuestionKind
from shoal.cli.options import TABLES, EngineName, Master, settings_of
from shoal.formatting import number, precise, rounded_down

if TYPE_CHECKING:
    from shoal.budget.questions import Questions

app = typer.Typer()

Table = Annotated[Path, typer.Argument(help=f"The table: {TABLES}.")]
LedgerFile = Annotated[Path, typer.Option("--ledger", help="The ledger of this data set (shoal ledger create).")]
Rho = Annotated[str, typer.Option("--rho", help="rho that this answer may spend, such as 1/500 or 0.002.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where", help="Count only rows with COLUMN=VALUE; COLUMN= means missing. May be repeated; all must hold."
    ),
]
ColumnName = Annotated[str, typer.Option("--column", help="Column of the query.")]
Values = Annotated[
    list[str],
    typer.Option("--values", help="Declared values, separated by commas (,, is a comma); may be repeated."),
]
Lower = Annotated[str, typer.Option("--lower", help="Lower limit; smaller values are raised to it.")]
Upper = Annotated[str, typer.Option("--upper", help="Upper limit; larger values are lowered to it.")]
Step = Annotated[str, typer.Option("--step", help="Round values to multiples of this.")]
Label = Annotated[str | None, typer.Option("--label", help="Note for the ledger. Default: the query.")]
Delimiter = Annotated[str | None, typer.Option(help="CSV delimiter. Default: detected.")]
Encoding = Annotated[str | None, typer.Option(help="CSV encoding: utf-8, utf-16, latin-1 or cp1252.")]
Missing = Annotated[list[str] | None, typer.Option(help="Text that marks a missing value.")]
Person = Annotated[
    list[str] | None,
    typer.Option(
        "--person",
        help='Columns that together identify a person, separated by commas; "" if every row is a different person.',
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(
        "--rows-per-person",
        help="Rows kept per person, whatever they contain; each is recorded (E to this power).",
    ),
]
Memory = Annotated[str | None, typer.Option(help="Memory limit, such as 1GB; larger tables use the disk.")]
ExpectHead = Annotated[
    str | None,
    typer.Option(
        "--expect-head",
        help="Ledger head noted earlier; refuse if the ledger does not continue from it.",
    ),
]
TimeZone = Annotated[
    str, typer.Option("--time-zone", help="Time zone for times that have one, and for declared values without one.")
]
Json = Annotated[bool, typer.Option("--json", help="Output JSON.")]


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


OPTIONS = {"column": ColumnName, "lower": Lower, "upper": Upper, "step": Step, "values": Values, "where": Where}
"""Options of the parameters of queries, by name."""


def _register(kind: QuestionKind) -> None:
    """Make the command of a kind of query.

    The command has the options of the kind between those that all queries share.
    """
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = list(inspect.signature(_open, eval_str=True, locals={"Questions": Any}).parameters.values())
    own = [
        inspect.Parameter("rho", keyword, annotation=Rho),
        *(
            inspect.Parameter(
                name, keyword, default=DEFAULTS.get(name, inspect.Parameter.empty), annotation=OPTIONS[name]
            )
            for name in kind.parameters
        ),
        inspect.Parameter("label", keyword, default=None, annotation=Label),
    ]
    as_json = inspect.Parameter("as_json", keyword, default=False, annotation=Json)

    def run(**given: Any) -> None:
        questions = _open(**{part.name: given[part.name] for part in shared})
        parameters = {name: given[name] for name in kind.parameters}
        if "where" in parameters:
            parameters["where"] = _conditions(parameters["where"])
        if "values" in parameters:
            parameters["values"] = _split_values(parameters["values"])
        _show(kind.ask(questions, given["rho"], parameters, given["label"]), given["as_json"])

    run.__name__, run.__doc__ = kind.name, kind.about
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [part.replace(kind=keyword) for part in (*shared[:2], *own, *shared[2:], as_json)]
    )
    app.command(kind.name)(run)


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


def _show(content: Mapping[str, Any], as_json: bool) -> None:
    """Print an answer."""
    if as_json:
        print(json.dumps(content))
        return
    from shoal.cli.console import output, print_rows, safe

    if content["kind"] == "histogram":
        print_rows("Counts, with noise", ("value", "rows"), list(content["answer"].items()))
    else:
        text = content["answer"] if isinstance(content["answer"], str) else precise(content["answer"])
        output.print(f"[bold]{safe(content['kind'])}[/]: {safe(text)}")
    if content["half_width_95"] is not None:
        output.print(f"Within {number(content['half_width_95'], 6)} of the truth in 95 answers of 100.")
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


for _kind in QUESTION_KINDS.values():
    _register(_kind)
