"""Object stores, such as s3://bucket/name.csv, through PyArrow.

A source is copied once to the engine's private folder and then read like any other file. A release is made and verified
on this machine. Its files are stored under a new prefix, named by their content, and are read back and compared. Then
one small object, the certificate with their names and digests, is replaced in one step and makes them the release. An
interruption before that leaves the old certificate, with the objects that it names.

Keys come from the environment (``AWS_ACCESS_KEY_ID``, ...) and are not repeated; the error messages of a store are not
passed on.
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

BLOCK_BYTES = 1 << 20
DIGEST_PATTERN = r"[0-9a-f]{16}"
TIMEOUT_SECONDS = 60
REASONS = {
    "ACCESS_DENIED": "it gives no right to do that",
    "INVALID_ACCESS_KEY_ID": "it does not know this key",
    "SIGNATURE_DOES_NOT_MATCH": "it does not take this key",
    "NO_SUCH_BUCKET": "there is no such bucket",
    "NETWORK_CONNECTION": "it cannot be reached",
}


class Store:
    """A location in a store, with or without an object.

    ``fault`` is the exception class for errors of the store.
    """

    def __init__(self, path: Path, fault: type[InputError]) -> None:
        address = address_of(path)
        assert address is not None
        self._fault = fault
        with self._translate_errors("be reached"):
            self._files, location = _opened(address)
        self._location = PurePosixPath(location)

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        """Replace the store's error by a message without its text."""
        try:
            yield
        except InputError:
            raise
        except (OSError, ValueError, NotImplementedError) as error:
            text = str(error)
            reason = next((words for sign, words in REASONS.items() if sign in text), "it refused, or was not reached")
            raise self._fault("files.object-store-failed", action=what, reason=reason) from None

    # -- reading ---------------------------------------------------------------------------------

    def fetch(self, folder: Path) -> Path:
        """Copy the objects of the address into a local folder; return the path.

        That is one object, all objects below a prefix, or those that match a pattern. Names that begin with a dot or an
        underscore are skipped.
        """
        from pyarrow.fs import FileSelector, FileType

        name = self._location.name
        with self._translate_errors("be asked for this table"):
            found = self._info(self._location)
            if found.type == FileType.File:
                self._copy(self._location, folder / name)
                return folder / name
            pattern = found.type == FileType.NotFound and glob.has_magic(str(self._location))
            base = _fixed(self._location) if pattern else self._location
            listed = self._files.get_file_info(FileSelector(str(base), recursive=True, allow_not_found=True))
        wanted = sorted(
            (info for info in listed if info.type == FileType.File and _is_data(info.path, base)),
            key=lambda info: info.path,
        )
        if pattern:
            wanted = [info for info in wanted if _fits(info.path, self._location)]
        if not wanted:
            raise TableError("files.object-not-found")
        within = folder / base.name
        for info in wanted:
            location = within / _relative(info.path, base)
            location.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._copy(PurePosixPath(info.path), location)
        return within / self._location.relative_to(base) if pattern else within

    def _info(self, location: PurePosixPath) -> FileInfo:
        return self._files.get_file_info(str(location))

    def _copy(self, name: PurePosixPath, location: Path) -> None:
        what = repr(name.name)
        with self._translate_errors("be read to the end"):
            before = self._info(name)
            with self._files.open_input_stream(
                str(name), compression=None
            ) as stream:  # else it decompresses by extension
                copy_blocks(stream, location, what)
            after = self._info(name)
        if (after.size, after.mtime_ns) != (before.size, before.mtime_ns) or location.stat().st_size != before.size:
            raise TableError("files.object-changed", file=what)

    # -- writing ---------------------------------------------------------------------------------

    @property
    def _certificate(self) -> PurePosixPath:
        return self._location.with_name(f"{self._location.stem}.certificate.json")

    def require_free(self, *, overwrite: bool) -> None:
        """Raise if there is a release that may not be replaced."""
        from pyarrow.fs import FileType

        with self._translate_errors("be asked for an old release"):
            found = self._info(self._certificate).type
        if found != FileType.NotFound and not overwrite:
            raise OutputError("output.object-exists")

    def put(self, files: Sequence[Path]) -> list[dict[str, Any]]:
        """Store the files of a release under a new prefix.

        Returns the name, size and digest of each object; names are relative to the certificate. They are not a release
        yet.
        """
        digests = {file.name: _digest(file.open("rb")) for file in files}
        mark = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]
        objects = []
        for file in files:
            name = f"{self._location.stem}-{mark}/{file.name}"
            self._write(self._location.parent / name, file, digests[file.name])
            objects.append({"name": name, "bytes": file.stat().st_size, "sha256": digests[file.name]})
        return objects

    def seal(self, certificate: str, objects: Sequence[Mapping[str, Any]], *, overwrite: bool) -> None:
        """Write the certificate, which makes the objects the release.

        Then the objects of the old release are deleted.
        """
        self.require_free(overwrite=overwrite)
        outdated = self._prefixes() - {str(entry["name"]).partition("/")[0] for entry in objects}
        with (
            self._translate_errors("take the certificate; there is the old release, or the new one"),
            self._files.open_output_stream(str(self._certificate), compression=None) as stream,
        ):
            stream.write(certificate.encode())
        for prefix in sorted(outdated):
            with suppress(OSError):  # the new release is complete: remains of the old one do no harm
                self._files.delete_dir(str(self._location.parent / prefix))

    def _write(self, location: PurePosixPath, file: Path, digest: str) -> None:
        with (
            self._translate_errors("be written to"),
            file.open("rb") as source,
            self._files.open_output_stream(str(location), compression=None) as stream,
        ):
            shutil.copyfileobj(source, stream, BLOCK_BYTES)
        with self._translate_errors("be read back"):
            written = _digest(self._files.open_input_stream(str(location), compression=None))
        if written != digest:
            raise OutputError("output.object-differs")

    def _prefixes(self) -> set[str]:
        """Return the prefixes of the current release's objects.

        Other objects that a certificate names are not of this release.
        """
        try:
            with self._files.open_input_stream(str(self._certificate), compression=None) as stream:
                names = [entry["name"] for entry in json.loads(stream.read())["objects"]]
            ours = re.compile(rf"({re.escape(self._location.stem)}-{DIGEST_PATTERN})/[^/]+")
            return {found[1] for found in map(ours.fullmatch, names) if found}
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return set()


def _opened(address: str) -> tuple[FileSystem, str]:
    """Return a file system for an address, and the location in it."""
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
    given["allow_delayed_open"] = True  # small objects are written in one request
    return fs.S3FileSystem(
        request_timeout=TIMEOUT_SECONDS, connect_timeout=TIMEOUT_SECONDS, retry_strategy=retry, **given
    ), rest  # fmt: skip


def _digest(stream: Any) -> str:
    found = hashlib.sha256()
    with stream:
        while block := stream.read(BLOCK_BYTES):
            found.update(block)
    return found.hexdigest()


def _fixed(location: PurePosixPath) -> PurePosixPath:
    """Return the part of a pattern before its first wildcard."""
    parts = location.parts
    return PurePosixPath(*parts[: next(number for number, part in enumerate(parts) if glob.has_magic(part))])


def _relative(key: str, base: PurePosixPath) -> PurePosixPath:
    """Return an object's name relative to a prefix.

    As a local path it must stay below its folder.
    """
    name = PurePosixPath(key).relative_to(base)
    if ".." in name.parts or name.is_absolute() or "\0" in key:
        raise TableError("files.object-leads-out")
    return name


def _is_data(key: str, base: PurePosixPath) -> bool:
    return not any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) for part in _relative(key, base).parts
    )


def _fits(key: str, pattern: PurePosixPath) -> bool:
    """Return whether a name matches a pattern, part by part.

    ``**`` stands for any number of parts.
    """

    def fits(parts: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        if not wanted:
            return not parts
        if wanted[0] == "**":
            return fits(parts, wanted[1:]) or (bool(parts) and fits(parts[1:], wanted))
        return bool(parts) and fnmatch.fnmatchcase(parts[0], wanted[0]) and fits(parts[1:], wanted[1:])

    return fits(PurePosixPath(key).parts, pattern.parts)
