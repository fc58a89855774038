"""Cells that a spreadsheet would run: an apostrophe in front makes them text.

A cell is taken for a formula where it begins with =, +, -, @, a tab or a carriage return and is no plain number. What
already has apostrophes before such a sign gets one more, so that the originals can be told from what was changed, and
the release can be verified by undoing it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shoal.io.engines.base import Engine, Relation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Neutral", "neutral", "neutralize"]

_FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def neutral(text: str) -> str:
    """A cell that no spreadsheet runs.

    >>> neutral("=cmd()"), neutral("-5"), neutral("'=x"), neutral("'s Gravenhage")
    ("'=cmd()", '-5', "''=x", "'s Gravenhage")
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


@dataclass(frozen=True)
class Neutral:
    """A table whose cells and names are harmless, and how they were before.

    Attributes
    ----------
    undo
        For every column that changed, a table (v, label) of changed values and the originals.
    """

    table: Relation
    columns: tuple[str, ...]
    undo: Mapping[int, pa.Table]

    def restore(self, engine: Engine, written: Relation) -> Relation:
        """A table that was written from this one, with its original names and values."""
        if self.undo:
            written = engine.recode_by_level(written, range(len(written.columns)), self.undo, {}, None)
        return replace(written, columns=self.columns)


def neutralize(engine: Engine, table: Relation) -> Neutral:
    """Make the text cells and names of a table harmless. Costs one count of each column."""
    import pyarrow as pa

    maps, undo = {}, {}
    for place in range(len(table.columns)):
        values = engine.frequencies(table, (place,)).column(f"c{place}").combine_chunks()
        if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
            continue
        before = values.to_pylist()
        after = [None if value is None else neutral(value) for value in before]
        if after != before:
            maps[place] = pa.table({"v": values, "label": pa.array(after, pa.string())})
            undo[place] = pa.table({"v": pa.array(after, values.type), "label": pa.array(before, pa.string())})
    made = table
    if maps:
        made = engine.recode_by_level(table, range(len(table.columns)), maps, {}, None)
    return Neutral(replace(made, columns=tuple(map(neutral, table.columns))), table.columns, undo)
