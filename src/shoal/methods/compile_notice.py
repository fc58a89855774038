"""Progress notices for the first run of a method, which compiles it.

Methods are compiled once after an installation (:mod:`shoal.api.compile`).
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

from shoal.methods.base import Method
from shoal.runtime.progress import Progress


@contextlib.contextmanager
def notify_compiling(method: Method, progress: Progress) -> Iterator[None]:
    """Report compilation before a decision, and mark the method as compiled.

    A progress step is reported only on the method's first run since the installation.
    """
    report_compiling(method, progress)
    yield
    if "shoal.kernels.cache" in sys.modules:
        with contextlib.suppress(OSError):
            _marker_file(method).touch()


def report_compiling(method: Method, progress: Progress) -> None:
    """Report a progress step if the method has to be compiled.

    Where nothing compiled is used, no kernels are loaded and nothing is reported.
    """
    if is_first_run(method):
        progress("compiling (once after an installation, up to a minute for a method)", None)


def is_first_run(method: Method) -> bool:
    """Return whether a method never ran since the installation.

    It is then compiled now.
    """
    return "shoal.kernels.cache" in sys.modules and not _marker_file(method).exists()


def _marker_file(method: Method) -> Path:
    """Return the path of the file that exists once a method has run."""
    return _store() / f"{method.name}.ran"


@functools.cache
def _store() -> Path:
    from shoal.kernels import cache

    return cache._store()
