"""Which functions of shoal a test enters: written down at the first entry, so that children that are killed tell too.

Runs as a pytest plugin (one file of functions per test, and one line per test in the report), and in every Python that
a test starts, by way of ``sitecustomize`` and the environment. It imports nothing of the tests' own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

FOLLOWED = "SHOAL_TOUCHED"
"""The file to which functions are written, set while a test runs."""


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


class Touched:
    """The pytest plugin: every test with its outcome, its seconds and the functions it entered."""

    def __init__(self, report: Path, below: str, limit: int) -> None:
        self.report = report
        self.tracer = Tracer(below)
        self.limit = limit
        self.failed = False

    def pytest_runtest_protocol(self, item, nextitem):
        path = self.report.with_suffix(".functions")
        path.write_text("")
        os.environ[FOLLOWED] = str(path)
        self.failed = False
        signal.signal(signal.SIGPROF, _too_long)
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        started = _processor_time()
        self.tracer.start()
        item.config.hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        from _pytest.runner import runtestprotocol

        reports = runtestprotocol(item, nextitem=nextitem)
        self.tracer.stop()
        signal.setitimer(signal.ITIMER_PROF, 0)
        del os.environ[FOLLOWED]
        passed = [report.outcome for report in reports] == ["passed"] * 3
        functions = sorted(set(path.read_text().splitlines()))
        with self.report.open("a") as file:
            seconds = _processor_time() - started
            file.write(json.dumps([item.nodeid, passed, round(seconds, 3), functions]) + "\n")
        return True


def _processor_time() -> float:
    """Of this process and its children that ended: it does not depend on what else the machine does."""
    return sum(os.times()[:4])


def _too_long(number, frame):
    raise TimeoutError("the test took too long without the compiler")


def start_here(below: str) -> None:
    """Follow this process where a test asked for it."""
    if os.environ.get(FOLLOWED):
        Tracer(below).start()
