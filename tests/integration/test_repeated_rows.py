"""Rows repeated from counts equal rows that the engine recodes."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import shoal
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.table import recoding

METHODS = {
    "full-domain": {"name": "full-domain", "suppression": 0.3},
    "levels": {"name": "levels", "levels": {"age": 1, "place": 0}, "suppression": 0.9},
    "mondrian": {"name": "mondrian"},
    "mondrian of ranges": {"name": "mondrian", "publish": {"age": "range"}},
    "mdav": {"name": "mdav", "k": 3},
}


def rows(seed):
    """Return a CSV text of random rows.

    Numbers as text, of which some are missing, places of several spellings, and illnesses that are numbers.
    """
    dice = random.Random(seed)
    ages = ["", "7", "07", "30", "31", "100", "-1", "2.50"] if seed % 2 else [str(age) for age in range(20, 40)]
    cells = (
        (dice.choice(ages), dice.choice(["a", "b", "é", "Z", ""]), dice.choice(["10", "9", "", "flu"][: 3 + seed % 2]))
        for _ in range(120)
    )
    return "age,place,illness\n" + "".join(",".join(cell) + "\n" for cell in cells)


def release(folder, method, output, **columns):
    plan = {
        "source": {"path": str(folder / "t.csv")},
        "columns": {
            "age": {"role": "quasi-identifier", **({} if method == "mdav" else {"hierarchy": {"flat": True}})},
            "place": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
            "illness": {"role": "sensitive"},
            **columns,
        },
        "models": [{"name": "k-anonymity", "k": 3}],
        "method": METHODS[method],
        "output": {"path": str(folder / output), "overwrite": True, "report": False},
    }
    shoal.release(plan)
    return (folder / output).read_bytes()


def recorded_repeats(monkeypatch):
    """Record the results of repetitions by the engine."""
    taken = []
    repeat = DuckDBEngine.repeat

    def recording(*given):
        taken.append(repeat(*given))
        return taken[-1]

    monkeypatch.setattr(DuckDBEngine, "repeat", recording)
    return taken


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_repeated_rows_equal_recoded_rows(tmp_path, monkeypatch, method, seed, output):
    (tmp_path / "t.csv").write_text(rows(seed), encoding="utf-8")
    taken = recorded_repeats(monkeypatch)
    repeated = release(tmp_path, method, output)
    assert len(taken) == 1
    assert taken[0] is not None
    monkeypatch.setattr(DuckDBEngine, "repeat", lambda *given: None)
    assert release(tmp_path, method, output) == repeated


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_of_people_are_repeated(tmp_path, monkeypatch, method, seed):
    """The person column is carried along and removed.

    It is not published and has no influence on the order of rows.
    """
    dice = random.Random(seed)
    head, *lines = rows(seed).splitlines()
    named = [f"{line},{dice.choice(['p', 'P', 'q', *range(50)])}" for line in lines]
    (tmp_path / "t.csv").write_text("\n".join([f"{head},who", *named]) + "\n", encoding="utf-8")
    taken = recorded_repeats(monkeypatch)
    repeated = release(tmp_path, method, "out.csv", who={"role": "person"})
    assert len(taken) == 1
    assert taken[0] is not None
    assert b"who" not in repeated
    monkeypatch.setattr(DuckDBEngine, "repeat", lambda *given: None)
    assert release(tmp_path, method, "out.csv", who={"role": "person"}) == repeated


def test_rows_with_pseudonyms_are_not_repeated(tmp_path, monkeypatch):
    """Their order would disclose the order of the names."""
    calls = []
    monkeypatch.setattr(recoding, "repeat_entries", lambda *given: calls.append(1))
    table = pa.table({"age": ["1"] * 4, "illness": ["a"] * 4, "who": ["d", "c", "b", "a"]})
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv("SHOAL_PSEUDONYM_KEY", str(tmp_path / "key"))
    schema = shoal.schema.Schema({**plan_of().schema.columns, "who": shoal.Column("person", pseudonym=True)})
    linked = shoal.Plan(schema, (shoal.models.TrajectoryAnonymity(2),), shoal.methods.FullDomain())
    assert shoal.anonymize(table, linked).table.num_rows == 4
    assert not calls


def plan_of(**others):
    columns = {
        "age": shoal.Column("quasi-identifier", shoal.schema.Flat()),
        "illness": shoal.Column("sensitive"),
        **others,
    }
    return shoal.Plan(shoal.schema.Schema(columns), (shoal.models.KAnonymity(2),), shoal.methods.FullDomain())


def test_uncounted_columns_and_signed_zeros_are_not_repeated(monkeypatch):
    """Read rows if combinations of values do not determine them.

    Columns that are not counted are read from their rows; so are numbers of which equal ones have different texts.
    """
    calls = []
    repeat = recoding.repeat_entries
    monkeypatch.setattr(recoding, "repeat_entries", lambda *given: calls.append(1) or repeat(*given))
    table = pa.table({"age": ["1", "1"], "illness": ["a", "b"], "note": ["y", "x"]})
    released = shoal.anonymize(table, plan_of(note=shoal.Column("other"))).table
    assert not calls
    assert released.to_pylist() == table.to_pylist()
    zeros = pa.table({"age": ["1", "1"], "illness": [0.0, -0.0]})
    published = shoal.anonymize(zeros, plan_of()).table["illness"].to_pylist()
    assert not calls
    assert sorted(map(str, published)) == ["-0.0", "0.0"]
    shoal.anonymize(table.drop_columns(["note"]), plan_of())
    assert calls


def test_equal_entries_are_merged():
    """Merge entries that publish the same row, and add their counts.

    Rows are in the order of the content.
    """
    import numpy as np

    from shoal.io.engines.base import Source
    from shoal.table.expand_counts import ConstantColumn, PublishedColumn, repeat_entries

    with DuckDBEngine() as engine:
        table = engine.read(Source(frame=pa.table({"a": ["p", "q"], "b": ["x", None], "c": ["u", "v"]})))
        values = pa.array(["x", "W", None], pa.string())
        columns = [
            PublishedColumn(0, np.array([0, 1, 0, 0]), pa.array(["p", "q"]), ranked=True),
            PublishedColumn(1, np.array([0, 2, 1, 0]), values, own=True),
            ConstantColumn(2, "*"),
        ]
        found = repeat_entries(engine, table, columns, np.array([1, 0, 1, 1]), np.array([1, 2, 1, 1]))
        assert found is not None
        assert found.ordered
        assert engine.to_arrow(found).to_pylist() == [
            {"a": "q", "b": None, "c": "*"},
            {"a": "q", "b": None, "c": "*"},
            {"a": "p", "b": "W", "c": "*"},
            {"a": "p", "b": "x", "c": "*"},
            {"a": "p", "b": "x", "c": "*"},
        ]
