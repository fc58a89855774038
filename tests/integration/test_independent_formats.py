"""Independent verification reads other formats and parts again."""

from __future__ import annotations

import datetime
import math
import sqlite3
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import VerificationError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats import Writing
from shoal.models import KAnonymity, PSensitive
from shoal.schema import Column, Role, Schema
from shoal.verification.independent.formats import DUCKDB, PYREADSTAT, SQLITE, XML
from shoal.verification.independent.reading import ARROW, WrittenTable, count_written_rows
from shoal.verification.verify import verify
from tests.builders.errors import has_code

READER = {
    ".xlsx": XML,
    ".sav": PYREADSTAT,
    ".dta": PYREADSTAT,
    ".xpt": PYREADSTAT,
    ".sqlite": SQLITE,
    ".duckdb": DUCKDB,
}
MODELS = [KAnonymity(k=2), PSensitive(p=2)]
SCHEMA = Schema({"age": Column(Role.QUASI_IDENTIFIER), "illness": Column(Role.SENSITIVE)})
PLAN = {
    "columns": {"age": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}},
    "models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}],
    "method": {"name": "full-domain"},
}
DAYS = [datetime.date(2020, 1, 31), datetime.date(1999, 5, 5), None]
TYPED = {
    "text": ["a", "é ü", None, "_x0041_", "A", "a\nb", " a", "=1+1"],
    "whole": [1, 2, None, -3, 2**53, 1, 0, 7],
    "floating": [0.5, 1.0, None, -0.0, 0.0, 1e300, 2.0, 0.1],
    "same": [1.0, 2.0, None, 4.0, 5.0, 1.0, 0.0, 7.0],
    "flag": [True, False, None, True, True, False, False, None],
    "day": [*DAYS, *DAYS, *DAYS[:2]],
    "nothing": [None] * 8,
}


def _table(rows=8):
    return pa.table({"age": ["a"] * rows + ["b"] * rows, "illness": ["flu", "cold"] * rows})


def _counter(table):
    cells = [table.column(name).to_pylist() for name in table.column_names if name != "n"]
    return Counter(dict(zip(zip(*cells, strict=True), table.column("n").to_pylist(), strict=True)))


def _write(engine, table, path, writing=None):
    return engine.write(engine.read(Source(frame=table)), path, writing or Writing())


@pytest.mark.parametrize("suffix", READER)
def test_values_are_read_as_the_engine_reads_them(tmp_path, suffix):
    """Types, missing values and signs that a format could merge."""
    columns = {**TYPED, "nothing": pa.array(TYPED["nothing"], pa.string())}
    if suffix != ".duckdb":
        columns["text"] = ["a" if text and text.strip() != text else text for text in columns["text"]]
    table = pa.table(columns)
    path = tmp_path / f"table{suffix}"
    with DuckDBEngine() as engine:
        back = engine.read(_write(engine, table, path))
        for position, name in enumerate(back.columns):
            own = count_written_rows(WrittenTable(path, back.columns), (), (position,))
            expected = engine.frequencies(back, (position,))
            for found in (own, expected):
                assert sum(found.column("n").to_pylist()) == 8, name
            texts = [
                Counter(
                    dict(
                        zip(
                            pc.cast(found.column(f"c{position}"), pa.string()).to_pylist(),
                            found.column("n").to_pylist(),
                            strict=True,
                        )
                    )
                )
                for found in (own, expected)
            ]
            assert sorted(texts[0].values()) == sorted(_without_signs(texts[1], name).values()), name
            if name in ("text", "whole", "flag", "day"):
                assert texts[0] == texts[1], name


def _without_signs(texts, name):
    """Merge both zeros of a sensitive column."""
    if name != "floating":
        return texts
    merged = Counter()
    for text, count in texts.items():
        merged[None if text is None else float(text)] += count
    return merged


@pytest.mark.parametrize("suffix", READER)
def test_engine_that_reads_another_table_is_refused(tmp_path, suffix):
    """A row, a value or a group that the engine does not see."""
    path = tmp_path / f"table{suffix}"
    with DuckDBEngine() as engine:
        honest = engine.read(_write(engine, _table(), path))
        written = WrittenTable(path, honest.columns)
        assert verify(engine, honest, SCHEMA, MODELS, 16, written=written).reading == READER[suffix]
        one_value = _table().set_column(1, "illness", [["flu"] * 8 + ["flu", "cold"] * 4])
        alone = _table().set_column(0, "age", [["a"] * 15 + ["b"]])
        for spoiled in (one_value, alone, _table(7), pa.concat_tables([_table(), _table().slice(0, 1)])):
            path.unlink()
            _write(engine, spoiled, path)
            with pytest.raises(VerificationError):
                verify(engine, honest, SCHEMA, MODELS, 16, written=written)


@pytest.mark.parametrize("suffix", READER)
@pytest.mark.parametrize("person", [False, True])
def test_row_that_the_engine_hides_is_noticed(tmp_path, monkeypatch, suffix, person):
    """The file has a group of one row, which the engine reads as another."""
    table = _table().append_column("who", pa.array([f"p{number}" for number in range(16)]))
    pq.write_table(table, tmp_path / "in.parquet")
    columns = {**PLAN["columns"], "who": {"role": "person" if person else "drop"}}
    output = {"path": str(tmp_path / f"out{suffix}"), "overwrite": True}
    plan = {**PLAN, "columns": columns, "source": {"path": str(tmp_path / "in.parquet")}, "output": output}
    assert shoal.release(plan).certificate["reading"] == READER[suffix]

    write, read = DuckDBEngine.write, DuckDBEngine.read
    honest = {}

    def write_another(self, table, path, writing=None):
        rows = self.to_arrow(table)
        honest[path] = rows
        cells = rows.column("age").to_pylist()
        spoiled = rows.set_column(0, "age", pa.array(["alone", *cells[1:]]))
        return write(self, read(self, Source(frame=spoiled)), path, writing or Writing())

    def read_hidden(self, source):
        return read(self, Source(frame=honest[source.path]) if source.path in honest else source)

    monkeypatch.setattr(DuckDBEngine, "write", write_another)
    monkeypatch.setattr(DuckDBEngine, "read", read_hidden)
    with pytest.raises(VerificationError):
        shoal.release(plan)


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_labelled_codes_are_read_as_their_labels(tmp_path, suffix):
    table = pa.table({"age": ["20..29", "*", None, "3"] * 2})
    path = tmp_path / f"table{suffix}"
    with DuckDBEngine() as engine:
        source = _write(engine, table, path, Writing(coded=frozenset({"age"})))
    assert source.reading.decoded == ("age",)
    read = WrittenTable(path, ("age",), labelled=("age",))
    assert _counter(count_written_rows(read, (0,), ())) == {("20..29",): 2, ("*",): 2, (None,): 2, ("3",): 2}
    codes = _counter(count_written_rows(WrittenTable(path, ("age",)), (0,), ()))
    assert codes == {(1,): 2, (2,): 2, (3,): 2, (None,): 2}


def test_codes_with_the_same_label_and_missing_codes_are_not_merged(tmp_path):
    import pandas as pd
    import pyreadstat

    path = tmp_path / "table.sav"
    frame = pd.DataFrame({"age": [1.0, 2.0, -1.0, math.nan]})
    pyreadstat.write_sav(
        frame, str(path), variable_value_labels={"age": {1: "a", 2: "a", -1: "b"}}, missing_ranges={"age": [-1, 2]}
    )
    assert _counter(count_written_rows(WrittenTable(path, ("age",)), (0,), ())) == {
        (1,): 1,
        (2,): 1,
        (-1,): 1,
        (None,): 1,
    }
    with pytest.raises(VerificationError, check=has_code("verification.not-readable-again")):
        count_written_rows(WrittenTable(path, ("age",), labelled=("age",)), (0,), ())


def test_columns_of_several_kinds_and_further_tables_are_refused(tmp_path):
    path = tmp_path / "table.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE release (age)")
    connection.executemany("INSERT INTO release VALUES (?)", [("secret",), (1,)])
    connection.commit()
    with pytest.raises(VerificationError, check=has_code("verification.not-readable-again")) as error:
        count_written_rows(WrittenTable(path, ("age",)), (0,), ())
    assert "secret" not in str(error.value)
    connection.execute("DELETE FROM release WHERE age = 1")
    connection.commit()
    assert _counter(count_written_rows(WrittenTable(path, ("age",)), (0,), ())) == {("secret",): 1}
    connection.execute("CREATE TABLE other (age)")
    connection.commit()
    connection.close()
    with pytest.raises(VerificationError, check=has_code("verification.not-readable-again")):
        count_written_rows(WrittenTable(path, ("age",)), (0,), ())


def test_formulas_and_other_cells_of_workbooks_are_refused(tmp_path):
    import xlsxwriter

    for number, write in enumerate(
        (
            lambda sheet: sheet.write_formula(1, 0, "=1+1"),
            lambda sheet: sheet.write_string(1, 1, "beyond the columns"),
        )
    ):
        path = tmp_path / f"{number}.xlsx"
        with xlsxwriter.Workbook(str(path)) as book:
            sheet = book.add_worksheet()
            sheet.write_string(0, 0, "age")
            write(sheet)
            sheet.write_string(3, 0, "a")
        with pytest.raises(VerificationError, check=has_code("verification.not-readable-again")):
            count_written_rows(WrittenTable(path, ("age",)), (0,), ())


def test_rows_without_cells_are_rows_of_a_workbook(tmp_path):
    import xlsxwriter

    path = tmp_path / "table.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:  # with shared texts
        sheet = book.add_worksheet()
        for row, text in ((0, "age"), (1, "a"), (4, "a")):
            sheet.write_string(row, 0, text)
    assert _counter(count_written_rows(WrittenTable(path, ("age",)), (0,), ())) == {("a",): 2, (None,): 2}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_all_parts_of_a_folder_are_read(tmp_path, suffix):
    folder = tmp_path / f"table{suffix}"
    folder.mkdir()
    with DuckDBEngine() as engine:
        for number in range(3):
            _write(engine, _table(number + 1), folder / f"part-{number:05d}{suffix}")
        written = WrittenTable(folder, ("age", "illness"))
        assert written.reader == ARROW
        found = _counter(count_written_rows(written, (0,), (1,)))
        assert sum(found.values()) == 12
        assert set(found) == {("a", "flu"), ("a", "cold"), ("b", "flu"), ("b", "cold")}
        _write(engine, _table().select(["illness", "age"]), folder / f"part-00003{suffix}")
        with pytest.raises(VerificationError, match="columns"):
            count_written_rows(written, (0,), (1,))


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".sqlite"])
def test_published_file_of_people_is_read_too(tmp_path, monkeypatch, suffix):
    """Only the published file has a value that the engine does not see."""
    table = _table().append_column("who", pa.array([f"p{number}" for number in range(16)]))
    pq.write_table(table, tmp_path / "in.parquet")
    columns = {**PLAN["columns"], "who": {"role": "person"}}
    output = {"path": str(tmp_path / f"out{suffix}")}
    write, read = DuckDBEngine.write, DuckDBEngine.read
    honest = {}

    def write_another(self, table, path, writing=None):
        rows = self.to_arrow(table)
        if path.stem == "table":
            honest[path] = rows
            spoiled = pa.array(["alone", *rows.column("age").to_pylist()[1:]])
            table = read(self, Source(frame=rows.set_column(rows.column_names.index("age"), "age", spoiled)))
        return write(self, table, path, writing or Writing())

    def read_hidden(self, source):
        return read(self, Source(frame=honest[source.path]) if source.path in honest else source)

    monkeypatch.setattr(DuckDBEngine, "write", write_another)
    monkeypatch.setattr(DuckDBEngine, "read", read_hidden)
    with pytest.raises(VerificationError, check=has_code("verification.other-rows-of-people")):
        shoal.release({**PLAN, "columns": columns, "source": {"path": str(tmp_path / "in.parquet")}, "output": output})
