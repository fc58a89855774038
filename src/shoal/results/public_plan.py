"""Public plan: the part of a plan that readers of a release are given.

It is what a reader needs to ask the question of the plan again: roles, models, key sets, the name of the method and the
settings that change what is promised. It has no path, no comment, no seed and no digest. It has no hierarchy of a
quasi-identifier either: such a hierarchy may list values, or end at numbers, that no released row has. What a plan
lists of a sensitive column is cut to the released values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shoal.methods import AntiUnification
from shoal.methods.patterns.anti_unification import SUPPORT
from shoal.models import AllOf
from shoal.plan.plan import Plan, plain
from shoal.results.certificate import PublicColumn, PublicShift, StatedPlan
from shoal.schema import Column, Hierarchy, Role, Schema
from shoal.schema.tree_hierarchies import declared_paths

PUBLIC_SETTINGS = ("suppression", "missing", "patterns")
"""Settings of methods that change what a release promises, or how its rows are read."""
UNRELEASED = "not released"


@dataclass(frozen=True)
class PublicPlan:
    """Part of a plan that is published with a release.

    Attributes
    ----------
    schema
        The columns, without hierarchies of quasi-identifiers. Sensitive columns have all that the plan lists of them,
        since models need it; :meth:`state` cuts it.
    model
        All promises, of the plan and of the method; they count people if there is a person column.
    document
        The models, key sets and method as a plan writes them.
    wildcard
        The label that stands for any value, if the method has one.
    max_left_out
        The largest share of the rows that may be left out, if the method has such a limit.
    support
        The column with the support of each pattern, if rows are overlapping patterns.
    guarantee
        The guarantee of a method under a budget, from declared figures alone.
    review
        Whether somebody has read the plan: draft, reviewed, changed; None where it does not say.
    """

    schema: Schema
    model: AllOf
    document: Mapping[str, Any]
    method: str
    wildcard: str | None = None
    max_left_out: float | None = None
    support: str | None = None
    guarantee: Any = None
    review: str | None = None

    def state(self, values: Mapping[str, Collection[str]]) -> StatedPlan:
        """Return the plan as it is published.

        ``values`` are the released values of sensitive columns.
        """
        columns = {name: _column(column, values.get(name, ())) for name, column in self.schema.columns.items()}
        return StatedPlan(columns=columns, **{key: _listed(value) for key, value in self.document.items()})


def public_plan(plan: Plan) -> PublicPlan:
    """Reduce a plan to the part that is published with its release."""
    method = plan.method
    columns = {name: _public_column(column) for name, column in plan.schema.columns.items()}
    settings = {key: value for key, value in method.to_plan().items() if key in PUBLIC_SETTINGS}
    added = [model for model in method.promises if model not in plan.models]
    document: dict[str, Any] = {"models": [model.to_plan() for model in (*plan.models, *added)]}
    if plan.keys:
        document["keys"] = [key.to_plan() for key in plan.keys]
    if plan.scenarios:
        document["scenarios"] = [scenario.to_plan() for scenario in plan.scenarios]
    if plan.population is not None:
        document["population"] = {"contains_release": plan.population.contains_release}
    if not plan.together:
        document["together"] = False
    if plan.recipient is not None:
        document["recipient"] = plan.recipient.to_plan()
    if method.reveals_source:  # a method under a budget cannot be named without its ledger
        document["method"] = {"name": method.name, **settings}
    overlapping = isinstance(method, AntiUnification) and method.patterns == "overlapping"
    return PublicPlan(
        Schema(columns),
        plan.model,
        plain(document),
        method.name,
        method.wildcard,
        getattr(method, "suppression", None),
        SUPPORT if overlapping else None,
        method.declared_guarantee(),
        plan.review_status,
    )


def _public_column(column: Column) -> Column:
    """Return a column without the treatment of its values."""
    if column.levels is not None:
        return Column(
            column.role, exact=column.exact, harmless=column.harmless, missing=column.missing,
            known_to_others=column.known_to_others,
        )  # fmt: skip
    is_quasi = column.role is Role.QUASI_IDENTIFIER
    return replace(column, hierarchy=None if is_quasi else column.hierarchy, unmatched="error")


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _column(column: Column, values: Collection[str]) -> PublicColumn:
    """Return a column as it is published, with released values only.

    A value that was not released keeps its position without its name, so that ranks and weights stay the same.
    """
    public = PublicColumn(
        role=str(column.role),
        publish=column.publish,
        pseudonym=column.pseudonym,
        exact=column.exact,
        relative_to=column.relative_to,
        known_to_others=column.known_to_others,
        shift=None if column.shift is None else PublicShift(days=column.shift.days, per=column.shift.per),
    )
    if column.role is not Role.SENSITIVE:
        return public
    keys = {column.key(value) for value in values}
    harmless = tuple(value for value in column.harmless if column.key(value) in keys)
    public = replace(public, harmless=harmless, missing=column.missing)
    categories = column.categories
    if categories is not None and column.publish == "categories":
        unnamed = tuple((_unreleased(index),) for index in range(categories.count))
        names = _cut(categories.names, column, keys) if categories.names else None
        return replace(public, categories=unnamed, category_names=names)
    if categories is not None:
        classes = tuple(
            tuple(value for value in listed if column.key(value) in keys) or (_unreleased(index),)
            for index, listed in enumerate(categories.classes)
        )
        public = replace(public, categories=classes, category_names=categories.names)
    rows = () if column.hierarchy is None else _paths(column.hierarchy, column, keys)
    return replace(
        public,
        order=None if column.order is None else _cut(column.order, column, keys),
        hierarchy={"table": rows} if rows else None,
    )


def _cut(listed: Collection[str], column: Column, keys: Collection[str | None]) -> tuple[str, ...]:
    return tuple(value if column.key(value) in keys else _unreleased(index) for index, value in enumerate(listed))


def _unreleased(index: int) -> str:
    return f"{UNRELEASED} {index + 1}"


def _paths(hierarchy: Hierarchy, column: Column, keys: Collection[str | None]) -> tuple[tuple[str, ...], ...]:
    """Return the released values with their labels at each level.

    All have as many levels as the hierarchy, by which distances are divided.
    """
    paths = declared_paths(hierarchy)
    depth = max(map(len, paths), default=0)
    return tuple((path[0],) * (depth - len(path)) + tuple(path) for path in paths if column.key(path[0]) in keys)
