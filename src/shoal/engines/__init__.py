"""Where tables are held and rows are moved: DuckDB on one machine, Spark beyond.

:func:`open_engine` is the one place where an engine is chosen; all else works with :class:`shoal.engines.base.Engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.engines.base import Engine, EngineSettings

__all__ = ["open_engine", "runs_on_spark"]


def runs_on_spark(settings: EngineSettings, *tables: Any) -> bool:
    """Whether the work is Spark's: by the settings, or because a table is a Spark DataFrame."""
    return settings.name == "spark" or next(_spark_frames(tables), None) is not None


def open_engine(
    settings: EngineSettings | None = None,
    *tables: Any,
    progress: Callable[[float], None] | None = None,
    time_zone: str = "UTC",
) -> Engine:
    """The engine for some tables (frames, paths or sources); use it as a context manager.

    ``progress`` is called with the part that is done, by engines that can tell. Instants are read in ``time_zone``.
    """
    from shoal.engines.base import EngineSettings

    settings = settings or EngineSettings()
    if not runs_on_spark(settings, *tables):
        from shoal.engines.duckdb import DuckDBEngine

        return DuckDBEngine(settings.memory, settings.threads, time_zone)
    from shoal.engines.spark import SparkEngine

    return SparkEngine(settings, next(_spark_frames(tables), None), progress, time_zone)


def _spark_frames(tables: Iterable[Any]) -> Iterator[Any]:
    from shoal.engines.base import Source
    from shoal.engines.spark_session import is_spark_frame

    frames = (table.frame if isinstance(table, Source) else table for table in tables)
    return (frame for frame in frames if is_spark_frame(frame))
