"""Publication of a partition: labels of groups, made valid by merging.

Groups with equal labels are one group to a reader. A group may fail the exact models, because a search compared with a
tolerance, or because a model is not closed under union. It is then merged with the next one in the order of labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from shoal.errors import InfeasibleError, PlanError
from shoal.methods.base import Method, Problem, require_feasible
from shoal.table import ByGroup, FrequencySet, Groups, MethodFacts, publish_groups
from shoal.table.groups import group_keys

Labelling = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]], ByGroup]
"""Function that labels a partition: rows of the frequency set, their groups and counts."""


@dataclass(frozen=True, kw_only=True)
class PartitionFacts(MethodFacts):
    """Facts of a published partition: groups that failed and were merged."""

    repairs: int | None = None


@dataclass(frozen=True)
class PartitionMethod(Method):
    """Base class of methods that return a partition; shoal publishes it.

    Every group publishes, for each column, the lowest label of the hierarchy that covers its values. Groups with equal
    labels become one, and groups that fail the models are merged with a neighbour.
    """

    def partition(self, problem: Problem) -> npt.NDArray[np.int64]:
        """Return the group of every combination: whole numbers from 0."""
        raise NotImplementedError

    @override
    def decide(self, problem: Problem) -> ByGroup:
        require_feasible(problem)
        frequencies = problem.frequencies
        rows = np.arange(len(frequencies.count), dtype=np.int64)
        found = np.asarray(self.partition(problem))
        if found.shape != rows.shape or not np.issubdtype(found.dtype, np.integer) or found.min(initial=0) < 0:
            raise PlanError(
                "extensions.bad-grouping", method=self.name, combinations=len(rows), shape=found.shape, type=found.dtype
            )
        group = np.unique(found, return_inverse=True)[1].reshape(-1).astype(np.int64)

        def label(row: npt.NDArray[np.int64], of: npt.NDArray[np.int64], count: npt.NDArray[np.int64]) -> ByGroup:
            return publish_groups(frequencies, problem.ladders, row, of, count)

        recoding, repairs = publish_valid_groups(problem, rows, group, frequencies.count, label)
        joined = label(recoding.row, same_labels(recoding)[recoding.group], recoding.count)  # equal labels: one group
        return replace(joined, facts=PartitionFacts(repairs=repairs or None))


def publish_valid_groups(
    problem: Problem,
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    count: npt.NDArray[np.int64],
    label: Labelling,
) -> tuple[ByGroup, int]:
    """Publish a partition, merging groups until all meet the exact models.

    Returns the recoding and the number of groups that failed. Raises where even all rows as one group fail.
    """
    repairs = 0
    while True:
        recoding = label(row, group, count)
        label_group = same_labels(recoding)
        groups = form_groups(problem.frequencies, recoding.row, label_group[recoding.group], recoding.count)
        holds = problem.model.assess(groups).holds
        if holds.all():
            return recoding, repairs
        if groups.count == 1:
            raise InfeasibleError("models.no-grouping-found", model=problem.model)
        row, count = recoding.row, recoding.count
        group = merge_failing_labels(holds)[label_group[recoding.group]]
        repairs += int((~holds).sum())


def same_labels(recoding: ByGroup) -> npt.NDArray[np.int64]:
    """Number the groups by their labels; equal labels have equal numbers."""
    import pyarrow as pa

    codes = []
    for labels in recoding.labels:
        array = labels if isinstance(labels, pa.Array) else pa.array(labels, pa.string())
        codes.append(array.dictionary_encode("encode").indices.to_numpy())
    table = np.stack(codes, axis=1).astype(np.int32)
    return group_keys(table, [int(table[:, j].max(initial=0)) + 1 for j in range(table.shape[1])])[0]


def form_groups(
    frequencies: FrequencySet,
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    count: npt.NDArray[np.int64],
) -> Groups:
    """Return the groups of a partition that may divide combinations."""
    return frequencies.select(row, count).groups_of(group, int(group.max(initial=-1)) + 1)


def merge_failing_labels(holds: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Merge every failing group with the next one in the order of labels.

    Returns the new number of each group.
    """
    joined = np.zeros(len(holds), np.bool_)  # whether a group joins the one before it
    failing = np.flatnonzero(~holds)
    joined[np.maximum(failing, 1)] = True
    return np.asarray(np.cumsum(~joined) - 1, np.int64)
