"""Dates of people: shifted by days per person, or made relative.

``shift``: all dates of a person move by the same number of days, from -days to +days, which an HMAC of the person's
name gives. So the days between two dates of a person do not change. The owner of the key can shift the dates of the
next delivery in the same way; nobody else can find the number of days. Two columns with the same maximum shift move by
the same number of days. ``relative_to = "first"``: the days since the person's first date in the column.

Shifted dates are counted, generalized and verified as they are published. A row without a person cannot be shifted: its
date becomes missing.

El Emam, "Guide to the de-identification of personal health information", 2013, chapter 10; HMAC: RFC 2104.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import PlanError
from shoal.io.engines.base import Engine, Relation
from shoal.schema import Calendar, Column, Schema
from shoal.table.people import NumberedPeople

if TYPE_CHECKING:
    import pyarrow as pa


def days_moved(key: bytes, name: Sequence[str], days: int) -> int:
    """Return the number of days by which the dates of a person move.

    >>> days_moved(b"k" * 16, ("Rick",), 180) == days_moved(b"k" * 16, ("Rick",), 180)
    True
    >>> {abs(days_moved(b"k" * 16, (str(n),), 2)) for n in range(99)} == {0, 1, 2}
    True
    """
    message = f"shift:{days}:" + "".join(f"{len(part)}:{part}" for part in name)
    number = int.from_bytes(hmac.new(key, message.encode(), hashlib.sha256).digest())
    return number % (2 * days + 1) - days  # of 2^256 numbers; the bias between offsets is negligible


def move_dates(engine: Engine, people: NumberedPeople, schema: Schema, key: bytes) -> Relation:
    """Shift the dates of people in the columns that declare it.

    Costs one count of each such column by person, and memory for the distinct dates of people.
    """
    table = people.table
    for name in schema.moved:
        (owner, position), column = table.positions((schema.person[0], name)), schema.columns[name]
        counted = engine.frequencies(table, (owner, position))
        person = [int(number) for number in counted.column(f"c{owner}").to_pylist()]
        values = _cells(counted.column(f"c{position}"))
        if column.shift is not None:
            days = column.shift.days
            offsets = [days_moved(key, name_parts, days) for name_parts in people.names]
            moved = _moved(name, column, values, [offsets[n] if n < len(offsets) else None for n in person])
            replacement = _array(name, column, moved, counted.column(f"c{position}").type)
        else:
            replacement = _array(name, column, _since_first(name, column, values, person), None)
        table = _replaced(engine, table, counted, owner, position, replacement)
    return replace(table, labels=people.table.labels)


def _replaced(
    engine: Engine, table: Relation, counted: pa.Table, owner: int, position: int, replacement: pa.Array
) -> Relation:
    """Replace the values of one column, given those of two."""
    import pyarrow as pa

    number = np.arange(counted.num_rows, dtype=np.int64)
    assignment = counted.select([f"c{owner}", f"c{position}"]).append_column("g", pa.array(number))
    numbers = pa.array(number)
    labels = pa.table({"g": numbers, f"c{position}": replacement, "rank": numbers, "n": pa.array(np.ones_like(number))})
    moved = engine.recode_by_group(table, range(len(table.columns)), assignment, labels)
    return replace(moved, ranked=())


def _moved(name: str, column: Column, values: Sequence[Any], offsets: Sequence[int | None]) -> list[Any]:
    """Shift dates, in their written form; missing without an offset."""
    read, write = _reader(column)
    shifted, faults = [], 0
    for value, offset in zip(values, offsets, strict=True):
        try:
            whole = value is not None and offset is not None
            shifted.append(write(read(value) + timedelta(offset or 0), value) if whole else None)
        except (ValueError, OverflowError):
            faults += 1
    _refuse(name, faults, column)
    return shifted


def _since_first(name: str, column: Column, values: Sequence[Any], person: Sequence[int]) -> list[Any]:
    """Return the days since the first date of the same person."""
    read, _ = _reader(column)
    dates: list[datetime | None] = []
    faults = 0
    for value in values:
        try:
            dates.append(None if value is None else read(value))
        except (ValueError, OverflowError):
            faults += 1
    _refuse(name, faults, column)
    first: dict[int, datetime] = {}
    for one, found in zip(person, dates, strict=True):
        if found is not None:
            first[one] = min(found, first.get(one, found))
    return [None if d is None else (d.date() - first[one].date()).days for one, d in zip(person, dates, strict=True)]


def _refuse(name: str, faults: int, column: Column) -> None:
    if faults:
        form = _format(column)
        raise PlanError(
            "columns.shift-needs-dates",
            column=name,
            form=f"as {form}" if form else "such as 2024-02-29",
            found=faults,
        )


def _format(column: Column) -> str | None:
    return column.hierarchy.format if isinstance(column.hierarchy, Calendar) else None


def _reader(column: Column) -> tuple[Callable[[Any], datetime], Callable[[datetime, Any], Any]]:
    """Return functions that read a cell as a date, and write one like another."""
    form = _format(column)

    def read(value: Any) -> datetime:
        if isinstance(value, date) and not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)
        if isinstance(value, str):
            value = datetime.strptime(value.strip(), form) if form else datetime.fromisoformat(value.strip())
        if not isinstance(value, datetime):
            raise ValueError("no date")
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value

    def write(moved: datetime, like: Any) -> Any:
        if isinstance(like, str):
            if form:
                return moved.strftime(form)
            zone = "+00:00" if datetime.fromisoformat(like.strip()).tzinfo else ""
            return moved.isoformat() + zone if len(like.strip()) > 10 else moved.date().isoformat()
        return moved if isinstance(like, datetime) else moved.date()

    return read, write


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column.

    An instant outside the calendar's range is replaced by a value that is not a date.
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_cell(cell) for cell in column]


def _cell(cell: pa.Scalar) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError):
        return NotImplemented


def _array(name: str, column: Column, values: list[Any], kind: pa.DataType | None) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, pa.int64() if kind is None else kind)
    except (pa.ArrowInvalid, OverflowError):  # shifted beyond the range of the column's type
        _refuse(name, 1, column)
        raise
