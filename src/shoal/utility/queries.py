"""Relative error of range queries answered from the release.

A query counts the rows whose values lie in a range of cells in some columns. The release answers it by the mass that
the labels of each row have in the range, as an analyst would who takes all covered values for equally likely. The error
is relative to the true count, or to a small part of the table where the true count is less.

Xiao and Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006, section 6; LeFevre, DeWitt and
Ramakrishnan, "Workload-aware anonymization", KDD 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.utility.label_distributions import ColumnReading


@dataclass(frozen=True)
class QueryError:
    """Relative errors over all queries."""

    queries: int
    mean: float
    median: float
    worst_tenth: float

    def to_dict(self) -> dict[str, float | int]:
        """Return the errors for JSON."""
        return {
            "queries": self.queries,
            "mean_relative_error": self.mean,
            "median_relative_error": self.median,
            "ninth_decile_relative_error": self.worst_tenth,
        }


Query = tuple[tuple[int, int, int], ...]
"""Column, first cell and end (exclusive), for each column of the query."""


def range_query_error(
    columns: Sequence[ColumnReading], *, queries: int = 500, width: int = 2, floor: float = 0.001, seed: int = 0
) -> QueryError:
    """Ask random range queries of both tables.

    Parameters
    ----------
    queries
        The number of queries; 1 or more.
    width
        The number of columns of a query.
    floor
        The share of the original's rows that replaces a smaller true count in the relative error.

    Cost: queries times rows times width.
    """
    random = np.random.default_rng(seed)
    chosen = [_draw_query(columns, min(width, len(columns)), random) for _ in range(queries)]
    errors = query_errors(columns, chosen, floor)
    return QueryError(len(errors), float(np.mean(errors)), float(np.median(errors)), float(np.quantile(errors, 0.9)))


def _draw_query(columns: Sequence[ColumnReading], width: int, random: np.random.Generator) -> Query:
    query = []
    for index in random.choice(len(columns), width, replace=False):
        cells = columns[index].cells - 1  # the cell *elsewhere* is never queried
        length = int(random.integers(1, max(cells // 2, 1) + 1))
        first = int(random.integers(0, cells - length + 1))
        query.append((int(index), first, first + length))
    return tuple(query)


def query_errors(columns: Sequence[ColumnReading], queries: Sequence[Query], floor: float) -> list[float]:
    """Return the relative error of each query."""
    least = max(floor * len(columns[0].original), 1.0)
    errors = []
    for query in queries:
        inside = np.ones(len(columns[0].original), np.bool_)
        mass = np.ones(len(columns[0].released))
        for index, first, end in query:
            column = columns[index]
            inside &= (column.original >= first) & (column.original < end)
            mass *= column.cell_mass[:, first:end].sum(axis=1)[column.released]
        true = float(inside.sum())
        errors.append(abs(float(mass.sum()) - true) / max(true, least))
    return errors
