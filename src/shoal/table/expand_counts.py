"""A release of nothing but counted columns: its rows are known from the combinations, and need not be read again.

Where every published column is a quasi-identifier or sensitive, rows that are alike in these are alike in all. So the
released rows are sorted once each, however often they stand in the table, and then repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.io.engines.base import Engine, Relation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EXACT", "FLOATING", "Constant", "Shown", "repeat_entries"]

EXACT = (
    "VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "DATE",
)  # fmt: skip
"""Types of which equal values are the same in a release, and which come back from Arrow as they were."""
FLOATING = ("FLOAT", "DOUBLE")
"""Of these two zeros are equal, which are written differently; quasi-identifiers have one of them."""


@dataclass(frozen=True)
class Shown:
    """What one column publishes: of each entry, its value by code.

    ``ranked`` where the entries' keys order it, ``own`` where the values are those of the table itself.
    """

    place: int
    codes: npt.NDArray[np.integer[Any]]
    values: pa.Array
    ranked: bool = False
    own: bool = False

    def order(self) -> npt.NDArray[np.int64]:
        """Where the value of each entry stands among the others: missing first, numbers by size, text by code point."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_string(self.values.type) or pa.types.is_large_string(self.values.type):
            rank = np.array(pc.rank(self.values, "ascending", tiebreaker="dense"), np.int64)
            rank[self.values.is_null().to_numpy(zero_copy_only=False)] = 0
            found: npt.NDArray[np.int64] = rank[self.codes]
            return found
        # the values of a dictionary are sorted, and what is missing is the last
        return (self.codes + np.int64(1)) % len(self.values) if self.values.null_count else self.codes.astype(np.int64)


@dataclass(frozen=True)
class Constant:
    """A column that shows the same in every row."""

    place: int
    label: str


def repeat_entries(
    engine: Engine,
    table: Relation,
    columns: Sequence[Shown | Constant],
    key: npt.NDArray[np.int64],
    count: npt.NDArray[np.int64],
) -> Relation | None:
    """Entries that stand for ``count`` rows each, sorted by a key and then by the columns that it does not order.

    None where the engine had better recode its rows.
    """
    import pyarrow as pa

    if not len(count):
        return None
    shown = [column for column in columns if isinstance(column, Shown)]
    keys = [key, *(column.order() for column in shown if not column.ranked)]
    order = np.lexsort(keys[::-1])
    differs = np.zeros(len(order), np.bool_)
    differs[0] = True
    for part in keys:
        differs[1:] |= part[order[1:]] != part[order[:-1]]
    first = np.flatnonzero(differs)
    rows: dict[str, pa.Array] = {"n": pa.array(np.add.reduceat(count[order], first))}
    for column in shown:
        rows[f"c{column.place}"] = column.values.take(pa.array(column.codes[order[first]]))
    constants = {column.place: column.label for column in columns if isinstance(column, Constant)}
    own = [column.place for column in shown if column.own]
    return engine.repeat(table, [column.place for column in columns], pa.table(rows), constants, own)
