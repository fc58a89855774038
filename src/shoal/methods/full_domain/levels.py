"""Full-domain recoding at given levels, with limited suppression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Ge
from typing_extensions import override

from shoal.errors import InfeasibleError, PlanError
from shoal.methods.base import (
    Method,
    Problem,
    failures_of,
    require_feasible,
    require_quasi_identifiers,
    row_limit,
    suppress_failing,
)
from shoal.models import AllOf, partial_knowledge_models
from shoal.runtime.validation import Share
from shoal.schema import Schema
from shoal.table import ByLevel, Groups
from shoal.table.method_facts import LevelFacts
from shoal.table.population import group_at_levels


@dataclass(frozen=True)
class Levels(Method):
    """Recode every quasi-identifier at a given level of its hierarchy.

    Those that are not named stay at level 0.

    Parameters
    ----------
    levels
        The level of each quasi-identifier by name; 0 is the value itself.
    suppression
        The largest part of the rows that may be left out, as groups that fail the models.
    """

    levels: Mapping[str, Annotated[int, Ge(0)]] = field(default_factory=dict)
    suppression: Share = 0.0
    removed_parameters: ClassVar[tuple[str, ...]] = ("quality",)
    name: ClassVar[str] = "levels"
    supports_partial_knowledge: ClassVar[bool] = True
    supports_scenarios: ClassVar[bool] = True
    supports_linked_rows: ClassVar[bool] = True
    judges_whole_table: ClassVar[bool] = True

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, self.levels, "A level is given for column")
        require_all_rows(self.name, self.suppression, model)

    @override
    def decide(self, problem: Problem) -> ByLevel:
        # Time n log n for n distinct combinations.
        levels = []
        for name, ladder in zip(problem.names, problem.ladders, strict=True):
            level = self.levels.get(name, 0)
            if level > ladder.height:
                raise PlanError("method.level-not-in-hierarchy", column=name, highest=ladder.height, found=level)
            levels.append(level)
        if not self.suppression:
            require_feasible(problem)
        return recode_at(problem, tuple(levels), self.suppression)


def require_all_rows(method: str, suppression: float, model: AllOf) -> None:
    """Raise where rows are to be suppressed under models that forbid it.

    For models of partial knowledge or linked rows, other methods hide cells or single rows instead of groups.
    """
    if suppression and partial_knowledge_models(model):
        raise PlanError("method.suppression-with-known", method=method, suppression=suppression)
    if suppression and any(part.requires_people for part in model.parts):
        raise PlanError("method.suppression-with-linked-rows", method=method, suppression=suppression)


def recode_at(problem: Problem, levels: tuple[int, ...], suppression: float) -> ByLevel:
    """Return the recoding at some levels, or raise with the models that fail."""
    frequencies = problem.frequencies
    inverse, groups = group_at_levels(frequencies, problem.ladders, levels)
    failures: tuple[InfeasibleError, ...] = ()
    if problem.model.of_some_columns:
        from shoal.methods.full_domain.partial_knowledge import ColumnSetChecks, suppress_crowds

        failures = tuple(
            InfeasibleError("models.fails-in-column-sets", model=part, failing=bad, sets=sets)
            for part, bad, sets in ColumnSetChecks(problem).failing(levels)
        )
        if failures and not suppression:
            raise InfeasibleError("method.levels-too-low", reason=failures)
    if failures:
        found = suppress_crowds(problem, levels)
        group, rest = found.group, found.groups
    else:
        model = problem.model.of_all_columns
        group, rest = suppress_failing(frequencies, inverse, groups.count, model, groups.people_of)
    suppressed = frequencies.rows - rest.rows
    if suppressed > row_limit(suppression, frequencies.rows) or rest.rows == 0:
        raise _failure(problem, groups, failures, suppressed, suppression)
    return ByLevel(levels, group, LevelFacts(levels=dict(zip(problem.names, levels, strict=True))))


def _failure(
    problem: Problem, groups: Groups, in_sets: tuple[InfeasibleError, ...], suppressed: int, limit: float
) -> InfeasibleError:
    rows = problem.frequencies.rows
    failures = (*failures_of(problem.model.of_all_columns, groups), *in_sets)
    if any(model.requires_people for model in problem.model.parts):
        return InfeasibleError("method.levels-fail-for-people", failures=failures)
    return InfeasibleError(
        "method.levels-fail",
        failures=failures,
        suppressed=suppressed,
        rows=rows,
        share=suppressed / rows,
        limit=limit,
    )
