"""Codes for a table that no one machine holds: lists of values, with their counts, of the columns that need one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.encoding.frequency import Dictionary, encode_column
from shoal.engines.base import Apart, Relation
from shoal.schema import Domain, Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SensitiveLists", "codes_in", "list_sensitive", "list_values"]


@dataclass(frozen=True)
class SensitiveLists:
    """The sensitive columns: their values, what models know of them, and how often each occurs."""

    dictionaries: tuple[Dictionary, ...]
    domains: tuple[Domain, ...]
    totals: tuple[npt.NDArray[np.int64], ...]

    def codes(self, table: pa.Table) -> npt.NDArray[np.int32]:
        """The codes of a table's rows, int32 (n, s); -1 is missing."""
        columns = [codes_in(table, dictionary, -1) for dictionary in self.dictionaries]
        return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)


def list_sensitive(counted: Apart, table: Relation, schema: Schema) -> SensitiveLists:
    """Bring the values of the sensitive columns here."""
    found = [list_values(counted, name, table.places((name,))[0]) for name in schema.sensitive]
    dictionaries = tuple(dictionary for dictionary, _ in found)
    domains = tuple(schema.domain(dictionary.name, dictionary.text) for dictionary in dictionaries)
    totals = tuple(count[: len(dictionary.text)] for dictionary, count in found)
    return SensitiveLists(dictionaries, domains, totals)


def list_values(counted: Apart, name: str, place: int) -> tuple[Dictionary, npt.NDArray[np.int64]]:
    """The dictionary of a column, and how many rows have each code."""
    values = counted.values(place)
    dictionary, codes = encode_column(values.column(f"c{place}"), name, place)
    count = np.zeros(dictionary.size, np.int64)
    count[codes] = np.asarray(values.column("n").to_numpy(), np.int64)
    return dictionary, count


def codes_in(table: pa.Table, dictionary: Dictionary, missing: int) -> npt.NDArray[np.int32]:
    """The codes of a column's cells in a dictionary, int32 (n,)."""
    import pyarrow.compute as pc

    column = table.column(f"c{dictionary.place}").combine_chunks().cast(dictionary.values.type)
    found = pc.index_in(column, value_set=dictionary.values)
    return np.asarray(found.fill_null(missing).to_numpy(zero_copy_only=False), np.int32)
