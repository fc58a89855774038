"""Plan files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

Section = Mapping[str, Any]


def write_plan(
    folder: Path,
    *,
    columns: Mapping[str, str | Section],
    models: str | Sequence[str | Section] = "k-anonymity k=2",
    method: str | Section | None = None,
    source: str | Section = "source.csv",
    output: str | Section = "released.csv",
    name: str = "plan",
    table: str | None = None,
    **sections: Any,
) -> Path:
    """Write a plan, and its table if one is given; return the plan's path.

    A role may stand for a column, a text for a model, a name for a method, and a path for a source or an output.
    """
    chosen = {} if method is None else {"method": expand(method, "name")}
    document = {
        "source": expand(source, "path"),
        "columns": {column: expand(section, "role") for column, section in columns.items()},
        "models": models,
        **chosen,
        "output": expand(output, "path"),
        **sections,
    }
    if table is not None:
        (folder / document["source"]["path"]).write_text(table, encoding="utf-8")
    plan = folder / f"{name}.toml"
    plan.write_text(tomli_w.dumps(document), encoding="utf-8")
    return plan


def expand(section: str | Section, key: str) -> Section:
    """Return a section; a text stands for one with a single key."""
    return {key: section} if isinstance(section, str) else section
