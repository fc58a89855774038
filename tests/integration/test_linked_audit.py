"""Audit of linked tables: known leaks are found, links are understood."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import duckdb
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from shoal.audit.linked import Knowledge, audit_linked
from shoal.cli.app import app
from shoal.errors import PlanError, ShoalError, TableError

PEOPLE = pa.table({"person_id": list(range(10)), "sex": ["f"] * 5 + ["m"] * 5})


def visits(rows):
    """Return a table of visits with their keys, from person and year."""
    person, year = zip(*rows, strict=True)
    return pa.table({"visit_id": [100 + n for n in range(len(rows))], "person_id": person, "year": year})


ONE_EACH = [(person, 2024) for person in range(10)]


def audit(tables, **options):
    """Audit tables that are linked by their keys."""
    return audit_linked({"person": PEOPLE, **tables}, **options)


def test_the_number_of_visits_singles_out_one_of_ten():
    found = audit({"visit": visits([*ONE_EACH, (3, 2024)])})
    assert found.holds
    assert [found.named(f"the root and any {m} fact{'s' * (m > 1)}").alone for m in (1, 2)] == [0, 1]
    assert found.named("the root and rows per table").alone == 1
    assert not audit({"visit": visits([*ONE_EACH, (3, 2024)])}, knowledge=Knowledge(counts=True)).holds


def test_an_exact_diagnosis_with_a_key_singles_out():
    codes = ["A"] * 9 + ["B"]
    found = audit({"diagnosis": pa.table({"person_id": list(range(10)), "code": codes})})
    assert not found.holds
    assert found.named("a row of diagnosis").alone == 1
    assert found.named("the root and any 1 fact").below == 5


def test_a_doctor_of_one_person_is_found():
    doctors = ["x"] * 5 + ["y"] + ["x"] * 4
    found = audit({"visit": visits(ONE_EACH).append_column("doctor", pa.array(doctors))})
    assert found.named("visit.doctor").alone == 1


def test_a_side_file_with_offsets_of_dates_is_named():
    offsets = [-30, 12, 7, -90, 45, 3, -8, 77, -1, 5]
    found = audit({"visit": visits(ONE_EACH), "side": pa.table({"person_id": list(range(10)), "moved": offsets})})
    assert [warning for warning in found.warnings if "side.moved" in warning]
    assert not audit({"visit": visits(ONE_EACH)}).warnings


def test_a_visit_without_a_diagnosis_is_found():
    three_each = [(person, 2024) for person in range(10) for _ in range(3)]
    visit = visits(three_each)
    children = [key for key in visit["visit_id"].to_pylist() if key != 101]
    found = audit({"visit": visit, "diagnosis": pa.table({"visit_id": children, "code": ["A"] * len(children)})})
    assert found.named("the root and rows of visit without a row of diagnosis").alone == 1
    assert found.named("the root and rows per parent row").alone == 1


def test_equal_intervals_survive_a_shift():
    days = [f"2024-0{1 + person % 3}-{day:02}" for person in range(10) for day in (1, 8 if person else 20)]
    visit = pa.table({"person_id": [person for person in range(10) for _ in range(2)], "day": days})
    found = audit({"visit": visit}, links=["visit:person_id"])
    assert found.named("the root and the days between the dates visit.day").alone == 1


def test_sensitive_values_that_a_crowd_shares():
    codes = ["flu"] * 5 + ["flu", "gout", "flu", "gout", "flu"]
    table = pa.table({"person_id": list(range(10)), "code": codes})
    found = audit({"diagnosis": table}, sensitive=["diagnosis.code"])
    assert found.disclosed == {"diagnosis.code": 5}


def test_links_of_nested_files_are_found(tmp_path):
    write_folder(tmp_path)
    found = audit_linked(tmp_path)
    assert [(table.name, table.refers_to, table.by) for table in found.tables] == [
        ("person", None, None), ("diagnosis", "visit", "visit_id"), ("visit", "person", "person_id")
    ]  # fmt: skip
    assert found.tables[1].known == ("code",)
    assert found.warnings == ("Table concept refers to nobody, and was left out.",)


def write_folder(folder):
    """Write three linked files."""
    (folder / "person.csv").write_text("person_id,sex\n1,f\n2,f\n3,m\n4,m\n")
    (folder / "visit.csv").write_text("visit_id,person_id,year\n11,1,2023\n12,2,2023\n13,3,2024\n14,4,2024\n")
    (folder / "diagnosis.csv").write_text("visit_id,person_id,code\n11,1,A\n12,2,A\n13,3,B\n14,4,B\n14,4,C\n")
    (folder / "person.certificate.json").write_text("{}")
    (folder / "concept.csv").write_text("concept_id,name\n1,x\n2,y\n")


@pytest.mark.parametrize("name", ["hospital.sqlite", "hospital.duckdb"])
def test_foreign_keys_of_a_database(tmp_path, name):
    statements = [
        "CREATE TABLE patient (number INTEGER PRIMARY KEY, sex VARCHAR)",
        "CREATE TABLE stay (patient INTEGER REFERENCES patient (number), year INTEGER)",
        "INSERT INTO patient VALUES (1, 'f'), (2, 'f')",
        "INSERT INTO stay VALUES (1, 2023), (2, 2024)",
    ]
    connect = sqlite3.connect if name.endswith("sqlite") else duckdb.connect
    with closing(connect(str(tmp_path / name))) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    found = audit_linked(tmp_path / name, k=2)
    assert [(table.name, table.refers_to) for table in found.tables] == [("patient", None), ("stay", "patient")]
    assert found.named("the root and any 1 fact").alone == 2


def run(*arguments):
    """Run a command and return its result."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_check_on_the_command_line(tmp_path):
    write_folder(tmp_path)
    files = ["--root", tmp_path / "person.csv", "--link", f"{tmp_path / 'visit.csv'}:person_id"]
    passed = run("check", *files, "-m", "k-anonymity k=2", "--json")
    assert passed.exit_code == 0
    assert json.loads(passed.stdout)["crowds"][0] == {
        "kind": "root", "knows": "the root", "smallest_crowd": 2, "alone": 0, "below_k": 0, "required": True
    }  # fmt: skip
    assert run("check", *files, "-m", "k-anonymity k=3").exit_code == 1
    failed = run("check", "--tables", tmp_path, "-m", "k-anonymity k=2", "--knows", "counts")
    assert failed.exit_code == 1
    assert "does not hold" not in failed.stdout
    attacked = run("attack", "--tables", tmp_path, "--sensitive", "diagnosis.code")
    assert attacked.exit_code == 0
    assert "diagnosis.code" in attacked.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check"], "command.table-missing"),
        (["check", "a.csv", "--tables", "."], "command.table-and-linked-tables"),
        (["check", "a.csv", "--knows", "counts"], "command.linked-options-of-one-table"),
        (["check", "--root", "person.csv", "--link", "visit.csv"], "linked.link-malformed"),
        (["check", "--tables", ".", "--knows", "everything"], "linked.knowledge-malformed"),
        (["check", "--tables", ".", "-m", "p-sensitive p=2"], "linked.model-not-possible"),
        (["check", "--tables", ".", "--knows", "facts=9"], "linked.facts-out-of-range"),
        (["check", "--tables", ".", "--knows", "facts=3", "--knows", "structure"], "linked.structure-of-two-facts"),
        (["check", "--tables", ".", "--ignore", "age"], "linked.column-malformed"),
        (["check", "--tables", "nowhere"], "linked.folder-not-found"),
        (["check", "--tables", "person.csv"], "linked.not-a-folder"),
    ],
)
def test_refusals(tmp_path, monkeypatch, arguments, code):
    write_folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert isinstance(result.exception, ShoalError)
    assert result.exception.code == code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda tables: {"person": tables["person"]}, "linked.one-table"),
        (lambda tables: {**tables, "other": pa.table({"other_id": [1, 2]}), "more": pa.table({"other_id": [1, 1]})},
         "linked.root-not-found"),
        (lambda _: {name: pa.table({f"{name}_id": [1, 2], f"{other}_id": [1, 2]}) for name, other in ("ab", "ba")},
         "linked.root-not-found"),
    ],
)  # fmt: skip
def test_tables_without_one_root(change, code):
    with pytest.raises(TableError) as caught:
        audit_linked(change({"person": PEOPLE, "visit": visits(ONE_EACH)}))
    assert caught.value.code == code


def test_given_links_that_are_wrong():
    tables = {"person": PEOPLE, "visit": visits(ONE_EACH)}
    for link, root, code in (
        ("visit:year", None, "linked.parent-not-clear"),
        ("nothing:person_id", None, "linked.unknown-table"),
        ("person:person_id=visit.person_id", "person", "linked.root-has-parent"),
    ):
        with pytest.raises((PlanError, TableError)) as caught:
            audit_linked(tables, links=[link], root=root)
        assert caught.value.code == code
    with pytest.raises(PlanError) as caught:
        audit_linked(tables, k=1)
    assert caught.value.code == "linked.k-too-small"
    with pytest.raises(TableError) as caught:
        audit_linked(tables, root="nobody")
    assert caught.value.code == "linked.unknown-table"
