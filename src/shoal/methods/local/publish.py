"""Conversion between pieces and published recodings."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.methods.base import EXACT_RANGES_WARNING, Problem, min_group_size
from shoal.methods.local.problem import LocalProblem, Pieces
from shoal.methods.partition import publish_valid_groups, same_labels
from shoal.table import ByGroup, ByLevel, MethodFacts, Recoding, publish_groups
from shoal.table.group_labels import Representative
from shoal.table.group_means import as_column_type, dictionary_numbers, group_means
from shoal.table.group_ranges import RangeEnds
from shoal.table.method_facts import WarningFacts

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class PublicationFacts(MethodFacts):
    """Facts of published groups: a warning, and the number of repairs.

    ``repairs`` counts the groups that failed the exact models and were merged.
    """

    warned: WarningFacts | None = None
    repairs: int | None = None


def share_out(local: LocalProblem, pieces: Pieces) -> tuple[npt.NDArray[np.int64], ...]:
    """Return pieces as rows of the frequency set: (row, group, count).

    An item that stands for several combinations fills its pieces with them in order.
    """
    order = np.lexsort((pieces.group, pieces.item))
    piece_end = np.cumsum(pieces.count[order])
    frequencies = local.problem.frequencies
    row_end = np.cumsum(frequencies.count)
    ends = np.union1d(piece_end, row_end)
    begins = np.concatenate([[0], ends[:-1]])
    row = np.searchsorted(row_end, begins, side="right")
    piece = np.searchsorted(piece_end, begins, side="right")
    return row.astype(np.int64), pieces.group[order][piece], (ends - begins).astype(np.int64)


def publish_pieces(
    local: LocalProblem,
    pieces: Pieces,
    original: npt.NDArray[np.int64] | None = None,
) -> ByGroup:
    """Return the recoding of a partition, checked by the exact models.

    See :mod:`shoal.methods.partition`. The number of merges is reported among the facts, where there were any.
    ``original`` gives the combinations' numbers in the frequency set of which the problem is a part.
    """
    row, group, count = share_out(local, pieces)
    recoding, merges = publish_valid_groups(local.problem, row, group, count, functools.partial(_label_groups, local))
    warned = EXACT_RANGES_WARNING if local.exact and "range" in local.kinds else None
    row = recoding.row if original is None else original[recoding.row]
    return replace(recoding, row=row, facts=PublicationFacts(warned=warned, repairs=merges or None))


def _label_groups(
    local: LocalProblem,
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    count: npt.NDArray[np.int64],
) -> ByGroup:
    """Return the labels of groups: ancestors, ranges or centroids.

    Ranges follow the order of each column.
    """
    problem = local.problem
    kinds: list[Representative] = ["range" if kind == "centroid" else kind for kind in local.kinds]
    ends = RangeEnds(local.exact, min_group_size(problem.model))
    recoding = publish_groups(
        problem.frequencies, problem.ladders, row, group, count, kinds, ends=ends, ranks=local.ranks
    )
    labels = [
        _centroids(local, a, recoding) if kind == "centroid" else recoding.labels[a]
        for a, kind in enumerate(local.kinds)
    ]
    return replace(recoding, labels=tuple(labels))


def _centroids(local: LocalProblem, a: int, recoding: ByGroup) -> pa.Array:
    """Return the mean of each group's numbers, as microaggregation does."""
    dictionary = local.problem.frequencies.quasi[a]
    numbers = dictionary_numbers(dictionary)
    if numbers is None:  # all values are missing
        numbers = np.full(dictionary.size, np.nan)
    values = numbers[local.problem.frequencies.codes[recoding.row, a]]
    known = ~np.isnan(values)
    offset = float(np.average(values[known], weights=recoding.count[known])) if known.any() else 0.0
    return as_column_type(
        dictionary, group_means(values, recoding.count, recoding.group, len(recoding.height), offset)
    )[0]


def pieces_of(local: LocalProblem, recoding: ByGroup | ByLevel) -> Pieces:
    """Return the groups of a recoding that suppresses no row, as pieces.

    The recoding is of the same problem.
    """
    if isinstance(recoding, ByLevel):
        row, group = np.arange(len(recoding.group)), recoding.group
        count = local.problem.frequencies.count
    else:
        row, group, count = recoding.row, same_labels(recoding)[recoding.group], recoding.count
    item = np.searchsorted(local.first, row, side="right") - 1
    order = np.lexsort((item, group))
    item, group, count = item[order], group[order], count[order]
    new = np.r_[True, (item[1:] != item[:-1]) | (group[1:] != group[:-1])]
    at = np.flatnonzero(new)
    starts = np.searchsorted(group[at], np.arange(int(group[-1]) + 2))
    return Pieces(item[at].astype(np.int64), np.add.reduceat(count, at), starts.astype(np.int64))


def released_part(problem: Problem, recoding: Recoding) -> tuple[Problem, ByGroup | ByLevel, npt.NDArray[np.int64]]:
    """Return the problem of the released rows, their recoding and their rows.

    The recoding is expressed in the new problem; the last result has the released combinations. Models that compare
    with the table mean the released one, so suppressed rows must not count there.
    """
    assert isinstance(recoding, ByGroup | ByLevel), "see Method.forms_groups"
    frequencies = problem.frequencies
    if isinstance(recoding, ByLevel):
        released = np.where(recoding.group >= 0, frequencies.count, 0)
    else:
        released = np.bincount(recoding.row, weights=recoding.count, minlength=len(frequencies.count)).astype(np.int64)
    rows = np.flatnonzero(released)
    part = frequencies.select(rows, released[rows].astype(np.int64))
    if isinstance(recoding, ByLevel):
        group = np.unique(recoding.group[rows], return_inverse=True)[1].astype(np.int64)
        return replace(problem, frequencies=part), replace(recoding, group=group), rows
    number = np.full(len(frequencies.count), -1, np.int64)
    number[rows] = np.arange(len(rows))
    return replace(problem, frequencies=part), replace(recoding, row=number[recoding.row]), rows
