"""Codes for a distributed table.

Only lists of values with their counts are collected, of the columns that need them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.io.engines.base import DistributedTable, Relation
from shoal.schema import Domain, Schema
from shoal.table.frequency_set import Dictionary, Spellings, encode_column, fold_column

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SensitiveLists:
    """The sensitive columns: their values, domains and counts."""

    spellings: tuple[Spellings, ...]
    domains: tuple[Domain, ...]
    totals: tuple[npt.NDArray[np.int64], ...]

    @property
    def dictionaries(self) -> tuple[Dictionary, ...]:
        """The values as they are counted."""
        return tuple(part.counted for part in self.spellings)

    @property
    def folded(self) -> dict[str, int]:
        """Merged spellings, as :attr:`shoal.table.FrequencySet.folded`."""
        return {part.written.name: part.folded for part in self.spellings if part.folded}

    @property
    def read_as_missing(self) -> dict[str, int]:
        """Counts as :attr:`shoal.table.FrequencySet.read_as_missing`."""
        return {part.written.name: part.read_as_missing for part in self.spellings if part.read_as_missing}

    def written(self, table: pa.Table) -> npt.NDArray[np.int32]:
        """Return the codes of a table's cells by spelling, int32 (n, s)."""
        columns = [codes_in(table, part.written, len(part.written.text)) for part in self.spellings]
        return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)

    def codes(self, table: pa.Table) -> npt.NDArray[np.int32]:
        """Return the codes of a table's rows, int32 (n, s); -1 is missing."""
        columns = [self.column(table, s) for s in range(len(self.spellings))]
        return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)

    def column(self, table: pa.Table, s: int) -> npt.NDArray[np.int32]:
        """Return the codes of one sensitive column, int32 (n,); -1 is missing."""
        part = self.spellings[s]
        # the last position stands for missing values, whether or not this table has any
        last = np.int32(-1 if self.domains[s].size == len(part.counted.text) else len(part.counted.text))
        value = np.append(part.value[: len(part.written.text)], last)
        return value[codes_in(table, part.written, len(part.written.text))]


def list_sensitive(counted: DistributedTable, table: Relation, schema: Schema) -> SensitiveLists:
    """Collect the values of the sensitive columns."""
    spellings, domains, totals = [], [], []
    for name in schema.sensitive:
        written, count = list_values(counted, name, table.positions((name,))[0])
        part = fold_column(written, np.zeros(0, np.int32), schema.columns[name])
        domain = schema.domain(name, part.counted.text)
        known = part.value >= 0
        totals.append(np.bincount(part.value[known], weights=count[known], minlength=domain.size).astype(np.int64))
        spellings.append(part)
        domains.append(domain)
    return SensitiveLists(tuple(spellings), tuple(domains), tuple(totals))


def list_values(counted: DistributedTable, name: str, position: int) -> tuple[Dictionary, npt.NDArray[np.int64]]:
    """Return the dictionary of a column, and the number of rows of each code."""
    values = counted.values(position)
    dictionary, codes = encode_column(values.column(f"c{position}"), name, position)
    count = np.zeros(dictionary.size, np.int64)
    count[codes] = np.asarray(values.column("n").to_numpy(), np.int64)
    return dictionary, count


def codes_in(table: pa.Table, dictionary: Dictionary, missing: int) -> npt.NDArray[np.int32]:
    """Return the codes of a column's cells in a dictionary, int32 (n,)."""
    import pyarrow.compute as pc

    column = table.column(f"c{dictionary.position}").combine_chunks().cast(dictionary.values.type)
    found = pc.index_in(column, value_set=dictionary.values)
    return np.asarray(found.fill_null(missing).to_numpy(zero_copy_only=False), np.int32)
