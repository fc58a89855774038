"""Types of a Parquet folder: equal, widened without loss, or refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import TableError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats.common_types import common_type
from shoal.io.formats.partitioned import common_schema

DAY, HOUR = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 13)
LOSSY = {
    "whole and real numbers": ([1, 2], [1.4, 2.4]),
    "a day and an hour": ([DAY, DAY], [HOUR, HOUR]),
    "truth and numbers": ([True, False], [5, 0]),
    "text and numbers": (["01", "1"], [1, 2]),
    "signed and unsigned": (pa.array([2**63, 1], pa.uint64()), [-1, 1]),
    "with and without zone": (
        pa.array([HOUR] * 2, pa.timestamp("us")),
        pa.array([HOUR] * 2, pa.timestamp("us", "UTC")),
    ),
    "long decimals": (pa.array([1, 2], pa.decimal128(38, 0)), pa.array([Decimal("0.5")] * 2, pa.decimal128(38, 30))),
}
WIDENED = {
    "integers": (pa.array([1, 2], pa.int32()), pa.array([2**40, 1]), [1, 2, 2**40, 1]),
    "small and unsigned": (pa.array([-1, 2], pa.int8()), pa.array([255, 2], pa.uint8()), [-1, 2, 255, 2]),
    "real numbers": (pa.array([0.5, 2], pa.float32()), pa.array([0.1, 2.0]), [0.5, 2.0, 0.1, 2.0]),
    "small integers": (pa.array([1, 2], pa.int32()), pa.array([1.5, 2.0]), [1.0, 2.0, 1.5, 2.0]),
    "decimals": ([Decimal("1.1")] * 2, [Decimal("12.123")] * 2, [Decimal("1.1")] * 2 + [Decimal("12.123")] * 2),
    "no value": (pa.nulls(2), ["a", "b"], [None, None, "a", "b"]),
    "no value, then numbers": ([1, 2], pa.nulls(2), [1, 2, None, None]),
    "dictionaries": (pa.array(["a", "b"]).dictionary_encode(), ["a", "c"], ["a", "b", "a", "c"]),
    "units": (pa.array([HOUR] * 2, pa.timestamp("ms")), pa.array([HOUR] * 2, pa.timestamp("us")), [HOUR] * 4),
}  # fmt: skip


def _folder(path, *columns):
    path.mkdir()
    for number, column in enumerate(columns):
        values = column if isinstance(column, pa.Array) else pa.array(column)
        # the columns of a file may be in any order
        table = pa.table({"x": values, "y": pa.array([number] * len(values))})
        pq.write_table(table.select(["x", "y"] if number % 2 == 0 else ["y", "x"]), path / f"{number}.parquet")
    return path


@pytest.mark.parametrize("name", LOSSY)
def test_types_that_would_lose_values_are_refused(tmp_path, name):
    for number, columns in enumerate((LOSSY[name], LOSSY[name][::-1])):
        folder = _folder(tmp_path / str(number), *columns)
        with pytest.raises(TableError, match="Column 'x' has different types") as error:
            shoal.check(folder, ["k-anonymity k=2"], quasi_identifiers=["x"])
        assert error.value.exit_status == 2


@pytest.mark.parametrize("name", WIDENED)
def test_types_are_widened_without_loss(tmp_path, name):
    one, other, expected = WIDENED[name]
    with DuckDBEngine() as engine:
        table = engine.read(Source(_folder(tmp_path / "forward", one, other)))
        assert table.columns == ("x", "y")
        assert engine.rows(table, [0]).column(0).to_pylist() == expected
        assert engine.rows(table, [1]).column(0).to_pylist() == [0, 0, 1, 1]
        backward = engine.read(Source(_folder(tmp_path / "backward", other, one)))
        assert engine.rows(backward, [0]).column(0).to_pylist() == expected[2:] + expected[:2]


def test_rows_of_mixed_files_are_in_the_order_of_files(tmp_path):
    parts = [pa.array([number], pa.int32() if number % 3 else pa.int64()) for number in range(9)]
    with DuckDBEngine() as engine:
        table = engine.read(Source(_folder(tmp_path / "table", *parts)))
        assert engine.rows(table, [0]).column(0).to_pylist() == list(range(9))


def test_partitioned_files_of_mixed_types_have_their_folders(tmp_path):
    for year, kind in (("2023", pa.int32()), ("2024", pa.int64())):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"x": pa.array([1, 2], kind)}), tmp_path / f"year={year}" / "0.parquet")
    with DuckDBEngine() as engine:
        table = engine.read(Source(tmp_path))
        assert table.columns == ("x", "year")
        assert engine.rows(table, [1]).column(0).to_pylist() == ["2023", "2023", "2024", "2024"]


def test_spark_reads_files_of_one_type(tmp_path):
    folder = _folder(tmp_path / "table", pa.array([1], pa.int32()), pa.array([1], pa.int64()))
    assert common_schema(sorted(folder.iterdir())).field("x").type == pa.int64()
    with pytest.raises(TableError, match="use the engine duckdb"):
        common_schema(sorted(folder.iterdir()), widen=False)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_common_types_represent_the_extreme_values(bits):
    signed, unsigned = getattr(pa, f"int{bits}")(), getattr(pa, f"uint{bits}")()
    low, high = -(2 ** (bits - 1)), 2**bits - 1
    found = common_type([signed, unsigned])
    assert (found is None) == (bits == 64)
    if found is not None:
        assert pa.array([low, high], found).to_pylist() == [low, high]
    for real in (pa.float32(), pa.float64()):
        wide = common_type([unsigned, real])
        assert wide is None or int(pa.scalar(float(high), wide).as_py()) == high
