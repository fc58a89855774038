"""Evaluate the outcome of a case independently of the package.

Plain Python over the files, from the definitions. A correct outcome is status 0 or 1 with a true answer, or status 2 or
3 with one line that contains no value. Releases are checked by :mod:`tools.fuzz.checker`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from tools.fuzz.checker import Release, check_release
from tools.fuzz.harness import Outcome, find_leaks
from tools.fuzz.tables import read_table

UNPUBLISHED = ("identifier", "drop", "person", "household")


def judge(folder: Path, arguments: Sequence[str], done: Outcome, secrets: Sequence[str]) -> str | None:
    """Describe the fault of an outcome, or return None."""
    if done.status not in (0, 1, 2, 3):
        return f"status {done.status}: {done.err.strip()[-300:]}"
    if done.status >= 2:
        if not done.err.startswith("Error: ") or done.err.count("\n") != 1:
            return f"status {done.status} without one line of an error: {done.err[:300]!r}"
        leaks = find_leaks(secrets, done.outputs)
        return f"told a value: {leaks[0]}" if leaks else None
    if "--json" in arguments:
        try:
            json.loads(done.out, parse_constant=_refuse)
        except ValueError as error:
            return f"no JSON: {error}"
    if arguments[0] == "release":
        return None if "--set" in arguments else judge_release(folder, Path(arguments[1]))
    return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def judge_release(folder: Path, plan: Path) -> str | None:
    """Describe the first fault of a published release, or return None."""
    document = tomllib.loads((folder / plan).read_text(encoding="utf-8-sig"))
    method = document.get("method", {})
    if method.get("patterns"):
        return None  # patterns overlap: they are no rows
    released = folder / document["output"]["path"]
    columns = document["columns"]
    header, rows = read_table(released)
    dropped = [
        name for name, column in columns.items() if column["role"] in UNPUBLISHED and not column.get("pseudonym")
    ]
    if set(header) != set(columns) - set(dropped):
        return "the release has other columns than the plan says"
    quasi = [header.index(name) for name in header if columns[name]["role"] == "quasi-identifier"]
    groups = {tuple(row[position] for position in quasi) for row in rows}
    certificate = json.loads(released.with_suffix(".certificate.json").read_text(encoding="utf-8"))
    if certificate["released"] != len(rows) or certificate["groups"] != len(groups):
        return (
            f"certified {certificate['released']} rows, {certificate['groups']} groups; has {len(rows)}, {len(groups)}"
        )
    return check_release(Release(folder, {**document, "method": method}, header, rows))
