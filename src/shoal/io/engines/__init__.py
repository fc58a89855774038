"""Where tables are held and rows are moved: DuckDB on one machine, Spark beyond.

:func:`open_engine` is the one place where an engine is chosen; all else works with :class:`shoal.io.engines.base.Engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from shoal.runtime.lean_imports import load_arrow
from shoal.runtime.registry import Extended

if TYPE_CHECKING:
    from shoal.io.engines.base import Engine, EngineSettings

__all__ = ["ENGINES", "open_engine", "runs_on_spark"]

Tell = Callable[[float], None]


@runtime_checkable
class EngineMaker(Protocol):
    """What makes an engine: a class that is called so, or a function."""

    def __call__(self, settings: EngineSettings, frame: Any, progress: Tell | None, time_zone: str) -> Engine:
        """An engine with these settings; ``frame`` is Spark's own, where the table is one, and None otherwise."""
        ...


def _duckdb(settings: EngineSettings, frame: Any, progress: Tell | None, time_zone: str) -> Engine:
    load_arrow()
    from shoal.io.engines.duckdb import DuckDBEngine

    return DuckDBEngine(settings.memory, settings.threads, time_zone)


def _spark(settings: EngineSettings, frame: Any, progress: Tell | None, time_zone: str) -> Engine:
    from shoal.io.engines.spark import SparkEngine

    return SparkEngine(settings, frame, progress, time_zone)


ENGINES: Extended[EngineMaker] = Extended({"duckdb": _duckdb, "spark": _spark}, "shoal.engines", EngineMaker, made=True)
"""What makes an engine, by the name of the engine; other packages add theirs."""


def runs_on_spark(settings: EngineSettings, *tables: Any) -> bool:
    """Whether the work is Spark's: by the settings, or because a table is a Spark DataFrame."""
    return settings.name == "spark" or next(_spark_frames(tables), None) is not None


def open_engine(
    settings: EngineSettings | None = None,
    *tables: Any,
    progress: Tell | None = None,
    time_zone: str = "UTC",
) -> Engine:
    """The engine for some tables (frames, paths or sources); use it as a context manager.

    ``progress`` is called with the part that is done, by engines that can tell. Instants are read in ``time_zone``.
    """
    from shoal.io.engines.base import EngineSettings

    settings = settings or EngineSettings()
    frame = next(_spark_frames(tables), None)
    name = "spark" if frame is not None else settings.name or "duckdb"
    return ENGINES[name](settings, frame, progress, time_zone)


def _spark_frames(tables: Iterable[Any]) -> Iterator[Any]:
    from shoal.io.engines.base import Source
    from shoal.io.engines.spark_session import is_spark_frame

    frames = (table.frame if isinstance(table, Source) else table for table in tables)
    return (frame for frame in frames if is_spark_frame(frame))
