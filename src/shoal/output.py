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
from collections.abc import Iterator, Sequence
from pathlib import Path

from shoal.engines.scratch import make_scratch
from shoal.errors import OutputError

__all__ = ["certificate_of", "check_output", "publish", "report_of", "sha256_of", "size_of", "staging"]


def certificate_of(path: Path) -> Path:
    """Where the certificate of a released table stands: released.csv -> released.certificate.json."""
    return path.with_name(f"{path.stem}.certificate.json")


def report_of(path: Path) -> Path:
    """Where the report on a released table stands: released.csv -> released.report.html."""
    return path.with_name(f"{path.stem}.report.html")


def check_output(path: Path, overwrite: bool, *, in_parts: bool = False) -> None:
    """Raise before any work where the output could not be written.

    A release ``in_parts`` is a directory of files part-...; no directory that holds anything else is replaced.
    """
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise OutputError(f"The output {path.name!r} must end in .csv or .parquet.")
    try:
        if path.is_dir() and not in_parts:
            raise OutputError(f"The output {str(path)!r} is a directory; name a file in it.")
        if path.is_dir() and any(not (part.is_file() and part.name.startswith("part-")) for part in path.iterdir()):
            raise OutputError(f"The directory {str(path)!r} holds other files than a release; choose another name.")
        for place in (path, certificate_of(path), report_of(path)):
            if place.exists() and not overwrite:
                raise OutputError(
                    f"The output {str(place)!r} exists. Remove it, choose another name, or allow overwriting "
                    f"(--overwrite)."
                )
        if not path.parent.is_dir():
            raise OutputError(f"The directory {str(path.parent)!r} does not exist; create it first.")
    except OSError as error:
        raise OutputError(f"The output {str(path)!r} cannot be written: {error.strerror}. Choose another.") from None
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"The directory {str(path.parent)!r} is not writable. Choose another, or change its mode.")


@contextlib.contextmanager
def staging(path: Path) -> Iterator[Path]:
    """A private directory on the output's file system, removed at the end whatever happens."""
    try:
        folder = make_scratch(path.parent, f".{path.name[:40]}.shoal-")
    except OSError as error:
        raise OutputError(
            f"The directory {str(path.parent)!r} is not writable: {error.strerror}. Choose another."
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(table: tuple[Path, Path], others: list[tuple[Path, Path]], outdated: Sequence[Path] = ()) -> None:
    """Move finished files to their places: the table, then what belongs to it (pairs of from and to).

    What stood in the others' places is set aside first, and comes back if the table cannot be moved; so are
    ``outdated`` files, which were about the table that is replaced and have no successor.
    """
    aside: list[tuple[Path, Path]] = []
    try:
        for staged, _ in (table, *others):
            for part in parts_of(staged):
                _sync(part)
            _sync(staged)
        try:
            for place in (*(place for _, place in others), *outdated):
                if place.exists():
                    old = table[0].with_name(f"{place.name}.old")
                    place.replace(old)
                    aside.append((old, place))
            _sync(table[1].parent)
            if table[1].exists() and (table[0].is_dir() or table[1].is_dir()):
                # a directory takes no other's place; this one is gone with the staging directory
                old = table[0].with_name("table.old")
                table[1].replace(old)
                aside.append((old, table[1]))
            table[0].replace(table[1])
        except OSError:
            for old, place in aside:
                old.replace(place)
            raise
        for staged, place in others:
            staged.replace(place)
        _sync(table[1].parent)
    except OSError as error:
        raise OutputError(
            f"The release cannot be moved to {str(table[1])!r}: {error.strerror}. Choose another place."
        ) from None


def _sync(path: Path) -> None:
    """Have a file, or a directory's list of names, on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def parts_of(path: Path) -> list[Path]:
    """The files of a table: itself, or the parts of a directory in their order."""
    return sorted(path.iterdir()) if path.is_dir() else [path]


def size_of(path: Path) -> int:
    """How many bytes a table has, in all its parts."""
    return sum(part.stat().st_size for part in parts_of(path))


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes; of a directory's, that of what ``sha256sum part-*`` prints in it."""
    if path.is_dir():
        listed = "".join(f"{sha256_of(part)}  {part.name}\n" for part in parts_of(path))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
