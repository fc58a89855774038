"""Releases of 10^6 to 10^9 rows out of core, compared with DuckDB.

    python -m benchmarks.billion [rows ...]

The table has eight columns of small whole numbers, Zipf, 2 to 70 values, as Parquet. The release is by full-domain
recoding with k = 5 and 2 % left out, from Parquet to verified Parquet, with DuckDB limited to 2 GB. Beside it DuckDB
counts the distinct rows of the file, and reads, sorts and writes it, under the same limit. Sizes for which the disk has
too little space are left out, and the table says so. Seconds are of one run; CPU seconds are those of all threads.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.cold import run
from benchmarks.measure import draw, show

SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
VALUES = (2, 3, 5, 8, 12, 20, 40, 70)
MEMORY = "2GB"
BYTES_PER_ROW = 40
"""Disk that a row needs at most: source, sorted runs, staged release, and the engine's own copy."""

GENERATE = """
import sys, duckdb
path, rows = sys.argv[1], int(sys.argv[2])
con = duckdb.connect(config={"memory_limit": "2GB"})
con.execute("SELECT setseed(0.5)")
columns = ", ".join(f"(floor(pow({n} + 1.0, random())) - 1)::UTINYINT AS q{n}" for n in VALUES)
con.execute(f"COPY (SELECT {columns} FROM range({rows})) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
"""
PLAIN = """
import sys, duckdb
con = duckdb.connect(config={"memory_limit": "2GB", "temp_directory": sys.argv[3]})
table = f"read_parquet('{sys.argv[1]}')"
con.sql(f"SELECT count(*) FROM (SELECT DISTINCT * FROM {table})").fetchall()
con.execute(f"COPY (SELECT * FROM {table} ORDER BY ALL) TO '{sys.argv[2]}' (FORMAT parquet)")
"""
PLAN = """
[source]
path = "table.parquet"
[engine]
memory = "{memory}"
[[models]]
name = "k-anonymity"
k = 5
[method]
name = "full-domain"
suppression = 0.02
[output]
path = "out.parquet"
overwrite = true
"""


def column(name: str) -> str:
    """Return the section of a quasi-identifier with intervals."""
    return f'[columns.{name}]\nrole = "quasi-identifier"\nhierarchy = {{ intervals = [2, 10, 40] }}\n'


def measure_size(folder: Path, rows: int) -> dict[str, dict]:
    """Return the figures of the release, and of DuckDB alone."""
    source = folder / "table.parquet"
    generate = GENERATE.replace("VALUES", repr(VALUES))
    run([sys.executable, "-c", generate, str(source), str(rows)], folder)
    (folder / "plan.toml").write_text(PLAN.format(memory=MEMORY) + "".join(column(f"q{n}") for n in VALUES), "utf-8")
    ours: dict = run([sys.executable, "-m", "shoal", "release", "plan.toml", "--json"], folder)
    ours["steps"] = json.loads((folder / "told").read_text().splitlines()[-1])["seconds"]
    ours["bytes"] = (folder / "out.parquet").stat().st_size
    for file in folder.glob("out.*"):
        file.unlink()
    command = [sys.executable, "-c", PLAIN, str(source), str(folder / "plain.parquet"), str(folder / "spill")]
    plain: dict = run(command, folder)
    plain["bytes"] = (folder / "plain.parquet").stat().st_size
    return {"shoal": ours, "DuckDB alone": plain, "source": {"bytes": source.stat().st_size}}


def main(*sizes: int) -> None:
    rows_of_table: list[tuple[object, ...]] = []
    steps: list[tuple[object, ...]] = []
    series: dict[str, list[tuple[float, float]]] = {"shoal, CPU s": [], "DuckDB alone, CPU s": [], "shoal, MB": []}
    left_out = []
    for rows in sizes or SIZES:
        with tempfile.TemporaryDirectory() as name:
            if shutil.disk_usage(name).free < rows * BYTES_PER_ROW:
                left_out.append(f"{rows:,}")
                continue
            found = measure_size(Path(name), rows)
        ours, plain = found["shoal"], found["DuckDB alone"]
        for tool, one in (("shoal", ours), ("DuckDB alone", plain)):
            rows_of_table.append((f"{rows:,}", tool, one["s"], one["CPU s"], one["MB"], one["bytes"] / 1e6))
        ratios = [f"{ours[key] / plain[key]:.2f}" for key in ("s", "CPU s", "MB", "bytes")]
        rows_of_table.append((f"{rows:,}", "ratio", *ratios))
        steps.append((f"{rows:,}", *ours["steps"].values()))
        for line, value in zip(series, (ours["CPU s"], plain["CPU s"], ours["MB"]), strict=True):
            series[line].append((rows, value))
        header = ("rows", *ours["steps"])
    note = f"Not enough disk for {', '.join(left_out)} rows." if left_out else ""
    show(
        f"Full-domain recoding out of core, Parquet to verified Parquet, memory of the engine {MEMORY}",
        ("rows", "", "s", "CPU s", "peak MB", "released file, MB of disk"),
        rows_of_table,
        note,
    )
    if steps:
        show("Seconds of the steps", header, steps)
        draw("Out of core: growth with rows", "rows", "CPU seconds, MB", series)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
