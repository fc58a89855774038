"""Hostile names and values are harmless in every output.

The outputs are the table, the terminal, and the files next to the table.
"""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.spreadsheet_safety import neutralize_text
from tests.builders.plans import write_plan

NAMES = ["=cmd()|' /C calc'!A0", "<script>alert(1)</script>", "‮gpj.exe", "x" * 3000, "[red]bold[/]\x1b[31m"]
VALUES = [
    "=1+1",
    "+SUM(A1)",
    "-2+3",
    "@x",
    "\tx",
    "'=y",
    "-5",
    "1e5",
    "'s Gravenhage",
    "<b>",
    "\x1b[2J",
    "שלום",
    "plain",
]


@given(st.lists(st.text(alphabet="'=+-@\t\r0159.eabc ", max_size=6), unique=True))
def test_neutralized_texts(texts):
    made = [neutralize_text(text) for text in texts]
    assert len(set(made)) == len(made)  # different stay different
    for text, after in zip(texts, made, strict=True):
        assert after in (text, f"'{text}")
        try:
            number = float(text) is not None and text == text.strip()
        except ValueError:
            number = False
        if after[:1] and after[0] in "=+-@\t\r":
            assert number


def write_hostile_plan(folder, path="released.csv", spreadsheet_safe=False):
    """Write a table with hostile names and values, and its plan."""
    rows = [[value, f"v{n % 2}", "<script>", "free"] for n, value in enumerate(VALUES * 4)]
    with (folder / "source.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES[:4])
        writer.writerows(rows)
    return write_plan(
        folder,
        columns={
            NAMES[0]: {"role": "sensitive", "categories": [VALUES[:6], VALUES[6:]]},
            NAMES[1]: {"role": "quasi-identifier", "hierarchy": {"tree": {"=evil()": ["v0", "v1"]}}},
            NAMES[2]: "other",
            NAMES[3]: "identifier",
        },
        models=["k-anonymity k=4", "p-sensitive p=2"],
        method={"name": "levels", "levels": {NAMES[1]: 1}},
        output={"path": path, "spreadsheet_safe": spreadsheet_safe},
    )


def read(folder):
    with (folder / "released.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_formulas_are_neutralised_on_request(tmp_path):
    release = shoal.release(write_hostile_plan(tmp_path, spreadsheet_safe=True))
    assert all(model["holds"] for model in release.figures["models"])
    header, *rows = read(tmp_path)
    assert header == ["'" + NAMES[0], NAMES[1], NAMES[2]]
    assert {row[1] for row in rows} == {"'=evil()"}
    cells = [cell for row in [header, *rows] for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t") and cell not in ("-5",)]
    assert sorted({row[0] for row in rows}) == sorted({neutralize_text(value) for value in VALUES})


def test_formulas_are_unchanged_by_default(tmp_path):
    shoal.release(write_hostile_plan(tmp_path))
    header, *rows = read(tmp_path)
    assert header == NAMES[:3]
    assert sorted({row[0] for row in rows}) == sorted(set(VALUES))


def test_terminal_output_of_hostile_names(tmp_path, monkeypatch, capsys):
    """No control character reaches the terminal, and no markup is obeyed.

    This applies to names and values.
    """
    from shoal.cli.app import app

    monkeypatch.chdir(tmp_path)
    name = NAMES[4]
    with (tmp_path / "source.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([name, "‮age"])
        writer.writerows([[VALUES[10], "a"]] * 8)
    for command in (
        ["plan", "source.csv"],
        ["release", "plan.toml"],
        ["check", "source-released.csv", "--plan", "plan.toml"],
        ["explore", "plan.toml", "--method", "full-domain", "--k", "2", "--workers", "1"],
    ):
        app(command, standalone_mode=False)
        printed = capsys.readouterr().out
        assert "\x1b" not in printed
        assert "‮" not in printed
    page = (tmp_path / "source-released.report.html").read_text(encoding="utf-8")
    assert "\x1b" not in page
    assert "‮" not in page


def test_json_stays_json(tmp_path, monkeypatch, capsys):
    from shoal.cli.app import app

    monkeypatch.chdir(tmp_path)
    write_hostile_plan(tmp_path, spreadsheet_safe=True)
    app(["release", "plan.toml", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["smallest_group"] >= 4


@pytest.mark.parametrize("target", ["released.parquet", "released.csv"])
def test_a_hierarchy_label_is_data(tmp_path, target):
    release = shoal.release(write_hostile_plan(tmp_path, path=target))
    assert "<script" not in (tmp_path / "released.report.html").read_text(encoding="utf-8")
    assert release.figures["groups"] == 1
