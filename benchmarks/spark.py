"""Releases on Spark (local[2]) and on DuckDB with two threads.

Both run in the same benchmark run, each in a separate process, from a Parquet file to a verified Parquet release with
its certificate. CPU seconds are those of Python and Java; on a shared machine, they are more reliable than wall
seconds. Peak memory is given for Python and for Java, each at its own peak.

The same million rows by Spark alone, cold: it counts the combinations, collects them, sorts and writes the rows, and
counts what it wrote. Then 8,000 rows several times in one shared session (``shoal.spark_session``), each time compared
with the same work by Spark itself in this session. Finally, the time on one and on two executors of one core each.

python -m benchmarks.spark [rows ...]          # a million rows; 8,000 in a shared session; executors
python -m benchmarks.spark --executors [rows]  # executors alone, such as 50000000
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.measure import measure, show
from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE, write_census

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
    "seconds": release.seconds, "levels": release.figures["levels"], "groups": release.figures["groups"],
    "released": release.figures["released"], "java_mb": children.ru_maxrss / 1024,
    "cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
}
"""
WARM = """
names = [name for name in columns]

def alone(spark, number):
    listed = ", ".join(f"`{{name}}`" for name in names)
    counted = f"SELECT {{listed}}, count(*) AS n FROM {{{{}}}} GROUP BY {{listed}}"
    start = time.perf_counter()
    spark.read.parquet({source!r}).createOrReplaceTempView("original")
    spark.sql(counted.format("original")).toArrow()
    place = {output!r} + f".alone-{{number}}"
    spark.sql(f"SELECT {{listed}} FROM original ORDER BY {{listed}}").write.parquet(place)
    spark.read.parquet(place).createOrReplaceTempView("written")
    spark.sql(counted.format("written")).toArrow()
    return time.perf_counter() - start

def released():
    start = time.perf_counter()
    shoal.release(plan, overwrite=True, progress=False)
    return time.perf_counter() - start
"""
ALONE = """
with shoal.spark_session(plan.engine) as spark:
    alone(spark, 0)
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
answer = {
    "java_mb": children.ru_maxrss / 1024,
    "cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
}
"""
SHARED_SESSION_RUN = """
with shoal.spark_session(plan.engine) as spark:
    first = released()
    ours, theirs = [], []
    for number in range(6):
        theirs.append(alone(spark, number))
        ours.append(released())
java = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
answer = {"first": first, "ours": ours, "theirs": theirs, "java_mb": java}
"""
EXECUTORS_RUN = """
import shutil
from pathlib import Path
with shoal.spark_session(plan.engine) as spark:
    from pyspark.find_spark_home import _find_spark_home
    # workers keep their logs in Spark's own folder
    logs = Path(_find_spark_home()) / "work" / spark.sparkContext.applicationId
    shoal.release(plan, overwrite=True, progress=False)  # processes start and compile what they run
    answer = shoal.release(plan, overwrite=True, progress=False).seconds
shutil.rmtree(logs, ignore_errors=True)
if logs.parent.is_dir() and not any(logs.parent.iterdir()):
    logs.parent.rmdir()
"""
ENGINES = {
    "duckdb": {"name": "duckdb", "threads": 2, "memory": "3GB"},
    "spark": {"name": "spark", "master": "local[2]", "memory": JAVA_MEMORY},
}
STEPS = ("reading", "deciding", "writing", "verifying")


def main(*sizes: int) -> None:
    cold(*sizes or (1_000_000,))
    shared_session()
    executors()


def setup_of(engine: dict[str, object], source: Path, output: Path) -> str:
    return SETUP.format(
        quasi=QUASI_IDENTIFIERS, sensitive=SENSITIVE, source=str(source), output=str(output), engine=engine
    )


def shared_session(size: int = 8_000) -> None:
    """Measure repeated releases in one session, and Spark's own work."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "census.parquet", Path(folder) / "out.parquet"
        write_census(source, size)
        more = WARM.format(source=str(source), output=str(output))
        measured = measure(setup_of(ENGINES["spark"], source, output) + more, SHARED_SESSION_RUN)
    found = measured["answer"]
    rows = [
        (f"release {number + 2}", ours, theirs, ours / theirs)
        for number, (ours, theirs) in enumerate(zip(found["ours"], found["theirs"], strict=True))
    ]
    ours, theirs = sorted(found["ours"]), sorted(found["theirs"])
    rows.append(("median", (ours[2] + ours[3]) / 2, (theirs[2] + theirs[3]) / 2,
                 (ours[2] + ours[3]) / (theirs[2] + theirs[3])))  # fmt: skip
    rows.insert(0, ("release 1, with the start of Java", found["first"], "", ""))
    show(
        f"{size:,} rows in a session that is kept",
        ("", "shoal s", "Spark alone s", "ratio", "Python MB", "Java MB"),
        [(*row, measured["peak_mb"], found["java_mb"]) for row in rows],
        "Spark alone counts the combinations, brings them here, sorts and writes the rows, and counts what it wrote.",
    )


def executors(size: int = 3_000_000) -> None:
    """Measure the same release on one and on two executors.

    Executors have one core each and are separate processes.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "census.parquet"
        write_census(source, size)
        for count in (1, 2):
            engine = {
                "name": "spark", "master": f"local-cluster[{count},1,2048]", "memory": "2GB",
                "options": {"spark.executor.memory": "2g", "spark.sql.shuffle.partitions": "16"},
            }  # fmt: skip
            measured = measure(setup_of(engine, source, Path(folder) / f"out-{count}.parquet"), EXECUTORS_RUN)
            steps = measured["answer"]
            rows.append(
                [f"{size:,}", count, sum(steps.values()), *(steps[step] for step in STEPS), measured["peak_mb"]]
            )  # fmt: skip
    rows.append([f"{size:,}", "ratio", *(two / one for one, two in zip(rows[0][2:-1], rows[1][2:-1], strict=True)), ""])
    show(
        "Executors of one core each, on this machine (local-cluster)",
        ("rows", "executors", "seconds", *STEPS, "Python MB"),
        rows,
        "The second release of a session. The driver needs a core for itself at times: with more executors than cores "
        "left, the gain is less.",
    )


def cold(*sizes: int) -> None:
    rows, limits = [], []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "census.parquet"
            write_census(source, size)
            found = {}
            for engine, settings in ENGINES.items():
                found[engine] = measure(setup_of(settings, source, Path(folder) / f"{engine}.parquet"), RUN)
                measured = found[engine]["answer"]
                rows.append(
                    [f"{size:,}", engine, found[engine]["seconds"], measured["cpu"],
                     *(measured["seconds"][step] for step in STEPS), found[engine]["peak_mb"], measured["java_mb"],
                     1e6 * found[engine]["seconds"] / size]
                )  # fmt: skip
            one, other = (found[engine]["answer"] for engine in ENGINES)
            assert all(one[key] == other[key] for key in ("levels", "groups", "released")), "the engines differ"
            ratio = [found["spark"]["seconds"] / found["duckdb"]["seconds"], other["cpu"] / one["cpu"]]
            rows.append([f"{size:,}", "ratio", *ratio, *("" for _ in STEPS), "", "", ""])
            output = Path(folder) / "sorted.parquet"
            setup = setup_of(ENGINES["spark"], source, output) + WARM.format(source=str(source), output=str(output))
            limits += _compare_with_spark(f"{size:,}", found["spark"], measure(setup, ALONE))
    show(
        f"Release of 8 columns, k = 5, on two cores; Spark's Java has {JAVA_MEMORY}",
        ("rows", "engine", "seconds", "CPU seconds", *STEPS, "Python MB", "Java MB", "µs per row"),
        rows,
    )
    show(
        "One cold process: a release on Spark beside Spark's own work on the same rows",
        ("rows", "", "seconds", "CPU seconds", "Python MB", "Java MB"),
        limits,
        "Spark's own: count the combinations, bring them here, sort and write the rows, and count what was written.",
    )


def _compare_with_spark(rows: str, ours: dict, own: dict) -> list[tuple[object, ...]]:
    """Return the rows of two processes on the same table, and their ratios."""
    figures = [
        (measured["seconds"], measured["answer"]["cpu"], measured["peak_mb"], measured["answer"]["java_mb"])
        for measured in (ours, own)
    ]
    ratios = [one / other for one, other in zip(*figures, strict=True)]
    return [(rows, "shoal", *figures[0]), (rows, "Spark alone", *figures[1]), (rows, "ratio", *ratios)]


if __name__ == "__main__":
    row_counts = [argument for argument in sys.argv[1:] if argument != "--executors"]
    (executors if "--executors" in sys.argv else main)(*map(int, row_counts))
