"""Parameters and base classes of the methods of local recoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from typing_extensions import override

from shoal.errors import PlanError
from shoal.methods.base import Method, Problem, Quality
from shoal.methods.time_limits import deadline_of, finished_in_time
from shoal.models import AllOf
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Seconds, build_from_section
from shoal.schema import Schema
from shoal.table import ByGroup, MethodFacts, Recoding

LocalLoss = Literal["ncp", "granularity", "distortion-ratio", "precision"]
Choice = Literal["best", "loss", "rate"]
Variant = Literal["improved", "as-printed"]
"""A method as shoal prefers it, or as its paper prints it."""
if TYPE_CHECKING:
    from shoal.methods.local.problem import LocalProblem, Pieces

    Start = Any  # after validation it is a method
else:
    Start = Method | str | Mapping[str, Any] | None
"""The method from which another one starts: an object, its name, or a section with name and parameters."""


@dataclass(frozen=True)
class LocalMethod(Method):
    """Base of the local recoding methods, with their shared imports."""

    supports_scenarios: ClassVar[bool] = True

    @override
    def check_scenarios(self, schema: Schema, model: AllOf) -> None:
        from shoal.methods.local.scenario_stages import require_stages

        require_stages(self, schema, model)

    @override
    def decide_scenarios(self, problem: Problem) -> Recoding:
        from shoal.methods.local.scenario_stages import decide_in_stages

        return decide_in_stages(self, problem)

    @override
    def warm(self) -> None:
        import shoal.methods.local.publish
        import shoal.methods.local.search  # noqa: F401


@dataclass(frozen=True, kw_only=True)
class CutFacts(MethodFacts):
    """The completion of cutting, and facts of the published groups.

    ``finished`` says whether all profitable cuts were made within the time limit; None where there was no limit.
    """

    finished: bool | None
    published: MethodFacts


class CuttingMethod(LocalMethod):
    """Base of the methods that cut the table repeatedly and suppress no row."""

    time_limit: Seconds | None
    quality: Quality | None

    @property
    def improves(self) -> bool:
        """Return whether the quality asks for more than cutting."""
        return self.quality in ("good", "best")

    @override
    def decide(self, problem: Problem) -> ByGroup:
        # Time close to n log n for n distinct combinations.
        from shoal.methods.local.publish import publish_pieces

        deadline = deadline_of(self.time_limit)
        local, pieces = self.partition(problem, deadline)
        if self.improves:
            from shoal.methods.local.neighbourhood_search import improve_pieces

            pieces = improve_pieces(local, pieces, self.quality, deadline, problem.seed).pieces
        finished = finished_in_time(deadline)
        recoding = publish_pieces(local, pieces)
        return replace(recoding, facts=CutFacts(finished=finished, published=recoding.facts))

    def partition(self, problem: Problem, deadline: float | None = None) -> tuple[LocalProblem, Pieces]:
        """Return the groups only, for methods that start from them."""
        raise NotImplementedError


def start_method(start: Start, owner: str, default: Method) -> Method:
    """Return the method from which another one starts, or the default."""
    if start is None:
        return default
    if isinstance(start, Method):
        chosen = start
    else:
        from shoal.methods import METHODS

        chosen = build_from_section(METHODS, {"name": start} if isinstance(start, str) else start, "method")
    if chosen.name == owner:
        raise PlanError("method.start-is-itself", method=owner)
    if not chosen.forms_groups:
        raise PlanError("method.start-without-groups", start=chosen.name)
    if not chosen.reveals_source or chosen.promises:
        raise PlanError("method.start-promise-void", method=owner, start=chosen.name)
    return chosen
