"""Imports of Arrow and Numba without optional packages shoal does not use.

Arrow looks for pandas when it makes its first array, and Numba for SciPy when it compiles its first function. That
takes a third of the time of a small release. The outcome of the search is fixed for the process. So shoal prevents it
only where no other code runs: on the command line, and in the processes that shoal starts.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import Any

_dedicated = False


def assume_dedicated_process() -> None:
    """Declare that this process runs nothing but shoal.

    NumPy then starts no threads for large matrices, which shoal does not use. They take half of the time of loading it.
    """
    global _dedicated
    _dedicated = True
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def load_arrow() -> None:
    """Load Arrow.

    In a dedicated process, load it without pandas and without the documentation of its functions.
    """
    with _hide_package("pandas"):
        import pyarrow as pa

        pa.array([0])  # here it looks, once
    if _dedicated and "pyarrow.compute" not in sys.modules:
        with contextlib.suppress(ImportError, AttributeError):
            _load_functions()


def _load_functions() -> None:
    """Load Arrow's compute functions without parsing their documentation.

    Parsing it for ``help`` takes half of the time. Load grouping too, without the data sets of many files that it could
    also group.
    """
    from pyarrow.vendored import docscrape

    usual = docscrape.NumpyDocString
    docscrape.NumpyDocString = lambda text: {"Parameters": ()}
    try:
        import pyarrow.compute
    finally:
        docscrape.NumpyDocString = usual
    with _hide_package("pyarrow.dataset"):
        import pyarrow.acero  # noqa: F401


def load_numba() -> None:
    """Load as much of Numba as cached code needs; without SciPy if dedicated."""
    with _hide_package("scipy"):
        import numba  # noqa: F401


def load_compiler() -> None:
    """Load Numba's compiler; without SciPy in a dedicated process."""
    with _hide_package("scipy"):
        import numba.np.arraymath  # noqa: F401 - here it looks, once


class _BlockingFinder(MetaPathFinder):
    """Finder that hides one package from this thread.

    Another thread may be loading a package that needs it.
    """

    def __init__(self, name: str) -> None:
        self.name, self.thread = name, threading.get_ident()

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Raise if the package is requested."""
        if fullname == self.name and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@contextmanager
def _hide_package(name: str) -> Iterator[None]:
    """Hide a package for a moment.

    Nothing is hidden if the package is loaded already or the process is not dedicated.
    """
    if not _dedicated or name in sys.modules:
        yield
        return
    finder = _BlockingFinder(name)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
