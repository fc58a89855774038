"""Microaggregation in blocks: loss, time and memory against one block.

All are measured in the same run. The table is standard normal in six attributes, k = 5; with SHOAL_DATA, also the
Census table (13 attributes). Each measurement is a separate process, and the seconds are those of the method alone; on
a shared machine, CPU seconds (of all threads) are more reliable. With ``--spark``, a Parquet file is released on Spark
(local[2]) and on DuckDB.

python -m benchmarks.blocks [rows ...] [--spark]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import measure, show

SETUP = """
import numpy as np, pyarrow as pa, pyarrow.csv, pyarrow.parquet, resource, shoal, time
from pathlib import Path
from shoal.table import read_frequency_set
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.methods import Problem
from shoal.plan.plan import Output
from shoal.schema import Column, Role, Schema

def normal(rows):
    random = np.random.default_rng(1)
    return pa.table({{f"x{{i}}": random.normal(size=rows) for i in range(6)}})

def plan_of(table, **known):
    columns = {{name: Column(Role.QUASI_IDENTIFIER) for name in table.column_names}}
    return shoal.Plan(Schema(columns), (shoal.models.KAnonymity({k}),), shoal.{method}(block={block}), **known)

def problem_of(table):
    plan = plan_of(table)
    with DuckDBEngine() as engine:
        read = engine.read(Source(frame=table))
        frequencies = read_frequency_set(engine, read, plan.schema)
        return Problem(frequencies, frequencies.ladders(plan.schema), plan.model, schema=plan.schema)

plan_of(normal(300)).method.decide(problem_of(normal(300)))
"""
RUN = """
table = {table}
problem = problem_of(table)
before = time.perf_counter(), time.process_time()
recoding = plan_of(table).method.decide(problem)
wall, cpu = time.perf_counter() - before[0], time.process_time() - before[1]
told = recoding.facts.to_dict()
answer = [recoding.loss["sse_sst"], wall, cpu, told.get("blocks", 1), told.get("largest_block", table.num_rows)]
"""
RELEASE = """
table = normal(10)
places = {{"source": Source(Path({source!r})), "output": Output(Path({output!r}), report=False)}}
release = shoal.release(plan_of(table, **places, engine={engine}), overwrite=True)
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
answer = [release.utility["sse_sst"], release.figures["released"], cpu, children.ru_maxrss / 1024]
"""
ENGINES = {
    "duckdb": 'EngineSettings(name="duckdb", threads=2)',
    "spark": 'EngineSettings(name="spark", master="local[2]", memory="2GB")',
}


def compare(title: str, table: str, blocks: list[int | None], *, method: str = "Mdav", k: int = 5) -> None:
    rows: list[list[object]] = []
    for block in blocks:
        found = measure(SETUP.format(k=k, method=method, block=block), RUN.format(table=table))
        loss, wall, cpu, made, largest = found["answer"]
        first = rows[0] if rows else [0, 0, 0, loss, 0, 0, cpu]
        rows.append(
            ["all" if block is None else f"{block:,}", made, f"{largest:,}", loss,
             f"{100 * (loss / first[3] - 1):+.1f} %", wall, cpu, cpu / first[6], found["peak_mb"]]
        )  # fmt: skip
    show(
        title,
        ("block", "blocks", "largest", "SSE/SST", "more loss", "seconds", "CPU seconds", "ratio", "peak MB"),
        rows,
    )


def on_spark(size: int, block: int) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source = str(Path(folder) / "in.parquet")
        setup = SETUP.format(k=5, method="Mdav", block=block)
        measure(setup, f"pyarrow.parquet.write_table(normal({size}), {source!r})")
        for name, engine in ENGINES.items():
            output = str(Path(folder) / f"{name}.parquet")
            found = measure(setup, RELEASE.format(source=source, output=output, engine=engine))
            loss, released, cpu, java = found["answer"]
            rows.append([name, f"{released:,}", loss, found["seconds"], cpu, found["peak_mb"], java])
    show(
        f"{size:,} rows × 6 from Parquet to a verified release, k = 5, blocks of {block:,}",
        ("engine", "rows", "SSE/SST", "seconds", "CPU seconds", "peak MB of the driver's Python", "largest child MB"),
        rows,
    )


def main(*sizes: int, spark: bool = False) -> None:
    for size in sizes or (100_000,):
        if spark:
            on_spark(size, max(size // 20, 1000))
            continue
        sizes_tried = (100_000, 50_000, 10_000, 5_000, 1_000)
        blocks = [None, *(block for block in sizes_tried if size <= 100 * block and block < size)]
        compare(f"{size:,} normal rows × 6, MDAV, k = 5", f"normal({size})", blocks)
    folder = os.environ.get("SHOAL_DATA")
    if folder and not spark and not sizes:
        census = f"pyarrow.csv.read_csv({str(Path(folder) / 'casc' / 'census.csv')!r})"
        compare("Census, 1080 rows × 13, MDAV, k = 5", census, [None, 540, 270, 135])


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*(int(a) for a in arguments if a != "--spark"), spark="--spark" in arguments)
