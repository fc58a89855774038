"""Promise of a draft: joint protection of visible columns."""

from __future__ import annotations

import random
import tomllib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.advice.column_tiers import Evidence, are_category_codes, judge_column
from shoal.advice.profile import profile as profile_table
from shoal.advice.value_kinds import date_format, kind_of, ordered_classes
from shoal.api.keywords import Keywords, plan_for
from shoal.errors import ShoalWarning
from shoal.io.engines import open_engine
from shoal.io.engines.base import Source
from shoal.pipeline.decide import StepTimer, encode
from shoal.runtime.progress import quiet
from shoal.schema.column_words import meanings_of
from shoal.schema.detect_identifiers import identifier_reason
from shoal.schema.value_words import topic_of_values, yes_and_no
from shoal.utility.loss import losses, ncp_by_column

ROWS = 600
DRAW = random.Random(11)


def survey(unknown=0):
    """Make a table of visible, private, sensitive and unknown columns."""
    made = {
        "age": [20 + DRAW.randrange(50) for _ in range(ROWS)],
        "sex": [DRAW.choice("mf") for _ in range(ROWS)],
        "marital_status": [DRAW.choice(["single", "married"]) for _ in range(ROWS)],
        "cinema": [DRAW.choice(["never", "often"]) for _ in range(ROWS)],
        "income": [round(900 + 4000 * DRAW.random(), 2) for _ in range(ROWS)],
        "diabetes": ["1" if DRAW.random() < 0.08 else "0" for _ in range(ROWS)],
        "religion": [DRAW.choice(["a", "b", "c"]) for _ in range(ROWS)],
    }
    return pa.table(
        {
            **made,
            **{f"qz{chr(97 + n)}w": [f"{n}{DRAW.choice('pqrstuvwx')}" for _ in range(ROWS)] for n in range(unknown)},
        }
    )


def test_a_draft_protects_visible_columns_jointly():
    drafted = shoal.draft(survey())
    plan = tomllib.loads(drafted.text)
    roles = {name: column["role"] for name, column in plan["columns"].items()}
    assert [name for name, role in roles.items() if role == "quasi-identifier"] == ["age", "sex", "marital_status"]
    assert roles["cinema"] == "other"
    assert {roles[name] for name in ("income", "diabetes", "religion")} == {"sensitive"}
    assert all("known" not in model for model in plan["models"])
    diverse = {model["column"]: model["name"] for model in plan["models"] if "column" in model}
    assert diverse == {"diabetes": "p-alpha-sensitive", "religion": "l-diversity"}
    assert plan["columns"]["diabetes"]["categories"] == [["1"], ["0"]]
    assert plan["columns"]["diabetes"]["harmless"] == ["0"]
    assert "numbers of many values" in drafted.text
    release = shoal.anonymize(survey(), drafted.plan)
    assert all(model["holds"] for model in release.figures["models"])
    assert release.figures["smallest_group"] >= 5


def test_a_wide_table_loses_detail_and_no_promise():
    table = survey(unknown=20)
    drafted = shoal.draft(table)
    roles = {column.name: column for column in drafted.profile.columns}
    core = ("age", "sex", "marital_status")
    assert all((roles[name].role, roles[name].weight) == ("quasi-identifier", 1) for name in core)
    given_way = [column for column in roles.values() if column.role == "drop" or column.weight < 1]
    assert len(given_way) >= 15
    assert all(column.name.startswith("qz") for column in given_way)
    assert drafted.plan.method.weights == {
        column.name: column.weight for column in given_way if column.role == "quasi-identifier"
    }
    assert all("known" not in model for model in tomllib.loads(drafted.text)["models"])
    release = shoal.anonymize(table, drafted.plan)
    assert release.figures["smallest_group"] >= 5
    assert "*" not in release.table["sex"].to_pylist()


def test_command_and_keywords_draft_the_same_plan():
    table = survey(unknown=12)
    drafted = shoal.draft(table, k=5).plan
    plan, notes = plan_for(table, Keywords(k=5))
    assert {name: column.role for name, column in plan.schema.columns.items()} == {
        name: column.role for name, column in drafted.schema.columns.items()
    }
    assert plan.models == drafted.models
    assert {note["code"] for note in notes} == {"drafted", "drafted-model"}


def test_a_column_that_would_link_the_rows_of_a_person_is_left_out():
    people = [n // 4 for n in range(400)]
    table = pa.table({
        "patient_id": people, "sex": ["mf"[n % 2] for n in people], "expenses": [f"{n * 37.77:.2f}" for n in people],
        "diagnosis": [f"d{n % 7}" for n in range(400)],
    })  # fmt: skip
    found = {column.name: column for column in profile_table(table).columns}
    assert found["expenses"].role == "drop"
    assert "which rows are one person's" in found["expenses"].reason
    assert found["diagnosis"].role == "sensitive"
    household = table.set_column(1, "sex", pa.array(["mf"[n % 2] for n in range(400)]))
    assert {c.name: str(c.role) for c in profile_table(household).columns}["expenses"] == "sensitive"


def test_a_column_is_understood_by_adjacent_columns():
    rows = 200
    marks = {
        name: [str(n * (at + 3) % 7 // 6) for n in range(rows)] for at, name in enumerate(("asthma", "xqv", "stroke"))
    }
    found = {column.name: column for column in profile_table(pa.table(marks)).columns}
    assert found["xqv"].tier == "sensitive"
    amounts = {
        f"zy{n:03}x": [f"{(i * 7919 % 997) * n / 3:.2f}" if i % 3 else "0" for i in range(rows)] for n in (10, 20, 30)
    }
    amounts["sex"] = ["m", "f"] * (rows // 2)
    assert [str(column.tier) for column in profile_table(pa.table(amounts)).columns] == [*["sensitive"] * 3, "visible"]
    codes = [str(1000 + n % 9) for n in range(rows)]
    texts = [f"disease {'abcdefghi'[n % 9]}" for n in range(rows)]
    twins = profile_table(pa.table({"code": codes, "description": texts, "sex": ["m", "f"] * (rows // 2)})).columns
    assert [str(column.role) for column in twins] == ["sensitive", "sensitive", "quasi-identifier"]


@pytest.mark.parametrize(
    ("values", "form"),
    [
        (["25-01-2015", "03-12-2014"], "%d-%m-%Y"),
        (["March 23, 2007", "May 2, 2008"], "%B %d, %Y"),
        (["07/09/2020 03:09:00 PM", "12/26/2019 05:32:58 AM"], "%m/%d/%Y %I:%M:%S %p"),
        (["23/Mar/2007:10:05:00", "01/Apr/2007:23:05:00"], "%d/%b/%Y:%H:%M:%S"),
        (["2017-04-01 00:14:36", "2017-04-02 10:15:47"], ""),
    ],
)
def test_dates_as_strangers_write_them(values, form):
    assert date_format(values) == form
    assert identifier_reason("x", values, 1.0, 1000) is None


def test_codes_as_numbers_are_no_intervals():
    assert are_category_codes("gender", "sex", ["0", "1", "2"])
    assert not are_category_codes("years_at_company", "work", ["0", "1", "2"])
    table = pa.table({"gender": [n % 3 for n in range(60)], "age": [20 + n % 40 for n in range(60)]})
    gender, age = profile_table(table).columns
    assert gender.hierarchy == {"flat": True}
    assert "intervals" in age.hierarchy


def test_survey_weights_differ_from_body_weights():
    body = profile_table(pa.table({"weight": [50 + n % 45 for n in range(200)], "zzq": [n % 3 for n in range(200)]}))
    weight = profile_table(
        pa.table({"weight": [0.3 + n / 617 for n in range(200)], "zzq": [n % 3 for n in range(200)]})
    )
    assert (str(body.columns[0].tier), str(weight.columns[0].tier)) == ("visible", "technical")


def test_words_that_only_begin_like_others_mean_nothing():
    for name in ("package", "mileage", "category", "statement", "qqq", "x1", "alterfoo"):
        assert not [part for part in meanings_of(name) if part.topic == "age"], name
    assert topic_of_values(["a", "b", "c"]) is None
    assert topic_of_values(["1", "2", "3"]) is None
    assert yes_and_no(["ja", "nein"]) == ("ja", "nein")
    assert yes_and_no(["a", "b"]) is None


def test_labels_of_a_survey_file_say_what_a_column_is():
    column = Evidence("v17", "number", ["1", "2"], [50, 50], 100, 0)
    assert judge_column(column).tier == "unknown"
    assert judge_column(replace(column, label="Highest level of education completed")).topic == "schooling"
    assert judge_column(replace(column, meanings=["male", "female"])).topic == "sex"
    assert judge_column(replace(column, label="Ever diagnosed with diabetes")).tier == "sensitive"


def test_a_key_among_amounts_is_no_amount():
    rows = 300
    made = {f"zy{n}x": [f"{(i * 7919 % 997) * n / 3:.2f}" for i in range(rows)] for n in range(1, 9)}
    table = pa.table({"db030": [str(i // 3) for i in range(rows)], **made, "sex": ["m", "f"] * (rows // 2)})
    assert profile_table(table).columns[0].role != "sensitive"


def test_the_loss_of_columns_makes_up_the_ncp():
    table = survey().select(["age", "sex"])
    ages = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 20]}}
    plan = shoal.Plan.from_dict({
        "columns": {"age": ages, "sex": "quasi-identifier"},
        "models": "k-anonymity k=5", "method": "mondrian",
    })  # fmt: skip
    source = Source(frame=table)
    with open_engine(None) as engine:
        problem = encode(engine, source, replace(plan, source=source), StepTimer(quiet))
        recoding = plan.method.decide(problem)
    own = ncp_by_column(problem.frequencies, problem.ladders, recoding)
    whole = losses(problem.frequencies, problem.ladders, recoding)["ncp"]
    assert np.exp(np.log1p(own).mean()) - 1 == pytest.approx(whole)
    assert len(own) == 2


def test_a_nearly_sure_value_is_bounded_by_its_share():
    rows, draw = 1200, random.Random(4)
    age = [20 + draw.randrange(12) for _ in range(rows)]
    table = pa.table({
        "age": age,
        "city": [draw.choice(["Kiel", "Jena", "Ulm"]) for _ in range(rows)],
        "recidivist": ["Y" if draw.random() < (0.95 if n % 2 else 0.1) else "N" for n in age],
    })  # fmt: skip
    drafted = shoal.draft(table)
    models = {model["column"]: model for model in tomllib.loads(drafted.text)["models"] if "column" in model}
    assert models["recidivist"]["name"] == "alpha-k"
    made = shoal.anonymize(table, drafted.plan).table.to_pylist()
    groups = {}
    for row in made:
        groups.setdefault((row["age"], row["city"]), []).append(row["recidivist"])
    assert all(max(group.count(value) for value in "YN") < 0.8 * len(group) for group in groups.values())


def test_destination_of_a_trip_is_sensitive():
    rows = 300
    table = pa.table({
        "start station": [f"s{n % 9}" for n in range(rows)], "end station": [f"s{n % 7}" for n in range(rows)],
        "gender": ["m", "f"] * (rows // 2),
    })  # fmt: skip
    assert [str(column.role) for column in profile_table(table).columns] == [
        "quasi-identifier", "sensitive", "quasi-identifier",
    ]  # fmt: skip
    alone = profile_table(table.drop_columns(["start station"])).columns
    assert alone[0].role == "quasi-identifier"


def test_a_constant_is_published_unless_it_is_sensitive():
    table = pa.table({
        "standard_hours": [80] * 60, "diagnosis": ["asthma"] * 60, "zzq": ["x"] * 60,
        "age": [20 + n % 9 for n in range(60)],
    })  # fmt: skip
    assert [str(column.role) for column in profile_table(table).columns] == [
        "other",
        "drop",
        "drop",
        "quasi-identifier",
    ]


def test_one_outlier_does_not_set_the_width_of_intervals():
    kind, hierarchy, _ = kind_of([str(year) for year in (*range(1994, 2021), 5012)], "year")
    assert (kind, hierarchy["intervals"][0]) == ("number", 2)


def test_classes_of_numbers_join_their_neighbours():
    assert ordered_classes(["[70-80)", "[60-70)", "[0-10)", "[10-20)"]) == ["[0-10)", "[10-20)", "[60-70)", "[70-80)"]
    assert ordered_classes(["65+", "<18", "18-39", "40-64"]) == ["<18", "18-39", "40-64", "65+"]
    assert ordered_classes(["1", "2", "3", "4"]) is None
    table = pa.table({"altersklasse": [("18-29", "30-39", "40-64", "65+")[n % 4] for n in range(80)]})
    assert profile_table(table).columns[0].hierarchy == {
        "order": {"values": ["18-29", "30-39", "40-64", "65+"], "fanout": [2]}
    }
    made = shoal.anonymize(table, shoal.draft(table).plan)
    assert made.certificate["smallest_group"] >= 5


def test_common_values_are_harmless():
    """Groups may share it, and no other value."""
    draw = random.Random(8)
    illness = draw.choices(["none", "flu", "gout", "hiv"], [85, 5, 5, 5], k=ROWS)
    paid = ["yes" if draw.random() < 0.3 else "no" for _ in range(ROWS)]
    table = survey().append_column("illness", pa.array(illness)).append_column("loan_paid", pa.array(paid))
    plan = tomllib.loads(shoal.draft(table).text)
    assert plan["columns"]["illness"]["harmless"] == ["none"]
    assert {"name": "p-sensitive", "p": 2, "column": "illness"} in plan["models"]
    assert "harmless" not in plan["columns"]["loan_paid"]  # who has not paid may be harmed
    release = shoal.anonymize(table, plan)
    groups = {}
    for row in release.table.to_pylist():
        groups.setdefault((row["age"], row["sex"], row["marital_status"]), set()).add(row["illness"])
    assert all("none" in group or len(group) > 1 for group in groups.values())
    assert {"none"} in groups.values()


def test_a_draft_lists_what_was_tried():
    drafted = shoal.draft(survey(unknown=20))
    tried = drafted.profile.alternatives
    assert len(tried) > 2
    assert all(0 <= one.loss <= 1 and 0 <= one.disclosed <= 1 for one in tried)
    assert tried[0].loss > min(one.loss for one in tried)
    assert any("giving way" in one.change for one in tried)
    for one in tried:
        assert f"{one.loss:.2f}" in drafted.text
    assert drafted.profile.to_dict()["alternatives"][0] == tried[0].to_dict()


def test_numbers_not_understood_are_published_as_intervals():
    table = survey()
    table = table.append_column("qzx", pa.array([f"{DRAW.randrange(10_000) / 100:.2f}" for _ in range(ROWS)]))
    table = table.append_column("cancer", pa.array([DRAW.choice(["yes", "no"]) for _ in range(ROWS)]))
    drafted = shoal.draft(table)
    column = tomllib.loads(drafted.text)["columns"]["qzx"]
    assert (column["role"], column["levels"]) == ("sensitive", 1)
    release = shoal.anonymize(table, drafted.plan)
    assert all(".." in label for label in release.table["qzx"].to_pylist())
    with pytest.warns(ShoalWarning):
        assert all(".." in label for label in shoal.anonymize(table, k=5).table["qzx"].to_pylist())
