"""A clock for time limits that stops while code is compiled.

Numba compiles a function at its first call after an installation. That may take longer than the time limit of a
search. The limit is for searching, so the clock counts only that time.
"""

from __future__ import annotations

import time

_compiling = (0, 0.0, 0.0)
"""Depth of nested compilations, start of the outermost one, and seconds of all earlier ones.

They are one value because other threads may read it at any moment. Only one thread compiles at a time.
"""


def now() -> float:
    """Return the seconds not spent on compiling since some past moment."""
    depth, since, before = _compiling
    moment = time.monotonic()
    return moment - before - (moment - since if depth else 0.0)


def begin_compilation() -> None:
    """Stop the clock; compilations may be nested."""
    global _compiling
    depth, since, before = _compiling
    _compiling = (depth + 1, since if depth else time.monotonic(), before)


def end_compilation() -> None:
    """Restart the clock unless an outer compilation continues."""
    global _compiling
    depth, since, before = _compiling
    _compiling = (depth - 1, since, before if depth > 1 else before + time.monotonic() - since)
