"""Private folders for what is written on the way, and the removal of those that a killed run left behind.

A run holds a lock on a file in its folder for as long as it lives; the kernel lets go of it however the run ends. So a
folder whose lock can be had is abandoned. A process number would not do: in another container it means another process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

__all__ = ["LOCK", "Held", "hold", "make_scratch"]

LOCK = ".lock"


class Held:
    """A folder that this run alone works in, and the lock that says so."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle: int | None = handle

    def clear(self) -> None:
        """Remove what is in the folder, but for its lock."""
        for item in self.path.iterdir():
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item, ignore_errors=True)
            elif item.name != LOCK:
                with contextlib.suppress(OSError):
                    os.unlink(item)

    def remove(self) -> None:
        """Remove the folder, and let go of it; done once."""
        if self._handle is None:
            return
        with contextlib.suppress(OSError):
            self.clear()
            os.unlink(self.path / LOCK)  # last: until then the folder is held
            os.rmdir(self.path)
        self.leave()

    def leave(self) -> None:
        """Let go of the folder as it is."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def hold(folder: Path, *, make: bool = False) -> Held | None:
    """Lock a folder of one's own; None where a live run holds it.

    Raises :class:`OSError` where the folder is no folder of this user's, or has no lock and none is to be made.
    """
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(directory).st_uid != os.getuid():
            raise PermissionError(1, "it belongs to another user")
        kind = os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT if make else 0)
        handle = os.open(LOCK, kind, 0o600, dir_fd=directory)
    finally:
        os.close(directory)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # whoever held it may have removed the folder before letting go
        if os.path.samestat(os.fstat(handle), os.lstat(folder / LOCK)):
            return Held(folder, handle)
        raise FileNotFoundError(2, "it was removed")
    except BlockingIOError:
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise


def make_scratch(parent: Path, prefix: str) -> Held:
    """Make a folder that only the user can look into (mode 0700); abandoned ones of the same prefix are removed."""
    for folder in parent.iterdir():
        if re.fullmatch(re.escape(prefix) + r"[0-9]+-\w+", folder.name):
            _remove_abandoned(folder)
    while True:
        made = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent))
        with contextlib.suppress(FileNotFoundError):  # another run took it for abandoned before it was locked
            held = hold(made, make=True)
            if held is not None:
                return held


def _remove_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return
        try:
            held = hold(folder)
        except FileNotFoundError:
            os.rmdir(folder)  # its run ended before it had a lock; what holds anything is not ours
            return
        if held is not None:
            held.remove()
