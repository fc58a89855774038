"""Sinks that stage a file: paths, object stores, standard output.

Each is staged as a file of a private folder, and read back from it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from shoal.errors import OutputError
from shoal.io.engines.base import Engine, Relation, Source
from shoal.io.formats import PLAIN, STANDARD, Writing, writer_of
from shoal.io.formats.object_store import Store
from shoal.io.publish import (
    certificate_of,
    check_inputs,
    check_output,
    internal_report_of,
    parts_of,
    publish,
    published,
    recoding_of,
    release_paths,
    report_of,
    sha256_of,
    size_of,
    staging,
)
from shoal.pipeline.decide import Decided
from shoal.pipeline.sinks import Documents, PublishedRelease, Staged
from shoal.results.certificate import PublishedFile
from shoal.results.signatures import ROLES, signature_of
from shoal.runtime import signals
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.scratch import make_scratch
from shoal.table.spreadsheet_safety import NeutralizedTable, neutralize
from shoal.verification.independent import WrittenTable, is_readable
from shoal.verification.verify import require_same_files


def writer_options(decided: Decided) -> Writing:
    """Build the writer's options.

    They are the labels of published columns, and the columns that were not text in the source.
    """
    origin, output = decided.origin, decided.plan.output
    labels = {name: found for name, found in origin.labels.items() if name in decided.released.columns}
    coded = frozenset(name for name, kind in zip(origin.columns, origin.types, strict=True) if kind != "VARCHAR")
    return Writing(labels, coded, None if output is None else output.table)


@dataclass
class StagedFile:
    """A table in a file of a private folder.

    Attributes
    ----------
    path
        The staged file.
    people_path
        The file of the same rows with person numbers, written if models count people. It is never published.
    name
        The name of the table in its certificate.
    """

    path: Path
    people_path: Path
    name: str
    _source: Source = field(default_factory=Source, init=False)
    _writing: Writing = field(default=PLAIN, init=False)
    _neutralized: NeutralizedTable | None = field(default=None, init=False)
    sha256: str = field(default="", init=False)

    def write(
        self, engine: Engine, table: Relation, writing: Writing = PLAIN, *, spreadsheet_safe: bool = False
    ) -> None:
        """Write a table to the staged file."""
        self._writing = writing
        self._neutralized = neutralize(engine, table) if spreadsheet_safe else None
        self._source = engine.write(self._neutralized.table if self._neutralized else table, self.path, writing)
        self.sha256 = sha256_of(self.path)

    def read(self, engine: Engine, with_nan: tuple[str, ...]) -> Relation:
        """Read the file back; cells neutralized for spreadsheets are restored."""
        found = engine.read(replace(self._source, with_nan=with_nan))
        return self._neutralized.restore(engine, found) if self._neutralized else found

    def read_back(self, engine: Engine, decided: Decided) -> Staged:
        """Read the file back, with the person numbers if models count people.

        The rows with and without them are read from files of one format, so that equal cells are equal text.
        """
        schema = decided.plan.schema
        released = numbered = self.read(engine, schema.quasi_identifiers)
        verified = self._source
        if schema.person:
            verified = engine.write(decided.numbered, self.people_path, self._writing)
            numbered = engine.read(verified)
            decided.require_same(engine, released, numbered)
        written = _written_table(verified, numbered)
        safe = self._neutralized is not None
        if written is not None and written.path != self.path:
            names = [name for name in released.columns if name not in schema.person]
            file = replace(written, path=self.path, columns=released.columns, has_apostrophes=safe)
            require_same_files(file, written, names)
        elif written is not None:
            written = replace(written, has_apostrophes=safe)
        return Staged(released, numbered, written, self.output, self.path)

    @property
    def output(self) -> dict[str, Any]:
        """Name, size and digest of the file, for the certificate."""
        return {"name": self.name, "bytes": size_of(self.path), "sha256": self.sha256}


def _written_table(source: Source, written: Relation) -> WrittenTable | None:
    """Return what was written for the independent verification to read.

    None for formats of other packages, which only the engine reads.
    """
    if source.path is None or not is_readable(source.path):
        return None
    return WrittenTable(source.path, written.columns, labelled=source.reading.decoded if source.reading else ())


def _stage_documents(texts: Mapping[Path, str], folder: Path) -> list[tuple[Path, Path]]:
    """Write the documents of a release into the staging folder.

    Returns pairs of staged and final path.
    """
    staged = [(folder / f"{number}.text", target) for number, target in enumerate(texts)]
    try:
        for document, target in staged:
            document.write_text(texts[target], encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError("output.certificate-not-written", folder=str(folder.parent), reason=error.strerror) from None
    return staged


@dataclass
class _FolderSink:
    """Base of sinks that stage a file in a private folder."""

    step: ClassVar[str] = "writing"
    _stack: ExitStack = field(default_factory=ExitStack, init=False)
    _file: StagedFile | None = field(default=None, init=False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def file(self) -> StagedFile:
        """The staged file, inside the sink's context."""
        assert self._file is not None
        return self._file

    def _scratch_folder(self) -> Path:
        """Make a private folder that is removed with the context."""
        scratch = make_scratch(Path(tempfile.gettempdir()), "shoal-")
        self._stack.callback(scratch.remove)
        return scratch.path

    def stage(self, engine: Engine, decided: Decided) -> None:
        """Write the released table to the private folder."""
        output = decided.plan.output
        spreadsheet_safe = output is not None and output.spreadsheet_safe
        self.file.write(engine, decided.released, writer_options(decided), spreadsheet_safe=spreadsheet_safe)

    def read_back(self, engine: Engine, decided: Decided) -> Staged:
        """Read the staged file as its readers will."""
        return self.file.read_back(engine, decided)


@dataclass
class FileSink(_FolderSink):
    """A file and its documents, moved to their paths in one transaction.

    Attributes
    ----------
    name
        The name in the certificate; by default that of the path.
    in_parts
        Whether the file may be a folder of parts.
    inputs
        Files by kind that must not be replaced.
    report, internal_report
        Whether these are written.
    recoding
        The saved recoding in use: it belongs to the new release too, and is not removed.
    """

    path: Path
    overwrite: bool
    name: str | None = None
    in_parts: bool = False
    inputs: Mapping[str, Iterable[Path]] = field(default_factory=dict)
    report: bool = True
    internal_report: bool = False
    recoding: Path | None = None

    @property
    def has_report(self) -> bool:
        """Return whether the facts of a report are collected."""
        return self.report or self.internal_report

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            folder = entered.enter_context(staging(self.path))
            check_output(self.path, self.overwrite, in_parts=self.in_parts)
            check_inputs(self.path, self.inputs)
            self._stack = entered.pop_all()
        suffix = self.path.suffix.lower()
        self._file = StagedFile(folder / f"table{suffix}", folder / f"people{suffix}", self.name or self.path.name)
        return self

    def publish(self, documents: Documents) -> PublishedRelease:
        """Move the table and its documents to their paths; the certificate last."""
        path = self.path
        texts: dict[Path, str] = {}
        if self.internal_report:
            texts[internal_report_of(path)] = documents.internal_report()
        if self.report:
            texts[report_of(path)] = documents.report()
        if documents.recoding is not None:
            texts[recoding_of(path)] = documents.recoding
        texts[certificate_of(path)] = documents.certificate.to_json()
        others = _stage_documents(texts, self.file.path.parent)
        used = () if self.recoding is None else (self.recoding.resolve(),)
        previous = (*release_paths(path)[1:], *(signature_of(path, role) for role in ROLES))
        outdated = [target for target in previous if target not in texts and target.resolve() not in used]
        publish((self.file.path, path), others, outdated, overwrite=self.overwrite, sha256=self.file.sha256)
        return PublishedRelease(documents.certificate, path=path)


@dataclass
class StoreSink(_FolderSink):
    """Objects of a store, by way of a private folder; the certificate is last."""

    path: Path
    overwrite: bool
    name: str
    report: bool = True
    _store: Store | None = field(default=None, init=False)

    @property
    def has_report(self) -> bool:
        """Return whether the facts of a report are collected."""
        return self.report

    def __enter__(self) -> Self:
        writer_of(self.path)
        self._store = Store(self.path, OutputError)
        self._store.require_free(overwrite=self.overwrite)  # before any work: missing rights, no store
        folder = self._scratch_folder()
        objects = folder / "objects"
        objects.mkdir(mode=0o700)
        people = folder / f"people{self.path.suffix.lower()}"
        self._file = StagedFile(objects / self.path.name, people, self.name)
        return self

    def publish(self, documents: Documents) -> PublishedRelease:
        """Upload table and report, then the certificate that names them."""
        assert self._store is not None
        files = [self.file.path]
        if self.report:
            files.append(report_of(self.file.path))
            files[-1].write_text(documents.report(), encoding="utf-8", newline="\n")
        signals.check()
        objects = self._store.put(files)
        certificate = replace(documents.certificate, objects=tuple(PublishedFile(**entry) for entry in objects))
        with signals.defer_signals():
            self._store.seal(certificate.to_json(), objects, overwrite=self.overwrite)
            published.append(self.path)
        return PublishedRelease(certificate, path=self.path.parent / objects[0]["name"])


@dataclass
class StandardOutputSink(_FolderSink):
    """A CSV on standard output, without documents.

    It is verified before its first byte is written.
    """

    has_report: ClassVar[bool] = False

    def __enter__(self) -> Self:
        folder = self._scratch_folder()
        self._file = StagedFile(folder / "table.csv", folder / "people.csv", str(STANDARD))
        return self

    def publish(self, documents: Documents) -> PublishedRelease:
        """Write the bytes of the verified file."""
        try:
            for part in parts_of(self.file.path):
                with part.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.flush()
        except BrokenPipeError:
            raise OutputError("output.standard-output-closed") from None
        return PublishedRelease(documents.certificate, path=STANDARD)
