"""t-closeness: the sensitive values of every group are distributed much as in the whole table.

The distance of two distributions is the earth mover's: with all values equally far apart (half the sum of the
differences), along an order, or along a hierarchy. The whole table is the one that is published.

All three are sums of |c·N - C·n| over whole numbers, so that no rounding decides: c of n rows of the group and
C of N of the table have a value.

Li, Li and Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, Number, SensitiveModel
from shoal.models.exact_comparison import as_float, fitting
from shoal.runtime.validation import exact_number
from shoal.schema import Domain
from shoal.table.groups import Groups, Histogram, sum_by
from shoal.table.rules import EQUAL, HIERARCHICAL, ORDERED, Rule

__all__ = ["TCloseness"]

NEAR = 1e-9  # distance below which whole numbers decide


@dataclass(frozen=True)
class TCloseness(SensitiveModel):
    """Every group's distribution is within ``t`` of the table's.

    ``distance`` is ``"equal"``, ``"ordered"`` (numbers, or a column whose order the plan gives) or
    ``"hierarchical"`` (a column with a hierarchy).
    """

    t: Annotated[Number, Ge(0), Le(1)]
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    column: str | None = None
    rules_decide: ClassVar[bool] = True
    name: ClassVar[str] = "t-closeness"
    says: ClassVar[str] = (
        "In every group {column} is distributed nearly as in the whole table: the distance is at most {t} "
        "({distance} distance)."
    )

    def check(self, domains: tuple[Domain, ...]) -> None:
        """See :class:`shoal.models.base.Model`."""
        for domain in self.columns(domains):
            if self.distance == "ordered" and domain.rank is None:
                raise PlanError(
                    f"The ordered distance needs an order of column {domain.name!r}, whose values are not all numbers. "
                    f"Give it under the column: order = [lowest, ..., highest]."
                )
            if self.distance == "hierarchical" and domain.tree is None:
                raise PlanError(
                    f"The hierarchical distance needs a hierarchy of column {domain.name!r}. Give it under the column."
                )

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """See :class:`shoal.models.base.SensitiveModel`."""
        t = exact_number(self.t)
        rows = int(histogram.total.sum())
        steps = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}
        work, scale = steps[self.distance](_widen(histogram))
        whole = float(scale) * np.maximum(histogram.known, 1) * float(max(rows, 1))
        value = np.where(histogram.known > 0, work.astype(np.float64) / whole, np.inf)
        holds = value <= float(t)
        for group in np.flatnonzero(np.abs(value - float(t)) <= NEAR):
            moved = int(work[group]) * t.denominator
            holds[group] = moved <= t.numerator * scale * int(histogram.known[group]) * rows
        return Assessment(holds, (Condition.of("t", value, t, holds, at_least=False),))

    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...]:
        """See :class:`shoal.models.base.SensitiveModel`."""
        t = as_float(exact_number(self.t))
        if self.distance == "equal":
            return (Rule(EQUAL, real=t),)
        return (_ordered_rule(domain, totals, t) if self.distance == "ordered" else _tree_rule(domain, totals, t),)


def _ordered_rule(domain: Domain, totals: npt.NDArray[np.int64], t: float) -> Rule:
    assert domain.rank is not None
    reached = np.cumsum(np.bincount(domain.rank, weights=totals, minlength=domain.places).astype(np.int64))
    lines = np.concatenate([reached, [0], np.cumsum(reached)]).astype(np.int64)
    return Rule(ORDERED, domain.places, t, domain.rank.astype(np.int64), lines)


def _tree_rule(domain: Domain, totals: npt.NDArray[np.int64], t: float) -> Rule:
    tree = domain.tree
    assert tree is not None
    starts = np.concatenate([[0], np.cumsum([tree.size(height) for height in range(tree.height + 1)])])
    nodes = int(starts[-1])
    parent = np.full(nodes, -1, np.int64)
    level = np.zeros(nodes, np.int64)
    held = np.zeros(nodes, np.int64)
    for height in range(tree.height + 1):
        own = starts[height] + tree.codes[height]
        level[starts[height] : starts[height + 1]] = height
        np.add.at(held, own, totals)
        if height < tree.height:
            parent[own] = starts[height + 1] + tree.codes[height + 1]
    return Rule(HIERARCHICAL, nodes, t, tree.codes[0].astype(np.int64), np.concatenate([parent, level, held]))


@dataclass(frozen=True)
class _Wide:
    """A histogram in a number type that has room for products of counts."""

    histogram: Histogram
    count: npt.NDArray[Any]
    known: npt.NDArray[Any]
    total: npt.NDArray[Any]
    rows: int


def _widen(histogram: Histogram) -> _Wide:
    rows, domain = int(histogram.total.sum()), histogram.domain
    # no sum over the values, the places of an order or the levels of a tree is larger
    longest = max(domain.size, domain.places, 0 if domain.tree is None else domain.tree.height)
    kind = fitting(int(histogram.known.max(initial=0)) * rows * (longest + 2) * 2)
    return _Wide(
        histogram,
        histogram.count.astype(kind),
        histogram.known.astype(kind),
        histogram.total.astype(kind),
        rows,
    )


def _equal(wide: _Wide) -> tuple[npt.NDArray[Any], int]:
    """Sum of |cN - Cn| over all values, of which half is moved: 2nN is the scale."""
    histogram = wide.histogram
    known = wide.known[histogram.owner]
    expected = wide.total[histogram.value] * known
    # values that the group lacks differ by Cn each; taken together they are what the others leave of nN
    moved = np.abs(wide.count * wide.rows - expected) - expected
    return sum_by(histogram.owner, moved, len(histogram.known)) + wide.known * wide.rows, 2


def _ordered(wide: _Wide) -> tuple[npt.NDArray[Any], int]:
    """Sum of |F_group - F_table| over the m-1 places between neighbours of the order: (m-1)nN is the scale.

    Between two values that a group holds, its cumulative count stays the same while the table's rises, so each
    stretch is two arithmetic sums, split where the table overtakes the group. Time is in proportion to the
    entries, not to groups times values.
    """
    histogram = wide.histogram
    rank = histogram.domain.rank
    assert rank is not None
    places = histogram.domain.places
    if places < 2 or not len(histogram.known):
        return np.zeros(len(histogram.known), wide.known.dtype), 1
    kind = wide.known.dtype
    table = np.cumsum(sum_by(rank, wide.total, places))  # F_table, times N
    sums = np.concatenate([np.zeros(1, kind), np.cumsum(table)])
    # one stretch before the first value of each group, and one after each value
    owner = np.concatenate([np.arange(len(histogram.known)), histogram.owner])
    start = np.concatenate([np.zeros(len(histogram.known), np.int64), rank[histogram.value]])
    gain = np.concatenate([np.zeros(len(histogram.known), kind), wide.count])
    order = np.lexsort((start, owner))
    owner, start, gain = owner[order], start[order], gain[order]
    so_far = np.cumsum(gain)
    first = np.r_[True, owner[1:] != owner[:-1]]
    reached = so_far - so_far[first][owner]  # each group's own cumulative count: its first stretch has gain 0
    end = np.minimum(np.where(np.r_[first[1:], True], places - 1, np.r_[start[1:], 0]), places - 1)
    start = np.minimum(start, end)
    known = wide.known[owner]
    safe = np.where(known > 0, known, 1)
    level = reached * wide.rows // safe
    turn = np.clip(np.searchsorted(table, level, side="right"), start, end)
    below = reached * wide.rows * (turn - start) - known * (sums[turn] - sums[start])
    above = known * (sums[end] - sums[turn]) - reached * wide.rows * (end - turn)
    return sum_by(owner, below + above, len(histogram.known)), places - 1


def _hierarchical(wide: _Wide) -> tuple[npt.NDArray[Any], int]:
    """Flow between the children of each node, times the node's height: (height)nN is the scale.

    What a child has too much is pos, what it lacks neg; min(pos, neg) moves within the node. A node's own
    surplus is pos - neg, and only children that the group holds can have a surplus, so nodes that the group
    does not touch cost nothing.
    """
    histogram = wide.histogram
    tree = histogram.domain.tree
    assert tree is not None
    kind = wide.known.dtype
    groups = len(histogram.known)
    owner, node, surplus_of = histogram.owner, histogram.value.astype(np.int64), wide.count
    work = np.zeros(groups, kind)
    for level in range(1, tree.height + 1):
        child_total = sum_by(tree.codes[level - 1], wide.total, tree.size(level - 1))
        surplus = surplus_of * wide.rows - child_total[node] * wide.known[owner]
        parent_of = np.zeros(tree.size(level - 1), np.int64)
        parent_of[tree.codes[level - 1]] = tree.codes[level]
        key = owner * tree.size(level) + parent_of[node]
        distinct, inverse = np.unique(key, return_inverse=True)
        more = sum_by(inverse, np.maximum(surplus, 0), len(distinct))
        held = sum_by(inverse, surplus_of, len(distinct))
        owner, node, surplus_of = distinct // tree.size(level), distinct % tree.size(level), held
        node_total = sum_by(tree.codes[level], wide.total, tree.size(level))
        own = held * wide.rows - node_total[node] * wide.known[owner]
        np.add.at(work, owner, level * np.minimum(more, more - own))
    return work, tree.height
