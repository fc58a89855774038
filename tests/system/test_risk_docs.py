"""Examples of the documentation pages and the modules give their output."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import shoal.risk
import shoal.utility

ROOT = Path(__file__).parents[2]
MODULES = [
    f"{package.__name__}.{path.stem}"
    for package in (shoal.risk, shoal.utility)
    for path in sorted(Path(package.__file__).parent.glob("*.py"))
    if path.stem != "__init__"
] + ["shoal.audit.attack", "shoal.audit.assess", "shoal.audit.compare"]


@pytest.mark.parametrize("page", ["risk.md", "utility.md"])
def test_examples_of_the_page(page):
    result = doctest.testfile(str(ROOT / "docs" / page), module_relative=False)
    assert result.attempted > 3
    assert result.failed == 0


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_the_modules(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0
