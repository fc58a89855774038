"""Test modules are no libraries: what several use is in tests/builders."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("tests", "tools", "benchmarks")
LIBRARIES = {"builders", "reference", "servers"}
"""Modules and packages of tests that others may import."""


def imported_modules(text: str) -> Iterator[str]:
    """Yield the full names of all imports of a module.

    A relative import is yielded with its dots.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def imported_tests(text: str) -> list[str]:
    """Return the imports of test modules, and relative imports."""
    first_parts = {name: name.split(".")[:2] for name in imported_modules(text)}
    return [
        name for name, (top, *part) in first_parts.items() if not top or (top == "tests" and not LIBRARIES & set(part))
    ]


def test_no_module_imports_a_test_module():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts]
    assert Path(__file__).resolve() in files
    found = {str(path.relative_to(ROOT)): imported_tests(path.read_text(encoding="utf-8")) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from tests.io.test_output import names", ["tests.io.test_output.names"]),
        ("def f():\n    from tests.io import test_output", ["tests.io.test_output"]),
        ("import tests.system.web.conftest", ["tests.system.web.conftest"]),
        ("from tests import conformance", ["tests.conformance"]),
        ("from .test_output import names", [".test_output.names"]),
        ("import tests", ["tests"]),
        ("from tests import servers\nfrom tests.builders.plans import write_plan\nimport json", []),
        ("from tests.reference import models as slow\nfrom tests_of_others import x", []),
    ],
)
def test_imports_of_test_modules_are_found(text, found):
    assert imported_tests(text) == found
