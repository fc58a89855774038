"""Answers in time: what a search has when its time is over, or a clear error where it has nothing yet.

Most searches look at the clock themselves and answer with the best so far. What forms all of its groups in one stretch
of compiled code cannot: it is waited for (:func:`answer_within`), and where it has nothing to show when the time is
over, the release is given up.
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

__all__ = ["answer_within", "deadline_of", "in_time", "is_late", "within"]

LEAST_SECONDS = 0.1

Answer = TypeVar("Answer")


def deadline_of(time_limit: float | None) -> float | None:
    """When so many seconds from now are over, by :func:`shoal.runtime.search_clock.now`; None for never."""
    return None if time_limit is None else now() + time_limit


def is_late(deadline: float | None) -> bool:
    """Whether a deadline is over."""
    return deadline is not None and now() > deadline


def in_time(deadline: float | None) -> bool | None:
    """Whether a search came to its end before its deadline; None where it had none."""
    return None if deadline is None else not is_late(deadline)


def within(method: Method, seconds: float) -> Method:
    """The method with a limit of time, where it takes one."""
    if any(part.name == "time_limit" for part in fields(method)):
        return replace(method, time_limit=max(seconds, LEAST_SECONDS))  # type: ignore[call-arg]
    return method


def answer_within(method: Method, time_limit: float | None, work: Callable[[threading.Event], Answer]) -> Answer:
    """What ``work`` returns; raises where the time is over before it has set its event, which says: there is an answer.

    What goes on computing after that goes on by itself, until it is done or the process ends.
    """
    found = threading.Event()
    if time_limit is None:
        return work(found)
    answers: list[Answer] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work(found))
        except BaseException as error:  # raised again where the answer is waited for
            faults.append(error)
        found.set()

    worker = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    deadline = now() + time_limit
    worker.start()
    while not found.wait(max(deadline - now(), 0.0)) and not is_late(deadline):
        pass  # the clock stood still meanwhile
    if not found.is_set():
        raise InfeasibleError(
            f"The method {method.name} must form all groups before it has an answer, and had not done so within "
            f"{time_limit:g} seconds (time_limit). Give it more time, or use mondrian, which answers with what it has."
        )
    worker.join()
    if faults:
        raise faults[0]
    return answers[0]
