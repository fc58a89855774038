"""Anti-unification kernels against a slow reference.

Also the examples of the paper and its figures on Adult.
"""

import csv
import os
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.methods.patterns.kernels.assignment import assign_records
from shoal.methods.patterns.kernels.finding import anti_unify, find_patterns
from shoal.methods.patterns.kernels.groups import group_by_patterns, sweep_patterns
from shoal.methods.patterns.kernels.matching import fit_patterns, measure_overlap
from shoal.methods.patterns.kernels.rarity import rare_columns
from tests.reference import anti_unification as reference

ORDERS = [("<", ">"), (">", "<"), ("<",), (">",)]
UNKNOWN = 0


def arrays(rows):
    """Convert rows of the reference into the kernel's arrays.

    At least one row is needed to determine the width.
    """
    codes = np.array([row[0] for row in rows], dtype=np.int32).reshape(len(rows), -1)
    return codes, np.array([row[1] for row in rows], np.int32), np.array([row[2] for row in rows], np.int64)


@st.composite
def tables(draw, max_classes=3):
    """A frequency set: distinct combinations of a small number of values.

    One of the values means unknown.
    """
    width = draw(st.integers(1, 5))
    cardinalities = draw(st.lists(st.integers(1, 4), min_size=width, max_size=width))
    values = st.tuples(*(st.integers(UNKNOWN, cardinality - 1) for cardinality in cardinalities))
    combination = st.tuples(values, st.integers(0, max_classes - 1))
    table = draw(st.dictionaries(combination, st.integers(1, 4), min_size=1, max_size=40))
    return [(*key, records) for key, records in table.items()]


parameters = st.tuples(st.integers(1, 8), st.integers(0, 5), st.sampled_from(ORDERS))


def as_mapping(patterns):
    keys = [
        (tuple(codes), row_class)
        for codes, row_class in zip(patterns.codes.tolist(), patterns.classes.tolist(), strict=True)
    ]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, zip(patterns.found.tolist(), patterns.passes.tolist(), strict=True), strict=True))


def published(groups):
    codes = [tuple(codes) for codes in groups.codes.tolist()]
    return [None if group == -1 else codes[group] for group in groups.assignment]


def left_without_small_patterns(codes, classes, counts, patterns, k):
    """Count records that fit no pattern of their class.

    Patterns of fewer than k own records are removed first.
    """
    large = measure_overlap(codes, classes, counts, patterns).own >= k
    starts, fits = fit_patterns(codes, patterns.codes[large])
    row = np.repeat(np.arange(len(counts)), np.diff(starts))
    matched = row[patterns.classes[large][fits] == classes[row]]
    return int(np.delete(counts, np.unique(matched)).sum())


def distinct_classes(classes, least):
    """A model of a least number of distinct classes per group.

    Returned for the reference and for the kernel.
    """

    def slow(members):
        return len({classes[i] for i in members}) >= least

    def fast(rows, groups, number):
        pairs = np.unique(np.column_stack([groups, np.asarray(classes)[rows]]), axis=0)
        return np.bincount(pairs[:, 0], minlength=number) >= least

    return slow, fast


def largest_share(rows, max_share):
    """A model that an added record can violate.

    No class has more than this share of a group.
    """

    def slow(members):
        records = Counter()
        for i in members:
            records[rows[i][1]] += rows[i][2]
        return max(records.values()) <= max_share * sum(records.values())

    def fast(row_numbers, groups, number):
        members = defaultdict(list)
        for row, group in zip(row_numbers.tolist(), groups.tolist(), strict=True):
            members[group].append(row)
        return np.array([slow(members[group]) for group in range(number)], dtype=np.bool_)

    return slow, fast


@settings(max_examples=200, deadline=None)
@given(tables(), parameters)
def test_search_equals_reference(rows, chosen):
    k, indifferent, order = chosen
    patterns = find_patterns(*arrays(rows), k, indifferent, order)
    expected, identified = reference.anonymize(rows, k, indifferent, order)
    assert as_mapping(patterns) == expected
    assert patterns.identified.tolist() == identified


@settings(max_examples=50, deadline=None)
@given(tables(), parameters, st.randoms(use_true_random=False))
def test_search_does_not_depend_on_row_order(rows, chosen, random):
    shuffled = random.sample(rows, len(rows))
    first, second = (find_patterns(*arrays(table), *chosen) for table in (rows, shuffled))
    for column in range(4):
        np.testing.assert_array_equal(first[column], second[column])


def test_ties_are_followed_once():
    """Follow sets that ties reach again only once.

    Ten binary attributes tie everywhere: the sets reached again outgrow the first table of visits.
    """
    rows = [(tuple(int(bit) for bit in f"{number:010b}"), 0, 1) for number in range(0, 1024, 7)]
    patterns = find_patterns(*arrays(rows), 3, 7, ("<",))
    assert as_mapping(patterns) == reference.anonymize(rows, 3, 7, ("<",))[0]
    assert patterns.ties_cut == 0


def test_search_past_its_limit_follows_one_tied_attribute(monkeypatch):
    monkeypatch.setattr("shoal.methods.patterns.kernels.finding._MAX_VISITS", -1)
    monkeypatch.setattr("shoal.methods.patterns.kernels.finding._MAX_VISITS_PER_ROW", 0)
    rows = [(tuple(int(bit) for bit in f"{number:06b}"), 0, 1) for number in range(64)]
    patterns = find_patterns(*arrays(rows), 4, 2, ("<",))
    # One path only: the first four attributes are fixed, which splits the table into 16 parts.
    assert patterns.found.tolist() == [4] * 16
    assert (patterns.codes[:, 4:] == -1).all()
    assert patterns.ties_cut == 15


@settings(max_examples=100, deadline=None)
@given(tables(), parameters)
def test_overlap_equals_reference(rows, chosen):
    k, indifferent, order = chosen
    patterns = find_patterns(*arrays(rows), k, indifferent, order)
    known = as_mapping(patterns)
    support, own, fitting, disclosed = reference.overlap(rows, known)
    measured = measure_overlap(*arrays(rows), patterns)
    assert measured.support.tolist() == list(support.values())
    assert measured.own.tolist() == list(own.values())
    assert (measured.fitting, measured.disclosed) == (fitting, disclosed)
    assert (measured.support >= patterns.found).all()
    left = left_without_small_patterns(*arrays(rows), patterns, k)
    assert left == reference.left_without_small_patterns(rows, known, k)


@settings(max_examples=50, deadline=None)
@given(tables(), st.integers(1, 6), st.integers(0, 4))
def test_sweep_equals_reference(rows, k, stars):
    codes, _, counts = arrays(rows)
    swept = sweep_patterns(codes, counts, k, stars)
    found = dict(zip(map(tuple, swept.codes.tolist()), swept.found.tolist(), strict=True))
    assert len(found) == len(swept.found)
    assert found == reference.sweep(rows, k, stars)


@settings(max_examples=100, deadline=None)
@given(tables(), parameters)
def test_disjoint_assignment_equals_reference(rows, chosen):
    k, indifferent, order = chosen
    codes, classes, counts = arrays(rows)
    patterns = find_patterns(codes, classes, counts, k, indifferent, order)
    groups = assign_records(codes, classes, counts, patterns, k)
    assert published(groups) == reference.assign(rows, as_mapping(patterns), k)
    assert (groups.sizes >= k).all()
    left = int(counts[groups.assignment == -1].sum())
    assert left <= left_without_small_patterns(codes, classes, counts, patterns, k)


@settings(max_examples=100, deadline=None)
@given(tables(), parameters, st.booleans())
def test_disjoint_groups_equal_reference(rows, chosen, keep_rest):
    k, indifferent, order = chosen
    codes, classes, counts = arrays(rows)
    groups = group_by_patterns(codes, classes, counts, k, indifferent, order, None, keep_rest)
    assert published(groups) == reference.form_groups(rows, k, indifferent, order, None, keep_rest)
    check_groups(rows, groups, k)
    left = groups.assignment == -1
    stars = (groups.codes == -1).sum(axis=1)
    if keep_rest:
        assert left.all() == (counts.sum() < k)
        assert not left.any() or left.all()
        assert (stars[groups.passes <= len(order)] <= indifferent).all()
    else:
        assert (stars <= indifferent).all()
        fewest = min(indifferent, codes.shape[1] - 1)
        assert len(sweep_patterns(codes[left], counts[left], k, fewest).found) == 0


@settings(max_examples=100, deadline=None)
@given(tables(), parameters, st.booleans(), st.sampled_from(["distinct", "share"]))
def test_model_aware_groups_equal_reference(rows, chosen, keep_rest, model):
    k, indifferent, order = chosen
    codes, classes, counts = arrays(rows)
    slow, fast = distinct_classes(classes.tolist(), 2) if model == "distinct" else largest_share(rows, 0.6)
    free = [(values, 0, records) for values, _, records in rows]
    groups = group_by_patterns(codes, np.zeros_like(classes), counts, k, indifferent, order, fast, keep_rest)
    assert published(groups) == reference.form_groups(free, k, indifferent, order, slow, keep_rest)
    check_groups(rows, groups, k)
    for group in range(len(groups.sizes)):
        assert slow(np.flatnonzero(groups.assignment == group).tolist())
    if keep_rest and model == "distinct" and counts.sum() >= k and slow(range(len(rows))):
        assert (groups.assignment >= 0).all()


def check_groups(rows, groups, k):
    """Check the claims of every release.

    Groups differ in what they publish, and publish what their rows share.
    """
    assert len(np.unique(groups.codes, axis=0)) == len(groups.codes)
    for group in range(len(groups.sizes)):
        members = np.flatnonzero(groups.assignment == group)
        assert sum(rows[i][2] for i in members) == groups.sizes[group] >= k
        assert tuple(groups.codes[group].tolist()) == reference.anti_unification([rows[i][0] for i in members])


@settings(max_examples=50, deadline=None)
@given(tables(), st.integers(1, 8), st.integers(1, 3), st.data())
def test_rare_columns_equal_reference(rows, k, max_columns, data):
    codes, _, counts = arrays(rows)
    discarded = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    reasons, unexplained = rare_columns(codes, counts, discarded, k, max_columns)
    expected = reference.rare_columns(rows, np.flatnonzero(discarded).tolist(), k, min(max_columns, codes.shape[1]))
    assert dict(reasons) == expected
    assert [records for _, records in reasons] == sorted(expected.values(), reverse=True)
    columns = min(max_columns, codes.shape[1])
    alone = [i for i in np.flatnonzero(discarded) if not reference.rare_columns(rows, [i], k, columns)]
    assert unexplained == sum(rows[i][2] for i in alone)


def test_large_rest_is_searched_instead_of_swept(monkeypatch):
    monkeypatch.setattr("shoal.methods.patterns.kernels.groups._MAX_SWEEP_PAIRS", 0)
    generator = np.random.default_rng(5)
    codes = generator.integers(0, 4, (300, 6)).astype(np.int32)
    counts, classes = np.ones(300, np.int64), generator.integers(0, 2, 300).astype(np.int32)
    groups = group_by_patterns(codes, classes, counts, 4, 2, keep_rest=True)
    assert groups.sizes.sum() == 300
    assert groups.sizes.min() >= 4


def test_unknown_everywhere_is_one_pattern():
    rows = [((UNKNOWN, UNKNOWN, UNKNOWN), row_class, 6) for row_class in (0, 1)]
    patterns = find_patterns(*arrays(rows), 5, 2)
    assert as_mapping(patterns) == {((0, 0, 0), 0): (6, 0), ((0, 0, 0), 1): (6, 0)}
    assert group_by_patterns(*arrays(rows), 5, 2).sizes.tolist() == [12]


def test_all_unknown_column_stays_in_every_pattern():
    rows = [((UNKNOWN, a, b), 0, 2) for a in range(3) for b in range(4)]
    patterns = find_patterns(*arrays(rows), 5, 1)
    assert len(patterns.codes)
    assert (patterns.codes[:, 0] == UNKNOWN).all()


def test_k_larger_than_every_class():
    rows = [((a, 0), row_class, 2) for a in range(2) for row_class in range(3)]
    patterns = find_patterns(*arrays(rows), 5, 1)
    assert patterns.codes.shape == (0, 2)
    assert patterns.identified.tolist() == [-1] * 6
    assert fit_patterns(arrays(rows)[0], patterns.codes)[0].tolist() == [0] * 7
    measured = measure_overlap(*arrays(rows), patterns)
    assert (measured.fitting, measured.disclosed) == (0, 0)
    # Across classes there are enough records: the sweep finds patterns that no single class has.
    assert group_by_patterns(*arrays(rows), 5, 1).sizes.sum() == 12
    assert group_by_patterns(*arrays(rows), 13, 1).sizes.tolist() == []
    assert group_by_patterns(*arrays(rows), 13, 1, keep_rest=True).assignment.tolist() == [-1] * 6


def test_no_attribute_and_no_record():
    codes, classes, counts = np.zeros((1, 0), np.int32), np.zeros(1, np.int32), np.array([9])
    assert find_patterns(codes, classes, counts, 5, 2).codes.shape == (0, 0)
    assert group_by_patterns(codes, classes, counts, 5, 2).assignment.tolist() == [-1]
    assert group_by_patterns(codes, classes, counts, 5, 2, keep_rest=True).sizes.tolist() == [9]
    nothing = np.zeros((0, 3), np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64)
    assert group_by_patterns(*nothing, 5, 2, keep_rest=True).codes.shape == (0, 3)
    assert rare_columns(nothing[0], nothing[2], np.zeros(0, np.bool_), 5) == ([], 0)


def test_unknown_order_is_refused():
    with pytest.raises(ValueError, match="not in tuple"):
        find_patterns(np.zeros((1, 1), np.int32), np.zeros(1, np.int32), np.ones(1, np.int64), 1, 0, ("=",))


def test_anti_unification_of_adult_8_and_adult_10():
    """Figure 5 of the paper.

    The two records share workclass, sex and salary.
    """
    adult_8 = ("25-29", "Private", "Bachelors", "Divorced", "Prof-specialty", "Black", "Female", "Cuba", "<=50K")
    adult_10 = ("35-39", "Private", "Masters", "Married", "Exec-managerial", "White", "Female", "U-S", "<=50K")
    assert reference.anti_unification([adult_8, adult_10]) == (-1, "Private", -1, -1, -1, -1, "Female", -1, "<=50K")
    codes = np.array([[0] * 9, [int(a != b) for a, b in zip(adult_8, adult_10, strict=True)]], np.int32)
    shared = np.empty(9, np.int32)
    assert anti_unify(codes, 0, 2, shared) == 6
    assert np.flatnonzero(shared != -1).tolist() == [1, 6, 8]


def test_class_of_three_records_is_rejected():
    """Section 3, Figure 2: K = 5 rejects class C2 of three records.

    Classes C1 to C4 have 7, 3, 12 and 13 of the 35 records.
    """
    rough, smooth, wood, steel = range(4)
    rows = [
        *(((rough, wood), 0, 4), ((rough, steel), 0, 3)),
        ((smooth, wood), 1, 3),
        *(((smooth, wood), 2, 6), ((smooth, steel), 2, 6)),
        *(((rough, wood), 3, 1), ((smooth, wood), 3, 12)),
    ]
    patterns = find_patterns(*arrays(rows), 5, 1)
    assert as_mapping(patterns) == {
        ((rough, -1), 0): (7, 0),
        ((smooth, -1), 2): (12, 0),
        ((-1, wood), 3): (13, 0),
    }
    assert patterns.identified.tolist() == [0, 0, -1, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def adult():
    """The 32561 training records: eight attributes and salary.

    Age is cut as in section 4 of the paper.
    """
    folder = os.environ.get("SHOAL_DATA")
    if folder is None:
        pytest.skip("SHOAL_DATA does not name the folder with adult/adult.data")
    file = Path(folder) / "adult" / "adult.data"
    if not file.exists():
        pytest.skip("SHOAL_DATA has no adult/adult.data")
    with file.open(newline="", encoding="utf-8") as lines:
        records = [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == 15]
    table = [[f"{cut_age(int(row[0])):02}", *(row[i] for i in (1, 3, 5, 6, 8, 9, 13, 14))] for row in records]
    columns = [np.unique(column, return_inverse=True)[1] for column in np.array(table).T]
    combinations, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    codes = np.ascontiguousarray(combinations[:, :8], dtype=np.int32)
    return codes, combinations[:, 8].astype(np.int32), counts.astype(np.int64)


def cut_age(age: int) -> int:
    """low-19, 20-24, ..., 85-89, high-90."""
    return 0 if age < 20 else min(age, 90) // 5


# K, order; patterns and discarded records; patterns of fewer than K own records and of none, records with their salary
# disclosed; records left by the disjoint variant, and by the model-aware one with two salaries in each group.
ADULT = [
    (5, "<>", 1096, 3243, 494, 223, 8705, 2686, 6115),
    (5, "><", 3080, 3330, 2616, 1552, 10942, 2792, 5781),
    (10, "<>", 695, 4944, 336, 98, 9500, 4248, 6313),
    (10, "><", 1493, 5110, 1195, 565, 11392, 4364, 6324),
    (20, "<>", 435, 7168, 209, 31, 11066, 6225, 7509),
    (20, "><", 714, 7568, 502, 130, 11136, 6253, 7250),
    (30, "<>", 321, 8817, 171, 9, 11142, 7743, 8701),
    (30, "><", 450, 9284, 307, 40, 11782, 7780, 8266),
]


@pytest.mark.parametrize(("k", "order", "number", "rest", "small", "empty", "disclosed", "left", "left_model"), ADULT)
def test_adult(adult, k, order, number, rest, small, empty, disclosed, left, left_model):
    codes, classes, counts = adult
    patterns = find_patterns(codes, classes, counts, k, 2, tuple(order))
    assert (len(patterns.codes), counts[patterns.identified == -1].sum()) == (number, rest)
    assert patterns.ties_cut == 0
    measured = measure_overlap(codes, classes, counts, patterns)
    assert ((measured.own < k).sum(), (measured.own == 0).sum()) == (small, empty)
    assert (measured.fitting, measured.disclosed) == (counts.sum() - rest, disclosed)
    bound = left_without_small_patterns(codes, classes, counts, patterns, k)
    disjoint = group_by_patterns(codes, classes, counts, k, 2, tuple(order))
    assert counts[disjoint.assignment == -1].sum() == left <= min(bound, rest)
    slow, fast = distinct_classes(classes, 2)
    aware = group_by_patterns(codes, np.zeros_like(classes), counts, k, 2, tuple(order), fast)
    assert counts[aware.assignment == -1].sum() == left_model <= bound
    members = [np.flatnonzero(aware.assignment == group) for group in range(len(aware.sizes))]
    assert all(map(slow, members))
    assert aware.sizes.min() >= k
    with_rest = group_by_patterns(codes, classes, counts, k, 2, tuple(order), None, keep_rest=True)
    assert with_rest.sizes.sum() == counts.sum()
    assert with_rest.sizes.min() >= k
