"""Minimum of each whole number that functions of identifiability take.

The minimum is accepted, and one less is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shoal.budget import arithmetic, errors, grids, guarantee, mechanisms, sampling
from shoal.risk import release_audits
from tests.builders.errors import has_code
from tests.reference.identifiability import SeededSource

SOURCE = SeededSource(5)
SPAN = mechanisms.Span.of(0, 4)
MINIMA: list[tuple[str, int, Callable[[int], object]]] = [
    ("m", 2, lambda m: arithmetic.bound_from_rho("2/3", m)),
    ("m", 2, lambda m: arithmetic.rho_from_bound(2, m)),
    ("m", 2, lambda m: arithmetic.compose_as_in_paper("1/2", "1/2", m)),
    ("k", 1, lambda k: arithmetic.check_crowd("1/2", k)),
    ("k", 1, lambda k: arithmetic.sampling_delta(2, k, "1/2")),
    ("rows", 1, lambda rows: release_audits.locality(_publish_constant, rows, np.random.default_rng(1), runs=1)),
    ("runs", 1, lambda runs: release_audits.locality(_publish_constant, 9, np.random.default_rng(1), runs=runs)),
    ("k", 1, lambda k: release_audits.extreme_values([1], [1], [1], [0], k=k)),
    ("rows", 2, lambda rows: release_audits.expected_crowd(1, 1, rows)),
    ("first", 1, lambda first: release_audits.expected_crowd(first, 2, 10)),
    ("second", 1, lambda second: release_audits.expected_crowd(2, second, 10)),
    ("rows", 1, lambda rows: grids.population_grid_check([9, 9], rows, 2)),
    ("k", 2, lambda k: grids.population_grid_check([9, 9], 3, k)),
    ("k", 1, lambda k: grids.sampled_grid_counts([9, 9], "1/2", k, SOURCE)),
    ("k", 1, grids.drop_loss_sensitivity),
    ("k", 2, lambda k: guarantee.population_guarantee(k, 9)),
    ("m", 2, lambda m: guarantee.population_guarantee(2, m)),
    ("sensitivity", 1, lambda sensitivity: mechanisms.calibrate(2, sensitivity)),
    ("count", 0, lambda count: mechanisms.noisy_count(count, 2, SOURCE)),
    ("count", 0, lambda count: mechanisms.noisy_histogram([3, count], 2, SOURCE)),
    ("rows", 1, lambda rows: mechanisms.noisy_mean(3, rows, SPAN, 2, SOURCE)),
    ("sensitivity", 1, lambda sensitivity: mechanisms.best_of([1, 2], sensitivity, 2, SOURCE)),
    ("rows", 0, lambda rows: sampling.sample_mask(rows, "1/2", SOURCE)),
]


def _publish_constant(values: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    return [np.zeros_like(values)], np.ones(len(values), dtype=np.bool_)


@pytest.mark.parametrize(("name", "least", "call"), MINIMA)
def test_minimum_is_accepted_and_one_less_is_refused(name: str, least: int, call: Callable[[int], object]) -> None:
    call(least)
    with pytest.raises(errors.ParameterError, check=has_code("budget.below-minimum")):
        call(least - 1)
    with pytest.raises(errors.ParameterError, check=has_code("budget.not-a-whole-number")):
        call(least + 0.5)  # type: ignore[arg-type]
