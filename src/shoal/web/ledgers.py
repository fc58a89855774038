"""Ledgers of the page: one for each table, in a folder that no page reads.

A ledger belongs to a table below a root, whatever project opens it, so that two projects of one table share its budget.
It lies outside of every root: no upload, release or plan can replace it. Visitors have roots of their own, and hence
ledgers of their own. Beside a ledger, a small file names the table and the digest of its content: a copy of the same
table is refused a second budget.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.web.file_access import keys_folder
from shoal.web.plan_edits import section_of

ANSWERS_FILE = "answers.jsonl"
"""File of a project with the answers that it got; each is noisy, and was booked."""


def ledgers_folder(root: Path) -> Path:
    """Return the folder of all ledgers of tables below a root."""
    return keys_folder().parent / "ledgers" / hashlib.sha256(str(root).encode()).hexdigest()[:16]


def ledger_of(root: Path, folder: Path, text: str) -> Path | None:
    """Return the file of the ledger of a plan's table, which need not exist.

    The plan is ``text``, with paths relative to ``folder``. Return None if it names no table.
    """
    try:
        source = section_of(tomllib.loads(text), "source")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None
    table = _table_of(source, folder)
    if table is None:
        return None
    return ledgers_folder(root) / f"{hashlib.sha256(table.encode()).hexdigest()[:32]}.ledger"


def _table_of(source: Mapping[str, Any], folder: Path) -> str | None:
    """Return what identifies the table of a source."""
    if isinstance(source.get("path"), str):
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            return str((folder / source["path"]).resolve())
        return None
    named = {key: source[key] for key in ("database", "table", "query") if isinstance(source.get(key), str)}
    return json.dumps(named, sort_keys=True) if "database" in named else None


def create_ledger(file: Path, table: Path | None, m: int, k: int, name: str) -> None:
    """Create the ledger of a table; raise if it, or a copy of it, has one."""
    from shoal.budget import Ledger

    digest = _digest(table)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for other in file.parent.glob("*.json"):
        known = _described(other)
        if digest is not None and known.get("sha256") == digest and other.with_suffix("").name != file.name:
            raise InputError("page.ledger-of-copy", name=str(known.get("name", "")))
    Ledger.create(file, m, k, name)
    described = file.with_name(file.name + ".json")
    described.write_text(json.dumps({"name": name, "sha256": digest}), encoding="utf-8")


def _described(file: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(file.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def _digest(table: Path | None) -> str | None:
    """Return the SHA-256 of a table in one file, or None."""
    if table is None or not table.is_file():
        return None
    with table.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_ledger(file: Path) -> dict[str, Any]:
    """Return the verified status of a ledger with all its entries."""
    from shoal.budget import Ledger

    opened = Ledger.open(file)
    entries = [
        {"number": entry.number, "at": entry.at, "kind": entry.kind, "label": entry.label,
         "rho_after": float(entry.rho_after)}
        for entry in opened.entries()
    ]  # fmt: skip
    return {**opened.verify().to_dict(), "bookings": entries}


def save_answer(folder: Path, ledger: Path, answer: Mapping[str, Any]) -> None:
    """Append an answer to those of a project, with the name of its ledger."""
    file = folder / ANSWERS_FILE
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as opened:
        opened.write(json.dumps({**answer, "ledger": ledger.name}) + "\n")


def read_answers(folder: Path, ledger: Path) -> list[dict[str, Any]]:
    """Read the answers of a project under a ledger, oldest first."""
    try:
        lines = (folder / ANSWERS_FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return [answer for answer in found if isinstance(answer, dict) and answer.get("ledger") == ledger.name]
