"""Plans as typed objects, and the JSON schema of plan files.

Plans are built from shorthands, changed, written to TOML and read back.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import shoal
from shoal import Column, Output, Plan, Role
from shoal.datasets.patients import FOLDER
from shoal.errors import PlanError
from shoal.hierarchies import cuts, dates, flat, intervals, levels_from, ordered, prefix, tree
from shoal.methods import FullDomain, Mondrian
from shoal.models import KAnonymity, PSensitive
from shoal.plan.json_schema import FILE, to_json
from shoal.schema import Calendar, Categories, Cuts, Flat, Ordered, Prefix, Schema, Tree, Widths
from shoal.schema.builders import identifier, other, quasi, sensitive
from tests.builders.typed_code import BAD, GOOD
from tests.reference.json_schema import holds

PLAN = Plan(
    columns={
        "name": identifier(),
        "age": quasi(intervals(5, 10, bottom=20)),
        "zip": quasi(prefix(1, 3, length=5)),
        "seen": quasi(dates("month", "year", format="%d.%m.%Y")),
        "country": tree({"America": ["USA", "Canada"], "Asia": ["India"]}),
        "income": quasi(cuts([20, 40], [40])),
        "grade": quasi(ordered(2, values=["low", "mid", "high"])),
        "sex": "quasi-identifier",
        "illness": sensitive(categories=[["HIV"], ["flu", "gout"]]),
        "pain": sensitive(order=["none", "some", "much"]),
        "ward": other(),
    },
    models=[KAnonymity(5), "p-sensitive p=2 column=illness"],
    method=Mondrian(strict=True),
    source="patients.csv",
    output="released.csv",
    seed=7,
)


def test_shorthands_build_schema_objects():
    columns = PLAN.columns
    assert columns["name"] == Column(Role.IDENTIFIER)
    assert columns["age"].hierarchy == Widths((5, 10), bottom=20)
    assert columns["zip"].hierarchy == Prefix((1, 3), 5)
    assert columns["seen"].hierarchy == Calendar(("month", "year"), "%d.%m.%Y")
    assert columns["country"] == quasi(Tree({"America": ["USA", "Canada"], "Asia": ["India"]}))
    assert columns["income"].hierarchy == Cuts(((20, 40), (40,)))
    assert columns["grade"].hierarchy == Ordered((2,), ("low", "mid", "high"))
    assert columns["illness"] == Column(Role.SENSITIVE, categories=Categories((("HIV",), ("flu", "gout"))))
    assert columns["pain"].order == ("none", "some", "much")
    assert columns["ward"] == Column(Role.OTHER)
    assert (prefix(), dates(), flat()) == (Prefix(), Calendar(), Flat())
    assert PLAN.models == (KAnonymity(5), PSensitive(2, column="illness"))
    assert PLAN.output == Output(Path("released.csv"))


def test_hierarchy_from_file(tmp_path):
    (tmp_path / "country.csv").write_text("USA;America\nIndia;Asia\n")
    assert levels_from(tmp_path / "country.csv").rows == (("USA", "America"), ("India", "Asia"))


def test_toml_round_trip():
    assert Plan.from_toml(PLAN.to_toml()) == PLAN
    with pytest.raises(PlanError, match="not valid TOML"):
        Plan.from_toml("columns = ")


def test_equality_of_plans():
    columns = {"age": quasi(intervals(5))}
    assert Plan(columns=columns, models="k-anonymity k=5") == Plan(Schema(columns), (KAnonymity(5),), FullDomain())
    assert Plan(columns, KAnonymity(5)) != Plan(columns, KAnonymity(6))


def test_with_changes_only_given_parts():
    plan = PLAN.with_(k=9, columns={"ward": "identifier"}, seed=8)
    assert plan.models == (KAnonymity(9), PSensitive(2, column="illness"))
    assert plan.columns["ward"].role is Role.IDENTIFIER
    assert plan.columns["age"] == PLAN.columns["age"]
    assert (plan.seed, plan.method, plan.source) == (8, PLAN.method, PLAN.source)
    assert PLAN.seed == 7
    assert PLAN.with_(method="full-domain", suppression=0.1).method == FullDomain(suppression=0.1)
    assert PLAN.with_(models="k-anonymity k=3").models == (KAnonymity(3),)
    assert PLAN.with_() == PLAN


def test_plans_are_immutable():
    with pytest.raises(AttributeError):
        PLAN.seed = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Plan(), "needs its columns"),
        (lambda: Plan({"a": "other"}, columns={"a": "other"}), "needs its columns"),
        (lambda: Plan(columns={"a": 3}, models="k-anonymity k=2"), "quasi"),
        (lambda: Plan(columns={"a": "quasi"}, models="k-anonymity k=2"), "role of a column must be one of"),
        (lambda: Plan(columns={"a": "other"}, models="k-anonymity k=2"), "at least one quasi-identifier"),
        (lambda: PLAN.with_(models="p-sensitive p=2 column=illness", k=3), "k-anonymity"),
        (lambda: PLAN.with_(suppression=0.1), "no parameter `suppression`"),
    ],
)
def test_wrong_plans_are_refused(make, message):
    with pytest.raises(PlanError) as caught:
        make()
    assert message in str(caught.value)


def test_shipped_json_schema_is_current():
    assert FILE.read_text(encoding="utf-8") == to_json(), "run: python -m shoal.plan.json_schema"


SCHEMA = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "document",
    [
        PLAN.to_dict(),
        tomllib.loads((FOLDER / "patients.toml").read_text()),
        tomllib.loads(shoal.draft(FOLDER / "patients.csv", k=2).text),
        {"columns": {"age": "quasi-identifier"}, "models": "k-anonymity k=5", "method": "mondrian"},
    ],
    ids=["python", "patients", "draft", "short"],
)
def test_json_schema_accepts_plans(document):
    Plan.from_dict(document, FOLDER)
    assert holds(SCHEMA, document, SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": {"age": {"role": "bogus"}}},
        {"columns": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5], "cuts": [[5]]}}}},
        {"columns": {"age": {"role": "quasi-identifier", "colour": "red"}}},
        {"models": [{"name": "k-anonymity"}]},
        {"models": [{"name": "k-anonymity", "k": 1}]},
        {"models": [{"name": "k-anonymous", "k": 2}]},
        {"method": "mondrain"},
        {"method": {"name": "full-domain", "suppression": 2}},
        {"seed": "7"},
        {"sources": {}},
    ],
    ids=str,
)
def test_json_schema_and_reader_refuse_the_same(change):
    document = {"columns": {"age": {"role": "quasi-identifier"}}, "models": [{"name": "k-anonymity", "k": 2}], **change}
    assert not holds(SCHEMA, document, SCHEMA)
    with pytest.raises(shoal.errors.InputError):
        Plan.from_dict(document)


def test_type_checker_accepts_and_rejects(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    root = Path(shoal.__file__).parent.parent.parent
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(root / "pyproject.toml")]
    # the options name packages, which are not checked here
    files = [str(tmp_path / "good.py"), str(tmp_path / "bad.py")]
    text = (root / "pyproject.toml").read_text().replace('packages = ["shoal"]\n', "")
    (tmp_path / "pyproject.toml").write_text(text)
    command[-1] = str(tmp_path / "pyproject.toml")
    done = subprocess.run([*command, *files], capture_output=True, text=True, cwd=root, check=False)
    faults = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert not [line for line in faults if "good.py" in line]
    found = {int(line.split(":")[1]) for line in faults if "bad.py" in line}
    assert found == {4, 5, 6, 7, 8, 9}
