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
from shoal.utility.tables import CodedColumn, HasSchema, column_names, read_rows, schema_of

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
    published = read_groups(released, schema, source)
    groups = published.groups
    people = attack_people(released, schema, person, size_of_groups(chosen, SMALL_CROWD), source) if person else None
    results: list[AttackResult] = [] if people is None else list(people.results)
    if household:
        results += attack_households(released, schema, household, size_of_groups(chosen, SMALL_CROWD), source)
    for histogram in groups.histograms:
        name = histogram.domain.name
        results.append(homogeneity(groups, name))
        if histogram.domain.category is not None:
            results.append(similarity(groups, name))
        results.append(inference(groups, name, confidence))
        results.append(background_knowledge(groups, name, excluded))
    if external is not None:
        results += linkage(published, _shared(external, schema, source, "external"), schema)
    if original is not None:
        results += _with_original(released, published, original, schema, chosen, previous, aligned, source)
    behind = None if original is None else _shared(original, schema, source, "original")
    facts = facts_needed(released, schema, behind, source)
    return Attacks(groups.rows, groups.count, int(groups.size.min()), tuple(results), people, facts)


def _with_original(
    released: Any,
    published: PublishedGroups,
    original: Any,
    schema: Schema,
    models: Sequence[Model],
    previous: Any,
    aligned: bool,
    source: CsvFormat | None,
) -> list[AttackResult]:
    people = _shared(original, schema, source, "original")
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
        if previous is not None:
            earlier = read_groups(previous, schema, source)
            results.append(audit_intersection(published, earlier, people, schema, k, matches))
    numeric = _numeric(released, people, source)
    if numeric is not None:
        results.append(distance_linkage(*numeric, aligned=aligned))
    return results


def _shared(table: Any, schema: Schema, source: CsvFormat | None, what: str) -> tuple[CodedColumn, ...]:
    names = column_names(table, source)
    shared = [name for name in schema.quasi_identifiers if name in names]
    if not shared:
        raise TableError(
            f"The {what} table must have at least one quasi-identifier to be linked by; it has none of "
            f"{', '.join(map(repr, schema.quasi_identifiers))}."
        )
    return read_rows(table, shared, source)


def _numeric(
    released: Any, people: Sequence[CodedColumn], source: CsvFormat | None
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]] | None:
    """The quasi-identifiers that are plain numbers in both tables, as matrices; None where there are none."""
    shown = read_rows(released, [column.name for column in people], source)
    pairs = []
    for before, after in zip(people, shown, strict=True):
        matrix = [[number_of(value) for value in column.values] for column in (before, after)]
        if all(number is not None for side in matrix for number in side):
            pairs.append((np.asarray(matrix[0])[before.code], np.asarray(matrix[1])[after.code]))
    if not pairs:
        return None
    return np.stack([one for one, _ in pairs], axis=1), np.stack([two for _, two in pairs], axis=1)
