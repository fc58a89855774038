"""Choice and sharing of Spark sessions.

A session that shoal did not start is used as it is and never ended. A session that shoal started is shared by all users
in this process, each with separate views and settings, and ends with the last of them. Within
:func:`shared_spark_session` it outlives them, and the next user need not start Java again.
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


class OpenSession:
    """A session to work in; ``started`` if shoal started it."""

    def __init__(self, spark: SparkSession, started: StartedSession | None = None) -> None:
        self.spark = spark
        self._started = started
        if started is not None:
            started.users += 1

    def close(self) -> None:
        """Release the session.

        One that shoal started ends if nobody else needs it; any other is left as it is.
        """
        started, self._started = self._started, None
        if started is not None:
            with _own.lock:
                started.users -= 1
                _own.end_if_unwanted()


class _Own:
    """The session that shoal started, and how many callers want it kept.

    A process can have only one Spark.
    """

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
    """Return the running session, or start one with the settings.

    They are master, memory, threads and options. A session that shoal started with other settings is ended if it has no
    users; otherwise the settings are refused.
    """
    spark_session.require_pyspark()
    with _own.lock:
        if _own.started is not None and not _own.started.alive:
            _own.end()
        if _own.started is not None and (reason := _difference(settings, _own.started)):
            if _own.started.users:
                raise PlanError("engine.session-started-otherwise", running=_own.started.master, reason=reason)
            _own.end()
        if _own.started is None:
            if (running := _running()) is not None:
                return _use_running(running, settings)
            spark_session.require_java()
            master = settings.master or f"local[{settings.threads or '*'}]"
            _own.started = spark_session.start_session(master, settings.memory, settings.options)
        # a new session has separate views and settings, so that no release meets what another one left there
        return OpenSession(_own.started.spark.newSession(), _own.started)


@contextmanager
def shared_spark_session(settings: EngineSettings | None = None) -> Iterator[SparkSession | None]:
    """Keep a session that shoal starts until the end of this block.

    It serves all users within the block. With settings for Spark a session is started at once and yielded; other
    settings within the block are refused.
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
    """Return a session that other code started, or None.

    It may also be one for which spark-submit has started Java.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is None and SparkContext._active_spark_context is not None:
        running = SparkSession(SparkContext._active_spark_context)
    if running is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        return SparkSession.builder.appName("shoal")
    return running


def _use_running(running: Any, settings: EngineSettings) -> OpenSession:
    """Return a session of other code; only its master is compared."""
    from pyspark.sql import SparkSession

    if not isinstance(running, SparkSession):  # spark-submit has started Java, with its settings
        for key, value in settings.options.items():
            running = running.config(key, value)
        return OpenSession(running.getOrCreate())
    found = running.sparkContext.master
    if settings.master not in (None, found):
        raise PlanError("engine.session-on-other-master", running=found, master=settings.master)
    return OpenSession(running)


def _difference(settings: EngineSettings, started: StartedSession) -> str:
    """Return which setting a session was not started with, else an empty text."""
    master = settings.master or (settings.threads and f"local[{settings.threads}]")
    if master and master != started.master and (settings.master or started.master.startswith("local[")):
        return f"it cannot be moved to {master!r}"
    if settings.memory is not None:
        wanted, has = spark_session.megabytes(settings.memory), started.chosen.get("spark.driver.memory")
        if has != f"{wanted}m":
            return f"its memory ({has or 'as Spark chooses'}) cannot become {settings.memory}"
    for name, value in settings.options.items():
        if started.chosen.get(name) != value:
            return f"its option {name} cannot be changed"
    return ""
