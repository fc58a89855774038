"""Minimality attack: inference from the minimality of the generalization.

An intruder who knows everyone's quasi-identifiers, the models and that the method is minimal examines a group that
could have been published in finer classes, all of them of k rows or more. Size was no reason to join them, so one of
the classes must have failed a model of sensitive values. Of all assignments of the group's sensitive values to its
people, those in which no class fails are ruled out, and the remaining ones may be nearly certain for the people of a
small class.

Wong, Fu, Wang and Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007. Their premise is strong: a
group was joined for its own sake. In full-domain recoding it may have been joined for another group's sake, so the
result is what a convinced intruder would believe.

Where the owners of rows are known, people are counted. Values are assigned to people in groups in which no person has
several rows; the other groups are left out, because the values of a person's rows depend on each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.formatting import number
from shoal.models import Model, size_of_groups
from shoal.risk.attacks import AttackResult, guessed_harmful, is_harmful
from shoal.risk.matching import Matches, PublishedGroups, match_people
from shoal.schema import Schema
from shoal.table.groups import Groups, Histogram, histogram
from shoal.utility.coded_tables import CodedColumn

MAX_ASSIGNMENTS = 5_000
"""Number of assignments of values to classes beyond which a group is left out, and counted as such."""


def assignments(sizes: Sequence[int], counts: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield all assignments of values to classes of given sizes.

    ``counts`` are the numbers of each value; an assignment has one row of counts for each class.

    >>> list(assignments([1, 2], [2, 1]))
    [((0, 1), (2, 0)), ((1, 0), (1, 1))]
    """
    if len(sizes) == 1:
        yield (tuple(counts),)
        return
    for class_counts in itertools.product(*(range(min(count, sizes[0]) + 1) for count in counts)):
        if sum(class_counts) == sizes[0]:
            remaining = [count - taken for count, taken in zip(counts, class_counts, strict=True)]
            for rest in assignments(sizes[1:], remaining):
                yield (class_counts, *rest)


def posterior_beliefs(
    sizes: Sequence[int], counts: Sequence[int], fails: Callable[[tuple[int, ...]], bool]
) -> npt.NDArray[np.float64] | None:
    """Return the probability of each value for each class, given a failure.

    The condition is that at least one class fails.

    Parameters
    ----------
    sizes
        People of each class.
    counts
        The number of occurrences of each value in the group; the sums agree.
    fails
        Whether a class with these counts fails the models.

    Returns
    -------
    float64 (classes, values), or None where no assignment has a failing class: then the premise is wrong.

    Examples
    --------
    Two classes of 2 and 5 people, two with HIV among the seven, and at most half of a class may have it. The class of 5
    cannot fail, so both of the class of 2 have HIV.

    >>> posterior_beliefs([2, 5], [2, 5], lambda counts: counts[0] * 2 > sum(counts))[0].tolist()
    [1.0, 0.0]
    """
    # integers: in large groups the number of arrangements exceeds the range of floats
    total = 0
    weighted_counts = [[0] * len(counts) for _ in sizes]
    for assignment in assignments(sizes, counts):
        if not any(fails(class_counts) for class_counts in assignment):
            continue
        # the number of arrangements of these values among the people of each class
        ways = math.prod(
            math.factorial(size) // math.prod(math.factorial(count) for count in class_counts)
            for size, class_counts in zip(sizes, assignment, strict=True)
        )
        total += ways
        for sums, class_counts in zip(weighted_counts, assignment, strict=True):
            for value, count in enumerate(class_counts):
                sums[value] += ways * count
    if not total:
        return None
    return np.asarray(
        [[weighted / (total * size) for weighted in sums] for size, sums in zip(sizes, weighted_counts, strict=True)]
    )


def minimality(
    published: PublishedGroups,
    people: Sequence[CodedColumn],
    schema: Schema,
    models: Sequence[Model],
    column: str,
    bound: float | None = None,
    matches: Matches | None = None,
    person: npt.NDArray[np.int64] | None = None,
) -> AttackResult:
    """Attack every group that could have been finer in one quasi-identifier.

    Parameters
    ----------
    people
        All people of the table by original quasi-identifiers: the original table, or an equally complete external one.
    models
        The models of the release; k is the largest of its k-anonymity, the others are what a class can fail.
    column
        The sensitive column.
    bound
        A person is exposed if the intruder's belief in a value is at least this and above its share in the group;
        certainty (1) by default.
    matches
        The matches of people and groups, where the caller has them.
    person
        The number of the person of each row of ``people``; without it, each row is a person.
    """
    owner_of = np.arange(len(people[0].code)) if person is None else person
    k = size_of_groups(models, 1)
    conditions = [
        model for model in models if not model.sizes_only and getattr(model, "column", None) in (None, column)
    ]
    histogram_of_column = published.groups.histogram(column)
    harmful = is_harmful(histogram_of_column.domain)
    matches = match_people(published, people, schema) if matches is None else matches
    persons = np.bincount(matches.kind, minlength=len(matches.start) - 1)
    first = np.unique(matches.kind, return_index=True)[1]
    threshold = 1.0 if bound is None else bound
    entries = np.flatnonzero(matches.closest)
    entries = entries[np.argsort(matches.group[entries], kind="stable")]
    begin = np.searchsorted(matches.group[entries], np.arange(published.groups.count + 1))
    owner = matches.owner
    by_kind = np.argsort(matches.kind, kind="stable")
    rows_from = np.searchsorted(matches.kind[by_kind], np.arange(len(matches.start)))
    considered = left_out = exposed_groups = repeated = 0
    exposed = np.zeros(int(owner_of.max(initial=-1)) + 1, np.bool_)
    highest = 0.0
    for group in range(published.groups.count):
        if not conditions or histogram_of_column.known[group] < published.groups.size[group]:
            continue  # with missing values the assignments are unknown
        if published.groups.size[group] < 2 * k:
            continue  # it cannot contain two classes of k rows
        kinds = owner[entries[begin[group] : begin[group + 1]]]
        if int(persons[kinds].sum()) != int(published.groups.size[group]):
            continue  # the intruder does not know its members exactly
        owners_by_kind = [owner_of[by_kind[rows_from[kind] : rows_from[kind + 1]]] for kind in kinds]
        if person is not None and len(np.unique(np.concatenate(owners_by_kind))) < published.groups.size[group]:
            repeated += 1
            continue
        part = slice(histogram_of_column.start[group], histogram_of_column.start[group + 1])
        values, counts = histogram_of_column.value[part], histogram_of_column.count[part].tolist()
        share = np.asarray(counts) / sum(counts)
        worst = np.zeros(len(kinds))
        for classes in _finer_classes(kinds, first, people, schema):
            sizes = [int(persons[kinds[classes == one]].sum()) for one in range(int(classes.max()) + 1)]
            if len(sizes) < 2 or min(sizes) < k:
                continue
            if _max_assignments(sizes, counts) > MAX_ASSIGNMENTS:
                left_out += 1
                continue
            considered += 1
            belief = posterior_beliefs(sizes, counts, _fails(conditions, values, histogram_of_column))
            if belief is None:
                continue
            best = np.where((belief > share[None, :] + 1e-12) & harmful[values], belief, 0.0).max(axis=1)
            worst = np.maximum(worst, best[classes])
        highest = max(highest, float(worst.max(initial=0.0)))
        certain_kinds = np.flatnonzero(worst >= threshold - 1e-12)
        for index in certain_kinds:
            exposed[owners_by_kind[index]] = True
        exposed_groups += len(certain_kinds) > 0
    known = int(histogram_of_column.known.sum())
    attacked = known if person is None else len(np.unique(person[np.diff(matches.start)[matches.kind] > 0]))
    return AttackResult(
        "minimality",
        "the value" if threshold == 1 else f"the value, with a belief of {number(threshold, 6)}",
        column,
        attacked,
        int(exposed.sum()),
        attacked * guessed_harmful(histogram_of_column.total, harmful) / max(known, 1),
        {"groups_examined": considered, "groups_left_out": left_out, "exposed_groups": exposed_groups,
         "highest_belief": highest,
         **({} if person is None else {"groups_with_several_rows_of_a_person": repeated})},
        counts="rows" if person is None else "people",
    )  # fmt: skip


def _finer_classes(
    kinds: npt.NDArray[np.int64], first: npt.NDArray[np.int64], people: Sequence[CodedColumn], schema: Schema
) -> Iterator[npt.NDArray[np.int64]]:
    """Yield for each column the classes of a group's kinds at a finer level.

    The level is the highest one at which the kinds differ in the column.
    """
    for column in people:
        codes = column.code[first[kinds]]
        present = np.unique(codes)
        texts = [column.values[code] for code in present]
        known = [text for text in texts if text is not None]
        if len(present) < 2 or not known:
            continue
        ladder = schema.ladder(column.name, known, len(known) < len(texts))
        leaf = np.searchsorted(present, codes)
        for level in range(ladder.height, -1, -1):
            classes = ladder.codes[level][leaf]
            if len(np.unique(classes)) > 1:
                yield np.unique(classes, return_inverse=True)[1].astype(np.int64)
                break


def _fails(
    models: Sequence[Model], values: npt.NDArray[np.int32], histogram_of_column: Histogram
) -> Callable[[tuple[int, ...]], bool]:
    """Make a test whether a class with given value counts fails a model.

    The models themselves assess the class.
    """
    known: dict[tuple[int, ...], bool] = {}

    def fails(class_counts: tuple[int, ...]) -> bool:
        if class_counts not in known:
            count = np.asarray(class_counts, np.int64)
            some = count > 0
            one = histogram(
                np.zeros(int(some.sum()), np.int64), values[some], count[some], 1, histogram_of_column.domain
            )
            # the models compare a group with the table, not with the group itself
            groups = Groups(np.asarray([int(count.sum())]), (replace(one, total=histogram_of_column.total),))
            known[class_counts] = not all(bool(model.assess(groups).holds.all()) for model in models)
        return known[class_counts]

    return fails


def _max_assignments(sizes: Sequence[int], counts: Sequence[int]) -> float:
    """Return an upper bound of the number of assignments.

    It counts the rows of all classes but the last.
    """
    return math.prod(math.prod(min(count, size) + 1 for count in counts) for size in list(sizes)[:-1])
