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
from shoal.errors import TableError
from shoal.verification import verify as verification
from shoal.verification.independent import reading

KNOWN = {"models": [{"name": "k-anonymity", "k": 3, "known": 2}], "method": {"name": "hidden-cells"}}
KEYS = {
    "models": [{"name": "k-anonymity", "k": 3}, {"name": "p-sensitive", "p": 2}],
    "keys": [{"columns": ["age", "zip"]}],
    "method": {"name": "hidden-cells"},
}
LOOSE = {
    "models": [{"name": "k-anonymity", "k": 3}],
    "method": {"name": "local-suppression", "missing": "loose"},
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


@pytest.mark.parametrize("more", [KNOWN, KEYS, LOOSE])
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


@pytest.mark.parametrize("more", [KNOWN, LOOSE])
def test_people_are_not_those_of_the_search(folder, more, monkeypatch):
    """The counts of the search are not used where the file is read."""
    monkeypatch.setattr(verification, "_count_source_labels", None)
    assert release(folder, more, "source.csv").figures["released"] == 60


@pytest.mark.parametrize("change", ["value", "rows"])
def test_source_that_is_read_otherwise_is_refused(folder, change, monkeypatch):
    """A difference between two readers of the source is an error of one line."""
    real = verification.count_written_rows

    def changed(written, quasi, others):
        found = real(written, quasi, others)
        if written.path.name != "source.csv":
            return found
        if change == "rows":
            return found.slice(1)
        column = pa.array(["elsewhere", *found.column("c1").to_pylist()[1:]], pa.string())
        return found.set_column(found.column_names.index("c1"), "c1", column)

    monkeypatch.setattr(verification, "count_written_rows", changed)
    with pytest.raises(TableError, match="read alike by the engine and by Python's csv module"):
        release(folder, KNOWN, "source.csv")
    with within(folder):
        done = call(["release", "plan.toml"])
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "elsewhere" not in done.err
    assert not (folder / "released.csv").exists()


@pytest.mark.parametrize("convert", [lambda frame: frame, pa.Table.to_pandas, pl.from_arrow])
def test_returned_frame_is_read_by_arrow(convert):
    schema = shoal.Schema(
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
    schema = shoal.Schema({"age": shoal.Column(shoal.Role.QUASI_IDENTIFIER), "ill": shoal.Column(shoal.Role.SENSITIVE)})
    plan = shoal.Plan(schema, (shoal.models.KAnonymity(2),), shoal.methods.LocalSuppression())
    assert shoal.anonymize(dates, plan).figures["reading"] == "the engine"


def test_faulty_reading_of_a_frame_is_noticed(monkeypatch):
    """The engine's count and that of Arrow differ: nothing is handed back."""
    real = verification.count_written_rows
    monkeypatch.setattr(verification, "count_written_rows", lambda *given: real(*given).slice(1))
    schema = shoal.Schema({"age": shoal.Column(shoal.Role.QUASI_IDENTIFIER)})
    plan = shoal.Plan(schema, (shoal.models.KAnonymity(2),), shoal.methods.Mondrian())
    with pytest.raises(shoal.VerificationError):
        shoal.anonymize(table().select(["age"]), plan)
