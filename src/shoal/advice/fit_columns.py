"""Choice of the columns that a draft protects together.

Columns are protected together, or not published. Where the loss on a sample is high, the most expensive columns that
are not understood are dropped first, then visible ones of least use to a reader. Then as many sensitive columns get a
diversity as the loss allows. The promise is never weakened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.advice.column_tiers import Tier, is_secondary
from shoal.advice.profile import Profile
from shoal.advice.suggest_role import ColumnProfile, dropped
from shoal.errors import InfeasibleError, PlanError
from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Source
from shoal.methods import Mondrian
from shoal.pipeline.decide import StepTimer, encode
from shoal.plan.plan import Plan
from shoal.runtime.progress import Progress, quiet
from shoal.schema import Role
from shoal.utility.loss import ncp_by_column

SAMPLE_ROWS = 10_000
MIN_SAMPLE_ROWS = 500
MAX_WORK = 4_000_000
"""Maximum of rows times squared quasi-identifiers in a trial, with few rows excepted."""
MAX_LOSS = 0.33
"""Largest loss (ncp) of Mondrian on the sample with which a draft keeps all columns; the final method loses less."""
MAX_DIVERSITY_LOSS = 0.05
"""Largest loss that diversity of sensitive columns may add."""
MAX_DIVERSITY_RATIO = 1.2
SMALL_LOSS = 0.15
"""Loss with diversity that is small in any case."""
MAX_SECONDS = 3.0
"""Processor seconds of trials after which columns are dropped in bulk, or without comparison."""
MIN_QUASI_IDENTIFIERS = 3
MAX_SINGLE_TRIALS = 5
"""Maximum number of columns that are left out in turn, to find the one without which most is left."""


@dataclass(frozen=True)
class _Trial:
    """Loss (ncp) of a plan on the sample, and that of each column."""

    loss: float
    own: Mapping[str, float]

    @property
    def detail(self) -> float:
        """Detail that is left in all columns, in columns."""
        return sum(1 - lost for lost in self.own.values())


class _Trials:
    """Runs of drafted plans on one sample, and their time."""

    def __init__(self, sample: Any, source: Source, draft: Callable[[Profile], Plan]) -> None:
        self._sample = sample
        self._time_zone = source.time_zone
        self._draft = draft
        self.seconds = 0.0
        Mondrian().warm()

    def run(self, profile: Profile) -> _Trial | None:
        """Return the loss of a drafted plan; None if there is no release."""
        start = time.process_time()
        plan = self._draft(profile)
        rows = min(max(MIN_SAMPLE_ROWS, MAX_WORK // len(plan.schema.quasi_identifiers) ** 2), SAMPLE_ROWS)
        chosen = np.unique(np.linspace(0, self._sample.num_rows - 1, rows).astype(np.int64))  # evenly from all rows
        source = Source(frame=self._sample.take(chosen), time_zone=self._time_zone)
        plan = replace(plan, source=source, output=None, engine=plan.engine.here, method=Mondrian())
        try:
            with open_engine(plan.engine, time_zone=self._time_zone) as engine:
                problem = encode(engine, source, plan, StepTimer(quiet))
                own = ncp_by_column(problem.frequencies, problem.ladders, plan.method.decide(problem))
        except (InfeasibleError, PlanError):
            return None
        finally:
            self.seconds += time.process_time() - start
        loss = float(np.exp(np.log1p(own).mean()) - 1)
        return _Trial(loss, dict(zip(plan.schema.quasi_identifiers, own.tolist(), strict=True)))


def fit_columns(
    profile: Profile,
    source: Source,
    draft: Callable[[Profile], Plan],
    *,
    engine: EngineSettings | None = None,
    progress: Progress = quiet,
) -> Profile:
    """Return the profile with the columns dropped that cost too much.

    ``draft`` writes the plan of a profile.
    """
    progress("choosing the columns to protect", None)
    trials = _Trials(_sample(source, engine), source, draft)
    trial = trials.run(_keep_diversity(profile, set()))
    while trial is not None and trial.loss > MAX_LOSS:
        found = _drop_expensive_columns(profile, trial, trials)
        if found is None:
            break
        profile, trial = found
    return profile if trial is None else _fit_diversity(profile, trial.loss, trials)


def _drop_expensive_columns(profile: Profile, trial: _Trial, trials: _Trials) -> tuple[Profile, _Trial] | None:
    """Drop the columns of the next step, and try what remains.

    Columns that are not understood go first, a third of them at once. Of the visible ones that goes without which most
    detail is left. None if nothing is to be dropped.
    """
    quasi = [c for c in profile.columns if c.role is Role.QUASI_IDENTIFIER and c.name in trial.own]
    if len(quasi) <= MIN_QUASI_IDENTIFIERS:
        return None

    def cost(column: ColumnProfile) -> tuple[float, int]:
        return trial.own[column.name], column.distinct

    unknown = sorted((c for c in quasi if c.tier == Tier.UNKNOWN), key=cost, reverse=True)
    choices: list[list[ColumnProfile]]
    if len(unknown) > MAX_SINGLE_TRIALS:
        count = len(unknown) if trials.seconds > MAX_SECONDS else len(unknown) // 3
        choices = [unknown[: min(count, len(quasi) - MIN_QUASI_IDENTIFIERS)]]
    else:
        secondary = [c for c in quasi if is_secondary(c.name, c.topic)]
        candidates = unknown or sorted(secondary or quasi, key=cost, reverse=True)
        count = 1 if trials.seconds > MAX_SECONDS else MAX_SINGLE_TRIALS
        choices = [[column] for column in candidates[:count]]
    best: tuple[Profile, _Trial] | None = None
    for choice in choices:
        names = {column.name for column in choice}
        columns = [dropped(c, _reason(c, trial)) if c.name in names else c for c in profile.columns]
        rest = replace(profile, columns=tuple(columns))
        after = trials.run(_keep_diversity(rest, set()))
        if after is not None and (best is None or after.detail > best[1].detail):
            best = rest, after
    return best


def _reason(column: ColumnProfile, trial: _Trial) -> str:
    own = f"{trial.own[column.name]:.0%} of it would be lost"
    return (
        f"{column.reason}; to protect it costs too much: on a sample {own}, and the columns together would lose "
        f"{trial.loss:.2f} (ncp)"
    )


def _fit_diversity(profile: Profile, loss: float, trials: _Trials) -> Profile:
    """Require diversity of as many sensitive columns as the loss allows.

    Columns of yes and no come first, then those that mix best.
    """
    diverse = [column for column in profile.columns if column.diversity]
    diverse.sort(key=lambda column: (column.diversity != "p-alpha-sensitive", column.commonest))
    limit = max(loss + MAX_DIVERSITY_LOSS, MAX_DIVERSITY_RATIO * loss, SMALL_LOSS)
    trial = trials.run(profile) if diverse else None
    if trial is None and diverse:
        alone = {c.name for c in diverse if trials.run(_keep_diversity(profile, {c.name})) is None}
        reason = "no group of its rows can hold two different values of it"
        columns = [dropped(c, f"{c.reason}, and {reason}") if c.name in alone else c for c in profile.columns]
        profile = replace(profile, columns=tuple(columns))
        diverse = [column for column in diverse if column.name not in alone]
    for cheaper in (_by_count, _by_one):
        if diverse and (trial is None or trial.loss > limit):
            profile = replace(profile, columns=tuple(map(cheaper, profile.columns)))
            trial = trials.run(profile)
    count = len(diverse)
    while count and trials.seconds <= 2 * MAX_SECONDS:
        rest = _keep_diversity(profile, {column.name for column in diverse[:count]})
        trial = trials.run(rest)
        if trial is not None and trial.loss <= limit:
            return rest
        count = count - 1 if count <= MAX_SINGLE_TRIALS else count // 2
    return _keep_diversity(profile, set())


def _by_count(column: ColumnProfile) -> ColumnProfile:
    """Ask for some other values in every group, in place of a share."""
    if column.diversity != "alpha-k":
        return column
    return replace(column, diversity="l-diversity" if column.marks is None else "p-alpha-sensitive")


def _by_one(column: ColumnProfile) -> ColumnProfile:
    """Require one "no" in every group instead of two."""
    return replace(column, least_no=1)


def _keep_diversity(profile: Profile, names: set[str]) -> Profile:
    why_not = "on a sample it cost too much detail"
    return replace(
        profile,
        columns=tuple(
            replace(c, diversity="", why_not=why_not) if c.diversity and c.name not in names else c
            for c in profile.columns
        ),
    )


def _sample(source: Source, engine: EngineSettings | None) -> Any:
    with open_engine(engine, source, time_zone=source.time_zone) as opened:
        return opened.sample(opened.read(source), SAMPLE_ROWS)
