"""Engines that store tables and move rows: DuckDB or Spark.

DuckDB works on one machine, Spark on several. Only :func:`open_engine` chooses an engine; all other code works with
:class:`shoal.io.engines.base.Engine`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from shoal.runtime.lean_imports import load_arrow
from shoal.runtime.registry import Registry

if TYPE_CHECKING:
    from shoal.io.engines.base import Engine, EngineSettings

logger = logging.getLogger(__name__)

ProgressCallback = Callable[[float], None]


@runtime_checkable
class EngineMaker(Protocol):
    """Factory of an engine: a class or a function."""

    def __call__(
        self, settings: EngineSettings, frame: Any, progress: ProgressCallback | None, time_zone: str
    ) -> Engine:
        """Return an engine with these settings.

        ``frame`` is the table if it is a Spark DataFrame, else None.
        """
        ...


def _duckdb(settings: EngineSettings, frame: Any, progress: ProgressCallback | None, time_zone: str) -> Engine:
    load_arrow()
    from shoal.io.engines.duckdb import DuckDBEngine

    return DuckDBEngine(settings.memory, settings.threads, time_zone)


def _spark(settings: EngineSettings, frame: Any, progress: ProgressCallback | None, time_zone: str) -> Engine:
    from shoal.io.engines.spark import SparkEngine

    return SparkEngine(settings, frame, progress, time_zone)


ENGINES: Registry[EngineMaker] = Registry(
    {"duckdb": _duckdb, "spark": _spark}, "shoal.engines", EngineMaker, instances=True
)
"""Factories of engines by the engine's name; other packages add theirs."""


def runs_on_spark(settings: EngineSettings, *tables: Any) -> bool:
    """Return whether Spark does the work, by the settings or the tables."""
    return settings.name == "spark" or next(_spark_frames(tables), None) is not None


def open_engine(
    settings: EngineSettings | None = None,
    *tables: Any,
    progress: ProgressCallback | None = None,
    time_zone: str = "UTC",
) -> Engine:
    """Open the engine for some tables; use it as a context manager.

    Tables are frames, paths or sources. Engines that can report progress call ``progress`` with the fraction done.
    Instants are read in ``time_zone``.
    """
    from shoal.io.engines.base import EngineSettings

    settings = settings or EngineSettings()
    frame = next(_spark_frames(tables), None)
    name = "spark" if frame is not None else settings.name or "duckdb"
    logger.debug("engine %s opens", name)
    return ENGINES[name](settings, frame, progress, time_zone)


def _spark_frames(tables: Iterable[Any]) -> Iterator[Any]:
    from shoal.io.engines.base import Source
    from shoal.io.engines.spark_session import is_spark_frame

    frames = (table.frame if isinstance(table, Source) else table for table in tables)
    return (frame for frame in frames if is_spark_frame(frame))
