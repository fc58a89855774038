"""Destination of a release: the section [output] of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from shoal.errors import PlanError
from shoal.io.formats import STANDARD
from shoal.io.formats.urls import refuse_address, resolve_path
from shoal.io.publish import certificate_of, report_of
from shoal.runtime.marks import NOT_IN_PLAN, Name
from shoal.runtime.validation import Validated


@dataclass(frozen=True)
class Output(Validated):
    """Destination of a release, its certificate and its report.

    Attributes
    ----------
    path
        A file. With ``-``, the verified table goes to standard output, without papers. In an object store
        (``s3://bucket/name.csv``) the certificate is put last, and names the objects.
    overwrite
        Whether a release that is there may be replaced.
    report
        Whether a report is written.
    spreadsheet_safe
        Whether cells of a CSV that a spreadsheet would run as a formula get an apostrophe in front.
    pseudonym_key
        The file of the key of the pseudonyms.
    table
        The name of the table in a database, or of the sheet in a workbook.
    database
        A PostgreSQL server: ``env:NAME``, the environment variable that holds its address, or ``service:NAME``.
    certificate_file
        Where the certificate of a release to a database is written as a file, too.

    Examples
    --------
    >>> from pathlib import Path
    >>> import shoal
    >>> shoal.Output(Path("released.csv"), overwrite=True).certificate.name
    'released.certificate.json'
    """

    path: Path = STANDARD
    overwrite: bool = False
    report: bool = True
    spreadsheet_safe: bool = False
    pseudonym_key: Path | None = None
    table: Name | None = None
    database: Name | None = None
    certificate_file: Path | None = None
    written: Annotated[Mapping[str, str], NOT_IN_PLAN] = field(default_factory=dict, compare=False, repr=False)
    """Texts of the plan before variables were filled in, by key."""

    def __post_init__(self) -> None:
        if self.database is not None and (self.table is None or self.path != STANDARD):
            raise PlanError("databases.release-needs-table")
        if self.certificate_file is not None and self.database is None:
            raise PlanError("output.certificate-file-without-database")
        refuse_address(self.path)

    def located(self, folder: Path) -> Output:
        """Return the output of a plan in this folder."""
        key, file = (None if path is None else folder / path for path in (self.pseudonym_key, self.certificate_file))
        return replace(self, path=resolve_path(self.path, folder), pseudonym_key=key, certificate_file=file)

    @property
    def is_standard(self) -> bool:
        """Return whether the table is written to standard output."""
        return self.path == STANDARD and self.database is None

    @property
    def certificate(self) -> Path:
        """Path of the certificate: released.csv -> released.certificate.json."""
        return certificate_of(self.path)

    @property
    def report_path(self) -> Path:
        """Path of the report: released.csv -> released.report.html."""
        return report_of(self.path)
