"""Levels and hidden cells, for an intruder with partial knowledge.

Every quasi-identifier is published at one moderate level of its hierarchy; then, row by row, the cells are hidden that
the row's rare combinations have in common. Where an intruder knows at most m columns, or one of some key sets, a row
need not match others in all its columns, and a rare value need not raise the level of its whole column. Levels are
chosen together with the hidden cells: see :mod:`shoal.methods.local.hidden_cells_search`. The guarantee is defined in
:mod:`shoal.models.partial_knowledge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Ge
from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.methods.base import Method, Problem, Quality, require_quasi_identifiers
from shoal.methods.local.lower_bounds import bound_cells, levels_between
from shoal.methods.scenarios import require_one_reading
from shoal.models import AllOf, partial_knowledge_models
from shoal.runtime.validation import Seconds, Weight
from shoal.schema import Schema
from shoal.table import ByCell, Recoding

Level = Annotated[int, Ge(0)]


@dataclass(frozen=True)
class HiddenCells(Method):
    """Show each column at one level, and hide single cells.

    Parameters
    ----------
    levels
        Bounds of levels by column: a number fixes the level, a pair gives the lowest and the highest.
    importance
        How much a column counts; 1 where nothing is said. The dearer a column, the fewer of its cells are hidden.
    time_limit
        Seconds after which no other levels are tried, and whole columns are hidden where sets of columns still fail.
        Without it, so many levels are tried as a fixed amount of work allows.
    quality
        How many levels are tried: ``fast`` five at most, ``good`` as without it sixteen at most, ``best`` four times
        as many, with ten times the work.
    """

    levels: Mapping[str, Level | tuple[Level, Level]] = field(default_factory=dict)
    importance: Mapping[str, Weight] = field(default_factory=dict)
    time_limit: Seconds | None = None
    quality: Quality | None = None
    name: ClassVar[str] = "hidden-cells"
    supports_partial_knowledge: ClassVar[bool] = True
    supports_scenarios: ClassVar[bool] = True

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, (*self.levels, *self.importance))
        if model.parts:  # without any, the demands of scenarios are all
            require_partial_knowledge(self.name, model)

    @override
    def check_scenarios(self, schema: Schema, model: AllOf) -> None:
        require_one_reading(self, model)

    @override
    def decide(self, problem: Problem) -> ByCell:
        # Each choice of levels counts every set of columns a few times.
        from shoal.methods.full_domain.method import level_bounds
        from shoal.methods.local.hidden_cells_search import hide_cells

        lowest, highest = level_bounds(self.levels, problem)
        return hide_cells(problem, lowest, highest, self.importance, self.time_limit, self.quality)

    @override
    def decide_scenarios(self, problem: Problem) -> ByCell:
        from shoal.methods.full_domain.method import level_bounds
        from shoal.methods.local.strict_cells import hide_cells_strictly

        lowest, highest = level_bounds(self.levels, problem)
        return hide_cells_strictly(problem, lowest, highest, self.importance, self.time_limit, self.quality)

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        from shoal.methods.full_domain.method import level_bounds

        levels = levels_between(*level_bounds(self.levels, problem))
        return bound_cells(problem, recoding, "ncp", self.importance, levels)


def require_partial_knowledge(method: str, model: AllOf) -> None:
    """Raise unless every model is for an intruder with partial knowledge."""
    plain = model.of_all_columns.parts
    if plain or not partial_knowledge_models(model):
        found = f"{plain[0].name} binds all columns at once" if plain else "there is no model"
        raise PlanError("method.needs-known", method=method, found=found)
