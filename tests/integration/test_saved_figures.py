"""A release is saved only with the figures of its certificate."""

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import shoal
from shoal.errors import OutputError
from shoal.results.saved_table import content_digest

pd = pytest.importorskip("pandas")
COLUMNS = {"age": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}, "note": {"role": "other"}}
ROWS = {"columns": COLUMNS, "models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}]}
PEOPLE = {"columns": {**COLUMNS, "who": {"role": "person"}}, "models": [{"name": "k-anonymity", "k": 2}]}
KNOWN = {"columns": COLUMNS, "models": [{"name": "k-anonymity", "k": 2, "known": 1}]}


def _frame():
    return pd.DataFrame(
        {
            "age": ["young"] * 4 + ["old"] * 4,
            "illness": ["flu", "flu", "gout", "cold"] * 2,
            "note": list(range(8)),
            "who": [f"p{number // 2}" for number in range(4)] + [f"q{number}" for number in range(4)],
        }
    )


def _made(plan):
    frame = _frame() if "who" in plan["columns"] else _frame().drop(columns="who")
    return shoal.anonymize(frame, {**plan, "method": {"name": "full-domain"}})


@pytest.mark.parametrize("plan", [ROWS, PEOPLE, KNOWN], ids=["rows", "people", "known"])
@pytest.mark.parametrize("name", ["released.csv", "released.parquet"])
def test_unchanged_release_is_saved(tmp_path, plan, name):
    made = _made(plan)
    assert made.save(tmp_path, name).figures["groups"] == made.figures["groups"]


@pytest.mark.parametrize(
    ("edit", "figure"),
    [
        (lambda table: table.assign(illness=["flu", "gout", "flu", "gout"] * 2), "p of p-sensitive"),
        (lambda table: table.assign(age="young"), "groups"),
        (lambda table: pd.concat([table, table]), "rows"),
        (lambda table: table.assign(age=["young"] * 3 + ["old"] * 5), "rows in the smallest group"),
    ],
)
def test_edited_figures_are_refused(tmp_path, edit, figure):
    made = _made(ROWS)
    with pytest.raises(OutputError, match=figure):
        dataclasses.replace(made, table=edit(made.table)).save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_certificate_about_people_needs_the_verified_table(tmp_path):
    made = _made(PEOPLE)
    edited = dataclasses.replace(made, table=made.table.assign(illness="flu"))
    with pytest.raises(OutputError, match="not the one that was verified"):
        edited.save(tmp_path)
    made.table.loc[0, "illness"] = "gout"  # in place
    with pytest.raises(OutputError, match="not the one that was verified"):
        made.save(tmp_path)


def test_columns_of_no_promise_may_change(tmp_path):
    made = _made(PEOPLE)
    dataclasses.replace(made, table=made.table.assign(note=0)).save(tmp_path)


def test_people_of_a_linked_release_are_compared(tmp_path):
    plan = {
        "columns": {**COLUMNS, "who": {"role": "person", "pseudonym": True}},
        "models": [{"name": "trajectory-anonymity", "k": 2}],
        "output": {"path": str(tmp_path / "plan" / "table.csv"), "pseudonym_key": str(tmp_path / "key")},
    }
    (tmp_path / "key").write_bytes(b"k" * 32)
    (tmp_path / "key").chmod(0o600)
    made = _made(plan)
    made.save(tmp_path / "one")
    merged = made.table.assign(who=made.table["who"].iloc[0])
    with pytest.raises(OutputError):
        dataclasses.replace(made, table=merged).save(tmp_path / "two")


def test_digest_depends_on_cells_alone():
    table = pa.table({"x": ["a", None, "bc"], "y": [1, 2, 3]})
    other = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    names = ["x", "y"]
    assert content_digest(table, names) == content_digest(other, names)
    for cells in (["ab", None, "c"], ["a", "", "bc"], ["a", "bc", None]):
        assert content_digest(pa.table({"x": cells, "y": [1, 2, 3]}), names) != content_digest(table, names)
    assert content_digest(table.slice(0, 0), names) != content_digest(table, names)


@pytest.mark.parametrize(
    "values",
    [[Decimal("1.5")], [dt.date(2020, 1, 1)], [dt.time(1, 2)], [dt.datetime(2020, 1, 1)], [True], [0.5]],
)
def test_digest_takes_every_type(values):
    table = pa.table({"x": pa.array([*values, None])})
    assert content_digest(table, ["x"]) != content_digest(pa.table({"x": pa.array([None, *values])}), ["x"])
