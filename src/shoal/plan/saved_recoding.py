"""Recoding saved for the next delivery of the same table.

A recoding can be reused as far as it does not depend on the rows: the level of each column. The next delivery is
recoded at the same levels, so that its values keep their meaning, and is verified again. Groups that have become too
small are suppressed, as far as the plan allows. The file is the owner's and is not published. A local recoding is a
partition of specific rows and does not apply to others.

Two releases of overlapping rows can be intersected. The intersection attack (Ganta, Kasiviswanathan and Smith, KDD
2008) determines the crowd that remains for each person. At equal levels that is the group itself, unless rows were
suppressed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from shoal.errors import PlanError
from shoal.methods import Levels, Problem
from shoal.plan.plan import Plan
from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import BaseHierarchy, Schema
from shoal.table import ByLevel, MethodFacts, Recoding
from shoal.utility.coded_tables import TableReader

FORMAT = "shoal recoding 1"

OWNERS_FILE = "For the owner of the release, not to be published: levels tell of rows that were left out."


def saved_recoding(problem: Problem, recoding: Recoding, release: Mapping[str, Any]) -> str:
    """Serialize a recoding as JSON, for reuse with the next delivery.

    ``release`` identifies the table that it was made for. Raises :class:`PlanError` if the recoding is local.
    """
    if not isinstance(recoding, ByLevel):
        raise PlanError("saved-recoding.local")
    content = {
        "format": FORMAT,
        "note": OWNERS_FILE,
        "levels": dict(zip(problem.names, recoding.levels, strict=True)),
        "heights": {name: ladder.height for name, ladder in zip(problem.names, problem.ladders, strict=True)},
        "rules": _rules(problem.schema),
        "release": dict(release),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _rules(schema: Schema) -> dict[str, str]:
    """Compute a digest of each hierarchy that is a rule, such as intervals.

    A hierarchy that lists values has none: the list may grow until the next delivery.
    """
    hierarchies = {name: schema.columns[name].hierarchy for name in schema.quasi_identifiers}
    digests = {name: made.digest() for name, made in hierarchies.items() if isinstance(made, BaseHierarchy)}
    return {name: digest for name, digest in digests.items() if digest is not None}


@dataclass(frozen=True, kw_only=True)
class SavedLevelsFacts(MethodFacts):
    """Facts of a method with saved levels: digest of the recoding."""

    at: MethodFacts
    recoding_sha256: str


@dataclass(frozen=True)
class SavedLevels(Levels):
    """Levels of an earlier release; the heights of hierarchies must be equal."""

    heights: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""

    @override
    def decide(self, problem: Problem) -> ByLevel:
        for name, ladder in zip(problem.names, problem.ladders, strict=True):
            if self.heights[name] != ladder.height:
                raise PlanError(
                    "saved-recoding.other-levels", column=name, expected=self.heights[name], found=ladder.height
                )
        recoding = super().decide(problem)
        return replace(recoding, facts=SavedLevelsFacts(at=recoding.facts, recoding_sha256=self.digest))

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        return {"levels": dict(self.levels), "suppression": self.suppression}


def apply_saved_recoding(plan: Plan, path: Path) -> Plan:
    """Return the plan with the levels of a saved recoding as its method.

    The suppression limit of the plan stays.
    """
    try:
        raw = path.read_bytes()
        content = json.loads(raw)
        levels, heights, rules = dict(content["levels"]), dict(content["heights"]), dict(content.get("rules", {}))
        numbers = [*levels.values(), *heights.values()]
        if content["format"] != FORMAT or any(isinstance(n, bool) or not isinstance(n, int) for n in numbers):
            raise ValueError
    except OSError as error:
        raise PlanError("saved-recoding.not-readable", file=str(path), reason=error.strerror) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PlanError("saved-recoding.not-a-recoding", file=str(path)) from None
    planned, saved = set(plan.schema.quasi_identifiers), set(levels)
    if planned != saved or set(heights) != saved:
        # report only names that the plan has: the file may contain anything
        differ = sorted(name for name in planned ^ saved if name in plan.schema.columns)
        difference = f"they differ in {', '.join(map(repr, differ[:5]))}" if differ else "the recoding has more of them"
        raise PlanError("saved-recoding.other-quasi-identifiers", reason=difference)
    current_rules = _rules(plan.schema)
    changed = (
        sorted(name for name in planned if rules.get(name) != current_rules.get(name)) if "rules" in content else []
    )
    if changed:
        raise PlanError("saved-recoding.other-hierarchy", column=changed[0])
    suppression = getattr(plan.method, "suppression", 0.0)
    method = SavedLevels(levels, suppression, heights=heights, digest=hashlib.sha256(raw).hexdigest())
    return replace(plan, method=method)


def intersect_releases(tables: TableReader, released: Path, previous: Path, plan: Plan) -> dict[str, Any]:
    """Run the intersection attack on two releases and return its counts.

    The people are those of the plan's source. The result contains no row.
    """
    from shoal.models import size_of_groups
    from shoal.risk.attacks_audits import audit_intersection
    from shoal.risk.matching import read_groups

    assert plan.source is not None
    schema = Schema({name: plan.schema.columns[name] for name in plan.schema.quasi_identifiers})
    k = size_of_groups(plan.models, 2)
    people = tables.rows(plan.source, schema.quasi_identifiers)
    current, earlier = read_groups(tables, released, schema), read_groups(tables, previous, schema)
    found = audit_intersection(current, earlier, people, schema, k)
    return {
        "people": found.people,
        "exposed": found.exposed,
        "crowd_below": k,
        "smallest_crowd": found.figures["smallest_crowd"],
        "left_out": found.figures["left_out"],
    }
