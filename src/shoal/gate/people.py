"""Groups of people, counted and judged from the values once more, where a column says whose rows they are.

A group is the set of the people who have a row in it, and a person the set of all known values that he or she has in
the source. Different values: the fewest such that everybody has one of them. Weight: everybody's lightest value.
Shares: each person once, in equal parts on his or her values, over a common denominator that makes parts whole.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.gate.counting import Held, Sensitive, groups_of, list_sensitive
from shoal.gate.definitions import DEFINITIONS, Definition, Verdict, written
from shoal.gate.judgement import Judgement, Opinion, all_together, columns_needed
from shoal.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["judge_people"]

Values = frozenset[int]
OnPeople = Callable[[int, Sequence[Values]], Verdict]
"""Judges a group by how many people it has, and the values of those of whom any is known."""


def judge_people(
    released: pa.Table, source: pa.Table, quasi: Sequence[int], person: int, schema: Schema, models: Sequence[Any]
) -> Judgement:
    """Judge the groups of a release by each model, in people.

    Both tables have combinations (c<place>, n): of the release with the quasi-identifiers in the places ``quasi`` and
    the number of a person in the place ``person``; of the source with columns named as the schema names them.
    """
    owner = [int(number) for number in released.column(f"c{person}").to_pylist()]
    sizes, members = groups_of(released, quasi)
    groups = [sorted({owner[row] for row in rows}) for rows in members]
    present = sorted({person for group in groups for person in group})
    needed = columns_needed(models, schema.sensitive)
    listed = list_sensitive({name: (0, source.column(name), source.column("n")) for name in needed}, schema)
    (name,) = schema.person
    has = {column.name: _values(source.column(name).to_pylist(), column, source) for column in listed}
    opinions: list[Opinion | None] = []
    for model in models:
        known = DEFINITIONS.get(model.name)
        if known is None:
            opinions.append(None)
        elif not known.sensitive:
            judge = known.judge(model, None)
            opinions.append(_gather(known, model, [judge(len(group), ()) for group in groups]))
        else:
            chosen = [column for column in listed if model.column in (None, column.name)]
            every = [_on_column(known, model, column, has[column.name], groups, present) for column in chosen]
            opinions.append(all_together(known, model, every))
    return Judgement(sum(sizes), len(groups), min(map(len, groups), default=0), tuple(opinions))


def _values(people: Sequence[Any], column: Sensitive, source: pa.Table) -> Mapping[int, Values]:
    """The known values of every person, in all rows of the source."""
    found: dict[int, set[int]] = {}
    for person, value in zip(people, column.numbers(source.column(column.name)), strict=True):
        own = found.setdefault(int(person), set())
        if value is not None:
            own.add(value)
    return {person: frozenset(values) for person, values in found.items()}


def _on_column(
    known: Definition,
    model: Any,
    column: Sensitive,
    has: Mapping[int, Values],
    groups: Sequence[Sequence[int]],
    present: Sequence[int],
) -> Opinion:
    judge = _judge(known, model, column, [has[person] for person in present if has[person]])
    found = [judge(len(group), [has[person] for person in group if has[person]]) for group in groups]
    return _gather(known, model, found)


def _gather(known: Definition, model: Any, found: Sequence[Verdict]) -> Opinion:
    effective = {
        figure.parameter: figure.worst(told[place] for _, told in found)
        for place, figure in enumerate(known.figures(model))
    }
    return Opinion(all(holds for holds, _ in found), effective)


def _judge(known: Definition, model: Any, column: Sensitive, everybody: Sequence[Values]) -> OnPeople:
    if model.name == "p-sensitive":
        return _different(int(model.p))
    if model.name == "l-diversity" and model.kind == "distinct":
        return _different(int(written(model.l)))
    if model.name in ("p-alpha-sensitive", "p-plus-alpha-sensitive"):
        return _weighing(model, column)
    parts = math.lcm(*map(len, everybody))
    total = dict(_shared(everybody, parts))
    counted = replace(column, total=tuple(total.get(value, 0) for value in range(len(column.total))))
    judge = known.judge(model, counted)
    return lambda size, sets: judge(size, _shared(sets, parts))


def _shared(sets: Sequence[Values], parts: int) -> Held:
    """What people have of each value, where each of them has so many parts to share out."""
    held: Counter[int] = Counter()
    for values, times in Counter(sets).items():
        for value in values:
            held[value] += times * (parts // len(values))
    return tuple(sorted(held.items()))


def _different(least: int) -> OnPeople:
    """No ``least`` - 1 values such that everybody has one of them. No more than ``least`` are told."""

    def judge(size: int, sets: Sequence[Values]) -> Verdict:
        found = _needed(set(sets), least)
        return found >= least, (found,)

    return judge


def _weighing(model: Any, column: Sensitive) -> OnPeople:
    category = [int(place) for place in column.domain.category]  # type: ignore[union-attr]
    span = column.domain.categories - 1
    by_category = model.name == "p-plus-alpha-sensitive"

    def judge(size: int, sets: Sequence[Values]) -> Verdict:
        kinds = [frozenset(category[value] for value in values) for values in sets]
        found = _needed(set(kinds if by_category else sets), int(model.p))
        units = sum(map(min, kinds))
        return found >= model.p and units >= written(model.alpha) * span, (found, units / span)

    return judge


def _needed(sets: set[Values], most: int) -> int:
    """How few values suffice for everybody to have one of them; ``most`` where fewer do not. 0 of nobody."""
    if not sets:
        return 0
    open_sets, number = {frozenset(sets)}, 0
    # all that can be left open by one value more, by two, ...: whoever has the fewest values must have one of them
    while number < most - 1:
        number += 1
        left: set[frozenset[Values]] = set()
        for still in open_sets:
            for value in min(still, key=lambda values: (len(values), sorted(values))):
                rest = frozenset(values for values in still if value not in values)
                if not rest:
                    return number
                left.add(rest)
        open_sets = left
    return most
