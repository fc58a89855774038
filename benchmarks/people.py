"""People, not rows: what promises about people cost, how long it takes to count them, and what survives unions.

python -m benchmarks.people [people]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.reference import unions
from tests.unit.test_people_models import TRIED

from benchmarks.measure import measure, show
from shoal.models.people import ByPeople

PROMISES = {
    "rows": ("drop", "(shoal.KAnonymity(5),)", "shoal.FullDomain(suppression=0.05)"),
    "one row of a person known (D1)": ("person", "(shoal.KAnonymity(5),)", "shoal.FullDomain(suppression=0.05)"),
    "two rows known (D3)": (
        "person", "(shoal.TrajectoryAnonymity(5, 2),)", "shoal.FactsSuppression(suppression=0.05, time_limit=120)",
    ),
    "all rows known (D4)": (
        "person", "(shoal.TrajectoryAnonymity(5),)", "shoal.FactsSuppression(suppression=0.05, time_limit=120)",
    ),
    "all rows known (D4), nothing left out": ("person", "(shoal.TrajectoryAnonymity(5),)", "shoal.FullDomain()"),
}  # fmt: skip
SETUP = """
import time
import shoal, shoal.data.visits
import pyarrow.csv
from shoal.schema import Calendar, Column, Flat, Prefix, Role, Schema, Widths
Q = Role.QUASI_IDENTIFIER
"""
VISITS = """
table = shoal.data.visits.visits_table({people})
columns = {{"patient": Column(Role("{role}")), "sex": Column(Q), "birth_year": Column(Q, Widths((5, 10, 20, 40))),
    "region": Column(Q, Prefix()), "month": Column(Q, Calendar(("quarter", "year"))), "department": Column(Q),
    "condition": Column(Role.SENSITIVE)}}
person = "patient"
"""
NAFLD = """
table = pyarrow.csv.read_csv({path!r})
columns = {{"id": Column(Role("{role}")), "days": Column(Q, Widths((180, 360, 1800, 3600, 7200))), "test": Column(Q),
    "value": Column(Role.SENSITIVE)}}
person = "id"
"""
RUN = """
begun = time.process_time()
found = shoal.anonymize(table, shoal.Plan(Schema(columns), {models}, {method}))
told = found.certificate
answer = [table.num_rows, told["loss"]["ncp"], told["suppressed"], time.process_time() - begun]
"""


def main(people: int = 250_000) -> None:
    costs("visits of 5,000 patients", VISITS, people=5000)
    shared = os.environ.get("SHOAL_DATA")
    path = Path(shared or "") / "real" / "nafld2.csv"
    if shared and path.is_file():
        costs("laboratory values, nafld2", NAFLD, path=str(path))
    speed(people)
    search()


def costs(title: str, data: str, **given: object) -> None:
    """What each promise loses."""
    lines = []
    for name, (role, models, method) in PROMISES.items():
        try:
            found = measure(SETUP + data.format(role=role, **given), RUN.format(models=models, method=method))
        except RuntimeError as error:
            last = str(error).strip().splitlines()[-1]
            lines.append((name, last.partition(":")[0].rpartition(".")[2], "", ""))
            continue
        rows, loss, out, seconds = found["answer"]
        lines.append((name, loss, f"{out / rows:.1%}", seconds))
    show(
        f"What promises about people cost: {title}",
        ("promise, k = 5", "loss (ncp)", "rows left out", "CPU seconds"),
        lines,
        "At most 5 % of the rows may be left out, unless nothing is. Losses count a row that is left out as lost.",
    )


def speed(people: int) -> None:
    """Full-domain, rows against people."""
    lines = []
    for name in list(PROMISES)[:2]:
        role, models, method = PROMISES[name]
        run = RUN.format(models=models, method=method)
        few, many = (VISITS.format(role=role, people=number) for number in (1000, people))
        found = measure(SETUP + few + run + many, run)  # what is loaded once is loaded by the few
        rows, loss, _, seconds = found["answer"]
        lines.append((name, f"{rows:,}", f"{people:,}", seconds, found["peak_mb"], loss))
    lines.append(("times as long", "", "", lines[1][3] / lines[0][3], lines[1][4] / lines[0][4], ""))
    show(
        "Counting people in place of rows: full-domain, k = 5, 5 % suppression",
        ("counted", "rows", "people", "CPU seconds", "MB", "loss (ncp)"),
        lines,
    )


def search(trials: int = 200_000) -> None:
    """Counterexamples to unions, among random groups of people."""
    groups = unions.trials(trials, seed=7)
    lines = []
    for asked in TRIED.values():
        model = ByPeople(asked)
        united, absorbed = unions.counterexamples(model, groups)
        lines.append((str(asked), model.unites, united, model.absorbs, absorbed))
    show(
        f"Does a model by people survive unions? Counterexamples in {trials:,} trials",
        ("model", "declared to unite", "bad unions of two good groups", "declared to absorb", "of a good one and any"),
        lines,
        "What is declared must have none.",
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
