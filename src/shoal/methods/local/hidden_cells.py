"""Levels, then hidden cells: what loses least where an intruder knows few of many columns.

Every quasi-identifier is shown at one moderate level of its hierarchy; then, row by row, the cells are hidden that the
row's rare combinations have in common. Where an intruder knows at most m columns, or one of some key sets, a row need
not look like others in all its columns, and a rare value need not cost its whole column a level. Levels are chosen
together with the hiding: see :mod:`shoal.methods.local.hidden_cells_search`. What is promised is in :mod:`shoal.models.partial_knowledge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Ge

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.methods.base import Method, Problem, Quality, require_quasi_identifiers
from shoal.methods.local.lower_bounds import bound_cells, levels_between
from shoal.models import AllOf, Limited, limited
from shoal.runtime.validation import Seconds, Weight
from shoal.schema import Schema
from shoal.table import ByCell, Recoding

__all__ = ["HiddenCells", "require_few"]

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
    serves_few: ClassVar[bool] = True

    def check(self, schema: Schema, model: AllOf) -> None:
        """See :class:`shoal.methods.base.Method`."""
        require_quasi_identifiers(schema, (*self.levels, *self.importance))
        require_few(self.name, model)

    def decide(self, problem: Problem) -> ByCell:
        """See :class:`shoal.methods.base.Method`. Each try of levels counts every set of columns a few times."""
        from shoal.methods.full_domain.method import level_bounds
        from shoal.methods.local.hidden_cells_search import hide_cells

        lowest, highest = level_bounds(self.levels, problem)
        return hide_cells(problem, lowest, highest, self.importance, self.time_limit, self.quality)

    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        """See :class:`shoal.methods.base.Method`."""
        from shoal.methods.full_domain.method import level_bounds

        levels = levels_between(*level_bounds(self.levels, problem))
        return bound_cells(problem, recoding, "ncp", self.importance, levels)


def require_few(method: str, model: AllOf) -> None:
    """Raise unless every model is for an intruder who knows few of the columns."""
    plain = [part for part in model.parts if not isinstance(part, Limited)]
    if plain or not limited(model):
        found = f"{plain[0].name} binds all columns at once" if plain else "there is no model"
        raise PlanError(
            f"The method {method} hides cells for an intruder who knows few columns: every model must say 'known', or "
            f"the plan have [[keys]]; found that {found}. Add known = 2 or 3, or use full-domain, which serves both."
        )
