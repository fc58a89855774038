"""Drafted roles of tables that no rule was written for.

Twelve tables in nine languages, with the labels of an expert. At the first look at the first eight, before the rules
were mended, 86 in 100 roles were right, 14 of 46 sensitive columns were taken for something that somebody knows, and
two keys were published. Of the four that were written after that, 82 in 100 were right. Of the fifteen written next
(``blind_tables``), 246 of 281 were right at the first look, 26 of 102 sensitive columns were missed, and the names of
mothers, the numbers of prisoners and a key of families were published. Of the first eight of ``fresh_tables`` 163 of
175 were right at the first look, 7 of 57 sensitive columns were missed and a key of patients was published as a
quasi-identifier; of the first eight of ``public_headers`` 189 of 197 were right (two labels were corrected since:
experts take the satisfaction of employees for a harmless fact, too), and 4 of 71 missed. The later tables of both were
looked at once, after the rules had been mended with the first ones: 155 of 175 and 234 of 247 were right, 6 of 53 and 8
of 102 sensitive columns missed, and a recipient's name, initials and three keys of households were published as
quasi-identifiers. That is what to expect of unknown tables: since then the rules know them, too, and two labels and
three columns of these tables, which had faults, were corrected.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pytest

from shoal.advice.profile import profile as profile_table
from tests.builders import blind_tables, fresh_tables, public_headers
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


MAX_WRONG_SHARE = 0.02
MAX_MISSED_SHARE = 0.03
SETS = {
    "blind": [make(Draw(300 + at, blind_tables.ROWS)) for at, make in enumerate(blind_tables.TABLES)],
    "fresh": [make(Draw(500 + at, fresh_tables.ROWS)) for at, make in enumerate(fresh_tables.SEEN)],
    "public": [
        public_headers.table_of(lines, Draw(700 + at, public_headers.ROWS))
        for at, lines in enumerate(public_headers.SEEN.values())
    ],
    "later fresh": [make(Draw(600 + at, fresh_tables.ROWS)) for at, make in enumerate(fresh_tables.LATER)],
    "later public": [
        public_headers.table_of(lines, Draw(800 + at, public_headers.ROWS))
        for at, lines in enumerate(public_headers.LATER.values())
    ],
}


@pytest.mark.parametrize("which", SETS)
def test_roles_of_tables_written_blind(which):
    found = {}
    for position, columns in enumerate(SETS[which]):
        table = pa.table(
            {name: [None if value == "" else str(value) for value in values] for name, (values, _) in columns.items()}
        )
        found |= {(position, one.name): (columns[one.name][1], str(one.role)) for one in profile_table(table).columns}
    wrong = {
        key: (labels, role)
        for key, (labels, role) in found.items()
        if role not in set().union(*(ACCEPTABLE[label] for label in labels))
    }
    sensitive = [key for key, (labels, _) in found.items() if labels[0] == "sensitive"]
    assert not {key for key, (labels, _) in wrong.items() if labels[0] in HIDDEN}, wrong
    assert len(set(sensitive) & set(wrong)) <= MAX_MISSED_SHARE * len(sensitive), wrong
    assert len(wrong) <= MAX_WRONG_SHARE * len(found), wrong
