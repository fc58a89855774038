"""What other libraries look for of their own accord and shoal does not use stays unloaded, in processes of its own.

Arrow looks for pandas when it makes its first array, and Numba for SciPy when it compiles its first function: a third
of the time that a small release takes. Whether they found them holds for the process, so they are only kept from
looking where nobody else's code runs: on the command line, and in the processes that shoal starts.
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

__all__ = ["be_alone", "load_arrow", "load_compiler", "load_numba"]

_alone = False


def be_alone() -> None:
    """Say that this process runs nothing but shoal.

    NumPy then starts no threads for large matrices, which shoal has none of: they are half of what loading it takes.
    """
    global _alone
    _alone = True
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def load_arrow() -> None:
    """Load Arrow; without pandas, and without what its functions tell of themselves, where nobody else is here."""
    with _unseen("pandas"):
        import pyarrow as pa

        pa.array([0])  # now it looks, once
    if _alone and "pyarrow.compute" not in sys.modules:
        with contextlib.suppress(ImportError, AttributeError):
            _load_functions()


def _load_functions() -> None:
    """Load Arrow's functions; to take their help apart, for what ``help`` shows, is half the time of that.

    And how it groups, without the data sets of many files that it could group too.
    """
    from pyarrow.vendored import docscrape

    usual = docscrape.NumpyDocString
    docscrape.NumpyDocString = lambda text: {"Parameters": ()}
    try:
        import pyarrow.compute
    finally:
        docscrape.NumpyDocString = usual
    with _unseen("pyarrow.dataset"):
        import pyarrow.acero  # noqa: F401


def load_numba() -> None:
    """Load Numba, as far as kept code needs it; without SciPy where nobody else could have use for it."""
    with _unseen("scipy"):
        import numba  # noqa: F401


def load_compiler() -> None:
    """Load what Numba needs to compile; without SciPy where nobody else could have use for it."""
    with _unseen("scipy"):
        import numba.np.arraymath  # noqa: F401 - here it looks, once


class _Refusing(MetaPathFinder):
    """Finds nothing, and lets nobody else find one package for this thread; another may be loading what needs it."""

    def __init__(self, name: str) -> None:
        self.name, self.thread = name, threading.get_ident()

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Raise where the package is asked for."""
        if fullname == self.name and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@contextmanager
def _unseen(name: str) -> Iterator[None]:
    """Have a package not found for a moment, unless it is loaded already or others are here."""
    if not _alone or name in sys.modules:
        yield
        return
    refusing = _Refusing(name)
    sys.meta_path.insert(0, refusing)
    try:
        yield
    finally:
        sys.meta_path.remove(refusing)
