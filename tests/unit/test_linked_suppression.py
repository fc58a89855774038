"""Leaving out facts agrees with a slow twin and keeps the promise."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.methods.linked.search import LevelSearch, RootGroups, measure, root_sizes
from shoal.methods.linked.suppress import leave_out, make_entries, put_back
from shoal.schema import Prefix, Widths
from shoal.table.linked_coding import CodedChild, CodedTables
from tests.reference.linked_release import thin_slowly

PEOPLE = st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(0, 3), max_size=5)), min_size=2, max_size=9)
NESTED = st.lists(
    st.tuples(st.integers(0, 1), st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 1), max_size=2)),
                                          max_size=3)), min_size=2, max_size=8)  # fmt: skip


def tables_of(people):
    """Return people with facts of one table, coded, and their root groups."""
    person = np.asarray([number for number, (_, facts) in enumerate(people) for _ in facts], np.int64)
    codes = np.asarray([fact for _, facts in people for fact in facts], np.int32)
    ladder = Widths((2,)).bind(["0", "1", "2", "3"], False)
    child = CodedChild("fact", -1, person, person, (codes,), (ladder,))
    root = np.unique([group for group, _ in people], return_inverse=True)[1].reshape(-1).astype(np.int64)
    return CodedTables(len(people), (child,)), root


def nested_tables(people):
    """Return people with visits and tests, coded, and their root groups."""
    visits = [(number, reason, tests) for number, (_, own) in enumerate(people) for reason, tests in own]
    person = np.asarray([number for number, _, _ in visits], np.int64)
    tests = [(row, number, kind) for row, (number, _, own) in enumerate(visits) for kind in own]
    ladder = Widths((2,)).bind(["0", "1", "2"], False)
    visit = CodedChild("visit", -1, person, person, (np.asarray([one[1] for one in visits], np.int32),), (ladder,))
    rows, owner, kind = (np.asarray([one[part] for one in tests], np.int64) for part in range(3))
    test = CodedChild("test", 0, rows, owner, (kind.astype(np.int32),), (ladder,))
    root = np.unique([group for group, _ in people], return_inverse=True)[1].reshape(-1).astype(np.int64)
    return CodedTables(len(people), (visit, test)), root


def rare_sets(tables, root, label, alive, k, facts):
    """Return the sets of a person's facts that fewer than k people have."""
    owned = [Counter(label[alive & (tables.person == person)].tolist()) for person in range(tables.people)]
    rare = []
    for person, own in enumerate(owned):
        for size in range(1, facts + 1):
            for known in set(itertools.combinations(sorted(own.elements()), size)):
                crowd = sum(root[one] == root[person] and not Counter(known) - owned[one] for one in range(len(owned)))
                rare += [known] if crowd < k else []
    return rare


@given(PEOPLE, st.integers(2, 3), st.integers(1, 2), st.integers(0, 99))
@settings(max_examples=150)
def test_the_kernel_leaves_out_what_its_twin_does(people, k, facts, seed):
    tables, root = tables_of(people)
    label = tables.labels(((0,),))
    lot = np.random.default_rng(seed).permutation(len(label))
    alive = leave_out(tables, root, label, k, facts, lot)
    groups = [np.flatnonzero(root == group).tolist() for group in range(root.max() + 1)]
    entries = make_entries(tables, root, label, np.ones(len(label), np.bool_), k, lot)
    lots = {(int(tables.person[row]), int(label[row])): int(lot[row]) for row in entries.order[::-1]}
    own = {
        person: {
            one: min(count, 2)
            for one, count in Counter(label[tables.person == person].tolist()).items()
            if (person, one) in lots
        }
        for person in range(tables.people)
    }
    expected = thin_slowly(groups, own, lots, k, facts)
    # what the kernel leaves may be thinned again: labels that became rare have no entry then
    for person in range(tables.people):
        remaining_labels = Counter(label[alive & (tables.person == person)].tolist())
        assert {one: min(count, 2) for one, count in remaining_labels.items()} == (
            expected[person] if facts > 1 else {one: own[person][one] for one in expected[person]}
        )


@given(NESTED, st.integers(2, 3), st.integers(1, 2), st.integers(0, 99))
@settings(max_examples=150)
def test_no_known_set_is_rare_and_no_row_lacks_its_parent(people, k, facts, seed):
    tables, root = nested_tables(people)
    label = tables.labels(((1,), (0,)))
    lot = np.random.default_rng(seed).permutation(len(label))
    alive = leave_out(tables, root, label, k, facts, lot)
    more = put_back(tables, root, label, k, facts, lot, alive)
    for remaining in (alive, more):
        assert not rare_sets(tables, root, label, remaining, k, facts)
        assert (tables.close(remaining) == remaining).all()
    assert (more | alive == more).all()


def test_a_fact_that_went_for_nothing_is_put_back():
    """One person loses a fact, and the pair is gone: other facts stay."""
    tables, root = tables_of([(0, [0, 1]), (0, [0]), (0, [1]), (0, [0]), (0, [1])])
    label = tables.labels(((0,),))
    lot = np.arange(len(label))
    alive = np.zeros(len(label), np.bool_)
    alive[[0, 2, 3, 4]] = True  # the last person's fact is out without a need
    assert put_back(tables, root, label, 2, 2, lot, alive).tolist() == [True, False, True, True, True, True]


@given(PEOPLE, st.integers(2, 3), st.integers(0, 99))
@settings(max_examples=60)
def test_sets_that_a_model_refuses_do_not_remain(people, k, seed):
    tables, root = tables_of(people)
    label = tables.labels(((0,),))
    lot = np.random.default_rng(seed).permutation(len(label))
    refused = np.asarray([[0, 0, 1], [0, 2, -1], [0, 3, 3]], np.int64)

    def failing(alive):
        found = []
        for group, one, two in refused.tolist():
            needed = Counter([one, two] if two >= 0 else [one])
            for person in np.flatnonzero(root == group):
                own = Counter(label[alive & (tables.person == person)].tolist())
                if not needed - own:
                    found.append((group, one, two))
        return np.asarray(sorted(set(found)), np.int64).reshape(-1, 3)

    alive = leave_out(tables, root, label, k, 2, lot, failing)
    assert not len(failing(alive))
    assert not rare_sets(tables, root, label, alive, k, 2)


def test_a_parent_is_not_put_back_without_the_child_that_all_have():
    """The first visit's test is rare; every other visit has a test."""
    tables, root = nested_tables([(0, [(0, [1])]), (0, [(0, [0])]), (0, [(0, [0])])])
    label = tables.labels(((0,), (0,)))
    alive = leave_out(tables, root, label, 2, 2, np.arange(6))
    assert alive.tolist() == [False, True, True, False, True, True]
    assert put_back(tables, root, label, 2, 2, np.arange(6), alive).tolist() == alive.tolist()


def test_a_child_is_not_put_back_without_its_parent():
    tables, root = nested_tables([(0, [(0, [0])]) for _ in range(4)])
    label = tables.labels(((0,), (0,)))
    alive = np.ones(8, np.bool_)
    alive[[0, 4]] = False
    assert put_back(tables, root, label, 2, 2, np.arange(8), alive).tolist() == alive.tolist()


@given(NESTED, st.integers(2, 3), st.integers(1, 2), st.integers(0, 99))
@settings(max_examples=80)
def test_crowds_of_true_facts_are_empty_or_have_k_people(people, k, facts, seed):
    """Facts may have been left out; sets of true facts are examined."""
    tables, root = nested_tables(people)
    label = tables.labels(((1,), (0,)))
    lot = np.random.default_rng(seed).permutation(len(label))
    alive = put_back(tables, root, label, k, facts, lot, leave_out(tables, root, label, k, facts, lot))
    released = [Counter(label[alive & (tables.person == person)].tolist()) for person in range(tables.people)]
    for person in range(tables.people):
        true_facts = sorted(label[tables.person == person].tolist())
        for size in range(facts + 1):
            for known in set(itertools.combinations(true_facts, size)):
                crowd = [one for one in np.flatnonzero(root == root[person]) if not Counter(known) - released[one]]
                assert not known or len(crowd) == 0 or len(crowd) >= k


def test_a_parent_that_always_has_a_child_goes_with_its_last_one():
    tables, _ = nested_tables([(0, [(0, [0]), (1, [1])]), (0, [(0, [0])])])
    assert tables.always_with == ((0, 1),)
    alive = np.ones(6, np.bool_)
    alive[3] = False  # the only test of the first visit
    assert tables.close(alive).tolist() == [False, True, True, False, True, True]


def test_a_parent_without_children_stays_among_others():
    tables, _ = nested_tables([(0, [(0, [0]), (1, [])]), (0, [(0, [0])])])
    assert tables.always_with == ()
    alive = np.ones(5, np.bool_)
    alive[3] = False
    assert tables.close(alive).tolist() == [True, True, True, False, True]
    alive = np.ones(5, np.bool_)
    alive[0] = False  # its test goes with it
    assert tables.close(alive).tolist() == [False, True, True, False, True]


@given(NESTED, st.lists(st.integers(0, 7), unique=True, min_size=1))
@settings(max_examples=60)
def test_selected_people_keep_their_facts(people, chosen):
    tables, _ = nested_tables(people)
    chosen = [person for person in chosen if person < tables.people] or [0]
    some = tables.select(chosen)
    label, part = tables.labels(tables.top), some.labels(some.top)
    for position, person in enumerate(chosen):
        assert (part[some.person == position] >= 0).sum() == (label[tables.person == person] >= 0).sum()
    assert all(some.person[some.parent[row]] == some.person[row] for row in np.flatnonzero(some.parent >= 0))


def test_losses_count_left_out_rows_as_lost():
    tables, _ = tables_of([(0, [0, 1]), (0, [2, 3])])
    everything = np.ones(4, np.bool_)
    assert measure(tables, ((0,),), everything) == ((0.0,), (0.0,))
    assert measure(tables, ((2,),), everything) == ((1.0,), (0.0,))
    assert measure(tables, ((0,),), np.asarray([True, True, True, False])) == ((0.25,), (0.25,))


def test_the_search_lowers_levels_where_everybody_agrees():
    people = [(0, [0, 1]) for _ in range(6)]
    tables, root = tables_of(people)
    found = LevelSearch(3, 2, (1.0, 1.0), 0.05).search(tables, RootGroups(6, root, 0.0), tables.top)
    assert found.levels == ((0,),)
    assert (found.price, found.left_out) == (0.0, (0.0,))


def test_the_search_passes_levels_that_lose_the_same():
    """All codes share their first letter, so that two levels lose everything."""
    tables, root = tables_of([(0, [0, 1]) for _ in range(6)])
    ladder = Prefix().bind(["M0", "M1", "M2", "M3"], False)
    tables = CodedTables(6, (replace(tables.tables[0], ladders=(ladder,)),))
    assert tables.tables[0].costs[0].tolist() == [0, 1, 1]
    found = LevelSearch(3, 2, (1.0, 1.0), 0.05).search(tables, RootGroups(6, root, 0.0), tables.top)
    assert found.levels == ((0,),)


@pytest.mark.parametrize(
    ("k", "people", "given_sizes", "expected"),
    [(5, 100, (), (5, 20, 50, 100)), (5, 4, (), ()), (3, 100, (2, 400, 30), (3, 30, 100))],
)
def test_root_sizes(k, people, given_sizes, expected):
    assert root_sizes(k, people, given_sizes) == expected
