"""One Spark session for several operations.

It stays while it is wanted, keeps their data separate, and is ended afterwards.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.io.engines import spark_session, spark_shared_session
from shoal.io.engines.base import EngineSettings
from shoal.io.engines.spark_shared_session import open_session, shared_spark_session

LOCAL = EngineSettings("1GB", name="spark", master="local[1]", options={"spark.sql.shuffle.partitions": "2"})


class Context:
    """Stand-in for a Spark context."""

    _jsc = object()


class Session:
    """Stand-in for a Spark session, without Java."""

    def __init__(self, context):
        self.sparkContext = context

    def newSession(self):
        return Session(self.sparkContext)


class Started(spark_session.StartedSession):
    """Started session that counts its closings."""

    ended = 0

    def __init__(self, master, memory, options):
        chosen = {"spark.master": master, **options}
        if memory is not None:
            chosen["spark.driver.memory"] = f"{spark_session.megabytes(memory)}m"
        super().__init__(Session(Context()), None, None, chosen)

    @property
    def alive(self):
        return self._context._jsc is not None

    def close(self):
        self.ended += 1


@pytest.fixture
def started(monkeypatch):
    """Record the sessions that are started, in a process without one."""
    found = []

    def start(*given):
        found.append(Started(*given))
        return found[-1]

    monkeypatch.setattr(spark_shared_session, "_own", spark_shared_session._Own())
    monkeypatch.setattr(spark_shared_session, "_running", lambda: None)
    monkeypatch.setattr(spark_session, "require_java", lambda: None)
    monkeypatch.setattr(spark_session, "start_session", start)
    return found


def ended(started):
    return [one.ended for one in started]


def test_session_ends_with_its_last_user(started):
    one, other = open_session(LOCAL), open_session(LOCAL)
    assert one.spark is not other.spark  # separate views and settings
    one.close()
    one.close()
    assert ended(started) == [0]
    other.close()
    assert ended(started) == [1]
    open_session(LOCAL).close()
    assert ended(started) == [1, 1]


def test_session_outlives_its_users_within_a_block(started):
    with shared_spark_session():
        assert started == []  # nothing is started before it is needed
        open_session(LOCAL).close()
        with shared_spark_session():
            open_session(LOCAL).close()
        open_session(EngineSettings(name="spark")).close()
        assert ended(started) == [0]
    assert ended(started) == [1]


def test_session_ends_if_the_block_fails(started):
    with pytest.raises(ZeroDivisionError), shoal.spark_session(LOCAL):
        raise ZeroDivisionError
    assert ended(started) == [1]


def test_other_settings_of_a_shared_session(started):
    """Other settings are refused by a session with promised settings.

    Without such a promise they start another session, if the first has no user.
    """
    for more, message in (
        ({"master": "local[3]"}, r"on 'local\[1\]'; it cannot be moved to 'local\[3\]'"),
        ({"master": None, "threads": 3}, r"cannot be moved to 'local\[3\]'"),
        ({"memory": "2GB"}, r"its memory \(1024m\) cannot become 2GB"),
        ({"options": {"spark.sql.shuffle.partitions": "9"}}, "its option spark.sql.shuffle.partitions cannot"),
    ):
        given = {"name": "spark", "memory": "1GB", "master": "local[1]", **more}
        settings = EngineSettings(**given)
        with shoal.spark_session(LOCAL), pytest.raises(shoal.errors.PlanError, match=message):
            open_session(settings)
        before = len(started)
        with shared_spark_session():
            open_session(LOCAL).close()
            open_session(settings).close()
            assert ended(started)[before:] == [1, 0]
    for same in (EngineSettings("1024MB", name="spark"), EngineSettings(name="spark", threads=1)):
        with shoal.spark_session(LOCAL):
            open_session(same).close()


def test_stopped_session_is_not_used_again(started):
    with shoal.spark_session(LOCAL) as spark:
        spark.sparkContext._jsc = None
        late = open_session(LOCAL)
        assert ended(started) == [1, 0]
        late.close()
        assert ended(started) == [1, 0]
    assert ended(started) == [1, 1]


def test_session_of_other_engines_is_none(started):
    with shoal.spark_session("duckdb") as nothing:
        assert nothing is None
    assert started == []


def test_foreign_session_is_used_and_never_ended(spark, monkeypatch):
    monkeypatch.setattr(
        spark_shared_session, "_own", spark_shared_session._Own()
    )  # the session of the other tests now counts as foreign
    monkeypatch.setattr(spark_session, "start_session", lambda *given: pytest.fail("one is running"))
    with shoal.spark_session(EngineSettings("7GB", name="spark")) as found:
        assert found.sparkContext is spark.sparkContext
        with pytest.raises(shoal.errors.PlanError, match=r"on 'local\[2\]' and cannot be moved to 'local\[7\]'"):
            open_session(EngineSettings(name="spark", master="local[7]"))
        open_session(EngineSettings(name="spark", master="local[2]")).close()
    assert spark_shared_session._own.started is None
    assert spark.sql("SELECT 1").count() == 1


# run in a separate process: there can be only one Spark in a process
WORK = """
import json, sys, shoal
from pathlib import Path
from shoal.io.engines import spark_session

started = []
start = spark_session.start_session

def remember(*given):
    started.append(start(*given))
    return started[-1]

spark_session.start_session = remember
plan = shoal.Plan.read("plan.toml")
told = {}
shoal.attack("in.parquet", plan, original="in.parquet", locality=True)
told["attack"] = len(started)
told["ended"] = [one.alive if one._gateway else None for one in started]
with shoal.spark_session(plan.engine) as spark:
    for _ in range(2):
        shoal.release(plan, overwrite=True)
    shoal.check("out.parquet", plan=plan)
    told["kept"] = len(started)
    told["views"] = [row.tableName for row in spark.sql("SHOW TABLES").collect()]
    other = spark.newSession()
    told["other views"] = [row.tableName for row in other.sql("SHOW TABLES").collect()]
    told["cached"] = len(spark.sparkContext._jsc.getPersistentRDDs())
    told["empty"] = bool(spark._jsparkSession.sharedState().cacheManager().isEmpty())
    try:
        shoal.release(plan.with_(engine=shoal.Plan.read("other.toml").engine), overwrite=True)
    except shoal.errors.PlanError as error:
        told["refused"] = str(error)
    proc = started[-1]._gateway.proc
told["java ends"] = proc.poll() is not None
print(json.dumps(told))
"""


def test_real_sessions(spark, tmp_path):
    """Run real sessions in another process.

    The fixture ensures that there is a Spark.
    """
    table = pa.table({"age": [str(number // 4) for number in range(48)], "ill": ["a", "b", "c"] * 16})
    pq.write_table(table, tmp_path / "in.parquet")
    plan = (
        'source = { path = "in.parquet" }\noutput = { path = "out.parquet", report = false }\n'
        'columns = { age = { role = "quasi-identifier" }, ill = { role = "sensitive" } }\n'
        'models = [{ name = "k-anonymity", k = 3 }]\n'
        'engine = { name = "spark", master = "local[1]", MEMORY options = '
        '{ "spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1" } }\n'
    )
    (tmp_path / "plan.toml").write_text(plan.replace("MEMORY", ""))
    (tmp_path / "other.toml").write_text(plan.replace("MEMORY", 'memory = "700MB",'))
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", WORK], capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome.pop("refused").startswith("A Spark session is already running on 'local[1]'; its memory")
    assert outcome == {
        "attack": 1, "ended": [None], "kept": 2, "views": [], "other views": [], "cached": 0, "empty": True,
        "java ends": True,
    }  # fmt: skip
    assert list(scratch.iterdir()) == []
