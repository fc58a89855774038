"""Search for root groups and levels of facts together.

Small root groups leave few people with the same facts, so that most facts are lost; large ones lose the detail of the
root. For each size of root groups, levels of all columns of facts are lowered and raised one at a time while the price
falls: the weighted mean loss of all tables, where a fact that is left out is lost as a whole. Prices are measured by
leaving out the facts, on some root groups if there are many people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.methods.linked.suppress import LabelLimitExceeded, leave_out
from shoal.table.linked_coding import CodedTables, Levels

Whole = npt.NDArray[np.int64]

SIZES = (1, 4, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240)
"""Sizes of root groups that are tried, as multiples of k."""
MAX_SAMPLE_PEOPLE = 10_000
"""Number of people from which on prices are measured on some root groups."""
MAX_SAMPLE_FACTS = 200_000
"""The same for the number of their facts."""
LEAST_GAIN = 1e-9
"""Smallest difference of prices that is no rounding."""
ROW_PRICE = 0.01
"""Price of each share of facts that is left out, besides the loss of its detail: that it was there at all."""
EXCESS_PRICE = 10.0
"""Price of each share above a limit, of left-out facts or of the root's loss, besides 1 for any excess."""


@dataclass(frozen=True)
class RootGroups:
    """Groups of people in the root table.

    Attributes
    ----------
    size
        The number of people that every group has at least.
    group
        int64 (people,): the group of each person; -1 for people who are left out.
    loss
        The loss of the root table.
    """

    size: int
    group: Whole
    loss: float


@dataclass(frozen=True)
class LinkedCandidate:
    """Root groups with levels of facts, and what they are expected to lose.

    ``loss`` and ``left_out`` are by child table.
    """

    root: RootGroups
    levels: Levels
    price: float
    loss: tuple[float, ...]
    left_out: tuple[float, ...]


@dataclass(frozen=True)
class LevelSearch:
    """Search for the levels of facts within given root groups.

    Attributes
    ----------
    weights
        The weight of the root, and of each child table.
    suppression
        The share of the facts of a table that may be left out.
    max_root_loss
        The loss of the root that is exceeded only if nothing else is possible.
    """

    k: int
    facts: int
    weights: Sequence[float]
    suppression: float
    max_root_loss: float = 1.0
    seed: int = 0

    def price(self, root_loss: float, loss: Sequence[float], left_out: Sequence[float]) -> float:
        """Return the price of losses by table."""
        mean = np.average([root_loss, *loss], weights=self.weights)
        excess = sum(max(0.0, share - self.suppression) for share in left_out)
        excess += max(0.0, root_loss - self.max_root_loss)
        price = float(mean) + ROW_PRICE * float(np.sum(left_out))
        return price + (1 + EXCESS_PRICE * excess if excess > 0 else 0)

    def least_price(self, root_loss: float) -> float:
        """Return the price of a root loss if nothing else is lost."""
        return self.price(root_loss, [0.0] * (len(self.weights) - 1), ())

    def search(self, tables: CodedTables, root: RootGroups, start: Levels) -> LinkedCandidate:
        """Search for levels, from ``start`` and from the coarsest ones on."""
        sample, group = self._sample(tables, root)
        known: dict[Levels, LinkedCandidate] = {}

        def examine(levels: Levels) -> LinkedCandidate:
            if levels not in known:
                known[levels] = self._examine(sample, group, root, levels)
            return known[levels]

        def descend(best: LinkedCandidate) -> LinkedCandidate:
            while True:
                found = min(map(examine, _neighbours(tables, best.levels)), key=_price_of, default=best)
                if found.price >= best.price - LEAST_GAIN:
                    return best
                best = found

        return min((descend(examine(levels)) for levels in (start, tables.top)), key=_price_of)

    def _examine(self, tables: CodedTables, group: Whole, root: RootGroups, levels: Levels) -> LinkedCandidate:
        lot = np.random.default_rng(self.seed).permutation(len(tables.person))
        try:
            alive = leave_out(tables, group, tables.labels(levels), self.k, self.facts, lot)
        except LabelLimitExceeded:
            worst = (1.0,) * len(tables.tables)
            return LinkedCandidate(root, levels, float("inf"), worst, worst)
        loss, left_out = measure(tables, levels, alive)
        return LinkedCandidate(root, levels, self.price(root.loss, loss, left_out), loss, left_out)

    def _sample(self, tables: CodedTables, root: RootGroups) -> tuple[CodedTables, Whole]:
        """Return whole root groups, of a limited number of people if possible."""
        groups = int(root.group.max()) + 1
        people = np.bincount(root.group[root.group >= 0], minlength=groups)
        facts = np.bincount(tables.person, minlength=tables.people)
        inside = root.group >= 0
        rows = np.bincount(root.group[inside], weights=facts[inside], minlength=groups)
        order = np.random.default_rng(self.seed).permutation(groups)
        before_people, before_rows = np.cumsum(people[order]) - people[order], np.cumsum(rows[order]) - rows[order]
        taken = order[(before_people < MAX_SAMPLE_PEOPLE) & (before_rows < MAX_SAMPLE_FACTS)]
        chosen = np.flatnonzero(inside & np.isin(root.group, taken))
        return tables.select(chosen), np.unique(root.group[chosen], return_inverse=True)[1].reshape(-1)


def _price_of(candidate: LinkedCandidate) -> float:
    return candidate.price


def measure(
    tables: CodedTables, levels: Levels, alive: npt.NDArray[np.bool_]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the loss and the share of left-out rows of each child table."""
    loss, left_out = [], []
    for number, (table, chosen) in enumerate(zip(tables.tables, levels, strict=True)):
        remaining = alive[tables.start[number] : tables.start[number + 1]]
        share = float(remaining.mean()) if len(remaining) else 1.0
        costs = [float(cost[level]) for cost, level in zip(table.costs, chosen, strict=True)]
        loss.append(1 - share * (1 - float(np.mean(costs)) if costs else 1.0))
        left_out.append(1 - share)
    return tuple(loss), tuple(left_out)


def _neighbours(tables: CodedTables, levels: Levels) -> Iterator[Levels]:
    """Yield levels that differ in one column: the next with another loss.

    Several levels of a column can lose the same, such as prefixes that all values share.
    """
    for number, (table, chosen) in enumerate(zip(tables.tables, levels, strict=True)):
        for column, level in enumerate(chosen):
            cost = table.costs[column]
            lower = [other for other in range(level - 1, -1, -1) if cost[other] < cost[level] - LEAST_GAIN]
            higher = [other for other in range(level + 1, len(cost)) if cost[other] > cost[level] + LEAST_GAIN]
            for other in (*lower[:1], *higher[:1]):
                changed = (*chosen[:column], other, *chosen[column + 1 :])
                yield (*levels[:number], changed, *levels[number + 1 :])


def root_sizes(k: int, people: int, given: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the sizes of root groups to try, the smallest first."""
    if given:
        return tuple(sorted({max(k, min(size, people)) for size in given}))
    found = [k * multiple for multiple in SIZES if k * multiple <= people]
    return tuple(dict.fromkeys([*found, people])) if people >= k else ()
