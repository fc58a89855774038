"""A first look at a table: what its columns are, how much they single people out, and which plan would suit.

Every column gets a kind (numbers, dates, codes, words, free text), a role and, where it is a quasi-identifier, a
hierarchy, each with its reason. Identifiers are told by name and by content (:mod:`shoal.identifiers`). The suggestion
is a draft for people who know the data: it errs on the side of caution, taking a column that nothing is known of for a
quasi-identifier. No value of a record is kept: a profile has counts, kinds and round numbers only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.checked import LARGEST_EXPONENT
from shoal.engines.base import Relation, Source
from shoal.engines.csv_format import CsvFormat
from shoal.errors import TableError
from shoal.identifiers import identifier_reason, sensitive_reason, words_of
from shoal.schema import Role

if TYPE_CHECKING:
    from shoal.engines.duckdb import DuckDBEngine

__all__ = ["ColumnProfile", "PairProfile", "Profile", "profile_table", "suggest_hierarchies"]

ALWAYS_MISSING = ("?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan")
MARKERS = (*ALWAYS_MISSING, "-", ".", "None", "none", "missing", "unknown")
"""Texts that often stand for a missing value: the first ones in any column, the others among numbers or dates."""
FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y", "%Y%m%d")
MOST_PAIR_COLUMNS = 8
LONGEST_PREFIX = 10
FREE_TEXT = 40


@dataclass(frozen=True)
class ColumnProfile:
    """What a column is.

    Attributes
    ----------
    kind
        empty, number, date, code, word or text.
    missing, distinct, unique
        Rows without a value; different values; rows whose value no other row has.
    role, reason
        The suggestion, and why.
    hierarchy, how
        As in a plan, such as ``{"intervals": [5, 10]}``, and why that one; None where the column is not generalized.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    unique: int
    role: Role
    reason: str
    hierarchy: Mapping[str, Any] | None = None
    how: str = ""


@dataclass(frozen=True)
class PairProfile:
    """Two columns together: how many rows have a combination of their own."""

    columns: tuple[str, str]
    unique: int


@dataclass(frozen=True)
class Profile:
    """What a table is.

    Attributes
    ----------
    missing
        Texts that seem to stand for missing values.
    unique
        Rows that are alone in all quasi-identifiers together.
    pairs
        Pairs of quasi-identifiers, those that single out most first.
    source
        How a CSV is written, as far as it was told or is not found out again by itself.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    missing: tuple[str, ...]
    unique: int
    pairs: tuple[PairProfile, ...]
    source: CsvFormat = field(default_factory=CsvFormat)

    def named(self, role: Role) -> tuple[str, ...]:
        """The names of the columns of a role."""
        return tuple(column.name for column in self.columns if column.role is role)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rows": self.rows,
            "unique": self.unique,
            "missing": list(self.missing),
            "columns": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "missing": column.missing,
                    "distinct": column.distinct,
                    "unique": column.unique,
                    "role": str(column.role),
                    "reason": column.reason,
                    "hierarchy": None if column.hierarchy is None else dict(column.hierarchy),
                }
                for column in self.columns
            ],
            "pairs": [{"columns": list(pair.columns), "unique": pair.unique} for pair in self.pairs],
        }


def profile_table(data: Any, *, source: CsvFormat | None = None) -> Profile:
    """Look at a table.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    source
        How a CSV is written, where that is not to be found out.

    Notes
    -----
    Costs two readings of the table, three aggregations per column, one per pair of the eight most telling
    quasi-identifiers, and memory for the distinct values of all columns. The rows are held by the engine, which spills
    to disk.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"email": ["a@x.org", "b@x.org"], "age": [31, 31]})
    >>> [(column.name, str(column.role)) for column in profile_table(table).columns]
    [('email', 'identifier'), ('age', 'quasi-identifier')]
    """
    from shoal.engines.duckdb import DuckDBEngine

    form = source or CsvFormat()
    is_path = isinstance(data, str | Path)
    with DuckDBEngine() as engine:
        first = Source(Path(data), csv=form) if is_path else Source(frame=data, csv=form)
        table = engine.keep(engine.read(first))
        if is_path and not form.trim and _blanks(engine, table):
            form = replace(form, trim=True)
            first = replace(first, csv=form)
            table = engine.keep(engine.read(first))
        markers = tuple(marker for marker in _markers(engine, table) if marker not in form.missing)
        if markers:
            table = engine.keep(engine.read(replace(first, csv=replace(form, missing=(*form.missing, *markers)))))
        counted = [_count(engine, table, place) for place in range(len(table.columns))]
        rows = sum(counted[0].count) + counted[0].missing
        if rows == 0:
            raise TableError("The table has no rows; at least one is needed.")
        columns = _with_quasi_identifier([_profile(values, rows) for values in counted])
        quasi = [column.name for column in columns if column.role is Role.QUASI_IDENTIFIER]
        unique = _alone(engine, table, quasi)
        telling = sorted((c for c in columns if c.name in quasi and c.distinct > 1), key=lambda c: -c.distinct)
        chosen = [column.name for column in telling[:MOST_PAIR_COLUMNS]]
        pairs = [PairProfile(pair, _alone(engine, table, pair)) for pair in itertools.combinations(chosen, 2)]
    pairs.sort(key=lambda pair: -pair.unique)
    return Profile(rows, tuple(columns), markers, unique, tuple(pairs), form)


def suggest_hierarchies(
    data: Any, names: Sequence[str], source: CsvFormat | None = None
) -> dict[str, Mapping[str, Any]]:
    """A hierarchy for each of some columns, as in a plan; costs one aggregation per column.

    >>> import pyarrow as pa
    >>> suggest_hierarchies(pa.table({"zip": ["14248", "14207", "94107"], "sex": ["f", "m", "f"]}), ["zip", "sex"])
    {'zip': {'prefix': True}, 'sex': {'flat': True}}
    """
    from shoal.engines.duckdb import DuckDBEngine

    with DuckDBEngine() as engine:
        table = engine.read(Source(frame=data, csv=source or CsvFormat()))
        counted = [_count(engine, table, place) for place in table.places(names)]
    return {one.name: _kind(one.values, one.name)[1] if one.values else {"flat": True} for one in counted}


# -- counting ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Counted:
    """The distinct values of a column as text, and how often each occurs."""

    name: str
    values: list[str]
    count: list[int]
    missing: int


def _count(engine: DuckDBEngine, table: Relation, place: int) -> _Counted:
    import pyarrow as pa
    import pyarrow.compute as pc

    counted = engine.frequencies(table, [place])
    texts = pc.cast(counted.column(0), pa.string()).to_pylist()
    pairs = list(zip(texts, counted.column("n").to_pylist(), strict=True))
    return _Counted(
        table.columns[place],
        [text for text, _ in pairs if text is not None],
        [int(n) for text, n in pairs if text is not None],
        sum(int(n) for text, n in pairs if text is None),
    )


def _alone(engine: DuckDBEngine, table: Relation, names: Sequence[str]) -> int:
    """How many rows have a combination of these columns that no other row has."""
    if not names:
        return 0
    import pyarrow.compute as pc

    counted = engine.frequencies(table, table.places(names)).column("n")
    return int(pc.sum(pc.equal(counted, 1)).as_py() or 0)


def _blanks(engine: DuckDBEngine, table: Relation) -> bool:
    """Whether the cells of some text column mostly have blanks around them, as in "39, State-gov, 77516"."""
    for place, kind in enumerate(table.types):
        values = _count(engine, table, place).values if kind == "VARCHAR" else []
        if values and 2 * sum(value != value.strip(" \t") for value in values) > len(values):
            return True
    return False


def _markers(engine: DuckDBEngine, table: Relation) -> list[str]:
    """The texts that seem to stand for missing values in some column."""
    found = set()
    for place in range(len(table.columns)):
        values = _count(engine, table, place).values
        present = [value for value in values if value in MARKERS]
        if not present or len(present) == len(values):
            continue
        rest = [value for value in values if value not in MARKERS]
        codes = all(len(value) == 2 and value.isupper() for value in rest)  # NA is Namibia among country codes
        measured = _numbers(rest) is not None or _date_format(rest) is not None
        found |= {value for value in present if (value in ALWAYS_MISSING and not codes) or measured}
    return [marker for marker in MARKERS if marker in found]


# -- kinds, roles, hierarchies -----------------------------------------------------------------------


def _profile(counted: _Counted, rows: int) -> ColumnProfile:
    values, name = counted.values, counted.name
    distinct, unique = len(values), sum(n == 1 for n in counted.count)

    if not values:
        reason = "it has no value at all, so nothing is lost by dropping it"
        return ColumnProfile(name, "empty", counted.missing, distinct, unique, Role.IDENTIFIER, reason)
    kind, hierarchy, how = _kind(values, name)

    def made(role: Role, reason: str) -> ColumnProfile:
        shown = (hierarchy, how) if role is Role.QUASI_IDENTIFIER else (None, "")
        return ColumnProfile(name, kind, counted.missing, distinct, unique, role, reason, *shown)

    found = identifier_reason(name, values, distinct / rows, rows)
    if found:
        return made(Role.IDENTIFIER, found)
    if kind == "text":
        return made(Role.IDENTIFIER, "it is free text, which may say anything about anybody and has no hierarchy")
    found = sensitive_reason(name)
    if found and distinct > 1:
        return made(Role.SENSITIVE, found)
    return made(Role.QUASI_IDENTIFIER, "somebody may know it of a person")


def _with_quasi_identifier(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """A plan needs a quasi-identifier: where there is none, the column of fewest values becomes one."""
    if any(column.role is Role.QUASI_IDENTIFIER for column in columns):
        return columns
    chosen = min(
        range(len(columns)), key=lambda place: (columns[place].role is Role.IDENTIFIER, columns[place].distinct)
    )
    old = columns[chosen]
    reason = f"a plan needs one, and this column has the fewest values; otherwise {old.role}, since {old.reason}"
    made = replace(old, role=Role.QUASI_IDENTIFIER, reason=reason, hierarchy={"flat": True}, how="shown or hidden")
    return [*columns[:chosen], made, *columns[chosen + 1 :]]


def _kind(values: list[str], name: str) -> tuple[str, Mapping[str, Any], str]:
    """The kind of a column, a hierarchy for it, and why that one."""
    form = _date_format(values)
    if form is not None:
        hierarchy: dict[str, Any] = {"dates": ["month", "quarter", "year", "decade"]}
        if form:
            hierarchy["format"] = form
        return "date", hierarchy, "dates become months, quarters, years, decades"
    longest = max(map(len, values))
    same_length = min(map(len, values)) == longest
    codes = same_length and 3 <= longest <= LONGEST_PREFIX and len(values) > 2
    said = {"zip", "zipcode", "postcode", "postal", "plz", "cap", "postleitzahl"} & set(words_of(name))
    numbers = _numbers(values)
    zeros = any(len(value) > 1 and value[0] == "0" and value.isdigit() for value in values)
    if numbers is not None and not (codes and (zeros or said)):
        if len(values) <= 2:
            return "number", {"flat": True}, "it has so few values that there is nothing between them and none"
        widths = _widths(numbers)
        if widths is None:
            return "number", {"flat": True}, "its values lie too close together for intervals"
        return "number", {"intervals": widths}, "numbers become intervals"
    if codes and (said or all(any(sign.isdigit() for sign in value) for value in values)):
        return "code", {"prefix": True}, "codes of one length lose their last characters first"
    if _numbers([value.replace(",", ".", 1) for value in values]) is not None:
        how = "numbers with a decimal comma are shown or hidden; written with a point, they would become intervals"
        return "word", {"flat": True}, how
    if longest > FREE_TEXT and sum(map(len, values)) / len(values) > FREE_TEXT and len(values) > 20:
        return "text", {"flat": True}, ""
    return "word", {"flat": True}, "a word is shown or hidden; a tree or a CSV hierarchy would keep more"


def _numbers(values: Sequence[str]) -> list[float] | None:
    """The values as numbers that a hierarchy takes, or None."""
    found = []
    for value in values:
        try:
            number = Decimal(value.strip())
            if not number.is_finite() or (number and abs(number.adjusted()) > LARGEST_EXPONENT):
                return None
        except (InvalidOperation, ValueError):
            return None
        found.append(float(number))
    return found or None


def _date_format(values: Sequence[str]) -> str | None:
    """The format of a column of dates, empty for ISO 8601; None where it is not one."""
    if not values or any(len(value) < 6 or len(value) > 32 for value in values):
        return None
    for form in ("", *FORMATS):
        if form == "" and values[0].strip().isdigit():
            continue  # 20240229 is a date only if all are, in years that people live in
        try:
            dates = [datetime.strptime(v.strip(), form) if form else datetime.fromisoformat(v.strip()) for v in values]
        except ValueError:
            continue
        if form != "%Y%m%d" or all(1880 <= date.year <= 2100 for date in dates):
            return form
    return None


def _widths(numbers: Sequence[float]) -> list[int | float] | None:
    """Four round widths, each twice the one before: from about 20 intervals over the bulk of the values to 3."""
    ordered = sorted(numbers)
    low, high = ordered[len(ordered) // 50], ordered[-1 - len(ordered) // 50]  # a few outliers set no scale
    span = (high - low) / 20
    if not 1e-12 < span < 1e15:
        return None
    power = 10.0 ** math.floor(math.log10(span))
    width = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= span)
    if all(number == int(number) for number in numbers):
        width = max(width, 2)
        return [int(width * factor) for factor in (1, 2, 4, 8)]
    digits = max(0, 1 - math.floor(math.log10(width)))
    return [round(width * factor, digits) for factor in (1, 2, 4, 8)]
