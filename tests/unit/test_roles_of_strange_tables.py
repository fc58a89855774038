"""Drafted roles of tables that no rule was written for.

Twelve tables in nine languages, with the labels of an expert. At the first look at the first eight, before the rules
were mended, 86 in 100 roles were right, 14 of 46 sensitive columns were taken for something that somebody knows, and
two keys were published. Of the four that were written after that, 82 in 100 were right. Of the fifteen written next
(``blind_tables``), 246 of 281 were right at the first look, 26 of 102 sensitive columns were missed, and the names of
mothers, the numbers of prisoners and a key of families were published.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pytest

from shoal.advice.profile import profile as profile_table
from tests.builders import blind_tables
from tests.builders.made_up_columns import Draw
from tests.builders.strange_tables import LATER_TABLES, ROWS, TABLES

MIN_RIGHT_SHARE = 0.95
ACCEPTABLE = {
    "identifier": {"identifier", "drop", "person"},
    "person": {"person"},
    "household": {"household", "identifier", "drop", "person"},
    "visible": {"quasi-identifier"},
    "fact": {"quasi-identifier", "sensitive", "other"},
    "sensitive": {"sensitive", "drop"},
    "harmless": {"other", "drop", "quasi-identifier"},
    "free text": {"drop", "identifier"},
}
HIDDEN = ("identifier", "person", "household", "free text")
MADE = (*TABLES, *LATER_TABLES)


@cache
def roles_of(make):
    """Return the labels and the drafted role of each column."""
    columns = make(Draw(100 + MADE.index(make), ROWS))
    table = pa.table(
        {name: [None if value == "" else str(value) for value in values] for name, (values, _) in columns.items()}
    )
    return {one.name: (columns[one.name][1], str(one.role)) for one in profile_table(table).columns}


@pytest.mark.parametrize("make", MADE, ids=[make.__name__ for make in MADE])
def test_roles_an_expert_accepts(make):
    wrong = {
        name: (labels, role)
        for name, (labels, role) in roles_of(make).items()
        if role not in set().union(*(ACCEPTABLE[label] for label in labels))
    }
    assert len(wrong) <= max(1, (1 - MIN_RIGHT_SHARE) * len(roles_of(make))), wrong
    assert not {name for name, (labels, _) in wrong.items() if labels[0] in (*HIDDEN, "sensitive")}, wrong


MAX_WRONG_OF_BLIND = 5
MAX_MISSED_OF_BLIND = 4


def test_roles_of_tables_written_blind():
    found = {}
    for position, make in enumerate(blind_tables.TABLES):
        columns = make(Draw(300 + position, blind_tables.ROWS))
        table = pa.table(
            {name: [None if value == "" else str(value) for value in values] for name, (values, _) in columns.items()}
        )
        found |= {
            (make.__name__, one.name): (columns[one.name][1], str(one.role)) for one in profile_table(table).columns
        }
    wrong = {
        key: (labels, role)
        for key, (labels, role) in found.items()
        if role not in set().union(*(ACCEPTABLE[label] for label in labels))
    }
    published = {key for key, (labels, role) in wrong.items() if labels[0] in HIDDEN}
    missed = {key for key, (labels, _) in wrong.items() if labels[0] == "sensitive"}
    assert not published, {key: found[key] for key in published}
    assert len(missed) <= MAX_MISSED_OF_BLIND, missed
    assert len(wrong) <= MAX_WRONG_OF_BLIND, wrong
