"""Three lines in a notebook: what a few words mean, and what is told of it."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal import (
    Column,
    FullDomain,
    KAnonymity,
    LDiversity,
    Mondrian,
    Plan,
    PlanError,
    Prefix,
    PSensitive,
    Role,
    ShoalWarning,
    TableError,
    TCloseness,
    Widths,
    intervals,
    quasi,
)
from shoal.api.keywords import Keywords, plan_for

ROWS = 24
FRAME = pd.DataFrame(
    {
        "email": [f"p{n}@example.org" for n in range(ROWS)],
        "age": [20 + n // 2 for n in range(ROWS)],
        "zip": [f"142{n % 4}{n % 2}" for n in range(ROWS)],
        "illness": ["flu", "gout", "asthma"] * (ROWS // 3),
    }
)
SHORT = {"quasi_identifiers": ["age", "zip"], "sensitive": ["illness"], "k": 3, "method": "full-domain"}


def test_a_few_words_release_what_they_name_and_a_warning_tells_what_was_left_out():
    with pytest.warns(ShoalWarning, match="'email': left out"):
        release = shoal.anonymize(FRAME, **SHORT)
    assert isinstance(release.table, pd.DataFrame)
    assert list(release.table.columns) == ["age", "zip", "illness"]
    assert release.table.groupby(["age", "zip"]).size().min() >= 3
    assert release.warnings[0]["code"] == "left-out"
    assert release.to_dict()["warnings"] == release.warnings
    assert shoal.check(release.table, KAnonymity(3), quasi_identifiers=["age", "zip"]).holds


def test_no_warning_where_every_column_is_named():
    release = shoal.anonymize(FRAME, **SHORT, identifiers="email")
    assert release.notes == ()
    assert list(release.table.columns) == ["age", "zip", "illness"]


def test_other_columns_are_published_as_they_are():
    release = shoal.anonymize(FRAME, **SHORT, other="email")
    assert sorted(release.table["email"]) == sorted(FRAME["email"])


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_the_release_is_a_frame_of_the_users_own_kind(make):
    frame = make(FRAME)
    assert type(shoal.anonymize(frame, **SHORT, identifiers="email").table) is type(frame)


def test_roles_are_drafted_and_told_where_none_are_named():
    with pytest.warns(ShoalWarning) as caught:
        release = shoal.anonymize(FRAME, k=3, method="full-domain")
    told = " ".join(str(warning.message) for warning in caught)
    assert "identifier: 'email'" in told
    assert "quasi-identifier: 'age', 'zip'" in told
    assert "sensitive: 'illness'" in told
    assert "l = 2 was added" in told
    assert [model["name"] for model in release.certificate["models"]] == ["k-anonymity", "l-diversity"]
    assert {warning["code"] for warning in release.warnings} >= {"drafted", "drafted-model"}


def test_what_is_named_is_not_drafted():
    plan, _ = plan_for(FRAME, Keywords(sensitive="zip", k=3, t=0.5))
    assert plan.schema.sensitive == ("zip", "illness")
    assert plan.models == (KAnonymity(3), TCloseness(0.5, column="zip"), TCloseness(0.5, column="illness"))


def test_no_value_of_a_record_is_told():
    with pytest.warns(ShoalWarning) as caught:
        release = shoal.anonymize(FRAME, k=3, method="full-domain")
    told = " ".join([*(str(warning.message) for warning in caught), *(note["text"] for note in release.warnings)])
    for value in {*FRAME["email"], *FRAME["zip"], *FRAME["illness"]}:
        assert value not in told


def test_the_letters_are_models_of_every_sensitive_column():
    asked = Keywords("age", ["illness", "zip"], "email", k=4, p=2, l=3, t=0.4)
    plan, notes = plan_for(FRAME, asked)
    assert not notes
    assert set(plan.models) == {
        KAnonymity(4),
        *(model for name in ("illness", "zip") for model in (
            PSensitive(2, column=name), LDiversity(3, column=name), TCloseness(0.4, column=name)
        )),
    }  # fmt: skip
    assert plan_for(FRAME, Keywords("age", "illness", k=4, p=2))[0].models == (KAnonymity(4), PSensitive(2))


def test_hierarchies_are_drafted_from_the_columns_unless_given():
    plan, _ = plan_for(FRAME, Keywords(["age", "zip"], k=2))
    assert isinstance(plan.columns["age"].hierarchy, Widths)
    assert plan.columns["zip"].hierarchy == Prefix()
    plan, _ = plan_for(FRAME, Keywords({"age": intervals(7), "zip": quasi()}, k=2))
    assert plan.columns["age"].hierarchy == Widths((7,))


@pytest.mark.parametrize("method", ["mondrian", "Mondrian", Mondrian, Mondrian(), {"name": "mondrian"}])
def test_a_method_may_be_a_name_a_class_or_an_object(method):
    assert plan_for(FRAME, Keywords("age", k=2, method=method))[0].method == Mondrian()


@pytest.mark.parametrize("models", [KAnonymity(3), [KAnonymity(3)], "k-anonymity k=3", {"name": "k-anonymity", "k": 3}])
def test_a_model_may_stand_for_a_list_of_models(models):
    assert plan_for(FRAME, Keywords("age", models=models))[0].models == (KAnonymity(3),)
    assert shoal.check(FRAME, models, quasi_identifiers="zip").models[0].name == "k-anonymity"
    assert Plan(columns={"age": "quasi-identifier"}, models=models).models == (KAnonymity(3),)


def test_suppression_goes_to_the_method():
    assert plan_for(FRAME, Keywords("age", k=2, method=FullDomain(), suppression=0.1))[0].method.suppression == 0.1
    assert plan_for(FRAME, Keywords("age", k=2, suppression=0.1))[0].method.suppression == 0.1


def test_a_text_can_stand_for_missing():
    frame = pa.table({"age": ["20", "20", "?", "?"], "zip": ["1", "1", "1", "1"]})
    release = shoal.anonymize(frame, quasi_identifiers=["age", "zip"], k=2, missing="?", method="full-domain")
    assert None in release.table["age"].to_pylist()


def test_a_role_may_be_a_text_wherever_a_column_is_meant():
    frame = FRAME[["age", "illness"]]
    plan = {"columns": {"age": "quasi-identifier", "illness": "sensitive"}, "models": "k-anonymity k=2"}
    release = shoal.anonymize(frame, {**plan, "method": "full-domain"})
    assert release.certificate["smallest_group"] >= 2
    assert Plan.from_dict(plan).columns["age"] == Column(Role.QUASI_IDENTIFIER)


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        ({}, PlanError, "k=5"),
        ({"quasi_identifiers": "age"}, PlanError, "k=5"),
        ({"quasi_identifiers": "age", "k": 2, "p": 2}, PlanError, "sensitive="),
        ({"quasi_identifiers": "age", "sensitive": "age", "k": 2}, PlanError, "one role"),
        ({"quasi_identifiers": ["age", "age"], "k": 2}, PlanError, "named twice"),
        ({"quasi_identifiers": "agee", "k": 2}, TableError, "Did you mean 'age'"),
        ({"quasi_identifiers": [1], "k": 2}, PlanError, "text"),
        ({"quasi_identifiers": "age", "k": 1}, PlanError, "at least 2"),
        ({"quasi_identifiers": "age", "k": 2, "method": "mondrain"}, PlanError, "did you mean 'mondrian'"),
        ({"quasi_identifiers": "age", "k": 2, "method": 3}, PlanError, "Mondrian()"),
        ({"quasi_identifiers": "age", "models": 3}, PlanError, "KAnonymity"),
        ({"quasi_identifiers": {"age": "bogus"}, "k": 2}, PlanError, "role"),
        ({"quasi_identifiers": {"age": "sensitive"}, "k": 2}, PlanError, "name it once"),
        ({"plan": {"columns": {"age": "quasi-identifier"}}, "k": 2}, PlanError, "either a plan or keywords"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_to_write(words, error, says):
    with pytest.raises(error) as caught:
        shoal.anonymize(FRAME[["age", "illness"]], **words)
    assert says in str(caught.value)


def test_a_file_in_place_of_a_frame_is_refused_with_the_way_to_go():
    with pytest.raises(PlanError, match=r"shoal\.draft"):
        shoal.anonymize("table.csv", quasi_identifiers="age", k=2)


def test_models_count_people_where_a_column_says_whose_rows_they_are():
    visits = FRAME.assign(patient=[n // 2 for n in range(ROWS)])
    release = shoal.anonymize(visits, **SHORT, identifiers="email", person="patient")
    assert "patient" not in release.table.columns
    assert release.certificate["people"]["total"] == ROWS // 2


def test_an_intruder_may_know_few_columns():
    plan, _ = plan_for(FRAME, Keywords(["age", "zip"], k=3, known=1))
    assert plan.models == (shoal.Known(KAnonymity(3), 1),)
    assert plan.method.name == "hidden-cells"
    with pytest.raises(PlanError, match="'known' must be at most"):
        plan_for(FRAME, Keywords(["age", "zip"], k=3, known=3))
