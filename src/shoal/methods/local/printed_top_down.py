"""Local recoding of the (p, α) paper as printed, for small tables.

Section 5.2 of Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity models for privacy preserving data
publishing", 2008. A group is specialized along one column; children that fail give their rows back to the parent; where
these rows fail, rows are moved back from children that stay valid without them. Rows at the parent are final (line 13
of the listing): they are not specialized along another column. The paper explains one column and does not say which one
comes next if there are several: here it is the column of least remaining loss. A specialization that leaves no valid
child, or rows at the parent that cannot be completed, is not made.

:mod:`shoal.methods.local.kernels.specialization` is the method that shoal prefers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.methods.local.printed_switching import Ancestors, SensitiveCounts, pieces_of_rows
from shoal.methods.local.problem import LocalProblem, Pieces
from shoal.methods.time_limits import is_late

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Specialization:
    """The children that remain valid, and the rows at the parent."""

    loss: float
    children: list[Rows]
    parent: Rows


class _Table:
    """Rows as numbers of items, with deficits and losses of groups."""

    def __init__(self, local: LocalProblem) -> None:
        self.item = np.repeat(np.arange(len(local.count)), local.count)
        self.values, self.ancestors = SensitiveCounts(local), Ancestors(local)
        self.kind = self.values.kind[self.item]

    def loss(self, rows: Rows) -> float:
        """Return the loss of a group."""
        if not len(rows):
            return 0.0
        levels = self.ancestors.levels(self.item[rows])
        return len(rows) * float(self.ancestors.costs(self.item[rows[:1]], levels[None])[0])

    def specialize(self, rows: Rows, column: int) -> _Specialization | None:
        """Send rows one level down in a column; None where that is not possible."""
        level = int(self.ancestors.levels(self.item[rows])[column])
        if level == 0:
            return None
        nodes = self.ancestors.nodes[self.item[rows], column, level - 1]
        children = [rows[nodes == node] for node in np.unique(nodes)]
        deficits = self.values.deficits(np.stack([self.values.count(self.item[child]) for child in children]))
        good = [child for child, deficit in zip(children, deficits, strict=True) if deficit <= 0]
        back = [child for child, deficit in zip(children, deficits, strict=True) if deficit > 0]
        if not good:
            return None
        parent = np.concatenate(back) if back else rows[:0]
        moved = self.complete(good, parent)
        if moved is None:
            return None
        good, parent = moved
        return _Specialization(sum(map(self.loss, good)) + self.loss(parent), good, parent)

    def complete(self, children: list[Rows], parent: Rows) -> tuple[list[Rows], Rows] | None:
        """Move rows of valid children to the parent until it is valid.

        The row that brings the parent nearest to the models goes first, and of equal ones that of the largest child.
        """
        counts = np.stack([self.values.count(self.item[child]) for child in children])
        own = self.values.count(self.item[parent])
        kinds = counts.shape[1]
        unit = np.eye(kinds, dtype=np.int64)
        children = list(children)
        while len(parent) and (deficit := self.values.deficits(own[None])[0]) > 0:
            after = self.values.deficits(own[None] + unit)
            lender, kind = np.nonzero(counts)
            valid = self.values.deficits(counts[lender] - unit[kind]) <= 0
            lender, kind = lender[valid], kind[valid]
            if not len(lender) or after[kind].min() >= deficit:
                return None
            best = np.lexsort((lender, -counts[lender].sum(axis=1), after[kind]))[0]
            child, value = int(lender[best]), int(kind[best])
            row = children[child][np.flatnonzero(self.kind[children[child]] == value)[0]]
            children[child] = children[child][children[child] != row]
            parent = np.append(parent, row)
            counts[child, value] -= 1
            own[value] += 1
        return children, parent


def cut_as_printed(local: LocalProblem, deadline: float | None = None) -> Pieces:
    """Specialize all rows from the top down.

    Groups are valid at any time: at a ``deadline`` the current ones are returned. Cost: for each group, the columns
    times its rows.
    """
    table = _Table(local)
    group = np.zeros(len(table.item), np.int64)
    pending, final = [np.arange(len(table.item))], 0
    while pending:
        rows = pending.pop()
        columns = 0 if is_late(deadline) else table.ancestors.nodes.shape[1]
        options = [table.specialize(rows, column) for column in range(columns)]
        made = min((option for option in options if option), key=lambda option: option.loss, default=None)
        if made is None:
            group[rows] = final
            final += 1
            continue
        pending += made.children
        if len(made.parent):
            group[made.parent] = final
            final += 1
    return pieces_of_rows(table.item, group)
