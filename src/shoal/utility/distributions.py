"""Distances of distributions between original and release.

They are computed for columns and pairs of columns, over the cells of :mod:`shoal.utility.label_distributions`, together
with the associations of columns. A suppressed row counts as a row with ``*`` in every column, as in all losses of
shoal.

* total variation: ½ Σ |p - q|, 0 to 1.
* Kullback-Leibler divergence of the original p from the release q: Σ p ln(p / q), in nats; infinite where the release
  rules out a value that occurs. Kifer and Gehrke, SIGMOD 2006.
* association of two columns: Cramér's V, 0 to 1. Cramér, "Mathematical methods of statistics", 1946, section 21.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.utility.label_distributions import ColumnReading


@dataclass(frozen=True)
class Distance:
    """Total variation and Kullback-Leibler divergence (in nats)."""

    variation: float
    divergence: float

    def to_dict(self) -> dict[str, float | str]:
        """Return the distances for JSON, where infinity is text."""
        return {"total_variation": self.variation, "kl_divergence": _plain(self.divergence)}


@dataclass(frozen=True)
class PairDistances:
    """Means and maxima of distances over all pairs of columns."""

    pairs: int
    mean_variation: float
    highest_variation: float
    mean_divergence: float
    mean_association_change: float
    highest_association_change: float
    associations: tuple[tuple[str, str, float, float], ...] = ()
    """For every pair: the two columns, and their association in the original and in the release."""

    def to_dict(self) -> dict[str, Any]:
        """Return the distances for JSON."""
        return {
            "pairs": self.pairs,
            "mean_total_variation": self.mean_variation,
            "highest_total_variation": self.highest_variation,
            "mean_kl_divergence": _plain(self.mean_divergence),
            "mean_association_change": self.mean_association_change,
            "highest_association_change": self.highest_association_change,
            "associations": [list(one) for one in self.associations],
        }


def _plain(number: float) -> float | str:
    return number if math.isfinite(number) else str(number)


def variation(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Return the total variation ½ Σ |p - q|.

    >>> variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return float(np.abs(one - other).sum() / 2)


def divergence(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Return Σ p ln(p / q); infinite where q is 0 and p is not."""
    there = one > 0
    if (other[there] <= 0).any():
        return math.inf
    return max(float((one[there] * np.log(one[there] / other[there])).sum()), 0.0)


def column_distance(column: ColumnReading) -> Distance:
    """Return the distance of one column."""
    before, after = _marginals(column)
    return Distance(variation(before, after), divergence(before, after))


def _marginals(column: ColumnReading) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    before = np.bincount(column.original, minlength=column.cells) / len(column.original)
    labels = np.bincount(column.released, minlength=len(column.cell_mass))
    return before, _with_suppressed(labels @ column.cell_mass, [column])


def _with_suppressed(mass: npt.NDArray[np.float64], columns: Sequence[ColumnReading]) -> npt.NDArray[np.float64]:
    """Return shares, with suppressed rows added as rows of ``*``."""
    missing_rows = len(columns[0].original) - len(columns[0].released)
    if missing_rows > 0:
        # the mass of `*` is divided over the original's values, in proportion to the values of each cell
        even = _top(columns[0]) if len(columns) == 1 else np.outer(_top(columns[0]), _top(columns[1]))
        mass = mass + missing_rows * even
    return np.asarray(mass / mass.sum())


def _top(column: ColumnReading) -> npt.NDArray[np.float64]:
    values = np.bincount(list(column.cell_of.values()), minlength=column.cells)
    return np.asarray(values / values.sum())


def pair_distances(columns: Sequence[ColumnReading]) -> PairDistances | None:
    """Return the distances of all pairs of columns; None without a pair.

    Cost per pair: rows, and labels times cells.
    """
    found, associations = [], []
    for one, other in combinations(columns, 2):
        before, after = _joint(one, other)
        found.append((variation(before, after), divergence(before, after)))
        associations.append((one.name, other.name, cramers_v(before), cramers_v(after)))
    if not found:
        return None
    distances = np.asarray(found)
    change = [abs(before - after) for _, _, before, after in associations]
    return PairDistances(
        len(found),
        float(distances[:, 0].mean()),
        float(distances[:, 0].max()),
        float(distances[:, 1].mean()),
        float(np.mean(change)),
        float(np.max(change)),
        tuple(associations),
    )


def _joint(one: ColumnReading, other: ColumnReading) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    shape = (one.cells, other.cells)
    before = np.bincount(one.original.astype(np.int64) * shape[1] + other.original, minlength=shape[0] * shape[1])
    # counts of label pairs, the mass of each divided over the product of its cells
    width = len(other.cell_mass)
    pairs = np.bincount(one.released.astype(np.int64) * width + other.released, minlength=len(one.cell_mass) * width)
    after = one.cell_mass.T @ pairs.reshape(len(one.cell_mass), width) @ other.cell_mass
    return before.reshape(shape) / len(one.original), _with_suppressed(after, [one, other])


def cramers_v(joint: npt.NDArray[np.float64]) -> float:
    """Return Cramér's V of a joint distribution; 0 if a column is constant.

    >>> cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]]))
    1.0
    """
    joint = joint[joint.sum(axis=1) > 0][:, joint.sum(axis=0) > 0]
    least = min(joint.shape) - 1
    if least < 1:
        return 0.0
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return float(np.sqrt(min(max(((joint - expected) ** 2 / expected).sum() / least, 0.0), 1.0)))
