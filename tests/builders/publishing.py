"""Releases of one small table, and checks of the published files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.io.publish import certificate_of
from tests.builders.plans import write_plan


def write_ages_plan(
    folder: Path,
    *,
    level: int = 1,
    rows: int = 40,
    target: str = "released.csv",
    name: str = "plan",
    hierarchy: Mapping[str, Any] | None = None,
    x: str | Mapping[str, Any] = "other",
) -> Path:
    """Write a table of ages and a plan that publishes them at a level."""
    lines = "".join(f"{20 + number % 20},v{number % 7}\n" for number in range(rows))
    return write_plan(
        folder,
        table="age,x\n" + lines,
        columns={"age": {"role": "quasi-identifier", "hierarchy": hierarchy or {"intervals": [5, 10]}}, "x": x},
        method={"name": "levels", "levels": {"age": level}},
        output=target,
        name=name,
    )


def assert_whole(table: Path) -> None:
    """Assert that a table is complete and matches its certificate.

    There may be no certificate.
    """
    certificate = certificate_of(table)
    if certificate.exists():
        content = json.loads(certificate.read_text())
        assert content["output"]["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
        assert content["output"]["bytes"] == table.stat().st_size
    if table.exists():
        lines = table.read_text().split("\n")
        assert lines[0] == "age,x"
        assert lines[-1] == ""
        assert len(lines) == 42


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
