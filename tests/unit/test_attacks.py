"""Attacks against slow references, and the examples of the papers."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Column, Plan, Role
from shoal.audit.assess import assess
from shoal.audit.attack import attack
from shoal.datasets.patients import COLUMNS, FOLDER, TABLES
from shoal.errors import PlanError, TableError
from shoal.models import KAnonymity, LDiversity, PSensitive
from shoal.risk import matching
from shoal.risk.attacks import background_knowledge, homogeneity, inference, similarity
from shoal.risk.attacks_audits import audit_extremes, audit_grid, audit_intersection, audit_locality
from shoal.risk.attacks_distance import distance_linkage
from shoal.risk.attacks_linkage import crowd_sizes, linkage
from shoal.risk.attacks_minimality import assignments, minimality, posterior_beliefs
from shoal.risk.matching import match_people
from shoal.schema import Categories, Cuts, Prefix, Schema, Tree, Widths
from shoal.utility.coded_tables import open_tables
from shoal.utility.labels import read_labels
from tests.builders.errors import has_code
from tests.reference import risk as slow

QUASI, SENSITIVE = Role.QUASI_IDENTIFIER, Role.SENSITIVE
EXTERNAL = pa.table(  # Table 3 of the papers
    {
        "name": ["Rick", "Hassen", "Rudy", "Yamazaki"],
        "age": ["26", "45", "25", "48"],
        "country": ["USA", "India", "Canada", "Japan"],
        "zip": ["14246", "13064", "14249", "13074"],
    }
)


@pytest.fixture(scope="module")
def plan():
    return Plan.read(FOLDER / "patients.toml")


def read_groups(table, schema):
    with open_tables(None) as tables:
        return matching.read_groups(tables, table, schema)


def read_rows(table, names):
    with open_tables(None) as tables:
        return tables.rows(table, names)


def paper(number):
    return pa.table(dict(zip(COLUMNS, map(list, zip(*TABLES[number], strict=True)), strict=True)))


# -- the papers' examples -----------------------------------------------------------------------------


def test_rick_and_rudy_have_cancer(plan):
    """Table 2 and Table 3 of the papers.

    Two rows may be Rick's, both with cancer; the same for Rudy. No person is identified.
    """
    answer = attack(paper(2), plan, external=EXTERNAL)
    identity, value, category = (result for result in answer.results if result.name == "linkage")
    assert (identity.people, identity.exposed, identity.figures["smallest_crowd"]) == (4, 0, 2)
    assert (value.exposed, value.rows) == (2, (1, 3))  # Rick and Rudy, by row number
    # 142** covers them too, so strictly only the category is certain: HIV and cancer are both top secret
    assert value.figures["certain"] == 0
    assert (category.exposed, category.figures["certain"]) == (2, 2)
    assert value.baseline == pytest.approx(4 * 3 / 12)  # naming flu for all four


@pytest.mark.parametrize(("table", "exposed"), [(2, 8), (5, 8), (6, 0), (7, 0)])
def test_similarity_attack_on_tables_of_the_papers(plan, table, exposed):
    """Table 5 is 2-sensitive, yet groups have similar values.

    The group <30 has HIV and cancer only, and 3* flu and indigestion only.
    """
    result = attack(paper(table), plan).named("similarity")
    assert (result.people, result.exposed, result.baseline) == (12, exposed, 4)


def test_homogeneity_of_tables_of_the_papers(plan):
    assert [attack(paper(table), plan).named("homogeneity").exposed for table in (2, 5, 6, 7)] == [6, 0, 0, 0]


def test_answer_has_no_value_of_a_person(plan):
    answer = json.dumps(attack(paper(2), plan, external=EXTERNAL, original=paper(1)).to_dict())
    for secret in ("Rick", "HIV", "Cancer", "14246", "142**", "America", "<30"):
        assert secret not in answer


def test_risk_of_tables_of_the_papers_by_hand(plan):
    """The 12 patients themselves are the population.

    The journalist's risk equals the prosecutor's where groups do not overlap.
    """
    first, fifth = assess(paper(1), plan), assess(paper(5), plan, population=paper(1))
    assert first.reidentification.prosecutor.highest == 1
    assert first.special.count == 12
    assert fifth.reidentification.journalist == fifth.reidentification.prosecutor
    # Table 2: the group 142** of two rows also covers patients 3 and 4
    second = assess(paper(2), plan, population=paper(1)).reidentification
    assert second.prosecutor.highest == 1 / 2
    assert second.marketer == pytest.approx((2 / 4 + 2 / 3 + 4 / 4 + 2 / 2 + 2 / 4) / 12)


def test_sampling_fraction_and_weights_by_hand():
    """Groups of 2 and 1 rows.

    The whole population: the prosecutor's risk. A fifth: E[1/F] given f, p = 1/5.
    """
    schema = Schema({"q": Column(QUASI)})
    table = pa.table({"q": ["a", "a", "b"], "w": ["5", "5", "5"]})
    whole = assess(table, schema, fraction=1.0)
    assert whole.reidentification.journalist == whole.reidentification.prosecutor
    assert whole.uniqueness.dankar == whole.uniqueness.sample_uniques == 1
    one, two = 0.25 * math.log(5), 0.2 / 0.64 * (0.2 * math.log(0.2) + 0.8)
    for answer in (assess(table, schema, fraction=0.2), assess(table, schema, weight="w")):
        assert answer.individual.highest == pytest.approx(one)
        assert answer.individual.expected == pytest.approx(one + 2 * two)
        assert answer.individual.mean == pytest.approx((one + 2 * two) / 3)
        assert answer.reidentification.journalist.average == pytest.approx((one + 2 * two) / 3)


# -- attacks on groups against their references -------------------------------------------------------

rows_of_table = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["HIV", "Cancer", "Flu", "Cold", None])), min_size=1, max_size=30
)
CLASSES = Categories((("HIV", "Cancer"), ("Flu", "Cold")))
CATEGORY = {value: index for index, values in enumerate(CLASSES.classes) for value in values}
SMALL = Schema({"q": Column(QUASI), "s": Column(SENSITIVE, categories=CLASSES)})


def groups_of(rows):
    table = pa.table(
        {"q": pa.array([q for q, _ in rows], pa.string()), "s": pa.array([s for _, s in rows], pa.string())}
    )
    return read_groups(table, SMALL).groups


@settings(max_examples=40)
@given(rows_of_table)
def test_homogeneity_similarity_and_inference_equal_reference(rows):
    groups = groups_of(rows)
    values = [value for _, value in rows if value is not None]
    top = max(Counter(values).values(), default=0)
    assert (homogeneity(groups, "s").exposed, homogeneity(groups, "s").baseline) == (slow.homogeneous(rows), top)
    assert similarity(groups, "s").exposed == slow.similar(rows, CATEGORY)
    assert similarity(groups, "s").baseline == max(Counter(CATEGORY[value] for value in values).values(), default=0)
    guess = inference(groups, "s", 0.6)
    assert (guess.exposed, guess.baseline, guess.people) == (slow.guessed(rows), top, len(values))
    group_values = [slow.known(part) for part in slow.by_group(rows).values()]
    sure = sum(len(part) for part in group_values if part and max(Counter(part).values()) / len(part) >= 0.6)
    assert guess.figures["people_above_confidence"] == sure
    if values:
        share, gain = slow.highest_share_and_gain(rows)
        assert guess.figures["highest_share"] == pytest.approx(float(share))
        assert guess.figures["largest_gain"] == pytest.approx(float(gain), abs=1e-12)
    worst = [part for part in group_values if part and {CATEGORY[value] for value in part} == {0}]
    assert similarity(groups, "s").figures["exposed_to_the_most_sensitive"] == sum(map(len, worst))
    assert homogeneity(groups, "s").figures["exposed_groups"] == sum(len(set(part)) == 1 for part in group_values)


@settings(max_examples=40)
@given(rows_of_table, st.integers(0, 4))
def test_background_knowledge_equals_reference(rows, excluded):
    result = background_knowledge(groups_of(rows), "s", excluded)
    exposed, confidence = slow.background(rows, excluded)
    assert result.exposed == exposed
    if confidence:
        assert result.figures["mean_confidence"] == pytest.approx(float(sum(confidence) / len(confidence)))
        assert result.figures["highest_confidence"] == pytest.approx(float(max(confidence)))
    _, whole = slow.background([("all", value) for _, value in rows], excluded)
    if whole:
        assert result.figures["baseline_confidence"] == pytest.approx(float(sum(whole) / len(whole)))


def test_background_knowledge_of_nothing_is_homogeneity():
    rows = [("a", "HIV"), ("a", "HIV"), ("b", "Flu"), ("b", None)]
    assert background_knowledge(groups_of(rows), "s", 0).exposed == homogeneity(groups_of(rows), "s").exposed == 3


# -- linkage against its reference --------------------------------------------------------------------

LABELS = (
    ("<30", "20-29", "25", ">=30", "*", "[0, 40)", "2*"),
    ("142**", "1424*", "14246", "13***", "*"),
)
VALUES = (("25", "28", "31", "39.5", "2"), ("14246", "14207", "13053", "1424", None))


released_row = st.tuples(st.sampled_from(LABELS[0]), st.sampled_from(LABELS[1]), st.sampled_from("xyz"))
person = st.tuples(st.sampled_from(VALUES[0]), st.sampled_from(VALUES[1]))


@settings(max_examples=40)
@given(st.lists(released_row, min_size=1, max_size=12), st.lists(person, min_size=1, max_size=8))
def test_linkage_equals_reference(rows, people):
    schema = Schema({"a": Column(QUASI), "z": Column(QUASI), "s": Column(SENSITIVE)})
    released = pa.table({name: [row[j] for row in rows] for j, name in enumerate("azs")})
    external = pa.table({name: pa.array([p[j] for p in people], pa.string()) for j, name in enumerate("az")})
    published = read_groups(released, schema)
    columns = read_rows(external, ("a", "z"))
    matches = match_people(published, columns, schema)
    every, closest = (crowd_sizes(published, matches, closest=flag)[matches.kind] for flag in (False, True))
    tables = [read_labels(LABELS[j], VALUES[j]) for j in range(2)]
    groups = Counter((a, z) for a, z, _ in rows)

    def covers(j, label, value):
        return tables[j].covers[LABELS[j].index(label), VALUES[j].index(value)]

    def within(j, inner, outer):
        return tables[j].within[LABELS[j].index(inner), LABELS[j].index(outer)]

    exposed = []
    for index, person in enumerate(people):
        all_groups, close = slow.candidates(list(groups), person, covers, within)
        assert every[index] == sum(groups[g] for g in all_groups)
        assert closest[index] == sum(groups[g] for g in close)
        if len({s for a, z, s in rows if (a, z) in close}) == 1:
            exposed.append(index + 1)
    _, result = linkage(published, columns, schema, matches=matches)
    assert list(result.rows) == exposed


visit = st.tuples(st.sampled_from(("<30", ">=30", "*")), st.sampled_from("uvw"), st.sampled_from(("x", "y", None)))
external_row = st.tuples(st.sampled_from(("20", "25", "40")), st.sampled_from(("ann", "bob", None)))
COVERED = {"<30": {"20", "25"}, ">=30": {"40"}, "*": {"20", "25", "40"}}


@settings(max_examples=60)
@given(st.lists(visit, min_size=1, max_size=9), st.lists(external_row, min_size=1, max_size=6))
def test_linkage_of_people_equals_reference(rows, people):
    """Both tables name the person of each row.

    Crowds and exposed are people, and their values are those of all their rows.
    """
    schema = Schema({"a": Column(QUASI), "s": Column(SENSITIVE)})
    released = pa.table({"a": [r[0] for r in rows], "who": [r[1] for r in rows], "s": pa.array([r[2] for r in rows])})
    released = released.set_column(2, "s", released.column("s").cast(pa.string()))
    external = pa.table({"a": [p[0] for p in people], "who": pa.array([p[1] for p in people], pa.string())})
    values_of = {owner: {s for _, u, s in rows if u == owner and s} for _, owner, _ in rows}
    crowds = {}
    for index, (age, name) in enumerate(people):
        close = [label for label in COVERED if age in COVERED[label] and any(r[0] == label for r in rows)]
        close = [label for label in close if label != "*" or len(close) == 1]
        crowds[name or index, index] = [(owner, values_of[owner]) for label, owner, _ in rows if label in close]
    identified, exposed = slow.linked_people(crowds)
    identity, value = (one for one in attack(released, schema, external=external, person=["who"]).results
                       if one.name == "linkage")  # fmt: skip
    assert (identity.counts, identity.figures["crowds_in"]) == ("people", "people")
    assert identity.people == len({person for person, _ in crowds})
    assert (identity.exposed, value.exposed) == (len(identified), len(exposed))


def test_rows_of_one_person_do_not_protect_from_linkage():
    """Five visits of one patient are five rows and one person.

    Only the original names the person of each row.
    """
    schema = Schema({"who": Column(Role.PERSON), "a": Column(QUASI, Widths((10,))), "s": Column(SENSITIVE)})
    original = pa.table(
        {"who": [1] * 5 + [2, 3, 4, 5, 6], "a": [21] * 5 + [31, 32, 33, 34, 35], "s": list("abcdeaabca")}
    )
    released = pa.table({"a": ["20..29"] * 5 + ["30..39"] * 5, "s": original.column("s")})
    identity, value = (one for one in attack(released, schema, original=original).results
                       if one.name == "linkage of everybody")  # fmt: skip
    assert (identity.counts, identity.people, identity.exposed) == ("people", 6, 1)
    assert identity.figures["smallest_crowd"] == 1
    assert (value.counts, value.exposed) == ("people", 0)
    rows = attack(released, schema.of_rows, original=original).named("linkage of everybody")
    assert (rows.counts, rows.people, rows.exposed, rows.figures["smallest_crowd"]) == ("rows", 10, 0, 5)


def test_crowd_includes_people_with_coarser_labels():
    """Two people of 21 have exact labels, a third has the label 20..29.

    The person of 25 with the same coarse label is therefore not unique.
    """
    schema = Schema({"who": Column(Role.PERSON), "a": Column(QUASI, Widths((10,)))})
    original = pa.table({"who": list("abcd"), "a": [21, 21, 25, 21]})
    released = pa.table({"a": ["21", "21", "20..29", "20..29"]})
    found = attack(released, schema, original=original).named("linkage of everybody")
    assert (found.counts, found.exposed, found.figures["smallest_crowd"]) == ("people", 0, 2)


def test_crowds_too_large_to_list_are_counted_in_rows(monkeypatch):
    monkeypatch.setattr("shoal.risk.attacks_linkage.MAX_PAIRS", 1)
    schema = Schema({"who": Column(Role.PERSON), "a": Column(QUASI, Widths((10,)))})
    original = pa.table({"who": [1, 1, 2], "a": [21, 22, 31]})
    found = attack(pa.table({"a": ["20..29"] * 2 + ["30..39"]}), schema, original=original).named(
        "linkage of everybody"
    )
    assert (found.counts, found.people, found.exposed, found.figures["crowds_in"]) == ("people", 2, 1, "rows")


def test_facts_single_out_rows_and_people():
    schema = Schema({"who": Column(Role.PERSON), "a": Column(QUASI), "b": Column(QUASI)})
    table = pa.table({"who": [1, 1, 2, 3], "a": list("xyzz"), "b": list("pppp")})
    found = attack(table.select(["a", "b"]), schema, original=table).to_dict()["facts"]
    assert (found["rows"], found["original_rows"], found["people"]) == ([2, 2], [2, 2], [1, 1])
    assert "people" not in attack(table.select(["a", "b"]), schema.of_rows, original=table).to_dict()["facts"]


def test_linkage_needs_a_shared_column(plan):
    with pytest.raises(TableError, match="at least one quasi-identifier"):
        attack(paper(2), plan, external=pa.table({"name": ["Rick"]}))


def test_linkage_with_part_of_the_columns(plan):
    answer = attack(paper(5), plan, external=EXTERNAL.select(["age"]))
    identity = answer.named("linkage")
    assert identity.figures["shared_columns"] == 1
    assert identity.figures["smallest_crowd"] == 4


# -- values covered by labels -------------------------------------------------------------------------


@given(st.lists(st.integers(-50, 200), min_size=1, max_size=20, unique=True), st.sampled_from(["w", "d", "c", "p"]))
def test_labels_read_as_text_cover_their_own_values(numbers, kind):
    """Read every label of a hierarchy without the hierarchy.

    It covers exactly the values that the hierarchy has under it.
    """
    scale = 2 if kind == "d" else 1
    values = [str(abs(n)) if kind == "p" else str(n / scale) if n % scale else str(n // scale) for n in numbers]
    values = sorted(set(values))
    hierarchy = {
        "w": Widths((5, 10, 20), bottom=0, top=90),
        "d": Widths((2.5, 5)),
        "c": Cuts(((10, 30, 40), (30,))),
        "p": Prefix(),
    }[kind]
    ladder = hierarchy.bind(values, False)
    for level in range(ladder.height + 1):
        labels = ladder.labels[level]
        read = read_labels(labels, values)
        expected = np.asarray(
            [[ladder.codes[level][leaf] == code for leaf in range(len(values))] for code in range(len(labels))]
        )
        if kind == "p":  # a masked prefix may cover shorter values; their own labels are padded differently
            assert (read.covers | ~expected).all()
        else:
            assert (read.covers == expected).all()


def test_labels_of_a_tree_come_from_the_plan():
    tree = Tree({"America": ["USA", "Canada"], "Asia": {"East": ["Japan"], "South": ["India"]}})
    read = read_labels(["America", "Asia", "South", "India", "*"], ["USA", "India", "Mars", None], tree)
    assert read.covers.astype(int).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1]]
    assert read.within[2, 1]
    assert not read.within[1, 2]
    assert read_labels(["America"], ["USA"]).covers.tolist() == [[False]]


@pytest.mark.parametrize(
    ("label", "covered", "not_covered"),
    [
        ("20..24", ["20", "24", "22.5"], ["25", "19", "x", "20..23"]),
        ("-8000..-7001", ["-8000", "-7001"], ["-7000", "8000"]),
        ("20..<24.5", ["20", "24.4"], ["24.5", "19"]),
        ("24..20", ["24..20"], ["22", "24"]),
        ("20-24", ["20", "24", "22.5"], ["25", "19", "x", "20-23"]),
        ("-5--1", ["-5", "-1"], ["0", "-6"]),
        ("<30", ["29.999", "-7"], ["30"]),
        ("≤30", ["30"], ["30.1"]),
        (">40", ["41"], ["40"]),
        ("[20, 24.5)", ["20", "24.4"], ["24.5"]),
        ("(20, 24.5]", ["24.5"], ["20"]),
        ("142**", ["14248", "142"], ["142481", "13248"]),
        ("3*", ["33", "3"], ["345", "43"]),
        ("a..c", ["a", "b", "c"], ["d"]),
        ("{x, y}", ["x", "y"], ["z"]),
        ("20", ["20", "20.0"], ["21"]),
        ("2024-02", ["2024-02"], ["3", "1000"]),
        ("[x](y)", ["[x](y)"], ["x"]),
        ("=1+1", ["=1+1"], ["2"]),
    ],
)
def test_labels_by_example(label, covered, not_covered):
    read = read_labels([label], [*covered, *not_covered])
    assert read.covers[0].tolist() == [True] * len(covered) + [False] * len(not_covered)


# -- distance -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=4, max_size=20), st.integers(2, 4))
def test_distance_linkage_equals_reference(points, k):
    original = np.asarray(points, np.float64)
    order = np.lexsort(original.T)
    released = original.copy()
    for low in range(0, len(order) - k + 1, k):
        part = order[low:] if low + 2 * k > len(order) else order[low : low + k]
        released[part] = np.round(original[part].mean(axis=0))
    result = distance_linkage(original, released, aligned=True)
    scale = original.std(axis=0, ddof=1)
    scale[scale == 0] = 1
    right = exposed = 0.0
    for i, row in enumerate(original / scale):
        distances = [((row - other) ** 2).sum() for other in released / scale]
        nearest = [j for j, d in enumerate(distances) if d <= min(distances) + 1e-12]
        right += (i in nearest) / len(nearest)
        exposed += nearest == [i]
    assert result.figures["expected_right"] == pytest.approx(right)
    assert result.exposed == exposed
    assert result.baseline == 1


def test_distance_linkage_refuses_unsuitable_tables():
    with pytest.raises(TableError, check=has_code("attack.tables-not-aligned")):
        distance_linkage(np.zeros((3, 1)), np.zeros((2, 1)), aligned=True)
    with pytest.raises(TableError, match="same columns"):
        distance_linkage(np.zeros((3, 1)), np.zeros((3, 2)))
    with pytest.raises(TableError, check=has_code("attack.distance-needs-numbers")):
        distance_linkage(np.full((3, 1), np.nan), np.zeros((3, 1)))


# -- minimality ---------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 3), min_size=2, max_size=3), st.data())
def test_beliefs_are_shares_of_all_assignments(sizes, data):
    """Assign a value to every person, in all distinct orders.

    The assignments with a failing class remain.
    """
    values = data.draw(st.lists(st.integers(0, 2), min_size=sum(sizes), max_size=sum(sizes)))
    counts = [values.count(value) for value in range(3)]
    owner = [one for one, size in enumerate(sizes) for _ in range(size)]

    def fails(counts_of_class):
        return max(counts_of_class) * 2 > sum(counts_of_class)

    left = []
    for order in set(itertools.permutations(values)):
        classes = [
            [sum(v == value and o == one for v, o in zip(order, owner, strict=True)) for value in range(3)]
            for one in range(len(sizes))
        ]
        if any(fails(counts_of_class) for counts_of_class in classes):
            left.append(classes)
    belief = posterior_beliefs(sizes, counts, fails)
    if not left:
        assert belief is None
        return
    expected = np.asarray(left).sum(axis=0) / len(left) / np.asarray(sizes)[:, None]
    assert np.allclose(belief, expected)


def test_beliefs_in_large_groups_stay_exact():
    """Two of 2,000 people have one value.

    Only a class that has both fails: half of the remaining assignments for each class.
    """
    belief = posterior_beliefs([1000, 1000], [2, 1998], lambda counts: counts[0] == 2)
    assert np.allclose(belief, [[0.001, 0.999], [0.001, 0.999]])


def test_assignments_are_complete():
    assert sorted(assignments([2, 2], [2, 2])) == [((0, 2), (2, 0)), ((1, 1), (1, 1)), ((2, 0), (0, 2))]


def test_minimality_attack_finds_the_small_class():
    """Two classes of 2 and 5 people; two of the seven have HIV.

    At most half of a group may have one value, so the two have it. Published as one group of seven, the table looks
    safe: HIV is 2 of 7.
    """
    schema = Schema({"zip": Column(QUASI, Prefix()), "s": Column(SENSITIVE)})
    values = ["HIV", "HIV", "a", "b", "c", "d", "e"]
    released = pa.table({"zip": ["1*"] * 7, "s": values})
    people = read_rows(pa.table({"zip": ["11"] * 2 + ["12"] * 5}), ("zip",))
    models = (KAnonymity(2), LDiversity(l=2, kind="distinct"))
    result = minimality(read_groups(released, schema), people, schema, models, "s")
    assert (result.exposed, result.figures["groups_examined"]) == (2, 1)
    assert result.figures["highest_belief"] == 1.0
    # by people: each person once; if one has several rows of the group, the assignments are not known
    by_people = minimality(read_groups(released, schema), people, schema, models, "s", person=np.arange(7) + 3)
    assert (by_people.counts, by_people.people, by_people.exposed) == ("people", 7, 2)
    twice = np.asarray([0, 1, 2, 2, 3, 4, 5])
    left = minimality(read_groups(released, schema), people, schema, models, "s", person=twice)
    assert (left.people, left.exposed, left.figures["groups_with_several_rows_of_a_person"]) == (6, 0, 1)
    # if the finer classes are too small for k anyway, nothing follows
    nothing = minimality(read_groups(released, schema), people, schema, (KAnonymity(3), *models[1:]), "s")
    assert (nothing.exposed, nothing.figures["groups_examined"]) == (0, 0)


# -- audits -------------------------------------------------------------------------------------------

AGES = Schema({"age": Column(QUASI, Widths((10,))), "s": Column(SENSITIVE)})


def test_extreme_and_undeclared_intervals_are_found():
    """The paper's income of 210K.

    An interval ends at one person's value.
    """
    original = read_rows(pa.table({"age": [50, 60, 70, 21, 22, 23]}), ("age",))
    released = pa.table({"age": ["50..70"] * 3 + ["20..29"] * 3, "s": list("abcabc")})
    published = read_groups(released, AGES)
    assert audit_grid(published, original, AGES).exposed == 3
    assert audit_extremes(published, original, AGES, k=3).exposed == 3
    declared = read_groups(
        pa.table({"age": ["50..59", "60..69", "70..79", *["20..29"] * 3], "s": list("abcabc")}), AGES
    )
    assert audit_grid(declared, original, AGES).exposed == 0


def test_intersection_of_two_releases():
    original = read_rows(pa.table({"age": [21, 29, 31, 39]}), ("age",))
    first = read_groups(pa.table({"age": ["20..29", "20..29", "30..39", "30..39"], "s": list("abcd")}), AGES)
    second = read_groups(pa.table({"age": ["21", "29..39", "29..39", "29..39"], "s": list("abcd")}), AGES)
    result = audit_intersection(first, second, original, AGES, k=2)
    assert (result.people, result.exposed, result.baseline) == (4, 2, 0)


def test_locality_audit_finds_levels_computed_from_data():
    import shoal

    random = np.random.default_rng(0)
    table = pa.table(
        {"age": pa.array(random.integers(20, 60, 80)), "s": pa.array(random.integers(0, 9, 80).astype(str))}
    )

    def by_decade(part):
        names = {**{name: AGES.columns[name] for name in part.column_names if name in AGES.columns}}
        names["row number"] = Column(Role.OTHER)
        plan = shoal.Plan(Schema(names), (KAnonymity(2),), shoal.methods.Levels({"age": 1}))
        return shoal.anonymize(part, plan).table

    def by_mean(part):
        ages = np.asarray(part.column("age").to_pylist())
        return part.set_column(0, "age", pa.array(np.where(ages < ages.mean(), "young", "old")))

    assert audit_locality(table, AGES, by_decade).exposed == 0
    assert audit_locality(table, AGES, by_mean).exposed > 0


def test_previous_release_needs_the_original(plan):
    with pytest.raises(PlanError, match="original"):
        attack(paper(5), plan, previous=paper(2))


def test_every_attack_runs_with_all_inputs(plan):
    answer = attack(
        paper(5), plan, external=EXTERNAL, original=paper(1), previous=paper(6), models=(KAnonymity(4), PSensitive(2))
    )
    names = {result.name for result in answer.results}
    assert names == {
        "homogeneity", "similarity", "inference", "background knowledge", "linkage", "linkage of everybody",
        "list of everybody", "minimality", "declared grid", "extreme values", "intersection",
    }  # fmt: skip
    assert json.loads(json.dumps(answer.to_dict()))["smallest_group"] == 4
