"""Plan from keywords: quasi-identifiers, sensitive columns and group size.

    anonymize(frame, quasi_identifiers=["age", "zip"], sensitive="illness", k=5)

Hierarchies are drafted from the columns. A column that no keyword names is dropped, with a note. Without
quasi-identifiers, all roles are drafted, as ``shoal plan`` does, with a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.advice.draft import draft_plan
from shoal.advice.fit_columns import fit_columns
from shoal.advice.profile import Profile, profile, suggest_hierarchies
from shoal.advice.suggest_role import MAX_SHARE_IN_GROUP, ColumnProfile, declared_harmless
from shoal.advice.try_methods import MAX_REFINE_CELLS
from shoal.errors import PlanError
from shoal.io.engines import open_engine
from shoal.io.engines.base import Relation, Source, require_columns
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import Auto, HiddenCells, Method, Mondrian, Refine
from shoal.models import Known, Model, make_model
from shoal.plan.coerce import (
    ColumnLike,
    ColumnsLike,
    MethodLike,
    ModelsLike,
    as_column,
    as_method,
    as_models,
    as_names,
)
from shoal.plan.plan import Plan, build_hierarchy
from shoal.schema import Categories, Column, Role, Schema

Note = dict[str, str]
"""Decision made for the user: a code for programs, a text for people."""
LETTERS = {"p": "p-sensitive", "l": "l-diversity", "t": "t-closeness"}
"""Models of sensitive columns by the letter of their parameter."""

MAX_COLUMNS_IN_MESSAGE = 12


@dataclass(frozen=True)
class Keywords:
    """Keywords of :func:`shoal.anonymize`, as given."""

    quasi_identifiers: ColumnsLike | Mapping[str, ColumnLike] | None = None
    sensitive: ColumnsLike | Mapping[str, ColumnLike] | None = None
    identifiers: ColumnsLike | None = None
    other: ColumnsLike | None = None
    person: ColumnsLike | None = None
    k: int | None = None
    p: int | None = None
    l: int | float | None = None  # noqa: E741 - the letter of the model
    t: float | None = None
    known: int | None = None
    models: ModelsLike | None = None
    method: MethodLike | None = None
    suppression: float | None = None
    missing: ColumnsLike | None = None
    seed: int | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether no keyword was given."""
        return self == Keywords()


def plan_for(data: Any, keywords: Keywords) -> tuple[Plan, tuple[Note, ...]]:
    """Build the plan of keywords for a table, and notes on its decisions.

    ``data`` is an Arrow table or a Spark frame.
    """
    named = _named_columns(keywords)
    table = _read_columns(data)
    require_columns(table, tuple(named))
    missing = as_names(keywords.missing, "texts for missing values")
    profiled: Profile | None = None
    if keywords.quasi_identifiers is None:
        profiled = _drafted_profile(data, named, missing, keywords.k)
        columns, missing, notes = _drafted_columns(profiled, table, named, missing)
    else:
        columns, notes = _columns_from_keywords(data, table, named, missing)
    schema = Schema(columns)
    models, more = _models(keywords, schema, profiled)
    source = Source(csv=CsvFormat(missing=missing)) if missing else None
    plan = Plan(schema, models, _method(keywords, profiled), source, seed=keywords.seed or 0)
    return plan, (*notes, *more)


def _named_columns(keywords: Keywords) -> dict[str, Column]:
    """Return the columns that keywords name."""
    found: dict[str, Column] = {}
    given = (
        (keywords.quasi_identifiers, Role.QUASI_IDENTIFIER, "quasi-identifiers"),
        (keywords.sensitive, Role.SENSITIVE, "sensitive columns"),
        (keywords.identifiers, Role.IDENTIFIER, "identifiers"),
        (keywords.other, Role.OTHER, "other columns"),
        (keywords.person, Role.PERSON, "columns that say whose rows they are"),
    )
    for names, role, what in given:
        made = {} if isinstance(names, Mapping) else {name: Column(role) for name in as_names(names, what)}
        if isinstance(names, Mapping):
            made = {name: _column_of(role, column) for name, column in names.items()}
        for name, column in made.items():
            if name in found:
                raise PlanError("columns.two-roles", column=name, first_role=found[name].role, second_role=role)
            found[name] = column
    return found


def _column_of(role: Role, given: ColumnLike) -> Column:
    column = replace(as_column(given), role=role) if isinstance(given, Column) else as_column(given)
    if column.role is not role:
        if column.hierarchy is None:
            raise PlanError("columns.role-contradicted", role=role, found=column.role)
        column = Column(role, column.hierarchy)
    return column


def _read_columns(data: Any) -> Relation:
    """Read the column names of a table."""
    with open_engine(None, data) as engine:
        return engine.read(Source(frame=data))


def _columns_from_keywords(
    data: Any, table: Relation, named: Mapping[str, Column], missing: tuple[str, ...]
) -> tuple[dict[str, Column], list[Note]]:
    """Draft hierarchies of named columns and drop the others."""
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
        f"No keyword names {_join_names(left_out)}: left out of the release. To publish a column as it is, name it in "
        f"other=[...]."
    )
    return columns, [{"code": "left-out", "text": text}]


def _drafted_profile(data: Any, named: Mapping[str, Column], missing: tuple[str, ...], k: int | None) -> Profile:
    """Profile a table as ``shoal plan`` does, with the given roles."""
    found = profile(data, csv=CsvFormat(missing=missing))
    found = found.with_roles({name: column.role for name, column in named.items()})
    if found.rows < 2 or not found.named(Role.QUASI_IDENTIFIER):
        return found
    k = k if k is None or 2 <= k <= found.rows else None
    source = Source(frame=data, csv=CsvFormat(missing=(*missing, *found.missing)))
    return fit_columns(found, source, lambda part: Plan.from_toml(draft_plan(part, None, Path(), k=k)))


def _drafted_columns(
    profiled: Profile, table: Relation, named: Mapping[str, Column], missing: tuple[str, ...]
) -> tuple[dict[str, Column], tuple[str, ...], list[Note]]:
    """Build the columns of a profile, except those that keywords name."""
    columns = dict(named)
    for found in profiled.columns:
        if found.name not in named:
            hierarchy = None
            if found.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE) and found.hierarchy is not None:
                hierarchy = build_hierarchy(found.hierarchy, found.name, Path())
            categories = None
            if found.diversity == "p-alpha-sensitive" and found.marks is not None:
                categories = Categories(tuple((mark,) for mark in found.marks))
            levels = 1 if found.role is Role.SENSITIVE and hierarchy is not None else None
            columns[found.name] = Column(
                found.role, hierarchy, categories, harmless=declared_harmless(found), levels=levels
            )
    roles: dict[Role, list[str]] = {}
    for name in table.columns:
        if name not in named:
            roles.setdefault(columns[name].role, []).append(name)
    roles_text = "; ".join(f"{role}: {_join_names(names)}" for role, names in roles.items())
    text = (
        f"Roles were drafted by looking at the columns. {roles_text}. Which facts others may know of a person is not "
        f"in the data: read the roles, and name them yourself (quasi_identifiers=[...], sensitive=[...])."
    )
    return columns, (*missing, *profiled.missing), [{"code": "drafted", "text": text}]


def _models(keywords: Keywords, schema: Schema, profiled: Profile | None) -> tuple[tuple[Model, ...], list[Note]]:
    """Build the models of each sensitive column, and add those given."""
    models: list[Model] = [] if keywords.k is None else [make_model("k-anonymity", k=keywords.k)]
    columns: list[str | None] = list(schema.sensitive)
    letters = {"p": keywords.p, "l": keywords.l, "t": keywords.t}
    letters_given = [letter for letter, value in letters.items() if value is not None]
    if letters_given and not columns:
        raise PlanError("models.keyword-needs-sensitive", parameter=letters_given[0])
    notes: list[Note] = []
    given = as_models(keywords.models)
    if not models and not letters_given and not given:
        raise PlanError("models.not-given")
    if profiled is not None and not letters_given and not given:
        drafted = [column for column in profiled.columns if column.diversity and column.name in schema.sensitive]
        models += [_diversity(column, keywords.k or 2) for column in drafted]
        if drafted:
            names = _join_names([column.name for column in drafted])
            text = (
                f"l = 2 was added for sensitive columns whose values mix ({names}): no group may share one value; of a "
                f"yes or no, not everybody in a group may say yes. Say l, p or t."
            )
            notes.append({"code": "drafted-model", "text": text})
    for column in columns if len(columns) > 1 else columns and [None]:
        requirements = ((LETTERS[letter], {letter: value}) for letter, value in letters.items() if value is not None)
        models += [make_model(name, column=column, **parameters) for name, parameters in requirements]
    all_models = (*models, *given)
    if keywords.known is not None:
        all_models = tuple(Known(model, keywords.known) for model in all_models)
    return all_models, notes


def _diversity(column: ColumnProfile, k: int) -> Model:
    """Build the model that a draft asks of a sensitive column."""
    if column.diversity == "l-diversity":
        return make_model("l-diversity", column=column.name, l=2)
    if column.diversity == "p-sensitive":
        return make_model("p-sensitive", column=column.name, p=2)
    if column.diversity == "alpha-k":
        return make_model("alpha-k", column=column.name, alpha=MAX_SHARE_IN_GROUP, k=k)
    return make_model("p-alpha-sensitive", column=column.name, p=1, alpha=min(column.least_no, k - 1))


def _method(keywords: Keywords, profiled: Profile | None) -> Method:
    """Return the method: that of keywords, or else as a draft has it."""
    usual: Method = Auto() if keywords.known is None else HiddenCells()
    if profiled is not None and keywords.known is None and keywords.suppression is None:
        quasi = profiled.named(Role.QUASI_IDENTIFIER)
        weights = {c.name: c.weight for c in profiled.columns if c.weight < 1 and c.name in quasi}
        usual = Mondrian(weights=weights)
        if profiled.rows * len(quasi) <= MAX_REFINE_CELLS:
            usual = Refine(start=Mondrian(weights=weights) if weights else None, weights=weights)
    return as_method(usual if keywords.method is None else keywords.method, keywords.suppression)


def _join_names(names: list[str]) -> str:
    text = ", ".join(map(repr, names[:MAX_COLUMNS_IN_MESSAGE]))
    return text + (f" and {len(names) - MAX_COLUMNS_IN_MESSAGE} more" if len(names) > MAX_COLUMNS_IN_MESSAGE else "")
