"""Public interfaces for plugins, and their documentation."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import shoal.plugins
from shoal.models import KAnonymity
from shoal.testing import check_hierarchy, check_method, check_model, method_cases

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*plugin/src/**/*.py"))
DOCUMENTED = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(shoal.plugins.__all__) - {"ByGroup", "FrequencySet"}))
def test_public_name_is_documented(name):
    assert re.search(rf"\b{name}\b", DOCUMENTED), f"docs/plugins.md does not name {name}"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_example_imports_only_public_modules(file):
    used = {
        node.module
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.split(".")[0] == "shoal"
    }
    assert used <= {"shoal.plugins", "shoal.errors"}


def test_every_registry_has_its_entry_point_group_documented():
    groups = {
        found
        for file in (ROOT / "src").rglob("*.py")
        for found in re.findall(r'Registry\([^)]*?"(shoal\.\w+)"', file.read_text(encoding="utf-8"), re.DOTALL)
    }
    assert len(groups) == 6
    for group in groups:
        assert f"`{group}`" in DOCUMENTED


def test_examples_of_the_documentation_run(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENTED, re.DOTALL)
    code = [block for block in blocks if not block.startswith(("def load", "from shoal.testing"))]
    (tmp_path / "documented_plugin.py").write_text("\n\n".join(code), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    documented = importlib.import_module("documented_plugin")
    check_model(documented.AtMost(2), methods=("mondrian",))
    check_method(documented.Chunks(), cases=method_cases((KAnonymity(3),), ((60, 1),)))
    check_hierarchy(documented.Initial(2), ["Anna", "Berta"])
    assert documented.LIMIT_DEFINITION.judge(documented.AtMost(2), None)(4, ((0, 4),)) == (False, (1,))
