"""Several methods and parameters side by side: what each costs in utility, and what risk remains.

Every trial is a whole run of the pipeline, verified, with nothing written. Trials run in processes of their own, so
that one that takes too long can be ended. A trial is *efficient* where no other has both less loss and less risk; of
those that meet the plan's models, the one of least loss is chosen.
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
from shoal.io.engines import open_engine
from shoal.io.engines.base import Source
from shoal.io.engines.spark_shared_session import keeping
from shoal.io.formats import STANDARD
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import METHODS, Method
from shoal.methods.auto import make_method
from shoal.models import Model, size_of_groups
from shoal.pipeline.decide import Counted
from shoal.plan.coerce import AskedNames, as_names
from shoal.plan.plan import AskedPlan, Plan, as_plan, plain
from shoal.render import Grid, Page, Sheet, Shown
from shoal.runtime.lean_imports import be_alone
from shoal.runtime.progress import Progress, Watch, quiet, watching
from shoal.schema import Column, Role, Schema
from shoal.utility.loss import LOSSES, LossName

if TYPE_CHECKING:
    from shoal.report.scatter import Point

__all__ = ["COMPARED", "Candidate", "Exploration", "Lane", "Trial", "candidates", "explore", "mark_efficient"]

STARTED = "started"
MOST_PREPARATION = 600.0
"""So many seconds may go by before a trial starts: a machine's first run compiles."""
TOLD_EVERY = 0.25
"""So many seconds go by before a trial tells its step again."""
COMPARED = ("full-domain", "top-down", "mondrian", "refine", "mdav", "k-first")
"""What is compared where nothing is said."""


COLUMNS = ("method", "k", "parameters", "loss", "risk", "highest risk", "groups", "rows left out", "seconds", "mark")
"""What a trial is shown by."""


@dataclass(frozen=True)
class Trial:
    """One method with its parameters, and what came of it.

    Attributes
    ----------
    outcome
        released, infeasible, refused (the method cannot serve the plan), too slow, or failed (a fault in shoal).
    why
        The error, where there is no release; it holds no value of a row.
    risk
        The mean probability that an intruder who knows all quasi-identifiers picks the right row.
    highest_risk
        The same for the person easiest to find.
    loss
        Every measure that applies.
    lower_bound
        Of these, what no release of the same kind can undercut, where that is proven.
    efficient
        Whether no other trial has less of one of loss and risk and no more of the other.
    chosen
        Whether this is the release of least loss that meets the plan's models.
    """

    method: str
    parameters: Mapping[str, Any]
    k: int | None
    outcome: str
    why: str = ""
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
    def label(self) -> str:
        """The method and its parameters in a line."""
        settings = {**({"k": self.k} if self.k else {}), **self.parameters}
        return ", ".join([self.method, *(f"{key} = {value}" for key, value in settings.items())])

    def row(self, measure: str) -> tuple[Any, ...]:
        """The cells of :data:`COLUMNS`, as people read them."""
        parameters = ", ".join(f"{key} = {value}" for key, value in self.parameters.items())
        if self.loss is None:
            return (self.method, self.k, parameters, "", "", "", "", "", f"{self.seconds:.1f}", self.outcome)
        mark = "chosen" if self.chosen else "efficient" if self.efficient else ""
        return (
            self.method,
            self.k,
            parameters,
            f"{self.loss.get(measure, float('nan')):.4g}",
            f"{self.risk:.3%}",
            f"{self.highest_risk:.3%}",
            self.groups,
            self.suppressed,
            f"{self.seconds:.1f}",
            mark,
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {part.name: plain(getattr(self, part.name)) for part in fields(self)}


@dataclass(frozen=True)
class Lane:
    """Where a trial stands while others run: its state is waiting, running, or how it ended.

    ``step`` is what its method says of itself, its best loss so far among it where it knows one; ``done`` is how far it
    is, where that is known.
    """

    label: str
    state: str = "waiting"
    step: str = ""
    done: float | None = None
    loss: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


@dataclass(frozen=True, repr=False)
class Exploration(Shown):
    """All trials, those with a release first, from least to most loss by ``measure``."""

    measure: str
    trials: tuple[Trial, ...]

    @property
    def chosen(self) -> Trial | None:
        """The release of least loss that meets the plan's models, if there is one."""
        return next((trial for trial in self.trials if trial.chosen), None)

    def sheet(self) -> Sheet:
        """Loss against risk, as a picture and a table."""
        few = (0, 1, 2, 3, 4, 8, 9)
        rows = [
            (place + 1, *(trial.row(self.measure)[cell] for cell in few)) for place, trial in enumerate(self.trials)
        ]
        columns = ("", *(COLUMNS[cell] for cell in few))
        sentences = [f"Chosen, of least loss: {self.chosen.label}."] if self.chosen else ["No trial meets the models."]
        sentences += [f"{trial.method} ({trial.outcome}): {trial.why}" for trial in self.trials if trial.why]
        grid = Grid(f"Loss ({self.measure}) against risk", columns, rows)
        return Sheet("Methods and parameters side by side", (), sentences, [grid], self._picture())

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
        """The picture with every trial in a table, as a page; ``models`` says what was asked for."""
        from shoal.report.scatter import exploration_page

        rows = [["" if cell is None else cell for cell in trial.row(self.measure)] for trial in self.trials]
        return Page(exploration_page(self._points(), self.measure, COLUMNS, rows, models or "those of the plan"))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "measure": self.measure,
            "chosen": None if self.chosen is None else self.chosen.to_dict(),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    def to_csv(self) -> str:
        """One line per trial."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        measures = sorted({name for trial in self.trials for name in trial.loss or ()})
        plain_columns = [part.name for part in fields(Trial) if part.name not in ("parameters", "loss", "lower_bound")]
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
    """A method and models to try in place of a plan's own."""

    plan: Plan
    method: Method
    models: tuple[Model, ...]

    def build(self) -> Plan:
        """The plan to run; raises where the method cannot serve it."""
        return replace(self.plan, method=self.method, models=self.models)


def candidates(
    plan: Plan, methods: Sequence[str] = (), ks: Sequence[int] = (), suppressions: Sequence[float] = ()
) -> list[Candidate]:
    """What to try: every method, with every k and, where it leaves rows out, every limit of suppression.

    Without ``ks``, that of the plan's k-anonymity and twice that; without ``suppressions``, none and what the plan's
    own method may leave out. Without ``methods``, the plan's own method as it is written is among them.
    """
    names = list(methods) or [name for name in COMPARED if name in METHODS]
    asked = size_of_groups(plan.models, None)
    given: Sequence[int | None] = list(ks) or ([asked, 2 * asked] if asked else [None])
    limits = sorted(set(suppressions)) or sorted({0.0, getattr(plan.method, "suppression", 0.0)})
    found = [] if methods or not plan.method.reveals_source else [Candidate(plan, plan.method, plan.models)]
    for name in names:
        own = dict(plan.method.parameters) if name == plan.method.name else {}
        variants = [make_method(name, own)]
        if any(part.name == "suppression" for part in fields(METHODS[name])):
            variants = [make_method(name, {**own, "suppression": limit}) for limit in limits]
        if not variants[0].reveals_source:
            raise PlanError(
                f"The method {name!r} cannot be explored: its promise covers what is told about the source."
            )
        for method in variants:
            for k in given:
                models = [model.resized(k) if k else model for model in plan.models]
                found.append(Candidate(plan, method, tuple(models)))
    distinct: list[Candidate] = []
    for candidate in found:
        if candidate not in distinct:
            distinct.append(candidate)
    return distinct


@keeping()
def explore(
    plan: AskedPlan,
    data: Any = None,
    *,
    methods: AskedNames = (),
    ks: Sequence[int] = (),
    suppressions: Sequence[float] = (),
    measure: LossName = "ncp",
    workers: int | None = None,
    time_limit: float = 60.0,
    progress: Watch = None,
    so_far: Callable[[Exploration], None] | None = None,
    lanes: Callable[[Sequence[Lane]], None] | None = None,
) -> Exploration:
    """Try several methods and parameters on a table, verified, side by side.

    Parameters
    ----------
    plan
        A plan; its own method is tried too.
    data
        A table in memory; the plan's source by default.
    methods, ks, suppressions
        What to try: names of methods, sizes of groups, largest parts of rows to leave out; see :func:`candidates`.
    measure
        The loss by which releases are compared.
    workers
        How many processes; as many as there are cores by default.
    time_limit
        Seconds after which a trial is ended.
    so_far
        Called after each trial with all that are done, so that they are not lost where the rest is.
    lanes
        Called with where each trial stands, whenever one of them has something to tell.
    """
    if measure not in LOSSES:
        raise PlanError(f"The loss to compare by must be one of {', '.join(LOSSES)}; found {measure!r}.")
    loaded = as_plan(plan)
    cores = os.cpu_count() or 1
    count = workers or cores
    if loaded.engine.threads is None:
        loaded = replace(loaded, engine=replace(loaded.engine, threads=max(1, cores // count)))
    with watching(progress) as show, _on_disk(loaded, data) as there:
        chosen = candidates(there, as_names(methods, "methods"), ks, suppressions)
        return _race(chosen, measure, count, time_limit, show, so_far, lanes)


def _race(
    chosen: Sequence[Candidate],
    measure: str,
    count: int,
    time_limit: float,
    progress: Progress,
    so_far: Callable[[Exploration], None] | None,
    lanes: Callable[[Sequence[Lane]], None] | None,
) -> Exploration:
    """Run the candidates, ``count`` at a time."""
    least = size_of_groups(chosen[0].plan.models, None) or 0
    trials: list[Trial] = []
    done = Exploration(measure, ())
    race = [Lane(_trial(candidate, "", "").label) for candidate in chosen]

    def stand(place: int, step: str, part: float | None, ended: Trial | None) -> None:
        loss = (ended.loss or {}).get(measure) if ended is not None else None
        race[place] = Lane(race[place].label, "running" if ended is None else ended.outcome, step, part, loss)
        if lanes is not None:
            lanes(tuple(race))

    progress("exploring", 0.0)
    for trial in _run(chosen, count, time_limit, stand):
        trials.append(trial)
        progress(f"exploring: {trial.method}", len(trials) / len(chosen))
        done = Exploration(measure, tuple(mark_efficient(trials, measure, least)))
        if so_far is not None:
            so_far(done)
    return done


@contextlib.contextmanager
def _on_disk(plan: Plan, data: Any) -> Iterator[Plan]:
    """The plan with its table in a file that other processes can read, private and gone afterwards."""
    if isinstance(data, str | Path):
        plan, data = plan.with_(source=Path(data)), None
    if data is not None:
        table = Source(frame=data, csv=CsvFormat(missing=plan.source.csv.missing if plan.source else ()))
    elif plan.source is None:
        raise PlanError("The plan must say where the table is ([source]); exploring reads it in several processes.")
    else:
        table = plan.source
    if table.path is not None and table.path != STANDARD:
        yield plan
        return
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        place = Path(folder) / "table.parquet"
        with open_engine(plan.engine, data, time_zone=table.time_zone) as engine:
            engine.write(engine.read(table), place)
        yield replace(plan, source=Source(place, time_zone=table.time_zone))


def mark_efficient(trials: Sequence[Trial], measure: str, lowest: int = 0) -> list[Trial]:
    """Mark the efficient trials and the chosen one, and sort them; ``lowest`` is the k that a release must have."""

    def loss(trial: Trial) -> float:
        return (trial.loss or {}).get(measure, float("inf"))

    done = [trial for trial in trials if trial.outcome == "released" and measure in (trial.loss or {})]
    points = [(loss(trial), float(trial.risk or 0.0)) for trial in done]
    marked = []
    for trial, (lost, risk) in zip(done, points, strict=True):
        beaten = any((a <= lost and b <= risk) and (a < lost or b < risk) for a, b in points)
        marked.append(replace(trial, efficient=not beaten))
    marked.sort(key=lambda trial: (loss(trial), trial.risk or 0.0, trial.method, str(trial.parameters)))
    for place, trial in enumerate(marked):
        if trial.smallest_group >= lowest:
            marked[place] = replace(trial, chosen=True)
            break
    rest = [trial for trial in trials if trial not in done]
    rest.sort(key=lambda trial: (trial.outcome, trial.method, trial.k or 0, str(trial.parameters)))
    return [*marked, *rest]


# -- processes ---------------------------------------------------------------------------------------


def _run(
    chosen: Sequence[Candidate],
    count: int,
    time_limit: float,
    stand: Callable[[int, str, float | None, Trial | None], None] = lambda place, step, part, ended: None,
) -> Iterator[Trial]:
    """Trials as they end. A process that is over its time is ended, and another takes its place.

    ``stand`` is called with where a trial stands: its place among the chosen, its step, how far it is, how it ended.
    """
    context = multiprocessing.get_context("spawn")  # threads of the engine do not survive a fork
    needs_script = any(b"__main__" in pickle.dumps(candidate) for candidate in chosen)  # a model that is written there
    waiting = list(reversed(range(len(chosen))))
    busy: dict[Any, tuple[Any, int, float]] = {}
    idle: list[tuple[Any, Any]] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < count:
                if idle:
                    link, process = idle.pop()
                else:
                    link, other = context.Pipe()
                    process = context.Process(target=_work, args=(other,), daemon=True)
                    with contextlib.nullcontext() if needs_script else _without_script():
                        process.start()
                    other.close()
                place = waiting.pop()
                link.send(chosen[place])
                busy[link] = (process, place, time.monotonic() + time_limit + MOST_PREPARATION)
                stand(place, "preparing", None, None)
            nearest = min(deadline for _, _, deadline in busy.values())
            answered: list[Any] = wait(list(busy), timeout=max(0.0, nearest - time.monotonic()))
            for link in answered:
                process, place, deadline = busy.pop(link)
                try:
                    answer = link.recv()
                except (EOFError, ConnectionError):  # the process is gone: killed for want of memory, say
                    answer = _trial(chosen[place], "failed", "Its process ended without an answer.")
                    process = None
                if answer == STARTED:
                    busy[link] = (process, place, time.monotonic() + time_limit)
                elif isinstance(answer, tuple):
                    busy[link] = (process, place, deadline)
                    step, part = answer
                    stand(place, step, part, None)
                else:
                    if process is not None:
                        idle.append((link, process))
                    stand(place, "", 1.0, answer)
                    yield answer
            for link, (process, place, deadline) in list(busy.items()):
                if time.monotonic() >= deadline and not link.poll():
                    process.terminate()
                    process.join()
                    del busy[link]
                    why = f"It took more than {time_limit:g} seconds."
                    late = _trial(chosen[place], "too slow", why, time_limit)
                    stand(place, "", None, late)
                    yield late
    finally:
        for process in [*(process for process, _, _ in busy.values()), *(process for _, process in idle)]:
            process.terminate()
            process.join()


@contextlib.contextmanager
def _without_script() -> Iterator[None]:
    """Have a process that is started not run the user's script again, which would explore in turn, and so on."""
    main = sys.modules["__main__"]
    kept = {name: getattr(main, name) for name in ("__spec__", "__file__") if hasattr(main, name)}
    try:
        for name in kept:
            setattr(main, name, None)
        yield
    finally:
        for name, value in kept.items():
            setattr(main, name, value)


def _work(link: Connection) -> None:
    """Run the plans that come over a pipe, until it is closed; tell when the run itself starts."""
    be_alone()
    with keeping():  # an engine that takes long to start is started once
        _work_on(link)


def _work_on(link: Connection) -> None:
    practised: set[str] = set()
    counted = Counted()
    while True:
        try:
            candidate = link.recv()
        except EOFError:
            return
        if candidate.method.name not in practised:
            practised.add(candidate.method.name)
            _practise(candidate)
        link.send(STARTED)
        link.send(_try(candidate, counted, _seldom(link)))


def _seldom(link: Connection) -> Progress:
    """A method's steps, over a pipe, and not more of them than somebody can read."""
    last = 0.0

    def tell(step: str, done: float | None) -> None:
        nonlocal last
        if time.monotonic() - last >= TOLD_EVERY:
            last = time.monotonic()
            link.send((step, done))

    return tell


def _practise(candidate: Candidate) -> None:
    """Run the method on a few rows of our own: what is compiled on a machine's first run is not the trial's time."""
    import pyarrow as pa

    from shoal.datasets.patients import CATEGORIES, COLUMNS, TABLES
    from shoal.pipeline.run import anonymize

    *quasi, sensitive = COLUMNS
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in quasi}
    schema = Schema({**columns, sensitive: Column(Role.SENSITIVE, categories=CATEGORIES)})
    table = pa.table({name: [row[place] for row in TABLES[1]] * 8 for place, name in enumerate(COLUMNS)})
    named = [replace(m, column=sensitive) if getattr(m, "column", None) else m for m in candidate.models]  # type: ignore[call-arg]
    models = tuple(model.resized(2) for model in named)
    with contextlib.suppress(Exception):  # whatever is wrong, the trial itself will tell
        anonymize(table, Plan(schema, models, make_method(candidate.method.name, {})))


def _try(candidate: Candidate, counted: Counted, progress: Progress = quiet) -> Trial:
    """One trial; it takes as long as it would if the table were read for it alone."""
    from shoal.pipeline.run import rehearse

    start, counted.spared = time.perf_counter(), 0.0

    def ended(outcome: str, why: str = "") -> Trial:
        return _trial(candidate, outcome, why, time.perf_counter() - start + counted.spared)

    try:
        release = rehearse(candidate.build(), progress=progress, counted=counted)
    except InfeasibleError as error:
        return ended("infeasible", str(error))
    except PlanError as error:
        return ended("refused", str(error))
    except ShoalError as error:
        return ended("failed", str(error))
    except Exception as error:  # its text may quote data: only its kind is told
        return ended("failed", f"A fault in shoal ({type(error).__name__}).")
    told = release.certificate
    return replace(
        ended("released"),
        loss=dict(told["loss"]),
        lower_bound=told.content.get("bound", {}).get("reported"),
        risk=float(told["risk"]["average"]),
        highest_risk=float(told["risk"]["highest"]),
        released=told["released"],
        suppressed=told["suppressed"],
        groups=told["groups"],
        smallest_group=told["smallest_group"],
    )


def _trial(candidate: Candidate, outcome: str, why: str, seconds: float = 0.0) -> Trial:
    """A trial without a release; parameters that are left as they are by default are not told."""
    method = candidate.method
    return Trial(method.name, _told(method), size_of_groups(candidate.models, None), outcome, why, seconds=seconds)


def _told(method: Method) -> dict[str, Any]:
    try:
        usual = dict(type(method)().parameters)
    except TypeError:
        usual = {}
    given = {key: value for key, value in method.parameters.items() if key not in usual or usual[key] != value}
    told: dict[str, Any] = plain(given)
    return told
