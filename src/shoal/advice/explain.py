"""Sources of a plan's loss: its loss with one change at a time.

Each change drops a quasi-identifier or a model, or lowers a parameter. Every figure is computed: the plan is run on a
sample of its table, once unchanged and once for each change, without writing anything. The loss (ncp) covers the
remaining columns, so that a dropped column counts neither as retained nor as lost.

The size of the sample controls the time: a small part of it is run first, and then as many rows are used as allow all
changes to be tried. The durations of earlier trials decide whether another trial fits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shoal.advice.try_methods import SAMPLE_ROWS
from shoal.errors import PlanError, ShoalError
from shoal.formatting import counted, fixed, number
from shoal.io.engines import open_engine
from shoal.io.engines.base import Source
from shoal.io.engines.spark_shared_session import shared_spark_session
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import HiddenCells, Method
from shoal.methods.time_limits import with_time_limit
from shoal.models import Model
from shoal.pipeline.run import dry_run
from shoal.plan.coerce import EngineLike, as_engine
from shoal.plan.plan import Plan, PlanLike, as_plan
from shoal.render import Displayable, Grid, Summary
from shoal.runtime.progress import Progress, ProgressOption, show_progress
from shoal.schema import Column, Role, Schema

if TYPE_CHECKING:
    import pyarrow as pa

SECONDS_PER_TRIAL = 5.0
"""Time limit of one trial, for methods that support one."""
DEFAULT_TIME_LIMIT_SECONDS = 120.0
PROBE_ROWS = 1_000
"""Rows of the first run, which estimates the duration of a trial."""
DURATION_MARGIN = 1.5
"""A trial may take this multiple of the longest trial so far."""
PLANNED_TIME_SHARE = 0.6
"""Share of the time for which trials are planned; the rest is a reserve for a busy machine."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """Change of a plan: a column or a model less, or a smaller parameter.

    ``column`` is the dropped column, or the one that the model is about. Its parts can be read by name as those of
    a dictionary, too.
    """

    model: str | None = None
    column: str | None = None
    parameter: str | None = None
    value: int | float | None = None

    @property
    def drops_model(self) -> bool:
        """Return whether the change drops a model."""
        return self.model is not None and self.parameter is None

    def to_dict(self) -> dict[str, Any]:
        """Return the change for JSON."""
        return {key: value for key, value in vars(self).items() if value is not None}

    def __contains__(self, key: str) -> bool:
        return key in self.to_dict()

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __str__(self) -> str:
        if self.model is None:
            return f"without the column {self.column!r}"
        model = f"{self.model}{f' of {self.column!r}' if self.column else ''}"
        return f"without {model}" if self.parameter is None else f"with {self.parameter} = {self.value} in {model}"


@dataclass(frozen=True)
class Cost:
    """Change of the plan, and the loss with it.

    The loss is None if there is no release; ``error`` is the reason.
    """

    change: Change
    loss: float | None
    error: ShoalError | None = None

    @property
    def why(self) -> str:
        """The reason in English, if there is no release."""
        return "" if self.error is None else str(self.error)

    def to_dict(self) -> dict[str, Any]:
        """Return the cost for JSON."""
        return {**self.change.to_dict(), "loss": self.loss, **({"why": self.why} if self.why else {})}

    def __str__(self) -> str:
        return str(self.change)


@dataclass(frozen=True, repr=False)
class Explanation(Displayable):
    """Loss of a plan, and its loss with each change, the best first.

    Attributes
    ----------
    rows, sampled
        Number of rows that were used, and whether they are a sample.
    untried
        Number of changes that were not tried for lack of time.

    Examples
    --------
    ::

        explanation = shoal.explain("plan.toml", time_limit=30)
        print(explanation)
        shoal.release("plan.toml").report(explanation).save("internal.html")
    """

    loss: float | None
    without: tuple[Cost, ...]
    with_: tuple[Cost, ...]
    rows: int
    sampled: bool
    untried: int = 0
    error: ShoalError | None = None

    @property
    def why(self) -> str:
        """The reason in English, if the plan has no release."""
        return "" if self.error is None else str(self.error)

    @property
    def advice(self) -> Cost | None:
        """The change that reduces the loss most; None if none does.

        Dropping a model is not advised.
        """
        helping = [
            cost for cost in (*self.without, *self.with_) if cost.loss is not None and not cost.change.drops_model
        ]
        best = min(helping, key=lambda cost: cost.loss or 0.0, default=None)
        lost = self.loss if self.loss is not None else 1.0
        return best if best is not None and best.loss is not None and best.loss < lost else None

    def summary(self) -> Summary:
        """Summarize the loss, and the loss with each change."""
        of = "a sample of " if self.sampled else ""
        lost = f"no release: {self.why}" if self.loss is None else f"the loss (ncp) is {fixed(self.loss, 2)}."
        sentences = [f"As the plan stands, on {of}{number(self.rows)} rows: {lost}"]
        if self.advice is not None and self.advice.loss is not None:
            sentences.append(f"What helps most: {self.advice}, the loss is {fixed(self.advice.loss, 2)}.")
        if self.untried:
            sentences.append(f"{counted(self.untried, 'change')} not tried: the time was over (time_limit).")
        rows = [(str(cost), self._loss_text(cost)) for cost in (*self.without, *self.with_)]
        grids = [Grid("The loss with one thing changed", ("change", "loss"), rows)] if rows else []
        return Summary("What the loss comes from", (), sentences, grids)

    def _loss_text(self, cost: Cost) -> str:
        if cost.loss is None:
            return "no release"
        change = "" if self.loss is None else f" ({fixed(cost.loss - self.loss, 2, signed=True)})"
        return fixed(cost.loss, 2) + change

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation for JSON."""
        return {
            "loss": self.loss,
            **({"why": self.why} if self.why else {}),
            "without": [cost.to_dict() for cost in self.without],
            "with": [cost.to_dict() for cost in self.with_],
            "rows": self.rows,
            "sampled": self.sampled,
            "untried": self.untried,
            "advice": None if self.advice is None else self.advice.to_dict(),
        }


@shared_spark_session()
def explain(
    plan: PlanLike,
    data: Any = None,
    *,
    time_limit: float = DEFAULT_TIME_LIMIT_SECONDS,
    engine: EngineLike | None = None,
    progress: ProgressOption = None,
) -> Explanation:
    """Determine the sources of a plan's loss.

    Computes the loss without each column and model, and with smaller parameters.

    Parameters
    ----------
    plan
        A plan; it is run on a sample for every change, without writing anything.
    data
        A table in memory; the plan's source by default.
    time_limit
        Seconds after which no further change is tried; less time means a smaller sample.
    engine
        Engine that draws the sample, instead of the plan's engine.

    Examples
    --------
    ::

        shoal.explain("plan.toml", time_limit=30).advice
    """
    loaded, settings = as_plan(plan), as_engine(engine)
    loaded = loaded if settings is None else replace(loaded, engine=settings)
    with show_progress(progress) as show:
        return _explain(loaded, data, time_limit, show)


def _explain(plan: Plan, data: Any, time_limit: float, progress: Progress) -> Explanation:
    """Run a plan on a sample, unchanged and with one change at a time."""
    if not plan.method.reveals_source:
        raise PlanError("method.explanation-not-covered", method=plan.method.name)
    source = plan.source
    if data is not None:
        source = Source(frame=data, csv=CsvFormat(missing=source.csv.missing if source is not None else ()))
    if source is None:
        raise PlanError("source.missing")
    plan.method.warm()  # exclude the compilation of a first run from the time
    end = time.monotonic() + time_limit
    progress("explaining", 0.0)
    with open_engine(plan.engine, source, time_zone=source.time_zone) as engine:
        sample = engine.sample(engine.read(source), SAMPLE_ROWS + 1)
    trials = _Trials(plan, sample, source.time_zone, end)
    lost, error, changes = trials.begin()
    costs: list[Cost] = []
    for position, (change, build) in enumerate(changes):
        if not trials.fits():
            break
        costs.append(Cost(change, *trials.run(build)[:2]))
        progress("explaining", (position + 1) / len(changes))
    costs.sort(key=lambda cost: (cost.loss is None, cost.loss or 0.0))
    without = tuple(cost for cost in costs if cost.change.parameter is None)
    with_ = tuple(cost for cost in costs if cost.change.parameter is not None)
    untried = len(changes) - len(costs)
    return Explanation(lost, without, with_, trials.rows, trials.rows < sample.num_rows, untried, error)


class _Trials:
    """Runs of a plan on a sample within a time limit.

    The durations of earlier trials predict whether another one fits.
    """

    def __init__(self, plan: Plan, sample: pa.Table, zone: str, end: float) -> None:
        self.sample, self.zone, self.end = sample, zone, end
        self.plan = replace(plan, output=None, method=_limit_trial_time(plan.method), engine=plan.engine.here)
        self.longest = 0.0
        self.rows = min(sample.num_rows, SAMPLE_ROWS)

    def begin(self) -> tuple[float | None, ShoalError | None, list[ChangedPlan]]:
        """Run the plan unchanged, on as many rows as the time allows.

        Returns its loss, or the reason why there is none, and the changes to try.
        """
        expected = 0.0
        if self.rows > PROBE_ROWS:
            max_rows, self.rows = self.rows, PROBE_ROWS
            self._run_unchanged()
            changes = len(self._changes(self.plan))
            start = time.monotonic()
            self.run(lambda: self._fixed)
            seconds = max(time.monotonic() - start, 1e-3)
            seconds_per_trial = PLANNED_TIME_SHARE * (self.end - time.monotonic()) / (changes + 2)
            self.rows = int(min(max(PROBE_ROWS * seconds_per_trial / seconds, PROBE_ROWS), max_rows))
            expected = seconds * self.rows / PROBE_ROWS
        lost, error = self._run_unchanged()
        self.longest = expected  # this run chose levels, which takes longer than the trials
        return lost, error, self._changes(self._fixed)

    def _run_unchanged(self) -> tuple[float | None, ShoalError | None]:
        here = Source(frame=self.sample.slice(0, self.rows), time_zone=self.zone)
        self._fixed = replace(self.plan, source=here)
        lost, error, levels = self.run(lambda: self._fixed)
        method = self._fixed.method
        if isinstance(method, HiddenCells) and levels:  # so that trials differ in one change only, and are short
            self._fixed = replace(self._fixed, method=replace(method, levels=levels))
        return lost, error

    def _changes(self, plan: Plan) -> list[ChangedPlan]:
        return [*_plans_without_part(plan), *_plans_with_smaller_parameter(plan)]

    def fits(self) -> bool:
        """Return whether another trial is expected to end in time."""
        return time.monotonic() + DURATION_MARGIN * self.longest <= self.end

    def run(self, build: Callable[[], Plan]) -> tuple[float | None, ShoalError | None, dict[str, int]]:
        """Run a plan and return its loss, the error if it failed, and its levels.

        Errors of shoal contain no value of a record.
        """
        start = time.monotonic()
        try:
            release = dry_run(build(), bounded=False)
        except ShoalError as error:
            return None, error, {}
        finally:
            self.longest = max(self.longest, time.monotonic() - start)
        return float(release.utility["ncp"]), None, dict(release.figures.get("levels", {}))


ChangedPlan = tuple[Change, Callable[[], Plan]]


def _plans_without_part(plan: Plan) -> Iterator[ChangedPlan]:
    """Yield the plan without each quasi-identifier and without each model.

    At least one of each must remain. Models of group sizes stay: without a k, the other models have no crowd to rely
    on.
    """
    quasi = plan.schema.quasi_identifiers
    for name in quasi if len(quasi) > 1 else ():
        columns = {**plan.schema.columns, name: Column(Role.DROP)}
        yield (
            Change(column=name),
            partial(replace, plan, schema=Schema(columns), method=_without_level(plan.method, name)),
        )
    for position, model in enumerate(plan.models if len(plan.models) > 1 else ()):
        if getattr(model, "of", model).sizes_only:  # also if it is limited to partial knowledge
            continue
        rest = (*plan.models[:position], *plan.models[position + 1 :])
        yield _model_entry(model), partial(replace, plan, models=rest)


def _plans_with_smaller_parameter(plan: Plan) -> Iterator[ChangedPlan]:
    """Yield the plan with one integer parameter of one model lowered."""
    for position, model in enumerate(plan.models):
        for name, lower, weaker in model.relaxations():
            models = (*plan.models[:position], weaker, *plan.models[position + 1 :])
            yield replace(_model_entry(model), parameter=name, value=lower), partial(replace, plan, models=models)


def _model_entry(model: Model) -> Change:
    return Change(model=model.name, column=getattr(model, "column", None))


def _limit_trial_time(method: Method) -> Method:
    """Limit the method's time to that of a trial, if that costs little."""
    if not method.anytime:
        return method
    given = getattr(method, "time_limit", None)
    return with_time_limit(method, SECONDS_PER_TRIAL if given is None else min(given, SECONDS_PER_TRIAL))


def _without_level(method: Method, column: str) -> Method:
    """Return the method without its level of a column."""
    if not isinstance(method, HiddenCells):
        return method
    return replace(method, levels={name: level for name, level in method.levels.items() if name != column})
