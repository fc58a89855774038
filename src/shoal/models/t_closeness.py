"""t-closeness: each group's sensitive distribution is near the table's.

The distance between two distributions is the earth mover's distance: with equal distances between all values (half the
sum of the differences), along an order, or along a hierarchy. The table is the published one.

All three are sums of |c·N - C·n| over whole numbers, so that rounding never decides: c of n rows of the group and
C of N of the table have a value.

With harmless values, and equal distances, what has moved onto the other values is bounded: the sum of max(0, cN - Cn)
over them. Along an order or a hierarchy there is no such distance.

Li, Li and Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", 2007.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import Assessment, Condition, SensitiveModel
from shoal.models.exact_comparison import as_float, integer_type
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Number, exact_number
from shoal.schema import Domain
from shoal.table.groups import Groups, Histogram, sum_by
from shoal.table.rules import EQUAL, HIERARCHICAL, ORDERED, Rule

FLOAT_MARGIN = 1e-9  # distance from the bound below which whole numbers decide


@dataclass(frozen=True)
class TCloseness(SensitiveModel):
    """Every group's distribution is within ``t`` of the table's.

    ``distance`` is ``"equal"``, ``"ordered"`` (numbers, or a column with an order in the plan) or ``"hierarchical"`` (a
    column with a hierarchy).
    """

    t: Annotated[Number, Ge(0), Le(1)]
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    column: str | None = None
    rules_are_exact: ClassVar[bool] = True
    name: ClassVar[str] = "t-closeness"
    supports_people: ClassVar[bool] = True
    summary_template: ClassVar[str] = (
        "In every group {column} is distributed nearly as in the whole table: the distance is at most {t} "
        "({distance} distance)."
    )

    @property
    def supports_harmless(self) -> bool:  # type: ignore[override]
        """Return whether all values have the same distance."""
        return self.distance == "equal"

    @override
    def check(self, domains: tuple[Domain, ...]) -> None:
        for domain in self.columns(domains):
            if self.distance == "ordered" and domain.rank is None:
                raise PlanError("models.distance-needs-order", column=domain.name)
            if self.distance == "hierarchical" and domain.tree is None:
                raise PlanError("models.distance-needs-hierarchy", column=domain.name)

    @override
    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        t = exact_number(self.t)
        rows = int(histogram.total.sum())
        distances = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}
        transport, scale = distances[self.distance](_widen(histogram))
        total = float(scale) * np.maximum(histogram.known, 1) * float(max(rows, 1))
        value = np.where(histogram.known > 0, transport.astype(np.float64) / total, np.inf)
        holds = value <= float(t)
        for group in np.flatnonzero(np.abs(value - float(t)) <= FLOAT_MARGIN):
            scaled_transport = int(transport[group]) * t.denominator
            holds[group] = scaled_transport <= t.numerator * scale * int(histogram.known[group]) * rows
        return Assessment(holds, (Condition.of("t", value, t, holds, at_least=False),))

    @override
    def rules(self, domain: Domain, totals: npt.NDArray[np.int64]) -> tuple[Rule, ...]:
        t = as_float(exact_number(self.t))
        if self.distance == "equal":
            return (Rule(EQUAL, real=t),)
        return (_ordered_rule(domain, totals, t) if self.distance == "ordered" else _tree_rule(domain, totals, t),)


def _ordered_rule(domain: Domain, totals: npt.NDArray[np.int64], t: float) -> Rule:
    assert domain.rank is not None
    reached = np.cumsum(np.bincount(domain.rank, weights=totals, minlength=domain.rank_count).astype(np.int64))
    rule_data = np.concatenate([reached, [0], np.cumsum(reached)]).astype(np.int64)
    return Rule(ORDERED, domain.rank_count, t, domain.rank.astype(np.int64), rule_data)


def _tree_rule(domain: Domain, totals: npt.NDArray[np.int64], t: float) -> Rule:
    tree = domain.tree
    assert tree is not None
    starts = np.concatenate([[0], np.cumsum([tree.size(height) for height in range(tree.height + 1)])])
    nodes = int(starts[-1])
    parent = np.full(nodes, -1, np.int64)
    level = np.zeros(nodes, np.int64)
    node_totals = np.zeros(nodes, np.int64)
    for height in range(tree.height + 1):
        nodes_of_values = starts[height] + tree.codes[height]
        level[starts[height] : starts[height + 1]] = height
        np.add.at(node_totals, nodes_of_values, totals)
        if height < tree.height:
            parent[nodes_of_values] = starts[height + 1] + tree.codes[height + 1]
    return Rule(HIERARCHICAL, nodes, t, tree.codes[0].astype(np.int64), np.concatenate([parent, level, node_totals]))


@dataclass(frozen=True)
class _WideHistogram:
    """A histogram in a number type that can represent products of counts."""

    histogram: Histogram
    count: npt.NDArray[Any]
    known: npt.NDArray[Any]
    total: npt.NDArray[Any]
    rows: int


def _widen(histogram: Histogram) -> _WideHistogram:
    rows, domain = int(histogram.total.sum()), histogram.domain
    # no sum over the values, the ranks of an order or the levels of a tree has more terms
    longest = max(domain.size, domain.rank_count, 0 if domain.tree is None else domain.tree.height)
    kind = integer_type(int(histogram.known.max(initial=0)) * rows * (longest + 2) * 2)
    return _WideHistogram(
        histogram,
        histogram.count.astype(kind),
        histogram.known.astype(kind),
        histogram.total.astype(kind),
        rows,
    )


def _equal(wide: _WideHistogram) -> tuple[npt.NDArray[Any], int]:
    """Sum |cN - Cn| over all values; half of it is moved, so the scale is 2nN."""
    histogram = wide.histogram
    known = wide.known[histogram.owner]
    harmless = histogram.domain.harmless
    if harmless is not None:
        risen = np.maximum(wide.count * wide.rows - wide.total[histogram.value] * known, 0)
        return sum_by(histogram.owner, np.where(harmless[histogram.value], 0, risen), len(histogram.known)), 1
    expected = wide.total[histogram.value] * known
    # absent values differ by Cn each; their sum is nN minus the sum over the present values
    moved = np.abs(wide.count * wide.rows - expected) - expected
    return sum_by(histogram.owner, moved, len(histogram.known)) + wide.known * wide.rows, 2


def _ordered(wide: _WideHistogram) -> tuple[npt.NDArray[Any], int]:
    """Sum |F_group - F_table| over the m-1 steps; the scale is (m-1)nN.

    Between two values of a group, its cumulative count is constant while the table's rises, so each stretch is two
    arithmetic sums, split where the table overtakes the group. Time is proportional to the entries, not to groups times
    values.
    """
    histogram = wide.histogram
    rank = histogram.domain.rank
    assert rank is not None
    rank_count = histogram.domain.rank_count
    if rank_count < 2 or not len(histogram.known):
        return np.zeros(len(histogram.known), wide.known.dtype), 1
    kind = wide.known.dtype
    table = np.cumsum(sum_by(rank, wide.total, rank_count))  # F_table, times N
    sums = np.concatenate([np.zeros(1, kind), np.cumsum(table)])
    # one stretch before the first value of each group, and one after each value
    owner = np.concatenate([np.arange(len(histogram.known)), histogram.owner])
    start = np.concatenate([np.zeros(len(histogram.known), np.int64), rank[histogram.value]])
    gain = np.concatenate([np.zeros(len(histogram.known), kind), wide.count])
    order = np.lexsort((start, owner))
    owner, start, gain = owner[order], start[order], gain[order]
    running = np.cumsum(gain)
    first = np.r_[True, owner[1:] != owner[:-1]]
    reached = running - running[first][owner]  # cumulative count within each group: its first stretch has gain 0
    end = np.minimum(np.where(np.r_[first[1:], True], rank_count - 1, np.r_[start[1:], 0]), rank_count - 1)
    start = np.minimum(start, end)
    known = wide.known[owner]
    safe = np.where(known > 0, known, 1)
    level = reached * wide.rows // safe
    turn = np.clip(np.searchsorted(table, level, side="right"), start, end)
    below = reached * wide.rows * (turn - start) - known * (sums[turn] - sums[start])
    above = known * (sums[end] - sums[turn]) - reached * wide.rows * (end - turn)
    return sum_by(owner, below + above, len(histogram.known)), rank_count - 1


def _hierarchical(wide: _WideHistogram) -> tuple[npt.NDArray[Any], int]:
    """Sum the flow between each node's children times the node's height.

    The scale is (height)nN. The surplus of the children is pos, their deficit neg; min(pos, neg) moves within the node.
    A node's own surplus is pos - neg. Only children that the group contains can have a surplus, so nodes without rows
    of the group cost nothing.
    """
    histogram = wide.histogram
    tree = histogram.domain.tree
    assert tree is not None
    kind = wide.known.dtype
    groups = len(histogram.known)
    owner, node, child_count = histogram.owner, histogram.value.astype(np.int64), wide.count
    work = np.zeros(groups, kind)
    for level in range(1, tree.height + 1):
        child_total = sum_by(tree.codes[level - 1], wide.total, tree.size(level - 1))
        surplus = child_count * wide.rows - child_total[node] * wide.known[owner]
        parent_of = np.zeros(tree.size(level - 1), np.int64)
        parent_of[tree.codes[level - 1]] = tree.codes[level]
        key = owner * tree.size(level) + parent_of[node]
        distinct, inverse = np.unique(key, return_inverse=True)
        positive = sum_by(inverse, np.maximum(surplus, 0), len(distinct))
        node_count = sum_by(inverse, child_count, len(distinct))
        owner, node, child_count = distinct // tree.size(level), distinct % tree.size(level), node_count
        node_total = sum_by(tree.codes[level], wide.total, tree.size(level))
        node_surplus = node_count * wide.rows - node_total[node] * wide.known[owner]
        np.add.at(work, owner, level * np.minimum(positive, positive - node_surplus))
    return work, tree.height
