"""Tiny random databases of people, visits and tests, with a plan."""

from __future__ import annotations

import csv
import random
from pathlib import Path

from shoal.plan.linked import LinkedPlan

PLAN = """
suppression = 1.0
[[tables]]
name = "person"
path = "person.csv"
key = "id"
[tables.columns.sex]
role = "quasi-identifier"
[tables.columns.age]
role = "quasi-identifier"
hierarchy = {{ intervals = [2, 4] }}
[[tables]]
name = "visit"
path = "visit.csv"
parent = "person"
on = "id"
key = "visit_id"
[tables.columns.month]
role = "quasi-identifier"
hierarchy = {{ intervals = [2] }}
[[tables]]
name = "test"
path = "test.csv"
parent = "visit"
on = "visit_id"
[tables.columns.kind]
role = "quasi-identifier"
[tables.columns.result]
role = "sensitive"
[[tables]]
name = "drug"
path = "drug.csv"
parent = "person"
on = "id"
[tables.columns.name]
role = "quasi-identifier"
hierarchy = {{ prefix = true }}
[[scenarios]]
facts = {facts}
[[models]]
name = "k-anonymity"
k = {k}
{more}
[output]
path = "release"
"""
MORE = """
[[models]]
name = "p-sensitive"
p = 2
column = "test.result"
"""
HEADERS = {
    "person": ("id", "sex", "age"),
    "visit": ("visit_id", "id", "month"),
    "test": ("visit_id", "kind", "result"),
    "drug": ("id", "name"),
}


def write_database(folder: Path, draws: random.Random, *, k: int, facts: int, sensitive: bool) -> LinkedPlan:
    """Write a database and return its plan.

    There are missing values, people without children, visits without tests, and equal rows.
    """
    people = draws.randint(k, 24)
    richness = draws.choice((0.5, 1.0, 2.0))
    always = draws.random() < 0.3  # every visit has a test
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in HEADERS}
    for person in range(people):
        age = draws.choice((1, 2, 3, 5, ""))
        rows["person"].append((f"p{person}", draws.choice("fm"), age))
        for _ in range(_draw_count(draws, richness)):
            visit = f"v{len(rows['visit'])}"
            rows["visit"].append((visit, f"p{person}", draws.choice((1, 1, 2, 4, ""))))
            for _ in range(max(always, _draw_count(draws, richness))):
                rows["test"].append((visit, draws.choice("aab"), draws.choice(("x", "y", "z", ""))))
        for _ in range(_draw_count(draws, richness)):
            rows["drug"].append((f"p{person}", draws.choice(("A1", "A2", "B1", ""))))
    if not rows["visit"]:
        rows["visit"].append(("v0", "p0", 1))
    rows["test"] = rows["test"] or [("v0", "a", "x")]
    rows["drug"] = rows["drug"] or [("p0", "A1")]
    for name, header in HEADERS.items():
        write_rows(folder / f"{name}.csv", header, rows[name])
    text = PLAN.format(facts=facts, k=k, more=MORE if sensitive else "")
    (folder / "plan.toml").write_text(text)
    return LinkedPlan.read(folder / "plan.toml")


def write_rows(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def _draw_count(draws: random.Random, mean: float) -> int:
    count = 0
    while draws.random() < mean / (1 + mean):
        count += 1
    return count
