"""Keywords of ``anonymize``: their meaning, and warnings about drafts."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal import Column, Plan, Role
from shoal.api.keywords import Keywords, plan_for
from shoal.errors import PlanError, ShoalWarning, TableError
from shoal.hierarchies import intervals
from shoal.methods import FullDomain, Mondrian
from shoal.models import KAnonymity, LDiversity, PSensitive, TCloseness
from shoal.schema import Prefix, Widths
from shoal.schema.builders import quasi
from tests.builders.errors import has_code

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


def test_unnamed_columns_are_left_out_with_a_warning():
    with pytest.warns(ShoalWarning, match="'email': left out"):
        release = shoal.anonymize(FRAME, **SHORT)
    assert isinstance(release.table, pd.DataFrame)
    assert list(release.table.columns) == ["age", "zip", "illness"]
    assert release.table.groupby(["age", "zip"]).size().min() >= 3
    assert release.warnings[0]["code"] == "left-out"
    assert release.to_dict()["warnings"] == release.warnings
    assert shoal.check(release.table, KAnonymity(3), quasi_identifiers=["age", "zip"]).holds


def test_no_warning_if_every_column_is_named():
    release = shoal.anonymize(FRAME, **SHORT, identifiers="email")
    assert release.notes == ()
    assert list(release.table.columns) == ["age", "zip", "illness"]


def test_other_columns_are_published_unchanged():
    release = shoal.anonymize(FRAME, **SHORT, other="email")
    assert sorted(release.table["email"]) == sorted(FRAME["email"])


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_release_has_the_type_of_the_input(make):
    frame = make(FRAME)
    assert type(shoal.anonymize(frame, **SHORT, identifiers="email").table) is type(frame)


def test_drafted_roles_are_warned_of():
    with pytest.warns(ShoalWarning) as caught:
        release = shoal.anonymize(FRAME, k=3, method="full-domain")
    messages = " ".join(str(warning.message) for warning in caught)
    assert "identifier: 'email'" in messages
    assert "quasi-identifier: 'age', 'zip'" in messages
    assert "sensitive: 'illness'" in messages
    assert "l = 2 was added" in messages
    assert [model["name"] for model in release.figures["models"]] == ["k-anonymity", "l-diversity"]
    assert {warning["code"] for warning in release.warnings} >= {"drafted", "drafted-model"}


def test_named_columns_are_not_drafted():
    plan, _ = plan_for(FRAME, Keywords(sensitive="zip", k=3, t=0.5))
    assert plan.schema.sensitive == ("zip", "illness")
    assert plan.models == (KAnonymity(3), TCloseness(0.5, column="zip"), TCloseness(0.5, column="illness"))


def test_no_value_in_warnings():
    with pytest.warns(ShoalWarning) as caught:
        release = shoal.anonymize(FRAME, k=3, method="full-domain")
    messages = " ".join([*(str(warning.message) for warning in caught), *(note["text"] for note in release.warnings)])
    for value in {*FRAME["email"], *FRAME["zip"], *FRAME["illness"]}:
        assert value not in messages


def test_k_p_l_t_are_models_of_every_sensitive_column():
    keywords = Keywords("age", ["illness", "zip"], "email", k=4, p=2, l=3, t=0.4)
    plan, notes = plan_for(FRAME, keywords)
    assert not notes
    assert set(plan.models) == {
        KAnonymity(4),
        *(model for name in ("illness", "zip") for model in (
            PSensitive(2, column=name), LDiversity(3, column=name), TCloseness(0.4, column=name)
        )),
    }  # fmt: skip
    assert plan_for(FRAME, Keywords("age", "illness", k=4, p=2))[0].models == (KAnonymity(4), PSensitive(2))


def test_hierarchies_are_drafted_unless_given():
    plan, _ = plan_for(FRAME, Keywords(["age", "zip"], k=2))
    assert isinstance(plan.columns["age"].hierarchy, Widths)
    assert plan.columns["zip"].hierarchy == Prefix()
    plan, _ = plan_for(FRAME, Keywords({"age": intervals(7), "zip": quasi()}, k=2))
    assert plan.columns["age"].hierarchy == Widths((7,))


@pytest.mark.parametrize("method", ["mondrian", "Mondrian", Mondrian, Mondrian(), {"name": "mondrian"}])
def test_method_as_name_class_or_object(method):
    assert plan_for(FRAME, Keywords("age", k=2, method=method))[0].method == Mondrian()


@pytest.mark.parametrize("models", [KAnonymity(3), [KAnonymity(3)], "k-anonymity k=3", {"name": "k-anonymity", "k": 3}])
def test_single_model_instead_of_a_list(models):
    assert plan_for(FRAME, Keywords("age", models=models))[0].models == (KAnonymity(3),)
    assert shoal.check(FRAME, models, quasi_identifiers="zip").models[0].name == "k-anonymity"
    assert Plan(columns={"age": "quasi-identifier"}, models=models).models == (KAnonymity(3),)


def test_suppression_is_passed_to_the_method():
    assert plan_for(FRAME, Keywords("age", k=2, method=FullDomain(), suppression=0.1))[0].method.suppression == 0.1
    assert plan_for(FRAME, Keywords("age", k=2, suppression=0.1))[0].method.suppression == 0.1


def test_missing_keyword():
    frame = pa.table({"age": ["20", "20", "?", "?"], "zip": ["1", "1", "1", "1"]})
    release = shoal.anonymize(frame, quasi_identifiers=["age", "zip"], k=2, missing="?", method="full-domain")
    assert None in release.table["age"].to_pylist()


def test_role_text_instead_of_a_column():
    frame = FRAME[["age", "illness"]]
    plan = {"columns": {"age": "quasi-identifier", "illness": "sensitive"}, "models": "k-anonymity k=2"}
    release = shoal.anonymize(frame, {**plan, "method": "full-domain"})
    assert release.figures["smallest_group"] >= 2
    assert Plan.from_dict(plan).columns["age"] == Column(Role.QUASI_IDENTIFIER)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
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
        ({"quasi_identifiers": {"age": "sensitive"}, "k": 2}, PlanError, "Name it once"),
        ({"plan": {"columns": {"age": "quasi-identifier"}}, "k": 2}, PlanError, "either a plan or keywords"),
    ],
)
def test_wrong_keywords_are_refused(keywords, error, message):
    """The message says what to write instead."""
    with pytest.raises(error) as caught:
        shoal.anonymize(FRAME[["age", "illness"]], **keywords)
    assert message in str(caught.value)


def test_file_instead_of_a_frame_is_refused():
    """The message recommends ``shoal.draft``."""
    with pytest.raises(PlanError, match=r"shoal\.draft"):
        shoal.anonymize("table.csv", quasi_identifiers="age", k=2)


def test_person_keyword_counts_people():
    visits = FRAME.assign(patient=[n // 2 for n in range(ROWS)])
    release = shoal.anonymize(visits, **SHORT, identifiers="email", person="patient")
    assert "patient" not in release.table.columns
    assert release.figures["people"]["total"] == ROWS // 2


def test_known_keyword():
    plan, _ = plan_for(FRAME, Keywords(["age", "zip"], k=3, known=1))
    assert plan.models == (shoal.models.Known(KAnonymity(3), 1),)
    assert plan.method.name == "hidden-cells"
    with pytest.raises(PlanError, check=has_code("models.known-too-large")):
        plan_for(FRAME, Keywords(["age", "zip"], k=3, known=3))
