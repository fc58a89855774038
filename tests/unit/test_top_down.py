"""Top-down specialization: the paper's example and its rules."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal
from shoal.schema import Categories, Column, Prefix, Role, Schema
from tests.builders.errors import has_code

SCHEMA = Schema(
    {
        "zip": Column(Role.QUASI_IDENTIFIER, Prefix()),
        "disease": Column(Role.SENSITIVE, categories=Categories((("HIV",), ("Flu",)))),
    }
)
TABLE_8 = pa.table({"zip": ["4351", "4351", "4351", "4352"], "disease": ["HIV", "Flu", "HIV", "Flu"]})


def released_rows(alpha, variant="improved"):
    method = shoal.methods.TopDown(variant=variant)
    plan = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(2), shoal.models.PAlphaSensitive(2, alpha)), method)
    rows = shoal.anonymize(TABLE_8, plan).table.to_pylist()
    return sorted((row["zip"], row["disease"]) for row in rows)


@pytest.mark.parametrize("variant", ["improved", "as-printed"])
def test_table_8_and_figure_1(variant):
    """Rows 3 and 4 become 435*, rows 1 and 2 stay.

    One row of 4351 is borrowed so that 4352 is not alone.
    """
    assert released_rows(1, variant) == [("435*", "Flu"), ("435*", "HIV"), ("4351", "Flu"), ("4351", "HIV")]


@pytest.mark.parametrize("variant", ["improved", "as-printed"])
def test_table_8_with_alpha_2(variant):
    """All four rows stay in one group.

    {HIV, Flu} weighs 1, as the paper claims.
    """
    assert released_rows(2, variant) == [("435*", "Flu")] * 2 + [("435*", "HIV")] * 2


def test_irreparable_specialization_is_not_made():
    table = pa.table({"zip": ["4351", "4352", "4353"], "disease": ["HIV", "Flu", "Flu"]})
    release = shoal.anonymize(table, shoal.Plan(SCHEMA, (shoal.models.KAnonymity(2),), shoal.methods.TopDown()))
    assert release.figures["groups"] == 1
    assert set(release.table["zip"].to_pylist()) == {"435*"}


def test_large_groups_keep_their_values():
    table = pa.table({"zip": ["1111"] * 3 + ["2222"] * 3, "disease": ["HIV", "Flu", "Flu"] * 2})
    release = shoal.anonymize(table, shoal.Plan(SCHEMA, (shoal.models.KAnonymity(3),), shoal.methods.TopDown()))
    assert release.utility["distortion_ratio"] == 0
    assert sorted(release.table["zip"].to_pylist()) == ["1111"] * 3 + ["2222"] * 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "height"}, "'loss' must be ncp, granularity"),
        ({"choose": "worst"}, "'choose' must be best, loss or rate"),
        ({"weights": {"zip": -1}}, "each entry a number from 1e-09"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(shoal.errors.PlanError, match=message):
        shoal.methods.TopDown(**parameters)


def test_weights_of_unknown_columns():
    with pytest.raises(shoal.errors.PlanError, match="'nothing'"):
        shoal.Plan(SCHEMA, (shoal.models.KAnonymity(2),), shoal.methods.TopDown(weights={"nothing": 2}))


def test_heavy_column_keeps_its_values():
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in ("a", "b")})
    table = pa.table({"a": ["1", "1", "2", "2"], "b": ["x", "y", "x", "y"]})
    for heavy, light in (("a", "b"), ("b", "a")):
        method = shoal.methods.TopDown(weights={heavy: 10})
        released = shoal.anonymize(table, shoal.Plan(schema, (shoal.models.KAnonymity(2),), method)).table
        assert released[heavy].to_pylist().count("*") == 0
        assert released[light].to_pylist().count("*") == 4


@pytest.mark.parametrize("parameters", [{"choose": "loss"}, {"quality": "good"}])
def test_other_rules_are_refused_as_printed(parameters):
    method = shoal.methods.TopDown(variant="as-printed", **parameters)
    with pytest.raises(shoal.errors.PlanError, check=has_code("method.as-printed-without-choice")):
        shoal.Plan(SCHEMA, (shoal.models.KAnonymity(2),), method)


def test_deadline_ends_the_specialization_as_printed():
    method = shoal.methods.TopDown(variant="as-printed", time_limit=1e-9)
    release = shoal.anonymize(TABLE_8, shoal.Plan(SCHEMA, (shoal.models.KAnonymity(2),), method))
    assert set(release.table["zip"].to_pylist()) == {"435*"}


def test_rows_given_back_are_final_as_printed():
    """Rows at the parent are not specialized along another column."""
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in ("a", "b")})
    table = pa.table({"a": ["1"] * 8 + list("3456"), "b": ["w", "x", "y", "z"] * 2 + ["x", "x", "y", "y"]})
    found = {}
    for variant in ("as-printed", "improved"):
        method = shoal.methods.TopDown(weights={"a": 10}, variant=variant)
        plan = shoal.Plan(schema, (shoal.models.KAnonymity(2),), method)
        rows = shoal.anonymize(table, plan).table.to_pylist()
        found[variant] = sorted(row["b"] for row in rows if row["a"] == "*")
    assert found == {"as-printed": ["*"] * 4, "improved": ["x", "x", "y", "y"]}


def test_rows_are_moved_back_only_from_valid_children_as_printed():
    """Specialize nothing where no child can spare a row."""
    models = (shoal.models.KAnonymity(2), shoal.models.PSensitive(2))
    method = shoal.methods.TopDown(variant="as-printed")
    table = pa.table({"zip": ["1111"] * 3 + ["1112"] * 2 + ["1113"],
                      "disease": ["HIV", "Flu", "Flu", "HIV", "Flu", "HIV"]})  # fmt: skip
    release = shoal.anonymize(table, shoal.Plan(SCHEMA, models, method))
    assert sorted(release.table["zip"].to_pylist()) == ["111*"] * 2 + ["1111"] * 2 + ["1112"] * 2
    release = shoal.anonymize(table.slice(3), shoal.Plan(SCHEMA, models, method))
    assert sorted(release.table["zip"].to_pylist()) == ["111*"] * 3
