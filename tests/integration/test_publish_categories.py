"""Publishing categories instead of sensitive values.

Models and verification refer to the published table.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import shoal
from shoal.datasets.patients import CATEGORIES, COLUMNS, TABLES

QUASI = {
    "age": {"role": "quasi-identifier", "hierarchy": {"cuts": [[30, 40], [40]]}},
    "country": {
        "role": "quasi-identifier",
        "hierarchy": {"tree": {"America": ["USA", "Canada"], "Asia": ["China", "Japan", "India"]}},
    },
    "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": True}},
}
CONDITION = {
    "role": "sensitive",
    "categories": [list(values) for values in CATEGORIES.classes],
    "category_names": list(CATEGORIES.names),
    "publish": "categories",
}
PATIENTS = pa.table(dict(zip(COLUMNS, map(list, zip(*TABLES[1], strict=True)), strict=True)))


def plan(models, method, condition=CONDITION):
    return shoal.Plan.from_dict({"columns": {**QUASI, "condition": condition}, "models": models, "method": method})


METHODS = [
    {"name": "full-domain"},
    {"name": "levels", "levels": {"age": 2, "country": 2, "zip": 5}},
    {"name": "top-down"},
    {"name": "mondrian"},
    {"name": "switching"},
    {"name": "refine"},
    {"name": "local-suppression"},
    {"name": "mdav"},
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method["name"])
def test_every_method_publishes_categories(method):
    models = [{"name": "k-anonymity", "k": 4}]
    if method["name"] != "mdav":
        models.append({"name": "p-plus-alpha-sensitive", "p": 2, "alpha": 2})
    chosen = plan(models, method)
    release = shoal.anonymize(PATIENTS, chosen)
    published = release.table["condition"].to_pylist()
    expected = [CATEGORIES.name(CATEGORIES.index(row[3])) for row in TABLES[1]]
    assert sorted(published) == sorted(expected)
    assert shoal.check(release.table, plan=chosen).holds


def test_models_refer_to_published_values():
    """Count published categories, not values of the source.

    Two conditions of one category are two values of the source, but one of the release.
    """
    table = PATIENTS.slice(0, 4)  # HIV, HIV, Cancer, Cancer: all top secret
    models = [{"name": "k-anonymity", "k": 4}, {"name": "p-sensitive", "p": 2}]
    values = {**CONDITION, "publish": "values"}
    assert shoal.anonymize(table, plan(models, {"name": "top-down"}, values)).figures["groups"] == 1
    with pytest.raises(shoal.InfeasibleError):
        shoal.anonymize(table, plan(models, {"name": "top-down"}))


def test_default_names_and_missing_values():
    """Names default to numbers; missing values stay missing."""
    condition = {key: value for key, value in CONDITION.items() if key != "category_names"}
    table = PATIENTS.set_column(3, "condition", pa.array([None, *PATIENTS["condition"].to_pylist()[1:]], pa.string()))
    found = shoal.anonymize(table, plan([{"name": "k-anonymity", "k": 4}], {"name": "top-down"}, condition))
    assert sorted(found.table["condition"].to_pylist(), key=str) == sorted([None, *"1112233", *"4444"], key=str)


def test_distances_are_between_categories():
    """Distances of t-closeness are between categories."""
    models = [{"name": "k-anonymity", "k": 2}, {"name": "t-closeness", "t": 0.2, "distance": "ordered"}]
    release = shoal.anonymize(PATIENTS, plan(models, {"name": "refine"}))
    assert release.figures["models"][1]["effective"]["t"] <= 0.2


def test_missing_or_wrong_categories_are_refused():
    with pytest.raises(shoal.PlanError, match="must have them"):
        plan([{"name": "k-anonymity", "k": 2}], {"name": "top-down"}, {"role": "sensitive", "publish": "categories"})
    with pytest.raises(shoal.PlanError, match="publish"):
        plan([{"name": "k-anonymity", "k": 2}], {"name": "top-down"}, {**CONDITION, "publish": "nothing"})
    some = {**CONDITION, "categories": [["HIV"], ["Flu"]], "category_names": ["x", "y"]}
    with pytest.raises(shoal.PlanError, match="6 distinct value"):
        shoal.anonymize(PATIENTS, plan([{"name": "k-anonymity", "k": 2}], {"name": "top-down"}, some))


def test_from_file_to_file(tmp_path):
    import pyarrow.csv

    pyarrow.csv.write_csv(PATIENTS, tmp_path / "patients.csv")
    document = {
        "source": {"path": "patients.csv"},
        "columns": {**QUASI, "condition": CONDITION},
        "models": [{"name": "k-anonymity", "k": 4}],
        "method": {"name": "top-down"},
        "output": {"path": "released.csv"},
    }
    shoal.release(shoal.Plan.from_dict(document, tmp_path))
    released = (tmp_path / "released.csv").read_text()
    assert "HIV" not in released
    assert released.count("Top Secret") == 4
    assert json.loads((tmp_path / "released.certificate.json").read_text())["smallest_group"] >= 4
