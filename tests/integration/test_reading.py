"""Reading tables: CSV in all dialects, Parquet, and data frames.

No value is converted by guessing, and nothing is lost.
"""

from __future__ import annotations

import datetime
import decimal
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, PlanError, TableError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.pipeline.check import check
from shoal.pipeline.run import anonymize, release
from shoal.runtime.scratch import make_scratch
from tests.builders.errors import has_code

Read = tuple[tuple[str, ...], list[list[Any]]]
ODD_NAMES = ['"; drop table x; --', 'a"b', "😀", "n" * 300, "Age", "age", "with space", "semi;colon", "c0", "n", "'"]


def read(source: Source) -> Read:
    with DuckDBEngine() as engine:
        table = engine.read(source)
        arrow = engine._fetch(f"SELECT * FROM {table.name}")
        return table.columns, [list(row) for row in zip(*(column.to_pylist() for column in arrow.columns), strict=True)]


def read_csv(folder: Path, content: bytes, name: str = "x.csv", **form: Any) -> Read:
    path = folder / name
    path.write_bytes(content)
    return read(Source(path, csv=CsvFormat(**form)))


def error_of(folder: Path, content: bytes, **form: Any) -> str:
    with pytest.raises(TableError) as caught:
        read_csv(folder, content, **form)
    return str(caught.value)


# -- CSV: dialects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(tmp_path: Path, delimiter: str) -> None:
    content = f'a{delimiter}b\nx{delimiter}1\n"y{delimiter}z"{delimiter}2\n'
    assert read_csv(tmp_path, content.encode()) == (("a", "b"), [["x", "1"], [f"y{delimiter}z", "2"]])


def test_delimiter_and_quote_can_be_set(tmp_path: Path) -> None:
    assert read_csv(tmp_path, b"a:b\n'x:y':1\n", delimiter=":", quote="'") == (("a", "b"), [["x:y", "1"]])
    assert read_csv(tmp_path, "a§b\nx§1\n".encode(), delimiter="§") == (("a", "b"), [["x", "1"]])


@pytest.mark.parametrize("form", [{"delimiter": "ab"}, {"delimiter": ""}, {"delimiter": '"'}, {"quote": "\n"}])
def test_impossible_delimiters(form: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"CSV file must|text of one character"):
        CsvFormat(**form)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path: Path, end: str, last: bool) -> None:
    content = end.join(["a,b", "x,1", "y,2"]) + (end if last else "")
    assert read_csv(tmp_path, content.encode()) == (("a", "b"), [["x", "1"], ["y", "2"]])


def test_mixed_line_ends_are_refused(tmp_path: Path) -> None:
    for content in (b"a,b\r\nx,1\ny,2\r\n", b"a,b\nx,1\r\ny,2\n"):
        assert "line end" in error_of(tmp_path, content)


def test_header_detection(tmp_path: Path) -> None:
    assert read_csv(tmp_path, b"a,b\n1,2\n")[0] == ("a", "b")
    assert read_csv(tmp_path, b"1,2\n3,4\n") == (("column1", "column2"), [["1", "2"], ["3", "4"]])
    assert read_csv(tmp_path, b"x,2\ny,4\n")[0] == ("column1", "column2")
    assert read_csv(tmp_path, b"id,2020\n1,5\n")[0] == ("id", "2020")
    assert read_csv(tmp_path, b"2019,2020\n1,5\n", header=True)[0] == ("2019", "2020")
    assert read_csv(tmp_path, b"x,y\n", header=False) == (("column1", "column2"), [["x", "y"]])
    assert read_csv(tmp_path, b"x,y\n", header=False, names=("p", "q")) == (("p", "q"), [["x", "y"]])
    assert "Found 2 columns in" in error_of(tmp_path, b"x,y\n", names=("p",))


def test_blank_lines(tmp_path: Path) -> None:
    """Ignore blank lines, also before the header.

    Blank lines before the header once made the header a row of the data.
    """
    for content in (b"\n\na,b\nx,1\n", b"\r\n\r\na,b\r\nx,1\r\n", b"\xef\xbb\xbf\na,b\nx,1\n", b"a,b\n\nx,1\n\n"):
        assert read_csv(tmp_path, content) == (("a", "b"), [["x", "1"]])
    assert read_csv(tmp_path, b"a\nx\n\ny\n") == (("a",), [["x"], [None], ["y"]])  # of one column: an empty cell


def test_quoting(tmp_path: Path) -> None:
    content = b'a,b\n"line\none","say ""hi"""\n#no comment,x"y\n'
    assert read_csv(tmp_path, content) == (("a", "b"), [["line\none", 'say "hi"'], ["#no comment", 'x"y']])
    assert read_csv(tmp_path, b'"a\nb",c\n1,x\n')[0] == ("a\nb", "c")


def test_quoted_newlines_far_into_a_large_file(tmp_path: Path) -> None:
    rows = 60_000
    content = b"a,b\n" + b'"first\nsecond",x\n' * rows
    with DuckDBEngine() as engine:
        path = tmp_path / "x.csv"
        path.write_bytes(content)
        table = engine.read(Source(path))
        assert engine.frequencies(table, [0, 1]).to_pylist() == [{"c0": "first\nsecond", "c1": "x", "n": rows}]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b"\n\n", "has no record"),
        (b"a,b,c\nx,2,3\nSECRET,2\nz,1,2\n", "3; found 2 at line 3"),
        (b"a,b\nx,2\nSECRET,2,3\nz,1\n", "2; found 3 at line 3"),
        (b'a,b\n"SECRET,2\nz,1\n', "not closed"),
        (b"a,a\nx,2\n", "share a name"),
        (b"a,\nx,2\n", "Column 2 has none"),
        (b"a,b\nSEC\0RET,2\n", "has one at byte 7"),
        (b"a,b\n" + b"x,2\n" * 100_000 + b"\0,1\n", "NUL byte"),
        (b"a,b\nSECRET\xe9,2\n", "not utf-8 text .at byte 10"),
        (b"a,b\n" + b"x,2\n" * 100_000 + b"SECRET\xe9,2\n", "not UTF-8 text at line 100002"),
        ("a,b\nx,2\n".encode("utf-16-be"), "NUL byte"),
        (b"\xfe\xff" + "a,b\nx,2\n".encode("utf-16-be"), "big-endian"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_files_other_than_tables(tmp_path: Path, content: bytes, expected: str) -> None:
    message = error_of(tmp_path, content)
    assert expected.replace(".", "") in message.replace("(", "")
    assert "SECRET" not in message


def test_paths_other_than_files(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.csv", tmp_path / ("n" * 300 + ".csv"), Path(os.devnull)):
        with pytest.raises(TableError):
            read(Source(path))
    with pytest.raises(PlanError, match="'path' must be a path"):
        Source(Path("a\0b.csv"))


# -- CSV: encodings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codec", "encoding"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-8-sig", "utf-8"),
        ("utf-8", "UTF8"),
        ("utf-8", "utf-8-sig"),
        ("utf-16", None),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16le"),
        ("latin-1", "latin-1"),
        ("latin-1", "ISO-8859-1"),
        ("latin-1", "Latin1"),
        ("cp1252", "cp1252"),
        ("cp1252", "windows-1252"),
    ],
)
def test_encodings(tmp_path: Path, codec: str, encoding: str | None) -> None:
    content = "näme,b\nZoë,1\n".encode(codec)
    assert read_csv(tmp_path, content, encoding=encoding) == (("näme", "b"), [["Zoë", "1"]])


def test_unsupported_encodings(tmp_path: Path) -> None:
    for encoding in ("cp1250", "no-such", "utf-7"):
        assert "Convert the file to UTF-8" in error_of(tmp_path, b"a,b\nx,1\n", encoding=encoding)


def test_windows_1252_characters(tmp_path: Path) -> None:
    every = bytes(byte for byte in range(0x80, 0x100) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D))
    content = "price in \u20ac,b\n".encode("cp1252") + every + b",1\n\x96 , 2\n"
    names, rows = read_csv(tmp_path, content, encoding="cp1252", missing=("\u2013",), trim=True)
    assert names == ("price in \u20ac", "b")
    assert rows == [[every.decode("cp1252"), "1"], [None, "2"]]


def test_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    assert read_csv(tmp_path, b'\xef\xbb\xbf"a",b\nx,1\n')[0] == ("a", "b")
    # longer than the sample, which then ends inside a character
    content = b"\xef\xbb\xbfa,b\n" + "é,1\n".encode() * 100_000
    with DuckDBEngine() as engine:
        (tmp_path / "x.csv").write_bytes(content)
        assert engine.read(Source(tmp_path / "x.csv")).columns == ("a", "b")


def test_latin_1_starting_like_a_byte_order_mark(tmp_path: Path) -> None:
    assert read_csv(tmp_path, b"\xfe\xff,b\nx,1\n", encoding="latin-1")[0] == ("þÿ", "b")


# -- CSV: values -----------------------------------------------------------------------------------


def test_values_are_not_converted(tmp_path: Path) -> None:
    """Keep texts that look like numbers, dates or missing values."""
    content = b"zip,code,when\n01234,NA,2024-01-01\n00001,NO,null\n1e5,nan,TRUE\n 7,None,-\n"
    assert read_csv(tmp_path, content)[1] == [
        ["01234", "NA", "2024-01-01"],
        ["00001", "NO", "null"],
        ["1e5", "nan", "TRUE"],
        [" 7", "None", "-"],
    ]


def test_empty_cells_and_declared_markers_are_missing(tmp_path: Path) -> None:
    content = b'a,b\nNA,?\n"",NO\n,"?"\n'
    assert read_csv(tmp_path, content)[1] == [["NA", "?"], [None, "NO"], [None, "?"]]
    assert read_csv(tmp_path, content, missing=("NA", "?"))[1] == [[None, None], [None, "NO"], [None, None]]


def test_trim(tmp_path: Path) -> None:
    content = b"a, b \n x , NA \n\t?\t,\n  ,y z\n"
    assert read_csv(tmp_path, content)[0] == ("a", " b ")
    assert read_csv(tmp_path, content, trim=True, missing=("NA", "?")) == (
        ("a", "b"),
        [["x", None], [None, None], [None, "y z"]],
    )


@settings(max_examples=25)
@given(st.lists(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=2,
                         max_size=2), min_size=1, max_size=5))  # fmt: skip
def test_round_trip_of_any_text(rows: list[list[str]]) -> None:
    import csv
    import io

    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([["first", "second"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        _, found = read_csv(Path(folder), text.getvalue().encode(), delimiter=",", header=True)
    assert found == [[cell or None for cell in row] for row in rows]


# -- names -----------------------------------------------------------------------------------------


def test_odd_column_names_in_csv_and_parquet(tmp_path: Path) -> None:
    import csv

    path = tmp_path / "x[1]*{a,b}?.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([ODD_NAMES, [f"v{position}" for position in range(len(ODD_NAMES))]])
    columns, rows = read(Source(path))
    assert columns == tuple(ODD_NAMES)
    assert rows == [[f"v{position}" for position in range(len(ODD_NAMES))]]
    table = pa.table([pa.array([f"v{position}"]) for position in range(len(ODD_NAMES))], names=ODD_NAMES)
    pq.write_table(table, tmp_path / "x[1].parquet")
    assert read(Source(tmp_path / "x[1].parquet")) == (columns, rows)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_odd_names_in_a_release(tmp_path: Path, suffix: str) -> None:
    import csv

    folder = tmp_path / "k=v [1] 😀"
    folder.mkdir()
    with (folder / "s[1].csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([ODD_NAMES, *[[f"v{position}" for position in range(len(ODD_NAMES))]] * 3])
    plan = {
        "source": {"path": str(folder / "s[1].csv")},
        "columns": {
            name: {"role": "sensitive" if name == "😀" else "quasi-identifier" if position < 6 else "other"}
            for position, name in enumerate(ODD_NAMES)
        },
        "models": [{"name": "k-anonymity", "k": 3}, {"name": "p-sensitive", "p": 1, "column": "😀"}],
        "method": {"name": "levels", "levels": {'"; drop table x; --': 1}},
        "output": {"path": str(folder / f"r[1].{suffix}")},
    }
    released = release(plan)
    columns, rows = read(Source(folder / f"r[1].{suffix}", csv=CsvFormat(header=True)))
    assert columns == tuple(ODD_NAMES)
    assert rows == [["*", *(f"v{position}" for position in range(1, len(ODD_NAMES)))]] * 3
    assert released.figures["smallest_group"] == 3
    checked = check(
        folder / f"r[1].{suffix}",
        ['p-sensitive p=1 column=a"b', "k-anonymity k=3"],
        quasi_identifiers=['"; drop table x; --', "n" * 300],
        sensitive=['a"b', "😀"],
    )
    assert checked.holds


# -- Parquet ---------------------------------------------------------------------------------------


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    table = pa.table({"zip": ["01234", None], "n": [1, None], "day": [datetime.date(2024, 2, 29), None]})
    pq.write_table(table, tmp_path / "x.parquet")
    columns, rows = read(Source(tmp_path / "x.parquet"))
    assert columns == ("zip", "n", "day")
    assert rows == [["01234", 1, datetime.date(2024, 2, 29)], [None, None, None]]
    pq.write_table(pa.table({"a": ["NA", "NO"], "n": [1, -9]}), tmp_path / "y.parquet")
    assert read(Source(tmp_path / "y.parquet", csv=CsvFormat(missing=("NA", "-9"))))[1] == [[None, 1], ["NO", None]]


def test_directory_of_parquet_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x"], "n": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"n": [2], "a": ["y"]}), tmp_path / "2.parquet")
    assert read(Source(tmp_path)) == (("a", "n"), [["x", 1], ["y", 2]])
    pq.write_table(pa.table({"n": [2], "a": ["y"], "name": ["Bob"]}), tmp_path / "3.parquet")
    with pytest.raises(TableError, check=has_code("files.columns-differ", differing=1, files=3, example="3.parquet")):
        read(Source(tmp_path))


def test_folder_named_like_a_column(tmp_path: Path) -> None:
    folder = tmp_path / "age=3"
    folder.mkdir()
    pq.write_table(pa.table({"age": [77]}), folder / "x.parquet")
    assert read(Source(folder / "x.parquet")) == (("age",), [[77]])
    with pytest.raises(TableError, match="names of their folders"):
        read(Source(tmp_path))


def test_unreadable_parquet(tmp_path: Path) -> None:
    whole = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": ["x", "y"]}), whole)
    content = whole.read_bytes()
    for name, damaged in (
        ("cut", content[:-10]),
        ("text", b"a,b\n1,2\n"),
        ("page", b"PAR1" + b"\xff" * 40 + content[44:]),
    ):
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(damaged)
        with pytest.raises(TableError):
            read(Source(path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, check=has_code("files.no-table-in-directory")):
        read(Source(tmp_path / "empty"))
    pq.write_table(pa.table([["x"], ["y"]], names=["a", "a"]), whole)
    with pytest.raises(TableError, match="share a name"):
        read(Source(whole))


# -- frames ----------------------------------------------------------------------------------------

PLAN: dict[str, Any] = {
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}},
        "illness": {"role": "sensitive"},
    },
    "models": [{"name": "k-anonymity", "k": 2}],
    "method": {"name": "levels", "levels": {"age": 1}},
}
DATA: dict[str, list[Any]] = {
    "name": ["Anna", "Bob", "Cleo", "Dan"],
    "age": [21, 25, None, None],
    "illness": ["flu", None, "flu", "gout"],
}
RELEASED = [(None, "flu"), (None, "gout"), ("20..29", None), ("20..29", "flu")]


def frames() -> dict[str, Any]:
    arrow = pa.table(DATA)
    return {
        "pandas": pd.DataFrame(DATA),
        "pandas-nullable": pd.DataFrame(DATA).convert_dtypes(),
        "pandas-index": pd.DataFrame(DATA).set_index(pd.Index([9, 8, 7, 6], name="row")),
        "polars": pl.DataFrame(DATA),
        "polars-lazy": pl.LazyFrame(DATA),
        "arrow": arrow,
        "duckdb": duckdb.connect().from_arrow(arrow),
    }


def records(table: Any) -> list[tuple[Any, ...]]:
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pl.DataFrame):
        return table.rows()
    if isinstance(table, pa.Table):
        return [tuple(row.values()) for row in table.to_pylist()]
    if isinstance(table, duckdb.DuckDBPyRelation):
        return table.fetchall()
    return [tuple(None if pd.isna(cell) else cell for cell in row) for row in table.itertuples(index=False)]


@pytest.mark.parametrize("kind", list(frames()))
def test_result_has_the_type_of_the_input(kind: str) -> None:
    frame = frames()[kind]
    released = anonymize(frame, PLAN)
    assert type(released.table) is type(frame)
    assert records(released.table) == RELEASED
    columns = released.table.collect_schema().names() if kind == "polars-lazy" else list(
        released.table.column_names if kind == "arrow" else released.table.columns
    )  # fmt: skip
    assert columns == ["age", "illness"]
    assert records(frame) == records(frames()[kind])  # the input is unchanged


def quasi(values: Any, hierarchy: dict[str, Any] | None = None, level: int = 0) -> list[Any]:
    """Return the published values of a quasi-identifier, by group."""
    column = {"role": "quasi-identifier"} | ({"hierarchy": hierarchy} if hierarchy else {})
    frame = values if hasattr(values, "columns") else pa.table({"q": values})
    plan = {
        "columns": {"q": column},
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "levels", "levels": {"q": level}},
    }
    return [row[0] for row in records(anonymize(frame, plan).table)]


def test_nan_is_missing() -> None:
    values = np.array([1.5, np.nan, 1.5, np.nan])
    assert quasi(pa.array([1.5, float("nan"), 1.5, None])) == [None, None, 1.5, 1.5]
    assert quasi(pd.DataFrame({"q": values})) == [None, None, 1.5, 1.5]
    assert quasi(pl.DataFrame({"q": values})) == [None, None, 1.5, 1.5]
    assert quasi(pa.array(values.astype(np.float16))) == [None, None, 1.5, 1.5]
    assert quasi(pd.DataFrame({"q": pd.Series(["a", "a", None, float("nan")], dtype=object)})) == [None, None, "a", "a"]


def test_categoricals_are_read_as_values() -> None:
    """Unused categories are not read."""
    tree = {"tree": {"A": ["x", "y"]}}
    values = ["x", "y", None]
    for frame in (
        pd.DataFrame({"q": pd.Categorical(values, categories=["unused", "y", "x"])}),
        pl.DataFrame({"q": pl.Series(values, dtype=pl.Enum(["unused", "y", "x"]))}),
        pl.DataFrame({"q": pl.Series(values, dtype=pl.Categorical)}),
        pa.table({"q": pa.array(values).dictionary_encode()}),
    ):
        assert quasi(frame, tree, level=1) == ["A", "A", "A"]
    assert (
        quasi(pd.DataFrame({"q": pd.Categorical([1, 1], categories=[1, 2, 3])}), {"tree": {"A": ["1"]}}, 1) == ["A"] * 2
    )


@pytest.mark.parametrize(
    ("values", "hierarchy", "label"),
    [
        (pa.array([3] * 2, pa.uint8()), {"intervals": [5]}, "0..4"),
        (pa.array([decimal.Decimal("1.10")] * 2), {"intervals": [0.5]}, "1..<1.5"),
        (pa.array([1e300] * 2), {"cuts": [[5]]}, ">=5"),
        (pa.array([datetime.date(2024, 2, 29)] * 2), {"dates": ["month"]}, "2024-02"),
        (pa.array([datetime.datetime(2024, 2, 29, 3)] * 2, pa.timestamp("ns")), {"dates": ["year"]}, "2024"),
        (
            pa.array([datetime.datetime(2024, 2, 29, 3)] * 2, pa.timestamp("us", "UTC")),
            {"dates": ["day"]},
            "2024-02-29",
        ),
        (pa.array([True] * 2), {"flat": True}, "*"),
        (pa.array([datetime.time(1, 2)] * 2), {"flat": True}, "*"),
        (pa.array([None] * 2), {"flat": True}, "*"),
        (pa.array(["01234"] * 2, pa.large_string()), {"prefix": True}, "0123*"),
        (pa.array(["01234"] * 2, pa.string_view()), {"prefix": True}, "0123*"),
    ],
)
def test_types(values: pa.Array, hierarchy: dict[str, Any], label: str) -> None:
    assert quasi(values, hierarchy, level=1) == [label] * 2
    assert quasi(values, hierarchy, level=0) == values.to_pylist()


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (pd.DataFrame({"q": pd.Series([1, "SECRET", 2.5], dtype=object)}), "'q' mixes types"),
        (pl.DataFrame({"q": pl.Series([1, "SECRET", 2], dtype=pl.Object)}), "convert"),
        (pa.table({"q": [["SECRET"]]}), "'q' has type list"),
        (pa.table({"q": [{"a": "SECRET"}]}), "'q' has type struct"),
        (pa.table({"q": [b"SECRET"]}), "'q' has type binary"),
        (pa.table({"q": [datetime.timedelta(1)]}), "'q' has type duration"),
        (pd.DataFrame([["x", "y"]], columns=["q", "q"]), "share a name"),
        (pa.table([["x"], ["y"]], names=["q", "q"]), "share a name"),
        (pa.table([["x"]], names=[""]), "Column 1 has none"),
        (pa.table({"q": pa.array([], pa.string())}), "at least one row"),
        (pa.table({}), "at least one column"),
        (pd.DataFrame(), "at least one column"),
        ({"q": ["SECRET"]}, "type dict"),
        (["SECRET"], "type list"),
        (None, "type NoneType"),
        (pd.Series(["SECRET"]), "type Series"),
    ],
)
def test_wrong_frames(frame: Any, expected: str) -> None:
    plan = {"columns": {"q": {"role": "quasi-identifier"}}, "models": [{"name": "k-anonymity", "k": 2}]}
    with pytest.raises(TableError, match=expected) as caught:
        anonymize(frame, plan)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_odd_names_in_frames(make: Any) -> None:
    data = {name: [f"v{position}"] * 2 for position, name in enumerate(ODD_NAMES)}
    plan = {
        "columns": {
            name: {"role": "other" if position else "quasi-identifier"} for position, name in enumerate(ODD_NAMES)
        },
        "models": [{"name": "k-anonymity", "k": 2}],
    }
    table = anonymize(make(data), plan).table
    assert records(table) == [tuple(f"v{position}" for position in range(len(ODD_NAMES)))] * 2


# -- the engine ------------------------------------------------------------------------------------


def test_spill_folders_are_private_and_cleaned_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = make_scratch(tmp_path, "shoal-")
    (dead.path / "spilled").write_text("records")
    os.close(dead._handle)  # as the end of its process would do
    foreign = tmp_path / "shoal-notes"
    foreign.mkdir()
    (foreign / "notes").write_text("mine")
    with DuckDBEngine(memory="100MB", threads=1):
        (mine,) = set(tmp_path.iterdir()) - {foreign}
        assert stat.S_IMODE(mine.stat().st_mode) == 0o700
    assert set(tmp_path.iterdir()) == {foreign}


def test_wrong_engine_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for wrong in ({"memory": "much"}, {"threads": -1}):
        with pytest.raises(InputError, match=r"settings|amount of memory"):
            DuckDBEngine(**wrong)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_extensions_are_not_fetched_from_the_network() -> None:
    with DuckDBEngine() as engine:
        answer = engine._fetch("SELECT current_setting('autoinstall_known_extensions') AS a")
        assert answer.to_pylist() == [{"a": False}]


def test_too_wide_tables_are_refused(tmp_path):
    """Refuse more columns than a spreadsheet has, without delay.

    Even for a million columns no work grows but the reading of the first bytes.
    """
    from shoal.io.formats.csv_dialect import MAX_COLUMNS, rename_duplicates

    wide = tmp_path / "wide.csv"
    for columns, name in ((1_000_000, "c{}"), (MAX_COLUMNS + 1, "c{}"), (300, "c" * 1000 + "{}")):
        wide.write_text(",".join(name.format(n) for n in range(columns)) + "\n" + ",".join("1" * columns) + "\n")
        with pytest.raises(TableError, match="at most 16,384 columns"):
            check(wide, ["k-anonymity k=2"], quasi_identifiers=["c0"])
    assert len(set(rename_duplicates(["x"] * 20_000))) == 20_000


def test_free_memory_is_returned_before_writing(tmp_path, monkeypatch):
    """Call malloc_trim if the C library has it.

    Elsewhere the table is written all the same.
    """
    import ctypes

    calls = []

    class Library:
        def malloc_trim(self, pad):
            calls.append(pad)

    for library, times in ((lambda name: Library(), 1), (lambda name: object(), 0)):
        monkeypatch.setattr(ctypes, "CDLL", library)
        with DuckDBEngine() as engine:
            table = engine.read(Source(frame=pa.table({"a": [2, 1]})))
            path = tmp_path / f"{times}.csv"
            calls.clear()
            engine.write(table, path)
        assert calls == [0] * times
        assert path.read_text().splitlines()[0] == "a"
