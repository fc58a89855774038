"""The method anti-unification from table to certificate.

Its three variants of patterns are compared with slow definitions.
"""

from __future__ import annotations

import doctest
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
import shoal.methods.patterns.pattern_set
import shoal.risk.patterns
from shoal.cli.app import app as command
from shoal.methods.base import mask_small_count
from shoal.methods.patterns.subsets import subsets_of
from shoal.models import InScenario, KAnonymity, LDiversity, PSensitive, Scenario, TCloseness
from shoal.models.scenarios import Knowledge
from shoal.risk.patterns import expose_patterns
from shoal.schema import Column, Cuts, Role, Schema, Widths
from tests.builders.errors import has_code
from tests.builders.plans import write_plan
from tests.reference import anti_unification as reference
from tests.reference import models as slow_models

VALUES = ["a", "b", "c", None]
SECRETS = ["x", "y", "z", None]


@st.composite
def tables(draw, secrets=SECRETS):
    """Rows of a small number of distinct values, and gaps.

    The columns are q0, q1, ... and a confidential one.
    """
    width = draw(st.integers(1, 4))
    row = st.tuples(*([st.sampled_from(VALUES)] * width), st.sampled_from(secrets))
    return draw(st.lists(row, min_size=1, max_size=40))


def arrow(rows):
    names = [*(f"q{j}" for j in range(len(rows[0]) - 1)), "secret"]
    columns = zip(*rows, strict=True)
    return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)})


def schema_of(table, **hierarchies):
    quasi = {name: Column(Role.QUASI_IDENTIFIER, hierarchies.get(name)) for name in table.column_names[:-1]}
    return Schema({**quasi, table.column_names[-1]: Column(Role.SENSITIVE)})


def run(table, k, *models, **parameters):
    plan = shoal.Plan(schema_of(table), (KAnonymity(k), *models), shoal.methods.AntiUnification(**parameters))
    return shoal.anonymize(table, plan)


def coded(rows):
    """The rows of the reference, one per combination.

    Codes are in the package's order: by value, missing last.
    """
    columns = list(zip(*rows, strict=True))[:-1]
    quasi = [{value: code for code, value in enumerate(_ordered(column))} for column in columns]
    classes = {value: code for code, value in enumerate([None, "x", "y", "z"])}
    combinations = sorted(
        Counter(
            (tuple(codes[value] for codes, value in zip(quasi, row, strict=False)), classes[row[-1]]) for row in rows
        ).items()
    )
    names = [{code: value for value, code in codes.items()} for codes in quasi]
    return [(values, row_class, records) for (values, row_class), records in combinations], names


def _ordered(column):
    return [*sorted({value for value in column if value is not None}), *([None] if None in column else [])]


def labels_of(pattern, names):
    return tuple("*" if code == reference.STAR else names[j][code] for j, code in enumerate(pattern))


def published(table):
    return Counter(tuple(row.values()) for row in table.to_pylist())


def expected(coded_rows, names, groups):
    """Return the rows that a slow assignment publishes."""
    label = {0: None, 1: "x", 2: "y", 3: "z"}
    rows = Counter()
    for (_, row_class, records), pattern in zip(coded_rows, groups, strict=True):
        if pattern is not None:
            rows[(*labels_of(pattern, names), label[row_class])] += records
    return rows


parameters = st.tuples(st.integers(2, 6), st.integers(0, 4), st.sampled_from([("<", ">"), (">", "<"), ("<",)]))


@settings(max_examples=60)
@given(tables(), parameters, st.booleans())
def test_disjoint_equals_reference(rows, chosen, keep_rest):
    k, indifferent, order = chosen
    coded_rows, names = coded(rows)
    groups = reference.form_groups(coded_rows, k, indifferent, order, None, keep_rest)
    if not any(groups):
        with pytest.raises(shoal.errors.InfeasibleError):
            run(arrow(rows), k, indifferent=indifferent, order=order, keep_rest=keep_rest)
        return
    release = run(arrow(rows), k, indifferent=indifferent, order=order, keep_rest=keep_rest)
    assert published(release.table) == expected(coded_rows, names, groups)
    passes = release.figures["method"]["passes"]
    assert sum(each["records"] for each in passes) == release.figures["released"] == release.table.num_rows
    assert passes[-1]["left"] == release.figures["suppressed"]
    assert sum(each["patterns"] for each in passes) == release.figures["groups"]
    discarded = release.figures["method"]["discarded"]
    assert discarded["records"] == release.figures["suppressed"]
    left = [i for i, group in enumerate(groups) if group is None]
    known = reference.rare_columns(coded_rows, left, k, 2)
    expected_rare = {
        tuple(f"q{j}" for j in columns): mask_small_count(records, k) for columns, records in known.items()
    }
    assert {tuple(each["columns"]): each["records"] for each in discarded.get("rare", [])} == expected_rare


@settings(max_examples=60)
@given(tables(), parameters, st.booleans())
def test_model_aware_equals_reference(rows, chosen, keep_rest):
    k, indifferent, order = chosen
    coded_rows, names = coded(rows)

    def accept(members):
        return slow_models.p_sensitive([coded_rows[i][1] or None for i in members], 2)

    free = [(values, 0, records) for values, _, records in coded_rows]
    groups = reference.form_groups(free, k, indifferent, order, accept, keep_rest)
    chosen = {"indifferent": indifferent, "order": order, "keep_rest": keep_rest, "patterns": "model-aware"}
    if not any(groups):
        with pytest.raises(shoal.errors.InfeasibleError):
            run(arrow(rows), k, PSensitive(2), **chosen)
        return
    release = run(arrow(rows), k, PSensitive(2), **chosen)
    assert published(release.table) == expected(coded_rows, names, groups)
    assert not keep_rest or release.figures["suppressed"] == 0
    assert release.figures["method"]["rounds"] == 1


@settings(max_examples=60)
@given(tables(), parameters)
def test_overlapping_equals_reference(rows, chosen):
    k, indifferent, order = chosen
    coded_rows, names = coded(rows)
    patterns, identified = reference.anonymize(coded_rows, k, indifferent, order)
    if not patterns:
        with pytest.raises(shoal.errors.InfeasibleError, match="of one sensitive class"):
            run(arrow(rows), k, indifferent=indifferent, order=order, patterns="overlapping")
        return
    release = run(arrow(rows), k, indifferent=indifferent, order=order, patterns="overlapping")
    support, own, fitting, disclosed = reference.overlap(coded_rows, patterns)
    label = {0: None, 1: "x", 2: "y", 3: "z"}
    expected_rows = Counter(
        (*labels_of(pattern, names), label[row_class], support[pattern, row_class]) for pattern, row_class in patterns
    )
    assert published(release.table) == expected_rows
    figures = release.figures
    assert (figures["released"], figures["groups"]) == (fitting, len(patterns))
    assert figures["smallest_group"] == min(support.values()) >= k
    assert figures["suppressed"] == sum(row[2] for row, turn in zip(coded_rows, identified, strict=True) if turn == -1)
    cells = reference.cells(coded_rows, patterns)
    assert figures["risk"] == {
        "highest": 1 / cells[0],
        "average": len(cells) / fitting,
        "records_in_cells_below_k": sum(size for size in cells if size < k),
        "patterns_below_k_own_records": sum(records < k for records in own.values()),
        "patterns_without_own_records": sum(records == 0 for records in own.values()),
        "disclosed_records": disclosed,
    }
    (claim,) = figures["models"]
    assert (claim["name"], claim["holds"]) == ("pattern-support", True)
    assert claim["effective"] == {"k": min(support.values())}
    assert "not k-anonymous" in figures["method"]["warning"]
    disjoint = run(arrow(rows), k, indifferent=indifferent, order=order)
    assert disjoint.figures["suppressed"] <= reference.left_without_small_patterns(coded_rows, patterns, k)


@settings(max_examples=60)
@given(tables(), st.data())
def test_exposure_of_any_patterns_equals_reference(rows, data):
    coded_rows, _ = coded(rows)
    codes = np.array([row[0] for row in coded_rows], np.int32)
    classes = np.array([row[1] for row in coded_rows])
    counts = np.array([row[2] for row in coded_rows])
    cell = st.integers(-1, 3)
    one = st.tuples(st.tuples(*[cell] * codes.shape[1]), st.integers(0, 3))
    patterns = data.draw(st.lists(one, unique=True, max_size=8))
    exposure = expose_patterns(
        codes,
        classes,
        counts,
        np.array([pattern for pattern, _ in patterns], np.int32).reshape(len(patterns), codes.shape[1]),
        np.array([row_class for _, row_class in patterns], np.int64),
    )
    support, own, fitting, disclosed = reference.overlap(coded_rows, patterns)
    assert (exposure.support.tolist(), exposure.own.tolist()) == (list(support.values()), list(own.values()))
    assert (exposure.fitting, exposure.disclosed) == (fitting, disclosed)
    assert sorted(exposure.cells.tolist()) == reference.cells(coded_rows, patterns)


# -- models that measure against the released table -------------------------------------------------


def skewed(rows=400, seed=3):
    random = np.random.default_rng(seed)
    columns = {f"q{j}": random.choice(list("abcdefgh")[: 3 + j], rows).tolist() for j in range(4)}
    weights = np.where(np.array(columns["q0"]) == "a", 0.8, 0.2)
    return pa.table({**columns, "secret": np.where(random.random(rows) < weights, "x", "y").tolist()})


def test_closeness_holds_in_the_released_table():
    """Measure closeness against the released table.

    Groups that fail there are left out.
    """
    table = skewed()
    release = run(table, 4, TCloseness(0.12), patterns="model-aware")
    assert 0 < release.table.num_rows < 400
    groups = {}
    for *key, secret in (tuple(row.values()) for row in release.table.to_pylist()):
        groups.setdefault(tuple(key), []).append(secret)
    for group in groups.values():
        assert len(group) >= 4
        distance = slow_models.t_distance(group, list(groups.values()), slow_models.equal_cost)
        assert distance <= slow_models.Fraction("0.12")
    assert release.figures["method"]["rounds"] > 1
    with_rest = run(table, 4, TCloseness(0.12), patterns="model-aware", keep_rest=True)
    assert with_rest.figures["suppressed"] == 0


def test_l_diversity_alone_implies_a_smallest_size():
    table = skewed()
    plan = shoal.Plan(
        schema_of(table), (LDiversity("1.5", "entropy"),), shoal.methods.AntiUnification(patterns="model-aware")
    )
    assert shoal.anonymize(table, plan).figures["models"][0]["holds"]


# -- edges ------------------------------------------------------------------------------------------


def test_unknown_everywhere_is_one_group():
    table = arrow([(None, None, "x")] * 4 + [(None, None, None)] * 3)
    for variant in ("disjoint", "overlapping"):
        release = run(table, 3, patterns=variant)
        assert {(row["q0"], row["q1"]) for row in release.table.to_pylist()} == {(None, None)}
        assert release.figures["suppressed"] == 0
    assert run(table, 3, PSensitive(1), patterns="model-aware").table.num_rows == 7
    assert release.table.column("support").to_pylist() == [3, 4]  # missing first


def test_all_unknown_column_stays_unknown():
    rows = [(None, a, b, "x") for a in "abc" for b in "abcd" for _ in range(2)]
    table = arrow(rows)
    release = run(table, 5, indifferent=1)
    assert set(release.table.column("q0").to_pylist()) == {None}
    plan = shoal.Plan(schema_of(table, q0=Widths((5,))), (KAnonymity(5),), shoal.methods.AntiUnification(indifferent=1))
    assert shoal.anonymize(table, plan).table.equals(release.table)


def test_k_larger_than_every_class():
    table = arrow([(a, "b", secret) for a in "ab" for secret in "xyz" for _ in range(2)])
    assert run(table, 5, indifferent=1).figures["released"] == 12
    with pytest.raises(shoal.errors.InfeasibleError, match=r"0 of 3 classes .* largest has 4"):
        run(table, 5, patterns="overlapping")
    with pytest.raises(
        shoal.errors.InfeasibleError, match=r"At least 13 of 12 rows must agree in all but 1 columns\. At most 12 do"
    ):
        run(table, 13)
    with pytest.raises(shoal.errors.InfeasibleError, match="all rows in one group reach only k = 12"):
        run(table, 13, keep_rest=True)


def test_model_without_any_pattern_is_named():
    table = arrow([("a", "b", "x")] * 6 + [("c", "b", "y")] * 6)
    with pytest.raises(
        shoal.errors.InfeasibleError, match=r"p-sensitive\(p=2\) fails in 2 of 2 groups \(reached: p = 1\)"
    ):
        run(table, 5, PSensitive(2), patterns="model-aware", indifferent=0)
    with pytest.raises(shoal.errors.InfeasibleError, match="all rows in one group reach only p = 2"):
        run(table, 5, PSensitive(3), patterns="model-aware", keep_rest=True)
    with_rest = run(table, 5, PSensitive(2), patterns="model-aware", indifferent=0, keep_rest=True)
    assert with_rest.figures["groups"] == 1


def test_no_confidential_column():
    table = pa.table({"q0": ["a"] * 3 + ["b"] * 4, "q1": ["c", "d"] * 3 + ["e"]})
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in table.column_names})
    for variant, rows in (("disjoint", 7), ("overlapping", 2), ("model-aware", 7)):
        plan = shoal.Plan(schema, (KAnonymity(3),), shoal.methods.AntiUnification(1, patterns=variant))
        release = shoal.anonymize(table, plan)
        assert release.table.num_rows == rows
        assert release.figures["released"] == 7
        assert release.figures["method"]["pattern_set"][0]["shares"] == {}


def test_one_quasi_identifier():
    table = arrow([("a", "x")] * 5 + [("b", "y")] * 2)
    assert set(run(table, 3).table.column("q0").to_pylist()) == {"a"}
    assert set(run(table, 3, keep_rest=True).table.column("q0").to_pylist()) == {"*"}


def test_star_and_empty_text_as_values(tmp_path):
    """Release values that look like a star or like a missing value.

    A reader takes the value `*` for a hidden value, and empty text for a missing value.
    """
    rows = [("*", "a", "x")] * 4 + [("b", "a", "x")] * 2 + [("c", "a", "y")] * 4 + [("", "d", "y")] * 5
    rows += [(None, "d", "y")] * 2
    table = arrow(rows)
    for variant in ("disjoint", "overlapping", "model-aware"):
        for suffix in ("csv", "parquet"):
            source, target = tmp_path / "t.parquet", tmp_path / f"{suffix}-out.{suffix}"
            pq.write_table(table, source)
            plan = {
                "source": {"path": str(source)},
                "columns": {
                    **{name: {"role": "quasi-identifier"} for name in table.column_names[:-1]},
                    "secret": {"role": "sensitive"},
                },
                "models": [{"name": "k-anonymity", "k": 4}],
                "method": {"name": "anti-unification", "patterns": variant, "indifferent": 1},
                "output": {"path": str(target), "overwrite": True},
            }
            assert shoal.release(plan).figures["smallest_group"] >= 4


def test_row_order_does_not_change_the_bytes(tmp_path):
    table = skewed(120)
    texts = set()
    for seed, variant in ((0, "disjoint"), (1, "disjoint"), (2, "disjoint")):
        order = np.random.default_rng(seed).permutation(table.num_rows)
        source, target = tmp_path / f"{seed}.csv", tmp_path / "out.csv"
        pa.csv.write_csv(table.take(pa.array(order)), source)
        columns = {**{f"q{j}": {"role": "quasi-identifier"} for j in range(4)}, "secret": {"role": "sensitive"}}
        plan = {
            "source": {"path": str(source)},
            "columns": columns,
            "models": [{"name": "k-anonymity", "k": 4}],
            "method": {"name": "anti-unification", "patterns": variant},
            "output": {"path": str(target), "overwrite": True},
        }
        release = shoal.release(plan)
        content = {key: value for key, value in release.figures.items() if key != "plan"}
        texts.add((target.read_text(), json.dumps(content)))
    assert len(texts) == 1


# -- columns cut first --------------------------------------------------------------------------------


def test_only_numbers_with_intervals_are_cut_first():
    table = pa.table({"age": [20, 21, 22, 31, 33, 34], "zip": ["1", "1", "1", "2", "2", "2"], "s": list("xyxyxy")})
    schema = schema_of(table, age=Cuts(((30,),)))
    release = shoal.anonymize(table, shoal.Plan(schema, (KAnonymity(3),), shoal.methods.AntiUnification(0)))
    assert published(release.table.select(["age", "zip"])) == {("<30", "1"): 3, (">=30", "2"): 3}
    assert release.figures["method"]["cut"] == {"age": 1}
    # half of a hierarchy of height 2; the other column loses nothing
    assert release.utility["precision"] == pytest.approx(0.25)
    exact = shoal.Plan(schema, (KAnonymity(3),), shoal.methods.AntiUnification(1, levels={"age": 0}))
    assert set(shoal.anonymize(table, exact).table.column("age").to_pylist()) == {"*"}
    higher = shoal.Plan(schema, (KAnonymity(3),), shoal.methods.AntiUnification(0, levels={"zip": 1, "age": 2}))
    assert shoal.anonymize(table, higher).figures["groups"] == 1


# -- plans refused before any work --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"indifferent": -1}, "'indifferent' must be a whole number of at least 0"),
        ({"order": ()}, "must be a list, each item '<' or '>'"),
        ({"order": ("=",)}, "must be a list, each item '<' or '>'"),
        ({"order": "<"}, "must be a list, each item '<' or '>'"),
        ({"patterns": "some"}, "must be disjoint, model-aware or overlapping"),
        ({"keep_rest": 1}, "true or false"),
        ({"patterns": "overlapping", "keep_rest": True}, "leave no remaining rows"),
    ],
)
def test_parameters(chosen, message):
    with pytest.raises(shoal.errors.PlanError, match=message):
        shoal.methods.AntiUnification(**chosen)


def test_unsupported_plans_are_refused():
    quasi = {"a": Column(Role.QUASI_IDENTIFIER), "s": Column(Role.SENSITIVE)}
    both = (KAnonymity(3), PSensitive(2))
    for variant in ("disjoint", "overlapping"):
        with pytest.raises(shoal.errors.PlanError, check=has_code("patterns.only-k-anonymity", models="p-sensitive")):
            shoal.Plan(Schema(quasi), both, shoal.methods.AntiUnification(patterns=variant))
    other = Schema({**quasi, "note": Column(Role.OTHER)})
    with pytest.raises(shoal.errors.PlanError, check=has_code("patterns.column-of-single-records", column="note")):
        shoal.Plan(other, both[:1], shoal.methods.AntiUnification(patterns="overlapping"))
    taken = Schema({**quasi, "support": Column(Role.QUASI_IDENTIFIER)})
    with pytest.raises(shoal.errors.PlanError, check=has_code("patterns.reserved-column")):
        shoal.Plan(taken, both[:1], shoal.methods.AntiUnification(patterns="overlapping"))
    with pytest.raises(shoal.errors.PlanError, match="not a quasi-identifier"):
        shoal.Plan(Schema(quasi), both[:1], shoal.methods.AntiUnification(levels={"s": 1}))
    with pytest.raises(shoal.errors.PlanError, check=has_code("method.level-not-in-hierarchy", highest=1, found=2)):
        shoal.anonymize(
            pa.table({"a": ["u"] * 3, "s": ["v"] * 3}),
            shoal.Plan(Schema(quasi), both[:1], shoal.methods.AntiUnification(levels={"a": 2})),
        )


# -- patterns for readers -----------------------------------------------------------------------------


def test_pattern_set_equals_the_list_of_the_certificate():
    table = skewed()
    release = run(table, 5)
    patterns = shoal.methods.patterns.pattern_set.pattern_set(release.table, schema_of(table), k=5)
    assert sum(pattern.support for pattern in patterns) == release.table.num_rows
    assert [pattern.to_dict() for pattern in patterns[:10]] == release.figures["method"]["pattern_set"]
    sizes = Counter(tuple(row.values())[:-1] for row in release.table.to_pylist())
    for pattern in patterns:
        assert sizes[tuple(pattern.shown.values())] == pattern.support
        assert sum(pattern.shares["secret"].values()) == pytest.approx(1)
    assert [pattern.support for pattern in patterns] == sorted(sizes.values(), reverse=True)


def test_pattern_set_omits_groups_below_k():
    table = arrow([("a", "x")] * 3 + [("b", "x"), ("b", None)])
    (only,) = shoal.methods.patterns.pattern_set.pattern_set(table, schema_of(table), k=3)
    assert (only.shown, only.support, only.shares) == ({"q0": "a"}, 3, {"secret": {"x": 1.0}})
    second = shoal.methods.patterns.pattern_set.pattern_set(table, schema_of(table), k=2)[1]
    assert second.shares == {"secret": {"x": 0.5}}  # a missing value has no share
    assert shoal.methods.patterns.pattern_set.pattern_set(table, schema_of(table), k=2, most=1) == [only]
    with pytest.raises(shoal.errors.TableError, match="no column 'q0'"):
        shoal.methods.patterns.pattern_set.pattern_set(table.drop_columns(["q0"]), schema_of(table), k=2)
    with pytest.raises(shoal.errors.PlanError, match="At least one"):
        shoal.methods.patterns.pattern_set.pattern_set(table, Schema({"secret": Column(Role.SENSITIVE)}), k=2)


def test_examples_of_the_modules():
    for module in (shoal.methods.patterns.pattern_set, shoal.risk.patterns):
        assert doctest.testmod(module).failed == 0


def test_command_prints_patterns_and_a_warning(tmp_path):
    pa.csv.write_csv(skewed(200), tmp_path / "t.csv")
    columns = {**{f"q{j}": "quasi-identifier" for j in range(4)}, "secret": "sensitive"}
    for variant in ("disjoint", "overlapping"):
        plan = write_plan(
            tmp_path,
            columns=columns,
            models="k-anonymity k=4",
            method={"name": "anti-unification", "indifferent": 1, "order": [">", "<"], "patterns": variant},
            source="t.csv",
            output={"path": "out.csv", "overwrite": True},
        )
        done = CliRunner().invoke(command, ["release", str(plan)])
        assert done.exit_code == 0, done.output
        assert "The patterns of most records" in done.output
        assert "left out rare" in done.output
        assert ("Risk: " in done.output) == (variant == "overlapping")  # printed with the method's own warning


# -- Adult, as in section 4 ---------------------------------------------------------------------------

ADULT = """
[source]
path = "{source}"
header = false
trim = true
names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
         "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary"]
[columns]
age = {{ role = "quasi-identifier", hierarchy = {{ intervals = [5], bottom = 20, top = 90 }} }}
workclass = {{ role = "quasi-identifier" }}
fnlwgt = {{ role = "identifier" }}
education = {{ role = "quasi-identifier" }}
education-num = {{ role = "identifier" }}
marital-status = {{ role = "quasi-identifier" }}
occupation = {{ role = "quasi-identifier" }}
relationship = {{ role = "identifier" }}
race = {{ role = "quasi-identifier" }}
sex = {{ role = "quasi-identifier" }}
capital-gain = {{ role = "identifier" }}
capital-loss = {{ role = "identifier" }}
hours-per-week = {{ role = "identifier" }}
native-country = {{ role = "quasi-identifier" }}
salary = {{ role = "sensitive" }}
[[models]]
name = "k-anonymity"
k = {k}
{more}
[method]
name = "anti-unification"
order = {order}
patterns = "{patterns}"
[output]
path = "released.csv"
"""


@pytest.mark.parametrize(
    ("patterns", "k", "order", "missing", "more", "suppressed", "groups"),
    [
        ("disjoint", 5, ["<", ">"], False, "", 2686, 835),
        ("disjoint", 30, [">", "<"], False, "", 7780, None),
        ("overlapping", 5, ["<", ">"], False, "", 3243, 1096),
        ("overlapping", 5, [">", "<"], True, "", 3330, 3080),
        ("overlapping", 30, ["<", ">"], False, "", 8817, 321),
        ("model-aware", 5, ["<", ">"], True, '[[models]]\nname = "p-sensitive"\np = 2', 6115, 577),
    ],
)
def test_adult_through_a_plan_file(shared_data, tmp_path, patterns, k, order, missing, more, suppressed, groups):
    """Reproduce the kernels' figures.

    An unknown value is a value like any other, whether it is declared missing or not.
    """
    text = ADULT.format(
        source=shared_data / "adult" / "adult.data", k=k, more=more, order=json.dumps(order), patterns=patterns
    )
    plan = tmp_path / "plan.toml"
    plan.write_text(text.replace("trim = true", 'trim = true\nmissing = ["?"]') if missing else text)
    figures = shoal.release(plan).figures
    assert (figures["rows"], figures["suppressed"]) == (32561, suppressed)
    assert groups is None or figures["groups"] == groups
    assert figures["smallest_group"] >= k
    if patterns == "overlapping" and k == 5 and order == ["<", ">"]:
        assert figures["risk"]["patterns_below_k_own_records"] == 494
        assert figures["risk"]["patterns_without_own_records"] == 223
        assert figures["risk"]["disclosed_records"] == 8705


SUBSETS = (Scenario("first", ("q0", "q1"), 0, 2), Scenario("second", ("q2", "q3"), 0, 2))


@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.sampled_from("abc")] * 4, st.sampled_from("xy")), min_size=4, max_size=16),
    indifferent=st.integers(0, 1),
    keep_rest=st.booleans(),
)
def test_separate_generalization_of_subsets(rows, indifferent, keep_rest):
    """Labels of each subset, as released from its columns by themselves.

    Rows that fit no pattern of a subset are left out of all, and patterns are formed anew.
    """
    method = shoal.methods.AntiUnification(indifferent=indifferent, keep_rest=keep_rest)
    schema = schema_of(arrow(rows))
    schema = Schema({**schema.columns, "secret": Column(Role.SENSITIVE, known_to_others=False)})
    plan = shoal.Plan(schema, (), method, scenarios=SUBSETS, together=False)
    remaining = list(range(len(rows)))
    while remaining:  # by definition: leave out what fits no pattern of a subset, and form the patterns anew
        labels, fitting = [], set(range(len(remaining)))
        for columns in ((0, 1), (2, 3)):
            part = [(*(rows[i][j] for j in columns), str(number), rows[i][4]) for number, i in enumerate(remaining)]
            table = pa.table(
                {name: [row[j] for row in part] for j, name in enumerate(("q0", "q1", "number", "secret"))}
            )
            roles = {"q0": Role.QUASI_IDENTIFIER, "q1": Role.QUASI_IDENTIFIER, "number": Role.OTHER}
            alone = Schema({**{name: Column(role) for name, role in roles.items()}, "secret": Column(Role.SENSITIVE)})
            try:
                found = shoal.anonymize(table, shoal.Plan(alone, KAnonymity(2), method)).table.to_pylist()
            except shoal.errors.InfeasibleError:
                found = []
            labels.append({int(row["number"]): (row["q0"], row["q1"]) for row in found})
            fitting &= set(labels[-1])
        if len(fitting) == len(remaining):
            break
        remaining = [i for number, i in enumerate(remaining) if number in fitting]
    if not remaining:
        with pytest.raises(shoal.errors.InfeasibleError):
            shoal.anonymize(arrow(rows), plan)
        return
    released = shoal.anonymize(arrow(rows), plan).table.to_pylist()
    expected = [(*labels[0][number], *labels[1][number], rows[i][4]) for number, i in enumerate(remaining)]
    assert Counter(tuple(row.values()) for row in released) == Counter(expected)


def test_scenarios_that_share_a_column_are_one_subset():
    names = ("a", "b", "c", "d", "e")
    parts = [
        InScenario(KAnonymity(k), Knowledge(name, tuple(name)))
        for name, k in (("ab", 2), ("cd", 3), ("bc", 4), ("e", 5))
    ]
    found = [(columns, sorted(part.k for part in model.parts)) for columns, model in subsets_of(parts, names)]
    assert found == [([0, 1, 2, 3], [2, 3, 4]), ([4], [5])]


def test_overlapping_patterns_have_no_scenarios():
    rows = [("a", "b", "c", "d", "x")] * 4
    schema = schema_of(arrow(rows))
    schema = Schema({**schema.columns, "secret": Column(Role.SENSITIVE, known_to_others=False)})
    with pytest.raises(shoal.errors.PlanError, match="no crowds of rows"):
        shoal.Plan(schema, (), shoal.methods.AntiUnification(patterns="overlapping"), scenarios=SUBSETS, together=False)
