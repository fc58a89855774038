"""Releases of linked tables: brute force, bad input, certificate."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import shutil

import pytest
from tools.linked_cases import run_case

from shoal.audit.linked import check_release
from shoal.errors import InfeasibleError, OutputError, PlanError, ShoalError, TableError, VerificationError
from shoal.pipeline import linked as pipeline
from shoal.pipeline.linked import release_linked
from shoal.plan.linked import LinkedPlan
from shoal.verification import linked as verification
from tests.builders.command import run_in_process
from tests.builders.linked_databases import HEADERS, write_database, write_rows
from tests.reference.linked_release import read_people, smallest_crowd


@pytest.fixture
def shoal(monkeypatch, capsys, tmp_path):
    """Return a function that runs the command."""
    return run_in_process(monkeypatch, capsys, tmp_path)


@pytest.fixture
def database(tmp_path):
    """Return the plan of a database of 60 people."""
    draws = random.Random(5)
    plan = write_database(tmp_path, draws, k=3, facts=2, sensitive=False)
    rows = {
        "person": [(f"p{n}", "fm"[n % 2], 1 + n % 6) for n in range(60)],
        "visit": [(f"v{n}", f"p{n % 60}", 1 + n // 60) for n in range(120)],
        "test": [(f"v{n}", "ab"[n % 2], "xyz"[n % 3]) for n in range(120)],
        "drug": [(f"p{n}", ("A1", "A2")[n % 2]) for n in range(60)] + [("p7", "B1"), ("p8", "B2")],
    }
    for name, header in HEADERS.items():
        write_rows(tmp_path / f"{name}.csv", header, rows[name])
    return plan


@pytest.mark.parametrize("seed", range(14))
def test_releases_and_checks_agree_with_an_enumeration(tmp_path, seed):
    assert run_case(tmp_path, 7_000 + seed) in ("released with facts", "released", "linked.too-many-left-out")


def test_a_release_is_one_folder_with_a_certificate(database, tmp_path):
    result = release_linked(database)
    folder = tmp_path / "release"
    certificate = json.loads((folder / "certificate.json").read_text())
    assert certificate == json.loads(json.dumps(result.certificate))
    assert {entry.name for entry in folder.iterdir()} == {*(f"{name}.csv" for name in HEADERS), "certificate.json"}
    for table in certificate["tables"]:
        content = (folder / table["file"]).read_bytes()
        assert table["sha256"] == hashlib.sha256(content).hexdigest()
        assert table["rows"] == content.count(b"\n") - 1
    people = read_people(folder)
    found = [smallest_crowd(people, known) for known in range(3)]
    assert list(certificate["smallest_crowd"].values()) == found
    assert min(found) >= 3
    assert certificate["people"] == len(people) == 60
    assert not (tmp_path / ".release.shoal").exists()


def test_rare_facts_leave_no_trace(database, tmp_path):
    answer = release_linked(database).to_dict()
    drugs = next(table for table in answer["tables"] if table["name"] == "drug")
    published = (tmp_path / "release" / "certificate.json").read_text()
    assert drugs["left_out"] == 2
    assert "left_out" not in published
    assert '"62"' not in published
    assert ",B" not in (tmp_path / "release" / "drug.csv").read_text()


def test_keys_are_pseudonyms_that_join(database, tmp_path):
    release_linked(database)
    texts = {name: (tmp_path / "release" / f"{name}.csv").read_text() for name in HEADERS}
    assert not any(key in text for text in texts.values() for key in ("p1,", "v1,", ",p1", ",v1"))
    read_people(tmp_path / "release")  # raises where a key leads nowhere


def test_a_key_file_makes_the_same_bytes_again(database, tmp_path):
    folder = tmp_path / "secret"
    folder.mkdir(mode=0o700)
    (folder / "key").write_bytes(b"k" * 32)
    (folder / "key").chmod(0o600)
    digests = []
    for name in ("one", "two"):
        changes = (f"output.path={tmp_path / name / 'release'}", f"output.pseudonym_key={folder / 'key'}")
        (tmp_path / name).mkdir()
        result = release_linked(LinkedPlan.read(tmp_path / "plan.toml", changes))
        digests.append([table["sha256"] for table in result.certificate["tables"]])
    assert digests[0] == digests[1]


def test_the_command_releases_and_a_reader_checks(database, tmp_path, shoal):
    plan = str(tmp_path / "plan.toml")
    status, output, _ = shoal("release", plan, "--json", "--quiet")
    assert status == 0
    answer = json.loads(output)
    assert [table["name"] for table in answer["tables"]] == ["person", "visit", "drug", "test"]
    assert answer["people"] == {"source": 60, "released": 60}
    for table in HEADERS:  # a reader has the release alone
        (tmp_path / f"{table}.csv").unlink()
    status, output, _ = shoal("check", "--tables", str(tmp_path / "release"), "--plan", plan, "--json")
    assert status == 0
    checked = json.loads(output)
    assert checked["holds"]
    assert checked["models"][0]["judged_by"] == "the model and the independent verification"
    status, output, error = shoal("release", plan)
    assert (status, output) == (2, "")
    assert "already exists" in error


def test_the_sources_of_a_plan_are_checked_and_attacked(database, tmp_path, shoal):
    plan = str(tmp_path / "plan.toml")
    for command, expected in (("check", 1), ("attack", 0)):
        status, output, _ = shoal(command, "--plan", plan, "--json")
        assert status == expected
        crowds = {part["kind"]: part["smallest_crowd"] for part in json.loads(output)["crowds"]}
        people = read_people(tmp_path)
        assert [crowds[kind] for kind in ("root", "facts-1", "facts-2")] == [
            smallest_crowd(people, known) for known in range(3)
        ]
    assert shoal("check", "--plan", plan, "-m", "k-anonymity k=2")[0] == 2


def test_suppressed_people_go_with_all_their_facts(database, tmp_path):
    people = [(f"p{n}", "fm"[n % 2] if n else "x", 1 + n % 6) for n in range(60)]
    write_rows(tmp_path / "person.csv", HEADERS["person"], people)
    changes = ("method.name=full-domain", "method.suppression=0.1", "sizes=[12]")
    result = release_linked(LinkedPlan.read(tmp_path / "plan.toml", changes))
    released = read_people(tmp_path / "release")
    assert result.figures["people"]["released"] == len(released) < 60
    assert smallest_crowd(released, 2) >= 3


def test_a_changed_file_is_noticed(database, tmp_path):
    release_linked(database)
    path = tmp_path / "release" / "visit.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    checked = check_release(tmp_path / "release", database)
    assert checked.changed == ("visit.csv",)
    assert not checked.holds
    path.write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ",99"]) + "\n")
    assert not check_release(tmp_path / "release", database).models[0].holds


def test_overwriting_replaces_a_release_and_nothing_else(database, tmp_path):
    release_linked(database)
    with pytest.raises(OutputError) as caught:
        release_linked(database)
    assert caught.value.code == "output.exists"
    release_linked(database, overwrite=True)
    (tmp_path / "release" / "mine.txt").write_text("mine")
    with pytest.raises(OutputError) as caught:
        release_linked(database, overwrite=True)
    assert caught.value.code == "output.directory-with-other-files"
    assert (tmp_path / "release" / "mine.txt").exists()


def test_parquet_is_written_and_checked(database, tmp_path):
    plan = LinkedPlan.read(tmp_path / "plan.toml", ("output.format=parquet",))
    release_linked(plan)
    assert (tmp_path / "release" / "visit.parquet").is_file()
    assert check_release(tmp_path / "release", plan).holds


def broken(name, change):
    """Return a change of a table's rows."""

    def apply(folder):
        with (folder / f"{name}.csv").open(newline="") as file:
            header, *rows = csv.reader(file)
        write_rows(folder / f"{name}.csv", tuple(header), change(rows))

    return apply


BAD_INPUT = {
    "linked.orphans": broken("visit", lambda rows: [["v0", "nobody", "1"], *rows[1:]]),
    "linked.key-not-unique": broken("person", lambda rows: [*rows, rows[0]]),
    "linked.no-rows": broken("drug", lambda rows: []),
    "columns.role-missing": lambda folder: write_rows(folder / "drug.csv", ("id", "name", "dose"), [("p1", "A", "1")]),
    "linked.unknown-column": lambda folder: write_rows(folder / "drug.csv", ("id", "drug"), [("p1", "A")]),
    "linked.too-few-people": lambda folder: (
        write_rows(folder / "person.csv", HEADERS["person"], [("p1", "f", "1")]),
        write_rows(folder / "visit.csv", HEADERS["visit"], [("v1", "p1", "1")]),
        write_rows(folder / "test.csv", HEADERS["test"], [("v1", "a", "x")]),
        write_rows(folder / "drug.csv", HEADERS["drug"], [("p1", "A")]),
    ),
}


@pytest.mark.parametrize("code", BAD_INPUT)
def test_bad_input_is_refused_in_one_line_and_nothing_is_written(database, tmp_path, code):
    BAD_INPUT[code](tmp_path)
    with pytest.raises(ShoalError) as caught:
        release_linked(database)
    assert caught.value.code == code
    assert "\n" not in str(caught.value)
    assert not any(value in str(caught.value) for value in ("nobody", "p1", "v1"))
    assert not (tmp_path / "release").exists()


def test_a_key_of_another_type_is_refused(database, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [1, 2], "name": ["A", "B"]}), tmp_path / "drug.parquet")
    plan = LinkedPlan.from_toml((tmp_path / "plan.toml").read_text().replace("drug.csv", "drug.parquet"), tmp_path)
    with pytest.raises(TableError) as caught:
        release_linked(plan)
    assert caught.value.code == "linked.key-types-differ"


def test_infeasible_plans_name_the_least_share(database, tmp_path):
    plan = LinkedPlan.read(tmp_path / "plan.toml", ("suppression=0.0",))
    write_rows(tmp_path / "drug.csv", HEADERS["drug"], [("p7", "B1"), ("p8", "B2")])
    with pytest.raises(InfeasibleError) as caught:
        release_linked(plan)
    assert caught.value.code == "linked.too-many-left-out"
    assert not (tmp_path / "release").exists()


def test_the_output_must_not_be_an_input(database, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in HEADERS:
        shutil.copy(tmp_path / f"{name}.csv", folder)
    text = (tmp_path / "plan.toml").read_text().replace('path = "', 'path = "data/').replace("data/release", "data")
    with pytest.raises(OutputError):
        release_linked(LinkedPlan.from_toml(text, tmp_path), overwrite=True)
    assert (folder / "person.csv").is_file()


def test_options_that_are_not_served_are_refused(database, tmp_path, shoal):
    for option in ("--internal-report", "--save-recoding"):
        status, _, error = shoal("release", str(tmp_path / "plan.toml"), option)
        assert status == 2
        assert option in error


def test_a_fault_of_the_search_publishes_nothing(database, tmp_path, monkeypatch):
    """If no fact were left out, the verification of the files would notice."""
    monkeypatch.setattr(pipeline, "leave_out", lambda tables, root, label, *others: label >= 0)
    monkeypatch.setattr(pipeline, "put_back", lambda tables, root, label, k, facts, lot, alive: alive)
    with pytest.raises(InfeasibleError) as caught:
        release_linked(database)
    assert caught.value.code == "linked.not-met"
    assert not (tmp_path / "release").exists()


def test_a_fault_of_the_models_publishes_nothing(database, tmp_path, monkeypatch):
    """The independent verification differs from wrongly counted crowds."""
    monkeypatch.setattr(verification, "summarize_crowds", lambda linked, facts: ((99, 99, 99), (1, 1, 1)))
    with pytest.raises(VerificationError) as caught:
        release_linked(database)
    assert caught.value.code == "linked.verifications-differ"
    assert not (tmp_path / "release").exists()


def test_a_plan_of_one_table_is_no_plan_of_linked_tables(database, tmp_path, shoal):
    status, _, error = shoal("explore", str(tmp_path / "plan.toml"))
    assert status == 2
    assert "shoal release" in error
    with pytest.raises(PlanError):
        LinkedPlan.from_dict({"columns": {"a": "quasi-identifier"}})
