"""People should know why they wait: a method's first run since an installation compiles it (shoal.compilation)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from shoal.methods.base import Method, Progress

__all__ = ["told_of_compiling"]


@contextlib.contextmanager
def told_of_compiling(method: Method, progress: Progress) -> Iterator[None]:
    """Say that a decision has to be compiled first where it is the method's first one since an installation."""
    if "shoal.kernels" not in sys.modules:  # nothing compiled is used
        yield
        return
    mark = _store() / f"{method.name}.ran"
    if not mark.exists():
        progress("deciding (the first run of a method compiles it, which can take a minute)", None)
    yield
    with contextlib.suppress(OSError):
        mark.touch()


def _store() -> Path:
    from shoal import kernels

    return kernels._store()
