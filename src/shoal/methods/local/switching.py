"""Switching rows between groups of another method to meet the models.

Algorithm 2 of Sun, Wang, Truta, Li and Li, "(p+, α)-sensitive k-anonymity: a new enhanced privacy protection model",
2008: begin with a p-sensitive k-anonymous table, switch rows between its groups until each has p categories and weight
α, recode the new groups. The paper leaves open which rows to switch; here it is the switch of least additional loss
relative to the deficit that it removes.

A switch keeps the total weight and the number of groups. So if groups weigh less than α on average, switching alone
cannot succeed; groups that no switch can repair are merged. Termination is proven in
:mod:`shoal.methods.local.kernels.switching`: every switch lowers the deficit of the groups and keeps their number,
every merge lowers their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from threading import Event
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.methods.base import Problem, Quality, require_feasible, require_quasi_identifiers
from shoal.methods.full_domain.method import FullDomain
from shoal.methods.local.base import CuttingMethod, LocalLoss, LocalMethod, Start, Variant, start_method
from shoal.methods.local.lower_bounds import bound_recoding, effort_of
from shoal.methods.local.mondrian import label_kinds, ranks_of
from shoal.methods.local.top_down import TopDown
from shoal.methods.time_limits import answer_within, deadline_of, with_time_limit
from shoal.models import AllOf, combine, initial_models, make_model
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Number, Seconds, Weight
from shoal.schema import Schema
from shoal.table import ByGroup, MethodFacts, Recoding


@dataclass(frozen=True, kw_only=True)
class SwitchingFacts(MethodFacts):
    """The steps of switching; before and after refer to the first groups."""

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
    published: MethodFacts


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
        Whether the result is refined at the end, see :class:`shoal.methods.local.refine.Refine`; not with
        ``as-printed``.
    variant
        ``improved``, or ``as-printed``: Algorithm 2 of the paper. It starts from the full-domain table of least height,
        exchanges rows in pairs only, merges groups where no exchange helps, and refines nothing. For small tables: its
        time grows with the square of the rows.
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
    variant: Variant = "improved"
    name: ClassVar[str] = "switching"
    supports_scenarios: ClassVar[bool] = False

    def __post_init__(self) -> None:
        default = TopDown(self.loss, self.weights) if self.variant == "improved" else FullDomain(loss="height")
        object.__setattr__(self, "start", start_method(self.start, self.name, default))
        if (self.p is None) != (self.alpha is None):
            raise PlanError("method.switching-needs-p-and-alpha")

    def goal(self, model: AllOf) -> AllOf:
        """Return the models to reach: those of the plan, and (p+, α) if given."""
        if self.p is None or self.alpha is None:
            return model
        return combine((*model.parts, make_model("p-plus-alpha-sensitive", p=self.p, alpha=self.alpha)))

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, self.weights)
        self.start.check(schema, initial_models(self.goal(model)))

    @override
    def decide(self, problem: Problem) -> ByGroup:
        # A group that fails costs, for every switch, the pairs of its rows and the rows of near groups.
        return answer_within(self, self.time_limit, lambda found: self._decide(problem, found))

    def _decide(self, problem: Problem, found: Event) -> ByGroup:
        from shoal.methods.local.neighbourhood_search import improve_pieces
        from shoal.methods.local.problem import make_local_problem
        from shoal.methods.local.publish import pieces_of, publish_pieces, released_part
        from shoal.methods.local.search import loss_of, switch

        problem = replace(problem, model=self.goal(problem.model))
        problem.model.check(problem.frequencies.domains)
        require_feasible(problem)
        deadline = deadline_of(self.time_limit)
        start = self.start if self.time_limit is None else with_time_limit(self.start, self.time_limit / 2)
        recoding = start.decide(replace(problem, model=initial_models(problem.model)))
        part, started, rows = released_part(problem, recoding)
        ranks = ranks_of(part)
        kinds = label_kinds(part, getattr(self.start, "publish", {}), ranks)
        exact = getattr(self.start, "ranges", "round") == "exact"
        local = make_local_problem(part, kinds, self.loss, self.weights, ranks, exact=exact)
        pieces = pieces_of(local, started)
        before, groups = loss_of(local, pieces), len(pieces.start) - 1
        if self.variant == "improved":
            switched = switch(local, pieces)
        else:
            if any(kind != "ancestor" for kind in kinds):
                raise PlanError("method.as-printed-needs-hierarchies", start=self.start.name)
            from shoal.methods.local.printed_switching import switch_as_printed

            switched = switch_as_printed(local, pieces)
        pieces = switched.pieces
        found.set()
        if self.polish and self.variant == "improved":
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
            published=recoding.facts,
        )
        return replace(recoding, facts=facts)

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        problem = replace(problem, model=self.goal(problem.model))
        ranks, whole = ranks_of(problem), isinstance(self.start, CuttingMethod)
        kinds = label_kinds(problem, getattr(self.start, "publish", {}), ranks)
        return bound_recoding(
            problem, recoding, self.loss, self.weights, kinds, ranks, whole=whole, effort=effort_of(self)
        )

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        return {**super().parameters, "start": {"name": self.start.name, **self.start.parameters}}
