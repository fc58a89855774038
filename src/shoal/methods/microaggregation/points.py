"""Rows as points: one distance over numbers, dates, orders, names and hierarchies; and what groups of points publish.

Every column becomes coordinates whose squared Euclidean distance is the one wanted, so that the kernels need to know
one distance only:

* numbers and dates: the value over the standard deviation (or its rank, or winsorised first);
* values with a hierarchy: of its H levels, the part on which two values differ;
* other values: 0 where equal, 1 where not.

A missing number stands at the mean, with a coordinate of its own that is one apart from every known value. A group that
holds a missing number publishes it as missing: it is not guessed, and no one is singled out by having it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError, PlanError
from shoal.kernels.rules import Rules, count_rows, failing_groups, make_judge, most_groups, value_counts
from shoal.methods.base import EXACT_ENDS
from shoal.methods.microaggregation.exact_moments import moments
from shoal.methods.microaggregation.facts import Formed, MicroaggregationFacts, SizeFacts
from shoal.methods.microaggregation.kernels.exact import MOST_RECORDS, best_partition
from shoal.methods.microaggregation.kernels.mdav import cbfs, mdav
from shoal.methods.microaggregation.kernels.p_first import merge_failing
from shoal.methods.microaggregation.kernels.refinement import refine_partition
from shoal.methods.microaggregation.neighbourhood_search import refine_sized
from shoal.models import AllOf
from shoal.runtime.progress import Progress
from shoal.runtime.search_clock import now
from shoal.schema import Domain, Ladder
from shoal.table import ByGroup, Dictionary, FrequencySet, publish_groups
from shoal.table.group_labels import Representative
from shoal.table.group_means import means, numbers_of, typed_as
from shoal.table.group_ranges import Ends
from shoal.table.groups import unique_pairs
from shoal.table.method_facts import Warned
from shoal.utility.loss import distances, moved

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.methods.microaggregation.method import Base, Scale, Shown, _Microaggregation

__all__ = [
    "Extent", "PointColumn", "Scaling", "choices", "coordinates_of", "form_groups", "grow_size", "improve",
    "level_coordinates", "point_column", "publish",
    "require_span", "settle", "show_groups", "warned_of",
]  # fmt: skip

SMALL = 20_000  # rows up to which every group size is tried
MOST_PROPOSALS = 10_000_000
PLAIN = 5  # so many times as many where groups need nothing but their size, and quality is asked for: as fast
BEST = 10  # so many times as many proposals where the best is asked for
LARGEST_REFINED = 200_000  # rows beyond which annealing has no time to matter


@dataclass(frozen=True)
class Extent:
    """The mean, the lowest and the highest number of a column of the whole table."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PointColumn:
    """One quasi-identifier as points: coordinates by code, and the numbers behind them (None for other values).

    ``extent`` is that of these numbers in the whole table.
    """

    dictionary: Dictionary
    ladder: Ladder
    coordinates: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.float64] | None
    shown: Shown
    extent: Extent | None = None


def form_groups(
    method: _Microaggregation,
    points: npt.NDArray[np.float64],
    columns: npt.NDArray[np.int32],
    rules: Rules,
) -> Formed:
    """Groups of some rows by themselves, before they are improved."""
    if len(points) < rules.least[0]:
        raise InfeasibleError(
            f"Every stratum must have at least {rules.least[0]} rows; one has {len(points)}. Lower k, or drop strata."
        )
    formed = method.partition(points, columns, rules)
    return replace(formed, group=np.asarray(merge_failing(points, columns, make_judge(rules), formed.group), np.int32))


def improve(
    method: _Microaggregation,
    points: npt.NDArray[np.float64],
    columns: npt.NDArray[np.int32],
    rules: Rules,
    group: npt.NDArray[np.int32],
    rows: int,
    seed: int,
    progress: Progress,
    deadline: float | None = None,
) -> npt.NDArray[np.int32]:
    """The groups, with less loss, where the method refines; with a deadline, as many proposals as there is time for."""
    if not method.refines or len(points) < 2 * rules.least[0]:
        return group
    progress(f"{method.name}: improving groups", None)
    more = BEST if method.quality == "best" else 1
    if method.quality is not None and len(points) <= MOST_RECORDS:
        best = best_partition(points, columns, make_judge(rules), int(rules.offsets[-1]))
        return np.asarray(best, np.int32) if len(best) else group
    if method.quality is not None and len(rules.heads) == 0:
        steps = PLAIN * more * min(method.effort * len(points), MOST_PROPOSALS * len(points) // rows)
        return refine_sized(points, rules, group, steps if rows <= LARGEST_REFINED else 0, seed, deadline)
    part = more * MOST_PROPOSALS * len(points) // rows
    steps = min(more * method.effort * len(points), part) if rows <= LARGEST_REFINED else 0
    if deadline is not None:
        start, few = now(), steps // 50
        group = np.asarray(refine_partition(points, columns, rules, group, few, seed), np.int32)
        rate = few / max(now() - start, 1e-3)
        steps = min(steps, int(rate * (deadline - now())))
        if steps <= few:
            return group
    return np.asarray(refine_partition(points, columns, rules, group, steps, seed), np.int32)


def settle(
    model: AllOf,
    domains: tuple[Domain, ...],
    secrets: npt.NDArray[np.int32],
    group: npt.NDArray[np.int32],
    strata: bool,
    totals: Sequence[npt.NDArray[np.int64]] | None = None,
) -> npt.NDArray[np.int64]:
    """Join groups that fail the exact models to the next one, until none fails: kernels compare with a tolerance.

    ``secrets`` and ``group`` are those of each row. ``totals`` are the whole table's, by sensitive column, where these
    rows are a part of it.
    """
    entries = FrequencySet((), (), domains, secrets[:, :0], secrets, np.ones(len(secrets), np.int64))
    settled = group.astype(np.int64)
    while True:
        settled = np.unique(settled, return_inverse=True)[1].reshape(-1).astype(np.int64)
        groups = int(settled.max()) + 1
        found = entries.groups_of(settled, groups)
        failing = np.flatnonzero(~model.assess(found if totals is None else found.within(totals)).holds)
        if not len(failing):
            return settled
        if strata:
            raise InfeasibleError(
                f"{len(failing)} of the strata's {groups} groups cannot meet the models by themselves. Drop strata, or "
                f"lower the models' parameters."
            )
        if groups == 1:
            return settled
        settled[settled == failing[0]] = failing[0] - 1 if failing[0] else 1


# -- columns as coordinates -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaling:
    """How the numbers of a column become coordinates; ``gaps`` tells whether any is missing in the whole table."""

    mean: float
    deviation: float
    gaps: bool

    def __call__(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Coordinates, float64 (n, 1 or 2), of numbers; NaN is missing."""
        missing = np.isnan(numbers)
        scaled = (np.where(missing, self.mean, numbers) - self.mean) / (self.deviation or 1.0)
        return np.stack([scaled, missing.astype(np.float64)], axis=1) if self.gaps else scaled[:, None]


def choices(method: _Microaggregation, name: str, numeric: bool, flat: bool) -> tuple[float, Scale, Shown]:
    """A column's weight, its scale, and what groups show of it; ``flat`` is a column without a hierarchy."""
    weight = float(method.weights.get(name, 1.0))
    scale = method.scale if isinstance(method.scale, str) else method.scale.get(name, "standard")
    shown = method.publish.get(name) or ("mean" if numeric else "mode" if flat else "ancestor")
    if not numeric and shown in ("mean", "median"):
        raise PlanError(
            f"Column {name!r} has no {shown}: its values are not numbers or dates. Publish its mode or ancestor."
        )
    return weight, scale, shown


def require_span(low: float, high: float, name: str) -> None:
    """Raise where the square of a column's range is too large for a number."""
    if not np.isfinite((high - low) * (high - low)):
        raise PlanError(f"The numbers of column {name!r} lie too far apart for a distance. Rescale or clip them.")


def point_column(
    method: _Microaggregation, dictionary: Dictionary, ladder: Ladder, count: npt.NDArray[np.int64]
) -> PointColumn:
    """A column as points, scaled by how many rows have each of its values, int64 (codes,)."""
    name, numbers = dictionary.name, numbers_of(dictionary)
    weight, scale, shown = choices(method, name, numbers is not None, ladder.height == 1)
    if numbers is None:
        return PointColumn(dictionary, ladder, level_coordinates(ladder) * np.sqrt(weight), None, shown)
    known = ~np.isnan(numbers)
    low, high = float(numbers[known].min()), float(numbers[known].max())
    require_span(low, high, name)
    scaled, found = numbers, moments(numbers, count, low)
    extent = Extent(found.mean, low, high)
    if scale != "standard":
        values, same = np.unique(numbers[known], return_inverse=True)  # two texts may be one number
        rows = np.bincount(same, weights=count[known]).astype(np.int64)
        if scale == "rank":
            scaled = numbers.copy()
            scaled[known] = (np.cumsum(rows) - rows / 2)[same]  # between the rows below a value and those up to it
        else:
            ends = [_quantile(values, rows, part) for part in (0.01, 0.99)]
            scaled = np.clip(numbers, ends[0], ends[1])
        found = moments(scaled, count, float(scaled[known].min()))
    coordinates = Scaling(found.mean, found.deviation, dictionary.missing)(scaled)
    return PointColumn(dictionary, ladder, coordinates * np.sqrt(weight), numbers, shown, extent)


def _quantile(values: npt.NDArray[np.float64], count: npt.NDArray[np.int64], part: float) -> float:
    """The quantile of sorted values with counts, by linear interpolation."""
    reached = np.cumsum(count)
    place = part * (int(reached[-1]) - 1)
    low, high = values[np.searchsorted(reached, [np.floor(place), np.ceil(place)], side="right")]
    return float(low + (high - low) * (place - np.floor(place)))


def level_coordinates(ladder: Ladder) -> npt.NDArray[np.float64]:
    """Coordinates by code, one per label below the top: two values differ by the part of levels they differ on."""
    parts = []
    for level in range(ladder.height):
        part = np.zeros((len(ladder.codes[0]), ladder.size(level)))
        part[np.arange(len(part)), ladder.codes[level]] = np.sqrt(0.5 / ladder.height)
        parts.append(part)
    return np.concatenate(parts, axis=1)


def coordinates_of(columns: Sequence[PointColumn], codes: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """The points, float64 (n, d), of rows of codes, int32 (n, q)."""
    parts = [column.coordinates[codes[:, j]] for j, column in enumerate(columns)]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


# -- Algorithm 1 -------------------------------------------------------------------------------------------------------


def grow_size(points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules, base: Base) -> Formed:
    """Algorithm 1: the smallest group size, from k on, at which every group meets the models."""
    rows = len(points)
    form = mdav if base == "mdav" else cbfs
    judge = make_judge(rules)

    def attempt(size: int) -> npt.NDArray[np.int32] | None:
        group = form(points, size)
        sizes, histograms = count_rows(columns, group, int(group.max()) + 1, int(rules.offsets[-1]))
        return None if failing_groups(judge, sizes, histograms).any() else np.asarray(group, np.int32)

    # more groups than the values allow cannot all meet the models, whatever the partition
    most = most_groups(rules, value_counts(columns, rules), rows)
    least = min(max(int(rules.least[0]), -(-rows // (most + 1)) if most else rows), rows)
    if rows <= SMALL:
        for size in range(least, rows + 1):
            if (group := attempt(size)) is not None:
                return Formed(group, SizeFacts(group_size=size, smallest_size=True))
        return Formed(np.zeros(rows, np.int32))
    low, high = least - 1, least
    while (found := attempt(high)) is None and high < rows:
        low, high = high, min(2 * high, rows)
    if found is None:
        return Formed(np.zeros(rows, np.int32))
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        group = attempt(middle)
        low, high, found = (low, middle, group) if group is not None else (middle, high, found)
    return Formed(found, SizeFacts(group_size=high, smallest_size=high == least))


# -- what groups publish ---------------------------------------------------------------------------------------------


def publish(
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    columns: Sequence[PointColumn],
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    facts: MicroaggregationFacts,
    ends: Ends,
) -> ByGroup:
    """What groups show; ``row`` is the combination of each row of the table, and ``group`` its group."""
    recoding, measured = show_groups(frequencies, ladders, columns, row, group, ends)
    loss, per_column = distances({name: [moved(before, after)] for name, before, after in measured})
    warned = warned_of(ends, [column.shown for column in columns])
    return replace(recoding, facts=replace(facts, warned=warned, sse_sst_by_column=per_column or None), loss=loss)


def warned_of(ends: Ends, shown: Sequence[Shown]) -> Warned | None:
    """What must be said where ranges end at values of their groups."""
    return EXACT_ENDS if ends.exact and "range" in shown else None


Measured = tuple[str, npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""A column of numbers, its numbers by row, and those that are shown in their place."""


def show_groups(
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    columns: Sequence[PointColumn],
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    ends: Ends,
) -> tuple[ByGroup, list[Measured]]:
    """What groups show, and beside it what became of the numbers."""
    groups = int(group.max()) + 1
    entry_row, entry_group, entry_count = unique_pairs(row, group)
    how: list[Representative] = [
        "range" if c.shown == "range" else "ancestor" if c.shown == "ancestor" else "star" for c in columns
    ]
    recoding = publish_groups(frequencies, ladders, entry_row, entry_group, entry_count, how, ends=ends, parts=True)
    labels: list[Any] = list(recoding.labels)
    height, share = recoding.height.copy(), recoding.share.copy()
    measured = []
    for j, column in enumerate(columns):
        codes = frequencies.codes[row, j]
        if column.shown == "mode":
            labels[j], height[:, j], share[:, j] = _modes(codes, group, groups, column)
        if column.numbers is not None and column.shown in ("mean", "median"):
            assert column.extent is not None
            labels[j], shown = _centres(column, codes, group, groups)
            height[:, j] = share[:, j] = _range_share(column.numbers[codes], group, groups, column.extent)
            measured.append((column.dictionary.name, column.numbers[codes], shown[group]))
    return replace(recoding, labels=tuple(labels), height=height, share=share), measured


def _centres(
    column: PointColumn, codes: npt.NDArray[np.int32], group: npt.NDArray[np.int64], groups: int
) -> tuple[pa.Array, npt.NDArray[np.float64]]:
    """What each group shows, in the column's own type, and as numbers; missing where a member is missing."""
    assert column.numbers is not None
    assert column.extent is not None
    values = column.numbers[codes]
    if column.shown == "mean":
        centre = means(values, np.ones(len(values), np.int64), group, groups, column.extent.mean)
    else:
        size = np.bincount(group, minlength=groups)
        order = np.lexsort((values, group))
        start = np.r_[0, np.cumsum(size)[:-1]]
        low, high = values[order][start + (size - 1) // 2], values[order][start + size // 2]
        centre = np.where(np.bincount(group, weights=np.isnan(values), minlength=groups) > 0, np.nan, (low + high) / 2)
    return typed_as(column.dictionary, centre)


def _modes(
    codes: npt.NDArray[np.int32], group: npt.NDArray[np.int64], groups: int, column: PointColumn
) -> tuple[tuple[str | None, ...], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The most frequent value of each group, the lower code of equals; its loss is the share of rows it is not."""
    owner, value, count = unique_pairs(group, codes)
    order = np.lexsort((value, -count, owner))
    first = np.r_[True, np.diff(owner[order]) > 0]
    chosen = value[order][first]
    other = 1 - count[order][first] / np.bincount(group, minlength=groups)
    return (
        tuple(column.ladder.labels[0][code] for code in chosen),
        other,
        np.maximum(other, column.ladder.share[0][chosen]),
    )


def _range_share(
    values: npt.NDArray[np.float64], group: npt.NDArray[np.int64], groups: int, extent: Extent
) -> npt.NDArray[np.float64]:
    """Of each group, how far its values reach as part of how far all do."""
    known = ~np.isnan(values)
    if extent.low == extent.high:
        return np.zeros(groups)
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, group[known], values[known])
    np.maximum.at(high, group[known], values[known])
    share = (high - low) / (extent.high - extent.low)
    share[group[~known]] = 1.0  # such a group shows nothing of this column
    return np.asarray(share, np.float64)
