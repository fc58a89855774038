"""Conformance checks, worked examples, and a release between files."""

import datetime
import decimal
import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from shoal_second import TYPED_TSV, Rho1ToRho2, SortedRuns
from shoal_second.definition import BREACH_DEFINITION
from shoal_second.method import _cut, _join
from shoal_second.typed_tsv import load, write

import shoal
from shoal.errors import PlanError, TableError
from shoal.plugins import Options, Writing
from shoal.testing import check_definition, check_format, check_method, check_model

PLAN = """
[source]
path = "patients.csv"

[columns.name]
role = "identifier"

[columns.age]
role = "quasi-identifier"
hierarchy = { intervals = [5, 10, 20] }

[columns.town]
role = "quasi-identifier"
hierarchy = { tree = { North = ["Kiel", "Bonn"], South = ["Ulm", "Jena"] } }

[columns.illness]
role = "sensitive"

[[models]]
name = "k-anonymity"
k = 4

[[models]]
name = "rho1-to-rho2"
rho1 = 0.2
rho2 = 0.3

[method]
name = "sorted-runs"
first = "town"
rows = 6

[output]
path = "published.ttsv"
"""


def write_patients(path):
    random = np.random.default_rng(1)
    towns = random.choice(["Kiel", "Bonn", "Ulm", "Jena"], 80)
    illnesses = random.choice(["flu", "cold", "gout", "HIV", ""], 80, p=[0.4, 0.35, 0.1, 0.1, 0.05])
    ages = random.integers(20, 70, 80)
    rows = [f"N{row},{ages[row]},{towns[row]},{illnesses[row]}" for row in range(80)]
    path.write_text("\n".join(["name,age,town,illness", *rows]) + "\n")


@pytest.mark.parametrize("model", [Rho1ToRho2(), Rho1ToRho2(0.3, 0.5), Rho1ToRho2(0.4, 0.45)])
def test_model(model):
    check_model(model)
    check_definition(model)


@pytest.mark.parametrize(
    ("rho1", "rho2", "holds"),
    [
        (0.2, 0.5, False),  # HIV: one in five rows of the release, one in two of the group b
        (0.2, 0.51, True),
        (0.19, 0.5, True),  # one in five is no longer rare
    ],
)
def test_shares_at_the_bounds(rho1, rho2, holds):
    table = pa.table({"town": list("aaaaaabbbb"), "illness": ["flu"] * 6 + ["flu", "flu", "HIV", "HIV"]})
    answer = shoal.check(table, [Rho1ToRho2(rho1, rho2)], quasi_identifiers=["town"], sensitive=["illness"])
    assert answer.holds == holds
    assert answer.models[0].effective == {"rho2": 0.5 if rho1 == 0.2 else 0}


def test_group_without_known_value_fails():
    table = pa.table({"town": ["a", "a", "b", "b"], "illness": ["flu", "flu", None, None]})
    answer = shoal.check(table, [Rho1ToRho2(0.1, 1)], quasi_identifiers=["town"], sensitive=["illness"])
    assert not answer.holds
    evaluate = BREACH_DEFINITION.judge(Rho1ToRho2(0.1, 1), type("Column", (), {"total": [2]}))
    assert evaluate(2, []) == (False, (1,))


def test_parameters_are_refused():
    with pytest.raises(PlanError, match="rho1 must be less"):
        Rho1ToRho2(0.5, 0.5)
    with pytest.raises(PlanError, match="rho2"):
        Rho1ToRho2(0.5, 1.5)


@pytest.mark.parametrize("method", [SortedRuns(), SortedRuns(rows=1), SortedRuns(rows=30)])
def test_method(method):
    check_method(method)


def test_runs():
    is_new = np.array([True, True, False, True, True])
    assert _cut(is_new, np.array([1, 1, 3, 2, 1]), 2).tolist() == [0, 0, 0, 1, 2]
    assert _join(np.array([True, False, True, True, False])).tolist() == [0, 1, 1, 2, 2]
    assert _join(np.array([False, False, False])).tolist() == [0, 0, 0]


def test_first_column_leads_the_order():
    ages, towns = [str(age) for age in (20, 30, 40, 50) for _ in range(2)], ["a", "b"] * 4
    table = pa.table({"age": ages, "town": towns})
    columns = {"quasi_identifiers": ["age", "town"], "k": 2}
    by_town = shoal.anonymize(table, method=SortedRuns(2, "town"), **columns).table
    assert set(by_town["town"].to_pylist()) == {"a", "b"}
    by_age = shoal.anonymize(table, method=SortedRuns(2, "age"), **columns).table
    assert set(by_age["age"].to_pylist()) == {"20", "30", "40", "50"}
    with pytest.raises(PlanError, match="quasi-identifier"):
        shoal.anonymize(table, method=SortedRuns(2, "income"), **columns)


def test_format(tmp_path):
    check_format(TYPED_TSV, tmp_path)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["\\N", "\t\n\r\\t", "", None, "#rows 1"]),
        pa.array([1.5, -0.0, float("inf"), 0.1 + 0.2, None]),
        pa.array([True, None]),
        pa.array([2**64 - 1], pa.uint64()),
        pa.array([datetime.date(1, 2, 3), None]),
        pa.array([datetime.time(1, 2, 3, 4)]),
        pa.array([datetime.timedelta(seconds=5)]),
        pa.array([1, None], pa.timestamp("ns", tz="Europe/Berlin")),
        pa.array([decimal.Decimal("1.20"), None], pa.decimal128(9, 2)),
        pa.nulls(2),
        pa.array([], pa.string()),
    ],
    ids=lambda column: str(column.type),
)
def test_types_are_read_from_the_header(column, tmp_path):
    table = pa.table({"a\tname": column})
    options = write(table, tmp_path / "a.ttsv", Writing())
    assert load(tmp_path / "a.ttsv", Options())[0].equals(table)
    assert load(tmp_path / "a.ttsv", options)[0].equals(table)


@pytest.mark.parametrize("table", [pa.table({}), pa.table({"a": [[1]]}), pa.table({"a": [b"\xff"]})])
def test_unsupported_tables_are_refused(table, tmp_path):
    with pytest.raises(TableError):
        write(table, tmp_path / "a.ttsv", Writing())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#typed-tsv 2\na\tb\nint64\tint64\n#rows 0\n",
        "#typed-tsv 1\na\tb\nint64\n#rows 0\n",
        "#typed-tsv 1\na\nint64\n77123\n#rows 2\n",
        "#typed-tsv 1\na\nint64\n77123\t4\n#rows 1\n",
        "#typed-tsv 1\na\nint64\n77123x\n#rows 1\n",
        "#typed-tsv 1\na\nstring\n77123\\x\n#rows 1\n",
        "#typed-tsv 1\na\ndecimal128(99, 2)\n77123\n#rows 1\n",
        "#typed-tsv 1\na\nstring\n77123\n#rows 1",
    ],
)
def test_damaged_files_are_refused(text, tmp_path):
    path = tmp_path / "a.ttsv"
    path.write_bytes(text.encode())
    with pytest.raises(TableError) as refusal:
        load(path, Options())
    assert "77123" not in str(refusal.value)


def test_release_from_file_to_file(tmp_path):
    write_patients(tmp_path / "patients.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    command = [sys.executable, "-m", "shoal", "release", "plan.toml", "--json"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    certificate = json.loads((tmp_path / "published.certificate.json").read_text())
    assert json.loads(run.stdout)["method"]["parameters"] == {"rows": 6, "first": "town"}
    assert certificate["method"] == {"name": "sorted-runs"}
    model = certificate["models"][1]
    assert (model["name"], model["holds"]) == ("rho1-to-rho2", True)
    assert model["judged_by"] == "the model and its package's definition"

    table = load(tmp_path / "published.ttsv", Options())[0]
    assert (table.num_rows, table.column_names) == (80, ["age", "town", "illness"])
    rows = [row for row in table.to_pylist() if row["illness"] is not None]
    total = Counter(row["illness"] for row in rows)
    known = Counter((row["age"], row["town"]) for row in rows)
    shares = [
        count / known[age, town]
        for (age, town, illness), count in Counter(tuple(row.values()) for row in rows).items()
        if total[illness] <= 0.2 * len(rows)
    ]
    assert shares
    assert max(shares) == model["effective"]["rho2"] < 0.3
    assert len(known) > 3

    command = [sys.executable, "-m", "shoal", "check", "published.ttsv", "--plan", "plan.toml", "--json"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300).returncode == 0


def test_release_that_counts_people(tmp_path):
    rows = [
        (person, 20 + person % 50, "Ulm" if person % 2 else "Kiel", row) for person in range(60) for row in range(3)
    ]
    illnesses = np.random.default_rng(2).choice(["flu", "cold", "gout"], len(rows), p=[0.5, 0.4, 0.1])
    lines = [f"N{person},{age},{town},{illnesses[3 * person + row]}" for person, age, town, row in rows]
    (tmp_path / "patients.csv").write_text("\n".join(["name,age,town,illness", *lines]) + "\n")
    (tmp_path / "plan.toml").write_text(PLAN.replace('role = "identifier"', 'role = "person"'))
    command = [sys.executable, "-m", "shoal", "release", "plan.toml", "--json"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    model = json.loads(run.stdout)["models"][1]  # the owner's answer: a certificate has no figures of people
    assert (model["holds"], model["counts"]) == (True, "people")
    assert 0 < model["effective"]["rho2"] < 0.3
