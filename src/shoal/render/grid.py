"""Tables of results, described once for all that display them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from shoal.formatting import number
from shoal.runtime.lazy_dataclass import dataclass

Tone = Literal["good", "bad", "mixed", ""]


@dataclass(frozen=True)
class Marked:
    """Cell that is good or bad news; where there are colours, it has one."""

    value: object
    tone: Tone


@dataclass(frozen=True)
class Grid:
    """Table of a result.

    Cells are texts, numbers, truth values, None, or :class:`Marked`; renderers format and escape them.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]

    def first(self, count: int) -> Grid:
        """Return the first rows; the caption says how many are left."""
        left = len(self.rows) - count
        if left <= 0:
            return self
        return replace(self, caption=f"{self.caption} (and {number(left)} more)", rows=self.rows[:count])

    def select(self, *names: str) -> Grid:
        """Return some columns, in the given order."""
        positions = [list(self.columns).index(name) for name in names]
        return replace(self, columns=names, rows=[[row[position] for position in positions] for row in self.rows])

    def insert(self, position: int, name: str, cells: Sequence[object]) -> Grid:
        """Return the grid with a further column."""
        columns = [*self.columns[:position], name, *self.columns[position:]]
        rows = [[*row[:position], cell, *row[position:]] for row, cell in zip(self.rows, cells, strict=True)]
        return replace(self, columns=columns, rows=rows)


def tone_of(cell: object) -> Tone:
    """Return whether a cell is good or bad news; a truth value is one."""
    if isinstance(cell, bool):
        return "good" if cell else "bad"
    return cell.tone if isinstance(cell, Marked) else ""


def is_number(cell: object) -> bool:
    """Return whether a cell is a number, to be aligned with others."""
    value = cell.value if isinstance(cell, Marked) else cell
    if isinstance(value, str):
        return re.fullmatch(r"((under|over) )?[+-]?[\d,.]+%?", value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def printable(text: str) -> str:
    """Replace control characters of a text, and what changes its direction."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
