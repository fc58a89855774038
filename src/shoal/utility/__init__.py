"""What a release lost, and what it is still good for.

loss, measures   losses of a recoding, known before a row is written
compare          a released table beside its original, made here or elsewhere

The names below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.utility.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.comparison"), name)
