"""Base class of engines that run SQL.

A subclass defines how it runs a statement; the statements are shared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import pyarrow as pa

from shoal.io.engines import sql
from shoal.io.engines.base import Relation


class SqlEngine(ABC):
    """The operations of an engine that are one SQL statement each.

    See :class:`shoal.io.engines.base.Engine`.

    Attributes
    ----------
    text_type, hash_function
        The dialect's names of the text type and of a hash function.
    copies
        The expression that makes n rows of one, where n is a column.
    """

    text_type: ClassVar[str]
    hash_function: ClassVar[str]
    copies: ClassVar[str]

    @abstractmethod
    def close(self) -> None:
        """Release the data."""

    @staticmethod
    @abstractmethod
    def quote(text: str) -> str:
        """Return a text literal of the dialect."""

    def plain_file(self, path: Path) -> Path:
        """Return the file of a source's content, without compression."""
        return path

    @abstractmethod
    def _view(self, query: str, columns: tuple[str, ...]) -> Relation:
        """Make a view of a query, with the user's names of its first columns."""

    @abstractmethod
    def _send(self, table: pa.Table) -> str:
        """Register an Arrow table for joins; return its SQL name."""

    def _send_all(self, tables: Sequence[pa.Table]) -> list[str]:
        """Register several tables; return the expression for each in a query."""
        return [self._send(table) for table in tables]

    @abstractmethod
    def _answers(self, query: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a small result."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def without_signed_zeros(self, table: Relation, positions: Sequence[int]) -> Relation:
        """Return the table with 0.0 for -0.0 in some floating-point columns."""
        cells = {position: sql.positive_zero(position) for position in positions}
        return self._view(sql.replaced(table.name, len(table.columns), cells), table.columns)

    def signed_zeros(self, table: Relation, positions: Sequence[int]) -> list[int]:
        """Return which of some floating-point columns contain -0.0."""
        (found,) = self._answers(sql.signed_zeros(table.name, positions, self.text_type))
        return [position for position in positions if found[sql.column(position)]]

    def as_text(self, table: Relation, positions: Sequence[int]) -> Relation:
        """Return the table with some columns converted to text."""
        cells = {position: f"CAST({sql.column(position)} AS {self.text_type})" for position in positions}
        return self._view(sql.replaced(table.name, len(table.columns), cells), table.columns)

    def count_distinct(self, table: Relation, positions: Sequence[int]) -> list[tuple[int, int]]:
        """Count the non-missing cells and the distinct values of some columns."""
        (found,) = self._answers(sql.count_distinct(table.name, positions))
        return [(int(found[f"n{position}"]), int(found[f"d{position}"])) for position in positions]

    def linking_columns(self, table: Relation, owner: int, positions: Sequence[int]) -> tuple[int, list[int]]:
        """Count owners of several rows, and per column those with varying values."""
        (found,) = self._answers(sql.varying(table.name, owner, positions, self.hash_function))
        return int(found["n"]), [int(found[f"d{position}"] or 0) for position in positions]

    def count_unique_owners(self, table: Relation, owner: int, positions: Sequence[int]) -> int:
        """Count owners of several rows with values that no other owner has."""
        (found,) = self._answers(sql.count_unique_owners(table.name, owner, positions))
        return int(found["n"])

    def project(self, table: Relation, positions: Sequence[int]) -> Relation:
        """Return the table with some of its columns."""
        query = sql.projected(table.name, positions, hidden=bool(table.ranked))
        ordered = table.ordered and tuple(positions) == tuple(
            range(len(positions))
        )  # the last columns have the least weight in the order
        ranked = [position for position in table.ranked if position in positions]
        return replace(self._column_view(query, table, positions, ranked), ordered=ordered)

    def duplicate(self, table: Relation, positions: Sequence[int], names: Sequence[str]) -> Relation:
        """Return the table with copies of some columns, under new names."""
        every = (*range(len(table.columns)), *positions)
        query = sql.projected(table.name, every, hidden=False)
        return replace(self._view(query, (*table.columns, *names)), named=table.named)

    def relabel(self, table: Relation, position: int, labels: pa.Table) -> Relation:
        """Replace the values of one column by labels (v, label)."""
        positions = range(len(table.columns))
        query = sql.relabelled(table.name, len(positions), position, self._send(labels), hidden=bool(table.ranked))
        return self._column_view(query, table, positions, table.ranked)

    def recode_by_level(
        self,
        table: Relation,
        keep: Sequence[int],
        maps: Mapping[int, pa.Table],
        constants: Mapping[int, str],
        suppressed: pa.Table | None,
    ) -> Relation:
        """Replace values by labels per column, and drop suppressed combinations."""
        named = dict(zip(maps, self._send_all(list(maps.values())), strict=True))
        ranked = [position for position, part in maps.items() if "rank" in part.column_names]
        left_out = None
        if suppressed is not None:
            left_out = (self._send(suppressed), sql.positions(suppressed.column_names))
        query = sql.recode_by_level(table.name, keep, named, ranked, constants, left_out, self.quote)
        return self._recoded_view(query, table, keep, ranked)

    def recode_by_group(self, table: Relation, keep: Sequence[int], assignment: pa.Table, labels: pa.Table) -> Relation:
        """Replace values by the labels of each row's group."""
        key = sql.positions(assignment.column_names)
        recoded = sql.positions(labels.column_names)
        query = sql.recode_by_group(
            table.name, keep, key, self._send(assignment), self._send(labels), recoded,
            split="low" in assignment.column_names,
        )  # fmt: skip
        return self._recoded_view(query, table, keep, recoded)

    def _repeated(self, table: Relation, keep: Sequence[int], rows: pa.Table, constants: Mapping[int, str]) -> Relation:
        """Make a view of rows, each repeated n times."""
        numbered = rows.append_column("k", pa.array(range(rows.num_rows), pa.int64()))
        query = sql.repeated(self._send(numbered), keep, constants, self.copies, self.quote)
        return self._recoded_view(query, table, keep, keep)

    def _recoded_view(self, query: str, table: Relation, keep: Sequence[int], ranked: Sequence[int]) -> Relation:
        """Make a view of a recoded table."""
        return self._column_view(sql.renumbered(query, keep), table, keep, ranked)

    def _column_view(self, query: str, table: Relation, positions: Sequence[int], ranked: Sequence[int]) -> Relation:
        """Make a view with some columns of a table, renumbered.

        The ``ranked`` ones are ordered by the hidden column k.
        """
        view = self._view(query, tuple(table.columns[position] for position in positions))
        own = tuple(positions.index(position) for position in ranked)
        return replace(view, types=view.types[: len(positions)], ranked=own, named=table.named)
