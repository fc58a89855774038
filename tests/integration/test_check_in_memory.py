"""Checks of small tables in memory without an engine.

The verdict and the figures are those of an engine.
"""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ShoalError
from shoal.io.engines.base import EngineSettings
from shoal.pipeline import check as pipeline

IN_MEMORY = st.one_of(
    st.lists(st.sampled_from(["a", "b", "7", "07", "", None]), min_size=1, max_size=30).map(
        lambda cells: pa.array(cells, pa.string())
    ),
    st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=30).map(
        lambda cells: pa.array([*cells, "c"], pa.string()).dictionary_encode().slice(0, len(cells))
    ),
    st.lists(st.sampled_from([1, 2, -3, None]), min_size=1, max_size=30).map(lambda cells: pa.array(cells, pa.int16())),
    st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=30).map(pa.array),
    st.lists(st.sampled_from([0.0, -0.0, 1.5, float("nan"), None]), min_size=1, max_size=30).map(
        lambda cells: pa.array(cells, pa.float64())
    ),
    st.lists(st.dates(date(2020, 1, 1), date(2020, 1, 3)), min_size=1, max_size=30).map(pa.array),
)


@settings(max_examples=60)
@given(st.lists(IN_MEMORY, min_size=3, max_size=3), st.booleans())
def test_a_table_in_memory_is_checked_as_an_engine_would(columns, as_pandas):
    rows = min(map(len, columns))
    table = pa.table({name: column.slice(0, rows) for name, column in zip("xys", columns, strict=True)})
    frame = table.to_pandas() if as_pandas else table
    models = ["k-anonymity k=2", "p-sensitive p=2", "t-closeness t=0.5"]
    roles = {"quasi_identifiers": ["x", "y"], "sensitive": ["s"]}
    here = shoal.check(frame, models, **roles)
    by_engine = shoal.check(frame, models, **roles, engine=EngineSettings(name="duckdb"))
    assert here == by_engine
    assert here.to_dict() == by_engine.to_dict()


def test_a_small_table_in_memory_needs_no_engine(monkeypatch):
    def never(*given, **named):
        raise AssertionError("an engine was opened")

    monkeypatch.setattr(pipeline, "open_engine", never)
    table = pa.table({"x": ["a", "a", "b"], "s": [1, 2, 2]})
    assert shoal.check(table, ["k-anonymity k=2"], quasi_identifiers=["x"], sensitive=["s"]).smallest_group == 1
    with pytest.raises(AssertionError):
        shoal.check(table, ["k-anonymity k=2"], quasi_identifiers=["x"], memory="1GB")


def test_invalid_utf8_is_refused_with_and_without_an_engine():
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    table = pa.table({"x": broken})
    for engine in (None, EngineSettings(name="duckdb")):
        with pytest.raises(ShoalError):
            shoal.check(table, ["k-anonymity k=1"], quasi_identifiers=["x"], engine=engine)
