"""Tests of the example package: conformance, and use in plans."""

import pyarrow as pa
import pytest
from shoal_example import JSON_LINES, AtMost, Initial, Neighbours

import shoal
from shoal.methods import METHODS
from shoal.testing import check_definition, check_format, check_hierarchy, check_method, check_model, method_cases

PLAN = {
    "columns": {
        "name": {"role": "quasi-identifier", "hierarchy": {"initial": 2}},
        "illness": {"role": "sensitive"},
    },
    "models": [{"name": "k-anonymity", "k": 2}, {"name": "at-most", "of": 2}],
}
TABLE = pa.table(
    {
        "name": ["Anna", "Anton", "Andrea", "Berta", "Bernd", "Beate", "Berit", "Anke"],
        "illness": ["flu", "asthma", "flu", "flu", "asthma", "cough", "flu", "cough"],
    }
)


def test_the_model():
    check_model(AtMost(2))


def test_the_second_definition_of_the_model():
    check_definition(AtMost(2))


def test_the_method_with_every_model():
    check_method(Neighbours(), cases=method_cases(tables=((60, 1),)))


def test_the_hierarchy():
    check_hierarchy(Initial(2), ["Anna", "Anton", "Berta"])


def test_the_format(tmp_path):
    check_format(JSON_LINES, tmp_path)


def test_a_release_goes_from_one_format_to_the_other(tmp_path):
    lines = [f'{{"name": "{row["name"]}", "illness": "{row["illness"]}"}}\n' for row in TABLE.to_pylist()]
    (tmp_path / "people.jsonl").write_text("".join(lines))
    files = {"source": {"path": str(tmp_path / "people.jsonl")}, "output": {"path": str(tmp_path / "released.ndjson")}}
    release = shoal.release({**PLAN, **files})
    assert release.figures["released"] == len((tmp_path / "released.ndjson").read_text().splitlines()) == 8


def test_a_plan_names_all_three():
    release = shoal.anonymize(TABLE, {**PLAN, "method": {"name": "neighbours"}})
    assert {model["name"] for model in release.figures["models"]} == {"k-anonymity", "at-most"}
    assert set(release.table.column("name").to_pylist()) <= {"An…", "Be…", "*"}
    assert shoal.Plan.from_dict(shoal.Plan.from_dict(PLAN).to_dict()) == shoal.Plan.from_dict(PLAN)


OTHERS = {
    "levels": {"levels": {"name": 2}},
    "anti-unification": {"patterns": "model-aware", "keep_rest": True},
}
"""Parameters of the methods that need some for this table."""
OF_THEIR_OWN = {"hidden-cells", "facts-suppression", "population-grid", "sampled-grid"}
"""These support partial knowledge, people with several rows, or their own guarantee, not groups in all columns."""


@pytest.mark.parametrize("name", sorted(set(METHODS) - OF_THEIR_OWN))
def test_every_method_keeps_the_model(name):
    release = shoal.anonymize(TABLE, {**PLAN, "method": {"name": name, **OTHERS.get(name, {})}})
    models = {model["name"]: model for model in release.figures["models"]}
    assert models["at-most"]["holds"]
    assert models["at-most"]["judged_by"] == "the model and its package's definition"


@pytest.mark.parametrize("name", sorted(OF_THEIR_OWN))
def test_other_methods_refuse_before_any_work(name):
    with pytest.raises(shoal.errors.PlanError):
        shoal.Plan.from_dict({**PLAN, "method": {"name": name}})
