"""All attacks that apply to a released table, with what the caller has at hand.

A release alone is open to homogeneity, similarity, inference, background knowledge, and to whoever knows few facts. An
external table adds linkage; the original adds linkage of everybody, distance linkage of numeric columns, minimality and
the audits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.audit.inputs import AskedRoles, given
from shoal.errors import PlanError, TableError
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.engines.spark_shared_session import keeping
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.models import Model, size_of_groups
from shoal.pipeline import run as pipeline
from shoal.plan.coerce import AskedColumn, AskedEngine, AskedModels, AskedNames, as_models, as_names
from shoal.plan.plan import Plan
from shoal.render import Grid, Sheet, Shown
from shoal.risk.attacks import AttackResult, background_knowledge, homogeneity, inference, similarity
from shoal.risk.attacks_audits import audit_extremes, audit_grid, audit_intersection, audit_locality, row_column
from shoal.risk.attacks_distance import distance_linkage
from shoal.risk.attacks_facts import FactsNeeded, facts_needed
from shoal.risk.attacks_linkage import Owned, covered_people, linkage
from shoal.risk.attacks_minimality import minimality
from shoal.risk.attacks_people import ExposedPeople, Members, attack_households, attack_people
from shoal.risk.matching import PublishedGroups, match_people, read_groups
from shoal.schema import Column, Role, Schema
from shoal.table.people import number_names
from shoal.utility.coded_tables import CodedColumn, Tables, open_tables
from shoal.utility.labels import number_of

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


@keeping()
def attack(
    released: Any,
    plan: AskedRoles | None = None,
    *,
    quasi_identifiers: AskedNames = (),
    sensitive: AskedNames | Mapping[str, AskedColumn] = (),
    external: Any = None,
    original: Any = None,
    previous: Any = None,
    person: AskedNames = (),
    household: AskedNames = (),
    models: AskedModels | None = None,
    excluded: int = 1,
    confidence: float = 0.8,
    aligned: bool = False,
    locality: bool = False,
    missing: AskedNames = (),
    source: CsvFormat | None = None,
    engine: AskedEngine | None = None,
    time_zone: str | None = None,
) -> Attacks:
    """Attack a table, made here or elsewhere: everything that what is given allows.

    Parameters
    ----------
    released
        The table under attack: a path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    plan
        Roles, hierarchies, categories and models; or else ``quasi_identifiers`` and ``sensitive``.
    external
        A table of people with some of the quasi-identifiers, to link with.
    original
        The table that the release was made from: everybody is linked, and audits run.
    previous
        An earlier release of the same rows; needs ``original``.
    person
        Columns of the table under attack that say together whose rows they are: people are attacked, not only rows.
        The plan's, of the other tables, by default: linkage and minimality count people where these have the columns.
    household
        Columns of the table under attack that say together who lives together: households are attacked too.
    models
        The models that the release was made for (the plan's by default); the minimality attack reasons from them.
    excluded
        How many sensitive values the intruder can rule out.
    confidence
        From which share of the most likely value a person counts as all but exposed.
    aligned
        Whether row i of the original is row i of the release.
    locality
        Whether to rerun the plan's method on parts of the original; needs a plan and ``original``.
    missing
        Texts that stand for a missing value, beside those of the plan.
    engine
        What reads the tables; the plan's engine by default, or else Spark for Spark's own frames and DuckDB otherwise.
    time_zone
        The zone in which instants are read; the plan's, or UTC, by default.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal import Column, Role, Schema
    >>> schema = Schema({"age": Column(Role.QUASI_IDENTIFIER), "illness": Column(Role.SENSITIVE)})
    >>> table = pa.table({"age": ["<30", "<30", ">=30"], "illness": ["flu", "flu", "asthma"]})
    >>> attack(table, schema).named("homogeneity").exposed
    3
    """
    asked = given(plan, quasi_identifiers, sensitive, missing, source, engine, time_zone)
    owners, homes = as_names(person, "persons"), as_names(household, "households")
    names = owners or asked.person
    if previous is not None and original is None:
        raise PlanError("Two releases are laid together through the original table; give it too.")
    if locality and (asked.plan is None or original is None):
        raise PlanError("The audit of locality reruns the plan's method on the original; give a plan and the original.")
    chosen = () if asked.plan is None else asked.plan.models
    if models is not None:
        chosen = as_models(models)
    schema, least = asked.schema, size_of_groups(chosen, SMALL_CROWD)
    table, others, earlier = (asked.table(data) for data in (released, external, previous))
    before = asked.original(original)
    with asked.open(table, others, before, earlier) as tables:
        if aligned:
            tables.require_numbered()
        published = read_groups(tables, table, schema)
        shown = tables.rows(table, schema.quasi_identifiers)
        people = attack_people(tables, table, schema, owners, least, excluded, confidence) if owners else None
        at_home = attack_households(tables, table, schema, homes, least) if homes else ()
        outside = None if others is None else _shared(tables, others, schema, "external")
        behind = None if before is None else _shared(tables, before, schema, "original")
        laid = None if earlier is None else read_groups(tables, earlier, schema)
        named, owner = (_persons(tables, data, names) for data in (others, before))
        numbered = tables.engine.numbered
    groups, members = published.groups, None if people is None else people.members
    results: list[AttackResult] = [] if people is None else list(people.results)
    results += at_home
    for histogram in groups.histograms if people is None else ():  # what they tell of people was asked
        name = histogram.domain.name
        results.append(homogeneity(groups, name))
        if histogram.domain.category is not None:
            results.append(similarity(groups, name))
        results.append(inference(groups, name, confidence))
        results.append(background_knowledge(groups, name, excluded))
    if outside is not None:
        found = linkage(published, outside, schema, owned=Owned(named, members))
        results += found if numbered else [replace(result, rows=()) for result in found]
    if behind is not None:
        results += _with_original(published, shown, behind, schema, chosen, laid, aligned, owner, members)
    if locality and asked.plan is not None:
        results.append(_locality(asked.plan, before, asked.engine))
    facts = facts_needed(shown, schema, behind, owner)
    return Attacks(groups.rows, groups.count, int(groups.size.min()), tuple(results), people, facts)


def _with_original(
    published: PublishedGroups,
    shown: Sequence[CodedColumn],
    people: Sequence[CodedColumn],
    schema: Schema,
    models: Sequence[Model],
    earlier: PublishedGroups | None,
    aligned: bool,
    person: np.ndarray[Any, np.dtype[np.int64]] | None,
    members: Members | None,
) -> list[AttackResult]:
    k = size_of_groups(models, 2)
    matches = match_people(published, people, schema)
    if members is None and person is not None:
        members = covered_people(published.groups.count, matches, person)
    results = [
        replace(result, name="linkage of everybody", rows=())
        for result in linkage(published, people, schema, matches=matches, owned=Owned(person, members))
    ]
    if len(people) == len(schema.quasi_identifiers):
        for name in schema.sensitive:
            if any(not model.sizes_only for model in models):
                results.append(minimality(published, people, schema, models, name, matches=matches, person=person))
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


def _persons(tables: Tables, data: Any, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """The number of each row's person, where a table has the columns that say it; who has no name has a number too."""
    if data is None or not names or not set(names) <= set(tables.names(data)):
        return None
    table = tables.read(data)
    places = table.places(names)
    number, known = number_names(tables.engine.rows(table, places), places)
    nobody = number < 0
    number[nobody] = len(known) + np.arange(int(nobody.sum()))
    return number


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


def _locality(plan: Plan, original: Source | None, engine: EngineSettings | None) -> AttackResult:
    """The method of a plan, run again on parts of the original: whose row depends on rows far away?"""
    with open_tables(engine, original) as tables:
        table = tables.arrow(original)
    schema = Schema({**plan.schema.columns, row_column(table.column_names): Column(Role.OTHER)})
    # a rehearsal: a method with a budget must not spend it on an audit
    method, models = plan.method.rehearsal(), plan.model.parts
    here = plan.engine.here
    source = None if original is None else Source(time_zone=original.time_zone)
    marked = replace(plan, schema=schema, method=method, models=models, source=source, output=None, engine=here)
    return audit_locality(table, plan.schema, lambda part: pipeline.anonymize(part, marked).table)
