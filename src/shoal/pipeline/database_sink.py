"""Release to a table of a database server, in one transaction."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from shoal.errors import OutputError
from shoal.io.engines.base import Engine, Relation
from shoal.io.formats.postgres import Postgres, TableName
from shoal.io.publish import check_target, write_text_atomic
from shoal.pipeline.decide import Decided
from shoal.pipeline.file_sinks import writer_options
from shoal.pipeline.plan_engine import plan_time_zone
from shoal.pipeline.sinks import Documents, PublishedRelease, Staged
from shoal.results.saved_table import sorted_rows_digest
from shoal.runtime import signals
from shoal.verification.independent import POSTGRES, ServerTable
from shoal.verification.verify import require_same_files

FLOATING = ("FLOAT", "DOUBLE")


@dataclass
class DatabaseSink:
    """A table of a server, and its certificate in another one.

    The table is written, read back from the server, verified and published in one transaction of the server.

    Attributes
    ----------
    source
        The table that is released, if it is one of the same server: it is not replaced.
    certificate_file
        Where the certificate is written as a file, too.
    inputs
        Files by kind that the certificate must not replace.
    """

    database: str
    table: str
    overwrite: bool
    source: str | None = None
    certificate_file: Path | None = None
    inputs: Mapping[str, Iterable[Path]] = field(default_factory=dict)
    step: ClassVar[str] = "writing"
    has_report: ClassVar[bool] = False
    _stack: ExitStack = field(default_factory=ExitStack, init=False)
    _server: Postgres | None = field(default=None, init=False)
    _target: TableName | None = field(default=None, init=False)
    _stage: TableName | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        if self.certificate_file is not None:
            check_target(self.certificate_file, self.overwrite, self.inputs)
        with self._connect() as server:  # before any work: missing rights, no server, a concurrent release
            server.begin(self.table, overwrite=self.overwrite, source=self.source)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def _connect(self) -> Postgres:
        return Postgres(self.database, fault=OutputError, write=True)

    def stage(self, engine: Engine, decided: Decided) -> None:
        """Write the released table to a stage table, which others do not see."""
        self._server = self._stack.enter_context(self._connect())
        self._target = self._server.begin(self.table, overwrite=self.overwrite, source=self.source)
        released, labels = decided.released, writer_options(decided).labels
        rows = engine.batches(released)
        self._stage = self._server.stage(self._target, released.columns, released.types, rows, labels)

    def read_back(self, engine: Engine, decided: Decided) -> Staged:
        """Read the stage table from the server.

        With person numbers it is read from a second, temporary table, once the rows without them are known to be equal.
        """
        server, target, stage = self._server, self._target, self._stage
        assert server is not None
        assert target is not None
        assert stage is not None
        schema, published = decided.plan.schema, decided.plan.schema.published
        looked_at = (*published.quasi_identifiers, *published.sensitive, *schema.category_columns.values())
        wanted = None if schema.person else looked_at
        zone = plan_time_zone(decided.plan)
        released = numbered = engine.ingest(server, server.columns(stage.quoted, None, wanted))
        if schema.person:
            rows = engine.batches(decided.numbered)
            columns, types = decided.numbered.columns, decided.numbered.types
            with_people = server.stage(target, columns, types, rows, {}, passing=True)
            numbered = engine.ingest(server, server.columns(with_people.quoted, None))
            decided.require_same(engine, released, numbered)
            others = [name for name in released.columns if name not in schema.person]
            verified = _server_table(server, with_people, numbered, zone)
            require_same_files(_server_table(server, stage, released, zone), verified, others)
        else:
            verified = _server_table(server, stage, released, zone)
        return Staged(released, numbered, verified, output=self._output(engine, server, stage))

    def _output(self, engine: Engine, server: Postgres, stage: TableName) -> dict[str, Any]:
        """Return what the certificate says about the table."""
        stored = engine.to_arrow(engine.ingest(server, server.columns(stage.quoted, None)))
        return {
            "table": self.table,
            "columns": stored.num_columns,
            "rows": stored.num_rows,
            "content_sha256": sorted_rows_digest(stored),
        }

    def publish(self, documents: Documents) -> PublishedRelease:
        """Commit the table and its certificate."""
        assert self._server is not None
        assert self._target is not None
        assert self._stage is not None
        certificate = documents.certificate.to_json()
        signals.check()
        self._server.publish(self._stage, self._target, certificate)
        if self.certificate_file is not None:
            write_text_atomic(self.certificate_file, certificate)
        return PublishedRelease(documents.certificate)


def _server_table(server: Postgres, table: TableName, read: Relation, zone: str) -> ServerTable:
    """Return a table of the server for the independent verification to count."""
    floating = frozenset(name for name, kind in zip(read.columns, read.types, strict=True) if kind in FLOATING)
    return ServerTable(read.columns, POSTGRES, functools.partial(server.count_rows, table, zone=zone), floating)
