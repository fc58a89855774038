"""What a plan's loss comes from: the loss without each quasi-identifier, and with each parameter asked for less.

Every figure is computed: the plan is run on a sample of its table, once as it is and once for each change, with nothing
written. The loss (ncp) is of the columns that remain, so that a column which is left out neither counts as kept nor as
lost.

The time is kept by the size of the sample: a small part of it is run first, and so many rows are then taken that all
changes can be tried. What one trial took tells whether another one fits in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shoal.advice.try_methods import SAMPLE
from shoal.errors import PlanError, ShoalError
from shoal.io.engines import open_engine
from shoal.io.engines.base import Source
from shoal.io.engines.spark_shared_session import keeping
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import HiddenCells, Method
from shoal.methods.time_limits import within
from shoal.models import Model
from shoal.pipeline.run import rehearse
from shoal.plan.coerce import AskedEngine, as_engine
from shoal.plan.plan import AskedPlan, Plan, as_plan
from shoal.render import Grid, Sheet, Shown
from shoal.runtime.progress import Progress, Watch, watching
from shoal.schema import Column, Role, Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Cost", "Explanation", "explain"]

SECONDS = 5.0
"""What a method that takes a limit of time may take of one trial."""
MOST_SECONDS = 120.0
FIRST_ROWS = 1_000
"""Rows of the sample that are run first, to see how long a trial takes."""
MARGIN = 1.5
"""So many times as long as the longest before a trial may take."""
USED = 0.6
"""The part of the time for which trials are planned; what is left is for a machine that becomes busy."""


@dataclass(frozen=True)
class Cost:
    """A change of the plan, and the loss with it; None where there is no release (``why`` says so)."""

    change: Mapping[str, Any]
    loss: float | None
    why: str = ""

    @property
    def gives_up(self) -> bool:
        """Whether a model is left out."""
        return "model" in self.change and "parameter" not in self.change

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.change, "loss": self.loss, **({"why": self.why} if self.why else {})}

    def __str__(self) -> str:
        told = dict(self.change)
        if "column" in told and "model" not in told:
            return f"without the column {told['column']!r}"
        model = f"{told['model']}{' of ' + repr(told['column']) if told.get('column') else ''}"
        return f"with {told['parameter']} = {told['value']} in {model}" if "parameter" in told else f"without {model}"


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """What a plan loses, and what it would lose otherwise; the changes that help most come first.

    Attributes
    ----------
    rows, sampled
        The rows that were looked at, and whether they are a sample.
    untried
        How many changes were left when the time was over.
    """

    loss: float | None
    without: tuple[Cost, ...]
    with_: tuple[Cost, ...]
    rows: int
    sampled: bool
    untried: int = 0
    why: str = ""

    @property
    def advice(self) -> Cost | None:
        """The change that helps most; None where none does. To give up a promise altogether is no advice."""
        helping = [cost for cost in (*self.without, *self.with_) if cost.loss is not None and not cost.gives_up]
        best = min(helping, key=lambda cost: cost.loss or 0.0, default=None)
        lost = self.loss if self.loss is not None else 1.0
        return best if best is not None and best.loss is not None and best.loss < lost else None

    def sheet(self) -> Sheet:
        """The loss as it is, and with each change."""
        of = "a sample of " if self.sampled else ""
        lost = f"no release: {self.why}" if self.loss is None else f"the loss (ncp) is {self.loss:.4g}"
        sentences = [f"As the plan stands, on {of}{self.rows:,} rows: {lost}."]
        if self.advice is not None:
            sentences.append(f"What would help most: {self.advice}.")
        if self.untried:
            sentences.append(f"{self.untried:,} changes were not tried: the time was over.")
        rows = [
            (str(cost), "no release" if cost.loss is None else f"{cost.loss:.4g}")
            for cost in (*self.without, *self.with_)
        ]
        grids = [Grid("The loss with one thing changed", ("change", "loss"), rows)] if rows else []
        return Sheet("What the loss comes from", (), sentences, grids)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
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


@keeping()
def explain(
    plan: AskedPlan,
    data: Any = None,
    *,
    time_limit: float = MOST_SECONDS,
    engine: AskedEngine | None = None,
    progress: Watch = None,
) -> Explanation:
    """Tell what a plan's loss comes from: the loss without each column and model, and with smaller parameters.

    Parameters
    ----------
    plan
        A plan; it is run on a sample for every change, with nothing written.
    data
        A table in memory; the plan's source by default.
    time_limit
        Seconds after which no further change is tried; with less time fewer rows of the sample are run.
    engine
        What takes the sample, in place of the plan's engine.
    """
    loaded, settings = as_plan(plan), as_engine(engine)
    loaded = loaded if settings is None else replace(loaded, engine=settings)
    with watching(progress) as show:
        return _explain(loaded, data, time_limit, show)


def _explain(plan: Plan, data: Any, time_limit: float, progress: Progress) -> Explanation:
    """Run a plan on a sample of its table, as it is and with one thing changed at a time."""
    if not plan.method.reveals_source:
        raise PlanError(f"The promise of the method {plan.method.name} covers what would be told about the source.")
    source = plan.source
    if data is not None:
        source = Source(frame=data, csv=CsvFormat(missing=source.csv.missing if source is not None else ()))
    if source is None:
        raise PlanError("The plan must say where the table is ([source]), or the table must be given.")
    plan.method.warm()  # what is compiled on a machine's first run is not the plan's time
    end = time.monotonic() + time_limit
    progress("explaining", 0.0)
    with open_engine(plan.engine, source, time_zone=source.time_zone) as engine:
        sample = engine.sample(engine.read(source), SAMPLE + 1)
    trials = _Trials(plan, sample, source.time_zone, end)
    lost, why, changes = trials.begin()
    costs: list[Cost] = []
    for place, (change, build) in enumerate(changes):
        if not trials.fits():
            break
        costs.append(Cost(change, *trials.run(build)[:2]))
        progress("explaining", (place + 1) / len(changes))
    costs.sort(key=lambda cost: (cost.loss is None, cost.loss or 0.0))
    without = tuple(cost for cost in costs if "parameter" not in cost.change)
    with_ = tuple(cost for cost in costs if "parameter" in cost.change)
    untried = len(changes) - len(costs)
    return Explanation(lost, without, with_, trials.rows, trials.rows < sample.num_rows, untried, why)


class _Trials:
    """Runs of a plan on a sample, each of which ends in time as far as the ones before tell."""

    def __init__(self, plan: Plan, sample: pa.Table, zone: str, end: float) -> None:
        self.sample, self.zone, self.end = sample, zone, end
        self.plan = replace(plan, output=None, method=_in_time(plan.method), engine=plan.engine.here)
        self.longest = 0.0
        self.rows = min(sample.num_rows, SAMPLE)

    def begin(self) -> tuple[float | None, str, list[Change]]:
        """Run the plan as it is, on as many rows as there is time for; what it loses, or why not, and the changes."""
        expected = 0.0
        if self.rows > FIRST_ROWS:
            many, self.rows = self.rows, FIRST_ROWS
            self._as_it_is()
            changes = len(self._changes(self.plan))
            start = time.monotonic()
            self.run(lambda: self._fixed)
            took = max(time.monotonic() - start, 1e-3)
            each = USED * (self.end - time.monotonic()) / (changes + 2)
            self.rows = int(min(max(FIRST_ROWS * each / took, FIRST_ROWS), many))
            expected = took * self.rows / FIRST_ROWS
        lost, why = self._as_it_is()
        self.longest = expected  # this one chose levels, and took longer than the others will
        return lost, why, self._changes(self._fixed)

    def _as_it_is(self) -> tuple[float | None, str]:
        here = Source(frame=self.sample.slice(0, self.rows), time_zone=self.zone)
        self._fixed = replace(self.plan, source=here)
        lost, why, levels = self.run(lambda: self._fixed)
        method = self._fixed.method
        if isinstance(method, HiddenCells) and levels:  # so that the trials differ in one thing alone, and are short
            self._fixed = replace(self._fixed, method=replace(method, levels=levels))
        return lost, why

    def _changes(self, plan: Plan) -> list[Change]:
        return [*_without(plan), *_with(plan)]

    def fits(self) -> bool:
        """Whether another trial can be expected to end in time."""
        return time.monotonic() + MARGIN * self.longest <= self.end

    def run(self, build: Callable[[], Plan]) -> tuple[float | None, str, dict[str, int]]:
        """What a plan loses, or why it has no release, and its levels; errors of shoal hold no value of a record."""
        start = time.monotonic()
        try:
            release = rehearse(build(), bounded=False)
        except ShoalError as error:
            return None, str(error), {}
        finally:
            self.longest = max(self.longest, time.monotonic() - start)
        return float(release.utility["ncp"]), "", dict(release.certificate.content.get("levels", {}))


Change = tuple[dict[str, Any], Callable[[], Plan]]


def _without(plan: Plan) -> Iterator[Change]:
    """The plan with one quasi-identifier less, and with one model less; one of each must remain.

    What is about the size of groups alone stays: without a k whatever is asked else has nobody to hide among.
    """
    quasi = plan.schema.quasi_identifiers
    for name in quasi if len(quasi) > 1 else ():
        columns = {**plan.schema.columns, name: Column(Role.DROP)}
        yield {"column": name}, partial(replace, plan, schema=Schema(columns), method=_leaving_out(plan.method, name))
    for place, model in enumerate(plan.models if len(plan.models) > 1 else ()):
        if getattr(model, "of", model).sizes_only:  # limited to few columns or not
            continue
        rest = (*plan.models[:place], *plan.models[place + 1 :])
        yield _called(model), partial(replace, plan, models=rest)


def _with(plan: Plan) -> Iterator[Change]:
    """The plan with one whole parameter of one model lowered."""
    for place, model in enumerate(plan.models):
        for name, lower, less in model.eased():
            models = (*plan.models[:place], less, *plan.models[place + 1 :])
            yield {**_called(model), "parameter": name, "value": lower}, partial(replace, plan, models=models)


def _called(model: Model) -> dict[str, Any]:
    column = getattr(model, "column", None)
    return {"model": model.name, **({"column": column} if column else {})}


def _in_time(method: Method) -> Method:
    """The method with no more time than a trial may take, where that costs little."""
    if not method.answers_early:
        return method
    given = getattr(method, "time_limit", None)
    return within(method, SECONDS if given is None else min(given, SECONDS))


def _leaving_out(method: Method, column: str) -> Method:
    """The method, which names a column's level no more."""
    if not isinstance(method, HiddenCells):
        return method
    return replace(method, levels={name: level for name, level in method.levels.items() if name != column})
