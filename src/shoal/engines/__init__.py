"""Where tables are held and rows are moved: DuckDB on one machine, Spark beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.engines.base import EngineSettings
    from shoal.engines.duckdb import DuckDBEngine
    from shoal.engines.spark import SparkEngine

__all__ = ["open_engine", "runs_on_spark"]


def runs_on_spark(settings: EngineSettings, data: Any = None) -> bool:
    """Whether the work is Spark's: by the settings, or because the table is a Spark DataFrame."""
    from shoal.engines.spark_session import is_spark_frame

    return settings.name == "spark" or is_spark_frame(data)


def open_engine(
    settings: EngineSettings,
    data: Any = None,
    progress: Callable[[float], None] | None = None,
    time_zone: str = "UTC",
) -> DuckDBEngine | SparkEngine:
    """The engine for a table; use it as a context manager.

    ``progress`` is called with the part that is done, by engines that can tell. Instants are read in ``time_zone``.
    """
    from shoal.engines.spark_session import is_spark_frame

    if not runs_on_spark(settings, data):
        from shoal.engines.duckdb import DuckDBEngine

        return DuckDBEngine(settings.memory, settings.threads, time_zone)
    from shoal.engines.spark import SparkEngine

    return SparkEngine(settings, data if is_spark_frame(data) else None, progress, time_zone)
