"""Private copies of compressed files, cp1252 files and standard input.

A file is copied once. The copy can be read from the beginning any number of times, on all cores, and a damaged end is
found before the first row is used. Memory stays that of one block. A file that expands excessively is refused.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import zlib
from pathlib import Path
from typing import IO, Any

from shoal.errors import TableError
from shoal.io.formats import STANDARD

BLOCK_BYTES = 1 << 20
MAX_EXPANSION = 1000
"""Maximum ratio of a file to its archive; tables expand 3 to 50 times."""

ALWAYS_ALLOWED_BYTES = 1 << 30
MIN_FREE_BYTES = 256 << 20
"""Bytes that stay free on the disk of temporary files."""

_SIGNS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


def compression_of(path: Path) -> str | None:
    """Return the compression of a file by its first bytes, or None."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError:
        return None
    return next((kind for sign, kind in _SIGNS.items() if head.startswith(sign)), None)


def unpack_to_file(path: Path, target: Path) -> Path:
    """Copy standard input or a compressed file to a file of this run.

    Returns the path of the copy. Standard input may be compressed too.
    """
    if path == STANDARD:
        copy_blocks(sys.stdin.buffer, target, "Standard input")
        if compression_of(target) is None:
            return target
        path = target
        target = target.with_name(f"{target.name}-unpacked")
    kind = compression_of(path)
    what = "<stdin>" if path.name == target.name.removesuffix("-unpacked") else repr(path.name)
    max_bytes = max(ALWAYS_ALLOWED_BYTES, MAX_EXPANSION * path.stat().st_size)
    try:
        with _opened(path, kind) as unpacked:
            copy_blocks(unpacked, target, what, max_bytes)
    except (OSError, EOFError, zlib.error) as error:
        target.unlink(missing_ok=True)
        if getattr(error, "errno", None) is not None:
            raise TableError("files.not-unpacked", file=what, reason=getattr(error, "strerror", None)) from None
        raise TableError("files.compressed-damaged", file=what) from None
    if compression_of(target) is not None:
        raise TableError("files.compressed-twice", file=what)
    return target


def convert_to_utf8(path: Path, target: Path) -> Path:
    """Copy a cp1252 text, which DuckDB does not read, to a file in UTF-8.

    Returns the path of the copy.
    """
    with path.open("rb") as file:
        copy_blocks(_Recoded(file, path.name), target, f"File {path.name!r}")  # type: ignore[arg-type]
    return target


class _Recoded:
    """Blocks of a cp1252 text in UTF-8; every byte is one character."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.file, self.name = file, name

    def read(self, size: int) -> bytes:
        before = self.file.tell()
        try:
            return self.file.read(size).decode("cp1252").encode("utf-8")
        except UnicodeDecodeError as error:
            raise TableError("files.not-cp1252", file=self.name, position=before + error.start) from None


def _opened(path: Path, kind: str | None) -> Any:
    if kind == "gzip":
        return gzip.open(path, "rb")
    import pyarrow as pa

    return pa.input_stream(str(path), compression="zstd")


def copy_blocks(source: IO[bytes], target: Path, what: str, max_bytes: int | None = None) -> None:
    """Copy a stream to a new file, block by block.

    Raises if the disk is nearly full or the file has more than ``max_bytes``.
    """
    written = 0
    with target.open("xb") as file:
        while block := source.read(BLOCK_BYTES):
            written += len(block)
            if max_bytes is not None and written > max_bytes:
                raise TableError("files.unpacks-too-large", file=what, most=MAX_EXPANSION)
            if written % (64 * BLOCK_BYTES) < BLOCK_BYTES and shutil.disk_usage(target.parent).free < MIN_FREE_BYTES:
                raise TableError("files.temporary-disk-full", file=what)
            file.write(block)
