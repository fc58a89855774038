"""Algorithm 2 of the (p+, α) paper as printed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.datasets.patients import CATEGORIES, COLUMNS, TABLES
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.methods.base import Problem
from shoal.methods.local.printed_switching import Ancestors
from shoal.methods.local.problem import make_local_problem
from shoal.models import combine
from shoal.table import read_frequency_set

TREE = {"America": ["USA", "Canada"], "Asia": ["China", "Japan", "India"]}
SCHEMA = shoal.schema.Schema(
    {
        "age": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Cuts(((30, 40), (40,)))),
        "country": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Tree(TREE)),
        "zip": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Prefix()),
        "condition": shoal.Column(shoal.Role.SENSITIVE, categories=CATEGORIES),
    }
)
GOAL = (shoal.models.KAnonymity(4), shoal.models.PPlusAlphaSensitive(2, 2))


def problem_of(table):
    with DuckDBEngine() as engine:
        relation = engine.read(Source(frame=table))
        frequencies = read_frequency_set(engine, relation, SCHEMA)
        return Problem(frequencies, frequencies.ladders(SCHEMA, engine, relation), combine(GOAL), schema=SCHEMA)


def people(rows=60, seed=0):
    random = np.random.default_rng(seed)
    values = [value for category in CATEGORIES.classes for value in category]
    return pa.table(
        {
            "age": [str(age) for age in random.integers(20, 50, rows)],
            "country": [["USA", "Canada", "China", "Japan", "India"][i] for i in random.integers(0, 5, rows)],
            "zip": [f"1{i:02}" for i in random.integers(0, 30, rows)],
            "condition": [values[int(i)] for i in len(values) * random.random(rows) ** 2],
        }
    )


def test_table_5_becomes_a_table_like_6():
    table = pa.table(dict(zip(COLUMNS, map(list, zip(*TABLES[1], strict=True)), strict=True)))
    start = shoal.methods.Levels({"age": 1, "country": 1, "zip": 2})
    method = shoal.methods.Switching(start=start, variant="as-printed")
    release = shoal.anonymize(table, shoal.Plan(SCHEMA, GOAL, method))
    facts = release.figures["method"]
    assert (facts["exchanged"], facts["taken_over"], facts["merges"]) == (2, 0, 0)
    assert release.certificate["groups"] == 3
    assert release.certificate["smallest_group"] == 4  # exchanges keep the sizes of groups
    groups = {}
    for row in release.table.to_pylist():
        groups.setdefault((row["age"], row["zip"]), []).append(row["condition"])
    assert sorted(map(len, groups.values())) == [4, 4, 4]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("start", [None, "top-down"])
def test_groups_meet_the_models_without_takeovers(seed, start):
    method = shoal.methods.Switching(start=start, variant="as-printed")
    release = shoal.anonymize(people(seed=seed), shoal.Plan(SCHEMA, GOAL, method))
    facts = release.figures["method"]
    assert facts["start"] == ("full-domain" if start is None else start)
    assert facts["taken_over"] == 0
    assert facts["groups_before"] - facts["merges"] >= release.certificate["groups"]
    assert all(model["holds"] for model in release.certificate["models"])
    if facts["failing_groups_before"] == 0:
        assert facts["exchanged"] == facts["merges"] == 0


def test_merging_where_no_exchange_can_help():
    """Light groups cannot be repaired by exchanges."""
    table = pa.table({"age": ["21", "22", "45", "46"], "country": ["USA"] * 4, "zip": ["100"] * 4,
                      "condition": ["HIV", "Phthisis", "HIV", "Phthisis"]})  # fmt: skip
    models = (shoal.models.KAnonymity(2), shoal.models.PPlusAlphaSensitive(2, 0.6))
    release = shoal.anonymize(table, shoal.Plan(SCHEMA, models, shoal.methods.Switching(variant="as-printed")))
    facts = release.figures["method"]
    assert (facts["exchanged"], facts["merges"], release.certificate["groups"]) == (0, 1, 1)


def test_levels_are_those_of_common_ancestors():
    local = make_local_problem(problem_of(people(40, 3)))
    ancestors = Ancestors(local)
    random = np.random.default_rng(1)
    for _ in range(20):
        items = random.choice(len(local.count), random.integers(1, 6), replace=False)
        levels = ancestors.levels(items)
        for j, ladder in enumerate(local.problem.ladders):
            codes = local.problem.frequencies.codes[items, j]
            expected = next(h for h in range(ladder.height + 1) if len(set(ladder.codes[h][codes])) == 1)
            assert levels[j] == expected
        rest = ancestors.levels(items[1:]) if len(items) > 1 else None
        if rest is not None:
            assert (ancestors.joint_levels(items[1:2], items[:1], rest[None])[0] == levels).all()


def test_ranges_are_refused():
    plan = shoal.Plan(
        shoal.schema.Schema(
            {"age": shoal.Column(shoal.Role.QUASI_IDENTIFIER), "condition": SCHEMA.columns["condition"]}
        ),
        GOAL,
        shoal.methods.Switching(start="mondrian", variant="as-printed"),
    )
    table = people().select(["age", "condition"])
    table = table.set_column(0, "age", pa.array([int(age) for age in table["age"].to_pylist()]))
    with pytest.raises(shoal.errors.PlanError, match="generalizes along hierarchies"):
        shoal.anonymize(table, plan)
