"""No value of a record leaks, whatever is wrong with the input.

None is printed, raised, logged or written by any command.

A secret stands in one cell after the other of tables that are wrong in every way that was thought of. The only files
that may contain it are the input and a released table.
"""

from __future__ import annotations

import csv
import io
import json
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tools.fuzz.harness import call, files_of, find_leaks, within

import shoal
from shoal.budget import Ledger
from shoal.errors import ShoalError
from shoal.io.engines.base import Relation, check_names, require_columns, require_roles
from tests.builders.errors import has_code

SECRETS = {"text": "Schmidtqvx", "number": "918273645501", "date": "1931-07-23", "decimal": "48151623.4207"}
HEADER = ["name", "age", "zip", "illness"]
ROWS = [
    ["Ann", "21", "14248", "flu"],
    ["Bob", "22", "14249", "gout"],
    ["Cid", "23", "14248", "flu"],
    ["Dot", "24", "14249", "rash"],
    ["Eve", "31", "14250", "gout"],
    ["Fay", "32", "14251", "flu"],
]
CELLS = [(0, 1), (3, 0), (3, 2), (5, 3)]

PLAN = """
[source]
path = "source.csv"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = { intervals = [10, 20] }
[columns.zip]
role = "quasi-identifier"
hierarchy = { prefix = true }
[columns.illness]
role = "sensitive"
categories = [["gout"], ["rash", "flu"]]
[[models]]
name = "k-anonymity"
k = 2
[method]
name = "full-domain"
suppression = 0.4
[output]
path = "released.csv"
"""


def text_of(rows: list[list[str]], header: list[str] | None = HEADER) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([*([header] if header else []), *rows])
    return out.getvalue().encode()


def ragged(rows: list[list[str]]) -> bytes:
    return text_of([[*row, "more"] if index in (0, 3, 5) else row for index, row in enumerate(rows)])


def open_quote(rows: list[list[str]]) -> bytes:
    return text_of(rows) + b'"' + ",".join(rows[3]).encode() + b"\n"


def loose_quote(rows: list[list[str]]) -> bytes:
    return text_of(rows) + b'a"b,' + ",".join(rows[0][1:]).encode() + b'"\n'


# faults of a table, as functions from rows to bytes
TABLES: dict[str, Callable[[list[list[str]]], bytes]] = {
    "nothing": text_of,
    "ragged rows": ragged,
    "a row too short": lambda rows: text_of([*rows, rows[0][:2], rows[3][2:]]),
    "a quote that is not closed": open_quote,
    "a quote within": loose_quote,
    "bad encoding": lambda rows: text_of(rows).replace(b"Bob", b"B\xf6b"),
    "a NUL byte": lambda rows: text_of(rows).replace(b"Bob", b"B\0b"),
    "no header": lambda rows: text_of(rows, None),
    "no header and a name twice": lambda rows: text_of([[*rows[0][:3], rows[0][0]], *rows[1:]], None),
    "a header twice": lambda rows: text_of(rows, ["name", "age", "age", "illness"]),
    "a nameless column": lambda rows: text_of(rows, ["name", "", "zip", "illness"]),
    "another header": lambda rows: text_of(rows, ["name", "years", "zip", "illness"]),
    "a column too many": lambda rows: text_of([[*row, row[0]] for row in rows], [*HEADER, "again"]),
    "a record before the header": lambda rows: text_of([rows[0], HEADER, *rows[1:]], None),
    "carriage returns": lambda rows: text_of(rows[:3]) + b"\r".join(",".join(row).encode() for row in rows[3:]) + b"\r",
    "semicolons": lambda rows: text_of(rows).replace(b",", b";", 9),
    "an overlong cell": lambda rows: text_of([[*rows[0][:2], rows[0][2] * 400, rows[0][3]], *rows[1:]]),
    "one record": lambda rows: text_of(rows[3:4]),
    "one record and no header": lambda rows: text_of(rows[3:4], None),
    "UTF-16 by half": lambda rows: b"\xff\xfe" + text_of(rows),
    "a Parquet that is none": lambda rows: b"PAR1" + text_of(rows) + b"PAR1",
}

# faults of a plan, as the text replaced and its replacement
PLANS: dict[str, tuple[str, str]] = {
    "nothing": ("", ""),
    "dates of no dates": ("{ intervals = [10, 20] }", '{ dates = ["month", "year"] }'),
    "a tree that misses values": ("{ prefix = true }", '{ tree = { A = ["14248", "14249"] } }'),
    "a table that misses values": ("{ prefix = true }", '{ csv = "zip.csv" }'),
    "a prefix that is too short": ("{ prefix = true }", "{ prefix = true, length = 5 }"),
    "an order that misses values": ("{ prefix = true }", '{ order = { values = ["14248"], fanout = [2] } }'),
    "categories that miss values": ('["rash", "flu"]', '["rash"]'),
    "impossible": ("k = 2\n", "k = 700\n"),
    "mdav": ('name = "full-domain"\nsuppression = 0.4', 'name = "mdav"\nk = 2'),
    "mondrian": ('name = "full-domain"\nsuppression = 0.4', 'name = "mondrian"'),
    "t-closeness without an order": (
        "[method]", '[[models]]\nname = "t-closeness"\nt = 0.2\ndistance = "ordered"\n[method]'),
    "a header that is declared": ("[columns.name]", "header = true\n[columns.name]"),
    "a column forgotten": ('[columns.name]\nrole = "identifier"\n', ""),
    "a column that is not there": ("[columns.name]", '[columns.nam]\nrole = "identifier"\n[columns.name]'),
    "names that are too few": ("[columns.name]", 'header = false\nnames = ["a", "b"]\n[columns.name]'),
}  # fmt: skip

LEDGER = ["--ledger", "l", "--rho", "1/500"]
COMMANDS: dict[str, list[str]] = {
    "release": ["release", "plan.toml", "--save-recoding"],
    "release over another": ["release", "plan.toml", "--previous", "source.csv"],
    "release by a recoding": ["release", "plan.toml", "--recoding", "bad.recoding"],
    "minimal": ["minimal", "plan.toml"],
    "check by a plan": ["check", "source.csv", "--plan", "plan.toml"],
    "check": ["check", "source.csv", "-q", "age,zipp", "-s", "illnes", "-m", "p-sensitive p=2"],
    "attack by a plan": ["attack", "source.csv", "--plan", "plan.toml", "--original", "source.csv"],
    "attack": ["attack", "good.csv", "-q", "age,zip", "-s", "illness", "--external", "source.csv"],
    "attack with another": ["attack", "source.csv", "-q", "age,zi", "--population", "source.csv"],
    "compare": ["compare", "source.csv", "good.csv", "-q", "age,zip", "-s", "illness", "--target", "illness"],
    "compare by a plan": ["compare", "good.csv", "source.csv", "--plan", "plan.toml"],
    "count": ["query", "count", "source.csv", *LEDGER, "--where", "illnes=flu"],
    "sum": ["query", "sum", "source.csv", *LEDGER, "--column", "age", "--lower", "0", "--upper", "99"],
    "histogram": ["query", "histogram", "source.csv", *LEDGER, "--column", "ilness", "--values", "flu,gout"],
    "ledger": ["ledger", "show", "source.csv"],
    "the table as trusted keys": ["verify", "good.csv", "--trust", "source.csv"],
    "the table as a private key": ["release", "plan.toml", "--sign", "source.csv"],
    "a table without a certificate": ["verify", "source.csv"],
    "the table as a plan": ["release", "source.csv"],
    "the table as a recoding": ["release", "plan.toml", "--recoding", "source.csv"],
}


def prepare(folder: Path, plan: str, table: bytes) -> None:
    (folder / "source.csv").write_bytes(table)
    (folder / "good.csv").write_bytes(text_of(ROWS))
    (folder / "plan.toml").write_text(plan)
    (folder / "zip.csv").write_text("14248;1424*\n14249;1424*\n")
    (folder / "bad.recoding").write_text('{"format": 1, "levels": {"age": 1}}')
    Ledger.create(folder / "l", m=1000, k=5)


def planted(secret: str, row: int, column: int) -> list[list[str]]:
    rows = [list(record) for record in ROWS]
    rows[row][column] = secret
    return rows


def assert_no_leak(folder: Path, secrets: list[str], arguments: list[str], forms: Sequence[int] = (0, 1)) -> int:
    """Run a command in both forms and search for the secrets.

    They may be only in the input and in a released table.
    """
    statuses = set()
    for form in ([[], ["--json"]][number] for number in forms):
        with within(folder):
            done = call([*arguments, *form])
        assert done.status in (0, 1, 2, 3), (arguments, done)
        assert find_leaks(secrets, done.outputs) == []
        statuses.add(done.status)
        if done.status > 1:
            assert done.err.startswith("Error: ")
            assert done.err.count("\n") == 1
        if form and done.status > 1:
            assert set(json.loads(done.out)) - {"code", "where"} == {"error", "kind", "exit_status"}
        allowed = {"source.csv", "released.csv", "good.csv"}
        written = {name: raw.decode("latin-1") for name, raw in files_of(folder).items() if name not in allowed}
        assert find_leaks(secrets, written) == []
        for path in folder.glob("released*"):
            path.unlink()
    assert len(statuses) == 1  # both forms are one command
    return statuses.pop()


@pytest.mark.parametrize("wrong", TABLES)
def test_no_cell_of_a_bad_table_leaks(tmp_path: Path, wrong: str) -> None:
    """One row has a different secret in each cell.

    It is the first row, one within, or the last.
    """
    cells = list(SECRETS.values())
    for number, (name, arguments) in enumerate(COMMANDS.items()):
        rows = [list(record) for record in ROWS]
        turned = cells[number % 4 :] + cells[: number % 4]  # every kind of value in every column, by some command
        rows[(0, 3, 5)[number % 3]] = turned
        folder = tmp_path / str(number)
        folder.mkdir()
        prepare(folder, PLAN, TABLES[wrong](rows))
        assert_no_leak(folder, cells, arguments, forms=(number % 2,)), name


@pytest.mark.parametrize("wrong", PLANS)
def test_no_cell_leaks_with_an_unsuitable_plan(tmp_path: Path, wrong: str) -> None:
    old, new = PLANS[wrong]
    assert old in PLAN
    kinds = list(SECRETS.values())
    for number, (row, column) in enumerate(CELLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        secret = kinds[(number + column) % 4]
        prepare(folder, PLAN.replace(old, new) if old else PLAN, text_of(planted(secret, row, column)))
        command = ("release", "minimal", "check by a plan", "release by a recoding")[number % 4]
        assert_no_leak(folder, [secret], COMMANDS["release"], forms=(0,))
        assert_no_leak(folder, [secret], COMMANDS[command], forms=(1,))


def test_first_record_without_a_header_does_not_leak(tmp_path: Path) -> None:
    """The first record is taken for names.

    Only ``shoal plan`` prints what it took, as names are its answer.
    """
    for number, secret in enumerate(SECRETS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        prepare(folder, PLAN, text_of([["Ann", "old", secret, "flu"], *ROWS[1:]], None))
        for arguments in COMMANDS.values():
            assert assert_no_leak(folder, [secret], arguments, forms=(number % 2,)) == 2


@pytest.mark.parametrize("kind", SECRETS)
def test_drafted_plan_has_no_value(tmp_path: Path, kind: str) -> None:
    """It has names, kinds and counts, but no lowest or highest value."""
    for number, (row, column) in enumerate(CELLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        prepare(folder, PLAN, text_of(planted(SECRETS[kind], row, column)))
        outputs = assert_no_leak(folder, [SECRETS[kind]], ["plan", "source.csv", "--overwrite"], forms=(number % 2,))
        assert outputs == 0
        assert (folder / "plan.toml").read_text() != PLAN


@pytest.mark.parametrize("command", ["release", "check", "attack", "query", "compare"])
def test_commands_give_positions_instead_of_column_names(tmp_path: Path, command: str) -> None:
    """The requested name is similar to a cell of the first record."""
    prepare(
        tmp_path,
        PLAN.replace("columns.age", "columns.Schmidtqv"),
        text_of([["Ann", "Schmidtqvx", "1", "flu"]] * 3, None),
    )
    arguments = {
        "release": ["release", "plan.toml"],
        "check": ["check", "source.csv", "-q", "Schmidtqv", "-m", "k-anonymity k=2"],
        "attack": ["attack", "source.csv", "-q", "Schmidtqv"],
        "query": ["query", "count", "source.csv", *LEDGER, "--where", "Schmidtqv=1"],
        "compare": ["compare", "good.csv", "source.csv", "-q", "age", "--target", "Schmidtqv"],
    }[command]  # fmt: skip
    assert assert_no_leak(tmp_path, ["Schmidtqvx"], arguments) == 2


def test_certain_column_names_are_printed() -> None:
    """Names that are certainly names are printed."""
    sure = Relation("t", ("age", "zip"), ("VARCHAR", "VARCHAR"), named=True)
    with pytest.raises(ShoalError, match="Did you mean 'age'"):
        require_columns(sure, ["agee"])
    with pytest.raises(ShoalError, check=has_code("columns.role-missing", columns="'zip'")):
        require_roles(sure, {"age"})
    with pytest.raises(ShoalError, match="share a name with another: 'age'"):
        check_names(["age", "zip", "age"], named=True)
    with pytest.raises(ShoalError, match=r"Did you mean 'agee'\?"):
        shoal.check(pa.table({"agee": ["1"]}), ["k-anonymity k=2"], quasi_identifiers=["age"])


def test_uncertain_column_names_are_not_printed() -> None:
    """Names that may be a record are replaced by positions."""
    unsure = Relation("t", ("age", "zip"), ("VARCHAR", "VARCHAR"))
    with pytest.raises(ShoalError, match=r"'agee'\. Did you mean column 1 of 2\?"):
        require_columns(unsure, ["agee"])
    with pytest.raises(ShoalError, match=r"no column 'x'\. It has 2"):
        require_columns(unsure, ["x"])
    with pytest.raises(ShoalError, check=has_code("columns.role-missing", columns="column 2 of 2")):
        require_roles(unsure, {"age"})
    with pytest.raises(ShoalError, match="share a name with another: column 1 of 3, column 3 of 3"):
        check_names(["age", "zip", "age"])


ODD = {
    "a whole number beyond 2^53": pa.array([9182736455010001, 9182736455010002, 9007199254740993] * 2, pa.int64()),
    "text that is no number": pa.array(["Schmidtqvx", "2", "3"] * 2),
    "a long decimal": pa.array([None, "48151623.4207", "3"] * 2).cast(pa.decimal128(38, 4)),
    "bytes": pa.array([b"Schmidtqvx", b"2", b"3"] * 2),
    "lists": pa.array([["Schmidtqvx"], ["2"], []] * 2),
    "durations": pa.array([918273645501, 2, 3] * 2, pa.duration("us")),
    "far times": pa.array([-(2**62), 918273645501, 2**62] * 2, pa.timestamp("us")),
    "infinite numbers": pa.array([float("inf"), 48151623.4207, 3.0] * 2),
    "a dictionary": pa.array(["Schmidtqvx", "2", "3"] * 2).dictionary_encode(),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("method", ["full-domain", "mdav", "mondrian", "top-down"])
def test_no_value_of_an_odd_column_leaks(tmp_path: Path, odd: str, method: str) -> None:
    table = pa.table({"name": ["Ann"] * 6, "age": ODD[odd], "zip": ["1", "2"] * 3, "illness": ["flu", "gout"] * 3})
    pq.write_table(table, tmp_path / "source.parquet")
    parameters = "k = 2" if method == "mdav" else ""
    plan = PLAN.replace("source.csv", "source.parquet").replace('"full-domain"', f'"{method}"')
    plan = plan.replace("suppression = 0.4", parameters).replace("hierarchy = { intervals = [10, 20] }", "")
    (tmp_path / "plan.toml").write_text(plan.replace("released.csv", "released.parquet"))
    secrets = ["Schmidtqvx", "918273645501", "9182736455010001", "9007199254740993", "48151623.4207"]
    secrets += ["4611686018427387904"]
    for arguments in (
        ["release", "plan.toml"],
        ["check", "source.parquet", "--plan", "plan.toml"],
        ["minimal", "plan.toml"],
    ):
        with within(tmp_path):
            done = call([*arguments, "--json"])
        assert done.status in (0, 1, 2, 3), (arguments, done)
        if done.status > 1:
            assert find_leaks(secrets, done.outputs) == []
    try:
        shoal.anonymize(table, shoal.Plan.read(tmp_path / "plan.toml"))
    except ShoalError as error:
        trace = "".join(traceback.format_exception(error))
        assert find_leaks(secrets, {"the trace": trace}) == []


@pytest.mark.parametrize("kind", [["release", "plan.toml"], ["release", "plan.toml", "--json"]])
def test_output_of_an_internal_error(tmp_path: Path, kind: list[str], monkeypatch) -> None:
    """The output has its kind, its location and how to see more."""
    from shoal.api import functions

    def fail(*_: object, **__: object) -> None:
        raise ValueError("Schmidtqvx")

    prepare(tmp_path, PLAN, text_of(ROWS))
    monkeypatch.setattr(functions, "release", fail)
    with within(tmp_path):
        done = call(kind)
    assert done.status == 70
    assert "ValueError at shoal.cli.release:" in done.err
    assert "SHOAL_DEBUG=1" in done.err
    assert find_leaks(["Schmidtqvx"], done.outputs) == []
