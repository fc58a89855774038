"""Dates of people: moved by a number of days that is one person's own, or counted from the person's first.

``shift``: all dates of a person move by the same number of days, from -days to +days, which an HMAC of the person's
name gives. So the days between two dates of a person stay as they are, and who has the key can move the dates of the
next delivery in the same way; who has not cannot tell by how much. Two columns that move by at most as many days move
together. ``relative_to = "first"``: the days since the person's first date in the column.

What was moved is counted, generalized and verified as it is published. A row that names nobody has no one to move with:
its moved date is missing.

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

from shoal.errors import PlanError, counted
from shoal.io.engines.base import Engine, Relation
from shoal.schema import Calendar, Column, Schema
from shoal.table.people import Numbered

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["days_moved", "move_dates"]


def days_moved(key: bytes, name: Sequence[str], days: int) -> int:
    """By how many days the dates of a person move.

    >>> days_moved(b"k" * 16, ("Rick",), 180) == days_moved(b"k" * 16, ("Rick",), 180)
    True
    >>> {abs(days_moved(b"k" * 16, (str(n),), 2)) for n in range(99)} == {0, 1, 2}
    True
    """
    message = f"shift:{days}:" + "".join(f"{len(part)}:{part}" for part in name)
    number = int.from_bytes(hmac.new(key, message.encode(), hashlib.sha256).digest())
    return number % (2 * days + 1) - days  # of 2^256 numbers; what one offset is likelier than another is nothing


def move_dates(engine: Engine, people: Numbered, schema: Schema, key: bytes) -> Relation:
    """The table with the dates of people moved, in the columns that ask for it.

    Costs one count of each such column by person, and memory for the different dates of people.
    """
    table = people.table
    for name in schema.moved:
        (owner, place), column = table.places((schema.person[0], name)), schema.columns[name]
        counted = engine.frequencies(table, (owner, place))
        person = [int(number) for number in counted.column(f"c{owner}").to_pylist()]
        values = _cells(counted.column(f"c{place}"))
        if column.shift is not None:
            days = column.shift.days
            offsets = [days_moved(key, named, days) for named in people.names]
            moved = _moved(name, column, values, [offsets[n] if n < len(offsets) else None for n in person])
            made = _array(name, column, moved, counted.column(f"c{place}").type)
        else:
            made = _array(name, column, _since_first(name, column, values, person), None)
        table = _replaced(engine, table, counted, owner, place, made)
    return replace(table, labels=people.table.labels)


def _replaced(engine: Engine, table: Relation, counted: pa.Table, owner: int, place: int, made: pa.Array) -> Relation:
    """The table with other values in one column, by those of two."""
    import pyarrow as pa

    number = np.arange(counted.num_rows, dtype=np.int64)
    assignment = counted.select([f"c{owner}", f"c{place}"]).append_column("g", pa.array(number))
    every = pa.array(number)
    labels = pa.table({"g": every, f"c{place}": made, "rank": every, "n": pa.array(np.ones_like(number))})
    moved = engine.recode_by_group(table, range(len(table.columns)), assignment, labels)
    return replace(moved, ranked=())


def _moved(name: str, column: Column, values: Sequence[Any], offsets: Sequence[int | None]) -> list[Any]:
    """Dates as they are written, so many days later; missing where nothing says by how many."""
    read, write = _reader(column)
    found, faults = [], 0
    for value, offset in zip(values, offsets, strict=True):
        try:
            whole = value is not None and offset is not None
            found.append(write(read(value) + timedelta(offset or 0), value) if whole else None)
        except (ValueError, OverflowError):
            faults += 1
    _refuse(name, faults, column)
    return found


def _since_first(name: str, column: Column, values: Sequence[Any], person: Sequence[int]) -> list[Any]:
    """Days since the first date of the same person."""
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
            f"Column {name!r} must hold dates {f'as {form}' if form else 'such as 2024-02-29'}, to be moved; found "
            f"{counted(faults, 'different date')} of people in another form. "
            "Give their format in the hierarchy, { dates = [...], format = ... }, or declare them missing."
        )


def _format(column: Column) -> str | None:
    return column.hierarchy.format if isinstance(column.hierarchy, Calendar) else None


def _reader(column: Column) -> tuple[Callable[[Any], datetime], Callable[[datetime, Any], Any]]:
    """How a cell is read as a date, and how a date is written as a cell like another one."""
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
    """The values of a column; in place of an instant before or after all dates of the calendar, what is no date."""
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
    except (pa.ArrowInvalid, OverflowError):  # moved beyond what the column's type holds
        _refuse(name, 1, column)
        raise
