"""Worked tables of the two papers on (p, α) and (p+, α).

Verdicts, weights and distances.
"""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import shoal
from shoal.datasets.patients import CATEGORIES, COLUMNS, TABLES

CONDITION = {"condition": shoal.Column(shoal.Role.SENSITIVE, categories=CATEGORIES)}


def check_table(number, *models):
    table = pa.table(dict(zip(COLUMNS, map(list, zip(*TABLES[number], strict=True)), strict=True)))
    return shoal.check(table, models, quasi_identifiers=COLUMNS[:3], sensitive=CONDITION)


def test_table_1_is_not_2_anonymous():
    answer = check_table(1, "k-anonymity k=2")
    assert (answer.holds, answer.groups, answer.failing_rows) == (False, 12, 12)


def test_table_2_is_2_anonymous_in_five_groups():
    answer = check_table(2, "k-anonymity k=2")
    assert answer.holds
    assert (answer.rows, answer.groups, answer.smallest_group) == (12, 5, 2)
    assert not check_table(2, "k-anonymity k=3").holds
    assert not check_table(2, "p-sensitive p=2").holds  # both of "<30, 1424*" have cancer


def test_table_5_is_2_sensitive_4_anonymous_and_not_2_plus_2():
    assert check_table(5, "k-anonymity k=4", "p-sensitive p=2").holds
    answer = check_table(5, "k-anonymity k=4", "p-plus-alpha-sensitive p=2 alpha=2")
    assert not answer.holds
    assert (answer.failing_groups, answer.failing_rows) == (2, 8)
    assert answer.models[1].effective == {"p": 1, "alpha": 0}


def test_every_group_is_tested():
    """Do not stop at the first good group.

    Algorithm 1 of the (p+, α) paper breaks its loop at the first good group and accepts Table 5.
    """
    answer = check_table(5, "p-plus-alpha-sensitive p=2 alpha=2")
    assert answer.groups - answer.failing_groups == 1  # the good group that would end the loop
    assert not answer.holds


def test_table_6_is_2_plus_2_sensitive_4_anonymous():
    answer = check_table(6, "k-anonymity k=4", "p-plus-alpha-sensitive p=2 alpha=2")
    assert answer.holds
    assert answer.models[1].effective == {"p": 2, "alpha": 2}
    assert not check_table(6, "p-plus-alpha-sensitive p=2 alpha=2.0001").holds


def test_table_7_is_3_1_sensitive_4_anonymous():
    answer = check_table(7, "k-anonymity k=4", "p-alpha-sensitive p=3 alpha=1")
    assert answer.holds
    assert answer.models[1].effective == {"p": 3, "alpha": 1}
    assert not check_table(7, "p-alpha-sensitive p=3 alpha=1.01").holds
    assert not check_table(7, "p-alpha-sensitive p=4 alpha=1").holds


def test_worked_distances_and_weights():
    assert CATEGORIES.distance("Cancer", "Flu") == 1
    assert CATEGORIES.distance("Phthisis", "Asthma") == Fraction(1, 3)
    assert CATEGORIES.distance("HIV", "Cancer") == 0
    weights = [CATEGORIES.weight(value) for value in ("Cancer", "Phthisis", "Asthma", "Flu")]
    assert weights == [0, Fraction(1, 3), Fraction(2, 3), 1]
    assert sum(weights) == 2


@pytest.mark.parametrize(("first", "weight"), [(0, 1), (4, 2), (8, 3)])
def test_total_weights_of_table_7_groups(first, weight):
    assert sum(CATEGORIES.weight(row[3]) for row in TABLES[7][first : first + 4]) == weight


def test_levels_turn_table_1_into_table_5():
    table = pa.table(dict(zip(COLUMNS, map(list, zip(*TABLES[1], strict=True)), strict=True)))
    plan = shoal.Plan(
        shoal.schema.Schema(
            {
                "age": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Cuts(((30, 40), (40,)))),
                "country": shoal.Column(
                    shoal.Role.QUASI_IDENTIFIER,
                    shoal.schema.Tree({"America": ["USA", "Canada"], "Asia": ["China", "Japan", "India"]}),
                ),
                "zip": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Prefix()),
                **CONDITION,
            }
        ),
        (shoal.models.KAnonymity(4), shoal.models.PSensitive(2)),
        shoal.methods.Levels({"age": 1, "country": 1, "zip": 2}),
    )
    release = shoal.anonymize(table, plan)
    rename = {"<30": "<30", "30..39": "3*", ">=40": ">40"}
    rows = sorted((rename[row["age"]], *list(row.values())[1:]) for row in release.table.to_pylist())
    assert rows == sorted(TABLES[5])
    assert release.risk == {"highest": 0.25, "average": 0.25}
