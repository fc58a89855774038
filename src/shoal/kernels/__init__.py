"""Compiled code that all methods share, the rule set, and where compiled code is kept; kernels are with their methods.

Compiled code is kept on disk, so that only the first run after an installation pays for it. Numba renews what it kept
of a file when that file changes, but not when a file changes that it calls; stale code can then read memory in a wrong
layout. So the store's name holds a hash of all kernels: a change of any of them starts a new store.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from pathlib import Path

_FOLDER = Path(__file__).parent
_DAY = 24 * 60 * 60


def _store() -> Path:
    """The directory for compiled code of exactly these kernels."""
    digest = hashlib.sha256()
    for file in sorted([*_FOLDER.glob("*.py"), *_FOLDER.parent.glob("methods/*/kernels/*.py")]):
        digest.update(str(file.relative_to(_FOLDER.parent)).encode() + file.read_bytes())
    home = _FOLDER / "__pycache__"
    with contextlib.suppress(OSError):
        home.mkdir(exist_ok=True)
    if not os.access(home, os.W_OK):
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"
    return home / f"numba-{digest.hexdigest()[:16]}"


def _use(store: Path) -> None:
    """Let Numba keep its code there, and remove stores that no one has used for a day."""
    import numba

    with contextlib.suppress(OSError):
        if not store.is_dir():
            for other in store.parent.glob("numba-*"):
                if time.time() - other.stat().st_mtime > _DAY:
                    shutil.rmtree(other, ignore_errors=True)
            store.mkdir(parents=True, exist_ok=True)
        numba.config.CACHE_DIR = str(store)


if "NUMBA_CACHE_DIR" not in os.environ:
    _use(_store())
