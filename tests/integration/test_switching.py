"""Switching: the paper's tables, termination and reported figures."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.datasets.patients import CATEGORIES, COLUMNS, TABLES
from shoal.models import combine, initial_models
from tests.builders.errors import has_code

SCHEMA = shoal.schema.Schema(
    {
        "age": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Cuts(((30, 40), (40,)))),
        "country": shoal.Column(
            shoal.Role.QUASI_IDENTIFIER,
            shoal.schema.Tree({"America": ["USA", "Canada"], "Asia": ["China", "Japan", "India"]}),
        ),
        "zip": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Prefix()),
        "condition": shoal.Column(shoal.Role.SENSITIVE, categories=CATEGORIES),
    }
)
TABLE_5 = shoal.methods.Levels({"age": 1, "country": 1, "zip": 2})
GOAL = (shoal.models.KAnonymity(4), shoal.models.PPlusAlphaSensitive(2, 2))


def patients(zip_of_3="14246"):
    rows = [list(row) for row in TABLES[1]]
    rows[2][2] = zip_of_3
    return pa.table(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)))


def switch(table, **parameters):
    return shoal.anonymize(table, shoal.Plan(SCHEMA, GOAL, shoal.methods.Switching(start=TABLE_5, **parameters)))


def test_from_table_5_to_a_2_plus_2_sensitive_table():
    """No group of one category is left.

    Table 5 has two of them; the number of groups is that of Table 6.
    """
    release = switch(patients(), polish=False)
    method = release.figures["method"]
    assert release.figures["groups"] == 3
    assert release.figures["smallest_group"] == 4
    assert method["failing_groups_before"] == 2
    assert method["failing_rows_before"] == 8
    assert (method["switches"], method["merges"]) == (2, 0)
    assert all(model["holds"] for model in release.figures["models"])
    groups = {}
    for row in release.table.to_pylist():
        groups.setdefault((row["age"], row["country"], row["zip"]), []).append(row["condition"])
    assert sorted(groups[">=40", "Asia", "130**"]) == ["Asthma", "Heart Disease", "Hepatitis", "Phthisis"]


def test_table_6_with_a_fitting_zip_of_record_3():
    """With a zip that fits, switching gives Table 6 itself.

    Table 6 shows record 3 (zip 14246) as 1420*.
    """
    released = switch(patients("14206")).table
    names = {"<40": "<40", ">=40": ">40"}
    rows = sorted((names[row["age"]], row["country"], row["zip"], row["condition"]) for row in released.to_pylist())
    assert rows == sorted(TABLES[6])


def test_distortion_not_above_table_6():
    """Compare with Table 6 as if its zip of record 3 were right.

    12 rows with hierarchies of 3, 2 and 5 levels; eight rows are at levels 2, 1 and 1 of age, country and zip, four at
    1, 1 and 2.
    """
    hierarchy = {"age": 3, "country": 2, "zip": 5}
    printed = (8 * (2 + 1 + 1) + 4 * (1 + 1 + 2)) / (12 * sum(hierarchy.values()))
    release = switch(patients(), loss="distortion-ratio")
    assert release.utility["distortion_ratio"] <= printed + 1e-12


def test_groups_beyond_switching_are_merged():
    """Three groups weigh 1, 1 and 2: no switching gives each of them 2."""
    schema = shoal.schema.Schema(
        {
            "place": shoal.Column(shoal.Role.QUASI_IDENTIFIER),
            "secret": shoal.Column(shoal.Role.SENSITIVE, categories=shoal.schema.Categories((("bad",), ("good",)))),
        }
    )
    table = pa.table({"place": list("aabbcc"), "secret": ["bad", "good", "bad", "good", "good", "good"]})
    models = (shoal.models.KAnonymity(2), shoal.models.PAlphaSensitive(1, 2))
    release = shoal.anonymize(table, shoal.Plan(schema, models, shoal.methods.Switching(polish=False)))
    assert release.figures["method"]["merges"] >= 1
    assert all(model["holds"] for model in release.figures["models"])


def test_p_and_alpha_of_the_method_are_met():
    """The plan itself requires k-anonymity only."""
    plan = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(4),), shoal.methods.Switching(p=2, alpha=2, start=TABLE_5))
    released = shoal.anonymize(patients(), plan).table
    answer = shoal.check(
        released,
        ["p-plus-alpha-sensitive p=2 alpha=2"],
        quasi_identifiers=COLUMNS[:3],
        sensitive={"condition": SCHEMA.columns["condition"]},
    )
    assert answer.holds


def test_models_of_the_initial_groups():
    goal = combine((*GOAL, shoal.models.TCloseness(0.3), shoal.models.PAlphaSensitive(3, 1, "condition")))
    assert initial_models(goal).parts == (
        shoal.models.KAnonymity(4),
        shoal.models.PSensitive(2),
        shoal.models.PSensitive(3, "condition"),
    )
    assert initial_models(combine([shoal.models.TCloseness(0.3)])).parts == (shoal.models.KAnonymity(2),)


@pytest.mark.parametrize("seed", range(6))
def test_random_tables(seed):
    random = np.random.default_rng(seed)
    rows = 150
    table = pa.table(
        {
            "age": random.integers(18, 70, rows),
            "country": random.choice(["USA", "Canada", "China", "Japan", "India"], rows),
            "zip": [str(code) for code in random.integers(14200, 14300, rows)],
            "condition": random.choice([value for values in CATEGORIES.classes for value in values], rows),
        }
    )
    models = (shoal.models.KAnonymity(3), shoal.models.PPlusAlphaSensitive(3, 2))
    release = shoal.anonymize(table, shoal.Plan(SCHEMA, models, shoal.methods.Switching(polish=False)))
    method = release.figures["method"]
    assert method["failing_groups_before"] > 0
    assert method["switches"] == method["exchanged"] + method["taken_over"]
    assert release.figures["groups"] <= method["groups_before"] - method["merges"]


def test_wrong_parameters():
    with pytest.raises(shoal.errors.PlanError, check=has_code("method.switching-needs-p-and-alpha")):
        shoal.methods.Switching(p=2)
    with pytest.raises(shoal.errors.PlanError, match="another method"):
        shoal.methods.Switching(start="switching")
    with pytest.raises(shoal.errors.PlanError, match="no method named 'nothing'"):
        shoal.methods.Switching(start={"name": "nothing"})
    with pytest.raises(shoal.errors.PlanError, match="has no parameter 'speed'"):
        shoal.methods.Switching(start={"name": "top-down", "speed": 1})


@pytest.mark.parametrize("method", [shoal.methods.Switching, shoal.methods.Refine])
def test_refused_start_methods(method):
    """A start needs groups, and no promise beyond its groups.

    Without groups there are no rows to move; moving rows would break such a promise.
    """
    for start in (
        shoal.methods.AntiUnification(patterns="overlapping"),
        shoal.methods.LocalSuppression(missing="loose"),
    ):
        with pytest.raises(shoal.errors.PlanError, match="no groups"):
            method(start=start)
    with pytest.raises(shoal.errors.PlanError, check=has_code("method.start-promise-void")):
        method(start=shoal.budget.methods.PopulationGrid(5, "ledger.toml", universe=100))
