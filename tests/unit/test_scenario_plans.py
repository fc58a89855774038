"""Scenarios in a plan: their demands, and refusals before any work."""

from __future__ import annotations

import pytest

import shoal
from shoal.models import InScenario, KAnonymity, KnowsColumns, LooselyKnown, PSensitive, Scenario
from shoal.models.scenarios import Knowledge, bind_scenarios
from shoal.plan.review import digest_of_promise
from tests.reference import scenarios as slow

COLUMNS = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
    "sex": "quasi-identifier",
    "job": "quasi-identifier",
    "disease": "sensitive",
    "income": {"role": "sensitive", "known_to_others": False},
}
REGISTER = {"name": "register", "columns": ["age", "sex"], "k": 10}


def document(*scenarios, **sections):
    return {"columns": COLUMNS, "scenarios": list(scenarios), **sections}


def scenario_parts(plan):
    return [part for part in plan.model.parts if isinstance(part, InScenario)]


def error_of(content):
    with pytest.raises(shoal.errors.PlanError) as caught:
        shoal.Plan.from_dict(content)
    return caught.value.code


def test_a_plan_is_written_as_it_is_read():
    content = document(
        {**REGISTER, "plus": 1, "models": [{"name": "p-sensitive", "p": 2}]},
        {"name": "any two", "columns": [], "plus": 2, "k": 3, "reading": "loose"},
        together=False,
        method="full-domain",
    )
    plan = shoal.Plan.from_dict(content)
    assert shoal.Plan.from_toml(plan.to_toml()) == plan
    assert plan.to_dict()["scenarios"] == content["scenarios"]
    assert plan.to_dict()["together"] is False


def test_a_scenario_only_adds():
    plan = shoal.Plan.from_dict(document(REGISTER, models="k-anonymity k=5"))
    assert plan.model.parts[0] == KAnonymity(5)
    assert scenario_parts(plan) == [InScenario(KAnonymity(10), Knowledge("register", ("age", "sex")))]


def test_models_bind_every_scenario_instead_of_all_columns():
    models = ["k-anonymity k=5", "p-sensitive p=2"]
    plan = shoal.Plan.from_dict(document(REGISTER, {"name": "work", "columns": ["job"]}, models=models, together=False))
    assert [(part.knowledge.scenario, part.of) for part in plan.model.parts] == [
        ("register", KAnonymity(10)),
        ("register", PSensitive(2)),
        ("work", KAnonymity(5)),
        ("work", PSensitive(2)),
    ]


def test_plus_ranges_over_all_columns_that_others_may_know():
    (part,) = scenario_parts(shoal.Plan.from_dict(document({**REGISTER, "plus": 1}, models="k-anonymity k=2")))
    assert list(part.sets()) == [("age", "sex", "job"), ("age", "sex", "disease")]


def test_models_of_a_known_column_do_not_apply():
    section = {**REGISTER, "plus": 1, "models": [{"name": "p-sensitive", "p": 2, "column": "disease"}]}
    plan = shoal.Plan.from_dict(document(section, models="k-anonymity k=2"))
    assert [list(part.sets()) for part in scenario_parts(plan)] == [
        [("age", "sex", "job"), ("age", "sex", "disease")],
        [("age", "sex", "job")],
    ]


@pytest.mark.parametrize("plus", range(4))
@pytest.mark.parametrize("columns", [(), ("a",), ("a", "b", "c")])
def test_sets_are_all_subsets(columns, plus):
    further = ("d", "e", "f")
    knowledge = Knowledge("any", columns, further, plus)
    every = list(knowledge.sets())
    assert len(every) == len(set(every)) == knowledge.number_of_sets
    assert {frozenset(known) for known in every} == {frozenset(k) for k in slow.sets_of(columns, further, plus)}
    assert [len(known) for known in every] == sorted(map(len, every))
    widest = list(knowledge.widest())
    assert len(widest) == knowledge.number_of_widest
    assert {frozenset(known) for known in widest} == {
        frozenset(known) for known in every if len(known) == len(columns) + plus
    }


def test_the_loose_reading_is_that_of_key_sets():
    quasi, loose = ("age", "sex", "job"), {"k": 3, "reading": "loose"}
    key = Scenario("key", ("age", "sex"), **loose)
    assert key.bind((KAnonymity(3),), quasi, ()) == (KnowsColumns(KAnonymity(3), ("age", "sex")),)
    two = Scenario("few", (), 2, **loose)
    assert two.bind((KAnonymity(3),), quasi, ()) == (LooselyKnown(KAnonymity(3), 2),)
    plus = Scenario("plus", ("age",), 1, **loose)
    assert [part.columns for part in plus.bind((KAnonymity(3),), quasi, ("disease",))] == [
        ("age", "sex"),
        ("age", "job"),
    ]


@pytest.mark.parametrize(
    ("sections", "code"),
    [
        ({"scenarios": [{"name": "none", "k": 2}]}, "scenarios.no-columns"),
        ({"scenarios": [{**REGISTER, "columns": ["age", "age"]}]}, "scenarios.column-twice"),
        ({"scenarios": [{**REGISTER, "columns": ["disease"]}]}, "scenarios.column-not-quasi-identifier"),
        ({"scenarios": [{**REGISTER, "columns": ["height"]}]}, "scenarios.column-not-quasi-identifier"),
        ({"scenarios": [REGISTER, REGISTER]}, "scenarios.name-twice"),
        ({"scenarios": [{"name": "register", "columns": ["age"]}]}, "scenarios.no-k"),
        ({"scenarios": [REGISTER], "together": False}, "scenarios.column-not-covered"),
        ({"scenarios": [], "together": False}, "scenarios.together-without-scenario"),
        ({"scenarios": [REGISTER], "keys": [{"columns": ["age"]}]}, "scenarios.with-key-sets"),
        (
            {"scenarios": [{**REGISTER, "models": [{"name": "p-sensitive", "p": 2, "known": 1}]}]},
            "scenarios.model-not-possible",
        ),
        ({"scenarios": [REGISTER], "method": {"name": "mdav", "k": 5}}, "method.not-for-scenarios"),
    ],
)
def test_what_cannot_be_meant_is_refused(sections, code):
    assert error_of({"columns": COLUMNS, "models": "k-anonymity k=5", **sections}) == code


def test_only_sensitive_columns_are_unknown_to_others():
    columns = {**COLUMNS, "sex": {"role": "quasi-identifier", "known_to_others": False}}
    assert error_of({"columns": columns, "models": "k-anonymity k=5"}) == "columns.not-usable"


def test_the_number_of_sets_is_limited():
    quasi = tuple(f"q{number}" for number in range(20))
    shares = shoal.models.DeltaDisclosure(1, "ignored")  # not closed under union: all subsets count
    assert bind_scenarios((), (Scenario("wide", quasi, 0, 5),), quasi, (), jointly=True)
    with pytest.raises(shoal.errors.PlanError) as caught:
        bind_scenarios((), (Scenario("wide", quasi, 0, 5, (shares,)),), quasi, (), jointly=True)
    assert caught.value.code == "scenarios.too-many-sets"


def test_a_method_serves_what_its_groups_imply():
    method = {"name": "mdav", "k": 10}
    sections = {"models": "k-anonymity k=10", "method": method}
    assert shoal.Plan.from_dict(document(REGISTER, **sections)).scenarios
    assert error_of(document({**REGISTER, "k": 11}, **sections)) == "method.not-for-scenarios"
    assert error_of(document({**REGISTER, "plus": 1}, **sections)) == "method.not-for-scenarios"  # diseases
    unknown = {**COLUMNS, "disease": {"role": "sensitive", "known_to_others": False}}
    assert shoal.Plan.from_dict({**document({**REGISTER, "plus": 1}, **sections), "columns": unknown})
    own = [{"name": "p-sensitive", "p": 2}]
    assert error_of(document({**REGISTER, "models": own}, **sections)) == "method.not-for-scenarios"
    both = {**sections, "models": ["k-anonymity k=10", "p-sensitive p=2"]}
    assert shoal.Plan.from_dict(document({**REGISTER, "models": own}, **both)).scenarios


def test_a_review_covers_scenarios():
    plan = shoal.Plan.from_dict(document(REGISTER, models="k-anonymity k=5"))
    other = shoal.Plan.from_dict(document({**REGISTER, "k": 9}, models="k-anonymity k=5"))
    assert digest_of_promise(plan.to_dict()) != digest_of_promise(other.to_dict())
