"""Independent verification reads the written file again."""

from __future__ import annotations

import json
import math
import random
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import VerificationError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.models import KAnonymity, PSensitive
from shoal.schema import Categories, Column, Role, Schema
from shoal.schema.spelling import canonical, fold
from shoal.table.spreadsheet_safety import neutralize_text
from shoal.verification.independent import domains, folding, reading
from shoal.verification.independent.formats import SQLITE
from shoal.verification.independent.reading import ARROW, ENGINE, PYTHON_CSV, WrittenTable, count_written_rows
from shoal.verification.verify import verify

SIGNS = [
    "a",
    "B",
    '"',
    ",",
    "\n",
    "\r",
    " ",
    "\t",
    "'",
    "\\",
    ";",
    "\u00a0",
    "é",
    "e\u0301",
    "#",
    "0",
    "\u2028",
    "\x85",
]
SCHEMA = Schema({"age": Column(Role.QUASI_IDENTIFIER), "illness": Column(Role.SENSITIVE)})
MODELS = [KAnonymity(k=2), PSensitive(p=2)]
PLAN = {
    "columns": {"age": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}},
    "models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}],
    "method": {"name": "full-domain"},
}


def _counter(table):
    cells = [table.column(name).to_pylist() for name in table.column_names if name != "n"]
    found = Counter()
    for row, count in zip(zip(*cells, strict=True), table.column("n").to_pylist(), strict=True):
        found[row] += count
    return found


def _write(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _table(rows=8):
    return {"age": ["a"] * rows + ["b"] * rows, "illness": ["flu", "cold"] * rows}


# -- readers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1 << 17])
def test_readers_of_csv_agree_with_the_engine(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(reading, "MAX_BYTES_FOR_PYTHON", limit)
    chance = random.Random(limit)
    with DuckDBEngine() as engine:
        for number in range(40):
            width, rows = chance.randint(1, 3), chance.choice([1, 3, 20])
            cells = [
                [chance.choice([None, "", "".join(chance.choices(SIGNS, k=chance.randint(1, 4)))]) for _ in range(rows)]
                for _ in range(width)
            ]
            table = pa.table([pa.array(column, pa.string()) for column in cells], [f"x{j}" for j in range(width)])
            path = tmp_path / f"{number}.csv"
            back = engine.read(engine.write(engine.read(Source(frame=table)), path))
            written = WrittenTable(path, back.columns)
            assert written.reader == (PYTHON_CSV if limit else ARROW)
            assert _counter(count_written_rows(written, (), range(width))) == _counter(
                engine.frequencies(back, range(width))
            )


def test_reader_of_parquet_compares_published_numbers(tmp_path):
    path = tmp_path / "table.parquet"
    column = pa.array([0.0, -0.0, math.nan, None, 1.5])
    pq.write_table(pa.table({"x": column, "y": column}), path)
    written = WrittenTable(path, ("x", "y"))
    assert _counter(count_written_rows(written, (0,), ())) == {
        ("0",): 1,
        ("-0",): 1,
        ("nan",): 1,
        (None,): 1,
        ("1.5",): 1,
    }
    assert _counter(count_written_rows(written, (), (1,))) == {("0",): 2, (None,): 2, ("1.5",): 1}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_batches_are_merged(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(reading, "MAX_BYTES_FOR_PYTHON", 0)
    monkeypatch.setattr(reading, "BLOCK_BYTES", 400)
    monkeypatch.setattr(reading, "BATCH_ROWS", 50)
    monkeypatch.setattr(reading, "MAX_UNMERGED_ROWS", 20)
    table = pa.table({"x": [str(number % 7) for number in range(1000)], "y": [str(n % 3) for n in range(1000)]})
    path = tmp_path / f"table{suffix}"
    with DuckDBEngine() as engine:
        engine.write(engine.read(Source(frame=table)), path)
    found = count_written_rows(WrittenTable(path, ("x", "y")), (0,), (1,))
    assert found.num_rows == 21
    assert _counter(found) == Counter(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True))


@pytest.mark.parametrize("limit", [0, 1 << 17])
@pytest.mark.parametrize("lines", [["age,name", "1,2"], ["age", "1"], ["age,illness"], ["age,illness", "1,2,3"]])
def test_files_with_other_columns_or_records_are_refused(tmp_path, monkeypatch, limit, lines):
    monkeypatch.setattr(reading, "MAX_BYTES_FOR_PYTHON", limit)
    with pytest.raises(VerificationError, match="read back") as error:
        count_written_rows(WrittenTable(_write(tmp_path / "table.csv", lines), ("age", "illness")), (0,), (1,))
    assert "1,2" not in str(error.value)


def test_text_that_is_not_canonical_is_counted_in_canonical_form(tmp_path):
    path = _write(tmp_path / "table.csv", ["x", "é", "e\u0301", "\u00a0é ", '"\u200b"'])
    assert _counter(count_written_rows(WrittenTable(path, ("x",)), (0,), ())) == {("é",): 3, (None,): 1}


# -- folding and domains ------------------------------------------------------------------------------

texts = st.one_of(
    st.text(max_size=6),
    st.text("aAeE\u0301\u00df\u0130 \u00a0\u200b\ufb01\uff21\u0661\u221201.5-+\u00ad\0\u2800\ufe0f", max_size=6),
    st.from_regex(r"[+-]?\d{0,3}\.?\d{0,3}(e\d)?", fullmatch=True),
)


@settings(max_examples=400)
@given(st.lists(texts, min_size=2, max_size=6))
def test_both_foldings_have_the_same_classes(values):
    for one in values:
        assert (fold(one) is None) == (folding.value_key(one) is None)
        assert canonical(one) == folding.published_form(one)
        for other in values:
            assert (fold(one) == fold(other)) == (folding.value_key(one) == folding.value_key(other))


def test_domains_are_those_of_the_schema():
    values = ("low", "Mid", "high", "10")
    schema = Schema(
        {
            "s": Column(Role.SENSITIVE, categories=Categories((("LOW",), ("mid", "High"), ("10.0",))), order=values),
            "n": Column(Role.SENSITIVE),
        }
    )
    for name, found in (("s", ["high", "low", "MID", "1e1"]), ("n", ["10", "2", "2.0", "-1"]), ("n", ["x", "1"])):
        own = domains.declared_domain(schema, name, found, folding.value_key)
        other = schema.domain(name, found)
        assert (own.categories, own.rank_count) == (other.categories, other.rank_count)
        for one, two in ((own.category, other.category), (own.rank, other.rank)):
            assert (one is None) == (two is None)
            assert one is None or list(one) == two.tolist()
    with pytest.raises(VerificationError, match="2 released values without a category"):
        domains.declared_domain(schema, "s", ["low", "x", "y"], folding.value_key)


# -- verification -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_reading_that_differs_from_the_file_is_refused(tmp_path, suffix):
    """The engine's reading is one table, the file another."""
    path = tmp_path / f"table{suffix}"
    with DuckDBEngine() as engine:
        honest = engine.read(engine.write(engine.read(Source(frame=pa.table(_table()))), path))
        written = WrittenTable(path, honest.columns)
        assert verify(engine, honest, SCHEMA, MODELS, 16, written=written).reading == written.reader
        assert verify(engine, honest, SCHEMA, MODELS, 16).reading == ENGINE
        cells = _table()
        cells["illness"][:8] = ["flu"] * 8
        for spoiled in (cells, {**_table(), "age": ["a"] * 15 + ["b"]}, _table(7)):
            engine.write(engine.read(Source(frame=pa.table(spoiled))), path)
            with pytest.raises(VerificationError):
                verify(engine, honest, SCHEMA, MODELS, 16, written=written)


@pytest.mark.parametrize(
    ("name", "reader"), [("out.csv", PYTHON_CSV), ("out.parquet", ARROW), ("out.sqlite", SQLITE), ("large.csv", ARROW)]
)
def test_certificate_names_the_reader(tmp_path, name, reader):
    rows = 20_000 if name.startswith("large") else 8
    with DuckDBEngine() as engine:
        engine.write(engine.read(Source(frame=pa.table(_table(rows)))), tmp_path / "in.csv")
    plan = {**PLAN, "source": {"path": str(tmp_path / "in.csv")}, "output": {"path": str(tmp_path / name)}}
    made = shoal.release(plan)
    assert made.figures["reading"] == reader
    stored = json.loads((tmp_path / name).with_suffix(".certificate.json").read_text())
    assert stored["reading"] == reader
    assert {model["judged_by"] for model in made.figures["models"]} == {"the model and the independent verification"}


def test_frames_are_read_by_arrow():
    assert shoal.anonymize(pa.table(_table()), PLAN).figures["reading"] == ARROW


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_people_and_neutralized_cells_are_read_again(tmp_path, suffix):
    table = {**_table(), "who": [f"p{number}" for number in range(16)]}
    table["illness"] = ["=flu", "cold"] * 8
    with DuckDBEngine() as engine:
        engine.write(engine.read(Source(frame=pa.table(table))), tmp_path / "in.csv")
    output = {"path": str(tmp_path / f"out{suffix}"), "overwrite": True}
    plan = {**PLAN, "source": {"path": str(tmp_path / "in.csv")}}
    people = {**plan, "columns": {**PLAN["columns"], "who": {"role": "person"}}, "output": output}
    assert shoal.release(people).figures["reading"] in (PYTHON_CSV, ARROW)
    rows = {**plan, "columns": {**PLAN["columns"], "who": {"role": "drop"}}}
    for safe in (True, False):
        for chosen in (people, rows):
            made = shoal.release({**chosen, "output": {**output, "spreadsheet_safe": safe}})
            assert made.figures["reading"] in (PYTHON_CSV, ARROW)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx", ".sqlite"])
@pytest.mark.parametrize("limit", [0, 1 << 17])
def test_apostrophes_before_formulas_are_read_again(tmp_path, monkeypatch, suffix, limit):
    """Names and cells are those before the apostrophe was put in front."""
    monkeypatch.setattr(reading, "MAX_BYTES_FOR_PYTHON", limit)
    cells = ["=1", "'=1", "-5", "-x", "'s", "\ty", "＝z", None] * 4
    numbers = [-1, 1] * 16
    pq.write_table(pa.table({"=age": ["-a", "'-a"] * 16, "ill": cells, "n": numbers}), tmp_path / "in.parquet")
    plan = {
        "source": {"path": str(tmp_path / "in.parquet")},
        "output": {"path": str(tmp_path / f"out{suffix}"), "spreadsheet_safe": True},
        "columns": {"=age": "quasi-identifier", "ill": "sensitive", "n": "sensitive"},
        "models": ["k-anonymity k=2", "p-sensitive p=2 column=ill"],
    }
    assert shoal.release(plan).figures["reading"] != ENGINE
    found = count_written_rows(
        WrittenTable(tmp_path / f"out{suffix}", ("=age", "ill", "n"), has_apostrophes=True), (0,), (1,)
    )
    expected = Counter((age, cell) for age, cell in zip(["-a", "'-a"] * 16, cells, strict=True))
    assert _counter(found) == expected
    with pytest.raises(VerificationError):
        count_written_rows(WrittenTable(tmp_path / f"out{suffix}", ("=age", "ill", "n")), (0,), (1,))


@given(st.text("'=+-@\t\r＝＋a5. e", max_size=6))
def test_apostrophes_are_removed_from_neutralized_texts(text):
    assert folding.without_apostrophe(neutralize_text(text)) == text
