"""Range queries: how far are counts from the release off the true ones?

A query counts the rows whose values lie in a range of cells in some columns. The release answers it by the mass that
each row's labels have in the range, as an analyst would who takes all covered values for equally likely. The error is
relative to the true count, or to a small part of the table where the true count is less.

Xiao and Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006, section 6; LeFevre, DeWitt and
Ramakrishnan, "Workload-aware anonymization", KDD 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.utility.label_distributions import ColumnReading

__all__ = ["QueryError", "query_errors", "range_query_error"]


@dataclass(frozen=True)
class QueryError:
    """Relative errors over all queries."""

    queries: int
    mean: float
    median: float
    worst_tenth: float

    def to_dict(self) -> dict[str, float | int]:
        """For JSON."""
        return {
            "queries": self.queries,
            "mean_relative_error": self.mean,
            "median_relative_error": self.median,
            "ninth_decile_relative_error": self.worst_tenth,
        }


Query = tuple[tuple[int, int, int], ...]
"""Column, first cell, end (not included), for each column that the query looks at."""


def range_query_error(
    columns: Sequence[ColumnReading], *, queries: int = 500, width: int = 2, floor: float = 0.001, seed: int = 0
) -> QueryError:
    """Ask random range queries of both tables.

    Parameters
    ----------
    queries
        How many; 1 or more.
    width
        How many columns a query looks at.
    floor
        The part of the original's rows below which a true count is not taken as the measure of an error.

    Cost: queries times rows times width.
    """
    random = np.random.default_rng(seed)
    chosen = [_draw(columns, min(width, len(columns)), random) for _ in range(queries)]
    errors = query_errors(columns, chosen, floor)
    return QueryError(len(errors), float(np.mean(errors)), float(np.median(errors)), float(np.quantile(errors, 0.9)))


def _draw(columns: Sequence[ColumnReading], width: int, random: np.random.Generator) -> Query:
    query = []
    for place in random.choice(len(columns), width, replace=False):
        cells = columns[place].cells - 1  # nobody asks for what is elsewhere
        long = int(random.integers(1, max(cells // 2, 1) + 1))
        first = int(random.integers(0, cells - long + 1))
        query.append((int(place), first, first + long))
    return tuple(query)


def query_errors(columns: Sequence[ColumnReading], queries: Sequence[Query], floor: float) -> list[float]:
    """The relative error of each query."""
    least = max(floor * len(columns[0].original), 1.0)
    errors = []
    for query in queries:
        inside = np.ones(len(columns[0].original), np.bool_)
        mass = np.ones(len(columns[0].released))
        for place, first, end in query:
            column = columns[place]
            inside &= (column.original >= first) & (column.original < end)
            mass *= column.spread[:, first:end].sum(axis=1)[column.released]
        true = float(inside.sum())
        errors.append(abs(float(mass.sum()) - true) / max(true, least))
    return errors
