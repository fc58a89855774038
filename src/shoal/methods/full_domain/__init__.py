"""Full-domain recoding: one level per column for all rows.

The levels are found by a search of the generalization lattice.
"""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Return ``minimal_recodings``, which runs the pipeline, on first use."""
    if name != "minimal_recodings":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("shoal.api.functions").minimal_recodings
