"""View models of recipients and reviews.

As in :mod:`shoal.web.view_models`, each function selects what a template displays.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from starlette.requests import Request

from shoal.formatting import localized
from shoal.web.projects import Project
from shoal.web.translations import TEXTS, translate

if TYPE_CHECKING:
    from shoal.plan.plan import Plan

PROMISE_DECISION = "promise"
"""The decision about models and recipient, beside those about columns."""


def recipient_choices(language: str) -> list[dict[str, str]]:
    """List the recipients, each with the consequence of its choice."""
    from shoal.plan.review import GROUP_SIZES, PUBLIC_HEALTH_GROUP_SIZE, SIGNED_GROUP_SIZE

    sizes = {"health": PUBLIC_HEALTH_GROUP_SIZE, "signed": SIGNED_GROUP_SIZE}
    return [
        {"kind": kind, "about": translate(f"recipient.{kind}.about", language, k=size, **sizes)}
        for kind, size in GROUP_SIZES.items()
    ]


def recipient_of(document: Mapping[str, Any], look: Mapping[str, Any] | None, language: str) -> dict[str, Any]:
    """Return the plan's recipient, and how its groups compare to the usual.

    ``raise_to`` are the changes that give every smaller k of the plan the usual size.
    """
    from shoal.plan.review import Recipient, RecipientKind

    section = document.get("recipient")
    given = section if isinstance(section, Mapping) else {}
    kind: Any = given.get("kind")
    signed = given.get("signed") is True
    found: dict[str, Any] = {"kind": kind, "signed": signed, "usual": None, "choices": []}
    for choice in recipient_choices(language):
        change = [{"set": ["recipient"], "value": {"kind": choice["kind"]}}]
        found["choices"].append({**choice, "changes": json.dumps(change)})
    sizes = [
        (section, position, entry["k"])
        for section in ("models", "keys")
        for position, entry in enumerate(_entries(document, section))
        if isinstance(entry, Mapping) and type(entry.get("k")) is int
    ]
    if kind not in get_args(RecipientKind) or not sizes:
        return found
    usual = Recipient(kind, signed).group_size(health=_is_about_health(document, look))
    changes = [{"set": [section, at, "k"], "value": usual} for section, at, k in sizes if k < usual]
    return found | {"usual": usual, "k": min(k for _, _, k in sizes), "raise_to": json.dumps(changes)}


def _entries(document: Mapping[str, Any], section: str) -> list[Any]:
    found = document.get(section, [])
    return found if isinstance(found, list) else []


def _is_about_health(document: Mapping[str, Any], look: Mapping[str, Any] | None) -> bool:
    """Return whether a sensitive column of the plan is about health."""
    from shoal.advice.draft import HEALTH_TOPICS

    columns = document.get("columns", {})
    sensitive = {
        name for name, column in columns.items() if isinstance(column, Mapping) and column.get("role") == "sensitive"
    }
    return any(
        column["name"] in sensitive and column.get("topic") in HEALTH_TOPICS
        for column in (look or {}).get("columns", ())
    )


def review_step(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the review step: decisions and their record."""
    from shoal.schema import Role

    plan = project.plan_or_none()
    decisions = [] if plan is None else list_decisions(plan, language)
    return {
        "review": review_of(project),
        "decisions": decisions,
        "roles": [str(role) for role in Role],
        "digest": project.digest,
    }


def review_of(project: Project) -> dict[str, Any]:
    """Return the status of a plan's review, with reader and day."""
    plan = project.plan_or_none()
    status = None if plan is None else plan.review_status
    found = None if plan is None else plan.review
    return {"status": status, "by": found and found.by, "on": found and found.on}


def decision_names(plan: Plan) -> list[str]:
    """List the decisions that a reader of a plan has to confirm."""
    from shoal.plan.review import decisions_about_columns

    return [PROMISE_DECISION, *(role for role, _ in decisions_about_columns(plan))]


def list_decisions(plan: Plan, language: str) -> list[dict[str, Any]]:
    """List the decisions with what each is about, the shortest list first.

    ``id`` changes with the contents, so that a tick does not outlive what it was about.
    """
    from shoal.plan.review import decisions_about_columns

    sentences = [model_in_words(model, plan, language) for model in plan.models]
    sentences += [_key_sentence(key, plan, language) for key in plan.keys]
    recipient = "" if plan.recipient is None else translate(f"recipient.{plan.recipient.kind}", language)
    signed = bool(plan.recipient and plan.recipient.signed)
    found: list[dict[str, Any]] = [
        {"name": PROMISE_DECISION, "sentences": sentences, "recipient": recipient, "signed": signed, "columns": ()}
    ]
    for role, columns in decisions_about_columns(plan):
        found.append({"name": role, "sentences": [], "columns": columns})
    for decision in found:
        decision["id"] = hashlib.sha256(json.dumps(decision).encode()).hexdigest()[:12]
        decision["step"] = PROMISE_DECISION if decision["name"] == PROMISE_DECISION else "columns"
    return found


def model_in_words(model: Any, plan: Plan, language: str) -> str:
    """Describe a model of a plan in words, with its parameters."""
    key = f"promise.{model.name}"
    if key not in TEXTS:
        return str(model)
    sensitive = plan.schema.sensitive
    values = {part.name: getattr(model, part.name) for part in dataclasses.fields(model)}

    def fill(match: re.Match[str]) -> str:
        part, value = match[1], values.get(match[1])
        if part == "unit":
            return translate("unit.people" if plan.schema.person else "unit.rows", language)
        if part == "column":
            return str(value or ", ".join(sensitive) or translate("promise.secret", language))
        if f"choice.{value}" in TEXTS:
            return translate(f"choice.{value}", language)
        return "…" if value is None else localized(str(value), language)

    sentence = re.sub(r"\{(\w+)\}", fill, translate(key, language))
    known = values.get("known")
    return sentence if known is None else f"{sentence} {translate('promise.few', language, known=known)}."


def _key_sentence(key: Any, plan: Plan, language: str) -> str:
    unit = translate("unit.people" if plan.schema.person else "unit.rows", language)
    about = translate("promise.of", language, columns=", ".join(key.columns))
    least = "" if key.k is None else f": {translate('promise.key.k', language)} {key.k} {unit}"
    return f"{about}{least}."
