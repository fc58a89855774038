"""The causes of a plan's loss.

Every figure is a run of the plan with one change.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal.advice import explain
from shoal.advice.explain import Change, Cost, Explanation
from shoal.cli.app import app
from shoal.datasets.census import census_table
from shoal.errors import OutputError, PlanError
from shoal.plan.plan import Plan
from tests.builders.errors import has_code

ROWS = 300
PLAN = {
    "columns": {
        "dob": {"role": "quasi-identifier"},
        "sex": {"role": "quasi-identifier"},
        "town": {"role": "quasi-identifier"},
        "illness": {"role": "sensitive"},
    },
    "models": [{"name": "k-anonymity", "k": 5}, {"name": "l-diversity", "l": 3, "column": "illness"}],
    "method": {"name": "full-domain"},
}


def table():
    return pa.table({
        "dob": [f"d{n % 150}" for n in range(ROWS)], "sex": ["m" if n % 2 else "f" for n in range(ROWS)],
        "town": ["abc"[n // 7 % 3] for n in range(ROWS)], "illness": ["wxyz"[n // 3 % 4] for n in range(ROWS)],
    })  # fmt: skip


def ncp(plan):
    return shoal.anonymize(table(), plan).utility["ncp"]


def test_every_figure_equals_the_changed_plan():
    found = shoal.explain(PLAN, table())
    assert found.loss == ncp(PLAN)
    columns = {cost.change.column: cost.loss for cost in found.without if cost.change.model is None}
    assert set(columns) == {"dob", "sex", "town"}
    for name, loss in columns.items():
        changed = {**PLAN, "columns": {**PLAN["columns"], name: {"role": "drop"}}}
        assert loss == ncp(changed)
    models = {cost.change.model: cost.loss for cost in found.without if cost.change.model is not None}
    assert models == {"l-diversity": ncp({**PLAN, "models": PLAN["models"][:1]})}
    lowered = {(cost.change.parameter, cost.change.value): cost.loss for cost in found.with_}
    assert lowered == {
        ("k", 4): ncp({**PLAN, "models": [{"name": "k-anonymity", "k": 4}, PLAN["models"][1]]}),
        ("l", 2): ncp({**PLAN, "models": [PLAN["models"][0], {**PLAN["models"][1], "l": 2}]}),
    }
    assert found.advice.change == Change(column="dob")
    assert str(found.advice) == "without the column 'dob'"
    assert [cost.loss for cost in found.without] == sorted(cost.loss for cost in found.without)


def test_costs_with_partial_knowledge():
    """The intruder's knowledge and k of known columns have a cost."""
    plan = {**PLAN, "models": [{"name": "k-anonymity", "k": 5, "known": 2}], "method": {"name": "hidden-cells"}}
    found = shoal.explain(plan, table())
    lowered = {(cost.change.parameter, cost.change.value): cost.loss for cost in found.with_}
    assert set(lowered) == {("k", 4), ("known", 1)}
    assert lowered["known", 1] <= found.loss
    assert {cost.change.column for cost in found.without} == {"dob", "sex", "town"}
    levels = shoal.anonymize(table(), plan).figures["levels"]
    fixed = {**plan, "method": {"name": "hidden-cells", "levels": levels}}
    assert lowered["known", 1] == ncp({**fixed, "models": [{"name": "k-anonymity", "k": 5, "known": 1}]})


def test_dropping_k_with_partial_knowledge_is_not_tried():
    models = [{"name": "k-anonymity", "k": 5, "known": 2}, {"name": "l-diversity", "l": 2, "known": 1}]
    found = shoal.explain({**PLAN, "models": models, "method": {"name": "hidden-cells"}}, table())
    assert {cost.change.model for cost in found.without} == {None, "l-diversity"}


def test_infeasible_plan_has_a_reason():
    plan = {**PLAN, "models": [{"name": "k-anonymity", "k": 5}, {"name": "l-diversity", "l": 5, "column": "illness"}]}
    found = shoal.explain(plan, table())
    assert found.loss is None
    assert "l" in found.why
    assert {cost.change.model for cost in found.without if cost.loss is not None} == {"l-diversity"}
    assert [cost.loss is None for cost in found.with_] == [False, True]  # l = 4 is possible, k = 4 does not help


def test_dropping_a_model_is_never_advised():
    dropped = Cost(Change(model="l-diversity", column="illness"), 0.1)
    less, column = Cost(Change(model="k-anonymity", parameter="k", value=4), 0.4), Cost(Change(column="age"), 0.3)
    assert Explanation(0.5, (dropped, column), (less,), 9, False).advice == column
    assert Explanation(0.5, (dropped,), (less,), 9, False).to_dict()["advice"] == less.to_dict()
    assert Explanation(0.5, (dropped,), (), 9, False).to_dict()["advice"] is None


def test_one_column_and_no_time():
    plan = {"columns": {"sex": {"role": "quasi-identifier"}}, "models": [{"name": "k-anonymity", "k": 2}]}
    found = shoal.explain(plan, pa.table({"sex": ["m", "f"] * 5}))
    assert (found.loss, found.without, found.with_, found.advice) == (0.0, (), (), None)
    hurried = shoal.explain(PLAN, table(), time_limit=0.0)
    assert hurried.untried == 6
    with pytest.raises(PlanError, check=has_code("source.missing")):
        shoal.explain(plan)


def test_command_prints_and_draws_costs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(table(), tmp_path / "t.csv")
    (tmp_path / "plan.toml").write_text(Plan.from_dict({**PLAN, "source": {"path": "t.csv"}}).to_toml())
    app(["explain", "plan.toml", "-o", "costs.html"], standalone_mode=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert "What helps most: without the column 'dob'" in printed
    page = (tmp_path / "costs.html").read_text()
    assert "without l-diversity of &#x27;illness&#x27;" in page
    assert page.count("<svg") >= 8
    with pytest.raises(OutputError, match="exists"):
        app(["explain", "plan.toml", "-o", "costs.html"], standalone_mode=False)
    app(["explain", "plan.toml", "--json"], standalone_mode=False)
    answer = json.loads(capsys.readouterr().out)
    assert {"loss", "without", "with"} <= set(answer)
    assert answer["rows"] == ROWS
    assert not answer["sampled"]


def test_large_table_is_sampled():
    rows = census_table(12_000)
    plan = {
        "columns": {
            name: {"role": "quasi-identifier" if name in ("age", "sex") else "drop"} for name in rows.column_names
        },
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "mondrian"},
    }
    found = shoal.explain(plan, rows)
    assert (found.rows, found.sampled) == (10_000, True)


def test_time_limit_reduces_rows_and_trials(monkeypatch):
    """With less time, run fewer rows and start no trial that cannot end.

    Only trials advance the clock, by a second for a thousand rows each.
    """
    now = [0.0]
    monkeypatch.setattr("shoal.advice.explain.time.monotonic", lambda: now[0])
    real, ran = explain.dry_run, []

    def slow(plan, **given):
        ran.append(plan.source.frame.num_rows)
        now[0] += ran[-1] / 1000
        return real(plan, **given)

    monkeypatch.setattr("shoal.advice.explain.dry_run", slow)
    rows = census_table(12_000)
    names = ("age", "sex", "race")
    columns = {name: {"role": "quasi-identifier" if name in names else "drop"} for name in rows.column_names}
    plan = {"columns": columns, "models": [{"name": "k-anonymity", "k": 5}], "method": {"name": "mondrian"}}
    found = shoal.explain(plan, rows, time_limit=20.0)
    assert ran[:3] == [1000, 1000, found.rows]
    assert 1000 < found.rows < 3000
    assert (found.untried, found.sampled) == (0, True)
    assert now[0] <= 20
    now[0] = 0.0
    hurried = shoal.explain(plan, rows, time_limit=5.0)
    assert (hurried.rows, now[0]) == (1000, 4.0)  # the next trial might take half as long again
    assert hurried.untried == 3


def test_version_option(capsys):
    app(["--version"], standalone_mode=False)
    assert capsys.readouterr().out.strip() == shoal.__version__


def test_report_has_the_costs_as_a_chart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(table(), "t.csv")
    plan = Plan.from_dict({**PLAN, "source": {"path": "t.csv"}, "output": {"path": "out.csv"}})
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    app(["release", "plan.toml", "--quiet", "--internal-report"], standalone_mode=False)
    without = (tmp_path / "out.internal.html").read_text()
    assert "shoal release --internal-report --explain" in without
    assert "without the column" not in without
    with monkeypatch.context() as patched:
        patched.setattr("shoal.advice.explain.explain", lambda *a, **k: pytest.fail("minutes were spent first"))
        with pytest.raises(OutputError):
            app(["release", "plan.toml", "--quiet", "--internal-report", "--explain"], standalone_mode=False)
    app(["release", "plan.toml", "--quiet", "--internal-report", "--explain", "--overwrite"], standalone_mode=False)
    assert "without the column" not in (tmp_path / "out.report.html").read_text()
    explained = (tmp_path / "out.internal.html").read_text()
    assert 'id="costs"' in explained
    assert "without the column" in explained
    assert "--explain" not in explained
    release = shoal.anonymize(table(), PLAN)
    assert "without the column" in release.report(release.explain(table())).html
    assert "without the column" not in release.report().html
