"""A plan from a few words: which columns others know, which are sensitive, and how large groups must be.

    anonymize(frame, quasi_identifiers=["age", "zip"], sensitive="illness", k=5)

Hierarchies are drafted from the columns. A column that no keyword names is left out, and that is told. Where no
quasi-identifiers are named, all roles are drafted, as ``shoal plan`` does, and told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.advice.profile import profile, suggest_hierarchies
from shoal.errors import PlanError
from shoal.io.engines import open_engine
from shoal.io.engines.base import Relation, Source, require_columns
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import Auto, HiddenCells, Method
from shoal.models import Known, Model, make_model
from shoal.plan.coerce import (
    AskedColumn,
    AskedMethod,
    AskedModels,
    AskedNames,
    as_column,
    as_method,
    as_models,
    as_names,
)
from shoal.plan.plan import Plan, build_hierarchy
from shoal.schema import Column, Role, Schema

__all__ = ["Asked", "Note", "plan_for"]

Note = dict[str, str]
LETTERS = {"p": "p-sensitive", "l": "l-diversity", "t": "t-closeness"}
"""The models of single letters that are about sensitive columns."""
"""What was decided for the user: a code for programs, a text for people."""

MOST_NAMED = 12


@dataclass(frozen=True)
class Asked:
    """The keywords of :func:`shoal.anonymize`, as they were given."""

    quasi_identifiers: AskedNames | Mapping[str, AskedColumn] | None = None
    sensitive: AskedNames | Mapping[str, AskedColumn] | None = None
    identifiers: AskedNames | None = None
    other: AskedNames | None = None
    person: AskedNames | None = None
    k: int | None = None
    p: int | None = None
    l: int | float | None = None  # noqa: E741 - the model's own letter
    t: float | None = None
    known: int | None = None
    models: AskedModels | None = None
    method: AskedMethod | None = None
    suppression: float | None = None
    missing: AskedNames | None = None
    seed: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no keyword was given."""
        return self == Asked()


def plan_for(data: Any, asked: Asked) -> tuple[Plan, tuple[Note, ...]]:
    """The plan that a few words mean for a table, and what was decided on the way."""
    named = _named(asked)
    table = _columns(data)
    require_columns(table, tuple(named))
    missing = as_names(asked.missing, "texts for missing values")
    if asked.quasi_identifiers is None:
        columns, missing, notes = _drafted(data, table, named, missing)
        drafted = True
    else:
        columns, notes = _as_named(data, table, named, missing)
        drafted = False
    schema = Schema(columns)
    models, more = _models(asked, schema, drafted)
    source = Source(csv=CsvFormat(missing=missing)) if missing else None
    plan = Plan(schema, models, _method(asked), source, seed=asked.seed or 0)
    return plan, (*notes, *more)


def _named(asked: Asked) -> dict[str, Column]:
    """The columns that keywords name."""
    found: dict[str, Column] = {}
    given = (
        (asked.quasi_identifiers, Role.QUASI_IDENTIFIER, "quasi-identifiers"),
        (asked.sensitive, Role.SENSITIVE, "sensitive columns"),
        (asked.identifiers, Role.IDENTIFIER, "identifiers"),
        (asked.other, Role.OTHER, "other columns"),
        (asked.person, Role.PERSON, "columns that say whose rows they are"),
    )
    for names, role, what in given:
        made = {} if isinstance(names, Mapping) else {name: Column(role) for name in as_names(names, what)}
        if isinstance(names, Mapping):
            made = {name: _column_of(role, column) for name, column in names.items()}
        for name, column in made.items():
            if name in found:
                raise PlanError(f"A column must have one role; {name!r} is both {found[name].role} and {role}.")
            found[name] = column
    return found


def _column_of(role: Role, given: AskedColumn) -> Column:
    column = replace(as_column(given), role=role) if isinstance(given, Column) else as_column(given)
    if column.role is not role:
        if column.hierarchy is None:
            raise PlanError(f"A column that is named as {role} cannot be {column.role} too; name it once.")
        column = Column(role, column.hierarchy)
    return column


def _columns(data: Any) -> Relation:
    """The names of a table's columns."""
    if isinstance(data, str | Path):
        raise PlanError(
            "The table must be a frame (pandas, Polars, PyArrow, DuckDB). Of a file: shoal.draft(path) writes a plan, "
            "and shoal.release(plan) does what it says."
        )
    with open_engine(None, data) as engine:
        return engine.read(Source(frame=data))


def _as_named(
    data: Any, table: Relation, named: Mapping[str, Column], missing: tuple[str, ...]
) -> tuple[dict[str, Column], list[Note]]:
    """The columns as keywords name them, with drafted hierarchies; the rest is left out."""
    bare = [name for name, column in named.items() if column == Column(Role.QUASI_IDENTIFIER)]
    hierarchies = suggest_hierarchies(data, bare, CsvFormat(missing=missing)) if bare else {}
    columns = dict(named)
    for name, found in hierarchies.items():
        columns[name] = Column(Role.QUASI_IDENTIFIER, build_hierarchy(found, name, Path()))
    left_out = [name for name in table.columns if name not in named]
    if not left_out:
        return columns, []
    columns |= {name: Column(Role.DROP) for name in left_out}
    text = (
        f"No keyword names {_listed(left_out)}: left out of the release. To publish a column as it is, name it in "
        f"other=[...]."
    )
    return columns, [{"code": "left-out", "text": text}]


def _drafted(
    data: Any, table: Relation, named: Mapping[str, Column], missing: tuple[str, ...]
) -> tuple[dict[str, Column], tuple[str, ...], list[Note]]:
    """The columns as a look at the table suggests, but for those that keywords name."""
    looked = profile(data, source=CsvFormat(missing=missing))
    columns = dict(named)
    for found in looked.columns:
        if found.name not in named:
            hierarchy = None
            if found.role is Role.QUASI_IDENTIFIER and found.hierarchy is not None:
                hierarchy = build_hierarchy(found.hierarchy, found.name, Path())
            columns[found.name] = Column(found.role, hierarchy)
    roles: dict[Role, list[str]] = {}
    for name in table.columns:
        if name not in named:
            roles.setdefault(columns[name].role, []).append(name)
    told = "; ".join(f"{role}: {_listed(names)}" for role, names in roles.items())
    text = (
        f"Roles were drafted by looking at the columns. {told}. Which facts others may know of a person is not in the "
        f"data: read the roles, and name them yourself (quasi_identifiers=[...], sensitive=[...])."
    )
    return columns, (*missing, *looked.missing), [{"code": "drafted", "text": text}]


def _models(asked: Asked, schema: Schema, drafted: bool) -> tuple[tuple[Model, ...], list[Note]]:
    """The models of the letters, one for each sensitive column, and those given as such."""
    models: list[Model] = [] if asked.k is None else [make_model("k-anonymity", k=asked.k)]
    columns: list[str | None] = list(schema.sensitive)
    letters = {"p": asked.p, "l": asked.l, "t": asked.t}
    about = [letter for letter, value in letters.items() if value is not None]
    if about and not columns:
        raise PlanError(f"{about[0]} is about sensitive columns, and none is named: sensitive=[...].")
    notes: list[Note] = []
    given = as_models(asked.models)
    if not models and not about and not given:
        raise PlanError("Say what every group must meet: k=5, or models=[...]. Nothing is assumed.")
    if drafted and columns and not about and not given:
        letters["l"] = 2
        text = "l = 2 was added: no group may share one value of a sensitive column. Say l, p or t."
        notes.append({"code": "drafted-model", "text": text})
    for column in columns if len(columns) > 1 else columns and [None]:
        asks = ((LETTERS[letter], {letter: value}) for letter, value in letters.items() if value is not None)
        models += [make_model(name, column=column, **parameters) for name, parameters in asks]
    everything = (*models, *given)
    if asked.known is not None:
        everything = tuple(Known(model, asked.known) for model in everything)
    return everything, notes


def _method(asked: Asked) -> Method:
    usual = Auto() if asked.known is None else HiddenCells()
    return as_method(usual if asked.method is None else asked.method, asked.suppression)


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:MOST_NAMED]))
    return shown + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
