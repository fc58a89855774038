"""Atomic publishing of a release.

A release is a table and its documents: certificate, report, and the owner's recoding and internal report. They are
written to a private folder next to their targets, synced, and moved there in one transaction. The folder has one name
per release, and only the run that has locked it works on that release.

Before the first move, a journal in the folder records which file goes to which target. The old documents are moved
aside (the certificate first), the table replaces the old one, and the new documents follow (the certificate last). So
at no moment is there a certificate next to a table that it does not describe. Then the journal is removed. Requests to
stop wait for that. If a process is killed midway, the next release to that output finds the journal. If the table had
not moved, it restores the old documents; if it had, it moves the new ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import logging
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from shoal.errors import OutputError
from shoal.io.formats import writer_of
from shoal.runtime import signals
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.scratch import LockedFolder, lock_folder

logger = logging.getLogger(__name__)

JOURNAL = "journal"
FORMAT = "shoal journal 1"
MAX_NAME_BYTES = 200

published: list[Path] = []
"""The tables that this process has published, so that its last message is correct."""


def certificate_of(path: Path) -> Path:
    """Return the path of the certificate of a released table.

    released.csv -> released.certificate.json
    """
    return path.with_name(f"{path.stem}.certificate.json")


def report_of(path: Path) -> Path:
    """Return the path of the report on a released table.

    released.csv -> released.report.html
    """
    return path.with_name(f"{path.stem}.report.html")


def recoding_of(path: Path) -> Path:
    """Return the path of the saved recoding of a released table.

    released.csv -> released.recoding
    """
    return path.with_name(f"{path.stem}.recoding")


def internal_report_of(path: Path) -> Path:
    """Return the path of the owner's report on a released table.

    released.csv -> released.internal.html
    """
    return path.with_name(f"{path.stem}.internal.html")


def release_paths(path: Path) -> tuple[Path, ...]:
    """Return the paths of a release: table, certificate and other documents."""
    return path, certificate_of(path), report_of(path), recoding_of(path), internal_report_of(path)


# -- before any work ---------------------------------------------------------------------------------


def check_output(path: Path, overwrite: bool, *, in_parts: bool = False) -> None:
    """Raise before any work if the output cannot be written.

    A release ``in_parts`` is a directory of files part-...; a directory with any other content is not replaced.
    """
    form = writer_of(path)
    if in_parts and form.module is not None:
        raise OutputError("output.spark-format-not-written", format=form.title)
    try:
        if path.is_dir() and not in_parts:
            raise OutputError("output.is-a-directory", path=str(path))
        if path.is_dir() and any(not (part.is_file() and part.name.startswith("part-")) for part in path.iterdir()):
            raise OutputError("output.directory-with-other-files", directory=str(path))
        for target in release_paths(path):
            _check_replaceable(target, overwrite, may_be_directory=in_parts and target == path)
        _check_name(path)
        if form.module is not None and form.name in ("sqlite", "duckdb"):
            _check_database(path, form.module)
        _check_folder(path.parent)
    except OSError as error:
        raise OutputError("output.not-writable", path=str(path), reason=error.strerror) from None
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError("output.directory-not-writable", directory=str(path.parent))


def _check_replaceable(target: Path, overwrite: bool, *, may_be_directory: bool = False) -> None:
    """Raise unless a path is free, or a regular file that may be replaced."""
    try:
        kind = os.lstat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(kind) and not (may_be_directory and stat.S_ISDIR(kind)):
        found = "a symbolic link" if stat.S_ISLNK(kind) else "no regular file"
        raise OutputError("output.not-a-regular-file", path=str(target), found=found)
    if not overwrite:
        raise OutputError("output.exists", path=str(target))


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise OutputError("output.directory-not-found", directory=str(folder))


def _check_database(path: Path, module: str) -> None:
    """Raise if a database has several tables, since it is replaced as a whole."""
    if not path.exists():
        return
    try:
        tables = importlib.import_module(module).tables_in(path)
    except Exception:
        raise OutputError("output.not-a-database", path=str(path)) from None
    if len(tables) > 1:
        raise OutputError("output.database-with-other-tables", path=str(path), tables=len(tables))


def _check_name(path: Path) -> None:
    """Raise if the certificate's path belongs to another table.

    x.csv and x.parquet would share one certificate. One that describes the other table is not replaced.
    """
    try:
        about = json.loads(certificate_of(path).read_bytes())["output"]["name"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return
    if isinstance(about, str) and about != path.name and about in os.listdir(path.parent):
        raise OutputError("output.certificate-of-other-table", certificate=certificate_of(path).name)


def check_inputs(path: Path, inputs: Mapping[str, Iterable[Path]]) -> None:
    """Raise if a release would replace one of its inputs, or lie inside one.

    ``inputs`` are files and folders by kind, such as "source".
    """
    _check_not_input(release_paths(path), inputs)


def check_folder_inputs(folder: Path, inputs: Mapping[str, Iterable[Path]]) -> None:
    """Raise if a release to a folder would replace one of its inputs."""
    _check_folder(folder.parent)
    _check_not_input((folder,), inputs)


def _check_not_input(targets: Sequence[Path], inputs: Mapping[str, Iterable[Path]]) -> None:
    for what, files in inputs.items():
        for file in files:
            for target in targets:
                ours, given = target.resolve(), file.resolve()
                if ours == given or ours in given.parents or (target.exists() and _same(target, file)):
                    raise OutputError("output.is-input", file=target.name, input=what)
                if given in ours.parents:
                    raise OutputError("output.inside-input", path=str(target), input=what)


def _same(target: Path, file: Path) -> bool:
    with contextlib.suppress(OSError):
        return target.samefile(file)
    return False


# -- a single file: a drafted plan, a figure, a table of numbers --------------------------------------


def check_target(target: Path, overwrite: bool, inputs: Mapping[str, Iterable[Path]]) -> None:
    """Raise before any work if a single file must not or cannot be written.

    The file belongs to no release: a drafted plan, a figure, a table of numbers.
    """
    _check_replaceable(target, overwrite)
    _check_not_input((target,), inputs)
    _check_folder(target.parent)


def write_text_atomic(target: Path, text: str) -> None:
    """Write a text file atomically; the caller has checked the target."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with signals.defer_signals():
            try:
                temporary.write_text(text, encoding="utf-8", newline="\n")
                _sync(temporary)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
            _sync(target.parent)
    except OSError as error:
        raise OutputError("output.file-not-writable", file=str(target), reason=error.strerror) from None


# -- the staging folder ------------------------------------------------------------------------------


def staging_of(path: Path) -> Path:
    """Return the staging folder of a release.

    All tables that share a certificate share the folder.
    """
    name = f".{path.stem}.shoal"
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        name = f".{path.stem[:40]}.{hashlib.sha256(os.fsencode(path.stem)).hexdigest()[:16]}.shoal"
    return path.with_name(name)


@contextlib.contextmanager
def staging(path: Path) -> Iterator[Path]:
    """Yield a private, locked folder on the output's file system.

    It is removed at the end. An interrupted publication is finished or undone first.
    """
    _check_folder(path.parent)
    locked = None
    try:
        with signals.defer_signals():
            locked = _enter(staging_of(path))
            _recover(locked.path)
            locked.clear()
        yield locked.path
    finally:
        with signals.defer_signals():
            if locked is not None and _exists(locked.path / JOURNAL):
                locked.unlock()  # the next release to this output finishes or undoes it
            elif locked is not None:
                locked.remove()


def _enter(folder: Path) -> LockedFolder:
    while True:
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
                _sync(folder.parent)
        except OSError as error:
            raise OutputError(
                "output.working-directory-not-writable", directory=str(folder.parent), reason=error.strerror
            ) from None
        try:
            locked = lock_folder(folder, make=True)
        except FileNotFoundError:  # a release that ended has removed it just now
            continue
        except OSError as error:
            raise OutputError("output.folder-not-locked", folder=str(folder), reason=error.strerror) from None
        if locked is None:
            raise OutputError("output.release-at-work", directory=str(folder.parent))
        return locked


# -- moving to the targets ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Move:
    """A file of the release: staged path, target, and backup of the old file.

    ``staged`` is None if the old file has no successor.
    """

    staged: Path | None
    target: Path
    backup: Path


@dataclass(frozen=True)
class _Journal:
    """The moves of a release, and the digest of its table."""

    table: _Move
    documents: tuple[_Move, ...]
    """The certificate is the last."""
    sha256: str

    @property
    def moves(self) -> tuple[_Move, ...]:
        return (self.table, *self.documents)

    @property
    def parent(self) -> Path:
        return self.table.target.parent

    @property
    def has_moved(self) -> bool:
        """Return whether the table has moved; then the release is not undone."""
        return self.table.staged is None or not _exists(self.table.staged)

    def write(self, folder: Path) -> None:
        """Write the journal to disk atomically, before anything moves."""
        moves = [[move.staged and move.staged.name, move.target.name] for move in self.moves]
        draft = folder / f"{JOURNAL}.new"
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, json.dumps({"format": FORMAT, "moves": moves, "sha256": self.sha256}).encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(draft, folder / JOURNAL)
        _sync(folder)

    @classmethod
    def read(cls, folder: Path) -> _Journal:
        """Read the journal that a killed run left."""
        content = json.loads((folder / JOURNAL).read_bytes())
        if content["format"] != FORMAT:
            raise ValueError
        return cls.of([(name and folder / _plain(name), folder.parent / _plain(target))
                       for name, target in content["moves"]], folder, content["sha256"])  # fmt: skip

    @classmethod
    def of(cls, moves: Sequence[tuple[Path | None, Path]], folder: Path, sha256: str) -> _Journal:
        table, *documents = (
            _Move(staged, target, folder / f"old-{number}") for number, (staged, target) in enumerate(moves)
        )
        return cls(table, tuple(documents), sha256)


def publish(
    table: tuple[Path, Path],
    others: Sequence[tuple[Path, Path]],
    outdated: Sequence[Path] = (),
    *,
    overwrite: bool = True,
    sha256: str | None = None,
) -> None:
    """Move finished files to their targets: the table, then its documents.

    Parameters
    ----------
    table, others
        Pairs of staged path and target. The others are the documents; the certificate is the last.
    outdated
        Documents of the replaced table without a successor: they are removed.
    overwrite
        Whether anything may be replaced; checked again here, since making the release takes time.
    sha256
        The digest of the table, if known.
    """
    folder = table[0].parent
    moves = [table, *((None, target) for target in outdated), *others]
    try:
        for staged, _ in (table, *others):
            for part in parts_of(staged):
                _sync(part)
            _sync(staged)
        journal = _Journal.of(moves, folder, sha256 or sha256_of(table[0]))
        with signals.defer_signals():
            signals.check()
            for move in journal.moves:
                _check_replaceable(move.target, overwrite, may_be_directory=move is journal.table)
            journal.write(folder)
            try:
                _begin(journal)
                _finish(journal)
            except OSError:
                if not _complete_or_undo(journal, folder):
                    raise
            _forget(folder)
            published.append(table[1])
        logger.debug("a table and %d documents were moved to their paths", len(others))
    except OSError as error:
        unfinished = " It is finished or undone by the next release there." if _exists(folder / JOURNAL) else ""
        raise OutputError(
            "output.not-moved", path=str(table[1]), reason=error.strerror, unfinished=unfinished
        ) from None


def _begin(journal: _Journal) -> None:
    """Move the old documents aside, the certificate first; then the table."""
    table = journal.table
    assert table.staged is not None
    for move in reversed(journal.documents):
        if _exists(move.target):
            os.replace(move.target, move.backup)
    _sync(journal.parent)
    if _exists(table.target) and (table.staged.is_dir() or table.target.is_dir()):
        os.replace(table.target, table.backup)  # a directory cannot replace another one
    os.replace(table.staged, table.target)
    _sync(journal.parent)


def _finish(journal: _Journal) -> None:
    """Move the new documents to their targets, the certificate last."""
    for move in journal.documents:
        if move.staged is not None and _exists(move.staged):
            os.replace(move.staged, move.target)
    _sync(journal.parent)


def _complete_or_undo(journal: _Journal, folder: Path) -> bool:
    """Complete or undo interrupted moves; return whether the release is new."""
    moved = journal.has_moved
    for move in journal.moves:
        waiting = move.staged if moved else move.backup
        if waiting is not None and _exists(waiting) and _exists(move.target):
            raise OutputError(
                "output.broken-off-and-changed",
                path=str(journal.table.target),
                made_since=move.target.name,
                folder=folder.name,
            )
    if not moved:
        for move in journal.moves:
            if _exists(move.backup):
                os.replace(move.backup, move.target)
        _sync(journal.parent)
    elif _exists(journal.table.target) and sha256_of(journal.table.target) == journal.sha256:
        _finish(journal)
    # else the table has been removed since: the documents would describe nothing
    return moved


def _recover(folder: Path) -> None:
    """Finish or undo the publication that a killed run had begun."""
    if not _exists(folder / JOURNAL):
        return
    try:
        _complete_or_undo(_Journal.read(folder), folder)
        _forget(folder)
    except OSError as error:
        raise OutputError("output.broken-off-not-completed", reason=error.strerror) from None
    except (ValueError, LookupError, TypeError):
        raise OutputError("output.broken-off-journal-unreadable", folder=str(folder)) from None


def _forget(folder: Path) -> None:
    """Remove the journal of a complete release."""
    os.unlink(folder / JOURNAL)
    _sync(folder)


def _plain(name: str) -> str:
    """Return a file name, or raise if it contains a path."""
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError
    return name


def _exists(path: Path) -> bool:
    """Return whether a path exists, be it a broken link."""
    return os.path.lexists(path)


def _sync(path: Path) -> None:
    """Flush a file, or the entries of a directory, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- a table, in one file or in parts ----------------------------------------------------------------


def parts_of(path: Path) -> list[Path]:
    """Return the files of a table: itself, or the sorted parts of a directory."""
    return sorted(path.iterdir()) if path.is_dir() else [path]


def size_of(path: Path) -> int:
    """Return the size of a table in bytes, over all its parts."""
    return sum(part.stat().st_size for part in parts_of(path))


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a table.

    For a directory it is the digest of the output of ``sha256sum part-*`` in it.
    """
    if path.is_dir():
        listed = "".join(f"{sha256_of(part)}  {part.name}\n" for part in parts_of(path))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
