"""Evaluate counted groups by every model, and compare both verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.runtime.lazy_dataclass import dataclass
from shoal.verification.independent.counting import Counts, CountsByValue, SensitiveColumn
from shoal.verification.independent.definitions import BUILT_IN_DEFINITIONS, DEFINITIONS, Definition, Verdict
from shoal.verification.independent.population import PeopleByGroup

ROWS_PER_PERSON, PEOPLE_PER_PERSON = "rows_per_person", "people_per_person"
RELATIVE_TOLERANCE = 1e-8  # relative difference that rounding may cause between the two verifications


@dataclass(frozen=True)
class ModelEvaluation:
    """Independent verdict on one model, and the parameters that are reached."""

    holds: bool
    effective: Mapping[str, float]


@dataclass(frozen=True)
class TableEvaluation:
    """Independent verdict on a table or a part of it.

    A model that has no definition here has the evaluation None.
    """

    rows: int
    groups: int
    smallest: int
    evaluations: tuple[ModelEvaluation | None, ...]


def columns_needed(models: Sequence[Any], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Return the sensitive columns that any of the models refers to."""
    defined = [model for model in models if model.name in DEFINITIONS and DEFINITIONS[model.name].sensitive]
    about = [_column_of(model) for model in defined]
    return tuple(name for name in sensitive if None in about or name in about)


def _column_of(model: Any) -> str | None:
    """Return the sensitive column of a model; None stands for all."""
    return getattr(model, "column", None)


def judge(
    counts: Counts,
    sensitive: Sequence[SensitiveColumn],
    models: Sequence[Any],
    people: PeopleByGroup | None = None,
) -> TableEvaluation:
    """Evaluate the groups by each model.

    ``sensitive`` are the columns that any of the models refers to, ``people`` those of a population by group.
    """
    evaluations = tuple(_evaluate_model(counts, sensitive, model, people) for model in models)
    return TableEvaluation(counts.rows, counts.groups, min(counts.sizes, default=0), evaluations)


def _evaluate_model(
    counts: Counts, sensitive: Sequence[SensitiveColumn], model: Any, people: PeopleByGroup | None
) -> ModelEvaluation | None:
    definition = DEFINITIONS.get(model.name)
    if definition is None:
        return None
    if people is not None and (of_people := definition.population(model)) is not None:
        return merge_verdicts(definition, model, [of_people(people)])
    if (whole := definition.whole(model)) is not None:
        return merge_verdicts(definition, model, [whole(counts.sizes)])
    if not definition.sensitive:
        alone: Counter[tuple[int, CountsByValue]] = Counter({(size, ()): times for size, times in counts.sizes.items()})
        return _evaluate_column(definition, model, None, alone)
    chosen = [column for column in sensitive if _column_of(model) in (None, column.name)]
    return merge_model_evaluations(
        definition,
        model,
        [_evaluate_column(definition, model, column, counts.value_counts[column.name]) for column in chosen],
    )


def _evaluate_column(
    definition: Definition, model: Any, column: SensitiveColumn | None, group_kinds: Counter[tuple[int, CountsByValue]]
) -> ModelEvaluation:
    """Evaluate one model on one column, each kind of group once."""
    verdict = definition.judge(model, column)
    return merge_verdicts(definition, model, [verdict(size, value_counts) for size, value_counts in group_kinds])


def merge_verdicts(definition: Definition, model: Any, found: Sequence[Verdict]) -> ModelEvaluation:
    """Merge the verdicts on all groups, with the worst figures."""
    effective = {
        figure.parameter: figure.worst(figures[index] for _, figures in found)
        for index, figure in enumerate(definition.figures(model))
    }
    return ModelEvaluation(all(holds for holds, _ in found), effective)


JUDGES = (
    "the model alone",
    "the model and the independent verification",
    "the model and its package's definition",
)
"""The definitions by which a model can be judged."""


def name_judges(model: Any, evaluation: ModelEvaluation | None) -> str:
    """Name the definitions by which a model was judged, for the certificate."""
    if evaluation is None:
        return JUDGES[0]
    return JUDGES[1] if model.name in BUILT_IN_DEFINITIONS else JUDGES[2]


def merge_model_evaluations(definition: Definition, model: Any, every: Sequence[ModelEvaluation]) -> ModelEvaluation:
    """Merge evaluations of one model on several columns or parts of a table."""
    figures = definition.figures(model)
    worst = {figure.parameter: figure.worst(one.effective[figure.parameter] for one in every) for figure in figures}
    return ModelEvaluation(bool(every) and all(one.holds for one in every), worst)


def merge_evaluations(parts: Sequence[TableEvaluation], models: Sequence[Any]) -> TableEvaluation:
    """Merge the evaluations of the parts of a table."""
    evaluations: list[ModelEvaluation | None] = []
    for number, model in enumerate(models):
        every = [evaluation for part in parts if (evaluation := part.evaluations[number]) is not None]
        definition = DEFINITIONS.get(model.name)
        evaluations.append(None if definition is None else merge_model_evaluations(definition, model, every))
    return TableEvaluation(
        sum(part.rows for part in parts),
        sum(part.groups for part in parts),
        min((part.smallest for part in parts), default=0),
        tuple(evaluations),
    )


def differences(independent: ModelEvaluation, model: Any, holds: bool, effective: Mapping[str, float]) -> list[str]:
    """List the differences between a model's verdict and the independent one.

    The verdict of the model is ``holds`` and ``effective``. It may also contradict itself: its figures must say whether
    it holds. For a model of partial knowledge, the number of candidate rows of a person is a figure too, which must
    reach the model's k; or the number of candidate people, where people are counted.
    """
    found = []
    enough = True
    for minimum in {ROWS_PER_PERSON, PEOPLE_PER_PERSON} & effective.keys():
        model = model.of
        enough = effective[minimum] >= getattr(model, "k", 1)
    if independent.holds != holds:
        found.append("whether it holds")
    if independent.effective.keys() != effective.keys() or not all(
        _is_close(figure, effective[parameter]) for parameter, figure in independent.effective.items()
    ):
        found.append("what the table reaches")
    satisfied = (
        figure.satisfies(effective.get(figure.parameter, math.nan), model)
        for figure in DEFINITIONS[model.name].figures(model)
    )
    if holds != (enough and all(satisfied)):
        found.append("what its figures mean")
    return found


def _is_close(one: float, other: float) -> bool:
    if math.isinf(one) or math.isinf(other):
        return one == other
    return abs(one - other) <= RELATIVE_TOLERANCE * max(1.0, abs(one), abs(other))
