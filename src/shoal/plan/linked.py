"""The plan of a release of linked tables: the sections ``[[tables]]``.

One table is the root, with one row for each person; every other table refers to a row of its parent by a foreign key.
Each table has columns with roles as in a plan of one table. What an intruder knows is a scenario: the root and any
``facts`` rows of other tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from shoal.errors import PlanError
from shoal.io.engines.base import EngineSettings, Source
from shoal.methods import Method, Mondrian
from shoal.models import Model, make_model, size_of_groups
from shoal.models.base import SensitiveModel
from shoal.models.of_columns import ModelOfColumns
from shoal.models.partial_knowledge import replaces_model
from shoal.plan.reader import PlanReader, first_error, parse_toml, read_document
from shoal.plan.variables import apply_changes, fill_in, masked_errors
from shoal.runtime.annotations import Mismatch
from shoal.runtime.marks import INLINE, NOT_IN_PLAN, ONE_OR_MORE
from shoal.runtime.validation import Name, Share, Validated, Weight, changed_fields, read_values
from shoal.schema import Column, Role, Schema, Table
from shoal.table.linked_tables import Link, require_tree

MAX_KNOWN_FACTS = 2
"""Largest number of known facts that a release can be made for."""
SERVED_ROLES = (Role.IDENTIFIER, Role.DROP, Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.OTHER)
NOT_SERVED = ("shift", "relative_to", "pseudonym", "levels")
"""Keys of a column that linked tables do not have."""


@dataclass(frozen=True)
class LinkedTable(Validated):
    """One of the linked tables of a plan.

    Attributes
    ----------
    name
        The name of the table, and of its released file.
    parent
        The table that it refers to; the root has none.
    on
        The column with the key of a row of the parent.
    key
        The column that identifies the rows, if other tables refer to them.
    weight
        How much the detail of this table matters, against that of the others.
    """

    name: Name
    source: Annotated[Source, INLINE]
    schema: Annotated[Schema, INLINE]
    parent: Name | None = None
    on: Name | None = None
    key: Name | None = None
    weight: Weight = 1.0

    def __post_init__(self) -> None:
        if (self.parent is None) != (self.on is None):
            raise PlanError("linked.parent-without-on", table=self.name)
        if not all(letter.isalnum() or letter in "_-" for letter in self.name):
            raise PlanError("linked.name-not-a-file-name")
        for name in {self.on, self.key} & set(self.schema.columns):
            raise PlanError("linked.key-with-role", table=self.name, column=name)
        for name, column in self.schema.columns.items():
            if column.role not in SERVED_ROLES:
                raise PlanError("linked.role-not-served", table=self.name, column=name, role=column.role)
            for part in NOT_SERVED:
                if getattr(column, part):
                    raise PlanError("linked.key-not-served", table=self.name, column=name, key=part)
            if column.publish != "values" or column.unmatched != "error":
                key = "publish" if column.publish != "values" else "unmatched"
                raise PlanError("linked.key-not-served", table=self.name, column=name, key=key)

    def located(self, folder: Path) -> LinkedTable:
        """Return the table of a plan in this folder."""
        return replace(self, source=self.source.located(folder))

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns, each once."""
        return tuple(dict.fromkeys(name for name in (self.key, self.on) if name is not None))


@dataclass(frozen=True)
class LinkedScenario(Validated):
    """Knowledge of an intruder about a person and the linked records.

    Attributes
    ----------
    facts
        How many rows of other tables are known besides the root, whichever they are: at most 2.
    name
        A name for the certificate.
    k
        The number of people in every crowd.
    models
        Further models that every crowd must meet.
    """

    facts: Annotated[int, Ge(0), Le(MAX_KNOWN_FACTS)]
    name: Name = "facts"
    k: Annotated[int, Ge(2)] | None = None
    models: tuple[Model, ...] = field(default=())

    def demands(self, general: Sequence[Model]) -> tuple[Model, ...]:
        """Return the models of the crowds: its own, and those of the plan."""
        own = (*(() if self.k is None else (make_model("k-anonymity", k=self.k),)), *self.models)
        return (*own, *(model for model in general if not any(replaces_model(one, model) for one in own)))


@dataclass(frozen=True)
class LinkedOutput(Validated):
    """Destination of a release of linked tables: a folder.

    Attributes
    ----------
    path
        The folder. It has a file for each table, and the certificate.
    overwrite
        Whether a release that is there may be replaced.
    format
        The format of the files.
    shape
        ``linked``: the tables can be joined by pseudonyms of the keys.
    pseudonym_key
        The file of the key of the pseudonyms. Without it they are drawn anew for every release.
    """

    path: Path
    overwrite: bool = False
    format: Literal["csv", "parquet"] = "csv"
    shape: Literal["linked"] = "linked"
    pseudonym_key: Path | None = None

    def located(self, folder: Path) -> LinkedOutput:
        """Return the output of a plan in this folder."""
        key = None if self.pseudonym_key is None else folder / self.pseudonym_key
        return replace(self, path=folder / self.path, pseudonym_key=key)


@dataclass(frozen=True, kw_only=True)
class LinkedPlan(Validated):
    """Specification of a release of linked tables.

    Attributes
    ----------
    tables
        The tables: one root, and tables that refer to it or to each other.
    models
        What every crowd must meet.
    scenarios
        What an intruder knows; at present exactly one.
    method
        How groups of people are formed in the root; mondrian by default.
    suppression
        The largest share of the rows of a table that may be left out.
    root_loss
        The loss of the root that is exceeded only if no smaller one allows a release.
    sizes
        The sizes of root groups that are tried; by default k and multiples of it.
    output
        The folder of the release.
    engine
        How much of the machine may be used. Linked tables are not released with Spark.
    """

    tables: tuple[LinkedTable, ...]
    models: Annotated[tuple[Model, ...], ONE_OR_MORE] = ()
    scenarios: tuple[LinkedScenario, ...] = ()
    method: Method = field(default_factory=Mondrian)
    suppression: Share = 0.05
    root_loss: Share = 0.4
    sizes: tuple[Annotated[int, Ge(2)], ...] = ()
    output: LinkedOutput | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    files: Annotated[tuple[Path, ...], NOT_IN_PLAN] = field(default=(), compare=False, repr=False)
    """The plan file and the hierarchy files that it names."""

    def __post_init__(self) -> None:
        names = [table.name for table in self.tables]
        for name in names:
            if names.count(name) > 1:
                raise PlanError("linked.table-twice", table=name)
        if len(self.tables) < 2:
            raise PlanError("linked.one-table", found=len(self.tables))
        roots = [table for table in self.tables if table.parent is None]
        if len(roots) != 1:
            raise PlanError("linked.not-one-root", found=len(roots))
        for table in self.tables:
            if table.parent is not None and table.parent not in names:
                raise PlanError("linked.unknown-table", table=table.parent)
            if table.parent is not None and self.table(table.parent).key is None:
                raise PlanError("linked.parent-without-key", table=table.parent, child=table.name)
        self._require_no_cycle()
        require_tree(dict.fromkeys(names), self.root.name, self.links)
        if not self.root.schema.quasi_identifiers:
            raise PlanError("linked.root-without-quasi-identifier", table=self.root.name)
        if len(self.scenarios) != 1:
            raise PlanError("linked.not-one-scenario", found=len(self.scenarios))
        for model in self.scenario.demands(self.models):
            partial = isinstance(model, ModelOfColumns)
            if partial or model.requires_people or not model.supports_people or model.of_table:
                raise PlanError("linked.model-not-served", model=model.name)
            if isinstance(model, SensitiveModel):
                self.columns_of(model)
        if size_of_groups(self.demands, None) is None:
            raise PlanError("scenarios.no-k", scenario=self.scenario.name)
        if len({table.source.time_zone for table in self.tables}) > 1:
            raise PlanError("linked.time-zones-differ")
        if self.engine.name == "spark":
            raise PlanError("linked.not-on-spark")

    def _require_no_cycle(self) -> None:
        for table in self.tables:
            seen = [table.name]
            while (parent := self.table(seen[-1]).parent) is not None:
                if parent in seen:
                    raise PlanError("linked.cycle-of-tables", table=table.name)
                seen.append(parent)

    def table(self, name: str) -> LinkedTable:
        """Return a table by name."""
        return next(table for table in self.tables if table.name == name)

    @property
    def root(self) -> LinkedTable:
        """The table with one row for each person."""
        return next(table for table in self.tables if table.parent is None)

    @property
    def children(self) -> tuple[LinkedTable, ...]:
        """The other tables, each after the table that it refers to."""
        found: list[LinkedTable] = []
        while len(found) < len(self.tables) - 1:
            reached = {self.root.name, *(table.name for table in found)}
            found += [table for table in self.tables if table.parent in reached and table.name not in reached]
        return tuple(found)

    @property
    def links(self) -> tuple[Link, ...]:
        """The references between the tables, parents first."""
        return tuple(
            Link(table.name, str(table.on), str(table.parent), str(self.table(str(table.parent)).key))
            for table in self.tables
            if table.parent is not None
        )

    @property
    def scenario(self) -> LinkedScenario:
        """The knowledge of the intruder."""
        return self.scenarios[0]

    @property
    def demands(self) -> tuple[Model, ...]:
        """The models that every crowd must meet; columns have their table's name."""
        return tuple(
            replace(model, column=self.columns_of(model)[0]) if getattr(model, "column", None) else model  # type: ignore[call-arg]
            for model in self.scenario.demands(self.models)
        )

    @property
    def k(self) -> int:
        """The number of people in every crowd."""
        return size_of_groups(self.demands, 2)

    @property
    def sensitive(self) -> dict[str, Column]:
        """The sensitive columns of all tables, by table and column."""
        return {
            f"{table.name}.{name}": table.schema.columns[name]
            for table in self.tables
            for name in table.schema.sensitive
        }

    def columns_of(self, model: Model) -> tuple[str, ...]:
        """Return the sensitive columns of a model, as table.column."""
        if not self.sensitive:
            raise PlanError("linked.no-sensitive-column", model=model.name)
        column = getattr(model, "column", None)
        if column is None:
            return tuple(self.sensitive)
        found = [name for name in self.sensitive if column in (name, name.partition(".")[2])]
        if len(found) != 1:
            raise PlanError("linked.model-column-not-clear", model=model.name, found=len(found))
        return tuple(found)

    def published(self, table: LinkedTable) -> tuple[str, ...]:
        """Return the published columns of a table: its keys, then the others."""
        referred = {other.parent for other in self.tables}
        keys = [name for name in table.keys if name == table.on or table.name in referred]
        roles = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.OTHER)
        return (*keys, *(name for name, column in table.schema.columns.items() if column.role in roles))

    @classmethod
    def read(cls, path: Path | str, changes: Sequence[str] = ()) -> LinkedPlan:
        """Read a plan file (TOML)."""
        path = Path(path)
        plan = cls.from_dict(apply_changes(read_document(path), changes), path.parent)
        return replace(plan, files=(path, *plan.files))

    @classmethod
    def from_toml(cls, text: str, folder: Path | None = None) -> LinkedPlan:
        """Build a plan from TOML text; paths are relative to ``folder``."""
        return cls.from_dict(parse_toml(text, "The plan"), folder)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], folder: Path | None = None) -> LinkedPlan:
        """Build a plan from the contents of a plan file."""
        document, written = fill_in(document)
        with masked_errors(written):
            try:
                values = read_values(cls, document, (), PlanReader(folder or Path()))
            except Mismatch as error:
                raise first_error(error.faults) from None
            hierarchies = [column.hierarchy for table in values["tables"] for column in table.schema.columns.values()]
            files = tuple(made.file for made in hierarchies if isinstance(made, Table) and made.file is not None)
            return cls(**values, files=files)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as the contents of a plan file."""
        return changed_fields(self)

    def to_toml(self) -> str:
        """Return the plan as the text of a plan file."""
        import tomli_w

        return tomli_w.dumps(self.to_dict())

    @property
    def inputs(self) -> dict[str, tuple[Path, ...]]:
        """Input files by kind; a release must not overwrite them."""
        sources = tuple(table.source.path for table in self.tables if table.source.path is not None)
        key = None if self.output is None else self.output.pseudonym_key
        return {
            "source": sources,
            **({} if key is None else {"key of the pseudonyms": (key,)}),
            "plan or one of its files": self.files,
        }


def has_tables(path: Path) -> bool:
    """Return whether a plan file is one of linked tables."""
    return "tables" in read_document(path)
