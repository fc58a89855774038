"""The minimality attack: what follows from the fact that the publisher did not generalize more than needed.

An intruder who knows everyone's quasi-identifiers, the models and that the method is minimal looks at a group that
could have been published in finer classes, all of them of k rows or more. Size was no reason to join them, so one of
the classes must have failed a model of sensitive values. Of all ways to deal the group's sensitive values to its
people, those in which no class fails are ruled out, and what remains may be nearly certain for the people of a small
class.

Wong, Fu, Wang and Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007. The premise is theirs and
strong: a group was joined for its own sake. In full-domain recoding it may have been joined for another group's sake,
so read the result as what a convinced intruder would believe.

Where it is known whose rows they are, people are counted. Values are dealt to people in groups in which nobody has
several rows; the others are left out, for what one of their rows holds says something of the next.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.models import Model, size_of_groups
from shoal.risk.attacks import AttackResult
from shoal.risk.matching import Matches, PublishedGroups, match_people
from shoal.schema import Schema
from shoal.table.groups import Groups, Histogram, histogram
from shoal.utility.coded_tables import CodedColumn

__all__ = ["believe", "deals", "minimality"]

MOST_DEALS = 5_000
"""A group with more ways to deal its values to its classes is left out, and counted as such."""


def deals(sizes: Sequence[int], counts: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All ways to deal values with these counts to classes of these sizes: one row of counts for each class.

    >>> list(deals([1, 2], [2, 1]))
    [((0, 1), (2, 0)), ((1, 0), (1, 1))]
    """
    if len(sizes) == 1:
        yield (tuple(counts),)
        return
    for hand in itertools.product(*(range(min(count, sizes[0]) + 1) for count in counts)):
        if sum(hand) == sizes[0]:
            left = [count - held for count, held in zip(counts, hand, strict=True)]
            for rest in deals(sizes[1:], left):
                yield (hand, *rest)


def believe(
    sizes: Sequence[int], counts: Sequence[int], fails: Callable[[tuple[int, ...]], bool]
) -> npt.NDArray[np.float64] | None:
    """How likely each value is for a person of each class, given that at least one class fails.

    Parameters
    ----------
    sizes
        People of each class.
    counts
        How often each value occurs in the group; the sums agree.
    fails
        Whether a class with these counts fails the models.

    Returns
    -------
    float64 (classes, values), or None where no deal has a failing class: then the premise is wrong.

    Examples
    --------
    Two classes of 2 and 5 people, two with HIV among the seven, and at most half of a class may have it. The class of 5
    cannot fail, so both of the class of 2 have HIV.

    >>> believe([2, 5], [2, 5], lambda held: held[0] * 2 > sum(held))[0].tolist()
    [1.0, 0.0]
    """
    # whole numbers: in large groups there are more ways than a float can say
    total = 0
    held_by = [[0] * len(counts) for _ in sizes]
    for deal in deals(sizes, counts):
        if not any(fails(hand) for hand in deal):
            continue
        # in how many ways people of each class can hold such a hand
        ways = math.prod(
            math.factorial(size) // math.prod(math.factorial(held) for held in hand)
            for size, hand in zip(sizes, deal, strict=True)
        )
        total += ways
        for sums, hand in zip(held_by, deal, strict=True):
            for value, held in enumerate(hand):
                sums[value] += ways * held
    if not total:
        return None
    return np.asarray([[one / (total * size) for one in sums] for size, sums in zip(sizes, held_by, strict=True)])


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
        Everybody in the table by original quasi-identifiers: the original table, or an external one as complete.
    models
        The models of the release; k is the largest of its k-anonymity, the others are what a class can fail.
    column
        The sensitive column.
    bound
        A person is exposed if the intruder's belief in a value is at least this and above its share in the group;
        certainty (1) by default.
    matches
        Who may be in which group, where the caller knows it.
    person
        The number of the person of each row of ``people``; each is a person of its own where none is given.
    """
    owner_of = np.arange(len(people[0].code)) if person is None else person
    k = size_of_groups(models, 1)
    conditions = [
        model for model in models if not model.sizes_only and getattr(model, "column", None) in (None, column)
    ]
    held = published.groups.histogram(column)
    matches = match_people(published, people, schema) if matches is None else matches
    persons = np.bincount(matches.kind, minlength=len(matches.start) - 1)
    first = np.unique(matches.kind, return_index=True)[1]
    limit = 1.0 if bound is None else bound
    entries = np.flatnonzero(matches.closest)
    entries = entries[np.argsort(matches.group[entries], kind="stable")]
    begin = np.searchsorted(matches.group[entries], np.arange(published.groups.count + 1))
    owner = matches.owner
    by_kind = np.argsort(matches.kind, kind="stable")
    rows_from = np.searchsorted(matches.kind[by_kind], np.arange(len(matches.start)))
    considered = left_out = groups_hit = of_several = 0
    exposed = np.zeros(int(owner_of.max(initial=-1)) + 1, np.bool_)
    highest = 0.0
    for group in range(published.groups.count):
        if not conditions or held.known[group] < published.groups.size[group]:
            continue  # with missing values the deals are not known
        if published.groups.size[group] < 2 * k:
            continue  # no two classes of k rows are in it
        kinds = owner[entries[begin[group] : begin[group + 1]]]
        if int(persons[kinds].sum()) != int(published.groups.size[group]):
            continue  # the intruder does not know exactly who is in it
        who = [owner_of[by_kind[rows_from[kind] : rows_from[kind + 1]]] for kind in kinds]
        if person is not None and len(np.unique(np.concatenate(who))) < published.groups.size[group]:
            of_several += 1
            continue
        part = slice(held.start[group], held.start[group + 1])
        values, counts = held.value[part], held.count[part].tolist()
        share = np.asarray(counts) / sum(counts)
        worst = np.zeros(len(kinds))
        for classes in _finer(kinds, first, people, schema):
            sizes = [int(persons[kinds[classes == one]].sum()) for one in range(int(classes.max()) + 1)]
            if len(sizes) < 2 or min(sizes) < k:
                continue
            if _how_many(sizes, counts) > MOST_DEALS:
                left_out += 1
                continue
            considered += 1
            belief = believe(sizes, counts, _fails(conditions, values, held))
            if belief is None:
                continue
            best = np.where(belief > share[None, :] + 1e-12, belief, 0.0).max(axis=1)
            worst = np.maximum(worst, best[classes])
        highest = max(highest, float(worst.max(initial=0.0)))
        hit = np.flatnonzero(worst >= limit - 1e-12)
        for place in hit:
            exposed[who[place]] = True
        groups_hit += len(hit) > 0
    known = int(held.known.sum())
    told = known if person is None else len(np.unique(person[np.diff(matches.start)[matches.kind] > 0]))
    return AttackResult(
        "minimality",
        "the value" if limit == 1 else f"the value, with a belief of {limit:g}",
        column,
        told,
        int(exposed.sum()),
        told * float(held.total.max(initial=0)) / max(known, 1),
        {"groups_examined": considered, "groups_left_out": left_out, "exposed_groups": groups_hit,
         "highest_belief": highest,
         **({} if person is None else {"groups_with_several_rows_of_a_person": of_several})},
        counts="rows" if person is None else "people",
    )  # fmt: skip


def _finer(
    kinds: npt.NDArray[np.int64], first: npt.NDArray[np.int64], people: Sequence[CodedColumn], schema: Schema
) -> Iterator[npt.NDArray[np.int64]]:
    """For each column: the classes of a group's kinds at the highest level where they differ in it."""
    for column in people:
        codes = column.code[first[kinds]]
        present = np.unique(codes)
        texts = [column.values[code] for code in present]
        known = [text for text in texts if text is not None]
        if len(present) < 2 or not known:
            continue
        ladder = schema.ladder(column.name, known, len(known) < len(texts))
        place = np.searchsorted(present, codes)
        for level in range(ladder.height, -1, -1):
            classes = ladder.codes[level][place]
            if len(np.unique(classes)) > 1:
                yield np.unique(classes, return_inverse=True)[1].astype(np.int64)
                break


def _fails(
    models: Sequence[Model], values: npt.NDArray[np.int32], held: Histogram
) -> Callable[[tuple[int, ...]], bool]:
    """Whether a class with these counts of the group's values fails a model, as the models themselves judge."""
    seen: dict[tuple[int, ...], bool] = {}

    def fails(hand: tuple[int, ...]) -> bool:
        if hand not in seen:
            count = np.asarray(hand, np.int64)
            some = count > 0
            one = histogram(np.zeros(int(some.sum()), np.int64), values[some], count[some], 1, held.domain)
            # what a model compares a group with is the table, not the group itself
            groups = Groups(np.asarray([int(count.sum())]), (replace(one, total=held.total),))
            seen[hand] = not all(bool(model.assess(groups).holds.all()) for model in models)
        return seen[hand]

    return fails


def _how_many(sizes: Sequence[int], counts: Sequence[int]) -> float:
    """An upper bound of the deals: hands of all classes but the last."""
    return math.prod(math.prod(min(count, size) + 1 for count in counts) for size in list(sizes)[:-1])
