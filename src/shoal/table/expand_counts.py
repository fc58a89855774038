"""Rows of a release that follow from the counted combinations.

If every published column is a quasi-identifier or sensitive, rows that are equal in these are equal in all, and the
table need not be read again. So each distinct released row is sorted once, and then repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.io.engines.base import Engine, Relation
from shoal.runtime.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

EXACT_TYPES = (
    "VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "DATE",
)  # fmt: skip
"""Types whose equal values are identical in a release, and that Arrow preserves."""
FLOAT_TYPES = ("FLOAT", "DOUBLE")
"""Types with two equal zeros that are written differently; quasi-identifiers have one of them."""


@dataclass(frozen=True)
class PublishedColumn:
    """The published values of one column: a code for each entry.

    ``ranked`` if the entries' keys order the column, ``own`` if the values are those of the table itself.
    """

    position: int
    codes: npt.NDArray[np.integer[Any]]
    values: pa.Array
    ranked: bool = False
    own: bool = False

    def order(self) -> npt.NDArray[np.int64]:
        """Return the rank of each entry's value.

        Missing comes first, then numbers by size, text by code point.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_string(self.values.type) or pa.types.is_large_string(self.values.type):
            rank = np.array(pc.rank(self.values, "ascending", tiebreaker="dense"), np.int64)
            rank[self.values.is_null().to_numpy(zero_copy_only=False)] = 0
            found: npt.NDArray[np.int64] = rank[self.codes]
            return found
        # the values of a dictionary are sorted, and missing is the last
        return (self.codes + np.int64(1)) % len(self.values) if self.values.null_count else self.codes.astype(np.int64)


@dataclass(frozen=True)
class ConstantColumn:
    """A column with the same label in every row."""

    position: int
    label: str


def repeat_entries(
    engine: Engine,
    table: Relation,
    columns: Sequence[PublishedColumn | ConstantColumn],
    key: npt.NDArray[np.int64],
    count: npt.NDArray[np.int64],
) -> Relation | None:
    """Expand entries to ``count`` rows each, sorted by key and other columns.

    The other columns are those that the key does not order. Return None if the engine should recode its rows instead.
    """
    import pyarrow as pa

    if not len(count):
        return None
    published = [column for column in columns if isinstance(column, PublishedColumn)]
    keys = [key, *(column.order() for column in published if not column.ranked)]
    order = np.lexsort(keys[::-1])
    is_first = np.zeros(len(order), np.bool_)
    is_first[0] = True
    for part in keys:
        is_first[1:] |= part[order[1:]] != part[order[:-1]]
    first = np.flatnonzero(is_first)
    rows: dict[str, pa.Array] = {"n": pa.array(np.add.reduceat(count[order], first))}
    for column in published:
        rows[f"c{column.position}"] = column.values.take(pa.array(column.codes[order[first]]))
    constants = {column.position: column.label for column in columns if isinstance(column, ConstantColumn)}
    own = [column.position for column in published if column.own]
    return engine.repeat(table, [column.position for column in columns], pa.table(rows), constants, own)
