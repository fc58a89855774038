"""What an engine must do: read a table, count combinations, recode rows, write the result.

An engine holds tables of any size and never decides anything. It exchanges small things with the rest of
shoal as Arrow tables whose columns are named c0, c1, ... by their place in the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shoal.engines.csv_format import CsvFormat

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Engine", "Relation", "Source"]


@dataclass(frozen=True)
class Source:
    """Where a table comes from: a path (CSV or Parquet) or an object in memory."""

    path: Path | None = None
    frame: Any = None
    csv: CsvFormat = field(default_factory=CsvFormat)
    format: str | None = None


@dataclass(frozen=True)
class Relation:
    """A table inside an engine.

    Attributes
    ----------
    name
        Its SQL name; column i is called c<i> in SQL.
    columns, types
        The user's column names, and the engine's types.
    ranked
        Columns whose content is ordered by a further, hidden column k; sorting by a number is quicker than by text.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    ranked: tuple[int, ...] = ()

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """The places of some columns."""
        return tuple(self.columns.index(name) for name in names)


class Engine(Protocol):
    """The boundary to DuckDB and Spark."""

    def read(self, source: Source) -> Relation:
        """Make a source readable; nothing is loaded yet."""
        ...

    def frequencies(self, table: Relation, places: Sequence[int]) -> pa.Table:
        """Distinct combinations of columns (c<i>, native types) with their count (n)."""
        ...

    def rows_holding(self, table: Relation, place: int, texts: Sequence[str], most: int) -> list[int]:
        """Numbers (from 1) of the first rows whose value, as text, is one of ``texts``."""
        ...

    def recode_by_level(
        self,
        table: Relation,
        keep: Sequence[int],
        maps: Mapping[int, pa.Table],
        constants: Mapping[int, str],
        suppressed: pa.Table | None,
    ) -> Relation:
        """Replace values by labels column by column, and leave suppressed combinations out.

        ``maps`` gives for a column a table (v, label) of values and their labels, with a third column ``rank`` where
        the sum of ranks over columns orders what is published.
        """
        ...

    def recode_by_group(self, table: Relation, keep: Sequence[int], assignment: pa.Table, labels: pa.Table) -> Relation:
        """Replace values by the labels of each row's group; rows without a group are left out.

        ``labels`` has a row per group g: its labels, and a number ``rank`` that orders what groups show.
        """
        ...

    def write(self, table: Relation, path: Path) -> None:
        """Write a table in content order, as CSV or Parquet by the path's extension."""
        ...

    def to_arrow(self, table: Relation) -> pa.Table:
        """The whole table in content order, with the user's column names."""
        ...
