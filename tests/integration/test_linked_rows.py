"""People with linkable rows: models and releases.

An intruder knows several rows of a person, or all. Models are compared with brute force.
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
from shoal.cli.app import app
from shoal.errors import InfeasibleError, PlanError, VerificationError
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.models.by_people import ByPeople
from shoal.pipeline import decide
from shoal.schema import Column, Role, Schema, Widths
from shoal.table import read_frequency_set
from shoal.verification.independent import differences, evaluate_people
from tests.builders.errors import has_code
from tests.builders.people import visits
from tests.builders.people_models import MODELS, ROWS, SCHEMA, everybody_of, read, reference_groups
from tests.builders.plans import write_plan
from tests.reference import people as slow

PSEUDONYM = Column(Role.PERSON, pseudonym=True)


@pytest.fixture(scope="module")
def engine():
    with DuckDBEngine() as opened:
        yield opened


@pytest.fixture
def key(tmp_path, monkeypatch):
    file = tmp_path / "key"
    file.write_bytes(b"0123456789abcdef0123456789abcdef")
    file.chmod(0o600)
    monkeypatch.setenv("SHOAL_PSEUDONYM_KEY", str(file))


def linked(known_rows=None, k=3, method=None, models=(), **roles):
    columns = {
        "patient": PSEUDONYM,
        "age": Column(Role.QUASI_IDENTIFIER, Widths((10, 50))),
        "sex": Column(Role.QUASI_IDENTIFIER),
        "illness": Column(Role.SENSITIVE),
        "remark": Column(Role.DROP),
        **roles,
    }
    all_models = (shoal.models.TrajectoryAnonymity(k, known_rows), *models)
    return shoal.Plan(Schema(columns), all_models, method or shoal.methods.FactsSuppression(suppression=0.5))


@pytest.mark.parametrize("known_rows", [2, 3, None])
def test_linked_row_models_match_definition_and_verification(engine, known_rows):
    cases = {**MODELS, "trajectory": (shoal.models.TrajectoryAnonymity(3, known_rows), lambda g, p, e: len(g) >= 3)}

    @settings(max_examples=12)
    @given(rows=ROWS)
    def check(rows):
        table = read(engine, rows)
        frequencies = read_frequency_set(engine, table, SCHEMA)
        _, people = reference_groups(rows)
        named = [(person if person is not None else index, group) for index, (person, group, *_) in enumerate(rows)]
        labels = sorted({group for _, group in named})
        _, found = frequencies.group(frequencies.codes, [d.size for d in frequencies.quasi])
        looked_at = table.positions(("group", "who"))
        own = evaluate_people(
            engine.frequencies(table, looked_at), everybody_of(engine, table, [model for model, _ in cases.values()]),
            looked_at[:1], looked_at[1], SCHEMA, [model for model, _ in cases.values()], known_rows,
        )  # fmt: skip
        groups = [sorted({person for person, label in named if label == one}, key=str) for one in labels]
        crowds = [*groups, *slow.crowds(named, known_rows)]
        assert (own.rows, own.groups, own.smallest) == (len(rows), len(groups), min(map(len, groups)))
        for opinion, (name, (model, holds)) in zip(own.evaluations, cases.items(), strict=True):
            expected = all(holds(crowd, people, list(people)) for crowd in crowds)
            verdict = ByPeople(model, known_rows).assess(found)
            assert verdict.holds.all() == opinion.holds == expected, name
            assert not differences(opinion, model, expected, verdict.effective), name
            if name == "trajectory":
                assert verdict.effective == {"k": min(map(len, crowds))}

    check()


def test_linked_row_models_with_coarser_labels(engine):
    """Models that hold for labels hold for coarser ones.

    So a search without suppression infers from a node to its generalizations. This is possible with models that are
    closed under supersets.
    """

    @settings(max_examples=20)
    @given(rows=ROWS, known_rows=st.sampled_from([2, None]), seed=st.integers(0, 2**20))
    def check(rows, known_rows, seed):
        frequencies = read_frequency_set(engine, read(engine, rows), SCHEMA)
        random = np.random.default_rng(seed)
        number = np.unique(random.integers(0, 6, len(frequencies.count)), return_inverse=True)[1].astype(np.int64)
        for of_rows in (
            shoal.models.TrajectoryAnonymity(2),
            *(model for model, _ in MODELS.values() if model.closed_under_superset),
        ):
            model = ByPeople(of_rows, known_rows)
            assert (model.closed_under_union, model.closed_under_superset) == (True, False)
            if model.assess(frequencies.groups_of(number, number.max() + 1)).holds.all():
                assert model.assess(frequencies.groups_of(number // 2, number.max() // 2 + 1)).holds.all()

    check()


def histories(table, columns=("age", "sex")):
    rows = table.select(["patient", *columns]).to_pylist()
    return [(row["patient"], tuple(row[name] for name in columns)) for row in rows]


@pytest.mark.parametrize("known_rows", [2, None])
@pytest.mark.parametrize("method", ["facts-suppression", "full-domain", "levels"])
def test_release_with_pseudonyms_forms_crowds(key, method, known_rows):
    """Everybody is in a crowd of at least k people."""
    made = {
        "facts-suppression": shoal.methods.FactsSuppression(suppression=0.6),
        "full-domain": shoal.methods.FullDomain(),
        "levels": shoal.methods.Levels({"age": 3, "sex": 1}),
    }
    table = visits(60)
    if method != "facts-suppression":  # all rows stay, so several people must have as many rows
        table = table.filter(pa.array([number < 3 for number in _row_numbers(table)]))
    plan = linked(known_rows, method=made[method], models=(shoal.models.PSensitive(2),))
    found = shoal.anonymize(table, plan)
    released = found.table
    assert released.column_names == ["patient", "age", "sex", "illness"]
    assert set(map(len, released.column("patient").to_pylist())) == {32}
    for crowd in slow.crowds(histories(released), known_rows):
        assert len(crowd) >= 3
    has = {}
    for row in released.to_pylist():
        has.setdefault(row["patient"], set()).add(row["illness"])
    if method == "full-domain" and known_rows is None:
        for crowd in slow.crowds(histories(released), None):
            assert slow.p_sensitive(crowd, has, 2)
    facts = found.figures["people"]
    smallest = {}
    for crowd in slow.crowds(histories(released), known_rows):
        for person in crowd:
            smallest[person] = min(smallest.get(person, len(crowd)), len(crowd))
    assert facts["smallest_crowd"] == min(smallest.values())
    assert found.figures["risk"]["highest"] == 1 / min(smallest.values())
    assert found.figures["risk"]["average"] == pytest.approx(sum(1 / n for n in smallest.values()) / len(smallest))
    assert facts["known_rows"] == ("all" if known_rows is None else known_rows)
    assert facts["released"] == len(has)
    assert found.figures["pseudonyms"] == ["patient"]
    verdict = found.figures["models"][0]
    assert (verdict["name"], verdict["judged_by"]) == (
        "trajectory-anonymity",
        "the model and the independent verification",
    )
    assert shoal.check(released, plan=plan).models[0].holds
    assert shoal.check(released, plan=plan).models[0].counts == "people"


def _row_numbers(table):
    seen = Counter()
    for person in table.column("patient").to_pylist():
        seen[person] += 1
        yield seen[person] - 1


def test_suppression_of_single_rows_of_people(key):
    """Rows of people are suppressed; the others are as in the source."""
    table = visits(80, seed=3)
    found = shoal.anonymize(
        table, linked(method=shoal.methods.FactsSuppression(suppression=0.6, levels={"age": (1, 2)}))
    )
    assert 0 < found.figures["suppressed"] < 0.6 * table.num_rows
    source = Counter()
    for person, count in Counter(table.column("patient").to_pylist()).items():
        source[count] += 1
        assert person not in found.table.column("patient").to_pylist()
    row_counts = Counter(Counter(found.table.column("patient").to_pylist()).values())
    assert sum(size * number for size, number in row_counts.items()) == found.figures["released"]
    again = shoal.anonymize(
        table, linked(method=shoal.methods.FactsSuppression(suppression=0.6, levels={"age": (1, 2)}))
    )
    assert again.table.equals(found.table)


@settings(max_examples=10)
@given(st.integers(0, 2**20), st.sampled_from([2, 3, None]), st.sampled_from([0.2, 1.0]))
def test_facts_suppression_finds_crowds_or_is_infeasible(seed, known_rows, share):
    """No pseudonym is needed: rows may be linkable by something else."""
    random = np.random.default_rng(seed)
    people = int(random.integers(2, 12))
    ids = np.repeat(np.arange(people), random.integers(1, 5, people))
    table = pa.table({
        "patient": pa.array(ids), "age": pa.array(random.integers(20, 60, len(ids))),
        "sex": pa.array(random.choice(["f", "m"], len(ids))), "illness": pa.array(random.choice(["a", "b"], len(ids))),
        "remark": pa.array(["-"] * len(ids)),
    })  # fmt: skip
    method = shoal.methods.FactsSuppression(suppression=share)
    plan = linked(known_rows, 2, method, (shoal.models.AlphaK(0.7, 2, "illness"),),
                   patient=Column(Role.PERSON))  # fmt: skip
    try:
        found = shoal.anonymize(table, plan)
    except InfeasibleError as error:
        assert "at the highest levels" in str(error)
        return
    assert found.figures["suppressed"] <= share * len(ids)
    assert found.table.column_names == ["age", "sex", "illness"]


def test_written_release_has_the_verified_pseudonyms(tmp_path, key, monkeypatch):
    """The file is what was verified, pseudonyms included."""
    (tmp_path / "in").mkdir()
    pyarrow.csv.write_csv(visits(40), tmp_path / "in" / "visits.csv")
    write_plan(
        tmp_path,
        columns={
            "patient": {"role": "person", "pseudonym": True},
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 50]}},
            "sex": "quasi-identifier",
            "illness": "sensitive",
            "remark": "drop",
        },
        models="trajectory-anonymity k=3 known_rows=2",
        method={"name": "facts-suppression", "suppression": 0.5},
        source="in/visits.csv",
        output="out/released.csv",
    )
    (tmp_path / "out").mkdir()
    done = CliRunner().invoke(app, ["release", str(tmp_path / "plan.toml"), "--json"])
    assert done.exit_code == 0, done.output
    released = pyarrow.csv.read_csv(tmp_path / "out" / "released.csv")
    assert released.column_names == ["patient", "age", "sex", "illness"]
    for crowd in slow.crowds(histories(released), 2):
        assert len(crowd) >= 3
    asks = ["check", str(tmp_path / "out" / "released.csv"), "-q", "age,sex", "--person", "patient", "--json"]
    answers = [
        json.loads(CliRunner().invoke(app, [*asks, "-m", f"trajectory-anonymity k={k} known_rows=2"]).output)["holds"]
        for k in (3, 40)
    ]
    assert answers == [True, False]
    report = (tmp_path / "out" / "released.report.html").read_text()
    assert "Who knows 2 rows of a person, and can link them, finds at least 3 people who have them." in report
    plan, before = shoal.Plan.read(tmp_path / "plan.toml"), (tmp_path / "out" / "released.csv").read_bytes()
    relabel, name_people = DuckDBEngine.relabel, decide.name_people

    def exchanged(engine, table, position, labels):
        other = labels.set_column(1, "label", pa.array(labels["label"].to_pylist()[::-1]))
        return relabel(engine, table, position, other)

    def of_all(*given):
        made = name_people(*given)
        return made.set_column(1, "label", pa.array(["0" * 32] * made.num_rows))

    for home, name, fault in ((DuckDBEngine, "relabel", exchanged), (decide, "name_people", of_all)):
        with monkeypatch.context() as patched:
            patched.setattr(home, name, fault)
            with pytest.raises(VerificationError):
                shoal.release(plan, overwrite=True)
        assert (tmp_path / "out" / "released.csv").read_bytes() == before


def test_spellings_of_a_person_have_one_pseudonym(key):
    """Rows without a person have none."""
    names = ["Ann", "ann ", "ANN", "Bob", "bob", "Bob", None, None]
    table = pa.table({
        "patient": names, "age": [30] * 8, "sex": ["f"] * 8, "illness": ["a", "b"] * 4, "remark": ["-"] * 8,
    })  # fmt: skip
    found = shoal.anonymize(table, linked(k=2, method=shoal.methods.FullDomain()))
    made = Counter(found.table.column("patient").to_pylist())
    assert sorted(made.values()) == [2, 3, 3]
    assert made[None] == 2
    assert found.figures["people"]["rows_without_person"] == 2


def test_a_number_and_its_text_have_one_pseudonym(key):
    rest = {"age": [30] * 4, "sex": ["f"] * 4, "illness": ["a", "b"] * 2, "remark": ["-"] * 4}
    plan = linked(k=2, method=shoal.methods.FullDomain())
    made = [
        shoal.anonymize(pa.table({"patient": names, **rest}), plan).table["patient"].to_pylist()
        for names in ([17, 17, 4, 4], ["17", "17", "4", "4"], [17.0, 17.0, 4.0, 4.0])
    ]
    assert made[0] == made[1] == made[2]
    assert len(set(made[0])) == 2


def test_pseudonym_of_a_person_needs_trajectory_anonymity():
    columns = {"id": PSEUDONYM, "age": Column(Role.QUASI_IDENTIFIER)}
    with pytest.raises(PlanError, check=has_code("pseudonyms.need-trajectory-anonymity")):
        shoal.Plan(Schema(columns), (shoal.models.KAnonymity(3),))
    with pytest.raises(PlanError, check=has_code("people.no-person-column")):
        shoal.Plan(Schema({"age": Column(Role.QUASI_IDENTIFIER)}), (shoal.models.TrajectoryAnonymity(3),))
    with pytest.raises(PlanError, match=r"mondrian forms groups of single rows.*full-domain.*facts-suppression"):
        shoal.Plan(Schema(columns), (shoal.models.TrajectoryAnonymity(3),), shoal.methods.Mondrian())
    with pytest.raises(PlanError, check=has_code("method.suppression-with-linked-rows")):
        shoal.Plan(Schema(columns), (shoal.models.TrajectoryAnonymity(3),), shoal.methods.FullDomain(suppression=0.1))
    with pytest.raises(PlanError, check=has_code("models.linked-rows-said-twice")):
        shoal.Plan(Schema(columns), (shoal.models.TrajectoryAnonymity(3), shoal.models.TrajectoryAnonymity(3, 2)))
    with pytest.raises(PlanError, check=has_code("method.facts-suppression-needs-person")):
        shoal.Plan(
            Schema({"age": Column(Role.QUASI_IDENTIFIER)}),
            (shoal.models.KAnonymity(3),),
            shoal.methods.FactsSuppression(),
        )
    with pytest.raises(PlanError, check=has_code("models.trajectory-needs-person")):
        shoal.check(pa.table({"a": [1, 1]}), ["trajectory-anonymity k=2"], quasi_identifiers=["a"])


def test_repeated_identifier_cannot_become_a_pseudonym(key):
    table = pa.table({"name": ["Ann", "Ann", "Bob", "Eve"], "age": [1, 1, 1, 1]})
    columns = {"name": Column(Role.IDENTIFIER, pseudonym=True), "age": Column(Role.QUASI_IDENTIFIER)}
    with pytest.raises(PlanError, check=has_code("pseudonyms.would-link-rows", values=3, rows=4)) as refused:
        shoal.anonymize(table, shoal.Plan(Schema(columns), (shoal.models.KAnonymity(2),)))
    assert "Ann" not in str(refused.value)
    assert (
        shoal.anonymize(table.slice(1), shoal.Plan(Schema(columns), (shoal.models.KAnonymity(2),))).table.num_rows == 3
    )


def test_models_apply_to_crowds_of_equal_histories(key):
    """k people with the same rows and one illness do not hide it.

    They pass trajectory-anonymity; every other model is judged on them, and not on the groups of rows alone.
    """

    def table(illness):
        rows = [(f"p{n}", age, illness(n)) for n in range(18) for age in [(30,), (40,), (30, 40)][n % 3]]
        owners, age, value = (list(part) for part in zip(*rows, strict=True))
        none = ["-"] * len(rows)
        return pa.table({"patient": owners, "age": age, "sex": none, "illness": value, "remark": none})

    fixed, diverse = shoal.methods.Levels(), (shoal.models.PSensitive(2),)
    mixed, homogeneous = table(lambda n: "HIV" if n < 9 else "flu"), table(lambda n: "HIV" if n % 3 == 2 else "flu")
    assert shoal.anonymize(mixed, linked(method=fixed, models=diverse)).figures["models"][1]["holds"]
    assert shoal.anonymize(homogeneous, linked(method=fixed)).figures["models"][0]["holds"]
    by_rows = linked(method=fixed, models=diverse, patient=Column(Role.PERSON)).with_(models=diverse)
    assert shoal.anonymize(homogeneous, by_rows).figures["models"][0]["holds"]
    for known_rows in (2, None):
        with pytest.raises(InfeasibleError, match="p-sensitive"):
            shoal.anonymize(homogeneous, linked(known_rows, method=fixed, models=diverse))


def test_limit_of_row_sets(monkeypatch):
    from shoal.table import linked_rows as module

    monkeypatch.setattr(module, "MAX_ROW_SETS", 10)
    table = pa.table({"who": ["a"] * 6 + ["b"] * 6, "age": list(range(6)) * 2})
    with pytest.raises(PlanError, match="more than 10 sets of rows"):
        shoal.check(table, ["trajectory-anonymity k=2 known_rows=2"], quasi_identifiers=["age"], person=["who"])
    assert shoal.check(table, ["trajectory-anonymity k=2"], quasi_identifiers=["age"], person=["who"]).holds


def test_known_rows_are_multisets():
    """Having a label twice is not the same as having it once.

    No set is examined that nobody has.
    """
    for rows, expected in itertools.product(
        [[("a", 1), ("a", 1), ("b", 1), ("c", 1), ("c", 1)]], [(2, {"k": 2}), (3, {"k": 2})]
    ):
        table = pa.table({"who": [person for person, _ in rows], "age": [age for _, age in rows]})
        found = shoal.check(
            table, [f"trajectory-anonymity k=2 known_rows={expected[0]}"], quasi_identifiers=["age"], person=["who"]
        )
        assert found.models[0].effective == expected[1]


# -- households ---------------------------------------------------------------------------------------


def homes(number=60, seed=5):
    """Households of one to four people, each person one row."""
    random = np.random.default_rng(seed)
    home = np.repeat(np.arange(number), random.integers(1, 5, number))
    return pa.table({
        "home": pa.array([f"H{n}" for n in home]), "person": pa.array([f"P{n}" for n in range(len(home))]),
        "age": pa.array(random.integers(0, 90, len(home))), "illness": pa.array(random.choice([*"abc"], len(home))),
    })  # fmt: skip


def homes_plan(*models, pseudonym=True, method=None):
    columns = {
        "home": Column(Role.HOUSEHOLD, pseudonym=pseudonym),
        "person": Column(Role.PERSON),
        "age": Column(Role.QUASI_IDENTIFIER, Widths((30,))),
        "illness": Column(Role.SENSITIVE),
    }
    return shoal.Plan(Schema(columns), models, method)


def test_household_pseudonym_needs_trajectory_anonymity(key):
    """Its number is published only under the promise about its members."""
    with pytest.raises(PlanError, check=has_code("pseudonyms.need-trajectory-anonymity")):
        homes_plan(shoal.models.KAnonymity(3))
    plan = homes_plan(
        shoal.models.TrajectoryAnonymity(3),
        shoal.models.PSensitive(2),
        method=shoal.methods.FactsSuppression(suppression=0.6),
    )
    assert shoal.Plan.from_dict(plan.to_dict()) == plan
    found = shoal.anonymize(homes(), plan)
    assert found.table.column_names == ["home", "age", "illness"]
    members = [(row["home"], row["age"]) for row in found.table.to_pylist()]
    for crowd in slow.crowds(members, None):
        assert len(crowd) >= 3
    assert found.figures["people"]["unit"] == "households"
    assert found.figures["people"]["total"] == 60
    assert found.figures["pseudonyms"] == ["home"]
    assert shoal.check(found.table, plan=plan).holds


def test_household_without_pseudonym_is_dropped():
    """People are counted then."""
    found = shoal.anonymize(homes(), homes_plan(shoal.models.KAnonymity(3), pseudonym=False))
    assert found.table.column_names == ["age", "illness"]
    assert (found.figures["people"]["unit"], found.figures["people"]["total"]) == ("people", homes().num_rows)


def test_households_are_found_by_size_and_by_members(tmp_path):
    table = homes(40)
    pyarrow.csv.write_csv(table, tmp_path / "homes.csv")
    asks = ["attack", str(tmp_path / "homes.csv"), "-q", "age", "-s", "illness", "--household", "home", "--json"]
    done = CliRunner().invoke(app, asks)
    assert done.exit_code == 0, done.output
    results = {one["attack"]: one for one in json.loads(done.stdout)["attacks"]}
    rows = [(row["home"], row["age"]) for row in table.to_pylist()]
    size = Counter(home for home, _ in rows)
    often = Counter(size.values())
    assert results["household by size"]["exposed"] == sum(often[n] < 5 for n in size.values())
    assert results["household by its members"]["exposed"] == len(slow.exposed_by_all_rows(rows, 5))
    assert results["household by its members"]["exposed"] > 30
    summary = {one["attack"]: (one["counts"], one["attacked"]) for one in results.values()}
    assert summary["household by size"] == ("households", 40)
    assert summary["homogeneity"] == ("rows", table.num_rows)
