"""Text of users is never a template of str.format."""

from __future__ import annotations

import ast
import csv
from pathlib import Path

import pytest
import tomli_w

import shoal
from shoal.report.wording import model_sentence
from shoal.runtime.templates import fill_template

SOURCE = Path(shoal.__file__).parent
NAMES = ("{k.__lt__.__class__}", "{x}", "{", "}", "{0}", "{column!r:_^99}", "{k}")


def format_calls():
    """Yield calls of str.format on what is not a constant."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            receiver = node.func.value
            while isinstance(receiver, ast.Subscript):
                receiver = receiver.value
            constant = isinstance(receiver, ast.Constant) or (isinstance(receiver, ast.Name) and receiver.id.isupper())
            if node.func.attr in ("format", "format_map") and not constant:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}"


def test_only_constants_are_format_strings():
    # DataFrameWriter.format of Spark takes the name of a file format
    assert [call for call in format_calls() if not call.startswith("io/engines/spark.py")] == []
    assert len(list(format_calls())) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_part_is_not_read_as_a_template(name):
    assert fill_template("{a}, {b}", {"a": name, "b": 2}) == f"{name}, 2"
    assert fill_template(name + " {a}", {"a": 1}).endswith(" 1")


@pytest.mark.parametrize("name", NAMES)
def test_a_column_name_stays_a_name_in_the_sentence_of_a_model(name):
    model = {"name": "p-sensitive", "parameters": {"p": 2, "column": name, "keys": [name, "age"]}, "counts": "people"}
    words = model_sentence(model, (name,))
    assert words.count(f"<bdi>{name}</bdi>") == 2
    assert words.count("<") == 6


def test_a_key_set_of_braces_is_released_and_reported(tmp_path):
    names = [*NAMES[:3], "age"]
    with (tmp_path / "source.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *[["a", "b", "c", 20], ["b", "c", "a", 30]] * 4])
    document = {
        "source": {"path": "source.csv"},
        "columns": {name: {"role": "quasi-identifier"} for name in names},
        "keys": [{"columns": names, "k": 2}],
        "method": {"name": "full-domain"},
        "output": {"path": "released.csv"},
    }
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(document), encoding="utf-8")
    shoal.release(tmp_path / "plan.toml")
    page = (tmp_path / "released.report.html").read_text(encoding="utf-8")
    clause = page.partition("of a person no more than ")[2].partition(";")[0]
    assert clause == ", ".join(f"<bdi>{name}</bdi>" for name in names[:3]) + " and <bdi>age</bdi>"
    assert "method-wrapper" not in page
