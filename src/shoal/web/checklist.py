"""Checklist before a release is handed out.

It names what the requirements cover and what they do not. Columns that are published as they are must be confirmed once
for each release; a column that looks like an identifier, by typing its name. Until then the page shows no files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.formatting import localized, number
from shoal.web.review_views import model_in_words
from shoal.web.translations import translate

if TYPE_CHECKING:
    from shoal.plan.plan import Plan
    from shoal.web.projects import Project

CONFIRMED_FILE = "confirmed.json"
"""File of a release with the columns that were confirmed."""
IDENTIFYING_ROLES = ("identifier", "person")


def checklist_of(project: Project, facts: Mapping[str, Any], release: int, language: str) -> dict[str, Any]:
    """Return what a release covers, what it does not, and what to confirm."""
    plan = project.release_plan(release)
    unprotected = unprotected_columns(plan)
    return {
        "covered": [model_in_words(model, plan, language) for model in plan.models],
        "uncovered": _uncovered(plan, facts, unprotected, language),
        "unprotected": unprotected,
        "identifying": identifying_columns(project, unprotected),
        "confirmed": not unprotected or is_confirmed(project.release_folder(release), unprotected),
    }


def _uncovered(plan: Plan, facts: Mapping[str, Any], unprotected: Sequence[str], language: str) -> list[str]:
    """Return at most five sentences about what the requirements leave open."""
    columns = plan.columns
    sensitive = [name for name in plan.schema.sensitive if name in columns]
    found = []
    if unprotected:
        found.append(translate("checklist.other", language, columns=", ".join(unprotected)))
    if sensitive:
        found.append(translate("checklist.sensitive", language, columns=", ".join(sensitive)))
    if facts.get("suppressed"):
        count = localized(number(facts["suppressed"]), language)
        found.append(translate("checklist.left", language, count=count))
    if any(getattr(column, "pseudonym", False) for column in columns.values()):
        found.append(translate("checklist.linked", language))
    return [*found, translate("checklist.more", language)]


def unprotected_columns(plan: Plan) -> list[str]:
    """List the columns that a plan publishes as they are, without protection."""
    return [name for name, column in plan.columns.items() if str(column.role) == "other"]


def identifying_columns(project: Project, names: Sequence[str]) -> list[str]:
    """List the columns that look like identifiers to the profile."""
    run = project.latest.get("look")
    found = {} if run is None or run.known is None else {c["name"]: c["role"] for c in run.known["columns"]}
    return [name for name in names if found.get(name) in IDENTIFYING_ROLES]


def is_confirmed(folder: Path, names: Sequence[str]) -> bool:
    """Return whether the columns of a release were confirmed."""
    try:
        confirmed = json.loads((folder / CONFIRMED_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(confirmed, list) and set(names) <= set(confirmed)


def confirm_columns(project: Project, release: int, confirmed: Sequence[Any], typed: Sequence[Any]) -> None:
    """Record that columns were confirmed; raise if one is missing."""
    names = unprotected_columns(project.release_plan(release))
    run = project.latest.get("look")
    if names and (run is None or run.known is None):
        raise InputError("page.columns-not-examined")
    if missing := [name for name in names if name not in confirmed]:
        raise InputError("page.columns-not-confirmed", columns=", ".join(missing))
    if missing := [name for name in identifying_columns(project, names) if name not in typed]:
        raise InputError("page.column-not-typed", columns=", ".join(missing))
    (project.release_folder(release) / CONFIRMED_FILE).write_text(json.dumps(names), encoding="utf-8")
