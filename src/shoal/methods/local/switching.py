"""Switching rows between the groups of another method until they meet the models.

Algorithm 2 of Sun, Wang, Truta, Li and Li, "(p+, α)-sensitive k-anonymity: a new enhanced privacy protection model",
2008: begin with a p-sensitive k-anonymous table, switch rows between its groups until each has p categories and weight
α, recode the new groups. The paper leaves open which rows; here it is the switch of least extra loss by what it mends.

A switch keeps the total weight and the number of groups, so that where groups weigh less than α on average no switching
ends well; groups that no switch can mend are merged. That this always ends is
shown in :mod:`shoal.methods.local.kernels.switching`: every switch lowers what the groups lack and leaves their number,
every merge lowers their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.methods.base import Problem, Quality, require_feasible, require_quasi_identifiers
from shoal.methods.local.base import CuttingMethod, LocalLoss, LocalMethod, Start, start_method
from shoal.methods.local.lower_bounds import bound_recoding, effort_of
from shoal.methods.local.mondrian import ranks_of, shown_by
from shoal.methods.local.top_down import TopDown
from shoal.methods.time_limits import answer_within, deadline_of, within
from shoal.models import AllOf, combine, make_model, starting
from shoal.runtime.validation import Number, Seconds, Weight
from shoal.schema import Schema
from shoal.table import ByGroup, MethodFacts, Recoding

__all__ = ["Switching"]


@dataclass(frozen=True, kw_only=True)
class SwitchingFacts(MethodFacts):
    """What was switched between groups until all met the models; before and after are those of the first groups."""

    start: str
    groups_before: int
    failing_groups_before: int
    failing_rows_before: int
    switches: int
    exchanged: int
    taken_over: int
    merges: int
    loss_before: float
    loss_after: float
    shown: MethodFacts


@dataclass(frozen=True)
class Switching(LocalMethod):
    """Switch rows between groups until all meet the models.

    Parameters
    ----------
    p, alpha
        The (p+, α) model to reach, beside the plan's models; both or neither.
    start
        The method that forms the first groups, see :class:`shoal.methods.local.refine.Refine`; top-down by default.
        The first groups meet k-anonymity and p-sensitivity only, as in the paper: see :func:`weaker`.
    polish
        Whether the result is refined at the end, see :class:`shoal.methods.local.refine.Refine`.
    loss, weights
        See :class:`shoal.methods.local.top_down.TopDown`.
    quality
        How long the result is refined, see :class:`shoal.methods.local.refine.Refine`.
    time_limit
        Seconds after which groups are refined no further; an error where they do not all meet the models by then.
    """

    p: Annotated[int, Ge(1)] | None = None
    alpha: Annotated[Number, Ge(0)] | None = None
    start: Start = None
    polish: bool = True
    loss: LocalLoss = "ncp"
    weights: Mapping[str, Weight] = field(default_factory=dict)
    time_limit: Seconds | None = None
    quality: Quality | None = None
    name: ClassVar[str] = "switching"

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", start_method(self.start, self.name, TopDown(self.loss, self.weights)))
        if (self.p is None) != (self.alpha is None):
            raise PlanError("Switching takes both p and alpha, or neither: then the plan's models say what to reach.")

    def goal(self, model: AllOf) -> AllOf:
        """The models to reach: those of the plan, and (p+, α) where it is given."""
        if self.p is None or self.alpha is None:
            return model
        return combine((*model.parts, make_model("p-plus-alpha-sensitive", p=self.p, alpha=self.alpha)))

    def check(self, schema: Schema, model: AllOf) -> None:
        """See :class:`shoal.methods.base.Method`."""
        require_quasi_identifiers(schema, self.weights)
        self.start.check(schema, starting(self.goal(model)))

    def decide(self, problem: Problem) -> ByGroup:
        """See :class:`shoal.methods.base.Method`.

        A group that fails costs the pairs of its rows and those of its near groups for every switch.
        """
        return answer_within(self, self.time_limit, lambda found: self._decide(problem, found))

    def _decide(self, problem: Problem, found: Event) -> ByGroup:
        from shoal.methods.local.neighbourhood_search import improve_pieces
        from shoal.methods.local.problem import make_local_problem
        from shoal.methods.local.publish import kept_part, pieces_of, publish_pieces
        from shoal.methods.local.search import loss_of, switch

        problem = replace(problem, model=self.goal(problem.model))
        problem.model.check(problem.frequencies.domains)
        require_feasible(problem)
        deadline = deadline_of(self.time_limit)
        start = self.start if self.time_limit is None else within(self.start, self.time_limit / 2)
        recoding = start.decide(replace(problem, model=starting(problem.model)))
        part, started, rows = kept_part(problem, recoding)
        ranks = ranks_of(part)
        shown = shown_by(part, getattr(self.start, "publish", {}), ranks)
        exact = getattr(self.start, "ranges", "round") == "exact"
        local = make_local_problem(part, shown, self.loss, self.weights, ranks, exact=exact)
        pieces = pieces_of(local, started)
        before, groups = loss_of(local, pieces), len(pieces.start) - 1
        switched = switch(local, pieces)
        pieces = switched.pieces
        found.set()
        if self.polish:
            pieces = improve_pieces(local, pieces, self.quality, deadline, problem.seed).pieces
        recoding = publish_pieces(local, pieces, rows)
        facts = SwitchingFacts(
            start=self.start.name,
            groups_before=groups,
            failing_groups_before=switched.failing_groups,
            failing_rows_before=switched.failing_rows,
            switches=switched.exchanged + switched.taken_over,
            exchanged=switched.exchanged,
            taken_over=switched.taken_over,
            merges=switched.merges,
            loss_before=before,
            loss_after=loss_of(local, pieces),
            shown=recoding.facts,
        )
        return replace(recoding, facts=facts)

    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        """See :class:`shoal.methods.base.Method`."""
        problem = replace(problem, model=self.goal(problem.model))
        ranks, whole = ranks_of(problem), isinstance(self.start, CuttingMethod)
        shown = shown_by(problem, getattr(self.start, "publish", {}), ranks)
        return bound_recoding(
            problem, recoding, self.loss, self.weights, shown, ranks, whole=whole, effort=effort_of(self)
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See :class:`shoal.methods.base.Method`."""
        return {**super().parameters, "start": {"name": self.start.name, **self.start.parameters}}
