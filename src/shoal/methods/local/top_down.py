"""Top-down specialization: the local recoding of the (p, α) paper.

It serves any models and any number of columns. Section 5.2 of Sun, Wang, Li and Truta, "Enhanced p-sensitive
k-anonymity models for privacy preserving data publishing", 2008. All rows start as one group, fully generalized. A
group is specialized along one column: its rows go to the children of the label that they share. Children that fail the
models give their rows back. If these rows fail too, single rows are borrowed from children that stay valid without
them; if that is not enough, they take in the smallest child. A specialization that leaves no valid child is not made.
So no group ever fails.

The next column is the one with the least loss, or with the largest decrease of the loss per information that its cut
uses up (``choose``); ties go to fewer branches, then to the order of columns.

Beyond the paper, rows that were given back are not final: they are specialized along other columns, where that pays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.methods.base import Problem, Quality, require_feasible, require_quasi_identifiers
from shoal.methods.local.base import Choice, CuttingMethod, LocalLoss, Variant
from shoal.methods.local.lower_bounds import bound_recoding, effort_of
from shoal.models import AllOf
from shoal.runtime.validation import Seconds, Weight
from shoal.schema import Schema
from shoal.table import Recoding

if TYPE_CHECKING:
    from shoal.methods.local.problem import LocalProblem, Pieces


@dataclass(frozen=True)
class TopDown(CuttingMethod):
    """Recode from the top down, borrowing rows for remainders that would fail.

    Parameters
    ----------
    loss
        What is minimized: ncp (the part of the domain that a value covers), granularity (the same with ARX's weights),
        distortion-ratio (levels, as the paper counts them) or precision.
    weights
        How much each column counts; 1 where nothing is said.
    choose
        The rule for the next column: loss, rate, or best, which tries both at once and keeps the better result.
    time_limit
        Seconds after which the groups so far are taken. The result then depends on the machine.
    quality
        ``fast``: as without it. ``good`` and ``best``: rows are moved between groups, and neighbouring groups formed
        again, for longer and longer; see docs/bounds.md.
    variant
        ``improved``, or ``as-printed``: the algorithm of the paper, see
        :mod:`shoal.methods.local.printed_top_down`. For small tables. It has one rule for the next column and is not
        improved afterwards: ``choose`` and ``quality`` must be left out.

    Examples
    --------
    >>> TopDown(loss="distortion-ratio").parameters["choose"]
    'best'
    """

    loss: LocalLoss = "ncp"
    weights: Mapping[str, Weight] = field(default_factory=dict)
    choose: Choice = "best"
    time_limit: Seconds | None = None
    quality: Quality | None = None
    variant: Variant = "improved"
    name: ClassVar[str] = "top-down"
    anytime: ClassVar[bool] = True

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, self.weights)
        if self.variant == "as-printed" and (self.improves or self.choose != "best"):
            raise PlanError("method.as-printed-without-choice")

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        return bound_recoding(problem, recoding, self.loss, self.weights, effort=effort_of(self, 0))

    @override
    def partition(self, problem: Problem, deadline: float | None = None) -> tuple[LocalProblem, Pieces]:
        from shoal.methods.local.problem import make_local_problem
        from shoal.methods.local.search import cut_pieces

        require_feasible(problem)
        local = make_local_problem(problem, loss=self.loss, weights=self.weights)
        if self.variant == "as-printed":
            from shoal.methods.local.printed_top_down import cut_as_printed

            return local, cut_as_printed(local, deadline)
        return local, cut_pieces(local, local.whole(), strict=False, choose=self.choose, deadline=deadline)
