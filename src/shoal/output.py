"""Output that appears whole or not at all.

Files are written into a private directory beside their place, synced, and only then moved there. The
certificate moves last: a table that has its certificate is complete. Where an old release is replaced, its
certificate goes first, so that no moment has a certificate beside a table that it is not about.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from shoal.errors import OutputError

__all__ = ["check_output", "publish", "sha256_of", "staging"]


def check_output(path: Path, overwrite: bool) -> None:
    """Raise before any work where the output could not be written."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise OutputError(f"The output {path.name!r} must end in .csv or .parquet.")
    if path.is_dir():
        raise OutputError(f"The output {str(path)!r} is a directory; name a file in it.")
    if path.exists() and not overwrite:
        raise OutputError(f"The output {str(path)!r} exists. Remove it, choose another name, or allow overwriting.")
    if not path.parent.is_dir():
        raise OutputError(f"The directory {str(path.parent)!r} does not exist; create it first.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"The directory {str(path.parent)!r} is not writable.")


@contextlib.contextmanager
def staging(path: Path) -> Iterator[Path]:
    """A private directory on the output's file system, removed at the end whatever happens."""
    prefix = f".{path.name[:40]}.shoal-"
    for stale in path.parent.glob(f"{prefix}*"):
        _remove_if_abandoned(stale)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=path.parent))
    except OSError as error:
        raise OutputError(f"The directory {str(path.parent)!r} is not writable: {error.strerror}.") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_if_abandoned(folder: Path) -> None:
    """Remove what a killed run left behind."""
    process = folder.name.rpartition(".shoal-")[2].partition("-")[0]
    if not process.isdigit():
        return
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        shutil.rmtree(folder, ignore_errors=True)
    except (PermissionError, OverflowError):
        return


def publish(table: tuple[Path, Path], others: list[tuple[Path, Path]]) -> None:
    """Move finished files to their places: the table, then what belongs to it (pairs of from and to)."""
    try:
        for staged, _ in (table, *others):
            _sync(staged)
        if table[1].exists():
            for _, place in others:
                place.unlink(missing_ok=True)
            _sync(table[1].parent)
        for staged, place in (table, *others):
            staged.replace(place)
        _sync(table[1].parent)
    except OSError as error:
        raise OutputError(f"The release cannot be moved to {str(table[1])!r}: {error.strerror}.") from None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
