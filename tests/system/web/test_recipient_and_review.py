"""Recipients and reviews on the page."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from shoal.plan.plan import Plan
from shoal.plan.review import QUESTIONS, decisions_about_columns
from shoal.web.api import Api
from shoal.web.projects import Projects
from shoal.web.review_views import recipient_of
from tests.builders.server import Server

ROWS = "".join(f"{20 + n % 30},{'mf'[n % 2]},{('flu', 'gout', 'asthma')[n % 3]}\n" for n in range(120))
TABLE = "age,sex,diagnosis\n" + ROWS


def upload(server, name="clinic.csv"):
    return server.json("POST", f"/api/uploads?name={name}&draft=no", TABLE)


def drafted(server, **recipient):
    """Make a project that is drafted for a recipient; return its name."""
    project = upload(server)["project"]
    run = server.json("POST", f"/api/projects/{project}/draft", recipient)["run"]
    assert server.finish(project, run)["state"] == "done"
    return project


def plan_of(server, project):
    return tomllib.loads(server.ask("GET", f"/api/projects/{project}/plan")[2].decode())


def page_of(server, project, step, language="en"):
    status, _, text = server.ask("GET", f"/p/{project}/{step}?lang={language}")
    assert status == 200, text[:300]
    return text.decode()


def test_the_page_asks_for_the_recipient_before_it_drafts(server):
    made = upload(server)
    project = made["project"]
    assert made["run"] is None
    page = page_of(server, project, "columns")
    assert 'id="recipient-form"' in page
    assert "Everybody must hide among at least 5; among 11 if the table is about health." in page
    assert "Zu jeder Person müssen mindestens 5 Datensätze passen; 3, wenn sie unterschrieben" in page_of(
        server, project, "columns", "de"
    )
    assert f'/p/{project}/columns">' in server.ask("GET", "/")[2].decode()  # it can be gone on with
    assert server.json("GET", f"/api/projects/{project}")["plan"] == ""
    wrong = server.ask("POST", f"/api/projects/{project}/draft", {"recipient": "nobody"})
    assert wrong[0] == 422
    run = server.json("POST", f"/api/projects/{project}/draft", {"recipient": "public"})["run"]
    assert server.ask("POST", f"/api/projects/{project}/draft", {"recipient": "public"})[0] == 422
    server.finish(project, run)
    plan = plan_of(server, project)
    assert plan["recipient"] == {"kind": "public"}
    assert plan["models"][0]["k"] == 11
    assert 'id="recipient-form"' not in page_of(server, project, "columns")


@pytest.mark.parametrize(("recipient", "k"), [({"recipient": "researchers"}, 5),
                                              ({"recipient": "colleagues", "signed": True}, 3)])  # fmt: skip
def test_the_draft_follows_the_recipient(server, recipient, k):
    plan = plan_of(server, drafted(server, **recipient))
    assert plan["recipient"]["kind"] == recipient["recipient"]
    assert plan["models"][0]["k"] == k


def test_a_server_started_with_a_table_asks_first(tmp_path):
    (tmp_path / "clinic.csv").write_text(TABLE)
    server = Server(tmp_path, str(tmp_path / "clinic.csv"))
    try:
        assert 'id="recipient-form"' in page_of(server, "clinic", "columns")
        assert server.json("GET", "/api/projects/clinic")["runs"] == {}
    finally:
        server.stop()


def test_the_change_of_a_later_recipient_is_named(server):
    project = drafted(server, recipient="researchers")
    page = page_of(server, project, "promise")
    assert "Usual for this recipient is at least 5; the plan asks for 5." in page
    change = {"changes": [{"set": ["recipient"], "value": {"kind": "public"}}]}
    assert server.json("PATCH", f"/api/projects/{project}/plan", change)["error"] is None
    page = page_of(server, project, "promise")
    assert "Usual for this recipient is at least 11; the plan asks for 5 only." in page
    assert ">Ask for 11</button>" in page
    look = server.json("GET", f"/api/projects/{project}")["runs"]["look"]["result"]
    found = recipient_of(plan_of(server, project), look, "en")
    answer = server.json("PATCH", f"/api/projects/{project}/plan", {"changes": json.loads(found["raise_to"])})
    assert answer["error"] is None
    assert tomllib.loads(answer["plan"])["models"][0]["k"] == 11
    assert "Üblich sind dafür mindestens 11; der Plan verlangt 11." in page_of(server, project, "promise", "de")


def test_a_plan_without_recipient_is_displayed(server):
    project = server.json("POST", "/api/projects", {"sample": "patients"})["project"]
    assert "The plan does not say it yet." in page_of(server, project, "promise")
    wrong = {"changes": [{"set": ["recipient"], "value": {"kind": "nobody"}}]}
    assert server.json("PATCH", f"/api/projects/{project}/plan", wrong)["error"]
    assert server.ask("GET", f"/p/{project}/promise")[0] == 200


def test_projects_without_a_plan_outlive_the_server(tmp_path):
    (tmp_path / "clinic.csv").write_text(TABLE)
    projects = Projects(tmp_path, tmp_path / "shoal-projects")
    project = projects.open_path(tmp_path / "clinic.csv")
    projects.note_table(project)
    again = Projects(tmp_path, tmp_path / "shoal-projects")
    assert again.list_names() == ["clinic"]
    assert again.get("clinic").table == tmp_path / "clinic.csv"
    (project.folder / "table.json").write_text(json.dumps({"table": "/etc/passwd"}))
    with pytest.raises(LookupError):
        Projects(tmp_path, tmp_path / "shoal-projects").get("clinic")  # it is outside of the root
    projects.remove(project)
    assert projects.list_names() == []
    assert Api(projects, None).draft(projects.open_sample("patients")) is None  # it has a plan


def decisions_on(page):
    return re.findall(r'name="confirmed" value="([\w-]+)"', page)


def send_review(server, project, **given):
    page = page_of(server, project, "review")
    displayed = {"of": re.search(r'data-of="(\w+)"', page)[1], "confirmed": decisions_on(page), "by": "A. Reader"}
    status, _, text = server.ask("POST", f"/api/projects/{project}/review", {**displayed, **given})
    return status, json.loads(text)


def test_the_page_lists_the_decisions_of_the_command(server):
    project = drafted(server, recipient="public")
    page = page_of(server, project, "review")
    plan = Plan.from_toml(server.ask("GET", f"/api/projects/{project}/plan")[2].decode())
    assert decisions_on(page) == ["promise", *(role for role, _ in decisions_about_columns(plan))]
    for question in (QUESTIONS["sensitive"], QUESTIONS["quasi-identifier"]):
        assert question in page
    assert "Nobody has reviewed this plan." in page
    assert "<strong>The public</strong>" in page
    assert "Everybody hides among at least 11 rows that look alike." in page
    german = page_of(server, project, "review", "de")
    assert "soll niemand erfahren. Ist das alles, was jemandem schadet?" in german
    assert 'data-option="role" data-column-name="diagnosis"' in page


def test_a_review_needs_every_decision_and_the_displayed_plan(server):
    project = drafted(server, recipient="researchers")
    before = plan_of(server, project)
    status, answer = send_review(server, project, confirmed=["promise"])
    assert status == 422
    assert "sensitive" in answer["error"]
    assert send_review(server, project, of="0" * 64)[0] == 422
    assert send_review(server, project, by=" ")[0] == 422
    assert plan_of(server, project) == before
    assert send_review(server, project)[0] == 200
    plan = plan_of(server, project)
    assert plan["review"]["status"] == "reviewed"
    assert plan["review"]["by"] == "A. Reader"
    assert {key: value for key, value in plan.items() if key != "review"} == {
        key: value for key, value in before.items() if key != "review"
    }
    page = page_of(server, project, "review")
    assert "Reviewed by A. Reader on" in page
    assert '<li class="done"><a id="step-review"' in page


def test_a_change_after_the_review_is_displayed(server):
    project = drafted(server, recipient="researchers")
    send_review(server, project)
    assert "Nobody has reviewed" not in page_of(server, project, "run")
    change = {"changes": [{"set": ["models", 0, "k"], "value": 6}]}
    server.json("PATCH", f"/api/projects/{project}/plan", change)
    for step in ("review", "run"):
        assert "Changed since the review by A. Reader" in page_of(server, project, step)
    assert '<li class="warning"><a id="step-review"' in page_of(server, project, "columns")
    assert "Geändert seit der Durchsicht von A. Reader" in page_of(server, project, "review", "de")


def test_a_release_warns_on_the_page_until_it_is_reviewed(server):
    project = drafted(server, recipient="researchers")
    assert "Nobody has reviewed this plan." in page_of(server, project, "run")
    assert server.act(project, action="release")["state"] == "done"
    assert "nobody has reviewed it" in page_of(server, project, "publish")
    assert "niemand hat ihn durchgesehen" in page_of(server, project, "publish", "de")
    send_review(server, project)
    assert server.act(project, action="release")["state"] == "done"
    page = page_of(server, project, "publish")
    assert "nobody has reviewed it" not in page
    certificate = next(n for n in server.json("GET", f"/api/projects/{project}/releases/2")["files"] if "certif" in n)
    written = json.loads(server.ask("GET", f"/api/projects/{project}/releases/2/files/{certificate}")[2])
    assert written["review"] == {"status": "reviewed"}
    assert "A. Reader" not in json.dumps(written)


def test_a_plan_that_cannot_run_is_not_reviewed(server):
    project = server.json("POST", "/api/projects", {"sample": "patients"})["project"]
    assert "does not say whether it was reviewed" in page_of(server, project, "review")
    server.json("PATCH", f"/api/projects/{project}/plan", {"changes": [{"set": ["models", 0, "k"], "value": 0}]})
    assert decisions_on(page_of(server, project, "review")) == []
    assert send_review(server, project)[0] == 422
