"""Kernels on tables of a few rows against slow references.

They are quick without the compiler, too, so that injected faults reach them.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import shoal
from shoal.bounds.kernels.nearest import make_boxes, nearest_row_distances
from shoal.kernels.column_subsets import count_sets, hide_rare
from shoal.kernels.rules import make_evaluator, make_rules, make_tally, shortfall
from shoal.methods.full_domain.kernels import branch_and_bound, judging, lattice
from shoal.methods.local.kernels.stars import find_matches
from shoal.methods.microaggregation.kernels.annealing import anneal, make_partners
from shoal.methods.microaggregation.kernels.descent import _dissolve_groups, _improve_records
from shoal.methods.microaggregation.kernels.partition import make_partition
from shoal.methods.microaggregation.kernels.univariate import nearest_records
from shoal.methods.patterns.kernels.finding import find_patterns
from shoal.schema import Column, Role, Schema
from shoal.table import cell_suppression as hidings
from shoal.table import rules as kinds
from shoal.table.cell_suppression import FAILS, HIDE, HOLDS, LOOK, NOTE, UNKNOWN
from shoal.table.rules import Rule
from tests.reference import bounds as slow_bounds
from tests.reference import full_domain as slow_lattice
from tests.reference import known as slow_facts

quick = settings(max_examples=40)
seeds = st.integers(0, 2**32 - 1)
wraps = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # keys overflow by design


# -- distances -----------------------------------------------------------------------------------------


@quick
@given(seeds, st.integers(1, 40), st.integers(1, 3), st.integers(1, 5))
def test_nearest_rows_match_all_pairs(seed, rows, columns, others):
    rng = np.random.default_rng(seed)
    points, copies = rng.integers(0, 6, (rows, columns)).astype(float), rng.integers(1, 4, rows)
    top = rng.choice([1.0, 2.5, 9.0], columns)
    boxes, order = make_boxes(points, copies)
    found = np.empty(rows)
    nearest_row_distances(boxes, top, others, found)
    expected = slow_bounds.nearest_row_distances(points[order], copies[order], top, others)
    assert found.tolist() == expected


# -- sets of columns -----------------------------------------------------------------------------------


def random_cells(rng):
    """Random cells, with sets of two columns in order.

    The last code of a column shows nothing.
    """
    columns, rows = int(rng.integers(2, 5)), int(rng.integers(1, 12))
    sizes = rng.integers(1, 4, columns)
    cells = np.stack([rng.integers(0, size + (rng.random() < 0.6), rows) for size in sizes]).astype(np.int32)
    return cells, sizes, rng.integers(1, 4, rows), np.asarray(list(combinations(range(columns), 2)), np.int64)


def as_rows(cells, sizes, nothing):
    return [[nothing if cell == size else int(cell) for cell, size in zip(row, sizes, strict=True)] for row in cells.T]


@quick
@given(seeds, st.sampled_from([5, 9, 99]))
def test_counts_of_column_sets_match_the_reference(seed, capacity):
    rng = np.random.default_rng(seed)
    cells, sizes, counts, sets = random_cells(rng)
    known = np.stack([rng.integers(0, size, 5) for size in sizes]).astype(np.int32)
    smallest, fewest = np.zeros((2, len(sets)), np.int64)
    count_sets(cells, sizes, counts, known, (cells == sizes[:, None]).any(axis=1), sets, capacity, smallest, fewest)
    released = [row for row, n in zip(as_rows(cells, sizes, "*"), counts, strict=True) for _ in range(n)]
    for s, chosen in enumerate(sets.tolist()):
        if np.prod(sizes[chosen] + 1) > capacity:
            assert (smallest[s], fewest[s]) == (-1, -1)
            continue
        groups = slow_facts.groups(released, released, chosen)
        assert smallest[s] == min(map(len, groups), default=0)
        assert fewest[s] == slow_facts.fewest_rows(known.T.tolist(), released, [chosen])


@quick
@given(seeds, st.integers(2, 4), st.sampled_from([1, 2, 3]), st.sampled_from([0, 20, 999]), st.sampled_from([1, 3, 99]))
def test_hidden_rare_combinations_match_the_reference(seed, least, width, stored, divisor):
    """Any mode in any order, with cells hidden in between.

    The result is the same however counts are stored.
    """
    rng = np.random.default_rng(seed)
    codes, sizes, counts, _ = random_cells(rng)
    sets = np.asarray(list(combinations(range(len(sizes)), min(width, len(sizes)))), np.int64)
    cells, clipped = hidings.make_cell_state(codes), hidings.clip_counts(counts, least)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hidings, "MAX_STORED_COUNTS", stored)
        patch.setattr("shoal.kernels.column_subsets.RECOUNT_DIVISOR", divisor)  # effective without the compiler only
        slots = np.full(len(sets), -1, np.int64)
        tables = hidings.make_subset_counts(
            sizes.tolist(), {tuple(c): s for s, c in enumerate(sets.tolist())}, slots, 999
        )
        often, cost = np.zeros(codes.T.shape, np.float32), rng.choice([1.0, 2.0, 3.0], len(sizes))
        rows, marks = as_rows(codes, sizes, None), often.tolist()
        for mode in rng.choice([LOOK, NOTE, HIDE, HIDE], 6):
            some = np.flatnonzero(rng.random(len(sets)) < 0.8)
            found = np.full(len(some), 9, np.int8)
            hide_rare(
                cells, sizes, clipped, sets[some], some, np.full(len(some), least), often, cost, int(mode), tables, 999,
                found,
            )  # fmt: skip
            verdicts = slow_facts.hide_rare(
                rows, counts, sets[some].tolist(), [least] * len(some), marks, cost,
                noting=mode != LOOK, hiding=mode == HIDE,
            )  # fmt: skip
            assert found.tolist() == [HOLDS if verdict else FAILS for verdict in verdicts]
            assert as_rows(cells.now, sizes, None) == rows
            assert often.tolist() == marks
            i, j = int(rng.integers(len(rows))), int(rng.integers(len(sizes)))
            if rows[i][j] is not None:
                rows[i][j] = None
                cells.now[j, i], cells.when[j, i], cells.row[j, cells.length[j]] = sizes[j], cells.length[j], i
                cells.length[j] += 1


def test_set_with_a_too_large_table_is_left_undecided():
    """The verdict is unknown, so that other code decides."""
    sizes, one = np.asarray([4, 4]), np.ones(1, np.int32)
    for capacity, verdict in ((24, UNKNOWN), (25, FAILS)):
        found, slots = np.zeros(1, np.int8), np.full(1, -1, np.int64)
        hide_rare(
            hidings.make_cell_state(np.zeros((2, 1), np.int32)), sizes, one, np.asarray([[0, 1]]), np.asarray([0]),
            np.asarray([2]), np.zeros((1, 2), np.float32), np.ones(2), LOOK,
            hidings.make_subset_counts([4, 4], {(0, 1): 0}, slots, capacity), capacity, found,
        )  # fmt: skip
        assert found.tolist() == [verdict]


def test_counts_with_possible_overflow_are_not_clipped():
    assert hidings.clip_counts(np.asarray([1, 7, 10**12]), 5).tolist() == [1, 5, 5]
    assert hidings.clip_counts(np.ones(2, np.int64), 2**29) is None


@wraps
@quick
@given(seeds, st.integers(1, 9))
def test_rows_matching_visible_cells_are_found(seed, rows):
    """Find the rows that agree with the visible cells of each unit."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (rows, 3)).astype(np.int32)
    units = np.flatnonzero(rng.random(rows) < 0.8)
    visible = np.flatnonzero(rng.random(3) < 0.7)
    found, ends = find_matches(codes, units, visible)
    for unit, (start, stop) in zip(units, ends, strict=True):
        matches = (codes[:, visible] == codes[unit, visible]).all(axis=1)
        assert found[start:stop].tolist() == np.flatnonzero(matches).tolist()


# -- lattices ------------------------------------------------------------------------------------------

LADDERS = [[[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]], [[0, 1, 2], [0, 0, 1], [0, 0, 0]], [[0, 1], [0, 0], [0, 0]]]
LEVELS = [[np.asarray(codes) for codes in ladder] for ladder in LADDERS]


def random_node(rng, rows):
    """Codes at level 0, counts, and a node."""
    codes = np.stack([rng.integers(0, len(ladder[0]), rows) for ladder in LADDERS]).astype(np.int32)
    return codes, rng.integers(1, 5, rows), rng.integers(0, 3, len(LADDERS))


@quick
@given(seeds, st.integers(1, 20))
def test_groups_of_a_coarser_node_match_its_labels(seed, rows):
    codes, counts, node = random_node(np.random.default_rng(seed), rows)
    labels = [tuple(int(LEVELS[a][level][row[a]]) for a, level in enumerate(node)) for row in codes.T]
    expected = {}
    for label, count in zip(labels, counts.tolist(), strict=True):
        expected[label] = expected.get(label, 0) + count
    lifts, scratch = lattice.make_lifts(LEVELS), lattice.make_roll_scratch(rows)
    out_codes, out_counts = np.empty_like(codes), np.empty_like(counts)
    for _ in range(2):  # leftovers in scratch memory have no effect
        groups = lattice.roll_up(codes, counts, np.zeros(3, np.int64), node, lifts, scratch, out_codes, out_counts)
        assert list(map(tuple, out_codes[:, :groups].T.tolist())) == list(expected)
        assert out_counts[:groups].tolist() == list(expected.values())


@wraps
@quick
@given(seeds, st.integers(1, 12), st.integers(1, 9))
def test_small_groups_and_released_losses_by_keys(seed, rows, least):
    """Count small groups by keys and sum the losses of the others."""
    rng = np.random.default_rng(seed)
    codes, counts, _ = random_node(rng, rows)
    at = np.zeros((3, 3), np.int64)
    numbers, cost, drawn = [], [], rng.integers(0, 2**64, 99, dtype=np.uint64)
    for a, ladder in enumerate(LADDERS):
        for level, labels in enumerate(ladder):
            at[a, level] = len(numbers)
            numbers += [drawn[9 * a + 3 * level + label] for label in labels]
            cost += [float(level + label) for label in labels]
    numbers, cost = np.asarray(numbers, np.uint64), np.asarray(cost)
    whole = np.asarray([[(cost[at[a, level] + codes[a]] * counts).sum() for level in range(3)] for a in range(3)])
    keys = sum(numbers[at[a, 0] + codes[a]] for a in range(3))
    memory = branch_and_bound.Keys(
        np.zeros(3, np.int64), keys, np.zeros(rows, np.int32), np.zeros(32, np.uint64), np.zeros(32, np.int64)
    )
    for _ in range(3):
        node = rng.integers(0, 3, 3)
        labels = [tuple(int(LEVELS[a][level][row[a]]) for a, level in enumerate(node)) for row in codes.T]
        small = branch_and_bound.small_rows(codes, counts, numbers, at, node, least, memory)
        assert small == slow_lattice.rows_in_small_groups(labels, counts.tolist(), least)
        sums = np.empty(3)
        branch_and_bound.released_sums(codes, counts, cost, at, whole, least, memory, sums)
        released = [i for i in range(rows) if sum(counts[j] for j in range(rows) if labels[j] == labels[i]) >= least]
        assert sums.tolist() == [
            sum(counts[i] * cost[at[a, node[a]] + codes[a, i]] for i in released) for a in range(3)
        ]


def one_box(size, high, bound):
    boxes = branch_and_bound.NodeBoxes(
        np.zeros((size, 2), np.int16), np.zeros((size, 2), np.int16), np.zeros(size), np.arange(size, dtype=np.int32),
        np.ones(1, np.int64),
    )  # fmt: skip
    boxes.high[0], boxes.bound[0] = high, bound
    return boxes


def test_boxes_are_cut_until_a_node_must_be_evaluated():
    parts = np.asarray([[0.0, 1.0, 3.0, 9.0], [0.0, 2.0, 4.0, 9.0]])
    assert [
        branch_and_bound.bound_of(np.asarray([2, 1], np.int16), parts, how)
        for how in (branch_and_bound.ADDED, branch_and_bound.LARGEST)
    ] == (pytest.approx([5.0, 3.0]))
    assert branch_and_bound.bound_of(np.asarray([2, 1], np.int16), parts, branch_and_bound.GEOMETRIC) == pytest.approx(
        np.expm1(5.0)
    )
    failed, known = np.zeros((4, 2), np.int16), 0
    assert (
        branch_and_bound.tighten(one_box(9, (2, 2), 0.0), failed, known, parts, branch_and_bound.ADDED, 5.0, 3)
        == branch_and_bound.LOOK
    )
    assert (
        branch_and_bound.tighten(one_box(9, (2, 2), 5.0), failed, known, parts, branch_and_bound.ADDED, 5.0, 3)
        == branch_and_bound.DONE
    )
    for node in ((0, 2), (1, 1)):
        known = branch_and_bound.add_failed(failed, known, np.asarray(node))
    assert (
        branch_and_bound.tighten(one_box(2, (2, 2), 0.0), failed, known, parts, branch_and_bound.ADDED, 5.0, 3)
        == branch_and_bound.FULL
    )
    assert (
        branch_and_bound.tighten(one_box(9, (2, 2), 0.0), failed, known, parts, branch_and_bound.ADDED, 9.0, 1)
        == branch_and_bound.MORE
    )
    boxes = one_box(9, (2, 2), 0.0)
    assert (
        branch_and_bound.tighten(boxes, failed, known, parts, branch_and_bound.ADDED, 9.0, 9) == branch_and_bound.LOOK
    )
    inside = [
        (a, b) for box in boxes.heap[: boxes.size[0]] for a in range(boxes.low[box, 0], boxes.high[box, 0] + 1)
        for b in range(boxes.low[box, 1], boxes.high[box, 1] + 1)
    ]  # fmt: skip
    assert sorted(inside) == [(0, 2), (1, 2), (2, 0), (2, 1), (2, 2)]
    assert boxes.low[boxes.heap[0]].tolist() == [2, 0]
    boxes = one_box(9, (1, 1), 0.0)
    assert (
        branch_and_bound.tighten(boxes, failed, known, parts, branch_and_bound.ADDED, 9.0, 9) == branch_and_bound.DONE
    )
    assert boxes.size[0] == 0


@quick
@given(seeds, st.integers(1, 6), st.integers(1, 4), st.integers(1, 5))
def test_histograms_are_rolled_up_and_judged(seed, finer, groups, least):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (finer, 5))
    group = np.concatenate([np.arange(groups), rng.integers(0, groups, finer)])[-finer:]
    entries = [(g, column) for g in range(finer) for column in range(5) if counts[g, column]]
    source = judging.Histograms(
        np.searchsorted([g for g, _ in entries], np.arange(finer + 1)),
        np.asarray([column for _, column in entries], np.int32),
        np.asarray([counts[one] for one in entries], np.int64),
    )
    sums = np.stack([counts[group == g].sum(axis=0) for g in range(groups)])
    sizes = sums[:, :3].sum(axis=1) + rng.integers(0, 2, groups)  # some rows have no known value
    rules = make_rules(least, [sums[:, :3].sum(axis=0), sums[:, 3:].sum(axis=0)], [(0, Rule(kinds.DISTINCT, 2))])
    fine = (sizes >= least) & ((sums[:, :3] > 0).sum(axis=1) >= 2)
    out = judging.Histograms(
        np.zeros(groups + 1, np.int64), np.zeros(len(entries), np.int32), np.zeros(len(entries), np.int64)
    )
    state, scratch = np.zeros(groups, np.int8), np.zeros((2, max(finer, groups) + 1), np.int64)
    arguments = (source, group, sizes, rules, make_tally(rules), 10**6, np.zeros(2), scratch, out, state)
    assert judging.evaluate_groups(*arguments) == (sizes[~fine].sum(), sizes[~fine].sum(), 0, True)
    assert (state == judging.HOLDS).tolist() == fine.tolist()
    for g in range(groups):
        mine = slice(out.start[g], out.start[g + 1])
        listed = dict(zip(out.column[mine].tolist(), out.rows[mine].tolist(), strict=True))
        assert listed == {column: int(n) for column, n in enumerate(sums[g]) if n}


# -- rules ---------------------------------------------------------------------------------------------


def test_shortfall_of_a_group():
    counts = np.asarray([5, 1, 2, 0])
    table = np.asarray([10, 10, 10, 10])
    for rule, deficit in (
        (Rule(kinds.RECURSIVE, 2, 1.0), (5 - 1.0 * 3 + 1) / 6),
        (Rule(kinds.RECURSIVE, 3, 2.0), (5 - 2.0 * 1 + 1) / 6),
        (Rule(kinds.RECURSIVE, 2, 2.0), 0.0),
        (Rule(kinds.DISTINCT, 5), 2.0),
        (Rule(kinds.SHARE, 0, 0.5), 5 / 8 - 0.5),
        (Rule(kinds.EQUAL, 0, 0.25), 5 / 8 - 1 / 4 - 0.25),
        (Rule(kinds.EQUAL, 0, 0.5), 0.0),
        (Rule(kinds.CATEGORIES, 3, labels=np.asarray([0, 0, 1, 2])), 1.0),
        (Rule(kinds.WEIGHT, 10, labels=np.asarray([0, 1, 2, 3])), (10 - 5) / 10),
        (Rule(kinds.ENTROPY, 0, 4.0), np.log(4) + sum(x * np.log(x) for x in (5 / 8, 1 / 8, 2 / 8))),
        (Rule(kinds.LIKENESS, 0, 1.0), 5 / 8 * 4 - 1 - 1.0),
    ):
        judge = make_evaluator(make_rules(10, [table], [(0, rule)]))
        for _ in range(2):  # scratch memory is reset afterwards
            assert shortfall(judge, 8, counts) == pytest.approx(2 + deficit, abs=1e-12), rule


# -- microaggregation ----------------------------------------------------------------------------------


@njit(cache=True)
def improve_once(partition, judge, near, awake):
    """Give an inner kernel an entry point for Python.

    Functions that only compiled code calls have none.
    """
    return _improve_records(partition, judge, near, awake)


@njit(cache=True)
def dissolve(partition, judge, near, awake):
    """Give an inner kernel an entry point for Python, as above."""
    return _dissolve_groups(partition, judge, near, awake)


def partition_of(points, group, k):
    none = np.empty((len(points), 0), np.int32)
    judge = make_evaluator(make_rules(k, [], []))
    return make_partition(points, none, judge, np.asarray(group, np.int32), len(points) // k + 1), judge


def test_records_without_a_better_group_stay():
    points = np.asarray([[0.0], [0.1], [5.0], [5.1]])
    partition, judge = partition_of(points, [0, 0, 1, 1], 2)
    awake = np.asarray([True, True, True, False])
    assert improve_once(partition, judge, nearest_records(points, 3), awake) == 0
    assert awake.tolist() == [False] * 4


def test_group_of_distant_records_is_dissolved():
    """Its records are nearer to those of other groups."""
    points = np.asarray([[0.0], [0.1], [10.0], [10.1], [0.2], [10.2]])
    partition, judge = partition_of(points, [0, 0, 1, 1, 2, 2], 2)
    awake = np.zeros(6, np.bool_)
    assert dissolve(partition, judge, nearest_records(points, 3), awake) == 1
    assert partition.group.tolist() == [0, 0, 1, 1, 0, 1]
    assert awake.all()


@wraps
@pytest.mark.parametrize("near", [0, 3])
def test_annealing_moves_records_and_loses_no_group(near):
    """Without sensitive values any record may move.

    A move that forms no group returns the slot reserved for one.
    """
    points = np.random.default_rng(3).normal(size=(12, 2))
    close = nearest_records(points, 3)[:, :near].copy()
    for group, k in ((np.arange(12) // 3, 3), (np.arange(12) // 9, 3)):
        partition, judge = partition_of(points, group, k)
        before = partition.sizes.tolist()
        partners = make_partners(partition.columns, close, 0)
        anneal(partition, judge, partners, (50.0, 20.0), np.inf, 600, 7)
        assert np.bincount(partition.group, minlength=len(partition.sizes)).tolist() == partition.sizes.tolist()
        assert partition.sizes[partition.sizes > 0].min() >= k
        unused = partition.free[: partition.free[-1]]
        assert sorted(unused.tolist()) == np.flatnonzero(partition.sizes == 0).tolist()
        if group.max() == 1:
            assert partition.sizes.tolist() != before


# -- patterns and cuts ---------------------------------------------------------------------------------


def test_patterns_of_a_pass_come_class_by_class():
    codes = np.random.default_rng(1).integers(0, 3, (150, 4)).astype(np.int32)
    classes = np.repeat(np.arange(30, dtype=np.int32), 5)
    found = find_patterns(codes, classes, np.ones(150, np.int64), k=3, indifferent=3, order=(">", "<"))
    listed = list(zip(found.passes.tolist(), found.classes.tolist(), strict=True))
    assert listed == sorted(listed)
    assert min(np.bincount(found.passes)) > 8


def test_an_order_is_cut_between_two_values():
    table = pa.table({"age": [20, 21, 22, 50, 51, 52]})
    method = shoal.methods.Mondrian(ranges="exact")
    plan = shoal.Plan(Schema({"age": Column(Role.QUASI_IDENTIFIER)}), (shoal.models.KAnonymity(3),), method)
    assert set(shoal.anonymize(table, plan).table["age"].to_pylist()) == {"20..22", "50..52"}
