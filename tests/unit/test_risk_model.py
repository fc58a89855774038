"""Risk thresholds: exact comparison, the order of leaving out, refusals."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import PlanError
from shoal.models import KAnonymity, LooselyKnown, Risk, combine
from shoal.table.groups import Groups
from shoal.verification.independent import DEFINITIONS, Counts, judge
from tests.builders.errors import has_code


def groups(*sizes):
    return Groups(np.asarray(sizes, np.int64))


def effective(model, *sizes):
    return model.assess(groups(*sizes)).effective


def test_figures_of_the_prosecutor():
    """Groups of 1, 2, 3, 6 and 8 rows."""
    sizes = (1, 2, 3, 6, 8)
    model = Risk(highest=1, average=1, at_risk={"above": "0.2", "share": 1})
    assert effective(model, *sizes) == {"highest": 1, "average": 0.25, "at_risk": 0.3}
    assert model.assess(groups(*sizes)).holds.all()


@pytest.mark.parametrize(
    ("highest", "least"), [("1/11", 11), ("0.09", 12), (0.33, 4), ("0.0909", 12), ("0.0999", 11), (1, 1), ("1/3", 3)]
)
def test_highest_risk_is_a_group_size_as_written(highest, least):
    model = Risk(highest=highest)
    assert (model.least, model.sizes_only, model.closed_under_superset) == (least, True, True)
    assert model.assess(groups(least)).holds.all()
    if least > 1:
        assert not model.assess(groups(least - 1)).holds.any()


def test_eleven_is_enough_for_one_in_eleven_and_not_for_nine_percent():
    assert Risk(highest="1/11").assess(groups(11, 11)).holds.all()
    assert not Risk(highest="0.09").assess(groups(11, 11)).holds.any()


def test_thresholds_include_their_bound():
    assert Risk(average="1/4").assess(groups(3, 5)).holds.all()
    assert not Risk(average="0.2499").assess(groups(3, 5)).holds.all()
    assert Risk(at_risk={"above": "1/5", "share": 0}).assess(groups(5, 5)).holds.all()  # 1/5 is not above 1/5
    assert not Risk(at_risk={"above": "1/5", "share": 0}).assess(groups(4, 5)).holds.all()
    assert Risk(at_risk={"above": "1/5", "share": "4/9"}).assess(groups(4, 5)).holds.all()


def table_holds(model, sizes):
    rows = sum(sizes) or 1
    average = Fraction(len(sizes), rows)
    above, share = (Fraction(str(model.at_risk[key])) for key in ("above", "share")) if model.at_risk else (1, 1)
    risky = Fraction(sum(size for size in sizes if Fraction(1, size) > above), rows)
    return average <= Fraction(str(model.average or 1)) and risky <= share


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=7),
    st.sampled_from(["1/2", "1/3", "0.3", "1/5"]),
    st.sampled_from([None, {"above": "1/3", "share": "0.25"}, {"above": 0, "share": "1/2"}]),
)
def test_smallest_groups_first_is_as_good_as_any_choice(sizes, average, at_risk):
    """The rest meets the model; for an average, the fewest rows are left out."""
    model = Risk(average=average, at_risk=at_risk)
    holds = model.assess(groups(*sizes)).holds
    rest = [size for size, stays in zip(sizes, holds, strict=True) if stays]
    assert table_holds(model, rest)
    assert holds.all() == table_holds(model, sizes)
    if at_risk is None:
        fewest = min(
            sum(left_out)
            for number in range(len(sizes) + 1)
            for left_out in itertools.combinations(sizes, number)
            if table_holds(model, list((Counter(sizes) - Counter(left_out)).elements()))
        )
        assert sum(sizes) - sum(rest) == fewest


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
    st.sampled_from([None, "1/2", "0.09"]),
    st.sampled_from([None, "0.25"]),
    st.sampled_from([None, {"above": "0.2", "share": "0.3"}]),
)
def test_model_and_definition_agree(sizes, highest, average, at_risk):
    if highest is average is at_risk is None:
        return
    model = Risk(highest=highest, average=average, at_risk=at_risk)
    assessed = model.assess(groups(*sizes))
    counts = Counts(sum(sizes), len(sizes), Counter(sizes), {})
    (found,) = judge(counts, (), (model,)).evaluations
    assert found.holds == assessed.holds.all()
    assert found.effective == pytest.approx(assessed.effective)
    assert [figure.parameter for figure in DEFINITIONS["risk"].figures(model)] == list(assessed.effective)


def test_model_must_have_a_threshold():
    with pytest.raises(PlanError, check=has_code("models.risk-without-threshold")):
        Risk()
    with pytest.raises(PlanError, check=has_code("models.risk-share-keys")):
        Risk(at_risk={"above": "0.2"})


TABLE = pa.table({"age": [*range(16, 40)], "who": [f"p{i // 2}" for i in range(24)]})
COLUMNS = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4, 8]}}, "who": "identifier"}


def plan_of(models, method="full-domain", **columns):
    return {"columns": COLUMNS | columns, "models": models, "method": method}


@pytest.mark.parametrize("method", ["full-domain", "mondrian", "top-down", "refine", "auto", {"name": "mdav", "k": 2}])
def test_methods_meet_an_average(method):
    release = shoal.anonymize(TABLE, plan_of([{"name": "risk", "average": "1/3"}], method))
    (found,) = release.certificate["models"]
    assert found["effective"]["average"] <= 1 / 3
    assert found["judged_by"] == "the model and the independent verification"
    assert release.certificate["risk"]["highest"] >= found["effective"]["average"]


def test_full_domain_leaves_out_the_smallest_groups():
    table = pa.table({"place": ["a"] * 6 + ["b"] * 3 + ["c"]})
    plan = {
        "columns": {"place": "quasi-identifier"},
        "models": [{"name": "risk", "average": "1/4"}],
        "method": {"name": "full-domain", "suppression": 0.2},
    }
    release = shoal.anonymize(table, plan)
    assert Counter(release.table["place"].to_pylist()) == {"a": 6, "b": 3}


def test_averages_count_people_where_a_person_is_declared():
    """Twelve people with two rows each: a group of four rows has two people."""
    by_rows = shoal.anonymize(TABLE, plan_of([{"name": "risk", "average": "1/4"}]))
    by_people = shoal.anonymize(TABLE, plan_of([{"name": "risk", "average": "1/4"}], who="person"))
    assert by_rows.to_dict()["smallest_group"] == 4
    assert by_people.to_dict()["people"]["smallest_group"] == 4
    assert by_people.to_dict()["models"][0]["effective"]["average"] == 0.25


def test_combinations_that_have_no_meaning_are_refused():
    for wrong in (
        lambda: LooselyKnown(Risk(highest="1/2"), 1),
        lambda: shoal.Plan.from_dict(
            {**plan_of([{"name": "risk", "average": 0.5}]), "keys": [{"columns": ["age"], "reading": "loose"}]}
        ),
    ):
        with pytest.raises(PlanError, check=has_code("models.known-not-possible")):
            wrong()
    scenario = {"name": "register", "columns": ["age"], "k": 2, "models": [{"name": "risk", "average": 0.5}]}
    with pytest.raises(PlanError, check=has_code("models.table-of-some-columns")):
        shoal.Plan.from_dict({**plan_of(["k-anonymity k=2"]), "scenarios": [scenario]})
    linked = ["trajectory-anonymity k=2", {"name": "risk", "average": 0.5}]
    with pytest.raises(PlanError, check=has_code("models.table-with-linked-rows")):
        shoal.Plan.from_dict(plan_of(linked, who="person"))
    loose = {"name": "local-suppression", "missing": "loose"}
    with pytest.raises(PlanError, check=has_code("method.not-for-table-models")):
        shoal.Plan.from_dict(plan_of([{"name": "risk", "average": 0.5}], loose))


def test_risk_in_a_text_and_with_other_models():
    assert combine(shoal.Plan.from_dict(plan_of("risk highest=1/11")).models).parts == (Risk(highest="1/11"),)
    assert combine((KAnonymity(3), Risk(average="1/5"))).of_table
    assert shoal.check(TABLE, "risk average=1", quasi_identifiers="age").holds
