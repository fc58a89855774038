"""Comparison of methods for a plan, on a sample of its table.

All methods that are tried publish true values, generalized. The loss on a sample exceeds that on the whole table, since
the same k must be reached among fewer rows; the order of the methods is what matters.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shoal.errors import InfeasibleError, PlanError
from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Source
from shoal.methods import FullDomain, HiddenCells, Method, Mondrian, Refine
from shoal.models import partial_knowledge_models
from shoal.pipeline.run import dry_run
from shoal.plan.plan import Plan
from shoal.runtime.progress import Progress, quiet

SAMPLE_ROWS = 10_000
MIN_SAMPLE_ROWS = 500
MAX_WORK = 4_000_000
"""Maximum of rows times squared quasi-identifiers in a trial, with few rows excepted."""
PARTIAL_KNOWLEDGE_SAMPLE_ROWS = 4_000
"""Sample size for intruders with partial knowledge: there are many sets of columns."""
MAX_REFINE_CELLS = 600_000
"""Maximum of rows times quasi-identifiers for refinement; above, it takes minutes.

It is a number of cells and no time, so that a draft is the same on every machine."""
MAX_REFINE_SAMPLE_CELLS = 100_000
MAX_LATTICE_NODES = 2**20
"""Maximum number of full-domain recodings for the search of all of them.

In a trial it is divided by the cube of the number of models: with many models of columns every recoding takes longer,
and fewer can be passed over; local recoding loses less then."""
SECONDS_PER_METHOD = 4.0
"""Time limit of one method that looks for infeasible columns."""


@dataclass(frozen=True)
class MethodTrial:
    """Method and its loss (ncp) on a sample.

    The loss is None if the method found no release.
    """

    method: Method
    loss: float | None
    rows: int
    seconds: float


def try_methods(
    plan: Plan,
    source: Source,
    suppression: float,
    *,
    table_rows: int | None = None,
    nodes: int = 1,
    engine: EngineSettings | None = None,
    progress: Progress = quiet,
) -> tuple[MethodTrial, ...]:
    """Run some methods on a sample of a table, without writing anything.

    Parameters
    ----------
    source
        The table; the plan's own source is not read.
    suppression
        Maximum share of rows that full-domain recoding may suppress.
    table_rows, nodes
        Rows of the whole table, and its full-domain recodings: methods that would take too long are not tried.
    engine
        Engine that draws the sample, instead of the plan's engine; the methods run on this machine.
    """
    has_partial_knowledge = partial_knowledge_models(plan.model)
    columns = len(plan.schema.quasi_identifiers)
    max_rows = PARTIAL_KNOWLEDGE_SAMPLE_ROWS if has_partial_knowledge else SAMPLE_ROWS
    sampled, rows = _plan_on_sample(plan, source, min(max_rows, max(MIN_SAMPLE_ROWS, MAX_WORK // columns**2)), engine)
    weights = dict(getattr(plan.method, "weights", {}))
    methods: tuple[Method, ...] = (Mondrian(weights=weights),)
    if nodes * len(plan.models) ** 3 <= MAX_LATTICE_NODES:
        methods += (FullDomain(suppression=suppression, weights=weights),)
    if (rows if table_rows is None else table_rows) * columns <= MAX_REFINE_CELLS:
        methods += (Refine(start=Mondrian(weights=weights) if weights else None, weights=weights),)
    if has_partial_knowledge:  # methods that support partial knowledge
        methods = (HiddenCells(), FullDomain(time_limit=SECONDS_PER_METHOD))
    found: list[MethodTrial] = []
    for position, method in enumerate(methods):
        progress(f"rehearsing: {method.name}", position / len(methods))
        method.warm()  # exclude the compilation of a first run from the time
        chosen, count = sampled, rows
        if isinstance(method, Refine) and rows * columns > MAX_REFINE_SAMPLE_CELLS:
            chosen, count = _plan_on_sample(
                plan, source, max(MIN_SAMPLE_ROWS, MAX_REFINE_SAMPLE_CELLS // columns), engine
            )
        start = time.process_time()
        try:
            loss = float(dry_run(replace(chosen, method=method), bounded=False).utility["ncp"])
        except (InfeasibleError, PlanError):
            loss = None
        found.append(MethodTrial(method, loss, count, time.process_time() - start))
    return tuple(found)


def find_infeasible_columns(plan: Plan, source: Source, *, engine: EngineSettings | None = None) -> tuple[str, ...]:
    """Find sensitive columns with models that no grouping satisfies.

    They are tested on a sample.

    Not even one group of all rows does. That is the case for a constant column, and if people are counted and each has
    every value.
    """
    sampled, _ = _plan_on_sample(plan, source, SAMPLE_ROWS, engine)
    rest = tuple(model for model in plan.models if getattr(model, "column", None) is None)
    found = []
    for name in plan.schema.sensitive:
        own = tuple(model for model in plan.models if getattr(model, "column", None) == name)
        try:
            dry_run(
                replace(sampled, models=(*rest, *own), method=FullDomain(time_limit=SECONDS_PER_METHOD)), bounded=False
            )
        except InfeasibleError:
            found.append(name)
        except PlanError:
            pass
    return tuple(found)


def _plan_on_sample(plan: Plan, source: Source, max_rows: int, engine: EngineSettings | None) -> tuple[Plan, int]:
    """Return the plan on a sample, without output, and the sample's rows."""
    with open_engine(engine or plan.engine, source, time_zone=source.time_zone) as opened:
        sample = opened.sample(opened.read(source), max_rows)
    here = Source(frame=sample, time_zone=source.time_zone)
    return replace(plan, source=here, output=None, engine=plan.engine.here), sample.num_rows


def least_loss(tried: Sequence[MethodTrial]) -> MethodTrial | None:
    """Return the first trial of least loss; None if none found a release.

    Refinement starts from another method's groups and never loses more; its loss may be that of a smaller sample, and
    with weights the loss of all columns alike says less. It is chosen unless full-domain recoding loses less.
    """
    released = [trial for trial in tried if trial.loss is not None]
    released = [
        trial for trial in released if getattr(trial.method, "weights", {}) and trial.method.name == "refine"
    ] or released
    return min(released, key=lambda trial: trial.loss or 0.0, default=None)
