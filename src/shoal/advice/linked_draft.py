"""First plan for linked tables: links, roles and a promise, with reasons.

Links are found by names, types and inclusion of keys (:mod:`shoal.table.find_links`). If the files have the names of a
known form, such as OMOP's, roles come from its template; else each table is profiled by itself.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.advice.draft import DEFAULT_K, draft_plan
from shoal.advice.profile import profile
from shoal.errors import TableError
from shoal.io.engines.base import Source
from shoal.plan.linked import NOT_SERVED, SERVED_ROLES
from shoal.schema import Role
from shoal.table.find_links import find_links, list_tables
from shoal.table.linked_tables import Link
from shoal.utility.coded_tables import open_tables

if TYPE_CHECKING:
    import pyarrow as pa

TEMPLATES = ("omop", "synthea")


@dataclass(frozen=True)
class LinkedDraft:
    """A drafted plan of linked tables.

    Attributes
    ----------
    text
        The plan (TOML).
    template
        The name of the form that the files have; None without one.
    notes
        How the tables were understood, as sentences.
    """

    text: str
    template: str | None
    notes: tuple[str, ...]


def draft_linked(folder: Path, plan_folder: Path, *, k: int | None = None, facts: int = 1) -> LinkedDraft:
    """Draft a plan for a folder of linked files.

    Paths are relative to ``plan_folder``, the folder of the plan file.
    """
    if not folder.is_dir():
        raise TableError("linked.folder-not-found")
    sources, _ = list_tables(folder, Source())
    if len(sources) < 2:
        raise TableError("linked.one-table", found=len(sources))
    with open_tables(None, *sources.values()) as reader:
        tables = {name: reader.arrow(data) for name, data in sources.items()}
    template = _find_template(tables)
    made = _from_template(template, tables) if template else _from_profiles(tables)
    notes = [_describe(table) for table in made]
    left_out = [name for name in tables if name not in {table["name"] for table in made}]
    notes += [f"{name} refers to nobody, or is unknown to the template: it is left out." for name in left_out]
    for table in made:
        path = sources[_file_of(str(table["name"]), tables)].path
        assert path is not None
        table["path"] = os.path.relpath(path.resolve(), plan_folder.resolve())
    return LinkedDraft(_write(made, k or DEFAULT_K, facts, notes), template, tuple(notes))


def _find_template(tables: Mapping[str, pa.Table]) -> str | None:
    """Return the form of the files: its root and one more table exist."""
    for name in TEMPLATES:
        known = {table["name"]: table for table in _read_template(name)}
        present = [table for table in known.values() if _file_of(table["name"], tables) in tables]
        root = next((table for table in present if "parent" not in table), None)
        if root is not None and len(present) > 1 and root["key"] in tables[_file_of(root["name"], tables)].column_names:
            return name
    return None


def _file_of(name: str, tables: Mapping[str, pa.Table]) -> str:
    """Return the table of a name, in any case of its letters."""
    return next((one for one in tables if one.lower() == name.lower()), name)


def _read_template(name: str) -> list[dict[str, Any]]:
    text = resources.files("shoal.advice").joinpath("templates", f"{name}.toml").read_text(encoding="utf-8")
    tables: list[dict[str, Any]] = tomllib.loads(text)["tables"]
    return tables


def _from_template(template: str, tables: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
    """Return the tables of a template that are there, with their columns."""
    made: list[dict[str, Any]] = []
    for table in _read_template(template):
        rows = tables.get(_file_of(table["name"], tables))
        parents = {one["name"] for one in made}
        if rows is None or not rows.num_rows or table.get("parent", table["name"]) not in {*parents, table["name"]}:
            continue
        keys = {table.get("key"), table.get("on")}
        known = table["columns"]
        columns = {name: known.get(name, "drop") for name in rows.column_names if name not in keys}
        made.append({**table, "columns": columns})
    return made


def _from_profiles(tables: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
    """Return linked tables with roles from a profile of each."""
    root, links = find_links(tables, None, [])
    link_of = {link.table: link for link in links}
    keys = {link.parent: link.key for link in links}
    made = []
    for name in (root, *(link.table for link in _parents_first(root, links))):
        link = link_of.get(name)
        own = {keys.get(name), None if link is None else link.column}
        above = {key for table, key in keys.items() if table != name}
        columns: dict[str, Any] = {}
        for column, section in _profiled(tables[name]).items():
            if column not in own:
                columns[column] = "drop" if column in above else _served(section, tables[name].column(column), link)
        parent = {} if link is None else {"parent": link.parent, "on": link.column}
        key = {"key": keys[name]} if name in keys else {}
        made.append({"name": name, **parent, **key, "columns": columns})
    return made


def _parents_first(root: str, links: Sequence[Link]) -> list[Link]:
    ordered: list[Link] = []
    reached = {root}
    while grown := [link for link in links if link.parent in reached and link.table not in reached]:
        ordered += grown
        reached |= {link.table for link in grown}
    return ordered


def _profiled(table: pa.Table) -> dict[str, Any]:
    """Return the columns of a table as a draft writes them."""
    text = draft_plan(profile(table), None, Path())
    columns: dict[str, Any] = tomllib.loads(text)["columns"]
    return columns


def _served(section: Mapping[str, Any] | str, cells: pa.ChunkedArray, link: Link | None) -> Mapping[str, Any]:
    """Return a drafted column as linked tables have it.

    Words of a child table, such as a diagnosis, are facts that others may know, even if they are sensitive.
    """
    import pyarrow as pa

    given = {"role": section} if isinstance(section, str) else dict(section)
    if Role(given["role"]) not in SERVED_ROLES:
        return {"role": "drop"}
    if link is not None and given["role"] == Role.SENSITIVE and pa.types.is_string(cells.type):
        texts = _distinct_texts(cells)
        codes = len({len(text) for text in texts}) == 1 and len({text[:1] for text in texts}) < len(texts)
        return {"role": "quasi-identifier", "hierarchy": {"prefix": True} if codes else {"flat": True}}
    return {key: value for key, value in given.items() if key not in (*NOT_SERVED, "unmatched", "publish")}


def _distinct_texts(cells: pa.ChunkedArray) -> list[str]:
    return [text for text in cells.unique().to_pylist() if text]


def _describe(table: Mapping[str, Any]) -> str:
    if "parent" not in table:
        return f"{table['name']} is the root, by {table['key']}."
    return f"{table['name']} refers to {table['parent']} by {table['on']}."


def _write(tables: Sequence[Mapping[str, Any]], k: int, facts: int, notes: Sequence[str]) -> str:
    import tomli_w

    order = ("name", "path", "parent", "on", "key", "columns")
    document = {
        "models": [{"name": "k-anonymity", "k": k}],
        "scenarios": [{"facts": facts}],
        "tables": [{key: table[key] for key in order if key in table} for table in tables],
        "output": {"path": "release"},
    }
    comments = [
        "# A plan of linked tables, drafted by shoal. Review every role before you rely on it.",
        *(f"# {note}" for note in notes),
        "# Columns that name third parties, such as a doctor, need a hierarchy, or the role drop.",
        "# Sensitive columns are published as they are, and nobody is taken to know them; others are known facts.",
    ]
    return "\n".join(comments) + "\n\n" + tomli_w.dumps(document)
