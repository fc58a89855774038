"""A private, silent Spark session without a web page, and its Java.

It has a Java process of its own that ends with it. :mod:`shoal.io.engines.spark_shared_session` manages its users and
its lifetime.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, PlanError
from shoal.runtime.scratch import LockedFolder, make_scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
INSTALL_JAVA = (
    f"install Java {OLDEST_JAVA} or later (Debian and Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew "
    f"install openjdk@17), or set JAVA_HOME to where it is"
)
UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}


class StartedSession:
    """A session that shoal started.

    Attributes
    ----------
    chosen
        The settings it was started with, by their Spark names.
    users
        Number of current users.
    """

    def __init__(self, spark: SparkSession, gateway: Any, scratch: LockedFolder, chosen: Mapping[str, str]) -> None:
        self.spark = spark
        self.master = chosen["spark.master"]
        self.chosen = chosen
        self.users = 0
        self._context = spark.sparkContext
        self._gateway = gateway
        self._scratch = scratch

    @property
    def alive(self) -> bool:
        """Return whether the session runs: it is not stopped, and its Java runs."""
        return self._context._jsc is not None and (self._gateway.proc is None or self._gateway.proc.poll() is None)

    def close(self) -> None:
        """End the session, its Java process and its files; once."""
        if self._gateway is None:
            return
        from pyspark import SparkContext

        gateway, self._gateway = self._gateway, None
        with contextlib.suppress(Exception):  # its Java may have ended
            self.spark.stop()
        with contextlib.suppress(Exception):
            gateway.shutdown()
        if gateway.proc is not None:
            with contextlib.suppress(OSError):
                gateway.proc.stdin.close()  # Spark's Java ends when its standard input does
            try:
                gateway.proc.wait(20)
            except subprocess.TimeoutExpired:
                gateway.proc.kill()
                gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None
        self._scratch.remove()


def is_spark_frame(data: Any) -> bool:
    """Return whether an object is a Spark DataFrame, without importing Spark."""
    kinds = type(data).__mro__
    return any(kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql") for kind in kinds)


def start_session(master: str, memory: str | None, options: Mapping[str, str]) -> StartedSession:
    """Start Java and a session in it.

    Parameters
    ----------
    master
        Where Spark runs, such as ``local[4]``, ``spark://host:7077`` or ``yarn``.
    memory
        Memory of the driver's Java, such as ``"4GB"``; on one machine the work is done there too.
    options
        Further settings by their Spark names.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    locked = make_scratch(Path(tempfile.gettempdir()), "shoal-")
    scratch = locked.path
    debug = bool(os.environ.get("SHOAL_DEBUG"))
    given = {
        "spark.app.name": "shoal",
        "spark.master": master,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch} -XX:-UsePerfData",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark's log quotes values of rows that cannot be read
        "spark.log.level": "WARN" if debug else "OFF",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.caseSensitive": "true",
        "spark.driver.maxResultSize": "0",  # the engine checks what fits
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    }
    on_this_machine = master.startswith("local")
    if on_this_machine:
        given |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        given["spark.sql.shuffle.partitions"] = "16"  # Spark's 200 are for clusters: each costs a task
    if memory is not None:
        given["spark.driver.memory"] = f"{megabytes(memory)}m"
    java = "spark.driver.extraJavaOptions"
    chosen = given | dict(options)
    whole = chosen | {java: f"{given[java]} {options.get(java, '')}".strip()}
    conf = SparkConf(loadDefaults=False).setAll(list(whole.items()))
    interrupted = signal.getsignal(signal.SIGINT)
    try:
        with (scratch / "java.log").open("wb") as log, _environment(on_this_machine):
            streams = {} if debug else {"stdout": log, "stderr": log}
            gateway = launch_gateway(conf, streams)
            try:
                context = SparkContext(conf=conf, gateway=gateway)
            except BaseException:
                gateway.proc.kill()
                gateway.proc.wait()
                SparkContext._gateway = SparkContext._jvm = None
                raise
    except Exception as error:
        reason = _reason((scratch / "java.log").read_text(errors="replace"), error)
        locked.remove()
        if not isinstance(error, PySparkException) and "Py4J" not in type(error).__name__:
            raise
        raise InputError("engine.spark-not-started", master=master, reason=reason) from None
    if on_this_machine and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable  # Spark runs functions with this Python, not with any on the path
    with contextlib.suppress(ValueError):  # not in the main thread, where Spark sets no handler either
        signal.signal(signal.SIGINT, interrupted)
    return StartedSession(SparkSession(context), gateway, locked, chosen)


@contextlib.contextmanager
def _environment(on_this_machine: bool) -> Iterator[None]:
    """Bind Spark to the loopback address if it runs on this machine alone."""
    before = os.environ.get("SPARK_LOCAL_IP")
    if on_this_machine and before is None:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    try:
        yield
    finally:
        if on_this_machine and before is None:
            del os.environ["SPARK_LOCAL_IP"]


def _reason(log: str, error: Exception) -> str:
    """Return the reason of a failed start from the log, in a few words.

    The table has not been read yet.
    """
    text = f"{log}\n{error}"
    if "Could not parse Master URL" in text or "Master must either be" in text:
        return ": this is no master that Spark knows"
    if "All masters are unresponsive" in text or "Connection refused" in text:
        return ": nothing answers there"
    if "System memory" in text or "heap size" in text or "Could not reserve enough space" in text:
        return ": the memory asked for is too little for it, or more than there is"
    return ""


def require_pyspark() -> None:
    """Raise if PySpark is not installed."""
    try:
        with warnings.catch_warnings():
            # it would load these modules later, with warnings about pandas, which is not used here
            warnings.simplefilter("ignore", FutureWarning)
            import pyspark.sql.functions

            with contextlib.suppress(ImportError):
                import pyspark.testing.utils  # noqa: F401
    except ImportError:
        raise InputError("engine.pyspark-missing") from None


def require_java() -> None:
    """Raise if no Java is found, or one that is too old for Spark."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    try:
        if java is None:
            raise FileNotFoundError
        version_output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        raise InputError("engine.java-missing", advice=INSTALL_JAVA) from None
    version = re.search(r'version "(?:1\.)?(\d+)', version_output.stderr + version_output.stdout)
    if version is None or int(version.group(1)) < OLDEST_JAVA:
        which = "one that does not say its version" if version is None else f"Java {version.group(1)}"
        raise InputError("engine.java-too-old", oldest=OLDEST_JAVA, found=which, advice=INSTALL_JAVA)


def megabytes(text: str) -> int:
    """Return an amount of memory such as ``4GB`` in whole megabytes.

    >>> megabytes("1.5GB")
    1536
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT])i?B?\s*", text, re.IGNORECASE)
    if not found or (amount := int(float(found.group(1)) * UNITS[found.group(2).upper()])) < 1:
        raise PlanError("engine.memory-malformed", found=text)
    return amount
