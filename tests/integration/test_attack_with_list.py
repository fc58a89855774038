"""Attack of an intruder with a list of everybody.

Possible rows are compared with those of all assignments of people to rows.
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
from shoal.models import KeySet, KnowsColumns, LooselyKnown
from shoal.risk import attacks_list
from shoal.risk.assignments import find_possible
from shoal.schema import Column, Role, Schema
from tests.reference import risk as slow

GIONIS = [["2", "A"], ["2", "B"], ["2", "B"], ["2", "B"], ["3", "A"], ["3", "A"]]
GIONIS_RELEASE = [["*", "A"], ["2", "*"], ["2", "*"], ["2", "*"], ["3", "A"], ["3", "A"]]


def table_of(rows, names="ab"):
    return pa.table({name: pa.array([row[j] for row in rows], pa.string()) for j, name in enumerate(names)})


def plan_of(models=(), keys=(), names="ab"):
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in names})
    return shoal.Plan(schema, models, shoal.methods.HiddenCells(), keys=keys)


def attacked(people, released, **options):
    plan = plan_of(keys=(KeySet(("a", "b"), k=2, reading="loose"),)) if not options else plan_of(**options)
    return shoal.attack(table_of(released), plan, original=table_of(people)).named("list of everybody")


def test_other_people_use_up_the_rows_that_fit():
    """(2, A) fits four rows, but three of them are needed by the (2, B)."""
    found = attacked(GIONIS, GIONIS_RELEASE)
    assert (found.people, found.exposed) == (6, 1)
    assert found.figures == {
        "k": 2,
        "exactly_one": 1,
        "below_k_without_a_list": 0,
        "fewest_possible_rows": 1,
        "lists_examined": 1,
        "lists": 1,
    }


def test_equal_groups_survive_a_list():
    released = [["2", "*"]] * 4 + [["3", "A"]] * 2
    assert attacked(GIONIS, released).exposed == 0


def test_fewer_people_than_rows_are_no_list():
    results = shoal.attack(
        table_of(GIONIS_RELEASE),
        plan_of(keys=(KeySet(("a", "b"), k=2, reading="loose"),)),
        original=table_of(GIONIS[:5]),
    )
    assert all(result.name != "list of everybody" for result in results.results)


@st.composite
def releases(draw):
    """People, their rows with hidden cells, and some rows left out."""
    people = [[draw(st.sampled_from("pqr")), draw(st.sampled_from("pq"))] for _ in range(draw(st.integers(2, 6)))]
    rows = [["*" if draw(st.integers(0, 2)) == 0 else cell for cell in person] for person in people]
    return people, rows[: draw(st.integers(max(1, len(rows) - 2), len(rows)))]


@settings(max_examples=150, deadline=None)
@given(releases())
@example((GIONIS, GIONIS_RELEASE))
def test_possible_rows_are_those_of_some_assignment(release):
    people, released = release
    possible = [len(rows) for rows in slow.possible_rows(people, released)]
    found = attacked(people, released)
    assert found.exposed == sum(rows < 2 for rows in possible)
    assert found.figures["exactly_one"] == sum(rows == 1 for rows in possible)
    assert found.figures["fewest_possible_rows"] == min(possible)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_entries_in_some_assignment(data):
    """Numbers of people and rows, against the people and rows themselves."""
    kinds = data.draw(st.integers(1, 4))
    groups = data.draw(st.integers(1, 4))
    fits = [[data.draw(st.booleans()) for _ in range(groups)] for _ in range(kinds)]
    people = [data.draw(st.integers(0, 2)) for _ in range(kinds)]
    rows = [data.draw(st.integers(0, 2)) for _ in range(groups)]
    start = np.cumsum([0, *(sum(row) for row in fits)])
    group = np.asarray([g for row in fits for g, fit in enumerate(row) if fit], np.int64)
    found = find_possible(np.asarray(people), np.asarray(rows), start, group)
    each = [kind for kind, count in enumerate(people) for _ in range(count)]
    labels = [g for g, count in enumerate(rows) for _ in range(count)]
    pairs = set()
    if len(each) == len(labels):
        for owners in itertools.permutations(each):
            if all(fits[kind][g] for kind, g in zip(owners, labels, strict=True)):
                pairs |= set(zip(owners, labels, strict=True))
    if found is None:
        assert not pairs
        return
    listed = [(kind, g) for kind, row in enumerate(fits) for g, fit in enumerate(row) if fit]
    real = [(one, yes) for one, yes in zip(listed, found.tolist(), strict=True) if people[one[0]] and rows[one[1]]]
    assert {one for one, yes in real if yes} == pairs


def test_lists_of_any_two_columns(monkeypatch):
    names = "abcd"
    two = LooselyKnown(shoal.models.KAnonymity(3), 2)
    lists, total = attacks_list.known_lists((two,), names)
    assert (len(lists), total, {k for _, k in lists}) == (6, 6, {3})
    monkeypatch.setattr(attacks_list, "MAX_LISTS", 3)
    assert [chosen for chosen, _ in attacks_list.known_lists((two,), names)[0]] == [(0, 1), (0, 3), (1, 3)]
    keys = KnowsColumns(shoal.models.KAnonymity(7), ("d", "b", "a"))  # a key set is always examined
    assert attacks_list.known_lists((two, keys), names)[0][0] == ((0, 1, 3), 7)
    assert attacks_list.known_lists((shoal.models.KAnonymity(4),), names) == ([((0, 1, 2, 3), 4)], 1)


def test_release_by_hidden_cells_does_not_survive_a_list():
    """Every person has k rows that fit, and some have fewer possible ones."""
    random = np.random.default_rng(3)
    people = [[str(v) for v in row] for row in random.geometric(0.35, (40, 3))]
    plan = plan_of(keys=(KeySet(("a", "b", "c"), k=3, reading="loose"),), names="abc")
    source = table_of(people, "abc")
    release = shoal.anonymize(source, plan)
    found = shoal.attack(release.table, plan, original=source).named("list of everybody")
    assert found.figures["below_k_without_a_list"] == 0
    assert found.exposed > 0


def test_limit_of_matches(monkeypatch):
    monkeypatch.setattr(attacks_list, "MAX_MATCHES", 0)
    results = shoal.attack(
        table_of(GIONIS_RELEASE), plan_of(keys=(KeySet(("a", "b"), k=2, reading="loose"),)), original=table_of(GIONIS)
    )
    assert all(result.name != "list of everybody" for result in results.results)
