"""Recipients and reviews on the page."""

from __future__ import annotations

import json
import tomllib

import pytest

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


def test_projects_without_a_plan_are_listed_until_they_are_gone(tmp_path):
    (tmp_path / "clinic.csv").write_text(TABLE)
    projects = Projects(tmp_path, tmp_path / "shoal-projects")
    project = projects.open_path(tmp_path / "clinic.csv")
    assert projects.list_names() == ["clinic"]
    projects.remove(project)
    assert projects.list_names() == []
    assert Api(projects, None).draft(projects.open_sample("patients")) is None  # it has a plan
