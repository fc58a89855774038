"""Sampled grid, compared with the method levels at the same levels.

python -m benchmarks.identifiability [rows]

Both read the same table in the same run, decide, write a Parquet file and verify it. The sampled grid tosses a coin for
each row (exact, from the operating system) and publishes about half of them; levels publishes all that are in groups of
at least k. The two take turns, since the speed of a machine varies over time.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import measure, show
from shoal.budget import Ledger
from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE, write_census

K = 66  # with E = 2 and a rate of 1/2, delta is below 1e-6
LEVELS = dict.fromkeys((*QUASI_IDENTIFIERS, SENSITIVE), 0) | {"age": 2, "native-country": 1, "workclass": 1}

SETUP = "import json, sys\nfrom shoal import release\nplan = json.loads({plan!r})"
RUN = """
done = release(plan, overwrite=True)
answer = {"released": done.figures["released"], "groups": done.figures["groups"], "seconds": dict(done.seconds)}
"""


def plan(source: Path, folder: Path, method: dict[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {name: {"role": "quasi-identifier"} for name in LEVELS}
    columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    return {
        "source": {"path": str(source)},
        "columns": columns,
        "models": [{"name": "k-anonymity", "k": K}],
        "method": {**method, "levels": LEVELS},
        "output": {"path": str(folder / f"{method['name']}.parquet")},
    }


def main(rows: int = 10_000_000, repeat: int = 2) -> None:
    import json

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, ledger = folder / "census.parquet", folder / "census.ledger"
        write_census(source, rows)
        Ledger.create(ledger, m=10**9, k=20, delta_limit="1e-4")
        methods: dict[str, dict[str, Any]] = {
            "levels": {"name": "levels", "suppression": 1.0},
            "sampled-grid": {"name": "sampled-grid", "k": K, "beta": "1/2", "bound": 2, "ledger": str(ledger)},
        }
        runs: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
        for _ in range(repeat):
            for method, document in methods.items():
                setup = SETUP.format(plan=json.dumps(plan(source, folder, document)))
                runs[method].append(measure(setup, RUN))
    table_rows = []
    for method, found in runs.items():
        answer = found[-1]["answer"]
        steps = answer["seconds"]
        table_rows.append(
            (
                method,
                statistics.median(run["seconds"] for run in found),
                steps["reading"],
                steps["deciding"],
                steps["applying"] + steps["writing"],
                steps["verifying"],
                max(run["peak_mb"] for run in found),
                f"{answer['released']:,} rows in {answer['groups']:,} groups",
            )
        )
    pairs = [
        grid["seconds"] / levels["seconds"] for levels, grid in zip(runs["levels"], runs["sampled-grid"], strict=True)
    ]
    show(
        f"Release of {rows:,} rows, {len(LEVELS)} quasi-identifiers, k = {K} (median of {repeat}; steps: last run)",
        ("method", "seconds", "reading", "deciding", "writing", "verifying", "peak MB", "result"),
        table_rows,
        f"The sampled grid takes {', '.join(f'{ratio:.2f}' for ratio in pairs)} times as long as the plain levels.",
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
