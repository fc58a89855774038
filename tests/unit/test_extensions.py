"""Packages of others add models, methods and hierarchies: the example, installed as a stranger would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

import shoal
from shoal.errors import PlanError
from shoal.io.engines import ENGINES
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats import FORMATS, Format, format_of
from shoal.models import MODELS, Model
from shoal.runtime.registry import Registry
from shoal.schema import Calendar, Cuts, Flat, Intervals, Ordered, Prefix, Table, Tree, Widths
from shoal.testing import check_engine, check_format, check_hierarchy

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "plugin"


def test_the_example_serves_every_method_when_it_is_installed(tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    subprocess.run([*install, tmp_path / "packages", EXAMPLE], check=True, env={**os.environ, "PIP_NO_INDEX": "1"})
    places = os.pathsep.join([str(tmp_path / "packages"), str(Path(shoal.__file__).parent.parent)])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLE / "tests"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"^\d+ passed in ", done.stdout, re.MULTILINE), done.stdout[-3000:]  # none failed, none skipped


def extended(value: str) -> Registry[type[Model]]:
    found = Registry({"own": shoal.KAnonymity}, "nowhere", Model)
    found.__dict__["installed"] = {"theirs": EntryPoint("theirs", value, "nowhere")}
    return found


def test_own_names_come_first_and_others_are_loaded_when_they_are_asked_for():
    found = extended("shoal.models:PSensitive")
    assert (list(found), len(found)) == (["own", "theirs"], 2)
    assert found["own"] is shoal.KAnonymity
    assert found["theirs"] is shoal.PSensitive
    assert "nothing" not in found


def test_an_object_is_asked_for_where_a_registry_holds_objects():
    found = Registry({}, "nowhere", Format, instances=True)
    found.__dict__["installed"] = {
        name: EntryPoint(name, f"shoal.io.formats:{name}", "nowhere") for name in ("PLAIN", "Format")
    }
    for name in ("PLAIN", "Format"):
        with pytest.raises(PlanError, match="an object of shoal's Format"):
            found[name]


def test_a_broken_format_of_others_stops_nobody_who_does_not_ask_for_it(tmp_path, monkeypatch):
    broken = {"theirs": EntryPoint("theirs", "no_such_package:X", "shoal.formats")}
    monkeypatch.setitem(FORMATS.__dict__, "installed", broken)
    (tmp_path / "table.dat").write_text("a,b\n1,2\n")
    assert format_of(tmp_path / "table.dat").name == "csv"
    with pytest.raises(PlanError, match="'theirs' cannot be loaded"):
        format_of(tmp_path / "table.dat", "theirs")


@pytest.mark.parametrize("name", ["excel", "spss", "stata", "sqlite"])
def test_formats_of_shoal_keep_what_is_asked_of_others(tmp_path, name):
    if any(find_spec(package) is None for package in FORMATS[name].packages):
        pytest.skip(f"the extra {FORMATS[name].extra!r} is not installed")
    form = FORMATS[name]
    check_format(replace(form, suffixes=(".xlsx",) if name == "excel" else form.suffixes), tmp_path)


class Theirs(DuckDBEngine):
    """An engine of somebody else's."""

    opened: ClassVar[list[str]] = []

    def __init__(self, settings, frame, progress, time_zone):
        super().__init__(settings.memory, settings.threads, time_zone)
        Theirs.opened.append(settings.options["theirs.setting"])


def test_an_engine_of_others_is_named_by_a_plan_and_held_to_the_same_answers(monkeypatch):
    monkeypatch.setitem(ENGINES.__dict__, "installed", {"theirs": EntryPoint("theirs", "x:y", "shoal.engines")})
    monkeypatch.setattr(ENGINES, "_load", lambda point: Theirs)
    plan = {"columns": {"age": "quasi-identifier"}, "models": "k-anonymity k=2"}
    engine = {"name": "theirs", "options": {"theirs.setting": "7"}}
    released = shoal.anonymize(pa.table({"age": [1, 1, 2, 2]}), {**plan, "engine": engine})
    assert (released.table.num_rows, Theirs.opened) == (4, ["7"])
    monkeypatch.setattr(Theirs, "__init__", lambda self, *given: DuckDBEngine.__init__(self))
    check_engine("theirs", methods=("full-domain",))
    with pytest.raises(PlanError, match="one of duckdb, spark, theirs; found 'thiers'"):
        shoal.Plan.from_dict({**plan, "engine": {"name": "thiers"}})


def test_own_names_cannot_be_taken_over():
    assert not set(MODELS.installed) & {"k-anonymity"}
    assert MODELS["k-anonymity"] is shoal.KAnonymity


@pytest.mark.parametrize("value", ["json:dumps", "shoal.schema:Flat", "no_such_package:X", "shoal.models:nothing"])
def test_what_is_no_model_is_refused_in_words(value):
    with pytest.raises(PlanError, match="theirs"):
        extended(value)["theirs"]


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        (Flat(), ["a", "b"]),
        (Table((("USA", "America"), ("Canada", "America"), ("India", "Asia"))), ["USA", "Canada", "India"]),
        (Tree({"America": ["USA", "Canada"], "Asia": ["India"]}), ["USA", "Canada", "India"]),
        (Prefix(length=5), ["14248", "14207"]),
        (Prefix((1, 3), 5), ["14248", "14207"]),
        (Ordered((2,), ("low", "mid", "high")), ["low", "mid", "high"]),
        (Widths((5, 10), bottom=20), ["27", "28", "41"]),
        (Cuts(((30, 40), (40,))), ["27", "35", "41"]),
        (Intervals((((0, 30), (30, float("inf"))),)), ["27", "41"]),
        (Calendar(("month", "year"), "%d.%m.%Y"), ["29.02.2024", "01.03.2024"]),
    ],
    ids=lambda instances: type(instances).__name__,
)
def test_every_hierarchy_of_shoal_keeps_what_is_asked_of_others(hierarchy, values):
    check_hierarchy(hierarchy, values)
