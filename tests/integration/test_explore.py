"""Compare methods: the frontier, the choice, failing trials, "auto".

``method = "auto"`` chooses the method of least loss.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.advice import explore as explore_module
from shoal.advice.explore import Candidate, Trial, candidates, explore, mark_efficient
from shoal.errors import InfeasibleError, OutputError, PlanError, ShoalError
from shoal.methods import METHODS, Auto, Mondrian, TopDown
from shoal.pipeline.decide import FrequencyCache
from shoal.plan.plan import Plan
from shoal.render import Grid
from shoal.report.scatter import Point, exploration_page, scatter
from tests.builders.errors import has_code
from tests.builders.plans import write_plan


def write_town_plan(folder, method="full-domain", models=()):
    """Write a plan for sixty people of three towns."""
    lines = "".join(f"{20 + (7 * n) % 40},{'abc'[n % 3]},{'uvwxyz'[n % 6]}\n" for n in range(60))
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
    return write_plan(
        folder,
        table="age,town,illness\n" + lines,
        columns={"age": age, "town": "quasi-identifier", "illness": "sensitive"},
        models=["k-anonymity k=3", *models],
        method=method,
    )


# -- the frontier ----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 6)), max_size=12), st.integers(0, 5))
def test_frontier_and_choice_by_definition(points, lowest):
    trials = [
        Trial(f"m{n}", {}, 2, "released", loss={"ncp": loss / 5}, risk=risk / 5, smallest_group=size)
        for n, (loss, risk, size) in enumerate(points)
    ]
    marked = mark_efficient([*trials, Trial("gone", {}, 2, "infeasible", InfeasibleError("why"))], "ncp", lowest)
    assert marked[-1].outcome == "infeasible"
    done = marked[:-1]
    assert [t.loss["ncp"] for t in done] == sorted(t.loss["ncp"] for t in done)
    for trial in done:
        better = [
            other
            for other in done
            if other.loss["ncp"] <= trial.loss["ncp"]
            and other.risk <= trial.risk
            and (other.loss["ncp"], other.risk) != (trial.loss["ncp"], trial.risk)
        ]
        assert trial.efficient == (not better)
    fit = [trial for trial in done if trial.smallest_group >= lowest]
    chosen = [trial for trial in marked if trial.chosen]
    assert len(chosen) == bool(fit)
    if fit:
        assert chosen[0].loss["ncp"] == min(trial.loss["ncp"] for trial in fit)


# -- candidates ------------------------------------------------------------------------------------


def test_candidates(tmp_path):
    plan = Plan.read(write_town_plan(tmp_path, {"name": "full-domain", "suppression": 0.1, "loss": "precision"}))
    found = candidates(plan)
    assert found[0] == Candidate(plan, plan.method, plan.models)
    assert {candidate.method.name for candidate in found} >= {"full-domain", "top-down", "mondrian"}
    own = [c for c in found if c.method.name == "full-domain"]
    assert {(c.method.suppression, c.models[0].k) for c in own} == {(0.0, 3), (0.0, 6), (0.1, 3), (0.1, 6)}
    assert all(c.method.loss == "precision" for c in own)
    assert len(found) == len(set(map(repr, found)))
    chosen = candidates(plan, ["levels"], [4], [0.2, 0.5])
    assert [(c.method.suppression, c.models[0].k) for c in chosen] == [(0.2, 4), (0.5, 4)]


def test_invalid_explorations_are_refused(tmp_path):
    plan = Plan.read(write_town_plan(tmp_path))
    with pytest.raises(PlanError, match="no method named 'magic'"):
        candidates(plan, ["magic"])
    with pytest.raises(PlanError, check=has_code("method.not-triable")):
        candidates(plan, ["population-grid"])
    with pytest.raises(PlanError, check=has_code("explore.unknown-loss", found="loss")):
        explore(plan, measure="loss")
    with pytest.raises(PlanError, match=r"\[source\]"):
        explore(Plan.from_dict({"columns": {"a": {"role": "quasi-identifier"}},
                                "models": [{"name": "k-anonymity", "k": 2}]}))  # fmt: skip


def test_trials_run_in_processes_and_equal_a_release(tmp_path):
    plan = Plan.read(write_town_plan(tmp_path))
    steps, parts = [], []
    found = explore(
        plan,
        methods=["full-domain", "levels"],
        ks=[3],
        workers=2,
        progress=lambda step, done: steps.append(done),
        so_far=parts.append,
    )
    assert steps == [0.0, 0.5, 1.0]
    assert [len(part.trials) for part in parts] == [1, 2]
    assert parts[1] == found
    by_method = {trial.method: trial for trial in found.trials}
    assert by_method["levels"].outcome == "infeasible"
    assert "At these levels" in by_method["levels"].why
    release = shoal.release(plan)
    best = by_method["full-domain"]
    assert (best.chosen, best.efficient) == (True, True)
    assert best.loss == release.utility
    assert (best.risk, best.highest_risk) == (release.risk["average"], release.risk["highest"])
    assert (best.groups, best.smallest_group) == (release.figures["groups"], release.figures["smallest_group"])
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["method"] for row in rows] == ["full-domain", "levels"]
    assert float(rows[0]["ncp"]) == best.loss["ncp"]
    json.dumps(found.to_dict())


SCRIPT = """
import contextlib, json, sys, time
from shoal.advice import explore as exploration
from shoal.advice.explore import Trial, candidates
from shoal.plan.plan import Plan

def fake(candidate, counted, progress):
    k = candidate.models[0].k
    if k == 3:
        time.sleep(300)
    if k == 4:
        raise SystemExit(9)
    return Trial(candidate.method.name, {}, k, "released", loss={"ncp": 0.5}, risk=0.1, smallest_group=k)

exploration._without_script = contextlib.nullcontext
exploration._try = fake  # so that the processes of the trials run this line too
exploration._practise = lambda candidate: time.sleep(7)  # longer than the limit, and no part of it

if __name__ == "__main__":
    chosen = candidates(Plan.read(sys.argv[1]), ["levels"], [3, 4, 5, 6], [0.0])
    print(json.dumps([(trial.k, trial.outcome) for trial in exploration._run(chosen, 2, 5.0)]))
"""


def test_slow_trial_is_stopped_and_a_dead_one_reported(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", write_town_plan(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True)
    assert sorted(map(tuple, json.loads(done.stdout))) == [
        (3, "too slow"), (4, "failed"), (5, "released"), (6, "released"),
    ]  # fmt: skip


def test_practice_run_ignores_errors_of_the_method(tmp_path, monkeypatch):
    from shoal.pipeline import run as pipeline

    found = []
    monkeypatch.setattr(pipeline, "anonymize", lambda table, plan: found.append((table.num_rows, plan.method.name)))
    plan = Plan.read(write_town_plan(tmp_path))
    explore_module._practise(candidates(plan, ["mondrian"], [3])[0])
    assert found == [(96, "mondrian")]
    monkeypatch.setattr(pipeline, "anonymize", lambda table, plan: 1 / 0)
    explore_module._practise(candidates(plan, ["mondrian"], [3])[0])


@pytest.mark.parametrize("name", explore_module.DEFAULT_METHODS)
def test_practice_run_works_for_every_default_method(tmp_path, monkeypatch, name):
    """Let no error go unnoticed in the practice run.

    The run on the package's own rows ends with a release, with models of sensitive values too.
    """
    from shoal.pipeline import run as pipeline

    done = []
    real = pipeline.anonymize
    monkeypatch.setattr(pipeline, "anonymize", lambda table, plan: done.append(real(table, plan)))
    (candidate,) = candidates(Plan.read(write_town_plan(tmp_path, models=["l-diversity l=2"])), [name], [3], [0.0])
    explore_module._practise(candidate)
    assert done[0].figures["smallest_group"] >= 2


def test_errors_inside_a_trial(tmp_path, monkeypatch):
    from shoal.pipeline import run as pipeline

    plan = Plan.read(write_town_plan(tmp_path))
    (candidate,) = candidates(plan, ["full-domain"], [3], [0.0])

    def fault(*_, **__):
        raise ValueError("Rick has cancer")

    monkeypatch.setattr(pipeline, "dry_run", fault)
    trial = explore_module._try(candidate, FrequencyCache())
    assert (trial.outcome, trial.why) == ("failed", "Internal error (ValueError). Please report this.")
    (refused,) = candidates(plan, ["anti-unification"], [3])
    broken = Plan.read(write_town_plan(tmp_path, models=["t-closeness t=0.5"]))
    refused = Candidate(broken, refused.method, broken.models)
    assert explore_module._try(refused, FrequencyCache()).outcome == "refused"


def test_table_is_counted_once_for_all_trials(tmp_path, monkeypatch):
    """Share the frequency set among trials.

    The releases are the same as without sharing, and so are the seconds; another file or column is counted again.
    """
    from shoal.pipeline import decide
    from shoal.pipeline.run import dry_run

    counted = []
    usual = decide.read_frequency_set
    monkeypatch.setattr(decide, "read_frequency_set", lambda *given: counted.append(given[1]) or usual(*given))
    rows = "".join(f"{20 + n % 9},{' a' if n % 2 else 'a'},{'xyz'[n % 3]}\n" for n in range(90))
    for name in ("t", "u"):
        (tmp_path / f"{name}.csv").write_text("age,place,ill\n" + rows)

    def plan_of(name="t", method="mondrian", role="quasi-identifier"):
        columns = {"age": {"role": role}, "place": {"role": "quasi-identifier"}, "ill": {"role": "sensitive"}}
        return Plan.from_dict(
            {
                "source": {"path": str(tmp_path / f"{name}.csv")},
                "columns": columns,
                "models": [{"name": "k-anonymity", "k": 4}],
                "method": {"name": method},
            }
        )

    cache = FrequencyCache()
    for method in ("mondrian", "full-domain", "refine"):
        found = dry_run(plan_of(method=method), cache=cache)
        assert found.figures == dry_run(plan_of(method=method)).figures
        assert (cache.seconds_saved > 0) == (method != "mondrian")
    assert (
        len(counted) == 2 + 3 * 2
    )  # with raw values and in canonical form, once shared and once for each separate run
    counted.clear()
    for plan in (plan_of("u"), plan_of(role="sensitive"), plan_of(role="person"), plan_of(role="person")):
        dry_run(plan, cache=cache)
        assert cache.seconds_saved == 0
    assert len(counted) == 4 * 2


# -- the picture and the command -------------------------------------------------------------------


def test_scatter_chart():
    points = [Point("a<b", 0.1, 0.4, True, False), Point("c", 0.3, 0.2, True, True), Point("d", 0.3, 0.5, False, False)]
    svg = scatter(points, "ncp")
    assert svg.count('class="efficient"') == 1
    assert svg.count('class="chosen"') == 1
    assert svg.count('class="beaten"') == 1
    assert 'class="frontier"' in svg
    assert "a<b" not in svg
    page = exploration_page(points, "ncp", Grid("", ("m", "x"), [("<script>", 1)]), "k-anonymity(k=3)")
    assert "<script" not in page
    assert scatter([Point("only", 0.0, 0.0, True, True)], "ncp")
    assert "No trial ended" in exploration_page([], "ncp", Grid("", ("m",), [("x",)]), "k")


positions = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20), st.booleans()), min_size=1, max_size=30, unique_by=lambda p: p[:2]
)


@given(positions)
def test_numbers_of_marks_do_not_overlap(found):
    """The numbers next to marks are rows of the table."""
    points = [Point(f"m{n}", risk / 20, loss / 20, good, n == 0) for n, (risk, loss, good) in enumerate(found)]
    svg = scatter(points, "ncp")
    labels = re.findall(r'<text class="number" text-anchor="middle" x="([\d.]+)" y="([\d.]+)">(\d+)</text>', svg)
    numbers = [int(number) for _, _, number in labels]
    assert 1 in numbers  # the chosen trial
    assert len(numbers) == len(set(numbers))
    assert set(numbers) <= set(range(1, len(points) + 1))
    for one, other in itertools.combinations(labels, 2):
        wide = 12 * (len(one[2]) + len(other[2])) / 2
        separate = abs(float(one[0]) - float(other[0])) >= wide - 0.11
        assert separate or abs(float(one[1]) - float(other[1])) >= 18 - 0.11


def test_rows_of_the_table_are_numbered():
    grid = Grid("", ("m", "x"), [("a", 1), ("b", 2)])
    page = exploration_page([Point("a", 0.1, 0.4, True, True)], "ncp", grid, "k")
    assert re.findall(r'<th scope="row">(.*?)</th><td data-column="M">(.*?)</td>', page) == [
        ("<bdi>1</bdi>", "<bdi>a</bdi>"),
        ("<bdi>2</bdi>", "<bdi>b</bdi>"),
    ]
    assert "detail lost" in page


def test_command(tmp_path, capsys, monkeypatch):
    from shoal.cli.explore import explore as command

    plan = write_town_plan(tmp_path)

    def run(**options):
        given = {"method": ["full-domain", "levels"], "k": [3], "suppression": None, "loss": "ncp", "time_limit": 60.0,
                 "workers": 1, "out": None, "overwrite": False, "as_json": True, "quiet": True}  # fmt: skip
        command(plan, **{**given, **options})
        return capsys.readouterr().out

    answer = json.loads(run())
    assert answer["chosen"]["method"] == "full-domain"
    assert (tmp_path / "plan.explore.csv").read_text().startswith("method,")
    assert "<svg" in (tmp_path / "plan.explore.html").read_text()
    with pytest.raises(OutputError, match="exists"):
        run()
    printed = run(overwrite=True, as_json=False)
    assert "Chosen, of least loss: full-domain, k = 3." in printed
    assert "levels (infeasible): At these levels" in printed
    with pytest.raises(InfeasibleError, match="No trial"):
        run(overwrite=True, method=["levels"])
    assert not (tmp_path / "released.csv").exists()


# -- auto ------------------------------------------------------------------------------------------


def table():
    return pa.table({"age": [20 + (7 * n) % 40 for n in range(60)], "town": ["abc"[n % 3] for n in range(60)]})


def document(method):
    return {
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
            "town": {"role": "quasi-identifier"},
        },
        "models": [{"name": "k-anonymity", "k": 3}],
        "method": method,
    }


def test_auto_takes_the_least_loss():
    release = shoal.anonymize(table(), document({"name": "auto", "suppression": 0.1}))
    facts = release.figures["method"]
    tried = {entry["method"]: entry.get("ncp") for entry in facts["tried"]}
    assert list(tried) == list(Auto().methods)
    assert facts["chosen"] == min(tried, key=lambda name: tried[name])
    assert release.utility["ncp"] == min(tried.values())
    for name, loss in tried.items():
        alone = {"name": name, **({"suppression": 0.1} if name == "full-domain" else {})}
        assert shoal.anonymize(table(), document(alone)).utility["ncp"] == loss
    assert shoal.anonymize(table(), document({"name": "auto", "suppression": 0.1})).table.equals(release.table)


def test_auto_does_not_depend_on_threads(monkeypatch):
    """Run methods at the same time if threads are allowed.

    The certificate lists them in their order.
    """
    running, numbers_running = [], []

    def decide(self, problem):
        running.append(self.name)
        numbers_running.append(len(running))
        time.sleep(0.3)
        running.remove(self.name)
        return real(self, problem)

    real = Mondrian.decide
    monkeypatch.setattr(Mondrian, "decide", decide)
    monkeypatch.setattr(TopDown, "decide", lambda self, problem: decide(self, problem))
    found = {}
    for threads in (1, 2):
        numbers_running.clear()
        plan = {**document({"name": "auto", "methods": ["mondrian", "top-down"]}), "engine": {"threads": threads}}
        release = shoal.anonymize(table(), plan)
        found[threads] = release.table.to_pylist(), release.figures["method"]["tried"]
        assert max(numbers_running) == threads
    assert found[1] == found[2]


def test_auto_stops_if_its_caller_is_interrupted(monkeypatch):
    """Stop a method that would work on for minutes.

    It is stopped when it next reports its progress.
    """
    begun, ended = threading.Event(), []

    def wait(self, problem):
        begun.set()
        for _ in range(600):
            time.sleep(0.05)
            try:
                problem.progress("waiting", None)
            except BaseException:
                ended.append(self.name)
                raise

    def fail(self, problem):
        assert begun.wait(20)
        raise ZeroDivisionError

    monkeypatch.setattr(TopDown, "decide", wait)
    monkeypatch.setattr(Mondrian, "decide", fail)
    start = time.monotonic()
    plan = {**document({"name": "auto", "methods": ["mondrian", "top-down"]}), "engine": {"threads": 2}}
    with pytest.raises(ZeroDivisionError):
        shoal.anonymize(table(), plan)
    assert ended == ["top-down"]
    assert time.monotonic() - start < 20


def test_auto_ends_in_time_with_the_best_so_far():
    facts = shoal.anonymize(table(), document({"name": "auto", "time_limit": 1e-6})).figures["method"]
    outcomes = [entry.get("outcome") for entry in facts["tried"]]
    assert outcomes == [None, *["not tried, the time was over"] * 3]
    assert facts["chosen"] == Auto().methods[0]
    whole = shoal.anonymize(table(), document({"name": "auto", "time_limit": 600})).figures["method"]
    assert all("outcome" not in entry for entry in whole["tried"])


def test_auto_skips_unsuitable_methods():
    release = shoal.anonymize(table(), document({"name": "auto", "methods": ["levels", "full-domain"]}))
    assert [entry.get("outcome") for entry in release.figures["method"]["tried"]] == ["InfeasibleError", None]
    assert set(release.figures["levels"]) == {"age", "town"}
    with pytest.raises(InfeasibleError, match="At these levels"):
        shoal.anonymize(table(), document({"name": "auto", "methods": ["levels"]}))


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ({"name": "auto", "methods": []}, "must be a list, each item text"),
        ({"name": "auto", "methods": ["auto"]}, "other methods"),
        ({"name": "auto", "methods": ["magic"]}, "no method named"),
        ({"name": "auto", "loss": "pain"}, "'loss' must be ncp, distortion_ratio"),
        ({"name": "auto", "suppression": 2}, "from 0 to 1"),
        ({"name": "auto", "methods": ["sampled-grid"]}, "parameters of its own|cannot be tried"),
    ],
)
def test_auto_refuses_wrong_parameters(method, message):
    with pytest.raises(PlanError, match=message):
        Plan.from_dict(document(method))


def test_auto_is_registered():
    assert METHODS["auto"] is Auto


UNGUARDED = """
import pyarrow as pa
import shoal

table = pa.table({"age": [20 + n % 9 for n in range(60)], "illness": ["flu", "gout", "cold"] * 20})
plan = shoal.Plan(columns={"age": shoal.hierarchies.intervals(5), "illness": "sensitive"}, models="k-anonymity k=3")
print(sorted(trial.outcome for trial in shoal.explore(plan, table, methods=["mondrian"], ks=[3], workers=1).trials))
"""


def test_script_without_a_main_guard_can_explore(tmp_path):
    """Explore from a script without an ``if __name__`` guard.

    Otherwise each process would run the script again, and end with a page of errors.
    """
    (tmp_path / "script.py").write_text(UNGUARDED)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("['released']\n", 0), done.stderr[-1000:]


def test_trials_keep_their_errors_through_processes(tmp_path):
    """An error is data, so that the page can say it in German."""
    (tmp_path / "t.csv").write_text("age,illness\n" + "".join(f"{20 + n},{'ab'[n % 2]}\n" for n in range(8)))
    plan = {
        "source": {"path": str(tmp_path / "t.csv")},
        "columns": {"age": "quasi-identifier", "illness": "sensitive"},
        "models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 2}],
    }
    found = explore(plan, methods=["full-domain"], ks=[20], workers=1)
    (trial,) = found.trials
    assert (trial.outcome, trial.error.code) == ("infeasible", "models.unreachable")
    assert trial.error.text("de").startswith("Keine Gruppierung dieser 8 Zeilen")
    assert trial.why == str(trial.error)
    assert trial.to_dict()["why"] == trial.why
    assert "error" not in trial.to_dict()
    assert "why" in found.to_csv().splitlines()[0].split(",")


def test_page_has_the_errors_of_trials_in_all_languages():
    from shoal.advice.explore import Exploration
    from shoal.web.translations import translate_error
    from shoal.web.worker import _with_errors

    late = Trial("mdav", {}, 2, "too slow", ShoalError("explore.trial-too-slow", seconds=0.5))
    done = Trial("mdav", {}, 2, "released", loss={"ncp": 0.5}, risk=0.1)
    first, second = _with_errors(Exploration("ncp", (late, done)))["trials"]
    assert translate_error(first["error"], "de") == "Der Versuch dauerte länger als 0,5 Sekunden und wurde beendet."
    assert first["why"] == "The trial took more than 0.5 seconds and was stopped."
    assert second["error"] is None
