"""People should know why they wait: a method's first run since an installation compiles it (shoal.api.compile)."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

from shoal.methods.base import Method
from shoal.runtime.progress import Progress

__all__ = ["is_first_run", "tell_of_compiling", "told_of_compiling"]


@contextlib.contextmanager
def told_of_compiling(method: Method, progress: Progress) -> Iterator[None]:
    """Say that a decision has to be compiled first where it is the method's first one since an installation."""
    tell_of_compiling(method, progress)
    yield
    if "shoal.kernels.cache" in sys.modules:
        with contextlib.suppress(OSError):
            _mark(method).touch()


def tell_of_compiling(method: Method, progress: Progress) -> None:
    """Say that compiled code is being made, if it is: where nothing compiled is used, no kernels are loaded."""
    if is_first_run(method):
        progress("compiling (once after an installation, up to a minute for a method)", None)


def is_first_run(method: Method) -> bool:
    """Whether a method was never run since the installation, so that it is compiled now."""
    return "shoal.kernels.cache" in sys.modules and not _mark(method).exists()


def _mark(method: Method) -> Path:
    """A file that is there when a method has run."""
    return _store() / f"{method.name}.ran"


@functools.cache
def _store() -> Path:
    from shoal.kernels import cache

    return cache._store()
