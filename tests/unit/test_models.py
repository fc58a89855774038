"""Every model against its slow reference, on random tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import PlanError
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
    combine,
)
from shoal.schema import Categories, Column, Role, Schema, Tree
from shoal.table.groups import Groups, histogram
from tests.reference import models as slow

VALUES = ["a", "b", "c", "d", "e", "f"]
CLASSES = (("a", "b"), ("c",), ("d", "e"), ("f",))
TREE = {"x": ["a", "b"], "y": ["c", "d"], "z": ["e", "f"]}
PATHS = {value: (value, parent, "*") for parent, values in TREE.items() for value in values}

sensitive_value = st.one_of(st.none(), st.sampled_from(VALUES))
tables = st.lists(st.lists(sensitive_value, min_size=1, max_size=9), min_size=1, max_size=6).filter(
    lambda table: any(value is not None for group in table for value in group)
)


def groups_of(table, *columns, order=None):
    """Return groups as the encoding makes them, from lists of values.

    Further columns are further tables.
    """
    histograms = []
    for number, rows in enumerate((table, *columns)):
        present = sorted({value for group in rows for value in group if value is not None})
        schema = Schema(
            {
                f"s{number}": Column(
                    Role.SENSITIVE, hierarchy=Tree(TREE), categories=Categories(CLASSES), order=order or tuple(VALUES)
                )
            }
        )
        domain = schema.domain(f"s{number}", present)
        flat = [(g, -1 if v is None else present.index(v)) for g, group in enumerate(rows) for v in group]
        histograms.append(
            histogram(
                np.array([g for g, _ in flat], np.int64),
                np.array([v for _, v in flat], np.int32),
                np.ones(len(flat), np.int64),
                len(rows),
                domain,
            )
        )
    return Groups(np.array([len(group) for group in table], np.int64), tuple(histograms))


def verdicts(model, table, *columns):
    return model.assess(groups_of(table, *columns)).holds.tolist()


@given(tables, st.integers(2, 12))
def test_k_anonymity(table, k):
    model = KAnonymity(k)
    assert verdicts(model, table) == [slow.k_anonymous(group, k) for group in table]
    assert model.assess(groups_of(table)).effective == {"k": min(map(len, table))}


@given(tables, st.integers(1, 5))
def test_p_sensitive(table, p):
    assert verdicts(PSensitive(p), table) == [slow.p_sensitive(group, p) for group in table]


@given(tables, st.integers(1, 4), st.sampled_from([0, 0.1, 1 / 3, "1/3", 1, 1.5, 2, "7/3", 4.2]))
def test_p_alpha_and_p_plus_alpha(table, p, alpha):
    expected = [slow.p_alpha(group, p, alpha, CLASSES) for group in table]
    assert verdicts(PAlphaSensitive(p, alpha), table) == expected
    expected = [slow.p_plus_alpha(group, p, alpha, CLASSES) for group in table]
    assert verdicts(PPlusAlphaSensitive(p, alpha), table) == expected
    reached = PAlphaSensitive(p, alpha).assess(groups_of(table)).effective["alpha"]
    assert reached == pytest.approx(float(min(slow.total_weight(group, CLASSES) for group in table)))


def test_weights_are_compared_exactly():
    # 1/3 + 2/3 + 1 = 2; in floating point a sum of thirds may fall short
    assert verdicts(PAlphaSensitive(3, 2), [["c", "d", "f"]]) == [True]
    thirds = [["c"] * 3000]
    assert verdicts(PAlphaSensitive(1, 1000), thirds) == [True]
    assert verdicts(PAlphaSensitive(1, "3001/3"), thirds) == [False]


@given(tables, st.integers(1, 5))
def test_distinct_l_diversity(table, ell):
    assert verdicts(LDiversity(ell), table) == [slow.distinct_diverse(group, ell) for group in table]


@given(tables, st.sampled_from([1, 1.5, 2, 2.5, 3, 4, "8/3"]))
def test_entropy_l_diversity(table, ell):
    expected = [slow.entropy_diverse(group, ell) for group in table]
    assert verdicts(LDiversity(ell, "entropy"), table) == expected


def test_entropy_is_exact_beyond_floats():
    for ell in range(2, 7):
        uniform = [VALUES[:ell] * 7]
        assert verdicts(LDiversity(ell, "entropy"), uniform) == [True]
        assert LDiversity(ell, "entropy").assess(groups_of(uniform)).effective == {"l": ell}


@given(tables, st.integers(1, 4), st.sampled_from([0.5, 1, 1.5, 2, 3]))
def test_recursive_l_diversity(table, ell, c):
    expected = [slow.recursive_diverse(group, c, ell) for group in table]
    assert verdicts(LDiversity(ell, "recursive", c), table) == expected


@given(tables, st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 0.75, 1]), st.integers(2, 5))
def test_alpha_k(table, alpha, k):
    assert verdicts(AlphaK(alpha, k), table) == [slow.alpha_k(group, alpha, k) for group in table]


@settings(max_examples=60)
@given(
    tables, st.sampled_from([0, 0.1, 0.2, 0.25, "1/3", 0.5, 1]), st.sampled_from(["equal", "ordered", "hierarchical"])
)
def test_t_closeness(table, t, distance):
    costs = {
        "equal": slow.equal_cost,
        "ordered": slow.ordered_cost(VALUES),
        "hierarchical": slow.tree_cost(PATHS),
    }
    groups = groups_of(table)
    expected = [slow.t_distance(group, table, costs[distance]) for group in table]
    verdict = TCloseness(t, distance).assess(groups)
    assert verdict.conditions[0].value.tolist() == pytest.approx([float(value) for value in expected])
    assert verdict.holds.tolist() == [value <= slow.Fraction(str(t)) for value in expected]


@given(tables, st.sampled_from([0.3, 0.7, 1.1, 2]), st.sampled_from(["fails", "ignored"]))
def test_delta_disclosure(table, delta, absent):
    expected = [slow.delta_disclosed(group, table, delta, absent == "ignored") for group in table]
    assert verdicts(DeltaDisclosure(delta, absent), table) == expected


@given(tables, st.sampled_from([0.2, 0.5, 1, 1.5, 3]), st.sampled_from(["basic", "enhanced"]))
def test_beta_likeness(table, beta, kind):
    expected = [slow.beta_like(group, table, beta, kind == "enhanced") for group in table]
    assert verdicts(BetaLikeness(beta, kind), table) == expected


@given(tables, st.data())
def test_all_sensitive_columns_must_meet_the_model(table, data):
    other = [[data.draw(sensitive_value) for _ in group] for group in table]
    if not any(value is not None for group in other for value in group):
        return
    both = [a and b for a, b in zip(verdicts(PSensitive(2), table), verdicts(PSensitive(2), other), strict=True)]
    assert verdicts(PSensitive(2), table, other) == both
    assert verdicts(PSensitive(2, column="s1"), table, other) == verdicts(PSensitive(2), other)


def test_missing_values_never_help():
    gaps = [["a", None, None, None]]
    assert verdicts(PSensitive(2), gaps) == [False]
    assert verdicts(AlphaK(0.5, 2), gaps) == [False]
    assert verdicts(LDiversity(2, "entropy"), gaps) == [False]
    nothing = [[None, None], ["a", "b"]]
    for model in (
        PSensitive(1),
        PAlphaSensitive(1, 0),
        LDiversity(1, "entropy"),
        LDiversity(1),
        LDiversity(1, "recursive", 100),
        *(TCloseness(1, distance) for distance in ("equal", "ordered", "hierarchical")),
        AlphaK(1, 2),
        DeltaDisclosure(5),
        BetaLikeness(5),
    ):
        assert verdicts(model, nothing)[0] is False, model


CLOSED_UNDER_SUPERSET = [
    KAnonymity(3),
    PSensitive(2),
    PAlphaSensitive(2, 1),
    PPlusAlphaSensitive(2, 1.5),
    LDiversity(2),
]
OTHERS = [
    LDiversity(1.8, "entropy"),
    LDiversity(2, "recursive", 1.5),
    TCloseness(0.3),
    TCloseness(0.3, "ordered"),
    TCloseness(0.3, "hierarchical"),
    AlphaK(0.6, 2),
    DeltaDisclosure(1.2, "ignored"),
    DeltaDisclosure(1.2),
    BetaLikeness(1),
    BetaLikeness(1, "enhanced"),
]


@settings(max_examples=150)
@given(tables.filter(lambda table: len(table) > 1))
def test_declared_monotonicity(table):
    """Merge two groups and compare the verdict with the declaration.

    The union of two good groups is good if a model is closed under union; for models that are closed under superset, so
    is the union of a good group with any other.
    """
    merged = [table[0] + table[1], *table[2:]]
    for model in (*CLOSED_UNDER_SUPERSET, *OTHERS):
        one, other, *_ = verdicts(model, table)
        union = verdicts(model, merged)[0]
        if model.closed_under_union and one and other:
            assert union, model
        if model.closed_under_superset and (one or other):
            assert union, model
    assert [model.closed_under_superset for model in CLOSED_UNDER_SUPERSET] == [True] * len(CLOSED_UNDER_SUPERSET)
    assert [model.closed_under_superset for model in OTHERS] == [False] * len(OTHERS)
    assert [model for model in OTHERS if not model.closed_under_union] == [DeltaDisclosure(1.2, "ignored")]


def test_combination():
    model = KAnonymity(2) & PSensitive(2) & LDiversity(2)
    assert [part.name for part in model.parts] == ["k-anonymity", "p-sensitive", "l-diversity"]
    assert model.closed_under_superset
    assert not (model & TCloseness(0.2)).closed_under_superset
    assert model.assess(groups_of([["a", "b"], ["a", "a"], ["a"]])).holds.tolist() == [True, False, False]


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(1),
        lambda: KAnonymity(2.5),
        lambda: KAnonymity(True),
        lambda: PSensitive(0),
        lambda: PAlphaSensitive(2, -1),
        lambda: PAlphaSensitive(2, float("nan")),
        lambda: LDiversity(2, "recursive"),
        lambda: LDiversity(2, "distinct", 3),
        lambda: LDiversity(0),
        lambda: LDiversity(2, "other"),
        lambda: TCloseness(1.5),
        lambda: TCloseness(0.5, "far"),
        lambda: AlphaK(0, 5),
        lambda: AlphaK(0.5, 1),
        lambda: DeltaDisclosure(0),
        lambda: BetaLikeness(-1),
        lambda: combine([]),
        lambda: combine([KAnonymity(2), PSensitive(3)]),
    ],
)
def test_impossible_parameters(make):
    with pytest.raises(PlanError):
        make()


def test_models_require_their_column_properties():
    schema = Schema({"s": Column(Role.SENSITIVE), "n": Column(Role.SENSITIVE)})
    domains = (schema.domain("s", ["a", "b"]), schema.domain("n", ["1", "2", "10"]))
    TCloseness(0.2, "ordered", column="n").check(domains)
    for model in (
        PAlphaSensitive(2, 1),
        TCloseness(0.2, "ordered"),
        TCloseness(0.2, "hierarchical"),
        PSensitive(2, column="other"),
    ):
        with pytest.raises(PlanError):
            model.check(domains)
    with pytest.raises(PlanError):
        PSensitive(2).check(())
    weighted = Schema({"s": Column(Role.SENSITIVE, categories=Categories(CLASSES))})
    with pytest.raises(PlanError):
        PPlusAlphaSensitive(5, 1).check((weighted.domain("s", ["a"]),))


def test_delta_disclosure_ignoring_absent_not_closed_under_union():
    model = DeltaDisclosure(1, "ignored")
    assert verdicts(model, [["a"] * 20, ["a", "b"], ["b"] * 20]) == [True, True, True]
    assert verdicts(model, [["a"] * 20 + ["a", "b"], ["b"] * 20]) == [False, True]
