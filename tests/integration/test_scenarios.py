"""Crowds of scenarios, and an intruder with a list of everybody.

Random tables are judged by the models, by the independent verification and by definition. Releases of every method that
serves a scenario are attacked by somebody who has the known columns of everybody: no row is more likely than 1/k.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import PlanError
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.methods import METHODS
from shoal.models import KAnonymity, LDiversity, PSensitive, Scenario, TCloseness
from shoal.models.scenarios import Knowledge
from shoal.schema import Column, Role, Schema, Tree
from shoal.verification.independent import differences
from tests.builders.people_models import MODELS as PEOPLE_MODELS
from tests.builders.scenarios import QUASI, VALUES, holds_by_definition, judge_people, judge_rows
from tests.reference import models as slow
from tests.reference import scenarios as slow_scenarios

NAMES = (*QUASI, "secret", "other")
ROW_MODELS = {
    "k": (KAnonymity(2), lambda group, table: len(group) >= 2),
    "p": (PSensitive(2, "secret"), lambda group, table: slow.p_sensitive(group, 2)),
    "l": (LDiversity(2, column="secret"), lambda group, table: slow.distinct_diverse(group, 2)),
    "entropy l": (LDiversity(1.7, "entropy", column="secret"), lambda group, table: slow.entropy_diverse(group, 1.7)),
    "recursive l": (
        LDiversity(2, "recursive", 2, "secret"),
        lambda group, table: slow.recursive_diverse(group, 2, 2),
    ),
    "t": (
        TCloseness(0.4, column="secret"),
        lambda group, table: slow.t_distance(group, table, slow.equal_cost) <= Fraction("0.4"),
    ),
    "alpha, k": (shoal.models.AlphaK(0.7, 2, "secret"), lambda group, table: slow.alpha_k(group, 0.7, 2)),
    "delta": (
        shoal.models.DeltaDisclosure(2, column="secret"),
        lambda group, table: slow.delta_disclosed(group, table, 2, False),
    ),
    "delta of present values": (
        shoal.models.DeltaDisclosure(0.8, "ignored", column="secret"),
        lambda group, table: slow.delta_disclosed(group, table, 0.8, True),
    ),
    "beta": (
        shoal.models.BetaLikeness(1.5, column="secret"),
        lambda group, table: slow.beta_like(group, table, 1.5, False),
    ),
}
KNOWLEDGE = [
    Knowledge("one column", ("a",)),
    Knowledge("two columns", ("a", "c")),
    Knowledge("all", QUASI),
    Knowledge("plus", ("a",), ("b", "c"), 1),
    Knowledge("plus sensitive", ("b",), ("a", "c", "secret", "other"), 1),
    Knowledge("any two", (), (*QUASI, "other"), 2),
    Knowledge("all plus the secret", QUASI, ("secret",), 1),
    Knowledge("all further at once", ("a",), ("b", "secret"), 2),
    Knowledge("more than there are", ("a",), ("secret", "other"), 3),
]
LABEL = st.sampled_from(["1", "2", "*"])
ROWS = st.lists(
    st.tuples(LABEL, LABEL, st.sampled_from(["1", "*", None]), st.sampled_from([*VALUES, None]), st.sampled_from("mn")),
    min_size=1,
    max_size=14,
)
OWNER = st.sampled_from(["p", "q", "r", "s", "t"])


@pytest.fixture(scope="module")
def engine():
    with DuckDBEngine() as opened:
        yield opened


@settings(max_examples=300, deadline=None)
@given(rows=ROWS, name=st.sampled_from(sorted(ROW_MODELS)), knowledge=st.sampled_from(KNOWLEDGE))
def test_both_verdicts_are_the_definition(rows, name, knowledge):
    model, holds = ROW_MODELS[name]
    found, opinion = judge_rows(rows, model, knowledge)

    def of_values(group, table):
        return holds([row["secret"] for row in group], [[row["secret"] for row in table]])

    column = getattr(model, "column", None)
    assert found.holds == holds_by_definition(rows, NAMES, knowledge, column, of_values)
    assert differences(opinion, model, found.holds, found.effective) == [] or not found.sets
    assert opinion.holds == found.holds
    assert (found.fails_with is None) == found.holds == (not found.failing.any())


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, knowledge=st.sampled_from(KNOWLEDGE))
def test_a_model_of_all_columns_covers_all_of_them(rows, knowledge):
    found, opinion = judge_rows(rows, PSensitive(2), knowledge)

    def differs(column):
        def holds(group, _):
            return slow.p_sensitive([row[column] for row in group], 2)

        return holds_by_definition(rows, NAMES, knowledge, column, holds)

    assert found.holds == opinion.holds == all(map(differs, ("secret", "other")))


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(OWNER, ROWS.map(lambda rows: rows[0])), min_size=1, max_size=12),
    name=st.sampled_from(sorted(PEOPLE_MODELS)),
    knowledge=st.sampled_from(KNOWLEDGE),
)
def test_people_of_crowds_are_judged_by_the_definition(engine, rows, name, knowledge):
    model, holds = PEOPLE_MODELS[name]
    values = {"u": "a", "v": "b", "w": "c", "x": "d", None: None}
    flat = [(owner, *row) for owner, row in rows]
    has = {owner: {values[row[3]] for one, row in rows if one == owner} - {None} for owner, _ in rows}
    found, opinion = judge_people(engine, flat, model, knowledge)

    def of_people(group, table):
        return holds(sorted({row["who"] for row in group}), has, sorted(has))

    column = getattr(model, "column", None)
    assert found.holds == holds_by_definition(flat, ("who", *NAMES), knowledge, column, of_people)
    assert differences(opinion, model, found.holds, found.effective) == [] or not found.sets
    assert opinion.holds == found.holds


# -- an intruder with the list of everybody --------------------------------------------------------------------------

TREE = {"1": ["1a", "1b"], "2": ["2a", "2b"]}


def covers(label, value):
    """Return whether a published label can stand for a value."""
    return label == "*" or label == value or (len(label) == 1 and value.startswith(label))


def attack_with_list(plan, table, known):
    """Return the highest probability of a row for an intruder with a list."""
    released = shoal.anonymize(table, plan).table
    people = table.select(known).to_pylist()
    rows = released.select(known).to_pylist()
    assert len(people) == len(rows) or isinstance(plan.method, shoal.methods.Refine)
    if len(people) > len(rows):
        return Fraction(0), released

    def fits(person, row):
        return all(covers(row[name], person[name]) for name in known)

    return max(max(row) for row in slow_scenarios.beliefs(people, rows, fits)), released


def small_table(draw, rows):
    values = [value for listed in TREE.values() for value in listed]
    columns = {name: [draw(st.sampled_from(values)) for _ in range(rows)] for name in QUASI}
    return pa.table({**columns, "secret": [draw(st.sampled_from("uvw")) for _ in range(rows)]})


def plan_of(method, scenarios, models=(), jointly=False, known_to_others=False):
    columns = {name: Column(Role.QUASI_IDENTIFIER, Tree(TREE)) for name in QUASI}
    columns["secret"] = Column(Role.SENSITIVE, known_to_others=known_to_others)
    return shoal.Plan(Schema(columns), models, method, scenarios=scenarios, together=jointly)


SERVING = {
    "full-domain": shoal.methods.FullDomain(),
    "levels": shoal.methods.Levels({"a": 1, "b": 2, "c": 2}),
    "auto": shoal.methods.Auto(),
    "mondrian": shoal.methods.Mondrian(),
    "top-down": shoal.methods.TopDown(),
    "refine": shoal.methods.Refine(),
    "local-suppression": shoal.methods.LocalSuppression(),
    "hidden-cells": shoal.methods.HiddenCells(),
    "anti-unification": shoal.methods.AntiUnification(patterns="model-aware", keep_rest=True),
}
# hidden cells are not for models of all columns
GROUPING = {name: method for name, method in SERVING.items() if name != "hidden-cells"}
IMPLIED = {**GROUPING, "refined levels": shoal.methods.Refine(start=shoal.methods.FullDomain(suppression=0.3))}


@settings(max_examples=70, deadline=None)
@given(
    data=st.data(),
    method=st.sampled_from(sorted(SERVING)),
    plus=st.integers(0, 2),
    k=st.integers(2, 3),
    named=st.booleans(),
    models=st.sampled_from([(), (PSensitive(2),), (TCloseness(0.5),)]),
)
def test_a_list_of_everybody_identifies_no_row(data, method, plus, k, named, models):
    table = small_table(data.draw, data.draw(st.integers(6, 9)))
    assume(not models or len(set(table["secret"].to_pylist())) > 1)
    scenario = Scenario("register", ("a",) if named or not plus else (), plus, k, models)
    scenarios = (scenario,) if plus else (scenario, Scenario("others", ("b", "c"), 0, k))
    plan = plan_of(SERVING[method], scenarios)
    sets = [known for size in (1, 2) for known in map(list, combinations(QUASI, size))]
    sets = [known for known in sets if len(set(known) - set(scenario.columns)) <= plus] if plus else [["a"], ["b", "c"]]
    try:
        for known in sets:
            assert attack_with_list(plan, table, known)[0] <= Fraction(1, k)
    except shoal.errors.InfeasibleError:
        assert method == "levels"


@settings(max_examples=40, deadline=None)
@given(data=st.data(), method=st.sampled_from(sorted(IMPLIED)))
def test_groups_imply_their_unions(data, method):
    table = small_table(data.draw, data.draw(st.integers(6, 9)))
    plan = plan_of(IMPLIED[method], (Scenario("register", ("a", "c"), 1, 2),), (KAnonymity(2),), jointly=True)
    try:
        for known in (["a", "c"], ["a", "b", "c"], ["b"]):
            assert attack_with_list(plan, table, known)[0] <= Fraction(1, 2)
    except shoal.errors.InfeasibleError:
        assert method == "levels"


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    levels=st.tuples(*[st.integers(0, 2)] * 3),
    plus=st.integers(0, 2),
    known_to_others=st.booleans(),
)
def test_rows_of_failing_crowds_are_suppressed(data, levels, plus, known_to_others):
    table, k = small_table(data.draw, data.draw(st.integers(6, 9))), 2
    scenarios = (Scenario("register", ("a",), plus, k), Scenario("others", ("b", "c"), 0, k))
    further = ("b", "c", *(["secret"] if known_to_others else []))
    sets = [*slow_scenarios.sets_of(("a",), further, plus), *slow_scenarios.sets_of(("b", "c"), (), 0)]
    rows = [
        {name: (row[name], row[name][0], "*")[level] for name, level in zip(QUASI, levels, strict=True)}
        | {"secret": row["secret"]}
        for row in table.to_pylist()
    ]
    expected = slow_scenarios.remaining(rows, sets, k)
    chosen = dict(zip(QUASI, levels, strict=True))
    at_levels = plan_of(shoal.methods.Levels(chosen, 0.5), scenarios, known_to_others=known_to_others)
    best = plan_of(shoal.methods.FullDomain(suppression=0.5), scenarios, known_to_others=known_to_others)
    if 2 * len(expected) < len(rows):
        with pytest.raises(shoal.errors.InfeasibleError):
            shoal.anonymize(table, at_levels)
        return
    found = shoal.anonymize(table, at_levels)
    assert sorted(map(repr, found.table.select([*QUASI, "secret"]).to_pylist())) == sorted(map(repr, expected))
    optimum = shoal.anonymize(table, best)
    assert optimum.figures["loss"]["ncp"] <= found.figures["loss"]["ncp"] + 1e-12
    released = optimum.table.to_pylist()
    for known in (["a"], ["b", "c"]):
        padded = [*released, *[None] * (len(rows) - len(released))]  # who is left out fits everything

        def fits(person, row, known=known):
            return row is None or all(covers(row[name], person[name]) for name in known)

        chances = slow_scenarios.beliefs(table.to_pylist(), padded, fits)
        assert max(max(row[: len(released)]) for row in chances) <= Fraction(1, k)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), method=st.sampled_from(sorted(SERVING)), plus=st.integers(0, 1), k=st.integers(2, 3))
def test_a_list_of_all_rows_leaves_k_people_for_each(data, method, plus, k):
    """No row is likelier than 1/k, and each can be of k people."""
    table = small_table(data.draw, 9)
    owners = [data.draw(OWNER) for _ in range(9)]
    assume(len(set(owners)) >= k)
    plan = plan_of(SERVING[method], (Scenario("register", ("a",), plus, k), Scenario("others", ("b", "c"), 0, k)))
    schema = Schema({"who": Column(Role.PERSON), **plan.schema.columns})
    plan = shoal.Plan(schema, (), plan.method, scenarios=plan.scenarios, together=False)
    try:
        released = shoal.anonymize(table.append_column("who", pa.array(owners)), plan).table.to_pylist()
    except shoal.errors.InfeasibleError:
        assert method == "levels"
        return
    assert len(released) == len(owners)
    for known in (["a"], ["b", "c"], *([["a", "b"], ["a", "c"]] if plus else [])):

        def fits(person, row, known=known):
            return all(covers(row[name], person[name]) for name in known)

        chances = slow_scenarios.beliefs(table.to_pylist(), released, fits)
        assert max(map(max, chances)) <= Fraction(1, k)
        for column in zip(*chances, strict=True):
            assert len({owner for owner, chance in zip(owners, column, strict=True) if chance}) >= k


def test_every_serving_method_is_attacked():
    declared = {name for name, method in METHODS.items() if method.supports_scenarios}
    assert declared == set(SERVING)


def test_compatible_rows_are_not_possible_rows():
    """(2, A) has four compatible rows, of which others use up three."""
    people = [("2", "A"), *[("2", "B")] * 3, *[("3", "A")] * 2]
    rows = [("*", "A"), *[("2", "*")] * 3, *[("3", "A")] * 2]

    def fits(person, row):
        return all(label in ("*", value) for value, label in zip(person, row, strict=True))

    assert slow_scenarios.beliefs(people, rows, fits)[0][0] == 1
    table = pa.table({"age": [row[0] for row in rows], "zip": [row[1] for row in rows]})
    plan = {
        "columns": {"age": "quasi-identifier", "zip": "quasi-identifier"},
        "together": False,
        "scenarios": [{"name": "register", "columns": ["age", "zip"], "k": 2}],
    }
    found = shoal.check(table, plan=plan)
    assert (found.holds, found.complete, found.failing_rows) == (False, True, 1)
    loose = {**plan, "scenarios": [{**plan["scenarios"][0], "reading": "loose"}], "method": "hidden-cells"}
    assert shoal.check(table, plan=loose).holds


def test_hidden_cells_of_one_disease_are_a_crowd():
    """The two candidate rows of (20, A) are both HIV."""
    rows = [("*", "A", "HIV")] * 2 + [("20", "B", "flu"), ("20", "B", "gout"), ("30", "A", "flu"), ("30", "A", "gout")]
    table = pa.table({name: [row[j] for row in rows] for j, name in enumerate(("age", "zip", "disease"))})
    plan = {
        "columns": {
            "age": "quasi-identifier",
            "zip": "quasi-identifier",
            "disease": {"role": "sensitive", "known_to_others": False},
        },
        "together": False,
        "models": [{"name": "p-sensitive", "p": 2}],
        "scenarios": [{"name": "register", "columns": ["age", "zip"], "k": 2}],
    }
    found = shoal.check(table, plan=plan)
    assert [(model.name, model.holds, model.failing_rows) for model in found.models] == [
        ("k-anonymity", True, 0),
        ("p-sensitive", False, 2),
    ]
    assert found.models[1].facts["fails_with"] == ["age", "zip"]


def test_a_known_sensitive_column_is_a_label():
    """Each value of the second column is a label within the ages."""
    rows = [("1", "u", "m"), ("1", "v", "m"), ("1", "u", "n"), ("2", "u", "m"), ("2", "v", "m")]
    table = pa.table({name: [row[j] for row in rows] for j, name in enumerate(("age", "disease", "job"))})
    columns = {"age": "quasi-identifier", "disease": "sensitive", "job": "sensitive"}
    plan = {"columns": columns, "together": False, "scenarios": [{"name": "s", "columns": ["age"], "plus": 1, "k": 2}]}
    found = shoal.check(table, plan=plan)
    assert not found.holds
    assert found.models[0].effective == {"k": 1}
    columns["job"] = columns["disease"] = {"role": "sensitive", "known_to_others": False}
    assert shoal.check(table, plan=plan).models[0].effective == {"k": 2}


# -- releases ----------------------------------------------------------------------------------------------------


def survey(rows=300, seed=0):
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "age": random.integers(20, 60, rows),
            "sex": random.choice(["m", "f"], rows),
            "job": random.choice(list("abcde"), rows),
            "vote": random.choice(["x", "y"], rows),
            "disease": random.choice(["flu", "gout", "HIV"], rows),
        }
    )


DOCUMENT = {
    "columns": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "sex": "quasi-identifier",
        "job": "quasi-identifier",
        "vote": "quasi-identifier",
        "disease": {"role": "sensitive", "known_to_others": False},
    },
    "together": False,
    "scenarios": [
        {"name": "register", "columns": ["age", "sex"], "plus": 1, "k": 8, "models": [{"name": "p-sensitive", "p": 2}]}
    ],
}


def test_a_release_states_its_scenarios():
    release = shoal.anonymize(survey(), DOCUMENT)
    content = json.loads(release.certificate.to_json())
    assert content["plan"]["scenarios"] == DOCUMENT["scenarios"]
    assert content["plan"]["together"] is False
    assert content["plan"]["columns"]["disease"]["known_to_others"] is False
    assert "all quasi-identifiers together are not promised" in content["intruder"]
    sizes, values = content["models"]
    assert sizes["parameters"] == {"k": 8, "scenario": "register", "columns": ["age", "sex"], "plus": 1}
    assert sizes["judged_by"] == values["judged_by"] == "the model and the independent verification"
    assert sizes["effective"]["k"] >= 8
    assert release.figures["models"][0]["facts"]["sets"] == 2
    again = shoal.check(release.table, plan=DOCUMENT)
    assert (again.holds, again.complete) == (True, True)
    assert again.models[0].effective == sizes["effective"]


def test_crowds_of_every_set_are_large_enough():
    release = shoal.anonymize(survey(), DOCUMENT)
    rows = release.table.to_pylist()
    for known in (("age", "sex", "job"), ("age", "sex", "vote")):
        for crowd in slow_scenarios.crowds(rows, known):
            assert len(crowd) >= 8
            assert len({rows[number]["disease"] for number in crowd}) >= 2


def test_people_are_counted_in_crowds():
    table = survey(600)
    owners = pa.array([f"p{number // 3}" for number in range(600)])
    document = {**DOCUMENT, "columns": {**DOCUMENT["columns"], "who": "person"}}
    release = shoal.anonymize(table.append_column("who", owners), document)
    assert [model["counts"] for model in release.figures["models"]] == ["people", "people"]
    assert release.figures["models"][0]["holds"]


@pytest.mark.parametrize("method", ["mondrian", "refine", "mdav"])
def test_implied_scenarios_change_nothing(method):
    document = {**DOCUMENT, "together": True, "models": [{"name": "k-anonymity", "k": 8}], "method": method}
    document["scenarios"] = [{"name": "register", "columns": ["age", "sex"], "k": 8}]
    with_scenario = shoal.anonymize(survey(), document)
    without = shoal.anonymize(survey(), {**document, "scenarios": []})
    assert with_scenario.table.equals(without.table)
    assert [model["name"] for model in with_scenario.figures["models"]] == ["k-anonymity"] * 2


def test_linked_rows_are_crowds_of_people():
    table = survey(240)
    owners = pa.array([f"p{number // 2}" for number in range(240)])
    document = {
        "columns": {**DOCUMENT["columns"], "who": "person"},
        "models": [{"name": "trajectory-anonymity", "k": 3, "known_rows": 2}],
        "scenarios": [{"name": "register", "columns": ["age", "sex"], "k": 4}],
    }
    release = shoal.anonymize(table.append_column("who", owners), document)
    assert all(model["holds"] for model in release.figures["models"])
    assert release.figures["models"][1]["effective"]["k"] >= 4


# -- local recoding in two stages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["mondrian", "top-down", "refine", "local-suppression"])
@pytest.mark.parametrize("person", [False, True])
def test_local_recoding_forms_crowds_of_every_set(method, person):
    table = survey(600, seed=3)
    document = {**DOCUMENT, "method": method}
    if person:
        table = table.append_column("who", pa.array([f"p{number // 2}" for number in range(600)]))
        document["columns"] = {**DOCUMENT["columns"], "who": "person"}
    release = shoal.anonymize(table, document)
    assert release.figures["method"]["first_columns"] == ["age", "sex"]
    assert release.figures["released"] == 600
    assert all(model["holds"] for model in release.figures["models"])
    rows = release.table.to_pylist()
    for known in (("age", "sex", "job"), ("age", "sex", "vote")):
        for crowd in slow_scenarios.crowds(rows, known):
            assert len(crowd) >= 8
            assert len({rows[number]["disease"] for number in crowd}) >= 2


def test_two_stages_lose_less_than_one_level_for_all():
    table = survey(300)
    loss = {
        method: shoal.anonymize(table, {**DOCUMENT, "method": method}).figures["loss"]["ncp"]
        for method in ("mondrian", "full-domain")
    }
    assert loss["mondrian"] < loss["full-domain"]


def test_rare_labels_climb_within_crowds():
    """In one crowd of ten, 25 is frequent; 26 and 27 share a decade."""
    table = pa.table({"sex": ["m"] * 10, "age": [25] * 5 + [26] + [27] * 4})
    document = {
        "columns": {"sex": "quasi-identifier", "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}},
        "together": False,
        "scenarios": [{"name": "register", "columns": ["sex"], "plus": 1, "k": 5}],
        "method": "mondrian",
    }
    ages = shoal.anonymize(table, document).table["age"].to_pylist()
    assert sorted(ages) == ["20..29"] * 5 + ["25"] * 5
    table = pa.table({"sex": ["m"] * 10, "age": [25] * 6 + [46] + [57] * 3})
    ages = shoal.anonymize(table, document).table["age"].to_pylist()
    assert ages == ["*"] * 10  # four are left at the top: the rarest other label joins them


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"columns": {**DOCUMENT["columns"], "disease": "sensitive"}}, "scenarios.sensitive-for-method"),
        ({"method": {"name": "local-suppression", "missing": "loose"}}, "method.loose-with-scenarios"),
        ({"models": [{"name": "k-anonymity", "k": 2, "known": 1, "reading": "loose"}]}, "method.not-for-known"),
        (
            {"models": [{"name": "delta-disclosure", "delta": 2, "absent": "ignored"}]},
            "scenarios.model-for-method",
        ),
        ({"method": "switching"}, "method.not-for-scenarios"),
    ],
)
def test_local_recoding_refuses_before_any_work(change, code):
    with pytest.raises(PlanError) as caught:
        shoal.Plan.from_dict({**DOCUMENT, "method": "mondrian", **change})
    assert caught.value.code == code
