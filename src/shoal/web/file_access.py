"""Files and databases that the page may access.

The page may access one folder and everything below it, except links that lead out of it, and the databases named when
the server was started.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.errors import InputError, PlanError
from shoal.io.formats import FORMATS

Database = tuple[str, str | None]
"""Source of a database's address (``env:NAME``), and its driver."""

UPLOAD_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
READABLE_SUFFIXES = (*UPLOAD_SUFFIXES, ".toml", *(suffix for form in FORMATS.own.values() for suffix in form.suffixes))
MAX_LISTED_ENTRIES = 500
OUTSIDE_ROOT_MESSAGE = (
    "The page reaches only what is below the folder that it was started in; choose a file there, or use --root."
)


def confine(root: Path, path: Path) -> Path:
    """Resolve all links of a path; raise if it is not below ``root``."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):
        raise InputError(OUTSIDE_ROOT_MESSAGE) from None
    if not real.is_relative_to(root):
        raise InputError(OUTSIDE_ROOT_MESSAGE)
    return real


def confine_table(root: Path, path: Path) -> Path:
    """Resolve the path of a table; raise if it is not below ``root``.

    A table may be a folder or a pattern of part files: each of them must be below the root too.
    """
    real = confine(root, path)
    parts = list(real.rglob("*")) if real.is_dir() else []
    if any(sign in str(path) for sign in "*?["):  # a pattern: check every match; it may only descend
        if ".." in re.split(r"[*?\[]", str(path), maxsplit=1)[1]:
            raise InputError(OUTSIDE_ROOT_MESSAGE)
        parts += [Path(found) for found in glob.iglob(str(path), recursive=True)]
    if any(not part.resolve().is_relative_to(root) for part in parts):
        raise InputError(OUTSIDE_ROOT_MESSAGE)
    return real


def database_of(document: Mapping[str, Any]) -> Database | None:
    """Return the database that a plan reads, or None if it reads a file.

    >>> database_of({"source": {"database": "env:CLINIC", "table": "visits"}})
    ('env:CLINIC', None)
    """
    source = document.get("source")
    if not isinstance(source, Mapping) or "database" not in source:
        return None
    driver = source.get("driver")
    return str(source["database"]), None if driver is None else str(driver)


def check_document(
    root: Path, folder: Path, document: Mapping[str, Any], databases: frozenset[Database] = frozenset()
) -> None:
    """Raise if a plan refers to anything outside the root or this machine.

    The check runs before anything is read. Only ``databases`` may be read: a plan that could name others could use
    every address of the environment.
    """
    if _has_variable(document):
        raise PlanError("The page fills in no ${NAME} from this machine; run a plan with one by `shoal release`.")
    for path in _paths(document):
        if ":/" in path:
            raise PlanError("The page reads and writes files of this machine; run this plan with `shoal release`.")
        confine_table(root, folder / path)
    source, output, engine = (document.get(name) for name in ("source", "output", "engine"))
    database = database_of(document)
    if database is not None and database not in databases:
        raise PlanError(
            "The source is a database that the page was not started for: start it with this plan (`shoal serve "
            "plan.toml`) or with `--database env:NAME`, or run the plan with `shoal release`."
        )
    if database is None and isinstance(source, Mapping) and "query" in source:
        raise PlanError("The page asks no query of a file; name a table in [source], or run it with `shoal release`.")
    if isinstance(output, Mapping) and {"database", "query"} & set(output):
        raise PlanError(
            "The page publishes to files: give a path in [output], or run the plan for a database with `shoal release`."
        )
    if isinstance(engine, Mapping) and (
        {"master", "options"} & set(engine) or engine.get("name", "duckdb") != "duckdb"
    ):
        raise PlanError(
            "The page works on this machine: leave the engine's name out of [engine], or run a plan for Spark with "
            "`shoal release`."
        )


def _has_variable(value: Any) -> bool:
    """Return whether a document contains an environment variable.

    Its value would be disclosed to the sender of the plan.
    """
    if isinstance(value, Mapping):
        return any(_has_variable(item) for pair in value.items() for item in pair)
    if isinstance(value, list):
        return any(map(_has_variable, value))
    return isinstance(value, str) and "${" in value.replace("$${", "")


def _paths(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield every string of a plan that is, or may be, a file path.

    The section ``columns`` names columns, not files, except in hierarchies.
    """
    for name, section in document.items():
        if name == "columns" and isinstance(section, Mapping):
            for column in section.values():
                hierarchy = column.get("hierarchy") if isinstance(column, Mapping) else None
                if isinstance(hierarchy, Mapping) and isinstance(hierarchy.get("csv"), str):
                    yield hierarchy["csv"]
        elif name in ("source", "output", "method") and isinstance(section, Mapping):
            sql_keys = ("table", "query") if name == "source" and "database" in section else ()  # not file paths
            yield from _path_values({key: value for key, value in section.items() if key not in sql_keys})


def _path_values(section: Mapping[str, Any]) -> Iterator[str]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _path_values(value)
        elif isinstance(value, list):
            for item in value:
                yield from _path_values(item if isinstance(item, Mapping) else {key: item})
        elif isinstance(value, str) and (
            key in ("path", "pseudonym_key", "certificate_file", "ledger", "universe", "file")
            or "/" in value
            or value.startswith("..")
        ):
            yield value


def list_folder(root: Path, path: str) -> dict[str, Any]:
    """List the visible folders and tables of a folder below the root."""
    folder = confine(root, root / path)
    if not folder.is_dir():
        raise InputError("There is no such folder.")
    folders, files = [], []
    try:
        for item in sorted(os.scandir(folder), key=lambda item: item.name)[:MAX_LISTED_ENTRIES]:
            if item.name.startswith(".") or not item.name.isprintable():
                continue
            if item.is_symlink() and not Path(item.path).resolve().is_relative_to(root):
                continue
            if item.is_dir():
                folders.append(item.name)
            elif item.name.lower().endswith(READABLE_SUFFIXES):
                files.append({"name": item.name, "bytes": item.stat().st_size})
    except OSError as error:
        raise InputError(f"The folder cannot be read: {error.strerror}.") from None
    here = folder.relative_to(root).as_posix()
    return {"path": "" if here == "." else here, "folders": folders, "files": files}


def sanitize_name(name: str, default: str) -> str:
    """Return a name for a file or folder that refers to no other folder.

    >>> sanitize_name("../../etc/pass wd.csv", "table"), sanitize_name("..", "table")
    ('pass-wd.csv', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    cleaned = re.sub(r"[^\w.-]+", "-", last).strip(".-")[:60]
    return cleaned or default
