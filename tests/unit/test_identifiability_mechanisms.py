"""Coins, noise and selection.

Checks exact probabilities, and fits at a fixed seed.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.budget import errors
from shoal.budget.arithmetic import _Tails as Tails
from shoal.budget.mechanisms import (
    Noise,
    Span,
    best_of,
    calibrate,
    draw_noise,
    half_width,
    noisy_count,
    noisy_histogram,
    noisy_mean,
    noisy_sum,
)
from shoal.budget.sampling import (
    SystemSource,
    bernoulli,
    bernoulli_exponential,
    check_sampling_design,
    sample_counts,
    sample_mask,
)
from tests.reference.identifiability import SeededSource, chi_square_passes, explore

DRAWS = 40_000


def noise_probability(noise: Noise, value: int) -> float:
    ratio = float(noise.ratio) if noise.ratio is not None else math.exp(-float(noise.rate or 0))
    return (1 - ratio) / (1 + ratio) * ratio ** abs(value)


# ---- all random choices followed
# ------------------------------------------------------------------------------


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(5, 8), Fraction(0), Fraction(1)])
def test_bernoulli_is_exact(chance: Fraction) -> None:
    outcomes, left = explore(lambda source: bernoulli(chance, source), Fraction(1, 100))
    assert left == 0
    assert outcomes.get(True, 0) == chance


@pytest.mark.parametrize("exponent", [Fraction(1, 2), Fraction(1), Fraction(5, 3)])
def test_exponential_coin_is_exact(exponent: Fraction) -> None:
    outcomes, left = explore(lambda source: bernoulli_exponential(exponent, source), Fraction(1, 10**5))
    assert left < Fraction(1, 50)
    assert float(outcomes[True]) <= math.exp(-exponent) <= float(outcomes[True] + left)


def test_mask_of_one_row_is_exact() -> None:
    outcomes, left = explore(lambda source: bool(sample_mask(1, "1/3", source)[0]), Fraction(1, 256**2))
    assert left <= Fraction(1, 256**2)
    assert outcomes[True] <= Fraction(1, 3) <= outcomes[True] + left
    outcomes, left = explore(lambda source: bool(sample_mask(1, "3/4", source)[0]), Fraction(1, 256**2))
    assert left == 0
    assert outcomes[True] == Fraction(3, 4)


@pytest.mark.parametrize("noise", [Noise(Fraction(1, 3), None), Noise(None, Fraction(2)), Noise(None, Fraction(3, 2))])
def test_noise_is_exact(noise: Noise) -> None:
    outcomes, left = explore(lambda source: draw_noise(noise, source), Fraction(1, 20_000))
    assert left < Fraction(1, 3)
    for value in range(-2, 3):
        found = float(outcomes[value])
        assert found <= noise_probability(noise, value) <= found + float(left)
    assert outcomes[1] == outcomes[-1]


def test_selection_is_exact() -> None:
    # q = 1/2 and distances 0, 1, 2: the six orders of permute-and-flip by hand
    outcomes, left = explore(lambda source: best_of([5, 4, 3], 1, 4, source), Fraction(1, 10**4))
    assert left == 0
    coin = [Fraction(1), Fraction(1, 2), Fraction(1, 4)]
    first = sum(
        (1 - coin[1] * before_1) * (1 - coin[2] * before_2) * share
        for before_1, before_2, share in [
            (0, 0, Fraction(2, 6)),
            (1, 0, Fraction(1, 6)),
            (0, 1, Fraction(1, 6)),
            (1, 1, Fraction(2, 6)),
        ]
    )
    assert outcomes[0] == first
    assert sum(outcomes.values()) == 1


# ---- fits at a fixed seed
# -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "sensitivity", "seed"), [("9/4", 1, 1), (4, 2, 2), (3, 2, 3), ("111/11", 5, 4), ("3/2", 3, 5)]
)
def test_noise_fits_its_distribution(bound: str, sensitivity: int, seed: int) -> None:
    noise, source = calibrate(bound, sensitivity), SeededSource(seed)
    widest = half_width(noise, "0.99")
    counts = Counter(max(-widest, min(widest, draw_noise(noise, source))) for _ in range(DRAWS))
    expected = [noise_probability(noise, value) for value in range(-widest, widest + 1)]
    expected[0] = expected[-1] = (1 - sum(expected[1:-1])) / 2
    assert chi_square_passes([counts[value] for value in range(-widest, widest + 1)], expected)


def test_a_wrong_distribution_is_noticed() -> None:
    noise, source = calibrate("9/4", 1), SeededSource(1)
    counts = Counter(max(-3, min(3, draw_noise(noise, source))) for _ in range(DRAWS))
    other = Noise(Fraction(1, 2), None)
    expected = [noise_probability(other, value) for value in range(-3, 4)]
    expected[0] = expected[-1] = (1 - sum(expected[1:-1])) / 2
    assert not chi_square_passes([counts[value] for value in range(-3, 4)], expected)


@pytest.mark.parametrize(("beta", "seed"), [("1/2", 1), ("1/3", 2), ("0.6321", 3), ("1/1000", 4), ("999/1000", 5)])
def test_mask_fits_its_rate(beta: str, seed: int) -> None:
    mask = sample_mask(1_000_000, beta, SeededSource(seed))
    sampled, rate = int(mask.sum()), float(Fraction(beta))
    assert chi_square_passes([sampled, len(mask) - sampled], [rate, 1 - rate])
    pairs = Counter((2 * mask[::2] + mask[1::2]).tolist())
    expected = [(1 - rate) ** 2, rate * (1 - rate), rate * (1 - rate), rate**2]
    assert chi_square_passes([pairs[i] for i in range(4)], expected)


def test_counts_match_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.budget.sampling._ROWS_PER_CHUNK", 64)
    sizes = np.array([0, 3, 0, 200, 1, 64, 0, 17, 0])
    sampled = sample_counts(sizes, "1/3", SeededSource(1))
    mask = sample_mask(int(sizes.sum()), "1/3", SeededSource(1))
    assert sampled.tolist() == np.bincount(np.repeat(np.arange(len(sizes)), sizes)[mask], minlength=9).tolist()


@given(sizes=st.lists(st.integers(0, 40), max_size=12), seed=st.integers(0, 5))
def test_counts_match_the_mask_for_any_sizes(sizes: list[int], seed: int) -> None:
    sampled = sample_counts(np.array(sizes, dtype=np.int64), "1/2", SeededSource(seed))
    mask = sample_mask(sum(sizes), "1/2", SeededSource(seed))
    cells = np.repeat(np.arange(len(sizes)), sizes)
    assert sampled.tolist() == np.bincount(cells[mask], minlength=len(sizes)).tolist()


def test_selection_fits_its_distribution() -> None:
    source = SeededSource(7)
    counts = Counter(best_of([3, 3, 2], 1, 3, source) for _ in range(DRAWS // 2))
    coin = math.exp(-math.log(3) / 2)
    # the third is taken only if it is visited first and its coin says yes
    third = coin / 3
    assert chi_square_passes([counts[i] for i in range(3)], [(1 - third) / 2, (1 - third) / 2, third])


def test_the_shipped_source_is_the_system() -> None:
    source = SystemSource()
    assert len({source.randbytes(16) for _ in range(100)}) == 100
    assert {source.below(3) for _ in range(200)} == {0, 1, 2}


# ---- answers
# --------------------------------------------------------------------------------------------------


def test_noise_is_geometric_for_a_rational_root() -> None:
    assert calibrate("9/4", 1) == Noise(Fraction(4, 9), None)
    assert calibrate("9/4", 2) == Noise(Fraction(2, 3), None)
    assert calibrate(2, 2).ratio is None
    assert calibrate("1.0000001", 1).ratio is None  # a geometric variable would take ten million tosses
    assert isinstance(noisy_count(5, "1.0000001", SeededSource(1)), int)
    rate = calibrate(2, 2).rate
    assert rate is not None
    assert 0.999999 * math.log(2) / 2 < rate <= math.log(2) / 2


@pytest.mark.parametrize(("bound", "sensitivity"), [("9/4", 1), (4, 2), (3, 7), ("11/10", 3)])
def test_half_width_is_smallest(bound: str, sensitivity: int) -> None:
    noise = calibrate(bound, sensitivity)
    width = half_width(noise)

    def inside(w: int) -> float:
        return sum(noise_probability(noise, value) for value in range(-w, w + 1))

    assert inside(width) >= 0.95 - 1e-9
    assert width == 0 or inside(width - 1) < 0.95


def test_answers_stay_near_at_a_large_bound() -> None:
    source = SeededSource(3)
    assert noisy_count(10, 10**12, source) == 10
    assert noisy_histogram([1, 2, 3], 10**24, source) == (1, 2, 3)
    span = Span.of(0, 2, "1/2")
    assert noisy_sum(span.total([0.5, 1, 7]), span, 10**60, source, filtered=True) == Fraction(7, 2)
    assert noisy_mean(span.total([0.5, 1, 7]), 3, span, 10**60, source) == Fraction(7, 6)
    assert noisy_mean(span.total([0.5]), 1, span, 10**60, source) == Fraction(1, 2)
    below = Span.of(-7, 7)
    assert noisy_sum(below.total([-7, -7, 2]), below, 10**60, source, filtered=True) == -12


def test_span() -> None:
    span = Span.of(-10, 30, "0.1")
    assert span.units == (-100, 300)
    assert span.sensitivity(filtered=False) == 400
    assert Span.of(10, 30).sensitivity(filtered=False) == 20
    assert Span.of(10, 30).sensitivity(filtered=True) == 30
    assert Span.of(-30, -10).sensitivity(filtered=True) == 30
    assert span.total([1.06, -1000, 1e308, float("nan"), float("inf")]) == 11 - 100 + 300 + 0 + 300
    assert Span.of(5, 9).total([float("nan")]) == 5
    assert Span.of(0, 2**53).total([2.0**53] * 3000) == 3000 * 2**53


@given(
    values=st.lists(st.floats(allow_nan=True), min_size=1, max_size=20),
    other=st.floats(allow_nan=True),
    index=st.integers(0, 19),
)
def test_replaced_value_changes_a_sum_within_the_sensitivity(values: list[float], other: float, index: int) -> None:
    span = Span.of(-3, 8, "1/4")
    changed = list(values)
    changed[index % len(values)] = other
    assert abs(span.total(values) - span.total(changed)) <= span.sensitivity(filtered=False)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Span.of(3, 3), errors.ParameterError, "below `upper`"),
        (lambda: Span.of(0, 1, "2/3"), errors.ParameterError, "multiples of `step`"),
        (lambda: Span.of(0, 2**60), errors.ParameterError, "2\\^53"),
        (lambda: calibrate(1, 1), errors.ParameterError, "E must be above 1"),
        (lambda: calibrate(2, 0), errors.ParameterError, "sensitivity"),
        (lambda: best_of([], 1, 2, SystemSource()), errors.ParameterError, "at least one"),
        (lambda: best_of([0.5], 1, 2, SystemSource()), errors.ParameterError, "whole"),  # type: ignore[list-item]
        (lambda: half_width(calibrate(2, 1), 1), errors.ParameterError, "confidence"),
        (lambda: sample_mask(3, 1, SystemSource()), errors.SamplingRateError, "below 1"),
        (lambda: sample_mask(3, 100, SystemSource()), errors.SamplingRateError, "fraction such as"),
        (lambda: check_sampling_design("fixed-size"), errors.FixedSizeSamplingError, "Give `beta`"),
    ],
)
def test_bad_parameters(call, error, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words):
        call()


# ---- every answer has the noise of its own sensitivity
# -------------------------------------------------------


def fits(answers: list[int], noise: Noise) -> bool:
    """Return whether answers could be draws of a noise."""
    widest = half_width(noise, "0.99")
    counts = Counter(max(-widest, min(widest, answer)) for answer in answers)
    expected = [noise_probability(noise, value) for value in range(-widest, widest + 1)]
    expected[0] = expected[-1] = (1 - sum(expected[1:-1])) / 2
    return chi_square_passes([counts[value] for value in range(-widest, widest + 1)], expected)


@pytest.mark.parametrize(
    ("answer", "sensitivity"),
    [
        (lambda source: noisy_count(7, 4, source) - 7, 1),
        (lambda source: noisy_histogram([7], 4, source)[0] - 7, 2),
        (lambda source: noisy_histogram([0, 5], 4, source)[1] - 5, 2),
        (lambda source: int(noisy_sum(6, Span.of(0, 3), 4, source, filtered=False)) - 6, 3),
        (lambda source: int(noisy_sum(6, Span.of(2, 5), 4, source, filtered=False)) - 6, 3),
        (lambda source: int(noisy_sum(6, Span.of(2, 5), 4, source, filtered=True)) - 6, 5),
        (lambda source: int(noisy_sum(6, Span.of(-2, 1), 4, source, filtered=True)) - 6, 3),
    ],
)
def test_answers_have_the_noise_of_their_sensitivity(answer, sensitivity) -> None:  # type: ignore[no-untyped-def]
    """A replaced row changes an answer by so much; less noise is too little."""
    source = SeededSource(11)
    answers = [answer(source) for _ in range(DRAWS // 4)]
    assert fits(answers, calibrate(4, sensitivity))
    assert not fits(answers, calibrate(4, sensitivity + 1))
    assert sensitivity == 1 or not fits(answers, calibrate(4, sensitivity - 1))


@pytest.mark.parametrize("bound", ["11/10", "3/2", 2, 10])
@pytest.mark.parametrize("part", ["1/100", "1/2", "99/100", 1])
def test_tails_decay_no_faster_than_they_do(bound: str, part: str) -> None:
    """The search for δ ends where no later tail is larger: Chernoff's bound."""
    beta = Fraction(part) * (1 - 1 / Fraction(bound))
    tails = Tails.of(bound, beta)
    gamma, rate = float(tails.gamma), float(beta)
    exponent = gamma * math.log(gamma / rate) + (1 - gamma) * math.log((1 - gamma) / (1 - rate))
    assert 0 < float(tails.decay) <= exponent * (1 + 1e-9)
