"""Other databases, through a driver that the user has installed.

They are read in a transaction that is never committed. ``driver = "snowflake"`` is the package adbc_driver_snowflake,
or a driver of that name that ADBC's driver manager knows. ``driver = "odbc"`` is arrow-odbc with a connection string of
ODBC. Addresses come from the environment, and the error messages of a driver are not passed on, as in
:mod:`shoal.io.formats.postgres`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from shoal.errors import InputError, PlanError, TableError
from shoal.io.formats.postgres import TableName, record_read_errors
from shoal.io.formats.urls import address_in

BATCH_ROWS = 1 << 16


@contextmanager
def query_database(database: str, driver: str, table: str | None, query: str | None) -> Iterator[pa.RecordBatchReader]:
    """Stream a table of a database, or the result of a query."""
    if (table is None) == (query is None):
        raise PlanError("databases.table-or-query-missing")
    statement = query if query is not None else f"SELECT * FROM {TableName.of(table or '').quoted}"
    address = address_in(database)
    broken: list[Exception] = []
    with ExitStack() as stack:
        try:
            found = _odbc(address, statement) if driver == "odbc" else _adbc(address, driver, statement, stack)
            yield record_read_errors(found, broken)
        except InputError:
            raise
        except Exception as error:
            if not broken and not isinstance(error, _errors()):
                raise
            raise TableError("databases.driver-cannot-read", driver=driver) from None


def _adbc(address: str, driver: str, statement: str | None, stack: ExitStack) -> pa.RecordBatchReader:
    # no path of a library: the driver manager would load it
    if not re.fullmatch(r"[a-z][a-z0-9_]*", driver) or driver == "manager":
        raise PlanError("databases.driver-name-malformed")
    if find_spec("adbc_driver_manager") is None:
        raise PlanError("databases.adbc-missing")
    if find_spec(f"adbc_driver_{driver}") is not None:
        connection = importlib.import_module(f"adbc_driver_{driver}.dbapi").connect(address)
    else:
        from adbc_driver_manager import dbapi

        try:
            connection = dbapi.connect(driver=driver, db_kwargs={"uri": address}, autocommit=False)
        except dbapi.Error as error:
            if "NOT_FOUND" not in str(error):
                raise
            raise PlanError("databases.unknown-driver", driver=driver, package=driver) from None
    stack.enter_context(connection)  # closing it undoes what is not committed
    cursor = stack.enter_context(connection.cursor())
    cursor.execute(statement)
    found: pa.RecordBatchReader = cursor.fetch_record_batch()
    return found


def _odbc(address: str, statement: str | None) -> pa.RecordBatchReader:
    if find_spec("arrow_odbc") is None:
        raise PlanError("databases.odbc-missing")
    found: Any = importlib.import_module("arrow_odbc").read_arrow_batches_from_odbc(
        query=statement, connection_string=address, batch_size=BATCH_ROWS
    )
    return pa.RecordBatchReader.from_batches(found.schema, iter(found))


def _errors() -> tuple[type[Exception], ...]:
    """Return the exception classes that drivers raise."""
    plain = (pa.ArrowException, OSError, RuntimeError, ValueError)
    if find_spec("adbc_driver_manager") is None:
        return plain
    return (*plain, importlib.import_module("adbc_driver_manager").Error)
