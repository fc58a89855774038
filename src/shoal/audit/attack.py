"""All attacks that apply to a released table and the available tables.

A release alone is exposed to homogeneity, similarity, inference and background knowledge attacks, and to intruders with
partial knowledge. An external table adds linkage; the original adds linkage of all people, distance linkage of numeric
columns, minimality and the audits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.audit.inputs import DEFAULT_CROWD_SIZE, RolesLike, from_args
from shoal.errors import PlanError, TableError
from shoal.formatting import number, percent
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.engines.spark_shared_session import shared_spark_session
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.models import Model, size_of_groups, without_scenarios
from shoal.pipeline import run as pipeline
from shoal.plan.coerce import ColumnLike, ColumnsLike, EngineLike, ModelsLike, as_models, as_names
from shoal.plan.plan import Plan
from shoal.render import Displayable, Grid, Marked, Summary
from shoal.risk.attacks import AttackResult, background_knowledge, homogeneity, inference, similarity
from shoal.risk.attacks_audits import audit_extremes, audit_grid, audit_intersection, audit_locality, row_column
from shoal.risk.attacks_distance import distance_linkage
from shoal.risk.attacks_facts import FactsNeeded, facts_needed
from shoal.risk.attacks_linkage import RowOwners, covered_people, linkage
from shoal.risk.attacks_list import list_linkage
from shoal.risk.attacks_minimality import minimality
from shoal.risk.attacks_people import ExposedPeople, Members, attack_households, attack_people
from shoal.risk.matching import PublishedGroups, match_people, read_groups
from shoal.runtime.deprecation import renamed_parameter
from shoal.schema import Column, Role, Schema
from shoal.table.people import number_names
from shoal.utility.coded_tables import CodedColumn, TableReader, open_tables
from shoal.utility.labels import parse_number


@dataclass(frozen=True, repr=False)
class AttackReport(Displayable):
    """Results of all attacks on one table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> table = pa.table({"age": ["<30", "<30", ">=30"], "illness": ["flu", "flu", "asthma"]})
    >>> report = shoal.attack(table, quasi_identifiers="age", sensitive="illness")
    >>> report.rows, report.groups, report.smallest_group
    (3, 2, 1)
    """

    rows: int
    groups: int
    smallest_group: int
    results: tuple[AttackResult, ...]
    people: ExposedPeople | None = None
    """Set if persons are known; the results then begin with the attacks on people."""
    facts: FactsNeeded | None = None
    """Number of facts that suffice to single out a person."""

    def named(self, name: str, column: str | None = None) -> AttackResult:
        """Return the first result of an attack (for a column)."""
        return next(r for r in self.results if r.name == name and column in (None, r.column))

    def summary(self) -> Summary:
        """Summarize exposure by attack, and the baseline without the table."""
        figures = (("rows", self.rows), ("groups", self.groups), ("rows in the smallest", self.smallest_group))
        sentences = []
        if self.people is not None:
            sentences.append(
                f"{number(self.people.exposed)} of {number(self.people.total)} people have rows in groups of fewer "
                f"than {number(self.people.least)} people. Attacks on rows below take every row for a person."
            )
        if self.facts is not None:
            sentences.append(self.facts.sentence())
        for result in self.results:
            if result.rows:
                listed = ", ".join(map(str, result.rows[:20])) + (", ..." if len(result.rows) > 20 else "")
                sentences.append(f"Exposed to {result.disclosure}: rows {listed} of the external table.")
        columns = ("attack", "learns", "attacked", "exposed", "share", "guessed without")
        grid = Grid("What an intruder learns", columns, [_attack_cells(result) for result in self.results])
        return Summary("What an intruder would learn", figures, sentences, [grid])

    def to_dict(self) -> dict[str, Any]:
        """Return the results for JSON."""
        return {
            "rows": self.rows,
            "groups": self.groups,
            "smallest_group": self.smallest_group,
            **({} if self.people is None else {"people": self.people.to_dict()}),
            "attacks": [result.to_dict() for result in self.results],
            **({} if self.facts is None else {"facts": self.facts.to_dict()}),
        }


def _attack_cells(result: AttackResult) -> tuple[object, ...]:
    if not result.people:  # such as a part of the table that could not be published at all
        return (result.name, "nothing to attack", 0, None, None, None)
    exposed = Marked(
        result.exposed, "bad" if result.exposed > result.baseline else "mixed" if result.exposed else "good"
    )
    return (
        result.name,
        result.disclosure,
        f"{number(result.people)} {result.counts}",
        exposed,
        percent(result.share),
        round(result.baseline, 1),
    )


@renamed_parameter("source", "csv")
@shared_spark_session()
def attack(
    released: Any,
    plan: RolesLike | None = None,
    *,
    quasi_identifiers: ColumnsLike = (),
    sensitive: ColumnsLike | Mapping[str, ColumnLike] = (),
    external: Any = None,
    original: Any = None,
    previous: Any = None,
    person: ColumnsLike = (),
    household: ColumnsLike = (),
    models: ModelsLike | None = None,
    excluded: int = 1,
    confidence: float = 0.8,
    aligned: bool = False,
    locality: bool = False,
    missing: ColumnsLike = (),
    csv: CsvFormat | None = None,
    engine: EngineLike | None = None,
    time_zone: str | None = None,
) -> AttackReport:
    """Attack a table, made by shoal or not, by every attack that applies.

    Parameters
    ----------
    released
        The table under attack: a path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    plan
        Roles, hierarchies, categories and models; or else ``quasi_identifiers`` and ``sensitive``.
    external
        External table of people to link with; has some of the quasi-identifiers.
    original
        The table that the release was made from: all people are linked, and audits run.
    previous
        An earlier release of the same rows; needs ``original``.
    person
        Columns of the table under attack that jointly identify a person: people are attacked, not only rows. For the
        other tables, by default the person columns of the plan: linkage and minimality count people if a table has
        them.
    household
        Columns of the table under attack that jointly identify a household: households are attacked too.
    models
        The models that the release was made for (by default the plan's); the minimality attack reasons from them.
    excluded
        Number of sensitive values that the intruder can rule out.
    confidence
        Share of the most likely value from which a person counts as nearly exposed.
    aligned
        Whether row i of the original is row i of the release.
    locality
        Whether to rerun the plan's method on parts of the original; needs a plan and ``original``.
    missing
        Texts that represent a missing value, in addition to those of the plan.
    engine
        Engine that reads the tables; by default the plan's engine, or else Spark for Spark frames and DuckDB otherwise.
    time_zone
        Time zone in which instants are read; by default that of the plan, or UTC.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["<30", "<30", ">=30"], "illness": ["flu", "flu", "asthma"]})
    >>> attack(table, quasi_identifiers="age", sensitive="illness").named("homogeneity").exposed
    3
    """
    inputs = from_args(plan, quasi_identifiers, sensitive, missing, csv, engine, time_zone)
    person_columns, household_columns = as_names(person, "persons"), as_names(household, "households")
    names = person_columns or inputs.person
    if previous is not None and original is None:
        raise PlanError("attack.original-missing")
    if locality and (inputs.plan is None or original is None):
        raise PlanError("attack.locality-needs-plan-and-original")
    chosen = () if inputs.plan is None else inputs.plan.models
    if models is not None:
        chosen = as_models(models)
    schema, min_crowd = inputs.schema, size_of_groups(chosen, DEFAULT_CROWD_SIZE)
    released_source, external_source, previous_source = (inputs.table(data) for data in (released, external, previous))
    original_source = inputs.original(original)
    with inputs.open(released_source, external_source, original_source, previous_source) as tables:
        if aligned:
            tables.require_numbered()
        published = read_groups(tables, released_source, schema)
        released_columns = tables.rows(released_source, schema.quasi_identifiers)
        people = (
            attack_people(tables, released_source, schema, person_columns, min_crowd, excluded, confidence)
            if person_columns
            else None
        )
        household_results = (
            attack_households(tables, released_source, schema, household_columns, min_crowd)
            if household_columns
            else ()
        )
        external_columns = (
            None if external_source is None else _read_shared_columns(tables, external_source, schema, "external")
        )
        original_columns = (
            None if original_source is None else _read_shared_columns(tables, original_source, schema, "original")
        )
        earlier_groups = None if previous_source is None else read_groups(tables, previous_source, schema)
        external_persons, original_persons = (
            _person_numbers(tables, data, names) for data in (external_source, original_source)
        )
        has_row_numbers = tables.engine.rows_are_numbered
    groups, members = published.groups, None if people is None else people.members
    results: list[AttackResult] = [] if people is None else list(people.results)
    results += household_results
    for histogram in groups.histograms if people is None else ():  # attacks on people include these
        name = histogram.domain.name
        results.append(homogeneity(groups, name))
        if histogram.domain.category is not None:
            results.append(similarity(groups, name))
        results.append(inference(groups, name, confidence))
        results.append(background_knowledge(groups, name, excluded))
    if external_columns is not None:
        found = linkage(published, external_columns, schema, row_owners=RowOwners(external_persons, members))
        results += found if has_row_numbers else [replace(result, rows=()) for result in found]
    if original_columns is not None:
        results += _attacks_with_original(
            published,
            released_columns,
            original_columns,
            schema,
            chosen,
            earlier_groups,
            aligned,
            original_persons,
            members,
        )
        knowledge = inputs.plan.model.parts if inputs.plan is not None and models is None else chosen
        with_list = list_linkage(published, original_columns, schema, knowledge, min_crowd)
        results += [] if with_list is None else [with_list]
    if locality and inputs.plan is not None:
        results.append(_audit_plan_locality(inputs.plan, original_source, inputs.engine))
    facts = facts_needed(released_columns, schema, original_columns, original_persons)
    return AttackReport(groups.rows, groups.count, int(groups.size.min()), tuple(results), people, facts)


def _attacks_with_original(
    published: PublishedGroups,
    released_columns: Sequence[CodedColumn],
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
        for result in linkage(published, people, schema, matches=matches, row_owners=RowOwners(person, members))
    ]
    if len(people) == len(schema.quasi_identifiers):
        for name in schema.sensitive:
            if any(not model.sizes_only for model in models):
                results.append(minimality(published, people, schema, models, name, matches=matches, person=person))
        results.append(audit_grid(published, people, schema))
        results.append(audit_extremes(published, people, schema, k, matches))
        if earlier is not None:
            results.append(audit_intersection(published, earlier, people, schema, k, matches))
    numeric = _numeric_matrices(released_columns, people)
    if numeric is not None:
        results.append(distance_linkage(*numeric, aligned=aligned))
    return results


def _read_shared_columns(tables: TableReader, table: Any, schema: Schema, what: str) -> tuple[CodedColumn, ...]:
    names = tables.names(table)
    shared = [name for name in schema.quasi_identifiers if name in names]
    if not shared:
        raise TableError(
            "attack.nothing-to-link-by", table=what, expected=", ".join(map(repr, schema.quasi_identifiers))
        )
    return tables.rows(table, shared)


def _person_numbers(tables: TableReader, data: Any, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """Return the person number of each row, if the table has the columns.

    A row without a person gets a number of a separate person.
    """
    if data is None or not names or not set(names) <= set(tables.names(data)):
        return None
    table = tables.read(data)
    positions = table.positions(names)
    number, known = number_names(tables.engine.rows(table, positions), positions)
    unnamed = number < 0
    number[unnamed] = len(known) + np.arange(int(unnamed.sum()))
    return number


def _numeric_matrices(
    released_columns: Sequence[CodedColumn], people: Sequence[CodedColumn]
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]] | None:
    """Return quasi-identifiers that are numeric in both tables, as matrices.

    None if there are none.
    """
    published = {column.name: column for column in released_columns}
    pairs = []
    for before in people:
        after = published[before.name]
        matrix = [[parse_number(value) for value in column.values] for column in (before, after)]
        if all(number is not None for side in matrix for number in side):
            pairs.append((np.asarray(matrix[0])[before.code], np.asarray(matrix[1])[after.code]))
    if not pairs:
        return None
    return np.stack([one for one, _ in pairs], axis=1), np.stack([two for _, two in pairs], axis=1)


def _audit_plan_locality(plan: Plan, original: Source | None, engine: EngineSettings | None) -> AttackResult:
    """Rerun the plan's method on parts of the original.

    The audit finds rows whose release depends on distant rows.
    """
    with open_tables(engine, original) as tables:
        table = tables.arrow(original)
    schema = Schema({**plan.schema.columns, row_column(table.column_names): Column(Role.OTHER)})
    # a dry run: a method with a privacy budget must not spend it on an audit
    method, models = plan.method.dry_run_variant(), without_scenarios(plan.model).parts
    engine_here = plan.engine.here
    source = None if original is None else Source(time_zone=original.time_zone)
    marked = replace(plan, schema=schema, method=method, models=models, source=source, output=None, engine=engine_here)
    return audit_locality(table, plan.schema, lambda part: pipeline.anonymize(part, marked).table)
