"""Checklist before a release is handed out.

It names what the requirements cover and what they do not. What they leave open must be confirmed once for each release,
each point by itself; a column that looks like an identifier, by typing its name. Until then no file of the release is
shown, sent or written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.formatting import localized, number, percent
from shoal.web.review_views import model_in_words
from shoal.web.translations import translate

if TYPE_CHECKING:
    from shoal.plan.plan import Plan
    from shoal.web.projects import Project

CONFIRMED_FILE = "confirmed.json"
"""File of a release with the points that were confirmed."""
IDENTIFYING_ROLES = ("identifier", "person")
MAX_SENTENCES = 5
MAX_NAMED_COLUMNS = 12
MIN_EXACT_ROWS = 20
MIN_EXACT_SHARE = 0.05
"""Rows that a published column must single out to be named as exact: a number of them, and a part."""


def checklist_of(project: Project, facts: Mapping[str, Any], release: int, language: str) -> dict[str, Any]:
    """Return what a release covers, what it does not, and what to confirm."""
    plan = project.release_plan(release)
    unprotected = unprotected_columns(plan)
    points = points_to_confirm(plan, facts)
    sentences = [
        *({"point": point, "text": _point_sentence(point, plan, facts, language)} for point in points),
        *({"point": None, "text": text} for text in _further_sentences(plan, facts, language)),
    ]
    return {
        "covered": [model_in_words(model, plan, language) for model in plan.models],
        "uncovered": sentences[: max(MAX_SENTENCES, len(points))],
        "review": plan.review_status,
        "points": points,
        "unprotected": unprotected,
        "identifying": identifying_columns(project, unprotected),
        "confirmed": is_confirmed(project, release),
    }


def points_to_confirm(plan: Plan, facts: Mapping[str, Any]) -> list[str]:
    """List what must be confirmed before a release is handed out.

    ``partial``: only intruders who know a part of the columns are stopped, and many rows are exposed to others.
    ``unchanged``: columns are published as they are. ``exact``: a published column singles out rows by its values.
    """
    from shoal.risk.exposure import MAX_EXPOSED_SHARE, SMALL_CROWD
    from shoal.web.exposure_view import is_partial

    figures = facts.get("exposure") or {}
    below, total = figures.get(f"below_{SMALL_CROWD}", 0), figures.get("people", figures.get("rows", 0))
    found = []
    if is_partial(facts) and (not figures or below > MAX_EXPOSED_SHARE * total):
        found.append("partial")
    if unprotected_columns(plan):
        found.append("unchanged")
    if exact_columns(facts):
        found.append("exact")
    return found


def exact_columns(facts: Mapping[str, Any]) -> list[str]:
    """List the published columns that single out many rows."""
    unique = facts.get("unique_values") or {}
    limit = max(MIN_EXACT_ROWS, MIN_EXACT_SHARE * facts.get("released", 0))
    return [name for name, rows in unique.items() if rows >= limit]


def _point_sentence(point: str, plan: Plan, facts: Mapping[str, Any], language: str) -> str:
    def counted(count: int) -> str:
        return localized(number(count), language)

    if point == "unchanged":
        return translate("checklist.other", language, columns=_names(unprotected_columns(plan), language))
    if point == "exact":
        unique = facts["unique_values"]
        worst = max(exact_columns(facts), key=lambda name: int(unique[name]))
        figures = {"count": counted(unique[worst]), "rows": counted(facts["released"]), "column": worst}
        return translate("checklist.exact", language, columns=_names(exact_columns(facts), language), **figures)
    exposure: dict[str, Any] = facts.get("exposure") or {}
    known = max((model.get("parameters", {}).get("known", 0) for model in facts.get("models", ())), default=0)
    covered = translate("checklist.partial.known" if known else "checklist.partial.keys", language, known=known)
    if not exposure:
        return covered
    unit = "people" if "people" in exposure else "rows"
    total, alone = exposure[unit], exposure["alone"]
    values = {"count": len(exposure["columns"]), "alone": counted(alone), "total": counted(total)}
    part = localized(percent(alone / total if total else 0), language)
    more = translate("checklist.partial", language, part=part, unit=translate(f"unit.{unit}", language), **values)
    return f"{covered} {more}"


def _further_sentences(plan: Plan, facts: Mapping[str, Any], language: str) -> list[str]:
    """Return sentences about what the requirements leave open besides."""
    columns = plan.columns
    sensitive = [name for name in plan.schema.sensitive if name in columns]
    protected = any(hasattr(model, "column") for model in plan.models)
    found = []
    if sensitive:
        key = "checklist.sensitive" if protected else "checklist.sensitive.none"
        found.append(translate(key, language, columns=_names(sensitive, language)))
    if facts.get("suppressed"):
        count = localized(number(facts["suppressed"]), language)
        found.append(translate("checklist.left", language, count=count))
    if any(getattr(column, "pseudonym", False) for column in columns.values()):
        found.append(translate("checklist.linked", language))
    return [*found, translate("checklist.more", language)]


def _names(names: Sequence[str], language: str) -> str:
    """List columns; of very many the first ones, and the number of the others."""
    listed = ", ".join(names[:MAX_NAMED_COLUMNS])
    more = len(names) - MAX_NAMED_COLUMNS
    return listed if more <= 0 else f"{listed} {translate('attack.others', language, count=more)}"


def unprotected_columns(plan: Plan) -> list[str]:
    """List the columns that a plan publishes as they are, without protection."""
    return [name for name, column in plan.columns.items() if str(column.role) == "other"]


def identifying_columns(project: Project, names: Sequence[str]) -> list[str]:
    """List the columns that look like identifiers to the profile."""
    run = project.latest.get("look")
    found = {} if run is None or run.known is None else {c["name"]: c["role"] for c in run.known["columns"]}
    return [name for name in names if found.get(name) in IDENTIFYING_ROLES]


def is_confirmed(project: Project, release: int) -> bool:
    """Return whether every point of a release was confirmed."""
    plan, facts = project.release_plan(release), project.facts(release)
    points = points_to_confirm(plan, facts)
    if not points:
        return True
    try:
        confirmed = json.loads((project.release_folder(release) / CONFIRMED_FILE).read_text(encoding="utf-8"))
        return set(points) <= set(confirmed["points"]) and set(unprotected_columns(plan)) <= set(confirmed["columns"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def require_confirmed(project: Project, release: int) -> None:
    """Raise unless every point of a release was confirmed."""
    if not is_confirmed(project, release):
        raise InputError("page.release-not-confirmed")


def confirm_release(
    project: Project, release: int, points: Sequence[Any], columns: Sequence[Any], typed: Sequence[Any]
) -> None:
    """Record the confirmed points of a release; raise if one is missing."""
    plan = project.release_plan(release)
    names = unprotected_columns(plan)
    run = project.latest.get("look")
    if names and (run is None or run.known is None):
        raise InputError("page.columns-not-examined")
    if missing := [name for name in names if name not in columns]:
        raise InputError("page.columns-not-confirmed", columns=", ".join(missing))
    if missing := [name for name in identifying_columns(project, names) if name not in typed]:
        raise InputError("page.column-not-typed", columns=", ".join(missing))
    required = points_to_confirm(plan, project.facts(release))
    if missing := [point for point in required if point not in points]:
        raise InputError("page.points-not-confirmed", points=", ".join(missing))
    content = {"points": required, "columns": names}
    (project.release_folder(release) / CONFIRMED_FILE).write_text(json.dumps(content), encoding="utf-8")
