"""Every command gives the same answer on Spark and on DuckDB."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shoal
from shoal.budget import Ledger, Questions, Span
from shoal.errors import PlanError, TableError
from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Source
from shoal.schema import Column, Role, Schema, Widths
from tests.reference.identifiability import SeededSource

pytestmark = pytest.mark.xdist_group("spark")

SPARK = EngineSettings(name="spark")
ROWS = 40
SCHEMA = Schema(
    {
        "age": Column(Role.QUASI_IDENTIFIER, Widths((5, 20))),
        "zip": Column(Role.QUASI_IDENTIFIER),
        "illness": Column(Role.SENSITIVE),
    }
)
PLAN = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(4),), shoal.methods.FullDomain())
TABLE = pa.table(
    {
        "age": [20 + 7 * i % 40 for i in range(ROWS)],
        "zip": [None if i == 7 else f"1424{i % 3}" for i in range(ROWS)],
        "illness": [("flu", "gout", "asthma")[i * i % 3] for i in range(ROWS)],
    }
)
RELEASED = pa.table(
    {
        "age": [f"{start}-{start + 19}" for start in (20 + 7 * i % 40 // 20 * 20 for i in range(ROWS))],
        "zip": ["*"] * ROWS,
        "illness": TABLE["illness"],
    }
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name, table in (("original", TABLE), ("released", RELEASED)):
        pq.write_table(table, folder / f"{name}.parquet")
    with_gaps = pa.table({"age": [20 + i % 30 for i in range(30)], "sex": ["?", *("fm"[i % 2] for i in range(29))]})
    pq.write_table(with_gaps, folder / "gaps.parquet")
    return folder


def test_attack_and_assess(spark, files):
    external = TABLE.select(["age", "zip"]).slice(0, 12)
    here, there = (
        shoal.attack(
            files / "released.parquet", PLAN, original=files / "original.parquet", external=external,
            person=["illness"], engine=engine,
        )
        for engine in (None, SPARK)
    )  # fmt: skip
    one, other = here.to_dict(), there.to_dict()
    for result in one["attacks"]:
        result.pop("rows", None)  # those of a table on Spark have no numbers
    assert other == one
    assert any(result.exposed for result in here.results)
    risks = [shoal.assess(files / "original.parquet", PLAN, fraction=0.1, engine=engine) for engine in (None, SPARK)]
    assert risks[0].to_dict() == risks[1].to_dict()


def test_attack_runs_on_the_engine_of_the_plan(spark, files):
    frame = spark.createDataFrame(RELEASED)
    people = TABLE.select(["age", "zip"])
    here, there = (shoal.attack(TABLE, plan, external=people) for plan in (PLAN, PLAN.with_(engine=SPARK)))
    assert here.named("linkage").exposed == there.named("linkage").exposed
    assert here.named("linkage").rows
    assert not there.named("linkage").rows  # rows on Spark have no numbers
    with pytest.raises(PlanError, match="row number"):
        shoal.attack(frame, PLAN, original=TABLE, aligned=True)


def test_compare(spark, files):
    answers = [
        shoal.compare(files / "original.parquet", files / "released.parquet", PLAN, engine=engine).to_dict()
        for engine in (None, SPARK)
    ]
    assert answers[0] == answers[1]
    with pytest.raises(PlanError, match="row number"):
        shoal.compare(TABLE, RELEASED, PLAN, aligned=True, engine="spark")


def test_profile_and_draft(spark, files):
    here, there = (shoal.draft(files / "gaps.parquet", k=2, rehearse=False, engine=engine) for engine in (None, SPARK))
    assert here.profile.to_dict() == there.profile.to_dict()
    assert here.profile.missing == ("?",)
    assert here.text == there.text


def test_methods_tried_on_a_sample_on_spark(spark, monkeypatch):
    from shoal.advice import try_methods

    monkeypatch.setattr(
        try_methods, "partial_knowledge_models", lambda model: True
    )  # two methods, of which one fits the plan
    here, there = (
        [
            (trial.method.name, trial.loss, trial.rows)
            for trial in try_methods.try_methods(PLAN, Source(frame=table), 0.1)
        ]
        for table in (TABLE, spark.createDataFrame(TABLE))
    )
    assert here == there
    assert any(loss is not None for _, loss, _ in here)


def test_explain(spark):
    plans = [PLAN, PLAN.with_(engine=SPARK)]
    here, there = (shoal.explain(plan, TABLE).to_dict() for plan in plans)
    assert here == there
    assert here["rows"] == ROWS


def test_sample_is_stable_and_splits_equal_rows(spark):
    """The sample is the same in every run, whatever the order of rows."""
    table = pa.table({"v": ["a"] * 500 + ["b"] * 500})
    turned = table.take(pa.array(range(999, -1, -1)))
    with open_engine(SPARK) as engine:
        samples = [engine.sample(engine.read(Source(frame=each)), 100) for each in (table, turned)]
    assert samples[0].equals(samples[1])
    counts = samples[0].column("v").to_pylist().count("a")
    assert 20 < counts < 80


def test_questions(spark, tmp_path):
    table = pa.table(
        {
            "illness": ["fl\u00fc", "flu\u0308 ", "gout", None, "fl\u00fc"],
            "days": pa.array([3.5, -2.0, 700.0, None, 2.5]),
            "price": pa.array([Decimal("1.10"), Decimal("1.1"), None, Decimal("2.00"), None], pa.decimal128(9, 2)),
            "seen": pa.array([dt.datetime(2020, 1, day) for day in (1, 1, 2, 3, 1)], pa.timestamp("us", "UTC")),
        }
    )  # fmt: skip

    span, rho = Span.of("0", "60", "1/2"), "1/1000"
    queries = (
        lambda questions: questions.count(rho, {"illness": "flu\u0308", "seen": "2020-01-01"}),
        lambda questions: questions.count(rho, {"price": "1.1", "illness": None}),
        lambda questions: questions.sum(rho, "days", span, {"illness": "fl\u00fc"}),
        lambda questions: questions.mean(rho, "days", span),
        lambda questions: questions.histogram(rho, "illness", ["gout", "flu\u0308", None], {"seen": "2020-01-01"}),
    )

    def ask(engine):
        for number, question in enumerate(queries):  # each from a new ledger, with the same noise
            ledger = Ledger.create(tmp_path / f"{engine and engine.name}{number}.ledger", m=10**18, k=2)
            answer = question(Questions(table, ledger, engine=engine, source=SeededSource(1)))
            yield answer.kind, answer.values

    assert list(ask(None)) == list(ask(SPARK))


def test_engine_option_of_a_command(spark, files):
    from shoal.cli.app import app

    table = str(files / "released.parquet")
    roles = ("-q", "age,zip", "-s", "illness")
    command = ["check", table, *roles, "-m", "k-anonymity k=2", "--json"]
    done = [CliRunner().invoke(app, [*command, *more]) for more in ((), ("--engine", "spark"))]
    assert done[0].exit_code == done[1].exit_code == 0
    assert json.loads(done[0].stdout) == json.loads(done[1].stdout)


def test_database_is_not_read_by_spark(spark):
    with open_engine(SPARK) as engine, pytest.raises(TableError, match="Use the engine `duckdb`"):
        engine.read(Source(database="env:NOWHERE", table="t"))
