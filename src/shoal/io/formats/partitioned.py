"""Tables in several files: folders, wildcards, and partition columns.

Partition columns are in the names of folders (``year=2024/``).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from shoal.errors import TableError
from shoal.io.formats.common_types import common_type, plain_type

SUFFIXES = {"parquet": (".parquet",), "csv": (".csv", ".csv.gz", ".csv.zst")}
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Parts:
    """The files of a table, in order.

    Attributes
    ----------
    keys
        The partition columns, from the names of folders.
    values
        For each file, its values of them; None is missing.
    """

    form: str
    files: tuple[Path, ...]
    keys: tuple[str, ...] = ()
    values: tuple[tuple[str | None, ...], ...] = ()


def find_parts(path: Path, given: str | None = None) -> Parts | None:
    """Return the files of a folder or a pattern such as ``2024-*.csv``.

    Returns None if the path is one file.
    """
    if os.path.isdir(path):
        base, files = path, [file for file in visible_files(path) if _form(file) is not None]
        called = repr(str(path))
    elif not os.path.lexists(path) and glob.has_magic(str(path)):
        base = _fixed(path)
        files = [Path(found) for found in sorted(glob.glob(str(path), recursive=True)) if os.path.isfile(found)]
        called = repr(str(path))
    else:
        return None
    forms = {given} if given in SUFFIXES else {_form(file) for file in files}
    if given is not None and given not in SUFFIXES:
        raise TableError("files.many-files-of-other-format", path=called, found=given)
    if given is not None and os.path.isdir(path):
        files = [file for file in files if _form(file) == given]
    if not files:
        raise TableError("files.no-table-in-directory", path=called)
    if len(forms) > 1 or None in forms:
        raise TableError("files.formats-differ", path=called)
    (form,) = forms
    assert form is not None
    return _with_folders(form, base, files, called)


def matching_files(path: Path) -> tuple[Path, ...]:
    """Return the files that a path stands for: itself, or those of a pattern."""
    if os.path.lexists(path) or not glob.has_magic(str(path)):
        return (path,)
    return tuple(Path(found) for found in sorted(glob.glob(str(path), recursive=True)))


def visible_files(path: Path) -> list[Path]:
    """Return the files below a folder, sorted.

    Names that begin with a dot or an underscore are not data.
    """
    return sorted(
        file
        for file in path.rglob("*")
        if file.is_file()
        and not any(
            part.startswith(".") or (part.startswith("_") and "=" not in part) for part in file.relative_to(path).parts
        )
    )


def check_no_duplicates(names: Sequence[str], keys: Sequence[str]) -> None:
    """Raise if a column is both in files and in the names of their folders."""
    double = sorted(set(names) & set(keys))
    if double:
        raise TableError("files.column-in-folder-and-file", column=double[0])


def _form(file: Path) -> str | None:
    name = file.name.lower()
    return next((form for form, ends in SUFFIXES.items() if name.endswith(ends)), None)


def _fixed(path: Path) -> Path:
    """Return the part of a pattern before its first wildcard."""
    fixed: list[str] = []
    for part in path.parts:
        if glob.has_magic(part):
            break
        fixed.append(part)
    return Path(*fixed)


def _with_folders(form: str, base: Path, files: Sequence[Path], called: str) -> Parts:
    folders = [file.relative_to(base).parts[:-1] for file in files]
    found = [[part.partition("=") for part in parts] for parts in folders]
    keys = {tuple(key if sign else "" for key, sign, _ in parts) for parts in found}
    if not any(name for parts in keys for name in parts):
        return Parts(form, tuple(files))
    if len(keys) > 1 or "" in next(iter(keys)):
        raise TableError("files.partitions-differ", path=called)
    values = tuple(tuple(None if value == NO_VALUE else unquote(value) for _, _, value in parts) for parts in found)
    return Parts(form, tuple(files), tuple(map(unquote, next(iter(keys)))), values)


def common_schema(files: Sequence[Path], *, widen: bool = True) -> pa.Schema:
    """Return the schema of Parquet files; their columns must be equal.

    The types of a column are equal, or widened without loss; other columns are refused. Without ``widen``, types must
    be equal.
    """
    return _merge_schemas(files, [_parquet_schema(file) for file in files], widen)


def read_runs(files: Sequence[Path]) -> tuple[pa.Schema, list[tuple[list[Path], pa.Schema]]]:
    """Return the common schema of Parquet files, and runs of equal files.

    The files of a run follow one another, and have equal columns and types in the same order.
    """
    schemas = [_parquet_schema(file) for file in files]
    runs: list[tuple[list[Path], pa.Schema]] = []
    for file, schema in zip(files, schemas, strict=True):
        if runs and _columns(runs[-1][1]) == _columns(schema):
            runs[-1][0].append(file)
        else:
            runs.append(([file], schema))
    return _merge_schemas(files, schemas, widen=True), runs


def _columns(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(part.name, plain_type(part.type)) for part in schema]


def _merge_schemas(files: Sequence[Path], schemas: Sequence[pa.Schema], widen: bool) -> pa.Schema:
    first = schemas[0]
    differs = [
        file.name for file, other in zip(files, schemas, strict=True) if sorted(other.names) != sorted(first.names)
    ]
    if differs:
        raise TableError("files.columns-differ", differing=len(differs), files=len(files), example=differs[0])
    if len(schemas) == 1 or len({*first.names}) < len(first.names):  # the engine refuses equal names
        return first
    merged = []
    for part in first:
        kinds = {plain_type(schema.field(part.name).type) for schema in schemas}
        common = next(iter(kinds)) if len(kinds) == 1 else common_type(kinds) if widen else None
        if common is None:
            listed = " and ".join(sorted(map(str, kinds)))
            hint = "Write the files with one type" + ("." if widen else ", or use the engine duckdb.")
            raise TableError(
                "files.types-differ",
                column=part.name,
                types=listed,
                widening=" or be widened without loss" if widen else "",
                hint=hint,
            )
        merged.append(part if len(kinds) == 1 else part.with_type(common))
    return pa.schema(merged)


def _parquet_schema(file: Path) -> pa.Schema:
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(file)
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # the last: column names that are not UTF-8
        raise TableError("files.not-parquet", file=file.name) from None
