"""Profile of a table: kinds of columns, uniqueness, suggested roles.

Every column gets a kind (numbers, dates, codes, words, free text), a role and, if it is a quasi-identifier, a
hierarchy, each with its reason. Identifiers are detected by name and by content
(:mod:`shoal.schema.detect_identifiers`). The suggestion is a draft for people who know the data. It is cautious: a
column about which nothing is known is a quasi-identifier. No value of a row is retained: a profile has counts, kinds
and round numbers only.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.advice.column_tiers import (
    CORE_TOPICS,
    Evidence,
    Judgement,
    Tier,
    are_category_codes,
    judge_column,
)
from shoal.advice.neighbour_columns import judge_by_neighbours, shape_of
from shoal.advice.suggest_role import (
    MIN_LINKING_SHARE,
    MIN_LINKING_VALUES,
    ColumnProfile,
    drop_twins,
    dropped,
    with_diversity,
    without_repeated_diversity,
)
from shoal.advice.value_kinds import date_format, kind_of, numbers_of, oddities, separators_of
from shoal.errors import ShoalError, TableError
from shoal.formatting import percent
from shoal.io.engines import open_engine
from shoal.io.engines.base import UTC, Engine, Relation, Source
from shoal.io.formats import ColumnLabels, format_of
from shoal.io.formats.csv_dialect import CsvFormat, detect, detect_legacy_encoding
from shoal.io.formats.partitioned import find_parts
from shoal.plan.coerce import EngineLike, as_engine
from shoal.render import Displayable, Grid, Summary
from shoal.runtime.deprecation import renamed_parameter
from shoal.schema import Role
from shoal.schema.column_vocabulary import words_of
from shoal.schema.detect_identifiers import is_about_data_subjects, is_key_name, is_staff_key
from shoal.schema.value_words import yes_and_no

ALWAYS_MISSING = ("?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan")
MARKERS = (*ALWAYS_MISSING, "-", ".", "None", "none", "missing", "unknown")
"""Texts that often represent a missing value: the former in any column, the others among numbers or dates."""
MAX_PAIR_COLUMNS = 8
MAX_CODES_IN_LABEL = 8
MAX_LABEL_LENGTH = 300
KEY_KINDS = ("number", "code", "word")
MIN_PEOPLE = 20
SAMPLE_ROWS = 2000
MAX_ROWS_PER_PERSON = 200
MAX_KEY_SHARE = 0.9
"""Maximum number of values of a key that repeats, as a share of the rows."""
NEARLY_UNIQUE_SHARE = 0.5
MIN_CONSTANT_COLUMNS = 3
MIN_CONSTANT_FACTS = 2
PERSONAL_TOPICS = {"sex", "age"}
"""Facts in which the people of a household or a place differ."""
MIN_HARMLESS_SHARE = 0.75
"""Share of the known rows from which on a value tells nothing of one of them."""
MIN_ZERO_SHARE = 0.5
WISHED_WORDS = (
    "vaccin", "vacun", "vacin", "impf", "geimpf", "szczep", "ockov", "immun", "pass", "paid", "approv", "aprob",
    "aprov", "bestand", "consent", "insur", "versich", "assur", "fit", "apto", "graduat", "employ", "complet",
    "geslaagd", "admis", "regl", "solvent", "citizen",
)  # fmt: skip
"""Beginnings of words of which a no is what harms: not vaccinated, not passed, not paid."""
"""Minimum number of columns that are constant within persons, to detect a person key by content."""


@dataclass(frozen=True)
class PairProfile:
    """Pair of columns, and the number of rows that are unique in it."""

    columns: tuple[str, str]
    unique: int


@dataclass(frozen=True)
class Alternative:
    """Another draft of the same table, and what it loses on a sample.

    ``loss`` is the detail lost (ncp) of the columns of full weight, ``disclosed`` the part of the rows for which a
    sensitive value is nearly sure; ``taken`` tells whether it is part of the draft.
    """

    change: str
    loss: float
    disclosed: float
    taken: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the alternative for JSON."""
        return {"change": self.change, "loss": self.loss, "disclosed": self.disclosed, "taken": self.taken}


@dataclass(frozen=True, repr=False)
class Profile(Displayable):
    """Profile of a table.

    Attributes
    ----------
    missing
        Texts that seem to represent missing values.
    unique
        Rows that are unique in all quasi-identifiers jointly.
    pairs
        Pairs of quasi-identifiers, those with most unique rows first.
    source
        Format of a CSV, as far as it was given or is not detected again automatically.
    time_zone
        Time zone in which instants were read.
    alternatives
        Drafts that were tried in turn, where the detail of some columns had to give way.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> found = shoal.profile(pa.table({"email": ["a@x.org", "b@x.org"], "age": [31, 31]}))
    >>> found.rows, [str(column.role) for column in found.columns]
    (2, ['identifier', 'quasi-identifier'])
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    missing: tuple[str, ...]
    unique: int
    pairs: tuple[PairProfile, ...]
    source: CsvFormat = field(default_factory=CsvFormat)
    time_zone: str = UTC
    alternatives: tuple[Alternative, ...] = ()

    def named(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns with a role."""
        return tuple(column.name for column in self.columns if column.role is role)

    def leaving_out(self, names: Sequence[str], reason: str) -> Profile:
        """Return the profile with some columns dropped, for a reason."""
        columns = tuple(
            replace(c, role=Role.DROP, reason=f"{c.reason}, and {reason}", notes=()) if c.name in names else c
            for c in self.columns
        )
        return replace(self, columns=columns)

    def with_roles(self, roles: Mapping[str, Role]) -> Profile:
        """Return the profile with the roles of some columns as given."""
        given = [
            replace(
                c,
                role=roles[c.name],
                reason="its role was given",
                hierarchy=None if roles[c.name] is Role.SENSITIVE else c.hierarchy,  # a given column is not coarsened
                diversity="",
                why_not="",
                marks=None,
                harmless=(),
            )
            if c.name in roles
            else c
            for c in self.columns
        ]
        people = any(column.role is Role.PERSON for column in given)
        return replace(self, columns=tuple(with_diversity(column, self.rows, people=people) for column in given))

    def summary(self) -> Summary:
        """Summarize kind, role and reason of every column."""
        rows = [
            (c.name, c.kind, c.distinct, percent(c.unique / self.rows), str(c.role), c.reason) for c in self.columns
        ]
        pairs = [
            f"{' with '.join(pair.columns)}: {percent(pair.unique / self.rows)} of the rows are alone in it."
            for pair in self.pairs[:3]
            if pair.unique
        ]
        figures = (("rows", self.rows), ("alone in all quasi-identifiers", self.unique))
        columns = ("column", "kind", "values", "alone", "role", "because")
        return Summary("What the table is", figures, pairs, [Grid("Columns", columns, rows)])

    def to_dict(self) -> dict[str, Any]:
        """Return the profile for JSON."""
        return {
            "rows": self.rows,
            "unique": self.unique,
            "missing": list(self.missing),
            "alternatives": [one.to_dict() for one in self.alternatives],
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
                    "tier": str(column.tier),
                    "topic": column.topic,
                }
                for column in self.columns
            ],
            "pairs": [{"columns": list(pair.columns), "unique": pair.unique} for pair in self.pairs],
        }


@renamed_parameter("source", "csv")
def profile(
    data: Any, *, csv: CsvFormat | None = None, engine: EngineLike | None = None, time_zone: str = UTC
) -> Profile:
    """Profile a table: kinds, suggested roles with reasons, and uniqueness.

    Parameters
    ----------
    data
        A path (CSV or Parquet), a pandas, Polars, PyArrow or DuckDB object, or a source, which states its own format.
    csv
        Format of a CSV, instead of detecting it.
    engine
        Engine that reads and counts; by default Spark for Spark frames, and DuckDB otherwise.
    time_zone
        Time zone in which instants are read.

    Notes
    -----
    Costs two scans of the table, three aggregations per column, one per pair of the eight quasi-identifiers with most
    distinct values, and memory for the distinct values of all columns. The engine holds the rows, and spills to disk.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"email": ["a@x.org", "b@x.org"], "age": [31, 31]})
    >>> [(column.name, str(column.role)) for column in profile(table).columns]
    [('email', 'identifier'), ('age', 'quasi-identifier')]
    """
    with open_engine(as_engine(engine), data, time_zone=time_zone) as opened:
        table, form, markers = _read(opened, data, csv or CsvFormat())
        return replace(_profile_table(opened, table, form, markers), time_zone=time_zone)


def _read(engine: Engine, data: Any, form: CsvFormat) -> tuple[Relation, CsvFormat, tuple[str, ...]]:
    """Materialize a table in the engine and detect its format.

    Returns the table, its format, and the texts that seem to represent missing values.
    """
    if isinstance(data, Source):
        first_source, form = data, data.csv
    else:
        is_path = isinstance(data, str | Path)
        first_source = Source(Path(data), csv=form) if is_path else Source(frame=data, csv=form)
    path = first_source.path if first_source.path is None else engine.plain_file(first_source.path)
    if path is not None and form.encoding is None and _is_csv(path) and (encoding := detect_legacy_encoding(path)):
        form = replace(form, encoding=encoding)  # the encoding of spreadsheets in western Europe
    if path is not None and _has_duplicate_names(path, form):
        form = replace(form, rename=True)
    first_source = replace(first_source, csv=form)
    table = engine.cache(engine.read(first_source))
    if path is not None and not form.trim and _has_padded_cells(engine, table):
        form = replace(form, trim=True)
        first_source = replace(first_source, csv=form)
        table = engine.cache(engine.read(first_source))
    # engines without row numbers are distributed, and do not read such numbers
    if path is not None and engine.rows_are_numbered and not form.foreign_numbers and _is_csv(path):
        found = (_count_values(engine, table, position).values for position in range(len(table.columns)))
        decimal, thousands = separators_of([value for value in values if value not in MARKERS] for values in found)
        if decimal is not None or thousands is not None:
            form = replace(form, decimal=decimal, thousands=thousands)  # type: ignore[arg-type]
            first_source = replace(first_source, csv=form)
            table = engine.cache(engine.read(first_source))
    markers = tuple(marker for marker in _find_missing_markers(engine, table) if marker not in form.missing)
    if markers:
        table = engine.cache(engine.read(replace(first_source, csv=replace(form, missing=(*form.missing, *markers)))))
    return table, form, markers


def _profile_table(engine: Engine, table: Relation, form: CsvFormat, markers: tuple[str, ...]) -> Profile:
    counted = [_count_values(engine, table, position) for position in range(len(table.columns))]
    rows = sum(counted[0].count) + counted[0].missing
    if rows == 0:
        raise TableError("table.no-rows")
    evidence = [_evidence(values, rows, table.labels.get(values.name)) for values in counted]
    judged = [judge_column(one) for one in evidence]
    columns = [_profile_column(one, judgement) for one, judgement in zip(evidence, judged, strict=True)]
    same = _equivalent_columns(engine, table, columns)
    columns = _find_person_by_content(engine, table, _choose_person_key(columns), rows)
    judged = [  # a key is nobody's fact, whatever stands beside it
        Judgement(Tier.PERSON, column.role, column.reason) if column.role is Role.PERSON else judgement
        for column, judgement in zip(columns, judged, strict=True)
    ]
    judged = judge_by_neighbours([one.name for one in evidence], judged, [shape_of(one) for one in evidence], same)
    columns = _choose_person_key(
        [_profile_column(one, judgement) for one, judgement in zip(evidence, judged, strict=True)]
    )
    columns = _drop_linking_columns(engine, table, columns)
    columns = _ensure_quasi_identifier(drop_twins(columns, same))
    people = any(column.role is Role.PERSON for column in columns)
    columns = without_repeated_diversity([with_diversity(column, rows, people=people) for column in columns], same)
    columns = [replace(column, label=_format_label(table.labels.get(column.name))) for column in columns]
    quasi = [column.name for column in columns if column.role is Role.QUASI_IDENTIFIER]
    unique = _count_unique_rows(engine, table, quasi)
    by_cardinality = sorted((c for c in columns if c.name in quasi and c.distinct > 1), key=lambda c: -c.distinct)
    chosen = [column.name for column in by_cardinality[:MAX_PAIR_COLUMNS]]
    pairs = [PairProfile(pair, _count_unique_rows(engine, table, pair)) for pair in itertools.combinations(chosen, 2)]
    pairs.sort(key=lambda pair: -pair.unique)
    return Profile(rows, tuple(columns), markers, unique, tuple(pairs), form)


def suggest_hierarchies(
    data: Any, names: Sequence[str], source: CsvFormat | None = None
) -> dict[str, Mapping[str, Any]]:
    """Suggest a hierarchy for each of some columns, as in a plan.

    Costs one aggregation per column.

    >>> import pyarrow as pa
    >>> suggest_hierarchies(pa.table({"zip": ["14248", "14207", "94107"], "sex": ["f", "m", "f"]}), ["zip", "sex"])
    {'zip': {'prefix': True}, 'sex': {'flat': True}}
    """
    with open_engine(None, data) as engine:
        table = engine.read(Source(frame=data, csv=source or CsvFormat()))
        counted = [_count_values(engine, table, position) for position in table.positions(names)]
    return {one.name: kind_of(one.values, one.name)[1] if one.values else {"flat": True} for one in counted}


# -- counting ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ValueCounts:
    """Distinct values of a column as text, with their frequencies."""

    name: str
    values: list[str]
    count: list[int]
    missing: int


def _count_values(engine: Engine, table: Relation, position: int) -> _ValueCounts:
    import pyarrow as pa
    import pyarrow.compute as pc

    counted = engine.frequencies(table, [position])
    texts = pc.cast(counted.column(0), pa.string()).to_pylist()
    pairs = list(zip(texts, counted.column("n").to_pylist(), strict=True))
    return _ValueCounts(
        table.columns[position],
        [text for text, _ in pairs if text is not None],
        [int(n) for text, n in pairs if text is not None],
        sum(int(n) for text, n in pairs if text is None),
    )


def _count_unique_rows(engine: Engine, table: Relation, names: Sequence[str]) -> int:
    """Count the rows that are unique in some columns."""
    if not names:
        return 0
    import pyarrow.compute as pc

    counted = engine.frequencies(table, table.positions(names)).column("n")
    return int(pc.sum(pc.equal(counted, 1)).as_py() or 0)


def _has_duplicate_names(path: Path, form: CsvFormat) -> bool:
    """Return whether columns of a CSV share a name.

    Other faults of the file are reported when it is read.
    """
    try:
        names = [] if path.is_dir() or path.suffix.lower() == ".parquet" else detect(path, form).names
    except ShoalError:
        return False
    return len(set(names)) < len(names)


def _format_label(found: ColumnLabels | None) -> str:
    """Format the label of a column on one printable line."""
    if found is None:
        return ""
    codes = [f"{code} = {meaning}" for code, meaning in found.values[:MAX_CODES_IN_LABEL]]
    codes += ["..."] if len(found.values) > MAX_CODES_IN_LABEL else []
    line = " ".join("; ".join([*([found.label] if found.label else []), *codes]).split())[:MAX_LABEL_LENGTH]
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line)


def _is_csv(path: Path) -> bool:
    try:
        parts = find_parts(path)
        return (format_of(path).name if parts is None else parts.form) == "csv"
    except ShoalError:
        return False


def _has_padded_cells(engine: Engine, table: Relation) -> bool:
    """Return whether most values of a text column have blanks around them.

    For example "39, State-gov, 77516".
    """
    for position, kind in enumerate(table.types):
        values = _count_values(engine, table, position).values if kind == "VARCHAR" else []
        if values and 2 * sum(value != value.strip(" \t") for value in values) > len(values):
            return True
    return False


def _find_missing_markers(engine: Engine, table: Relation) -> list[str]:
    """Find texts that seem to represent missing values."""
    found = set()
    for position in range(len(table.columns)):
        values = _count_values(engine, table, position).values
        present = [value for value in values if value in MARKERS]
        if not present or len(present) == len(values):
            continue
        rest = [value for value in values if value not in MARKERS]
        codes = all(len(value) == 2 and value.isupper() for value in rest)  # NA is Namibia among country codes
        measured = numbers_of(rest) is not None or date_format(rest) is not None
        found |= {value for value in present if (value in ALWAYS_MISSING and not codes) or measured}
    return [marker for marker in MARKERS if marker in found]


# -- kinds, roles, hierarchies -----------------------------------------------------------------------


def _evidence(counted: _ValueCounts, rows: int, found: ColumnLabels | None) -> Evidence:
    """Collect what is known of a column by itself."""
    kind = kind_of(counted.values, counted.name)[0] if counted.values else "empty"
    label = (found.label or "") if found else ""
    codes = set(counted.values)
    meanings = [meaning for code, meaning in found.values if code in codes] if found else []
    return Evidence(counted.name, kind, counted.values, counted.count, rows, counted.missing, label, meanings)


def _profile_column(column: Evidence, judged: Judgement) -> ColumnProfile:
    values, name = column.values, column.name
    kind, hierarchy, how = kind_of(list(values), name) if values else ("empty", {}, "")
    if kind == "number" and "intervals" in hierarchy and are_category_codes(name, judged.topic, values):
        hierarchy, how = {"flat": True}, "numbers that are codes are shown or hidden: there is nothing between them"
    recoded = judged.role is Role.QUASI_IDENTIFIER
    coarse = judged.is_guess and judged.role is Role.SENSITIVE and _is_exact(column) and "intervals" in hierarchy
    if coarse:
        how = "not understood, and most rows have a value of their own: intervals are published"
    return ColumnProfile(
        name,
        kind,
        column.missing,
        len(values),
        sum(n == 1 for n in column.count),
        judged.role,
        judged.reason,
        hierarchy if recoded or coarse else None,
        how if recoded or coarse else "",
        commonest=max(column.count, default=0),
        notes=() if coarse else _notes(column, kind, judged.role),
        tier=judged.tier,
        topic=judged.topic,
        marks=_marks(column) if judged.role is Role.SENSITIVE else None,
        harmless=_harmless_values(column, judged) if judged.role is Role.SENSITIVE else (),
    )


def _notes(column: Evidence, kind: str, role: Role) -> tuple[str, ...]:
    """Describe what to review in a column that is published."""
    if role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.OTHER):
        return ()
    found = oddities(column.values, column.count, kind)
    if _is_exact(column) and role is not Role.QUASI_IDENTIFIER:
        found += ("most rows have a value of their own: whoever has it from another file finds the row",)
    return found


def _is_exact(column: Evidence) -> bool:
    """Return whether most rows have a value of their own."""
    exact = len(column.values) > NEARLY_UNIQUE_SHARE * (column.rows - column.missing)
    return exact and column.rows >= MIN_PEOPLE


def _marks(column: Evidence) -> tuple[str, str] | None:
    """Return the values for yes and no, if enough of the known rows say no."""
    found = yes_and_no(column.values)
    if found is None or 3 * column.count[list(column.values).index(found[1])] < sum(column.count):
        return None
    return found


def _harmless_values(column: Evidence, judged: Judgement) -> tuple[str, ...]:
    """Return the harmless values of a sensitive column.

    A no, unless yes is what one wishes for; a zero that most rows have; or what three quarters of the rows have.
    """
    if not column.values:
        return ()
    wished = any(word.startswith(WISHED_WORDS) for word in words_of(column.name)) or judged.topic in ("grades", "grade")
    if (marks := yes_and_no(column.values)) is not None and not wished:
        return (marks[1],)
    value, count = max(zip(column.values, column.count, strict=True), key=lambda one: (one[1], one[0]))
    is_zero = numbers_of([value]) == [0] and not wished
    return (value,) if count >= (MIN_ZERO_SHARE if is_zero else MIN_HARMLESS_SHARE) * sum(column.count) else ()


_COMPARED_FIELDS = ("distinct", "missing", "unique", "commonest")


def _equivalent_columns(engine: Engine, table: Relation, columns: Sequence[ColumnProfile]) -> dict[str, str]:
    """Map each column to an earlier equivalent one.

    Two columns are equivalent if their values correspond one to one.
    """
    found: dict[str, str] = {}
    for position, later in enumerate(columns):
        for earlier in columns[:position]:
            are_similar = all(getattr(later, key) == getattr(earlier, key) for key in _COMPARED_FIELDS)
            if later.distinct < 2 or not are_similar or earlier.name in found:
                continue
            combinations = engine.frequencies(table, table.positions([earlier.name, later.name])).num_rows
            if combinations == later.distinct + bool(later.missing):
                found[later.name] = earlier.name
                break
    return found


def _choose_person_key(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Choose the repeated key with most values as the person column.

    A patient has one doctor of few, for example. A key of staff is not the person if other columns are about other
    people. Otherwise it is: counting too few people costs detail and no safety.
    """
    if any(is_about_data_subjects(column.name) for column in columns):
        reason = "by its name it is a key of staff, and the table is about other people"
        columns = [
            replace(c, role=Role.IDENTIFIER, reason=reason) if c.role is Role.PERSON and is_staff_key(c.name) else c
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


def _find_person_by_content(
    engine: Engine, table: Relation, columns: list[ColumnProfile], rows: int
) -> list[ColumnProfile]:
    """Detect a person column by its content, regardless of its name.

    Most other columns are constant within each of its values; two that tell about age, sex, origin or place are enough
    if one is sex or age, or if its name is that of a key, as in a log of events. It repeats, but not in too many
    rows, and is not a date, place or measure. Of several, the one with fewest values is chosen: a key of visits has one
    patient each, too. Costs a count with every other column, for each candidate that a sample leaves.
    """
    if any(column.role is Role.PERSON for column in columns):
        return columns
    others = [column for column in columns if column.distinct > 1]
    sample = _sample_codes(engine, table)
    found = []
    for column in others:
        filled = rows - column.missing
        repeats = column.distinct <= MAX_KEY_SHARE * filled and filled <= MAX_ROWS_PER_PERSON * column.distinct
        if (
            column.distinct < MIN_PEOPLE
            or not repeats
            or column.kind not in KEY_KINDS
            or column.tier in (Tier.VISIBLE, Tier.SENSITIVE, Tier.PRIVATE)
            or (column.tier is Tier.NAMES and column.kind == "word")  # different people share a name
        ):
            continue
        own = column.distinct + bool(column.missing)
        candidates = [other for other in others if other is not column and other.distinct <= column.distinct]
        candidates = [other for other in candidates if _constant_within(sample[column.name], sample[other.name])]
        if not _makes_person_key(column, candidates, others):
            continue
        constant = [
            other
            for other in candidates
            if engine.frequencies(table, table.positions([column.name, other.name])).num_rows == own
        ]
        if _makes_person_key(column, constant, others):
            found.append((column.distinct, column, len(constant)))
    if not found:
        return columns
    _, person, columns_within = min(found, key=lambda one: one[0])
    reason = (
        f"its values repeat, and {columns_within} columns are the same in all rows of each: it says whose rows they are"
    )
    person_column = replace(person, role=Role.PERSON, reason=reason, hierarchy=None, how="", notes=())
    return [person_column if column is person else column for column in columns]


def _makes_person_key(key: ColumnProfile, constant: Sequence[ColumnProfile], others: Sequence[ColumnProfile]) -> bool:
    """Return whether constant columns make a key that of a person."""
    facts = [one.topic for one in constant if one.topic in CORE_TOPICS]
    if len(facts) >= MIN_CONSTANT_FACTS and (is_key_name(key.name) or PERSONAL_TOPICS & set(facts)):
        return True
    return len(constant) >= MIN_CONSTANT_COLUMNS and 2 * len(constant) >= len(others) - 1


def _sample_codes(engine: Engine, table: Relation) -> dict[str, npt.NDArray[np.int64]]:
    """Encode the columns of a sample; missing values share one code."""
    import pyarrow.compute as pc

    sample = engine.sample(table, SAMPLE_ROWS)
    coded = (pc.dictionary_encode(column.combine_chunks(), null_encoding="encode") for column in sample.columns)
    return {name: np.asarray(one.indices) for name, one in zip(sample.column_names, coded, strict=True)}


def _constant_within(key: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> bool:
    """Return whether rows with equal keys have equal values."""
    order = np.argsort(key, kind="stable")
    same = np.diff(key[order]) == 0
    return not np.any(same & (np.diff(values[order]) != 0))


def _drop_linking_columns(engine: Engine, table: Relation, columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Drop unrecoded columns that would link the rows of a person.

    Such a column has one value in all rows of a person, and nearly everybody has another. Where sex or birth differ
    within a key, its rows are of several people (a household), who share such facts: nothing is dropped.
    """
    person = next((column for column in columns if column.role is Role.PERSON), None)
    if person is None:
        return columns
    sample = _sample_codes(engine, table)
    own = person.distinct + bool(person.missing)
    personal = [c for c in columns if c.topic == "sex" or (c.topic == "age" and c.kind == "date")]
    if any(not _constant_within(sample[person.name], sample[c.name]) for c in personal):
        return columns
    found = []
    for column in columns:
        is_exact = column.role in (Role.SENSITIVE, Role.OTHER) and column.distinct >= max(
            MIN_LINKING_VALUES, MIN_LINKING_SHARE * person.distinct
        )
        if (
            is_exact
            and _constant_within(sample[person.name], sample[column.name])
            and engine.frequencies(table, table.positions([person.name, column.name])).num_rows == own
        ):
            reason = f"{column.reason}; it is the same in all rows of a person and nearly everybody's own, so that it"
            found.append(dropped(column, f"{reason} would tell which rows are one person's"))
        else:
            found.append(column)
    return found


def _ensure_quasi_identifier(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Ensure that there is a quasi-identifier, which a plan requires.

    If there is none, the column with fewest values becomes one.
    """
    if any(column.role is Role.QUASI_IDENTIFIER for column in columns):
        return columns
    chosen = min(
        range(len(columns)),
        key=lambda position: (
            columns[position].role is Role.IDENTIFIER,
            columns[position].kind == "text",
            columns[position].distinct,
        ),
    )
    old = columns[chosen]
    reason = f"a plan needs one, and this column has the fewest values; otherwise {old.role}, since {old.reason}"
    made = replace(old, role=Role.QUASI_IDENTIFIER, reason=reason, hierarchy={"flat": True}, how="shown or hidden")
    return [*columns[:chosen], made, *columns[chosen + 1 :]]
