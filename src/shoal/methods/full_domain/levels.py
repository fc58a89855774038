"""Full-domain recoding at levels that the user gives, leaving out rows up to a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Ge

from shoal.errors import InfeasibleError, PlanError
from shoal.methods.base import (
    Method,
    Problem,
    Quality,
    require_feasible,
    require_quasi_identifiers,
    row_limit,
    suppress_failing,
)
from shoal.models import AllOf, limited
from shoal.runtime.validation import Share
from shoal.schema import Schema
from shoal.table import ByLevel, Groups, recode_codes
from shoal.table.method_facts import AtLevels

__all__ = ["Levels", "recode_at"]


@dataclass(frozen=True)
class Levels(Method):
    """Every quasi-identifier at a given level of its hierarchy; those not named stay at level 0.

    Parameters
    ----------
    levels
        The level of each quasi-identifier by name; 0 is the value itself.
    suppression
        The largest part of the rows that may be left out, as groups that fail the models.
    quality
        Changes nothing: the levels are given.
    """

    levels: Mapping[str, Annotated[int, Ge(0)]] = field(default_factory=dict)
    suppression: Share = 0.0
    quality: Quality | None = None
    name: ClassVar[str] = "levels"
    serves_few: ClassVar[bool] = True
    serves_linked: ClassVar[bool] = True

    def check(self, schema: Schema, model: AllOf) -> None:
        """See :class:`shoal.methods.base.Method`."""
        require_quasi_identifiers(schema, self.levels, "A level is given for column")
        require_all_rows(self.name, self.suppression, model)

    def decide(self, problem: Problem) -> ByLevel:
        """See :class:`shoal.methods.base.Method`. Time n log n for n distinct combinations."""
        levels = []
        for name, ladder in zip(problem.names, problem.ladders, strict=True):
            level = self.levels.get(name, 0)
            if level > ladder.height:
                raise PlanError(
                    f"The level of column {name!r} must be a whole number from 0 to {ladder.height}; found {level!r}."
                )
            levels.append(level)
        if not self.suppression:
            require_feasible(problem)
        return recode_at(problem, tuple(levels), self.suppression)


def require_all_rows(method: str, suppression: float, model: AllOf) -> None:
    """Raise where rows shall be left out for models that ask for few columns: then cells are hidden, not rows."""
    if suppression and limited(model):
        raise PlanError(
            f"With 'known' or [[keys]] the method {method} leaves no rows out: suppression must be 0; found "
            f"{suppression}. The method hidden-cells hides single cells instead."
        )
    if suppression and any(part.only_people for part in model.parts):
        raise PlanError(
            f"Where rows of a person can be linked, the method {method} leaves no group out, for that changes what is "
            f"known of many: suppression must be 0; found {suppression}. The method facts-suppression leaves out "
            "single rows of people instead."
        )


def recode_at(problem: Problem, levels: tuple[int, ...], suppression: float) -> ByLevel:
    """The recoding at some levels, or an error that says what fails there."""
    if limited(problem.model):
        from shoal.methods.full_domain.partial_knowledge import FewColumns, without_few

        failing = FewColumns(problem).failing(levels)
        if failing:
            told = "; ".join(f"{part} fails in {bad} of {sets} sets of columns" for part, bad, sets in failing)
            raise InfeasibleError(
                f"At these levels {told}. Choose higher levels, lower the model's parameters, or use hidden-cells."
            )
        problem = without_few(problem)
    frequencies = problem.frequencies
    inverse, groups = frequencies.group(*recode_codes(frequencies.codes, problem.ladders, levels))
    kept, rest = suppress_failing(frequencies, inverse, groups.count, problem.model)
    suppressed = frequencies.rows - rest.rows
    if suppressed > row_limit(suppression, frequencies.rows) or rest.rows == 0:
        raise InfeasibleError(_why(problem, groups, suppressed, suppression))
    return ByLevel(levels, kept, AtLevels(levels=dict(zip(problem.names, levels, strict=True))))


def _why(problem: Problem, groups: Groups, suppressed: int, limit: float) -> str:
    rows = problem.frequencies.rows
    failing = []
    for model in problem.model.parts:
        verdict = model.assess(groups)
        if not verdict.holds.all():
            reached = ", ".join(f"{key} = {value:.6g}" for key, value in verdict.effective.items())
            failing.append(
                f"{model} fails in {int((~verdict.holds).sum())} of {groups.count} groups (reached: {reached})"
            )
    if any(model.only_people for model in problem.model.parts):
        return (
            f"At these levels {'; '.join(failing)}, where a group fails that has a row of somebody who is not hidden. "
            "Choose higher levels, lower the models' parameters, or use the method facts-suppression, which leaves out "
            "single rows of people."
        )
    return (
        f"At these levels {'; '.join(failing)}. Leaving failing groups out would cost {suppressed} of {rows} rows "
        f"({suppressed / rows:.2%}), above the limit of {limit:.2%}. Choose higher levels, raise the suppression "
        f"limit, or lower the model's parameters."
    )
