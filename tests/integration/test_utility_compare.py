"""Utility of a release against its original.

Every measure is compared with a reference implementation or a known value.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Column, Role
from shoal.audit.compare import compare
from shoal.errors import PlanError, TableError
from shoal.schema import Schema, Tree, Widths
from shoal.utility.classification import classification
from shoal.utility.coded_tables import CodedColumn, open_tables
from shoal.utility.distributions import column_distance, cramers_v, divergence, pair_distances
from shoal.utility.label_distributions import MAX_NUMBER_CELLS, MAX_TEXT_CELLS, draw_rows, read_columns
from shoal.utility.numeric import correlation_change, numeric_loss
from shoal.utility.propensity import fit_logistic, propensity
from shoal.utility.queries import query_errors, range_query_error
from tests.builders.errors import has_code
from tests.reference import utility as slow

QUASI = Role.QUASI_IDENTIFIER
TREE = Tree({"America": ["USA", "Canada"], "Asia": ["China", "Japan", "India"]})
SCHEMA = Schema({"age": Column(QUASI, Widths((10,))), "country": Column(QUASI, TREE)})
AGES, COUNTRIES = ("21", "25", "33", "38", "41"), ("USA", "Canada", "China", "Japan", "India")


def coded(name, cells):
    values = sorted({cell for cell in cells if cell is not None})
    domain = (*values, *((None,) if None in cells else ()))
    return CodedColumn(name, domain, np.asarray([domain.index(cell) for cell in cells], np.int32))


def readings(before, after, schema=SCHEMA):
    names = list(schema.columns)
    return read_columns(
        [coded(name, [row[j] for row in before]) for j, name in enumerate(names)],
        [coded(name, [row[j] for row in after]) for j, name in enumerate(names)],
        schema,
    )


people = st.lists(st.tuples(st.sampled_from(AGES), st.sampled_from(COUNTRIES)), min_size=2, max_size=25)


def generalized(row, levels):
    """Return the labels of a row at its levels of age and country."""
    age, country = row
    ages = {0: age, 1: f"{int(age) // 10 * 10}-{int(age) // 10 * 10 + 9}", 2: "*"}
    continent = "America" if country in ("USA", "Canada") else "Asia"
    return ages[levels[0]], {0: country, 1: continent, 2: "*"}[levels[1]]


def covered(label, domain, j):
    """Return the present values that a label covers."""
    if label == "*":
        return set(domain)
    if j == 0:
        low, _, high = label.partition("-")
        return {value for value in domain if int(low) <= int(value) <= int(high or low)}
    members = {"America": {"USA", "Canada"}, "Asia": {"China", "Japan", "India"}}.get(label, {label})
    return {value for value in domain if value in members}


def release(before, data):
    """Draw a local recoding that may suppress rows, also as sets of values."""
    retained = data.draw(st.lists(st.booleans(), min_size=len(before), max_size=len(before)))
    level = st.tuples(st.integers(0, 2), st.integers(0, 2))
    after = [generalized(row, data.draw(level)) for row, keep in zip(before, retained, strict=True) if keep]
    after = after or [generalized(before[0], (2, 2))]
    domains = [{row[j] for row in before} for j in range(2)]
    return after, [tuple(covered(row[j], domains[j], j) for j in range(2)) for row in after], domains


# -- distributions ------------------------------------------------------------------------------------


@given(people, st.data())
def test_distributions_equal_the_reference(before, data):
    after, sets, domains = release(before, data)
    read = readings(before, after)
    for j, column in enumerate(read):
        one = slow.shares([(row[j],) for row in before])
        other = slow.spread([(row[j],) for row in sets], [domains[j]], len(before))
        mine = column_distance(column)
        assert mine.variation == pytest.approx(float(slow.variation(one, other)), abs=1e-12)
        assert mine.divergence == pytest.approx(slow.divergence(one, other), abs=1e-9)
    pairs = pair_distances(read)
    one, other = slow.shares(before), slow.spread(sets, domains, len(before))
    assert pairs.mean_variation == pytest.approx(float(slow.variation(one, other)), abs=1e-12)
    assert pairs.mean_divergence == pytest.approx(slow.divergence(one, other), abs=1e-9)
    change = abs(slow.cramers_v(one) - slow.cramers_v(other))
    assert pairs.mean_association_change == pytest.approx(change, abs=1e-9)


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=2, max_size=15), st.data())
def test_means_and_extremes_over_three_pairs(before, data):
    """Values are published as they are, or as *."""
    hidden = st.lists(st.tuples(*[st.booleans()] * 3), min_size=len(before), max_size=len(before))
    masks = data.draw(hidden)
    domains = [{row[j] for row in before} for j in range(3)]
    after, sets = [], []
    for row, mask in zip(before, masks, strict=True):
        after.append(tuple("*" if hide else value for value, hide in zip(row, mask, strict=True)))
        sets.append(
            tuple(domains[j] if hide else {value} for j, (value, hide) in enumerate(zip(row, mask, strict=True)))
        )
    found = pair_distances(readings(before, after, Schema({name: Column(QUASI) for name in "xyz"})))
    far, change = [], []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        one = slow.shares([(row[i], row[j]) for row in before])
        other = slow.spread([(row[i], row[j]) for row in sets], [domains[i], domains[j]], len(before))
        far.append(float(slow.variation(one, other)))
        change.append(abs(slow.cramers_v(one) - slow.cramers_v(other)))
    assert found.pairs == 3
    assert found.mean_variation == pytest.approx(sum(far) / 3, abs=1e-12)
    assert found.highest_variation == pytest.approx(max(far), abs=1e-12)
    assert found.mean_association_change == pytest.approx(sum(change) / 3, abs=1e-7)
    assert found.highest_association_change == pytest.approx(max(change), abs=1e-7)


def test_divergence_is_infinite_for_excluded_values():
    assert divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == math.inf
    foreign = column_distance(readings([("21", "USA"), ("25", "USA")], [("21", "Mars"), ("25", "Mars")])[1])
    assert (foreign.variation, foreign.divergence) == (1.0, math.inf)
    assert foreign.to_dict()["kl_divergence"] == "inf"


def test_cramers_v_of_a_textbook_table():
    """Hair and eyes of 592 students (Snee 1974): chi squared 138.29, V 0.279."""
    counts = np.array([[68, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]])
    assert cramers_v(counts / counts.sum()) == pytest.approx(0.279, abs=5e-4)


def test_long_domains_are_grouped_in_cells():
    numbers = [str(n) for n in range(500)]
    texts = [f"v{n:03d}" for n in range(400)]
    schema = Schema({"n": Column(QUASI), "t": Column(QUASI)})
    before = [(numbers[i % 500], texts[i % 400]) for i in range(2000)]
    number, text = readings(before, before, schema)
    assert number.cells == MAX_NUMBER_CELLS + 1
    assert np.bincount(number.original).max() <= 2 * 2000 / MAX_NUMBER_CELLS
    assert text.cells == MAX_TEXT_CELLS + 1
    assert column_distance(number).variation == column_distance(text).variation == pytest.approx(0, abs=1e-12)


# -- numbers ------------------------------------------------------------------------------------------

NUMBERS = Schema({"x": Column(QUASI), "y": Column(QUASI)})
points = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 9)), min_size=3, max_size=20)


@given(points, st.data())
def test_numeric_loss_equals_the_reference(before, data):
    shift = st.tuples(st.integers(-3, 3), st.integers(-3, 3))
    after = [tuple(a + b for a, b in zip(row, data.draw(shift), strict=True)) for row in before]
    text = [[tuple(map(str, row)) for row in rows] for rows in (before, after)]
    read = readings(*text, NUMBERS)
    mine = numeric_loss(read, aligned=True)
    assert mine.sse_sst == pytest.approx(slow.sse_sst(before, after))
    assert mine.il1s == pytest.approx(slow.il1s(before, after))
    one, other = ([list(column) for column in zip(*rows, strict=True)] for rows in (before, after))
    change = abs(slow.correlation(*one) - slow.correlation(*other))
    assert mine.correlation_mean == mine.correlation_highest == pytest.approx(change, abs=1e-9)
    # not aligned: the nearest released row of each, which no alignment undercuts
    scale = [slow.deviation(column) or 1.0 for column in one]

    def far(row, point):
        return sum(((a - b) / s) ** 2 for a, b, s in zip(row, point, scale, strict=True))

    nearest = [min(after, key=lambda point, row=row: far(row, point)) for row in before]
    loose = numeric_loss(read)
    assert not loose.aligned
    assert loose.sse_sst == pytest.approx(slow.sse_sst(before, nearest))
    assert loose.sse_sst <= mine.sse_sst + 1e-9


def test_intervals_count_as_their_middle():
    before = [("20", "1"), ("24", "2"), ("30", "3"), ("40", "4")]
    after = [("20-24", "1"), ("20-24", "2"), ("[30, 60)", "3"), ("*", "4")]
    loss = numeric_loss(readings(before, after, NUMBERS), aligned=True)
    plain = [(22, 1), (22, 2), (35, 3), (30, 4)]  # 60 is beyond the largest original, 40; * is the whole range
    assert loss.sse_sst == pytest.approx(slow.sse_sst([tuple(map(int, row)) for row in before], plain))


def test_correlation_of_a_constant_is_zero():
    assert correlation_change(np.array([[1.0, 2], [1, 3]]), np.array([[1.0, 2], [2, 3]])) == pytest.approx((1, 1))


@pytest.mark.parametrize("k", [3, 5])
def test_mean_per_group_gives_the_papers_measure(k, shared_data):
    """SSE/SST of groups of k in file order on Census.

    The reference gives the definition, on 13 columns and 1,080 rows.
    """
    rows = np.loadtxt(shared_data / "casc" / "census.csv", delimiter=",", skiprows=1)
    groups = np.minimum(np.arange(len(rows)) // k, len(rows) // k - 1)
    means = np.stack([np.bincount(groups, weights=column) / np.bincount(groups) for column in rows.T], axis=1)[groups]
    names = [f"c{j}" for j in range(rows.shape[1])]
    tables = [pa.table({name: table[:, j] for j, name in enumerate(names)}) for table in (rows, means)]
    schema = Schema({name: Column(QUASI) for name in names})
    with open_tables(None) as reader:
        before, after = (reader.rows(table, names) for table in tables)
    mine = numeric_loss(read_columns(before, after, schema), aligned=True)
    assert mine.sse_sst == pytest.approx(slow.sse_sst(rows.tolist(), means.tolist()), rel=1e-9)


# -- propensity ---------------------------------------------------------------------------------------


def test_logistic_regression_equals_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(3)
    cells = np.c_[random.integers(0, 2, (300, 3)), random.integers(0, 4, 300)].astype(np.int32)
    outcome = (random.random(300) < 0.2 + 0.5 * cells[:, 1]).astype(float)
    design = np.concatenate([np.ones((300, 1)), cells[:, :3], cells[:, 3:] == [[1, 2, 3]]], axis=1)
    peer = linear.LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(design, outcome)
    predicted, parameters = fit_logistic(cells, outcome)
    assert parameters == design.shape[1]
    assert np.allclose(predicted, peer.predict_proba(design)[:, 1], atol=1e-4)


def test_pmse_of_equal_and_of_different_tables():
    random = np.random.default_rng(0)
    rows = [(AGES[a], COUNTRIES[c]) for a, c in random.integers(0, 5, (400, 2))]
    same = propensity(readings(rows, rows))
    assert same.pmse == pytest.approx(0, abs=1e-12)
    # two samples of one distribution: near the expectation of Snoke et al.
    other = [(AGES[a], COUNTRIES[c]) for a, c in random.integers(0, 5, (400, 2))]
    assert 0.1 < propensity(readings(rows, other)).ratio < 4
    different = propensity(readings([("21", "USA")] * 50, [("41", "India")] * 50))
    assert different.pmse == pytest.approx(0.25, abs=1e-3)
    assert different.worst == 0.25
    # one column of two values: the fitted share of each value is what the model predicts
    one = readings([("21", "USA")] * 30 + [("25", "USA")] * 70, [("21", "USA")] * 60 + [("25", "USA")] * 40)
    by_hand = (90 * (60 / 90 - 0.5) ** 2 + 110 * (40 / 110 - 0.5) ** 2) / 200
    assert propensity(one).pmse == pytest.approx(by_hand, rel=1e-5)
    assert propensity(one).expected == pytest.approx(1 * 0.5**2 * 0.5 / 200)


# -- queries ------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(people, st.data())
def test_query_errors_equal_the_reference(before, data):
    after, sets, _ = release(before, data)
    read = readings(before, after)
    ends = []
    for column in read:
        first = data.draw(st.integers(0, column.cells - 2))
        ends.append((first, data.draw(st.integers(first + 1, column.cells - 1))))
    query = tuple((j, first, end) for j, (first, end) in enumerate(ends))
    wanted = [{value for value, cell in column.cell_of.items() if first <= cell < end}
              for column, (first, end) in zip(read, ends, strict=True)]  # fmt: skip
    assert query_errors(read, [query], 0.1)[0] == pytest.approx(slow.query(before, sets, wanted, 0.1))


def test_queries_of_an_unchanged_table_have_no_error():
    rows = [(AGES[i % 5], COUNTRIES[i % 3]) for i in range(60)]
    assert range_query_error(readings(rows, rows), queries=50).mean == 0


# -- drawing and learning -----------------------------------------------------------------------------


def test_drawn_rows_follow_their_labels():
    before = [(age, country) for age in AGES for country in COUNTRIES]
    after = [("20-29", "Asia")] * 3000 + [("33", "USA")] * 10
    drawn = draw_rows(readings(before, after), np.random.default_rng(0))
    ages, countries = (np.bincount(drawn[:3000, j], minlength=6) / 3000 for j in range(2))
    read = readings(before, after)
    assert ages[[read[0].cell_of["21"], read[0].cell_of["25"]]] == pytest.approx([0.5, 0.5], abs=0.05)
    assert countries[[read[1].cell_of[c] for c in ("China", "Japan", "India")]] == pytest.approx([1 / 3] * 3, abs=0.05)
    assert (drawn[3000:, 1] == read[1].cell_of["USA"]).all()


def test_accuracy_by_hand():
    """Country decides the class.

    Published as it is, nothing is lost; published as *, nothing is left.
    """
    pytest.importorskip("sklearn")
    before = [(AGES[i % 5], "USA" if i % 4 else "India") for i in range(400)]
    classes = coded("class", ["yes" if country == "USA" else "no" for _, country in before])
    retained = classification(readings(before, before), (classes, classes))
    assert (retained.majority, retained.original, retained.released, retained.retained) == (0.75, 1, 1, 1)
    stars = [(age, "*") for age, _ in before]
    lost = classification(readings(before, stars), (classes, classes))
    assert lost.original == 1
    assert lost.released < 0.8
    # grouped with the others of its continent only: the tree still learns it from drawn values
    continents = [(age, "America" if country == "USA" else "Asia") for age, country in before]
    assert classification(readings(before, continents), (classes, classes)).released == 1


def test_accuracy_on_a_separate_test_table():
    pytest.importorskip("sklearn")
    before = [(AGES[i % 5], "USA" if i % 4 else "India") for i in range(400)]
    classes = coded("class", ["yes" if country == "USA" else "no" for _, country in before])
    test = ([coded("age", ["22", "90"]), coded("country", ["USA", "Mars"])], coded("class", ["yes", "no"]))
    answer = classification(readings(before, before), (classes, classes), test=test)
    assert answer.test_rows == 2
    assert answer.original in (0.5, 1.0)


def test_classification_errors():
    rows = [(AGES[i % 5], COUNTRIES[i % 3]) for i in range(60)]
    read = readings(rows, rows)
    yes, strange = coded("class", ["a", "b"] * 30), coded("class", ["a", "?"] * 30)
    with pytest.raises(TableError, check=has_code("compare.class-column-changed")):
        classification(read, (yes, strange))
    with pytest.raises(TableError, match="two classes"):
        classification(read, (coded("class", ["a"] * 60), coded("class", ["a"] * 60)))
    with pytest.raises(PlanError, match="must be one of"):
        classification(read, (yes, yes), classifier="oracle")


def test_c45_takes_hidden_labels_as_unknown():
    """A row of `*` counts in every branch; drawn values would blur the rule."""
    random = np.random.default_rng(3)
    rows = [(AGES[i], COUNTRIES[j]) for i, j in random.integers([5, 3], size=(900, 2))]
    classes = coded("class", ["a" if country == COUNTRIES[0] else "b" for _, country in rows])
    hidden = [(age, "*" if i % 3 else country) for i, (age, country) in enumerate(rows)]
    found = classification(readings(rows, hidden), (classes, classes), classifier="c45")
    assert (found.classifier, found.test_rows, found.original, found.released) == ("c45", 900, 1.0, 1.0)
    assert found.majority < 0.75


def test_c45_of_missing_and_new_values():
    """Missing and new values are unknown, in training and in tests."""
    rows = [(AGES[i % 5], COUNTRIES[i % 3]) for i in range(60)]
    classes = coded("class", ["a" if i % 3 == 0 else "b" for i in range(60)])
    read = readings(rows, [(age, None) for age, _ in rows])
    test = ([coded(column.name, [None, "nowhere"]) for column in read], coded("class", ["b", "b"]))
    found = classification(read, (classes, classes), classifier="c45", test=test)
    assert (found.original, found.released) == (1.0, 1.0)  # the larger class


def test_error_without_scikit_learn_names_the_extra(monkeypatch):
    import builtins

    real = builtins.__import__

    def refuse(name, *rest):
        if name.startswith("sklearn"):
            raise ImportError
        return real(name, *rest)

    rows = [(AGES[i % 5], COUNTRIES[i % 3]) for i in range(60)]
    yes = coded("class", ["a", "b"] * 30)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(PlanError, match=r"shoal\[learn\]"):
        classification(readings(rows, rows), (yes, yes))


# -- compare ------------------------------------------------------------------------------------------


def tables(before, after, names=("age", "country")):
    return [pa.table({name: [row[j] for row in rows] for j, name in enumerate(names)}) for rows in (before, after)]


def test_compare_without_alignment_discloses_no_value():
    before = [(AGES[i % 5], COUNTRIES[i * 2 % 5]) for i in range(50)]
    after = [generalized(row, (1, 1)) for row in before]
    one = compare(*tables(before, after), SCHEMA, queries=30)
    turned = compare(*tables(before, after[::-1]), SCHEMA, queries=30)
    assert one.columns == turned.columns
    assert one.queries.mean == pytest.approx(turned.queries.mean)
    assert one.numeric == turned.numeric
    answer = json.dumps(one.to_dict())
    assert not any(secret in answer for secret in ("USA", "India", "America", "20-29"))


def test_compare_errors():
    before = [(AGES[i % 5], COUNTRIES[i * 2 % 5]) for i in range(10)]
    one, other = tables(before, before)
    with pytest.raises(TableError, match="share none"):
        compare(one, other.rename_columns(["a", "b"]), SCHEMA)
    with pytest.raises(TableError, match="class column"):
        compare(one, other, SCHEMA, target="salary")
    with pytest.raises(TableError, check=has_code("compare.rows-differ")):
        compare(one, other.slice(0, 5), SCHEMA, aligned=True)
    with pytest.raises(PlanError, match="at least 1"):
        compare(one, other, SCHEMA, queries=0)
