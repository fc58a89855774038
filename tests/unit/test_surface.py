"""Public surface: documented names, and former names that warn."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import typing
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import shoal

VERBS = {
    "anonymize", "approve", "assess", "attack", "check", "compare", "create_signing_key", "draft", "explain", "explore",
    "profile", "release", "spark_session", "verify",
}  # fmt: skip
NOUNS = {"Column", "CsvOptions", "Engine", "Output", "Plan", "Population", "Recipient", "Review", "Role", "Source"}
RESULTS = {
    "AttackReport", "Certificate", "CheckResult", "Comparison", "Draft", "Explanation", "Exploration", "Profile",
    "Release", "ReleaseVerification", "RiskReport",
}  # fmt: skip
MODULES = {"budget", "errors", "hierarchies", "methods", "models", "plugins", "sklearn", "testing"}
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.ipynb")])
PRIVATE_MODULES_ON_PAGES = {
    "datasets": "tables for examples",
    "papers": "experiments of the papers",
    "report": "rendering by hand, on the page about reports",
    "risk": "audits of the budget's methods",
}
"""Modules that pages show though they are not public."""
TABLE = pa.table({"age": ["<30", "<30", ">40"]})


def test_the_surface_is_these_names_and_modules():
    assert set(shoal.__all__) == VERBS | NOUNS | RESULTS | {"__version__"}
    assert set(dir(shoal)) == set(shoal.__all__) | MODULES


@pytest.mark.parametrize("name", sorted(VERBS | NOUNS | RESULTS))
def test_every_public_name_has_an_example(name):
    text = inspect.getdoc(getattr(shoal, name)) or ""
    assert "Examples\n--------" in text, f"shoal.{name} has no example"


def public_objects():
    """Return the ids of all objects that are public somewhere."""
    found = {id(getattr(shoal, name)) for name in shoal.__all__}
    for name in MODULES:
        module = importlib.import_module(f"shoal.{name}")
        found |= {id(getattr(module, entry)) for entry in module.__all__}
    return found


def classes_in(hint):
    """Yield the classes of shoal in an annotation, except in callbacks."""
    origin = typing.get_origin(hint)
    if origin is Callable:
        return
    for part in (hint, origin):
        if isinstance(part, type) and part.__module__.startswith("shoal"):
            yield part
    for argument in typing.get_args(hint):
        yield from classes_in(argument)


@pytest.mark.parametrize("name", sorted(VERBS | (NOUNS - {"Role"})))
def test_types_in_public_signatures_are_public(name):
    """Parameters and results of functions, and parts of plans, can be named."""
    value = getattr(shoal, name)
    function = value.__init__ if inspect.isclass(value) else inspect.unwrap(value)
    hints = typing.get_type_hints(function)
    found = {part for hint in hints.values() for part in classes_in(hint)}
    private = {part for part in found if id(part) not in public_objects()}
    expected = {"CsvOptions": set(), "Source": {"Options"}}  # how a release is read back: no part of a plan
    assert {part.__name__ for part in private} <= expected.get(name, set())


def test_source_means_one_thing():
    """The format of a CSV is csv=; source= is where a plan reads from."""
    for name in VERBS:
        parameters = inspect.signature(getattr(shoal, name)).parameters
        assert "source" not in parameters
        if "csv" in parameters:
            assert "CsvFormat" in str(parameters["csv"].annotation)
    assert "source" in inspect.signature(shoal.Plan).parameters


@pytest.mark.parametrize("name", ["check", "attack", "assess", "profile", "draft"])
def test_source_still_works_and_warns_at_the_caller(name):
    columns = {} if name in ("profile", "draft") else {"quasi_identifiers": "age"}
    models = ["k-anonymity k=2"] if name == "check" else []
    with pytest.warns(DeprecationWarning, match="'source' of .* is deprecated; use 'csv'") as caught:
        getattr(shoal, name)(TABLE, *models, **columns, source=shoal.CsvOptions())
    assert caught[0].filename == __file__


def test_compare_takes_source_too():
    with pytest.warns(DeprecationWarning, match="use 'csv'"):
        shoal.compare(TABLE, TABLE, quasi_identifiers="age", source=shoal.CsvOptions())


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.name)
def test_examples_use_no_deprecated_name(path):
    """Every attribute of shoal that an example uses is read without a warning."""
    tree = ast.parse(path.read_text())
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "shoal"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "shoal":
            used |= {part.name for part in node.names}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in used:
            getattr(shoal, name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_show_the_public_surface_only(page):
    """Code on a page uses public names and modules, and none that warns."""
    if page.suffix == ".ipynb":
        cells = json.loads(page.read_text())["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    else:
        code = "\n".join(re.findall(r"```(?:python|pycon)\n(.*?)```", page.read_text(), re.DOTALL))
    used = set(re.findall(r"(?<![\w./\"'-])shoal\.(\w+)", code))
    for names in re.findall(r"from shoal import ([\w, ]+)", code):
        used |= {name.strip() for name in names.split(",")}
    assert used <= set(shoal.__all__) | MODULES | set(PRIVATE_MODULES_ON_PAGES)
