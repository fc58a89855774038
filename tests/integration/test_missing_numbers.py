"""NaN of a file is a missing sensitive value."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import VerificationError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.models import KAnonymity, PSensitive
from shoal.schema import Column, Role, Schema
from shoal.verification.verify import verify

NAN = math.nan
GROUPS = ["a"] * 4 + ["b"] * 4
NUMBERS = [0.1, NAN, NAN, NAN, 0.1, 0.2, 0.3, 0.4]
SCHEMA = Schema({"group": Column(Role.QUASI_IDENTIFIER), "income": Column(Role.SENSITIVE)})


def _write(path, kind):
    table = pa.table({"group": GROUPS, "income": pa.array(NUMBERS, kind)})
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_nan_of_parquet_is_no_sensitive_value_in_check(tmp_path, kind):
    path = _write(tmp_path / "table.parquet", kind)
    for source in (path, pq.read_table(path)):
        found = shoal.check(source, ["p-sensitive p=2"], quasi_identifiers=["group"], sensitive=["income"])
        assert not found.holds
        assert found.models[0].effective == {"p": 1}
        assert found.failing_rows == 4


def test_nan_of_parquet_is_missing_in_every_reading(tmp_path):
    path = _write(tmp_path / "table.parquet", pa.float64())
    with DuckDBEngine() as engine:
        table = engine.read(Source(path))
        assert engine.rows(table, [1]).column(0).null_count == 3
        assert engine.frequencies(table, [1]).num_rows == 5
        assert engine.count_distinct(table, [1]) == [(5, 4)]
        unchanged = engine.read(Source(path, with_nan=("income",)))
        assert engine.rows(unchanged, [1]).column(0).null_count == 0


def test_verification_of_parquet_with_nan_refuses(tmp_path):
    path = _write(tmp_path / "table.parquet", pa.float64())
    with DuckDBEngine() as engine:
        released = engine.read(Source(path, with_nan=("group",)))
        with pytest.raises(VerificationError, match="p-sensitive"):
            verify(engine, released, SCHEMA, [KAnonymity(k=2), PSensitive(p=2)], 8)


def test_nan_that_reaches_the_models_is_refused_by_verification(tmp_path):
    """Independent verification takes NaN for missing."""
    path = _write(tmp_path / "table.parquet", pa.float64())
    with DuckDBEngine() as engine:
        released = engine.read(Source(path, with_nan=("group", "income")))
        with pytest.raises(VerificationError, match="p-sensitive"):
            verify(engine, released, SCHEMA, [KAnonymity(k=2), PSensitive(p=2)], 8)


@pytest.mark.parametrize("name", ["released.parquet", "released.csv"])
def test_release_of_parquet_with_nan_promises_what_it_has(tmp_path, name):
    source = _write(tmp_path / "table.parquet", pa.float64())
    plan = {
        "source": {"path": str(source)},
        "columns": {"group": {"role": "quasi-identifier"}, "income": {"role": "sensitive"}},
        "models": [{"name": "p-sensitive", "p": 2}],
        "method": {"name": "full-domain"},
        "output": {"path": str(tmp_path / name)},
    }
    made = shoal.release(plan)
    assert made.figures["groups"] == 1
    assert made.figures["models"][0]["effective"] == {"p": 4}


def test_own_columns_without_gaps_are_recognized_in_parquet(tmp_path):
    """Statistics identify columns without missing values."""
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"group": GROUPS, "full": list(range(8)), "gaps": [None, *range(7)]}), path)
    with DuckDBEngine() as engine:
        table = engine.read(Source(path))
        rows = pa.table({"c0": ["a", "b"], "n": pa.array([4, 4], pa.int64())})
        assert engine.repeat(table, [0], rows, {}, [1]) is None
        assert engine.repeat(table, [0], rows, {}, [2]) is not None
