"""Full-domain recoding of least loss, found exactly.

Section 5.1 of Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity models", 2008, extends Incognito (LeFevre,
DeWitt and Ramakrishnan, 2005) to (p, α) and (p+, α). The search itself is in
:mod:`shoal.methods.full_domain.exhaustive`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Annotated, ClassVar

from annotated_types import Ge
from typing_extensions import override

from shoal.errors import PlanError
from shoal.methods.base import Method, Problem, Quality, require_feasible, require_quasi_identifiers
from shoal.methods.full_domain.levels import recode_at, require_all_rows
from shoal.models import AllOf
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Seconds, Share, Weight
from shoal.schema import Schema
from shoal.table import ByLevel, MethodFacts
from shoal.table.method_facts import SearchFacts
from shoal.utility.measures import AggregateName, Measure, MeasureName, make_measure

Level = Annotated[int, Ge(0)]
PATIENCE = {"fast": 10.0, "good": 60.0, "best": 600.0}
"""Seconds for a lattice that is too large for a complete search, where no time_limit is given."""


@dataclass(frozen=True, kw_only=True)
class FullDomainFacts(MethodFacts):
    """The chosen levels, what is proven about them, and the search effort."""

    at: MethodFacts
    search: SearchFacts
    lattice_nodes: int
    nodes_looked_at: int


@dataclass(frozen=True)
class FullDomain(Method):
    """The full-domain recoding of least loss.

    Parameters
    ----------
    loss
        ncp, distortion-ratio, precision, entropy, height, discernibility or average-class-size.
    suppression
        The largest part of the rows that may be left out.
    levels
        Bounds of levels by column: a number fixes the level, a pair gives the lowest and the highest.
    weights
        How much each column counts; 1 where nothing is said.
    gs
        Balance of generalization (0) and suppression (1) in the loss.
    aggregate
        How columns add up: sum, mean, maximum or geometric.
    time_limit
        Seconds after which the best solution found is taken; the answer then tells how far from the optimum it
        can be. Without it, only lattices of more than ten million nodes are cut short, after a minute.
    interruptible
        Whether Ctrl-C takes the best solution found so far.
    quality
        Lattices of up to ten million nodes are searched to the end whatever it says, and nothing loses less. Larger
        ones are searched for ten seconds (``fast``), a minute (``good``, and without it) or ten minutes (``best``),
        unless ``time_limit`` says otherwise.
    """

    loss: MeasureName = "ncp"
    suppression: Share = 0.0
    levels: Mapping[str, Level | tuple[Level, Level]] = field(default_factory=dict)
    weights: Mapping[str, Weight] = field(default_factory=dict)
    gs: Share = 0.5
    aggregate: AggregateName | None = None
    time_limit: Seconds | None = None
    interruptible: bool = False
    quality: Quality | None = None
    name: ClassVar[str] = "full-domain"
    anytime: ClassVar[bool] = True
    supports_partial_knowledge: ClassVar[bool] = True
    supports_scenarios: ClassVar[bool] = True
    supports_linked_rows: ClassVar[bool] = True
    judges_whole_table: ClassVar[bool] = True

    @override
    def warm(self) -> None:
        from shoal.methods.full_domain.exhaustive import load_kernels

        load_kernels()

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, (*self.levels, *self.weights))
        require_all_rows(self.name, self.suppression, model)

    @override
    def decide(self, problem: Problem) -> ByLevel:
        from shoal.methods.full_domain.exhaustive import find_optimum

        lowest, highest = self.bounds(problem)
        if not self.suppression:
            require_feasible(problem)
        measure = self.measure(problem)
        found = find_optimum(
            problem, measure, self.suppression, lowest, highest, self.time_limit, self.interruptible,
            patience=PATIENCE[self.quality or "good"],
        )  # fmt: skip
        if found.best is None:
            # the failures of the top node explain best why nothing was found
            return recode_at(problem, highest, self.suppression)
        recoding = recode_at(problem, found.best.node, self.suppression)
        facts = FullDomainFacts(
            at=recoding.facts,
            search=SearchFacts(optimal=found.proven, loss=found.best.loss, lower_bound=found.lower_bound),
            lattice_nodes=found.nodes,
            nodes_looked_at=found.seen,
        )
        return replace(recoding, facts=facts)

    def measure(self, problem: Problem) -> Measure:
        """Return the measure that the search minimizes, bound to the problem."""
        return make_measure(
            self.loss, problem.frequencies, problem.ladders, weights=self.weights, gs=self.gs, aggregate=self.aggregate
        )

    def bounds(self, problem: Problem) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the lowest and the highest level of each column."""
        return level_bounds(self.levels, problem)


def level_bounds(
    levels: Mapping[str, int | tuple[int, int]], problem: Problem
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the lowest and the highest level of each column, some by name."""
    lowest, highest = [], []
    for name, ladder in zip(problem.names, problem.ladders, strict=True):
        given = levels.get(name, (0, ladder.height))
        low, high = (given, given) if isinstance(given, int) else tuple(given)
        if not 0 <= low <= high <= ladder.height:
            raise PlanError("method.level-bounds-out-of-range", column=name, highest=ladder.height, found=given)
        lowest.append(low)
        highest.append(high)
    return tuple(lowest), tuple(highest)
