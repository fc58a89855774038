"""Audit of linked tables: crowds of people by kinds of knowledge.

A root table has one row for each person, other tables refer to it. Nothing is changed: the audit reads the tables and
counts crowds (:mod:`shoal.risk.linked_facts`). It serves files that somebody calls de-identified, made by shoal or not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.audit.inputs import DEFAULT_CROWD_SIZE
from shoal.errors import PlanError, TableError
from shoal.formatting import format_parameters, number
from shoal.io.engines import open_engine
from shoal.io.engines.base import UTC, Source
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.io.publish import sha256_of
from shoal.pipeline.linked import released_table, verify_linked_files
from shoal.plan.coerce import ColumnsLike, EngineLike, as_engine, as_names
from shoal.plan.linked import LinkedPlan
from shoal.render import Displayable, Grid, Summary
from shoal.results.linked_certificate import CERTIFICATE
from shoal.risk.linked_facts import (
    count_disclosed,
    count_fact_sets,
    crowds_by_all,
    crowds_by_childless_rows,
    crowds_by_counts,
    crowds_by_facts,
    crowds_by_facts_and_counts,
    crowds_by_intervals,
    crowds_by_linked_facts,
    crowds_by_root,
    crowds_by_value,
    is_offset,
)
from shoal.table.find_links import find_links, is_row_key, is_unique, list_tables
from shoal.table.linked_rows import MAX_ROW_SETS
from shoal.table.linked_tables import Link, LinkedPeople, require_tree, resolve_links
from shoal.utility.coded_tables import open_tables, source_of
from shoal.verification.linked import LinkedVerdict

if TYPE_CHECKING:
    import pyarrow as pa

Whole = npt.NDArray[np.int64]

MAX_FACTS = 3
"""Largest number of facts of which all combinations are counted."""


@dataclass(frozen=True)
class Knowledge:
    """Knowledge of an intruder besides the root table.

    Attributes
    ----------
    facts
        The number of facts: rows of child tables.
    counts
        Whether the number of rows in each child table is known.
    structure
        Whether it is known which rows hang on the same parent row; for at most two facts.
    all
        Whether everything is known.
    """

    facts: int = 1
    counts: bool = False
    structure: bool = False
    all: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.facts <= MAX_FACTS:
            raise PlanError("linked.facts-out-of-range", found=self.facts, limit=MAX_FACTS)
        if self.structure and self.facts > 2:
            raise PlanError("linked.structure-of-two-facts")


@dataclass(frozen=True)
class CrowdFigures:
    """The crowds of one kind of knowledge.

    Attributes
    ----------
    kind, knows
        What the intruder knows, as a word and as a phrase.
    smallest
        The number of people in the smallest crowd.
    alone, below
        The number of people in a crowd of one, and in a crowd of fewer than k.
    required
        Whether the check requires crowds of k people.
    """

    kind: str
    knows: str
    smallest: int
    alone: int
    below: int
    required: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "kind": self.kind,
            "knows": self.knows,
            "smallest_crowd": self.smallest,
            "alone": self.alone,
            "below_k": self.below,
            "required": self.required,
        }


@dataclass(frozen=True)
class AuditedTable:
    """One of the linked tables, as it was understood."""

    name: str
    rows: int
    refers_to: str | None
    by: str | None
    known: tuple[str, ...]
    row_keys: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the table's description for JSON."""
        return {
            "table": self.name,
            "rows": self.rows,
            "refers_to": self.refers_to,
            "by": self.by,
            "known": list(self.known),
            "row_keys": list(self.row_keys),
        }

    def __str__(self) -> str:
        refers = "is the root" if self.refers_to is None else f"refers to {self.refers_to} by {self.by}"
        keys = f" Not known, as row keys: {', '.join(self.row_keys)}." if self.row_keys else ""
        return f"{self.name} ({number(self.rows)} rows) {refers}; known: {', '.join(self.known) or 'nothing'}.{keys}"


@dataclass(frozen=True, repr=False)
class LinkedAudit(Displayable):
    """The result of an audit of linked tables.

    Attributes
    ----------
    tables
        The tables, the root first.
    crowds
        Figures by knowledge, from little to much.
    single_tables
        Figures for one fact of each child table.
    columns
        Figures for one value of each column of a child table, by table and column, without the root.
    disclosed
        The number of people in a crowd with one sensitive value in common, by table and column.
    warnings
        Further findings, as sentences.
    models
        Verdicts of the models of a plan, if there is one.
    changed
        Files of a release that differ from its certificate.
    """

    people: int
    k: int
    tables: tuple[AuditedTable, ...]
    crowds: tuple[CrowdFigures, ...]
    single_tables: tuple[CrowdFigures, ...]
    columns: tuple[CrowdFigures, ...]
    disclosed: Mapping[str, int]
    warnings: tuple[str, ...]
    models: tuple[LinkedVerdict, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Return whether all required crowds have k people, and models hold."""
        crowds = all(not part.below for part in self.crowds if part.required)
        return crowds and all(verdict.holds for verdict in self.models) and not self.changed

    def named(self, knows: str) -> CrowdFigures:
        """Return the figures of a kind of knowledge."""
        return next(part for part in (*self.crowds, *self.single_tables, *self.columns) if part.knows == knows)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit for JSON."""
        return {
            "holds": self.holds,
            "people": self.people,
            "k": self.k,
            "tables": [table.to_dict() for table in self.tables],
            "crowds": [part.to_dict() for part in self.crowds],
            "single_tables": [part.to_dict() for part in self.single_tables],
            "columns": [part.to_dict() for part in self.columns],
            "disclosed": dict(self.disclosed),
            "warnings": list(self.warnings),
            **({"models": [verdict.to_dict() for verdict in self.models]} if self.models else {}),
            **({"changed": list(self.changed)} if self.changed else {}),
        }

    def summary(self) -> Summary:
        """Summarize the crowds by what is known."""
        columns = ("known", "smallest crowd", "people alone", f"below {self.k}", "required")
        grids = [
            Grid(title, columns, [_row(part) for part in parts])
            for title, parts in (
                ("Crowds by what is known of a person", self.crowds),
                ("The root and one fact of one table", self.single_tables),
                ("One value of one column, without the root", self.columns),
            )
            if parts
        ]
        if self.disclosed:
            rows = list(self.disclosed.items())
            grids.append(Grid("People in a crowd with one value in common", ("column", "people"), rows))
        if self.models:
            verdicts = [
                (one.name, format_parameters(one.effective), "yes" if one.holds else "no") for one in self.models
            ]
            grids.append(Grid("Models on the required crowds", ("model", "reached", "holds"), verdicts))
        figures = (("people", self.people), ("tables", len(self.tables)))
        verdict = "hold" if self.holds else "do not hold"
        changed = (f"File {name} differs from the certificate." for name in self.changed)
        sentences = (
            f"The required crowds of {self.k} people {verdict}.",
            *changed,
            *map(str, self.tables),
            *self.warnings,
        )
        return Summary("Linked tables", figures, sentences, grids)


def _row(part: CrowdFigures) -> tuple[object, ...]:
    return part.knows, part.smallest, part.alone, part.below, "yes" if part.required else ""


def audit_linked(
    tables: Mapping[str, Any] | Path | str,
    *,
    root: str | None = None,
    links: Sequence[str] = (),
    k: int = DEFAULT_CROWD_SIZE,
    knowledge: Knowledge | None = None,
    sensitive: ColumnsLike = (),
    ignore: ColumnsLike = (),
    missing: ColumnsLike = (),
    source: CsvFormat | None = None,
    engine: EngineLike | None = None,
    time_zone: str = UTC,
) -> LinkedAudit:
    """Count the crowds of people in linked tables.

    Parameters
    ----------
    tables
        Paths or frames by name; or a folder of files, or a SQLite or DuckDB file.
    root
        The name of the table with one row for each person; found by itself if exactly one table refers to no other.
    links
        References such as ``"visit:person_id"``, or ``"visit:patient=person.person_id"`` if names differ. Tables
        without one are linked by the keys that a database declares, or else by columns of the same name.
    k
        Smallest number of people in a crowd.
    knowledge
        What crowds are required for; the root and one fact by default.
    sensitive, ignore
        Columns, as ``"table.column"``: sensitive ones are not known, but looked for; ignored ones are not looked at.
        All other columns are known, except keys.

    Examples
    --------
    >>> import pyarrow as pa
    >>> person = pa.table({"id": [1, 2, 3, 4], "sex": ["f", "f", "m", "m"]})
    >>> visit = pa.table({"id": [1, 1, 2, 3, 4], "year": [2023, 2024, 2023, 2024, 2024]})
    >>> audit = audit_linked({"person": person, "visit": visit}, links=["visit:id"], k=2)
    >>> audit.named("the root").smallest, audit.named("the root and any 1 fact").alone
    (2, 1)
    """
    if k < 2:
        raise PlanError("linked.k-too-small", found=k)
    form = source or CsvFormat()
    form = replace(form, missing=(*form.missing, *as_names(missing, "texts for missing values")))
    like = Source(csv=form, time_zone=time_zone)
    declared: list[Link] = []
    if isinstance(tables, str | Path):
        sources, declared = list_tables(Path(tables), like)
    else:
        sources = {name: replace(source_of(data, form), time_zone=time_zone) for name, data in tables.items()}
    if len(sources) < 2:
        raise TableError("linked.one-table", found=len(sources))
    with open_tables(as_engine(engine), *sources.values(), form=form) as reader:
        read = {name: reader.arrow(data) for name, data in sources.items()}
    given = [_parse_link(text, read) for text in links]
    if root is not None and root not in read:
        raise TableError("linked.unknown-table", table=root)
    rest = [link for link in declared if link.table not in {own.table for own in given}]
    chosen, found = find_links(read, root, [*given, *rest])
    reached = {chosen, *(link.table for link in found)}
    strays = [name for name in read if name not in reached] if isinstance(tables, str | Path) else []
    read = {name: table for name, table in read.items() if name not in strays}
    require_tree(read, chosen, [*found, *(link for link in given if link.table == chosen)])
    hidden = [_parse_column(text, read) for text in as_names(ignore, "ignored columns")]
    secret = [_parse_column(text, read) for text in as_names(sensitive, "sensitive columns")]
    described = _describe(read, chosen, found, {*hidden, *secret})
    linked = resolve_links(read, chosen, found, {table.name: table.known for table in described}, secret)
    warnings = [f"Table {name} refers to nobody, and was left out." for name in strays]
    return _count(linked, described, k, knowledge or Knowledge(), warnings)


def check_release(folder: Path | str, plan: LinkedPlan) -> LinkedAudit:
    """Check a release of linked tables from its files alone.

    Roles, keys and models are those of the plan; the source of the plan is not read. Files that differ from the
    certificate beside them are named.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise TableError("linked.folder-not-found")
    files = []
    for table in (plan.root, *plan.children):
        found = [path for form in ("csv", "parquet") if (path := folder / f"{table.name}.{form}").is_file()]
        if len(found) != 1:
            raise TableError("linked.released-file-not-found", table=table.name, found=len(found))
        files.append(released_table(plan, table, found[0]))
    with open_engine(plan.engine) as engine:
        check = verify_linked_files(engine, files, plan.demands, plan.scenario.facts)
    described = [AuditedTable(file.name, check.rows[file.name], file.parent, file.on, file.known, ()) for file in files]
    audit = _count(check.linked, tuple(described), plan.k, Knowledge(plan.scenario.facts), [])
    changed, warnings = _compare_digests(folder, {file.file.path.name: file.file.path for file in files})
    return replace(audit, models=check.verdicts, changed=changed, warnings=(*audit.warnings, *warnings))


def audit_sources(plan: LinkedPlan) -> LinkedAudit:
    """Audit the sources of a plan of linked tables, as they are.

    Quasi-identifiers are known, and keys only link. The knowledge is that of the plan's scenario.
    """
    sources = {table.name: table.source for table in plan.tables}
    with open_tables(plan.engine, *sources.values()) as reader:
        read = {name: reader.arrow(source) for name, source in sources.items()}
    known = {table.name: table.schema.quasi_identifiers for table in plan.tables}
    secret = [(table.name, name) for table in plan.tables for name in table.schema.sensitive]
    linked = resolve_links(read, plan.root.name, plan.links, known, secret)
    described = [
        AuditedTable(table.name, read[table.name].num_rows, table.parent, table.on, known[table.name], ())
        for table in (plan.root, *plan.children)
    ]
    return _count(linked, tuple(described), plan.k, Knowledge(plan.scenario.facts), [])


def _compare_digests(folder: Path, files: Mapping[str, Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that differ from the certificate, and warnings."""
    try:
        listed = json.loads((folder / CERTIFICATE).read_bytes())["tables"]
        digests = {str(table["file"]): str(table["sha256"]) for table in listed}
    except FileNotFoundError:
        return (), ("There is no certificate in the folder.",)
    except (OSError, ValueError, LookupError, TypeError):
        return (CERTIFICATE,), ("The certificate cannot be read.",)
    changed = [name for name, path in files.items() if digests.get(name) != sha256_of(path)]
    strays = sorted(entry.name for entry in folder.iterdir() if entry.name not in {*files, CERTIFICATE})
    warnings = [f"{number(len(strays))} further files in the folder are not part of the release."] if strays else []
    return tuple(changed), tuple(warnings)


def _parse_link(text: str, tables: Mapping[str, pa.Table]) -> Link:
    """Parse ``child:column`` or ``child:column=parent.key``."""
    table, _, rest = text.rpartition(":")
    column, _, target = rest.partition("=")
    if not table or not column:
        raise PlanError("linked.link-malformed")
    if table not in tables:
        raise TableError("linked.unknown-table", table=table)
    if target:
        parent, key = _parse_column(target, tables)
        return Link(table, column, parent, key)
    parents = [name for name, parent in tables.items() if name != table and column in parent.column_names]
    unique = [name for name in parents if is_unique(tables[name].column(column))]
    if len(unique or parents) != 1:
        raise PlanError("linked.parent-not-clear", table=table, column=column, found=len(unique or parents))
    return Link(table, column, (unique or parents)[0], column)


def _parse_column(text: str, tables: Mapping[str, pa.Table]) -> tuple[str, str]:
    """Parse ``table.column``; a table's name may contain dots."""
    for name, table in tables.items():
        if text.startswith(f"{name}.") and text.removeprefix(f"{name}.") in table.column_names:
            return name, text.removeprefix(f"{name}.")
    raise PlanError("linked.column-malformed")


def _describe(
    tables: Mapping[str, pa.Table], root: str, links: Sequence[Link], excluded: set[tuple[str, str]]
) -> tuple[AuditedTable, ...]:
    """Decide which columns are known: all but keys and excluded columns."""
    keys = {name for link in links for name in (link.column, link.key)}
    link_of = {link.table: link for link in links}
    described = []
    for name in (root, *(link.table for link in links)):
        table, link = tables[name], link_of.get(name)
        candidates = [column for column in table.column_names if column not in keys and (name, column) not in excluded]
        row_keys = tuple(column for column in candidates if is_row_key(table, column))
        known = tuple(column for column in candidates if column not in row_keys)
        parent, by = (None, None) if link is None else (link.parent, link.column)
        described.append(AuditedTable(name, table.num_rows, parent, by, known, row_keys))
    return tuple(described)


def _count(
    linked: LinkedPeople, described: tuple[AuditedTable, ...], k: int, knows: Knowledge, warnings: list[str]
) -> LinkedAudit:
    """Count the crowds of every kind of knowledge."""
    crowds = [_figures("root", "the root", crowds_by_root(linked), k, required=True)]
    for facts in range(1, MAX_FACTS + 1):
        required = facts <= knows.facts
        try:
            if not required and count_fact_sets(linked, facts) > MAX_ROW_SETS:
                raise PlanError("linked.too-many-fact-sets", facts=facts)
            size = crowds_by_facts(linked, facts)
        except PlanError:
            if required:
                raise
            warnings.append(f"Crowds of {facts} facts were not counted: there are too many combinations.")
            break
        phrase = f"the root and any {facts} {'fact' if facts == 1 else 'facts'}"
        crowds.append(_figures(f"facts-{facts}", phrase, size, k, required=required))
    crowds += [
        _figures(kind, phrase, size, k, required=required) for kind, phrase, size, required in _wider(linked, knows)
    ]
    tables = [
        _figures("table", f"a row of {table.name}", crowds_by_facts(linked, 1, [table.name]), k)
        for table in linked.tables
    ]
    columns = [
        _figures("column", f"{table.name}.{column}", crowds_by_value(linked, table, column), k)
        for table in linked.tables
        for column in table.codes
    ]
    warnings += [
        f"Column {table.name}.{column} may say by how many days a person's dates were shifted."
        for table in linked.tables
        for column in table.whole_numbers
        if is_offset(table, column)
    ]
    disclosed = {
        f"{values.table}.{values.column}": count_disclosed(linked, values, min(knows.facts, 1))
        for values in linked.sensitive
    }
    return LinkedAudit(
        linked.people, k, described, tuple(crowds), tuple(tables), tuple(columns), disclosed, tuple(warnings)
    )


def _figures(kind: str, knows: str, size: Whole, k: int, *, required: bool = False) -> CrowdFigures:
    return CrowdFigures(kind, knows, int(size.min()), int((size == 1).sum()), int((size < k).sum()), required)


def _wider(linked: LinkedPeople, knows: Knowledge) -> Iterator[tuple[str, str, Whole, bool]]:
    """Yield knowledge beyond facts: kind, phrase, crowds, whether required."""
    nested = any(table.parent != linked.root_name for table in linked.tables)
    if nested:
        phrase = "the root and 2 facts that hang together"
        yield "linked-facts", phrase, crowds_by_linked_facts(linked), knows.structure
    yield "counts", "the root and rows per table", crowds_by_counts(linked), knows.counts
    if nested:
        size, required = crowds_by_counts(linked, structure=True), knows.counts and knows.structure
        yield "counts-per-parent", "the root and rows per parent row", size, required
    if knows.counts and knows.facts:
        size = crowds_by_facts_and_counts(linked, knows.facts)
        yield "facts-and-counts", f"the root, rows per table and {knows.facts} facts", size, True
    yield "all", "everything", crowds_by_all(linked), knows.all
    for table in linked.tables:
        for column in table.days:
            phrase = f"the root and the days between the dates {table.name}.{column}"
            yield "intervals", phrase, crowds_by_intervals(linked, table, column), False
        childless = crowds_by_childless_rows(linked, table)
        if childless is not None:
            phrase = f"the root and rows of {table.parent} without a row of {table.name}"
            yield "childless-rows", phrase, childless, False
