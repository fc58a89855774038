"""Registry of file formats.

It records which formats are read and written, and which extra provides them. A format is one entry of :data:`FORMATS`
and, unless the engine reads it itself, one module with two functions::

    load(path, options) -> (Arrow table, {column: ColumnLabels})     run in a separate process, see `sandbox.py`
    write(table, path, writing) -> Options                           to read it back for verification

The format of a file is given by the plan, else by its extension, else by its first bytes. Other packages add formats
under the entry points ``shoal.formats``; shoal's own are tried first.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from shoal.errors import OutputError, PlanError, TableError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.registry import Registry

if TYPE_CHECKING:
    import pyarrow as pa

STANDARD = Path("-")
"""Standard input or output in place of a file."""


@dataclass(frozen=True)
class ColumnLabels:
    """Labels of a column from its source.

    ``label`` describes the column. ``values`` are the meanings of its codes (code as text, meaning). ``never_missing``
    says that it has no nulls.
    """

    label: str | None = None
    values: tuple[tuple[str, str], ...] = ()
    never_missing: bool = False


@dataclass(frozen=True)
class Options:
    """Options of a reader in addition to the path.

    Attributes
    ----------
    sheet
        For a workbook: name, or number from 1; the first by default.
    table, query
        For a database: one of its tables, or a query.
    user_missing
        Codes that a survey declares as missing: missing, or kept as values.
    values
        Columns with labelled values: their codes, or the labels in place of them.
    decoded
        Columns whose labels are always read: those that were written as labelled codes.
    schema
        The types to read, if known: a release is read back with the types it was written from.
    with_missing_kinds
        Columns in which kinds of missing values (codes of a survey, errors of a workbook) stay distinct values, as a
        reader of the file sees them.
    """

    sheet: str | int | None = None
    table: str | None = None
    query: str | None = None
    user_missing: Literal["missing", "keep"] = "missing"
    values: Literal["codes", "labels"] = "codes"
    decoded: tuple[str, ...] = ()
    schema: pa.Schema | None = None
    with_missing_kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Writing:
    """Options of a writer in addition to the table and the path.

    Attributes
    ----------
    labels
        Labels of the columns from the source.
    coded
        Columns that were not text in the source: if they are text now, they become labelled codes.
    table
        The name of the table in a database, or of the sheet.
    """

    labels: Mapping[str, ColumnLabels] = field(default_factory=dict)
    coded: frozenset[str] = frozenset()
    table: str | None = None


PLAIN = Writing()
"""The default options of a writer."""


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    suffixes
        Extensions of its files.
    module
        The module that reads and writes it; None if the engine does both itself.
    packages, extra
        Packages that it needs, and the extra of shoal that installs them.
    signature
        First bytes of its files, as (offset, bytes).
    takes
        The keys of ``[source]`` that only some formats support.
    has_fixed_bytes
        Whether the same table always gives the same bytes. DuckDB writes a random identifier into its files.
    types_by_content
        Whether the type of a column follows from its values, so that one row can change it.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    module: str | None = None
    packages: tuple[str, ...] = ()
    extra: str | None = None
    reads: bool = True
    writes: bool = True
    signature: tuple[tuple[int, bytes], ...] = ()
    takes: frozenset[str] = field(default_factory=frozenset)
    has_fixed_bytes: bool = True
    types_by_content: bool = True


_LABELLED = frozenset({"user_missing", "values"})
_QUERYABLE = frozenset({"table", "query"})

_OWN: dict[str, Format] = {
    form.name: form
    for form in (
        Format("csv", "CSV", (".csv", ".tsv", ".txt"), types_by_content=False),
        Format("parquet", "Parquet", (".parquet",), signature=((0, b"PAR1"),), types_by_content=False),
        Format(
            "excel", "Excel", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "shoal.io.formats.excel",
            ("fastexcel", "xlsxwriter"), "files",
            signature=((0, b"PK\x03\x04"), (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")), takes=frozenset({"sheet"}),
        ),
        Format("spss", "SPSS", (".sav", ".zsav"), "shoal.io.formats.spss_stata_sas", ("pyreadstat", "pandas"), "files",
               signature=((0, b"$FL2"), (0, b"$FL3")), takes=_LABELLED),
        Format("stata", "Stata", (".dta",), "shoal.io.formats.spss_stata_sas", ("pyreadstat", "pandas"), "files",
               signature=((0, b"<stata_dta>"),), takes=_LABELLED),
        Format("sas-transport", "SAS transport", (".xpt",), "shoal.io.formats.spss_stata_sas", ("pyreadstat", "pandas"),
               "files", signature=((0, b"HEADER RECORD*******LI"),), takes=_LABELLED),
        Format("sas", "SAS", (".sas7bdat",), "shoal.io.formats.spss_stata_sas", ("pyreadstat", "pandas"), "files",
               writes=False, signature=((12, b"\xc2\xea\x81\x60\xb3\x14\x11\xcf"),), takes=_LABELLED),
        Format("sqlite", "SQLite", (".sqlite", ".sqlite3", ".db"), "shoal.io.formats.sqlite",
               signature=((0, b"SQLite format 3\0"),), takes=_QUERYABLE),
        Format("duckdb", "DuckDB", (".duckdb", ".ddb"), "shoal.io.formats.duckdb_file",
               signature=((8, b"DUCK"),), takes=_QUERYABLE, has_fixed_bytes=False,
               types_by_content=False),
    )
}  # fmt: skip

FORMATS: Registry[Format] = Registry(_OWN, "shoal.formats", Format, instances=True)
"""All formats by name."""

_PACKED = (".gz", ".zst")
_WRITTEN = {"excel": ".xlsx", "spss": ".sav"}
"""Formats of several suffixes of which one is written."""


def format_named(name: str) -> Format:
    """Return a format by its name in a plan."""
    if name in FORMATS:
        return FORMATS[name]
    close = difflib.get_close_matches(name, FORMATS, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise PlanError("files.unknown-format", allowed=", ".join(FORMATS), found=name[:40], hint=hint)


def format_of(path: Path, given: str | None = None) -> Format:
    """Return the format of a file.

    The plan determines it, else the extension, else the first bytes; CSV by default.
    """
    if given is not None:
        form = format_named(given)
    else:
        named = _by_suffix(path)
        begun = _by_content(path, _candidate_formats() if named is None else FORMATS.own.values())
        if begun is not None and named is not None and named.name == "csv":
            raise TableError(
                "files.not-csv-inside", file=path.name, format=begun.title, ending=begun.suffixes[0], name=begun.name
            )
        form = named or begun or FORMATS["csv"]
    if not form.reads:
        raise TableError("files.format-only-written", format=form.title, file=path.name)
    return form


def writer_of(path: Path, given: str | None = None) -> Format:
    """Return the format of a release, by the extension of its path."""
    form = format_named(given) if given is not None else _by_suffix(path)
    if form is None or not form.writes or (given is None and path.suffix.lower() not in written_suffixes(form)):
        writable = [suffix for one in FORMATS.own.values() for suffix in written_suffixes(one)]
        raise OutputError(
            "output.unknown-ending", file=path.name, allowed=", ".join(writable[:-1]), last_allowed=writable[-1]
        )
    require_packages(form)
    return form


def written_suffixes(form: Format) -> tuple[str, ...]:
    """Return the extensions of a format that releases are written with."""
    if not form.writes:
        return ()
    if form.name == "csv":
        return (".csv",)
    return (_WRITTEN[form.name],) if form.name in _WRITTEN else form.suffixes


def require_packages(form: Format) -> None:
    """Raise if packages of a format are missing; name what to install."""
    lacking = [name for name in form.packages if find_spec(name) is None]
    if lacking:
        raise TableError("files.package-missing", format=form.title, packages=", ".join(lacking), extra=form.extra)


def _by_suffix(path: Path) -> Format | None:
    name = path.name.lower()
    for packed in _PACKED:
        if name.endswith(packed):  # the content is checked after unpacking; only CSV files are compressed
            return FORMATS["csv"]
    return next((form for form in _candidate_formats() if name.endswith(form.suffixes)), None)


def _candidate_formats() -> Iterator[Format]:
    """Yield shoal's own formats, then those of other packages.

    The latter are loaded only if none of the former fits.
    """
    yield from FORMATS.own.values()
    for name in FORMATS.installed:
        with suppress(PlanError):  # a broken one must not affect users of other formats
            yield FORMATS[name]


def _by_content(path: Path, forms: Iterable[Format]) -> Format | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(64)
    except OSError:
        return None
    for form in forms:
        if any(head[offset : offset + len(sign)] == sign for offset, sign in form.signature):
            return form
    return None
