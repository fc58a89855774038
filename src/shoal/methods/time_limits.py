"""Time limits: the best result so far, or an error where there is none.

Most searches check the clock themselves and return the best result so far. A method that forms all of its groups in
one call of compiled code cannot. Such a method runs in a thread (:func:`answer_within`); if it has no result when the
time ends, the release fails.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TypeVar

from shoal.errors import InfeasibleError
from shoal.methods.base import Method
from shoal.runtime.search_clock import now

MIN_SECONDS = 0.1

Answer = TypeVar("Answer")


def deadline_of(time_limit: float | None) -> float | None:
    """Return the end of a time limit by the search clock; None for no limit.

    The clock is :func:`shoal.runtime.search_clock.now`; ``time_limit`` is in seconds from now.
    """
    return None if time_limit is None else now() + time_limit


def is_late(deadline: float | None) -> bool:
    """Return whether a deadline has passed."""
    return deadline is not None and now() > deadline


def finished_in_time(deadline: float | None) -> bool | None:
    """Return whether a search ended before its deadline; None without one."""
    return None if deadline is None else not is_late(deadline)


def with_time_limit(method: Method, seconds: float) -> Method:
    """Return the method with a time limit, if it has such a parameter."""
    if any(part.name == "time_limit" for part in fields(method)):
        return replace(method, time_limit=max(seconds, MIN_SECONDS))  # type: ignore[call-arg]
    return method


def answer_within(method: Method, time_limit: float | None, work: Callable[[threading.Event], Answer]) -> Answer:
    """Return the result of ``work``, or raise where it is not ready in time.

    ``work`` sets its event as soon as it has a result; the time limit ends there. After an error, the thread continues
    until
    it is done or the process ends.
    """
    found = threading.Event()
    if time_limit is None:
        return work(found)
    answers: list[Answer] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work(found))
        except BaseException as error:  # raised again in the waiting thread
            faults.append(error)
        found.set()

    worker = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    deadline = now() + time_limit
    worker.start()
    while not found.wait(max(deadline - now(), 0.0)) and not is_late(deadline):
        pass  # the search clock was paused meanwhile
    if not found.is_set():
        raise InfeasibleError("method.out-of-time", method=method.name, seconds=time_limit)
    worker.join()
    if faults:
        raise faults[0]
    return answers[0]
