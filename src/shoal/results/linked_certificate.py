"""The certificate of a release of linked tables.

It is made from the released files and the public part of the plan, and nothing else: what is promised, how it was
verified, and how many people more knowledge than promised would single out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.plan.linked import LinkedPlan
from shoal.plan.plan import plain
from shoal.risk.linked_facts import (
    count_fact_sets,
    crowds_by_all,
    crowds_by_counts,
    crowds_by_facts,
    crowds_by_linked_facts,
)
from shoal.verification.linked import LinkedCheck

CERTIFICATE = "certificate.json"
FORMAT = "shoal linked tables 1"
MAX_SETS_BEYOND = 20_000_000
"""Largest number of sets of facts that are counted for the figures beyond the promise."""
NOT_PROMISED = (
    "Whoever knows more facts of a person than promised, the number of rows, or which rows belong together may find "
    "fewer people; the figures under beyond say how many.",
    "Facts that are known not to have happened are not considered.",
    "Facts may have been left out. Whoever knows a fact that no released record of a root label shows learns that it "
    "was left out; whoever also knows the rule of leaving out may exclude more.",
    "Columns of the role other, and relations between people, are not protected.",
)


@dataclass(frozen=True)
class LinkedFile:
    """A released file of linked tables."""

    table: str
    file: str
    sha256: str
    bytes: int


def make_certificate(plan: LinkedPlan, check: LinkedCheck, files: Sequence[LinkedFile], version: str) -> dict[str, Any]:
    """Make the certificate from what is released and the public plan."""
    published = {table.name: plan.published(table) for table in plan.tables}
    return {
        "format": FORMAT,
        "version": version,
        "people": check.linked.people,
        "tables": [
            {
                "name": file.table,
                "file": file.file,
                "sha256": file.sha256,
                "bytes": file.bytes,
                "rows": check.rows[file.table],
                **_public_table(plan, file.table, published[file.table]),
            }
            for file in files
        ],
        "known": {"root": True, "facts": plan.scenario.facts},
        "models": [verdict.to_dict() for verdict in check.verdicts],
        "smallest_crowd": smallest_crowds(check),
        "beyond": count_beyond(check, plan.k, plan.scenario.facts),
        "foreign_keys": "hold",
        "keys": "pseudonyms",
        "not_promised": list(NOT_PROMISED),
    }


def smallest_crowds(check: LinkedCheck) -> dict[str, int]:
    """Return the smallest crowds by the number of known facts."""
    return {"root" if not known else str(known): size for known, size in enumerate(check.smallest)}


def count_beyond(check: LinkedCheck, k: int, facts: int) -> dict[str, int | None]:
    """Count the people in a crowd below k by more knowledge than promised.

    None where there are too many sets of facts to count.
    """
    linked = check.linked
    nested = any(table.parent != linked.root_name for table in linked.tables)
    countable = {known: count_fact_sets(linked, known) <= MAX_SETS_BEYOND for known in (facts + 1, 2)}
    found: dict[str, Any] = {f"facts_{facts + 1}": crowds_by_facts(linked, facts + 1) if countable[facts + 1] else None}
    if nested:
        found["two_facts_with_structure"] = crowds_by_linked_facts(linked) if countable[2] else None
    found |= {"counts": crowds_by_counts(linked), "all": crowds_by_all(linked)}
    return {name: None if size is None else int(np.sum(size < k)) for name, size in found.items()}


def _public_table(plan: LinkedPlan, name: str, published: Sequence[str]) -> dict[str, Any]:
    table = plan.table(name)
    links = {"parent": table.parent, "on": table.on, "key": table.key if table.key in published else None}
    roles = {one: str(column.role) for one, column in table.schema.columns.items() if one in published}
    return {**{key: value for key, value in links.items() if value is not None}, "columns": roles}


def certificate_text(certificate: Mapping[str, Any]) -> str:
    """Serialize a certificate."""
    return json.dumps(plain(certificate), indent=2, ensure_ascii=False) + "\n"
