"""Source files in the forms of practice.

Compressed, in several files, from standard input, with decimal commas.
"""

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
from tests.builders.errors import has_code

ROWS = b"a,b\n1,x\n2,y\n"


def rows_of(path, **given):
    with DuckDBEngine() as engine:
        return engine.to_arrow(engine.read(Source(Path(path), **given))).to_pylist()


def zstd(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(content)
    return sink.getvalue().to_pybytes()


COMPRESS = {"gz": gzip.compress, "zst": zstd}


@pytest.mark.parametrize("kind", COMPRESS)
def test_compressed_csv_reads_like_plain_csv(tmp_path, kind):
    (tmp_path / f"t.csv.{kind}").write_bytes(COMPRESS[kind](ROWS))
    assert rows_of(tmp_path / f"t.csv.{kind}") == [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}]


@pytest.mark.parametrize("kind", COMPRESS)
def test_file_of_several_compressed_parts_is_read_to_its_end(tmp_path, kind):
    (tmp_path / f"t.csv.{kind}").write_bytes(COMPRESS[kind](ROWS) + COMPRESS[kind](b"3,z\n"))
    assert len(rows_of(tmp_path / f"t.csv.{kind}")) == 3


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("left", [6, 30, -1, -9])
def test_truncated_compressed_file_is_refused(tmp_path, kind, left):
    whole = COMPRESS[kind](b"a,b\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(9999)))
    (tmp_path / f"t.csv.{kind}").write_bytes(whole[:left])
    with pytest.raises(TableError, check=has_code("files.compressed-damaged")):
        rows_of(tmp_path / f"t.csv.{kind}")


@pytest.mark.parametrize("kind", COMPRESS)
def test_excessive_compression_is_refused(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(compression, "ALWAYS_ALLOWED_BYTES", 1 << 20)
    monkeypatch.setattr(compression, "MAX_EXPANSION", 100)
    (tmp_path / f"t.csv.{kind}").write_bytes(COMPRESS[kind](b"a,b\n" + b"0,0\n" * (1 << 20)))
    with pytest.raises(TableError, match="more than 100 times its size"):
        rows_of(tmp_path / f"t.csv.{kind}")


def test_decompressed_files_are_removed_with_the_engine(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(ROWS))
    with DuckDBEngine() as engine:
        table = engine.read(Source(tmp_path / "t.csv.gz"))
        folder = engine._spill.path
        assert list(folder.rglob("t.csv"))
        assert engine.read(Source(tmp_path / "t.csv.gz")).columns == table.columns  # decompressed once
        assert len(list(folder.rglob("t.csv"))) == 1
    assert not folder.exists()


@pytest.mark.parametrize("content", [ROWS, gzip.compress(ROWS), zstd(ROWS)], ids=["plain", "gz", "zst"])
def test_standard_input_can_be_used_repeatedly(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    with DuckDBEngine() as engine:
        for _ in range(2):
            assert engine.to_arrow(engine.read(Source(Path("-")))).num_rows == 2


def test_parquet_from_standard_input(monkeypatch):
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2]}), sink)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sink.getvalue())))
    assert rows_of("-") == [{"a": 1}, {"a": 2}]


def test_pattern_reads_all_matching_files(tmp_path):
    for name in ("2023-1.csv", "2024-1.csv", "2024-2.csv"):
        (tmp_path / name).write_text(f"a\n{name}\n")
    assert [row["a"] for row in rows_of(tmp_path / "2024-*.csv")] == ["2024-1.csv", "2024-2.csv"]


def test_existing_file_named_like_a_pattern(tmp_path):
    (tmp_path / "t[1].csv").write_text("a\nright\n")
    (tmp_path / "t1.csv").write_text("a\nwrong\n")
    assert rows_of(tmp_path / "t[1].csv") == [{"a": "right"}]


def test_folder_of_plain_and_compressed_csv_is_one_table(tmp_path):
    (tmp_path / "1.csv").write_bytes(ROWS)
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"a,b\n3,z\n"))
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.csv").write_text("secret\n")
    assert [row["a"] for row in rows_of(tmp_path)] == ["1", "2", "3"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_partition_columns_come_last_as_text(tmp_path, form):
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
    "nothing": ({"note.md": "x"}, "has no file that ends"),
    "two formats": ({"1.csv": "a\n1\n", "2.parquet": "x"}, "more than one format"),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_inconsistent_folders_are_refused(tmp_path, case):
    files, message = FOLDERS[case]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(TableError, match=message):
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
def test_numbers_with_other_separators(tmp_path, case):
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
def test_database_address_as_path_is_refused(address, make):
    """Do not repeat the address in the message."""
    with pytest.raises(PlanError) as caught:
        make(address)
    assert "geheim" not in str(caught.value)
    assert "anna" not in str(caught.value)


def test_format_from_the_suffix(tmp_path):
    for form in FORMATS.values():
        for suffix in form.suffixes:
            assert format_of(tmp_path / f"t{suffix.upper()}") is form


@pytest.mark.parametrize("form", [form for form in FORMATS.values() if form.signature], ids=lambda form: form.name)
def test_format_from_the_first_bytes(tmp_path, form):
    """Refuse a file with the suffix of another format."""
    offset, signature_bytes = form.signature[0]
    for name in ("table", "t.csv"):
        (tmp_path / name).write_bytes(b"\1" * offset + signature_bytes + b"\1" * 80)
    assert format_of(tmp_path / "table") is form
    with pytest.raises(TableError, match=f'format = "{form.name}"'):
        format_of(tmp_path / "t.csv")


@pytest.mark.parametrize("form", [form for form in FORMATS.values() if form.packages], ids=lambda form: form.name)
def test_missing_package_of_a_format_is_named(tmp_path, form, monkeypatch):
    monkeypatch.setattr("shoal.io.formats.find_spec", lambda name: None)
    path = tmp_path / f"t{form.suffixes[0]}"
    path.write_bytes(b"x")
    with pytest.raises(TableError, match=rf"pip install 'shoal\[{form.extra}\]'"):
        rows_of(path)


def test_unknown_option_of_a_format_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(ROWS)
    with pytest.raises(PlanError, check=has_code("source.option-not-of-format", format="CSV", option="sheet")):
        rows_of(tmp_path / "t.csv", sheet="one")


def test_unknown_format_is_refused_with_a_hint():
    with pytest.raises(PlanError, match="Did you mean 'excel'"):
        Source(Path("x"), format="exel")


def parquet(content):
    sink = io.BytesIO()
    pq.write_table(pa.table({"age": [20 + n % 9 for n in range(60)], "illness": ["flu", "gout", "cold"] * 20}), sink)
    return sink.getvalue()


@pytest.mark.parametrize("compression", [bytes, gzip.compress, parquet], ids=["plain", "gz", "parquet"])
def test_draft_and_exploration_read_standard_input(tmp_path, monkeypatch, compression):
    """Read standard input for a draft and an exploration.

    Both read their table several times; standard input can be read only once.
    """
    content = b"age,illness\n" + b"".join(b"%d,%s\n" % (20 + n % 9, b"flu gout cold".split()[n % 3]) for n in range(60))
    replace_stdin = functools.partial(monkeypatch.setattr, sys, "stdin")
    replace_stdin(io.TextIOWrapper(io.BytesIO(compression(content))))
    drafted = shoal.draft("-")
    assert drafted.profile.rows == 60
    assert drafted.tried
    assert drafted.plan.source.path == Path("-")
    replace_stdin(io.TextIOWrapper(io.BytesIO(compression(content))))
    (trial,) = shoal.explore(drafted.plan, methods=["mondrian"], ks=[5], workers=1).trials
    assert (trial.outcome, trial.released) == ("released", 60)
