"""Time that exact searches inside models may take, all of them together.

Whether a group of people shows p different values is a minimum hitting set: in the worst case its time grows
exponentially with p. A method's clock does not see such a search, nor does it cover the verification after it. So the
pipeline grants each of the two steps the method's ``time_limit``, and every exact search spends from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from shoal.errors import InfeasibleError
from shoal.runtime.search_clock import now

STEPS_PER_READING = 256
"""Steps of a search between two looks at the clock."""


@dataclass
class _Allowance:
    seconds: float
    spent: float = 0.0


_granted: ContextVar[_Allowance | None] = ContextVar("granted", default=None)


@contextmanager
def allow_seconds(seconds: float | None) -> Iterator[None]:
    """Limit all exact searches of a block together; None for no limit."""
    token = _granted.set(None if seconds is None else _Allowance(float(seconds)))
    try:
        yield
    finally:
        _granted.reset(token)


class Stopwatch:
    """The time of one search, spent from what the block was granted."""

    def __init__(self) -> None:
        self._granted = _granted.get()
        self._steps = 0
        self._last = now()

    def step(self) -> None:
        """Count a step; raise where nothing is left of the time."""
        self._steps += 1
        if self._steps % STEPS_PER_READING == 0:
            self.spend()

    def spend(self) -> None:
        """Spend the time since the last call; raise where nothing is left."""
        granted, moment = self._granted, now()
        if granted is None:
            return
        granted.spent += moment - self._last
        self._last = moment
        if granted.spent > granted.seconds:
            raise InfeasibleError("people.out-of-time", seconds=granted.seconds)
