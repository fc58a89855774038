"""People of a population by the labels of released groups.

The labels are read as text (:mod:`shoal.utility.labels`). Where labels do not overlap, everybody fits one group at
most. Where they do, as in local recoding, a person counts for a group only if no other group fits; and since the people
of a group are of the population themselves, a group has at least as many people as rows, where the population contains
the table.

A row of a label that others cover too may be nobody's but one: 19 people of 20 years and one of 25, all in the table,
published as `20` 19 times and `20..29` once. 20 people fit the single row, and it is the person of 25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import Schema
from shoal.table.groups import Groups, PopulationCounts, group_keys, sum_by
from shoal.table.population import CountedPeople
from shoal.utility.labels import read_labels

CHUNK_BITS = 1 << 27


@dataclass(frozen=True)
class CoveredPeople:
    """People by group, and whether some of them fit several groups."""

    people: PopulationCounts
    overlap: bool


def count_covered_people(
    labels: Sequence[Sequence[str | None]],
    codes: npt.NDArray[np.int32],
    groups: Groups,
    population: CountedPeople,
    schema: Schema,
    *,
    contains_release: bool,
    classes: Sequence[npt.NDArray[np.integer[Any]]] = (),
) -> CoveredPeople:
    """Count the people of a population by group.

    ``labels[j]`` are the labels of column j, and ``codes`` (g, q) those of each group. ``classes[j]`` are numbers of
    the labels that values of column j would have, shown or not: people without a group are counted by them. Cost:
    labels times values, and where labels overlap, groups times distinct kinds of people.
    """
    kinds, patterns = [], []
    for j, column in enumerate(population.columns):
        values = (*column.text, *((None,) if column.missing else ()))
        covers = read_labels(labels[j], values, schema.columns[column.name].hierarchy, column.name).covers
        own = classes[j] if classes else np.zeros(len(values), np.int64)
        # values with the same labels are one kind
        distinct, kind = np.unique(np.column_stack([covers.T, own]), axis=0, return_inverse=True)
        patterns.append(distinct[:, :-1] > 0)
        kinds.append(kind.reshape(-1)[population.codes[:, j]])
    inverse, count = group_keys(np.stack(kinds, axis=1).astype(np.int32), [len(pattern) for pattern in patterns])
    people = sum_by(inverse, population.count, count)
    first = np.unique(inverse, return_index=True)[1]
    kind = np.stack([column[first] for column in kinds], axis=1)
    if all((pattern.sum(axis=1) <= 1).all() for pattern in patterns):
        group = _only_group(kind, patterns, codes)
        fits = (group >= 0).astype(np.int64)
    else:
        fits, group = _fitting_groups(kind, patterns, codes)
    alone = fits == 1
    second = sum_by(group[alone], people[alone], groups.count)
    overlap = bool((fits > 1).any())
    if overlap and contains_release:
        second = np.maximum(second, groups.size)
    return CoveredPeople(PopulationCounts(second, people[fits == 0], contains_release), overlap)


def _only_group(
    kind: npt.NDArray[np.int64], patterns: Sequence[npt.NDArray[np.bool_]], codes: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Return the group of each kind of people, or -1; labels do not overlap."""
    label = np.stack(
        [np.where(p.any(axis=1), p.argmax(axis=1), -1)[kind[:, j]] for j, p in enumerate(patterns)], axis=1
    )
    known = (label >= 0).all(axis=1)
    sizes = [pattern.shape[1] for pattern in patterns]
    number, count = group_keys(np.concatenate([codes, label[known]]).astype(np.int32), sizes)
    group_of = np.full(count, -1, np.int64)
    group_of[number[: len(codes)]] = np.arange(len(codes))
    found = np.full(len(kind), -1, np.int64)
    found[known] = group_of[number[len(codes) :]]
    return found


def _fitting_groups(
    kind: npt.NDArray[np.int64], patterns: Sequence[npt.NDArray[np.bool_]], codes: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return how many groups fit each kind of people, and one of them."""
    fits, group = np.zeros(len(kind), np.int64), np.full(len(kind), -1, np.int64)
    step = max(1, CHUNK_BITS // 8 // max(len(codes), 1))
    by_group = [pattern[:, codes[:, j]] for j, pattern in enumerate(patterns)]
    for low in range(0, len(kind), step):
        part = kind[low : low + step]
        covered = by_group[0][part[:, 0]]
        for j in range(1, len(by_group)):
            covered = covered & by_group[j][part[:, j]]
        fits[low : low + step] = covered.sum(axis=1)
        group[low : low + step] = np.where(covered.any(axis=1), covered.argmax(axis=1), -1)
    return fits, group
