"""Which Spark session serves a piece of work: one that runs already, or one of shoal's own, kept while it is wanted.

A session that shoal did not start is used as it is and never ended. One that shoal started is shared by all who ask
for it in this process, each with views and settings of their own, and ends with the last of them; within
:func:`keeping` it outlives them, and the next to ask need not start Java again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.errors import PlanError
from shoal.io.engines import spark_session
from shoal.io.engines.base import EngineSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from shoal.io.engines.spark_session import StartedSession

__all__ = ["OpenSession", "keeping", "open_session"]


class OpenSession:
    """A session to work in, and how to let go of it; ``started`` where shoal started it."""

    def __init__(self, spark: SparkSession, started: StartedSession | None = None) -> None:
        self.spark = spark
        self._started = started
        if started is not None:
            started.users += 1

    def close(self) -> None:
        """Let go of it: one of shoal's own ends where nobody else wants it, and any other is left as it is."""
        started, self._started = self._started, None
        if started is not None:
            with _own.lock:
                started.users -= 1
                _own.end_if_unwanted()


class _Own:
    """The session that shoal started, and how many want it kept; a process can have one Spark only."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.started: StartedSession | None = None
        self.keepers = 0

    def end_if_unwanted(self) -> None:
        if self.started is not None and not (self.started.users or self.keepers):
            self.end()

    def end(self) -> None:
        started, self.started = self.started, None
        if started is not None:
            started.close()


_own = _Own()


def open_session(settings: EngineSettings) -> OpenSession:
    """The session that is running, or else a new one with the master, memory, threads and options of the settings.

    One of shoal's own that was started with others is ended where nobody works in it; otherwise they are refused.
    """
    spark_session.require_pyspark()
    with _own.lock:
        if _own.started is not None and not _own.started.alive:
            _own.end()
        if _own.started is not None and (reason := _difference(settings, _own.started)):
            if _own.started.users:
                raise PlanError(
                    f"A Spark session is already running, on {_own.started.master!r}; {reason}. Leave it out of the "
                    f"settings of the engine to use that session, or end the session first."
                )
            _own.end()
        if _own.started is None:
            if (running := _running()) is not None:
                return _as_it_is(running, settings)
            spark_session.require_java()
            master = settings.master or f"local[{settings.threads or '*'}]"
            _own.started = spark_session.start_session(master, settings.memory, settings.options)
        # of its own are its views and its settings, so that no release meets what another one left there
        return OpenSession(_own.started.spark.newSession(), _own.started)


@contextmanager
def keeping(settings: EngineSettings | None = None) -> Iterator[SparkSession | None]:
    """Let a session of shoal's own last until the end of this block, however many work in it one after the other.

    With settings of Spark one is started at once and given; who asks for others within the block is refused.
    """
    opened = None
    with _own.lock:
        _own.keepers += 1
    try:
        if settings is not None and settings.name == "spark":
            opened = open_session(settings)
        yield None if opened is None else opened.spark
    finally:
        with _own.lock:
            _own.keepers -= 1
            if opened is not None:
                opened.close()
            _own.end_if_unwanted()


def _running() -> Any:
    """A session that somebody else has started, or that spark-submit has Java ready for; None where there is none."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is None and SparkContext._active_spark_context is not None:
        running = SparkSession(SparkContext._active_spark_context)
    if running is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        return SparkSession.builder.appName("shoal")
    return running


def _as_it_is(running: Any, settings: EngineSettings) -> OpenSession:
    """A session that is not shoal's; of the settings only the master is held against it."""
    from pyspark.sql import SparkSession

    if not isinstance(running, SparkSession):  # spark-submit has started Java, with settings of its own
        for key, value in settings.options.items():
            running = running.config(key, value)
        return OpenSession(running.getOrCreate())
    found = running.sparkContext.master
    if settings.master not in (None, found):
        raise PlanError(
            f"A Spark session is already running, on {found!r}; it cannot be moved to {settings.master!r}. Leave the "
            f"master out to use it, or stop it first."
        )
    return OpenSession(running)


def _difference(settings: EngineSettings, started: StartedSession) -> str:
    """What is asked for that a session was not started with; empty where it serves."""
    master = settings.master or (settings.threads and f"local[{settings.threads}]")
    if master and master != started.master and (settings.master or started.master.startswith("local[")):
        return f"it cannot be moved to {master!r}"
    if settings.memory is not None:
        asked, has = spark_session.megabytes(settings.memory), started.chosen.get("spark.driver.memory")
        if has != f"{asked}m":
            return f"its memory ({has or 'as Spark chooses'}) cannot become {settings.memory}"
    for name, value in settings.options.items():
        if started.chosen.get(name) != value:
            return f"its option {name} cannot be changed"
    return ""
