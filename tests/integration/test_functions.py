"""Every command of the command line is a documented public function.

The command line is a thin layer over these functions.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from pathlib import Path

import pandas as pd
import pytest

import shoal
from shoal.api.commands import COMMANDS
from shoal.cli import app
from tests.builders.errors import has_code

FUNCTIONS = sorted({name for command in COMMANDS.values() for name in command.functions})
FRAME = pd.DataFrame({"age": [20 + n // 3 for n in range(24)], "illness": ["flu", "gout", "asthma"] * 8})
PLAN = shoal.Plan(columns={"age": shoal.hierarchies.intervals(5, 10), "illness": "sensitive"}, models="k-anonymity k=3")


def commands() -> set[str]:
    named = {command.name for command in app.app.registered_commands}
    return named | {group.name for group in app.app.registered_groups}


def test_every_command_is_listed_with_its_functions():
    assert commands() == set(COMMANDS)


def resolve(name):
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_a_command_is_documented(name):
    assert len(inspect.getdoc(resolve(name)) or "") > 40


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"version"}))
def test_a_command_calls_its_function(command):
    """The file of a command uses every function listed for it.

    A function is an attribute of shoal itself, or is imported from its module.
    """
    file = Path(app.__file__).with_name(f"{COMMANDS[command].entry.partition('.')[0]}.py")
    used = {node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            used |= {part.name for part in node.names}
    done = {name.rpartition(".")[2] for name in COMMANDS[command].functions} - {"profile"}  # part of a draft
    assert done <= used


def test_functions_annotate_every_parameter():
    for name in FUNCTIONS:
        for parameter in inspect.signature(resolve(name)).parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, f"{name}: {parameter.name}"


def test_draft_of_a_frame_runs(tmp_path):
    drafted = shoal.draft(FRAME, k=3)
    assert drafted.plan.source is None
    assert drafted.plan.schema.sensitive == ("illness",)
    assert shoal.anonymize(FRAME, drafted.plan).figures["smallest_group"] >= 3
    path = drafted.save(tmp_path / "plan.toml")
    assert path.read_text() == drafted.text == str(drafted)
    with pytest.raises(shoal.errors.OutputError, match="exists"):
        drafted.save(path)


def test_draft_of_a_file_has_a_path_relative_to_the_plan(tmp_path):
    FRAME.to_csv(tmp_path / "table.csv", index=False)
    drafted = shoal.draft(tmp_path / "table.csv", k=3, folder=tmp_path)
    drafted.save(tmp_path / "plan.toml")
    release = shoal.release(tmp_path / "plan.toml")
    assert release.path is not None
    assert release.path.name == "table-released.csv"


def test_draft_declares_detected_missing_texts():
    """Texts that a draft detects as missing are missing in its plan."""
    frame = pd.DataFrame({"size": ["10", "?", "30", "?", "10", "30"] * 4})
    drafted = shoal.draft(frame, k=2)
    assert drafted.profile.missing == ("?",)
    assert drafted.plan.source.csv.missing == ("?",)


def test_exploring_takes_a_frame():
    found = shoal.explore(PLAN, FRAME, methods="full-domain", ks=[3], workers=1)
    assert [trial.outcome for trial in found.trials] == ["released"]
    assert found.chosen is not None


def test_attack_assess_and_compare_take_names_or_plans(tmp_path):
    release = shoal.anonymize(FRAME, PLAN)
    by_plan = shoal.attack(release.table, PLAN, original=FRAME)
    names = {"quasi_identifiers": "age", "sensitive": "illness"}
    assert shoal.attack(release.table, **names).rows == by_plan.rows == 24
    assert shoal.assess(release.table, quasi_identifiers="age").smallest_group >= 3
    assert shoal.compare(FRAME, release.table, **names, queries=10).released == 24
    (tmp_path / "plan.toml").write_text(PLAN.to_toml())
    assert shoal.compare(FRAME, release.table, tmp_path / "plan.toml", queries=10).released == 24
    with pytest.raises(shoal.errors.PlanError, match="not both"):
        shoal.attack(release.table, PLAN, quasi_identifiers="age")
    with pytest.raises(shoal.errors.PlanError, check=has_code("check.known-columns-missing")):
        shoal.attack(release.table)


def test_locality_attack_by_function():
    release = shoal.anonymize(FRAME, PLAN)
    found = shoal.attack(release.table, PLAN, original=FRAME, locality=True)
    assert found.results[-1].name == "locality"
    with pytest.raises(shoal.errors.PlanError, match="original"):
        shoal.attack(release.table, PLAN, locality=True)
    json.dumps(found.to_dict())
