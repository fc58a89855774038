"""Faults of mutation testing, and the list of equivalent mutants."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest
from tools.mutation.areas import former_survivors, sample
from tools.mutation.mutate import mutants_of

PROJECT = Path(__file__).parents[2]


def faults(tmp_path, line):
    (tmp_path / "m.py").write_text(f"def f(x, y):\n    {line}\n")
    return {mutant.after for mutant in mutants_of(tmp_path, "m.py")}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("if x < y: g(x)", "if (x <= y): g(x)"),
        ("if x < y: g(x)", "if (x >= y): g(x)"),
        ("if x == y: g(x)", "if (x != y): g(x)"),
        ("if x and y: g(x)", "if (x or y): g(x)"),
        ("if not x: g(y)", "if (x): g(y)"),
        ("x = y + 1", "x = (y - 1)"),
        ("x = y + 1", "x = y + (2)"),
        ("x = y * 3", "x = (y // 3)"),
        ("x = True", "x = (False)"),
        ("x = max(x, y)", "x = (min(x, y))"),
        ("if x: raise ValueError(x + 1)", "pass"),
        ("os.fsync(x)", "pass"),
        ("return x", "return None"),
        ("x = g(x, safe=y)", "x = (g(x))"),
    ],
)
def test_faults_of_a_line(tmp_path, line, fault):
    assert fault in faults(tmp_path, line)


def test_messages_and_types_are_not_mutated(tmp_path):
    assert faults(tmp_path, "raise ValueError(f'at least {x + 1} of {y - 1}')") == set()
    assert faults(tmp_path, "x: dict[int, 3 | 4]") == set()
    assert faults(tmp_path, "x = zip(x, y, strict=True)") == set()


def test_mutants_differ_from_the_source_and_parse():
    root = PROJECT / "src" / "shoal"
    source = (root / "io" / "publish.py").read_text()
    found = mutants_of(root, "io/publish.py")
    assert len({mutant.text for mutant in found}) > 50
    for mutant in found:
        ast.parse(mutant.text)
        assert mutant.text != source
        assert mutant.before == source.splitlines()[mutant.line - 1].strip()


def test_former_survivors_still_apply():
    found = former_survivors()
    assert len(found) >= 12
    for _, mutant in found:
        ast.parse(mutant.text)
        functions = {other.function for other in mutants_of(PROJECT / "src" / "shoal", mutant.module)}
        assert mutant.function in functions


def test_samples_are_nested_and_depend_on_the_seed():
    """A smaller sample is a subset of a larger one of the same seed.

    A changed line therefore leaves the rest of the sample as it was.
    """
    whole = {mutant.key for _, mutant in sample(40, 1, "output")}
    assert len(whole) > 30
    assert {mutant.key for _, mutant in sample(20, 1, "output")} < whole
    assert {mutant.key for _, mutant in sample(40, 2, "output")} != whole


def test_listed_equivalent_mutants_still_exist():
    """A line that was changed has to be judged anew."""
    listed = tomllib.loads((PROJECT / "tools" / "mutation" / "equivalent.toml").read_text()).get("mutant", [])
    for one in listed:
        keys = {mutant.key for mutant in mutants_of(PROJECT / "src" / "shoal", one["module"])}
        assert (one["module"], one["function"], one["before"], one["after"]) in keys, one
        assert len(one["reason"]) > 20
