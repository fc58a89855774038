"""Rows found by known facts, against a count row by row."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.audit import known_facts
from shoal.errors import InputError
from shoal.io.engines.base import Source
from shoal.plan.plan import Plan
from shoal.utility.coded_tables import CodedColumn
from shoal.utility.labels import read_labels

GENERAL = {"1": "[1,2]", "2": "[1,2]", "3": "[3,4]", "4": "[3,4]"}
ROW = st.tuples(st.sampled_from("1234"), st.sampled_from("ab"), st.booleans(), st.booleans())


def coded(name, values):
    domain = tuple(sorted(set(values)))
    return CodedColumn(name, domain, np.array([domain.index(value) for value in values], np.int32))


def possible(label, value):
    return label in ("*", value, GENERAL.get(value))


@given(st.lists(ROW, min_size=1, max_size=12))
def test_crowds_equal_a_count_row_by_row(rows):
    truth = [(number, letter) for number, letter, _, _ in rows]
    released = [(GENERAL[n] if g else n, "*" if h else letter) for n, letter, g, h in rows]
    parts = []
    for j, name in enumerate(("number", "letter")):
        before, after = coded(name, [one[j] for one in truth]), coded(name, [one[j] for one in released])
        parts.append((before, after, read_labels(after.values, before.values)))
    expected = [
        sum(all(possible(label, value) for label, value in zip(other, one, strict=True)) for other in released)
        for one in truth
    ]
    assert known_facts.crowds_in_release(parts).tolist() == expected


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=20))
def test_sets_begin_with_the_best_column_and_end_with_all(rows):
    columns = [np.array(column) for column in zip(*rows, strict=True)]

    def exposed(chosen):
        keys = [tuple(row[j] for j in chosen) for row in rows]
        return sum(keys.count(key) < known_facts.SMALL_CROWD for key in keys)

    for j in range(3):
        sizes = known_facts.group_sizes([columns[j]])
        assert sizes.tolist() == [sum(row[j] == other[j] for other in rows) for row in rows]
    sets = known_facts.identifying_sets(columns)
    assert [len(one) for one in sets] == [1, 2, 3]
    assert exposed(sets[0]) == max(exposed([j]) for j in range(3))
    assert exposed(sets[1]) == max(exposed([*sets[0], j]) for j in range(3) if j not in sets[0])
    assert sorted(sets[2]) == [0, 1, 2]
    assert max(exposed(pair) for pair in combinations(range(3), 2)) >= exposed(sets[1])


def test_means_are_no_generalizations():
    before, after = coded("age", list("112244")), coded("age", ["1.5"] * 4 + ["4"] * 2)
    reading = read_labels(after.values, before.values)
    assert not known_facts.covers_original(before, after, reading)
    assert known_facts.crowds_in_release([(before, after, reading)]).tolist() == [4, 4, 4, 4, 2, 2]


PLAN = """
[columns.age]
role = "quasi-identifier"
hierarchy = { intervals = [10] }
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[[models]]
name = "k-anonymity"
k = 2
"""


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "before.csv").write_text("age,sex,ill\n21,f,a\n22,m,b\n23,f,c\n31,m,a\n32,m,b\n")
    (tmp_path / "after.csv").write_text("age,sex,ill\n20..29,*,a\n20..29,*,b\n20..29,*,c\n30..39,m,a\n30..39,m,b\n")
    return Source(tmp_path / "before.csv"), Source(tmp_path / "after.csv"), Plan.from_toml(PLAN, tmp_path)


def test_matches_before_and_after(tables):
    assert known_facts.count_matches(*tables, {"age": "21"}) == {"before": 1, "after": 3}
    assert known_facts.count_matches(*tables, {"age": "22", "sex": "m"}) == {"before": 1, "after": 3}
    assert known_facts.count_matches(*tables, {"age": "31", "sex": "m"}) == {"before": 1, "after": 2}
    assert known_facts.count_matches(*tables, {"sex": "f"}) == {"before": 2, "after": 3}
    assert known_facts.count_matches(*tables, {"sex": "x"}) == {"before": 0, "after": 0}


@pytest.mark.parametrize("facts", [{}, {"ill": "a"}, {"none": "a"}, {"age": "1", "sex": "f", "ill": "a", "b": "1"}])
def test_other_facts_are_refused(tables, facts):
    with pytest.raises(InputError):
        known_facts.count_matches(*tables, facts)


def test_shares_before_and_after(tables):
    found = known_facts.measure_known_facts(*tables)
    assert [one["columns"] for one in found["sets"]] == [["age"], ["age", "sex"]]
    assert found["sets"][0]["before"] == {"alone": 1.0, "below": 1.0}
    assert found["sets"][0]["after"] == {"alone": 0.0, "below": 1.0}
    assert found["offered"] == {"age": [], "sex": []}  # values of fewer than five rows are not offered
    before, _, plan = tables
    assert "after" not in known_facts.measure_known_facts(before, None, plan)["sets"][0]
