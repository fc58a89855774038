"""Search of cells to suppress, under the strict and the loose reading.

See :mod:`shoal.methods.local.suppression`.
"""

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
from shoal.methods.time_limits import finished_in_time, is_late
from shoal.schema import TOP, Flat
from shoal.table import ByGroup, MethodFacts
from shoal.table.groups import group_keys
from shoal.table.wildcard_matches import count_candidates


@dataclass(frozen=True, kw_only=True)
class StarFacts(MethodFacts):
    """The number of suppressed cells, by column and in total."""

    finished: bool | None
    published: MethodFacts
    suppressed_cells: int
    suppressed_cells_by_column: Mapping[str, int]


def with_stars(problem: Problem) -> Problem:
    """Return the problem on hierarchies of two levels: the value, and `*`."""
    ladders = tuple(Flat().bind(d.text, d.missing, column=d.name) for d in problem.frequencies.quasi)
    return replace(problem, ladders=ladders)


def suppress_strictly(
    problem: Problem, importance: Mapping[str, float], deadline: float | None = None, quality: Quality | None = None
) -> ByGroup:
    """Return groups with few stars: cuts on two-level hierarchies, refined."""
    local = make_local_problem(with_stars(problem), loss="precision", weights=importance)
    cut = cut_pieces(local, local.whole(), strict=False, choose="best", deadline=deadline)
    pieces = improve_pieces(local, cut, quality, deadline, problem.seed).pieces
    finished = finished_in_time(deadline)
    return _with_star_counts(problem, publish_pieces(local, pieces), finished)


def suppress_loosely(
    problem: Problem, importance: Mapping[str, float], deadline: float | None = None, quality: Quality | None = None
) -> ByGroup:
    """Return the strict groups without the stars that are unnecessary loosely.

    A star may then stand for any value.
    """
    frequencies = problem.frequencies
    k = problem.model.least
    sizes = [dictionary.size for dictionary in frequencies.quasi]
    strict = suppress_strictly(problem, importance, deadline, quality)
    codes = frequencies.codes[strict.row]  # a unit is the rows of a combination in a group; they get the same stars
    weight = np.asarray([float(importance.get(dictionary.name, 1.0)) for dictionary in frequencies.quasi])
    stars = _remove_unneeded_stars(codes, strict.count, (strict.height > 0)[strict.group], weight, k, deadline)
    published = np.where(stars, np.asarray(sizes, np.int32), codes)  # the code after the last value is the star
    group, groups = group_keys(published, [size + 1 for size in sizes])
    first = np.zeros(groups, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    labels = []
    for j, dictionary in enumerate(frequencies.quasi):
        texts: list[str | None] = [*dictionary.text, *([None] * dictionary.missing), TOP]
        labels.append(tuple(texts[code] for code in published[first, j]))
    height = stars[first].astype(np.float64)
    share = np.stack(
        [np.where(stars[first, j], 1.0, ladder.share[0].min()) for j, ladder in enumerate(problem.ladders)], axis=1
    )
    recoding = ByGroup(strict.row, group, strict.count, tuple(labels), height, share)
    return _with_star_counts(problem, recoding, finished_in_time(deadline))


def _with_star_counts(problem: Problem, recoding: ByGroup, finished: bool | None) -> ByGroup:
    """Return the recoding with the number of stars among its facts.

    They are counted by column and in total.
    """
    rows = np.bincount(recoding.group, weights=recoding.count, minlength=len(recoding.height))
    cells = (rows[:, None] * (recoding.height > 0)).sum(axis=0).astype(int).tolist()
    facts = StarFacts(
        finished=finished,
        published=recoding.facts,
        suppressed_cells=sum(cells),
        suppressed_cells_by_column=dict(zip(problem.names, cells, strict=True)),
    )
    return replace(recoding, facts=facts)


def _remove_unneeded_stars(
    codes: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
    stars: npt.NDArray[np.bool_],
    weight: npt.NDArray[np.float64],
    k: int,
    deadline: float | None = None,
) -> npt.NDArray[np.bool_]:
    """Remove stars while every person and every row keeps k candidates.

    At least k rows must match every person, and at least k people must match every row. Columns are processed by
    falling weight, and in each column units that show the same columns together. The remaining stars are necessary.
    Cost: the units times the columns, for each column and each set of columns that units show there, and for each star
    the units that agree with its row.
    """
    from shoal.methods.local.kernels.stars import find_matches, remove_stars

    stars = stars.copy()
    codes = np.ascontiguousarray(codes)
    rows, _ = count_candidates(codes, count, np.where(stars, -1, codes), count)
    for j in np.lexsort((np.arange(len(weight)), -weight)).tolist():
        starred = np.flatnonzero(stars[:, j])
        kind, kinds = (
            group_keys(stars[starred].astype(np.int32), [2] * stars.shape[1]) if len(starred) else (starred, 0)
        )
        for number in range(kinds):
            if is_late(deadline):
                return stars
            units = starred[kind == number]
            found, ends = find_matches(codes, units, np.flatnonzero(~stars[units[0]]))
            removed = np.zeros(len(units), np.bool_)
            remove_stars(codes, count, rows, units, found, ends, j, k, removed)
            stars[units[removed], j] = False
    return stars
