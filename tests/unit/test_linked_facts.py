"""Crowds in linked tables agree with an enumeration of everything known."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import TableError
from shoal.risk import linked_facts
from shoal.table.linked_tables import Link, resolve_links

VALUES = st.sampled_from(["a", "b", None])
PEOPLE = st.lists(st.tuples(VALUES, st.lists(st.tuples(VALUES, st.lists(VALUES, max_size=2)), max_size=3)), min_size=1,
                  max_size=6)  # fmt: skip
LINKS = [Link("visit", "person", "person", "person"), Link("test", "visit", "visit", "visit")]


def database(people):
    """Return people with nested visits and tests as three tables."""
    person, visit, test = [], [], []
    for number, (label, visits) in enumerate(people):
        person.append({"person": number, "sex": label})
        for reason, tests in visits:
            visit.append({"visit": 100 + len(visit), "person": number, "reason": reason})
            test += [{"visit": visit[-1]["visit"], "result": result} for result in tests]
    kinds = [
        pa.schema([("person", pa.int64()), ("sex", pa.string())]),
        pa.schema([("visit", pa.int64()), ("person", pa.int64()), ("reason", pa.string())]),
        pa.schema([("visit", pa.int64()), ("result", pa.string())]),
    ]
    return {
        name: pa.Table.from_pylist(rows, kind)
        for name, rows, kind in zip(("person", "visit", "test"), (person, visit, test), kinds, strict=True)
    }


def resolve(people):
    """Return the linked people of a database, or None without rows in a table."""
    tables = database(people)
    if not all(table.num_rows for table in tables.values()):
        return None
    return resolve_links(tables, "person", LINKS, {"person": ["sex"], "visit": ["reason"], "test": ["result"]})


def facts_of(visits):
    """Return every fact as (label, row, parent row)."""
    found = []
    for number, (reason, tests) in enumerate(visits):
        found.append((("visit", reason), ("visit", number), None))
        found += [
            (("test", reason, result), ("test", number, position), ("visit", number))
            for position, result in enumerate(tests)
        ]
    return found


def slow_smallest(people, knowledge):
    """Return each person's smallest crowd of those with all of some knowledge.

    ``knowledge`` lists everything that may be known of a person, each as a hashable value.
    """
    known = [{(label, piece) for piece in knowledge(visits)} for label, visits in people]
    return [min(sum(piece in other for other in known) for piece in own) for own in known]


def sets_of_facts(size):
    """Return the multisets of at most some facts."""

    def known(visits):
        labels = sorted([str(label) for label, _, _ in facts_of(visits)])
        return [tuple(chosen) for number in range(size + 1) for chosen in itertools.combinations(labels, number)]

    return known


def related_pairs(visits):
    """Return single facts, and pairs with their relation."""
    facts = facts_of(visits)
    found = [(), *((str(label),) for label, _, _ in facts)]
    for (one, row, parent), (two, other_row, other_parent) in itertools.combinations(facts, 2):
        relation = int(parent == other_parent and parent is not None)
        relation = 2 if parent == other_row or other_parent == row else relation
        found.append((*sorted([str(one), str(two)]), relation))
    return found


def counts_of(visits):
    """Return the number of visits and of tests."""
    return [(len(visits), sum(len(tests) for _, tests in visits))]


@settings(max_examples=60, deadline=None)
@given(PEOPLE)
@pytest.mark.parametrize("facts", [1, 2, 3])
def test_crowds_by_facts(facts, people):
    linked = resolve(people)
    if linked is not None:
        assert linked_facts.crowds_by_facts(linked, facts).tolist() == slow_smallest(people, sets_of_facts(facts))


@settings(max_examples=60, deadline=None)
@given(PEOPLE)
def test_crowds_by_root_counts_and_everything(people):
    linked = resolve(people)
    if linked is None:
        return
    roots = Counter(label for label, _ in people)
    assert linked_facts.crowds_by_root(linked).tolist() == [roots[label] for label, _ in people]
    assert linked_facts.crowds_by_counts(linked).tolist() == slow_smallest(people, counts_of)
    shapes = slow_smallest(people, lambda visits: [tuple(sorted(len(tests) for _, tests in visits))])
    assert linked_facts.crowds_by_counts(linked, structure=True).tolist() == shapes
    trees = slow_smallest(
        people, lambda visits: [str(sorted((str(reason), sorted(map(str, tests))) for reason, tests in visits))]
    )
    assert linked_facts.crowds_by_all(linked).tolist() == trees
    both = slow_smallest(people, lambda visits: [(*counts_of(visits), chosen) for chosen in sets_of_facts(2)(visits)])
    assert linked_facts.crowds_by_facts_and_counts(linked, 2).tolist() == both


@settings(max_examples=80, deadline=None)
@given(PEOPLE)
def test_crowds_by_linked_facts(people):
    linked = resolve(people)
    if linked is not None:
        assert linked_facts.crowds_by_linked_facts(linked).tolist() == slow_smallest(people, related_pairs)


@settings(max_examples=40, deadline=None)
@given(PEOPLE)
def test_parts_do_not_change_crowds(people):
    linked = resolve(people)
    if linked is None:
        return
    whole = linked_facts.crowds_by_facts(linked, 2), linked_facts.crowds_by_linked_facts(linked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linked_facts, "MAX_SETS_AT_ONCE", 1)
        parts = linked_facts.crowds_by_facts(linked, 2), linked_facts.crowds_by_linked_facts(linked)
    assert [one.tolist() for one in whole] == [one.tolist() for one in parts]


@settings(max_examples=60, deadline=None)
@given(PEOPLE)
def test_disclosed_values(people):
    tables = database(people)
    if not all(table.num_rows for table in tables.values()):
        return
    linked = resolve_links(tables, "person", LINKS, {"person": ["sex"], "visit": ["reason"]}, [("test", "result")])
    values = [{result for _, tests in visits for result in tests} - {None} for _, visits in people]
    expected = 0
    for label, visits in people:
        pieces = [None, *{reason for reason, _ in visits}]
        crowds = [
            [number for number, (other, rest) in enumerate(people)
             if other == label and (position == 0 or piece in {reason for reason, _ in rest})]
            for position, piece in enumerate(pieces)
        ]  # fmt: skip
        # a test is a fact too: its label is that of its visit
        with_tests = [
            [number for number, (other, rest) in enumerate(people)
             if other == label and any(reason == known and tests for reason, tests in rest)]
            for known in {reason for reason, tests in visits if tests}
        ]  # fmt: skip
        expected += any(set.intersection(*(values[number] for number in crowd)) for crowd in crowds + with_tests)
    assert linked_facts.count_disclosed(linked, linked.sensitive[0], 1) == expected


def test_intervals_do_not_depend_on_a_shift():
    person = pa.table({"id": [1, 2, 3]})
    dates = ["2024-01-01", "2024-01-08", "2023-05-01", "2023-05-08", "2024-01-01", "2024-01-09"]
    visit = pa.table({"id": [1, 1, 2, 2, 3, 3], "day": dates})
    linked = resolve_links({"person": person, "visit": visit}, "person", [Link("visit", "id", "person", "id")],
                           {"visit": ["day"]})  # fmt: skip
    assert linked_facts.crowds_by_intervals(linked, linked.tables[0], "day").tolist() == [2, 2, 1]


def broken(change):
    """Return a database in which one thing is wrong."""
    tables = database([("a", [("a", ["b"])]), ("b", [("b", ["a"])])])
    change(tables)
    return tables


def set_column(tables, table, column, values):
    """Replace a column of one of the tables."""
    index = tables[table].column_names.index(column)
    tables[table] = tables[table].set_column(index, column, pa.array(values))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda tables: set_column(tables, "visit", "person", [0, 7]), "linked.orphans"),
        (lambda tables: set_column(tables, "visit", "person", [0, None]), "linked.orphans"),
        (lambda tables: set_column(tables, "person", "person", [1, 1]), "linked.key-not-unique"),
        (lambda tables: set_column(tables, "visit", "person", ["0", "1"]), "linked.key-types-differ"),
        (lambda tables: tables.update(test=tables["test"].slice(0, 0)), "linked.no-rows"),
        (lambda tables: tables.update(test=tables["test"].append_column("person", pa.array([1, 0]))),
         "linked.other-person"),
        (lambda tables: tables.pop("test"), "linked.unknown-table"),
        (lambda tables: tables.update(stray=pa.table({"x": [1]})), "linked.not-linked"),
    ],
)  # fmt: skip
def test_bad_links_are_refused(change, code):
    with pytest.raises(TableError) as caught:
        resolve_links(broken(change), "person", LINKS, {})
    assert caught.value.code == code


def test_narrow_integers_match_wide_ones():
    tables = broken(lambda tables: tables.update(person=tables["person"].set_column(
        0, "person", pa.array([0, 1], pa.int32()))))  # fmt: skip
    assert resolve_links(tables, "person", LINKS, {}).tables[0].person.tolist() == [0, 1]


def test_offsets_have_both_signs_and_one_value_per_person():
    person = pa.table({"id": [1, 2]})
    shift = pa.table({"id": [1, 1, 2], "days": [-40, -40, 91], "age": [1, 2, 3], "code": [-40, 4, 5]})
    linked = resolve_links({"person": person, "shift": shift}, "person", [Link("shift", "id", "person", "id")], {})
    found = [name for name in ("days", "age", "code") if linked_facts.is_offset(linked.tables[0], name)]
    assert found == ["days"]


def test_value_of_a_third_party():
    person = pa.table({"id": np.arange(4)})
    visit = pa.table({"id": [0, 1, 1, 2], "doctor": ["x", "x", "y", "x"]})
    linked = resolve_links({"person": person, "visit": visit}, "person", [Link("visit", "id", "person", "id")],
                           {"visit": ["doctor"]})  # fmt: skip
    assert linked_facts.crowds_by_value(linked, linked.tables[0], "doctor").tolist() == [3, 1, 3, 4]
