"""``shoal attack`` and ``shoal compare`` on the command line.

Answers, one JSON object, errors, and hostile names in the terminal.
"""

from __future__ import annotations

import io
import json
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from shoal.cli import app, console
from shoal.datasets.patients import COLUMNS, FOLDER, TABLES
from tests.builders.plans import write_plan

PLAN = str(FOLDER / "patients.toml")
PATIENTS = str(FOLDER / "patients.csv")


@dataclass(frozen=True)
class Run:
    """The output of a command."""

    stdout: str
    stderr: str


def shoal(*arguments, status=0, columns=160):
    """Run the command in this process, on a terminal of some width."""
    printed, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as changed, redirect_stdout(printed), redirect_stderr(errors):
        changed.setattr(sys, "argv", ["shoal", *map(str, arguments)])
        changed.setattr(console.output, "_width", columns)
        with pytest.raises(SystemExit) as ended:
            app.run()
    assert ended.value.code == status, errors.getvalue()
    return Run(printed.getvalue(), errors.getvalue())


def write(path, columns, rows):
    path.write_text("\n".join(",".join(cells) for cells in (columns, *rows)) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def second(tmp_path):
    return write(tmp_path / "table2.csv", COLUMNS, TABLES[2])


@pytest.fixture
def external(tmp_path):
    rows = [("Rick", "26", "USA", "14246"), ("Hassen", "45", "India", "13064"), ("Rudy", "25", "Canada", "14249")]
    return write(tmp_path / "external.csv", ("name", *COLUMNS[:3]), rows)


def test_attack_answers_in_one_json_object(second, external):
    run = shoal("attack", second, "--plan", PLAN, "--external", external, "--original", PATIENTS, "--json")
    answer = json.loads(run.stdout)
    linked = [a for a in answer["attacks"] if a["attack"] == "linkage" and a["learns"] == "the value"]
    assert linked[0]["external_rows"] == [1, 3]
    assert answer["risk"]["reidentification"]["prosecutor"]["highest"] == 0.5
    assert run.stderr == ""
    assert not any(secret in run.stdout for secret in ("Rick", "Cancer", "14246", "America"))


def test_attack_by_names_without_a_plan(second):
    categories = "HIV,Cancer;Phthisis,Hepatitis;Heart Disease,Asthma;Flu,Indigestion"
    run = shoal("attack", second, "-q", "age,country,zip", "-s", "condition", "--categories", categories, "--json")
    found = {a["attack"]: a["exposed"] for a in json.loads(run.stdout)["attacks"]}
    assert found == {"homogeneity": 6, "similarity": 8, "inference": 8, "background knowledge": 8}


def test_attack_prints_counts_and_row_numbers(second, external):
    run = shoal("attack", second, "--plan", PLAN, "--external", external, "--fraction", "0.1")
    assert "rows 1, 3 of the external table" in run.stdout
    assert re.search(r"knows that a person is in\W+the table\W+50%|the table │ +50%", run.stdout)
    assert not any(secret in run.stdout for secret in ("Rick", "Cancer", "14246", "America"))


def test_attack_fits_a_narrow_terminal(tmp_path):
    """Cut off no word of an attack in 80 columns.

    Thousands have separators.
    """
    rows = [(str(20 + n % 4), "abcdefg"[n % 7]) for n in range(7000)]
    table = write(tmp_path / "t.csv", ("age", "an occupation of some length"), rows)
    run = shoal(
        "attack", table, "-q", "age", "-s", "an occupation of some length", "--original", table, "--previous", table,
        columns=80,
    )  # fmt: skip
    assert "…" not in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80
    for word in ("homogeneity", "intersection", "background", "1,000"):
        assert word in run.stdout


def test_locality_reruns_the_plan(tmp_path):
    table = write(tmp_path / "source.csv", ("age", "s"), [(str(20 + i % 30), "abcdefg"[i % 7]) for i in range(90)])
    plan = write_plan(
        tmp_path,
        columns={"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "s": "sensitive"},
        models="k-anonymity k=3",
        method={"name": "levels", "levels": {"age": 1}},
        output="out.csv",
    )
    shoal("release", plan)
    run = shoal("attack", tmp_path / "out.csv", "--plan", plan, "--original", table, "--locality", "--json")
    audit = json.loads(run.stdout)["attacks"][-1]
    assert (audit["attack"], audit["exposed"], audit["attacked"]) == ("locality", 0, 3 * 72)


def test_compare_answers_in_one_json_object(second):
    run = shoal("compare", PATIENTS, second, "--plan", PLAN, "--queries", "20", "--json")
    answer = json.loads(run.stdout)
    assert (answer["rows"], answer["released"]) == (12, 12)
    assert set(answer["columns"]) == set(COLUMNS)
    assert answer["columns"]["condition"]["total_variation"] == 0
    printed = shoal("compare", PATIENTS, second, "--plan", PLAN).stdout
    assert "12 of 12 rows" in printed
    assert "Range queries" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attack", "{table}"], "--quasi-identifiers"),
        (["attack", "{table}", "-q", "age", "--plan", PLAN], "not both"),
        (["attack", "{table}", "-q", "agee"], "has no column"),
        (["attack", "{table}", "-q", "age", "-s", "age"], "one role"),
        (["attack", "{table}", "-q", "age", "--locality"], "Give both a plan and the original"),
        (["attack", "{table}", "-q", "age", "--fraction", "3"], "sampling fraction"),
        (["attack", "{table}", "--plan", PLAN, "--external", "nowhere.csv"], "cannot be read"),
        (["compare", PATIENTS, "{table}", "-q", "height"], "share none"),
        (["compare", PATIENTS, "{table}", "--plan", PLAN, "--classifier", "oracle"], "must be one of"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(second, arguments, message):
    run = shoal(*(argument.format(table=second) for argument in arguments), status=2)
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""


def test_hostile_names_are_harmless(tmp_path):
    """A column name with markup, control characters and text direction.

    The name has a right-to-left override; values look like formulas.
    """
    name = "[red]x[/]\x1b[31m\u202e"
    rows = [("=cmd()", "<script>"), ("=cmd()", "<script>"), ("a" * 5000, "b"), ("a" * 5000, "b")]
    table = write(tmp_path / "t.csv", (name, "s"), rows)
    outside = write(tmp_path / "e.csv", (name,), [("=cmd()",)])
    run = shoal("attack", table, "-q", name, "-s", "s", "--external", outside)
    both = shoal("compare", table, table, "-q", name, "-s", "s")
    for text in (run.stdout, both.stdout):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "cmd" not in text
        assert "script" not in text
    assert "rows 1 of the external table" in run.stdout
    assert "[red]x" in both.stdout  # printed literally, not interpreted as markup


def test_help_has_an_example():
    for command in ("attack", "compare"):
        text = shoal(command, "--help").stdout
        assert "Example" in text
        assert "--plan" in text
