"""Which method suits a plan: several are run on a sample of its table, and the one that loses least is taken.

All that are tried publish true values, only less exact ones. A loss on a sample is more than on the whole table, since
the same k must be found among fewer rows; it is the order of the methods that counts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shoal.errors import InfeasibleError, PlanError
from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Source
from shoal.methods import FullDomain, HiddenCells, Method, Mondrian, Refine
from shoal.models import limited
from shoal.pipeline.run import rehearse
from shoal.plan.plan import Plan
from shoal.runtime.progress import Progress, quiet

__all__ = ["Tried", "least_loss", "try_methods", "unmet"]

SAMPLE = 10_000
SMALL_SAMPLE = 4_000
"""Rows of a sample where columns are known few at a time: there are so many sets of them."""
SECONDS = 4.0
"""What one method may take of a rehearsal."""
TOGETHER = 12.0
"""After so many seconds of work no further method is tried; of a busy machine the same ones are tried."""


@dataclass(frozen=True)
class Tried:
    """A method, and which part of the detail of a sample it lost (ncp); None where it found no release."""

    method: Method
    loss: float | None
    rows: int
    seconds: float


def try_methods(
    plan: Plan,
    source: Source,
    suppression: float,
    *,
    engine: EngineSettings | None = None,
    progress: Progress = quiet,
) -> tuple[Tried, ...]:
    """Run some methods on a sample of a table, with nothing written.

    Parameters
    ----------
    source
        The table; the plan's own source is not read.
    suppression
        The part of the rows that full-domain recoding may leave out.
    engine
        What takes the sample, in place of the plan's engine; the methods run on this machine.
    """
    few = limited(plan.model)
    small, rows = _sampled(plan, source, SMALL_SAMPLE if few else SAMPLE, engine)
    methods: tuple[Method, ...] = (
        Mondrian(),
        FullDomain(suppression=suppression, time_limit=SECONDS),
        Refine(time_limit=SECONDS),
    )
    if few:  # few columns at a time: what serves them
        methods = (HiddenCells(), FullDomain(time_limit=SECONDS))
    found: list[Tried] = []
    spent = 0.0
    for place, method in enumerate(methods):
        if spent > TOGETHER:
            break
        progress(f"rehearsing: {method.name}", place / len(methods))
        method.warm()  # what is compiled on a machine's first run is not the method's time
        start = time.process_time()
        try:
            loss = float(rehearse(replace(small, method=method), bounded=False).utility["ncp"])
        except (InfeasibleError, PlanError):
            loss = None
        seconds = time.process_time() - start
        spent += seconds
        found.append(Tried(method, loss, rows, seconds))
    return tuple(found)


def unmet(plan: Plan, source: Source, *, engine: EngineSettings | None = None) -> tuple[str, ...]:
    """Sensitive columns whose own models no grouping of a sample meets, not even all rows in one group.

    So it is with a column that is the same for all, and where people are counted of whom each has every value.
    """
    small, _ = _sampled(plan, source, SAMPLE, engine)
    rest = tuple(model for model in plan.models if getattr(model, "column", None) is None)
    found = []
    for name in plan.schema.sensitive:
        own = tuple(model for model in plan.models if getattr(model, "column", None) == name)
        try:
            rehearse(replace(small, models=(*rest, *own), method=FullDomain(time_limit=SECONDS)), bounded=False)
        except InfeasibleError:
            found.append(name)
        except PlanError:
            pass
    return tuple(found)


def _sampled(plan: Plan, source: Source, most: int, engine: EngineSettings | None) -> tuple[Plan, int]:
    """The plan over a sample of its table, with nothing to write, and the sample's rows."""
    with open_engine(engine or plan.engine, source, time_zone=source.time_zone) as opened:
        sample = opened.sample(opened.read(source), most)
    here = Source(frame=sample, time_zone=source.time_zone)
    return replace(plan, source=here, output=None, engine=plan.engine.here), sample.num_rows


def least_loss(tried: Sequence[Tried]) -> Tried | None:
    """The trial that lost least, the first of equals; None where none found a release."""
    done = [trial for trial in tried if trial.loss is not None]
    return min(done, key=lambda trial: trial.loss or 0.0, default=None)
