"""Demands of scenarios: implied by groups, or left to the method.

A crowd of a scenario is a union of groups if the scenario's intruder knows quasi-identifiers only and every released
row is in one group of equal labels. So a demand that is closed under union is implied if all groups meet it: nothing
needs to be searched, and verification counts the crowds. Other demands need a method that looks at the crowds itself.
"""

from __future__ import annotations

from dataclasses import replace

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.methods.base import Method, Problem
from shoal.methods.whole_table import decide_by_group_size, needs_group_sizes
from shoal.models import AllOf, InScenario, Model, partial_knowledge_models, scenario_models, without_scenarios
from shoal.schema import Schema
from shoal.table import Recoding


def is_implied(part: InScenario, model: AllOf, quasi: tuple[str, ...]) -> bool:
    """Return whether groups that meet a model meet a scenario's demand too.

    ``quasi`` are the quasi-identifiers, in all of which the rows of a group are equal.
    """
    knowledge = part.knowledge
    known = {*knowledge.columns, *(knowledge.further if knowledge.plus else ())}
    if not known <= set(quasi) or not part.closed_under_union:
        return False
    general = model.of_all_columns.parts
    if part.of_rows.sizes_only:
        return any(one.least >= part.least for one in general if _unit(one) == _unit(part.of))
    return part.of in general


def _unit(model: Model) -> tuple[str, int | None]:
    """Return what a model counts, and how many rows of a person are known."""
    return model.counts, getattr(model, "known_rows", 1)


def remaining_demands(method: Method, model: AllOf, schema: Schema) -> tuple[InScenario, ...]:
    """Return the demands of scenarios that a method's groups do not imply."""
    quasi, implies = schema.quasi_identifiers, method.forms_groups
    return tuple(part for part in scenario_models(model) if not (implies and is_implied(part, model, quasi)))


def require_scenarios_supported(method: Method, schema: Schema, model: AllOf) -> None:
    """Raise before any work where a method cannot meet the scenarios."""
    left = remaining_demands(method, model, schema)
    if not left:
        return
    if not method.supports_scenarios:
        from shoal.methods import METHODS

        serve = ", ".join(name for name, one in METHODS.items() if one.supports_scenarios)
        raise PlanError("method.not-for-scenarios", method=method.name, scenario=left[0].knowledge.title, allowed=serve)
    method.check_scenarios(schema, model)


def require_one_reading(method: Method, model: AllOf) -> None:
    """Raise where a model has another reading of hidden cells than scenarios."""
    if partial_knowledge_models(model):
        raise PlanError("scenarios.known-for-method", method=method.name)


def decide_recoding(method: Method, problem: Problem) -> Recoding:
    """Let a method decide, with the demands of scenarios where they matter."""
    if needs_group_sizes(method, problem.model):
        return decide_by_group_size(problem, lambda one: decide_recoding(method, one))
    if remaining_demands(method, problem.model, problem.schema):
        return method.decide_scenarios(problem)
    return method.decide(replace(problem, model=without_scenarios(problem.model)))


def bound_recoded_loss(method: Method, problem: Problem, recoding: Recoding) -> Bound | None:
    """Return a method's lower bound; None where scenarios demand more."""
    if remaining_demands(method, problem.model, problem.schema):
        return None
    return method.lower_bound(replace(problem, model=without_scenarios(problem.model)), recoding)
