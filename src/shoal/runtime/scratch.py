"""Private folders for temporary files, and removal of abandoned ones.

A run locks a file in its folder while it lives. The kernel releases the lock however the run ends. So a folder is
abandoned if its lock can be acquired. A process number would not do: in another container it means another process.
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

LOCK = ".lock"


class LockedFolder:
    """A folder that only this run uses, and its lock."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle: int | None = handle

    def clear(self) -> None:
        """Remove the content of the folder except its lock."""
        for item in self.path.iterdir():
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item, ignore_errors=True)
            elif item.name != LOCK:
                with contextlib.suppress(OSError):
                    os.unlink(item)

    def remove(self) -> None:
        """Remove the folder and release its lock; later calls do nothing."""
        if self._handle is None:
            return
        with contextlib.suppress(OSError):
            self.clear()
            os.unlink(self.path / LOCK)  # last: until then the folder is locked
            os.rmdir(self.path)
        self.unlock()

    def unlock(self) -> None:
        """Release the lock and leave the folder as it is."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def lock_folder(folder: Path, *, make: bool = False) -> LockedFolder | None:
    """Lock a folder of this user; return None if a live run has locked it.

    Raises :class:`OSError` if the path is no folder of this user, or has no lock file and ``make`` is false.
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
        # its last owner may have removed the folder before releasing the lock
        if os.path.samestat(os.fstat(handle), os.lstat(folder / LOCK)):
            return LockedFolder(folder, handle)
        raise FileNotFoundError(2, "it was removed")
    except BlockingIOError:
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise


def make_scratch(parent: Path, prefix: str) -> LockedFolder:
    """Make a folder that only the user can access (mode 0700).

    Abandoned folders with the same prefix are removed.
    """
    for folder in parent.iterdir():
        if re.fullmatch(re.escape(prefix) + r"[0-9]+-\w+", folder.name):
            _remove_abandoned(folder)
    while True:
        made = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent))
        with contextlib.suppress(FileNotFoundError):  # another run removed it as abandoned before it was locked
            locked = lock_folder(made, make=True)
            if locked is not None:
                return locked


def _remove_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return
        try:
            locked = lock_folder(folder)
        except FileNotFoundError:
            os.rmdir(folder)  # its run ended before it had a lock; rmdir fails on a folder with content
            return
        if locked is not None:
            locked.remove()
