"""Losses of microaggregation at every group size."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.methods.microaggregation.kernels.mdav import cbfs, mdav
from shoal.papers.group_size_scan import (
    READINGS,
    Reading,
    fewest_values,
    groups_of_size,
    scale,
    scan_sizes,
    sse_percent,
)

MDAV = Reading(pairs=True, scatter=False, moving=True, spread="sd")
CBFS = Reading(pairs=False, scatter=True, moving=True, spread="sd")


def partition(group):
    return sorted(tuple(np.flatnonzero(group == one)) for one in np.unique(group))


@pytest.mark.parametrize("size", [2, 3, 5, 11, 20])
def test_readings_agree_with_the_methods(size):
    points = scale(np.random.default_rng(size).normal(size=(53, 3)), "sd")
    assert partition(groups_of_size(points, size, MDAV)) == partition(mdav(points, size))
    assert partition(groups_of_size(points, size, CBFS)) == partition(cbfs(points, size))


@pytest.mark.parametrize("reading", READINGS, ids=str)
@pytest.mark.parametrize("size", [3, 7, 26])
def test_every_reading_forms_groups_of_the_size(reading, size):
    points = np.random.default_rng(1).normal(size=(52, 2))
    group = groups_of_size(points, size, reading)
    assert group.min() == 0
    assert np.bincount(group).min() >= size


def test_loss_and_values():
    points = scale(np.asarray([[0.0], [0.0], [4.0], [4.0]]), "sd")
    assert sse_percent(points, np.asarray([0, 0, 1, 1])) == pytest.approx(0)
    assert sse_percent(points, np.asarray([0, 1, 0, 1])) == pytest.approx(100)
    confidential = np.asarray([[0, 5], [0, 6], [1, 5], [2, 5]])
    assert fewest_values(np.asarray([0, 0, 1, 1]), confidential) == 1
    assert fewest_values(np.asarray([0, 1, 1, 0]), confidential) == 1
    assert fewest_values(np.asarray([0, 1, 0, 1]), confidential[:, :1]) == 2


def test_scan_finds_the_first_size_for_each_p():
    random = np.random.default_rng(2)
    values, confidential = random.normal(size=(40, 2)), random.integers(0, 4, (40, 1))
    scan = scan_sizes(values, confidential, MDAV, (2, 3))
    assert sorted(scan.losses) == list(range(3, 22))
    for p, (size, loss) in scan.reached.items():
        fewest = [fewest_values(groups_of_size(scale(values, "sd"), k, MDAV), confidential) for k in range(3, size + 1)]
        assert fewest[-1] >= p
        assert all(found < p for found in fewest[:-1])
        assert loss == scan.losses[size]
    assert scan.nearest(scan.losses[9] + 1e-9)[1] == scan.losses[9]
