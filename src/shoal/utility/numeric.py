"""Numeric loss: squared error, IL1s, and change of correlations.

* SSE/SST: the squared distance of rows to their published values, over that to the mean; columns standardized.
  Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation", TKDE 14, 2002.
* IL1s: the mean of |x - x'| / (√2 S_j). Yancey, Winkler and Creecy, "Disclosure risk assessment in perturbative
  microdata protection", 2002; Mateo-Sanz, Domingo-Ferrer and Sebé, 2005.

Both compare a row with its own published row. Where rows are not aligned, each original row is compared with the
nearest released row: a lower bound over all alignments, and close to the true loss for microaggregated data, whose
groups are near their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.utility.label_distributions import ColumnReading

CELLS_PER_BLOCK = 1 << 22
MAX_PAIRS = 1 << 29
"""Maximum number of compared pairs of rows; beyond it, a seeded sample represents the original rows."""


@dataclass(frozen=True)
class NumericLoss:
    """Loss of the number columns.

    Attributes
    ----------
    sse_sst, il1s
        See the module.
    aligned
        Whether rows were compared with their own published rows; otherwise the figures are lower bounds.
    correlation_mean, correlation_highest
        Mean and largest change of Pearson's correlation over pairs of columns; None where there is one column only.
    """

    columns: tuple[str, ...]
    sse_sst: float
    il1s: float
    aligned: bool
    correlation_mean: float | None
    correlation_highest: float | None

    def to_dict(self) -> dict[str, object]:
        """Return the figures for JSON."""
        return {
            "columns": list(self.columns),
            "sse_sst": self.sse_sst,
            "il1s": self.il1s,
            "aligned": self.aligned,
            "mean_correlation_change": self.correlation_mean,
            "highest_correlation_change": self.correlation_highest,
        }


def numeric_loss(columns: Sequence[ColumnReading], *, aligned: bool = False, seed: int = 0) -> NumericLoss | None:
    """Compute the loss of the number columns; None where there is none.

    Rows with a missing number, before or after, are left out. Cost where rows are not aligned: original rows times
    distinct released rows times columns.
    """
    chosen = [column for column in columns if column.exact is not None and column.number is not None]
    if not chosen:
        return None
    before = np.stack([column.exact for column in chosen if column.exact is not None], axis=1)
    after = np.stack([column.number[column.released] for column in chosen if column.number is not None], axis=1)
    is_complete = np.isfinite(before).all(axis=1), np.isfinite(after).all(axis=1)
    if aligned:
        is_complete = (is_complete[0] & is_complete[1],) * 2
    before, after = before[is_complete[0]], after[is_complete[1]]
    if len(before) < 2 or not len(after):
        return None
    centre, deviation = before.mean(axis=0), before.std(axis=0, ddof=1)
    scale = np.where(deviation > 0, deviation, 1.0)
    rows, counterparts = before, after
    if not aligned:
        points = np.unique(after, axis=0)
        max_rows = max(1000, MAX_PAIRS // len(points))
        if len(before) > max_rows:
            rows = before[np.random.default_rng(seed).choice(len(before), max_rows, replace=False)]
        counterparts = np.concatenate([points[near.argmax(axis=1)] for _, near in nearest_points(rows, points, scale)])
    error = (rows - counterparts) / scale
    total = float((((rows - centre) / scale) ** 2).sum())
    mean, highest = correlation_change(before, after) if len(chosen) > 1 else (None, None)
    return NumericLoss(
        tuple(column.name for column in chosen),
        float((error**2).sum()) / total if total else 0.0,
        float(np.abs(error).mean() / np.sqrt(2)),
        aligned,
        mean,
        highest,
    )


def nearest_points(
    rows: npt.NDArray[np.float64], points: npt.NDArray[np.float64], scale: npt.NDArray[np.float64]
) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
    """Yield blocks of rows with their nearest points.

    A block is the number of its first row, and a bool matrix of the points at minimum distance for each row.
    """
    step = max(1, CELLS_PER_BLOCK // len(points))
    for low in range(0, len(rows), step):
        part = rows[low : low + step]
        distance = np.zeros((len(part), len(points)))
        for column in range(points.shape[1]):  # scaled after the difference, because rounding would break ties
            difference = (part[:, column, None] - points[None, :, column]) / scale[column]
            distance += difference * difference
        yield low, distance == distance.min(axis=1, keepdims=True)


def correlation_change(before: npt.NDArray[np.float64], after: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and largest change of Pearson's correlation.

    They are over pairs of columns; constant columns have correlation 0.
    """
    one, other = _correlation(before), _correlation(after)
    upper = np.triu_indices(before.shape[1], 1)
    change = np.abs(one - other)[upper]
    return float(change.mean()), float(change.max())


def _correlation(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    centred = rows - rows.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    scaled = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    return np.asarray(scaled.T @ scaled)
