"""Check of a table against models, whether shoal made it or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import PlanError, TableError
from shoal.io.engines import open_engine, runs_on_spark
from shoal.io.engines.base import EngineSettings, Source, require_columns
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.models import bind_known, combine, partial_knowledge_models
from shoal.pipeline.decide import StepTimer
from shoal.pipeline.plan_engine import plan_time_zone
from shoal.pipeline.population import read_population
from shoal.plan.coerce import ColumnsLike, ModelsLike, as_models, as_names
from shoal.plan.plan import Plan, PlanLike, as_plan
from shoal.runtime.progress import Progress, quiet
from shoal.runtime.threads import limit_threads
from shoal.schema import Column, Role, Schema
from shoal.table.categories import require_categories
from shoal.table.people import number_people
from shoal.utility.coded_tables import source_of
from shoal.verification.check import CheckedPopulation, CheckResult, check_relation


def check(
    data: Any,
    models: ModelsLike = (),
    *,
    quasi_identifiers: ColumnsLike = (),
    sensitive: ColumnsLike | Mapping[str, Column] = (),
    person: ColumnsLike = (),
    plan: PlanLike | None = None,
    csv: CsvFormat | None = None,
    memory: str | None = None,
    engine: EngineSettings | None = None,
    time_zone: str | None = None,
    progress: Progress = quiet,
) -> CheckResult:
    """Check whether a table, made by shoal or not, satisfies models.

    Parameters
    ----------
    data
        A path (CSV or Parquet), a pandas, Polars, PyArrow or DuckDB object, or a source, which states its own format.
    models
        Models, or their text such as ``"k-anonymity k=5"``, or a single one.
    quasi_identifiers, sensitive
        Column names; for sensitive columns with categories, order or hierarchy a mapping to :class:`Column`.
    person
        Columns that jointly identify a person; people are counted then. By default those of the plan, if the table has
        them. A release has none: rows are counted then, and the result is not complete.
    plan
        A plan that provides roles, models, engine and time zone instead.
    memory, engine
        Memory limit; engine that reads and counts, instead of the plan's engine.
    time_zone
        Time zone in which instants are read; by default that of the plan, or UTC.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["<30", "<30", ">40"], "illness": ["flu", "asthma", "flu"]})
    >>> check(table, ["k-anonymity k=2"], quasi_identifiers=["age"], sensitive=["illness"]).holds
    False
    """
    if plan is not None:
        plan = as_plan(plan)
        schema, wildcard = plan.schema.of_rows.published, plan.method.wildcard
        if plan.schema.linked and not person:
            person = plan.schema.person[:1]  # the release has it as a pseudonym
        # people are counted if the table has their columns, which is known once it is read
        possible = () if person else plan.schema.person
        # without a person, rows are counted; some models do not apply to rows
        chosen = [part for part in plan.model_of_rows.parts if person or not part.requires_people]
        unanswered = () if person else _unanswered_without_people(plan)
    else:
        quasi = as_names(quasi_identifiers, "quasi-identifiers")
        named = sensitive
        if not isinstance(named, Mapping):
            named = {name: Column(Role.SENSITIVE) for name in as_names(named, "sensitive columns")}
        both = sorted(set(named) & set(quasi))
        if both:
            raise PlanError("columns.quasi-identifier-and-sensitive", column=both[0])
        schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in quasi} | dict(named))
        chosen, wildcard, unanswered, possible = [], None, (), ()
    chosen += bind_known(as_models(models), schema.quasi_identifiers)
    model = combine(chosen)
    person = as_names(person, "persons")
    if conflicting := sorted({*person} & {*schema.quasi_identifiers, *schema.sensitive}):
        raise PlanError("columns.person-has-another-role", column=conflicting[0])
    schema = Schema({**schema.columns, **{name: Column(Role.PERSON) for name in person}}).published
    timer = StepTimer(progress)
    settings = engine or (EngineSettings() if plan is None else plan.engine)
    if memory is not None:
        settings = replace(settings, memory=memory)
    form = csv or CsvFormat()
    is_read = isinstance(data, str | Path | Source)
    has_default_settings = settings == EngineSettings() and time_zone is None and not form.missing
    if has_default_settings and not (
        is_read
        or schema.category_columns
        or person
        or possible
        or wildcard
        or partial_knowledge_models(model)
        or model.needs_population
        or runs_on_spark(settings, data)
    ):
        from shoal.io.engines.count_in_memory import count_in_memory, frame_to_arrow

        with timer("checking"):
            data = frame_to_arrow(data)
            counted = count_in_memory(data, (*schema.quasi_identifiers, *schema.sensitive))
            if counted is not None:
                found = check_relation(None, counted[0], schema, chosen, counted=counted[1])
                return replace(found, unanswered=(*unanswered, *found.unanswered))
    zone = time_zone or plan_time_zone(plan)
    opening = open_engine(settings, data, progress=timer.report_fraction, time_zone=zone)
    with limit_threads(settings.threads if settings else None), opening as opened, timer("checking"):
        table = opened.read(replace(source_of(data, form), with_nan=schema.quasi_identifiers))
        if plan is not None and possible and set(possible) <= set(table.columns):
            person, unanswered = possible, ()
            chosen = [*plan.model_of_rows.parts, *bind_known(as_models(models), schema.quasi_identifiers)]
            schema = Schema({**schema.columns, **{name: Column(Role.PERSON) for name in person}}).published
        if set(schema.category_columns.values()) & set(table.columns):  # the original has none
            require_categories(opened, table, schema, TableError)
        if person:
            require_columns(table, person)
            table = number_people(opened, table, person).table
        population = None
        if plan is not None and model.needs_population and plan.population is not None:
            people = read_population(opened, plan.population, schema.quasi_identifiers)
            population = CheckedPopulation(people, plan.schema.published, plan.population.contains_release)
            unanswered = (*unanswered, *_unanswered_without_source(plan))
        found = check_relation(opened, table, schema, chosen, wildcard, population=population)
        return replace(found, unanswered=(*unanswered, *found.unanswered))


def _unanswered_without_source(plan: Plan) -> tuple[str, ...]:
    """List the parts of a plan's question that need the source."""
    if not getattr(plan.method, "suppression", 0):
        return ()
    return tuple(
        f"The model {part.name} was judged without rows that were left out, whose number the table does not have."
        for part in plan.model_of_rows.parts
        if part.needs_disjoint_labels
    )


def _unanswered_without_people(plan: Plan) -> tuple[str, ...]:
    """List the parts of a plan's question that need people."""
    if not plan.schema.person:
        return ()
    names = sorted({part.name for part in plan.model_of_rows.parts if part.requires_people})
    return (
        "The plan counts people, and the table has no column that identifies them: rows were counted.",
        *(f"The model {name} applies to people only and was not checked." for name in names),
    )
