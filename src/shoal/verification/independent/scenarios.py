"""Evaluate the crowds of scenarios independently.

A crowd is the rows with the same published values in a set of columns. Every set is grouped by itself from the
published table, with Arrow's hash tables or Python's dictionaries. Which sets are examined is derived here again from
what the plan says of the scenario: the maximal ones if the model is known to unite, otherwise all subsets. A model
about a sensitive column says nothing where this column is known: the maximal sets without it are examined too.

:mod:`shoal.models.scenarios` defines the condition; only the fields of model and scenario are read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

from shoal.schema import Schema
from shoal.verification.independent.counting import SensitiveColumn, count_groups
from shoal.verification.independent.definitions import BUILT_IN_DEFINITIONS, DEFINITIONS
from shoal.verification.independent.judge import ModelEvaluation, columns_needed, judge, merge_model_evaluations
from shoal.verification.independent.people import evaluate_people

if TYPE_CHECKING:
    import pyarrow as pa

UNITING_FOR_PEOPLE = ("k-anonymity", "p-sensitive", "p-alpha-sensitive", "p-plus-alpha-sensitive")
"""Models that hold for the union of two groups of people, which may have people in common, if they hold for one."""


def evaluate_scenario(
    counted: pa.Table, positions: Mapping[str, int], sensitive: Sequence[SensitiveColumn], part: Any
) -> ModelEvaluation | None:
    """Evaluate a model on the crowds of a scenario, in rows.

    ``counted`` has combinations (c<position>, n); ``positions`` are those of quasi-identifiers and sensitive columns,
    ``sensitive`` the columns that any model refers to. None where the model has no definition here.
    """

    def evaluate(known: Sequence[str]) -> ModelEvaluation | None:
        columns = [column for column in sensitive if column.name not in known]
        if not _is_about(part.of, [column.name for column in columns]):
            return None
        counts = count_groups(counted, [positions[name] for name in known], columns)
        return judge(counts, columns, [part.of]).evaluations[0]

    ignores_absent = getattr(part.of, "absent", "fails") == "ignored"  # a union can give a value a small share
    closed = part.of.name in BUILT_IN_DEFINITIONS and not ignores_absent
    return _evaluate_sets(part.of, part, evaluate, [column.name for column in sensitive], closed=closed)


def evaluate_scenario_by_people(
    counted: pa.Table,
    source: pa.Table | None,
    positions: Mapping[str, int],
    person: int,
    schema: Schema,
    part: Any,
) -> ModelEvaluation | None:
    """Evaluate a model on the crowds of a scenario, in people.

    ``source`` and ``person`` are as in :func:`evaluate_people`, and the rows of a person that can be linked are those
    that the part says.
    """
    model = part.of.of_rows

    def evaluate(known: Sequence[str]) -> ModelEvaluation | None:
        left = [name for name in schema.sensitive if name not in known]
        if not _is_about(model, left):
            return None
        chosen = [positions[name] for name in known]
        found = evaluate_people(counted, source, chosen, person, schema, [model], part.of.known_rows, left)
        return found.evaluations[0]

    distinct = model.name == "l-diversity" and model.kind == "distinct"
    closed = distinct or model.name in UNITING_FOR_PEOPLE
    return _evaluate_sets(model, part, evaluate, schema.sensitive, closed=closed)


def _is_about(model: Any, sensitive: Sequence[str]) -> bool:
    """Return whether a model is about sizes, or about one of these columns."""
    return not DEFINITIONS[model.name].sensitive or bool(columns_needed([model], sensitive))


def _evaluate_sets(
    model: Any,
    part: Any,
    evaluate: Callable[[Sequence[str]], ModelEvaluation | None],
    sensitive: Sequence[str],
    *,
    closed: bool,
) -> ModelEvaluation | None:
    """Evaluate a model on every set that matters, and take the worst."""
    definition = DEFINITIONS.get(model.name)
    if definition is None:
        return None
    named, further, plus = part.knowledge.columns, part.knowledge.further, part.knowledge.plus
    about = (None, *columns_needed([model], sensitive))
    sets = _maximal_sets(named, further, plus, about) if closed else _all_sets(named, further, plus)
    found = [evaluation for known in sets if (evaluation := evaluate(known)) is not None]
    return merge_model_evaluations(definition, model, found) if found else ModelEvaluation(True, {})


def _maximal_sets(
    named: Sequence[str], further: Sequence[str], plus: int, about: Sequence[str | None]
) -> Iterator[tuple[str, ...]]:
    """Yield the sets that no larger set implies, for each column asked about.

    Of a column, a larger set says nothing if it contains the column; None is asked about of every set.
    """
    spared = [{name for name in further if name != column} for column in about]
    for size in range(min(plus, len(further)) + 1):
        for added in combinations(further, size):
            if any(others.issuperset(added) and size == min(plus, len(others)) for others in spared):
                yield (*named, *added)


def _all_sets(named: Sequence[str], further: Sequence[str], plus: int) -> Iterator[tuple[str, ...]]:
    """Yield every subset of a maximal set once."""
    known = list(chain.from_iterable(combinations(named, size) for size in range(len(named) + 1)))
    added = list(chain.from_iterable(combinations(further, size) for size in range(plus + 1)))
    return ((*own, *more) for own in known for more in added)
