"""Models of people instead of rows: loss, time and unions.

The cost of guarantees about people, the time to count them, and counterexamples to closure under union.

python -m benchmarks.people [costs | speed | search ...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.csv
from tests.builders.people_models import TRIED
from tests.reference import unions

from benchmarks.measure import measure, show
from shoal.datasets.visits import visits_table
from shoal.models.by_people import ByPeople

PROMISES = {
    "rows": ("drop", "(shoal.models.KAnonymity(5),)", "shoal.methods.FullDomain(suppression=0.05)"),
    "one row of a person known (D1)": (
        "person",
        "(shoal.models.KAnonymity(5),)",
        "shoal.methods.FullDomain(suppression=0.05)",
    ),
    "two rows known (D3)": (
        "person",
        "(shoal.models.TrajectoryAnonymity(5, 2),)",
        "shoal.methods.FactsSuppression(suppression=0.05, time_limit=120)",
    ),
    "all rows known (D4)": (
        "person",
        "(shoal.models.TrajectoryAnonymity(5),)",
        "shoal.methods.FactsSuppression(suppression=0.05, time_limit=120)",
    ),
    "all rows known (D4), nothing left out": (
        "person",
        "(shoal.models.TrajectoryAnonymity(5),)",
        "shoal.methods.FullDomain()",
    ),
}  # fmt: skip
SETUP = """
import time
import shoal, shoal.datasets.visits
import pyarrow.csv
from shoal.schema import Calendar, Column, Flat, Prefix, Role, Schema, Widths
Q = Role.QUASI_IDENTIFIER
"""
VISITS = """
table = shoal.datasets.visits.visits_table({people})
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
PLAN = """
[source]
path = "visits.csv"
[columns]
patient = {{ role = "{role}" }}
sex = {{ role = "quasi-identifier" }}
birth_year = {{ role = "quasi-identifier", hierarchy = {{ intervals = [5, 10, 20, 40] }} }}
region = {{ role = "quasi-identifier", hierarchy = {{ prefix = true }} }}
month = {{ role = "quasi-identifier", hierarchy = {{ dates = ["quarter", "year"] }} }}
department = {{ role = "quasi-identifier" }}
condition = {{ role = "sensitive" }}
[[models]]
name = "k-anonymity"
k = 5
[method]
name = "full-domain"
suppression = 0.05
[output]
path = "released.csv"
"""
RUN = """
begun = time.process_time()
found = shoal.anonymize(table, shoal.Plan(Schema(columns), {models}, {method}))
told = found.certificate
answer = [table.num_rows, told["loss"]["ncp"], told["suppressed"], time.process_time() - begun]
"""


def main(*parts: str) -> None:
    known = {"costs": both_costs, "speed": speed, "search": search}
    for part in parts or known:
        known[part]()


def both_costs() -> None:
    """Measure generated visits, and real laboratory values if available."""
    costs("visits of 5,000 patients", VISITS, people=5000)
    shared = os.environ.get("SHOAL_DATA")
    path = Path(shared or "") / "real" / "nafld2.csv"
    if shared and path.is_file():
        costs("laboratory values, nafld2", NAFLD, path=str(path))


def costs(title: str, data: str, **given: object) -> None:
    """Measure the loss of each guarantee."""
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


def speed(people: int = 250_000) -> None:
    """Compare ``shoal release`` for rows and for people.

    It is from CSV to CSV, with report and certificate.
    """
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        table = visits_table(people)
        pyarrow.csv.write_csv(table, folder / "visits.csv")
        for name in list(PROMISES)[:2]:
            role = PROMISES[name][0]
            (folder / "plan.toml").write_text(PLAN.format(role=role), encoding="utf-8")
            before, start = os.times(), time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "shoal", "release", "plan.toml", "--overwrite", "--json"],
                cwd=folder, capture_output=True, text=True, check=True,
            )  # fmt: skip
            wall, after = time.perf_counter() - start, os.times()
            certificate = json.loads(done.stdout)
            spent = after.children_user + after.children_system - before.children_user - before.children_system
            lines.append((name, f"{certificate['rows']:,}", f"{people:,}", spent, wall, certificate["loss"]["ncp"]))
    lines.append(("times as long", "", "", lines[1][3] / lines[0][3], lines[1][4] / lines[0][4], ""))
    show(
        "Counting people in place of rows: shoal release by full-domain, k = 5, 5 % suppression, from CSV to CSV",
        ("counted", "rows", "people", "CPU seconds", "seconds", "loss (ncp)"),
        lines,
    )


def search(trials: int = 200_000) -> None:
    """Search for counterexamples to unions among random groups of people."""
    groups = unions.trials(trials, seed=7)
    lines = []
    for tried_model in TRIED.values():
        model = ByPeople(tried_model)
        united, absorbed = unions.counterexamples(model, groups)
        lines.append((str(tried_model), model.closed_under_union, united, model.closed_under_superset, absorbed))
    show(
        f"Does a model by people survive unions? Counterexamples in {trials:,} trials",
        ("model", "declared to unite", "bad unions of two good groups", "declared to absorb", "of a good one and any"),
        lines,
        "What is declared must have none.",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
