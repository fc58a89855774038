"""Recipient of a release, and the review of its plan.

A recipient decides how many people must be alike. The table of group sizes has these sources: 11 (a risk of at most
0.09) is the threshold of the European Medicines Agency's policy 0070 and of Health Canada for clinical data that become
public; 5 is the usual minimum of cells and groups in official statistics and in health services (El Emam and Dankar,
2008); 3 is the least that statistical offices use, among people who have signed to keep the data to themselves.

A review records who read a plan, when, and a digest of its roles and models, so that a later change shows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from shoal.errors import PlanError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Name, Validated

if TYPE_CHECKING:
    from shoal.plan.plan import Plan

RecipientKind = Literal["public", "researchers", "colleagues"]
GROUP_SIZES = {"public": 5, "researchers": 5, "colleagues": 5}
PUBLIC_HEALTH_GROUP_SIZE = 11
SIGNED_GROUP_SIZE = 3
REVIEWED_SECTIONS = ("columns", "models", "keys", "scenarios", "together", "recipient")
"""Parts of a plan that a review is about."""


@dataclass(frozen=True)
class Recipient(Validated):
    """Recipient of a release.

    Attributes
    ----------
    kind
        ``public``: anybody; ``researchers``: people who work with the data at an institution; ``colleagues``: people
        who know those in the data, and so know most.
    signed
        Whether they have signed to identify nobody and to pass nothing on.

    Examples
    --------
    >>> import shoal
    >>> shoal.Recipient("researchers", signed=True).kind
    'researchers'
    """

    kind: RecipientKind
    signed: bool = False

    def group_size(self, *, health: bool) -> int:
        """Return the minimum group size, for data about health or not.

        >>> Recipient("public").group_size(health=True), Recipient("colleagues", signed=True).group_size(health=True)
        (11, 3)
        """
        if self.kind == "public" and health:
            return PUBLIC_HEALTH_GROUP_SIZE
        return SIGNED_GROUP_SIZE if self.kind == "colleagues" and self.signed else GROUP_SIZES[self.kind]


@dataclass(frozen=True)
class Review(Validated):
    """Review of a plan.

    Attributes
    ----------
    status
        ``draft`` if nobody has read it, or ``reviewed``.
    by, on
        The reader, and the day.
    of
        Digest of the roles, models and keys that were read.

    Examples
    --------
    >>> import shoal
    >>> shoal.Review("draft").status
    'draft'
    """

    status: Literal["draft", "reviewed"]
    by: Name | None = None
    on: Name | None = None
    of: Name | None = None

    def __post_init__(self) -> None:
        if self.status == "reviewed" and not (self.by and self.on and self.of):
            raise PlanError("plan.review-incomplete")


QUESTIONS = {
    "identifier": "names somebody, and is dropped. Is there another?",
    "person": "says whose rows they are: people are counted. Is it the right one?",
    "household": "says which household a row belongs to. Is it the right one?",
    "drop": "is not published. Do readers need it?",
    "other": "is published as it is. Does it harm nobody, and can no stranger know it?",
    "sensitive": "must not be learned. Is that all that harms somebody?",
    "quasi-identifier": "may be known to others, and is protected. Is that all that they may know?",
}
"""Question about the columns of each role, for a reader of the plan."""


def decisions_about_columns(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    """List roles with their columns for review, the shortest list first."""
    columns: dict[str, list[str]] = {}
    for name, column in plan.columns.items():
        columns.setdefault(str(column.role), []).append(name)
    return sorted(((role, tuple(names)) for role, names in columns.items()), key=lambda entry: len(entry[1]))


def record_review(text: str, plan: Plan, by: str, day: date) -> str:
    """Return the text of a plan with the review of ``plan``, its contents."""
    if not by.strip():
        raise PlanError("plan.review-without-name")
    of = digest_of_plan(plan)
    return with_review(text, {"status": "reviewed", "by": by.strip(), "on": day.isoformat(), "of": of})


def digest_of_plan(plan: Plan) -> str:
    """Return the digest of what a review of a plan is about.

    A hierarchy in a file counts by its rows: a plan that moves with its files stays reviewed, and a changed file shows.
    """
    document = plan.to_dict()
    for section, column in zip(document["columns"].values(), plan.columns.values(), strict=True):
        if getattr(column.hierarchy, "file", None) is not None:
            section["hierarchy"] = {"table": column.hierarchy.rows}  # type: ignore[union-attr]
    return digest_of_promise(document)


def digest_of_promise(document: Mapping[str, Any]) -> str:
    """Return a digest of roles, models and keys of a plan's contents."""
    parts = {section: document[section] for section in REVIEWED_SECTIONS if section in document}
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def with_review(text: str, review: Mapping[str, str]) -> str:
    """Return the text of a plan file with its review replaced or added."""
    import tomli_w

    section = "[review]\n" + tomli_w.dumps(dict(review))
    found = re.search(r"^\[review\][^\n]*\n(?:(?!\[)[^\n]*(?:\n|\Z))*", text, re.MULTILINE)
    if found is None:
        return f"{text.rstrip()}\n\n{section}"
    rest = text[found.end() :]
    return text[: found.start()] + section + ("\n" if rest else "") + rest
