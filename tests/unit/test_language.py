"""Rules of naming and prose, and the map of folders in CONTRIBUTING."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tools import language

ROOT = Path(__file__).resolve().parents[2]
MAX_LOOSE_ROOT_MODULES = 8
MAX_SHARED_DEFINITIONS = 78
DEFINED_THERE = {
    "Where is the progress bar?": "show_progress",
    "Where is k-anonymity defined?": "KAnonymity",
    "Where is the optimal full-domain recoding searched?": "find_optimum",
    "Where is an SPSS file read?": "load",
    "Which SQL runs on DuckDB and Spark?": "frequencies",
    "Where is a plan file validated?": "Plan",
    "Where is a release verified before it is published?": "verify",
    "Where is a column's role suggested?": "judge_column",
    "Where is re-identification risk computed?": "reidentification",
    "Where is the HTML report made?": "render",
    "Where is noise drawn, and spending recorded?": "Ledger",
    "Where is the information loss defined?": "Measure",
}
"""A definition that answers each question, in the folder that CONTRIBUTING names."""


@pytest.fixture(scope="module")
def counts():
    return language.counts()


def test_number_of_loose_root_modules(counts):
    assert counts["loose root modules"] <= MAX_LOOSE_ROOT_MODULES


@pytest.mark.parametrize("rule", language.RULES)
def test_no_breach_of_a_rule(counts, rule):
    assert counts[rule] == 0, "run: python tools/language.py --list"


def test_definitions_that_share_a_name_do_not_grow(counts):
    assert counts["definitions that share a name"] <= MAX_SHARED_DEFINITIONS


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("told = 1", "banned word in a name"),
        ("def f(most_rows): ...", "banned word in a name"),
        ("class Shown: ...", "banned word in a name"),
        ("x.place = 1", "banned word in a name"),
        ('"""The rows that nobody told."""', "banned word in a first line"),
        ('"""Whether it holds."""', "first line asks a question"),
        ('"""' + "x" * 73 + '"""', "first line too long"),
        ("def test_" + "x" * 60 + "(): ...", "test name too long"),
    ],
)
def test_a_breach_is_found(tmp_path, text, rule):
    (tmp_path / "m.py").write_text(text)
    assert rule in {finding.rule for finding in language.findings_in(tmp_path / "m.py")}


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("en.toml", "`k` must be 2. Got 1 instead.", "banned word in a message"),
        ("en.toml", "`k` must be 2; found 1.", "banned word in a message"),
        ("en.toml", "The gate differs.", "banned word in a message"),
        ("en.toml", "Allow overwriting (--overwrite).", "option or key without backticks"),
        ("en.toml", "Set unmatched = 'hide'.", "option or key without backticks"),
        ("en.toml", "Anonymise it.", "other spelling"),
        ("en.toml", "The color of the neighbor.", "other spelling"),
        ("de.toml", "k muss 2 sein; gefunden wurde 1.", "banned word in a message"),
        ("de.toml", "Klassen der Empfindlichkeit.", "banned word in a message"),
    ],
)
def test_a_breach_in_a_message_is_found(tmp_path, file, text, rule):
    (tmp_path / file).write_text(f'["a.b"]\ntext = "{text}"\n')
    assert {finding.rule for finding in language.message_findings(tmp_path / file)} == {rule}


def test_plain_messages_pass(tmp_path):
    (tmp_path / "en.toml").write_text("""["a.b"]\ntext = "`k` must be 2. Found {found}. Set `x = 'y'` (`--set`)."\n""")
    assert list(language.message_findings(tmp_path / "en.toml")) == []


def test_spelling_of_pages(tmp_path):
    (tmp_path / "page.md").write_text("The center\n\n```\ncolor = 1\n```\nof a `color` is generalised.\n")
    found = language.page_findings(tmp_path / "page.md")
    assert [(finding.line, finding.text) for finding in found] == [(1, "center"), (6, "generalised")]


@pytest.mark.parametrize("text", ["holds = 1", "def replace(target): ...", '"""Count the rows."""', "at_most = 1"])
def test_plain_names_pass(tmp_path, text):
    (tmp_path / "m.py").write_text(text)
    assert list(language.findings_in(tmp_path / "m.py")) == []


def test_map_of_folders_answers_its_questions():
    """Every folder exists and holds the definition that answers the question."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (W[^|]+\?) \| `([^`]+)` \|$", page, re.M))
    assert set(rows) == set(DEFINED_THERE)
    assert len(rows) >= 10
    for question, folder in rows.items():
        names = {
            node.name
            for path in (ROOT / folder).glob("*.py")
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        assert DEFINED_THERE[question] in names, question
