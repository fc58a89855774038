"""What the page may reach: one folder and what is below it, links that lead out of it not included, and databases that
whoever started it has named.
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

__all__ = ["Database", "check_document", "confine", "confine_table", "database_of", "list_folder", "plain_name"]

Database = tuple[str, str | None]
"""The place of a database's address (``env:NAME``), and the driver that speaks to it."""

UPLOADED = (".csv", ".tsv", ".txt", ".parquet")
READABLE = (*UPLOADED, ".toml", *(suffix for form in FORMATS.own.values() for suffix in form.suffixes))
MOST_LISTED = 500
OUTSIDE = "The page reaches only what is below the folder that it was started in; choose a file there, or use --root."


def confine(root: Path, path: Path) -> Path:
    """A path as it really is, after all links; raises where that is not below ``root``."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):
        raise InputError(OUTSIDE) from None
    if not real.is_relative_to(root):
        raise InputError(OUTSIDE)
    return real


def confine_table(root: Path, path: Path) -> Path:
    """The same for a table, which may be a folder of parts: each of them is below the root too."""
    real = confine(root, path)
    parts = list(real.rglob("*")) if real.is_dir() else []
    if any(sign in str(path) for sign in "*?["):  # a pattern: what it matches is asked, and it goes only down
        if ".." in re.split(r"[*?\[]", str(path), maxsplit=1)[1]:
            raise InputError(OUTSIDE)
        parts += [Path(found) for found in glob.iglob(str(path), recursive=True)]
    if any(not part.resolve().is_relative_to(root) for part in parts):
        raise InputError(OUTSIDE)
    return real


def database_of(document: Mapping[str, Any]) -> Database | None:
    """The database that a plan reads; None where it reads a file.

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
    """Raise where a plan's text leads out of the root, or to another machine; asked before anything is read.

    ``databases`` may be read: to name another in a plan's text would be to use any address of the environment.
    """
    if _has_variable(document):
        raise PlanError("The page fills in no ${NAME} from this machine; run a plan with one by `shoal release`.")
    for place in _paths(document):
        if ":/" in place:
            raise PlanError("The page reads and writes files of this machine; run this plan with `shoal release`.")
        confine_table(root, folder / place)
    source, output, engine = (document.get(name) for name in ("source", "output", "engine"))
    asked = database_of(document)
    if asked is not None and asked not in databases:
        raise PlanError(
            "The source is a database that the page was not started for: start it with this plan (`shoal serve "
            "plan.toml`) or with `--database env:NAME`, or run the plan with `shoal release`."
        )
    if asked is None and isinstance(source, Mapping) and "query" in source:
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
    """Whether the environment of this machine would be looked into, and told to whoever sent the plan."""
    if isinstance(value, Mapping):
        return any(_has_variable(item) for pair in value.items() for item in pair)
    if isinstance(value, list):
        return any(map(_has_variable, value))
    return isinstance(value, str) and "${" in value.replace("$${", "")


def _paths(document: Mapping[str, Any]) -> Iterator[str]:
    """Every text of a plan that is, or may be, the path of a file; ``columns`` names columns, not files."""
    for name, section in document.items():
        if name == "columns" and isinstance(section, Mapping):
            for column in section.values():
                hierarchy = column.get("hierarchy") if isinstance(column, Mapping) else None
                if isinstance(hierarchy, Mapping) and isinstance(hierarchy.get("csv"), str):
                    yield hierarchy["csv"]
        elif name in ("source", "output", "method") and isinstance(section, Mapping):
            spoken = ("table", "query") if name == "source" and "database" in section else ()  # to a database: no files
            yield from _leading_out({key: value for key, value in section.items() if key not in spoken})


def _leading_out(section: Mapping[str, Any]) -> Iterator[str]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _leading_out(value)
        elif isinstance(value, list):
            for item in value:
                yield from _leading_out(item if isinstance(item, Mapping) else {key: item})
        elif isinstance(value, str) and (
            key in ("path", "pseudonym_key", "certificate_file", "ledger", "universe", "file")
            or "/" in value
            or value.startswith("..")
        ):
            yield value


def list_folder(root: Path, place: str) -> dict[str, Any]:
    """The folders and tables of a folder below the root; what is hidden is not shown."""
    folder = confine(root, root / place)
    if not folder.is_dir():
        raise InputError("There is no such folder.")
    folders, files = [], []
    try:
        for item in sorted(os.scandir(folder), key=lambda item: item.name)[:MOST_LISTED]:
            if item.name.startswith(".") or not item.name.isprintable():
                continue
            if item.is_symlink() and not Path(item.path).resolve().is_relative_to(root):
                continue
            if item.is_dir():
                folders.append(item.name)
            elif item.name.lower().endswith(READABLE):
                files.append({"name": item.name, "bytes": item.stat().st_size})
    except OSError as error:
        raise InputError(f"The folder cannot be read: {error.strerror}.") from None
    here = folder.relative_to(root).as_posix()
    return {"path": "" if here == "." else here, "folders": folders, "files": files}


def plain_name(given: str, otherwise: str) -> str:
    """A name for a file or a folder that leads nowhere else.

    >>> plain_name("../../etc/pass wd.csv", "table"), plain_name("..", "table")
    ('pass-wd.csv', 'table')
    """
    last = re.split(r"[/\\]", given)[-1]
    kept = re.sub(r"[^\w.-]+", "-", last).strip(".-")[:60]
    return kept or otherwise
