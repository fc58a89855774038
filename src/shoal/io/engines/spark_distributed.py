"""Combinations that stay on Spark's executors, where functions of shoal run on them through Arrow.

The executors need Python with shoal, of the versions that the driver has.
"""

from __future__ import annotations

import contextlib
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import shoal.errors
from shoal.errors import InputError, ShoalError
from shoal.io.engines import sql
from shoal.io.engines.base import Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.io.engines.spark import SparkEngine

__all__ = ["SparkSpread"]

PART_ROWS = 200_000
"""About so many combinations are looked at together where parts must be whole."""

MOST_PARTS = 10_000
TOLD = "told binary"


class SparkSpread:
    """Spark behind :class:`shoal.io.engines.base.Spread`: counted once, and kept in memory or on the executors' disks."""

    def __init__(self, engine: SparkEngine, table: Relation, places: Sequence[int]) -> None:
        from pyspark import StorageLevel

        self._engine = engine
        self._table = table
        self._places = tuple(places)
        self._level = StorageLevel.MEMORY_AND_DISK
        self._kept: list[DataFrame] = []
        self._frame = self._keep(engine._spark.sql(sql.frequencies(table.name, places)))
        try:
            self._name = engine._register(self._frame)
            (found,) = engine._answers(f"SELECT coalesce(sum(n), 0) AS n, count(*) AS m FROM {self._name}")
            self.rows, self._combinations = int(found["n"]), int(found["m"])
            self.schema: pa.Schema = engine._fetched(self._frame.limit(0)).schema
        except BaseException:
            self.close()  # nobody else knows yet what is kept
            raise

    def close(self) -> None:
        """Let go of what is kept."""
        for frame in self._kept:
            with contextlib.suppress(Exception):
                frame.unpersist()
        self._kept.clear()

    # -- small answers -----------------------------------------------------------------------------------------

    def values(self, place: int) -> pa.Table:
        """See :class:`shoal.io.engines.base.Spread`; raises where they do not fit the driver."""
        name = sql.column(place)
        return self._fetch(
            self._engine._spark.sql(f"SELECT {name}, sum(n) AS n FROM {self._name} GROUP BY {name}"), (place,)
        )

    def distinct(self, place: int) -> int:
        """See :class:`shoal.io.engines.base.Spread`."""
        name = sql.column(place)
        (found,) = self._engine._answers(f"SELECT count(*) AS n FROM (SELECT DISTINCT {name} FROM {self._name})")
        return int(found["n"])

    def ends(self, places: Sequence[int]) -> pa.Table:
        """See :class:`shoal.io.engines.base.Spread`."""
        if not places:
            return pa.table({})
        lows, highs = (", ".join(f"{end}(c{p}) AS c{p}" for p in places) for end in ("min", "max"))
        query = f"SELECT {lows} FROM {self._name} UNION ALL SELECT {highs} FROM {self._name}"
        return self._engine._fetched(self._engine._spark.sql(query))

    def gather(self, function: Callable[[pa.Table], Any]) -> list[Any]:
        """See :class:`shoal.io.engines.base.Spread`; a part is a batch of Arrow's."""

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if batch.num_rows:
                    yield _tell(function, pa.Table.from_batches([batch]))

        return self._told(_mapped(self._frame, run, TOLD))

    def gather_by(self, places: Sequence[int], function: Callable[[pa.Table], Any]) -> list[Any]:
        """See :class:`shoal.io.engines.base.Spread`; a part is a partition."""

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            whole = list(batches)
            if sum(batch.num_rows for batch in whole):
                yield _tell(function, pa.Table.from_batches(whole))

        cores = self._engine._spark.sparkContext.defaultParallelism
        parts = min(max(self._combinations // PART_ROWS, cores), MOST_PARTS)
        names = [sql.column(place) for place in places]
        return self._told(_mapped(self._frame.repartition(parts, *names), run, TOLD))

    def count_by(self, tag: Callable[[pa.Table], Any], places: Sequence[int]) -> pa.Table:
        """See :class:`shoal.io.engines.base.Spread`; raises where the answer does not fit the driver."""
        names = [sql.column(place) for place in places]
        tagged = self._engine._register(self._tagged(tag, places))
        listed = ", ".join(["b", *names])
        query = f"SELECT {listed}, sum(n) AS n FROM {tagged} GROUP BY {listed}"
        return self._fetch(self._engine._spark.sql(query), places)

    # -- blocks ------------------------------------------------------------------------------------------------

    def by_block(
        self,
        tag: Callable[[pa.Table], Any],
        blocks: int,
        function: Callable[[pa.Table], tuple[pa.Table, Any]],
        published: pa.Schema,
    ) -> tuple[str, list[Any]]:
        """See :class:`shoal.io.engines.base.Spread`."""
        from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
        from pyspark.sql.types import BinaryType, LongType, StructField, StructType

        fields = [StructField(field.name, field.dataType) for field in self._frame.schema.fields if field.name != "n"]
        fields += [StructField("low", LongType()), StructField("high", LongType())]
        fields += [StructField(field.name, from_arrow_type(field.type)) for field in published]
        schema = StructType([*fields, StructField("told", BinaryType())])
        zone = self._engine._spark.conf.get("spark.sql.session.timeZone")
        form = to_arrow_schema(schema, timezone=zone)

        def run(table: pa.Table) -> pa.Table:
            entries, told = _caught(lambda: function(table.drop_columns(["b"])))
            note = pa.table({"told": pa.array([told], pa.binary())})
            parts = [note] if entries is None else [entries, note]
            whole = pa.concat_tables(parts, promote_options="default")
            columns = [
                whole.column(field.name).cast(field.type)
                if field.name in whole.column_names
                else pa.nulls(whole.num_rows, field.type)
                for field in form
            ]
            return pa.table(columns, schema=form)

        tagged = self._tagged(tag, self._places).repartition(min(blocks, MOST_PARTS), "b")
        with _pandas_aside():
            found = self._keep(tagged.groupBy("b").applyInArrow(run, schema))
        told = self._told(found.where("told IS NOT NULL").select("told"))
        return self._engine._register(found.where("told IS NULL").drop("told")), told

    def recode(self, keep: Sequence[int], entries: str, recoded: Sequence[int]) -> Relation:
        """See :class:`shoal.io.engines.base.Spread`."""
        query = sql.recode_by_entry(self._table.name, keep, self._places, entries, recoded)
        return self._engine._kept(query, self._table, keep, recoded)

    # -- inside ------------------------------------------------------------------------------------------------

    def _keep(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist(self._level)
        self._kept.append(kept)
        return kept

    def _tagged(self, tag: Callable[[pa.Table], Any], places: Sequence[int]) -> DataFrame:
        """Some columns with their counts, and the tag b."""
        from pyspark.sql.types import LongType, StructField, StructType

        names = [*(sql.column(place) for place in places), "n"]
        known = {field.name: field for field in self._frame.schema.fields}
        schema = StructType([*(known[name] for name in names), StructField("b", LongType())])

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if batch.num_rows:
                    tags = pa.array(tag(pa.Table.from_batches([batch])), pa.int64())
                    yield pa.RecordBatch.from_arrays([*(batch.column(name) for name in names), tags], [*names, "b"])

        return _mapped(self._frame, run, schema)

    def _fetch(self, frame: DataFrame, places: Sequence[int]) -> pa.Table:
        """An answer for the driver, after a check that it fits."""
        kept = frame.persist(self._level)
        try:
            self._engine._check_room(self._engine._register(kept), self._table, places)
            return self._engine._fetched(kept)
        finally:
            with contextlib.suppress(Exception):
                kept.unpersist()

    def _told(self, frame: DataFrame) -> list[Any]:
        """What functions told, from their own pickles; the errors of shoal among it are raised here."""
        told = [pickle.loads(row["told"]) for row in self._engine._run(frame.collect)]
        for kind, answer in told:
            if kind != "answer":
                raise getattr(shoal.errors, kind, ShoalError)(answer)
        return [answer for _, answer in told]


@contextlib.contextmanager
def _pandas_aside() -> Iterator[None]:
    """PySpark asks for pandas before it lets Arrow through; nothing here is done by it."""
    from pyspark.errors import PySparkImportError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            yield
        except PySparkImportError:
            raise InputError(
                "PySpark needs pandas to run blocks on its executors: pip install 'shoal[spark,pandas]' there and here."
            ) from None


def _mapped(frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Any], schema: Any) -> DataFrame:
    with _pandas_aside():
        return frame.mapInArrow(function, schema)


def _caught(action: Callable[[], tuple[Any, Any]]) -> tuple[Any, bytes]:
    """What an action returns, and beside it what it tells; an error of shoal is something to tell."""
    try:
        made, answer = action()
    except ShoalError as error:
        return None, pickle.dumps((type(error).__name__, str(error)))
    return made, pickle.dumps(("answer", answer))


def _tell(function: Callable[[pa.Table], Any], table: pa.Table) -> pa.RecordBatch:
    """What a function tells of a table, as a batch of one row."""
    _, told = _caught(lambda: (None, function(table)))
    return pa.RecordBatch.from_pydict({"told": pa.array([told], pa.binary())})
