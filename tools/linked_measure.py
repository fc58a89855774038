"""Releases of linked tables: detail by table, time and memory.

    python -m tools.linked_measure --people 100000 --facts 2

Tables are generated in OMOP's form. Root-first is the same search with root groups of k only, once within the limit of
left-out facts and once without a limit.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.csv

from shoal.advice.linked_draft import draft_linked
from shoal.datasets.omop import omop_tables
from shoal.errors import InfeasibleError
from shoal.pipeline.linked import release_linked
from shoal.plan.linked import LinkedPlan


def measure_release(plan: Path, changes: tuple[str, ...]) -> dict[str, Any]:
    """Release by a plan; return detail kept, time and memory."""
    start = time.process_time()
    try:
        answer = release_linked(LinkedPlan.read(plan, changes), overwrite=True).to_dict()
    except InfeasibleError as error:
        return {"infeasible": error.code}
    return {
        "cpu_seconds": round(time.process_time() - start, 1),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "root_groups": answer["root_groups"]["at_least"],
        "detail_kept": round(answer["detail_kept"], 3),
        "loss": {table["name"]: round(table["loss"], 3) for table in answer["tables"]},
        "left_out": {table["name"]: table["left_out"] for table in answer["tables"]},
        "smallest_crowd": answer["smallest_crowd"],
    }


def main() -> None:
    """Measure releases of generated tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--facts", type=int, default=1)
    parser.add_argument("--k", type=int, default=5)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = omop_tables(chosen.people)
        for table, rows in tables.items():
            pyarrow.csv.write_csv(rows, folder / f"{table}.csv")
        plan = folder / "plan.toml"
        plan.write_text(draft_linked(folder, folder, k=chosen.k, facts=chosen.facts).text)
        print(json.dumps({"rows": {table: rows.num_rows for table, rows in tables.items()}}))
        for title, changes in (
            ("together", ()),
            ("root first", (f"sizes=[{chosen.k}]",)),
            ("root first, any share left out", (f"sizes=[{chosen.k}]", "suppression=1.0")),
        ):
            print(title, json.dumps(measure_release(plan, changes)))


if __name__ == "__main__":
    main()
