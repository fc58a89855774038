"""A first look at a table: what its columns are, how much they single people out, and which plan would suit.

Every column gets a kind (numbers, dates, codes, words, free text), a role and, where it is a quasi-identifier, a
hierarchy, each with its reason. Identifiers are told by name and by content (:mod:`shoal.schema.detect_identifiers`). The suggestion
is a draft for people who know the data: it errs on the side of caution, taking a column that nothing is known of for a
quasi-identifier. No value of a row is kept: a profile has counts, kinds and round numbers only.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.advice.suggest_role import ColumnProfile, narrowed, role_of, told_share
from shoal.advice.value_kinds import date_format, kind_of, numbers_of, oddities, separators_of
from shoal.errors import ShoalError, TableError
from shoal.io.engines import open_engine
from shoal.io.engines.base import UTC, Engine, Relation, Source
from shoal.io.formats import ColumnLabels, format_of
from shoal.io.formats.csv_dialect import CsvFormat, detect, other_than_utf8
from shoal.io.formats.partitioned import find_parts
from shoal.plan.coerce import AskedEngine, as_engine
from shoal.render import Grid, Sheet, Shown
from shoal.schema import Role
from shoal.schema.column_vocabulary import KNOWN, SENSITIVE, meaning_of, words_of
from shoal.schema.detect_identifiers import about_others, staff_key

__all__ = ["ColumnProfile", "PairProfile", "Profile", "profile", "suggest_hierarchies"]

ALWAYS_MISSING = ("?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan")
MARKERS = (*ALWAYS_MISSING, "-", ".", "None", "none", "missing", "unknown")
"""Texts that often stand for a missing value: the first ones in any column, the others among numbers or dates."""
MOST_PAIR_COLUMNS = 8
MOST_CODES = 8
LONGEST_LABEL = 300
KEY_KINDS = ("number", "code", "word")
FEW_PEOPLE = 20
SAMPLE = 2000
MOST_ROWS_OF_ONE = 200
FEWEST_CONSTANT = 3
"""So many columns at least have one value for all rows of each person, where a person is told by content."""


@dataclass(frozen=True)
class PairProfile:
    """Two columns together: how many rows have a combination of their own."""

    columns: tuple[str, str]
    unique: int


@dataclass(frozen=True, repr=False)
class Profile(Shown):
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
    time_zone
        The zone in which instants were read.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    missing: tuple[str, ...]
    unique: int
    pairs: tuple[PairProfile, ...]
    source: CsvFormat = field(default_factory=CsvFormat)
    time_zone: str = UTC

    def named(self, role: Role) -> tuple[str, ...]:
        """The names of the columns of a role."""
        return tuple(column.name for column in self.columns if column.role is role)

    def leaving_out(self, names: Sequence[str], reason: str) -> Profile:
        """The profile with some columns left out, and why."""
        columns = tuple(
            replace(c, role=Role.DROP, reason=f"{c.reason}, and {reason}", notes=()) if c.name in names else c
            for c in self.columns
        )
        return replace(self, columns=columns)

    def sheet(self) -> Sheet:
        """Of every column what it is, and the role that would suit it, with the reason."""
        rows = [
            (c.name, c.kind, c.distinct, told_share(c.unique, self.rows), str(c.role), c.reason) for c in self.columns
        ]
        pairs = [
            f"{' with '.join(pair.columns)}: {told_share(pair.unique, self.rows)} of the rows are alone in it."
            for pair in self.pairs[:3]
            if pair.unique
        ]
        figures = (("rows", self.rows), ("alone in all quasi-identifiers", self.unique))
        columns = ("column", "kind", "values", "alone", "role", "because")
        return Sheet("What the table is", figures, pairs, [Grid("Columns", columns, rows)])

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
                    "notes": list(column.notes),
                    "label": column.label,
                }
                for column in self.columns
            ],
            "pairs": [{"columns": list(pair.columns), "unique": pair.unique} for pair in self.pairs],
        }


def profile(
    data: Any, *, source: CsvFormat | None = None, engine: AskedEngine | None = None, time_zone: str = UTC
) -> Profile:
    """Look at a table: what each column is, which role would suit it and why, and what singles people out.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object; or a source, which says itself how it is
        written.
    source
        How a CSV is written, where that is not to be found out.
    engine
        What reads and counts; by default Spark for Spark's own frames, and DuckDB otherwise.
    time_zone
        The zone in which instants are read.

    Notes
    -----
    Costs two readings of the table, three aggregations per column, one per pair of the eight most telling
    quasi-identifiers, and memory for the distinct values of all columns. The rows are held by the engine, which spills
    to disk.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"email": ["a@x.org", "b@x.org"], "age": [31, 31]})
    >>> [(column.name, str(column.role)) for column in profile(table).columns]
    [('email', 'identifier'), ('age', 'quasi-identifier')]
    """
    with open_engine(as_engine(engine), data, time_zone=time_zone) as opened:
        table, form, markers = _read(opened, data, source or CsvFormat())
        return replace(_look(opened, table, form, markers), time_zone=time_zone)


def _read(engine: Engine, data: Any, form: CsvFormat) -> tuple[Relation, CsvFormat, tuple[str, ...]]:
    """A table held by the engine, how it is written, and the texts that seem to stand for missing values in it."""
    if isinstance(data, Source):
        first, form = data, data.csv
    else:
        is_path = isinstance(data, str | Path)
        first = Source(Path(data), csv=form) if is_path else Source(frame=data, csv=form)
    path = first.path
    if path is not None and form.encoding is None and _is_csv(path) and (coded := other_than_utf8(path)):
        form = replace(form, encoding=coded)  # as spreadsheets in western Europe write
    if path is not None and _twice(path, form):
        form = replace(form, rename=True)
    first = replace(first, csv=form)
    table = engine.keep(engine.read(first))
    if path is not None and not form.trim and _blanks(engine, table):
        form = replace(form, trim=True)
        first = replace(first, csv=form)
        table = engine.keep(engine.read(first))
    # what has no numbered rows is spread, and reads no such numbers
    if path is not None and engine.numbered and not form.foreign_numbers and _is_csv(path):
        found = (_count(engine, table, place).values for place in range(len(table.columns)))
        decimal, thousands = separators_of([value for value in values if value not in MARKERS] for values in found)
        if decimal is not None or thousands is not None:
            form = replace(form, decimal=decimal, thousands=thousands)  # type: ignore[arg-type]
            first = replace(first, csv=form)
            table = engine.keep(engine.read(first))
    markers = tuple(marker for marker in _markers(engine, table) if marker not in form.missing)
    if markers:
        table = engine.keep(engine.read(replace(first, csv=replace(form, missing=(*form.missing, *markers)))))
    return table, form, markers


def _look(engine: Engine, table: Relation, form: CsvFormat, markers: tuple[str, ...]) -> Profile:
    counted = [_count(engine, table, place) for place in range(len(table.columns))]
    rows = sum(counted[0].count) + counted[0].missing
    if rows == 0:
        raise TableError("The table has no rows; at least one is needed.")
    columns = _one_person([_profile(values, rows) for values in counted])
    columns = _person_by_content(engine, table, columns, rows)
    columns = _with_quasi_identifier(narrowed(columns, rows, _same(engine, table, columns)))
    columns = [replace(column, label=_label(table.labels.get(column.name))) for column in columns]
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
    with open_engine(None, data) as engine:
        table = engine.read(Source(frame=data, csv=source or CsvFormat()))
        counted = [_count(engine, table, place) for place in table.places(names)]
    return {one.name: kind_of(one.values, one.name)[1] if one.values else {"flat": True} for one in counted}


# -- counting ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Counted:
    """The distinct values of a column as text, and how often each occurs."""

    name: str
    values: list[str]
    count: list[int]
    missing: int


def _count(engine: Engine, table: Relation, place: int) -> _Counted:
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


def _alone(engine: Engine, table: Relation, names: Sequence[str]) -> int:
    """How many rows have a combination of these columns that no other row has."""
    if not names:
        return 0
    import pyarrow.compute as pc

    counted = engine.frequencies(table, table.places(names)).column("n")
    return int(pc.sum(pc.equal(counted, 1)).as_py() or 0)


def _twice(path: Path, form: CsvFormat) -> bool:
    """Whether columns of a CSV share a name; what else may be wrong with the file is told when it is read."""
    try:
        names = [] if path.is_dir() or path.suffix.lower() == ".parquet" else detect(path, form).names
    except ShoalError:
        return False
    return len(set(names)) < len(names)


def _label(found: ColumnLabels | None) -> str:
    """What a source says of a column, on one line that can be seen."""
    if found is None:
        return ""
    codes = [f"{code} = {meaning}" for code, meaning in found.values[:MOST_CODES]]
    codes += ["..."] if len(found.values) > MOST_CODES else []
    line = " ".join("; ".join([*([found.label] if found.label else []), *codes]).split())[:LONGEST_LABEL]
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)


def _is_csv(path: Path) -> bool:
    try:
        parts = find_parts(path)
        return (format_of(path).name if parts is None else parts.form) == "csv"
    except ShoalError:
        return False


def _blanks(engine: Engine, table: Relation) -> bool:
    """Whether the cells of some text column mostly have blanks around them, as in "39, State-gov, 77516"."""
    for place, kind in enumerate(table.types):
        values = _count(engine, table, place).values if kind == "VARCHAR" else []
        if values and 2 * sum(value != value.strip(" \t") for value in values) > len(values):
            return True
    return False


def _markers(engine: Engine, table: Relation) -> list[str]:
    """The texts that seem to stand for missing values in some column."""
    found = set()
    for place in range(len(table.columns)):
        values = _count(engine, table, place).values
        present = [value for value in values if value in MARKERS]
        if not present or len(present) == len(values):
            continue
        rest = [value for value in values if value not in MARKERS]
        codes = all(len(value) == 2 and value.isupper() for value in rest)  # NA is Namibia among country codes
        measured = numbers_of(rest) is not None or date_format(rest) is not None
        found |= {value for value in present if (value in ALWAYS_MISSING and not codes) or measured}
    return [marker for marker in MARKERS if marker in found]


# -- kinds, roles, hierarchies -----------------------------------------------------------------------


def _profile(counted: _Counted, rows: int) -> ColumnProfile:
    values, name = counted.values, counted.name
    kind, hierarchy, how = kind_of(values, name) if values else ("empty", {}, "")
    role, reason = role_of(name, kind, values, rows, counted.missing)
    recoded = role is Role.QUASI_IDENTIFIER
    return ColumnProfile(
        name,
        kind,
        counted.missing,
        len(values),
        sum(n == 1 for n in counted.count),
        role,
        reason,
        hierarchy if recoded else None,
        how if recoded else "",
        commonest=max(counted.count, default=0),
        notes=oddities(values, counted.count, kind) if recoded or role is Role.SENSITIVE else (),
    )


_TOLD_APART = ("distinct", "missing", "kind", "unique", "commonest")


def _same(engine: Engine, table: Relation, columns: Sequence[ColumnProfile]) -> dict[str, str]:
    """Columns that tell the same as an earlier one: each value of one stands beside one value of the other."""
    found: dict[str, str] = {}
    for place, later in enumerate(columns):
        for earlier in columns[:place]:
            alike = all(getattr(later, key) == getattr(earlier, key) for key in _TOLD_APART)
            if later.distinct < 2 or not alike or earlier.name in found:
                continue
            together = engine.frequencies(table, table.places([earlier.name, later.name])).num_rows
            if together == later.distinct + bool(later.missing):
                found[later.name] = earlier.name
                break
    return found


def _one_person(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Of several keys that repeat the one of most values says whose rows they are; a patient has one doctor of few.

    A key of staff is none where other columns tell of other people. Otherwise it is: to count too few people costs
    detail and no safety.
    """
    if any(about_others(column.name) for column in columns):
        reason = "by its name it is a key of staff, and the table is about other people"
        columns = [
            replace(c, role=Role.IDENTIFIER, reason=reason) if c.role is Role.PERSON and staff_key(c.name) else c
            for c in columns
        ]
    person = max((c for c in columns if c.role is Role.PERSON), key=lambda c: c.distinct, default=None)
    if person is None:
        return columns
    reason = f"it is a key that repeats, beside {person.name!r}, which has more values"
    return [
        replace(c, role=Role.IDENTIFIER, reason=reason) if c.role is Role.PERSON and c is not person else c
        for c in columns
    ]


def _person_by_content(engine: Engine, table: Relation, columns: list[ColumnProfile], rows: int) -> list[ColumnProfile]:
    """A column of which most others have one value for each of its own says whose rows they are, whatever its name.

    It repeats, but not in too many rows, and is no date, place or measure. Of several that of fewest values is taken: a
    key of visits has one patient each, too. Costs a count with every other column of each that a sample leaves over.
    """
    if any(column.role is Role.PERSON for column in columns):
        return columns
    others = [column for column in columns if column.distinct > 1]
    sample = _codes(engine, table)
    found = []
    for column in others:
        filled = rows - column.missing
        repeats = 2 * column.distinct <= filled <= MOST_ROWS_OF_ONE * column.distinct
        if column.distinct < FEW_PEOPLE or not repeats or column.kind not in KEY_KINDS or _says_else(column.name):
            continue
        own = column.distinct + bool(column.missing)
        fewer = [other for other in others if other is not column and other.distinct <= column.distinct]
        fewer = [other for other in fewer if _constant_within(sample[column.name], sample[other.name])]
        if len(fewer) < FEWEST_CONSTANT or 2 * len(fewer) < len(others) - 1:
            continue
        constant = sum(
            engine.frequencies(table, table.places([column.name, other.name])).num_rows == own for other in fewer
        )
        if constant >= FEWEST_CONSTANT and 2 * constant >= len(others) - 1:
            found.append((column.distinct, column, constant))
    if not found:
        return columns
    _, person, constant = min(found, key=lambda one: one[0])
    reason = f"its values repeat, and {constant} columns are the same in all rows of each: it says whose rows they are"
    made = replace(person, role=Role.PERSON, reason=reason, hierarchy=None, how="", notes=())
    return [made if column is person else column for column in columns]


def _codes(engine: Engine, table: Relation) -> dict[str, npt.NDArray[np.int64]]:
    """The columns of a sample of rows, each value as a number; what is missing is one value."""
    import pyarrow.compute as pc

    sample = engine.sample(table, SAMPLE)
    coded = (pc.dictionary_encode(column.combine_chunks(), null_encoding="encode") for column in sample.columns)
    return {name: np.asarray(one.indices) for name, one in zip(sample.column_names, coded, strict=True)}


def _constant_within(key: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> bool:
    """Whether rows of equal keys have equal values."""
    order = np.argsort(key, kind="stable")
    same = np.diff(key[order]) == 0
    return not np.any(same & (np.diff(values[order]) != 0))


def _says_else(name: str) -> bool:
    """Whether a column is by its name a fact of a person, such as where somebody lives."""
    words = words_of(name)
    return meaning_of(words, KNOWN) is not None or meaning_of(words, SENSITIVE) is not None


def _with_quasi_identifier(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """A plan needs a quasi-identifier: where there is none, the column of fewest values becomes one."""
    if any(column.role is Role.QUASI_IDENTIFIER for column in columns):
        return columns
    chosen = min(
        range(len(columns)),
        key=lambda place: (
            columns[place].role is Role.IDENTIFIER,
            columns[place].kind == "text",
            columns[place].distinct,
        ),
    )
    old = columns[chosen]
    reason = f"a plan needs one, and this column has the fewest values; otherwise {old.role}, since {old.reason}"
    made = replace(old, role=Role.QUASI_IDENTIFIER, reason=reason, hierarchy={"flat": True}, how="shown or hidden")
    return [*columns[:chosen], made, *columns[chosen + 1 :]]
