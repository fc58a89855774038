"""Odd but allowed input ends in a release or a refusal, never a fault."""

from __future__ import annotations

import csv

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

import shoal
from shoal.errors import InfeasibleError, OutputError, PlanError
from shoal.plan.plan import Plan
from tests.builders.errors import has_code

AGGREGATION = ("mdav", "cbfs", "v-mdav", "univariate", "k-first", "p-first")


def write_plan(folder, columns, models, method="full-domain", output="released.csv", **source):
    """Write a plan for source.csv, or for the named source."""
    document = {
        "source": {"path": "source.csv", **source},
        "columns": {name: {"role": role} for name, role in columns.items()},
        "models": models,
        "method": {"name": method},
        "output": {"path": output},
    }
    (folder / "plan.toml").write_text(tomli_w.dumps(document), encoding="utf-8")
    return folder / "plan.toml"


def write_table(folder, rows):
    with (folder / "source.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


@pytest.mark.parametrize("name", ["n", "k", "c0", "c1", "person", "row", "n_sum", "filename"])
@pytest.mark.parametrize("role", ["sensitive", "person", "quasi-identifier"])
def test_names_of_inner_columns_are_free(tmp_path, name, role):
    roles = {"person": "pid", "quasi-identifier": "age", "sensitive": "illness"} | {role: name}
    rows = [[roles["person"], roles["quasi-identifier"], roles["sensitive"]]]
    rows += [[f"p{i // 2}", 20 + i % 2, f"v{i % 4}"] for i in range(24)]
    write_table(tmp_path, rows)
    models = [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}, {"name": "t-closeness", "t": 0.9}]
    plan = write_plan(tmp_path, {column: kind for kind, column in roles.items()}, models)
    release = shoal.release(plan)
    assert all(model["holds"] for model in release.figures["models"])


@pytest.mark.parametrize("method", AGGREGATION)
def test_a_share_of_people_that_all_rows_exceed_is_infeasible(method):
    table = {"pid": [f"p{i // 2}" for i in range(24)], "age": [20, 21, 30] * 8, "illness": ["x", "y", "z", "w"] * 6}
    plan = people_plan([{"name": "alpha-k", "alpha": 0.1, "k": 2}], method)
    with pytest.raises(InfeasibleError, match="even all rows as one group do not"):
        shoal.anonymize(pa.table(table), plan)


def people_plan(models, method, **options):
    roles = {"pid": "person", "age": "quasi-identifier", "illness": "sensitive"}
    columns = {name: {"role": role} for name, role in roles.items()}
    models = [{"name": "k-anonymity", "k": 2}, *models]
    return Plan.from_dict({"columns": columns, "models": models, "method": {"name": method, **options}})


@pytest.mark.parametrize("method", AGGREGATION)
def test_groups_of_equal_labels_meet_limits_of_shares(method):
    import random

    made = 0
    for seed in range(40):
        chance = random.Random(seed)
        size = chance.randint(6, 20)
        table = {
            "pid": [f"p{chance.randint(0, size // 2)}" for _ in range(size)],
            "age": [chance.choice([20, 20, 21]) for _ in range(size)],
            "illness": [chance.choice("xyz") for _ in range(size)],
        }
        effort = {"effort": 50} if method == "p-first" else {}
        plan = people_plan([{"name": "alpha-k", "alpha": 0.5, "k": 2}], method, publish={"age": "mode"}, **effort)
        try:
            release = shoal.anonymize(pa.table(table), plan)
        except InfeasibleError:
            continue
        made += 1
        assert all(model["holds"] for model in release.figures["models"])
    assert made


@pytest.mark.parametrize("suffix", ["sav", "dta", "xpt"])
@pytest.mark.parametrize("role", ["sensitive", "other", "quasi-identifier"])
def test_text_with_nul_is_refused_by_column_and_count(tmp_path, suffix, role):
    pytest.importorskip("pyreadstat")
    table = {"age": [20, 20, 30, 30] * 2, "note": ["a\0SECRET1", "a\0SECRET2"] * 4}
    pq.write_table(pa.table(table), tmp_path / "source.parquet")
    models = [{"name": "k-anonymity", "k": 2}]
    roles = {"age": "quasi-identifier", "note": role}
    plan = write_plan(tmp_path, roles, models, output=f"released.{suffix}", path="source.parquet")
    with pytest.raises(OutputError, match=r"Column 'note' has 8 texts with a NUL") as raised:
        shoal.release(plan)
    assert raised.value.exit_status == 2
    assert "SECRET" not in str(raised.value)
    assert not (tmp_path / f"released.{suffix}").exists()


@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("marker", ["no, unknown", 'so "called"', ",", '"'])
def test_a_marker_of_missing_may_contain_delimiter_and_quote(tmp_path, marker, trim):
    write_table(tmp_path, [["age", "illness"], [20, marker], [20, "flu"], [30, "no"], [30, "NA"]])
    models = [{"name": "k-anonymity", "k": 2}]
    roles = {"age": "quasi-identifier", "illness": "sensitive"}
    shoal.release(write_plan(tmp_path, roles, models, missing=[marker, "NA"], trim=trim))
    with (tmp_path / "released.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["age", "illness"], ["20", ""], ["20", "flu"], ["30", ""], ["30", "no"]]


@pytest.mark.parametrize("method", ["full-domain", "top-down"])
@pytest.mark.parametrize("model", [{"name": "p-sensitive", "p": 2}, {"name": "l-diversity", "l": 2}])
def test_distinct_values_of_people_need_no_equal_parts(model, method):
    sizes = [*range(335, 346), *[1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43]]
    rows = [(f"p{i}", 20 + i % 2, f"v{i % 3}-{j}") for i, size in enumerate(sizes) for j in range(size)]
    table = pa.table(dict(zip(("pid", "age", "illness"), map(list, zip(*rows, strict=True)), strict=True)))
    release = shoal.anonymize(table, people_plan([model], method))
    assert all(one["holds"] for one in release.figures["models"])


def test_shares_of_people_with_too_different_values_are_refused():
    sizes = [*range(335, 346), *[1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43]]
    rows = [(f"p{i}", 20 + i % 2, f"v{j}") for i, size in enumerate(sizes) for j in range(size)]
    table = pa.table(dict(zip(("pid", "age", "illness"), map(list, zip(*rows, strict=True)), strict=True)))
    with pytest.raises(PlanError, check=has_code("people.too-many-values")):
        shoal.anonymize(table, people_plan([{"name": "alpha-k", "alpha": 0.9, "k": 2}], "full-domain"))
