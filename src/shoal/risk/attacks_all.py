"""All attacks that apply to a released table, with what the caller has at hand.

A release alone is open to homogeneity, similarity, inference, background knowledge, and to whoever knows few facts. An
external table adds linkage; the original adds linkage of everybody, distance linkage of numeric columns, minimality and
the audits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.engines.base import EngineSettings
from shoal.engines.csv_format import CsvFormat
from shoal.errors import PlanError, TableError
from shoal.models import Model, size_of_groups
from shoal.risk.attacks import AttackResult, background_knowledge, homogeneity, inference, similarity
from shoal.risk.attacks_audits import audit_extremes, audit_grid, audit_intersection
from shoal.risk.attacks_distance import distance_linkage
from shoal.risk.attacks_facts import FactsNeeded, facts_needed
from shoal.risk.attacks_linkage import linkage
from shoal.risk.attacks_minimality import minimality
from shoal.risk.attacks_people import ExposedPeople, attack_households, attack_people
from shoal.risk.matching import PublishedGroups, match_people, read_groups
from shoal.schema import Schema
from shoal.showing import Grid, Sheet, Shown
from shoal.utility.labels import number_of
from shoal.utility.tables import CodedColumn, HasSchema, Tables, open_tables, schema_of

__all__ = ["Attacks", "attack"]

SMALL_CROWD = 5
"""Fewer people than these are no crowd, where no model says another number."""


@dataclass(frozen=True, repr=False)
class Attacks(Shown):
    """What all attacks achieve on one table."""

    rows: int
    groups: int
    smallest_group: int
    results: tuple[AttackResult, ...]
    people: ExposedPeople | None = None
    """Where it is known whose rows they are; the results then begin with the attacks on people."""
    facts: FactsNeeded | None = None
    """How many facts suffice to single somebody out."""

    def named(self, name: str, column: str | None = None) -> AttackResult:
        """The first result of an attack (for a column)."""
        return next(r for r in self.results if r.name == name and column in (None, r.column))

    def sheet(self) -> Sheet:
        """What each attack achieves, beside what could be guessed without the table."""
        rows = [
            (
                result.name,
                f"{result.learns} of {result.column}" if result.column else result.learns,
                f"{result.people:,} {result.counts}",
                result.exposed,
                f"{result.share:.1%}",
                f"{result.baseline:,.6g}",
            )
            for result in self.results
        ]
        figures = (("rows", self.rows), ("groups", self.groups), ("rows in the smallest", self.smallest_group))
        columns = ("attack", "learns", "attacked", "exposed", "share", "guessed without")
        return Sheet("What an intruder would learn", figures, (), [Grid("Attacks", columns, rows)])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rows": self.rows,
            "groups": self.groups,
            "smallest_group": self.smallest_group,
            **({} if self.people is None else {"people": self.people.to_dict()}),
            "attacks": [result.to_dict() for result in self.results],
            **({} if self.facts is None else {"facts": self.facts.to_dict()}),
        }


def attack(
    released: Any,
    plan: HasSchema | Schema,
    *,
    external: Any = None,
    original: Any = None,
    previous: Any = None,
    person: Sequence[str] = (),
    household: Sequence[str] = (),
    models: Sequence[Model] | None = None,
    excluded: int = 1,
    confidence: float = 0.8,
    aligned: bool = False,
    source: CsvFormat | None = None,
    engine: EngineSettings | None = None,
) -> Attacks:
    """Run every attack that what is given allows.

    Parameters
    ----------
    released
        The table under attack: a path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    plan
        A plan or a schema: roles, hierarchies, categories. A plan's models are used too.
    external
        A table of people with some of the quasi-identifiers.
    original
        The table that the release was made from.
    previous
        An earlier release of the same rows; needs ``original``.
    person
        Columns of the table under attack that say together whose rows they are.
    household
        Columns of the table under attack that say together who lives together.
    models
        The models that the release was made for (the plan's by default); the minimality attack reasons from them.
    excluded
        How many sensitive values the intruder can rule out.
    confidence
        From which share of the most likely value a person counts as all but exposed.
    aligned
        Whether row i of the original is row i of the release.
    source
        How the CSV files are written.
    engine
        What reads the tables; by default Spark for Spark's own frames, and DuckDB otherwise.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal import Column, Role, Schema
    >>> schema = Schema({"age": Column(Role.QUASI_IDENTIFIER), "illness": Column(Role.SENSITIVE)})
    >>> table = pa.table({"age": ["<30", "<30", ">=30"], "illness": ["flu", "flu", "asthma"]})
    >>> attack(table, schema).named("homogeneity").exposed
    3
    """
    schema = schema_of(plan)
    chosen: Sequence[Model] = getattr(plan, "models", ()) if models is None else models
    if previous is not None and original is None:
        raise PlanError("Two releases are laid together through the original table; give it too.")
    with open_tables(engine, released, external, original, previous, form=source) as tables:
        if aligned:
            tables.require_numbered()
        published = read_groups(tables, released, schema)
        shown = tables.rows(released, schema.quasi_identifiers)
        least = size_of_groups(chosen, SMALL_CROWD)
        people = attack_people(tables, released, schema, person, least, excluded, confidence) if person else None
        homes = attack_households(tables, released, schema, household, least) if household else ()
        others = None if external is None else _shared(tables, external, schema, "external")
        behind = None if original is None else _shared(tables, original, schema, "original")
        earlier = None if previous is None else read_groups(tables, previous, schema)
        numbered = tables.engine.numbered
    groups = published.groups
    results: list[AttackResult] = [] if people is None else list(people.results)
    results += homes
    for histogram in groups.histograms if people is None else ():  # what they tell of people was asked
        name = histogram.domain.name
        results.append(homogeneity(groups, name))
        if histogram.domain.category is not None:
            results.append(similarity(groups, name))
        results.append(inference(groups, name, confidence))
        results.append(background_knowledge(groups, name, excluded))
    if others is not None:
        found = linkage(published, others, schema)
        results += found if numbered else [replace(result, rows=()) for result in found]
    if behind is not None:
        results += _with_original(published, shown, behind, schema, chosen, earlier, aligned)
    facts = facts_needed(shown, schema, behind)
    return Attacks(groups.rows, groups.count, int(groups.size.min()), tuple(results), people, facts)


def _with_original(
    published: PublishedGroups,
    shown: Sequence[CodedColumn],
    people: Sequence[CodedColumn],
    schema: Schema,
    models: Sequence[Model],
    earlier: PublishedGroups | None,
    aligned: bool,
) -> list[AttackResult]:
    k = size_of_groups(models, 2)
    matches = match_people(published, people, schema)
    results = [
        replace(result, name="linkage of everybody", rows=())
        for result in linkage(published, people, schema, matches=matches)
    ]
    if len(people) == len(schema.quasi_identifiers):
        for name in schema.sensitive:
            if any(not model.sizes_only for model in models):
                results.append(minimality(published, people, schema, models, name, matches=matches))
        results.append(audit_grid(published, people, schema))
        results.append(audit_extremes(published, people, schema, k, matches))
        if earlier is not None:
            results.append(audit_intersection(published, earlier, people, schema, k, matches))
    numeric = _numeric(shown, people)
    if numeric is not None:
        results.append(distance_linkage(*numeric, aligned=aligned))
    return results


def _shared(tables: Tables, table: Any, schema: Schema, what: str) -> tuple[CodedColumn, ...]:
    names = tables.names(table)
    shared = [name for name in schema.quasi_identifiers if name in names]
    if not shared:
        raise TableError(
            f"The {what} table must have at least one quasi-identifier to be linked by; it has none of "
            f"{', '.join(map(repr, schema.quasi_identifiers))}."
        )
    return tables.rows(table, shared)


def _numeric(
    shown: Sequence[CodedColumn], people: Sequence[CodedColumn]
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]] | None:
    """The quasi-identifiers that are plain numbers in both tables, as matrices; None where there are none."""
    published = {column.name: column for column in shown}
    pairs = []
    for before in people:
        after = published[before.name]
        matrix = [[number_of(value) for value in column.values] for column in (before, after)]
        if all(number is not None for side in matrix for number in side):
            pairs.append((np.asarray(matrix[0])[before.code], np.asarray(matrix[1])[after.code]))
    if not pairs:
        return None
    return np.stack([one for one, _ in pairs], axis=1), np.stack([two for _, two in pairs], axis=1)
