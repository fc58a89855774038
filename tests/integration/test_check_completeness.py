"""Completeness of ``check``: the part of the question it answered."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import shoal
from shoal.cli.app import run
from shoal.pipeline import check as pipeline

TWO_PATIENTS = pa.table({"patient": [1] * 5 + [2] * 5, "age": ["20..29"] * 10, "illness": ["flu", "gout"] * 5})
PLAN = {
    "columns": {"patient": "person", "age": "quasi-identifier", "illness": "sensitive"},
    "models": ["k-anonymity k=5"],
}
PARTIAL_PLAN = {
    "columns": {"age": "quasi-identifier", "zip": "quasi-identifier"},
    "models": [{"name": "k-anonymity", "k": 2, "known": 2, "reading": "loose"}],
    "method": "hidden-cells",
}
HIDDEN = pa.table({"age": ["*", "20", "20", "30", "30"], "zip": ["A", "*", "*", "B", "B"]})


def test_people_are_counted_where_the_table_names_them():
    """Two patients with five rows each are two people, not ten."""
    found = shoal.check(TWO_PATIENTS, plan=PLAN)
    assert (found.holds, found.complete, found.unit) == (False, True, "people")
    assert found.models[0].effective["k"] == 2


def test_the_table_is_read_once(monkeypatch):
    """Standard input cannot be read twice, and an engine may be slow to start."""
    opened, usual = [], pipeline.open_engine
    monkeypatch.setattr(pipeline, "open_engine", lambda *args, **kwargs: opened.append(args) or usual(*args, **kwargs))
    assert shoal.check(TWO_PATIENTS, plan=PLAN).unit == "people"
    assert len(opened) == 1


def test_a_release_without_people_is_answered_in_part():
    found = shoal.check(TWO_PATIENTS.drop_columns("patient"), plan=PLAN)
    assert (found.holds, found.complete, found.unit) == (True, False, "rows")
    assert "rows were counted" in found.unanswered[0]
    assert found.to_dict()["complete"] is False
    assert found.to_dict()["unanswered"] == list(found.unanswered)


def test_models_of_people_are_named_where_they_are_not_checked():
    plan = {**PLAN, "models": ["k-anonymity k=2", "trajectory-anonymity k=2 known_rows=2"]}
    assert [model.name for model in shoal.check(TWO_PATIENTS, plan=plan).models] == [
        "k-anonymity",
        "trajectory-anonymity",
    ]
    found = shoal.check(TWO_PATIENTS.drop_columns("patient"), plan=plan)
    assert [model.name for model in found.models] == ["k-anonymity"]
    assert any("trajectory-anonymity" in sentence for sentence in found.unanswered)


def test_partial_knowledge_without_the_original_is_undecided():
    """Matching rows of every person need the original."""
    found = shoal.check(HIDDEN, plan=PARTIAL_PLAN)
    assert found.complete is (found.models[0].facts["person_to_rows"] is True)


def test_a_check_without_a_plan_is_complete():
    found = shoal.check(TWO_PATIENTS, ["k-anonymity k=5"], quasi_identifiers=["age"])
    assert (found.holds, found.complete, found.unit) == (True, True, "rows")


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--require-complete"], 1)])
def test_command_line_names_the_unanswered_part(tmp_path, monkeypatch, capsys, options, status):
    pc.write_csv(TWO_PATIENTS.drop_columns("patient"), tmp_path / "released.csv")
    (tmp_path / "plan.toml").write_text(
        'models = ["k-anonymity k=5"]\n[columns]\npatient = "person"\nage = "quasi-identifier"\nillness = "sensitive"\n'
        '[source]\npath = "source.csv"\n'
    )
    arguments = ["check", str(tmp_path / "released.csv"), "--plan", str(tmp_path / "plan.toml"), "--json", *options]
    monkeypatch.setattr(sys, "argv", ["shoal", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    printed = capsys.readouterr()
    assert ended.value.code == status
    assert json.loads(printed.out)["complete"] is False
    assert printed.err.count("\n") == 1
    assert "rows were counted" in printed.err
