"""Linked tables as codes: the facts of people, with levels of each column.

Rows of all child tables are numbered in one sequence, table by table, parents before children. The label of a row is
made of the codes of its quasi-identifiers at their levels, and the label of its parent row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.schema import Ladder
from shoal.table.groups import number_rows

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Levels = tuple[tuple[int, ...], ...]
"""Levels of the quasi-identifiers, by table."""


@dataclass(frozen=True)
class CodedChild:
    """A child table, row by row.

    Attributes
    ----------
    parent
        The position of its parent among the child tables; -1 for the root.
    parent_row, person
        int64 (rows,): the row of the parent table, and the person.
    codes, ladders
        The codes of each quasi-identifier, and its levels.
    """

    name: str
    parent: int
    parent_row: Whole
    person: Whole
    codes: tuple[npt.NDArray[np.int32], ...]
    ladders: tuple[Ladder, ...]
    weight: float = 1.0

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.person)

    @cached_property
    def costs(self) -> tuple[npt.NDArray[np.float64], ...]:
        """The mean loss of each quasi-identifier's values, by level.

        The loss of a value is the share of its domain that the label covers, scaled so that a single value loses
        nothing.
        """
        found = []
        for codes, ladder in zip(self.codes, self.ladders, strict=True):
            count = np.bincount(codes, minlength=ladder.size(0))
            least = float(ladder.share[0].min())
            covered = np.asarray(
                [count @ ladder.share[level][ladder.codes[level]] for level in range(ladder.height + 1)]
            )
            scale = (covered / max(self.rows, 1) - least) / (1 - least) if least < 1 else np.zeros(len(covered))
            found.append(np.clip(scale, 0, 1))
        return tuple(found)


@dataclass(frozen=True)
class CodedTables:
    """The child tables of linked tables, parents first, and the people."""

    people: int
    tables: tuple[CodedChild, ...]

    @cached_property
    def start(self) -> Whole:
        """The first row of each table in the sequence of all."""
        return np.concatenate([[0], np.cumsum([table.rows for table in self.tables])]).astype(np.int64)

    @cached_property
    def person(self) -> Whole:
        """The person of each row."""
        parts = [table.person for table in self.tables]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    @cached_property
    def parent(self) -> Whole:
        """The parent of each row in the sequence of all; -1 for the root."""
        parts = [
            np.full(table.rows, -1, np.int64) if table.parent < 0 else self.start[table.parent] + table.parent_row
            for table in self.tables
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    @cached_property
    def always_with(self) -> tuple[tuple[int, int], ...]:
        """Pairs of tables such that every row of the first has one of the second."""
        return tuple(
            (table.parent, number)
            for number, table in enumerate(self.tables)
            if table.parent >= 0 and len(np.unique(table.parent_row)) == self.tables[table.parent].rows
        )

    @property
    def top(self) -> Levels:
        """The coarsest levels."""
        return tuple(tuple(ladder.height for ladder in table.ladders) for table in self.tables)

    def labels(self, levels: Levels) -> Whole:
        """Return the label of each row; those of two tables differ."""
        found: list[Whole] = []
        used = 0
        for table, chosen in zip(self.tables, levels, strict=True):
            parts = [
                ladder.codes[level][codes].astype(np.int64)
                for codes, ladder, level in zip(table.codes, table.ladders, chosen, strict=True)
            ]
            if table.parent >= 0:
                above = found[table.parent]
                parts.append(above[table.parent_row] - above.min(initial=0))
            own = number_rows(parts, table.rows)
            found.append(own + used)
            used += int(own.max(initial=-1)) + 1
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def close(self, alive: Flags) -> Flags:
        """Return the rows that remain if some are left out, with what follows.

        The children of a row go with it. A row that has lost its last child goes too, if every row of its table had
        one: else the gap would tell.
        """
        alive = alive.copy()
        while True:
            before = int(alive.sum())
            for number, table in enumerate(self.tables):
                if table.parent >= 0:
                    own = slice(self.start[number], self.start[number + 1])
                    alive[own] &= alive[self.parent[own]]
            for parent, child in self.always_with:
                own = slice(self.start[child], self.start[child + 1])
                remaining = np.zeros(self.tables[parent].rows, np.bool_)
                remaining[self.tables[child].parent_row[alive[own]]] = True
                alive[self.start[parent] : self.start[parent + 1]] &= remaining
            if int(alive.sum()) == before:
                return alive

    def select(self, people: Sequence[int] | Whole) -> CodedTables:
        """Return the tables of some people, numbered in this order."""
        chosen = np.asarray(people, np.int64)
        number = np.full(self.people, -1, np.int64)
        number[chosen] = np.arange(len(chosen))
        made: list[CodedChild] = []
        position: list[Whole] = []
        for table in self.tables:
            rows = np.flatnonzero(number[table.person] >= 0)
            index = np.full(table.rows, -1, np.int64)
            index[rows] = np.arange(len(rows))
            position.append(index)
            above = (
                number[table.parent_row[rows]] if table.parent < 0 else position[table.parent][table.parent_row[rows]]
            )
            codes = tuple(one[rows] for one in table.codes)
            made.append(
                CodedChild(
                    table.name, table.parent, above, number[table.person[rows]], codes, table.ladders, table.weight
                )
            )
        return CodedTables(len(chosen), tuple(made))
