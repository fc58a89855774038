"""Plans from TOML and dictionaries, and plans refused before reading.

Wrong plans are refused before any data is read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import HierarchyError, InputError, PlanError, TableError
from shoal.methods import Levels
from shoal.models import MODELS, KAnonymity, LDiversity, PPlusAlphaSensitive, PSensitive
from shoal.plan.coerce import parse_model
from shoal.plan.plan import Plan, build_hierarchy, plain
from shoal.schema import Calendar, Column, Cuts, Flat, Intervals, Ordered, Prefix, Role, Schema, Table, Tree, Widths

WHOLE = """
seed = 7

[source]
path = "patients.csv"
delimiter = ";"
encoding = "latin-1"
missing = ["?", "NA"]
trim = true

[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = { intervals = [5, 10, 20], bottom = 20, top = 80 }
[columns."zip code"]
role = "quasi-identifier"
hierarchy = { prefix = true }
[columns.country]
role = "quasi-identifier"
hierarchy = { csv = "country.csv" }
[columns.condition]
role = "sensitive"
categories = [["HIV", "Cancer"], ["Flu"]]
category_names = ["high", "low"]
[columns.note]
role = "other"

[[models]]
name = "k-anonymity"
k = 4
[[models]]
name = "p-plus-alpha-sensitive"
p = 2
alpha = 0.5

[method]
name = "levels"
levels = { age = 2, "zip code" = 1 }
suppression = 0.02

[engine]
memory = "1GB"
threads = 2

[output]
path = "out/released.csv"
overwrite = true
"""


def small(**changes: Any) -> dict[str, Any]:
    """Return a valid plan, with changes."""
    plan: dict[str, Any] = {
        "columns": {"age": {"role": "quasi-identifier"}},
        "models": [{"name": "k-anonymity", "k": 2}],
    }
    return plan | changes


def test_complete_plan(tmp_path: Path) -> None:
    (tmp_path / "country.csv").write_text("USA;America\nIndia;Asia\n")
    (tmp_path / "plan.toml").write_text(WHOLE)
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.seed == 7
    assert plan.source is not None
    assert plan.source.path == tmp_path / "patients.csv"
    assert (plan.source.csv.delimiter, plan.source.csv.encoding) == (";", "latin-1")
    assert (plan.source.csv.missing, plan.source.csv.trim) == (("?", "NA"), True)
    assert list(plan.schema.columns) == ["name", "age", "zip code", "country", "condition", "note"]
    assert plan.schema.quasi_identifiers == ("age", "zip code", "country")
    assert plan.schema.sensitive == ("condition",)
    assert plan.schema.columns["age"].hierarchy == Widths((5, 10, 20), bottom=20, top=80)
    assert plan.schema.columns["country"].hierarchy == Table((("USA", "America"), ("India", "Asia")))
    assert plan.schema.columns["condition"].categories is not None
    assert plan.schema.columns["condition"].categories.name(0) == "high"
    assert plan.models == (KAnonymity(4), PPlusAlphaSensitive(2, 0.5))
    assert plan.method == Levels({"age": 2, "zip code": 1}, 0.02)
    assert (plan.engine.memory, plan.engine.threads) == ("1GB", 2)
    assert plan.output is not None
    assert plan.output.path == tmp_path / "out" / "released.csv"
    assert plan.output.certificate == tmp_path / "out" / "released.certificate.json"
    assert plan.output.overwrite


def test_plan_in_python_equals_plan_of_dict() -> None:
    built = Plan(Schema({"age": Column(Role.QUASI_IDENTIFIER)}), (KAnonymity(2),))
    assert built == Plan.from_dict(small())


@pytest.mark.parametrize(
    ("written", "hierarchy"),
    [
        ({"intervals": [5, 10]}, Widths((5, 10))),
        ({"intervals": [0.5], "origin": 0.25, "bottom": 1, "top": 2}, Widths((0.5,), 0.25, 1, 2)),
        ({"intervals": [[[0, 20], [20, float("inf")]]]}, Intervals((((0, 20), (20, float("inf"))),))),
        ({"cuts": [[20, 30], [30]]}, Cuts(((20, 30), (30,)))),
        ({"prefix": True}, Prefix()),
        ({"prefix": [1, 3]}, Prefix((1, 3))),
        ({"tree": {"A": ["x"]}}, Tree({"A": ["x"]})),
        ({"dates": ["month", "year"]}, Calendar(("month", "year"))),
        ({"dates": ["year"], "format": "%d.%m.%Y"}, Calendar(("year",), "%d.%m.%Y")),
        ({"order": {"fanout": [2], "values": ["low", 2, True]}}, Ordered((2,), ("low", "2", "true"))),
        ({"order": {"fanout": [2, 3]}}, Ordered((2, 3))),
        ({"flat": True}, Flat()),
    ],
)
def test_hierarchies(written: dict[str, Any], hierarchy: object) -> None:
    assert build_hierarchy(written, "c", Path()) == hierarchy


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"intervals": [5], "flat": True},
        {"intervals": [5], "orgin": 3},
        {"intervals": 5},
        {"intervals": "5"},
        {"intervals": []},
        {"intervals": [True]},
        {"intervals": [float("inf")]},
        {"intervals": [5], "origin": "x"},
        {"intervals": [5], "top": "x"},
        {"intervals": [[[0, 10, 20]]]},
        {"intervals": [[[0]]]},
        {"intervals": [[["a", "b"]]]},
        {"intervals": [[[0, 10]]], "origin": 1},
        {"cuts": [5]},
        {"cuts": [["x"]]},
        {"prefix": False},
        {"prefix": 3},
        {"prefix": [1.5]},
        {"prefix": ["a"]},
        {"csv": 5},
        {"csv": "absent.csv"},
        {"tree": ["x"]},
        {"tree": 5},
        {"dates": ["week"]},
        {"dates": "month"},
        {"dates": ["year"], "format": 5},
        {"order": [2]},
        {"order": {"values": ["a"]}},
        {"order": {"fanout": 2}},
        {"order": {"fanout": [2.5]}},
        {"order": {"fanout": [2], "valeus": ["a"]}},
        {"flat": False},
    ],
)
def test_wrong_hierarchies(written: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="'age'"):
        Plan.from_dict(small(columns={"age": {"role": "quasi-identifier", "hierarchy": written}}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": {}}, "at least one quasi-identifier"),
        ({"columns": {"age": {"role": "sensitive"}}}, "at least one quasi-identifier"),
        ({"columns": {"age": {}}}, "key columns.age.role. It is missing"),
        ({"columns": {"age": {"role": "key"}}}, "columns.age.role"),
        ({"columns": {"age": {"role": ["sensitive", "other"]}}}, "columns.age.role"),
        ({"columns": {"age": {"role": "quasi-identifier", "hierachy": {}}}}, "unknown key: columns.age.hierachy"),
        ({"columns": {"age": {"role": "other", "hierarchy": {"flat": True}}}}, "Column 'age'.*Change the role"),
        ({"columns": {"age": {"role": "other", "categories": [["a"], ["b"]]}}}, "Column 'age'.*Only a sensitive"),
        ({"columns": {"age": {"role": "sensitive", "categories": [["a"], ["a"]]}}}, "Column 'age'.*exactly one"),
        ({"columns": {"age": {"role": "sensitive", "categories": ["a", "b"]}}}, "columns.age.categories"),
        ({"models": []}, "At least one model"),
        ({"models": {}}, "models"),
        ({"models": [{}]}, "no model named None"),
        ({"models": [{"name": ["k-anonymity"]}]}, "no model named"),
        ({"models": [{"name": "k-anonimity", "k": 2}]}, "did you mean 'k-anonymity'"),
        ({"models": [{"name": "k-anonymity"}]}, "needs the parameter 'k'"),
        ({"models": [{"name": "k-anonymity", "k": 2, "l": 2}]}, "no parameter 'l'"),
        ({"models": [{"name": "k-anonymity", "k": 1}]}, "at least 2. Found 1"),
        ({"models": [{"name": "k-anonymity", "k": 2.5}]}, "whole number"),
        ({"models": [{"name": "k-anonymity", "k": "5"}]}, "whole number"),
        ({"models": [{"name": "k-anonymity", "k": True}]}, "whole number"),
        ({"models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 3}]}, "p = 3 and k = 2"),
        ({"models": [{"name": "p-alpha-sensitive", "p": 2, "alpha": -1}]}, "must be a number of at least 0"),
        ({"models": [{"name": "p-alpha-sensitive", "p": 2, "alpha": float("nan")}]}, "must be a number"),
        ({"method": {"name": "magic"}}, "no method named 'magic'"),
        ({"method": {"name": "levels", "suppression": 2}}, "from 0 to 1"),
        ({"method": {"name": "levels", "levels": {"zip": 1}}}, "'zip', which is not a quasi-identifier"),
        ({"source": {}}, "Give `path` in .source"),
        ({"source": {"path": ""}}, "source.path"),
        ({"source": {"path": "x.csv", "delimiter": "ab"}}, "source.delimiter"),
        ({"source": {"path": "x.csv", "format": "xlsx"}}, "The format must be one of"),
        ({"engine": {"threads": 0}}, "engine.threads"),
        ({"output": {"path": "r.csv", "overwite": True}}, "unknown key: output.overwite"),
        ({"seeds": 1}, "unknown key: seeds"),
        ({"seed": "x", "seeds": 1}, "2 errors in total"),
    ],
)
def test_wrong_plans(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        Plan.from_dict(small(**changes))
    assert "\n" not in str(caught.value)


def test_delimiter_and_quote_must_differ() -> None:
    with pytest.raises(TableError, match="must differ"):
        Plan.from_dict(small(source={"path": "x.csv", "delimiter": "'", "quote": "'"}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[columns.age\n", "not valid TOML"),
        (b'[columns.age]\nrole = "other"\n[columns.age]\nrole = "sensitive"\n', "age.*twice"),
        (b"\xff\xfe", "UTF-8"),
        (b"", "key columns"),
    ],
)
def test_files_other_than_plans(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(content)
    with pytest.raises(PlanError, match=message):
        Plan.read(path)
    for absent in (tmp_path / "absent.toml", tmp_path):
        with pytest.raises(PlanError, match="cannot be read"):
            Plan.read(absent)


def test_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(b'\xef\xbb\xbf[columns.age]\nrole = "quasi-identifier"\n[[models]]\nname = "k-anonymity"\nk = 2\n')
    assert Plan.read(path).models == (KAnonymity(2),)


def test_wrong_hierarchy_file_names_column_and_file(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;A\na;B\n")
    with pytest.raises(HierarchyError, match=r"'age'.*h\.csv.*two rows"):
        Plan.from_dict(small(columns={"age": {"role": "quasi-identifier", "hierarchy": {"csv": "h.csv"}}}), tmp_path)


def test_models_on_a_command_line() -> None:
    assert parse_model("k-anonymity k=5") == KAnonymity(5)
    assert parse_model("k-anonymity(k=5)") == KAnonymity(5)
    assert parse_model("k-anonymity: k=5") == KAnonymity(5)
    assert parse_model("l-diversity(l=3, kind=entropy)") == LDiversity(3, kind="entropy")
    assert parse_model("p-plus-alpha-sensitive p=2 alpha=4/3") == PPlusAlphaSensitive(2, "4/3")


@pytest.mark.parametrize("column", ["illness", "blood type", "a,b", "f(x)", 'a"b', '"; drop table x; --', "😀", "k=3"])
def test_any_column_name_on_a_command_line(column: str) -> None:
    assert parse_model(f"p-sensitive p=2 column={column}") == PSensitive(2, column)
    assert parse_model(f"p-sensitive(p=2, column={column})") == PSensitive(2, column)


@pytest.mark.parametrize(
    "text",
    ["", "k-anonymity", "k-anonymity 5", "k-anonymity k", "k-anonymity k=", "k-anonymity k=5 k=3", "k=5", "x y=1"],
)
def test_wrong_models_on_a_command_line(text: str) -> None:
    with pytest.raises(PlanError):
        parse_model(text)


def test_names_of_models() -> None:
    assert {
        "k-anonymity", "p-sensitive", "p-alpha-sensitive", "p-plus-alpha-sensitive", "l-diversity", "t-closeness",
        "alpha-k", "delta-disclosure", "beta-likeness",
    } <= set(MODELS)  # fmt: skip


def test_plain_values_for_json() -> None:
    """Values that JSON does not have become text."""
    import datetime

    document = {"a": [float("inf"), float("nan"), 1.5, True, None], "d": datetime.date(2024, 1, 1), "p": Path("x")}
    made = plain(document)
    assert made == {"a": ["inf", "nan", 1.5, True, None], "d": "2024-01-01", "p": "x"}
    json.dumps(made, allow_nan=False)


def test_certificate_with_infinity_and_dates_is_json(tmp_path: Path) -> None:
    from shoal.pipeline.run import release

    (tmp_path / "s.csv").write_text("age,day\n21,2024-01-01\n22,2024-01-02\n")
    (tmp_path / "plan.toml").write_text(
        """
        [source]
        path = "s.csv"
        [columns.age]
        role = "quasi-identifier"
        hierarchy = { intervals = [[[-inf, 30], [30, inf]]] }
        [columns.day]
        role = "sensitive"
        categories = [[2024-01-01], [2024-01-02]]
        [[models]]
        name = "k-anonymity"
        k = 2
        [method]
        name = "levels"
        levels = { age = 1 }
        [output]
        path = "r.csv"
        """
    )
    release(tmp_path / "plan.toml")
    certificate = json.loads(
        (tmp_path / "r.certificate.json").read_text(), parse_constant=lambda sign: pytest.fail(f"{sign} is no JSON")
    )
    assert certificate["plan"]["columns"]["day"]["categories"] == [["2024-01-01"], ["2024-01-02"]]
