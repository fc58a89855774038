"""Microaggregation kernels against reference code and published figures.

The reference implementations are slow; invariants of the kernels are tested too.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from shoal.kernels.rules import (
    columns_of,
    count_rows,
    failing_groups,
    holds,
    make_evaluator,
    make_rules,
    max_group_count,
    shortfall,
    value_counts,
)
from shoal.methods.microaggregation.kernels import parallel_mdav
from shoal.methods.microaggregation.kernels import unassigned as pool_module
from shoal.methods.microaggregation.kernels.annealing_by_size import anneal_region, anneal_sized, pad
from shoal.methods.microaggregation.kernels.exact import best_partition
from shoal.methods.microaggregation.kernels.kdtree import compact_leaves, mark_removed, remove, summarise
from shoal.methods.microaggregation.kernels.mdav import cbfs, mdav, v_mdav
from shoal.methods.microaggregation.kernels.neighbours import nearest_squares
from shoal.methods.microaggregation.kernels.p_first import grow_until
from shoal.methods.microaggregation.kernels.refinement import refine_partition
from shoal.methods.microaggregation.kernels.unassigned import _outside, make_pool
from shoal.methods.microaggregation.kernels.univariate import (
    _shorten,
    cut_order,
    nearest_point_next,
    nearest_records,
    optimal_univariate,
    path_microaggregation,
)
from shoal.methods.microaggregation.neighbourhood_search import refine_sized
from shoal.runtime.search_clock import now
from shoal.runtime.threads import limit_threads
from shoal.table import rules as kinds
from shoal.table.rules import Rule
from tests.reference import microaggregation as reference
from tests.reference.bounds import least_partition, members

SHAPES = ["normal", "integer", "constant", "duplicated", "skewed", "tiny differences"]


def make_points(shape, n, d, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    if shape == "integer":
        points = rng.integers(-2, 3, size=(n, d)).astype(float)
    elif shape == "constant":
        points = np.full((n, d), 0.1)
    elif shape == "duplicated":
        points = points[rng.integers(0, max(1, n // 4), size=n)]
    elif shape == "skewed":
        points = np.exp(3 * points)
    elif shape == "tiny differences":
        points = 1e6 + 1e-9 * rng.integers(0, 5, size=(n, d))
        points[: n // 3] *= -1
    return np.ascontiguousarray(points)


def bound(codes, k, rules):
    """Return rules as arrays, and the columns of the codes.

    The rules are given as pairs of an attribute and a rule on it.
    """
    values = max(len(LABELS), int(codes.max(initial=0)) + 1)
    totals = [np.bincount(column[column >= 0], minlength=values) for column in codes.T]
    made = make_rules(k, totals, rules)
    return made, columns_of(codes, made)


def p_sensitive(codes, p):
    return [(a, Rule(kinds.DISTINCT, p)) for a in range(codes.shape[1])]


def p_first(points, codes, k, p, lacking=False):
    rules, columns = bound(codes, k, p_sensitive(codes, p))
    return grow_until(points, columns, rules, lacking)


def make_codes(n, attributes, values, missing, seed):
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.integers(0, values, (n, attributes)), rng.integers(0, values, (n, attributes)))
    codes[rng.random((n, attributes)) < missing] = -1
    return codes.astype(np.int32)


tables = st.builds(
    make_points, st.sampled_from(SHAPES), st.integers(1, 90), st.integers(1, 5), st.integers(0, 2**32 - 1)
)
thorough = settings(max_examples=150, deadline=None)


def census(columns):
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA is not set: the Census table is not at hand")
    path = Path(folder) / "casc" / "census.csv"
    if not path.exists():
        pytest.skip("the folder SHOAL_DATA has no casc/census.csv")
    return np.genfromtxt(path, delimiter=",", skip_header=1)[:, columns]


def standardise(table):
    return np.ascontiguousarray((table - table.mean(axis=0)) / table.std(axis=0, ddof=1))


def census_keys_and_codes():
    """Return key attributes and coded confidential attributes of Census.

    Six standardised key attributes, and three confidential ones in 15 categories of equal width (section 4).
    """
    table = census(slice(0, 9))
    confidential = table[:, 6:]
    low, high = confidential.min(axis=0), confidential.max(axis=0)
    codes = np.minimum(((confidential - low) / (high - low) * 15).astype(np.int32), 14)
    return standardise(table[:, :6]), np.ascontiguousarray(codes)


@thorough
@given(points=tables, k=st.integers(1, 7))
def test_mdav_matches_reference(points, k):
    np.testing.assert_array_equal(mdav(points, k), reference.mdav(points, k))


@thorough
@given(
    points=tables,
    k=st.integers(2, 7),
    share=st.sampled_from([0.05, 0.3, 1.0]),
    fringe=st.sampled_from([0.1, 0.5, 1.0]),
    far=st.integers(1, 3),
    spare=st.integers(0, 2),
    threads=st.integers(1, 2),
)
def test_mdav_in_rounds_matches_reference(points, k, share, fringe, far, spare, threads):
    """Compare small rounds: short candidate lists and uncertain fringes.

    The rounds have little work each, their lists are soon used up, and their fringes cannot be certain.
    """
    with pytest.MonkeyPatch.context() as patched, limit_threads(threads):
        patched.setattr(pool_module, "_MIN_RECORDS_FOR_FRINGE", 1)
        for name, value in {
            "_LEAST_ATTRIBUTES": 1, "MIN_RECORDS_FOR_ROUNDS": 1, "_FEWEST": 1,
            "_SHARE": share, "_FRINGE_SHARE": fringe, "_FAR": far, "_SPARE": spare,
        }.items():  # fmt: skip
            patched.setattr(parallel_mdav, name, value)
        np.testing.assert_array_equal(mdav(points, k), reference.mdav(points, k))


@pytest.mark.parametrize("shape", SHAPES)
def test_mdav_in_rounds_on_large_table(shape, monkeypatch):
    points, made = make_points(shape, 6_000, 5, seed=5), []
    take = parallel_mdav._run_round
    for name, value in {"MIN_RECORDS_FOR_ROUNDS": 500, "_FEWEST": 8, "_SHARE": 0.01}.items():
        monkeypatch.setattr(parallel_mdav, name, value)
    monkeypatch.setattr(
        parallel_mdav, "_run_round", lambda pool, listed, *rest: (take(pool, listed, *rest), made.append(listed))
    )
    np.testing.assert_array_equal(mdav(points, 4), reference.mdav(points, 4))
    pairs, used, near, far = sum(listed.counters for listed in made)
    assert used + near == 2 * pairs
    if shape == "normal":
        assert pairs > 300
        assert used > 4 * near  # predicted records are the needed ones
        assert pairs > 4 * far


@thorough
@given(points=tables, k=st.integers(1, 7))
def test_cbfs_matches_reference(points, k):
    np.testing.assert_array_equal(cbfs(points, k), reference.cbfs(points, k))


@thorough
@given(points=tables, k=st.integers(1, 7), gamma=st.sampled_from([0.0, 0.2, 0.9, 1.1, 2.0]))
def test_v_mdav_matches_reference(points, k, gamma):
    np.testing.assert_array_equal(v_mdav(points, k, gamma), reference.v_mdav(points, k, gamma))


@pytest.mark.parametrize("shape", SHAPES)
def test_large_tables_match_reference(shape):
    """Compare tables with enough records for a fringe and rebuilt trees."""
    points = make_points(shape, 6_000, 3, seed=5)
    np.testing.assert_array_equal(mdav(points, 4), reference.mdav(points, 4))
    np.testing.assert_array_equal(cbfs(points, 7), reference.cbfs(points, 7))
    np.testing.assert_array_equal(v_mdav(points[:3000], 7, 0.9), reference.v_mdav(points[:3000], 7, 0.9))


def test_kd_tree_built_by_threads_is_exact():
    points = make_points("normal", 40_000, 4, seed=6)
    np.testing.assert_array_equal(mdav(points, 200), reference.mdav(points, 200))


@thorough
@given(
    points=tables,
    k=st.integers(1, 7),
    p=st.integers(1, 4),
    lacking=st.booleans(),
    attributes=st.integers(1, 3),
    missing=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_p_first_matches_reference(points, k, p, lacking, attributes, missing, seed):
    codes = make_codes(len(points), attributes, 6, missing, seed)
    expected = reference.grow_until(points, codes, k, p_sensitive(codes, p), lacking)
    np.testing.assert_array_equal(p_first(points, codes, k, p, lacking), expected)


def test_p_first_with_more_values_than_bits():
    """Put 3000 values into the 1024 bits of a node.

    Subtrees may be searched in vain, but are never skipped wrongly.
    """
    points = make_points("normal", 500, 3, seed=8)
    codes = make_codes(500, 2, 1500, 0.0, seed=8)
    codes[::2] = 7
    expected = reference.grow_until(points, codes, 3, p_sensitive(codes, 3), True)
    np.testing.assert_array_equal(p_first(points, codes, 3, 3, True), expected)


LABELS = np.array([0, 0, 1, 1, 2, -1])
WEIGHTS = np.array([0, 1, 1, 2, 3, 3])
rules_without_labels = st.builds(
    Rule,
    kind=st.sampled_from(
        [kinds.DISTINCT, kinds.ENTROPY, kinds.RECURSIVE, kinds.EQUAL, kinds.SHARE, kinds.DISCLOSURE, kinds.LIKENESS]
    ),
    whole=st.integers(1, 3),
    real=st.sampled_from([0.25, 0.5, 0.6, 1.0, 2.0, 3.0]),
)
rules_with_labels = st.one_of(
    st.builds(Rule, st.just(kinds.CATEGORIES), st.integers(1, 3), labels=st.just(LABELS)),
    st.builds(Rule, st.just(kinds.WEIGHT), st.integers(1, 9), labels=st.just(WEIGHTS)),
)
models = st.lists(
    st.tuples(st.integers(0, 1), st.one_of(rules_without_labels, rules_with_labels)), min_size=1, max_size=3
)


@thorough
@given(rules=models, n=st.integers(1, 12), k=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_evaluator_matches_definitions(rules, n, k, seed):
    codes = make_codes(60, 2, 6, 0.2, seed)
    arrays, columns = bound(codes, k, rules)
    judge = make_evaluator(arrays)
    group = np.where(np.arange(60) < n, 0, 1).astype(np.int32)
    sizes, counts = count_rows(columns, group, 2, int(arrays.offsets[-1]))
    expected = n >= k and reference.all_rules_met(rules, codes, np.arange(n))
    assert holds(judge, sizes[0], counts[0]) == expected
    assert (shortfall(judge, sizes[0], counts[0]) == 0) == expected


@thorough
@given(points=tables, rules=models, k=st.integers(1, 5), lacking=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_grow_until_any_model_holds(points, rules, k, lacking, seed):
    codes = make_codes(len(points), 2, 6, 0.1, seed)
    arrays, columns = bound(codes, k, rules)
    group = grow_until(points, columns, arrays, lacking)
    assert set(group) == set(range(group.max() + 1))
    members = [np.flatnonzero(group == g) for g in range(group.max() + 1)]
    if len(points) >= k and reference.all_rules_met(rules, codes, np.arange(len(points))):
        assert all(len(rows) >= k and reference.all_rules_met(rules, codes, rows) for rows in members)
    else:
        assert len(members) == 1
    before_merging = reference.grow_until(points, codes, k, rules, lacking)
    merged = [set(group[before_merging == g]) for g in range(before_merging.max() + 1)]
    assert all(len(groups) == 1 for groups in merged)


@pytest.mark.parametrize(
    ("k", "p", "percent"),
    [
        *((3, 1, 3.69), (5, 1, 6.20), (7, 1, 7.93), (10, 1, 9.71)),
        *((3, 3, 23.13), (5, 3, 23.28), (7, 3, 22.31), (10, 3, 23.13)),
        *((5, 5, 47.15), (7, 5, 47.15), (10, 5, 47.15)),
        *((7, 7, 57.63), (10, 7, 57.63), (10, 10, 100.0)),
    ],
)
def test_domingo_ferrer_2007_table_2(k, p, percent):
    """Reproduce Table 2 of Domingo-Ferrer, Sebé and Solanas 2007.

    Its figures are cut, not rounded, to two decimals.
    """
    keys, codes = census_keys_and_codes()
    group = p_first(keys, codes, k, p)
    assert np.floor(100 * reference.loss(keys, group) + 1e-6) / 100 == pytest.approx(percent)
    if p == 1:
        np.testing.assert_array_equal(group, cbfs(keys, k))


@pytest.mark.parametrize(("p", "percent"), [(3, 23.952), (5, 36.567), (7, 58.847), (10, 89.650)])
def test_p_first_with_strict_contribution(p, percent):
    """Take the stricter reading of "contributes" in the paper."""
    keys, codes = census_keys_and_codes()
    assert reference.loss(keys, p_first(keys, codes, p, p, lacking=True)) == pytest.approx(percent, abs=5e-4)


@pytest.mark.parametrize(("k", "percent"), [(3, 5.692), (5, 9.088), (10, 14.156)])
def test_mdav_on_census(k, percent):
    """The figures usually reported for MDAV on Census, all 13 attributes."""
    points = standardise(census(slice(None)))
    assert reference.loss(points, mdav(points, k)) == pytest.approx(percent, abs=5e-4)


@pytest.mark.parametrize(("k", "percent"), [(3, 5.654), (5, 8.884), (10, 14.007)])
def test_cbfs_on_census(k, percent):
    points = standardise(census(slice(None)))
    assert reference.loss(points, cbfs(points, k)) == pytest.approx(percent, abs=5e-4)


def test_max_group_count():
    codes = np.array([[0], [0], [0], [0], [1], [1], [2], [-1]], np.int32)
    for p, expected in ((1, 4), (2, 3), (3, 1), (4, 0)):
        rules, columns = bound(codes, 2, p_sensitive(codes, p))
        assert max_group_count(rules, value_counts(columns, rules), 8) == expected


def test_max_group_count_with_categories_and_other_rules():
    codes = np.array([[0], [0], [0], [1], [1], [2], [3], [-1]], np.int32)
    labels = np.array([0, 0, 1, -1, *[-1] * (max(len(LABELS), 4) - 4)], np.int64)  # 5 rows, 1 row, and no category
    for p, expected in ((1, 4), (2, 1), (3, 0)):
        rules, columns = bound(codes, 2, [(0, Rule(kinds.CATEGORIES, p, labels=labels))])
        assert max_group_count(rules, value_counts(columns, rules), 8) == expected
    others = [(0, Rule(kinds.RECURSIVE, 9, 2.0)), (0, Rule(kinds.DISTINCT, 2))]
    rules, columns = bound(codes, 2, others)
    assert (
        max_group_count(rules, value_counts(columns, rules), 8) == 3
    )  # recursive diversity bounds no number of groups


def test_fringe_outside_of_radius():
    points = make_points("normal", 100, 2, 4)
    tree = make_pool(points, 2).tree
    far = (points**2).sum(axis=1)
    for cut in (0.0, 1.0, 4.0, 99.0):
        found = _outside(tree, np.zeros(2), cut, np.empty(tree.block.shape[2]), 0, len(tree.filled))
        assert sorted(found.tolist()) == np.flatnonzero(far > cut).tolist()


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # random numbers wrap on purpose
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("p", [1, 2])
def test_short_refinement_keeps_rules_and_reduces_loss(seed, p):
    """Use a small table and a small number of steps.

    The test is then quick without a compiler too.
    """
    points = make_points("normal", 14, 2, seed)
    codes = (np.arange(14, dtype=np.int32) % 3).reshape(-1, 1)
    rules, columns = bound(codes, 3, p_sensitive(codes, p) if p > 1 else [])
    group = np.asarray([0] * 7 + [1] * 7, np.int32)
    refined = refine_partition(points, columns, rules, group, steps=400, seed=seed)
    members = [np.flatnonzero(refined == number) for number in range(refined.max() + 1)]
    assert min(map(len, members)) >= 3
    assert min(len(set(codes[rows, 0].tolist())) for rows in members) >= p
    assert len(members) > 2  # smaller groups lose less
    assert reference.loss(points, refined) < reference.loss(points, group)
    # no record fits better into another group, if its group keeps k records and p values without it
    for number, rows in enumerate(members):
        for row in rows:
            rest = [other for other in rows if other != row]
            if len(rest) < 3 or len(set(codes[rest, 0].tolist())) < p:
                continue
            for other in set(range(len(members))) - {number}:
                moved = refined.copy()
                moved[row] = other
                assert reference.loss(points, moved) >= reference.loss(points, refined) - 1e-9


@njit(cache=True)
def remove_compiled(tree, record, row):
    """Call a compiled function that has no Python entry point."""
    remove(tree, record, row)


def test_kd_tree_after_removals():
    """Compare slots and boxes with the remaining records.

    Free slots repeat slot 0; boxes are those of the records that are left.
    """
    points = make_points("normal", 90, 2, 3)
    pool = make_pool(points, 2)
    tree, gone = pool.tree, set()
    for row in [int(tree.row[leaf, 0]) for leaf in range(len(tree.filled))] + list(range(0, 90, 3)):
        if row in gone:
            continue
        remove_compiled(tree, points[row], np.int64(row))
        gone.add(row)
        for leaf, filled in enumerate(tree.filled):
            mine = tree.row[leaf, :filled]
            assert not gone & set(mine.tolist())
            np.testing.assert_array_equal(tree.block[leaf, :2, :filled].T, points[mine])
            if filled:
                np.testing.assert_array_equal(
                    tree.block[leaf, :, filled:], tree.block[leaf, :, :1].repeat(32 - filled, 1)
                )
                box = tree.box[len(tree.filled) + leaf]
                np.testing.assert_array_equal(tree.bush[leaf // 16, :, leaf % 16], box)
                np.testing.assert_array_equal(box[:4], [*points[mine].min(axis=0), *points[mine].max(axis=0)])


@njit(cache=True)
def mark_removed_compiled(tree, row):
    """Call a compiled function that has no Python entry point."""
    mark_removed(tree, row)


def test_compacted_tree_equals_tree_after_removals():
    """Removing records one by one and compacting later give one tree."""
    points = make_points("normal", 90, 2, 3)
    one, other = make_pool(points, 2).tree, make_pool(points, 2).tree
    gone = [int(row) for row in one.row[0, : one.filled[0]]] + list(range(0, 90, 3))
    dirty = np.zeros(len(one.filled), np.uint8)
    for row in dict.fromkeys(gone):
        dirty[other.slot_of_row[row] // 32] = 1
        remove_compiled(one, points[row], np.int64(row))
        mark_removed_compiled(other, row)
    for root in (2, 3):
        compact_leaves(other, dirty, root)
    summarise(other, 2)
    assert not dirty.any()
    for name in ("filled", "first", "box", "bush"):
        np.testing.assert_array_equal(getattr(one, name)[1:], getattr(other, name)[1:])
    for leaf, filled in enumerate(other.filled):
        mine = other.row[leaf, :filled]
        assert set(mine.tolist()) == set(one.row[leaf, :filled].tolist())
        np.testing.assert_array_equal(other.slot_of_row[mine], 32 * leaf + np.arange(filled))
        np.testing.assert_array_equal(other.block[leaf, :2, :filled].T, points[mine])
        if filled:
            np.testing.assert_array_equal(
                other.block[leaf, :, filled:], other.block[leaf, :, :1].repeat(32 - filled, 1)
            )


def test_v_mdav_after_first_group_over_half():
    """Continue with the rest after a first group of 119 of 180 records."""
    group = v_mdav(make_points("normal", 180, 2, 1), 60, 1e9)
    assert sorted(np.bincount(group).tolist()) == [61, 119]


def test_path_shortening_removes_crossings():
    """Shorten paths; the result is never longer than the input."""
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    for points, path in ((corners, np.arange(6)), (make_points("normal", 60, 2, 5), np.arange(60))):
        before = np.hypot(*np.diff(points[path], axis=0).T).sum()
        shortened = path.astype(np.int64)
        _shorten(points, shortened, nearest_records(points, min(8, len(points) - 1)), 50)
        assert sorted(shortened.tolist()) == path.tolist()
        assert np.hypot(*np.diff(points[shortened], axis=0).T).sum() < 0.95 * before


@thorough
@given(
    points=st.builds(make_points, st.sampled_from(SHAPES[:5]), st.integers(1, 11), st.integers(1, 3), st.integers(0)),
    k=st.integers(1, 4),
    shuffle=st.randoms(use_true_random=False),
)
def test_cut_order_is_optimal(points, k, shuffle):
    order = np.array(shuffle.sample(range(len(points)), len(points)))
    group = cut_order(points, order, k)
    assert (np.diff(group[order]) >= 0).all()
    assert np.bincount(group).min() >= min(k, len(points))
    cost = sum(reference.group_cost(points[group == g]) for g in np.unique(group))
    if len(points) >= k:
        assert cost == pytest.approx(reference.cheapest_cut(points, order, k), rel=1e-9, abs=1e-9)


def test_univariate_microaggregation_is_optimal():
    values = np.array([3.0, 9.0, 1.0, 4.0, 10.0, 1.5, 20.0, 8.0])
    assert optimal_univariate(values, 2).tolist() == [1, 2, 0, 1, 3, 0, 3, 2]


@thorough
@given(points=tables)
def test_nearest_point_next_matches_reference(points):
    np.testing.assert_array_equal(nearest_point_next(points), reference.nearest_point_next(points))


@settings(max_examples=40, deadline=None)
@given(points=tables, k=st.integers(1, 6))
def test_path_group_sizes(points, k):
    sizes = np.bincount(path_microaggregation(points, k))
    assert sizes.sum() == len(points)
    assert len(sizes) == 1 or k <= sizes.min() <= sizes.max() < 2 * k


def groups_meet_rules(columns, rules, group):
    sizes, counts = count_rows(columns, group, group.max() + 1, int(rules.offsets[-1]))
    return not failing_groups(make_evaluator(rules), sizes, counts).any()


@thorough
@given(points=tables, rules=st.one_of(st.just([]), models), k=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_refinement_keeps_model_without_more_loss(points, rules, k, seed):
    codes = make_codes(len(points), 2, 6, 0.1, seed)
    arrays, columns = bound(codes, k, rules)
    group = grow_until(points, columns, arrays, lacking=True)
    if not groups_meet_rules(columns, arrays, group):
        return
    refined = refine_partition(points, columns, arrays, group, steps=2_000, seed=seed)
    assert set(refined) == set(range(refined.max() + 1))
    assert groups_meet_rules(columns, arrays, refined)
    before = sum(reference.group_cost(points[group == g]) for g in np.unique(group))
    after = sum(reference.group_cost(points[refined == g]) for g in np.unique(refined))
    assert after <= before * (1 + 1e-9) + 1e-9
    np.testing.assert_array_equal(refined, refine_partition(points, columns, arrays, group, steps=2_000, seed=seed))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 300), d=st.integers(1, 6), wanted=st.integers(1, 12), shape=st.sampled_from(SHAPES),
    threads=st.sampled_from([1, 3]), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_nearest_distances_match_scan(n, d, wanted, shape, threads, seed):
    points = make_points(shape, n, d, seed)
    with limit_threads(threads):
        found = nearest_squares(points, wanted)
    distances = np.zeros((n, n))
    for column in points.T:
        distances += (column[:, None] - column) ** 2
    np.fill_diagonal(distances, np.inf)
    assert found.shape == (n, min(wanted, n - 1))
    np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, : found.shape[1]], rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(8, 40), d=st.integers(1, 6), k=st.integers(2, 5), seed=st.integers(0, 2**32 - 1))
def test_annealing_by_size_matches_reference(n, d, k, seed):
    points = make_points("normal", max(n, 3 * k), d, seed)
    near = nearest_records(points, 9)
    scale = np.random.default_rng(seed).uniform(0.2, 2, len(points))
    group, heats = mdav(points, k), (2.0, 0.2)
    groups = int(group.max()) + 1
    found = anneal_sized(pad(points), group, groups, near, scale, k, heats, 300, seed)
    slow = reference.anneal_sized(points, group, groups, near.tolist(), scale, k, heats, 300, seed)
    np.testing.assert_array_equal(found, slow)
    assert np.bincount(found)[np.unique(found)].min() >= k


@thorough
@given(points=tables, k=st.integers(2, 6), seed=st.integers(0, 2**32 - 1))
def test_region_annealing_keeps_size_without_more_loss(points, k, seed):
    if len(points) < 2 * k:
        return
    group = mdav(points, k)
    found = anneal_region(pad(points), group, int(group.max()) + 1, k, 16, (0.7, 0.03), 2_000, seed)
    assert np.bincount(found)[np.unique(found)].min() >= k
    before, after = (sum(reference.group_cost(points[g == one]) for one in np.unique(g)) for g in (group, found))
    assert after <= before * (1 + 1e-9)
    assert (found == group).all() or after < before


@settings(max_examples=30, deadline=None)
@given(points=tables, k=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_deep_refinement_independent_of_threads(points, k, seed):
    """Refine with one and three threads; sizes stay and loss does not grow."""
    rules, group = make_rules(k, [], []), cbfs(points, k)
    with limit_threads(1):
        alone = refine_sized(points, rules, group, 3_000, seed)
    with limit_threads(3):
        np.testing.assert_array_equal(alone, refine_sized(points, rules, group, 3_000, seed))
    assert len(points) < k or np.bincount(alone).min() >= k
    before, after = (sum(reference.group_cost(points[g == one]) for one in np.unique(g)) for g in (group, alone))
    assert after <= before * (1 + 1e-9) + 1e-9


def test_deep_refinement_ends_in_time():
    points = make_points("normal", 2_000, 5, 1)
    rules, group = make_rules(4, [], []), mdav(points, 4)
    refine_sized(points, rules, group, 2_000, 1)  # compiles
    start = now()
    found = refine_sized(points, rules, group, 2_000_000_000, 1, start + 1.0)  # minutes, if nothing ended it
    assert now() - start < 5
    assert reference.loss(points, found) < reference.loss(points, group)


def test_deep_refinement_optimal_in_one_column():
    values = np.random.default_rng(3).normal(size=60)
    group = refine_sized(values[:, None].copy(), make_rules(4, [], []), mdav(values[:, None].copy(), 4), 100, 1)
    np.testing.assert_array_equal(group, optimal_univariate(values, 4))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 9), d=st.integers(1, 3), rules=st.one_of(st.just([]), models), k=st.integers(1, 4),
    shape=st.sampled_from(SHAPES[:-1]), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_best_partition_of_small_table(n, d, rules, k, shape, seed):
    points, codes = make_points(shape, n, d, seed), make_codes(n, 2, 6, 0.1, seed)
    arrays, columns = bound(codes, k, rules)
    judge = make_evaluator(arrays)

    def is_allowed(chosen):
        rows = members(chosen)
        return len(rows) >= k and reference.all_rules_met(rules, codes, rows)

    least = least_partition(2**n - 1, lambda chosen: reference.group_cost(points[members(chosen)]), is_allowed)
    group = best_partition(points, columns, judge, int(arrays.offsets[-1]))
    if least == np.inf:
        assert len(group) == 0
        return
    assert groups_meet_rules(columns, arrays, group)
    found = sum(reference.group_cost(points[group == one]) for one in np.unique(group))
    assert found == pytest.approx(least, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("k", "percent"), [(3, 4.77), (5, 7.40), (10, 11.52)])
def test_deep_refinement_on_census(k, percent):
    points = standardise(census(slice(None)))
    group = refine_sized(points, make_rules(k, [], []), mdav(points, k), 10_000_000, 1)
    assert reference.loss(points, group) <= percent
    assert np.bincount(group).min() >= k


@pytest.mark.parametrize(("k", "percent"), [(3, 5.10), (5, 7.95), (10, 12.20)])
def test_refinement_on_census(k, percent):
    points = standardise(census(slice(None)))
    none = np.empty((len(points), 0), np.int32)
    group = refine_partition(points, none, make_rules(k, [], []), cbfs(points, k), steps=1_000_000, seed=1)
    assert reference.loss(points, group) <= percent
    assert np.bincount(group).min() >= k


@pytest.mark.parametrize(("p", "percent"), [(3, 14), (5, 25), (7, 36), (10, 60)])
def test_p_sensitive_refinement_on_census(p, percent):
    keys, codes = census_keys_and_codes()
    rules, columns = bound(codes, p, p_sensitive(codes, p))
    group = refine_partition(keys, columns, rules, p_first(keys, codes, p, p), steps=2_000_000, seed=1)
    assert reference.loss(keys, group) <= percent
    for g in range(group.max() + 1):
        assert all(len(set(codes[group == g, a])) >= p for a in range(3))
