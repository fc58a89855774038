"""Which functions of shoal a test enters: written down at the first entry, so that children that are killed tell too.

Runs as a pytest plugin (one file of functions per test, and one line per test in the report), and in every Python that
a test starts, by way of ``sitecustomize`` and the environment. It imports nothing of the tests' own.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import sys
import threading
from pathlib import Path

FOLLOWED = "SHOAL_TOUCHED"
"""The file to which functions are written, set while a test runs."""


VARIANTS = 12
"""Of a test with parameters, so many variants are followed or a few more."""


class Tracer:
    """Notes functions that are entered in files below a folder."""

    def __init__(self, below: str) -> None:
        self.below = below
        self.seen: set[object] = set()

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if code not in self.seen:
            self.seen.add(code)
            if code.co_filename.startswith(self.below) and (path := os.environ.get(FOLLOWED)):
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
    """A test had its time; no `except Exception` takes this for a fault of its own."""


class Timed:
    """Limits for one test: seconds of a processor, and of the clock, which a test that waits for ever needs."""

    def __init__(self) -> None:
        self.late = False

    def start(self, seconds: float, clock: float) -> None:
        self.late = False
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, self._ring)
        signal.setitimer(signal.ITIMER_PROF, seconds, 1)  # again and again, should something swallow it
        signal.setitimer(signal.ITIMER_REAL, clock, 5)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, number, frame):
        self.late = True
        raise TooLong


class Touched:
    """The pytest plugin: every test with its outcome, its seconds and the functions it entered."""

    def __init__(self, report: Path, below: str, limit: float, of_all: float) -> None:
        self.report = report
        self.tracer = Tracer(below)
        self.limit = limit
        self.left = of_all
        self.timed = Timed()

    def pytest_collection_modifyitems(self, items):
        """Of a test with many parameters some variants will do."""
        variants = collections.Counter(getattr(item, "originalname", item.name) for item in items)
        seen, kept = collections.Counter(), []
        for item in items:
            name = getattr(item, "originalname", item.name)
            if seen[name] % (1 + variants[name] // VARIANTS) == 0:
                kept.append(item)
            seen[name] += 1
        items[:] = kept

    def pytest_runtest_protocol(self, item, nextitem):
        from _pytest.runner import runtestprotocol

        if self.left < 0:
            return True
        path = self.report.with_suffix(".functions")
        path.write_text("")
        os.environ[FOLLOWED] = str(path)
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
            del os.environ[FOLLOWED]
        functions = sorted(set(path.read_text().splitlines()))
        with self.report.open("a") as file:
            seconds = _processor_time() - started
            self.left -= seconds
            file.write(json.dumps([item.nodeid, passed, round(seconds, 3), functions]) + "\n")
        return True


def _processor_time() -> float:
    """Of this process and its children that ended: it does not depend on what else the machine does."""
    return sum(os.times()[:4])


def start_here(below: str) -> None:
    """Follow this process where a test asked for it."""
    if os.environ.get(FOLLOWED):
        Tracer(below).start()
