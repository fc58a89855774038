"""Exact verdicts beyond 64 bits and floats, and on no groups.

Products that do not fit in 64 bits, comparisons that floats cannot decide, and tables of which nothing is left.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.models import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PAlphaSensitive,
    PPlusAlphaSensitive,
    PSensitive,
    TCloseness,
)
from shoal.models.exact_comparison import align_with_verdict, log_is_below, powers_reach_one, ratio_within
from shoal.schema import Column, Role, Schema
from shoal.schema.bound_hierarchy import build_ladder
from shoal.table.groups import Groups, Histogram, histogram
from tests.builders.groups import VALUES, counted


def holds(model, *groups):
    return model.assess(counted(*groups)).holds.tolist()


def effective(model, *groups):
    return model.assess(counted(*groups)).effective


def table(counts, names=VALUES):
    values = [name for name, count in zip(names, counts, strict=False) for _ in range(count)]
    return pa.table({"q": ["x"] * len(values), "s": values})


def test_share_of_a_third_does_not_overflow():
    """An overflow must not give a wrong positive verdict."""
    answer = shoal.check(
        table([1999, 1]), ["alpha-k alpha=0.3333333333333333 k=5"], quasi_identifiers=["q"], sensitive=["s"]
    )
    assert not answer.holds
    assert answer.models[0].effective == {"alpha": 0.9995, "k": 2000}


def test_recursive_diversity_factor_does_not_overflow():
    """An overflow must not give a wrong positive verdict."""
    model = LDiversity(2, "recursive", 1.4142135623730951)
    wrong = [rows for rows in range(3, 30_000, 7) if holds(model, (3 * rows, rows)) != [False]]
    assert wrong == []
    assert holds(model, (1_414_213, 1_000_000)) == [True]
    assert holds(model, (1_414_214, 1_000_000)) == [False]


@pytest.mark.parametrize("power", [10, 31, 45, 53, 60])
def test_counts_of_any_size_are_compared_exactly(power):
    n = 2**power
    third = Fraction(1, 3)
    assert holds(AlphaK(third, 2), (n, n, n)) == [True]
    assert holds(AlphaK(third, 2), (n + 1, n, n)) == [False]
    assert holds(AlphaK(0.3333333333333333, 2), (n, n, n)) == [False]
    assert holds(LDiversity(2, "recursive", 2), (2 * n - 1, n)) == [True]
    assert holds(LDiversity(2, "recursive", 2), (2 * n, n)) == [False]
    assert holds(LDiversity(3, "entropy"), (n, n, n)) == [True]
    assert holds(LDiversity(3, "entropy"), (n + 1, n, n)) == [False]
    k = min(n + 1, 2**53 - 1)  # the largest that a plan takes
    assert holds(KAnonymity(k), (k,), (k - 1,)) == [True, False]
    assert holds(PAlphaSensitive(1, n + 1), (0, 0, 0, 0, 0, n + 1), (1, 0, 0, 0, 0, n)) == [True, False]
    assert holds(BetaLikeness(1), (2 * n, 0), (0, 2 * n)) == [True, True]
    assert holds(BetaLikeness(1), (2 * n, 0), (0, 2 * n + 1)) == [False, True]
    for distance in ("equal", "ordered", "hierarchical"):
        # all of one value against a half of each of two at the largest distance
        half = (n, 0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0, 0, n)
        assert holds(TCloseness(0.5, distance), *half) == [True, True]
        more = (n + 1, 0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0, 0, n)
        assert holds(TCloseness(0.5, distance), *more) == [True, False]


def test_weights_beyond_64_bits():
    assert holds(PAlphaSensitive(1, 2**62), (0, 0, 0, 0, 0, 2**62), (2**60, 0, 0, 0, 0, 1)) == [True, False]
    assert holds(PPlusAlphaSensitive(2, "1/3"), (2**60, 0, 1), (2**62, 0, 0)) == [True, False]


def test_ordered_sums_over_long_order_do_not_overflow():
    """Two values at the ends of an order of 40,000 positions.

    The sum runs over all positions between them.
    """
    order = tuple(str(position) for position in range(40_000))
    domain = Schema({"s": Column(Role.SENSITIVE, order=order)}).domain("s", ["0", "39999"])
    n = 2**26
    count = np.asarray([n, n + 2], np.int64)
    found = histogram(np.asarray([0, 1]), np.asarray([0, 1], np.int32), count, 2, domain)
    verdict = TCloseness(0.5, "ordered").assess(Groups(count, (found,)))
    assert verdict.holds.tolist() == [False, True]
    assert verdict.conditions[0].value.tolist() == pytest.approx([0.5, 0.5])


def test_hierarchical_sums_over_high_tree_do_not_overflow():
    """Two values below a tree of 3000 levels."""
    height = 3000
    levels = [[f"{value}{level}" for value in "ab"] for level in range(height)]
    domain = Schema({"s": Column(Role.SENSITIVE)}).domain("s", ["a0", "b0"])
    object.__setattr__(domain, "tree", build_ladder(levels, missing=False))
    n = 2**28
    count = np.asarray([n, n + 2], np.int64)
    found = histogram(np.asarray([0, 1]), np.asarray([0, 1], np.int32), count, 2, domain)
    assert TCloseness(0.5, "hierarchical").assess(Groups(count, (found,))).holds.tolist() == [False, True]


# -- logarithms ---------------------------------------------------------------------------------------

LN2 = "0.69314718055994530941723212145817656807550013436025525412068000949339362196969"


def test_logarithms_compared_beyond_float_precision():
    below, above = LN2, LN2[:-2] + "70"
    half = (1, 1), (1, 1), (2, 0), (0, 2)  # ln(1 / (1/2)) = ln 2
    assert holds(DeltaDisclosure(above, "ignored"), *half)[2:] == [True, True]
    assert holds(DeltaDisclosure(below, "ignored"), *half)[2:] == [False, False]
    assert holds(DeltaDisclosure(float(LN2), "ignored"), *half)[2:] == [float(LN2) > 0.693147180559945309] * 2


def test_delta_bounds_falling_and_rising_shares():
    """Shares of 1/4 and 3/4 in a table of halves.

    ln(3/2) = 0.405..., ln(1/2) = -0.693...
    """
    skewed = (1, 3), (3, 1)
    assert holds(DeltaDisclosure(LN2[:-2] + "70"), *skewed) == [True, True]
    assert holds(DeltaDisclosure(LN2), *skewed) == [False, False]


def test_tiny_delta_requires_equal_shares():
    assert holds(DeltaDisclosure(1e-300), (5, 5), (2**60, 2**60)) == [True, True]
    assert holds(DeltaDisclosure(1e-300), (2**60, 2**60 + 1), (2**60, 2**60 + 1), (2**60, 2**60)) == [False] * 3


def test_enhanced_likeness_at_exact_bound():
    """A share q of 1/2 may rise by -ln q = ln 2 = 0.693...

    That is to 0.8465735902799726547... of a group.
    """
    group = 10**17
    risen = 84657359027997265
    rest = (group - risen, risen)
    assert holds(BetaLikeness(9, "enhanced"), (risen, group - risen), rest)[0] is True
    assert holds(BetaLikeness(9, "enhanced"), (risen + 1, group - risen - 1), (rest[0] - 1, rest[1] + 1))[0] is False
    assert holds(BetaLikeness(1e-9, "enhanced"), (7,), (9,)) == [True, True]


def test_entropy_of_large_counts_is_exact():
    """Shares 1/2 and four of 1/8 have the entropy of four values.

    One row more or less decides.
    """
    n = 2**50
    assert holds(LDiversity(4, "entropy"), (4 * n, n, n, n, n)) == [True]
    assert holds(LDiversity(4, "entropy"), (4 * n + 1, n, n, n, n)) == [False]
    assert holds(LDiversity(4, "entropy"), (4 * n - 1, n, n, n, n)) == [True]


def test_powers_are_compared_with_one():
    assert powers_reach_one([(6, 10**30), (2, -(10**30)), (3, -(10**30))])
    assert not powers_reach_one([(6, 10**30), (2, -(10**30)), (3, -(10**30) - 1)])
    assert powers_reach_one([(12, 2), (18, 2), (6, -6)])
    assert not powers_reach_one([(12, 2), (18, 2), (6, -6), (10**60, 10**9), (10**60 + 1, -(10**9))])
    assert powers_reach_one([(12, 2), (18, 2), (6, -6), (10**60, -(10**9)), (10**60 + 1, 10**9)])
    assert powers_reach_one([])


def test_logarithms_refined_until_decided():
    ratio = Fraction(10**40 + 1, 10**40)
    # ln(1 + x) = x - x^2/2 + ..., x = 10^-40
    assert log_is_below(ratio, Fraction(1, 10**40))
    assert not log_is_below(ratio, Fraction(1, 10**40) - Fraction(1, 10**80))
    assert not log_is_below(Fraction(1), Fraction(0))
    assert log_is_below(1 / ratio, Fraction(0))


# -- figures ------------------------------------------------------------------------------------------


def test_products_below_and_above_64_bits():
    bounds = [Fraction(1, 3), Fraction("0.3333333333333333"), Fraction(10**300), Fraction(1, 10**300), Fraction(2**64)]
    counts = [0, 1, 2, 3, 1000, 3001, 2**31, 2**53 + 1, 2**62]
    left, right = (side.ravel() for side in np.meshgrid(np.asarray(counts), np.asarray(counts)))
    for bound in bounds:
        expected = [int(a) <= bound * int(b) for a, b in zip(left, right, strict=True)]
        assert ratio_within(left, right, bound).tolist() == expected
        strictly = [int(a) < bound * int(b) for a, b in zip(left, right, strict=True)]
        assert ratio_within(left, right, bound, strict=True).tolist() == strictly


@pytest.mark.parametrize("at_least", [True, False])
@pytest.mark.parametrize("strict", [True, False])
def test_figures_agree_with_verdicts_at_the_bound(at_least, strict):
    near = np.asarray([1.0, np.nextafter(1, 0), np.nextafter(1, 2), 0.5, 2.0])
    for verdict in (True, False):
        aligned = align_with_verdict(near, 1.0, np.full(5, verdict), at_least=at_least, strict=strict)
        beyond = aligned > 1.0 if at_least else aligned < 1.0
        read = beyond if strict else beyond | (aligned == 1.0)
        assert read.tolist() == [verdict] * 5
        assert 0.5 in aligned or 2.0 in aligned


def test_figures_do_not_contradict_verdicts():
    nothing = 8 * (0,) + (5,)
    for model, groups in [
        (AlphaK(0.3333333333333333, 2), [(7, 7, 7)]),
        (AlphaK(1, 2), [nothing, (3,)]),
        (TCloseness(1), [nothing, (3,)]),
        (KAnonymity(2**53 - 1), [(2**53 - 2,)]),
        (LDiversity(2, "recursive", "0.333333333333333333"), [(1, 1, 1, 1)]),
        (PAlphaSensitive(1, "1000000000000000001/3"), [(0, 0, 10**18)]),
        (DeltaDisclosure(LN2, "ignored"), [(1, 0), (0, 1)]),
        (BetaLikeness("0.99999999999999999999"), [(1, 0), (0, 1)]),
    ]:
        found = model.assess(counted(*groups))
        assert not found.holds.all()
        first = found.conditions[-1 if isinstance(model, PAlphaSensitive) else 0]
        figure, bound = found.effective[first.parameter], first.bound
        strict = isinstance(model, DeltaDisclosure) or model.parameters.get("kind") == "recursive"
        assert figure < bound if first.at_least else (figure >= bound if strict else figure > bound), model


def test_infinite_figures_in_a_check():
    """Report infinite figures as "inf"; the check goes on."""
    table = pa.table({"q": ["x", "x", "y", "y"], "s": ["a", "b", "a", None]})
    for model, key in [("delta-disclosure delta=1", "delta"), ("l-diversity l=3 kind=recursive c=2", "c")]:
        answer = shoal.check(table, [model], quasi_identifiers=["q"], sensitive=["s"])
        assert answer.models[0].effective == {key: math.inf}
        assert json.loads(json.dumps(answer.to_dict(), allow_nan=False))["models"][0]["effective"] == {key: "inf"}
    silent = pa.table({"q": ["x", "x", "y"], "s": [None, None, "a"]})
    for model in ("beta-likeness beta=1", "t-closeness t=1", "alpha-k alpha=1 k=2"):
        answer = shoal.check(silent, [model], quasi_identifiers=["q"], sensitive=["s"])
        assert not answer.holds
        assert math.inf in answer.models[0].effective.values()


EVERY = [
    KAnonymity(2), PSensitive(2), PAlphaSensitive(2, 1), PPlusAlphaSensitive(2, 1), LDiversity(2),
    LDiversity(2, "entropy"), LDiversity(2, "recursive", 2), TCloseness(0.2), TCloseness(0.2, "ordered"),
    TCloseness(0.2, "hierarchical"), AlphaK(0.5, 2), DeltaDisclosure(1), DeltaDisclosure(1, "ignored"),
    BetaLikeness(1), BetaLikeness(1, "enhanced"),
]  # fmt: skip


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_models_on_no_groups(model):
    whole = counted((3, 2, 1), (1, 1, 1)).histograms[0]
    none = np.zeros(0, np.int64)
    empty = Histogram(whole.domain, np.zeros(1, np.int64), none.astype(np.int32), none, none, 0 * whole.total)
    found = model.assess(Groups(none, (empty,)))
    assert found.holds.shape == (0,)
    for condition in found.conditions:
        assert found.effective[condition.parameter] == (math.inf if condition.at_least else 0)
    nothing = counted(8 * (0,) + (4,))
    assert model.assess(nothing).holds.tolist() == [isinstance(model, KAnonymity)]


def test_ordered_closeness_with_all_groups_suppressed():
    """Raise InfeasibleError, not an internal error."""
    table = pa.table({"q": ["x"] * 4 + ["y"] * 4, "s": [1, 1, 1, 1, 2, 2, 2, 2]})
    plan = {
        "columns": {"q": {"role": "quasi-identifier"}, "s": {"role": "sensitive"}},
        "models": [{"name": "t-closeness", "t": 0.1, "distance": "ordered"}, {"name": "k-anonymity", "k": 5}],
        "method": {"name": "levels", "levels": {"q": 0}, "suppression": 1.0},
    }
    with pytest.raises(shoal.errors.InfeasibleError):
        shoal.anonymize(table, plan)


def test_finite_figures_are_numbers_in_json():
    table = pa.table({"a": list("xxyy"), "s": list("uvuu")})
    answer = shoal.check(
        table, ["alpha-k alpha=0.75 k=2", "delta-disclosure delta=1.5"], quasi_identifiers=["a"], sensitive=["s"]
    )
    first, second = answer.to_dict()["models"]
    assert (first["parameters"], first["effective"]) == ({"alpha": 0.75, "k": 2}, {"alpha": 1, "k": 2})
    assert (second["parameters"]["delta"], second["effective"]) == (1.5, {"delta": "inf"})
