"""Limit of concurrent threads: ``[engine] threads``, or all cores.

The limit applies to the code inside :func:`limit_threads`, in the thread that called it. Workers of
:func:`parallel_map` share the limit: with a limit of four, two workers get two threads each. So nested pools stay
within the limit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

_LIMIT: ContextVar[int | None] = ContextVar("threads", default=None)

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_limit() -> int:
    """Return the maximum number of concurrent threads."""
    return _LIMIT.get() or os.cpu_count() or 1


@contextmanager
def limit_threads(count: int | None) -> Iterator[None]:
    """Limit the number of concurrent threads; None keeps the current limit."""
    token = _LIMIT.set(_LIMIT.get() if count is None else count)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def parallel_map(
    function: Callable[[Item], Result], items: Iterable[Item], stop_event: threading.Event | None = None
) -> list[Result]:
    """Return the results of a function for all items, in their order.

    The calls run on as many threads as the limit allows. If one fails or the caller is interrupted, ``stop_event`` is
    set: long calls check it and return.

    >>> with limit_threads(1):
    ...     parallel_map(abs, [-1, 2])
    [1, 2]
    """
    listed = list(items)
    workers = min(thread_limit(), len(listed))
    if workers < 2:
        return [function(item) for item in listed]
    share = max(1, thread_limit() // workers)
    with ThreadPoolExecutor(workers, initializer=_LIMIT.set, initargs=(share,)) as pool:
        try:
            return list(pool.map(function, listed))
        except BaseException:
            if stop_event is not None:
                stop_event.set()
            raise


@contextmanager
def thread_pool() -> Iterator[Callable[[Callable[[Any], None], Iterable[Any]], None]]:
    """Yield a :func:`parallel_map` that reuses its threads between calls.

    It serves many short calls: starting a thread takes longer than waking one.

    >>> with thread_pool() as work:
    ...     work(print, [1])
    1
    """
    workers = thread_limit()
    if workers < 2:
        yield _one_by_one
        return
    with ThreadPoolExecutor(workers, initializer=_LIMIT.set, initargs=(1,)) as pool:

        def run_all(function: Callable[[Any], None], items: Iterable[Any]) -> None:
            for _ in pool.map(function, items):
                pass

        yield run_all


def _one_by_one(function: Callable[[Any], None], items: Iterable[Any]) -> None:
    for item in items:
        function(item)
