"""Population of a table: the section [population] of a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from shoal.errors import PlanError
from shoal.io.engines import runs_on_spark
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.formats.urls import resolve_path
from shoal.methods import METHODS, Method
from shoal.models import AllOf
from shoal.runtime.marks import NOT_IN_PLAN, Name
from shoal.runtime.validation import Validated
from shoal.schema import Schema


@dataclass(frozen=True)
class PopulationSource(Validated):
    """Population of a table: a list of people, or counts of cells.

    Attributes
    ----------
    path
        A table of people with the quasi-identifiers of the plan: a row for each person, with original values.
    counts
        A table of cells instead: the quasi-identifiers, and a column ``count`` with the people of each cell.
    person
        The column of ``path`` that identifies a person: equal rows of a person count once.
    contains_release
        Whether everybody in the table is one of these people. If not, the population is another list, and groups
        without people in it are at the highest risk.

    Examples
    --------
    >>> PopulationSource("register.csv", person="number").contains_release
    True
    """

    path: Path | None = None
    counts: Path | None = None
    person: Name | None = None
    contains_release: bool = True
    frame: Annotated[Any, NOT_IN_PLAN] = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.path, self.counts, self.frame)) != 1:
            raise PlanError("population.not-exactly-one-kind")
        if self.person is not None and self.counts is not None:
            raise PlanError("population.person-of-cells")

    def located(self, folder: Path) -> PopulationSource:
        """Return the population of a plan in this folder."""
        path, counts = (None if one is None else resolve_path(one, folder) for one in (self.path, self.counts))
        return replace(self, path=path, counts=counts)

    @property
    def source(self) -> Source:
        """The table that is read."""
        return Source(frame=self.frame) if self.frame is not None else Source(self.path or self.counts)

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that a release must not overwrite."""
        return tuple(one for one in (self.path, self.counts) if one is not None)


def check_population(
    population: PopulationSource | None, schema: Schema, model: AllOf, method: Method, engine: EngineSettings
) -> None:
    """Raise before any work where models of a population cannot be served."""
    needing = [part for part in model.parts if part.needs_population]
    if not needing:
        return
    name = needing[0].name
    if population is None:
        raise PlanError("population.missing", model=name)
    if model.of_some_columns:
        raise PlanError("population.all-columns-only", model=name)
    if schema.person:
        raise PlanError("population.not-with-person", model=name)
    if runs_on_spark(engine):
        raise PlanError("population.not-on-spark", model=name)
    for column in schema.quasi_identifiers:
        one = schema.columns[column]
        if one.shift or one.relative_to or one.unmatched != "error" or one.levels is not None:
            raise PlanError("population.changed-column", column=column)
    if method.judges_whole_table:
        return
    by_size = method.forms_groups and method.reveals_source and population.contains_release
    if not by_size or any(part.needs_disjoint_labels for part in needing):
        serve = ", ".join(known for known, one in METHODS.items() if one.judges_whole_table)
        raise PlanError("method.not-for-population", method=method.name, model=name, allowed=serve)
