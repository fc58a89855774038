"""Drafts of plans for linked tables: links, templates and roles."""

from __future__ import annotations

import json
import random
import tomllib

import pyarrow.csv as pacsv
import pytest

from shoal.advice.linked_draft import draft_linked
from shoal.datasets.omop import LINKS, omop_tables
from shoal.errors import TableError
from shoal.pipeline.linked import release_linked
from shoal.plan.linked import LinkedPlan
from tests.builders.command import run_in_process
from tests.builders.linked_databases import write_rows


@pytest.fixture
def omop(tmp_path):
    """Return a folder with the tables of 300 people in OMOP's form."""
    for name, table in omop_tables(300).items():
        pacsv.write_csv(table, tmp_path / f"{name}.csv")
    return tmp_path


def write_synthea(folder, draws):
    """Write tables of 150 people in the form of Synthea's CSV export."""
    patients = [(f"p{n}", f"19{50 + n % 40}-0{1 + n % 9}-11", "MF"[n % 2], f"999-{n}", "white", f"Name{n}", f"{n} Road")
                for n in range(150)]  # fmt: skip
    header = ("Id", "BIRTHDATE", "GENDER", "SSN", "RACE", "LAST", "ADDRESS")
    write_rows(folder / "patients.csv", header, patients)
    encounters = [(f"e{n}", f"202{n % 4}-0{1 + n % 9}-02T10:00:00Z", f"p{n % 150}", "ambulatory", f"dr{n}")
                  for n in range(400)]  # fmt: skip
    write_rows(folder / "encounters.csv", ("Id", "START", "PATIENT", "ENCOUNTERCLASS", "PROVIDER"), encounters)
    conditions = [(f"p{n % 150}", f"e{n}", draws.choice(("4452", "1980", "7732")), "a sentence") for n in range(400)]
    write_rows(folder / "conditions.csv", ("PATIENT", "ENCOUNTER", "CODE", "DESCRIPTION"), conditions)
    write_rows(folder / "payers.csv", ("Id", "NAME"), [("x1", "a"), ("x2", "b")])


def test_omop_is_drafted_by_its_template_and_released(omop):
    draft = draft_linked(omop, omop)
    assert draft.template == "omop"
    plan = LinkedPlan.from_toml(draft.text, omop)
    assert {table.name: (table.parent, table.on) for table in plan.children} == LINKS
    assert plan.table("visit_occurrence").schema.columns["provider_id"].role == "drop"
    result = release_linked(plan)
    assert min(result.certificate["smallest_crowd"].values()) >= 5


def test_synthea_is_drafted_by_its_template_and_released(tmp_path):
    write_synthea(tmp_path, random.Random(1))
    draft = draft_linked(tmp_path, tmp_path)
    assert draft.template == "synthea"
    assert any(note.startswith("payers") for note in draft.notes)
    release_linked(LinkedPlan.from_toml(draft.text, tmp_path))
    released = "".join(file.read_text() for file in (tmp_path / "release").glob("*.csv"))
    assert not any(trace in released for trace in ("999-", "Name", "Road", "dr1", "sentence", "\np1,", "\ne1,"))


def test_other_files_are_drafted_by_keys_and_profiles(omop, tmp_path):
    for file in list(omop.glob("*.csv")):
        file.rename(omop / f"our_{file.name}")
    draft = draft_linked(omop, omop)
    assert draft.template is None
    plan = LinkedPlan.from_toml(draft.text, omop)
    assert {table.name: table.parent for table in plan.children} == {
        f"our_{name}": f"our_{parent}" for name, (parent, _) in LINKS.items()
    }
    roles = {name: column.role for table in plan.tables for name, column in table.schema.columns.items()}
    assert roles["provider_id"] in ("identifier", "drop")
    assert roles["person_id"] == "drop"
    assert roles["condition_source_value"] == "quasi-identifier"  # a diagnosis is a fact that others may know


def test_the_command_writes_the_draft(omop, monkeypatch, capsys):
    shoal = run_in_process(monkeypatch, capsys, omop)
    status, output, _ = shoal("plan", "--tables", ".", "-o", "drafted.toml", "--k", "3", "--json")
    assert (status, json.loads(output)["template"]) == (0, "omop")
    drafted = tomllib.loads((omop / "drafted.toml").read_text())
    assert drafted["models"] == [{"name": "k-anonymity", "k": 3}]
    assert drafted["tables"][0]["path"] == "person.csv"
    assert shoal("plan", "--tables", ".", "-o", "drafted.toml")[0] == 2  # it exists
    assert shoal("plan", "person.csv", "--tables", ".", "-o", "other.toml")[0] == 2
    assert shoal("plan", "-o", "other.toml")[0] == 2


def test_a_folder_without_linked_files_is_refused(tmp_path):
    with pytest.raises(TableError) as caught:
        draft_linked(tmp_path / "nowhere", tmp_path)
    assert caught.value.code == "linked.folder-not-found"
    write_rows(tmp_path / "one.csv", ("a",), [("1",)])
    with pytest.raises(TableError) as caught:
        draft_linked(tmp_path, tmp_path)
    assert caught.value.code == "linked.one-table"
