"""Attacks on columns with harmless values.

Learning one harms nobody. Each figure is compared with a slow twin that goes through the rows.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.schema import Categories, Column, Role

VALUES = ("no", "none", "flu", "gout", "HIV")
HARMLESS = ("no", "none")
CATEGORIES = (("HIV",), ("flu", "gout"), ("no", "none"))
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from((*VALUES, None))), min_size=1, max_size=14)


def attacked(rows, **more):
    table = pa.table({"age": [age for age, _ in rows], "ill": [ill for _, ill in rows]})
    ill = Column(Role.SENSITIVE, harmless=HARMLESS, categories=Categories(CATEGORIES))
    return shoal.attack(table, quasi_identifiers="age", sensitive={"ill": ill}, **more)


def groups_of(rows):
    found: dict[str, list[str]] = {}
    for age, ill in rows:
        if ill is not None:
            found.setdefault(age, []).append(ill)
    return list(found.values())


def is_harmful(value):
    return value not in HARMLESS


def commonest(values):
    """Count the most frequent value, if it is a harmful one."""
    counts = Counter(values)
    harmful = max((count for value, count in counts.items() if is_harmful(value)), default=0)
    return harmful if harmful == max(counts.values(), default=0) else 0


def category(value):
    return next(index for index, members in enumerate(CATEGORIES) if value in members)


@settings(max_examples=60, deadline=None)
@given(ROWS.filter(lambda rows: any(ill is not None for _, ill in rows)), st.integers(0, 2))
def test_rows_exposed_by_harmful_values(rows, excluded):
    found = attacked(rows, excluded=excluded)
    groups, everybody = groups_of(rows), [ill for _, ill in rows if ill is not None]
    one_value = [group for group in groups if len(set(group)) == 1 and is_harmful(group[0])]
    one_category = [group for group in groups if len(set(map(category, group))) == 1 and all(map(is_harmful, group))]
    narrow = [group for group in groups if len(set(group)) <= excluded + 1]
    expected = {
        "homogeneity": sum(map(len, one_value)),
        "similarity": sum(map(len, one_category)),
        "inference": sum(map(commonest, groups)),
        "background knowledge": sum(is_harmful(value) for group in narrow for value in group),
    }
    assert {name: found.named(name, "ill").exposed for name in expected} == expected
    assert found.named("homogeneity").baseline == found.named("inference").baseline == commonest(everybody)
    shares = [group.count(value) / len(group) for group in groups for value in group if is_harmful(value)]
    assert found.named("inference").figures["highest_share"] == pytest.approx(max(shares, default=0))


@settings(max_examples=40, deadline=None)
@given(ROWS.filter(lambda rows: any(ill is not None for _, ill in rows)), st.integers(1, 4))
def test_people_exposed_by_harmful_values(rows, members):
    """Everybody of a group has a value: one of all is learned, if it harms."""
    table = pa.table(
        {
            "age": [age for age, _ in rows],
            "ill": [ill for _, ill in rows],
            "who": [n % members for n in range(len(rows))],
        }
    )
    ill = Column(Role.SENSITIVE, harmless=HARMLESS)
    found = shoal.attack(table, quasi_identifiers="age", sensitive={"ill": ill}, person="who")
    values: dict[int, set[str]] = {}
    crowd: dict[str, set[int]] = {}
    for number, (age, value) in enumerate(rows):
        crowd.setdefault(age, set()).add(number % members)
        if value is not None:
            values.setdefault(number % members, set()).add(value)
    exposed = set()
    for people in crowd.values():
        known = {person for person in people if person in values}
        shared = set.intersection(*(values[person] for person in known)) if known else set()
        if any(map(is_harmful, shared)):
            exposed |= known
    assert found.named("homogeneity", "ill").exposed == len(exposed)


def test_linked_people_learn_no_harm_from_harmless_values():
    rows = [("a", "no"), ("a", "none"), ("b", "flu"), ("b", "flu"), ("c", "no"), ("c", "flu")]
    original = pa.table({"age": [age for age, _ in rows]})
    found = attacked(rows, original=original)
    for learns in ("the value", "the category"):
        linked = [one for one in found.results if (one.name, one.learns) == ("linkage of everybody", learns)]
        assert [one.exposed for one in linked] == [2]
