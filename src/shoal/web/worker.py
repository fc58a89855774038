"""One piece of work in a process of its own: a job comes in as a line of JSON, events go out as lines of JSON.

    in    {"action": "release", "plan": "/project/plan.toml", ...}
    out   {"event": "progress", "step": "verifying", "done": null}
          {"event": "partial", "data": {...}}    what is known already, of work that goes on
          {"event": "result", "data": {...}}     or     {"event": "error", "kind": "PlanError", "text": "..."}

The page's server starts such a process before it is needed, gives it one job and bounds its time; the process bounds
its memory. It ends when it is asked to (SIGTERM), and when the server is gone (its input ends), and leaves nothing half
written. Each action calls what a command calls.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import InfeasibleError, InputError, PlanError, ShoalError
from shoal.runtime import signals
from shoal.utility.labels import number_of

if TYPE_CHECKING:
    from shoal.advice.profile import Profile
    from shoal.io.engines.base import EngineSettings, Source
    from shoal.plan.plan import Plan

__all__ = ["ACTIONS", "main"]

Job = dict[str, Any]

PREVIEWED = 50
BINS = 24
MOST_BARS = 600
MOST_LABELS = 60
MOST_VALUES = 400
"""Of a column with more values no tree is offered to begin with."""
REHEARSED = 5_000
"""Tables of so many rows are rehearsed whole after every change; of larger ones a sample of as many."""
INVENTED = 5_000
COMPARED = 30
TOLD_EVERY = 0.3


@dataclass(frozen=True)
class Telling:
    """Who waits is told of steps, and of what is known already."""

    events: IO[str]

    def __call__(self, step: str, done: float | None) -> None:
        """The step at work, and how far it is."""
        self.tell("progress", step=step, done=done)

    def partly(self, data: dict[str, Any]) -> None:
        """What is known so far."""
        self.tell("partial", data=data)

    def tell(self, event: str, **what: Any) -> None:
        """One line."""
        with contextlib.suppress(BrokenPipeError):
            self.events.write(json.dumps({"event": event, **what}) + "\n")


def main() -> None:
    """Do one job."""
    # whatever a library prints is no event, and may show data
    telling = Telling(os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    with contextlib.suppress(OSError):
        os.nice(5)  # the page comes first
    _load()
    line = sys.stdin.buffer.readline()
    if not line:
        return
    job = json.loads(line)
    if job.get("memory"):
        resource.setrlimit(resource.RLIMIT_DATA, (job["memory"], job["memory"]))
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    with signals.listening():
        try:
            data = ACTIONS[job["action"]](job, telling)
            telling.tell("result", data=data)
        except ShoalError as error:
            telling.tell("error", kind=type(error).__name__, text=str(error))
        except MemoryError:
            telling.tell("error", kind="Memory", text="The work needs more memory than it may have (--memory).")
        except Exception as error:  # its text may quote data: only its kind is told
            text = f"A fault in shoal ({type(error).__name__}); `shoal release` with SHOAL_DEBUG=1 shows where."
            telling.tell("error", kind="Fault", text=text)
        except BaseException:
            if signals.asked() is None:
                raise
            telling.tell("error", kind="Cancelled", text="Cancelled; nothing was written.")


def _load() -> None:
    """What every job needs, loaded before there is one."""


def _end_with_the_server() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _read(job: Job) -> tuple[Plan, Source]:
    from shoal.plan.plan import Plan

    plan = Plan.read(job["plan"])
    if plan.source is None:
        raise PlanError("The plan must say where the table is ([source]).")
    return plan, plan.source


# -- actions -----------------------------------------------------------------------------------------


def draft(job: Job, progress: Telling) -> dict[str, Any]:
    """Look at a table that has no plan yet, and draft one; what was seen is what :func:`look` tells."""
    from shoal.advice.draft import draft_plan
    from shoal.advice.profile import profile as profile_table
    from shoal.io.engines.base import Source as Table

    table = Path(job["table"])
    if job.get("sample"):
        import pyarrow.csv

        from shoal.datasets.census import census_table

        pyarrow.csv.write_csv(census_table(INVENTED), table)
    progress("looking at the columns", None)
    profile = profile_table(table)
    found = profile.source
    source = Table(table, csv=replace(found, missing=(*found.missing, *profile.missing)))
    return _drawn(profile, source, None, progress, plan=draft_plan(profile, table, Path(job["folder"])))


def look(job: Job, progress: Telling) -> dict[str, Any]:
    """The profile of the plan's table, the shape of every column, and its first rows."""
    from shoal.advice.profile import profile as profile_table

    plan, source = _read(job)
    progress("looking at the columns", None)
    profile = profile_table(source, engine=plan.engine, time_zone=source.time_zone)
    return _drawn(profile, source, plan.engine, progress)


def _drawn(
    profile: Profile, source: Source, settings: EngineSettings | None, progress: Telling, **more: Any
) -> dict[str, Any]:
    """A profile, told as soon as there is one; then with the shape of every column, and the first rows."""
    from shoal.io.engines import open_engine
    from shoal.schema.spelling import fold

    told = {**profile.to_dict(), **more}
    for column in told["columns"]:
        column |= {"shape": [], "spellings": 0}
    progress.partly(told)
    progress("drawing", None)
    with open_engine(settings, time_zone=source.time_zone) as engine:
        table = engine.keep(engine.read(source))
        first = engine.head(table, PREVIEWED)
        for place, column in enumerate(told["columns"]):
            counted = engine.frequencies(table, [place])
            values, count = counted.column(0).to_pylist(), counted.column("n").to_pylist()
            pairs = [(value, n) for value, n in zip(values, count, strict=True) if value is not None]
            column["shape"] = _shape(pairs, column["kind"])
            texts = {str(value) for value, _ in pairs}
            column["spellings"] = len(texts) - len({fold(text) for text in texts})
    rows = [[None if cell is None else str(cell) for cell in row.values()] for row in first.to_pylist()]
    return {**told, "names": list(table.columns), "preview": rows}


def _shape(pairs: list[tuple[Any, int]], kind: str) -> list[int]:
    """Rows per bin for numbers, in their order for dates, and per value for the most frequent of anything else."""
    if kind == "number":
        read = [(number_of(str(value)), n) for value, n in pairs]
        numbers = [(value, n) for value, n in read if value is not None]
        if len(numbers) == len(pairs):
            return [n for _, n in sorted(numbers)] if len(numbers) <= BINS else _binned(numbers, BINS)
    if kind == "date":
        count = [n for _, n in sorted((str(value), n) for value, n in pairs)]
        wide = max(1, -(-len(count) // BINS))
        return [sum(count[place : place + wide]) for place in range(0, len(count), wide)]
    return sorted((n for _, n in pairs), reverse=True)[:BINS]


def _binned(numbers: list[tuple[float, int]], most: int) -> list[int]:
    low, high = min(numbers)[0], max(numbers)[0]
    width = (high - low) / most or 1.0
    bins = [0] * most
    for number, n in numbers:
        bins[min(int((number - low) / width), most - 1)] += n
    return bins


def check(job: Job, progress: Telling) -> dict[str, Any]:
    """How many rows of the table as it is fail the plan's models; and what the plan would release."""
    from shoal.io.engines import open_engine
    from shoal.io.engines.base import Source as Table
    from shoal.pipeline import run as pipeline

    plan, source = _read(job)
    whose = plan.schema.person
    answer = pipeline.check(source, plan=plan, person=whose, progress=progress).to_dict()
    progress.partly(answer)
    small = replace(plan, method=plan.method.rehearsal())
    sampled = answer["rows"] > REHEARSED
    if sampled:
        with open_engine(plan.engine, time_zone=source.time_zone) as engine:
            rows = engine.sample(engine.read(source), REHEARSED)
        small = replace(small, source=Table(frame=rows, time_zone=source.time_zone))
    try:
        rehearsed = pipeline.rehearse(small, progress=progress).to_dict()
        answer["rehearsal"] = {key: rehearsed.get(key) for key in ("rows", "released", "suppressed", "groups", "loss")}
        answer["rehearsal"]["sampled"] = sampled
    except InfeasibleError as error:
        answer["hard" if sampled else "infeasible"] = str(error)  # among all rows there may be groups
    except InputError as error:
        answer["refused"] = str(error)
    return answer


def levels(job: Job, progress: Telling) -> dict[str, Any]:
    """What a column's hierarchy makes of its own values, level by level: what each costs, and what it brings."""
    import numpy as np

    from shoal.models import size_of_groups
    from shoal.schema import Flat, Role
    from shoal.utility.coded_tables import open_tables

    plan, source = _read(job)
    name = job["column"]
    if name not in plan.schema.columns:
        raise PlanError("The plan has no such column.")
    with open_tables(plan.engine) as tables:
        column = tables.rows(source, [name])[0]
    known = [value for value in column.values if value is not None]
    least = size_of_groups(plan.models, 2)
    answer = {"column": name, "least": least, "bars": _bars(column), "rows": len(column.code), "levels": [],
              "values": known if len(known) <= MOST_VALUES else None, "distinct": len(known)}  # fmt: skip
    if plan.schema.columns[name].role is not Role.QUASI_IDENTIFIER:
        return answer
    ladder = (plan.schema.columns[name].hierarchy or Flat()).bind(known, len(known) < len(column.values), column=name)
    for level in range(ladder.height + 1):
        count = np.bincount(ladder.codes[level], weights=column.count, minlength=ladder.size(level)).astype(int)
        values = np.bincount(ladder.codes[level], minlength=ladder.size(level))
        shown = np.argsort(-count, kind="stable")[:MOST_LABELS] if len(count) > MOST_LABELS else range(len(count))
        answer["levels"].append(
            {
                "labels": len(count),
                "shown": [[ladder.labels[level][code], int(count[code]), int(values[code])] for code in shown],
                "small_rows": int(count[count < least].sum()),
                "lost": float((ladder.share[level][ladder.codes[level]] * column.count).sum() / column.count.sum()),
            }
        )
    progress.partly(answer)
    for level, failing in enumerate(_failing_at(plan, source, name, progress)):
        answer["levels"][level]["failing"] = failing
    return answer


def _bars(column: Any) -> list[list[float]] | None:
    """A column of numbers as pairs of a number and its rows, not too many; None where it is something else."""
    counted = [(number_of(value), int(n)) for value, n in zip(column.values, column.count, strict=True) if value]
    numbers = [(number, n) for number, n in counted if number is not None]
    if len(numbers) < len(counted) or not numbers:
        return None
    if len(numbers) <= MOST_BARS:
        return [[number, n] for number, n in sorted(numbers)]
    low, high = min(numbers)[0], max(numbers)[0]
    wide = (high - low) / MOST_BARS
    return [[low + wide * (place + 0.5), n] for place, n in enumerate(_binned(numbers, MOST_BARS)) if n]


def _failing_at(plan: Plan, source: Source, name: str, progress: Telling) -> list[int | None]:
    """Rows that fail with a column at each of its levels and all others as they are; None where that says nothing."""
    from shoal.io.engines import open_engine
    from shoal.models import limited
    from shoal.pipeline.decide import Watch, encode
    from shoal.table import recode_codes

    with open_engine(plan.engine, time_zone=source.time_zone) as engine:
        problem = encode(engine, source, plan, Watch(progress))
    place = problem.names.index(name)
    told: list[int | None] = []
    for level in range(problem.ladders[place].height + 1):
        if limited(problem.model):
            told.append(None)
            continue
        node = tuple(level if at == place else 0 for at in range(len(problem.names)))
        _, groups = problem.frequencies.group(*recode_codes(problem.frequencies.codes, problem.ladders, node))
        told.append(int(groups.size[~problem.model.assess(groups).holds].sum()))
    return told


def release(job: Job, progress: Telling) -> dict[str, Any]:
    """Make the release in a folder of its own, with the facts behind its report."""
    from shoal.pipeline import run as pipeline
    from shoal.plan.plan import plain

    plan, _ = _read(job)
    if plan.output is None:
        raise PlanError("The plan must say how the release is called ([output]).")
    place = Path(job["folder"]) / plan.output.path.name
    by_levels = plan.method.name in ("full-domain", "levels")  # only such a recoding can be kept
    moved = replace(plan, output=replace(plan.output, path=place))
    made = pipeline.release(moved, save_recoding=by_levels, progress=progress)
    facts = None if made.description is None else plain(asdict(made.description))
    return {**made.to_dict(), "output": place.name, "facts": facts}


def explore(job: Job, progress: Telling) -> dict[str, Any]:
    """Several methods and parameters side by side; what is found so far is told, and kept where the rest is ended."""
    from shoal.advice.explore import Exploration, Lane
    from shoal.advice.explore import explore as explore_plan

    plan, _ = _read(job)
    known: dict[str, Any] = {"trials": [], "lanes": []}
    last = 0.0

    def so_far(found: Exploration) -> None:
        known.update(found.to_dict())
        progress.partly(known)

    def stand(race: Sequence[Lane]) -> None:
        nonlocal last
        known["lanes"] = [lane.to_dict() for lane in race]
        if time.monotonic() - last >= TOLD_EVERY:
            last = time.monotonic()
            progress.partly(known)

    found = explore_plan(
        plan,
        methods=job.get("methods") or (),
        ks=job.get("ks") or (),
        time_limit=float(job.get("seconds") or 30.0),
        progress=progress,
        so_far=so_far,
        lanes=stand,
    )
    return {**found.to_dict(), "lanes": known["lanes"]}


def minimal(job: Job, progress: Telling) -> dict[str, Any]:
    """The minimal full-domain recodings, the lower edge of the lattice; and all of it where it is small."""
    from shoal.io.engines import open_engine
    from shoal.methods import FullDomain
    from shoal.methods.full_domain.minimal import list_minimal, list_recodings
    from shoal.pipeline.decide import Watch, encode

    plan, source = _read(job)
    method = plan.method if isinstance(plan.method, FullDomain) else FullDomain()
    with open_engine(plan.engine, time_zone=source.time_zone) as engine:
        problem = encode(engine, source, replace(plan, method=method), Watch(progress))
    progress("looking at the lattice", None)
    lattice = list_recodings(problem, method)
    told = {"lattice": None if lattice is None else lattice.to_dict()}
    found = list_minimal(problem, method)
    return told | {"minimal": [one.to_dict() for one in found[:200]], "count": len(found)}


def compare(job: Job, progress: Telling) -> dict[str, Any]:
    """A release beside its original, and a sample of its rows with the detail that each cell has left."""
    import numpy as np

    from shoal.audit.compare import compare as compare_tables
    from shoal.io.engines.base import Source as Table
    from shoal.plan.plan import plain
    from shoal.utility.coded_tables import open_tables
    from shoal.utility.labels import read_labels

    plan, source = _read(job)
    progress("comparing", None)
    released = Table(Path(job["released"]))
    told: dict[str, Any] = plain(compare_tables(source, released.path, plan, engine=plan.engine).to_dict())
    progress.partly(told)
    with open_tables(plan.engine) as tables:
        names = tables.names(released)
        after = tables.rows(released, names)
        known = [name for name in plan.schema.quasi_identifiers if name in names]
        before = dict(zip(known, tables.rows(source, known), strict=True))
    rows = len(after[0].code)
    chosen = np.unique(np.linspace(0, rows - 1, min(rows, COMPARED)).astype(int))
    shown: list[list[Any]] = [[] for _ in chosen]
    for column in after:
        left = dict.fromkeys(column.values, 1.0)
        if column.name in before:
            values = before[column.name].values
            read = read_labels(column.values, values, plan.schema.columns[column.name].hierarchy, column.name)
            for place, label in enumerate(column.values):
                covered = int(read.rows(place, place + 1)[0].sum())
                left[label] = 1 - max(0, covered - 1) / max(1, len(values) - 1)
        for line, row in zip(shown, chosen, strict=True):
            label = column.values[column.code[row]]
            line.append([label, left[label]])
    return {**told, "names": list(names), "sample": shown}


def attack(job: Job, progress: Telling) -> dict[str, Any]:
    """What an intruder learns from a release, with the original to hold it against."""
    from shoal.audit.attack import attack as attack_table
    from shoal.plan.plan import plain

    plan, source = _read(job)
    progress("attacking", None)
    found = attack_table(Path(job["released"]), plan, original=source, engine=plan.engine)
    told: dict[str, Any] = plain(found.to_dict())
    return told


ACTIONS: dict[str, Callable[[Job, Telling], dict[str, Any]]] = {
    "draft": draft,
    "look": look,
    "check": check,
    "levels": levels,
    "release": release,
    "explore": explore,
    "minimal": minimal,
    "compare": compare,
    "attack": attack,
}

if __name__ == "__main__":
    main()
