"""Which cells to suppress, under the strict and the loose reading; see :mod:`shoal.methods.local_suppression`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.encoding import ByGroup
from shoal.encoding.groups import group_keys
from shoal.encoding.wildcards import wildcard_counts
from shoal.methods.base import Problem
from shoal.methods.local_problem import make_local_problem
from shoal.methods.local_release import publish_pieces
from shoal.methods.local_search import cut, refine
from shoal.models import KAnonymity
from shoal.schema import TOP, Flat

__all__ = ["suppress_loosely", "suppress_strictly"]


def suppress_strictly(problem: Problem, importance: Mapping[str, float]) -> ByGroup:
    """Groups of least stars: cuts on two-level hierarchies, then refinement."""
    ladders = tuple(Flat().bind(d.text, d.missing, column=d.name) for d in problem.frequencies.quasi)
    flat = replace(problem, ladders=ladders)
    local = make_local_problem(flat, loss="precision", weights=importance)
    pieces = refine(local, cut(local, local.whole(), strict=False, choose="best")).pieces
    recoding = publish_pieces(local, pieces, {})
    return _described(problem, recoding)


def suppress_loosely(problem: Problem, importance: Mapping[str, float]) -> ByGroup:
    """The cheapest stars for each row that fewer than k rows match."""
    frequencies = problem.frequencies
    k = max(part.k for part in problem.model.parts if isinstance(part, KAnonymity))
    sizes = [dictionary.size for dictionary in frequencies.quasi]
    point, points = group_keys(frequencies.codes, sizes)
    codes = np.zeros((points, len(sizes)), np.int32)
    codes[point] = frequencies.codes
    count = np.bincount(point, weights=frequencies.count, minlength=points).astype(np.int64)
    weight = [float(importance.get(dictionary.name, 1.0)) for dictionary in frequencies.quasi]
    stars = _cheapest_stars(codes, count, sizes, weight, k)
    stars = _take_back(codes, count, sizes, stars, np.asarray(weight), k)
    shown = np.where(stars, np.asarray(sizes, np.int32), codes)  # one more code than values: the star
    group, groups = group_keys(shown, [size + 1 for size in sizes])
    first = np.zeros(groups, np.int64)
    first[group[::-1]] = np.arange(points)[::-1]
    labels = []
    for j, dictionary in enumerate(frequencies.quasi):
        texts: list[str | None] = [*dictionary.text, *([None] * dictionary.missing), TOP]
        labels.append(tuple(texts[code] for code in shown[first, j]))
    height = stars[first].astype(np.float64)
    share = np.stack(
        [np.where(stars[first, j], 1.0, ladder.share[0].min()) for j, ladder in enumerate(problem.ladders)], axis=1
    )
    rows = np.arange(len(frequencies.count), dtype=np.int64)
    recoding = ByGroup(rows, group[point], frequencies.count, tuple(labels), height, share)
    return _described(problem, recoding)


def _described(problem: Problem, recoding: ByGroup) -> ByGroup:
    """The recoding with the number of stars, by column and in all, among its facts."""
    rows = np.bincount(recoding.group, weights=recoding.count, minlength=len(recoding.height))
    cells = (rows[:, None] * (recoding.height > 0)).sum(axis=0).astype(int).tolist()
    facts = {
        **recoding.facts,
        "suppressed_cells": sum(cells),
        "suppressed_cells_by_column": dict(zip(problem.names, cells, strict=True)),
    }
    return replace(recoding, facts=facts)


def _column_sets(weight: list[float]) -> Iterator[tuple[int, ...]]:
    """All sets of columns but the empty one, from cheap to dear; ties by fewer columns, then by their order."""
    sets = itertools.chain.from_iterable(
        itertools.combinations(range(len(weight)), size) for size in range(1, len(weight) + 1)
    )
    yield from sorted(sets, key=lambda chosen: (sum(weight[j] for j in chosen), len(chosen), chosen))


def _cheapest_stars(
    codes: npt.NDArray[np.int32], count: npt.NDArray[np.int64], sizes: list[int], weight: list[float], k: int
) -> npt.NDArray[np.bool_]:
    """For each point, the cheapest columns without which at least k rows match it: bool (points, q)."""
    stars = np.zeros(codes.shape, np.bool_)
    left = np.flatnonzero(count < k)
    for chosen in _column_sets(weight):
        if not len(left):
            break
        kept = [j for j in range(codes.shape[1]) if j not in chosen]
        group, groups = group_keys(codes[:, kept], [sizes[j] for j in kept])
        matching = np.bincount(group, weights=count, minlength=groups)
        found = matching[group[left]] >= k
        stars[np.ix_(left[found], np.asarray(chosen))] = True
        left = left[~found]
    return stars


def _take_back(
    codes: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
    sizes: list[int],
    stars: npt.NDArray[np.bool_],
    weight: npt.NDArray[np.float64],
    k: int,
) -> npt.NDArray[np.bool_]:
    """Take back stars that are not needed because other rows' stars match too, column by column, the dearest first.

    A star that is taken back can leave another row with too few matches, so all rows are counted after each step, and
    only as many stars are taken back as leave every row with k.
    """
    stars = stars.copy()
    for j in sorted(range(len(sizes)), key=lambda column: (-weight[column], column)):
        candidates = np.flatnonzero(stars[:, j])
        while len(candidates):
            trial = stars.copy()
            trial[candidates, j] = False
            matching = wildcard_counts(np.where(trial, -1, codes), count, k)
            if (matching >= k).all():
                stars = trial
                break
            keep = matching[candidates] >= k
            if keep.all():  # others suffer: give half of them up
                keep = np.arange(len(candidates)) % 2 == 0
            if keep.sum() in (0, len(candidates)):
                break
            candidates = candidates[keep]
    return stars
