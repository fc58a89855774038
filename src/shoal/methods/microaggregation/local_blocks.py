"""Microaggregation block by block on one machine.

The module defines the inputs that blocks share, the groups of one block, and the loop over all blocks. A table without
blocks is one block, or one for each of its strata.

Numbers are scaled by the whole table, with exact sums, so that the order of rows in an engine does not matter. Models
that compare with the whole table compare with all of it. Rows are assigned to blocks in
:mod:`shoal.methods.microaggregation.blocks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError
from shoal.kernels.rules import TOTALS, max_group_count
from shoal.methods.base import Problem, require_feasible
from shoal.methods.bind_rules import BoundRules, bind_rules, count_sensitive_values
from shoal.methods.microaggregation.blocks import (
    LEAVES_PER_BLOCK,
    Blocks,
    Forest,
    grow_forest,
    hash_rows,
    join_leaves,
    sample_rate,
    sampled,
)
from shoal.methods.microaggregation.facts import BlockFacts, FormedGroups, MicroaggregationFacts, SizeFacts
from shoal.methods.microaggregation.points import (
    PointColumn,
    column_options,
    coordinates_of,
    form_groups,
    improve,
    merge_failing_exactly,
    point_column,
    publish_points,
    show_groups,
)
from shoal.methods.partition import form_groups as form_label_groups
from shoal.methods.partition import merge_failing_labels, same_labels
from shoal.methods.time_limits import deadline_of, is_late
from shoal.models import AllOf
from shoal.runtime.progress import Progress, quiet
from shoal.runtime.threads import parallel_map
from shoal.schema import Domain, Schema
from shoal.table import ByGroup, Groups
from shoal.table.groups import histogram

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.methods.microaggregation.method import _Microaggregation

# -- columns ---------------------------------------------------------------------------------------------------------


def is_measured(method: _Microaggregation, schema: Schema, name: str, kind: pa.DataType) -> bool:
    """Return whether a column needs no list of its values.

    This holds for plain numbers, of which groups publish the mean or the median.
    """
    import pyarrow as pa

    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not (number or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return False
    _, scale, published_as = column_options(method, name, True, True)
    plain = schema.columns[name].hierarchy is None and name not in method.strata
    return plain and scale == "standard" and published_as in ("mean", "median")


def number_keys(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Return the bits of numbers as keys.

    Zero has one key whatever its sign, and all missing numbers have the same key.
    """
    return (np.where(np.isnan(numbers), np.inf, numbers) + 0.0).view(np.uint64)


def sample_keys(
    columns: Sequence[PointColumn], measured: Sequence[bool], codes: npt.NDArray[np.int32]
) -> npt.NDArray[np.uint64]:
    """Return the keys that decide whether a row is sampled, uint64 (n, q).

    These are the bits of its numbers, and its other codes.
    """
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
class SharedInputs:
    """Inputs common to all blocks.

    Attributes
    ----------
    totals
        int64 (values,) of each sensitive column: the whole table's count of each value.
    bound
        The models as rules, with the whole table's totals.
    rows
        The number of rows of the whole table.
    """

    method: _Microaggregation
    model: AllOf
    seed: int
    domains: tuple[Domain, ...]
    totals: tuple[npt.NDArray[np.int64], ...]
    bound: BoundRules
    rows: int


def make_shared_inputs(
    method: _Microaggregation,
    model: AllOf,
    seed: int,
    domains: tuple[Domain, ...],
    totals: tuple[npt.NDArray[np.int64], ...],
    rows: int,
) -> SharedInputs:
    """Build the inputs of all blocks, with rules from the totals alone."""
    bound = bind_rules(model, domains, totals, method.group_size(model), all_columns=True)
    return SharedInputs(method, model, seed, domains, totals, bound, rows)


@dataclass(frozen=True)
class ValueCounts:
    """Rows and sensitive values of each leaf.

    The number of rows, int64 (leaves,), and entries (leaf, value, count) of each sensitive column.
    """

    rows: npt.NDArray[np.int64]
    entries: tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]], ...]

    def blocks(self, shared: SharedInputs, forest: Forest, max_rows: int) -> Blocks:
        """Merge leaves into blocks that meet the models."""
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

        return join_leaves(forest, self.rows, holds, max_rows)


def cut_table(
    shared: SharedInputs,
    points: npt.NDArray[np.float64],
    weight: npt.NDArray[np.int64],
    stratum: npt.NDArray[np.int64],
    strata: int,
) -> Forest:
    """Grow the k-d trees from the sample."""
    assert shared.method.block is not None
    max_leaf_sample = shared.method.block / LEAVES_PER_BLOCK * sample_rate(shared.method.block)
    return grow_forest(points, weight, stratum, strata, max_leaf_sample)


@dataclass(frozen=True)
class RowSubset:
    """Rows aggregated in one run: a block, a stratum, or the whole table.

    ``codes`` and ``secrets``, int32 (n, q) and (n, s), are those of each row.
    """

    shared: SharedInputs
    columns: Sequence[PointColumn]
    codes: npt.NDArray[np.int32]
    secrets: npt.NDArray[np.int32]

    def form(self) -> FormedGroups:
        """Form groups; models are evaluated with a tolerance."""
        bound, points = self.shared.bound, coordinates_of(self.columns, self.codes)
        return form_groups(self.shared.method, points, bound.columns(self.secrets), bound.rules)

    def finish(
        self, group: npt.NDArray[np.int32], rows: int, progress: Progress = quiet, deadline: float | None = None
    ) -> npt.NDArray[np.int64]:
        """Improve the groups if there is time, and enforce the exact models.

        ``rows`` is the number of rows that share the proposals.
        """
        shared, method = self.shared, self.shared.method
        if method.refines and not is_late(deadline):
            points, columns = coordinates_of(self.columns, self.codes), shared.bound.columns(self.secrets)
            group = improve(method, points, columns, shared.bound.rules, group, rows, shared.seed, progress, deadline)
        whole = len(self.secrets) == shared.rows
        return merge_failing_exactly(
            shared.model, shared.domains, self.secrets, group, bool(method.strata), shared.totals, whole
        )


def make_facts(shared: SharedInputs, blocks: Blocks | None) -> MicroaggregationFacts:
    """Build the facts about all groups, and about the blocks if any."""
    rules = shared.bound.rules
    cut = None
    if blocks is not None:
        cut = BlockFacts(blocks=len(blocks.rows), largest_block=int(blocks.rows.max()), joined_blocks=blocks.joined)
    max_groups = max_group_count(rules, rules.values[TOTALS], shared.rows) if len(rules.rule_headers) else None
    return MicroaggregationFacts(most_groups_possible=max_groups, cut=cut)


# -- all blocks on one machine ---------------------------------------------------------------------------------------


def aggregate(method: _Microaggregation, problem: Problem, formed: Event) -> ByGroup:
    """Form groups block by block, several at a time, and publish them.

    Without blocks, strata take their place. ``formed`` is set once there are groups; groups that are not improved by
    the
    end of the time limit stay as they are. Time n log n for n rows over the cores, with the logarithm of the block's
    size.
    """
    deadline = deadline_of(method.time_limit)
    require_feasible(problem)
    frequencies = problem.frequencies
    codes, secrets, count = frequencies.codes, frequencies.secrets, frequencies.count
    k = method.group_size(problem.model)
    if frequencies.rows < k:
        raise InfeasibleError("microaggregation.too-few-rows", k=k, least=k, rows=frequencies.rows)
    in_blocks = method.block is not None and frequencies.rows > method.block
    columns = []
    for j, (dictionary, ladder) in enumerate(zip(frequencies.quasi, problem.ladders, strict=True)):
        rows_of_code = np.bincount(codes[:, j], weights=count, minlength=dictionary.size).astype(np.int64)
        columns.append(point_column(method, dictionary, ladder, rows_of_code))
    totals = count_sensitive_values(frequencies.domains, secrets, count)
    shared = make_shared_inputs(method, problem.model, problem.seed, frequencies.domains, totals, frequencies.rows)
    block, blocks = _strata(method, problem.names, codes), None
    if in_blocks:
        block, blocks = _blocks(shared, problem, columns, block)
    order = np.argsort(block, kind="stable")
    members = np.split(order, np.searchsorted(block[order], np.arange(1, int(block.max()) + 1)))
    parts = _RowSubsets(shared, problem, columns, members, blocks is None)
    row, group, size = _all_groups(parts, formed, deadline)
    facts = replace(make_facts(shared, blocks), size=size if blocks is None else None)
    if blocks is None:  # sum in row order, independent of the strata
        order = np.argsort(row, kind="stable")
        row, group = row[order], group[order]
    if not problem.model.closed_under_union:
        group = _merge_same_labels(method, problem, columns, row, group)
    return publish_points(frequencies, problem.ladders, columns, row, group, facts, method.ends(problem.model))


def _merge_same_labels(
    method: _Microaggregation,
    problem: Problem,
    columns: Sequence[PointColumn],
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Merge groups until those with equal labels meet the models together.

    To a reader, groups that show the same are one group. Where a model is not closed under union, it can fail although
    each of them meets it. It is then merged with the next one in the order of labels.
    """
    while True:
        recoding, _ = show_groups(problem.frequencies, problem.ladders, columns, row, group, method.ends(problem.model))
        label_group = same_labels(recoding)
        formed = form_label_groups(problem.frequencies, recoding.row, label_group[recoding.group], recoding.count)
        holds = problem.model.assess(formed).holds
        if holds.all():
            return group
        if formed.count == 1 or method.strata:
            raise InfeasibleError(
                "microaggregation.no-grouping-found",
                model=problem.model,
                hint=", or drop strata" if method.strata else "",
            )
        group = merge_failing_labels(holds)[label_group[group]]


def _strata(method: _Microaggregation, names: Sequence[str], codes: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return the stratum of each combination, int64 (n,), in code order."""
    positions = [list(names).index(name) for name in method.strata]
    if not positions:
        return np.zeros(len(codes), np.int64)
    return np.unique(codes[:, positions], axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _blocks(
    shared: SharedInputs, problem: Problem, columns: Sequence[PointColumn], stratum: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Blocks]:
    """Return the block of each combination, int64 (n,), and the blocks."""
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
class _RowSubsets:
    """The combinations of each block, or of each stratum.

    ``whole`` is whether the table is not cut into blocks.
    """

    shared: SharedInputs
    problem: Problem
    columns: Sequence[PointColumn]
    members: Sequence[npt.NDArray[np.int64]]
    whole: bool

    def row(self, number: int) -> npt.NDArray[np.int64]:
        """Return the combination of each row of a subset."""
        return np.repeat(self.members[number], self.problem.frequencies.count[self.members[number]])

    def part(self, number: int) -> RowSubset:
        """Return the rows of a subset."""
        frequencies, row = self.problem.frequencies, self.row(number)
        secrets = np.ascontiguousarray(frequencies.secrets[row], np.int32)
        return RowSubset(self.shared, self.columns, frequencies.codes[row], secrets)

    def finish(
        self, number: int, group: npt.NDArray[np.int32], deadline: float | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the combination and the group of each row of a subset."""
        row = self.row(number)
        rows, progress = (len(row), self.problem.progress) if self.whole else (self.shared.rows, quiet)
        return row, self.part(number).finish(group, rows, progress, deadline)


def _all_groups(
    parts: _RowSubsets, formed: Event, deadline: float | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], SizeFacts | None]:
    """Return the combination and the group of each row, and the group size.

    Rows come subset by subset. The group size is that of the last subset that has one.
    """
    step, count = f"{parts.shared.method.name}: forming groups", parts.problem.frequencies.count
    done = 0

    def form(number: int) -> FormedGroups:
        nonlocal done
        found = parts.part(number).form()
        done += 1
        parts.problem.progress(step, done / len(parts.members))
        return found

    parts.problem.progress(step, None)
    # largest first, so that cores finish at about the same time
    order = np.argsort([-int(count[part].sum()) for part in parts.members], kind="stable").tolist()
    first = dict(zip(order, parallel_map(form, order), strict=True))
    formed.set()
    found = dict(zip(order, parallel_map(lambda n: parts.finish(n, first[n].group, deadline), order), strict=True))
    rows, groups = [], []
    made, size = 0, None
    for number in range(len(parts.members)):
        row, group = found[number]
        rows.append(row)
        groups.append(group + made)
        made += int(group.max()) + 1
        size = first[number].size or size
    return np.concatenate(rows), np.concatenate(groups), size
