"""The same plan on both engines: equal groups and values, row by row."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.io.engines.spark import SparkEngine
from shoal.schema import Widths
from tests.builders.certificates import statements
from tests.builders.conformance import METHODS, MODELS, SCHEMA, round_numbers, table_of
from tests.builders.people import people_of, people_schema

pytestmark = pytest.mark.xdist_group("spark")


def serves(method, model):
    try:
        shoal.Plan(SCHEMA, MODELS[model][0], METHODS[method])
    except shoal.errors.PlanError:
        return False
    return True


def pairs():
    """Pair every method with one model, and every model with one method.

    Each model is paired with another method that serves it.
    """
    yield from ((method, "p") for method in METHODS)
    names = list(METHODS)
    for number, model in enumerate(MODELS):
        if model != "p":
            yield next(method for method in names[number:] + names[:number] if serves(method, model)), model


@pytest.mark.parametrize(("method", "model"), list(pairs()))
def test_both_engines_release_the_same(spark, method, model):
    table = table_of(200, 3)
    plan = shoal.Plan(SCHEMA, MODELS[model][0], METHODS[method], seed=3)
    frame = spark.createDataFrame(table).repartition(3)
    try:
        ours = shoal.anonymize(table, plan)
    except shoal.errors.InfeasibleError as error:
        with pytest.raises(shoal.errors.InfeasibleError, match=re.escape(str(error))):
            shoal.anonymize(frame, plan)
        return
    theirs = shoal.anonymize(frame, plan)
    assert theirs.table.toArrow().to_pylist() == ours.table.to_pylist()
    if getattr(plan.method, "block", None):  # each part adds up its own losses, so the last digits may differ
        assert round_numbers(statements(theirs)) == round_numbers(statements(ours))
    else:
        assert statements(theirs) == statements(ours)


def test_both_engines_link_rows_and_shift_dates_equally(spark, tmp_path, monkeypatch):
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv("SHOAL_PSEUDONYM_KEY", str(tmp_path / "key"))
    table = people_of(150)
    day = [f"2024-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(150)]
    moved = shoal.Column(shoal.Role.OTHER, shift=shoal.schema.Shift(30))
    columns = {**people_schema(pseudonym=True).columns, "day": moved}
    method = shoal.methods.FactsSuppression(suppression=0.7)
    plan = shoal.Plan(shoal.schema.Schema(columns), (shoal.models.TrajectoryAnonymity(3, 2),), method)
    table = table.append_column("day", pa.array(day))
    ours = shoal.anonymize(table, plan)
    theirs = shoal.anonymize(spark.createDataFrame(table).repartition(3), plan)
    assert theirs.table.toArrow().to_pylist() == ours.table.to_pylist()
    assert statements(theirs) == statements(ours)


def test_both_engines_with_partial_knowledge(spark):
    """An intruder knows any two columns; one key set has another k."""
    table = table_of(200, 3)
    keys = (shoal.models.KeySet(SCHEMA.quasi_identifiers[:2], k=6, reading="loose"),)
    models = (shoal.models.LooselyKnown(shoal.models.KAnonymity(3), 2), shoal.models.PSensitive(2))
    plan = shoal.Plan(SCHEMA, models, shoal.methods.HiddenCells(), keys=keys)
    ours = shoal.anonymize(table, plan)
    theirs = shoal.anonymize(spark.createDataFrame(table).repartition(3), plan)
    assert theirs.table.toArrow().to_pylist() == ours.table.to_pylist()
    assert statements(theirs) == statements(ours)
    assert [model["parameters"].get("known") for model in ours.figures["models"]] == [2, None, None]


@pytest.mark.parametrize("method", ["full-domain", "top-down", "mdav"])
def test_small_releases_are_expanded_from_combinations(spark, tmp_path, monkeypatch, method):
    """Rows made from combinations equal those of recoding the table.

    They have the same type, order and number. A small release of counted columns repeats each combination instead of
    recoding every row.
    """
    random, rows = np.random.default_rng(8), 300
    table = pa.table(
        {
            "age": pa.array(random.integers(20, 60, rows).astype(np.int16)),
            "place": pa.array(random.choice(["b", "a", "é", ""], rows), mask=random.random(rows) < 0.1),
            "ill": pa.array(random.random(rows) < 0.5, mask=random.random(rows) < 0.1),
            "seen": pa.array(random.integers(19000, 19004, rows).astype(np.int32)).cast(pa.date32()),
        }
    )
    quasi, secret = shoal.Column(shoal.Role.QUASI_IDENTIFIER), shoal.Column(shoal.Role.SENSITIVE)
    age = shoal.Column(shoal.Role.QUASI_IDENTIFIER, Widths((5, 20)))
    schema = shoal.schema.Schema({"age": age, "place": quasi, "ill": secret, "seen": secret})
    method_object = shoal.methods.FullDomain(suppression=0.2) if method == "full-domain" else METHODS[method]
    plan = shoal.Plan(schema, (shoal.models.KAnonymity(4),), method_object, seed=1)
    frame = spark.createDataFrame(table).repartition(3)
    repeated = []
    usual = SparkEngine._repeated
    monkeypatch.setattr(SparkEngine, "_repeated", lambda *given: repeated.append(given[3]) or usual(*given))
    ours = shoal.anonymize(table, plan)
    small = shoal.anonymize(frame, plan)
    assert len(repeated) == 1
    monkeypatch.setattr("shoal.io.engines.spark.MAX_REPEATED_ROWS", ours.table.num_rows - 1)
    large = shoal.anonymize(frame, plan)
    assert len(repeated) == 1
    assert small.table.schema == large.table.schema
    for theirs in (small, large):
        assert theirs.table.toArrow().to_pylist() == ours.table.to_pylist()
        assert statements(theirs) == statements(ours)
    monkeypatch.setattr("shoal.io.engines.spark.MAX_REPEATED_ROWS", ours.table.num_rows)
    monkeypatch.setattr("shoal.io.engines.spark.MAX_COMBINATIONS_AT_ONCE", 1)
    shoal.anonymize(frame, plan)
    assert len(repeated) == 1


def test_maps_of_equal_columns_are_sent_in_one_table(spark, monkeypatch):
    sent = []
    usual = SparkEngine._send
    monkeypatch.setattr(SparkEngine, "_send", lambda engine, table: sent.append(table) or usual(engine, table))
    texts = [pa.table({"v": [f"{n}"], "label": [f"label {n}"]}) for n in range(3)]
    number = pa.table({"v": [7], "label": ["seven"]})
    with SparkEngine(frame=spark.createDataFrame(number)) as engine:
        names = engine._send_all([texts[0], number, *texts[1:]])
        found = [spark.sql(f"SELECT * FROM {name} AS m").toArrow().to_pylist() for name in names]
        assert found == [table.to_pylist() for table in (texts[0], number, *texts[1:])]
        assert len(sent) == 2
        monkeypatch.setattr("shoal.io.engines.spark.BROADCAST_BYTES", 1)
        engine._send_all(texts)
        assert len(sent) == 5
