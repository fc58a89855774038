"""Choice of the detail that a draft keeps, and of its demands.

All visible columns are protected together. Where the loss on a sample is high, columns that readers miss least and
those that are not understood get a low weight, so that the method keeps the detail of the others; what costs too much
even so is dropped. Then as many sensitive columns get a diversity as the loss allows, and more where a value would be
nearly sure for many. The promise is never weakened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.advice.column_tiers import Tier, is_secondary
from shoal.advice.profile import Alternative, Profile
from shoal.advice.suggest_role import MAX_CATEGORIES, ColumnProfile, dropped
from shoal.advice.try_methods import MAX_WORK
from shoal.errors import InfeasibleError, PlanError
from shoal.formatting import fixed, percent
from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Source
from shoal.methods import Mondrian
from shoal.pipeline.decide import StepTimer, encode
from shoal.plan.plan import Plan
from shoal.runtime.progress import Progress, quiet
from shoal.schema import Role
from shoal.table import FrequencySet
from shoal.utility.loss import ncp_by_column

SAMPLE_ROWS = 10_000
MIN_SAMPLE_ROWS = 500
MAX_LOSS = 0.33
"""Largest loss (ncp) of Mondrian on the sample of the columns of full weight; the final method loses less."""
LOW_WEIGHT = 0.3
NOTHING_LEFT = 0.97
"""Loss of a column of low weight from which on it is not worth publishing."""
MAX_DISCLOSURE = 0.1
"""Largest part of the rows for which a sensitive value may be nearly sure, before demands get stricter."""
MAX_SURE_ROWS = 0.2
"""Largest part of the rows for which a value may be nearly sure, before whole sensitive columns are left out."""
MIN_SENSITIVE_PER_DROP = 10
SURE_SHARE = 0.8
COMMON_SHARE = 0.75
"""Share of the rows from which on a value tells nothing of one of them."""
MIN_DISCLOSURE = 0.05
"""Part of the rows for which a column must tell a value, to get a stricter demand."""
MAX_DISCLOSURE_LOSS = 0.08
"""Largest loss that stricter demands may add, unless the whole is small."""
SMALL_DISCLOSURE_LOSS = 0.25
CLASSES_OF_NUMBERS = 10
MAX_DIVERSITY_LOSS = 0.05
"""Largest loss that diversity of sensitive columns may add."""
MAX_DIVERSITY_RATIO = 1.2
SMALL_LOSS = 0.15
"""Loss with diversity that is small in any case."""
MAX_TRIAL_WORK = 3 * MAX_WORK
"""Work of trials, in rows times squared quasi-identifiers, after which columns are dropped in bulk.

It bounds the time of a draft, and is the same on every machine."""
MIN_TRIAL_WORK = MAX_WORK // 8
MIN_QUASI_IDENTIFIERS = 3
MAX_LISTED_NAMES = 5
MAX_NAME = 40
LOSS_DIGITS = 4
MAX_SINGLE_TRIALS = 5
"""Maximum number of columns that are left out in turn, to find the one without which most is left."""


@dataclass(frozen=True)
class _Trial:
    """Loss (ncp) of a plan on the sample, and that of each column.

    ``loss`` is that of the columns of full weight. ``disclosure`` has the part of the rows for which a value of a
    sensitive column is nearly sure, by column; ``disclosed`` that of any.
    """

    loss: float
    own: Mapping[str, float]
    disclosure: Mapping[str, float]
    disclosed: float


class _Trials:
    """Runs of drafted plans on one sample, and their work."""

    def __init__(self, sample: Any, source: Source, draft: Callable[[Profile], Plan]) -> None:
        self._sample = sample
        self._time_zone = source.time_zone
        self._draft = draft
        self.work = 0
        self.alternatives: list[Alternative] = []
        Mondrian().warm()

    def run(self, profile: Profile) -> _Trial | None:
        """Return the loss of a drafted plan; None if there is no release."""
        plan = self._draft(profile)
        rows = min(max(MIN_SAMPLE_ROWS, MAX_WORK // len(plan.schema.quasi_identifiers) ** 2), SAMPLE_ROWS)
        chosen = np.unique(np.linspace(0, self._sample.num_rows - 1, rows).astype(np.int64))  # evenly from all rows
        source = Source(frame=self._sample.take(chosen), time_zone=self._time_zone)
        weights = {c.name: c.weight for c in profile.columns if c.weight < 1 and c.role is Role.QUASI_IDENTIFIER}
        method = Mondrian(weights=weights)
        plan = replace(plan, source=source, output=None, engine=plan.engine.here, method=method)
        try:
            with open_engine(plan.engine, time_zone=self._time_zone) as engine:
                problem = encode(engine, source, plan, StepTimer(quiet))
                recoding = plan.method.decide(problem)
                own = ncp_by_column(problem.frequencies, problem.ladders, recoding)
                harmless = {column.name: column.harmless for column in profile.columns}
                disclosure, disclosed = _disclosure(problem.frequencies, recoding, harmless)
        except (InfeasibleError, PlanError):
            return None
        finally:
            self.work += max(MIN_TRIAL_WORK, len(chosen) * len(plan.schema.quasi_identifiers) ** 2)
        names = plan.schema.quasi_identifiers
        full = np.asarray([name not in weights for name in names])
        loss = float(np.exp(np.log1p(own[full] if full.any() else own).mean()) - 1)
        return _Trial(loss, dict(zip(names, own.tolist(), strict=True)), disclosure, disclosed)

    def record(self, change: str, trial: _Trial | None, *, taken: bool = True) -> None:
        """Record what was tried, for the reader of the draft."""
        if trial is not None:
            self.alternatives.append(
                Alternative(change, round(trial.loss, LOSS_DIGITS), round(trial.disclosed, LOSS_DIGITS), taken)
            )


def _disclosure(
    frequencies: FrequencySet, recoding: Any, harmless: Mapping[str, Sequence[str]]
) -> tuple[dict[str, float], float]:
    """Return the part of the rows with a nearly sure value, by column.

    Numbers of many values are looked at in tenths of their order. What most rows have is no value to be disclosed, and
    neither is a harmless one.
    """
    row, group, count = recoding.row, recoding.group, recoding.count
    groups = int(group.max(initial=-1)) + 1
    size = np.bincount(group, count, groups)
    found: dict[str, float] = {}
    any_disclosed = np.zeros(groups, np.bool_)
    for position, dictionary in enumerate(frequencies.sensitive):
        if frequencies.domains[position].people is not None:
            continue
        value = frequencies.secrets[row, position].astype(np.int64)
        if len(dictionary.text) > MAX_CATEGORIES and frequencies.domains[position].rank is not None:
            value = _tenths(value, count, len(dictionary.text))
        known = value >= 0
        width = int(value.max(initial=0)) + 1
        cells = np.bincount(group[known] * width + value[known], count[known], groups * width).reshape(groups, width)
        cells[:, cells.sum(axis=0) >= COMMON_SHARE * size.sum()] = 0
        if width <= len(dictionary.text) + 1:
            cells[:, [at for at, text in enumerate(dictionary.text[:width]) if text in harmless[dictionary.name]]] = 0
        disclosed = (cells.max(axis=1) > 0) & (
            cells.max(axis=1) >= SURE_SHARE * np.bincount(group[known], count[known], groups)
        )
        found[dictionary.name] = float(size[disclosed].sum() / size.sum())
        any_disclosed |= disclosed
    return found, float(size[any_disclosed].sum() / size.sum())


def _tenths(value: npt.NDArray[np.int64], count: npt.NDArray[np.int64], values: int) -> npt.NDArray[np.int64]:
    """Return the tenth of each number in their order; missing stays -1."""
    known = value >= 0
    before = np.cumsum(np.bincount(value[known], count[known], values))
    tenth = np.minimum(CLASSES_OF_NUMBERS * (before - 1) // max(before[-1], 1), CLASSES_OF_NUMBERS - 1).astype(np.int64)
    return np.where(known, tenth[value], -1)


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
    trials.record("all quasi-identifiers alike, and nothing asked of sensitive columns", trial)
    if trial is not None and trial.loss > MAX_LOSS:
        profile = _with_low_weights(profile)
        trial = trials.run(_keep_diversity(profile, set()))
        low = [c.name for c in profile.columns if c.weight < 1]
        trials.record(f"{_join(low)} giving way to the others", trial)
    while trial is not None and (found := _sacrifice_columns(profile, trial, trials)) is not None:
        profile, trial = found
    if trial is None:
        return profile
    profile = _fit_diversity(profile, trial.loss, trials)
    return replace(profile, alternatives=tuple(trials.alternatives))


def _join(names: Sequence[str]) -> str:
    """Join a few names, and count the rest."""
    listed = [repr(name[:MAX_NAME]) for name in names[:MAX_LISTED_NAMES]]
    rest = [f"{len(names) - MAX_LISTED_NAMES} more"] if len(names) > MAX_LISTED_NAMES else []
    return ", ".join([*listed, *rest]) or "nothing"


def _with_low_weights(profile: Profile) -> Profile:
    """Give secondary columns and unknown ones a low weight.

    At least some columns keep their weight.
    """
    quasi = [c for c in profile.columns if c.role is Role.QUASI_IDENTIFIER]
    chosen = {c.name for c in quasi if c.tier == Tier.UNKNOWN or is_secondary(c.name, c.topic)}
    if len(quasi) - len(chosen) < min(MIN_QUASI_IDENTIFIERS, len(quasi)):
        chosen = {c.name for c in quasi if c.tier == Tier.UNKNOWN}
    if len(quasi) == len(chosen):
        return profile
    return replace(
        profile, columns=tuple(replace(c, weight=LOW_WEIGHT) if c.name in chosen else c for c in profile.columns)
    )


def _sacrifice_columns(profile: Profile, trial: _Trial, trials: _Trials) -> tuple[Profile, _Trial] | None:
    """Drop columns, or lower their weight, and try the rest.

    Columns of low weight of which nothing is left are dropped, those that are not understood first where there are
    many. While the loss of the others is high, the costliest of them gets a low weight. None if nothing is to be done.
    """
    quasi = [c for c in profile.columns if c.role is Role.QUASI_IDENTIFIER and c.name in trial.own]
    if len(quasi) <= MIN_QUASI_IDENTIFIERS:
        return None

    def cost(column: ColumnProfile) -> tuple[float, int]:
        return trial.own[column.name], column.distinct

    low = sorted((c for c in quasi if c.weight < 1), key=cost, reverse=True)
    unknown = [c for c in low if c.tier == Tier.UNKNOWN]
    useless = {c.name for c in low if trial.own[c.name] >= NOTHING_LEFT}
    if trial.loss > MAX_LOSS and len(unknown) > MAX_SINGLE_TRIALS:
        useless |= {c.name for c in unknown[: len(unknown) if trials.work > MAX_TRIAL_WORK else len(unknown) // 3]}
    elif trial.loss > MAX_LOSS and unknown:
        useless |= {unknown[0].name}
    if useless:
        columns = tuple(dropped(c, _reason(c, trial)) if c.name in useless else c for c in profile.columns)
        change = f"without {_join(sorted(useless))}"
    else:
        full = sorted((c for c in quasi if c.weight == 1), key=cost, reverse=True)
        if trial.loss <= MAX_LOSS or len(full) <= MIN_QUASI_IDENTIFIERS or trials.work > 2 * MAX_TRIAL_WORK:
            return None
        columns = tuple(replace(c, weight=LOW_WEIGHT) if c is full[0] else c for c in profile.columns)
        change = f"{_join([full[0].name])} giving way, too"
    rest = replace(profile, columns=columns)
    after = trials.run(_keep_diversity(rest, set()))
    trials.record(change, after)
    return None if after is None else (rest, after)


def _reason(column: ColumnProfile, trial: _Trial) -> str:
    own = f"{percent(trial.own[column.name], 0)} of it would be lost"
    return (
        f"{column.reason}; to protect it costs too much: on a sample {own}, and the columns together would lose "
        f"{fixed(trial.loss, 2)} (ncp)"
    )


def _fit_diversity(profile: Profile, loss: float, trials: _Trials) -> Profile:
    """Require diversity of as many sensitive columns as the loss allows.

    Those that cost least come first: few harmful values, or values that mix well.
    """
    diverse = [column for column in profile.columns if column.diversity]
    diverse.sort(key=lambda column: _expected_cost(column, profile.rows))
    limit = max(loss + MAX_DIVERSITY_LOSS, MAX_DIVERSITY_RATIO * loss, SMALL_LOSS)
    trial = trials.run(profile) if diverse else None
    trials.record(
        f"diversity of {_join([c.name for c in diverse])}", trial, taken=trial is not None and trial.loss <= limit
    )
    if trial is None and diverse:
        alone = {c.name for c in diverse if trials.run(_keep_diversity(profile, {c.name})) is None}
        reason = "no group of its rows can hold two different values of it"
        columns = [dropped(c, f"{c.reason}, and {reason}") if c.name in alone else c for c in profile.columns]
        profile = replace(profile, columns=tuple(columns))
        diverse = [column for column in diverse if column.name not in alone]
    both_ways = replace(profile, columns=tuple(map(_bound_all, profile.columns)))
    other = trials.run(both_ways) if both_ways != profile else None
    if other is not None and (trial is None or other.loss < trial.loss):
        profile, trial = both_ways, other
        diverse = [column for column in profile.columns if column.diversity]
        diverse.sort(key=lambda column: _expected_cost(column, profile.rows))
    for cheaper in (_by_count, _by_one):
        if diverse and (trial is None or trial.loss > limit):
            profile = replace(profile, columns=tuple(map(cheaper, profile.columns)))
            trial = trials.run(profile)
            taken = trial is not None and trial.loss <= limit
            trials.record("the same of fewer people in every group", trial, taken=taken)
    count = len(diverse)
    rest, accepted = _keep_diversity(profile, set()), None
    while count and accepted is None and trials.work <= 2 * MAX_TRIAL_WORK:
        rest = _keep_diversity(profile, {column.name for column in diverse[:count]})
        trial = trials.run(rest)
        accepted = trial if trial is not None and trial.loss <= limit else None
        if count < len(diverse):
            named = [column.name for column in diverse[:count]]
            trials.record(f"diversity of {_join(named)} only", trial, taken=accepted is not None)
        count = count - 1 if count <= MAX_SINGLE_TRIALS else count // 2
    if accepted is None:
        rest = _keep_diversity(profile, set())
        accepted = trials.run(rest)
    limit = max(limit, loss + MAX_DISCLOSURE_LOSS, SMALL_DISCLOSURE_LOSS)
    return rest if accepted is None else _limit_disclosure(rest, accepted, limit, trials)


def _limit_disclosure(profile: Profile, trial: _Trial, limit: float, trials: _Trials) -> Profile:
    """Bound the share of values that are nearly sure for many rows.

    The column that tells most comes first; what costs more than the limit is left as it was.
    """
    left_alone: set[str] = set()
    people = any(column.role is Role.PERSON for column in profile.columns)
    while trial.disclosed > MAX_DISCLOSURE and not people and trials.work <= 3 * MAX_TRIAL_WORK:
        candidates = [
            c
            for c in profile.columns
            if trial.disclosure.get(c.name, 0) >= MIN_DISCLOSURE
            and c.diversity != "alpha-k"
            and c.name not in left_alone
            if c.kind != "number" or c.distinct <= MAX_CATEGORIES
        ]
        if not candidates:
            break
        worst = max(candidates, key=lambda column: trial.disclosure[column.name])
        stricter = [replace(worst, diversity="alpha-k", why_not="")]
        stricter += [_bound_all(one) for one in stricter if one.harmless]
        tried = []
        for one in stricter:
            rest = replace(profile, columns=tuple(one if c is worst else c for c in profile.columns))
            if (found := trials.run(rest)) is not None:
                tried.append((found, rest))
        after, rest = min(tried, key=lambda one: one[0].loss, default=(None, profile))
        refused = after is None or after.loss > limit or after.disclosed >= trial.disclosed
        trials.record(f"no value of {_join([worst.name])} nearly sure in a group", after, taken=not refused)
        if after is None or refused:
            left_alone.add(worst.name)
        else:
            profile, trial = rest, after
    return _drop_disclosing_columns(profile, trial, trials) if not people else profile


def _drop_disclosing_columns(profile: Profile, trial: _Trial, trials: _Trials) -> Profile:
    """Drop sensitive columns of high disclosure, if a tenth suffices.

    Of many sensitive columns one in ten may go, where a demand on it would cost the detail of all others.
    """
    limit = sum(c.role is Role.SENSITIVE for c in profile.columns) // MIN_SENSITIVE_PER_DROP
    ranked = sorted(trial.disclosure, key=lambda name: -trial.disclosure[name])[:limit]
    if trial.disclosed <= MAX_SURE_ROWS or not ranked:
        return profile

    def suffices(count: int) -> bool:
        after = trials.run(without(ranked[:count]))
        taken = after is not None and after.disclosed <= MAX_SURE_ROWS
        trials.record(f"without {_join(ranked[:count])}", after, taken=taken)
        return taken

    def without(names: list[str]) -> Profile:
        return replace(profile, columns=tuple(_disclosing(c, trial) if c.name in names else c for c in profile.columns))

    if not suffices(len(ranked)):  # most tables that do not gain end here, after one trial
        return profile
    first, last = 1, len(ranked)
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if suffices(middle) else (middle + 1, last)
    return without(ranked[:last])


def _disclosing(column: ColumnProfile, trial: _Trial) -> ColumnProfile:
    """Drop a column, and state the share of rows that it discloses."""
    share = percent(trial.disclosure[column.name], 0)
    return dropped(
        column, f"{column.reason}, and on a sample a value of it would be nearly sure for {share} of the rows"
    )


def _by_count(column: ColumnProfile) -> ColumnProfile:
    """Ask for some other values in every group, in place of a share."""
    if column.diversity != "alpha-k":
        return column
    if column.harmless and column.marks is None:
        return replace(column, diversity="p-sensitive", bounds_all=False)
    return replace(column, diversity="l-diversity" if column.marks is None else "p-alpha-sensitive", bounds_all=False)


def _expected_cost(column: ColumnProfile, rows: int) -> float:
    """Return an estimate of what diversity costs, to ask for cheap ones first.

    With harmless values it is the share of the others, otherwise the share of the commonest value.
    """
    commonest = column.commonest / rows
    return 1 - commonest if column.harmless else commonest


def _bound_all(column: ColumnProfile) -> ColumnProfile:
    """Bound the share of harmless values, too."""
    return replace(column, bounds_all=True) if column.diversity == "alpha-k" and column.harmless else column


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
