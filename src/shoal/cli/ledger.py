"""``shoal ledger``: the privacy budget of a data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.formatting import number, precise, rounded_down

app = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Output JSON.")]
LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger file.")]
ExpectHead = Annotated[
    str | None,
    typer.Option("--expect-head", help="Ledger head noted earlier; refuse if the ledger does not continue from it."),
]


@app.callback(invoke_without_command=True)
def ledger_group(context: typer.Context) -> None:
    """Manage the ledger of a data set: budget spent and budget left.

    Every release on a grid and every answer of `shoal query` makes it easier to name a person. The ledger books each
    one before it is made. It refuses what would let an intruder, who knows every row but one, name the person in the
    unknown row with a probability above 1/k. One data set has one ledger, on a local disk; a second one would give the
    budget out twice.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("create")
def create(
    ledger: LedgerFile,
    m: Annotated[
        int,
        typer.Option(
            "--m",
            help="Number of people who could be the one in an unknown row: those of the population who are not in the "
            "table, plus one. Too small a number is safe; too large a number is not.",
        ),
    ],
    k: Annotated[
        int, typer.Option("--k", help="Number of people that everyone is hidden among: rho never exceeds 1/k.")
    ],
    name: Annotated[str, typer.Option(help="Name of the data set.")] = "",
    delta_limit: Annotated[str, typer.Option(help="Total delta that sampled releases may use; 0 for none.")] = "1e-5",
    as_json: Json = False,
) -> None:
    """Create the ledger of a data set. m and k are fixed from then on.

    \b
    Example:  shoal ledger create patients.ledger --m 100000 --k 20 --name patients
    """
    from shoal.budget import Ledger

    status = Ledger.create(ledger, m, k, name, delta_limit).status()
    if as_json:
        print(json.dumps({"ledger": str(ledger), **status.to_dict()}))
        return
    from shoal.cli.console import output, safe

    output.print(f"Created {safe(ledger)}: m = {number(m)}, k = {k}. Nothing is spent.\nHead: {status.head}")


@app.command("show")
def show(
    ledger: LedgerFile,
    expect_head: ExpectHead = None,
    as_json: Json = False,
) -> None:
    """Show the budget spent, the budget left, all entries and the head hash.

    Everything is verified first; a file that was changed by other means is an error.

    \b
    Example:  shoal ledger show patients.ledger
              shoal ledger show patients.ledger --json | jq .remaining_rho
    """
    from shoal.budget import Ledger
    from shoal.budget.arithmetic import epsilon

    opened = Ledger.open(ledger, expected=expect_head)
    status: dict[str, Any] = opened.verify().to_dict()
    entries = [
        {
            "number": entry.number,
            "at": entry.at,
            "kind": entry.kind,
            "label": entry.label,
            "E": float(entry.factor),
            "epsilon": epsilon(entry.factor),
            "delta": float(entry.delta),
            "rho_after": float(entry.rho_after),
            "head": entry.head,
        }
        for entry in opened.entries()
    ]
    if as_json:
        print(json.dumps({"ledger": str(ledger), **status, "bookings": entries}))
        return
    from shoal.cli.console import output, print_rows, safe

    named = f" of {safe(status['name'])}" if status["name"] else ""
    output.print(f"[bold]Ledger[/]{named}: m = {precise(status['m'])}, k = {precise(status['k'])}.")
    remaining = status["remaining_rho"]
    output.print(
        f"Spent: rho = {precise(status['rho'])} of 1/k = {precise(status['rho_limit'])}; E = {precise(status['E'])}, "
        f"epsilon = {precise(status['epsilon'])}; delta = {precise(status['delta'])} of "
        f"{precise(status['delta_limit'])}."
    )
    if remaining is None:
        output.print("Remaining: nothing. This data set must not be asked any more.")
    else:
        output.print(
            f"Remaining: E = {precise(status['remaining_E'])}, epsilon = {precise(status['remaining_epsilon'])}; a "
            f"single question may ask for rho of at most {rounded_down(remaining, 6)}."
        )
    if entries:
        columns = ("number", "at", "kind", "label", "E", "delta", "rho_after")
        rows = [[precise(entry[column]) for column in columns] for entry in entries]
        for row in rows:
            row[1] = row[1][:19]  # to the second
        print_rows("Entries", columns, rows)
    output.print(f"Head: {status['head']}", soft_wrap=True)


@app.command("verify")
def verify_ledger(
    ledger: LedgerFile,
    expect_head: ExpectHead = None,
    as_json: Json = False,
) -> None:
    """Verify all entries of a ledger and the state that they lead to.

    A ledger cannot tell by itself that it is an old copy. Note the head that every booking prints, somewhere else, and
    give the newest with --expect-head. Exit status 2 where something is not as it must be.

    \b
    Example:  shoal ledger verify patients.ledger
              shoal ledger verify patients.ledger --expect-head $(cat head.txt)
    """
    from shoal.budget import Ledger

    status = Ledger.open(ledger, expected=expect_head).verify()
    if as_json:
        print(json.dumps({"ledger": str(ledger), "verified": True, "entries": status.entries, "head": status.head}))
        return
    from shoal.cli.console import output

    noted = "" if expect_head is None else " It goes on from the head that was expected."
    output.print(
        f"All {number(status.entries)} entries are as they were booked.{noted}\nHead: {status.head}", soft_wrap=True
    )
