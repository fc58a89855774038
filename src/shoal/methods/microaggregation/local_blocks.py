"""Microaggregation block by block: what blocks share, the groups of one block, and all blocks of one machine.

A table without blocks is one, or one for each of its strata.

Numbers are scaled by the whole table, sums being exact so that no engine's order of rows matters; models that compare
with the whole table compare with all of it. See the module blocks for how rows come to blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError
from shoal.kernels.rules import TOTALS, most_groups
from shoal.methods.base import Problem, require_feasible
from shoal.methods.bind_rules import BoundRules, bind_rules, totals_of
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
from shoal.methods.microaggregation.facts import BlockFacts, Formed, MicroaggregationFacts, SizeFacts
from shoal.methods.microaggregation.points import (
    PointColumn,
    choices,
    coordinates_of,
    form_groups,
    improve,
    point_column,
    publish,
    settle,
)
from shoal.methods.time_limits import deadline_of, is_late
from shoal.models import AllOf
from shoal.runtime.progress import Progress, quiet
from shoal.runtime.threads import spread
from shoal.schema import Domain, Schema
from shoal.table import ByGroup, Groups
from shoal.table.groups import histogram

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.methods.microaggregation.method import _Microaggregation

__all__ = [
    "Part",
    "Shared",
    "ValueCounts",
    "aggregate",
    "cut_table",
    "is_measured",
    "number_keys",
    "sample_keys",
    "share_facts",
    "shared_by_blocks",
]  # fmt: skip


# -- columns ---------------------------------------------------------------------------------------------------------


def is_measured(method: _Microaggregation, schema: Schema, name: str, kind: pa.DataType) -> bool:
    """Whether a column needs no list of its values: plain numbers, of which groups show the mean or the median."""
    import pyarrow as pa

    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not (number or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return False
    _, scale, shown = choices(method, name, True, True)
    plain = schema.columns[name].hierarchy is None and name not in method.strata
    return plain and scale == "standard" and shown in ("mean", "median")


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


@dataclass(frozen=True)
class Part:
    """Rows that are aggregated together: a block, a stratum, or the whole table.

    ``codes`` and ``secrets``, int32 (n, q) and (n, s), are those of each row.
    """

    shared: Shared
    columns: Sequence[PointColumn]
    codes: npt.NDArray[np.int32]
    secrets: npt.NDArray[np.int32]

    def form(self) -> Formed:
        """Its groups, and what the method tells of them; judged with a tolerance."""
        bound, points = self.shared.bound, coordinates_of(self.columns, self.codes)
        return form_groups(self.shared.method, points, bound.columns(self.secrets), bound.rules)

    def finish(
        self, group: npt.NDArray[np.int32], rows: int, progress: Progress = quiet, deadline: float | None = None
    ) -> npt.NDArray[np.int64]:
        """The groups, improved if there is time (``rows`` share the proposals); every group meets the exact models."""
        shared, method = self.shared, self.shared.method
        if method.refines and not is_late(deadline):
            points, ruled = coordinates_of(self.columns, self.codes), shared.bound.columns(self.secrets)
            group = improve(method, points, ruled, shared.bound.rules, group, rows, shared.seed, progress, deadline)
        return settle(shared.model, shared.domains, self.secrets, group, bool(method.strata), shared.totals)


def share_facts(shared: Shared, blocks: Blocks | None) -> MicroaggregationFacts:
    """What is told of all groups together, and of the blocks where there are any."""
    rules = shared.bound.rules
    cut = None
    if blocks is not None:
        cut = BlockFacts(blocks=len(blocks.rows), largest_block=int(blocks.rows.max()), joined_blocks=blocks.joined)
    most = most_groups(rules, rules.values[TOTALS], shared.rows) if len(rules.heads) else None
    return MicroaggregationFacts(most_groups_possible=most, cut=cut)


# -- all blocks on one machine ---------------------------------------------------------------------------------------


def aggregate(method: _Microaggregation, problem: Problem, formed: Event) -> ByGroup:
    """Form groups block by block, several blocks at a time, and publish them; without blocks, stratum by stratum.

    ``formed`` is set once there are groups; those that are not improved by the end of the method's time stay as they
    are. Time n log n for n rows over the cores, with the logarithm of the block's size.
    """
    deadline = deadline_of(method.time_limit)
    require_feasible(problem)
    frequencies = problem.frequencies
    codes, secrets, count = frequencies.codes, frequencies.secrets, frequencies.count
    k = method.group_size(problem.model)
    if frequencies.rows < k:
        raise InfeasibleError(f"Groups of {k} rows need at least {k} rows; the table has {frequencies.rows}. Lower k.")
    in_blocks = method.block is not None and frequencies.rows > method.block
    columns = []
    for j, (dictionary, ladder) in enumerate(zip(frequencies.quasi, problem.ladders, strict=True)):
        rows_of_code = np.bincount(codes[:, j], weights=count, minlength=dictionary.size).astype(np.int64)
        columns.append(point_column(method, dictionary, ladder, rows_of_code))
    totals = totals_of(frequencies.domains, secrets, count)
    shared = shared_by_blocks(method, problem.model, problem.seed, frequencies.domains, totals, frequencies.rows)
    block, blocks = _strata(method, problem.names, codes), None
    if in_blocks:
        block, blocks = _blocks(shared, problem, columns, block)
    order = np.argsort(block, kind="stable")
    members = np.split(order, np.searchsorted(block[order], np.arange(1, int(block.max()) + 1)))
    parts = _Parts(shared, problem, columns, members, blocks is None)
    row, group, size = _all_groups(parts, formed, deadline)
    facts = replace(share_facts(shared, blocks), size=size if blocks is None else None)
    if blocks is None:  # sums over rows are in their order, whatever strata there are
        order = np.argsort(row, kind="stable")
        row, group = row[order], group[order]
    return publish(frequencies, problem.ladders, columns, row, group, facts, method.ends(problem.model))


def _strata(method: _Microaggregation, names: Sequence[str], codes: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """The stratum of each combination, int64 (n,), numbered in the order of their codes."""
    places = [list(names).index(name) for name in method.strata]
    if not places:
        return np.zeros(len(codes), np.int64)
    return np.unique(codes[:, places], axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _blocks(
    shared: Shared, problem: Problem, columns: Sequence[PointColumn], stratum: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Blocks]:
    """The block of each combination, int64 (n,), and the blocks."""
    method, frequencies = shared.method, problem.frequencies
    codes, secrets, count = frequencies.codes, frequencies.secrets, frequencies.count
    assert method.block is not None
    points = coordinates_of(columns, codes)
    measured = [
        column.numbers is not None and is_measured(method, problem.schema, d.name, d.values.type)
        for column, d in zip(columns, frequencies.quasi, strict=True)
    ]
    hashes = hash_rows(sample_keys(columns, measured, codes), problem.seed)
    chosen = sampled(hashes, sample_rate(method.block))
    forest = cut_table(shared, points[chosen], count[chosen], stratum[chosen], int(stratum.max()) + 1)
    leaf = forest.leaf_of(points, stratum)
    rows_of_leaf = np.bincount(leaf, weights=count, minlength=forest.leaves).astype(np.int64)
    entries = tuple((leaf[known], secrets[known, s], count[known]) for s, known in enumerate((secrets >= 0).T))
    blocks = ValueCounts(rows_of_leaf, entries).blocks(shared, forest, method.block)
    return blocks.of_leaf[leaf], blocks


@dataclass(frozen=True)
class _Parts:
    """The combinations of each block or, where the table is not cut (``whole``), of each stratum."""

    shared: Shared
    problem: Problem
    columns: Sequence[PointColumn]
    members: Sequence[npt.NDArray[np.int64]]
    whole: bool

    def row(self, number: int) -> npt.NDArray[np.int64]:
        """Of each row of a part its combination."""
        return np.repeat(self.members[number], self.problem.frequencies.count[self.members[number]])

    def part(self, number: int) -> Part:
        """The rows of a part."""
        frequencies, row = self.problem.frequencies, self.row(number)
        secrets = np.ascontiguousarray(frequencies.secrets[row], np.int32)
        return Part(self.shared, self.columns, frequencies.codes[row], secrets)

    def finish(
        self, number: int, group: npt.NDArray[np.int32], deadline: float | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Of each row of a part its combination and its group."""
        row = self.row(number)
        rows, progress = (len(row), self.problem.progress) if self.whole else (self.shared.rows, quiet)
        return row, self.part(number).finish(group, rows, progress, deadline)


def _all_groups(
    parts: _Parts, formed: Event, deadline: float | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], SizeFacts | None]:
    """Of each row its combination and its group, part by part, and the size of groups that the last part tells."""
    step, count = f"{parts.shared.method.name}: forming groups", parts.problem.frequencies.count
    done = 0

    def form(number: int) -> Formed:
        nonlocal done
        found = parts.part(number).form()
        done += 1
        parts.problem.progress(step, done / len(parts.members))
        return found

    parts.problem.progress(step, None)
    # the largest first, so that no core waits long at the end
    order = np.argsort([-int(count[part].sum()) for part in parts.members], kind="stable").tolist()
    first = dict(zip(order, spread(form, order), strict=True))
    formed.set()
    found = dict(zip(order, spread(lambda n: parts.finish(n, first[n].group, deadline), order), strict=True))
    rows, groups = [], []
    made, size = 0, None
    for number in range(len(parts.members)):
        row, group = found[number]
        rows.append(row)
        groups.append(group + made)
        made += int(group.max()) + 1
        size = first[number].size or size
    return np.concatenate(rows), np.concatenate(groups), size
