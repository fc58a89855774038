"""View models of recipients and reviews.

As in :mod:`shoal.web.view_models`, each function selects what a template displays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

from shoal.web.translations import translate


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
