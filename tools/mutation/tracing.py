"""Trace which functions of shoal a test enters.

A function is written to a file at its first entry, so that the traces of killed children are complete. The module runs
as a pytest plugin (one file of functions per test, and one line per test in the report), and in every Python process
that a test starts, by way of ``sitecustomize`` and the environment. It imports nothing of the tests.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import sys
import threading
from pathlib import Path

TRACE_VARIABLE = "SHOAL_TOUCHED"
"""Environment variable with the file of entered functions, set while a test runs."""


MAX_TRACED_VARIANTS = 12
"""Approximate number of traced variants of a test with parameters."""


class Tracer:
    """Trace function that logs functions of files below a folder."""

    def __init__(self, below: str) -> None:
        self.below = below
        self.seen: set[object] = set()

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if code not in self.seen:
            self.seen.add(code)
            if code.co_filename.startswith(self.below) and (path := os.environ.get(TRACE_VARIABLE)):
                file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                os.write(file, f"{code.co_filename[len(self.below) :]}\t{code.co_qualname}\n".encode())
                os.close(file)

    def start(self) -> None:
        self.seen.clear()
        threading.settrace(self)
        sys.settrace(self)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


class TooLong(BaseException):
    """A test exceeded its time.

    It is no Exception, so that no `except Exception` of a test catches it.
    """


class TimeLimits:
    """Time limits for one test.

    Processor time is limited, and wall-clock time for a test that waits forever.
    """

    def __init__(self) -> None:
        self.late = False

    def start(self, seconds: float, clock: float) -> None:
        self.late = False
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, self._interrupt)
        signal.setitimer(signal.ITIMER_PROF, seconds, 1)  # repeatedly, in case an exception is swallowed
        signal.setitimer(signal.ITIMER_REAL, clock, 5)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _interrupt(self, number, frame):
        self.late = True
        raise TooLong


class TraceTests:
    """Pytest plugin that traces every test.

    It reports the outcome, the seconds and the functions that the test entered.
    """

    def __init__(self, report: Path, below: str, limit: float, total: float) -> None:
        self.report = report
        self.tracer = Tracer(below)
        self.limit = limit
        self.left = total
        self.timed = TimeLimits()

    def pytest_collection_modifyitems(self, items):
        """Select some variants of tests with many parameters."""
        variants = collections.Counter(getattr(item, "originalname", item.name) for item in items)
        seen, selected = collections.Counter(), []
        for item in items:
            name = getattr(item, "originalname", item.name)
            if seen[name] % (1 + variants[name] // MAX_TRACED_VARIANTS) == 0:
                selected.append(item)
            seen[name] += 1
        items[:] = selected

    def pytest_runtest_protocol(self, item, nextitem):
        from _pytest.runner import runtestprotocol

        if self.left < 0:
            return True
        path = self.report.with_suffix(".functions")
        path.write_text("")
        os.environ[TRACE_VARIABLE] = str(path)
        started = _processor_time()
        self.timed.start(self.limit, 20 * self.limit)
        self.tracer.start()
        try:
            reports = runtestprotocol(item, nextitem=nextitem)
            passed = [report.outcome for report in reports] == ["passed"] * 3
        except TooLong:  # between two phases
            passed = False
        finally:
            self.tracer.stop()
            self.timed.stop()
            del os.environ[TRACE_VARIABLE]
        functions = sorted(set(path.read_text().splitlines()))
        with self.report.open("a") as file:
            seconds = _processor_time() - started
            self.left -= seconds
            file.write(json.dumps([item.nodeid, passed, round(seconds, 3), functions]) + "\n")
        return True


def _processor_time() -> float:
    """Return the processor time of this process and its ended children.

    It does not depend on the load of the machine.
    """
    return sum(os.times()[:4])


def start_here(below: str) -> None:
    """Trace this process if a test requested it."""
    if os.environ.get(TRACE_VARIABLE):
        Tracer(below).start()
