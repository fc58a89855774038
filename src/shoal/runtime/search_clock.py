"""A clock for limits of time: it stands still while code is compiled.

Numba compiles what is called for the first time after an installation, which may take longer than somebody gave a
search. What was asked for is time to search, so that is what is counted.
"""

from __future__ import annotations

import time

__all__ = ["compiling_begins", "compiling_ends", "now"]

_compiling = (0, 0.0, 0.0)
"""How many compilations go on within each other, since when, and the seconds of all before: one value, for others
may read it at any moment. Only one thread compiles at a time."""


def now() -> float:
    """Seconds that were not spent on compiling, since some moment of the past."""
    depth, since, before = _compiling
    moment = time.monotonic()
    return moment - before - (moment - since if depth else 0.0)


def compiling_begins() -> None:
    """Stop the clock; one compilation may begin within another."""
    global _compiling
    depth, since, before = _compiling
    _compiling = (depth + 1, since if depth else time.monotonic(), before)


def compiling_ends() -> None:
    """Let the clock go on, where no other compilation goes on."""
    global _compiling
    depth, since, before = _compiling
    _compiling = (depth - 1, since, before if depth > 1 else before + time.monotonic() - since)
