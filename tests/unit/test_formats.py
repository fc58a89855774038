"""Tables as they really lie around: compressed, in many files, through standard input, with decimal commas."""

from __future__ import annotations

import functools
import gzip
import io
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import PlanError, TableError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats import FORMATS, compression, format_of
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.plan.plan import Plan

ROWS = b"a,b\n1,x\n2,y\n"


def rows_of(path, **given):
    with DuckDBEngine() as engine:
        return engine.to_arrow(engine.read(Source(Path(path), **given))).to_pylist()


def zstd(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(content)
    return sink.getvalue().to_pybytes()


PACKED = {"gz": gzip.compress, "zst": zstd}


@pytest.mark.parametrize("kind", PACKED)
def test_a_compressed_csv_reads_like_the_plain_one(tmp_path, kind):
    (tmp_path / f"t.csv.{kind}").write_bytes(PACKED[kind](ROWS))
    assert rows_of(tmp_path / f"t.csv.{kind}") == [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}]


@pytest.mark.parametrize("kind", PACKED)
def test_a_file_of_several_compressed_parts_is_read_to_its_end(tmp_path, kind):
    (tmp_path / f"t.csv.{kind}").write_bytes(PACKED[kind](ROWS) + PACKED[kind](b"3,z\n"))
    assert len(rows_of(tmp_path / f"t.csv.{kind}")) == 3


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("left", [6, 30, -1, -9])
def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path, kind, left):
    whole = PACKED[kind](b"a,b\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(9999)))
    (tmp_path / f"t.csv.{kind}").write_bytes(whole[:left])
    with pytest.raises(TableError, match="damaged or cut off"):
        rows_of(tmp_path / f"t.csv.{kind}")


@pytest.mark.parametrize("kind", PACKED)
def test_a_file_that_grows_out_of_proportion_is_refused(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(compression, "ALWAYS_ALLOWED_BYTES", 1 << 20)
    monkeypatch.setattr(compression, "MAX_EXPANSION", 100)
    (tmp_path / f"t.csv.{kind}").write_bytes(PACKED[kind](b"a,b\n" + b"0,0\n" * (1 << 20)))
    with pytest.raises(TableError, match="more than 100 times its size"):
        rows_of(tmp_path / f"t.csv.{kind}")


def test_what_was_laid_out_goes_with_the_engine(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(ROWS))
    with DuckDBEngine() as engine:
        table = engine.read(Source(tmp_path / "t.csv.gz"))
        folder = engine._spill.path
        assert list(folder.rglob("t.csv"))
        assert engine.read(Source(tmp_path / "t.csv.gz")).columns == table.columns  # laid out once
        assert len(list(folder.rglob("t.csv"))) == 1
    assert not folder.exists()


@pytest.mark.parametrize("content", [ROWS, gzip.compress(ROWS), zstd(ROWS)], ids=["plain", "gz", "zst"])
def test_standard_input_is_read_once_and_as_often_as_needed(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    with DuckDBEngine() as engine:
        for _ in range(2):
            assert engine.to_arrow(engine.read(Source(Path("-")))).num_rows == 2


def test_parquet_comes_through_standard_input_too(monkeypatch):
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2]}), sink)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sink.getvalue())))
    assert rows_of("-") == [{"a": 1}, {"a": 2}]


def test_a_pattern_stands_for_its_files(tmp_path):
    for name in ("2023-1.csv", "2024-1.csv", "2024-2.csv"):
        (tmp_path / name).write_text(f"a\n{name}\n")
    assert [row["a"] for row in rows_of(tmp_path / "2024-*.csv")] == ["2024-1.csv", "2024-2.csv"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    (tmp_path / "t[1].csv").write_text("a\nright\n")
    (tmp_path / "t1.csv").write_text("a\nwrong\n")
    assert rows_of(tmp_path / "t[1].csv") == [{"a": "right"}]


def test_a_folder_of_csv_files_packed_or_not_is_one_table(tmp_path):
    (tmp_path / "1.csv").write_bytes(ROWS)
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"a,b\n3,z\n"))
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.csv").write_text("secret\n")
    assert [row["a"] for row in rows_of(tmp_path)] == ["1", "2", "3"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_in_the_names_of_folders_come_last_and_as_text(tmp_path, form):
    for year, region, rows in (("2023", "a%2Fb", ["1"]), ("2024", "__HIVE_DEFAULT_PARTITION__", ["2", "3"])):
        folder = tmp_path / f"year={year}" / f"region={region}"
        folder.mkdir(parents=True)
        if form == "csv":
            (folder / "part.csv").write_text("\n".join(["v", *rows]) + "\n")
        else:
            pq.write_table(pa.table({"v": rows}), folder / "part.parquet")
    assert rows_of(tmp_path) == [
        {"v": "1", "year": "2023", "region": "a/b"},
        {"v": "2", "year": "2024", "region": None},
        {"v": "3", "year": "2024", "region": None},
    ]


FOLDERS = {
    "other headers": ({"1.csv": "a\n1\n", "2.csv": "b\n1\n"}, "same header"),
    "two ways of parting": ({"x=1/1.csv": "a\n1\n", "y=1/2.csv": "a\n1\n"}, "partitioned in more than one way"),
    "a file outside of the parts": ({"x=1/1.csv": "a\n1\n", "2.csv": "a\n1\n"}, "partitioned in more than one way"),
    "a column twice": ({"a=1/1.csv": "a\n1\n"}, "both in the files and in the names"),
    "nothing": ({"note.md": "x"}, "holds no file that ends"),
    "two formats": ({"1.csv": "a\n1\n", "2.parquet": "x"}, "more than one format"),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_folders_that_are_no_one_table_are_refused(tmp_path, case):
    files, told = FOLDERS[case]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(TableError, match=told):
        rows_of(tmp_path)


NUMBERS = {
    "a decimal comma": ("1,5;-2;1234,25", {"decimal": ","}, ["1.5", "-2", "1234.25"]),
    "points between thousands": ("1.234,5;9;1.234.567", {"decimal": ",", "thousands": "."}, ["1234.5", "9", "1234567"]),
    "commas between thousands": ("1,234.5;10;12,345", {"thousands": ","}, ["1234.5", "10", "12345"]),
    "any blank between thousands": ("1 234;1\u00a0234;1\u202f234", {"thousands": " "}, ["1234", "1234", "1234"]),
    "zeros in front stay": ("01234;1,5", {"decimal": ","}, ["01234", "1.5"]),
    "a column of other things stays": ("1,5;1,5 mg", {"decimal": ","}, ["1,5", "1,5 mg"]),
    "groups of two are no thousands": ("1.23,5;1.234", {"decimal": ",", "thousands": "."}, ["1.23,5", "1.234"]),
}  # fmt: skip


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_as_other_countries_write_them(tmp_path, case):
    cells, form, expected = NUMBERS[case]
    lines = [f"{number};{cell}\n" for number, cell in enumerate(cells.split(";"))]
    (tmp_path / "t.csv").write_text("n;m\n" + "".join(lines))
    found = rows_of(tmp_path / "t.csv", csv=CsvFormat(delimiter=";", **form))
    assert [row["m"] for row in found] == expected


def test_separators_must_differ():
    with pytest.raises(TableError, match="must differ"):
        CsvFormat(thousands=".")


ADDRESSES = [
    "postgresql://anna:geheim@db/clinic",
    "postgres://anna:geheim@db",
    "mysql://anna:geheim@db",
    "https://geheim",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("make", [
    lambda address: Source(Path(address)),
    lambda address: Plan.from_dict({"source": {"path": address}, "columns": {"a": {"role": "quasi-identifier"}}}),
    lambda address: Plan.from_dict({"output": {"path": address}, "columns": {"a": {"role": "quasi-identifier"}}}),
])  # fmt: skip
def test_an_address_is_no_path_and_is_not_repeated(address, make):
    with pytest.raises(PlanError) as told:
        make(address)
    assert "geheim" not in str(told.value)
    assert "anna" not in str(told.value)


def test_every_format_is_told_by_its_name(tmp_path):
    for form in FORMATS.values():
        for suffix in form.suffixes:
            assert format_of(tmp_path / f"t{suffix.upper()}") is form


@pytest.mark.parametrize("form", [form for form in FORMATS.values() if form.signature], ids=lambda form: form.name)
def test_a_format_is_told_by_its_first_bytes_and_a_false_name_is_refused(tmp_path, form):
    place, sign = form.signature[0]
    for name in ("table", "t.csv"):
        (tmp_path / name).write_bytes(b"\1" * place + sign + b"\1" * 80)
    assert format_of(tmp_path / "table") is form
    with pytest.raises(TableError, match=f'format = "{form.name}"'):
        format_of(tmp_path / "t.csv")


@pytest.mark.parametrize("form", [form for form in FORMATS.values() if form.packages], ids=lambda form: form.name)
def test_a_format_whose_package_is_missing_says_what_to_install(tmp_path, form, monkeypatch):
    monkeypatch.setattr("shoal.io.formats.find_spec", lambda name: None)
    place = tmp_path / f"t{form.suffixes[0]}"
    place.write_bytes(b"x")
    with pytest.raises(TableError, match=rf"pip install 'shoal\[{form.extra}\]'"):
        rows_of(place)


def test_a_key_that_a_format_does_not_know_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(ROWS)
    with pytest.raises(PlanError, match="CSV, which has no 'sheet'"):
        rows_of(tmp_path / "t.csv", sheet="one")


def test_an_unknown_format_is_refused_with_a_hint():
    with pytest.raises(PlanError, match="Did you mean 'excel'"):
        Source(Path("x"), format="exel")


def parquet(content):
    sink = io.BytesIO()
    pq.write_table(pa.table({"age": [20 + n % 9 for n in range(60)], "illness": ["flu", "gout", "cold"] * 20}), sink)
    return sink.getvalue()


@pytest.mark.parametrize("compression", [bytes, gzip.compress, parquet], ids=["plain", "gz", "parquet"])
def test_a_draft_and_an_exploration_take_standard_input(tmp_path, monkeypatch, compression):
    """Both read their table several times; standard input is there once."""
    content = b"age,illness\n" + b"".join(b"%d,%s\n" % (20 + n % 9, b"flu gout cold".split()[n % 3]) for n in range(60))
    for_each = functools.partial(monkeypatch.setattr, sys, "stdin")
    for_each(io.TextIOWrapper(io.BytesIO(compression(content))))
    drafted = shoal.draft("-")
    assert drafted.profile.rows == 60
    assert drafted.tried
    assert drafted.plan.source.path == Path("-")
    for_each(io.TextIOWrapper(io.BytesIO(compression(content))))
    (trial,) = shoal.explore(drafted.plan, methods=["mondrian"], ks=[5], workers=1).trials
    assert (trial.outcome, trial.released) == ("released", 60)
