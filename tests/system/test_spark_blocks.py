"""Microaggregation in blocks on Spark.

It releases the same rows as on one machine, with only counts and a sample on the driver.
"""

from __future__ import annotations

import datetime
import decimal
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import VerificationError
from shoal.io.engines import spark as spark_engine
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.engines.spark import DriverMemory
from shoal.io.engines.spark_distributed import SparkDistributedTable
from shoal.methods import Cbfs, Mdav, PFirst
from shoal.pipeline.decide import DecidedDistributed
from shoal.plan.plan import Output
from shoal.schema import Column, Role, Schema
from shoal.verification import verify
from shoal.verification.independent import reading
from tests.builders.blocks import MODELS, SCHEMA, mixed_table
from tests.builders.errors import has_code

pytestmark = pytest.mark.xdist_group("spark")


def both(spark, table, plan):
    ours = shoal.anonymize(table, plan)
    theirs = shoal.anonymize(table, replace(plan, engine=EngineSettings(name="spark")))
    assert theirs.table.to_pylist() == ours.table.to_pylist()
    one, other = ours.figures, theirs.figures
    for part in ("loss", "method"):  # sums of floats, block by block there and over all rows here
        figures = [
            {key: value for key, value in content[part].items() if not isinstance(value, float | dict)}
            for content in (one, other)
        ]
        assert figures[0] == figures[1]
    assert other["loss"] == pytest.approx(one["loss"], rel=1e-9)
    columns = [content["method"].get("sse_sst_by_column", {}) for content in (one, other)]
    assert columns[1] == pytest.approx(columns[0], rel=1e-9)
    differing = {"loss", "method", "reading", "exposure"}
    rest = [{key: value for key, value in content.items() if key not in differing} for content in (one, other)]
    assert rest[1] == rest[0]
    return theirs


@pytest.mark.parametrize(
    ("method", "model"),
    [
        (Cbfs(block=40, publish={"x": "range", "y": "median", "place": "mode"}), "p"),
        (Mdav(block=40, strata=("place",), refine=True, effort=50), "p"),
        (Mdav(block=40, scale={"x": "rank", "y": "winsorised"}, weights={"y": 3.0}), "k"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_both_engines_release_the_same(spark, method, model):
    release = both(spark, mixed_table(300, 7), shoal.Plan(SCHEMA, MODELS[model][0], method, seed=5))
    assert release.figures["method"]["blocks"] > 1


def test_blocks_are_joined_on_spark_too(spark):
    release = both(spark, mixed_table(300, 8, skewed=True), shoal.Plan(SCHEMA, MODELS["p"][0], PFirst(block=40)))
    assert release.figures["method"]["joined_blocks"] > 0


def test_exact_ranges_are_warned_of_on_spark_too(spark):
    table = mixed_table(120, 3)
    method = Mdav(k=3, block=40, publish={"x": "range"}, ranges="exact")
    plan = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(3),), method)
    warnings = both(spark, table, plan).warnings
    assert any("ends at a value that somebody" in warning["text"] for warning in warnings)


def test_identical_rows_in_different_groups(spark):
    """Rows are assigned to groups by their other columns.

    They agree in all quasi-identifiers and sensitive values.
    """
    rows = 120
    table = pa.table(
        {"x": [i // 12 for i in range(rows)], "s": ["a"] * rows, "note": [f"{i * 7 % rows}" for i in range(rows)]}
    )
    roles = {"x": Role.QUASI_IDENTIFIER, "s": Role.SENSITIVE, "note": Role.OTHER}
    schema = Schema({name: Column(role) for name, role in roles.items()})
    both(spark, table, shoal.Plan(schema, (shoal.models.KAnonymity(5),), Mdav(block=40)))


def test_columns_keep_their_kind(spark):
    random = np.random.default_rng(3)
    rows = 200
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(int(d)) for d in random.integers(0, 900, rows)]
    columns = {
        "whole": pa.array(random.integers(0, 10**12, rows)),
        "small": pa.array(random.integers(0, 50, rows), pa.int16()),
        "real": pa.array([None if i % 9 == 0 else float(v) for i, v in enumerate(random.normal(size=rows))]),
        "day": pa.array(days),
        "time": pa.array([datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=i * i) for i in range(rows)]),
        "price": pa.array(
            [decimal.Decimal(int(v)) / 100 for v in random.integers(0, 10**6, rows)], pa.decimal128(9, 2)
        ),
        "digits": pa.array([str(v) for v in random.integers(0, 90, rows)]),
        "name": pa.array(random.choice(["ä", "it's", '"q"', "${x}"], rows)),
        "yes": pa.array(random.random(rows) < 0.5),
        "none": pa.nulls(rows, pa.float64()),
    }
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in columns})
    both(spark, pa.table(columns), shoal.Plan(schema, (shoal.models.KAnonymity(4),), Mdav(block=50)))


def test_one_block_runs_on_the_driver(spark):
    table, models = mixed_table(120, 1), MODELS["p"][0]
    for block in (None, 120):
        plan = shoal.Plan(SCHEMA, models, PFirst(block=block, effort=50))
        found = shoal.anonymize(spark.createDataFrame(table), plan)
        assert "blocks" not in found.figures["method"]
        assert found.table.toArrow().to_pylist() == shoal.anonymize(table, plan).table.to_pylist()


def numbers_table(rows):
    random = np.random.default_rng(0)
    data = {f"x{i}": random.normal(size=rows) for i in range(3)}
    return pa.table({**data, "s": random.choice(list("abc"), rows)})


def numbers_plan(method, **more):
    roles = dict.fromkeys(("x0", "x1", "x2"), Role.QUASI_IDENTIFIER) | {"s": Role.SENSITIVE}
    schema = Schema({name: Column(role) for name, role in roles.items()})
    return shoal.Plan(schema, (shoal.models.KAnonymity(5), shoal.models.PSensitive(2)), method, **more)


def test_rows_beyond_the_driver_memory(spark, tmp_path, monkeypatch):
    """Thousands of combinations, with memory for a few hundred.

    They are released in blocks and verified on the executors.
    """
    table = numbers_table(3000)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    monkeypatch.setattr(spark_engine, "driver_memory", lambda heap, max_result: DriverMemory(1 << 40, 50_000))
    plan = numbers_plan(
        PFirst(effort=10), source=Source(source), output=Output(target), engine=EngineSettings(name="spark")
    )
    with pytest.raises(shoal.errors.TableError, match="block = 100000"):
        shoal.release(plan)
    release = shoal.release(replace(plan, method=PFirst(block=500, effort=10)))
    assert release.figures["released"] == 3000
    assert release.figures["smallest_group"] >= 5
    assert all(model["holds"] for model in release.figures["models"])
    assert [found.name for found in tmp_path.glob("*.html")] == ["out.report.html"]
    ours = tmp_path / "ours.parquet"
    shoal.release(
        replace(plan, method=PFirst(block=500, effort=10), output=Output(ours), engine=EngineSettings(name="duckdb"))
    )
    assert pq.read_table(target, partitioning=None).to_pylist() == pq.read_table(ours).to_pylist()


def test_failed_verification_leaves_no_output(spark, tmp_path, monkeypatch):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(numbers_table(300), source)
    plan = numbers_plan(
        Mdav(block=50), source=Source(source), output=Output(target), engine=EngineSettings(name="spark")
    )
    # a group of two rows in the written table
    original = SparkDistributedTable.recode

    def spoil(counted, *arguments):
        found = original(counted, *arguments)
        return counted._engine._view(
            f"SELECT c0 + CASE WHEN row_number() OVER (ORDER BY c0, c1, c2) < 3 THEN 100 ELSE 0 END AS c0, "
            f"c1, c2, c3, k "
            f"FROM {found.name}", found.columns
        )  # fmt: skip

    with monkeypatch.context() as patch:
        patch.setattr(SparkDistributedTable, "recode", spoil)
        with pytest.raises(shoal.errors.VerificationError, match="k-anonymity"):
            shoal.release(plan)
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.parquet"]


def test_errors_of_executors_are_raised(spark):
    table = mixed_table(200, 3)
    lonely = table.slice(0, 1).set_column(2, "place", pa.array(["q"]))
    table = pa.concat_tables([table.filter(pa.compute.not_equal(table["place"], "q")), lonely])
    plan = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(3),), Mdav(block=20, strata=("place",)))
    with pytest.raises(shoal.errors.InfeasibleError, match="stratum"):
        shoal.anonymize(spark.createDataFrame(table), plan)
    infinite = pa.table({"x": [float(i) for i in range(40)] + [float("inf")]})
    plan = shoal.Plan(Schema({"x": Column(Role.QUASI_IDENTIFIER)}), (shoal.models.KAnonymity(3),), Mdav(block=20))
    with pytest.raises(shoal.errors.PlanError, match="infinite"):
        shoal.anonymize(spark.createDataFrame(infinite), plan)
    uniform = pa.table({"x": list(range(40)), "s": ["a"] * 40})
    schema = Schema({"x": Column(Role.QUASI_IDENTIFIER), "s": Column(Role.SENSITIVE)})
    plan = shoal.Plan(schema, (shoal.models.KAnonymity(3), shoal.models.PSensitive(2)), PFirst(block=20))
    with pytest.raises(shoal.errors.InfeasibleError, match="No grouping"):
        shoal.anonymize(spark.createDataFrame(uniform), plan)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_written_parts_are_read_again_by_arrow(spark, tmp_path, monkeypatch, ending):
    """A group of one row in the files, though Spark counts another table."""
    pq.write_table(mixed_table(300, 7), tmp_path / "in.parquet")
    plan = shoal.Plan(
        SCHEMA,
        MODELS["p"][0],
        Mdav(block=40),
        engine=EngineSettings(name="spark"),
        source=Source(path=tmp_path / "in.parquet"),
        output=Output(path=tmp_path / f"out.{ending}", report=False),
    )
    honest = shoal.release(plan)
    assert honest.figures["method"]["blocks"] > 1
    assert honest.certificate["reading"] == "Arrow"

    monkeypatch.setattr(verify, "MAX_COMBINATIONS_READ", 1)
    monkeypatch.setattr(reading, "MAX_UNMERGED_ROWS", 1)
    assert shoal.release(plan, overwrite=True).certificate["reading"] == "the engine"
    monkeypatch.undo()

    count = spark_engine.SparkEngine.distributed_frequencies

    def count_another(self, table, positions):
        """Spark sees the last group as part of the first."""
        name = table.columns[positions[0]]
        rows = self.to_arrow(table)
        cells = rows.column(name).to_pylist()
        rows = rows.set_column(positions[0], name, pa.array([cells[0]] * len(cells), rows.column(name).type))
        return count(self, self.read(Source(frame=rows)), positions)

    monkeypatch.setattr(DecidedDistributed, "verify", _with_frequencies(DecidedDistributed.verify, count_another))
    with pytest.raises(VerificationError, check=has_code("verification.other-groups")):
        shoal.release(plan, overwrite=True)


def _with_frequencies(verify, count):
    """Let a verification use other frequencies than the decision."""

    def run(self, engine, *given):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spark_engine.SparkEngine, "distributed_frequencies", count)
            return verify(self, engine, *given)

    return run
