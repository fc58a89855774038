"""Releases that count people, from source tables to certificates.

The tables have several rows per person.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.advice.profile import profile as profile_table
from shoal.cli.app import app
from shoal.datasets.visits import visits_table
from shoal.errors import InfeasibleError, PlanError, VerificationError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.methods import METHODS
from shoal.methods.full_domain.lattice import NodeEvaluator
from shoal.pipeline.decide import StepTimer, encode
from shoal.report import render
from shoal.risk import attacks_people
from shoal.runtime.progress import quiet
from shoal.runtime.validation import build_from_section
from shoal.schema import Categories, Column, Role, Schema, Widths
from shoal.schema.spelling import fold
from shoal.table.people import NumberedPeople, number_names
from tests.builders.errors import has_code
from tests.builders.people import visits
from tests.reference import people as slow

runner = CliRunner()

ROLES = {
    "patient": Column(Role.PERSON),
    "age": Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 50))),
    "sex": Column(Role.QUASI_IDENTIFIER),
    "illness": Column(Role.SENSITIVE),
    "remark": Column(Role.DROP),
}


def plan(*models, method=None, **roles):
    return shoal.Plan(
        Schema({**ROLES, **roles}), models or (shoal.models.KAnonymity(5),), method or shoal.methods.FullDomain()
    )


def test_release_counts_people_without_publishing_them():
    """Publish neither the person column nor dropped columns."""
    table = visits()
    found = shoal.anonymize(table, plan(shoal.models.KAnonymity(5), shoal.models.PSensitive(2)))
    assert found.table.column_names == ["age", "sex", "illness"]
    people = found.figures["people"]
    assert people["total"] == people["released"] == 60
    assert people["rows"] == found.table.num_rows
    assert people["smallest_group"] >= 5
    assert found.to_dict()["people"] == people
    assert [model["counts"] for model in found.figures["models"]] == ["people", "people"]
    assert all(model["judged_by"] == "the model and the independent verification" for model in found.figures["models"])
    assert found.risk["highest"] == 1 / people["smallest_group"]


def test_two_patients_with_five_rows_each():
    """Two people are no group of five, though they have ten rows."""
    table = pa.table({"who": ["a"] * 5 + ["b"] * 5, "age": ["30"] * 10})
    roles = Schema({"who": Column(Role.PERSON), "age": Column(Role.QUASI_IDENTIFIER)})
    with pytest.raises(InfeasibleError, match="reach only k = 2"):
        shoal.anonymize(table, shoal.Plan(roles, (shoal.models.KAnonymity(5),)))
    checked = shoal.check(table, ["k-anonymity k=5"], quasi_identifiers=["age"], person=["who"])
    assert not checked.holds
    assert checked.to_dict()["people"] == {"total": 2, "smallest_group": 2}
    assert checked.risk == {"highest": 1 / 2, "average": 1 / 2}
    assert shoal.check(table, ["k-anonymity k=5"], quasi_identifiers=["age"]).holds


def test_people_with_one_shared_illness_are_not_diverse():
    """All five people have HIV, next to other illnesses."""
    table = pa.table(
        {"who": list("abcdeabcd"), "age": ["30"] * 9, "ill": ["HIV"] * 5 + ["flu", "cough", "asthma", "cancer"]}
    )
    roles = {"quasi_identifiers": ["age"], "sensitive": ["ill"]}
    assert shoal.check(table, ["p-sensitive p=4"], **roles).holds
    assert not shoal.check(table, ["p-sensitive p=2"], **roles, person=["who"]).holds


def test_values_of_a_person_in_other_groups_count():
    """Count values that people have in rows of other groups.

    Everybody in the first group has HIV, though two show another illness there.
    """
    table = pa.table(
        {
            "who": ["a", "b", "c", "a", "b", "x", "y"],
            "age": ["30", "30", "30", "40", "40", "40", "40"],
            "ill": ["flu", "cough", "HIV", "HIV", "HIV", "flu", "cough"],
        }
    )
    checked = shoal.check(table, ["p-sensitive p=2"], quasi_identifiers=["age"], sensitive=["ill"], person=["who"])
    assert checked.failing_groups == 1


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_written_release_is_the_verified_one(tmp_path, suffix):
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    document = {
        "source": {"path": "visits.csv"},
        "columns": {
            "patient": {"role": "person"},
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 50]}},
            "sex": {"role": "quasi-identifier"},
            "illness": {"role": "sensitive"},
            "remark": {"role": "drop"},
        },
        "models": [{"name": "k-anonymity", "k": 5}],
        "output": {"path": f"released.{suffix}"},
    }
    made = shoal.release(shoal.Plan.from_dict(document, tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "released.certificate.json", f"released.{suffix}", "released.report.html", "visits.csv",
    ]  # fmt: skip
    certificate = json.loads((tmp_path / "released.certificate.json").read_text())
    assert certificate["people"]["unit"] == made.figures["people"]["unit"]
    assert {"total", "released", "smallest_group"} & set(certificate["people"]) == set()
    assert "rows only" in certificate["people"]["verification"]
    report = (tmp_path / "released.report.html").read_text()
    for person in set(visits().column("patient").to_pylist()):
        assert person not in report


def test_unverified_release_is_not_written(tmp_path, monkeypatch):
    from shoal.io.engines.duckdb import DuckDBEngine

    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    document = {
        "source": {"path": "visits.csv"},
        "columns": {name: {"role": str(column.role)} for name, column in ROLES.items()},
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "full-domain", "suppression": 0.5},
        "output": {"path": "released.csv"},
    }
    project = DuckDBEngine.project

    def wrong(self, table, positions):
        found = project(self, table, positions)
        return self._view(f"SELECT c0, c1, 'flu' AS c2 FROM {found.name}", found.columns)

    monkeypatch.setattr(DuckDBEngine, "project", wrong)
    with pytest.raises(VerificationError, match="not those that were verified"):
        shoal.release(shoal.Plan.from_dict(document, tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]


def test_person_of_several_columns():
    table = pa.table(
        {"family": ["1", "1", "11", "1"], "member": ["12", "12", "2", "1"], "age": ["30"] * 4, "n": [1, 2, 3, 4]}
    )
    checked = shoal.check(table, ["k-anonymity k=2"], quasi_identifiers=["age"], person=["family", "member"])
    assert checked.people.total == 3


def test_spellings_of_a_person_are_one_person():
    table = pa.table({"who": ["a1", "A1 ", "a1", "b"], "age": ["30"] * 4})
    assert shoal.check(table, ["k-anonymity k=2"], quasi_identifiers=["age"], person=["who"]).people.total == 2


KEYS = {
    "words": st.from_regex("[a-bA-B][a-bA-B1-2]?", fullmatch=True),
    "digits": st.from_regex("0?[1-2]0{0,2}", fullmatch=True),
    "whole numbers": st.integers(-3, 120),
    "anything": st.text("aA1 0.-\u00df", max_size=3),
}


@pytest.mark.parametrize("kind", KEYS)
@given(data=st.data())
def test_people_are_numbered_by_folded_names(kind, data):
    """Number people by folded names, however keys are written.

    They are folded all at once if that is possible, or one by one.
    """
    names = data.draw(st.lists(st.none() | KEYS[kind], min_size=1, max_size=12))
    numbers, named = number_names(pa.table({"c0": pa.array(names)}), [0])
    keys = [None if name is None else fold(str(name)) for name in names]
    assert len(named) == len({key for key in keys if key is not None})
    assert [number < 0 for number in numbers] == [key is None for key in keys]
    found = NumberedPeople(None, 0, named).names
    assert [None if number < 0 else found[number] for number in numbers] == [key and (key,) for key in keys]


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(20, 39), st.sampled_from("fm")), min_size=1, max_size=30),
    limit=st.integers(0, 30),
    seed=st.integers(0, 9),
)
def test_search_counts_people_of_every_node(rows, limit, seed):
    columns = zip(*rows, strict=True)
    table = pa.table(dict(zip(("patient", "age", "sex"), map(pa.array, columns), strict=True)))
    schema = Schema({name: ROLES[name] for name in ("patient", "age", "sex")})
    chosen = shoal.Plan(schema, (shoal.models.KAnonymity(3),), shoal.methods.FullDomain())
    with DuckDBEngine() as engine:
        problem = encode(engine, Source(frame=table), chosen, StepTimer(quiet))
    evaluator = NodeEvaluator(problem, shoal.methods.FullDomain().measure(problem))
    slowly = NodeEvaluator(problem, shoal.methods.FullDomain().measure(problem), by_sizes=False)
    nodes = [(age, sex) for age in range(problem.ladders[0].height + 1) for sex in (0, 1)]
    for node in np.random.default_rng(seed).permutation(nodes).tolist():  # coarse nodes from any finer one
        groups: dict[tuple[int, int], list[int]] = {}
        for person, age, sex in rows:
            width = (1, 5, 10, 50, 1000)[node[0]]
            groups.setdefault((age // width, "" if node[1] else sex), []).append(person)
        left_out = sum(len(people) for people in groups.values() if len(set(people)) < 3)
        found, other = evaluator.look(tuple(node), limit), slowly.look(tuple(node), limit)
        assert (found.suppressed > limit) == (left_out > limit)
        assert found.certain <= left_out
        if left_out <= limit:
            assert found.suppressed == left_out
            assert found.groups == sum(len(set(people)) >= 3 for people in groups.values()) == other.groups
            assert found.loss == pytest.approx(other.loss)


def test_rows_without_person_are_separate_people():
    """Count each row without a person as one person, and warn about it."""
    table = pa.table({"who": ["a", None, None, "", "a"], "age": ["30"] * 5})
    roles = Schema({"who": Column(Role.PERSON), "age": Column(Role.QUASI_IDENTIFIER)})
    found = shoal.anonymize(table, shoal.Plan(roles, (shoal.models.KAnonymity(4),)))
    assert found.figures["people"]["total"] == 4
    assert found.figures["people"]["rows_without_person"] == 3
    assert "person-missing" in [warning["code"] for warning in found.warnings]
    with pytest.raises(InfeasibleError, match="reach only k = 4"):
        shoal.anonymize(table, shoal.Plan(roles, (shoal.models.KAnonymity(5),)))


def test_warning_for_people_with_one_row_each():
    """Warn that counting people is the same as counting rows."""
    table = pa.table({"who": ["a", "b", "c"], "age": ["30"] * 3})
    roles = Schema({"who": Column(Role.PERSON), "age": Column(Role.QUASI_IDENTIFIER)})
    found = shoal.anonymize(table, shoal.Plan(roles, (shoal.models.KAnonymity(3),)))
    assert "person-unique" in [warning["code"] for warning in found.warnings]


def test_one_person_is_infeasible():
    table = pa.table({"who": ["a"] * 9, "age": ["30"] * 9})
    roles = Schema({"who": Column(Role.PERSON), "age": Column(Role.QUASI_IDENTIFIER)})
    with pytest.raises(InfeasibleError, match="reach only k = 1"):
        shoal.anonymize(table, shoal.Plan(roles, (shoal.models.KAnonymity(2),)))


def test_person_column_has_no_other_role():
    with pytest.raises(PlanError, match="one role"):
        shoal.check(visits(), ["k-anonymity k=2"], quasi_identifiers=["patient"], person=["patient"])
    with pytest.raises(PlanError, check=has_code("pseudonyms.need-trajectory-anonymity")):
        plan(patient=Column(Role.PERSON, pseudonym=True))
    with pytest.raises(PlanError, match="Only a quasi-identifier"):
        Column(Role.PERSON, hierarchy=Widths((5,)))


def test_row_order_is_independent_of_people():
    """Renaming all people does not change the release."""
    table = visits()
    renamed = table.set_column(
        0, "patient", pa.array([f"Q{hash_of(person)}" for person in table.column(0).to_pylist()])
    )
    chosen = plan(shoal.models.KAnonymity(5))
    assert shoal.anonymize(table, chosen).table.equals(shoal.anonymize(renamed, chosen).table)


def hash_of(text):
    return (int(text[1:]) * 7919) % 1009


PUBLISHING = sorted(set(METHODS) - {"population-grid", "sampled-grid", "hidden-cells", "facts-suppression"})


def method_named(name):
    given = {
        "levels": {"levels": {"age": 3}},
        "anti-unification": {"patterns": "model-aware", "keep_rest": True},
        "p-first": {"effort": 100},
    }
    parameters = given.get(name, {})
    return build_from_section(METHODS, {"name": name, **parameters}, "method")


@pytest.mark.parametrize("models", ["k", "k and p", "k and t"])
@pytest.mark.parametrize("method", PUBLISHING)
def test_every_method_forms_groups_of_people(method, models):
    table = visits(200)
    chosen = {
        "k": (shoal.models.KAnonymity(5),),
        "k and p": (shoal.models.KAnonymity(5), shoal.models.PSensitive(2)),
        "k and t": (shoal.models.KAnonymity(5), shoal.models.TCloseness(0.4)),
    }[models]
    found = shoal.anonymize(table, plan(*chosen, method=method_named(method)))
    assert found.figures["people"]["smallest_group"] >= 5
    assert "patient" not in found.table.column_names


REFUSING = (
    {"name": "local-suppression", "missing": "loose"},
    {"name": "anti-unification", "patterns": "overlapping"},
    {"name": "population-grid", "k": 5, "ledger": "ledger", "universe": 100},
)


@pytest.mark.parametrize("method", REFUSING, ids=lambda method: method["name"])
def test_methods_without_people_refuse_the_plan(method):
    """Methods that cannot count people refuse the plan when it is made."""
    with pytest.raises(PlanError, match="cannot count people"):
        plan(method=build_from_section(METHODS, method, "method"))


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("123"), st.sampled_from(["a", "b", None])),
        min_size=1,
        max_size=16,
    ),
    least=st.integers(2, 4),
)
def test_attacks_on_people_match_brute_force(rows, least):
    columns = zip(("who", "age", "ill"), zip(*rows, strict=True), strict=True)
    table = pa.table({name: pa.array(column, pa.string()) for name, column in columns})
    schema = Schema({"age": Column(Role.QUASI_IDENTIFIER), "ill": Column(Role.SENSITIVE)})
    found = shoal.attack(table, schema, person="who", models=[shoal.models.KAnonymity(least)])
    labels = [row[:2] for row in rows]
    exposed = {result.name: result.exposed for result in found.results}
    assert found.people.total == len({row[0] for row in rows})
    assert found.people.exposed == exposed["groups of few people"] == len(slow.exposed_by_rows(labels, 1, least))
    assert exposed["two rows"] == len(slow.exposed_by_rows(labels, 2, least))
    assert exposed["three rows"] == len(slow.exposed_by_rows(labels, 3, least))
    assert exposed["all rows"] == len(slow.exposed_by_all_rows(labels, least))
    assert exposed["composition"] == len(slow.exposed_by_composition(rows))


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("123"), st.sampled_from(["a", "b", "c", None])),
        min_size=1,
        max_size=14,
    ),
    excluded=st.integers(0, 2),
)
def test_value_attacks_on_people_match_brute_force(rows, excluded):
    """Use brute force over the people of each group.

    It knows everything that each of them has.
    """
    columns = dict(zip(("who", "age", "illness"), map(list, zip(*rows, strict=True)), strict=True))
    table = pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})
    kinds = Categories((("a",), ("b", "c")))
    schema = Schema({"age": Column(Role.QUASI_IDENTIFIER), "illness": Column(Role.SENSITIVE, categories=kinds)})
    found = shoal.attack(table, schema, person=["who"], excluded=excluded)
    has = {person: {one for other, _, one in rows if other == person and one} for person, _, _ in rows}
    groups = {age: {person for person, other, _ in rows if other == age and has[person]} for _, age, _ in rows}
    results = [result for result in found.results if result.column == "illness" and result.name != "composition"]
    if not any(has.values()):
        assert not results
        return
    assert {result.counts for result in results} == {"people"}
    assert {result.people for result in results} == {sum(map(bool, has.values()))}
    exposed = {result.name: result.exposed for result in results}

    def in_groups(good):
        return len({person for group in groups.values() if group and good(group) for person in group})

    def hit(group, sets, values):
        return any(all(set(some) & sets(person) for person in group) for some in itertools.combinations("abc", values))

    kind = {"a": "a", "b": "b", "c": "b"}
    assert exposed["homogeneity"] == in_groups(lambda group: hit(group, has.get, 1))
    assert exposed["similarity"] == in_groups(
        lambda group: hit(group, lambda person: {kind[v] for v in has[person]}, 1)
    )
    sizes = range(1, excluded + 2)
    assert exposed["background knowledge"] == in_groups(lambda group: any(hit(group, has.get, n) for n in sizes))
    right = 0
    for person in (person for person in has if has[person]):
        best = []
        for age, group in groups.items():
            times = Counter(value for other in group for value in has[other])
            value = min(times, key=lambda value: (-times[value], value), default=None)
            if person in group:
                best.append((-times[value] / len(group), age, value))
        right += min(best)[2] in has[person]
    assert exposed["inference"] == right


@settings(max_examples=60)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12),
    step=st.sampled_from([1, 50]),  # cells few enough to count all of them, or so many that keys are sorted
)
def test_commonest_value_is_the_first_of_ties(pairs, step):
    group = np.asarray([group for group, _ in pairs], np.int64)
    value = np.asarray([value * step for _, value in pairs], np.int32)
    largest, which = attacks_people._commonest_values(group, value, 5)
    for g in range(5):
        times = Counter(int(one) for owner, one in zip(group, value, strict=True) if owner == g)
        assert largest[g] == max(times.values(), default=0)
        assert which[g] == min((one for one in times if times[one] == largest[g]), default=-1)


def test_report_counts_attacks_in_people():
    """Count people, not rows, if the plan has a person column."""
    found = shoal.anonymize(visits(), plan(shoal.models.KAnonymity(5)))
    page = found.report(internal=True).html
    assert "People exposed by each attack" in page
    assert "Rows exposed by each attack" not in page
    assert "exposed by each attack" not in render(found)  # a reader cannot tell the people apart
    attacks = found.description.after.attacks
    assert {(attack.name, attack.counts) for attack in attacks} == {("homogeneity", "people"), ("inference", "people")}
    assert {attack.people for attack in attacks} == {found.figures["people"]["released"]}


def test_report_counts_people_in_their_smallest_group():
    """Count everybody once, in the smallest of their groups.

    Ann has a row in a group of two people and one in a group of three; Eve is alone in the original.
    """
    table = pa.table({"who": list("abbcdaeee"), "age": [1, 1, 1, 2, 2, 2, 3, 3, 3]})
    schema = Schema({"who": Column(Role.PERSON), "age": Column(Role.QUASI_IDENTIFIER, Widths((2,)))})
    facts = shoal.anonymize(table, shoal.Plan(schema, (shoal.models.KAnonymity(2),))).description
    before = facts.before
    assert (before.unit, before.rows, before.groups) == ("people", 5, 3)
    assert {band.low: band.rows for band in before.bands if band.rows} == {1: 1, 2: 4}
    assert before.risk.prosecutor.highest == 1
    assert before.risk.prosecutor.average == pytest.approx((1 / 2 + 1 / 2 + 1 / 3 + 1 / 3 + 1) / 5)
    assert before.risk.prosecutor.at_risk == pytest.approx(1 / 5)


def test_release_by_rows_exposes_all_people(tmp_path):
    """Each of 400 patients is a group of rows.

    The number of the patient is published.
    """
    random = np.random.default_rng(2)
    person = np.repeat(np.arange(400), random.integers(10, 20, 400))
    table = pa.table(
        {"patient_id": person, "ward": random.integers(0, 3, 400)[person], "ill": random.integers(0, 6, len(person))}
    )
    roles = Schema({"patient_id": Column(Role.QUASI_IDENTIFIER), "ward": Column(Role.QUASI_IDENTIFIER)})
    released = shoal.anonymize(
        table.select(["patient_id", "ward"]), shoal.Plan(roles, (shoal.models.KAnonymity(5),))
    ).table
    pyarrow.csv.write_csv(released, tmp_path / "released.csv")
    done = runner.invoke(app, ["attack", str(tmp_path / "released.csv"), "-q", "ward", "--json"])
    assert "people" not in json.loads(done.stdout)
    arguments = ["attack", str(tmp_path / "released.csv"), "-q", "patient_id,ward", "--person", "patient_id"]
    done = runner.invoke(app, [*arguments, "--json"])
    assert json.loads(done.stdout)["people"] == {"total": 400, "exposed": 400, "crowd_below": 5}
    assert "400 of 400 people" in runner.invoke(app, arguments).stdout


def test_check_person_option(tmp_path):
    pyarrow.csv.write_csv(pa.table({"who": ["a"] * 5 + ["b"] * 5, "age": ["30"] * 10}), tmp_path / "t.csv")
    arguments = ["check", str(tmp_path / "t.csv"), "-q", "age", "-m", "k-anonymity k=5"]
    assert runner.invoke(app, arguments).exit_code == 0
    done = runner.invoke(app, [*arguments, "--person", "who", "--json"])
    assert done.exit_code == 1
    answer = json.loads(done.stdout)
    assert (answer["people"], answer["models"][0]["counts"]) == ({"total": 2, "smallest_group": 2}, "people")


def test_warning_for_repeating_identifiers(tmp_path):
    """Warn about repeating identifiers if the plan has no person column."""
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    document = {
        "source": {"path": "visits.csv"},
        "columns": {name: {"role": str(column.role)} for name, column in ROLES.items()},
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "full-domain", "suppression": 0.5},
        "output": {"path": "released.csv"},
    }
    document["columns"]["patient"]["role"] = "identifier"
    document["columns"]["remark"]["role"] = "identifier"  # one value is no key
    found = shoal.release(shoal.Plan.from_dict(document, tmp_path))
    (warning,) = [warning for warning in found.warnings if warning["code"] == "identifier-repeats"]
    assert "60 values" in warning["text"]
    assert "People may have several rows" in found.report(internal=True).html
    assert "People may have several rows" not in (tmp_path / "released.report.html").read_text()
    document["columns"]["patient"]["role"] = "drop"
    found = shoal.release(shoal.Plan.from_dict(document, tmp_path), overwrite=True)
    assert "identifier-repeats" not in [warning["code"] for warning in found.warnings]


def test_warning_for_columns_linking_rows(tmp_path):
    """Warn with figures about columns that link the rows of a person."""
    table = visits()
    birth = pa.array(
        [f"19{40 + int(person[1:]) % 50}-03-{1 + int(person[1:]) // 50:02}" for person in table["patient"].to_pylist()]
    )
    often = sum(times > 1 for times in Counter(table["patient"].to_pylist()).values())
    chosen = plan(shoal.models.KAnonymity(5), birth=Column(Role.OTHER))
    found = shoal.anonymize(table.append_column("birth", birth), chosen)
    (warning,) = [one for one in found.warnings if one["code"] == "rows-linkable"]
    assert f"tell {often} of the {often} people with several rows apart" in warning["text"]
    assert found.figures["linking_columns"]["told_apart"] == often
    assert "'birth'" in warning["text"]
    assert "'illness'" not in warning["text"]
    assert "Rows can be linked" in found.report(internal=True).html
    for column in (pa.array(["x"] * len(birth)), pa.array(range(len(birth)))):  # the same for all; never the same
        release = shoal.anonymize(table.append_column("birth", column), chosen)
        assert "rows-linkable" not in [one["code"] for one in release.warnings]
    by_trajectory = chosen.with_(
        models=(shoal.models.TrajectoryAnonymity(2),), method=shoal.methods.FactsSuppression(suppression=0.9)
    )
    release = shoal.anonymize(table.append_column("birth", birth), by_trajectory)
    assert "rows-linkable" not in [one["code"] for one in release.warnings]


def test_check_attack_and_compare_with_person_plan(tmp_path):
    table, chosen = visits(), plan(shoal.models.KAnonymity(5))
    released = shoal.anonymize(table, chosen).table
    assert shoal.check(released, plan=chosen).holds
    assert shoal.attack(released, chosen, original=table).rows == released.num_rows
    assert "patient" not in shoal.compare(table, released, chosen).columns


def test_visits_generator():
    """The generator gives patients with one to sixty visits."""
    table = visits_table(3000, seed=4)
    often = Counter(table["patient"].to_pylist())
    assert len(often) == 3000
    assert (min(often.values()), max(often.values())) == (1, 60)
    assert 3 * 3000 < table.num_rows < 6 * 3000
    assert table.equals(visits_table(3000, seed=4))
    assert not table.equals(visits_table(3000, seed=5))
    own = {(row["patient"], row["sex"], row["birth_year"], row["region"]) for row in table.to_pylist()}
    assert len(own) == 3000
    assert {"diabetes", "HIV", "flu"} <= set(table["condition"].to_pylist())
    assert table["patient"].to_pylist() != sorted(table["patient"].to_pylist())


def test_draft_finds_person_column_by_content():
    random = np.random.default_rng(3)
    person = np.repeat(np.arange(80), random.integers(2, 9, 80))
    facts = {name: random.integers(0, values, 80)[person] for name, values in (("born", 60), ("sex", 2), ("zip", 30))}
    table = pa.table({"pp": person * 7 + 1003, **facts, "cost": random.integers(0, 500, len(person))})
    roles = {column.name: column.role for column in profile_table(table).columns}
    assert roles.pop("pp") is Role.PERSON
    assert Role.PERSON not in roles.values()
    alone = profile_table(table.drop_columns(["pp"]))  # a place has constant facts too, and is no person
    assert Role.PERSON not in [column.role for column in alone.columns]


def test_no_warning_for_shared_names_with_a_row_key():
    """Do not warn about shared names if a key is unique in all rows."""
    rows = 60
    data = pa.table({
        "id": list(range(rows)), "first": [f"n{n % 7}" for n in range(rows)], "doctor_id": [n % 9 for n in range(rows)],
        "email": [f"p{n % 20}@x.org" for n in range(rows)], "age": [n % 3 for n in range(rows)],
    })  # fmt: skip
    roles = {name: {"role": "identifier"} for name in ("id", "first", "doctor_id", "email")}
    plan = {"columns": {**roles, "age": {"role": "quasi-identifier"}}, "models": [{"name": "k-anonymity", "k": 2}]}
    found = shoal.anonymize(data, plan).figures["repeating_identifiers"]
    assert set(found) == {"email"}
    del roles["id"]
    plan["columns"] = {**roles, "age": {"role": "quasi-identifier"}}
    found = shoal.anonymize(data.drop_columns(["id"]), plan).figures["repeating_identifiers"]
    assert set(found) == {"first", "doctor_id", "email"}
