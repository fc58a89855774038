"""Enumeration of mechanisms on small universes, against the definitions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from shoal.papers import small_universes as found
from shoal.papers.small_universes import Universe
from tests.reference import identifiability as reference


def random_mechanism(universe, seed, outputs=3):
    dice = random.Random(seed)
    rows = []
    for _ in universe.databases:
        first = dice.randint(0, 6)
        second = dice.randint(0, 6 - first)
        rows.append((first, second, 6 - first - second)[:outputs])
    return tuple(rows)


def as_reference(universe, mechanism):
    """Return a mechanism in the form of the slow definitions."""
    index = {database: number for number, database in enumerate(universe.databases)}
    return lambda database: {
        output: Fraction(weight, sum(mechanism[0]))
        for output, weight in enumerate(mechanism[index[database]])
        if weight
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("universe", [Universe(3, 1), Universe(4, 2), Universe(5, 3)], ids=str)
def test_posteriors_are_those_of_the_definition(universe, seed):
    people = range(universe.individuals)
    first, second = random_mechanism(universe, seed), random_mechanism(universe, seed + 100)
    one, two = as_reference(universe, first), as_reference(universe, second)
    assert found.worst_posterior(universe, first) == reference.worst_posterior(people, universe.rows, one)
    slow = reference.worst_uninformed_posterior(people, universe.rows, one)
    assert found.worst_posterior(universe, first, 0) == slow
    slow = reference.worst_posterior(people, universe.rows, reference.both(one, two))
    assert found.worst_posterior(universe, found.both(first, second)) == slow
    for chance in (Fraction(1, 4), Fraction(2, 3)):
        slow = reference.worst_posterior(people, universe.rows, reference.mixture(chance, one, two))
        assert found.worst_posterior(universe, found.mixture(first, second, chance)) == slow


def test_post_processing_adds_up_outcomes():
    mechanism = ((3, 1, 2), (0, 6, 0))
    assert found.post_process(mechanism, [(1, 0), (1, 0), (0, 1)]) == ((4, 2), (6, 0))


@pytest.mark.parametrize(("size", "bell"), [(2, 2), (3, 5), (4, 15), (5, 52)])
def test_all_mechanisms_without_chance(size, bell):
    mechanisms = set(found.deterministic_mechanisms(Universe(size, 1)))
    assert len(mechanisms) == bell
    assert all(sum(row) == 1 for mechanism in mechanisms for row in mechanism)


def test_all_mechanisms_of_two_outputs():
    assert len(set(found.two_output_mechanisms(Universe(3, 1), 4))) == 125


def test_pairwise_bound():
    universe = Universe(3, 1)
    assert found.pairwise_bound(universe, ((1, 3), (2, 2), (3, 1))) == 3
    assert found.pairwise_bound(universe, ((0, 4), (2, 2), (3, 1))) is None
    assert found.pairwise_bound(universe, ((0, 4), (0, 4), (0, 4))) == 1


def test_correlation_of_outputs():
    universe = Universe(2, 1)
    assert not found.has_negative_correlation(universe, ((1, 1), (1, 1)), ((0, 2), (2, 0)))
    assert found.has_negative_correlation(universe, ((1, 3), (3, 1)), ((3, 1), (1, 3)))


def test_mean_of_posteriors():
    universe = Universe(2, 1)
    equal, other = ((1, 3), (3, 1)), ((3, 1), (1, 3))
    assert found.posterior_is_mean(universe, equal, equal, Fraction(1, 4))
    assert found.posterior_is_mean(universe, equal, other, Fraction(1, 4))  # both outputs equally likely in each
    assert not found.posterior_is_mean(universe, ((4, 0), (2, 2)), other, Fraction(1, 4))
