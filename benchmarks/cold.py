"""Release on the command line in a cold process, compared with DuckDB.

    SHOAL_DATA=... python -m benchmarks.cold

The release is from CSV to a verified CSV with its report: of Adult, where startup dominates, and of a million rows.
DuckDB counts the distinct rows of the file, and reads, sorts and writes it, in a separate Python process: this is the
least possible work. Both take turns; the best of several runs is reported. CPU seconds are those of all threads.
Before, on the same kind of machine: Adult 2.2 s, of which 1.7 s was startup; a million rows 6.1 s and 1,014 MB,
compared with 2.7 s and 416 MB of DuckDB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.explore import QUASI_IDENTIFIERS as ADULT
from benchmarks.measure import show
from shoal.datasets.census import QUASI_IDENTIFIERS, census_table

PLAIN = """
import sys, duckdb
table = f"read_csv('{sys.argv[1]}')"
duckdb.sql(f"SELECT count(*) FROM (SELECT DISTINCT * FROM {table})").fetchall()
duckdb.sql(f"COPY (SELECT * FROM {table} ORDER BY ALL) TO '{sys.argv[2]}'")
"""
REST = """[[models]]
name = "k-anonymity"
k = 5
[method]
name = "full-domain"
suppression = 0.02
[output]
path = "out.csv"
overwrite = true
"""


def plan_of(source: Path, quasi: tuple[str, ...], hierarchies: Path | None, others: str) -> str:
    """Return a plan file for a table of these columns."""
    text = f"[source]\npath = {str(source)!r}\n"
    for name in quasi:
        text += f'[columns."{name}"]\nrole = "quasi-identifier"\n'
        if hierarchies is not None:
            text += f"hierarchy = {{ csv = {str(hierarchies / f'{name}.csv')!r} }}\n"
    return text + others + REST


def run(command: list[str], folder: Path) -> dict[str, float]:
    """Return wall and CPU seconds and the peak memory of one process."""
    variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    start = time.perf_counter()
    with (folder / "told").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=variables, cwd=folder)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError((folder / "told").read_text()[-2000:])
    wall = time.perf_counter() - start
    return {"s": wall, "CPU s": used.ru_utime + used.ru_stime, "MB": used.ru_maxrss / 1024}


def compare_with_duckdb(
    name: str, source: Path, plan: str, folder: Path, repeat: int
) -> tuple[list[tuple[object, ...]], str]:
    """Return rows for shoal, DuckDB and their ratio, and shoal's step times."""
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    commands = {
        "shoal": [sys.executable, "-m", "shoal", "release", "plan.toml", "--json"],
        "DuckDB alone": [sys.executable, "-c", PLAIN, str(source), str(folder / "plain.csv")],
    }
    run(commands["shoal"], folder)  # writes the bytecode, as an installation does
    found: dict[str, list[dict[str, float]]] = {tool: [] for tool in commands}
    for _ in range(repeat):
        for tool, command in commands.items():
            found[tool].append(run(command, folder))
            if tool == "shoal":
                steps = json.loads((folder / "told").read_text().splitlines()[-1])["seconds"]
    best = {tool: [min(one[key] for one in runs) for key in ("s", "CPU s", "MB")] for tool, runs in found.items()}
    steps_text = ", ".join(f"{step} {seconds:.2f}" for step, seconds in steps.items())
    ratios = [one / other for one, other in zip(best["shoal"], best["DuckDB alone"], strict=True)]
    rows: list[tuple[object, ...]] = [(name, tool, *figures) for tool, figures in best.items()]
    return [*rows, (name, "ratio", *(f"{ratio:.2f}" for ratio in ratios))], f"{name}: {steps_text}."


def main(rows: int = 1_000_000) -> None:
    import pyarrow.csv

    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        adult = Path(os.environ.get("SHOAL_DATA", "")) / "adult"
        if (adult / "adult-arx.csv").is_file():
            others = '[columns.occupation]\nrole = "sensitive"\n[columns.salary-class]\nrole = "other"\n'
            plan = plan_of(adult / "adult-arx.csv", ADULT, adult / "hierarchies" / "arx", others)
            found.append(compare_with_duckdb("Adult, 30,162 rows", adult / "adult-arx.csv", plan, folder, 5))
        source = folder / "census.csv"
        pyarrow.csv.write_csv(census_table(rows), source)
        plan = plan_of(source, QUASI_IDENTIFIERS, None, '[columns.occupation]\nrole = "sensitive"\n')
        found.append(compare_with_duckdb(f"{rows:,} rows", source, plan, folder, 3))
    show(
        "One cold process, from CSV to a verified CSV with its report",
        ("table", "", "s", "CPU s", "peak MB"),
        [row for rows, _ in found for row in rows],
        "Seconds of shoal's steps. " + " ".join(steps_text for _, steps_text in found),
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
