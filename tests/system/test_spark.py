"""Spark engine: reading, writing, refusals and cleanup.

The tests use real Spark, in one session.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.io.engines import spark as spark_engine
from shoal.io.engines import spark_session
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.engines.spark import DriverMemory, SparkEngine
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.io.publish import sha256_of
from shoal.schema import Column, Role, Schema, Widths
from tests.builders.plans import write_plan

pytestmark = pytest.mark.xdist_group("spark")

# names and values that mean something to SQL, to Spark's literals, to its paths or to CSV
NAMES = ("a b", "A B", "x`y", "c0", "${z}", "it's; --", 'note,"1"')
VALUES = (
    "back\\slash",
    "it's",
    '"quoted"',
    "${spark.master}",
    "{brace}",
    "line\nend",
    "ünï ☃",
    " blank ",
    "%s",
    "a;b,c",
)


def strange_table(rows=60):
    random = np.random.default_rng(1)
    text = [pa.array(random.choice(np.array(VALUES[:n], object), rows).tolist(), pa.string()) for n in (2, 3, 2, 4)]
    none = {4: float("nan"), 5: float("inf"), 6: float("-inf")}
    floats = [None if i % 7 == 0 else none.get(i % 11, i / 4) for i in range(rows)]
    return pa.table([*text, pa.array(floats), pa.array([i % 5 for i in range(rows)], pa.int32()),
                     pa.array([VALUES[i % 10] if i % 3 else None for i in range(rows)])], names=NAMES)  # fmt: skip


def strange_plan(*models, method=None, **more):
    roles = [Role.QUASI_IDENTIFIER] * 3 + [Role.SENSITIVE] + [Role.OTHER] * 3
    schema = Schema({name: Column(role) for name, role in zip(NAMES, roles, strict=True)})
    return shoal.Plan(
        schema, models or (shoal.models.KAnonymity(3),), method or shoal.methods.FullDomain(suppression=0.3), **more
    )


def on_spark(plan, **more):
    return replace(plan, engine=EngineSettings(name="spark"), **more)


def rows_of(path):
    """Return the rows of a release, from a file or directory."""
    if path.suffix == ".parquet":
        return pq.read_table(path, partitioning=None).to_pylist()
    rows = []
    for part in sorted(path.iterdir()) if path.is_dir() else [path]:
        with part.open(encoding="utf-8", newline="") as file:
            rows += list(csv.DictReader(file))
    return rows


def assert_same(one, other):
    """Compare rows; NaN equals NaN."""
    assert list(map(repr, one)) == list(map(repr, other))


# -- frames ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", [shoal.methods.FullDomain(suppression=0.3), shoal.methods.AntiUnification(keep_rest=True)]
)
def test_names_and_values_are_data(spark, method):
    """Names and values are not taken for SQL, literals or paths."""
    plan = strange_plan(method=method)
    table = strange_table()
    ours = shoal.anonymize(table, plan)
    frame = spark.createDataFrame(table).repartition(4)
    before = spark.conf.get("spark.sql.caseSensitive"), {view.name for view in spark.catalog.listTables()}
    theirs = shoal.anonymize(frame, plan)
    assert tuple(theirs.table.columns) == NAMES
    assert_same([tuple(row) for row in theirs.table.collect()], [tuple(row.values()) for row in ours.table.to_pylist()])
    assert theirs.figures["source"]["schema_sha256"] == ours.figures["source"]["schema_sha256"]
    # the user's session is as it was
    assert (spark.conf.get("spark.sql.caseSensitive"), {view.name for view in spark.catalog.listTables()}) == before


def test_column_types_are_preserved(spark):
    import datetime
    import decimal

    day, moment = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 1, 2, 3, 456)
    columns = {
        "day": pa.array([day, day, None] * 4),
        "moment": pa.array([moment, None, moment] * 4, pa.timestamp("us")),
        "price": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("2.00")] * 4, pa.decimal128(8, 2)),
        "yes": pa.array([True, False, None] * 4),
        "small": pa.array([1, 2, 3] * 4, pa.int8()),
        "real": pa.array([0.5, float("nan"), None] * 4, pa.float32()),
        "none": pa.nulls(12, pa.null()),
        "kind": pa.array(["a", "b", None] * 4).dictionary_encode(),
        "unsigned": pa.array([1, 2, 2**32 - 1] * 4, pa.uint32()),
        "illness": pa.array(["u", "v", "w"] * 4),
    }
    roles = [Role.QUASI_IDENTIFIER] * (len(columns) - 1) + [Role.SENSITIVE]
    schema = Schema({name: Column(role) for name, role in zip(columns, roles, strict=True)})
    plan = shoal.Plan(schema, (shoal.models.KAnonymity(4),))
    table = pa.table(columns)
    assert shoal.anonymize(table, on_spark(plan)).table.to_pylist() == shoal.anonymize(table, plan).table.to_pylist()


def test_release_has_the_type_of_the_frame(spark):
    import pandas as pd

    frame = strange_table().to_pandas()
    released = shoal.anonymize(frame, on_spark(strange_plan())).table
    assert isinstance(released, pd.DataFrame)
    assert list(released.columns) == list(NAMES)


def test_released_table_is_the_verified_table(spark):
    """A frame that differs at each evaluation is computed once."""
    frame = spark.createDataFrame(strange_table()).withColumn('note,"1"', spark_functions().rand().cast("string"))
    released = shoal.anonymize(frame, strange_plan()).table
    assert_same(released.collect(), released.collect())


def spark_functions():
    from pyspark.sql import functions

    return functions


def test_collations_do_not_merge_values(spark):
    frame = spark.sql("SELECT * FROM VALUES ('a', 'u'), ('A', 'v'), ('a', 'w'), ('A', 'x') AS t(place, illness)")
    lax = frame.withColumn("place", frame["place"].cast("string collate UTF8_LCASE"))
    found = shoal.check(lax, ["k-anonymity k=2"], quasi_identifiers=["place"], sensitive=["illness"])
    assert found.groups == 2


def test_nested_columns_are_refused(spark):
    frame = spark.sql("SELECT 1 AS a, array(1, 2) AS b")
    with pytest.raises(shoal.errors.TableError, match="'b' has type array<int>"):
        shoal.check(frame, ["k-anonymity k=2"], quasi_identifiers=["a"])


def test_check_of_a_frame(spark):
    table = strange_table()
    models = ["k-anonymity k=2", "p-sensitive p=2", "t-closeness t=0.3"]
    quasi, secret = list(NAMES[:3]), [NAMES[3]]
    ours = shoal.check(table, models, quasi_identifiers=quasi, sensitive=secret)
    theirs = shoal.check(spark.createDataFrame(table), models, quasi_identifiers=quasi, sensitive=secret)
    assert theirs.to_dict() == ours.to_dict()


def test_minimal_recodings_of_a_frame(spark):
    table, plan = strange_table(), strange_plan(method=shoal.methods.FullDomain())
    ours = [one.to_dict() for one in shoal.methods.full_domain.minimal_recodings(plan, table)]
    assert [
        one.to_dict() for one in shoal.methods.full_domain.minimal_recodings(plan, spark.createDataFrame(table))
    ] == ours


def test_values_missing_in_a_hierarchy(spark):
    schema = Schema({"age": Column(Role.QUASI_IDENTIFIER, Widths((5,)))})
    frame = spark.createDataFrame(pa.table({"age": ["1", "x", "2"]}))
    with pytest.raises(shoal.errors.HierarchyError, match="1 distinct value") as error:
        shoal.anonymize(frame, shoal.Plan(schema, (shoal.models.KAnonymity(2),)))
    assert "data row" not in str(error.value)  # rows of a distributed table have no numbers


# -- files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_release_in_parts(spark, tmp_path, suffix):
    table = strange_table(400)
    source = tmp_path / "in [1].parquet"
    (source / "deep").mkdir(parents=True)
    pq.write_table(table.slice(0, 150), source / "one.parquet")
    pq.write_table(table.slice(150), source / "deep" / "two.parquet")
    alone, parts = tmp_path / f"one{suffix}", tmp_path / f"parts{suffix}"
    plan = replace(strange_plan(), source=Source(source))
    ours = shoal.release(replace(plan, output=output(alone)))
    theirs = shoal.release(on_spark(plan, output=output(parts)))
    assert_same(rows_of(parts), rows_of(alone))
    assert sorted(part.name for part in parts.iterdir())[0] == f"part-00000{suffix}"
    described = theirs.figures["output"]
    assert described == {"name": parts.name, "bytes": sum(p.stat().st_size for p in parts.iterdir()),
                    "sha256": sha256_of(parts)}  # fmt: skip
    assert ours.figures["reading"] != "the engine"
    assert theirs.figures["reading"] == "Arrow"
    certificates = [{**one.figures, "output": None, "reading": None} for one in (ours, theirs)]
    for content in certificates:  # the output path differs, and is part of the plan
        content["plan"] = {**content["plan"], "output": None}
    assert certificates[0] == certificates[1]
    printed = subprocess.run("sha256sum part-* | sha256sum", shell=True, cwd=parts, capture_output=True, text=True)
    assert printed.stdout.split()[0] == described["sha256"]
    assert {entry.name for entry in tmp_path.iterdir()} == {
        "in [1].parquet", alone.name, parts.name, "one.certificate.json", "parts.certificate.json",
    }  # fmt: skip


def output(path, **more):
    from shoal.plan.plan import Output

    return Output(path, report=False, **more)


def test_partitioned_directory(spark, tmp_path):
    """Columns in names of folders are text: 01234 stays 01234."""
    source = tmp_path / "in"
    for code, illness in (("01234", "1"), ("99999", "2"), ("__HIVE_DEFAULT_PARTITION__", "3")):
        folder = source / f"zip={code}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"age": ["1", "2"] * 2, "illness": [illness] * 4}), folder / "a.parquet")
    columns = {"zip": Role.QUASI_IDENTIFIER, "age": Role.OTHER, "illness": Role.SENSITIVE}
    schema = Schema({name: Column(role) for name, role in columns.items()})
    plan = shoal.Plan(schema, (shoal.models.KAnonymity(4),), source=Source(source), output=output(tmp_path / "out.csv"))
    shoal.release(on_spark(plan))
    released = rows_of(tmp_path / "out.csv")
    assert {(row["zip"], row["illness"]) for row in released} == {("01234", "1"), ("99999", "2"), ("", "3")}
    (source / "age=3").mkdir()
    pq.write_table(pa.table({"illness": ["1"]}), source / "age=3" / "a.parquet")
    with pytest.raises(shoal.errors.TableError, match="partitioned in more than one way"):
        shoal.release(on_spark(plan), overwrite=True)


CSV_PLAN = shoal.Plan(
    Schema({"place": Column(Role.QUASI_IDENTIFIER), "note": Column(Role.OTHER)}), (shoal.models.KAnonymity(2),)
)


def read_csv(engine, path, form):
    return engine.to_arrow(engine.read(Source(path, csv=form, format="csv"))).to_pylist()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('place,note\na,"1,2"\nb,"say ""hi"""\n,""\n', CsvFormat()),
        ('place,note\na,"first\nsecond, third"\nb,x\n', CsvFormat()),
        ("place;note\n a ;?\n\tb;-\n", CsvFormat(trim=True, missing=("?", "-"))),
        ("\ufeffplace\tnote\r\nü\t☃\r\n\r\nz\t\r\n", CsvFormat()),
        ("1,2\n3,4\n", CsvFormat(header=False, names=("place", "note"))),
        ("place,note\na,'x,y'\nb,'it''s'\n", CsvFormat(quote="'")),
        ("place,note\na\\,b\\n\n", CsvFormat()),
        ("place,note\n# no comment,1\n", CsvFormat()),
        ('place,note\na,b"c"d\n', CsvFormat()),
    ],
)  # fmt: skip
def test_both_engines_read_the_same_csv(spark, tmp_path, text, form):
    path = tmp_path / "in.csv"
    path.write_text(text, encoding="utf-8", newline="")
    with DuckDBEngine() as one, SparkEngine(EngineSettings(name="spark")) as other:
        assert read_csv(other, path, form) == read_csv(one, path, form)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"place,note\na,1,2\nSECRET,1\nb,2\n", "as many cells"),
        (b"place,note\nSECRET\nb,2\n", "as many cells"),
        (b"place,note\na,\xff\n", "not UTF-8|not utf-8|is utf-8 text, but"),
        (b"place,note\na,\x00\n", "NUL"),
        (b"place,note\na,1\n\xffSECRET,b\n", "not UTF-8|not utf-8|is utf-8 text, but"),
        (b'place,note\nx,"SECRET"y"z"\n', "as CSV"),
    ],
)
def test_invalid_csv_is_refused(spark, tmp_path, content, message):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.csv").write_bytes(b"place,note\n" + b"a,1\n" * 3)
    (folder / "2.csv").write_bytes(content)
    plan = on_spark(CSV_PLAN, source=Source(folder, format="csv"), output=output(tmp_path / "out.csv"))
    with pytest.raises(shoal.errors.TableError, match=message) as error:
        shoal.release(plan)
    assert "SECRET" not in str(error.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["in"]


def test_files_of_a_directory_must_agree(spark, tmp_path):
    for suffix in ("csv", "parquet"):
        folder = tmp_path / suffix
        folder.mkdir()
        plan = on_spark(CSV_PLAN, source=Source(folder), output=output(tmp_path / "out.csv"))
        with pytest.raises(shoal.errors.TableError, match="has no file that ends in"):
            shoal.release(plan)
        for number, names in enumerate((["place", "note"], ["note", "place2"])):
            path = folder / f"{number}.{suffix}"
            if suffix == "csv":
                path.write_text(",".join(names) + "\nx,y\n")
            else:
                pq.write_table(pa.table({name: ["x"] for name in names}), path)
        with pytest.raises(shoal.errors.TableError, match="must have the same"):
            shoal.release(plan)
    with pytest.raises(shoal.errors.TableError, match="cannot be read"):
        shoal.release(replace(plan, source=Source(tmp_path / "nowhere.csv")))
    with pytest.raises(shoal.errors.TableError, match="Read it with Spark"):
        shoal.release(replace(plan, source=Source(Path("s3://bucket/in.csv"))))


def test_old_release_is_replaced_whole_or_not_at_all(spark, tmp_path, monkeypatch):
    source, target = tmp_path / "in.csv", tmp_path / "out.parquet"
    source.write_text("place,note\na,1\na,2\n")
    plan = on_spark(CSV_PLAN, source=Source(source), output=output(target))
    shoal.release(plan)
    old = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    with pytest.raises(shoal.errors.OutputError, match="exists"):
        shoal.release(plan)
    source.write_text("place,note\nb,1\nb,2\n")
    old[source] = source.read_bytes()

    def fails(*arguments):
        raise shoal.errors.VerificationError("no")

    with monkeypatch.context() as patch:
        patch.setattr("shoal.pipeline.decide.verify", fails)
        with pytest.raises(shoal.errors.VerificationError):
            shoal.release(plan, overwrite=True)
    assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()} == old
    shoal.release(plan, overwrite=True)
    assert [row["place"] for row in rows_of(target)] == ["b", "b"]
    # a file in the way is replaced too; a directory of other things is not
    (tmp_path / "out2.csv").write_text("old")
    shoal.release(replace(plan, output=output(tmp_path / "out2.csv")), overwrite=True)
    assert [row["place"] for row in rows_of(tmp_path / "out2.csv")] == ["b", "b"]
    (target / "letters.txt").write_text("dear")
    with pytest.raises(shoal.errors.OutputError, match="has other files"):
        shoal.release(plan, overwrite=True)
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def test_table_too_large_for_the_driver(spark, monkeypatch):
    monkeypatch.setattr(spark_engine, "driver_memory", lambda heap, max_result: DriverMemory(1 << 40, 1000))
    with pytest.raises(shoal.errors.TableError, match="Make the lowest levels coarser") as error:
        shoal.anonymize(spark.createDataFrame(strange_table()), strange_plan())
    assert "different combinations" in str(error.value)
    assert "'c0' (4 values)" in str(error.value)
    monkeypatch.setattr(spark_engine, "driver_memory", lambda heap, max_result: DriverMemory(10, 1 << 40))
    with pytest.raises(shoal.errors.TableError, match="maxResultSize"):
        shoal.anonymize(spark.createDataFrame(strange_table()), strange_plan())


def test_driver_memory():
    memory = spark_engine.driver_memory("2g", "512m")
    assert memory.result == 512 << 20
    assert spark_engine.driver_memory("2g", "0").result == 1 << 30
    assert 0 < memory.python < spark_engine.driver_memory("1g", "0").python


def test_progress_fractions(spark, monkeypatch):
    monkeypatch.setattr(spark_engine, "POLL_SECONDS", 0.01)
    seen = []
    shoal.anonymize(
        spark.createDataFrame(strange_table(2000)), strange_plan(), progress=lambda *event: seen.append(event)
    )
    parts = [(step, done) for step, done in seen if done is not None]
    assert {step for step, _ in parts} & {"reading", "applying", "verifying"}
    assert all(0 <= done <= 1 for _, done in parts)


# -- settings, Java, the command -------------------------------------------------------------------------------


def test_settings(tmp_path):
    document = {"columns": {"a": {"role": "quasi-identifier"}}, "models": [{"name": "k-anonymity", "k": 2}]}
    engine = {"name": "spark", "master": "local[2]", "memory": "2GB", "options": {"spark.executor.memory": "4g"}}
    read = shoal.Plan.from_dict({**document, "engine": engine}).engine
    assert (read.name, read.master, read.memory, read.options) == tuple(engine.values())
    for wrong, message in (
        ({"name": "flink"}, "one of duckdb, spark"),
        ({"master": "local"}, "Only the engine spark"),
        ({"name": "duckdb", "options": {"spark.x": "1"}}, "Only the engine spark"),
        ({"name": "spark", "options": {"executor.memory": "1g"}}, "spark.NAME"),
    ):
        with pytest.raises(shoal.errors.PlanError, match=message):
            shoal.Plan.from_dict({**document, "engine": wrong})
    with pytest.raises(shoal.errors.PlanError, match="4GB"):
        spark_session.megabytes("lots")
    assert [spark_session.megabytes(text) for text in ("1.5GB", "512 MiB", "2g", "2048K")] == [1536, 512, 2048, 2]


def test_running_session_keeps_its_master(spark):
    with pytest.raises(shoal.errors.PlanError, match="already running on 'local"):
        SparkEngine(EngineSettings(name="spark", master="local[7]"))
    with SparkEngine(EngineSettings(name="spark", master="local[2]")) as engine:
        assert engine._spark.sparkContext is spark.sparkContext
        assert engine._spark is not spark  # its views and settings are not seen by others


def test_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(shoal.errors.InputError, match="openjdk-17-jre-headless"):
        spark_session.require_java()
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_292\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(shoal.errors.InputError, match=r"Java 17 or later. Found Java 8"):
        spark_session.require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(shoal.errors.InputError, match="None was found"):
        spark_session.require_java()


def test_without_pyspark(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(shoal.errors.InputError, match=r"shoal\[spark\]"):
        SparkEngine()


QUICK = "-XX:TieredStopAtLevel=1"  # short queries gain nothing from the slow half of Java's compiler


def run(folder, *arguments, **environment):
    command = [str(Path(sys.executable).with_name("shoal")), "release", *arguments]
    variables = {**os.environ, "TMPDIR": str(folder / "tmp"), **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables, check=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tmp").mkdir()
    write_plan(
        tmp_path,
        table="place,note\n" + "a,1\n" * 3 + "b,2\n" * 3,
        columns={"place": "quasi-identifier", "note": "other"},
        models="k-anonymity k=3",
        source="in.csv",
        output={"path": "out.parquet", "report": False},
        engine={"name": "spark", "options": {"spark.driver.extraJavaOptions": QUICK}},
    )
    return tmp_path


def test_release_command(spark, folder):
    """Only the answer is on the terminal, only the release on disk.

    The command runs a session in another process.
    """
    done = run(folder, "plan.toml", "--engine", "spark", "--master", "local[1]", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["smallest_group"] == 3
    assert len(rows_of(folder / "out.parquet")) == 6
    assert list((folder / "tmp").iterdir()) == []
    assert {entry.name for entry in folder.iterdir()} == {
        "in.csv", "plan.toml", "tmp", "out.parquet", "out.certificate.json",
    }  # fmt: skip


def test_release_command_on_failure(spark, folder):
    """The record in Spark's log must not be printed.

    Spark writes the record that it cannot read to its log.
    """
    (folder / "in.csv").write_text("place,note\n" + "a,1\n" * 3 + "SECRET\n")
    done = run(folder, "plan.toml", "--engine", "spark", "--master", "local[1]")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: A file cannot be read as CSV")
    assert len(done.stderr.splitlines()) == 1
    assert "SECRET" not in done.stdout + done.stderr
    assert list((folder / "tmp").iterdir()) == []
    assert {entry.name for entry in folder.iterdir()} == {"in.csv", "plan.toml", "tmp"}


def test_release_command_without_java(folder):
    nothing = tempfile.mkdtemp(dir=folder / "tmp")
    done = run(folder, "plan.toml", "--engine", "spark", PATH=nothing, JAVA_HOME="")
    assert done.returncode == 2
    assert "install Java 17" in done.stderr


def test_invalid_master(spark, folder):
    done = run(folder, "plan.toml", "--engine", "spark", "--master", "nowhere")
    assert done.returncode == 2
    assert "Spark cannot be started on 'nowhere': this is no master" in done.stderr
    done = run(folder, "plan.toml", "--engine", "duckdb", "--master", "local[1]")
    assert done.returncode == 2
    assert "Only the engine spark" in done.stderr


def test_combinations_are_measured_beyond_a_limit(spark, tmp_path, monkeypatch):
    """Up to the limit, combinations of a small table are fetched at once."""
    table = pa.table({"a": [str(number % 7) for number in range(50)], "b": [number % 3 for number in range(50)]})
    pq.write_table(table, tmp_path / "in.parquet")
    found, measured = [], []
    for small, limit in ((0, 100), (4 << 20, 100), (4 << 20, 20), (4 << 20, 21)):  # there are 21
        monkeypatch.setattr(spark_engine, "SMALL_TABLE_BYTES", small)
        monkeypatch.setattr(spark_engine, "MAX_COMBINATIONS_AT_ONCE", limit)
        with SparkEngine(EngineSettings(name="spark")) as engine:
            calls = []
            monkeypatch.setattr(engine, "_check_driver_memory", lambda *given, calls=calls: calls.append(given))
            counted = engine.frequencies(engine.read(Source(tmp_path / "in.parquet")), (0, 1))
        found.append(sorted(map(str, counted.to_pylist())))
        measured.append(len(calls))
    assert len(found[0]) == 21
    assert found == [found[0]] * 4
    assert measured == [1, 0, 1, 0]


def test_values_and_categories_on_spark():
    """Categories are added and verified, as on one machine."""
    from shoal.datasets.patients import CATEGORIES, COLUMNS, TABLES

    table = pa.table(dict(zip(COLUMNS, map(list, zip(*TABLES[1], strict=True)), strict=True)))
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in COLUMNS[:3]}
    columns["condition"] = Column(Role.SENSITIVE, categories=CATEGORIES, publish="both")
    plan = shoal.Plan(Schema(columns), (shoal.models.KAnonymity(4),), shoal.methods.FullDomain())
    released = shoal.anonymize(table, on_spark(plan)).table
    assert released.num_rows == table.num_rows
    categories = [CATEGORIES.name(CATEGORIES.index(value)) for value in released["condition"].to_pylist()]
    assert released["condition category"].to_pylist() == categories
