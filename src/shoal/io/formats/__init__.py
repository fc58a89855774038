"""The table of formats: what is read, what is written, and by which extra.

A format is one entry of :data:`FORMATS` and, unless the engine itself reads it, one module with two functions::

    load(path, options) -> (Arrow table, {column: ColumnLabels})     run in a process of its own, see `apart.py`
    write(table, path, writing) -> Options                           by which it is read back, to be verified

A file's format is told by the plan, else by the end of its name, else by its first bytes. Other packages add formats
under the entry points ``shoal.formats``; shoal's own are asked first.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from shoal.errors import OutputError, PlanError, TableError
from shoal.runtime.registry import Extended

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FORMATS",
    "PLAIN",
    "STANDARD",
    "ColumnLabels",
    "Format",
    "Options",
    "Writing",
    "format_named",
    "format_of",
    "require_packages",
    "writer_of",
]

STANDARD = Path("-")
"""Standard input or output in place of a file."""


@dataclass(frozen=True)
class ColumnLabels:
    """What a source says of a column: a sentence on it, the meaning of its codes (code as text, meaning), no nulls."""

    label: str | None = None
    values: tuple[tuple[str, str], ...] = ()
    never_missing: bool = False


@dataclass(frozen=True)
class Options:
    """What a reader is told beside the path.

    Attributes
    ----------
    sheet
        Of a workbook: name, or number from 1; the first by default.
    table, query
        Of a database: one of its tables, or a question to it.
    user_missing
        Codes that a survey declares as missing: missing, or kept as values.
    values
        Columns with labelled values: their codes, or the labels in place of them.
    decoded
        Columns whose labels are read in any case: those that were written as labelled codes.
    schema
        The types to read, where they are known: a release is read back as what it was written from.
    """

    sheet: str | int | None = None
    table: str | None = None
    query: str | None = None
    user_missing: Literal["missing", "keep"] = "missing"
    values: Literal["codes", "labels"] = "codes"
    decoded: tuple[str, ...] = ()
    schema: pa.Schema | None = None


@dataclass(frozen=True)
class Writing:
    """What a writer is told beside the table and the path.

    Attributes
    ----------
    labels
        What the source says of its columns.
    coded
        Columns that were no text in the source: where they are text now, they become labelled codes.
    table
        The name of the table in a database, or of the sheet.
    """

    labels: Mapping[str, ColumnLabels] = field(default_factory=dict)
    coded: frozenset[str] = frozenset()
    table: str | None = None


PLAIN = Writing()
"""Nothing is told."""


@dataclass(frozen=True)
class Format:
    """One line of the table.

    Attributes
    ----------
    suffixes
        How names of such files end.
    module
        Where it is read and written; None where the engine does both itself.
    packages, extra
        What must be installed for it, and the extra of shoal that brings it.
    signature
        How such a file begins, as (place, bytes).
    takes
        The keys of ``[source]`` that only some formats know.
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


_LABELLED = frozenset({"user_missing", "values"})
_ASKED = frozenset({"table", "query"})

_OWN: dict[str, Format] = {
    made.name: made
    for made in (
        Format("csv", "CSV", (".csv", ".tsv", ".txt")),
        Format("parquet", "Parquet", (".parquet",), signature=((0, b"PAR1"),)),
        Format(
            "excel", "Excel", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "shoal.io.formats.excel",
            ("fastexcel", "xlsxwriter"), "files",
            signature=((0, b"PK\x03\x04"), (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")), takes=frozenset({"sheet"}),
        ),
        Format("spss", "SPSS", (".sav", ".zsav"), "shoal.io.formats.spss_stata_sas", ("pyreadstat", "pandas"), "files",
               signature=((0, b"$FL2"), (0, b"$FL3")), takes=_LABELLED),
        Format("stata", "Stata", (".dta",), "shoal.io.formats.spss_stata_sas", ("pyreadstat", "pandas"), "files",
               signature=((0, b"<stata_dta>"),), takes=_LABELLED),
        Format("sas-transport", "SAS transport", (".xpt",), "shoal.io.formats.spss_stata_sas", ("pyreadstat", "pandas"), "files",
               signature=((0, b"HEADER RECORD*******LI"),), takes=_LABELLED),
        Format("sas", "SAS", (".sas7bdat",), "shoal.io.formats.spss_stata_sas", ("pyreadstat", "pandas"), "files", writes=False,
               signature=((12, b"\xc2\xea\x81\x60\xb3\x14\x11\xcf"),), takes=_LABELLED),
        Format("sqlite", "SQLite", (".sqlite", ".sqlite3", ".db"), "shoal.io.formats.sqlite",
               signature=((0, b"SQLite format 3\0"),), takes=_ASKED),
        Format("duckdb", "DuckDB", (".duckdb", ".ddb"), "shoal.io.formats.duckdb_file",
               signature=((8, b"DUCK"),), takes=_ASKED),
    )
}  # fmt: skip

FORMATS: Extended[Format] = Extended(_OWN, "shoal.formats", Format, made=True)
"""All formats by name."""

_PACKED = (".gz", ".zst")
_WRITTEN = {"excel": ".xlsx", "spss": ".sav"}
"""Formats of several suffixes of which one is written."""


def format_named(name: str) -> Format:
    """A format by its name in a plan."""
    if name in FORMATS:
        return FORMATS[name]
    close = difflib.get_close_matches(name, FORMATS, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise PlanError(f"The format must be one of {', '.join(FORMATS)}; found {name[:40]!r}.{hint}")


def format_of(path: Path, given: str | None = None) -> Format:
    """The format of a file: as the plan says, as it is named, as it begins; CSV where nothing tells."""
    if given is not None:
        form = format_named(given)
    else:
        named = _by_suffix(path)
        begun = _by_content(path, _tried() if named is None else FORMATS.own.values())
        if begun is not None and named is not None and named.name == "csv":
            raise TableError(
                f"File {path.name!r} is named like a CSV, but its first bytes are those of {begun.title}. Name it "
                f'{begun.suffixes[0]}, or set format = "{begun.name}".'
            )
        form = named or begun or FORMATS["csv"]
    if not form.reads:
        raise TableError(f"{form.title} is written, not read; convert {path.name!r} to another format.")
    return form


def writer_of(path: Path, given: str | None = None) -> Format:
    """The format in which a release is written, by the end of its name."""
    form = format_named(given) if given is not None else _by_suffix(path)
    if form is None or not form.writes or (given is None and path.suffix.lower() not in _written(form)):
        writable = [suffix for one in FORMATS.own.values() for suffix in _written(one)]
        raise OutputError(f"The output {path.name!r} must end in {', '.join(writable[:-1])} or {writable[-1]}.")
    require_packages(form)
    return form


def _written(form: Format) -> tuple[str, ...]:
    if not form.writes:
        return ()
    if form.name == "csv":
        return (".csv",)
    return (_WRITTEN[form.name],) if form.name in _WRITTEN else form.suffixes


def require_packages(form: Format) -> None:
    """Raise where a format needs what is not installed; say what to install."""
    lacking = [name for name in form.packages if find_spec(name) is None]
    if lacking:
        raise TableError(
            f"{form.title} files need what is not installed: {', '.join(lacking)}. Install it with: "
            f"pip install 'shoal[{form.extra}]'"
        )


def _by_suffix(path: Path) -> Format | None:
    name = path.name.lower()
    for packed in _PACKED:
        if name.endswith(packed):  # whatever is inside is looked at once it is unpacked; only CSV comes packed
            return FORMATS["csv"]
    return next((form for form in _tried() if name.endswith(form.suffixes)), None)


def _tried() -> Iterator[Format]:
    """Shoal's own formats; then those of others, which are loaded where none of these fits."""
    yield from FORMATS.own.values()
    for name in FORMATS.installed:
        with suppress(PlanError):  # one that is broken stops nobody who does not ask for it
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
        if any(head[place : place + len(sign)] == sign for place, sign in form.signature):
            return form
    return None
