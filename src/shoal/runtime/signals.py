"""Signals that request a run to stop.

They are Ctrl-C, the hang-up of a terminal, and the signals of ``kill`` and of schedulers. A run that receives one ends
as by an error: it closes what it opened and removes what it staged. While files are moved to their targets, the
request waits until all are moved (:func:`defer_signals`). A signal that the parent process has set to be ignored
(nohup, a background job) stays ignored.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Stopped(BaseException):
    """A request to end now.

    A search does not answer it with its best result so far, as it may answer Ctrl-C.
    """


_received_signal: int | None = None


def received_signal() -> int | None:
    """Return the signal that requested this run to stop, or None.

    A library may have turned the exception into another error.
    """
    return _received_signal


def check() -> None:
    """Raise if the run was requested to end and the exception was swallowed."""
    if _received_signal is not None and _received_signal != signal.SIGINT:
        raise Stopped


def _stop(number: int, _: FrameType | None) -> None:
    global _received_signal
    _received_signal = number
    raise KeyboardInterrupt if number == signal.SIGINT else Stopped


@contextlib.contextmanager
def handle_signals() -> Iterator[None]:
    """Raise and record requests to stop while a command runs."""
    global _received_signal
    _received_signal = None
    with contextlib.ExitStack() as stack:
        for number in SIGNALS if _in_main_thread() else ():
            before = signal.getsignal(number)
            if before in (signal.SIG_DFL, signal.default_int_handler):
                stack.callback(signal.signal, number, before)
                signal.signal(number, _stop)
        yield


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Defer requests to stop until the block ends; then handle them as usual."""
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
    """Return whether this is the main thread.

    Python handles signals only there, and lets no other thread set a handler.
    """
    return threading.current_thread() is threading.main_thread()
