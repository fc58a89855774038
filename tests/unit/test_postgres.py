"""A real PostgreSQL on a private socket: what is read, what is written, and what is left when something breaks."""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

import shoal
from shoal.engines.base import Source
from shoal.engines.duckdb import DuckDBEngine
from shoal.errors import OutputError, PlanError, TableError
from shoal.formats.postgres import Postgres, name_of_certificate

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
pytestmark = pytest.mark.xdist_group("postgres")

ODD = 'o"dd ' + "x" * 56 + "ü"  # 63 bytes


@pytest.fixture(scope="module")
def server():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb")]
    if not found[-1]:
        pytest.skip("no PostgreSQL server is installed (scripts/postgres)")
    programs = Path(found[-1]).parent
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))
    prefix = []
    if os.getuid() == 0:  # the server refuses to run as root
        if subprocess.run(["id", "postgres"], capture_output=True).returncode:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        shutil.chown(folder, "postgres", "postgres")
        prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    data = folder / "data"
    subprocess.run([*prefix, str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "anna", "-E", "UTF8",
                    "--no-locale", "--no-sync"], check=True, capture_output=True)  # fmt: skip
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    subprocess.run([*prefix, str(programs / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options,
                    "start"], check=True, capture_output=True)  # fmt: skip
    yield f"postgresql://anna@/postgres?host={folder}"
    subprocess.run([*prefix, str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"], capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def clinic(server, monkeypatch):
    """A server with one table, and nothing of other tests."""
    monkeypatch.setenv("CLINIC", server)
    run(server, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN;"
                "GRANT USAGE ON SCHEMA public TO guest;"
                "CREATE TYPE mood AS ENUM ('sad', 'glad');"
                "CREATE TABLE visits (name text, age int, height numeric(5, 2), seen timestamptz, born date,"
                " smokes boolean, mood mood, illness text);"
                "INSERT INTO visits SELECT 'p' || n, 20 + n % 40, 150.25 + n, timestamptz '2024-01-01 12:00+01', "
                " date '1990-01-01' + n, n % 2 = 0, 'glad', (ARRAY['flu','cold','gout','😀 ' || chr(119070)])"
                "[1 + n % 4] FROM generate_series(1, 80) n;"
                "INSERT INTO visits (age, illness) SELECT 33, 'flu' FROM generate_series(1, 8)")  # fmt: skip
    return server


def run(server, script):
    with dbapi.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.executescript(script)


def ask(server, question):
    with dbapi.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchall()


def tables(server):
    found = "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    return {name for (name,) in ask(server, found)}


def plan(table="released", **output):
    roles = {"name": "identifier", "seen": "other", "smokes": "other", "illness": "sensitive", "height": "other",
             "born": "other", "mood": "other"}  # fmt: skip
    return {
        "source": {"database": "env:CLINIC", "table": "public.visits"},
        "columns": {
            **{name: {"role": role} for name, role in roles.items()},
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
        },
        "models": [{"name": "k-anonymity", "k": 5}],
        "output": {"database": "env:CLINIC", "table": table, **output},
    }


def read(**given):
    with DuckDBEngine() as engine:
        table = engine.read(Source(database="env:CLINIC", **given))
        return engine.to_arrow(table), table


def test_types_names_and_nulls_are_kept(clinic):
    found, table = read(table="visits")
    kinds = dict(zip(table.columns, table.types, strict=True))
    assert kinds == {"name": "VARCHAR", "age": "INTEGER", "height": "DECIMAL(5,2)", "seen": "TIMESTAMP WITH TIME ZONE",
                     "born": "DATE", "smokes": "BOOLEAN", "mood": "VARCHAR", "illness": "VARCHAR"}  # fmt: skip
    assert found.num_rows == 88
    assert found.column("height").null_count == 8
    assert "😀 " + chr(119070) in found.column("illness").to_pylist()
    assert read(query="SELECT age + 1 AS older FROM visits -- and a comment")[0].column_names == ["older"]


def test_arrays_and_bytes_are_refused(clinic):
    for cell in ("ARRAY[1, 2]", "'x'::bytea"):
        with pytest.raises(TableError, match="not plain values"):
            read(query=f"SELECT {cell} AS a")


def test_a_release_is_verified_on_the_server_and_lands_with_its_certificate(clinic):
    done = shoal.release(plan())
    assert tables(clinic) == {"visits", "released", "released_certificate"}
    ((text,),) = ask(clinic, "SELECT certificate FROM released_certificate")
    told = json.loads(text)
    assert told["smallest_group"] == done.certificate["smallest_group"] >= 5
    assert "postgresql" not in text
    smallest = ask(clinic, "SELECT min(n), sum(n) FROM (SELECT count(*) n FROM released GROUP BY age) AS g")
    assert smallest[0][0] >= 5
    assert int(smallest[0][1]) == told["released"]
    kinds = dict(ask(clinic, "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
                             "WHERE attrelid = 'released'::regclass AND attnum > 0"))  # fmt: skip
    assert (kinds["height"], kinds["seen"], kinds["born"]) == ("numeric(5,2)", "timestamp with time zone", "date")
    assert "name" not in kinds
    with pytest.raises(OutputError, match="exists"):
        shoal.release(plan())
    shoal.release(plan(overwrite=True))


def test_names_of_63_bytes_with_quotes(clinic):
    assert len(ODD.encode()) == 63
    quoted = '"' + ODD.replace('"', '""') + '"'
    shoal.release(plan(f"public.{quoted}"))
    assert tables(clinic) == {"visits", ODD, name_of_certificate(ODD)}
    assert len(name_of_certificate(ODD).encode()) <= 63
    with pytest.raises(OutputError, match="at most 63 bytes"):
        shoal.release(plan("x" * 64))


STEPS = ["begin", "stage", "columns", "publish"]


@pytest.mark.parametrize("step", STEPS)
def test_a_connection_that_is_lost_leaves_the_old_release_and_no_stage_table(clinic, monkeypatch, step):
    shoal.release(plan())
    before = ask(clinic, "SELECT 'released'::regclass::oid, certificate FROM released_certificate")
    whole = getattr(Postgres, step)

    def broken(self, *given, **named):
        if step == "columns" and self._fault is TableError:
            return whole(self, *given, **named)
        found = None if step == "publish" else whole(self, *given, **named)
        ((mine,),) = self.run("SELECT pg_backend_pid()")
        ask(clinic, f"SELECT pg_terminate_backend({mine})")
        return whole(self, *given, **named) if step == "publish" else found

    monkeypatch.setattr(Postgres, step, broken)
    with pytest.raises(OutputError) as told:
        shoal.release(plan(overwrite=True))
    assert "anna" not in str(told.value)
    assert tables(clinic) == {"visits", "released", "released_certificate"}
    assert ask(clinic, "SELECT 'released'::regclass::oid, certificate FROM released_certificate") == before


def test_a_second_writer_is_told_to_wait(clinic):
    with Postgres("env:CLINIC", fault=OutputError, write=True) as other:
        other.begin("released", overwrite=True)
        with pytest.raises(OutputError, match="Another release"):
            shoal.release(plan())


def test_a_source_is_seen_as_it_was_when_the_reading_began(clinic):
    with Postgres("env:CLINIC", fault=TableError) as server, DuckDBEngine() as engine:
        names, statement, kinds = server.columns("visits", None)
        changing = threading.Thread(target=run, args=(clinic, "DELETE FROM visits"))
        changing.start()
        changing.join()
        assert engine.to_arrow(engine.take(server, names, statement, kinds, ())).num_rows == 88


def test_a_source_cannot_be_written_to(clinic):
    with pytest.raises(TableError):
        read(query="WITH gone AS (DELETE FROM visits RETURNING *) SELECT * FROM gone")
    assert ask(clinic, "SELECT count(*) FROM visits") == [(88,)]


def test_a_role_without_rights_is_told_so(clinic, monkeypatch):
    monkeypatch.setenv("CLINIC", clinic.replace("anna@", "guest:geheim@"))
    with pytest.raises(TableError, match="no right") as told:
        read(table="visits")
    assert "geheim" not in str(told.value)
    with Postgres("env:CLINIC", fault=OutputError, write=True) as server, pytest.raises(OutputError, match="no right"):
        server.stage("released", ["a"], ["VARCHAR"], None)
    with pytest.raises(PlanError, match="is not set"):
        DuckDBEngine().read(Source(database="env:NOWHERE", table="t"))


@pytest.mark.parametrize("address", ["postgresql://anna:geheim@/x", "anna", "env:", "env:a b", "service:../x y"])
def test_no_address_stands_in_a_plan_or_in_an_error(address):
    with pytest.raises(PlanError) as told:
        Postgres(address, fault=TableError)
    assert "geheim" not in str(told.value)


def test_a_server_that_is_not_there_is_no_fault_of_shoal(monkeypatch):
    monkeypatch.setenv("CLINIC", "postgresql://anna:geheim@/x?host=/nowhere")
    with pytest.raises(TableError, match="cannot be reached") as told:
        Postgres("env:CLINIC", fault=TableError)
    assert "geheim" not in str(told.value)
