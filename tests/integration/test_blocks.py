"""Microaggregation in blocks.

The splitter, the rule for joining leaves, and the guarantees of a release in blocks.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.methods import Cbfs, KFirst, Mdav, PFirst, Univariate, VMdav
from shoal.methods.microaggregation.blocks import grow_forest, hash_rows, join_leaves, sample_rate, sampled
from shoal.methods.microaggregation.exact_moments import Moments, exact_sum, moments
from shoal.schema import Column, Role, Schema
from tests.builders.blocks import MODELS, SCHEMA, mixed_table
from tests.reference import blocks as slow
from tests.reference import models as slow_models
from tests.reference.microaggregation import coordinates

# -- the splitter ----------------------------------------------------------------------------------------------


@st.composite
def samples(draw):
    """Points with ties, weights and strata."""
    rows, columns = draw(st.integers(0, 60)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = draw(st.sampled_from([2, 5, 1000]))
    points = random.integers(0, values, (rows, columns)).astype(float)
    return points, random.integers(1, 4, rows), random.integers(0, draw(st.integers(1, 3)), rows)


@given(samples(), st.integers(1, 20))
def test_forest_splits_at_medians(sample, max_rows):
    points, weight, stratum = sample
    forest = grow_forest(points, weight, stratum, 3, max_rows)
    everywhere = forest.leaf_of(points, stratum)
    assert [slow.leaf_of(forest, *row) for row in zip(points, stratum, strict=True)] == everywhere.tolist()

    def check(node, members):
        all_equal = len(np.unique(points[members], axis=0)) < 2
        if forest.dimension[node] < 0:
            assert weight[members].sum() <= max_rows or all_equal
            assert {*everywhere[members]} <= {forest.leaf[node]}
            return
        assert weight[members].sum() > max_rows
        repeated = np.repeat(points[members], weight[members], axis=0)
        widest = repeated.var(axis=0)
        dimension, cut = forest.dimension[node], forest.cut[node]
        assert widest[dimension] >= widest.max() * (1 - 1e-9)
        sides = {value: (repeated[:, dimension] <= value).sum() for value in repeated[:, dimension]}
        del sides[max(sides)]  # a cut at the largest value leaves the other side empty
        assert abs(2 * sides[cut] - len(repeated)) == min(abs(2 * side - len(repeated)) for side in sides.values())
        low = points[members, dimension] <= cut
        check(forest.left[node], members[low])
        check(forest.right[node], members[~low])

    for number, root in enumerate(forest.root):
        check(root, np.flatnonzero(stratum == number))


@given(samples(), st.integers(1, 20), st.integers(0, 100))
def test_forest_does_not_depend_on_sample_order(sample, max_rows, seed):
    points, weight, stratum = sample
    order = np.random.default_rng(seed).permutation(len(points))
    one = grow_forest(points, weight, stratum, 3, max_rows)
    other = grow_forest(points[order], weight[order], stratum[order], 3, max_rows)
    for name in ("root", "dimension", "cut", "left", "right", "leaf"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


@given(samples(), st.integers(1, 8), st.integers(1, 60), st.integers(0, 2**32), st.sampled_from(["size", "any"]))
@settings(max_examples=300)
def test_joined_leaves_equal_reference(sample, fine, max_rows, seed, kind):
    points, weight, stratum = sample
    forest = grow_forest(points, weight, stratum, 3, fine)
    rows = np.bincount(forest.leaf_of(points, stratum), weights=weight, minlength=forest.leaves).astype(int)

    def holds(leaves):
        if kind == "size":
            return int(rows[list(leaves)].sum()) >= 1 + seed % 12
        # the worst case of a model: any set of leaves may satisfy it or not
        return int(hash_rows(np.array([sorted(leaves)], np.uint64), seed)[0] % np.uint64(3)) > 0

    blocks = join_leaves(forest, rows, holds, max_rows)
    found = defaultdict(set)
    for leaf, block in enumerate(blocks.of_leaf):
        found[int(block)].add(leaf)
    assert {frozenset(leaves) for leaves in found.values()} == slow.join(forest, rows, holds, max_rows)
    assert blocks.rows.tolist() == [int(rows[sorted(found[block])].sum()) for block in range(len(blocks.rows))]
    if kind == "size":
        whole = np.bincount(stratum, weights=weight, minlength=3)
        assert all(holds(leaves) for leaves in found.values()) == all(whole >= 1 + seed % 12)


def test_sample_has_about_the_requested_size():
    keys = np.random.default_rng(0).normal(size=(200_000, 2)).view(np.uint64)
    for max_rows in (1_000, 10_000):
        rate = sample_rate(max_rows)
        assert sampled(hash_rows(keys, 1), rate).mean() == pytest.approx(rate, rel=0.1)
    assert sampled(hash_rows(keys, 1), sample_rate(100)).all()
    both = sampled(hash_rows(keys, 1), 0.1) & sampled(hash_rows(keys, 2), 0.1)
    assert both.mean() == pytest.approx(0.01, rel=0.2)  # another seed, another sample


# -- exact sums ------------------------------------------------------------------------------------------------

floats = st.floats(-1e150, 1e150)


@given(st.lists(st.tuples(floats, st.integers(1, 5)), min_size=1, max_size=30), st.integers(0, 9))
def test_sums_are_exact_in_any_order_and_any_parts(pairs, seed):
    values, count = np.array([v for v, _ in pairs]), np.array([c for _, c in pairs])
    assert exact_sum(values, count) == sum(Fraction(v) * c for v, c in pairs)
    order = np.random.default_rng(seed).permutation(len(values))
    low = float(values.min())
    whole = moments(values, count, low)
    half = len(values) // 2
    parts = [moments(values[part], count[part], low) for part in (order[:half], order[half:])]
    assert sum(parts, Moments(low)) == whole


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_moments_are_mean_and_deviation(values):
    low = min(values)
    found = moments(np.array([*values, np.nan]), np.ones(len(values) + 1, int), low)
    assert found.mean == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-9)
    assert found.deviation == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-9)


# -- releases --------------------------------------------------------------------------------------------------

METHODS = {
    "mdav": Mdav,
    "cbfs": Cbfs,
    "v-mdav": VMdav,
    "k-first": KFirst,
    "p-first": lambda **known: PFirst(effort=50, **known),
    "mdav, refined": lambda **known: Mdav(refine=True, effort=50, **known),
}


def released(table, method, *models, schema=SCHEMA, seed=0):
    return shoal.anonymize(table, shoal.Plan(schema, models, method, seed=seed))


def groups_of(table):
    groups = defaultdict(list)
    for row in table.to_pylist():
        groups[row["x"], row["y"], row["place"]].append(row["secret"])
    return list(groups.values())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_every_group_meets_the_models(method, model):
    models, holds = MODELS[model]
    for seed in range(4):
        table = mixed_table(160, seed, skewed=seed % 2 == 1)
        release = released(table, METHODS[method](block=24), *models, seed=seed)
        facts = release.figures["method"]
        assert facts["blocks"] > 3 or seed % 2 == 1  # if values follow the numbers, all blocks may have to be one
        assert facts["largest_block"] <= 24 or facts["joined_blocks"]
        groups = groups_of(release.table)
        assert min(map(len, groups)) >= 3
        assert all(holds(group, groups) for group in groups)
        before = Counter((row["secret"], row["note"]) for row in table.to_pylist())
        assert Counter((row["secret"], row["note"]) for row in release.table.to_pylist()) == before
        shuffled = table.take(np.random.default_rng(seed).permutation(160))
        again = released(shuffled, METHODS[method](block=24), *models, seed=seed)
        assert again.table.equals(release.table)
        assert again.figures["method"]["blocks"] == facts["blocks"]


@given(st.integers(0, 10_000), st.integers(8, 60), st.sampled_from(["mdav", "p-first"]), st.booleans())
@settings(max_examples=25)
def test_any_table_in_blocks_of_any_size(seed, block, method, skewed):
    table = mixed_table(90, seed, skewed)
    release = released(table, METHODS[method](block=block), *MODELS["p"][0], seed=seed)
    groups = groups_of(release.table)
    assert sum(map(len, groups)) == 90
    assert all(len(group) >= 3 and slow_models.p_sensitive(group, 2) for group in groups)


@pytest.mark.parametrize("method", METHODS)
def test_one_block_of_all_rows_changes_nothing(method):
    table = mixed_table(120, 1)
    models = MODELS["p"][0]
    alone = released(table, METHODS[method](), *models)
    for block in (120, 10_000):
        assert released(table, METHODS[method](block=block), *models).table.equals(alone.table)


def test_blocks_are_joined_if_values_are_rare():
    """Join blocks that do not meet the model by themselves.

    Below 80 every secret is the same, so no block there can have two values by itself.
    """
    x = np.arange(100.0)
    schema = Schema({"x": Column(Role.QUASI_IDENTIFIER), "secret": Column(Role.SENSITIVE)})
    table = pa.table({"x": x, "secret": np.where(x < 80, "a", np.where(x % 2 == 0, "b", "c"))})
    release = released(table, PFirst(block=16), shoal.models.KAnonymity(2), shoal.models.PSensitive(2), schema=schema)
    facts = release.figures["method"]
    assert facts["joined_blocks"] > 0
    assert facts["largest_block"] > 16
    assert release.figures["released"] == 100
    same = release.table.group_by("x").aggregate([("secret", "count_distinct")])
    assert min(same["secret_count_distinct"].to_pylist()) >= 2
    # without rare values nothing is joined
    table = table.set_column(1, "secret", pa.array(np.where(x % 2 == 0, "b", "c")))
    release = released(table, PFirst(block=16), shoal.models.KAnonymity(2), shoal.models.PSensitive(2), schema=schema)
    assert release.figures["method"]["joined_blocks"] == 0
    assert release.figures["method"]["largest_block"] <= 16


def test_equal_rows_stay_in_one_block():
    table = pa.table({"x": [5] * 90 + list(range(10))})
    schema = Schema({"x": Column(Role.QUASI_IDENTIFIER)})
    release = released(table, Mdav(block=20), shoal.models.KAnonymity(2), schema=schema)
    assert release.figures["method"]["largest_block"] >= 91
    assert release.figures["smallest_group"] >= 2


@pytest.mark.parametrize("method", [Mdav(block=20, strata=("place",)), PFirst(block=20, strata=("place",), effort=20)])
def test_strata_are_never_mixed(method):
    table = mixed_table(200, 3)
    release = released(table, method, shoal.models.KAnonymity(3), shoal.models.PSensitive(2))
    before, after = (Counter(t["place"].to_pylist()) for t in (table, release.table))
    assert after == before
    small = table.filter(pc.not_equal(table["place"], "s"))
    one = table.slice(0, 1).set_column(2, "place", pa.array(["s"]))
    with pytest.raises(shoal.errors.InfeasibleError, match="strat"):
        released(pa.concat_tables([small, one]), method, shoal.models.KAnonymity(3), shoal.models.PSensitive(2))
    # enough rows, but all of one value
    one_value = pc.if_else(pc.equal(table["place"], "p"), table["secret"][0], table["secret"])
    position = table.column_names.index("secret")
    with pytest.raises(shoal.errors.InfeasibleError, match="strat"):
        released(
            table.set_column(position, "secret", one_value),
            method,
            shoal.models.KAnonymity(3),
            shoal.models.PSensitive(2),
        )


@pytest.mark.parametrize("scale", ["rank", "winsorised", "standard"])
def test_scales_equal_reference(scale):
    """Equal up to rounding, also with ties, gaps and outliers."""
    from shoal.methods.microaggregation.points import point_column
    from shoal.schema import Flat
    from shoal.table.frequency_set import encode_column

    random = np.random.default_rng(2)
    values = [*random.normal(size=400).round(1).tolist(), 1e6, -999.0, None, None]
    dictionary, codes = encode_column(pa.chunked_array([pa.array(values)]), "x", 0)
    ladder = Flat().bind(dictionary.text, dictionary.missing)
    count = np.bincount(codes, minlength=dictionary.size)
    found = point_column(Mdav(scale=scale), dictionary, ladder, count)
    np.testing.assert_allclose(found.coordinates[codes], coordinates(values, scale), rtol=1e-9, atol=1e-9)


def test_groups_publish_as_the_plan_declares():
    table = mixed_table(200, 5).append_column("day", pa.array(np.arange(200), pa.int32()).cast(pa.date32()))
    schema = Schema({**SCHEMA.columns, "day": Column(Role.QUASI_IDENTIFIER)})
    method = Mdav(block=40, publish={"y": "median", "x": "range", "place": "mode"}, ranges="exact")
    release = released(table, method, shoal.models.KAnonymity(4), schema=schema)
    assert release.table.schema.field("day").type == pa.date32()
    assert release.table.schema.field("y").type == pa.int64()
    labels, values = set(release.table["x"].to_pylist()), {str(x) for x in table["x"].to_pylist()}
    assert {x for x in labels if x not in (None, "*") and ".." not in x} <= values
    assert any(".." in x for x in labels if x)
    assert set(release.table["place"].to_pylist()) <= set("pqrs")


def test_blocks_add_little_loss():
    """The loss beyond one block is that of groups at the borders."""
    random = np.random.default_rng(0)
    table = pa.table({f"x{i}": random.normal(size=4000) for i in range(3)})
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in table.column_names})
    one, several = (released(table, Mdav(block=b), shoal.models.KAnonymity(5), schema=schema) for b in (None, 1000))
    assert several.figures["method"]["blocks"] >= 4
    assert several.utility["sse_sst"] < 1.25 * one.utility["sse_sst"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mdav(block=0), "block"),
        (lambda: Mdav(block=True), "block"),
        (lambda: PFirst(block=10.5), "block"),
        (lambda: Univariate(block=1000), "univariate"),
        (lambda: shoal.Plan(SCHEMA, (shoal.models.KAnonymity(5),), Mdav(block=9)), "at least 10 rows"),
        (lambda: shoal.Plan(SCHEMA, (shoal.models.KAnonymity(5),), Mdav(block=18, k=10)), "at least 20 rows"),
    ],
)
def test_impossible_block_sizes(make, message):
    with pytest.raises(shoal.errors.PlanError, match=message):
        make()


def test_too_distant_numbers_are_refused():
    table = pa.table({"x": [1e300, -1e300] * 10})
    with pytest.raises(shoal.errors.PlanError, match="beyond 10"):
        released(table, Mdav(block=8), shoal.models.KAnonymity(2), schema=Schema({"x": Column(Role.QUASI_IDENTIFIER)}))


def test_blocks_in_a_plan_file():
    document = {
        "columns": {"x": {"role": "quasi-identifier"}},
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "mdav", "block": 8},
    }
    table = pa.table({"x": [float(i) for i in range(40)]})
    release = shoal.anonymize(table, document)
    assert release.figures["method"]["parameters"]["block"] == 8
    assert release.figures["method"]["blocks"] >= 5
