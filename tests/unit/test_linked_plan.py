"""Plans of linked tables: reading, writing and refusals in one line."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import PlanError, ShoalError
from shoal.plan.json_schema import LINKED_FILE, to_json
from shoal.plan.linked import LinkedPlan
from shoal.plan.plan import Plan

WHOLE: dict[str, Any] = {
    "tables": [
        {
            "name": "person",
            "path": "person.csv",
            "key": "id",
            "columns": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}, "name": "identifier"},
        },
        {
            "name": "visit",
            "path": "visit.csv",
            "parent": "person",
            "on": "id",
            "key": "visit_id",
            "columns": {"month": "quasi-identifier"},
        },
        {
            "name": "diagnosis",
            "path": "diagnosis.csv",
            "parent": "visit",
            "on": "visit_id",
            "weight": 2.0,
            "columns": {"chapter": "quasi-identifier", "code": "sensitive"},
        },
    ],
    "models": [{"name": "k-anonymity", "k": 3}, {"name": "p-sensitive", "p": 2, "column": "code"}],
    "scenarios": [{"facts": 2}],
    "output": {"path": "release"},
}


def changed(*where: Any, value: Any) -> dict[str, Any]:
    made = inner = copy.deepcopy(WHOLE)
    for key in where[:-1]:
        inner = inner[key]
    if value is None:
        del inner[where[-1]]
    else:
        inner[where[-1]] = value
    return made


def test_a_plan_survives_writing_and_reading():
    plan = LinkedPlan.from_dict(WHOLE)
    assert LinkedPlan.from_toml(plan.to_toml()) == plan
    assert [table.name for table in plan.children] == ["visit", "diagnosis"]
    assert [model.column for model in plan.demands if hasattr(model, "column")] == ["diagnosis.code"]
    assert plan.k == 3


def test_published_columns_are_linking_keys_and_published_roles():
    plan = LinkedPlan.from_dict(WHOLE)
    assert [plan.published(table) for table in plan.tables] == [
        ("id", "age"),
        ("visit_id", "id", "month"),
        ("visit_id", "chapter", "code"),
    ]


def test_paths_are_relative_to_the_plan(tmp_path):
    plan = LinkedPlan.from_dict(WHOLE, tmp_path)
    assert plan.root.source.path == tmp_path / "person.csv"
    assert plan.output is not None
    assert plan.output.path == tmp_path / "release"
    assert plan.inputs["source"][2] == tmp_path / "diagnosis.csv"


def test_a_csv_hierarchy_of_a_table_is_an_input(tmp_path):
    (tmp_path / "months.csv").write_text("1,first\n2,first\n")
    document = changed("tables", 1, "columns", value={"month": {"role": "quasi-identifier"}})
    document["tables"][1]["columns"]["month"]["hierarchy"] = {"csv": "months.csv"}
    plan = LinkedPlan.from_dict(document, tmp_path)
    assert [Path(file).name for file in plan.inputs["plan or one of its files"]] == ["months.csv"]


REFUSED = [
    (changed("tables", 1, "on", value=None), "linked.parent-without-on"),
    (changed("tables", 1, "name", value="../visit"), "linked.name-not-a-file-name"),
    (changed("tables", 1, "columns", "id", value="other"), "linked.key-with-role"),
    (changed("tables", 1, "columns", "month", value="person"), "linked.role-not-served"),
    (changed("tables", 1, "columns", "month", value={"role": "other", "shift": {"days": 9}}), "linked.key-not-served"),
    (changed("tables", 2, "name", value="visit"), "linked.table-twice"),
    (changed("tables", value=WHOLE["tables"][:1]), "linked.one-table"),
    (changed("tables", 0, "parent", value="visit"), "linked.parent-without-on"),
    (changed("tables", 2, "parent", value="visits"), "linked.unknown-table"),
    (changed("tables", 0, "key", value=None), "linked.parent-without-key"),
    (changed("tables", 0, "columns", value={"age": "other"}), "linked.root-without-quasi-identifier"),
    (changed("scenarios", value=[]), "linked.not-one-scenario"),
    (changed("models", value=["p-sensitive p=2"]), "scenarios.no-k"),
    (changed("models", value=["k-anonymity k=3", "trajectory-anonymity k=2"]), "linked.model-not-served"),
    (changed("models", value=["k-anonymity k=3", "p-sensitive p=2 column=month"]), "linked.model-column-not-clear"),
    (changed("models", value=["k-anonymity k=3", {"name": "risk", "average": "1/4"}]), "linked.model-not-served"),
    (changed("tables", 2, "columns", value={"code": "other"}), "linked.no-sensitive-column"),
    ({**WHOLE, "engine": {"name": "spark"}}, "linked.not-on-spark"),
    (changed("tables", 1, "time_zone", value="Europe/Berlin"), "linked.time-zones-differ"),
    (changed("output", "shape", value="fragments"), "plan.unusable-key"),
    (changed("scenarios", 0, "facts", value=3), "plan.unusable-key"),
    (changed("scenarios", 0, "counts", value=True), "plan.unknown-key"),
]


@pytest.mark.parametrize(("document", "code"), REFUSED, ids=[f"{n}-{code}" for n, (_, code) in enumerate(REFUSED)])
def test_what_is_not_served_is_refused_in_one_line(document, code):
    with pytest.raises(ShoalError) as caught:
        LinkedPlan.from_dict(document)
    error: Any = caught.value
    codes = [error.code]
    while isinstance(error := error.arguments.get("reason"), ShoalError):
        codes.append(error.code)
    assert code in codes
    assert "\n" not in str(caught.value)
    assert caught.value.text("de") != str(caught.value)


def test_two_roots_and_cycles_are_refused():
    tables = copy.deepcopy(WHOLE["tables"])
    tables[1] |= {"parent": "diagnosis", "on": "id"}
    tables[2]["key"] = "number"
    with pytest.raises(PlanError) as caught:
        LinkedPlan.from_dict({**WHOLE, "tables": tables})
    assert caught.value.code == "linked.cycle-of-tables"
    with pytest.raises(PlanError) as caught:
        LinkedPlan.from_dict({**WHOLE, "tables": [*WHOLE["tables"], {**WHOLE["tables"][0], "name": "people"}]})
    assert caught.value.code == "linked.not-one-root"


def test_other_commands_refuse_a_plan_of_linked_tables():
    with pytest.raises(PlanError) as caught:
        Plan.from_dict(WHOLE)
    assert caught.value.code == "linked.plan-of-tables"


def test_the_shipped_schema_is_current():
    assert LINKED_FILE.read_text(encoding="utf-8") == to_json(LinkedPlan), "run: python -m shoal.plan.json_schema"
    assert set(json.loads(LINKED_FILE.read_text())["properties"]) >= set(WHOLE)
