"""Which cells to suppress, under the strict and the loose reading; see :mod:`shoal.methods.local.suppression`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Problem, Quality
from shoal.methods.local.neighbourhood_search import improve_pieces
from shoal.methods.local.problem import make_local_problem
from shoal.methods.local.publish import publish_pieces
from shoal.methods.local.search import cut_pieces
from shoal.methods.time_limits import in_time, is_late
from shoal.schema import TOP, Flat
from shoal.table import ByGroup, MethodFacts
from shoal.table.groups import group_keys
from shoal.table.wildcard_matches import candidates

__all__ = ["suppress_loosely", "suppress_strictly", "with_stars"]


@dataclass(frozen=True, kw_only=True)
class StarFacts(MethodFacts):
    """How many cells show a star, by column and in all."""

    finished: bool | None
    shown: MethodFacts
    suppressed_cells: int
    suppressed_cells_by_column: Mapping[str, int]


def with_stars(problem: Problem) -> Problem:
    """The same problem on hierarchies of two levels: the value, and `*`."""
    ladders = tuple(Flat().bind(d.text, d.missing, column=d.name) for d in problem.frequencies.quasi)
    return replace(problem, ladders=ladders)


def suppress_strictly(
    problem: Problem, importance: Mapping[str, float], deadline: float | None = None, quality: Quality | None = None
) -> ByGroup:
    """Groups of least stars: cuts on two-level hierarchies, then refinement."""
    local = make_local_problem(with_stars(problem), loss="precision", weights=importance)
    cut = cut_pieces(local, local.whole(), strict=False, choose="best", deadline=deadline)
    pieces = improve_pieces(local, cut, quality, deadline, problem.seed).pieces
    finished = in_time(deadline)
    return _described(problem, publish_pieces(local, pieces), finished)


def suppress_loosely(
    problem: Problem, importance: Mapping[str, float], deadline: float | None = None, quality: Quality | None = None
) -> ByGroup:
    """The strict groups, with the stars taken back that nobody needs who knows that a star may stand for any value."""
    frequencies = problem.frequencies
    k = problem.model.least
    sizes = [dictionary.size for dictionary in frequencies.quasi]
    strict = suppress_strictly(problem, importance, deadline, quality)
    codes = frequencies.codes[strict.row]  # one unit: the rows of a combination in a group, which get the same stars
    weight = np.asarray([float(importance.get(dictionary.name, 1.0)) for dictionary in frequencies.quasi])
    stars = _take_back(codes, strict.count, (strict.height > 0)[strict.group], weight, k, deadline)
    shown = np.where(stars, np.asarray(sizes, np.int32), codes)  # one more code than values: the star
    group, groups = group_keys(shown, [size + 1 for size in sizes])
    first = np.zeros(groups, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    labels = []
    for j, dictionary in enumerate(frequencies.quasi):
        texts: list[str | None] = [*dictionary.text, *([None] * dictionary.missing), TOP]
        labels.append(tuple(texts[code] for code in shown[first, j]))
    height = stars[first].astype(np.float64)
    share = np.stack(
        [np.where(stars[first, j], 1.0, ladder.share[0].min()) for j, ladder in enumerate(problem.ladders)], axis=1
    )
    recoding = ByGroup(strict.row, group, strict.count, tuple(labels), height, share)
    return _described(problem, recoding, in_time(deadline))


def _described(problem: Problem, recoding: ByGroup, finished: bool | None) -> ByGroup:
    """The recoding with the number of stars, by column and in all, among its facts."""
    rows = np.bincount(recoding.group, weights=recoding.count, minlength=len(recoding.height))
    cells = (rows[:, None] * (recoding.height > 0)).sum(axis=0).astype(int).tolist()
    facts = StarFacts(
        finished=finished,
        shown=recoding.facts,
        suppressed_cells=sum(cells),
        suppressed_cells_by_column=dict(zip(problem.names, cells, strict=True)),
    )
    return replace(recoding, facts=facts)


def _take_back(
    codes: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
    stars: npt.NDArray[np.bool_],
    weight: npt.NDArray[np.float64],
    k: int,
    deadline: float | None = None,
) -> npt.NDArray[np.bool_]:
    """Take back stars as long as k rows can be everybody's row, and k people behind every row; the dearest first.

    Column by column, those units together that show the same columns. What stays a star has to. Cost: the units times
    the columns, for each column and each set of columns that units show there, and for each star those who agree with
    its row.
    """
    from shoal.methods.local.kernels.stars import take_back_stars, who_agrees

    stars = stars.copy()
    codes = np.ascontiguousarray(codes)
    rows, _ = candidates(codes, count, np.where(stars, -1, codes), count)
    for j in np.lexsort((np.arange(len(weight)), -weight)).tolist():
        starred = np.flatnonzero(stars[:, j])
        kind, kinds = (
            group_keys(stars[starred].astype(np.int32), [2] * stars.shape[1]) if len(starred) else (starred, 0)
        )
        for number in range(kinds):
            if is_late(deadline):
                return stars
            units = starred[kind == number]
            found, ends = who_agrees(codes, units, np.flatnonzero(~stars[units[0]]))
            taken = np.zeros(len(units), np.bool_)
            take_back_stars(codes, count, rows, units, found, ends, j, k, taken)
            stars[units[taken], j] = False
    return stars
