"""Risk figures against reference implementations and published values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import PlanError
from shoal.risk.individual import individual_risk
from shoal.risk.reidentification import reidentification
from shoal.risk.special_uniques import minimal_sample_uniques, special_uniques
from shoal.risk.uniqueness import (
    dis_score,
    fit_pitman,
    fit_snb,
    pitman,
    population_uniques,
    shlosser,
    slide_negative_binomial,
    zayatz,
)
from tests.reference import risk as slow

# Table 4.1 and 4.5 of the SDC practice guide of the International Household Survey Network
GUIDE = [
    ("Urban", "Female", "Secondary incomplete", "Employed", 180, 0.0054, 0),
    ("Urban", "Female", "Secondary incomplete", "Employed", 180, 0.0054, 0),
    ("Urban", "Female", "Primary incomplete", "Non-LF", 215, 0.0251, 6),
    ("Urban", "Male", "Secondary complete", "Employed", 76, 0.0126, 0),
    ("Rural", "Female", "Secondary complete", "Unemployed", 186, 0.0282, 12),
    ("Urban", "Male", "Secondary complete", "Employed", 76, 0.0126, 0),
    ("Urban", "Female", "Primary complete", "Non-LF", 180, 0.0290, 6),
    ("Urban", "Male", "Post-secondary", "Unemployed", 215, 0.0251, 10),
    ("Urban", "Female", "Secondary incomplete", "Non-LF", 186, 0.0074, 0),
    ("Urban", "Female", "Secondary incomplete", "Non-LF", 76, 0.0074, 0),
]


def coded(rows):
    columns = [np.unique([row[j] for row in rows], return_inverse=True)[1] for j in range(len(rows[0]))]
    codes = np.stack(columns, axis=1).astype(np.int32)
    distinct, inverse, count = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    return distinct, count, inverse.reshape(-1)


# -- prosecutor, journalist, marketer -----------------------------------------------------------------


def test_intruders_of_twelve_patients_by_hand():
    """Prosecutor and marketer for the paper's tables.

    Table 1: everyone unique. Table 2: groups 2, 2, 4, 2, 2. Tables 5 to 7: groups of 4.
    """
    original = reidentification(np.ones(12, np.int64))
    assert (original.prosecutor.highest, original.prosecutor.average, original.prosecutor.at_risk) == (1, 1, 1)
    second = reidentification(np.array([2, 2, 4, 2, 2]), threshold=0.25)
    assert second.prosecutor.highest == 1 / 2
    assert second.prosecutor.average == pytest.approx(5 / 12)
    assert second.prosecutor.at_risk == pytest.approx(8 / 12)  # rows in groups of 2: above 1/4; 1/4 itself is not
    fifth = reidentification(np.array([4, 4, 4]))
    assert fifth.prosecutor.highest == fifth.prosecutor.average == fifth.marketer == 1 / 4
    assert fifth.expected == 3  # one right link in each group
    assert fifth.journalist is None


def test_journalist_and_marketer_by_hand():
    """Two groups of 2 and 4 rows that match 10 and 5 people."""
    risk = reidentification(np.array([2, 4]), np.array([10.0, 5.0]), threshold=0.15)
    assert risk.journalist.highest == 1 / 5
    assert risk.journalist.at_risk == pytest.approx(4 / 6)
    assert risk.journalist.average == pytest.approx(max(2 / 15, (2 / 10 + 4 / 5) / 6))
    assert risk.marketer == pytest.approx((2 / 10 + 4 / 5) / 6)
    assert risk.expected == pytest.approx(1.0)


def test_a_group_of_five_is_not_above_a_fifth():
    assert reidentification(np.array([5, 5]), threshold=0.2).prosecutor.at_risk == 0
    assert reidentification(np.array([5, 4]), threshold=0.2).prosecutor.at_risk == pytest.approx(4 / 9)


def test_population_smaller_than_the_sample_is_refused():
    with pytest.raises(PlanError, match="1 of 2 groups match fewer"):
        reidentification(np.array([2, 3]), np.array([2.0, 1.0]))


# -- individual risk ----------------------------------------------------------------------------------


def test_individual_risk_of_the_practice_guide():
    distinct, count, inverse = coded([row[:4] for row in GUIDE])
    weights = np.bincount(inverse, weights=[row[4] for row in GUIDE])
    risk = individual_risk(count, weights)
    assert np.round(risk[inverse], 4).tolist() == [row[5] for row in GUIDE]
    assert round(float(risk[inverse].mean()), 5) == 0.01582  # its global risk
    assert len(distinct) == 7


@given(st.integers(1, 60), st.floats(1.0, 300.0))
def test_individual_risk_is_the_expectation(f, factor):
    people = f * factor
    mine = float(individual_risk(np.array([f]), np.array([people]))[0])
    assert mine == pytest.approx(slow.individual_risk(f, people), rel=1e-7)
    assert people**-1 * (1 - 1e-12) <= mine <= 1 / f + 1e-15


@pytest.mark.parametrize("p", [0.3, 0.49, 0.51, 0.9])
def test_individual_risk_closed_forms(p):
    q = 1 - p
    one, two = individual_risk(np.array([1, 2]), np.array([1 / p, 2 / p]))
    assert one == pytest.approx(p / q * -math.log(p))
    assert two == pytest.approx(p / q**2 * (p * math.log(p) + q))


# -- uniqueness ---------------------------------------------------------------------------------------

sizes_of_groups = st.lists(st.integers(1, 8), min_size=2, max_size=40)


@given(sizes_of_groups, st.integers(2, 6))
def test_zayatz_is_exact(sizes, factor):
    people = sum(sizes) * factor
    mine = zayatz(np.array(sizes), 1 / factor)
    assert mine == pytest.approx(float(slow.zayatz([*sizes], people)) if 1 in sizes else 0.0, rel=1e-9)


@pytest.mark.parametrize(
    ("alpha", "beta", "fraction"), [(0.3, 0.05, 0.2), (1.0, 0.2, 0.5), (2.5, 0.6, 0.3), (0.05, 0.9, 0.05)]
)
def test_snb_recovers_parameters_from_expectations(alpha, beta, fraction):
    one, two = slow.snb_expectations(1000, fraction, alpha, beta)
    roots = fit_snb(one, two, 1000, fraction)
    assert any(a == pytest.approx(alpha, rel=1e-6) and b == pytest.approx(beta, rel=1e-6) for a, b in roots)
    for a, b in roots:
        assert slow.snb_expectations(1000, fraction, a, b) == (
            pytest.approx(one, rel=1e-6),
            pytest.approx(two, rel=1e-6),
        )


def test_snb_is_the_largest_root_or_none():
    sizes = np.array([1] * 50 + [2] * 20 + [5] * 10)
    groups = shlosser(sizes, 0.2)
    roots = fit_snb(50, 20, groups, 0.2)
    assert slide_negative_binomial(sizes, 0.2) == max(groups * b**a for a, b in roots)
    assert slide_negative_binomial(sizes, 0.01) is None
    assert slide_negative_binomial(np.array([1, 1, 3]), 0.5) is None  # no pair


@given(
    sizes_of_groups.filter(lambda sizes: 1 in sizes), st.sampled_from([Fraction(1, 10), Fraction(1, 4), Fraction(1, 2)])
)
def test_shlosser_equals_the_reference(sizes, fraction):
    assert shlosser(np.array(sizes), float(fraction)) == pytest.approx(float(slow.shlosser(sizes, fraction)), rel=1e-9)


def test_shlosser_of_the_whole_population():
    assert shlosser(np.array([1, 1, 2, 5]), 1.0) == 4


@given(st.lists(st.integers(1, 6), min_size=3, max_size=25).filter(lambda s: 1 in s and max(s) > 1))
def test_pitman_maximizes_the_likelihood(sizes):
    theta, alpha = fit_pitman(np.array(sizes))
    best = slow.pitman_log_likelihood(sizes, theta, alpha)
    for t in np.geomspace(0.01, 1000, 25):
        for a in np.linspace(0, 0.98, 25):
            assert slow.pitman_log_likelihood(sizes, t, a) <= best + 1e-6


@given(st.lists(st.integers(1, 6), min_size=3, max_size=25).filter(lambda s: 1 in s and max(s) > 1), st.integers(1, 9))
def test_pitman_expectation_is_exact(sizes, factor):
    theta, alpha = fit_pitman(np.array(sizes))
    people = sum(sizes) * factor
    expected = slow.pitman_expected_uniques(people, theta, alpha)
    assert pitman(np.array(sizes), 1 / factor) == pytest.approx(expected, rel=1e-6)


def test_dis_score_numerator_and_denominator_unbiased():
    """π c_1 and the denominator have the expectations they should.

    Expectations are over all Bernoulli samples of a population.
    """
    population, fraction = [1, 1, 2, 3, 4], 0.3
    ones = sum(size * fraction * (1 - fraction) ** (size - 1) for size in population)
    twos = sum(math.comb(size, 2) * fraction**2 * (1 - fraction) ** (size - 2) for size in population if size > 1)
    people = sum(size * size * fraction * (1 - fraction) ** (size - 1) for size in population)
    assert fraction * ones + 2 * (1 - fraction) * twos == pytest.approx(fraction * people)
    assert dis_score(np.array([1, 1, 2]), 0.5) == pytest.approx(0.5 * 2 / (0.5 * 2 + 2 * 0.5 * 1))


def test_dankar_chooses_by_the_rule():
    sizes = np.array([1] * 50 + [2] * 20 + [5] * 10)
    low, high = population_uniques(sizes, 0.1), population_uniques(sizes, 0.5)
    assert (low.chosen, low.dankar) == ("pitman", low.pitman)
    assert high.dankar == min(high.zayatz, high.snb)
    assert population_uniques(np.array([2, 2]), 0.5).dankar == 0
    with pytest.raises(PlanError, match="sampling fraction"):
        population_uniques(sizes, 0.0)


def test_estimators_near_a_known_population():
    """No estimator is off by more than a third.

    The population has 8,000 uniques and is sampled at a fifth and a half.
    """
    random = np.random.default_rng(1)
    population = 1 + random.negative_binomial(0.3, 0.05, 20_000)
    truth = int((population == 1).sum())
    person = np.repeat(np.arange(len(population)), population)
    for fraction in (0.2, 0.5):
        drawn = random.choice(len(person), round(len(person) * fraction), replace=False)
        sizes = np.bincount(person[drawn])
        answer = population_uniques(sizes[sizes > 0], fraction)
        assert abs(answer.dankar / truth - 1) < 0.34


# -- special uniques ----------------------------------------------------------------------------------


def test_suda_scores_of_the_practice_guide():
    distinct, count, inverse = coded([row[:4] for row in GUIDE])
    found = special_uniques(distinct, count, largest=3)
    assert found.score[inverse].tolist() == [row[6] for row in GUIDE]
    assert found.sets.tolist() == [4, 5, 0]


tables = st.integers(1, 5).flatmap(lambda q: st.lists(st.tuples(*[st.integers(0, 3)] * q), min_size=1, max_size=25))


@given(tables, st.data())
def test_suda_finds_every_minimal_set(rows, data):
    q = len(rows[0])
    largest = data.draw(st.integers(1, q))
    distinct, count, inverse = coded(rows)
    sets = [[] for _ in distinct]
    for columns, owners in minimal_sample_uniques(distinct, count, largest):
        for owner in owners:
            sets[owner].append(columns)
    expected = slow.minimal_uniques(rows, largest)
    assert [sorted(sets[index]) for index in inverse] == [sorted(found) for found in expected]
    found = special_uniques(distinct, count, largest=largest)
    assert found.score[inverse].tolist() == slow.suda_scores(rows, largest)
    assert found.contribution.tolist() == pytest.approx(slow.suda_contribution(rows, largest))
    assert [int(found.smallest[index]) for index in inverse] == [
        min((len(columns) for columns in sets), default=0) for sets in expected
    ]


@pytest.mark.parametrize(("columns", "largest"), [(1, 1), (2, 1), (7, 6), (9, 6), (12, 5), (20, 3), (63, 1)])
def test_suda_default_size_of_sets(columns, largest):
    """The default bounds the number of sets to search."""
    assert special_uniques(np.zeros((1, columns), np.int32), np.array([2])).largest == largest


def test_suda_refuses_a_size_beyond_the_columns():
    with pytest.raises(PlanError, match="from 1 to 2"):
        special_uniques(np.zeros((1, 2), np.int32), np.ones(1, np.int64), largest=3)
