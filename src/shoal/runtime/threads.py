"""How many threads may work at once: what ``[engine] threads`` says, or all cores.

The number holds for what runs inside :func:`at_most`, in the thread that called it. Work that is spread by
:func:`spread` shares it: of four threads, two workers get two each, so that pools within pools stay within the limit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["allowed", "at_most", "crew", "spread"]

_LIMIT: ContextVar[int | None] = ContextVar("threads", default=None)

Item = TypeVar("Item")
Result = TypeVar("Result")


def allowed() -> int:
    """How many threads may work at once."""
    return _LIMIT.get() or os.cpu_count() or 1


@contextmanager
def at_most(count: int | None) -> Iterator[None]:
    """Let at most so many threads work at once; None leaves it as it is."""
    token = _LIMIT.set(_LIMIT.get() if count is None else count)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def spread(
    function: Callable[[Item], Result], items: Iterable[Item], over: threading.Event | None = None
) -> list[Result]:
    """The results of a function, in the order of the items, computed on as many threads as are allowed.

    Where one fails or the caller is interrupted, ``over`` is set: who works for long looks at it and ends.

    >>> with at_most(1):
    ...     spread(abs, [-1, 2])
    [1, 2]
    """
    listed = list(items)
    workers = min(allowed(), len(listed))
    if workers < 2:
        return [function(item) for item in listed]
    share = max(1, allowed() // workers)
    with ThreadPoolExecutor(workers, initializer=_LIMIT.set, initargs=(share,)) as pool:
        try:
            return list(pool.map(function, listed))
        except BaseException:
            if over is not None:
                over.set()
            raise


@contextmanager
def crew() -> Iterator[Callable[[Callable[[Any], None], Iterable[Any]], None]]:
    """What :func:`spread` does, by threads that are kept between calls: for many short pieces of work.

    To start a thread takes longer than to wake one.

    >>> with crew() as work:
    ...     work(print, [1])
    1
    """
    workers = allowed()
    if workers < 2:
        yield _one_by_one
        return
    with ThreadPoolExecutor(workers, initializer=_LIMIT.set, initargs=(1,)) as pool:

        def together(function: Callable[[Any], None], items: Iterable[Any]) -> None:
            for _ in pool.map(function, items):
                pass

        yield together


def _one_by_one(function: Callable[[Any], None], items: Iterable[Any]) -> None:
    for item in items:
        function(item)
