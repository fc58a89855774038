"""Judge counted groups by every model, and hold the judgement against what the models told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.verification.independent.counting import Counts, Held, Sensitive
from shoal.verification.independent.definitions import DEFINITIONS, Definition

__all__ = [
    "PEOPLE_PER_PERSON",
    "ROWS_PER_PERSON",
    "Judgement",
    "Opinion",
    "all_together",
    "columns_needed",
    "differences",
    "judge",
    "together",
]

ROWS_PER_PERSON, PEOPLE_PER_PERSON = "rows_per_person", "people_per_person"
NEAR = 1e-8  # by how much, of their size, figures may differ that two ways of rounding gave


@dataclass(frozen=True)
class Opinion:
    """The gate's own verdict on one model: whether every group meets it, and what the table really reaches."""

    holds: bool
    effective: Mapping[str, float]


@dataclass(frozen=True)
class Judgement:
    """The gate's own verdict on a table, or a part of one. A model that the gate does not know has no opinion."""

    rows: int
    groups: int
    smallest: int
    opinions: tuple[Opinion | None, ...]


def columns_needed(models: Sequence[Any], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Which of the sensitive columns any of the models is about."""
    about = [model.column for model in models if model.name in DEFINITIONS and DEFINITIONS[model.name].sensitive]
    return tuple(name for name in sensitive if None in about or name in about)


def judge(counts: Counts, sensitive: Sequence[Sensitive], models: Sequence[Any]) -> Judgement:
    """Judge the groups by each model; ``sensitive`` are the columns that any of them is about."""
    opinions = tuple(_opinion(counts, sensitive, model) for model in models)
    return Judgement(counts.rows, counts.groups, min(counts.sizes, default=0), opinions)


def _opinion(counts: Counts, sensitive: Sequence[Sensitive], model: Any) -> Opinion | None:
    known = DEFINITIONS.get(model.name)
    if known is None:
        return None
    if not known.sensitive:
        alone: Counter[tuple[int, Held]] = Counter({(size, ()): times for size, times in counts.sizes.items()})
        return _ask(known, model, None, alone)
    chosen = [column for column in sensitive if model.column in (None, column.name)]
    return all_together(known, model, [_ask(known, model, column, counts.held[column.name]) for column in chosen])


def _ask(known: Definition, model: Any, column: Sensitive | None, alike: Counter[tuple[int, Held]]) -> Opinion:
    """One model, one column: each kind of group once."""
    verdict = known.judge(model, column)
    found = [verdict(size, held) for size, held in alike]
    effective = {
        figure.parameter: figure.worst(told[place] for _, told in found)
        for place, figure in enumerate(known.figures(model))
    }
    return Opinion(all(holds for holds, _ in found), effective)


def all_together(known: Definition, model: Any, every: Sequence[Opinion]) -> Opinion:
    """What opinions on several columns, or several parts of a table, say together."""
    figures = known.figures(model)
    worst = {figure.parameter: figure.worst(one.effective[figure.parameter] for one in every) for figure in figures}
    return Opinion(bool(every) and all(one.holds for one in every), worst)


def together(parts: Sequence[Judgement], models: Sequence[Any]) -> Judgement:
    """The judgement on a table whose groups were judged in parts."""
    opinions: list[Opinion | None] = []
    for number, model in enumerate(models):
        every = [opinion for part in parts if (opinion := part.opinions[number]) is not None]
        known = DEFINITIONS.get(model.name)
        opinions.append(None if known is None else all_together(known, model, every))
    return Judgement(
        sum(part.rows for part in parts),
        sum(part.groups for part in parts),
        min((part.smallest for part in parts), default=0),
        tuple(opinions),
    )


def differences(own: Opinion, model: Any, holds: bool, effective: Mapping[str, float]) -> list[str]:
    """In what a model's word (``holds`` and ``effective``) differs from the gate's opinion, or contradicts itself.

    Of a model that is asked of sets of columns the rows that can be a person's are a figure too, and must be as many as
    its k; or the people, where these are counted.
    """
    found = []
    enough = True
    for fewest in {ROWS_PER_PERSON, PEOPLE_PER_PERSON} & effective.keys():
        model = model.of
        enough = effective[fewest] >= getattr(model, "k", 1)
    if own.holds != holds:
        found.append("whether it holds")
    if own.effective.keys() != effective.keys() or not all(
        _alike(figure, effective[parameter]) for parameter, figure in own.effective.items()
    ):
        found.append("what the table reaches")
    kept = (
        figure.keeps(effective.get(figure.parameter, math.nan), getattr(model, figure.parameter))
        for figure in DEFINITIONS[model.name].figures(model)
    )
    if holds != (enough and all(kept)):
        found.append("what its figures mean")
    return found


def _alike(one: float, other: float) -> bool:
    if math.isinf(one) or math.isinf(other):
        return one == other
    return abs(one - other) <= NEAR * max(1.0, abs(one), abs(other))
