"""Tables that are laid beside each other, and their roles, as people give them.

A plan, a schema or names say the roles; all tables are read by one engine, written in one way and in one time zone.
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
from shoal.plan.coerce import AskedColumn, AskedEngine, AskedNames, as_column, as_engine, as_names
from shoal.plan.plan import AskedPlan, Plan, as_plan
from shoal.schema import Column, Role, Schema
from shoal.utility.coded_tables import Tables, open_tables, source_of

__all__ = ["AskedRoles", "Given", "given", "roles_of"]

AskedRoles = AskedPlan | Schema
"""What says which column has which role."""


@dataclass(frozen=True)
class Given:
    """What is known of the tables before they are read.

    Attributes
    ----------
    plan
        None where roles were given without one.
    schema
        The roles; whose rows they are is no column of a release.
    form
        How files are written: what stands for a missing value in the plan's source does so in all of them.
    person
        Whose rows they are, in a table that has these columns: together they name a person.
    time_zone
        The zone in which instants are read.
    """

    plan: Plan | None
    schema: Schema
    person: tuple[str, ...]
    form: CsvFormat
    engine: EngineSettings | None
    time_zone: str

    def table(self, data: Any) -> Source | None:
        """A table that is laid beside others; None where there is none."""
        return None if data is None else replace(source_of(data, self.form), time_zone=self.time_zone)

    def original(self, data: Any) -> Source | None:
        """The original as the plan says that it is written, or as it looks."""
        said = None if self.plan is None else self.plan.source
        if isinstance(data, str | Path) and said is not None and said.path is not None:
            path = Path(data)
            if path.resolve() == said.path.resolve():
                return Source(path, csv=said.csv, format=said.format, time_zone=self.time_zone)
        return self.table(data)

    def open(self, *tables: Source | None) -> AbstractContextManager[Tables]:
        """The tables in the engine that is for them."""
        return open_tables(self.engine, *tables)


def given(
    plan: AskedRoles | None,
    quasi_identifiers: AskedNames,
    sensitive: AskedNames | Mapping[str, AskedColumn],
    missing: AskedNames,
    source: CsvFormat | None,
    engine: AskedEngine | None,
    time_zone: str | None,
) -> Given:
    """Roles and how tables are read; what is not asked for is as the plan says."""
    roles = roles_of(plan, quasi_identifiers, sensitive)
    loaded = roles if isinstance(roles, Plan) else None
    said = None if loaded is None else loaded.source
    gaps = as_names(missing, "texts for missing values")
    form = source or CsvFormat()
    for gap in (*gaps, *(() if said is None else said.csv.missing)):
        form = form if gap in form.missing else replace(form, missing=(*form.missing, gap))
    if time_zone is not None:
        check_time_zone(time_zone)
    zone = time_zone or (UTC if said is None else said.time_zone)
    settings = loaded.engine if engine is None and loaded is not None else as_engine(engine)
    schema = roles if isinstance(roles, Schema) else roles.schema
    return Given(loaded, schema.of_rows, schema.named(Role.PERSON), form, settings, zone)


def roles_of(
    plan: AskedRoles | None, quasi_identifiers: AskedNames, sensitive: AskedNames | Mapping[str, AskedColumn]
) -> Plan | Schema:
    """Roles from a plan or a schema, or from names."""
    quasi = as_names(quasi_identifiers, "quasi-identifiers")
    if plan is not None:
        if quasi or sensitive:
            raise PlanError("Give either a plan or quasi_identifiers and sensitive, not both.")
        return plan if isinstance(plan, Schema) else as_plan(plan)
    if isinstance(sensitive, Mapping):
        secret = {name: as_column(column) for name, column in sensitive.items()}
    else:
        secret = {name: Column(Role.SENSITIVE) for name in as_names(sensitive, "sensitive columns")}
    if not quasi:
        raise PlanError("Say which columns are known to an intruder: a plan, or quasi-identifiers by name.")
    both = sorted(set(quasi) & set(secret))
    if both:
        raise PlanError(f"A column must have one role; {both[0]!r} is both quasi-identifier and sensitive.")
    return Schema({name: Column(Role.QUASI_IDENTIFIER) for name in quasi} | secret)
