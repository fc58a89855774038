"""Object stores, s3://bucket/name.csv and their like, through PyArrow's file systems.

A source is copied once to the engine's private folder and is there a file like any other. A release is made and
verified on this machine. Its files go under a prefix of their own, named by their content, and are read back and
compared; then one small object, the certificate with their names and digests, takes its place in one step and makes
them the release. Whatever breaks off before that leaves the old certificate, with the objects that it names.

Keys come from the environment (``AWS_ACCESS_KEY_ID``, ...) and are repeated nowhere; what a store says of a failure is
not passed on.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, OutputError, TableError
from shoal.io.formats.compression import copy_blocks
from shoal.io.formats.urls import address_of

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

__all__ = ["Store"]

BLOCK = 1 << 20
MARK = r"[0-9a-f]{16}"
SECONDS = 60
REASONS = {
    "ACCESS_DENIED": "it gives no right to do that",
    "INVALID_ACCESS_KEY_ID": "it does not know this key",
    "SIGNATURE_DOES_NOT_MATCH": "it does not take this key",
    "NO_SUCH_BUCKET": "there is no such bucket",
    "NETWORK_CONNECTION": "it cannot be reached",
}


class Store:
    """The place in a store that an address names, be there an object or not; ``fault`` is what goes wrong there."""

    def __init__(self, path: Path, fault: type[InputError]) -> None:
        address = address_of(path)
        assert address is not None
        self._fault = fault
        with self._told("be reached"):
            self._files, place = _opened(address)
        self._place = PurePosixPath(place)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Say what the store could not do, in words of our own."""
        try:
            yield
        except InputError:
            raise
        except (OSError, ValueError, NotImplementedError) as error:
            text = str(error)
            reason = next((words for sign, words in REASONS.items() if sign in text), "it refused, or was not reached")
            raise self._fault(f"The object store cannot {what}: {reason}.") from None

    # -- reading ---------------------------------------------------------------------------------

    def fetch(self, folder: Path) -> Path:
        """Copy what the address stands for into a folder of this machine; returns the path that stands for it there.

        That is one object, all below a prefix, or those that fit a pattern; names that begin with a dot or an
        underscore are not looked at.
        """
        from pyarrow.fs import FileSelector, FileType

        name = self._place.name
        with self._told("be asked for this table"):
            found = self._info(self._place)
            if found.type == FileType.File:
                self._copy(self._place, folder / name)
                return folder / name
            pattern = found.type == FileType.NotFound and glob.has_magic(str(self._place))
            base = _fixed(self._place) if pattern else self._place
            listed = self._files.get_file_info(FileSelector(str(base), recursive=True, allow_not_found=True))
        wanted = sorted(
            (info for info in listed if info.type == FileType.File and _is_data(info.path, base)),
            key=lambda info: info.path,
        )
        if pattern:
            wanted = [info for info in wanted if _fits(info.path, self._place)]
        if not wanted:
            raise TableError("The object store has nothing at this address. Check bucket and name.")
        within = folder / base.name
        for info in wanted:
            place = within / _relative(info.path, base)
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._copy(PurePosixPath(info.path), place)
        return within / self._place.relative_to(base) if pattern else within

    def _info(self, place: PurePosixPath) -> FileInfo:
        return self._files.get_file_info(str(place))

    def _copy(self, name: PurePosixPath, place: Path) -> None:
        what = f"Object {name.name!r}"
        with self._told("be read to the end"):
            before = self._info(name)
            with self._files.open_input_stream(str(name), compression=None) as stream:  # it would unpack by the name
                copy_blocks(stream, place, what)
            after = self._info(name)
        if (after.size, after.mtime_ns) != (before.size, before.mtime_ns) or place.stat().st_size != before.size:
            raise TableError(f"{what} changed while it was read; try again when nobody writes to it.")

    # -- writing ---------------------------------------------------------------------------------

    @property
    def _certificate(self) -> PurePosixPath:
        return self._place.with_name(f"{self._place.stem}.certificate.json")

    def require_free(self, *, overwrite: bool) -> None:
        """Raise where there is a release, and it may not be replaced."""
        from pyarrow.fs import FileType

        with self._told("be asked for an old release"):
            found = self._info(self._certificate).type
        if found != FileType.NotFound and not overwrite:
            raise OutputError(
                "The object store has a release at this address. Choose another name, or allow overwriting "
                "(--overwrite)."
            )

    def put(self, files: Sequence[Path]) -> list[dict[str, Any]]:
        """Put the files of a release under a prefix of their own: the name, size and digest of each object.

        Names are told from where the certificate will be. Nothing of it is a release yet.
        """
        digests = {file.name: _digest(file.open("rb")) for file in files}
        mark = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]
        objects = []
        for file in files:
            name = f"{self._place.stem}-{mark}/{file.name}"
            self._write(self._place.parent / name, file, digests[file.name])
            objects.append({"name": name, "bytes": file.stat().st_size, "sha256": digests[file.name]})
        return objects

    def seal(self, certificate: str, objects: Sequence[Mapping[str, Any]], *, overwrite: bool) -> None:
        """Put the certificate, which makes the objects the release; then those of the old one go."""
        self.require_free(overwrite=overwrite)
        outdated = self._prefixes() - {str(told["name"]).partition("/")[0] for told in objects}
        with (
            self._told("take the certificate; there is the old release, or the new one"),
            self._files.open_output_stream(str(self._certificate), compression=None) as stream,
        ):
            stream.write(certificate.encode())
        for prefix in sorted(outdated):
            with suppress(OSError):  # the new release is there: that something is left of the old does not undo it
                self._files.delete_dir(str(self._place.parent / prefix))

    def _write(self, place: PurePosixPath, file: Path, digest: str) -> None:
        with (
            self._told("be written to"),
            file.open("rb") as source,
            self._files.open_output_stream(str(place), compression=None) as stream,
        ):
            shutil.copyfileobj(source, stream, BLOCK)
        with self._told("be read back"):
            written = _digest(self._files.open_input_stream(str(place), compression=None))
        if written != digest:
            raise OutputError("The object store has something else than was written to it. Nothing was released there.")

    def _prefixes(self) -> set[str]:
        """Where the objects of the release are that is there; whatever else a certificate names is not ours."""
        try:
            with self._files.open_input_stream(str(self._certificate), compression=None) as stream:
                names = [told["name"] for told in json.loads(stream.read())["objects"]]
            ours = re.compile(rf"({re.escape(self._place.stem)}-{MARK})/[^/]+")
            return {found[1] for found in map(ours.fullmatch, names) if found}
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return set()


def _opened(address: str) -> tuple[FileSystem, str]:
    """A file system for an address, and the place in it."""
    from pyarrow import fs

    scheme, _, rest = address.partition("://")
    if scheme != "s3":
        opened: tuple[FileSystem, str] = fs.FileSystem.from_uri(address)
        return opened
    given: dict[str, Any] = {}
    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        given["endpoint_override"] = endpoint
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        given["region"] = region
    retry = fs.AwsStandardS3RetryStrategy(max_attempts=3)
    given["allow_delayed_open"] = True  # what is small comes in one piece
    return fs.S3FileSystem(
        request_timeout=SECONDS, connect_timeout=SECONDS, retry_strategy=retry, **given
    ), rest  # fmt: skip


def _digest(stream: Any) -> str:
    found = hashlib.sha256()
    with stream:
        while block := stream.read(BLOCK):
            found.update(block)
    return found.hexdigest()


def _fixed(place: PurePosixPath) -> PurePosixPath:
    """The part of a pattern before its first wildcard."""
    parts = place.parts
    return PurePosixPath(*parts[: next(number for number, part in enumerate(parts) if glob.has_magic(part))])


def _relative(key: str, base: PurePosixPath) -> PurePosixPath:
    """An object's name from a prefix on; as a path of this machine it goes down alone."""
    name = PurePosixPath(key).relative_to(base)
    if ".." in name.parts or name.is_absolute() or "\0" in key:
        raise TableError("The object store has a name that leads out of its folder; such objects are not read.")
    return name


def _is_data(key: str, base: PurePosixPath) -> bool:
    return not any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) for part in _relative(key, base).parts
    )


def _fits(key: str, pattern: PurePosixPath) -> bool:
    """Whether a name fits a pattern, part by part; ** stands for any number of parts."""

    def fits(parts: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        if not wanted:
            return not parts
        if wanted[0] == "**":
            return fits(parts, wanted[1:]) or (bool(parts) and fits(parts[1:], wanted))
        return bool(parts) and fnmatch.fnmatchcase(parts[0], wanted[0]) and fits(parts[1:], wanted[1:])

    return fits(PurePosixPath(key).parts, pattern.parts)
