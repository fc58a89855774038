"""Choice between methods: try several and take the recoding of least loss.

All candidates publish true values, only less exact ones, so the choice does not change the meaning of a value. Models
for an intruder who knows only some columns have other candidates than models for one who knows all columns.
`shoal explore` compares any methods and parameters, and lists the rejected ones too.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from typing import Annotated, Any, ClassVar

from annotated_types import MinLen
from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import InfeasibleError, PlanError, ShoalError
from shoal.methods.base import Method, Problem, Quality
from shoal.methods.scenarios import bound_recoded_loss, decide_recoding, require_scenarios_supported
from shoal.methods.time_limits import with_time_limit
from shoal.methods.whole_table import require_whole_table_supported
from shoal.models import AllOf, partial_knowledge_models, without_scenarios
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.search_clock import now
from shoal.runtime.threads import parallel_map
from shoal.runtime.validation import Seconds, Share
from shoal.schema import Schema
from shoal.table import ByLevel, MethodFacts, Recoding
from shoal.table.method_facts import Kind, SearchFacts
from shoal.utility.loss import RecodingLoss, losses

TRUTHFUL_METHODS = ("full-domain", "top-down", "mondrian", "refine")
PARTIAL_KNOWLEDGE_METHODS = ("hidden-cells", "full-domain")
"""The default candidates where models are for an intruder who knows only some columns."""
SCENARIO_METHODS = ("hidden-cells", *TRUTHFUL_METHODS)
"""The default candidates where all models are those of scenarios."""


def make_method(name: str, given: Mapping[str, Any]) -> Method:
    """Build a method by name from the parameters that it accepts.

    Other entries of ``given`` are ignored.
    """
    from shoal.methods import METHODS

    if name not in METHODS:
        raise PlanError("method.unknown-name", method=name, allowed=", ".join(METHODS))
    parts = {part.name: part for part in fields(METHODS[name])}
    if any(p.default is MISSING and p.default_factory is MISSING and key not in given for key, p in parts.items()):
        raise PlanError("method.not-triable", method=name)
    return METHODS[name](**{key: value for key, value in given.items() if key in parts})


@dataclass(frozen=True)
class MethodTrial:
    """Outcome of one candidate: its loss, or the reason for having none."""

    method: str
    outcome: str | tuple[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON, with the loss under the measure's name."""
        key, found = ("outcome", self.outcome) if isinstance(self.outcome, str) else self.outcome
        return {"method": self.method, key: found}


@dataclass(frozen=True, kw_only=True)
class AutoFacts(MethodFacts):
    """The chosen method, all trials, and the facts of the chosen method."""

    chosen: str
    tried: tuple[MethodTrial, ...]
    best: MethodFacts

    @override
    def get(self, kind: type[Kind]) -> Kind | None:
        """Return the facts of a kind, or None; never those of a search.

        A proof of optimality covers the levels of one method; another method may lose less.
        """
        return None if kind is SearchFacts else super().get(kind)


@dataclass(frozen=True)
class Auto(Method):
    """Try several methods and take the recoding of least loss.

    Parameters
    ----------
    methods
        Names of methods, tried in this order; the first of equal losses is taken. Where models have ``known``, or
        there are key sets, hidden-cells and full-domain are tried unless others are named.
    loss
        The measure to compare: one of those that a certificate lists under ``loss``.
    suppression
        The largest share of rows that may be suppressed, for the methods that suppress rows.
    time_limit
        Seconds to divide among the methods: each gets its share of the remaining time. Once there is a recoding and no
        time remains, the other methods are not tried.
    quality
        The quality of those methods that have one.
    """

    methods: Annotated[tuple[str, ...], MinLen(1)] = TRUTHFUL_METHODS
    loss: RecodingLoss = "ncp"
    suppression: Share = 0.0
    time_limit: Seconds | None = None
    quality: Quality | None = None
    name: ClassVar[str] = "auto"
    supports_partial_knowledge: ClassVar[bool] = True
    supports_scenarios: ClassVar[bool] = True
    judges_whole_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.name in self.methods:
            raise PlanError("method.methods-not-names")
        if any(not method.reveals_source for method in self.candidates):
            raise PlanError("method.promise-not-comparable")

    @property
    def candidates(self) -> list[Method]:
        """The methods to try."""
        return self.candidates_for(AllOf())

    def candidates_for(self, model: AllOf) -> list[Method]:
        """List the methods to try for some models."""
        names = self.methods
        if names == TRUTHFUL_METHODS and partial_knowledge_models(model):
            names = PARTIAL_KNOWLEDGE_METHODS
        elif names == TRUTHFUL_METHODS and model.parts and not model.of_all_columns.parts:
            names = SCENARIO_METHODS
        return [make_method(name, {"suppression": self.suppression, "quality": self.quality}) for name in names]

    @property
    @override
    def why_not_people(self) -> str | None:
        """The reason why no candidate can count people.

        None where at least one candidate can.
        """
        refusals = [method.why_not_people for method in self.candidates]
        return None if None in refusals else refusals[0]

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        """Raise where no candidate supports these columns and models."""
        refusals = []
        candidates = self.candidates_for(model)
        for method in candidates:
            try:
                _require_supported(method, schema, model)
            except PlanError as error:
                refusals.append(str(error))
        if len(refusals) == len(candidates):
            raise PlanError("method.none-serves-plan", reason=refusals[0])

    @override
    def warm(self) -> None:
        for method in self.candidates:
            method.warm()

    @override
    def decide(self, problem: Problem) -> Recoding:
        """Return the recoding of least loss among all candidates.

        The time is that of all methods, divided among the cores. With a time limit, methods run one after the other, so
        that each gets its share of the remaining time.
        """
        candidates = self.candidates_for(problem.model)
        if self.time_limit is None:
            found = self._try_in_parallel(candidates, problem)
        else:
            found = self._try_in_sequence(candidates, problem, float(self.time_limit))
        done = [(trial.loss, index) for index, trial in enumerate(found) if trial.loss is not None]
        if not done:
            reasons = [trial.why for trial in found if trial.why is not None]
            raise next((why for why in reasons if isinstance(why, InfeasibleError)), reasons[-1])
        best = found[min(done)[1]]
        assert best.recoding is not None
        tried = tuple(trial.summary for trial in found)
        facts = AutoFacts(chosen=best.summary.method, tried=tried, best=best.recoding.facts)
        return replace(best.recoding, facts=facts)

    def _try_in_parallel(self, candidates: Sequence[Method], problem: Problem) -> list[_Trial]:
        """Try as many methods at a time as there are threads.

        Progress has no fraction: the candidates report none in common.
        """
        problem.progress(f"deciding: {', '.join(method.name for method in candidates)}", None)
        over = threading.Event()

        def stop_when_over(step: str, done: float | None = None) -> None:
            if over.is_set():
                raise InterruptedError

        cancellable = replace(problem, progress=stop_when_over)
        return parallel_map(lambda method: self._try(method, cancellable), candidates, over)

    def _try_in_sequence(self, candidates: Sequence[Method], problem: Problem, seconds: float) -> list[_Trial]:
        """Try one method after the other, each with its share of the time left.

        Once there is a recoding and no time is left, no further method is tried.
        """
        start = now()
        found: list[_Trial] = []
        for index, method in enumerate(candidates):
            problem.progress(f"deciding: {method.name}", index / len(candidates))
            left = seconds - (now() - start)
            if left <= 0 and any(trial.loss is not None for trial in found):
                found.append(_Trial(MethodTrial(method.name, "not tried, the time was over")))
            else:
                found.append(self._try(with_time_limit(method, left / (len(candidates) - index)), problem))
        return found

    def _try(self, method: Method, problem: Problem) -> _Trial:
        try:
            _require_supported(method, problem.schema, problem.model)
            recoding = decide_recoding(method, problem)
        except (PlanError, InfeasibleError) as error:
            return _Trial(MethodTrial(method.name, type(error).__name__), why=error)
        loss = losses(problem.frequencies, problem.ladders, recoding)[self.loss]
        return _Trial(MethodTrial(method.name, (self.loss, loss)), loss, recoding)

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        """Return the lower bound of the chosen method.

        Levels are chosen among recodings that may be local, so the bound of local recodings holds for levels too.
        """
        facts = recoding.facts
        assert isinstance(facts, AutoFacts)
        if not isinstance(recoding, ByLevel):
            candidates = self.candidates_for(problem.model)
            return bound_recoded_loss(next(one for one in candidates if one.name == facts.chosen), problem, recoding)
        from shoal.methods.local.lower_bounds import all_levels, bound_cells, bound_recoding

        if partial_knowledge_models(problem.model):
            return bound_cells(problem, recoding, "ncp", {}, all_levels(problem.ladders))
        return bound_recoding(problem, recoding, "ncp", {}, whole=self.suppression == 0, effort=0)


@dataclass(frozen=True)
class _Trial:
    """Outcome of a candidate, with its recoding or its error."""

    summary: MethodTrial
    loss: float | None = None
    recoding: Recoding | None = None
    why: ShoalError | None = None


def _require_supported(method: Method, schema: Schema, model: AllOf) -> None:
    """Raise where a method does not support these columns and models."""
    if schema.person and method.why_not_people is not None:
        raise PlanError("method.cannot-count-people", method=method.name, reason=method.why_not_people)
    if partial_knowledge_models(model) and not method.supports_partial_knowledge:
        raise PlanError("method.groups-all-columns", method=method.name)
    require_scenarios_supported(method, schema, model)
    require_whole_table_supported(method, model)
    method.check(schema, without_scenarios(model))
