"""Dates and instants that Python's calendar does not have.

Parquet holds years beyond 9999 and before 1. Such a table is released, or refused in one line.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal

FAR = {
    "day": pa.array([10**7, -(10**7)] * 4, pa.int32()).cast(pa.date32()),
    "far day": pa.array([2 * 10**9, -(2 * 10**9)] * 4, pa.int32()).cast(pa.date32()),
    "moment": pa.array([3 * 10**17, -(3 * 10**17)] * 4, pa.timestamp("us")),
    "instant": pa.array([3 * 10**17, -(3 * 10**17)] * 4, pa.timestamp("us", "UTC")),
}


@pytest.mark.parametrize("output", ["out.parquet", "out.csv"])
@pytest.mark.parametrize("unit", ["person", "drop"])
@pytest.mark.parametrize("role", ["other", "sensitive", "quasi-identifier"])
def test_values_beyond_the_calendar(tmp_path, role, unit, output):
    others = {"who": ["a", "b", "c", "d"] * 2, "age": ["1"] * 8}
    for number, (name, values) in enumerate(FAR.items()):
        pq.write_table(pa.table({**others, "when": values}), tmp_path / "in.parquet")
        columns = {"who": {"role": unit}, "age": {"role": "quasi-identifier"}, "when": {"role": role}}
        plan = {
            "source": {"path": tmp_path / "in.parquet"},
            "columns": columns,
            "models": "k-anonymity k=2",
            "output": {"path": tmp_path / f"{number}{output}"},
        }
        try:
            found = shoal.release(plan)
        except shoal.errors.InputError as error:
            assert "\n" not in str(error), name
        else:
            assert found.certificate["released"] == 8
            assert shoal.verify(tmp_path / f"{number}{output}").holds


def test_zeros_of_both_signs_are_one_value_of_a_row(tmp_path):
    """Rows of people are compared by value: 0.0 is -0.0, whichever is written."""
    zeros = [0.0, -0.0, 1.5, float("nan")] * 2
    table = pa.table({"who": ["a", "b", "c", "d"] * 2, "age": ["1"] * 8, "share": zeros})
    pq.write_table(table, tmp_path / "in.parquet")
    for number, role in enumerate(("other", "sensitive", "quasi-identifier")):
        columns = {"who": {"role": "person"}, "age": {"role": "quasi-identifier"}, "share": {"role": role}}
        for output in ("parquet", "csv"):
            plan = {"source": {"path": tmp_path / "in.parquet"}, "columns": columns, "models": "k-anonymity k=2"}
            path = tmp_path / f"{number}.{output}-{output}.{output}"
            assert shoal.release({**plan, "output": {"path": path}}).certificate["released"] == 8
