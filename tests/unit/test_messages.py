"""Errors as data: codes, catalogues of two languages, and their fields."""

from __future__ import annotations

import ast
import builtins
import pickle
import re
import tomllib
from pathlib import Path
from string import Formatter

import pytest

import shoal.errors
from shoal.errors import LANGUAGES, PlanError, TableError

PACKAGE = Path(shoal.errors.__file__).parent
CATALOGUES = {
    language: tomllib.loads((PACKAGE / "locale" / f"{language}.toml").read_text(encoding="utf-8"))
    for language in LANGUAGES
}
BUILT_ELSEWHERE = 6
"""Raised errors whose message a function builds from several sentences."""


def fields_of(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def raised() -> list[tuple[str, ast.Call]]:
    """List the raised errors of shoal, each with its module."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                kind = ast.unparse(node.exc.func).rpartition(".")[2]
                if (kind.endswith("Error") and not hasattr(builtins, kind)) or kind.endswith("fault"):
                    found.append((str(file.relative_to(PACKAGE)), node.exc))
    return found


RAISED = raised()
CODED = [(module, call) for module, call in RAISED if isinstance(call.args[0], ast.Constant)]


def test_messages_have_codes():
    assert len(CODED) > 550
    assert len(RAISED) - len(CODED) <= BUILT_ELSEWHERE
    texts = [call.args[0].value for _, call in CODED if call.args[0].value not in CATALOGUES["en"]]
    assert texts == [], "put the message into locale/en.toml and locale/de.toml, and raise its code"


def test_every_message_is_raised():
    used = {call.args[0].value for _, call in CODED}
    source = "".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    assert [code for code in CATALOGUES["en"] if code not in used and f'"{code}"' not in source] == []


def test_arguments_are_the_fields_of_the_message():
    for module, call in CODED:
        code = call.args[0].value
        given = {keyword.arg for keyword in call.keywords} - {"where"}
        assert given == fields_of(CATALOGUES["en"][code]["text"]), f"{module}: {code}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogue_is_complete(language):
    assert set(CATALOGUES[language]) == set(CATALOGUES["en"])
    for code, message in CATALOGUES[language].items():
        assert re.fullmatch(r"[a-z][a-z-]*\.[a-z0-9-]+", code)
        assert message["text"].rstrip() == message["text"] != ""
        assert fields_of(message["text"]) <= fields_of(CATALOGUES["en"][code]["text"]), code


def test_german_names_what_the_english_names():
    """Require every column, count and limit in both languages."""
    left_out = {
        (code, name)
        for code, message in CATALOGUES["en"].items()
        for name in fields_of(message["text"]) - fields_of(CATALOGUES["de"][code]["text"])
        if "plural" not in name
    }
    assert left_out == set()


def test_messages_differ_between_languages():
    english, german = CATALOGUES["en"], CATALOGUES["de"]
    same = [message["text"] for code, message in english.items() if message["text"] == german[code]["text"]]
    assert [text for text in same if re.search(r"[a-z]{4}", re.sub(r"\{.*?\}", "", text))] == []


def test_locations_are_sections_of_a_plan():
    sections = {
        "source",
        "columns",
        "models",
        "keys",
        "scenarios",
        "together",
        "method",
        "output",
        "engine",
        "seed",
        "recipient",
        "review",
        "population",
    }
    for code, message in CATALOGUES["en"].items():
        where = message.get("where", [])
        assert not where or where[0] in sections, code
        assert {name for part in where for name in fields_of(part)} <= fields_of(message["text"]), code


@pytest.fixture
def example(monkeypatch):
    messages = {
        "en": {"a.b": {"text": "Column {column!r} has {rows:,} rows: {reason}", "where": ["columns", "{column}"]}},
        "de": {"a.b": {"text": "Spalte {column!r} hat {rows:,} Zeilen: {reason}"}},
    }
    monkeypatch.setattr(shoal.errors, "_catalogue", lambda language: messages.get(language, {}))
    return PlanError("a.b", column="{rows.__class__}", rows=12345, reason=TableError("{x} is text."))


def test_message_in_each_language(example):
    assert str(example) == "Column '{rows.__class__}' has 12,345 rows: {x} is text."
    assert example.text("de") == "Spalte '{rows.__class__}' hat 12.345 Zeilen: {x} is text."
    assert example.text("fr") == str(example)
    assert (example.code, example.where) == ("a.b", ("columns", "{rows.__class__}"))


def test_texts_of_arguments_can_be_replaced(example):
    example.replace_texts(lambda text: text.replace("x", "y").replace("rows", "r"))
    assert str(example) == "Column '{r.__class__}' has 12,345 rows: {y} is teyt."


def test_errors_are_pickled_with_their_arguments(example):
    again = pickle.loads(pickle.dumps(example))
    assert (type(again), again.code, str(again)) == (PlanError, "a.b", str(example))


def test_a_text_without_a_code_is_the_message():
    error = PlanError("The column {x} is odd.")
    assert (str(error), error.code, error.where, error.text("de")) == (error.args[0], None, (), error.args[0])
    assert str(PlanError("other.package")) == "other.package"


@pytest.mark.parametrize(("rows", "english", "german"), [(1, "1 row", "1 Zeile"), (1200, "1,200 rows", "1.200 Zeilen")])
def test_a_number_with_its_noun(monkeypatch, rows, english, german):
    messages = {"en": {"a.b": {"text": "{n:row|rows}"}}, "de": {"a.b": {"text": "{n:Zeile|Zeilen}"}}}
    monkeypatch.setattr(shoal.errors, "_catalogue", lambda language: messages.get(language, {}))
    error = PlanError("a.b", n=rows)
    assert (str(error), error.text("de")) == (english, german)


def test_several_errors_among_the_arguments(example):
    both = PlanError("a.b", column="c", rows=1, reason=(example, TableError("{x} is text.")))
    parts = "Spalte '{rows.__class__}' hat 12.345 Zeilen: {x} is text.; {x} is text."
    assert both.text("de") == f"Spalte 'c' hat 1 Zeilen: {parts}"
    both.replace_texts(lambda text: text.replace("x", "y"))
    assert both.text("de") == f"Spalte 'c' hat 1 Zeilen: {parts.replace('x', 'y').replace('teyt', 'teyt')}"
