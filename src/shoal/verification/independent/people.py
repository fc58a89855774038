"""Evaluate groups of people independently, by the person column.

A group is the set of the people who have a row in it, and a person has the set of all known values of his or her rows
in the source. The number of distinct values is the size of a minimum hitting set: the fewest values such that every
person has one of them. The weight of a person is that of the lightest value. For shares, each person counts once,
divided equally among his or her values, over a common denominator that makes all parts integers. Harmless values count
for people only who have no harmful one; a group with such a person needs no hitting set.

Where rows of a person can be linked, the people who share some known rows of a person, or all of them, are a group too.
They are found here with tuples and dictionaries, person by person.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shoal.runtime.search_allowance import Stopwatch
from shoal.schema import Schema
from shoal.verification.independent.column_subsets import ReleasedRows, compatible_labels, known_columns, rows_by_key
from shoal.verification.independent.counting import (
    CountsByValue,
    SensitiveColumn,
    count_people_per_group,
    list_groups,
    list_sensitive_columns,
)
from shoal.verification.independent.definitions import DEFINITIONS, Definition, Verdict, exact_fraction, is_harmless
from shoal.verification.independent.judge import PEOPLE_PER_PERSON, ModelEvaluation, TableEvaluation, columns_needed

if TYPE_CHECKING:
    import pyarrow as pa

Values = frozenset[int]
PeopleEvaluator = Callable[[int, Sequence[Values]], Verdict]
"""Evaluates a group by its number of people, and the value sets of the people with known values."""


def evaluate_people(
    released: pa.Table,
    source: pa.Table | None,
    quasi: Sequence[int],
    person: int,
    schema: Schema,
    models: Sequence[Any],
    known_rows: int | None = 1,
    sensitive: Sequence[str] | None = None,
) -> TableEvaluation:
    """Evaluate the groups of a release by each model, in people.

    Both tables have combinations (c<position>, n). The release has the quasi-identifiers in the positions ``quasi`` and
    the number of the person in the position ``person``. The source is given where a model looks at the values of
    people; its columns are named as in the schema, its counts are the last column. Of each person, ``known_rows`` rows
    can be linked, or all (None). Models are about the columns ``sensitive``; without it, about all sensitive columns.
    """
    if source is None and known_rows == 1:
        return _evaluate_sizes(released, quasi, person, models)
    owner = [int(number) for number in released.column(f"c{person}").to_pylist()]
    sizes, members = list_groups(released, quasi)
    groups = [sorted({owner[row] for row in rows}) for rows in members]
    present = sorted({person for group in groups for person in group})
    group_summary = len(groups), min(map(len, groups), default=0)
    if known_rows != 1:
        groups += _linked_groups(members, owner, released.column("n").to_pylist(), known_rows)
    evaluations: list[ModelEvaluation | None] = []
    for model in models:
        definition = DEFINITIONS.get(model.name)
        if definition is None:
            evaluations.append(None)
            continue
        if (whole := definition.whole(model)) is not None and known_rows == 1:
            evaluations.append(combine_verdicts(definition, model, [whole(Counter(map(len, groups)))]))
            continue
        evaluators = make_evaluators(definition, model, present, source, schema, sensitive)
        evaluations.append(
            combine_verdicts(definition, model, [evaluator(group) for evaluator in evaluators for group in groups])
        )
    return TableEvaluation(sum(sizes), *group_summary, tuple(evaluations))


def _evaluate_sizes(released: pa.Table, quasi: Sequence[int], person: int, models: Sequence[Any]) -> TableEvaluation:
    """Evaluate models of group sizes in people; each size is evaluated once."""
    rows, people = count_people_per_group(released, quasi, person)
    evaluations: list[ModelEvaluation | None] = []
    for model in models:
        definition = DEFINITIONS.get(model.name)
        if definition is None:
            evaluations.append(None)
            continue
        if (whole := definition.whole(model)) is not None:
            found = [whole(people)]
        else:
            evaluator = definition.judge(model, None)
            found = [evaluator(size, ()) for size in people]
        evaluations.append(combine_verdicts(definition, model, found))
    return TableEvaluation(rows, people.total(), min(people, default=0), tuple(evaluations))


def _linked_groups(
    members: Sequence[Sequence[int]], owner: Sequence[int], count: Sequence[int], known_rows: int | None
) -> list[list[int]]:
    """Return the sets of people with some rows in common, or all.

    Rows are known by the groups that they are in.
    """
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


def evaluate_column_sets_by_people(
    released_rows: ReleasedRows, released: pa.Table, source: pa.Table | None, person: int, schema: Schema, part: Any
) -> ModelEvaluation | None:
    """Evaluate a model of partial knowledge in people.

    ``released_rows`` are the combinations of ``released``; both tables are as in :func:`evaluate_people`. Each column
    set is counted by itself, in dictionaries of sets of people. :mod:`shoal.models.partial_knowledge` defines the
    condition. None where the model has no definition here.
    """
    model = part.of
    definition = DEFINITIONS.get(model.name)
    if definition is None:
        return None
    owner = [int(number) for number in released.column(f"c{person}").to_pylist()]
    evaluators = make_evaluators(definition, model, sorted(set(owner)), source, schema)
    verdicts: list[Verdict] = []
    min_people = len(set(owner))
    positions, max_known = known_columns(part, released_rows.names)
    for size in range(max_known + 1):
        for chosen in itertools.combinations(positions, size):
            members = rows_by_key([released_rows.cells[j] for j in chosen], len(owner))
            people_by_key = {key: frozenset(owner[row] for row in rows) for key, rows in members.items()}
            groups = {people for key, people in people_by_key.items() if None not in key}
            for labels in set(zip(*(released_rows.people[j] for j in chosen), strict=True)):
                candidates = frozenset[int]().union(*(people_by_key.get(one, ()) for one in compatible_labels(labels)))
                min_people = min(min_people, len(candidates))
                if definition.sensitive:
                    groups.add(candidates)
            for group in groups:
                verdicts += (evaluator(sorted(group)) for evaluator in evaluators)
        verdicts = list(dict.fromkeys(verdicts))
    evaluation = combine_verdicts(definition, model, verdicts)
    holds = evaluation.holds and min_people >= getattr(model, "k", 1)
    return ModelEvaluation(holds, {**evaluation.effective, PEOPLE_PER_PERSON: min_people})


def make_evaluators(
    definition: Definition,
    model: Any,
    present: Sequence[int],
    source: pa.Table | None,
    schema: Schema,
    sensitive: Sequence[str] | None = None,
) -> list[Callable[[Sequence[int]], Verdict]]:
    """Make an evaluator of groups of people for each column of a model.

    A model without a sensitive column has one evaluator.
    """
    if not definition.sensitive:
        by_size = definition.judge(model, None)
        return [lambda group: by_size(len(group), ())]
    assert source is not None
    needed = columns_needed([model], schema.sensitive if sensitive is None else sensitive)
    (name,) = schema.person
    found: list[Callable[[Sequence[int]], Verdict]] = []
    # by position: a column of the source may be named like the counts
    counts = source.column(source.num_columns - 1)
    cells = {one: source.column(source.column_names[:-1].index(one)) for one in {*needed, name}}
    for column in list_sensitive_columns({one: (0, cells[one], counts) for one in needed}, schema):
        values_of = _values(cells[name].to_pylist(), column, cells[column.name])
        evaluator = _make_people_evaluator(
            definition, model, column, [values_of[person] for person in present if values_of[person]]
        )
        found.append(partial(_evaluate_group, evaluator, values_of))
    return found


def _evaluate_group(evaluator: PeopleEvaluator, values_of: Mapping[int, Values], group: Sequence[int]) -> Verdict:
    return evaluator(len(group), [values_of[person] for person in group if values_of[person]])


def _values(people: Sequence[Any], column: SensitiveColumn, cells: pa.ChunkedArray) -> Mapping[int, Values]:
    """Return the known values of every person, over all rows of the source.

    People without a row have none.
    """
    found: dict[int, set[int]] = {}
    for person, value in zip(people, column.numbers(cells), strict=True):
        own = found.setdefault(int(person), set())
        if value is not None:
            own.add(value)
    harmless = is_harmless(column)
    harmful = {person: frozenset(value for value in values if not harmless(value)) for person, values in found.items()}
    known = {person: harmful[person] or frozenset(values) for person, values in found.items()}
    return defaultdict(frozenset, known)


def combine_verdicts(definition: Definition, model: Any, found: Sequence[Verdict]) -> ModelEvaluation:
    """Combine verdicts on groups: all must hold, the worst figures count."""
    effective = {
        figure.parameter: figure.worst(figures[index] for _, figures in found)
        for index, figure in enumerate(definition.figures(model))
    }
    return ModelEvaluation(bool(found) and all(holds for holds, _ in found), effective)


def _make_people_evaluator(
    definition: Definition, model: Any, column: SensitiveColumn, value_sets: Sequence[Values]
) -> PeopleEvaluator:
    if model.name == "p-sensitive":
        return _distinct_evaluator(int(model.p), column)
    if model.name == "l-diversity" and model.kind == "distinct":
        return _distinct_evaluator(int(exact_fraction(model.l)), column)
    if model.name in ("p-alpha-sensitive", "p-plus-alpha-sensitive"):
        return _weighted_evaluator(model, column)
    parts = math.lcm(*map(len, value_sets))
    total = dict(_share_counts(value_sets, parts))
    counted = replace(column, total=tuple(total.get(value, 0) for value in range(len(column.total))))
    evaluator = definition.judge(model, counted)
    return lambda size, sets: evaluator(size, _share_counts(sets, parts))


def _share_counts(sets: Sequence[Values], parts: int) -> CountsByValue:
    """Count each person's values, where a person has ``parts`` equal shares."""
    counts: Counter[int] = Counter()
    for values, times in Counter(sets).items():
        for value in values:
            counts[value] += times * (parts // len(values))
    return tuple(sorted(counts.items()))


def _distinct_evaluator(least: int, column: SensitiveColumn) -> PeopleEvaluator:
    """Make an evaluator that requires a hitting set of ``least`` values.

    Figures above ``least`` are reported as ``least``.
    """
    harmless = is_harmless(column)

    def evaluate(size: int, sets: Sequence[Values]) -> Verdict:
        found = least if any(all(map(harmless, values)) for values in sets) else _min_hitting_set(set(sets), least)
        return found >= least, (found,)

    return evaluate


def _weighted_evaluator(model: Any, column: SensitiveColumn) -> PeopleEvaluator:
    category = [int(rank) for rank in column.domain.category]  # type: ignore[union-attr]
    span = column.domain.categories - 1
    by_category = model.name == "p-plus-alpha-sensitive"
    harmless = is_harmless(column)
    category = [span if harmless(value) else own for value, own in enumerate(category)]

    def evaluate(size: int, sets: Sequence[Values]) -> Verdict:
        kinds = [frozenset(category[value] for value in values) for values in sets]
        if any(all(map(harmless, values)) for values in sets):
            found = int(model.p)
        else:
            found = _min_hitting_set(set(kinds if by_category else sets), int(model.p))
        units = sum(map(min, kinds))
        return found >= model.p and units >= exact_fraction(model.alpha) * span, (found, units / span)

    return evaluate


def _min_hitting_set(sets: set[Values], limit: int) -> int:
    """Return the size of a minimum hitting set, or ``limit`` if not smaller.

    A hitting set contains a value of every person. It is 0 without people.
    """
    if not sets:
        return 0
    open_sets, size = {frozenset(sets)}, 0
    watch = Stopwatch()
    # the families that remain after one value, after two, ...: the smallest set must be hit by one of its values
    while size < limit - 1:
        watch.spend()
        size += 1
        next_open: set[frozenset[Values]] = set()
        for unhit in open_sets:
            for value in min(unhit, key=lambda values: (len(values), sorted(values))):
                watch.step()
                rest = frozenset(values for values in unhit if value not in values)
                if not rest:
                    return size
                if size < limit - 1:  # otherwise nothing is asked of it any more
                    next_open.add(rest)
        open_sets = next_open
    return limit
