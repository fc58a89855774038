"""Combinations that stay on Spark's executors.

Functions of shoal run on them there, through Arrow. The executors need Python with shoal, in the versions of the
driver.
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

PART_ROWS = 200_000
"""Approximate number of combinations per part where parts must be complete."""

MAX_PARTITIONS = 10_000
RESULT_SCHEMA = "told binary"


class SparkDistributedTable:
    """Spark as a :class:`shoal.io.engines.base.DistributedTable`.

    The combinations are counted once, and persisted in memory or on the executors' disks.
    """

    def __init__(self, engine: SparkEngine, table: Relation, positions: Sequence[int]) -> None:
        from pyspark import StorageLevel

        self._engine = engine
        self._table = table
        self._positions = tuple(positions)
        self._level = StorageLevel.MEMORY_AND_DISK
        self._persisted: list[DataFrame] = []
        self._frame = self._persist(engine._spark.sql(sql.frequencies(table.name, positions)))
        try:
            self._name = engine._register(self._frame)
            (found,) = engine._answers(f"SELECT coalesce(sum(n), 0) AS n, count(*) AS m FROM {self._name}")
            self.rows, self._combinations = int(found["n"]), int(found["m"])
            self.schema: pa.Schema = engine._fetched(self._frame.limit(0)).schema
        except BaseException:
            self.close()  # no other object can release the frame yet
            raise

    def close(self) -> None:
        """Release the persisted frames."""
        for frame in self._persisted:
            with contextlib.suppress(Exception):
                frame.unpersist()
        self._persisted.clear()

    # -- small answers -----------------------------------------------------------------------------------------

    def values(self, position: int) -> pa.Table:
        """Return the distinct values of a column with their counts.

        Raises if they do not fit the driver.
        """
        name = sql.column(position)
        return self._fetch(
            self._engine._spark.sql(f"SELECT {name}, sum(n) AS n FROM {self._name} GROUP BY {name}"), (position,)
        )

    def distinct(self, position: int) -> int:
        """Count the distinct values of a column; missing is one of them."""
        name = sql.column(position)
        (found,) = self._engine._answers(f"SELECT count(*) AS n FROM (SELECT DISTINCT {name} FROM {self._name})")
        return int(found["n"])

    def ends(self, positions: Sequence[int]) -> pa.Table:
        """Return the lowest and the highest value of columns c<i>, in two rows."""
        if not positions:
            return pa.table({})
        lows, highs = (", ".join(f"{end}(c{p}) AS c{p}" for p in positions) for end in ("min", "max"))
        query = f"SELECT {lows} FROM {self._name} UNION ALL SELECT {highs} FROM {self._name}"
        return self._engine._fetched(self._engine._spark.sql(query))

    def gather(self, function: Callable[[pa.Table], Any]) -> list[Any]:
        """Return the results of a function for each Arrow batch."""

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if batch.num_rows:
                    yield _result_batch(function, pa.Table.from_batches([batch]))

        return self._collect_results(_mapped(self._frame, run, RESULT_SCHEMA))

    def gather_by(self, positions: Sequence[int], function: Callable[[pa.Table], Any]) -> list[Any]:
        """Return the results of a function for each partition by key."""

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            whole = list(batches)
            if sum(batch.num_rows for batch in whole):
                yield _result_batch(function, pa.Table.from_batches(whole))

        cores = self._engine._spark.sparkContext.defaultParallelism
        parts = min(max(self._combinations // PART_ROWS, cores), MAX_PARTITIONS)
        names = [sql.column(position) for position in positions]
        return self._collect_results(_mapped(self._frame.repartition(parts, *names), run, RESULT_SCHEMA))

    def count_by(self, tag: Callable[[pa.Table], Any], positions: Sequence[int]) -> pa.Table:
        """Count rows (n) by tag (b) and the values of some columns.

        Raises if the result does not fit the driver.
        """
        names = [sql.column(position) for position in positions]
        tagged = self._engine._register(self._tagged(tag, positions))
        listed = ", ".join(["b", *names])
        query = f"SELECT {listed}, sum(n) AS n FROM {tagged} GROUP BY {listed}"
        return self._fetch(self._engine._spark.sql(query), positions)

    # -- blocks ------------------------------------------------------------------------------------------------

    def recode_blocks(
        self,
        tag: Callable[[pa.Table], Any],
        blocks: int,
        function: Callable[[pa.Table], tuple[pa.Table, Any]],
        published: pa.Schema,
    ) -> tuple[str, list[Any]]:
        """Recode the combinations of each block, which their tag identifies."""
        from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
        from pyspark.sql.types import BinaryType, LongType, StructField, StructType

        fields = [StructField(field.name, field.dataType) for field in self._frame.schema.fields if field.name != "n"]
        fields += [StructField("low", LongType()), StructField("high", LongType())]
        fields += [StructField(field.name, from_arrow_type(field.type)) for field in published]
        schema = StructType([*fields, StructField("told", BinaryType())])
        zone = self._engine._spark.conf.get("spark.sql.session.timeZone")
        form = to_arrow_schema(schema, timezone=zone)

        def run(table: pa.Table) -> pa.Table:
            entries, results = _call_and_pickle(lambda: function(table.drop_columns(["b"])))
            note = pa.table({"told": pa.array([results], pa.binary())})
            parts = [note] if entries is None else [entries, note]
            whole = pa.concat_tables(parts, promote_options="default")
            columns = [
                whole.column(field.name).cast(field.type)
                if field.name in whole.column_names
                else pa.nulls(whole.num_rows, field.type)
                for field in form
            ]
            return pa.table(columns, schema=form)

        tagged = self._tagged(tag, self._positions).repartition(min(blocks, MAX_PARTITIONS), "b")
        with _without_pandas_warnings():
            found = self._persist(tagged.groupBy("b").applyInArrow(run, schema))
        results = self._collect_results(found.where("told IS NOT NULL").select("told"))
        return self._engine._register(found.where("told IS NULL").drop("told")), results

    def recode(self, keep: Sequence[int], entries: str, recoded: Sequence[int]) -> Relation:
        """Return the table with the labels of each row's entry."""
        query = sql.recode_by_entry(self._table.name, keep, self._positions, entries, recoded)
        return self._engine._recoded_view(query, self._table, keep, recoded)

    # -- inside ------------------------------------------------------------------------------------------------

    def _persist(self, frame: DataFrame) -> DataFrame:
        persisted = frame.persist(self._level)
        self._persisted.append(persisted)
        return persisted

    def _tagged(self, tag: Callable[[pa.Table], Any], positions: Sequence[int]) -> DataFrame:
        """Return some columns with their counts, and the tag b."""
        from pyspark.sql.types import LongType, StructField, StructType

        names = [*(sql.column(position) for position in positions), "n"]
        known = {field.name: field for field in self._frame.schema.fields}
        schema = StructType([*(known[name] for name in names), StructField("b", LongType())])

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if batch.num_rows:
                    tags = pa.array(tag(pa.Table.from_batches([batch])), pa.int64())
                    yield pa.RecordBatch.from_arrays([*(batch.column(name) for name in names), tags], [*names, "b"])

        return _mapped(self._frame, run, schema)

    def _fetch(self, frame: DataFrame, positions: Sequence[int]) -> pa.Table:
        """Fetch a result to the driver, after a check that it fits."""
        persisted = frame.persist(self._level)
        try:
            self._engine._check_driver_memory(self._engine._register(persisted), self._table, positions)
            return self._engine._fetched(persisted)
        finally:
            with contextlib.suppress(Exception):
                persisted.unpersist()

    def _collect_results(self, frame: DataFrame) -> list[Any]:
        """Unpickle the results of functions; raise the errors of shoal among them."""
        results = [pickle.loads(row["told"]) for row in self._engine._run(frame.collect)]
        for kind, answer in results:
            if kind != "answer":
                raise getattr(shoal.errors, kind, ShoalError)(answer)
        return [answer for _, answer in results]


@contextlib.contextmanager
def _without_pandas_warnings() -> Iterator[None]:
    """Suppress PySpark's warnings on pandas; raise if it is missing.

    PySpark requires pandas before it uses Arrow; nothing here uses pandas.
    """
    from pyspark.errors import PySparkImportError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            yield
        except PySparkImportError:
            raise InputError("engine.pandas-missing") from None


def _mapped(frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Any], schema: Any) -> DataFrame:
    with _without_pandas_warnings():
        return frame.mapInArrow(function, schema)


def _call_and_pickle(action: Callable[[], tuple[Any, Any]]) -> tuple[Any, bytes]:
    """Return the table of an action, and its pickled result or error of shoal."""
    try:
        made, answer = action()
    except ShoalError as error:
        return None, pickle.dumps((type(error).__name__, str(error)))
    return made, pickle.dumps(("answer", answer))


def _result_batch(function: Callable[[pa.Table], Any], table: pa.Table) -> pa.RecordBatch:
    """Return the pickled result of a function as a batch of one row."""
    _, results = _call_and_pickle(lambda: (None, function(table)))
    return pa.RecordBatch.from_pydict({"told": pa.array([results], pa.binary())})
