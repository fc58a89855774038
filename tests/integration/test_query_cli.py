"""``shoal ledger`` and ``shoal query``: answers, bookings, refusals.

Questions of nearly no noise have the exact figures as answers.
"""

from __future__ import annotations

import importlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.budget import Ledger, Questions, Span, errors
from shoal.errors import TableError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats.csv_dialect import CsvFormat
from tests.builders.command import run_in_process
from tests.builders.errors import has_code
from tests.reference.identifiability import SeededSource

SECRET = "Zebulon"
ROWS = f"""name,age,illness,"a ""b"";--"
{SECRET},21,flu,x
Bob,22.5,gout,x
Cleo,,flu,y
Dan,old,,x
Eve,131,gout'; DROP TABLE t; --,
"""
# rho is so large in a ledger of m = 10^18 that the noise is 0 but once in 10^17 answers
NEARLY_EXACT = ("--rho", "1/2")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Any]:
    """Run the command in a folder with a table of people."""
    (tmp_path / "people.csv").write_text(ROWS)
    return run_in_process(monkeypatch, capsys, tmp_path)


def ask_exactly(command: Callable[..., Any], kind: str, *arguments: str) -> dict[str, Any]:
    """Ask a question of nearly no noise with a new ledger."""
    Path("exact.ledger").unlink(missing_ok=True)
    Ledger.create("exact.ledger", m=10**18, k=2)
    status, out, err = command(
        "query", kind, "people.csv", "--ledger", "exact.ledger", *NEARLY_EXACT, *arguments, "--json"
    )
    assert (status, err) == (0, "")
    assert out.count("\n") == 1
    answer = json.loads(out)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ((), 5),
        (("illness=flu",), 2),
        (("illness=",), 1),
        (("age=",), 1),
        (("age=22.5", "illness=gout"), 1),
        (("illness=measles",), 0),
        (('a "b";--=x',), 3),
        (("illness=gout'; DROP TABLE t; --",), 1),
        (("illness=' OR 1=1 --",), 0),
    ],
)
def test_count(command: Callable[..., Any], where: tuple[str, ...], expected: int) -> None:
    options = [part for condition in where for part in ("--where", condition)]
    answer = ask_exactly(command, "count", *options)
    assert (answer["kind"], answer["answer"], answer["half_width_95"]) == ("count", expected, 0.0)
    assert (answer["entry"], answer["m"], answer["k"], answer["rho_limit"]) == (1, 10**18, 2, 0.5)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # missing and no number count as 0; 22.5 is rounded to even; 131 is clipped
        ((), 21 + 22 + 0 + 0 + 100),
        (("--step", "1/2"), 21 + 22.5 + 100),
        (("--lower", "10"), 21 + 22 + 10 + 10 + 100),
        (("--where", "illness=gout"), 22),
        (("--where", "illness=measles"), 0),
    ],
)
def test_sum(command: Callable[..., Any], options: tuple[str, ...], expected: float) -> None:
    ends = ("--lower", "0") if "--lower" not in options else ()
    answer = ask_exactly(command, "sum", "--column", "age", *ends, "--upper", "100", *options)
    assert answer["answer"] == pytest.approx(expected, abs=20)  # a sum has noise of the reported width
    assert 0 < answer["half_width_95"] < 20


def test_mean(command: Callable[..., Any]) -> None:
    answer = ask_exactly(command, "mean", "--column", "age", "--lower", "0", "--upper", "100")
    assert answer["answer"] == pytest.approx(143 / 5, abs=4)


def test_histogram(command: Callable[..., Any]) -> None:
    answer = ask_exactly(command, "histogram", "--column", "illness", "--values", "flu,gout", "--values", "measles")
    assert answer["answer"] == {"flu": 2, "gout": 1, "measles": 0}
    (Path("exact.ledger")).unlink()
    answer = ask_exactly(command, "histogram", "--column", "illness", "--values", "flu,gout", "--where", 'a "b";--=x')
    assert answer["answer"] == {"flu": 1, "gout": 1}


def test_best_of(command: Callable[..., Any]) -> None:
    answer = ask_exactly(command, "best-of", "--column", "illness", "--values", "gout,flu,measles")
    assert (answer["answer"], answer["half_width_95"]) == ("flu", None)


def test_missing_option(command: Callable[..., Any]) -> None:
    """Texts declared as missing count as missing values."""
    assert ask_exactly(command, "count", "--missing", "flu", "--where", "illness=")["answer"] == 3


def test_output_as_text(command: Callable[..., Any]) -> None:
    status, out, err = command("ledger", "create", "l", "--m", "1000", "--k", "5", "--name", "people")
    assert (status, err) == (0, "")
    assert re.fullmatch(r"Created l: m = 1,000, k = 5. Nothing is spent.\nHead: [0-9a-f]{64}\n", out)
    common = ("--ledger", "l", "--rho", "1/500")
    assert "of the truth" in command("query", "count", "people.csv", *common, "--where", "illness=flu")[1]
    table = command("query", "histogram", "people.csv", *common, "--column", "illness", "--values", "flu,gout")[1]
    assert re.search(r"flu +│ +-?\d+ ", table)
    assert "best-of" in command("query", "best-of", "people.csv", *common, "--column", "illness", "--values", "a,b")[1]
    mean = ("--column", "age", "--lower", "0", "--upper", "100")
    assert "Booked as entry 4: E = 2.002" in command("query", "mean", "people.csv", *common, *mean)[1]
    printed = command("ledger", "show", "l")[1]
    assert "'flu'" in printed  # of the question; a narrow terminal breaks its words over lines
    assert "Ledger of people: m = 1,000, k = 5." in printed
    assert SECRET not in printed


def test_ledger_output_as_json(command: Callable[..., Any]) -> None:
    created = json.loads(command("ledger", "create", "l", "--m", "1000", "--k", "5", "--json")[1])
    assert (created["m"], created["k"], created["entries"], created["rho"]) == (1000, 5, 0, 0.001)
    command("query", "count", "people.csv", "--ledger", "l", "--rho", "1/500", "--label", "how many")
    ledger = json.loads(command("ledger", "show", "l", "--json")[1])
    (booking,) = ledger["bookings"]
    assert (booking["number"], booking["kind"], booking["label"]) == (1, "query", "how many")
    assert booking["rho_after"] == ledger["rho"] == 0.002
    assert ledger["remaining_rho"] < 0.2


def test_spent_ledger(command: Callable[..., Any]) -> None:
    Ledger.create("l", m=1000, k=5).book_query("1/5")
    assert "Remaining: nothing" in command("ledger", "show", "l")[1]


def test_help(command: Callable[..., Any]) -> None:
    for group, words in (("ledger", "One data set has one ledger"), ("query", "above 1/m, the blind guess")):
        status, out, err = command(group)
        assert (status, err) == (0, "")
        assert words in " ".join(out.split())


def test_expected_head_refuses_old_copies(command: Callable[..., Any], tmp_path: Path) -> None:
    """Every booking prints the head of the ledger.

    An old copy of the ledger is refused if a newer head is expected.
    """
    head = json.loads(command("ledger", "create", "l", "--m", "1000", "--k", "5", "--json")[1])["head"]
    count = ("query", "count", "people.csv", "--ledger", "l", "--rho", "1/900")
    printed = command(*count, "--expect-head", head)[1]
    (first,) = re.findall(r"Head of the ledger: ([0-9a-f]{64})\n", printed)
    old = (tmp_path / "l").read_bytes()
    newest = json.loads(command(*count, "--json", "--expect-head", first)[1])["head"]
    assert f"Head: {newest}" in command("ledger", "show", "l", "--expect-head", first)[1]
    assert json.loads(command("ledger", "show", "l", "--json")[1])["bookings"][-1]["head"] == newest
    assert json.loads(command("ledger", "verify", "l", "--expect-head", newest, "--json")[1]) == {
        "ledger": "l", "verified": True, "entries": 2, "head": newest,
    }  # fmt: skip
    verified = command("ledger", "verify", "l", "--expect-head", head)[1]
    assert "All 2 entries are as they were booked. It goes on from the head that was expected." in verified
    (tmp_path / "l").write_bytes(old)
    assert command("ledger", "verify", "l")[0] == 0
    for arguments in (("ledger", "show", "l"), ("ledger", "verify", "l"), count):
        status, out, _ = command(*arguments, "--expect-head", newest, "--json")
        assert (status, json.loads(out)["kind"]) == (2, "LedgerHeadError")
        assert command(*arguments, "--expect-head", "some", "--json")[0] == 2
    assert (tmp_path / "l").read_bytes() == old


@pytest.mark.parametrize("value", ["many", "NaN", "inf", "-1", "1e400", "", 1.5, b"\x00", "9" * 5000])
def test_ledger_with_wrong_numbers_is_unreadable(command: Callable[..., Any], value: object) -> None:
    """Report the ledger as unreadable; there is no internal error."""
    Ledger.create("l", m=1000, k=5).book_query("1/500")
    with closing(sqlite3.connect("l")) as connection:
        (trigger,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'entries_are_final'").fetchone()
        connection.execute("DROP TRIGGER entries_are_final")
        connection.execute("UPDATE entries SET factor = ?", (value,))
        connection.execute(trigger)
        connection.commit()
    for arguments in (
        ("ledger", "show", "l"),
        ("ledger", "verify", "l"),
        ("query", "count", "people.csv", "--ledger", "l", "--rho", "1/900"),
    ):
        status, out, _ = command(*arguments, "--json")
        assert (status, json.loads(out)["kind"]) == (2, "LedgerUnreadableError")


# -- refused, and the ledger unchanged -------------------------------------------------------------------

SUM = ("--column", "age", "--lower", "0", "--upper", "100")
VALUES = ("--column", "illness", "--values", "flu,gout")
REFUSED: dict[str, tuple[tuple[str, ...], int, str, str]] = {
    "rho at the blind guess": (("count", "--rho", "1/1000"), 2, "RhoTooSmallError", "above 1/m = 1/1000"),
    "rho below the blind guess": (("mean", "--rho", "1e-9", *SUM), 2, "RhoTooSmallError", "larger `rho`"),
    "rho above the crowd": (("count", "--rho", "0.21"), 2, "RhoAboveCrowdError", "1/k = 1/5"),
    "rho of certainty": (("count", "--rho", "1"), 2, "ParameterError", "below 1"),
    "rho is no number": (("count", "--rho", "some"), 2, "ParameterError", "`rho` must be a finite number"),
    "over budget": (("count", "--rho", "1/9"), 3, "BudgetExceededError", "The ledger is unchanged"),
    "no such column": (("sum", "--rho", "1/500", *SUM[2:], "--column", "aeg"), 2, "TableError", "mean column 2 of 4"),
    "no such condition": (("count", "--rho", "1/500", "--where", "ilness=flu"), 2, "TableError", "mean column 3 of 4"),
    "condition without value": (("count", "--rho", "1/500", "--where", "illness"), 2, "PlanError", "COLUMN=VALUE"),
    "condition twice": (
        ("count", "--rho", "1/500", "--where", "age=1", "--where", "age=2"), 2, "PlanError", "'age' twice",
    ),
    "condition on what is counted": (
        ("histogram", "--rho", "1/500", *VALUES, "--where", "illness=flu"), 2, "ParameterError", "in both",
    ),
    "value twice": (("histogram", "--rho", "1/500", *VALUES, "--values", "flu"), 2, "ParameterError", "a value twice"),
    "no values": (
        ("best-of", "--rho", "1/500", "--column", "illness", "--values", ","), 2, "ParameterError", "Found none",
    ),
    "empty range": (("sum", "--rho", "1/500", *SUM, "--upper", "0"), 2, "ParameterError", "below `upper`"),
    "ends off the grid": (("sum", "--rho", "1/500", *SUM, "--step", "7"), 2, "ParameterError", "multiples of `step`"),
    "no column": (("sum", "--rho", "1/500", "--lower", "0", "--upper", "1"), 2, "Usage", "--column"),
    "no rho": (("count",), 2, "Usage", "--rho"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(command: Callable[..., Any], tmp_path: Path, case: str) -> None:
    (kind, *options), status, error, message = REFUSED[case]
    Ledger.create("l", m=1000, k=5).book_query("1/500")
    before = (tmp_path / "l").read_bytes()
    code, out, err = command("query", kind, "people.csv", "--ledger", "l", *options, "--json")
    answer = json.loads(out)
    assert (code, answer["kind"]) == (status, error), answer
    assert message in answer["error"]
    assert SECRET not in out + err
    assert (tmp_path / "l").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("query", "count", "people.csv", "--ledger", "none", "--rho", "1/500"), "LedgerNotFoundError"),
        (("query", "count", "people.csv", "--ledger", "people.csv", "--rho", "1/500"), "LedgerUnreadableError"),
        (("query", "count", "none.csv", "--ledger", "l", "--rho", "1/500"), "TableError"),
        (("ledger", "show", "none"), "LedgerNotFoundError"),
        (("ledger", "show", "people.csv"), "LedgerUnreadableError"),
        (("ledger", "create", "l", "--m", "10", "--k", "5"), "LedgerExistsError"),
        (("ledger", "create", "people.csv", "--m", "10", "--k", "5"), "LedgerUnreadableError"),
        (("ledger", "create", "new", "--m", "5", "--k", "5"), "ParameterError"),
        (("ledger", "create", "new", "--m", "10", "--k", "1"), "ParameterError"),
        (("ledger", "create", "new", "--m", "10", "--k", "2", "--delta-limit", "1"), "ParameterError"),
        (("ledger", "create", "none/new", "--m", "10", "--k", "2"), "LedgerNotFoundError"),
    ],
)
def test_wrong_files(command: Callable[..., Any], tmp_path: Path, arguments: tuple[str, ...], kind: str) -> None:
    Ledger.create("l", m=1000, k=5)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, _ = command(*arguments, "--json")
    assert (code, json.loads(out)["kind"]) == (2, kind), out
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# -- in Python -----------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True) | st.none(), min_size=1, max_size=20),
    st.integers(-50, 50),
    st.integers(1, 100),
    st.sampled_from(["1", "1/2", "1/8", "10"]),
    st.booleans(),
)
def test_engine_and_span_totals_agree(
    values: list[float | None], lower: int, width: int, step: str, as_text: bool
) -> None:
    span = Span.of(lower * Fraction(step), (lower + width) * Fraction(step), step)
    texts = [None if value is None else repr(value) for value in values]
    column = pa.array(texts, pa.string()) if as_text else pa.array(values, pa.float64(), from_pandas=False)
    with DuckDBEngine() as engine:
        table = engine.read(Source(frame=pa.table({"v": column})))
        every, _ = engine.declare(table, pa.table({"every": [0]}))
        found = engine.total(table, 0, float(1 / span.step), span.units, every)
    assert found == span.total([np.nan if value is None else value for value in values])


def test_floats_are_compared_as_numbers(tmp_path: Path) -> None:
    """Compare floats by value, not by their text.

    A column of floats is printed as 27.0 by one engine and 27 by another; the user means the number.
    """
    table = pa.table({"age": [27.0, 27.5, None, 27.0], "town": ["Ayr", "Ayr", "Bute", "Bute"]})

    def questions() -> Questions:
        (tmp_path / "l").unlink(missing_ok=True)
        return Questions(table, Ledger.create(tmp_path / "l", m=10**18, k=2), source=SeededSource(1))

    assert questions().count("1/2", {"age": "27"}).values == (2,)
    assert questions().count("1/2", {"age": "27.0", "town": "Ayr"}).values == (1,)
    assert questions().count("1/2", {"age": None}).values == (1,)
    assert questions().histogram("1/2", "age", ["27", "27.50", None]).values == (2, 1, 1)
    refusing = questions()
    with pytest.raises(errors.ParameterError, match="compared with a value of that type"):
        refusing.count("1/2", {"age": "old"})
    assert refusing.ledger.status().entries == 0


def test_mean_of_no_rows_is_refused(tmp_path: Path) -> None:
    questions = Questions(pa.table({"v": pa.array([], pa.int64())}), Ledger.create(tmp_path / "l", m=1000, k=2))
    with pytest.raises(TableError, check=has_code("budget.mean-without-rows")):
        questions.mean("1/2", "v", Span.of(0, 1))
    assert questions.ledger.status().entries == 0
    assert questions.count("1/2").kind == "count"


def test_data_is_read_after_the_booking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(tmp_path / "l", m=1000, k=5)
    questions = Questions(pa.table({"v": [1, 2]}), ledger)
    booked: list[int] = []
    monkeypatch.setattr(
        DuckDBEngine, "count_matching", lambda *arguments: booked.append(ledger.status().entries) or [2]
    )
    questions.count("1/500")
    with pytest.raises(errors.BudgetExceededError):
        questions.count("1/5")
    assert booked == [1]


VISITS = "patient_id,days,illness\na,1,flu\na,2,flu\na,3,flu\nA ,4,gout\nb,5,flu\n,6,flu\n,7,flu\n"


def test_table_with_several_rows_per_person_is_refused(command: Callable[..., Any]) -> None:
    """A key of people, by its name, and no declaration of people."""
    Path("visits.csv").write_text(VISITS)
    Ledger.create("l", m=1000, k=5)
    asks = ("query", "count", "visits.csv", "--ledger", "l", "--rho", "1/500")
    status, out, err = command(*asks)
    assert (status, out) == (2, "")
    assert "column 1 of 3 identifies people. Give it as `person`" in " ".join(err.split())
    for half in (("--person", "patient_id"), ("--rows-per-person", "2"), ("--person", "", "--rows-per-person", "2")):
        status, _, err = command(*asks, *half)
        assert status == 2
        assert "must be given together" in " ".join(err.split())
    assert command(*asks, "--person", "patient_id", "--rows-per-person", "0")[0] == 2
    assert command(*asks, "--person", "nobody", "--rows-per-person", "1")[0] == 2
    assert Ledger.open("l").status().entries == 0
    assert command(*asks, "--person", "")[0] == 0  # the user declares every row a person


@pytest.mark.parametrize("kind", ["csv", "xlsx", "sav", "sqlite", "parquet"])
def test_refusals_are_independent_of_rows(command: Callable[..., Any], kind: str) -> None:
    """Equal refusals of tables that differ in one row.

    A refusal is not booked: a word or a status that depends on a row would be an exact answer for nothing.
    """
    from shoal.io.formats import PLAIN, writer_of

    def outcomes(number: int, rows: dict[str, list[Any]]) -> list[tuple[int, str]]:
        path = Path(f"folder{number}") / f"people.{kind}"
        path.parent.mkdir()
        if kind == "csv":
            lines = [",".join(map(str, cells)) for cells in zip(*rows.values(), strict=True)]
            path.write_text("\n".join([",".join(rows), *lines]) + "\n")
        elif kind == "parquet":
            pq.write_table(pa.table({name: list(map(str, cells)) for name, cells in rows.items()}), path)
        elif kind == "sqlite":
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute(f"CREATE TABLE t ({', '.join(rows)})")
                connection.executemany(
                    f"INSERT INTO t VALUES ({', '.join('?' * len(rows))})", list(zip(*rows.values(), strict=True))
                )
        else:
            texts = [any(isinstance(cell, str) for cell in cells) for cells in rows.values()]
            table = pa.table(
                [[str(c) if text else c for c in cells] for cells, text in zip(rows.values(), texts, strict=True)],
                names=list(rows),
            )
            module = importlib.import_module(writer_of(path).module or "")
            module.write(table, path, PLAIN)
        found = []
        for question in (
            ("count",),
            ("count", "--person", "", "--where", "age=old"),
            ("count", "--person", "", "--where", "age=1.50"),
            ("histogram", "--person", "", "--column", "age", "--values", "21,21.0"),
            ("mean", "--person", "", "--column", "age", "--lower", "0", "--upper", "9"),
        ):
            Path("each").unlink(missing_ok=True)
            Ledger.create("each", m=1000, k=5)
            status, _, err = command(
                "query", question[0], str(path), "--ledger", "each", "--rho", "1/500", *question[1:]
            )
            found.append((status, err))
            assert Ledger.open("each").status().entries == (status == 0)
        return found

    usual = outcomes(0, {"patient_id": [1, 2, 3, 4], "age": [21, 22, 23, 24]})
    assert outcomes(1, {"patient_id": [1, 2, 3, 1], "age": [21, 22, 23, 24]}) == usual
    assert outcomes(2, {"patient_id": [1, 2, 3, 4], "age": [21, 22, 23, "old"]}) == usual
    assert outcomes(3, {"patient_id": [1, 2, 3, 4], "age": [21, 22, 23, 1.5]}) == usual
    assert usual[0][0] == 2
    assert (usual[1][0] == 0) == (kind in ("csv", "parquet"))


def test_separators_of_numbers_are_refused(tmp_path: Path) -> None:
    """They are read so only if every row of a column has a number."""
    (tmp_path / "t.csv").write_text("age;x\n1,5;2\n")
    questions = Questions(tmp_path / "t.csv", Ledger.create(tmp_path / "l", m=1000, k=2), CsvFormat(decimal=","))
    with pytest.raises(errors.ParameterError, check=has_code("budget.number-style-depends-on-rows")):
        questions.count("1/500")


def test_rows_per_person_are_limited_and_booked(command: Callable[..., Any]) -> None:
    """Use at most the declared rows of a person, and book each of them."""
    Path("visits.csv").write_text(VISITS)
    Ledger.create("l", m=10**18, k=2)
    options = ("--person", "patient_id", "--rows-per-person", "2", "--json")
    status, out, _ = command("query", "count", "visits.csv", "--ledger", "l", "--rho", "1/2000000000", *options)
    answer = json.loads(out)
    bound = (10**18 - 1) * Fraction(1, 2 * 10**9) / (1 - Fraction(1, 2 * 10**9))
    assert status == 0
    assert (answer["answer"], answer["rows_per_person"]) == (
        2 + 1 + 2,
        2,
    )  # two of a, one of b, and two without a person
    assert answer["E"] == pytest.approx(float(bound**2))
    booked = Ledger.open("l").entries()[0].factor
    assert 1 <= booked / bound**2 < Fraction(1001, 1000)
    Ledger.create("few", m=1000, k=5)
    asks = ("query", "count", "visits.csv", "--ledger", "few", "--rho", "1/20", "--person", "patient_id")
    status, _, err = command(*asks, "--rows-per-person", "2")
    assert status == 3
    assert "about 2 rows per person may still ask for a `rho` of about 0.01557" in " ".join(err.split())
    assert command(*asks, "--rows-per-person", "1")[0] == 0


def test_mean_takes_one_row_per_person(command: Callable[..., Any]) -> None:
    Path("visits.csv").write_text(VISITS)
    Ledger.create("l", m=10**18, k=2)
    asks = ("query", "mean", "visits.csv", "--ledger", "l", "--rho", "1/2", "--column", "days")
    asks += ("--lower", "0", "--upper", "1", "--person", "patient_id", "--json")
    status, _, err = command(*asks, "--rows-per-person", "2")
    assert status == 2
    assert "Ask for a sum and a count" in err
    status, out, _ = command(*asks, "--rows-per-person", "1")
    assert (status, json.loads(out)["answer"]) == (0, 1)


ROWS_OF_PEOPLE = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), min_size=1, max_size=14)


def test_row_limit_is_independent_of_other_people() -> None:
    """Replacing one person changes no selected row of anybody else.

    The noise is made for this: it is so whatever that person has, in whatever rows.
    """
    from shoal.budget.questions import _limit_rows_per_person

    def limited(table: list[tuple[str, int]], limit: int) -> Counter[tuple[str, int]]:
        columns = {"whose": [person for person, _ in table], "v": [value for _, value in table]}
        read = engine.read(Source(frame=pa.table(columns, pa.schema([("whose", pa.string()), ("v", pa.int64())]))))
        found = engine.to_arrow(_limit_rows_per_person(engine, read, ["whose"], limit)).to_pylist()
        counted = Counter((row["whose"], row["v"]) for row in found)
        per_person: Counter[str] = Counter()
        for (person, _), times in counted.items():
            per_person[person] += times
        assert per_person == Counter({person: min(n, limit) for person, n in Counter(w for w, _ in table).items()})
        assert counted <= Counter(table)
        return counted

    @given(ROWS_OF_PEOPLE, st.lists(st.integers(0, 3), max_size=5), st.integers(1, 3))
    @settings(max_examples=60)
    def check(rows: list[tuple[str, int]], other: list[int], limit: int) -> None:
        before = limited(rows, limit)
        after = limited([("x", value) for value in other] + [row for row in rows if row[0] != "a"], limit)
        assert {r: n for r, n in before.items() if r[0] != "a"} == {r: n for r, n in after.items() if r[0] != "x"}
        swapped = limited([(person, 9 - value) for person, value in rows], limit)
        assert {(person, 9 - value): n for (person, value), n in swapped.items()} == before  # whatever values rows have

    with DuckDBEngine(threads=1) as engine:
        check()


def test_sum_over_several_rows_hides_their_number(tmp_path: Path) -> None:
    """The noise of a sum also hides the number of rows of a person."""
    ledger = Ledger.create(tmp_path / "l", m=1000, k=5)
    table = pa.table({"patient_id": ["a", "a", "b"], "v": [100, 101, 101]})
    widths = [
        Questions(table, ledger, person=("patient_id",), rows_per_person=rows).sum("1/900", "v", Span.of(100, 101))
        for rows in (1, 2)
    ]
    narrow, wide = (answer.half_width for answer in widths)
    assert narrow is not None
    assert wide is not None
    assert wide > 50 * narrow
