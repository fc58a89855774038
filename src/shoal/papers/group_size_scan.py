"""Losses of microaggregation at every group size: evidence on Table 1.

Two cells of Table 1 of Domingo-Ferrer, Sebé and Solanas are not reached by Algorithm 1. This module forms the groups of
every size under several readings of MDAV and CBFS, with a plain implementation that is independent of the compiled one,
so that it can be seen whether some size gives the printed loss, and whether the order of records matters.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    """One reading of the algorithm that forms groups of a fixed size.

    ``pairs``: a group around the outermost record and one around the record farthest from it (MDAV), or only the first
    (CBFS). ``scatter``: records that are left over join the nearest groups one by one; otherwise fewer than 2k records
    form the last group. ``moving``: the outermost record is that farthest from the mean of the records that remain, or
    of all. ``spread``: columns are divided by their standard deviation, or by their range.
    """

    pairs: bool
    scatter: bool
    moving: bool
    spread: str

    def __str__(self) -> str:
        return ", ".join(
            (
                "MDAV" if self.pairs else "CBFS",
                "rest joins the nearest groups" if self.scatter else "rest is a group",
                "moving mean" if self.moving else "fixed mean",
                self.spread,
            )
        )


READINGS = [
    Reading(*parts) for parts in itertools.product((True, False), (False, True), (True, False), ("sd", "range"))
]


def scale(values: Points, spread: str) -> Points:
    """Return columns with mean 0 and a standard deviation or range of 1."""
    by = values.std(axis=0) if spread == "sd" else np.ptp(values, axis=0)
    return np.asarray((values - values.mean(axis=0)) / by)


def groups_of_size(points: Points, size: int, reading: Reading) -> Labels:
    """Return the group of every record."""
    group = np.full(len(points), -1, np.int64)
    rest = np.arange(len(points))
    center = points.mean(axis=0)
    made = 0

    def take(seed: npt.NDArray[np.float64]) -> None:
        nonlocal rest, made
        distance = ((points[rest] - seed) ** 2).sum(axis=1)
        near = np.argsort(distance, kind="stable")[:size]
        group[rest[near]] = made
        rest = np.delete(rest, near)
        made += 1

    def outermost(of: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(points[rest[np.argmax(((points[rest] - of) ** 2).sum(axis=1))]])

    while len(rest) >= (1 if reading.scatter else 2) * size:
        first = outermost(points[rest].mean(axis=0) if reading.moving else center)
        second = outermost(first)
        take(first)
        if reading.pairs and len(rest) >= (1 if reading.scatter else 2) * size:
            take(second if (points[rest] == second).all(axis=1).any() else outermost(first))
    if len(rest) and (not reading.scatter or made == 0):
        group[rest] = made
    elif len(rest):
        sums = np.stack([np.bincount(group[group >= 0], column[group >= 0], made) for column in points.T], axis=1)
        means = sums / np.bincount(group[group >= 0], minlength=made)[:, None]
        group[rest] = ((points[rest, None, :] - means[None]) ** 2).sum(axis=2).argmin(axis=1)
    return group


def sse_percent(points: Points, group: Labels) -> float:
    """Return 100 · SSE/SST."""
    sizes = np.bincount(group)
    between = sum(float((np.bincount(group, column) ** 2 / sizes).sum()) for column in points.T)
    total = float((points**2).sum())
    return 100 * (total - between) / total


def fewest_values(group: Labels, confidential: npt.NDArray[np.int64]) -> int:
    """Return the least number of values of a confidential column in a group."""
    least = len(group)
    for column in confidential.T:
        pairs = np.unique(group * (int(column.max()) + 1) + column) // (int(column.max()) + 1)
        least = min(least, int(np.bincount(pairs).min()))
    return least


@dataclass(frozen=True)
class Scan:
    """Losses by group size, and the first size and loss that reach each p."""

    losses: dict[int, float]
    reached: dict[int, tuple[int, float]]

    def nearest(self, loss: float) -> tuple[int, float]:
        """Return the size with the loss nearest to a printed one, and its loss."""
        return min(self.losses.items(), key=lambda pair: abs(pair[1] - loss))


def scan_sizes(values: Points, confidential: npt.NDArray[np.int64], reading: Reading, wanted: Sequence[int]) -> Scan:
    """Form the groups of every size from 3 to that of one single group."""
    standard, points = scale(values, "sd"), scale(values, reading.spread)
    scan = Scan({}, {})
    for size in range(3, len(values) // 2 + 2):
        group = groups_of_size(points, size, reading)
        scan.losses[size] = sse_percent(standard, group)
        fewest = fewest_values(group, confidential)
        for p in wanted:
            if fewest >= p and p not in scan.reached:
                scan.reached[p] = size, scan.losses[size]
    return scan
