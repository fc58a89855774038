"""Publishing categories of sensitive values, with or without these.

Models and verification refer to the published table.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import shoal
from shoal.datasets.patients import CATEGORIES, COLUMNS, TABLES
from tests.builders.errors import has_code

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
    with pytest.raises(shoal.errors.InfeasibleError):
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
    with pytest.raises(shoal.errors.PlanError, match="must have them"):
        plan([{"name": "k-anonymity", "k": 2}], {"name": "top-down"}, {"role": "sensitive", "publish": "categories"})
    with pytest.raises(shoal.errors.PlanError, match="publish"):
        plan([{"name": "k-anonymity", "k": 2}], {"name": "top-down"}, {**CONDITION, "publish": "nothing"})
    some = {**CONDITION, "categories": [["HIV"], ["Flu"]], "category_names": ["x", "y"]}
    with pytest.raises(shoal.errors.PlanError, match="6 distinct value"):
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


BOTH = {**CONDITION, "publish": "both"}
ADDED = "condition category"


def category_of(value):
    return None if value is None else CATEGORIES.name(CATEGORIES.index(value))


@pytest.mark.parametrize("method", [*METHODS, {"name": "anti-unification"}], ids=lambda method: method["name"])
def test_every_method_publishes_values_and_categories(method):
    """Publish the form of Table 6: values and a column of categories."""
    models = [{"name": "k-anonymity", "k": 4}]
    if method["name"] not in ("mdav", "anti-unification"):
        models.append({"name": "p-plus-alpha-sensitive", "p": 2, "alpha": 2})
    chosen = plan(models, method, BOTH)
    released = shoal.anonymize(PATIENTS, chosen).table
    assert released.column_names == [*COLUMNS, ADDED]
    assert sorted(released["condition"].to_pylist()) == sorted(PATIENTS["condition"].to_pylist())
    assert released[ADDED].to_pylist() == [category_of(value) for value in released["condition"].to_pylist()]
    assert shoal.check(released, plan=chosen).holds


def test_models_count_values_if_both_are_published():
    table = PATIENTS.slice(0, 4)  # two values of one category
    models = [{"name": "k-anonymity", "k": 4}, {"name": "p-sensitive", "p": 2}]
    assert shoal.anonymize(table, plan(models, {"name": "top-down"}, BOTH)).figures["groups"] == 1


def test_category_of_a_missing_value_is_missing():
    condition = {key: value for key, value in BOTH.items() if key != "category_names"}
    values = [None, *PATIENTS["condition"].to_pylist()[1:]]
    table = PATIENTS.set_column(3, "condition", pa.array(values, pa.string()))
    found = shoal.anonymize(table, plan([{"name": "k-anonymity", "k": 4}], {"name": "top-down"}, condition)).table
    missing = [value is None for value in found["condition"].to_pylist()]
    assert missing == [category is None for category in found[ADDED].to_pylist()]
    assert sum(missing) == 1


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_values_and_categories_in_files(tmp_path, form):
    import pyarrow.csv

    pyarrow.csv.write_csv(PATIENTS, tmp_path / "patients.csv")
    document = {
        "source": {"path": "patients.csv"},
        "columns": {**QUASI, "condition": BOTH},
        "models": [{"name": "k-anonymity", "k": 4}],
        "method": {"name": "top-down"},
        "output": {"path": f"released.{form}"},
    }
    chosen = shoal.Plan.from_dict(document, tmp_path)
    shoal.release(chosen)
    certificate = json.loads((tmp_path / "released.certificate.json").read_text())
    assert certificate["category_columns"] == {"condition": ADDED}
    assert certificate["plan"]["columns"]["condition"]["publish"] == "both"
    report = (tmp_path / "released.report.html").read_text().replace("<bdi>", "").replace("</bdi>", "")
    assert "categories of condition are published in condition category" in report
    assert shoal.check(tmp_path / f"released.{form}", plan=chosen).holds
    public = shoal.Plan.from_dict(certificate["plan"])
    assert shoal.check(tmp_path / f"released.{form}", plan=public).holds
    assert shoal.check(PATIENTS, plan=chosen).rows == PATIENTS.num_rows  # the original has no such column


def test_category_of_a_value_that_is_not_published_is_missing():
    """No category is left of a value that is taken for missing."""
    tree = {"any": ["HIV", "Cancer"]}
    condition = {**BOTH, "hierarchy": {"tree": tree}, "unmatched": "missing"}
    found = shoal.anonymize(PATIENTS, plan([{"name": "k-anonymity", "k": 4}], {"name": "top-down"}, condition)).table
    assert {*found["condition"].to_pylist()} == {"HIV", "Cancer", None}
    assert found[ADDED].to_pylist() == [category_of(value) for value in found["condition"].to_pylist()]


def test_changed_categories_are_found(monkeypatch):
    import shoal.pipeline.decide as deciding

    chosen = plan([{"name": "k-anonymity", "k": 4}], {"name": "top-down"}, BOTH)
    released = shoal.anonymize(PATIENTS, chosen).table
    changed = released.set_column(4, ADDED, pa.array(["Top Secret"] * released.num_rows))
    with pytest.raises(shoal.errors.TableError, check=has_code("columns.category-differs")):
        shoal.check(changed, plan=chosen)
    add = deciding.add_categories

    def add_wrong_ones(engine, table, schema):
        found = add(engine, table, schema)
        labels = pa.table({"v": list(CATEGORIES.names), "label": ["Top Secret"] * len(CATEGORIES.names)})
        return engine.relabel(found, found.columns.index(ADDED), labels)

    monkeypatch.setattr(deciding, "add_categories", add_wrong_ones)
    with pytest.raises(shoal.errors.VerificationError, check=has_code("columns.category-differs")):
        shoal.anonymize(PATIENTS, chosen)


def test_refusals_of_values_and_categories():
    models = [{"name": "k-anonymity", "k": 2}]
    with pytest.raises(shoal.errors.PlanError, match="must have them"):
        plan(models, {"name": "top-down"}, {"role": "sensitive", "publish": "both"})
    columns = {**QUASI, "condition": BOTH, ADDED: {"role": "other"}}
    with pytest.raises(shoal.errors.PlanError, check=has_code("columns.category-column-exists", column=ADDED)):
        shoal.Plan.from_dict({"columns": columns, "models": models})
    with pytest.raises(shoal.errors.PlanError, match="condition category"):
        plan(models, {"name": "anti-unification", "patterns": "overlapping"}, BOTH)


def test_values_and_categories_of_people():
    """Numbers of people are added to the table after the categories."""
    table = pa.table({**{name: PATIENTS[name] for name in COLUMNS}, "who": [f"p{row}" for row in range(12)]})
    document = {
        "columns": {**QUASI, "condition": BOTH, "who": {"role": "person"}},
        "models": [{"name": "k-anonymity", "k": 4}],
        "method": {"name": "top-down"},
    }
    released = shoal.anonymize(table, shoal.Plan.from_dict(document)).table
    assert released.column_names == [*COLUMNS, ADDED]
    assert released[ADDED].to_pylist() == [category_of(value) for value in released["condition"].to_pylist()]
