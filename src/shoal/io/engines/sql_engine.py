"""What every engine that understands SQL does alike: it says how it runs a statement, and the statements are these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, ClassVar, Self

import pyarrow as pa

from shoal.io.engines import sql
from shoal.io.engines.base import Relation

__all__ = ["SqlEngine"]


class SqlEngine(ABC):
    """The steps of :class:`shoal.io.engines.base.Engine` that are one statement each.

    Attributes
    ----------
    text_type, hash_function
        What the dialect calls text and a hash of values.
    copies
        What makes n rows of one, where n is a column.
    """

    text_type: ClassVar[str]
    hash_function: ClassVar[str]
    copies: ClassVar[str]

    @abstractmethod
    def close(self) -> None:
        """Let go of the data."""

    @staticmethod
    @abstractmethod
    def quote(text: str) -> str:
        """A text as the dialect writes it."""

    @abstractmethod
    def _view(self, query: str, columns: tuple[str, ...]) -> Relation:
        """What a query gives, under the user's names of its first columns."""

    @abstractmethod
    def _send(self, table: pa.Table) -> str:
        """The SQL name of something that was made here, for joins."""

    def _send_all(self, tables: Sequence[pa.Table]) -> list[str]:
        """Several of them, each as what stands for it in a query."""
        return [self._send(table) for table in tables]

    @abstractmethod
    def _answers(self, query: str) -> Sequence[Mapping[str, Any]]:
        """The rows of a small answer."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def without_signed_zeros(self, table: Relation, places: Sequence[int]) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`."""
        cells = {place: sql.positive_zero(place) for place in places}
        return self._view(sql.replaced(table.name, len(table.columns), cells), table.columns)

    def signed_zeros(self, table: Relation, places: Sequence[int]) -> list[int]:
        """See :class:`shoal.io.engines.base.Engine`."""
        (found,) = self._answers(sql.signed_zeros(table.name, places, self.text_type))
        return [place for place in places if found[sql.column(place)]]

    def as_text(self, table: Relation, places: Sequence[int]) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`."""
        cells = {place: f"CAST({sql.column(place)} AS {self.text_type})" for place in places}
        return self._view(sql.replaced(table.name, len(table.columns), cells), table.columns)

    def repeats(self, table: Relation, places: Sequence[int]) -> list[tuple[int, int]]:
        """See :class:`shoal.io.engines.base.Engine`."""
        (found,) = self._answers(sql.repeats(table.name, places))
        return [(int(found[f"n{place}"]), int(found[f"d{place}"])) for place in places]

    def linking(self, table: Relation, owner: int, places: Sequence[int]) -> tuple[int, list[int]]:
        """See :class:`shoal.io.engines.base.Engine`."""
        (found,) = self._answers(sql.varying(table.name, owner, places, self.hash_function))
        return int(found["n"]), [int(found[f"d{place}"] or 0) for place in places]

    def told_apart(self, table: Relation, owner: int, places: Sequence[int]) -> int:
        """See :class:`shoal.io.engines.base.Engine`."""
        (found,) = self._answers(sql.told_apart(table.name, owner, places))
        return int(found["n"])

    def project(self, table: Relation, places: Sequence[int]) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`."""
        query = sql.projected(table.name, places, hidden=bool(table.ranked))
        ordered = table.ordered and tuple(places) == tuple(range(len(places)))  # the last columns order the least
        ranked = [place for place in table.ranked if place in places]
        return replace(self._chosen(query, table, places, ranked), ordered=ordered)

    def relabel(self, table: Relation, place: int, labels: pa.Table) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`."""
        places = range(len(table.columns))
        query = sql.relabelled(table.name, len(places), place, self._send(labels), hidden=bool(table.ranked))
        return self._chosen(query, table, places, table.ranked)

    def recode_by_level(
        self,
        table: Relation,
        keep: Sequence[int],
        maps: Mapping[int, pa.Table],
        constants: Mapping[int, str],
        suppressed: pa.Table | None,
    ) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`."""
        named = dict(zip(maps, self._send_all(list(maps.values())), strict=True))
        ranked = [place for place, part in maps.items() if "rank" in part.column_names]
        left_out = None
        if suppressed is not None:
            left_out = (self._send(suppressed), sql.places(suppressed.column_names))
        query = sql.recode_by_level(table.name, keep, named, ranked, constants, left_out, self.quote)
        return self._kept(query, table, keep, ranked)

    def recode_by_group(self, table: Relation, keep: Sequence[int], assignment: pa.Table, labels: pa.Table) -> Relation:
        """See :class:`shoal.io.engines.base.Engine`."""
        key = sql.places(assignment.column_names)
        recoded = sql.places(labels.column_names)
        query = sql.recode_by_group(
            table.name, keep, key, self._send(assignment), self._send(labels), recoded,
            split="low" in assignment.column_names,
        )  # fmt: skip
        return self._kept(query, table, keep, recoded)

    def _repeated(self, table: Relation, keep: Sequence[int], rows: pa.Table, constants: Mapping[int, str]) -> Relation:
        """A view of rows, each as often as it says."""
        numbered = rows.append_column("k", pa.array(range(rows.num_rows), pa.int64()))
        query = sql.repeated(self._send(numbered), keep, constants, self.copies, self.quote)
        return self._kept(query, table, keep, keep)

    def _kept(self, query: str, table: Relation, keep: Sequence[int], ranked: Sequence[int]) -> Relation:
        """A view of a recoded table."""
        return self._chosen(sql.renumbered(query, keep), table, keep, ranked)

    def _chosen(self, query: str, table: Relation, places: Sequence[int], ranked: Sequence[int]) -> Relation:
        """A view with some columns of a table, numbered anew, of which some are ordered by a hidden one."""
        view = self._view(query, tuple(table.columns[place] for place in places))
        own = tuple(places.index(place) for place in ranked)
        return replace(view, types=view.types[: len(places)], ranked=own, named=table.named)
