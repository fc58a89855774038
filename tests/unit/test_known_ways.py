"""Few known columns, on tables made for it: each way to count, what fails, what is certain without the original."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

import shoal
from shoal.models.partial_knowledge import KeySet, Known, bind_keys
from tests.conformance.test_methods import SECRETS
from tests.reference import known as slow
from tests.unit.test_known import agree, both


@pytest.mark.parametrize("name", ["k", "p", "t equal"])
def test_the_ways_to_count_agree_where_three_columns_are_looked_at(name):
    """Every combination with every secret twice, some cells hidden: models hold of it, or nearly.

    The columns have three, two, two labels and one: where two are many (``both``), some are counted by dictionaries and
    others by sums, and the rarest rows are told by the first three columns alone.
    """
    labels = product("pqr", "pq", "pq", "p")
    people = [list(cells) for cells in labels for _ in range(2 * len(SECRETS))]
    released = [["*" if (i + j) % 7 == 0 else cell for j, cell in enumerate(cells)] for i, cells in enumerate(people)]
    secrets = [SECRETS[i % len(SECRETS)] for i in range(len(people))]
    agree(people, released, secrets, lambda model: Known(model, 3), slow.up_to(range(4), 3), name)


def test_the_rows_that_fail_are_those_of_the_groups_that_fail():
    table = pa.table({"a": list("ppqqq*"), "b": list("rrssss"), "s": list("uuuvwu")})
    told = shoal.check(table, ["p-sensitive p=2 known=1"], quasi_identifiers=["a", "b"], sensitive=["s"]).to_dict()
    assert told["failing_rows"] == 2  # those of p, which are those of r; a hidden cell is in no group


def test_where_one_of_two_columns_is_hidden_in_places_its_rows_are_certain_where_they_hide_it_too():
    people = [["p", "q"], ["p", "q"], ["q", "q"], ["q", "q"], ["p", "r"], ["q", "r"], ["q", "r"]]
    released = [[a, b.replace("r", "*")] for a, b in people]
    found, _ = both(people, released, ["u"] * 7, Known(shoal.KAnonymity(2), 2), with_source=False)
    assert found.facts is None  # what is shown is frequent
    assert found.effective["rows_per_person"] == 1  # the only (p, *)


def test_a_demand_of_a_key_set_replaces_the_one_of_its_name_and_column_alone():
    general = (shoal.KAnonymity(5), shoal.PSensitive(2, "s"), shoal.PSensitive(3, "t"))
    key = KeySet(("a", "b"), k=9, models=(shoal.PSensitive(4, "s"),))
    bound = bind_keys(general, (key,))
    assert [part.of for part in bound] == [shoal.KAnonymity(9), shoal.PSensitive(4, "s"), shoal.PSensitive(3, "t")]
    for_all = KeySet(("a",), models=(shoal.PSensitive(4),))  # of no column, that is of each
    assert [part.of for part in bind_keys(general, (for_all,))] == [
        shoal.PSensitive(4), shoal.KAnonymity(5)
    ]  # fmt: skip


def test_a_key_set_has_twelve_columns_at_most():
    names = tuple("abcdefghijklm")
    assert KeySet(names[:12]).columns == names[:12]
    with pytest.raises(shoal.PlanError, match="at most 12 columns; found 13"):
        KeySet(names)


def test_rows_that_hide_a_column_are_in_none_of_its_groups():
    """The one group of the first column fails; the rows that hide it are not counted among its rows."""
    table = pa.table({"a": ["x", "x", "*", "*"], "b": ["y"] * 4, "s": ["1", "1", "2", "3"]})
    found = shoal.check(table, ["p-sensitive p=2 known=1"], quasi_identifiers=["a", "b"], sensitive=["s"])
    assert (found.models[0].failing_groups, found.models[0].failing_rows) == (1, 2)
