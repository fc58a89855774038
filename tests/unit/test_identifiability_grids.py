"""Grid releases, guarantees and the private choice of the recoding."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from shoal.budget import errors, grids
from shoal.budget.guarantee import population_guarantee, query_guarantee, sampled_guarantee
from shoal.budget.sampling import sample_mask
from shoal.errors import InfeasibleError, InputError
from tests.reference.identifiability import SeededSource, recoding_score


def test_population_grid() -> None:
    promise = grids.population_grid_check(np.array([103, 0, 500]), rows=100, k=4)
    assert (promise.rho, promise.delta, promise.m, promise.k) == (Fraction(1, 4), 0, 504, 4)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([102, 0, 500], "1 of 2 cells below this; the smallest has 102. With k = 3"),
        ([99, 98], "2 of 2 cells.*No k of 2 or more"),
        ([0, 0], "the smallest has 0"),
    ],
)
def test_universe_too_small(counts: list[int], words: str) -> None:
    with pytest.raises(errors.UniverseTooSmallError, match=words) as caught:
        grids.population_grid_check(counts, rows=100, k=4)
    assert isinstance(caught.value, InfeasibleError)


@pytest.mark.parametrize("counts", [[], [1.5, 2.5], [-1, 5], [[1, 2]]])
def test_bad_universe_counts(counts: list[object]) -> None:
    with pytest.raises(errors.ParameterError, match="universe_counts"):
        grids.population_grid_check(counts, rows=2, k=2)  # type: ignore[arg-type]


def test_a_sampled_grid_publishes_the_cells_of_enough_sampled_rows() -> None:
    cells = np.sort(np.random.default_rng(1).integers(0, 40, 500))
    sampled = np.bincount(cells[sample_mask(500, "1/3", SeededSource(2))], minlength=40)
    counts = grids.sampled_grid_counts(np.bincount(cells, minlength=40), "1/3", 5, SeededSource(2))
    assert counts.tolist() == [count if count >= 5 else 0 for count in sampled.tolist()]
    assert 0 < counts.sum() < sampled.sum()


def test_sampled_grid_of_nothing() -> None:
    assert grids.sampled_grid_counts([], "1/2", 5, SeededSource(1)).tolist() == []


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: grids.sampled_grid_counts([0.5], "1/2", 2, SeededSource(1)), errors.ParameterError, "counts"),
        (lambda: grids.sampled_grid_counts([-1], "1/2", 2, SeededSource(1)), errors.ParameterError, "counts"),
        (lambda: grids.sampled_grid_counts([0], 1, 2, SeededSource(1)), errors.SamplingRateError, "beta"),
        (lambda: grids.sampled_grid_counts([0], "-1/2", 2, SeededSource(1)), errors.SamplingRateError, "beta"),
        (lambda: grids.check_recoding_origin("search"), errors.RecodingNotPublicError, "in the plan"),
        (lambda: sampled_guarantee(2, k=5, beta="0.6", m=100), errors.SamplingRateError, "1 - 1/E"),
        (lambda: sampled_guarantee(4, k=50, beta="1/2", m=100), errors.RhoAboveCrowdError, "1/50"),
        (lambda: query_guarantee("1/100", m=100, k=5), errors.RhoTooSmallError, "1/m"),
        (lambda: query_guarantee("1/4", m=100, k=5), errors.RhoAboveCrowdError, "1/k"),
    ],
)
def test_bad_parameters(call, error, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words) as caught:
        call()
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize("origin", grids.PUBLIC_ORIGINS)
def test_public_recodings(origin: str) -> None:
    grids.check_recoding_origin(origin)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_sensitivity_of_the_score(k: int) -> None:
    generator, units = np.random.default_rng(k), 7
    largest = 0
    for _ in range(3000):
        counts, losses = generator.integers(0, k + 2, 3), generator.choice([0, 0.31, 0.77, 1.0], 3)
        source, target = generator.integers(0, 3, 2)
        if counts[source]:
            moved = counts.copy()
            moved[source] -= 1
            moved[target] += 1
            change = abs(recoding_score(counts, losses, k, units) - recoding_score(moved, losses, k, units))
            largest = max(largest, change)
    assert largest == units * grids.drop_loss_sensitivity(k)


def test_a_private_choice_is_part_of_the_promise() -> None:
    declared, chosen = (sampled_guarantee(2, k=66, beta="1/2", m=10**6, choice=choice) for choice in (None, "3/2"))
    assert (declared.bound, chosen.bound) == (4, 6)
    assert declared.delta == chosen.delta
    assert any("chosen privately, with E = 3/2" in sentence for sentence in chosen.assumptions)
    with pytest.raises(errors.ParameterError, match="choice"):
        sampled_guarantee(2, k=66, beta="1/2", m=10**6, choice=1)


def test_private_choice_prefers_the_better_recoding() -> None:
    source, sensitivity = SeededSource(5), grids.drop_loss_sensitivity(5)
    chosen = [grids.choose_recoding([-900, -85, -80], sensitivity, 20, source) for _ in range(200)]
    assert chosen.count(0) == 0
    assert chosen.count(2) > chosen.count(1) > 0


@pytest.mark.parametrize(
    "promise",
    [
        population_guarantee(k=3, m=9),
        population_guarantee(k=3, m=3),
        sampled_guarantee(2, k=66, beta="1/2", m=10**6),
        query_guarantee("1/20", m=1000, k=5),
    ],
)
def test_guarantee_is_complete(promise) -> None:  # type: ignore[no-untyped-def]
    plain = json.loads(json.dumps(promise.to_dict()))
    for key in ("kind", "rho", "delta", "E", "epsilon", "m", "k"):
        assert plain[key] is not None
    assert Fraction(plain["rho_exact"]) == promise.rho
    assert Fraction(plain["delta_exact"]) >= promise.delta
    assert any("know every row but one" in sentence for sentence in plain["assumptions"])
    assert any("about attributes" in sentence for sentence in plain["not_promised"])
    assert any("not a strong promise" in sentence for sentence in plain["not_promised"])
    assert all(sentence.endswith(".") for sentence in plain["assumptions"] + plain["not_promised"])
