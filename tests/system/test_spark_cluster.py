"""Release on separate worker processes, one of which is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE, census_table
from shoal.io.engines.base import Source
from shoal.plan.plan import Output
from shoal.schema import Column, Role, Schema, Widths

pytestmark = pytest.mark.xdist_group("spark")

# run in a separate process: there can be only one Spark in a process
RELEASE = """
import json, os, shutil, signal, sys, threading, time
from pathlib import Path
import shoal
from shoal.io.engines import spark_session

started, numbers = [], []
start = spark_session.start_session

def remember(*arguments):
    opened = start(*arguments)
    started.append(opened.spark.sparkContext)
    numbers.append(opened.spark.sparkContext.applicationId)
    return opened

spark_session.start_session = remember

def workers():
    "Process numbers of this application's executors, by their number within it."
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().decode().split("\\0")
            except OSError:
                continue
            if "--app-id" in words and words[words.index("--app-id") + 1] == numbers[0]:
                if "--executor-id" in words and "java" in words[0]:
                    found[words[words.index("--executor-id") + 1]] = int(folder.name)
    return found

told = {"killed": None, "ended": None}

def kill_one():
    "Wait until the release is being written and a worker has tasks, then kill that worker."
    while told["ended"] is None and told["killed"] is None:
        time.sleep(0.02)
        if step[0] != "writing" or not started:
            continue
        tracker = started[0].statusTracker()
        active = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage is not None and stage.numActiveTasks for stage in active):
            told["workers"] = sorted(workers())
            os.kill(workers()["0"], signal.SIGKILL)
            told["killed"] = time.monotonic()
            while "0" in workers():
                time.sleep(0.02)

step = [""]

def watch(name, done=None):
    step[0] = name

killer = threading.Thread(target=kill_one)
killer.start()
try:
    release = shoal.release(sys.argv[1], progress=watch)
    told["rows"] = release.figures["released"]
finally:
    told["ended"] = time.monotonic()
    killer.join()
    if started:
        # local-cluster keeps its workers' logs in Spark's own folder
        from pyspark.find_spark_home import _find_spark_home
        work = Path(_find_spark_home()) / "work"
        shutil.rmtree(work / numbers[0], ignore_errors=True)
        if not any(work.iterdir()):
            work.rmdir()
print(json.dumps(told))
"""

PLAN = """
source = {{ path = {source!r} }}
output = {{ path = {output!r}, report = false }}
models = [{{ name = "k-anonymity", k = 5 }}]
[columns]
{columns}
[method]
name = "full-domain"
suppression = 0.02
[engine]
name = "spark"
master = "local-cluster[2,1,1024]"
memory = "1GB"
[engine.options]
"spark.sql.shuffle.partitions" = "4"
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"
"spark.executor.extraJavaOptions" = "-XX:TieredStopAtLevel=1"
"spark.sql.files.maxPartitionBytes" = "100000"
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds the workers' processes in /proc")
def test_release_survives_a_killed_worker(spark, tmp_path):
    table = census_table(120_000)
    for part in range(6):
        pq.write_table(table.slice(part * 20_000, 20_000), tmp_path / f"{part}.parquet", row_group_size=10_000)
    roles = dict.fromkeys(QUASI_IDENTIFIERS, Role.QUASI_IDENTIFIER) | {SENSITIVE: Role.SENSITIVE}
    lines = [f'{name} = {{ role = "{role}" }}' for name, role in roles.items() if name != "age"]
    lines.append('age = { role = "quasi-identifier", hierarchy = { intervals = [5, 10, 20, 40] } }')
    target = tmp_path / "spark.parquet"
    (tmp_path / "source").mkdir()
    for part in tmp_path.glob("?.parquet"):
        part.rename(tmp_path / "source" / part.name)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(source="source", output=target.name, columns="\n".join(lines)))
    done = subprocess.run(
        [sys.executable, "-c", RELEASE, str(plan)], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcome = json.loads(done.stdout)
    assert outcome["workers"] == ["0", "1"]
    assert outcome["killed"] < outcome["ended"]
    columns = {name: Column(role, Widths((5, 10, 20, 40)) if name == "age" else None) for name, role in roles.items()}
    method = shoal.methods.FullDomain(suppression=0.02)
    alone = shoal.Plan(
        Schema(columns), (shoal.models.KAnonymity(5),), method,
        Source(tmp_path / "source"), Output(tmp_path / "duckdb.parquet", report=False),
    )  # fmt: skip
    shoal.release(alone)
    ours, theirs = pq.read_table(tmp_path / "duckdb.parquet"), pq.read_table(target)
    assert theirs.num_rows == outcome["rows"]
    by_content = [(name, "ascending") for name in ours.column_names]
    assert theirs.sort_by(by_content).to_pydict() == ours.sort_by(by_content).to_pydict()
