"""Checks that columns, models and method of a plan fit each other."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import PlanError
from shoal.methods import METHODS, Method
from shoal.models import AllOf, KeySet, partial_knowledge_models
from shoal.schema import Schema


def check_linked_rows(schema: Schema, model: AllOf, method: Method) -> None:
    """Check that the models and the method fit rows that can be linked.

    Rows of a person are linked by a pseudonym, by moved dates or because a model says so.
    """
    if schema.moved and not schema.person:
        raise PlanError("columns.shift-needs-person", column=schema.moved[0])
    linked = [part for part in model.parts if part.requires_people]
    if schema.linked and not linked:
        raise PlanError("pseudonyms.need-trajectory-anonymity")
    if linked and not schema.person:
        raise PlanError("people.no-person-column", model=linked[0].name)
    if linked and not method.supports_linked_rows:
        serve = ", ".join(name for name, known in METHODS.items() if known.supports_linked_rows)
        raise PlanError("method.not-for-linked-rows", method=method.name, model=linked[0].name, allowed=serve)


def check_keys(keys: Sequence[KeySet], schema: Schema, of_rows: AllOf, model: AllOf, method: Method) -> None:
    """Check that key sets and ``known`` fit the columns and the method.

    ``of_rows`` are the models that count rows, ``model`` those that may count people.
    """
    names = schema.quasi_identifiers
    if not partial_knowledge_models(of_rows):
        return
    for key in keys:
        key.require(names)
    if len({frozenset(key.columns) for key in keys}) < len(keys):
        raise PlanError("plan.key-set-twice")
    parts = partial_knowledge_models(model)
    for part in parts:
        part.require(names)
    if parts and not method.supports_partial_knowledge:
        serve = ", ".join(name for name, known in METHODS.items() if known.supports_partial_knowledge)
        raise PlanError("method.not-for-known", method=method.name, allowed=serve)
