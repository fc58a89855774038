"""Private folders for what is written on the way, and the removal of those that a killed run left behind.

A folder's name holds the number of the process that made it; where that process is gone, so is its owner.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["make_scratch"]


def make_scratch(parent: Path, prefix: str) -> Path:
    """Make a folder that only the user can look into (mode 0700); abandoned ones of the same prefix are removed."""
    for folder in parent.iterdir():
        if folder.name.startswith(prefix) and _is_abandoned(folder, prefix):
            shutil.rmtree(folder, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent))


def _is_abandoned(folder: Path, prefix: str) -> bool:
    process = folder.name.removeprefix(prefix).partition("-")[0]
    if not process.isdecimal() or folder.is_symlink():
        return False
    try:
        if folder.stat().st_uid != os.getuid():
            return False
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
