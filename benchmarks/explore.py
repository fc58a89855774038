"""Exploration of six methods and their parameters on Adult.

Adult has 30,162 rows. The whole exploration and each of its trials are measured.

python -m benchmarks.explore        (needs SHOAL_DATA, the folder with adult/adult-arx.csv and ARX's hierarchies)
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

from benchmarks.measure import measure, show
from shoal.advice.explore import explore
from shoal.plan.plan import Plan

QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")


def adult(folder: Path) -> Plan:
    """Return a plan: 5-anonymity, and 3 distinct occupations in every group."""
    columns: dict[str, dict[str, object]] = {
        name: {"role": "quasi-identifier", "hierarchy": {"csv": str(folder / "hierarchies" / "arx" / f"{name}.csv")}}
        for name in QUASI_IDENTIFIERS
    }
    document = {
        "source": {"path": str(folder / "adult-arx.csv")},
        "columns": {**columns, "occupation": {"role": "sensitive"}, "salary-class": {"role": "other"}},
        "models": [{"name": "k-anonymity", "k": 5}, {"name": "l-diversity", "l": 3}],
        "method": {"name": "full-domain", "suppression": 0.05},
    }
    return Plan.from_dict(document)


def main() -> None:
    folder = Path(os.environ.get("SHOAL_DATA", "")) / "adult"
    if not (folder / "adult-arx.csv").is_file():
        sys.exit("SHOAL_DATA does not name a folder with adult/adult-arx.csv")
    start = time.perf_counter()
    found = explore(adult(folder), time_limit=600)
    wall = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = sum(trial.seconds for trial in found.trials)
    rows = [
        (t.method, t.k, t.parameters or "", t.outcome, (t.loss or {}).get("ncp", ""), t.risk or "", t.seconds,
         "chosen" if t.chosen else "efficient" if t.efficient else "")
        for t in found.trials
    ]  # fmt: skip
    show(
        "Adult, k = 5 and 10, l = 3",
        ("method", "k", "parameters", "outcome", "ncp", "risk", "seconds", ""),
        rows,
    )
    busy = used.ru_utime + used.ru_stime
    show(
        "The whole exploration",
        ("", "seconds", "trials' own seconds", "ratio", "CPU seconds", "cores", "peak MB"),
        [(f"{len(found.trials)} trials", wall, own, wall / own, busy, busy / wall, used.ru_maxrss / 1024)],
        "Cores are those that were busy on average; the peak is that of the largest process.",
    )
    automatic(folder)


AUTO = """
from pathlib import Path
from benchmarks.explore import adult
from shoal.pipeline.run import dry_run
plan = adult(Path({folder!r})).with_(method={method!r})
dry_run(plan, bounded=False)
"""


def automatic(folder: Path) -> None:
    """Compare ``auto`` with each of the methods that it tries.

    The seconds are those of the decision.
    """
    rows = []
    for method in ("full-domain", "top-down", "mondrian", "refine", "auto"):
        setup = AUTO.format(folder=str(folder), method=method)
        measured = measure(setup, "answer = dry_run(plan, bounded=False).seconds['deciding']", repeat=3)
        rows.append((method, measured["answer"], measured["peak_mb"]))
    total = sum(row[1] for row in rows[:-1])
    rows.append(("ratio of auto to all of them", rows[-1][1] / total, ""))
    show("The method auto and those that it tries, Adult, k = 5, l = 3", ("method", "seconds", "peak MB"), rows)


if __name__ == "__main__":
    main()
