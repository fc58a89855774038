"""Less loss where ``quality`` asks for it: groups are annealed, and then neighbouring ones again by themselves.

Where groups need nothing but their size, two annealings of all rows run at the same time, the better is taken, and
regions of neighbouring groups are annealed again, several regions without a common group at a time. What is found in a
region is kept where it loses less, so the loss never rises. What is drawn by chance depends on the seed alone, not on
how many threads there are. Where models ask for more than size, groups are refined as by
:func:`shoal.methods.microaggregation.kernels.refinement.refine_partition`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.rules import Rules
from shoal.methods.microaggregation.kernels.annealing_by_size import anneal_region, anneal_sized, pad
from shoal.methods.microaggregation.kernels.descent import NEAR_RECORDS
from shoal.methods.microaggregation.kernels.partition import nearest_records, within_squares
from shoal.methods.microaggregation.kernels.refinement import refine_partition
from shoal.methods.microaggregation.kernels.univariate import optimal_univariate
from shoal.methods.time_limits import is_late
from shoal.runtime.search_clock import now
from shoal.runtime.threads import spread

__all__ = ["anneal_groups", "refine_sized"]

HOTTEST, COLDEST = 3.0, 0.05
"""Temperatures of all rows, in mean least squares of a row."""
STEPS_TO_MELT = 700
"""Proposals a row that a start at a temperature of 1 needs, if what it melts is to freeze again in good order."""
TRIED_STEPS = 200_000
"""So many tell how fast a machine is, where there is a limit of time."""
EVENNESS = (0.5, 0.25)
"""The power of its own least squares to which a row's temperature rises, in each of the two annealings."""
REGION_HEATS = (0.7, 0.03)
REGION_ROWS, REGION_GROUPS = 60, 12
"""A region has at least so many rows and so many groups."""
REGION_STEPS = 4_000
"""Proposals a row of a region."""
MOST_REGIONS = 16
"""So many are annealed at a time at most."""

Floats = npt.NDArray[np.float64]
Group = npt.NDArray[np.int32]


def refine_sized(
    points: Floats, rules: Rules, group: Group, steps: int, seed: int, deadline: float | None = None
) -> Group:
    """Groups of at least k rows with less loss, or the same, int32 (n,).

    ``steps`` is how many changes each of the two annealings proposes, and how many are then proposed in regions. The
    same seed gives the same groups, unless the deadline ends it. For one column they are the best that there are.
    """
    if points.shape[1] == 1:
        return np.asarray(optimal_univariate(np.ascontiguousarray(points[:, 0]), int(rules.least[0])), np.int32)
    none = np.empty((len(points), 0), np.int32)
    calm = refine_partition(points, none, rules, group, 0, seed)
    k = int(rules.least[0])
    if steps == 0 or k < 2 or len(points) < 2 * k or int(np.bincount(calm).max()) > 2 * k:
        return calm
    found = _lesser(points, [calm, *anneal_groups(points, calm, k, steps, seed, deadline)])
    found = _anneal_regions(pad(points), found, k, steps, seed, deadline)
    return refine_partition(points, none, rules, found, 0, seed)


def _lesser(points: Floats, groups: Sequence[Group]) -> Group:
    """Of several partitions the first of least loss."""
    return min(groups, key=lambda group: within_squares(points, group, int(group.max()) + 1))


def anneal_groups(
    points: Floats, group: Group, k: int, steps: int, seed: int, deadline: float | None = None
) -> list[Group]:
    """Groups of k to 2k rows, annealed twice; with a deadline, in two thirds of the time that there is."""
    near = nearest_records(points, NEAR_RECORDS)
    least = np.zeros(len(points))
    for j in range(min(k - 1, near.shape[1])):
        least += ((points[near[:, j]] - points) ** 2).sum(axis=1) / (2 * k)
    mean = float(least.mean())
    if mean == 0.0:
        return []
    padded, groups = pad(points), int(group.max()) + 1

    def anneal(start: Group, steps: int, number: int) -> Group:
        hottest = min(HOTTEST, max(4 * COLDEST, steps / len(points) / STEPS_TO_MELT))
        scale = (np.maximum(least, 1e-3 * mean) / mean) ** EVENNESS[number]
        heats = (hottest * mean, COLDEST * mean)
        return _numbered(anneal_sized(padded, start, groups, near, scale, k, heats, steps, seed + number))

    if deadline is not None:
        few, begun = min(steps, TRIED_STEPS), now()
        spread(lambda number: anneal(group, few, number), range(2))
        rate = few / max(now() - begun, 1e-3)
        steps = min(steps, int(rate * (deadline - now()) * 2 / 3))
    return spread(lambda number: anneal(group, steps, number), range(2)) if steps > 0 else []


def _anneal_regions(points: Floats, group: Group, k: int, steps: int, seed: int, deadline: float | None) -> Group:
    """Anneal one set of regions after the other, until so many changes have been proposed; points are padded."""
    rng = np.random.default_rng([seed, 0x4E6])
    while steps > 0 and not is_late(deadline):
        regions = _choose_regions(points, group, k, rng)
        works = [
            _Region(points[rows], group[rows], k, int(chance))
            for rows, chance in zip(regions, rng.integers(2**62, size=len(regions)), strict=True)
        ]
        group = group.copy()
        for rows, found in zip(regions, spread(_Region.anneal, works), strict=True):
            group[rows] = int(group.max()) + 1 + found
            steps -= REGION_STEPS * len(rows)
        group = _numbered(group)
    return group


@dataclass(frozen=True)
class _Region:
    """The rows of some neighbouring groups."""

    points: Floats
    group: Group
    k: int
    seed: int

    def anneal(self) -> Group:
        """Their groups, of less loss or as they were, numbered from 0."""
        local, steps = _numbered(self.group), REGION_STEPS * len(self.group)
        groups = int(local.max()) + 1
        found = anneal_region(self.points, local, groups, self.k, NEAR_RECORDS, REGION_HEATS, steps, self.seed)
        return np.asarray(found, np.int32)


def _numbered(group: Group) -> Group:
    """Groups numbered from 0, without gaps."""
    return np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _choose_regions(points: Floats, group: Group, k: int, rng: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """The rows of groups whose means are nearest to some rows, which are drawn; no group is in two regions."""
    groups = int(group.max()) + 1
    sizes = np.bincount(group, minlength=groups)
    means = np.stack([np.bincount(group, column, minlength=groups) / sizes for column in points.T], axis=1)
    wanted = max(REGION_ROWS, k * REGION_GROUPS)
    taken = np.full(groups, -1, np.int64)
    for number in range(max(1, min(MOST_REGIONS, 2 * (len(points) // (4 * wanted))))):
        centre = int(rng.integers(len(points)))
        away = np.where(taken < 0, ((means - points[centre]) ** 2).sum(axis=1), np.inf)
        nearest = np.argsort(away, kind="stable")
        reached = np.cumsum(sizes[nearest])
        chosen = nearest[: int(np.searchsorted(reached, wanted)) + 1]
        taken[chosen[taken[chosen] < 0]] = number
    order = np.argsort(taken[group], kind="stable")
    edges = np.searchsorted(taken[group][order], np.arange(int(taken.max()) + 2))
    return [order[low:high] for low, high in itertools.pairwise(edges) if high > low]
