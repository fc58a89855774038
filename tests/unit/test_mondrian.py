"""Mondrian: cuts at values, along hierarchies and over orders.

Strict and relaxed cuts, and the published values of groups.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.schema import Column, Role, Schema, Tree

K2 = (shoal.models.KAnonymity(2),)
AGE = Schema({"age": Column(Role.QUASI_IDENTIFIER)})


def release(table, schema, method, models=K2):
    return shoal.anonymize(table, shoal.Plan(schema, models, method))


def test_numbers_are_cut_between_values():
    table = pa.table({"age": [20, 21, 22, 50, 51, 52]})
    found = release(table, AGE, shoal.methods.Mondrian(ranges="exact"), (shoal.models.KAnonymity(3),))
    assert sorted(found.table["age"].to_pylist()) == ["20..22"] * 3 + ["50..52"] * 3
    found = release(table, AGE, shoal.methods.Mondrian(), (shoal.models.KAnonymity(3),))
    assert sorted(found.table["age"].to_pylist()) == ["<24"] * 3 + [">=48"] * 3


def test_centroids():
    table = pa.table({"age": [20, 21, 22, 50, 51, 55]})
    found = release(table, AGE, shoal.methods.Mondrian(publish={"age": "centroid"}), (shoal.models.KAnonymity(3),))
    assert sorted(found.table["age"].to_pylist()) == [21] * 3 + [52] * 3


def test_centroids_have_the_column_type_or_are_missing():
    """Publish centroids as microaggregation publishes means.

    Whole numbers stay whole; a group with a missing number gets no centroid, so that nothing is disclosed about people
    without a number.
    """
    table = pa.table({"age": pa.array([1.25, 2.5, 1.25, 80, None, 81], pa.float32())})
    found = release(
        table, AGE, shoal.methods.Mondrian(publish={"age": "centroid"}), (shoal.models.KAnonymity(3),)
    ).table["age"]
    assert found.type == pa.float32()
    assert found.to_pylist() == [None] * 3 + [pytest.approx(5 / 3)] * 3
    nothing = pa.table({"age": pa.array([None] * 4, pa.int64())})
    hidden = release(
        nothing, AGE, shoal.methods.Mondrian(publish={"age": "centroid"}), (shoal.models.KAnonymity(3),)
    ).table["age"]
    assert hidden.to_pylist() == [None] * 4
    texts = pa.table({"age": ["1", "2", "1", "80", "80", "82"]})
    published = release(
        texts, AGE, shoal.methods.Mondrian(publish={"age": "centroid"}), (shoal.models.KAnonymity(3),)
    ).table["age"]
    assert Counter(published.to_pylist()) == {"1": 3, "81": 3}


def test_missing_numbers_form_a_group():
    table = pa.table({"age": pa.array([20, 21, None, None, 22], pa.int64())})
    found = release(table, AGE, shoal.methods.Mondrian(ranges="exact"))
    assert Counter(found.table["age"].to_pylist()) == {"20..22": 3, None: 2}


def test_group_with_a_missing_number_shows_the_whole_domain():
    """One missing number with k = 2 has no group without other numbers."""
    table = pa.table({"age": pa.array([20, 21, None], pa.int64())})
    assert set(release(table, AGE, shoal.methods.Mondrian()).table["age"].to_pylist()) == {"*"}


def test_order_of_the_schema():
    """Cut by the declared order, not by code point.

    By code point, high comes before low; by the order, low and mid are neighbours.
    """
    order = ("low", "mid", "high")
    schema = Schema({"level": Column(Role.QUASI_IDENTIFIER, order=order)})
    table = pa.table({"level": ["low", "mid", "high", "high"]})
    found = release(table, schema, shoal.methods.Mondrian(ranges="exact")).table["level"].to_pylist()
    assert sorted(found) == ["high", "high", "low..mid", "low..mid"]
    with pytest.raises(shoal.errors.PlanError, match="1 distinct value"):
        release(pa.table({"level": ["low", "low", "other"]}), schema, shoal.methods.Mondrian())


def test_strict_and_relaxed_cuts_of_equal_rows():
    """Strict cuts put equal rows into one group; relaxed cuts need not."""
    tree = Tree({"north": ["a", "b"], "south": ["c"]})
    schema = Schema({"place": Column(Role.QUASI_IDENTIFIER, tree)})
    table = pa.table({"place": ["a"] * 4 + ["b"]})
    strict = release(table, schema, shoal.methods.Mondrian()).table["place"].to_pylist()
    assert Counter(strict) == {"north": 5}
    relaxed = release(table, schema, shoal.methods.Mondrian(strict=False)).table["place"].to_pylist()
    assert Counter(relaxed) == {"a": 3, "north": 2}


@pytest.mark.parametrize("seed", range(5))
def test_strict_regions_do_not_overlap(seed):
    random = np.random.default_rng(seed)
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in ("x", "y")})
    table = pa.table({name: random.integers(0, 30, 200) for name in ("x", "y")})
    published = release(
        table, schema, shoal.methods.Mondrian(ranges="exact"), (shoal.models.KAnonymity(4),)
    ).table.to_pylist()
    regions = {(row["x"], row["y"]) for row in published}

    def ends(label):
        low, _, high = label.partition("..")
        return int(low), int(high or low)

    covering = defaultdict(int)
    for x, y in regions:
        for i in range(ends(x)[0], ends(x)[1] + 1):
            for j in range(ends(y)[0], ends(y)[1] + 1):
                covering[i, j] += 1
    assert max(covering.values()) == 1


def test_cuts_of_a_long_domain():
    """Cut 1000 values at some of them; sizes are from k to 2k - 1."""
    values = np.arange(1000)
    found = release(pa.table({"age": values}), AGE, shoal.methods.Mondrian(), (shoal.models.KAnonymity(5),))
    sizes = Counter(found.table["age"].to_pylist()).values()
    assert min(sizes) >= 5
    assert max(sizes) < 10


def test_wrong_parameters():
    with pytest.raises(shoal.errors.PlanError, match="ancestor, range or centroid"):
        shoal.methods.Mondrian(publish={"age": "mode"})
    with pytest.raises(shoal.errors.PlanError, match="true or false"):
        shoal.methods.Mondrian(strict="no")
    with pytest.raises(shoal.errors.PlanError, match="must hold numbers"):
        release(pa.table({"age": ["x", "y"]}), AGE, shoal.methods.Mondrian(publish={"age": "centroid"}))


def test_from_a_plan():
    document = {
        "columns": {"age": {"role": "quasi-identifier"}},
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "mondrian", "strict": False, "publish": {"age": "range"}},
    }
    assert shoal.Plan.from_dict(document).method == shoal.methods.Mondrian(strict=False, publish={"age": "range"})
