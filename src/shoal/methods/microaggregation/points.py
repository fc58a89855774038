"""Rows as points: one distance over columns of all kinds.

Every column becomes coordinates whose squared Euclidean distance is the required one, so that the kernels need only
one distance:

* numbers and dates: the value over the standard deviation (or its rank, or winsorised first);
* values with a hierarchy: the share of its H levels on which two values differ;
* other values: 0 where equal, 1 where not.

A missing number is placed at the mean, with an additional coordinate at distance one from every known value. A group
with a missing number publishes the column as missing: the number is not imputed, and its absence singles out no row.
The module also computes what groups of points publish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError, PlanError
from shoal.kernels.rules import Rules, count_rows, failing_groups, make_evaluator, max_group_count, value_counts
from shoal.methods.base import EXACT_RANGES_WARNING
from shoal.methods.microaggregation.exact_moments import moments
from shoal.methods.microaggregation.facts import FormedGroups, MicroaggregationFacts, SizeFacts
from shoal.methods.microaggregation.kernels.exact import MAX_EXACT_RECORDS, best_partition
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
from shoal.table.group_means import as_column_type, dictionary_numbers, group_means
from shoal.table.group_ranges import RangeEnds
from shoal.table.groups import unique_pairs
from shoal.table.method_facts import WarningFacts
from shoal.utility.loss import distances, measure_change

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.methods.microaggregation.method import Base, PublishedValue, Scale, _Microaggregation

MAX_ROWS_TO_TRY_EVERY_SIZE = 20_000
MAX_PROPOSALS = 10_000_000
SIZE_ONLY_FACTOR = 5  # of proposals, where groups need only a minimum size and quality is set: just as fast
BEST_QUALITY_FACTOR = 10  # of proposals, for quality = "best"
MAX_ROWS_TO_ANNEAL = 200_000  # beyond, annealing has too few proposals per row to matter


@dataclass(frozen=True)
class Extent:
    """Mean, minimum and maximum of a numeric column of the whole table."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PointColumn:
    """One quasi-identifier as points: coordinates by code, and its numbers.

    ``numbers`` is None for columns that are not numeric. ``extent`` is that of the numbers in the whole table.
    """

    dictionary: Dictionary
    ladder: Ladder
    coordinates: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.float64] | None
    published_as: PublishedValue
    extent: Extent | None = None


def form_groups(
    method: _Microaggregation,
    points: npt.NDArray[np.float64],
    columns: npt.NDArray[np.int32],
    rules: Rules,
) -> FormedGroups:
    """Form groups of some rows, before any improvement."""
    if len(points) < rules.least[0]:
        raise InfeasibleError("microaggregation.stratum-too-small", least=rules.least[0], found=len(points))
    formed = method.partition(points, columns, rules)
    return replace(
        formed, group=np.asarray(merge_failing(points, columns, make_evaluator(rules), formed.group), np.int32)
    )


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
    """Return groups with less loss, where the method refines.

    With a deadline, the number of proposals is adapted to the remaining time.
    """
    if not method.refines or len(points) < 2 * rules.least[0]:
        return group
    progress(f"{method.name}: improving groups", None)
    more = BEST_QUALITY_FACTOR if method.quality == "best" else 1
    if method.quality is not None and len(points) <= MAX_EXACT_RECORDS:
        best = best_partition(points, columns, make_evaluator(rules), int(rules.offsets[-1]))
        return np.asarray(best, np.int32) if len(best) else group
    if method.quality is not None and len(rules.rule_headers) == 0:
        steps = SIZE_ONLY_FACTOR * more * min(method.effort * len(points), MAX_PROPOSALS * len(points) // rows)
        return refine_sized(points, rules, group, steps if rows <= MAX_ROWS_TO_ANNEAL else 0, seed, deadline)
    part = more * MAX_PROPOSALS * len(points) // rows
    steps = min(more * method.effort * len(points), part) if rows <= MAX_ROWS_TO_ANNEAL else 0
    if deadline is not None:
        start, trial_steps = now(), steps // 50
        group = np.asarray(refine_partition(points, columns, rules, group, trial_steps, seed), np.int32)
        rate = trial_steps / max(now() - start, 1e-3)
        steps = min(steps, int(rate * (deadline - now())))
        if steps <= trial_steps:
            return group
    return np.asarray(refine_partition(points, columns, rules, group, steps, seed), np.int32)


def merge_failing_exactly(
    model: AllOf,
    domains: tuple[Domain, ...],
    secrets: npt.NDArray[np.int32],
    group: npt.NDArray[np.int32],
    strata: bool,
    totals: Sequence[npt.NDArray[np.int64]] | None = None,
    whole: bool = True,
) -> npt.NDArray[np.int64]:
    """Merge groups that fail the exact models into the next group.

    This is repeated until none fails: kernels compare with a tolerance. ``secrets`` and ``group`` are those of each
    row.
    ``totals`` are the whole table's, by sensitive column, where these rows are a part of it; ``whole`` is whether they
    are all rows.
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
            raise InfeasibleError("microaggregation.strata-fail-models", failing=len(failing), groups=groups)
        if groups == 1:
            if whole:
                raise InfeasibleError("models.no-grouping-found", model=model)
            raise InfeasibleError("microaggregation.block-fails-models", model=model, rows=len(secrets))
        settled[settled == failing[0]] = failing[0] - 1 if failing[0] else 1


# -- columns as coordinates -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaling:
    """Mapping of a column's numbers to coordinates.

    ``has_missing`` is whether any number of the whole table is missing.
    """

    mean: float
    deviation: float
    has_missing: bool

    def __call__(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return coordinates, float64 (n, 1 or 2), of numbers; NaN is missing."""
        missing = np.isnan(numbers)
        scaled = (np.where(missing, self.mean, numbers) - self.mean) / (self.deviation or 1.0)
        return np.stack([scaled, missing.astype(np.float64)], axis=1) if self.has_missing else scaled[:, None]


def column_options(
    method: _Microaggregation, name: str, numeric: bool, flat: bool
) -> tuple[float, Scale, PublishedValue]:
    """Return a column's weight, its scale, and what groups publish of it.

    ``flat`` is a column without a hierarchy.
    """
    weight = float(method.weights.get(name, 1.0))
    scale = method.scale if isinstance(method.scale, str) else method.scale.get(name, "standard")
    published_as = method.publish.get(name) or ("mean" if numeric else "mode" if flat else "ancestor")
    if not numeric and published_as in ("mean", "median"):
        raise PlanError("microaggregation.no-mean", column=name, published_value=published_as)
    return weight, scale, published_as


def require_span(low: float, high: float, name: str) -> None:
    """Raise where the square of a column's range overflows a float."""
    if not np.isfinite((high - low) * (high - low)):
        raise PlanError("microaggregation.numbers-too-far-apart", column=name)


def point_column(
    method: _Microaggregation, dictionary: Dictionary, ladder: Ladder, count: npt.NDArray[np.int64]
) -> PointColumn:
    """Convert a column into points, scaled by its counts, int64 (codes,)."""
    name, numbers = dictionary.name, dictionary_numbers(dictionary)
    weight, scale, published_as = column_options(method, name, numbers is not None, ladder.height == 1)
    if numbers is None:
        return PointColumn(dictionary, ladder, level_coordinates(ladder) * np.sqrt(weight), None, published_as)
    known = ~np.isnan(numbers)
    low, high = float(numbers[known].min()), float(numbers[known].max())
    require_span(low, high, name)
    scaled, found = numbers, moments(numbers, count, low)
    extent = Extent(found.mean, low, high)
    if scale != "standard":
        values, same = np.unique(numbers[known], return_inverse=True)  # two spellings may be one number
        rows = np.bincount(same, weights=count[known]).astype(np.int64)
        if scale == "rank":
            scaled = numbers.copy()
            scaled[known] = (np.cumsum(rows) - rows / 2)[same]  # the mid-rank
        else:
            ends = [_quantile(values, rows, part) for part in (0.01, 0.99)]
            scaled = np.clip(numbers, ends[0], ends[1])
        found = moments(scaled, count, float(scaled[known].min()))
    coordinates = Scaling(found.mean, found.deviation, dictionary.missing)(scaled)
    return PointColumn(dictionary, ladder, coordinates * np.sqrt(weight), numbers, published_as, extent)


def _quantile(values: npt.NDArray[np.float64], count: npt.NDArray[np.int64], part: float) -> float:
    """Return the quantile of sorted values with counts.

    By linear interpolation.
    """
    reached = np.cumsum(count)
    position = part * (int(reached[-1]) - 1)
    low, high = values[np.searchsorted(reached, [np.floor(position), np.ceil(position)], side="right")]
    return float(low + (high - low) * (position - np.floor(position)))


def level_coordinates(ladder: Ladder) -> npt.NDArray[np.float64]:
    """Return coordinates by code, one per label below the top.

    The squared distance of two values is the share of levels on which they differ.
    """
    parts = []
    for level in range(ladder.height):
        part = np.zeros((len(ladder.codes[0]), ladder.size(level)))
        part[np.arange(len(part)), ladder.codes[level]] = np.sqrt(0.5 / ladder.height)
        parts.append(part)
    return np.concatenate(parts, axis=1)


def coordinates_of(columns: Sequence[PointColumn], codes: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """Return the points, float64 (n, d), of rows of codes, int32 (n, q)."""
    parts = [column.coordinates[codes[:, j]] for j, column in enumerate(columns)]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


# -- Algorithm 1 -------------------------------------------------------------------------------------------------------


def grow_size(
    points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules, base: Base
) -> FormedGroups:
    """Algorithm 1: find the smallest size at which all groups meet the models.

    Sizes from k on are tried.
    """
    rows = len(points)
    form = mdav if base == "mdav" else cbfs
    judge = make_evaluator(rules)

    def attempt(size: int) -> npt.NDArray[np.int32] | None:
        group = form(points, size)
        sizes, histograms = count_rows(columns, group, int(group.max()) + 1, int(rules.offsets[-1]))
        return None if failing_groups(judge, sizes, histograms).any() else np.asarray(group, np.int32)

    # with more groups than the values allow, no partition meets the models
    max_groups = max_group_count(rules, value_counts(columns, rules), rows)
    smallest = min(max(int(rules.least[0]), -(-rows // (max_groups + 1)) if max_groups else rows), rows)
    if rows <= MAX_ROWS_TO_TRY_EVERY_SIZE:
        for size in range(smallest, rows + 1):
            if (group := attempt(size)) is not None:
                return FormedGroups(group, SizeFacts(group_size=size, smallest_size=True))
        return FormedGroups(np.zeros(rows, np.int32))
    low, high = smallest - 1, smallest
    while (found := attempt(high)) is None and high < rows:
        low, high = high, min(2 * high, rows)
    if found is None:
        return FormedGroups(np.zeros(rows, np.int32))
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        group = attempt(middle)
        low, high, found = (low, middle, group) if group is not None else (middle, high, found)
    return FormedGroups(found, SizeFacts(group_size=high, smallest_size=high == smallest))


# -- what groups publish ---------------------------------------------------------------------------------------------


def publish_points(
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    columns: Sequence[PointColumn],
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    facts: MicroaggregationFacts,
    ends: RangeEnds,
) -> ByGroup:
    """Build the recoding of groups, with its facts and losses.

    ``row`` is the combination of each row of the table, and ``group`` its group.
    """
    recoding, measured = show_groups(frequencies, ladders, columns, row, group, ends)
    loss, per_column = distances({name: [measure_change(before, after)] for name, before, after in measured})
    warned = exact_ranges_warning(ends, [column.published_as for column in columns])
    return replace(recoding, facts=replace(facts, warned=warned, sse_sst_by_column=per_column or None), loss=loss)


def exact_ranges_warning(ends: RangeEnds, published_as: Sequence[PublishedValue]) -> WarningFacts | None:
    """Return a warning where ranges end at values of their groups."""
    return EXACT_RANGES_WARNING if ends.exact and "range" in published_as else None


Measured = tuple[str, npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""A numeric column: its name, its numbers by row, and the published numbers."""


def show_groups(
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    columns: Sequence[PointColumn],
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    ends: RangeEnds,
) -> tuple[ByGroup, list[Measured]]:
    """Build the recoding of groups, and the original and published numbers."""
    groups = int(group.max()) + 1
    entry_row, entry_group, entry_count = unique_pairs(row, group)
    representations: list[Representative] = [
        "range" if c.published_as == "range" else "ancestor" if c.published_as == "ancestor" else "star"
        for c in columns
    ]
    recoding = publish_groups(
        frequencies, ladders, entry_row, entry_group, entry_count, representations, ends=ends, parts=True
    )
    labels: list[Any] = list(recoding.labels)
    height, share = recoding.height.copy(), recoding.share.copy()
    measured = []
    for j, column in enumerate(columns):
        codes = frequencies.codes[row, j]
        if column.published_as == "mode":
            labels[j], height[:, j], share[:, j] = _modes(codes, group, groups, column)
        if column.numbers is not None and column.published_as in ("mean", "median"):
            assert column.extent is not None
            labels[j], centres = _centres(column, codes, group, groups)
            height[:, j] = share[:, j] = _range_share(column.numbers[codes], group, groups, column.extent)
            measured.append((column.dictionary.name, column.numbers[codes], centres[group]))
    return replace(recoding, labels=tuple(labels), height=height, share=share), measured


def _centres(
    column: PointColumn, codes: npt.NDArray[np.int32], group: npt.NDArray[np.int64], groups: int
) -> tuple[pa.Array, npt.NDArray[np.float64]]:
    """Return each group's mean or median, in the column's type and as numbers.

    Missing where a member is missing.
    """
    assert column.numbers is not None
    assert column.extent is not None
    values = column.numbers[codes]
    if column.published_as == "mean":
        centre = group_means(values, np.ones(len(values), np.int64), group, groups, column.extent.mean)
    else:
        size = np.bincount(group, minlength=groups)
        order = np.lexsort((values, group))
        start = np.r_[0, np.cumsum(size)[:-1]]
        low, high = values[order][start + (size - 1) // 2], values[order][start + size // 2]
        centre = np.where(np.bincount(group, weights=np.isnan(values), minlength=groups) > 0, np.nan, (low + high) / 2)
    return as_column_type(column.dictionary, centre)


def _modes(
    codes: npt.NDArray[np.int32], group: npt.NDArray[np.int64], groups: int, column: PointColumn
) -> tuple[tuple[str | None, ...], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the most frequent value of each group, and its loss.

    Ties go to the lower code. The loss is the share of rows with other values.
    """
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
    """Return each group's range as a share of the column's range."""
    known = ~np.isnan(values)
    if extent.low == extent.high:
        return np.zeros(groups)
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, group[known], values[known])
    np.maximum.at(high, group[known], values[known])
    share = (high - low) / (extent.high - extent.low)
    share[group[~known]] = 1.0  # such a group publishes the column as missing
    return np.asarray(share, np.float64)
