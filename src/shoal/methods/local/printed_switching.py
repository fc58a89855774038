"""Algorithm 2 of the (p+, α) paper as printed, for small tables.

Rows of two groups are exchanged in pairs, so that groups keep their sizes; no row is taken over one-way, and nothing is
refined afterwards. The paper does not say which rows to switch: here the deficit of a failing group falls, that of the
other group does not rise, and of all such exchanges the one of least additional loss, relative to the deficit that it
removes, is made. Where none exists the paper's loop would not end; then the group is merged with another one. See
:mod:`shoal.methods.local.kernels.switching` for the method that shoal prefers, and for why both end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.rules import group_deficits, make_tally
from shoal.methods.local.problem import LocalProblem, Pieces
from shoal.methods.local.search import Switched

MIN_DECREASE = 1e-9  # of a deficit


class SensitiveCounts:
    """Deficits of groups that are given by counts of their sensitive values."""

    def __init__(self, local: LocalProblem) -> None:
        columns = local.setting.columns
        self.rules = local.setting.rules
        self.kinds, kind = np.unique(columns, axis=0, return_inverse=True)
        self.kind: npt.NDArray[np.int64] = kind.reshape(-1).astype(np.int64)
        """The number of each item's combination of sensitive values."""

    def count(self, items: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how often each combination occurs among some rows."""
        return np.bincount(self.kind[items], minlength=len(self.kinds))

    def deficits(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the deficit of each group; a group is a row of counts."""
        group, kind = np.nonzero(counts)
        found = group_deficits(
            self.rules,
            make_tally(self.rules),
            np.ascontiguousarray(self.kinds[kind], np.int32),
            counts[group, kind].astype(np.int64),
            group.astype(np.int64),
            len(counts),
        )
        return np.asarray(found)


class Ancestors:
    """Losses of groups that show the closest common ancestors of their rows."""

    def __init__(self, local: LocalProblem) -> None:
        space = local.setting.space
        self.cost = space.cost
        height = space.forest.shape[0] - 2
        leaves = local.setting.values
        self.nodes = np.stack([space.forest[level][leaves] for level in range(height)], axis=2)
        """The ancestor of each item in each column at each level; 0 above the top."""
        self.tops = np.asarray(
            [int(space.forest[-1, space.forest[:height, leaves[0, j]]].max()) for j in range(leaves.shape[1])]
        )
        for j, top in enumerate(self.tops):
            self.nodes[:, j, top + 1 :] = self.nodes[:1, j, top : top + 1]

    def levels(self, items: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the level of the closest common ancestor in each column."""
        nodes = self.nodes[items]
        return np.asarray((nodes == nodes[:1]).all(axis=0).argmax(axis=1))

    def joint_levels(
        self, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], levels: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the levels of regions that are widened by one row each.

        ``first`` represents the regions, which have the given levels, and ``second`` are the added rows.
        """
        common = (self.nodes[first] == self.nodes[second]).argmax(axis=2)
        return np.asarray(np.maximum(common, levels))

    def costs(self, items: npt.NDArray[np.int64], levels: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the loss of a row in regions of the given levels."""
        nodes = np.take_along_axis(self.nodes[items], levels[..., None], axis=-1)[..., 0]
        return np.asarray(self.cost[nodes].sum(axis=-1))


@dataclass(frozen=True)
class _Exchange:
    score: float
    outgoing: int
    incoming: int


class _Groups:
    """Rows, their groups, and what the search needs about them."""

    def __init__(self, local: LocalProblem, pieces: Pieces) -> None:
        self.item = np.repeat(pieces.item, pieces.count)
        self.group = np.repeat(pieces.group, pieces.count)
        self.values, self.ancestors = SensitiveCounts(local), Ancestors(local)
        groups = len(pieces.start) - 1
        self.counts = np.stack([self.values.count(self.item[self.group == g]) for g in range(groups)])
        self.deficits = self.values.deficits(self.counts)
        self.rest_levels = np.zeros((len(self.item), self.ancestors.nodes.shape[1]), np.int64)
        self.rest_row = np.zeros(len(self.item), np.int64)
        self.loss = np.zeros(groups)
        for g in range(groups):
            self.update(g)

    def rows(self, group: int) -> npt.NDArray[np.int64]:
        return np.flatnonzero(self.group == group)

    def update(self, group: int) -> None:
        """Recompute a group; for each row also the region of the other rows."""
        rows = self.rows(group)
        self.counts[group] = self.values.count(self.item[rows])
        self.deficits[group] = self.values.deficits(self.counts[[group]])[0] if len(rows) else 0.0
        if not len(rows):
            return
        levels = self.ancestors.levels(self.item[rows])
        self.loss[group] = len(rows) * float(self.ancestors.costs(self.item[rows[:1]], levels[None])[0])
        for position, row in enumerate(rows):
            rest = np.delete(rows, position)
            self.rest_row[row] = rest[0] if len(rest) else row
            self.rest_levels[row] = self.ancestors.levels(self.item[rest]) if len(rest) else 0

    def best_exchange(self, group: int) -> _Exchange | None:
        """Return the exchange of least loss per removed deficit, or None."""
        rows = self.rows(group)
        others = np.flatnonzero((self.group != group) & (self.group >= 0))
        kind = self.values.kind[self.item]
        best: _Exchange | None = None
        for leaving in np.unique(kind[rows]):
            own = self._after(self.counts[[group]], leaving)[0]  # by the value that joins
            removed = self.deficits[group] - own
            useful = others[(removed[kind[others]] > MIN_DECREASE) & (kind[others] != leaving)]
            if not len(useful):
                continue
            pairs, inverse = np.unique(np.stack([self.group[useful], kind[useful]]), axis=1, return_inverse=True)
            after = self.counts[pairs[0]].copy()
            after[np.arange(len(after)), pairs[1]] -= 1
            after[:, leaving] += 1
            harmless = self.values.deficits(after) <= self.deficits[pairs[0]]
            useful = useful[harmless[inverse.reshape(-1)]]
            for row in rows[kind[rows] == leaving]:
                found = self._cheapest(group, int(row), useful, removed[kind[useful]])
                if found is not None and (best is None or found.score < best.score):
                    best = found
        return best

    def _after(self, counts: npt.NDArray[np.int64], leaving: int) -> npt.NDArray[np.float64]:
        """Return deficits after one value left and each value in turn joined."""
        kinds = counts.shape[1]
        changed = np.repeat(counts, kinds, axis=0)
        changed[:, leaving] -= 1
        changed[np.arange(kinds), np.arange(kinds)] += 1
        return self.values.deficits(changed)[None]

    def _cheapest(
        self, group: int, row: int, others: npt.NDArray[np.int64], removed: npt.NDArray[np.float64]
    ) -> _Exchange | None:
        if not len(others):
            return None
        sizes = self.counts.sum(axis=1)
        rest = np.full(len(others), self.rest_row[row])
        levels = np.repeat(self.rest_levels[[row]], len(others), axis=0)
        item = self.item
        own = self.ancestors.joint_levels(item[rest], item[others], levels)
        theirs = self.ancestors.joint_levels(
            item[self.rest_row[others]], np.full(len(others), item[row]), self.rest_levels[others]
        )
        rise = sizes[group] * self.ancestors.costs(item[rest], own) - self.loss[group]
        rise += sizes[self.group[others]] * self.ancestors.costs(item[self.rest_row[others]], theirs)
        rise -= self.loss[self.group[others]]
        score = rise / removed
        at = int(np.argmin(score))
        return _Exchange(float(score[at]), row, int(others[at]))

    def merge(self, group: int) -> bool:
        """Merge a group with the one that costs least per removed deficit."""
        best, partner = np.inf, -1
        rows = self.rows(group)
        for other in np.unique(self.group[self.group != group]):
            united = np.concatenate([rows, self.rows(int(other))])
            levels = self.ancestors.levels(self.item[united])
            rise = len(united) * float(self.ancestors.costs(self.item[united[:1]], levels[None])[0])
            rise -= self.loss[group] + self.loss[other]
            after = self.values.deficits((self.counts[group] + self.counts[other])[None])[0]
            removed = max(self.deficits[group] + self.deficits[other] - after, 1e-3 * self.deficits[group])
            if rise / removed < best:
                best, partner = rise / removed, int(other)
        if partner < 0:
            return False
        self.group[self.group == partner] = group
        self.update(partner)
        self.update(group)
        return True


def switch_as_printed(local: LocalProblem, pieces: Pieces) -> Switched:
    """Exchange rows between groups until all meet the models.

    Cost of an exchange: the rows of the group times the rows of the table.
    """
    groups = _Groups(local, pieces)
    failing = groups.deficits > 0
    rows = int(groups.counts[failing].sum())
    exchanged = merges = 0
    for group in range(len(failing)):
        while groups.deficits[group] > 0:
            found = groups.best_exchange(group)
            if found is not None:
                other = int(groups.group[found.incoming])
                groups.group[found.outgoing], groups.group[found.incoming] = other, group
                groups.update(other)
                groups.update(group)
                exchanged += 1
            elif groups.merge(group):
                merges += 1
            else:
                break
    return Switched(pieces_of_rows(groups.item, groups.group), exchanged, 0, merges, int(failing.sum()), rows)


def pieces_of_rows(item: npt.NDArray[np.int64], group: npt.NDArray[np.int64]) -> Pieces:
    """Return rows with their groups as pieces."""
    pairs, count = np.unique(np.stack([group, item]), axis=1, return_counts=True)
    number = np.unique(pairs[0], return_inverse=True)[1].reshape(-1)
    starts = np.searchsorted(number, np.arange(int(number.max()) + 2))
    return Pieces(pairs[1].astype(np.int64), count.astype(np.int64), starts.astype(np.int64))
