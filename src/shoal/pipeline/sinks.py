"""Destinations of a release, and the release in memory.

A release takes one path (:func:`shoal.pipeline.run.release_to`), whatever its destination is::

    read -> decide -> apply -> sink.stage -> verify -> sink.publish

A sink stages the released table where its readers cannot see it, reads it back for verification, and publishes what was
verified, together with the documents that this destination has. Leaving the sink's context removes what was staged.

    MemorySink           a frame of the user's type      here
    FileSink             a file and its documents        file_sinks.py
    StoreSink            objects of a store              file_sinks.py
    StandardOutputSink   a CSV without documents         file_sinks.py
    DatabaseSink         a table of a server             database_sink.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self

from shoal.io.engines.base import Engine, Relation, Source
from shoal.io.frames import as_arrow, convert_like, drop_columns
from shoal.pipeline.decide import Decided
from shoal.plan.plan import Plan
from shoal.report import render, render_internal
from shoal.results.certificate import Certificate
from shoal.results.external import External
from shoal.results.report_facts import Description
from shoal.results.saved_table import identify
from shoal.runtime.lazy_dataclass import dataclass
from shoal.table import MethodFacts
from shoal.verification.independent import IndependentTable, read_frame
from shoal.verification.verify import needs_original


@dataclass(frozen=True)
class Staged:
    """A table at its destination, read back before it is published.

    Attributes
    ----------
    released
        The table as its readers will have it.
    numbered
        The same with person numbers, if models count people: the table that is verified.
    written
        What the independent verification reads itself; None where only the engine can read it.
    output
        What the certificate says about the table: its name, size and digest; None where it has none.
    path
        The staged file, if it is one.
    """

    released: Relation
    numbered: Relation
    written: IndependentTable | None = None
    output: Mapping[str, Any] | None = None
    path: Path | None = None


@dataclass(frozen=True)
class Documents:
    """Documents of a verified release; a sink renders those that it has.

    ``description`` is None where no report was asked for, ``recoding`` where it is not saved. ``loss_chart`` is a part
    of the internal report.
    """

    external: External
    figures: Mapping[str, Any]
    facts: MethodFacts
    description: Description | None = None
    recoding: str | None = None
    loss_chart: str = ""

    @property
    def certificate(self) -> Certificate:
        """The certificate."""
        return self.external.certificate

    def report(self) -> str:
        """Render the report for readers of the release."""
        return render(self.external)

    def internal_report(self) -> str:
        """Render the report for the owner."""
        assert self.description is not None
        return render_internal(self.figures, self.facts, self.description, self.loss_chart)


@dataclass(frozen=True)
class PublishedRelease:
    """PublishedRelease release: the table or its path, and the certificate.

    ``verified`` identifies a table in memory; see :class:`shoal.results.release.ReleaseResult`.
    """

    certificate: Certificate
    table: Any = None
    path: Path | None = None
    plan: Plan | None = None
    verified: Any = None


class Sink(Protocol):
    """Destination of a release; use it as a context manager.

    Entering it raises if the release cannot be published, before any work; leaving it removes what is not published.
    """

    step: ClassVar[str]
    """Name of the step that stages the table."""

    @property
    def has_report(self) -> bool:
        """Return whether the facts of a report are collected."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def stage(self, engine: Engine, decided: Decided) -> None:
        """Write the released table where only this run sees it."""
        ...

    def read_back(self, engine: Engine, decided: Decided) -> Staged:
        """Read the staged table as its readers will.

        If models count people, raises unless it has the rows of the table that is verified.
        """
        ...

    def publish(self, documents: Documents) -> PublishedRelease:
        """Publish the staged table and its documents, whole or not at all."""
        ...


@dataclass
class MemorySink:
    """A release in memory, of the type of the user's table.

    The object that is handed back is read for verification, as a conversion may change values.
    """

    like: Any
    step: ClassVar[str] = "applying"
    has_report: ClassVar[bool] = True
    _plan: Plan | None = field(default=None, init=False)
    _numbered: Any = field(default=None, init=False)
    _released: Any = field(default=None, init=False)
    _content: Any = field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._numbered = self._released = self._content = None

    def stage(self, engine: Engine, decided: Decided) -> None:
        """Convert the released table to the user's type."""
        schema = decided.plan.schema
        self._plan = decided.plan
        self._numbered = convert_like(engine.materialize(decided.numbered, self.like), self.like)
        if schema.linked:
            self._released = convert_like(engine.materialize(decided.released, self.like), self.like)
        else:
            self._released = drop_columns(self._numbered, schema.person[:1])

    def read_back(self, engine: Engine, decided: Decided) -> Staged:
        """Read the converted table; with person numbers, too, if it has them."""
        schema, published = decided.plan.schema, decided.plan.schema.published
        self._content = as_arrow(self._numbered)
        numbered = released = engine.read(Source(frame=self._content, with_nan=schema.quasi_identifiers))
        if schema.person:
            self._content = as_arrow(self._released)
            released = engine.read(Source(frame=self._content, with_nan=schema.quasi_identifiers))
        if schema.linked:
            decided.require_same(engine, released, numbered)
        frame = read_frame(self._numbered, published.quasi_identifiers, published.sensitive)
        return Staged(released, numbered, frame)

    def publish(self, documents: Documents) -> PublishedRelease:
        """Hand back the frame that was verified."""
        plan = self._plan
        assert plan is not None
        verified = None
        if needs_original(plan.schema, plan.model, plan.method.wildcard):
            verified = identify(self._content, plan.schema)
        return PublishedRelease(documents.certificate, self._released, plan=plan, verified=verified)
