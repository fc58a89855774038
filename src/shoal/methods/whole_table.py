"""Group sizes in place of models of the whole table and of a population.

An average risk is met if every group has a certain size, and often by smaller groups already, since most groups of
local recoding are larger than they must be. A group of k rows has k people of the population, and a smaller one may
have them too. So the method runs with several group sizes, and the recoding of the smallest size that meets the models
is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from shoal.errors import PlanError
from shoal.methods.base import Method, Problem
from shoal.methods.partition import form_groups, same_labels
from shoal.models import AllOf, Model, make_model
from shoal.models.by_people import ByPeople
from shoal.table import ByGroup, ByLevel, Groups, Recoding
from shoal.table.population import CountedPeople, group_at_levels
from shoal.utility.covered_people import count_covered_people

MAX_TRIALS = 5
"""Largest number of group sizes that are tried."""


def require_whole_table_supported(method: Method, model: AllOf) -> None:
    """Raise before any work where a method cannot meet models of the table."""
    named = next((part.name for part in model.parts if part.of_table and not part.needs_population), None)
    if named is None or method.judges_whole_table or (method.forms_groups and method.reveals_source):
        return
    from shoal.methods import METHODS

    serve = ", ".join(name for name, one in METHODS.items() if one.judges_whole_table)
    raise PlanError("method.not-for-table-models", method=method.name, model=named, allowed=serve)


def needs_group_sizes(method: Method, model: AllOf) -> bool:
    """Return whether group sizes stand for models that a method cannot judge."""
    return not method.judges_whole_table and any(_is_replaced(part) for part in model.parts)


def decide_by_group_size(problem: Problem, decide: Callable[[Problem], Recoding]) -> Recoding:
    """Decide with group sizes in place of models of table and population."""
    table = [part for part in problem.model.parts if _is_replaced(part)]
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


def _is_replaced(part: Model) -> bool:
    """Return whether a group size replaces a model while groups are formed."""
    return part.of_table or part.needs_population


def _with_group_size(model: AllOf, size: int) -> AllOf:
    """Return the models with a group size in place of those of the table."""
    replaced: list[Model] = [_of_size(part, size) if _is_replaced(part) else part for part in model.parts]
    return AllOf(tuple(dict.fromkeys(replaced)))


def _of_size(part: Model, size: int) -> Model:
    sized = make_model("k-anonymity", k=size)
    return replace(part, of_rows=sized) if isinstance(part, ByPeople) else sized


def _groups(problem: Problem, recoding: Recoding) -> Groups:
    """Return the released groups of a recoding, with their people."""
    frequencies = problem.frequencies
    if not isinstance(recoding, ByLevel):
        return _groups_by_label(problem, recoding)
    inverse, groups = group_at_levels(frequencies, problem.ladders, recoding.levels)
    stays = np.zeros(groups.count, np.bool_)
    stays[inverse[recoding.group >= 0]] = True
    number = np.where(stays, np.cumsum(stays) - 1, -1)[inverse]
    people = groups.people_of
    people = None if people is None else people.without(stays, int(groups.size[~stays].sum()))
    return replace(frequencies.groups_of(number, int(stays.sum())), people_of=people)


def _groups_by_label(problem: Problem, recoding: ByGroup) -> Groups:
    """Return the groups of a partition by their labels, with their people."""
    frequencies, label_group = problem.frequencies, same_labels(recoding)
    groups = form_groups(frequencies, recoding.row, label_group[recoding.group], recoding.count)
    population = frequencies.population
    if population is None:
        return groups
    labels, codes = [], np.zeros((groups.count, len(recoding.labels)), np.int32)
    for j, column in enumerate(recoding.labels):
        texts = column if isinstance(column, pa.Array) else pa.array(column, pa.string())
        coded = texts.cast(pa.string()).dictionary_encode("encode")
        labels.append(coded.dictionary.to_pylist())
        codes[label_group, j] = coded.indices.to_numpy()
    found = count_covered_people(
        labels,
        codes,
        groups,
        CountedPeople(frequencies.quasi, population.codes, population.count),
        problem.schema,
        contains_release=population.contains_release,
    )
    return replace(groups, people_of=found.people)
