"""Exposure of releases: rows with few rows like them, for the owner."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyarrow as pa

import shoal
from shoal.risk.exposure import measure_exposure

ROWS = 400
DRAW = random.Random(5)
TABLE = pa.table({
    "age": [20 + DRAW.randrange(40) for _ in range(ROWS)],
    "city": [DRAW.choice(["a", "b", "c", "d"]) for _ in range(ROWS)],
    "job": [DRAW.choice([f"j{n}" for n in range(12)]) for _ in range(ROWS)],
    "vote": [DRAW.choice("xyz") for _ in range(ROWS)],
})  # fmt: skip


def plan(**more):
    roles = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "city": "quasi-identifier"}
    return shoal.Plan.from_dict({"columns": {**roles, "job": "quasi-identifier", "vote": "sensitive"}, **more})


def crowds_by_definition(published, count, truths, hidden):
    """Count the rows that can be each truth's, cell by cell."""
    return [
        sum(n for row, n in zip(published, count, strict=True)
            if all(a in (b, hidden) for a, b in zip(row, truth, strict=True)))
        for truth in truths
    ]  # fmt: skip


def test_crowds_are_those_of_the_definition():
    draw = random.Random(3)
    for hidden in (None, "*"):
        truths = [tuple(draw.choice("ab") for _ in range(3)) for _ in range(40)]
        published = [tuple("*" if draw.random() < 0.3 else cell for cell in row) for row in truths]
        count = [draw.randrange(1, 4) for _ in published]
        if hidden is None:
            truths = published
        found = measure_exposure(
            ["a", "b", "c"], list(zip(*published, strict=True)), np.asarray(count), list(zip(*truths, strict=True)),
            np.asarray(count), hidden=hidden,
        )  # fmt: skip
        crowds = crowds_by_definition(published, count, truths, hidden)
        assert found.all_columns.exposed == sum(n for n, crowd in zip(count, crowds, strict=True) if crowd < 5)
        assert found.all_columns.alone == sum(n for n, crowd in zip(count, crowds, strict=True) if crowd <= 1)
        for fact in found.facts:
            chosen = ["abc".index(name) for name in fact.columns]
            part = [[tuple(row[j] for j in chosen) for row in rows] for rows in (published, truths)]
            crowds = crowds_by_definition(part[0], count, part[1], hidden)
            assert fact.exposed == sum(n for n, crowd in zip(count, crowds, strict=True) if crowd < 5)


def test_no_exposure_in_strict_groups():
    made = shoal.anonymize(TABLE, plan(models="k-anonymity k=5", method="mondrian"))
    assert made.to_dict()["exposure"]["below_5"] == 0
    assert "exposure" not in made.certificate.to_json()
    assert "exposure" not in [warning["code"] for warning in made.warnings]


def test_partial_knowledge_leaves_exposed_rows_and_names_the_block():
    model = {"name": "k-anonymity", "k": 5, "known": 1, "reading": "loose"}
    made = shoal.anonymize(TABLE, plan(models=[model], method="hidden-cells"))
    figures = made.to_dict()["exposure"]
    rows = [tuple(row[name] for name in ("age", "city", "job")) for row in made.table.to_pylist()]
    truth = [tuple(row[name] for name in ("age", "city", "job")) for row in TABLE.to_pylist()]
    assert figures["below_5"] > 0.5 * ROWS
    assert len(rows) == len(truth) == figures["rows"]
    (warning,) = [warning for warning in made.warnings if warning["code"] == "exposure"]
    assert '[[keys]] columns = ["age", "city", "job"]' in warning["text"]
    assert [len(fact["columns"]) for fact in figures["facts"]] == [2]


def test_facts_are_found_within_the_time(monkeypatch):
    monkeypatch.setattr("shoal.risk.exposure.MAX_CELLS_WITHOUT_CLOCK", 0)
    ticks = itertools.count()
    names = list("abcdef")
    columns = [[str(DRAW.randrange(3)) for _ in range(50)] for _ in names]
    found = measure_exposure(names, columns, np.ones(50, np.int64), seconds=1.5, clock=lambda: float(next(ticks)))
    assert len(found.facts) == 0
    monkeypatch.undo()
    assert len(measure_exposure(names, columns, np.ones(50, np.int64), seconds=0).facts) == 2
    assert len(measure_exposure(names, columns, np.ones(50, np.int64)).facts) == 2


def people_by_definition(published, truths, hidden):
    """Return the smallest crowd of people of each person, cell by cell."""
    smallest = {}
    for person, *truth in truths:
        crowd = {other for other, *row in published if all(a in (b, hidden) for a, b in zip(row, truth, strict=True))}
        smallest[person] = min(smallest.get(person, len(crowd)), len(crowd))
    return list(smallest.values())


def test_people_count_once():
    draw = random.Random(4)
    for hidden in (None, "*"):
        truths = [(draw.randrange(25), draw.choice("ab"), draw.choice("cdef")) for _ in range(60)]
        published = [(u, "*" if hidden and draw.random() < 0.3 else a, b) for u, a, b in truths]
        count, owner = np.ones(60, np.int64), np.asarray([row[0] for row in published])
        columns, true_columns = (list(zip(*(row[1:] for row in rows), strict=True)) for rows in (published, truths))
        found = measure_exposure(["a", "b"], columns, count, true_columns, count, hidden=hidden, people=(owner, owner))
        crowds = people_by_definition(published, truths, hidden)
        assert (found.people, found.rows) == (len(set(owner.tolist())), 60)
        if hidden is None:
            assert found.all_columns.exposed == sum(crowd < 5 for crowd in crowds)
            assert found.all_columns.alone == sum(crowd <= 1 for crowd in crowds)
        else:  # an upper bound: nobody exposed is left out
            assert found.all_columns.exposed >= sum(crowd < 5 for crowd in crowds)


def with_people(rows_per_person):
    people = pa.array([f"p{n // rows_per_person}" for n in range(ROWS)])
    roles = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}, "city": "quasi-identifier"}
    columns = {**roles, "job": "quasi-identifier", "vote": "sensitive", "patient": "person"}
    model = {"name": "k-anonymity", "k": 5, "known": 1, "reading": "loose"}
    made = shoal.Plan.from_dict({"columns": columns, "models": [model], "method": "hidden-cells"})
    return shoal.anonymize(TABLE.append_column("patient", people), made)


def test_releases_count_people():
    made = with_people(2)
    figures = made.to_dict()["exposure"]
    assert (figures["rows"], figures["people"]) == (ROWS, ROWS // 2)
    assert figures["below_5"] > 0.5 * ROWS // 2
    (warning,) = [warning for warning in made.warnings if warning["code"] == "exposure"]
    assert f"Of {ROWS // 2} people" in warning["text"]


def test_the_internal_report_shows_exposure():
    model = {"name": "k-anonymity", "k": 5, "known": 1, "reading": "loose"}
    made = shoal.anonymize(TABLE, plan(models=[model], method="hidden-cells"))
    assert "Exposed rows" in made.report(internal=True).html
    assert "Exposed rows" not in made.report().html


def test_standard_output_measures_exposure(tmp_path, capsysbinary):
    import pyarrow.csv as pa_csv

    pa_csv.write_csv(TABLE, tmp_path / "table.csv")
    written = plan(models="k-anonymity k=5", method="mondrian", source={"path": str(tmp_path / "table.csv")},
                   output={"path": "-"})  # fmt: skip
    made = shoal.release(written)
    assert made.to_dict()["exposure"]["below_5"] == 0
    assert capsysbinary.readouterr().out.startswith(b"age,")
