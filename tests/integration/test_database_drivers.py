"""Databases read through third-party drivers, with SQLite as example."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from types import ModuleType

import pyarrow as pa
import pytest

import shoal
from shoal.errors import PlanError, TableError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats import adbc
from tests.builders.errors import has_code

pytest.importorskip("adbc_driver_sqlite")


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    with sqlite3.connect(tmp_path / "geheim.db") as base:
        base.execute('CREATE TABLE "vis""its" (name TEXT, age INTEGER, weight REAL)')
        base.executemany('INSERT INTO "vis""its" VALUES (?, ?, ?)', [(f"p{n}", 20 + n % 30, n / 2) for n in range(60)])
    base.close()
    monkeypatch.setenv("CLINIC", str(tmp_path / "geheim.db"))
    return tmp_path


def rows_of(**given):
    with DuckDBEngine() as engine:
        table = engine.read(Source(**{"database": "env:CLINIC", "driver": "sqlite", **given}))
        return engine.to_arrow(table).to_pylist()


def test_table_and_query_are_read_by_a_driver(clinic):
    assert rows_of(table='"vis""its"')[0] == {"name": "p0", "age": 20, "weight": 0.0}
    assert rows_of(query='SELECT max(age) AS "o""ld" FROM "vis""its"') == [{'o"ld': 49}]


def test_release_from_a_driver(clinic):
    plan = {
        "source": {"database": "env:CLINIC", "driver": "sqlite", "table": '"vis""its"'},
        "columns": {"name": "identifier", "age": "quasi-identifier", "weight": "drop"},
        "models": "k-anonymity k=2",
        "output": {"path": str(clinic / "released.csv"), "report": False},
    }  # fmt: skip
    done = shoal.release(plan)
    assert done.figures["released"] == 60
    assert done.figures["plan"]["source"] == plan["source"]
    assert "geheim" not in done.certificate.to_json()


def test_driver_writes_nothing(clinic):
    before = (clinic / "geheim.db").read_bytes()
    with contextlib.suppress(TableError):  # refused, or answered and rolled back
        rows_of(query='DELETE FROM "vis""its" RETURNING name')
    assert (clinic / "geheim.db").read_bytes() == before


FAULTS = {
    "no such table": {"table": "nothing"},
    "no query": {"query": "SELEKT secret"},
    "a row that fails": {"query": "SELECT abs(-9223372036854775808) AS n"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_messages_of_a_driver_are_not_repeated(clinic, fault):
    given = FAULTS[fault]
    with pytest.raises(TableError, check=has_code("databases.driver-cannot-read", driver="sqlite")) as caught:
        rows_of(**given)
    assert "geheim" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_missing_driver_is_named(clinic):
    with pytest.raises(PlanError, match="pip install adbc-driver-nowhere"):
        rows_of(driver="nowhere", table="t")
    with pytest.raises(PlanError, match="pip install arrow-odbc"):
        rows_of(driver="odbc", table="t")
    for name in ("../lib.so", "/tmp/evil.so", "a b", "manager"):
        with pytest.raises(PlanError, check=has_code("databases.driver-name-malformed")):
            rows_of(driver=name, table="t")


def test_driver_needs_a_database():
    with pytest.raises(PlanError, check=has_code("source.driver-without-database")):
        Source(driver="sqlite")


def test_odbc_gets_the_address_of_the_environment(clinic, monkeypatch):
    """Pass the address of the environment variable to ODBC.

    The package itself needs a driver manager of the system; here its one function is replaced.
    """
    received = {}

    def read(**given):
        received.update(given)
        return pa.table({"a": [1, 2]}).to_reader()

    package = ModuleType("arrow_odbc")
    package.read_arrow_batches_from_odbc = read
    monkeypatch.setitem(sys.modules, "arrow_odbc", package)
    monkeypatch.setattr(adbc, "find_spec", lambda name: True)
    assert rows_of(driver="odbc", table="s.t") == [{"a": 1}, {"a": 2}]
    assert (received["query"], received["connection_string"]) == ('SELECT * FROM "s"."t"', str(clinic / "geheim.db"))
