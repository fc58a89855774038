"""Groups of people, counted and judged from the values once more, where a column says whose rows they are.

A group is the set of the people who have a row in it, and a person the set of all known values that he or she has in
the source. Different values: the fewest such that everybody has one of them. Weight: everybody's lightest value.
Shares: each person once, in equal parts on his or her values, over a common denominator that makes parts whole.

Where rows of a person can be linked, those who share what is known of somebody are a group too: some rows by their
labels, or all of them. Here they are found by Python's tuples and dictionaries, person by person.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shoal.schema import Schema
from shoal.verification.independent.column_subsets import ShownRows, bound_columns, members_of, shown_as
from shoal.verification.independent.counting import Held, Sensitive, crowds_of, groups_of, list_sensitive
from shoal.verification.independent.definitions import DEFINITIONS, Definition, Verdict, written
from shoal.verification.independent.judge import PEOPLE_PER_PERSON, Judgement, Opinion, columns_needed

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["judge_people", "judge_sets_of_people"]

Values = frozenset[int]
OnPeople = Callable[[int, Sequence[Values]], Verdict]
"""Judges a group by how many people it has, and the values of those of whom any is known."""


def judge_people(
    released: pa.Table,
    source: pa.Table | None,
    quasi: Sequence[int],
    person: int,
    schema: Schema,
    models: Sequence[Any],
    known_rows: int | None = 1,
) -> Judgement:
    """Judge the groups of a release by each model, in people.

    Both tables have combinations (c<place>, n): of the release with the quasi-identifiers in the places ``quasi`` and
    the number of a person in the place ``person``; of the source, where a model looks at what people have, with columns
    named as the schema names them. Of a person ``known_rows`` rows can be linked, or all (None).
    """
    if source is None and known_rows == 1:
        return _judge_sizes(released, quasi, person, models)
    owner = [int(number) for number in released.column(f"c{person}").to_pylist()]
    sizes, members = groups_of(released, quasi)
    groups = [sorted({owner[row] for row in rows}) for rows in members]
    present = sorted({person for group in groups for person in group})
    told = len(groups), min(map(len, groups), default=0)
    if known_rows != 1:
        groups += _linked(members, owner, released.column("n").to_pylist(), known_rows)
    opinions: list[Opinion | None] = []
    for model in models:
        known = DEFINITIONS.get(model.name)
        if known is None:
            opinions.append(None)
            continue
        judges = _judges(known, model, present, source, schema)
        opinions.append(_gather(known, model, [judge(group) for judge in judges for group in groups]))
    return Judgement(sum(sizes), *told, tuple(opinions))


def _judge_sizes(released: pa.Table, quasi: Sequence[int], person: int, models: Sequence[Any]) -> Judgement:
    """The same where no more is asked than how many people a group has: each number of people is judged once."""
    rows, people = crowds_of(released, quasi, person)
    opinions: list[Opinion | None] = []
    for model in models:
        known = DEFINITIONS.get(model.name)
        if known is None:
            opinions.append(None)
            continue
        judge = known.judge(model, None)
        opinions.append(_gather(known, model, [judge(size, ()) for size in people]))
    return Judgement(rows, people.total(), min(people, default=0), tuple(opinions))


def _linked(
    members: Sequence[Sequence[int]], owner: Sequence[int], count: Sequence[int], known_rows: int | None
) -> list[list[int]]:
    """Who shares some of somebody's rows, or all, by the groups that these are in."""
    labels: dict[int, list[int]] = {}
    for label, rows in enumerate(members):
        for row in rows:
            labels.setdefault(owner[row], []).extend([label] * count[row])
    sharing: dict[tuple[int, ...], list[int]] = {}
    for person, own in labels.items():
        own.sort()
        if known_rows is None:
            sharing.setdefault(tuple(own), []).append(person)
            continue
        for size in range(2, known_rows + 1):
            for known in set(itertools.combinations(own, size)):
                sharing.setdefault(known, []).append(person)
    return [sorted(people) for people in sharing.values()]


def judge_sets_of_people(
    shown: ShownRows, released: pa.Table, source: pa.Table | None, person: int, schema: Schema, part: Any
) -> Opinion | None:
    """Judge a part that is asked of sets of columns, in people; None where the gate does not know its model.

    ``shown`` are the combinations of ``released``; both tables are as for :func:`judge_people`. Each set is counted by
    itself, in dictionaries of sets of people. See :mod:`shoal.models.partial_knowledge` for what is asked.
    """
    model = part.of
    known = DEFINITIONS.get(model.name)
    if known is None:
        return None
    owner = [int(number) for number in released.column(f"c{person}").to_pylist()]
    judges = _judges(known, model, sorted(set(owner)), source, schema)
    verdicts: list[Verdict] = []
    fewest = len(set(owner))
    places, most = bound_columns(part, shown.names)
    for size in range(most + 1):
        for chosen in itertools.combinations(places, size):
            members = members_of([shown.cells[j] for j in chosen], len(owner))
            crowd = {key: frozenset(owner[row] for row in rows) for key, rows in members.items()}
            for group in {people for key, people in crowd.items() if None not in key}:
                verdicts += (judge(sorted(group)) for judge in judges)
            for label in set(zip(*(shown.people[j] for j in chosen), strict=True)):
                can_be = frozenset().union(*(crowd.get(one, ()) for one in shown_as(label)))
                fewest = min(fewest, len(can_be))
        verdicts = list(dict.fromkeys(verdicts))
        if fewest < getattr(model, "k", 1) or not all(holds for holds, _ in verdicts):
            break
    opinion = _gather(known, model, verdicts)
    holds = opinion.holds and fewest >= getattr(model, "k", 1)
    return Opinion(holds, {**opinion.effective, PEOPLE_PER_PERSON: fewest})


def _judges(
    known: Definition, model: Any, present: Sequence[int], source: pa.Table | None, schema: Schema
) -> list[Callable[[Sequence[int]], Verdict]]:
    """A judge of groups of people for each column that a model is about, or one where it is about none."""
    if not known.sensitive:
        by_size = known.judge(model, None)
        return [lambda group: by_size(len(group), ())]
    assert source is not None
    needed = columns_needed([model], schema.sensitive)
    (name,) = schema.person
    found: list[Callable[[Sequence[int]], Verdict]] = []
    for column in list_sensitive({one: (0, source.column(one), source.column("n")) for one in needed}, schema):
        has = _values(source.column(name).to_pylist(), column, source)
        judge = _judge(known, model, column, [has[person] for person in present if has[person]])
        found.append(partial(_judge_group, judge, has))
    return found


def _judge_group(judge: OnPeople, has: Mapping[int, Values], group: Sequence[int]) -> Verdict:
    return judge(len(group), [has[person] for person in group if has[person]])


def _values(people: Sequence[Any], column: Sensitive, source: pa.Table) -> Mapping[int, Values]:
    """The known values of every person, in all rows of the source."""
    found: dict[int, set[int]] = {}
    for person, value in zip(people, column.numbers(source.column(column.name)), strict=True):
        own = found.setdefault(int(person), set())
        if value is not None:
            own.add(value)
    return {person: frozenset(values) for person, values in found.items()}


def _gather(known: Definition, model: Any, found: Sequence[Verdict]) -> Opinion:
    effective = {
        figure.parameter: figure.worst(told[place] for _, told in found)
        for place, figure in enumerate(known.figures(model))
    }
    return Opinion(bool(found) and all(holds for holds, _ in found), effective)


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
