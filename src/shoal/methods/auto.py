"""The choice between methods: several are tried, and the recoding of least loss is taken.

All that are tried publish true values, only less exact ones, so that the choice does not change what a value means.
For an intruder who knows few columns other methods are tried than for one who knows all of them.
`shoal explore` compares any methods and parameters, and shows what was not chosen.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Annotated, Any, ClassVar

from annotated_types import MinLen

from shoal.bounds import Bound
from shoal.errors import InfeasibleError, PlanError, ShoalError
from shoal.methods.base import Method, Problem, Quality
from shoal.methods.time_limits import within
from shoal.models import AllOf, limited
from shoal.runtime.search_clock import now
from shoal.runtime.threads import spread
from shoal.runtime.validation import Seconds, Share
from shoal.schema import Schema
from shoal.table import ByLevel, MethodFacts, Recoding
from shoal.table.method_facts import Kind, Search
from shoal.utility.loss import RecodingLoss, losses

__all__ = ["TRUTHFUL", "Auto", "make_method"]

TRUTHFUL = ("full-domain", "top-down", "mondrian", "refine")
FEW = ("hidden-cells", "full-domain")
"""What is tried in their place where models are for an intruder who knows few columns."""


def make_method(name: str, given: Mapping[str, Any]) -> Method:
    """A method by its name, with those of the given parameters that it has."""
    from shoal.methods import METHODS

    if name not in METHODS:
        raise PlanError(f"There is no method named {name!r}; known are {', '.join(METHODS)}.")
    parts = {part.name: part for part in fields(METHODS[name])}
    if any(p.default is MISSING and p.default_factory is MISSING and key not in given for key, p in parts.items()):
        raise PlanError(f"The method {name!r} cannot be tried: it needs parameters of its own.")
    return METHODS[name](**{key: value for key, value in given.items() if key in parts})


@dataclass(frozen=True)
class Tried:
    """What became of a method that was tried: its loss, or why there is none."""

    method: str
    outcome: str | tuple[str, float]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, the loss under its own name."""
        key, found = ("outcome", self.outcome) if isinstance(self.outcome, str) else self.outcome
        return {"method": self.method, key: found}


@dataclass(frozen=True, kw_only=True)
class AutoFacts(MethodFacts):
    """Which method was chosen of those that were tried, and what it tells itself."""

    chosen: str
    tried: tuple[Tried, ...]
    best: MethodFacts

    def of(self, kind: type[Kind]) -> Kind | None:
        """See :class:`MethodFacts`. A proof is about the levels of one method; another one may lose less."""
        return None if kind is Search else super().of(kind)


@dataclass(frozen=True)
class Auto(Method):
    """Try several methods and take the recoding of least loss.

    Parameters
    ----------
    methods
        Names of methods, tried in this order; of equal losses the first one's is taken. Where models say ``known``, or
        there are key sets, hidden-cells and full-domain are tried unless others are named.
    loss
        The figure to compare: one of those that a certificate lists under ``loss``.
    suppression
        The largest part of the rows that may be left out, for the methods that leave rows out.
    time_limit
        Seconds to share out among the methods: each gets its part of what is left, and once there is a recoding and no
        time left, the others are not tried.
    quality
        That of the methods which have one.
    """

    methods: Annotated[tuple[str, ...], MinLen(1)] = TRUTHFUL
    loss: RecodingLoss = "ncp"
    suppression: Share = 0.0
    time_limit: Seconds | None = None
    quality: Quality | None = None
    name: ClassVar[str] = "auto"
    serves_few: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.name in self.methods:
            raise PlanError("The methods to try must be a list of names of other methods, such as ['mondrian'].")
        if any(not method.reveals_source for method in self.candidates):
            raise PlanError("Methods whose promise covers what is told about the source cannot be tried and compared.")

    @property
    def candidates(self) -> list[Method]:
        """The methods to try."""
        return self.candidates_for(AllOf())

    def candidates_for(self, model: AllOf) -> list[Method]:
        """The methods to try for some models."""
        names = FEW if limited(model) and self.methods == TRUTHFUL else self.methods
        return [make_method(name, {"suppression": self.suppression, "quality": self.quality}) for name in names]

    @property
    def only_rows(self) -> str | None:
        """See :class:`shoal.methods.base.Method`; one that can serve is enough."""
        refusals = [method.only_rows for method in self.candidates]
        return None if None in refusals else refusals[0]

    def check(self, schema: Schema, model: AllOf) -> None:
        """See :class:`shoal.methods.base.Method`; one that can serve is enough."""
        refusals = []
        candidates = self.candidates_for(model)
        for method in candidates:
            try:
                _require_served(method, schema, model)
            except PlanError as error:
                refusals.append(str(error))
        if len(refusals) == len(candidates):
            raise PlanError(f"None of the methods to try can serve this plan. The first says: {refusals[0]}")

    def warm(self) -> None:
        """See :class:`shoal.methods.base.Method`."""
        for method in self.candidates:
            method.warm()

    def decide(self, problem: Problem) -> Recoding:
        """See :class:`shoal.methods.base.Method`.

        Takes as long as all methods together, divided among the cores; where time is shared out, one follows the other,
        so that each knows what is left.
        """
        candidates = self.candidates_for(problem.model)
        if self.time_limit is None:
            found = self._together(candidates, problem)
        else:
            found = self._one_by_one(candidates, problem, float(self.time_limit))
        done = [(trial.loss, place) for place, trial in enumerate(found) if trial.loss is not None]
        if not done:
            reasons = [trial.why for trial in found if trial.why is not None]
            raise next((why for why in reasons if isinstance(why, InfeasibleError)), reasons[-1])
        best = found[min(done)[1]]
        assert best.recoding is not None
        tried = tuple(trial.told for trial in found)
        facts = AutoFacts(chosen=best.told.method, tried=tried, best=best.recoding.facts)
        return replace(best.recoding, facts=facts)

    def _together(self, candidates: Sequence[Method], problem: Problem) -> list[_Trial]:
        """As many methods at a time as there are threads; how far all of them are, none can tell."""
        problem.progress(f"deciding: {', '.join(method.name for method in candidates)}", None)
        over = threading.Event()

        def end_with_the_caller(step: str, done: float | None = None) -> None:
            if over.is_set():
                raise InterruptedError

        apart = replace(problem, progress=end_with_the_caller)
        return spread(lambda method: self._try(method, apart), candidates, over)

    def _one_by_one(self, candidates: Sequence[Method], problem: Problem, seconds: float) -> list[_Trial]:
        """Each method gets its part of the time that is left; once there is a recoding and no time, none is tried."""
        start = now()
        found: list[_Trial] = []
        for place, method in enumerate(candidates):
            problem.progress(f"deciding: {method.name}", place / len(candidates))
            left = seconds - (now() - start)
            if left <= 0 and any(trial.loss is not None for trial in found):
                found.append(_Trial(Tried(method.name, "not tried, the time was over")))
            else:
                found.append(self._try(within(method, left / (len(candidates) - place)), problem))
        return found

    def _try(self, method: Method, problem: Problem) -> _Trial:
        try:
            _require_served(method, problem.schema, problem.model)
            recoding = method.decide(problem)
        except (PlanError, InfeasibleError) as error:
            return _Trial(Tried(method.name, type(error).__name__), why=error)
        loss = losses(problem.frequencies, problem.ladders, recoding)[self.loss]
        return _Trial(Tried(method.name, (self.loss, loss)), loss, recoding)

    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        """See :class:`shoal.methods.base.Method`: that of the method which was chosen.

        Levels are chosen among recodings that may be local: what these must lose, levels must.
        """
        facts = recoding.facts
        assert isinstance(facts, AutoFacts)
        if not isinstance(recoding, ByLevel):
            candidates = self.candidates_for(problem.model)
            return next(one for one in candidates if one.name == facts.chosen).lower_bound(problem, recoding)
        from shoal.methods.local.lower_bounds import all_levels, bound_cells, bound_recoding

        if limited(problem.model):
            return bound_cells(problem, recoding, "ncp", {}, all_levels(problem.ladders))
        return bound_recoding(problem, recoding, "ncp", {}, whole=self.suppression == 0, effort=0)


@dataclass(frozen=True)
class _Trial:
    """What is told of a method that was tried, and what it found or why it did not."""

    told: Tried
    loss: float | None = None
    recoding: Recoding | None = None
    why: ShoalError | None = None


def _require_served(method: Method, schema: Schema, model: AllOf) -> None:
    """Raise where a method cannot serve these columns and models."""
    if schema.person and method.only_rows is not None:
        raise PlanError(f"The method {method.name} cannot count people: {method.only_rows}")
    if limited(model) and not method.serves_few:
        raise PlanError(f"The method {method.name} forms groups in all quasi-identifiers at once.")
    method.check(schema, model)
