"""A recoding kept for the next delivery of the same table.

What can be carried over is what does not depend on the rows: the level of each column. The next delivery is recoded at
the same levels, so that its values mean the same, and verified anew: groups that have become too small are left out, as
far as the plan allows. A local recoding is a partition of certain rows and says nothing about others.

Two releases of overlapping rows can be laid together; the intersection attack (Ganta, Kasiviswanathan and Smith, KDD
2008) tells what crowd is left for each person. At the same levels it is the group itself, unless rows were left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.errors import PlanError
from shoal.methods import Levels, Problem
from shoal.plan.plan import Plan
from shoal.schema import BaseHierarchy, Schema
from shoal.table import ByLevel, MethodFacts, Recoding
from shoal.utility.coded_tables import Tables

__all__ = ["Carried", "carry_over", "lay_together", "saved_recoding"]

FORMAT = "shoal recoding 1"


LOCAL = (
    "Only a recoding by levels (methods full-domain and levels) can be kept for the next delivery; this one is "
    "local: it says which rows form a group, and nothing about other rows."
)


def saved_recoding(problem: Problem, recoding: Recoding, release: Mapping[str, Any]) -> str:
    """A recoding as text (JSON), to be carried over; ``release`` tells which table it was made for.

    Raises :class:`PlanError` where the recoding is a local one.
    """
    if not isinstance(recoding, ByLevel):
        raise PlanError(LOCAL)
    content = {
        "format": FORMAT,
        "levels": dict(zip(problem.names, recoding.levels, strict=True)),
        "heights": {name: ladder.height for name, ladder in zip(problem.names, problem.ladders, strict=True)},
        "rules": _rules(problem.schema),
        "release": dict(release),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _rules(schema: Schema) -> dict[str, str]:
    """A digest of each hierarchy that is a rule, such as intervals; a list of values may grow by the next delivery."""
    hierarchies = {name: schema.columns[name].hierarchy for name in schema.quasi_identifiers}
    digests = {name: made.digest() for name, made in hierarchies.items() if isinstance(made, BaseHierarchy)}
    return {name: digest for name, digest in digests.items() if digest is not None}


@dataclass(frozen=True, kw_only=True)
class CarriedFacts(MethodFacts):
    """What is told of levels that were carried over: of which recoding they are."""

    at: MethodFacts
    recoding_sha256: str


@dataclass(frozen=True)
class Carried(Levels):
    """The levels of an earlier release; the hierarchies must be as high as they were then."""

    heights: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""

    def decide(self, problem: Problem) -> ByLevel:
        """See :class:`shoal.methods.base.Method`."""
        for name, ladder in zip(problem.names, problem.ladders, strict=True):
            if self.heights[name] != ladder.height:
                raise PlanError(
                    f"The hierarchy of column {name!r} had {self.heights[name]} levels when the recoding was kept, and "
                    f"has {ladder.height} now, so that its levels mean something else. Use the same hierarchy (for "
                    f"prefixes: give their length)."
                )
        recoding = super().decide(problem)
        return replace(recoding, facts=CarriedFacts(at=recoding.facts, recoding_sha256=self.digest))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See :class:`shoal.methods.base.Method`."""
        return {"levels": dict(self.levels), "suppression": self.suppression}


def carry_over(plan: Plan, path: Path) -> Plan:
    """The plan with the levels of a kept recoding in place of its method; its limit of suppression stays."""
    try:
        raw = path.read_bytes()
        content = json.loads(raw)
        levels, heights, rules = dict(content["levels"]), dict(content["heights"]), dict(content.get("rules", {}))
        whole = [*levels.values(), *heights.values()]
        if content["format"] != FORMAT or any(isinstance(n, bool) or not isinstance(n, int) for n in whole):
            raise ValueError
    except OSError as error:
        raise PlanError(f"The recoding {str(path)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PlanError(f"The file {str(path)!r} is not a recoding that shoal has kept.") from None
    asked, kept = set(plan.schema.quasi_identifiers), set(levels)
    if asked != kept or set(heights) != kept:
        # only names that the plan says are told: the file may be anything
        differ = sorted(name for name in asked ^ kept if name in plan.schema.columns)
        said = f"they differ in {', '.join(map(repr, differ[:5]))}" if differ else "the recoding has more of them"
        raise PlanError(f"The plan must have the quasi-identifiers that the recoding was made for; {said}.")
    now = _rules(plan.schema)
    changed = sorted(name for name in asked if rules.get(name) != now.get(name)) if "rules" in content else []
    if changed:
        raise PlanError(
            f"The hierarchy of column {changed[0]!r} is not the one of the recoding, so that its levels "
            f"mean something else. Use the same hierarchy, or make a new recoding."
        )
    suppression = getattr(plan.method, "suppression", 0.0)
    carried = Carried(levels, suppression, heights=heights, digest=hashlib.sha256(raw).hexdigest())
    return replace(plan, method=carried)


def lay_together(tables: Tables, released: Path, previous: Path, plan: Plan) -> dict[str, Any]:
    """The intersection attack on two releases, by the people of the plan's source: counts, no row."""
    from shoal.models import size_of_groups
    from shoal.risk.attacks_audits import audit_intersection
    from shoal.risk.matching import read_groups

    assert plan.source is not None
    schema = Schema({name: plan.schema.columns[name] for name in plan.schema.quasi_identifiers})
    k = size_of_groups(plan.models, 2)
    people = tables.rows(plan.source, schema.quasi_identifiers)
    now, then = read_groups(tables, released, schema), read_groups(tables, previous, schema)
    found = audit_intersection(now, then, people, schema, k)
    return {
        "people": found.people,
        "exposed": found.exposed,
        "crowd_below": k,
        "smallest_crowd": found.figures["smallest_crowd"],
        "left_out": found.figures["left_out"],
    }
