"""Partial knowledge on constructed tables.

Covers each way to count, what fails, and what is certain without the original.
"""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.models import KeySet, LooselyKnown
from shoal.models import partial_knowledge as known_models
from shoal.models.scenarios import bind_keys
from tests.builders.conformance import SECRETS
from tests.builders.errors import has_code
from tests.builders.partial_knowledge import assert_agreement, evaluate_both_ways
from tests.reference import known as slow


@pytest.mark.parametrize("name", ["k", "p", "t equal"])
def test_ways_to_count_agree_on_sets_of_three_columns(name):
    """Every combination with every secret twice, some cells hidden.

    Models hold on it, or nearly. The columns have three, two, two labels and one: if two count as many
    (``evaluate_both_ways``), some are counted by dictionaries and others by sums, and the rarest rows are determined by
    the first three columns alone.
    """
    labels = product("pqr", "pq", "pq", "p")
    people = [list(cells) for cells in labels for _ in range(2 * len(SECRETS))]
    released = [["*" if (i + j) % 7 == 0 else cell for j, cell in enumerate(cells)] for i, cells in enumerate(people)]
    secrets = [SECRETS[i % len(SECRETS)] for i in range(len(people))]
    assert_agreement(people, released, secrets, lambda model: LooselyKnown(model, 3), slow.up_to(range(4), 3), name)


def test_failing_rows_are_those_of_failing_groups():
    table = pa.table({"a": list("ppqqq*"), "b": list("rrssss"), "s": list("uuuvwu")})
    answer = shoal.check(
        table, ["p-sensitive p=2 known=1 reading=loose"], quasi_identifiers=["a", "b"], sensitive=["s"]
    ).to_dict()
    assert answer["failing_rows"] == 3  # those of p, which are those of r; and the one that can be a p too


def test_certain_rows_with_a_partly_hidden_column():
    """One of two columns is hidden in some rows.

    These rows are certain only for rows that hide the column, too.
    """
    people = [["p", "q"], ["p", "q"], ["q", "q"], ["q", "q"], ["p", "r"], ["q", "r"], ["q", "r"]]
    released = [[a, b.replace("r", "*")] for a, b in people]
    found, _ = evaluate_both_ways(
        people, released, ["u"] * 7, LooselyKnown(shoal.models.KAnonymity(2), 2), with_source=False
    )
    assert found.facts is None  # what is visible is frequent
    assert found.effective["rows_per_person"] == 1  # the only (p, *)


def test_key_set_replaces_the_same_model_and_column_only():
    """A model of a key set replaces the one of its name and column alone."""
    general = (shoal.models.KAnonymity(5), shoal.models.PSensitive(2, "s"), shoal.models.PSensitive(3, "t"))
    key = KeySet(("a", "b"), k=9, models=(shoal.models.PSensitive(4, "s"),), reading="loose")
    bound = bind_keys(general, (key,))
    assert [part.of for part in bound] == [
        shoal.models.KAnonymity(9),
        shoal.models.PSensitive(4, "s"),
        shoal.models.PSensitive(3, "t"),
    ]
    for_all = KeySet(
        ("a",), models=(shoal.models.PSensitive(4),), reading="loose"
    )  # without a column, that is for each
    assert [part.of for part in bind_keys(general, (for_all,))] == [
        shoal.models.PSensitive(4), shoal.models.KAnonymity(5)
    ]  # fmt: skip


def test_key_set_limit_of_twelve_columns():
    names = tuple("abcdefghijklm")
    assert KeySet(names[:12], reading="loose").columns == names[:12]
    with pytest.raises(shoal.errors.PlanError, check=has_code("plan.key-set-too-large", limit=12, found=13)):
        KeySet(names, reading="loose")


def test_rows_hiding_a_column_are_in_none_of_its_groups():
    """The one group of the first column fails, without the hidden rows.

    Rows that hide the column are not counted among its rows.
    """
    table = pa.table({"a": ["x", "x", "*", "*"], "b": ["y"] * 4, "s": ["1", "1", "2", "3"]})
    found = shoal.check(table, ["p-sensitive p=2 known=1 reading=loose"], quasi_identifiers=["a", "b"], sensitive=["s"])
    assert (found.models[0].failing_groups, found.models[0].failing_rows) == (1, 2)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from("pppq*")] * 3), min_size=1, max_size=25),
    st.integers(1, 3),
    st.sampled_from([2, 3]),
    st.booleans(),
)
def test_failing_rows_are_those_of_all_sets(rows, known, k, compiled):
    """Rows that fail on some set, also where single columns fail already."""
    table = pa.table({name: [row[j] for row in rows] for j, name in enumerate("abc")})
    with patch.object(known_models, "MIN_ENTRIES_TO_COMPILE", 0 if compiled else 10**9):
        answer = shoal.check(table, [f"k-anonymity k={k} known={known} reading=loose"], quasi_identifiers=list("abc"))
    failing = set()
    for chosen in slow.up_to(range(3), known):
        for group in slow.groups(rows, range(len(rows)), chosen):
            failing |= set(group) if len(group) < k else set()
    verdict, groups = answer.models[0], {rows[i] for i in failing}
    assert (answer.failing_rows, verdict.failing_rows) == (len(failing), len(failing))
    assert (answer.failing_groups, verdict.failing_groups) == (len(groups), len(groups))
    assert answer.groups == len(set(rows)) >= answer.failing_groups
