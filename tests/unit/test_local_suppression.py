"""Local suppression with few stars, read strictly or loosely."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.methods.local.suppression_search import _remove_unneeded_stars
from shoal.table.wildcard_matches import count_candidates, count_certain_candidates, smallest_candidate_count
from tests.builders.errors import has_code
from tests.reference import local_recoding as slow

SCHEMA = shoal.schema.Schema({name: shoal.Column(shoal.Role.QUASI_IDENTIFIER) for name in ("a", "b", "c")})


def random_table(seed, rows=120):
    random = np.random.default_rng(seed)
    shares = [0.5, 0.3, 0.15, 0.05]
    return pa.table({name: random.choice(list("wxyz"), rows, p=shares) for name in SCHEMA.columns})


def release(table, k, **parameters):
    return shoal.anonymize(
        table, shoal.Plan(SCHEMA, (shoal.models.KAnonymity(k),), shoal.methods.LocalSuppression(**parameters))
    )


def rows_of(table):
    return [tuple(row.values()) for row in table.to_pylist()]


def stars(rows):
    return sum(cell == "*" for row in rows for cell in row)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 4])
def test_strict_stars_match_only_stars(seed, k):
    table = random_table(seed)
    found = release(table, k)
    released = rows_of(found.table)
    assert min(Counter(released).values()) >= k
    assert found.figures["method"]["suppressed_cells"] == stars(released)
    by_column = found.figures["method"]["suppressed_cells_by_column"]
    assert by_column == {name: found.table[name].to_pylist().count("*") for name in SCHEMA.columns}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 4])
def test_loose_release_has_k_candidate_rows_and_people(seed, k):
    """k rows can be each person's, and k people are behind each row."""
    table = random_table(seed)
    found = release(table, k, missing="loose")
    released = rows_of(found.table)
    theirs, behind = slow.loose_crowd(rows_of(table), released)
    assert min(*theirs, *behind) >= k
    assert found.figures["smallest_group"] == min(*theirs, *behind)
    assert found.figures["models"][0]["effective"]["k"] == min(*theirs, *behind)
    assert found.figures["risk"]["highest"] == 1 / min(*theirs, *behind)
    assert found.figures["method"]["parameters"]["missing"] == "loose"
    assert stars(released) <= stars(rows_of(release(table, k).table))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(*[st.sampled_from("xy")] * 3), min_size=1, max_size=8),
    st.data(),
)
def test_candidate_counts_match_the_reference(people, data):
    rows = [tuple(data.draw(st.sampled_from([cell, "*"])) for cell in person) for person in people]
    code = {"*": -1, "x": 0, "y": 1}
    known = np.asarray([[code[cell] for cell in person] for person in people], np.int32)
    released = np.asarray([[code[cell] for cell in row] for row in rows], np.int32)
    one = np.ones(len(people), np.int64)
    theirs, behind = count_candidates(known, one, released, one)
    slow_theirs, slow_behind = slow.loose_crowd(people, rows)
    assert (theirs.tolist(), behind.tolist()) == (slow_theirs, slow_behind)
    least = smallest_candidate_count(known, one, released, one)
    for index, row in enumerate(rows):
        can_be = [n for n, person in zip(slow_theirs, people, strict=True) if slow.loose_crowd([person], [row])[0][0]]
        assert least[index] == min(slow_behind[index], *can_be)
    assert (count_certain_candidates(released, one) <= least).all()


def test_row_matched_only_by_stars_is_not_safe():
    """Rows that do not contradict each other may be of different people."""
    people = np.asarray([[0, 0], [1, 1]], np.int32)
    released = np.asarray([[0, -1], [-1, 1]], np.int32)
    assert smallest_candidate_count(people, np.ones(2, np.int64), released, np.ones(2, np.int64)).tolist() == [1, 1]


def test_a_loose_release_is_checked_loosely_with_its_plan_only():
    table = pa.table({"a": list("xxxy"), "b": list("wwww"), "c": list("zzzz")})
    plan = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(2),), shoal.methods.LocalSuppression(missing="loose"))
    released = shoal.anonymize(table, plan).table
    assert stars(rows_of(released)) == 2
    assert shoal.check(released, plan=plan).holds
    starred = pa.table({"a": list("xxx*"), "b": list("wwww"), "c": list("zzzz")})
    assert not shoal.check(starred, plan=plan).holds


def test_importance_decides_the_columns_of_stars():
    table = pa.table({"a": list("xxyy"), "b": list("wzwz"), "c": list("kkkk")})
    for dear, cheap in (("a", "b"), ("b", "a")):
        for missing in ("strict", "loose"):
            found = release(table, 2, importance={dear: 5}, missing=missing)
            assert found.table[dear].to_pylist().count("*") == 0
            assert found.table[cheap].to_pylist().count("*") == 4


def test_nothing_to_suppress():
    table = pa.table({"a": list("xx"), "b": list("yy"), "c": list("zz")})
    for missing in ("strict", "loose"):
        found = release(table, 2, missing=missing)
        assert found.figures["method"]["suppressed_cells"] == 0


def test_hierarchies_are_not_used():
    schema = shoal.schema.Schema({"age": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Widths((10,)))})
    table = pa.table({"age": [20, 21, 30, 30]})
    found = shoal.anonymize(table, shoal.Plan(schema, (shoal.models.KAnonymity(2),), shoal.methods.LocalSuppression()))
    assert Counter(found.table["age"].to_pylist()) == {"*": 2, "30": 2}


def test_wrong_parameters():
    with pytest.raises(shoal.errors.PlanError, match="strict or loose"):
        shoal.methods.LocalSuppression(missing="maybe")
    schema = shoal.schema.Schema({**SCHEMA.columns, "s": shoal.Column(shoal.Role.SENSITIVE)})
    with pytest.raises(shoal.errors.PlanError, check=has_code("method.loose-needs-k-anonymity")):
        shoal.Plan(
            schema,
            (shoal.models.KAnonymity(2), shoal.models.PSensitive(2)),
            shoal.methods.LocalSuppression(missing="loose"),
        )


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(*[st.sampled_from("xyz")] * 3), min_size=4, max_size=14), st.integers(2, 3), st.integers(0, 2)
)
def test_unneeded_stars_are_removed(people, k, dear):
    """From rows that show nothing, until every remaining star is needed.

    k rows can be each person's, and k people are behind each row; with any star fewer this fails.
    """
    codes = np.asarray([["xyz".index(cell) for cell in person] for person in people], np.int32)
    one = np.ones(len(people), np.int64)
    weight = np.asarray([1.0 + (j == dear) for j in range(3)])
    stars = _remove_unneeded_stars(codes, one, np.ones(codes.shape, np.bool_), weight, k)

    def is_safe(starred):
        rows = [tuple("*" if hidden else cell for hidden, cell in zip(*both, strict=True)) for both in
                zip(starred, people, strict=True)]  # fmt: skip
        theirs, behind = slow.loose_crowd(people, rows)
        return min(*theirs, *behind) >= k

    assert is_safe(stars)
    for unit, j in np.argwhere(stars):
        trial = stars.copy()
        trial[unit, j] = False
        assert not is_safe(trial)


def test_no_star_is_removed_after_the_deadline():
    codes = np.zeros((4, 2), np.int32)
    stars = np.ones((4, 2), np.bool_)
    one, weight = np.ones(4, np.int64), np.ones(2)
    assert not _remove_unneeded_stars(codes, one, stars, weight, 2).any()
    assert _remove_unneeded_stars(codes, one, stars, weight, 2, deadline=0.0).all()
