"""Inputs of audits: tables and the roles of their columns.

A plan, a schema or column names assign the roles. All tables are read by one engine, in one format and one time zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.errors import PlanError
from shoal.io.engines.base import UTC, EngineSettings, Source, check_time_zone
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.plan.coerce import ColumnLike, ColumnsLike, EngineLike, as_column, as_engine, as_names
from shoal.plan.plan import Plan, PlanLike, as_plan
from shoal.schema import Column, Role, Schema
from shoal.utility.coded_tables import TableReader, open_tables, source_of

DEFAULT_CROWD_SIZE = 5
"""Minimum size of a crowd, if no model requires a group size."""
RolesLike = PlanLike | Schema
"""A plan or a schema, which assigns roles to columns."""


@dataclass(frozen=True)
class AuditInputs:
    """Roles and reading options of the audited tables.

    Attributes
    ----------
    plan
        None if roles were given without a plan.
    schema
        Roles of columns; the person column is not part of a release.
    person
        Columns that jointly identify a person, in tables that have them.
    form
        Format of files. Texts that represent a missing value in the plan's source do so in all files.
    time_zone
        Time zone in which instants are read.
    """

    plan: Plan | None
    schema: Schema
    person: tuple[str, ...]
    form: CsvFormat
    engine: EngineSettings | None
    time_zone: str

    def table(self, data: Any) -> Source | None:
        """Build the source of an audited table; None for None."""
        return None if data is None else replace(source_of(data, self.form), time_zone=self.time_zone)

    def original(self, data: Any) -> Source | None:
        """Build the source of the original, in the plan's format if it has one."""
        planned = None if self.plan is None else self.plan.source
        if isinstance(data, str | Path) and planned is not None and planned.path is not None:
            path = Path(data)
            if path.resolve() == planned.path.resolve():
                return Source(path, csv=planned.csv, format=planned.format, time_zone=self.time_zone)
        return self.table(data)

    def open(self, *tables: Source | None) -> AbstractContextManager[TableReader]:
        """Open the tables in their engine."""
        return open_tables(self.engine, *tables)


def from_args(
    plan: RolesLike | None,
    quasi_identifiers: ColumnsLike,
    sensitive: ColumnsLike | Mapping[str, ColumnLike],
    missing: ColumnsLike,
    source: CsvFormat | None,
    engine: EngineLike | None,
    time_zone: str | None,
) -> AuditInputs:
    """Collect roles and reading options; the plan provides defaults."""
    roles = roles_of(plan, quasi_identifiers, sensitive)
    loaded = roles if isinstance(roles, Plan) else None
    planned = None if loaded is None else loaded.source
    missing_texts = as_names(missing, "texts for missing values")
    form = source or CsvFormat()
    for text in (*missing_texts, *(() if planned is None else planned.csv.missing)):
        form = form if text in form.missing else replace(form, missing=(*form.missing, text))
    if time_zone is not None:
        check_time_zone(time_zone)
    zone = time_zone or (UTC if planned is None else planned.time_zone)
    settings = loaded.engine if engine is None and loaded is not None else as_engine(engine)
    schema = roles if isinstance(roles, Schema) else roles.schema
    return AuditInputs(loaded, schema.of_rows, schema.named(Role.PERSON), form, settings, zone)


def roles_of(
    plan: RolesLike | None, quasi_identifiers: ColumnsLike, sensitive: ColumnsLike | Mapping[str, ColumnLike]
) -> Plan | Schema:
    """Return the roles given by a plan, a schema or column names."""
    quasi = as_names(quasi_identifiers, "quasi-identifiers")
    if plan is not None:
        if quasi or sensitive:
            raise PlanError("check.plan-and-columns")
        return plan if isinstance(plan, Schema) else as_plan(plan)
    if isinstance(sensitive, Mapping):
        secret = {name: as_column(column) for name, column in sensitive.items()}
    else:
        secret = {name: Column(Role.SENSITIVE) for name in as_names(sensitive, "sensitive columns")}
    if not quasi:
        raise PlanError("check.known-columns-missing")
    both = sorted(set(quasi) & set(secret))
    if both:
        raise PlanError("columns.quasi-identifier-and-sensitive", column=both[0])
    return Schema({name: Column(Role.QUASI_IDENTIFIER) for name in quasi} | secret)
