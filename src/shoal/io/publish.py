"""Output that appears whole or not at all.

A release is a table and the papers on it: certificate, report, recoding. They are written into a private folder beside
their places, synced, and moved there in one transaction. The folder has one name for each release, and whoever holds
its lock is the only one at work on that release.

Before the first move a journal in the folder says which file goes where. The old papers are set aside (the certificate
first), the table takes the old one's place, and the new papers follow (the certificate last): no moment has a
certificate beside a table that it is not about. Then the journal goes. Requests to stop wait for that. Where a process
was killed on the way, the next release to that output finds the journal: as long as the table had not moved the old
papers come back, and once it had the new ones follow it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import OutputError
from shoal.io.formats import writer_of
from shoal.runtime import signals
from shoal.runtime.scratch import Held, hold

__all__ = [
    "certificate_of",
    "check_inputs",
    "check_output",
    "check_paper",
    "parts_of",
    "places_of",
    "publish",
    "published",
    "recoding_of",
    "report_of",
    "sha256_of",
    "size_of",
    "staging",
    "staging_of",
    "write_paper",
]

JOURNAL = "journal"
FORMAT = "shoal journal 1"
LONGEST_NAME = 200

published: list[Path] = []
"""The tables that this process has published, so that whoever ends it can say what is true."""


def certificate_of(path: Path) -> Path:
    """Where the certificate of a released table stands: released.csv -> released.certificate.json."""
    return path.with_name(f"{path.stem}.certificate.json")


def report_of(path: Path) -> Path:
    """Where the report on a released table stands: released.csv -> released.report.html."""
    return path.with_name(f"{path.stem}.report.html")


def recoding_of(path: Path) -> Path:
    """Where the recoding of a released table is kept: released.csv -> released.recoding."""
    return path.with_name(f"{path.stem}.recoding")


def places_of(path: Path) -> tuple[Path, Path, Path, Path]:
    """Where the files of a release stand: its table, certificate, report and recoding."""
    return path, certificate_of(path), report_of(path), recoding_of(path)


# -- before any work ---------------------------------------------------------------------------------


def check_output(path: Path, overwrite: bool, *, in_parts: bool = False) -> None:
    """Raise before any work where the output could not be written.

    A release ``in_parts`` is a directory of files part-...; no directory that holds anything else is replaced.
    """
    form = writer_of(path)
    if in_parts and form.module is not None:
        raise OutputError(f"Spark writes CSV and Parquet, not {form.title}; choose another output, or engine duckdb.")
    try:
        if path.is_dir() and not in_parts:
            raise OutputError(f"The output {str(path)!r} is a directory; name a file in it.")
        if path.is_dir() and any(not (part.is_file() and part.name.startswith("part-")) for part in path.iterdir()):
            raise OutputError(f"The directory {str(path)!r} holds other files than a release; choose another name.")
        for place in places_of(path):
            _check_place(place, overwrite, may_be_directory=in_parts and place == path)
        _check_name(path)
        if form.module is not None and form.name in ("sqlite", "duckdb"):
            _check_database(path, form.module)
        _check_folder(path.parent)
    except OSError as error:
        raise OutputError(f"The output {str(path)!r} cannot be written: {error.strerror}. Choose another.") from None
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"The directory {str(path.parent)!r} is not writable. Choose another, or change its mode.")


def _check_place(place: Path, overwrite: bool, *, may_be_directory: bool = False) -> None:
    """Only a file of its own may stand where a file of a release goes, and only where it may be replaced."""
    try:
        kind = os.lstat(place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(kind) and not (may_be_directory and stat.S_ISDIR(kind)):
        found = "a symbolic link" if stat.S_ISLNK(kind) else "no regular file"
        raise OutputError(f"What stands at {str(place)!r} is {found} and is not replaced; choose another name.")
    if not overwrite:
        raise OutputError(
            f"The output {str(place)!r} exists. Remove it, choose another name, or allow overwriting (--overwrite)."
        )


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise OutputError(f"The directory {str(folder)!r} does not exist; create it first.")


def _check_database(path: Path, module: str) -> None:
    """A database is replaced as a whole: it may hold one table alone."""
    if not path.exists():
        return
    try:
        tables = importlib.import_module(module).tables_in(path)
    except Exception:
        raise OutputError(f"What stands at {str(path)!r} is no database that can be looked into; move it.") from None
    if len(tables) > 1:
        raise OutputError(
            f"The database {str(path)!r} holds {len(tables)} tables and would be replaced as a whole. Release to a "
            f"database of its own."
        )


def _check_name(path: Path) -> None:
    """x.csv and x.parquet would have one certificate: where that is about the other table, it stays so."""
    try:
        about = json.loads(certificate_of(path).read_bytes())["output"]["name"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return
    if isinstance(about, str) and about != path.name and about in os.listdir(path.parent):
        raise OutputError(
            f"The certificate {certificate_of(path).name!r} is about another table that stands beside it; choose an "
            f"output of another name, or remove that release first."
        )


def check_inputs(path: Path, inputs: Mapping[str, Iterable[Path]]) -> None:
    """Raise where a release would stand in the place of something that it is made from, or inside of it.

    ``inputs`` are files and folders by what they are, such as "source".
    """
    _check_apart(places_of(path), inputs)


def _check_apart(places: Sequence[Path], inputs: Mapping[str, Iterable[Path]]) -> None:
    for what, files in inputs.items():
        for file in files:
            for place in places:
                ours, given = place.resolve(), file.resolve()
                if ours == given or ours in given.parents or (place.exists() and _same(place, file)):
                    raise OutputError(
                        f"What is written, {place.name!r}, must not be the {what} itself; choose another name."
                    )
                if given in ours.parents:
                    raise OutputError(
                        f"The output {str(place)!r} must not lie in the folder of the {what}; choose another."
                    )


def _same(place: Path, file: Path) -> bool:
    with contextlib.suppress(OSError):
        return place.samefile(file)
    return False


# -- a paper of its own: a drafted plan, a picture, a table of figures --------------------------------


def check_paper(place: Path, overwrite: bool, inputs: Mapping[str, Iterable[Path]]) -> None:
    """Raise before any work where one file that goes with no release must not, or cannot, be written."""
    _check_place(place, overwrite)
    _check_apart((place,), inputs)
    _check_folder(place.parent)


def write_paper(place: Path, text: str) -> None:
    """Write a text file that appears whole or not at all; what else stands there must have been checked."""
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with signals.deferred():
            try:
                beside.write_text(text, encoding="utf-8", newline="\n")
                _sync(beside)
                beside.replace(place)
            finally:
                beside.unlink(missing_ok=True)
            _sync(place.parent)
    except OSError as error:
        raise OutputError(f"The file {str(place)!r} cannot be written: {error.strerror}. Choose another.") from None


# -- the folder beside the output --------------------------------------------------------------------


def staging_of(path: Path) -> Path:
    """The folder in which a release is made ready: one for all tables that share a certificate."""
    name = f".{path.stem}.shoal"
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = f".{path.stem[:40]}.{hashlib.sha256(os.fsencode(path.stem)).hexdigest()[:16]}.shoal"
    return path.with_name(name)


@contextlib.contextmanager
def staging(path: Path) -> Iterator[Path]:
    """A private folder on the output's file system, held by this run alone and removed at the end.

    What a killed run had begun to publish is finished or undone first.
    """
    _check_folder(path.parent)
    held = None
    try:
        with signals.deferred():
            held = _enter(staging_of(path))
            _recover(held.path)
            held.clear()
        yield held.path
    finally:
        with signals.deferred():
            if held is not None and _exists(held.path / JOURNAL):
                held.leave()  # the next release to this output finishes or undoes it
            elif held is not None:
                held.remove()


def _enter(folder: Path) -> Held:
    while True:
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
                _sync(folder.parent)
        except OSError as error:
            raise OutputError(
                f"The directory {str(folder.parent)!r} is not writable: {error.strerror}. Choose another."
            ) from None
        try:
            held = hold(folder, make=True)
        except FileNotFoundError:  # a release that ended has removed it just now
            continue
        except OSError as error:
            raise OutputError(
                f"The folder {str(folder)!r} cannot be held: {error.strerror}. Remove it, or choose another output."
            ) from None
        if held is None:
            raise OutputError(
                f"Another release to {str(folder.parent)!r} under this name is at work. Wait for its end, or choose "
                f"another name."
            )
        return held


# -- moving to the places ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Move:
    """A file of the release: where it is staged (None: it has no successor), its place, where the old one is kept."""

    staged: Path | None
    place: Path
    kept: Path


@dataclass(frozen=True)
class _Journal:
    """What is to move, and the digest of the table that does."""

    table: _Move
    papers: tuple[_Move, ...]
    """The certificate is the last."""
    sha256: str

    @property
    def moves(self) -> tuple[_Move, ...]:
        return (self.table, *self.papers)

    @property
    def parent(self) -> Path:
        return self.table.place.parent

    @property
    def has_moved(self) -> bool:
        """Whether the table has: from there on there is no way back."""
        return self.table.staged is None or not _exists(self.table.staged)

    def write(self, folder: Path) -> None:
        """Have the journal on disk, whole, before anything moves."""
        moves = [[move.staged and move.staged.name, move.place.name] for move in self.moves]
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
        """The journal that a killed run left."""
        content = json.loads((folder / JOURNAL).read_bytes())
        if content["format"] != FORMAT:
            raise ValueError
        return cls.of([(name and folder / _plain(name), folder.parent / _plain(place))
                       for name, place in content["moves"]], folder, content["sha256"])  # fmt: skip

    @classmethod
    def of(cls, moves: Sequence[tuple[Path | None, Path]], folder: Path, sha256: str) -> _Journal:
        table, *papers = (
            _Move(staged, place, folder / f"old-{number}") for number, (staged, place) in enumerate(moves)
        )
        return cls(table, tuple(papers), sha256)


def publish(
    table: tuple[Path, Path],
    others: Sequence[tuple[Path, Path]],
    outdated: Sequence[Path] = (),
    *,
    overwrite: bool = True,
    sha256: str | None = None,
) -> None:
    """Move finished files to their places: the table, then what belongs to it (pairs of from and to).

    Parameters
    ----------
    others
        The papers; the certificate is the last.
    outdated
        Papers on the table that is replaced that have no successor: they go with it.
    overwrite
        Whether anything may be replaced; asked again here, since making the release took its time.
    sha256
        The digest of the table, where it is known.
    """
    folder = table[0].parent
    moves = [table, *((None, place) for place in outdated), *others]
    try:
        for staged, _ in (table, *others):
            for part in parts_of(staged):
                _sync(part)
            _sync(staged)
        journal = _Journal.of(moves, folder, sha256 or sha256_of(table[0]))
        with signals.deferred():
            signals.check()
            for move in journal.moves:
                _check_place(move.place, overwrite, may_be_directory=move is journal.table)
            journal.write(folder)
            try:
                _begin(journal)
                _finish(journal)
            except OSError:
                if not _settle(journal, folder):
                    raise
            _forget(folder)
            published.append(table[1])
    except OSError as error:
        unfinished = " It is finished or undone by the next release there." if _exists(folder / JOURNAL) else ""
        raise OutputError(
            f"The release cannot be moved to {str(table[1])!r}: {error.strerror}. Choose another place.{unfinished}"
        ) from None


def _begin(journal: _Journal) -> None:
    """Set the old papers aside, the certificate first; then the table takes its place."""
    table = journal.table
    assert table.staged is not None
    for move in reversed(journal.papers):
        if _exists(move.place):
            os.replace(move.place, move.kept)
    _sync(journal.parent)
    if _exists(table.place) and (table.staged.is_dir() or table.place.is_dir()):
        os.replace(table.place, table.kept)  # a directory takes no other's place
    os.replace(table.staged, table.place)
    _sync(journal.parent)


def _finish(journal: _Journal) -> None:
    """The new papers follow their table, the certificate last."""
    for move in journal.papers:
        if move.staged is not None and _exists(move.staged):
            os.replace(move.staged, move.place)
    _sync(journal.parent)


def _settle(journal: _Journal, folder: Path) -> bool:
    """Make the release whole after moves that were broken off: the old one or the new one; is it the new one?"""
    moved = journal.has_moved
    for move in journal.moves:
        waiting = move.staged if moved else move.kept
        if waiting is not None and _exists(waiting) and _exists(move.place):
            raise OutputError(
                f"A release to {str(journal.table.place)!r} was broken off, and {move.place.name!r} was made since. "
                f"Move that away; or remove the folder {folder.name!r} beside it, with what is left of both releases."
            )
    if not moved:
        for move in journal.moves:
            if _exists(move.kept):
                os.replace(move.kept, move.place)
        _sync(journal.parent)
    elif _exists(journal.table.place) and sha256_of(journal.table.place) == journal.sha256:
        _finish(journal)
    # else somebody has taken the table away since: there is nothing that the papers could be about
    return moved


def _recover(folder: Path) -> None:
    """Finish or undo what a killed run had begun to publish."""
    if not _exists(folder / JOURNAL):
        return
    try:
        _settle(_Journal.read(folder), folder)
        _forget(folder)
    except OSError as error:
        raise OutputError(f"A release that was broken off cannot be made whole: {error.strerror}.") from None
    except (ValueError, LookupError, TypeError):
        raise OutputError(
            f"The folder {str(folder)!r} holds a release that was broken off, and its journal cannot be read. Remove "
            f"the folder; what stands beside it may lack its certificate."
        ) from None


def _forget(folder: Path) -> None:
    """The release is whole: the journal goes."""
    os.unlink(folder / JOURNAL)
    _sync(folder)


def _plain(name: str) -> str:
    """A name of a file, which leads nowhere else."""
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError
    return name


def _exists(path: Path) -> bool:
    """Whether anything stands there, be it a link that leads nowhere."""
    return os.path.lexists(path)


def _sync(path: Path) -> None:
    """Have a file, or a directory's list of names, on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- a table, in one file or in parts ----------------------------------------------------------------


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
