"""A problem of local recoding as arrays for the kernels.

A *piece* is a number of rows of one item in a group. Items are the distinct combinations of the frequency set or, where
no model looks at sensitive values, those of the quasi-identifiers alone, which are fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Problem
from shoal.methods.bind_rules import bind_rules, count_sensitive_values
from shoal.methods.local.kernels.regions import LEVEL, PARENT, Setting, Space
from shoal.schema import Ladder
from shoal.table import FrequencySet
from shoal.table.groups import group_keys
from shoal.utility.measures import make_measure

if TYPE_CHECKING:
    from shoal.methods.local.base import LocalLoss
    from shoal.methods.local.mondrian import LabelKind


@dataclass(frozen=True)
class Pieces:
    """A partition of the rows of items into groups.

    ``count[i]`` rows of item ``item[i]`` are in one group; ``start`` delimits the pieces of each group.

    Attributes
    ----------
    item, count
        int64 (pieces,).
    start
        int64 (groups + 1,): the pieces of group g are ``start[g]:start[g + 1]``.
    """

    item: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]

    @property
    def group(self) -> npt.NDArray[np.int64]:
        """Return the group of each piece."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


@dataclass(frozen=True)
class LocalProblem:
    """A problem in the form that the kernels use.

    Attributes
    ----------
    setting
        The constant arrays of the kernels.
    count
        int64 (n,): rows of each item.
    first
        int64 (n + 1,): item i stands for the combinations ``first[i]:first[i + 1]`` of the frequency set.
    kinds
        The kind of label that each quasi-identifier publishes: ``ancestor``, ``range`` or ``centroid``.
    ranks
        For each quasi-identifier the rank of its codes in the order of the schema, or None where codes are in order.
    exact
        Whether ranges end at values of the group, see :mod:`shoal.table.group_ranges`.
    """

    problem: Problem
    setting: Setting
    count: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    kinds: tuple[LabelKind, ...]
    ranks: tuple[npt.NDArray[np.int32] | None, ...]
    exact: bool = False

    def whole(self) -> Pieces:
        """Return all rows as one group."""
        n = len(self.count)
        return Pieces(np.arange(n, dtype=np.int64), self.count.copy(), np.asarray([0, n], np.int64))


def make_local_problem(
    problem: Problem,
    kinds: Sequence[LabelKind] | None = None,
    loss: LocalLoss = "ncp",
    weights: Mapping[str, float] | None = None,
    ranks: Sequence[npt.NDArray[np.int32] | None] | None = None,
    *,
    exact: bool = False,
) -> LocalProblem:
    """Bind a problem for the kernels.

    Cost: the combinations, and the nodes of the hierarchies times their levels.
    """
    frequencies = problem.frequencies
    kinds = kinds or ["ancestor"] * len(problem.ladders)
    ranks = ranks or [None] * len(problem.ladders)
    space, offsets = make_space(frequencies, problem.ladders, kinds, loss, weights or {}, ranks)
    totals = count_sensitive_values(frequencies.domains, frequencies.secrets, frequencies.count)
    bound = bind_rules(problem.model, frequencies.domains, totals)
    rules, columns = bound.rules, bound.columns(frequencies.secrets)
    values = frequencies.codes + np.where(space.ordered, 0, offsets).astype(np.int32)
    for a, rank in enumerate(ranks):
        if rank is not None and space.ordered[a]:
            values[:, a] = rank[frequencies.codes[:, a]]
    first = np.arange(len(frequencies.count) + 1, dtype=np.int64)
    count = frequencies.count
    if not len(rules.rule_headers) and len(count):
        point, points = group_keys(frequencies.codes, [d.size for d in frequencies.quasi])
        first = np.searchsorted(point, np.arange(points + 1)).astype(np.int64)
        count = np.add.reduceat(count, first[:-1])
        values, columns = values[first[:-1]], columns[first[:-1]]
    setting = Setting(space, rules, np.ascontiguousarray(values, np.int32), np.ascontiguousarray(columns, np.int32))
    return LocalProblem(
        problem, setting, np.ascontiguousarray(count, np.int64), first, tuple(kinds), tuple(ranks), exact
    )


def make_space(
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    kinds: Sequence[LabelKind],
    loss: LocalLoss,
    weights: Mapping[str, float],
    ranks: Sequence[npt.NDArray[np.int32] | None],
) -> tuple[Space, npt.NDArray[np.int64]]:
    """Return the attributes as arrays, and the first leaf of each."""
    measure = make_measure("ncp" if loss == "granularity" else loss, frequencies, ladders, weights=weights)
    leaf_share = np.asarray([ladder.share[0].min() for ladder in ladders])
    weight = measure.weight / max(float(measure.weight.sum()), 1e-300)
    if loss == "granularity":
        weight = weight * (1 - leaf_share)
    parent: list[npt.NDArray[np.int64]] = []
    level: list[npt.NDArray[np.int64]] = []
    cost: list[npt.NDArray[np.float64]] = []
    shares: list[npt.NDArray[np.float64]] = []
    depth = max(ladder.height for ladder in ladders) + 1
    nodes = sum(ladder.size(height) for ladder in ladders for height in range(ladder.height + 1))
    forest = np.zeros((depth + 2, nodes), np.int32)
    offsets, starts = [], []
    node = offset = 0
    for a, ladder in enumerate(ladders):
        offsets.append(node)
        starts.append(offset)
        span = measure.top[a] - measure.leaf[a]
        at = [node]
        for height in range(ladder.height + 1):
            at.append(at[-1] + ladder.size(height))
        leaves = np.arange(len(ladder.codes[0]))
        for height in range(ladder.height + 1):
            above = min(height + 1, ladder.height)
            step = np.zeros(ladder.size(height), np.int64)
            step[ladder.codes[height]] = at[above] + ladder.codes[above]
            parent.append(step)
            level.append(np.full(ladder.size(height), height))
            scaled = (measure.cost[a][height] - measure.leaf[a]) / span if span > 0 else np.zeros(ladder.size(height))
            cost.append(weight[a] * np.maximum(scaled, 0.0))
            forest[height, node + leaves] = at[height] + ladder.codes[height]
        node = at[-1]
        scale = weight[a] / (1 - leaf_share[a]) if leaf_share[a] < 1 else 0.0
        rank = ranks[a]
        shares_in_order = ladder.share[0] if rank is None else ladder.share[0][np.argsort(rank)]
        shares.append(scale * np.concatenate([[0.0], np.cumsum(shares_in_order)]))
        offset += len(shares[-1])
    scale = np.divide(weight, 1 - leaf_share, out=np.zeros_like(weight), where=leaf_share < 1)
    forest[PARENT] = np.concatenate(parent)
    forest[LEVEL] = np.concatenate(level)
    space = Space(
        np.asarray([kind != "ancestor" for kind in kinds], np.bool_),
        forest,
        np.concatenate(cost),
        np.asarray(starts, np.int64),
        np.concatenate(shares),
        scale * leaf_share,
        weight,
        np.asarray([len(d.text) if d.missing else -1 for d in frequencies.quasi], np.int32),
    )
    return space, np.asarray(offsets, np.int64)
