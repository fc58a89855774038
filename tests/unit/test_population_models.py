"""Models of a population: vectors, brute force and refusals."""

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
from shoal.errors import InfeasibleError, PlanError
from shoal.models import DeltaPresence, KMap, Risk
from shoal.plan.population import PopulationSource
from shoal.table.groups import Groups, PopulationCounts
from shoal.verification.independent import Counts, IndependentPopulation, count_people_by_group
from shoal.verification.independent.judge import judge
from shoal.verification.independent.population import PeopleByGroup
from tests.builders.errors import has_code


def groups(sizes, people, unshown=(), left_out=0):
    counts = PopulationCounts(np.asarray(people, np.int64), np.asarray(unshown, np.int64), True, left_out)
    return Groups(np.asarray(sizes, np.int64), people_of=counts)


# -- vectors


def test_k_map_counts_people_and_not_rows():
    assert KMap(5).assess(groups([1, 4], [5, 20])).holds.all()
    assert KMap(5).assess(groups([4, 4], [4, 20])).holds.tolist() == [False, True]
    assert KMap(5).assess(groups([1, 4], [5, 20])).effective == {"k": 5}


def test_marketer_meets_nine_percent_exactly():
    """1/5 + 1/10 + 3/20 over 5 rows is 0.09; floats say 0.09000000000000001."""
    table = groups([1, 1, 3], [5, 10, 20])
    assert Risk(average="0.09", intruder="marketer").assess(table).holds.all()
    assert not Risk(average="0.08999999999", intruder="marketer").assess(table).holds.all()


def test_journalist_has_the_larger_of_two_averages():
    table = groups([1, 9], [2, 100])
    model = Risk(highest=1, average=1, at_risk={"above": "0.4", "share": 1}, intruder="journalist")
    effective = model.assess(table).effective
    assert effective == pytest.approx({"highest": 0.5, "average": (1 / 2 + 9 / 100) / 10, "at_risk": 0.1})
    assert Risk(average=1, intruder="journalist").assess(groups([9, 1], [9, 2])).effective["average"] == pytest.approx(
        max((1 + 0.5) / 10, 2 / 11)
    )


def test_group_without_people_is_at_the_highest_risk():
    assert Risk(highest=1, intruder="journalist").assess(groups([3], [0])).effective["highest"] == 1
    assert not Risk(highest="1/2", intruder="journalist").assess(groups([3], [0])).holds.any()


def test_presence_of_a_group_that_is_wholly_in_the_table():
    """A 4, B 3, C 3 people; rows: 2 of A, 0 of B, 3 of C."""
    found = DeltaPresence("1/2").assess(groups([2, 3], [4, 3], [3]))
    assert found.holds.tolist() == [True, False]
    assert found.effective == {"at_most": 1, "at_least": 0}


@pytest.mark.parametrize("unshown", [[3, 3], [3]])
def test_rows_left_out_may_have_any_other_label(unshown):
    """C is left out: B and C are judged one by one, not as one rest of 3 in 6."""
    assert not DeltaPresence("1/2").assess(groups([2], [4], unshown, left_out=3)).holds.any()
    assert DeltaPresence("1/2").assess(groups([2], [4], [6, 8], left_out=3)).holds.all()


def test_labels_without_rows_have_no_presence():
    assert not DeltaPresence(1, "0.1").assess(groups([2], [4], [3])).holds.any()
    assert DeltaPresence(1, "0.1").assess(groups([2], [4])).holds.all()
    assert DeltaPresence("1/2", "1/2").assess(groups([2], [4])).holds.all()
    with pytest.raises(PlanError, check=has_code("models.presence-bounds")):
        DeltaPresence("1/2", "0.51")


# -- releases

REGIONS = {"north": ["a", "b"], "south": ["c", "d"]}
COLUMNS = {
    "town": {"role": "quasi-identifier", "hierarchy": {"tree": REGIONS}},
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4]}},
}


def plan_of(models, population, method="full-domain", **more):
    return {"columns": COLUMNS, "models": models, "method": method, "population": population, **more}


def table_of(cells):
    return pa.table(
        {"town": pa.array([p for p, _ in cells], pa.string()), "age": pa.array([a for _, a in cells], pa.int64())}
    )


def cell_lists(smallest, largest):
    return st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 7)), min_size=smallest, max_size=largest)


def recode(cell, levels):
    """Return the labels of a person at some levels, in a slow and obvious way."""
    town, age = cell
    region = next(name for name, towns in REGIONS.items() if town in towns)
    width = (1, 2, 4)[levels[1]] if levels[1] < 3 else None
    return ((town, region, "*")[levels[0]], "*" if width is None else age // width)


def judge_slowly(models, released, everybody, levels, left_out):
    rows, people = (Counter(recode(cell, levels) for cell in cells) for cells in (released, everybody))
    for model in models:
        if model["name"] == "k-map":
            if any(people[labels] < model["k"] for labels in rows):
                return False
        elif model["name"] == "delta-presence":
            shares = [Fraction(rows[labels], people[labels]) for labels in rows]
            others = [number for labels, number in people.items() if labels not in rows]
            suspected = [Fraction(min(left_out, number), number) for number in others]
            if max([*shares, *suspected]) > Fraction(str(model["at_most"])):
                return False
            if others and Fraction(str(model.get("at_least", 0))) > 0:
                return False
        else:
            mean = sum(Fraction(rows[labels], people[labels]) for labels in rows) / sum(rows.values())
            if mean > Fraction(str(model["average"])):
                return False
    return True


CASES = [
    [{"name": "k-map", "k": 3}],
    [{"name": "delta-presence", "at_most": "1/2"}],
    [{"name": "risk", "intruder": "marketer", "average": "0.3"}],
]


@settings(max_examples=40, deadline=None)
@given(cell_lists(1, 6), cell_lists(0, 8), st.sampled_from(CASES))
def test_full_domain_finds_a_level_if_and_only_if_there_is_one(rows, others, models):
    """Try all levels of tables of up to six rows, without suppression."""
    everybody = [*rows, *others]
    feasible = [
        levels for levels in itertools.product(range(3), range(4)) if judge_slowly(models, rows, everybody, levels, 0)
    ]
    plan = plan_of(models, PopulationSource(frame=table_of(everybody)))
    if not feasible:
        with pytest.raises(InfeasibleError):
            shoal.anonymize(table_of(rows), plan)
        return
    release = shoal.anonymize(table_of(rows), plan)
    levels = release.to_dict()["levels"]
    assert (levels["town"], levels["age"]) in feasible
    assert not any(
        one != (levels["town"], levels["age"]) and one[0] <= levels["town"] and one[1] <= levels["age"]
        for one in feasible
    )


@settings(max_examples=25, deadline=None)
@given(cell_lists(3, 6), cell_lists(0, 8), st.sampled_from(CASES))
def test_what_is_released_with_suppression_holds_slowly(rows, others, models):
    everybody = [*rows, *others]
    method = {"name": "full-domain", "suppression": 0.5}
    try:
        release = shoal.anonymize(table_of(rows), plan_of(models, PopulationSource(frame=table_of(everybody)), method))
    except InfeasibleError:
        return
    figures = release.to_dict()
    levels = (figures["levels"]["town"], figures["levels"]["age"])
    labels = Counter(zip(release.table["town"].to_pylist(), release.table["age"].to_pylist(), strict=True))
    by_labels: dict[object, list[tuple[str, int]]] = {}
    for cell in rows:
        by_labels.setdefault(recode(cell, levels), []).append(cell)
    # groups are left out whole: those that remain have the released sizes
    chosen = [
        remaining
        for number in range(len(by_labels) + 1)
        for remaining in itertools.combinations(by_labels.values(), number)
        if Counter(map(len, remaining)) == Counter(labels.values())
    ]
    assert any(
        judge_slowly(models, [cell for group in remaining for cell in group], everybody, levels, figures["suppressed"])
        for remaining in chosen
    )


@pytest.mark.parametrize("method", ["mondrian", "top-down", "refine", "auto"])
def test_local_methods_use_fewer_rows_than_people(method):
    """Twelve people of each cell, one or two of them in the table."""
    cells = [(town, age) for town in "abcd" for age in range(8)]
    rows = [cell for number, cell in enumerate(cells) for _ in range(1 + number % 2)]
    population = PopulationSource(frame=table_of([cell for cell in cells for _ in range(12)]))
    release = shoal.anonymize(table_of(rows), plan_of([{"name": "k-map", "k": 12}], population, method))
    assert release.to_dict()["models"][0]["effective"]["k"] >= 12
    assert release.to_dict()["smallest_group"] < 12


def test_overlapping_labels_count_people_once():
    """19 people of 20 years and one of 25: `20..29` is the person of 25."""
    schema = shoal.Plan.from_dict({"columns": {"age": "quasi-identifier"}, "models": "k-anonymity k=2"}).schema
    population = IndependentPopulation({("20",): 19, ("25",): 1}, schema)
    counted = pa.table({"c0": ["20", "20..29"], "n": [19, 1]})
    found = count_people_by_group(counted, ["age"], [0], population)
    assert found.pairs == Counter({(19, 19): 1, (1, 1): 1})
    plan = {
        "columns": {"age": "quasi-identifier"},
        "models": [{"name": "k-map", "k": 19}],
        "population": PopulationSource(frame=pa.table({"age": [20] * 19 + [25]})),
    }
    table = pa.table({"age": ["20"] * 19 + ["20..29"]})
    checked = shoal.check(table, plan=plan)
    assert (checked.holds, checked.models[0].effective) == (False, {"k": 1})


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 6)), min_size=1, max_size=5),
    st.lists(st.integers(1, 6), max_size=3),
    st.integers(0, 4),
    st.sampled_from(
        [
            KMap(4),
            DeltaPresence("1/2", "1/4"),
            DeltaPresence("0.9"),
            Risk(highest="1/4", intruder="journalist"),
            Risk(average="0.3", intruder="journalist"),
            Risk(average="0.3", intruder="marketer"),
            Risk(highest="0.5", at_risk={"above": "0.2", "share": "0.5"}, intruder="journalist"),
        ]
    ),
)
def test_model_and_definition_agree(pairs, unshown, left_out, model):
    pairs = [(rows, rows + more) for rows, more in pairs]
    found = model.assess(groups([r for r, _ in pairs], [p for _, p in pairs], unshown, left_out))
    people = PeopleByGroup(Counter(pairs), Counter(unshown), left_out)
    counts = Counts(1, 1, Counter([1]), {})
    (again,) = judge(counts, (), (model,), people).evaluations
    assert again.holds == found.holds.all()
    assert again.effective == pytest.approx(found.effective)


# -- files


def test_people_and_cells_of_files_give_the_same_release(tmp_path):
    everybody = [(town, age) for town in "abcd" for age in range(8) for _ in range(3)]
    rows = table_of(everybody[::5])
    people = tmp_path / "people.csv"
    people.write_text("id,town,age\n" + "".join(f"{i},{p},{a}\n" for i, (p, a) in enumerate(everybody) for _ in "xx"))
    cells = tmp_path / "cells.csv"
    numbers = Counter(everybody)
    cells.write_text("town,age,count\n" + "".join(f"{p},{a},{n}\n" for (p, a), n in numbers.items()))
    models = [{"name": "k-map", "k": 5}]
    documents = [{"path": str(people), "person": "id"}, {"counts": str(cells)}]
    first, second = (shoal.anonymize(rows, plan_of(models, document)) for document in documents)
    assert first.table.equals(second.table)
    for document in documents:
        assert shoal.check(first.table, plan=plan_of(models, document)).holds
    certificate = first.certificate
    assert certificate["models"][0]["checked_with"] == "the release and its population, before it was published"
    assert certificate["models"][0]["effective"] == {}
    assert certificate["plan"]["population"] == {"contains_release": True}
    assert "people.csv" not in str(certificate.to_dict())


def test_population_that_lacks_people_of_the_table_is_refused():
    rows, others = table_of([("a", 1), ("a", 1), ("b", 2)]), table_of([("a", 1), ("b", 2), ("c", 3)])
    models = [{"name": "k-map", "k": 2}]
    with pytest.raises(PlanError, check=has_code("population.too-few-people", failing=1)):
        shoal.anonymize(rows, plan_of(models, PopulationSource(frame=others)))
    elsewhere = PopulationSource(frame=others, contains_release=False)
    assert shoal.anonymize(rows, plan_of(models, elsewhere)).table.num_rows == 3


def codes_of(error):
    """Return the code of an error and of its reason."""
    return error.code, getattr(error.arguments.get("reason"), "code", None)


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("population.missing", {"population": None}),
        ("population.all-columns-only", {"models": [{"name": "k-map", "k": 2, "known": 1}]}),
        ("population.all-columns-only", {"models": ["k-map k=2", "k-anonymity k=2 known=1"]}),
        ("models.counts-rows-only", {"columns": {**COLUMNS, "who": "person"}}),
        ("method.not-for-population", {"method": "mondrian", "models": [{"name": "delta-presence", "at_most": 0.5}]}),
        ("method.not-for-population", {"method": {"name": "local-suppression", "missing": "loose"}}),
        ("population.not-on-spark", {"engine": {"name": "spark"}}),
        ("models.risk-of-marketer", {"models": [{"name": "risk", "intruder": "marketer", "highest": 0.5}]}),
    ],
)
def test_unsupported_plans_are_refused_before_any_work(code, changes):
    document = plan_of(["k-map k=2"], PopulationSource(frame=table_of([("a", 1)]))) | changes
    with pytest.raises(PlanError, check=lambda error: code in repr(codes_of(error))):
        shoal.Plan.from_dict({key: value for key, value in document.items() if value is not None})


@pytest.mark.parametrize(
    ("code", "population"),
    [
        ("population.not-exactly-one-kind", {}),
        ("population.not-exactly-one-kind", {"path": "a.csv", "counts": "b.csv"}),
        ("population.person-of-cells", {"counts": "b.csv", "person": "id"}),
    ],
)
def test_population_is_given_once(code, population):
    with pytest.raises(PlanError, check=has_code(code)):
        shoal.Plan.from_dict(plan_of(["k-map k=2"], population))


def test_kinds_of_populations_that_cannot_be_counted(tmp_path):
    rows = table_of([("a", 1)])
    for text, section, code in (
        ("town,age,count\na,1,x\n", "counts", "population.counts-not-whole-numbers"),
        ("town,age,count\na,1,-1\n", "counts", "population.counts-not-whole-numbers"),
        ("town,age\nz,1\na,1\n", "path", "population.values-not-in-hierarchy"),
        ("town,age\na,young\na,1\n", "path", "population.other-kind-of-values"),
        ("town,age,id\na,1,7\na,2,7\n", "person", "population.person-with-several-values"),
    ):
        file = tmp_path / "file.csv"
        file.write_text(text)
        given = {"path": str(file), "person": "id"} if section == "person" else {section: str(file)}
        with pytest.raises(PlanError, check=has_code(code)):
            shoal.anonymize(rows, plan_of(["k-map k=2"], given))


def test_missing_values_match_missing_ones_only():
    rows = table_of([("a", 1), (None, 1)])
    population = PopulationSource(frame=table_of([("a", 1), ("a", 1), (None, 1), (None, 1), (None, 1)]))
    release = shoal.anonymize(rows, plan_of(["k-map k=2"], population))
    assert sorted(release.table["town"].to_pylist(), key=str) == [None, "a"]
    assert release.to_dict()["models"][0]["effective"] == {"k": 2}
