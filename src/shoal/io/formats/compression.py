"""Files that come compressed, in an encoding of spreadsheets, or through standard input: laid out once, privately.

There they can be looked at from the beginning as often as needed, by all cores, and a damaged end is found before the
first row is used. Memory stays that of one block. A file that grows out of all proportion is refused.
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

__all__ = ["copy_blocks", "in_utf8", "is_packed", "lay_out"]

BLOCK = 1 << 20
MOST_GROWTH = 1000
"""How many times larger than its archive a file may be; tables become 3 to 50 times larger."""

ALWAYS_ALLOWED = 1 << 30
LEAST_FREE = 256 << 20
"""Bytes that are left free on the disk of temporary files."""

_SIGNS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


def is_packed(path: Path) -> str | None:
    """The compression of a file, told by its first bytes; None where it has none."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError:
        return None
    return next((kind for sign, kind in _SIGNS.items() if head.startswith(sign)), None)


def lay_out(path: Path, place: Path) -> Path:
    """Copy standard input, or what is in a compressed file, to a file of this run; returns where it is.

    What comes through standard input may be compressed too.
    """
    if path == STANDARD:
        copy_blocks(sys.stdin.buffer, place, "Standard input")
        if is_packed(place) is None:
            return place
        path = place
        place = place.with_name(f"{place.name}-unpacked")
    kind = is_packed(path)
    what = "Standard input" if path.name == place.name.removesuffix("-unpacked") else f"File {path.name!r}"
    most = max(ALWAYS_ALLOWED, MOST_GROWTH * path.stat().st_size)
    try:
        with _opened(path, kind) as unpacked:
            copy_blocks(unpacked, place, what, most)
    except (OSError, EOFError, zlib.error) as error:
        place.unlink(missing_ok=True)
        if getattr(error, "errno", None) is not None:
            raise TableError(f"{what} cannot be unpacked: {getattr(error, 'strerror', None)}.") from None
        raise TableError(
            f"{what} is a compressed file that is damaged or cut off; it cannot be unpacked to its end. Fetch it anew."
        ) from None
    if is_packed(place) is not None:
        raise TableError(f"{what} is compressed more than once; unpack it first.")
    return place


def in_utf8(path: Path, place: Path) -> Path:
    """Copy a text in cp1252, which DuckDB does not read, to a file in UTF-8; returns where that is."""
    with path.open("rb") as file:
        copy_blocks(_Recoded(file, path.name), place, f"File {path.name!r}")  # type: ignore[arg-type]
    return place


class _Recoded:
    """Blocks of a text in cp1252, in UTF-8; every byte is a character of its own."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.file, self.name = file, name

    def read(self, size: int) -> bytes:
        before = self.file.tell()
        try:
            return self.file.read(size).decode("cp1252").encode("utf-8")
        except UnicodeDecodeError as error:
            raise TableError(f"File {self.name!r} is not cp1252 text (byte {before + error.start}).") from None


def _opened(path: Path, kind: str | None) -> Any:
    if kind == "gzip":
        return gzip.open(path, "rb")
    import pyarrow as pa

    return pa.input_stream(str(path), compression="zstd")


def copy_blocks(source: IO[bytes], place: Path, what: str, most: int | None = None) -> None:
    """Copy to a new file, block by block, as long as there is room and it is not more than so many bytes."""
    written = 0
    with place.open("xb") as file:
        while block := source.read(BLOCK):
            written += len(block)
            if most is not None and written > most:
                raise TableError(
                    f"{what} grows to more than {MOST_GROWTH} times its size when it is unpacked, as no table does. If "
                    f"it is one, unpack it first."
                )
            if written % (64 * BLOCK) < BLOCK and shutil.disk_usage(place.parent).free < LEAST_FREE:
                raise TableError(f"{what} does not fit on the disk of temporary files. Set TMPDIR to a larger one.")
            file.write(block)
