"""Third-party packages add models, methods, hierarchies and more.

The example package is installed as a user would install it.
"""

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
from tests.builders.errors import has_code

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.mark.parametrize("package", ["plugin", "second_plugin"])
def test_installed_example_passes_its_own_tests(tmp_path, package):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    subprocess.run(
        [*install, tmp_path / "packages", EXAMPLES / package], check=True, env={**os.environ, "PIP_NO_INDEX": "1"}
    )
    import_path = os.pathsep.join([str(tmp_path / "packages"), str(Path(shoal.__file__).parent.parent)])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLES / package / "tests"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": import_path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"^\d+ passed in ", done.stdout, re.MULTILINE), done.stdout[-3000:]  # none failed, none skipped


def registry_with(value: str) -> Registry[type[Model]]:
    found = Registry({"own": shoal.models.KAnonymity}, "nowhere", Model)
    found.__dict__["installed"] = {"theirs": EntryPoint("theirs", value, "nowhere")}
    return found


def test_own_names_come_first_and_others_load_lazily():
    found = registry_with("shoal.models:PSensitive")
    assert (list(found), len(found)) == (["own", "theirs"], 2)
    assert found["own"] is shoal.models.KAnonymity
    assert found["theirs"] is shoal.models.PSensitive
    assert "nothing" not in found


def test_registry_of_instances_requires_instances():
    found = Registry({}, "nowhere", Format, instances=True)
    found.__dict__["installed"] = {
        name: EntryPoint(name, f"shoal.io.formats:{name}", "nowhere") for name in ("PLAIN", "Format")
    }
    for name in ("PLAIN", "Format"):
        with pytest.raises(PlanError, match="an object of shoal's Format"):
            found[name]


def test_broken_third_party_format_fails_only_if_requested(tmp_path, monkeypatch):
    broken = {"theirs": EntryPoint("theirs", "no_such_package:X", "shoal.formats")}
    monkeypatch.setitem(FORMATS.__dict__, "installed", broken)
    (tmp_path / "table.dat").write_text("a,b\n1,2\n")
    assert format_of(tmp_path / "table.dat").name == "csv"
    with pytest.raises(PlanError, match="'theirs' cannot be loaded"):
        format_of(tmp_path / "table.dat", "theirs")


@pytest.mark.parametrize("name", ["excel", "spss", "stata", "sqlite"])
def test_own_formats_meet_the_extension_contract(tmp_path, name):
    if any(find_spec(package) is None for package in FORMATS[name].packages):
        pytest.skip(f"the extra {FORMATS[name].extra!r} is not installed")
    form = FORMATS[name]
    check_format(replace(form, suffixes=(".xlsx",) if name == "excel" else form.suffixes), tmp_path)


class ThirdPartyEngine(DuckDBEngine):
    """A third-party engine."""

    opened: ClassVar[list[str]] = []

    def __init__(self, settings, frame, progress, time_zone):
        super().__init__(settings.memory, settings.threads, time_zone)
        ThirdPartyEngine.opened.append(settings.options["theirs.setting"])


def test_third_party_engine_gives_the_same_answers(monkeypatch):
    """Name the engine in a plan and compare its answers."""
    monkeypatch.setitem(ENGINES.__dict__, "installed", {"theirs": EntryPoint("theirs", "x:y", "shoal.engines")})
    monkeypatch.setattr(ENGINES, "_load", lambda point: ThirdPartyEngine)
    plan = {"columns": {"age": "quasi-identifier"}, "models": "k-anonymity k=2"}
    engine = {"name": "theirs", "options": {"theirs.setting": "7"}}
    released = shoal.anonymize(pa.table({"age": [1, 1, 2, 2]}), {**plan, "engine": engine})
    assert (released.table.num_rows, ThirdPartyEngine.opened) == (4, ["7"])
    monkeypatch.setattr(ThirdPartyEngine, "__init__", lambda self, *given: DuckDBEngine.__init__(self))
    check_engine("theirs", methods=("full-domain",))
    with pytest.raises(PlanError, check=has_code("engine.unknown", allowed="duckdb, spark, theirs", found="thiers")):
        shoal.Plan.from_dict({**plan, "engine": {"name": "thiers"}})


def test_own_names_cannot_be_replaced():
    assert not set(MODELS.installed) & {"k-anonymity"}
    assert MODELS["k-anonymity"] is shoal.models.KAnonymity


@pytest.mark.parametrize("value", ["json:dumps", "shoal.schema:Flat", "no_such_package:X", "shoal.models:nothing"])
def test_objects_other_than_models_are_refused(value):
    with pytest.raises(PlanError, match="theirs"):
        registry_with(value)["theirs"]


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
def test_own_hierarchies_meet_the_extension_contract(hierarchy, values):
    check_hierarchy(hierarchy, values)
