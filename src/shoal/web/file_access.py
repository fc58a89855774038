"""Files and databases that the page may access.

The page may access one folder and everything below it, except links that lead out of it, keys, and the databases named
when the server was started. The server checks a plan when it is given, and the worker process checks the same text
again before it opens a file: in between, links and folders may have changed.
"""

from __future__ import annotations

import glob
import os
import re
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import InputError, PlanError
from shoal.io.formats import FORMATS

Database = tuple[str, str | None]
"""Source of a database's address (``env:NAME``), and its driver."""

COMPRESSED_SUFFIXES = (".gz", ".zst")
_TABLE_SUFFIXES = tuple(suffix for form in FORMATS.own.values() if form.reads for suffix in form.suffixes)
UPLOAD_SUFFIXES = (
    *_TABLE_SUFFIXES,
    *(f"{suffix}{packed}" for suffix in FORMATS["csv"].suffixes for packed in COMPRESSED_SUFFIXES),
)
"""Ends of the names of tables: those that the command line reads."""
READABLE_SUFFIXES = (*UPLOAD_SUFFIXES, ".toml")
MAX_KEY_BYTES = 1_024
"""Larger files are not taken for keys."""
MAX_LISTED_ENTRIES = 500
MAX_WORKBOOK_EXPANSION = 100
"""Largest ratio of an uploaded workbook's content to its file; tables expand 5 to 30 times."""
ALWAYS_ALLOWED_WORKBOOK_BYTES = 50_000_000


_SIGNATURES = [
    *(sign for form in FORMATS.own.values() for sign in form.signature),
    *((0, sign) for sign in (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")),
]
"""First bytes of binary tables, and of compressed ones."""


def keys_folder() -> Path:
    """Return the user's folder of keys, which no page reads."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "shoal" / "keys"


def confine(root: Path, path: Path) -> Path:
    """Resolve all links of a path; raise if it is not below ``root``.

    The folders of keys and of ledgers are not, wherever they are.
    """
    try:
        real = path.resolve()
        private = keys_folder().parent.resolve()
    except (OSError, RuntimeError, ValueError):
        raise InputError("page.outside-of-root") from None
    if not real.is_relative_to(root) or any(real.is_relative_to(private / name) for name in ("keys", "ledgers")):
        raise InputError("page.outside-of-root")
    return real


def confine_table(root: Path, path: Path) -> Path:
    """Resolve the path of a table; raise if it is not below ``root``.

    A table may be a folder or a pattern of part files: each of them must be below the root too.
    """
    real = confine(root, path)
    parts = list(real.rglob("*")) if real.is_dir() else []
    if any(sign in str(path) for sign in "*?["):  # a pattern: check every match; it may only descend
        if ".." in re.split(r"[*?\[]", str(path), maxsplit=1)[1]:
            raise InputError("page.outside-of-root")
        parts += [Path(found) for found in glob.iglob(str(path), recursive=True)]
    for part in parts:
        confine(root, part)
    return real


def confine_readable_table(root: Path, path: Path) -> Path:
    """Resolve the path of a table to be read; raise for keys, too."""
    real = confine_table(root, path)
    parts = real.rglob("*") if real.is_dir() else map(Path, glob.iglob(str(path), recursive=True))
    if any(map(_is_key, (real, *parts))):
        raise InputError("page.file-is-a-key")
    return real


def _is_key(path: Path) -> bool:
    """Return whether a file is a key: by its name, its folder or its content.

    A key is a short file without a table's suffix, or without lines: random bytes, or one line of digits.
    """
    try:
        if not path.is_file():
            return False
        suffixes = (*READABLE_SUFFIXES, *COMPRESSED_SUFFIXES)
        if not path.name.lower().endswith(suffixes) or path.parent.name == "keys":
            return path.stat().st_size <= MAX_KEY_BYTES
        if path.stat().st_size > MAX_KEY_BYTES:
            return False
        content = path.read_bytes()
    except OSError:
        return False
    return _is_key_content(content)


def _is_key_content(content: bytes) -> bool:
    """Return whether short content is that of a key and not of a table.

    >>> _is_key_content(bytes(range(32))), _is_key_content(b"name;age\\nM\\xfcller;7\\n")
    (True, False)
    >>> _is_key_content(b"9f86d081884c7d659a2feaa0c55ad015"), _is_key_content("a,b\\n1,2\\n".encode("utf-16"))
    (True, False)
    """
    if b"PRIVATE KEY" in content:
        return True
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16", "replace").encode()
    elif any(content[at : at + len(sign)] == sign for at, sign in _SIGNATURES):
        return False
    if any(byte < 32 and byte not in b"\t\n\r" for byte in content):
        return True
    lines = content.split()
    return len(lines) == 1 and len(lines[0]) >= 16 and not any(sign in lines[0] for sign in b",;|")


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


def confined_plan(
    text: str, folder: str, root: str, key: str, databases: Sequence[Sequence[str]] = (), ledger: str = ""
) -> Any:
    """Read a plan that refers to nothing outside the root; raise otherwise.

    The plan is ``text``, whatever its file says by now; its paths are relative to ``folder``. ``ledger`` is the ledger
    of its table, which lies outside. The server calls this when a run is started, and the worker process again when its
    turn has come.
    """
    from shoal.plan.plan import Plan

    base, plan_folder = Path(root), Path(folder)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        document = {}
    allowed = frozenset((name, driver or None) for name, driver in databases)
    own_ledger = Path(ledger) if ledger else None
    check_document(base, plan_folder, document, allowed, Path(key), own_ledger)
    plan = Plan.from_toml(text, plan_folder)
    for file in (*plan.files, *plan.method.files):
        if own_ledger is None or Path(file).resolve() != own_ledger.resolve():
            confine(base, Path(file))
    return replace(plan, files=(plan_folder / "plan.toml", *plan.files))


def check_document(
    root: Path,
    folder: Path,
    document: Mapping[str, Any],
    databases: frozenset[Database] = frozenset(),
    key: Path | None = None,
    ledger: Path | None = None,
) -> None:
    """Raise if a plan refers to anything outside the root or this machine.

    The check runs before anything is read. Only ``databases`` may be read: a plan that could name others could use
    every address of the environment. ``key`` is the pseudonym key that may be used, and not be read as a table,
    ``ledger`` the ledger of the plan's table.
    """
    if _has_variable(document):
        raise PlanError("page.variable-not-filled-in")
    for name, path in _paths(document):
        if ":/" in path:
            raise PlanError("page.only-local-files")
        if name in ("source", "csv", "universe"):
            confine_readable_table(root, folder / path)
        elif name == "ledger" and ledger is not None and (folder / path).resolve() == ledger.resolve():
            continue
        elif name != "pseudonym_key":
            confine_table(root, folder / path)
        elif key is None or (folder / path).resolve() != key.resolve():
            confine(root, folder / path)
    source, output, engine = (document.get(name) for name in ("source", "output", "engine"))
    database = database_of(document)
    if database is not None and database not in databases:
        raise PlanError("page.database-not-allowed")
    if database is None and isinstance(source, Mapping) and "query" in source:
        raise PlanError("page.query-not-allowed")
    if isinstance(output, Mapping) and {"database", "query"} & set(output):
        raise PlanError("page.output-to-database")
    if isinstance(engine, Mapping) and (
        {"master", "options"} & set(engine) or engine.get("name", "duckdb") != "duckdb"
    ):
        raise PlanError("page.engine-not-allowed")


def _has_variable(value: Any) -> bool:
    """Return whether a document contains an environment variable.

    Its value would be disclosed to the sender of the plan.
    """
    if isinstance(value, Mapping):
        return any(_has_variable(item) for pair in value.items() for item in pair)
    if isinstance(value, list):
        return any(map(_has_variable, value))
    return isinstance(value, str) and "${" in value.replace("$${", "")


def _paths(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every string of a plan that is, or may be, a path, with its key.

    In place of the key of a source, "source" is given.
    The section ``columns`` names columns, not files, except in hierarchies.
    """
    for name, section in document.items():
        if name == "columns" and isinstance(section, Mapping):
            for column in section.values():
                hierarchy = column.get("hierarchy") if isinstance(column, Mapping) else None
                if isinstance(hierarchy, Mapping) and isinstance(hierarchy.get("csv"), str):
                    yield "csv", hierarchy["csv"]
        elif name in ("source", "output", "method") and isinstance(section, Mapping):
            sql_keys = ("table", "query") if name == "source" and "database" in section else ()  # not file paths
            for key, path in _path_values({key: value for key, value in section.items() if key not in sql_keys}):
                yield "source" if name == "source" else key, path


def _path_values(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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
            yield key, value


def list_folder(root: Path, path: str) -> dict[str, Any]:
    """List the visible folders and tables of a folder below the root."""
    folder = confine(root, root / path)
    if not folder.is_dir():
        raise InputError("page.no-such-folder")
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
        raise InputError("page.folder-not-readable", reason=error.strerror) from None
    here = folder.relative_to(root).as_posix()
    return {"path": "" if here == "." else here, "folders": folders, "files": files}


def check_archive(path: Path) -> None:
    """Raise if a workbook expands to far more than a table would.

    Compressed text is limited where it is read. What a workbook says about its size may be wrong: it is read by a
    separate process with limited memory.
    """
    if path.suffix.lower() not in (".xlsx", ".xlsm", ".xlsb", ".ods"):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            expanded = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError):
        raise InputError("page.workbook-damaged") from None
    if expanded > max(ALWAYS_ALLOWED_WORKBOOK_BYTES, MAX_WORKBOOK_EXPANSION * path.stat().st_size):
        raise InputError("page.workbook-too-large")


def table_stem(name: str) -> str:
    """Return the name of a table without its ending.

    >>> table_stem("visits.csv.gz"), table_stem("plan.toml"), table_stem("a.b.sav")
    ('visits', 'plan', 'a.b')
    """
    found = [suffix for suffix in READABLE_SUFFIXES if name.lower().endswith(suffix)]
    return name[: -max(map(len, found))] if found else Path(name).stem


def sanitize_name(name: str, default: str) -> str:
    """Return a name for a file or folder that refers to no other folder.

    >>> sanitize_name("../../etc/pass wd.csv", "table"), sanitize_name("..", "table")
    ('pass-wd.csv', 'table')
    """
    last = re.split(r"[/\\]", name)[-1]
    cleaned = re.sub(r"[^\w.-]+", "-", last).strip(".-")[:60]
    return cleaned or default
