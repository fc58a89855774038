"""PostgreSQL on a private socket: reading, writing and failures."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import signal
import threading
import time

import pyarrow as pa
import pytest

import shoal
from shoal.errors import OutputError, PlanError, TableError, VerificationError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats import ColumnLabels
from shoal.io.formats.postgres import Postgres, TableName, certificate_table_name
from tests import servers
from tests.builders.errors import has_code
from tests.builders.processes import in_child

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
pytestmark = pytest.mark.xdist_group("postgres")

ODD = 'o"dd ' + "x" * 56 + "ü"  # 63 bytes


@pytest.fixture(scope="module")
def server():
    with contextlib.ExitStack() as stack:
        try:
            address = stack.enter_context(servers.postgres("fsync=off"))
        except servers.NoServer as reason:
            pytest.skip(str(reason))
        yield address


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


def test_types_names_and_nulls_are_read(clinic):
    found, table = read(table="visits")
    kinds = dict(zip(table.columns, table.types, strict=True))
    assert kinds == {"name": "VARCHAR", "age": "INTEGER", "height": "DECIMAL(5,2)", "seen": "TIMESTAMP WITH TIME ZONE",
                     "born": "DATE", "smokes": "BOOLEAN", "mood": "VARCHAR", "illness": "VARCHAR"}  # fmt: skip
    assert found.num_rows == 88
    assert found.column("height").null_count == 8
    assert "😀 " + chr(119070) in found.column("illness").to_pylist()
    assert read(query="SELECT age + 1 AS older FROM visits -- and a comment")[0].column_names == ["older"]


def test_arrays_bytes_intervals_and_rows_are_refused(clinic):
    for cell in ("ARRAY[1, 2]", "'x'::bytea", "interval '1 day'", "ROW(1, 2)"):
        with pytest.raises(TableError, check=has_code("databases.column-not-plain")):
            read(query=f"SELECT {cell} AS a")


def test_infinity_and_end_of_day_are_refused(clinic):
    """Infinity must not become another date, nor 24:00 become 00:00."""
    for cell in ("date 'infinity'", "timestamp '-infinity'", "timestamptz 'infinity'", "time '24:00'"):
        with pytest.raises(TableError, check=has_code("table.infinite-date", column="b")):
            read(query=f"SELECT date '2024-01-01' AS a, {cell} AS b")


def test_domains_are_read_as_base_types(clinic):
    run(clinic, "CREATE DOMAIN years AS int CHECK (VALUE > 0); CREATE DOMAIN age AS years")
    assert read(query="SELECT 3::age AS a, '$2.50'::money AS b")[0].to_pylist() == [{"a": 3, "b": "$2.50"}]


def test_release_with_certificate_on_the_server(clinic):
    done = shoal.release(plan())
    assert tables(clinic) == {"visits", "released", "released_certificate"}
    ((text,),) = ask(clinic, "SELECT certificate FROM released_certificate")
    certificate = json.loads(text)
    assert certificate["smallest_group"] == done.figures["smallest_group"] >= 5
    assert "postgresql" not in text
    assert "exposure" not in text
    assert done.to_dict()["exposure"]["below_5"] == 0
    smallest = ask(clinic, "SELECT min(n), sum(n) FROM (SELECT count(*) n FROM released GROUP BY age) AS g")
    assert smallest[0][0] >= 5
    assert int(smallest[0][1]) == certificate["released"]
    kinds = dict(ask(clinic, "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
                             "WHERE attrelid = 'released'::regclass AND attnum > 0"))  # fmt: skip
    assert (kinds["height"], kinds["seen"], kinds["born"]) == ("numeric(5,2)", "timestamp with time zone", "date")
    assert "name" not in kinds
    with pytest.raises(OutputError, match="exists"):
        shoal.release(plan())
    shoal.release(plan(overwrite=True))


def test_explore_a_table_of_the_server(clinic):
    (trial,) = shoal.explore(plan(), methods=["mondrian"], ks=[5], workers=1).trials
    assert (trial.outcome, trial.released) == ("released", 88)


def test_released_table_is_verified_by_content(clinic, tmp_path):
    path = tmp_path / "visits.certificate.json"
    shoal.release(plan(certificate_file=str(path)))
    found = shoal.verify(path, database="env:CLINIC")
    assert {finding.name: finding.outcome for finding in found.findings} == {
        "digest": "holds",
        "promise": "holds",
        "figures": "holds",
    }
    # the order of rows does not matter, their content does
    run(clinic, "CREATE TABLE other AS SELECT * FROM released ORDER BY random(); DROP TABLE released;"
                "ALTER TABLE other RENAME TO released")  # fmt: skip
    assert shoal.verify(path, database="env:CLINIC").holds
    genuine = path.read_text()
    for figure in ("rows", "columns"):
        content = json.loads(genuine)
        content["output"][figure] += 1
        path.write_text(json.dumps(content))
        assert not shoal.verify(path, database="env:CLINIC").holds
    path.write_text(genuine)
    run(clinic, "UPDATE released SET illness = 'other' WHERE ctid = (SELECT min(ctid) FROM released)")
    found = shoal.verify(path, database="env:CLINIC")
    assert [(finding.name, finding.outcome) for finding in found.findings] == [("digest", "fails")]
    with pytest.raises(shoal.errors.InputError, match="--database"):
        shoal.verify(path)


def test_certificate_file(clinic, tmp_path):
    path = tmp_path / "visits.certificate.json"
    shoal.release(plan(certificate_file=str(path)))
    ((text,),) = ask(clinic, "SELECT certificate FROM released_certificate")
    assert path.read_text() == text
    assert str(tmp_path) not in text
    with pytest.raises(OutputError, match="exists"):
        shoal.release(plan("other", certificate_file=str(path)))
    assert "other" not in tables(clinic)
    shoal.release(plan(overwrite=True, certificate_file=str(path)))
    with pytest.raises(PlanError, check=has_code("output.certificate-file-without-database")):
        shoal.Plan.from_dict({**plan(), "output": {"path": "x.csv", "certificate_file": "x.json"}})


KINDS = {
    "int2": "-32768", "int8": "-9223372036854775808", "float4": "1.5e-30", "float8": "1.2345678901234567e-300",
    "numeric(38,10)": "1234567890123456789012345678.0000000001", "boolean": "true", "text": "\t\n\\ 'x' \U0010ffff",
    "text COLLATE \"C\"": "".join(chr((plane << 16) + point) for plane in range(17) for point in (0x41, 0xFFFD)),
    "date": "0001-01-01", "time": "23:59:59.999999", "timestamp": "1999-12-31 23:59:59.123456",
    "timestamptz": "2024-03-31 01:59:59.5+00",
}  # fmt: skip
AS_TEXT = {
    "numeric": "1e-40", "varchar(5)": "ab", "char(3)": "ab", "uuid": "00000000-0000-0000-0000-00000000000a",
    "json": '{"a": 1}', "inet": "10.0.0.1", "mood": "sad", "money": "$1.00",
}  # fmt: skip


def test_round_trip_of_all_types(clinic):
    """Values come out in their type, or as their text."""
    kinds = {**KINDS, **AS_TEXT}
    listed = ", ".join(f'"{number}" {kind}' for number, kind in enumerate(kinds))
    given = ", ".join("E'" + text.replace("\\", "\\\\").replace("'", "''") + "'" for text in kinds.values())
    run(clinic, f"DROP TABLE visits; CREATE TABLE visits (age int, {listed});"
                f"INSERT INTO visits VALUES (20, {given}), (21, {given});"
                "INSERT INTO visits (age) VALUES (22)")  # fmt: skip
    document = {**plan(), "models": [{"name": "k-anonymity", "k": 3}], "method": {"name": "full-domain"}}
    document["columns"] = {"age": document["columns"]["age"], **{str(n): {"role": "other"} for n in range(len(kinds))}}
    shoal.release(document)
    texts = ", ".join(f'"{n}"::text' for n in range(len(kinds)))
    before, after = (ask(clinic, f'SELECT {texts} FROM {name} ORDER BY "0"') for name in ("visits", "released"))
    assert after == before
    made = dict(ask(clinic, "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
                            "WHERE attrelid = 'released'::regclass AND attnum > 0"))  # fmt: skip
    whole = dict(ask(clinic, "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
                             "WHERE attrelid = 'visits'::regclass AND attnum > 0"))  # fmt: skip
    for number, kind in enumerate(kinds):
        assert made[str(number)] == (whole[str(number)] if kind in KINDS else "text"), kind


def test_names_of_63_bytes_with_quotes(clinic):
    assert len(ODD.encode()) == 63
    quoted = '"' + ODD.replace('"', '""') + '"'
    run(clinic, f"ALTER TABLE visits RENAME COLUMN mood TO {quoted}")
    document = plan(f"public.{quoted}")
    document["columns"][ODD] = document["columns"].pop("mood")
    shoal.release(document)
    assert ask(clinic, f"SELECT count({quoted}) FROM {quoted}") == [(80,)]
    assert tables(clinic) == {"visits", ODD, certificate_table_name(ODD)}
    assert len(certificate_table_name(ODD).encode()) <= 63
    with pytest.raises(OutputError, match="at most 63 bytes"):
        shoal.release(plan("x" * 64))


STEPS = ["begin", "stage", "columns", "publish"]


@pytest.mark.parametrize("step", STEPS)
def test_lost_connection_leaves_the_old_release(clinic, monkeypatch, step):
    """Leave the old release, and no staging table, at every step."""
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
    with pytest.raises(OutputError) as caught:
        shoal.release(plan(overwrite=True))
    assert "anna" not in str(caught.value)
    assert tables(clinic) == {"visits", "released", "released_certificate"}
    assert ask(clinic, "SELECT 'released'::regclass::oid, certificate FROM released_certificate") == before


def test_second_writer_is_refused_for_any_spelling(clinic):
    with Postgres("env:CLINIC", fault=OutputError, write=True) as other:
        other.begin("released", overwrite=True)
        for name in ("released", "public.released", '"public"."released"'):
            with pytest.raises(OutputError, check=has_code("databases.release-at-work")):
                shoal.release(plan(name))
    shoal.release(plan())


def make_release(clinic):
    """Do the steps of a release on the server, with trivial rows."""
    rows = pa.table({"age": ["old", "new"]})
    with Postgres("env:CLINIC", fault=OutputError, write=True) as server:
        target = server.begin("released", overwrite=True)
        labels = {"age": ColumnLabels("Age", never_missing=True)}
        stage = server.stage(target, ["age"], ["VARCHAR"], rows.to_reader(1), labels)
        with server.batches(server.columns(stage.quoted, None).statement) as found:
            assert found.read_all().num_rows == 2
        server.publish(stage, target, "new")


def kill_before(step):
    """Kill this process before its n-th call of the driver."""
    count = itertools.count()

    def counted(whole):
        def call(*given, **named):
            if next(count) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(*given, **named)

        return call

    for kind, names in ((dbapi.Cursor, ("execute", "adbc_ingest", "fetch_record_batch")),
                        (dbapi.Connection, ("commit", "close"))):  # fmt: skip
        for name in names:
            setattr(kind, name, counted(getattr(kind, name)))


def test_kill_at_every_step(clinic):
    """Leave the old or the new release, and no staging table."""
    run(clinic, "CREATE TABLE released (age text); CREATE TABLE released_certificate (certificate text NOT NULL);"
                "INSERT INTO released_certificate VALUES ('old')")  # fmt: skip
    gone = "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    state = ("SELECT certificate, (SELECT count(*) FROM released), (SELECT count(*) FROM pg_class WHERE relkind = 'r' "
             "AND relnamespace = 'public'::regnamespace) FROM released_certificate")  # fmt: skip
    found = []
    with dbapi.connect(clinic, autocommit=True) as connection, connection.cursor() as cursor:

        def fetch(question):
            cursor.execute(question)
            return cursor.fetchone()

        for step in itertools.count():
            status, printed = in_child(lambda step=step: (kill_before(step), make_release(clinic)))
            for _ in range(5000):
                if fetch(gone) == (True,):
                    break
                time.sleep(0.002)  # the server has not noticed yet that its client is gone
            found.append(fetch(state))
            if status == 0:
                break
            assert status == -signal.SIGKILL, printed
    assert set(found) == {("old", 0, 3), ("new", 2, 3)}
    found = [text for text, _, _ in found]
    changed = found.index("new")
    assert found == ["old"] * changed + ["new"] * (len(found) - changed)
    assert changed > 20  # each statement was a step, and so was what follows the commit
    assert len(found) - changed > 1


def test_other_tables_are_never_replaced(clinic, monkeypatch):
    monkeypatch.setenv("ALIAS", clinic)
    run(clinic, "CREATE TABLE taken_certificate (owner text)")
    with pytest.raises(OutputError, match="must not be the source"):
        shoal.release(plan("visits", overwrite=True))
    for name in ("visits", "taken"):
        with pytest.raises(OutputError, check=has_code("databases.output-not-a-release")):
            shoal.release(plan(name, overwrite=True, database="env:ALIAS"))
    assert ask(clinic, "SELECT count(*) FROM visits") == [(88,)]


def test_comments_and_not_null_of_published_columns(clinic):
    comment = "Illness, as O'Brien\\code says: \U0001f600"
    quoted = comment.replace("'", "''")
    run(clinic, "ALTER TABLE visits ALTER age SET NOT NULL, ALTER illness SET NOT NULL;"
                "COMMENT ON COLUMN visits.name IS 'told by Mrs Miller'; COMMENT ON TABLE visits IS 'Mrs Miller''s';"
                f"COMMENT ON COLUMN visits.illness IS '{quoted}'")  # fmt: skip
    done = shoal.release(plan())
    assert done.figures["labels"] == {"illness": comment}
    found = ask(clinic, "SELECT attname::text, col_description(attrelid, attnum), attnotnull FROM pg_attribute "
                        "WHERE attrelid = 'released'::regclass AND attnum > 0")  # fmt: skip
    assert {name: text for name, text, _ in found if text} == {"illness": comment}
    assert {name for name, _, full in found if full} == {"age", "illness"}
    assert ask(clinic, "SELECT obj_description('released'::regclass)") == [(None,)]


def test_release_by_people(clinic):
    """Count people; their numbers are not published."""
    run(clinic, "UPDATE visits SET name = 'p' || (ctid::text::point)[1]::int / 2")  # two rows of each
    document = plan()
    document["columns"]["name"] = {"role": "person"}
    done = shoal.release(document)
    assert done.figures["people"]["smallest_group"] >= 5
    assert done.figures["people"]["total"] < 60
    assert tables(clinic) == {"visits", "released", "released_certificate"}
    found = ask(clinic, "SELECT attname::text FROM pg_attribute WHERE attrelid = 'released'::regclass AND attnum > 0")
    assert {name for (name,) in found} == {"age", "height", "seen", "born", "smokes", "mood", "illness"}


def test_not_null_is_dropped_for_hidden_cells(clinic):
    with Postgres("env:CLINIC", fault=OutputError, write=True) as server:
        rows = pa.table({"a": ["x", None], "b": [1, 2]}).to_reader()
        full = {"a": ColumnLabels(never_missing=True), "b": ColumnLabels(never_missing=True)}
        stage = server.stage(server.begin("r", overwrite=False), ["a", "b"], ["VARCHAR", "BIGINT"], rows, full)
        found = server.labels(stage.quoted)
    assert (found["a"].never_missing, found["b"].never_missing) == (False, True)


def test_lost_connection_while_reading_is_an_error(clinic):
    """A lost connection must not look like a shorter table."""
    with pytest.raises(TableError, check=has_code("databases.not-read-to-end")):
        read(query="SELECT n, CASE WHEN n = 150000 THEN pg_terminate_backend(pg_backend_pid()) END AS gone "
                   "FROM generate_series(1, 200000) n")  # fmt: skip


def test_source_is_read_as_a_snapshot(clinic):
    with Postgres("env:CLINIC", fault=TableError) as server, DuckDBEngine() as engine:
        columns = server.columns("visits", None)
        changing = threading.Thread(target=run, args=(clinic, "DELETE FROM visits"))
        changing.start()
        changing.join()
        assert engine.to_arrow(engine.ingest(server, columns)).num_rows == 88


def test_source_is_read_only(clinic):
    with pytest.raises(TableError):
        read(query="WITH gone AS (DELETE FROM visits RETURNING *) SELECT * FROM gone")
    assert ask(clinic, "SELECT count(*) FROM visits") == [(88,)]


def test_role_without_rights(clinic, monkeypatch):
    """Report missing rights without the password."""
    monkeypatch.setenv("CLINIC", clinic.replace("anna@", "guest:geheim@"))
    with pytest.raises(TableError, match="no right") as caught:
        read(table="visits")
    assert "geheim" not in str(caught.value)
    with Postgres("env:CLINIC", fault=OutputError, write=True) as server, pytest.raises(OutputError, match="no right"):
        server.stage(TableName("public", "released"), ["a"], ["VARCHAR"], None, {})
    with pytest.raises(PlanError, match="is not set"):
        DuckDBEngine().read(Source(database="env:NOWHERE", table="t"))


@pytest.mark.parametrize("address", ["postgresql://anna:geheim@/x", "anna", "env:", "env:a b", "service:../x y"])
def test_addresses_in_plans_are_refused_undisclosed(address):
    """Errors do not contain the password."""
    with pytest.raises(PlanError) as caught:
        Postgres(address, fault=TableError)
    assert "geheim" not in str(caught.value)


def test_missing_server_is_a_table_error(monkeypatch):
    """Raise TableError without the password, not an internal error."""
    monkeypatch.setenv("CLINIC", "postgresql://anna:geheim@/x?host=/nowhere")
    with pytest.raises(TableError, match="cannot be reached") as caught:
        Postgres("env:CLINIC", fault=TableError)
    assert "geheim" not in str(caught.value)


# -- the server as the second reader -----------------------------------------------------------------------

TYPED = {
    "flag": "n % 2 = 0",
    "share": "CASE n % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN 0.5 WHEN 2 THEN 100 WHEN 3 THEN '-0' END::float8",
    "narrow": "(ARRAY[0.1, 1e20, 1e-7])[1 + n % 3]::real",
    "moment": "timestamp '2024-03-31 00:00' + n % 3 * interval '1.5 seconds'",
    "instant": "timestamptz '2024-10-27 00:30+00' + n % 2 * interval '1 hour'",
    "day": "date '2024-01-01' + n % 3",
    "clock": "time '00:00' + n % 3 * interval '2.5 seconds'",
    "price": "(n % 3 * 1.5)::numeric(12, 2)",
    "words": "(ARRAY['e', E'e\\u0301', '', ' ', 'E', 'a\\\\nb'])[1 + n % 6]",
}


@pytest.mark.parametrize(("zone", "names"), [("UTC", list(TYPED)), ("Europe/Berlin", ["instant"])])
def test_server_counts_released_values_of_all_types(clinic, zone, names):
    """Both readings count the same groups and classes."""
    cells = ", ".join(f"{cell} AS {name}" for name, cell in TYPED.items())
    run(clinic, f"CREATE TABLE typed AS SELECT {cells}, 't' || n % 2 AS town, 'x' AS other FROM "
                "generate_series(0, 119) n")  # fmt: skip
    for name in names:
        for role, more in (
            ("sensitive", {"models": [{"name": "p-sensitive", "p": 2}]}),
            ("quasi-identifier", {"models": [{"name": "k-anonymity", "k": 5, "known": 2}]}),
        ):
            columns = dict.fromkeys(TYPED, "drop") | {"town": "quasi-identifier", "other": "quasi-identifier"}
            found = shoal.release(
                {
                    "source": {"database": "env:CLINIC", "table": "typed", "time_zone": zone},
                    "columns": {key: {"role": value} for key, value in (columns | {name: role}).items()},
                    "output": {"database": "env:CLINIC", "table": "out", "overwrite": True},
                    **more,
                }
            )
            assert found.certificate["reading"] == "PostgreSQL", name
            assert found.figures["models"][0]["holds"]


@pytest.mark.parametrize("person", [False, True])
def test_engine_that_misreads_the_server_is_noticed(clinic, monkeypatch, person):
    """The server has a group of one row, which the engine reads as another."""
    document = plan()
    if person:
        document["columns"]["name"] = {"role": "person"}
    shoal.release(document)
    stage, ingest = Postgres.stage, DuckDBEngine.ingest

    def stage_another(self, target, columns, *given, **options):
        table = stage(self, target, columns, *given, **options)
        self.run(f"UPDATE {table.quoted} SET age = 'alone' WHERE ctid = '(0,1)'")
        return table

    def ingest_hidden(self, server, query, *given):
        statement = query.statement.replace('"age" AS', "CASE WHEN \"age\" = 'alone' THEN '20..29' ELSE \"age\" END AS")
        is_source = bool(given)
        return ingest(self, server, query if is_source else dataclasses.replace(query, statement=statement), *given)

    monkeypatch.setattr(Postgres, "stage", stage_another)
    monkeypatch.setattr(DuckDBEngine, "ingest", ingest_hidden)
    with pytest.raises(VerificationError):
        shoal.release({**document, "output": {**document["output"], "table": "second"}})
    assert "second" not in tables(clinic)


def test_rows_of_people_on_the_server_are_compared_by_the_server(clinic, monkeypatch):
    """A published row differs from the verified one, unseen by the engine."""
    document = plan()
    document["columns"]["name"] = {"role": "person"}
    stage = Postgres.stage

    def stage_another(self, target, columns, *given, passing=False, **options):
        table = stage(self, target, columns, *given, passing=passing, **options)
        if not passing:
            self.run(f"UPDATE {table.quoted} SET illness = 'other' WHERE ctid = '(0,1)'")
        return table

    monkeypatch.setattr(Postgres, "stage", stage_another)
    monkeypatch.setattr("shoal.pipeline.decide.require_same_rows", lambda *given: None)
    with pytest.raises(VerificationError, check=has_code("verification.other-rows-of-people")):
        shoal.release(document)
