"""The returned frame is the verified one, in every type of frame."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa
import pytest

import shoal
from shoal.io.engines.duckdb import frame_to_arrow
from shoal.pipeline import sinks

pd = pytest.importorskip("pandas")
LARGE = 2**53
PLAN = {
    "columns": {
        "age": {"role": "quasi-identifier"},
        "code": {"role": "sensitive"},
        "note": {"role": "other"},
    },
    "models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}],
    "method": {"name": "full-domain"},
}
PEOPLE = {
    "columns": {**PLAN["columns"], "who": {"role": "person"}},
    "models": [{"name": "k-anonymity", "k": 2}],
    "method": {"name": "full-domain"},
}


def _table(kind=None):
    return pa.table(
        {
            "age": ["a"] * 3 + ["b"] * 2,
            "code": pa.array([LARGE, LARGE + 1, None, LARGE, LARGE + 1], pa.int64()),
            "note": pa.array([1, None, 200, 4, 5], kind or pa.uint8()),
            "who": ["p", "q", "r", "s", "t"],
        }
    )


def _frames(table):
    nullable = {pa.int64(): pd.Int64Dtype(), pa.uint8(): pd.UInt8Dtype()}
    yield table.to_pandas(types_mapper=nullable.get)
    yield table.to_pandas(types_mapper=pd.ArrowDtype)
    yield duckdb.connect().from_arrow(table)
    yield table
    polars = pytest.importorskip("polars")
    yield polars.from_arrow(table)
    yield polars.from_arrow(table).lazy()


def _cells(frame):
    table = frame_to_arrow(frame)
    return Counter(zip(*(table.column(name).to_pylist() for name in ("age", "code", "note")), strict=True))


@pytest.mark.parametrize("number", range(6))
def test_whole_numbers_with_gaps_stay_exact(number):
    table = _table()
    frame = list(_frames(table.drop_columns(["who"])))[number]
    made = shoal.anonymize(frame, PLAN)
    assert type(made.table) is type(frame)
    assert _cells(made.table) == _cells(table)
    assert made.figures["models"][1]["effective"] == {"p": 2}


@pytest.mark.parametrize("number", range(6))
def test_person_column_is_dropped_from_the_verified_frame(number):
    table = _table()
    frame = list(_frames(table))[number]
    made = shoal.anonymize(frame, PEOPLE)
    assert type(made.table) is type(frame)
    assert _cells(made.table) == _cells(table)
    columns = made.table.collect_schema().names() if number == 5 else getattr(made.table, "column_names", None)
    assert list(columns if columns is not None else made.table.columns) == ["age", "code", "note"]


def test_conversion_that_merges_values_is_noticed(monkeypatch):
    """A frame that differs from the verified table is not returned."""
    convert = sinks.convert_like

    def lossy(table, frame):
        converted = convert(table, frame)
        converted["code"] = 1
        return converted

    monkeypatch.setattr(sinks, "convert_like", lossy)
    with pytest.raises(shoal.errors.ShoalError, match="p-sensitive"):
        shoal.anonymize(_table().drop_columns(["who"]).to_pandas(), PLAN)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint16(), pa.uint32(), pa.uint64()])
def test_nullable_types_of_pandas_follow_the_width(kind):
    frame = _table(kind if kind != pa.int8() else None).to_pandas(types_mapper=pd.ArrowDtype).drop(columns="who")
    if kind == pa.int8():
        frame["note"] = pd.array([1, None, 100, 4, 5], "Int8")
    note = shoal.anonymize(frame, PLAN).table["note"]
    assert str(note.dtype).lower() == str(kind)
    assert str(note.dtype) != str(kind)
