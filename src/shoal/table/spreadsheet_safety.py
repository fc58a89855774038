"""Protection against formula injection: an apostrophe makes a cell text.

A cell counts as a formula if it begins with =, +, -, @, a tab or a carriage return and is not a plain number. A cell
that already has apostrophes before such a character gets one more, so that the originals can be recovered, and the
release can be verified by undoing the change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shoal.io.engines.base import Engine, Relation

if TYPE_CHECKING:
    import pyarrow as pa

_FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def neutralize_text(text: str) -> str:
    """Return a cell that no spreadsheet evaluates.

    >>> neutralize_text("=cmd()"), neutralize_text("-5"), neutralize_text("'=x"), neutralize_text("'s Gravenhage")
    ("'=cmd()", '-5', "''=x", "'s Gravenhage")
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


@dataclass(frozen=True)
class NeutralizedTable:
    """A table with neutralized cells and names, and their originals.

    Attributes
    ----------
    undo
        For every column that changed, a table (v, label) of changed values and the originals.
    """

    table: Relation
    columns: tuple[str, ...]
    undo: Mapping[int, pa.Table]

    def restore(self, engine: Engine, written: Relation) -> Relation:
        """Restore the original names and values of a table written from this one."""
        if self.undo:
            written = engine.recode_by_level(written, range(len(written.columns)), self.undo, {}, None)
        return replace(written, columns=self.columns)


def neutralize(engine: Engine, table: Relation) -> NeutralizedTable:
    """Neutralize the text cells and names of a table.

    Costs one count of each column.
    """
    import pyarrow as pa

    maps, undo = {}, {}
    for position in range(len(table.columns)):
        values = engine.frequencies(table, (position,)).column(f"c{position}").combine_chunks()
        if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
            continue
        before = values.to_pylist()
        after = [None if value is None else neutralize_text(value) for value in before]
        if after != before:
            maps[position] = pa.table({"v": values, "label": pa.array(after, pa.string())})
            undo[position] = pa.table({"v": pa.array(after, values.type), "label": pa.array(before, pa.string())})
    recoded = table
    if maps:
        recoded = engine.recode_by_level(table, range(len(table.columns)), maps, {}, None)
    return NeutralizedTable(replace(recoded, columns=tuple(map(neutralize_text, table.columns))), table.columns, undo)
