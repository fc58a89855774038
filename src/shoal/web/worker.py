"""Worker process for one job: JSON lines in, JSON lines out.

    in    {"action": "release", "plan": {"text": "[source] ...", "root": "/data", ...}, ...}
    out   {"event": "progress", "step": "verifying", "done": null}
          {"event": "partial", "data": {...}}    a partial result; the work continues
          {"event": "result", "data": {...}}     or     {"event": "error", "kind": "PlanError", "text": "..."}

The page's server starts such a process in advance, gives it one job and limits its time; the process limits its memory.
It terminates on SIGTERM, and when the server is gone (its input ends), and leaves no partial files. Each action calls
the function that a command calls.
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
from shoal.utility.labels import parse_number
from shoal.web.file_access import confine, confine_readable_table, confine_table, confined_plan

if TYPE_CHECKING:
    from shoal.advice.explore import Exploration
    from shoal.advice.profile import Profile
    from shoal.io.engines.base import EngineSettings, Source
    from shoal.plan.plan import Plan

Job = dict[str, Any]

PREVIEW_ROWS = 50
MAX_SHAPE_BINS = 24
MAX_HISTOGRAM_BARS = 600
MAX_LABELS_PER_LEVEL = 60
MAX_FAR_SHARE = 0.2
"""Largest part of the rows at one end that a picture may leave outside of its scale."""
MAX_TREE_VALUES = 400
"""A column with more values is offered no tree to start with."""
MAX_DRY_RUN_ROWS = 5_000
"""Dry runs after a change use the whole table up to this many rows, or a sample of this size."""
SAMPLE_CENSUS_ROWS = 5_000
COMPARED_SAMPLE_ROWS = 30
PARTIAL_INTERVAL_SECONDS = 0.3


@dataclass(frozen=True)
class EventWriter:
    """Writer of events: progress, partial results, result, error."""

    events: IO[str]

    def __call__(self, step: str, done: float | None) -> None:
        """Report the current step and how far it has come."""
        self.emit("progress", step=step, done=done)

    def report_partial(self, data: dict[str, Any]) -> None:
        """Report a partial result."""
        self.emit("partial", data=data)

    def emit(self, event: str, **fields: Any) -> None:
        """Write one event as a line."""
        with contextlib.suppress(BrokenPipeError):
            self.events.write(json.dumps({"event": event, **fields}) + "\n")


def main() -> None:
    """Execute one job."""
    # output that a library prints is no event, and may contain data
    writer = EventWriter(os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1))
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, 1)
    with contextlib.suppress(OSError):
        os.nice(5)  # the page has priority
    _load()
    line = sys.stdin.buffer.readline()
    if not line:
        return
    job = json.loads(line)
    if job.get("memory"):
        resource.setrlimit(resource.RLIMIT_DATA, (job["memory"], job["memory"]))
    threading.Thread(target=_terminate_with_server, daemon=True).start()
    with signals.handle_signals():
        try:
            data = ACTIONS[job["action"]](job, writer)
            writer.emit("result", data=data)
        except ShoalError as error:
            writer.emit("error", **error.to_dict())
        except MemoryError:
            writer.emit("error", **{**ShoalError("page.run-out-of-memory").to_dict(), "kind": "Memory"})
        except Exception as error:  # its text may quote data: report its type only
            text = f"A fault in shoal ({type(error).__name__}); `shoal release` with SHOAL_DEBUG=1 shows where."
            writer.emit("error", kind="Fault", text=text)
        except BaseException:
            if signals.received_signal() is None:
                raise
            writer.emit("error", kind="Cancelled", text="Cancelled; nothing was written.")


def _load() -> None:
    """Import the modules that every job needs before there is one."""


def _terminate_with_server() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _read(job: Job) -> tuple[Plan, Source]:
    """Read the plan of a job, and check again which files it names.

    The text is the one that the server has checked. Files may have been replaced by links since.
    """
    plan = confined_plan(**job["plan"])
    if plan.source is None:
        raise PlanError("plan.no-source")
    return plan, plan.source


def _released(job: Job) -> Path:
    """Return the path of the release that a job is about."""
    return confine_table(Path(job["plan"]["root"]), Path(job["released"]))


# -- actions -----------------------------------------------------------------------------------------


def draft(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Profile a table without a plan, and draft one; see :func:`look`."""
    from shoal.advice.draft import draft_plan
    from shoal.advice.fit_columns import fit_columns
    from shoal.advice.profile import profile as profile_table
    from shoal.io.engines.base import Source as Table
    from shoal.plan.plan import Plan
    from shoal.plan.review import Recipient

    table = Path(job["table"])
    recipient = Recipient(**job["recipient"]) if job.get("recipient") else None
    confine_readable_table(Path(job["root"]), table)
    if job.get("sample"):
        import pyarrow.csv

        from shoal.datasets.census import census_table

        pyarrow.csv.write_csv(census_table(SAMPLE_CENSUS_ROWS), table)
    progress("looking at the columns", None)
    profile = profile_table(table)
    found = profile.source
    source = Table(table, csv=replace(found, missing=(*found.missing, *profile.missing)))
    if profile.rows > 1:
        profile = fit_columns(
            profile,
            source,
            lambda part: Plan.from_toml(draft_plan(part, None, Path(), recipient=recipient)),
            progress=progress,
        )
    text = draft_plan(profile, table, Path(job["folder"]), recipient=recipient)
    return _profile_with_shapes(profile, source, None, progress, plan=text)


def look(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Profile the plan's table, with column shapes and first rows."""
    from shoal.advice.profile import profile as profile_table

    plan, source = _read(job)
    progress("looking at the columns", None)
    profile = profile_table(source, engine=plan.engine, time_zone=source.time_zone)
    return _profile_with_shapes(profile, source, plan.engine, progress)


def _profile_with_shapes(
    profile: Profile, source: Source, settings: EngineSettings | None, progress: EventWriter, **more: Any
) -> dict[str, Any]:
    """Return a profile with the shape of every column and the first rows.

    The profile itself is reported as a partial result as soon as it is known.
    """
    from shoal.io.engines import open_engine
    from shoal.schema.spelling import fold

    data = {**profile.to_dict(), **more}
    for column in data["columns"]:
        column |= {"shape": [], "spellings": 0}
    progress.report_partial(data)
    progress("drawing", None)
    with open_engine(settings, time_zone=source.time_zone) as engine:
        table = engine.cache(engine.read(source))
        first = engine.head(table, PREVIEW_ROWS)
        for position, column in enumerate(data["columns"]):
            counted = engine.frequencies(table, [position])
            values, count = counted.column(0).to_pylist(), counted.column("n").to_pylist()
            pairs = [(value, n) for value, n in zip(values, count, strict=True) if value is not None]
            column["shape"] = _shape(pairs, column["kind"])
            texts = {str(value) for value, _ in pairs}
            column["spellings"] = len(texts) - len({fold(text) for text in texts})
    rows = [[None if cell is None else str(cell) for cell in row.values()] for row in first.to_pylist()]
    return {**data, "names": list(table.columns), "preview": rows}


def _shape(pairs: list[tuple[Any, int]], kind: str) -> list[int]:
    """Return row counts that display the shape of a column.

    They are per bin for numbers, in the order of time for dates, and per value, most frequent first, for anything else.
    """
    if kind == "number":
        read = [(parse_number(str(value)), n) for value, n in pairs]
        numbers = [(value, n) for value, n in read if value is not None]
        if len(numbers) == len(pairs):
            if len(numbers) <= MAX_SHAPE_BINS:
                return [n for _, n in sorted(numbers)]
            return _binned(numbers, MAX_SHAPE_BINS, typical_range(numbers))
    if kind == "date":
        count = [n for _, n in sorted((str(value), n) for value, n in pairs)]
        wide = max(1, -(-len(count) // MAX_SHAPE_BINS))
        return [sum(count[start : start + wide]) for start in range(0, len(count), wide)]
    return sorted((n for _, n in pairs), reverse=True)[:MAX_SHAPE_BINS]


def _binned(numbers: list[tuple[float, int]], bin_count: int, limits: tuple[float, float]) -> list[int]:
    """Count rows in bins of equal width; the outer bins are open."""
    low, high = limits
    width = (high - low) / bin_count or 1.0
    bins = [0] * bin_count
    for number, n in numbers:
        bins[max(0, min(int((number - low) / width), bin_count - 1))] += n
    return bins


def typical_range(numbers: list[tuple[float, int]]) -> tuple[float, float]:
    """Return the range of a picture: of all numbers, codes such as 9999 apart.

    A number is far off if the gap to its neighbour is wider than the rest of the numbers together. At most
    ``MAX_FAR_SHARE`` of the rows can be far off at each end.

    >>> typical_range([(1.0, 40), (7.0, 30), (9.0, 28), (9999.0, 2)])
    (1.0, 9.0)
    >>> typical_range([(0.0, 50), (1000.0, 50)])
    (0.0, 1000.0)
    """
    ordered = sorted(numbers)
    limit = MAX_FAR_SHARE * sum(n for _, n in ordered)

    def cut(positions: list[tuple[float, int]]) -> int:
        """Return how many numbers at the end of a list are far off."""
        found = rows = 0
        for taken in range(1, len(positions) - 1):
            rows += positions[-taken][1]
            if rows > limit:
                break
            rest = abs(positions[-taken - 1][0] - positions[0][0])
            if abs(positions[-taken][0] - positions[-taken - 1][0]) > rest > 0:
                found = taken
        return found

    above = cut(ordered)
    ordered = ordered[: len(ordered) - above]
    below = cut(ordered[::-1])
    return ordered[below][0], ordered[-1][0]


def check(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Count the rows that fail the plan's models, and dry-run the plan."""
    from shoal.io.engines import open_engine
    from shoal.io.engines.base import Source as Table
    from shoal.pipeline.check import check as check_table
    from shoal.pipeline.run import dry_run

    plan, source = _read(job)
    person = plan.schema.person
    answer = check_table(source, plan=plan, person=person, progress=progress).to_dict()
    progress.report_partial(answer)
    small = replace(plan, method=plan.method.dry_run_variant())
    sampled = answer["rows"] > MAX_DRY_RUN_ROWS
    if sampled:
        with open_engine(plan.engine, time_zone=source.time_zone) as engine:
            rows = engine.sample(engine.read(source), MAX_DRY_RUN_ROWS)
        small = replace(small, source=Table(frame=rows, time_zone=source.time_zone))
    try:
        tried = dry_run(small, progress=progress).to_dict()
        answer["rehearsal"] = {key: tried.get(key) for key in ("rows", "released", "suppressed", "groups", "loss")}
        answer["rehearsal"]["sampled"] = sampled
    except InfeasibleError as error:
        # the whole table may have larger groups than the sample
        proof = _proof_of_infeasibility(plan, source, progress) if sampled else error
        answer["hard" if proof is None else "infeasible"] = (proof or error).to_dict()
    except InputError as error:
        answer["refused"] = error.to_dict()
    return answer


def _proof_of_infeasibility(plan: Plan, source: Source, progress: EventWriter) -> InfeasibleError | None:
    """Return the error if the whole table as one group fails a model."""
    from shoal.io.engines import open_engine
    from shoal.methods.base import require_feasible
    from shoal.pipeline.decide import StepTimer, encode

    with open_engine(plan.engine, time_zone=source.time_zone) as engine:
        problem = encode(engine, source, plan, StepTimer(progress))
    try:
        require_feasible(problem)
    except InfeasibleError as error:
        return error
    return None


def levels(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Apply each level of a column's hierarchy to its values.

    Every level comes with its loss, and with the rows that fail when the column has this level.
    """
    import numpy as np

    from shoal.models import size_of_groups
    from shoal.schema import Flat, Role
    from shoal.utility.coded_tables import open_tables

    plan, source = _read(job)
    name = job["column"]
    if name not in plan.schema.columns:
        raise PlanError("page.no-such-column")
    with open_tables(plan.engine) as tables:
        column = tables.rows(source, [name])[0]
    known = [value for value in column.values if value is not None]
    least = size_of_groups(plan.models, 2)
    bars = _bars(column)
    limits = typical_range([(number, int(n)) for number, n in bars]) if bars else None
    answer = {"column": name, "least": least, "bars": bars, "limits": limits, "rows": len(column.code), "levels": [],
              "values": known if len(known) <= MAX_TREE_VALUES else None, "distinct": len(known)}  # fmt: skip
    if plan.schema.columns[name].role is not Role.QUASI_IDENTIFIER:
        return answer
    ladder = (plan.schema.columns[name].hierarchy or Flat()).bind(known, len(known) < len(column.values), column=name)
    for level in range(ladder.height + 1):
        count = np.bincount(ladder.codes[level], weights=column.count, minlength=ladder.size(level)).astype(int)
        values = np.bincount(ladder.codes[level], minlength=ladder.size(level))
        displayed = (
            np.argsort(-count, kind="stable")[:MAX_LABELS_PER_LEVEL]
            if len(count) > MAX_LABELS_PER_LEVEL
            else range(len(count))
        )
        answer["levels"].append(
            {
                "labels": len(count),
                "shown": [[ladder.labels[level][code], int(count[code]), int(values[code])] for code in displayed],
                "small_rows": int(count[count < least].sum()),
                "lost": float((ladder.share[level][ladder.codes[level]] * column.count).sum() / column.count.sum()),
            }
        )
    progress.report_partial(answer)
    for level, failing in enumerate(_failing_rows_by_level(plan, source, name, progress)):
        answer["levels"][level]["failing"] = failing
    return answer


def _bars(column: Any) -> list[list[float]] | None:
    """Return a numeric column as pairs of a number and its rows.

    Many numbers are binned. Return None if the column has other values.
    """
    counted = [(parse_number(value), int(n)) for value, n in zip(column.values, column.count, strict=True) if value]
    numbers = [(number, n) for number, n in counted if number is not None]
    if len(numbers) < len(counted) or not numbers:
        return None
    if len(numbers) <= MAX_HISTOGRAM_BARS:
        return [[number, n] for number, n in sorted(numbers)]
    low, high = typical_range(numbers)
    inside = [(number, n) for number, n in numbers if low <= number <= high]
    outside = [[number, n] for number, n in sorted(numbers) if not low <= number <= high]
    wide = (high - low) / MAX_HISTOGRAM_BARS
    bars = _binned(inside, MAX_HISTOGRAM_BARS, (low, high))
    return sorted([[low + wide * (position + 0.5), n] for position, n in enumerate(bars) if n] + outside)


def _failing_rows_by_level(plan: Plan, source: Source, name: str, progress: EventWriter) -> list[int | None]:
    """Count failing rows for each level of a column, the others exact.

    A count is None for models with partial knowledge and scenarios, for which it has no meaning.
    """
    from shoal.io.engines import open_engine
    from shoal.pipeline.decide import StepTimer, encode
    from shoal.table import recode_codes

    with open_engine(plan.engine, time_zone=source.time_zone) as engine:
        problem = encode(engine, source, plan, StepTimer(progress))
    position = problem.names.index(name)
    failing: list[int | None] = []
    for level in range(problem.ladders[position].height + 1):
        if problem.model.of_some_columns:
            failing.append(None)
            continue
        node = tuple(level if at == position else 0 for at in range(len(problem.names)))
        _, groups = problem.frequencies.group(*recode_codes(problem.frequencies.codes, problem.ladders, node))
        failing.append(int(groups.size[~problem.model.assess(groups).holds].sum()))
    return failing


def release(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Make a release in a separate folder; return the report's facts."""
    from shoal.audit.unique_values import count_unique_values
    from shoal.io.engines.base import Source as Table
    from shoal.pipeline import run as pipeline
    from shoal.plan.plan import plain
    from shoal.schema import Role

    plan, _ = _read(job)
    if plan.output is None:
        raise PlanError("plan.no-output")
    target = confine(Path(job["plan"]["root"]), Path(job["plan"]["folder"])) / plan.output.path.name
    by_levels = plan.method.name in ("full-domain", "levels")  # only such a recoding can be saved
    moved = replace(plan, output=replace(plan.output, path=target))
    made = pipeline.release(moved, save_recoding=by_levels, internal_report=True, progress=progress)
    facts = None if made.description is None else plain(asdict(made.description))
    exact = [name for name, column in plan.columns.items() if column.role in (Role.SENSITIVE, Role.OTHER)]
    unique = count_unique_values(Table(target), exact, plan.engine)
    return {**made.to_dict(), "output": target.name, "facts": facts, "unique_values": unique}


def explore(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Try several methods and parameters side by side.

    Trials are reported as they end, and are kept if the rest is cancelled.
    """
    from shoal.advice.explore import Lane
    from shoal.advice.explore import explore as explore_plan

    plan, _ = _read(job)
    # a trial that is used must not change what the plan asks for: its k and its limit of suppression, unless requested
    limit = getattr(plan.method, "suppression", None)
    known: dict[str, Any] = {"trials": [], "lanes": []}
    last = 0.0

    def so_far(found: Exploration) -> None:
        known.update(_with_errors(found))
        progress.report_partial(known)

    def report_lanes(race: Sequence[Lane]) -> None:
        nonlocal last
        known["lanes"] = [lane.to_dict() for lane in race]
        if time.monotonic() - last >= PARTIAL_INTERVAL_SECONDS:
            last = time.monotonic()
            progress.report_partial(known)

    found = explore_plan(
        plan,
        methods=job.get("methods") or (),
        ks=job.get("ks") or (None,),
        suppressions=() if limit is None else (limit,),
        own_method=True,
        time_limit=float(job.get("seconds") or 30.0),
        progress=progress,
        so_far=so_far,
        lanes=report_lanes,
    )
    return {**_with_errors(found), "lanes": known["lanes"]}


def _with_errors(found: Exploration) -> dict[str, Any]:
    """Return an exploration with the errors of its trials in all languages."""
    errors = [None if trial.error is None else trial.error.to_dict() for trial in found.trials]
    content = found.to_dict()
    trials = [{**trial, "error": error} for trial, error in zip(content["trials"], errors, strict=True)]
    return {**content, "trials": trials}


def minimal(job: Job, progress: EventWriter) -> dict[str, Any]:
    """List the minimal full-domain recodings.

    A small lattice is returned whole.
    """
    from shoal.io.engines import open_engine
    from shoal.methods import FullDomain
    from shoal.methods.full_domain.minimal import list_minimal, list_recodings
    from shoal.pipeline.decide import StepTimer, encode

    plan, source = _read(job)
    method = plan.method if isinstance(plan.method, FullDomain) else FullDomain()
    with open_engine(plan.engine, time_zone=source.time_zone) as engine:
        problem = encode(engine, source, replace(plan, method=method), StepTimer(progress))
    progress("looking at the lattice", None)
    lattice = list_recodings(problem, method)
    data = {"lattice": None if lattice is None else lattice.to_dict()}
    found = list_minimal(problem, method)
    return data | {"minimal": [one.to_dict() for one in found[:200]], "count": len(found)}


def compare(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Compare a release with its original.

    The result includes a sample of its rows, with the detail that is left in each cell.
    """
    import numpy as np

    from shoal.audit.compare import compare as compare_tables
    from shoal.io.engines.base import Source as Table
    from shoal.plan.plan import plain
    from shoal.utility.coded_tables import open_tables
    from shoal.utility.labels import read_labels

    plan, source = _read(job)
    progress("comparing", None)
    released = Table(_released(job))
    data: dict[str, Any] = plain(compare_tables(source, released.path, plan, engine=plan.engine).to_dict())
    progress.report_partial(data)
    with open_tables(plan.engine) as tables:
        names = tables.names(released)
        after = tables.rows(released, names)
        known = [name for name in plan.schema.quasi_identifiers if name in names]
        before = dict(zip(known, tables.rows(source, known), strict=True))
    rows = len(after[0].code)
    chosen = np.unique(np.linspace(0, rows - 1, min(rows, COMPARED_SAMPLE_ROWS)).astype(int))
    sample: list[list[Any]] = [[] for _ in chosen]
    for column in after:
        left = dict.fromkeys(column.values, 1.0)
        if column.name in before:
            values = before[column.name].values
            read = read_labels(column.values, values, plan.schema.columns[column.name].hierarchy, column.name)
            for code, label in enumerate(column.values):
                covered = int(read.rows(code, code + 1)[0].sum())
                left[label] = 1 - max(0, covered - 1) / max(1, len(values) - 1)
        for line, row in zip(sample, chosen, strict=True):
            label = column.values[column.code[row]]
            line.append([label, left[label]])
    return {**data, "names": list(names), "sample": sample}


def attack(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Attack a release, with the original as the intruder's knowledge."""
    from shoal.audit.attack import attack as attack_table
    from shoal.plan.plan import plain

    plan, source = _read(job)
    progress("attacking", None)
    found = attack_table(_released(job), plan, original=source, engine=plan.engine)
    data: dict[str, Any] = plain(found.to_dict())
    return data


def cliff(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Measure how many rows are found by one, two, three, ... facts."""
    from shoal.audit.known_facts import measure_known_facts
    from shoal.io.engines.base import Source as Table

    plan, source = _read(job)
    progress("looking for people", None)
    return measure_known_facts(source, Table(_released(job)) if "released" in job else None, plan)


def find(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Count the rows with some values, before and after; no row is shown."""
    from shoal.audit.known_facts import count_matches
    from shoal.io.engines.base import Source as Table

    plan, source = _read(job)
    progress("looking for people", None)
    facts = dict(job["facts"])
    return {**count_matches(source, Table(_released(job)), plan, facts), "facts": facts}


def query(job: Job, progress: EventWriter) -> dict[str, Any]:
    """Answer a question with noise; it is booked before it is computed."""
    from shoal.budget import Ledger, Questions
    from shoal.budget.question_kinds import QUESTION_KINDS

    plan, source = _read(job)
    given = job["question"]
    if source.path is None:
        raise InputError("page.questions-need-a-file")
    progress("asking", None)
    ledger = Ledger.open(job["plan"]["ledger"], expected=job["head"])
    questions = Questions(
        source.path,
        ledger,
        source.csv,
        plan.engine,
        person=None if given["person"] is None else tuple(given["person"]),
        rows_per_person=given["rows_per_person"] if given["person"] else None,
        time_zone=source.time_zone,
    )
    content = QUESTION_KINDS[given["kind"]].ask(questions, given["rho"], given["parameters"])
    return {**content, "label": ledger.entries()[content["entry"] - 1].label}


ACTIONS: dict[str, Callable[[Job, EventWriter], dict[str, Any]]] = {
    "draft": draft,
    "look": look,
    "check": check,
    "levels": levels,
    "release": release,
    "explore": explore,
    "minimal": minimal,
    "compare": compare,
    "attack": attack,
    "cliff": cliff,
    "find": find,
    "query": query,
}

if __name__ == "__main__":
    main()
