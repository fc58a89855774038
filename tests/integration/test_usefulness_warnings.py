"""Warnings about a release that is safe and useless.

They are on the terminal, in JSON and at the top of the report.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cli.app import app
from shoal.results.usefulness import _variation

PLAN = """
[source]
path = "t.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = { flat = true }
[columns.town]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"
[[models]]
name = "k-anonymity"
k = %d
[method]
name = "full-domain"
[output]
path = "out.csv"
"""


def frame(rows):
    return pa.table({
        "age": [str(n) for n in range(rows)], "town": ["a" if n % 2 else "b" for n in range(rows)],
        "illness": ["flu" if n % 3 else "cold" for n in range(rows)],
    })  # fmt: skip


def released(rows, k, **columns):
    roles = {name: {"role": "quasi-identifier"} for name in ("age", "town")} | {"illness": {"role": "sensitive"}}
    models = [{"name": "k-anonymity", "k": k}]
    return shoal.anonymize(frame(rows), {"columns": {**roles, **columns}, "models": models})


def codes(release):
    return [warning["code"] for warning in release.warnings]


def test_warnings_of_a_table_of_stars():
    found = released(12, 12)
    assert codes(found) == ["hidden-columns", "one-group", "half-lost", "nothing-learned"]
    texts = [warning["text"] for warning in found.warnings]
    assert "every quasi-identifier" in texts[0]
    assert "'illness'" in texts[3]
    assert found.figures["hidden_columns"] == ["age", "town"]


def test_only_hidden_columns_are_named():
    found = released(12, 6)
    assert codes(found) == ["hidden-columns", "nothing-learned"]
    assert found.warnings[0]["text"] == "Nothing is shown of 'age': all rows have '*' there."


def test_no_warning_for_a_useful_release():
    table = pa.table({"age": ["20", "30"] * 10, "illness": ["flu", "cold", "cold", "cold"] * 5})
    plan = {
        "columns": {"age": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}},
        "models": [{"name": "k-anonymity", "k": 5}],
    }
    found = shoal.anonymize(table, plan)
    assert codes(found) == []
    assert not {"hidden_columns", "nothing_learned"} & set(found.figures)


def test_column_of_one_value_is_not_hidden():
    table = pa.table({"age": ["20", "30"] * 10, "land": ["x"] * 20})
    columns = {name: {"role": "quasi-identifier"} for name in ("age", "land")}
    found = shoal.anonymize(table, {"columns": columns, "models": [{"name": "k-anonymity", "k": 20}]})
    assert found.figures["hidden_columns"] == ["age"]


def test_warnings_on_terminal_json_and_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{n},{'ab'[n % 2]},{'flu' if n % 3 else 'cold'}\n" for n in range(12))
    (tmp_path / "t.csv").write_text("age,town,illness\n" + rows)
    (tmp_path / "plan.toml").write_text(PLAN % 12)
    app(["release", "plan.toml"], standalone_mode=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert "Warning: Nothing is shown of every quasi-identifier" in printed
    page = (tmp_path / "out.report.html").read_text()
    assert 0 < page.index("Before you use it") < page.index("What was done")
    assert "All rows are in one group" in page
    app(["release", "plan.toml", "--overwrite", "--json"], standalone_mode=False)
    answer = json.loads(capsys.readouterr().out)
    assert [warning["code"] for warning in answer["warnings"]][:2] == ["hidden-columns", "one-group"]
    (tmp_path / "plan.toml").write_text(PLAN % 2)
    rows = "".join(f"{n % 2},{'ab'[n % 2]},{'flu' if n > 3 else 'cold'}\n" for n in range(12))
    (tmp_path / "t.csv").write_text("age,town,illness\n" + rows)
    app(["release", "plan.toml", "--overwrite", "--json"], standalone_mode=False)
    assert "one-group" not in capsys.readouterr().out


def slow_variation(group, value, count):
    rows = sum(count)
    found = []
    for other in set(value):
        everywhere = sum(n for v, n in zip(value, count, strict=True) if v == other)
        total = Fraction(0)
        for one in set(group):
            size = sum(n for g, n in zip(group, count, strict=True) if g == one)
            here = sum(n for g, v, n in zip(group, value, count, strict=True) if (g, v) == (one, other))
            total += abs(here - Fraction(size * everywhere, rows))
        found.append(total / 2 / everywhere)
    return float(max(found))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 3), st.integers(1, 9)), min_size=1, max_size=30))
def test_variation_equals_its_definition(entries):
    group, value, count = zip(*entries, strict=True)
    arrays = (np.asarray(part, np.int64) for part in (group, value, count))
    assert _variation(*arrays) == pytest.approx(slow_variation(group, value, count), abs=1e-12)


def test_rare_value_of_one_group_can_be_learned():
    """Frequent values have equal shares; a rare one is in one group only."""
    table = pa.table({
        "age": ["20"] * 1001 + ["30"] * 1000,
        "illness": ["flu"] * 500 + ["cold"] * 500 + ["hiv"] + ["flu"] * 500 + ["cold"] * 500,
    })  # fmt: skip
    plan = {
        "columns": {"age": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}},
        "models": [{"name": "k-anonymity", "k": 5}],
    }
    found = shoal.anonymize(table, plan)
    assert codes(found) == []
    assert "nothing_learned" not in found.certificate.content
    even = shoal.anonymize(table.filter([value.as_py() != "hiv" for value in table["illness"]]), plan)
    assert codes(even) == ["nothing-learned"]
    assert even.certificate["nothing_learned"] == ["illness"]
