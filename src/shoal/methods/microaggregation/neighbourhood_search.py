"""Large neighbourhood search: anneal all groups, then regions of groups.

Where groups need only a minimum size, two annealings of all rows run at the same time and the better result is taken.
Then regions of neighbouring groups are annealed again, several disjoint regions at a time. The result of a region is
accepted only where it loses less, so the loss never rises. Random choices depend on the seed alone, not on the number
of
threads. Where models require more than a size, groups are refined by
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
from shoal.runtime.threads import parallel_map

HOTTEST, COLDEST = 3.0, 0.05
"""First and last temperature for all rows, in units of the mean lower bound of a row's squares."""
STEPS_PER_ROW_TO_MELT = 700
"""Proposals per row that a start at a temperature of 1 needs to cool down to a good partition."""
CALIBRATION_STEPS = 200_000
"""Proposals that measure the speed of the machine, where there is a time limit."""
SCALE_POWERS = (0.5, 0.25)
"""The exponent of a row's own lower bound in its temperature, for each of the two annealings."""
REGION_HEATS = (0.7, 0.03)
REGION_ROWS, REGION_GROUPS = 60, 12
"""The minimum number of rows and of groups of a region."""
REGION_STEPS = 4_000
"""Proposals per row of a region."""
MAX_REGIONS = 16
"""The largest number of regions that are annealed at a time."""

Floats = npt.NDArray[np.float64]
Group = npt.NDArray[np.int32]


def refine_sized(
    points: Floats, rules: Rules, group: Group, steps: int, seed: int, deadline: float | None = None
) -> Group:
    """Return groups of at least k rows with less or equal loss, int32 (n,).

    ``steps`` is the number of proposals of each of the two annealings, and then of all regions. The same seed gives the
    same groups, unless the deadline ends the search. For one column the result is optimal.
    """
    if points.shape[1] == 1:
        return np.asarray(optimal_univariate(np.ascontiguousarray(points[:, 0]), int(rules.least[0])), np.int32)
    no_columns = np.empty((len(points), 0), np.int32)
    descended = refine_partition(points, no_columns, rules, group, 0, seed)
    k = int(rules.least[0])
    if steps == 0 or k < 2 or len(points) < 2 * k or int(np.bincount(descended).max()) > 2 * k:
        return descended
    found = _least_loss(points, [descended, *anneal_groups(points, descended, k, steps, seed, deadline)])
    found = _anneal_regions(pad(points), found, k, steps, seed, deadline)
    return refine_partition(points, no_columns, rules, found, 0, seed)


def _least_loss(points: Floats, groups: Sequence[Group]) -> Group:
    """Return the first partition of least loss."""
    return min(groups, key=lambda group: within_squares(points, group, int(group.max()) + 1))


def anneal_groups(
    points: Floats, group: Group, k: int, steps: int, seed: int, deadline: float | None = None
) -> list[Group]:
    """Anneal groups of k to 2k rows twice, and return both results.

    With a deadline, this uses two thirds of the remaining time.
    """
    near = nearest_records(points, NEAR_RECORDS)
    least = np.zeros(len(points))
    for j in range(min(k - 1, near.shape[1])):
        least += ((points[near[:, j]] - points) ** 2).sum(axis=1) / (2 * k)
    mean = float(least.mean())
    if mean == 0.0:
        return []
    padded, groups = pad(points), int(group.max()) + 1

    def anneal(start: Group, steps: int, number: int) -> Group:
        hottest = min(HOTTEST, max(4 * COLDEST, steps / len(points) / STEPS_PER_ROW_TO_MELT))
        scale = (np.maximum(least, 1e-3 * mean) / mean) ** SCALE_POWERS[number]
        heats = (hottest * mean, COLDEST * mean)
        return _renumbered(anneal_sized(padded, start, groups, near, scale, k, heats, steps, seed + number))

    if deadline is not None:
        trial_steps, begun = min(steps, CALIBRATION_STEPS), now()
        parallel_map(lambda number: anneal(group, trial_steps, number), range(2))
        rate = trial_steps / max(now() - begun, 1e-3)
        steps = min(steps, int(rate * (deadline - now()) * 2 / 3))
    return parallel_map(lambda number: anneal(group, steps, number), range(2)) if steps > 0 else []


def _anneal_regions(points: Floats, group: Group, k: int, steps: int, seed: int, deadline: float | None) -> Group:
    """Anneal sets of regions until ``steps`` changes were proposed.

    Points are padded.
    """
    rng = np.random.default_rng([seed, 0x4E6])
    while steps > 0 and not is_late(deadline):
        regions = _choose_regions(points, group, k, rng)
        tasks = [
            _Region(points[rows], group[rows], k, int(chance))
            for rows, chance in zip(regions, rng.integers(2**62, size=len(regions)), strict=True)
        ]
        group = group.copy()
        for rows, found in zip(regions, parallel_map(_Region.anneal, tasks), strict=True):
            group[rows] = int(group.max()) + 1 + found
            steps -= REGION_STEPS * len(rows)
        group = _renumbered(group)
    return group


@dataclass(frozen=True)
class _Region:
    """The rows of some neighbouring groups."""

    points: Floats
    group: Group
    k: int
    seed: int

    def anneal(self) -> Group:
        """Return their groups, with less loss or unchanged, numbered from 0."""
        local, steps = _renumbered(self.group), REGION_STEPS * len(self.group)
        groups = int(local.max()) + 1
        found = anneal_region(self.points, local, groups, self.k, NEAR_RECORDS, REGION_HEATS, steps, self.seed)
        return np.asarray(found, np.int32)


def _renumbered(group: Group) -> Group:
    """Return the groups numbered from 0, without gaps."""
    return np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _choose_regions(points: Floats, group: Group, k: int, rng: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """Return the rows of disjoint regions around random rows.

    A region consists of the groups with means nearest to a drawn row.
    """
    groups = int(group.max()) + 1
    sizes = np.bincount(group, minlength=groups)
    means = np.stack([np.bincount(group, column, minlength=groups) / sizes for column in points.T], axis=1)
    wanted = max(REGION_ROWS, k * REGION_GROUPS)
    taken = np.full(groups, -1, np.int64)
    for number in range(max(1, min(MAX_REGIONS, 2 * (len(points) // (4 * wanted))))):
        centre = int(rng.integers(len(points)))
        distance = np.where(taken < 0, ((means - points[centre]) ** 2).sum(axis=1), np.inf)
        nearest = np.argsort(distance, kind="stable")
        reached = np.cumsum(sizes[nearest])
        chosen = nearest[: int(np.searchsorted(reached, wanted)) + 1]
        taken[chosen[taken[chosen] < 0]] = number
    order = np.argsort(taken[group], kind="stable")
    edges = np.searchsorted(taken[group][order], np.arange(int(taken.max()) + 2))
    return [order[low:high] for low, high in itertools.pairwise(edges) if high > low]
