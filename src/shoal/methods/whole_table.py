"""Models of the whole table, for methods that judge one group at a time.

An average risk is met if every group has a certain size, and often by smaller groups already, since most groups of
local recoding are larger than they must be. So the method runs with several group sizes, and the recoding of the
smallest size that meets the models is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shoal.errors import PlanError
from shoal.methods.base import Method, Problem
from shoal.methods.partition import form_groups, same_labels
from shoal.models import AllOf, Model, make_model
from shoal.models.by_people import ByPeople
from shoal.table import ByLevel, Groups, Recoding

MAX_TRIALS = 5
"""Largest number of group sizes that are tried."""


def require_whole_table_supported(method: Method, model: AllOf) -> None:
    """Raise before any work where a method cannot meet models of the table."""
    if not model.of_table or method.judges_whole_table or (method.forms_groups and method.reveals_source):
        return
    from shoal.methods import METHODS

    named = next(part.name for part in model.parts if part.of_table)
    serve = ", ".join(name for name, one in METHODS.items() if one.judges_whole_table)
    raise PlanError("method.not-for-table-models", method=method.name, model=named, allowed=serve)


def decide_by_group_size(problem: Problem, decide: Callable[[Problem], Recoding]) -> Recoding:
    """Decide with group sizes in place of models of the whole table."""
    table = [part for part in problem.model.parts if part.of_table]
    low, high = (max(getattr(part, name) for part in table) for name in ("least", "sufficient_size"))
    low, high = max(low, 2), max(high, 2)
    best = decide(replace(problem, model=_with_group_size(problem.model, high)))
    for _ in range(MAX_TRIALS - 1):
        if low >= high:
            break
        size = (low + high) // 2
        found = decide(replace(problem, model=_with_group_size(problem.model, size)))
        if problem.model.of_all_columns.assess(_groups(problem, found)).holds.all():
            best, high = found, size
        else:
            low = size + 1
    return best


def _with_group_size(model: AllOf, size: int) -> AllOf:
    """Return the models with a group size in place of those of the table."""
    replaced: list[Model] = [_of_size(part, size) if part.of_table else part for part in model.parts]
    return AllOf(tuple(dict.fromkeys(replaced)))


def _of_size(part: Model, size: int) -> Model:
    sized = make_model("k-anonymity", k=size)
    return replace(part, of_rows=sized) if isinstance(part, ByPeople) else sized


def _groups(problem: Problem, recoding: Recoding) -> Groups:
    """Return the released groups of a recoding."""
    if isinstance(recoding, ByLevel):
        group = np.unique(recoding.group, return_inverse=True)[1] - int((recoding.group < 0).any())
        return problem.frequencies.groups_of(group.astype(np.int64), int(group.max(initial=-1)) + 1)
    return form_groups(problem.frequencies, recoding.row, same_labels(recoding)[recoding.group], recoding.count)
