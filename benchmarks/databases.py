"""PostgreSQL to PostgreSQL, compared with the driver's read and write.

The release ends in a verified table; the driver reads and writes the same rows. The server is private to the run.
Shoal's own work is the same release from and to memory; the driver's part is ADBC's read of the source and its write of
the release, each committed. A release additionally reads the table back from the server and verifies it there. CPU
seconds are those of the client and of the server; on a shared machine, they are more reliable than wall
seconds. Survey files are measured as well: SPSS to SPSS.

python -m benchmarks.databases [rows [rows of SPSS]]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests import servers

from benchmarks.measure import measure, show
from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE

COMMON = f"""
import os, time, shoal, pyarrow as pa
from pathlib import Path
from shoal.datasets.census import census_table
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.plan.plan import Output
columns = {{name: {{"role": "quasi-identifier"}} for name in {QUASI_IDENTIFIERS!r}}}
columns["age"]["hierarchy"] = {{"intervals": [5, 10, 20, 40]}}
columns |= {{{SENSITIVE!r}: {{"role": "sensitive"}}, "id": {{"role": "drop"}}, "weight": {{"role": "other"}}}}
def table_of(rows):
    number = pa.array(range(rows))
    weight = pa.array([n % 997 / 8 for n in range(rows)])
    return census_table(rows).append_column("id", number).append_column("weight", weight)
plan = shoal.Plan.from_dict({{
    "columns": columns, "models": [{{"name": "k-anonymity", "k": 5}}],
    "method": {{"name": "full-domain", "suppression": 0.02}},
}})
"""
DRIVER = """
from adbc_driver_postgresql import dbapi
connection = dbapi.connect(os.environ["SHOAL_BENCH"])
def ingest(name, table):
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
        cursor.adbc_ingest(name, table, mode="create")
    connection.commit()
def fetch(name):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {name}")
        found = cursor.fetch_arrow_table()
    connection.commit()
    return found
"""
RELEASE = """
full = plan.with_(source=Source(database="env:SHOAL_BENCH", table="people"),
                  output=Output(database="env:SHOAL_BENCH", table="released", overwrite=True))
"""
PREPARED = """
table = table_of({rows})
ingest("people", table)
released = shoal.anonymize(table, plan).table
taken = {{part: [] for part in ("read", "work", "write", "release")}}
answer = {{}}
def used():
    server, own = int(os.environ["SHOAL_BENCH_SERVER"]), os.times()
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if server in (int(place.parent.name), int(fields[1])):  # it, those that it waited for, those at work
            ticks += sum(map(int, fields[11:15] if int(place.parent.name) == server else fields[11:13]))
    return own.user + own.system + ticks / os.sysconf("SC_CLK_TCK")
"""
ROUND = """
for part, action in {
    "read": lambda: fetch("people"),
    "work": lambda: shoal.anonymize(table, plan),
    "write": lambda: ingest("plain", released),
    "release": lambda: answer.update(steps=dict(shoal.release(full).seconds)),
}.items():
    begun, worked = time.perf_counter(), used()
    action()
    taken[part].append((time.perf_counter() - begun, used() - worked))
for place, what in enumerate(("seconds", "cpu")):
    answer[what] = {part: min(both[place] for both in found) for part, found in taken.items()}
"""
SPSS = """
plan = plan.with_(source={source!r}, output=Output(Path({output!r}), overwrite=True, report=False))
columns = {{name.replace("-", "_"): column for name, column in plan.columns.items()}}
plan = shoal.Plan(columns=columns, models=plan.models, method=plan.method, source=plan.source, output=plan.output)
"""
SURVEYED = """
begun = sum(os.times()[:4])  # of this process, and of those that read files for it
steps = dict(shoal.release(plan).seconds)
answer = {"steps": steps, "cpu": sum(os.times()[:4]) - begun}
"""


def databases(rows: int, repeat: int) -> None:
    with servers.postgres("shared_buffers=256MB", "max_wal_size=4GB") as address:
        os.environ["SHOAL_BENCH"] = address
        pid_file = Path(address.partition("host=")[2]) / "data" / "postmaster.pid"
        os.environ["SHOAL_BENCH_SERVER"] = pid_file.read_text().split()[0]
        found = measure(COMMON + DRIVER + RELEASE + PREPARED.format(rows=rows), ROUND, repeat=repeat)
    wall, cpu, steps = (found["answer"][what] for what in ("seconds", "cpu", "steps"))
    sums = [both["read"] + both["work"] + both["write"] for both in (wall, cpu)]
    steps_text = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in steps.items())
    show(
        f"{rows:,} rows x 10 columns from PostgreSQL to PostgreSQL (each the best of {repeat} rounds)",
        ("what", "seconds", "CPU seconds"),
        [
            ("ADBC reads the source", wall["read"], cpu["read"]),
            ("shoal's work, from and to memory", wall["work"], cpu["work"]),
            ("ADBC writes the release", wall["write"], cpu["write"]),
            ("sum", *sums),
            ("shoal release", wall["release"], cpu["release"]),
            ("ratio", wall["release"] / sums[0], cpu["release"] / sums[1]),
        ],
        f"The steps of the last release: {steps_text}. Peak memory of all together: {found['peak_mb']:,.0f} MB.",
    )


def survey(rows: int, repeat: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, output = (str(Path(folder) / name) for name in ("people.sav", "released.sav"))
        made = (
            f"engine = DuckDBEngine()\ntable = table_of({rows})\n"
            "table = table.rename_columns([name.replace('-', '_') for name in table.column_names])\n"
        )
        measure(COMMON + made, f"engine.write(engine.read(Source(frame=table)), Path({source!r}))")
        setup = COMMON + SPSS.format(source=source, output=output)
        ours = measure(setup, SURVEYED, repeat=repeat)
    steps = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in ours["answer"]["steps"].items())
    show(
        f"{rows:,} rows x 10 columns from SPSS to SPSS (best of {repeat})",
        ("what", "seconds", "CPU seconds", "peak MB"),
        [("shoal release", ours["seconds"], ours["answer"]["cpu"], ours["peak_mb"])],
        f"The steps of the last release: {steps}.",
    )


def main(rows: int = 1_000_000, surveyed: int = 200_000, repeat: int = 3) -> None:
    try:
        databases(rows, repeat)
    except servers.NoServer as reason:
        print(f"PostgreSQL is not measured: {reason}.")
    survey(surveyed, repeat)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
