"""Signals that ask a run to stop: Ctrl-C, a terminal that goes away, and what ``kill`` and schedulers send.

A run that is asked to stop ends as by an error: what it opened is closed, what it staged is removed. Where files are
being moved to their places, the request waits until all are there (:func:`deferred`). A signal that the parent has this
process ignore (nohup, a job in the background) stays ignored.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["Stopped", "asked", "check", "deferred", "listening"]

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Stopped(BaseException):
    """A request to end now; no search answers it with the best that it has, as it may answer Ctrl-C."""


_asked: int | None = None


def asked() -> int | None:
    """The signal that asked this run to stop, if one did: a library may have made another error of it."""
    return _asked


def check() -> None:
    """Raise where the run was asked to end and something on the way has swallowed that."""
    if _asked is not None and _asked != signal.SIGINT:
        raise Stopped


def _stop(number: int, _: FrameType | None) -> None:
    global _asked
    _asked = number
    raise KeyboardInterrupt if number == signal.SIGINT else Stopped


@contextlib.contextmanager
def listening() -> Iterator[None]:
    """Have requests to stop raised, and noted, in a command."""
    global _asked
    _asked = None
    with contextlib.ExitStack() as stack:
        for number in SIGNALS if _in_main_thread() else ():
            before = signal.getsignal(number)
            if before in (signal.SIG_DFL, signal.default_int_handler):
                stack.callback(signal.signal, number, before)
                signal.signal(number, _stop)
        yield


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Let requests to stop wait until the block is left; then they are answered as they would have been."""
    waiting: list[int] = []
    try:
        with contextlib.ExitStack() as stack:
            for number in SIGNALS if _in_main_thread() else ():
                before = signal.getsignal(number)
                if before not in (signal.SIG_IGN, None):
                    stack.callback(signal.signal, number, before)
                    signal.signal(number, lambda number, _: waiting.append(number))
            yield
    finally:
        if waiting:
            signal.raise_signal(waiting[0])


def _in_main_thread() -> bool:
    """Python handles signals in the main thread alone, and lets no other set a handler."""
    return threading.current_thread() is threading.main_thread()
