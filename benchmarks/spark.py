"""A release on Spark (local[2]) beside the same release on DuckDB with two threads, in the same run.

Each in a process of its own, from a Parquet file to a verified Parquet release with its certificate. CPU seconds are
those of Python and Java together; on a machine that others use, they say more than wall seconds. Peak memory is
Python's and Java's, each at its own peak.

python -m benchmarks.spark [rows ...]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.measure import measure, show
from shoal.data.census import QUASI_IDENTIFIERS, SENSITIVE, write_census

JAVA_MEMORY = "3GB"
SETUP = """
import resource, time, shoal
columns = {{name: {{"role": "quasi-identifier"}} for name in {quasi!r}}}
columns["age"]["hierarchy"] = {{"intervals": [5, 10, 20, 40]}}
columns[{sensitive!r}] = {{"role": "sensitive"}}
plan = shoal.Plan.from_dict({{
    "source": {{"path": {source!r}}}, "output": {{"path": {output!r}, "report": False}}, "columns": columns,
    "models": [{{"name": "k-anonymity", "k": 5}}], "method": {{"name": "full-domain", "suppression": 0.02}},
    "engine": {engine!r},
}})
"""
RUN = """
release = shoal.release(plan, overwrite=True)
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
answer = {
    "seconds": release.seconds, "levels": release.certificate["levels"], "groups": release.certificate["groups"],
    "released": release.certificate["released"], "java_mb": children.ru_maxrss / 1024,
    "cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
}
"""
ENGINES = {
    "duckdb": {"name": "duckdb", "threads": 2, "memory": "3GB"},
    "spark": {"name": "spark", "master": "local[2]", "memory": JAVA_MEMORY},
}
STEPS = ("reading", "deciding", "writing", "verifying")


def main(*sizes: int) -> None:
    rows = []
    for size in sizes or (1_000_000, 10_000_000):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "census.parquet"
            write_census(source, size)
            found = {}
            for engine, settings in ENGINES.items():
                setup = SETUP.format(
                    quasi=QUASI_IDENTIFIERS, sensitive=SENSITIVE, source=str(source),
                    output=str(Path(folder) / f"{engine}.parquet"), engine=settings,
                )  # fmt: skip
                found[engine] = measure(setup, RUN)
                told = found[engine]["answer"]
                rows.append(
                    [f"{size:,}", engine, found[engine]["seconds"], told["cpu"],
                     *(told["seconds"][step] for step in STEPS), found[engine]["peak_mb"], told["java_mb"],
                     1e6 * found[engine]["seconds"] / size]
                )  # fmt: skip
            one, other = (found[engine]["answer"] for engine in ENGINES)
            assert all(one[key] == other[key] for key in ("levels", "groups", "released")), "the engines differ"
            ratio = [found["spark"]["seconds"] / found["duckdb"]["seconds"], other["cpu"] / one["cpu"]]
            rows.append([f"{size:,}", "ratio", *ratio, *("" for _ in STEPS), "", "", ""])
    show(
        f"Release of 8 columns, k = 5, on two cores; Spark's Java has {JAVA_MEMORY}",
        ("rows", "engine", "seconds", "CPU seconds", *STEPS, "Python MB", "Java MB", "µs per row"),
        rows,
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
