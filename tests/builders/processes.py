"""Actions in a process of their own."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import NoReturn


def in_child(action: Callable[[], object]) -> tuple[int, str]:
    """Run an action in a fork; return its exit status and its output.

    The fork has the signal handlers of a fresh process.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about threads of libraries, which the child does not use
        child = os.fork()
    if child == 0:
        _run_in_child(action, write)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        printed = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), printed


def _run_in_child(action: Callable[[], object], write: int) -> NoReturn:
    """Run an action with default signal handlers, then exit."""
    status = 70
    leave = os._exit
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        sys.stdout = sys.stderr = open(write, "w", encoding="utf-8")  # noqa: SIM115 - the process ends before it
        try:
            action()
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 70
        except BaseException as error:
            print(f"{type(error).__name__}: {error}")
        sys.stdout.flush()
    finally:
        leave(status)
