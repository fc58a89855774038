"""Parameters that the methods of local recoding share, and how they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from shoal.errors import PlanError
from shoal.methods.base import Method, Problem, Quality
from shoal.methods.time_limits import deadline_of, in_time
from shoal.runtime.validation import Seconds, make
from shoal.table import ByGroup, MethodFacts

__all__ = ["Choice", "CutFacts", "CuttingMethod", "LocalLoss", "LocalMethod", "Start", "start_method"]

LocalLoss = Literal["ncp", "granularity", "distortion-ratio", "precision"]
Choice = Literal["best", "loss", "rate"]
if TYPE_CHECKING:
    from shoal.methods.local.problem import LocalProblem, Pieces

    Start = Any  # once made, it is a method
else:
    Start = Method | str | Mapping[str, Any] | None
"""The method from which another one starts: an object, its name, or a section with name and parameters."""


@dataclass(frozen=True)
class LocalMethod(Method):
    """Base of the methods that recode rows differently: what they all load."""

    def warm(self) -> None:
        """See :class:`shoal.methods.base.Method`."""
        import shoal.methods.local.publish
        import shoal.methods.local.search  # noqa: F401


@dataclass(frozen=True, kw_only=True)
class CutFacts(MethodFacts):
    """Whether all cuts were made that pay, where there was a limit of time, and what is told of the groups."""

    finished: bool | None
    shown: MethodFacts


class CuttingMethod(LocalMethod):
    """Base of the methods that cut the table again and again, and leave no row out."""

    time_limit: Seconds | None
    quality: Quality | None

    @property
    def improves(self) -> bool:
        """Whether more is asked for than cutting."""
        return self.quality in ("good", "best")

    def decide(self, problem: Problem) -> ByGroup:
        """See :class:`shoal.methods.base.Method`. Time close to n log n for n distinct combinations."""
        from shoal.methods.local.publish import publish_pieces

        deadline = deadline_of(self.time_limit)
        local, pieces = self.partition(problem, deadline)
        if self.improves:
            from shoal.methods.local.neighbourhood_search import improve_pieces

            pieces = improve_pieces(local, pieces, self.quality, deadline, problem.seed).pieces
        finished = in_time(deadline)
        recoding = publish_pieces(local, pieces)
        return replace(recoding, facts=CutFacts(finished=finished, shown=recoding.facts))

    def partition(self, problem: Problem, deadline: float | None = None) -> tuple[LocalProblem, Pieces]:
        """The groups alone, for methods that start from them."""
        raise NotImplementedError


def start_method(start: Start, owner: str, default: Method) -> Method:
    """The method from which another one starts, or the one it starts from where nothing is said."""
    if start is None:
        return default
    if isinstance(start, Method):
        chosen = start
    else:
        from shoal.methods import METHODS

        chosen = make(METHODS, {"name": start} if isinstance(start, str) else start, "method")
    if chosen.name == owner:
        raise PlanError(f"The method {owner!r} must start from another method.")
    if not chosen.forms_groups:
        raise PlanError(f"The method {chosen.name!r} publishes no groups of rows to start from; choose another start.")
    if not chosen.reveals_source or chosen.promises:
        raise PlanError(
            f"The method {owner!r} cannot start from {chosen.name!r}: moving rows afterwards would void its promise."
        )
    return chosen
