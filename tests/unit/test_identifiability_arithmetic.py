"""Exact vectors: ρ and E, composition, δ and k of sampled releases."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.budget import arithmetic, errors
from shoal.errors import InputError
from tests.reference import identifiability as reference

shares = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)
bounds = st.fractions(min_value=Fraction(1001, 1000), max_value=1000, max_denominator=1000)
sizes = st.integers(min_value=2, max_value=10**6)


@pytest.mark.parametrize(
    ("rho", "m", "bound"),
    [("1/5", 10, "9/4"), ("1/10", 100, "11"), ("1/100", 1000, "111/11"), ("1/5", 1000, "999/4")],
)
def test_bound_of_rho(rho: str, m: int, bound: str) -> None:
    assert arithmetic.bound_from_rho(rho, m) == Fraction(bound)
    assert arithmetic.rho_from_bound(bound, m) == Fraction(rho)


@given(bound=bounds, m=sizes)
def test_rho_and_bound_are_inverse(bound: Fraction, m: int) -> None:
    rho = arithmetic.rho_from_bound(bound, m)
    assert rho > Fraction(1, m)
    assert arithmetic.bound_from_rho(rho, m) == bound
    assert arithmetic.compose(Fraction(1, m), bound) == rho


def test_large_rho_among_a_million_candidates_is_weak() -> None:
    assert round(arithmetic.epsilon(arithmetic.bound_from_rho(0.1, 10**6)), 1) == 11.6


@pytest.mark.parametrize(
    ("rho", "m", "rho_of_query", "composed", "paper"),
    [
        ("1/20", 10**4, "1/2500", "3333/19160", "1/5"),
        ("1/20", 10**4, "19/40015", "1/5", "1900/8003"),
        ("1/10", 100, "1/50", "11/60", "1/5"),
        ("1/10", 100, "3/100", "33/130", "3/10"),
        ("1/3", 9, "1/5", "1/2", "3/5"),
    ],
)
def test_composition(rho: str, m: int, rho_of_query: str, composed: str, paper: str) -> None:
    bound = arithmetic.bound_from_rho(rho_of_query, m)
    assert arithmetic.compose(rho, bound) == Fraction(composed)
    assert arithmetic.compose_as_in_paper(rho, rho_of_query, m) == Fraction(paper)


def test_certainty_stays_certain() -> None:
    assert arithmetic.compose(1, 4) == 1


def test_three_queries() -> None:
    bound = arithmetic.bound_from_rho("1/200", 1000)
    assert arithmetic.compose("1/1000", bound**3) == Fraction(998001, 8878600)


@given(first=shares, second=shares, m=sizes)
def test_the_paper_is_never_below_the_repaired_composition(first: Fraction, second: Fraction, m: int) -> None:
    if first * m >= 1 and second * m > 1:
        repaired = arithmetic.compose(first, arithmetic.bound_from_rho(second, m))
        assert repaired <= arithmetic.compose_as_in_paper(first, second, m)
        assert repaired >= max(first, second)


@pytest.mark.parametrize(
    ("bound", "k", "beta", "delta"),
    [
        (2, 5, "1/2", "7/64"),
        (2, 10, "1/2", "189/4096"),
        (3, 5, "1/4", "19/4096"),
        (4, 5, "3/4", "243/1024"),
        (3, 3, "1/4", "1/64"),
    ],
)
def test_delta(bound: int, k: int, beta: str, delta: str) -> None:
    assert arithmetic.sampling_delta(bound, k, beta) == Fraction(delta)


@pytest.mark.parametrize(
    ("bound", "beta", "delta", "k"),
    [
        (2, "1/2", "1e-5", 53),
        (2, "1/2", "1e-6", 66),
        (2, "1/2", "1e-7", 80),
        (3, "2/3", "1e-5", 62),
        (3, "2/3", "1e-6", 77),
        (3, "2/3", "1e-8", 108),
        (2, "1/4", "1e-6", 23),
        (3, "1/4", "1e-6", 17),
        (4, "1/2", "1e-6", 32),
    ],
)
def test_smallest_crowd(bound: int, beta: str, delta: str, k: int) -> None:
    assert arithmetic.smallest_crowd(bound, delta, beta) == k
    assert arithmetic.smallest_crowd(bound, arithmetic.sampling_delta(bound, k, beta), beta) == k  # just reached


@pytest.mark.parametrize(
    ("epsilon", "delta", "k_of_arx"),
    [
        (2.0, "1e-5", 114),
        (1.5, "1e-6", 100),
        (1.0, "1e-6", 75),
        (1.0, "1e-5", 62),
        (0.5, "1e-6", 64),
        (0.1, "1e-6", 61),
        (3.0, "1e-6", 272),
    ],
)
def test_arx_is_one_above_the_exact_crowd(epsilon: float, delta: str, k_of_arx: int) -> None:
    bound = Fraction(math.exp(epsilon)).limit_denominator(10**7)
    assert arithmetic.smallest_crowd(bound, delta, 1 - 1 / bound) == k_of_arx - 1


@pytest.mark.parametrize("bound", [Fraction(3, 2), Fraction(2), Fraction(7, 2)])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 8])
@pytest.mark.parametrize("part", [Fraction(1, 3), Fraction(1)])
def test_delta_matches_its_definition(bound: Fraction, k: int, part: Fraction) -> None:
    beta = part * (1 - 1 / bound)
    assert arithmetic.sampling_delta(bound, k, beta) == max(
        reference.delta(bound, k, beta, last=80), reference.delta(bound, k, beta, last=100)
    )


def test_delta_with_the_third_threshold_as_the_worst() -> None:
    beta = Fraction(1, 2)
    delta = arithmetic.sampling_delta(4, 6, beta)
    assert delta == Fraction(5, 256) == reference.delta(Fraction(4), 6, beta, last=100)


@pytest.mark.parametrize("bound", [Fraction(101, 100), Fraction(6, 5), Fraction(2), Fraction(5), Fraction(12)])
@pytest.mark.parametrize("delta", [Fraction(1, 20), Fraction(1, 10**4)])
def test_smallest_crowd_is_smallest(bound: Fraction, delta: Fraction) -> None:
    beta = 1 - 1 / bound
    k = arithmetic.smallest_crowd(bound, delta, beta)
    assert arithmetic.sampling_delta(bound, k, beta) <= delta
    assert k == 1 or arithmetic.sampling_delta(bound, k - 1, beta) > delta


@given(bound=bounds, m=sizes, part=shares)
def test_the_bound_of_a_sampled_release_promises_rho(bound: Fraction, m: int, part: Fraction) -> None:
    beta = part * (1 - 1 / bound)
    rho = 1 / (1 + (m - 1) * (1 - beta) / bound)
    assert arithmetic.rho_from_bound(arithmetic.sampled_factor(bound, beta), m) == rho
    assert arithmetic.sampled_bound_from_rho(rho, m, beta) == bound


@given(bound=st.fractions(min_value=Fraction(10**6 + 1, 10**6), max_value=10**9))
def test_log_lower_bound(bound: Fraction) -> None:
    if bound > 1:
        lower = arithmetic.log_lower_bound(bound)
        exact = math.log1p(float(bound - 1))
        assert 0 < float(lower) <= exact * (1 + 1e-15)
        assert float(lower) == pytest.approx(exact, rel=1e-11)


def test_log_lower_bound_is_below_for_certain() -> None:
    # e is between these sums of 1/i!, so the logarithm of the smaller is below 1 and must stay so.
    below = sum(Fraction(1, math.factorial(i)) for i in range(60))
    assert Fraction(1) - Fraction(1, 2**40) < arithmetic.log_lower_bound(below) < 1


@given(value=bounds, degree=st.integers(min_value=1, max_value=7))
def test_roots(value: Fraction, degree: int) -> None:
    assert arithmetic.exact_root(value**degree, degree) == value


def test_no_root_of_a_high_degree() -> None:
    assert arithmetic.exact_root(Fraction(3), 10**6) is None
    assert arithmetic.exact_root(Fraction(1), 10**6) == 1
    assert arithmetic.exact_root(Fraction(1, 3), 2) is None


@given(numerator=st.integers(1, 10**6), power=st.integers(0, 3000))
def test_rounding_is_to_the_safe_side(numerator: int, power: int) -> None:
    value = Fraction(numerator, 7**power)
    rounded = arithmetic.round_up(value)
    smallest = Fraction(1, 2**4096)  # smaller values become this, which takes fewer digits to write
    assert value <= rounded <= max(value * (1 + Fraction(1, 2**200)), value + smallest)
    assert len(str(rounded)) < 2 * 4300
    if math.log10(numerator) - power * math.log10(7) > -300:
        assert value * (1 - Fraction(1, 10**5)) < arithmetic.round_down(value) <= value


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: arithmetic.bound_from_rho("1/100", 100), errors.RhoTooSmallError, "above 1/m = 1/100"),
        (lambda: arithmetic.bound_from_rho(1, 100), errors.ParameterError, "below 1"),
        (lambda: arithmetic.bound_from_rho("nan", 100), errors.ParameterError, "finite"),
        (lambda: arithmetic.bound_from_rho(float("inf"), 100), errors.ParameterError, "finite"),
        (lambda: arithmetic.bound_from_rho(True, 100), errors.ParameterError, "finite"),
        (lambda: arithmetic.bound_from_rho("1/2", 1), errors.ParameterError, "`m` must be at least 2"),
        (lambda: arithmetic.bound_from_rho("1/2", 2.5), errors.ParameterError, "whole number"),  # type: ignore[arg-type]
        (lambda: arithmetic.check_crowd("1/4", 5), errors.RhoAboveCrowdError, "`k` of at most 4"),
        (lambda: arithmetic.check_sampling_rate("0.51", 2), errors.SamplingRateError, "1/2"),
        (lambda: arithmetic.check_sampling_rate(0, 2), errors.SamplingRateError, "above 0"),
        (lambda: arithmetic.sampled_bound_from_rho("1/50", 100, "0.9"), errors.SamplingRateError, "fewer rows"),
        (lambda: arithmetic.rho_from_bound(1, 10), errors.ParameterError, "above 1"),
        (lambda: arithmetic.smallest_crowd(2, 0, "1/2"), errors.ParameterError, "delta"),
        (lambda: arithmetic.sampling_delta("1.0000001", 5, "1e-8"), errors.ParameterError, "fewer digits"),
        (lambda: arithmetic.compose(2, 2), errors.ParameterError, "between 0 and 1"),
    ],
)
def test_bad_parameters(call, error, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words) as caught:
        call()
    assert isinstance(caught.value, InputError)


def test_float_is_read_as_its_printed_decimal() -> None:
    assert arithmetic.check_crowd(0.1, 10) == Fraction(1, 10)
    assert arithmetic.check_crowd(0.2, 5) == Fraction(1, 5)


def test_logarithm_in_units_is_never_too_large() -> None:
    """Not even by a part of its last unit."""
    tangent = Fraction(2**15 - 1, 2**80)  # of 0.99997 units
    assert arithmetic._log_units((1 + tangent) / (1 - tangent), 64) == 0
    tangent = Fraction(2**15, 2**80)
    assert arithmetic._log_units((1 + tangent) / (1 - tangent), 64) == 1


@pytest.mark.parametrize("value", [Fraction(1, 3**2000), Fraction(7**900, 3**800), 1 + Fraction(1, 3**3000)], ids="abc")
def test_round_up_is_short_and_close(value: Fraction) -> None:
    rounded = arithmetic.round_up(value)
    assert value < rounded < value * (1 + Fraction(1, 2**250))
    assert max(rounded.numerator.bit_length(), rounded.denominator.bit_length()) <= 4 * 1024


def test_fractions_up_to_63_bits_are_printed_exactly() -> None:
    assert arithmetic.format_fraction(Fraction(1, 2**63 - 1)) == f"1/{2**63 - 1} (1.0842e-19)"
    assert arithmetic.format_fraction(Fraction(2**63 - 1, 2)) == f"{2**63 - 1}/2 (4.61169e+18)"
    assert arithmetic.format_fraction(Fraction(2**63 + 1, 2)) == "4.61169e+18"
    assert arithmetic.format_fraction(Fraction(1, 2**63)) == "1.0842e-19"
