"""Rows that are repeated from their counts are those that the engine would have recoded one by one."""

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
    """Numbers as text, of which some are missing, places of several spellings, and illnesses that are numbers."""
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


def watched(monkeypatch):
    """What the engine repeats from now on."""
    taken = []
    repeat = DuckDBEngine.repeat

    def watching(*given):
        taken.append(repeat(*given))
        return taken[-1]

    monkeypatch.setattr(DuckDBEngine, "repeat", watching)
    return taken


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_repeated_rows_are_the_recoded_ones(tmp_path, monkeypatch, method, seed, output):
    (tmp_path / "t.csv").write_text(rows(seed), encoding="utf-8")
    taken = watched(monkeypatch)
    repeated = release(tmp_path, method, output)
    assert len(taken) == 1
    assert taken[0] is not None
    monkeypatch.setattr(DuckDBEngine, "repeat", lambda *given: None)
    assert release(tmp_path, method, output) == repeated


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_of_people_are_repeated_too(tmp_path, monkeypatch, method, seed):
    """Whose rows they are goes along and is taken off; it neither shows nor is heard in the order of rows."""
    dice = random.Random(seed)
    head, *lines = rows(seed).splitlines()
    named = [f"{line},{dice.choice(['p', 'P', 'q', *range(50)])}" for line in lines]
    (tmp_path / "t.csv").write_text("\n".join([f"{head},who", *named]) + "\n", encoding="utf-8")
    taken = watched(monkeypatch)
    repeated = release(tmp_path, method, "out.csv", who={"role": "person"})
    assert len(taken) == 1
    assert taken[0] is not None
    assert b"who" not in repeated
    monkeypatch.setattr(DuckDBEngine, "repeat", lambda *given: None)
    assert release(tmp_path, method, "out.csv", who={"role": "person"}) == repeated


def test_rows_with_pseudonyms_are_not_repeated(tmp_path, monkeypatch):
    """Their order would tell the order of the names."""
    asked = []
    monkeypatch.setattr(recoding, "repeat_entries", lambda *given: asked.append(1))
    table = pa.table({"age": ["1"] * 4, "illness": ["a"] * 4, "who": ["d", "c", "b", "a"]})
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv("SHOAL_PSEUDONYM_KEY", str(tmp_path / "key"))
    schema = shoal.Schema({**plan_of().schema.columns, "who": shoal.Column("person", pseudonym=True)})
    linked = shoal.Plan(schema, (shoal.TrajectoryAnonymity(2),), shoal.FullDomain())
    assert shoal.anonymize(table, linked).table.num_rows == 4
    assert not asked


def plan_of(**others):
    columns = {"age": shoal.Column("quasi-identifier", shoal.Flat()), "illness": shoal.Column("sensitive"), **others}
    return shoal.Plan(shoal.Schema(columns), (shoal.KAnonymity(2),), shoal.FullDomain())


def test_what_is_more_than_its_combinations_is_not_repeated(monkeypatch):
    """Columns that are not counted are read from their rows; so are numbers of which equal ones are written apart."""
    asked = []
    repeat = recoding.repeat_entries
    monkeypatch.setattr(recoding, "repeat_entries", lambda *given: asked.append(1) or repeat(*given))
    table = pa.table({"age": ["1", "1"], "illness": ["a", "b"], "note": ["y", "x"]})
    released = shoal.anonymize(table, plan_of(note=shoal.Column("other"))).table
    assert not asked
    assert released.to_pylist() == table.to_pylist()
    zeros = pa.table({"age": ["1", "1"], "illness": [0.0, -0.0]})
    shown = shoal.anonymize(zeros, plan_of()).table["illness"].to_pylist()
    assert not asked
    assert sorted(map(str, shown)) == ["-0.0", "0.0"]
    shoal.anonymize(table.drop_columns(["note"]), plan_of())
    assert asked


def test_equal_rows_are_repeated_once_each():
    """Entries that show the same are one row with the sum of their counts, in the order of the content."""
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
