"""Ledger, noisy questions and grids on the page."""

from __future__ import annotations

import json
import re

import pytest

from shoal.budget import Ledger
from shoal.budget.question_kinds import QUESTION_KINDS
from shoal.errors import InputError
from shoal.web.file_access import confine
from shoal.web.ledgers import ledger_of
from shoal.web.projects import Projects
from shoal.web.question_views import parse_question

ROWS = "".join(f"{20 + n % 40},{'mf'[n % 2]},{('flu', 'gout', 'asthma')[n % 3]}\n" for n in range(300))
TABLE = "age,sex,illness\n" + ROWS
PLAN = """[source]
path = "{name}.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {{ intervals = [10, 20] }}
[columns.sex]
role = "quasi-identifier"
[columns.illness]
role = "{role}"
[[models]]
name = "k-anonymity"
k = 2
[output]
path = "out.csv"
"""


def project_of(server, name, role="sensitive", table=None):
    """Make a project of a table that no other test asks."""
    content = table or TABLE.replace("flu", f"flu-{name}")
    project = server.json("POST", f"/api/uploads?name={name}.csv&draft=no", content)["project"]
    answer = json.loads(
        server.ask("PUT", f"/api/projects/{project}/plan", PLAN.format(name=name, role=role).encode())[2]
    )
    assert answer["error"] is None
    return project


def page_of(server, project, step="questions", **query):
    listed = "&".join(f"{key}={value}" for key, value in query.items())
    status, _, text = server.ask("GET", f"/p/{project}/{step}?{listed}")
    assert status == 200, text[:300]
    return text.decode()


def make_ledger(server, project, m=10**15, k=2):
    return server.json("POST", f"/api/projects/{project}/ledger", {"m": m, "k": k})


def ask(server, project, **question):
    run = server.json("POST", f"/api/projects/{project}/questions", question)["run"]
    return server.finish(project, run)


def test_a_ledger_is_created_outside_of_the_root(server):
    project = project_of(server, "first")
    assert 'id="ledger-form"' in page_of(server, project)
    assert server.ask("GET", f"/api/projects/{project}/ledger")[0] == 404
    assert server.ask("POST", f"/api/projects/{project}/questions", {"kind": "count", "rho": "1/9"})[0] == 422
    assert server.ask("POST", f"/api/projects/{project}/ledger", {"m": 5, "k": 20})[0] == 422
    assert server.ask("POST", f"/api/projects/{project}/ledger", {"m": 5})[0] == 422
    made = make_ledger(server, project, m=1000, k=20)
    assert (made["m"], made["k"], made["entries"]) == (1000, 20, 0)
    (file,) = (
        path
        for path in (server.data / "shoal" / "ledgers").rglob("*.ledger")
        if Ledger.open(path).status().name == project
    )
    assert file.stat().st_mode & 0o077 == 0
    assert not list(server.root.rglob("*.ledger"))
    assert server.ask("POST", f"/api/projects/{project}/ledger", {"m": 10**6, "k": 2})[0] == 422  # it has one
    page = page_of(server, project)
    assert "0% of the budget is spent, 100% is left." in page
    assert "des Budgets sind verbraucht" in page_of(server, project, lang="de")


@pytest.mark.parametrize("kind", QUESTION_KINDS)
def test_the_form_has_the_parameters_of_the_command(server, kind):
    project = project_of(server, f"form-{kind}")
    make_ledger(server, project)
    page = page_of(server, project, kind=kind)
    found = set(re.findall(r'data-parameter="(\w+)"', page))
    found |= {"values"} if 'id="question-values"' in page else set()
    found |= {"where"} if 'id="where-0"' in page else set()
    assert found == set(QUESTION_KINDS[kind].parameters)


def test_every_answer_is_booked_before_and_listed(server):
    project = project_of(server, "answers")
    make_ledger(server, project, m=10**18)  # with so many candidates there is little noise
    rho, total = {"rho": f"1/{10**15}", "person": []}, sum(20 + n % 40 for n in range(300))
    flu = "flu-answers"
    for exact, question in (
        (150, {"kind": "count", "where": [["sex", "f"]]}),
        (100, {"kind": "histogram", "column": "illness", "values": [flu, "gout"]}),
        (total, {"kind": "sum", "column": "age", "lower": "0", "upper": "100"}),
        (total / 300, {"kind": "mean", "column": "age", "lower": "0", "upper": "100"}),
    ):
        answer = ask(server, project, **question, **rho)["result"]
        found = answer["answer"][flu] if question["kind"] == "histogram" else answer["answer"]
        assert abs(found - exact) <= 8 * answer["half_width_95"], question
    assert ask(server, project, kind="best-of", column="sex", values=["f", "x"], **rho)["result"]["answer"] == "f"
    listed = server.json("GET", f"/api/projects/{project}/ledger")
    assert [entry["number"] for entry in listed["bookings"]] == [1, 2, 3, 4, 5]
    assert [entry["entry"] for entry in listed["answers"]] == [1, 2, 3, 4, 5]
    for language in ("en", "de"):
        page = page_of(server, project, lang=language)
        assert "count where 'sex' is 'f'" in page.replace("&#39;", "'").replace("&#x27;", "'")
        assert re.search(r"\b1[45]\d <span class=.of.>± \d+</span>", page)


def test_refusals_are_plain_and_book_nothing(server):
    project = project_of(server, "refused")
    make_ledger(server, project, m=1000, k=5)
    path = f"/api/projects/{project}/questions"
    for wrong in ({}, {"kind": "nothing"}, {"kind": "sum", "rho": "1/500"},
                  {"kind": "count", "rho": "1/500", "where": [1]},
                  {"kind": "histogram", "rho": "1/500", "column": "sex", "values": [1]},
                  {"kind": "count", "rho": "1/500", "where": [["sex", "f"], ["sex", "m"]]}):  # fmt: skip
        assert server.ask("POST", path, wrong)[0] == 422, wrong
    for refused in ({"kind": "count", "rho": "1/2"}, {"kind": "count", "rho": "1/5000"}, {"kind": "count", "rho": "x"},
                    {"kind": "count", "rho": "1/500", "where": [["nothing", "f"]]},
                    {"kind": "mean", "rho": "1/500", "column": "age", "lower": "9", "upper": "1"}):  # fmt: skip
        answer = ask(server, project, **refused, person=[])
        assert answer["state"] == "failed", refused
    assert 'class="refusal"' in page_of(server, project)
    assert server.json("GET", f"/api/projects/{project}/ledger")["bookings"] == []


def test_no_exact_number_leaves_the_worker(server):
    """With few candidates the noise is large; a run has no other number."""
    project = project_of(server, "noisy")
    make_ledger(server, project, m=1000, k=5)
    found = set()
    for _ in range(6):
        run = ask(server, project, kind="count", rho="0.00105", where=[["sex", "f"]], person=[])
        found.add(run["result"]["answer"])
        assert set(run["result"]) == {
            "kind", "answer", "half_width_95", "E", "epsilon", "rows_per_person", "entry", "head", "rho_spent",
            "rho_spent_exact", "rho_in_paper", "m", "k", "rho_limit", "remaining_rho", "label",
        }  # fmt: skip
        assert run["partial"] is None
    assert len(found) > 1


def test_two_projects_of_one_table_share_the_ledger(server):
    (server.root / "shared.csv").write_text(TABLE + "99,m,shared\n")
    one, other = (server.json("POST", "/api/projects", {"path": "shared.csv", "draft": False})["project"] for _ in "ab")
    for project in (one, other):
        text = PLAN.format(name="../../shared", role="sensitive")
        assert json.loads(server.ask("PUT", f"/api/projects/{project}/plan", text)[2])["error"] is None
    make_ledger(server, one)
    assert ask(server, one, kind="count", rho="1/1000", person=[])["state"] == "done"
    assert len(server.json("GET", f"/api/projects/{other}/ledger")["bookings"]) == 1
    assert "151" not in page_of(server, other)
    copy = project_of(server, "copied", table=TABLE + "99,m,shared\n")
    status, _, text = server.ask("POST", f"/api/projects/{copy}/ledger", {"m": 1000, "k": 5})
    assert status == 422
    assert f"in project '{one}'" in json.loads(text)["error"]


def test_an_older_copy_of_the_ledger_is_noticed(server):
    project = project_of(server, "rollback")
    make_ledger(server, project)
    files = {path: path.read_bytes() for path in (server.data / "shoal" / "ledgers").rglob("*.ledger")}
    assert ask(server, project, kind="count", rho="1/1000", person=[])["state"] == "done"
    for path, content in files.items():
        path.write_bytes(content)
    answer = ask(server, project, kind="count", rho="1/1000", person=[])
    assert answer["state"] == "failed"
    assert "head" in answer["error"]["text"]


def test_people_are_declared(server):
    table = "patient_id,age\n" + "".join(f"p{n // 3},{n % 60}\n" for n in range(300))
    project = server.json("POST", "/api/uploads?name=visits.csv&draft=no", table)["project"]
    text = '[source]\npath = "visits.csv"\n[columns.patient_id]\nrole = "person"\n'
    text += '[columns.age]\nrole = "quasi-identifier"\n'
    text += '[[models]]\nname = "k-anonymity"\nk = 2\n[output]\npath = "out.csv"\n'
    assert json.loads(server.ask("PUT", f"/api/projects/{project}/plan", text)[2])["error"] is None
    make_ledger(server, project, m=10**18)
    assert '<option value="patient_id" selected>' in page_of(server, project)
    assert ask(server, project, kind="count", rho=f"1/{10**10}")["state"] == "failed"  # nothing is declared
    answer = ask(server, project, kind="count", rho=f"1/{10**10}", person=["patient_id"], rows_per_person=2)["result"]
    assert (answer["answer"], answer["rows_per_person"]) == (200, 2)


def test_a_grid_is_chosen_and_each_run_is_booked(server):
    project = project_of(server, "grid", role="drop")
    page = page_of(server, project, "run")
    assert re.search(r'<option value="population-grid" disabled>', page)
    assert "needs a ledger: create one under Questions" in page
    make_ledger(server, project, m=100_000, k=20)
    page = page_of(server, project, "run")
    sections = [json.loads(text.replace("&#34;", '"')) for text in re.findall(r'data-section="([^"]+)"', page)]
    assert [section["name"] for section in sections] == ["population-grid", "sampled-grid"]
    population = sections[0]
    assert population["levels"] == {"age": 1, "sex": 1}
    change = {"changes": [{"set": ["method"], "value": population}]}
    assert server.json("PATCH", f"/api/projects/{project}/plan", change)["error"] is None
    page = page_of(server, project, "run")
    assert "Every run of this method is booked" in page
    assert "Level of age" in page
    answer = server.act(project, action="release")  # a cell of one person is too small
    assert answer["state"] == "failed"
    assert server.json("GET", f"/api/projects/{project}/ledger")["bookings"] == []
    change = {"changes": [{"set": ["method", "universe"], "value": 5000}]}
    assert server.json("PATCH", f"/api/projects/{project}/plan", change)["error"] is None
    assert server.act(project, action="check")["state"] == "done"
    assert server.json("GET", f"/api/projects/{project}/ledger")["bookings"] == []  # a check is no release
    assert server.act(project, action="release")["state"] == "done"
    assert server.act(project, action="release")["state"] == "failed"  # there is one population release
    assert len(server.json("GET", f"/api/projects/{project}/ledger")["bookings"]) == 1
    for step in ("run", "compare", "attack", "publish", "questions"):
        page_of(server, project, step)
        page_of(server, project, step, lang="de")


def test_a_sampled_grid_runs_with_its_first_parameters(server):
    project = project_of(server, "sample", role="drop")
    make_ledger(server, project, m=100_000, k=20)
    page = page_of(server, project, "run")
    sampled = json.loads(re.findall(r'data-section="([^"]+)"', page)[1].replace("&#34;", '"'))
    change = {"changes": [{"set": ["method"], "value": sampled}, {"set": ["method", "levels", "age"], "value": 3}]}
    assert server.json("PATCH", f"/api/projects/{project}/plan", change)["error"] is None
    answer = server.act(project, action="release")
    assert answer["state"] == "done", answer
    listed = server.json("GET", f"/api/projects/{project}/ledger")
    assert [entry["kind"] for entry in listed["bookings"]] == ["sampled release"]
    sensitive = {"changes": [{"column": "illness", "role": "sensitive"}]}
    assert "illness" in server.json("PATCH", f"/api/projects/{project}/plan", sensitive)["error"]


def test_a_plan_reaches_the_ledger_of_its_own_table_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(TABLE)
    projects = Projects(tmp_path, tmp_path / "shoal-projects")
    project = projects.make("one")
    text = PLAN.format(name="../../one", role="drop")
    project.save(text)
    own, foreign = project.ledger_file, ledger_of(tmp_path, tmp_path, '[source]\npath = "two.csv"\n')
    assert own != foreign
    assert own == ledger_of(tmp_path, tmp_path, '[source]\npath = "x/../one.csv"\n')
    method = '[method]\nname = "population-grid"\nk = 5\nuniverse = 9\nlevels = {{ age = 1, sex = 1 }}\nledger = "{}"\n'
    project.save(text + method.format(own))
    assert project.plan().method.ledger == own
    project.save(text + method.format(foreign))
    with pytest.raises(InputError, match="below the folder"):
        project.plan()
    with pytest.raises(InputError, match="below the folder"):
        confine(tmp_path, own)  # no table, upload or release, although the root is above it
    assert ledger_of(tmp_path, tmp_path, "[source") is None
    assert ledger_of(tmp_path, tmp_path, "[columns.a]\nrole = 'other'\n") is None


def test_visitors_have_ledgers_of_their_own(tmp_path):
    text = '[source]\npath = "same.csv"\n'
    anna, ben = (ledger_of(tmp_path / name, tmp_path / name, text) for name in ("anna", "ben"))
    assert anna.parent != ben.parent


def test_questions_of_a_form_become_parameters():
    parsed = parse_question(
        {"kind": "sum", "rho": "1/9", "column": "age", "lower": "0", "upper": "9", "where": [["sex", ""]]}
    )
    assert parsed["parameters"] == {"column": "age", "lower": "0", "upper": "9", "step": "1", "where": {"sex": None}}
    assert (parsed["person"], parsed["rows_per_person"]) == (None, 1)
    with pytest.raises(InputError) as refusal:
        parse_question({"kind": "histogram", "rho": "1/9", "column": "age"})
    assert refusal.value.code == "page.question-incomplete"
