"""Small universes, enumerated.

The worst posterior of each mechanism is what it promises.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from shoal.budget import arithmetic, grids
from shoal.budget.guarantee import population_guarantee, sampled_guarantee
from shoal.budget.mechanisms import calibrate
from tests.reference import identifiability as reference

UNIVERSE = range(12)
ROWS = 4
M = 9
HALF = Fraction(1, 2)


def is_among_first_four(individual: int) -> bool:
    return individual < 4


def worst(mechanism: reference.Mechanism) -> Fraction:
    return reference.worst_posterior(UNIVERSE, ROWS, mechanism)


def test_constant() -> None:
    assert worst(reference.constant) == Fraction(1, M)


def test_population_grid() -> None:
    promise = grids.population_grid_check([6, 6], ROWS, 3)
    assert promise == population_guarantee(k=3, m=M)
    assert worst(reference.grid(lambda individual: individual // 6)) == promise.rho == Fraction(1, 3)


def test_population_grid_with_a_small_cell_breaks_its_promise() -> None:
    assert worst(reference.grid(lambda individual: int(individual < 5))) == Fraction(1, 2)


def test_geometric_count() -> None:
    ratio = calibrate(arithmetic.bound_from_rho("1/5", M), 1).ratio
    assert ratio == HALF
    assert worst(reference.geometric_count(ratio, is_among_first_four, window=3)) == Fraction(1, 5)


def test_geometric_histogram() -> None:
    ratio = calibrate(arithmetic.bound_from_rho("1/3", M), 2).ratio
    assert ratio == HALF
    assert worst(reference.geometric_histogram(ratio, is_among_first_four, cells=2, window=1)) == Fraction(1, 3)


def test_histogram_with_the_noise_of_a_count_would_break_its_promise() -> None:
    ratio = calibrate(arithmetic.bound_from_rho("1/5", M), 1).ratio
    assert ratio is not None
    assert worst(reference.geometric_histogram(ratio, is_among_first_four, cells=2, window=1)) > Fraction(1, 5)


def test_best_of_several() -> None:
    ratio = calibrate(arithmetic.bound_from_rho("1/3", M), 2).ratio  # twice the sensitivity 1
    assert ratio is not None
    mechanism = reference.permute_and_flip(ratio, lambda t: 0 if t < 4 else 1 + t % 2, cells=3)
    assert Fraction(1, M) < worst(mechanism) <= Fraction(1, 3)


@pytest.mark.parametrize("method", [reference.mondrian, reference.mdav])
def test_data_dependent_methods_identify(method) -> None:  # type: ignore[no-untyped-def]
    assert worst(method(2)) == 1


def test_composition_is_attained() -> None:
    release = reference.grid(lambda individual: individual // 6)
    query = reference.geometric_count(HALF, lambda individual: individual % 6 < 4, window=1)
    assert worst(reference.both(release, query)) == arithmetic.compose("1/3", 2) == Fraction(1, 2)


def test_two_population_releases_identify() -> None:
    first = reference.grid(lambda individual: individual // 6)
    second = reference.grid(lambda individual: individual % 2)
    assert worst(first) == worst(second) == Fraction(1, 3)
    assert worst(reference.both(first, second)) == 1


def test_proposition_5_as_printed_is_false() -> None:
    # One unknown row among 100 candidates: public blocks of 10, and public blocks of 20 with 0 and 20
    # exchanged.
    candidates = range(100)
    first = reference.grid(lambda candidate: candidate // 10)
    second = reference.grid(lambda candidate: {0: 20, 20: 0}.get(candidate, candidate) // 20)
    assert reference.worst_posterior(candidates, 1, first) == Fraction(1, 10)
    assert reference.worst_posterior(candidates, 1, second) == Fraction(1, 20)
    assert arithmetic.compose_as_in_paper("1/10", "1/20", 100) == HALF
    assert reference.worst_posterior(candidates, 1, reference.both(first, second)) == 1


def test_mixture_and_post_processing_keep_the_promise() -> None:
    release = reference.grid(lambda individual: individual // 6)
    query = reference.geometric_count(Fraction(1, 4), is_among_first_four, window=1)
    assert worst(query) == Fraction(1, 3)
    assert worst(reference.mixture(Fraction(1, 3), release, query)) <= Fraction(1, 3)


def test_uninformed_intruder() -> None:
    assert reference.worst_posterior(range(10), 8, reference.constant) == Fraction(1, 3)
    assert reference.worst_uninformed_posterior(range(10), 8, reference.constant) == Fraction(4, 5)


def test_sampled_grid() -> None:
    promise = sampled_guarantee(3, k=3, beta="1/4", m=39)
    assert promise.rho == Fraction(2, 21)
    within, beyond = reference.sampled_grid_posterior((8, 40), 10, 3, Fraction(1, 4), promise.rho)
    assert within <= promise.rho
    assert beyond == promise.delta == Fraction(1, 64)


@pytest.mark.parametrize(
    ("cells", "rows", "k", "beta", "bound"),
    [
        ((8, 40), 6, 3, Fraction(1, 4), 3),
        ((5, 40), 10, 3, HALF, 2),
        ((3, 40), 4, 5, HALF, 2),
        ((9, 30), 9, 2, Fraction(1, 3), 2),
    ],
)
def test_sampled_grid_keeps_its_promise(cells: tuple[int, int], rows: int, k: int, beta: Fraction, bound: int) -> None:
    rho = arithmetic.rho_from_bound(arithmetic.sampled_factor(bound, beta), sum(cells) - rows + 1)
    _, beyond = reference.sampled_grid_posterior(cells, rows, k, beta, rho)
    assert beyond <= arithmetic.sampling_delta(bound, k, beta)


def test_publishing_the_dropped_count_breaks_the_promise() -> None:
    _, beyond = reference.sampled_grid_posterior((8, 40), 10, 3, Fraction(1, 4), Fraction(2, 21), publish_dropped=True)
    assert beyond > 10 * Fraction(1, 64)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_sensitivity_of_the_loss_is_k_for_replacing_a_row(k: int) -> None:
    replaced = removed = Fraction(0)
    for losses in itertools.product((Fraction(0), HALF, Fraction(1)), repeat=2):
        for first, second in itertools.product(range(1, k + 3), range(k + 3)):
            before = reference.drop_loss((first, second), losses, k)
            replaced = max(replaced, abs(before - reference.drop_loss((first - 1, second + 1), losses, k)))
            removed = max(removed, abs(before - reference.drop_loss((first - 1, second), losses, k)))
    assert replaced == grids.drop_loss_sensitivity(k) == k
    assert removed == max(1, k - 1)
