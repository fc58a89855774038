"""Canonical spelling of quasi-identifiers, and keys of sensitive values.

What is counted as equal is published equal byte for byte, and sensitive values are counted by their meaning.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.errors import HierarchyError, PlanError
from shoal.io.engines import open_engine
from shoal.io.engines.base import Source
from shoal.schema import Categories, Column, Ordered, Role, Schema, Table, Tree
from shoal.schema.spelling import canonical, fold, fold_any_text
from tests.builders.plans import write_plan
from tests.reference import spelling as reference

SPELLINGS = ["HIV", "hiv", "HIV ", "HIV\u00a0"]
SIGNS = "aAeE\u0301\u00e9\u00df\u017f\u0130 \t\u00a0\u2003\u200b\ufeff\ufb01\uff21\u00b2\u0661\u221201.5-+*\u00ad"
UNSEEN = "\0\x07\x1b\x7f\x85\x9f\u034f\u061c\u115f\u17b4\u180b\u2028\u2065\u2800\u3164\ufe0f\uffa0\U000e0100"
texts = st.one_of(
    st.text(SIGNS, max_size=6),
    st.text(SIGNS + UNSEEN, max_size=6),
    st.text(max_size=4),
    st.from_regex(r"[+-]?\d{0,3}\.?\d{0,3}(e\d)?"),
)


# -- the two keys --------------------------------------------------------------------------------------------


@settings(max_examples=600)
@given(texts)
def test_canonical_form_equals_the_reference(text: str) -> None:
    """A canonical form is its own canonical form."""
    form = canonical(text)
    assert form == reference.canonical(text)
    assert form is None or canonical(form) == form


@settings(max_examples=600)
@given(st.lists(texts, max_size=8))
def test_equal_keys_exactly_for_equal_reference_values(values: list[str]) -> None:
    for one in values:
        assert (fold(one) is None) == (reference.value(one) is None)
        for other in values:
            assert (fold(one) == fold(other)) == (reference.value(one) == reference.value(other))


@pytest.mark.parametrize("sign", UNSEEN)
def test_invisible_characters_make_no_second_value(sign: str) -> None:
    table = pa.table({"age": ["1"] * 4, "illness": ["HIV", f"HIV{sign}", f"{sign}HIV", "HIV"]})
    answer = shoal.check(table, ["p-sensitive p=2"], quasi_identifiers=["age"], sensitive=["illness"]).to_dict()
    assert not answer["holds"]
    alone = pa.table({"age": ["1"] * 2, "illness": ["HIV", sign]})  # a cell without visible characters is missing
    answer = shoal.check(alone, ["p-sensitive p=2"], quasi_identifiers=["age"], sensitive=["illness"]).to_dict()
    assert not answer["holds"]


@given(st.text(alphabet="0012Ee9xZ.+- ", max_size=8))
def test_fold_equals_fold_any_text(text: str) -> None:
    assert fold(text) == fold_any_text(text)


def test_keys_of_numbers_and_texts() -> None:
    assert len({fold(text) for text in ("1", "1.0", "01", "+1", "1e0", "\u0661", "\uff11", "1.")}) == 1
    assert fold("1e5") == fold("100000") == fold("1E5")
    assert fold("-0.0") == fold("0") == fold("+00")
    for one, other in (("A01", "A1"), ("1,0", "1.0"), ("1_0", "10"), ("0x1", "1"), ("-1", "1"), (".", "0")):
        assert fold(one) != fold(other)
    assert fold("nan") == "nan"
    assert fold("\u00a0\u200b") is None


# -- quasi-identifiers ---------------------------------------------------------------------------------------

ROLES = {"x": "quasi-identifier", "c": "quasi-identifier", "s": "sensitive", "o": "other"}
MIXED = pa.table(
    {
        "x": [0.0, -0.0, float("nan"), None, -0.0, 0.0],
        "c": ["Caf\u00e9", "Cafe\u0301 ", "Wien", "Wien\u00a0", "Caf\u00e9", " Cafe\u0301"],
        "s": ["HIV", "hiv", "flu", "gout", "HIV\u00a0", "HIV "],
        "o": [" a", "a", "A", "a\u00a0", "", None],
    }
)


def plan_of(roles: dict[str, str], k: int = 2, **more: Any) -> dict[str, Any]:
    quasi = {name: 0 for name, role in roles.items() if role == "quasi-identifier"}
    return {
        "columns": {name: {"role": role} for name, role in roles.items()},
        "models": [{"name": "k-anonymity", "k": k}],
        "method": {"name": "levels", "levels": quasi},
        **more,
    }


def exact_rows(table: pa.Table, names: tuple[str, ...]) -> Counter[tuple[str, ...]]:
    """Count each row by its exact representation."""
    rows = zip(*(table.column(name).to_pylist() for name in names), strict=True)
    return Counter(tuple(map(repr, row)) for row in rows)


def read_csv(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))


@pytest.mark.parametrize("kind", [lambda table: table, lambda table: table.to_pandas(), pl.from_arrow])
def test_frame_publishes_equal_quasi_identifiers_equal(kind: Callable[[pa.Table], Any]) -> None:
    released = shoal.anonymize(kind(MIXED.select(["x", "c"])), plan_of({"x": ROLES["x"], "c": ROLES["c"]}))
    table = pl.DataFrame(released.table).to_arrow()
    sizes = exact_rows(table.set_column(0, "x", table.column("x").cast(pa.string())), ("x", "c"))
    assert sorted(sizes.values()) == [2, 4]
    assert released.figures["smallest_group"] == 2
    assert "-" not in "".join(text or "" for text in table.column("x").cast(pa.string()).to_pylist())


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_file_publishes_equal_quasi_identifiers_equal(tmp_path: Path, form: str) -> None:
    """Sensitive and other columns stay as they were."""
    pq.write_table(MIXED, tmp_path / "source.parquet")
    path = tmp_path / f"released.{form}"
    plan = plan_of(ROLES, source={"path": str(tmp_path / "source.parquet")}, output={"path": str(path)})
    figures = shoal.release(plan).figures
    if form == "csv":
        lines = read_csv(path)[1:]
        groups, notes = Counter((x, c) for x, c, _, _ in lines), [line[3] for line in lines]
        assert sorted(line[2] for line in lines) == sorted(MIXED.column("s").to_pylist())
        assert sorted(notes) == sorted(note or "" for note in MIXED.column("o").to_pylist())
    else:
        table = pq.read_table(path)
        groups = Counter(exact_rows(table, ("x", "c")))
        assert Counter(table.column("o").to_pylist()) == Counter(MIXED.column("o").to_pylist())
        assert Counter(table.column("s").to_pylist()) == Counter(MIXED.column("s").to_pylist())
    assert sorted(groups.values()) == [2, 4]
    assert figures["groups"] == 2
    assert figures["folded"] == {"s": 3}


def test_other_columns_keep_negative_zeros(tmp_path: Path) -> None:
    table = pa.table({"a": [-0.0, 0.0], "o": [-0.0, -0.0]})
    released = shoal.anonymize(table, plan_of({"a": "quasi-identifier", "o": "other"}))
    assert repr(released.table.column("o").to_pylist()) == "[-0.0, -0.0]"
    assert repr(released.table.column("a").to_pylist()) == "[0.0, 0.0]"


def test_check_distinguishes_positive_and_negative_zero() -> None:
    """A reader of the table sees two values."""
    table = pa.table({"a": pa.array([-0.0, 0.0, 0.0], pa.float32())})
    assert shoal.check(table, ["k-anonymity k=2"], quasi_identifiers=["a"]).smallest_group == 1


NAN, INF = float("nan"), float("inf")
STRANGE = pa.table(
    {
        "a": pa.array([NAN, None, INF, INF, -INF, -INF], pa.float64(), from_pandas=False),
        "o": pa.array([NAN, None, NAN, -0.0, -INF, INF], pa.float64(), from_pandas=False),
    }
)


@pytest.mark.parametrize("form", ["arrow", "polars", "csv", "parquet", "duckdb", "xlsx"])
def test_nan_stays_in_other_columns_only(tmp_path: Path, form: str) -> None:
    """A quasi-identifier publishes NaN as missing."""
    roles = {"a": "quasi-identifier", "o": "other"}
    if form in ("arrow", "polars"):
        frame = STRANGE if form == "arrow" else pl.from_arrow(STRANGE)
        table = pl.DataFrame(shoal.anonymize(frame, plan_of(roles)).table).to_arrow()
    else:
        pq.write_table(STRANGE, tmp_path / "source.parquet")
        path = tmp_path / f"released.{form}"
        shoal.release(plan_of(roles, source={"path": str(tmp_path / "source.parquet")}, output={"path": str(path)}))
        with open_engine() as engine:
            read = engine.read(Source(path, with_nan=("a", "o")))
            table = engine.head(read, 9).rename_columns(["a", "o"])
    values = [repr(None if cell is None else float(cell)) for cell in table.column("o").to_pylist()]
    assert Counter(values) == Counter(map(repr, STRANGE.column("o").to_pylist()))
    assert Counter(map(str, table.column("a").to_pylist())) == {"None": 2, "inf": 2, "-inf": 2}


def test_check_distinguishes_nan_and_missing(tmp_path: Path) -> None:
    """A reader of the table sees two values."""
    pq.write_table(STRANGE, tmp_path / "table.parquet")
    for table in (STRANGE, pl.from_arrow(STRANGE), tmp_path / "table.parquet"):
        checked = shoal.check(table, ["k-anonymity k=2"], quasi_identifiers=["a"])
        assert (checked.groups, checked.smallest_group) == (4, 1)


def test_saved_release_keeps_nan(tmp_path: Path) -> None:
    made = shoal.anonymize(STRANGE, plan_of({"a": "quasi-identifier", "o": "other"}))
    saved = made.save(tmp_path, "released.parquet")
    assert saved.path is not None
    found = Counter(map(repr, pq.read_table(saved.path).column("o").to_pylist()))
    assert found == Counter(map(repr, STRANGE.column("o").to_pylist()))


def test_blank_quasi_identifiers_are_missing() -> None:
    table = pa.table({"a": ["", " ", "\u00a0", None]})
    released = shoal.anonymize(table, plan_of({"a": "quasi-identifier"}, k=4))
    assert released.table.column("a").to_pylist() == [None] * 4


def test_categorical_columns_are_canonical_too() -> None:
    table = pa.table({"a": pa.array(["x", "x ", "y", "y"]).dictionary_encode()})
    for frame in (table, table.to_pandas(), pl.from_arrow(table)):
        released = pl.DataFrame(shoal.anonymize(frame, plan_of({"a": "quasi-identifier"})).table)
        assert released["a"].to_list() == ["x", "x", "y", "y"]


HIERARCHIES = [
    Table((("Cafe\u0301 ", " Food"), ("Wien", "City"))),
    Tree({" Food": ["Cafe\u0301 "], "City": ["Wien"]}),
]


@pytest.mark.parametrize("hierarchy", HIERARCHIES)
def test_hierarchy_in_canonical_form(hierarchy: Any) -> None:
    roles = Schema({"c": Column(Role.QUASI_IDENTIFIER, hierarchy)})
    plan = shoal.Plan(roles, (shoal.models.KAnonymity(2),), shoal.methods.Levels({"c": 1}))
    released = shoal.anonymize(MIXED.select(["c"]), plan)
    assert Counter(released.table.column("c").to_pylist()) == {"Food": 4, "City": 2}
    ordered = Ordered((2,), ("Cafe\u0301 ", "Wien")).bind(["Caf\u00e9", "Wien"], False)
    assert ordered.labels[1] == ("Caf\u00e9..Wien",)


def test_hierarchy_with_two_labels_for_a_value_is_refused() -> None:
    with pytest.raises(HierarchyError, match="two rows"):
        Table((("a", "x"), ("a ", "y"))).bind(["a"], False)


cells = st.one_of(
    st.none(), st.sampled_from(["a", "A", "a ", "\u00a0a", "\u00e9", "e\u0301", " e\u0301", "", "1", "1.0"])
)
numbers = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.0, float("nan"), 1e-300, float("inf")]))
rows_of_people = st.lists(st.tuples(cells, numbers, cells), min_size=4, max_size=30)


@settings(max_examples=40)
@given(rows_of_people, st.sampled_from(["csv", "parquet", "frame"]))
def test_certified_groups_equal_groups_by_raw_bytes(people: list[tuple[Any, Any, Any]], form: str) -> None:
    table = pa.table(
        {
            "c": pa.array([row[0] for row in people], pa.string()),
            "x": pa.array([row[1] for row in people], pa.float64(), from_pandas=False),
            "s": pa.array([row[2] for row in people], pa.string()),
        }
    )
    roles = {"c": "quasi-identifier", "x": "quasi-identifier", "s": "sensitive"}
    method = {"name": "full-domain", "suppression": 1.0}
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, Path(folder) / "source.parquet")
        path = Path(folder) / f"released.{form}"
        plan = {**plan_of(roles), "method": method}
        plan["models"] = [*plan["models"], {"name": "p-sensitive", "p": 1}]
        try:
            if form == "frame":
                release = shoal.anonymize(table, plan)
                found = release.table
            else:
                source = {"path": str(Path(folder) / "source.parquet")}
                release = shoal.release({**plan, "source": source, "output": {"path": str(path), "report": False}})
                found = pq.read_table(path) if form == "parquet" else _raw_csv(path)
        except shoal.errors.InfeasibleError:
            return
    sizes = exact_rows(found, ("c", "x"))
    assert release.figures["groups"] == len(sizes)
    assert release.figures["smallest_group"] == min(sizes.values())
    secrets: dict[tuple[str, str], set[Any]] = {key: set() for key in sizes}
    for c, x, s in zip(*(found.column(name).to_pylist() for name in ("c", "x", "s")), strict=True):
        if s is not None and reference.value(s) is not None:
            secrets[repr(c), repr(x)].add(reference.value(s))
    assert release.figures["models"][1]["effective"]["p"] == min(map(len, secrets.values()))


def _raw_csv(path: Path) -> pa.Table:
    header, *lines = read_csv(path)
    return pa.table({name: [line[index] for line in lines] for index, name in enumerate(header)})


# -- sensitive values ----------------------------------------------------------------------------------------


def ill(values: list[Any]) -> pa.Table:
    return pa.table({"age": ["30"] * len(values), "illness": values})


def reached(values: list[Any], **column: Any) -> Any:
    given_column = {"illness": Column(Role.SENSITIVE, **column)}
    return shoal.check(ill(values), ["p-sensitive p=2"], quasi_identifiers=["age"], sensitive=given_column)


def test_spellings_of_one_illness_are_one_value() -> None:
    answer = reached(SPELLINGS)
    assert answer.models[0].effective == {"p": 1}
    assert not answer.holds
    assert answer.to_dict()["folded"] == {"illness": 3}
    exact = reached(SPELLINGS, exact=True)
    assert exact.models[0].effective == {"p": 4}
    assert "folded" not in exact.to_dict()


def test_sensitive_numbers_by_value_and_blanks_as_missing() -> None:
    assert reached(["1", "1.0", "01"]).models[0].effective == {"p": 1}
    assert reached(["flu", " ", "\u00a0", None]).models[0].effective == {"p": 1}
    assert reached([0.0, -0.0, 1.0]).models[0].effective == {"p": 2}


@pytest.mark.parametrize("name", ["full-domain", "mondrian", "top-down", "mdav"])
def test_spellings_are_no_diversity(name: str) -> None:
    values = [*SPELLINGS, "flu", "Flu", "gout", "HIV"]
    table = pa.table({"age": ["1", "1", "2", "2", "3", "3", "4", "4"], "illness": values})
    plan = {
        "columns": {"age": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}},
        "models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}],
        "method": {"name": name},
    }
    released = shoal.anonymize(table, plan)
    groups: dict[str, set[Any]] = {}
    for age, illness in zip(*(released.table.column(c).to_pylist() for c in ("age", "illness")), strict=True):
        groups.setdefault(age, set()).add(reference.value(illness))
    assert min(map(len, groups.values())) >= 2
    assert released.figures["folded"] == {"illness": 4}
    assert sorted(released.table.column("illness").to_pylist()) == sorted(values)


def test_values_of_the_plan_are_found_by_key() -> None:
    values = ["hiv", "HIV\u00a0", "FLU", "flu"]
    categories = Categories((("HIV",), ("Flu ",)))
    answer = shoal.check(
        ill(values),
        [
            "p-plus-alpha-sensitive p=2 alpha=1",
            "t-closeness t=1 distance=ordered",
            "t-closeness t=1 distance=hierarchical",
        ],
        quasi_identifiers=["age"],
        sensitive={
            "illness": Column(
                Role.SENSITIVE, Tree({"grave": ["HIV"], "light": ["Flu "]}), categories, order=("Flu", "HIV")
            )
        },
    )
    assert answer.holds


def test_categories_are_published_for_every_spelling() -> None:
    column = {"role": "sensitive", "categories": [["HIV"], ["flu"]], "publish": "categories"}
    plan = {**plan_of({"age": "quasi-identifier", "illness": "sensitive"})}
    plan["columns"] = {"age": {"role": "quasi-identifier"}, "illness": column}
    released = shoal.anonymize(ill([*SPELLINGS, "FLU", " "]), plan)
    assert sorted(map(str, released.table.column("illness").to_pylist())) == ["1", "1", "1", "1", "2", "None"]


CONFLICTS: list[dict[str, Any]] = [
    {"categories": Categories((("HIV",), ("hiv", "flu")))},
    {"order": ("1", "2", "1.0")},
    {"hierarchy": Tree({"a": ["HIV"], "b": ["hiv"]})},
    {"hierarchy": Table((("HIV", "a"), ("HIV ", "b")))},
    {"hierarchy": Ordered((2,), ("x", "X"))},
    {"categories": Categories((("a",), ("b",)), ("High", "high")), "publish": "categories"},
]


@pytest.mark.parametrize("given_column", CONFLICTS)
def test_plan_with_conflicting_spellings_is_refused(given_column: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="exact = true"):
        Column(Role.SENSITIVE, **given_column)
    assert Column(Role.SENSITIVE, **given_column, exact=True).exact


def test_only_a_sensitive_column_is_exact() -> None:
    with pytest.raises(PlanError, match="sensitive"):
        Column(Role.QUASI_IDENTIFIER, exact=True)


def test_folded_spellings_on_terminal_json_and_report(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    plan = write_plan(
        tmp_path,
        table="age,illness\n" + "".join(f"30,{text}\n" for text in [*SPELLINGS, "flu"]),
        columns={"age": "quasi-identifier", "illness": "sensitive"},
        models=["p-sensitive p=2", "k-anonymity k=2"],
        source=table.name,
        output={"path": "r.csv", "overwrite": True},
    )
    run = CliRunner()
    result = run.invoke(app, ["release", str(plan)])
    assert "counted as another one: illness 3" in result.output
    assert json.loads(run.invoke(app, ["release", str(plan), "--json"]).output)["folded"] == {"illness": 3}
    assert "3 spellings beside the first of each" in (tmp_path / "r.report.html").read_text(encoding="utf-8")
    result = run.invoke(app, ["check", str(table), "-q", "age", "-s", "illness", "-m", "p-sensitive p=2"])
    assert "counted as another one: illness 3" in result.output
    for line in ("HIV", "hiv"):
        assert line not in result.output


# -- the other engine ----------------------------------------------------------------------------------------


def test_spark_publishes_and_counts_as_duckdb_does(spark: Any) -> None:
    here = shoal.anonymize(MIXED, plan_of(ROLES))
    there = shoal.anonymize(spark.createDataFrame(MIXED), plan_of(ROLES))
    names = tuple(ROLES)
    assert exact_rows(there.table.toArrow(), names) == exact_rows(here.table, names)
    assert there.figures["folded"] == here.figures["folded"] == {"s": 3}
    assert there.figures["groups"] == 2
    answer = shoal.check(
        spark.createDataFrame(pa.table({"a": [0.0, -0.0]})), ["k-anonymity k=2"], quasi_identifiers=["a"]
    )
    assert answer.smallest_group == 1


def test_spark_folds_distributed_rows(spark: Any) -> None:
    rows = 40
    table = pa.table(
        {
            "age": [float(row) if row % 3 else -0.0 for row in range(rows)],
            "city": [("Wien", "Wien ", "Cafe\u0301", "Caf\u00e9")[row % 4] for row in range(rows)],
            "illness": [(*SPELLINGS, "flu")[row % 5] for row in range(rows)],
        }
    )
    plan = {
        "columns": {
            "age": {"role": "quasi-identifier"},
            "city": {"role": "quasi-identifier"},
            "illness": {"role": "sensitive"},
        },
        "models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}],
        "method": {"name": "mdav", "block": 20},
    }
    released = shoal.anonymize(spark.createDataFrame(table), plan)
    groups: dict[Any, set[Any]] = {}
    for row in released.table.collect():
        groups.setdefault((row["age"], row["city"]), set()).add(reference.value(row["illness"]))
    assert min(map(len, groups.values())) >= 2
    assert released.figures["folded"] == {"illness": 3}


def test_attack_finds_people_by_canonical_form():
    """A blank must not hide a person from the attack.

    Values published in canonical form are searched in that form.
    """
    cafe = unicodedata.normalize("NFD", "Café")
    people = pa.table({"place": ["Wien ", " Wien", cafe, "Café"] * 3, "illness": ["flu", "flu", "flu", "asthma"] * 3})
    columns = {"place": Column(Role.QUASI_IDENTIFIER), "illness": Column(Role.SENSITIVE)}
    plan = shoal.Plan(Schema(columns), (shoal.models.KAnonymity(2),), shoal.methods.Levels({}))
    released = shoal.anonymize(people, plan).table
    found = shoal.attack(released, plan.schema, original=people)
    linked = next(one for one in found.results if one.name.startswith("linkage"))
    assert (linked.people, linked.figures["matched"]) == (12, 12)
