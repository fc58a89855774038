"""Microaggregation block by block: what blocks share, the groups of one block, and all blocks of one machine.

Numbers are scaled by the whole table, sums being exact so that no engine's order of rows matters; models that compare
with the whole table compare with all of it. See the module blocks for how rows come to blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.encoding import ByGroup, Dictionary, Groups
from shoal.encoding.groups import histogram
from shoal.errors import PlanError
from shoal.kernels.rules import most_groups
from shoal.methods.base import Problem, quiet
from shoal.methods.microaggregation.blocks import (
    LEAVES_A_BLOCK,
    Blocks,
    Forest,
    grow_forest,
    hash_rows,
    join_leaves,
    sample_rate,
    sampled,
)
from shoal.methods.microaggregation.moments import moments
from shoal.methods.microaggregation.points import (
    Extent,
    PointColumn,
    choices,
    level_coordinates,
    numbers_of,
    partition_rows,
    publish,
    settle,
    strata_of,
)
from shoal.methods.rules import BoundRules, bind_rules
from shoal.models import AllOf
from shoal.schema import Domain, Ladder, Schema
from shoal.threads import spread

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.methods.microaggregation.method import _Microaggregation

__all__ = [
    "Scaling", "Shared", "ValueCounts", "aggregate_in_blocks", "coordinates_of", "cut_table", "group_block",
    "is_measured", "number_keys", "require_span", "sample_keys", "scaled_column", "share_facts", "shared_by_blocks",
]  # fmt: skip


# -- columns ---------------------------------------------------------------------------------------------------------


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


def is_measured(method: _Microaggregation, schema: Schema, name: str, kind: pa.DataType) -> bool:
    """Whether a column needs no list of its values: plain numbers, of which groups show the mean or the median."""
    import pyarrow as pa

    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not (number or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return False
    _, scale, shown = choices(method, name, True, True)
    plain = schema.columns[name].hierarchy is None and name not in method.strata
    return plain and scale == "standard" and shown in ("mean", "median")


def require_span(low: float, high: float, name: str) -> None:
    """Raise where the square of a column's range is too large for a number."""
    if not np.isfinite((high - low) * (high - low)):
        raise PlanError(f"The numbers of column {name!r} lie too far apart for a distance. Rescale or clip them.")


def scaled_column(
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
    extent = Extent(moments(numbers, count, low).mean, low, high)
    scaled = numbers
    values, same = np.unique(numbers[known], return_inverse=True)  # two texts may be one number
    rows = np.bincount(same, weights=count[known]).astype(np.int64)
    if scale == "rank":
        scaled = numbers.copy()
        scaled[known] = (np.cumsum(rows) - rows / 2)[same]  # between the rows below a value and those up to it
    elif scale == "winsorised":
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


def coordinates_of(columns: Sequence[PointColumn], codes: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """The points, float64 (n, d), of rows of codes, int32 (n, q)."""
    parts = [column.coordinates[codes[:, j]] for j, column in enumerate(columns)]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def number_keys(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """The bits of numbers, those of zero without its sign, and the same for all that are missing."""
    return (np.where(np.isnan(numbers), np.inf, numbers) + 0.0).view(np.uint64)


def sample_keys(
    columns: Sequence[PointColumn], measured: Sequence[bool], codes: npt.NDArray[np.int32]
) -> npt.NDArray[np.uint64]:
    """What decides whether a row is in the sample, uint64 (n, q): the bits of its numbers, and its other codes."""
    keys = np.zeros(codes.shape, np.uint64)
    for j, column in enumerate(columns):
        if measured[j]:
            assert column.numbers is not None
            keys[:, j] = number_keys(column.numbers)[codes[:, j]]
        else:
            keys[:, j] = codes[:, j].astype(np.uint64)
    return keys


# -- models ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shared:
    """What all blocks have in common.

    Attributes
    ----------
    totals
        int64 (values,) of each sensitive column: how often the whole table has each value.
    bound
        The models as rules, with the whole table's totals.
    rows
        How many the whole table has.
    """

    method: _Microaggregation
    model: AllOf
    seed: int
    domains: tuple[Domain, ...]
    totals: tuple[npt.NDArray[np.int64], ...]
    bound: BoundRules
    rows: int


def shared_by_blocks(
    method: _Microaggregation,
    model: AllOf,
    seed: int,
    domains: tuple[Domain, ...],
    totals: tuple[npt.NDArray[np.int64], ...],
    rows: int,
) -> Shared:
    """Make the rules of the models from the totals alone."""
    bound = bind_rules(model, domains, totals, method.group_size(model), every=True)
    return Shared(method, model, seed, domains, totals, bound, rows)


@dataclass(frozen=True)
class ValueCounts:
    """How many rows each leaf has, int64 (leaves,), and entries (leaf, value, count) of each sensitive column."""

    rows: npt.NDArray[np.int64]
    entries: tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]], ...]

    def blocks(self, shared: Shared, forest: Forest, most: int) -> Blocks:
        """Join leaves to blocks that meet the models."""
        sorted_entries = []
        for leaf, value, count in self.entries:
            order = np.argsort(leaf, kind="stable")
            starts = np.searchsorted(leaf[order], np.arange(len(self.rows) + 1))
            sorted_entries.append((starts, value[order], count[order]))

        def holds(leaves: Sequence[int]) -> bool:
            size = int(self.rows[list(leaves)].sum())
            if size < shared.bound.rules.least[0]:
                return False
            histograms = []
            for (starts, value, count), domain in zip(sorted_entries, shared.domains, strict=True):
                chosen = np.concatenate([np.arange(starts[leaf], starts[leaf + 1]) for leaf in leaves])
                one = np.zeros(len(chosen), np.int64)
                histograms.append(histogram(one, value[chosen], count[chosen], 1, domain))
            groups = Groups(np.asarray([size], np.int64), tuple(histograms)).within(shared.totals)
            return bool(shared.model.assess(groups).holds[0])

        return join_leaves(forest, self.rows, holds, most)


def cut_table(
    shared: Shared,
    points: npt.NDArray[np.float64],
    weight: npt.NDArray[np.int64],
    stratum: npt.NDArray[np.int64],
    strata: int,
) -> Forest:
    """The splitter, grown from the sample."""
    assert shared.method.block is not None
    most = shared.method.block / LEAVES_A_BLOCK * sample_rate(shared.method.block)
    return grow_forest(points, weight, stratum, strata, most)


def group_block(
    shared: Shared,
    points: npt.NDArray[np.float64],
    secrets: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The groups of one block.

    Parameters
    ----------
    points, secrets, count
        Of each combination of the block, in the order of their codes.

    Returns
    -------
    int64 (rows,) twice: the combination of each row, and its group; every group meets the models.
    """
    row = np.repeat(np.arange(len(count), dtype=np.int64), count)
    codes = np.ascontiguousarray(secrets[row], np.int32)
    method, bound = shared.method, shared.bound
    rows_of_points = np.ascontiguousarray(points[row])
    found = partition_rows(
        method, rows_of_points, bound.columns(codes), bound.rules, {}, shared.rows, shared.seed, quiet
    )
    return row, settle(shared.model, shared.domains, codes, found, bool(method.strata), shared.totals)


def share_facts(shared: Shared, blocks: Blocks) -> dict[str, Any]:
    """What is told of the blocks."""
    facts: dict[str, Any] = {}
    rules = shared.bound.rules
    if len(rules.kind):
        facts["most_groups_possible"] = most_groups(rules, rules.totals, shared.rows)
    return facts | {
        "blocks": len(blocks.rows),
        "largest_block": int(blocks.rows.max()),
        "joined_blocks": blocks.joined,
    }


# -- all blocks on one machine ---------------------------------------------------------------------------------------


def aggregate_in_blocks(method: _Microaggregation, problem: Problem) -> ByGroup:
    """Form groups block by block, several blocks at a time, and publish them.

    Time n log n for n rows over the cores, with the logarithm of the block's size.
    """
    assert method.block is not None
    frequencies = problem.frequencies
    codes, secrets, count = frequencies.codes, frequencies.secrets, frequencies.count
    columns = []
    for j, (dictionary, ladder) in enumerate(zip(frequencies.quasi, problem.ladders, strict=True)):
        rows_of_code = np.bincount(codes[:, j], weights=count, minlength=dictionary.size).astype(np.int64)
        columns.append(scaled_column(method, dictionary, ladder, rows_of_code))
    whole = frequencies.groups_of(np.zeros(len(count), np.int64), 1)
    totals = tuple(found.total for found in whole.histograms)
    shared = shared_by_blocks(method, problem.model, problem.seed, frequencies.domains, totals, frequencies.rows)
    points = coordinates_of(columns, codes)
    measured = [
        column.numbers is not None and is_measured(method, problem.schema, d.name, d.values.type)
        for column, d in zip(columns, frequencies.quasi, strict=True)
    ]
    stratum = strata_of(method, problem.names, codes)
    hashes = hash_rows(sample_keys(columns, measured, codes), problem.seed)
    chosen = sampled(hashes, sample_rate(method.block))
    forest = cut_table(shared, points[chosen], count[chosen], stratum[chosen], int(stratum.max()) + 1)
    leaf = forest.leaf_of(points, stratum)
    rows_of_leaf = np.bincount(leaf, weights=count, minlength=forest.leaves).astype(np.int64)
    entries = tuple(
        (leaf[known], secrets[known, s], count[known])
        for s, known in enumerate((secrets >= 0).T)
    )  # fmt: skip
    blocks = ValueCounts(rows_of_leaf, entries).blocks(shared, forest, method.block)
    block = blocks.of_leaf[leaf]
    order = np.argsort(block, kind="stable")
    members = np.split(order, np.searchsorted(block[order], np.arange(1, len(blocks.rows))))
    done = 0

    def run(part: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        nonlocal done
        row, group = group_block(shared, points[part], secrets[part], count[part])
        done += 1
        problem.progress(f"{method.name}: forming groups", done / len(members))
        return part[row], group

    # the largest first, so that no core waits long at the end
    largest_first = np.argsort(-blocks.rows, kind="stable")
    parts = spread(lambda number: run(members[number]), largest_first.tolist())
    found = dict(zip(largest_first.tolist(), parts, strict=True))
    rows, groups = [], []
    made = 0
    for number in range(len(members)):
        row, group = found[number]
        rows.append(row)
        groups.append(group + made)
        made += int(group.max()) + 1
    facts = share_facts(shared, blocks)
    row, group = np.concatenate(rows), np.concatenate(groups)
    return publish(frequencies, problem.ladders, columns, row, group, facts, method.ends(problem.model))
