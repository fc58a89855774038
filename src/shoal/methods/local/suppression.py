"""Local suppression: single cells become `*`, as few as possible.

No value is generalized. What is safe depends on what `*` means to a reader, and there are two readings:

* **strict** (the default): `*` is a value of its own and matches only `*`. A group consists of the rows that show the
  same, stars included, and every model can be met. Groups are found from the top down on hierarchies of two levels (the
  value, and `*`) and then refined; the loss is the number of stars, each weighted by the importance of its column.
* **loose**, only on request: `*` may stand for any value. Only k-anonymity has such a reading. An intruder who knows a
  person's values finds at least k released rows that can be the person's (they show nothing that differs), and an
  intruder who looks at a released row finds at least k people who can be behind it. Both are counted by means of the
  original, and the certificate reports the smaller number. It differs from the count of sdcMicro, where two rows match
  as soon as neither shows a value that the other contradicts: there, a row with stars helps rows that cannot be its
  own.

For an intruder with partial knowledge (:mod:`shoal.models.partial_knowledge`) a star shows nothing, and cells are
hidden as in :mod:`shoal.methods.local.hidden_cells`, with every column at its values.

The loose reading starts from the strict groups, which meet it, and removes unnecessary stars, those of the most
important column first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.methods.base import Problem, Quality, require_feasible, require_quasi_identifiers
from shoal.methods.local.base import LocalMethod
from shoal.methods.local.hidden_cells import require_partial_knowledge
from shoal.methods.local.lower_bounds import all_levels, bound_cells, bound_recoding, effort_of
from shoal.methods.time_limits import deadline_of
from shoal.models import AllOf, partial_knowledge_models
from shoal.runtime.validation import Seconds, Weight
from shoal.schema import TOP, Schema
from shoal.table import ByGroup, Recoding


@dataclass(frozen=True)
class LocalSuppression(LocalMethod):
    """Suppress single cells.

    Parameters
    ----------
    importance
        How much a suppressed cell of a column counts; 1 where nothing is said. The dearer a column, the fewer stars.
    missing
        ``strict``: `*` matches only `*`. ``loose``: `*` may stand for any value (k-anonymity only).
    time_limit
        Seconds after which the stars so far are taken. The result then depends on the machine.
    quality
        See :class:`shoal.methods.local.refine.Refine`. For models of few known columns it changes nothing.
    """

    importance: Mapping[str, Weight] = field(default_factory=dict)
    missing: Literal["strict", "loose"] = "strict"
    time_limit: Seconds | None = None
    quality: Quality | None = None
    name: ClassVar[str] = "local-suppression"
    anytime: ClassVar[bool] = True
    supports_partial_knowledge: ClassVar[bool] = True

    @property
    @override
    def wildcard(self) -> str | None:
        return TOP if self.missing == "loose" else None

    @property
    @override
    def why_not_people(self) -> str | None:
        if self.missing == "strict":
            return None
        return "the loose reading of suppressed cells counts rows. Set missing = 'strict'."

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, self.importance)
        if partial_knowledge_models(model):
            if self.missing == "loose":
                raise PlanError("method.loose-with-known")
            require_partial_knowledge(self.name, model)
        if self.missing == "loose" and not model.sizes_only:
            raise PlanError("method.loose-needs-k-anonymity")

    @override
    def decide(self, problem: Problem) -> ByGroup:
        # Strict: time close to n log n for n distinct combinations.
        # Loose: n more for each set of columns that rows show.
        require_feasible(problem)
        if partial_knowledge_models(problem.model):
            from shoal.methods.local.hidden_cells_search import hide_cells

            bottom = (0,) * len(problem.ladders)
            return hide_cells(problem, bottom, bottom, self.importance, self.time_limit)
        from shoal.methods.local.suppression_search import suppress_loosely, suppress_strictly

        decide = suppress_loosely if self.missing == "loose" else suppress_strictly
        return decide(problem, self.importance, deadline_of(self.time_limit), self.quality)

    @override
    def check_scenarios(self, schema: Schema, model: AllOf) -> None:
        if self.missing == "loose":
            raise PlanError("method.loose-with-scenarios")
        super().check_scenarios(schema, model)

    @override
    def decide_scenarios(self, problem: Problem) -> Recoding:
        from shoal.methods.local.scenario_stages import decide_in_stages
        from shoal.methods.local.strict_cells import hide_cells_strictly
        from shoal.methods.local.suppression_search import with_stars

        bottom = (0,) * len(problem.ladders)
        return decide_in_stages(
            self,
            problem,
            with_stars(problem).ladders,
            lambda problem: hide_cells_strictly(problem, bottom, bottom, self.importance, self.time_limit),
        )

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        # The loss of a suppressed cell is the importance of its column.
        from shoal.methods.local.suppression_search import with_stars

        starred = with_stars(problem)
        if partial_knowledge_models(problem.model):
            return bound_cells(starred, recoding, "precision", self.importance, all_levels(starred.ladders))
        # under the loose reading k people are behind every row, but the rows of the others may show more
        effort = effort_of(self) if self.missing == "strict" else 0
        return bound_recoding(starred, recoding, "precision", self.importance, effort=effort)
