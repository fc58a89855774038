"""One piece of work in a process of its own: a job comes in as a line of JSON, events go out as lines of JSON.

    in    {"action": "release", "plan": "/project/plan.toml", ...}
    out   {"event": "progress", "step": "verifying", "done": null}
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
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal import stopping
from shoal.errors import InfeasibleError, InputError, PlanError, ShoalError

if TYPE_CHECKING:
    from shoal.engines.base import Source
    from shoal.plan import Plan

__all__ = ["ACTIONS", "main"]

Job = dict[str, Any]
Progress = Callable[[str, float | None], None]

PREVIEWED = 50
BINS = 24
MOST_LABELS = 60
REHEARSED = 20_000
"""Tables of so many rows are rehearsed after every change; of larger ones the failing rows are counted only."""
SAMPLED = 5_000


def main() -> None:
    """Do one job."""
    # whatever a library prints is no event, and may show data
    events = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
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
    with stopping.listening():
        try:
            data = ACTIONS[job["action"]](job, lambda step, done: _tell(events, "progress", step=step, done=done))
            _tell(events, "result", data=data)
        except ShoalError as error:
            _tell(events, "error", kind=type(error).__name__, text=str(error))
        except MemoryError:
            _tell(events, "error", kind="Memory", text="The work needs more memory than it may have (--memory).")
        except Exception as error:  # its text may quote data: only its kind is told
            text = f"A fault in shoal ({type(error).__name__}); `shoal release` with SHOAL_DEBUG=1 shows where."
            _tell(events, "error", kind="Fault", text=text)
        except BaseException:
            if stopping.asked() is None:
                raise
            _tell(events, "error", kind="Cancelled", text="Cancelled; nothing was written.")


def _load() -> None:
    """What every job needs, loaded before there is one."""
    import shoal.pipeline
    import shoal.profiling  # noqa: F401


def _tell(events: IO[str], event: str, **what: Any) -> None:
    with contextlib.suppress(BrokenPipeError):
        events.write(json.dumps({"event": event, **what}) + "\n")


def _end_with_the_server() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _read(job: Job) -> tuple[Plan, Source]:
    from shoal.plan import Plan

    plan = Plan.read(job["plan"])
    if plan.source is None or plan.source.path is None:
        raise PlanError("The plan must say where the table is ([source]).")
    return plan, plan.source


# -- actions -----------------------------------------------------------------------------------------


def draft(job: Job, progress: Progress) -> dict[str, Any]:
    """Look at a table that has no plan yet, and draft one."""
    from shoal.drafting import draft_plan
    from shoal.profiling import profile_table

    table = Path(job["table"])
    if job.get("sample"):
        import pyarrow.csv

        from shoal.data.census import census_table

        pyarrow.csv.write_csv(census_table(SAMPLED), table)
    progress("looking at the columns", None)
    profile = profile_table(table)
    return {"plan": draft_plan(profile, table, Path(job["folder"]))}


def look(job: Job, progress: Progress) -> dict[str, Any]:
    """The profile of the plan's table, the shape of every column, and its first rows."""
    from shoal.engines import open_engine
    from shoal.profiling import profile_table
    from shoal.schema.spelling import fold

    plan, source = _read(job)
    progress("looking at the columns", None)
    profile = profile_table(source.path, source=source.csv, engine=plan.engine)
    told = profile.to_dict()
    progress("drawing", None)
    with open_engine(plan.engine) as engine:
        table = engine.read(source)
        first = engine.head(table, PREVIEWED)
        for place, column in enumerate(told["columns"]):
            counted = engine.frequencies(table, [place])
            values, count = counted.column(0).to_pylist(), counted.column("n").to_pylist()
            pairs = [(value, n) for value, n in zip(values, count, strict=True) if value is not None]
            column["shape"] = _shape(pairs)
            texts = {str(value) for value, _ in pairs}
            column["spellings"] = len(texts) - len({fold(text) for text in texts})
    rows = [[None if cell is None else str(cell) for cell in row.values()] for row in first.to_pylist()]
    return {**told, "names": list(table.columns), "preview": rows}


def _shape(pairs: list[tuple[Any, int]]) -> list[int]:
    """Rows per bin for numbers, per value for the most frequent of anything else."""
    numbers = [(float(v), n) for v, n in pairs if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == len(pairs) and len(pairs) > BINS:
        low, high = min(numbers)[0], max(numbers)[0]
        width = (high - low) / BINS or 1.0
        bins = [0] * BINS
        for number, n in numbers:
            bins[min(int((number - low) / width), BINS - 1)] += n
        return bins
    if len(numbers) == len(pairs):
        return [n for _, n in sorted(pairs)]
    return sorted((n for _, n in pairs), reverse=True)[:BINS]


def check(job: Job, progress: Progress) -> dict[str, Any]:
    """How many rows of the table as it is fail the plan's models; and what the plan would release."""
    from shoal import pipeline

    plan, source = _read(job)
    answer = pipeline.check(source.path, plan=plan, source=source.csv, progress=progress).to_dict()
    if answer["rows"] > REHEARSED:
        return answer
    try:
        rehearsed = pipeline.rehearse(replace(plan, method=plan.method.rehearsal()), progress=progress).to_dict()
        answer["rehearsal"] = {key: rehearsed.get(key) for key in ("released", "suppressed", "groups", "loss")}
    except InfeasibleError as error:
        answer["infeasible"] = str(error)
    except InputError as error:
        answer["refused"] = str(error)
    return answer


def levels(job: Job, progress: Progress) -> dict[str, Any]:
    """What a column's hierarchy makes of its own values, level by level."""
    import numpy as np

    from shoal.models import size_of_groups
    from shoal.schema import Flat
    from shoal.utility.tables import open_tables

    plan, source = _read(job)
    name = job["column"]
    if name not in plan.schema.columns:
        raise PlanError("The plan has no such column.")
    with open_tables(plan.engine) as tables:
        column = tables.rows(source, [name])[0]
    known = [value for value in column.values if value is not None]
    ladder = (plan.schema.columns[name].hierarchy or Flat()).bind(known, len(known) < len(column.values), column=name)
    least = size_of_groups(plan.models, 2)
    told = []
    for level in range(ladder.height + 1):
        count = np.bincount(ladder.codes[level], weights=column.count, minlength=ladder.size(level)).astype(int)
        values = np.bincount(ladder.codes[level], minlength=ladder.size(level))
        shown = np.argsort(-count, kind="stable")[:MOST_LABELS] if len(count) > MOST_LABELS else range(len(count))
        told.append(
            {
                "labels": len(count),
                "shown": [[ladder.labels[level][code], int(count[code]), int(values[code])] for code in shown],
                "small_rows": int(count[count < least].sum()),
                "lost": float((ladder.share[level][ladder.codes[level]] * column.count).sum() / column.count.sum()),
            }
        )
    return {"column": name, "least": least, "levels": told}


def release(job: Job, progress: Progress) -> dict[str, Any]:
    """Make the release in a folder of its own, with the facts behind its report."""
    from shoal import pipeline
    from shoal.plan import plain

    plan, _ = _read(job)
    if plan.output is None:
        raise PlanError("The plan must say how the release is called ([output]).")
    place = Path(job["folder"]) / plan.output.path.name
    by_levels = plan.method.name in ("full-domain", "levels")  # only such a recoding can be kept
    moved = replace(plan, output=replace(plan.output, path=place))
    made = pipeline.release(moved, save_recoding=by_levels, progress=progress)
    facts = None if made.description is None else plain(asdict(made.description))
    return {**made.to_dict(), "output": place.name, "facts": facts}


def explore(job: Job, progress: Progress) -> dict[str, Any]:
    """Several methods and parameters side by side."""
    from shoal.exploration import explore as explore_plan

    plan, _ = _read(job)
    found = explore_plan(
        plan,
        methods=job.get("methods") or (),
        ks=job.get("ks") or (),
        time_limit=float(job.get("seconds") or 30.0),
        progress=progress,
    )
    return found.to_dict()


def minimal(job: Job, progress: Progress) -> dict[str, Any]:
    """The minimal full-domain recodings: the lower edge of the lattice."""
    from shoal import pipeline
    from shoal.methods import FullDomain

    plan, _ = _read(job)
    method = plan.method if isinstance(plan.method, FullDomain) else FullDomain()
    found = pipeline.minimal_recodings(replace(plan, method=method), progress=progress)
    return {"minimal": [one.to_dict() for one in found[:200]], "count": len(found)}


def compare(job: Job, progress: Progress) -> dict[str, Any]:
    """A release beside its original, and its first rows."""
    from shoal.engines import open_engine
    from shoal.engines.base import Source as Table
    from shoal.plan import plain
    from shoal.utility import compare as compare_tables

    plan, source = _read(job)
    progress("comparing", None)
    told = plain(compare_tables(source, Path(job["released"]), plan, engine=plan.engine).to_dict())
    with open_engine(plan.engine) as engine:
        table = engine.read(Table(Path(job["released"])))
        first = engine.head(table, PREVIEWED)
    rows = [[None if cell is None else str(cell) for cell in row.values()] for row in first.to_pylist()]
    return {**told, "names": list(table.columns), "preview": rows}


def attack(job: Job, progress: Progress) -> dict[str, Any]:
    """What an intruder learns from a release, with the original to hold it against."""
    from shoal.plan import plain
    from shoal.risk import attack as attack_table

    plan, source = _read(job)
    progress("attacking", None)
    found = attack_table(Path(job["released"]), plan, original=source, engine=plan.engine)
    told: dict[str, Any] = plain(found.to_dict())
    return told


ACTIONS: dict[str, Callable[[Job, Progress], dict[str, Any]]] = {
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
