"""Refinement of a recoding to less loss.

Rows move to other groups or change places with rows of other groups, groups are dissolved into their neighbours, and
groups that have become large are cut, as long as the loss falls and every group meets the models. It ends where no such
change is found (a local optimum) or at a time limit. See :mod:`shoal.methods.local.kernels.exchange`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from shoal.bounds import Bound
from shoal.methods.base import Problem, Quality, require_quasi_identifiers
from shoal.methods.local.base import CuttingMethod, LocalLoss, LocalMethod, Start, start_method
from shoal.methods.local.lower_bounds import bound_recoding, effort_of
from shoal.methods.local.mondrian import LabelKind, Mondrian, label_kinds, ranks_of
from shoal.methods.local.top_down import TopDown
from shoal.methods.time_limits import deadline_of, with_time_limit
from shoal.models import AllOf
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Seconds, Weight
from shoal.schema import Schema
from shoal.schema.tree_hierarchies import Ranges
from shoal.table import ByGroup, MethodFacts, Recoding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class RefineFacts(MethodFacts):
    """The number of changes to the groups of another method, and the gain."""

    start: str
    changes: int
    loss_before: float
    loss_after: float
    local_optimum: bool
    published: MethodFacts


@dataclass(frozen=True)
class Refine(LocalMethod):
    """Lower the loss of another method's groups by moving and exchanging rows.

    Parameters
    ----------
    start
        The method whose groups are refined: an object, a name, or a table with name and parameters; top-down by
        default. Rows that it leaves out stay out.
    loss, weights
        See :class:`shoal.methods.local.top_down.TopDown`.
    publish
        What groups show, by column, see :class:`shoal.methods.local.mondrian.Mondrian`; as that method does by default.
    ranges
        Where ranges end, see :class:`shoal.methods.local.mondrian.Mondrian`; as the start says by default.
    time_limit
        Seconds after which the best groups so far are taken. The result then depends on the machine.
    quality
        ``fast``: as without it. ``good`` and ``best``: neighbouring groups are formed again, for longer and longer.

    Examples
    --------
    >>> Refine(start={"name": "mondrian", "strict": False}).start.strict
    False
    """

    start: Start = None
    loss: LocalLoss = "ncp"
    weights: Mapping[str, Weight] = field(default_factory=dict)
    publish: Mapping[str, LabelKind] = field(default_factory=dict)
    time_limit: Seconds | None = None
    ranges: Ranges | None = None
    quality: Quality | None = None
    name: ClassVar[str] = "refine"
    anytime: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", start_method(self.start, self.name, TopDown(self.loss, self.weights)))

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, self.weights)
        require_quasi_identifiers(schema, self.publish)
        self.start.check(schema, model)

    @override
    def decide(self, problem: Problem) -> ByGroup:
        # A pass takes time in proportion to the distinct combinations.
        from shoal.methods.local.neighbourhood_search import improve_pieces
        from shoal.methods.local.problem import make_local_problem
        from shoal.methods.local.publish import pieces_of, publish_pieces, released_part
        from shoal.methods.local.search import loss_of

        deadline = deadline_of(self.time_limit)
        exact = (self.ranges or getattr(self.start, "ranges", "round")) == "exact"
        ranks = ranks_of(problem)
        kinds = self._kinds(problem, ranks)
        if isinstance(self.start, CuttingMethod):  # no row is suppressed, and the items are the same
            _, pieces = self.start.partition(problem, deadline)
            local, rows = make_local_problem(problem, kinds, self.loss, self.weights, ranks, exact=exact), None
        else:
            start = self.start if self.time_limit is None else with_time_limit(self.start, self.time_limit / 2)
            part, started, rows = released_part(problem, start.decide(problem))
            local = make_local_problem(part, kinds, self.loss, self.weights, ranks, exact=exact)
            pieces = pieces_of(local, started)
        before = loss_of(local, pieces)
        refined = improve_pieces(local, pieces, self.quality, deadline, problem.seed)
        recoding = publish_pieces(local, refined.pieces, rows)
        facts = RefineFacts(
            start=self.start.name,
            changes=refined.changes,
            loss_before=before,
            loss_after=loss_of(local, refined.pieces),
            local_optimum=refined.finished,
            published=recoding.facts,
        )
        return replace(recoding, facts=facts)

    def _kinds(self, problem: Problem, ranks: list[npt.NDArray[np.int32] | None]) -> list[LabelKind]:
        publish = {**(self.start.publish if isinstance(self.start, Mondrian) else {}), **self.publish}
        return label_kinds(problem, publish, ranks)

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        ranks, whole = ranks_of(problem), isinstance(self.start, CuttingMethod)
        kinds = self._kinds(problem, ranks)
        return bound_recoding(
            problem, recoding, self.loss, self.weights, kinds, ranks, whole=whole, effort=effort_of(self)
        )

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        return {**super().parameters, "start": {"name": self.start.name, **self.start.parameters}}
