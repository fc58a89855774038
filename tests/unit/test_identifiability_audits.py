"""Audits: methods that look at the data fail, public grids pass."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.budget import errors
from shoal.risk import release_audits
from tests.reference import identifiability as reference

VALUES = np.random.default_rng(4).integers(0, 10_000, 300)
Published = tuple[release_audits.Columns, NDArray[np.bool_]]


def by_groups(groups_of: Callable[..., list[list[int]]], mean: bool) -> Callable[[NDArray[np.int64]], Published]:
    """Publish the mean, or the interval, of each row's group."""

    def publish(chosen: NDArray[np.int64]) -> Published:
        values = VALUES[chosen]
        low, high = np.empty(len(chosen)), np.empty(len(chosen))
        for group in groups_of(values.tolist(), 5):
            low[group] = values[group].mean() if mean else values[group].min()
            high[group] = values[group].mean() if mean else values[group].max()
        return [low, high], np.ones(len(chosen), dtype=np.bool_)

    return publish


def public_grid(chosen: NDArray[np.int64]) -> Published:
    """Publish the thousand of each value; drop cells of fewer than 25 rows."""
    cells = VALUES[chosen] // 1000
    return [cells], np.bincount(cells, minlength=10)[cells] >= 25


def test_locality_of_data_dependent_methods_fails() -> None:
    for groups_of, mean in ((reference.mondrian_groups, False), (reference.mdav_groups, True)):
        found = release_audits.locality(by_groups(groups_of, mean), 300, np.random.default_rng(1))
        assert found.compared == 720
        assert found.changed > 600
        assert not found.holds


def test_locality_of_a_public_grid_holds() -> None:
    found = release_audits.locality(public_grid, 300, np.random.default_rng(1))
    assert found.holds
    assert 0 < found.compared < 720  # some cells were dropped


def test_changed_rows_with_missing_values() -> None:
    nan = float("nan")
    one = [np.array([1.0, nan, nan]), np.array(["a", "b", "c"], dtype=object)]
    two = [np.array([1.0, nan, 2.0]), np.array(["a", "x", "c"], dtype=object)]
    assert release_audits.changed_rows(one, two).tolist() == [False, True, True]


def test_extreme_values_of_the_paper() -> None:
    # Section 3.1: fifteen incomes of which one is 210K, published as [50K, 210K].
    incomes = np.array([50] * 15 + [60] * 4 + [210])
    group = np.zeros(20, dtype=int)
    found = release_audits.extreme_values(incomes, np.full(20, 50), np.full(20, 210), group, k=15)
    assert (found.groups, found.flagged, found.holds) == (1, 1, False)
    assert release_audits.extreme_values(incomes, np.full(20, 50), np.full(20, 250), group, k=15).holds


def test_extreme_values_of_mondrian() -> None:
    publish = by_groups(reference.mondrian_groups, mean=False)
    low, high = publish(np.arange(300))[0]
    found = release_audits.extreme_values(VALUES, low, high, low, k=5)
    assert found.flagged == found.groups


def test_intersection() -> None:
    first, second = np.arange(12) // 4, np.arange(12) % 4
    crowds = release_audits.intersection(first, second)
    assert crowds.smallest == 1
    assert (crowds.sizes < 2).all()
    assert release_audits.intersection(first, first).smallest == 4
    assert release_audits.intersection([0, 0, 0, 1], [0, 0, 0, 0]).smallest == 1
    assert release_audits.intersection([], []).smallest == 0


def test_intersection_of_two_mondrian_releases_leaves_small_crowds() -> None:
    generator = np.random.default_rng(2)
    codes = []
    for values in (generator.integers(0, 10_000, 500), generator.integers(0, 10_000, 500)):
        code = np.empty(500, dtype=int)
        for number, group in enumerate(reference.mondrian_groups(values.tolist(), 10)):
            code[group] = number
        codes.append(code)
    assert min(np.bincount(codes[0]).min(), np.bincount(codes[1]).min()) >= 10
    assert (release_audits.intersection(*codes).sizes < 2).mean() > 0.5


def test_expected_crowd_is_the_mean_over_random_partitions() -> None:
    generator, sizes = np.random.default_rng(3), np.repeat(np.arange(10), 10)
    mean = np.mean(
        [
            release_audits.intersection(generator.permutation(sizes), generator.permutation(sizes)).sizes.mean()
            for _ in range(300)
        ]
    )
    assert release_audits.expected_crowd(10, 10, 100) == 1 + Fraction(81, 99)
    assert mean == pytest.approx(1 + 81 / 99, rel=0.02)


@pytest.mark.parametrize(
    "call",
    [
        lambda: release_audits.changed_rows([np.array([1])], []),
        lambda: release_audits.changed_rows([np.array([1])], [np.array([1, 2])]),
        lambda: release_audits.intersection([1], [1, 2]),
        lambda: release_audits.expected_crowd(11, 2, 10),
        lambda: release_audits.extreme_values([1], [1], [1], [0], k=0),
        lambda: release_audits.locality(public_grid, 300, np.random.default_rng(1), share=1),
    ],
)
def test_bad_parameters(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(errors.ParameterError):
        call()
