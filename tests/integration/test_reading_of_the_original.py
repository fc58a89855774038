"""The original, read again for the people that a release is verified with.

Partial knowledge and the loose reading look people up in the source: the independent verification reads its file.
"""

from __future__ import annotations

import random

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
import tomli_w
from tools.fuzz.harness import call, within

import shoal
from shoal.errors import TableError, VerificationError
from shoal.verification import original, pattern_sets
from shoal.verification import verify as verification
from shoal.verification.independent import reading
from shoal.verification.written_texts import spell_as_written

KNOWN = {
    "models": [{"name": "k-anonymity", "k": 3, "known": 2, "reading": "loose"}],
    "method": {"name": "hidden-cells"},
}
KEYS = {
    "models": [{"name": "k-anonymity", "k": 3}, {"name": "p-sensitive", "p": 2}],
    "keys": [{"columns": ["age", "zip"], "reading": "loose"}],
    "method": {"name": "hidden-cells"},
}
LOOSE = {
    "models": [{"name": "k-anonymity", "k": 3}],
    "method": {"name": "local-suppression", "missing": "loose"},
}
PATTERNS = {
    "models": [{"name": "k-anonymity", "k": 3}],
    "method": {"name": "anti-unification", "patterns": "overlapping"},
}
PLAIN = {"models": [{"name": "k-anonymity", "k": 3}], "method": {"name": "mondrian"}}


def table(rows=60):
    chance = random.Random(3)
    return pa.table(
        {
            "age": [chance.randrange(20, 30) for _ in range(rows)],
            "zip": [chance.choice(["A", "A", "B", " C", None]) for _ in range(rows)],
            "ill": [chance.choice(["flu", "gout"]) for _ in range(rows)],
        }
    )


def release(folder, more, source, output="released.csv", **options):
    columns = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5]}},
        "zip": {"role": "quasi-identifier"},
        "ill": {"role": "sensitive"},
    }
    plan = {"source": {"path": source, **options}, "output": {"path": output}, "columns": columns, **more}
    (folder / "plan.toml").write_text(tomli_w.dumps(plan))
    return shoal.release(folder / "plan.toml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pc.write_csv(table(), tmp_path / "source.csv")
    pq.write_table(table(), tmp_path / "source.parquet")
    (tmp_path / "other.csv").write_text((tmp_path / "source.csv").read_text().replace(",", ";"))
    return tmp_path


@pytest.mark.parametrize("more", [KNOWN, KEYS, LOOSE, PATTERNS])
@pytest.mark.parametrize(
    ("source", "reader"),
    [("source.csv", "Python's csv module"), ("other.csv", "Python's csv module"), ("source.parquet", "Arrow")],
)
def test_certificate_names_the_reader_of_the_original(folder, more, source, reader):
    found = release(folder, more, source)
    assert (found.figures["reading"], found.figures["original_reading"]) == ("Python's csv module", reader)
    assert "original_reading" not in found.certificate.content  # a reader tells of the size of a file


def test_other_releases_need_no_original(folder):
    figures = release(folder, PLAIN, "source.csv").figures
    assert figures["reading"] == "Python's csv module"
    assert "original_reading" not in figures


def test_options_of_a_source_are_left_to_the_engine(folder):
    found = release(folder, KNOWN, "source.csv", missing=["A"])
    assert found.figures["original_reading"] == "the engine"


def test_large_csv_is_read_by_arrow(folder, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES_FOR_PYTHON", 0)
    figures = release(folder, KEYS, "other.csv").figures
    assert (figures["reading"], figures["original_reading"]) == ("Arrow", "Arrow")


@pytest.mark.parametrize("more", [KNOWN, LOOSE, PATTERNS])
def test_people_are_not_those_of_the_search(folder, more, monkeypatch):
    """The counts of the search are not used where the file is read."""
    real, read = original.count_written_rows, []

    def observed(written, quasi, others):
        read.append(written.path.name)
        return real(written, quasi, others)

    monkeypatch.setattr(original, "count_written_rows", observed)
    assert release(folder, more, "source.csv").figures["released"] == 60
    assert read == ["source.csv"]


@pytest.mark.parametrize(("more", "change"), [(KNOWN, "c1"), (KNOWN, "rows"), (PATTERNS, "c2"), (PATTERNS, "rows")])
def test_source_that_is_read_otherwise_is_refused(folder, more, change, monkeypatch):
    """A difference between two readers of the source is an error of one line."""
    real = original.count_written_rows

    def changed(written, quasi, others):
        found = real(written, quasi, others)
        if change == "rows":
            return found.slice(1)
        column = pa.array(["elsewhere", *found.column(change).to_pylist()[1:]], pa.string())
        return found.set_column(found.column_names.index(change), change, column)

    monkeypatch.setattr(original, "count_written_rows", changed)
    with pytest.raises(TableError, match=r"The engine and Python.s csv module must read the same") as error:
        release(folder, more, "source.csv")
    assert error.value.code == f"source.read-with-other-{'rows' if change == 'rows' else 'values'}"
    with within(folder):
        done = call(["release", "plan.toml"])
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "elsewhere" not in done.err
    assert not (folder / "released.csv").exists()


@pytest.mark.parametrize("convert", [lambda frame: frame, pa.Table.to_pandas, pl.from_arrow])
def test_returned_frame_is_read_by_arrow(convert):
    schema = shoal.schema.Schema(
        {
            "age": shoal.Column(shoal.Role.QUASI_IDENTIFIER),
            "zip": shoal.Column(shoal.Role.QUASI_IDENTIFIER),
            "ill": shoal.Column(shoal.Role.SENSITIVE),
        }
    )
    plan = shoal.Plan(schema, (shoal.models.KAnonymity(3), shoal.models.PSensitive(2)), shoal.methods.Mondrian())
    assert shoal.anonymize(convert(table()), plan).figures["reading"] == "Arrow"


def test_frame_of_other_types_is_left_to_the_engine():
    dates = pa.table({"age": [0, 0, 1, 1], "ill": pa.array([0, 1, 0, 1], pa.int32()).cast(pa.date32())})
    schema = shoal.schema.Schema(
        {"age": shoal.Column(shoal.Role.QUASI_IDENTIFIER), "ill": shoal.Column(shoal.Role.SENSITIVE)}
    )
    plan = shoal.Plan(schema, (shoal.models.KAnonymity(2),), shoal.methods.LocalSuppression())
    assert shoal.anonymize(dates, plan).figures["reading"] == "the engine"


def test_faulty_reading_of_a_frame_is_noticed(monkeypatch):
    """The engine's count and that of Arrow differ: nothing is handed back."""
    real = verification.count_written_rows
    monkeypatch.setattr(verification, "count_written_rows", lambda *given: real(*given).slice(1))
    schema = shoal.schema.Schema({"age": shoal.Column(shoal.Role.QUASI_IDENTIFIER)})
    plan = shoal.Plan(schema, (shoal.models.KAnonymity(2),), shoal.methods.Mondrian())
    with pytest.raises(shoal.errors.VerificationError):
        shoal.anonymize(table().select(["age"]), plan)


# -- pattern sets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "reader"),
    [
        ("out.csv", "Python's csv module"),
        ("out.parquet", "Arrow"),
        ("out.xlsx", "Python's XML parser"),
        ("out.sav", "pyreadstat"),
        ("out.dta", "pyreadstat"),
        ("out.sqlite", "Python's sqlite3 module"),
        ("out.duckdb", "DuckDB"),
    ],
)
def test_written_patterns_are_read_again(folder, output, reader):
    """Spellings of a class are one value in the pattern and in the original."""
    spelled = table().set_column(2, "ill", pa.array(["Flu", "flu ", "gout", None] * 15))
    pc.write_csv(spelled, folder / "source.csv")
    found = release(folder, PATTERNS, "source.csv", output=output)
    assert (found.figures["reading"], found.certificate.content["reading"]) == (reader, reader)
    assert found.figures["original_reading"] == "Python's csv module"


def test_patterns_of_frames_are_read_by_arrow():
    roles = {"age": "quasi-identifier", "zip": "quasi-identifier", "ill": "sensitive"}
    found = shoal.anonymize(table(), {"columns": roles, **PATTERNS})
    assert (found.figures["reading"], found.figures["original_reading"]) == ("Arrow", "the engine")


@pytest.mark.parametrize("change", ["label", "class", "support", "missing", "twice"])
def test_faulty_reading_of_patterns_is_noticed(folder, change, monkeypatch):
    """The file has other patterns than those that the engine has counted."""
    real = pattern_sets.count_written_rows
    position = {"label": "c0", "class": "c2", "support": "c3"}

    def changed(*given):
        found = real(*given)
        if change in position:
            name = position[change]
            cells = found.column(name).to_pylist()
            other = {"label": "elsewhere", "class": "gout" if cells[0] == "flu" else "flu", "support": "3"}[change]
            return found.set_column(found.column_names.index(name), name, pa.array([other, *cells[1:]], pa.string()))
        return found.slice(1) if change == "missing" else pa.concat_tables([found, found.slice(0, 1)])

    monkeypatch.setattr(pattern_sets, "count_written_rows", changed)
    with pytest.raises(VerificationError) as error:
        release(folder, PATTERNS, "source.csv")
    assert error.value.code == "verification.pattern-counts-differ"
    assert not (folder / "released.csv").exists()


def test_parquet_with_dates_as_classes_is_left_to_the_engine(folder):
    dates = pa.array([number % 2 for number in range(60)], pa.int32()).cast(pa.date32())
    pq.write_table(table().set_column(2, "ill", dates), folder / "source.parquet")
    found = release(folder, PATTERNS, "source.parquet", output="out.parquet")
    assert (found.figures["reading"], found.figures["original_reading"]) == ("Arrow", "the engine")


# -- values that formats write in other ways ----------------------------------------------------------

TYPED = {
    "flag": pa.array([True, False, None] * 20),
    "share": pa.array([0.5, 1.25, 100.0] * 20),
    "time": pa.array([0, 1_500_000, 10**15] * 20, pa.timestamp("us")),
    "instant": pa.array([0, 1_500_000, 10**15] * 20, pa.timestamp("us", "UTC")),
    "clock": pa.array([0, 1_000_000, 2_500_000] * 20, pa.time64("us")),
    "price": pa.array([100, 250, 300] * 20).cast(pa.decimal128(21, 2)),
}


@pytest.mark.parametrize("ending", ["csv", "parquet", "sav", "sqlite"])
@pytest.mark.parametrize("more", [{**KNOWN, "method": {"name": "full-domain"}}, PATTERNS])
def test_values_that_formats_write_otherwise(folder, ending, more):
    """A truth value is 1 in some formats, and 100.0 may be written as 100."""
    towns = pa.array(["a", "b"] * 30)
    pq.write_table(pa.table({**TYPED, "town": towns, "other": towns}), folder / "typed.parquet")
    role = "sensitive" if more is PATTERNS else "quasi-identifier"
    for name in TYPED:
        columns = {**dict.fromkeys(TYPED, "drop"), **dict.fromkeys(["town", "other"], "quasi-identifier"), name: role}
        plan = {"source": {"path": "typed.parquet"}, "output": {"path": f"{name}.{ending}"}, "columns": columns, **more}
        assert shoal.release(plan).figures["models"][0]["holds"], name


@pytest.mark.parametrize(
    ("labels", "kind", "texts", "expected"),
    [
        (["true", "false"], pa.bool_(), ["1", "0"], ["1", "0"]),
        (["true", "false"], pa.bool_(), ["true", "0"], ["true", "0"]),
        (["true", "1"], pa.bool_(), ["1"], ["true", "1"]),
        (["true"], pa.string(), ["1"], ["true"]),
        (["1", "20..29", None], pa.float64(), ["1.0", "*", None], ["1.0", "20..29", None]),
        (["1", "1.00"], pa.float64(), ["1.0"], ["1", "1.00"]),
        (["1"], pa.float64(), ["1.0", "1.00"], ["1"]),
        (["0.10", "-0"], pa.decimal128(9, 2), ["0.1", "0"], ["0.1", "0"]),
        (["1" + "0" * 30 + "1"], pa.decimal128(38, 0), ["1" + "0" * 30 + "2"], ["1" + "0" * 30 + "1"]),
        (["2001-01-01 00:00:00.000000"], pa.timestamp("us"), ["2001-01-01 00:00:00"], ["2001-01-01 00:00:00"]),
        (
            ["2001-01-01 00:00:00.000Z"],
            pa.timestamp("us", "UTC"),
            ["2001-01-01 00:00:00+00"],
            ["2001-01-01 00:00:00+00"],
        ),
        (["2001-01-01 00:00+0200"], pa.timestamp("us", "CET"), ["2001-01-01 00:00+01"], ["2001-01-01 00:00+0200"]),
        (["00:00:01.500000Z"], pa.time64("us"), ["00:00:01.5Z"], ["00:00:01.5Z"]),
        (["00:00:01.05"], pa.time64("us"), ["00:00:01.5"], ["00:00:01.05"]),
    ],
)
def test_labels_are_spelled_as_written(labels, kind, texts, expected):
    assert spell_as_written(labels, kind, texts) == expected


# -- people -------------------------------------------------------------------------------------------

PEOPLE = {"models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}], "method": {"name": "mondrian"}}


def release_people(folder, output, **more):
    """Release rows of people: two spellings of a name, and rows without one."""
    names = [["Ann Lee", "ann  lee", "Bo", "007", "7", None, f"p{row}"][row % 7] for row in range(60)]
    pq.write_table(table().append_column("who", pa.array(names)), folder / "people.parquet")
    pc.write_csv(pq.read_table(folder / "people.parquet"), folder / "people.csv")
    columns = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5]}}, "zip": "quasi-identifier"}
    columns |= {"ill": "sensitive", "who": "person"}
    source = {"path": f"people.{more.pop('ending', 'csv')}"}
    return shoal.release({"source": source, "output": {"path": output}, "columns": columns, **PEOPLE, **more})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {
            "models": [{"name": "k-anonymity", "k": 2, "known": 1, "reading": "loose"}],
            "method": {"name": "full-domain"},
        },
    ],
)
def test_people_of_the_original_are_read_again(folder, ending, more):
    found = release_people(folder, "out.csv", ending=ending, **more)
    reader = {"csv": "Python's csv module", "parquet": "Arrow"}[ending]
    assert found.figures["original_reading"] == reader
    assert "original_reading" not in found.certificate.content


@pytest.mark.parametrize("change", ["owner", "split", "value", "label"])
def test_other_people_in_the_original_are_noticed(folder, change, monkeypatch):
    """One row belongs to another person, or has another value."""
    real = original.count_written_rows

    def changed(*given):
        found = real(*given)
        name = {"owner": "c3", "split": "c3", "value": "c2", "label": "c1"}[change]
        cells = found.column(name).to_pylist()
        index = cells.index("Bo") if name == "c3" else 0
        cells[index] = {"owner": "7", "split": "Bob", "value": "other", "label": "Z"}[change]
        return found.set_column(found.column_names.index(name), name, pa.array(cells, pa.string()))

    monkeypatch.setattr(original, "count_written_rows", changed)
    with pytest.raises(TableError) as error:
        release_people(folder, "out.csv")
    assert error.value.code == "source.read-with-other-people"
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("change", [{"publish": "categories"}, {"missing": "not applicable"}])
def test_published_categories_are_not_those_of_the_file(folder, change):
    """Values that are changed as they are read are left to the engine."""
    columns = {"age": "quasi-identifier", "zip": "quasi-identifier"}
    columns["ill"] = {"role": "sensitive", "categories": [["flu"], ["gout"]], **change}
    plan = {"source": {"path": "source.csv"}, "output": {"path": "out.csv"}, "columns": columns, **PATTERNS}
    expected = "the engine" if "publish" in change else "Python's csv module"
    assert shoal.release(plan).figures["original_reading"] == expected
