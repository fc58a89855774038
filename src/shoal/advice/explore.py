"""Comparison of methods and parameters by utility and disclosure risk.

Every trial is a complete, verified run of the pipeline, without writing anything. Trials run in separate processes, so
that one that takes too long can be terminated. A trial is *efficient* if no other trial has both less loss and less
risk; of those that satisfy the plan's models, the one of least loss is chosen.
"""

from __future__ import annotations

import contextlib
import csv
import io
import multiprocessing
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InfeasibleError, PlanError, ShoalError
from shoal.formatting import fixed, number, percent
from shoal.io.engines import open_engine
from shoal.io.engines.base import Source
from shoal.io.engines.spark_shared_session import shared_spark_session
from shoal.io.formats import STANDARD
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import METHODS, Method
from shoal.methods.auto import make_method
from shoal.models import Model, size_of_groups
from shoal.pipeline.decide import FrequencyCache
from shoal.plan.coerce import ColumnsLike, as_names
from shoal.plan.plan import Plan, PlanLike, as_plan, plain
from shoal.render import Displayable, Grid, Page, Summary
from shoal.runtime.lean_imports import assume_dedicated_process
from shoal.runtime.progress import Progress, ProgressOption, quiet, show_progress
from shoal.schema import Column, Role, Schema
from shoal.utility.loss import LOSSES, LossName

if TYPE_CHECKING:
    from shoal.report.scatter import Point

STARTED = "started"
MAX_PREPARATION_SECONDS = 600.0
"""Time limit before a trial starts: a first run compiles."""
REPORT_INTERVAL_SECONDS = 0.25
"""Minimum time between two progress reports of a trial."""
DEFAULT_METHODS = ("full-domain", "top-down", "mondrian", "refine", "mdav", "k-first")
"""Methods that are compared by default."""


COLUMNS = ("method", "k", "parameters", "loss", "risk", "highest risk", "groups", "rows left out", "seconds", "mark")
"""Columns of the table of trials."""
NARROW_COLUMNS = ("method", "k", "parameters", "loss", "risk", "seconds", "mark")
"""Columns where there is little room: terminal and notebook."""


@dataclass(frozen=True)
class Trial:
    """Method with its parameters, and its result.

    Attributes
    ----------
    outcome
        released, infeasible, refused (the method does not support the plan), too slow, or failed (a fault in shoal).
    error
        The reason, if there is no release; it contains no value of a row.
    risk
        Mean probability that an intruder who knows all quasi-identifiers picks the right row.
    highest_risk
        The maximum of this probability.
    loss
        Every measure that applies.
    lower_bound
        Proven lower bounds of these measures, over releases of the same kind.
    efficient
        Whether no other trial is better in loss or risk and at least as good in the other.
    chosen
        Whether this is the release of least loss that satisfies the plan's models.
    """

    method: str
    parameters: Mapping[str, Any]
    k: int | None
    outcome: str
    error: ShoalError | None = None
    loss: Mapping[str, float] | None = None
    lower_bound: Mapping[str, float] | None = None
    risk: float | None = None
    highest_risk: float | None = None
    released: int = 0
    suppressed: int = 0
    groups: int = 0
    smallest_group: int = 0
    seconds: float = 0.0
    efficient: bool = False
    chosen: bool = False

    @property
    def why(self) -> str:
        """The reason in English, if there is no release."""
        return "" if self.error is None else str(self.error)

    @property
    def label(self) -> str:
        """The method and its parameters on one line."""
        settings = {**({"k": self.k} if self.k else {}), **self.parameters}
        return ", ".join([self.method, *(f"{key} = {value}" for key, value in settings.items())])

    def row(self, measure: str) -> tuple[Any, ...]:
        """Return the cells of :data:`COLUMNS`, formatted for readers."""
        parameters = ", ".join(f"{key} = {value}" for key, value in self.parameters.items())
        if self.loss is None or self.risk is None or self.highest_risk is None:
            return (self.method, self.k, parameters, "", "", "", "", "", fixed(self.seconds, 1), self.outcome)
        mark = "chosen" if self.chosen else "efficient" if self.efficient else ""
        return (
            self.method,
            self.k,
            parameters,
            number(self.loss.get(measure, float("nan"))),
            percent(self.risk, 2),
            percent(self.highest_risk, 2),
            self.groups,
            self.suppressed,
            fixed(self.seconds, 1),
            mark,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the trial for JSON."""
        return {name: plain(getattr(self, name)) for name in TRIAL_KEYS}


TRIAL_KEYS = tuple("why" if part.name == "error" else part.name for part in fields(Trial))
"""Keys of a trial in JSON, and columns in CSV."""


@dataclass(frozen=True)
class Lane:
    """Progress of a trial: its state is waiting, running, or its outcome.

    ``step`` is the message of its method, including its best loss so far if known; ``done`` is the completed fraction,
    if known.
    """

    label: str
    state: str = "waiting"
    step: str = ""
    done: float | None = None
    loss: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the progress for JSON."""
        return dict(vars(self))


@dataclass(frozen=True, repr=False)
class Exploration(Displayable):
    """All trials, sorted by ``measure``.

    Trials with a release come first, from least to most loss.

    Examples
    --------
    ::

        found = shoal.explore("plan.toml", methods=["mondrian", "full-domain"], ks=[5, 10])
        found.chosen, found.trials
        found.plot().open()
    """

    measure: str
    trials: tuple[Trial, ...]

    @property
    def chosen(self) -> Trial | None:
        """The release of least loss that satisfies the models, or None."""
        return next((trial for trial in self.trials if trial.chosen), None)

    def summary(self) -> Summary:
        """Summarize loss and risk as a chart and a table."""
        sentences = [f"Chosen, of least loss: {self.chosen.label}."] if self.chosen else ["No trial meets the models."]
        sentences += [f"{trial.method} ({trial.outcome}): {trial.why}" for trial in self.trials if trial.why]
        grid = self.grid().select(*NARROW_COLUMNS)
        grid = grid.insert(0, "", range(1, len(self.trials) + 1))
        return Summary("Methods and parameters side by side", (), sentences, [grid], self._picture())

    def grid(self) -> Grid:
        """Return all trials as a table."""
        rows = [trial.row(self.measure) for trial in self.trials]
        return Grid(f"Loss ({self.measure}) against risk", COLUMNS, rows)

    def _picture(self) -> str:
        from shoal.report.scatter import scatter

        points = self._points()
        return scatter(points, self.measure) if points else ""

    def _points(self) -> list[Point]:
        from shoal.report.scatter import Point

        return [
            Point(
                trial.label,
                trial.risk,
                trial.loss[self.measure],
                trial.efficient,
                trial.chosen,
                least=(trial.lower_bound or {}).get(self.measure),
            )
            for trial in self.trials
            if trial.loss is not None and trial.risk is not None and self.measure in trial.loss
        ]

    def plot(self, models: str = "") -> Page:
        """Render the chart and the table of all trials as a page.

        ``models`` describes the required models.
        """
        from shoal.report.scatter import exploration_page

        return Page(exploration_page(self._points(), self.measure, self.grid(), models or "those of the plan"))

    def to_dict(self) -> dict[str, Any]:
        """Return the exploration for JSON."""
        return {
            "measure": self.measure,
            "chosen": None if self.chosen is None else self.chosen.to_dict(),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    def to_csv(self) -> str:
        """Return the trials as CSV, one line each."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        measures = sorted({name for trial in self.trials for name in trial.loss or ()})
        plain_columns = [name for name in TRIAL_KEYS if name not in ("parameters", "loss", "lower_bound")]
        writer.writerow([*plain_columns, "parameters", *measures, "lower_bound"])
        for trial in self.trials:
            parameters = " ".join(f"{key}={value}" for key, value in trial.parameters.items())
            lost = trial.loss or {}
            least = (trial.lower_bound or {}).get(self.measure)
            row = [getattr(trial, name) for name in plain_columns]
            writer.writerow(
                ["" if cell is None else cell for cell in (*row, parameters, *map(lost.get, measures), least)]
            )
        return text.getvalue()


@dataclass(frozen=True)
class Candidate:
    """Method and models to try instead of those of a plan."""

    plan: Plan
    method: Method
    models: tuple[Model, ...]

    def build(self) -> Plan:
        """Build the plan to run; raise if the method does not support it."""
        return replace(self.plan, method=self.method, models=self.models)


def candidates(
    plan: Plan,
    methods: Sequence[str] = (),
    ks: Sequence[int | None] = (),
    suppressions: Sequence[float] = (),
    own_method: bool = False,
) -> list[Candidate]:
    """List the candidates: each method with each k and suppression limit.

    Suppression limits apply to methods that suppress rows. The default of ``ks`` is the k of the plan's k-anonymity and
    twice that; the default of ``suppressions`` is none and the limit of the plan's method. Without ``methods``, or with
    ``own_method``, the plan's method with its own parameters is among the candidates.
    """
    names = list(methods) or [name for name in DEFAULT_METHODS if name in METHODS]
    group_size = size_of_groups(plan.models, None)
    group_sizes: Sequence[int | None] = list(ks) or ([group_size, 2 * group_size] if group_size else [None])
    limits = sorted(set(suppressions)) or sorted({0.0, getattr(plan.method, "suppression", 0.0)})
    with_own = (own_method or not methods) and plan.method.reveals_source
    found = [Candidate(plan, plan.method, plan.models)] if with_own else []
    for name in names:
        own = dict(plan.method.parameters) if name == plan.method.name else {}
        variants = [make_method(name, own)]
        if any(part.name == "suppression" for part in fields(METHODS[name])):
            variants = [make_method(name, {**own, "suppression": limit}) for limit in limits]
        if not variants[0].reveals_source:
            raise PlanError("explore.method-not-explorable", method=name)
        for method in variants:
            for k in group_sizes:
                models = [model.with_group_size(k) if k else model for model in plan.models]
                found.append(Candidate(plan, method, tuple(models)))
    distinct: list[Candidate] = []
    for candidate in found:
        if candidate not in distinct:
            distinct.append(candidate)
    return distinct


@shared_spark_session()
def explore(
    plan: PlanLike,
    data: Any = None,
    *,
    methods: ColumnsLike = (),
    ks: Sequence[int | None] = (),
    suppressions: Sequence[float] = (),
    own_method: bool = False,
    measure: LossName = "ncp",
    workers: int | None = None,
    time_limit: float = 60.0,
    progress: ProgressOption = None,
    so_far: Callable[[Exploration], None] | None = None,
    lanes: Callable[[Sequence[Lane]], None] | None = None,
) -> Exploration:
    """Compare methods and parameters on a table by verified trials.

    Parameters
    ----------
    plan
        A plan; its own method is tried too, unless ``methods`` are named.
    data
        A table in memory; the plan's source by default.
    methods, ks, suppressions
        Candidates: names of methods, group sizes (None for those of the plan), suppression limits; see
        :func:`candidates`.
    own_method
        Whether the plan's own method is tried in addition to ``methods``.
    measure
        The loss by which releases are compared.
    workers
        Number of processes; by default the number of cores.
    time_limit
        Seconds after which a trial is terminated.
    so_far
        Called after each trial with all completed trials, so that they are not lost if the rest fails.
    lanes
        Called with the progress of all trials, whenever one of them reports progress.

    Examples
    --------
    ::

        shoal.explore("plan.toml", methods=["mondrian", "mdav"], ks=[3, 5, 10]).chosen
    """
    if measure not in LOSSES:
        raise PlanError("explore.unknown-loss", allowed=", ".join(LOSSES), found=measure)
    loaded = as_plan(plan)
    cores = os.cpu_count() or 1
    count = workers or cores
    if loaded.engine.threads is None:
        loaded = replace(loaded, engine=replace(loaded.engine, threads=max(1, cores // count)))
    with show_progress(progress) as show, _on_disk(loaded, data) as there:
        chosen = candidates(there, as_names(methods, "methods"), ks, suppressions, own_method)
        return _run_candidates(chosen, measure, count, time_limit, show, so_far, lanes)


def _run_candidates(
    chosen: Sequence[Candidate],
    measure: str,
    count: int,
    time_limit: float,
    progress: Progress,
    so_far: Callable[[Exploration], None] | None,
    lanes: Callable[[Sequence[Lane]], None] | None,
) -> Exploration:
    """Run the candidates, ``count`` at a time."""
    min_group_size = size_of_groups(chosen[0].plan.models, None) or 0
    trials: list[Trial] = []
    exploration = Exploration(measure, ())
    states = [Lane(_trial(candidate, "").label) for candidate in chosen]

    def report_state(position: int, step: str, part: float | None, ended: Trial | None) -> None:
        loss = (ended.loss or {}).get(measure) if ended is not None else None
        states[position] = Lane(states[position].label, "running" if ended is None else ended.outcome, step, part, loss)
        if lanes is not None:
            lanes(tuple(states))

    progress("exploring", 0.0)
    for trial in _run(chosen, count, time_limit, report_state):
        trials.append(trial)
        progress(f"exploring: {trial.method}", len(trials) / len(chosen))
        exploration = Exploration(measure, tuple(mark_efficient(trials, measure, min_group_size)))
        if so_far is not None:
            so_far(exploration)
    return exploration


@contextlib.contextmanager
def _on_disk(plan: Plan, data: Any) -> Iterator[Plan]:
    """Write the plan's table to a private temporary file, if it has none.

    Other processes can read it.
    """
    if isinstance(data, str | Path):
        plan, data = plan.with_(source=Path(data)), None
    if data is not None:
        table = Source(frame=data, csv=CsvFormat(missing=plan.source.csv.missing if plan.source else ()))
    elif plan.source is None:
        raise PlanError("explore.source-missing")
    else:
        table = plan.source
    if table.path is not None and table.path != STANDARD:
        yield plan
        return
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        path = Path(folder) / "table.parquet"
        with open_engine(plan.engine, data, time_zone=table.time_zone) as engine:
            engine.write(engine.read(table), path)
        yield replace(plan, source=Source(path, time_zone=table.time_zone))


def mark_efficient(trials: Sequence[Trial], measure: str, lowest: int = 0) -> list[Trial]:
    """Mark efficient trials and the chosen one, and sort the trials.

    ``lowest`` is the minimum group size of the chosen release.
    """

    def loss(trial: Trial) -> float:
        return (trial.loss or {}).get(measure, float("inf"))

    done = [trial for trial in trials if trial.outcome == "released" and measure in (trial.loss or {})]
    points = [(loss(trial), float(trial.risk or 0.0)) for trial in done]
    marked = []
    for trial, (lost, risk) in zip(done, points, strict=True):
        dominated = any((a <= lost and b <= risk) and (a < lost or b < risk) for a, b in points)
        marked.append(replace(trial, efficient=not dominated))
    marked.sort(key=lambda trial: (loss(trial), trial.risk or 0.0, trial.method, str(trial.parameters)))
    for position, trial in enumerate(marked):
        if trial.smallest_group >= lowest:
            marked[position] = replace(trial, chosen=True)
            break
    rest = [trial for trial in trials if trial not in done]
    rest.sort(key=lambda trial: (trial.outcome, trial.method, trial.k or 0, str(trial.parameters)))
    return [*marked, *rest]


# -- processes ---------------------------------------------------------------------------------------


def _run(
    chosen: Sequence[Candidate],
    count: int,
    time_limit: float,
    report_state: Callable[[int, str, float | None, Trial | None], None] = lambda position, step, part, ended: None,
) -> Iterator[Trial]:
    """Yield trials as they end.

    A process that exceeds the time limit is terminated and replaced. ``report_state`` is called with the position of a
    trial among the candidates, its step, its completed fraction and its result.
    """
    context = multiprocessing.get_context("spawn")  # threads of the engine do not survive a fork
    needs_script = any(b"__main__" in pickle.dumps(candidate) for candidate in chosen)  # a model defined in the script
    pending = list(reversed(range(len(chosen))))
    busy: dict[Any, tuple[Any, int, float]] = {}
    idle: list[tuple[Any, Any]] = []
    try:
        while pending or busy:
            while pending and len(busy) < count:
                if idle:
                    link, process = idle.pop()
                else:
                    link, other = context.Pipe()
                    process = context.Process(target=_serve_trials, args=(other,), daemon=True)
                    with contextlib.nullcontext() if needs_script else _without_script():
                        process.start()
                    other.close()
                position = pending.pop()
                link.send(chosen[position])
                busy[link] = (process, position, time.monotonic() + time_limit + MAX_PREPARATION_SECONDS)
                report_state(position, "preparing", None, None)
            next_deadline = min(deadline for _, _, deadline in busy.values())
            answered: list[Any] = wait(list(busy), timeout=max(0.0, next_deadline - time.monotonic()))
            for link in answered:
                process, position, deadline = busy.pop(link)
                try:
                    answer = link.recv()
                except (EOFError, ConnectionError):  # the process has ended, for example killed for lack of memory
                    answer = _trial(chosen[position], "failed", ShoalError("explore.process-ended"))
                    process = None
                if answer == STARTED:
                    busy[link] = (process, position, time.monotonic() + time_limit)
                elif isinstance(answer, tuple):
                    busy[link] = (process, position, deadline)
                    step, part = answer
                    report_state(position, step, part, None)
                else:
                    if process is not None:
                        idle.append((link, process))
                    report_state(position, "", 1.0, answer)
                    yield answer
            for link, (process, position, deadline) in list(busy.items()):
                if time.monotonic() >= deadline and not link.poll():
                    process.terminate()
                    process.join()
                    del busy[link]
                    late = ShoalError("explore.trial-too-slow", seconds=time_limit)
                    trial = _trial(chosen[position], "too slow", late, time_limit)
                    report_state(position, "", None, trial)
                    yield trial
    finally:
        for process in [*(process for process, _, _ in busy.values()), *(process for _, process in idle)]:
            process.terminate()
            process.join()


@contextlib.contextmanager
def _without_script() -> Iterator[None]:
    """Prevent started processes from running the user's script again.

    It would start another exploration, recursively.
    """
    main = sys.modules["__main__"]
    saved = {name: getattr(main, name) for name in ("__spec__", "__file__") if hasattr(main, name)}
    try:
        for name in saved:
            setattr(main, name, None)
        yield
    finally:
        for name, value in saved.items():
            setattr(main, name, value)


def _serve_trials(link: Connection) -> None:
    """Run the plans received over a pipe until it is closed.

    Reports when each run starts.
    """
    assume_dedicated_process()
    with shared_spark_session():  # start a slow engine once
        _answer_requests(link)


def _answer_requests(link: Connection) -> None:
    warmed_up: set[str] = set()
    cache = FrequencyCache()
    while True:
        try:
            candidate = link.recv()
        except EOFError:
            return
        if candidate.method.name not in warmed_up:
            warmed_up.add(candidate.method.name)
            _practise(candidate)
        link.send(STARTED)
        link.send(_try(candidate, cache, _throttled_progress(link)))


def _throttled_progress(link: Connection) -> Progress:
    """Return a callback that sends steps over a pipe at a limited rate."""
    last = 0.0

    def report(step: str, done: float | None) -> None:
        nonlocal last
        if time.monotonic() - last >= REPORT_INTERVAL_SECONDS:
            last = time.monotonic()
            link.send((step, done))

    return report


def _practise(candidate: Candidate) -> None:
    """Run the method on a small built-in table.

    The compilation of a first run does not count as time of the trial.
    """
    import pyarrow as pa

    from shoal.datasets.patients import CATEGORIES, COLUMNS, TABLES
    from shoal.pipeline.run import anonymize

    *quasi, sensitive = COLUMNS
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in quasi}
    schema = Schema({**columns, sensitive: Column(Role.SENSITIVE, categories=CATEGORIES)})
    table = pa.table({name: [row[position] for row in TABLES[1]] * 8 for position, name in enumerate(COLUMNS)})
    named = [replace(m, column=sensitive) if getattr(m, "column", None) else m for m in candidate.models]  # type: ignore[call-arg]
    models = tuple(model.with_group_size(2) for model in named)
    with contextlib.suppress(Exception):  # the trial itself will report any error
        anonymize(table, Plan(schema, models, make_method(candidate.method.name, {})))


def _try(candidate: Candidate, cache: FrequencyCache, progress: Progress = quiet) -> Trial:
    """Run one trial.

    Its duration includes the time saved by cached counts, as if it had read the table itself.
    """
    from shoal.pipeline.run import dry_run

    start, cache.seconds_saved = time.perf_counter(), 0.0

    def ended(outcome: str, error: ShoalError | None = None) -> Trial:
        return _trial(candidate, outcome, error, time.perf_counter() - start + cache.seconds_saved)

    try:
        release = dry_run(candidate.build(), progress=progress, cache=cache)
    except InfeasibleError as error:
        return ended("infeasible", error)
    except PlanError as error:
        return ended("refused", error)
    except ShoalError as error:
        return ended("failed", error)
    except Exception as error:  # its text may quote data: report only its type
        return ended("failed", ShoalError("explore.trial-fault", kind=type(error).__name__))
    figures = release.figures
    return replace(
        ended("released"),
        loss=dict(figures["loss"]),
        lower_bound=figures.get("bound", {}).get("reported"),
        risk=float(figures["risk"]["average"]),
        highest_risk=float(figures["risk"]["highest"]),
        released=figures["released"],
        suppressed=figures["suppressed"],
        groups=figures["groups"],
        smallest_group=figures["smallest_group"],
    )


def _trial(candidate: Candidate, outcome: str, error: ShoalError | None = None, seconds: float = 0.0) -> Trial:
    """Build a trial without a release; default parameters are omitted."""
    method = candidate.method
    return Trial(
        method.name,
        _changed_parameters(method),
        size_of_groups(candidate.models, None),
        outcome,
        error,
        seconds=seconds,
    )


def _changed_parameters(method: Method) -> dict[str, Any]:
    try:
        defaults = dict(type(method)().parameters)
    except TypeError:
        defaults = {}
    changed = {key: value for key, value in method.parameters.items() if key not in defaults or defaults[key] != value}
    parameters: dict[str, Any] = plain(changed)
    return parameters
