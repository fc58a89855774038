"""Codes for a table that no one machine holds: lists of values, with their counts, of the columns that need one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.io.engines.base import Relation, Spread
from shoal.schema import Domain, Schema
from shoal.table.frequency_set import Dictionary, Spellings, encode_column, fold_column

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SensitiveLists", "codes_in", "list_sensitive", "list_values"]


@dataclass(frozen=True)
class SensitiveLists:
    """The sensitive columns: their values, what models know of them, and how often each occurs."""

    spellings: tuple[Spellings, ...]
    domains: tuple[Domain, ...]
    totals: tuple[npt.NDArray[np.int64], ...]

    @property
    def dictionaries(self) -> tuple[Dictionary, ...]:
        """The values as they are counted."""
        return tuple(part.counted for part in self.spellings)

    @property
    def folded(self) -> dict[str, int]:
        """As :attr:`shoal.table.FrequencySet.folded`."""
        return {part.written.name: part.folded for part in self.spellings if part.folded}

    def written(self, table: pa.Table) -> npt.NDArray[np.int32]:
        """The codes of a table's cells by how they are written, int32 (n, s)."""
        columns = [codes_in(table, part.written, len(part.written.text)) for part in self.spellings]
        return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)

    def codes(self, table: pa.Table) -> npt.NDArray[np.int32]:
        """The codes of a table's rows, int32 (n, s); -1 is missing."""
        columns = [self.column(table, s) for s in range(len(self.spellings))]
        return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)

    def column(self, table: pa.Table, s: int) -> npt.NDArray[np.int32]:
        """The codes of one sensitive column's cells, int32 (n,); -1 is missing."""
        part = self.spellings[s]
        # the last place stands for what is missing, whether or not the table at hand has any
        value = np.append(part.value[: len(part.written.text)], np.int32(-1))
        return value[codes_in(table, part.written, len(part.written.text))]


def list_sensitive(counted: Spread, table: Relation, schema: Schema) -> SensitiveLists:
    """Bring the values of the sensitive columns here."""
    spellings, totals = [], []
    for name in schema.sensitive:
        written, count = list_values(counted, name, table.places((name,))[0])
        part = fold_column(written, np.zeros(0, np.int32), schema.columns[name].key)
        known = part.value >= 0
        size = len(part.counted.text)
        totals.append(np.bincount(part.value[known], weights=count[known], minlength=size).astype(np.int64))
        spellings.append(part)
    domains = tuple(schema.domain(part.counted.name, part.counted.text) for part in spellings)
    return SensitiveLists(tuple(spellings), domains, tuple(totals))


def list_values(counted: Spread, name: str, place: int) -> tuple[Dictionary, npt.NDArray[np.int64]]:
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
