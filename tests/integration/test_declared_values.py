"""Declared values are compared in the type of the column.

No row counts more than once, in any spelling.
"""

from __future__ import annotations

import datetime as dt
import json
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.budget import Ledger, Questions, Span, errors
from shoal.budget.arithmetic import to_fraction
from shoal.budget.questions import _declare_values
from shoal.budget.universe import read_universe
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from tests.builders.command import run_in_process
from tests.builders.errors import has_code
from tests.reference.identifiability import SeededSource

DAY = dt.date(2020, 1, 1)
INSTANT = dt.datetime(2020, 1, 1)
# type of a column, its rows, and spellings of one value that two rows have
SPELLINGS: dict[str, tuple[pa.DataType, list[Any], list[str]]] = {
    "double": (pa.float64(), [1.0, 1.0, 2.0, None], ["1", "1.0", "1.00", "1e0", "+1", " 1", "01"]),
    "float": (pa.float32(), [0.1, 0.1, 2.0, None], ["0.1", "0.10", "1e-1", ".1", "0.100000001"]),
    "signed zero": (pa.float64(), [0.0, -0.0, 2.0, None], ["0", "-0", "-0.0", "0.0", "1e-400"]),
    "infinity": (pa.float64(), [float("inf"), float("inf"), 2.0, None], ["inf", "Infinity", "+inf", "1e400"]),
    "integer": (pa.int64(), [1, 1, 2, None], ["1", "01", "+1", "1.0", "1e0", "1 "]),
    "small integer": (pa.uint8(), [1, 1, 2, None], ["1", "01", "1.0"]),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.10"), Decimal("1.10"), 2, None], ["1.1", "1.10", "1.100", "01.1"]),
    "boolean": (pa.bool_(), [True, True, False, None], ["true", "TRUE", "True", "t", "1"]),
    "date": (pa.date32(), [DAY, DAY, dt.date(2020, 1, 2), None], ["2020-01-01", "2020-1-1", "2020/01/01", " 2020-1-1"]),
    "timestamp": (
        pa.timestamp("us"),
        [INSTANT, INSTANT, dt.datetime(2020, 1, 2), None],
        ["2020-01-01", "2020-1-1 00:00:00", "2020-01-01T00:00:00", "2020-01-01 00:00:00.000"],
    ),
    "nanoseconds": (pa.timestamp("ns"), [INSTANT, INSTANT, None, None], ["2020-01-01", "2020-01-01 00:00:00"]),
    "time": (pa.time64("us"), [dt.time(7), dt.time(7), None, None], ["07:00", "07:00:00", "7:00:00.0"]),
    "text": (
        pa.string(),
        ["M\u00fcller", "Mu\u0308ller ", "x", None],
        ["M\u00fcller", "Mu\u0308ller", " M\u00fcller", "Mu\u0308ller\u00a0", "\tM\u00fcller"],
    ),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "a ", "x", None], ["a", " a", "a\u2003"]),
}  # fmt: skip
# texts that are not values of a column's type, or would have to be rounded to one
INVALID_VALUES = {
    "double": ["", "one", "nan", "NaN", "-nan", "1,5", "0x"],
    "float": ["one", "nan"],
    "integer": ["1.5", "1e30", "one", "nan", "", "true", "1e-400", "1e-999999999"],
    "small integer": ["256", "-1", "0.4"],
    "decimal": ["1.105", "99999999", "nan", "one"],
    "boolean": ["2", "maybe", ""],
    "date": ["2020-13-01", "2020-02-30", "yesterday", "1"],
    "timestamp": ["2020-01-01 25:00:00", "noon"],
    "time": ["25:00:00", "noon"],
}


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine(threads=1) as opened:
        yield opened


def questions(tmp_path: Path, data: Any, name: str = "l") -> Questions:
    (tmp_path / name).unlink(missing_ok=True)
    return Questions(data, Ledger.create(tmp_path / name, m=10**18, k=2), source=SeededSource(1))


@pytest.mark.parametrize("kind", SPELLINGS)
def test_two_spellings_of_one_value_are_refused(tmp_path: Path, kind: str) -> None:
    """Refuse them before anything is booked."""
    type_, rows, spellings = SPELLINGS[kind]
    table = pa.table({"v": pa.array(rows, type_)})
    for other in spellings[1:]:
        session = questions(tmp_path, table)
        for question in (session.histogram, session.best_of):
            with pytest.raises(errors.ParameterError, match="twice, perhaps in two spellings") as caught:
                question("1/2", "v", [spellings[0], other])
            assert caught.value.exit_status == 2
        assert session.ledger.status().entries == 0


@pytest.mark.parametrize("kind", SPELLINGS)
def test_each_spelling_finds_the_rows_of_the_value(engine: DuckDBEngine, kind: str) -> None:
    type_, rows, spellings = SPELLINGS[kind]
    table = engine.read(Source(frame=pa.table({"v": pa.array(rows, type_)})))
    missing = rows.count(None)
    for spelling in spellings:
        assert engine.count_matching(table, _declare_values(engine, table, {"v": spelling})) == [2], spelling
        declared = _declare_values(engine, table, {}, 2, "v", [spelling, None])
        assert engine.count_matching(table, declared) == [2, missing], spelling
        assert engine.total(table, 0, 1.0, (7, 8), _declare_values(engine, table, {"v": spelling})) in (14, 16)


@pytest.mark.parametrize("kind", INVALID_VALUES)
def test_values_of_another_type_are_refused(tmp_path: Path, kind: str) -> None:
    """Refuse them before anything is booked."""
    type_, rows, spellings = SPELLINGS[kind]
    session = questions(tmp_path, pa.table({"v": pa.array(rows, type_), "w": [1, 2, 3, 4]}))
    for wrong in INVALID_VALUES[kind]:
        for question in (
            lambda: session.count("1/2", {"v": wrong}),  # noqa: B023
            lambda: session.sum("1/2", "w", Span.of(0, 9), {"v": wrong}),  # noqa: B023
            lambda: session.histogram("1/2", "v", [spellings[0], wrong]),  # noqa: B023
            lambda: session.best_of("1/2", "w", ["1"], {"v": wrong}),  # noqa: B023
        ):
            with pytest.raises(errors.ParameterError, check=has_code("budget.condition-of-other-type", column="v")):
                question()
    assert session.ledger.status().entries == 0


@pytest.mark.parametrize("wrong", [1, 1.0, b"1", "\udcff", True])
def test_values_other_than_text_are_refused(tmp_path: Path, wrong: Any) -> None:
    session = questions(tmp_path, pa.table({"v": [1, 2]}))
    with pytest.raises(errors.ParameterError, match="as text"):
        session.histogram("1/2", "v", ["1", wrong])
    with pytest.raises(errors.ParameterError, match="as text"):
        session.count("1/2", {"v": wrong})
    with pytest.raises(errors.ParameterError, check=has_code("budget.values-not-declared")):
        session.histogram("1/2", "v", "12")
    assert session.ledger.status().entries == 0


def test_missing_and_empty_text_are_two_values(engine: DuckDBEngine) -> None:
    table = engine.read(Source(frame=pa.table({"v": ["", " ", None, "x"]})))
    assert engine.count_matching(table, _declare_values(engine, table, {}, 2, "v", ["", None])) == [2, 1]
    with pytest.raises(errors.ParameterError, match="twice"):
        _declare_values(engine, table, {}, 2, "v", [None, None])


def test_texts_like_numbers_are_texts(engine: DuckDBEngine) -> None:
    table = engine.read(Source(frame=pa.table({"v": ["1", "1.0", "nan", "NaN"]})))
    assert engine.count_matching(table, _declare_values(engine, table, {}, 3, "v", ["1", "1.0", "nan"])) == [1, 1, 1]


def test_conditions_are_equal_for_all_values(engine: DuckDBEngine) -> None:
    """Apply the same condition to each declared value.

    It must not make distinct values look equal.
    """
    table = engine.read(Source(frame=pa.table({"v": [1, 2, 2], "w": ["a", "a", "b"]})))
    assert engine.count_matching(table, _declare_values(engine, table, {"w": " a"}, 2, "v", ["1", "2"])) == [1, 1]


def test_four_hundred_spellings_do_not_reveal_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Refuse 400 spellings of one value.

    Their noisy counts together would give the exact answer.
    """
    command = run_in_process(monkeypatch, capsys, tmp_path)
    pq.write_table(pa.table({"v": [1.0] * 166 + [2.0] * 34}), tmp_path / "t.parquet")
    Ledger.create("l", m=100_000, k=5)
    before = (tmp_path / "l").read_bytes()
    spellings = ",".join("1." + "0" * zeros for zeros in range(1, 401))
    for kind in ("histogram", "best-of"):
        arguments = (
            "query",
            kind,
            "t.parquet",
            "--ledger",
            "l",
            "--rho",
            "1.1e-5",
            "--column",
            "v",
            "--values",
            spellings,
        )
        status, out, _ = command(*arguments, "--json")
        assert (status, json.loads(out)["kind"]) == (2, "ParameterError")
    assert (tmp_path / "l").read_bytes() == before
    status, out, _ = command(*arguments[:-1], "1,2.0", "--json")
    assert status == 0


# -- property: one row adds to all declared cells no more than was booked ----------------------------------

NUMBERS = st.one_of(
    st.integers(-3, 3).map(str),
    st.floats(-3, 3, allow_nan=False).map(repr),
    st.sampled_from(["1", "1.0", "01", "1e0", "10e-1", "-0", "0.0", "inf", "-inf", "nan", "1e400", "0.1", "0.10", ""]),
)
DATES = st.one_of(
    st.dates(dt.date(2019, 12, 30), dt.date(2020, 1, 3)).map(str),
    st.sampled_from(["2020-1-1", "2020/1/1", "2020-01-01 00:00", "2020-01-01T00:00:00", "epoch", "2020-1-01 ", "1/1"]),
)
TEXTS = st.one_of(
    st.text("aA\u00e9e\u0301 \u00a0", max_size=4),
    st.sampled_from(["true", "TRUE", "t", "1", "yes", "false", "F", "0"]),
)
CELLS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any], st.SearchStrategy[str]]] = {
    "double": (pa.float64(), st.sampled_from([0.0, -0.0, 1.0, 0.1, float("inf"), float("nan"), -3.0]), NUMBERS),
    "float": (pa.float32(), st.sampled_from([0.0, -0.0, 1.0, 0.1, float("inf"), float("nan")]), NUMBERS),
    "integer": (pa.int32(), st.integers(-3, 3), NUMBERS),
    "decimal": (pa.decimal128(5, 2), st.integers(-30, 30).map(lambda tenths: Decimal(tenths) / 10), NUMBERS),
    "boolean": (pa.bool_(), st.booleans(), TEXTS),
    "date": (pa.date32(), st.dates(dt.date(2019, 12, 30), dt.date(2020, 1, 3)), DATES),
    "timestamp": (pa.timestamp("us"), st.just(INSTANT), DATES),
    "text": (pa.string(), TEXTS, TEXTS),
}


def parse_plainly(kind: str, text: str) -> object:
    """Return the value that a text spells, slowly and in plain Python.

    Only for the types for which Python has one.
    """
    if kind in ("integer", "decimal", "double"):
        return float(text)
    return unicodedata.normalize("NFC", text.strip())


@pytest.mark.parametrize("kind", CELLS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_row_counts_once_in_all_declared_cells(engine: DuckDBEngine, kind: str, data: st.DataObject) -> None:
    type_, cells, texts = CELLS[kind]
    row = data.draw(st.none() | cells)
    values: list[str | None] = data.draw(st.lists(st.none() | texts, min_size=1, max_size=8))
    table = engine.read(Source(frame=pa.table({"v": pa.array([row], type_, from_pandas=False)})))
    try:
        declared = _declare_values(engine, table, {}, len(values), "v", values)
    except errors.ParameterError:
        return
    counts = engine.count_matching(table, declared)
    assert sum(counts) <= 1, (row, values)
    if kind in ("integer", "decimal", "double", "text"):
        cell = None if row is None or row != row else float(row) if kind != "text" else parse_plainly(kind, row)
        assert counts == [int((None if text is None else parse_plainly(kind, text)) == cell) for text in values]


# -- declared cells and ranges of other questions ----------------------------------------------------------


@pytest.mark.parametrize("other", ["Ayr ", "\u00a0Ayr", "\tAyr"])
def test_universe_cell_in_two_spellings_is_refused(tmp_path: Path, other: str) -> None:
    """Refuse a repeated cell of the universe.

    m is the sum of the declared counts: a repeated cell would make it too large, which is not safe.
    """
    (tmp_path / "census.csv").write_text(f"town,sex,count\nAyr,f,5000\nBute,f,6000\n{other},f,5000\n")
    with pytest.raises(errors.UniverseError, check=has_code("budget.universe-cell-twice", row=4)):
        read_universe(tmp_path / "census.csv", ["town", "sex"])


def test_universe_cell_in_two_unicode_forms_is_refused(tmp_path: Path) -> None:
    (tmp_path / "census.csv").write_text("town,count\nM\u00fcller,5000\nMu\u0308ller,5000\n", encoding="utf-8")
    with pytest.raises(errors.UniverseError, match="Row 3"):
        read_universe(tmp_path / "census.csv", ["town"])
    (tmp_path / "census.csv").write_text("town,count\nM\u00fcller,5000\n,7\nMULLER,5000\n", encoding="utf-8")
    assert len(read_universe(tmp_path / "census.csv", ["town"])) == 3


@pytest.mark.parametrize("step", ["1e-320", "1e400"])
def test_step_beyond_the_float_range_is_refused(step: str) -> None:
    with pytest.raises(errors.ParameterError, check=has_code("budget.step-out-of-range")):
        Span.of(0, Fraction(step) * 10, step)
    assert Span.of(0, Fraction(2) ** -990, Fraction(2) ** -1000).units == (0, 1024)


@pytest.mark.parametrize("text", ["1e-999999999", "1e999999999", "-1E-0099999"])
def test_huge_exponent_is_refused(text: str) -> None:
    """Refuse an exponent that would take very long to expand."""
    with pytest.raises(errors.ParameterError, check=has_code("budget.not-a-number", parameter="rho")):
        to_fraction(text, "rho")
    with pytest.raises(errors.ParameterError):
        to_fraction(Decimal(text), "rho")
    assert to_fraction("1e-0009999", "rho") == Fraction(1, 10**9999)
