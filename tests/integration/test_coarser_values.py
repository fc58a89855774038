"""Coarser columns, and values outside of hierarchies."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import shoal
from shoal.errors import PlanError, ShoalError
from tests.builders.errors import has_code

ROWS = 200
TABLE = pa.table({
    "age": [str(20 + n % 40) for n in range(ROWS)],
    "income": [str(1000 + 37 * (n % 50)) for n in range(ROWS)],
    "visit": [f"2024-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(ROWS)],
})  # fmt: skip
AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}


def release(table=TABLE, age=AGE, models="k-anonymity k=5", method="mondrian", **columns):
    given = {"income": "sensitive", "visit": "other", **columns}
    return shoal.anonymize(table, {"columns": {"age": age, **given}, "models": models, "method": method})


def with_values(column, *values):
    cells = TABLE[column].to_pylist()
    cells[: len(values)] = values
    return TABLE.set_column(TABLE.column_names.index(column), column, pa.array(cells))


def test_a_level_is_published():
    income = {"role": "sensitive", "hierarchy": {"intervals": [1000]}, "levels": 1}
    visit = {"role": "other", "hierarchy": {"dates": ["month", "year"]}, "levels": 2}
    made = release(income=income, visit=visit)
    assert Counter(made.table["income"].to_pylist()) == Counter(
        "1000..1999" if int(value) < 2000 else "2000..2999" for value in TABLE["income"].to_pylist()
    )
    assert set(made.table["visit"].to_pylist()) == {"2024"}


def test_models_count_the_labels_of_the_level():
    models = ["k-anonymity k=5", {"name": "l-diversity", "l": 2, "column": "income"}]
    coarse = {"role": "sensitive", "hierarchy": {"intervals": [2000]}, "levels": 1}
    made = release(models=models, income=coarse)
    groups = {}
    for row in made.table.to_pylist():
        groups.setdefault(row["age"], set()).add(row["income"])
    assert {label for labels in groups.values() for label in labels} == {"0..1999", "2000..3999"}
    assert all(len(labels) == 2 for labels in groups.values())
    with pytest.raises(ShoalError):
        release(models=models, income={**coarse, "hierarchy": {"intervals": [10_000]}})


def test_levels_need_a_hierarchy_and_a_fitting_role():
    for column in (
        {"role": "sensitive", "levels": 1},
        {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}, "levels": 1},
        {"role": "sensitive", "hierarchy": {"order": {"fanout": [2]}}, "levels": 1},
        {"role": "other", "hierarchy": {"intervals": [10]}},
    ):
        with pytest.raises(PlanError):
            release(income=column)
    with pytest.raises(PlanError, check=has_code("columns.level-too-high")):
        release(income={"role": "other", "hierarchy": {"intervals": [1000]}, "levels": 3})


def test_unmatched_values_are_errors_unless_the_plan_differs():
    odd = with_values("age", "unknown", "n.a.")
    with pytest.raises(ShoalError):
        release(odd)
    hidden = release(odd, {**AGE, "unmatched": "hide"}, models="k-anonymity k=2")
    assert hidden.table["age"].to_pylist().count("*") >= 2
    assert not {"unknown", "n.a."} & set(hidden.table["age"].to_pylist())
    assert len(hidden.table) == ROWS
    assert hidden.certificate["smallest_group"] >= 2
    left_out = release(odd, {**AGE, "unmatched": "suppress"})
    assert (len(left_out.table), left_out.figures["rows"], left_out.figures["suppressed"]) == (
        ROWS - 2,
        ROWS,
        2,
    )


def test_unmatched_sensitive_values_count_as_missing():
    odd = with_values("income", "much", "more")
    income = {"role": "sensitive", "hierarchy": {"intervals": [1000]}, "levels": 1}
    with pytest.raises(ShoalError):
        release(odd, income=income)
    made = release(odd, income={**income, "unmatched": "missing"})
    assert made.table["income"].null_count == 2
    hidden = release(odd, income={**income, "unmatched": "hide"})
    assert hidden.table["income"].to_pylist().count("*") == 2


def test_unmatched_needs_a_hierarchy_and_a_fitting_role():
    for column in (
        {"role": "sensitive", "unmatched": "missing"},
        {"role": "other", "hierarchy": {"intervals": [10]}, "levels": 1, "unmatched": "missing"},
        {"role": "sensitive", "hierarchy": {"intervals": [10]}, "unmatched": "hide"},
        {"role": "sensitive", "hierarchy": {"intervals": [10]}, "unmatched": "drop"},
    ):
        with pytest.raises(PlanError):
            release(income=column)


def test_a_hidden_value_is_no_value_of_a_group():
    odd = with_values("age", *["?"] * 6)
    made = release(odd, {**AGE, "unmatched": "hide"}, method="full-domain")
    assert made.table["age"].to_pylist().count("*") in (6, ROWS)
    assert "*" in made.table["age"].to_pylist()


def test_plans_keep_the_keys():
    income = {"role": "sensitive", "hierarchy": {"intervals": [1000]}, "levels": 1, "unmatched": "missing"}
    plan = shoal.Plan.from_dict({"columns": {"age": AGE, "income": income}, "models": "k-anonymity k=5"})
    assert shoal.Plan.from_toml(plan.to_toml()) == plan
    assert (plan.columns["income"].levels, plan.columns["income"].unmatched) == (1, "missing")
