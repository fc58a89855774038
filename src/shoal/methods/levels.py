"""Full-domain recoding at levels that the user gives, with record suppression up to a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Ge

from shoal.checked import Share
from shoal.encoding import ByLevel, Groups, recode_codes
from shoal.errors import InfeasibleError, PlanError
from shoal.methods.base import Method, Problem, require_feasible, row_limit, suppress_failing
from shoal.models import AllOf
from shoal.schema import Schema

__all__ = ["Levels", "recode_at"]


@dataclass(frozen=True)
class Levels(Method):
    """Every quasi-identifier at a given level of its hierarchy; those not named stay at level 0.

    Groups that fail the models are left out, if together they are at most ``suppression`` of the rows.
    """

    levels: Mapping[str, Annotated[int, Ge(0)]] = field(default_factory=dict)
    suppression: Share = 0.0
    name: ClassVar[str] = "levels"

    def check(self, schema: Schema, model: AllOf) -> None:
        """See :class:`shoal.methods.base.Method`."""
        for column in self.levels:
            if column not in schema.quasi_identifiers:
                raise PlanError(f"A level is given for column {column!r}, which is not a quasi-identifier of the plan.")

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


def recode_at(problem: Problem, levels: tuple[int, ...], suppression: float) -> ByLevel:
    """The recoding at some levels, or an error that says what fails there."""
    frequencies = problem.frequencies
    inverse, groups = frequencies.group(*recode_codes(frequencies.codes, problem.ladders, levels))
    kept, rest = suppress_failing(frequencies, inverse, groups.count, problem.model)
    suppressed = frequencies.rows - rest.rows
    if suppressed > row_limit(suppression, frequencies.rows) or rest.rows == 0:
        raise InfeasibleError(_why(problem, groups, suppressed, suppression))
    return ByLevel(levels, kept, {"levels": dict(zip(problem.names, levels, strict=True))})


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
    return (
        f"At these levels {'; '.join(failing)}. Leaving failing groups out would cost {suppressed} of {rows} rows "
        f"({suppressed / rows:.2%}), above the limit of {limit:.2%}. Choose higher levels, raise the suppression "
        f"limit, or lower the model's parameters."
    )
